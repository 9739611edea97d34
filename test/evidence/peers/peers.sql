-- What others make in the database: see also bench/peers.sql.

CREATE TABLE ticket (id bigserial PRIMARY KEY);

-- Instagram's function, as it is printed in articles
CREATE SCHEMA shard_1;
CREATE SEQUENCE shard_1.global_id_sequence;
CREATE OR REPLACE FUNCTION shard_1.id_generator(OUT result bigint) AS $$
DECLARE
our_epoch bigint := 1314220021721;
seq_id bigint;
now_millis bigint;
-- the id of this DB shard, must be set for each
-- schema shard you have - you could pass this as a parameter too
shard_id int := 1;
BEGIN
SELECT nextval('shard_1.global_id_sequence') % 1024 INTO seq_id;
SELECT FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) INTO now_millis;
result := (now_millis - our_epoch) << 23;
result := result | (shard_id << 10);
result := result | (seq_id);
END;
$$ LANGUAGE PLPGSQL;

-- A snowflake of 53 bits, for JSON, as it is printed in an article
CREATE SEQUENCE public.global_id_sequence;
CREATE OR REPLACE FUNCTION public.id_generator(OUT result bigint) AS $$
DECLARE
now_seconds bigint;
shard_id int := 1;
seq_id bigint;
BEGIN
SELECT nextval('public.global_id_sequence') % 65536 INTO seq_id;
SELECT FLOOR(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP())) INTO now_seconds;
result := now_seconds << 21; -- Shard(5) + Seq(16)
result := result | (shard_id << 16); -- Seq(16)
result := result | (seq_id);
END;
$$ LANGUAGE PLPGSQL;
