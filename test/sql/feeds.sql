--
-- Readers of feeds: the results and effects of each function of sno_feeds
--
-- These tests have a database of their own, where no other session makes ids.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS regress_sno_feeds;
SELECT current_database() AS db \gset
CREATE DATABASE regress_sno_feeds;
\c regress_sno_feeds
\set SHOW_CONTEXT never
\t
\a
SET TimeZone = 'UTC';
SET client_min_messages = warning;
CREATE EXTENSION sno_flakes CASCADE;
RESET client_min_messages;
CREATE EXTENSION sno_feeds;

-- Wait until the watermark is above all rows of a feed.
CREATE FUNCTION settle(feed regclass, key text DEFAULT 'id', watermark text DEFAULT 'sno_watermark()') RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    above boolean;
BEGIN
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE %s >= (SELECT %s))', feed, key, watermark) INTO above;
        EXIT WHEN NOT above;
        PERFORM pg_sleep(0.001);
    END LOOP;
END$$;
-- The fence of the last lease
CREATE FUNCTION fence(feed regclass, reader text, part integer DEFAULT 0) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    fence bigint;
BEGIN
    EXECUTE format('SELECT fence FROM %s_readers WHERE (reader, part) = ($1, $2)', feed) INTO fence USING reader, part;
    RETURN fence;
END$$;
-- A number of this part
CREATE FUNCTION number_in(part integer, parts integer) RETURNS integer LANGUAGE sql AS
    'SELECT min(n) FROM generate_series(1, 99) AS n WHERE sno_feed_part(n, parts) = part';
-- Without times, ids and processes
CREATE VIEW status AS
    SELECT feed, reader, part, state, lag > '0' AS behind, lag_rows > 0 AS rows, busy_until > now() AS busy,
        holder = current_user || ' ' || pg_backend_pid() AS held, tries, error, set_aside, blocker, problem
    FROM sno_feeds();

--
-- sno_feed_next()
--
CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), customer integer, n integer UNIQUE);
SELECT sno_feed_create('outbox');
SELECT sno_feed_create_reader('outbox', 'mail', max_tries => 2);
SELECT n FROM sno_feed_next(NULL::outbox, 'mail');
INSERT INTO outbox (customer, n) SELECT number_in(n % 3, 3), n FROM generate_series(1, 9) AS n;
SELECT settle('outbox');
SELECT * FROM status;
-- A rollback gives the rows again.  The commit acknowledges those that the query drops.
BEGIN;
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'mail', 3);
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'mail', 1);
ROLLBACK;
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'mail', 4) WHERE n < 3;
BEGIN;
SAVEPOINT a;
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'mail', 1);
ROLLBACK TO a;
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'mail', 2);
COMMIT;
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'mail', 2147483647);
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'mail');
SELECT * FROM status;
-- An UPDATE feeds a row again only if it sets a new id.
UPDATE outbox SET customer = 7 WHERE n = 1;
UPDATE outbox SET id = sno_generate() WHERE n = 2;
SELECT settle('outbox');
SELECT n FROM sno_feed_next(NULL::outbox, 'mail');
-- A transaction that has generated ids holds its own rows back.
BEGIN;
INSERT INTO outbox (n) VALUES (10);
SELECT n FROM sno_feed_next(NULL::outbox, 'mail');
COMMIT;
SELECT settle('outbox');
DECLARE c CURSOR WITH HOLD FOR SELECT n FROM sno_feed_next(NULL::outbox, 'mail');
FETCH ALL FROM c;
CLOSE c;

