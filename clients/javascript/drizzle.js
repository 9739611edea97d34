'use strict'

const { customType } = require('drizzle-orm/pg-core')

exports.sno = customType({
  dataType: () => 'sno',
  // With node-postgres, Drizzle takes NULL in an array for this text.
  fromDriver: (value) => (value === 'NULL' ? null : value),
})
