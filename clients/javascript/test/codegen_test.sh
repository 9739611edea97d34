# shellcheck shell=bash
#
# pgTyped, Zapatos and kysely-codegen: the types that they write, as TypeScript sees them

# shellcheck source=SCRIPTDIR/application.sh
. "$CLIENTS/javascript/test/application.sh"
application codegen @pgtyped/cli @pgtyped/runtime zapatos kysely-codegen kysely typescript pg @types/pg @types/node
create_extension
sql -f "$CLIENTS/tables.sql"
url="postgresql://$PGUSER:${PGPASSWORD-}@127.0.0.1:${PGPORT-}/$PGDATABASE"    # pgTyped needs TCP

mkdir src
cat >src/queries.sql <<'SQL'
/* @name addOrder */
INSERT INTO orders (customer_id, related) VALUES (:customer!, :related) RETURNING id, related;

/* @name findCustomers
   @param ids -> (...) */
SELECT id FROM customers WHERE id IN :ids AND id <@ tstzrange(:since, NULL);
SQL
cat >zapatosconfig.json <<JSON
{ "db": { "connectionString": "$url" }, "outDir": "." }
JSON

works 'pgTyped' node node_modules/@pgtyped/cli/lib/index.js --config pgtyped.json --uri "$url"
works 'Zapatos' node node_modules/zapatos/dist/generate/cli.js
works 'kysely-codegen' node node_modules/kysely-codegen/dist/cli/bin.js --dialect postgres --url "$url" \
    --out-file tables.d.ts --exclude-pattern 'sno_catalog.*'
sed -i "s/any;.*/import('postgresql-sno').Sno;/" zapatos/custom/PgSno.d.ts
sed -i "s/any;.*/(import('postgresql-sno').Sno | null)[];/" zapatos/custom/Pg_sno.d.ts

cat >uses.ts <<'TS'
import { Pool } from 'pg'
import * as z from 'zapatos/db'
import type * as s from 'zapatos/schema'
import { type Sno, isSno, range } from 'postgresql-sno'
import { registerSno } from 'postgresql-sno/pg'
import { addOrder, findCustomers } from './src/queries.queries'
import type { DB } from './tables'

const pool = new Pool({ onConnect: registerSno })

async function main() {
  const ada: s.customers.Selectable = await z.insert('customers', { name: 'Ada' }).run(pool)
  const id: Sno = ada.id
  const since = new Date(Date.now() - 3600 * 1000)
  const [order] = await addOrder.run({ customer: id, related: [id, null as unknown as Sno] }, pool)
  const found: { id: Sno }[] = await findCustomers.run({ ids: [id], since }, pool)
  const orders = await z.select('orders', { customer_id: z.conditions.isIn([id]), id: z.conditions.between(...range(since)) }).run(pool)
  const related: (Sno | null)[] | null | undefined = orders[0]?.related
  // @ts-expect-error: any text is no id
  z.select('orders', { id: 'no' })
  // @ts-expect-error
  const wrong = () => addOrder.run({ customer: 'no' }, pool)
  const row: DB['orders'] = { customer_id: id, id: null as never, related: null }
  const failed = await z.select('customers', { id: 'no' as Sno }).run(pool).catch((error) => error.code)
  console.log(isSno(id), found.length === 1 && found[0]!.id === id, JSON.stringify(order!.related) === JSON.stringify([id, null]),
    JSON.stringify(related) === JSON.stringify([id, null]), row.customer_id === id && !!wrong, failed)
  await pool.end()
}
main()
TS
works 'tsc --strict' node node_modules/typescript/bin/tsc --strict --skipLibCheck --target es2022 --esModuleInterop \
    --module node16 --moduleResolution node16 uses.ts zapatos/schema.d.ts zapatos/custom/*.d.ts
works 'what it compiles to' node uses.js
is "$(cat said)" 'true true true true true 22P02' 'a key, a list, a range of time, arrays, a wrong id'
extension_is_kept 'pgTyped, Zapatos, kysely-codegen'
