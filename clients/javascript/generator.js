/**
 * Ids made in the application.  A source takes loans or blocks from the database; a
 * generator makes ids of the present one, and takes the next one ahead of need.  Nothing
 * here needs more than the language and its timers, so it works in browsers.
 */

'use strict'

const { EPOCH, UNIT, checkDate, checkNumber, json, shown } = require('./common.js')
const { meta: metaOf } = require('./index.js')
const { Loan } = require('./loan.js')

const PAUSE = 1000    // after a failure, doubled up to
const LONGEST_PAUSE = 60000
const REMEMBERED = 16    // answers
const PATIENCE = 60000    // with an attempt
const BEHIND = 1000    // how long to wait until the clock is in a new loan
const LONGEST_TIMER = 2 ** 31 - 1
const READS = 1e7    // of a clock that stands still

const unitOf = (ms) => Math.floor((ms - EPOCH) / UNIT)
const now = () => unitOf(Date.now())
const dateOf = (unit) => new Date(EPOCH + unit * UNIT)

// A timer that doesn't keep the program from ending
function background(action, ms) {
  const timer = setTimeout(action, Math.min(ms, LONGEST_TIMER))
  timer.unref?.()
  return timer
}

// Ids fetched ahead, with the methods of a loan
class Block {
  floor = -Infinity
  until = Infinity
  used = 0
  #ids

  constructor(ids) {
    this.#ids = ids
  }

  get left() {
    return this.#ids.length - this.used
  }

  next() {
    return this.left > 0 ? this.#ids[this.used++] : 'over'
  }

  permits() {
    return this.left > 0
  }
}

// A source: what reads an answer makes a loan or a block of the rows of the SQL text.
function source(query, sql, read, limits) {
  if (typeof query !== 'function') throw new TypeError(`the query is not a function: ${shown(query)}`)
  const given = []    // first rows of the last answers
  return {
    ...limits,
    async take() {
      const rows = await query(sql)
      const first = json(rows?.[0])
      if (first !== undefined) {
        // A cache that gives an answer again would let ids come twice.
        if (given.includes(first)) throw new Error(`the query gave an answer that it had given before: ${first}`)
        given.push(first)
        if (given.length > REMEMBERED) given.shift()
      }
      try {
        return read(rows)
      } catch (cause) {
        throw new Error(`the answer of the database is wrong: ${cause.message}`, { cause })
      }
    },
  }
}

function readLoan([row]) {
  const { partition: [high, low], wallHi, wallSafe, sequenceMin, sequenceMax } = JSON.parse(row.snapshot)
  checkNumber('high byte of the partition', high, 0, 255)
  checkNumber('low byte of the partition', low, 0, 255)
  if (wallHi !== wallSafe) throw new RangeError('wallHi and wallSafe differ')
  const loan = new Loan(high << 8 | low, wallHi, sequenceMin, sequenceMax, Number(row.until))
  if (loan.until === loan.floor) throw new RangeError('the loan ends at its floor')
  return loan
}

function loans(query, { duration, sequences, call } = {}) {
  if (call === undefined) {
    duration ??= 3600 * 1000
    sequences ??= 0x10000
    checkNumber('duration', duration, UNIT, Number.MAX_SAFE_INTEGER)
    checkNumber('sequences', sequences, 1, 0x10000)
    call = `sno_borrow_partition('${duration} milliseconds', ${sequences})`
  } else if (typeof call !== 'string') {
    throw new TypeError(`the call is not a string: ${shown(call)}`)
  } else if (duration !== undefined || sequences !== undefined) {
    throw new TypeError('a call has neither a duration nor sequences')
  }
  return source(query, `SELECT snapshot::text AS snapshot,
    ((extract(epoch FROM until) * ${1000 / UNIT})::bigint - ${EPOCH / UNIT})::text AS until FROM ${call}`,
  readLoan, { duration })
}

function blocks(query, { count = 500, meta = 0 } = {}) {
  checkNumber('count', count, 1, 0x10000)
  checkNumber('metabyte', meta, 0, 255)
  return source(query, `SELECT id::text AS id FROM sno_generate_many(${count}, ${meta}) AS id`, (rows) => {
    const ids = Array.from(rows, (row) => row.id)
    if (ids.length !== count) throw new RangeError(`${ids.length} ids, not ${count}`)
    if (ids.some((id) => metaOf(id) !== meta)) throw new RangeError(`not all ids have metabyte ${meta}`)
    return new Block(ids)
  }, { count, meta })
}

