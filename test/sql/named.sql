--
-- Named generators: definitions, privileges, transactions
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
DROP DATABASE IF EXISTS regress_sno_named;
DROP ROLE IF EXISTS regress_sno_owner, regress_sno_user;
RESET client_min_messages;
SELECT current_database() AS db \gset
CREATE ROLE regress_sno_owner;
CREATE ROLE regress_sno_user;
CREATE DATABASE regress_sno_named OWNER regress_sno_owner;
\c regress_sno_named
SET SESSION AUTHORIZATION regress_sno_owner;
CREATE EXTENSION sno;

-- Bounds in either order, all of the sequence by default
SELECT sno_create_generator('all', 100);
SELECT sno_create_generator('low', 101, 3, 0);
SELECT sno_create_generator('high', 101, sequence_max => 65535, sequence_min => 4, meta => 7);
SELECT name, partition, sequence_min, sequence_max, meta FROM sno_catalog.sno_generator ORDER BY name;
-- sno_generators() lists them before they are used.
SELECT * FROM sno_generators() ORDER BY name;

-- Invalid definitions
SELECT sno_create_generator('all', 102);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_create_generator('overlap', 100, 65535, 65532);
SELECT sno_create_generator('overlap', 101, 3, 6);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_create_generator('few', 102, 10, 12);
SELECT sno_create_generator('few', 102, 12, 10);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_create_generator('x', 65536);
SELECT sno_create_generator('x', -1);
SELECT sno_create_generator('x', 1, 0, 65536);
SELECT sno_create_generator('x', 1, -1, 9);
SELECT sno_create_generator('x', 1, 0, 9, 256);
SELECT sno_create_generator('', 1);
SELECT sno_create_generator(repeat('x', 64), 1);
SELECT sno_create_generator(NULL, 1);
SELECT sno_create_generator('x', 1, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_drop_generator('none');
SELECT sno_generate(1, 'none');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_generate(1, repeat('x', 64));
SELECT sno_generate(256, 'all');
SELECT sno_generate(-1, 'all');

-- It finds a partition by itself, that neither a session nor a definition has used.
RESET SESSION AUTHORIZATION;
SET sno.partitions = '200';
SELECT sno_partition(sno_generate());
SET sno.partitions = '200-202';
SET SESSION AUTHORIZATION regress_sno_owner;
SELECT sno_create_generator('given', 201, 4, 9);
SELECT sno_create_generator('found', NULL, 10, 99);
-- What is wrong without a choice is said first.
SELECT sno_create_generator('');
SELECT sno_create_generator('few', NULL, 10, 12);
SELECT sno_create_generator('none', sequence_min => 10);
\echo :LAST_ERROR_SQLSTATE
-- If it is dropped without being used, its partition is still unused.
SELECT sno_drop_generator('found');
SELECT sno_create_generator('found');
SELECT sno_partition(sno_generate(1, 'found'));
SELECT sno_drop_generator('found'), sno_drop_generator('given');
SELECT sno_create_generator('given');
SELECT sno_create_generator('none');
SELECT sno_drop_generator('given');
RESET SESSION AUTHORIZATION;
RESET sno.partitions;
SET SESSION AUTHORIZATION regress_sno_owner;

-- Ids are within the definition, and ascend.
CREATE TABLE made (n serial, id sno);
INSERT INTO made (id) SELECT sno_generate(n % 256, 'low') FROM generate_series(0, 19) AS n;
SELECT count(DISTINCT id), bool_and(sno_partition(id) = 101) AS partition, bool_and(sno_meta(id) = n - 1) AS meta,
    min(sno_sequence(id)), max(sno_sequence(id)), bool_or(sno_tick_tock(id)) AS tick_tock
FROM made;
SELECT bool_and((sno_timestamp(id), sno_sequence(id)) > (sno_timestamp(before), sno_sequence(before))) AS ascend
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM made) AS pair WHERE before IS NOT NULL;
-- The next unit begins only when all sequences of a unit are used.
SELECT max(n) AS most FROM (SELECT count(*) AS n FROM made GROUP BY sno_timestamp(id)) AS unit;
SELECT count(DISTINCT sno_generate(1, name)), count(DISTINCT sno_partition(sno_generate(1, name)))
FROM generate_series(1, 100) AS n, LATERAL (SELECT CASE n % 2 WHEN 0 THEN 'all' ELSE 'low' END AS name) AS g;
SELECT sno_generate(1, NULL) IS NULL AS no_generator, sno_generate(NULL, 'all') IS NULL AS no_metabyte;
SELECT name, partition, sequence_min, sequence_max, issued > 0 AS used FROM sno_generators() ORDER BY name;

-- A metabyte of its own
SELECT sno_meta(sno_generate(7, 'high')), sno_meta(sno_generate(NULL, 'high')), sno_sequence(sno_generate(7, 'high')) BETWEEN 4 AND 65535 AS within;
SELECT sno_generate(8, 'high');

-- No id is free for sno.max_wait.
SET sno.max_wait = 0;
SELECT count(sno_generate(1, 'low')) FROM generate_series(1, 10000);
\echo :LAST_ERROR_SQLSTATE
RESET sno.max_wait;

-- A generator is used, and dropped while a session remembers it.
CREATE FUNCTION next(generator text) RETURNS integer LANGUAGE plpgsql AS $$BEGIN RETURN sno_partition(sno_generate(1, generator)); END$$;
SELECT next('all'), next('low'), next('all');
SELECT sno_drop_generator('all');
SELECT next('all');
SELECT sno_create_generator('all', 103);
SELECT next('all');

