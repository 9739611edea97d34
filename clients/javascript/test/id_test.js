// What an id tells without the database.

'use strict'

const fs = require('fs')
const path = require('path')
const sno = require('postgresql-sno')
const { assert, ok, readme, run, same } = require('./tap')

const vectors = fs.readFileSync(path.join(process.env.CLIENTS, '../test/vectors/sno.tsv'), 'utf8')
  .trimEnd().split('\n').map((line) => line.split('\t'))
const EPOCH = Date.UTC(2010, 0)
const END = EPOCH + 4 * 2 ** 39
const LOWEST = '2222222222222222'
const HIGHEST = 'xxxxxxxxxxxxxxxx'
const ID = 'nerfoeusqoxgw25d'

function refuses(action, values, name) {
  for (const value of values) {
    assert.throws(() => action(value), { name: 'TypeError', message: /^(not |uuid )/ },
      `${name}: ${String(value)}`)
  }
  ok(`${name}: refused`)
}

run(async () => {
  const mistakes = fs.readFileSync(path.join(process.env.CLIENTS, '../test/vectors/mistakes.tsv'), 'utf8')
  for (const [kind, text] of mistakes.trimEnd().split('\n').map((line) => line.split('\t'))) {
    const message = kind === 'none' ? /^not a sno: .*[^)]$/ : RegExp(`^not a sno: .* \\(.*${kind}.*\\)$`)
    assert.throws(() => sno.parse(text), { name: 'TypeError', message }, text)
  }
  ok('advice for texts that are no ids')

  assert(vectors.length > 250)
  for (const [hex, text, ms, tickTock, meta, partition, sequence] of vectors) {
    const id = sno.parse(text)
    const bytes = new Uint8Array(Buffer.from(hex, 'hex'))
    assert.strictEqual(id, text)
    assert.deepStrictEqual(sno.toBytes(id), bytes)
    assert.strictEqual(sno.fromBytes(bytes), id)
    assert.deepStrictEqual(
      [sno.timestamp(id).getTime(), sno.tickTock(id), sno.meta(id), sno.partition(id), sno.sequence(id)],
      [Number(ms), tickTock === '1', Number(meta), Number(partition), Number(sequence)])
    assert.strictEqual(sno.fromUuid(sno.toUuid(id)), id)
    assert.strictEqual(sno.toUuid(id).replace(/-/g, ''), Buffer.from(text).toString('hex'))
    assert.strictEqual(sno.fromUuidV8(sno.toUuidV8(id)), id)
    assert.strictEqual(sno.fromUuidV8(sno.toUuidV8(id).toUpperCase()), id)

    const [low, high] = [sno.min(sno.timestamp(id)), sno.max(sno.timestamp(id))]
    assert(low <= id && id <= high)
    assert.deepStrictEqual(sno.range(sno.timestamp(id), new Date(Number(ms) + 4)), [low, high])
  }
  ok('vectors')

  const byBytes = vectors.map(([hex, text]) => [hex, text]).sort(([a], [b]) => (a < b ? -1 : 1))
  for (const form of [(id) => id, sno.toUuid, sno.toUuidV8]) {
    const forms = byBytes.map(([, text]) => form(text))
    same([...forms].sort(), forms, 'order of ids')
  }
  same(sno.toUuidV8(HIGHEST), 'ffffffff-ffff-8fff-bfff-fc0000000000', 'version 8')

  const wrong = [undefined, null, 0, 1n, Symbol('id'), {}, Object.create(null), [ID], new String(ID), '',
    ID.slice(1), ID + '2', ID + '\n', ' ' + ID, ID.toUpperCase(), 'y' + ID.slice(1), '1' + ID.slice(1),
    '\u0663' + ID.slice(1), '\uff13' + ID.slice(1), '\u{1d7d1}' + ID.slice(2), ID.slice(1) + '\0']
  for (const name of ['parse', 'toBytes', 'toUuid', 'toUuidV8', 'timestamp', 'tickTock', 'meta', 'partition',
    'sequence']) {
    refuses(sno[name], wrong.filter((value) => value?.toString), name)
  }
  assert.throws(() => sno.parse(Object.create(null)), { message: 'not a sno: object' })
  assert.throws(() => sno.parse('No'), { message: 'not a sno: "No"' })
  same([ID, ...wrong].map(sno.isSno), [true, ...wrong.map(() => false)], 'isSno')
  refuses(sno.fromBytes, [null, ID, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0], new Uint8Array(9), new Uint8Array(11),
    new Uint16Array(10)], 'fromBytes')
  same(sno.fromBytes(Buffer.alloc(10)), LOWEST, 'fromBytes, Buffer')

  const [uuid, v8] = [sno.toUuid(ID), sno.toUuidV8(ID)]
  const no = [null, ID, '', uuid.slice(1), uuid + '\n', `{${uuid}}`, uuid.replace(/-/g, ''),
    'g' + uuid.slice(1), '00000000-0000-0000-0000-000000000000']
  refuses(sno.fromUuid, [...no, v8], 'fromUuid')
  refuses(sno.fromUuidV8, [...no, uuid, v8.slice(0, -1) + '1', v8.replace('-8', '-7'), v8.replace('-b', '-c'),
    v8.replace('-b', '-7'), v8.replace('ac0', 'ad0')], 'fromUuidV8')

  // Times.
  const at = (ms) => new Date(ms)
  same([sno.min(at(EPOCH)), sno.max(at(EPOCH + 3))], [LOWEST, '22222223xxxxxxxx'],
    'the first 4 ms')
  same([sno.min(at(END - 1)), sno.max(at(END - 4))], ['xxxxxxxw22222222', HIGHEST], 'the last 4 ms')
  for (const bound of [sno.min, sno.max]) {
    same([-8.64e15, EPOCH - 1].map((ms) => bound(at(ms))), [LOWEST, LOWEST], 'before 2010')
    same([END, 8.64e15].map((ms) => bound(at(ms))), [HIGHEST, HIGHEST], 'after the last unit')
  }
  const notTimes = [NaN, 0, '2030-01-01', {}, new Date(NaN)]
  refuses(sno.min, [undefined, null, ...notTimes], 'min')
  refuses(sno.max, [undefined, null, ...notTimes], 'max')
  refuses((from) => sno.range(from), notTimes, 'range from')
  refuses((to) => sno.range(null, to), notTimes, 'range to')
  same(sno.range(), [LOWEST, HIGHEST], 'range without bounds')
  same(sno.range(at(EPOCH - 1), at(END + 1)), [LOWEST, HIGHEST], 'range beyond all ids')
  const nothing = [HIGHEST, LOWEST]
  same([sno.range(at(END)), sno.range(null, at(EPOCH)), sno.range(at(EPOCH + 9), at(EPOCH + 9)),
    sno.range(at(EPOCH + 9), at(EPOCH)), sno.range(at(EPOCH + 1), at(EPOCH + 4))],
  [nothing, nothing, nothing, nothing, nothing], 'empty ranges')

  const { id } = readme('id', 'id')
  same([sno.timestamp(id).toISOString(), String(sno.meta(id)), `'${sno.toUuidV8(id)}'`],
    fs.readFileSync(path.join(__dirname, '../README.md'), 'utf8')
      .match(/^sno\..*\/\/ (.*)$/gm).map((line) => line.replace(/.*\/\/ /, '')), 'README')
})
