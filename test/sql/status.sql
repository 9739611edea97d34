--
-- sno_generators() and sno_check(): what they show, and who may call them
--
-- These tests have a database of their own, because they alter the extension.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
DROP DATABASE IF EXISTS regress_sno_status;
DROP ROLE IF EXISTS regress_sno_monitor, regress_sno_user;
RESET client_min_messages;
SELECT current_database() AS db \gset
CREATE ROLE regress_sno_user;
CREATE ROLE regress_sno_monitor;
GRANT pg_monitor TO regress_sno_monitor;
CREATE DATABASE regress_sno_status;
\c regress_sno_status
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
CREATE EXTENSION sno;
CREATE EXTENSION sno_flakes;
SELECT sno_reset_statistics();

-- A partition is shown from its first id on.
CREATE VIEW mine AS SELECT * FROM sno_generators() WHERE database = current_database() AND name IS NULL AND layout IS NULL;
SELECT * FROM mine;
SELECT sno_generate() AS id \gset
SELECT database, name, partition = sno_partition(:'id') AS partition, sequence_min, sequence_max,
    wall_hi = sno_timestamp(:'id') AS wall_hi, wall_safe < wall_hi AS wall_safe,
    (drifts % 2 = 1) = sno_tick_tock(:'id') AS drifts,
    lease_until = (SELECT max(tick_until) FROM sno_catalog.sno_lease WHERE partition = sno_partition(:'id')) AS lease_until,
    issued, exhausted, waits, longest_wait
FROM mine;

-- Ids are counted exactly, over as many units and partitions as there are.
SELECT count(DISTINCT sno_timestamp(id)) > 1 AS units
FROM (SELECT sno_generate() AS id FROM generate_series(1, 300000)) AS s;
SELECT issued FROM mine;
DO $$
BEGIN
    FOR i IN 1 .. 10 LOOP
        PERFORM sno_generate(), pg_sleep(0.005);
        ASSERT (SELECT issued FROM mine) = 300001 + i;
    END LOOP;
END
$$;
SELECT sno_reset_statistics();
SELECT issued, exhausted, waits, longest_wait FROM mine;
SELECT count(sno_generate()) FROM generate_series(1, 7);
SELECT issued, exhausted, waits, longest_wait FROM mine;

-- So are those of a named generator, of which no unit was exhausted.
SELECT sno_create_generator('few', 1, 0, 3);
SELECT count(sno_generate(0, 'few')) FROM generate_series(1, 3);
SELECT issued, exhausted, waits FROM sno_generators() WHERE name = 'few';

-- The numbers of ids issued and spare in the present unit are of one moment: the unit
-- is that of the last id, or it is over.
DO $$
DECLARE
    id sno;
    g record;
    same integer := 0;
BEGIN
    FOR i IN 1 .. 20000 LOOP
        id := sno_generate();
        SELECT * INTO g FROM mine;
        ASSERT g.unit_issued + g.unit_spare = 65536;
        ASSERT g.sequence = g.unit_issued;
        ASSERT g.sequence IN (0, sno_sequence(id) + 1);
        same := same + (g.sequence > 0)::integer;
        EXIT WHEN same >= 10;
    END LOOP;
    ASSERT same >= 10;
END
$$;

-- A session whose subtransaction fails, or that is rolled back, has made ids.
SELECT issued AS before FROM mine \gset
BEGIN;
SELECT sno_generate() IS NOT NULL AS made;
SAVEPOINT s;
SELECT sno_generate() IS NOT NULL AS made;
ROLLBACK TO SAVEPOINT s;
ROLLBACK;
SELECT issued - :before AS issued FROM mine;

-- sno_check() finds nothing wrong, in transactions of all kinds.
SELECT item, ok, hint FROM sno_check();
SELECT item, detail FROM sno_check() WHERE item IN ('clock', 'leases', 'holders', 'workers', 'registry');
-- Without a registry there are no grants.
SELECT * FROM sno_grants();
BEGIN TRANSACTION READ ONLY;
SELECT bool_and(ok) FROM sno_check();
COMMIT;

-- Generators of layouts have nodes, and no partition.
SELECT sno_flake_create_generator('snowflake', 'snowflake', 5, 2), sno_flake_create_generator('randflake', 'randflake', 7),
    sno_flake_create_generator('counter', 'counter'), sno_flake_create_generator('objectid', 'objectid', 8);
CREATE VIEW of_layouts AS
SELECT name, partition, layout, node_first, node_last, sequence_min, sequence_max, unit_issued + unit_spare AS size,
    wall_hi IS NOT NULL AND wall_safe IS NOT NULL AND lease_until IS NOT NULL AS times, issued
