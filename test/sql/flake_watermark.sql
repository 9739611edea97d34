--
-- sno_flake_watermark(): what it returns for layouts with a time and for counters, and the
-- trigger that keeps a table complete below it
--
-- These tests have a database of their own, where no other session makes ids.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS regress_sno_flake_watermark;
DROP ROLE IF EXISTS regress_sno_user, regress_sno_member;
RESET client_min_messages;
SELECT current_database() AS db \gset
CREATE ROLE regress_sno_user;
CREATE ROLE regress_sno_member;
CREATE DATABASE regress_sno_flake_watermark;
\c regress_sno_flake_watermark
SET TimeZone = 'UTC';
SET client_min_messages = warning;
CREATE EXTENSION sno_flakes CASCADE;
RESET client_min_messages;
GRANT ALL ON SCHEMA public TO PUBLIC;
SELECT name, sno_flake_create_generator(name, layout) AS node FROM (VALUES
    ('tweet', 'snowflake'), ('post', 'instagram'), ('page', 'boundary'), ('object', 'objectid'),
    ('slow', 'sonyflake'), ('second', 'json4'), ('invoice', 'counter'), ('other', 'counter'),
    ('odd', 'tickets')) AS s (name, layout);

-- EXPLAIN doesn't run a subquery.
EXPLAIN SELECT FROM generate_series(1, 10::bigint) AS id WHERE id < (SELECT sno_flake_watermark('tweet')) \g /dev/null
SELECT count(*) AS written FROM sno_catalog.sno_lease WHERE kind = 'f';

--
-- Layouts with a time
--
-- The lowest id of a time, which is the present one if nobody makes ids
CREATE FUNCTION is_present(w bigint, layout text) RETURNS boolean LANGUAGE sql AS $$
    SELECT w = sno_flake_min(sno_flake_timestamp(w, layout), layout) AND
        sno_flake_timestamp(w, layout) BETWEEN statement_timestamp() - interval '1 minute' AND clock_timestamp()
$$;
SELECT name, is_present(sno_flake_watermark(name), layout), sno_flake_generate(name) >= sno_flake_watermark(name) AS below
FROM (VALUES ('tweet', 'snowflake'), ('post', 'instagram'), ('slow', 'sonyflake'), ('second', 'json4')) AS s (name, layout);
SELECT sno_flake_watermark_uuid('page') <= sno_flake_generate_uuid('page') AS uuid,
    sno_flake_watermark_bytea('object') <= sno_flake_generate_bytea('object') AS bytea,
    sno_flake_timestamp(sno_flake_watermark_uuid('page'), 'boundary') BETWEEN
        statement_timestamp() - interval '1 minute' AND clock_timestamp() AS present;

-- Ids of this transaction hold it back, those of subtransactions that were rolled back do,
-- too, and so does a sno.
BEGIN;
SAVEPOINT a;
SELECT sno_flake_generate('tweet') AS id \gset
ROLLBACK TO a;
SELECT pg_sleep(0.02);
SELECT sno_flake_watermark('tweet') <= :id AS held, sno_watermark() <= sno_min(sno_flake_timestamp(:id, 'snowflake')) AS sno,
    sno_flake_watermark('post') <= sno_flake_min(sno_flake_timestamp(:id, 'snowflake'), 'instagram') AS another;
SELECT count(*), min(pid) = pg_backend_pid() AS pid,
    bool_and(since BETWEEN sno_flake_timestamp(:id, 'snowflake') - interval '4 ms' AND clock_timestamp()) AS since
FROM sno_watermark_blockers();
COMMIT;
SELECT pg_sleep(0.02);
SELECT sno_flake_watermark('tweet') > :id AS later, (SELECT count(*) FROM sno_watermark_blockers()) AS blockers;
-- A layout with units longer than ours
BEGIN;
SELECT sno_flake_generate('second') AS id \gset
SELECT sno_flake_watermark('second') <= :id AS held;
COMMIT;

-- All of a statement's calls return the same.
CREATE VIEW slow AS SELECT n, pg_sleep(0.01)::text FROM generate_series(1, 5) AS n OFFSET 0;
SELECT count(DISTINCT sno_flake_watermark('tweet')), count(DISTINCT sno_flake_watermark('slow')),
    count(DISTINCT sno_watermark()), bool_and(sno_flake_timestamp(sno_flake_watermark('tweet'), 'snowflake') =
        sno_watermark()::timestamptz) AS equal FROM slow;

