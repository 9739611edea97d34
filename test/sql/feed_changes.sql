--
-- Feeds of the changes of a table: keys of all kinds, and the rows of a reader
--
-- These tests have a database of their own, where no other session makes ids.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS regress_sno_feed_changes;
DROP ROLE IF EXISTS regress_sno_writer, regress_sno_owner;
SELECT current_database() AS db \gset
CREATE ROLE regress_sno_writer;
CREATE ROLE regress_sno_owner;
CREATE DATABASE regress_sno_feed_changes OWNER regress_sno_owner TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C';
\c regress_sno_feed_changes
\set SHOW_CONTEXT never
\t
\a
SET client_min_messages = warning;
CREATE EXTENSION sno_flakes CASCADE;
RESET client_min_messages;
CREATE EXTENSION sno_feeds;
GRANT ALL ON SCHEMA public TO PUBLIC;

-- Wait until the watermark is above all changes.
CREATE FUNCTION settle(feed regclass, watermark text DEFAULT 'sno_watermark()') RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    above boolean;
BEGIN
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE changed >= (SELECT %s))', feed, watermark) INTO above;
        EXIT WHEN NOT above;
        PERFORM pg_sleep(0.001);
    END LOOP;
END$$;

--
-- Inserts, updates and deletes
--
CREATE TABLE person (id integer PRIMARY KEY, name text NOT NULL);
INSERT INTO person SELECT n, 'p' || n FROM generate_series(1, 5) AS n;
CALL sno_feed_create_changes('person', batch => 2);
CALL sno_feed_create_changes('person', batch => 2);
SELECT indexdef FROM pg_indexes WHERE tablename = 'person_changes' ORDER BY indexname;
SELECT tgname, tgenabled, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid IN ('person'::regclass, 'person_changes'::regclass) ORDER BY tgname;
SELECT sno_feed_create_reader('person', 'copy');
SELECT settle('person_changes');
CREATE TABLE copy (LIKE person INCLUDING INDEXES);
-- A reader of the row type of the table gets its rows, and of deleted ones their keys.
CREATE PROCEDURE read() LANGUAGE plpgsql AS $$
DECLARE
    r record;
BEGIN
    FOR r IN SELECT * FROM sno_feed_take(NULL::person, 'copy') LOOP
        RAISE NOTICE '% %', CASE WHEN r.deleted THEN 'delete' ELSE 'upsert' END, r.item;
        DELETE FROM copy WHERE id = (r.item).id;
        IF NOT r.deleted THEN
            INSERT INTO copy VALUES ((r.item).*);
        END IF;
    END LOOP;
    PERFORM sno_feed_done('person', 'copy', r.part, r.fence);
END$$;
CALL read();
INSERT INTO person VALUES (6, 'p6'), (7, 'p7');
UPDATE person SET name = 'new' WHERE id = 1;
UPDATE person SET id = 10 WHERE id = 2;
UPDATE person SET id = id + 1 WHERE id = 7;
DELETE FROM person WHERE id = 3;
DELETE FROM person WHERE id = 4;
INSERT INTO person VALUES (4, 'again');
BEGIN;
INSERT INTO person VALUES (20, 'rolled back');
ROLLBACK;
INSERT INTO person VALUES (6, 'upsert') ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name;
SELECT settle('person_changes');
-- The same by the rows of the feed itself, joined in one statement
BEGIN;
SELECT c.deleted, c.id, p.name FROM sno_feed_next(NULL::person_changes, 'copy') AS c LEFT JOIN person AS p USING (id) ORDER BY c.changed;
ROLLBACK;
CALL read();
TABLE copy EXCEPT TABLE person;
TABLE person EXCEPT TABLE copy;
TRUNCATE person;
INSERT INTO person VALUES (5, 'after');
SELECT settle('person_changes');
SET client_min_messages = warning;
CALL read();
RESET client_min_messages;
TABLE copy;
-- Only rows of deleted keys are removed.
SELECT feed, reader, state, problem FROM sno_feeds();
CALL sno_feed_remove('person', '0');
SELECT id, deleted FROM person_changes;
-- A row that fails, and is sent again
UPDATE person SET name = 'bad';
SELECT settle('person_changes');
SELECT sno_feed_fail('person', 'copy', part, fence, id, 'bad', '0') FROM sno_feed_take(NULL::person, 'copy');
SELECT reader, tries, error FROM sno_feeds();
SELECT (item).name, sno_feed_done('person', 'copy', part, fence) FROM sno_feed_take(NULL::person, 'copy');
SELECT sno_feed_drop('person');
SELECT relname FROM pg_class WHERE relname ~ 'person' ORDER BY relname;
SELECT tgname FROM pg_trigger WHERE tgrelid = 'person'::regclass;
SELECT proname FROM pg_proc WHERE proname = 'person_changes';
-- Parts of a feed of changes
CALL sno_feed_create_changes('person');
CREATE INDEX ON person_changes (sno_feed_part(id, 2), changed);
SELECT sno_feed_create_reader('person', 'two', 2, 'id');
INSERT INTO person SELECT n, 'p' FROM generate_series(11, 18) AS n;
SELECT settle('person_changes');
SELECT count(DISTINCT part), count(DISTINCT id), bool_and(part = sno_feed_part((item).id, 2)) FROM (
    SELECT * FROM sno_feed_take(NULL::person, 'two') UNION ALL SELECT * FROM sno_feed_take(NULL::person, 'two')) AS s;

