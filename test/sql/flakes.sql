--
-- Ids of other systems: layouts, readers, bounds, makers and text forms
--
SET client_min_messages = warning;
SELECT current_database() AS db \gset
DROP DATABASE IF EXISTS regress_sno_flakes;
DROP ROLE IF EXISTS regress_sno_owner, regress_sno_nobody;
CREATE ROLE regress_sno_owner;
CREATE ROLE regress_sno_nobody;
CREATE DATABASE regress_sno_flakes OWNER regress_sno_owner;
\c regress_sno_flakes
SET client_min_messages = warning;
CREATE EXTENSION sno;
CREATE EXTENSION sno_flakes;
GRANT ALL ON SCHEMA public TO PUBLIC;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
SET bytea_output = hex;
-- 2026-11-21, the time of all vectors
\set at '''2026-11-21 10:22:18.284567+00'''

-- A layout with the type of its ids, and how the functions that return one end
CREATE VIEW typed AS
SELECT l.*, bits, type, CASE type WHEN 'bigint' THEN '' ELSE '_' || type END AS suffix
FROM sno_catalog.sno_flake_layout l,
    LATERAL (SELECT time_bits + node_bits + sequence_bits) AS b (bits),
    LATERAL (SELECT CASE WHEN bits <= 64 THEN 'bigint' WHEN bits = 128 THEN 'uuid' ELSE 'bytea' END) AS t (type);

