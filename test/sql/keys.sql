--
-- Keys, and the ids that they seal
--
-- These tests have a database of their own, because their keys and roles would be in the
-- way of others.
--
SET client_min_messages = warning;
SELECT current_database() AS db \gset
DROP DATABASE IF EXISTS regress_sno_keys;
DROP ROLE IF EXISTS regress_sno_owner, regress_sno_user, regress_sno_reader;
CREATE ROLE regress_sno_owner;
CREATE ROLE regress_sno_user;
CREATE ROLE regress_sno_reader IN ROLE pg_read_all_data;
CREATE DATABASE regress_sno_keys OWNER regress_sno_owner;
\getenv abs_srcdir PG_ABS_SRCDIR
\c regress_sno_keys
SET client_min_messages = warning;
CREATE EXTENSION sno;
CREATE EXTENSION sno_flakes;
CREATE EXTENSION sno_seal;
RESET client_min_messages;

-- The ids of Randflake, both ways
CREATE TEMP TABLE vector (
    secret text,
    raw bigint,
    sealed bigint,
    encoded text,
    unix bigint,
    node bigint,
    sequence bigint);
\set load '\\copy vector FROM ' :abs_srcdir '/vectors/randflake.tsv'
:load
SELECT count(sno_seal_create_key(secret, decode(secret, 'hex'))) FROM vector;
-- Each query shows the cases that fail: none.
SELECT * FROM vector WHERE sno_seal(raw, secret) <> sealed;
SELECT * FROM vector WHERE sno_unseal(sealed, secret) <> raw;
SELECT * FROM vector WHERE sno_flake_text(sealed, 'randflake') <> encoded OR sno_flake_from_text(encoded, 'randflake') <> sealed;
SELECT v.*, p FROM vector AS v, sno_flake_parts(raw, 'randflake') AS p
WHERE (extract(epoch FROM p."timestamp"), p.node, p.sequence) <> (unix, v.node, v.sequence)
    OR sno_flake_make(to_timestamp(unix), v.node, v.sequence, 'randflake') <> raw;

-- Ids of type sno, both ways
SELECT sno_seal_create_key('url', '\x2b7e151628aed2a6abf7158809cf4f3c');
SELECT id, sno_seal(id, 'url') AS sealed, sno_unseal(sno_seal(id, 'url'), 'url') = id AS back
FROM (VALUES ('2222222222222222'::sno), ('9q7lkdko28bag222'), ('xxxxxxxxxxxxxxxx')) AS v (id);
SELECT sno_unseal('9pvcplf3hghg6a9r', 'url');
-- Many ids, with one key and with a key for each
SELECT sno_make('2026-01-01', 7, partition => n) AS id, n::bigint << 44 AS flake, n
INTO TEMP item FROM generate_series(1, 10000) AS n;
SELECT count(DISTINCT sno_seal(id, 'url')), count(DISTINCT sno_seal(flake, 'url')),
    bool_and(sno_unseal(sno_seal(id, 'url'), 'url') = id) AS back,
    bool_and(sno_unseal(sno_seal(flake, 'url'), 'url') = flake) AS flake_back
FROM item;
SELECT count(DISTINCT sno_seal(id, secret)), count(DISTINCT sno_seal(flake, secret)),
    bool_and(sno_unseal(sno_seal(id, secret), secret) = id) AS back,
    bool_and(sno_unseal(sno_seal(flake, secret), secret) = flake) AS flake_back
FROM item, vector WHERE n <= 10;

-- A sealed uuid looks like any other of version 4, and tells which key sealed it.
CREATE TEMP TABLE line (line text);
\set load '\\copy line FROM ' :abs_srcdir '/vectors/sealed.tsv DELIMITER E''\\001'''
:load
SELECT v[1] AS secret, v[2]::sno AS id, v[3] AS sealed, v[4]::uuid AS uuid
INTO TEMP sealed_vector FROM line, string_to_array(line, E'\t') AS v WHERE line ~ '^[0-9a-f]{32}';
SELECT count(sno_seal_create_key('v' || secret, decode(secret, 'hex'))) FROM (SELECT DISTINCT secret FROM sealed_vector) AS s;
SELECT count(*), count(*) FILTER (WHERE sno_seal(id, 'v' || secret) = sealed AND sno_unseal(sealed, 'v' || secret) = id) AS texts,
    count(*) FILTER (WHERE sno_seal_uuid(id, 'v' || secret) = uuid AND sno_unseal(uuid, 'v' || secret) = id) AS uuids
