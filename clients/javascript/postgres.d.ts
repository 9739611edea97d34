import type { Sql } from 'postgres'

/**
 * Let all connections read NULL in arrays of ids as null, also in those of domains that
 * exist now. Call it once, before the first query that reads such arrays.
 */
export function registerSno(sql: Sql<any>): Promise<void>
