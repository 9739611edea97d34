--
-- Ids from fields, and changed copies
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

SELECT id, p.* FROM (VALUES
    (sno_make('2026-02-28 12:34:56.789', 1, 2)),
    (sno_make('2026-02-28 12:34:56.789', 1, 2, 3)),
    (sno_make('2026-02-28 12:34:56.789', 255, 65535, 65535, true)),
    (sno_make(at => '2026-02-28 12:34:56.789', meta => 1, partition => 2, tick_tock => true)),
    (sno_make('2010-01-01', 0, 0, 0, false)),
    (sno_make('2079-09-07 15:47:35.551999', 255, 65535, 65535, true))) AS v (id), sno_parts(id) AS p;
SELECT sno_make(NULL, 0, 0) IS NULL AND sno_make('2026-01-01', NULL, 0) IS NULL AND sno_make('2026-01-01', 0, 0, NULL) IS NULL AS strict;

-- A time that is not the start of a unit belongs to the unit it is in.
SELECT us, sno_timestamp(sno_make(timestamptz '2026-01-01' + us * interval '1 us', 0, 0)) FROM unnest('{-1,0,3999,4000}'::int[]) AS us;

-- There and back
SELECT count(*) FROM unnest('{2222222222222222,brpk4q72xwf2m63l,xxxxxxxxxxxxxxxx}'::sno[]) AS id
WHERE sno_make(sno_timestamp(id), sno_meta(id), sno_partition(id), sno_sequence(id), sno_tick_tock(id)) = id;

-- Out of range
CREATE FUNCTION pg_temp.attempt(expression text, OUT code text, OUT message text, OUT detail text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT (%s)::text', expression) INTO message;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
END $$;
SELECT expression, a.*
FROM unnest(ARRAY[
    $$sno_make('-infinity', 0, 0)$$,
    $$sno_make('infinity', 0, 0)$$,
    $$sno_make('2009-12-31 23:59:59.999999', 0, 0)$$,
    $$sno_make('2079-09-07 15:47:35.552', 0, 0)$$,
    $$sno_make('4714-11-24 BC', 0, 0)$$,
    $$sno_make('2026-01-01', -1, 0)$$,
    $$sno_make('2026-01-01', 256, 0)$$,
    $$sno_make('2026-01-01', 0, -1)$$,
    $$sno_make('2026-01-01', 0, 65536)$$,
    $$sno_make('2026-01-01', 0, 0, -1)$$,
    $$sno_make('2026-01-01', 0, 0, 65536)$$,
    $$sno_with_timestamp('2222222222222222', '2009-12-31 23:59:59.999999')$$,
    $$sno_with_timestamp('2222222222222222', 'infinity')$$,
    $$sno_with_meta('2222222222222222', -1)$$,
    $$sno_with_meta('2222222222222222', 256)$$,
    $$sno_with_partition('2222222222222222', 65536)$$,
    $$sno_with_sequence('2222222222222222', -2147483648)$$,
    $$sno_with_sequence('2222222222222222', 2147483647)$$,
    $$sno_min('2026-01-01', 256)$$,
    $$sno_max('infinity', -1)$$]) AS expression, pg_temp.attempt(expression) AS a;

-- One field changes, the others stay.
SELECT change, p.* FROM (VALUES
    ('timestamp', sno_with_timestamp('brpk4q72xwf2m63l', '2026-02-28 12:34:56.789')),
    ('timestamp', sno_with_timestamp('brpk4q72xwf2m63l', '2079-09-07 15:47:35.548')),
    ('meta', sno_with_meta('brpk4q72xwf2m63l', 7)),
    ('partition', sno_with_partition('brpk4q72xwf2m63l', 65535)),
    ('sequence', sno_with_sequence('brpk4q72xwf2m63l', 0)),
    ('none', 'brpk4q72xwf2m63l'),
    ('timestamp', sno_with_timestamp('xxxxxxxxxxxxxxxx', '2010-01-01'))) AS v (change, id), sno_parts(id) AS p;

-- The metabyte as the version of a row that keeps its id otherwise
CREATE TEMP TABLE version (id sno PRIMARY KEY, body text);
INSERT INTO version VALUES (sno_make('2026-01-01', 254, 7), 'first');
INSERT INTO version SELECT sno_with_meta(id, sno_meta(id) + 1), 'second' FROM version ORDER BY id DESC LIMIT 1;
SELECT id, sno_meta(id), body FROM version ORDER BY id;
INSERT INTO version SELECT sno_with_meta(id, sno_meta(id) + 1), 'third' FROM version ORDER BY id DESC LIMIT 1;
\echo :LAST_ERROR_SQLSTATE

-- The zero id
SELECT sno_zero(), sno_zero()::bytea, sno_is_zero(sno_zero()), sno_is_zero('2222222222222223'), sno_is_zero('xxxxxxxxxxxxxxxx'), sno_is_zero(NULL);
SELECT count(*) FROM generate_series(0, 79) AS bit WHERE sno_is_zero(set_bit(sno_zero()::bytea, bit, 1)::sno);

-- Bounds of a metabyte: the lowest id is on the first side, the highest on the
-- second, with ids of other metabytes between them
SELECT t, p.*, q.*
FROM unnest('{-infinity, 2009-12-31 23:59:59.999999, 2010-01-01, 2026-01-01 00:00:00.003, 2079-09-07 15:47:35.551999, 2079-09-07 15:47:35.552, infinity}'::timestamptz[]) AS t,
    sno_parts(sno_min(t, 7)) AS p, sno_parts(sno_max(t, 7)) AS q;
SELECT bool_and(sno_min(t, 0) = sno_min(t)) AS lowest, bool_and(sno_max(t, 255) = sno_max(t)) AS highest
FROM unnest('{2010-01-01, 2026-01-01 00:00:00.003, 2079-09-07 15:47:35.548}'::timestamptz[]) AS t;
SELECT tick_tock, meta, sno_make('2026-01-01', meta, 1, 0, tick_tock) BETWEEN sno_min('2026-01-01', 7) AND sno_max('2026-01-01', 7) AS between
FROM unnest('{6,7,8}'::int[]) AS meta, unnest('{false,true}'::bool[]) AS tick_tock ORDER BY tick_tock, meta;