-- A transaction may create and drop definitions, and be rolled back.  What was issued
-- stays known.
BEGIN;
SELECT sno_create_generator('gone', 104, 0, 9);
SAVEPOINT s;
SELECT next('gone');
SELECT sno_drop_generator('gone');
SAVEPOINT t;
SELECT next('gone');
ROLLBACK TO s;
SELECT next('gone');
ROLLBACK;
SELECT next('gone');
BEGIN;
SELECT sno_drop_generator('all');
SELECT sno_create_generator('all', 105);
SELECT next('all');
ROLLBACK;
SELECT next('all');
BEGIN READ ONLY;
SELECT next('all');
SELECT sno_create_generator('x', 106);
ROLLBACK;
RESET SESSION AUTHORIZATION;
SELECT partition, shard_min, shard_max FROM sno_catalog.sno_lease WHERE kind = 'g' ORDER BY 1, 2;

-- Privileges
SET SESSION AUTHORIZATION regress_sno_user;
SELECT sno_partition(sno_generate(1, 'all'));
SELECT sno_create_generator('x', 106);
SELECT sno_drop_generator('all');
SELECT sno_restore_generator('x', '{}');
SELECT * FROM sno_catalog.sno_generator;
SET SESSION AUTHORIZATION regress_sno_owner;
UPDATE sno_catalog.sno_generator SET meta = 1;
DELETE FROM sno_catalog.sno_generator;
CREATE FUNCTION create_mine() RETURNS integer LANGUAGE sql SECURITY DEFINER RETURN sno_create_generator(session_user, 106);
SET SESSION AUTHORIZATION regress_sno_user;
SELECT create_mine();
SELECT sno_partition(sno_generate(1, session_user));
RESET SESSION AUTHORIZATION;
DROP FUNCTION create_mine();
REVOKE EXECUTE ON FUNCTION sno_generate(integer, text) FROM PUBLIC;
SET SESSION AUTHORIZATION regress_sno_user;
SELECT sno_generate(1, 'all');
RESET SESSION AUTHORIZATION;
GRANT EXECUTE ON FUNCTION sno_generate(integer, text) TO regress_sno_user;
SET SESSION AUTHORIZATION regress_sno_user;
SELECT next('all');
RESET SESSION AUTHORIZATION;

-- Functions of other users in the search path are not run.
CREATE SCHEMA traps;
GRANT USAGE ON SCHEMA traps TO PUBLIC;
SET search_path = traps, pg_catalog, public;
CREATE FUNCTION traps.trap() RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'trapped'; END$$;
CREATE FUNCTION traps.same(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT trap()';
CREATE OPERATOR traps.= (FUNCTION = traps.same, LEFTARG = text, RIGHTARG = text);
CREATE FUNCTION traps.meets(int8range, int8range) RETURNS boolean LANGUAGE sql AS 'SELECT trap()';
CREATE OPERATOR traps.&& (FUNCTION = traps.meets, LEFTARG = int8range, RIGHTARG = int8range);
CREATE FUNCTION traps.int8range(bigint, bigint, text) RETURNS int8range LANGUAGE sql AS 'SELECT NULL::int8range WHERE trap()';
CREATE TEMP TABLE sno_generator (name text, partition integer, sequence_min integer, sequence_max integer, meta integer);
CREATE TABLE traps.sno_generator (LIKE sno_catalog.sno_generator);
SELECT sno_create_generator('safe', 107);
SELECT sno_generate(1, 'safe') IS NOT NULL AS made;
SELECT sno_drop_generator('safe');
SELECT 'a' = 'a'::text;
DROP TABLE pg_temp.sno_generator;
RESET search_path;

-- Definitions changed by hand, which only a superuser can do
UPDATE sno_catalog.sno_generator SET meta = 9 WHERE name = 'all';
SELECT sno_meta(sno_generate(NULL, 'all'));
SET session_replication_role = replica;
UPDATE sno_catalog.sno_generator SET meta = 10 WHERE name = 'all';
SELECT sno_meta(sno_generate(NULL, 'all'));
RESET session_replication_role;
-- What PostgreSQL refuses is its own error.
CREATE UNIQUE INDEX one_metabyte ON sno_catalog.sno_generator (meta);
SELECT sno_create_generator('ten', 108, meta => 10);
DROP INDEX sno_catalog.one_metabyte;

-- Many ids of one call, with the metabyte of the generator or another one; or no id
SELECT count(DISTINCT id), min(sno_meta(id)), max(sno_meta(id)) FROM sno_generate_many(1000, NULL, 'all') AS id;
SELECT sno_meta(sno_generate_many(2, 10, 'all')) AS meta;
SELECT sno_generate_many(0, 10, 'all'), sno_generate_many(NULL, 10, 'all'), sno_generate_many(1, 10, NULL);
SELECT sno_generate_many(-1, 10, 'all');
SELECT sno_generate_many(1, 11, 'all');
SELECT sno_generate_many(1, 10, 'none');
EXPLAIN SELECT * FROM sno_generate_many(12345, 10, 'all');

-- The extension is dropped, and created again: the state is in memory.
SELECT sno_generate(10, 'all') AS before \gset
DROP TABLE made;
DROP EXTENSION sno;
CREATE EXTENSION sno;
SELECT sno_create_generator('again', 103);
SELECT sno_timestamp(sno_generate(1, 'again')) >= sno_timestamp(:'before') AS later,
    sno_tick_tock(sno_generate(1, 'again')) AS tick_tock;

\c :"db"
DROP DATABASE regress_sno_named;
DROP ROLE regress_sno_owner, regress_sno_user;
