import { customType } from 'drizzle-orm/pg-core'

export const sno = customType({
  dataType: () => 'sno',
  // With node-postgres, Drizzle takes NULL in an array for this text.
  fromDriver: (value) => (value === 'NULL' ? null : value),
})
