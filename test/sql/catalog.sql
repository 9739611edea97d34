--
-- The table of leases: privileges, and what its changes mean for sessions
--
-- These tests have a database of their own, because they alter the extension.
-- After a rewrite of the table (VACUUM FULL), a session writes its lease again as
-- soon as the unit of its last id has passed.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
DROP DATABASE IF EXISTS regress_sno_catalog;
DROP ROLE IF EXISTS regress_sno_owner, regress_sno_user;
RESET client_min_messages;
SELECT current_database() AS db \gset
CREATE ROLE regress_sno_owner;
CREATE ROLE regress_sno_user;
CREATE DATABASE regress_sno_catalog OWNER regress_sno_owner;
\c regress_sno_catalog
SET TimeZone = 'UTC';

-- The owner of the database may create the extension without being a superuser.  The
-- owner has only those rights on its table that a dump and a restore need.
SET SESSION AUTHORIZATION regress_sno_user;
CREATE EXTENSION sno;
SET SESSION AUTHORIZATION regress_sno_owner;
CREATE EXTENSION sno;
SELECT relowner = 10 AS of_bootstrap_superuser FROM pg_class WHERE oid = 'sno_catalog.sno_lease'::regclass;
SELECT count(*) FROM sno_catalog.sno_lease;
INSERT INTO sno_catalog.sno_lease
VALUES (1, 1, 1, 1, 's', 1, '00000000-0000-0000-0000-000000000000', 0, 65535, 0, '2020-01-01', 0, '2020-01-01 00:01', '2020-01-01 00:01', '2020-01-01');
UPDATE sno_catalog.sno_lease SET tick_until = '2020-01-01', tock_until = '2020-01-01';
DELETE FROM sno_catalog.sno_lease;
TRUNCATE sno_catalog.sno_lease;
BEGIN;
LOCK TABLE sno_catalog.sno_lease IN SHARE MODE;
ROLLBACK;
ALTER TABLE sno_catalog.sno_lease ADD COLUMN n integer;
DROP TABLE sno_catalog.sno_lease;
RESET SESSION AUTHORIZATION;
DROP TABLE sno_catalog.sno_lease;
TRUNCATE sno_catalog.sno_lease;
INSERT INTO sno_catalog.sno_lease
VALUES (1, 1, 1, 1, 's', 65536, '00000000-0000-0000-0000-000000000000', 0, 65535, 0, '2020-01-01', 0, '2020-01-01 00:01', '2020-01-01 00:01', '2020-01-01');

-- All other users may generate, and neither see nor change the leases.
SET SESSION AUTHORIZATION regress_sno_user;
SELECT clock_timestamp() AS before \gset
SELECT sno_generate() IS NOT NULL AS made;
SELECT * FROM sno_catalog.sno_lease;
INSERT INTO sno_catalog.sno_lease DEFAULT VALUES;
UPDATE sno_catalog.sno_lease SET tick_until = '2020-01-01', tock_until = '2020-01-01';
DELETE FROM sno_catalog.sno_lease;
TRUNCATE sno_catalog.sno_lease;
BEGIN;
LOCK TABLE sno_catalog.sno_lease IN ACCESS SHARE MODE;
ROLLBACK;
RESET SESSION AUTHORIZATION;
-- EXECUTE is the privilege.
REVOKE EXECUTE ON FUNCTION sno_generate(integer) FROM PUBLIC;
SET SESSION AUTHORIZATION regress_sno_user;
SELECT sno_generate();
CREATE TEMP TABLE mine (id sno DEFAULT sno_generate());
INSERT INTO mine DEFAULT VALUES;
RESET SESSION AUTHORIZATION;
GRANT EXECUTE ON FUNCTION sno_generate(integer) TO regress_sno_user;
SET SESSION AUTHORIZATION regress_sno_user;
INSERT INTO mine DEFAULT VALUES;
RESET SESSION AUTHORIZATION;
SELECT count(*) FROM mine;

-- The row of this session's lease
SELECT sno_generate() AS id \gset
SELECT holder <> 0 AS holder,
    system_identifier = (SELECT system_identifier FROM pg_control_system()) AS system_identifier,
    timeline = (SELECT timeline_id FROM pg_control_checkpoint()) AS timeline,
    database = (SELECT oid FROM pg_database WHERE datname = current_database()) AS database,
    partition = sno_partition(:'id') AS partition,
    kind, layout, shard_min, shard_max
