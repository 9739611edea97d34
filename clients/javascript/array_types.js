'use strict'

// The array types of sno and of its domains.
module.exports = `
  WITH RECURSIVE sno AS (
      SELECT oid, typarray FROM pg_catalog.pg_type WHERE oid = pg_catalog.to_regtype('pg_catalog.sno')
    UNION ALL
      SELECT t.oid, t.typarray FROM pg_catalog.pg_type AS t
      JOIN sno ON typbasetype = sno.oid)
  SELECT typarray FROM sno WHERE typarray <> 0`
