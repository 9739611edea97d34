'use strict'

const arrayTypes = require('./array_types.js')

const TEXT_ARRAY = 1009

exports.registerSno = async function registerSno(client) {
  const { rows } = await client.query(arrayTypes)
  for (const { typarray } of rows) {
    client.setTypeParser(typarray, client.getTypeParser(TEXT_ARRAY))
  }
}
