--
-- What rights_planted.pl plants, as the owner of the database: operators and functions
-- for all types, types and views.  Each warns that it is run, and as whom.
--
-- psql variables: words, operators and functions, the files that tell which.
--
CREATE SCHEMA planted;
CREATE TEMP TABLE word (word name);
CREATE TEMP TABLE symbol (symbol name);
CREATE TEMP TABLE known (name name, arguments text[], is_set boolean, result text, is_ours boolean);
\set copy '\\copy word FROM ' :'words'
:copy
\set copy '\\copy symbol FROM ' :'operators'
:copy
\set copy '\\copy known FROM ' :'functions'
:copy

CREATE TEMP TABLE type AS
SELECT unnest('{bool,"\"char\"",name,int2,int4,int8,oid,regclass,regtype,regproc,regrole,regnamespace,float4,float8,numeric,
    text,bpchar,varchar,bytea,bit,varbit,date,time,timetz,timestamp,timestamptz,interval,uuid,json,jsonb,xid,pg_lsn,inet,
    int8range,numrange,tstzrange,anyelement,anyarray,anyrange,text[],oid[],int8[],int2vector,oidvector}'::regtype[]) AS type;

SET check_function_bodies = off;
CREATE PROCEDURE pg_temp.plant(name name, arguments text, result text, value text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE FUNCTION planted.%I(%s) RETURNS %s LANGUAGE plpgsql IMMUTABLE AS %L', name, arguments, result,
        format('BEGIN RAISE WARNING ''planted code runs as %%'', current_user; RETURN %s; END', value));
END $$;

-- Operators for all pairs of types, also those that pg_catalog has.  They return what
-- pg_catalog's of that name do, for types most like these.
DO $$
DECLARE
    o record;
    f name;
BEGIN
    FOR o IN
        SELECT l.type AS l, r.type AS r, symbol,
            (SELECT oprresult::regtype::text FROM pg_operator
             WHERE oprname = symbol AND oprkind = 'b' AND oprresult::regtype::text !~ '^any'
                 AND oprnamespace = 'pg_catalog'::regnamespace
             ORDER BY (oprleft = l.type)::integer + (oprright = r.type)::integer DESC, oprresult LIMIT 1) AS result
        FROM type AS l, type AS r, symbol
    LOOP
        CONTINUE WHEN o.result IS NULL;
        f := 'gives ' || o.result;
        IF to_regprocedure(format('planted.%I(%s, %s)', f, o.l, o.r)) IS NULL THEN
            CALL pg_temp.plant(f, concat_ws(', ', o.l, o.r), o.result, 'NULL');
        END IF;
        EXECUTE format('CREATE OPERATOR planted.%s (FUNCTION = planted.%I, LEFTARG = %s, RIGHTARG = %s)', o.symbol, f, o.l, o.r);
        COMMIT;  -- All these would hold too many locks.
    END LOOP;
END $$;

-- Functions by the names of those that are known: an argument is of another type, or all
-- are, or it is variadic, or there is none.  What the extensions create themselves can't be planted.
DO $$
DECLARE
    f record;
BEGIN
    FOR f IN
        SELECT DISTINCT ON (name, replace(array_to_string(other, ', '), 'VARIADIC ', ''))
            name, array_to_string(other, ', ') AS arguments, is_set, result
        FROM known, type, generate_series(-2, cardinality(arguments)) AS place,
            LATERAL (SELECT CASE
                WHEN place = -2 THEN '{}'
                WHEN place = -1 THEN ARRAY['VARIADIC ' || type || '[]']
                ELSE ARRAY(
                    SELECT CASE WHEN place IN (0, n) THEN type::text ELSE argument END
                    FROM unnest(arguments) WITH ORDINALITY AS a (argument, n) ORDER BY n) END) AS o (other)
        WHERE result !~ 'internal|trigger|cstring|handler|any' AND array_to_string(other, ',') !~ 'internal|cstring|"any"|\msno\M|\[\]\[\]|VARIADIC any'
            AND NOT EXISTS (SELECT FROM known AS ours WHERE ours.is_ours AND ours.name = known.name AND ours.arguments = other)
    LOOP
        CALL pg_temp.plant(f.name, f.arguments,
            CASE WHEN f.is_set THEN 'SETOF ' ELSE '' END || CASE f.result WHEN 'record' THEN 'text' WHEN 'sno' THEN 'text' ELSE f.result END,
            CASE WHEN f.is_set OR f.result = 'void' THEN '' ELSE 'NULL' END);
        COMMIT;
    END LOOP;
END $$;

-- Types and views
DO $$
DECLARE
    o record;
BEGIN
    CALL pg_temp.plant('is_checked', '', 'boolean', 'true');
    FOR o IN SELECT typname FROM pg_type JOIN word ON word = typname WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype = 'b' LOOP
        EXECUTE format('CREATE DOMAIN planted.%1$I AS pg_catalog.%1$I CHECK (planted.is_checked())', o.typname);
    END LOOP;
    -- A view can't have columns of type anyarray.
    FOR o IN SELECT relname, string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns
        FROM pg_class JOIN word ON word = relname JOIN pg_attribute ON attrelid = pg_class.oid
        WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v') AND attnum > 0 AND atttypid <> 'anyarray'::regtype
        GROUP BY relname
    LOOP
        EXECUTE format('CREATE VIEW planted.%1$I AS SELECT %2$s FROM pg_catalog.%1$I WHERE planted.is_checked()', o.relname, o.columns);
    END LOOP;
END $$;

SELECT (SELECT count(*) FROM pg_operator WHERE oprnamespace = 'planted'::regnamespace),
    (SELECT count(*) FROM pg_proc WHERE pronamespace = 'planted'::regnamespace),
    (SELECT count(*) FROM pg_type WHERE typnamespace = 'planted'::regnamespace AND typtype = 'd'),
    (SELECT count(*) FROM pg_class WHERE relnamespace = 'planted'::regnamespace AND relkind = 'v');