FROM sno_generators() WHERE node_first IS NOT NULL ORDER BY name;
SELECT * FROM of_layouts;
SELECT count(sno_flake_generate('snowflake')), count(sno_flake_generate('randflake')), count(sno_flake_generate('counter')),
    count(sno_flake_generate_bytea('objectid'))
FROM generate_series(1, 10);
SELECT * FROM of_layouts;
SELECT sequence, unit_issued, unit_spare, wall_hi, wall_safe, lease_until FROM sno_generators() WHERE name = 'counter';
SELECT layout, partition IS NOT NULL AS partition FROM mine;

-- In a unit of 1 ms, what belongs to the ms before is left out.
DO $$
DECLARE
    g record;
    same integer := 0;
BEGIN
    FOR i IN 1 .. 20000 LOOP
        PERFORM sno_flake_generate('snowflake');
        SELECT *, clock_timestamp() AS now INTO g FROM sno_generators() WHERE name = 'snowflake';
        ASSERT g.unit_issued + g.unit_spare = 4 * 2 * 2048;
        ASSERT g.sequence = g.unit_issued;
        -- The clock was read after the unit was shown.
        IF g.now < g.wall_hi + interval '4 ms' THEN
            ASSERT g.sequence > 0;
            same := same + 1;
        END IF;
        EXIT WHEN same >= 10;
    END LOOP;
    ASSERT same >= 10;
END
$$;

-- Which layout ends first, and does it within a year?
SELECT ok, detail, hint FROM sno_check() WHERE item = 'layouts';
SELECT sno_flake_create_generator('simple', 'simpleflake');
SELECT ok, detail, hint FROM sno_check() WHERE item = 'layouts';
INSERT INTO sno_catalog.sno_flake_layout (name, epoch, unit, time_bits, sequence_bits)
SELECT 'short ' || n, date_trunc('day', now()), 3600000, n, 8 FROM generate_series(13, 14) AS n;
SELECT sno_flake_create_generator('more than a year', 'short 14');
SELECT ok, hint FROM sno_check() WHERE item = 'layouts';
SELECT sno_flake_create_generator('less than a year', 'short 13');
SELECT ok, detail = format('Generators of layouts: 7. The first one to end is "less than a year", of layout "short 13", at %s.',
        date_trunc('day', now()) + 8192 * interval '1 hour' - interval '1 ms') AS detail, hint
FROM sno_check() WHERE item = 'layouts';
SELECT count(sno_flake_drop_generator(name)) FROM unnest(ARRAY['less than a year', 'more than a year', 'simple', 'snowflake']) AS name;
SELECT ok, detail FROM sno_check() WHERE item = 'layouts';
-- The table of layouts is not there.
ALTER TABLE sno_catalog.sno_flake_layout RENAME TO elsewhere;
SELECT name, partition, layout, node_first FROM sno_generators() WHERE name = 'objectid';
SELECT ok, detail, hint FROM sno_check() WHERE item = 'layouts';
ALTER TABLE sno_catalog.elsewhere RENAME TO sno_flake_layout;
SELECT count(sno_flake_drop_generator(name)) FROM unnest(ARRAY['randflake', 'objectid']) AS name;
SELECT ok, detail FROM sno_check() WHERE item = 'layouts';
SELECT sno_flake_drop_generator('counter');
SELECT ok, detail FROM sno_check() WHERE item = 'layouts';

-- A superuser has dropped constraints, and rows have nulls.
BEGIN;
ALTER TABLE sno_catalog.sno_flake_layout DROP CONSTRAINT sno_flake_layout_pkey, ALTER name DROP NOT NULL;
ALTER TABLE sno_catalog.sno_flake_generator DROP CONSTRAINT sno_flake_generator_overlap, ALTER layout DROP NOT NULL;
INSERT INTO sno_catalog.sno_flake_layout VALUES (NULL, '2020-01-01Z', 1, 41, 5, 17);
INSERT INTO sno_catalog.sno_flake_generator VALUES ('lost', NULL, 0, 0, 0, 0, NULL, 1, 1, false);
SELECT count(*) FROM sno_generators() WHERE name = 'lost';
SELECT ok, detail FROM sno_check() WHERE item = 'layouts';
SELECT sno_flake_timestamp(0, 'snowflake');
SELECT sno_flake_generate('lost');
ROLLBACK;

-- A superuser has dropped constraints, and rows are of no layout: they are left out.
BEGIN;
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT conname FROM pg_constraint WHERE conrelid = 'sno_catalog.sno_flake_layout'::regclass AND contype = 'c' LOOP
        EXECUTE format('ALTER TABLE sno_catalog.sno_flake_layout DROP CONSTRAINT %I', name);
    END LOOP;
