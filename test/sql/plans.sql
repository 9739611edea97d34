--
-- The same queries on a uuid key and on a sno key: the same plans.  To read
-- them side by side, run this in an empty database with psql -v show=1 -f.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
SET default_statistics_target = 100;
SET work_mem = '4MB';
SET random_page_cost = 4;
SET max_parallel_workers = 2;
SET max_parallel_workers_per_gather = 2;

-- One set of tables twice, in two schemas.  The uuids are those of the ids, so
-- that values, order and statistics are alike; key(n) is the n-th of them.
CREATE SCHEMA plans_sno;
CREATE SCHEMA plans_uuid;
CREATE FUNCTION plans_sno.key(n int) RETURNS sno IMMUTABLE PARALLEL SAFE LANGUAGE sql
RETURN sno_make(timestamptz '2026-01-01 00:00+00' + n * interval '1 min', n % 4, n % 7, n % 3);
CREATE FUNCTION plans_uuid.key(n int) RETURNS uuid IMMUTABLE PARALLEL SAFE LANGUAGE sql
RETURN sno_to_uuidv8(plans_sno.key(n));

-- Functions that uuid does not have
CREATE FUNCTION plans_uuid.smaller(uuid, uuid) RETURNS uuid IMMUTABLE STRICT PARALLEL SAFE COST 1 LANGUAGE sql RETURN least($1, $2);
CREATE FUNCTION plans_uuid.larger(uuid, uuid) RETURNS uuid IMMUTABLE STRICT PARALLEL SAFE COST 1 LANGUAGE sql RETURN greatest($1, $2);
CREATE AGGREGATE plans_uuid.min(uuid)
    (SFUNC = plans_uuid.smaller, STYPE = uuid, COMBINEFUNC = plans_uuid.smaller, SORTOP = <, PARALLEL = SAFE);
CREATE AGGREGATE plans_uuid.max(uuid)
    (SFUNC = plans_uuid.larger, STYPE = uuid, COMBINEFUNC = plans_uuid.larger, SORTOP = >, PARALLEL = SAFE);

