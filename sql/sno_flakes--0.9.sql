-- sno_flakes 0.9: ids of other systems, such as Snowflake.  The functions are in the library of
-- extension sno, and the tables are in schema sno_catalog of that extension.

-- Complain if the script is sourced in psql rather than by CREATE EXTENSION.
\echo Use "CREATE EXTENSION sno_flakes" to load this file. \quit

--
-- catalog: the tables
--

-- The next table has the layouts of ids of other systems (src/catalog/layout.c).  Functions that read
-- an id by its layout are immutable, so rows of this table must never change.

CREATE TABLE sno_catalog.sno_flake_layout (
    name          text COLLATE "C" PRIMARY KEY CHECK (octet_length(name) BETWEEN 1 AND 63),
    epoch         timestamptz CHECK (epoch BETWEEN '1970-01-01 00:00:00Z' AND '2079-09-07 00:00:00Z'
                                     AND date_trunc('milliseconds', epoch) = epoch),
    unit          integer NOT NULL CHECK (unit BETWEEN 0 AND 3600000 AND unit NOT IN (2, 3)),
    time_bits     integer NOT NULL CHECK (time_bits BETWEEN 1 AND 64),
    node_bits     integer NOT NULL DEFAULT 0 CHECK (node_bits BETWEEN 0 AND 48),
    sequence_bits integer NOT NULL DEFAULT 0 CHECK (sequence_bits BETWEEN 0 AND 32),
    node_last     boolean NOT NULL DEFAULT false,
    digits        text COLLATE "C" CHECK (digits ~ '^[!-~]{2,64}$' AND digits !~ E'(.).*\\1'),
    built_in      boolean NOT NULL DEFAULT false,
    CONSTRAINT sno_flake_layout_epoch_unless_counting CHECK ((epoch IS NULL) = (unit = 0)),
    CONSTRAINT sno_flake_layout_sequence_unless_counting CHECK ((sequence_bits = 0) = (unit = 0)),
    CONSTRAINT sno_flake_layout_bits_if_counting CHECK (unit > 0 OR (time_bits >= 31 AND node_bits <= 16)),
    CONSTRAINT sno_flake_layout_64_bits_or_bytes_up_to_128 CHECK (
        time_bits + node_bits + sequence_bits <= 64 OR
        (time_bits + node_bits + sequence_bits <= 128 AND (time_bits + node_bits + sequence_bits) % 8 = 0)),
    CONSTRAINT sno_flake_layout_same_ids UNIQUE NULLS NOT DISTINCT (epoch, unit, time_bits, node_bits, sequence_bits, node_last)
);
COMMENT ON TABLE sno_catalog.sno_flake_layout IS
    'layouts of ids of other systems, which can be added, but not changed or '
    'deleted';
COMMENT ON COLUMN sno_catalog.sno_flake_layout.name IS
    'name of the layout, 1 to 63 bytes';
COMMENT ON COLUMN sno_catalog.sno_flake_layout.epoch IS
    'start of the first unit of the layout, a whole millisecond, or null for a '
    'counting layout';
COMMENT ON COLUMN sno_catalog.sno_flake_layout.unit IS
    'unit of the time, in milliseconds, 1 or 4 to 3600000, or 0 for a counting '
    'layout';
COMMENT ON COLUMN sno_catalog.sno_flake_layout.time_bits IS
    'how many of the highest bits of the id, 1 to 64, contain the time, or in a '
    'counting layout the count';
COMMENT ON COLUMN sno_catalog.sno_flake_layout.node_bits IS
    'number of bits of the node, 0 to 48, or 0 to 16 in a counting layout';
COMMENT ON COLUMN sno_catalog.sno_flake_layout.sequence_bits IS
    'number of bits of the sequence, 1 to 32, or 0 in a counting layout';
COMMENT ON COLUMN sno_catalog.sno_flake_layout.node_last IS
    'whether the node comes last, after the sequence';
