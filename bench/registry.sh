#!/bin/bash
#
# bench/registry.sh [rate|first|week ...]
#
# The cost of a registry.  All parts by default:
#
# rate   The rate of sno_generate() in one session: without a registry, with one, and with
#        one that is stopped.  Each round runs all of them.  Ratios are computed within a
#        round, and medians over the rounds.
# first  The time of the first id of a server without grants: ms, medians of rounds.  The
#        registry is near, or has a round trip of 50 ms, or doesn't answer.  Also the time of
#        the first flake, of a generator whose nodes are granted.
# week   Simulated servers for a simulated week: each one sends a request every MINUTES while it
#        works.  About every three days it pauses for six hours, and half of these times it
#        comes back in a new place; and about every three days it is moved to a new place.
#        One of ten servers wants two blocks.  One session does that, without waits for the
#        disk; then pgbench renews as fast as it can, with waits.
#
# On throw-away servers.  ROUNDS, CALLS, SERVERS, DAYS, MINUTES, and for the registry of
# the week SIZE and LOSSLESS can be set.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

rounds=${ROUNDS:-9} calls=${CALLS:-5000000}
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(rate first week)
registry_port=54391 far_port=54392

# on SERVER ...: psql there
on() { "$pg_bin/psql" -qXAt -v ON_ERROR_STOP=1 -h "$work/$1" -U postgres "${@:2}"; }
registry() { on registry -p $registry_port "$@"; }

clear_all_away() {
    [ -z "${forwarder:-}" ] || kill -KILL "$forwarder" || true
    stop_server "$work/registry" || true
    stop_server "$work/alone" || true
    clear_away
}

# The median of the numbers in the input
median() { sort -n | awk '{ v[NR] = $1 } END { printf "%.2f", v[int((NR + 1) / 2)] }'; }

# set_up CONNINFO: start the server, with the registry there and without grants.
set_up() {
    stop_server "$work/server"
    rm -f server/data/sno.grants
    echo "sno.registry = '$1'" >>server/data/postgresql.conf
    start_server "$work/server"
}

#
# The rate
#

# turn SERVER: ids a second, after some others
turn() {
    on "$1" -c 'SET jit = off' -c "SET work_mem = '1GB'" \
        -c 'SELECT count(sno_generate(0)) FROM generate_series(1, 100000)' \
        -c '\timing on' -c "SELECT count(sno_generate(0)) FROM generate_series(1, $calls)" |
        awk -v calls="$calls" '/^Time:/ { print calls / $2 * 1000 }'
}

# of_rounds EXPRESSION: the median of an awk expression over the figures of a round
of_rounds() { awk "{ print $1 }" rates | median; }

# shellcheck disable=SC2016
rate() {
    local round none up down
    set_up "$unix"
    rm -f rates
    for ((round = 0; round <= rounds; round++)); do
        none=$(turn alone)
        up=$(turn server)
        stop_server "$work/registry"
        down=$(turn server)
        start_server "$work/registry"
        [ $round -eq 0 ] || echo "$none $up $down" >>rates
    done
    printf 'million ids a second, one session, medians of %d rounds of %d ids\n' "$rounds" "$calls"
    printf '  %-24s %8s\n' \
        'no registry' "$(of_rounds '$1 / 1e6')" \
        'registry up' "$(of_rounds '$2 / 1e6')" \
        '  × no registry' "$(of_rounds '$2 / $1')" \
        'registry stopped' "$(of_rounds '$3 / 1e6')" \
        '  × no registry' "$(of_rounds '$3 / $1')" \
        '  × registry up' "$(of_rounds '$3 / $2')"
}

#
# The first id
#

# first_id CALL: ms of the first call in a new session, which has loaded the library.  Leaves
# the error, if there is one, in first.err.
first_id() {
    { on server -c "LOAD 'sno'" -c '\timing on' -c "SELECT $1" 2>first.err || true; } |
        awk '/^Time:/ { print $2 }'
    [ -s first.err ] || echo 'an id' >first.err
}