FROM sno_catalog.sno_lease;
SELECT taken_at <= clock_timestamp() AS taken_at,
    tick_until > sno_timestamp(:'id') AS covers_the_id,
    tick_until > :'before'::timestamptz + current_setting('sno.lease_duration')::interval - interval '4 ms' AS long_enough,
    tick_until <= taken_at + current_setting('sno.lease_duration')::interval AS not_longer,
    tick_until = tock_until AS both, wall_hi <= taken_at AS wall_hi, drifts
FROM sno_catalog.sno_lease;
-- It is not a part of a transaction, so no rollback removes it.
SELECT xmin, xmax FROM sno_catalog.sno_lease;

-- How many rows are there, were they written since the last call, and are their
-- leases active?
CREATE TABLE seen AS SELECT taken_at FROM sno_catalog.sno_lease;
CREATE VIEW lease AS
SELECT count(*) AS rows, bool_and(taken_at > (SELECT max(taken_at) FROM seen)) AS anew,
    bool_and(tick_until > clock_timestamp()) AS active
FROM sno_catalog.sno_lease;
SELECT * FROM lease;

-- The table is rewritten, truncated, emptied: the lease is written again from memory.
VACUUM FULL sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SELECT sno_generate() IS NOT NULL AS made;
SELECT * FROM lease;

INSERT INTO seen SELECT taken_at FROM sno_catalog.sno_lease;
CREATE INDEX i ON sno_catalog.sno_lease (partition);
CLUSTER sno_catalog.sno_lease USING i;
DROP INDEX sno_catalog.i;
SELECT pg_sleep(0.01);
SELECT sno_generate() IS NOT NULL AS made;
SELECT * FROM lease;

INSERT INTO seen SELECT taken_at FROM sno_catalog.sno_lease;
TRUNCATE sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SELECT sno_generate() IS NOT NULL AS made;
SELECT * FROM lease;

INSERT INTO seen SELECT taken_at FROM sno_catalog.sno_lease;
DELETE FROM sno_catalog.sno_lease;
VACUUM FULL sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SELECT sno_generate() IS NOT NULL AS made;
SELECT * FROM lease;

-- Forged rows: a lease that ends too late stays a bound, one that ends too early is
-- corrected.
INSERT INTO seen SELECT taken_at FROM sno_catalog.sno_lease;
UPDATE sno_catalog.sno_lease SET tick_until = '2079-01-01', tock_until = '2079-01-01';
VACUUM FULL sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SELECT sno_generate() IS NOT NULL AS made;
SELECT max(tick_until) = '2079-01-01' AS kept, max(taken_at) > (SELECT max(taken_at) FROM seen) AS anew
FROM sno_catalog.sno_lease;
INSERT INTO seen SELECT taken_at FROM sno_catalog.sno_lease;
UPDATE sno_catalog.sno_lease SET tick_until = '2010-01-01', tock_until = '2010-01-01', wall_hi = '-infinity';
VACUUM FULL sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SELECT sno_generate() IS NOT NULL AS made;
SELECT max(tick_until) > clock_timestamp() AS mended, max(taken_at) > (SELECT max(taken_at) FROM seen) AS anew
FROM sno_catalog.sno_lease;
TRUNCATE sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SELECT sno_generate() IS NOT NULL AS made;

-- What is written in the transaction that rewrites the table could be rolled back, so
-- no lease is written there.
BEGIN;
TRUNCATE sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SELECT sno_generate();
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
SELECT sno_generate() IS NOT NULL AS made;
SELECT count(*) FROM sno_catalog.sno_lease;
BEGIN;
SAVEPOINT s;
ALTER TABLE sno_catalog.sno_lease ALTER COLUMN drifts TYPE integer;
SELECT pg_sleep(0.01);
SELECT sno_generate();
ROLLBACK TO SAVEPOINT s;
SELECT sno_generate() IS NOT NULL AS made;
COMMIT;

-- The table is altered in other ways: that is an error as soon as a lease must be
-- written, until the change is undone.
ALTER TABLE sno_catalog.sno_lease SET UNLOGGED;
SELECT pg_sleep(0.01);
SELECT sno_generate();
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE sno_catalog.sno_lease SET LOGGED;
SELECT sno_generate() IS NOT NULL AS made;

