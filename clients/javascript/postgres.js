'use strict'

const arrayTypes = require('./array_types.js')

const TEXT_ARRAY = 1009

// The driver reads NULL in an array as this text, which no id has.
const withNulls = (value) => (
  Array.isArray(value) ? value.map(withNulls) : value === 'NULL' ? null : value)

exports.registerSno = async function registerSno(sql) {
  const { parsers, serializers } = sql.options
  for (const { typarray } of await sql.unsafe(arrayTypes)) {
    const parse = parsers[TEXT_ARRAY]
    if (!parse) throw new Error('registerSno() needs the option fetch_types')
    parsers[typarray] = Object.assign((text) => withNulls(parse(text)), { array: true })
    // A new connection replaces the parser if there is no serializer.
    serializers[typarray] = serializers[TEXT_ARRAY]
  }
}
