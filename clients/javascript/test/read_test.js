// What an id may be, compared with the extension, with vectors, and with examples of others.

'use strict'

const fs = require('fs')
const path = require('path')
const sno = require('postgresql-sno')
const { ago, fromText, layouts, read, toText } = require('postgresql-sno/read')
const { assert, ok, psql, readme, run, same } = require('./tap')

const vectors = (name) => fs.readFileSync(path.join(process.env.CLIENTS, '../test/vectors', name), 'utf8')
  .trimEnd().split('\n').map((line) => line.split('\t'))
const AT = '2026-11-21T10:22:18.284Z'      // the time of flakes.tsv
const NOW = new Date('2026-11-25T12:00:00Z')

const ISO = /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}(\d{4})?)?Z$/

const kinds = (id, now = NOW) => read(id, now).map(({ kind }) => kind)
const likely = (id, now = NOW) => read(id, now).filter((reading) => reading.likely).map(({ kind }) => kind)
const values = ({ fields }) => Object.fromEntries(fields.map(({ name, value }) => [name, value]))
const formOf = ({ forms }, wanted) => forms.find(({ name }) => name === wanted)?.value

// The reading of this kind.  All that is true of any reading is checked.
function as(kind, id, now = NOW) {
  const found = read(id, now)
  for (const { bits, fields, forms, time, precision } of found) {
    assert.strictEqual(fields.reduce((sum, field) => sum + field.bits, 0), bits)
    assert(fields.every(({ name, bits, value, meaning }) => name && bits > 0 && value && meaning))
    assert(forms.every(({ name, value }) => name && value))
    if (time !== null) assert(precision && ISO.test(time), time)
  }
  const reading = found.find((one) => one.kind === kind)
  assert(reading, `${id} has no reading ${kind}`)
  return reading
}

function checkLayouts() {
  same(
    layouts.map(({ name, epoch, unit, time, node, sequence, nodeLast = false, digits = null }) =>
      ({ name, epoch, unit, time, node, sequence, nodeLast, digits })).sort((a, b) => (a.name < b.name ? -1 : 1)),
    JSON.parse(psql(`
      SELECT json_agg(json_build_object('name', name,
        'epoch', to_char(epoch AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'unit', unit, 'time', time_bits,
        'node', node_bits, 'sequence', sequence_bits, 'nodeLast', node_last, 'digits', digits) ORDER BY name)
      FROM sno_catalog.sno_flake_layout WHERE built_in`)),
    'the layouts are those of the extension')
}

function checkSno() {
  const rows = vectors('sno.tsv')
  assert(rows.length > 250)
  for (const [hex, id, ms, tickTock, meta, partition, sequence] of rows) {
    const time = new Date(Number(ms)).toISOString()
    const units = String((ms - Date.UTC(2010, 0)) / 4)
    const fields = { time: units, 'tick-tock': tickTock, metabyte: meta, partition, sequence }
    for (const [kind, text] of [['sno', id], ['sno', `order_${id}`], ['sno', `\\x${hex}`], ['sno', hex.toUpperCase()],
      ['sno-uuid', sno.toUuid(id)]]) {
      const reading = as(kind, text)
      assert.deepStrictEqual([reading.time, values(reading)], [time, fields], text)
      assert.strictEqual(formOf(reading, 'text'), id)
      assert.strictEqual(formOf(reading, 'bytes'), `\\x${hex}`)
    }
    const v8 = as('sno-uuidv8', sno.toUuidV8(id).toUpperCase())
    assert.strictEqual(v8.time, time)
    const { partition: _, ...others } = values(v8)
    assert.deepStrictEqual(others, {
      time: units, 'tick-tock': tickTock, metabyte: meta, sequence, version: '8', variant: '2', zeros: '0x00000000000' })
    const [first, last] = v8.fields.filter(({ name }) => name === 'partition')
    assert.strictEqual(first.value * 16 + Number(last.value), Number(partition))
    assert.strictEqual(formOf(v8, 'uuid, version 8'), sno.toUuidV8(id))
    // Both uuids tell what they are, so nothing else comes first.
    assert.strictEqual(kinds(sno.toUuid(id))[0], 'sno-uuid')
    assert.strictEqual(kinds(sno.toUuidV8(id))[0], 'sno-uuidv8')
  }
  ok('sno.tsv')
}

