--
-- The errors of sno_feeds
--
-- These tests have a database of their own, where no other session makes ids.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS regress_sno_feed_errors;
DROP ROLE IF EXISTS regress_sno_owner, regress_sno_mail, regress_sno_stranger;
SELECT current_database() AS db \gset
CREATE ROLE regress_sno_owner;
CREATE ROLE regress_sno_mail;
CREATE ROLE regress_sno_stranger;
CREATE DATABASE regress_sno_feed_errors;
\c regress_sno_feed_errors
\set SHOW_CONTEXT never
\t
\a
SET TimeZone = 'UTC';
SET client_min_messages = warning;
CREATE EXTENSION sno_flakes CASCADE;
RESET client_min_messages;
CREATE EXTENSION sno_feeds;
GRANT ALL ON SCHEMA public TO PUBLIC;

-- The error of a statement, without ids
CREATE FUNCTION fails(statement text, OUT error text) LANGUAGE plpgsql AS $$
DECLARE
    message text;
    detail  text;
    hint    text;
BEGIN
    EXECUTE statement;
    error := 'no error: ' || statement;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    error := concat_ws(E'\n', SQLSTATE || ' ' || message, 'DETAIL: ' || nullif(detail, ''), 'HINT: ' || nullif(hint, ''));
    error := regexp_replace(error, '\m[2-9][2-9a-x]{15}\M', 'ID', 'g');
