#!/bin/bash
#
# bench/sort.sh
#
# Sorting ids: ORDER BY and CREATE INDEX over shuffled ids of one bulk load, and over
# shuffled ids of a whole year.  The same is measured with bigint, with random uuids
# (v4), and with uuids that begin with the time (v7), of one bulk load and of a year.
# Each round runs all of them.  Ratios are computed within a round, and medians over
# the rounds.
#
# Connects as psql does (PGHOST, PGDATABASE ...), as a superuser, to a database
# that has sno.  ROUNDS and ROWS can be set.

set -euo pipefail

psql -qX -v ON_ERROR_STOP=1 -v rounds="${ROUNDS:-5}" -v rows="${ROWS:-5000000}" <<'SQL'
CREATE FUNCTION pg_temp.uuid_v7(at timestamptz) RETURNS uuid LANGUAGE sql
RETURN encode(
    substring(int8send((extract(epoch FROM at) * 1000)::bigint) FROM 3) ||
    set_byte(substring(uuid_send(gen_random_uuid()) FROM 7), 0, 112), 'hex')::uuid;

CREATE TEMP TABLE source (key text, id text);
INSERT INTO source VALUES
    ('sno, one load', 'sno_generate()'),
    ('sno, spread', $$sno_make(timestamptz '2026-01-01' + n * interval '1 year' / rows, 1, 1000)$$),
    ('bigint', 'n::bigint'),
    ('uuid v4', 'gen_random_uuid()'),
    ('uuid v7, one load', 'pg_temp.uuid_v7(clock_timestamp())'),
    ('uuid v7, spread', $$pg_temp.uuid_v7(timestamptz '2026-01-01' + n * interval '1 year' / rows)$$);
CREATE TEMP TABLE turn (key text, round integer, sort float8, index float8);
CREATE TEMP TABLE settings AS SELECT :rounds AS rounds, :rows AS rows;

-- Sort in memory and in one process, so that comparisons take most of the time.
SET work_mem = '1GB';
SET maintenance_work_mem = '1GB';
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;

DO $$
DECLARE
    s source;
    last integer;
    start timestamptz;
    sorted timestamptz;
BEGIN
    SELECT rows - 1 INTO last FROM settings;
    FOR s IN SELECT * FROM source LOOP
        EXECUTE format(
            'CREATE UNLOGGED TABLE %I AS SELECT id FROM (SELECT %s AS id FROM settings, generate_series(1, rows) AS n) AS s ORDER BY random()',
            'sno_bench_' || s.key, s.id);
        EXECUTE format('ANALYZE %I', 'sno_bench_' || s.key);
    END LOOP;
    COMMIT;

    FOR round IN 1 .. (SELECT rounds FROM settings) LOOP
        FOR s IN SELECT * FROM source LOOP
            start := clock_timestamp();
            EXECUTE format('SELECT id FROM %I ORDER BY id OFFSET %s', 'sno_bench_' || s.key, last);
            sorted := clock_timestamp();
            EXECUTE format('CREATE INDEX sno_bench_index ON %I (id)', 'sno_bench_' || s.key);
            INSERT INTO turn
            SELECT s.key, round, extract(epoch FROM sorted - start), extract(epoch FROM clock_timestamp() - sorted);
            DROP INDEX sno_bench_index;
        END LOOP;
    END LOOP;

    FOR s IN SELECT * FROM source LOOP
        EXECUTE format('DROP TABLE %I', 'sno_bench_' || s.key);
    END LOOP;
END $$;

\pset footer off
WITH median AS (
    SELECT turn.key,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY turn.sort) AS sort,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY turn.sort / peer.sort) AS sort_ratio,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY turn.index) AS index,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY turn.index / peer.index) AS index_ratio
    FROM turn JOIN turn AS peer USING (round)
    WHERE peer.key = 'uuid v4'
    GROUP BY turn.key
)
SELECT key, to_char(sort, '990.99') AS "sort, s", to_char(sort_ratio, '990.99') AS "× uuid v4",
       to_char(index, '990.99') AS "index, s", to_char(index_ratio, '990.99') AS "× uuid v4"
FROM median ORDER BY median.index;
SQL
