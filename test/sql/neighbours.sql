--
-- Ids in tables: defaults, keys, generated columns, statistics
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
CREATE EXTENSION IF NOT EXISTS amcheck;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
SET default_statistics_target = 100;

--
-- Defaults: each row has an id of its own, however it is made
--
CREATE TABLE neighbour (id sno PRIMARY KEY DEFAULT sno_generate(1), how text, n integer, UNIQUE (how, n));
INSERT INTO neighbour DEFAULT VALUES;
INSERT INTO neighbour VALUES (DEFAULT, 'values', 1), (DEFAULT, 'values', 2), (sno_generate(1), 'values', 3);
INSERT INTO neighbour (how, n) SELECT 'select', n FROM generate_series(1, 1000) AS n;
COPY neighbour (how, n) FROM STDIN;
copy	1
copy	2
copy	3
\.
COPY neighbour (how, n) FROM STDIN (FORMAT csv);
csv,1
csv,2
\.
-- At a conflict an id is lost, and the row that was there keeps its id.
CREATE TEMP TABLE before AS SELECT * FROM neighbour;
INSERT INTO neighbour (how, n) SELECT 'select', n FROM generate_series(999, 1002) AS n ON CONFLICT DO NOTHING;
INSERT INTO neighbour AS t (how, n) SELECT 'select', n FROM generate_series(1002, 1004) AS n
    ON CONFLICT (how, n) DO UPDATE SET n = excluded.n + 10000 RETURNING n;
MERGE INTO neighbour AS t USING (VALUES ('select', 1), ('select', 2), ('merge', 1), ('merge', 2)) AS s (how, n)
    ON (t.how, t.n) = (s.how, s.n)
WHEN MATCHED AND s.n = 1 THEN DELETE
WHEN MATCHED THEN UPDATE SET how = 'matched'
WHEN NOT MATCHED THEN INSERT (how, n) VALUES (s.how, s.n);
WITH moved AS (DELETE FROM neighbour WHERE how = 'csv' RETURNING *)
INSERT INTO neighbour (how, n) SELECT 'moved', n FROM moved;
SELECT t.how, count(*), count(DISTINCT t.id), count(b.id) AS kept
FROM neighbour AS t LEFT JOIN before AS b USING (id) GROUP BY 1 ORDER BY 1;
-- An update to the default takes a new one for each row.
UPDATE neighbour SET id = DEFAULT WHERE how = 'select';
SELECT count(*), count(DISTINCT t.id), count(b.id) AS kept FROM neighbour AS t LEFT JOIN before AS b USING (id) WHERE t.how = 'select';
-- A column that is added gets another id in each row.
ALTER TABLE neighbour ADD COLUMN other sno NOT NULL DEFAULT sno_generate(2);
SELECT count(*), count(DISTINCT other), count(DISTINCT sno_meta(other)) FROM neighbour;
SELECT count(*) FROM neighbour AS a JOIN neighbour AS b ON a.other = b.id;
-- A column of another type becomes one of ids.
ALTER TABLE neighbour ALTER other DROP DEFAULT, ALTER other TYPE uuid USING other::uuid;
ALTER TABLE neighbour ALTER other TYPE sno USING other::sno, ALTER other SET DEFAULT sno_generate(3);
SELECT count(*), count(DISTINCT other), count(DISTINCT sno_meta(other)) FROM neighbour;
-- Identity columns are for integers.
CREATE TABLE neighbour_identity (id sno GENERATED ALWAYS AS IDENTITY);

--
-- Foreign keys
--
CREATE TABLE neighbour_tree (
    id     sno PRIMARY KEY,
    parent sno REFERENCES neighbour_tree ON UPDATE CASCADE ON DELETE CASCADE);
CREATE TABLE neighbour_leaf (
    id    sno PRIMARY KEY,
    tree  sno REFERENCES neighbour_tree ON UPDATE CASCADE ON DELETE SET NULL,
    first sno DEFAULT sno_make('2026-01-01', 1, 0, 0) REFERENCES neighbour_tree ON UPDATE CASCADE ON DELETE SET DEFAULT,
    late  sno REFERENCES neighbour_tree ON UPDATE NO ACTION DEFERRABLE INITIALLY DEFERRED);
