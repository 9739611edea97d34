#!/bin/bash
#
# bench/status.sh
#
# How long it takes to read sno_generators() with 100 sessions that have made ids, and
# to read pg_stat_activity in the same run: ms of psql's \timing, medians of
# interleaved rounds, and their ratio.  And how long after the begin of a wait its
# first notification is made: the median of 10 waits.
#
# On a throw-away server.  ROUNDS can be set.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

rounds=${ROUNDS:-200}

throw_away_server "max_connections = 150"

# Start sessions that make an id, and stay until their input ends.
inputs=()
for ((i = 0; i < 100; i++)); do
    mkfifo "session.$i"
    sql <"session.$i" >/dev/null &
    exec {input}>"session.$i"
    say 'SELECT sno_generate();' >&"$input"
    inputs+=("$input")
done
until [ "$(sql -c 'SELECT count(*) FROM sno_generators()')" = 100 ]; do sleep 0.1; done

for ((i = 0; i < rounds; i++)); do
    say 'SELECT count(g.*) FROM sno_generators() AS g;' 'SELECT count(a.*) FROM pg_stat_activity AS a;'
done | sql -c '\timing on' -f - |
    awk '/^Time:/ { print $2 > (n++ % 2 ? "peer" : "view") }'
median() { sort -n "$1" | sed -n "$((rounds / 2))p"; }
say "sno_generators() with 100 sessions, pg_stat_activity, ms: $(median view) $(median peer)"
say "ratio: $(awk "BEGIN { printf \"%.2f\", $(median view) / $(median peer) }")"

for input in "${inputs[@]}"; do exec {input}>&-; done
wait

# There is one partition, and its owner keeps it.  Other sessions wait for it.  Each
# wait begins after the notifier of the last one has ended.
say "sno.partitions = '1'" >>server/data/postgresql.conf
stop_server "$work/server"
start_server "$work/server"
mkfifo owner
sql <owner >/dev/null &
exec {owner}>owner
say 'SET sno.max_wait = 0;' 'SELECT sno_generate();' >&"$owner"
until [ "$(sql -c 'SELECT count(partition) FROM sno_generators()')" = 1 ]; do sleep 0.1; done
for ((i = 0; i < 10; i++)); do
    sql -c 'LISTEN sno_overflow' -c 'SELECT pg_sleep(1)' -c 'SELECT pg_sleep(2)' >heard &
    listener=$!
    sleep 0.5
    begun=$(sql -v ON_ERROR_STOP=0 -c "SET sno.max_wait = '300ms'" \
        -c "SELECT to_char(clock_timestamp(), 'YYYY-MM-DD\"T\"HH24:MI:SS.USOF')" \
        -c 'SELECT sno_generate()' 2>/dev/null || true)
    wait $listener
    made=$(sed -n 's/.*"time": "\([^"]*\)".*/\1/p' heard | head -n 1)
    echo "$(date -d "$made" +%s.%N) $(date -d "$begun" +%s.%N)" |
        awk '{ printf "%.1f\n", ($1 - $2) * 1000 }'
done | sort -n >latency
say "from a wait to its first notification, ms: $(sed -n 5p latency) (at most $(tail -n 1 latency))"
exec {owner}>&-
wait