END$$;
CREATE FUNCTION hint(statement text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
END$$;
CREATE FUNCTION settle(feed regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    above boolean;
BEGIN
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE id >= (SELECT sno_watermark()))', feed) INTO above;
        EXIT WHEN NOT above;
        PERFORM pg_sleep(0.001);
    END LOOP;
END$$;

--
-- What can't be a feed
--
CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), n integer, t text);
CREATE VIEW a_view AS SELECT * FROM outbox;
CREATE MATERIALIZED VIEW a_matview AS SELECT * FROM outbox;
CREATE TEMP TABLE a_temp (id sno PRIMARY KEY);
CREATE UNLOGGED TABLE an_unlogged (id sno PRIMARY KEY);
CREATE FOREIGN DATA WRAPPER fdw;
CREATE SERVER server FOREIGN DATA WRAPPER fdw;
CREATE FOREIGN TABLE a_foreign (id sno NOT NULL) SERVER server;
CREATE SEQUENCE a_sequence;
CREATE TABLE parted (id sno PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE a_partition PARTITION OF parted DEFAULT;
CREATE TABLE a_parent (id sno PRIMARY KEY);
CREATE TABLE a_child () INHERITS (a_parent);
SELECT fails(format('SELECT sno_feed_create(%L)', t))
FROM unnest('{a_view, a_matview, a_temp, an_unlogged, a_foreign, a_sequence, outbox_pkey, a_partition, a_parent}'::text[]) AS t;
SELECT fails('SELECT sno_feed_create(NULL)');
SELECT fails('SELECT sno_feed_create(1)');
SELECT fails('SELECT sno_feed_create(''no_table'')');
SELECT fails(format('CALL sno_feed_create_changes(%L)', t))
FROM unnest('{a_view, a_temp, an_unlogged, a_foreign, a_partition, a_parent}'::text[]) AS t;
CREATE TABLE no_key (id sno, n integer);
CREATE TABLE no_index (id sno NOT NULL);
CREATE TABLE a_hash (id sno NOT NULL, n integer);
CREATE INDEX ON a_hash USING hash (id);
CREATE INDEX ON a_hash (n, id);
CREATE INDEX ON a_hash (id) WHERE n > 0;
CREATE TABLE a_bigint (id bigint PRIMARY KEY, other sno);
CREATE TABLE two_keys (id sno PRIMARY KEY, key sno NOT NULL UNIQUE);
SELECT fails('SELECT sno_feed_create(''no_key'')');
SELECT fails('SELECT sno_feed_create(''no_key'', ''n'')');
SELECT fails('SELECT sno_feed_create(''no_key'', ''nothing'')');
SELECT fails('SELECT sno_feed_create(''no_key'', ''ctid'')');
SELECT fails('SELECT sno_feed_create(''no_index'')');
SELECT fails('SELECT sno_feed_create(''a_hash'')');
SELECT fails('SELECT sno_feed_create(''a_bigint'')');
SELECT fails('SELECT sno_feed_create(''a_bigint'', ''id'', ''no_generator'')');
SELECT fails('SELECT sno_feed_create(''two_keys'')');
SELECT fails('SELECT sno_feed_create(''two_keys'', ''id'', ''generator'')');
SELECT fails('CALL sno_feed_create_changes(''no_key'')');
SELECT fails('CALL sno_feed_create_changes(''two_keys'', batch => 0)');
SELECT fails('CALL sno_feed_create_changes(''two_keys'', batch => NULL)');
SELECT fails('CALL sno_feed_create_changes(''two_keys'', ''no_generator'')');
CREATE TABLE key_names (changed integer PRIMARY KEY);
SELECT fails('CALL sno_feed_create_changes(''key_names'')');
-- In a transaction block, the call fails before it commits.
BEGIN;
CALL sno_feed_create_changes('two_keys');
ROLLBACK;
SELECT to_regclass('two_keys_changes');
-- Names: the longest, and the next one; objects that exist already
SELECT repeat('x', 55) AS longest \gset
CREATE TABLE :longest (id sno PRIMARY KEY);
SELECT sno_feed_create(:'longest'), sno_feed_create_reader(:'longest', repeat('r', 63));
SELECT sno_feed_drop(:'longest');
SELECT fails(format('CALL sno_feed_create_changes(%L)', :'longest'));
SELECT repeat('y', 56) AS longer \gset
CREATE TABLE :longer (id sno PRIMARY KEY);
SELECT fails(format('SELECT sno_feed_create(%L)', :'longer'));
CREATE TABLE taken (id sno PRIMARY KEY);
CREATE TABLE taken_readers (id integer PRIMARY KEY);
CREATE TABLE taken_changes (id integer PRIMARY KEY);
SELECT fails('SELECT sno_feed_create(''taken'')');
SELECT fails('CALL sno_feed_create_changes(''taken'')');

--
-- Arguments
--
SELECT sno_feed_create('outbox');
SELECT sno_feed_create('outbox');
INSERT INTO outbox (n, t) SELECT n, n FROM generate_series(1, 5) AS n;
SELECT fails('SELECT sno_feed_create_reader(NULL, ''r'')');
SELECT fails('SELECT sno_feed_create_reader(''no_key'', ''r'')');
SELECT fails('SELECT sno_feed_create_reader(''outbox'', NULL)');
SELECT fails('SELECT sno_feed_create_reader(''outbox'', '''')');
SELECT fails('SELECT sno_feed_create_reader(''outbox'', repeat(''r'', 64))');
SELECT fails(format('SELECT sno_feed_create_reader(''outbox'', ''r'', %s)', a)) FROM unnest(ARRAY[
    'parts => 0', 'parts => -1, part_by => ''t''', 'parts => 1025, part_by => ''t''', 'parts => NULL', 'parts => 4', 'part_by => ''t''',
    'parts => 4, part_by => ''nothing''', 'parts => 4, part_by => ''xmin''', 'parts => 4, part_by => ''t''', 'max_tries => 0', 'max_tries => NULL',
    'start => NULL', 'start => ''''', 'start => ''soon''', 'start => ''tomorrow''', 'start => ''infinity''', 'start => ''2222222222222222x''',
    'start => ''xxxxxxxxxxxxxxxx''', 'start => sno_generate()::text', 'role => ''regress_sno_nobody''']) AS a;
