--
-- Generators of ids of other systems: definitions, ids, privileges, transactions
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
DROP DATABASE IF EXISTS regress_sno_flake;
DROP ROLE IF EXISTS regress_sno_flake_owner, regress_sno_flake_user;
RESET client_min_messages;
SELECT current_database() AS db \gset
CREATE ROLE regress_sno_flake_owner;
CREATE ROLE regress_sno_flake_user;
CREATE DATABASE regress_sno_flake OWNER regress_sno_flake_owner;
\c regress_sno_flake
CREATE EXTENSION sno;
CREATE EXTENSION sno_flakes;
SET TimeZone = 'UTC';
\set SHOW_CONTEXT never

-- The parts of an id, given by its bits
CREATE FUNCTION number(digits text, bits integer) RETURNS bigint LANGUAGE sql AS
$$SELECT lpad(left(digits, bits), 64, '0')::bit(64)::bigint$$;
CREATE FUNCTION parts(value bit varying, layout text, OUT at timestamptz, OUT node bigint, OUT sequence bigint) LANGUAGE sql SECURITY DEFINER AS $$
    SELECT epoch + unit * number(right(value::text, bits), time_bits) * interval '1 ms',
        number(right(value::text, CASE WHEN node_last THEN node_bits ELSE node_bits + sequence_bits END), node_bits),
        number(right(value::text, CASE WHEN node_last THEN node_bits + sequence_bits ELSE sequence_bits END), sequence_bits)
    FROM sno_catalog.sno_flake_layout AS l, LATERAL (SELECT time_bits + node_bits + sequence_bits AS bits) AS b
    WHERE l.name = layout
