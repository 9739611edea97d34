-- Drop what sno_portable--1.0.sql created in the first schema of the search path:
--
--     psql -1 -v ON_ERROR_STOP=1 -f portable/drop.sql
--
-- It fails, and drops nothing, if tables, views or functions still use it.

DROP PROCEDURE sno_maintain_time_partitions(regclass, interval, interval, interval, timestamptz, regprocedure);
DROP FUNCTION
    sno_generate_many(bigint, integer),
    sno_generate_uuidv8(integer),
    sno_reseed(integer, integer),
    sno_portable_restart(regclass, integer, integer),
    sno_portable_next(),
    sno_portable_first(),
    sno_portable_leap(regclass, regclass, regclass);
DROP SEQUENCE sno_portable_counter, sno_portable_life;
DROP TABLE sno_portable_lock;
DROP DOMAIN sno_portable_unit;
DROP FUNCTION
    sno_portable_refuse_clock(),
    sno_during(uuid, tstzrange),
    sno_range_min(tstzrange),
    sno_range_max(tstzrange),
    sno_portable_range_min(tstzrange),
    sno_portable_range_max(tstzrange),
    sno_portable_bound(tstzrange, numeric, numeric, boolean),
    sno_min(timestamptz),
    sno_max(timestamptz),
    sno_min(timestamptz, integer),
    sno_max(timestamptz, integer),
    sno_portable_edge(numeric, bigint, boolean),
    sno_portable_id(bigint, bigint, boolean),
    sno_portable_units(timestamptz),
    sno_portable_meta(integer),
    sno_date_bin(interval, sno, timestamptz),
    sno_timestamp(sno),
    sno_meta(sno),
    sno_to_uuidv8(sno),
    sno_from_uuidv8(uuid),
    sno_portable_head(uuid),
    sno_portable_uuid(bigint, bigint),
    sno_is_uuidv8(uuid);
DROP DOMAIN sno;
