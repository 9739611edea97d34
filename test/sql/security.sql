--
-- No function of another user in the search path is run; row security does not
-- keep ids from indexes
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

-- Traps in a schema that the search path names before pg_catalog
BEGIN;
CREATE SCHEMA traps;
CREATE FUNCTION traps.trap() RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'trapped'; END$$;
SET LOCAL search_path = traps, pg_catalog;
CREATE FUNCTION sno_range_min(tstzrange) RETURNS sno LANGUAGE sql AS 'SELECT NULL::sno WHERE trap()';
CREATE FUNCTION sno_range_max(tstzrange) RETURNS sno LANGUAGE sql AS 'SELECT NULL::sno WHERE trap()';
CREATE FUNCTION compare(sno, sno) RETURNS boolean LANGUAGE sql AS 'SELECT trap()';
CREATE OPERATOR = (FUNCTION = compare, LEFTARG = sno, RIGHTARG = sno);
CREATE OPERATOR < (FUNCTION = compare, LEFTARG = sno, RIGHTARG = sno);
CREATE OPERATOR <= (FUNCTION = compare, LEFTARG = sno, RIGHTARG = sno);
CREATE OPERATOR >= (FUNCTION = compare, LEFTARG = sno, RIGHTARG = sno);
CREATE TABLE item (id sno PRIMARY KEY);
INSERT INTO item SELECT sno_min(timestamptz '2026-01-01' + n * interval '1 day') FROM generate_series(0, 364) n;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
EXPLAIN (COSTS OFF)
SELECT id FROM item WHERE id <@ tstzrange('2026-02-01', '2026-03-01');
SELECT count(*), min(id), max(id)
FROM item WHERE id <@ tstzrange('2026-02-01', '2026-03-01');
SELECT count(DISTINCT id), count(id::uuid), count(id::timestamptz), count(id::bytea) FROM item;
-- The traps work: a query that names one runs it.
SELECT id FROM item WHERE id = '9d5ve82222222222';
ROLLBACK;

-- An index is used under a policy.
BEGIN;
CREATE ROLE regress_sno_reader;
CREATE TABLE item (id sno PRIMARY KEY, owner name);
INSERT INTO item SELECT sno_min(timestamptz '2026-01-01' + n * interval '1 day'), 'regress_sno_reader' FROM generate_series(0, 364) n;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON item USING (owner = current_user);
GRANT SELECT ON item TO regress_sno_reader;
SET LOCAL ROLE regress_sno_reader;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM item WHERE id = '9d5ve82222222222';
EXPLAIN (COSTS OFF) SELECT id FROM item WHERE id <@ tstzrange('2026-02-01', '2026-03-01');
SELECT count(*) FROM item WHERE id <@ tstzrange('2026-02-01', '2026-03-01');
ROLLBACK;

-- What changes definitions runs as the owner of their table, so it is restricted.
BEGIN;
CREATE FUNCTION pg_temp.leave_something() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    CREATE TEMP TABLE left_behind ();
    RETURN NULL;
END$$;
CREATE TRIGGER leave_something AFTER INSERT OR DELETE ON sno_catalog.sno_generator FOR EACH ROW EXECUTE FUNCTION pg_temp.leave_something();
\set SHOW_CONTEXT never
SELECT sno_create_generator('restricted', 1);
ROLLBACK;

-- The script means the same whatever its installer set.  PostgreSQL 19 knows no such strings.
BEGIN;
DROP EXTENSION sno CASCADE;
DO $$BEGIN SET LOCAL standard_conforming_strings = off; EXCEPTION WHEN OTHERS THEN END$$;
CREATE EXTENSION sno;
CREATE TABLE event (id uuid) PARTITION BY RANGE (id);
CALL sno_maintain_time_partitions('event', '1 day', '0', at => '2026-01-01');
SELECT count(*) FROM pg_inherits WHERE inhparent = 'event'::regclass;
CREATE EXTENSION sno_flakes;
INSERT INTO sno_catalog.sno_flake_layout VALUES ('ambiguous', '2020-01-01 00:00:00Z', 1, 41, 10, 12, false, 'aab');
ROLLBACK;

-- A library that tells something while it is loaded is loaded whole, even if the statement
-- is canceled.
CREATE TABLE item (id sno);
INSERT INTO item VALUES ('9d5ve82222222222');
\c -
SET sno.unknown = 1;
SELECT pg_cancel_backend(pg_backend_pid()), item::text FROM item;
SELECT id FROM item;
DROP TABLE item;
