declare const brand: unique symbol

/** An id: a string of 16 characters. It sorts with `<`, in the order of the database. */
export type Sno = string & { readonly [brand]: 'sno' }

/** Whether the value is the text of an id. */
export function isSno(value: unknown): value is Sno

/** The id with this text, which is returned as it is. Like all functions here, it raises a TypeError for a wrong value. */
export function parse(text: string): Sno

/** The 10 bytes. */
export function toBytes(id: Sno): Uint8Array
export function fromBytes(bytes: Uint8Array): Sno

/** The uuid whose 16 bytes are the characters of the id, as `id::uuid` makes it. */
export function toUuid(id: Sno): string
export function fromUuid(uuid: string): Sno

/** The uuid of version 8 that `sno_to_uuidv8()` makes. */
export function toUuidV8(id: Sno): string
export function fromUuidV8(uuid: string): Sno

/** The start of the 4 ms in which the id was made. */
export function timestamp(id: Sno): Date

/** Whether the generator saw the clock step back an odd number of times. */
export function tickTock(id: Sno): boolean

/** The metabyte, 0 to 255. */
export function meta(id: Sno): number

/** 0 to 65535 */
export function partition(id: Sno): number

/** 0 to 65535 */
export function sequence(id: Sno): number

/**
 * The lowest id of the 4 ms that hold the time. For a time before 2010 the lowest id of all,
 * for a time after 2079-09-07 15:47:35.551 UTC the highest of all.
 */
export function min(at: Date): Sno

/** The highest id of the 4 ms that hold the time; for other times as `min()`. */
export function max(at: Date): Sno

/**
 * The lowest and the highest id whose timestamp is in `[from, to)`, both included, for
 * BETWEEN. Without a bound, or with null, the range is open there. If there is no such id,
 * the first of the two is above the second, and BETWEEN finds nothing.
 */
export function range(from?: Date | null, to?: Date | null): [Sno, Sno]
