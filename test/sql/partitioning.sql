--
-- Tables partitioned by the id: by time, by hash, and both; partitions that
-- come and go
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

-- How often a pattern is found in the lines of a plan
CREATE FUNCTION pg_temp.plan_lines(pattern text, query text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    line text;
    found integer := 0;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        found := found + (line ~ pattern)::integer;
    END LOOP;
    RETURN found;
END $$;

--
-- By time
--
CREATE TABLE partitioned_log (id sno PRIMARY KEY DEFAULT sno_generate(1), n integer) PARTITION BY RANGE (id);
CREATE TABLE partitioned_log_01 PARTITION OF partitioned_log FOR VALUES FROM (sno_min('2026-01-01')) TO (sno_min('2026-02-01'));
CREATE TABLE partitioned_log_02 PARTITION OF partitioned_log FOR VALUES FROM (sno_min('2026-02-01')) TO (sno_min('2026-03-01'));
CREATE TABLE partitioned_log_03 PARTITION OF partitioned_log FOR VALUES FROM (sno_min('2026-03-01')) TO (sno_min('2026-04-01'));
INSERT INTO partitioned_log VALUES (sno_min('2026-04-01'), 0);
CREATE TABLE partitioned_log_rest PARTITION OF partitioned_log DEFAULT;
-- Bounds may not overlap, not even by one id.
CREATE TABLE partitioned_overlap PARTITION OF partitioned_log
    FOR VALUES FROM (sno_max('2026-03-31 23:59:59.996')) TO (sno_min('2026-05-01'));

-- The first and the last id of each month, and some of each day; a row's
-- partition must be that of its time.
INSERT INTO partitioned_log
SELECT id, 0 FROM generate_series(timestamptz '2025-12-01', '2026-04-01', '1 month') AS month,
    LATERAL (VALUES (sno_min(month)), (sno_max(month + interval '1 month' - interval '4 ms'))) AS ends (id);
INSERT INTO partitioned_log
SELECT sno_make(timestamptz '2025-12-02' + n * interval '97 min', n % 256, n % 65536, n % 7, n % 2 = 0), n FROM generate_series(1, 2200) AS n;
CREATE VIEW partitioned_rows AS
SELECT tableoid::regclass AS partition, date_trunc('month', sno_timestamp(id)) AS month, id, n FROM partitioned_log;
SELECT partition, month::date, count(*), min(sno_timestamp(id)), max(sno_timestamp(id)) FROM partitioned_rows GROUP BY 1, 2 ORDER BY 2;

-- A row moves when its time is changed, and stays when its metabyte is.
UPDATE partitioned_log SET id = sno_with_timestamp(id, '2026-02-28 23:59:59.999') WHERE id = sno_min('2026-01-01') RETURNING tableoid::regclass;
UPDATE partitioned_log SET id = sno_with_meta(id, 255) WHERE id = sno_min('2026-02-28 23:59:59.999') RETURNING tableoid::regclass;
INSERT INTO partitioned_log VALUES (sno_min('2026-02-01'), -1) ON CONFLICT (id) DO UPDATE SET n = excluded.n RETURNING tableoid::regclass, n;
INSERT INTO partitioned_log VALUES (sno_min('2026-02-01'), -2) ON CONFLICT DO NOTHING RETURNING tableoid::regclass, n;
MERGE INTO partitioned_log AS log
USING (VALUES (sno_min('2026-03-01'), -3), (sno_min('2026-03-01 00:00:01'), -4)) AS new (id, n) ON log.id = new.id
WHEN MATCHED THEN UPDATE SET n = new.n
WHEN NOT MATCHED THEN INSERT (id, n) VALUES (new.id, new.n);
SELECT partition, id, n FROM partitioned_rows WHERE n < 0 ORDER BY n DESC;

-- New ids go where their time is: to the default partition, until there is one
-- of their own, which takes its rows along.
INSERT INTO partitioned_log (n) SELECT n FROM generate_series(10001, 11000) AS n;
COPY partitioned_log (n) FROM STDIN;
11001
11002
\.
SELECT partition, count(*) FROM partitioned_rows WHERE n > 10000 GROUP BY 1;
CREATE TABLE partitioned_log_now (LIKE partitioned_log INCLUDING ALL);
\set VERBOSITY terse
ALTER TABLE partitioned_log ATTACH PARTITION partitioned_log_now
    FOR VALUES FROM (sno_min(now() - interval '1 day')) TO (sno_min(now() + interval '1 day'));
\set VERBOSITY default
BEGIN;
WITH moved AS (DELETE FROM partitioned_log_rest WHERE n > 10000 RETURNING *)
INSERT INTO partitioned_log_now SELECT * FROM moved;
ALTER TABLE partitioned_log ATTACH PARTITION partitioned_log_now
    FOR VALUES FROM (sno_min(now() - interval '1 day')) TO (sno_min(now() + interval '1 day'));
COMMIT;
INSERT INTO partitioned_log (n) SELECT n FROM generate_series(11003, 12000) AS n;
SELECT partition, count(*), count(DISTINCT id) FROM partitioned_rows WHERE n > 10000 GROUP BY 1;

-- A detached partition is a table.  When it is attached again, it is not read if a
-- check constraint proves its bounds, by ids or by times.
ALTER TABLE partitioned_log DETACH PARTITION partitioned_log_rest;
ALTER TABLE partitioned_log DETACH PARTITION partitioned_log_02;
ALTER TABLE partitioned_log DETACH PARTITION partitioned_log_03 CONCURRENTLY;
SELECT count(*), min(id::timestamptz), max(id::timestamptz) FROM partitioned_log_02;
SELECT count(*) FROM partitioned_log WHERE id <@ tstzrange('2026-02-01', '2026-04-01');
ALTER TABLE partitioned_log ATTACH PARTITION partitioned_log_02 FOR VALUES FROM (sno_min('2026-02-02')) TO (sno_min('2026-03-01'));
ALTER TABLE partitioned_log_02 ADD CHECK (id <@ tstzrange('2026-02-01', '2026-03-01'));
ALTER TABLE partitioned_log_03 ADD CHECK (id >= sno_min('2026-03-01') AND id < sno_min('2026-04-01'));
SET client_min_messages = debug1;
ALTER TABLE partitioned_log ATTACH PARTITION partitioned_log_02 FOR VALUES FROM (sno_min('2026-02-01')) TO (sno_min('2026-03-01'));
ALTER TABLE partitioned_log ATTACH PARTITION partitioned_log_03 FOR VALUES FROM (sno_min('2026-03-01')) TO (sno_min('2026-04-01'));
RESET client_min_messages;
ALTER TABLE partitioned_log ATTACH PARTITION partitioned_log_rest DEFAULT;
SELECT partition, count(*) FROM partitioned_rows WHERE n < 10000 GROUP BY 1 ORDER BY 1;

-- Foreign keys that refer to a partitioned table
CREATE TABLE partitioned_detail (
    id   sno PRIMARY KEY DEFAULT sno_generate(2),
    log  sno NOT NULL REFERENCES partitioned_log ON UPDATE CASCADE ON DELETE CASCADE);
INSERT INTO partitioned_detail (log) SELECT id FROM partitioned_log ORDER BY id LIMIT 500;
INSERT INTO partitioned_detail (log) VALUES (sno_zero());
UPDATE partitioned_log SET id = sno_with_timestamp(id, sno_timestamp(id) + interval '10 days') WHERE id <@ tstzrange('2025-12-20', '2026-01-02');
SELECT count(*), count(log.id) FROM partitioned_detail LEFT JOIN partitioned_log AS log ON log.id = log;
DELETE FROM partitioned_log WHERE id <@ tstzrange('2025-12-01', '2025-12-10');
SELECT count(*), min(sno_timestamp(log))::date FROM partitioned_detail;
\set VERBOSITY sqlstate
ALTER TABLE partitioned_log DETACH PARTITION partitioned_log_01;
\set VERBOSITY default

-- Partition by partition: joins and groups with one node for each, and with
-- the result that they have as a whole
CREATE TABLE partitioned_like (id sno PRIMARY KEY, n integer) PARTITION BY RANGE (id);
CREATE TABLE partitioned_like_01 PARTITION OF partitioned_like FOR VALUES FROM (sno_min('2026-01-01')) TO (sno_min('2026-02-01'));
CREATE TABLE partitioned_like_02 PARTITION OF partitioned_like FOR VALUES FROM (sno_min('2026-02-01')) TO (sno_min('2026-03-01'));
CREATE TABLE partitioned_like_03 PARTITION OF partitioned_like FOR VALUES FROM (sno_min('2026-03-01')) TO (sno_min('2026-04-01'));
CREATE TABLE partitioned_like_now PARTITION OF partitioned_like FOR VALUES FROM (sno_min(now() - interval '1 hour')) TO (MAXVALUE);
INSERT INTO partitioned_like SELECT id, -n FROM partitioned_log WHERE id >= sno_min('2026-01-01') AND n % 3 = 0 AND tableoid <> 'partitioned_log_rest'::regclass;
ANALYZE partitioned_log, partitioned_like;
\set join 'SELECT count(*), sum(a.n), sum(b.n) FROM partitioned_log AS a JOIN partitioned_like AS b USING (id) WHERE id <@ tstzrange(''2026-02-01'', ''2026-04-01'')'
\set groups 'SELECT id, count(*) FROM partitioned_log WHERE id <@ tstzrange(''2026-02-01'', ''2026-04-01'') GROUP BY id'
SELECT pg_temp.plan_lines('Join|Nested Loop', :'join') AS joins, pg_temp.plan_lines('Aggregate', :'groups') AS groups;
:join;
SET enable_partitionwise_join = on;
SET enable_partitionwise_aggregate = on;
SELECT pg_temp.plan_lines('Join|Nested Loop', :'join') AS joins, pg_temp.plan_lines('Aggregate', :'groups') AS groups;
:join;

--
-- By hash, and by time and hash
--
CREATE TABLE partitioned_bucket (id sno PRIMARY KEY DEFAULT sno_generate(3), n integer) PARTITION BY HASH (id);
CREATE TABLE partitioned_bucket_0 PARTITION OF partitioned_bucket FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE partitioned_bucket_1 PARTITION OF partitioned_bucket FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE partitioned_bucket_2 PARTITION OF partitioned_bucket FOR VALUES WITH (MODULUS 4, REMAINDER 2);
CREATE TABLE partitioned_bucket_3 PARTITION OF partitioned_bucket FOR VALUES WITH (MODULUS 4, REMAINDER 3);
-- Ids are spread evenly: those generated one after the other, and few ids a second.
INSERT INTO partitioned_bucket (n) SELECT n FROM generate_series(1, 10000) AS n;
INSERT INTO partitioned_bucket SELECT sno_make(timestamptz '2026-01-01' + n * interval '1 min', 1, 1), -n FROM generate_series(1, 10000) AS n;
SELECT tableoid::regclass AS partition, n > 0 AS generated, count(*) BETWEEN 2250 AND 2750 AS quarter
FROM partitioned_bucket GROUP BY 1, 2 ORDER BY 2, 1;
-- A row can't be in the partition of another remainder.
SELECT id AS elsewhere FROM partitioned_bucket_1 WHERE n = (SELECT max(n) FROM partitioned_bucket_1 WHERE n < 0) \gset
ALTER TABLE partitioned_bucket DETACH PARTITION partitioned_bucket_0;
INSERT INTO partitioned_bucket_0 VALUES (:'elsewhere', 0);
ALTER TABLE partitioned_bucket ATTACH PARTITION partitioned_bucket_0 FOR VALUES WITH (MODULUS 4, REMAINDER 0);
DELETE FROM partitioned_bucket_0 WHERE n = 0;
ALTER TABLE partitioned_bucket ATTACH PARTITION partitioned_bucket_0 FOR VALUES WITH (MODULUS 4, REMAINDER 0);
-- A partition is split in two.
BEGIN;
ALTER TABLE partitioned_bucket DETACH PARTITION partitioned_bucket_3;
CREATE TABLE partitioned_bucket_3_of_8 PARTITION OF partitioned_bucket FOR VALUES WITH (MODULUS 8, REMAINDER 3);
CREATE TABLE partitioned_bucket_7_of_8 PARTITION OF partitioned_bucket FOR VALUES WITH (MODULUS 8, REMAINDER 7);
INSERT INTO partitioned_bucket SELECT * FROM partitioned_bucket_3;
COMMIT;
SELECT tableoid::regclass AS partition, count(*) BETWEEN 2250 AND 2750 AS eighth FROM partitioned_bucket WHERE tableoid::regclass::text ~ '_of_8$' GROUP BY 1 ORDER BY 1;
SELECT count(*), count(DISTINCT id) FROM partitioned_bucket;
ANALYZE partitioned_bucket;
SET enable_hashjoin = off;
SELECT pg_temp.plan_lines('Join|Nested Loop', 'SELECT count(*) FROM partitioned_bucket AS a JOIN partitioned_bucket AS b USING (id)') AS joins;
SELECT count(*) FROM partitioned_bucket AS a JOIN partitioned_bucket AS b USING (id) WHERE a.n = b.n;

CREATE TABLE partitioned_both (id sno PRIMARY KEY DEFAULT sno_generate(4), n integer) PARTITION BY RANGE (id);
CREATE TABLE partitioned_both_old PARTITION OF partitioned_both FOR VALUES FROM (MINVALUE) TO (sno_min('2026-01-01'));
CREATE TABLE partitioned_both_new PARTITION OF partitioned_both FOR VALUES FROM (sno_min('2026-01-01')) TO (MAXVALUE) PARTITION BY HASH (id);
CREATE TABLE partitioned_both_new_0 PARTITION OF partitioned_both_new FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE partitioned_both_new_1 PARTITION OF partitioned_both_new FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO partitioned_both (n) SELECT n FROM generate_series(1, 1000) AS n;
INSERT INTO partitioned_both VALUES (sno_max('2025-12-31 23:59:59.996'), 0);
SELECT tableoid::regclass AS partition, count(*) > 400 AS half FROM partitioned_both WHERE n > 0 GROUP BY 1 ORDER BY 1;
SELECT tableoid::regclass AS partition, n FROM partitioned_both WHERE id <@ tstzrange(NULL, '2026-01-01');
SET enable_bitmapscan = off;
SELECT pg_temp.plan_lines('Scan', $$SELECT * FROM partitioned_both WHERE id = sno_min('2026-05-05')$$) AS equal,
    pg_temp.plan_lines('Scan', $$SELECT n FROM partitioned_both WHERE id <@ tstzrange('2026-01-01', NULL)$$) AS new,
    pg_temp.plan_lines('Scan', $$SELECT n FROM partitioned_both WHERE id <@ tstzrange(NULL, '2026-01-01')$$) AS old;

SET client_min_messages = warning;
DROP VIEW partitioned_rows;
DROP TABLE partitioned_detail, partitioned_log, partitioned_log_01, partitioned_like, partitioned_bucket, partitioned_bucket_3, partitioned_both;
