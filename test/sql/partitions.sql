--
-- sno_maintain_time_partitions(): partitions that it creates and detaches, and what it
-- refuses; what plans read of a table with 100 of them
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'Asia/Kathmandu';
SET DateStyle = 'ISO, YMD';
SET random_page_cost = 4;
CREATE SCHEMA timed;
SET search_path = timed, public;

-- The partitions of a table, with the times of their bounds
CREATE FUNCTION pg_temp.partitions(parent regclass)
RETURNS TABLE (name name, begins timestamp, ends timestamp, exact boolean) LANGUAGE sql AS $$
    SELECT relname, sno_timestamp(b[1]::sno) AT TIME ZONE 'UTC', sno_timestamp(b[2]::sno) AT TIME ZONE 'UTC',
        coalesce(sno_min(sno_timestamp(b[1]::sno)) = b[1]::sno AND sno_min(sno_timestamp(b[2]::sno)) = b[2]::sno, false)
    FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid,
        LATERAL (SELECT array_agg(substring(m[1] FROM '[2-9a-x]{16}')) FROM regexp_matches(pg_get_expr(relpartbound, c.oid), '\((.*?)\)', 'g') AS m) AS x (b)
    WHERE inhparent = parent ORDER BY b[2] COLLATE "C", relname
$$;

--
-- Steps.  They are calendar steps in UTC, whatever TimeZone is.
--
CREATE FUNCTION pg_temp.steps(step interval, ahead interval, at timestamptz)
RETURNS TABLE (name name, begins timestamp, ends timestamp, exact boolean) LANGUAGE plpgsql AS $$
BEGIN
    CREATE TABLE event (id sno PRIMARY KEY) PARTITION BY RANGE (id);
    CALL sno_maintain_time_partitions('event', step, ahead, at => at);
    RETURN QUERY SELECT p.* FROM pg_temp.partitions('event') AS p;
    DROP TABLE event;
END $$;
SELECT * FROM pg_temp.steps('1 month', '2 months', '2026-11-22 12:00+00');
SELECT * FROM pg_temp.steps('1 month', NULL, '2026-12-31 23:59:59.999+00');
SELECT * FROM pg_temp.steps('1 month', '0', '2026-12-01 00:00+00');
SELECT * FROM pg_temp.steps('3 months', '3 months', '2026-11-22 12:00+00');
SELECT * FROM pg_temp.steps('5 months', '5 months', '2026-11-22 12:00+00');
SELECT * FROM pg_temp.steps('1 year', '1 year', '2027-01-01 00:00+00');
SELECT * FROM pg_temp.steps('1 day', '24 hours', '2028-02-28 23:59+00');
SELECT name, to_char(begins, 'Day'), ends - begins FROM pg_temp.steps('1 week', '1 day', '2026-11-22 12:00+00');
SELECT * FROM pg_temp.steps('10 days', '10 days', '2026-11-22 12:00+00');
SELECT * FROM pg_temp.steps('6 hours', '6 hours', '2026-11-22 17:59+00');
SELECT * FROM pg_temp.steps('15 min', '30 min', '2026-11-22 23:50+00');
SELECT * FROM pg_temp.steps('24:00:00', '1 day', '2026-11-22 12:00+00');
-- The ends of the epoch
SELECT * FROM pg_temp.steps('1 month', '10 years', '2079-07-31 12:00+00');
SELECT * FROM pg_temp.steps('1 day', NULL, '2079-09-07 15:47:35.551+00');
SELECT * FROM pg_temp.steps('1 month', '0', '2010-01-01 00:00+00');
SELECT * FROM pg_temp.steps('100 years', NULL, '2010-01-01 00:00+00');
SELECT count(*), bool_and(now() AT TIME ZONE 'UTC' >= min) AS now FROM (SELECT min(begins) OVER () FROM pg_temp.steps('1 hour', NULL, now())) AS s;