--
-- Counters
--
-- The next number, with the node
SELECT sno_flake_watermark('invoice'), sno_flake_watermark('odd');
SELECT sno_flake_generate('invoice'), sno_flake_generate('odd');
SELECT sno_flake_watermark('invoice'), sno_flake_watermark('odd'), sno_flake_watermark('other');
BEGIN;
SAVEPOINT a;
SELECT sno_flake_generate('invoice'), sno_flake_generate('odd') FROM generate_series(1, 2);
ROLLBACK TO a;
SELECT sno_flake_watermark('invoice'), sno_flake_watermark('odd');
SELECT count(*), min(pid) = pg_backend_pid() AS pid, bool_and(since <= clock_timestamp()) AS since FROM sno_watermark_blockers();
ROLLBACK;
SELECT sno_flake_watermark('invoice'), sno_flake_watermark('odd');
SELECT * FROM sno_watermark_blockers();
-- The watermark itself draws no number, and holds nothing back.
BEGIN;
SELECT sno_flake_watermark('invoice');
SELECT count(*) FROM sno_watermark_blockers();
COMMIT;
-- All of a statement's calls return the same, whatever is asked meanwhile under other
-- snapshots.  A draw of another transaction is seen by the next statement.
CREATE FUNCTION ask() RETURNS bigint VOLATILE LANGUAGE plpgsql AS $$BEGIN RETURN sno_flake_watermark('invoice'); END$$;
CREATE FUNCTION ask_as_caller() RETURNS bigint STABLE LANGUAGE plpgsql AS $$BEGIN RETURN sno_flake_watermark('invoice'); END$$;
SELECT n, sno_flake_watermark('invoice'), sno_flake_generate('invoice'), ask(), ask_as_caller(), sno_flake_watermark('odd')
FROM generate_series(1, 3) AS n;
SELECT sno_flake_watermark('invoice');
-- A long transaction, and many watermarks: more than are noted.
BEGIN;
SELECT sno_flake_generate('other');
DO $$
DECLARE
    w bigint;
BEGIN
    FOR n IN 1 .. 200 LOOP
        PERFORM sno_flake_generate('other');
        w := sno_flake_watermark('other');
        ASSERT w = 1, w;
    END LOOP;
END$$;
COMMIT;
SELECT sno_flake_watermark('other');
-- It goes on after an id of an older system.
SELECT sno_flake_advance('other', 1000);
SELECT sno_flake_watermark('other');

-- A transaction that stays open holds back its own numbers only.
SELECT sno_flake_generate('other') AS before, pg_sleep(0.01) \gset
BEGIN;
SELECT sno_flake_generate('other') - :before AS next;
SELECT sno_flake_watermark('other') - :before AS next;
ROLLBACK;

--
-- What is refused
--
SELECT sno_flake_watermark('nothing');
SELECT sno_flake_watermark(repeat('n', 64));
SELECT sno_flake_watermark('page');
SELECT sno_flake_watermark_uuid('object');
SELECT sno_flake_watermark_bytea('invoice');
SELECT sno_flake_watermark(NULL) IS NULL AS "null";
-- Who may use the generator may ask.
SELECT sno_flake_restrict_generator('tweet', 'regress_sno_member'), sno_flake_restrict_generator('invoice', 'regress_sno_member');
SET ROLE regress_sno_user;
SELECT sno_flake_generate('invoice');
SELECT sno_flake_watermark('invoice') > 0 AS number;
SELECT sno_flake_watermark('tweet') > 0 AS id;
SET ROLE regress_sno_member;
SELECT sno_flake_watermark('invoice') > 0 AS number, sno_flake_watermark('tweet') > 0 AS id;
RESET ROLE;
SELECT sno_flake_restrict_generator('tweet', NULL), sno_flake_restrict_generator('invoice', NULL);
-- A generator of another layout with the same name
SELECT sno_flake_drop_generator('tweet'), sno_flake_create_generator('tweet', 'tickets');
SELECT sno_flake_watermark('tweet');
SELECT sno_flake_drop_generator('tweet'), sno_flake_create_generator('tweet', 'snowflake');

