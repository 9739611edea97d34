--
-- Ids of given times: in SQL of all kinds, in any order, no id twice
--
-- These tests have a database of their own, whose partitions nobody else has used.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS regress_sno_at;
DROP ROLE IF EXISTS regress_sno_owner, regress_sno_user;
RESET client_min_messages;
SELECT current_database() AS db \gset
CREATE DATABASE regress_sno_at;
\c regress_sno_at
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
CREATE EXTENSION sno;

-- The time is rounded down to its unit.  In each unit, sequences count from the same
-- start, on one side.
SELECT at, sno_timestamp(id), sno_meta(id), sno_sequence(id) - first_value(sno_sequence(id)) OVER w AS sequence,
    sno_tick_tock(id) = first_value(sno_tick_tock(id)) OVER w AS one_timeline
FROM (VALUES (1, timestamptz '2010-01-01 00:00:00Z'), (2, '2011-03-04 05:06:07.890123Z'), (255, '2011-03-04 05:06:07.891999Z')) AS v (n, at),
    sno_generate_at(at, n) AS id WINDOW w AS (ORDER BY n);
SELECT sno_generate_at(NULL), sno_generate_at(now(), NULL);
SELECT sno_generate_at('2009-12-31 23:59:59.999999Z');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_generate_at('2079-09-07 15:47:35.552Z');
SELECT sno_generate_at('infinity');
SELECT sno_generate_at('-infinity');
SELECT sno_generate_at(now(), 256);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_generate_at(now(), -1);

-- All ids of given times with these times, and ids of the present
CREATE TABLE ids (n serial, at timestamptz, id sno DEFAULT sno_generate());
CREATE VIEW wrong AS
SELECT 'not its time' AS what, id FROM ids WHERE at NOT BETWEEN sno_timestamp(id) AND sno_timestamp(id) + interval '3999 us'
UNION ALL SELECT 'twice', min(id) FROM ids GROUP BY sno_with_meta(id, 0) HAVING count(*) > 1
UNION ALL SELECT 'of the clock''s', min(id) FROM ids GROUP BY sno_partition(id) HAVING count(at) NOT IN (0, count(*));
CREATE FUNCTION partitions() RETURNS bigint LANGUAGE sql AS
'SELECT count(DISTINCT sno_partition(id)) FROM ids WHERE at IS NOT NULL';

-- For ascending times, one partition is enough, ...
INSERT INTO ids (at, id)
SELECT at, sno_generate_at(at, n % 256)
FROM generate_series(1, 200000) AS n, LATERAL (SELECT timestamptz '2012-01-01' + n / 3 * interval '1 min') AS s (at);
SELECT partitions();
SELECT count(*) AS descents
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS previous FROM ids) AS s WHERE sno_with_meta(id, 0) <= sno_with_meta(previous, 0);
-- ... unless a unit needs more than 65536 ids: then there are as many partitions as the
-- unit with the most ids needs.
INSERT INTO ids (at, id)
SELECT at, sno_generate_at(at)
FROM generate_series(0, 2) AS day, generate_series(1, 70000), LATERAL (SELECT timestamptz '2026-01-01' + day * interval '1 day') AS s (at);
SELECT partitions();
-- Calls for other times in between change nothing, nor do times of the present and of
-- the future.
INSERT INTO ids DEFAULT VALUES;
INSERT INTO ids (at, id)
SELECT at, sno_generate_at(at) FROM generate_series(1, 1000) AS n, LATERAL (SELECT clock_timestamp() + n * interval '4 ms') AS s (at);
INSERT INTO ids SELECT -n, NULL, sno_generate() FROM generate_series(1, 1000) AS n;
SELECT partitions();
-- For times in any order, a partition has 65536 ids.
INSERT INTO ids (at, id)
SELECT at, sno_generate_at(at)
FROM generate_series(1, 140000) AS n, LATERAL (SELECT timestamptz '2012-01-01' + n::bigint * 7919 % 100003 * interval '1 min') AS s (at);
SELECT partitions();
SELECT * FROM wrong;

