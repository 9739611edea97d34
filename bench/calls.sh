#!/bin/bash
#
# bench/calls.sh
#
# Measures on a throw-away server:
# - the time of the first id of a fresh server, and of the second one in the same
#   session: medians of 20 starts, with fsync off;
# - the system calls of a million ids;
# - where perf finds the time of 20 million ids, and how many functions that take
#   locks are in its samples.

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

# watch IDS COMMAND...: run the command on a backend while that generates.
watch() {
    local session session_PID input output watcher query pid
    query="SELECT count(sno_generate()) FROM (SELECT generate_series(1, $1)) AS series;"
    coproc session { sql; }
    output=${session[0]} input=${session[1]}
    say "$query" "SELECT pg_backend_pid();" >&"$input"  # after this it has its partition
    read -r _ <&"$output"
    read -r pid <&"$output"
    "${@:2}" "$pid" >watch.log 2>&1 &
    watcher=$!
    sleep 1                                             # until the command has attached
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
