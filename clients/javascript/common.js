/**
 * What the modules share: the units of time, and how they refuse wrong arguments.
 */

'use strict'

const EPOCH = Date.UTC(2010, 0)
const UNIT = 4
const LAST_UNIT = 2 ** 39 - 1

// JSON leaves DEL and C1 as they are, which terminals obey.
function json(value) {
  return JSON.stringify(value)?.replace(/[\x7f-\x9f]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`)
}

function shown(value) {
  return typeof value === 'string' ? json(value) : value === null ? 'null' : typeof value
}

function checkDate(at) {
  if (!(at instanceof Date) || Number.isNaN(at.getTime())) {
    throw new TypeError(`not a valid Date: ${shown(at)}`)
  }
}

function checkNumber(name, value, low, high) {
  if (typeof value !== 'number') throw new TypeError(`${name} is not a number: ${shown(value)}`)
  if (!Number.isInteger(value) || value < low || value > high) {
    throw new RangeError(`${name} is not a whole number from ${low} to ${high}: ${value}`)
  }
}

// The 32 hexadecimal digits of a uuid.
function hexOfUuid(uuid) {
  if (typeof uuid !== 'string' || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(uuid)) {
    throw new TypeError(`not a uuid: ${shown(uuid)}`)
  }
  return uuid.replace(/-/g, '').toLowerCase()
}

function hyphenated(hex) {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

exports.EPOCH = EPOCH
exports.UNIT = UNIT
exports.LAST_UNIT = LAST_UNIT
exports.json = json
exports.shown = shown
exports.checkDate = checkDate
exports.checkNumber = checkNumber
exports.hexOfUuid = hexOfUuid
exports.hyphenated = hyphenated
