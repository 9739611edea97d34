# shellcheck shell=bash
#
# Drizzle: drizzle-kit compares the schema with the database, or makes migrations of it;
# queries.

# shellcheck source=SCRIPTDIR/application.sh
. "$CLIENTS/javascript/test/application.sh"
application drizzle drizzle-orm drizzle-kit pg postgres
create_extension

drizzle_kit() { node node_modules/drizzle-kit/bin.cjs "$@" </dev/null; }

# It exits with 0 after errors, too.
outcome() { grep -oE 'Changes applied|No changes detected|No schema changes|migrations applied|^Error: .*' said | head -n 1; }

works 'push' drizzle_kit push
is "$(outcome)" 'Changes applied' 'it makes the tables'
all_is_well 'push'
works 'push again' drizzle_kit push
is "$(outcome)" 'No changes detected' 'it has nothing to do'
extension_is_kept 'push again'

works 'pull' drizzle_kit pull
is "$(sed -n "s/.*pgTable(\"\(\w*\)\".*/\1/p" drizzle/schema.ts | sort)" 'customers
orders' 'it finds the tables of the user only'

# What README tells to mend in it
sed -i -e 's/unknown(/sno(/' -e "1i import { sno } from 'postgresql-sno/drizzle'" drizzle/schema.ts
for table in customers:1 orders:2; do
    sed -i "/pgTable(\"${table%:*}\"/,/id:/s/sno(\"id\")/&.default(sql\`sno_generate(${table#*:})\`)/" drizzle/schema.ts
done
sed 's,\./schema\.js,./drizzle/schema.ts,' drizzle.config.js >pulled.config.js
works 'push what was pulled' drizzle_kit push --config=pulled.config.js
is "$(outcome)" 'No changes detected' 'it has nothing to do'
all_is_well 'push what was pulled'
rm -r drizzle pulled.config.js

# queries CLIENT: README's, and more
queries() {
    sql -c 'TRUNCATE customers, orders'
    works "queries with $1" node -e "
const assert = require('assert')
const { eq, sql } = require('drizzle-orm')
const { isSno, meta } = require('postgresql-sno')
const { customers, orders } = require('./schema')
const { example } = require('./queries')
const { drizzle } = require('drizzle-orm/$2')

async function main() {
  const client = $3
  const db = drizzle({ client })
  const rows = await example(db)
  const [{ id: ada }] = await db.select().from(customers)
  assert(isSno(ada) && meta(ada) === 1)
  assert.deepStrictEqual(rows, [{ name: 'Ada', related: [ada, null] }])

  await db.insert(orders).values([{ customerId: ada, related: [] }, { customerId: ada, related: null }])
  const related = await db.select({ related: orders.related }).from(orders).orderBy(orders.id)
  assert.deepStrictEqual(related.map((row) => row.related), [[ada, null], [], null])
  const any = sql\`\${customers.id} = ANY (\${sql.param([ada])})\`
  assert.strictEqual((await db.select().from(customers).where(any)).length, 1)
  const hour = new Date(Date.now() - 3600 * 1000).toISOString()
  const during = sql\`\${customers.id} <@ tstzrange(\${hour}, NULL)\`
  assert.strictEqual((await db.select().from(customers).where(during)).length, 1)
  await db.transaction((tx) => tx.update(customers).set({ name: 'Ada L.' }).where(eq(customers.id, ada)))
  assert.strictEqual((await db.select().from(customers))[0].name, 'Ada L.')
  for (const bad of [
    () => db.select().from(customers).where(eq(customers.id, 'no')),
    () => db.insert(orders).values({ customerId: ada, related: ['no'] }),
  ]) await assert.rejects(bad, (error) => (error.cause ?? error).code === '22P02')
  await client.end()
}
main()
"
}
sql -c 'TRUNCATE customers, orders'
works 'keys that the application makes' node -e "
const assert = require('assert')
const { asc, eq } = require('drizzle-orm')
const { drizzle } = require('drizzle-orm/node-postgres')
const { meta } = require('postgresql-sno')
const { made } = require('./made')

async function main() {
  const statements = []
  const client = new (require('pg').Pool)()
  const db = drizzle({ client, logger: { logQuery: (text) => statements.push(text) } })
  const { ids, customers, orders, example } = made(db)
  const parents = await example(Array.from({ length: 100 }, (_, n) => 'customer ' + n))
  assert.strictEqual(statements.filter((text) => text.startsWith('insert')).length, 2)
  const rows = await db.select({ id: customers.id, name: customers.name, order: orders.id }).from(customers)
    .innerJoin(orders, eq(orders.customerId, customers.id)).orderBy(asc(orders.id))
  assert.deepStrictEqual(rows.map(({ id, name }) => ({ id, name })), parents)
  assert(rows.every(({ id, order }) => meta(id) === 1 && meta(order) === 2))
  const [ada] = await db.insert(customers).values({ name: 'Ada' }).returning()
  assert.strictEqual(meta(ada.id), 1)
  assert.strictEqual(ids.stats().issued, 201)
  ids.close()
  await client.end()
}
main()
"
queries node-postgres node-postgres "new (require('pg').Pool)()"
queries postgres.js postgres-js "require('postgres')()"

# Migrations there, with a change, in another database.
use_new_database drizzle_migrations
create_extension
works 'generate' drizzle_kit generate
works 'migrate' drizzle_kit migrate
all_is_well 'migrate'
works 'generate again' drizzle_kit generate
is "$(outcome)" 'No schema changes' 'it has nothing to do'
sed -i "s/^  related: .*/&\n  note: text('note'),/" schema.js
works 'generate a change' drizzle_kit generate
works 'migrate the change' drizzle_kit migrate
is "$(sql -c "SELECT count(*) FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attname = 'note'")" 1 'it is made'
sed -i '/note/d' schema.js
works 'generate the way back' drizzle_kit generate
works 'migrate back' drizzle_kit migrate
all_is_well 'migrate back'

# As modules of ECMAScript
cat >schema.mjs <<'JS'
import { pgTable } from 'drizzle-orm/pg-core'
import { sno } from 'postgresql-sno/drizzle'
import { range } from 'postgresql-sno'
export const things = pgTable('things', { id: sno('id').primaryKey() })
if (range().length !== 2 || things.id.getSQLType() !== 'sno') throw Error('import')
if (things.id.mapFromDriverValue('NULL') !== null) throw Error('NULL in an array')
JS
works 'import' node schema.mjs
