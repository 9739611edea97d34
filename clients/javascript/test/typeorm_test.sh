# shellcheck shell=bash
#
# TypeORM: synchronize changes tables as the entities are, migration:generate compares
# them, queries.

# shellcheck source=SCRIPTDIR/application.sh
. "$CLIENTS/javascript/test/application.sh"
application typeorm typeorm pg
create_extension

# typeorm SCRIPT: with the data source connected.
typeorm() {
    node -e "
    const assert = require('assert')
    const { Any, Between, Raw } = require('typeorm')
    const { isSno, meta, range } = require('postgresql-sno')
    const { dataSource } = require('./data-source')
    const { example } = require('./queries')
    async function main() {
      await dataSource.initialize()
      $1
      await dataSource.destroy()
    }
    main()"
}

typeorm_migration() {
    node node_modules/typeorm/cli.js "migration:$1" --dataSource data-source.js "${@:2}"
}

works 'migration:generate' typeorm_migration generate --outputJs --pretty first
mv ./*-first.js 1-migration.js
is "$(grep -oE '(CREATE|ALTER|DROP) (TABLE|VIEW) "\w+"' 1-migration.js)" 'CREATE TABLE "customers"
CREATE TABLE "orders"
ALTER TABLE "orders"
ALTER TABLE "orders"
DROP TABLE "orders"
DROP TABLE "customers"' 'it is about the entities only'
works 'migration:run' typeorm_migration run
all_is_well 'migration:run'
works 'migration:generate finds nothing to do' typeorm_migration generate --check second
works 'migration:revert' typeorm_migration revert
is "$(columns)" '' 'it drops the tables'
extension_is_kept 'migration:revert'

works 'synchronize' typeorm 'await dataSource.synchronize()'
all_is_well 'synchronize'
works 'synchronize again' typeorm 'await dataSource.synchronize()'
all_is_well 'synchronize again'

sql -c 'TRUNCATE customers, orders'
works 'queries' typeorm "
const customers = dataSource.getRepository('Customer')
const orders = dataSource.getRepository('Order')
const found = await example(dataSource)
const [ada] = await customers.find()
assert(isSno(ada.id) && meta(ada.id) === 1)
assert.deepStrictEqual(found.map((order) => [order.related, order.customer.name]), [[[ada.id, null], 'Ada']])

await orders.save([{ customer: ada, related: [] }, { customer: ada, related: null }])
const related = (await orders.find({ order: { id: 'ASC' } })).map((order) => order.related)
assert.deepStrictEqual(related, [[ada.id, null], [], null])
assert.strictEqual(await customers.countBy({ id: Any([ada.id]) }), 1)
assert.strictEqual(await customers.countBy({ id: Between(...range(null, new Date(0))) }), 0)
assert.strictEqual(await customers.countBy({
  id: Raw((id) => id + ' <@ tstzrange(:after, NULL)', { after: new Date(Date.now() - 3600000) }) }), 1)
await dataSource.transaction((manager) => manager.update('Customer', ada.id, { name: 'Ada L.' }))
assert.strictEqual((await customers.findOneBy({ id: ada.id })).name, 'Ada L.')
await assert.rejects(() => customers.findOneBy({ id: 'no' }), (error) => error.code === '22P02')
await assert.rejects(() => orders.save({ customer: ada, related: ['no'] }), (error) => error.code === '22P02')
"

sql -c 'TRUNCATE customers, orders'
works 'keys that the application makes' typeorm "
const { ids, example } = require('./made').made(dataSource)
const made = await example(Array.from({ length: 100 }, (_, n) => 'customer ' + n))
const kept = await dataSource.getRepository('Order').find({ relations: { customer: true }, order: { id: 'ASC' } })
assert.deepStrictEqual(kept.map((order) => ({ ...order.customer })), made)
assert(kept.every((order) => meta(order.id) === 2 && meta(order.customer.id) === 1))
await dataSource.destroy()

const { BeforeInsert, Column, DataSource, Entity, PrimaryColumn } = require('typeorm')
class Customer {
  makeId() { this.id ??= ids.next(1) }
}
PrimaryColumn({ type: 'sno' })(Customer.prototype, 'id')
Column({ type: 'text' })(Customer.prototype, 'name')
BeforeInsert()(Customer.prototype, 'makeId')
Entity('customers')(Customer)
const others = new DataSource({ ...dataSource.options, entities: [Customer] })
require('postgresql-sno/typeorm').registerSno(others)
await others.initialize()
await dataSource.initialize()
const ada = await others.manager.save(others.manager.create(Customer, { name: 'Ada' }))
assert.deepStrictEqual((await others.manager.findOneBy(Customer, { id: ada.id })).name, 'Ada')
assert.strictEqual(meta(ada.id), 1)
ids.close()
await others.destroy()
"

sql -c 'DELETE FROM orders'
sql -c "INSERT INTO orders (customer_id, related) SELECT id, ARRAY[id] FROM customers"
related=$(sql -c 'SELECT related FROM orders ORDER BY id')
sql -c 'ALTER TABLE orders ALTER related TYPE uuid[] USING related::uuid[]'
works 'migration:generate, for a column of another type' typeorm_migration generate --outputJs type
is "$(grep -oE '"orders" (DROP COLUMN|ADD) "related"' ./*-type.js | head -n 2)" '"orders" DROP COLUMN "related"
"orders" ADD "related"' 'it drops the column and adds it'
sql -c 'ALTER TABLE orders ALTER related TYPE sno[] USING related::sno[]'
works 'migration:generate finds nothing to do after ALTER' typeorm_migration generate --check second
is "$(sql -c 'SELECT related FROM orders ORDER BY id')" "$related" 'the ids are kept'

works 'synchronize, and drop before' typeorm 'await dataSource.synchronize(true)'
all_is_well 'synchronize, and drop before'
works 'schema:drop' node node_modules/typeorm/cli.js schema:drop --dataSource data-source.js
is "$(columns)" '' 'it drops the tables of the user'
extension_is_kept 'schema:drop'
