--
-- The catalog entries of all objects of the extension, and properties of the type
-- that hold for all ids and all ranges.  Run with pg_prove.
--
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS sno;
SET LOCAL TimeZone = 'UTC';
SELECT no_plan();

--
-- The catalogue
--

CREATE TEMP VIEW member AS
SELECT d.classid, d.objid, pg_describe_object(d.classid, d.objid, 0) AS name
FROM pg_depend d
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'sno' AND d.deptype = 'e';

CREATE TEMP VIEW member_function AS
SELECT m.name, p.* FROM member m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid;

CREATE TEMP VIEW member_operator AS
SELECT m.name, o.* FROM member m JOIN pg_operator o ON m.classid = 'pg_operator'::regclass AND m.objid = o.oid;

-- Functions that the server calls by itself
CREATE TEMP VIEW relied_on AS
SELECT oprcode::oid AS oid FROM member_operator
UNION
SELECT a.amproc::oid
FROM pg_amproc a JOIN member m ON m.classid = 'pg_opfamily'::regclass AND m.objid = a.amprocfamily
WHERE a.amproclefttype = a.amprocrighttype
UNION
SELECT castfunc FROM pg_cast c JOIN member m ON m.classid = 'pg_cast'::regclass AND m.objid = c.oid
UNION
SELECT unnest(ARRAY[aggtransfn, aggcombinefn]::oid[])
FROM pg_aggregate a JOIN member_function f ON a.aggfnoid = f.oid
UNION
SELECT unnest(ARRAY[typinput, typoutput, typreceive, typsend]::oid[]) FROM pg_type WHERE oid = 'sno'::regtype;

SELECT is_empty($$
    SELECT name FROM member WHERE obj_description(objid, classid::regclass::name) IS NULL
    AND NOT EXISTS (SELECT FROM pg_type t WHERE classid = 'pg_type'::regclass AND t.oid = objid AND (typrelid <> 0 OR typelem <> 0))
$$, 'every object of the extension has a comment, but types of rows and arrays');

SELECT is_empty($$
    SELECT f.name FROM member_function f JOIN relied_on USING (oid)
    WHERE provolatile <> 'i' OR proparallel <> 's' OR proisstrict = (proname IN ('sno_eq_timestamptz', 'sno_timestamptz_eq'))
$$, 'functions behind operators, classes, casts, aggregates and I/O are immutable and parallel safe, and strict but those with AND');

SELECT results_eq($$
    SELECT DISTINCT f.proname FROM pg_amproc a JOIN member_function f ON f.oid = a.amproc
    WHERE f.provolatile = 's' AND f.proparallel = 's' AND f.proisstrict
$$, $$VALUES ('sno_in_range'::name)$$, 'window frames by interval depend on the time zone, and on nothing else');

SELECT is_empty($$
    SELECT name FROM member_function WHERE provolatile = 'i' AND proparallel <> 's'
$$, 'every immutable function is parallel safe');

SELECT is_empty($$
    SELECT name FROM member_function WHERE prosrc LIKE 'sno\_generate%' AND (provolatile <> 'v' OR proparallel <> CASE WHEN proretset THEN 'r' ELSE 's' END)
$$, 'generators are volatile, and parallel safe unless they return a set');

SELECT is_empty($$
    SELECT name FROM member_function
    WHERE prolang = (SELECT oid FROM pg_language WHERE lanname = 'c') AND NOT starts_with(prosrc, proname)
$$, 'C symbols bear the names of the functions');

SELECT is_empty($$
    SELECT name FROM member_function
    WHERE prosecdef AND NOT coalesce(proconfig::text LIKE '%search_path=%', false)
$$, 'functions that run as their owner fix the search path');

SELECT is_empty($$
    SELECT f.name FROM member_function f
    JOIN pg_amproc a ON a.amproc::oid = f.oid AND a.amprocnum = 1
    JOIN pg_opfamily o ON o.oid = a.amprocfamily
    JOIN pg_am m ON m.oid = o.opfmethod AND m.amname = 'btree'
    WHERE NOT f.proleakproof
$$, 'the comparison is leakproof, so that row security does not keep it from indexes');

