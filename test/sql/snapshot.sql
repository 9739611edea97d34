--
-- Snapshots of generators, as the Go package writes and reads them
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
DROP DATABASE IF EXISTS regress_sno_snapshot;
RESET client_min_messages;
SELECT current_database() AS db \gset
CREATE DATABASE regress_sno_snapshot;
\c regress_sno_snapshot
CREATE EXTENSION sno;
SET TimeZone = 'UTC';
-- The unit of a time
CREATE FUNCTION unit(timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$SELECT floor((extract(epoch FROM $1) - 1262304000) * 250)::bigint$$;
CREATE FUNCTION now_unit() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT unit(clock_timestamp())';

-- This session's generator
SELECT sno_snapshot_generator() IS NULL AS none_yet;
SELECT sno_generate() AS id \gset
SELECT (s->'partition'->0)::int * 256 + (s->'partition'->1)::int = sno_partition(:'id') AS partition,
    s->'sequenceMin' AS min, s->'sequenceMax' AS max, s->'drifts' AS drifts,
    (s->'wallHi')::bigint = unit(sno_timestamp(:'id')) AS wall_hi, (s->'now')::bigint BETWEEN (s->'wallHi')::bigint AND now_unit() AS now,
    (s->'sequence')::int IN (0, sno_sequence(:'id')) AS sequence
FROM sno_snapshot_generator() AS s;

-- A named generator: new, and after its first ids
SELECT sno_create_generator('g', 258, 10, 20);
SELECT sno_snapshot_generator('g') - 'now';
SELECT sno_generate(1, 'g') AS id \gset
SELECT sno_snapshot_generator('g') - '{now,wallHi}'::text[] AS snapshot, (sno_snapshot_generator('g')->'wallHi')::bigint = unit(sno_timestamp(:'id')) AS wall_hi;
SELECT sno_snapshot_generator('none');

-- Restored: with all keys, where wallHi is in the past, ...
SELECT sno_restore_generator('past', '{"partition": [1, 3], "sequenceMin": 5, "sequenceMax": 100, "sequence": 7,
    "now": 100000000000, "wallHi": 99999999999, "wallSafe": 99999999000, "drifts": 3}');
SELECT name, partition, sequence_min, sequence_max, meta FROM sno_catalog.sno_generator WHERE name = 'past';
SELECT sno_snapshot_generator('past') - '{now,wallHi,wallSafe,sequence}'::text[];
SELECT sno_partition(id), sno_sequence(id), sno_tick_tock(id), sno_timestamp(id) > now() - interval '1 min' AS now FROM sno_generate(1, 'past') AS id;

-- ... in the future, which is a step back of the clock, ...
SELECT now_unit() + 1000000 AS future \gset
SELECT sno_restore_generator('future', jsonb_build_object('partition', '[1, 4]'::jsonb, 'now', :future, 'wallHi', :future, 'wallSafe', 5, 'drifts', 2));
SELECT sno_tick_tock(id), sno_timestamp(id) < now() + interval '1 min' AS now FROM sno_generate(1, 'future') AS id;
SELECT (s->'wallSafe')::bigint = :future AS wall_safe, s->'drifts' AS drifts FROM sno_snapshot_generator('future') AS s;

-- ... and where both sides are in the future, so the generator waits
SELECT sno_restore_generator('waits', jsonb_build_object('partition', '[1, 5]'::jsonb, 'wallHi', :future, 'wallSafe', :future - 1));
SET sno.max_wait = 0;
SELECT sno_generate(1, 'waits');
RESET sno.max_wait;

-- A restored generator never goes back, even if it issued ids since the snapshot, ...
SELECT sno_snapshot_generator('past') AS early \gset
SELECT sno_generate(1, 'past') AS before \gset
SELECT sno_restore_generator('past', :'early');
SELECT sno_restore_generator('past', '{"partition": [1, 3], "sequenceMin": 5, "sequenceMax": 100}');
SELECT sno_timestamp(sno_generate(1, 'past')) > sno_timestamp(:'before') AS later;
SELECT s->'drifts' AS drifts FROM sno_snapshot_generator('past') AS s;
-- ... if its definition was dropped, or after a rollback
SELECT sno_drop_generator('future');
SELECT sno_restore_generator('future', '{"partition": [1, 4], "drifts": 1}');
SELECT (s->'wallSafe')::bigint = :future AS wall_safe, s->'drifts' AS drifts FROM sno_snapshot_generator('future') AS s;
BEGIN;
SELECT sno_restore_generator('undone', '{"partition": [1, 6], "drifts": 5}');
ROLLBACK;
SELECT sno_create_generator('undone', 262);
SELECT s->'drifts' AS drifts FROM sno_snapshot_generator('undone') AS s;

-- Keys that are missing or null count as zero, other keys are ignored, and the bounds
-- may have either order.
SELECT sno_restore_generator('zero', '{}');
SELECT sno_restore_generator('order', '{"partition": [1, 7], "sequenceMin": 30, "sequenceMax": 20, "sequence": 0, "wallHi": null, "other": "x"}');
SELECT sno_restore_generator('max', '{"partition": [1, 8], "sequenceMin": 65535, "sequenceMax": 0}');
SELECT sno_restore_generator('over', '{"partition": [1, 9], "sequenceMin": 1, "sequenceMax": 0, "sequence": 70000}');
SELECT name, partition, sequence_min, sequence_max, meta FROM sno_catalog.sno_generator WHERE name IN ('zero', 'order', 'max', 'over') ORDER BY name;

-- What is not a snapshot, or one of another generator
SELECT sno_restore_generator('x', '[]');
SELECT sno_restore_generator('x', 'null');
SELECT sno_restore_generator('x', '1');
SELECT sno_restore_generator('x', '{"partition": 258}');
SELECT sno_restore_generator('x', '{"partition": [1]}');
SELECT sno_restore_generator('x', '{"partition": [1, 256]}');
SELECT sno_restore_generator('x', '{"partition": [1, "2"]}');
SELECT sno_restore_generator('x', '{"partition": {"a": 1, "b": 2}}');
SELECT sno_restore_generator('x', '{"sequenceMin": -1}');
SELECT sno_restore_generator('x', '{"sequenceMax": 65536}');
SELECT sno_restore_generator('x', '{"drifts": 1.5}');
SELECT sno_restore_generator('x', '{"drifts": 4294967296}');
SELECT sno_restore_generator('x', '{"wallHi": "1"}');
SELECT sno_restore_generator('x', '{"wallHi": 549755813888}');
SELECT sno_restore_generator('x', '{"wallSafe": 1e1000}');
SELECT sno_restore_generator('x', '{"now": true}');
SELECT sno_restore_generator('x', '{"sequenceMin": 10, "sequence": 9}');
SELECT sno_restore_generator('x', '{"sequenceMin": 10, "sequenceMax": 12}');
SELECT sno_restore_generator('x', '{"sequenceMin": 10, "sequenceMax": 10}');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_restore_generator('g', '{"partition": [1, 2]}');
SELECT sno_restore_generator('x', '{"partition": [1, 2], "sequenceMin": 20, "sequenceMax": 30}');
SELECT sno_restore_generator(NULL, '{}') IS NULL AS strict, sno_restore_generator('x', NULL) IS NULL AS strict;

\c :"db"
DROP DATABASE regress_sno_snapshot;
