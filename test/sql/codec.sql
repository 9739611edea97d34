--
-- All codecs that this machine supports do the same as the portable one
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;

-- The best is in use unless another is chosen.
SET sno.codec = 'auto';
SELECT sno_codec() <> 'auto' AS named;
SELECT boot_val, enumvals[1] AS first, enumvals[array_length(enumvals, 1)] AS last,
       enumvals[2] = sno_codec() AS best, context
FROM pg_settings WHERE name = 'sno.codec';

SET sno.codec = 'portable';
SELECT sno_codec();
BEGIN;
SET LOCAL sno.codec = 'auto';
COMMIT;
SELECT sno_codec();

-- For an unknown codec, the error names those that can be chosen.
\set VERBOSITY terse
SET sno.codec = 'abacus';
SET sno.codec = '';
\set VERBOSITY default
DO $$
DECLARE
    message text;
    hint text;
    expected text;
BEGIN
    SELECT format('Available values: %s.', array_to_string(enumvals, ', ')) INTO expected
    FROM pg_settings WHERE name = 'sno.codec';
    SET sno.codec = 'abacus';
EXCEPTION WHEN invalid_parameter_value THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    RAISE WARNING '%', message;
    IF hint IS DISTINCT FROM expected THEN
        RAISE 'hint is "%", not "%"', hint, expected;
    END IF;
END $$;
SELECT sno_codec();

-- Ids: none, all and single bits, and hashed numbers, with what portable
-- makes of them
CREATE TEMP TABLE good AS
SELECT id, id::text AS text, id::uuid AS uuid
FROM (
    SELECT substring(sha256(n::text::bytea) FOR 10)::sno FROM generate_series(1, 20000) n
    UNION ALL
    SELECT set_bit('\x00000000000000000000'::bytea, n, 1)::sno FROM generate_series(0, 79) n
    UNION ALL
    SELECT set_bit('\xffffffffffffffffffff'::bytea, n, 0)::sno FROM generate_series(0, 79) n
    UNION ALL
    VALUES ('\x00000000000000000000'::bytea::sno), ('\xffffffffffffffffffff'::bytea::sno)) AS s (id);

-- Every byte at every place of a text, and two at once: as uuids, because text
-- can't hold all of them
CREATE FUNCTION pg_temp.verdict(uuid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
BEGIN
    RETURN $1::sno;
EXCEPTION WHEN invalid_text_representation THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN detail;
END $$;

CREATE TEMP TABLE any_text AS
SELECT uuid, pg_temp.verdict(uuid)
FROM (
    SELECT encode(set_byte('brpk4q72xwf2m63l', place, value), 'hex')::uuid
    FROM generate_series(0, 15) place, generate_series(0, 255) value
    UNION ALL
    SELECT encode(set_byte(set_byte('brpk4q72xwf2m63l', place, 255), other, 0), 'hex')::uuid
    FROM generate_series(0, 15) place, generate_series(0, 15) other) AS s (uuid);

SELECT count(*), count(*) FILTER (WHERE verdict LIKE 'Byte % is 0x__, not one of 2-9 and a-x.') AS refused
FROM any_text;

-- What follows names no codec, because machines differ.
DO $$
DECLARE
    codec text;
    wrong bigint;
BEGIN
    FOR codec IN SELECT unnest(enumvals) FROM pg_settings WHERE name = 'sno.codec' LOOP
        PERFORM set_config('sno.codec', codec, false);
        IF codec NOT IN ('auto', sno_codec()) THEN
            RAISE 'codec is %, not %', sno_codec(), codec;
        END IF;

        SELECT count(*) INTO wrong FROM good
        WHERE id::text <> text OR text::sno <> id OR id::uuid <> uuid OR uuid::sno <> id;
        IF wrong > 0 THEN
            RAISE '%: % ids converted wrongly', codec, wrong;
        END IF;

        SELECT count(*) INTO wrong FROM any_text
        WHERE verdict IS DISTINCT FROM pg_temp.verdict(uuid);
        IF wrong > 0 THEN
            RAISE '%: % texts judged wrongly', codec, wrong;
        END IF;
    END LOOP;
END $$;
SHOW sno.codec;

-- Parallel workers use the codec of their leader.
SELECT set_config(name, CASE vartype WHEN 'bool' THEN 'on' ELSE 'regress' END, false) IS NOT NULL AS parallel
FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SET sno.codec = 'portable';
SELECT sno_codec();