// Others come before these, which have the same time or are rare.
const BEFORE = { json2: 'json1', json3: 'json1', json5: 'json4', json6: 'json4', json8: 'json7', pgedge: 'sonyflake' }

function checkFlakes() {
  const rows = vectors('flakes.tsv')
  const missing = layouts.filter(({ name, unit }) => unit > 0 && !rows.some(([row]) => row === name))
  same(missing, [], 'flakes.tsv has each layout with a time')
  for (const [name, min, max, id, text] of rows) {
    const now = new Date(AT)
    const { node: hasNode, sequence: sequenceBits, unit } = layouts.find((layout) => layout.name === name) ??
      { node: 10, sequence: 12, unit: 1 }       // pgedge
    const start = Date.parse(AT) - (unit === 1 ? 0 : Date.parse(AT) % unit)
    const time = new Date(start).toISOString().replace(unit === 1000 ? '.000Z' : 'Z', 'Z')
    for (const [seen, fields] of [[id, { node: '5', sequence: '7' }], [min, { node: '0', sequence: '0' }],
      [max, { sequence: String(2 ** sequenceBits - 1) }]]) {
      const reading = as(name, seen, now)
      const told = values(reading)
      assert.strictEqual(reading.time, time, `${name} ${seen}`)
      for (const part of Object.keys(fields)) {
        if (part !== 'node' || hasNode) assert.strictEqual(told[part], fields[part], `${name} ${seen} ${part}`)
      }
      assert.strictEqual('node' in told, hasNode > 0)
    }
    assert.strictEqual(as(name, text, now).time, time)
    assert.strictEqual(formOf(as(name, text, now), 'text') ?? id, text)
    assert.strictEqual(kinds(text, now)[0], BEFORE[name] ?? name, text)
    assert.strictEqual(likely(id, now).includes(name), true)
  }
  ok('flakes.tsv')
}

// What the form SQL finds in the database
function checkSql() {
  const ids = [...vectors('flakes.tsv').flatMap(([, ...row]) => row), ...vectors('sno.tsv').map((row) => row[1]),
    '-1', '-9223372036854775808', '9223372036854775807', '18446744073709551615', '0', '7', '72157623227190423',
    '507f1f77bcf86cd799439011']
  const readings = ids.flatMap((id) => read(id, new Date(AT)))
    .filter((reading) => formOf(reading, 'SQL') && reading.time)
  assert(new Set(readings.map(({ kind }) => kind)).size >= 17)
  fs.writeFileSync('forms.sql', `\\set ON_ERROR_STOP on\nSET TimeZone = 'UTC';` + readings.map((reading) => `
    SELECT json_build_array(to_char(timestamp, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), ${
      /^sno(-|$)/.test(reading.kind) ? 'partition' : 'node'}::text, sequence::text)
    FROM (${formOf(reading, 'SQL')}) AS s;`).join(''))
  const rows = psql('\\i forms.sql').trimEnd().split('\n').map((row) => JSON.parse(row))
  assert.strictEqual(rows.length, readings.length)
  readings.forEach((reading, i) => {
    const { node = '0', partition = node, sequence } = values(reading)
    const [time, seenNode, seenSequence] = rows[i]
    assert.deepStrictEqual([reading.time.replace(/^\+0*/, '').replace(/(:\d\d)Z$/, '$1.000Z'), partition, sequence],
      [time, seenNode ?? '0', seenSequence], formOf(reading, 'SQL'))
  })
  ok(`the extension reads them the same: ${readings.length}`)
}

