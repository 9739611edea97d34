--
-- The extension in a schema that the search path doesn't name, and whose name
-- needs quotes
--
SET client_min_messages = warning;
SELECT current_database() AS db \gset
DROP DATABASE IF EXISTS regress_sno_schema;
DROP ROLE IF EXISTS regress_sno_reader;
CREATE DATABASE regress_sno_schema;
\c regress_sno_schema
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
SET bytea_output = hex;
CREATE SCHEMA "My ids";
CREATE EXTENSION sno SCHEMA "My ids";
-- All its objects are in this schema, except its tables, and stay there.  There is one
-- view.
SELECT DISTINCT (pg_identify_object(classid, objid, 0)).schema
FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno') AND deptype = 'e'
ORDER BY 1;
SELECT relname, relkind FROM pg_class WHERE relnamespace = '"My ids"'::regnamespace;
CREATE SCHEMA other;
ALTER EXTENSION sno SET SCHEMA other;
\echo :LAST_ERROR_SQLSTATE

-- Generators
CREATE TABLE item (
    id   "My ids".sno PRIMARY KEY DEFAULT "My ids".sno_generate(1),
    n    integer,
    at   timestamptz GENERATED ALWAYS AS ("My ids".sno_timestamp(id)) STORED);
INSERT INTO item (n) SELECT n FROM generate_series(1, 1000) AS n;
SELECT count(DISTINCT id), bool_and(at BETWEEN now() - interval '1 hour' AND clock_timestamp()) AS now FROM item;
SELECT count(*) FROM sno_catalog.sno_lease;

-- Functions and casts
SELECT "My ids".sno_make('2026-01-01 12:00', 7, 8, 9) AS id \gset
SELECT "My ids".sno_timestamp(i), "My ids".sno_tick_tock(i), "My ids".sno_meta(i), "My ids".sno_partition(i), "My ids".sno_sequence(i), "My ids".sno_parts(i),
    "My ids".sno_date_bin('1 day', i, '2000-01-01')
FROM (SELECT :'id'::"My ids".sno) AS s (i);
SELECT "My ids".sno_with_timestamp(i, '2026-01-02'), "My ids".sno_with_meta(i, 1), "My ids".sno_with_partition(i, 2), "My ids".sno_with_sequence(i, 3)
FROM (SELECT :'id'::"My ids".sno) AS s (i);
SELECT i::uuid, i::uuid::"My ids".sno OPERATOR("My ids".=) i AS uuid, i::bytea, i::bytea::"My ids".sno OPERATOR("My ids".=) i AS bytea, i::timestamptz,
    "My ids".sno_to_uuidv8(i), "My ids".sno_from_uuidv8("My ids".sno_to_uuidv8(i)) OPERATOR("My ids".=) i AS uuidv8
FROM (SELECT :'id'::"My ids".sno) AS s (i);
SELECT "My ids".sno_is_valid(:'id'), "My ids".sno_is_zero("My ids".sno_zero()), "My ids".sno_min('2026-01-01'), "My ids".sno_max('2026-01-01'),
    "My ids".sno_min('2026-01-01', 1), "My ids".sno_max('2026-01-01', 1), "My ids".sno_range_min('[2026-01-01,)'), "My ids".sno_range_max('[,2026-01-01)');

-- Operators by their full names.  Keys, DISTINCT, ORDER BY and windows need no names:
-- they use the operator classes of the type.
SELECT i OPERATOR("My ids".=) j AS eq, i OPERATOR("My ids".<>) j AS ne, i OPERATOR("My ids".<) j AS lt, i OPERATOR("My ids".<=) j AS le,
    i OPERATOR("My ids".>) j AS gt, i OPERATOR("My ids".>=) j AS ge, "My ids".sno_cmp(i, j) AS cmp,
    i OPERATOR("My ids".<@) tstzrange('2026-01-01', '2026-01-02') AS contained, tstzrange('2026-01-01', '2026-01-02') OPERATOR("My ids".@>) i AS contains
FROM (SELECT :'id'::"My ids".sno, "My ids".sno_max('infinity')) AS s (i, j);
\set VERBOSITY sqlstate
SELECT :'id'::"My ids".sno = :'id';
\set VERBOSITY default
CREATE TABLE event AS SELECT "My ids".sno_make(timestamptz '2026-01-01' + n * interval '1 hour', n % 256, 0) AS id, n FROM generate_series(0, 8759) AS n;
SELECT "My ids".min(id), "My ids".max(id), count(DISTINCT id) FROM event;
SELECT n, count(*) OVER (ORDER BY id RANGE BETWEEN '3 hours' PRECEDING AND '2 hours' FOLLOWING) FROM event ORDER BY id DESC LIMIT 3;
SELECT count(*) FROM event AS a JOIN event AS b ON a.id OPERATOR("My ids".=) b.id;
SELECT min(n), max(n) FROM event WHERE id OPERATOR("My ids".<@) tstzrange('2026-02-01', '2026-03-01');

