--
-- Ids in values of other types: validity, COPY, arrays, domains, rows, JSON
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

-- Valid or not, without an error
SELECT input, sno_is_valid(input)
FROM unnest('{brpk4q72xwf2m63l,2222222222222222,xxxxxxxxxxxxxxxx,BRPK4Q72XWF2M63L,brpk4q72xwf2m63,brpk4q72xwf2m63ll,"brpk4q72 wf2m63l",
    brpk4q72yxf2m63l,1rpk4q72xwf2m63l,brpk4q72xwf2m63z,"",NULL}'::text[]) AS input;
-- the same answer as of the input function, for each character at each place, long values,
CREATE FUNCTION pg_temp.taken(input text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM input::sno;
    RETURN true;
EXCEPTION WHEN invalid_text_representation THEN
    RETURN false;
END $$;
SELECT count(*), count(*) FILTER (WHERE sno_is_valid(input)) AS valid, count(*) FILTER (WHERE sno_is_valid(input) <> pg_temp.taken(input)) AS wrong
FROM generate_series(1, 127) AS c, generate_series(1, 16) AS place, overlay('brpk4q72xwf2m63l' PLACING chr(c) FROM place) AS input;
SELECT sno_is_valid(repeat('2', 1000000)), sno_is_valid(repeat('2', 16));
-- and as a filter of rows to convert
SELECT CASE WHEN sno_is_valid(input) THEN input::sno END AS id FROM unnest('{brpk4q72xwf2m63l,nonsense}'::text[]) AS input;

-- COPY
CREATE TEMP TABLE source (n int, id sno);
INSERT INTO source VALUES (1, '2222222222222222'), (2, 'brpk4q72xwf2m63l'), (3, NULL), (4, 'xxxxxxxxxxxxxxxx');
CREATE TEMP TABLE target (LIKE source);
COPY source TO STDOUT;
COPY source TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE (id));
\getenv abs_builddir PG_ABS_BUILDDIR
\set file :abs_builddir '/results/io.data'
\set text_out '\\copy source TO ' :'file'
\set text_in '\\copy target FROM ' :'file'
\set csv_out '\\copy source TO ' :'file' ' (FORMAT csv)'
\set csv_in '\\copy target FROM ' :'file' ' (FORMAT csv)'
\set binary_out '\\copy source TO ' :'file' ' (FORMAT binary)'
\set binary_in '\\copy target FROM ' :'file' ' (FORMAT binary)'
:text_out
:text_in
:csv_out
:csv_in
:binary_out
:binary_in
SELECT n, count(*), bool_and(t.id IS NOT DISTINCT FROM s.id) AS same FROM target t JOIN source s USING (n) GROUP BY n ORDER BY n;
-- says where it failed.
COPY target FROM STDIN;
5	2222222222222223
6	2222222222222221
\.
COPY target FROM STDIN (FORMAT csv);
7,"22222222 2222222"
\.

-- Arrays
SELECT '{brpk4q72xwf2m63l,NULL,2222222222222222}'::sno[] AS a, array_length('{{2222222222222222,2222222222222223}}'::sno[], 2),
    array_position('{brpk4q72xwf2m63l,2222222222222222}'::sno[], '2222222222222222'), '2222222222222222'::sno = ANY ('{2222222222222223,2222222222222222}'),
    '{2222222222222222,2222222222222223}'::sno[] @> '{2222222222222223}', '{2222222222222222}'::sno[] < '{2222222222222223}'::sno[] AS less;
SELECT array_agg(id ORDER BY id DESC), array_remove(array_agg(id ORDER BY n), NULL) FROM source;
CREATE TEMP TABLE lists (ids sno[]);
CREATE TEMP TABLE lists_back (ids sno[]);
INSERT INTO lists SELECT array_agg(id ORDER BY n) FROM source;
\set lists_out '\\copy lists TO ' :'file' ' (FORMAT binary)'
\set lists_in '\\copy lists_back FROM ' :'file' ' (FORMAT binary)'
:lists_out
:lists_in
SELECT * FROM lists_back;
SELECT '{brpk4q72xwf2m63l,nonsense}'::sno[];

