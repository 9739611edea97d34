--
-- Nodes of generators that are created without one: which are chosen, and until when
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
DROP DATABASE IF EXISTS regress_sno_nodes;
DROP DATABASE IF EXISTS regress_sno_nodes_other;
RESET client_min_messages;
SELECT current_database() AS db \gset
CREATE DATABASE regress_sno_nodes;
\c regress_sno_nodes
CREATE EXTENSION sno_flakes CASCADE;
SET TimeZone = 'UTC';
\set SHOW_CONTEXT never

-- Make an id by a generator, whatever its type, and return its node.
CREATE FUNCTION node(generator text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    d record;
    kind text;
    node bigint;
BEGIN
    SELECT layout, time_bits + node_bits + sequence_bits AS bits INTO STRICT d
    FROM sno_catalog.sno_flake_generator AS g JOIN sno_catalog.sno_flake_layout AS l ON l.name = g.layout
    WHERE g.name = generator;
    kind := CASE WHEN d.bits <= 64 THEN '' WHEN d.bits = 128 THEN '_uuid' ELSE '_bytea' END;
    EXECUTE format('SELECT (sno_flake_parts(sno_flake_generate%s($1), $2)).node', kind)
    INTO node USING generator, d.layout;
    RETURN node;
END $$;
-- The nodes of a generator in use
CREATE FUNCTION nodes(generator text) RETURNS int8range LANGUAGE sql AS $$
    SELECT int8range(node_first, node_last, '[]') FROM sno_generators()
    WHERE name = generator AND database = current_database() AND node_first IS NOT NULL
$$;
-- What a statement raises
CREATE FUNCTION error_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    message text;
    name text;
BEGIN
    EXECUTE statement;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, name = CONSTRAINT_NAME;
    RETURN SQLSTATE || ' ' || coalesce(nullif(name, ''), message);
END $$;

-- What defines a layout
SELECT name, sno_flake_layout_definition(name) FROM sno_catalog.sno_flake_layout ORDER BY name;
SELECT sno_flake_layout_definition('none');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_layout_definition(NULL) IS NULL AS null_name;

--
-- The definition has the number of nodes.  They are chosen at the first id, and shown then.
--
SELECT name, sno_flake_create_generator(name, name) AS node FROM sno_catalog.sno_flake_layout WHERE unit > 0 ORDER BY name;
SELECT count(*), count(node_first) AS firsts, count(node_last) AS lasts FROM sno_generators() WHERE layout IS NOT NULL AND database = current_database();
CREATE TEMP TABLE chosen AS SELECT name, node(name) FROM sno_catalog.sno_flake_generator;
SELECT c.name, layout, node_first = node AND g.node_last = node AS shown, node BETWEEN 0 AND (1::bigint << node_bits) - 1 AS in_layout
FROM chosen AS c JOIN sno_generators() AS g ON g.name = c.name AND g.database = current_database() JOIN sno_catalog.sno_flake_layout AS l ON l.name = c.name
ORDER BY c.name;
SELECT count(*), count(node_first) AS firsts, count(node_last) AS lasts, min(nodes), max(nodes) FROM sno_catalog.sno_flake_generator;
SELECT bool_and(node(name) = node) AS stays FROM chosen, generate_series(1, 10);

-- Several nodes are neighbours, and no two generators share one.
SELECT count(*) AS created, count(sno_flake_create_generator('three ' || n, 'snowflake', nodes => 3)) AS node FROM generate_series(1, 100) AS n;
SELECT bool_and(node('three ' || n) <@ nodes('three ' || n)) AS own FROM generate_series(1, 100) AS n;
SELECT count(*), min(upper(nodes) - lower(nodes)), max(upper(nodes) - lower(nodes)), bool_and(nodes <@ '[0,1023]'::int8range) AS in_layout
FROM generate_series(1, 100) AS n, nodes('three ' || n);
SELECT count(*) FROM sno_generators() AS a JOIN sno_generators() AS b ON a.layout = b.layout AND a.name < b.name
    AND int8range(a.node_first, a.node_last, '[]') && int8range(b.node_first, b.node_last, '[]')
WHERE a.database = current_database() AND b.database = current_database();
SELECT sno_flake_create_layout('hours', '2020-01-01Z', 3600000, 30, 4, 6);
SELECT sno_flake_create_generator('hours', 'hours', nodes => 3);
SELECT count(DISTINCT node), max(node) - min(node) AS apart FROM (SELECT node('hours') FROM generate_series(1, 96)) AS s;
SELECT count(sno_flake_drop_generator('three ' || n)) FROM generate_series(1, 100) AS n;

--
-- Nodes are chosen in this server's share, which is that of the partitions
--
SET sno.partitions = '0-16383';
SELECT sno_flake_create_generator('quarter', 'snowflake', nodes => 256);
SELECT sno_flake_create_generator('more', 'snowflake', nodes => 257);
\echo :LAST_ERROR_SQLSTATE
SET sno.partitions = '32768-65535';
SELECT sno_flake_create_generator('count', 'tickets');
SELECT sno_flake_create_generator('none', 'simpleflake');
\echo :LAST_ERROR_SQLSTATE
SET sno.partitions = '1000-1063';
SELECT sno_flake_create_generator('small', 'snowflake'), node('small'), nodes('small');
SELECT sno_flake_create_generator('second', 'snowflake');
SET sno.max_wait = 10;
SELECT sno_flake_generate('second');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_generate('quarter');
\echo :LAST_ERROR_SQLSTATE
-- Sessions leave nodes that are out of the share.
SET sno.partitions = '2000-2063';
SELECT node('small'), nodes('small');
RESET sno.partitions;
SELECT node('small'), nodes('second') IS NULL AS unused;
SELECT node('second') <> 31 AS free;
-- They do so at once.
SELECT sno_flake_create_generator('seconds', 'json4');
SELECT sno_flake_generate('seconds') > 0 AS made, (sno_flake_parts(sno_flake_generate('seconds'), 'json4')).node < 16 AS before,
    set_config('sno.partitions', CASE WHEN (sno_flake_parts(sno_flake_generate('seconds'), 'json4')).node < 16
        THEN '32768-65535' ELSE '0-32767' END, false) = '32768-65535' AS moved,
    (sno_flake_parts(sno_flake_generate('seconds'), 'json4')).node < 16 AS after \gset
SELECT :'made' AS made, :'before' <> :'after' AS left;
RESET sno.partitions;
SELECT count(sno_flake_drop_generator(name)) FROM unnest('{quarter,count,small,second,seconds}'::text[]) AS name;

-- The shares of servers don't overlap, and leave no node out.
INSERT INTO sno_catalog.sno_flake_layout
SELECT 'bits' || n, '2020-01-01Z', 1, CASE WHEN n <= 17 THEN 41 WHEN n = 24 THEN 58 ELSE 90 - n END, n, 6 FROM unnest('{0,1,7,15,16,17,24,47,48}'::integer[]) AS n;
-- Is a node chosen, if no other one is free?
CREATE FUNCTION is_chosen(layout_name text, partitions text, wanted bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    last bigint := (SELECT (1::bigint << node_bits) - 1 FROM sno_catalog.sno_flake_layout WHERE name = layout_name);
BEGIN
    INSERT INTO sno_catalog.sno_flake_generator (name, system_identifier, timeline, database, home, layout, node_first, node_last, counts)
    SELECT name, 0, 0, 0, 0, layout_name, a, b, false FROM (VALUES ('below', 0, wanted - 1), ('above', wanted + 1, last)) AS v (name, a, b) WHERE a <= b;
    PERFORM set_config('sno.partitions', partitions, true);
    PERFORM sno_flake_create_generator(partitions || wanted, layout_name);
    ASSERT node(partitions || wanted) = wanted;
    -- All of it is taken back.
    RAISE no_data_found;
EXCEPTION
    WHEN no_data_found THEN RETURN true;
    WHEN configuration_limit_exceeded THEN RETURN false;
END $$;
SELECT name, partitions, first, last, (SELECT array_agg(is_chosen(name, partitions, n) ORDER BY n) FROM unnest(ARRAY[first - 1, first, last, last + 1]) AS n WHERE n BETWEEN 0 AND (1::bigint << node_bits) - 1) AS chosen
FROM sno_catalog.sno_flake_layout, unnest('{0-9,10-10,11-21845,21846-21846,21847-40959,40960-65535}'::text[]) WITH ORDINALITY AS p (partitions, place),
    LATERAL (SELECT ceil(split_part(partitions, '-', 1)::numeric * 2 ^ node_bits / 65536)::bigint AS first, ceil((split_part(partitions, '-', 2)::numeric + 1) * 2 ^ node_bits / 65536)::bigint - 1 AS last) AS s
WHERE name LIKE 'bits%' ORDER BY node_bits, place;

--
-- All nodes of a layout are in use
--
SELECT count(*) AS created, count(sno_flake_create_generator('one' || n, 'json1')) AS node FROM generate_series(2, 9) AS n;
SELECT array_agg(DISTINCT node(name) ORDER BY node(name)) FROM sno_catalog.sno_flake_generator WHERE layout = 'json1' AND name <> 'one9';
SELECT sno_flake_generate('one9');
\echo :LAST_ERROR_SQLSTATE
SELECT node('one5') AS node \gset
SELECT sno_flake_drop_generator('one5');
SELECT node('one9') = :node AS the_free_one;
SELECT count(DISTINCT sno_flake_generate(name)) FROM sno_catalog.sno_flake_generator, generate_series(1, 100) WHERE layout = 'json1';
-- Those that no session uses are not in the way, when the session before has ended.
\c -
SET sno.max_wait = '1 min';
SELECT sno_flake_create_generator('one5', 'json1'), node('one5') BETWEEN 0 AND 7 AS in_layout;
-- Nodes where this database issued are taken first.
SELECT sno_flake_create_layout('again', '2020-01-01Z', 1, 41, 10, 12);
SELECT sno_flake_create_generator('again', 'again'), sno_flake_generate('again') AS id, nodes('again') AS nodes \gset
\c -
-- What was issued is over when the clock is past it.
SET regress.id = :id;
DO $$BEGIN WHILE sno_flake_timestamp(current_setting('regress.id')::bigint, 'again') + interval '1 ms' >= clock_timestamp() LOOP END LOOP; END$$;
SELECT sno_flake_generate('again') > :id AS later, nodes('again') = :'nodes' AS same;
-- One that is dropped, and created again, goes on after what it issued.
SELECT sno_flake_generate('again') AS id \gset
SELECT sno_flake_drop_generator('again'), sno_flake_create_generator('again', 'again');
SELECT sno_flake_generate('again') > :id AS later, nodes('again') = :'nodes' AS same;
BEGIN;
SELECT sno_flake_create_generator('gone', 'again');
SELECT array_agg(sno_flake_generate('gone')) AS ids FROM generate_series(1, 1000) \gset
ROLLBACK;
SELECT sno_flake_create_generator('gone', 'again', nodes => 2);
SELECT count(*) FROM (SELECT sno_flake_generate('gone') AS id FROM generate_series(1, 1000)) AS s WHERE id = ANY (:'ids');
-- A revocation makes all choose again, among nodes that nobody had.
SELECT node('again') AS node \gset
SELECT sno_reseed();
SELECT node('again') <> :node AS another, node('again') <@ nodes('again') AS shown;

--
-- Fixed nodes are avoided
--
SET sno.max_wait = 10;
SELECT sno_flake_create_layout('four', '2020-01-01Z', 1, 41, 4, 10);
SELECT count(sno_flake_create_generator('fixed' || n, 'four', n)) FROM generate_series(0, 15) AS n WHERE n <> 11;
SELECT sno_flake_create_generator('free', 'four'), node('free');
-- One that is fixed gets chosen nodes when it issues.
SELECT sno_flake_create_generator('fixed11', 'four', 11);
SELECT node('free'), node('fixed11');
SELECT sno_flake_create_generator('late', 'four');
SELECT sno_flake_generate('late');
\echo :LAST_ERROR_SQLSTATE
SELECT sno_flake_drop_generator('fixed3');
SELECT node('free'), node('fixed11');
-- So it is if it gets some of them.
SELECT sno_flake_drop_generator('free'), sno_flake_drop_generator('fixed4'), sno_flake_create_generator('pair', 'four', nodes => 2);
SELECT node('pair') IN (3, 4) AS chosen, nodes('pair');
SELECT sno_flake_create_generator('fixed4', 'four', 4), node('fixed4'), sno_flake_drop_generator('fixed7'), sno_flake_drop_generator('fixed8');
SELECT node('pair') IN (7, 8) AS chosen, nodes('pair');
SELECT count(DISTINCT id), count(*) FROM (SELECT sno_flake_generate(name) AS id FROM unnest('{pair,fixed4}'::text[]) AS name, generate_series(1, 1000)) AS s;
-- A layout that has a single one
SELECT sno_flake_create_generator('single', 'simpleflake', 0), node('single');
SELECT sno_flake_generate('simpleflake');
\echo :LAST_ERROR_SQLSTATE

--
-- A database avoids the nodes of another one of this server, as long as others are free
--
SELECT sno_flake_create_layout('shared', '2020-01-02Z', 1, 41, 3, 12);
SELECT count(*) AS created, count(sno_flake_create_generator('here' || n, 'shared')) AS node FROM generate_series(1, 5) AS n;
SELECT array_agg(node('here' || n)) AS here FROM generate_series(1, 5) AS n \gset
CREATE DATABASE regress_sno_nodes_other;
\c regress_sno_nodes_other
CREATE EXTENSION sno_flakes CASCADE;
SELECT sno_flake_create_layout('theirs', '2020-01-02Z', 1, 41, 3, 12);
SELECT count(*) AS created, count(sno_flake_create_generator('there' || n, 'theirs')) AS node FROM generate_series(1, 4) AS n;
SELECT array_agg((sno_flake_parts(sno_flake_generate('there' || n), 'theirs')).node) AS there FROM generate_series(1, 3) AS n \gset
SELECT count(DISTINCT n) FROM unnest(:'here'::bigint[] || :'there'::bigint[]) AS n;
SELECT (sno_flake_parts(sno_flake_generate('there4'), 'theirs')).node = ANY (:'here') AS of_the_other;
\c regress_sno_nodes
DROP DATABASE regress_sno_nodes_other;

--
-- What the table refuses, and forged rows
--
CREATE FUNCTION forge(name text, layout text, node_first bigint, node_last bigint, nodes integer, counts boolean DEFAULT false) RETURNS text LANGUAGE sql AS $$
    SELECT error_of(format('INSERT INTO sno_catalog.sno_flake_generator (name, system_identifier, timeline, database, home, layout, node_first, node_last, nodes, counts) '
        'VALUES (%L, 0, 0, 0, 0, %L, %L, %L, %L, %L)', name, layout, node_first, node_last, nodes, counts))
$$;
SELECT a, b, n, forge('x', 'discord', a, b, n)
FROM (VALUES (NULL, NULL, NULL), (1, NULL, NULL), (NULL, 1, NULL), (1, 1, 1), (1, NULL, 1), (NULL, 1, 1), (-1, -1, NULL), (NULL, NULL, 0), (NULL, NULL, 4194305)) AS v (a, b, n);
SELECT forge('count', 'counter', NULL, NULL, 1, true), forge('large', 'discord', NULL, NULL, 1025), forge('all', 'discord', NULL, NULL, 512),
    forge('larger', 'boundary', NULL, NULL, 4194304), forge('nowhere', 'nowhere', NULL, NULL, 1), forge('liar', 'discord', NULL, NULL, 1, true);
SELECT name, error_of(format('SELECT sno_flake_generate(%L)', name)) FROM unnest('{count,large,larger,nowhere,all,liar}'::text[]) AS name;
SELECT name, nodes(name) IS NOT NULL AS used FROM unnest('{count,large,larger,nowhere,all,liar}'::text[]) AS name;
SELECT count(sno_flake_drop_generator(name)) FROM unnest('{count,large,larger,nowhere,all,liar}'::text[]) AS name;
-- Without the constraints, the number of nodes decides.
ALTER TABLE sno_catalog.sno_flake_generator DROP CONSTRAINT sno_flake_generator_nodes;
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT conname FROM pg_constraint WHERE conrelid = 'sno_catalog.sno_flake_generator'::regclass AND contype = 'c' LOOP
        EXECUTE format('ALTER TABLE sno_catalog.sno_flake_generator DROP CONSTRAINT %I', name);
    END LOOP;
END $$;
SELECT forge('nothing', 'discord', NULL, NULL, NULL), forge('both', 'discord', 5, 6, 2), forge('zero', 'discord', NULL, NULL, 0),
    forge('negative', 'discord', NULL, NULL, -1), forge('least', 'discord', NULL, NULL, -2147483648), forge('most', 'boundary', NULL, NULL, 2147483647);
SELECT name, error_of(format('SELECT sno_flake_generate(%L)', name))
FROM unnest('{nothing,both,zero,negative,least,most}'::text[]) AS name;
SELECT name, upper(nodes) - lower(nodes) AS nodes FROM unnest('{nothing,both,zero,negative,least,most}'::text[]) AS name, nodes(name);

\c :"db"
DROP DATABASE regress_sno_nodes;
