# shellcheck shell=bash
#
# Sequelize: sync changes tables as the models are, migrations, other calls list and drop
# tables.

# shellcheck source=SCRIPTDIR/application.sh
. "$CLIENTS/javascript/test/application.sh"
application sequelize sequelize pg
create_extension
cat >sequelize.js <<'JS'
const assert = require('assert')
const { Op, QueryTypes, Sequelize, literal } = require('sequelize')
const { SNO } = require('postgresql-sno/sequelize')
const { isSno, meta, range } = require('postgresql-sno')
const { define } = require('./models')
const { example } = require('./queries')

const sequelize = new Sequelize({
  dialect: 'postgres',
  host: process.env.PGHOST,
  port: process.env.PGPORT,
  username: process.env.PGUSER,
  password: process.env.PGPASSWORD,
  database: process.env.PGDATABASE,
  logging: false,
})
const models = define(sequelize)

async function main() {
  const shown = await eval(`async () => { ${process.argv[2]} }`)()
  if (shown) console.log(shown)
  await sequelize.close()
}

main()
JS

sequelize() { node sequelize.js "$1"; }

works 'sync' sequelize 'await sequelize.sync()'
all_is_well 'sync'

# The files of the tables, which change if a table is written anew, and the orders.
contents() {
    sql -c "SELECT relname, relfilenode FROM pg_class WHERE relname IN ('customers', 'orders') ORDER BY 1" \
        -c 'SELECT * FROM orders ORDER BY id'
}

sql -c 'UPDATE orders SET related = ARRAY[customer_id, NULL]'
before=$(contents)
works 'sync, with alter' sequelize 'await sequelize.sync({ alter: true })'
is "$(contents)" "$before" 'sync, with alter: no row is written'
all_is_well 'sync, with alter'
works 'sync, with force' sequelize 'await sequelize.sync({ force: true })'
all_is_well 'sync, with force'

sql -c 'TRUNCATE customers, orders'
works 'queries' sequelize "
const found = await example(models)
const ada = await models.Customer.findOne()
assert(isSno(ada.id) && meta(ada.id) === 1)
assert.deepStrictEqual(found.map((row) => [row.name, row.orders.map((order) => order.related)]), [['Ada', [[ada.id, null]]]])

await models.Order.bulkCreate([{ customer_id: ada.id, related: [] }, { customer_id: ada.id, related: null }])
const orders = await models.Order.findAll({ order: ['id'] })
assert.deepStrictEqual(orders.map((row) => row.related), [[ada.id, null], [], null])
assert.strictEqual(await models.Order.count({ where: { related: { [Op.contains]: [ada.id] } } }), 1)
assert.strictEqual(await models.Customer.count({ where: { id: { [Op.in]: [ada.id] } } }), 1)
assert.strictEqual((await sequelize.query('SELECT name FROM customers WHERE id = ANY (\$1)',
  { bind: [[ada.id]], type: QueryTypes.SELECT })).length, 1)
assert.strictEqual(await models.Customer.count({ where: { id: { [Op.between]: range(null, new Date(0)) } } }), 0)
assert.strictEqual((await sequelize.query('SELECT name FROM customers WHERE id <@ tstzrange(\$1, NULL)',
  { bind: [new Date(Date.now() - 3600000)], type: QueryTypes.SELECT })).length, 1)
await sequelize.transaction((transaction) => ada.update({ name: 'Ada L.' }, { transaction }))
assert.strictEqual((await models.Customer.findByPk(ada.id)).name, 'Ada L.')

await assert.rejects(() => models.Customer.findByPk('no'), (error) => error.parent.code === '22P02')
await assert.rejects(() => models.Order.create({ customer_id: 'no' }), (error) => error.parent.code === '22P02')
await assert.rejects(() => models.Order.create({ customer_id: ada.id, related: ['no'] }), (error) => error.parent.code === '22P02')
"

sql -c 'TRUNCATE customers, orders'
works 'keys that the application makes' sequelize "
const statements = []
sequelize.options.logging = (text) => statements.push(text)
const { ids, Customer, Order, example } = require('./made').made(sequelize)
const names = Array.from({ length: 100 }, (_, n) => 'customer ' + n)
const made = await example(names)
assert.strictEqual(statements.filter((text) => text.includes('INSERT INTO')).length, 2)
assert.strictEqual(new Customer({ name: 'Ada' }).isNewRecord, true)
assert.strictEqual(meta(new Customer({ name: 'Ada' }).id), 1)
const found = await Customer.findAll({ include: Order, order: ['id', [Order, 'id']] })
const shown = (rows) => rows.map((row) => [row.id, row.name, row.orders.map((order) => [order.id, order.customer_id])])
assert.deepStrictEqual(shown(found), shown(made))
assert.deepStrictEqual(found.map((row) => row.name), names)
assert(found.every((row) => row.orders.length === 2 && row.orders.every((order) => meta(order.id) === 2)))
ids.close()
"

works 'showAllTables' sequelize \
    'return (await sequelize.getQueryInterface().showAllTables()).sort().join()'
is "$(cat said)" 'customers,orders' 'it finds the tables of the user only'
works 'drop' sequelize 'await sequelize.drop()'
extension_is_kept 'drop'
works 'sync after drop' sequelize 'await sequelize.sync()'
works 'dropAllTables' sequelize 'await sequelize.getQueryInterface().dropAllTables()'
is "$(columns)" '' 'it drops the tables of the user'

works 'migration up' sequelize "
const query = sequelize.getQueryInterface()
await query.createTable('customers', {
  id: { type: SNO, primaryKey: true, defaultValue: literal('sno_generate(1)') },
  name: { type: Sequelize.TEXT, allowNull: false },
})
await query.createTable('orders', {
  id: { type: 'sno', primaryKey: true, defaultValue: literal('sno_generate(2)') },
  related: Sequelize.ARRAY(SNO),
})
await query.addColumn('orders', 'customer_id', { type: SNO, allowNull: false, references: { model: 'customers', key: 'id' } })
"
all_is_well 'migration up'
works 'migration down' sequelize "
const query = sequelize.getQueryInterface()
await query.removeColumn('orders', 'customer_id')
await query.dropTable('orders')
await query.dropTable('customers')
"
is "$(columns)" '' 'migration down: the tables are gone'
extension_is_kept 'migration down'
