--
-- Operator classes: sound and complete; sorting and deduplication
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

SELECT a.amname, c.opcname, c.opcdefault, amvalidate(c.oid)
FROM pg_opclass c
JOIN pg_am a ON a.oid = c.opcmethod
JOIN pg_depend d ON d.classid = 'pg_opclass'::regclass AND d.objid = c.oid
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
WHERE e.extname = 'sno'
ORDER BY a.amname COLLATE "C", c.opcname COLLATE "C";

-- Support functions; those that 18 added are tested elsewhere.
SELECT m.amname, f.opfname, p.amprocnum AS n, p.amproc, p.amproclefttype::regtype AS "left", p.amprocrighttype::regtype AS "right"
FROM pg_amproc p
JOIN pg_opfamily f ON f.oid = p.amprocfamily
JOIN pg_am m ON m.oid = f.opfmethod
WHERE p.amproclefttype = 'sno'::regtype AND NOT (m.amname = 'btree' AND p.amprocnum = 6)
ORDER BY m.amname COLLATE "C", f.opfname COLLATE "C", p.amprocnum;

-- Ids that abbreviated keys make tie or tell apart, depending on which is the
-- first: bulk loads far apart in time and partition, of several metabytes; ids
-- spread over the epoch; its ends; duplicates and nulls.
CREATE TABLE sorted (n int, id sno);
INSERT INTO sorted
SELECT n, sno_make(
    timestamptz '2010-01-01' + (n % 7) * interval '9 years' + (n % 3) * interval '4 ms',
    n % 2, n % 5 * 1000, n / 100 * 7, n % 3 = 1)
FROM generate_series(1, 20000) AS n
UNION ALL
SELECT n, sno_make(timestamptz '2010-01-01' + n * interval '12345678 s', n % 256, n * 37 % 65536)
FROM generate_series(0, 170) AS n
UNION ALL
SELECT n, CASE n % 3 WHEN 0 THEN sno_zero() WHEN 1 THEN sno_max('infinity') END
FROM generate_series(1, 30) AS n;
ANALYZE sorted;