COMMENT ON COLUMN sno_catalog.sno_flake_layout.digits IS
    'digits of the text form, from the digit zero up, 2 to 64 ASCII characters, or '
    'null for the text form of the type';
COMMENT ON COLUMN sno_catalog.sno_flake_layout.built_in IS
    'whether the extension creates the layout, so that dumps omit it';

INSERT INTO sno_catalog.sno_flake_layout VALUES
    ('snowflake',   '2010-11-04 01:42:54.657Z', 1, 41, 10, 12, false, NULL, true),
    ('instagram',   '2011-08-24 21:07:01.721Z', 1, 41, 13, 10, false,
     'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_', true),
    ('simpleflake', '2000-01-01 05:00:00Z',     1, 41, 0, 23, false, NULL, true),
    ('json1',       '1999-12-31 16:00:00Z',     1, 41, 3, 9, false, NULL, true),
    ('json2',       '1999-12-31 16:00:00Z',     1, 41, 4, 8, false, NULL, true),
    ('json3',       '1999-12-31 16:00:00Z',     1, 41, 5, 7, false, NULL, true),
    ('json4',       '1999-12-31 16:00:00Z',     1000, 31, 5, 17, false, NULL, true),
    ('json5',       '1999-12-31 16:00:00Z',     1000, 31, 6, 16, false, NULL, true),
    ('json6',       '1999-12-31 16:00:00Z',     1000, 31, 7, 15, false, NULL, true),
    ('json7',       '1970-01-01 00:00:00Z',     1000, 32, 5, 16, false, NULL, true),
    ('json8',       '1970-01-01 00:00:00Z',     1000, 32, 6, 15, false, NULL, true),
    ('randflake',   '2024-10-27 03:33:20Z',     1000, 30, 17, 17, false,
     '0123456789abcdefghijklmnopqrstuv', true),
    ('discord',     '2015-01-01 00:00:00Z',     1, 42, 10, 12, false, NULL, true),
    ('sonyflake',   '2014-09-01 00:00:00Z',     10, 39, 16, 8, true, NULL, true),
    ('boundary',    '1970-01-01 00:00:00Z',     1, 64, 48, 16, false,
     '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', true),
    ('objectid',    '1970-01-01 00:00:00Z',     1000, 32, 40, 24, false, NULL, true),
    ('tickets',     NULL,                       0, 62, 1, 0, true, NULL, true),
    ('counter',     NULL,                       0, 63, 0, 0, false, NULL, true);

CREATE TRIGGER sno_flake_layout_changed
BEFORE INSERT OR UPDATE OR DELETE ON sno_catalog.sno_flake_layout
FOR EACH ROW EXECUTE FUNCTION sno_catalog.sno_table_changed(
    'updates', 'Add another layout: indexes may contain values computed from this one.');
COMMENT ON TRIGGER sno_flake_layout_changed ON sno_catalog.sno_flake_layout IS
    'notifies sessions of new layouts, refuses other changes, and discards rows '
    'from logical replication';
CREATE TRIGGER sno_flake_layout_truncated
BEFORE TRUNCATE ON sno_catalog.sno_flake_layout
FOR EACH STATEMENT EXECUTE FUNCTION sno_catalog.sno_table_changed(
    'updates', 'Add another layout: indexes may contain values computed from this one.');
COMMENT ON TRIGGER sno_flake_layout_truncated ON sno_catalog.sno_flake_layout IS
    'keeps TRUNCATE from deleting layouts';
ALTER TABLE sno_catalog.sno_flake_layout ENABLE ALWAYS TRIGGER sno_flake_layout_changed;
ALTER TABLE sno_catalog.sno_flake_layout ENABLE ALWAYS TRIGGER sno_flake_layout_truncated;

SELECT pg_extension_config_dump('sno_catalog.sno_flake_layout', 'WHERE NOT built_in');

-- The next table has the definitions of generators of ids of other systems (src/flake/nodes.c).  No two
-- generators of a layout may have a node in common, except counters: each counter counts on its own,
-- so two counters with the same node issue the same numbers.

