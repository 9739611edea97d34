# shellcheck shell=bash
#
# drizzle-kit: push compares the schema with the database, and changes the latter.

node_has drizzle-kit
create_extension

drizzle_kit() { node node_modules/drizzle-kit/bin.cjs "$@" </dev/null; }

# It exits with 0 after errors, too.
outcome() { grep -oE 'Changes applied|No changes detected|^Error: .*' said | head -n 1; }

works 'push' drizzle_kit push
is "$(outcome)" 'Changes applied' 'it makes the tables'
all_is_well 'push'
works 'push again' drizzle_kit push
is "$(outcome)" 'No changes detected' 'it has nothing to do'
extension_is_kept 'push again'

works 'pull' drizzle_kit pull
is "$(sed -n "s/.*pgTable(\"\(\w*\)\".*/\1/p" drizzle/schema.ts | sort)" 'customers
orders' 'it finds the tables of the user only'

works 'queries' node -e "
const { drizzle } = require('drizzle-orm/node-postgres')
const { customers, orders } = require('./schema')
const { eq } = require('drizzle-orm')
const { Client } = require('pg')
async function main() {
  const client = new Client()
  await client.connect()
  const db = drizzle({ client })
  const [ada] = await db.insert(customers).values({ name: 'Ada' }).returning()
  await db.insert(orders).values({ customerId: ada.id })
  const found = await db.select().from(orders).where(eq(orders.customerId, ada.id))
  if (found.length !== 1) throw Error('no order')
  await client.end()
}
main()
"