function checkOthers() {
  for (const [id, kind, time, fields] of [
    // RFC 9562, appendix A
    ['C232AB00-9414-11EC-B3C8-9F6BDECED846', 'uuidv1', '2022-02-22T19:22:22.0000000Z',
      { clock_seq: '13256', node: '9f:6b:de:ce:d8:46' }],
    ['5df41881-3aed-3515-88a7-2f4a814cf09e', 'uuidv3', null, { version: '3' }],
    ['919108f7-52d1-4320-9bac-f847db4148a8', 'uuidv4', null, { version: '4' }],
    ['2ed6657d-e927-568b-95e1-2665a8aea6a2', 'uuidv5', null, { version: '5' }],
    ['1EC9414C-232A-6B00-B3C8-9F6BDECED846', 'uuidv6', '2022-02-22T19:22:22.0000000Z',
      { clock_seq: '13256', node: '9f:6b:de:ce:d8:46' }],
    ['017F22E2-79B0-7CC3-98C4-DC0C0C07398F', 'uuidv7', '2022-02-22T19:22:22.000Z',
      { time: '1645557742000', rand_a: '0xcc3', rand_b: '0x18c4dc0c0c07398f' }],
    ['2489E9AD-2EE2-8E00-8EC9-32D5F69181C0', 'uuidv8', null, { version: '8' }],
    ['00000000-0000-0000-0000-000000000000', 'uuid', null, {}],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff', 'uuid', null, {}],
    // The README of each
    ['01ARZ3NDEKTSV4RRFFQ69G5FAV', 'ulid', '2016-07-30T23:54:10.259Z', { time: '1469922850259' }],
    ['01arz3ndektsv4rrffq69g5fav', 'ulid', '2016-07-30T23:54:10.259Z', { time: '1469922850259' }],
    ['507f1f77bcf86cd799439011', 'objectid', '2012-10-17T21:13:27Z', { time: '1350508407' }],
    ['0ujtsYcgvSTl8PAuAdqWYSMnLOv', 'ksuid', '2017-10-10T04:00:47Z',
      { time: '107608047', random: '0xb5a1cd34b5f99d1154fb6853345c9735' }],
    ['0ARYZVZXW377R', 'tsid', '2022-12-07T18:43:30.927Z', {}],
    ['388400145978465528', 'tsid', '2022-12-07T18:43:30.927Z', {}],
    ['ybyPRoQWzX', 'instagram', '2015-01-29T10:15:13.321Z', {}],
    // Xid's test, which has the bits of an ObjectId
    ['9m4e2mr0ui3e8a215n4g', 'xid', '2011-03-22T17:50:19Z',
      { time: '1300816219', machine: '0x60f486', process: '58408', sequence: '4271561' }],
    ['4d88e15b60f486e428412dc9', 'objectid', '2011-03-22T17:50:19Z', {}],
    // TypeID's tests
    ['prefix_01h455vb4pex5vsknk084sn02q', 'typeid', '2023-06-30T03:34:18.518Z', { time: '1688096058518', version: '7' }],
    ['prefix_0123456789abcdefghjkmnpqrs', 'typeid', null, { bits: '0x0110c8531d0952d8d73e1194e95b5f19' }],
    ['pre_fix_00000000000000000000000000', 'typeid', null, {}],
    // An hour of Mastodon's ids, which is nearer than those of others
    ['116290000000000000', 'mastodon', '2026-03-25T13:16:20.078Z', { time: '1774444580078', sequence: '8192' }],
    // What the systems themselves made, as in test/sql/flakes.sql
    ['00000134-d421-2d43-109a-dd5e0e8f0000', 'boundary', '2012-01-12T22:54:31.235Z', { sequence: '0' }],
    ['4711', 'counter', null, { number: '4711' }],
  ]) {
    const reading = as(kind, id)
    assert.strictEqual(kinds(id)[0], kind, id)
    assert.strictEqual(reading.time, time, id)
    assert.deepStrictEqual({ ...values(reading), ...fields }, values(reading), id)
  }
  assert.strictEqual(formOf(as('tsid', '0ARYZVZXW377R'), 'bigint'), '388400145978465528')
  assert.strictEqual(formOf(as('ulid', '01ARZ3NDEKTSV4RRFFQ69G5FAV'), 'uuid'), '01563e3a-b5d3-d676-4c61-efb99302bd5b')
  assert.strictEqual(formOf(as('xid', '4d88e15b60f486e428412dc9'), 'text'), '9m4e2mr0ui3e8a215n4g')
  assert.strictEqual(formOf(as('typeid', 'prefix_01h455vb4pex5vsknk084sn02q'), 'uuid'),
    '01890a5d-ac96-774b-bcce-b302099a8057')
  // A status of Mastodon's documentation, which says that it was created at 2019-12-08T03:48:33.901Z
  assert.strictEqual(as('mastodon', '103270115826048975').time, '2019-12-08T03:48:33.849Z')
  assert.strictEqual(as('ulid', '7ZZZZZZZZZZZZZZZZZZZZZZZZZ').fields[0].value, String(2 ** 48 - 1))
  ok('uuids, ULID, TypeID, KSUID, Xid, TSID and others')
}

