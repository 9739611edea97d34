/** A pool of node-postgres, or the `sql` of postgres.js. Each statement is a transaction of its own. */
export type Database = { connect(): Promise<any> } | { unsafe(...args: any[]): any }

/** The batches of a reader of a feed of the extension `sno_feeds`. */
export function feed<Item = any>(db: Database, table: string, reader: string, options?: Options): Feed<Item>

export interface Options {
  /** the most rows of a batch, by default 1000 */
  maxRows?: number
  /** the time for a batch, in ms, by default a minute; iterating over the batch extends it */
  lease?: number
  /** the time until a row that failed comes again, in ms, by default a second */
  retryAfter?: number
  /** gets the errors after which the feed goes on; by default they are warnings of the process */
  onError?: (error: unknown) => void
}

/**
 * For one `for await`. A batch is leased, and acknowledged when the loop asks for the next one. If
 * the connection is lost, or the server is away, the statement is repeated. Other errors are raised.
 *
 * If the loop is left by an error or by `break`, the batch is given back: its rows come again at
 * once, and no try counts.
 */
export interface Feed<Item> extends AsyncIterable<Batch<Item>> {
  /** End the loop after the present batch, which is acknowledged; if it waits, within 5 seconds. */
  stop(): void
}

/** A row of a feed, or a change of a row. */
export interface Row<Item> {
  /** the key of the feed, as text */
  readonly id: string
  /** Then the item has only the primary key, and null for all other columns. */
  readonly deleted: boolean
  readonly item: Item
}

/**
 * Rows of one part of the feed, in the order of their ids. `for await (const row of batch)` returns
 * them, and extends the lease whenever more than half of it has passed. It ends after `fail()`, and
 * when the lease is lost.
 */
export interface Batch<Item> extends AsyncIterable<Row<Item>> {
  readonly part: number
  readonly rows: readonly Row<Item>[]

  /**
   * Report a row that could not be handled. For a batch, only the first call counts.
   *
   * When the loop asks for the next batch, only the rows before this one are acknowledged. After
   * `retryAfter` ms, this row comes again alone, and after it the others. After the reader's
   * `max_tries`, it is set aside with the error.
   *
   * If the row is null, one of the rows failed, so all of them come again, one by one. If the error
   * is null, no row is to blame, so no try counts.
   */
  fail(row: Row<Item> | null, error: unknown, options?: { retryAfter?: number }): void
}