FROM sealed_vector;
SELECT count(*), count(sno_unseal(v.uuid, 'v' || w.secret)) AS unsealed
FROM sealed_vector AS v JOIN sealed_vector AS w ON v.secret <> w.secret;
SELECT count(DISTINCT sno_seal_uuid(id, 'url')), bool_and(sno_unseal(sno_seal_uuid(id, 'url'), 'url') = id) AS back,
    bool_and(sno_seal_uuid(id, 'url')::text ~ '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$') AS version_4
FROM item;
SELECT count(sno_unseal(gen_random_uuid(), 'url')) FROM item;
SELECT sno_unseal(uuid, 'url') IS NULL AS not_sealed
FROM (VALUES ('00000000-0000-0000-0000-000000000000'::uuid), ('ffffffff-ffff-ffff-ffff-ffffffffffff'),
    (overlay(sno_seal_uuid('9q7lkdko28bag222', 'url')::text PLACING '8' FROM 15)::uuid)) AS v (uuid);

-- Another key gives another id.
SELECT sno_seal_create_key('another', '\x000102030405060708090a0b0c0d0e0f');
SELECT sno_unseal('9pvcplf3hghg6a9r', 'another'), sno_unseal(4594531474933654033, 'another');

-- A lookup by what the URL has: the id is found by the index.
CREATE TABLE page (id sno PRIMARY KEY);
INSERT INTO page SELECT id FROM item;
ANALYZE page;
SET compute_query_id = off;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM page WHERE id = sno_unseal('8rcjkjbkd7a6hjid', 'url');
-- The result depends on a table, so it can't be indexed.
\set VERBOSITY sqlstate
CREATE INDEX ON page (sno_seal(id, 'url'));
\set VERBOSITY default

-- Keys are random by default.
SELECT sno_seal_create_key('random'), sno_seal_create_key('other');
SELECT sno_seal(1, 'random') <> sno_seal(1, 'other') AS differ, sno_unseal(sno_seal(1, 'random'), 'random');

-- Nulls
SELECT sno_seal(NULL::sno, 'url') IS NULL AND sno_seal(1, NULL) IS NULL AND sno_unseal(NULL::bigint, 'url') IS NULL
    AND sno_unseal(NULL::text, 'url') IS NULL AND sno_unseal(NULL::uuid, 'url') IS NULL AND sno_seal_uuid(NULL, 'url') IS NULL AND sno_unseal('2222222222222222', NULL) IS NULL
    AND sno_seal_drop_key(NULL) IS NULL AS nulls;
SELECT sno_seal_create_key(NULL);
\echo :LAST_ERROR_SQLSTATE

-- Errors.  A sealed text is as strict as the type's own.
SELECT sno_unseal('8rcjkjbkd7a6hji', 'url');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_unseal('8rcjkjbkd7a6hjidd', 'url');
SELECT sno_unseal('8RCJKJBKD7A6HJID', 'url');
SELECT sno_unseal(' 8rcjkjbkd7a6hji', 'url');
SELECT sno_unseal('', 'url');
SELECT sno_seal(1, 'none');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_seal_uuid('2222222222222222', 'none');
SELECT sno_unseal('00000000-0000-0000-0000-000000000000'::uuid, 'none');
SELECT sno_unseal('8rcjkjbkd7a6hjid', repeat('n', 100));
SELECT sno_seal('2222222222222222'::sno, '');
SELECT sno_seal_create_key('url');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_seal_create_key('short', '\x00');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_seal_create_key('long', repeat('x', 17)::bytea);
SELECT sno_seal_create_key('');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_seal_create_key(repeat('n', 64));
SELECT sno_seal_create_key(repeat('n', 63));
SELECT sno_seal_drop_key('none');
\echo :LAST_ERROR_SQLSTATE
BEGIN READ ONLY;
SELECT sno_seal(1, 'url');
SELECT sno_seal_create_key('late');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN READ ONLY;
SELECT sno_seal_drop_key('url');
ROLLBACK;

-- What a transaction changes counts at once, and no longer when it is rolled back.
PREPARE seal AS SELECT sno_seal(1, 'url');
EXECUTE seal;
BEGIN;
SELECT sno_seal_drop_key('url');
SAVEPOINT s;
EXECUTE seal;
ROLLBACK TO s;
SELECT sno_seal_create_key('url', '\x000102030405060708090a0b0c0d0e0f');
EXECUTE seal;
ROLLBACK;
EXECUTE seal;
SELECT sno_seal_create_key('twice'), sno_seal_create_key('twice');
SELECT sno_seal_drop_key('random');
SELECT sno_seal(1, 'random');
-- Not even a cursor that is open uses a key that was dropped.
BEGIN;
DECLARE c CURSOR FOR SELECT sno_seal(n::bigint, 'url') FROM generate_series(1, 3) AS n;
FETCH c;
SELECT sno_seal_drop_key('url');
FETCH c;
ROLLBACK;