$$;
CREATE FUNCTION bits(id bigint) RETURNS bit varying LANGUAGE sql AS 'SELECT id::bit(64)';
CREATE FUNCTION bits(id uuid) RETURNS bit varying LANGUAGE sql AS $$SELECT ('x' || replace(id::text, '-', ''))::bit(128)$$;
CREATE FUNCTION bits(id bytea) RETURNS bit varying LANGUAGE sql AS $$SELECT ('x' || encode(id, 'hex'))::bit varying$$;
-- The function that issues ids of a layout
CREATE FUNCTION function_of(layout text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN bits <= 64 THEN 'sno_flake_generate' WHEN bits = 128 THEN 'sno_flake_generate_uuid' ELSE 'sno_flake_generate_bytea' END
    FROM sno_catalog.sno_flake_layout AS l, LATERAL (SELECT time_bits + node_bits + sequence_bits AS bits) AS b
    WHERE l.name = layout
$$;
-- Ids of a generator, as bits, and the clock before and after
CREATE FUNCTION ids(generator text, layout text, count integer, OUT ids bit varying[], OUT before timestamptz, OUT after timestamptz)
LANGUAGE plpgsql AS $$
BEGIN
    before := clock_timestamp();
    EXECUTE format('SELECT array_agg(bits(id)) FROM (SELECT %s(%L) AS id FROM generate_series(1, %s)) AS s',
        function_of(layout), generator, count) INTO ids;
    after := clock_timestamp();
END $$;

--
-- Definitions
--
SELECT name, sno_flake_create_generator(name, name) AS node FROM sno_catalog.sno_flake_layout ORDER BY name;
SELECT name, layout, node_first, node_last, nodes, counts, key FROM sno_catalog.sno_flake_generator ORDER BY name;

-- Nodes that are given
SELECT sno_flake_create_generator('given', 'snowflake', 7), sno_flake_create_generator('last', 'snowflake', 1022, 2);
SELECT name, node_first, node_last, nodes FROM sno_catalog.sno_flake_generator WHERE layout = 'snowflake' ORDER BY name;
SELECT sno_flake_create_generator('most', 'boundary', 281474976710655), sno_flake_create_generator('byte', 'objectid', (1::bigint << 40) - 1);

-- Refused
SELECT sno_flake_create_generator('x', 'none');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', '');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('snowflake', 'snowflake');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('snowflake', 'discord');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'snowflake', 7);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'snowflake', 1021, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'snowflake', -1);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'snowflake', 1024);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'boundary', 281474976710656);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'simpleflake', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'discord', nodes => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'discord', nodes => -1);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'discord', nodes => 513);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'discord', 1000, 25);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'boundary', 1, 33);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'boundary', nodes => 2147483647);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'objectid', 1, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'tickets', 0, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('', 'discord');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator(repeat('x', 64), 'discord');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator(NULL, 'discord');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_create_generator('x', 'discord', nodes => NULL);
\echo :LAST_ERROR_SQLSTATE
BEGIN READ ONLY;
SELECT sno_flake_create_generator('x', 'discord');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
SELECT sno_create_generator('plain', 1);

--
-- Ids of all layouts
--
CREATE TEMP TABLE issued AS
SELECT name, unit, s.* FROM sno_catalog.sno_flake_layout AS l, LATERAL ids(name, name, 300) AS s WHERE built_in;
-- Ids of a session ascend.  Their times are those of the clock, to the unit.
SELECT name, count(*), count(DISTINCT id), bool_and(id > previous OR previous IS NULL) AS ascend,
    bool_and(p.at > before - unit * interval '1 ms') AS not_before, bool_and(p.at <= after + interval '3 ms') AS not_after,
    min(p.node) = max(p.node) AS same_node, min(p.sequence) AS sequence
FROM (SELECT *, lag(id) OVER (PARTITION BY name ORDER BY n) AS previous FROM issued, unnest(ids) WITH ORDINALITY AS u (id, n)) AS i,
    LATERAL parts(id, name) AS p
GROUP BY name ORDER BY name;
-- Counters begin with 1.
SELECT name, ids[1]::bit(64)::bigint AS first, ids[300]::bit(64)::bigint AS last FROM issued WHERE unit = 0 ORDER BY name;

-- Several nodes take turns within a unit.
INSERT INTO sno_catalog.sno_flake_layout VALUES ('hours', '2020-01-01Z', 3600000, 30, 4, 6, false, NULL);
SELECT sno_flake_create_generator('hours', 'hours', 2, 3);
SELECT p.node, count(DISTINCT id), min(p.sequence), max(p.sequence)
FROM ids('hours', 'hours', 96), unnest(ids) AS id, LATERAL parts(id, 'hours') AS p GROUP BY p.node ORDER BY p.node;

-- A layout of one's own, as pgEdge's, and one with long units
INSERT INTO sno_catalog.sno_flake_layout VALUES ('pgedge', '2023-01-01Z', 1, 41, 10, 12, true, NULL), ('minutes', '2020-01-01Z', 60000, 30, 4, 20, false, NULL);
SELECT sno_flake_create_generator('pgedge', 'pgedge', 77), sno_flake_create_generator('minutes', 'minutes', 3);
SELECT layout, count(DISTINCT id), min(p.node) AS node, max(p.node) AS last_node,
    bool_and(p.at BETWEEN before - interval '1 ms' AND after + interval '3 ms' OR layout = 'minutes' AND p.at IN (date_trunc('minute', before), date_trunc('minute', after))) AS time
FROM (VALUES ('pgedge'), ('minutes')) AS l (layout), LATERAL ids(layout, layout, 1000), unnest(ids) AS id, LATERAL parts(id, layout) AS p
GROUP BY layout ORDER BY layout;

--
-- The wrong function for a generator
--
SELECT sno_flake_generate('boundary');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_generate('objectid');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_generate_uuid('snowflake');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_generate_uuid('objectid');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_generate_bytea('counter');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_generate_bytea('boundary');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_generate('plain');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_generate(0, 'snowflake');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_generate_many(2, 0, 'snowflake');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_snapshot_generator('snowflake');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_generate('none');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_generate(repeat('x', 64));
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_generate('');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_generate(NULL) IS NULL AS null_name;

--
-- As defaults of keys, in prepared statements, parallel queries, and by names that are no constants
--
CREATE TABLE a (id bigint PRIMARY KEY DEFAULT sno_flake_generate('snowflake'), n integer);
CREATE TABLE b (id uuid PRIMARY KEY DEFAULT sno_flake_generate_uuid('boundary'), n integer);
CREATE TABLE c (id bytea PRIMARY KEY DEFAULT sno_flake_generate_bytea('objectid'), n integer);
INSERT INTO a (n) SELECT generate_series(1, 10000);
INSERT INTO b (n) SELECT generate_series(1, 10000);
INSERT INTO c (n) SELECT generate_series(1, 10000);
SELECT count(*), bool_and(n > before OR before IS NULL) AS ascend FROM (SELECT n, lag(n) OVER (ORDER BY id) AS before FROM a) AS s;
SELECT count(*), bool_and(n > before OR before IS NULL) AS ascend FROM (SELECT n, lag(n) OVER (ORDER BY id) AS before FROM b) AS s;
SELECT count(*), bool_and(n > before OR before IS NULL) AS ascend FROM (SELECT n, lag(n) OVER (ORDER BY id) AS before FROM c) AS s;

PREPARE next AS SELECT count(DISTINCT sno_flake_generate('snowflake')) FROM generate_series(1, 10);
EXECUTE next;
SELECT sno_flake_drop_generator('snowflake');
EXECUTE next;
SELECT sno_flake_create_generator('snowflake', 'snowflake', 500);
EXECUTE next;
PREPARE by_name (text) AS SELECT (parts(bits(sno_flake_generate($1)), 'snowflake')).node;
SET plan_cache_mode = force_generic_plan;
EXECUTE by_name('snowflake');
EXECUTE by_name('given');
EXECUTE by_name('snowflake');
RESET plan_cache_mode;
SELECT (parts(bits(sno_flake_generate(name)), 'snowflake')).node FROM unnest('{given,snowflake,last,given,snowflake}'::text[]) AS name;


CREATE TABLE source AS SELECT n FROM generate_series(1, 20000) AS n;
ALTER TABLE source SET (parallel_workers = 2);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers = 2;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) CREATE TABLE by_workers AS SELECT sno_flake_generate('snowflake') AS id, sno_flake_generate_uuid('boundary') AS u FROM source;
CREATE TABLE by_workers AS SELECT sno_flake_generate('snowflake') AS id, sno_flake_generate_uuid('boundary') AS u FROM source;
SELECT count(DISTINCT id), count(DISTINCT u) FROM by_workers;
RESET parallel_leader_participation;
RESET min_parallel_table_scan_size;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;