CREATE TABLE sno_catalog.sno_flake_generator (
    name              text COLLATE "C" PRIMARY KEY CHECK (octet_length(name) BETWEEN 1 AND 63),
    role              text COLLATE "C" CHECK (octet_length(role) BETWEEN 1 AND 63),
    system_identifier bigint  NOT NULL,
    timeline          integer NOT NULL,
    database          oid     NOT NULL,
    home              bigint  NOT NULL,
    layout            text COLLATE "C" NOT NULL CHECK (octet_length(layout) BETWEEN 1 AND 63),
    node_first        bigint CHECK (node_first BETWEEN 0 AND 281474976710655),
    node_last         bigint CHECK (node_last BETWEEN node_first AND 281474976710655),
    counts            boolean NOT NULL,
    key               text COLLATE "C" CHECK (octet_length(key) BETWEEN 1 AND 63),
    nodes             integer CHECK (nodes BETWEEN 1 AND 4194304),
    after             timestamptz,
    role_oid          oid,
    CONSTRAINT sno_flake_generator_nodes CHECK (
        (node_first IS NULL) = (nodes IS NOT NULL) AND (node_last IS NULL) = (nodes IS NOT NULL)),
    CONSTRAINT sno_flake_generator_overlap EXCLUDE USING gist (
        numrange(
            hashtextextended(layout, 0)::numeric * 281474976710656::numeric + node_first::numeric,
            hashtextextended(layout, 0)::numeric * 281474976710656::numeric + node_last::numeric, '[]')
        WITH &&) WHERE (NOT counts AND node_first IS NOT NULL)
);
COMMENT ON TABLE sno_catalog.sno_flake_generator IS
    'definitions of generators of ids of other systems';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.name IS
    'name of the generator, 1 to 63 bytes';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.role IS
    'name of the role whose members may use the generator, or null if every role may';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.system_identifier IS
    'system identifier of the server where the definition was made, as in '
    'pg_control_system()';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.timeline IS
    'WAL timeline of the server where the definition was made';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.database IS
    'OID of the database where the definition was made';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.home IS
    'number that distinguishes the database where the definition was made from other '
    'databases that had the same OID';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.layout IS
    'name of the layout of the ids';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.node_first IS
    'first node of the ids, 0 to 2^48 - 1, or null if sessions choose the nodes';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.node_last IS
    'last node of the ids, 0 to 2^48 - 1, or null if sessions choose the nodes';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.counts IS
    'whether the generator is a counter, so that other counters may have the same node';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.key IS
    'name of the key that seals the ids, or null if the ids are not sealed';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.nodes IS
    'number of nodes that sessions choose, 1 to 2^22, or null if the nodes are fixed';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.after IS
    'time up to which no ids are issued in chosen nodes, as set by '
    'sno_flake_advance(), or null';
COMMENT ON COLUMN sno_catalog.sno_flake_generator.role_oid IS
    'OID of the role, or null if the role did not exist when it was named';
COMMENT ON CONSTRAINT sno_flake_generator_nodes ON sno_catalog.sno_flake_generator IS
    'nodes are either fixed or chosen by sessions';
COMMENT ON CONSTRAINT sno_flake_generator_overlap ON sno_catalog.sno_flake_generator IS
    'no two generators can issue the same id';

CREATE TRIGGER sno_flake_generator_changed
BEFORE INSERT OR UPDATE OR DELETE ON sno_catalog.sno_flake_generator
FOR EACH ROW EXECUTE FUNCTION sno_catalog.sno_table_changed('none', '');
COMMENT ON TRIGGER sno_flake_generator_changed ON sno_catalog.sno_flake_generator IS
    'notifies sessions of changed definitions, and discards rows from logical '
    'replication';
ALTER TABLE sno_catalog.sno_flake_generator ENABLE ALWAYS TRIGGER sno_flake_generator_changed;

