--
-- sno_watermark(): what it returns in statements of all kinds, and the trigger that
-- keeps a table complete below it
--
-- These tests have a database of their own, where no other session makes ids.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS regress_sno_watermark;
DROP ROLE IF EXISTS regress_sno_owner, regress_sno_user, regress_sno_monitor;
RESET client_min_messages;
SELECT current_database() AS db \gset
CREATE ROLE regress_sno_owner;
CREATE ROLE regress_sno_user;
CREATE ROLE regress_sno_monitor IN ROLE pg_monitor;
CREATE DATABASE regress_sno_watermark OWNER regress_sno_owner;
\c regress_sno_watermark
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
CREATE EXTENSION sno;
GRANT ALL ON SCHEMA public TO PUBLIC;

--
-- What EXPLAIN does
--
-- The planner calls a stable function for its estimates, and such a call writes the row of
-- the feed as any does.  It doesn't run a subquery.
CREATE TABLE planned (id sno PRIMARY KEY);
EXPLAIN SELECT FROM planned WHERE id < (SELECT sno_watermark()) \g /dev/null
SELECT count(*) AS written FROM sno_catalog.sno_lease WHERE kind = 'f';
EXPLAIN SELECT FROM planned WHERE id < sno_watermark() \g /dev/null
SELECT count(*) AS written FROM sno_catalog.sno_lease WHERE kind = 'f';
DROP TABLE planned;

--
-- Its form
--
-- The lowest id of a unit, which is the present one if nobody makes ids
SELECT clock_timestamp() AS before \gset
SELECT sno_watermark() AS w, clock_timestamp() AS after \gset
SELECT sno_timestamp(:'w') BETWEEN timestamptz :'before' - interval '4 ms' AND :'after' AS present,
    :'w' = sno_min(sno_timestamp(:'w')) AS lowest;
-- The first id is at or after it, whatever made that.
SELECT sno_create_generator('feed', 7);
SELECT bool_and(id >= :'w')
FROM (SELECT sno_generate() UNION ALL SELECT sno_generate(0, 'feed') UNION ALL SELECT sno_generate_many(3)) AS s (id);
-- Each statement gets a later one.
SELECT pg_sleep(0.005);
SELECT sno_watermark() > :'w' AS later;
PREPARE watermark AS SELECT sno_watermark() AS w;
EXECUTE watermark \gset
SELECT pg_sleep(0.005);
SELECT pg_typeof(sno_watermark()), sno_watermark() > :'w' AS later;

-- Ids of this transaction hold it back, and those of subtransactions that were rolled
-- back do, too.
BEGIN;
SELECT sno_generate() AS id \gset
SELECT pg_sleep(0.005);
SELECT sno_watermark() <= :'id' AS held;
SELECT count(*), min(pid) = pg_backend_pid() AS pid, bool_and(transaction IS NULL) AS no_xid,
    bool_and(since <= sno_timestamp(:'id')) AS since FROM sno_watermark_blockers();
SELECT pg_current_xact_id() IS NOT NULL AS xid;
SELECT transaction = pg_current_xact_id()::xid AS xid FROM sno_watermark_blockers();
COMMIT;
SELECT sno_watermark() > :'id' AS later;
SELECT * FROM sno_watermark_blockers();
BEGIN;
SAVEPOINT a;
SELECT sno_generate() AS id \gset
ROLLBACK TO a;
SELECT pg_sleep(0.005);
SELECT sno_watermark() <= :'id' AS held;
SAVEPOINT b;
SELECT sno_watermark() <= :'id' AS held;
SELECT 1 / 0;
ROLLBACK TO b;
SELECT sno_watermark() <= :'id' AS held;
ROLLBACK;
SELECT sno_watermark() > :'id' AS later;
-- Waiting to no purpose does not: the watermark itself makes no id.
BEGIN;
SELECT sno_watermark() AS w \gset
SELECT pg_sleep(0.005);
SELECT sno_watermark() > :'w' AS later, (SELECT count(*) FROM sno_watermark_blockers()) AS holders;
COMMIT;

-- Transactions that may not write may ask.
BEGIN TRANSACTION READ ONLY;
SELECT sno_watermark() > :'w' AS later;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT sno_watermark() > :'w' AS later;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT sno_watermark() > :'w' AS later;
COMMIT;

