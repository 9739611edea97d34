// node-postgres

'use strict'

const { assert, fails, ok, readme, run, same, skipUnless } = require('./tap')

skipUnless('pg')
const { once } = require('events')
const { Client, Pool } = require('pg')
const sno = require('postgresql-sno')
const { registerSno } = require('postgresql-sno/pg')

async function connected() {
  const client = new Client()
  await client.connect()
  const query = async (text, ...values) => (await client.query({ text, values, rowMode: 'array' })).rows
  const value = async (text, ...values) => (await query(text, ...values))[0][0]
  return { client, query, value }
}

run(async () => {
  const { client, query, value } = await connected()

  // What works by itself.
  const ada = await value("INSERT INTO customers (name) VALUES ('Ada') RETURNING id")
  same([ada, sno.meta(ada)], [await value('SELECT id::text FROM customers'), 1], 'RETURNING: text')
  same(await value('SELECT name FROM customers WHERE id = $1', ada), 'Ada', 'parameter, untyped')
  same(await value('SELECT pg_typeof($1::sno)::text', ada), 'sno', 'parameter, typed')
  same(await query('SELECT name FROM customers WHERE id = ANY ($1)', [ada, null]), [['Ada']], 'array parameter')
  same(await query('SELECT name FROM customers WHERE id = ANY ($1)', []), [], 'array parameter, empty')
  same(await value('SELECT ARRAY[id, NULL] FROM customers'), `{${ada},NULL}`, 'array result: text')
  same(await value('SELECT $1::sno', null), null, 'NULL')
  for (const id of ['', ada.slice(1), ada.toUpperCase(), '\u0663' + ada.slice(1)]) {
    await fails({ code: '22P02' }, query('SELECT * FROM customers WHERE id = $1', id), 'bad id: 22P02')
  }
  await fails({ code: '22P03' }, query('SELECT $1::sno', Buffer.from('short')), 'bad bytes: 22P03')

  // What the database says of the same ids and times.
  const ids = await query(`
    SELECT id, id::bytea, id::uuid, sno_to_uuidv8(id), sno_timestamp(id), sno_tick_tock(id), sno_meta(id),
      sno_partition(id), sno_sequence(id)
    FROM (SELECT sno_generate(n) FROM generate_series(0, 255) AS n) AS ids (id)`)
  for (const [id, bytes, uuid, v8, ...fields] of ids) {
    assert.strictEqual(sno.fromBytes(bytes), id)
    assert.strictEqual(await value('SELECT $1::sno', sno.toBytes(id)), id)
    assert.deepStrictEqual([sno.toUuid(id), sno.toUuidV8(id)], [uuid, v8])
    assert.deepStrictEqual(
      [sno.timestamp(id), sno.tickTock(id), sno.meta(id), sno.partition(id), sno.sequence(id)], fields)
  }
  ok('ids as the database says')
  const now = Date.now()
  const epoch = Date.UTC(2010, 0)
  const times = [0, epoch - 1, epoch, epoch + 1, epoch + 4, now, now + 1, now + 4,
    epoch + 4 * 2 ** 39 - 1, epoch + 4 * 2 ** 39, Date.UTC(2100, 0)].map((ms) => new Date(ms))
  for (const from of times) {
    assert.deepStrictEqual([sno.min(from), sno.max(from)],
      (await query('SELECT sno_min($1), sno_max($1)', from))[0])
    for (const to of [...times.filter((to) => to >= from), null]) {
      assert.deepStrictEqual(sno.range(from, to), (await query(
        'SELECT sno_range_min(r), sno_range_max(r) FROM tstzrange($1, $2) AS r', from, to))[0])
    }
    assert.deepStrictEqual(sno.range(null, from), (await query(
      'SELECT sno_range_min(r), sno_range_max(r) FROM tstzrange(NULL, $1) AS r', from))[0])
  }
  ok('bounds as the database says')

  // What the package adds.
  await registerSno(client)
  const bob = await value("INSERT INTO customers (name) VALUES ('Bob') RETURNING id")
  const order = await value(
    'INSERT INTO orders (customer_id, related) VALUES ($1, $2) RETURNING id', ada, [bob, null])
  same(await query('SELECT related FROM orders WHERE id = $1', order), [[[bob, null]]], 'array')
  same(await value('SELECT $1::sno[]', []), [], 'empty array')
  same(await value('SELECT $1::sno[]', [[ada, null], [bob, ada]]), [[ada, null], [bob, ada]],
    'array of two dimensions')
  await fails({ code: '22P02' }, query('SELECT $1::sno[]', [ada, 'no']), 'bad id in an array: 22P02')
  same(await query('SELECT orders.id FROM customers JOIN orders ON customer_id = customers.id'), [[order]], 'join')
  const hour = 3600 * 1000
  same(await query('SELECT id FROM customers WHERE id <@ tstzrange($1, $2) ORDER BY id',
    new Date(now - hour), new Date(now + hour)), [[ada], [bob]], 'id <@ tstzrange')
  same(await query('SELECT id FROM customers WHERE id BETWEEN $1 AND $2 ORDER BY id',
    ...sno.range(new Date(now - hour), new Date(now + hour))), [[ada], [bob]], 'range()')
  same(await query('SELECT id FROM customers WHERE id BETWEEN $1 AND $2',
    ...sno.range(null, new Date(now - hour))), [], 'range(), before')

  // Prepared statements, transactions.
  for (const [id, name] of [[ada, 'Ada'], [bob, 'Bob']]) {
    const { rows } = await client.query({
      name: 'customer', text: 'SELECT name, ARRAY[id] AS ids FROM customers WHERE id = $1', values: [id] })
    same(rows, [{ name, ids: [id] }], `prepared statement, ${name}`)
  }
  await query('BEGIN')
  await fails({ code: '22P02' }, query('SELECT $1::sno', 'no'), 'bad id in a transaction')
  await fails({ code: '25P02' }, registerSno(client), 'registerSno in a failed transaction')
  await query('ROLLBACK')

  // Domains, and another schema.
  await query('CREATE DOMAIN customer_id AS sno CHECK (sno_meta(VALUE) = 1)')
  await query('CREATE DOMAIN old_customer_id AS customer_id')
  await registerSno(client)
  same(await query('SELECT $1::customer_id, $2::customer_id[], ARRAY[$1::old_customer_id]', ada, [ada, null]),
    [[ada, [ada, null], [ada]]], 'domains')
  await fails({ code: '23514' }, query('SELECT $1::customer_id', order), 'domain refuses an id of another kind')
  await query('DROP EXTENSION sno CASCADE')
  await registerSno(client)
  ok('registerSno without the extension does nothing')
  await query('CREATE EXTENSION sno')
  await registerSno(client)
  same(await value('SELECT ARRAY[$1::sno, NULL]', ada), [ada, null], 'the extension anew')
  await query('DROP TABLE customers, orders')
  await query(require('fs').readFileSync(`${process.env.CLIENTS}/tables.sql`, 'utf8'))

  // A pool of many connections; the example.
  const { example, pool } = readme('pg', 'example', 'pool')
  same(await example(), [{ name: 'Ada', related: [(await query('SELECT id FROM customers'))[0][0], null] }],
    'README')
  const clients = await Promise.all(Array.from({ length: 10 }, () => pool.connect()))
  for (const each of clients) {
    const { rows: [{ ids }] } = await each.query('SELECT ARRAY[sno_generate(1)] AS ids')
    assert(sno.isSno(ids[0]))
    each.release()
  }
  ok('pool of 10 connections')
  await pool.end()

  // COPY is a package of its own.
  let streams
  try {
    streams = require('pg-copy-streams')
  } catch {
    ok('COPY # SKIP no pg-copy-streams')
  }
  for (const options of streams ? ['', '(FORMAT csv)', '(FORMAT binary)'] : []) {
    const everything = await query('SELECT * FROM orders ORDER BY id')
    const chunks = []
    for await (const chunk of client.query(streams.to(`COPY orders TO STDOUT ${options}`))) chunks.push(chunk)
    const data = Buffer.concat(chunks)
    const [[id]] = everything
    same(data.includes(options.includes('binary') ? sno.toBytes(id) : id), true, `ids in COPY ${options}`)
    await query('TRUNCATE orders')
    const copy = client.query(streams.from(`COPY orders FROM STDIN ${options}`))
    copy.end(data)
    await once(copy, 'finish')
    same(await query('SELECT * FROM orders ORDER BY id'), everything, `COPY ${options}`)
  }
  if (streams) {
    const copy = client.query(streams.from('COPY customers (id) FROM STDIN'))
    copy.end('not an id\n')
    await fails({ code: '22P02' }, once(copy, 'finish'), 'bad id in COPY: 22P02')
  }
  await client.end()
})
