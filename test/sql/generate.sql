--
-- The session generator: in SQL of all kinds, no id twice
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;

-- The metabyte
SELECT sno_meta(sno_generate()), sno_meta(sno_generate(0)), sno_meta(sno_generate(255));
SELECT sno_generate(NULL) IS NULL AS null;
SELECT sno_generate(-1);
SELECT sno_generate(256);
SELECT sno_generate(-2147483648);
SELECT sno_generate(2147483647);
DO $$
BEGIN
    PERFORM sno_generate(256);
EXCEPTION WHEN numeric_value_out_of_range THEN
    RAISE NOTICE '%', SQLSTATE;
END
$$;

-- The time of an id is that of the call, rounded down to its unit.
DO $$
DECLARE
    before timestamptz;
    after timestamptz;
    id sno;
BEGIN
    FOR i IN 1 .. 100 LOOP
        before := clock_timestamp();
        id := sno_generate(i);
        after := clock_timestamp();
        ASSERT sno_timestamp(id) > before - interval '4 ms', 'too early';
        ASSERT sno_timestamp(id) <= after, 'too late';
        ASSERT sno_meta(id) = i, 'not our metabyte';
        ASSERT sno_sequence(id) BETWEEN 0 AND 65535;
        ASSERT sno_partition(id) BETWEEN 0 AND 65535;
    END LOOP;
END
$$;

-- Many ids in one statement: no two are the same, even without their metabytes.  They
-- ascend while the session stays in its partition; their times always do.
CREATE TEMP TABLE many AS
SELECT n, sno_generate() AS id, sno_generate(n % 256) AS other
FROM generate_series(1, 100000) AS n;

SELECT count(DISTINCT id) + count(DISTINCT other) AS ids FROM many;
SELECT count(*) AS ids, count(DISTINCT
    (sno_timestamp(id), sno_tick_tock(id), sno_partition(id), sno_sequence(id))) AS numbers
FROM (SELECT id FROM many UNION ALL SELECT other FROM many) AS pair;
SELECT count(*) AS descents
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS previous FROM many) AS pair
WHERE id <= previous AND sno_partition(id) = sno_partition(previous)
    OR sno_timestamp(id) < sno_timestamp(previous);

-- A column's default
CREATE TABLE generate_person (
    id   sno PRIMARY KEY DEFAULT sno_generate(1),
    name text NOT NULL,
    seen sno DEFAULT sno_generate(2));
INSERT INTO generate_person (name) VALUES ('Ada'), ('Grace'), ('Barbara');
INSERT INTO generate_person (name) SELECT 'Nobody ' || n FROM generate_series(1, 1000) AS n;
COPY generate_person (name) FROM stdin;
Edsger
Donald
\.
INSERT INTO generate_person (name) VALUES ('Ada') RETURNING sno_meta(id), sno_meta(seen), id < seen AS later;
UPDATE generate_person SET seen = sno_generate(3) WHERE name = 'Ada' RETURNING name, sno_meta(seen);
SELECT count(*), count(DISTINCT id), count(DISTINCT seen), sum((id < seen)::int) AS ascending
FROM generate_person;
SELECT name FROM generate_person ORDER BY id LIMIT 3;

-- A trigger
CREATE TABLE generate_trigger (id sno PRIMARY KEY, n integer);
CREATE FUNCTION generate_set_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := sno_generate(NEW.n);
    RETURN NEW;
END
$$;
CREATE TRIGGER set_id BEFORE INSERT ON generate_trigger
FOR EACH ROW EXECUTE FUNCTION generate_set_id();
INSERT INTO generate_trigger (n) SELECT generate_series(0, 255);
SELECT count(DISTINCT id), bool_and(sno_meta(id) = n) AS meta FROM generate_trigger;
INSERT INTO generate_trigger (n) VALUES (256);

-- Read-only transactions
BEGIN TRANSACTION READ ONLY;
SELECT count(DISTINCT sno_generate()) FROM generate_series(1, 1000);
COMMIT;
BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE;
SELECT count(DISTINCT sno_generate()) FROM generate_series(1, 1000);
COMMIT;

