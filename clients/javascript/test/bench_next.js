// Prints how long next() takes, beside a uuid of version 4: ns, the median of 5 rounds.  The
// id is read, because JavaScript puts a text together only then.

'use strict'

const { randomUUID } = require('crypto')
const { open, loans } = require('postgresql-sno/generator')

const COUNT = 1e6
const ROUNDS = 5
const EPOCH = 315576000000

// The whole partition 1, for an hour from now on
async function query() {
  const unit = Math.floor(Date.now() / 4) - EPOCH
  const snapshot = { partition: [0, 1], wallHi: unit - 1, wallSafe: unit - 1, sequenceMin: 0, sequenceMax: 65535 }
  return [{ snapshot: JSON.stringify(snapshot), until: String(unit + 900000) }]
}

function measure(make) {
  let read = 0
  const start = process.hrtime.bigint()
  for (let n = 0; n < COUNT; n++) read += make().charCodeAt(15)
  return read && Number(process.hrtime.bigint() - start) / COUNT
}

async function main() {
  const ids = await open(loans(query))
  const makers = { 'next()': () => ids.next(1), 'uuid v4': () => randomUUID() }
  const seen = Object.fromEntries(Object.keys(makers).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, make] of Object.entries(makers)) seen[name].push(measure(make))
  }
  const median = (figures) => figures.sort((a, b) => a - b)[ROUNDS >> 1]
  console.log(Object.entries(seen).map(([name, figures]) => `${name} ${median(figures).toFixed(0)} ns`).join(', '))
}

main()