--
-- Writers without privileges, and the replication role
--
GRANT INSERT, UPDATE, DELETE, SELECT, TRUNCATE ON person TO regress_sno_writer;
SET ROLE regress_sno_writer;
INSERT INTO person VALUES (30, 'writer');
UPDATE person SET name = 'w' WHERE id = 30;
DELETE FROM person WHERE id = 30;
SELECT FROM person_changes;
RESET ROLE;
SELECT sno_feed_create('person_changes');
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'person_changes'::regclass;
SET session_replication_role = replica;
INSERT INTO person VALUES (31, 'replica');
RESET session_replication_role;
SELECT id, deleted FROM person_changes WHERE id IN (30, 31) ORDER BY id;
SELECT sno_feed_drop('person');

--
-- Keys: several columns, dropped and generated ones, domains, collations, types of other
-- schemas, odd names
--
CREATE SCHEMA ext;
CREATE EXTENSION citext SCHEMA ext;
CREATE SCHEMA "S p";
CREATE DOMAIN "S p"."D" AS ext.citext CHECK (VALUE IS NOT NULL);
CREATE TYPE "S p".pair AS (a integer, b text);
-- Copies each key once, in batches of all sizes, and finds each row.
CREATE PROCEDURE check_keys(source regclass) LANGUAGE plpgsql AS $$
DECLARE
    feed   text;
    keys   bigint;
    copied bigint;
    joined bigint;
    batch  integer;
BEGIN
    FOREACH batch IN ARRAY '{1, 3}'::integer[] LOOP
        CALL sno_feed_create_changes(source, batch => batch);
        feed := (SELECT format('%I.%I', n.nspname, c.relname || '_changes') FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                 WHERE c.oid = source);
        PERFORM sno_feed_create_reader(source, 'r');
        COMMIT;
        PERFORM settle(feed);
        EXECUTE format('SELECT (SELECT count(*) FROM %s), (SELECT count(*) FROM %s WHERE NOT deleted)', source, feed) INTO keys, copied;
        EXECUTE format('SELECT count(*) FROM sno_feed_take(NULL::%s, ''r'') WHERE NOT deleted AND (item).v IS NOT NULL', source) INTO joined;
        IF keys <> copied OR keys <> joined OR keys = 0 THEN
            RAISE WARNING '%: % keys, % copied, % joined, in batches of %', source, keys, copied, joined, batch;
        END IF;
        PERFORM sno_feed_drop(source);
    END LOOP;