-- Each partition has a row, whose lease never ends.
SELECT count(*), min(tick_until), bool_and(partition IN (SELECT sno_partition(id) FROM ids WHERE at IS NOT NULL)) AS ours
FROM sno_catalog.sno_lease WHERE tick_until > clock_timestamp() + interval '1 day';

-- Rollbacks, read-only transactions, subtransactions, parallel workers
BEGIN;
INSERT INTO ids (at, id) SELECT '2078-01-02', sno_generate_at('2078-01-02') RETURNING sno_sequence(id) AS a \gset
ROLLBACK;
BEGIN TRANSACTION READ ONLY;
SELECT sno_sequence(sno_generate_at('2078-01-02')) - :a AS later;
COMMIT;
CREATE TABLE source AS SELECT n, timestamptz '2011-01-01' + n * interval '1 s' AS at FROM generate_series(1, 20000) AS n;
ALTER TABLE source SET (parallel_workers = 2);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers = 2;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT at, sno_generate_at(at) AS id FROM source;
CREATE TABLE by_workers AS SELECT at, sno_generate_at(at) AS id FROM source;
INSERT INTO ids (at, id) TABLE by_workers;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
SELECT * FROM wrong;

-- The last unit of the epoch
SELECT sno_generate_at('2079-09-07 15:47:35.551999Z') AS id \gset
SELECT sno_timestamp(:'id'), sno_partition(:'id') = sno_partition(sno_generate_at('2079-09-07 15:47:35.548Z')) AS one_partition;

-- The table of leases is rewritten, or truncated.
BEGIN;
TRUNCATE sno_catalog.sno_lease;
SELECT sno_generate_at('2078-01-03');
ROLLBACK;
VACUUM FULL sno_catalog.sno_lease;
SELECT sno_generate_at('2078-01-03') IS NOT NULL AS made;
SELECT sno_partition(sno_generate_at('2078-01-03')) AS partition \gset
TRUNCATE sno_catalog.sno_lease;
SELECT sno_partition(sno_generate_at('2078-01-03')) = :partition AS same;
SELECT tick_until, tock_until FROM sno_catalog.sno_lease WHERE partition = :partition;

-- The extension may be dropped and created again while the server runs.
SELECT sno_generate_at('2078-01-04') AS a \gset
DROP EXTENSION sno CASCADE;
CREATE EXTENSION sno;
SELECT sno_generate_at('2078-01-04') > :'a' AS later;

-- A named generator can't use a partition of ids of given times.  That is an error at
-- once, another one than for a clock that is behind.  Ids of given times never use the
-- partition of a named generator.
SELECT sno_partition(sno_generate_at('2078-01-05')) AS partition \gset
SELECT sno_create_generator('late', :partition) = :partition AS created;
SET sno.max_wait = '1d';
\set VERBOSITY sqlstate
SELECT sno_generate(1, 'late');
\set VERBOSITY default
RESET sno.max_wait;
SELECT sno_partition(sno_generate_at('2078-01-05')) = :partition AS same;

-- The owner of the database may make them, and others by a function of the owner.
CREATE ROLE regress_sno_owner;
CREATE ROLE regress_sno_user;
ALTER DATABASE regress_sno_at OWNER TO regress_sno_owner;
DROP EXTENSION sno CASCADE;
SET SESSION AUTHORIZATION regress_sno_owner;
CREATE EXTENSION sno;
SELECT sno_generate_at('2078-01-05') IS NOT NULL AS made;
SET SESSION AUTHORIZATION regress_sno_user;
SELECT sno_generate_at('2078-01-05');
\echo :LAST_ERROR_SQLSTATE
SET SESSION AUTHORIZATION regress_sno_owner;
CREATE FUNCTION made_at(timestamptz) RETURNS sno LANGUAGE sql SECURITY DEFINER RETURN sno_generate_at($1);
SET SESSION AUTHORIZATION regress_sno_user;
SELECT made_at('2078-01-05') IS NOT NULL AS made;
RESET SESSION AUTHORIZATION;

\c :db
DROP DATABASE regress_sno_at;
DROP ROLE regress_sno_owner, regress_sno_user;