CREATE INDEX i ON sno_catalog.sno_lease (partition);
VACUUM FULL sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SELECT sno_generate();
DROP INDEX sno_catalog.i;
SELECT sno_generate() IS NOT NULL AS made;

ALTER TABLE sno_catalog.sno_lease ALTER COLUMN drifts DROP NOT NULL;
VACUUM FULL sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SELECT sno_generate();
ALTER TABLE sno_catalog.sno_lease ALTER COLUMN drifts SET NOT NULL;
SELECT sno_generate() IS NOT NULL AS made;

ALTER TABLE sno_catalog.sno_lease ALTER COLUMN drifts TYPE integer;
SELECT pg_sleep(0.01);
SELECT sno_generate();
ALTER TABLE sno_catalog.sno_lease ALTER COLUMN drifts TYPE bigint;
SELECT sno_generate() IS NOT NULL AS made;

BEGIN;
ALTER TABLE sno_catalog.sno_lease ADD COLUMN n float DEFAULT random();
SELECT pg_sleep(0.01);
SELECT sno_generate();
ROLLBACK;
SELECT sno_generate() IS NOT NULL AS made;
-- A dropped column leaves a trace in the table and in its rows.
ALTER TABLE sno_catalog.sno_lease ADD COLUMN n integer DEFAULT 1;
VACUUM FULL sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SELECT sno_generate();
ALTER TABLE sno_catalog.sno_lease DROP COLUMN n;
INSERT INTO seen SELECT taken_at FROM sno_catalog.sno_lease;
SELECT sno_generate() IS NOT NULL AS made;
VACUUM FULL sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SELECT sno_generate() IS NOT NULL AS made;
SELECT max(taken_at) > (SELECT max(taken_at) FROM seen) AS anew FROM sno_catalog.sno_lease;
DROP EXTENSION sno CASCADE;
CREATE EXTENSION sno;
SELECT pg_sleep(0.01);
SELECT sno_generate() IS NOT NULL AS made;

-- Leases are not written by SQL, so triggers, rules and row security change nothing.
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'refused';
END
$$;
CREATE TRIGGER refuse_row BEFORE INSERT OR UPDATE OR DELETE ON sno_catalog.sno_lease
FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE TRIGGER refuse_statement BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON sno_catalog.sno_lease
FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE RULE instead AS ON INSERT TO sno_catalog.sno_lease DO INSTEAD NOTHING;
ALTER TABLE sno_catalog.sno_lease ENABLE ALWAYS TRIGGER refuse_row;
ALTER TABLE sno_catalog.sno_lease ENABLE ALWAYS TRIGGER refuse_statement;
ALTER TABLE sno_catalog.sno_lease ENABLE ROW LEVEL SECURITY;
ALTER TABLE sno_catalog.sno_lease FORCE ROW LEVEL SECURITY;
UPDATE sno_catalog.sno_lease SET drifts = 0;
CREATE TEMP TABLE seen AS SELECT taken_at FROM sno_catalog.sno_lease;
VACUUM FULL sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SET SESSION AUTHORIZATION regress_sno_user;
SELECT sno_generate() IS NOT NULL AS made;
RESET SESSION AUTHORIZATION;
SELECT count(*), bool_and(l.taken_at > s.taken_at) AS anew FROM sno_catalog.sno_lease AS l, seen AS s;
DROP RULE instead ON sno_catalog.sno_lease;
DROP TRIGGER refuse_row ON sno_catalog.sno_lease;
DROP TRIGGER refuse_statement ON sno_catalog.sno_lease;

