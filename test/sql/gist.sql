--
-- GiST: ids beside ranges
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line !~ '^ *(Disabled|Replaces):' THEN
            RETURN NEXT line;
        END IF;
    END LOOP;
END $$;

-- Nothing can be booked twice for the same time.
CREATE TABLE booking (thing sno, during tstzrange, EXCLUDE USING gist (thing WITH =, during WITH &&));
INSERT INTO booking VALUES ('brpk4q72xwf2m63l', '[2026-01-01,2026-01-03)'), ('brpk4q72xwf2m63m', '[2026-01-01,2026-01-03)'),
    ('brpk4q72xwf2m63l', '[2026-01-03,2026-01-04)');
INSERT INTO booking VALUES ('brpk4q72xwf2m63l', '[2026-01-02,2026-01-03)');
\echo :LAST_ERROR_SQLSTATE

-- One place holds one kind of things only.
CREATE TABLE place (number int4range, thing sno, EXCLUDE USING gist (number WITH =, thing WITH <>));
INSERT INTO place VALUES ('[1,1]', '2222222222222222'), ('[1,1]', '2222222222222222'), ('[2,2]', '2222222222222223');
INSERT INTO place VALUES ('[1,1]', '2222222222222223');

-- An index built at once, one built row by row with page splits, and an
-- unindexed table of the same ids, some of them equal
CREATE TABLE gist_built (id sno, n int);
INSERT INTO gist_built
SELECT * FROM (
    SELECT sno_make(timestamptz '2026-01-01' + n / 2 * interval '1 min', n % 5, n % 7), n FROM generate_series(1, 6000) AS n
    UNION ALL SELECT '2222222222222222', 0 FROM generate_series(1, 5)
    UNION ALL SELECT NULL, 0
    UNION ALL SELECT 'xxxxxxxxxxxxxxxx', 0) AS v (id, n)
ORDER BY md5(n::text);
CREATE INDEX gist_built_id ON gist_built USING gist (id);
CREATE TABLE gist_inserted (id sno, n int);
CREATE INDEX gist_inserted_id ON gist_inserted USING gist (id);
INSERT INTO gist_inserted SELECT * FROM gist_built;
CREATE TABLE gist_none AS SELECT * FROM gist_built;
ANALYZE gist_built, gist_inserted, gist_none;

CREATE TEMP TABLE probe AS
SELECT id FROM gist_built WHERE n % 1000 < 2
UNION SELECT * FROM unnest('{2222222222222222,2222222222222223,xxxxxxxxxxxxxxxw,xxxxxxxxxxxxxxxx}'::sno[]);
CREATE FUNCTION pg_temp.counts(relation regclass) RETURNS TABLE (operator text, counts bigint[]) LANGUAGE plpgsql AS $$
BEGIN
    FOREACH operator IN ARRAY '{<,<=,=,<>,>=,>}'::text[] LOOP
        EXECUTE format('SELECT array_agg(c ORDER BY probe.id)
            FROM probe, LATERAL (SELECT count(*) AS c FROM %s AS r WHERE r.id %s probe.id) AS s', relation, operator) INTO counts;
        RETURN NEXT;
    END LOOP;
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SELECT pg_temp.plan($$SELECT id FROM gist_built WHERE id = '2222222222222222'$$);
SELECT pg_temp.plan($$SELECT n FROM gist_inserted WHERE id <> '2222222222222222'$$);
SELECT pg_temp.plan($$SELECT n FROM gist_inserted WHERE id <@ tstzrange('2026-01-02', '2026-01-02 01:00')$$);
SELECT operator, b.counts = i.counts AS inserted, b.counts = n.counts AS unindexed, array_length(b.counts, 1) AS probes
FROM pg_temp.counts('gist_built') AS b JOIN pg_temp.counts('gist_inserted') AS i USING (operator)
JOIN pg_temp.counts('gist_none') AS n USING (operator) ORDER BY operator COLLATE "C";
-- A search reads few pages of many.
CREATE FUNCTION pg_temp.buffers(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ 'Buffers: ' THEN
            RETURN (SELECT sum(m[1]::int) FROM regexp_matches(line, '(?:hit|read)=(\d+)', 'g') AS m);
        END IF;
    END LOOP;
END $$;
SELECT relation, pg_relation_size(relation || '_id') / 8192 > 15 AS many_pages,
    pg_temp.buffers(format($$SELECT n FROM %I WHERE id = sno_make('2026-01-02', 0, 3)$$, relation)) BETWEEN 2 AND 6 AS equal_reads_few,
    pg_temp.buffers(format($$SELECT n FROM %I WHERE id < '2222222222222229'$$, relation)) BETWEEN 2 AND 12 AS less_reads_few
FROM unnest('{gist_built,gist_inserted}'::text[]) AS relation;
SELECT count(*), min(n), max(n) FROM gist_inserted WHERE id <@ tstzrange('2026-01-02', '2026-01-02 01:00');
-- The ids come out of the index as they went in.
SELECT count(*) FROM (SELECT id FROM gist_inserted WHERE id >= '2222222222222222' EXCEPT ALL SELECT id FROM gist_none) AS s;

DROP TABLE booking, place, gist_built, gist_inserted, gist_none;
