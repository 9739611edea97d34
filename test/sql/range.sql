--
-- Ids in a range of time
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

-- Bounds of every kind, on and off the start of a unit
SELECT r, sno_range_min(r) AS min, sno_range_max(r) AS max,
    sno_range_min(r) <= sno_range_max(r) AS any
FROM unnest('{
    "[2026-01-01 00:00:00,2026-01-01 00:00:00.004)",
    "[2026-01-01 00:00:00,2026-01-01 00:00:00.004]",
    "(2026-01-01 00:00:00,2026-01-01 00:00:00.004)",
    "(2026-01-01 00:00:00,2026-01-01 00:00:00.004]",
    "[2026-01-01 00:00:00,2026-01-01 00:00:00]",
    "[2026-01-01 00:00:00.000001,2026-01-01 00:00:00.003999]",
    "[2025-12-31 23:59:59.999999,2026-01-01 00:00:00.000001]",
    "(2025-12-31 23:59:59.999999,2026-01-01 00:00:00.000001)",
    "(2025-12-31 23:59:59.996,2026-01-01)",
    "(,2026-01-01)", "[2026-01-01,)", "(,)", "empty",
    "[-infinity,infinity]", "(-infinity,infinity)", "[-infinity,-infinity]", "[infinity,infinity]",
    "[infinity,)", "(,-infinity]",
    "(,2010-01-01)", "(,2010-01-01]", "[2009-01-01,2009-12-31]",
    "[2079-09-07 15:47:35.548,)", "(2079-09-07 15:47:35.548,)", "[2080-01-01,2081-01-01)",
    "[4714-11-24 00:00:00 BC,294276-12-31 23:59:59.999999]"}'::tstzrange[]) AS r;

SELECT sno_range_min(NULL), sno_range_max(NULL);

-- Both operators, and null
SELECT id <@ r AS contained, r @> id AS contains, sno_catalog.sno_contained_by(id, r), sno_catalog.sno_range_contains(r, id), sno_timestamp(id) <@ r AS oracle
FROM (VALUES
    ('brpk4q72xwf2m63l'::sno, tstzrange('2020-01-01', NULL)),
    ('brpk4q72xwf2m63l', tstzrange(NULL, '2020-01-01')),
    ('brpk4q72xwf2m63l', 'empty'),
    ('brpk4q72xwf2m63l', NULL),
    (NULL, 'empty')) AS v (id, r);

-- One id a minute, and shifts of eight hours
CREATE TEMP TABLE event (id sno PRIMARY KEY, n int);
INSERT INTO event
SELECT sno_min(timestamptz '2026-01-01' + n * interval '1 min'), n FROM generate_series(0, 9999) n;
CREATE TEMP TABLE shift (name text, during tstzrange);
INSERT INTO shift
SELECT n::text, tstzrange(start, start + interval '8 h')
FROM generate_series(0, 2) n, LATERAL (SELECT timestamptz '2026-01-03' + n * interval '8 h' AS start) AS s;
ANALYZE event;
ANALYZE shift;

-- The primary key serves: constants,
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET jit = off;
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE id <@ tstzrange('2026-01-02 00:00', '2026-01-02 01:00');
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE '[2026-01-02 00:00,2026-01-02 01:00)'::tstzrange @> id;
SELECT count(*), min(n), max(n) FROM event WHERE id <@ tstzrange('2026-01-02 00:00', '2026-01-02 01:00');
-- the present,
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE id <@ tstzrange(now() - interval '1 hour', now());
-- parameters, planned for any value,
SET plan_cache_mode = force_generic_plan;
PREPARE during(tstzrange) AS SELECT count(*) FROM event WHERE id <@ $1;
EXPLAIN (COSTS OFF) EXECUTE during('[2026-01-02 00:00,2026-01-02 01:00)');
EXECUTE during('[2026-01-02 00:00,2026-01-02 01:00)');
EXECUTE during('empty');
EXECUTE during(NULL);
PREPARE between(timestamptz, timestamptz) AS SELECT count(*) FROM event WHERE id <@ tstzrange($1, $2);
EXPLAIN (COSTS OFF) EXECUTE between('2026-01-02 00:00', '2026-01-02 01:00');
EXECUTE between('2026-01-02 00:00', '2026-01-02 01:00');
RESET plan_cache_mode;
-- joined ranges (the plan without what only some versions say),
CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line !~ '^ *(Disabled|Replaces):' THEN
            RETURN NEXT line;
        END IF;
    END LOOP;
