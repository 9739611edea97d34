/* sno_seal--0.9.sql: keys, and ids that are sealed by them */

-- Complain if the script is sourced in psql rather than by CREATE EXTENSION.
\echo Use "CREATE EXTENSION sno_seal" to load this file. \quit

--
-- functions
--

-- The functions below read the table of keys, so they are not immutable.  The planner must not cache
-- their results, and an index on the results would be wrong after a key was dropped and created with
-- another secret.

CREATE FUNCTION sno_seal(id sno, key text) RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_seal(sno, text) IS
    'the id encrypted by FF1 (NIST SP 800-38G) with AES-128, as 16 characters '
    'of 2-9 and a-x';

CREATE FUNCTION sno_unseal(sealed text, key text) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_unseal(text, text) IS
    'the id that sno_seal() encrypted with the key of that name';

CREATE FUNCTION sno_seal_uuid(id sno, key text) RETURNS uuid
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_seal_uuid(sno, text) IS
    'the id encrypted by FF1 (NIST SP 800-38G) with AES-128, as a uuid of '
    'version 4';

CREATE FUNCTION sno_unseal(sealed uuid, key text) RETURNS sno
AS 'MODULE_PATHNAME', 'sno_unseal_uuid'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_unseal(uuid, text) IS
    'the id that sno_seal_uuid() encrypted with the key of that name, or null if '
    'that key did not encrypt the uuid';

CREATE FUNCTION sno_seal(id bigint, key text) RETURNS bigint
AS 'MODULE_PATHNAME', 'sno_seal_bigint'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_seal(bigint, text) IS
    'the id encrypted by SPARX-64/128, like the raw ids of Randflake';

CREATE FUNCTION sno_unseal(sealed bigint, key text) RETURNS bigint
AS 'MODULE_PATHNAME', 'sno_unseal_bigint'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_unseal(bigint, text) IS
    'the id that sno_seal() encrypted with the key of that name';

CREATE FUNCTION sno_seal_create_key(name text, secret bytea DEFAULT NULL) RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_seal_create_key(text, bytea) IS
    'create a key that encrypts ids, with a secret of 16 bytes';

CREATE FUNCTION sno_seal_drop_key(name text) RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_seal_drop_key(text) IS
    'drop a key, after which the ids that it sealed cannot be recovered';

--
-- the table of keys
--

-- The table of the keys that encrypt ids (src/seal/key.c) is in schema sno_catalog of extension sno.
-- Only functions of this extension read and write the table: the script grants no privileges on it,
-- row-level security has no policies, and dumps leave the table out.  The trigger refuses changes by
-- SQL, and discards rows from logical replication.  The column of secrets has no statistics, because
-- a role that can read statistics could read secrets there.

CREATE TABLE sno_catalog.sno_seal_key (
    name   text COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 63),
    secret bytea NOT NULL CHECK (octet_length(secret) = 16),
    made   timestamptz NOT NULL
) USING heap;
ALTER TABLE sno_catalog.sno_seal_key ALTER COLUMN secret SET STATISTICS 0;
ALTER TABLE sno_catalog.sno_seal_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE sno_catalog.sno_seal_key FORCE ROW LEVEL SECURITY;
COMMENT ON TABLE sno_catalog.sno_seal_key IS
    'keys that encrypt ids; dumps leave this table out';
COMMENT ON COLUMN sno_catalog.sno_seal_key.name IS
    'unique name of the key, 1 to 63 bytes';
COMMENT ON COLUMN sno_catalog.sno_seal_key.secret IS
    'secret of the key, 16 bytes';
COMMENT ON COLUMN sno_catalog.sno_seal_key.made IS
    'time when the key was created';

CREATE TRIGGER sno_seal_key_changed
BEFORE INSERT OR UPDATE OR DELETE ON sno_catalog.sno_seal_key
FOR EACH ROW EXECUTE FUNCTION sno_catalog.sno_table_changed('all', 'Use sno_seal_create_key() and sno_seal_drop_key().');
COMMENT ON TRIGGER sno_seal_key_changed ON sno_catalog.sno_seal_key IS
    'refuses changes by SQL, and discards rows from logical replication';
CREATE TRIGGER sno_seal_key_truncated
BEFORE TRUNCATE ON sno_catalog.sno_seal_key
FOR EACH STATEMENT EXECUTE FUNCTION sno_catalog.sno_table_changed('all', 'Use sno_seal_create_key() and sno_seal_drop_key().');
COMMENT ON TRIGGER sno_seal_key_truncated ON sno_catalog.sno_seal_key IS
    'keeps TRUNCATE from deleting keys';
ALTER TABLE sno_catalog.sno_seal_key ENABLE ALWAYS TRIGGER sno_seal_key_changed;
ALTER TABLE sno_catalog.sno_seal_key ENABLE ALWAYS TRIGGER sno_seal_key_truncated;

--
-- grants
--

CALL sno_catalog.sno_settle_privileges('sno_seal');

-- A role that may unseal ids learns the data that sealing hides.  So only the database's owner gets
-- EXECUTE on the functions of this extension.
REVOKE EXECUTE ON FUNCTION
    sno_seal_create_key(text, bytea), sno_seal_drop_key(text),
    sno_seal(sno, text), sno_unseal(text, text),
    sno_seal_uuid(sno, text), sno_unseal(uuid, text),
    sno_seal(bigint, text), sno_unseal(bigint, text)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    sno_seal_create_key(text, bytea), sno_seal_drop_key(text),
    sno_seal(sno, text), sno_unseal(text, text),
    sno_seal_uuid(sno, text), sno_unseal(uuid, text),
    sno_seal(bigint, text), sno_unseal(bigint, text)
TO pg_database_owner;