-- The hint is a statement.
SELECT hint('SELECT sno_feed_create_reader(''outbox'', ''parts'', 4, ''t'')') \gexec
SELECT sno_feed_create_reader('outbox', 'parts', 4, 't');
SELECT sno_feed_create_reader('outbox', 'mail');
SELECT fails('SELECT sno_feed_create_reader(''outbox'', ''mail'')');
SELECT settle('outbox');
-- A reader that doesn't exist; the place of the feed itself isn't one.
SELECT fails(statement) FROM unnest(ARRAY[NULL, '', 'nobody']) AS reader, LATERAL unnest(ARRAY[
    format('SELECT sno_feed_next(NULL::outbox, %L)', reader), format('SELECT sno_feed_take(NULL::outbox, %L)', reader),
    format('SELECT sno_feed_aside(NULL::outbox, %L)', reader), format('SELECT sno_feed_done(''outbox'', %L, 0, 1)', reader),
    format('SELECT sno_feed_extend(''outbox'', %L, 0, 1)', reader), format('SELECT sno_feed_fail(''outbox'', %L, 0, 1)', reader),
    format('SELECT sno_feed_retry(''outbox'', %L)', reader), format('SELECT sno_feed_pause(''outbox'', %L)', reader),
    format('SELECT sno_feed_rewind(''outbox'', %L, ''now'')', reader), format('SELECT sno_feed_drop_reader(''outbox'', %L)', reader)]) AS statement;
SELECT fails('SELECT sno_feed_next(NULL, ''mail'')');
SELECT fails('SELECT sno_feed_next(NULL::integer, ''mail'')');
SELECT fails('SELECT sno_feed_next(NULL::outbox[], ''mail'')');
SELECT fails('SELECT sno_feed_next(NULL::no_key, ''mail'')');
SELECT fails('SELECT sno_feed_next(ROW(1), ''mail'')');
SELECT fails('SELECT sno_feed_next(NULL::outbox, ''mail'', 0)');
SELECT fails('SELECT sno_feed_next(NULL::outbox, ''mail'', NULL)');
SELECT fails('SELECT sno_feed_take(NULL::outbox, ''mail'', -1)');
SELECT fails('SELECT sno_feed_take(NULL::outbox, ''mail'', lease => ''0'')');
SELECT fails('SELECT sno_feed_take(NULL::outbox, ''mail'', lease => NULL)');
SELECT fails('SELECT sno_feed_take(NULL::outbox, ''mail'', lease => ''1000000 years'')');
SELECT fails('SELECT sno_feed_pause(''outbox'', ''mail'', NULL)');
SELECT fails('SELECT sno_feed_rewind(''outbox'', ''mail'', NULL)');
SELECT fails('SELECT sno_feed_rewind(''outbox'', ''mail'', ''tomorrow'')');
SELECT fails('SELECT sno_feed_retry(''outbox'', ''mail'', ''id'')');
SELECT fails('SELECT sno_feed_part(1, 0)');
SELECT fails('SELECT sno_feed_part(''(1,2)''::point, 2)');
SELECT fails('CALL sno_feed_remove(''outbox'', NULL)');
SELECT fails('CALL sno_feed_remove(''outbox'', ''-1 s'')');
SELECT fails('CALL sno_feed_remove(''outbox'', ''1000000 years'')');
SELECT fails('CALL sno_feed_remove(''outbox'', ''0'', 0)');
SELECT fails('CALL sno_feed_remove(''outbox'', ''0'', NULL)');
SELECT fails('CALL sno_feed_remove(''no_key'', ''0'')');

--
-- Leases that are lost
--
SELECT fails('SELECT sno_feed_done(''outbox'', ''mail'', 0, 0)');
SELECT fails('SELECT sno_feed_done(''outbox'', ''mail'', 7, 0)');
SELECT fails('SELECT sno_feed_done(''outbox'', ''mail'', NULL, NULL)');
SELECT fence FROM sno_feed_take(NULL::outbox, 'mail', 1, '1 us') \gset
-- The lease is over, but no other session has taken the part: its holder may acknowledge.
BEGIN;
SELECT sno_feed_extend('outbox', 'mail', 0, :fence, '1 us'), sno_feed_done('outbox', 'mail', 0, :fence);
ROLLBACK;
SELECT count(*) FROM sno_feed_take(NULL::outbox, 'mail', 1);
SELECT regexp_replace(fails(format(statement, :fence)), '\d{10,}', 'FENCE') FROM unnest(ARRAY['SELECT sno_feed_done(''outbox'', ''mail'', 0, %s)',
    'SELECT sno_feed_extend(''outbox'', ''mail'', 0, %s)', 'SELECT sno_feed_fail(''outbox'', ''mail'', 0, %s)']) AS statement;