SELECT is_empty($$
    SELECT name FROM member_operator WHERE oprcode = 0
$$, 'no operator is a shell');

SELECT is_empty($$
    SELECT o.name FROM member_operator o LEFT JOIN pg_operator c ON c.oid = o.oprcom
    WHERE o.oprkind = 'b' AND c.oprcom IS DISTINCT FROM o.oid
$$, 'every operator has a commutator, which names it as its own');

SELECT is_empty($$
    SELECT o.name FROM member_operator o LEFT JOIN pg_operator n ON n.oid = o.oprnegate
    WHERE o.oprleft = o.oprright AND o.oprresult = 'boolean'::regtype AND n.oprnegate IS DISTINCT FROM o.oid
$$, 'every comparison has a negator, which names it as its own');

SELECT is_empty($$
    SELECT name FROM member_operator
    WHERE oprresult = 'boolean'::regtype AND (oprrest = 0 OR oprjoin = 0)
$$, 'every condition has estimators, of restriction and of join');

SELECT is_empty($$
    SELECT name FROM member_operator WHERE oprname = '=' AND (oprcanhash AND oprcanmerge) <> (oprleft = oprright)
$$, 'equality of ids can hash and merge, that of an id and a time cannot');

SELECT is_empty($$
    SELECT name FROM member JOIN pg_opclass o ON classid = 'pg_opclass'::regclass AND objid = o.oid
    WHERE NOT amvalidate(o.oid)
$$, 'every operator class is valid');

SELECT results_eq($$
    SELECT a.amname FROM pg_opclass o JOIN pg_am a ON a.oid = o.opcmethod
    WHERE o.opcintype = 'sno'::regtype AND o.opcdefault ORDER BY 1
$$, $$VALUES ('brin'::name), ('btree'), ('gist'), ('hash')$$, 'the access methods of core that can have a default class');

SELECT is_empty($$
    SELECT name FROM member JOIN pg_cast c ON classid = 'pg_cast'::regclass AND objid = c.oid
    WHERE castcontext <> 'e' OR castmethod <> 'f'
$$, 'every cast is explicit');

SELECT is_empty($$
    SELECT castsource::regtype, casttarget::regtype FROM pg_cast c
    WHERE 'sno'::regtype IN (castsource, casttarget)
    AND c.oid NOT IN (SELECT objid FROM member WHERE classid = 'pg_cast'::regclass)
$$, 'every cast from or to the type belongs to the extension');

SELECT is_empty($$
    SELECT f.name FROM member_function f JOIN pg_aggregate a ON a.aggfnoid = f.oid
    WHERE f.proparallel <> 's' OR a.aggcombinefn = 0 OR a.aggsortop = 0
$$, 'every aggregate works in parallel, and from an index');

SELECT results_eq($$
    SELECT typlen::int, typbyval, typalign::text, typstorage::text, typcategory::text, typispreferred
    FROM pg_type WHERE oid = 'sno'::regtype
$$, $$VALUES (10, false, 'c', 'p', 'U', false)$$, 'the type is ten bytes, unaligned and plain');

SELECT is_empty($$
    SELECT typname FROM pg_type WHERE oid = 'sno'::regtype AND 0 IN (typreceive, typsend, typarray)
$$, 'the type has binary I/O and an array type');

--
-- Properties of ids
--

-- The same on every run: both ends, single bits, and ids of hashed numbers
CREATE TEMP TABLE id AS
SELECT bytes, bytes::sno AS id
FROM (
    SELECT substring(sha256(n::text::bytea) FOR 10) FROM generate_series(1, 20000) n
    UNION ALL
    SELECT set_bit('\x00000000000000000000'::bytea, n, 1) FROM generate_series(0, 79) n
    UNION ALL
    SELECT set_bit('\xffffffffffffffffffff'::bytea, n, 0) FROM generate_series(0, 79) n
    UNION ALL
    VALUES ('\x00000000000000000000'::bytea), ('\xffffffffffffffffffff')) AS s (bytes);

