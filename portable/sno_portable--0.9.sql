-- The functions of doc/uuid.md in SQL and PL/pgSQL, for servers where nobody can install
-- a library.  doc/managed.md describes the installation and the guarantees.
--
-- An id is a uuid of version 8 in the format of the extension sno:
--
--     bytes 0-5         6, 7              8                          15
--    +-----------------+----+------------+--+-----------------------+----------+
--    | time, 0, meta   |1000| counter,   |10| counter, bits 12-31   | 42 zeros |
--    | 39, 1 and 8 bits|    | bits 0-11  |  |                       |          |
--    +-----------------+----+------------+--+-----------------------+----------+
--
-- The counter is a sequence, in the place of partition and sequence of the extension.  Two
-- ids are equal only if their counters are equal.  So no id comes twice, even if the clock is
-- set back, if the counter repeats no value within a cycle of 2^32 values.
--
-- A sequence alone doesn't guarantee that.  A crash loses the end of the WAL, and with it values
-- that a session has seen.  A restore or setval() sets it back.  So the counter leaps:
--
-- - by 2^24 to 2^25 values when the server starts or has crashed: fewer than 2^24 can be lost
-- - to any value except the 2^24 values before and after it when a dump is restored, the database
--   copied, a standby promoted, the WAL replayed to a point in time, the sequence restarted or
--   set: the number of lost values is unknown
--
-- Before its first id, each transaction checks whether the counter must leap:
--
-- 1. `seen` has the counter's value at the beginning of the last transaction, and identifies the
--    present start of the server, the database and the file of the counter.  Each transaction
--    writes it, and must find the counter after it.  It is unlogged, so a crash, a promotion or
--    any other recovery resets it, and a clean stop doesn't.  ALTER SEQUENCE RESTART, TRUNCATE
--    RESTART IDENTITY and DROP give the counter another file.
-- 2. `life` identifies the timeline, database and file of the last leap of the counter.  It shows
--    whether the number of lost values is bounded.  A leap writes it by setval() and then
--    nextval(), which leaves a log_cnt, while pg_restore uses setval() alone, which leaves none.
--    So a restore is recognized even if the values are the same.  pg_restore sets `life` before
--    `seen`, in the order of names, so at least one of them is wrong after each of its steps.
-- 3. A leap is on disk before it is recorded in `seen`.  So after a crash, the counter is at the
--    leap's value or after it.  Only values after that can be lost, and the next leap skips them.
-- 4. One leap runs at a time, because it locks `lock`, which only its owner can do.
-- 5. ROLLBACK undoes neither sequence, only the record that the transaction has checked.
-- 6. Within its transaction, a session checks again if the counter didn't increase, and after
--    each multiple of 1024.  So a transaction that generates many ids doesn't leave `seen` behind.
--
-- Two cases are not covered: setval() or a restore of data alone sets the counter back to a value
-- after the last one of a transaction that stays open meanwhile; and setval() sets it back to a
-- value after the one in `seen`, one of the last few thousand.  In all others, the counter leaps.
--
-- All objects are created in a schema that this script creates, so it has no objects of others.
-- The search path is pg_catalog, and the new names are qualified.  The bodies of SQL functions are
-- bound when they are created.  Parameters have names, because pg_dump writes a wrong body if only
-- some have one.

DO $$
BEGIN
    -- With the space, the setting isn't empty.
    PERFORM pg_catalog.set_config('sno_portable.path', pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.||) ' ', true),
        pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
END
$$;

-- Without a transaction, the settings are gone here.  Then everything that follows fails, because
-- there is no schema, or because its objects are there.
DO $$
BEGIN
    IF pg_catalog.current_setting('sno_portable.path', true) OPERATOR(pg_catalog.<>) '' THEN
        CREATE SCHEMA sno;
    ELSE
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'sno_portable needs a transaction',
            HINT = 'Run the script by "psql -1 -v ON_ERROR_STOP=1 -f".';
    END IF;
