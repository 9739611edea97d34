// Names before ids: the cases of test/vectors/prefixes.tsv.

'use strict'

const fs = require('fs')
const path = require('path')
const { assert, fails, ok, psql, readme, run, same } = require('./tap')
const { Prefixes } = require('postgresql-sno/prefixes')

const lines = fs.readFileSync(path.join(process.env.CLIENTS, '../test/vectors/prefixes.tsv'), 'utf8')
  .split('\n').filter((line) => line && !line.startsWith('#')).map((line) => line.split('\t'))

function cases(kind) {
  const found = lines.filter(([first]) => first === kind).map(([, ...rest]) => rest)
  assert(found.length > 0, `there are cases: ${kind}`)
  return found
}

run(async () => {
  const table = Object.fromEntries(cases('prefix'))
  const prefixes = new Prefixes(table)
  for (const [meta, prefix] of cases('badprefix')) {
    await fails(/^(Type|Range)Error: /, async () => new Prefixes({ ...table, [meta]: prefix }), `row ${meta} ${prefix}`)
  }
  for (const [text, id] of cases('id')) {
    same([prefixes.read(text), prefixes.write(id), `${prefixes.prefix(id)}_${id}`], [id, text, text], `read and write ${text}`)
  }
  for (const [text] of cases('badid')) {
    await fails(/^TypeError: .* an? (id|id with a prefix): /, async () => prefixes.read(text), `text ${text}`)
  }
  for (const [id] of cases('noprefix')) {
    same(prefixes.prefix(id), null, `no prefix of ${id}`)
    await fails(/^TypeError: metabyte \d+ has no prefix$/, async () => prefixes.write(id), 'so it is not written')
  }

  psql("INSERT INTO sno_catalog.sno_prefix VALUES (1, 'user'), (2, 'order')")
  const { id, text, asked } = readme('prefixes', 'id', 'text', 'asked')
  same([id, text, asked], ['9d5ve82226224222', psql(`SELECT sno_prefixed('${id}')`).trim(), id], 'README')

  await fails(/^TypeError: wrong prefix of an id: "order_222222222l222222"$/,
    async () => new Prefixes({ 4: 'order' }).read('order_222222222l222222', 'user'), 'another prefix than was wanted')
  for (const wrong of [null, undefined, 1, {}, ['user_brpk4q725cf2m63l'], 'user_brpk4q725cf2m63l\n', 'constructor_2222222222222222']) {
    assert.throws(() => prefixes.read(wrong), TypeError)
    assert.throws(() => prefixes.write(wrong), TypeError)
  }
  ok('no texts')
  for (const [wrong, error] of [[{ 256: 'b' }, RangeError], [{ '-1': 'b' }, RangeError], [{ 1.5: 'b' }, RangeError], [{ b: 'b' }, RangeError], [{ '': 'b' }, RangeError],
    [{ 1: 1 }, TypeError], [{ 1: 'user\n' }, TypeError], [{ 1: 'b', 2: 'b' }, TypeError]]) {
    assert.throws(() => new Prefixes(wrong), error)
  }
  ok('wrong tables')
})
