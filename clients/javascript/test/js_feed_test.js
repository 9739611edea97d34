// Feeds, by node-postgres and postgres.js: batches in order, rows that fail, loops that are left, lost
// connections, leases that are extended or lost; parts, and the changes of a table.

'use strict'

const fs = require('fs')
const net = require('net')
const path = require('path')
const { assert, fails, ok, readme, run, same, skipUnless } = require('./tap')

skipUnless('pg')
const { Pool } = require('pg')
const { feed } = require('postgresql-sno/feed')

// Names that need quotes
const TABLE = '"Out ""box $1"'
const READER = "o'neil $1"
const LITERALS = `'${TABLE}', 'o''neil $1'`
const PLACES = '"Out ""box $1_readers"'
const APPLICATION = 'a reader of a feed'
const SESSIONS = `FROM pg_stat_activity WHERE application_name = '${APPLICATION}'`

const checks = new Pool()
const query = async (text) => (await checks.query({ text, rowMode: 'array' })).rows
const value = async (text) => (await query(text))[0][0]

async function until(text) {
  while (!await value(text)) await new Promise((resolve) => { setTimeout(resolve, 10) })
}

// Readers can have all rows when it returns.
const settle = (table = TABLE, key = '"k 1"') =>
  until(`SELECT max(${key}) < (SELECT sno_watermark()) FROM ${table}`)

async function insert(...messages) {
  await query(`INSERT INTO ${TABLE} (message) VALUES ${messages.map((message) => `('${message}')`)}`)
  await settle()
}

// The reader has handled nothing, and these are all rows.
async function restart(...messages) {
  await query(`TRUNCATE ${TABLE}`)
  await query(`SELECT sno_feed_drop_reader(${LITERALS})`)
  await query(`SELECT sno_feed_create_reader(${LITERALS}, max_tries => 2)`)
  await insert(...messages)
}

// How many rows aren't acknowledged
const left = async () => Number(await value(
  `SELECT count(*) FROM ${TABLE} JOIN ${PLACES} AS r ON "k 1" >= position
  WHERE reader = 'o''neil $1' AND r.part = 0`))
const place = async (columns = 'tries, error') =>
  (await query(`SELECT ${columns} FROM ${PLACES} AS r WHERE reader = 'o''neil $1' AND r.part = 0`))[0]

// The reader's sessions are gone when it returns.
const terminate = () => query(`SELECT pg_terminate_backend(pid, 600000) ${SESSIONS}`)

async function whenWaiting(action) {
  await until(`SELECT count(*) > 0 ${SESSIONS} AND state = 'active' AND query LIKE 'CALL sno_feed_wait(%'`)
  await action()
}

const messages = (rows) => rows.map(({ item }) => item.message)
const realNow = performance.now.bind(performance)