CREATE FUNCTION pg_temp.create_tables(schema text, type text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('search_path', schema || ', public', true);
    EXECUTE replace('
        CREATE TABLE item (id TYPE PRIMARY KEY, parent TYPE, kind int, n int, body text);
        INSERT INTO item SELECT key(i), key(i / 10), i % 10, i, repeat(md5(i::text), 2) FROM generate_series(1, 20000) AS i;
        CREATE INDEX item_parent ON item (parent);
        CREATE INDEX item_kind ON item (kind, id);

        CREATE TABLE detail (id TYPE, place int, n int, PRIMARY KEY (id, place));
        INSERT INTO detail SELECT key(i), j, i FROM generate_series(1, 20000, 4) AS i, generate_series(1, 4) AS j;

        CREATE TABLE few (id TYPE, n int);
        INSERT INTO few SELECT key(i), i FROM generate_series(1, 20000, 2000) AS i;

        CREATE TABLE hashed (id TYPE, n int);
        INSERT INTO hashed SELECT id, n FROM item;
        CREATE INDEX hashed_id ON hashed USING hash (id);

        CREATE TABLE brin (id TYPE, n int, body text);
        INSERT INTO brin SELECT id, n, body FROM item ORDER BY id;
        CREATE INDEX brin_id ON brin USING brin (id) WITH (pages_per_range = 4);

        CREATE TABLE log (id TYPE PRIMARY KEY, n int) PARTITION BY RANGE (id);
        CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (MINVALUE) TO (key(5000));
        CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (key(5000)) TO (key(10000));
        CREATE TABLE log_3 PARTITION OF log FOR VALUES FROM (key(10000)) TO (MAXVALUE);
        INSERT INTO log SELECT id, n FROM item;

        CREATE TABLE bucket (id TYPE PRIMARY KEY, n int) PARTITION BY HASH (id);
        CREATE TABLE bucket_0 PARTITION OF bucket FOR VALUES WITH (MODULUS 2, REMAINDER 0);
        CREATE TABLE bucket_1 PARTITION OF bucket FOR VALUES WITH (MODULUS 2, REMAINDER 1);
        INSERT INTO bucket SELECT id, n FROM item;', 'TYPE', type);
END $$;
SELECT pg_temp.create_tables('plans_sno', 'sno');
SELECT pg_temp.create_tables('plans_uuid', 'uuid');
VACUUM ANALYZE;

-- Name, the kind of plan that it is about, settings that it needs, query
CREATE TEMP TABLE query (name text, node text, settings text, query text);
\set parallel 'parallel_setup_cost=0 parallel_tuple_cost=0 min_parallel_table_scan_size=0 min_parallel_index_scan_size=0'
INSERT INTO query VALUES
    ('lookup', 'Index Scan using item_pkey', '', 'SELECT * FROM item WHERE id = key(5000)'),
    ('lookup, index only', 'Index Only Scan', '', 'SELECT id FROM item WHERE id = key(5000)'),
    ('lookup by subquery', 'Index Scan using item_pkey', '', 'SELECT * FROM item WHERE id = (SELECT id FROM few WHERE n = 2001)'),
    ('lookup, hash index', 'Index Scan using hashed_id', '', 'SELECT * FROM hashed WHERE id = key(5000)'),
    ('lookup, locked', 'LockRows', '', 'SELECT * FROM item WHERE id = key(5000) FOR UPDATE'),
    ('lookup, many rows', 'Bitmap Heap Scan', 'enable_indexscan=off', 'SELECT * FROM item WHERE parent = key(500)'),
    ('unequal', 'Seq Scan', '', 'SELECT * FROM item WHERE id <> key(5000)'),
    ('in list', 'item_pkey', '', 'SELECT * FROM item WHERE id IN (key(1), key(500), key(7000))'),
    ('any of array', 'item_pkey', '', 'SELECT * FROM item WHERE id = ANY (ARRAY[key(1), key(500), key(7000)])'),
    ('any of subquery array', 'item_pkey', '', 'SELECT * FROM item WHERE id = ANY (ARRAY(SELECT id FROM few))'),
    ('not in list', 'Seq Scan', '', 'SELECT * FROM item WHERE id NOT IN (key(1), key(500))'),
    ('or', 'item_pkey', '', 'SELECT * FROM item WHERE id = key(1) OR id = key(500)'),
    ('or of two columns', 'BitmapOr', '', 'SELECT * FROM item WHERE id = key(1) OR parent = key(500)'),
    ('range', 'Index Scan using item_pkey', '', 'SELECT * FROM item WHERE id >= key(5000) AND id < key(6000)'),
    ('range, index only', 'Index Only Scan using item_pkey', '', 'SELECT id FROM item WHERE id BETWEEN key(5000) AND key(6000)'),
    ('range, wide', 'Seq Scan', '', 'SELECT * FROM item WHERE id > key(200)'),
    ('range, bitmap', 'Bitmap Index Scan on item_pkey', 'enable_indexscan=off', 'SELECT * FROM item WHERE id < key(1000)'),
    ('range, brin', 'Bitmap Index Scan on brin_id', '', 'SELECT * FROM brin WHERE id BETWEEN key(5000) AND key(5500)'),
    ('range, second column', 'Index Only Scan using item_kind', '', 'SELECT id FROM item WHERE kind = 3 AND id > key(19000)'),
    ('rows compared', 'Index Only Scan using detail_pkey', '', 'SELECT id, place FROM detail WHERE (id, place) > (key(19000), 2) ORDER BY id, place LIMIT 10'),
    ('first', 'Limit', '', 'SELECT * FROM item ORDER BY id LIMIT 10'),
    ('last', 'Index Scan Backward using item_pkey', '', 'SELECT * FROM item ORDER BY id DESC LIMIT 10'),
    ('next page', 'Index Scan using item_pkey', '', 'SELECT * FROM item WHERE id > key(5000) ORDER BY id LIMIT 10'),
    ('last of a kind', 'Index Only Scan Backward using item_kind', '', 'SELECT max(id) FROM item WHERE kind = 3'),
    ('sorted', 'Sort', 'enable_indexscan=off', 'SELECT * FROM item ORDER BY parent, n'),
    ('sorted, incrementally', 'Incremental Sort', '', 'SELECT * FROM item ORDER BY id, body LIMIT 10'),
    ('min', 'Index Only Scan using item_pkey', '', 'SELECT min(id) FROM item'),
    ('max', 'Index Only Scan Backward using item_pkey', '', 'SELECT max(id) FROM item WHERE id < key(5000)'),
    ('min and max by group', 'HashAggregate', '', 'SELECT kind, min(id), max(id) FROM item GROUP BY kind'),
    ('count distinct', 'Aggregate', '', 'SELECT count(DISTINCT parent) FROM item'),
    ('distinct', 'Unique', '', 'SELECT DISTINCT parent FROM item'),
    ('distinct, hashed', 'HashAggregate', 'enable_indexonlyscan=off', 'SELECT DISTINCT parent FROM item'),
    ('distinct on', 'Unique', '', 'SELECT DISTINCT ON (parent) * FROM item ORDER BY parent, id DESC'),
    ('group by key', 'GroupAggregate', 'enable_hashagg=off', 'SELECT parent, count(*) FROM item GROUP BY parent'),
    ('group by key, hashed', 'HashAggregate', 'enable_indexonlyscan=off', 'SELECT parent, count(*) FROM item GROUP BY parent HAVING count(*) > 5'),
    ('row number', 'WindowAgg', '', 'SELECT id, row_number() OVER (ORDER BY id) FROM item'),
    ('neighbours', 'WindowAgg', '', 'SELECT lag(id) OVER w, lead(id) OVER w FROM item WINDOW w AS (PARTITION BY parent ORDER BY id)'),
    ('nested loop', 'Nested Loop', '', 'SELECT * FROM few JOIN item USING (id)'),
    ('nested loop, left', 'Nested Loop Left Join', '', 'SELECT * FROM few LEFT JOIN item USING (id)'),
    ('nested loop, range', 'Nested Loop', '', 'SELECT * FROM few JOIN item ON item.id > few.id AND item.id < key(2100)'),
    ('hash join', 'Hash Join', '', 'SELECT * FROM item JOIN detail USING (id)'),
    ('hash join, full', 'Hash Full Join', 'enable_mergejoin=off', 'SELECT * FROM item FULL JOIN detail USING (id)'),
    ('merge join', 'Merge Join', 'enable_hashjoin=off', 'SELECT item.id FROM item JOIN detail USING (id)'),
    ('merge join, sorted', 'Sort', 'enable_hashjoin=off enable_nestloop=off enable_indexscan=off enable_indexonlyscan=off', 'SELECT * FROM item JOIN hashed USING (id)'),
    ('semi join', 'Semi Join', '', 'SELECT * FROM item WHERE EXISTS (SELECT FROM hashed WHERE hashed.id = item.id)'),
    ('semi join, in', 'Nested Loop', '', 'SELECT * FROM item WHERE id IN (SELECT id FROM few)'),
    ('anti join', 'Anti Join', '', 'SELECT * FROM item WHERE NOT EXISTS (SELECT FROM detail WHERE detail.id = item.id)'),
    ('parent of parent', 'Join', '', 'SELECT c.n, p.n FROM item c JOIN item p ON c.parent = p.id'),
    ('lateral', 'Nested Loop', '', 'SELECT * FROM few, LATERAL (SELECT * FROM item WHERE item.parent = few.id ORDER BY item.id DESC LIMIT 3) AS s'),
    ('memoized', 'Memoize', 'enable_hashjoin=off enable_mergejoin=off', 'SELECT c.n, p.n FROM item c JOIN item p ON c.parent = p.id'),
    ('recursive', 'Recursive Union', '', 'WITH RECURSIVE r AS (SELECT id, parent FROM item WHERE id = key(12345) UNION SELECT item.id, item.parent FROM r JOIN item ON item.id = r.parent) SELECT * FROM r'),
    ('union', 'HashAggregate', '', 'SELECT id FROM few UNION SELECT id FROM hashed'),
    ('union all, ordered', 'Merge Append', '', 'SELECT id FROM item UNION ALL SELECT id FROM log ORDER BY id LIMIT 10'),
    ('intersect', 'Intersect', '', 'SELECT id FROM few INTERSECT SELECT id FROM item'),
    ('except', 'Except', '', 'SELECT id FROM few EXCEPT SELECT id FROM item'),
    ('range partition', 'on log_2', '', 'SELECT * FROM log WHERE id = key(7000)'),
    ('range partitions, between', 'Append', '', 'SELECT count(*) FROM log WHERE id BETWEEN key(4000) AND key(6000)'),
    ('range partitions, latest', 'Index Scan Backward using log_3_pkey', '', 'SELECT * FROM log ORDER BY id DESC LIMIT 10'),
    ('range partitions, at run time', 'Append', '', 'SELECT * FROM log WHERE id = (SELECT id FROM few WHERE n = 2001)'),
    ('range partitions, joined', 'Append', 'enable_partitionwise_join=on', 'SELECT count(*) FROM log a JOIN log b USING (id)'),
    ('hash partition', 'on bucket_', '', 'SELECT n FROM bucket WHERE id = key(6000)'),
    ('hash partitions, all', 'Append', '', 'SELECT count(*) FROM bucket WHERE id > key(6000)'),
    ('parallel scan', 'Parallel Seq Scan', :'parallel', 'SELECT * FROM item WHERE parent <> key(1000)'),
    ('parallel aggregate', 'Partial', :'parallel', 'SELECT kind, min(parent), max(parent) FROM item GROUP BY kind'),
    ('parallel hash join', 'Parallel Hash', :'parallel', 'SELECT count(*) FROM item JOIN hashed USING (id)'),
    ('parallel sort', 'Gather Merge', :'parallel' || ' enable_indexscan=off', 'SELECT * FROM item ORDER BY parent, n'),
    ('update by key', 'Index Scan using item_pkey', '', 'UPDATE item SET n = 0 WHERE id = key(5000)'),
    ('update from join', 'Update on item', '', 'UPDATE item SET n = few.n FROM few WHERE few.id = item.id'),
    ('delete by key', 'Index Scan using item_pkey', '', 'DELETE FROM item WHERE id = key(5000)'),
    ('delete range of partitions', 'Delete on log', '', 'DELETE FROM log WHERE id < key(4000)'),
    ('on conflict', 'Conflict Arbiter Indexes: item_pkey', '', 'INSERT INTO item (id) VALUES (key(5000)) ON CONFLICT (id) DO UPDATE SET n = excluded.n'),
    ('merge', 'Merge on item', '', 'MERGE INTO item USING few ON item.id = few.id WHEN MATCHED THEN UPDATE SET n = few.n WHEN NOT MATCHED THEN INSERT (id) VALUES (few.id)');

-- A plan without what tells the types apart: their names, constants, and
-- which of the hash partitions has a key
CREATE FUNCTION pg_temp.plan(schema text, settings text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    setting text;
    line text;
    lines text[];
BEGIN
    PERFORM set_config('search_path', schema || ', public', true);
    FOREACH setting IN ARRAY regexp_split_to_array('jit=off ' || settings, ' +') LOOP
        CONTINUE WHEN setting = '';
        PERFORM set_config(split_part(setting, '=', 1), split_part(setting, '=', 2), true);
    END LOOP;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        line := regexp_replace(line, $re$'[^']*'::(sno|uuid)(\[\])?$re$, 'key', 'g');
        lines := lines || regexp_replace(line, 'bucket_[01]', 'bucket_n', 'g');
    END LOOP;
    FOREACH setting IN ARRAY regexp_split_to_array(settings, ' +') LOOP
        CONTINUE WHEN setting = '';
        EXECUTE format('SET LOCAL %I TO DEFAULT', split_part(setting, '=', 1));
    END LOOP;
    RETURN array_to_string(lines, E'\n');
END $$;
CREATE TEMP TABLE plan AS
SELECT name, node, pg_temp.plan('plans_uuid', settings, query) AS uuid, pg_temp.plan('plans_sno', settings, query) AS sno FROM query;

\if :{?show}
\pset format wrapped
SELECT name, uuid, sno FROM plan ORDER BY name COLLATE "C";
\quit
\endif

-- Is the plan of the kind expected, and is it the same?
SELECT name, node, strpos(sno, node) > 0 AS as_expected, sno = uuid AS same FROM plan ORDER BY name COLLATE "C";
SELECT uuid, sno FROM plan WHERE sno <> uuid OR strpos(sno, node) = 0;

SET client_min_messages = warning;
DROP SCHEMA plans_sno, plans_uuid CASCADE;
