--
-- Series: sno_date_bin()
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
SET jit = off;
SET compute_query_id = off;

-- It is date_bin() of the time of the id: around a start and off it, with origins before and
-- after, for the ends of the epoch, too.
SELECT stride, origin, sno_timestamp(id), sno_date_bin(stride, id, origin),
    sno_date_bin(stride, id, origin) = date_bin(stride, sno_timestamp(id), origin) AS same
FROM (VALUES
    (sno_zero()), (sno_max('infinity')), (sno_min('2026-01-01')), (sno_max('2026-01-01 11:59:59.999'))) AS i (id),
    (VALUES (interval '12 hours', timestamptz '2026-01-01'), ('1 week 00:00:00.001', '2026-07-06'), ('5 ms', '2001-01-01 00:00:00.002')) AS b (stride, origin)
ORDER BY stride, id;
-- The lowest and the highest id of a bin are in it, and their neighbours are not.
SELECT sno_date_bin('1 hour', id, '2026-01-01 00:30')
FROM (VALUES (sno_max('2026-01-01 00:29:59.999')), (sno_min('2026-01-01 00:30')), (sno_max('2026-01-01 01:29:59.999')), (sno_min('2026-01-01 01:30'))) AS v (id);
-- Arguments by name
SELECT sno_date_bin(stride => '1 day', id => sno_min('2026-01-01 15:00'), origin => '2000-01-01');
SELECT sno_date_bin(NULL, sno_zero(), now()) AS stride, sno_date_bin('1 day', NULL, now()) AS id, sno_date_bin('1 day', sno_zero(), NULL) AS origin;

-- The errors are those of date_bin(), when they are folded into a constant and when not.
CREATE TEMP TABLE event (id sno PRIMARY KEY);
INSERT INTO event
SELECT sno_make(timestamptz '2026-01-01' + n * interval '1 min', n % 4, 0) FROM generate_series(0, 9999) AS n;
VACUUM ANALYZE event;
CREATE FUNCTION pg_temp.error_of(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE query;
    RETURN 'none';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT stride, origin, pg_temp.error_of(format('SELECT date_bin(%L, now(), %L)', stride, origin)) AS of_date_bin,
    pg_temp.error_of(format('SELECT sno_date_bin(%L, sno_zero(), %L)', stride, origin)) AS constant,
    pg_temp.error_of(format('SELECT count(sno_date_bin(%L, id, %L)) FROM event', stride, origin)) AS column
FROM (VALUES ('1 month', '2026-01-01'), ('-2 years', '2026-01-01'), ('0', '2026-01-01'), ('-1 hour', '2026-01-01'), ('1 day -25 hours', '2026-01-01'),
    ('1 hour', 'infinity'), ('1 hour', '-infinity')) AS v (stride, origin);

-- The planner replaces the call by its body: for GROUP BY,
EXPLAIN (VERBOSE, COSTS OFF) SELECT sno_date_bin('1 day', id, '2026-01-01') AS day, count(*) FROM event GROUP BY day;
SELECT sno_date_bin('1 day', id, '2026-01-01') AS day, count(*), min(id::timestamptz), max(id::timestamptz) FROM event GROUP BY day ORDER BY day;
-- with any arguments,
PREPARE bins(interval, timestamptz) AS SELECT sno_date_bin($1, id, $2) AS bin, count(*) FROM event GROUP BY bin ORDER BY bin;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE bins('4 days', '2026-01-03');
EXECUTE bins('4 days', '2026-01-03');
RESET plan_cache_mode;
DEALLOCATE bins;
-- and for an index or statistics on it, which serve under both names.
CREATE FUNCTION pg_temp.estimate(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan #>> '{0,Plan,Plan Rows}';
END $$;
SELECT pg_temp.estimate($$SELECT FROM event GROUP BY sno_date_bin('1 day', id, '2026-01-01')$$);
CREATE STATISTICS event_day ON (sno_date_bin('1 day', id, '2026-01-01')) FROM event;
ANALYZE event;
SELECT pg_temp.estimate($$SELECT FROM event GROUP BY sno_date_bin('1 day', id, '2026-01-01')$$);
SELECT pg_temp.estimate($$SELECT FROM event GROUP BY date_bin('1 day', sno_timestamp(id), '2026-01-01')$$);
CREATE INDEX event_hour ON event (sno_date_bin('1 hour', id, '2026-01-01'));
ANALYZE event;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE sno_date_bin('1 hour', id, '2026-01-01') = '2026-01-02 05:00';
EXPLAIN (COSTS OFF) SELECT id FROM event WHERE date_bin('1 hour', sno_timestamp(id), '2026-01-01') = '2026-01-02 05:00';
SELECT count(*), min(id::timestamptz), max(id::timestamptz) FROM event WHERE sno_date_bin('1 hour', id, '2026-01-01') = '2026-01-02 05:00';
SELECT pg_get_indexdef('event_hour'::regclass), pg_get_statisticsobjdef_expressions(oid) FROM pg_statistic_ext WHERE stxname = 'event_day';

-- The search path of the caller doesn't matter.
BEGIN;
CREATE SCHEMA regress_sno_series;
CREATE FUNCTION regress_sno_series.date_bin(interval, timestamptz, timestamptz) RETURNS timestamptz IMMUTABLE LANGUAGE sql RETURN $3;
CREATE FUNCTION regress_sno_series.sno_timestamp(sno) RETURNS timestamptz IMMUTABLE LANGUAGE sql RETURN timestamptz 'epoch';
SET LOCAL search_path = regress_sno_series, public, pg_catalog;
SELECT sno_date_bin('1 day', sno_min('2026-01-01 15:00'), '2000-01-01'), max(sno_date_bin('1 day', id, '2000-01-01')) FROM event;
ROLLBACK;