async function check(name, db) {
  let errors = []

  // The messages of the batches that are handled so.  A handler may return a handler of rows.
  async function reading(handle, options, table = TABLE, reader = READER) {
    const seen = []
    errors = []
    const batches = feed(db, table, reader, { onError: (error) => errors.push(error), ...options })
    for await (const batch of batches) {
      seen.push(messages(batch.rows))
      const step = await handle(batch, batches, seen)
      if (step) for await (const row of batch) await step(row)
    }
    return seen
  }

  // In order, and rows that come while it waits
  await restart('a', 'b', 'c')
  const lefts = []
  const rows = []
  const [seen] = await Promise.all([
    reading(async (batch, batches) => {
      lefts.push(await left())
      assert.strictEqual(batch.part, 0)
      if (messages(batch.rows).includes('d')) batches.stop()
      return (row) => rows.push(row)
    }, { maxRows: 2 }),
    whenWaiting(() => insert('d')),
  ])
  same(seen, [['a', 'b'], ['c'], ['d']], `${name}: batches`)
  same([lefts, await left()], [[3, 1, 1], 0], `${name}: acknowledged when the next one is asked for, or after stop()`)
  const all = await checks.query(`SELECT * FROM ${TABLE} ORDER BY "k 1"`)
  same(rows, all.rows.map((item) => ({ id: item['k 1'], deleted: false, item: { ...item } })), `${name}: all columns`)
  same(errors, [], `${name}: no error`)

  // A row that fails
  await restart('a', 'b', 'c')
  const steps = []
  same(await reading((batch, batches) => (row) => {
    steps.push(row.item.message)
    if (row.item.message === 'b') {
      assert.throws(() => batch.fail({ ...row, id: 'b' }, 'no'), /not one of the batch/)
      assert.throws(() => batch.fail(undefined, 'no'), /not one of the batch/)
      batch.fail(row, new RangeError('no \0 way'))
      batch.fail(batch.rows.at(-1), 'only the first call counts')
    } else if (row.item.message === 'c') {
      batches.stop()
    }
  }, { retryAfter: 0 }), [['a', 'b', 'c'], ['b'], ['c']], `${name}: a row that fails comes again, alone`)
  same(steps, ['a', 'b', 'b', 'c'], `${name}: and its batch is over`)
  same(await query(`SELECT (item).message, tries, error FROM sno_feed_aside(NULL::${TABLE}, 'o''neil $1')`),
    [['b', 2, 'RangeError: no \\0 way']], `${name}: and is set aside`)

  // One of the rows fails; no row is to blame.
  await restart('a', 'b', 'c')
  const places = []
  same(await reading(async (batch, batches, seen) => {
    places.push(await place())
    if (seen.length === 1) batch.fail(null, 'one of them', { retryAfter: 0 })
    else if (seen.length === 2) batch.fail(batch.rows[0], null, { retryAfter: 0 })
    else if (seen.at(-1)[0] === 'c') batches.stop()
  }), [['a', 'b', 'c'], ['a'], ['a'], ['b'], ['c']], `${name}: rows come one by one`)
  same(places.slice(0, 3), [[0, null], [0, 'one of them'], [0, null]], `${name}: and no try counts`)

  // The loop is left.
  await restart('a', 'b')
  await fails(/oops/, reading(() => { throw new Error('oops') }, { lease: 3600000 }),
    `${name}: an error in the loop is raised`)
  same([await left(), ...await place(), errors], [2, 0, null, []],
    `${name}: the rows are given back, and no try counts`)
  same(await reading((batch, batches) => batches.stop()), [['a', 'b']], `${name}: at once`)
  await restart('a', 'b')
  for await (const batch of feed(db, TABLE, READER)) {
    batch.fail(batch.rows[1], 'no')
    break
  }
  same([await left(), ...await place()], [1, 1, 'no'], `${name}: break, after fail()`)

  // Lost connections: with a batch, and while it waits
  await restart('a')
  const [lost] = await Promise.all([
    reading(async (batch, batches) => {
      if (messages(batch.rows)[0] === 'a') await terminate()
      else batches.stop()
    }),
    whenWaiting(async () => {
      await terminate()
      await insert('b')
    }),
  ])
  same([lost, await left()], [[['a'], ['b']], 0], `${name}: lost connections`)
  assert(errors.length >= 1)    // a pool may have noticed the other one itself

  // A lease is extended between rows, then it is lost.
  await restart('a', 'b', 'c', 'd')
  let now = 1000
  Object.defineProperty(performance, 'now', { value: () => now, configurable: true, writable: true })
  const ends = []
  same(await reading((batch, batches, seen) => {
    if (seen.length === 2) batches.stop()
    return async ({ item: { message } }) => {
      ends.push((await place('free_at::text'))[0])
      if (message === 'c' && seen.length === 1) await query(`SELECT sno_feed_rewind(${LITERALS}, 'oldest')`)
      now += { b: 1799, c: 1801 }[message] ?? 2
    }
  }, { lease: 3600 }), [['a', 'b', 'c', 'd'], ['a', 'b', 'c', 'd']], `${name}: a lease that is lost`)
  performance.now = realNow
  same(errors.map(({ code }) => code), ['55P03'], `${name}: is reported`)
  same(ends.slice(1).map((end, i) => end > ends[i]), [false, true, true, false, true, true],
    `${name}: a lease is extended when more than half of it has passed`)
  same(await left(), 0, `${name}: and the rows are acknowledged`)

  // What another try doesn't change is raised.
  const stop = (batch, batches) => batches.stop()
  await fails({ code: '42704' }, reading(stop, {}, TABLE, 'nobody'), `${name}: no such reader`)
  await fails({ code: '42P01' }, reading(stop, {}, 'nothing'), `${name}: no such table`)
  await fails({ code: '55000' }, reading(stop, {}, 'customers'), `${name}: not a feed`)
  same(errors, [], `${name}: without another try`)
}