SELECT is_empty($$
    SELECT id FROM id WHERE id::text::sno <> id OR id::text !~ '^[2-9a-x]{16}$'
$$, 'text: input of output gives the same id');

-- Five bits a character, most significant first; get_bit() counts bits of a
-- byte from its least significant.
SELECT is_empty($$
    SELECT id FROM id
    WHERE id::text <> (
        SELECT string_agg(substr('23456789abcdefghijklmnopqrstuvwx', value + 1, 1), '' ORDER BY place)
        FROM (
            SELECT bit / 5 AS place, sum(get_bit(bytes, bit / 8 * 8 + 7 - bit % 8) << 4 - bit % 5)::int AS value
            FROM generate_series(0, 79) AS bit
            GROUP BY bit / 5) AS c)
$$, 'text: five bits a character, by the alphabet');

SELECT is_empty($$
    SELECT id FROM id WHERE id::uuid::sno <> id OR uuid_send(id::uuid) <> id::text::bytea
$$, 'uuid: a cast there and back gives the same id; its bytes are the text');

SELECT is_empty($$
    SELECT id FROM id WHERE id::bytea <> bytes OR sno_catalog.sno_send(id) <> bytes
$$, 'bytea and binary: the bytes themselves');

SELECT is_empty($$
    SELECT id FROM id, sno_parts(id) p
    WHERE p."timestamp" <> timestamptz '2010-01-01 00:00:00+00' +
            interval '4 ms' * (('x' || encode(bytes, 'hex'))::bit(40)::bigint >> 1)
        OR p.tick_tock <> (get_bit(bytes, 32) = 1)
        OR p.meta <> get_byte(bytes, 5)
        OR p.partition <> get_byte(bytes, 6) * 256 + get_byte(bytes, 7)
        OR p.sequence <> get_byte(bytes, 8) * 256 + get_byte(bytes, 9)
$$, 'fields: computed from the bytes');

SELECT is_empty($$
    SELECT id FROM id, sno_parts(id) p
    WHERE p."timestamp" <> sno_timestamp(id) OR p.tick_tock <> sno_tick_tock(id) OR p.meta <> sno_meta(id)
        OR p.partition <> sno_partition(id) OR p.sequence <> sno_sequence(id)
        OR id::timestamptz <> sno_timestamp(id)
$$, 'fields: functions return the same as sno_parts()');

SELECT is_empty($$
    SELECT * FROM (
        SELECT id, row_number() OVER (ORDER BY id) AS by_id,
            row_number() OVER (ORDER BY bytes) AS by_bytes,
            row_number() OVER (ORDER BY id::text COLLATE "C") AS by_text,
            row_number() OVER (ORDER BY id::uuid) AS by_uuid
        FROM id) AS s
    WHERE by_id <> by_bytes OR by_id <> by_text OR by_id <> by_uuid
$$, 'order: the same for ids, bytes, text and uuids');

SELECT is_empty($$
    SELECT a.id, b.id
    FROM (SELECT id, bytes, lead(id) OVER w AS near, lead(bytes) OVER w AS near_bytes
          FROM id WINDOW w AS (ORDER BY sha256(bytes))) AS a (id, bytes, other, other_bytes),
        LATERAL (VALUES (other, other_bytes), (a.id, a.bytes)) AS b (id, bytes)
    WHERE b.id IS NOT NULL AND (
        (a.id < b.id) <> (a.bytes < b.bytes) OR (a.id <= b.id) <> (a.bytes <= b.bytes) OR
        (a.id > b.id) <> (a.bytes > b.bytes) OR (a.id >= b.id) <> (a.bytes >= b.bytes) OR
        (a.id = b.id) <> (a.bytes = b.bytes) OR (a.id <> b.id) <> (a.bytes <> b.bytes) OR
        sign(sno_catalog.sno_cmp(a.id, b.id)) <> CASE WHEN a.bytes < b.bytes THEN -1 WHEN a.bytes = b.bytes THEN 0 ELSE 1 END)
$$, 'comparisons: the same as of bytes');

