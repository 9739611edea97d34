import type { Sno } from './index.js'

/** Writes the names of metabytes before ids, as `sno_prefixed()` does. `P` has the names. */
export class Prefixes<const P extends string> {
  /** The prefixes of metabytes, as in the table `sno_catalog.sno_prefix`: `{ 1: 'user', 2: 'order' }`. */
  constructor(prefixes: Readonly<Record<number, P>>)

  /** The prefix of the id's metabyte, or null if it has none. */
  prefix(id: Sno): P | null

  /** The prefix, an underscore, and the id. It raises a TypeError if the metabyte has no prefix. */
  write(id: Sno): `${P}_${string}`

  /** The id of such a text. It raises a TypeError for any other, also if the prefix isn't `wanted`. */
  read(text: string, wanted?: P): Sno
}
