-- Drop the schema sno with the objects of sno_portable--0.9.sql:
--
--     psql -v ON_ERROR_STOP=1 -f portable/drop.sql
--
-- It is one statement, which fails if tables, views or functions still use these objects.

DO $$
BEGIN
    DROP PROCEDURE sno.sno_maintain_time_partitions(regclass, interval, interval, interval, timestamptz);
    DROP FUNCTION
        sno.sno_generate_many(bigint, integer),
        sno.sno_generate_uuidv8(integer),
        sno.sno_reseed(integer, integer),
        sno.sno_during(uuid, tstzrange),
        sno.sno_range_min(tstzrange),
        sno.sno_range_max(tstzrange),
        sno.sno_min(timestamptz),
        sno.sno_max(timestamptz),
        sno.sno_min(timestamptz, integer),
        sno.sno_max(timestamptz, integer),
        sno.sno_date_bin(interval, sno.sno, timestamptz),
        sno.sno_timestamp(sno.sno),
        sno.sno_meta(sno.sno),
        sno.sno_to_uuidv8(sno.sno),
        sno.sno_from_uuidv8(uuid),
        sno.sno_is_uuidv8(uuid);
    DROP DOMAIN sno.sno, sno.unit;
    DROP FUNCTION
        sno.next(),
        sno.first(),
        sno.leap(boolean),
        sno.refuse_clock(),
        sno.refuse_text(text),
        sno.range_min(tstzrange),
        sno.range_max(tstzrange),
        sno.bound(tstzrange, numeric, numeric, boolean),
        sno.edge(numeric, bigint, boolean),
        sno.id(bigint, bigint, boolean),
        sno.units(timestamptz),
        sno.meta(integer),
        sno.head(uuid),
        sno.uuid(bigint, bigint);
    DROP SEQUENCE sno.counter, sno.life, sno.seen;
    DROP VIEW sno.lock;
    DROP SCHEMA sno;
END
$$;