-- How many rows of a query are followed by one they should come after: by
-- the bytes, with nulls last.
CREATE FUNCTION pg_temp.disorder(query text, OUT rows bigint, OUT misplaced bigint) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('
        SELECT count(*), count(*) FILTER (WHERE bytes > next OR bytes IS NULL AND next IS NOT NULL)
        FROM (SELECT id::bytea AS bytes, lead(id::bytea) OVER () AS next, n, row_number() OVER () AS place FROM (%s OFFSET 0) AS q) AS s
        WHERE place < (SELECT count(*) FROM (%1$s) AS q)', query)
    INTO rows, misplaced;
END $$;

-- In any order of arrival, so that any id may be the first
SELECT DISTINCT d.* FROM generate_series(1, 10) AS seed,
    pg_temp.disorder(format('SELECT * FROM (SELECT n, id FROM sorted ORDER BY md5(%s || id::text || n)) AS s ORDER BY id', seed)) AS d;
SELECT pg_temp.disorder('SELECT * FROM (SELECT n, id FROM sorted ORDER BY n DESC) AS s ORDER BY id');
-- merged from disk,
SET work_mem = '64kB';
SELECT pg_temp.disorder('SELECT n, id FROM sorted ORDER BY id');
RESET work_mem;
-- the first few only,
SELECT pg_temp.disorder('SELECT * FROM (SELECT n, id FROM sorted ORDER BY id LIMIT 1000) AS s');
-- as the last of several keys,
SELECT pg_temp.disorder('SELECT n, id FROM sorted WHERE n % 7 = 1 ORDER BY n % 7, id');
-- out of an index, built at once or row by row.
CREATE INDEX sorted_id ON sorted (id);
CREATE TABLE inserted (n int, id sno);
CREATE INDEX ON inserted (id);
INSERT INTO inserted SELECT * FROM sorted ORDER BY md5(n::text);
SET enable_seqscan = off;
SET enable_sort = off;
SELECT pg_temp.disorder('SELECT n, id FROM sorted ORDER BY id');
SELECT pg_temp.disorder('SELECT n, id FROM inserted ORDER BY id');
RESET enable_seqscan;
RESET enable_sort;
-- Backwards
SELECT count(*), count(*) FILTER (WHERE bytes < next OR bytes IS NOT NULL AND next IS NULL) AS misplaced
FROM (SELECT id::bytea AS bytes, lead(id::bytea) OVER () AS next, row_number() OVER () AS place
      FROM (SELECT id FROM sorted ORDER BY id DESC OFFSET 0) AS q) AS s
WHERE place < (SELECT count(*) FROM sorted);
SELECT count(DISTINCT id), count(DISTINCT id::bytea) FROM sorted;

-- Equal ids look alike, so a btree keeps one for many rows.
CREATE TABLE many AS SELECT sno_make('2026-01-01', n % 10, 1) AS id FROM generate_series(1, 5000) AS n;
CREATE INDEX many_dedup ON many (id);
CREATE INDEX many_plain ON many (id) WITH (deduplicate_items = off);
SELECT pg_relation_size('many_dedup') < pg_relation_size('many_plain') / 2 AS smaller;

-- Each class serves columns of a domain, and of a domain over that.  What an index returns
-- is what a scan of the table returns.
CREATE DOMAIN order_id AS sno;
CREATE DOMAIN big_order_id AS order_id NOT NULL CHECK (sno_meta(VALUE) > 0);
CREATE FUNCTION pg_temp.search(class oid, type text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    method CONSTANT text := (SELECT amname FROM pg_am JOIN pg_opclass ON opcmethod = pg_am.oid WHERE pg_opclass.oid = class);
    operators CONSTANT text[] := (SELECT array_agg(oprname ORDER BY amopstrategy)
                                  FROM pg_amop JOIN pg_operator ON pg_operator.oid = amopopr
                                  JOIN pg_opclass ON opcfamily = amopfamily WHERE pg_opclass.oid = class);
    operator text;
    line text;
    rows bigint[];
BEGIN
    EXECUTE format('CREATE TABLE class (n int, id %s)', type);
    INSERT INTO class SELECT n, sno_make(timestamptz '2026-01-01' + n % 997 * interval '1 min', 1 + n % 3, 0) FROM generate_series(1, 5000) AS n;
    EXECUTE format('CREATE INDEX class_id ON class USING %s (id %s)%s', method,
        (SELECT opcname FROM pg_opclass WHERE oid = class), CASE method WHEN 'brin' THEN ' WITH (pages_per_range = 1)' ELSE '' END);
    INSERT INTO class SELECT n, sno_make(timestamptz '2026-02-01' + n % 7 * interval '1 min', 1, 0) FROM generate_series(1, 5000) AS n;
    IF method = 'brin' THEN
        PERFORM brin_summarize_new_values('class_id');
    END IF;
    FOREACH operator IN ARRAY operators LOOP
        SET LOCAL enable_seqscan = off;
        FOR line IN EXECUTE format('EXPLAIN SELECT FROM class WHERE id %s sno_make(%L, 2, 0)', operator, '2026-01-01 04:00') LOOP
            EXIT WHEN line ~ 'class_id';
        END LOOP;
        IF line !~ 'class_id' THEN
            RETURN format('no index for %s', operator);
        END IF;
        EXECUTE format('SELECT array_agg(n ORDER BY n) FROM class WHERE id %s sno_make(%L, 2, 0)', operator, '2026-01-01 04:00') INTO rows;
        SET LOCAL enable_seqscan = on;
        SET LOCAL enable_indexscan = off;
        SET LOCAL enable_indexonlyscan = off;
        SET LOCAL enable_bitmapscan = off;
        EXECUTE format('SELECT array_agg(n ORDER BY n) = %L FROM class WHERE id %s sno_make(%L, 2, 0)', rows, operator, '2026-01-01 04:00') INTO STRICT line;
        RESET enable_indexscan;
        RESET enable_indexonlyscan;
        RESET enable_bitmapscan;
        IF line <> 'true' THEN
            RETURN format('other rows for %s', operator);
        END IF;
    END LOOP;
    DROP TABLE class;
    RETURN array_to_string(operators, ' ');
END $$;
SELECT a.amname, c.opcname, type, pg_temp.search(c.oid, type)
FROM pg_opclass AS c JOIN pg_am AS a ON a.oid = c.opcmethod, unnest('{sno,order_id,big_order_id}'::text[]) AS type
WHERE c.opcintype = 'sno'::regtype
ORDER BY a.amname COLLATE "C", c.opcname COLLATE "C", type COLLATE "C" DESC;
-- Several columns, and an array of them, in the server's own class
CREATE TABLE class (a order_id, n int, b big_order_id, ids order_id[]);
INSERT INTO class SELECT id, n, id, ARRAY[id, sno_zero()] FROM (SELECT n, sno_make('2026-01-01', 1, 0, n) FROM generate_series(1, 1000) AS n) AS s (n, id);
CREATE INDEX class_brin ON class USING brin (a, n, b sno_minmax_multi_ops) WITH (pages_per_range = 1);
CREATE INDEX class_gin ON class USING gin (ids);
SET enable_seqscan = off;
SELECT n FROM class WHERE a = sno_make('2026-01-01', 1, 0, 7) AND b <= sno_make('2026-01-01', 1, 0, 7);
SELECT n FROM class WHERE ids @> ARRAY[sno_make('2026-01-01', 1, 0, 7)]::order_id[];
RESET enable_seqscan;

DROP TABLE sorted, inserted, many, class;
DROP DOMAIN big_order_id;
DROP DOMAIN order_id;