END$$;
CREATE TABLE k1 (gone integer, b text COLLATE "C", v integer, a integer, PRIMARY KEY (a, b));
ALTER TABLE k1 DROP COLUMN gone;
INSERT INTO k1 SELECT b, 1, a FROM generate_series(1, 3) AS a, unnest('{x, Y, "", z}'::text[]) AS b;
CREATE TABLE k2 (v integer, k "S p"."D" PRIMARY KEY);
INSERT INTO k2 SELECT 1, k FROM unnest('{a, B, c, D, _, Z, z1}'::text[]) AS k;
CREATE TABLE k3 (k ext.citext, l integer, v integer, PRIMARY KEY (k, l));
INSERT INTO k3 SELECT k, l, 1 FROM unnest('{a, B, c, D}'::text[]) AS k, generate_series(1, 2) AS l;
CREATE TABLE k4 (k numeric PRIMARY KEY, v integer);
INSERT INTO k4 SELECT k, 1 FROM unnest('{1.0, 2.50, NaN, -Infinity, -3, 1e30}'::numeric[]) AS k;
CREATE TABLE k5 (k float8, l timestamptz, v integer, PRIMARY KEY (k, l));
INSERT INTO k5 SELECT k, l, 1 FROM unnest('{NaN, -0, 1e-300, 0.29999999999999993, 0.3, Infinity}'::float8[]) AS k, unnest('{-infinity, 2000-01-01, infinity}'::timestamptz[]) AS l;
CREATE TABLE k6 (k "S p".pair, l integer[], v integer, PRIMARY KEY (k, l));
INSERT INTO k6 SELECT k::"S p".pair, l::integer[], 1 FROM unnest(ARRAY['(1,x)', '(1,)', '(,y)', '(2,"a,b")']) AS k, unnest(ARRAY['{}', '{1}', '{NULL}']) AS l;
CREATE TABLE k7 (k text, v integer, PRIMARY KEY (k) INCLUDE (v));
INSERT INTO k7 SELECT k, 1 FROM unnest('{ab, Ab, aB, AB, "ab\\\\", "a b"}'::text[]) AS k;
CREATE TABLE k8 (k char(3), l varchar(4), m "char", n name, v integer, PRIMARY KEY (l, k, n, m));
INSERT INTO k8 SELECT k, l, 'x', l, 1 FROM unnest('{a, b, bb}'::text[]) AS k, unnest('{a, A, "a "}'::text[]) AS l;
CREATE TABLE k9 (k integer PRIMARY KEY, g integer GENERATED ALWAYS AS (k * 2) STORED, v integer GENERATED ALWAYS AS IDENTITY);
INSERT INTO k9 SELECT generate_series(1, 5);
CREATE TABLE ka (id sno PRIMARY KEY DEFAULT sno_generate(), v integer);
INSERT INTO ka (v) SELECT generate_series(1, 5);
CREATE TABLE "S p"."O'%s T $$ $body$" ("K 1%" integer, "t" text, s integer, r integer, "NEW" integer, v integer, feed text, PRIMARY KEY (t, "K 1%", "NEW", s, r));
INSERT INTO "S p"."O'%s T $$ $body$" SELECT n, n % 3, n, n, n, 1 FROM generate_series(1, 5) AS n;
CALL check_keys('k1');
CALL check_keys('k2');
CALL check_keys('k3');
CALL check_keys('k4');
SET extra_float_digits = 0;
CALL check_keys('k5');
RESET extra_float_digits;
CALL check_keys('k6');
CALL check_keys('k7');
CALL check_keys('k8');
CALL check_keys('k9');
CALL check_keys('ka');
CALL check_keys('"S p"."O''%s T $$ $body$"');
-- Equal keys that look different
CALL sno_feed_create_changes('k2');
UPDATE k2 SET k = 'A' WHERE k = 'a';
SELECT k, deleted FROM k2_changes WHERE k = 'a';
SELECT sno_feed_drop('k2');

--
-- A partitioned table
--
CREATE TABLE item (region text, id integer, v integer, PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE item_a PARTITION OF item FOR VALUES IN ('a');
INSERT INTO item SELECT 'a', n, 1 FROM generate_series(1, 3) AS n;
CALL check_keys('item');
CALL sno_feed_create_changes('item');
CREATE TABLE item_b PARTITION OF item FOR VALUES IN ('b');
INSERT INTO item VALUES ('b', 1, 1);
UPDATE item SET region = 'b' WHERE id = 2;
DELETE FROM item_a WHERE id = 3;
SELECT region, id, deleted FROM item_changes ORDER BY region, id;
TRUNCATE item;
SELECT count(*), bool_and(deleted) FROM item_changes;
SELECT sno_feed_drop('item');
SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('item'::regclass, 'item_a'::regclass, 'item_b'::regclass);

--
-- Ids of sno_flakes
--
SELECT sno_flake_create_generator('counter', 'counter');
CREATE TABLE account (id uuid PRIMARY KEY, v integer);
INSERT INTO account VALUES ('00000000-0000-0000-0000-000000000001', 1), ('00000000-0000-0000-0000-000000000002', 1);
CALL sno_feed_create_changes('account', 'counter', batch => 1);
SELECT sno_feed_create_reader('account', 'r');
SELECT settle('account_changes', 'sno_flake_watermark(''counter'')');
SELECT c.changed, (t.item).* FROM sno_feed_take(NULL::account, 'r') AS t JOIN account_changes AS c ON c.changed::text = t.id;
DELETE FROM account WHERE v = 1;
SELECT changed, deleted FROM account_changes ORDER BY changed;
SELECT sno_feed_drop('account_changes');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'account'::regclass;

\c :db
DROP DATABASE regress_sno_feed_changes;
DROP ROLE regress_sno_writer, regress_sno_owner;
