--
-- Window frames by interval: RANGE BETWEEN ... over ids
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

-- The time of an id counts, as the start of its unit: four ids in two units,
-- the same two hours later, and a day after that
CREATE TEMP TABLE event AS
SELECT n, sno_make(at, meta, 1) AS id
FROM (VALUES
    (1, timestamptz '2026-01-01 00:00:00.000', 0),
    (2, '2026-01-01 00:00:00.003', 5),
    (3, '2026-01-01 00:00:00.004', 0),
    (4, '2026-01-01 00:00:00.007', 5),
    (5, '2026-01-01 02:00:00.003', 0),
    (6, '2026-01-01 02:00:00.004', 0),
    (7, '2026-01-02 02:00:00.004', 0)) AS v (n, at, meta);

SELECT n, sno_timestamp(id), array_agg(n) OVER hours AS hours, array_agg(n) OVER unit AS unit, array_agg(n) OVER since AS since
FROM event
WINDOW hours AS (ORDER BY id RANGE BETWEEN '2 h' PRECEDING AND '2 h' FOLLOWING),
    unit AS (ORDER BY id RANGE BETWEEN '0' PRECEDING AND '0' FOLLOWING),
    since AS (ORDER BY id RANGE BETWEEN '1 day' FOLLOWING AND UNBOUNDED FOLLOWING)
ORDER BY id;
SELECT n, array_agg(n) OVER hours AS hours, array_agg(n) OVER past AS past
FROM event
WINDOW hours AS (ORDER BY id DESC RANGE BETWEEN '2 h' PRECEDING AND '4 ms' FOLLOWING EXCLUDE CURRENT ROW),
    past AS (ORDER BY id DESC RANGE BETWEEN UNBOUNDED PRECEDING AND '1 day' PRECEDING)
ORDER BY id DESC;
-- The current row is one of equal ids, as always.
SELECT n, array_agg(n) OVER (ORDER BY id RANGE BETWEEN '2 h' PRECEDING AND CURRENT ROW) FROM event ORDER BY id;

-- Each comparison on its own: value <= or >= base plus or minus the offset
SELECT sub, less, array_agg(sno_catalog.sno_in_range(v.id, b.id, '2 h', sub, less) ORDER BY v.id)
FROM event v, event b, (VALUES (true, true), (true, false), (false, true), (false, false)) AS c (sub, less)
WHERE b.n = 5
GROUP BY sub, less ORDER BY sub DESC, less DESC;

-- Months and days are those of the session's time zone: over the start of
-- summer time a day has 23 hours.
CREATE TEMP TABLE hourly AS
SELECT sno_make(t, 0, 0) AS id FROM generate_series(timestamptz '2026-03-28', '2026-03-30', '1 h') AS t;
SET TimeZone = 'Europe/Berlin';
SELECT max(count) FROM (SELECT id, count(*) OVER (ORDER BY id RANGE '1 day' PRECEDING) FROM hourly) AS s
WHERE sno_timestamp(id) BETWEEN '2026-03-29 12:00' AND '2026-03-29 18:00';
SET TimeZone = 'UTC';
SELECT max(count) FROM (SELECT id, count(*) OVER (ORDER BY id RANGE '1 day' PRECEDING) FROM hourly) AS s
WHERE sno_timestamp(id) BETWEEN '2026-03-29 12:00' AND '2026-03-29 18:00';

-- Out of the epoch, and out of timestamptz, is beyond all ids.
INSERT INTO event VALUES (8, sno_zero()), (9, sno_max('infinity'));
SELECT span, count(DISTINCT count), min(count)
FROM (VALUES ('70 years'::interval), ('101 years'), ('40000 days'), ('1000000 h'), ('300000 years'), ('178000000 years'),
             ('178000000 years 2147483647 days 2562047788 h')) AS v (span),
    LATERAL (SELECT count(*) OVER (ORDER BY id RANGE BETWEEN span PRECEDING AND span FOLLOWING) FROM event) AS s
GROUP BY span ORDER BY span;
SELECT count(*) OVER (ORDER BY id RANGE BETWEEN '300000 years' FOLLOWING AND UNBOUNDED FOLLOWING) AS none FROM event LIMIT 1;
-- Only an offset with parts of both signs can still go wrong, as in core.
SELECT count(*) OVER (ORDER BY id RANGE '300000 years -1 day' PRECEDING) FROM event;

-- No frame at all
SELECT count(*) OVER (ORDER BY id RANGE '-4 ms' PRECEDING) FROM event;
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) OVER (ORDER BY id RANGE BETWEEN CURRENT ROW AND '-1 day 23 h' FOLLOWING) FROM event;
SELECT count(*) OVER (ORDER BY id RANGE BETWEEN CURRENT ROW AND '1 month -31 days' FOLLOWING) FROM event;
SELECT count(*) OVER (ORDER BY id RANGE '-178000000 years' PRECEDING) FROM event;
SELECT count(*) OVER (ORDER BY id RANGE NULL::interval PRECEDING) FROM event;
\set VERBOSITY terse
SELECT count(*) OVER (ORDER BY id RANGE 1 PRECEDING) FROM event;
SELECT count(*) OVER (ORDER BY id, n RANGE '1 h' PRECEDING) FROM event;
