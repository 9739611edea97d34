--
-- Rights: whatever default privileges the installer has, and whatever is granted later
--
SET client_min_messages = warning;
SELECT current_database() AS db \gset
DROP DATABASE IF EXISTS regress_sno_privileges;
DROP ROLE IF EXISTS regress_sno_owner, regress_sno_anon, "regress_sno ""odd""";
CREATE ROLE regress_sno_owner;
CREATE ROLE regress_sno_anon;
CREATE ROLE "regress_sno ""odd""";
CREATE DATABASE regress_sno_privileges OWNER regress_sno_owner;
\c regress_sno_privileges
SET client_min_messages = warning;

-- What roles may do with the objects of the extensions, except their owner
CREATE VIEW public.rights AS
SELECT e.extname, pg_describe_object(d.classid, d.objid, 0) AS object,
    coalesce((SELECT string_agg(concat_ws('=', CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END, g.privilege_type),
                                ' ' ORDER BY g.grantee = 0, g.grantee::regrole::text COLLATE "C", g.privilege_type COLLATE "C")
              FROM aclexplode(coalesce(o.acl, acldefault(o.type, o.owner))) AS g WHERE g.grantee <> o.owner), '') AS rights
FROM pg_extension AS e
JOIN pg_depend AS d ON (d.refclassid, d.refobjid, d.deptype) = ('pg_extension'::regclass, e.oid, 'e')
JOIN (SELECT 'pg_proc'::regclass, oid, 'f'::"char", proowner, proacl FROM pg_proc
      UNION ALL SELECT 'pg_type'::regclass, oid, 'T', typowner, typacl FROM pg_type WHERE typelem = 0 AND typrelid = 0
      UNION ALL SELECT 'pg_class'::regclass, oid, 'r', relowner, relacl FROM pg_class
      UNION ALL SELECT 'pg_namespace'::regclass, oid, 'n', nspowner, nspacl FROM pg_namespace) AS o (class, oid, type, owner, acl)
    ON (d.classid, d.objid) = (o.class, o.oid)
WHERE e.extname ~ '^sno';
CREATE FUNCTION public.installed() RETURNS void LANGUAGE sql AS $$
    CREATE EXTENSION sno;
    CREATE EXTENSION sno_flakes;
    CREATE EXTENSION sno_seal;
    CREATE EXTENSION sno_registry SCHEMA public;
$$;
SELECT installed();
CREATE TABLE plain AS TABLE rights;
SELECT object, rights FROM plain WHERE rights <> 'PUBLIC=EXECUTE' ORDER BY extname, object COLLATE "C";
DROP EXTENSION sno, sno_flakes, sno_seal, sno_registry;

-- The same, if default privileges give all to roles, or withhold it
ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO regress_sno_anon WITH GRANT OPTION;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO regress_sno_anon, "regress_sno ""odd""", PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO regress_sno_anon, PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TYPES TO regress_sno_anon WITH GRANT OPTION;
ALTER DEFAULT PRIVILEGES IN SCHEMA pg_catalog GRANT ALL ON FUNCTIONS TO "regress_sno ""odd""";
SELECT installed();
SELECT extname, object, rights FROM (TABLE rights EXCEPT TABLE plain) AS more ORDER BY 1, 2;
DROP EXTENSION sno, sno_flakes, sno_seal, sno_registry;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM regress_sno_anon;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM regress_sno_anon, "regress_sno ""odd""", PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON SCHEMAS FROM regress_sno_anon, PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TYPES FROM regress_sno_anon;
ALTER DEFAULT PRIVILEGES IN SCHEMA pg_catalog REVOKE ALL ON FUNCTIONS FROM "regress_sno ""odd""";
ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TYPES FROM PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON FUNCTIONS FROM CURRENT_USER;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM CURRENT_USER;
BEGIN;
SAVEPOINT before;
SELECT installed();
RELEASE before;
COMMIT;
SELECT extname, object, rights FROM (TABLE rights EXCEPT TABLE plain) AS more ORDER BY 1, 2;

-- So everybody uses, compares, sorts, indexes and casts ids.
GRANT ALL ON SCHEMA public TO regress_sno_anon;
SET ROLE regress_sno_anon;
CREATE TABLE item (id sno PRIMARY KEY DEFAULT sno_generate(1), at timestamptz GENERATED ALWAYS AS (sno_timestamp(id)) STORED);
CREATE INDEX ON item USING hash (id);
CREATE INDEX ON item USING brin (id);
CREATE INDEX ON item USING gist (id);
INSERT INTO item SELECT FROM generate_series(1, 100);
INSERT INTO item SELECT sno_generate_many(100);
SELECT count(*), count(DISTINCT id), min(id) < max(id) AS ordered, count(id::uuid), count(id::bytea), count(id::timestamptz),
    bool_and(id <@ tstzrange(now() - interval '1 hour', NULL)), bool_and(id > now() - interval '1 hour'), bool_and(id < sno_max('infinity'))
FROM item WHERE id >= sno_min('2020-01-01');
SELECT count(*) FROM (SELECT id FROM item ORDER BY id LIMIT 3) AS a JOIN item AS b USING (id);
SELECT sno_watermark() IS NOT NULL AS watermark, sno_generate_uuidv8() IS NOT NULL AS uuid, sno_flake_make(now(), 1, 1, 'snowflake') IS NOT NULL AS flake;
DROP TABLE item;
RESET ROLE;