--
-- A generator that is dropped, and created anew with another layout
--
CREATE FUNCTION next(generator text) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RETURN sno_flake_generate(generator); END$$;
CREATE FUNCTION node(generator text, layout text) RETURNS bigint LANGUAGE sql RETURN (parts(bits(next(generator)), layout)).node;
SELECT sno_flake_create_generator('changes', 'discord', 11);
SELECT node('changes', 'discord');
SELECT sno_flake_drop_generator('changes'), sno_flake_create_generator('changes', 'sonyflake', 12);
SELECT node('changes', 'sonyflake');
SELECT sno_flake_drop_generator('changes');
SELECT node('changes', 'sonyflake');
SELECT sno_flake_create_generator('changes', 'boundary', 13);
SELECT node('changes', 'boundary');
SELECT (parts(bits(sno_flake_generate_uuid('changes')), 'boundary')).node;
SELECT sno_flake_drop_generator('changes'), sno_create_generator('changes', 9);
SELECT next('changes');
SELECT sno_partition(sno_generate(0, 'changes'));
SELECT sno_drop_generator('changes'), sno_flake_create_generator('changes', 'tickets', 1);
SELECT next('changes'), next('changes');
SELECT sno_partition(sno_generate(0, 'changes'));
-- A cached plan outlives the generator.
PREPARE changed AS SELECT sno_flake_generate('changes');
EXECUTE changed;
SELECT sno_flake_drop_generator('changes');
EXECUTE changed;
SELECT sno_flake_create_generator('changes', 'objectid', 14);
EXECUTE changed;
SELECT sno_flake_drop_generator('changes'), sno_flake_create_generator('changes', 'tickets', 1);
EXECUTE changed;
SELECT sno_flake_drop_generator('changes'), sno_flake_create_generator('changes', 'boundary', 15);
SELECT (parts(bits(sno_flake_generate_uuid('changes')), 'boundary')).node;
EXECUTE changed;
SELECT sno_flake_drop_generator('changes'), sno_flake_create_generator('changes', 'tickets', 1);
EXECUTE changed;
SELECT sno_flake_drop_generator('changes');

-- A node is free again when its generator is dropped.  The next one goes on after it.
SELECT sno_flake_create_generator('one', 'json5', 9);
SELECT next('one') AS before FROM generate_series(1, 100) OFFSET 99 \gset
SELECT sno_flake_drop_generator('one'), sno_flake_create_generator('two', 'json5', 8, 2);
SELECT bool_and(next('two') > :before) AS later FROM generate_series(1, 100);
-- A generator with other nodes changes nothing.
SELECT sno_flake_create_generator('three nodes', 'json5', 3, 3);
SELECT next('three nodes') IS NOT NULL AS made, next('two') > :before AS later;