END
$$;
COMMENT ON SCHEMA sno IS
    'sno_portable 0.9: ids of sno as uuids, without a library';

--
-- the counter
--

CREATE SEQUENCE sno.counter AS bigint MINVALUE 0 MAXVALUE 4294967295 START WITH 0 CYCLE;
COMMENT ON SEQUENCE sno.counter IS
    'partitions and sequences of ids, which are never repeated';

CREATE SEQUENCE sno.life AS bigint MINVALUE 0;
COMMENT ON SEQUENCE sno.life IS
    'hash of the timeline, database and file of the last leap of the counter';

CREATE UNLOGGED SEQUENCE sno.seen AS bigint MINVALUE 0;
COMMENT ON SEQUENCE sno.seen IS
    'hash of the start of the server, and the counter at the beginning of the '
    'last transaction';

-- a view, because migration tools drop tables that they don't know
CREATE VIEW sno.lock AS SELECT;
COMMENT ON VIEW sno.lock IS
    'lock for leaps of the counter';

CREATE FUNCTION sno.leap(locked boolean) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    counter  CONSTANT oid := 'sno.counter'::regclass;
    file     CONSTANT text := concat_ws(' ', counter, pg_relation_filepath(counter));
    start    CONSTANT bigint := hashtextextended(concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), file), 0)
        & 2147483647;
    most     CONSTANT bigint := 16777216;   -- values that a crash can lose
    -- in this order, so that this session's value is after the value in `seen`
    seen     CONSTANT bigint := pg_sequence_last_value('sno.seen');
    last     CONSTANT bigint := seen & 4294967295;
    restored CONSTANT boolean := seen IS NOT NULL AND (SELECT l.log_cnt = 0 FROM sno.life AS l);
    goes_on  CONSTANT boolean := (seen >> 32 = start AND NOT restored) IS TRUE;
    value    bigint := nextval(counter);
    first    bigint;
    size     bigint;
    timeline text;
    origin   bigint;
    step     bigint;
BEGIN
    IF goes_on AND value - last BETWEEN 1 AND most THEN
        NULL;
    ELSIF NOT locked THEN
        -- The subtransaction is rolled back.  That unlocks, but undoes no sequence.
        BEGIN
            LOCK TABLE sno.lock IN EXCLUSIVE MODE;
            value := sno.leap(true);
            RAISE SQLSTATE 'SN000';
        EXCEPTION WHEN SQLSTATE 'SN000' THEN
            NULL;
        END;
    ELSE
        SELECT s.seqmin, s.seqmax - s.seqmin + 1 INTO STRICT first, size FROM pg_sequence AS s WHERE s.seqrelid = counter;
        IF goes_on AND (value - last + size) % size BETWEEN 1 AND most THEN
            NULL;   -- It went around.
        ELSE
            BEGIN
                timeline := left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
            EXCEPTION WHEN OTHERS THEN
                NULL;   -- Services may refuse it.
            END;
            origin := hashtextextended(concat_ws(' ', timeline, file), 0) & 72057594037927935;
            step := most + ('x' || left(translate(gen_random_uuid()::text, '-', ''), 12))::bit(48)::bigint
                % CASE WHEN pg_sequence_last_value('sno.life') >> 6 = origin AND NOT (restored OR goes_on) THEN most
                    ELSE size - 2 * most END;
            PERFORM setval(counter, first + (step - first
                + CASE WHEN goes_on AND (value - last + size) % size NOT BETWEEN 1 AND size / 2 THEN last ELSE value END) % size);
            -- After a crash it may be 33 more, because nextval() logs values ahead.
            PERFORM setval('sno.life', origin << 6), nextval('sno.life');
            IF current_setting('server_version_num')::integer >= 170000 THEN
                PERFORM pg_logical_emit_message(false, 'sno', '', true);
            ELSE
                -- This writes the initial page of the sequence to disk, and so flushes the WAL
                -- before it.
                CREATE UNLOGGED SEQUENCE sno.flush;
            END IF;
            value := nextval(counter);
        END IF;
    END IF;
    PERFORM setval('sno.seen', start << 32 | value);
    PERFORM set_config('sno_portable.session', (pg_backend_pid()::bigint << 32 | counter::bigint)::text, true);
    RETURN value;
