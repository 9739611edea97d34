/**
 * What an id may be, and what it tells.  Nothing here needs more than the language, so it
 * works in browsers.
 *
 * A number of 64 bits doesn't tell which system made it.  So there may be many readings of
 * an id.  Their order is this:
 *
 *   1. the two forms of uuid that a sno has, and uuids whose version tells a likely time or none
 *   2. ids whose time is likely
 *   3. the same, of layouts that are rare
 *   4. ids without a time
 *   5. ids whose time is not likely
 *
 * Among these, the time nearest to now comes first.  A time is likely if it is after the first
 * 30 days of its layout, and at most a day ahead of now.  Small numbers have times of the first
 * days in nearly all layouts.
 */

'use strict'

const sno = require('./index.js')
const { checkNumber, hyphenated, json, shown } = require('./common.js')

const DAY = 24 * 3600 * 1000
const FIRST_DAYS = 30 * DAY
const LONGEST = 200
const HEXADECIMAL = '0123456789abcdef'
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BASE32HEX = '0123456789abcdefghijklmnopqrstuv'

const field = (name, bits, kind, meaning, show = String) => ({ name, bits, kind, meaning, show })
const inHex = (value, bits) => '0x' + value.toString(16).padStart(Math.ceil(bits / 4), '0')

const MACHINE = 'the machine, process or shard that made it'
const COUNT = 'counts within the unit of time'
const RANDOM = 'random'