--
-- The trigger
--
CREATE TABLE tweet (id bigint DEFAULT sno_flake_generate('tweet'), n integer);
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON tweet
    FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('id', 'tweet');
INSERT INTO tweet DEFAULT VALUES;
INSERT INTO tweet VALUES (NULL);
INSERT INTO tweet VALUES (1);
INSERT INTO tweet SELECT sno_flake_min(now() - interval '1 minute', 'snowflake');
INSERT INTO tweet SELECT sno_flake_min(clock_timestamp() + interval '1 minute', 'snowflake');
UPDATE tweet SET n = 1;
UPDATE tweet SET id = id - (120000::bigint << 22);
DELETE FROM tweet;
CREATE TABLE slow_post (id bigint DEFAULT sno_flake_generate('second'));
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON slow_post
    FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('id', 'second');
INSERT INTO slow_post SELECT FROM generate_series(1, 10);
INSERT INTO slow_post SELECT sno_flake_min(now() - interval '1 minute', 'json4');

CREATE TABLE invoice (id bigint DEFAULT sno_flake_generate('invoice'), n integer);
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON invoice
    FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('id', 'invoice');
SELECT sno_flake_generate('invoice') AS before \gset
INSERT INTO invoice DEFAULT VALUES RETURNING id - :before AS next;
INSERT INTO invoice VALUES (:before);
-- One that was drawn in the transaction, before others and before a watermark
BEGIN;
SELECT sno_flake_generate('invoice') AS first, sno_flake_generate('invoice') AS second \gset
SELECT sno_flake_watermark('invoice') <= :first AS held;
INSERT INTO invoice VALUES (:second), (:first);
INSERT INTO invoice VALUES (:before);
ROLLBACK;
-- One that nobody has drawn yet, and one that somebody may have passed
BEGIN;
INSERT INTO invoice VALUES (:second + 10);
SELECT sno_flake_watermark('invoice') <= :second + 10 AS held;
INSERT INTO invoice VALUES (:second);
ROLLBACK;
UPDATE invoice SET n = 1;
UPDATE invoice SET id = id - 1;
CREATE TABLE odd (id bigint);
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON odd FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('id', 'odd');
BEGIN;
INSERT INTO odd VALUES (sno_flake_generate('odd'));
INSERT INTO odd SELECT id + 1 FROM odd;
INSERT INTO odd SELECT min(id) - 1 FROM odd;
ROLLBACK;
CREATE TABLE page (id uuid DEFAULT sno_flake_generate_uuid('page'));
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON page FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('id', 'page');
INSERT INTO page DEFAULT VALUES;
INSERT INTO page VALUES ('00000000-0000-0000-0000-000000000001');
CREATE TABLE object (id bytea DEFAULT sno_flake_generate_bytea('object'));
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON object FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('id', 'object');
INSERT INTO object DEFAULT VALUES;
UPDATE object SET id = id || ''::bytea;
INSERT INTO object VALUES ('\x000000000000000000000001');
-- What a trigger may not be
SELECT sno_flake_watermark_guard();
CREATE TABLE t (id bigint, text text, made bigint GENERATED ALWAYS AS (id + 1) STORED);
CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('id');
INSERT INTO t VALUES (1);
DROP TRIGGER t ON t;
CREATE TRIGGER t AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('id', 'invoice');
INSERT INTO t VALUES (1);
DROP TRIGGER t ON t;
CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('nothing', 'invoice');
INSERT INTO t VALUES (1);
DROP TRIGGER t ON t;
CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('made', 'invoice');
INSERT INTO t VALUES (1);
DROP TRIGGER t ON t;
CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('text', 'invoice');
INSERT INTO t VALUES (1);
DROP TRIGGER t ON t;
CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('id', 'page');
INSERT INTO t VALUES (1);
DROP TRIGGER t ON t;
CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('id', 'nothing');
INSERT INTO t VALUES (1);

\c :db
DROP DATABASE regress_sno_flake_watermark;
DROP ROLE regress_sno_user, regress_sno_member;
