# shellcheck shell=bash
#
# The types, as TypeScript sees them from modules of both kinds.

# shellcheck source=SCRIPTDIR/application.sh
. "$CLIENTS/javascript/test/application.sh"
application types typescript pg postgres drizzle-orm sequelize typeorm @types/pg @types/node

cat >uses.ts <<'TS'
import { range, parse, isSno, meta, timestamp, toBytes, fromUuidV8, type Sno } from 'postgresql-sno'
import { Loan } from 'postgresql-sno/loan'
import { Generator, OutOfIdsError, blocks, loans, open, type Query, type Source, type Stats } from 'postgresql-sno/generator'
import { feed, type Batch, type Feed } from 'postgresql-sno/feed'
import { Seals } from 'postgresql-sno/seal'
import { Prefixes } from 'postgresql-sno/prefixes'
import { registerSno } from 'postgresql-sno/pg'
import * as postgresJs from 'postgresql-sno/postgres'
import { sno } from 'postgresql-sno/drizzle'
import { SNO } from 'postgresql-sno/sequelize'
import * as forTypeorm from 'postgresql-sno/typeorm'
import { Pool } from 'pg'
import postgres from 'postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/node-postgres'
import { between, inArray } from 'drizzle-orm'
import { DataTypes, Sequelize } from 'sequelize'
import { DataSource, EntitySchema } from 'typeorm'

const id: Sno = parse('nerfoeusqoxgw25d')
const at: Date = timestamp(id)
const byte: number = meta(id)
const bytes: Uint8Array = toBytes(id)
const text16: string = id
const [from, to]: [Sno, Sno] = range(at, null)
if (isSno(text16)) meta(text16)

// @ts-expect-error: any text is no id
const wrong: Sno = 'nerfoeusqoxgw25d'
// @ts-expect-error
meta('nerfoeusqoxgw25d')
// @ts-expect-error: a number is no time
range(1)
// @ts-expect-error
fromUuidV8(1)

const seals = new Seals(new Uint8Array(16), Buffer.alloc(16))
const sealed: [string, string] = [seals.seal(id), seals.sealUuid(id)]
const unsealed: [Sno, Sno | null] = [seals.unseal(sealed[0]), seals.unsealUuid(sealed[1])]
// @ts-expect-error
new Seals('secret')
// @ts-expect-error: any text is no id
seals.seal('nerfoeusqoxgw25d')

const prefixes = new Prefixes({ 1: 'user', 2: 'order' })
const prefixed: `user_${string}` | `order_${string}` = prefixes.write(id)
const named: [Sno, 'user' | 'order' | null] = [prefixes.read(prefixed, 'user'), prefixes.prefix(id)]
// @ts-expect-error: no such prefix
prefixes.read(prefixed, 'invoice')
// @ts-expect-error: any text is no id
prefixes.write('nerfoeusqoxgw25d')
// @ts-expect-error
new Prefixes({ 1: 2 })

const pool = new Pool({ onConnect: registerSno })

async function generators() {
  const query: Query = async (text) => (await pool.query(text)).rows
  const source: Source = loans(query, { duration: 1000, sequences: 64 })
  const ids = new Generator(source, { wait: 100 })
  const made: Sno = ids.next(1)
  await ids.ready({ until: new Date(), count: 1 })
  const stats: Stats = ids.stats()
  const others: Generator[] = [
    await open(loans(query)), await open(blocks((text) => postgres().unsafe(text), { count: 1, meta: 2 }))]
  for (const each of others) each.close()
  loans(query, { call: 'service_loan()' })
  // @ts-expect-error: a call has no duration
  loans(query, { call: 'service_loan()', duration: 1000 })
  // @ts-expect-error
  loans('SELECT')
  // @ts-expect-error: only loans() and blocks() make sources
  new Generator({ take: query })
  // @ts-expect-error
  ids.next('1')
  try {
    ids.next()
  } catch (error) {
    if (error instanceof OutOfIdsError && error.reason === 'over') return [error.until?.getTime(), error.cause, stats.until]
  }
  const one = new Loan(1, 0, 0, 65535, 9).next(1, 0)
  if (one === 'wait' || one === 'behind' || one === 'over') return one.length
  const permitted: Sno = one
  return [made, permitted]
}

async function feeds() {
  const batches: Feed<{ message: string }> = feed(pool, 'outbox', 'mail', { maxRows: 10, lease: 1000 })
  for await (const batch of batches) {
    const known: Batch<{ message: string }> = batch
    for await (const { id, deleted, item } of known) {
      const first: string | boolean = deleted || item.message + id
      // @ts-expect-error: no row
      batch.fail(first, 'no')
    }
    batch.fail(batch.rows[0]!, new Error(), { retryAfter: batch.part })
    batch.fail(null, 'one of them')
    batches.stop()
  }
  feed(postgres(), 'outbox', 'mail', { retryAfter: 10, onError: () => {} })
  // @ts-expect-error: not a pool
  feed('outbox', 'mail')
}

postgresJs.registerSno(postgres())
// @ts-expect-error
registerSno('client')
// @ts-expect-error
postgresJs.registerSno('client')

const customers = pgTable('customers', { id: sno('id').primaryKey(), name: text('name'), related: sno('related').array().$type<(Sno | null)[]>() })
async function queries() {
  const [row] = await drizzle({ client: pool }).select().from(customers)
    .where(between(customers.id, from, to))
  const key: Sno = row!.id
  const related: (Sno | null)[] | null = row!.related
  await drizzle({ client: pool }).insert(customers).values({ id: key, related: [key, null] })
  inArray(customers.id, [key])
  // @ts-expect-error: any text is no id
  inArray(customers.id, ['no'])
  return related
}

new Sequelize().define('customers', { id: { type: SNO, primaryKey: true }, related: DataTypes.ARRAY(SNO) })

const source = new DataSource({ type: 'postgres', entities: [new EntitySchema<{ id: Sno }>({
  name: 'Customer', columns: { id: { type: forTypeorm.sno, primary: true } } })] })
forTypeorm.registerSno(source)

export { byte, bytes, feeds, generators, named, queries, unsealed, wrong }
TS
cp uses.ts uses.mts
cp uses.ts uses.cts

# types MODULE RESOLUTION FILE...
types() {
    local tsc=(node_modules/.bin/tsc --strict --noEmit --target es2022
        --esModuleInterop --module "$1" --moduleResolution "$2" "${@:3}")
    works "tsc --strict, $*" "${tsc[@]}" --skipLibCheck
    # Other packages have errors in their declarations.
    is "$("${tsc[@]}" | grep '^node_modules/postgresql-sno/')" '' "our declarations, $*"
}

types node16 node16 uses.mts uses.cts
types nodenext nodenext uses.mts uses.cts
types esnext bundler uses.ts
