--
-- Version 8 uuids
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

SELECT id, sno_to_uuidv8(id), sno_from_uuidv8(sno_to_uuidv8(id)) = id AS back
FROM unnest('{2222222222222222,2222222222222223,brpk4q72xwf2m63l,xxxxxxxxxxxxxxxx}'::sno[]) AS id;
SELECT sno_to_uuidv8('\x00112233445566778899'::bytea::sno), sno_from_uuidv8('00112233-4455-8667-9e22-640000000000')::bytea;
SELECT sno_to_uuidv8(NULL), sno_from_uuidv8(NULL);

-- Each bit has another place
SELECT count(*), count(DISTINCT u), bool_and(sno_from_uuidv8(u) = id AND u::text ~ '^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f][048c]0{10}$') AS sound
FROM (SELECT id, sno_to_uuidv8(id) AS u FROM generate_series(0, 79) AS bit, LATERAL (SELECT set_bit(sno_zero()::bytea, bit, 1)::sno AS id) AS i) AS s;

-- Refused: another version or variant, or bits that no id has
CREATE FUNCTION pg_temp.attempt(input uuid, OUT code text, OUT message text, OUT detail text) LANGUAGE plpgsql AS $$
BEGIN
    message := sno_from_uuidv8(input);
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
END $$;
SELECT a.*
FROM unnest('{
    00000000-0000-0000-0000-000000000000,
    ffffffff-ffff-ffff-ffff-ffffffffffff,
    00112233-4455-4667-9e22-640000000000,
    00112233-4455-7667-9e22-640000000000,
    00112233-4455-9667-9e22-640000000000,
    00112233-4455-8667-1e22-640000000000,
    00112233-4455-8667-de22-640000000000,
    00112233-4455-8667-9e22-640000000001,
    00112233-4455-8667-9e22-660000000000,
    00112233-4455-8667-9e22-648000000000,
    3971376c-6b64-6b6f-3238-626167323232}'::uuid[]) AS input, pg_temp.attempt(input) AS a;
-- Any of the 42 bits, of the version or of the variant alone
SELECT count(*), count(*) FILTER (WHERE (pg_temp.attempt(encode(set_bit(b, n, 1 - get_bit(b, n)), 'hex')::uuid)).code = '22P02') AS refused
FROM (SELECT uuid_send(sno_to_uuidv8('brpk4q72xwf2m63l')) AS b) AS s,
    unnest(ARRAY[52, 53, 54, 55, 70, 71, 80, 81] || ARRAY(SELECT generate_series(88, 127))) AS n;

-- Is a uuid an id?
SELECT u, sno_is_uuidv8(u), sno_during(u, '[,]')
FROM unnest('{00112233-4455-8667-9e22-640000000000, 00112233-4455-7667-9e22-640000000000, ffffffff-ffff-8fff-bfff-fc0000000000}'::uuid[]) AS u;
SELECT sno_is_uuidv8(NULL), sno_during(NULL, '[,]'), sno_during('00112233-4455-8667-9e22-640000000000', NULL), sno_during('00112233-4455-7667-9e22-640000000000', NULL);
-- The same of columns, with and without the planner's help
CREATE TABLE pair AS
SELECT u, r FROM unnest('{00112233-4455-8667-9e22-640000000000, 00112233-4455-7667-9e22-640000000000, NULL}'::uuid[]) AS u, unnest('{"[,]", empty, NULL}'::tstzrange[]) AS r;
SELECT u, r, sno_during(u, r), sno_during(u, r) IS NOT DISTINCT FROM sno_during(u, CASE WHEN random() < 2 THEN r END) AS same FROM pair ORDER BY u, r;
DROP TABLE pair;

