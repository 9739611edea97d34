/**
 * What an id tells without the database.  Nothing here needs more than the language, so it
 * works in browsers.
 *
 * The text of an id has 16 digits of 5 bits.  The two halves of the text are two numbers of
 * 40 bits, which a JavaScript number holds exactly:
 *
 *   high: 39 bits of time in units of 4 ms since 2010, tick-tock bit
 *   low: 8 bits of metabyte, 16 bits of partition, 16 bits of sequence
 */

'use strict'

const { EPOCH, LAST_UNIT, UNIT, checkDate, hexOfUuid, hyphenated, shown } = require('./common.js')

const DIGITS = '23456789abcdefghijklmnopqrstuvwx'
const SIZE = 10
const LOWEST = '2'.repeat(16)
const HIGHEST = 'x'.repeat(16)

function isSno(value) {
  return typeof value === 'string' && /^[2-9a-x]{16}$/.test(value)
}

const UUID = '[0-9a-f]{4}(-?[0-9a-f]{4}){7}'
// Texts that are given as ids by mistake, and what to do with them
const MISTAKES = [
  [/^-?[0-9]+$/, 'it is a number'],
  [RegExp(`^(${UUID}|\\{${UUID}\\})$`, 'i'), 'fromUuid() converts a uuid'],
  [/^.+[_-][2-9a-x]{16}$/s, 'read() of prefixes() converts an id with a prefix'],
  [/^[2-9a-x]{16}$/i, 'ids are in lower case'],
  [/^[0-9]{4}-[0-9]{2}-[0-9]{2}/, 'min() and max() convert a time']
]

function parse(text) {
  if (!isSno(text)) {
    const [, advice] = (typeof text === 'string' && MISTAKES.find(([pattern]) => pattern.test(text))) || []
    throw new TypeError(`not a sno: ${shown(text)}${advice ? ` (${advice})` : ''}`)
  }
  return text
}

function half(text) {
  let number = 0
  for (const digit of text) number = number * 32 + DIGITS.indexOf(digit)
  return number
}

const high = (id) => half(parse(id).slice(0, 8))
const low = (id) => half(parse(id).slice(8))

// The id of 80 bits, given as 20 hexadecimal digits.
function fromHex(hex) {
  let text = ''
  for (let number of [parseInt(hex.slice(0, 10), 16), parseInt(hex.slice(10), 16)]) {
    let part = ''
    for (let i = 0; i < 8; i++, number = Math.floor(number / 32)) part = DIGITS[number % 32] + part
    text += part
  }
  return text
}

const hexOf = (number, digits) => number.toString(16).padStart(digits, '0')
const toHex = (id) => hexOf(high(id), 10) + hexOf(low(id), 10)

function toBytes(id) {
  return Uint8Array.from(toHex(id).match(/../g), (byte) => parseInt(byte, 16))
}

function fromBytes(bytes) {
  if (!(bytes instanceof Uint8Array)) throw new TypeError(`not bytes of a sno: ${shown(bytes)}`)
  if (bytes.length !== SIZE) throw new TypeError(`not a sno: ${bytes.length} bytes, not ${SIZE}`)
  return fromHex(Array.from(bytes, (byte) => hexOf(byte, 2)).join(''))
}

// The 16 bytes are the 16 characters of the text.
function toUuid(id) {
  return hyphenated(Array.from(parse(id), (digit) => hexOf(digit.charCodeAt(0), 2)).join(''))
}

function fromUuid(uuid) {
  const bytes = hexOfUuid(uuid).match(/../g)
  const text = String.fromCharCode(...bytes.map((byte) => parseInt(byte, 16)))
  if (!isSno(text)) throw new TypeError(`uuid ${shown(uuid)} is not the text form of a sno`)
  return text
}

// 48 bits of the id, version 8, 12 bits, variant binary 10, 20 bits, 42 zeros.
function toUuidV8(id) {
  const hex = toHex(id)
  const rest = (2 * 2 ** 20 + (low(id) % 2 ** 20)) * 4
  return hyphenated(`${hex.slice(0, 12)}8${hex.slice(12, 15)}${rest.toString(16)}${'0'.repeat(10)}`)
}

function fromUuidV8(uuid) {
  const hex = hexOfUuid(uuid)
  if (!/^.{12}8...[89ab].{4}[048c]0{10}$/.test(hex)) {
    throw new TypeError(`uuid ${shown(uuid)} is not the version 8 form of a sno`)
  }
  const rest = (parseInt(hex.slice(16, 22), 16) / 4) % 2 ** 20
  return fromHex(hex.slice(0, 12) + hex.slice(13, 16) + hexOf(rest, 5))
}

const timestamp = (id) => new Date(EPOCH + Math.floor(high(id) / 2) * UNIT)
const tickTock = (id) => high(id) % 2 === 1
const meta = (id) => Math.floor(low(id) / 2 ** 32)
const partition = (id) => Math.floor(low(id) / 2 ** 16) % 2 ** 16
const sequence = (id) => low(id) % 2 ** 16

// The units since the epoch, with a fraction.
function units(at) {
  checkDate(at)
  return (at.getTime() - EPOCH) / UNIT
}

function lowestOf(unit) {
  return fromHex(hexOf(unit * 2, 10) + '0'.repeat(10))
}

function highestOf(unit) {
  return fromHex(hexOf(unit * 2 + 1, 10) + 'f'.repeat(10))
}

function min(at) {
  const unit = Math.floor(units(at))
  return unit < 0 ? LOWEST : unit > LAST_UNIT ? HIGHEST : lowestOf(unit)
}

function max(at) {
  const unit = Math.floor(units(at))
  return unit < 0 ? LOWEST : unit > LAST_UNIT ? HIGHEST : highestOf(unit)
}

function range(from, to) {
  const first = from == null ? 0 : Math.max(Math.ceil(units(from)), 0)
  const last = to == null ? LAST_UNIT : Math.min(Math.ceil(units(to)) - 1, LAST_UNIT)
  return first > last ? [HIGHEST, LOWEST] : [lowestOf(first), highestOf(last)]
}

exports.isSno = isSno
exports.parse = parse
exports.toBytes = toBytes
exports.fromBytes = fromBytes
exports.toUuid = toUuid
exports.fromUuid = fromUuid
exports.toUuidV8 = toUuidV8
exports.fromUuidV8 = fromUuidV8
exports.timestamp = timestamp
exports.tickTock = tickTock
exports.meta = meta
exports.partition = partition
exports.sequence = sequence
exports.min = min
exports.max = max
exports.range = range
