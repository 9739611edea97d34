--
-- Workers issue for their leader's transaction, which holds watermarks until it ends
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;

CREATE TABLE source AS SELECT generate_series(1, 10000) AS n;
ANALYZE source;
CREATE FUNCTION issue(integer) RETURNS text PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN sno_generate(); END';
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers = 2;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
SELECT sno_generate() IS NOT NULL AS feed_is_made;

BEGIN;
EXPLAIN (COSTS OFF) SELECT min(issue(n)) FROM source;
SELECT min(issue(n)) AS first FROM source \gset
-- Other workers take the places of these.
SELECT count(issue(n)) FROM source;
SELECT pid = pg_backend_pid() AS leader FROM sno_watermark_blockers();
SELECT sno_watermark() <= :'first' AS held;
COMMIT;
SELECT count(*) AS holders FROM sno_watermark_blockers();

-- A worker can't have what needs a transaction id.
CREATE FUNCTION lend(integer) RETURNS text PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN sno_borrow_partition(); END';
CREATE FUNCTION reseed(integer) RETURNS text PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN sno_reseed(); END';
\set VERBOSITY terse
SELECT min(lend(n)) FROM source;
\echo :LAST_ERROR_SQLSTATE
SELECT min(reseed(n)) FROM source;
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default

DROP TABLE source;
DROP FUNCTION issue, lend, reseed;