--
-- sno_feed_take(), sno_feed_done(), sno_feed_extend(), sno_feed_fail()
--
INSERT INTO outbox (customer, n) SELECT number_in(n % 3, 3), n FROM generate_series(11, 18) AS n;
SELECT settle('outbox');
SELECT part, fence = fence('outbox', 'mail') AS fence, deleted, (item).n, id = (item).id::text AS id
FROM sno_feed_take(NULL::outbox, 'mail', 3, lease => '1 hour');
SELECT * FROM status;
SELECT n FROM sno_feed_next(NULL::outbox, 'mail');
SELECT (item).n FROM sno_feed_take(NULL::outbox, 'mail');
SELECT busy_until AS until FROM sno_feeds() \gset
SELECT sno_feed_extend('outbox', 'mail', 0, fence('outbox', 'mail'), '3 hours');
SELECT busy_until > timestamptz :'until' + interval '1 hour' FROM sno_feeds();
SELECT sno_feed_done('outbox', 'mail', 0, fence('outbox', 'mail'));
-- The row that failed comes alone, and then the next ones.
SELECT (item).n FROM sno_feed_take(NULL::outbox, 'mail', 4);
SELECT sno_feed_fail('outbox', 'mail', 0, fence('outbox', 'mail'), (SELECT id::text FROM outbox WHERE n = 16), 'box full', '1 hour');
SELECT * FROM status;
SELECT (item).n FROM sno_feed_take(NULL::outbox, 'mail');
SELECT sno_feed_rewind('outbox', 'mail', (SELECT id::text FROM outbox WHERE n = 14));
SELECT (item).n FROM sno_feed_take(NULL::outbox, 'mail', 4);
SELECT sno_feed_fail('outbox', 'mail', 0, fence('outbox', 'mail'), (SELECT id::text FROM outbox WHERE n = 16), 'box full', '0');
SELECT (item).n FROM sno_feed_take(NULL::outbox, 'mail', 4);
SELECT sno_feed_fail('outbox', 'mail', 0, fence('outbox', 'mail'), error => 'still full', retry_after => '0');
SELECT part, id = (item).id::text AS id, tries, error, since > now() - interval '1 hour' AS since, again, (item).n
FROM sno_feed_aside(NULL::outbox, 'mail');
SELECT * FROM status;
-- No row is to blame: no try counts.
SELECT (item).n FROM sno_feed_take(NULL::outbox, 'mail', 4);
SELECT sno_feed_fail('outbox', 'mail', 0, fence('outbox', 'mail'), retry_after => '0');
-- A batch whose lease ended comes row by row.
SELECT (item).n FROM sno_feed_take(NULL::outbox, 'mail', 4, lease => '1 us');
SELECT (item).n FROM sno_feed_take(NULL::outbox, 'mail', 4, lease => '1 us');
SELECT * FROM status;
SELECT (item).n FROM sno_feed_take(NULL::outbox, 'mail', 4, lease => '1 us');
SELECT * FROM status;
SELECT (item).n FROM sno_feed_take(NULL::outbox, 'mail', 4);
SELECT sno_feed_done('outbox', 'mail', 0, fence('outbox', 'mail'));
SELECT error, (item).n FROM sno_feed_aside(NULL::outbox, 'mail');

--
-- sno_feed_retry()
--
-- The rows come one at a time, beside the part.
INSERT INTO outbox (customer, n) VALUES (0, 19);
SELECT settle('outbox');
SELECT sno_feed_retry('outbox', 'mail', (SELECT id::text FROM outbox WHERE n = 17)), sno_feed_retry('outbox', 'mail'),
    sno_feed_retry('outbox', 'mail', '2222222222222222');
SELECT again, (item).n FROM sno_feed_aside(NULL::outbox, 'mail');
BEGIN;
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'mail');
-- After the first marked row, the result of a look is new, so sno_feed_wait() returns at once.
SELECT query AS look FROM sno_feeds.look('outbox', 'mail') \gset
:look \gset former_
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'mail');
:look \gset
SELECT :former_case <> :case AS differs;
ROLLBACK;
SELECT part, (item).n FROM sno_feed_take(NULL::outbox, 'mail');
SELECT part, (item).n FROM sno_feed_take(NULL::outbox, 'mail');
SELECT sno_feed_fail('outbox', 'mail', -1, fence('outbox', 'mail', -1), error => 'never');
SELECT sno_feed_done('outbox', 'mail', 0, fence('outbox', 'mail'));
SELECT tries, error, again, (item).n FROM sno_feed_aside(NULL::outbox, 'mail');
-- The other row is marked, and comes when the delay is over.
UPDATE outbox_readers SET free_at = NULL WHERE part = -1;
SELECT part, (item).n FROM sno_feed_take(NULL::outbox, 'mail');
SELECT sno_feed_done('outbox', 'mail', -1, fence('outbox', 'mail', -1));
SELECT tries, error, again, (item).n FROM sno_feed_aside(NULL::outbox, 'mail');
-- A row that was deleted
DELETE FROM outbox WHERE n = 16;
SELECT tries, error, again, item IS NULL AS gone FROM sno_feed_aside(NULL::outbox, 'mail');
SELECT sno_feed_retry('outbox', 'mail');
SELECT part, (item).n FROM sno_feed_take(NULL::outbox, 'mail');
SELECT count(*) FROM sno_feed_aside(NULL::outbox, 'mail');

