#!/bin/bash
#
# bench/generate.sh
#
# What one call costs in the executor, without the cost of the scan that makes the
# calls: sno_generate(), with a session generator and with a named generator,
# nextval() and gen_random_uuid().  Each round runs all of them.  Ratios are computed
# within a round, and medians over the rounds.
#
# Connects as psql does (PGHOST, PGDATABASE ...), to a database that has sno.  It must
# be allowed to make a sequence there, and a generator in partition 65535.  ROUNDS and
# CALLS can be set.

set -euo pipefail

psql -qX -v ON_ERROR_STOP=1 -v rounds="${ROUNDS:-9}" -v calls="${CALLS:-5000000}" <<'SQL'
SET jit = off;
SET work_mem = '1GB';       -- the series is kept in memory
CREATE SEQUENCE sno_bench;
SELECT sno_create_generator('bench', 65535) \g /dev/null
CREATE TEMP TABLE turn (call text, round integer, ns float8);
CREATE TEMP TABLE settings AS SELECT :rounds AS rounds, :calls AS calls;

DO $$
DECLARE
    f text;
    rounds integer;
    calls integer;
    start timestamptz;
BEGIN
    SELECT * INTO rounds, calls FROM settings;
    FOR round IN 0 .. rounds LOOP       -- round 0 warms up
        FOREACH f IN ARRAY '{
            g, sno_generate(0), "sno_generate(0, ''bench'')", nextval(''sno_bench''), gen_random_uuid()}'::text[]
        LOOP
            start := clock_timestamp();
            EXECUTE format('SELECT count(%s) FROM generate_series(1, %s) AS g', f, calls);
            INSERT INTO turn
            SELECT f, round, extract(epoch FROM clock_timestamp() - start) * 1e9 / calls
            WHERE round > 0;
            COMMIT;
        END LOOP;
    END LOOP;
END $$;
DROP SEQUENCE sno_bench;
SELECT sno_drop_generator('bench') \g /dev/null

\pset footer off
WITH net AS (
    SELECT turn.call, round, turn.ns - scan.ns AS ns
    FROM turn JOIN turn AS scan USING (round)
    WHERE turn.call <> 'g' AND scan.call = 'g'
), median AS (
    SELECT net.call, percentile_cont(0.5) WITHIN GROUP (ORDER BY net.ns) AS ns,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY net.ns / peer.ns) AS ratio
    FROM net JOIN net AS peer USING (round)
    WHERE peer.call LIKE 'nextval%'
    GROUP BY net.call
)
SELECT call, to_char(ns, '9990.9') AS ns, to_char(ratio, '990.99') AS "× nextval"
FROM median ORDER BY median.ns;
SQL
