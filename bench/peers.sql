-- Ids that others make in SQL, for the benchmarks and the demonstration.

-- A uuid of version 7 (RFC 9562): 48 bits of milliseconds, then random bits.  PostgreSQL
-- 18 has uuidv7(), so there it is that, unless core_has_it is set to false.
\if :{?core_has_it}
\else
    SELECT current_setting('server_version_num')::integer >= 180000 AS core_has_it \gset
\endif
\if :core_has_it
CREATE FUNCTION uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN uuidv7();
\else
CREATE FUNCTION uuid_v7() RETURNS uuid LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
BEGIN
    RETURN encode(
        substring(int8send(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) ||
        set_byte(substring(uuid_send(gen_random_uuid()) FROM 7),
                 0, 112 + floor(random() * 16)::integer), 'hex')::uuid;
END $$;
\endif

-- A ULID: 48 bits of milliseconds and 80 random bits, as 26 digits of Crockford's base 32.
CREATE FUNCTION ulid() RETURNS text LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
DECLARE
    digits constant text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
    -- All bits of these bytes are random.
    random bytea := substring(uuid_send(gen_random_uuid()) FROM 10);
    other bytea := substring(uuid_send(gen_random_uuid()) FROM 10);
    part bigint;
    result text := '';
BEGIN
    part := floor(extract(epoch FROM clock_timestamp()) * 1000);
    FOR shift IN REVERSE 45 .. 0 BY 5 LOOP
        result := result || substr(digits, (part >> shift & 31)::integer + 1, 1);
    END LOOP;
    FOREACH part IN ARRAY ARRAY[
        ('x' || encode(substring(random FROM 1 FOR 5), 'hex'))::bit(40)::bigint,
        ('x' || encode(substring(other FROM 1 FOR 5), 'hex'))::bit(40)::bigint]
    LOOP
        FOR shift IN REVERSE 35 .. 0 BY 5 LOOP
            result := result || substr(digits, (part >> shift & 31)::integer + 1, 1);
        END LOOP;
    END LOOP;
    RETURN result;
END $$;

-- A snowflake as Instagram made it, and as tutorials show it: 41 bits of milliseconds
-- since 2011, 13 bits of the shard, 10 bits of a sequence.  More than 1,024 ids in a
-- millisecond come twice.
CREATE SEQUENCE snowflake_sequence;
CREATE FUNCTION snowflake() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    epoch constant bigint := 1314220021721;
    shard constant bigint := 5;
    now_ms bigint;
    count bigint;
BEGIN
    SELECT nextval('snowflake_sequence') % 1024 INTO count;
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) INTO now_ms;
    RETURN (now_ms - epoch) << 23 | (shard << 10) | count;
END $$;

-- Lowest keys of a time, as an application would compute them
CREATE FUNCTION ms(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN (extract(epoch FROM at) * 1000)::bigint;
CREATE FUNCTION uuid_v7_min(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE
RETURN (lpad(to_hex(ms(at)), 12, '0') || '70008000000000000000')::uuid;
CREATE FUNCTION ulid_min(at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE
RETURN (SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (ms(at) >> shift & 31)::integer + 1, 1), '' ORDER BY shift DESC)
        FROM generate_series(0, 45, 5) AS shift) COLLATE "C";
CREATE FUNCTION snowflake_min(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN ms(at) - 1314220021721 << 23;