// The layouts of the extension sno_flakes.  Numbers of a layout whose unit is 0 are counted.
const LAYOUTS = [
  { name: 'snowflake', title: 'Snowflake', about: 'ids of Twitter, and of many others',
    epoch: '2010-11-04T01:42:54.657Z', unit: 1, time: 41, node: 10, sequence: 12 },
  { name: 'instagram', title: 'Instagram id', about: 'ids of Instagram, and of databases that copied them',
    epoch: '2011-08-24T21:07:01.721Z', unit: 1, time: 41, node: 13, sequence: 10,
    digits: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', is: { node: 'the shard' } },
  { name: 'simpleflake', title: 'Simpleflake', about: 'ids with a time and random bits',
    epoch: '2000-01-01T05:00:00.000Z', unit: 1, time: 41, node: 0, sequence: 23,
    is: { sequence: 'random, or a count if sno_flakes made it' } },
  ...[[3, 9], [4, 8], [5, 7]].map(([node, sequence], i) => ({
    ...numbers(i + 1), epoch: '1999-12-31T16:00:00.000Z', unit: 1, time: 41, node, sequence })),
  ...[[5, 17], [6, 16], [7, 15]].map(([node, sequence], i) => ({
    ...numbers(i + 4), epoch: '1999-12-31T16:00:00.000Z', unit: 1000, time: 31, node, sequence })),
  ...[[5, 16], [6, 15]].map(([node, sequence], i) => ({
    ...numbers(i + 7), epoch: '1970-01-01T00:00:00.000Z', unit: 1000, time: 32, node, sequence })),
  { name: 'randflake', title: 'Randflake, unsealed',
    about: 'a sealed one, as they are given out, tells nothing without its key',
    epoch: '2024-10-27T03:33:20.000Z', unit: 1000, time: 30, node: 17, sequence: 17, rare: true,
    digits: BASE32HEX },
  { name: 'discord', title: 'Discord id', about: 'a Snowflake with another epoch',
    epoch: '2015-01-01T00:00:00.000Z', unit: 1, time: 42, node: 10, sequence: 12,
    is: { node: '5 bits of the worker, 5 bits of its process' } },
  { name: 'sonyflake', title: 'Sonyflake', about: 'ids with many nodes and few numbers',
    epoch: '2014-09-01T00:00:00.000Z', unit: 10, time: 39, node: 16, sequence: 8, nodeLast: true,
    is: { node: 'the machine: mostly the end of its IP address' } },
  { name: 'boundary', title: 'Boundary flake', about: 'ids of 128 bits',
    epoch: '1970-01-01T00:00:00.000Z', unit: 1, time: 64, node: 48, sequence: 16, digits: BASE62,
    is: { node: 'the machine: mostly the address of its network card' } },
  { name: 'objectid', title: 'ObjectId', about: 'ids of MongoDB',
    epoch: '1970-01-01T00:00:00.000Z', unit: 1000, time: 32, node: 40, sequence: 24,
    is: { node: 'random, one for each process', sequence: 'counts in a process, from a random start' } },
  { name: 'counter', title: 'Number', about: 'what an identity, a serial or a counter of sno_flakes counted',
    epoch: null, unit: 0, time: 63, node: 0, sequence: 0 },
  { name: 'tickets', title: 'Flickr ticket', about: 'what two servers count: one has the odd numbers, one the even',
    epoch: null, unit: 0, time: 62, node: 1, sequence: 0, nodeLast: true,
    is: { node: 'which of the two servers' } },
]

// Layouts that the extension lacks.  Those with a size have texts of that many characters, which end with
// some zero bits if there is a pad.
const OTHERS = [
  { name: 'pgedge', title: 'pgEdge id', about: 'ids of the extension snowflake of pgEdge',
    epoch: '2023-01-01T00:00:00.000Z', unit: 1, time: 41, node: 10, sequence: 12, nodeLast: true, rare: true },
  { name: 'tsid', title: 'TSID', about: 'ids of libraries for Java',
    epoch: '2020-01-01T00:00:00.000Z', unit: 1, time: 42, node: 10, sequence: 12, digits: CROCKFORD, size: 13,
    is: { node: 'the node, if it has 10 bits, as by default', sequence: 'counts, from a random start' } },
  { name: 'mastodon', title: 'Mastodon id', about: 'ids of Mastodon',
    epoch: '1970-01-01T00:00:00.000Z', unit: 1, time: 48, sequence: 16,
    is: { sequence: 'counts, from a hash of the table and the time' } },
  { name: 'xid', title: 'Xid', about: 'ids of libraries for Go and other languages, with the bits of an ObjectId',
    epoch: '1970-01-01T00:00:00.000Z', unit: 1000, time: 32, node: 40, sequence: 24, digits: BASE32HEX, size: 20, pad: 4,
    rare: true, nodes: [field('machine', 24, 'node', 'a hash of the name of the machine, or random', inHex),
      field('process', 16, 'node', 'the process that made it')],
    is: { sequence: 'counts in a process, from a random start' } },
  { name: 'ulid', title: 'ULID', about: 'ids with a time and 80 random bits',
    epoch: '1970-01-01T00:00:00.000Z', unit: 1, time: 48, random: 80, digits: CROCKFORD, size: 26,
    is: { random: 'random, or the one before plus 1' } },
  { name: 'ksuid', title: 'KSUID', about: 'ids with a time and 128 random bits',
    epoch: '2014-05-13T16:53:20.000Z', unit: 1000, time: 32, random: 128, digits: BASE62, size: 27 },
]

function numbers(i) {
  return { name: `json${i}`, title: `Number for JavaScript, json${i}`, about: 'ids of up to 53 bits' }
}

const ALL = [...LAYOUTS, ...OTHERS]
const bitsOf = ({ time, node = 0, sequence = 0, random = 0 }) => time + node + sequence + random
const unitOf = (ms) => (ms % 1000 ? `${ms} ms` : `${ms / 1000} s`)

const hexOf = (id, bits) => id.toString(16).padStart(bits / 4, '0')
const hexOfBytes = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
const bytesOfHex = (hex) => Uint8Array.from(hex.match(/../g), (byte) => parseInt(byte, 16))
const form = (name, value) => ({ name, value })

// Give the fields their values, the highest bits first.
function cut(id, fields) {
  let below = fields.reduce((sum, { bits }) => sum + bits, 0)
  return fields.map(({ name, bits, kind, meaning, show }) => {
    below -= bits
    const value = (id >> BigInt(below)) & ((1n << BigInt(bits)) - 1n)
    return { name, bits, kind, value: show(value, bits), meaning }
  })
}

// The time in ms since 1970, with more digits of it if there are any.  A Date doesn't have all.
function timeAt(ms, unit, digits = '') {
  const date = new Date(Number(ms))
  if (Number.isNaN(date.getTime())) return { time: null, precision: null }
  const text = date.toISOString().slice(0, -1)
  return { time: (unit.endsWith(' s') ? text.slice(0, -4) : text + digits) + 'Z', precision: unit }
}

// Digits to a number, and back.  Undefined if it isn't one of that many bits.
function fromDigits(text, digits, bits) {
  let id = 0n
  for (const digit of text) {
    const value = digits.indexOf(digit)
    if (value < 0) return undefined
    id = id * BigInt(digits.length) + BigInt(value)
    if (id >> BigInt(bits)) return undefined
  }
  return id
}

function toDigits(id, digits, size = 1) {
  let text = ''
  for (; id || text.length < size; id /= BigInt(digits.length)) text = digits[id % BigInt(digits.length)] + text
  return text
}

// The text form of a layout of the extension, in the digits of the call, or in those of the layout.  Only
// hexadecimal texts all have one size.
function formOf(name, digits) {
  const layout = LAYOUTS.find((one) => one.name === name)
  if (!layout) throw new TypeError(`no layout is ${shown(name)}`)
  if (digits !== undefined && (!/^[!-~]{2,64}$/.test(digits) || new Set(digits).size !== digits.length)) {
    throw new TypeError(`not 2 to 64 different visible characters of ASCII: ${shown(digits)}`)
  }
  const bits = bitsOf(layout)
  const known = digits ?? layout.digits
  return { bits, base: known ?? (bits <= 64 ? '0123456789' : HEXADECIMAL), size: known || bits <= 64 ? 0 : bits / 4 }
}

// The number that a driver gives as a bigint or its text, or as the text of a uuid or a bytea.  Undefined if it
// isn't one of that many bits.
function numberOf(id, bits) {
  if (bits <= 64) {
    if (typeof id !== 'bigint' && !(typeof id === 'string' && /^-?\d{1,20}$/.test(id))) return undefined
    const number = BigInt(id)
    return number === BigInt.asIntN(64, number) && BigInt.asUintN(64, number) >> BigInt(bits) === 0n
      ? BigInt.asUintN(64, number) : undefined
  }
  const hex = typeof id === 'string' ? hexDigits(id) : ''
  return hex.length === bits / 4 ? BigInt('0x' + hex) : undefined
}

function toText(id, layout, { digits, width = 0 } = {}) {
  const { bits, base, size } = formOf(layout, digits)
  checkNumber('width', width, 0, 128)
  const number = numberOf(id, bits)
  if (number === undefined) throw new TypeError(`not an id of layout ${layout}: ${shown(String(id))}`)
  return toDigits(number, base, Math.max(size, width, 1))
}

function fromText(text, layout, { digits } = {}) {
  const { bits, base, size } = formOf(layout, digits)
  const has = (digit) => base.includes(digit)
  const hasBothCases = [...base].some((digit) => digit !== digit.toLowerCase() && has(digit.toLowerCase()))
  const digitOf = (c) => [c, ...hasBothCases ? [] : [c.toLowerCase(), c.toUpperCase()]].find(has) ?? c
  const number = typeof text === 'string' && text !== '' && (size === 0 || text.length === size)
    ? fromDigits(Array.from(text, digitOf), base, bits) : undefined
  if (number === undefined) throw new TypeError(`not the text of an id of layout ${layout}: ${shown(text)}`)
  if (bits <= 64) return BigInt.asIntN(64, number)
  return bits === 128 ? hyphenated(hexOf(number, 128)) : '\\x' + hexOf(number, bits)
}

// What has the id in this layout
function flake(layout, id) {
  const { name, title, about, epoch, unit, time, node = 0, sequence = 0, random = 0, pad = 0, is = {} } = layout
  const bits = bitsOf(layout)
  const parts = [...layout.nodes ?? [field('node', node, 'node', is.node ?? MACHINE)],
    field('sequence', sequence, 'sequence', is.sequence ?? COUNT)]
  if (layout.nodeLast) parts.reverse()
  const first = unit === 0 ? field('number', time, 'time', 'counts the ids')
    : field('time', time, 'time', `units of ${unitOf(unit)} since ${epoch.replace('.000Z', 'Z')}`)
  const ms = unit === 0 ? null : BigInt(Date.parse(epoch)) + (id >> BigInt(bits - time)) * BigInt(unit)
  const text = layout.digits && form('text', toDigits(id << BigInt(pad), layout.digits, layout.size))

  let forms, sql
  if (bits <= 64) {
    const signed = BigInt.asIntN(64, id)
    forms = [form('bigint', String(signed)), signed < 0n && form('unsigned', String(id)), text,
      form('hexadecimal', '0x' + hexOf(id, 64))]
    sql = signed
  } else {
    const hex = hexOf(id, bits)
    forms = [text, bits === 128 ? form('uuid', hyphenated(hex)) : form('hexadecimal', hex),
      form('bytea', '\\x' + hex)]
    sql = bits === 128 ? `'${hyphenated(hex)}'::uuid` : `'\\x${hex}'::bytea`
  }
  if (LAYOUTS.includes(layout)) forms.push(form('SQL', `SELECT * FROM sno_flake_parts(${sql}, '${name}')`))

  return {
    ms, epoch: epoch && Date.parse(epoch), rare: layout.rare,
    reading: {
      kind: name, title, about, bits,
      ...(ms === null ? { time: null, precision: null } : timeAt(ms, unitOf(unit))),
      fields: cut(id, [first, ...parts, field('random', random, 'random', is.random ?? RANDOM, inHex)]
        .filter(({ bits }) => bits > 0)),
      forms: forms.filter(Boolean),
    },
  }
}

const SNO_EPOCH = Date.UTC(2010, 0)
const snoTime = field('time', 39, 'time', 'units of 4 ms since 2010-01-01T00:00:00Z')
const snoTickTock = field('tick-tock', 1, 'flag', 'changes when the clock is set back')
const snoMeta = field('metabyte', 8, 'meta', 'the kind of thing that it is the id of; its table decides')
const snoSequence = field('sequence', 16, 'sequence', 'counts within the 4 ms')
const GENERATOR = 'which generator made it'
const variant = field('variant', 2, 'fixed', 'binary 10: as in RFC 9562')

function snoFound(id, { prefix, ...more }) {
  const ms = BigInt(sno.timestamp(id).getTime())
  const bits = more.kind === 'sno-uuidv8' ? 128 : 80
  const number = fromDigits(hexOfBytes(sno.toBytes(id)), HEXADECIMAL, 80)
  const partition = sno.partition(id)
  const fields = bits === 80
    ? [snoTime, snoTickTock, snoMeta, field('partition', 16, 'node', GENERATOR), snoSequence]
    : [snoTime, snoTickTock, snoMeta, field('version', 4, 'fixed', 'its maker chose the bits'),
      field('partition', 12, 'node', `the first 12 bits of partition ${partition}`), variant,
      field('partition', 4, 'node', `the last 4 bits of partition ${partition}`), snoSequence,
      field('zeros', 42, 'fixed', 'a uuid is longer than a sno', inHex)]
  const v8 = sno.toUuidV8(id)
  return {
    ms, epoch: SNO_EPOCH, sure: more.kind !== 'sno',
    reading: {
      ...more, bits, ...timeAt(ms, '4 ms'),
      fields: cut(bits === 80 ? number : fromDigits(v8.replace(/-/g, ''), HEXADECIMAL, 128), fields),
      forms: [form('text', id), prefix && form('with a prefix', `${prefix}_${id}`), form('uuid, version 8', v8),
        form('uuid of the text', sno.toUuid(id)), form('bytes', '\\x' + hexOf(number, 80)),
        form('SQL', `SELECT * FROM sno_parts('${id}')`)].filter(Boolean),
    },
  }
}

const EXTENSION = 'an id of the extension sno'
const snoText = (id, prefix) => snoFound(id, { kind: 'sno', title: 'sno', about: EXTENSION, prefix })

// The two uuids that a sno may be
function snoUuid(uuid) {
  try {
    return snoFound(sno.fromUuidV8(uuid), {
      kind: 'sno-uuidv8', title: 'sno, as a uuid of version 8',
      about: `${EXTENSION}, for columns of type uuid` })
  } catch {}
  try {
    return snoFound(sno.fromUuid(uuid), {
      kind: 'sno-uuid', title: 'sno, as a uuid of its text',
      about: `${EXTENSION}: the 16 bytes are the 16 characters of its text` })
  } catch {}
  return null
}

// Ticks of 100 ns since 1582-10-15, of versions 1 and 6
const GREGORIAN = Date.UTC(1582, 9, 15)

function ticks(count) {
  const ms = BigInt(GREGORIAN) + count / 10000n
  return { ms, epoch: GREGORIAN, ...timeAt(ms, '100 ns', String(count % 10000n).padStart(4, '0')) }
}

const address = (value) => hexOf(value, 48).match(/../g).join(':')
const clockSequence = field('clock_seq', 14, 'sequence', 'random, and changes when the clock is set back')
const networkNode = field('node', 48, 'node', 'the address of the network card, or random', address)
const TICKS = 'of the count of 100 ns since 1582-10-15T00:00:00Z'

// Some bits of a uuid, from the lowest one on
const part = (id, from, bits) => (id >> BigInt(from)) & ((1n << BigInt(bits)) - 1n)

// A version, whose own bits are around version and variant: 48, 12 and 62 of them
const described = (means, about, above, between, below, at) =>
  ({ about, fields: [...above, field('version', 4, 'fixed', means), between, variant, ...below], at })
const opaque = (means, about, name, meaning) => described(means, about,
  [field(name, 48, 'random', meaning, inHex)], field(name, 12, 'random', meaning, inHex),
  [field(name, 62, 'random', meaning, inHex)])

const VERSIONS = {
  1: described('by time', 'a time, and the address of a machine',
    [field('time_low', 32, 'time', `the lowest 32 bits ${TICKS}`, inHex),
      field('time_mid', 16, 'time', 'the 16 bits above these', inHex)],
    field('time_high', 12, 'time', 'the highest 12 bits', inHex), [clockSequence, networkNode],
    (id) => ticks(part(id, 64, 12) << 48n | part(id, 80, 16) << 32n | part(id, 96, 32))),
  3: opaque('MD5 of a name', 'made of a name, without a time', 'hash', 'MD5 of a name and its space'),
  4: opaque('random', 'random, without a time; a sealed sno may look the same', 'random', RANDOM),
  5: opaque('SHA-1 of a name', 'made of a name, without a time', 'hash', 'SHA-1 of a name and its space'),
  6: described('by time, in its order', 'a time, and the address of a machine',
    [field('time_high', 32, 'time', `the highest 32 bits ${TICKS}`, inHex),
      field('time_mid', 16, 'time', 'the 16 bits below these', inHex)],
    field('time_low', 12, 'time', 'the lowest 12 bits', inHex), [clockSequence, networkNode],
    (id) => ticks(part(id, 80, 48) << 12n | part(id, 64, 12))),
  7: described('by Unix time', 'a time, and random bits',
    [field('time', 48, 'time', 'units of 1 ms since 1970-01-01T00:00:00Z')],
    field('rand_a', 12, 'random', 'random, or a fraction of the ms, as PostgreSQL 18 makes it', inHex),
    [field('rand_b', 62, 'random', RANDOM, inHex)],
    (id) => ({ ms: id >> 80n, epoch: 0, ...timeAt(id >> 80n, '1 ms') })),
  8: opaque('its maker chose the bits', 'bits that its maker chose', 'custom', 'only its maker knows'),
}

function uuid(id) {
  const hex = hexOf(id, 128)
  const number = parseInt(hex[12], 16)
  const known = part(id, 62, 2) === 2n ? VERSIONS[number] : undefined
  const { ms = null, epoch = null, ...time } = known?.at?.(id) ?? { time: null, precision: null }
  const other = /^0+$/.test(hex) ? 'the nil uuid' : /^f+$/.test(hex) ? 'the max uuid'
    : 'a uuid of no version that RFC 9562 describes'
  const { about, fields } = known ?? { about: other, fields: [field('bits', 128, 'random', other, inHex)] }
  return {
    ms, epoch, marked: known !== undefined,
    reading: {
      kind: known ? `uuidv${number}` : 'uuid', title: known ? `uuid, version ${number}` : 'uuid', about,
      bits: 128, ...time, fields: cut(id, fields),
      forms: [form('uuid', hyphenated(hex)), form('bytea', '\\x' + hex)],
    },
  }
}

// All that an id of this many bits, 64 for a number, may be
function ofBits(id, bits) {
  const found = ALL.filter((layout) => {
    const own = bitsOf(layout)
    return bits === 64 ? own <= 64 && id >> BigInt(own) === 0n : own === bits
  }).map((layout) => flake(layout, id))
  if (bits === 80) {
    found.unshift(snoText(sno.fromBytes(bytesOfHex(hexOf(id, 80)))))
  }
  if (bits === 128) found.unshift(snoUuid(hyphenated(hexOf(id, 128))) ?? uuid(id))
  return found
}

// A uuid in the digits of a ULID, with a prefix
function typeid(text) {
  const [, suffix] = /^[a-z](?:[a-z_]{0,61}[a-z])?_([0-7][0-9a-hjkmnp-tv-z]{25})$/.exec(text) ?? []
  if (suffix === undefined) return []
  const { reading, ...rest } = uuid(fromDigits(suffix.toUpperCase(), CROCKFORD, 128))
  return [{ ...rest, reading: {
    ...reading, kind: 'typeid', title: 'TypeID', about: `a uuid with a prefix: ${reading.about}`,
    forms: [form('text', text), ...reading.forms] } }]
}

// Hexadecimal digits, as PostgreSQL takes them for uuid, bytea and integers
function hexDigits(text) {
  if (/^(urn:uuid:)?(\{([0-9a-f]{4}-?){7}[0-9a-f]{4}\}|([0-9a-f]{4}-?){7}[0-9a-f]{4})$/i.test(text)) {
    return text.replace(/^urn:uuid:|[-{}]/gi, '')
  }
  const marked = /^\\x((?:\s*[0-9a-f]{2})+)$/i.exec(text) ?? /^0x([0-9a-f]+)$/i.exec(text)
  if (marked) {
    const hex = marked[1].replace(/\s/g, '')
    return hex.length <= 16 ? hex.padStart(16, '0') : hex
  }
  return /^[0-9a-f]+$/i.test(text) && !(text.length === 16 && /^\d+$/.test(text)) ? text : ''
}

// All that the text may be
function find(text, now) {
  const found = []
  const [, prefix, id] = /^(?:([a-z](?:[a-z0-9_]{0,61}[a-z0-9])?)_)?([2-9a-x]{16})$/.exec(text) ?? []
  if (id) found.push(snoText(id, prefix))
  found.push(...typeid(text))

  const hex = hexDigits(text)
  if ([16, 20, 24, 32, 40].includes(hex.length)) found.push(...ofBits(BigInt('0x' + hex), hex.length * 4))

  if (/^-?\d{1,20}$/.test(text)) {
    const number = BigInt(text)
    if (number >= -(1n << 63n) && number < 1n << 64n) found.push(...ofBits(BigInt.asUintN(64, number), 64))
    return found
  }
  const nothing = found.length === 0
  for (const layout of ALL.filter(({ digits }) => digits)) {
    const { digits, size, pad = 0 } = layout
    if (size && text.length !== size) continue
    const number = fromDigits(digits === CROCKFORD ? text.toUpperCase() : text, digits, bitsOf(layout) + pad)
    if (number === undefined || number & ((1n << BigInt(pad)) - 1n)) continue
    const seen = flake(layout, number >> BigInt(pad))
    // Most words are a text of these.
    if (size || (nothing && isLikely(seen, now))) found.push(seen)
  }
  return found
}

const isLikely = ({ ms, epoch }, now) => Number(ms) >= epoch + FIRST_DAYS && Number(ms) <= now + DAY

function refuse(text) {
  const shown = json(text.length > 60 ? `${text.slice(0, 57)}...` : text)
  const [, likeSno] = /^(?:.*_)?([0-9a-z]{16})$/i.exec(text) ?? []
  const why = text === '' ? 'it is empty'
    : /^-?\d{20,}$/.test(text) ? 'a number has at most 64 bits'
    : /^(\\x|0x)/i.test(text) ? 'ids have up to 16, or 20, 24, 32 or 40 hexadecimal digits'
    : likeSno && sno.isSno(likeSno.toLowerCase()) ? 'a sno is in lower case, and so is its prefix'
    : likeSno ? 'a sno has no other characters than 2 to 9 and a to x'
    : /^[a-z][0-9a-z]{23}$/.test(text) ? 'it may be a CUID2, which is a hash, without a time'
    : /^[\w-]{21}$/.test(text) ? 'it may be a Nano ID, which is random, without a time'
    : 'expected a sno, a uuid, a number, or the text of a ULID, TypeID, ObjectId, Xid, KSUID, TSID, ' +
      'or of an id of Instagram, Randflake or Boundary'
  throw new TypeError(`not an id: ${shown}: ${why}`)
}

function read(input, now = new Date()) {
  if (typeof input !== 'string' && typeof input !== 'bigint') throw new TypeError(`not an id: ${typeof input}`)
  if (!(now instanceof Date) || Number.isNaN(now.getTime())) throw new TypeError('not a valid Date: now')
  const at = now.getTime()
  const text = String(input).trim().replace(/^(['"])(.*)\1$/, '$2')
  const found = text.length > LONGEST ? [] : find(text, at)
  if (found.length === 0) refuse(text)

  const ranked = found.map(({ ms, epoch, sure, marked, rare, reading }) => {
    const likely = ms === null || isLikely({ ms, epoch }, at)
    const place = sure ? 1 : !likely ? 5 : marked ? 1 : ms === null ? 4 : rare ? 3 : 2
    return { place, distance: ms === null ? 0 : Math.abs(Number(ms) - at), reading: { ...reading, likely } }
  })
  return ranked.sort((a, b) => a.place - b.place || a.distance - b.distance).map(({ reading }) => reading)
}

const SPANS = [['year', 31556952], ['month', 2629746], ['day', 86400], ['hour', 3600], ['minute', 60],
  ['second', 1]]

// How long ago a time was, such as "3 days ago"
function ago(time, now = new Date()) {
  const seconds = (now.getTime() - Date.parse(time)) / 1000
  const [unit, size] = SPANS.find(([, size]) => Math.abs(seconds) >= size) ?? []
  if (unit === undefined) return 'now'
  const count = Math.floor(Math.abs(seconds) / size)
  const many = `${count} ${unit}${count === 1 ? '' : 's'}`
  return seconds > 0 ? `${many} ago` : `in ${many}`
}

exports.read = read
exports.ago = ago
exports.toText = toText
exports.fromText = fromText
exports.layouts = LAYOUTS
