import type { customType } from 'drizzle-orm/pg-core'
import type { Sno } from './index.js'

/** A column of ids. `sno().array()` is `sno[]`. */
export const sno: ReturnType<typeof customType<{ data: Sno; driverData: string }>>