--
-- Rollbacks take back definitions, and nothing that was issued
--
SELECT sno_flake_drop_generator('tickets');
BEGIN;
SELECT sno_flake_create_generator('gone', 'tickets', 0);
ROLLBACK;
SELECT next('gone');
BEGIN;
SELECT sno_flake_create_generator('gone', 'tickets', 0);
SAVEPOINT s;
SELECT next('gone') AS before \gset
SELECT sno_flake_drop_generator('gone');
SELECT next('gone');
ROLLBACK TO s;
SELECT next('gone') - :before AS two;
SAVEPOINT t;
SELECT sno_flake_drop_generator('gone');
SELECT sno_flake_create_generator('gone', 'json6', 9);
SELECT node('gone', 'json6');
ROLLBACK TO t;
SELECT next('gone') - :before AS four;
ROLLBACK;
SELECT next('gone');
BEGIN;
SELECT sno_flake_drop_generator('counter');
SELECT next('counter');
ROLLBACK;
SELECT next('counter') AS before \gset
SELECT next('counter') - :before AS one;
BEGIN READ ONLY;
SELECT next('counter') - :before AS two;
ROLLBACK;
SELECT next('counter') - :before AS three;

--
-- To go on after an older generator
--
SELECT sno_flake_create_generator('odd', 'tickets', 1), sno_flake_create_generator('even', 'tickets', 0);
SELECT sno_flake_advance('odd', 72157623227190423);
SELECT next('odd'), next('odd');
SELECT sno_flake_advance('even', 72157623227190423);
SELECT next('even'), next('even');
-- Never back
SELECT sno_flake_advance('odd', 0), sno_flake_advance('odd', 1), sno_flake_advance('odd', 72157623227190425);
SELECT next('odd');
SELECT next('odd') AS before FROM generate_series(1, 1000) OFFSET 999 \gset
SELECT sno_flake_advance('odd', :before - 10), sno_flake_advance('odd', :before);
SELECT next('odd') - :before AS two;
SELECT sno_flake_advance('odd', :before + 1000000);
SELECT next('odd') - :before AS later, next('odd') - :before AS more;
-- No rollback undoes it.
BEGIN;
SELECT sno_flake_advance('odd', :before + 2000000);
ROLLBACK;
SELECT next('odd') - :before AS later;
-- Of other ids than one's own
SELECT sno_flake_advance('even', :before + 2000000), sno_flake_advance('odd', :before + 3000001);
SELECT next('even') - :before AS even, next('odd') - :before AS odd;

-- Times: those of later units
CREATE FUNCTION id_at(at timestamptz, layout text, node bigint) RETURNS bigint LANGUAGE sql AS $$
    SELECT (extract(epoch FROM at - epoch) * 1000 / unit)::bigint << (node_bits + sequence_bits) | (node << (CASE WHEN node_last THEN 0 ELSE sequence_bits END))
    FROM sno_catalog.sno_flake_layout WHERE name = layout
$$;
SELECT sno_flake_create_generator('ahead', 'snowflake', 600);
SELECT id_at(date_trunc('milliseconds', clock_timestamp()) + interval '200 ms', 'snowflake', 1) AS after \gset
SELECT sno_flake_advance('ahead', :after);
SET sno.max_wait = '1 min';
SELECT count(*), min(id) > :after AS later, (parts(bits(min(id)), 'snowflake')).at > (parts(bits(:after), 'snowflake')).at AS later_time
FROM (SELECT next('ahead') AS id FROM generate_series(1, 100)) AS s;
SELECT sno_flake_advance('ahead', :after), sno_flake_advance('ahead', 0);
SELECT next('ahead') > :after AS later;
SELECT sno_flake_advance('ahead', id_at(date_trunc('second', clock_timestamp()) + interval '59 minutes', 'snowflake', 0));
SET sno.max_wait = 10;
SELECT next('ahead');
\echo :LAST_ERROR_SQLSTATE
RESET sno.max_wait;
-- A time before the first one that a generator issues
INSERT INTO sno_catalog.sno_flake_layout VALUES ('old', '1970-01-01Z', 1000, 34, 10, 18);
SELECT sno_flake_create_generator('old', 'old'), sno_flake_advance('old', 5);
SELECT (parts(bits(next('old')), 'old')).at >= now() - interval '1 s' AS now;