SELECT fence FROM outbox_readers WHERE reader = 'mail' AND part = 0 \gset
SELECT fails(format('SELECT sno_feed_extend(''outbox'', ''mail'', 0, %s, ''-1 s'')', :fence));
SELECT fails(format('SELECT sno_feed_fail(''outbox'', ''mail'', 0, %s, %L)', :fence, id)) FROM outbox WHERE n IN (2, 5);
SELECT fails(format('SELECT sno_feed_fail(''outbox'', ''mail'', 0, %s, ''id'')', :fence));
SELECT sno_feed_rewind('outbox', 'mail', 'oldest');
SELECT left(fails(format('SELECT sno_feed_done(''outbox'', ''mail'', 0, %s)', :fence)), 5);

--
-- Starts below removed rows
--
SELECT count(*) FROM sno_feed_next(NULL::outbox, 'mail', 3);
SELECT sno_feed_rewind('outbox', 'parts', 'now');
SELECT min(id) AS removed FROM outbox \gset
CALL sno_feed_remove('outbox', '0');
SELECT fails(format('SELECT sno_feed_rewind(''outbox'', ''mail'', %L)', start))
FROM unnest(ARRAY[:'removed', '2020-01-01', '2222222222222222', '-infinity']) AS start;
SELECT fails(format('SELECT sno_feed_create_reader(''outbox'', ''late'', start => %L)', :'removed'));
SELECT sno_feed_rewind('outbox', 'mail', (SELECT min(id)::text FROM outbox));
SELECT sno_feed_rewind('outbox', 'mail', 'oldest');
SELECT array_agg(n) FROM sno_feed_next(NULL::outbox, 'mail', 1);

