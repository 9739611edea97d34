import type { ColumnType, DataSource } from 'typeorm'

/** The `type` of a column of ids. With `array: true` it is `sno[]`. */
export const sno: ColumnType

/** Let the data source know the type. Call it before the data source connects. */
export function registerSno(dataSource: DataSource): void
