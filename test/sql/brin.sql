--
-- BRIN: minmax, minmax-multi and bloom
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

-- The number of pages of the table that the index could not exclude
CREATE FUNCTION pg_temp.pages(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ 'lossy=' THEN
            RETURN substring(line FROM 'lossy=(\d+)');
        END IF;
    END LOOP;
    RETURN 0;
END $$;
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

-- One id a minute, in the order of time; in the second table every 50th is the
-- lowest or the highest there is, so that no page has a narrow span
CREATE TABLE brin_log (id sno, n int);
INSERT INTO brin_log SELECT sno_make(timestamptz '2026-01-01' + n * interval '1 min', 1, n % 3), n FROM generate_series(1, 20000) AS n;
CREATE INDEX brin_log_id ON brin_log USING brin (id) WITH (pages_per_range = 1);
CREATE TABLE brin_mixed AS
SELECT CASE n % 100 WHEN 0 THEN sno_zero() WHEN 50 THEN sno_max('infinity') ELSE id END AS id, n FROM brin_log;
CREATE INDEX brin_mixed_id ON brin_mixed USING brin (id sno_minmax_multi_ops) WITH (pages_per_range = 1);
CREATE TABLE brin_mixed_plain AS SELECT * FROM brin_mixed;
CREATE INDEX brin_mixed_plain_id ON brin_mixed_plain USING brin (id) WITH (pages_per_range = 1);
-- Shuffled: each page may have any id
CREATE TABLE brin_random AS SELECT id, n FROM brin_log ORDER BY md5(n::text);
CREATE INDEX brin_random_id ON brin_random USING brin (id sno_bloom_ops(n_distinct_per_range = 200)) WITH (pages_per_range = 1);
SELECT relpages > 100 AS many_pages FROM (SELECT pg_relation_size('brin_log') / 8192 AS relpages) AS s;
-- 16 leaves free pages at the end, which are not summarized yet.
VACUUM ANALYZE brin_log, brin_mixed, brin_mixed_plain, brin_random;

SET enable_seqscan = off;
SET jit = off;

-- minmax: one page for one id, few for a range of time
SELECT pg_temp.plan($$SELECT n FROM brin_log WHERE id = '9d78jui222222222'$$);
SELECT pg_temp.plan($$SELECT count(*) FROM brin_log WHERE id <@ tstzrange('2026-01-02', '2026-01-02 01:00')$$);
SELECT count(*), min(n), max(n) FROM brin_log WHERE id <@ tstzrange('2026-01-02', '2026-01-02 01:00');
SELECT pg_temp.pages($$SELECT n FROM brin_log WHERE id = sno_make('2026-01-02', 1, 0)$$) AS equal,
    pg_temp.pages($$SELECT n FROM brin_log WHERE id <@ tstzrange('2026-01-02', '2026-01-02 01:00')$$) AS range,
    pg_temp.pages($$SELECT n FROM brin_log WHERE id < sno_min('2026-01-01 01:00')$$) AS first_hour,
    pg_temp.pages($$SELECT n FROM brin_log WHERE id > sno_max('infinity')$$) AS nothing;

-- minmax-multi: spans that stay narrow beside outliers
SELECT pg_temp.pages($$SELECT n FROM brin_mixed WHERE id <@ tstzrange('2026-01-02', '2026-01-02 01:00')$$) AS multi,
    pg_temp.pages($$SELECT n FROM brin_mixed_plain WHERE id <@ tstzrange('2026-01-02', '2026-01-02 01:00')$$) > 100 AS single_useless;
SELECT count(*), min(n), max(n) FROM brin_mixed WHERE id <@ tstzrange('2026-01-02', '2026-01-02 01:00');

-- bloom: few pages for one id, wherever it is
SELECT pg_temp.pages($$SELECT n FROM brin_random WHERE id = sno_make('2026-01-02', 1, 0)$$) BETWEEN 1 AND 10 AS few;
SELECT n FROM brin_random WHERE id = sno_make('2026-01-02', 1, 0);

-- All operators find what a scan of the table finds, also after changes.
INSERT INTO brin_log SELECT sno_make('2025-12-31', 1, 0), -1 FROM generate_series(1, 500);
DELETE FROM brin_log WHERE n % 1000 = 7;
INSERT INTO brin_mixed SELECT * FROM brin_log WHERE n % 2 = 0;
SELECT brin_summarize_new_values('brin_log_id') >= 0 AS summarized, brin_summarize_new_values('brin_mixed_id') >= 0 AS summarized;
CREATE TEMP TABLE probe (id sno);
INSERT INTO probe VALUES (sno_zero()), (sno_max('infinity')), (sno_make('2025-12-31', 1, 0)), (sno_make('2026-01-02', 1, 0)),
    (sno_make('2026-01-02', 1, 1)), (sno_min('2026-01-14 21:19'));
CREATE FUNCTION pg_temp.counts(relation regclass) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    operator text;
    result text;
BEGIN
    FOREACH operator IN ARRAY '{<,<=,=,>=,>}'::text[] LOOP
        EXECUTE format('SELECT string_agg(c::text, %L ORDER BY probe.id)
            FROM probe, LATERAL (SELECT count(*) AS c FROM %s AS r WHERE r.id %s probe.id) AS s', ' ', relation, operator) INTO result;
        RETURN NEXT format('%s %s: %s', relation, operator, result);
    END LOOP;
END $$;
CREATE TEMP TABLE indexed AS
SELECT c FROM unnest('{brin_log,brin_mixed,brin_random}'::regclass[]) AS r, pg_temp.counts(r) AS c;
SET enable_bitmapscan = off;
SET enable_seqscan = on;
SELECT c AS found_by_scan FROM unnest('{brin_log,brin_mixed,brin_random}'::regclass[]) AS r, pg_temp.counts(r) AS c
EXCEPT SELECT c FROM indexed;
SELECT count(*) FROM indexed;

DROP TABLE brin_log, brin_mixed, brin_mixed_plain, brin_random;