--
-- Tables that were changed
--
-- A row that moves to another part needs a new id.
SELECT n::text AS other FROM generate_series(5, 99) AS n WHERE sno_feed_part(n::text, 4) <> sno_feed_part('4'::text, 4) LIMIT 1 \gset
UPDATE outbox SET t = :'other' WHERE n = 4;
UPDATE outbox SET t = :'other', id = sno_generate() WHERE n = 4;
UPDATE outbox SET n = 6 WHERE n = 5;
-- An id of another transaction
SELECT sno_generate() AS id \gset
SELECT settle('outbox');
INSERT INTO outbox (id) VALUES ('2222222222222223');
ALTER TABLE outbox DISABLE TRIGGER zz_sno_feed;
SELECT fails('SELECT sno_feed_next(NULL::outbox, ''mail'')');
SELECT reader, problem FROM sno_feeds();
ALTER TABLE outbox ENABLE REPLICA TRIGGER zz_sno_feed;
SELECT left(fails('CALL sno_feed_remove(''outbox'', ''0'')'), 5);
ALTER TABLE outbox ENABLE TRIGGER zz_sno_feed;
BEGIN;
DROP TRIGGER zz_sno_feed ON outbox;
SELECT fails('SELECT sno_feed_next(NULL::outbox, ''mail'')');
SELECT fails('SELECT sno_feed_drop(''outbox'')');
ROLLBACK;
-- Another trigger of the name
BEGIN;
DROP TRIGGER zz_sno_feed ON outbox;
CREATE TRIGGER zz_sno_feed BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT left(fails('SELECT sno_feed_next(NULL::outbox, ''mail'')'), 5);
ROLLBACK;
-- The column of the parts
BEGIN;
ALTER TABLE outbox RENAME t TO u;
SELECT fails('SELECT sno_feed_next(NULL::outbox, ''parts'')');
SELECT problem FROM sno_feeds() GROUP BY problem;
SELECT sno_feed_pause('outbox', 'parts'), sno_feed_drop_reader('outbox', 'parts');
SELECT count(*) FROM sno_feed_next(NULL::outbox, 'mail');
ROLLBACK;
-- The key: the hint is a statement.
BEGIN;
ALTER TABLE outbox RENAME id TO key;
SELECT fails('SELECT sno_feed_next(NULL::outbox, ''mail'')');
SELECT problem FROM sno_feeds();
SELECT hint('SELECT sno_feed_next(NULL::outbox, ''mail'')') \gexec
SELECT count(*) > 0 FROM sno_feed_next(NULL::outbox, 'mail');
ROLLBACK;
BEGIN;
SET LOCAL client_min_messages = warning;
ALTER TABLE outbox DROP id CASCADE;
SELECT left(fails('SELECT sno_feed_next(NULL::outbox, ''mail'')'), 5);
SELECT sno_feed_drop('outbox');
ROLLBACK;
-- Another key
BEGIN;
ALTER TABLE outbox ADD key sno NOT NULL DEFAULT sno_generate();
CREATE INDEX ON outbox (key);
SELECT fails('SELECT sno_feed_create(''outbox'', ''key'')');
ROLLBACK;
-- The name
BEGIN;
ALTER TABLE outbox RENAME TO inbox;
SELECT fails('SELECT sno_feed_next(NULL::inbox, ''mail'')');
SELECT problem FROM sno_feeds();
ALTER TABLE outbox_readers RENAME TO inbox_readers;
ALTER TABLE outbox_aside RENAME TO inbox_aside;
SELECT count(*) > 0 FROM sno_feed_next(NULL::inbox, 'mail');
ROLLBACK;
-- Another table of the new name
BEGIN;
CREATE TABLE inbox_readers (n integer);
ALTER TABLE outbox RENAME TO inbox;
SELECT sno_feed_drop('inbox');
TABLE inbox_readers;
ROLLBACK;
BEGIN;
CREATE SCHEMA other;
ALTER TABLE outbox SET SCHEMA other;
SELECT fails('SELECT sno_feed_next(NULL::other.outbox, ''mail'')');
ROLLBACK;
-- A partition, and a child
BEGIN;
CREATE TABLE whole (LIKE outbox) PARTITION BY RANGE (id);
ALTER TABLE whole ATTACH PARTITION outbox DEFAULT;
SELECT fails('SELECT sno_feed_next(NULL::outbox, ''mail'')');
SELECT problem FROM sno_feeds();
ROLLBACK;
CREATE TABLE child () INHERITS (outbox);
INSERT INTO child (n) VALUES (7);
SELECT settle('outbox');
SELECT count(*) FILTER (WHERE n = 7) FROM sno_feed_next(NULL::outbox, 'mail');
SELECT problem FROM sno_feeds() GROUP BY problem;
DROP TABLE child;
-- Tables of the feed
BEGIN;
DROP TABLE outbox_aside;
SELECT fails('SELECT sno_feed_next(NULL::outbox, ''mail'')');
SET LOCAL client_min_messages = warning;
SELECT sno_feed_drop('outbox');
ROLLBACK;
-- A feed of changes
CREATE TABLE person (id integer PRIMARY KEY, name text);
CALL sno_feed_create_changes('person');
SELECT fails('CALL sno_feed_create_changes(''person'', ''no_generator'')');
SELECT sno_feed_create_reader('person', 'copy');
SELECT fails('SELECT sno_feed_next(NULL::person, ''copy'')');
SELECT fails('SELECT sno_feed_aside(NULL::person, ''copy'')');
BEGIN;
ALTER TABLE person RENAME id TO key;
SELECT fails('INSERT INTO person VALUES (1)');
SELECT problem FROM sno_feeds() WHERE feed = 'person_changes'::regclass;
SELECT sno_feed_drop('person');
ROLLBACK;
-- A source with two triggers is a feed of its own and has one of its changes.
BEGIN;
CREATE TABLE dual (id sno PRIMARY KEY DEFAULT sno_generate());
SELECT sno_feed_create('dual');
SELECT sno_feed_create_reader('dual', 'r');
SELECT sno_feeds.record_changes('dual', NULL, 1);
SELECT sno_feed_create_reader('dual_changes', 'r');
SELECT feed, reader FROM sno_feeds() WHERE feed <> 'outbox'::regclass ORDER BY 1, 2;
SELECT sno_feed_drop('dual_changes'), sno_feed_drop('dual');
ROLLBACK;

