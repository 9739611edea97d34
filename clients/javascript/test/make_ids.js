// make_ids FILE SECONDS
//
// Makes ids in the main thread and two worker threads, for so many seconds, in the database
// that PGHOST and its like name.  It appends lines to FILE:
//
//   loan PID PARTITION FLOOR FIRST LAST UNTIL    before the first id of the loan
//   id PID TEXT    an id that is made here
//   made PID TEXT    an id of a block
//
// MAKE_IDS_DURATION is that of a loan in ms, by default 100, MAKE_IDS_SEQUENCES how many
// sequences it has, by default 64.  If the machine is so busy that a loan comes too late, later
// ones are longer.

'use strict'

const fs = require('fs')
const { isMainThread, workerData, Worker } = require('worker_threads')
const { Pool } = require('pg')
const { OutOfIdsError, blocks, loans, Generator } = require('postgresql-sno/generator')

const WORKERS = 2
const BATCH = 60    // each 50 ms, so three threads make fewer than 4000 a second
const BATCHES = 30    // of a generator
let duration = Number(process.env.MAKE_IDS_DURATION ?? 100)
const sequences = Number(process.env.MAKE_IDS_SEQUENCES ?? 64)
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms) })

async function main({ file, seconds }) {
  const end = performance.now() + seconds * 1000
  const out = fs.openSync(file, 'a')
  const write = (lines) => {
    const text = lines.map((line) => `${line}\n`).join('')
    if (fs.writeSync(out, text) !== text.length) throw new Error('a line is not whole')
  }
  const pool = new Pool()
  pool.on('error', () => {})    // the database went away
  const query = async (text) => (await pool.query(text)).rows
  const borrow = async (text) => {
    const rows = await query(text)
    const { partition: [high, low], wallHi, sequenceMin, sequenceMax } = JSON.parse(rows[0].snapshot)
    write([`loan ${process.pid} ${high << 8 | low} ${wallHi} ${sequenceMin} ${sequenceMax} ${rows[0].until}`])
    return rows
  }

  let outOfIds = 0
  for (let n = 1; performance.now() < end; n++) {
    const [kind, source] = n % 10 === 0
      ? ['made', blocks(query, { count: 200 })] : ['id', loans(borrow, { duration, sequences })]
    const ids = new Generator(source)
    const longer = Math.min(2 * duration, 1e8)
    for (let batch = 0; batch < BATCHES && performance.now() < end; batch++) {
      const lines = []
      try {
        while (lines.length < BATCH) lines.push(`${kind} ${process.pid} ${ids.next()}`)
      } catch (error) {
        if (!(error instanceof OutOfIdsError)) throw error
        if (error.message.includes('came too late')) duration = longer
        outOfIds++
      }
      write(lines)
      await pause(50)
    }
    ids.close()
  }
  await pool.end()
  console.log(`out of ids: ${outOfIds}`)
}

if (isMainThread) {
  const [, , file, seconds] = process.argv
  const data = { file, seconds }
  for (let n = 0; n < WORKERS; n++) new Worker(__filename, { workerData: data })
  main(data)
} else {
  main(workerData)
}
