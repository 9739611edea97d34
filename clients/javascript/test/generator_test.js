// Generators and sources, with a false database, and with clocks and timers that the test
// moves.

'use strict'

const sno = require('postgresql-sno')
const { Generator, OutOfIdsError, blocks, loans, open } = require('postgresql-sno/generator')
const { assert, fails, ok, run, same } = require('./tap')
const { World } = require('./world')

const EPOCH = 315576000000
const START = Date.UTC(2030, 0)
const MINUTE = 60 * 1000
const HOUR = 60 * MINUTE
const FLOOR = START / 4 - EPOCH - 1

let world

// A database that lends partitions, one after the other, for an hour, and can be away.
class Database {
  partition = 0
  duration = HOUR
  floor = FLOOR
  sequences = [0, 65535]
  calls = 0
  away = null    // the error that it raises then
  slow = 0    // ms until it answers
  changes = {}    // of the row

  query = async () => {
    this.calls++
    if (this.slow) await new Promise((resolve) => { setTimeout(resolve, this.slow).unref() })
    if (this.away) throw this.away
    const partition = ++this.partition
    const snapshot = {
      partition: [partition >> 8, partition & 255], wallHi: this.floor, wallSafe: this.floor, sequence: 65535,
      sequenceMin: this.sequences[0], sequenceMax: this.sequences[1],
    }
    const until = String(Math.floor((START + world.steady + this.duration) / 4) - EPOCH)
    return [{ snapshot: JSON.stringify(snapshot), until, ...this.changes }]
  }
}

// What next() raises
function raised(ids) {
  try {
    return { id: ids.next() }
  } catch (error) {
    assert(error instanceof OutOfIdsError && error.name === 'OutOfIdsError')
    return error
  }
}

const reasonOf = (ids) => raised(ids).reason
const partitionOf = (ids) => sno.partition(ids.next())

// Each test has a world of its own.  No timer may be left, and no id may come twice.
async function test(name, action) {
  world = new World(START)
  const database = new Database()
  const seen = new Set()
  const made = []
  const generator = (source = loans(database.query), options) => {
    const ids = new Generator(source, options)
    const next = ids.next.bind(ids)
    ids.next = (...args) => {
      const id = next(...args)
      assert(sno.isSno(id) && !seen.has(id), id)
      seen.add(id)
      return id
    }
    made.push(ids)
    return ids
  }
  try {
    await action({ database, generator })
    for (const ids of made) ids.close()
    assert.strictEqual(world.timers.size, 0, `${name}: timers`)
  } finally {
    world.end()
  }
  ok(name)
}

const equal = assert.deepStrictEqual