--
-- Roles
--
SET ROLE regress_sno_owner;
CREATE TABLE owned (id sno PRIMARY KEY DEFAULT sno_generate(), n integer);
CREATE TABLE secret (id sno PRIMARY KEY DEFAULT sno_generate(), n integer);
SELECT sno_feed_create('owned'), sno_feed_create('secret');
SELECT sno_feed_create_reader('owned', 'mail', role => 'regress_sno_mail', max_tries => 1), sno_feed_create_reader('owned', 'own'),
    sno_feed_create_reader('secret', 'own');
INSERT INTO owned (n) VALUES (1), (2), (3);
SELECT settle('owned');
CREATE TABLE owned_changing (id integer PRIMARY KEY);
SELECT DISTINCT tableowner FROM pg_tables WHERE tablename ~ '^(owned|secret)';
-- A superuser
RESET ROLE;
SELECT fails(statement) FROM unnest(ARRAY['SELECT sno_feed_create(''owned'')', 'SELECT sno_feed_next(NULL::owned, ''own'')',
    'CALL sno_feed_remove(''owned'', ''0'')', 'SELECT sno_feed_drop(''owned'')', 'CALL sno_feed_create_changes(''owned_changing'')']) AS statement;
SELECT DISTINCT feed, problem FROM sno_feeds() WHERE feed = 'owned'::regclass;
-- A role without privileges
SET ROLE regress_sno_stranger;
SELECT fails(statement) FROM unnest(ARRAY['SELECT sno_feed_create(''owned'')', 'SELECT sno_feed_create_reader(''owned'', ''r'')',
    'SELECT sno_feed_next(NULL::owned, ''own'')', 'SELECT sno_feed_take(NULL::owned, ''own'')', 'SELECT sno_feed_pause(''owned'', ''own'')', 'SELECT sno_feed_rewind(''owned'', ''own'', ''now'')',
    'CALL sno_feed_remove(''owned'', ''0'')', 'SELECT sno_feed_drop_reader(''owned'', ''own'')', 'SELECT sno_feed_drop(''owned'')', 'CALL sno_feed_create_changes(''owned_changing'')']) AS statement;
SELECT feed, reader, problem FROM sno_feeds();
-- Any role can call the functions that execute statements.
SELECT fails(statement) FROM unnest(ARRAY['SELECT sno_feeds.execute(''SELECT 1'')', 'SELECT sno_feeds.execute(''SELECT'')',
    'SELECT sno_feeds.execute_now(''EXPLAIN SELECT 1'')', 'SELECT sno_feeds.execute_now(''COMMIT'')',
    'SELECT sno_feeds.execute(''TABLE public.owned'')']) AS statement;
SELECT sno_feeds.execute_now('CREATE TEMP TABLE written AS SELECT 1 AS n'), sno_feeds.execute_now('INSERT INTO written VALUES (2)'),
    sno_feeds.execute('SELECT ARRAY[$1, $2]', VARIADIC ARRAY[['a', NULL]]), sno_feeds.execute('SELECT NULL::text[]'), sno_feeds.execute('');
