--
-- sno_reseed(): a new holder, which uses none of the partitions that were leased
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS regress_sno_reseed;
DROP ROLE IF EXISTS regress_sno_owner, regress_sno_user;
RESET client_min_messages;
SELECT current_database() AS db \gset
CREATE ROLE regress_sno_owner;
CREATE ROLE regress_sno_user;
CREATE DATABASE regress_sno_reseed OWNER regress_sno_owner;
\c regress_sno_reseed
SET SESSION AUTHORIZATION regress_sno_owner;
CREATE EXTENSION sno;
RESET SESSION AUTHORIZATION;

-- Rows of this holder, and rows of a former one
CREATE VIEW rows AS
SELECT count(*) FILTER (WHERE system_identifier <> 0) AS own, count(DISTINCT holder) FILTER (WHERE system_identifier <> 0) AS holders,
    count(*) FILTER (WHERE system_identifier = 0) AS disowned
FROM sno_catalog.sno_lease;
SELECT * FROM rows;
SELECT sno_reseed();
SELECT * FROM rows;

-- This session moves to another partition with its next id, by any function.
SELECT sno_partition(sno_generate()) AS live, sno_partition(sno_generate_at('2020-01-01')) AS given \gset
SELECT * FROM rows;
SELECT holder FROM sno_catalog.sno_lease LIMIT 1 \gset
BEGIN;
DECLARE c CURSOR FOR SELECT sno_partition(sno_generate_many(1000)) AS partition;
FETCH c \gset
SELECT :partition = :live AS before;
SELECT sno_reseed();
SELECT * FROM rows;
FETCH c \gset
SELECT :partition = :live AS after;
SELECT sno_partition(sno_generate()) = :partition AS same, sno_partition(sno_generate_at('2020-01-01')) IN (:live, :given) AS given;
SELECT * FROM rows;
SELECT count(*) FROM sno_catalog.sno_lease WHERE system_identifier <> 0 AND holder = :holder;
ROLLBACK;
-- Neither a rollback nor another session uses these partitions again.
SELECT * FROM rows;
\c
SELECT count(*) FROM (SELECT sno_partition(sno_generate()) UNION ALL SELECT sno_partition(sno_generate_at('2020-01-01'))) AS s (partition)
WHERE partition IN (SELECT partition FROM sno_catalog.sno_lease WHERE system_identifier = 0);

-- The rows of named generators belong to a former holder, too.
SELECT sno_create_generator('g', 1);
SELECT sno_generate(0, 'g') IS NOT NULL AS made;
SELECT count(*) FROM sno_catalog.sno_lease WHERE kind = 'g' AND system_identifier <> 0;
SELECT sno_reseed();
SELECT kind, bool_and(system_identifier = 0) AS disowned FROM sno_catalog.sno_lease GROUP BY kind ORDER BY kind;

-- The row of watermarks stays, but it does not make a new lease the old holder's.
SELECT sno_generate() IS NOT NULL AS made, sno_watermark() IS NOT NULL AS asked;
SELECT DISTINCT holder FROM sno_catalog.sno_lease WHERE kind <> 'f' AND system_identifier <> 0 \gset
SELECT sno_reseed();
SELECT sno_watermark() IS NOT NULL AS asked, sno_generate() IS NOT NULL AS made;
SELECT holder = :holder AS same FROM sno_catalog.sno_lease WHERE kind <> 'f' AND system_identifier <> 0;
SELECT count(*) FROM sno_catalog.sno_lease WHERE kind = 'f';

-- amcheck and pg_visibility find nothing wrong with the rows.
CREATE EXTENSION amcheck;
CREATE EXTENSION pg_visibility;
SELECT blkno, msg FROM verify_heapam('sno_catalog.sno_lease');
SELECT * FROM pg_check_frozen('sno_catalog.sno_lease');
SELECT * FROM pg_check_visible('sno_catalog.sno_lease');

-- It is refused where its changes could be rolled back.
BEGIN;
TRUNCATE sno_catalog.sno_lease;
SELECT sno_reseed();
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN TRANSACTION READ ONLY;
SELECT sno_reseed();
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

-- The owner of the database may call it, and can't grant it.
SET SESSION AUTHORIZATION regress_sno_user;
SELECT sno_reseed();
\echo :LAST_ERROR_SQLSTATE
SET SESSION AUTHORIZATION regress_sno_owner;
SELECT sno_reseed();
GRANT EXECUTE ON FUNCTION sno_reseed TO regress_sno_user;
RESET SESSION AUTHORIZATION;

\c :db
DROP DATABASE regress_sno_reseed;
DROP ROLE regress_sno_owner, regress_sno_user;
