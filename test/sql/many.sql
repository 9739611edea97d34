--
-- Many ids from one call
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;

-- How many, and of which metabyte
SELECT count(*), min(sno_meta(id)), max(sno_meta(id)) FROM sno_generate_many(10) AS id;
SELECT count(*), min(sno_meta(id)), max(sno_meta(id)) FROM sno_generate_many(10, 255) AS id;
SELECT sno_generate_many(0);
SELECT sno_generate_many(NULL);
SELECT sno_generate_many(1, NULL);
SELECT sno_generate_many(-1);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_generate_many(-9223372036854775808);
SELECT sno_generate_many(0, 256);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_generate_many(1, -1);
SELECT count(id) FROM (SELECT sno_generate_many(9223372036854775807) AS id LIMIT 1000) AS s;

-- No two are the same, even without their metabytes.  They ascend while the session
-- stays in its partition; their times always do.
CREATE TEMP TABLE many AS
SELECT sno_generate_many(300000, 7) AS id;
INSERT INTO many SELECT id FROM sno_generate_many(100000) AS id;
CREATE TEMP VIEW pair AS
SELECT id, lag(id) OVER (ORDER BY ctid) AS previous FROM many;
SELECT count(*), count(DISTINCT id), count(DISTINCT sno_with_meta(id, 0)) FROM many;
SELECT count(*) AS descents FROM pair
WHERE sno_timestamp(id) < sno_timestamp(previous)
    OR id <= previous AND sno_partition(id) = sno_partition(previous) AND sno_meta(id) = sno_meta(previous);

-- Other calls make ids between them.
CREATE TEMP TABLE turns AS
SELECT sno_generate_many(10000) AS a, sno_generate() AS b, sno_generate_many(10000, 1) AS c, sno_generate(2) AS d;
SELECT count(DISTINCT sno_with_meta(id, 0)) FROM turns, unnest(ARRAY[a, b, c, d]) AS id;
CREATE TEMP TABLE later AS
SELECT sno_with_meta(id, 0) AS id, lag(sno_with_meta(id, 0)) OVER (ORDER BY turns.ctid, column1) AS previous
FROM turns, LATERAL (VALUES ('a', a), ('b', b), ('c', c), ('d', d)) AS v (column1, id);
SELECT count(*) AS descents FROM later
WHERE id <= previous AND (sno_partition(id) = sno_partition(previous) OR sno_timestamp(id) < sno_timestamp(previous));

-- Ids that are not fetched are not made: the next id follows the last one fetched.
SELECT count(*) > 0 AS some, sum((sno_sequence(a) <> sno_sequence(b) + 1)::int) AS gaps FROM (
    SELECT b, sno_generate() AS a
    FROM generate_series(1, 1000) AS n, LATERAL (SELECT sno_generate_many(1000000 + n) LIMIT 1) AS s (b)) AS s
WHERE sno_timestamp(a) = sno_timestamp(b) AND sno_partition(a) = sno_partition(b);

-- An id is made when it is fetched.
BEGIN;
DECLARE c CURSOR FOR SELECT sno_generate_many(10) AS id;
FETCH 5 FROM c \g /dev/null
SELECT pg_sleep(0.1);
SELECT clock_timestamp() AS before \gset
FETCH c \gset
SELECT sno_timestamp(:'id') > :'before'::timestamptz - interval '20 ms' AS fresh;
COMMIT;

-- Another count for each row.  One call in FROM is made once, whatever the plan: so no worker
-- makes it.
SELECT sno_create_generator('many') IS NOT NULL AS made;
CREATE TABLE many_source AS SELECT n FROM generate_series(1, 1000) AS n;
ALTER TABLE many_source SET (parallel_workers = 2);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers = 2;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF)
SELECT id FROM many_source, sno_generate_many(n % 10) AS id;
CREATE TABLE many_parallel AS
SELECT id FROM many_source, sno_generate_many(n % 10) AS id;
INSERT INTO many_parallel
SELECT id FROM many_source, LATERAL (SELECT sno_generate_many(n % 10) AS id) AS s;
SELECT count(*), count(DISTINCT id) FROM many_parallel;
SELECT count(*), count(DISTINCT id) FROM many_source, sno_generate_many(1) AS id;
SELECT count(*), count(DISTINCT id) FROM many_source, sno_generate_many(1, 0, 'many') AS id;
RESET ALL;
DROP TABLE many_source, many_parallel;
SELECT sno_drop_generator('many');

-- What the planner expects
CREATE FUNCTION pg_temp.rows_of(query text) RETURNS SETOF float8 LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN NEXT plan -> 0 -> 'Plan' ->> 'Plan Rows';
END
$$;
SELECT call, pg_temp.rows_of('SELECT ' || call), pg_temp.rows_of('SELECT * FROM ' || call)
FROM (VALUES ('sno_generate_many(12345)'), ('sno_generate_many(10 * 10, 1)'), ('sno_generate_many(10000000000)'),
    ('sno_generate_many(0)'), ('sno_generate_many(-1)'), ('sno_generate_many(NULL)'),
    ('sno_generate_many((random() * 10)::int)'), ('sno_generate_many(meta => 1, count => 77)')) AS v (call);
PREPARE many(bigint) AS SELECT sno_generate_many($1);
SET plan_cache_mode = force_custom_plan;
SELECT pg_temp.rows_of('EXECUTE many(4321)');
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.rows_of('EXECUTE many(4321)');
RESET plan_cache_mode;

-- Memory doesn't grow with their number.
CREATE FUNCTION pg_temp.used() RETURNS bigint LANGUAGE sql AS
'SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts';
SELECT count(*), max(used) - min(used) < 100000 AS flat FROM (
    SELECT pg_temp.used() AS used
    FROM (SELECT sno_generate_many(1000000) AS id, generate_series(1, 1000000) AS n) AS s
    WHERE n % 250000 = 1 AND id IS NOT NULL) AS s;

-- It can be cancelled.
SET statement_timeout = '200ms';
SELECT count(*) FROM (SELECT sno_generate_many(9223372036854775807)) AS s;
\echo :LAST_ERROR_SQLSTATE
RESET statement_timeout;
SELECT count(*) FROM sno_generate_many(10);
