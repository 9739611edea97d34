// The command sno feed.

'use strict'

const { spawn } = require('child_process')
const fs = require('fs')
const path = require('path')
const { psql, run, same, skipUnless } = require('./tap')

skipUnless('pg')
const command = path.join(__dirname, '../bin/sno.js')

async function until(condition) {
  while (!condition()) await new Promise((resolve) => { setTimeout(resolve, 20) })
}

const linesOf = (file) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').slice(0, -1) : [])

// The process, and what it is when it has ended
function sno(...args) {
  const child = spawn('node', [command, 'feed', ...args])
  const seen = { status: null, stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) child[name].on('data', (data) => { seen[name] += data })
  const ended = new Promise((resolve) => { child.on('close', (status) => resolve({ ...seen, status })) })
  return { child, ended }
}

// Readers can have all rows when it returns.
const settle = () => until(() => psql('SELECT max(id) < (SELECT sno_watermark()) FROM outbox') === 't\n')

async function insert(...messages) {
  psql(`INSERT INTO outbox (message) VALUES ${messages.map((message) => `(E'${message}')`)}`)
  await settle()
}

// The reader has handled nothing, and these are all rows.
async function restart(...messages) {
  psql('TRUNCATE outbox')
  psql("SELECT sno_feed_drop_reader('outbox', 'mail')")
  psql("SELECT sno_feed_create_reader('outbox', 'mail', max_tries => 2)")
  await insert(...messages)
}

// How many rows aren't acknowledged
const OWN = "reader = 'mail' AND part = 0"
const left = () => Number(psql(`SELECT count(*) FROM outbox JOIN outbox_readers ON id >= position WHERE ${OWN}`))

// Statements of a program: show the tries and the error of the reader; end the command after the batch
const PLACE = `psql -qXAtc "SELECT tries, error FROM outbox_readers WHERE ${OWN}"`
const END = 'kill $PPID'

run(async () => {
  psql('CREATE EXTENSION sno_feeds')
  psql(`CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), n bigint DEFAULT 9007199254740993,
    message text)`)
  psql("SELECT sno_feed_create('outbox'), sno_feed_create_reader('outbox', 'mail')")

  // Lines of JSON, and a start for each batch
  await restart('a', 'two\\nlines', 'c')
  const all = sno('--max-rows', '2', 'outbox', 'mail', '--', 'sh', '-c', 'cat >>"$0"; echo end >>"$0"; echo out', 'all')
  await until(() => left() === 0)
  await insert('d')
  await until(() => left() === 0)
  all.child.kill('SIGINT')
  same(await all.ended, { status: 0, stdout: 'out\n'.repeat(3), stderr: '' }, 'ends at a signal while it waits')
  const rows = psql(`SELECT format('{"id":"%s","deleted":false,"item":%s}', id, to_jsonb(o))
    FROM outbox AS o ORDER BY id`).trimEnd().split('\n')
  same(linesOf('all'), [rows[0], rows[1], 'end', rows[2], 'end', rows[3], 'end'], 'items as to_jsonb() makes them')

  // A row that fails.  The batch of row "end" is the last one.
  await restart('good', 'bad', 'end')
  const { status, stderr } = await sno('outbox', 'mail', '--', 'sh', '-c', `
    lines=$(cat)
    case $lines in
        *bad*) echo oops >&2; echo "mailbox full" >&2; exit 3 ;;
        *end*) ${END} ;;
    esac
    printf "%s\\n" "$lines" >>sent`).ended
  const count = (pattern) => stderr.match(pattern)?.length
  same([status, count(/^mailbox full$/mg), count(/^sno: the program failed: exit status 3: mailbox full\. /mg)],
    [0, 3, 3], 'standard error is shown')
  same(linesOf('sent').map((line) => JSON.parse(line).item.message), ['good', 'end'], 'the other rows are handled')
  same(psql("SELECT (item).message, tries, error FROM sno_feed_aside(NULL::outbox, 'mail')"),
    'bad|2|exit status 3: mailbox full\n', 'the row is set aside')
  same(left(), 0, 'the batch of a signal is acknowledged')

  // A program with which no row is to blame
  await restart('a')
  const busy = `cat >/dev/null; [ -e free ] || { touch free; exit 75; }; ${PLACE} >place; ${END}`
  same(await sno('outbox', 'mail', '--', 'sh', '-c', busy).ended,
    { status: 0, stdout: '', stderr: 'sno: the program failed: exit status 75. The rows come again after 1 s\n' },
    'exit status 75')
  same(linesOf('place'), ['0|'], 'leaves no error')

  // A program that takes too long, with one that it has started
  await restart('a')
  const slow = `[ -e slept ] || { touch slept; sleep 1000; true; }; ${PLACE} >place; ${END}`
  same((await sno('--lease', '1', 'outbox', 'mail', '--', 'sh', '-c', slow).ended).status, 0,
    'a program that takes too long')
  same(linesOf('place'), ['0|killed by SIGKILL'], 'is killed')

  // A program that does not read
  await restart('a')
  psql("INSERT INTO outbox (message) SELECT repeat('x', 10000) FROM generate_series(1, 100)")
  await settle()
  same(await sno('outbox', 'mail', '--', 'sh', '-c', END).ended, { status: 0, stdout: '', stderr: '' },
    'a program that does not read')
  same(left(), 0, 'may acknowledge')

  // Errors
  for (const [args, wanted] of [
    [['outbox', 'nobody', '--', 'cat'], /^sno: reader "nobody" of feed public\.outbox does not exist\n$/],
    [['nothing', 'mail', '--', 'cat'], /^sno: relation "nothing" does not exist\n$/],
    [['--dsn', 'postgresql:///nowhere', 'outbox', 'mail', '--', 'cat'], /^sno: database "nowhere" does not exist\n$/],
    [['outbox', 'mail', '--', '/no/program'], /^sno: there is no program "\/no\/program"\n$/],
    [['--lease', 'long', 'outbox', 'mail', '--', 'cat'], /^sno: lease is not a whole number/],
    [['outbox', 'mail'], /^sno: it needs TABLE READER -- PROGRAM\. Try "sno feed --help"\.\n$/],
    [['outbox', '--', 'cat'], /^sno: it needs TABLE READER/],
    [['--no', 'outbox', 'mail', '--', 'cat'], /^sno: Unknown option '--no'/],
  ]) {
    const { status, stdout, stderr } = await sno(...args).ended
    same([status, stdout, wanted.test(stderr) || stderr], [1, '', true], `error: ${args.join(' ')}`)
  }
  const help = await sno('--help').ended
  const missing = ['--dsn', '--max-rows', '--lease', '--help'].filter((option) => !help.stdout.includes(option))
  same([help.status, help.stderr, missing], [0, '', []], '--help')
})