--
-- One answer for each statement
--
-- A function that asks under snapshots of its own, and one that asks under the caller's
CREATE FUNCTION ask() RETURNS sno VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN sno_watermark(); END';
CREATE FUNCTION ask_as_caller() RETURNS sno STABLE LANGUAGE plpgsql AS 'BEGIN RETURN sno_watermark(); END';
CREATE FUNCTION ask_in_loop() RETURNS sno STABLE LANGUAGE plpgsql AS $$
DECLARE
    w sno;
BEGIN
    FOR w IN SELECT sno_watermark() LOOP
    END LOOP;
    RETURN w;
END$$;
-- A query for which time passes between its rows
CREATE VIEW slow AS SELECT n, pg_sleep(0.005)::text FROM generate_series(1, 5) AS n OFFSET 0;
SELECT count(DISTINCT sno_watermark()) FROM slow;
SELECT count(DISTINCT sno_watermark()), count(DISTINCT ask()) FROM slow;
SELECT count(DISTINCT ask()), count(DISTINCT ask_as_caller()), count(DISTINCT sno_watermark()),
    bool_and(ask_as_caller() = sno_watermark()) FROM slow WHERE n > 1;
SELECT count(DISTINCT ask_in_loop()) FROM slow;
SELECT count(DISTINCT ask_in_loop()), count(DISTINCT sno_watermark()), count(DISTINCT ask()) FROM slow;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT sno_watermark() AS w \gset
SELECT count(DISTINCT sno_watermark()), count(DISTINCT ask_in_loop()) FROM slow;
-- A later statement with the same snapshot asks again.
SELECT sno_watermark() > :'w' AS later;
COMMIT;
-- A scan that asks for each row: the rows are of the units after its watermark.
CREATE TABLE ids (n serial, id sno DEFAULT sno_generate());
DO $$
BEGIN
    FOR i IN 1 .. 5 LOOP
        INSERT INTO ids DEFAULT VALUES;
        COMMIT;
        PERFORM pg_sleep(0.005);
    END LOOP;
END$$;
BEGIN;
INSERT INTO ids SELECT 10 + n, sno_generate() FROM generate_series(1, 5) AS n;
SET LOCAL enable_indexscan = off;
SELECT count(*) FILTER (WHERE id < sno_watermark()) AS below, count(*) FILTER (WHERE id >= sno_watermark() AND ask() IS NOT NULL) AS rest
FROM ids;
COMMIT;
SELECT pg_sleep(0.005);
SELECT count(*) FROM ids WHERE id < sno_watermark();

-- Cursors keep theirs, statements in between get others.
BEGIN;
DECLARE c CURSOR FOR SELECT sno_watermark() AS w, n FROM slow;
DECLARE d CURSOR FOR SELECT ask_in_loop() AS w, n FROM slow;
FETCH c \gset c1_
FETCH d \gset d1_
SELECT sno_watermark() AS w \gset
FETCH c \gset c2_
FETCH d \gset d2_
SELECT :'c1_w' = :'c2_w' AS same, :'d1_w' = :'d2_w' AS same, :'w' > :'c1_w' AS later;
CLOSE c;
SELECT sno_watermark() > :'w' AS later;
FETCH d \gset d3_
SELECT :'d1_w' = :'d3_w' AS same;
COMMIT;
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT sno_watermark() AS w, n FROM slow;
FETCH c \gset c1_
COMMIT;
FETCH c \gset c2_
SELECT :'c1_w' = :'c2_w' AS same;
CLOSE c;
BEGIN;
DECLARE c CURSOR FOR SELECT sno_watermark() AS w, n FROM slow;
SAVEPOINT a;
DECLARE d CURSOR FOR SELECT sno_watermark() AS w, n FROM slow;
FETCH c \gset c1_
FETCH d \gset d1_
ROLLBACK TO a;
FETCH c \gset c2_
SELECT :'c1_w' = :'c2_w' AS same;
ROLLBACK;

-- Loops get later ones, within one transaction and across several.
DO $$
DECLARE
    last sno := sno_watermark();
BEGIN
    FOR i IN 1 .. 6 LOOP
        PERFORM pg_sleep(0.005);
        ASSERT sno_watermark() > last;
        last := sno_watermark();
        PERFORM pg_sleep(0.005);
        ASSERT (SELECT sno_watermark()) > last;
        last := sno_watermark();
        IF i = 3 THEN
            COMMIT;
        ELSIF i = 5 THEN
            ROLLBACK;
        END IF;
    END LOOP;
