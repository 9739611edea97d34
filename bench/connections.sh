#!/bin/bash
#
# bench/connections.sh
#
# How long clients take that connect for one id: 1,000 clients, of which 1, 4, 100 or all
# connect at the same time.  With them: clients that want a number of a sequence, a uuid, random
# bytes of pgcrypto or a constant of type sno, for which the server loads the library, or nothing
# but an answer.  Then the same with 60,000 rows of leases that other holders left; both with a
# server that loads sno at its start, too.  The server is restarted before each number of clients
# at once, so the first ids need a lease.  Prints for each client the ms, and the ms of CPU that
# its session took, which depends less on what else the machine does; their ratios to a number's,
# as medians of 5 rounds; and how many leases the clients took at the most.
#
# On a throw-away server.  CLIENTS, LEASES (0 for none) and ROUNDS can be set.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

clients=${CLIENTS:-1000}
leases=${LEASES:-60000}
rounds=${ROUNDS:-5}
cores=$(nproc)

throw_away_server "max_connections = $((clients + 100))" "shared_buffers = 1GB"
sql -c 'CREATE EXTENSION pgcrypto' -c 'CREATE SEQUENCE numbers' -c 'CREATE TABLE result (leases integer, preload boolean, at_once integer, kind text, round integer, ms float8, cpu float8, taken bigint)'
say 'SELECT 1;' >answer.sql
say "SELECT nextval('numbers');" >number.sql
say 'SELECT gen_random_uuid();' >uuid.sql
say 'SELECT gen_random_bytes(16);' >bytes.sql
say 'SELECT sno_zero();' >constant.sql
say 'SELECT sno_generate();' >id.sql

declare -A preloaded=([false]="" [true]=sno)
restart() {
    stop_server "$work/server"
    start_server "$work/server"
    sql -c 'SELECT' >/dev/null
}

# The CPU time of the server's processes that have ended, in ticks
cpu() { awk '{ print $16 + $17 }' "/proc/$(head -n 1 server/data/postmaster.pid)/stat"; }

# connect LEASES PRELOAD AT_ONCE KIND ROUND: let clients of pgbench connect
connect() {
    local before start end ticks    # a lease that is taken lasts a minute
    before=$(sql -c 'SELECT clock_timestamp()')
    ticks=$(cpu)
    start=$(date +%s%N)
    quietly pgbench.log "$pg_bin/pgbench" -n -h "$work/server" -U postgres \
        -C -c "$3" -j "$(($3 < cores ? $3 : cores))" -t $((clients / $3)) -f "$4.sql" postgres
    end=$(date +%s%N)
    while [ "$(sql -c "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'")" -gt 0 ]; do sleep 0.1; done
    sql -c "INSERT INTO result SELECT $1, $2, $3, '$4', $5, ($end - $start) / 1e6 / $clients,
        ($(cpu) - $ticks) * 1e3 / $(getconf CLK_TCK) / $clients, count(*)
        FROM sno_catalog.sno_lease WHERE tick_until > timestamptz '$before' + interval '1 min'"
}

measure() {
    local round preload at_once kind
    for ((round = 0; round < rounds; round++)); do
        for preload in $(shuf -e false true); do
            say "shared_preload_libraries = '${preloaded[$preload]}'" >server/data/postgresql.auto.conf
            for at_once in 1 4 100 "$clients"; do
                restart
                for kind in $(shuf -e answer number uuid bytes constant id); do
                    connect "$1" "$preload" "$at_once" "$kind" $round
                done
            done
        done
    done
}

measure 0
if [ "$leases" -gt 0 ]; then
    # They are over, so partitions that nobody leased are chosen.
    sql -c "INSERT INTO sno_catalog.sno_lease
        SELECT 1, 1, 1, 1, 's', n, '00000000-0000-0000-0000-000000000000', 0, 65535, 0, time, 0, time, time, time
        FROM generate_series(0, $leases - 1) AS n, CAST('2020-01-01' AS timestamptz) AS time"
    measure "$leases"
fi
sql -P tuples_only=off -P format=aligned -c "SELECT leases AS \"rows of leases\", preload, at_once AS \"at once\", kind,
    round(percentile_cont(0.5) WITHIN GROUP (ORDER BY r.ms)::numeric, 3) AS \"ms a client\",
    round(percentile_cont(0.5) WITHIN GROUP (ORDER BY r.ms / number.ms)::numeric, 2) AS ratio,
    round(percentile_cont(0.5) WITHIN GROUP (ORDER BY r.cpu)::numeric, 3) AS \"ms of CPU\",
    round(percentile_cont(0.5) WITHIN GROUP (ORDER BY r.cpu / number.cpu)::numeric, 2) AS \"ratio of CPU\",
    max(r.taken) AS \"leases taken\"
    FROM result AS r JOIN (SELECT leases, preload, at_once, round, ms, cpu FROM result WHERE kind = 'number') AS number
        USING (leases, preload, at_once, round)
    GROUP BY leases, preload, at_once, kind ORDER BY leases, preload, at_once, kind"
