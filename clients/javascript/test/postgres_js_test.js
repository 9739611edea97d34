// postgres.js

'use strict'

const { fails, readme, run, same, skipUnless } = require('./tap')

skipUnless('postgres')
const sno = require('postgresql-sno')
const { registerSno } = require('postgresql-sno/postgres')

run(async () => {
  const { example, sql } = readme('postgres', 'example', 'sql')
  const [row, ...others] = await example()
  const [{ id: ada }] = await sql`SELECT id FROM customers`
  same([row, others], [{ name: 'Ada', related: [ada, null] }, []], 'README')
  same([typeof ada, sno.meta(ada)], ['string', 1], 'RETURNING')

  const value = async (query) => (await query)[0].value
  same(await value(sql`SELECT ${null}::sno AS value`), null, 'NULL')
  same(await value(sql`SELECT ${[]}::sno[] AS value`), [], 'empty array')
  same(await value(sql`SELECT ${[[ada, null], [ada, ada]]}::sno[] AS value`), [[ada, null], [ada, ada]],
    'array of two dimensions')
  same(await value(sql`SELECT count(*)::int AS value FROM customers WHERE id IN ${sql([ada])}`), 1, 'IN')
  same(await value(sql`
    SELECT count(*)::int AS value FROM customers
    WHERE id BETWEEN ${sno.min(new Date(Date.now() - 3600 * 1000))} AND ${sno.max(new Date())}`), 1, 'min, max')
  await fails({ code: '22P02' }, () => sql`SELECT * FROM customers WHERE id = ${ada.toUpperCase()}`, 'bad id: 22P02')
  await fails({ code: '22P02' }, () => sql`SELECT ${[ada, 'no']}::sno[]`, 'bad id in an array: 22P02')
  await fails({ code: '22P02' }, () => sql.begin((sql) => sql`SELECT ${'no'}::sno`), 'bad id in a transaction')

  // Many connections, then types that are newer than these.
  const all = await Promise.all(Array.from({ length: 20 }, () => sql`
    SELECT ARRAY[sno_generate(1)] AS ids, pg_sleep(0.1)`))
  same(all.every(([{ ids }]) => sno.isSno(ids[0])), true, 'many connections')
  await sql`CREATE DOMAIN customer_id AS sno CHECK (sno_meta(VALUE) = 1)`
  same(await value(sql`SELECT ${ada}::customer_id AS value`), ada, 'domain')
  await sql.end()

  const other = require('postgres')()
  same((await other`SELECT ARRAY[${ada}::sno, NULL] AS value`)[0].value, [ada, 'NULL'], 'without registerSno()')
  await registerSno(other)
  same((await other`SELECT ARRAY[${ada}, NULL]::customer_id[] AS value`)[0].value, [ada, null], 'array of a domain')
  same((await other`SELECT ${[[null, ada], [null, null]]}::sno[] AS value`)[0].value,
    [[null, ada], [null, null]], 'NULL in two dimensions')
  same((await other`SELECT name FROM customers WHERE id <@ tstzrange(${new Date(Date.now() - 3600 * 1000)}, NULL)`)[0].name,
    'Ada', 'id <@ tstzrange')
  await other.end()

  // A type that is newer than the connection, and then a connection that is newer than both.
  const open = require('postgres')({ max: 2 })
  await registerSno(open)
  await open`CREATE DOMAIN order_id AS sno`
  await registerSno(open)
  const orderIds = () => value(open`SELECT ARRAY[${ada}, NULL]::order_id[] AS value`)
  same(await orderIds(), [ada, null], 'registerSno() again')
  const held = await open.reserve()
  same(await orderIds(), [ada, null], 'a new connection after that')
  held.release()
  await open.end()

  // Keys that the application makes
  const { ids, ...made } = readme('postgres_made', 'example', 'ids', 'sql')
  const customers = await made.example(['Bob', 'Eve'])
  same([...await made.sql`
    SELECT customers.id, name FROM customers JOIN orders ON customer_id = customers.id WHERE sno_meta(orders.id) = 2
    AND customers.id IN ${made.sql(customers.map(({ id }) => id))} ORDER BY id`], customers, 'keys that the application makes')
  ids.close()
  await made.sql.end()

  const without = require('postgres')({ fetch_types: false })
  await fails(/fetch_types/, () => registerSno(without), 'it needs fetch_types')
  await without.end()
})