SELECT is_empty($$
    SELECT id FROM id
    WHERE sno_catalog.sno_hash(id) <> sno_catalog.sno_hash(id::text::sno)
        OR sno_catalog.sno_hash_extended(id, 42) <> sno_catalog.sno_hash_extended(id::text::sno, 42)
$$, 'hashes: equal for equal ids');

SELECT results_eq(
    'SELECT min(id), max(id) FROM id',
    $$VALUES ('2222222222222222'::sno, 'xxxxxxxxxxxxxxxx'::sno)$$, 'aggregates: min() and max() return both ends');

--
-- Time bounds and ranges, against the definition
--

-- Instants around the ends of the epoch, of a unit, and of timestamptz
CREATE TEMP TABLE instant AS
SELECT base + delta * interval '1 us' AS at
FROM unnest('{2010-01-01 00:00:00+00, 2026-02-28 12:34:56.784+00, 2079-09-07 15:47:35.548+00}'::timestamptz[]) AS base,
    unnest('{-4001,-4000,-3999,-1,0,1,3999,4000,4001}'::int[]) AS delta
UNION ALL
SELECT * FROM unnest('{-infinity, 4714-11-24 00:00:00+00 BC, 1999-12-31 23:59:59.999999+00,
    294276-12-31 23:59:59.999999+00, infinity}'::timestamptz[]);

SELECT is_empty($$
    SELECT at FROM instant
    WHERE at >= '2010-01-01' AND at < '2079-09-07 15:47:35.552' AND NOT (
        sno_timestamp(sno_min(at)) = date_bin('4 ms', at, '2010-01-01') AND
        sno_timestamp(sno_max(at)) = date_bin('4 ms', at, '2010-01-01') AND
        right(sno_min(at)::bytea::text, 10) = '0000000000' AND
        right(sno_max(at)::bytea::text, 10) = 'ffffffffff' AND
        NOT sno_tick_tock(sno_min(at)) AND sno_tick_tock(sno_max(at)))
$$, 'time bounds: the ends of the unit');

SELECT is_empty($$
    SELECT at FROM instant
    WHERE at < '2010-01-01' AND (sno_min(at) <> '2222222222222222' OR sno_max(at) <> '2222222222222222')
        OR at >= '2079-09-07 15:47:35.552' AND (sno_min(at) <> 'xxxxxxxxxxxxxxxx' OR sno_max(at) <> 'xxxxxxxxxxxxxxxx')
$$, 'time bounds: the nearest end outside the epoch');

SELECT is_empty($$
    SELECT id FROM id WHERE NOT id BETWEEN sno_min(id::timestamptz) AND sno_max(id::timestamptz)
$$, 'time bounds: all ids of a unit are between them');

-- What the planner cannot see through.
CREATE FUNCTION pg_temp.opaque(anyelement) RETURNS anyelement
LANGUAGE plpgsql VOLATILE AS 'BEGIN RETURN $1; END';

CREATE TEMP TABLE edge AS
SELECT sno_min(at) AS id FROM instant UNION SELECT sno_max(at) FROM instant;

CREATE TEMP TABLE range AS
SELECT tstzrange(low, high, kind) AS r
FROM (SELECT at FROM instant UNION ALL VALUES (NULL::timestamptz)) AS l (low),
    (SELECT at FROM instant UNION ALL VALUES (NULL::timestamptz)) AS h (high),
    unnest('{[],[),(],()}'::text[]) AS kind
WHERE (low <= high) IS NOT FALSE
UNION ALL
VALUES ('empty'::tstzrange);

-- One id is an exception: the highest counts as later than any time after the last unit.
CREATE TEMP VIEW expected AS
SELECT id, at, ARRAY[t < at, t <= at, t = at, t >= at, t > at] AS results
FROM edge, instant, sno_timestamp(id) AS t
WHERE NOT (id = 'xxxxxxxxxxxxxxxx' AND at >= '2079-09-07 15:47:35.548');

