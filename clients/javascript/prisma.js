'use strict'

const ID = '(?:[2-9a-x]{16}|NULL)'
const ARRAY = RegExp(`^\\{(?:${ID}(?:,${ID})*)?\\}$`)

exports.parseSno = async function parseSno(oid, value) {
  if (typeof value !== 'string' || !ARRAY.test(value)) return value
  return value === '{}' ? [] : value.slice(1, -1).split(',').map((id) => (id === 'NULL' ? null : id))
}
