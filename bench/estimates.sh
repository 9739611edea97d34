#!/bin/bash
#
# bench/estimates.sh
#
# Estimated and actual rows in ranges of time, by ids and by a timestamptz column of the same
# rows.  Rows are distributed evenly or in bursts.  Ranges contain from 10 rows to half of the
# table, and start anywhere.  Statistics are new, or older than the last 20 % of the rows.  The
# error is the factor between estimated and actual rows.  Then the plan and the time of a join,
# and the time of planning.  "before" are estimates by the server's own estimators.
#
# On a throw-away server.  ROWS, and RANGES of each width, can be set.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

rows=${ROWS:-10000000}
ranges=${RANGES:-40}

throw_away_server "autovacuum = off" "max_parallel_workers_per_gather = 0" "timezone = UTC" \
    "shared_buffers = 512MB" "maintenance_work_mem = 512MB" "max_wal_size = 8GB"

sql <<'SQL'
CREATE TABLE result (fill text, since text, width bigint, type text, error float8);
CREATE TABLE event (id sno, at timestamptz, n bigint);
CREATE TABLE block (i bigint PRIMARY KEY, start timestamptz, width interval);

-- A thousand rows come in 5 s, or in 4 s to 68 min.
CREATE PROCEDURE make_blocks(fill text, count bigint) LANGUAGE sql AS $$
    TRUNCATE block, event;
    INSERT INTO block
    SELECT i, timestamptz '2026-01-01' + coalesce(sum(width) OVER (ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), '0'), width
    FROM generate_series(0, count - 1) AS i, LATERAL (
        SELECT CASE fill WHEN 'even' THEN interval '5 s' ELSE interval '4 s' * 2 ^ ((hashint8(i) & 1023) % 11) END AS width) AS s;
$$;
CREATE FUNCTION time_of(n bigint) RETURNS timestamptz STABLE LANGUAGE sql
RETURN (SELECT sno_timestamp(sno_min(start + n % 1000 * width / 1000)) FROM block WHERE i = n / 1000);
CREATE FUNCTION rows_before(t timestamptz) RETURNS bigint LANGUAGE sql
RETURN (SELECT min(n) FROM event WHERE at = (SELECT min(at) FROM event WHERE at >= t));
CREATE PROCEDURE add_rows(first_block bigint, end_block bigint) LANGUAGE sql AS $$
    INSERT INTO event
    SELECT id, sno_timestamp(id), i * 1000 + k
    FROM block, generate_series(0, 999) AS k, LATERAL (SELECT sno_make(start + k * width / 1000, k % 256, k % 10) AS id) AS s
    WHERE i >= first_block AND i < end_block ORDER BY i, k
$$;

CREATE PROCEDURE use_estimators(own boolean) LANGUAGE plpgsql AS $$
DECLARE
    o record;
BEGIN
    FOR o IN SELECT * FROM (VALUES ('<', 'lt'), ('<=', 'le'), ('>', 'gt'), ('>=', 'ge')) AS s (name, suffix) LOOP
        EXECUTE format('ALTER OPERATOR %s (sno, sno) SET (RESTRICT = %s, JOIN = %s)', o.name,
            CASE WHEN own THEN 'sno_bound_sel' ELSE 'scalar' || o.suffix || 'sel' END,
            CASE WHEN own THEN 'sno_bound_joinsel' ELSE 'scalar' || o.suffix || 'joinsel' END);
    END LOOP;
