// sno feed TABLE READER -- PROGRAM [ARG]...: hands the rows of a feed to a program.

'use strict'

const { spawn, spawnSync } = require('child_process')
const { parseArgs } = require('util')
const { checkNumber } = require('../common.js')
const { Feed } = require('../feed.js')

const HELP = `Usage: sno feed [OPTION]... TABLE READER -- PROGRAM [ARG]...

Reads a feed of the extension sno_feeds, as one of its readers. For each batch of rows,
it starts the program, and writes the rows to its standard input, a line of JSON each:

  {"id":"9d6gji6222222222","deleted":false,"item":{"id":"9d6gji6222222222", ...}}

The item is the row as to_jsonb() makes it. Exit status 0 acknowledges the batch. Exit
status 75 (EX_TEMPFAIL) says that no row is to blame: the batch comes again. With another
status, one of the rows failed, with the last line of the standard error as its error. The
rows come again, each alone, and a row that has failed max_tries times is set aside. So
the program may get a row more than once.

  --dsn URI        the database, such as postgresql://USER@HOST/DATABASE; by default,
                   PGHOST, PGDATABASE and their like name it
  --max-rows N     the most rows of a batch, by default 1000
  --lease SECONDS  the time for a batch, by default 60. Then the program is killed
  --help           this text

SIGINT and SIGTERM end it after the present batch. While the server is away, it tries
again. After other errors, its exit status is 1. It needs the package pg of npm.
`
const TAIL = 2000    // characters of the standard error
const LONGEST_PAUSE = 60000
const TEMPFAIL = 75
const MARGIN = 5000    // of the lease, to report a program that was killed

const note = (message) => process.stderr.write(`sno: ${message}\n`)

function poolOf(connectionString) {
  let pg
  try {
    pg = require('pg')
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error
    throw new Error('sno feed needs a package: npm install pg')
  }
  const pool = new pg.Pool({
    connectionString, max: 1, connectionTimeoutMillis: 5000, keepAlive: true, fallback_application_name: 'sno feed',
  })
  return pool.on('error', () => {})    // the next statement tells
}

// Resolves to the error of the program, or to null if it has none, and its exit status.  The
// program and what it starts are a group, which a terminal doesn't interrupt, and which is killed
// as a whole.
function hand(lines, [program, ...args], ms) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['pipe', 'inherit', 'pipe'], detached: true })
    const timer = setTimeout(() => {
      try {
        process.kill(-child.pid, 'SIGKILL')
      } catch {}    // nobody is left in the group
    }, ms)
    let tail = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      process.stderr.write(text)
      tail = (tail + text).slice(-TAIL)
    })
    child.stdin.on('error', () => {})    // it has read enough
    child.stdin.end(lines)
    child.on('error', ({ message }) => {
      clearTimeout(timer)
      resolve({ error: message })
    })
    child.on('close', (status, signal) => {
      clearTimeout(timer)
      const end = signal ? `killed by ${signal}` : `exit status ${status}`
      const line = tail.trim().split('\n').pop().trim()
      resolve({ error: status === 0 ? null : line ? `${end}: ${line}` : end, status })
    })
  })
}

async function main(args) {
  const end = args.indexOf('--')
  const { values, positionals } = parseArgs({
    args: end < 0 ? args : args.slice(0, end),
    allowPositionals: true,
    options: {
      'dsn': { type: 'string' },
      'max-rows': { type: 'string' },
      'lease': { type: 'string' },
      'help': { type: 'boolean' },
    },
  })
  if (values.help) return process.stdout.write(HELP)
  const [table, reader] = positionals
  const command = end < 0 ? [] : args.slice(end + 1)
  if (positionals.length !== 2 || command.length === 0) {
    throw new TypeError('it needs TABLE READER -- PROGRAM. Try "sno feed --help".')
  }
  // Otherwise row after row would fail.
  if (spawnSync('sh', ['-c', 'command -v "$0"', command[0]]).status !== 0) {
    throw new Error(`there is no program ${JSON.stringify(command[0])}`)
  }
  const maxRows = Number(values['max-rows'] ?? 1000)
  const lease = Number(values.lease ?? 60)
  checkNumber('lease', lease, 1, 1e6)
  const pool = poolOf(values.dsn)
  const batches = new Feed(pool, table, reader, {
    maxRows,
    lease: lease * 1000 + MARGIN,
    onError: ({ message }) => note(message),
  }, 'to_jsonb(t.item)::text AS json')
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => batches.stop())
  let failures = 0    // in a row: perhaps no row is at fault
  try {
    for await (const batch of batches) {
      const lines = batch.rows.map(({ id, deleted, item }) =>
        `{"id":${JSON.stringify(id)},"deleted":${deleted},"item":${item.json}}\n`)
      const { error, status } = await hand(lines.join(''), command, lease * 1000)
      if (error === null) {
        failures = 0
      } else {
        const retryAfter = Math.min(1000 * 2 ** failures++, LONGEST_PAUSE)
        note(`the program failed: ${error}. The rows come again after ${retryAfter / 1000} s`)
        batch.fail(null, status === TEMPFAIL ? null : error, { retryAfter })
      }
    }
  } finally {
    await pool.end()
  }
}

exports.main = main