// A server that stops and starts, as clients see it: the socket of a proxy.
class Proxy {
  path = path.join(process.cwd(), '.s.PGSQL.5432')
  sockets = new Set()

  async start() {
    const at = path.join(process.env.PGHOST, `.s.PGSQL.${process.env.PGPORT ?? 5432}`)
    this.server = net.createServer((client) => {
      const server = net.connect(at)
      for (const [socket, other] of [[client, server], [server, client]]) {
        this.sockets.add(socket)
        socket.on('error', () => {}).on('close', () => other.destroy()).pipe(other)
      }
    })
    await new Promise((resolve) => { this.server.listen(this.path, resolve) })
  }

  async stop() {
    const closed = new Promise((resolve) => { this.server.close(resolve) })
    for (const socket of this.sockets) socket.destroy()
    this.sockets.clear()
    await closed
  }
}

async function checkRestart(name, connect, proxy) {
  await restart('a')
  await proxy.start()
  const db = connect()
  let errors = 0
  const batches = feed(db, TABLE, READER, { onError: () => { if (++errors === 3) proxy.start() } })
  for await (const batch of batches) {
    if (messages(batch.rows)[0] === 'a') {
      await proxy.stop()
      await insert('b')
    } else {
      batches.stop()
    }
  }
  same([await left(), errors], [0, 3], `${name}: the server was away`)
  await (db.unsafe ? db.end({ timeout: 0 }) : db.end())
  await proxy.stop()
}

