-- A month of files in partitions of a day.  A file comes at a moment of the month that
-- its path decides.

SELECT first AT TIME ZONE 'UTC' AS first, extract(day FROM first + interval '1 month - 1 day') AS days,
       to_char(first, 'FMMonth YYYY') AS month, to_char(first, 'YYYY-MM') AS digits
FROM date_trunc('month', now() AT TIME ZONE 'UTC' - interval '1 month') AS first \gset

CALL sno_maintain_time_partitions('event', '1 day', ahead => make_interval(days => :days - 1), at => :'first');

INSERT INTO event
SELECT sno_generate_at(at, kind), package, path
FROM (
    SELECT :'first'::timestamptz + make_interval(secs => :days * 86400 *
               ((hashtext(path) + 2147483648) / 4294967296.0)) AS at, *
    FROM listed_0
) AS listed
ORDER BY at;
VACUUM ANALYZE event;
SET max_parallel_workers_per_gather = 0;

\set query 'SELECT sno_meta(id), count(*) FROM event WHERE id <@ tstzrange(\'' :digits '-14 09:00+00\', \'' :digits '-14 12:00+00\') GROUP BY 1'
\o query.txt
SELECT regexp_replace(:'query', ' (?=FROM|WHERE|GROUP)', E'\n', 'g');
\o plan.txt
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) :query;

-- The partitions with their rows, and whether the plan read them.
CREATE TEMP TABLE plan (line text);
\copy plan FROM 'plan.txt' WITH (DELIMITER E'\1')
CREATE TEMP TABLE day AS
SELECT right(relname, 2)::integer AS day, reltuples::bigint AS rows,
       EXISTS (SELECT FROM plan WHERE line ~ (' on ' || relname || '\M') AND line !~ 'never executed')::integer AS read
FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
WHERE inhparent = 'event'::regclass;
\o month.tsv
SELECT * FROM day ORDER BY day;
\o

SELECT 'month', :'month';
SELECT 'days', count(*) FROM day;
SELECT 'days_read', sum(read) FROM day;
SELECT 'month_rows', to_char(sum(rows), 'FM9,999,999') FROM day;
SELECT 'found', string_agg((:'kinds'::text[])[kind + 1] || ' ' || count, ', ' ORDER BY count DESC)
FROM (:query) AS found (kind, count);
