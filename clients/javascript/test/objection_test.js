// Objection

'use strict'

const { extension, fails, readme, run, same, skipUnless } = require('./tap')

skipUnless('objection', 'knex', 'pg')
const { isSno, meta } = require('postgresql-sno')

run(async () => {
  const before = extension()
  const { Customer, Order, db, example } = readme('objection', 'Customer', 'Order', 'db', 'example')
  const [{ orders: [{ id, ...order }], ...ada }] = await example()
  same([isSno(ada.id), meta(ada.id), meta(id)], [true, 1, 2], 'keys that the server makes')
  same([ada.name, order], ['Ada', { customer_id: ada.id, related: [ada.id, null] }], 'README')
  const bob = await Customer.query().insertGraph({ name: 'Bob', orders: [{ related: [] }, {}] })
  same(bob.orders.map((each) => [meta(each.id), each.customer_id]), [[2, bob.id], [2, bob.id]], 'insertGraph')
  same((await Customer.query().withGraphJoined('orders').where('customers.id', bob.id)).map(({ orders }) => orders.length), [2],
    'withGraphJoined')
  same((await bob.$query().patchAndFetch({ name: 'Bob B.' })).name, 'Bob B.', 'patchAndFetch')
  same((await Order.query().findById(id)).related, [ada.id, null], 'findById')
  await fails(({ nativeError }) => nativeError.code === '22P02', () => Customer.query().findById('no'), 'bad id: 22P02')
  await fails(/back/, () => Customer.transaction(async (trx) => {
    await Customer.query(trx).insert({ name: 'Eve' })
    throw Error('back')
  }), 'a transaction')
  same(await Customer.query().resultSize(), 2, 'it was rolled back')
  same((await Customer.query().insert({ id: 'nerfoeusqoxgw25d', name: 'Eve' })).id, 'nerfoeusqoxgw25d', 'a key that the application makes')
  same(extension(), before, 'the extension is as it was')
  await db.destroy()
})
