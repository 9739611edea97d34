// Knex

'use strict'

const { extension, fails, psql, readme, run, same, skipUnless, tables } = require('./tap')

skipUnless('knex', 'pg')
const { isSno, meta, range } = require('postgresql-sno')

run(async () => {
  const wanted = tables()
  const before = extension()
  const { db, example, migration } = readme('knex', 'db', 'example', 'migration')
  const migrations = {
    getMigrations: async () => ['tables'],
    getMigrationName: (name) => name,
    getMigration: async () => migration,
  }

  // Migrations there and back.
  psql('DROP TABLE orders, customers')
  await db.migrate.latest({ migrationSource: migrations })
  same(tables(), wanted, 'migrate.latest')
  await db.migrate.rollback({ migrationSource: migrations })
  same(tables(), '', 'migrate.rollback')
  await db.migrate.latest({ migrationSource: migrations })
  same(extension(), before, 'the extension is as it was')

  // README: key by the server, RETURNING, = ANY, arrays with nulls, a range of time, a join.
  const rows = await example()
  const [{ id: ada }] = await db('customers').select('id')
  same([isSno(ada), meta(ada)], [true, 1], 'RETURNING')
  same(rows, [{ name: 'Ada', related: [ada, null] }], 'README')

  same(await db('customers').whereRaw('id = ANY (?)', [[ada]]).select('name'), [{ name: 'Ada' }], '= ANY')
  same(await db('customers').whereRaw('id <@ tstzrange(?, NULL)', [new Date(Date.now() - 3600000)]).pluck('name'),
    ['Ada'], 'id <@ tstzrange')
  same(await db('customers').whereBetween('id', range(null, new Date(Date.now() - 3600000))), [], 'range, before')
  await db('orders').insert([{ customer_id: ada, related: [] }, { customer_id: ada, related: null }])
  same((await db('orders').orderBy('id').pluck('related')), [[ada, null], [], null], 'arrays')
  await db.transaction((trx) => trx('customers').where('id', ada).update({ name: 'Ada L.' }))
  same(await db('customers').where({ id: ada }).first('name'), { name: 'Ada L.' }, 'transaction')
  await fails({ code: '22P02' }, () => db('customers').where('id', 'no'), 'bad id: 22P02')
  await fails({ code: '22P02' }, () => db('orders').insert({ customer_id: ada, related: ['no'] }), 'bad id in an array: 22P02')

  // Keys that the application makes
  const { ids, example: insert } = readme('knex_made', 'made').made(db)
  const customers = await insert(['Bob', 'Eve'])
  same(await db('customers').join('orders', 'customer_id', 'customers.id').whereIn('customers.id', customers.map(({ id }) => id))
    .orderBy('orders.id').select('customers.id', 'name'), customers, 'keys that the application makes')
  ids.close()
  await db.destroy()
})
