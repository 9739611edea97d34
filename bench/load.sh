#!/bin/bash
#
# bench/load.sh
#
# Time and space that it takes to load a table in one session, with keys of type sno,
# bigint and uuid v4.  Each round loads each of them, into a new table and after a
# checkpoint.  Ratios are computed within a round, and medians over the rounds.
#
# Connects as psql does (PGHOST, PGDATABASE ...), as a superuser, to a database
# that has sno.  ROUNDS and ROWS can be set.

set -euo pipefail

psql -qX -v ON_ERROR_STOP=1 -v rounds="${ROUNDS:-5}" -v rows="${ROWS:-2000000}" <<'SQL'
CREATE TEMP TABLE turn
    (key text, round integer, seconds float8, heap bigint, index bigint, wal bigint);
CREATE TEMP TABLE settings AS SELECT :rounds AS rounds, :rows AS rows;

DO $$
DECLARE
    key text;
    rounds integer;
    rows integer;
    start timestamptz;
    start_wal pg_lsn;
BEGIN
    SELECT * INTO rounds, rows FROM settings;
    FOR round IN 1 .. rounds LOOP
        FOREACH key IN ARRAY '{
            sno DEFAULT sno_generate(),
            bigint GENERATED ALWAYS AS IDENTITY,
            uuid DEFAULT gen_random_uuid()}'::text[]
        LOOP
            EXECUTE format('CREATE TABLE sno_bench (id %s PRIMARY KEY, n integer)', key);
            COMMIT;
            CHECKPOINT;
            start := clock_timestamp();
            start_wal := pg_current_wal_insert_lsn();
            EXECUTE format('INSERT INTO sno_bench (n) SELECT generate_series(1, %s)', rows);
            COMMIT;
            INSERT INTO turn
            SELECT split_part(key, ' ', 1), round, extract(epoch FROM clock_timestamp() - start),
                   pg_relation_size('sno_bench'), pg_indexes_size('sno_bench'),
                   pg_current_wal_insert_lsn() - start_wal;
            DROP TABLE sno_bench;
        END LOOP;
    END LOOP;
END $$;

\pset footer off
WITH median AS (
    SELECT turn.key,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY turn.seconds) AS seconds,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY turn.seconds / peer.seconds) AS ratio,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY turn.heap) AS heap,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY turn.index) AS index,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY turn.wal) AS wal
    FROM turn JOIN turn AS peer USING (round)
    WHERE peer.key = 'bigint'
    GROUP BY turn.key
)
SELECT key, to_char(seconds, '990.99') AS seconds, to_char(ratio, '990.99') AS "× bigint",
       to_char(heap / 1e6, '9990.9') AS "table MB", to_char(index / 1e6, '9990.9') AS "index MB",
       to_char(wal / 1e6, '9990.9') AS "WAL MB"
FROM median ORDER BY median.seconds;
SQL
