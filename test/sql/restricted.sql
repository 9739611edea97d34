--
-- Named generators that only members of a role may use
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
DROP DATABASE IF EXISTS regress_sno_restricted;
DROP ROLE IF EXISTS regress_sno_owner, regress_sno_billing, regress_sno_clerk, regress_sno_guest;
RESET client_min_messages;
SELECT current_database() AS db \gset
CREATE ROLE regress_sno_owner;
CREATE ROLE regress_sno_billing;
CREATE ROLE regress_sno_clerk IN ROLE regress_sno_billing;
CREATE ROLE regress_sno_guest;
CREATE DATABASE regress_sno_restricted OWNER regress_sno_owner;
\c regress_sno_restricted
SET SESSION AUTHORIZATION regress_sno_owner;
CREATE EXTENSION sno;
CREATE EXTENSION sno_flakes;
CREATE FUNCTION outcome(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'SELECT ' || call;
    RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
CREATE FUNCTION outcomes(OUT call text, OUT outcome text) RETURNS SETOF record LANGUAGE sql AS $$
    SELECT call, outcome(call) FROM unnest(ARRAY['sno_generate(1, ''invoices'')', 'sno_generate_many(2, 1, ''invoices'')',
        'sno_flake_generate(''numbers'')', 'sno_flake_generate(''posts'')', 'sno_generate(1, ''free'')']) AS call
$$;
SELECT sno_create_generator('invoices', 100), sno_create_generator('free', 101),
    sno_flake_create_generator('numbers', 'counter'), sno_flake_create_generator('posts', 'snowflake', 1);

-- Everybody uses a new one.
SET SESSION AUTHORIZATION regress_sno_guest;
SELECT * FROM outcomes();

-- Only the owner restricts it, to a role that exists.
SELECT sno_restrict_generator('invoices', 'regress_sno_guest');
SET SESSION AUTHORIZATION regress_sno_owner;
SELECT sno_restrict_generator('invoices', 'regress_sno_billing'), sno_flake_restrict_generator('numbers', 'regress_sno_billing'), sno_flake_restrict_generator('posts', 'regress_sno_billing');
SELECT name, role FROM sno_catalog.sno_generator UNION ALL SELECT name, role FROM sno_catalog.sno_flake_generator ORDER BY name;
SELECT sno_restrict_generator('none', 'regress_sno_billing');
SELECT sno_restrict_generator('invoices', 'regress_sno_none');
SELECT sno_restrict_generator('invoices', 'public');
SELECT sno_restrict_generator(NULL, 'regress_sno_billing');

-- Members use it, the owner, and superusers.
SET SESSION AUTHORIZATION regress_sno_clerk;
SELECT * FROM outcomes();
SET SESSION AUTHORIZATION regress_sno_owner;
SELECT * FROM outcomes();
RESET SESSION AUTHORIZATION;
SELECT * FROM outcomes();
SET SESSION AUTHORIZATION regress_sno_guest;
SELECT * FROM outcomes();
SELECT sno_generate(1, 'invoices');
SELECT sno_flake_generate('numbers');

-- The right is that of the current user, whoever used the generator before in the session,
-- and in the same statement.
RESET SESSION AUTHORIZATION;
SET ROLE regress_sno_clerk;
SELECT outcome('sno_flake_generate(''numbers'')');
SET ROLE regress_sno_guest;
SELECT outcome('sno_flake_generate(''numbers'')');
SET ROLE regress_sno_owner;
CREATE FUNCTION next_number() RETURNS bigint LANGUAGE sql VOLATILE SECURITY DEFINER AS 'SELECT sno_flake_generate(''numbers'')';
SET ROLE regress_sno_guest;
SELECT next_number() IS NOT NULL AS issued;
SELECT CASE n WHEN 3 THEN sno_flake_generate('numbers') ELSE next_number() END IS NOT NULL AS issued FROM generate_series(1, 3) AS n;
PREPARE next AS SELECT sno_flake_generate('numbers') IS NOT NULL AS issued;
SET ROLE regress_sno_clerk;
EXECUTE next;
SET ROLE regress_sno_guest;
EXECUTE next;

-- It holds for what reads the state, too, if others may call that.  What changes it is for the owner.
RESET ROLE;
GRANT EXECUTE ON FUNCTION sno_snapshot_generator(text), sno_restore_generator(text, jsonb), sno_flake_advance(text, bigint) TO regress_sno_guest, regress_sno_clerk;
SELECT sno_snapshot_generator('invoices') AS snapshot \gset
SET ROLE regress_sno_guest;
SELECT outcome(call) FROM unnest(ARRAY['sno_snapshot_generator(''invoices'')', 'sno_flake_advance(''numbers'', 5)',
    format('sno_restore_generator(''invoices'', %L)', :'snapshot')]) AS call;
SET ROLE regress_sno_clerk;
SELECT outcome(call) FROM unnest(ARRAY['sno_snapshot_generator(''invoices'')', 'sno_flake_advance(''numbers'', 5)',
    format('sno_restore_generator(''invoices'', %L)', :'snapshot')]) AS call;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION sno_snapshot_generator(text), sno_restore_generator(text, jsonb), sno_flake_advance(text, bigint) FROM regress_sno_guest, regress_sno_clerk;

-- Nobody else learns by the watermark how many numbers were issued: by a call, by a trigger, or
-- while another role asks.
SELECT sno_flake_generate('numbers') > 0 AS issued;
CREATE FUNCTION numbers() RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT sno_flake_watermark(''numbers'')';
ALTER FUNCTION numbers() OWNER TO regress_sno_owner;
SET ROLE regress_sno_clerk;
SELECT outcome(call) FROM unnest(ARRAY['sno_flake_watermark(''numbers'')', 'sno_flake_watermark(''posts'')']) AS call;
SET ROLE regress_sno_guest;
SELECT outcome(call) FROM unnest(ARRAY['sno_flake_watermark(''numbers'')', 'sno_flake_watermark(''posts'')', 'sno_flake_watermark_uuid(''numbers'')',
    'sno_flake_watermark_bytea(''numbers'')', 'CASE WHEN numbers() > 0 THEN sno_flake_watermark(''numbers'') END', 'numbers()']) AS call;
EXPLAIN (COSTS OFF) SELECT FROM generate_series(1, 9) AS id WHERE id < sno_flake_watermark('numbers');
CREATE TEMP TABLE guarded (id bigint);
CREATE TRIGGER guard BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('id', 'numbers');
INSERT INTO guarded VALUES (1);
DROP TABLE guarded;
RESET ROLE;
DROP FUNCTION numbers();

-- A session that has used it notices what changes: a membership,
SET ROLE regress_sno_clerk;
SELECT outcome('sno_flake_generate(''numbers'')');
RESET ROLE;
REVOKE regress_sno_billing FROM regress_sno_clerk;
SET ROLE regress_sno_clerk;
SELECT outcome('sno_flake_generate(''numbers'')');
RESET ROLE;
GRANT regress_sno_billing TO regress_sno_guest;
SET ROLE regress_sno_guest;
SELECT outcome('sno_flake_generate(''numbers'')');

-- the name of the role,
RESET ROLE;
ALTER ROLE regress_sno_billing RENAME TO regress_sno_renamed;
SET ROLE regress_sno_guest;
SELECT sno_flake_generate('numbers');
SET ROLE regress_sno_owner;
SELECT outcome('sno_flake_generate(''numbers'')');
-- which another role has then: that hasn't the right, whatever is written to the definition,
RESET ROLE;
CREATE ROLE regress_sno_billing;
CREATE ROLE regress_sno_other IN ROLE regress_sno_billing;
SELECT sno_flake_create_generator('floating', 'snowflake'), sno_flake_restrict_generator('floating', 'regress_sno_renamed');
ALTER ROLE regress_sno_renamed RENAME TO regress_sno_third;
CREATE ROLE regress_sno_renamed IN ROLE regress_sno_billing;
SELECT sno_flake_advance('floating', sno_flake_min(now() - interval '1 day', 'snowflake'));
ALTER ROLE regress_sno_third RENAME TO regress_sno_first;
SET ROLE regress_sno_other;
SELECT sno_flake_generate('numbers');
SELECT outcome(call) FROM unnest(ARRAY['sno_generate(1, ''invoices'')', 'sno_flake_generate(''posts'')']) AS call;
SET ROLE regress_sno_renamed;
SELECT outcome('sno_flake_generate(''floating'')');
SET ROLE regress_sno_guest;
SELECT outcome(call) FROM unnest(ARRAY['sno_flake_generate(''floating'')', 'sno_flake_generate(''numbers'')']) AS call;
-- before the owner says so.
SET ROLE regress_sno_owner;
SELECT sno_flake_restrict_generator('numbers', 'regress_sno_billing');
SET ROLE regress_sno_other;
SELECT outcome('sno_flake_generate(''numbers'')');
-- A restored row has the name.  It doesn't matter which OID the role had.
RESET ROLE;
BEGIN;
CREATE TEMP TABLE dumped AS SELECT * FROM sno_catalog.sno_flake_generator WHERE name = 'numbers';
DELETE FROM sno_catalog.sno_flake_generator WHERE name = 'numbers';
UPDATE dumped SET role_oid = 1;
INSERT INTO sno_catalog.sno_flake_generator SELECT * FROM dumped;
SELECT role, role_oid::regrole FROM sno_catalog.sno_flake_generator WHERE name = 'numbers';
DELETE FROM sno_catalog.sno_flake_generator WHERE name = 'numbers';
UPDATE dumped SET role = 'regress_sno_none';
INSERT INTO sno_catalog.sno_flake_generator SELECT * FROM dumped;
SELECT role, role_oid::regrole FROM sno_catalog.sno_flake_generator WHERE name = 'numbers';
ROLLBACK;
DROP ROLE regress_sno_billing, regress_sno_renamed, regress_sno_other;
ALTER ROLE regress_sno_first RENAME TO regress_sno_billing;
SELECT sno_flake_restrict_generator('numbers', 'regress_sno_billing'), sno_flake_drop_generator('floating');
SET ROLE regress_sno_guest;
SELECT outcome('sno_flake_generate(''numbers'')');

-- the owner of the database,
RESET ROLE;
REVOKE regress_sno_billing FROM regress_sno_guest;
SET ROLE regress_sno_owner;
SELECT outcome('sno_flake_generate(''numbers'')');
RESET ROLE;
ALTER DATABASE regress_sno_restricted OWNER TO regress_sno_guest;
SET ROLE regress_sno_owner;
SELECT outcome('sno_flake_generate(''numbers'')');
SET ROLE regress_sno_guest;
SELECT outcome('sno_flake_generate(''numbers'')');
RESET ROLE;
ALTER DATABASE regress_sno_restricted OWNER TO regress_sno_owner;

-- and the restriction.  A rollback undoes it.
SET ROLE regress_sno_owner;
BEGIN;
SELECT sno_flake_restrict_generator('numbers');
SET ROLE regress_sno_guest;
SELECT outcome('sno_flake_generate(''numbers'')');
ROLLBACK;
SET ROLE regress_sno_guest;
SELECT outcome('sno_flake_generate(''numbers'')');
SET ROLE regress_sno_owner;
SELECT sno_flake_restrict_generator('numbers');
SET ROLE regress_sno_guest;
SELECT outcome('sno_flake_generate(''numbers'')');
RESET ROLE;
DROP ROLE regress_sno_billing;
SET ROLE regress_sno_guest;
SELECT outcome('sno_generate(1, ''invoices'')');
SET ROLE regress_sno_owner;
SELECT outcome('sno_generate(1, ''invoices'')');

-- What is created again is for everybody.
SELECT sno_drop_generator('invoices'), sno_create_generator('invoices', 100);
SET ROLE regress_sno_guest;
SELECT outcome('sno_generate(1, ''invoices'')');

RESET ROLE;
\c :db
DROP DATABASE regress_sno_restricted;
DROP ROLE regress_sno_owner, regress_sno_clerk, regress_sno_guest;
