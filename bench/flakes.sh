#!/bin/bash
#
# bench/flakes.sh
#
# The time of one id of each layout in the executor, without the scan, beside nextval()
# and sno_generate() with a named generator.  Ids are generated in bursts of 2,000 with
# pauses of 10 ms, and the generators have as many nodes as this rate requires.  So none of
# them waits for the clock, which is checked.
#
# Then the time to load a table in one session, with keys of several layouts, each with one
# node, and with an identity column.  Here generators may have to wait.
#
# Each round runs all of them.  The time of a call is the median of the bursts of a round.
# Ratios are computed within a round, and medians over the rounds.
#
# On a throw-away server.  ROUNDS, BURSTS, LOADS and ROWS can be set.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

throw_away_server "shared_buffers = 512MB" "max_wal_size = 8GB" "autovacuum = off"

sql -P format=aligned -P footer=off -P tuples_only=off -v rounds="${ROUNDS:-9}" -v bursts="${BURSTS:-100}" <<'SQL'
CREATE EXTENSION sno_flakes;
CREATE SEQUENCE bench;
CREATE TABLE measured (n serial, name text, nodes integer, call text);
INSERT INTO measured (call) VALUES ('g'), ('nextval(''bench'')'), ('sno_generate(0, ''bench'')');
INSERT INTO measured (name, nodes, call)
SELECT name, nodes, format('sno_flake_generate%s(%L)', CASE name WHEN 'boundary' THEN '_uuid' WHEN 'objectid' THEN '_bytea' END, name)
FROM (SELECT name,
             CASE name WHEN 'json1' THEN 8 WHEN 'json2' THEN 16 WHEN 'json3' THEN 32
                       WHEN 'json4' THEN 16 WHEN 'json5' THEN 32 WHEN 'json6' THEN 64
                       WHEN 'json7' THEN 32 WHEN 'json8' THEN 64 WHEN 'randflake' THEN 16
                       WHEN 'sonyflake' THEN 64 WHEN 'instagram' THEN 4 ELSE 1 END AS nodes
      FROM sno_catalog.sno_flake_layout ORDER BY name) AS layout;
SELECT sno_create_generator('bench', 65535) \g /dev/null
SELECT sno_flake_create_generator(name, name, nodes => nodes) FROM measured WHERE nodes > 0 \g /dev/null
CREATE EXTENSION sno_seal;
SELECT sno_seal_create_key('bench') \g /dev/null
INSERT INTO measured (name, nodes, call) VALUES ('sealed', 16, 'sno_flake_generate(''sealed'')');
SELECT sno_flake_create_generator('sealed', 'randflake', 1000, 16, 'bench') \g /dev/null

CREATE TABLE turn (n integer, round integer, ns float8);
CREATE TABLE settings AS SELECT :rounds AS rounds, :bursts AS bursts;
SELECT format('PREPARE burst_%s AS SELECT count(%s) FROM generate_series(1, 2000) AS g', n, call) FROM measured \gexec

DO $$
DECLARE
    m record;
    rounds integer;
    bursts integer;
    start timestamptz;
    seconds float8[];
BEGIN
    SELECT * INTO rounds, bursts FROM settings;
    FOR round IN 0 .. rounds LOOP       -- round 0 warms up
        FOR m IN SELECT * FROM measured ORDER BY n LOOP
            seconds := '{}';
            FOR burst IN 1 .. bursts LOOP
                PERFORM pg_sleep(0.01);
                start := clock_timestamp();
                EXECUTE 'EXECUTE burst_' || m.n;
                seconds := seconds || extract(epoch FROM clock_timestamp() - start)::float8;
            END LOOP;
            INSERT INTO turn
            SELECT m.n, round, percentile_cont(0.5) WITHIN GROUP (ORDER BY s) * 1e9 / 2000
            FROM unnest(seconds) AS s WHERE round > 0;
        END LOOP;
    END LOOP;
    ASSERT (SELECT sum(waits) = 0 FROM sno_generators());
END $$;

WITH net AS (
    SELECT turn.n, turn.round, turn.ns - scan.ns AS ns
    FROM turn JOIN turn AS scan ON scan.n = 1 AND scan.round = turn.round
    WHERE turn.n > 1
)
SELECT call, nodes, to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY net.ns), '9990.9') AS ns,
       to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY net.ns / sequence.ns), '990.99') AS "× nextval",
       to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY net.ns / named.ns), '990.99') AS "× sno_generate"
FROM net JOIN measured USING (n)
JOIN net AS sequence ON sequence.n = 2 AND sequence.round = net.round
JOIN net AS named ON named.n = 3 AND named.round = net.round
GROUP BY measured.n, call, nodes ORDER BY measured.n;
SQL

sql -P format=aligned -P footer=off -P tuples_only=off -v rounds="${LOADS:-5}" -v rows="${ROWS:-1000000}" <<'SQL'
SELECT sno_flake_drop_generator(name) FROM sno_catalog.sno_flake_generator \g /dev/null
CREATE TABLE load (key text, round integer, seconds float8, ids bigint, waits bigint);
CREATE TABLE load_settings AS SELECT :rounds AS rounds, :rows AS rows;
SELECT sno_flake_create_generator(name, name) FROM unnest('{counter, snowflake, instagram, json1}'::text[]) AS name \g /dev/null

DO $$
DECLARE
    key text;
    rounds integer;
    rows integer;
    start timestamptz;
    before bigint;
BEGIN
    SELECT * INTO rounds, rows FROM load_settings;
    FOR round IN 1 .. rounds LOOP
        FOREACH key IN ARRAY '{identity, counter, snowflake, instagram, json1}'::text[] LOOP
            EXECUTE format('CREATE TABLE loaded (id bigint %s PRIMARY KEY, n integer)',
                CASE key WHEN 'identity' THEN 'GENERATED ALWAYS AS IDENTITY'
                         ELSE format('DEFAULT sno_flake_generate(%L)', key) END);
            COMMIT;
            CHECKPOINT;
            before := (SELECT waits FROM sno_generators() AS g WHERE g.name = key);
            start := clock_timestamp();
            EXECUTE format('INSERT INTO loaded (n) SELECT generate_series(1, %s)', rows);
            COMMIT;
            INSERT INTO load
            SELECT key, round, extract(epoch FROM clock_timestamp() - start), (SELECT count(DISTINCT id) FROM loaded),
                (SELECT waits - coalesce(before, 0) FROM sno_generators() AS g WHERE g.name = key);
            DROP TABLE loaded;
        END LOOP;
    END LOOP;
END $$;

SELECT load.key, to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY load.seconds), '990.99') AS seconds,
       to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY load.seconds / peer.seconds), '990.99') AS "× identity",
       min(load.ids) AS "different ids", percentile_disc(0.5) WITHIN GROUP (ORDER BY load.waits) AS waits
FROM load JOIN load AS peer ON peer.key = 'identity' AND peer.round = load.round
GROUP BY load.key ORDER BY min(load.seconds);
SQL
