--
-- Ids compared with a time
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

-- On and off the start of a unit, and at the ends of the epoch.  The highest id of all
-- counts as later than any time after the last unit.
SELECT t, sno_min_from(t), sno_min_after(t)
FROM unnest('{-infinity, 2009-12-31 23:59:59.999999, 2010-01-01, 2010-01-01 00:00:00.000001,
    2025-12-31 23:59:59.999999, 2026-01-01, 2026-01-01 00:00:00.000001, 2026-01-01 00:00:00.004,
    2079-09-07 15:47:35.544001, 2079-09-07 15:47:35.548, 2079-09-07 15:47:35.548001, infinity}'::timestamptz[]) AS t;
SELECT id, t, id < t AS lt, id <= t AS le, id = t AS eq, id <> t AS ne, id >= t AS ge, id > t AS gt,
    t < id AS "reversed: lt", t <= id AS le, t = id AS eq, t <> id AS ne, t >= id AS ge, t > id AS gt
FROM (VALUES
    (sno_max('2026-01-01'), timestamptz '2026-01-01'),
    (sno_max('2026-01-01'), '2026-01-01 00:00:00.000001'),
    (sno_min('2026-01-01'), '2025-12-31 23:59:59.999999'),
    (sno_zero(), '-infinity'),
    ('xxxxxxxxxxxxxxxw', '2079-09-07 15:47:35.548'),
    ('xxxxxxxxxxxxxxxx', '2079-09-07 15:47:35.548'),
    ('xxxxxxxxxxxxxxxx', '2079-09-07 15:47:35.547'),
    (sno_zero(), NULL),
    (NULL, '2026-01-01')) AS v (id, t);

-- One id a minute
CREATE TEMP TABLE event (id sno PRIMARY KEY, n int);
INSERT INTO event
SELECT sno_min(timestamptz '2026-01-01' + n * interval '1 min'), n FROM generate_series(0, 9999) n;
ANALYZE event;