--
-- Errors
--
CREATE TABLE event (id sno PRIMARY KEY) PARTITION BY RANGE (id);
\set SHOW_CONTEXT never
CALL sno_maintain_time_partitions('event', '1 month 1 day');
CREATE FUNCTION pg_temp.error_of(parent regclass, step interval, ahead interval DEFAULT NULL, keep interval DEFAULT NULL, at timestamptz DEFAULT now(),
    OUT state text, OUT message text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
    CALL sno_maintain_time_partitions(parent, step, ahead, keep, at);
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
END $$;
SELECT step, (pg_temp.error_of('event', step)).state
FROM unnest('{0,-1 month,1 month -1 day,-1 day,1 day 1 hour,1 month 1 hour,48 hours,7 hours,-1 hour,30 sec,90 sec,1 min 0.5 sec,1 us}'::interval[]) AS step;
SELECT * FROM pg_temp.error_of(NULL, '1 day');
SELECT * FROM pg_temp.error_of('event', NULL);
SELECT * FROM pg_temp.error_of('event', '1 day', at => NULL);
SELECT * FROM pg_temp.error_of('event', '1 day', '-1 day');
SELECT * FROM pg_temp.error_of('event', '1 day', keep => '-1 day');
SELECT * FROM pg_temp.error_of('event', '1 day', at => '2009-12-31 23:59:59.999+00');
SELECT * FROM pg_temp.error_of('event', '1 day', at => '2079-09-07 15:47:35.552+00');
SELECT * FROM pg_temp.error_of('event', '1 day', at => 'infinity');
SELECT * FROM pg_temp.error_of('event', '1 day', at => '-infinity');
-- Other tables
CREATE TABLE plain (id sno PRIMARY KEY);
CREATE TABLE by_hash (id sno PRIMARY KEY) PARTITION BY HASH (id);
CREATE TABLE by_list (id sno PRIMARY KEY) PARTITION BY LIST (id);
CREATE TABLE by_two (id sno, n integer) PARTITION BY RANGE (id, n);
CREATE TABLE by_expression (id sno) PARTITION BY RANGE (sno_with_meta(id, 0));
CREATE TABLE by_text (id text) PARTITION BY RANGE (id);
CREATE VIEW viewed AS TABLE event;
SELECT relation::regclass, e.* FROM unnest('{plain,by_hash,by_list,by_two,by_expression,by_text,viewed,plain_pkey,event_pkey}'::regclass[]) AS relation, LATERAL pg_temp.error_of(relation, '1 day') AS e;
SELECT * FROM pg_temp.error_of(1, '1 day');
SELECT count(*) FROM pg_temp.partitions('event');
DROP TABLE plain, by_hash, by_list, by_two, by_expression, by_text CASCADE;
DROP VIEW viewed;

--
-- Partitions that are there already
--
-- Nothing is done twice, and what is missing in between is added.
CALL sno_maintain_time_partitions('event', '1 month', '2 months', at => '2026-11-22+00');
CALL sno_maintain_time_partitions('event', '1 month', '2 months', at => '2026-11-22+00');
DROP TABLE event_2026_12;
CALL sno_maintain_time_partitions('event', '1 month', '2 months', at => '2026-11-22+00');
SELECT * FROM pg_temp.partitions('event');
-- Another step goes on where the others end.
CALL sno_maintain_time_partitions('event', '1 day', '2 days', at => '2027-01-30+00');
CALL sno_maintain_time_partitions('event', '1 month', '1 month', at => '2027-01-30+00');
CALL sno_maintain_time_partitions('event', '12 hours', '1 day', at => '2027-02-28 12:00+00');
SELECT * FROM pg_temp.partitions('event') OFFSET 2;
DROP TABLE event;
-- Bounds of any kind, made by hand; the whole time is covered after a call.
CREATE TABLE event (id sno PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE event_hand_1 PARTITION OF event FOR VALUES FROM (MINVALUE) TO (sno_min('2026-11-05+00'));
CREATE TABLE event_hand_2 PARTITION OF event FOR VALUES FROM (sno_min('2026-11-10+00')) TO (sno_max('2026-11-11 12:34:56.780+00')) PARTITION BY HASH (id);
CREATE TABLE event_hand_3 PARTITION OF event FOR VALUES FROM (sno_make('2026-11-20+00', 7, 8, 9)) TO (sno_min('2026-12-15 08:30+00'));
CREATE TABLE event_hand_4 PARTITION OF event FOR VALUES FROM (sno_min('2027-01-05 00:00:00.004+00')) TO (MAXVALUE);
CREATE TABLE event_rest PARTITION OF event DEFAULT;
CALL sno_maintain_time_partitions('event', '1 month', '1 year', at => '2026-11-22+00');
CALL sno_maintain_time_partitions('event', '1 month', '1 year', at => '2026-11-22+00');
SELECT * FROM pg_temp.partitions('event');
SELECT count(*) AS holes
FROM (SELECT pg_get_expr(relpartbound, c.oid) AS bound FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid WHERE inhparent = 'event'::regclass) AS a
WHERE bound !~ 'DEFAULT|TO .MAXVALUE' AND NOT EXISTS (
    SELECT FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid
    WHERE inhparent = 'event'::regclass AND pg_get_expr(relpartbound, c.oid) LIKE 'FOR VALUES FROM (' || substring(bound FROM 'TO .(.*)\)$') || ')%');
DROP TABLE event;
-- The default partition has rows of the time.
CREATE TABLE event (id sno PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE event_rest PARTITION OF event DEFAULT;
INSERT INTO event VALUES (sno_min('2026-12-05'));
CALL sno_maintain_time_partitions('event', '1 month', '1 month', at => '2026-11-22+00');
SELECT count(*) FROM pg_temp.partitions('event');
BEGIN;
CREATE TABLE moved AS SELECT * FROM event_rest WHERE id <@ tstzrange('2026-12-01 00:00+00', '2027-01-01 00:00+00');
DELETE FROM event_rest WHERE id IN (SELECT id FROM moved);
CALL sno_maintain_time_partitions('event', '1 month', at => '2026-12-01 00:00+00');
INSERT INTO event SELECT * FROM moved;
DROP TABLE moved;
COMMIT;
SELECT tableoid::regclass FROM event;
DROP TABLE event_2026_12;
-- The name is taken.
CREATE TABLE event_2026_12 ();
SELECT * FROM pg_temp.error_of('event', '1 month', '1 month', at => '2026-11-22+00');
SELECT count(*) FROM pg_temp.partitions('event');
DROP TABLE event, event_2026_12;

--
-- What a partition has
--
CREATE TABLE kind (id integer PRIMARY KEY);
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.stamped := TG_NAME; RETURN NEW; END$$;
CREATE TABLE event (
    gone    integer,
    id      sno DEFAULT sno_generate(1) PRIMARY KEY,
    n       integer GENERATED BY DEFAULT AS IDENTITY,
    serial  bigserial,
    kind    integer NOT NULL DEFAULT 7 REFERENCES kind,
    at      timestamptz GENERATED ALWAYS AS (sno_timestamp(id)) STORED,
    data    text COMPRESSION pglz COLLATE "C" CHECK (data <> 'bad'),
    stamped text)
PARTITION BY RANGE (id);
ALTER TABLE event DROP gone, ALTER data SET STORAGE external;
CREATE INDEX ON event (kind) WHERE n > 0;
CREATE UNIQUE INDEX ON event (id, lower(data));
CREATE TRIGGER stamp BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION stamp();
CREATE TABLE detail (event sno REFERENCES event);
CREATE TABLE event_of PARTITION OF event FOR VALUES FROM (MINVALUE) TO (sno_min('2026-11-01+00'));
CALL sno_maintain_time_partitions('event', '1 month', '0', at => '2026-11-22+00');
-- It is what CREATE TABLE ... PARTITION OF makes.
SELECT array_agg(relation), what
FROM unnest('{event_of,event_2026_11}'::regclass[]) AS relation, LATERAL (
    SELECT ROW(attname, format_type(atttypid, atttypmod), attnotnull, atthasdef, attidentity, attgenerated, attstorage, attcompression, attcollation, attinhcount, attislocal)::text
    FROM pg_attribute WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT ROW('default', pg_get_expr(adbin, adrelid))::text FROM pg_attrdef WHERE adrelid = relation
    UNION ALL SELECT ROW(contype, pg_get_constraintdef(oid), convalidated, coninhcount, conislocal)::text FROM pg_constraint WHERE conrelid = relation
    UNION ALL SELECT ROW('reference', pg_get_constraintdef(oid))::text FROM pg_constraint WHERE confrelid = relation
    UNION ALL SELECT ROW('index', regexp_replace(pg_get_indexdef(indexrelid), ' INDEX \S+ ON \S+', ''), indisprimary)::text FROM pg_index WHERE indrelid = relation
    UNION ALL SELECT ROW('trigger', regexp_replace(tgname, '_\d+$', ''), tgfoid::regproc, tgenabled)::text FROM pg_trigger WHERE tgrelid = relation
    UNION ALL SELECT ROW(relowner, relnamespace, relam, reltablespace, relpersistence, relreplident, relispartition)::text FROM pg_class WHERE oid = relation) AS f (what)
GROUP BY what HAVING count(*) FILTER (WHERE relation = 'event_of'::regclass) <> count(*) FILTER (WHERE relation = 'event_2026_11'::regclass)
ORDER BY 2;
INSERT INTO kind VALUES (7);
INSERT INTO event (id, data) VALUES (sno_min('2026-11-03+00'), 'good') RETURNING tableoid::regclass, n, serial, kind, at, data, stamped;
DROP TABLE event, detail, kind;
DROP FUNCTION stamp;

-- Names: quotes, other schemas, long ones, a temporary table, a domain
CREATE SCHEMA "Odd ""schema""";
CREATE TABLE "Odd ""schema"""."My 'events' %s" (id sno) PARTITION BY RANGE (id);
CALL sno_maintain_time_partitions('"Odd ""schema"""."My ''events'' %s"', '1 month', '0', at => '2026-11-22+00');
CALL sno_maintain_time_partitions('"Odd ""schema"""."My ''events'' %s"', '1 month', '0', '0', at => '2026-12-22+00');
SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = '"Odd ""schema"""."My ''events'' %s"'::regclass;
SET client_min_messages = warning;
DROP SCHEMA "Odd ""schema""" CASCADE;
RESET client_min_messages;
SELECT repeat('e', 63) AS long \gset
CREATE TABLE :long (id sno PRIMARY KEY) PARTITION BY RANGE (id);
CALL sno_maintain_time_partitions(:'long', '1 month', '1 month', at => '2026-11-22+00');
CALL sno_maintain_time_partitions(:'long', '1 day', '0', at => '2026-10-31+00');
CALL sno_maintain_time_partitions(:'long', '1 hour', '0', at => '2026-10-30+00');
SELECT name, octet_length(name::text) FROM pg_temp.partitions(:'long');
DROP TABLE :long;
CREATE TEMP TABLE event (id sno PRIMARY KEY) PARTITION BY RANGE (id);
CALL sno_maintain_time_partitions('event', '1 month', '0', at => '2026-11-22+00');
SELECT relname, relpersistence, relnamespace = pg_my_temp_schema() AS temp FROM pg_class WHERE relname ~ '^event_\d+_\d+$';
DROP TABLE pg_temp.event;
CREATE DOMAIN event_id AS sno CHECK (sno_meta(VALUE) < 8);
CREATE TABLE event (id event_id PRIMARY KEY) PARTITION BY RANGE (id);
CALL sno_maintain_time_partitions('event', '1 month', '1 month', at => '2026-11-22+00');
CALL sno_maintain_time_partitions('event', '1 month', '1 month', '0', at => '2026-12-22+00');
SELECT * FROM pg_temp.partitions('event');
DROP TABLE event, event_2026_11;
DROP DOMAIN event_id;

--
-- What is detached
--
CREATE TABLE event (id sno PRIMARY KEY, n integer) PARTITION BY RANGE (id);
CREATE TABLE event_old PARTITION OF event FOR VALUES FROM (MINVALUE) TO (sno_min('2026-01-01+00'));
CREATE TABLE event_hashed PARTITION OF event FOR VALUES FROM (sno_min('2026-01-01+00')) TO (sno_min('2026-02-01+00')) PARTITION BY HASH (id);
CREATE TABLE event_hashed_0 PARTITION OF event_hashed FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TABLE event_rest PARTITION OF event DEFAULT;
CALL sno_maintain_time_partitions('event', '1 month', '3 months', at => '2026-02-01+00');
INSERT INTO event SELECT sno_min(timestamptz '2025-12-15+00' + n * interval '1 month'), n FROM generate_series(0, 5) AS n;
CALL sno_maintain_time_partitions('event', '1 month', '0', '1 month', at => '2026-01-31 23:59:59.999+00');
CALL sno_maintain_time_partitions('event', '1 month', '0', '1 month', at => '2026-03-31 00:00+00');
CALL sno_maintain_time_partitions('event', '1 month', '0', '1 month', at => '2026-04-01 00:00+00');
SELECT * FROM pg_temp.partitions('event');
SELECT count(*), min(n) FROM event;
SELECT tableoid::regclass, n FROM (SELECT tableoid, n FROM event_old UNION ALL SELECT tableoid, n FROM event_hashed UNION ALL SELECT tableoid, n FROM event_2026_02) AS t ORDER BY n;
-- A foreign table
CREATE FOREIGN DATA WRAPPER timed_wrapper;
CREATE SERVER timed_server FOREIGN DATA WRAPPER timed_wrapper;
CREATE TABLE remote (id sno) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE remote_1 PARTITION OF remote FOR VALUES FROM (sno_min('2026-01-01+00')) TO (sno_min('2026-01-15+00')) SERVER timed_server;
CALL sno_maintain_time_partitions('remote', '1 month', '0', at => '2026-01-01+00');
CALL sno_maintain_time_partitions('remote', '1 month', '0', '1 month', at => '2026-02-20+00');
SELECT * FROM pg_temp.partitions('remote');
SET client_min_messages = warning;
DROP FOREIGN DATA WRAPPER timed_wrapper CASCADE;
RESET client_min_messages;
DROP TABLE remote;
-- A detached one leaves its name taken.
SELECT message FROM pg_temp.error_of('event', '1 month', '0', at => '2026-02-01+00');
-- What is never detached: the last one, if it goes up to MAXVALUE, and all if keep is null
CREATE TABLE event_end PARTITION OF event FOR VALUES FROM (sno_min('2026-06-01+00')) TO (MAXVALUE);
CALL sno_maintain_time_partitions('event', '1 month', '0', at => '2079-09-07+00');
CALL sno_maintain_time_partitions('event', '1 month', '0', '0', at => '2079-09-07+00');
SELECT * FROM pg_temp.partitions('event');
DROP TABLE event, event_old, event_hashed, event_2026_02, event_2026_03, event_2026_04, event_2026_05;

-- Rows that foreign keys refer to stay; the rest is done.
CREATE TABLE event (id sno PRIMARY KEY) PARTITION BY RANGE (id);
CALL sno_maintain_time_partitions('event', '1 month', '1 month', at => '2026-01-01+00');
CREATE TABLE detail (event sno REFERENCES event);
INSERT INTO event VALUES (sno_min('2026-01-07+00'));
INSERT INTO detail TABLE event;
\set VERBOSITY terse
CALL sno_maintain_time_partitions('event', '1 month', '0', '0', at => '2026-03-01+00');
\set VERBOSITY default
SELECT * FROM pg_temp.partitions('event');
SHOW lock_timeout;
DROP TABLE event, detail, event_2026_02;

--
-- Rights and search paths
--
CREATE ROLE regress_sno_owner;
CREATE ROLE regress_sno_member IN ROLE regress_sno_owner;
CREATE ROLE regress_sno_writer;
GRANT USAGE, CREATE ON SCHEMA timed TO regress_sno_owner, regress_sno_writer;
SET ROLE regress_sno_owner;
CREATE TABLE event (id sno PRIMARY KEY) PARTITION BY RANGE (id);
GRANT ALL ON event TO regress_sno_writer;
CALL sno_maintain_time_partitions('event', '1 month', '0', at => '2026-01-01+00');
RESET ROLE;
SET ROLE regress_sno_writer;
CALL sno_maintain_time_partitions('event', '1 month', '0', at => '2026-01-01+00');
CALL sno_maintain_time_partitions('event', '1 month', '0', '0', at => '2027-01-01+00');
RESET ROLE;
SET ROLE regress_sno_member;
CALL sno_maintain_time_partitions('event', '1 month', '0', at => '2026-02-01+00');
RESET ROLE;
-- What the owner wrote would have the rights of a superuser who calls.
CALL sno_maintain_time_partitions('event', '1 month', '0', at => '2026-03-01+00');
CREATE ROLE regress_sno_superuser SUPERUSER;
SET ROLE regress_sno_superuser;
CREATE TABLE own (id sno PRIMARY KEY) PARTITION BY RANGE (id);
CALL sno_maintain_time_partitions('event', '1 month', '0', at => '2026-03-01+00');
CALL sno_maintain_time_partitions('own', '1 month', '0', at => '2026-03-01+00');
RESET ROLE;
CALL sno_maintain_time_partitions('own', '1 month', '0', at => '2026-04-01+00');
DROP TABLE own;
DROP ROLE regress_sno_superuser;
SET ROLE regress_sno_owner;
CALL sno_maintain_time_partitions('event', '1 month', '0', at => '2026-03-01+00');
RESET ROLE;
SELECT name, relowner::regrole FROM pg_temp.partitions('event') JOIN pg_class ON relname = name ORDER BY 1;
-- Objects of others in the search path are not used.
CREATE SCHEMA traps;
CREATE FUNCTION traps.trap(anyelement) RETURNS anyelement LANGUAGE plpgsql AS $$BEGIN RAISE 'trapped'; END$$;
CREATE FUNCTION traps.format(text, regclass) RETURNS text LANGUAGE sql AS 'SELECT traps.trap(''''::text)';
CREATE FUNCTION traps.sno_min(timestamptz) RETURNS sno LANGUAGE sql AS 'SELECT traps.trap(sno_zero())';
CREATE FUNCTION traps.isfinite(interval) RETURNS boolean LANGUAGE sql AS 'SELECT traps.trap(true)';
CREATE TABLE traps.pg_class (oid oid, relname name);
CREATE TABLE traps.event (id sno) PARTITION BY RANGE (id);
GRANT USAGE ON SCHEMA traps TO regress_sno_owner;
SET search_path = traps, pg_catalog, public;
SET ROLE regress_sno_owner;
CALL sno_maintain_time_partitions('timed.event', '1 month', '0', at => '2026-05-01+00');
RESET ROLE;
SET search_path = timed, public;
SELECT count(*) FROM pg_temp.partitions('event');
SET client_min_messages = warning;
DROP SCHEMA traps CASCADE;
RESET client_min_messages;
DROP TABLE event;
REVOKE ALL ON SCHEMA timed FROM regress_sno_owner, regress_sno_writer;
DROP ROLE regress_sno_owner, regress_sno_member, regress_sno_writer;

--
-- 100 monthly partitions: how many a query reads
--
CREATE TABLE event (id sno PRIMARY KEY, n integer) PARTITION BY RANGE (id);
CALL sno_maintain_time_partitions('event', '1 month', '99 months', at => '2026-01-01+00');
INSERT INTO event SELECT sno_min(timestamptz '2026-01-06+00' + n * interval '1 month' + hour * interval '1 hour'), n
FROM generate_series(0, 99) AS n, generate_series(0, 99) AS hour;
ANALYZE event;
SELECT count(*), min(begins), max(ends) FROM pg_temp.partitions('event');
-- The scans in the plan, those of them that were executed, and the rows found
CREATE FUNCTION pg_temp.scans(query text, OUT planned integer, OUT executed integer, OUT result integer) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) ' || query INTO plan;
    SELECT count(*), count(*) FILTER (WHERE (node ->> 'Actual Loops')::numeric > 0), sum((node ->> 'Actual Loops')::numeric * (node ->> 'Actual Rows')::numeric)
    INTO planned, executed, result FROM jsonb_path_query(plan, 'strict $.** ? (@."Relation Name" starts with "event_")') AS node;
END $$;
SELECT * FROM pg_temp.scans('SELECT n FROM event');
-- At plan time
SELECT * FROM pg_temp.scans($$SELECT n FROM event WHERE id <@ tstzrange('2029-05-01+00', '2029-06-01+00')$$);
SELECT * FROM pg_temp.scans($$SELECT n FROM event WHERE id BETWEEN sno_min('2029-05-05+00') AND sno_max('2029-05-25+00')$$);
SELECT * FROM pg_temp.scans($$SELECT n FROM event WHERE id = sno_min('2029-05-06+00')$$);
EXPLAIN (COSTS OFF) SELECT n FROM event WHERE id <@ tstzrange('2029-05-01+00', '2029-05-02+00') AND n < 0;
-- At run time: of a range that depends on now(), as many as overlap it
SELECT executed <= 2 AS few, executed = overlap AS exact
FROM pg_temp.scans($$SELECT n FROM event WHERE id <@ tstzrange(now() - interval '1 hour', now())$$),
    (SELECT count(*) FROM pg_temp.partitions('event') WHERE tsrange(begins, ends) && tsrange(now() AT TIME ZONE 'UTC' - interval '1 hour', now() AT TIME ZONE 'UTC')) AS o (overlap);
SELECT executed = overlap AS exact
FROM pg_temp.scans($$SELECT n FROM event WHERE id <@ tstzrange(now() - interval '1 hour', NULL)$$),
    (SELECT count(*) FROM pg_temp.partitions('event') WHERE ends > now() AT TIME ZONE 'UTC' - interval '1 hour') AS o (overlap);
-- A prepared statement with a generic plan
SET plan_cache_mode = force_generic_plan;
PREPARE of_range(timestamptz, timestamptz) AS SELECT n FROM event WHERE id <@ tstzrange($1, $2);
PREPARE since(timestamptz) AS SELECT n FROM event WHERE id <@ tstzrange($1 - interval '1 hour', NULL);
PREPARE one(sno) AS SELECT n FROM event WHERE id = $1;
SELECT * FROM pg_temp.scans($$EXECUTE of_range('2029-05-01+00', '2029-06-01+00')$$);
SELECT * FROM pg_temp.scans($$EXECUTE of_range('2029-05-31 23:00+00', '2029-06-01 01:00+00')$$);
SELECT * FROM pg_temp.scans($$EXECUTE of_range('2009-05-01+00', '2009-06-01+00')$$);
SELECT * FROM pg_temp.scans($$EXECUTE since('2034-04-20 12:00+00')$$);
SELECT * FROM pg_temp.scans($$EXECUTE one(sno_min('2029-05-06+00'))$$);
EXPLAIN (COSTS OFF) EXECUTE of_range('2029-05-01+00', '2029-05-02+00');
RESET plan_cache_mode;
-- The parameter of a join
CREATE TABLE wanted (id sno, during tstzrange);
INSERT INTO wanted VALUES (sno_min('2027-07-06+00'), '[2029-05-01+00,2029-06-01+00)');
ANALYZE wanted;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_seqscan = off;
SELECT * FROM pg_temp.scans('SELECT n FROM wanted LEFT JOIN event ON event.id = wanted.id');
SELECT * FROM pg_temp.scans('SELECT n FROM wanted LEFT JOIN event ON event.id <@ wanted.during');

SET client_min_messages = warning;
DROP SCHEMA timed CASCADE;
