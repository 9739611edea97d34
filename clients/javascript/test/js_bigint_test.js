// Keys of type bigint, by the tools alone: doc/drivers.md, "Keys of type bigint".

'use strict'

const { execFileSync } = require('child_process')
const fs = require('fs')
const { assert, ok, psql, run, same, skipUnless, tables } = require('./tap')

skipUnless('pg')

const connection = {
  host: process.env.PGHOST,
  port: Number(process.env.PGPORT),
  user: process.env.PGUSER,
  password: process.env.PGPASSWORD,
  database: process.env.PGDATABASE,
}

// Keys that are no numbers of JavaScript
const odd = String(2n ** 53n + 1n)
const last = String(2n ** 63n - 1n)

// What a tool does: it makes people and letters, and returns what it read of them.
//
// add(name)          a person
// addMany(names)     people, by one call
// find(id)           the person
// findAll(ids)       people, in the order of their ids
// write(id)          a letter of the person
// letters(name)      letters of people with that name, by a join or a subquery
async function check(tool, type, { add, addMany, find, findAll, write, letters }) {
  psql(`TRUNCATE people, letters; INSERT INTO people VALUES (${odd}, 'odd'), (${last}, 'last')`)
  const ada = await add('Ada')
  const kept = psql("SELECT id FROM people WHERE name = 'Ada'").trim()
  assert(BigInt(kept) > BigInt(Number.MAX_SAFE_INTEGER))
  same([typeof ada.id, String(ada.id)], [type, kept], `${tool}: a new key, as ${type}`)
  same(await find(ada.id), ada, `${tool}: found by its key`)

  const names = Array.from({ length: 20 }, (_, n) => `person ${n}`)
  const many = await addMany(names)
  same(new Set(many.map((row) => String(row.id))).size, 20, `${tool}: many at once`)
  same((await findAll([many[7].id, ada.id])).map((row) => row.name), ['Ada', many[7].name],
    `${tool}: found by a list of keys`)
  same((await findAll(many.map((row) => row.id))).map((row) => String(row.id)),
    psql("SELECT id FROM people WHERE name LIKE 'person%' ORDER BY id").trim().split('\n'), `${tool}: each key is exact`)

  const own = type === 'bigint' ? BigInt : String
  same([(await find(own(odd))).id, (await find(own(last))).id], [own(odd), own(last)],
    `${tool}: a key is exact beyond 2^53, there and back`)

  const letter = await write(ada.id)
  same([typeof letter.id, typeof letter.person_id, letter.person_id], [type, type, ada.id], `${tool}: a reference`)
  same((await letters('Ada')).map((row) => row.id), [letter.id], `${tool}: a join`)
}

// If the packages of a tool are missing, it is skipped.
async function tool(name, packages, test) {
  for (const each of packages) {
    if (!fs.existsSync(`node_modules/${each}`)) return ok(`${name} # SKIP no ${each}`)
  }
  await test(name)
}

const peopleAndLetters = () => tables('people', 'letters')

// The tool makes the tables, which are as in bigint.sql, and finds nothing to change then.
async function makesTables(tool, make) {
  const wanted = peopleAndLetters()
  psql('DROP TABLE letters, people')
  await make()
  same(peopleAndLetters(), wanted, `${tool}: makes the tables`)
}

const SELECT_MANY = 'SELECT unnest($1::text[])'

