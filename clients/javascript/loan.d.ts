import type { Sno } from './index.js'

/**
 * A partition on loan: it permits ids of units after `floor` up to `until`, with sequences
 * from `first` to `last`. A unit is 4 ms, counted from 2010-01-01 UTC.
 */
export class Loan {
  constructor(partition: number, floor: number, first: number, last: number, until: number)
  readonly partition: number
  readonly floor: number
  readonly first: number
  readonly last: number
  readonly until: number

  /**
   * An id of the unit that the clock shows, or why there is none: `wait`: the unit is
   * exhausted; `behind`: the clock was set back, and both sides were used; `over`.
   */
  next(unit: number, meta: number): Sno | 'wait' | 'behind' | 'over'

  /** Whether `next()` would return an id now, or in the next unit. */
  permits(unit: number): boolean
}
