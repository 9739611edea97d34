// Generators on a real server.

'use strict'

const { execFileSync } = require('child_process')
const fs = require('fs')
const { Worker } = require('worker_threads')
const { assert, fails, readme, run, same, skipUnless } = require('./tap')

skipUnless('pg')
const { Pool } = require('pg')
const sno = require('postgresql-sno')
const { Generator, OutOfIdsError, blocks, loans, open } = require('postgresql-sno/generator')

const PATIENCE = 180 * 1000    // with a busy machine
const EPOCH = 315576000000
const ROLE = 'sno_generator_test'
const pool = new Pool()
const query = async (text) => (await pool.query(text)).rows
const many = (ids, count, meta) => Array.from({ length: count }, () => ids.next(meta))

// A query that notes the loans
function noting(noted) {
  return async (text) => {
    const rows = await query(text)
    const { partition: [high, low], wallHi, sequenceMin, sequenceMax } = JSON.parse(rows[0].snapshot)
    noted.push([high << 8 | low, wallHi, sequenceMin, sequenceMax, Number(rows[0].until)])
    return rows
  }
}

function isWithin(id, [partition, floor, first, last, until]) {
  const unit = sno.timestamp(id) / 4 - EPOCH
  return sno.partition(id) === partition && unit > floor && unit <= until &&
    sno.sequence(id) >= first && sno.sequence(id) <= last
}