run(async () => {
  await test('nothing is taken before the first use', async ({ database, generator }) => {
    const ids = generator()
    await world.pass(HOUR)
    equal(database.calls, 0)
    equal(ids.stats(), { issued: 0, taken: 0, failed: 0, until: null, reason: null })
    const error = raised(ids)
    equal([error.reason, error.until, 'cause' in error], ['over', null, false])
    equal(error.message, 'out of ids: nothing was taken yet; the next one is not there yet')
    equal(reasonOf(ids), 'over')
    await world.pass(0)
    const id = ids.next(7)
    equal([sno.meta(id), sno.partition(id), sno.sequence(id), sno.timestamp(id).getTime()], [7, 1, 0, START + HOUR])
    equal(sno.meta(ids.next()), 0)
    equal(ids.stats(), { issued: 2, taken: 1, failed: 0, until: new Date(START + 2 * HOUR), reason: null })
    equal(database.calls, 1)
  })

  await test('the next loan is taken once at half, and kept until the end', async ({ database, generator }) => {
    const ids = generator()
    await ids.ready()
    await world.pass(HOUR / 2 - 4)
    equal([partitionOf(ids), database.calls], [1, 1])
    database.slow = MINUTE / 2
    world.at += 4    // before the timer
    equal([partitionOf(ids), partitionOf(ids), database.calls], [1, 1, 2])
    await world.pass(MINUTE)
    equal([partitionOf(ids), partitionOf(ids), database.calls], [1, 1, 2])
    await world.pass(HOUR / 2 - MINUTE)
    equal([world.at, partitionOf(ids)], [START + HOUR, 1], 'up to the last unit')
    await world.pass(4)
    equal([partitionOf(ids), ids.stats().taken], [2, 2])
  })

  await test('a timer takes it, even if nobody calls', async ({ database, generator }) => {
    const ids = generator()
    await ids.ready()
    await world.pass(HOUR / 2 - 1)
    equal(database.calls, 1)
    await world.pass(1)
    equal(database.calls, 2)
    await world.pass(10 * HOUR)
    equal([database.calls, partitionOf(ids)], [21, 20], 'two in each hour')
    assert([...world.timers].every((timer) => !timer.held))
  })

  await test('while the database is away, ids are made up to the end of the loan', async ({ database, generator }) => {
    const ids = generator()
    await ids.ready()
    database.away = Object.assign(new Error('no route'), { code: 'EHOSTUNREACH' })
    await world.pass(HOUR / 2)
    equal([database.calls, ids.stats().failed, ids.stats().reason], [2, 1, 'no route'])

    // The pauses: 1, 2, 4, 8, 16, 32 s, then 60 s.
    const at = []
    for (let calls = 2; at.length < 9; await world.pass(1000)) {
      partitionOf(ids)
      if (database.calls > calls) at.push(world.steady - HOUR / 2)
      calls = database.calls
    }
    equal(at, [1, 3, 7, 15, 31, 63, 123, 183, 243].map((s) => s * 1000))

    assert(world.fired < 30, 'the timer rests, too')
    await world.pass(START + HOUR - world.at)
    equal(partitionOf(ids), 1)
    await world.pass(4)
    const error = raised(ids)
    equal([error.reason, error.until, error.cause], ['over', new Date(START + HOUR), database.away])
    equal(error.message, 'out of ids: the loan ends at 2030-01-01T01:00:00.000Z; the next attempt failed: no route')
    const calls = database.calls
    for (let n = 0; n < 100; n++) equal(reasonOf(ids), 'over')
    equal(database.calls, calls, 'not in a pause')
    await fails({ reason: 'over', cause: database.away }, ids.ready(), 'ready() in a pause')

    // It is back.
    database.away = null
    await world.pass(MINUTE)
    equal([partitionOf(ids), database.calls], [2, calls + 1])
    database.away = new Error('gone again')
    await world.pass(ids.stats().until - HOUR / 2 - world.at)
    equal(database.calls, calls + 2)
    await world.pass(999)
    equal(database.calls, calls + 2)
    await world.pass(1)
    equal(database.calls, calls + 3, 'the pause is a second again')
  })

  await test('a call after the end takes the next loan', async ({ database, generator }) => {
    const ids = generator(loans(database.query, { call: 'service_loan()' }))
    database.away = new Error('no')
    await fails({ reason: 'over', cause: database.away, message: 'out of ids: nothing was taken yet; the next attempt failed: no' },
      ids.ready(), 'ready() raises')
    database.away = null
    equal(reasonOf(ids), 'over')
    await world.pass(999)
    equal([reasonOf(ids), database.calls], ['over', 1])
    await world.pass(1)
    equal([reasonOf(ids), database.calls], ['over', 2])
    await world.pass(0)
    equal(partitionOf(ids), 1)
    database.duration = 100
    world.at += 2 * HOUR    // no timer runs
    equal(raised(ids).message, 'out of ids: the loan ends at 2030-01-01T01:00:01.000Z; the next one is not there yet')
    world.at -= 2 * HOUR
    equal(partitionOf(ids), 1, 'the loan is still good')
  })

  await test('the clock is behind a new loan', async ({ database, generator }) => {
    database.floor = FLOOR + 250
    const ids = generator()
    const ready = ids.ready()
    await world.pass(996)
    equal(reasonOf(ids), 'over')
    await world.pass(4)
    await ready
    equal(ids.next(), sno.min(new Date(START + 1000)).slice(0, 8) + '22224222')

    database.floor = FLOOR + 10 * MINUTE / 4
    const other = generator()
    await fails({ reason: 'clock', until: null,
      message: 'out of ids: nothing was taken yet; the next attempt failed: the clock, at 2030-01-01T00:00:01.000Z, ' +
        'is not within a new loan, from 2030-01-01T00:10:00.000Z until 2030-01-01T01:00:01.000Z' },
    other.ready(), 'far behind: ready() raises')
    equal([reasonOf(other), other.stats().failed], ['clock', 1])
    await world.pass(10 * MINUTE)
    await other.ready()
    equal(partitionOf(other), 3)
  })

  await test('the clock is ahead of a new loan', async ({ generator }) => {
    const ids = generator()
    world.at += 2 * HOUR
    await fails({ reason: 'clock' }, ids.ready(), 'ready() raises')
    world.at -= 2 * HOUR
    await world.pass(1000)
    await ids.ready()
    equal(partitionOf(ids), 2)
  })

  await test('a source that is slower than a loan lasts', async ({ database, generator }) => {
    database.duration = 100
    database.query = ((query) => async () => {
      const rows = await query()
      await new Promise((resolve) => { setTimeout(resolve, 104) })
      return rows
    })(database.query)
    const ids = generator()
    const ready = ids.ready()
    const end = fails({ reason: 'over', message: 'out of ids: nothing was taken yet; the next attempt failed: a new loan, ' +
      'until 2030-01-01T00:00:00.100Z, came too late: it was asked for at 2030-01-01T00:00:00.000Z, ' +
      'and now it is 2030-01-01T00:00:00.104Z' }, ready, 'ready() raises')
    await world.pass(104)
    await end
    equal([reasonOf(ids), ids.stats().failed], ['over', 1])
  })

  await test('a clock that is set back: the other side, and then the next loan', async ({ database, generator }) => {
    const ids = generator()
    await ids.ready()
    await world.pass(MINUTE)
    equal([ids.next(), ids.next()].map(sno.tickTock), [false, false])
    world.at -= 1000
    equal([ids.next(), ids.next()].map(sno.tickTock), [true, true])
    equal(sno.partition(ids.next()), 1)
    world.at -= 1000
    const error = raised(ids)
    equal([error.reason, error.message],
      ['clock', 'out of ids: the clock, at 2030-01-01T00:00:58.000Z, is before ids of the loan; the next one is not there yet'])
    await ids.ready()
    equal([partitionOf(ids), database.calls], [2, 2])
    world.at += 2000
    equal(partitionOf(ids), 2)

    // With a spare there is no gap, however often that happens.
    for (let partition = 2; partition < 6; partition++) {
      await world.pass(HOUR / 2)
      ids.next()
      await world.pass(0)
      world.at -= 1000
      equal(partitionOf(ids), partition)
      world.at -= 1000
      equal(partitionOf(ids), partition + 1)
      world.at += 2000
    }
  })

  await test('a clock that jumps at each reading', async ({ database, generator }) => {
    database.sequences = [5, 6]
    const ids = generator()
    await ids.ready()
    let random = 1
    Date.now = () => {
      random = random * 48271 % (2 ** 31 - 1)
      return world.at + random % 200
    }
    for (let n = 0; n < 20000; n++) {
      world.at += 1
      try {
        ids.next()
      } catch (error) {
        equal(error.reason, 'clock')
        await world.pass(1000)
      }
    }
    assert(ids.stats().issued > 10000)
  })

  await test('an exhausted unit', async ({ database, generator }) => {
    database.sequences = [64, 67]
    const ids = generator()
    await ids.ready()
    const clock = Date.now
    Date.now = () => (world.at += 0.25)
    equal(Array.from({ length: 9 }, () => sno.sequence(ids.next())), [64, 65, 66, 67, 64, 65, 66, 67, 64])
    Date.now = clock
    for (let n = 0; n < 3; n++) ids.next()
    const error = raised(ids)
    equal(error.reason, 'clock', 'a clock that stands still')
    world.at += 4
    ids.next()
  })

  await test('a source that gives no answer', async ({ database, generator }) => {
    database.slow = 90 * 1000
    const ids = generator()
    const ready = fails({ reason: 'over', message: /is not there yet/ }, ids.ready(), 'ready() raises')
    await world.pass(5000)
    await ready
    await world.pass(MINUTE - 5001)
    equal([reasonOf(ids), ids.stats().failed], ['over', 0])
    await world.pass(1)
    equal([raised(ids).cause.message, ids.stats().failed], ['the source gave no answer for 60 s', 1])
    database.slow = 0
    await world.pass(1000)
    equal(reasonOf(ids), 'over')
    await world.pass(0)
    equal(partitionOf(ids), 1)
    await world.pass(MINUTE)
    equal([partitionOf(ids), database.partition, ids.stats().taken], [1, 2, 1], 'what comes late is thrown away')

    database.slow = 90 * 1000
    const other = generator()
    equal(reasonOf(other), 'over')
    await world.pass(MINUTE + 1000)
    database.slow = 0
    equal(reasonOf(other), 'over')
    await world.pass(0)
    database.away = new Error('late')
    await world.pass(MINUTE)
    equal([other.stats().failed, other.stats().taken], [1, 1], 'so is an error')
  })

  await test('all that a source may raise', async ({ generator }) => {
    for (const [error, text] of [[undefined, 'undefined'], [null, 'null'], ['text', '"text"'], [7, 'number'],
      [Object.create(null), 'object'], [{ message: 7 }, '7'], [new TypeError('wrong'), 'wrong']]) {
      for (const query of [() => { throw error }, () => Promise.reject(error)]) {
        const ids = generator(loans(query))
        const seen = await ids.ready().catch((error) => error)
        equal([seen instanceof OutOfIdsError, seen.reason, seen.cause], [true, 'over', error])
        equal(ids.stats().reason, text)
        assert(seen.message.endsWith(`failed: ${text}`))
      }
    }
  })

  await test('all that a database may return', async ({ database, generator }) => {
    const refused = async (source, message) => {
      const ids = generator(source)
      const error = await ids.ready().catch((error) => error)
      assert(error instanceof OutOfIdsError && /^the answer of the database is wrong: /.test(error.cause.message), error)
      if (message) assert(error.message.endsWith(message), error.message)
      equal(ids.stats().issued, 0)
    }
    const answer = (rows) => async () => rows
    const snapshotOf = { partition: [0, 1], wallHi: 5, wallSafe: 5, sequenceMin: 0, sequenceMax: 9 }
    for (const twice of [loans(answer([{ snapshot: JSON.stringify(snapshotOf), until: '70' }])),
      blocks(answer([{ id: '2222222222222222' }]), { count: 1 })]) {
      await twice.take()
      await assert.rejects(twice.take(), /^Error: the query gave an answer that it had given before: /)
    }
    for (const rows of [undefined, null, 7, {}, [], [null], [{}], { rows: [] }]) {
      await refused(loans(answer(rows)))
      await refused(blocks(answer(rows)))
    }
    const [row] = await database.query()
    const snapshot = JSON.parse(row.snapshot)
    for (const key of ['partition', 'wallHi', 'wallSafe', 'sequenceMin', 'sequenceMax']) {
      for (const value of [undefined, null, -1, 1.5, '1', {}, [1], [1, 256], [256, 1], 2 ** 39]) {
        await refused(loans(answer([{ ...row, snapshot: JSON.stringify({ ...snapshot, [key]: value }) }])))
      }
    }
    for (const text of ['', 'null', '7', '[]', '{', undefined]) await refused(loans(answer([{ ...row, snapshot: text }])))
    for (const until of [undefined, null, '', 'soon', '1.5', '-1', String(2 ** 39), String(FLOOR - 1)]) {
      await refused(loans(answer([{ ...row, until }])))
    }
    await refused(loans(answer([{ ...row, until: String(FLOOR) }])), 'the loan ends at its floor')
    await refused(loans(answer([{ ...row, snapshot: JSON.stringify({ ...snapshot, sequenceMin: 9, sequenceMax: 8 }) }])))

    const id = sno.min(new Date(START))
    await refused(blocks(answer([{ id }]), { count: 2 }), '1 ids, not 2')
    await refused(blocks(answer([{ id }, { id: 'no' }]), { count: 2 }), 'not a sno: "no"')
    await refused(blocks(answer([{ id }]), { count: 1, meta: 1 }), 'not all ids have metabyte 1')
  })

  await test('blocks', async ({ generator }) => {
    let given = 0
    const texts = []
    let away = null
    const query = async (text) => {
      texts.push(text)
      if (away) throw away
      return Array.from({ length: 10 }, () => ({ id: sno.fromBytes(Uint8Array.of(99, 0, 0, 0, 0, 5, 0, 1, 0, given++)) }))
    }
    const ids = generator(blocks(query, { count: 10, meta: 5 }))
    await ids.ready()
    equal(texts, ['SELECT id::text AS id FROM sno_generate_many(10, 5) AS id'])
    for (const wrong of [4, 0, 255]) assert.throws(() => ids.next(wrong), RangeError)
    const sequences = (count) => Array.from({ length: count }, () => sno.sequence(ids.next()))
    equal(sequences(4), [0, 1, 2, 3])
    equal(texts.length, 1)
    equal([sno.sequence(ids.next(5)), ...sequences(2)], [4, 5, 6])
    equal(texts.length, 2, 'at half of its ids, once')
    await world.pass(100 * HOUR)
    equal(sequences(5), [7, 8, 9, 10, 11], 'it has no end, and needs no timer')
    equal([ids.stats().until, texts.length, world.timers.size], [null, 2, 0])

    // With many ids at once: 8 are there.
    away = new Error('no')
    equal(sequences(8), [12, 13, 14, 15, 16, 17, 18, 19])
    await world.pass(0)
    const error = raised(ids)
    equal([error.reason, error.until, error.cause, error.message],
      ['over', null, away, 'out of ids: the block is used up; the next attempt failed: no'])
    away = null
    await world.pass(1000)
    for (const count of [1, 10, 11, 20]) {
      await ids.ready({ count })
      sequences(count)
    }
    await ids.ready()
    sequences(1)
    await ids.ready({ count: 20, until: new Date(START + 1e6 * HOUR) })
    sequences(20)
    for (const count of [0, 21, 1.5, NaN]) await assert.rejects(ids.ready({ count }), RangeError)
  })

  await test('ready() up to a time', async ({ database, generator }) => {
    const ids = generator()
    const until = (ms) => ({ until: new Date(world.at + ms) })
    await Promise.all([ids.ready(until(HOUR)), ids.ready(), ids.ready(until(MINUTE))])
    equal(database.calls, 1)
    await world.pass(MINUTE)
    await ids.ready(until(HOUR - MINUTE))
    equal(database.calls, 1)
    await Promise.all([ids.ready(until(HOUR)), ids.ready(until(HOUR))])
    equal([database.calls, partitionOf(ids)], [2, 1], 'it takes one, as spare')
    await world.pass(MINUTE)
    await ids.ready(until(HOUR))
    equal([database.calls, partitionOf(ids)], [3, 2], 'the spare ends too early')

    await assert.rejects(ids.ready(until(HOUR + 1)), { name: 'RangeError', message: /^a loan of 3600000 ms ends before 2030/ })
    equal(database.calls, 3)
    database.away = new Error('no')
    await world.pass(1000)
    await ids.ready()
    await assert.rejects(ids.ready(until(HOUR)), { reason: 'over', cause: database.away, until: new Date(START + HOUR + MINUTE) })
    ids.next()

    database.away = null
    const called = generator(loans(database.query, { call: 'service_loan()' }))
    const calls = database.calls
    await assert.rejects(called.ready(until(2 * HOUR)), { name: 'RangeError', message: /^a new loan ends at .*, before 2030/ })
    equal(database.calls, calls + 1)
    await called.ready(until(HOUR))
    equal(database.calls, calls + 1)
    for (const wrong of [new Date(NaN), 7, '2030-01-01', null]) await assert.rejects(called.ready({ until: wrong }), TypeError)
  })

  await test('close()', async ({ database, generator }) => {
    const ids = generator()
    await ids.ready()
    await world.pass(HOUR / 2)
    ids.next()
    ids.close()
    ids.close()
    const error = raised(ids)
    equal([error.reason, error.until, error.message, world.timers.size],
      ['closed', null, 'out of ids: the generator is closed', 0])
    await assert.rejects(ids.ready(), { reason: 'closed' })
    await world.pass(HOUR)
    equal([database.calls, ids.stats().issued, ids.stats().until], [2, 1, null])

    // During an attempt, and while it waits for the clock.
    for (const change of [() => ({ slow: 1000 }), () => ({ floor: world.at / 4 - EPOCH + 200 })]) {
      const other = generator()
      Object.assign(database, change())
      const ready = assert.rejects(other.ready(), { reason: 'closed' })
      await world.pass(100)
      other.close()
      await ready
      database.slow = 0
      await world.pass(2000)
      equal([reasonOf(other), other.stats().taken, other.stats().failed, world.timers.size], ['closed', 0, 0, 0])
    }
  })

  await test('open()', async ({ database }) => {
    const ids = await open(loans(database.query), { wait: 10 })
    ids.next()
    ids.close()
    database.away = new Error('no')
    await assert.rejects(open(loans(database.query)), { reason: 'over', cause: database.away })
    database.away = null
    database.slow = 20
    const opened = assert.rejects(open(loans(database.query), { wait: 10 }), { reason: 'over' })
    await world.pass(10)
    await opened
    await world.pass(HOUR)
    equal([database.calls, world.timers.size], [3, 0], 'what it couldn\'t open is closed')
  })

  await test('a loan of years', async ({ database, generator }) => {
    database.duration = 2 * 365 * 24 * HOUR
    const ids = generator(loans(database.query, { duration: database.duration }))
    await ids.ready()
    await world.pass(364 * 24 * HOUR)
    equal(database.calls, 1)
    await world.pass(24 * HOUR + 4)
    equal([database.calls, partitionOf(ids)], [2, 1])
  })

  await test('wrong arguments', async ({ database, generator }) => {
    const texts = []
    const query = async (text) => {
      texts.push(text)
      return database.query()
    }
    for (const wrong of [undefined, null, 'SELECT', {}]) {
      assert.throws(() => loans(wrong), TypeError)
      assert.throws(() => blocks(wrong), TypeError)
      assert.throws(() => new Generator(wrong), TypeError)
    }
    const refused = (make, key, numbers, others = ['1', null, 1n]) => {
      for (const value of numbers) assert.throws(() => make({ [key]: value }), RangeError, `${key}: ${value}`)
      for (const value of others) assert.throws(() => make({ [key]: value }), TypeError, `${key}: ${value}`)
    }
    const numbers = [-1, 0.5, NaN, Infinity, 2 ** 53]
    refused((options) => loans(query, options), 'duration', [0, 3, ...numbers], ['1 hour'])
    refused((options) => loans(query, options), 'sequences', [0, 65537, ...numbers], ['64'])
    refused((options) => loans(query, options), 'call', [], [7, null])
    refused((options) => loans(query, { ...options, call: 'f()' }), 'duration', [], [HOUR])
    refused((options) => loans(query, { ...options, call: 'f()' }), 'sequences', [], [64])
    refused((options) => blocks(query, options), 'count', [0, 65537, ...numbers])
    refused((options) => blocks(query, options), 'meta', [256, ...numbers])
    refused((options) => new Generator(loans(query), options), 'wait', numbers)

    const ids = generator(loans(query, { duration: 4, sequences: 1 }))
    for (const wrong of [-1, 256, 0.5, NaN]) assert.throws(() => ids.next(wrong), RangeError)
    for (const wrong of ['1', null, 1n, {}]) assert.throws(() => ids.next(wrong), TypeError)
    await ids.ready()
    await generator(loans(query)).ready()
    await generator(loans(query, { call: 'ids.service_loan()' })).ready()
    const text = (call) => 'SELECT snapshot::text AS snapshot, ((extract(epoch FROM until) * 250)::bigint - 315576000000)::text' +
      ` AS until FROM ${call}`
    equal(texts.map((text) => text.replace(/\s+/g, ' ')), [text("sno_borrow_partition('4 milliseconds', 1)"),
      text("sno_borrow_partition('3600000 milliseconds', 65536)"), text('ids.service_loan()')])
    equal(structuredClone(new Generator(loans(query))), {}, 'nothing of it goes to a thread')
  })

  // With the clocks of the language.
  world = { get steady() { return Date.now() - START } }
  const database = new Database()
  Object.assign(database, { duration: 200, floor: 0 })
  require('v8').setFlagsFromString('--expose-gc')
  const collect = require('vm').runInNewContext('gc')
  await (async function begin() {
    // The machine may be so busy that the loan came too late.
    await open(loans(database.query, { duration: 200 })).catch(begin)
  })()
  for (let calls = -1; database.calls > calls;) {
    calls = database.calls
    await new Promise((resolve) => { setTimeout(resolve, 300) })
    collect()
    assert(calls < 100)
  }
  ok('a generator that nobody uses takes no more loans')
})
