# shellcheck shell=bash
#
# Sequelize: sync changes tables as the models are, other calls list and drop them.

node_has sequelize
create_extension
cat >sequelize.js <<'JS'
const { Sequelize } = require('sequelize')
const { define } = require('./models')

const sequelize = new Sequelize({
  dialect: 'postgres',
  host: process.env.PGHOST,
  username: process.env.PGUSER,
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
works 'sync, with alter' sequelize 'await sequelize.sync({ alter: true })'
all_is_well 'sync, with alter'
works 'sync, with force' sequelize 'await sequelize.sync({ force: true })'
all_is_well 'sync, with force'

works 'models' sequelize "
const ada = await models.Customer.create({ name: 'Ada' })
if (ada.id.length !== 16) throw Error(ada.id)
await models.Order.create({ customer_id: ada.id })
if (await models.Order.count({ where: { customer_id: ada.id } }) !== 1) throw Error('no order')
"

works 'showAllTables' sequelize \
    'return (await sequelize.getQueryInterface().showAllTables()).sort().join()'
is "$(cat said)" 'customers,orders' 'it finds the tables of the user only'
works 'drop' sequelize 'await sequelize.drop()'
extension_is_kept 'drop'
works 'sync after drop' sequelize 'await sequelize.sync()'
works 'dropAllTables' sequelize 'await sequelize.getQueryInterface().dropAllTables()'
is "$(columns)" '' 'it drops the tables of the user'
works 'sync after dropAllTables' sequelize 'await sequelize.sync()'
all_is_well 'sync after dropAllTables'