-- The result of a call, in which @ is where the name of the function ends.  Bytes are
-- hexadecimal digits, nothing else.
CREATE FUNCTION made(layout text, call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE format('SELECT %s::text', replace(call, '@', (SELECT suffix FROM typed WHERE name = layout))) INTO result;
    RETURN CASE (SELECT type FROM typed WHERE name = layout) WHEN 'bigint' THEN result ELSE translate(result, '\x-', '') END;
END
$$;

-- The result of a call, in which @ is the id of these digits
CREATE FUNCTION read(layout text, id text, call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    type   text := (SELECT t.type FROM typed AS t WHERE name = layout);
    result text;
BEGIN
    EXECUTE format('SELECT (%s)::text', replace(call, '@', format('%L::%s', CASE type WHEN 'bytea' THEN '\x' || id ELSE id END, type))) INTO result;
    RETURN result;
END
$$;

-- The error of a query, or no row
CREATE FUNCTION error_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    message text;
    detail  text;
    hint    text;
BEGIN
    EXECUTE query;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    -- Rows that a constraint refuses have times of these layouts in them, too.
    RETURN NEXT concat_ws(' ', SQLSTATE, message, CASE WHEN SQLSTATE NOT LIKE '23%' THEN nullif(detail, '') END, nullif(hint, ''));
END
$$;

--
-- The layouts
--
TABLE sno_catalog.sno_flake_layout;
-- pgEdge's, by one statement
SELECT sno_flake_create_layout('pgedge', '2023-01-01Z', 1, 41, 10, 12, true);

-- All vectors, each in both directions: none fails.
CREATE TABLE vector (layout text, min text, max text, id text, text text);
\getenv abs_srcdir PG_ABS_SRCDIR
\set load '\\copy vector FROM ' :abs_srcdir '/vectors/flakes.tsv'
:load
SELECT count(*) FROM vector;
-- The node is 5 where there are nodes.
CREATE VIEW node AS SELECT name AS layout, CASE WHEN node_bits > 0 THEN 5 ELSE 0 END AS node FROM sno_catalog.sno_flake_layout;
SELECT layout FROM vector WHERE made(layout, format('sno_flake_min@(%L, %L)', :at, layout)) <> min;
SELECT layout FROM vector WHERE made(layout, format('sno_flake_max@(%L, %L)', :at, layout)) <> max;
SELECT layout FROM vector JOIN node USING (layout) WHERE made(layout, format('sno_flake_make@(%L, %s, 7, %L)', :at, node, layout)) <> id;
SELECT layout FROM vector WHERE read(layout, id, format('sno_flake_text(@, %L)', layout)) <> text;
SELECT layout FROM vector WHERE made(layout, format('sno_flake_from_text@(%L, %L)', text, layout)) <> id;
SELECT layout, unit, node_bits, sequence_bits,
    read(layout, min, format('sno_flake_parts(@, %L)', layout)) AS min,
    read(layout, max, format('sno_flake_parts(@, %L)', layout)) AS max,
    read(layout, v.id, format('sno_flake_parts(@, %L)', layout)) AS id,
    read(layout, v.id, format('sno_flake_timestamp(@, %L)', layout)) AS "timestamp"
FROM vector AS v JOIN sno_catalog.sno_flake_layout AS l ON name = layout ORDER BY name;

-- What the systems themselves made
SELECT * FROM sno_flake_parts(1541815603606036480, 'snowflake');
SELECT sno_flake_min(:at, 'snowflake'), sno_flake_max(:at, 'snowflake');
SELECT t, sno_flake_timestamp(id, 'boundary'), sno_flake_from_text_uuid(t, 'boundary') = id AS same
FROM (VALUES (uuid '00000134-d421-2d43-109a-dd5e0e8f0000')) AS v (id), sno_flake_text(id, 'boundary') AS t;
SELECT sno_flake_timestamp(3594162604066373433, 'simpleflake');
SELECT sno_flake_text(908540701891980503, 'instagram'), sno_flake_from_text('ybyPRoQWzX', 'instagram'), sno_flake_make(:at, 5, 7, 'instagram');
SELECT hex, p.*, sno_flake_text(id, 'objectid') = hex AS same
FROM (VALUES ('507f1f77bcf86cd799439011'), ('000000000000000000000000'), ('7fffffff0000000000000000'), ('800000000000000000000000'),
    ('ffffffffffffffffffffffff')) AS v (hex), decode(hex, 'hex') AS id, sno_flake_parts(id, 'objectid') AS p;
SELECT sno_flake_make(:at, 5, 7, 'json1') AS json1, sno_flake_make(:at, 5, 7, 'json4') AS json4, sno_flake_make(:at, 5, 7, 'json7') AS json7;
-- Raw ids of Randflake, before they are encrypted, are unsigned.
SELECT sno_flake_make(to_timestamp(2266870912), 131071, 131071, 'randflake') AS id \gset
SELECT :id AS id, p.*, extract(epoch FROM p."timestamp") AS seconds FROM sno_flake_parts(:id, 'randflake') AS p;
-- Layouts that count
SELECT sno_flake_parts(72157623227190423, 'tickets') AS tickets, sno_flake_parts(7, 'counter') AS counter,
    sno_flake_timestamp(7, 'tickets') IS NULL AS no_time, sno_flake_text(7, 'tickets') AS text, sno_flake_from_text('7', 'counter') AS id;

--
-- The first and the last time of each layout
--
SELECT name, made(name, format('sno_flake_min@(%L, %L)', epoch, name)) AS first_id,
    read(name, made(name, format('sno_flake_max@(%L, %L)', last, name)), format('sno_flake_parts(@, %L)', name)) AS last_parts,
    error_of(format('SELECT sno_flake_min%s(%L, %L)', suffix, epoch - interval '1 us', name)) AS before,
    error_of(format('SELECT sno_flake_max%s(%L, %L)', suffix, last + unit * interval '1 ms', name)) AS after
FROM typed, LATERAL (SELECT epoch + (2::float8 ^ least(time_bits - (bits = 64)::int, 47) - 1) * (unit * interval '1 ms')) AS t (last)
WHERE unit > 0 AND time_bits < 64 ORDER BY id;
-- Ids of 64 bits are unsigned.  Negative ones would be out of order, so they are no bounds.
SELECT sno_flake_max('2046-06-27 17:00:49.496789Z', 'instagram') AS last, sno_flake_make('2046-06-27 17:00:49.497Z', 0, 0, 'instagram') AS next;
SELECT * FROM sno_flake_parts(-9223372036854775808, 'instagram');
SELECT * FROM sno_flake_parts(-1, 'instagram');
SELECT sno_flake_text(-1, 'instagram') AS text, sno_flake_text(-1, 'simpleflake') AS decimal,
    sno_flake_from_text('P__________', 'instagram') AS id, sno_flake_from_text('18446744073709551615', 'simpleflake') AS from_decimal;
SELECT error_of('SELECT sno_flake_min(''2046-06-27 17:00:49.497Z'', ''instagram'')');
-- Numbers of JavaScript
SELECT * FROM sno_flake_parts(9007199254740991, 'json8');
SELECT sno_flake_make('2106-02-07 06:28:15.999999Z', 63, 32767, 'json8') AS last;
SELECT error_of(format('SELECT sno_flake_parts(%s, %L)', id, layout))
FROM (VALUES ('9007199254740992'), ('-1'), ('9223372036854775807')) AS v (id), (VALUES ('json1'), ('json8')) AS l (layout);
-- Times that a timestamptz doesn't have
SELECT error_of('SELECT sno_flake_timestamp(uuid ''ffffffff-ffff-ffff-ffff-ffffffffffff'', ''boundary'')');
SELECT error_of('SELECT sno_flake_parts(uuid ''ffffffff-ffff-ffff-ffff-ffffffffffff'', ''boundary'')');
SELECT sno_flake_text(uuid 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'boundary') AS text \gset
SELECT :'text' AS text, sno_flake_from_text_uuid(:'text', 'boundary') AS id;
-- The last ms of a timestamptz, and the next one
SELECT id, sno_flake_timestamp(id, 'boundary'), error_of(format('SELECT sno_flake_timestamp(%L::uuid, ''boundary'')', next)) AS next
FROM sno_flake_max_uuid('294276-12-31 23:59:59.999999Z', 'boundary') AS id,
    LATERAL (SELECT (lpad(to_hex(('x' || left(translate(id::text, '-', ''), 16))::bit(64)::bigint + 1), 16, '0') || repeat('0', 16))::uuid) AS n (next);

-- Digits of the call: Snowflake's base 58, 36, 32 and 2, and TSID's 13 characters of Crockford's base 32
CREATE TEMP TABLE form (name text, digits text);
INSERT INTO form VALUES
    ('base58', '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'),
    ('base36', '0123456789abcdefghijklmnopqrstuvwxyz'),
    ('base32', 'ybndrfg8ejkmcpqxot1uwisza345h769'),
    ('crockford', '0123456789ABCDEFGHJKMNPQRSTVWXYZ'),
    ('base2', '01');
SELECT name, text, sno_flake_from_text(text, 'snowflake', digits) AS id,
    name = 'base58' OR sno_flake_from_text(upper(text), 'snowflake', digits) = sno_flake_from_text(lower(text), 'snowflake', digits) AS any_case
FROM form, sno_flake_text(470157936458760129, 'snowflake', digits) AS text;
SELECT text, sno_flake_from_text(lower(text), 'discord', digits) AS id
FROM form, sno_flake_text(470157936458760129, 'discord', digits, width => 13) AS text WHERE name = 'crockford';
SELECT error_of(format('SELECT sno_flake_text(1, %L, %L, %s)', 'snowflake', digits, width))
FROM (VALUES ('0', 0), ('00', 0), ('0 1', 0), (repeat('0123456789', 7), 0), ('01', -1), ('01', 129)) AS v (digits, width);
SELECT error_of(format('SELECT sno_flake_from_text(%L, %L, %L)', text, 'snowflake', digits))
FROM (VALUES ('', '01'), ('2', '01'), ('a', 'Ab'), ('L', '123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ'), ('l', '123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ'), (repeat('1', 65), '01'), ('1', '1')) AS v (text, digits);
SELECT sno_flake_text(uuid 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'boundary', '01', 128) = repeat('1', 128) AS longest,
    sno_flake_text(1, 'snowflake', width => 20), sno_flake_text(decode('0f', 'hex') || decode(repeat('00', 11), 'hex'), 'objectid', '0123456789');

--
-- Text forms
--
SELECT layout, text, error_of(format('SELECT sno_flake_from_text%s(%L, %L)', suffix, text, layout))
FROM (VALUES
    ('snowflake', ''), ('snowflake', ' '), ('snowflake', '-1'), ('snowflake', '+1'), ('snowflake', ' 1'), ('snowflake', '1 '), ('snowflake', '1e3'),
    ('snowflake', '0x10'), ('snowflake', '9223372036854775808'), ('snowflake', '18446744073709551616'),
    ('snowflake', repeat('9', 60)), ('json1', '9007199254740992'), ('simpleflake', '18446744073709551616'),
    ('instagram', ''), ('instagram', 'a+b'), ('instagram', 'a/b'), ('instagram', 'QAAAAAAAAAA'), ('instagram', repeat('_', 100)),
    ('randflake', 'w'), ('randflake', 'g000000000000'), ('randflake', '~'),
    ('boundary', ''), ('boundary', 'a-b'), ('boundary', '00000134-d421-2d43-109a-dd5e0e8f0000'), ('boundary', '7n42DGM5Tflk9n8mt7Fhc8'),
    ('objectid', ''), ('objectid', '507f1f77bcf86cd79943901'), ('objectid', '507f1f77bcf86cd7994390111'), ('objectid', '507f1f77bcf86cd79943901g'),
    ('objectid', '\x507f1f77bcf86cd7994390'), ('objectid', '507f1f77 bcf86cd79943901')) AS v (layout, text) JOIN typed ON name = layout ORDER BY name, text COLLATE "C";
-- Zero is one digit.  Leading zeros change nothing.
SELECT sno_flake_text(0, 'snowflake') AS decimal, sno_flake_text(0, 'instagram') AS base64, sno_flake_text(0, 'randflake') AS base32,
    sno_flake_text(uuid '00000000-0000-0000-0000-000000000000', 'boundary') AS base62, sno_flake_text('\x000000000000000000000000'::bytea, 'objectid') AS hex;
SELECT sno_flake_from_text(repeat('0', 1000) || '15', 'snowflake') AS decimal, sno_flake_from_text(repeat('A', 1000) || 'P', 'instagram') AS base64,
    sno_flake_from_text_bytea('507F1F77bcf86cd799439011', 'objectid') AS hex, sno_flake_from_text('V3nhD000K007', 'randflake') AS base32;
-- To read a very long text can be cancelled: nextval(), which comes after it, isn't called.
CREATE SEQUENCE reached;
CREATE TABLE long AS SELECT repeat('0', 50000000) AS text;
SET statement_timeout = '10ms';
SELECT sno_flake_from_text(text, 'snowflake'), nextval('reached') FROM long;
RESET statement_timeout;
SELECT is_called FROM reached;

--
-- Nonsense
--
SELECT query, error_of('SELECT ' || query) FROM (VALUES
    ('sno_flake_timestamp(1, ''nothing'')'), ('sno_flake_timestamp(1, '''')'), ('sno_flake_timestamp(1, ''Snowflake'')'), ('sno_flake_timestamp(1, repeat(''x'', 100))'),
    ('sno_flake_timestamp(1, ''boundary'')'), ('sno_flake_parts(1, ''objectid'')'), ('sno_flake_text(1, ''objectid'')'),
    ('sno_flake_timestamp(gen_random_uuid(), ''snowflake'')'), ('sno_flake_parts(gen_random_uuid(), ''objectid'')'), ('sno_flake_text(gen_random_uuid(), ''json1'')'),
    ('sno_flake_timestamp(''\x00''::bytea, ''snowflake'')'), ('sno_flake_parts(''\x00''::bytea, ''boundary'')'), ('sno_flake_text(''\x00''::bytea, ''json1'')'),
    ('sno_flake_min(now(), ''objectid'')'), ('sno_flake_max(now(), ''boundary'')'), ('sno_flake_make(now(), 0, 0, ''boundary'')'), ('sno_flake_from_text('''', ''boundary'')'),
    ('sno_flake_min_uuid(now(), ''snowflake'')'), ('sno_flake_max_uuid(now(), ''objectid'')'), ('sno_flake_make_uuid(now(), 0, 0, ''counter'')'), ('sno_flake_from_text_uuid('''', ''objectid'')'),
    ('sno_flake_min_bytea(now(), ''snowflake'')'), ('sno_flake_max_bytea(now(), ''boundary'')'), ('sno_flake_make_bytea(now(), 0, 0, ''json1'')'), ('sno_flake_from_text_bytea('''', ''json1'')'),
    ('sno_flake_timestamp(''\x''::bytea, ''objectid'')'), ('sno_flake_parts(''\x0011223344556677889900''::bytea, ''objectid'')'), ('sno_flake_text(decode(repeat(''00'', 13), ''hex''), ''objectid'')'),
    ('sno_flake_min(now(), ''tickets'')'), ('sno_flake_max(now(), ''counter'')'), ('sno_flake_make(now(), 0, 0, ''tickets'')'),
    ('sno_flake_min(''infinity'', ''snowflake'')'), ('sno_flake_max(''-infinity'', ''snowflake'')'), ('sno_flake_make_uuid(''infinity'', 0, 0, ''boundary'')'), ('sno_flake_make_uuid(''-infinity'', 0, 0, ''boundary'')'),
    ('sno_flake_min(''4713-01-01 BC'', ''snowflake'')'), ('sno_flake_min_uuid(''0001-01-01 BC'', ''boundary'')'), ('sno_flake_max(''294276-12-31'', ''json1'')'),
    ('sno_flake_make(''2026-01-01'', -1, 0, ''snowflake'')'), ('sno_flake_make(''2026-01-01'', 1024, 0, ''snowflake'')'), ('sno_flake_make(''2026-01-01'', 0, -1, ''snowflake'')'),
    ('sno_flake_make(''2026-01-01'', 0, 4096, ''snowflake'')'), ('sno_flake_make(''2026-01-01'', 1, 0, ''simpleflake'')'), ('sno_flake_make(''2026-01-01'', 9223372036854775807, 0, ''json1'')'),
    ('sno_flake_make_uuid(''2026-01-01'', 281474976710656, 0, ''boundary'')'), ('sno_flake_make_bytea(''2026-01-01'', 0, 16777216, ''objectid'')'),
    ('sno_flake_parts(-1, ''sonyflake'')'), ('sno_flake_text(-1, ''counter'')'), ('sno_flake_timestamp(9223372036854775807, ''tickets'')')) AS v (query);
-- Nulls
SELECT sno_flake_timestamp(NULL::bigint, 'nothing') IS NULL AND sno_flake_timestamp(1, NULL) IS NULL AND sno_flake_min(NULL, 'snowflake') IS NULL AND
    sno_flake_make(now(), NULL, 0, 'snowflake') IS NULL AND sno_flake_text(NULL::uuid, 'boundary') IS NULL AND sno_flake_from_text(NULL, 'snowflake') IS NULL AS all_null;
SELECT * FROM sno_flake_parts(NULL::bytea, 'objectid');

-- One expression, and a layout of each row
SELECT layout, sno_flake_timestamp(v.id::bigint, layout) FROM vector AS v JOIN typed AS l ON name = layout WHERE type = 'bigint' ORDER BY name;

--
-- Plans
--
CREATE TABLE status (id bigint PRIMARY KEY);
INSERT INTO status SELECT sno_flake_make(timestamptz '2026-01-01Z' + n * interval '1 hour', 1, 0, 'snowflake') FROM generate_series(0, 999) AS n;
CREATE INDEX ON status (sno_flake_timestamp(id, 'snowflake'));
CREATE TABLE event (id uuid PRIMARY KEY);
CREATE TABLE document (id bytea PRIMARY KEY);
ANALYZE status;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM status
WHERE id >= sno_flake_min('2026-01-10Z', 'snowflake') AND id < sno_flake_min('2026-01-11Z', 'snowflake');
SELECT count(*) FROM status WHERE id >= sno_flake_min('2026-01-10Z', 'snowflake') AND id < sno_flake_min('2026-01-11Z', 'snowflake');
EXPLAIN (COSTS OFF) SELECT * FROM status WHERE sno_flake_timestamp(id, 'snowflake') BETWEEN '2026-01-10Z' AND '2026-01-11Z';
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE id BETWEEN sno_flake_min_uuid('2026-01-10Z', 'boundary') AND sno_flake_max_uuid('2026-01-10Z', 'boundary');
EXPLAIN (COSTS OFF) SELECT * FROM document WHERE id BETWEEN sno_flake_min_bytea('2026-01-10Z', 'objectid') AND sno_flake_max_bytea('2026-01-10Z', 'objectid');
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_indexonlyscan;

--
-- Layouts of users
--
-- What the constraints refuse: each row differs in one thing from one that is accepted.
CREATE FUNCTION try_layout(changes jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sno_flake_create_layout(name, epoch, unit, time_bits, node_bits, sequence_bits, node_last, digits)
    FROM jsonb_populate_record(NULL::sno_catalog.sno_flake_layout,
        '{"name": "try", "epoch": "2020-01-01Z", "unit": 1, "time_bits": 41, "node_bits": 10, "sequence_bits": 12, "node_last": false, "digits": "01"}' || changes);
    RAISE 'accepted' USING ERRCODE = '00000';
END
$$;
CREATE VIEW try (changes) AS VALUES
    (jsonb '{}'),
    ('{"name": "snowflake"}'), ('{"name": ""}'), ('{"name": null}'), ('{"name": "123456789012345678901234567890123456789012345678901234567890123"}'),
    ('{"name": "1234567890123456789012345678901234567890123456789012345678901234"}'),
    ('{"epoch": null}'), ('{"epoch": "infinity"}'), ('{"epoch": "-infinity"}'), ('{"epoch": "1969-12-31 23:59:59.999Z"}'), ('{"epoch": "1970-01-01Z"}'),
    ('{"epoch": "2079-09-07 00:00:00.001Z"}'), ('{"epoch": "2020-01-01 00:00:00.000001Z"}'), ('{"epoch": "2020-01-01 00:00:00.001Z"}'),
    ('{"unit": 0}'), ('{"unit": -1}'), ('{"unit": 2}'), ('{"unit": 3}'), ('{"unit": 4}'), ('{"unit": 3600000}'), ('{"unit": 3600001}'), ('{"unit": null}'),
    ('{"time_bits": 0}'), ('{"time_bits": 1}'), ('{"time_bits": 42}'), ('{"time_bits": 43}'), ('{"time_bits": 50}'), ('{"time_bits": 65, "node_bits": 39, "sequence_bits": 24}'),
    ('{"node_bits": -1}'), ('{"node_bits": 0}'), ('{"node_bits": 48, "time_bits": 48, "sequence_bits": 32}'), ('{"node_bits": 49, "time_bits": 47, "sequence_bits": 32}'),
    ('{"node_bits": 48, "time_bits": 49, "sequence_bits": 32}'), ('{"sequence_bits": 0}'), ('{"sequence_bits": 33, "time_bits": 47, "node_bits": 48}'), ('{"time_bits": 64, "node_bits": 48, "sequence_bits": 32}'),
    ('{"epoch": null, "unit": 0, "sequence_bits": 0, "node_bits": 16}'), ('{"epoch": null, "unit": 0, "sequence_bits": 0, "node_bits": 17}'), ('{"epoch": null, "unit": 0, "sequence_bits": 0, "time_bits": 30}'),
    ('{"epoch": null, "unit": 0}'), ('{"epoch": null, "unit": 0, "sequence_bits": 0}'), ('{"epoch": null, "unit": 0, "sequence_bits": 0, "time_bits": 63, "node_bits": 0}'),
    ('{"node_last": null}'), ('{"epoch": "2010-11-04 01:42:54.657Z"}'), ('{"epoch": "2010-11-04 01:42:54.657Z", "node_last": true}'),
    ('{"digits": ""}'), ('{"digits": "0"}'), ('{"digits": "010"}'), ('{"digits": "0 "}'), ('{"digits": "0\u007f"}'), ('{"digits": null}'), ('{"digits": "!~"}'), ('{"digits": "0\n1"}'),
    ('{"digits": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"}'), ('{"digits": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_."}');
SELECT changes, error_of(format('SELECT try_layout(%L)', changes)) FROM try;
-- The constraints of the table, which a dump fills, refuse the same, but for names.
CREATE FUNCTION insert_layout(changes jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sno_catalog.sno_flake_layout (name, epoch, unit, time_bits, node_bits, sequence_bits, node_last, digits)
    SELECT name, epoch, unit, time_bits, node_bits, sequence_bits, node_last, digits
    FROM jsonb_populate_record(NULL::sno_catalog.sno_flake_layout,
        '{"name": "try", "epoch": "2020-01-01Z", "unit": 1, "time_bits": 41, "node_bits": 10, "sequence_bits": 12, "node_last": false, "digits": "01"}' || changes);
    RAISE 'accepted' USING ERRCODE = '00000';
END
$$;
SELECT * FROM (
    SELECT changes, error_of(format('SELECT insert_layout(%L)', changes)) AS inserted, error_of(format('SELECT try_layout(%L)', changes)) AS created FROM try) AS s
WHERE (inserted ~ 'accepted') <> (created ~ 'accepted');
SELECT * FROM sno_catalog.sno_flake_layout WHERE NOT built_in;
SELECT error_of(query) FROM (VALUES
    ('UPDATE sno_catalog.sno_flake_layout SET name = ''other'' WHERE name = ''pgedge'''), ('UPDATE sno_catalog.sno_flake_layout SET digits = NULL'), ('DELETE FROM sno_catalog.sno_flake_layout WHERE name = ''snowflake'''),
    ('DELETE FROM sno_catalog.sno_flake_layout WHERE name = ''pgedge'''), ('TRUNCATE sno_catalog.sno_flake_layout'),
    ('INSERT INTO sno_catalog.sno_flake_layout VALUES (''pgedge'', ''2023-01-01Z'', 1, 41, 10, 12, true) ON CONFLICT (name) DO UPDATE SET unit = 2')) AS v (query);

-- The tables' trigger function refuses to be called in another way.
CREATE TABLE other (n integer);
CREATE TRIGGER later AFTER INSERT ON other FOR EACH ROW EXECUTE FUNCTION sno_catalog.sno_table_changed('none', '');
CREATE TRIGGER statement BEFORE UPDATE ON other FOR EACH STATEMENT EXECUTE FUNCTION sno_catalog.sno_table_changed('none', '');
CREATE TRIGGER no_arguments BEFORE TRUNCATE ON other EXECUTE FUNCTION sno_catalog.sno_table_changed();
SELECT error_of(query) FROM (VALUES ('INSERT INTO other VALUES (1)'), ('UPDATE other SET n = 2'), ('TRUNCATE other')) AS v (query);
DROP TABLE other;

-- One that is rolled back is forgotten, in this session and in expressions that knew it.
PREPARE knows(text) AS SELECT error_of(format('SELECT sno_flake_timestamp(1, %L)', $1));
BEGIN;
SAVEPOINT s;
INSERT INTO sno_catalog.sno_flake_layout VALUES ('mine', '2026-01-01Z', 1, 41, 10, 12);
SELECT sno_flake_timestamp(1::bigint << 22, 'mine');
EXECUTE knows('mine');
ROLLBACK TO s;
EXECUTE knows('mine');
INSERT INTO sno_catalog.sno_flake_layout VALUES ('mine', '2026-01-01Z', 1000, 41, 10, 12);
SELECT sno_flake_timestamp(1::bigint << 22, 'mine');
ROLLBACK;
EXECUTE knows('mine');
DO $$
DECLARE
    layout text := 'mine';
BEGIN
    FOR n IN 1..3 LOOP
        BEGIN
            IF n <> 2 THEN
                INSERT INTO sno_catalog.sno_flake_layout VALUES ('mine', '2026-01-01Z', n * 100, 41, 10, 12);
            END IF;
            RAISE INFO '%', sno_flake_timestamp(1::bigint << 22, layout);
            RAISE 'undo';
        EXCEPTION
            WHEN raise_exception THEN
                NULL;
            WHEN undefined_object THEN
                RAISE INFO '%', SQLERRM;
        END;
    END LOOP;
END
$$;
-- One expression, while layouts are added
BEGIN;
CREATE FUNCTION add_layout(n integer) RETURNS timestamptz LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sno_catalog.sno_flake_layout VALUES ('number ' || n, '2026-01-01Z', 1000 + n, 41, 10, 12);
    RETURN sno_flake_timestamp(1::bigint << 22, 'number ' || n);
END
$$;
SELECT sno_flake_timestamp(1::bigint << 22, layout) AS before, add_layout(n), sno_flake_timestamp(1::bigint << 22, layout) AS after
FROM generate_series(1, 50) AS n, LATERAL (SELECT CASE WHEN n < 3 THEN 'pgedge' ELSE 'number ' || n - 2 END) AS l (layout)
OFFSET 46;
ROLLBACK;

-- A session survives any number of calls while the table is missing.
\c
SET client_min_messages = warning;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
ALTER TABLE sno_catalog.sno_flake_layout RENAME TO hidden;
SELECT DISTINCT left(error_of('SELECT sno_flake_timestamp(1, ''snowflake'')'), 5) FROM generate_series(1, 20);
ALTER TABLE sno_catalog.hidden RENAME TO sno_flake_layout;
SELECT sno_flake_timestamp(0, 'snowflake');

-- Everybody sees the layouts and uses them.  The database's owner adds some.
SET ROLE regress_sno_nobody;
SELECT sno_flake_timestamp(1541815603606036480, 'snowflake');
SELECT error_of('TABLE sno_catalog.sno_flake_layout');
SELECT error_of('INSERT INTO sno_catalog.sno_flake_layout VALUES (''mine'', ''2026-01-01Z'', 1, 41, 10, 12)');
SET ROLE regress_sno_owner;
INSERT INTO sno_catalog.sno_flake_layout VALUES ('mine', '2026-01-01Z', 1, 41, 10, 12);
SELECT error_of('UPDATE sno_catalog.sno_flake_layout SET unit = 2'), error_of('DELETE FROM sno_catalog.sno_flake_layout');
RESET ROLE;

--
-- Properties of all layouts that have a time.  Random parts, of ids that are not negative.
--
INSERT INTO sno_catalog.sno_flake_layout VALUES
    ('uuid, base 2', '2000-02-29Z', 10, 64, 32, 32, true, '10'),
    ('15 bytes', '1999-12-31Z', 5, 60, 40, 20, false, '!"#$%&'),
    ('9 bytes', '2020-01-01Z', 4, 47, 24, 1, true, NULL),
    ('hours', '2079-09-07Z', 3600000, 30, 2, 32, true, 'zyx'),
    ('two bits', '2020-01-01Z', 7, 1, 0, 1, false, NULL),
    ('120 ms', '2020-01-01Z', 120, 31, 1, 31, false, NULL),
    ('uuid', '2020-01-01Z', 1, 48, 48, 32, false, NULL);
CREATE FUNCTION random_bits(bits integer) RETURNS bigint LANGUAGE sql
RETURN CASE WHEN random() < 0.1 THEN 2::numeric ^ bits - 1 ELSE floor(random() * 2::float8 ^ bits) END::bigint;
CREATE FUNCTION count_failures(l typed, tries integer) RETURNS integer LANGUAGE plpgsql AS $function$
DECLARE
    failures integer;
BEGIN
    EXECUTE format($$
        WITH part AS MATERIALIZED (
            SELECT random_bits(least($1.time_bits - ($1.bits = 64)::integer,
                    floor(log(2, 9e15 / $1.unit))::integer)) AS time,
                random_bits($1.node_bits) AS node, random_bits($1.sequence_bits) AS sequence, random() AS rest
            FROM generate_series(1, $2))
        SELECT count(*) FILTER (WHERE (
            p."timestamp" = begins AND p.node = part.node AND p.sequence = part.sequence
            AND sno_flake_timestamp(id, $1.name) = begins
            AND sno_flake_from_text%1$s(sno_flake_text(id, $1.name), $1.name) = id
            AND id BETWEEN low AND high
            AND least.node = 0 AND least.sequence = 0 AND least."timestamp" = begins
            AND most.node = 2::numeric ^ $1.node_bits - 1 AND most.sequence = 2::numeric ^ $1.sequence_bits - 1 AND most."timestamp" = begins
            AND (before_id IS NULL OR before_time = time OR before_id < id)) IS NOT TRUE)
        FROM (
            SELECT *, lag(id) OVER w AS before_id, lag(time) OVER w AS before_time
            FROM part,
                LATERAL (SELECT $1.epoch + (time * $1.unit / 3600000) * interval '1 hour' + (time * $1.unit %% 3600000) * interval '1 ms') AS a (begins),
                LATERAL (SELECT begins + floor(rest * $1.unit * 1000) * interval '1 us') AS b (at),
                LATERAL sno_flake_make%1$s(at, node, sequence, $1.name) AS id
            WINDOW w AS (ORDER BY time)) AS part,
            LATERAL sno_flake_parts(id, $1.name) AS p,
            LATERAL sno_flake_min%1$s(at, $1.name) AS low,
            LATERAL sno_flake_max%1$s(at, $1.name) AS high,
            LATERAL sno_flake_parts(low, $1.name) AS least,
            LATERAL sno_flake_parts(high, $1.name) AS most$$, l.suffix)
    INTO failures USING l, tries;
    RETURN failures;
END
$function$;
SELECT setseed(0.5);
SELECT name, count_failures(typed, 1000) FROM typed WHERE unit > 0 ORDER BY name;
-- A uuid without digits of its own is that of the type.
SELECT sno_flake_text(id, 'uuid') AS text, sno_flake_from_text_uuid(id::text, 'uuid') = id AS same
FROM sno_flake_make_uuid('2026-01-01Z', 1, 2, 'uuid') AS id;
SELECT error_of(format('SELECT sno_flake_from_text_uuid(%L, ''uuid'')', t)) FROM (VALUES (''), ('0'), ('0000-')) AS v (t);

\c :db
SET client_min_messages = warning;
DROP DATABASE regress_sno_flakes;
DROP ROLE regress_sno_owner, regress_sno_nobody;
