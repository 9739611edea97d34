// Kysely

'use strict'

const { extension, fails, psql, readme, run, same, skipUnless, tables } = require('./tap')

skipUnless('kysely', 'pg')
const { Migrator, sql } = require('kysely')
const { isSno, meta, range } = require('postgresql-sno')

run(async () => {
  const wanted = tables()
  const before = extension()
  const { db, example, migration } = readme('kysely', 'db', 'example', 'migration')
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ tables: migration }) } })

  // Migrations there and back.
  psql('DROP TABLE orders, customers')
  same((await migrator.migrateToLatest()).error, undefined, 'migrateToLatest')
  same(tables(), wanted, 'the tables are as wanted')
  same((await migrator.migrateDown()).error, undefined, 'migrateDown')
  same(tables(), '', 'the tables are gone')
  same((await migrator.migrateToLatest()).error, undefined, 'migrateToLatest again')
  same(extension(), before, 'the extension is as it was')

  // README: key by the server, RETURNING, IN, arrays with nulls, a range of time, a join.
  const rows = await example()
  const { id: ada } = await db.selectFrom('customers').select('id').executeTakeFirst()
  same([isSno(ada), meta(ada)], [true, 1], 'RETURNING')
  same(rows, [{ name: 'Ada', related: [ada, null] }], 'README')

  const customers = db.selectFrom('customers').select('name')
  same(await customers.where(sql`id = ANY (${[ada]})`).execute(), [{ name: 'Ada' }], '= ANY')
  same(await customers.where(sql`id <@ tstzrange(${new Date(Date.now() - 3600000)}, NULL)`).execute(), [{ name: 'Ada' }],
    'id <@ tstzrange')
  same(await customers.where((where) => where.between('id', ...range(null, new Date(Date.now() - 3600000)))).execute(), [],
    'range, before')
  await db.insertInto('orders').values([{ customer_id: ada, related: [] }, { customer_id: ada, related: null }]).execute()
  same((await db.selectFrom('orders').select('related').orderBy('id').execute()).map((row) => row.related),
    [[ada, null], [], null], 'arrays')
  await db.transaction().execute((trx) => trx.updateTable('customers').set({ name: 'Ada L.' }).where('id', '=', ada).execute())
  same(await customers.where('id', '=', ada).execute(), [{ name: 'Ada L.' }], 'transaction')
  await fails({ code: '22P02' }, () => customers.where('id', '=', 'no').execute(), 'bad id: 22P02')
  await fails({ code: '22P02' }, () => db.insertInto('orders').values({ customer_id: ada, related: ['no'] }).execute(),
    'bad id in an array: 22P02')
  const tablesSeen = (await db.introspection.getTables()).find((table) => table.name === 'orders')
  same(tablesSeen.columns.filter((column) => column.dataType.endsWith('sno')).map((column) => [column.name, column.dataType]),
    [['id', 'sno'], ['customer_id', 'sno'], ['related', '_sno']], 'introspection')

  // Keys that the application makes
  const { ids, example: insert } = readme('kysely_made', 'made').made(db)
  const made = await insert(['Bob', 'Eve'])
  same(await db.selectFrom('customers').innerJoin('orders', 'customer_id', 'customers.id')
    .where('customers.id', 'in', made.map(({ id }) => id)).orderBy('orders.id').select(['customers.id', 'name']).execute(),
  made, 'keys that the application makes')
  ids.close()
  await db.destroy()
})