--
-- Pause and starts
--
SELECT sno_feed_rewind('outbox', 'mail', 'oldest');
SELECT sno_feed_pause('outbox', 'mail');
SELECT * FROM status;
SELECT n FROM sno_feed_next(NULL::outbox, 'mail');
SELECT (item).n FROM sno_feed_take(NULL::outbox, 'mail');
CALL sno_feed_wait('outbox', 'mail', '0');
SELECT sno_feed_pause('outbox', 'mail', false);
SELECT n FROM sno_feed_next(NULL::outbox, 'mail', 1);
SELECT sno_feed_rewind('outbox', 'mail', (SELECT sno_timestamp(id)::text FROM outbox WHERE n = 18));
SELECT count(*) > 0 AS "18", bool_or(n = 19) AS "19", bool_or(n = 10) AS "10" FROM sno_feed_next(NULL::outbox, 'mail');
SELECT sno_feed_rewind('outbox', 'mail', 'now');
SELECT n FROM sno_feed_next(NULL::outbox, 'mail');
SELECT sno_feed_create_reader('outbox', 'now', start => 'now'),
    sno_feed_create_reader('outbox', 'id', start => (SELECT id::text FROM outbox WHERE n = 18)),
    sno_feed_create_reader('outbox', 'time', start => '-infinity'),
    sno_feed_create_reader('outbox', 'past', start => '2020-01-01');
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'now');
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'id');
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'time');
SELECT count(*) FROM sno_feed_next(NULL::outbox, 'past');
SELECT sno_feed_drop_reader('outbox', reader) FROM unnest('{now, id, time, past}'::text[]) AS reader;
SELECT DISTINCT reader FROM outbox_readers ORDER BY reader;

--
-- Parts
--
UPDATE outbox SET customer = NULL WHERE n = 19;
CREATE INDEX by_customer ON outbox (sno_feed_part(customer, 3), id);
SELECT sno_feed_create_reader('outbox', 'search', parts => 3, part_by => 'customer');
BEGIN;
CREATE TEMP TABLE handled AS SELECT 1 AS call, * FROM sno_feed_next(NULL::outbox, 'search', 2);
INSERT INTO handled SELECT 2, * FROM sno_feed_next(NULL::outbox, 'search', 2);
INSERT INTO handled SELECT 3, * FROM sno_feed_next(NULL::outbox, 'search');
INSERT INTO handled SELECT 4, * FROM sno_feed_next(NULL::outbox, 'search');
INSERT INTO handled SELECT 5, * FROM sno_feed_next(NULL::outbox, 'search');
INSERT INTO handled SELECT 6, * FROM sno_feed_next(NULL::outbox, 'search');
COMMIT;
SELECT count(*), count(DISTINCT n) FROM handled;
SELECT call FROM handled GROUP BY call HAVING count(DISTINCT sno_feed_part(customer, 3)) > 1;
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'search');
-- Each part is leased for itself.
SELECT sno_feed_rewind('outbox', 'search', 'oldest');
CREATE TEMP TABLE taken AS SELECT * FROM sno_feed_take(NULL::outbox, 'search', 1, '1 hour');
INSERT INTO taken SELECT * FROM sno_feed_take(NULL::outbox, 'search', lease => '1 hour');
INSERT INTO taken SELECT * FROM sno_feed_take(NULL::outbox, 'search', lease => '1 hour');
SELECT count(DISTINCT part), min(part), max(part), bool_and(part = sno_feed_part((item).customer, 3)) FROM taken;
SELECT state, count(*) FROM status WHERE reader = 'search' GROUP BY state;
SELECT sno_feed_done('outbox', 'search', part, fence) FROM taken GROUP BY part, fence;
INSERT INTO taken SELECT * FROM sno_feed_take(NULL::outbox, 'search');
SELECT count(*) = (SELECT count(*) FROM outbox) AS "all", count(DISTINCT id) = count(*) AS once FROM taken;