END $$;
SELECT pg_temp.plan('SELECT s.name, e.id FROM shift s JOIN event e ON e.id <@ s.during');
SELECT s.name, count(*), min(n), max(n) FROM shift s JOIN event e ON e.id <@ s.during GROUP BY s.name ORDER BY s.name;
SELECT s.name, count(*), min(n), max(n) FROM shift s JOIN event e ON s.during @> e.id GROUP BY s.name ORDER BY s.name;
-- and subqueries, which run once.
CREATE FUNCTION pg_temp.conditions(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'Index Cond' THEN
            RETURN NEXT regexp_replace(line, '\$0|\(InitPlan \w+\).col1', 'subquery', 'g');
        END IF;
    END LOOP;
END $$;
SELECT pg_temp.conditions($$SELECT * FROM event WHERE id <@ (SELECT during FROM shift WHERE name = '1')$$);
SELECT count(*), min(n), max(n) FROM event WHERE id <@ (SELECT during FROM shift WHERE name = '1');

-- A volatile range is evaluated for each row, and once.
SELECT pg_temp.plan('SELECT * FROM event WHERE id <@ tstzrange(NULL, clock_timestamp())');
SELECT count(*) FROM event WHERE id <@ tstzrange('2026-01-01 00:00', timestamptz '2026-01-01 01:00' + random() * interval '0');

-- Partitions by time are pruned, when planning or when starting.
CREATE TEMP TABLE log (id sno PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TEMP TABLE log_2025 PARTITION OF log FOR VALUES FROM (MINVALUE) TO (sno_min('2026-01-01'));
CREATE TEMP TABLE log_2026 PARTITION OF log FOR VALUES FROM (sno_min('2026-01-01')) TO (sno_min('2027-01-01'));
CREATE TEMP TABLE log_rest PARTITION OF log FOR VALUES FROM (sno_min('2027-01-01')) TO (MAXVALUE);
INSERT INTO log SELECT sno_min(t) FROM generate_series(timestamptz '2025-12-01', '2027-01-31', '1 day') t;
SELECT tableoid::regclass, count(*), min(id::timestamptz), max(id::timestamptz) FROM log GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT id FROM log WHERE id <@ tstzrange('2026-01-01', '2027-01-01');
EXPLAIN (COSTS OFF) SELECT id FROM log WHERE id <@ tstzrange('2026-01-01', '2027-01-01', '[]');
SELECT pg_temp.plan($$SELECT id FROM log WHERE id <@ 'empty'::tstzrange$$);
EXPLAIN (COSTS OFF) SELECT id FROM log WHERE id <@ tstzrange(current_date - 100000, current_date - 90000);

-- So they are if a subquery without a table gives the range: it becomes two bounds, which
-- are computed before any row is looked at.
CREATE FUNCTION pg_temp.scans(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ 'Scan|Cond|Filter' THEN
            line := regexp_replace(line, '\$\d|\(InitPlan \w+\).col1', 'subquery', 'g');
            RETURN NEXT regexp_replace(line, '\(actual .*\)', '(executed)');
        END IF;
    END LOOP;
END $$;
SELECT pg_temp.scans($$SELECT id FROM log WHERE id <@ (SELECT tstzrange('2026-01-01', '2027-01-01'))$$);
SELECT pg_temp.scans($$SELECT id FROM log WHERE (SELECT tstzrange('2100-01-01', NULL)) @> id$$);
-- Each kind of subquery: two only if it reads no table, has the same value for all rows
-- and isn't volatile.  Sorting is of ranges, so that is left alone, too.
CREATE FUNCTION pg_temp.search(range text, OUT subquery text, OUT condition text, OUT ids bigint) LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    subquery := range;
    FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT FROM event WHERE id <@ (%s)', range) LOOP
        condition := coalesce(condition, substring(line FROM '^ *(?:Index Cond|Filter): (.*)'));
    END LOOP;
    condition := regexp_replace(condition, '\$\d|\((Init|Sub)Plan \w+\)(\.col1)?', 'subquery', 'g');
    EXECUTE format('SELECT count(*) FROM event WHERE id <@ (%s)', range) INTO ids;
END $$;
SELECT s.* FROM unnest(ARRAY[
    $$SELECT tstzrange('2026-01-02', '2026-01-03', '(]')$$,
    $$SELECT tstzrange('2026-01-02', '2026-01-03') WHERE now() IS NULL$$,
    $$SELECT unnest(ARRAY[NULL, tstzrange('2026-01-02', '2026-01-03')]) OFFSET 1$$,
    $$SELECT tstzrange('2026-01-02', timestamptz '2026-01-03' + random() * interval '0')$$,
    $$SELECT tstzrange(sno_timestamp(id), NULL)$$,
    $$SELECT unnest(ARRAY[tstzrange('2026-01-03', NULL), tstzrange('2026-01-02', NULL)]) ORDER BY 1 LIMIT 1$$,
    $$SELECT tstzrange((SELECT max(lower(during)) FROM shift), NULL)$$,
    $$SELECT '[2026-01-03,)'::tstzrange UNION SELECT '[2026-01-03,)'$$,
    $$VALUES (tstzrange('2026-01-03', NULL))$$,
    $$SELECT during FROM shift WHERE name = '1'$$]) AS r, pg_temp.search(r) AS s;
SELECT count(*) FROM event WHERE id <@ (SELECT unnest(ARRAY[tstzrange('2026-01-01', NULL), NULL]));

-- A check of rows, and an index of some
CREATE TEMP TABLE guarded (id sno CHECK (id <@ tstzrange('2026-01-01', '2027-01-01')));
INSERT INTO guarded VALUES (sno_min('2026-12-31'));
INSERT INTO guarded VALUES (sno_min('2027-01-01'));
CREATE INDEX event_early ON event (n) WHERE id <@ tstzrange('2026-01-01', '2026-01-02');
EXPLAIN (COSTS OFF) SELECT n FROM event WHERE n = 7 AND id <@ tstzrange('2026-01-01', '2026-01-02');

-- Only a tstzrange has the times of ids.
SELECT 'brpk4q72xwf2m63l'::sno <@ tsrange('2026-01-01', '2027-01-01');
\echo :LAST_ERROR_SQLSTATE
SELECT int4range(1, 2) @> 'brpk4q72xwf2m63l'::sno;
SELECT * FROM event WHERE id <@ daterange('2026-01-01', '2027-01-01');

-- A domain over it does.
CREATE DOMAIN pg_temp.period AS tstzrange;
SELECT count(*) FROM event WHERE id <@ '[2026-01-02 00:00,2026-01-02 01:00)'::pg_temp.period;

-- The server's own range operators mean what they meant.
SELECT during @> '[2026-01-03 01:00,2026-01-03 02:00)' AS contains FROM shift;
SELECT '[2026-01-03 01:00,2026-01-03 02:00)' <@ during AS contained FROM shift;
SELECT during @> timestamptz '2026-01-03 01:00' AS holds FROM shift;
PREPARE untyped AS SELECT * FROM shift WHERE during @> $1;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'untyped';
DEALLOCATE ALL;

-- Our operators and functions that have the name of one of the server's
SELECT DISTINCT o.name COLLATE "C" AS name
FROM pg_depend AS d,
    LATERAL (SELECT oprname FROM pg_operator WHERE (d.classid, d.objid) = ('pg_operator'::regclass, oid)
             UNION SELECT proname FROM pg_proc WHERE (d.classid, d.objid) = ('pg_proc'::regclass, oid)) AS o (name)
WHERE (d.refclassid, d.refobjid) = ('pg_extension'::regclass, (SELECT oid FROM pg_extension WHERE extname = 'sno'))
    AND (EXISTS (SELECT FROM pg_operator WHERE oprname = o.name AND oid < 16384)
         OR EXISTS (SELECT FROM pg_proc WHERE proname = o.name AND oid < 16384))
ORDER BY 1;

-- What users make of ids, and of uuids, for which there are no such operators: whatever call
-- works with uuids means the same with ids.
CREATE FUNCTION pg_temp.make_types(key text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('
        CREATE SCHEMA range_%1$s;
        SET search_path = range_%1$s, public;
        CREATE DOMAIN key_domain AS %1$s;
        CREATE TYPE key_range AS RANGE (subtype = %1$s);
        CREATE TYPE domain_range AS RANGE (subtype = key_domain);
        CREATE DOMAIN range_domain AS key_range;
        RESET search_path', key);
END $$;
SELECT pg_temp.make_types('uuid'), pg_temp.make_types('sno');
CREATE FUNCTION pg_temp.outcome(key text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    PERFORM set_config('search_path', format('range_%s, public', key), true);
    query := replace(query, 'key#', CASE key WHEN 'uuid' THEN '00000000-0000-0000-0000-00000000000' ELSE '222222222222222' END);
    query := replace(query, '@key', key);
    IF strpos(query, '$1') > 0 THEN
        EXECUTE 'PREPARE untyped AS SELECT ' || query;
        SELECT parameter_types INTO result FROM pg_prepared_statements WHERE name = 'untyped';
        DEALLOCATE untyped;
    ELSE
        EXECUTE 'SELECT ' || query INTO result;
    END IF;
    RETURN coalesce(replace(result, key, 'key'), 'null');
EXCEPTION
    WHEN others THEN
        RETURN SQLSTATE;
END $$;
CREATE TEMP TABLE call AS
WITH value (v) AS (
    VALUES ($$'key#3'::@key$$), ($$'key#3'::key_domain$$), ($$'key#3'$$), ('NULL'), ('$1'),
        ($$'[key#2,key#4)'::key_range$$), ($$'[key#2,key#4)'::range_domain$$), ($$'[key#2,key#4)'::domain_range$$), ($$'[key#2,key#4)'$$),
        ($$'{[key#2,key#4)}'::key_multirange$$), ($$ARRAY['key#2', 'key#3']::@key[]$$), ($$ARRAY['[key#2,key#4)']::key_range[]$$))
SELECT query, pg_temp.outcome('uuid', query) AS uuid, pg_temp.outcome('sno', query) AS sno
FROM (
    SELECT format('%s %s %s', l.v, operator, r.v)
    FROM unnest('{=,<>,<,<=,>,>=,<@,@>}'::text[]) AS operator, value AS l, value AS r
    UNION ALL
    SELECT format('%s %s ANY (ARRAY[%s])', l.v, operator, r.v)
    FROM unnest('{=,<>,<,<=,>,>=,<@,@>}'::text[]) AS operator, value AS l, value AS r
    UNION ALL
    SELECT format('pg_typeof(%s(%s))', aggregate, v)
    FROM unnest('{min,max}'::text[]) AS aggregate, value) AS q (query);
SELECT count(*) > 500 AS work FROM call WHERE uuid !~ '^[0-9A-Z]{5}$';
SELECT * FROM call WHERE uuid !~ '^[0-9A-Z]{5}$' AND sno <> uuid;

-- Indexes of ranges of ids serve, and exclude.
CREATE TABLE range_sno.span (during range_sno.key_range, EXCLUDE USING gist (during WITH &&));
INSERT INTO range_sno.span SELECT range_sno.key_range(sno_min(t), sno_min(t + interval '1 day')) FROM generate_series(timestamptz '2026-01-01', '2026-12-31', '1 day') AS t;
SELECT pg_temp.plan($$SELECT during FROM range_sno.span WHERE during @> sno_min('2026-06-01 12:00')$$);
SELECT lower(during)::timestamptz FROM range_sno.span WHERE during @> sno_min('2026-06-01 12:00');
SELECT lower(during)::timestamptz FROM range_sno.span WHERE sno_min('2026-06-01 12:00') <@ during;
SELECT count(*) FROM range_sno.span JOIN event ON during @> id;
SET client_min_messages = warning;
DROP SCHEMA range_uuid, range_sno CASCADE;
