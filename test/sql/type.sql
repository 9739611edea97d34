--
-- The type: text and binary, in and out, and what is refused
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

SELECT typlen, typbyval, typalign, typstorage, typcategory, typcollation
FROM pg_type WHERE oid = 'sno'::regtype;

-- Good text
SELECT sno '2222222222222222', sno 'xxxxxxxxxxxxxxxx', 'brpk4q72xwf2m63l'::sno;
SELECT '23456789abcdefgh'::text::sno, 'ijklmnopqrstuvwx'::sno::text;
SELECT pg_column_size('brpk4q72xwf2m63l'::sno), pg_typeof('brpk4q72xwf2m63l'::sno);
SELECT '{brpk4q72xwf2m63l,NULL,2222222222222222}'::sno[];
SELECT ROW('brpk4q72xwf2m63l'::sno, 1);
SELECT sno_catalog.sno_send('23456789abcdefgh'), sno_catalog.sno_send('ijklmnopqrstuvwx');

-- Bad text
CREATE FUNCTION pg_temp.attempt(input text, OUT code text, OUT message text, OUT detail text)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM input::sno;
    message := 'taken';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE,
        message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
END $$;

SELECT a.*
FROM (VALUES
    (1, ''),
    (2, ' '),
    (3, '2'),
    (4, 'brpk4q72xwf2m63'),
    (5, 'brpk4q72xwf2m63ll'),
    (6, 'brpk4q72xwf2m63l '),
    (7, ' brpk4q72xwf2m63l'),
    (8, ' brpk4q72xwf2m63'),
    (9, 'brpk4q72 wf2m63l'),
    (10, 'brpk4q72xwf2m63' || chr(9)),
    (11, 'BRPK4Q72XWF2M63L'),
    (12, 'brpk4q72xwf2m63L'),
    (13, '1rpk4q72xwf2m63l'),
    (14, 'b0pk4q72xwf2m63l'),
    (15, 'brpk4q7:xwf2m63l'),
    (16, 'brpk4q72`wf2m63l'),
    (17, 'brpk4q72xyf2m63l'),
    (18, 'brpk4q72xwf2m63z'),
    (19, 'yyyyyyyyyyyyyyyy'),
    (20, 'brpk-4q72-xwf2-m'),
    (21, 'brpk%s%d%n2m63l2'),
    (22, 'brpk4q72''xf2m63l'),
    (23, 'brpk4q72"xf2m63l'),
    (24, '\x0000000000000000'),
    (25, '\000brpk4q72xwf2m'),
    (26, 'brpk4q72\0wf2m63'),
    (27, 'NULL'),
    (28, repeat('2', 100))) AS v (n, input),
    pg_temp.attempt(input) AS a
ORDER BY n;

-- Advice for texts of other kinds
CREATE FUNCTION pg_temp.advice(input text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    hint text;
BEGIN
    RETURN input::sno;
EXCEPTION WHEN invalid_text_representation THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    RETURN hint;
END $$;
CREATE TEMP TABLE mistake (n int GENERATED ALWAYS AS IDENTITY, kind text, input text);
\getenv abs_srcdir PG_ABS_SRCDIR
\set load '\\copy mistake (kind, input) FROM ' :abs_srcdir '/vectors/mistakes.tsv'
:load
SELECT kind, count(*), pg_temp.advice(input) FROM mistake GROUP BY kind, 3 ORDER BY min(n);
-- More texts of times, and what only looks like one at first
SELECT input, pg_temp.advice(input)
FROM (VALUES ('2026/11/20'), ('Today'), ('infinity'), ('2026-'), ('20261-01-01'), ('2026-11-20 c2c7666')) AS v (input);

-- As the parser shows it
SELECT sno 'brpk4q72xwf2m63!';
SELECT '{brpk4q72xwf2m63l,x}'::sno[];

-- There and back in binary
CREATE TEMP TABLE bytes (n int, b bytea);
INSERT INTO bytes VALUES
    (1, '\x00000000000000000000'), (2, '\xffffffffffffffffffff'), (3, '\x00ff10ef20df30cf40bf');
CREATE TEMP TABLE ids (n int, id sno);
\getenv abs_builddir PG_ABS_BUILDDIR
\set file :abs_builddir '/results/type.bin'
\set out '\\copy bytes TO ' :'file' ' (FORMAT binary)'
\set in '\\copy ids FROM ' :'file' ' (FORMAT binary)'
:out
:in
SELECT n, id, id::bytea = b AS same FROM ids JOIN bytes USING (n) ORDER BY n;

-- The other way round, which tests binary output
\set out '\\copy ids TO ' :'file' ' (FORMAT binary)'
\set in '\\copy bytes FROM ' :'file' ' (FORMAT binary)'
TRUNCATE bytes;
:out
:in
SELECT * FROM bytes ORDER BY n;

-- Binary of the wrong length
\set out '\\copy bytes TO ' :'file' ' (FORMAT binary)'
\set in '\\copy ids FROM ' :'file' ' (FORMAT binary)'
TRUNCATE bytes; INSERT INTO bytes VALUES (1, '');
:out
:in
TRUNCATE bytes; INSERT INTO bytes VALUES (1, '\x000000000000000000');
:out
:in
TRUNCATE bytes; INSERT INTO bytes VALUES (1, '\x0000000000000000000000');
:out
:in
TRUNCATE bytes; INSERT INTO bytes VALUES (1, 'brpk4q72xwf2m63l');
:out
:in
\set VERBOSITY sqlstate
:in
\set VERBOSITY default

-- Rows on disk keep ten bytes, unaligned.
CREATE TEMP TABLE stored (a bool, id sno, b bool);
INSERT INTO stored VALUES (true, 'brpk4q72xwf2m63l', false);
SELECT a, id, b, pg_column_size(stored.*) - pg_column_size(ROW(a, b)) AS bytes FROM stored;
