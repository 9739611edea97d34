--
-- Properties of what is built on ids: sorting, indexes, window frames, and ids
-- made from fields.  Run with pg_prove.
--
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS amcheck;
CREATE EXTENSION IF NOT EXISTS sno;
SET LOCAL TimeZone = 'UTC';
SELECT no_plan();

-- A number from 0 to 2^31 - 1, the same on every run
CREATE FUNCTION pg_temp.hash(text) RETURNS bigint IMMUTABLE LANGUAGE sql
RETURN ('x' || left(md5($1), 8))::bit(32)::bigint & 2147483647;

--
-- Sorting
--

-- Sets of ids, each of them shuffled.  A bulk load fills few units and one
-- partition; abbreviated keys keep apart what is near the first id that comes,
-- in time or in partition, and must put the rest in order all the same.
CREATE TABLE sorting (kind text, id sno);
INSERT INTO sorting
SELECT kind, id
FROM (
    SELECT 'one load' AS kind, sno_make(timestamptz '2026-01-01' + n / 8000 * interval '4 ms', 1, 1000, n % 8000) AS id
    FROM generate_series(0, 39999) AS n
    UNION ALL
    SELECT 'one load, any metabyte', sno_make(timestamptz '2026-01-01' + n / 8000 * interval '4 ms', pg_temp.hash('m' || n)::int % 256, 1000, n % 8000)
    FROM generate_series(0, 39999) AS n
    UNION ALL
    SELECT 'many loads', sno_make(timestamptz '2020-01-01' + n / 1000 * interval '61 days' + n % 3 * interval '4 ms',
        n / 12000, 1000 + n / 1000 * 5, n % 1000, n % 7 = 0)
    FROM generate_series(0, 39999) AS n
    UNION ALL
    SELECT 'spread over the epoch', sno_make(timestamptz '2010-01-01' + n * interval '54950 s', n % 3, pg_temp.hash('p' || n)::int % 65536)
    FROM generate_series(0, 39999) AS n
    UNION ALL
    SELECT 'any bits', substring(sha256(n::text::bytea) FOR 10)::sno
    FROM generate_series(0, 39999) AS n
    UNION ALL
    SELECT 'few, often', sno_make('2026-01-01', n % 100, 1000)
    FROM generate_series(0, 39999) AS n
    UNION ALL
    SELECT 'the edges', id
    FROM (SELECT set_bit('\x00000000000000000000'::bytea, n, 1)::sno FROM generate_series(0, 79) AS n
          UNION ALL SELECT set_bit('\xffffffffffffffffffff'::bytea, n, 0)::sno FROM generate_series(0, 79) AS n
          UNION ALL SELECT sno_zero() UNION ALL SELECT sno_max('infinity')) AS e (id), generate_series(1, 50)) AS s
ORDER BY pg_temp.hash(id::text || kind);
CREATE INDEX ON sorting (kind);
ANALYZE sorting;

