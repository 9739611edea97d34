#!/bin/bash
#
# bench/portable.sh
#
# The cost of ids of sno_portable, beside ids of the extension and others.
#
# 1. ns a call, in one session.  Each round runs all calls in random order.  Medians.
# 2. Bytes a row of an index, and seconds, after 8 sessions of pgbench loaded a table.  They
#    insert one row a statement, or 100, by prepared statements.
#
# On a throw-away server.  ROUNDS, CALLS, LOADS and ROWS (of each session) can be set.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

rounds=${ROUNDS:-9} calls=${CALLS:-500000} loads=${LOADS:-3} rows=${ROWS:-50000}
sessions=8

throw_away_server "shared_buffers = 1GB" "max_wal_size = 8GB" "autovacuum = off" \
    "max_parallel_workers_per_gather = 0"
machine
sql -v core_has_it=false -f tree/bench/peers.sql
sql -c "CREATE SEQUENCE bench"
sql -1 -o /dev/null -f tree/portable/sno_portable--0.9.sql

# Each key, and the expression that makes it
made=(
    "sno_portable|sno.sno_generate_uuidv8(1)"
    "the extension|sno_generate_uuidv8(1)"
    "uuid v7 in PL/pgSQL|uuid_v7()"
    "uuid v4|gen_random_uuid()"
    "bigint|nextval('bench')")
[ "$(sql -c "SELECT count(*) FROM pg_proc WHERE proname = 'uuidv7'")" = 0 ] || made+=("uuid v7 of PostgreSQL|uuidv7()")
read_calls=(
    "sno_portable, another metabyte each|sno.sno_generate_uuidv8(n % 256)"
    "time of an id, sno_portable|sno.sno_timestamp(sno.sno_from_uuidv8(id))"
    "time of an id, the extension|sno_timestamp(sno_from_uuidv8(id))"
    "is it an id, sno_portable|sno.sno_is_uuidv8(id)"
    "is it an id, the extension|sno_is_uuidv8(id)")
sql -c "CREATE TABLE figure (name text, ns float8, bytes float8, seconds float8)" \
    -c "CREATE UNLOGGED TABLE source AS SELECT n::integer, sno_generate_uuidv8(n % 256) AS id FROM generate_series(1, $calls) AS n" \
    -c "VACUUM ANALYZE source"

timed() { sql -c '\timing on' -c "$1" | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p'; }

for ((round = 0; round <= rounds; round++)); do         # round 0 warms up
    while IFS='|' read -r name call; do
        ms=$(timed "SELECT count($call) FROM source")
        none=$(timed "SELECT count(id) FROM source")
        [ "$round" = 0 ] ||
            sql -c "INSERT INTO figure VALUES ('$name', ($ms - $none) * 1000000 / $calls)"
    done < <(printf '%s\n' "${made[@]}" "${read_calls[@]}" | shuf)
done
say "" "ns a call (the scan is subtracted)"
sql -F $'\t' -c "SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ns)), name FROM figure GROUP BY 2 ORDER BY 1"

for at_once in 1 100; do
    say "" "$sessions sessions, $rows rows each, $at_once a statement: bytes of the index a row, seconds"
    sql -c "TRUNCATE figure"
    for ((load = 0; load < loads; load++)); do
        while IFS='|' read -r name call; do
            type=uuid
            [ "$name" != bigint ] || type=bigint
            sql -c "DROP TABLE IF EXISTS loaded" -c "CREATE TABLE loaded (id $type PRIMARY KEY DEFAULT $call, n integer)" \
                -c CHECKPOINT 2>/dev/null
            echo "INSERT INTO loaded (n) SELECT generate_series(1, $at_once);" >load.sql
            start=$EPOCHREALTIME
            "$pg_bin/pgbench" -n -M prepared -h "$work/server" -U postgres -c "$sessions" -j 2 \
                -t $((rows / at_once)) -f load.sql postgres >/dev/null 2>&1
            sql -c "INSERT INTO figure SELECT '$name', NULL, pg_relation_size('loaded_pkey')::float8 / count(*), $EPOCHREALTIME - $start FROM loaded"
        done < <(printf '%s\n' "${made[@]}" | shuf)
    done
    sql -F $'\t' -c "SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY bytes)::numeric, 1),
        round(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)::numeric, 1), name FROM figure GROUP BY 3 ORDER BY 1, 2"
done