CREATE FUNCTION pg_temp.tree(n integer) RETURNS sno IMMUTABLE LANGUAGE sql RETURN sno_make('2026-01-01', 1, 0, n);
INSERT INTO neighbour_tree SELECT pg_temp.tree(n), CASE WHEN n > 0 THEN pg_temp.tree(n / 2) END FROM generate_series(0, 63) AS n;
INSERT INTO neighbour_leaf SELECT sno_make('2026-01-01', 2, 0, n), pg_temp.tree(n % 64), pg_temp.tree(n % 64) FROM generate_series(0, 639) AS n;
INSERT INTO neighbour_leaf VALUES (sno_zero(), sno_zero());
\echo :LAST_ERROR_SQLSTATE
-- Parents that come later in the transaction, and one that doesn't
BEGIN;
INSERT INTO neighbour_leaf (id, late) VALUES (sno_zero(), pg_temp.tree(64));
INSERT INTO neighbour_tree VALUES (pg_temp.tree(64), pg_temp.tree(32));
COMMIT;
BEGIN;
INSERT INTO neighbour_leaf (id, late) VALUES (sno_with_meta(sno_zero(), 1), pg_temp.tree(65));
COMMIT;
-- A key changes, and its children 32 and 33 with it.  A branch that others need is
-- deleted.
UPDATE neighbour_tree SET id = sno_with_meta(id, 9) WHERE id = pg_temp.tree(16);
SELECT count(*) FILTER (WHERE sno_meta(parent) = 9) AS children, (SELECT count(*) FROM neighbour_leaf WHERE sno_meta(tree) = 9) AS leaves FROM neighbour_tree;
DELETE FROM neighbour_tree WHERE id = pg_temp.tree(8);
DELETE FROM neighbour_leaf WHERE late IS NOT NULL;
DELETE FROM neighbour_tree WHERE id = pg_temp.tree(8);
SELECT count(*) FROM neighbour_tree;
SELECT count(*), count(tree), count(DISTINCT first), count(*) FILTER (WHERE first = pg_temp.tree(0)) AS first_default FROM neighbour_leaf;
-- A deferred foreign key is checked at the end of the transaction.
ALTER TABLE neighbour_leaf DROP CONSTRAINT neighbour_leaf_tree_fkey;
UPDATE neighbour_leaf SET tree = sno_zero() WHERE id = sno_make('2026-01-01', 2, 0, 7);
ALTER TABLE neighbour_leaf ADD FOREIGN KEY (tree) REFERENCES neighbour_tree NOT VALID;
ALTER TABLE neighbour_leaf VALIDATE CONSTRAINT neighbour_leaf_tree_fkey;
UPDATE neighbour_leaf SET tree = NULL WHERE tree = sno_zero();
ALTER TABLE neighbour_leaf VALIDATE CONSTRAINT neighbour_leaf_tree_fkey;
-- Ids refer to ids only.
\set VERBOSITY sqlstate
CREATE TABLE neighbour_uuid (id uuid REFERENCES neighbour_tree);
\set VERBOSITY default

--
-- Generated columns
--
CREATE TABLE neighbour_made (
    id      sno PRIMARY KEY DEFAULT sno_generate(7),
    made_at timestamptz GENERATED ALWAYS AS (sno_timestamp(id)) STORED,
    kind    integer GENERATED ALWAYS AS (sno_meta(id)) STORED,
    key     uuid GENERATED ALWAYS AS (id::uuid) STORED,
    n       integer);
INSERT INTO neighbour_made (n) SELECT n FROM generate_series(1, 1000) AS n;
INSERT INTO neighbour_made (id) VALUES ('brpk4q72xwf2m63l') RETURNING *;
UPDATE neighbour_made SET id = sno_with_meta(id, 8) WHERE n <= 10;
SELECT kind, count(*), bool_and(made_at = id::timestamptz) AS time, bool_and(key::sno = id) AS key FROM neighbour_made GROUP BY 1 ORDER BY 1;
INSERT INTO neighbour_made (made_at) VALUES (now());
CREATE INDEX ON neighbour_made (made_at);
SELECT count(*) FROM neighbour_made WHERE made_at < '2026-01-01';
-- sno_generate() can't be the expression of a generated column.
CREATE TABLE neighbour_never (n integer, id sno GENERATED ALWAYS AS (sno_generate(n)) STORED);

--
-- Indexes built in parallel, and while others write
--
CREATE TABLE neighbour_big AS
SELECT sno_make(timestamptz '2026-01-01' + n % 7919 * interval '1 min', n % 256, n % 100, n % 65536) AS id, n FROM generate_series(1, 40000) AS n;
ALTER TABLE neighbour_big SET (parallel_workers = 2);
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers = 2;
SET max_parallel_maintenance_workers = 2;
SET log_temp_files = -1;
SET client_min_messages = debug1;
CREATE UNIQUE INDEX neighbour_big_id ON neighbour_big (id);
RESET client_min_messages;
CREATE INDEX CONCURRENTLY neighbour_big_id_desc ON neighbour_big (id DESC) INCLUDE (n);
REINDEX INDEX CONCURRENTLY neighbour_big_id;
SELECT i, bt_index_parent_check(i, true, true) FROM unnest('{neighbour_big_id,neighbour_big_id_desc}'::regclass[]) AS i;
SET enable_seqscan = off;
SELECT n FROM neighbour_big WHERE id = (SELECT id FROM neighbour_big WHERE n = 12345);
RESET enable_seqscan;
SET max_parallel_maintenance_workers = 0;
CREATE UNIQUE INDEX neighbour_big_id_serial ON neighbour_big (id);
SELECT pg_relation_size('neighbour_big_id') BETWEEN 0.95 * pg_relation_size('neighbour_big_id_serial') AND 1.05 * pg_relation_size('neighbour_big_id_serial') AS of_one_size;

