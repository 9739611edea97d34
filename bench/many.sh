#!/bin/bash
#
# bench/many.sh
#
# Compares sno_generate_many() with generate_series(), each alone in a select list
# whose rows are counted.  It measures seconds, and the memory of the session: the
# difference of its peak resident set to a session that makes one row.  Each round runs
# both.  Ratios are computed within a round, and medians over the rounds.
#
# Connects as psql does (PGHOST, PGDATABASE ...), to a server on this machine
# and a database that has sno.  ROUNDS and ROWS can be set.

set -euo pipefail

rounds=${ROUNDS:-5} rows=${ROWS:-100000000}

# turn FUNCTION ROWS: run it in a new session, and print seconds and kB at the peak.
turn() {
    local session session_PID input output pid seconds peak
    coproc session { psql -qXAt -v ON_ERROR_STOP=1; }
    output=${session[0]} input=${session[1]}
    printf '%s\n' 'SET jit = off;' 'SELECT sno_generate();' 'SELECT pg_backend_pid();' \
        '\timing on' "SELECT count(*) FROM (SELECT ${1/ROWS/$2}) AS s;" '\timing off' '\echo' >&"$input"
    read -r _ <&"$output"
    read -r pid <&"$output"
    read -r _ <&"$output"
    read -r _ seconds _ <&"$output"
    peak=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")
    exec {input}>&-
    wait "$session_PID"
    echo "$seconds $peak"
}

series='generate_series(1, ROWS)' many='sno_generate_many(ROWS)'
read -r _ series_base < <(turn "$series" 1)
read -r _ many_base < <(turn "$many" 1)
results=$(for ((round = 0; round < rounds; round++)); do
    echo "$(turn "$series" "$rows") $(turn "$many" "$rows")"
done)

# median EXPRESSION: the median of an awk expression over the four figures of a round.
median() { awk "{ print $1 }" <<<"$results" | sort -n | sed -n "$(((rounds + 1) / 2))p"; }
printf '%s rows, medians of %s rounds\n' "$rows" "$rounds"
printf '%-18s %6.2f s, %6d kB more than for one row\n' \
    generate_series "$(median "\$1 / 1000")" "$(median "\$2 - $series_base")" \
    sno_generate_many "$(median "\$3 / 1000")" "$(median "\$4 - $many_base")"
printf 'ratio              %6.2f\n' "$(median "\$3 / \$1")"
