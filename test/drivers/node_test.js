// node-postgres: text, but for parameters that are Buffers.

'use strict'

const assert = require('assert')
const { once } = require('events')
const { Client } = require('pg')
const { example, registerSno } = require('recipe')

let tests = 0

function ok(name) {
  console.log(`ok ${++tests} - ${name}`)
}

function same(seen, wanted, name) {
  assert.deepStrictEqual(seen, wanted, name)
  ok(name)
}

async function fails(code, action, name) {
  await assert.rejects(action, { code }, name)
  ok(name)
}

async function main() {
  const client = new Client()
  await client.connect()

  async function query(text, ...values) {
    return (await client.query({ text, values, rowMode: 'array' })).rows
  }
  async function value(text, ...values) {
    return (await query(text, ...values))[0][0]
  }

  // What works by itself.
  const ada = await value("INSERT INTO person (name) VALUES ('Ada') RETURNING id")
  same(ada, await value('SELECT id::text FROM person'), 'RETURNING: text')
  same(await value('SELECT name FROM person WHERE id = $1', ada), 'Ada', 'parameter, untyped')
  same(await value('SELECT pg_typeof($1::sno)::text', ada), 'sno', 'parameter, typed')
  same(
    await query('SELECT name FROM person WHERE id = ANY ($1)', [ada]),
    [['Ada']],
    'array parameter'
  )
  same(await query('SELECT name FROM person WHERE id = ANY ($1)', []), [], 'array parameter, empty')
  same(await value('SELECT ARRAY[id, NULL] FROM person'), `{${ada},NULL}`, 'array result: text')
  await fails('22P02', query('SELECT * FROM person WHERE id = $1', 'not an id'), 'bad id: 22P02')
  await fails('22P03', query('SELECT $1::sno', Buffer.from('short')), 'bad bytes: 22P03')

  // What the recipe adds.
  await registerSno(client)
  const [, first, second] = await example(client)
  same(first.friends, null, 'example, NULL')
  same(second.friends, [first.id], 'example, array')
  await query('DELETE FROM person WHERE id > $1', ada)

  const bob = await value(
    'INSERT INTO person (name, friends) VALUES ($1, $2) RETURNING id', 'Bob', [ada, null])
  same(await value('SELECT friends FROM person WHERE id = $1', bob), [ada, null], 'array result')
  same(
    await value('SELECT ARRAY[ARRAY[$1::sno], ARRAY[$2::sno]]', ada, bob),
    [[ada], [bob]],
    'array of arrays'
  )
  same(await value('SELECT $1::sno', null), null, 'NULL')

  const ids = await query(
    'SELECT id, id::bytea FROM (SELECT sno_generate(n) FROM generate_series(0, 255) AS n) AS ids (id)')
  const returned = []
  for (const [, bytes] of ids) returned.push(await value('SELECT $1::sno', bytes))
  same(returned, ids.map(([id]) => id), 'parameters, binary')

  // Times.
  const hour = 3600 * 1000
  const now = Date.now()
  same(
    await query(
      'SELECT id FROM person WHERE id <@ tstzrange($1, $2) ORDER BY id',
      new Date(now - hour), new Date(now + hour)),
    [[ada], [bob]],
    'id <@ tstzrange'
  )
  same(
    await query('SELECT id FROM person WHERE id <@ $1::tstzrange', `[,${new Date(now - hour).toISOString()})`),
    [],
    'id <@ tstzrange, before'
  )

  // Prepared statements.
  for (const [id, name] of [[ada, 'Ada'], [bob, 'Bob']]) {
    const { rows } = await client.query(
      { name: 'name_of', text: 'SELECT name FROM person WHERE id = $1', values: [id] })
    same(rows, [{ name }], `prepared statement, ${name}`)
  }

  // COPY is a module of its own.
  let streams
  try {
    streams = require('pg-copy-streams')
  } catch (error) {
    ok('COPY # SKIP no pg-copy-streams')
  }
  if (streams) {
    for (const options of ['', '(FORMAT csv)', '(FORMAT binary)']) {
      const everything = await query('SELECT * FROM person ORDER BY id')
      const chunks = []
      for await (const chunk of client.query(streams.to(`COPY person TO STDOUT ${options}`))) {
        chunks.push(chunk)
      }
      const data = Buffer.concat(chunks)
      const form = options.includes('binary') ? await value('SELECT $1::sno::bytea', ada) : ada
      same(data.includes(form), true, `ids in COPY ${options}`)
      await query('TRUNCATE person')
      const copy = client.query(streams.from(`COPY person FROM STDIN ${options}`))
      copy.end(data)
      await once(copy, 'finish')
      same(await query('SELECT * FROM person ORDER BY id'), everything, `COPY ${options}`)
    }
    const copy = client.query(streams.from('COPY person (id) FROM STDIN'))
    copy.end('not an id\n')
    await fails('22P02', once(copy, 'finish'), 'bad id in COPY: 22P02')
  }

  await client.end()
  console.log(`1..${tests}`)
}

main().catch((error) => {
  console.log(`not ok ${tests + 1} - ${error.stack.replace(/\n/g, '\n# ')}`)
  process.exit(1)
})