async function nodePostgres(name) {
  const { Pool, types } = require('pg')
  const db = new Pool()
  const rows = async (text, ...values) => (await db.query(text, values)).rows
  const queries = {
    add: async (name) => (await rows('INSERT INTO people (name) VALUES ($1) RETURNING *', name))[0],
    addMany: (names) => rows(`INSERT INTO people (name) ${SELECT_MANY} RETURNING *`, names),
    find: async (id) => (await rows('SELECT * FROM people WHERE id = $1', id))[0],
    findAll: (ids) => rows('SELECT * FROM people WHERE id = ANY ($1) ORDER BY id', ids),
    write: async (id) => (await rows('INSERT INTO letters (person_id) VALUES ($1) RETURNING *', id))[0],
    letters: (name) => rows(
      'SELECT letters.* FROM letters JOIN people ON people.id = person_id WHERE name = $1', name),
  }
  await check(name, 'string', queries)

  // JSON
  const [{ number, text }] = await rows(`
    SELECT row_to_json(p) AS number, json_build_object('id', id::text, 'name', name) AS text
    FROM people AS p WHERE id = $1`, odd)
  same(number, { id: 2 ** 53, name: 'odd' }, `${name}: a key as a number in JSON is rounded`)
  same(text, { id: odd, name: 'odd' }, `${name}: a key as text in JSON is exact`)

  assert.throws(() => JSON.stringify({ id: BigInt(odd) }), TypeError)
  ok(`${name}: JSON.stringify() refuses a bigint`)

  // The smaller layouts are exact as numbers.
  for (const layout of ['json1', 'json2', 'json3', 'json4', 'json5', 'json6', 'json7', 'json8', 'counter']) {
    await rows('SELECT sno_flake_create_generator($1, $1)', layout)
    const [{ number, text }] = await rows(
      'SELECT to_json(id) AS number, id::text AS text FROM (SELECT sno_flake_generate($1) AS id) AS made', layout)
    same([Number.isSafeInteger(number), String(number)], [true, text], `${name}: ${layout} is exact as a number`)
  }

  types.setTypeParser(types.builtins.INT8, BigInt)
  await check(`${name}, with a parser`, 'bigint', queries)
  types.setTypeParser(types.builtins.INT8, String)
  await db.end()
}

async function postgresJs(name) {
  const postgres = require('postgres')
  for (const [what, type, options] of [
    [name, 'string', {}],
    [`${name}, types`, 'bigint', { types: { bigint: postgres.BigInt } }],
  ]) {
    const sql = postgres(options)
    const rows = async (query) => [...await query]
    await check(what, type, {
      add: async (name) => (await sql`INSERT INTO people ${sql({ name })} RETURNING *`)[0],
      addMany: (names) => rows(sql`INSERT INTO people ${sql(names.map((name) => ({ name })))} RETURNING *`),
      find: async (id) => (await sql`SELECT * FROM people WHERE id = ${id}`)[0],
      findAll: (ids) => rows(sql`SELECT * FROM people WHERE id IN ${sql(ids)} ORDER BY id`),
      write: async (person_id) => (await sql`INSERT INTO letters ${sql({ person_id })} RETURNING *`)[0],
      letters: (name) => rows(
        sql`SELECT letters.* FROM letters JOIN people ON people.id = person_id WHERE name = ${name}`),
    })
    await sql.end()
  }
}

async function knex(name) {
  const db = require('knex')({ client: 'pg', connection: {} })
  await makesTables(name, async () => {
    await db.schema.createTable('people', (table) => {
      table.bigInteger('id').primary().defaultTo(db.raw("sno_flake_generate('people')"))
      table.text('name').notNullable()
    })
    await db.schema.createTable('letters', (table) => {
      table.bigInteger('id').primary().defaultTo(db.raw("sno_flake_generate('letters')"))
      table.bigInteger('person_id').notNullable().references('people.id')
    })
  })
  await check(name, 'string', {
    add: async (name) => (await db('people').insert({ name }).returning('*'))[0],
    addMany: (names) => db('people').insert(names.map((name) => ({ name }))).returning('*'),
    find: (id) => db('people').where({ id }).first(),
    findAll: (ids) => db('people').whereIn('id', ids).orderBy('id'),
    write: async (person_id) => (await db('letters').insert({ person_id }).returning('*'))[0],
    letters: (name) => db('letters').join('people', 'people.id', 'person_id').where({ name }).select('letters.*'),
  })
  await db.destroy()
}

async function kysely(name) {
  const { Kysely, PostgresDialect, sql } = require('kysely')
  const { Pool } = require('pg')
  const db = new Kysely({ dialect: new PostgresDialect({ pool: new Pool() }) })
  await makesTables(name, async () => {
    await db.schema.createTable('people')
      .addColumn('id', 'bigint', (column) => column.primaryKey().defaultTo(sql`sno_flake_generate('people')`))
      .addColumn('name', 'text', (column) => column.notNull())
      .execute()
    await db.schema.createTable('letters')
      .addColumn('id', 'bigint', (column) => column.primaryKey().defaultTo(sql`sno_flake_generate('letters')`))
      .addColumn('person_id', 'bigint', (column) => column.notNull().references('people.id'))
      .execute()
  })
  const people = db.selectFrom('people').selectAll()
  await check(name, 'string', {
    add: (name) => db.insertInto('people').values({ name }).returningAll().executeTakeFirst(),
    addMany: (names) => db.insertInto('people').values(names.map((name) => ({ name }))).returningAll().execute(),
    find: (id) => people.where('id', '=', id).executeTakeFirst(),
    findAll: (ids) => people.where('id', 'in', ids).orderBy('id').execute(),
    write: (person_id) => db.insertInto('letters').values({ person_id }).returningAll().executeTakeFirst(),
    letters: (name) => db.selectFrom('letters').innerJoin('people', 'people.id', 'person_id')
      .where('name', '=', name).selectAll('letters').execute(),
  })
  await db.destroy()
}

