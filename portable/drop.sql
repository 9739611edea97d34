-- Drop the objects of sno_portable--0.9.sql in the schema sno_portable and in the first schema
-- of the search path:
--
--     psql -v ON_ERROR_STOP=1 -f portable/drop.sql
--
-- It is one statement, which fails if tables, views or functions still use these objects.

DO $$
BEGIN
    DROP PROCEDURE sno_maintain_time_partitions(regclass, interval, interval, interval, timestamptz, regprocedure);
    DROP FUNCTION
        sno_generate_many(bigint, integer),
        sno_generate_uuidv8(integer),
        sno_reseed(integer, integer),
        sno_during(uuid, tstzrange),
        sno_range_min(tstzrange),
        sno_range_max(tstzrange),
        sno_min(timestamptz),
        sno_max(timestamptz),
        sno_min(timestamptz, integer),
        sno_max(timestamptz, integer),
        sno_date_bin(interval, sno, timestamptz),
        sno_timestamp(sno),
        sno_meta(sno),
        sno_to_uuidv8(sno),
        sno_from_uuidv8(uuid),
        sno_is_uuidv8(uuid);
    DROP DOMAIN sno, sno_portable.unit;
    DROP FUNCTION
        sno_portable.next(),
        sno_portable.first(),
        sno_portable.leap(boolean),
        sno_portable.refuse_clock(),
        sno_portable.refuse_text(text),
        sno_portable.range_min(tstzrange),
        sno_portable.range_max(tstzrange),
        sno_portable.bound(tstzrange, numeric, numeric, boolean),
        sno_portable.edge(numeric, bigint, boolean),
        sno_portable.id(bigint, bigint, boolean),
        sno_portable.units(timestamptz),
        sno_portable.meta(integer),
        sno_portable.head(uuid),
        sno_portable.uuid(bigint, bigint);
    DROP SEQUENCE sno_portable.counter, sno_portable.life, sno_portable.seen;
    DROP TABLE sno_portable.lock;
    DROP SCHEMA sno_portable;
END
$$;
