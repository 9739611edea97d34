--
-- The planner's estimates for ids are those for a timestamptz column with the same times.
--
-- All tables have fewer rows than ANALYZE samples, so that statistics are the same in each
-- run.  A query stands for two: '@' is the column id or at, and lo() and hi() are the
-- lowest and the highest id of a time, or the time.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_generic_plan;

CREATE FUNCTION pg_temp.plan(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'PREPARE query (timestamptz, timestamptz, tstzrange) AS ' || query;
    EXECUTE 'EXPLAIN (FORMAT JSON) EXECUTE query (NULL, NULL, NULL)' INTO plan;
    DEALLOCATE query;
    plan := plan #> '{0,Plan}';
    RETURN CASE plan ->> 'Node Type' WHEN 'Limit' THEN plan #> '{Plans,0}' ELSE plan END;
END $$;
CREATE FUNCTION pg_temp.of_id(query text) RETURNS text LANGUAGE sql
RETURN replace(replace(replace(query, '@', 'id'), 'lo(', 'sno_min('), 'hi(', 'sno_max(');
CREATE FUNCTION pg_temp.of_at(query text) RETURNS text LANGUAGE sql
RETURN replace(replace(replace(query, '@', 'at'), 'lo(', 'timestamptz('), 'hi(', 'timestamptz(');

-- Is the estimate for ids within 5 % of the one for times, or within 2 rows?
CREATE FUNCTION pg_temp.agrees(id_query text, at_query text) RETURNS boolean LANGUAGE sql AS $$
    SELECT abs(id - at) <= greatest(2, 0.05 * at)
    FROM (SELECT (pg_temp.plan(id_query) ->> 'Plan Rows')::numeric AS id, (pg_temp.plan(at_query) ->> 'Plan Rows')::numeric AS at) AS rows
$$;
CREATE FUNCTION pg_temp.agrees(query text) RETURNS boolean LANGUAGE sql
RETURN pg_temp.agrees(pg_temp.of_id(query), pg_temp.of_at(query));

-- 20,000 events within 9 hours, fewer and fewer
CREATE TEMP TABLE event (id sno PRIMARY KEY, at timestamptz UNIQUE, n integer);
INSERT INTO event SELECT sno_make(at, n % 256, n % 1000), at, n
FROM generate_series(1, 20000) AS n, LATERAL (SELECT timestamptz '2026-01-01' + (n + n::bigint * n / 50) * interval '4 ms' AS at) AS s;
CREATE INDEX event_n ON event (n);
ANALYZE event;

-- Each form
CREATE TEMP TABLE form (what text, query text);
INSERT INTO form VALUES
('lower', $$@ >= lo('2026-01-01 03:00')$$),
('lower, not itself', $$@ > hi('2026-01-01 03:00')$$),
('upper', $$@ <= hi('2026-01-01 03:00')$$),
('upper, not itself', $$@ < lo('2026-01-01 03:00')$$),
('constant first', $$lo('2026-01-01 03:00') <= @$$),
('all', $$@ >= lo('2025-01-01')$$),
('none', $$@ >= lo('2027-01-01')$$),
('range of a minute', $$@ >= lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:01')$$),
('range of an hour', $$@ >= lo('2026-01-01 03:00') AND @ < lo('2026-01-01 04:00')$$),
('range, upper bound first', $$@ < lo('2026-01-01 03:01') AND @ >= lo('2026-01-01 03:00')$$),
('range, constants first', $$lo('2026-01-01 03:00') <= @ AND lo('2026-01-01 03:01') > @$$),
('between', $$@ BETWEEN lo('2026-01-01 03:00') AND hi('2026-01-01 03:10')$$),
('not between', $$@ NOT BETWEEN lo('2026-01-01 01:00') AND hi('2026-01-01 08:00')$$),
('empty', $$@ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 02:00')$$),
('below all', $$@ > lo('2024-01-01') AND @ < lo('2025-01-01')$$),
('three bounds', $$@ > lo('2026-01-01 02:00') AND @ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$),
('three bounds, another order', $$@ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10') AND @ > lo('2026-01-01 02:00')$$),
('three bounds, a third order', $$@ < lo('2026-01-01 03:10') AND @ > lo('2026-01-01 03:00') AND @ > lo('2026-01-01 02:00')$$),
('five bounds', $$@ < lo('2026-01-01 05:00') AND @ > lo('2026-01-01 02:00') AND @ < lo('2026-01-01 03:10') AND @ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:20')$$),
('a bound twice', $$@ > lo('2026-01-01 03:00') AND @ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$),
('two lower bounds', $$@ > lo('2026-01-01 03:00') AND @ > lo('2026-01-01 06:00')$$),
('two upper bounds', $$@ < lo('2026-01-01 06:00') AND @ < lo('2026-01-01 03:00')$$),
('with another column', $$@ > lo('2026-01-01 03:00') AND n < 10000 AND @ < lo('2026-01-01 04:00')$$),
('or', $$@ < lo('2026-01-01 01:00') OR @ > lo('2026-01-01 08:00')$$),
('or of ranges', $$(@ > lo('2026-01-01 01:00') AND @ < lo('2026-01-01 01:10')) OR (@ > lo('2026-01-01 08:00') AND @ < lo('2026-01-01 08:10'))$$),
('or of ranges, one end', $$(@ > lo('2026-01-01 01:00') AND @ < lo('2026-01-01 08:00')) OR (@ > lo('2026-01-01 07:50') AND @ < lo('2026-01-01 08:00'))$$),
('or in and in or', $$(@ > lo('2026-01-01 01:00') AND (n = 7 OR (@ > lo('2026-01-01 02:00') AND @ < lo('2026-01-01 02:10')))) OR n = 8$$),
('is not true', $$(@ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 04:00')) IS NOT TRUE$$),
('one is true', $$(@ > lo('2026-01-01 03:00')) IS TRUE AND @ < lo('2026-01-01 04:00')$$),
('case', $$@ > CASE WHEN @ < lo('2026-01-01 03:00') THEN lo('2026-01-01 03:00') ELSE lo('2026-01-01 04:00') END$$),
('keyset', $$@ > lo('2026-01-01 03:00') ORDER BY @ LIMIT 10$$),
('keyset within a range', $$@ > lo('2026-01-01 01:00') AND @ < lo('2026-01-01 04:00') AND @ > lo('2026-01-01 03:00') ORDER BY @ LIMIT 10$$),
('rows', $$(@, n) > (lo('2026-01-01 03:00'), 7) ORDER BY @, n LIMIT 10$$),
('rows and a bound', $$(@, n) > (lo('2026-01-01 03:00'), 7) AND @ < lo('2026-01-01 04:00')$$),
('rows and the same bound', $$(@, n) > (lo('2026-01-01 03:00'), 7) AND @ >= lo('2026-01-01 03:00') AND @ < lo('2026-01-01 04:00')$$),
('any', $$@ > ANY (ARRAY[lo('2026-01-01 03:00'), lo('2026-01-01 04:00')])$$),
('all of some', $$@ > ALL (ARRAY[lo('2026-01-01 03:00'), lo('2026-01-01 04:00')]) AND @ < lo('2026-01-01 04:10')$$),
('stable', $$@ < lo(now()) AND @ > lo(now() - interval '100 years')$$),
('stable and constant', $$@ < lo(now()) AND @ > lo('2026-01-01 03:00')$$),
('parameters', $$@ >= lo($1) AND @ < lo($2)$$),
('parameter', $$@ >= lo($1)$$),
('constant and parameter', $$@ >= lo('2026-01-01 03:00') AND @ < lo($2)$$),
('parameter and constant', $$@ >= lo($1) AND @ < lo('2026-01-01 03:10')$$),
('range and parameter', $$@ >= lo('2026-01-01 03:00') AND @ < lo('2026-01-01 04:00') AND @ > lo($1)$$),
('subquery', $$@ >= (SELECT lo('2026-01-01 03:00')) AND @ < (SELECT lo('2026-01-01 03:10'))$$),
('null', $$@ >= NULL AND @ < lo('2026-01-01 03:10')$$),
('null that is stable', $$@ >= lo(nullif(now(), now())) AND @ < lo('2026-01-01 03:00')$$),
('volatile', $$@ < lo(clock_timestamp()) AND @ > lo('2026-01-01 03:00')$$),
('volatile, last', $$@ > lo('2026-01-01 03:00') AND @ < lo(clock_timestamp())$$),
('itself', $$@ >= @ AND @ <= lo('2026-01-01 03:00')$$),
('itself, twice', $$@ >= @ AND @ <= @$$);
SELECT what, pg_temp.agrees('SELECT FROM event WHERE ' || query) FROM form;

-- Ranges of time, beside the same as bounds of the time
SELECT range, pg_temp.agrees(format('SELECT FROM event WHERE id <@ tstzrange(%s)', range), 'SELECT FROM event WHERE ' || bounds)
FROM (VALUES
    ($$'2026-01-01 03:00', '2026-01-01 03:10'$$, $$at >= '2026-01-01 03:00' AND at < '2026-01-01 03:10'$$),
    ($$'2026-01-01 03:00', '2026-01-01 03:00:01', '[]'$$, $$at BETWEEN '2026-01-01 03:00' AND '2026-01-01 03:00:01'$$),
    ($$NULL, '2026-01-01 03:00'$$, $$at < '2026-01-01 03:00'$$),
    ($$NULL, NULL$$, $$at IS NOT NULL$$),
    ($$now(), now() + interval '1 h'$$, $$at >= now() AND at < now() + interval '1 h'$$),
    ($$$1, $2$$, $$at >= $1 AND at < $2$$),
    ($$'2026-01-01 03:00', $2$$, $$at >= '2026-01-01 03:00' AND at < $2$$)) AS s (range, bounds);
SELECT pg_temp.agrees('SELECT FROM event WHERE id <@ $3', 'SELECT FROM event WHERE at >= $1 AND at < $2') AS parameter;
-- What a range becomes for an index costs as much as two bounds that nobody knows.
SELECT (id ->> 'Total Cost')::numeric / (at ->> 'Total Cost')::numeric BETWEEN 0.5 AND 2 AS costs_agree
FROM pg_temp.plan($$SELECT FROM event WHERE id <@ (SELECT tstzrange('2026-01-01 03:00', '2026-01-01 03:10'))$$) AS id,
    pg_temp.plan($$SELECT FROM event WHERE at >= (SELECT timestamptz '2026-01-01 03:00') AND at < (SELECT timestamptz '2026-01-01 03:10')$$) AS at;

-- 1,000 ranges in an OR, and 1,000 bounds in an AND
SELECT pg_temp.agrees('SELECT FROM event WHERE ' || string_agg(format($$@ >= lo(%1$L) AND @ < lo(%1$L::timestamptz + interval '1 s')$$, at), ' OR ' ORDER BY n)) AS ranges,
    pg_temp.agrees('SELECT FROM event WHERE ' || string_agg(format($$@ >= lo(%L) AND @ < lo('2026-01-01 09:00')$$, at), ' AND ' ORDER BY n)) AS bounds,
    pg_temp.agrees('SELECT FROM event WHERE ' || string_agg(format($$(@, n) > (lo(%L), n)$$, at), ' OR ' ORDER BY n)) AS rows
FROM event WHERE n > 5000 AND n % 15 = 0;

-- Updates, groups, subqueries, unions
SELECT query, pg_temp.agrees(query)
FROM (VALUES
    ($$DELETE FROM event WHERE @ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10') RETURNING 1$$),
    ($$UPDATE event SET n = 0 WHERE @ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10') RETURNING 1$$),
    ($$SELECT FROM event WHERE @ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10') FOR UPDATE$$),
    ($$SELECT n FROM event GROUP BY n HAVING max(@) > lo('2026-01-01 03:00') AND max(@) < lo('2026-01-01 03:10')$$),
    ($$SELECT n FROM event GROUP BY n HAVING max(@) > lo('2026-01-01 03:00')$$),
    ($$SELECT @ FROM event GROUP BY @ HAVING @ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$),
    ($$SELECT FROM (SELECT @ FROM event OFFSET 0) AS s WHERE @ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$),
    ($$SELECT FROM (SELECT @, row_number() OVER () FROM event) AS s WHERE @ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$),
    ($$SELECT FROM (SELECT @ FROM event UNION ALL SELECT @ FROM event) AS s WHERE @ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$),
    ($$WITH s AS MATERIALIZED (SELECT @ FROM event) SELECT FROM s WHERE @ > lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$)) AS s (query);

-- Nulls, common values, domains, expressions, and no statistics
CREATE DOMAIN pg_temp.key AS sno;
CREATE DOMAIN pg_temp.instant AS timestamptz;
CREATE TEMP TABLE nulls AS SELECT CASE WHEN n % 3 > 0 THEN id END AS id, CASE WHEN n % 3 > 0 THEN at END AS at, n FROM event;
CREATE TEMP TABLE common AS SELECT CASE WHEN n % 3 > 0 THEN id ELSE sno_make('2026-01-01 03:05', 1, 1) END AS id, CASE WHEN n % 3 > 0 THEN at ELSE '2026-01-01 03:05' END AS at, n FROM event;
CREATE TEMP TABLE few AS SELECT sno_min(date_trunc('hour', at)) AS id, date_trunc('hour', at) AS at, n FROM event;
CREATE TEMP TABLE domains (id pg_temp.key, at pg_temp.instant, n integer);
INSERT INTO domains SELECT * FROM event;
CREATE TEMP TABLE unknown AS SELECT * FROM event;
ALTER TABLE unknown SET (autovacuum_enabled = off);
ANALYZE nulls, common, few, domains;
SELECT s.name, bool_and(pg_temp.agrees(format('SELECT FROM %I WHERE ', s.name) || query)) AS agree, count(*)
FROM unnest('{nulls,common,few,domains,unknown}'::text[]) AS s (name), form GROUP BY s.name ORDER BY s.name;

CREATE TEMP TABLE expressions AS SELECT * FROM event;
CREATE STATISTICS pg_temp.of_id ON (sno_with_meta(id, 0)) FROM expressions;
CREATE STATISTICS pg_temp.of_at ON (timezone('UTC', timezone('UTC', at))) FROM expressions;
CREATE INDEX ON expressions (sno_with_partition(id, 0));
CREATE INDEX ON expressions (timezone('GMT', timezone('GMT', at)));
ANALYZE expressions;
SELECT pg_temp.agrees(format('SELECT FROM expressions WHERE %1$s >= sno_min(%3$L) AND %1$s < sno_min(%4$L)', id, at, low, high),
    format('SELECT FROM expressions WHERE %2$s >= %3$L AND %2$s < %4$L', id, at, low, high))
FROM (VALUES ('sno_with_meta(id, 0)', $$timezone('UTC', timezone('UTC', at))$$),
    ('sno_with_partition(id, 0)', $$timezone('GMT', timezone('GMT', at))$$),
    ('greatest(id)', 'greatest(at)')) AS s (id, at),
    (VALUES (timestamptz '2026-01-01 03:00', timestamptz '2026-01-01 03:10')) AS r (low, high);

-- Times with the highest bit of the unit, and the end of the epoch
CREATE TEMP TABLE late AS SELECT sno_make(at, 0, 0) AS id, at
FROM (SELECT timestamptz '2044-11-03' + n * interval '31 min' AS at FROM generate_series(1, 5000) AS n
    UNION ALL SELECT timestamptz '2079-09-07 15:47:35.548' - n * interval '12 s' FROM generate_series(0, 4999) AS n) AS s;
ANALYZE late;
SELECT bool_and(pg_temp.agrees(format($$SELECT FROM late WHERE @ >= lo(%L) AND @ < lo(%L)$$, at, at + width))), count(*)
FROM generate_series(timestamptz '2044-10-27 05:00', '2045-03-01', '5 days 7 h') AS at, unnest('{4 h, 10 days}'::interval[]) AS width;
SELECT bool_and(pg_temp.agrees(format($$SELECT FROM late WHERE @ >= lo(%L) AND @ < lo(%L)$$, at, at + width))), count(*)
FROM generate_series(timestamptz '2079-09-07', '2079-09-07 15:40', '40 min') AS at, unnest('{1 min, 1 h}'::interval[]) AS width;
SELECT pg_temp.agrees($$SELECT FROM late WHERE @ > hi('2079-09-07 15:40')$$), pg_temp.agrees($$SELECT FROM late WHERE @ < lo('2080-01-01')$$);

-- Partitions and heirs
CREATE TEMP TABLE part_id (LIKE event) PARTITION BY RANGE (id);
CREATE TEMP TABLE part_id_1 PARTITION OF part_id FOR VALUES FROM (MINVALUE) TO (sno_min('2026-01-01 03:05'));
CREATE TEMP TABLE part_id_2 PARTITION OF part_id FOR VALUES FROM (sno_min('2026-01-01 03:05')) TO (MAXVALUE);
CREATE TEMP TABLE part_at (LIKE event) PARTITION BY RANGE (at);
CREATE TEMP TABLE part_at_1 PARTITION OF part_at FOR VALUES FROM (MINVALUE) TO ('2026-01-01 03:05');
CREATE TEMP TABLE part_at_2 PARTITION OF part_at FOR VALUES FROM ('2026-01-01 03:05') TO (MAXVALUE);
INSERT INTO part_id SELECT * FROM event;
INSERT INTO part_at SELECT * FROM event;
CREATE TEMP TABLE parent (LIKE event);
CREATE TEMP TABLE heir_1 () INHERITS (parent);
CREATE TEMP TABLE heir_2 () INHERITS (parent);
INSERT INTO heir_1 SELECT * FROM event WHERE n % 3 > 0;
INSERT INTO heir_2 SELECT * FROM event WHERE n % 3 = 0;
ANALYZE part_id, part_at, parent, heir_1, heir_2;
SELECT t.name, bool_and(pg_temp.agrees(format('SELECT FROM %s WHERE ', t.name) || query)) AS agree, count(*)
FROM unnest('{part_@,parent}'::text[]) AS t (name), form GROUP BY t.name ORDER BY t.name;

-- Joins
CREATE TEMP TABLE other AS SELECT id, at, n / 2 AS n FROM event;
CREATE INDEX ON other (id);
CREATE INDEX ON other (at);
ANALYZE other;
SELECT query, pg_temp.agrees('SELECT FROM event AS a ' || query)
FROM (VALUES
    ($$JOIN other AS b ON a.n = b.n WHERE a.@ >= lo('2026-01-01 03:00') AND a.@ < lo('2026-01-01 03:10')$$),
    ($$JOIN other AS b ON a.@ = b.@ WHERE a.@ >= lo('2026-01-01 03:00') AND a.@ < lo('2026-01-01 03:10')$$),
    ($$JOIN other AS b ON a.n = b.n WHERE a.@ >= lo('2026-01-01 03:00') AND b.@ < lo('2026-01-01 03:10')$$),
    ($$JOIN other AS b ON a.n = b.n WHERE (a.n = 1 AND b.@ >= lo('2026-01-01 03:00') AND b.@ < lo('2026-01-01 03:10')) OR (a.n = 2 AND b.@ >= lo('2026-01-01 04:00') AND b.@ < lo('2026-01-01 04:10'))$$),
    ($$JOIN other AS b ON (a.n = 1 AND b.@ >= lo('2026-01-01 03:00') AND b.@ < lo('2026-01-01 03:10')) OR a.n = 2$$),
    ($$JOIN other AS b ON (a.n = 1 AND b.@ >= lo('2026-01-01 03:00') AND b.@ < lo('2026-01-01 08:10')) OR a.n = b.n$$),
    ($$LEFT JOIN other AS b ON a.n = b.n AND b.@ >= lo('2026-01-01 03:00') AND b.@ < lo('2026-01-01 03:10')$$),
    ($$LEFT JOIN other AS b ON a.n = b.n AND a.@ >= lo('2026-01-01 03:00') AND a.@ < lo('2026-01-01 03:10')$$),
    ($$LEFT JOIN other AS b ON a.n = b.n AND a.@ >= lo('2026-01-01 03:00') WHERE a.@ < lo('2026-01-01 03:10')$$),
    ($$LEFT JOIN other AS b ON a.n / 99 = b.n / 99 AND a.@ >= lo('2026-01-01 03:00') LEFT JOIN other AS c ON a.n / 99 = c.n / 99 AND a.@ < lo('2026-01-01 03:10')$$),
    ($$LEFT JOIN other AS b ON a.n = b.n AND b.@ >= lo('2026-01-01 03:00') WHERE b.@ < lo('2026-01-01 03:10') OR b.@ IS NULL$$),
    ($$FULL JOIN other AS b ON a.n = b.n WHERE a.@ >= lo('2026-01-01 03:00') AND b.@ < lo('2026-01-01 03:10')$$),
    ($$WHERE EXISTS (SELECT FROM other AS b WHERE a.n = b.n AND b.@ >= lo('2026-01-01 03:00') AND b.@ < lo('2026-01-01 03:10'))$$),
    ($$WHERE NOT EXISTS (SELECT FROM other AS b WHERE a.n = b.n AND b.@ >= lo('2026-01-01 03:00') AND b.@ < lo('2026-01-01 03:10'))$$),
    ($$JOIN other AS b ON a.@ > b.@$$),
    ($$JOIN other AS b ON a.@ > b.@ AND a.@ < lo('2026-01-01 03:10')$$),
    ($$JOIN other AS b ON a.@ > b.@ AND b.n = 7$$)) AS s (query);

-- Parts of one bucket of the histogram on both sides are joined by hashing.
SET enable_seqscan = on;
CREATE FUNCTION pg_temp.join_of(query text) RETURNS text LANGUAGE sql
RETURN pg_temp.plan(query) ->> 'Node Type';
SELECT pg_temp.join_of(pg_temp.of_id(query)) AS of_id, pg_temp.join_of(pg_temp.of_at(query)) AS of_at
FROM (VALUES ($$SELECT FROM event AS a JOIN other AS b USING (n)
    WHERE a.@ >= lo('2026-01-01 03:00') AND a.@ < lo('2026-01-01 03:02') AND b.@ >= lo('2026-01-01 03:00') AND b.@ < lo('2026-01-01 03:02')$$)) AS s (query);

-- Ranges whose ends are columns of another table count as ranges that nobody knows, with
-- and without an index, whichever operand is first.  A bound alone counts as one.
CREATE TEMP TABLE shift AS SELECT n, tstzrange(at, at + interval '1 h') AS during, at AS low, at + interval '1 h' AS high FROM event WHERE n % 100 = 0;
ANALYZE shift;
SELECT condition, (pg_temp.plan('SELECT FROM shift AS s JOIN event AS e ON ' || condition) ->> 'Plan Rows')::numeric / (200 * 20000) AS selectivity
FROM unnest(ARRAY['e.id <@ s.during', 's.during @> e.id', 'e.id BETWEEN sno_min(s.low) AND sno_max(s.high)',
    'sno_min(s.low) <= e.id AND sno_max(s.high) >= e.id', 'e.id >= sno_min(s.low)', 'e.id >= sno_min(s.low) AND e.id >= sno_min(s.high)']) AS condition;
SELECT plan #> '{Plans,1,Plan Rows}' AS inner_rows, count(*), count(DISTINCT plan ->> 'Total Cost') AS costs
FROM unnest(ARRAY['e.id BETWEEN sno_min(s.low) AND sno_max(s.high)', 'sno_min(s.low) <= e.id AND sno_max(s.high) >= e.id']) AS condition,
    pg_temp.plan('SELECT FROM shift AS s JOIN event AS e ON ' || condition || ' WHERE s.n = 100') AS plan
GROUP BY 1;

-- Partial indexes
SET enable_seqscan = off;
CREATE TEMP TABLE partial AS SELECT * FROM event;
ANALYZE partial;
CREATE FUNCTION pg_temp.costs_agree(keys text, predicate text, query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    id jsonb;
    at jsonb;
BEGIN
    EXECUTE pg_temp.of_id(format('CREATE INDEX partial_id ON partial (%s) WHERE %s', keys, predicate));
    id := pg_temp.plan(pg_temp.of_id('SELECT FROM partial WHERE ' || query));
    DROP INDEX partial_id;
    EXECUTE pg_temp.of_at(format('CREATE INDEX partial_at ON partial (%s) WHERE %s', keys, predicate));
    at := pg_temp.plan(pg_temp.of_at('SELECT FROM partial WHERE ' || query));
    DROP INDEX partial_at;
    RETURN id::text ~ 'partial_id' AND at::text ~ 'partial_at' AND
        (id ->> 'Total Cost')::numeric / (at ->> 'Total Cost')::numeric BETWEEN 0.5 AND 2;
END $$;
SELECT *, pg_temp.costs_agree(keys, predicate, query)
FROM (VALUES
    ('@', $$@ >= lo('2026-01-01 03:00')$$, $$@ >= lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$),
    ('@', $$@ < lo('2026-01-01 03:10')$$, $$@ >= lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$),
    ('@', $$@ >= lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$, $$@ >= lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$),
    ('@', $$@ < lo('2026-01-01 03:10') AND @ >= lo('2026-01-01 03:00')$$, $$@ >= lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10') AND @ > lo('2026-01-01 02:00')$$),
    ('@', $$@ >= lo('2026-01-01 01:00') AND @ < lo('2026-01-01 08:00')$$, $$@ >= lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$),
    ('@', $$@ >= lo('2026-01-01 01:00') OR n < 10$$, $$@ >= lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$),
    ('@', $$@ >= lo('2026-01-01 01:00')$$, $$@ >= lo('2026-01-01 01:00') AND @ > lo('2026-01-01 03:00') ORDER BY @ LIMIT 10$$),
    ('@', $$@ >= lo('2026-01-01 01:00')$$, $$@ > lo('2026-01-01 03:00') AND @ >= lo('2026-01-01 01:00') AND @ < lo('2026-01-01 03:10')$$),
    ('n', $$@ < lo('2026-01-01 08:00')$$, $$n < 10000 AND @ >= lo('2026-01-01 07:50') AND @ < lo('2026-01-01 08:00')$$),
    ('n', $$@ >= lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$, $$n < 10000 AND @ >= lo('2026-01-01 03:00') AND @ < lo('2026-01-01 03:10')$$),
    ('n, @', $$@ < lo('2026-01-01 05:00')$$, $$n = 7 AND @ >= lo('2026-01-01 04:59') AND @ < lo('2026-01-01 05:00')$$)) AS s (keys, predicate, query);

-- Anybody may name the estimators for an operator, which may have another type or no order.
CREATE OPERATOR pg_temp.<<< (LEFTARG = sno, RIGHTARG = sno, FUNCTION = sno_catalog.sno_lt, RESTRICT = sno_catalog.sno_bound_sel, JOIN = sno_catalog.sno_bound_joinsel);
CREATE OPERATOR pg_temp.<<< (LEFTARG = integer, RIGHTARG = integer, FUNCTION = int4lt, RESTRICT = sno_catalog.sno_bound_sel, JOIN = sno_catalog.sno_bound_joinsel);
CREATE OPERATOR pg_temp.<<< (LEFTARG = name, RIGHTARG = text, FUNCTION = namelttext, RESTRICT = sno_catalog.sno_bound_sel, JOIN = sno_catalog.sno_bound_joinsel);
CREATE FUNCTION pg_temp.is_odd(integer) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 % 2 = 1; END';
CREATE OPERATOR pg_temp.<<< (RIGHTARG = integer, FUNCTION = pg_temp.is_odd, RESTRICT = sno_catalog.sno_bound_sel);
SELECT condition, (pg_temp.plan('SELECT FROM event AS e, event AS f WHERE ' || condition) ->> 'Plan Rows')::numeric / 20000 / 20000 AS selectivity
FROM unnest(ARRAY[$$e.id OPERATOR(pg_temp.<<<) sno_min('2026-01-01 03:00')$$, 'e.n OPERATOR(pg_temp.<<<) 7', 'OPERATOR(pg_temp.<<<) e.n', 'e.n OPERATOR(pg_temp.<<<) f.n', $$e.n::text::name OPERATOR(pg_temp.<<<) '7'::text$$]) AS condition;
CREATE TEMP TABLE price AS SELECT n::money AS price FROM event;
ANALYZE price;
BEGIN;
ALTER OPERATOR < (money, money) SET (RESTRICT = sno_catalog.sno_bound_sel, JOIN = sno_catalog.sno_bound_joinsel);
SELECT (pg_temp.plan('SELECT FROM price WHERE price < 7000::money') ->> 'Plan Rows')::numeric / 20000 AS selectivity;
ROLLBACK;