-- Domains
CREATE DOMAIN pg_temp.order_id AS sno CHECK (sno_meta(VALUE) = 1);
SELECT sno_make('2026-01-01', 1, 0)::pg_temp.order_id;
SELECT sno_make('2026-01-01', 2, 0)::pg_temp.order_id;
CREATE TEMP TABLE ordered (id pg_temp.order_id PRIMARY KEY);
INSERT INTO ordered SELECT sno_make('2026-01-01', 1, n) FROM generate_series(1, 3) AS n;
SELECT * FROM ordered WHERE id >= sno_make('2026-01-01', 1, 2) ORDER BY id DESC;

-- Composites
CREATE TYPE pg_temp.item AS (id sno, name text);
SELECT '(brpk4q72xwf2m63l,a)'::pg_temp.item AS item, ('(brpk4q72xwf2m63l,a)'::pg_temp.item).id,
    ROW('2222222222222222'::sno, 1) < ROW('2222222222222223'::sno, 0) AS less,
    ('2222222222222222'::sno, 2) >= ('2222222222222222'::sno, 1) AS greater;
SELECT record_image_eq(ROW('2222222222222222'::sno), ROW('2222222222222222'::sno));
SELECT count(DISTINCT r) FROM (SELECT ROW(id, n / 5) AS r FROM source, generate_series(1, 2)) AS s;

-- JSON: an id is its text
SELECT to_json(id), to_jsonb(id), json_build_object('id', id), jsonb_build_object(id, 1), json_agg(id) OVER () FROM source WHERE n = 2;
SELECT row_to_json(source) FROM source ORDER BY n;
SELECT * FROM jsonb_populate_record(NULL::pg_temp.item, '{"id": "brpk4q72xwf2m63l", "name": "a"}');
SELECT * FROM json_populate_recordset(NULL::pg_temp.item, '[{"id": "brpk4q72xwf2m63l"}, {"id": null}]');
SELECT * FROM jsonb_to_recordset('[{"id": "brpk4q72xwf2m63l", "ids": ["2222222222222222"]}]') AS r (id sno, ids sno[]);
SELECT (j->>'id')::sno, (j->'ids'->>0)::sno FROM (SELECT '{"id": "brpk4q72xwf2m63l", "ids": ["2222222222222222"]}'::jsonb AS j) AS s;
SELECT jsonb_populate_record(NULL::pg_temp.item, '{"id": 7}');
SELECT json_object_agg(id, n ORDER BY n) FROM source WHERE id IS NOT NULL;

-- Prepared statements, with parameters of the type or of none
PREPARE find(sno) AS SELECT n FROM source WHERE id = $1;
EXECUTE find('brpk4q72xwf2m63l');
PREPARE find_any AS SELECT n FROM source WHERE id = $1;
EXECUTE find_any('brpk4q72xwf2m63l');
PREPARE find_list(sno[]) AS SELECT n FROM source WHERE id = ANY ($1) ORDER BY n;
EXECUTE find_list('{brpk4q72xwf2m63l,2222222222222222}');

-- As text, ids sort right in any database only with COLLATE "C".  In Danish,
-- if the server knows it, "aa" is a letter after "z".
CREATE TEMP TABLE as_text AS
SELECT id::text FROM unnest('{aa22222222222222,ab22222222222222,x222222222222222,2222222222222222}'::sno[]) AS id;
CREATE FUNCTION pg_temp.right_order(collation_name text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    result boolean;
BEGIN
    EXECUTE format('SELECT array_agg(id::sno ORDER BY id COLLATE %I) = array_agg(id::sno ORDER BY id::sno) FROM as_text', collation_name)
    INTO result;
    RETURN result;
EXCEPTION WHEN undefined_object THEN
    RETURN NULL;
END $$;
SELECT pg_temp.right_order('C') AS in_c, coalesce(pg_temp.right_order('da-x-icu'), false) AS in_danish;