--
-- ANALYZE, and what the planner makes of it.  All rows are in the sample, so
-- the figures are the same each time.
--
CREATE TABLE neighbour_event (id sno PRIMARY KEY, parent sno);
-- Hours of 1 to 24 events, for 66 days and some
INSERT INTO neighbour_event
SELECT sno_make(timestamptz '2026-01-01' + hour * interval '1 hour' + n * interval '2 min', n % 4, 0, 0), CASE WHEN hour % 10 > 0 THEN sno_make('2026-01-01', 1, 0, hour / 10) END
FROM generate_series(0, 1599) AS hour, LATERAL generate_series(0, hour % 24) AS n;
ANALYZE neighbour_event;
SELECT attname, null_frac, n_distinct, array_length(most_common_vals::text::sno[], 1) AS common, array_length(histogram_bounds::text::sno[], 1) AS bounds, correlation
FROM pg_stats WHERE tablename = 'neighbour_event' ORDER BY attname;

CREATE FUNCTION pg_temp.estimate(query text, OUT estimated numeric, OUT actual numeric) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT json) ' || query INTO plan;
    estimated := plan #> '{0,Plan,Plan Rows}';
    actual := round((plan #> '{0,Plan,Actual Rows}')::numeric);
END $$;
-- A range is off by a part of one of the histogram's buckets at each end,
-- which is a small factor where it holds more than one.
CREATE FUNCTION pg_temp.worst(days numeric, buckets integer, OUT ranges bigint, OUT within_a_bucket boolean, OUT factor numeric) LANGUAGE sql AS $$
    SELECT count(*), bool_and(abs(estimated - actual) <= 1 + (SELECT count(*) FROM neighbour_event) / buckets),
        round(max(greatest(estimated / actual, actual / estimated)), 1)
    FROM generate_series(timestamptz '2026-01-02', '2026-01-30', '1 day') AS day,
        pg_temp.estimate(format('SELECT FROM neighbour_event WHERE id <@ tstzrange(%L, %L)', day, day + days * interval '1 day'))
$$;
SELECT * FROM unnest('{0.25,1,7,30}'::numeric[]) AS days, pg_temp.worst(days, 100);
ALTER TABLE neighbour_event ALTER id SET STATISTICS 1000;
ANALYZE neighbour_event;
SELECT * FROM unnest('{0.25,1,7,30}'::numeric[]) AS days, pg_temp.worst(days, 1000);
-- Times that the planner reads off the clock; nothing outside of what there is
SELECT * FROM pg_temp.estimate($$SELECT FROM neighbour_event WHERE id <@ tstzrange(NULL, now())$$);
SELECT * FROM pg_temp.estimate($$SELECT FROM neighbour_event WHERE id <@ tstzrange(now() + interval '1 day', NULL)$$);
SELECT * FROM pg_temp.estimate($$SELECT FROM neighbour_event WHERE id <@ tstzrange('2020-01-01', '2025-01-01')$$);
SELECT * FROM pg_temp.estimate($$SELECT FROM neighbour_event WHERE id = sno_make('2026-01-01', 0, 0, 0)$$);
-- Parents: each has up to 225 events; joined, and counted
SELECT estimated BETWEEN actual / 2 AND actual * 2 AS within_2 FROM pg_temp.estimate($$SELECT FROM neighbour_event WHERE parent = sno_make('2026-01-01', 1, 0, 50)$$);
SELECT estimated = actual AS exact FROM pg_temp.estimate($$SELECT FROM neighbour_event WHERE parent IS NULL$$);
CREATE TABLE neighbour_parent (id sno PRIMARY KEY);
INSERT INTO neighbour_parent SELECT DISTINCT parent FROM neighbour_event WHERE parent IS NOT NULL;
ANALYZE neighbour_parent;
SELECT estimated BETWEEN actual / 1.1 AND actual * 1.1 AS within_10_percent FROM pg_temp.estimate('SELECT FROM neighbour_event AS e JOIN neighbour_parent AS p ON e.parent = p.id');
SELECT estimated BETWEEN actual / 1.1 AND actual * 1.1 AS within_10_percent FROM pg_temp.estimate('SELECT parent FROM neighbour_event GROUP BY parent');

SET client_min_messages = warning;
DROP TABLE neighbour, neighbour_leaf, neighbour_tree, neighbour_made, neighbour_big, neighbour_event, neighbour_parent;
