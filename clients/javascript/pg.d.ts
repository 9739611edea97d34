import type { ClientBase } from 'pg'

/**
 * Let the client read arrays of ids as arrays of strings, also those of domains that exist
 * now. The `onConnect` of a pool.
 */
export function registerSno(client: ClientBase): Promise<void>