END$$;
-- A long loop uses up no memory.
DO $$
DECLARE
    sizes numeric[];
BEGIN
    FOR i IN 1 .. 30000 LOOP
        PERFORM sno_watermark();
        IF i % 10000 = 0 THEN
            sizes := sizes || (SELECT sum(total_bytes) FROM pg_backend_memory_contexts);
        END IF;
    END LOOP;
    ASSERT sizes[3] < sizes[2] + 200000, sizes::text;
END$$;
-- Conditions of indexes, also per row
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'Scan|Cond|Filter' THEN
            RETURN NEXT regexp_replace(line, '\$0|\(InitPlan \w+\).col1', 'subquery', 'g');
        END IF;
    END LOOP;
END$$;
CREATE INDEX ON ids (id);
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SELECT plan_of($$SELECT id FROM ids WHERE id > '2222222222222222' AND id < (SELECT sno_watermark()) ORDER BY id$$);
SELECT plan_of($$SELECT id FROM ids WHERE id > '2222222222222222' AND id < sno_watermark() ORDER BY id$$);
SELECT count(*) FROM (SELECT id FROM ids WHERE id > '2222222222222222' AND id < (SELECT sno_watermark()) ORDER BY id) AS s;
SELECT count(*) FROM (SELECT id FROM ids WHERE id > '2222222222222222' AND id < sno_watermark() ORDER BY id) AS s;
COMMIT;
-- Beside parallel workers
CREATE TABLE many AS SELECT sno_generate() AS id FROM generate_series(1, 1000);
SELECT pg_sleep(0.005);
ALTER TABLE many SET (parallel_workers = 2);
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL max_parallel_workers = 2;
SET LOCAL max_parallel_workers_per_gather = 2;
SELECT plan_of('SELECT count(*) FROM many WHERE id < (SELECT sno_watermark())');
SELECT count(*) FROM many WHERE id < (SELECT sno_watermark());
-- A function that hides it
CREATE FUNCTION hidden() RETURNS sno STABLE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN sno_watermark(); END';
SET LOCAL parallel_leader_participation = off;
\set VERBOSITY terse
SELECT count(*) FROM many WHERE id < hidden();
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