-- Refused
SELECT sno_flake_advance('ahead', id_at(date_trunc('second', clock_timestamp()) + interval '61 minutes', 'snowflake', 0));
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance('ahead', 9223372036854775807);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance('ahead', -1);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance('one', -1);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance('two', 9223372036854775807);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance('boundary', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance('objectid', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance('plain', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance('none', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance('odd', -1);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance('odd', 9223372036854775807);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance('counter', 9223372036854775807);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance(NULL, 1) IS NULL AS null_name, sno_flake_advance('odd', NULL) IS NULL AS null_id;

-- The time of a layout is over.
INSERT INTO sno_catalog.sno_flake_layout VALUES ('over', '2020-01-01Z', 1000, 20, 10, 12);
SELECT sno_flake_create_generator('over', 'over');
\echo :LAST_ERROR_SQLSTATE

-- Each generator that counts does so by itself, on whatever node, and goes on if it is
-- created again.
SELECT sno_flake_create_generator('orders', 'counter'), sno_flake_create_generator('lines', 'counter');
SELECT next('orders'), next('orders'), next('lines');
SELECT sno_flake_drop_generator('orders'), sno_flake_drop_generator('lines');
SELECT sno_flake_create_generator('lines', 'counter'), sno_flake_create_generator('other', 'counter'), sno_flake_create_generator('orders', 'counter');
SELECT next('orders'), next('lines'), next('other');
SELECT sno_flake_create_generator('tickets1', 'tickets', 1), sno_flake_create_generator('tickets2', 'tickets', 1);
SELECT next('tickets1'), next('tickets2'), next('tickets1');
-- Their shards are the same on all machines, because dumps have them.
SELECT to_hex(shard_min) AS shard FROM sno_catalog.sno_lease WHERE to_hex(shard_min) IN ('5d9250be8b4c', 'a78e752d9fd3') ORDER BY shard_min;
SELECT count(sno_flake_drop_generator(name)) FROM unnest(ARRAY['orders', 'lines', 'other', 'tickets1', 'tickets2']) AS name;

-- However many there are, none goes on after the numbers of another one, in whatever session.
SELECT count(sno_flake_create_generator('count' || n, 'counter')) FROM generate_series(1, 20) AS n;
SELECT sno_flake_advance('count1', 1000000);
SELECT DISTINCT next('count' || n) FROM generate_series(2, 20) AS n;
\c -
SELECT count(sno_flake_create_generator('count' || n, 'counter')) FROM generate_series(21, 40) AS n;
SELECT DISTINCT next('count' || n) FROM generate_series(21, 40) AS n;
\c -
SELECT DISTINCT next('count' || n) FROM generate_series(2, 40) AS n;
SELECT count(sno_flake_drop_generator('count' || n)) FROM generate_series(1, 40) AS n;
SET TimeZone = 'UTC';

-- A layout that is rolled back leaves nothing behind: another one of its name begins with nothing.
BEGIN;
SELECT sno_flake_create_layout('mine', '2020-01-01Z', 1, 41, 10, 12);
SELECT sno_flake_create_generator('gone', 'mine', 3);
SELECT sno_flake_timestamp(next('gone'), 'mine') > now() - interval '1 s' AS now;
ROLLBACK;
SELECT next('gone');
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT sno_flake_create_layout('mine', '2020-01-01Z', 1000, 34, 10, 4);
SELECT sno_flake_create_generator('gone', 'mine', 3);
COMMIT;
SELECT DISTINCT (sno_flake_parts(next('gone'), 'mine')).node FROM generate_series(1, 20);
SELECT sno_flake_drop_generator('gone');
-- The same one under another name is the same: ids go on.
BEGIN;
SELECT sno_flake_create_layout('early', '2020-01-02Z', 1, 41, 10, 12);
SELECT sno_flake_create_generator('early', 'early', 3);
SELECT max(next('early')) AS before FROM generate_series(1, 1000) \gset
ROLLBACK;
SELECT sno_flake_create_layout('late', '2020-01-02Z', 1, 41, 10, 12);
SELECT sno_flake_create_generator('late', 'late', 3), next('late') > :before AS later;
SELECT sno_flake_drop_generator('late');

-- Generators of flakes have names of their own.
SELECT sno_flake_create_generator('both', 'json2', 5), sno_create_generator('both', 9);
SELECT count(next('both')), sno_partition(sno_generate(0, 'both'));
SELECT sno_drop_generator('both');
SELECT sno_generate(0, 'both');
\echo :LAST_ERROR_SQLSTATE
SELECT count(next('both')), sno_flake_drop_generator('both'), sno_create_generator('both', 9);
SELECT sno_partition(sno_generate(0, 'both'));
SELECT next('both');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_drop_generator('both');

-- Definitions whose layout is not there, or hasn't the node, as after a bad restore
INSERT INTO sno_catalog.sno_flake_generator VALUES
    ('homeless', NULL, 1, 1, 0, 0, 'nowhere', 1, 1, false), ('beyond', NULL, 1, 1, 0, 0, 'json1', 13, 13, false);
SELECT next('homeless');
\echo :LAST_ERROR_SQLSTATE
SELECT next('beyond');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_drop_generator('homeless'), sno_flake_drop_generator('beyond');
-- One that is said to count has a state in common with one of the same node: nothing comes twice.
SELECT sno_flake_create_generator('honest', 'json4', 9);
INSERT INTO sno_catalog.sno_flake_generator VALUES ('liar', NULL, 1, 1, 0, 0, 'json4', 9, 9, true);
SELECT count(DISTINCT id), count(*) FROM (SELECT next(name) AS id FROM generate_series(1, 1000), unnest('{honest,liar}'::text[]) AS name) AS s;
SELECT sno_flake_drop_generator('honest'), sno_flake_drop_generator('liar');

-- A row of another holder says that all times of a node are used up.
INSERT INTO sno_catalog.sno_lease
VALUES (1, 1, 1, 1, 'n', 0, '000000dc-6918-3800-0000-03e81f051100', 15, 15, 0, '2020-01-01', 0, 'infinity', 'infinity', '2020-01-01');
SELECT sno_flake_create_generator('late', 'json4', 15);
SET sno.max_wait = 10;
SELECT sno_flake_generate('late');
\echo :LAST_ERROR_SQLSTATE
RESET sno.max_wait;
SELECT sno_flake_drop_generator('late');

-- Only members of a role may use a restricted one.
SELECT sno_flake_create_generator('closed', 'json5', 1), sno_flake_restrict_generator('closed', 'regress_sno_flake_owner');
SET ROLE regress_sno_flake_user;
SELECT sno_flake_generate('closed');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
SELECT sno_flake_restrict_generator('closed');
SET ROLE regress_sno_flake_user;
SELECT sno_flake_generate('closed') > 0 AS made;
RESET ROLE;
SELECT sno_flake_restrict_generator('closed', 'regress_sno_flake_nobody');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_restrict_generator('none');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_restrict_generator(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_drop_generator('closed');

-- All numbers are counted.
SELECT ((1::bigint << 39) - 1) * 131072 AS most \gset
SELECT sno_flake_advance('counter', :most - 2);
SELECT next('counter') - :most AS number;
SELECT next('counter') - :most AS number;
SELECT next('counter');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance('counter', :most);
SELECT next('counter');

--
-- Privileges
--
SET SESSION AUTHORIZATION regress_sno_flake_user;
SELECT node('given', 'snowflake');
SELECT sno_flake_create_generator('x', 'snowflake', 700);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_advance('given', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_drop_generator('given');
SET SESSION AUTHORIZATION regress_sno_flake_owner;
SELECT sno_flake_create_generator('x', 'snowflake', 700), sno_flake_advance('x', 1), sno_flake_drop_generator('x');
RESET SESSION AUTHORIZATION;
REVOKE EXECUTE ON FUNCTION sno_flake_generate(text), sno_flake_generate_uuid(text), sno_flake_generate_bytea(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sno_flake_generate_uuid(text) TO regress_sno_flake_user;
SET SESSION AUTHORIZATION regress_sno_flake_user;
SELECT sno_flake_generate('given');
SELECT sno_flake_generate_bytea('objectid');
SELECT sno_flake_generate_uuid('boundary') IS NOT NULL AS made;
RESET SESSION AUTHORIZATION;

-- The extension is dropped, and created again: what was issued is in memory.
SELECT sno_flake_generate('snowflake') AS before, sno_flake_generate('odd') AS number \gset
DROP TABLE a, b, c, by_workers;
DROP EXTENSION sno_flakes;
DROP EXTENSION sno;
CREATE EXTENSION sno;
CREATE EXTENSION sno_flakes;
SELECT sno_flake_create_generator('again', 'snowflake', 500), sno_flake_create_generator('odd', 'tickets', 1);
SELECT sno_flake_generate('again') > :before AS later, sno_flake_generate('odd') > :number AS higher;

\c :"db"
DROP DATABASE regress_sno_flake;
DROP ROLE regress_sno_flake_owner, regress_sno_flake_user;