-- Generators whose ids a key seals
SELECT sno_flake_create_generator('sealed', 'randflake', 42, 1, 'url'), sno_flake_create_generator('plain', 'randflake', 43);
SELECT node, sequence BETWEEN 0 AND 131071 AS sequence, timestamp BETWEEN now() - interval '1 s' AND clock_timestamp() AS time
FROM sno_flake_parts(sno_unseal(sno_flake_generate('sealed'), 'url'), 'randflake');
SELECT node FROM sno_flake_parts(sno_flake_generate('plain'), 'randflake');
-- They have all 64 bits, in no order.
SELECT count(DISTINCT id), count(*) FILTER (WHERE id < before) BETWEEN 4000 AND 6000 AS no_order,
    count(*) FILTER (WHERE id < 0) BETWEEN 4000 AND 6000 AS negative
FROM (SELECT id, lag(id) OVER () AS before FROM (SELECT sno_flake_generate('sealed') AS id FROM generate_series(1, 10000)) AS s) AS s;
-- Go on after an id, as the generator returns it.
SELECT sno_flake_generate('sealed') AS id \gset
SELECT sno_flake_advance('sealed', :id);
SELECT sno_flake_timestamp(sno_unseal(sno_flake_generate('sealed'), 'url'), 'randflake') >
    sno_flake_timestamp(sno_unseal(:id, 'url'), 'randflake') AS later;
-- An id that the generator can't have returned isn't unsealed in the message.
SELECT sno_flake_create_generator('narrow', 'json4', 1, 1, 'url');
SELECT sno_flake_advance('narrow', 5);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_drop_generator('narrow');
-- Only a bigint can be sealed, by a key that exists.
SELECT sno_flake_create_generator('boundary', 'boundary', 1, 1, 'url');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('unsealed', 'randflake', 1, 1, 'none');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('unsealed', 'randflake', 1, 1, '');
-- A key that a generator uses isn't dropped.  The generator may get another key, and a
-- key another secret, if both are created anew.
SELECT sno_seal_drop_key('url');
\echo :LAST_ERROR_SQLSTATE
PREPARE next AS SELECT sno_flake_generate('sealed') AS id;
EXECUTE next \gset
BEGIN;
SELECT sno_flake_drop_generator('sealed');
SELECT sno_seal_drop_key('url'), sno_seal_create_key('url'), sno_flake_create_generator('sealed', 'randflake', 42, 1, 'url');
EXECUTE next \gset
SELECT node FROM sno_flake_parts(sno_unseal(:id, 'url'), 'randflake');
ROLLBACK;
EXECUTE next \gset
SELECT node FROM sno_flake_parts(sno_unseal(:id, 'url'), 'randflake');
SELECT sno_flake_drop_generator('sealed'), sno_flake_drop_generator('plain');

-- Only the database's owner may call the functions, and grants it by a superuser.
SELECT p.oid::regprocedure AS function, has_function_privilege('regress_sno_owner', p.oid, 'execute') AS owner,
    has_function_privilege('regress_sno_user', p.oid, 'execute') AS others
FROM pg_proc p WHERE proname ~ '^sno_(un)?seal' ORDER BY p.oid::regprocedure::text COLLATE "C";
SET SESSION AUTHORIZATION regress_sno_user;
SELECT sno_seal(1, 'url');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_unseal('8rcjkjbkd7a6hjid', 'url');
SELECT sno_seal_create_key('mine');
SELECT sno_seal_drop_key('url');
RESET SESSION AUTHORIZATION;
GRANT EXECUTE ON FUNCTION sno_unseal(text, text) TO regress_sno_user;
SET SESSION AUTHORIZATION regress_sno_user;
SELECT sno_unseal('8rcjkjbkd7a6hjid', 'url');

-- Nobody reads the table.
SELECT * FROM sno_catalog.sno_seal_key;
SET SESSION AUTHORIZATION regress_sno_owner;
SELECT sno_seal_create_key('owned'), sno_seal(1, 'url');
SELECT * FROM sno_catalog.sno_seal_key;
SELECT sno_seal_drop_key('owned');
RESET SESSION AUTHORIZATION;
ANALYZE sno_catalog.sno_seal_key;
SET SESSION AUTHORIZATION regress_sno_reader;
SELECT * FROM sno_catalog.sno_seal_key;
SELECT staattnum FROM pg_statistic WHERE starelid = 'sno_catalog.sno_seal_key'::regclass ORDER BY 1;
SET row_security = off;
SELECT * FROM sno_catalog.sno_seal_key;
RESET row_security;
RESET SESSION AUTHORIZATION;