// Texts of layouts: toText() and fromText() do what the functions in SQL do, and refuse what they refuse.
function checkTexts() {
  const quoted = (text) => `'${text.replace(/'/g, "''")}'`
  const attempt = (call) => {
    try {
      return String(call())
    } catch (error) {
      assert(error instanceof TypeError || error instanceof RangeError, error.stack)
      return 'error'
    }
  }
  psql(`CREATE FUNCTION attempt(call text) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE result text;
    BEGIN
      EXECUTE format('SELECT (%s)::text', call) INTO result;
      RETURN result;
    EXCEPTION WHEN invalid_parameter_value OR invalid_text_representation OR numeric_value_out_of_range THEN
      RETURN 'error';
    END $$`)
  const types = { boundary: ['uuid', '_uuid'], objectid: ['bytea', '_bytea'] }
  const seen = []
  const calls = []
  const compare = (call, sql) => {
    seen.push([sql, attempt(call)])
    calls.push(sql)
  }
  const write = (id, layout, digits = '', width = 0) =>
    compare(() => toText(id, layout, { digits: digits || undefined, width }),
      `sno_flake_text(${quoted(id)}::${types[layout]?.[0] ?? 'bigint'}, '${layout}', ${quoted(digits)}, ${width})`)
  const parse = (text, layout, digits = '') =>
    compare(() => fromText(text, layout, { digits: digits || undefined }),
      `sno_flake_from_text${types[layout]?.[1] ?? ''}(${quoted(text)}, '${layout}', ${quoted(digits)})`)

  const forms = ['', '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', '0123456789abcdefghijklmnopqrstuvwxyz',
    'ybndrfg8ejkmcpqxot1uwisza345h769', '0123456789ABCDEFGHJKMNPQRSTVWXYZ', '01', `'"\\$%`]
  const ids = { boundary: ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '00000134-d421-2d43-109a-dd5e0e8f0000'], objectid: ['\\x' + '0'.repeat(24), '\\x' + 'f'.repeat(24),
    '\\x507f1f77bcf86cd799439011'] }
  const numbers = ['0', '1', '-1', '4711', '9007199254740991', '9007199254740992', '1541815603606036480',
    '9223372036854775807', '-9223372036854775808']
  for (const { name } of layouts) {
    const own = vectors('flakes.tsv').filter(([layout]) => layout === name).flatMap(([, ...row]) => row.slice(0, 3))
      .map((id) => (name === 'objectid' ? `\\x${id}` : id))
    for (const id of [...own, ...ids[name] ?? numbers]) {
      for (const digits of forms) {
        write(id, name, digits)
        write(id, name, digits, 30)
        const text = attempt(() => toText(id, name, { digits: digits || undefined }))
        for (const other of [text, text.toUpperCase(), text.toLowerCase(), `${(digits || '0')[0]}${text}`]) parse(other, name, digits)
      }
    }
    for (const text of ['', ' ', '-1', '+1', ' 1', '1 ', '1e3', '0x10', 'a+b', '~', 'w', '18446744073709551615',
      '18446744073709551616', '9223372036854775808', 'QAAAAAAAAAA', '_'.repeat(100), 'g000000000000', 'P__________',
      '7n42DGM5Tflk9n8mt7Fhc8', '507f1f77bcf86cd79943901', '507F1F77bcf86cd799439011', '507f1f77 bcf86cd79943901',
      '\u00e9', '\u{1f600}', '0'.repeat(1000) + '15', '9'.repeat(2000)]) {
      parse(text, name)
    }
  }
  for (const digits of ['0', '00', '0 1', '0123456789'.repeat(7), '01\u00e9', '\u{1f600}1']) {
    write('1', 'snowflake', digits)
    parse('1', 'snowflake', digits)
  }
  for (const width of [-1, 128, 129]) write('1', 'snowflake', '01', width)
  fs.writeFileSync('texts.sql', calls.map((sql) => `SELECT attempt(${quoted(sql)});`).join('\n'))
  const wanted = psql('\\i texts.sql').trimEnd().split('\n')
  assert.strictEqual(wanted.length, calls.length)
  const wrong = seen.filter(([, text], i) => text !== wanted[i]).map(([sql, text]) => [sql, text])
  const errors = wanted.filter((text) => text === 'error').length
  assert(errors > 500 && wanted.length - errors > 5000, `${errors} of ${wanted.length}`)
  same(wrong, [], 'texts of layouts are those of the extension')

  for (const layout of ['nothing', 'ulid', undefined, '']) {
    assert.throws(() => toText('1', layout), { name: 'TypeError', message: /^no layout is / })
    assert.throws(() => fromText('1', layout), { name: 'TypeError', message: /^no layout is / })
  }
  for (const id of [undefined, null, 1, '', '1.5', 'x', 1n << 64n, 1n << 63n, '9'.repeat(21)]) {
    assert.throws(() => toText(id, 'snowflake'), { name: 'TypeError', message: /^not an id of layout snowflake: / })
  }
  for (const text of [undefined, null, 1]) assert.throws(() => fromText(text, 'snowflake'), { name: 'TypeError' })
  same([toText(-1n, 'instagram'), fromText('P__________', 'instagram')], ['P__________', -1n], 'numbers are bigints')
  same(readme('flake-text', 'photo', 'id', 'tsid'),
    { photo: 'ybyPRoQWzX', id: 908540701891980503n, tsid: '0D1JP4VVF8ZY1' }, 'README, texts')
}

