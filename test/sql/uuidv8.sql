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
