#!/bin/bash
#
# bench/calls.sh
#
# On a throw-away server: what the first id of a fresh server costs beside the
# second one of the same session, median of 20 starts with fsync off; the system
# calls of a million ids; and where perf finds the time of 20 million, with the
# samples in functions that take locks.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2119
throw_away_server
need strace linux-perf

for ((i = 0; i < 20; i++)); do
    stop_server "$work/server"
    start_server "$work/server"
    sql -c '\timing on' -c 'SELECT sno_generate()' -c 'SELECT sno_generate()' |
        awk '/^Time:/ { t[++n] = $2 } END { print t[1], t[2] }'
done >first
say "first id of a fresh server, second one, ms:" "$(sort -n first | sed -n 10p)"

# watch IDS COMMAND...: let it look at a backend while that generates.
watch() {
    local session session_PID input output watcher query pid
    query="SELECT count(sno_generate()) FROM (SELECT generate_series(1, $1)) AS series;"
    coproc session { sql; }
    output=${session[0]} input=${session[1]}
    say "$query" "SELECT pg_backend_pid();" >&"$input"  # it has its partitions by then
    read -r _ <&"$output"
    read -r pid <&"$output"
    "${@:2}" "$pid" >watch.log 2>&1 &
    watcher=$!
    sleep 1                                             # it attaches
    say "$query" >&"$input"
    read -r _ <&"$output"
    kill -INT $watcher
    wait $watcher || true
    exec {input}>&-
    wait "$session_PID"
}

say "" "system calls of 1,000,000 ids:"
watch 1000000 strace -c -U calls,name -o calls -p
cat calls

say "" "time of 20,000,000 ids, and the samples in functions of locks:"
watch 20000000 perf record -q -o perf.data -p
perf report -i perf.data --stdio --no-children -g none 2>/dev/null | grep -v '^#' >profile
grep -m 8 % profile
say "LWLock or LockAcquire: $(grep -cE 'LWLock|LockAcquire' profile || true) functions"
