/**
 * Reads a feed of the extension sno_feeds: the rows of a table, none of which it misses.
 */

'use strict'

const { checkNumber, shown } = require('./common.js')

const NAME = `
  SELECT format('%I.%I', n.nspname, c.relname)
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = $1::text::regclass`
const WAIT = 'CALL sno_feed_wait($1::text::regclass, $2, $3)'
const DONE = 'SELECT sno_feed_done($1::text::regclass, $2, $3, $4)'
const FAIL = 'SELECT sno_feed_fail($1::text::regclass, $2, $3, $4, $5, $6, $7)'
const EXTEND = 'SELECT sno_feed_extend($1::text::regclass, $2, $3, $4, $5)'

const PAUSE = 100    // after an error, doubled up to
const LONGEST_PAUSE = 5000
const LONGEST = 2 ** 31 - 1
const LOST = '55P03'

const interval = (ms) => `${ms} milliseconds`

// The rows of a statement as arrays, and the names of their columns
async function run(db, text, values) {
  if (typeof db.unsafe === 'function') {    // postgres.js
    const rows = await db.unsafe(text, values).values()
    return { rows, names: rows.columns?.map(({ name }) => name) }
  }
  const client = await db.connect()
  const ignore = () => {}    // the statement fails, too
  client.on('error', ignore)
  let failure
  try {
    const { rows, fields } = await client.query({ text, values, rowMode: 'array' })
    return { rows, names: fields.map(({ name }) => name) }
  } catch (error) {
    failure = error
    throw error
  } finally {
    client.off('error', ignore)
    client.release(failure)    // the next statement has another connection after an error
  }
}

// Is it an error of the connection, of a server that isn't there for a while, or of a transaction
// that is to be repeated?
function passes(db, error) {
  if (error?.severity !== undefined) return /^(08...|57P..|53300|25006|40001|40P01)$/.test(error.code)
  return !db.ending && error?.code !== 'CONNECTION_ENDED' && !(error instanceof TypeError) &&
    !/^SASL/.test(error?.message)
}

class Batch {
  #settle
  #options
  #since
  #failure = null
  #isLost = false

  // settle() makes a statement about the lease, which began at `since`.
  constructor({ rows, names }, settle, options, since) {
    this.part = rows[0][0]
    this.rows = Object.freeze(rows.map(([, , id, deleted, ...values]) =>
      ({ id, deleted, item: Object.fromEntries(values.map((value, i) => [names[i + 4], value])) })))
    this.#options = options
    this.#since = since
    this.#settle = async (sql, ...values) => {
      try {
        await settle(sql, this.part, rows[0][1], ...values)
      } catch (error) {
        if (error?.code !== LOST) throw error
        this.#isLost = true
        options.onError(error)
      }
    }
  }

  fail(row, error, { retryAfter = this.#options.retryAfter } = {}) {
    if (row !== null && !this.rows.some(({ id }) => id === row?.id)) {
      throw new TypeError('the row is not one of the batch')
    }
    checkNumber('retryAfter', retryAfter, 0, LONGEST)
    const text = error === null ? null : String(error).replace(/\0/g, '\\0')
    this.#failure ??= [row && row.id, text, interval(retryAfter)]
  }

  async *[Symbol.asyncIterator]() {
    const { lease } = this.#options
    for (const row of this.rows) {
      const now = performance.now()
      if (this.#failure === null && !this.#isLost && now - this.#since > lease / 2) {
        await this.#settle(EXTEND, interval(lease))
        this.#since = now
      }
      if (this.#failure !== null || this.#isLost) return
      yield row
    }
  }

  // Acknowledge the rows, or those before the one that failed.
  static async end(batch, isLeft) {
    if (batch.#isLost) return
    if (isLeft) batch.#failure ??= [null, null, interval(0)]
    await (batch.#failure === null ? batch.#settle(DONE) : batch.#settle(FAIL, ...batch.#failure))
  }
}

class Feed {
  #db
  #table
  #reader
  #options
  #columns
  #stopped = false

  // The columns of an item are SQL, with the row as t.item.
  constructor(db, table, reader, {
    maxRows = 1000, lease = 60000, retryAfter = 1000, onError = (error) => process.emitWarning(error),
  } = {}, columns = '(t.item).*') {
    if (typeof (db?.unsafe ?? db?.connect) !== 'function') {
      throw new TypeError(`not a pool of connections: ${shown(db)}`)
    }
    checkNumber('maxRows', maxRows, 1, LONGEST)
    checkNumber('lease', lease, 1, LONGEST)
    checkNumber('retryAfter', retryAfter, 0, LONGEST)
    this.#db = db
    this.#table = table
    this.#reader = reader
    this.#options = { maxRows, lease, retryAfter, onError }
    this.#columns = columns
  }

  stop() {
    this.#stopped = true
  }

  async *[Symbol.asyncIterator]() {
    const { maxRows, lease, onError } = this.#options
    const { rows: [[name] = []] } = await this.#ask(NAME, this.#table)
    const take = `SELECT t.part, t.fence::text, t.id, t.deleted, ${this.#columns}
      FROM sno_feed_take(NULL::${name}, $1, $2, $3) AS t`
    const settle = (sql, ...values) => this.#ask(sql, name, this.#reader, ...values)
    while (!this.#stopped) {
      const since = performance.now()
      const taken = await this.#ask(take, this.#reader, maxRows, interval(lease))
      if (taken.rows.length === 0) {
        if (!this.#stopped) await settle(WAIT, interval(5000))
        continue
      }
      const batch = new Batch(taken, settle, this.#options, since)
      let isLeft = true
      try {
        yield batch
        isLeft = false
      } finally {
        if (isLeft) {
          this.#stopped = true
          await Batch.end(batch, true).catch(onError)    // the error of the loop counts
        }
      }
      await Batch.end(batch, false)
    }
  }

  // What the statement returns; nothing if the feed is stopped while the server is away
  async #ask(sql, ...values) {
    for (let pause = PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      try {
        return await run(this.#db, sql, values)
      } catch (error) {
        if (!passes(this.#db, error)) throw error
        this.#options.onError(error)
      }
      if (this.#stopped) return { rows: [] }
      await new Promise((resolve) => { setTimeout(resolve, pause * (0.5 + Math.random() / 2)) })
    }
  }
}

exports.Feed = Feed
exports.feed = (db, table, reader, options) => new Feed(db, table, reader, options)