# first_ids NAME COMMAND...: measure after COMMAND, each time
first_ids() {
    local round call
    for call in 'sno_generate()' "sno_flake_generate('orders')"; do
        rm -f first.ms
        for ((round = 0; round < rounds; round++)); do
            "${@:2}"
            first_id "$call" >>first.ms
        done
        printf '  %-36s %-29s %10s   %s\n' "$1" "$call" "$(median <first.ms)" \
            "$(head -n 1 first.err | cut -c 1-70)"
    done
}

restart_in_place() {
    stop_server "$work/server"
    start_server "$work/server"
}

first() {
    printf 'ms until the first id of a new server, or its error, medians of %d rounds\n' "$rounds"
    first_ids 'no registry' set_up ''
    first_ids 'near, Unix socket' set_up "$unix"
    first_ids 'near, TCP' set_up "$tcp"
    perl tree/test/torture/forward.pl $far_port "$work/registry/.s.PGSQL.$registry_port" 25 &
    forwarder=$!
    disown $forwarder
    until (: >"/dev/tcp/127.0.0.1/$far_port") 2>/dev/null; do sleep 0.1; done
    first_ids '50 ms away and back' set_up "$far"
    kill -STOP $forwarder
    first_ids 'silent' set_up "$far"
    kill -KILL $forwarder
    forwarder=
    first_ids 'refused' set_up "$far"
    set_up "$unix"
    first_id "sno_generate(), sno_flake_generate('orders')" >/dev/null
    stop_server "$work/registry"
    first_ids 'refused, but restarted in its place' restart_in_place
    start_server "$work/registry"
}

#
# A week
#