-- Indexes of every kind: defaults without a name, the others with
CREATE FUNCTION pg_temp.found(OUT node text, OUT range text, OUT one text) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE $q$EXPLAIN (FORMAT json) SELECT n FROM event WHERE id OPERATOR("My ids".=) "My ids".sno_make('2026-02-01', 232, 0)$q$ INTO plan;
    node := coalesce(plan #>> '{0,Plan,Plans,0,Index Name}', plan #>> '{0,Plan,Index Name}', 'none');
    EXECUTE $q$SELECT count(*) || ' from ' || min(n) FROM event WHERE id OPERATOR("My ids".<@) tstzrange('2026-02-01', '2026-03-01')$q$ INTO range;
    EXECUTE $q$SELECT string_agg(n::text, ' ') FROM event WHERE id OPERATOR("My ids".=) "My ids".sno_make('2026-02-01', 232, 0)$q$ INTO one;
END $$;
SET enable_seqscan = off;
CREATE INDEX event_btree ON event (id);
SELECT * FROM pg_temp.found();
DROP INDEX event_btree;
CREATE INDEX event_hash ON event USING hash (id);
SELECT * FROM pg_temp.found();
DROP INDEX event_hash;
CREATE INDEX event_brin ON event USING brin (id) WITH (pages_per_range = 1);
SELECT * FROM pg_temp.found();
DROP INDEX event_brin;
CREATE INDEX event_multi ON event USING brin (id "My ids".sno_minmax_multi_ops) WITH (pages_per_range = 1);
SELECT * FROM pg_temp.found();
DROP INDEX event_multi;
CREATE INDEX event_bloom ON event USING brin (id "My ids".sno_bloom_ops) WITH (pages_per_range = 1);
SELECT * FROM pg_temp.found();
DROP INDEX event_bloom;
CREATE INDEX event_gist ON event USING gist (id);
SELECT * FROM pg_temp.found();
DROP INDEX event_gist;
RESET enable_seqscan;
CREATE TABLE booking (id "My ids".sno, during tstzrange, EXCLUDE USING gist (id WITH OPERATOR("My ids".=), during WITH &&));
INSERT INTO booking VALUES ("My ids".sno_zero(), '[2026-01-01,2026-01-03)'), ("My ids".sno_zero(), '[2026-01-03,2026-01-04)');
INSERT INTO booking VALUES ("My ids".sno_zero(), '[2026-01-02,2026-01-03)');
CREATE TABLE log (id "My ids".sno PRIMARY KEY, n integer) PARTITION BY RANGE (id);
CREATE TABLE log_old PARTITION OF log FOR VALUES FROM (MINVALUE) TO ("My ids".sno_min('2026-07-01'));
CREATE TABLE log_new PARTITION OF log FOR VALUES FROM ("My ids".sno_min('2026-07-01')) TO (MAXVALUE);
INSERT INTO log SELECT * FROM event;
ANALYZE log;
EXPLAIN (COSTS OFF) SELECT n FROM log WHERE id OPERATOR("My ids".<@) tstzrange('2026-08-01', '2026-09-01');

-- The definitions name the schema where it's needed.
CREATE VIEW recent AS SELECT id, id::uuid AS key FROM event WHERE id OPERATOR("My ids".<@) tstzrange('2026-12-01', NULL) AND id OPERATOR("My ids".<>) "My ids".sno_zero();
SELECT substring(pg_get_viewdef('recent') FROM 'OPERATOR.*<@'), pg_get_expr(adbin, adrelid)
FROM pg_attrdef WHERE adrelid = 'item'::regclass ORDER BY adnum;
SELECT count(*) FROM recent;

-- Views, policies, constraints and indexes that use either operator work for a
-- role that may not use the schema.
CREATE ROLE regress_sno_reader;
SET search_path = public, "My ids";
CREATE VIEW viewed_ge AS SELECT n FROM event WHERE id >= sno_min('2026-12-01');
CREATE VIEW viewed_in AS SELECT n FROM event WHERE id <@ tstzrange('2026-12-01', NULL);
CREATE TABLE guarded_ge AS TABLE event;
CREATE TABLE guarded_in AS TABLE event;
ALTER TABLE guarded_ge ENABLE ROW LEVEL SECURITY;
ALTER TABLE guarded_in ENABLE ROW LEVEL SECURITY;
CREATE POLICY late ON guarded_ge USING (id >= sno_min('2026-12-01'));
CREATE POLICY late ON guarded_in USING (id <@ tstzrange('2026-12-01', NULL));
CREATE TABLE checked_ge (id sno CHECK (id >= sno_min('2026-12-01')));
CREATE TABLE checked_in (id sno CHECK (id <@ tstzrange('2026-12-01', NULL)));
CREATE TABLE indexed_ge (id sno);
CREATE TABLE indexed_in (id sno);
CREATE INDEX ON indexed_ge (id) WHERE id >= sno_min('2026-12-01');
CREATE INDEX ON indexed_in (id) WHERE id <@ tstzrange('2026-12-01', NULL);
SELECT sno_min('2026-12-01') AS late, sno_min('2026-11-01') AS early \gset
GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO regress_sno_reader;
SET ROLE regress_sno_reader;
SELECT count(*) FROM viewed_ge;
SELECT count(*) FROM viewed_in;
SELECT count(*) FROM guarded_ge;
SELECT count(*) FROM guarded_in;
\set VERBOSITY sqlstate
INSERT INTO checked_ge VALUES (:'late');
INSERT INTO checked_ge VALUES (:'early');
INSERT INTO checked_in VALUES (:'late');
INSERT INTO checked_in VALUES (:'early');
\set VERBOSITY default
INSERT INTO indexed_ge VALUES (:'late'), (:'early');
INSERT INTO indexed_in VALUES (:'late'), (:'early');
SELECT count(*) FROM indexed_ge;
SELECT count(*) FROM indexed_in;
SELECT "My ids".sno_zero();
RESET ROLE;

-- The schema of its tables is created and dropped with the extension.
SET client_min_messages = warning;
SELECT to_regnamespace('sno_catalog');
DROP EXTENSION sno CASCADE;
SELECT to_regnamespace('sno_catalog');

\c :db
SET client_min_messages = warning;
DROP DATABASE regress_sno_schema;
DROP ROLE regress_sno_reader;
