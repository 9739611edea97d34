--
-- No name has a control character, which would break what shows it: a terminal, a log, XML
--
SET client_min_messages = warning;
SELECT current_database() AS db \gset
DROP DATABASE IF EXISTS regress_sno_names;
DROP DATABASE IF EXISTS regress_sno_latin;
DROP DATABASE IF EXISTS regress_sno_ascii;
CREATE DATABASE regress_sno_names TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C';
CREATE DATABASE regress_sno_latin TEMPLATE template0 ENCODING 'WIN866' LOCALE 'C';
CREATE DATABASE regress_sno_ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C';
\set create 'SET client_min_messages = warning; CREATE EXTENSION sno; CREATE EXTENSION sno_flakes; CREATE EXTENSION sno_seal; CREATE FUNCTION outcome(call text) RETURNS text LANGUAGE plpgsql AS ''BEGIN EXECUTE call; RETURN ''''ok''''; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END''; CREATE FUNCTION outcomes(name text) RETURNS text LANGUAGE sql AS ''SELECT string_agg(outcome(format(call, name)), '''' '''' ORDER BY n) FROM unnest(ARRAY[ ''''SELECT sno_create_generator(%L)'''', ''''SELECT sno_flake_create_generator(%L, ''''''''counter'''''''')'''', ''''SELECT sno_seal_create_key(%L)'''', ''''SELECT sno_drop_generator(%1$L), sno_flake_drop_generator(%1$L), sno_seal_drop_key(%1$L)'''']) WITH ORDINALITY AS c (call, n)'';'

\c regress_sno_names
:create
SELECT to_hex(c) AS code, outcomes('a' || chr(c)) FROM unnest(ARRAY[1, 9, 10, 13, 27, 31, 32, 126, 127, 128, 133, 155, 159, 160, 255, 8364, 65533, 65534, 65535, 128512]) AS c;
SELECT outcomes(E'\u009B31m');
SELECT sno_flake_create_layout(E'a\x1Bb', '2020-01-01Z', 100, 40, 10, 12);
-- Rows that the owner of the database writes
INSERT INTO sno_catalog.sno_generator VALUES (E'a\nb', NULL, 1, 1, 0, 0, 1, 0, 9);
INSERT INTO sno_catalog.sno_flake_generator VALUES ('a', NULL, 1, 1, 0, 0, E'l\u0085', 1, 1, false);
INSERT INTO sno_catalog.sno_flake_layout VALUES (E'a\u0080', '2020-01-01 00:00:00Z', 1, 41, 10, 12);
INSERT INTO sno_catalog.sno_prefix VALUES (1, E'user\n');
SELECT sno_create_generator('good', 1);
UPDATE sno_catalog.sno_generator SET name = E'\u009B' WHERE name = 'good';
-- What an asker calls itself, shown to who operates a registry
CREATE EXTENSION sno_registry;
SELECT sno_registry_create(1024, 65535);
SELECT sno_registry.unit_of(now()) AS now \gset
SELECT count(*) FROM sno_registry_renew(1, 0, 2, E'a\x1B[2J\u009Bb\nc', :now, :now, 1);
SELECT server FROM sno_registry.blocks;

-- In other encodings bytes of these values may be letters, or no text at all.
\c regress_sno_latin
:create
SELECT n, outcomes('a' || convert_from(decode(n, 'hex'), 'WIN866')) FROM unnest('{01,7f,80,85,9b,ff}'::text[]) AS n;
\c regress_sno_ascii
:create
SELECT n, outcomes('a' || convert_from(decode(n, 'hex'), 'SQL_ASCII')) FROM unnest('{01,7f,80,c3,c3a9,c285}'::text[]) AS n;

\c :db
SET client_min_messages = warning;
DROP DATABASE regress_sno_names;
DROP DATABASE regress_sno_latin;
DROP DATABASE regress_sno_ascii;