--
-- The trigger
--
CREATE TABLE feed (n integer, id sno, note text);
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON feed FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id');
-- Ids of the transaction that inserts them
INSERT INTO feed VALUES (1, sno_generate()), (2, sno_generate(5, 'feed')), (3, NULL), (4, sno_max('infinity'));
INSERT INTO feed SELECT 5, sno_generate_many(3);
WITH made AS MATERIALIZED (SELECT sno_generate() AS id, pg_sleep(0.005)) INSERT INTO feed SELECT 6, id FROM made;
BEGIN;
SELECT sno_generate() AS a, sno_generate(0, 'feed') AS b, sno_generate_many(1) AS c \gset
SELECT pg_sleep(0.005);
INSERT INTO feed VALUES (7, :'a'), (8, :'b'), (9, :'c'), (10, :'a'::sno::uuid::sno);
SAVEPOINT a;
SELECT sno_generate() AS d \gset
ROLLBACK TO a;
INSERT INTO feed VALUES (11, :'d');
COMMIT;
SELECT count(*) FROM feed;
-- Ids that were made before
SELECT sno_generate() AS id \gset
SELECT sno_generate(0, 'feed') AS named \gset
SELECT sno_generate_many(1) AS many \gset
SELECT pg_sleep(0.005);
INSERT INTO feed VALUES (20, :'id');
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY terse
INSERT INTO feed VALUES (20, :'named');
INSERT INTO feed VALUES (20, :'many');
INSERT INTO feed VALUES (20, :'id'::sno::uuid::sno);
INSERT INTO feed VALUES (20, sno_make(now() - interval '1 min', 0, 1));
INSERT INTO feed VALUES (20, sno_generate_at(now() - interval '1 min'));
INSERT INTO feed VALUES (20, '2222222222222222');
INSERT INTO feed SELECT n, CASE WHEN n < 25 THEN sno_generate() ELSE sno_generate_at('2020-01-01') END FROM generate_series(20, 25) AS n;
BEGIN;
SELECT pg_sleep(0.005);
INSERT INTO feed VALUES (20, sno_generate_at(now()));
ROLLBACK;
COPY feed FROM STDIN;
20	2222222222222222	old
\.
SELECT n FROM feed WHERE n >= 20;
-- Ids of the future, at once and when the transaction has ids
INSERT INTO feed VALUES (30, sno_make(now() + interval '1 day', 0, 1));
COPY feed FROM STDIN;
31	\N	none
32	9xxxxxxxxxxxxxxx	later
\.
SELECT n FROM feed WHERE n >= 30;
-- An UPDATE that leaves the id, that takes one of the present, that clears it, that sets
-- an old one
UPDATE feed SET note = 'same', id = id;
UPDATE feed SET n = n;
UPDATE feed SET id = :'a'::sno WHERE n = 7;
UPDATE feed SET id = sno_generate() WHERE n = 7;
UPDATE feed SET id = NULL WHERE n = 8;
UPDATE feed SET id = sno_generate() WHERE n = 8;
UPDATE feed SET id = :'id' WHERE n = 7;
UPDATE feed SET id = :'id' WHERE n = 3;
-- A trigger that changes the id of an UPDATE that does not name it
CREATE FUNCTION make_old() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := sno_zero(); RETURN NEW; END';
CREATE TRIGGER aa_make_old BEFORE UPDATE ON feed FOR EACH ROW WHEN (NEW.note = 'old') EXECUTE FUNCTION make_old();
UPDATE feed SET note = 'old' WHERE n = 7;
DROP TRIGGER aa_make_old ON feed;
INSERT INTO feed VALUES (1, NULL) ON CONFLICT DO NOTHING;
MERGE INTO feed USING (VALUES (9)) AS s (n) ON feed.n = s.n WHEN MATCHED THEN UPDATE SET id = '2222222222222222';
DELETE FROM feed;
-- Without the trigger, a table takes all.
ALTER TABLE feed DISABLE TRIGGER guard;
INSERT INTO feed VALUES (20, :'id');
ALTER TABLE feed ENABLE TRIGGER guard;
UPDATE feed SET id = id, n = 21;
DROP TABLE feed;

-- Partitions whose columns are in another order, and a column that was dropped
CREATE TABLE feed (gone integer, id sno NOT NULL, n integer) PARTITION BY RANGE (id);
CREATE TABLE feed_old PARTITION OF feed FOR VALUES FROM (MINVALUE) TO (sno_min('2026-01-01'));
CREATE TABLE feed_new (n integer, more text, id sno NOT NULL);
ALTER TABLE feed_new DROP COLUMN more;
ALTER TABLE feed DROP COLUMN gone;
ALTER TABLE feed ATTACH PARTITION feed_new FOR VALUES FROM (sno_min('2026-01-01')) TO (MAXVALUE);
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON feed FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id');
INSERT INTO feed SELECT sno_generate(), n FROM generate_series(1, 3) AS n;
INSERT INTO feed VALUES (sno_generate(), 4), ('2222222222222222', 5);
INSERT INTO feed VALUES (:'id', 5);
INSERT INTO feed_new (n, id) VALUES (5, :'id');
UPDATE feed SET id = '2222222222222222' WHERE n = 1;
SELECT n, tableoid::regclass FROM feed ORDER BY n;
DROP TABLE feed;

-- A domain, two columns, and a name that needs quotes
CREATE DOMAIN key AS sno CHECK (sno_meta(VALUE) = 0);
CREATE DOMAIN key_of_feed AS key;
CREATE TABLE feed (id key_of_feed, "Other id" sno);
CREATE TRIGGER guard BEFORE INSERT ON feed FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id');
CREATE TRIGGER guard_other BEFORE INSERT ON feed FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('Other id');
INSERT INTO feed VALUES (sno_generate(), sno_generate());
INSERT INTO feed VALUES (:'id', NULL);
INSERT INTO feed VALUES (NULL, :'id');
SELECT count(*) FROM feed;
DROP TABLE feed;

-- A column whose value PostgreSQL makes after the triggers have run
CREATE TABLE feed (n integer, at timestamptz, id sno GENERATED ALWAYS AS (sno_make(at, 0, 1, n, false)) STORED);
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON feed FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id');
INSERT INTO feed VALUES (1, now() - interval '1 hour');
SELECT count(*) FROM feed;
DROP TABLE feed;