-- Uuids as keys: ranges of time, with other uuids among them
CREATE TABLE document (id uuid PRIMARY KEY DEFAULT sno_generate_uuidv8(7));
INSERT INTO document DEFAULT VALUES RETURNING sno_is_uuidv8(id), sno_meta(sno_from_uuidv8(id));
SELECT sno_generate_uuidv8(256);
SELECT sno_generate_uuidv8(NULL), sno_is_uuidv8(sno_generate_uuidv8());
INSERT INTO document SELECT sno_to_uuidv8(sno_make('2024-01-01 00:00+00'::timestamptz + n * interval '1 hour', 1, 2, 3)) FROM generate_series(0, 24 * 365) AS n;
-- These sort among the ids.
INSERT INTO document SELECT overlay(id::text PLACING '4' FROM 15 FOR 1)::uuid FROM document WHERE sno_during(id, '[2024-05-01, 2024-05-02)');
ANALYZE document;
SELECT count(*) FROM document WHERE sno_during(id, '[2024-05-01 00:00+00, 2024-05-02 00:00+00)');
EXPLAIN (COSTS OFF) SELECT * FROM document WHERE sno_during(id, '[2024-05-01 00:00+00, 2024-05-02 00:00+00)');
-- A range that is known only when the query runs
CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        CONTINUE WHEN line !~ 'Index Only Scan|Index Cond|Filter';
        RETURN NEXT regexp_replace(line, '\$\d|\(InitPlan \w+\).col1', 'value', 'g');
    END LOOP;
END $$;
SELECT * FROM pg_temp.plan('SELECT * FROM document WHERE sno_during(id, (SELECT tstzrange(now(), NULL)))');
CREATE TABLE shift (during tstzrange);
INSERT INTO shift VALUES ('[2024-05-01 00:00+00, 2024-05-01 08:00+00)'), ('[2024-06-01 00:00+00, 2024-06-01 08:00+00)'), ('empty'), (NULL);
SET enable_seqscan = off;
SELECT * FROM pg_temp.plan('SELECT during, id FROM shift LEFT JOIN document ON sno_during(id, during)');
RESET enable_seqscan;
SELECT during, count(id) FROM shift LEFT JOIN document ON sno_during(id, during) GROUP BY 1 ORDER BY 1;
SELECT * FROM pg_temp.plan('SELECT * FROM document WHERE sno_during(id, (SELECT during FROM shift LIMIT 1))');
SELECT count(*) FROM document WHERE sno_during(id, (SELECT during FROM shift LIMIT 1));
-- The same without the planner's help
SELECT count(*) FROM document WHERE sno_during(id, CASE WHEN random() < 2 THEN '[2024-05-01 00:00+00, 2024-05-02 00:00+00)'::tstzrange END);
DROP TABLE document, shift;

-- Partitions by time
CREATE TABLE event (id uuid PRIMARY KEY DEFAULT sno_generate_uuidv8()) PARTITION BY RANGE (id);
CALL sno_maintain_time_partitions('event', '1 month', at => '2026-11-15');
SELECT inhrelid::regclass, pg_get_expr(relpartbound, inhrelid)
FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'event'::regclass ORDER BY 1;
INSERT INTO event SELECT sno_to_uuidv8(sno_make('2026-12-24', 1, 2, 3));
SELECT tableoid::regclass FROM event;
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE sno_during(id, '[2026-12-01 00:00+00, 2027-01-01 00:00+00)');
CALL sno_maintain_time_partitions('event', '1 month', keep => '1 month', at => '2027-02-15');
SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'event'::regclass ORDER BY 1;
-- Partitions that begin or end at another uuid
CREATE TABLE event_old PARTITION OF event FOR VALUES FROM (MINVALUE) TO ('20000000-0000-4000-8000-000000000000');
CREATE TABLE event_late PARTITION OF event FOR VALUES FROM ('44000000-0000-4000-8000-000000000000') TO ('44000001-0000-4000-8000-000000000000');
CALL sno_maintain_time_partitions('event', '1 day', '0', at => '2029-01-01');
SELECT sno_timestamp(sno_from_uuidv8('44000000-0000-8000-8000-000000000000'));
CALL sno_maintain_time_partitions('event', '1 day', '0', at => '2028-07-05');
SELECT inhrelid::regclass, pg_get_expr(relpartbound, inhrelid)
FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'event'::regclass AND inhrelid::regclass::text ~ '2028_07|event_late' ORDER BY 2;
DROP TABLE event, event_2026_11, event_2026_12;
CREATE TABLE event (id uuid, name text) PARTITION BY RANGE (id, name);
CALL sno_maintain_time_partitions('event', '1 month');
DROP TABLE event;