week() {
    local servers=${SERVERS:-1000} days=${DAYS:-7} minutes=${MINUTES:-10}
    local size=${SIZE:-16} lossless=${LOSSLESS:-true}
    registry -c 'CREATE DATABASE week'
    registry -d week -c 'CREATE EXTENSION sno_registry'
    printf '%d servers, %d days, renewed every %d minutes; blocks of %d, lossless %s\n' \
        "$servers" "$days" "$minutes" "$size" "$lossless"
    registry -d week -F ': ' -v servers="$servers" -v days="$days" -v minutes="$minutes" \
        -v size="$size" -v lossless="$lossless" <<'SQL'
SELECT sno_registry_create(1024, 65535, :size, lossless => :lossless) \g /dev/null
CREATE TEMP TABLE settings AS SELECT :servers AS servers, :days AS days, :minutes AS minutes;
CREATE TEMP TABLE result (name text, value numeric);
DO $$
DECLARE
    servers integer;
    days integer;
    minutes integer;
    turns integer;              -- a day
    day constant bigint := 86400 * 250;
    base constant bigint := sno_registry.unit_of('2026-01-01 00:00:00+00');
    timeline constant integer := sno_registry.timeline();
    home constant text := sno_registry.home();
    holder bigint[];            -- 0 in a new place
    token bigint[];
    works boolean[];
    skew integer[];             -- of the clock
    registry_now bigint;
    asker_now bigint;
    next bigint;
    answer text;
    start timestamptz;
    seconds float8 := 0;
    calls integer := 0;
    places integer := 0;
    filled integer := 0;
    forgotten integer := 0;
    in_use integer;
    in_use_max integer := 0;
BEGIN
    SELECT s.servers, s.days, s.minutes INTO servers, days, minutes FROM settings AS s;
    turns := 1440 / minutes;
    holder := array_fill(0::bigint, ARRAY[servers]);
    token := holder;
    works := array_fill(true, ARRAY[servers]);
    PERFORM setseed(0.5);
    skew := ARRAY(SELECT random() * 500 - 250 FROM generate_series(1, servers));
    FOR turn IN 0 .. days * turns - 1 LOOP
        FOR i IN 1 .. servers LOOP
            IF random() < (CASE WHEN works[i] THEN 1 ELSE 12 END) / (3.0 * turns) THEN
                works[i] := NOT works[i];
                IF random() < 0.5 THEN
                    holder[i] := 0;
                END IF;
            ELSIF random() < 1 / (3.0 * turns) THEN
                holder[i] := 0;
            END IF;
            CONTINUE WHEN NOT works[i];

            registry_now := base + (turn + i / servers::float8) * day / turns;
            asker_now := registry_now + skew[i];
            LOOP
                IF holder[i] = 0 THEN
                    holder[i] := 1 + floor(random() * 2^62);
                    token[i] := 0;
                    places := places + 1;
                END IF;
                next := 1 + floor(random() * 2^62);
                start := clock_timestamp();
                SELECT a.status INTO STRICT answer
                FROM sno_registry.answer(holder[i], token[i], next, 'server ' || i, asker_now, asker_now + day,
                    CASE WHEN i % 10 = 0 THEN 2 ELSE 1 END, '', registry_now, timeline, home) AS a LIMIT 1;
                COMMIT;
                seconds := seconds + extract(epoch FROM clock_timestamp() - start);
                calls := calls + 1;
                token[i] := next;
                EXIT WHEN answer = 'granted';
                IF answer = 'full' THEN
                    filled := filled + 1;
                    EXIT;
                END IF;
                ASSERT answer = 'forgotten', answer;
                forgotten := forgotten + 1;
                holder[i] := 0;
            END LOOP;
        END LOOP;
        SELECT count(*) INTO in_use FROM sno_registry.block AS b WHERE b.ceiling >= registry_now;
        in_use_max := greatest(in_use, in_use_max);
    END LOOP;
    INSERT INTO result VALUES
        ('calls', calls),
        ('places, each with a first call', places),
        ('answers "full"', filled),
        ('answers "forgotten"', forgotten),
        ('calls a second of simulated time', round(calls / (days * 86400.0), 2)),
        ('calls a second, one session, no wait for the disk', round(calls / seconds)),
        ('blocks in use at a time, at most', in_use_max);
END
$$;
SELECT '  ' || name, value FROM result;
SELECT '  blocks, of which were granted', count(*) || ', ' || count(holder) FROM sno_registry.block;
SELECT '  partitions that were granted', sum(last - first + 1) FROM sno_registry.block WHERE holder IS NOT NULL;
SELECT '  holders that are known', count(*) FROM sno_registry.holder;
SELECT pg_sleep(2) \g /dev/null
SELECT '  ' || relname, format('%s, %s rows, %s dead', pg_size_pretty(pg_total_relation_size(relid)), n_live_tup, n_dead_tup)
FROM pg_stat_user_tables WHERE schemaname = 'sno_registry' ORDER BY relname;
SQL

    # A repeated request also renews.
    cat >renew.sql <<'SQL'
\set holder random(1, 1000)
SELECT status FROM sno_registry_renew(:holder, 0, 1, 'node', sno_registry.unit_of(now()), sno_registry.unit_of(now()) + 21600000, 1)
SQL
    registry -c 'ALTER SYSTEM SET fsync = on' -c 'SELECT pg_reload_conf()' >/dev/null
    for clients in 1 8; do
        printf '  calls a second, pgbench with %d clients, fsync: %s\n' $clients \
            "$("$pg_bin/pgbench" -n -h "$work/registry" -p $registry_port -U postgres -c $clients -T 10 -f renew.sql week |
                awk '/^tps/ { print $3 }')"
    done
}

# shellcheck disable=SC2119
throw_away_server
unix="host=$work/registry port=$registry_port user=postgres"
tcp="host=127.0.0.1 port=$registry_port user=postgres"
far="host=127.0.0.1 port=$far_port user=postgres"
at_exit clear_all_away
for name in alone registry; do
    create_server "$work/$name"
    printf '%s\n' 'fsync = off' 'jit = off' >>$name/data/postgresql.conf
done
printf '%s\n' "listen_addresses = '127.0.0.1'" "port = $registry_port" >>registry/data/postgresql.conf
start_server "$work/alone"
start_server "$work/registry"
on alone -c 'CREATE EXTENSION sno'
registry -c 'CREATE EXTENSION sno_registry' -c 'SELECT sno_registry_create(1024, 65535)' \
    -c "SELECT sno_registry_add_layout('1288834974657/1/41/10/12', 0, 1023)" >/dev/null
on server -c 'CREATE EXTENSION sno_flakes' -c "SELECT sno_flake_create_generator('orders', 'snowflake')" >/dev/null
for part in "${parts[@]}"; do "$part"; done
