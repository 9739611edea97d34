#!/bin/bash
#
# bench/seal.sh
#
# The time of sealing and unsealing an id in the executor, without the scan, and its
# dependence on the id.  There are three sets of ids: two of random ones, and one of
# extreme ones (all bits 0, all 1, a single 1, a single 0).  Each round runs all of them
# in random order.  Differences to the first set are computed within a round.  The
# difference of the second random set is noise: its median, and the middle half of its
# rounds.
#
# On a throw-away server.  ROUNDS and IDS (of each set) can be set.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

throw_away_server "shared_buffers = 512MB" "autovacuum = off" "max_parallel_workers_per_gather = 0"

sql -P format=aligned -P footer=off -P tuples_only=off -v rounds="${ROUNDS:-101}" -v ids="${IDS:-100000}" <<'SQL'
CREATE EXTENSION sno_seal;
SELECT sno_seal_create_key('bench') \g /dev/null

-- The 162 extreme ids are repeated.
CREATE FUNCTION bits(n integer) RETURNS bit(80) LANGUAGE sql AS $$
    SELECT CASE WHEN n % 162 < 81 THEN b ELSE ~b END
    FROM (SELECT set_bit(B'0'::bit(81), n % 81, 1)::bit(80)) AS one (b)
$$;
CREATE FUNCTION id_of(b bit(80)) RETURNS sno LANGUAGE sql AS $$
    SELECT decode(lpad(to_hex(b::bit(40)::bigint), 10, '0') ||
                  lpad(to_hex((b << 40)::bit(40)::bigint), 10, '0'), 'hex')::sno
$$;
CREATE FUNCTION random_bits() RETURNS bit(80) LANGUAGE sql VOLATILE AS $$
    SELECT string_agg((random() * 1048576)::integer::bit(20)::text, '')::bit(80) FROM generate_series(1, 4)
$$;
CREATE UNLOGGED TABLE extreme AS
SELECT id_of(b) AS id, id_of(b)::text AS text, b::bit(64)::bigint AS flake
FROM (SELECT bits(n) FROM generate_series(0, :ids - 1) AS n) AS s (b);
CREATE UNLOGGED TABLE random AS
SELECT id_of(b) AS id, id_of(b)::text AS text, b::bit(64)::bigint AS flake
FROM (SELECT random_bits() FROM generate_series(1, :ids) OFFSET 0) AS s (b);
CREATE UNLOGGED TABLE random2 AS
SELECT id_of(b) AS id, id_of(b)::text AS text, b::bit(64)::bigint AS flake
FROM (SELECT random_bits() FROM generate_series(1, :ids) OFFSET 0) AS s (b);
VACUUM ANALYZE extreme, random, random2;

CREATE TABLE call (place serial, call text, scan text);
INSERT INTO call (call, scan) VALUES
    ('sno_seal(id, ''bench'')', 'id'), ('sno_unseal(text, ''bench'')', 'text'),
    ('sno_seal(flake, ''bench'')', 'flake'), ('sno_unseal(flake, ''bench'')', 'flake');
CREATE TABLE turn (place integer, ids text, round integer, ns float8);
CREATE TABLE settings AS SELECT :rounds AS rounds, :ids AS ids;

DO $$
DECLARE
    c record;
    start timestamptz;
    middle timestamptz;
    finish timestamptz;
BEGIN
    FOR round IN 0 .. (SELECT rounds FROM settings) LOOP        -- round 0 warms up
        FOR c IN
            SELECT * FROM call, unnest('{random, random2, extreme}'::text[]) AS ids ORDER BY place, random()
        LOOP
            start := clock_timestamp();
            EXECUTE format('SELECT count(%s) FROM %I', c.scan, c.ids);
            middle := clock_timestamp();
            EXECUTE format('SELECT count(%s) FROM %I', c.call, c.ids);
            finish := clock_timestamp();
            INSERT INTO turn
            SELECT c.place, c.ids, round, extract(epoch FROM (finish - middle) - (middle - start)) * 1e9 / settings.ids
            FROM settings WHERE round > 0;
            COMMIT;
        END LOOP;
    END LOOP;
END $$;

WITH net AS (
    SELECT place, round, max(ns) FILTER (WHERE ids = 'random') AS random,
           max(ns) FILTER (WHERE ids = 'random2') AS random2, max(ns) FILTER (WHERE ids = 'extreme') AS extreme
    FROM turn GROUP BY place, round
)
SELECT call,
       to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY random), '99990.9') AS "ns, random",
       to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY extreme), '99990.9') AS "ns, extreme",
       to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY extreme - random), 'SG990.9') AS difference,
       to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY random2 - random), 'SG990.9') AS noise,
       to_char(percentile_cont(0.25) WITHIN GROUP (ORDER BY random2 - random), 'SG990.9') || ' to ' ||
       to_char(percentile_cont(0.75) WITHIN GROUP (ORDER BY random2 - random), 'SG990.9') AS "middle half of noise"
FROM net JOIN call USING (place)
GROUP BY place, call ORDER BY place;
SQL