-- The primary key serves all of them.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET jit = off;
CREATE FUNCTION pg_temp.conditions(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT FROM event WHERE ' || query LOOP
        IF line ~ 'Cond|Filter' THEN
            RETURN NEXT regexp_replace(ltrim(line), '\$0|\(InitPlan \w+\).col1', 'subquery', 'g');
        END IF;
    END LOOP;
END $$;
SELECT c.* FROM unnest(ARRAY[
    $$id < timestamptz '2026-01-02'$$, $$id <= timestamptz '2026-01-02'$$, $$id = timestamptz '2026-01-02'$$,
    $$id >= timestamptz '2026-01-02'$$, $$id > timestamptz '2026-01-02'$$,
    $$timestamptz '2026-01-02' < id$$, $$timestamptz '2026-01-02' <= id$$, $$timestamptz '2026-01-02' = id$$,
    $$timestamptz '2026-01-02' >= id$$, $$timestamptz '2026-01-02' > id$$,
    $$id BETWEEN timestamptz '2026-01-02' AND timestamptz '2026-01-03'$$,
    $$id > now() - interval '1 hour'$$, $$id = now()$$, $$id >= current_date$$, $$id < timestamp '2026-01-02'$$,
    $$NOT id > timestamptz '2026-01-02'$$, $$id <> timestamptz '2026-01-02'$$, $$timestamptz '2026-01-02' <> id$$,
    $$NOT id = timestamptz '2026-01-02'$$,
    $$id > (SELECT max(sno_timestamp(id)) FROM event)$$]) AS q, pg_temp.conditions(q) AS c;
SELECT count(*) FROM event WHERE id > timestamptz '2026-01-02' AND id < '2026-01-02 01:00'::timestamptz;
SELECT count(*) FILTER (WHERE id <> t) AS ne, count(*) FILTER (WHERE id NOT IN (t, now())) AS not_in,
    count(*) FILTER (WHERE t <> ALL (ARRAY[id, id])) AS "all", count(*) FILTER (WHERE id IS DISTINCT FROM t) AS "distinct"
FROM event, (SELECT timestamptz '2026-01-02') AS s (t);
SET plan_cache_mode = force_generic_plan;
PREPARE since(timestamptz) AS SELECT count(*) FROM event WHERE id >= $1;
EXPLAIN (COSTS OFF) EXECUTE since('2026-01-02');
EXECUTE since('2026-01-02');
EXECUTE since(NULL);
RESET plan_cache_mode;
DEALLOCATE since;

-- Estimates are those of bounds on the id: a day is 1,440 rows.
CREATE FUNCTION pg_temp.rows(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) SELECT FROM event WHERE ' || query INTO plan;
    RETURN plan->0->'Plan'->'Plan Rows';
END $$;
SELECT abs(pg_temp.rows($$id > timestamptz '2026-01-02' AND id <= timestamptz '2026-01-03'$$) - 1440) < 30 AS a_day,
    abs(pg_temp.rows($$id > timestamptz '2026-01-07'$$) - 1360) < 30 AS the_rest,
    pg_temp.rows($$id <> timestamptz '2026-01-04'$$) AS all_but_one, pg_temp.rows($$timestamptz '2026-01-04' <> id$$) AS all_but_one,
    pg_temp.rows($$id NOT IN (timestamptz '2026-01-04', now())$$) AS all_but_one;

-- A volatile time is asked for each row.
SELECT pg_temp.conditions('id > clock_timestamp()');
SELECT count(*) FROM event WHERE id = timestamptz '2026-01-02' + random() * interval '0';

-- A domain over ids is compared, too.
CREATE DOMAIN pg_temp.event_id AS sno;
SELECT count(*) FROM event WHERE id::pg_temp.event_id > timestamptz '2026-01-02' AND id::pg_temp.event_id < '9d78lji422222222';

-- Partitions are pruned, when planning and when starting.
CREATE TEMP TABLE log (id sno PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TEMP TABLE log_2025 PARTITION OF log FOR VALUES FROM (MINVALUE) TO (sno_min('2026-01-01'));
CREATE TEMP TABLE log_2026 PARTITION OF log FOR VALUES FROM (sno_min('2026-01-01')) TO (MAXVALUE);
EXPLAIN (COSTS OFF) SELECT id FROM log WHERE id >= timestamptz '2026-01-01';
EXPLAIN (COSTS OFF) SELECT id FROM log WHERE id < now() - interval '100 years';

-- Each operator has its commutator, its negator and estimates.
SELECT a.oprname COLLATE "C" AS name, count(*)
FROM pg_operator AS a
JOIN pg_operator AS c ON c.oid = a.oprcom AND c.oprcom = a.oid AND (c.oprleft, c.oprright) = (a.oprright, a.oprleft)
JOIN pg_operator AS n ON n.oid = a.oprnegate AND n.oprnegate = a.oid AND (n.oprleft, n.oprright) = (a.oprleft, a.oprright)
WHERE 'sno'::regtype IN (a.oprleft, a.oprright) AND 'timestamptz'::regtype IN (a.oprleft, a.oprright)
    AND a.oprrest <> 0 AND a.oprjoin <> 0
GROUP BY 1 ORDER BY 1;

-- Literals and parameters without a type are ids, as they were.
EXPLAIN (COSTS OFF) SELECT FROM event WHERE id > '9d6gji6222222222';
EXPLAIN (COSTS OFF) SELECT FROM event WHERE '9d6gji6222222222' = id;
EXPLAIN (COSTS OFF) SELECT FROM event WHERE id IN ('9d6gji6222222222', '9d6gji6222222223');
SELECT FROM event WHERE id > '2026-01-01';
PREPARE untyped AS SELECT FROM event
WHERE id < $1 AND id <= $2 AND id = $3 AND $4 <= id AND $5 > id AND id BETWEEN $6 AND $7 AND id IN ($8, $9) AND id = ANY ($10)
    AND id <> $11 AND $12 <> id AND id NOT IN ($13, $14) AND id <> ALL ($15);
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'untyped';
DEALLOCATE untyped;
PREPARE untyped AS SELECT now() < $1 AND $2 = now() AND $3 < 'a' AND now() <> $4;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'untyped';
DEALLOCATE untyped;
SELECT '10' < '9' AS text_order;