-- A prepared statement makes new ids at each execution, as a generic plan too.
SET plan_cache_mode = force_generic_plan;
PREPARE generate(integer) AS SELECT sno_generate($1) AS id;
EXECUTE generate(1) \gset one_
EXECUTE generate(2) \gset two_
EXECUTE generate(2) \gset three_
EXECUTE generate(256);
SELECT sno_meta(:'one_id'), sno_meta(:'two_id'), :'two_id'::sno < :'three_id' AS later;
DEALLOCATE generate;
RESET plan_cache_mode;

-- Rollbacks of all kinds leave gaps; no id comes again.
SELECT sno_generate() AS a \gset
BEGIN;
SELECT sno_generate() AS b \gset
SAVEPOINT s;
SELECT sno_generate() AS c \gset
ROLLBACK TO SAVEPOINT s;
SELECT sno_generate() AS d \gset
ROLLBACK;
SELECT sno_generate() AS e \gset
SELECT :'a'::sno < :'b' AS b, :'b'::sno < :'c' AS c, :'c'::sno < :'d' AS d, :'d'::sno < :'e' AS e;

CREATE FUNCTION generate_with_exceptions() RETURNS SETOF sno LANGUAGE plpgsql AS $$
DECLARE
    id sno;
BEGIN
    FOR i IN 1 .. 1000 LOOP
        BEGIN
            id := sno_generate();
            IF i % 2 = 0 THEN
                PERFORM sno_generate(i / 0);
            END IF;
        EXCEPTION WHEN division_by_zero THEN
            NULL;
        END;
        RETURN NEXT id;
    END LOOP;
END
$$;
SELECT count(*), count(DISTINCT id) FROM generate_with_exceptions() AS id;

-- A cursor makes ids when they are fetched.  A cursor WITH HOLD makes them at COMMIT,
-- and then always shows the same ones.
BEGIN;
DECLARE c CURSOR FOR SELECT sno_generate() AS id FROM generate_series(1, 10);
DECLARE h SCROLL CURSOR WITH HOLD FOR SELECT sno_generate() AS id FROM generate_series(1, 10);
FETCH c \gset one_
SELECT sno_generate() AS id \gset two_
FETCH c \gset three_
COMMIT;
FETCH h \gset four_
FETCH h \gset five_
FETCH PRIOR FROM h \gset again_
SELECT :'one_id'::sno < :'two_id' AS two, :'two_id'::sno < :'three_id' AS three,
    :'three_id'::sno < :'four_id' AS four, :'four_id'::sno < :'five_id' AS five,
    :'four_id' = :'again_id' AS again;
CLOSE h;

