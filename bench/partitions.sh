#!/bin/bash
#
# bench/partitions.sh [CALLS]
#
# Calls sno_maintain_time_partitions() CALLS times (1000) from two sessions at once, while
# four clients insert, on a throw-away server.  At each call a minute passes: it
# creates a partition, and detaches one.  Each row is noted outside of the server.
# Measures the time of inserts and of calls, and fails unless each row that was
# inserted is there once, in the table of its minute.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

calls=${1:-1000}

# shellcheck disable=SC2119
throw_away_server "TimeZone = 'UTC'" "max_connections = 50"

sql <<'SQL'
CREATE TABLE event (id sno NOT NULL, minute bigint) PARTITION BY RANGE (id);
CREATE INDEX ON event (id);
CREATE SEQUENCE minute;
CREATE FUNCTION time_of(minute bigint) RETURNS timestamptz LANGUAGE sql
RETURN timestamptz '2026-01-01' + minute * interval '1 minute';
CALL sno_maintain_time_partitions('event', '1 minute', '10 minutes', at => time_of(1));
CREATE PROCEDURE call(minute bigint) LANGUAGE plpgsql AS $$
BEGIN
    CALL sno_maintain_time_partitions('event', '1 minute', '10 minutes', '5 minutes', time_of(minute));
END $$;
CREATE FUNCTION insert() RETURNS void LANGUAGE sql AS
'INSERT INTO event SELECT sno_with_timestamp(sno_generate(), time_of(last_value)), last_value FROM minute';
SQL

say 'SELECT insert();' >insert.sql
say "CALL call(nextval('minute'));" >calls.sql
bench() { "$pg_bin/pgbench" -n -M prepared -h "$work/server" -U postgres "$@" postgres; }

# Inserts of 10 seconds alone, then during the calls
bench -f insert.sql -c 4 -j 1 -T 10 -l --log-prefix=alone >alone 2>&1
bench -f insert.sql -c 4 -j 1 -T 36000 -l --log-prefix=beside >beside 2>&1 &
inserts=$!
bench -f calls.sql -c 2 -j 1 -t $((calls / 2)) -l --log-prefix=calls >run 2>notices
errors=$(grep -c ERROR server/server.log || true)
sql -c 'DROP FUNCTION insert()'     # which ends the inserts
wait $inserts || true

# times PREFIX: their number, median, 99th percentile and maximum
times() {
    cat "$1".[0-9]* | awk '{ print $3 / 1000 }' | sort -n | awk -v what="$1" '{ t[NR] = $1 }
        END { printf "%s: %d, median %.2f, 99 %% %.2f, longest %.2f ms\n", what, NR, t[int((NR + 1) / 2)], t[int(NR * .99)], t[NR] }'
}
times alone
times beside
times calls
say "warnings: $(grep -c WARNING notices || true)," \
    "errors in the server's log: $errors"

sql <<'SQL'
CREATE FUNCTION rows(OUT tables bigint, OUT partitions bigint, OUT rows bigint, OUT astray bigint) LANGUAGE plpgsql AS $$
DECLARE
    name text;
    here bigint;
    other bigint;
BEGIN
    tables := 0; partitions := 0; rows := 0; astray := 0;
    SELECT count(*) INTO partitions FROM pg_inherits WHERE inhparent = 'event'::regclass;
    FOR name IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'event\_2%' LOOP
        EXECUTE format('SELECT count(*), count(*) FILTER (WHERE to_char(time_of(minute), %L) <> %2$L OR date_trunc(''minute'', sno_timestamp(id)) <> time_of(minute)) FROM %2$I',
            '"event_"YYYY_MM_DD_HH24MI', name) INTO here, other;
        tables := tables + 1; rows := rows + here; astray := astray + other;
    END LOOP;
END $$;
SQL
IFS='|' read -r tables partitions rows astray < <(sql -c 'SELECT * FROM rows()')
say "tables: $tables, $partitions of them attached; rows: $rows, in another table than their minute's: $astray"
inserted=$(cat alone.[0-9]* beside.[0-9]* | wc -l)
[ "$rows $astray $errors" = "$inserted 0 0" ] || die "inserted: $inserted"