RESET ROLE;
-- The role of a reader
SET ROLE regress_sno_mail;
SELECT array_agg(n) FROM sno_feed_next(NULL::owned, 'mail', 1);
SELECT (item).n, sno_feed_fail('owned', 'mail', part, fence, id, 'bad', '0') FROM sno_feed_take(NULL::owned, 'mail', 1);
SELECT error, (item).n FROM sno_feed_aside(NULL::owned, 'mail');
SELECT sno_feed_retry('owned', 'mail');
SELECT (item).n, sno_feed_done('owned', 'mail', part, fence) FROM sno_feed_take(NULL::owned, 'mail', 1);
SELECT sno_feed_pause('owned', 'mail'), sno_feed_pause('owned', 'mail', false);
CALL sno_feed_wait('owned', 'mail');
SELECT feed, reader, state FROM sno_feeds() ORDER BY 1, 2;
-- may not move another reader, or its own one without a lease,
SELECT count(*) FROM sno_feed_next(NULL::owned, 'own');
SELECT fails(statement) FROM unnest(ARRAY['SELECT sno_feed_take(NULL::owned, ''own'')', 'SELECT sno_feed_pause(''owned'', ''own'')',
    'SELECT sno_feed_done(''owned'', ''own'', 0, 0)', 'SELECT sno_feed_rewind(''owned'', ''mail'', ''oldest'')', 'SELECT sno_feed_rewind(''owned'', ''own'', ''now'')',
    'SELECT sno_feed_create_reader(''owned'', ''r'')', 'SELECT sno_feed_drop_reader(''owned'', ''mail'')', 'CALL sno_feed_remove(''owned'', ''0'')',
    'UPDATE owned_readers SET reader = ''own''', 'UPDATE owned_readers SET max_tries = 9', 'DELETE FROM owned_readers', 'SELECT sno_feed_next(NULL::secret, ''own'')',
    'INSERT INTO owned_aside (reader, id, part, tries) SELECT ''own'', id, 0, 1 FROM owned', 'SELECT sno_feed_create(''owned'')']) AS statement;
UPDATE owned_readers SET paused = true WHERE reader = 'own';
RESET ROLE;
SELECT reader, part, paused FROM owned_readers WHERE reader = 'own' ORDER BY part;
-- nor do anything after its reader was dropped.
SET ROLE regress_sno_owner;
SELECT sno_feed_drop_reader('owned', 'mail');
SET ROLE regress_sno_mail;
SELECT fails('SELECT sno_feed_next(NULL::owned, ''mail'')');
RESET ROLE;

--
-- Waiting
--
CALL sno_feed_wait('outbox', 'nobody');
\echo :LAST_ERROR_SQLSTATE
CALL sno_feed_wait('outbox', NULL);
\echo :LAST_ERROR_SQLSTATE
CALL sno_feed_wait(NULL, 'mail');
CALL sno_feed_wait('outbox', 'mail', NULL);
CALL sno_feed_wait('no_key', 'mail');
\echo :LAST_ERROR_SQLSTATE
CALL sno_feed_wait('outbox', 'mail', '1000000 years');
CALL sno_feed_wait('outbox', 'mail', '-1 s');
BEGIN;
CALL sno_feed_wait('outbox', 'mail');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
SELECT fails('CALL sno_feed_wait(''outbox'', ''mail'')');
SELECT sno_feed_next(NULL::outbox, 'mail') \g /dev/null
SET statement_timeout = '100 ms';
CALL sno_feed_wait('outbox', 'mail');
\echo :LAST_ERROR_SQLSTATE
RESET statement_timeout;
-- A feed and its key that are renamed between two calls
CREATE TABLE renamed (id sno PRIMARY KEY);
SELECT sno_feed_create('renamed'), sno_feed_create_reader('renamed', 'r') \g /dev/null
CALL sno_feed_wait('renamed', 'r', '0');
ALTER TABLE renamed RENAME TO new_name;
ALTER TABLE renamed_readers RENAME TO new_name_readers;
ALTER TABLE renamed_aside RENAME TO new_name_aside;
CALL sno_feed_wait('new_name', 'r', '0');
ALTER TABLE new_name RENAME id TO key;
CALL sno_feed_wait('new_name', 'r', '0');
SELECT sno_feed_create('new_name') \g /dev/null
CALL sno_feed_wait('new_name', 'r', '0');
-- It may be called by a procedure that isn't in a block.
DO $$BEGIN CALL sno_feed_wait('outbox', 'mail', '0'); END$$;
SET ROLE regress_sno_stranger;
CALL sno_feed_wait('owned', 'own');
\echo :LAST_ERROR_SQLSTATE
-- A session that waited as the owner may not wait as a superuser.
SET ROLE regress_sno_owner;
CALL sno_feed_wait('owned', 'own', '0');
RESET ROLE;
CALL sno_feed_wait('owned', 'own', '0');
\echo :LAST_ERROR_SQLSTATE

\c :db
DROP DATABASE regress_sno_feed_errors;
DROP ROLE regress_sno_owner, regress_sno_mail, regress_sno_stranger;
