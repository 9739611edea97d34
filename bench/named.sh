#!/bin/bash
#
# bench/named.sh
#
# How 8 clients generate with one named generator: for 10 s one with 4 sequences, then
# for 60 s one with all sequences.  Each client inserts one id into a table in each
# statement.  Prints how many ids each client got (least, most, mean), how many ids
# there were a second, how many ids came twice, how many drifts there were, and how
# many notifications of waits.
#
# On a throw-away server.  CLIENTS can be set.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

clients=${CLIENTS:-8}

throw_away_server "sno.max_wait = '1min'"
sql -c 'CREATE UNLOGGED TABLE made (client integer, id sno)' \
    -c "SELECT sno_create_generator('small', 1, 0, 3), sno_create_generator('full', 2)" >/dev/null

# generate NAME SECONDS: let all clients generate at once, one id in each statement.
generate() {
    local name=$1 seconds=$2 client running=()
    sql -c 'TRUNCATE made'
    for ((client = 0; client < clients; client++)); do
        sql -c "DO \$\$
            DECLARE
                until timestamptz := clock_timestamp() + interval '$seconds s';
            BEGIN
                WHILE clock_timestamp() < until LOOP
                    INSERT INTO made VALUES ($client, sno_generate(0, '$name'));
                END LOOP;
            END \$\$" &
        running+=($!)
    done
    for client in "${running[@]}"; do wait "$client"; done
    say "$name, $clients clients, $seconds s:"
    sql -c "SELECT format('  ids of a client: %s to %s, mean %s', min(n), max(n), round(avg(n)))
            FROM (SELECT count(*) AS n FROM made GROUP BY client) AS s" \
        -c "SELECT format('  ids a second, by their own times: %s',
                round(count(*) / extract(epoch FROM max(sno_timestamp(id)) - min(sno_timestamp(id)) + interval '4 ms')))
            FROM made" \
        -c "SELECT format('  ids that came twice: %s', count(*) - count(DISTINCT id)) FROM made" \
        -c "SELECT format('  drifts: %s', sno_snapshot_generator('$name')->'drifts')"
}

sql -c 'LISTEN sno_overflow' -c 'SELECT pg_sleep(11)' -c 'SELECT pg_sleep(2)' >heard &
listener=$!
generate small 10
wait $listener
say "  notifications: $(grep -c '"generator": "small"' heard)"
generate full 60
