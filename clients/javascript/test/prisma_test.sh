# shellcheck shell=bash
#
# Prisma, with the adapter for node-postgres

# shellcheck source=SCRIPTDIR/application.sh
. "$CLIENTS/javascript/test/application.sh"
application prisma prisma @prisma/client @prisma/adapter-pg
[ "$(node -p 'parseInt(process.versions.node)')" -ge 20 ] || skip_all 'it needs Node.js 20'
create_extension
sql -f "$CLIENTS/tables.sql"

# Only migrations need the schema engine, which is no part of the package.
works 'prisma generate' env PRISMA_SCHEMA_ENGINE_BINARY=/bin/false \
    node node_modules/prisma/build/index.js generate --schema=schema.prisma

cat >test.js <<'JS'
const assert = require('assert')
const { isSno, meta, range } = require('postgresql-sno')
const { parseSno } = require('postgresql-sno/prisma')
const { db, example } = require('./queries')

async function main() {
  const [ada] = await example(db)
  assert.deepStrictEqual([isSno(ada.id), meta(ada.id), ada.name], [true, 1, 'Ada'])
  assert.deepStrictEqual(ada.orders.map(({ id, ...order }) => [meta(id), order]), [[2, { customer_id: ada.id, related: [ada.id] }]])

  const bob = await db.customers.create({ data: { name: 'Bob', orders: { create: [{ related: [] }, {}] } }, include: { orders: true } })
  assert.deepStrictEqual(bob.orders.map(({ related }) => related), [[], []])
  assert.deepStrictEqual(await db.customers.findUnique({ where: { id: ada.id } }), { id: ada.id, name: 'Ada' })
  assert.deepStrictEqual(await db.orders.findMany({ where: { related: { has: ada.id } }, include: { customer: true } }),
    [{ ...ada.orders[0], customer: { id: ada.id, name: 'Ada' } }])
  const [gte, lte] = range(null, new Date(Date.now() - 3600 * 1000))
  assert.deepStrictEqual(await db.customers.findMany({ where: { id: { gte, lte } } }), [])
  const rows = await db.$queryRaw`SELECT ARRAY[id, NULL] AS ids FROM customers
    WHERE id = ANY (${[ada.id]}) AND id <@ tstzrange(${new Date(Date.now() - 3600 * 1000)}, NULL)`
  assert.deepStrictEqual(rows, [{ ids: [ada.id, null] }])

  await assert.rejects(db.customers.findUnique({ where: { id: 'no' } }), /invalid input syntax for type sno: "no"/)
  await assert.rejects(db.$transaction(async (tx) => {
    await tx.customers.create({ data: { name: 'Eve' } })
    throw Error('back')
  }), /back/)
  assert.strictEqual(await db.customers.count(), 2)
  const eve = { id: 'nerfoeusqoxgw25d', name: 'Eve' }    // a key that the application makes
  assert.deepStrictEqual(await db.customers.create({ data: eve }), eve)

  for (const other of [null, 1, 'text', '{text}', ada.id, `{${ada.id}`, `{${ada.id},}`]) assert.strictEqual(await parseSno(1, other), other)
  await db.$disconnect()
}
main()
JS
works 'README, arrays, lists, a range of time, a wrong id, a transaction' node test.js
extension_is_kept Prisma