-- A later grant of everything doesn't open what is for the owner of the database.
CREATE FUNCTION public.outcome(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'SELECT ' || call;
    RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
CREATE TABLE call (n serial, call text);
INSERT INTO call (call) VALUES ('sno_create_generator(''g'', 100)'), ('sno_restrict_generator(''g'')'), ('sno_snapshot_generator(''g'')'),
    ('sno_restore_generator(''g'', sno_snapshot_generator(''g''))'), ('sno_drop_generator(''g'')'), ('sno_generate_at(now())'), ('sno_borrow_partition()'),
    ('sno_flake_create_layout(''l'', ''2020-01-01Z'', 100, 40, 10, 12)'), ('sno_flake_create_generator(''f'', ''counter'')'),
    ('sno_flake_restrict_generator(''f'')'), ('sno_flake_advance(''f'', 5)'), ('sno_flake_drop_generator(''f'')'),
    ('sno_seal_create_key(''k'')'), ('sno_seal(sno_zero(), ''k'')'), ('sno_seal_drop_key(''k'')'), ('sno_reset_watermark()'), ('sno_reseed()'),
    ('sno_generators()'), ('sno_check()'), ('sno_watermark_blockers()'), ('sno_reset_statistics()'),
    ('sno_registry_create(1024, 65535)'), ('sno_registry_add_layout(''1288834974657/1/41/10/12'', 0, 1023)'), ('sno_registry_vouch()'),
    ('sno_registry_report_loss()'), ('sno_registry_move()'), ('sno_registry_renew(1, 0, 2, ''n'', 1, 1, 1)');
GRANT SELECT ON call TO PUBLIC;
SET ROLE regress_sno_anon;
SELECT call FROM call WHERE outcome(call) <> '42501';
RESET ROLE;
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA pg_catalog, public TO regress_sno_anon;
SET ROLE regress_sno_owner;
SELECT call, outcome(call) FROM call WHERE call !~ 'registry' ORDER BY n;
SELECT outcome('sno_create_generator(''g'', 100), sno_flake_create_generator(''f'', ''counter''), sno_seal_create_key(''k'')');
SET ROLE regress_sno_anon;
SELECT call, outcome(call) FROM call WHERE outcome(call) <> '42501' ORDER BY n;
SELECT sno_reseed();
SELECT * FROM sno_borrow_partition();
RESET ROLE;
-- A function of the owner lets others call it.
CREATE FUNCTION lend(OUT snapshot jsonb, OUT until timestamptz) LANGUAGE sql SECURITY DEFINER AS 'SELECT * FROM sno_borrow_partition(''1 hour'', 64)';
ALTER FUNCTION lend OWNER TO regress_sno_owner;
GRANT EXECUTE ON FUNCTION lend TO regress_sno_anon;
SET ROLE regress_sno_anon;
SELECT until > now() AS lent FROM lend();
RESET ROLE;

-- A script that updates settles what it adds, and leaves what was granted.
REVOKE EXECUTE ON FUNCTION sno_generate(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sno_reset_statistics() TO "regress_sno ""odd""";
BEGIN;
CREATE FUNCTION more() RETURNS integer LANGUAGE sql RETURN 1;
GRANT EXECUTE ON FUNCTION more() TO regress_sno_anon;
ALTER EXTENSION sno ADD FUNCTION more();
CALL sno_catalog.sno_settle_privileges('sno');
SELECT object, rights FROM rights WHERE object ~ 'function (sno_generate\(integer\)|sno_reset_statistics|more)' ORDER BY 1;
ROLLBACK;

-- To let only some roles hold feeds back, revoke what makes ids, and what guards tables.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_catalog, public TO PUBLIC;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_catalog, public FROM regress_sno_anon;
CREATE TABLE made (id sno DEFAULT sno_generate(), u uuid DEFAULT sno_generate_uuidv8());
CREATE VIEW makes AS SELECT sno_generate() AS id;
GRANT ALL ON made, makes TO PUBLIC;
INSERT INTO call (call) VALUES ('sno_generate()'), ('sno_generate(0, ''g'')'), ('sno_generate_uuidv8()'), ('sno_generate_many(1)'), ('sno_generate_many(1, 0, ''g'')'),
    ('sno_flake_generate(''f'')'), ('sno_flake_generate_uuid(''f'')'), ('sno_flake_generate_bytea(''f'')'), ('* FROM makes');
REVOKE EXECUTE ON FUNCTION sno_generate(integer), sno_generate(integer, text), sno_generate_many(bigint, integer),
    sno_generate_many(bigint, integer, text), sno_watermark_guard() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION sno_flake_generate(text), sno_flake_generate_uuid(text), sno_flake_generate_bytea(text),
    sno_flake_watermark_guard() FROM PUBLIC;
SET ROLE regress_sno_anon;
BEGIN;
SELECT call, outcome(call) FROM call WHERE call ~ 'generate|makes' ORDER BY n;
CREATE TEMP TABLE guarded (id sno, flake bigint);
SAVEPOINT s;
CREATE TRIGGER guard BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id');
ROLLBACK TO s;
CREATE TRIGGER guard BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('flake', 'f');
ROLLBACK TO s;
INSERT INTO made DEFAULT VALUES;
ROLLBACK TO s;
SELECT sno_watermark() IS NOT NULL AS watermark, sno_flake_watermark('f') AS number;
RESET ROLE;
SELECT count(*) FROM sno_watermark_blockers();
COMMIT;

\c :db
SET client_min_messages = warning;
DROP DATABASE regress_sno_privileges;
DROP ROLE regress_sno_owner, regress_sno_anon, "regress_sno ""odd""";