END
$$;
INSERT INTO sno_catalog.sno_flake_layout (name, epoch, unit, time_bits, node_bits, sequence_bits, digits) VALUES
    ('one digit', '2020-01-01Z', 1, 41, 5, 17, 'a'), ('no digit', '2020-01-01Z', 1, 40, 5, 17, ''),
    ('too many bits', '2020-01-01Z', 1, 500, 300, 17, NULL), ('no epoch', NULL, 1, 41, 10, 11, NULL),
    ('infinite', 'infinity', 1, 41, 10, 11, NULL), ('no bits', '2020-01-01Z', 1, -1, -1, -1, NULL);
CREATE FUNCTION error_of(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE command;
    RETURN 'none';
EXCEPTION WHEN OTHERS THEN
    RETURN sqlstate || ' ' || sqlerrm;
END
$$;
SELECT name, error_of(format('SELECT sno_flake_text(1::bigint, %L)', name)),
    error_of(format('SELECT sno_flake_create_generator(%1$L, %1$L, 1)', name))
FROM sno_catalog.sno_flake_layout WHERE NOT built_in AND name ~ ' |infinite' AND name !~ 'short' ORDER BY name;
ROLLBACK;

-- The library and the extension in the database are of different versions.
BEGIN;
UPDATE pg_extension SET extversion = '0.6' WHERE extname = 'sno';
SELECT regexp_replace(detail, 'is of version [^,]*', 'is of version ...') AS detail, ok, hint
FROM sno_check() WHERE item = 'version';
UPDATE pg_extension SET extversion = CASE extname WHEN 'sno_flakes' THEN '0.8' ELSE '0.9' END WHERE extname LIKE 'sno%';
SELECT regexp_replace(detail, 'is of version [^,]*', 'is of version ...') AS detail, ok, hint
FROM sno_check() WHERE item = 'version';
UPDATE pg_extension SET extversion = '0.9', extname = 'sno_seal' WHERE extname = 'sno_flakes';
SELECT ok FROM sno_check() WHERE item = 'version';
UPDATE pg_extension SET extversion = '0.7' WHERE extname = 'sno_seal';
SELECT regexp_replace(detail, 'is of version [^,]*', 'is of version ...') AS detail, ok, hint
FROM sno_check() WHERE item = 'version';
ROLLBACK;

-- The table of leases is not as it should be.
BEGIN;
ALTER TABLE sno_catalog.sno_lease ADD COLUMN n integer;
SELECT ok, detail, hint IS NOT NULL AS hint FROM sno_check() WHERE item = 'leases';
SELECT count(*) FROM sno_check() WHERE NOT ok;
ROLLBACK;
ALTER TABLE sno_catalog.sno_lease RENAME TO elsewhere;
SELECT item, ok, detail FROM sno_check() WHERE NOT ok;
ALTER TABLE sno_catalog.elsewhere RENAME TO sno_lease;

-- Other holders: what they leased is no fault.  What served given times has no end.
INSERT INTO sno_catalog.sno_lease
SELECT 1, 1, 1, 1, 's', partition, '00000000-0000-0000-0000-000000000000', 0, 65535, 0, '2020-01-01', 0, until, until, '2020-01-01'
FROM (VALUES (1, '2020-01-01 00:01:00'::timestamptz), (2, '2078-01-01'), (3, '2079-01-01'), (4, 'infinity')) AS v (partition, until);
SELECT * FROM sno_check() WHERE item = 'holders';
TRUNCATE sno_catalog.sno_lease;
SELECT ok FROM sno_check() WHERE item = 'holders';

-- Privileges
SET SESSION AUTHORIZATION regress_sno_user;
SELECT count(*) FROM sno_generators();
SELECT count(*) FROM sno_check();
SELECT sno_reset_statistics();
SET SESSION AUTHORIZATION regress_sno_monitor;
SELECT count(*) > 0 AS shown FROM sno_generators();
SELECT bool_and(ok) FROM sno_check();
SELECT sno_reset_statistics();
RESET SESSION AUTHORIZATION;
GRANT EXECUTE ON FUNCTION sno_reset_statistics() TO regress_sno_monitor;
SET SESSION AUTHORIZATION regress_sno_monitor;
SELECT sno_reset_statistics();
RESET SESSION AUTHORIZATION;

\c :db
DROP DATABASE regress_sno_status;
DROP ROLE regress_sno_monitor, regress_sno_user;
