'use strict'

// The array types of sno and of its domains, wherever the extension is.
const ARRAYS = `
  WITH RECURSIVE sno AS (
      SELECT t.oid, typarray FROM pg_catalog.pg_type AS t
      JOIN pg_catalog.pg_extension ON extnamespace = typnamespace
      WHERE extname = 'sno' AND typname = 'sno'
    UNION ALL
      SELECT t.oid, t.typarray FROM pg_catalog.pg_type AS t
      JOIN sno ON typbasetype = sno.oid)
  SELECT typarray FROM sno WHERE typarray <> 0`
const TEXT_ARRAY = 1009

exports.registerSno = async function registerSno(client) {
  const { rows } = await client.query(ARRAYS)
  for (const { typarray } of rows) {
    client.setTypeParser(typarray, client.getTypeParser(TEXT_ARRAY))
  }
}