END $$;
CREATE FUNCTION estimate(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan #>> '{0,Plan,Plan Rows}';
END $$;
CREATE FUNCTION planning(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    FOR i IN 1..2 LOOP          -- the first one fills caches
        EXECUTE 'EXPLAIN (FORMAT JSON, SUMMARY) ' || query INTO plan;
    END LOOP;
    RETURN plan #>> '{0,Planning Time}';
END $$;
CREATE PROCEDURE measure(fill text, since text, ranges integer) LANGUAGE plpgsql AS $$
DECLARE
    total bigint := (SELECT max(n) + 1 FROM event);
    r record;
BEGIN
    PERFORM setseed(0.5);
    CREATE TEMP TABLE range AS
    SELECT width, low, high, greatest(rows_before(high) - rows_before(low), 1)::float8 AS actual
    FROM unnest(ARRAY[10, 100, 1000, 10000, 100000, total / 10, total / 2]) AS width,
        LATERAL (SELECT floor(random() * (total - width))::bigint AS n FROM generate_series(1, ranges)) AS s,
        LATERAL (SELECT time_of(n) AS low, time_of(n + width) AS high) AS t
    WHERE low < high;
    FOR r IN SELECT * FROM (VALUES ('before', 'id <@ tstzrange(%L, %L)', false), ('sno', 'id <@ tstzrange(%L, %L)', true),
            ('timestamptz', 'at >= %L AND at < %L', true)) AS s (type, condition, own) LOOP
        CALL use_estimators(r.own);
        INSERT INTO result
        SELECT fill, since, width, r.type, greatest(estimated / actual, actual / estimated)
        FROM range, estimate('SELECT FROM event WHERE ' || format(r.condition, low, high)) AS estimated;
    END LOOP;
    DROP TABLE range;
END $$;
SQL

blocks=$((rows / 1000))
for fill in bursts even; do
    sql -c "CALL make_blocks('$fill', $((blocks * 12 / 10)))" -c "CALL add_rows(0, $blocks)" \
        -c 'CREATE INDEX event_id ON event (id)' -c 'CREATE INDEX event_at ON event (at) INCLUDE (n)' \
        -c 'VACUUM ANALYZE event' -c "CALL measure('$fill', 'ANALYZE', $ranges)"
    if [ $fill = even ]; then
        sql <<'SQL'
SELECT format(condition, 'id', 'sno_min(''2026-01-01 00:20'')', 'sno_min(''2026-01-01 00:21'')') AS of_id,
    format(condition, 'at', '''2026-01-01 00:20''', '''2026-01-01 00:21''') AS of_at
FROM (VALUES ('a.%1$s >= %2$s AND a.%1$s < %3$s AND b.%1$s >= %2$s AND b.%1$s < %3$s')) AS s (condition)
\gset
\echo 'a join of a minute with itself, before:'
CALL use_estimators(false);
EXPLAIN (ANALYZE, TIMING OFF) SELECT count(*) FROM event AS a JOIN event AS b USING (n) WHERE :of_id;
CALL use_estimators(true);
\echo 'sno:'
EXPLAIN (ANALYZE, TIMING OFF) SELECT count(*) FROM event AS a JOIN event AS b USING (n) WHERE :of_id;
\echo 'timestamptz:'
EXPLAIN (ANALYZE, TIMING OFF) SELECT count(*) FROM event AS a JOIN event AS b USING (n) WHERE :of_at;

\echo 'planning, ms, median of 11:'
CREATE TEMP TABLE wide AS
SELECT '1 range' AS conditions, 1 AS arms, ' OR ' AS operator, '(%1$s >= %2$s AND %1$s < %3$s)' AS condition
UNION ALL SELECT format('%s ranges, OR', arms), arms, ' OR ', '(%1$s >= %2$s AND %1$s < %3$s)' FROM unnest('{1000,10000}'::integer[]) AS arms
UNION ALL SELECT format('%s bounds, AND', arms), arms, ' AND ', '%1$s >= %2$s' FROM unnest('{1000,10000}'::integer[]) AS arms
UNION ALL SELECT format('%s rows, OR', arms), arms, ' OR ', '(%1$s, n) > (%2$s, 7)' FROM unnest('{1000,10000}'::integer[]) AS arms;
CREATE TEMP TABLE wide_query AS
SELECT conditions, arms, type, own, 'SELECT FROM event WHERE ' || string_agg(format(condition, col,
    format(value, low), format(value, low + interval '1 s')), operator) AS query
FROM wide, (VALUES ('before', 'id', 'sno_min(%L)', false), ('sno', 'id', 'sno_min(%L)', true), ('timestamptz', 'at', '%L', true)) AS t (type, col, value, own),
    generate_series(1, arms) AS n, LATERAL (SELECT timestamptz '2026-01-01' + n * interval '4 s' AS low) AS s
GROUP BY 1, 2, 3, 4;
CREATE TEMP TABLE planned (conditions text, arms integer, type text, ms float8);
DO $$
BEGIN
    FOR round IN 1..11 LOOP
        FOR turn IN 0..1 LOOP
            CALL use_estimators(turn = 1);
            INSERT INTO planned SELECT conditions, arms, type, planning(query) FROM wide_query AS w WHERE own = (turn = 1);
        END LOOP;
    END LOOP;
END $$;
\pset format aligned
\pset tuples_only off
\pset footer off
SELECT conditions, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE type = 'before')::numeric(9, 3) AS before,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE type = 'sno')::numeric(9, 3) AS sno,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE type = 'timestamptz')::numeric(9, 3) AS timestamptz
FROM planned GROUP BY conditions, arms ORDER BY arms, conditions;
SQL
    fi
    sql -c "CALL add_rows($blocks, $((blocks * 12 / 10)))" -c "CALL measure('$fill', '20 % more', $ranges)" \
        -c 'DROP INDEX event_id, event_at'
done

sql <<'SQL'
\pset format aligned
\pset tuples_only off
\pset footer off
\echo 'factor by which estimates are off, median / maximum:'
SELECT fill, since, width AS rows, max(text) FILTER (WHERE type = 'before') AS before,
    max(text) FILTER (WHERE type = 'sno') AS sno, max(text) FILTER (WHERE type = 'timestamptz') AS timestamptz
FROM (SELECT fill, since, width, type,
        format('%s / %s', round(percentile_cont(0.5) WITHIN GROUP (ORDER BY error)::numeric, 2), round(max(error)::numeric, 2)) AS text
    FROM result GROUP BY 1, 2, 3, 4) AS s
GROUP BY 1, 2, 3 ORDER BY 1 DESC, 2 DESC, 3;
SQL
