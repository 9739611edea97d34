--
-- Operators, and the operator classes and aggregates behind them
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

-- Three ids, which differ in the first eight bytes, or only in the last two
SELECT a, b, a = b AS eq, a <> b AS ne, a < b AS lt, a <= b AS le, a > b AS gt, a >= b AS ge,
    sign(sno_catalog.sno_cmp(a, b)) AS cmp
FROM unnest('{brpk4q72xwf2m63l,brpk4q72xwf2m63m,brpk4q73xwf2m63l}'::sno[]) a,
    unnest('{brpk4q72xwf2m63l,brpk4q72xwf2m63m,brpk4q73xwf2m63l}'::sno[]) b
ORDER BY a, b;

-- Bytes are unsigned, at each place.
SELECT count(*), bool_and(sno_catalog.sno_cmp(low, high) < 0 AND low < high AND high > low AND low <> high) AS ordered
FROM generate_series(0, 9) AS place,
    LATERAL (SELECT set_byte('\x00000000000000000000', place, 127)::sno AS low,
        set_byte('\x00000000000000000000', place, 128)::sno AS high) AS pair;

SELECT '2222222222222222'::sno = NULL AS "null";

-- Literals take the type of the other side; no other type is comparable.
SELECT '2222222222222222' = '2222222222222222'::sno AS eq;
\set VERBOSITY terse
SELECT '2222222222222222'::sno = '2222222222222222'::text;
SELECT '2222222222222222'::sno < current_time;
\set VERBOSITY default

-- Equal ids hash alike, with and without a seed.
SELECT count(DISTINCT sno_catalog.sno_hash(id)) > 990 AS spread,
    bool_and(sno_catalog.sno_hash(id) = sno_catalog.sno_hash(id::text::sno)) AS alike,
    bool_and(sno_catalog.sno_hash_extended(id, 0)::bit(32) = sno_catalog.sno_hash(id)::bit(32)) AS agree,
    bool_and(sno_catalog.sno_hash_extended(id, 1) <> sno_catalog.sno_hash_extended(id, 2)) AS seeded
FROM (SELECT decode(lpad(to_hex(n), 20, '0'), 'hex')::sno AS id FROM generate_series(1, 1000) n) AS s;

-- 1,000 ids in an order of their own
CREATE TEMP TABLE item (id sno PRIMARY KEY, n int);
INSERT INTO item
SELECT decode(lpad(to_hex(n), 20, '0'), 'hex')::sno, n FROM generate_series(1, 1000) n ORDER BY n * 7919 % 1000;
ANALYZE item;
SELECT bool_and(n = ordinality) AS sorted
FROM (SELECT n, row_number() OVER (ORDER BY id) AS ordinality FROM item) AS s;

-- btree
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT n FROM item WHERE id = '22222222222222a3';
SELECT n FROM item WHERE id = '22222222222222a3';
EXPLAIN (COSTS OFF) SELECT n FROM item WHERE id >= '22222222222222a3' AND id < '22222222222222a7' ORDER BY id;
SELECT n FROM item WHERE id >= '22222222222222a3' AND id < '22222222222222a7' ORDER BY id;
SELECT n FROM item WHERE id IN ('22222222222222a3', '22222222222222a5', '2222222222222222') ORDER BY id DESC;
INSERT INTO item VALUES ('22222222222222a3', 0);

-- hash
CREATE TEMP TABLE hashed (id sno, n int);
INSERT INTO hashed SELECT * FROM item;
CREATE INDEX hashed_id ON hashed USING hash (id);
ANALYZE hashed;
EXPLAIN (COSTS OFF) SELECT n FROM hashed WHERE id = '22222222222222a3';
SELECT n FROM hashed WHERE id = '22222222222222a3';
RESET enable_seqscan;
RESET enable_bitmapscan;

-- joins and groups
SET enable_nestloop = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM item JOIN hashed USING (id);
SELECT count(*) FROM item JOIN hashed USING (id);
SET enable_hashjoin = off;
RESET enable_mergejoin;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM item JOIN hashed USING (id);
SELECT count(*) FROM item JOIN hashed USING (id);
RESET ALL;
SELECT count(DISTINCT id), count(*) FROM (SELECT id FROM item UNION ALL SELECT id FROM hashed) AS twice;
EXPLAIN (COSTS OFF) SELECT id, count(*) FROM hashed GROUP BY id;

-- aggregates take either end of an index,
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE FUNCTION pg_temp.scans(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'Scan' THEN
            RETURN NEXT substring(line FROM '[A-Z].*');
        END IF;
    END LOOP;
END $$;
SELECT pg_temp.scans('SELECT min(id), max(id) FROM item');
SELECT min(id), max(id) FROM item;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- also over nothing, over nulls, in windows
SELECT min(id), max(id) FROM item WHERE n < 0;
SELECT min(id), max(id) FROM (VALUES (NULL::sno), ('2222222222222225'), (NULL), ('2222222222222223')) AS v (id);
SELECT n, min(id) OVER w, max(id) OVER w FROM item WHERE n < 5
WINDOW w AS (ORDER BY n ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING);

-- hash partitions: extended hashing
CREATE TEMP TABLE part (id sno PRIMARY KEY) PARTITION BY HASH (id);
CREATE TEMP TABLE part0 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TEMP TABLE part1 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO part SELECT id FROM item;
SELECT count(*), min(count) > 400 AS even FROM (SELECT count(*) FROM part GROUP BY tableoid) AS s;
SELECT count(*) FROM part WHERE id = '22222222222222a3';
