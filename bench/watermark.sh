#!/bin/bash
#
# bench/watermark.sh
#
# What sno_watermark() costs with 10, 100 and 1000 sessions that have made ids, half of
# them in a transaction that is still open: µs a call, each under a snapshot of its own.
# Beside it, pg_snapshot_xmin(pg_current_snapshot()) in the same run, and an empty loop.
# And what a transaction costs that makes one id or none.  Medians of interleaved rounds.
#
# On a throw-away server.  ROUNDS can be set.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

rounds=${ROUNDS:-15}

# time_loops COUNT LABEL=STATEMENT ...: time each of these PL/pgSQL statements, run that
# often in a loop, and print for each the median of µs a turn.
time_loops() {
    local count=$1 round loop
    shift
    rm -f time.*
    for ((round = 0; round < rounds; round++)); do
        for loop; do
            sql -c '\timing on' -c "DO \$\$
                DECLARE
                    w text;
                    i integer;
                BEGIN
                    FOR i IN 1..$count LOOP
                        ${loop#*=}
                    END LOOP;
                END \$\$" | awk -v count="$count" '/^Time:/ { print $2 * 1000 / count }' >>"time.${loop%%=*}"
        done
    done
    for loop; do
        printf ' %s %.2f' "${loop%%=*}" "$(sort -n "time.${loop%%=*}" | sed -n "$((rounds / 2 + 1))p")"
    done
    echo
}

throw_away_server 'max_prepared_transactions = 10'
cat >open.sql <<'END'
SELECT sno_generate();
\set stays :client_id % 2
\if :stays
BEGIN;
SELECT sno_generate();
\endif
\sleep 1000 s
END
for sessions in 10 100 1000; do
    stop_server "$work/server"
    echo "max_connections = $((sessions + 10))" >>server/data/postgresql.conf
    start_server "$work/server"
    "$pg_bin/pgbench" -n -h "$work/server" -U postgres -c "$sessions" -t 1 -f open.sql postgres >/dev/null 2>&1 &
    holder=$!
    until [ "$(sql -c 'SELECT count(*) FROM sno_generators()')" = "$sessions" ] &&
        [ "$(sql -c 'SELECT count(*) FROM sno_watermark_holders()')" = $((sessions / 2)) ]; do
        sleep 0.2
    done
    printf 'µs a call, %d sessions:' "$sessions"
    time_loops 10000 'watermark=w := sno_watermark();' \
        'xmin=w := pg_snapshot_xmin(pg_current_snapshot());' "nothing=w := '';"
    kill "$holder"
    wait "$holder" || true
done

printf 'µs a transaction:'
time_loops 50000 'without_an_id=COMMIT;' 'with_one=w := sno_generate(); COMMIT;' \
    'with_two=w := sno_generate(); w := sno_generate(); COMMIT;'