END
$$;
COMMENT ON FUNCTION sno.leap(boolean) IS
    'next value of the counter, after a leap if it may have been set back';

CREATE FUNCTION sno.first() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
RETURN sno.leap(false);
COMMENT ON FUNCTION sno.first() IS
    'first value of the counter in a transaction';

CREATE FUNCTION sno.next() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN CASE
    WHEN (current_setting('sno_portable.session'::text, true)
            = ((pg_backend_pid()::bigint << 32) | 'sno.counter'::regclass::oid::bigint)::text) IS TRUE
        AND (currval('sno.counter'::regclass) & 1023::bigint) <> 0
        AND currval('sno.counter'::regclass) < nextval('sno.counter'::regclass)
    THEN currval('sno.counter'::regclass)
    ELSE sno.first() END;
COMMENT ON FUNCTION sno.next() IS
    'next value of the counter';

-- The restart gives the sequence another file.
CREATE FUNCTION sno.sno_reseed(first_partition integer DEFAULT NULL, last_partition integer DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    fewest      CONSTANT integer := 16384;  -- partitions: room for 32 leaps or more
    first_value bigint;
    last_value  bigint;
BEGIN
    SELECT coalesce(first_partition::bigint << 16, s.seqmin), coalesce((last_partition::bigint << 16) + 65535, s.seqmax)
    INTO STRICT first_value, last_value
    FROM pg_sequence AS s WHERE s.seqrelid = 'sno.counter'::regclass;
    IF first_value < 0 OR last_value > 4294967295 OR last_value - first_value < fewest * 65536::bigint - 1 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('invalid partitions from %s to %s', first_value >> 16, last_value >> 16),
            DETAIL = format('Partitions are from 0 to 65535, and %s of them or more.', fewest);
    END IF;
    EXECUTE format('ALTER SEQUENCE sno.counter MINVALUE %s MAXVALUE %s START WITH %1$s RESTART', first_value, last_value);
    PERFORM set_config('sno_portable.session', '', true);
END
$$;
COMMENT ON FUNCTION sno.sno_reseed(integer, integer) IS
    'let the counter go on at random, in a copy of a server that runs beside '
    'its original, or only in these partitions';

--
-- ids as uuids
--

-- Compared as an integer, because the planner would guess from a pattern that no uuid matches.
CREATE FUNCTION sno.sno_is_uuidv8(id uuid) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (id::text COLLATE "C" ~ '-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f][048c]0{10}$'::text)::integer <> 0;
COMMENT ON FUNCTION sno.sno_is_uuidv8(uuid) IS
    'whether sno_to_uuidv8() can return the uuid';

-- The head is the first 64 bits of the uuid without the version.  The tail is bits 12-31 of the
-- counter.
CREATE FUNCTION sno.uuid(head bigint, tail bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN encode(int8send(head | 32768::bigint)
    || int8send((-9223372036854775808)::bigint | ((tail & 1048575::bigint) << 42)), 'hex'::text)::uuid;
COMMENT ON FUNCTION sno.uuid(bigint, bigint) IS
    'uuid of version 8 with these bits';

CREATE FUNCTION sno.head(id uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('x'::text || substr(translate(id::text, '-'::text, ''::text), 1, 16))::bit(64)::bigint;
COMMENT ON FUNCTION sno.head(uuid) IS
    'first 64 bits of the uuid';

--
-- ids as texts
--

CREATE FUNCTION sno.refuse_text(input text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE invalid_text_representation USING
        MESSAGE = format('invalid input syntax for type sno: "%s"', input),
        DETAIL = 'A sno has 16 characters, each one of 2-9 and a-x.',
        HINT = CASE
            WHEN input ~ '^-?[0-9]+$' THEN 'A sno is not a number.'
            WHEN btrim(input, '{}') ~ '^[0-9A-Fa-f]{4}(-?[0-9A-Fa-f]{4}){7}$' AND (input ~ '^{.*}$' OR input !~ '[{}]') THEN
                'To convert the uuid of a sno, call sno_from_uuidv8().'
            WHEN input ~ '[_-][2-9a-x]{16}$' THEN 'Leave out the prefix before the id.'
            WHEN input ~ '^[2-9A-Xa-x]{16}$' THEN 'Write the id in lower case.'
            WHEN input ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}' THEN
                'To compare an id with a time, call sno_min() or sno_max() with the time.'
            ELSE 'For example, 9q7lkdko28bag222 is the text of an id.' END;
END
$$;
COMMENT ON FUNCTION sno.refuse_text(text) IS
    'raise the error for a text that is not an id';

CREATE DOMAIN sno.sno AS text COLLATE "C"
    CHECK (VALUE ~ '^[2-9a-x]{16}$'::text OR sno.refuse_text(VALUE));
COMMENT ON DOMAIN sno.sno IS
    'id as a text, in the order of ids';

CREATE FUNCTION sno.sno_from_uuidv8(id uuid) RETURNS sno.sno
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    bits CONSTANT bit(128) := ('x' || translate(id::text, '-', ''))::bit(128);
    main CONSTANT varbit := substring(bits FROM 1 FOR 48) || substring(bits FROM 53 FOR 12)
        || substring(bits FROM 67 FOR 20);
    digits text := '';
BEGIN
    IF substring(bits FROM 65 FOR 2) <> B'10' OR substring(bits FROM 49 FOR 4) <> B'1000'
        OR substring(bits FROM 87)::bigint <> 0
    THEN
        RAISE invalid_text_representation USING
            MESSAGE = format('uuid "%s" is not the version 8 form of a sno', id),
            DETAIL = CASE
                WHEN substring(bits FROM 65 FOR 2) <> B'10' THEN 'Its variant is not the one of RFC 9562.'
                WHEN substring(bits FROM 49 FOR 4) <> B'1000' THEN 'Its version is not 8.'
                ELSE 'Its last 42 bits are not all zero.' END;
    END IF;
    FOR i IN 0 .. 15 LOOP
        digits := digits || substr('23456789abcdefghijklmnopqrstuvwx', substring(main FROM 5 * i + 1 FOR 5)::integer + 1, 1);
    END LOOP;
    RETURN digits;
END
$$;
COMMENT ON FUNCTION sno.sno_from_uuidv8(uuid) IS
    'id of a uuid that sno_to_uuidv8() can return';

CREATE FUNCTION sno.sno_to_uuidv8(id sno.sno) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    bits bit varying := '';
BEGIN
    FOR i IN 1 .. 16 LOOP
        bits := bits || (strpos('23456789abcdefghijklmnopqrstuvwx', substr(id, i, 1)) - 1)::bit(5);
    END LOOP;
    bits := substring(bits FROM 1 FOR 48) || B'1000' || substring(bits FROM 49 FOR 12) || B'10' || substring(bits FROM 61);
    RETURN encode(int8send(substring(bits FROM 1 FOR 64)::bit(64)::bigint)
        || int8send(substring(bits FROM 65)::bit(64)::bigint), 'hex');
END
$$;
COMMENT ON FUNCTION sno.sno_to_uuidv8(sno.sno) IS
    'uuid of version 8 (RFC 9562) that starts with the 80 bits of the id';

CREATE FUNCTION sno.sno_timestamp(id sno.sno) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN '2010-01-01 00:00:00+00'::timestamptz
    + ((sno.head(sno.sno_to_uuidv8(id)) >> 25) & 549755813887::bigint)::double precision * '00:00:00.004'::interval;
COMMENT ON FUNCTION sno.sno_timestamp(sno.sno) IS
    'start of the unit of 4 ms in which the id was issued';

CREATE FUNCTION sno.sno_meta(id sno.sno) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ((sno.head(sno.sno_to_uuidv8(id)) >> 16) & 255::bigint)::integer;
COMMENT ON FUNCTION sno.sno_meta(sno.sno) IS
    'metabyte of the id, the byte for the user, 0 to 255';

-- The planner replaces a call by its body, so it costs as much as date_bin().
CREATE FUNCTION sno.sno_date_bin(stride interval, id sno.sno, origin timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.date_bin(stride, sno.sno_timestamp(id), origin);
COMMENT ON FUNCTION sno.sno_date_bin(interval, sno.sno, timestamptz) IS
    'start of the bin that holds sno_timestamp() of the id, as in date_bin()';

--
-- time bounds
--

CREATE FUNCTION sno.meta(meta integer) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF meta < 0 OR meta > 255 THEN
        RAISE numeric_value_out_of_range USING
            MESSAGE = format('metabyte %s is out of range', meta),
            DETAIL = 'A metabyte is from 0 to 255.';
    END IF;
    RETURN meta::bigint << 16;
END
$$;
COMMENT ON FUNCTION sno.meta(integer) IS
    'metabyte in its place in sno.head()';

CREATE FUNCTION sno.units(at timestamptz) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (extract(epoch FROM at) - 1262304000::numeric) * 250::numeric;
COMMENT ON FUNCTION sno.units(timestamptz) IS
    'units of 4 ms since 2010-01-01 UTC';

CREATE FUNCTION sno.id(unit bigint, meta bigint, highest boolean) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sno.uuid((unit << 25) | meta | CASE WHEN highest THEN 16781311::bigint ELSE 0::bigint END,
    CASE WHEN highest THEN 1048575::bigint ELSE 0::bigint END);
COMMENT ON FUNCTION sno.id(bigint, bigint, boolean) IS
    'lowest or highest id of a unit and a metabyte';

-- Before 2010 both edges are the lowest id, after the last unit both are the highest.
CREATE FUNCTION sno.edge(units numeric, meta bigint, highest boolean) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN units < 0::numeric THEN sno.id(0::bigint, coalesce(meta, 0::bigint), false)
    WHEN units >= 549755813888::numeric THEN sno.id(549755813887::bigint, coalesce(meta, 16711680::bigint), true)
    ELSE sno.id(floor(units)::bigint,
        coalesce(meta, CASE WHEN highest THEN 16711680::bigint ELSE 0::bigint END), highest)
    END;
COMMENT ON FUNCTION sno.edge(numeric, bigint, boolean) IS
    'lowest or highest id of the unit that holds the time, with a metabyte or any';

CREATE FUNCTION sno.sno_min(at timestamptz) RETURNS sno.sno
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sno.sno_from_uuidv8(sno.edge(sno.units(at), NULL::bigint, false));
COMMENT ON FUNCTION sno.sno_min(timestamptz) IS
    'lowest id of the unit of 4 ms that holds the time';

CREATE FUNCTION sno.sno_max(at timestamptz) RETURNS sno.sno
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sno.sno_from_uuidv8(sno.edge(sno.units(at), NULL::bigint, true));
COMMENT ON FUNCTION sno.sno_max(timestamptz) IS
    'highest id of the unit of 4 ms that holds the time';

CREATE FUNCTION sno.sno_min(at timestamptz, meta integer) RETURNS sno.sno
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sno.sno_from_uuidv8(sno.edge(sno.units(at), sno.meta(meta), false));
COMMENT ON FUNCTION sno.sno_min(timestamptz, integer) IS
    'lowest id with that metabyte in the unit of 4 ms that holds the time';

CREATE FUNCTION sno.sno_max(at timestamptz, meta integer) RETURNS sno.sno
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sno.sno_from_uuidv8(sno.edge(sno.units(at), sno.meta(meta), true));
COMMENT ON FUNCTION sno.sno_max(timestamptz, integer) IS
    'highest id with that metabyte in the unit of 4 ms that holds the time';

-- An id's time is the start of its unit, so a range of time is an interval of units [first,
-- past), and that is an interval of ids.  If it is empty, the interval from the highest id of all
-- to the lowest is empty, too.
CREATE FUNCTION sno.bound(during tstzrange, lower_units numeric, upper_units numeric, highest boolean) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    first numeric := 0;
    past  numeric := CASE WHEN isempty(during) THEN 0 ELSE 549755813888 END;
BEGIN
    -- A bound that is infinite or empty is null, which greatest() and least() ignore.
    first := greatest(first, CASE WHEN lower_inc(during) THEN ceil(lower_units) ELSE floor(lower_units) + 1 END);
    past := least(past, CASE WHEN upper_inc(during) THEN floor(upper_units) + 1 ELSE ceil(upper_units) END);
    IF first < past THEN
        RETURN CASE WHEN highest THEN past - 1 ELSE first END;
    END IF;
    RETURN CASE WHEN highest THEN -1 ELSE 549755813888 END;
END
$$;
COMMENT ON FUNCTION sno.bound(tstzrange, numeric, numeric, boolean) IS
    'first or last unit that starts in the range, whose bounds are these units';

CREATE FUNCTION sno.range_min(during tstzrange) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sno.edge(
    sno.bound(during, sno.units(pg_catalog.lower(during)), sno.units(pg_catalog.upper(during)), false),
    NULL::bigint, false);
COMMENT ON FUNCTION sno.range_min(tstzrange) IS
    'sno_range_min(), as a uuid';

CREATE FUNCTION sno.range_max(during tstzrange) RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sno.edge(
    sno.bound(during, sno.units(pg_catalog.lower(during)), sno.units(pg_catalog.upper(during)), true),
    NULL::bigint, true);
COMMENT ON FUNCTION sno.range_max(tstzrange) IS
    'sno_range_max(), as a uuid';

CREATE FUNCTION sno.sno_range_min(during tstzrange) RETURNS sno.sno
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sno.sno_from_uuidv8(sno.range_min(during));
COMMENT ON FUNCTION sno.sno_range_min(tstzrange) IS
    'lowest id whose sno_timestamp() is in the range';

CREATE FUNCTION sno.sno_range_max(during tstzrange) RETURNS sno.sno
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sno.sno_from_uuidv8(sno.range_max(during));
COMMENT ON FUNCTION sno.sno_range_max(tstzrange) IS
    'highest id whose sno_timestamp() is in the range';

-- The planner replaces a call by its body, so it sees the bounds.
CREATE FUNCTION sno.sno_during(id uuid, during tstzrange) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN id >= sno.range_min(during) AND id <= sno.range_max(during) AND sno.sno_is_uuidv8(id);
COMMENT ON FUNCTION sno.sno_during(uuid, tstzrange) IS
    'whether the uuid is the version 8 form of an id whose time is in the range';

--
-- new ids
--

CREATE FUNCTION sno.refuse_clock() RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE datetime_field_overflow USING
        MESSAGE = 'the system clock is outside the range of a sno',
        DETAIL = 'A sno has a time from 2010-01-01 00:00:00 to 2079-09-07 15:47:35.548 UTC.',
        HINT = 'Set the system clock right.';
END
$$;
COMMENT ON FUNCTION sno.refuse_clock() IS
    'raise the error for a clock outside of the epoch';

CREATE DOMAIN sno.unit AS bigint
    CHECK (VALUE >= 0::bigint AND VALUE <= 549755813887::bigint OR sno.refuse_clock());
COMMENT ON DOMAIN sno.unit IS
    'unit of 4 ms since 2010-01-01 UTC, of the clock';

-- The planner replaces the call by its body, which needs no PL/pgSQL.  Arguments are evaluated
-- from left to right: the metabyte, the counter, and the same value again.
CREATE FUNCTION sno.sno_generate_uuidv8(meta integer DEFAULT 0) RETURNS uuid
LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN sno.uuid(
    (floor(extract(epoch FROM clock_timestamp() - '2010-01-01 00:00:00+00'::timestamptz) * 250::numeric)
        ::bigint::sno.unit::bigint << 25)
        | sno.meta(meta) | (sno.next() >> 20),
    currval('sno.counter'::regclass));
COMMENT ON FUNCTION sno.sno_generate_uuidv8(integer) IS
    'new id, as a uuid of version 8 (RFC 9562)';

CREATE FUNCTION sno.sno_generate_many(count bigint, meta integer DEFAULT 0) RETURNS SETOF sno.sno
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT sno.sno_from_uuidv8(sno.sno_generate_uuidv8(meta)) FROM generate_series(1::bigint, count);
END;
COMMENT ON FUNCTION sno.sno_generate_many(bigint, integer) IS
    'the given number of new ids, like sno_generate_uuidv8()';

--
-- time partitions of tables
--

-- Like the extension's procedure, except for the type of the key
CREATE PROCEDURE sno.sno_maintain_time_partitions(
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
        AND o.opcnamespace = 'pg_catalog'::regnamespace AND o.opcname = 'uuid_ops';
    IF NOT FOUND THEN
        RAISE wrong_object_type USING
            MESSAGE = format('%s is not a table that is partitioned by range of ids', parent),
            HINT = 'The table needs PARTITION BY RANGE on one column of type uuid.';
    END IF;
    to_bound := 'sno.sno_to_uuidv8(sno.sno_min($1))::text';
    -- The time is in the first 13 characters, of other uuids, too.
    to_time := 'sno.sno_timestamp(sno.sno_from_uuidv8((left($1, 13) || ''-8000-8000-000000000000'')::uuid))';
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
COMMENT ON PROCEDURE sno.sno_maintain_time_partitions(regclass, interval, interval, interval, timestamptz) IS
    'create the time partitions of a table, and detach old ones';

--
-- privileges, independent of default privileges
--

DO $$
DECLARE
    kind  text;
    other text;
BEGIN
    IF pg_catalog.current_setting('sno_portable.path', true) OPERATOR(pg_catalog.=) '' THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'sno_portable needs a transaction';
    END IF;
    FOR other IN
        SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
        FROM (SELECT n.nspacl, n.nspowner FROM pg_namespace AS n WHERE n.nspname = 'sno'
            UNION ALL SELECT c.relacl, c.relowner FROM pg_class AS c WHERE c.relnamespace = 'sno'::regnamespace
            UNION ALL SELECT p.proacl, p.proowner FROM pg_proc AS p WHERE p.pronamespace = 'sno'::regnamespace
        ) AS o (acl, owner), aclexplode(o.acl) AS a
        WHERE a.grantee <> o.owner
    LOOP
        EXECUTE format('REVOKE ALL ON SCHEMA sno FROM %s', other);
        FOREACH kind IN ARRAY '{TABLES,SEQUENCES,ROUTINES}'::text[] LOOP
            EXECUTE format('REVOKE ALL ON ALL %s IN SCHEMA sno FROM %s', kind, other);
        END LOOP;
    END LOOP;
    GRANT USAGE ON SCHEMA sno TO PUBLIC;
    GRANT EXECUTE ON ALL ROUTINES IN SCHEMA sno TO PUBLIC;
    REVOKE EXECUTE ON FUNCTION sno.leap(boolean), sno.sno_reseed(integer, integer) FROM PUBLIC;
    -- nextval() and currval(), which callers need, but not setval()
    GRANT USAGE ON SEQUENCE sno.counter TO PUBLIC;
    PERFORM set_config('search_path', current_setting('sno_portable.path'), true);
END
$$;