-- Objects of other users in the search path are neither run nor written.
CREATE SCHEMA planted;
CREATE TABLE planted.sno_lease (LIKE sno_catalog.sno_lease);
CREATE TEMP TABLE sno_lease (LIKE sno_catalog.sno_lease);
CREATE FUNCTION planted.compare(integer, integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'planted';
END
$$;
CREATE OPERATOR planted.>= (FUNCTION = planted.compare, LEFTARG = integer, RIGHTARG = integer);
CREATE OPERATOR planted.<= (FUNCTION = planted.compare, LEFTARG = integer, RIGHTARG = integer);
CREATE FUNCTION planted.pg_extension_config_dump(regclass, text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'planted';
END
$$;
SET search_path = planted, pg_catalog;
SELECT 2 >= 1;
SELECT sno_generate() IS NOT NULL AS made;
SELECT (SELECT count(*) FROM planted.sno_lease) + (SELECT count(*) FROM pg_temp.sno_lease) AS planted;
DROP EXTENSION sno;
CREATE EXTENSION sno;
SELECT pg_sleep(0.01);
SELECT sno_generate() IS NOT NULL AS made;
SELECT count(*) FROM sno_catalog.sno_lease;
RESET search_path;
\set VERBOSITY terse
DROP SCHEMA planted CASCADE;
\set VERBOSITY default
DROP TABLE pg_temp.sno_lease;

-- Partitions of other holders are not used while their leases are active, not even
-- the one of this session.  After that they are taken last, those first whose leases
-- ended first.
CREATE FUNCTION hold(partitions int4range, until timestamptz) RETURNS void LANGUAGE sql AS $$
    INSERT INTO sno_catalog.sno_lease
    SELECT 1, 1, 1, 0, 's', partition, '00000000-0000-0000-0000-000000000000', 0, 65535, 0, '2020-01-01', 0, until, until, '2020-01-01'
    FROM generate_series(lower(partitions), upper(partitions) - 1) AS partition
$$;
SELECT hold('[0,40000)', 'infinity'), hold('[41000,65536)', '2079-01-01');
VACUUM FULL sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SELECT sno_partition(sno_generate()) BETWEEN 40000 AND 40999 AS moved;
SELECT hold('[40000,41000)', '2079-01-01');
VACUUM FULL sno_catalog.sno_lease;
SET sno.max_wait = '20ms';
SELECT sno_generate();
\echo :LAST_ERROR_SQLSTATE
DELETE FROM sno_catalog.sno_lease;
SELECT hold('[0,65536)', '2021-01-01'), hold('[30000,30001)', '2022-01-01');
UPDATE sno_catalog.sno_lease SET tick_until = '2020-06-01', tock_until = '2020-06-01' WHERE partition BETWEEN 50000 AND 50999;
VACUUM FULL sno_catalog.sno_lease;
SELECT sno_partition(sno_generate()) BETWEEN 50000 AND 50999 AS lapsed_first;
TRUNCATE sno_catalog.sno_lease;

-- amcheck and pg_visibility find nothing wrong with the table, neither on pages that
-- VACUUM marked before a lease was written nor on others.
CREATE EXTENSION amcheck;
CREATE EXTENSION pg_visibility;
CREATE TABLE source AS SELECT n FROM generate_series(1, 20000) AS n;
ALTER TABLE source SET (parallel_workers = 2);
CREATE VIEW wrong AS
SELECT 'heap' AS what, blkno::text, msg FROM verify_heapam('sno_catalog.sno_lease')
UNION ALL SELECT 'frozen', t_ctid::text, '' FROM pg_check_frozen('sno_catalog.sno_lease')
UNION ALL SELECT 'visible', t_ctid::text, '' FROM pg_check_visible('sno_catalog.sno_lease');
SELECT pg_sleep(0.01);
SELECT sno_generate() IS NOT NULL AS made;
SELECT * FROM wrong;
VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) sno_catalog.sno_lease;
SELECT * FROM wrong;
SELECT all_visible, all_frozen FROM pg_visibility_map_summary('sno_catalog.sno_lease');
-- Workers add a row to that page.
RESET sno.max_wait;
SET sno.partitions = '60000';
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers = 2;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
SELECT count(*) FROM source WHERE sno_generate() IS NOT NULL;
SELECT count(*) > 1 AS more FROM sno_catalog.sno_lease;
SELECT all_visible, all_frozen FROM pg_visibility_map_summary('sno_catalog.sno_lease');
SELECT * FROM wrong;
VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) sno_catalog.sno_lease;
SELECT * FROM wrong;
-- A row is deleted, its space used again.
DELETE FROM sno_catalog.sno_lease;
VACUUM sno_catalog.sno_lease;
\c
SELECT sno_generate() IS NOT NULL AS made;
SELECT * FROM wrong;
VACUUM FULL sno_catalog.sno_lease;
SELECT pg_sleep(0.01);
SELECT sno_generate() IS NOT NULL AS made;
SELECT * FROM wrong;

\c :db
DROP DATABASE regress_sno_catalog;
DROP ROLE regress_sno_owner, regress_sno_user;
