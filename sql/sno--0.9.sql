/* sno--0.9.sql: the type sno, and generators that never issue an id twice */

-- Complain if the script is sourced in psql rather than by CREATE EXTENSION.
\echo Use "CREATE EXTENSION sno" to load this file. \quit

--
-- schema
--

-- The type, its operators and the functions for users are in schema pg_catalog, where every search
-- path finds them first.  Tables can't be in that schema, and functions that only the server calls
-- would clutter it.  So tables and such functions are in schema sno_catalog, which only the
-- database's owner may use.  If there is already a schema of this name with objects in it, the script
-- fails, because the objects may belong to another role.  An empty schema is replaced, because some
-- programs, such as Rails 7.1, create all schemas before extensions.
DROP SCHEMA IF EXISTS sno_catalog;
CREATE SCHEMA sno_catalog;
COMMENT ON SCHEMA sno_catalog IS
    'tables and support functions of the extension sno';

--
-- type
--

CREATE TYPE sno;

--
-- I/O
--

CREATE FUNCTION sno_catalog.sno_in(cstring) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_in(cstring) IS
    'text input: 16 characters of 2-9 and a-x';

CREATE FUNCTION sno_catalog.sno_out(sno) RETURNS cstring
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_out(sno) IS
    'text output: 16 characters of 2-9 and a-x';

CREATE FUNCTION sno_catalog.sno_recv(internal) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_recv(internal) IS
    'binary input: 10 bytes';

CREATE FUNCTION sno_catalog.sno_send(sno) RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_send(sno) IS
    'binary output: 10 bytes';

CREATE TYPE sno (
    INPUT = sno_catalog.sno_in,
    OUTPUT = sno_catalog.sno_out,
    RECEIVE = sno_catalog.sno_recv,
    SEND = sno_catalog.sno_send,
    INTERNALLENGTH = 10,
    ALIGNMENT = char,
    STORAGE = plain,
    CATEGORY = 'U'
);
COMMENT ON TYPE sno IS
    'id of 10 bytes, sorted by time, with a text form of 16 characters';

-- postgres_fdw sends a condition with an array of ids to the remote server only if the array type
-- is a member of the extension.  From PostgreSQL 17 on, an array type becomes a member together with
-- its element type.
DO $$
BEGIN
    IF current_setting('server_version_num')::int < 170000 THEN
        ALTER EXTENSION sno ADD TYPE sno[];
    END IF;
END $$;

CREATE FUNCTION sno_codec() RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_codec() IS
    'name of the code that converts ids to text and back in this session';

CREATE FUNCTION sno_is_valid(text) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_is_valid(text) IS
    'whether the text is an id: exactly 16 characters of 2-9 and a-x';

--
-- accessors
--

CREATE FUNCTION sno_timestamp(sno) RETURNS timestamptz
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_timestamp(sno) IS
    'start of the unit of 4 ms in which the id was issued';

CREATE FUNCTION sno_tick_tock(sno) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_tick_tock(sno) IS
    'tick-tock bit of the id, which generators change when the clock steps '
    'back';

CREATE FUNCTION sno_meta(sno) RETURNS integer
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_meta(sno) IS
    'metabyte of the id, the byte for the user, 0 to 255';

CREATE FUNCTION sno_partition(sno) RETURNS integer
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_partition(sno) IS
    'partition that issued the id, 0 to 65535';

CREATE FUNCTION sno_sequence(sno) RETURNS integer
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_sequence(sno) IS
    'sequence of the id within its unit of 4 ms and its partition, 0 to 65535';

CREATE FUNCTION sno_parts(
    sno,
    OUT "timestamp" timestamptz,
    OUT tick_tock boolean,
    OUT meta integer,
    OUT partition integer,
    OUT sequence integer)
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_parts(sno) IS
    'all five fields of the id';