SELECT is_empty($$
    SELECT * FROM expected
    WHERE results <> ARRAY[id < at, id <= at, id = at, id >= at, id > at]
        OR results <> ARRAY[at > id, at >= id, at = id, at <= id, at < id]
$$, 'comparisons with a time are those of sno_timestamp(), at every edge');

SELECT is_empty($$
    SELECT * FROM expected
    WHERE results <> ARRAY[id < pg_temp.opaque(at), id <= pg_temp.opaque(at), id = pg_temp.opaque(at),
        id >= pg_temp.opaque(at), id > pg_temp.opaque(at)]
$$, 'comparisons with a time are the same when they are not turned into bounds');

SELECT is_empty($$
    SELECT at FROM instant
    WHERE at >= '2079-09-07 15:47:35.548' AND NOT (sno 'xxxxxxxxxxxxxxxx' > at AND sno 'xxxxxxxxxxxxxxxx' >= at AND
        NOT sno 'xxxxxxxxxxxxxxxx' = at AND NOT sno 'xxxxxxxxxxxxxxxx' < at AND NOT sno 'xxxxxxxxxxxxxxxx' <= at)
$$, 'comparisons with a time: the highest id is later than all after the last unit');

SELECT ok(count(*) > 1500, 'ranges: ' || count(*) || ' of all kinds of bounds') FROM range;

SELECT is_empty($$
    SELECT id, r FROM edge, range WHERE (id <@ r) IS DISTINCT FROM (sno_timestamp(id) <@ r)
$$, 'ranges: <@ is the same for ids and times, at every edge');

SELECT is_empty($$
    SELECT id, r FROM edge, range WHERE (r @> id) IS DISTINCT FROM (sno_timestamp(id) <@ r)
$$, 'ranges: @> is the same for ids and times, at every edge');

SELECT is_empty($$
    SELECT id, r FROM edge, range
    WHERE (id >= sno_range_min(r) AND id <= sno_range_max(r)) IS DISTINCT FROM (sno_timestamp(id) <@ r)
$$, 'ranges: their bounds are the same for ids and times, at every edge');

SELECT is_empty($$
    SELECT id, r FROM edge, range
    WHERE (id <@ pg_temp.opaque(r)) IS DISTINCT FROM (sno_timestamp(id) <@ r)
        OR (pg_temp.opaque(r) @> id) IS DISTINCT FROM (sno_timestamp(id) <@ r)
$$, 'ranges: both operators are the same when they are not turned into comparisons');

SELECT is_empty($$
    SELECT r FROM range
    WHERE sno_range_min(r) <= sno_range_max(r) AND
        NOT (sno_timestamp(sno_range_min(r)) <@ r AND sno_timestamp(sno_range_max(r)) <@ r)
        OR sno_range_min(r) > sno_range_max(r) AND
        NOT (sno_range_min(r) = 'xxxxxxxxxxxxxxxx' AND sno_range_max(r) = '2222222222222222')
$$, 'ranges: bounds are in the range, or cross over');

-- Bounds that are times of ids themselves, or a little off
CREATE TEMP TABLE random_range AS
SELECT tstzrange(least(a, b), greatest(a, b), (ARRAY['[]', '[)', '(]', '()'])[1 + n % 4]) AS r
FROM (
    SELECT n, id::timestamptz + (n % 3 - 1) * interval '1 us' AS a,
        lead(id::timestamptz) OVER (ORDER BY n) + (n % 5 - 2) * interval '1 us' AS b
    FROM (SELECT id, row_number() OVER (ORDER BY sha256(bytes)) AS n FROM id) AS s
    LIMIT 400) AS t;

SELECT is_empty($$
    SELECT id, r FROM (SELECT id FROM id ORDER BY sha256(bytes) LIMIT 1000) AS s, random_range
    WHERE (id <@ r) IS DISTINCT FROM (sno_timestamp(id) <@ r)
$$, 'ranges: <@ is the same for random ids and their times');

SELECT * FROM finish();
ROLLBACK;
