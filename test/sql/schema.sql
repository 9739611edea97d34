--
-- The extensions in pg_catalog: every search path finds what users call
--
SET client_min_messages = warning;
SELECT current_database() AS db \gset
DROP DATABASE IF EXISTS regress_sno_schema;
CREATE DATABASE regress_sno_schema;
\c regress_sno_schema
SET client_min_messages = warning;
SET TimeZone = 'UTC';
CREATE SCHEMA ids;
CREATE EXTENSION sno SCHEMA ids;
CREATE EXTENSION sno SCHEMA public;
CREATE EXTENSION sno_seal CASCADE;
CREATE EXTENSION sno_flakes;
ALTER EXTENSION sno SET SCHEMA ids;
CREATE VIEW member AS
SELECT extname, (pg_identify_object(classid, objid, 0)).*, classid, objid
FROM pg_extension AS e JOIN pg_depend ON refclassid = 'pg_extension'::regclass AND refobjid = e.oid AND deptype = 'e'
WHERE extname ~ '^sno' AND objid NOT IN (SELECT oid FROM pg_type WHERE typrelid <> 0 OR typelem <> 0);   -- from 17 on, they have row types of tables, and arrays of these
SELECT extname, schema, string_agg(DISTINCT type, ', ') FROM member GROUP BY 1, 2 ORDER BY 1, 2;

-- What only the server calls is in sno_catalog, and nothing else is.
CREATE VIEW called AS
SELECT oprcode::oid AS function FROM pg_operator
UNION ALL SELECT oprrest FROM pg_operator
UNION ALL SELECT oprjoin FROM pg_operator
UNION ALL SELECT amproc FROM pg_amproc
UNION ALL SELECT unnest(ARRAY[typinput, typoutput, typreceive, typsend]) FROM pg_type
UNION ALL SELECT unnest(ARRAY[aggtransfn, aggcombinefn, aggfinalfn]) FROM pg_aggregate
UNION ALL SELECT prosupport FROM pg_proc
UNION ALL SELECT tgfoid FROM pg_trigger
UNION ALL SELECT unnest(ARRAY['sno_catalog.sno_skip_support', 'sno_catalog.sno_settle_privileges']::regproc[]);   -- by PostgreSQL 18, by scripts
SELECT identity FROM member
WHERE classid = 'pg_proc'::regclass AND (schema = 'sno_catalog') <> (objid IN (SELECT function FROM called));

-- It works with an empty search path, even if somebody has a type or a function of that name.
SET search_path = '';
CREATE TEMP TABLE item (id pg_catalog.sno PRIMARY KEY DEFAULT sno_generate(1), n integer, at timestamptz GENERATED ALWAYS AS (sno_timestamp(id)) STORED);
INSERT INTO item (n) SELECT n FROM generate_series(1, 1000) AS n;
SELECT count(*), count(DISTINCT id) FROM item WHERE id <@ tstzrange(now() - interval '1 hour', NULL) AND id IS DISTINCT FROM '9q7lkdko263dq225';
SELECT nullif(id, id), CASE id WHEN id THEN 'itself' END, id IN (id, '2222222222222222'), (id, n) < (id, n + 1) FROM item JOIN item AS i USING (id, n) WHERE n = 1;
RESET search_path;
CREATE DOMAIN public.sno AS text;
CREATE FUNCTION public.sno_meta(pg_catalog.sno) RETURNS integer LANGUAGE sql RETURN -1;
SELECT 'sno'::regtype, sno_meta(sno_make('2026-01-01', 7, 0));

\c :db
SET client_min_messages = warning;
DROP DATABASE regress_sno_schema;
