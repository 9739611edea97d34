import type { Sno } from './index.js'

/** Seals ids for others, who can't read or guess them, as the extension `sno_seal` does. */
export class Seals {
  /** Secrets of 16 bytes. The older ones only open uuids that were sealed by them. */
  constructor(secret: Uint8Array, ...older: Uint8Array[])

  /** A text of 16 characters. */
  seal(id: Sno): string

  /** The id that was sealed, or another one if the text was sealed by another secret. */
  unseal(text: string): Sno

  /** A uuid of version 4. */
  sealUuid(id: Sno): string

  /** The id, or null if none of the secrets sealed the uuid. */
  unsealUuid(uuid: string): Sno | null
}
