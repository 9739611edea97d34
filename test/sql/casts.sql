--
-- Casts, all of them explicit
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

SELECT id::uuid, id::uuid::sno = id AS back
FROM (VALUES ('2222222222222222'::sno), ('brpk4q72xwf2m63l'), ('xxxxxxxxxxxxxxxx')) AS v (id);
SELECT id::bytea, id::bytea::sno = id AS back
FROM (VALUES ('2222222222222222'::sno), ('brpk4q72xwf2m63l'), ('xxxxxxxxxxxxxxxx')) AS v (id);
SELECT 'brpk4q72xwf2m63l'::sno::timestamptz, CAST('brpk4q72xwf2m63l'::sno AS timestamptz) = sno_timestamp('brpk4q72xwf2m63l') AS same;

-- The uuid is the text, byte by byte, and never looks like one of RFC 9562.
SELECT convert_from(uuid_send('brpk4q72xwf2m63l'::sno::uuid), 'SQL_ASCII');

-- A uuid that is no text of an id
SELECT '00000000-0000-0000-0000-000000000000'::uuid::sno;
\echo :LAST_ERROR_SQLSTATE
SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid::sno;
SELECT '32323232-3232-3232-3232-323232323231'::uuid::sno;
SELECT '78787878-7878-7878-7978-787878787878'::uuid::sno;
SELECT '0191a2b3-c4d5-7e6f-8091-a2b3c4d5e6f7'::uuid::sno;

SELECT sno_to_uuidv8('brpk4q72xwf2m63l')::sno;
SELECT sno_from_uuidv8(sno_to_uuid('brpk4q72xwf2m63l'));
-- Bytes that are too few or too many
SELECT ''::bytea::sno;
\echo :LAST_ERROR_SQLSTATE
SELECT '\x000000000000000000'::bytea::sno;
SELECT '\x0000000000000000000000'::bytea::sno;
SELECT 'brpk4q72xwf2m63l'::bytea::sno;

-- Long values are compressed or stored apart, and still measured.
CREATE TEMP TABLE big AS SELECT repeat('x', 100000)::bytea AS b;
SELECT b::sno FROM big;

-- Nothing is cast silently.
CREATE TEMP TABLE target (u uuid, b bytea, t timestamptz, s sno);
INSERT INTO target (u) SELECT 'brpk4q72xwf2m63l'::sno;
INSERT INTO target (b) SELECT 'brpk4q72xwf2m63l'::sno;
INSERT INTO target (t) SELECT 'brpk4q72xwf2m63l'::sno;
INSERT INTO target (s) SELECT 'brpk4q72xwf2m63l'::text;
INSERT INTO target (s) SELECT '32323232-3232-3232-3232-323232323232'::uuid;
SELECT 'brpk4q72xwf2m63l'::sno::integer;
SELECT 'brpk4q72xwf2m63l'::sno::timestamp;
