#!/bin/bash
#
# bench/copy.sh
#
# The time of conversions of ids to text and back with each codec: COPY of a million
# ids out and in, and casts of a million ids.  Each round runs all codecs.  Ratios to
# the portable codec are computed within a round, and medians over the rounds.
#
# On a throw-away server.  ROUNDS and ROWS can be set.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

throw_away_server "shared_buffers = 512MB" "max_wal_size = 4GB" "autovacuum = off" \
    "max_parallel_workers_per_gather = 0"

sql -P format=aligned -P footer=off -P tuples_only=off -v rounds="${ROUNDS:-25}" -v rows="${ROWS:-1000000}" \
    -v file="$work/ids" <<'SQL'
CREATE UNLOGGED TABLE ids AS SELECT sno_generate_many(:rows) AS id;
CREATE UNLOGGED TABLE texts AS SELECT id::text AS text FROM ids;
CREATE UNLOGGED TABLE loaded (id sno);
COPY ids TO :'file';
VACUUM ANALYZE ids, texts;

CREATE TABLE statement (place serial, name text, command text);
INSERT INTO statement (name, command) VALUES
    ('COPY out', 'COPY ids TO ''/dev/null'''),
    ('COPY in', format('COPY loaded FROM %L', :'file')),
    ('sno::text', 'SELECT count(id::text) FROM ids'),
    ('text::sno', 'SELECT count(text::sno) FROM texts');
CREATE TABLE turn (name text, codec text, round integer, ns float8);
CREATE TABLE settings AS SELECT :rounds AS rounds, :rows AS rows;

DO $$
DECLARE
    s statement;
    codec text;
    start timestamptz;
BEGIN
    FOR round IN 0 .. (SELECT rounds FROM settings) LOOP    -- round 0 warms up
        FOR s IN SELECT * FROM statement ORDER BY place LOOP
            FOR codec IN
                SELECT unnest(enumvals[2:]) FROM pg_settings WHERE name = 'sno.codec'
                ORDER BY random()
            LOOP
                PERFORM set_config('sno.codec', codec, false);
                TRUNCATE loaded;
                COMMIT;
                start := clock_timestamp();
                EXECUTE s.command;
                INSERT INTO turn
                SELECT s.name, codec, round, extract(epoch FROM clock_timestamp() - start) * 1e9 / rows
                FROM settings WHERE round > 0;
                COMMIT;
            END LOOP;
        END LOOP;
    END LOOP;
END $$;

WITH median AS (
    SELECT turn.name, turn.codec,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY turn.ns) AS ns,
           percentile_cont('{0.25,0.5,0.75}'::float8[]) WITHIN GROUP (ORDER BY turn.ns / peer.ns) AS ratio
    FROM turn JOIN turn AS peer USING (name, round)
    WHERE peer.codec = 'portable'
    GROUP BY turn.name, turn.codec
)
SELECT name, codec, to_char(ns, '9990.9') AS "ns an id", to_char(ratio[2], '990.999') AS "× portable",
       to_char(ratio[1], '990.999') || ' to' || to_char(ratio[3], '990.999') AS "middle half"
FROM median JOIN statement USING (name) ORDER BY place, median.ns DESC;
SQL
