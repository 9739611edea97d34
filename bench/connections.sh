#!/bin/bash
#
# bench/connections.sh
#
# How long clients take that connect for one id: one after the other, and 1,000 at once
# right after a restart of the server.  With them: clients that want a number of a
# sequence, or a constant of type sno, for which the server loads the library, or nothing
# but an answer.  Then the same with 60,000 rows of leases that other holders left; both
# with a server that loads the library at its start, too.  Prints ms a client, medians of
# 5 rounds, and how many leases the 1,000 took at the most.
#
# On a throw-away server.  CLIENTS, LEASES and ROUNDS can be set.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

clients=${CLIENTS:-1000}
leases=${LEASES:-60000}
rounds=${ROUNDS:-5}

throw_away_server "max_connections = $((clients + 100))" "shared_buffers = 1GB"
sql -c 'CREATE SEQUENCE numbers' -c 'CREATE TABLE result (leases integer, preload boolean, at_once boolean, kind text, ms float8, taken bigint)'
say 'SELECT 1;' >answer.sql
say "SELECT nextval('numbers');" >number.sql
say 'SELECT sno_zero();' >constant.sql
say 'SELECT sno_generate();' >id.sql

declare -A preloaded=([false]="" [true]=sno)
restart() {
    stop_server "$work/server"
    start_server "$work/server"
    sql -c 'SELECT' >/dev/null
}

# connect LEASES PRELOAD AT_ONCE KIND OPTION ...: let clients of pgbench connect
connect() {
    local before start end      # a lease that is taken lasts a minute
    printf '%s\n' "shared_preload_libraries = '${preloaded[$2]}'" >server/data/postgresql.auto.conf
    restart
    before=$(sql -c 'SELECT clock_timestamp()')
    start=$(date +%s%N)
    quietly pgbench.log "$pg_bin/pgbench" -n -h "$work/server" -U postgres "${@:5}" -f "$4.sql" postgres
    end=$(date +%s%N)
    sql -c "INSERT INTO result SELECT $1, $2, $3, '$4', ($end - $start) / 1e6 / $clients, count(*)
        FROM sno_catalog.sno_lease WHERE tick_until > timestamptz '$before' + interval '1 min'"
}

measure() {
    local round preload kind
    for ((round = 0; round < rounds; round++)); do
        for preload in $(shuf -e false true); do
            for kind in $(shuf -e answer number constant id); do
                connect "$1" "$preload" false "$kind" -C -c 1 -t "$clients"
                connect "$1" "$preload" true "$kind" -c "$clients" -j "$(nproc)" -t 1
            done
        done
    done
}

measure 0
# They are over, so partitions that nobody leased are chosen.
sql -c "INSERT INTO sno_catalog.sno_lease
    SELECT 1, 1, 1, 1, 's', n, '00000000-0000-0000-0000-000000000000', 0, 65535, 0, time, 0, time, time, time
    FROM generate_series(0, $leases - 1) AS n, CAST('2020-01-01' AS timestamptz) AS time"
measure "$leases"
sql -P tuples_only=off -P format=aligned -c "SELECT leases AS \"rows of leases\", preload, at_once AS \"at once\", kind,
    round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 3) AS \"ms a client\", max(taken) AS \"leases taken\"
    FROM result GROUP BY leases, preload, at_once, kind ORDER BY leases, preload, at_once, kind"
