// MikroORM

'use strict'

const { psql, readme, run, same, skipUnless } = require('./tap')

skipUnless('@mikro-orm/postgresql')
const { meta } = require('postgresql-sno')

run(async () => {
  const statements = []
  const { Customer, example, ids } = readme('mikro_orm', 'Customer', 'example', 'ids')
  const names = Array.from({ length: 100 }, (_, n) => `customer ${n}`)
  const orm = await example(names, {
    host: process.env.PGHOST,
    port: Number(process.env.PGPORT ?? 5432),
    user: process.env.PGUSER,
    password: process.env.PGPASSWORD,
    dbName: process.env.PGDATABASE,
    debug: ['query'],
    logger: (text) => statements.push(text),
  })
  same(statements.filter((text) => /insert into/.test(text)).length, 2, 'two statements')
  const found = await orm.em.fork().find(Customer, {}, { populate: ['orders'], orderBy: { id: 'asc' } })
  same(found.map(({ name }) => name), names, 'parents, in the order of their keys')
  same(found.every(({ id, orders }) => meta(id) === 1 && orders.length === 2 &&
    orders.getItems().every((order) => meta(order.id) === 2 && order.customer.id === id)), true, 'children')
  same(Number(psql('SELECT count(*) FROM orders')), 200, 'rows')
  const [first] = found
  same((await orm.em.fork().findOne(Customer, first.id)).name, first.name, 'found by its key')
  ids.close()
  await orm.close()
})
