-- Move a database from sno_portable to the extension sno, or back, in one transaction:
--
--     psql -1 -v ON_ERROR_STOP=1 -f portable/move.sql
--
-- Run it as the owner of the installed functions, who then owns the new ones.
--
-- No table is read or written: the ids stay as they are.  Defaults of columns are dropped and
-- set again.  If other objects use functions of sno, for example views, the script fails without
-- changes, and lists them.  Drop these before, and create them again afterwards.

SET LOCAL search_path = pg_catalog;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'sno')
        AND to_regprocedure('sno.next()') IS NULL
    THEN
        RAISE undefined_object USING
            MESSAGE = 'neither extension sno nor one sno_portable is in this database',
            HINT = 'Connect to the database that has one of them.';
    END IF;
END
$$;

SELECT count(*) = 0 AS forth FROM pg_extension WHERE extname = 'sno' \gset
\if :forth
    SELECT 'sno' AS schema, EXISTS (SELECT FROM pg_extension WHERE extname = 'sno_portable') AS packaged \gset
\else
    SELECT 'pg_catalog' AS schema, to_regprocedure('pgtle."sno_portable.control"()') IS NOT NULL AS packaged \gset
\endif

-- With the search path sno, which is set here, pg_get_expr() doesn't qualify the names of functions.  The
-- names in this query were looked up before in pg_catalog, because another role may own a schema sno.
CREATE TEMPORARY TABLE sno_moved ON COMMIT DROP AS
SELECT format('ALTER TABLE ONLY %s ALTER COLUMN %I', d.adrelid::regclass, a.attname) AS alter_column,
    pg_get_expr(d.adbin, d.adrelid) AS expression
FROM set_config('search_path', 'sno', true), pg_attrdef AS d JOIN pg_attribute AS a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
WHERE a.attgenerated = '' AND EXISTS (
    SELECT FROM pg_depend AS u JOIN pg_proc AS p ON u.refclassid = 'pg_proc'::regclass AND u.refobjid = p.oid
    WHERE u.classid = 'pg_attrdef'::regclass AND u.objid = d.oid AND p.pronamespace = :'schema'::regnamespace AND p.proname LIKE 'sno\_%');
SELECT alter_column || ' DROP DEFAULT' FROM pg_temp.sno_moved \gexec

\if :forth
    \if :packaged
        DROP EXTENSION sno_portable;
    \else
        \ir drop.sql
    \endif
    CREATE EXTENSION sno;
\else
    DROP EXTENSION sno;
    \if :packaged
        CREATE EXTENSION sno_portable SCHEMA pg_catalog;
    \else
        \ir sno_portable--0.9.sql
    \endif
\endif

SELECT alter_column || ' SET DEFAULT ' || expression FROM pg_temp.sno_moved \gexec
