--
-- What an id holds, and the ids that bound a time
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

SELECT sno_timestamp(id), sno_tick_tock(id), sno_meta(id), sno_partition(id), sno_sequence(id)
FROM (VALUES ('2222222222222222'::sno), ('brpk4q72xwf2m63l'), ('xxxxxxxxxxxxxxxx')) AS v (id);
SELECT p.* FROM (VALUES ('2222222222222222'::sno), ('brpk4q72xwf2m63l'), ('xxxxxxxxxxxxxxxx')) AS v (id),
    sno_parts(id) AS p;
SELECT (sno_parts('brpk4q72xwf2m63l')).meta;
SELECT sno_timestamp(NULL), sno_parts(NULL), sno_min(NULL), sno_max(NULL);

-- Each field apart from its neighbours
SELECT bytes, p.*
FROM (VALUES
    ('\x00000000010000000000'::bytea),
    ('\x00000000020000000000'),
    ('\x80000000000000000000'),
    ('\xfffffffffe0000000000'),
    ('\x0000000000ff00000000'),
    ('\x000000000000ff000000'),
    ('\x00000000000000ff0000'),
    ('\x0000000000000000ff00'),
    ('\x000000000000000000ff')) AS v (bytes), sno_parts(bytes::sno) AS p;

-- The instant does not depend on the session's time zone, only how it is shown.
SET TimeZone = 'Asia/Kathmandu';
SELECT sno_timestamp('brpk4q72xwf2m63l'), sno_min('2026-01-01 00:00:00+00');
SET TimeZone = 'UTC';

-- The bounds of the unit that holds a time
SELECT t, sno_min(t), sno_max(t), sno_timestamp(sno_min(t)) AS unit
FROM unnest('{
    2010-01-01 00:00:00,
    2010-01-01 00:00:00.003999,
    2010-01-01 00:00:00.004,
    2026-02-28 23:59:59.999999,
    2079-09-07 15:47:35.547999,
    2079-09-07 15:47:35.548,
    2079-09-07 15:47:35.551999}'::timestamptz[]) AS t;

-- Outside the epoch, both are the nearest end.
SELECT t, sno_min(t), sno_max(t)
FROM unnest('{
    -infinity,
    4714-11-24 00:00:00 BC,
    2009-12-31 23:59:59.999999,
    2079-09-07 15:47:35.552,
    294276-12-31 23:59:59.999999,
    infinity}'::timestamptz[]) AS t;