function checkInput() {
  const v7 = '017f22e2-79b0-7cc3-98c4-dc0c0c07398f'
  const wanted = read(v7, NOW)
  const hex = v7.replace(/-/g, '')
  for (const text of [v7.toUpperCase(), `{${v7}}`, hex, hex.replace(/(.{4})\B/g, '$1-'), `\\x${hex}`, `0x${hex}`,
    `urn:uuid:${v7}`, `  ${v7}\n`, `'${v7}'`, `"${v7}"`]) {
    assert.deepStrictEqual(read(text, NOW), wanted, text)
  }
  const number = read('1541815603606036480', NOW)
  for (const text of [1541815603606036480n, '\\x1565a11f6217a000', '\\x1565 a11f 6217 a000', '0x1565A11F6217A000',
    '1565a11f6217a000']) {
    assert.deepStrictEqual(read(text, NOW), number, String(text))
  }
  assert.deepStrictEqual(read('-1', NOW), read('0xffffffffffffffff', NOW))
  assert.deepStrictEqual(read('\\x07', NOW), read('7', NOW))
  assert.strictEqual(formOf(as('simpleflake', '-1'), 'unsigned'), '18446744073709551615')
  assert.strictEqual(formOf(as('sno', 'user_name2_9d5ve82226224222'), 'with a prefix'), 'user_name2_9d5ve82226224222')
  ok('ways to write an id')
}

// The order is that of read.js's first lines.
function checkOrder() {
  const days = (count) => new Date(Date.parse(AT) + count * 86400000)
  const [, , , id] = vectors('flakes.tsv').find(([name]) => name === 'discord')
  assert.strictEqual(kinds(id, days(0))[0], 'discord')
  assert.strictEqual(likely(id, days(-0.9))[0], 'discord', 'a day ahead')
  assert(!likely(id, days(-1.1)).includes('discord'), 'more than a day ahead')
  const first = (day) => String(BigInt(day * 86400000) << 22n)
  assert(!likely(first(29)).includes('discord'), 'the first days')
  assert(likely(first(30)).includes('discord'))
  // 41 of the 42 bits of time of Discord's ids are those of a Snowflake.
  same(likely('1541815603606036480'),
    ['discord', 'snowflake', 'instagram', 'simpleflake', 'counter', 'tickets'], 'in order')
  for (const text of ['1541815603606036480', '4711', '919108f7-52d1-4320-9bac-f847db4148a8']) {
    const found = read(text, NOW)
    const distance = ({ time }) => Math.abs(Date.parse(time) - NOW)
    assert.strictEqual(found.findIndex((one) => !one.likely) >= found.filter((one) => one.likely).length, true)
    const late = found.filter((one) => !one.likely && one.time).map(distance)
    assert.deepStrictEqual(late, [...late].sort((a, b) => a - b))
  }
  ok('the likeliest come first')
}