class OutOfIdsError extends Error {
  constructor(message, { reason, until, cause }) {
    super(message, cause === undefined ? undefined : { cause })
    this.reason = reason
    this.until = until
  }
}
OutOfIdsError.prototype.name = 'OutOfIdsError'

// The clock isn't within a new loan.
class ClockError extends Error {}

const textOf = (error) => String(error?.message ?? shown(error))

class Generator {
  #source
  #wait
  // A loan or a block, and the unit in the middle of the loan's time
  #present = { stock: new Block([]), middle: Infinity }
  #spare = null    // the next one
  #attempt = null    // to take the next one
  #timer    // to take it even if nobody calls next()
  #self = new WeakRef(this)
  #pause = 0    // after the failures since the last success
  #retryAt = 0    // of performance.now(), which nobody sets back
  #failure = null
  #waiting = new Set()    // calls of ready()
  #closed = false
  #issued = 0
  #taken = 0
  #failed = 0

  constructor(source, { wait = 5000 } = {}) {
    if (typeof source?.take !== 'function') throw new TypeError(`not a source of ids: ${shown(source)}`)
    checkNumber('wait', wait, 0, LONGEST_TIMER)
    this.#source = source
    this.#wait = wait
  }

  next(meta = this.#source.meta ?? 0) {
    checkNumber('metabyte', meta, 0, 255)
    if (meta !== (this.#source.meta ?? meta)) {
      throw new RangeError(`the blocks have metabyte ${this.#source.meta}, not ${meta}`)
    }
    for (let reads = 0; reads < READS; reads++) {
      const unit = now()
      const id = this.#present.stock.next(unit, meta)
      if (id.length > 6) {    // longer than the words
        this.#issued++
        if (this.#spare === null && this.#isHalfOver(unit)) this.#start()
        return id
      }
      if (id !== 'wait') {
        if (this.#spare === null) {
          this.#start()
          throw this.#outOfIds(id === 'behind' ? 'clock' : 'over')
        }
        this.#useSpare()
      }
    }
    throw this.#outOfIds('clock')
  }

  async ready({ until, count = 1 } = {}) {
    const { duration, count: size = Infinity } = this.#source
    if (until !== undefined) {
      checkDate(until)
      if (until - Date.now() > duration) {
        throw new RangeError(`a loan of ${duration} ms ends before ${until.toISOString()}`)
      }
    }
    checkNumber('count', count, 1, 2 * size)
    const last = until === undefined ? -Infinity : unitOf(until)
    const deadline = performance.now() + this.#wait
    while (!this.#lasts(last, count)) {
      const taken = this.#taken
      const own = this.#start()
      const ms = deadline - performance.now()
      if (!this.#attempt || ms <= 0) throw this.#outOfIds('over')
      await this.#attemptEnds(ms)
      const end = this.#newest.until
      if (own && this.#taken > taken && end < last) {
        throw new RangeError(`a new loan ends at ${dateOf(end).toISOString()}, before ${until.toISOString()}`)
      }
    }
  }

  stats() {
    return {
      issued: this.#issued,
      taken: this.#taken,
      failed: this.#failed,
      until: this.#until,
      reason: this.#failed ? textOf(this.#failure) : null,
    }
  }

  close() {
    this.#closed = true
    this.#present = { stock: new Block([]), middle: Infinity }
    this.#spare = null
    clearTimeout(this.#timer)
    clearTimeout(this.#attempt?.timer)
    this.#attempt = null
    for (const wake of this.#waiting) wake()
  }

  get #newest() {
    return (this.#spare ?? this.#present).stock
  }

  get #until() {
    const { until } = this.#present.stock
    return until === Infinity ? null : dateOf(until)
  }

  #isHalfOver(unit) {
    const { stock, middle } = this.#present
    return unit >= middle || stock.left <= stock.used
  }

  #useSpare() {
    this.#present = this.#spare
    this.#spare = null
    this.#plan()
  }

  // Whether there are ids up to that unit, and as many as that.
  #lasts(unit, count) {
    const at = now()
    if (this.#spare && !this.#present.stock.permits(at)) this.#useSpare()
    const { stock } = this.#present
    return stock.permits(at) && this.#newest.until >= unit &&
      (stock.left ?? Infinity) + (this.#spare?.stock.left ?? 0) >= count
  }

  // Begin an attempt to take the next one, unless there is one or it is too early.
  #start() {
    if (this.#closed || this.#attempt || performance.now() < this.#retryAt) return false
    const attempt = this.#attempt = {}
    attempt.timer = background(
      () => this.#fail(attempt, new Error(`the source gave no answer for ${PATIENCE / 1000} s`)), PATIENCE)
    this.#take(attempt).catch((error) => this.#fail(attempt, error))
    return true
  }

  async #take(attempt) {
    const asked = now()
    const stock = await this.#source.take()
    if (attempt !== this.#attempt) return
    clearTimeout(attempt.timer)
    const behind = (stock.floor + 1 - now()) * UNIT
    if (behind > 0 && behind <= BEHIND) {
      await new Promise((resolve) => {
        attempt.timer = background(resolve, behind)
      })
    }
    const unit = now()
    if (!stock.permits(unit)) {
      if (asked <= stock.until && unit > stock.until) {
        throw new Error(`a new loan, until ${dateOf(stock.until).toISOString()}, came too late: ` +
          `it was asked for at ${dateOf(asked).toISOString()}, and now it is ${dateOf(unit).toISOString()}`)
      }
      throw new ClockError(`the clock, at ${dateOf(unit).toISOString()}, is not within a new loan, ` +
        `from ${dateOf(stock.floor + 1).toISOString()} until ${dateOf(stock.until).toISOString()}`)
    }
    if (this.#spare) this.#useSpare()
    const fresh = { stock, middle: (unit + stock.until) / 2 }
    if (this.#present.stock.permits(unit)) this.#spare = fresh
    else this.#present = fresh
    this.#taken++
    this.#pause = this.#retryAt = 0
    this.#endAttempt()
  }

  #fail(attempt, error) {
    if (attempt !== this.#attempt) return    // it was given up, or the generator is closed
    this.#failed++
    this.#failure = error
    this.#pause = Math.min(2 * this.#pause || PAUSE, LONGEST_PAUSE)
    this.#retryAt = performance.now() + this.#pause
    this.#endAttempt()
  }

  #endAttempt() {
    clearTimeout(this.#attempt.timer)
    this.#attempt = null
    this.#plan()
    for (const wake of this.#waiting) wake()
  }

  #attemptEnds(ms) {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        this.#waiting.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      this.#waiting.add(wake)
    })
  }

  // Set the timer, which lets go of a generator that nobody uses.  Blocks need none.
  #plan() {
    clearTimeout(this.#timer)
    const { stock, middle } = this.#present
    if (middle === Infinity) return
    const ms = ((this.#spare ? stock.until + 1 : middle) - now()) * UNIT
    const self = this.#self
    this.#timer = background(() => self.deref()?.#tick(),
      Math.max(ms, UNIT, this.#spare ? 0 : this.#retryAt - performance.now()))
  }

  #tick() {
    const unit = now()
    if (this.#spare && !this.#present.stock.permits(unit)) this.#useSpare()
    if (!this.#spare && this.#isHalfOver(unit)) this.#start()
    if (!this.#attempt) this.#plan()
  }

  #outOfIds(reason) {
    const until = this.#until
    const cause = this.#pause > 0 ? this.#failure : undefined
    let message
    if (this.#closed) {
      reason = 'closed'
      message = 'the generator is closed'
    } else {
      if (cause instanceof ClockError) reason = 'clock'
      if (until === null) message = this.#taken ? 'the block is used up' : 'nothing was taken yet'
      else if (reason === 'clock') message = `the clock, at ${dateOf(now()).toISOString()}, is before ids of the loan`
      else message = `the loan ends at ${until.toISOString()}`
      message += this.#pause > 0 ? `; the next attempt failed: ${textOf(cause)}` : '; the next one is not there yet'
    }
    return new OutOfIdsError(`out of ids: ${message}`, { reason, until, cause })
  }
}

async function open(source, options) {
  const ids = new Generator(source, options)
  try {
    await ids.ready()
  } catch (error) {
    ids.close()
    throw error
  }
  return ids
}

exports.loans = loans
exports.blocks = blocks
exports.Generator = Generator
exports.open = open
exports.OutOfIdsError = OutOfIdsError