run(async () => {
  await query('CREATE EXTENSION sno_feeds')
  await query(`CREATE TABLE ${TABLE} ("k 1" sno PRIMARY KEY DEFAULT sno_generate(), part text DEFAULT 'mine',
    fence integer DEFAULT 7, message text)`)
  await query(`SELECT sno_feed_create('${TABLE}')`)
  await query(`SELECT sno_feed_create_reader(${LITERALS})`)

  const pool = new Pool({ application_name: APPLICATION })
  pool.on('error', () => {})
  await check('node-postgres', pool)
  await pool.end()
  await fails(/after calling end/, (async () => {
    for await (const batch of feed(pool, TABLE, READER)) batch.fail()
  })(), 'a pool that has ended')

  let postgres
  try {
    postgres = require('postgres')
  } catch {
    ok('postgres.js # SKIP no postgres')
  }
  if (postgres) {
    const sql = postgres({ connection: { application_name: APPLICATION } })
    await check('postgres.js', sql)
    await sql.end({ timeout: 0 })    // it may wait for a lost connection
    await fails({ code: 'CONNECTION_ENDED' }, (async () => {
      for await (const batch of feed(sql, TABLE, READER)) batch.fail()
    })(), 'postgres.js that has ended')
  }

  const proxy = new Proxy()
  const at = { host: process.cwd(), port: 5432 }
  await checkRestart('node-postgres', () => new Pool(at).on('error', () => {}), proxy)
  if (postgres) await checkRestart('postgres.js', () => postgres({ ...at, path: proxy.path, backoff: false }), proxy)

  // A former primary has become a standby, and the name of the server leads to another one.
  const former = new Pool()
  former.once('connect', (client) => client.query('SET default_transaction_read_only = on'))
  await restart('a')
  const refusals = []
  const again = feed(former, TABLE, READER, { onError: ({ code }) => refusals.push(code) })
  for await (const { rows } of again) {
    again.stop()
    same(messages(rows), ['a'], 'another connection after a server that is read-only')
  }
  same([await left(), refusals], [0, ['25006']], 'its error is reported')
  await former.end()

  // A server that is away when the reader is stopped, or when the loop is left
  const seen = []
  const nobody = feed(new Pool({ host: '/nonexistent' }), TABLE, READER, {
    onError: ({ code }) => {
      seen.push(code)
      nobody.stop()
    },
  })
  for await (const batch of nobody) seen.push(batch)
  same(seen, ['ENOENT'], 'stopped while the server is away')
  await restart('a')
  await proxy.start()
  const away = new Pool(at).on('error', () => {})
  await fails(/oops/, async () => {
    for await (const batch of feed(away, TABLE, READER, { onError: () => seen.push('away') })) {
      await proxy.stop()
      throw new Error(`oops ${batch.part}`)
    }
  }, 'the error of the loop, though the server is away')
  same(seen.at(-1), 'away', 'and its own error is reported')
  await away.end()
  for (const wrong of [null, 'outbox', {}]) assert.throws(() => feed(wrong, TABLE, READER), TypeError)
  for (const wrong of [{ maxRows: 0 }, { lease: 0 }, { retryAfter: -1 }]) {
    assert.throws(() => feed(pool, TABLE, READER, wrong), RangeError)
  }
  ok('wrong arguments')

  // Two feeds of one reader work at the same time, each with a part.
  await query(`CREATE INDEX ON ${TABLE} (sno_feed_part(message, 2), "k 1")`)
  await query(`SELECT sno_feed_create_reader('${TABLE}', 'parts', parts => 2, part_by => 'message')`)
  await restart('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
  const parts = []
  const first = feed(checks, TABLE, 'parts')
  for await (const batch of first) {
    first.stop()
    parts[batch.part] = messages(batch.rows)
    const second = feed(checks, TABLE, 'parts')
    for await (const other of second) {
      second.stop()
      parts[other.part] = messages(other.rows)
    }
  }
  const wanted = [[], []]
  for (const [message, part] of await query(`SELECT message, sno_feed_part(message, 2) FROM ${TABLE} ORDER BY "k 1"`)) {
    wanted[part].push(message)
  }
  same(parts, wanted, 'two feeds have a part each')

  // The changes of a table, beginning with all of its rows
  await query('CREATE TABLE person (id integer PRIMARY KEY, name text NOT NULL)')
  await query("INSERT INTO person VALUES (1, 'Ada'), (2, 'Ben')")
  await query("CALL sno_feed_create_changes('person')")
  await query("SELECT sno_feed_create_reader('person', 'copy')")
  await settle('person_changes', 'changed')
  const changes = []
  const persons = feed(new Pool({ application_name: APPLICATION, allowExitOnIdle: true }), 'person', 'copy')
  let changed
  for await (const batch of persons) {
    for await (const { deleted, item } of batch) changes.push([deleted, item])
    if (changes.length === 2) {
      changed = whenWaiting(async () => {
        await query("UPDATE person SET name = 'Bob' WHERE id = 2")
        await query('DELETE FROM person WHERE id = 1')
      })
    } else if (changes.length >= 4) {
      persons.stop()
    }
  }
  await changed
  same(changes, [[false, { id: 1, name: 'Ada' }], [false, { id: 2, name: 'Ben' }], [false, { id: 2, name: 'Bob' }],
    [true, { id: 1, name: null }]], 'the changes of a table')

  // The example of README
  await query('CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), message text NOT NULL)')
  await query("SELECT sno_feed_create('outbox'), sno_feed_create_reader('outbox', 'mail')")
  await query("INSERT INTO outbox (message) SELECT 'mail ' || n FROM generate_series(1, 3) AS n")
  await settle('outbox', 'id')
  const { example, pool: own } = readme('feed', 'example', 'pool')
  const sent = []
  await example(async (message) => {
    sent.push(message)
    if (sent.length === 2) throw new Error('mailbox full')
    if (message === 'mail 3') process.kill(process.pid, 'SIGTERM')
  })
  same(sent, ['mail 1', 'mail 2', 'mail 2', 'mail 3'], 'README')
  same(await query(`SELECT id FROM outbox JOIN outbox_readers ON id >= position
    WHERE reader = 'mail' AND part = 0`), [], 'README: all is acknowledged')
  await own.end()
  await checks.end()
})