function checkNonsense() {
  const expected = /: expected a sno, a uuid, a number, or the text of /
  for (const [text, message] of [
    ['', /: it is empty$/], [' \n', /: it is empty$/], ['hello', expected], ['hello world, how are you', expected],
    ['1e3', expected], ['1.5', expected], ['+1', expected], ['--1', expected], ['deadbeef', expected],
    ['999999999999999999999', /: a number has at most 64 bits$/], ['-9223372036854775809', expected],
    ['-18446744073709551616', /: a number has at most 64 bits$/], ['9'.repeat(50), /: a number has at most 64 bits$/],
    ['\\x', /hexadecimal digits$/], ['\\x1', /hexadecimal digits$/], ['0xg', /hexadecimal digits$/],
    ['0x12345678901234567', /hexadecimal digits$/], ['NERFOEUSQOXGW25D', /: a sno is in lower case/],
    ['Order_nerfoeusqoxgw25d', /: a sno is in lower case/], ['nerfoeusqoxgw25z', /: a sno has no other characters/],
    ['order_1erfoeusqoxgw25d', /: a sno has no other characters/], ['nerfoeusqoxgw25', expected],
    ['8ZZZZZZZZZZZZZZZZZZZZZZZZZ', expected], ['0ujtsYcgvSTl8PAuAdqWYSMnLO-', expected],
    ['zzzzzzzzzzzzzzzzzzzzzzzzzzz', expected], ['{017f22e2-79b0-7cc3-98c4-dc0c0c07398f', expected],
    ['017f22e2-79b0-7cc3-98c4-dc0c0c07398', expected], ['\0', expected], ['\u{1f600}'.repeat(8), expected],
    ['a'.repeat(100000), /^not an id: "a{57}\.\.\.": expected/], ['9'.repeat(100000), /at most 64 bits$/],
    ['tz4a98xxat96iws9zmbrgj3a', /: it may be a CUID2, which is a hash, without a time$/],
    ['V1StGXR8_Z5jdHi6B-myT', /: it may be a Nano ID, which is random, without a time$/],
    ['c6e52g2mrqcjl44hf179', expected], ['9M4E2MR0UI3E8A215N4G', expected], ['9m4e2mr0ui3e8a215n4', expected],
    ['PREFIX_00000000000000000000000000', expected], ['12345_00000000000000000000000000', expected],
    ['prefix_8zzzzzzzzzzzzzzzzzzzzzzzzz', expected], ['prefix_0123456789ABCDEFGHJKMNPQRS', expected],
    ['prefix__01h455vb4pex5vsknk084sn02q', expected], ['_01h455vb4pex5vsknk084sn02q', expected],
    [`${'a'.repeat(64)}_01h455vb4pex5vsknk084sn02q`, expected], ['user_01h455vb4pex5vsknk084sn0uq', expected],
    [undefined, /^not an id: undefined$/], [null, /^not an id: object$/], [1, /^not an id: number$/],
  ]) {
    assert.throws(() => read(text, NOW), { name: 'TypeError', message }, JSON.stringify(text)?.slice(0, 60))
    assert.throws(() => read(text, NOW), { message: /^not an id: / })
  }
  assert.throws(() => read('1', new Date(NaN)), { name: 'TypeError', message: 'not a valid Date: now' })

  // Any text is read, or is refused by that message.
  let state = 1
  const next = (limit) => (state = (state * 48271) % 2147483647) % limit
  const some = ['0123456789', '0123456789abcdef', '23456789abcdefghijklmnopqrstuvwx',
    'ABCDEFGHJKMNPQRSTVWXYZ0123456789', 'abcxyzABCXYZ0129_-{}\\x ', ' -~\u00e9\u{1f600}']
  let count = 0
  for (let i = 0; i < 20000; i++) {
    const characters = some[next(some.length)]
    const text = Array.from({ length: next(45) }, () => characters[next(characters.length)]).join('')
    try {
      as(read(text, NOW)[0].kind, text)
      count++
    } catch (error) {
      assert(error instanceof TypeError && error.message.startsWith('not an id: '), `${text}: ${error.stack}`)
    }
  }
  assert(count > 3000 && count < 19000, String(count))
  ok('nonsense is refused')
}

run(async () => {
  psql('SET client_min_messages = warning; CREATE EXTENSION sno_flakes')
  checkLayouts()
  checkSno()
  checkFlakes()
  checkSql()
  checkOthers()
  checkTexts()
  checkInput()
  checkOrder()
  checkNonsense()

  same(['2026-11-25T12:00:00Z', '2026-11-25T11:59:59Z', '2026-11-25T13:30:00Z', '2026-11-22T12:00:00Z',
    '2020-11-20T12:00:00Z', '2026-09-01T00:00:00.0000000Z'].map((time) => ago(time, NOW)),
  ['now', '1 second ago', 'in 1 hour', '3 days ago', '6 years ago', '2 months ago'], 'how long ago')
  same(readme('read', 'kind', 'time', 'others'),
    { kind: 'sno', time: '2056-08-07T15:54:28.020Z', others: 0 }, 'README')
})
