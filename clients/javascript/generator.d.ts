import type { Sno } from './index.js'

/**
 * A function of the application: it runs the SQL text in a transaction of its own, which has
 * committed when the rows are there. The columns of the rows are strings.
 */
export type Query = (text: string) => PromiseLike<readonly any[]>

declare const kind: unique symbol

/** What gives a generator the next loan or block. */
export interface Source {
  readonly [kind]: 'source'
}

/**
 * Loans of a partition, or of some of its sequences. The duration is in ms, an hour by
 * default; of sequences there are 65536 by default.
 */
export function loans(query: Query, options?: { duration?: number; sequences?: number }): Source

/** Loans by another function: `call` is what follows FROM, such as `service_loan()`. */
export function loans(query: Query, options: { call: string }): Source

/** Blocks of ids that the database makes, by default 500, with metabyte 0. */
export function blocks(query: Query, options?: { count?: number; meta?: number }): Source

/** Makes ids of what its source gives. */
export class Generator {
  /** `wait`: how long `ready()` waits, in ms; 5000 by default. Nothing is taken yet. */
  constructor(source: Source, options?: { wait?: number })

  /**
   * An id with this metabyte, by default 0, or that of the blocks. It raises an
   * OutOfIdsError if there is none, and takes the next loan or block in the background.
   */
  next(meta?: number): Sno

  /**
   * Wait until there is a loan that lasts up to the time, or a block and a spare one with
   * together as many ids. It raises an OutOfIdsError if that can't be had.
   */
  ready(options?: { until?: Date; count?: number }): Promise<void>

  stats(): Stats

  /** From now on `next()` raises an OutOfIdsError. No timer is left. */
  close(): void
}

export interface Stats {
  /** ids */
  issued: number
  /** loans or blocks */
  taken: number
  /** attempts to take one */
  failed: number
  /** the end of the present loan */
  until: Date | null
  /** why the last attempt failed that did */
  reason: string | null
}

/** A generator that is ready. */
export function open(source: Source, options?: { wait?: number }): Promise<Generator>

/** There is no id. The `cause` is the error of the last attempt, if that failed. */
export class OutOfIdsError extends Error {
  constructor(message: string, details: { reason: OutOfIdsError['reason']; until: Date | null; cause?: unknown })
  /**
   * `over`: the loan is over or the block used up, and the next one isn't there; `clock`: the
   * clock isn't within a loan; `closed`.
   */
  readonly reason: 'over' | 'clock' | 'closed'
  /** the end of the loan */
  readonly until: Date | null
}