SELECT pg_extension_config_dump('sno_catalog.sno_flake_generator', '');

--
-- parts, bounds and texts
--

CREATE FUNCTION sno_flake_timestamp(id bigint, layout text) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'sno_flake_timestamp_bigint'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_timestamp(bigint, text) IS
    'time of an id of another system, of up to 64 bits, exact to the unit of '
    'its layout';

CREATE FUNCTION sno_flake_timestamp(id uuid, layout text) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'sno_flake_timestamp_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_timestamp(uuid, text) IS
    'time of an id of another system, of 128 bits, exact to the unit of its '
    'layout';

CREATE FUNCTION sno_flake_timestamp(id bytea, layout text) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'sno_flake_timestamp_bytea'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_timestamp(bytea, text) IS
    'time of an id of another system, of 9 to 15 bytes, exact to the unit of '
    'its layout';

CREATE FUNCTION sno_flake_parts(id bigint, layout text,
    OUT "timestamp" timestamptz,
    OUT node        bigint,
    OUT sequence    bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'sno_flake_parts_bigint'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_parts(bigint, text) IS
    'time, node and sequence of an id of another system, of up to 64 bits';

CREATE FUNCTION sno_flake_parts(id uuid, layout text,
    OUT "timestamp" timestamptz,
    OUT node        bigint,
    OUT sequence    bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'sno_flake_parts_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_parts(uuid, text) IS
    'time, node and sequence of an id of another system, of 128 bits';

CREATE FUNCTION sno_flake_parts(id bytea, layout text,
    OUT "timestamp" timestamptz,
    OUT node        bigint,
    OUT sequence    bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'sno_flake_parts_bytea'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_parts(bytea, text) IS
    'time, node and sequence of an id of another system, of 9 to 15 bytes';

CREATE FUNCTION sno_flake_min(at timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_min(timestamptz, text) IS
    'lowest id (up to 64 bits) of a layout, in the unit that contains the time';

CREATE FUNCTION sno_flake_min_uuid(at timestamptz, layout text) RETURNS uuid
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_min_uuid(timestamptz, text) IS
    'lowest id (128 bits) of a layout, in the unit that contains the time';

CREATE FUNCTION sno_flake_min_bytea(at timestamptz, layout text) RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_min_bytea(timestamptz, text) IS
    'lowest id (9 to 15 bytes) of a layout, in the unit that contains the time';

CREATE FUNCTION sno_flake_max(at timestamptz, layout text) RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_max(timestamptz, text) IS
    'highest id (up to 64 bits) of a layout, in the unit that contains the time';

CREATE FUNCTION sno_flake_max_uuid(at timestamptz, layout text) RETURNS uuid
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_max_uuid(timestamptz, text) IS
    'highest id (128 bits) of a layout, in the unit that contains the time';

CREATE FUNCTION sno_flake_max_bytea(at timestamptz, layout text) RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_max_bytea(timestamptz, text) IS
    'highest id (9 to 15 bytes) of a layout, in the unit that contains the time';

CREATE FUNCTION sno_flake_make(at timestamptz, node bigint, sequence bigint, layout text) RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_make(timestamptz, bigint, bigint, text) IS
    'id of another system, of up to 64 bits, with the given time, node and '
    'sequence';

CREATE FUNCTION sno_flake_make_uuid(at timestamptz, node bigint, sequence bigint, layout text) RETURNS uuid
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_make_uuid(timestamptz, bigint, bigint, text) IS
    'id of another system, of 128 bits, with the given time, node and sequence';

CREATE FUNCTION sno_flake_make_bytea(at timestamptz, node bigint, sequence bigint, layout text) RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_make_bytea(timestamptz, bigint, bigint, text) IS
    'id of another system, of 9 to 15 bytes, with the given time, node and '
    'sequence';

CREATE FUNCTION sno_flake_text(id bigint, layout text, digits text DEFAULT '', width integer DEFAULT 0) RETURNS text
AS 'MODULE_PATHNAME', 'sno_flake_text_bigint'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_text(bigint, text, text, integer) IS
    'text form of an id of another system, of up to 64 bits, in the given digits '
    'or in its layout''s digits';

CREATE FUNCTION sno_flake_text(id uuid, layout text, digits text DEFAULT '', width integer DEFAULT 0) RETURNS text
AS 'MODULE_PATHNAME', 'sno_flake_text_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_text(uuid, text, text, integer) IS
    'text form of an id of another system, of 128 bits, in the given digits or in '
    'its layout''s digits';

CREATE FUNCTION sno_flake_text(id bytea, layout text, digits text DEFAULT '', width integer DEFAULT 0) RETURNS text
AS 'MODULE_PATHNAME', 'sno_flake_text_bytea'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_text(bytea, text, text, integer) IS
    'text form of an id of another system, of 9 to 15 bytes, in the given digits '
    'or in its layout''s digits';

CREATE FUNCTION sno_flake_from_text(text text, layout text, digits text DEFAULT '') RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_from_text(text, text, text) IS
    'id of another system, of up to 64 bits, from its text form';

CREATE FUNCTION sno_flake_from_text_uuid(text text, layout text, digits text DEFAULT '') RETURNS uuid
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_from_text_uuid(text, text, text) IS
    'id of another system, of 128 bits, from its text form';

CREATE FUNCTION sno_flake_from_text_bytea(text text, layout text, digits text DEFAULT '') RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_from_text_bytea(text, text, text) IS
    'id of another system, of 9 to 15 bytes, from its text form';

--
-- layouts
--

CREATE FUNCTION sno_flake_create_layout(name text, epoch timestamptz, unit integer, time_bits integer,
                                        node_bits integer DEFAULT 0, sequence_bits integer DEFAULT 0,
                                        node_last boolean DEFAULT false, digits text DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_flake_create_layout(text, timestamptz, integer, integer, integer, integer, boolean, text) IS
    'create a layout of ids with the given unit in milliseconds; it cannot be '
    'changed later';

CREATE FUNCTION sno_flake_layout_definition(layout text) RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_flake_layout_definition(text) IS
    'definition of a layout, in the form that sno_registry_add_layout() expects';

--
-- generators
--

CREATE FUNCTION sno_flake_create_generator(name text, layout text, node bigint DEFAULT NULL, nodes integer DEFAULT 1,
                                 key text DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_flake_create_generator(text, text, bigint, integer, text) IS
    'create a named generator of ids of another system, and return its first '
    'node, or null if sessions choose the nodes';

CREATE FUNCTION sno_flake_drop_generator(name text) RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_flake_drop_generator(text) IS
    'drop a generator that sno_flake_create_generator() created';

CREATE FUNCTION sno_flake_restrict_generator(name text, role name DEFAULT NULL) RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_flake_restrict_generator(text, name) IS
    'let only members of a role use a generator that sno_flake_create_generator() '
    'created, or let every role use it if the role is null';

CREATE FUNCTION sno_catalog.sno_flake_generate_support(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'sno_generate_support'
LANGUAGE C STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_flake_generate_support(internal) IS
    'planner support for functions that issue ids: prepares the session for '
    'parallel workers';

CREATE FUNCTION sno_flake_generate(name text) RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
SUPPORT sno_catalog.sno_flake_generate_support;
COMMENT ON FUNCTION sno_flake_generate(text) IS
    'next id, of up to 64 bits, of a generator that sno_flake_create_generator() '
    'created';

CREATE FUNCTION sno_flake_generate_uuid(name text) RETURNS uuid
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
SUPPORT sno_catalog.sno_flake_generate_support;
COMMENT ON FUNCTION sno_flake_generate_uuid(text) IS
    'next id, of 128 bits, of a generator that sno_flake_create_generator() created';

CREATE FUNCTION sno_flake_generate_bytea(name text) RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
SUPPORT sno_catalog.sno_flake_generate_support;
COMMENT ON FUNCTION sno_flake_generate_bytea(text) IS
    'next id, of 9 to 15 bytes, of a generator that sno_flake_create_generator() '
    'created';

CREATE FUNCTION sno_flake_advance(name text, after bigint) RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_flake_advance(text, bigint) IS
    'let a generator that sno_flake_create_generator() created go on after an id '
    'that was issued elsewhere';

--
-- feeds
--

CREATE FUNCTION sno_flake_watermark(name text) RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION sno_flake_watermark(text) IS
    'bound for reading a feed of ids of a generator (up to 64 bits): rows that this '
    'statement does not see yet have this id or higher ids';

CREATE FUNCTION sno_flake_watermark_uuid(name text) RETURNS uuid
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION sno_flake_watermark_uuid(text) IS
    'bound for reading a feed of ids of a generator (128 bits): rows that this '
    'statement does not see yet have this id or higher ids';

CREATE FUNCTION sno_flake_watermark_bytea(name text) RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION sno_flake_watermark_bytea(text) IS
    'bound for reading a feed of ids of a generator (9 to 15 bytes): rows that this '
    'statement does not see yet have this id or higher ids';

CREATE FUNCTION sno_flake_watermark_guard() RETURNS trigger
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_flake_watermark_guard() IS
    'trigger function for ids of a generator, which refuses ids that readers of a '
    'feed may have passed';

--
-- definitions
--

CREATE FUNCTION sno_flake_definitions() RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' SET timezone = 'UTC'
AS $$
    SELECT call
    FROM (
        SELECT 1, name::text, format('SELECT pg_catalog.sno_flake_create_layout(%L, %L, %s, %s, %s, %s, %L, %L);',
            name, epoch, unit, time_bits, node_bits, sequence_bits, node_last, digits)
        FROM sno_catalog.sno_flake_layout
        WHERE NOT built_in
        UNION ALL
        SELECT DISTINCT 2, key::text, format('SELECT pg_catalog.sno_seal_create_key(%L);', key)
        FROM sno_catalog.sno_flake_generator
        WHERE key IS NOT NULL
        UNION ALL
        SELECT 3, name::text, c.call
        FROM sno_catalog.sno_flake_generator, LATERAL (VALUES
            (format('SELECT pg_catalog.sno_flake_create_generator(%L, %L, %L, %s, %L);',
                name, layout, node_first, coalesce(nodes, node_last - node_first + 1), key)),
            (CASE WHEN role IS NOT NULL
                THEN format('SELECT pg_catalog.sno_flake_restrict_generator(%L, %L);', name, role) END)
        ) AS c (call)) AS d (part, name, call)
    WHERE call IS NOT NULL
    ORDER BY part, name, call;
$$;
COMMENT ON FUNCTION sno_flake_definitions() IS
    'statements that define the layouts and generators of sno_flakes in this '
    'database again, with new keys';

--
-- grants
--

CALL sno_catalog.sno_settle_privileges('sno_flakes');

-- As in extension sno, the database's owner may dump and restore the tables, and only this role may
-- call functions that affect other sessions.
GRANT SELECT, INSERT ON TABLE sno_catalog.sno_flake_layout, sno_catalog.sno_flake_generator
TO pg_database_owner;
REVOKE EXECUTE ON FUNCTION
    sno_flake_create_layout(text, timestamptz, integer, integer, integer, integer, boolean, text),
    sno_flake_create_generator(text, text, bigint, integer, text), sno_flake_restrict_generator(text, name),
    sno_flake_drop_generator(text), sno_flake_advance(text, bigint), sno_flake_definitions()
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    sno_flake_create_layout(text, timestamptz, integer, integer, integer, integer, boolean, text),
    sno_flake_create_generator(text, text, bigint, integer, text), sno_flake_restrict_generator(text, name),
    sno_flake_drop_generator(text), sno_flake_advance(text, bigint), sno_flake_definitions()
TO pg_database_owner;
