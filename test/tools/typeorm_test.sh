# shellcheck shell=bash
#
# TypeORM: synchronize changes tables as the entities are, migration:generate
# compares them.

node_has typeorm
create_extension

# typeorm SCRIPT: with the data source connected.
typeorm() {
    node -e "
    const { dataSource } = require('./data-source')
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

works 'migration:generate' typeorm_migration generate --outputJs --pretty migration
is "$(grep -oE '(CREATE|ALTER|DROP) (TABLE|VIEW) "\w+"' ./*-migration.js)" 'CREATE TABLE "customers"
CREATE TABLE "orders"
ALTER TABLE "orders"
ALTER TABLE "orders"
DROP TABLE "orders"
DROP TABLE "customers"' 'it is about the entities only'

works 'synchronize' typeorm 'await dataSource.synchronize()'
all_is_well 'synchronize'
works 'migration:generate finds nothing to do' typeorm_migration generate --check migration
works 'synchronize again' typeorm 'await dataSource.synchronize()'
all_is_well 'synchronize again'

works 'entities' typeorm "
const customers = dataSource.getRepository('Customer')
const orders = dataSource.getRepository('Order')
const ada = await customers.save({ name: 'Ada' })
if (ada.id.length !== 16) throw Error(ada.id)
await orders.save({ customer: ada })
if (await orders.countBy({ customer: { id: ada.id } }) !== 1) throw Error('no order')
"

works 'synchronize, and drop before' typeorm 'await dataSource.synchronize(true)'
all_is_well 'synchronize, and drop before'
works 'schema:drop' node node_modules/typeorm/cli.js schema:drop --dataSource data-source.js
is "$(columns)" '' 'it drops the tables of the user'
extension_is_kept 'schema:drop'
