// PostGraphile 5

'use strict'

const { extension, psql, readme, run, same, skipUnless } = require('./tap')

skipUnless('postgraphile', 'postgraphile/grafast')
if (parseInt(process.versions.node) < 22) {
  console.log('1..0 # SKIP it needs Node.js 22')
  process.exit(0)
}
const { isSno, meta } = require('postgresql-sno')

run(async () => {
  const before = extension()
  psql(`CREATE INDEX ON orders (customer_id)`)
  psql(`CREATE DOMAIN invoice_id AS sno CHECK (sno_meta(VALUE) = 3);
    CREATE TABLE invoices (id invoice_id PRIMARY KEY DEFAULT sno_generate(3), number integer)`)
  psql(`CREATE FUNCTION orders_since(since timestamptz) RETURNS SETOF orders STABLE LANGUAGE sql
    AS 'SELECT * FROM orders WHERE id <@ tstzrange(since, NULL)'`)
  process.env.GRAPHILE_ENV = 'production'
  process.env.DATABASE_URL = `postgresql:///${process.env.PGDATABASE}`
  const { makeSchema } = require('postgraphile')
  const { grafast } = require('postgraphile/grafast')
  const { preset } = readme('postgraphile', 'preset')
  const { schema, resolvedPreset } = await makeSchema(preset)
  const ask = async (source) => JSON.parse(JSON.stringify(
    await grafast({ schema, source, resolvedPreset, requestContext: {} })))

  const { data } = await ask('mutation { createCustomer(input: {customer: {name: "Ada"}}) { customer { rowId id } } }')
  const { rowId: ada, id: node } = data.createCustomer.customer
  same([isSno(ada), meta(ada)], [true, 1], 'a key that the server makes')
  same(await ask(`mutation { createOrder(input: {order: {customerId: "${ada}", related: ["${ada}", null]}}) {
      order { related customerByCustomerId { name } } } }`),
  { data: { createOrder: { order: { related: [ada, null], customerByCustomerId: { name: 'Ada' } } } } }, 'a reference, an array')
  const found = { name: 'Ada', ordersByCustomerId: { nodes: [{ related: [ada, null] }] } }
  same(await ask(`{ customerByRowId(rowId: "${ada}") { name ordersByCustomerId { nodes { related } } } }`),
    { data: { customerByRowId: found } }, 'found by its key')
  same(await ask(`{ customer(id: "${node}") { rowId } }`), { data: { customer: { rowId: ada } } }, 'found by the id of its node')
  same(await ask(`{ allOrders(condition: {customerId: "${ada}"}, orderBy: ROW_ID_DESC, first: 1) { nodes { customerId } } }`),
    { data: { allOrders: { nodes: [{ customerId: ada }] } } }, 'a condition, in order')
  same(await ask('{ ordersSince(since: "2020-01-01T00:00:00Z") { nodes { customerId } } }'),
    { data: { ordersSince: { nodes: [{ customerId: ada }] } } }, 'a range of time')
  same((await ask('{ customerByRowId(rowId: "no") { name } }')).errors.map(({ message }) => message),
    ['invalid input syntax for type sno: "no"'], 'a wrong id')
  const made = await ask('mutation { createInvoice(input: {invoice: {number: 1}}) { invoice { rowId } } }')
  same(meta(made.data.createInvoice.invoice.rowId), 3, 'a domain')
  same(extension(), before, 'the extension is as it was')
  await resolvedPreset.pgServices[0].release()
})