-- How many ids of a sorted set are followed by one with lower bytes
CREATE FUNCTION pg_temp.misplaced(kind text, direction text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    result bigint;
BEGIN
    EXECUTE format('
        SELECT count(*) FILTER (WHERE %s)
        FROM (SELECT id::bytea AS bytes, lead(id::bytea) OVER () AS next
              FROM (SELECT id FROM (SELECT id FROM sorting WHERE kind = %L OFFSET 0) AS q ORDER BY id %s OFFSET 0) AS q) AS s',
        CASE direction WHEN 'ASC' THEN 'bytes > next' ELSE 'bytes < next' END, kind, direction) INTO result;
    RETURN result;
END $$;
SELECT is(pg_temp.misplaced(kind, direction), 0::bigint, format('sorting: %s, %s', kind, direction))
FROM (SELECT DISTINCT kind COLLATE "C" AS kind FROM sorting ORDER BY 1) AS k, unnest('{ASC,DESC}'::text[]) AS direction;

-- With any id first
SET LOCAL work_mem = '32MB';
SELECT is_empty(format($$
    SELECT * FROM (
        SELECT bytes > lead(bytes) OVER () AS wrong
        FROM (SELECT id::bytea AS bytes FROM (
            SELECT id FROM (SELECT id FROM sorting WHERE kind = 'many loads' LIMIT 8000 OFFSET %s) AS s ORDER BY id OFFSET 0) AS s) AS s) AS s
    WHERE wrong
$$, n), 'sorting: many loads, from row ' || n)
FROM generate_series(0, 28000, 4000) AS n;

-- Merged from disk
SET LOCAL work_mem = '64kB';
SELECT is(pg_temp.misplaced('many loads', 'ASC'), 0::bigint, 'sorting: merged from disk');
RESET work_mem;

--
-- Indexes
--

SELECT lives_ok(format('CREATE INDEX sorting_btree ON sorting (id) WHERE kind <> %L', ''), 'btree: built at once');
SELECT lives_ok($$SELECT bt_index_check('sorting_btree', true)$$, 'btree: every row is where it belongs');
SELECT lives_ok($$SELECT bt_index_parent_check('sorting_btree', true, true)$$, 'btree: found from the root, in the order of the bytes');
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL maintenance_work_mem = '4MB';
SELECT lives_ok('CREATE INDEX sorting_small ON sorting (id)', 'btree: built in parallel, merged from disk');
SELECT lives_ok($$SELECT bt_index_parent_check('sorting_small', true, true)$$, 'btree: a parallel build is sound');
INSERT INTO sorting SELECT 'later', id FROM sorting WHERE kind = 'any bits' LIMIT 5000;
DELETE FROM sorting WHERE kind = 'few, often';
SELECT lives_ok($$SELECT bt_index_parent_check('sorting_small', true, true)$$, 'btree: sound after inserts and deletes');

CREATE TABLE few_rows AS SELECT kind, id FROM sorting WHERE pg_temp.hash(kind || id) % 60 = 0;
CREATE TABLE by_gist AS TABLE few_rows;
CREATE INDEX ON by_gist USING gist (id);
CREATE TABLE by_gist_inserted (LIKE few_rows);
CREATE INDEX ON by_gist_inserted USING gist (id);
INSERT INTO by_gist_inserted TABLE few_rows;
CREATE TABLE by_minmax AS TABLE few_rows;
CREATE INDEX ON by_minmax USING brin (id) WITH (pages_per_range = 2);
CREATE TABLE by_multi AS TABLE few_rows;
CREATE INDEX ON by_multi USING brin (id sno_minmax_multi_ops) WITH (pages_per_range = 2);
CREATE TABLE by_bloom AS TABLE few_rows;
CREATE INDEX ON by_bloom USING brin (id sno_bloom_ops) WITH (pages_per_range = 2);
CREATE TABLE by_hash AS TABLE few_rows;
CREATE INDEX ON by_hash USING hash (id);
CREATE TABLE by_btree AS TABLE few_rows;
CREATE INDEX ON by_btree (id);
ANALYZE;
CREATE TEMP TABLE probe AS
(SELECT id FROM few_rows ORDER BY pg_temp.hash('probe' || id) LIMIT 40)
UNION SELECT sno_zero() UNION SELECT sno_max('infinity') UNION SELECT sno_max('2026-01-01');

CREATE FUNCTION pg_temp.found(relation text, operator text) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    result bigint[];
BEGIN
    SET LOCAL enable_seqscan = off;
    EXECUTE format('SELECT array_agg((SELECT count(*) FROM %I AS r WHERE r.id %s p.id) ORDER BY p.id) FROM probe AS p', relation, operator) INTO result;
    SET LOCAL enable_seqscan = on;
    RETURN result;
END $$;
SELECT is(pg_temp.found(relation, operator), pg_temp.found('few_rows', operator), format('%s: %s finds what a scan finds', relation, operator))
FROM unnest('{by_btree,by_gist,by_gist_inserted,by_minmax,by_multi}'::text[]) AS relation, unnest('{<,<=,=,>=,>}'::text[]) AS operator
UNION ALL
SELECT is(pg_temp.found(relation, '='), pg_temp.found('few_rows', '='), format('%s: = finds what a scan finds', relation))
FROM unnest('{by_hash,by_bloom}'::text[]) AS relation
UNION ALL
SELECT is(pg_temp.found(relation, '<>'), pg_temp.found('few_rows', '<>'), format('%s: <> finds what a scan finds', relation))
FROM unnest('{by_gist,by_gist_inserted}'::text[]) AS relation;

--
-- Window frames, against those of timestamptz
--

SELECT is_empty($$
    SELECT v.id, b.id, i, sub, less
    FROM probe AS v, probe AS b, unnest('{0, 4 ms, 3999 us, 1 day, 1 mon, 1 mon -3 days, -1 mon 40 days, 7 years 3 days 5:00, 20 years, 5000 days, 100000 h, 99 years,
        100 years, 101 years, 36600 days, 36601 days, 878400 h, 878401 h, 200 years -100 days}'::interval[]) AS i,
        unnest('{true,false}'::bool[]) AS sub, unnest('{true,false}'::bool[]) AS less
    WHERE sno_catalog.sno_in_range(v.id, b.id, i, sub, less) <> in_range(sno_timestamp(v.id), sno_timestamp(b.id), i, sub, less)
$$, 'in_range: the same for ids and for their times');

SELECT is_empty($$
    SELECT id, ids, times
    FROM (SELECT id, count(*) OVER ids AS ids, count(*) OVER times AS times FROM few_rows
          WINDOW ids AS (ORDER BY id RANGE BETWEEN '1 year 2 h' PRECEDING AND '8 ms' FOLLOWING),
              times AS (ORDER BY sno_timestamp(id) RANGE BETWEEN '1 year 2 h' PRECEDING AND '8 ms' FOLLOWING)) AS s
    WHERE ids <> times
$$, 'frames: the same for ids and for their times');

--
-- Ids from fields
--

SELECT is_empty($$
    SELECT id FROM few_rows, sno_parts(id) AS p
    WHERE sno_make(p."timestamp", p.meta, p.partition, p.sequence, p.tick_tock) <> id
        OR sno_make(p."timestamp" + interval '3999 us', p.meta, p.partition, p.sequence, p.tick_tock) <> id
$$, 'make: the parts of an id make the same id');

SELECT is_empty($$
    SELECT a.id, b.id FROM probe AS a, probe AS b, sno_parts(a.id) AS p, sno_parts(b.id) AS q
    WHERE sno_with_timestamp(a.id, q."timestamp") <> sno_make(q."timestamp", p.meta, p.partition, p.sequence, p.tick_tock)
        OR sno_with_meta(a.id, q.meta) <> sno_make(p."timestamp", q.meta, p.partition, p.sequence, p.tick_tock)
        OR sno_with_partition(a.id, q.partition) <> sno_make(p."timestamp", p.meta, q.partition, p.sequence, p.tick_tock)
        OR sno_with_sequence(a.id, q.sequence) <> sno_make(p."timestamp", p.meta, p.partition, q.sequence, p.tick_tock)
$$, 'with: one field changes, the others stay');

SELECT is_empty($$
    SELECT id, m FROM probe, generate_series(0, 255, 5) AS m
    WHERE sno_min(id::timestamptz, m) <> sno_make(id::timestamptz, m, 0, 0, false)
        OR sno_max(id::timestamptz, m) <> sno_make(id::timestamptz, m, 65535, 65535, true)
        OR NOT sno_with_meta(id, m) BETWEEN sno_min(id::timestamptz, m) AND sno_max(id::timestamptz, m)
$$, 'bounds of a metabyte: all ids with it, of their unit, are between them');

SELECT is_empty($$
    SELECT id FROM (
        SELECT id, sno_to_uuidv8(id) AS uuid, row_number() OVER (ORDER BY id) AS by_id, row_number() OVER (ORDER BY sno_to_uuidv8(id)) AS by_uuid
        FROM (SELECT DISTINCT id FROM few_rows) AS s) AS s
    WHERE sno_from_uuidv8(uuid) <> id OR by_id <> by_uuid OR substr(uuid::text, 15, 1) <> '8' OR substr(uuid::text, 20, 1) NOT IN ('8', '9', 'a', 'b')
        OR left(replace(uuid::text, '-', ''), 12) <> left(encode(id::bytea, 'hex'), 12)
$$, 'version 8 uuids: there and back, in order, with the first 48 bits in front');

SELECT is_empty($$
    SELECT t FROM (
        SELECT id::text AS t, true AS expected FROM few_rows
        UNION ALL SELECT upper(id::text), id::text ~ '^[2-9]*$' FROM few_rows
        UNION ALL SELECT overlay(id::text PLACING substr('01yz!/:`', 1 + pg_temp.hash(id::text)::int % 8, 1) FROM 1 + pg_temp.hash(id::text)::int / 8 % 16), false FROM few_rows
        UNION ALL SELECT id || '2', false FROM few_rows UNION ALL SELECT left(id::text, 15), false FROM few_rows) AS s
    WHERE sno_is_valid(t) <> expected
$$, 'validity: of 16 characters of the alphabet');

SELECT * FROM finish();
ROLLBACK;