-- The planner replaces a call by the body, so a call costs as much as a call of date_bin().
CREATE FUNCTION sno_date_bin(stride interval, id sno, origin timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN date_bin(stride, sno_timestamp(id), origin);
COMMENT ON FUNCTION sno_date_bin(interval, sno, timestamptz) IS
    'start of the bin that holds sno_timestamp() of the id, as in date_bin()';

--
-- constructors
--

CREATE FUNCTION sno_make(
    at timestamptz,
    meta integer,
    partition integer,
    sequence integer DEFAULT 0,
    tick_tock boolean DEFAULT false) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_make(timestamptz, integer, integer, integer, boolean) IS
    'id with the given fields, in the unit of 4 ms that contains the time';

CREATE FUNCTION sno_with_timestamp(sno, timestamptz) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_with_timestamp(sno, timestamptz) IS
    'the id with another time, rounded down to 4 ms';

CREATE FUNCTION sno_with_meta(sno, integer) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_with_meta(sno, integer) IS
    'the id with another metabyte, 0 to 255';

CREATE FUNCTION sno_with_partition(sno, integer) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_with_partition(sno, integer) IS
    'the id with another partition, 0 to 65535';

CREATE FUNCTION sno_with_sequence(sno, integer) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_with_sequence(sno, integer) IS
    'the id with another sequence, 0 to 65535';

CREATE FUNCTION sno_zero() RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_zero() IS
    'the id of 80 zero bits, the lowest of all';

CREATE FUNCTION sno_is_zero(sno) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_is_zero(sno) IS
    'whether all 80 bits of the id are zero';

--
-- time bounds
--

CREATE FUNCTION sno_min(timestamptz) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_min(timestamptz) IS
    'lowest id of the unit of 4 ms that holds the time';

CREATE FUNCTION sno_max(timestamptz) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_max(timestamptz) IS
    'highest id of the unit of 4 ms that holds the time';

CREATE FUNCTION sno_min(timestamptz, meta integer) RETURNS sno
AS 'MODULE_PATHNAME', 'sno_min_meta'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_min(timestamptz, integer) IS
    'lowest id with that metabyte in the unit of 4 ms that holds the time';

CREATE FUNCTION sno_max(timestamptz, meta integer) RETURNS sno
AS 'MODULE_PATHNAME', 'sno_max_meta'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_max(timestamptz, integer) IS
    'highest id with that metabyte in the unit of 4 ms that holds the time';

CREATE FUNCTION sno_min_from(timestamptz) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_min_from(timestamptz) IS
    'lowest id whose sno_timestamp() is the time or later';

CREATE FUNCTION sno_min_after(timestamptz) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_min_after(timestamptz) IS
    'lowest id whose sno_timestamp() is later than the time';

CREATE FUNCTION sno_range_min(tstzrange) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_range_min(tstzrange) IS
    'lowest id whose sno_timestamp() is in the range';

CREATE FUNCTION sno_range_max(tstzrange) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_range_max(tstzrange) IS
    'highest id whose sno_timestamp() is in the range';

--
-- casts: explicit ones only, so that no operator becomes ambiguous
--

CREATE FUNCTION sno_to_uuid(sno) RETURNS uuid
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_to_uuid(sno) IS
    'uuid whose 16 bytes are the 16 characters of the text of the id';

CREATE FUNCTION sno_from_uuid(uuid) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_from_uuid(uuid) IS
    'id whose text is the 16 bytes of the uuid';

CREATE FUNCTION sno_to_bytea(sno) RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_to_bytea(sno) IS
    'the 10 bytes of the id';

CREATE FUNCTION sno_from_bytea(bytea) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_from_bytea(bytea) IS
    'id whose bytes are the 10 bytes of the bytea';

CREATE CAST (sno AS uuid) WITH FUNCTION sno_to_uuid(sno);
COMMENT ON CAST (sno AS uuid) IS
    'uuid whose 16 bytes are the 16 characters of the text of the id';

CREATE CAST (uuid AS sno) WITH FUNCTION sno_from_uuid(uuid);
COMMENT ON CAST (uuid AS sno) IS
    'id whose text is the 16 bytes of the uuid';

CREATE CAST (sno AS bytea) WITH FUNCTION sno_to_bytea(sno);
COMMENT ON CAST (sno AS bytea) IS
    'the 10 bytes of the id';

CREATE CAST (bytea AS sno) WITH FUNCTION sno_from_bytea(bytea);
COMMENT ON CAST (bytea AS sno) IS
    'id whose bytes are the 10 bytes of the bytea';

CREATE CAST (sno AS timestamptz) WITH FUNCTION sno_timestamp(sno);
COMMENT ON CAST (sno AS timestamptz) IS
    'start of the unit of 4 ms in which the id was issued';

--
-- uuid version 8
--

CREATE FUNCTION sno_to_uuidv8(sno) RETURNS uuid
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_to_uuidv8(sno) IS
    'uuid of version 8 (RFC 9562) that starts with the 80 bits of the id';

CREATE FUNCTION sno_from_uuidv8(uuid) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_from_uuidv8(uuid) IS
    'id of a uuid that sno_to_uuidv8() can return';

CREATE FUNCTION sno_catalog.sno_is_uuidv8_support(internal) RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_is_uuidv8_support(internal) IS
    'planner support for sno_is_uuidv8(): estimates the selectivity';

CREATE FUNCTION sno_is_uuidv8(uuid) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
SUPPORT sno_catalog.sno_is_uuidv8_support;
COMMENT ON FUNCTION sno_is_uuidv8(uuid) IS
    'whether sno_to_uuidv8() can return the uuid';

--
-- operators: comparison
--

CREATE FUNCTION sno_catalog.sno_eq(sno, sno) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_eq(sno, sno) IS
    'implementation of = operator';

CREATE FUNCTION sno_catalog.sno_ne(sno, sno) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_ne(sno, sno) IS
    'implementation of <> operator';

CREATE FUNCTION sno_catalog.sno_lt(sno, sno) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_lt(sno, sno) IS
    'implementation of < operator';

CREATE FUNCTION sno_catalog.sno_le(sno, sno) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_le(sno, sno) IS
    'implementation of <= operator';

CREATE FUNCTION sno_catalog.sno_gt(sno, sno) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_gt(sno, sno) IS
    'implementation of > operator';

CREATE FUNCTION sno_catalog.sno_ge(sno, sno) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_ge(sno, sno) IS
    'implementation of >= operator';

CREATE FUNCTION sno_catalog.sno_bound_sel(internal, oid, internal, integer) RETURNS float8
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_bound_sel(internal, oid, internal, integer) IS
    'restriction selectivity of <, <=, > and >=, alone or as a bound of a range';

CREATE FUNCTION sno_catalog.sno_bound_joinsel(internal, oid, internal, smallint, internal)
RETURNS float8
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_bound_joinsel(internal, oid, internal, smallint, internal) IS
    'join selectivity of <, <=, > and >=, alone or as a bound of a range';

CREATE OPERATOR = (
    FUNCTION = sno_catalog.sno_eq,
    LEFTARG = sno,
    RIGHTARG = sno,
    COMMUTATOR = =,
    NEGATOR = <>,
    RESTRICT = eqsel,
    JOIN = eqjoinsel,
    HASHES,
    MERGES
);
COMMENT ON OPERATOR = (sno, sno) IS
    'equal';

CREATE OPERATOR <> (
    FUNCTION = sno_catalog.sno_ne,
    LEFTARG = sno,
    RIGHTARG = sno,
    COMMUTATOR = <>,
    NEGATOR = =,
    RESTRICT = neqsel,
    JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (sno, sno) IS
    'not equal';

CREATE OPERATOR < (
    FUNCTION = sno_catalog.sno_lt,
    LEFTARG = sno,
    RIGHTARG = sno,
    COMMUTATOR = >,
    NEGATOR = >=,
    RESTRICT = sno_catalog.sno_bound_sel,
    JOIN = sno_catalog.sno_bound_joinsel
);
COMMENT ON OPERATOR < (sno, sno) IS
    'less than';

CREATE OPERATOR <= (
    FUNCTION = sno_catalog.sno_le,
    LEFTARG = sno,
    RIGHTARG = sno,
    COMMUTATOR = >=,
    NEGATOR = >,
    RESTRICT = sno_catalog.sno_bound_sel,
    JOIN = sno_catalog.sno_bound_joinsel
);
COMMENT ON OPERATOR <= (sno, sno) IS
    'less than or equal';

CREATE OPERATOR > (
    FUNCTION = sno_catalog.sno_gt,
    LEFTARG = sno,
    RIGHTARG = sno,
    COMMUTATOR = <,
    NEGATOR = <=,
    RESTRICT = sno_catalog.sno_bound_sel,
    JOIN = sno_catalog.sno_bound_joinsel
);
COMMENT ON OPERATOR > (sno, sno) IS
    'greater than';

CREATE OPERATOR >= (
    FUNCTION = sno_catalog.sno_ge,
    LEFTARG = sno,
    RIGHTARG = sno,
    COMMUTATOR = <=,
    NEGATOR = <,
    RESTRICT = sno_catalog.sno_bound_sel,
    JOIN = sno_catalog.sno_bound_joinsel
);
COMMENT ON OPERATOR >= (sno, sno) IS
    'greater than or equal';

--
-- operators: an id and a time
--

-- The planner replaces calls of the functions below by their bodies, so indexes, partition pruning
-- and estimates work as for any comparison of two ids.  The functions for = are not strict: the
-- planner inlines a strict function only if its body is strict, and AND is not.
--
-- If one operand is a literal or a parameter without a type, PostgreSQL prefers an operator for two
-- operands of the same type.  So the operators below don't change the meaning of queries with such
-- an operand.

CREATE FUNCTION sno_catalog.sno_lt_timestamptz(sno, timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 < sno_min_from($2);
COMMENT ON FUNCTION sno_catalog.sno_lt_timestamptz(sno, timestamptz) IS
    'implementation of < operator';

CREATE FUNCTION sno_catalog.sno_le_timestamptz(sno, timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 < sno_min_after($2);
COMMENT ON FUNCTION sno_catalog.sno_le_timestamptz(sno, timestamptz) IS
    'implementation of <= operator';

CREATE FUNCTION sno_catalog.sno_eq_timestamptz(sno, timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN $1 >= sno_min_from($2) AND $1 < sno_min_after($2);
COMMENT ON FUNCTION sno_catalog.sno_eq_timestamptz(sno, timestamptz) IS
    'implementation of = operator';

-- The function for <> is in C.  An SQL body would be of no use, because an index hardly helps with
-- <>, and the planner would estimate two comparisons joined by OR badly.
CREATE FUNCTION sno_catalog.sno_ne_timestamptz(sno, timestamptz) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_ne_timestamptz(sno, timestamptz) IS
    'implementation of <> operator';

CREATE FUNCTION sno_catalog.sno_ge_timestamptz(sno, timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 >= sno_min_from($2);
COMMENT ON FUNCTION sno_catalog.sno_ge_timestamptz(sno, timestamptz) IS
    'implementation of >= operator';

CREATE FUNCTION sno_catalog.sno_gt_timestamptz(sno, timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 >= sno_min_after($2);
COMMENT ON FUNCTION sno_catalog.sno_gt_timestamptz(sno, timestamptz) IS
    'implementation of > operator';

CREATE FUNCTION sno_catalog.sno_timestamptz_lt(timestamptz, sno) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $2 >= sno_min_after($1);
COMMENT ON FUNCTION sno_catalog.sno_timestamptz_lt(timestamptz, sno) IS
    'implementation of < operator';

CREATE FUNCTION sno_catalog.sno_timestamptz_le(timestamptz, sno) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $2 >= sno_min_from($1);
COMMENT ON FUNCTION sno_catalog.sno_timestamptz_le(timestamptz, sno) IS
    'implementation of <= operator';

CREATE FUNCTION sno_catalog.sno_timestamptz_eq(timestamptz, sno) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN $2 >= sno_min_from($1) AND $2 < sno_min_after($1);
COMMENT ON FUNCTION sno_catalog.sno_timestamptz_eq(timestamptz, sno) IS
    'implementation of = operator';

CREATE FUNCTION sno_catalog.sno_timestamptz_ge(timestamptz, sno) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $2 < sno_min_after($1);
COMMENT ON FUNCTION sno_catalog.sno_timestamptz_ge(timestamptz, sno) IS
    'implementation of >= operator';

CREATE FUNCTION sno_catalog.sno_timestamptz_gt(timestamptz, sno) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $2 < sno_min_from($1);
COMMENT ON FUNCTION sno_catalog.sno_timestamptz_gt(timestamptz, sno) IS
    'implementation of > operator';

CREATE OPERATOR < (
    FUNCTION = sno_catalog.sno_lt_timestamptz,
    LEFTARG = sno,
    RIGHTARG = timestamptz,
    COMMUTATOR = >,
    NEGATOR = >=,
    RESTRICT = scalarltsel,
    JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (sno, timestamptz) IS
    'whether sno_timestamp() of the id is earlier than the time';

CREATE OPERATOR <= (
    FUNCTION = sno_catalog.sno_le_timestamptz,
    LEFTARG = sno,
    RIGHTARG = timestamptz,
    COMMUTATOR = >=,
    NEGATOR = >,
    RESTRICT = scalarlesel,
    JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (sno, timestamptz) IS
    'whether sno_timestamp() of the id is not later than the time';

CREATE OPERATOR = (
    FUNCTION = sno_catalog.sno_eq_timestamptz,
    LEFTARG = sno,
    RIGHTARG = timestamptz,
    COMMUTATOR = =,
    NEGATOR = <>,
    RESTRICT = eqsel,
    JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (sno, timestamptz) IS
    'whether sno_timestamp() of the id is the time';

CREATE OPERATOR <> (
    FUNCTION = sno_catalog.sno_ne_timestamptz,
    LEFTARG = sno,
    RIGHTARG = timestamptz,
    COMMUTATOR = <>,
    NEGATOR = =,
    RESTRICT = neqsel,
    JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (sno, timestamptz) IS
    'whether sno_timestamp() of the id is not the time';

CREATE OPERATOR >= (
    FUNCTION = sno_catalog.sno_ge_timestamptz,
    LEFTARG = sno,
    RIGHTARG = timestamptz,
    COMMUTATOR = <=,
    NEGATOR = <,
    RESTRICT = scalargesel,
    JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (sno, timestamptz) IS
    'whether sno_timestamp() of the id is not earlier than the time';

CREATE OPERATOR > (
    FUNCTION = sno_catalog.sno_gt_timestamptz,
    LEFTARG = sno,
    RIGHTARG = timestamptz,
    COMMUTATOR = <,
    NEGATOR = <=,
    RESTRICT = scalargtsel,
    JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (sno, timestamptz) IS
    'whether sno_timestamp() of the id is later than the time';

CREATE OPERATOR < (
    FUNCTION = sno_catalog.sno_timestamptz_lt,
    LEFTARG = timestamptz,
    RIGHTARG = sno,
    COMMUTATOR = >,
    NEGATOR = >=,
    RESTRICT = scalarltsel,
    JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (timestamptz, sno) IS
    'whether the time is earlier than sno_timestamp() of the id';

CREATE OPERATOR <= (
    FUNCTION = sno_catalog.sno_timestamptz_le,
    LEFTARG = timestamptz,
    RIGHTARG = sno,
    COMMUTATOR = >=,
    NEGATOR = >,
    RESTRICT = scalarlesel,
    JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (timestamptz, sno) IS
    'whether the time is not later than sno_timestamp() of the id';

CREATE OPERATOR = (
    FUNCTION = sno_catalog.sno_timestamptz_eq,
    LEFTARG = timestamptz,
    RIGHTARG = sno,
    COMMUTATOR = =,
    NEGATOR = <>,
    RESTRICT = eqsel,
    JOIN = eqjoinsel
);
COMMENT ON OPERATOR = (timestamptz, sno) IS
    'whether the time is sno_timestamp() of the id';

CREATE FUNCTION sno_catalog.sno_timestamptz_ne(timestamptz, sno) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $2 <> $1;
COMMENT ON FUNCTION sno_catalog.sno_timestamptz_ne(timestamptz, sno) IS
    'implementation of <> operator';

CREATE OPERATOR <> (
    FUNCTION = sno_catalog.sno_timestamptz_ne,
    LEFTARG = timestamptz,
    RIGHTARG = sno,
    COMMUTATOR = <>,
    NEGATOR = =,
    RESTRICT = neqsel,
    JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (timestamptz, sno) IS
    'whether the time is not sno_timestamp() of the id';

CREATE OPERATOR >= (
    FUNCTION = sno_catalog.sno_timestamptz_ge,
    LEFTARG = timestamptz,
    RIGHTARG = sno,
    COMMUTATOR = <=,
    NEGATOR = <,
    RESTRICT = scalargesel,
    JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (timestamptz, sno) IS
    'whether the time is not earlier than sno_timestamp() of the id';

CREATE OPERATOR > (
    FUNCTION = sno_catalog.sno_timestamptz_gt,
    LEFTARG = timestamptz,
    RIGHTARG = sno,
    COMMUTATOR = <,
    NEGATOR = <=,
    RESTRICT = scalargtsel,
    JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (timestamptz, sno) IS
    'whether the time is later than sno_timestamp() of the id';

--
-- operators: an id in a range of time
--

-- The planner turns the operators <@ and @> into comparisons with sno_range_min() and
-- sno_range_max().  The operators are defined for anyrange, and raise an error unless the range is a
-- tstzrange or a range of ids.  Operators for tstzrange would change the meaning of queries without
-- ids, such as "during @> '[2026-01-01,)'".

CREATE FUNCTION sno_catalog.sno_range_support(internal) RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_range_support(internal) IS
    'planner support for <@, @> and sno_during(): turns them into comparisons of '
    'the id with two bounds';

CREATE FUNCTION sno_catalog.sno_contained_by(sno, anyrange) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
SUPPORT sno_catalog.sno_range_support;
COMMENT ON FUNCTION sno_catalog.sno_contained_by(sno, anyrange) IS
    'implementation of <@ operator';

CREATE FUNCTION sno_catalog.sno_range_contains(anyrange, sno) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
SUPPORT sno_catalog.sno_range_support;
COMMENT ON FUNCTION sno_catalog.sno_range_contains(anyrange, sno) IS
    'implementation of @> operator';

CREATE OPERATOR <@ (
    FUNCTION = sno_catalog.sno_contained_by,
    LEFTARG = sno,
    RIGHTARG = anyrange,
    COMMUTATOR = @>,
    RESTRICT = contsel,
    JOIN = contjoinsel
);
COMMENT ON OPERATOR <@ (sno, anyrange) IS
    'whether sno_timestamp() of the id is in the range';

CREATE OPERATOR @> (
    FUNCTION = sno_catalog.sno_range_contains,
    LEFTARG = anyrange,
    RIGHTARG = sno,
    COMMUTATOR = <@,
    RESTRICT = contsel,
    JOIN = contjoinsel
);
COMMENT ON OPERATOR @> (anyrange, sno) IS
    'whether the range contains sno_timestamp() of the id';

-- For uuids, there is a function, but no operator, because PostgreSQL would prefer our operator to its
-- own operators for ranges of uuids.

CREATE FUNCTION sno_during(id uuid, during tstzrange) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE PARALLEL SAFE
SUPPORT sno_catalog.sno_range_support;
COMMENT ON FUNCTION sno_during(uuid, tstzrange) IS
    'whether the uuid is the version 8 form of an id whose time is in the range';

--
-- operator classes
--

CREATE FUNCTION sno_catalog.sno_cmp(sno, sno) RETURNS integer
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_cmp(sno, sno) IS
    'negative if the first id is less than the second, 0 if they are equal, otherwise '
    'positive';

CREATE FUNCTION sno_catalog.sno_hash(sno) RETURNS integer
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_hash(sno) IS
    'hash of 32 bits';

CREATE FUNCTION sno_catalog.sno_hash_extended(sno, bigint) RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_hash_extended(sno, bigint) IS
    'hash of 64 bits, with a seed';

CREATE FUNCTION sno_catalog.sno_sort_support(internal) RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_sort_support(internal) IS
    'sort support, with abbreviated keys';

CREATE FUNCTION sno_catalog.sno_in_range(sno, sno, interval, boolean, boolean) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_in_range(sno, sno, interval, boolean, boolean) IS
    'support for RANGE window frames: compares the time of an id with the time '
    'of another id plus or minus an interval';

CREATE FUNCTION sno_catalog.sno_skip_support(internal) RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_skip_support(internal) IS
    'support for skip scans, in PostgreSQL 18 and later';

CREATE FUNCTION sno_catalog.sno_brin_distance(internal, internal) RETURNS double precision
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_brin_distance(internal, internal) IS
    'BRIN minmax-multi support: distance between two ids';

-- The functions below call PostgreSQL's minmax functions, and make them work for columns of a domain
-- type (src/type/opclass.c).

CREATE FUNCTION sno_catalog.sno_brin_minmax_add_value(internal, internal, internal, internal) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_brin_minmax_add_value(internal, internal, internal, internal) IS
    'BRIN minmax support: add an id to the summary of a range of pages';

CREATE FUNCTION sno_catalog.sno_brin_minmax_consistent(internal, internal, internal) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_brin_minmax_consistent(internal, internal, internal) IS
    'BRIN minmax support: whether a range of pages can match a search';

CREATE FUNCTION sno_catalog.sno_brin_minmax_union(internal, internal, internal) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_brin_minmax_union(internal, internal, internal) IS
    'BRIN minmax support: merge two summaries';

CREATE FUNCTION sno_catalog.sno_brin_minmax_multi_add_value(internal, internal, internal, internal) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_brin_minmax_multi_add_value(internal, internal, internal, internal) IS
    'BRIN minmax-multi support: add an id to the summary of a range of pages';

CREATE FUNCTION sno_catalog.sno_brin_minmax_multi_consistent(internal, internal, internal, integer) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_brin_minmax_multi_consistent(internal, internal, internal, integer) IS
    'BRIN minmax-multi support: whether a range of pages can match a search';

CREATE FUNCTION sno_catalog.sno_brin_minmax_multi_union(internal, internal, internal) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_brin_minmax_multi_union(internal, internal, internal) IS
    'BRIN minmax-multi support: merge two summaries';

CREATE FUNCTION sno_catalog.sno_gist_consistent(internal, sno, smallint, oid, internal) RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_gist_consistent(internal, sno, smallint, oid, internal) IS
    'GiST support: whether an index entry can match a search';

CREATE FUNCTION sno_catalog.sno_gist_union(internal, internal) RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_gist_union(internal, internal) IS
    'GiST support: the lowest and the highest id of several entries';

CREATE FUNCTION sno_catalog.sno_gist_compress(internal) RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_gist_compress(internal) IS
    'GiST support: the index entry for an id';

CREATE FUNCTION sno_catalog.sno_gist_fetch(internal) RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_gist_fetch(internal) IS
    'GiST support: the id of an index entry';

CREATE FUNCTION sno_catalog.sno_gist_penalty(internal, internal, internal) RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_gist_penalty(internal, internal, internal) IS
    'GiST support: how much an entry grows if another one is added to it';

CREATE FUNCTION sno_catalog.sno_gist_picksplit(internal, internal) RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_gist_picksplit(internal, internal) IS
    'GiST support: division of a full page';

CREATE FUNCTION sno_catalog.sno_gist_same(bytea, bytea, internal) RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_gist_same(bytea, bytea, internal) IS
    'GiST support: whether two entries are equal';

CREATE FUNCTION sno_catalog.sno_gist_sort_support(internal) RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_gist_sort_support(internal) IS
    'GiST support: the order in which CREATE INDEX sorts ids';

CREATE OPERATOR CLASS sno_ops
DEFAULT FOR TYPE sno USING btree AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 sno_catalog.sno_cmp(sno, sno),
    FUNCTION 2 sno_catalog.sno_sort_support(internal),
    FUNCTION 3 (sno, interval) sno_catalog.sno_in_range(sno, sno, interval, boolean, boolean),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS sno_ops USING btree IS
    'order of ids: by time, tick-tock, metabyte, partition, sequence';
COMMENT ON OPERATOR FAMILY sno_ops USING btree IS
    'order of ids: by time, tick-tock, metabyte, partition, sequence';

CREATE OPERATOR CLASS sno_ops
DEFAULT FOR TYPE sno USING hash AS
    OPERATOR 1 =,
    FUNCTION 1 sno_catalog.sno_hash(sno),
    FUNCTION 2 sno_catalog.sno_hash_extended(sno, bigint);
COMMENT ON OPERATOR CLASS sno_ops USING hash IS
    'hashing of ids';
COMMENT ON OPERATOR FAMILY sno_ops USING hash IS
    'hashing of ids';

CREATE OPERATOR CLASS sno_minmax_ops
DEFAULT FOR TYPE sno USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_opcinfo(internal),
    FUNCTION 2 sno_catalog.sno_brin_minmax_add_value(internal, internal, internal, internal),
    FUNCTION 3 sno_catalog.sno_brin_minmax_consistent(internal, internal, internal),
    FUNCTION 4 sno_catalog.sno_brin_minmax_union(internal, internal, internal);
COMMENT ON OPERATOR CLASS sno_minmax_ops USING brin IS
    'lowest and highest id in a range of pages';
COMMENT ON OPERATOR FAMILY sno_minmax_ops USING brin IS
    'lowest and highest id in a range of pages';

CREATE OPERATOR CLASS sno_minmax_multi_ops
FOR TYPE sno USING brin AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 brin_minmax_multi_opcinfo(internal),
    FUNCTION 2 sno_catalog.sno_brin_minmax_multi_add_value(internal, internal, internal, internal),
    FUNCTION 3 sno_catalog.sno_brin_minmax_multi_consistent(internal, internal, internal, integer),
    FUNCTION 4 sno_catalog.sno_brin_minmax_multi_union(internal, internal, internal),
    FUNCTION 5 brin_minmax_multi_options(internal),
    FUNCTION 11 sno_catalog.sno_brin_distance(internal, internal);
COMMENT ON OPERATOR CLASS sno_minmax_multi_ops USING brin IS
    'several spans of ids for a range of pages';
COMMENT ON OPERATOR FAMILY sno_minmax_multi_ops USING brin IS
    'several spans of ids for a range of pages';

CREATE OPERATOR CLASS sno_bloom_ops
FOR TYPE sno USING brin AS
    OPERATOR 1 =,
    FUNCTION 1 brin_bloom_opcinfo(internal),
    FUNCTION 2 brin_bloom_add_value(internal, internal, internal, internal),
    FUNCTION 3 brin_bloom_consistent(internal, internal, internal, integer),
    FUNCTION 4 brin_bloom_union(internal, internal, internal),
    FUNCTION 5 brin_bloom_options(internal),
    FUNCTION 11 sno_catalog.sno_hash(sno);
COMMENT ON OPERATOR CLASS sno_bloom_ops USING brin IS
    'Bloom filter of the ids in a range of pages';
COMMENT ON OPERATOR FAMILY sno_bloom_ops USING brin IS
    'Bloom filter of the ids in a range of pages';

-- The strategy numbers of = <> < <= > >= in GiST are defined by stratnum.h.
CREATE OPERATOR CLASS sno_ops
DEFAULT FOR TYPE sno USING gist AS
    OPERATOR 18 =,
    OPERATOR 19 <>,
    OPERATOR 20 <,
    OPERATOR 21 <=,
    OPERATOR 22 >,
    OPERATOR 23 >=,
    FUNCTION 1 sno_catalog.sno_gist_consistent(internal, sno, smallint, oid, internal),
    FUNCTION 2 sno_catalog.sno_gist_union(internal, internal),
    FUNCTION 3 sno_catalog.sno_gist_compress(internal),
    FUNCTION 5 sno_catalog.sno_gist_penalty(internal, internal, internal),
    FUNCTION 6 sno_catalog.sno_gist_picksplit(internal, internal),
    FUNCTION 7 sno_catalog.sno_gist_same(bytea, bytea, internal),
    FUNCTION 9 sno_catalog.sno_gist_fetch(internal),
    FUNCTION 11 sno_catalog.sno_gist_sort_support(internal),
    STORAGE bytea;
COMMENT ON OPERATOR CLASS sno_ops USING gist IS
    'ids together with ranges, in exclusion constraints and in keys WITHOUT '
    'OVERLAPS';
COMMENT ON OPERATOR FAMILY sno_ops USING gist IS
    'ids together with ranges, in exclusion constraints and in keys WITHOUT '
    'OVERLAPS';

-- Two support functions exist only in PostgreSQL 18 and later: one for skip scans of btree indexes,
-- and one for GiST indexes of keys WITHOUT OVERLAPS.  Older versions would reject the statements that
-- add these functions to the operator families.  So the statements are in a function, which is called
-- only in newer versions.
CREATE FUNCTION sno_extend_families() RETURNS void
LANGUAGE sql AS $$
    ALTER OPERATOR FAMILY sno_ops USING btree
        ADD FUNCTION 6 (sno, sno) sno_catalog.sno_skip_support(internal);
    ALTER OPERATOR FAMILY sno_ops USING gist
        ADD FUNCTION 12 ("any", "any") gist_translate_cmptype_common(integer);
$$;

SELECT CASE
    WHEN current_setting('server_version_num')::int >= 180000
    THEN sno_extend_families() END;

DROP FUNCTION sno_extend_families();

--
-- aggregates
--

CREATE FUNCTION sno_catalog.sno_smaller(sno, sno) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_smaller(sno, sno) IS
    'smaller of two ids';

CREATE FUNCTION sno_catalog.sno_larger(sno, sno) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_larger(sno, sno) IS
    'larger of two ids';

CREATE AGGREGATE min(sno) (
    SFUNC = sno_catalog.sno_smaller,
    STYPE = sno,
    COMBINEFUNC = sno_catalog.sno_smaller,
    SORTOP = <,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(sno) IS
    'lowest of all input ids';

CREATE AGGREGATE max(sno) (
    SFUNC = sno_catalog.sno_larger,
    STYPE = sno,
    COMBINEFUNC = sno_catalog.sno_larger,
    SORTOP = >,
    PARALLEL = SAFE
);
COMMENT ON AGGREGATE max(sno) IS
    'highest of all input ids';

--
-- generators
--

CREATE FUNCTION sno_catalog.sno_generate_support(internal) RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_generate_support(internal) IS
    'planner support for functions that issue ids: prepares the session for '
    'parallel workers';

CREATE FUNCTION sno_generate(meta integer DEFAULT 0) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
SUPPORT sno_catalog.sno_generate_support;
COMMENT ON FUNCTION sno_generate(integer) IS
    'new id, different from all others of this database';

CREATE FUNCTION sno_generate_uuidv8(meta integer DEFAULT 0) RETURNS uuid
LANGUAGE sql VOLATILE STRICT PARALLEL SAFE
RETURN sno_to_uuidv8(sno_generate(meta));
COMMENT ON FUNCTION sno_generate_uuidv8(integer) IS
    'new id of sno_generate(integer), as a uuid of version 8 (RFC 9562)';

CREATE FUNCTION sno_generate(meta integer, generator text) RETURNS sno
AS 'MODULE_PATHNAME', 'sno_generate_named'
LANGUAGE C VOLATILE PARALLEL SAFE
SUPPORT sno_catalog.sno_generate_support;
COMMENT ON FUNCTION sno_generate(integer, text) IS
    'new id of a named generator';

CREATE FUNCTION sno_create_generator(name text, partition integer DEFAULT NULL,
    sequence_min integer DEFAULT 0, sequence_max integer DEFAULT 65535,
    meta integer DEFAULT NULL)
RETURNS integer
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_create_generator(text, integer, integer, integer, integer) IS
    'create a named generator, which all sessions share, and return its partition';

CREATE FUNCTION sno_drop_generator(name text) RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_drop_generator(text) IS
    'drop the definition of a named generator';

CREATE FUNCTION sno_restrict_generator(name text, role name DEFAULT NULL) RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_restrict_generator(text, name) IS
    'let only members of a role use a named generator, or let every role use it if '
    'the role is null';

CREATE FUNCTION sno_borrow_partition(duration interval DEFAULT '1 hour',
    sequences integer DEFAULT 65536, OUT snapshot jsonb, OUT until timestamptz)
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_borrow_partition(interval, integer) IS
    'lend a partition, or some of its sequences, to an application that generates '
    'ids by itself';

CREATE FUNCTION sno_snapshot_generator() RETURNS jsonb
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION sno_snapshot_generator() IS
    'state of the generator of this session, in the format of the Go package';

CREATE FUNCTION sno_snapshot_generator(name text) RETURNS jsonb
AS 'MODULE_PATHNAME', 'sno_snapshot_generator_named'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_snapshot_generator(text) IS
    'state of a named generator, in the format of the Go package';

CREATE FUNCTION sno_restore_generator(name text, snapshot jsonb) RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_restore_generator(text, jsonb) IS
    'let a named generator go on after the ids that a snapshot of it records';

CREATE FUNCTION sno_catalog.sno_many_support(internal) RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_catalog.sno_many_support(internal) IS
    'planner support for sno_generate_many(): estimates the number of rows';

CREATE FUNCTION sno_generate_many(count bigint, meta integer DEFAULT 0) RETURNS SETOF sno
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
SUPPORT sno_catalog.sno_many_support;
COMMENT ON FUNCTION sno_generate_many(bigint, integer) IS
    'the given number of new ids of sno_generate(integer)';

CREATE FUNCTION sno_generate_many(count bigint, meta integer, generator text) RETURNS SETOF sno
AS 'MODULE_PATHNAME', 'sno_generate_many_named'
LANGUAGE C VOLATILE PARALLEL RESTRICTED
SUPPORT sno_catalog.sno_many_support;
COMMENT ON FUNCTION sno_generate_many(bigint, integer, text) IS
    'the given number of new ids of a named generator';

CREATE FUNCTION sno_generate_at(at timestamptz, meta integer DEFAULT 0) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE
SUPPORT sno_catalog.sno_generate_support;
COMMENT ON FUNCTION sno_generate_at(timestamptz, integer) IS
    'new id in the unit of 4 ms that contains the given time, different from all '
    'others of this database';

CREATE FUNCTION sno_reseed() RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_reseed() IS
    'avoid the partitions that were leased before this call; call it in each '
    'database of a copy that runs beside the original server';

--
-- feeds
--

CREATE FUNCTION sno_watermark() RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION sno_watermark() IS
    'bound for reading a feed: rows that this statement does not see yet have '
    'this id or higher ids';

CREATE FUNCTION sno_watermark_blockers(
    OUT pid         integer,
    OUT transaction xid,
    OUT since       timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION sno_watermark_blockers() IS
    'transactions of this database that generated ids, have not ended, and hold '
    'watermarks back';

CREATE FUNCTION sno_watermark_guard() RETURNS trigger
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_watermark_guard() IS
    'trigger function that refuses ids which readers of a feed may have passed';

CREATE FUNCTION sno_reset_watermark() RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_reset_watermark() IS
    'let sno_watermark() start again after the clock was more than an hour behind '
    'a watermark';

--
-- time partitions of tables
--

CREATE PROCEDURE sno_maintain_time_partitions(
    parent regclass,
    step   interval,
    ahead  interval DEFAULT NULL,
    keep   interval DEFAULT NULL,
    at     timestamptz DEFAULT now())
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $procedure$
DECLARE
    present   CONSTANT timestamp := at AT TIME ZONE 'UTC';
    months    integer;
    days      integer;
    seconds   numeric;
    key       regtype;
    class     pg_class;
    -- Bounds of partitions are texts of ids or of uuids, or '' for MINVALUE, or '~' for MAXVALUE.
    -- The bounds have the type "name", which compares bytes, so they sort like the ids or uuids.
    to_bound  text;         -- from a time
    to_time   text;         -- from a bound
    highest   name;
    partition oid[];
    bounds    name[];
    from_id   name;
    to_id     name;
    begins    timestamp;
    first     timestamp;
    base      text;
    suffix    text;
    created   text;
    taken     record;
    old       record;
    timeout   CONSTANT text := current_setting('lock_timeout');
BEGIN
    IF parent IS NULL OR step IS NULL OR at IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'parent, step and at must not be null';
    END IF;
    IF isfinite(step) THEN
        months := extract(year FROM step) * 12 + extract(month FROM step);
        days := extract(day FROM step);
        seconds := extract(epoch FROM step - make_interval(months => months, days => days));
    END IF;
    IF (months > 0 AND days = 0 AND seconds = 0
        OR months = 0 AND days > 0 AND seconds = 0
        OR months = 0 AND days = 0 AND seconds >= 60 AND seconds % 60 = 0 AND 86400 % seconds = 0) IS NOT TRUE
    THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('invalid step "%s"', step),
            DETAIL = 'A step is a number of months, a number of days, or whole minutes that divide a day evenly.',
            HINT = 'Steps are, for example, "1 month", "7 days" and "6 hours".';
    END IF;
    IF ahead < '0' OR keep < '0' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'ahead and keep must not be negative';
    END IF;
    IF at < '2010-01-01 00:00:00+00' OR at >= '2079-09-07 15:47:35.552+00' THEN
        RAISE datetime_field_overflow USING
            MESSAGE = format('timestamp "%s" is out of range for type sno', at),
            DETAIL = 'A sno has a time from 2010-01-01 00:00:00 to 2079-09-07 15:47:35.548 UTC.';
    END IF;

    SELECT o.opcintype INTO key
    FROM pg_partitioned_table AS p JOIN pg_opclass AS o ON o.oid = p.partclass[0]
    WHERE p.partrelid = parent AND p.partstrat = 'r' AND p.partnatts = 1 AND p.partattrs[0] <> 0
        AND o.opcnamespace = 'pg_catalog'::regnamespace AND o.opcname IN ('sno_ops', 'uuid_ops');
    IF NOT FOUND THEN
        RAISE wrong_object_type USING
            MESSAGE = format('%s is not a table that is partitioned by range of ids', parent),
            HINT = 'The table needs PARTITION BY RANGE on one column of type sno or uuid.';
    END IF;
    IF key = 'uuid'::regtype THEN
        to_bound := 'sno_to_uuidv8(sno_min($1))::text';
        -- The expression reads the time from the first 6 bytes, so it also works for uuids that are not ids.
        to_time := 'sno_timestamp((substr(uuid_send($1::uuid), 1, 6) || decode(''00000000'', ''hex''))::sno)';
    ELSE
        to_bound := 'sno_min($1)::text';
        to_time := 'sno_timestamp($1::sno)';
    END IF;
    EXECUTE 'SELECT ' || to_bound INTO highest USING 'infinity'::timestamptz;
    IF pg_has_role((SELECT c.relowner FROM pg_class AS c WHERE c.oid = parent), 'USAGE') IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', parent);
    END IF;
    IF (SELECT r.rolsuper FROM pg_roles AS r WHERE r.rolname = current_user)
        AND NOT (SELECT r.rolsuper FROM pg_class AS c JOIN pg_roles AS r ON r.oid = c.relowner WHERE c.oid = parent)
    THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('a superuser must not maintain table %s of another role', parent),
            DETAIL = 'Code of its owner, such as a constraint, would run with the rights of a superuser.',
            HINT = 'Connect as the owner of the table.';
    END IF;

    -- The lock lets one call run at a time, and doesn't block readers and writers of the table.
    EXECUTE format('LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE', parent);
    SELECT c.* INTO class FROM pg_class AS c WHERE c.oid = parent;
    SELECT array_agg(i.inhrelid), array_agg(ARRAY[coalesce(b.bound[1], ''), coalesce(b.bound[2], '~')]) INTO partition, bounds
    FROM pg_inherits AS i
    JOIN pg_class AS c ON c.oid = i.inhrelid,
        regexp_match(pg_get_expr(c.relpartbound, c.oid),
            $$^FOR VALUES FROM [(](?:MINVALUE|'([-0-9a-x]*)')[)] TO [(](?:MAXVALUE|'([-0-9a-x]*)')[)]$$) AS b (bound)
    WHERE i.inhparent = parent AND b.bound IS NOT NULL;

    -- Steps of months count from January 2000, and steps of days or minutes from a Monday.
    IF months > 0 THEN
        begins := timestamp '2000-01-01'
            + step * div((extract(year FROM present) - 2000) * 12 + extract(month FROM present) - 1, months)::integer;
    ELSE
        begins := date_bin(step, present, '2000-01-03');
    END IF;
    WHILE begins <= present + coalesce(ahead, 4 * step) LOOP
        EXECUTE 'SELECT ' || to_bound INTO from_id USING begins AT TIME ZONE 'UTC';
        EXECUTE 'SELECT ' || to_bound INTO to_id USING (begins + step) AT TIME ZONE 'UTC';
        EXIT WHEN from_id = highest;
        IF to_id = highest THEN
            to_id := '~';
        END IF;

        -- Create partitions for the gaps in this step: before each existing partition, then up to the
        -- end of the step.
        FOR taken IN
            SELECT bounds[n][1] AS from_id, bounds[n][2] AS to_id FROM generate_subscripts(bounds, 1) AS n
            WHERE bounds[n][1] < to_id AND bounds[n][2] > from_id
            UNION ALL
            SELECT to_id, to_id
            ORDER BY 1
        LOOP
            IF from_id < taken.from_id THEN
                EXECUTE format('SELECT %s AT TIME ZONE ''UTC''', to_time) INTO first USING from_id;
                suffix := to_char(first, CASE
                    WHEN months > 0 AND first = date_trunc('month', first) THEN '_YYYY_MM'
                    WHEN seconds = 0 AND first = date_trunc('day', first) THEN '_YYYY_MM_DD'
                    WHEN first = date_trunc('minute', first) THEN '_YYYY_MM_DD_HH24MI'
                    ELSE '_YYYY_MM_DD_HH24MISSMS' END);
                base := class.relname;
                WHILE octet_length(base || suffix) > current_setting('max_identifier_length')::integer LOOP
                    base := left(base, -1);
                END LOOP;
                created := format('%s.%I', class.relnamespace::regnamespace, base || suffix);

                -- CREATE TABLE ... PARTITION OF would block readers and writers of the parent.  ATTACH
                -- PARTITION adds the indexes, foreign keys, triggers and identity of the parent.
                EXECUTE concat(
                    format('CREATE TABLE %s (LIKE %s INCLUDING COMPRESSION INCLUDING CONSTRAINTS', created, parent),
                    ' INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING STORAGE)',
                    (SELECT format(' USING %I', a.amname) FROM pg_am AS a WHERE a.oid = class.relam),
                    (SELECT format(' TABLESPACE %I', t.spcname) FROM pg_tablespace AS t WHERE t.oid = class.reltablespace));
                EXECUTE format('ALTER TABLE %s OWNER TO %s', created, class.relowner::regrole);
                EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%s)', parent, created, from_id,
                    CASE taken.from_id WHEN '~' THEN 'MAXVALUE' ELSE quote_literal(taken.from_id) END);
            END IF;
            from_id := greatest(from_id, taken.to_id);
        END LOOP;
        begins := begins + step;
    END LOOP;

    -- DETACH PARTITION waits for present readers and writers of the table, and new readers and
    -- writers queue behind it.  So DETACH PARTITION must not wait for a long time.
    IF timeout = '0' THEN
        PERFORM set_config('lock_timeout', '1s', true);
    END IF;
    EXECUTE 'SELECT ' || to_bound INTO to_id USING (present - keep) AT TIME ZONE 'UTC';
    FOR old IN
        SELECT partition[n]::regclass AS name FROM generate_subscripts(partition, 1) AS n
        WHERE bounds[n][2] <= to_id AND NOT (SELECT i.inhdetachpending FROM pg_inherits AS i WHERE i.inhrelid = partition[n])
        ORDER BY bounds[n][1]
    LOOP
        BEGIN
            EXECUTE format('ALTER TABLE %s DETACH PARTITION %s', parent, old.name);
            RAISE NOTICE 'detached partition % of table %', old.name, parent;
        EXCEPTION
            WHEN lock_not_available THEN
                RAISE WARNING 'could not detach partition % of table %', old.name, parent
                USING DETAIL = 'Other transactions use the tables.', HINT = 'The next call tries again.';
                EXIT;
            WHEN foreign_key_violation THEN
                RAISE WARNING 'could not detach partition % of table %', old.name, parent
                USING DETAIL = SQLERRM;
        END;
    END LOOP;
    PERFORM set_config('lock_timeout', timeout, true);
END
$procedure$;
COMMENT ON PROCEDURE sno_maintain_time_partitions(regclass, interval, interval, interval, timestamptz) IS
    'create the time partitions of a table, and detach old ones';

--
-- prefixes of metabytes
--

CREATE FUNCTION sno_prefix(sno) RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_prefix(sno) IS
    'prefix of the metabyte of the id';

CREATE FUNCTION sno_prefixed(sno) RETURNS text
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_prefixed(sno) IS
    'prefix of the metabyte of the id, an underscore, and the text of the id';

CREATE FUNCTION sno_from_prefixed(text) RETURNS sno
AS 'MODULE_PATHNAME'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_from_prefixed(text) IS
    'id of a text that sno_prefixed() can return';

--
-- status
--

CREATE FUNCTION sno_generators(
    OUT database     name,
    OUT name         text,
    OUT partition    integer,
    OUT sequence_min integer,
    OUT sequence_max integer,
    OUT sequence     integer,
    OUT unit_issued  integer,
    OUT unit_spare   integer,
    OUT wall_hi      timestamptz,
    OUT wall_safe    timestamptz,
    OUT drifts       bigint,
    OUT lease_until  timestamptz,
    OUT issued       bigint,
    OUT exhausted    bigint,
    OUT waits        bigint,
    OUT longest_wait interval,
    OUT layout       text,
    OUT node_first   bigint,
    OUT node_last    bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 100;
COMMENT ON FUNCTION sno_generators() IS
    'state and counters of open partitions and of named generators';

CREATE FUNCTION sno_reset_statistics() RETURNS void
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sno_reset_statistics() IS
    'set the counters of sno_generators() and sno_check() to zero, for the '
    'whole server';

CREATE FUNCTION sno_grants(
    OUT layout text,
    OUT first  bigint,
    OUT last   bigint,
    OUT after timestamptz,
    OUT until timestamptz)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION sno_grants() IS
    'partitions and nodes of layouts that the registry granted to this database, '
    'and the times between which the grants allow ids';

CREATE FUNCTION sno_check(
    OUT item   text,
    OUT ok     boolean,
    OUT detail text,
    OUT hint   text)
RETURNS SETOF record
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE ROWS 9;
COMMENT ON FUNCTION sno_check() IS
    'faults and risks: one row for each checked item, with findings and a remedy';

--
-- catalog: the tables
--

-- Each row of this table is a lease (src/README.md).  A session that generates ids overwrites the row
-- of a lease in place, outside of its transaction.  The session raises an error if the definition of
-- the table has changed, for example if there is an index or a nullable column.  While another session
-- has locked the table in EXCLUSIVE mode or a stronger one, sessions that need a lease wait.

CREATE TABLE sno_catalog.sno_lease (
    holder            bigint      NOT NULL,
    system_identifier bigint      NOT NULL,
    timeline          integer     NOT NULL,
    database          oid         NOT NULL,
    kind              "char"      NOT NULL CHECK (kind IN ('s', 'g', 'n', 'f')),
    partition         integer     NOT NULL CHECK (partition BETWEEN 0 AND 65535),
    layout            uuid        NOT NULL,
    shard_min         bigint      NOT NULL CHECK (shard_min BETWEEN 0 AND 281474976710655),
    shard_max         bigint      NOT NULL CHECK (shard_max BETWEEN shard_min AND 281474976710655),
    sequence          integer     NOT NULL CHECK (sequence BETWEEN 0 AND 4194304),
    wall_hi           timestamptz NOT NULL,
    drifts            bigint      NOT NULL,
    tick_until        timestamptz NOT NULL,
    tock_until        timestamptz NOT NULL,
    taken_at          timestamptz NOT NULL,
    home              bigint      NOT NULL DEFAULT 0
) USING heap;
COMMENT ON TABLE sno_catalog.sno_lease IS
    'leases, one row each, which sessions that generate ids overwrite in place';
COMMENT ON COLUMN sno_catalog.sno_lease.holder IS
    'random number of the holder that wrote the row';
COMMENT ON COLUMN sno_catalog.sno_lease.system_identifier IS
    'system identifier of the server that wrote the row, as in pg_control_system(), '
    'or 0 after sno_reseed()';
COMMENT ON COLUMN sno_catalog.sno_lease.timeline IS
    'WAL timeline of the server that wrote the row';
COMMENT ON COLUMN sno_catalog.sno_lease.database IS
    'OID of the database that wrote the row';
COMMENT ON COLUMN sno_catalog.sno_lease.kind IS
    's for a whole partition, g for sequences of a named generator, n for nodes of a layout, f for '
    'the watermark of feeds';
COMMENT ON COLUMN sno_catalog.sno_lease.partition IS
    'leased partition, 0 to 65535, or 0 if the kind is n or f';
COMMENT ON COLUMN sno_catalog.sno_lease.layout IS
    'epoch, unit and bits of the layout as 16 bytes, or zero if the kind is not n';
COMMENT ON COLUMN sno_catalog.sno_lease.shard_min IS
    'first leased sequence of the partition, 0 to 65535, or first leased node of the layout, 0 to '
    '2^48 - 1';
COMMENT ON COLUMN sno_catalog.sno_lease.shard_max IS
    'last leased sequence of the partition, 0 to 65535, or last leased node of the layout, 0 to '
    '2^48 - 1';
COMMENT ON COLUMN sno_catalog.sno_lease.sequence IS
    'next sequence when the row was written, 0 to 65536, or, if the kind is n, place of '
    'the next id in its unit of 4 ms or in its block of numbers, 0 to 4194304';
COMMENT ON COLUMN sno_catalog.sno_lease.wall_hi IS
    'unit of 4 ms of the latest id when the row was written';
COMMENT ON COLUMN sno_catalog.sno_lease.drifts IS
    'number of changes of the tick-tock bit, which is the lowest bit of this number';
COMMENT ON COLUMN sno_catalog.sno_lease.tick_until IS
    'last unit of 4 ms in which the lease allows ids with the tick-tock bit 0';
COMMENT ON COLUMN sno_catalog.sno_lease.tock_until IS
    'last unit of 4 ms in which the lease allows ids with the tick-tock bit 1';
COMMENT ON COLUMN sno_catalog.sno_lease.taken_at IS
    'time when the row was written';
COMMENT ON COLUMN sno_catalog.sno_lease.home IS
    'number that distinguishes the database that wrote the row from other databases '
    'that had the same OID';

-- Dumps contain the rows.  In the restored database, the rows count as those of another holder.
SELECT pg_extension_config_dump('sno_catalog.sno_lease', '');

-- The next table has the definitions of named generators (src/catalog/definition.c).  No two
-- generators may have a sequence of a partition in common, even if their metabytes differ.
-- Definitions belong to this server alone, so the table's trigger discards rows that come from logical
-- replication.  The trigger also notifies sessions of changes.

CREATE TABLE sno_catalog.sno_generator (
    name              text COLLATE "C" PRIMARY KEY CHECK (octet_length(name) BETWEEN 1 AND 63),
    role              text COLLATE "C" CHECK (octet_length(role) BETWEEN 1 AND 63),
    system_identifier bigint  NOT NULL,
    timeline          integer NOT NULL,
    database          oid     NOT NULL,
    home              bigint  NOT NULL,
    partition         integer NOT NULL CHECK (partition BETWEEN 0 AND 65535),
    sequence_min      integer NOT NULL CHECK (sequence_min BETWEEN 0 AND 65535),
    sequence_max      integer NOT NULL CHECK (sequence_max BETWEEN sequence_min + 3 AND 65535),
    meta              integer CHECK (meta BETWEEN 0 AND 255),
    role_oid          oid,
    CONSTRAINT sno_generator_overlap EXCLUDE USING gist (
        int8range(partition::bigint * 65536 + sequence_min, partition::bigint * 65536 + sequence_max, '[]')
        WITH &&)
);
COMMENT ON TABLE sno_catalog.sno_generator IS
    'definitions of named generators';
COMMENT ON COLUMN sno_catalog.sno_generator.name IS
    'name of the generator, 1 to 63 bytes';
COMMENT ON COLUMN sno_catalog.sno_generator.role IS
    'name of the role whose members may use the generator, or null if every role may';
COMMENT ON COLUMN sno_catalog.sno_generator.system_identifier IS
    'system identifier of the server where the definition was made, as in '
    'pg_control_system()';
COMMENT ON COLUMN sno_catalog.sno_generator.timeline IS
    'WAL timeline of the server where the definition was made';
COMMENT ON COLUMN sno_catalog.sno_generator.database IS
    'OID of the database where the definition was made';
COMMENT ON COLUMN sno_catalog.sno_generator.home IS
    'number that distinguishes the database where the definition was made from other '
    'databases that had the same OID';
COMMENT ON COLUMN sno_catalog.sno_generator.partition IS
    'partition of the ids, 0 to 65535';
COMMENT ON COLUMN sno_catalog.sno_generator.sequence_min IS
    'lowest sequence of the ids, 0 to 65535';
COMMENT ON COLUMN sno_catalog.sno_generator.sequence_max IS
    'highest sequence of the ids, 3 to 65535';
COMMENT ON COLUMN sno_catalog.sno_generator.meta IS
    'metabyte of all ids, 0 to 255, or null if callers choose it';
COMMENT ON COLUMN sno_catalog.sno_generator.role_oid IS
    'OID of the role, or null if the role did not exist when it was named';
COMMENT ON CONSTRAINT sno_generator_overlap ON sno_catalog.sno_generator IS
    'no two generators can issue the same id';

CREATE FUNCTION sno_catalog.sno_table_changed() RETURNS trigger
AS 'MODULE_PATHNAME'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION sno_catalog.sno_table_changed() IS
    'trigger function of tables that sessions cache: notifies sessions of changes, '
    'or refuses changes';

CREATE TRIGGER sno_generator_changed
BEFORE INSERT OR UPDATE OR DELETE ON sno_catalog.sno_generator
FOR EACH ROW EXECUTE FUNCTION sno_catalog.sno_table_changed('none', '');
COMMENT ON TRIGGER sno_generator_changed ON sno_catalog.sno_generator IS
    'notifies sessions of changed definitions, and discards rows from logical '
    'replication';
ALTER TABLE sno_catalog.sno_generator ENABLE ALWAYS TRIGGER sno_generator_changed;

SELECT pg_extension_config_dump('sno_catalog.sno_generator', '');

-- The next table has the prefixes of metabytes (src/catalog/prefix.c).  Like definitions of
-- generators, prefixes belong to this server alone.

CREATE TABLE sno_catalog.sno_prefix (
    meta   integer PRIMARY KEY CHECK (meta BETWEEN 0 AND 255),
    prefix text COLLATE "C" NOT NULL UNIQUE
           CHECK (octet_length(prefix) <= 63 AND prefix ~ '^[a-z]([a-z0-9_]*[a-z0-9])?$')
);
COMMENT ON TABLE sno_catalog.sno_prefix IS
    'prefixes of metabytes, which sno_prefixed() writes before ids';
COMMENT ON COLUMN sno_catalog.sno_prefix.meta IS
    'metabyte, 0 to 255';
COMMENT ON COLUMN sno_catalog.sno_prefix.prefix IS
    'prefix of the metabyte, 1 to 63 characters a-z, 0-9 and _';

CREATE TRIGGER sno_prefix_changed
BEFORE INSERT OR UPDATE OR DELETE ON sno_catalog.sno_prefix
FOR EACH ROW EXECUTE FUNCTION sno_catalog.sno_table_changed('none', '');
COMMENT ON TRIGGER sno_prefix_changed ON sno_catalog.sno_prefix IS
    'notifies sessions of changed prefixes, and discards rows from logical '
    'replication';
ALTER TABLE sno_catalog.sno_prefix ENABLE ALWAYS TRIGGER sno_prefix_changed;

SELECT pg_extension_config_dump('sno_catalog.sno_prefix', '');

CREATE FUNCTION sno_definitions() RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT call
    FROM (
        SELECT 1, name::text, c.call
        FROM sno_catalog.sno_generator, LATERAL (VALUES
            (format('SELECT pg_catalog.sno_create_generator(%L, %s, %s, %s, %L);',
                name, partition, sequence_min, sequence_max, meta)),
            (CASE WHEN role IS NOT NULL THEN format('SELECT pg_catalog.sno_restrict_generator(%L, %L);', name, role) END)
        ) AS c (call)
        UNION ALL
        SELECT 2, prefix::text, format('INSERT INTO sno_catalog.sno_prefix VALUES (%s, %L);', meta, prefix)
        FROM sno_catalog.sno_prefix) AS d (part, name, call)
    WHERE call IS NOT NULL
    ORDER BY part, name, call;
$$;
COMMENT ON FUNCTION sno_definitions() IS
    'statements that define the generators and prefixes of this database again';

--
-- grants
--

-- The role that installs an extension may have default privileges that grant privileges on new
-- objects to roles, or withhold them from PUBLIC.  The procedure below undoes this, so that the
-- objects of an extension have the same privileges whichever role installs it.

CREATE PROCEDURE sno_catalog.sno_settle_privileges(extension name)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $procedure$
DECLARE
    given record;
BEGIN
    -- The members that are new have a row in pg_depend that this transaction wrote.
    FOR given IN
        SELECT o.kind, (pg_identify_object(m.classid, m.objid, 0)).identity AS object, o.owner::regrole AS owner,
            (SELECT string_agg(DISTINCT CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END, ', ')
             FROM aclexplode(o.acl) AS g) AS grantees
        FROM pg_depend AS m
        JOIN pg_extension AS e ON (m.refclassid, m.refobjid, m.deptype) = ('pg_extension'::regclass, e.oid, 'e')
        JOIN (SELECT 'pg_proc'::regclass, oid, 'ROUTINE', proowner, proacl FROM pg_proc
              UNION ALL SELECT 'pg_type'::regclass, oid, 'TYPE', typowner, typacl FROM pg_type
              UNION ALL SELECT 'pg_class'::regclass, oid, 'TABLE', relowner, relacl FROM pg_class
              UNION ALL SELECT 'pg_namespace'::regclass, oid, 'SCHEMA', nspowner, nspacl FROM pg_namespace)
            AS o (class, oid, kind, owner, acl) ON (m.classid, m.objid) = (o.class, o.oid)
        WHERE e.extname = extension AND age(m.xmin) <= 0 AND o.acl IS NOT NULL
    LOOP
        IF given.grantees IS NOT NULL THEN
            EXECUTE format('REVOKE ALL ON %s %s FROM %s', given.kind, given.object, given.grantees);
        END IF;
        EXECUTE format('GRANT ALL ON %s %s TO %s', given.kind, given.object, given.owner);
        IF given.kind IN ('ROUTINE', 'TYPE') THEN
            EXECUTE format('GRANT ALL ON %s %s TO PUBLIC', given.kind, given.object);
        END IF;
    END LOOP;
END
$procedure$;
COMMENT ON PROCEDURE sno_catalog.sno_settle_privileges(name) IS
    'give the objects that a script has added to an extension the privileges that '
    'they would have without ALTER DEFAULT PRIVILEGES';
CALL sno_catalog.sno_settle_privileges('sno');
REVOKE EXECUTE ON PROCEDURE sno_catalog.sno_settle_privileges(name) FROM PUBLIC;

-- The only member of pg_database_owner is the role that owns the database.  The script grants nothing
-- to the role that installs the extension: PostgreSQL would keep such a grant after the role is
-- dropped, and then a dump couldn't be restored.  The privileges below have no grant option, because
-- only a superuser can restore grants that pg_database_owner has made.

-- The database's owner needs these privileges to run pg_dump and pg_restore.  Other roles need no
-- privilege on the tables: EXECUTE on a function is enough to generate ids.
GRANT USAGE ON SCHEMA sno_catalog TO pg_database_owner;
GRANT SELECT, INSERT ON TABLE
    sno_catalog.sno_lease, sno_catalog.sno_generator
TO pg_database_owner;
GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE sno_catalog.sno_prefix TO pg_database_owner;

-- Functions that affect other sessions, or read the tables, are for the database's owner.
REVOKE EXECUTE ON FUNCTION
    sno_generate_at(timestamptz, integer), sno_borrow_partition(interval, integer), sno_reseed(), sno_reset_watermark(),
    sno_create_generator(text, integer, integer, integer, integer), sno_restrict_generator(text, name),
    sno_drop_generator(text), sno_snapshot_generator(text), sno_restore_generator(text, jsonb), sno_definitions()
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    sno_generate_at(timestamptz, integer), sno_borrow_partition(interval, integer), sno_reseed(), sno_reset_watermark(),
    sno_create_generator(text, integer, integer, integer, integer), sno_restrict_generator(text, name),
    sno_drop_generator(text), sno_snapshot_generator(text), sno_restore_generator(text, jsonb), sno_definitions()
TO pg_database_owner;

-- Functions that show the state of generators are for the database's owner and for members of
-- pg_monitor.  Only members of pg_monitor see generators of other databases.  Only superusers, and
-- roles to which they grant EXECUTE, may reset the counters.
REVOKE EXECUTE ON FUNCTION
    sno_generators(), sno_reset_statistics(), sno_check(), sno_watermark_blockers()
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION sno_generators(), sno_check(), sno_watermark_blockers()
TO pg_database_owner, pg_monitor;
