--
-- Loans to applications: what they say, and that nobody else uses the partition
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS regress_sno_loan;
DROP ROLE IF EXISTS regress_sno_borrower, regress_sno_service;
RESET client_min_messages;
SELECT current_database() AS db \gset
CREATE DATABASE regress_sno_loan;
\c regress_sno_loan
SET TimeZone = 'UTC';
CREATE EXTENSION sno;

CREATE FUNCTION partition_of(snapshot jsonb) RETURNS int LANGUAGE sql IMMUTABLE
RETURN (snapshot->'partition'->>0)::int * 256 + (snapshot->'partition'->>1)::int;
CREATE FUNCTION unit_of(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN floor((extract(epoch FROM at) - 1262304000) * 250);
CREATE PROCEDURE wait_until_after(at timestamptz) LANGUAGE plpgsql AS
'BEGIN WHILE clock_timestamp() < at + interval ''4 ms'' LOOP PERFORM pg_sleep(0.001); END LOOP; END';
-- The SQLSTATE that sno_borrow_partition() raises.
CREATE FUNCTION state_of(duration interval) RETURNS text LANGUAGE plpgsql AS
'BEGIN PERFORM sno_borrow_partition(duration); RETURN ''none''; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END';
CREATE TABLE lent (n serial, snapshot jsonb, until timestamptz);

-- A snapshot of a generator that used up the floor, on both sides.  A partition that
-- nobody ever used has the floor 0.
SELECT clock_timestamp() AS before \gset
INSERT INTO lent (snapshot, until) SELECT * FROM sno_borrow_partition();
SELECT snapshot - 'now' - 'partition' AS snapshot, jsonb_typeof(snapshot->'partition') AS partition,
    (snapshot->'now')::bigint BETWEEN unit_of(:'before') AND unit_of(clock_timestamp()) AS now,
    until BETWEEN timestamptz :'before' + interval '59:59.996' AND clock_timestamp() + interval '1 hour' AS until,
    sno_timestamp(sno_min(until)) = until AS whole_unit
FROM lent;
SELECT partition = partition_of(snapshot) AS partition, shard_min, shard_max, wall_hi, drifts,
    tick_until = until AND tock_until = until AS until, kind
FROM sno_catalog.sno_lease, lent;
SELECT clock_timestamp() + duration - until < interval '1 minute' AS right
FROM (VALUES (interval '2 hours'), ('1 day'), ('40 years')) AS v (duration), sno_borrow_partition(duration);

-- Durations
SELECT * FROM sno_borrow_partition(NULL);
SELECT duration, state_of(duration::interval)
FROM (VALUES ('0'), ('3999 us'), ('4 ms'), ('-1 hour'), ('-100 years'), ('100 years'), ('200000 years')) AS v (duration);
SELECT sno_borrow_partition('0');
SELECT bool_and(right_state) FROM (
    SELECT CASE WHEN current_setting('server_version_num')::int >= 170000 THEN state_of(duration::interval) = state ELSE true END
    FROM (VALUES ('infinity', '22008'), ('-infinity', '22023')) AS v (duration, state)) AS s (right_state);

-- Each call lends another partition.  ROLLBACK gives none back, and read-only
-- transactions may borrow.
BEGIN;
SELECT partition_of(snapshot) AS rolled_back FROM sno_borrow_partition() \gset
ROLLBACK;
BEGIN READ ONLY;
SELECT partition_of(snapshot) AS read_only FROM sno_borrow_partition() \gset
COMMIT;
INSERT INTO lent (snapshot, until) SELECT l.* FROM generate_series(1, 5) AS n, sno_borrow_partition(n * interval '1 hour') AS l;
SELECT count(DISTINCT partition), count(*) FROM (
    SELECT partition_of(snapshot) AS partition FROM lent UNION ALL VALUES (:rolled_back), (:read_only)) AS s;
SELECT count(*) FROM sno_catalog.sno_lease
WHERE partition IN (:rolled_back, :read_only) AND least(tick_until, tock_until) > clock_timestamp() + interval '50 minutes';

-- Of two partitions, one is lent.  Nobody issues there, and it isn't lent again.
SET sno.partitions = '1000-1001';
SET sno.max_wait = 0;
SELECT partition_of(snapshot) AS partition, until FROM sno_borrow_partition() \gset
SELECT 2001 - :partition AS other \gset
SELECT count(*), bool_and(sno_partition(sno_generate()) = :other) FROM generate_series(1, 1000);
SELECT * FROM sno_borrow_partition();
\echo :LAST_ERROR_SQLSTATE
SELECT sno_generate_at('2020-01-01');
\echo :LAST_ERROR_SQLSTATE
\c
SET sno.partitions = '1000-1001';
SET sno.max_wait = '1 min';
SELECT sno_partition(sno_generate()) = :other AS another_session;
SET sno.max_wait = 0;
SELECT ok, detail FROM sno_check() WHERE item = 'partitions';
SELECT count(*) FROM sno_generators() WHERE partition = :partition;

-- The table of leases may be rewritten.
VACUUM FULL sno_catalog.sno_lease;
SELECT tick_until = :'until' AND tock_until = :'until' AS kept FROM sno_catalog.sno_lease WHERE partition = :partition;

-- sno_reseed() doesn't give it back, either.
SELECT sno_reseed();
SELECT state_of('1 hour');
SELECT system_identifier, tick_until = :'until' AND tock_until = :'until' AS kept FROM sno_catalog.sno_lease WHERE partition = :partition;

-- A named generator in the partition waits until the loan is over, whatever side the
-- application is on.
SELECT sno_create_generator('lent', :partition) = :partition AS created;
SELECT sno_generate(1, 'lent');
\echo :LAST_ERROR_SQLSTATE
SET sno.partitions = '2000-2000';
SET sno.max_wait = '1 min';
SELECT partition_of(snapshot) AS partition, until FROM sno_borrow_partition('100 ms') \gset
SELECT sno_create_generator('soon', :partition) = :partition AS created;
SELECT sno_timestamp(sno_generate(1, 'soon')) > :'until' AS after_the_loan;
-- The partition of a named generator isn't lent.
SET sno.partitions = '2000-2001';
SELECT partition_of(snapshot) FROM sno_borrow_partition();

-- When a loan is over, the partition is used again, and the floor is the end of the loan.
SET sno.partitions = '3000-3000';
SELECT until FROM sno_borrow_partition('4 ms') \gset
CALL wait_until_after(:'until');
SELECT (snapshot->'wallHi')::bigint = unit_of(:'until') AS "wallHi", (snapshot->'wallSafe')::bigint = unit_of(:'until') AS "wallSafe",
    snapshot->'sequence' AS sequence, snapshot->'drifts' AS drifts, until
FROM sno_borrow_partition('20 ms') \gset floor_
SELECT :'floor_wallHi' AS "wallHi", :'floor_wallSafe' AS "wallSafe", :floor_sequence AS sequence, :floor_drifts AS drifts;
CALL wait_until_after(:'floor_until');
SELECT sno_timestamp(sno_generate()) > :'floor_until' AS after_the_loan;
SELECT sno_timestamp(sno_generate()) > :'floor_until' AS and_still;

-- While the server runs, memory knows the loan, too.  (On a busy machine short loans take
-- many leases, and a session has only some without a wait.)
\c
SET sno.partitions = '5000-5001';
SET sno.max_wait = 0;
SELECT partition_of(snapshot) AS partition FROM sno_borrow_partition() \gset
SELECT sno_partition(sno_generate()) <> :partition AS before;
TRUNCATE sno_catalog.sno_lease;
SELECT sno_partition(sno_generate()) <> :partition AS truncated;
SELECT state_of('1 hour');

-- A slice has some sequences of a partition that is lent for twice the time.
CREATE FUNCTION slice(duration interval, sequences int, OUT partition int, OUT first int, OUT last int, OUT hours int)
LANGUAGE sql AS
'SELECT partition_of(snapshot), (snapshot->''sequenceMin'')::int, (snapshot->''sequenceMax'')::int,
    round(extract(epoch FROM until - clock_timestamp()) / 3600)
 FROM sno_borrow_partition(duration, sequences)';
-- The SQLSTATE that it raises.
CREATE FUNCTION state_of(duration interval, sequences int) RETURNS text LANGUAGE plpgsql AS
'BEGIN PERFORM sno_borrow_partition(duration, sequences); RETURN ''none''; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END';
SET sno.partitions = '6000-6000';
SELECT snapshot - 'now' AS snapshot FROM sno_borrow_partition('10 hours', 64);
SELECT s.* FROM (VALUES (interval '10 hours', 64), ('1 hour', 1), ('10 hours', 100)) AS v (duration, sequences), slice(duration, sequences) AS s;
SELECT round(extract(epoch FROM tick_until - now()) / 3600) AS hours, shard_min, shard_max
FROM sno_catalog.sno_lease WHERE partition = 6000;
-- A longer one needs another partition, and so does one with more sequences than are left.
SELECT sequences, state_of(duration, sequences)
FROM (VALUES (interval '21 hours', 1), ('10 hours', 65308)) AS v (duration, sequences);
BEGIN;
SELECT * FROM slice('1 hour', 65306);
ROLLBACK;
SELECT * FROM slice('1 hour', 1);
SELECT state_of('1 hour', 1);
SELECT sequences, state_of('1 hour', sequences) FROM (VALUES (0), (-1), (65537), (65536)) AS v (sequences);
SELECT sno_borrow_partition('1 hour', 0);
SELECT * FROM sno_borrow_partition('1 hour', NULL);
-- What is left of the present partition isn't used any more.
SET sno.partitions = '6000-6001';
SELECT * FROM slice('20 hours', 10);
SELECT * FROM slice('1 hour', 10);
-- The next one is of another partition if the session may not use this one, after
-- sno_reseed(), and if the row of the loan isn't in the table.
\c
SET sno.max_wait = 0;
SET sno.partitions = '6002-6002';
SELECT * FROM slice('1 hour', 65535);
SET sno.partitions = '6004-6005';
SELECT partition AS before FROM slice('1 hour', 10) \gset
SELECT sno_reseed();
SELECT partition <> :before AS reseeded, first, last FROM slice('1 hour', 10);
SELECT state_of('3 hours', 10);
SET sno.partitions = '6006-6008';
SELECT partition AS before FROM slice('1 hour', 10) \gset
TRUNCATE sno_catalog.sno_lease;
SELECT partition <> :before AS truncated, first, last FROM slice('1 hour', 10);
-- Sessions issue elsewhere.
SELECT count(DISTINCT sno_partition(sno_generate())) FROM generate_series(1, 1000);
SELECT state_of('3 hours', 10);
-- If a partition ends earlier than a slice, another one is lent.  So a slice lasts as long
-- as it was asked.
SET sno.partitions = '6010-6010';
SET sno.max_wait = '1 min';
SELECT until FROM sno_borrow_partition('20 ms', 10) \gset
CALL wait_until_after(:'until');
SELECT first, last FROM slice('20 ms', 10);
SELECT (snapshot->'wallHi')::bigint > unit_of(:'until') AS floor_is_the_end FROM sno_borrow_partition('20 ms', 10);

-- Privileges
CREATE ROLE regress_sno_borrower;
CREATE ROLE regress_sno_service;
SET ROLE regress_sno_borrower;
SELECT sno_borrow_partition();
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
ALTER DATABASE regress_sno_loan OWNER TO regress_sno_borrower;
SET sno.partitions = '4000-4099';
SET ROLE regress_sno_borrower;
SELECT until > now() AS lent FROM sno_borrow_partition();
-- The owner lets others borrow by a function.
CREATE FUNCTION service_loan(OUT snapshot jsonb, OUT until timestamptz) LANGUAGE sql SECURITY DEFINER BEGIN ATOMIC
    SELECT * FROM sno_borrow_partition('1 hour', 64);
END;
REVOKE EXECUTE ON FUNCTION service_loan() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION service_loan() TO regress_sno_service;
SET SESSION AUTHORIZATION regress_sno_service;
SELECT until > now() AS lent, snapshot->'sequenceMax' AS last FROM service_loan();
SELECT sno_borrow_partition('1 hour', 64);
\echo :LAST_ERROR_SQLSTATE
RESET SESSION AUTHORIZATION;

\c :db
DROP DATABASE regress_sno_loan;
DROP ROLE regress_sno_borrower, regress_sno_service;