--
-- sno_feed_remove()
--
SELECT sno_feed_drop_reader('outbox', 'search');
INSERT INTO outbox (n) SELECT generate_series(20, 29);
SELECT settle('outbox');
SELECT (item).n FROM sno_feed_take(NULL::outbox, 'mail', 3);
SELECT sno_feed_fail('outbox', 'mail', 0, fence('outbox', 'mail'), (SELECT id::text FROM outbox WHERE n = 21), 'bad', '0');
SELECT sno_feed_fail('outbox', 'mail', part, fence, error => 'bad', retry_after => '0') FROM sno_feed_take(NULL::outbox, 'mail');
SELECT n FROM sno_feed_next(NULL::outbox, 'mail', 1);
CALL sno_feed_remove('outbox', keep => '1 day');
SELECT count(*) FROM outbox;
CALL sno_feed_remove('outbox', keep => '0', batch => 4);
SELECT array_agg(n ORDER BY n) FROM outbox;
SELECT sno_feed_create_reader('outbox', 'late');
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'late');
SELECT sno_feed_drop_reader('outbox', 'late'), sno_feed_drop_reader('outbox', 'mail');
SELECT count(*) FROM outbox_aside;
CALL sno_feed_remove('outbox', keep => '0');
SELECT count(*) FROM outbox;

--
-- Rows with the same id are handled together
--
CREATE TABLE entry (id sno NOT NULL, n integer);
CREATE INDEX ON entry (id);
SELECT sno_feed_create('entry');
SELECT sno_feed_create_reader('entry', 'next'), sno_feed_create_reader('entry', 'take', max_tries => 2);
INSERT INTO entry SELECT id, n FROM (SELECT i, sno_generate() AS id FROM generate_series(0, 2) AS i OFFSET 0) AS s, generate_series(3 * i + 1, 3 * i + 3) AS n;
SELECT settle('entry');
SELECT count(*), max(n) FROM sno_feed_next(NULL::entry, 'next', 1);
SELECT count(*), max(n) FROM sno_feed_next(NULL::entry, 'next', 4);
SELECT count(*), min((item).n), max((item).n) FROM sno_feed_take(NULL::entry, 'take', 7);
SELECT sno_feed_fail('entry', 'take', 0, fence('entry', 'take'), (SELECT id::text FROM entry WHERE n = 4), 'bad', '0');
SELECT count(*), min((item).n), max((item).n) FROM sno_feed_take(NULL::entry, 'take', 7);
SELECT sno_feed_fail('entry', 'take', 0, fence('entry', 'take'), error => 'bad', retry_after => '0');
SELECT tries, count(*), min((item).n), max((item).n) FROM sno_feed_aside(NULL::entry, 'take') GROUP BY tries;
SELECT count(*), min((item).n), max((item).n) FROM sno_feed_take(NULL::entry, 'take');
SELECT sno_feed_done('entry', 'take', 0, fence('entry', 'take'));
SELECT sno_feed_retry('entry', 'take');
SELECT part, count(*), min((item).n), max((item).n) FROM sno_feed_take(NULL::entry, 'take') GROUP BY part;
SELECT sno_feed_done('entry', 'take', -1, fence('entry', 'take', -1));
SELECT count(*) FROM entry_aside;
SELECT sno_feed_drop('entry');

--
-- Names, domains, dropped and generated columns
--
CREATE SCHEMA "S p";
CREATE DOMAIN "S p"."Key %s" AS sno NOT NULL;
CREATE DOMAIN "S p"."Key" AS "S p"."Key %s";
CREATE TABLE "S p"."O'%s T $$" (
    gone integer, t text COLLATE "C", r integer, s integer, n integer GENERATED ALWAYS AS (r + 1) STORED, p integer, a integer,
    "position" "S p"."Key" DEFAULT sno_generate() PRIMARY KEY, reader text, feed text, item text, "%I" xml, last integer);