-- Parallel workers are sessions like any other.
CREATE TABLE generate_source AS SELECT n FROM generate_series(1, 20000) AS n;
ALTER TABLE generate_source SET (parallel_workers = 2);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers = 2;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
-- (18 shows fractions of rows.)
CREATE FUNCTION pg_temp.run(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE
        'EXPLAIN (ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        RETURN NEXT replace(line, '.00 ', ' ');
    END LOOP;
END $$;
SELECT pg_temp.run('CREATE TABLE generate_parallel AS SELECT sno_generate(1) AS id FROM generate_source');
SET parallel_leader_participation = on;
INSERT INTO generate_parallel SELECT sno_generate(1) FROM generate_source;
SELECT count(*), count(DISTINCT id) FROM generate_parallel;
-- Workers don't run a CTE: this is one id.
WITH batch AS MATERIALIZED (SELECT sno_generate(1) AS id) SELECT count(*), count(DISTINCT id) FROM generate_source, batch;
SELECT count(DISTINCT sno_generate()) FROM generate_source WHERE sno_generate() IS NOT NULL;
-- After an error in a worker, all is as before.
\set VERBOSITY terse
SELECT count(*) FROM generate_source WHERE sno_generate(256 + n % 1) IS NULL;
\set VERBOSITY default
SELECT count(*) FROM generate_source WHERE sno_generate() IS NULL;
RESET ALL;

DROP TABLE generate_person, generate_trigger, generate_source, generate_parallel;
DROP FUNCTION generate_set_id(), generate_with_exceptions();

-- Settings
SHOW sno.partitions;
SHOW sno.lease_duration;
SHOW sno.max_wait;
SELECT name, context, vartype, unit, min_val, max_val, boot_val
FROM pg_settings WHERE name LIKE 'sno.%' ORDER BY name;
SET sno.partitions = '1-2';
SHOW sno.partitions;
RESET sno.partitions;
-- A range is in force at once, not from the next unit on.
DO $$
DECLARE
    ids CONSTANT refcursor := 'ids';
    first integer;
    id sno;
BEGIN
    OPEN ids FOR SELECT sno_generate_many(200);
    FOR i IN 1 .. 200 LOOP
        first := 20000 + i % 2 * 10000;
        PERFORM set_config('sno.partitions', first || '-' || first + 9999, true);
        id := sno_generate();
        ASSERT sno_partition(id) BETWEEN first AND first + 9999, 'partition of a session';
        FETCH ids INTO id;
        ASSERT sno_partition(id) BETWEEN first AND first + 9999, 'partition of a run';
    END LOOP;
END $$;
SET sno.lease_duration = '2s';
SET sno.max_wait = '2s';
SHOW sno.max_wait;
SET sno.max_wait = 'long';
RESET sno.max_wait;
SET sno.nonsense = 1;
SELECT name, unit, boot_val, min_val, max_val, context FROM pg_settings
WHERE name LIKE 'sno.%' AND vartype = 'integer' ORDER BY name;
-- 17 tells the bounds with their units.
\set VERBOSITY sqlstate
SET sno.max_wait = -1;
ALTER SYSTEM SET sno.lease_duration = 0;
ALTER SYSTEM SET sno.lease_duration = '2d';
\set VERBOSITY default
ALTER SYSTEM SET sno.partitions = '';
ALTER SYSTEM SET sno.partitions = '5-4';
ALTER SYSTEM SET sno.partitions = '0-65536';
ALTER SYSTEM SET sno.partitions = '65536';
ALTER SYSTEM SET sno.partitions = '-1';
ALTER SYSTEM SET sno.partitions = '1-';
ALTER SYSTEM SET sno.partitions = '1--2';
ALTER SYSTEM SET sno.partitions = ' 1-2';
ALTER SYSTEM SET sno.partitions = '1-2 ';
ALTER SYSTEM SET sno.partitions = '1-2-3';
ALTER SYSTEM SET sno.partitions = '1,2';
ALTER SYSTEM SET sno.partitions = '0x1';
ALTER SYSTEM SET sno.partitions = 'all';
ALTER SYSTEM SET sno.partitions = '99999999999999999999';

-- The extension is created, dropped and rolled back in the transaction that uses it:
-- in a database of its own, because other tests may use the extension of this one.
SELECT current_database() AS db \gset
CREATE DATABASE regress_sno_generate;
\c regress_sno_generate
BEGIN;
CREATE EXTENSION sno;
SELECT sno_generate() AS a \gset
ROLLBACK;
\set VERBOSITY terse
SELECT sno_generate();
\set VERBOSITY default
BEGIN;
CREATE EXTENSION sno;
CREATE TABLE t (id sno PRIMARY KEY DEFAULT sno_generate(), n integer);
INSERT INTO t VALUES (:'a');
INSERT INTO t (n) SELECT generate_series(1, 1000);
COMMIT;
INSERT INTO t (n) SELECT generate_series(1, 1000);

BEGIN;
DROP EXTENSION sno CASCADE;
CREATE EXTENSION sno;
SELECT sno_generate() AS b \gset
SAVEPOINT s;
DROP EXTENSION sno;
CREATE EXTENSION sno;
SELECT sno_generate() AS c \gset
ROLLBACK TO SAVEPOINT s;
SELECT sno_generate() AS d \gset
ROLLBACK;
INSERT INTO t VALUES (:'b'), (:'c'), (:'d');
INSERT INTO t (n) SELECT generate_series(1, 1000);
SELECT count(*) FROM t;
-- Each transaction that created the extension had a partition of its own, and those of both
-- that did not roll it back have rows.
SELECT count(DISTINCT sno_partition(id)) FROM t;
SELECT count(*) FROM sno_catalog.sno_lease;

DROP EXTENSION sno CASCADE;
CREATE EXTENSION sno;
SELECT pg_sleep(0.01);
SELECT sno_generate() IS NOT NULL AS made;
SELECT count(*) FROM sno_catalog.sno_lease;
\c :db
DROP DATABASE regress_sno_generate;
