/**
 * One loan, and the ids that it permits: the rules of doc/loans.md.  It reads no clock, and
 * needs no more than the language.
 */

'use strict'

const { LAST_UNIT, checkNumber } = require('./common.js')
const { fromBytes } = require('./index.js')

// The texts of 10 bits
const PAIRS = Array.from({ length: 1024 },
  (_, bits) => fromBytes(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, bits >> 8, bits & 255)).slice(14))

// The text of 20 bits
const quad = (bits) => PAIRS[bits >> 10] + PAIRS[bits & 1023]

class Loan {
  // What this side and the other one had last: the unit, and of this side the sequence.
  // The other side needs none, because it goes on in later units only.
  #unit
  #sequence
  #otherUnit
  #side = 0
  #head    // the text of unit and side

  constructor(partition, floor, first, last, until) {
    checkNumber('partition', partition, 0, 0xffff)
    checkNumber('floor', floor, 0, LAST_UNIT)
    checkNumber('first sequence', first, 0, 0xffff)
    checkNumber('last sequence', last, first, 0xffff)
    checkNumber('until', until, floor, LAST_UNIT)
    this.partition = partition
    this.floor = floor
    this.first = first
    this.last = last
    this.until = until
    this.#unit = this.#otherUnit = floor
    this.#sequence = last
  }

  next(unit, meta) {
    if (unit > this.until) return 'over'
    if (unit === this.#unit) {
      if (this.#sequence === this.last) return 'wait'
      this.#sequence++
    } else {
      if (unit < this.#unit) {
        if (unit <= this.#otherUnit) return 'behind'
        this.#otherUnit = this.#unit
        this.#side = 1 - this.#side
      }
      this.#unit = unit
      this.#sequence = this.first
      const high = unit * 2 + this.#side
      this.#head = quad(Math.floor(high / 2 ** 20)) + quad(high % 2 ** 20)
    }
    return this.#head + (quad(meta << 12 | this.partition >> 4) +
      quad((this.partition & 15) << 16 | this.#sequence))
  }

  // Whether next() would return an id now, or in the next unit.
  permits(unit) {
    return unit <= this.until && (unit >= this.#unit || unit > this.#otherUnit)
  }
}

exports.Loan = Loan
