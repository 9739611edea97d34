--
-- The statements that define generators, layouts and prefixes again, in another database
--
\set db :DBNAME
SET client_min_messages = warning;
CREATE ROLE regress_sno_clerk;
CREATE DATABASE regress_sno_first;
CREATE DATABASE regress_sno_second;
\getenv abs_builddir PG_ABS_BUILDDIR
\set file :abs_builddir '/results/definitions.sql'

\c regress_sno_first
SET client_min_messages = warning;
CREATE EXTENSION sno_seal CASCADE;
CREATE EXTENSION sno_flakes;
SELECT count(*) FROM (SELECT sno_definitions() UNION ALL SELECT sno_flake_definitions()) AS d;
SELECT sno_create_generator('orders', 700), sno_create_generator(E'O\'Brien\\', 701, 10, 19, 7);
SELECT sno_restrict_generator('orders', 'regress_sno_clerk');
INSERT INTO sno_catalog.sno_prefix VALUES (1, 'user'), (255, 'order');
SET DateStyle = 'German';
SET TimeZone = 'Asia/Kolkata';
SELECT sno_flake_create_layout('mine', '2024-01-01Z', 10, 39, 16, 8);
SELECT sno_flake_create_layout('theirs', '2020-01-01 00:00:00.123Z', 1, 42, 10, 12, true, '''"\0123456789');
SELECT sno_flake_create_layout('numbers', NULL, 0, 40);
SELECT sno_seal_create_key('k');
SELECT sno_flake_create_generator('floats', 'mine', nodes => 3), sno_flake_create_generator('fixed', 'theirs', 5, 4),
    sno_flake_create_generator('sealed', 'snowflake', 1, key => 'k'), sno_flake_create_generator('counts', 'numbers');
SELECT sno_flake_restrict_generator('floats', 'regress_sno_clerk');
\pset format unaligned
\pset tuples_only on
\o :file
SELECT sno_definitions();
SELECT sno_flake_definitions();
\o
\c regress_sno_second
SET client_min_messages = warning;
CREATE EXTENSION sno_seal CASCADE;
CREATE EXTENSION sno_flakes;
-- Functions that somebody planted fit the calls better.
CREATE FUNCTION sno_create_generator(text, integer, integer, integer, text) RETURNS void LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
CREATE FUNCTION sno_flake_create_layout(text, text, integer, integer, integer, integer, text, text) RETURNS void LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
CREATE FUNCTION sno_flake_create_generator(text, text, text, integer, text) RETURNS void LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
\set ON_ERROR_STOP on
\i :file
\set ON_ERROR_STOP off
SELECT sno_definitions();
SELECT sno_flake_definitions();
SELECT sno_meta(sno_generate(NULL, E'O\'Brien\\')), sno_prefixed('brpk4q7228f2m63l'),
    sno_flake_generate('sealed') IS NOT NULL, sno_flake_generate('counts') > 0;

\pset format aligned
\pset tuples_only off
CREATE ROLE regress_sno_nobody;
SET SESSION AUTHORIZATION regress_sno_nobody;
\set VERBOSITY sqlstate
SELECT sno_definitions();
SELECT sno_flake_definitions();
\set VERBOSITY default
RESET SESSION AUTHORIZATION;

\c :"db"
DROP DATABASE regress_sno_first;
DROP DATABASE regress_sno_second;
DROP ROLE regress_sno_clerk, regress_sno_nobody;
