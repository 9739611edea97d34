/** Some bits of an id. */
export interface Field {
  name: string
  bits: number
  kind: 'time' | 'flag' | 'meta' | 'node' | 'sequence' | 'random' | 'fixed'
  /** Decimal, or hexadecimal with `0x` if the bits are no number. */
  value: string
  meaning: string
}

/** The same id as it is written elsewhere. */
export interface Form {
  name: string
  value: string
}

/** What an id may be, and what it tells then. */
export interface Reading {
  /** `sno`, `sno-uuidv8`, `sno-uuid`, `uuid`, `uuidv7` and its like, `typeid`, or the name of a layout. */
  kind: string
  title: string
  about: string
  /** The sum of the bits of its fields. */
  bits: number
  /** ISO 8601, in UTC, with as many digits as the id has; null if it has no time. */
  time: string | null
  /** Such as `4 ms`. */
  precision: string | null
  /** From the highest bit to the lowest. */
  fields: Field[]
  forms: Form[]
  /** False if the time is not one that an id of this kind has by now. */
  likely: boolean
}

/** A layout of the extension `sno_flakes`: bits of time, node and sequence, and the unit of the time in ms. */
export interface Layout {
  name: string
  title: string
  about: string
  epoch: string | null
  unit: number
  time: number
  node: number
  sequence: number
  nodeLast?: boolean
  digits?: string
}

/** What the id may be, the likeliest first. It raises a TypeError if it may be nothing. */
export function read(id: string | bigint, now?: Date): [Reading, ...Reading[]]

/** The text of an id of a layout, as `sno_flake_text()` writes it. The id is a `bigint`, or a uuid or bytea as text. */
export function toText(id: string | bigint, layout: string, options?: { digits?: string, width?: number }): string

/**
 * The id of such a text, as `sno_flake_from_text()` returns it: a bigint, or a uuid or bytea as text. It raises a
 * TypeError for any other text.
 */
export function fromText(text: string, layout: string, options?: { digits?: string }): string | bigint

/** How long ago a time is, such as `3 days ago`. */
export function ago(time: string, now?: Date): string

export const layouts: Layout[]
