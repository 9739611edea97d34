'use strict'

// The array types of sno and of its domains, wherever the extension is.
module.exports = `
  WITH RECURSIVE sno AS (
      SELECT t.oid, typarray FROM pg_catalog.pg_type AS t
      JOIN pg_catalog.pg_extension ON extnamespace = typnamespace
      WHERE extname = 'sno' AND typname = 'sno'
    UNION ALL
      SELECT t.oid, t.typarray FROM pg_catalog.pg_type AS t
      JOIN sno ON typbasetype = sno.oid)
  SELECT typarray FROM sno WHERE typarray <> 0`