async function drizzle(name) {
  fs.writeFileSync('schema.js', `
    const { sql } = require('drizzle-orm')
    const { bigint, pgTable, text } = require('drizzle-orm/pg-core')
    const key = (generate) => bigint('id', { mode: 'bigint' }).primaryKey().default(generate)
    exports.people = pgTable('people', {
      id: key(sql\`sno_flake_generate('people'::text)\`),
      name: text('name').notNull(),
    })
    exports.letters = pgTable('letters', {
      id: key(sql\`sno_flake_generate('letters'::text)\`),
      person_id: bigint('person_id', { mode: 'bigint' }).notNull().references(() => exports.people.id),
    })
  `)
  fs.writeFileSync('drizzle.config.js', `module.exports = ${JSON.stringify({
    dialect: 'postgresql', schema: './schema.js', tablesFilter: ['people', 'letters'], schemaFilter: ['public'],
    dbCredentials: { ...connection, ssl: false } })}`)
  const push = () => execFileSync('node', ['node_modules/drizzle-kit/bin.cjs', 'push'],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  await makesTables(name, push)
  same(/No changes detected/.test(push()), true, `${name}: drizzle-kit has nothing to change`)

  const { eq, inArray, sql } = require('drizzle-orm')
  const { bigint, pgTable } = require('drizzle-orm/pg-core')
  const { people, letters } = require(`${process.cwd()}/schema.js`)
  for (const [driver, client] of [['node-postgres', new (require('pg').Pool)()], ['postgres-js', require('postgres')()]]) {
    const db = require(`drizzle-orm/${driver}`).drizzle({ client })
    await check(`${name}, ${driver}`, 'bigint', {
      add: async (name) => (await db.insert(people).values({ name }).returning())[0],
      addMany: (names) => db.insert(people).values(names.map((name) => ({ name }))).returning(),
      find: async (id) => (await db.select().from(people).where(eq(people.id, id)))[0],
      findAll: (ids) => db.select().from(people).where(inArray(people.id, ids)).orderBy(people.id),
      write: async (person_id) => (await db.insert(letters).values({ person_id }).returning())[0],
      letters: async (name) => (await db.select().from(letters).innerJoin(people, eq(people.id, letters.person_id))
        .where(eq(people.name, name))).map((row) => row.letters),
    })
    const numbers = pgTable('people', { id: bigint('id', { mode: 'number' }) })
    same((await db.select().from(numbers).where(sql`name = 'odd'`))[0].id, 2 ** 53,
      `${name}, ${driver}: mode "number" rounds`)
    await client.end()
  }
}

async function sequelize(name) {
  const { DataTypes, Sequelize, literal } = require('sequelize')
  const { user: username, ...others } = connection
  const db = new Sequelize({ dialect: 'postgres', username, ...others, logging: false, define: { timestamps: false } })
  const key = (table) => ({
    type: DataTypes.BIGINT, primaryKey: true, defaultValue: literal(`sno_flake_generate('${table}')`) })
  const Person = db.define('people', { id: key('people'), name: { type: DataTypes.TEXT, allowNull: false } })
  const Letter = db.define('letters', {
    id: key('letters'),
    person_id: { type: DataTypes.BIGINT, allowNull: false, references: { model: Person, key: 'id' } },
  })
  Letter.belongsTo(Person, { foreignKey: 'person_id' })
  await makesTables(name, () => db.sync())
  const before = peopleAndLetters()
  await db.sync({ alter: true })
  same(peopleAndLetters(), before, `${name}: sync, with alter, changes nothing`)
  await check(name, 'string', {
    add: async (name) => (await Person.create({ name })).get(),
    addMany: async (names) => (await Person.bulkCreate(names.map((name) => ({ name })))).map((row) => row.get()),
    find: async (id) => (await Person.findByPk(id)).get(),
    findAll: (id) => Person.findAll({ where: { id }, order: ['id'], raw: true }),
    write: async (person_id) => (await Letter.create({ person_id })).get(),
    letters: (name) => Letter.findAll({ include: { model: Person, where: { name } } }),
  })
  await db.close()
}

async function typeorm(name) {
  const { DataSource, EntitySchema, In } = require('typeorm')
  const key = (table) => ({ type: 'bigint', primary: true, default: () => `sno_flake_generate('${table}')` })
  const Person = new EntitySchema({ name: 'people', columns: { id: key('people'), name: { type: 'text' } } })
  const Letter = new EntitySchema({
    name: 'letters',
    columns: { id: key('letters'), person_id: { type: 'bigint' } },
    relations: { person: { type: 'many-to-one', target: 'people', joinColumn: { name: 'person_id' } } },
  })
  const { user: username, ...others } = connection
  const db = new DataSource({ type: 'postgres', username, ...others, entities: [Person, Letter] })
  await db.initialize()
  await makesTables(name, () => db.synchronize())
  const { upQueries } = await db.driver.createSchemaBuilder().log()
  same(upQueries, [], `${name}: a migration has nothing to change`)
  const people = db.getRepository(Person)
  const letters = db.getRepository(Letter)
  await check(name, 'string', {
    add: (name) => people.save({ name }),
    addMany: (names) => people.save(names.map((name) => ({ name }))),
    find: (id) => people.findOneBy({ id }),
    findAll: (ids) => people.find({ where: { id: In(ids) }, order: { id: 'ASC' } }),
    write: (person_id) => letters.save({ person_id }),
    letters: (name) => letters.findBy({ person: { name } }),
  })
  await db.destroy()
}

async function prisma(name) {
  fs.writeFileSync('schema.prisma', `
    generator client {
      provider = "prisma-client-js"
      output   = "./prisma-client"
    }
    datasource db {
      provider = "postgresql"
    }
    model people {
      id      BigInt    @id @default(dbgenerated("sno_flake_generate('people')"))
      name    String
      letters letters[]
    }
    model letters {
      id        BigInt @id @default(dbgenerated("sno_flake_generate('letters')"))
      person_id BigInt
      person    people @relation(fields: [person_id], references: [id])
    }`)

  // Only migrations need the schema engine, which is no part of the package.
  execFileSync('node', ['node_modules/prisma/build/index.js', 'generate', '--schema=schema.prisma'],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: '/bin/false' } })
  const { PrismaPg } = require('@prisma/adapter-pg')
  const { PrismaClient } = require(`${process.cwd()}/prisma-client`)
  const db = new PrismaClient({ adapter: new PrismaPg(connection) })
  await check(name, 'bigint', {
    add: (name) => db.people.create({ data: { name } }),
    addMany: (names) => db.people.createManyAndReturn({ data: names.map((name) => ({ name })) }),
    find: (id) => db.people.findUnique({ where: { id } }),
    findAll: (ids) => db.people.findMany({ where: { id: { in: ids } }, orderBy: { id: 'asc' } }),
    write: (id) => db.letters.create({ data: { person: { connect: { id } } } }),
    letters: (name) => db.letters.findMany({ where: { person: { name } } }),
  })
  await db.$disconnect()
}

run(async () => {
  fs.symlinkSync(process.env.NODE_PATH, 'node_modules')     // for the tools' programs
  psql(fs.readFileSync(`${process.env.CLIENTS}/bigint.sql`, 'utf8'))
  await tool('node-postgres', [], nodePostgres)
  await tool('postgres.js', ['postgres'], postgresJs)
  await tool('Knex', ['knex'], knex)
  await tool('Kysely', ['kysely'], kysely)
  await tool('Drizzle', ['drizzle-orm', 'drizzle-kit', 'postgres'], drizzle)
  await tool('Sequelize', ['sequelize'], sequelize)
  await tool('TypeORM', ['typeorm'], typeorm)
  if (parseInt(process.versions.node) < 20) ok('Prisma # SKIP it needs Node.js 20')
  else await tool('Prisma', ['prisma', '@prisma/client', '@prisma/adapter-pg'], prisma)
})