run(async () => {
  // README
  const before = Date.now()
  const { example, ids: own, pool: ownPool } = readme('generator', 'example', 'ids', 'pool')
  const names = Array.from({ length: 1000 }, (_, n) => `customer ${n}`)
  const customers = await example(names)
  same(await query('SELECT id, name, sno_meta(id) AS meta FROM customers ORDER BY id'),
    customers.map((id, n) => ({ id, name: names[n], meta: 1 })), 'README')
  same(await query('SELECT customer_id AS id FROM orders WHERE sno_meta(id) = 2 ORDER BY id'), customers.map((id) => ({ id })),
    'README: children')
  assert(sno.timestamp(customers[0]) > before - 4 && sno.timestamp(customers[0]) <= Date.now())
  same((await query('SELECT max(sno_timestamp(id)) AS at FROM customers'))[0].at, sno.timestamp(customers[999]),
    'the time as the database says')
  own.close()
  await ownPool.end()

  // Whole partitions, and the database beside them
  const noted = []
  const whole = await Promise.all(Array.from({ length: 3 }, () => open(loans(noting(noted)), { wait: PATIENCE })))
  const all = whole.flatMap((ids) => many(ids, 70000))
  same([new Set(all).size, new Set(all.map(sno.partition)).size], [210000, 3], 'three generators, each with a partition')
  same(all.every((id) => noted.some((loan) => isWithin(id, loan))), true, 'ids are within the loans')
  const partitions = noted.map(([partition]) => partition)
  const served = await query('SELECT DISTINCT sno_partition(id) AS partition FROM sno_generate_many(1000) AS id')
  same(served.some(({ partition }) => partitions.includes(partition)), false, 'the database issues elsewhere')
  const lasts = whole[0].stats().until - 3600 * 1000
  assert(lasts > before - 4 && lasts <= Date.now())
  for (const ids of whole) ids.close()

  // Slices
  const { slice } = readme('slice', 'slice')
  noted.length = 0
  const slices = await Promise.all(Array.from({ length: 4 }, () => open(slice(noting(noted)), { wait: PATIENCE })))
  const sliced = slices.flatMap((ids) => many(ids, 300))
  same([new Set(sliced).size, noted.map(([, , first, last]) => last - first)], [1200, [63, 63, 63, 63]], 'slices of 64')
  same(sliced.every((id) => noted.some((loan) => isWithin(id, loan))), true, 'ids are within the slices')
  for (const ids of slices) ids.close()

  // Blocks
  const { many: example2 } = readme('blocks', 'many')
  const blocked = await example2(query)
  same([new Set(blocked).size, blocked.every((id) => sno.meta(id) === 1)], [1000, true], 'blocks')
  const block = await open(blocks(query, { count: 65536, meta: 255 }), { wait: PATIENCE })
  same(new Set(many(block, 65536)).size, 65536, 'a large block')
  block.close()

  // Short loans, or longer ones if the machine is so busy that others came too late
  noted.length = 0
  const note = noting(noted)
  const lend = (text) => note(text.replace("'100 ", `'${100 * 2 ** Math.min(short.stats().failed, 20)} `))
  const short = new Generator(loans(lend, { duration: 100, sequences: 64 }), { wait: PATIENCE })
  const made = new Set()
  let next
  while (short.stats().taken < 20) {
    try {
      for (let n = 0; n < 30; n++) {
        next = short.next()
        assert(!made.has(next))
        made.add(next)
      }
    } catch (error) {
      assert(error instanceof OutOfIdsError)
      await short.ready().catch(({ message }) => assert.match(message, /came too late/))
    }
    await new Promise((resolve) => { setTimeout(resolve, 2) })
  }
  same([...made].every((id) => noted.some((loan) => isWithin(id, loan))), true, 'short loans')
  short.close()

  // A role without the right, and with a function that has it
  await pool.query(`DROP ROLE IF EXISTS ${ROLE}`)
  await pool.query(`CREATE ROLE ${ROLE}`)
  const poor = new Pool({ options: `-c role=${ROLE}` })
  const asService = async (text) => (await poor.query(text)).rows
  const refused = new Generator(loans(asService), { wait: PATIENCE })
  const { service } = readme('service', 'service')
  try {
    await fails((error) => error.reason === 'over' && error.cause.code === '42501', refused.ready(), 'without the right: 42501')
    assert.throws(() => refused.next(), (error) => error.cause.code === '42501')
    assert.match(refused.stats().reason, /permission denied for function sno_borrow_partition/)
    const guide = fs.readFileSync(`${process.env.CLIENTS}/../doc/loans.md`, 'utf8')
    const [sql] = guide.match(/^CREATE FUNCTION service_loan[^]*?^(?=```$)/m)
    await pool.query(sql.replace('TO service', `TO ${ROLE}`))
    const served = await open(service(asService), { wait: PATIENCE })
    same(sno.meta(served.next(9)), 9, 'by a function of the owner')
    served.close()
    const without = await open(blocks(asService), { wait: PATIENCE })
    same(sno.isSno(without.next()), true, 'blocks need no right')
    without.close()
  } finally {
    refused.close()
    await poor.end()
    await pool.query(`DROP OWNED BY ${ROLE}; DROP ROLE ${ROLE}`)
  }

  // Threads
  const threads = await Promise.all(Array.from({ length: 8 }, () => new Promise((resolve, reject) => {
    new Worker(`
      const { parentPort } = require('worker_threads')
      const { Client } = require('pg')
      const { loans, open } = require(${JSON.stringify(require.resolve('postgresql-sno/generator'))})
      async function main() {
        const client = new Client()
        await client.connect()
        const ids = await open(loans(async (text) => (await client.query(text)).rows), { wait: ${PATIENCE} })
        parentPort.postMessage(Array.from({ length: 12500 }, () => ids.next()))
        await client.end()    // no timer keeps the thread
      }
      main()`, { eval: true }).once('message', resolve).once('error', reject)
  })))
  same([new Set(threads.flat()).size, new Set(threads.flat().map(sno.partition)).size], [100000, 8], 'eight threads')

  // The program for long runs, until it made enough
  let borrowed, seen
  for (let seconds = 1; !(seen?.id.length > 1000); seconds *= 2) {
    const said = execFileSync(process.execPath, [`${__dirname}/make_ids.js`, 'ids', seconds], { encoding: 'utf8' })
    same(said.trim().split('\n').length, 3, 'make_ids')
    borrowed = []
    seen = { id: [], made: [] }
    for (const line of fs.readFileSync('ids', 'utf8').trim().split('\n')) {
      const [kind, , ...fields] = line.split(' ')
      if (kind === 'loan') borrowed.push(fields.map(Number))
      else seen[kind].push(...fields)
    }
  }
  same(new Set(seen.id).size, seen.id.length, 'make_ids: ids differ')
  same(seen.id.every((id) => borrowed.some((loan) => isWithin(id, loan))), true, 'make_ids: ids are within the loans')
  await pool.end()
})