-- Triggers that are wrong
\set VERBOSITY default
CREATE TABLE feed (n integer, id sno);
CREATE TRIGGER guard BEFORE INSERT ON feed FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('nothing');
INSERT INTO feed VALUES (1, sno_generate());
\echo :LAST_ERROR_SQLSTATE
CREATE OR REPLACE TRIGGER guard BEFORE INSERT ON feed FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('ctid');
INSERT INTO feed VALUES (1, sno_generate());
\echo :LAST_ERROR_SQLSTATE
CREATE OR REPLACE TRIGGER guard BEFORE INSERT ON feed FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('n');
INSERT INTO feed VALUES (1, sno_generate());
\echo :LAST_ERROR_SQLSTATE
CREATE OR REPLACE TRIGGER guard BEFORE INSERT ON feed FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard();
INSERT INTO feed VALUES (1, sno_generate());
\echo :LAST_ERROR_SQLSTATE
CREATE OR REPLACE TRIGGER guard BEFORE INSERT ON feed FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id', 'n');
INSERT INTO feed VALUES (1, sno_generate());
CREATE OR REPLACE TRIGGER guard AFTER INSERT ON feed FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id');
INSERT INTO feed VALUES (1, sno_generate());
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY terse
CREATE OR REPLACE TRIGGER guard BEFORE INSERT ON feed EXECUTE FUNCTION sno_watermark_guard('id');
INSERT INTO feed VALUES (1, sno_generate());
DROP TRIGGER guard ON feed;
INSERT INTO feed VALUES (1, sno_generate());
CREATE TRIGGER guard BEFORE DELETE ON feed FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id');
DELETE FROM feed;
CREATE OR REPLACE TRIGGER guard BEFORE TRUNCATE ON feed EXECUTE FUNCTION sno_watermark_guard('id');
TRUNCATE feed;
DROP TRIGGER guard ON feed;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OF id ON feed FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id');
INSERT INTO feed VALUES (1, sno_generate());
DROP TRIGGER guard ON feed;
CREATE VIEW feed_view AS SELECT * FROM feed;
CREATE TRIGGER guard INSTEAD OF INSERT ON feed_view FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id');
INSERT INTO feed_view VALUES (1, sno_generate());
SELECT sno_watermark_guard();
\echo :LAST_ERROR_SQLSTATE

--
-- Who may do what
--
GRANT INSERT ON feed TO regress_sno_user;
SET SESSION AUTHORIZATION regress_sno_user;
SELECT sno_watermark() IS NOT NULL;
-- Whoever may make ids holds it back, without any right to a table.
BEGIN;
SELECT sno_generate() AS made \gset
SELECT pg_sleep(0.005);
SELECT sno_watermark() <= :'made' AS held;
COMMIT;
CREATE TABLE own (id sno);
CREATE TRIGGER guard BEFORE INSERT ON own FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id');
INSERT INTO own VALUES (sno_generate());
INSERT INTO own VALUES (:'id');
SELECT * FROM sno_watermark_blockers();
\echo :LAST_ERROR_SQLSTATE
SELECT sno_reset_watermark();
\echo :LAST_ERROR_SQLSTATE
SET SESSION AUTHORIZATION regress_sno_monitor;
SELECT count(*) FROM sno_watermark_blockers();
SELECT sno_reset_watermark();
SET SESSION AUTHORIZATION regress_sno_owner;
SELECT count(*) FROM sno_watermark_blockers();
SELECT sno_reset_watermark();
SELECT sno_watermark() IS NOT NULL;
RESET SESSION AUTHORIZATION;
-- A reset leaves no row behind that is of no use.
SELECT count(*) FROM sno_catalog.sno_lease WHERE kind = 'f';
-- No reset forgets who holds it back.
BEGIN;
SELECT sno_generate() AS id \gset
SELECT pg_sleep(0.005);
SELECT sno_reset_watermark();
SELECT sno_watermark() <= :'id' AS held;
COMMIT;

\c :"db"
DROP DATABASE regress_sno_watermark;
DROP ROLE regress_sno_owner, regress_sno_user, regress_sno_monitor;