ALTER TABLE "S p"."O'%s T $$" DROP COLUMN gone, DROP COLUMN last;
SELECT '"S p"."O''%s T $$"' AS odd \gset
SELECT sno_feed_create(:'odd');
INSERT INTO "S p"."O'%s T $$" (t, r, reader)
SELECT (SELECT min(v::text) FROM generate_series(1, 99) AS v WHERE sno_feed_part(v::text, 2) = n % 2), n, 'x' FROM generate_series(1, 6) AS n;
CREATE INDEX ON "S p"."O'%s T $$" (sno_feed_part(t, 2), "position");
SELECT sno_feed_create_reader(:'odd', $$R'd "%s"$$, 2, 't', max_tries => 1);
SELECT settle(:'odd', '"position"');
SELECT count(*), sum(n), min(reader) FROM sno_feed_next(NULL::"S p"."O'%s T $$", $$R'd "%s"$$);
SELECT sno_feed_fail(:'odd', $$R'd "%s"$$, part, fence, id, '%s', '0')
FROM sno_feed_take(NULL::"S p"."O'%s T $$", $$R'd "%s"$$) LIMIT 1;
SELECT error, (item).reader, (item).n = (item).r + 1 FROM sno_feed_aside(NULL::"S p"."O'%s T $$", $$R'd "%s"$$);
SELECT sno_feed_retry(:'odd', $$R'd "%s"$$);
SELECT sno_feed_done(:'odd', $$R'd "%s"$$, part, fence) FROM sno_feed_take(NULL::"S p"."O'%s T $$", $$R'd "%s"$$) WHERE part = -1;
CALL sno_feed_wait(:'odd', $$R'd "%s"$$, '0');
CALL sno_feed_remove(:'odd', '0');
SELECT feed, reader, part, state, set_aside, problem FROM status WHERE feed = :'odd'::regclass;
SELECT sno_feed_drop(:'odd');
SELECT relname FROM pg_class WHERE relnamespace = '"S p"'::regnamespace AND relkind = 'r';
SELECT tgname FROM pg_trigger WHERE tgrelid = :'odd'::regclass;

--
-- A partitioned feed
--
-- The partitions have ids of the same times.
CREATE TABLE journal (n integer, id sno DEFAULT sno_generate(), gone integer, PRIMARY KEY (id, n)) PARTITION BY RANGE (n);
ALTER TABLE journal DROP COLUMN gone;
CREATE TABLE journal_0 (id sno NOT NULL, gone integer, n integer NOT NULL);
ALTER TABLE journal_0 DROP COLUMN gone;
ALTER TABLE journal ATTACH PARTITION journal_0 FOR VALUES FROM (0) TO (5);
CREATE TABLE journal_1 PARTITION OF journal FOR VALUES FROM (5) TO (10);
CREATE INDEX ON journal (sno_feed_part(n, 2), id);
SELECT sno_feed_create('journal');
SELECT sno_feed_create_reader('journal', 'one'), sno_feed_create_reader('journal', 'two', 2, 'n');
INSERT INTO journal VALUES (1), (9), (2), (8), (3), (7), (4), (6), (5);
SELECT settle('journal');
SELECT array_agg(n) FROM sno_feed_next(NULL::journal, 'one');
SELECT sum((item).n), count(DISTINCT part) FROM (
    SELECT * FROM sno_feed_take(NULL::journal, 'two', lease => '1 hour')
    UNION ALL SELECT * FROM sno_feed_take(NULL::journal, 'two', lease => '1 hour')) AS s;
SELECT feed, reader, part, state FROM status;
CALL sno_feed_remove('journal', '0');
SELECT count(*) FROM journal;
SELECT sno_feed_drop('journal');

--
-- Ids of sno_flakes
--
SELECT name, sno_flake_create_generator(name, layout) >= 0 FROM (VALUES ('count''er', 'counter'), ('tweet', 'snowflake'), ('page', 'boundary'), ('object', 'objectid'))
    AS s (name, layout);
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT sno_flake_generate('count''er'), n integer);
CREATE TABLE tweet (n integer, id bigint NOT NULL);
CREATE INDEX ON tweet (id);
CREATE TABLE page (id uuid PRIMARY KEY DEFAULT sno_flake_generate_uuid('page'), n integer);
CREATE TABLE object (id bytea PRIMARY KEY DEFAULT sno_flake_generate_bytea('object'), n integer);
SELECT sno_feed_create('event'), sno_feed_create('tweet', 'id', 'tweet'), sno_feed_create('page'), sno_feed_create('object');
SELECT sno_feed_create_reader(feed, 'r') FROM unnest('{event, tweet, page, object}'::regclass[]) AS feed;
INSERT INTO event (n) SELECT generate_series(1, 4);
INSERT INTO tweet (n, id) SELECT n, sno_flake_generate('tweet') FROM generate_series(1, 4) AS n;
INSERT INTO page (n) SELECT generate_series(1, 4);
INSERT INTO object (n) SELECT generate_series(1, 4);
SELECT settle('event', watermark => 'sno_flake_watermark(''count''''er'')'), settle('tweet', watermark => 'sno_flake_watermark(''tweet'')'),
    settle('page', watermark => 'sno_flake_watermark_uuid(''page'')'), settle('object', watermark => 'sno_flake_watermark_bytea(''object'')');
SELECT array_agg(n) FROM sno_feed_next(NULL::event, 'r', 2);
SELECT array_agg(n) FROM sno_feed_next(NULL::tweet, 'r', 2);
SELECT array_agg(n) FROM sno_feed_next(NULL::page, 'r', 2);
SELECT array_agg(n) FROM sno_feed_next(NULL::object, 'r', 2);
SELECT (item).n, sno_feed_done('event', 'r', part, fence) FROM sno_feed_take(NULL::event, 'r', 1);
SELECT (item).n, sno_feed_done('tweet', 'r', part, fence) FROM sno_feed_take(NULL::tweet, 'r', 1);
SELECT (item).n, sno_feed_done('page', 'r', part, fence) FROM sno_feed_take(NULL::page, 'r', 1);
SELECT (item).n, sno_feed_fail('object', 'r', part, fence, id, 'bad', '1 hour') FROM sno_feed_take(NULL::object, 'r', 1);
SELECT feed, state, behind, rows, error, problem FROM status WHERE reader = 'r';
SELECT sno_feed_create_reader('page', 'id', start => (SELECT id::text FROM page WHERE n = 3)), sno_feed_create_reader('object', 'now', start => 'now');
SELECT array_agg(n) FROM sno_feed_next(NULL::page, 'id');
SELECT array_agg(n) FROM sno_feed_next(NULL::object, 'now');
CALL sno_feed_remove('event', '0');
CALL sno_feed_remove('page', '0');
SELECT (SELECT array_agg(n) FROM event), (SELECT array_agg(n) FROM page);

--
-- A table that is replaced by a partitioned one, and goes on
--
CREATE TABLE log (id sno PRIMARY KEY DEFAULT sno_generate(), n integer);
SELECT sno_feed_create('log');
SELECT sno_feed_create_reader('log', 'r');
INSERT INTO log (n) VALUES (1), (2);
SELECT settle('log');
SELECT n FROM sno_feed_next(NULL::log, 'r', 1);
BEGIN;
ALTER TABLE log RENAME TO log_old;
CREATE TABLE log (LIKE log_old INCLUDING DEFAULTS, PRIMARY KEY (id)) PARTITION BY RANGE (id);
DROP TRIGGER zz_sno_feed ON log_old;
ALTER TABLE log ATTACH PARTITION log_old DEFAULT;
SELECT sno_feed_create('log');
COMMIT;
INSERT INTO log (n) VALUES (3);
SELECT settle('log');
SELECT array_agg(n) FROM sno_feed_next(NULL::log, 'r');
SELECT sno_feed_drop('log');

--
-- Objects of the same names in the search path
--
CREATE SCHEMA hostile;
DO $do$
DECLARE
    planted  text;
    operator text;
BEGIN
    FOREACH planted IN ARRAY '{"hashtextextended(text, bigint)", "hashtextextended(text, integer)", "mod(bigint, bigint)", "sno_watermark()", "sno_generate()",
        "sno_feed_part(integer, integer)", clock_timestamp(), "concat_ws(text, text, integer, sno, bigint)", bool_or(boolean), quote_literal(text)}'::text[]
    LOOP
        EXECUTE format('CREATE FUNCTION hostile.%s RETURNS text LANGUAGE plpgsql AS ''BEGIN RAISE ''''planted function''''; END''', planted);
    END LOOP;
    FOREACH planted IN ARRAY '{sno, bigint, integer, text, timestamptz, interval, name}'::text[] LOOP
        EXECUTE format('CREATE FUNCTION hostile.compare(%s, %1$s) RETURNS boolean LANGUAGE plpgsql AS ''BEGIN RAISE ''''planted operator''''; END''', planted);
        FOREACH operator IN ARRAY '{=, <>, <, <=, >, >=}'::text[] LOOP
            EXECUTE format('CREATE OPERATOR hostile.%s (LEFTARG = %s, RIGHTARG = %2$s, FUNCTION = hostile.compare)', operator, planted);
        END LOOP;
    END LOOP;
END$do$;
CREATE TYPE hostile.sno AS ENUM ('planted');
CREATE TYPE hostile.regclass AS ENUM ('planted');
CREATE TABLE hostile.box_readers (planted integer);
CREATE TABLE box (id sno PRIMARY KEY DEFAULT sno_generate(), n integer);
CREATE TABLE person (id integer PRIMARY KEY, n integer);
CREATE INDEX ON box (sno_feed_part(n, 2), id);
INSERT INTO person VALUES (1, 1), (2, 2);
SELECT set_config('search_path', 'hostile, public, pg_catalog', false);
SELECT pg_catalog.sno_feed_create('box');
SELECT pg_catalog.sno_feed_create_reader('box', 'r'), pg_catalog.sno_feed_create_reader('box', 'parts', 2, 'n');
CALL pg_catalog.sno_feed_create_changes('person', batch => 1);
SELECT pg_catalog.sno_feed_create_reader('person', 'r', start => '2020-01-01');
INSERT INTO box (n) VALUES (1), (2), (3);
UPDATE person SET n = 3;
CALL pg_catalog.sno_feed_wait('box', 'r');
CALL pg_catalog.sno_feed_wait('box', 'parts');
CALL pg_catalog.sno_feed_wait('person', 'r');
SET search_path = public;
SELECT settle('box'), settle('person_changes', 'changed');
SELECT set_config('search_path', 'hostile, public, pg_catalog', false);
SELECT n FROM pg_catalog.sno_feed_next(NULL::box, 'r', 1);
SELECT (item).n FROM pg_catalog.sno_feed_take(NULL::box, 'r', 1);
SELECT pg_catalog.sno_feed_extend('box', 'r', 0, (SELECT fence FROM public.box_readers WHERE reader OPERATOR(pg_catalog.=) 'r' AND part OPERATOR(pg_catalog.=) 0));
SELECT pg_catalog.sno_feed_fail('box', 'r', 0, (SELECT fence FROM public.box_readers WHERE reader OPERATOR(pg_catalog.=) 'r' AND part OPERATOR(pg_catalog.=) 0), error => 'bad', retry_after => '0');
SELECT pg_catalog.count(n) OPERATOR(pg_catalog.>) 0::pg_catalog.int8 FROM pg_catalog.sno_feed_next(NULL::box, 'parts');
SELECT deleted, item FROM pg_catalog.sno_feed_take(NULL::person, 'r');
SELECT pg_catalog.sno_feed_done('person', 'r', 0, (SELECT fence FROM person_changes_readers WHERE reader OPERATOR(pg_catalog.=) 'r' AND part OPERATOR(pg_catalog.=) 0));
SELECT pg_catalog.count(*) FROM pg_catalog.sno_feed_aside(NULL::box, 'r');
SELECT pg_catalog.sno_feed_retry('box', 'r');
SELECT pg_catalog.sno_feed_rewind('box', 'r', 'oldest');
SELECT pg_catalog.sno_feed_pause('box', 'r', false);
SELECT reader, part, state, problem FROM pg_catalog.sno_feeds() WHERE reader OPERATOR(pg_catalog.=) 'r' AND feed OPERATOR(pg_catalog.=) 'box'::pg_catalog.regclass;
CALL pg_catalog.sno_feed_remove('box', '0');
SELECT pg_catalog.sno_feed_drop_reader('box', 'r');
SELECT pg_catalog.sno_feed_drop('box'), pg_catalog.sno_feed_drop('person');
RESET search_path;

\c :db
DROP DATABASE regress_sno_feeds;