-- A superuser reads it, but no SQL changes it.
SELECT name, encode(secret, 'hex'), made <= clock_timestamp() AS made FROM sno_catalog.sno_seal_key WHERE name = 'url';
INSERT INTO sno_catalog.sno_seal_key VALUES ('mine', '\x000102030405060708090a0b0c0d0e0f', now());
\echo :LAST_ERROR_SQLSTATE
UPDATE sno_catalog.sno_seal_key SET secret = '\x000102030405060708090a0b0c0d0e0f';
DELETE FROM sno_catalog.sno_seal_key;
TRUNCATE sno_catalog.sno_seal_key;
SET session_replication_role = replica;
DELETE FROM sno_catalog.sno_seal_key;
TRUNCATE sno_catalog.sno_seal_key;
RESET session_replication_role;

-- The table, if it is renamed
BEGIN;
ALTER TABLE sno_catalog.sno_seal_key RENAME TO renamed;
SELECT sno_seal(1, 'url');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

-- The library needs no other until it is asked for ids of type sno, or about generators.
\c -
LOAD 'sno_seal';
SELECT sno_unseal(sno_seal(1, 'url'), 'url');
SELECT sno_unseal(sno_seal(sno_zero(), 'url'), 'url');
\c -
SELECT sno_seal_drop_key('another');

-- A generator outlives the extension of its key, but issues nothing without the key.
SELECT sno_flake_create_generator('sealed', 'randflake', 42, 1, 'url');
PREPARE next AS SELECT sno_flake_generate('sealed') IS NOT NULL AS issued;
EXECUTE next;
BEGIN;
DECLARE c CURSOR FOR SELECT sno_flake_generate('sealed') IS NOT NULL AS issued FROM generate_series(1, 3);
FETCH c;
DROP EXTENSION sno_seal;
SAVEPOINT s;
FETCH c;
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
EXECUTE next;
ROLLBACK TO s;
SELECT sno_flake_advance('sealed', 1);
ROLLBACK TO s;
SELECT sno_flake_create_generator('more', 'randflake', 1, 1, 'url');
ROLLBACK;
EXECUTE next;
DROP EXTENSION sno;
\echo :LAST_ERROR_SQLSTATE
DROP EXTENSION sno_seal;
EXECUTE next;
CREATE EXTENSION sno_seal;
EXECUTE next;
SELECT sno_seal_create_key('url', '\x2b7e151628aed2a6abf7158809cf4f3c');
EXECUTE next;
SELECT node FROM sno_flake_parts(sno_unseal(sno_flake_generate('sealed'), 'url'), 'randflake');
SELECT sno_flake_drop_generator('sealed');

-- Nodes are chosen for a generator with a key, too.
SELECT sno_flake_create_generator('chosen', 'randflake', nodes => 16, key => 'url') IS NULL AS chosen;
SELECT sno_flake_generate('chosen') IS NOT NULL AS issued;
SELECT node BETWEEN node_first AND node_last AS sealed, node_last - node_first + 1 AS nodes
FROM sno_generators(), sno_flake_parts(sno_unseal(sno_flake_generate('chosen'), 'url'), 'randflake') WHERE name = 'chosen';
SELECT sno_flake_drop_generator('chosen');

-- The extension sno_seal uses the type sno of pg_catalog, even if the owner of the database has
-- another type of that name earlier in the search path.
SET client_min_messages = warning;
DROP EXTENSION sno CASCADE;
SET SESSION AUTHORIZATION regress_sno_owner;
CREATE SCHEMA planted;
CREATE DOMAIN planted.sno AS text;
CREATE TEMP TABLE sno (planted integer);
SET search_path = planted, pg_catalog;
CREATE EXTENSION sno_seal CASCADE;
SHOW search_path;
RESET search_path;
RESET SESSION AUTHORIZATION;
SELECT p.oid::regprocedure AS function, prorettype::regtype AS result
FROM pg_proc p WHERE proname ~ 'seal' ORDER BY p.oid::regprocedure::text COLLATE "C";

\c :db
SET client_min_messages = warning;
DROP DATABASE regress_sno_keys;
DROP ROLE regress_sno_owner, regress_sno_user, regress_sno_reader;
