-- The keys that bench/large compares, and its parts that run within the server.

CREATE SEQUENCE bench;

SELECT CASE WHEN :'core_has_it' THEN 'uuidv7()' ELSE 'uuid_v7()' END AS v7,
    CASE WHEN :'core_has_it' THEN '`uuidv7()` of PostgreSQL itself'
        ELSE 'a function in PL/pgSQL. PostgreSQL 18 has one in C' END AS v7_made \gset
CREATE TABLE key (
    place integer GENERATED ALWAYS AS IDENTITY,
    name text PRIMARY KEY,
    label text NOT NULL,
    made text NOT NULL,         -- how, for the report
    type text NOT NULL,
    value text NOT NULL,        -- a new key
    bound text                  -- a key above those of item, and not above later ones
);
INSERT INTO key (name, label, made, type, value, bound) VALUES
('sno', 'sno', '`sno_generate(1)`', 'sno', 'sno_generate(1)',
 'sno_min(clock_timestamp() + interval ''5 ms'')'),
('bigint', 'bigint', '`nextval()` of a sequence', 'bigint', 'nextval(''bench'')',
 '(SELECT max(id) + 1 FROM item)'),
('uuid_v4', 'uuid v4', '`gen_random_uuid()`', 'uuid', 'gen_random_uuid()',
 NULL),
('uuid_v7', 'uuid v7', :'v7_made', 'uuid', :'v7',
 'uuid_v7_min(clock_timestamp() + interval ''5 ms'')'),
('ulid', 'text ULID', 'a function in PL/pgSQL, in a column with `COLLATE "C"`', 'text COLLATE "C"', 'ulid()',
 'ulid_min(clock_timestamp() + interval ''5 ms'')'),
('snowflake', 'snowflake', 'a `bigint` from a function in PL/pgSQL, as tutorials show it', 'bigint', 'snowflake()',
 'snowflake_min(clock_timestamp() + interval ''5 ms'')');

-- The table that all keys have in turn.  When it is loaded, it gets a foreign key, too.
CREATE TABLE item (id bigint);
CREATE PROCEDURE make_item(of_key text) LANGUAGE plpgsql AS $$
DECLARE
    k key := (SELECT key FROM key WHERE name = of_key);
BEGIN
    DROP TABLE item;
    EXECUTE format('CREATE TABLE item (
        id %1$s DEFAULT %2$s PRIMARY KEY,
        owner_id %1$s,
        kind smallint NOT NULL DEFAULT floor(random() * 16),
        created timestamptz NOT NULL DEFAULT now(),
        payload text NOT NULL DEFAULT repeat(''x'', 100))', k.type, k.value);
    CREATE INDEX ON item (owner_id);
    CREATE INDEX ON item (kind, id);
END $$;

-- A third of the rows refers to an earlier one.  A repeated snowflake is left out.
CREATE PROCEDURE load(rows bigint) LANGUAGE plpgsql AS $$
DECLARE
    owner item.id%TYPE;
BEGIN
    FOR lot IN 1 .. rows / 30 LOOP
        INSERT INTO item DEFAULT VALUES ON CONFLICT DO NOTHING RETURNING id INTO owner;
        INSERT INTO item (owner_id)
        SELECT CASE WHEN n % 3 = 0 THEN owner END FROM generate_series(2, 30) AS n
        ON CONFLICT DO NOTHING;
        COMMIT;
    END LOOP;
END $$;

-- The recent rows that an application knows: the ids of the last 2 %.  A new row replaces one.
CREATE TABLE recent ();
CREATE FUNCTION make_recent() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    first tid := format('(%s,1)', pg_relation_size('item') / current_setting('block_size')::integer * 98 / 100);
BEGIN
    DROP TABLE recent;
    CREATE UNLOGGED TABLE recent WITH (fillfactor = 50) AS
    SELECT row_number() OVER ()::integer - 1 AS slot, id FROM item WHERE ctid >= first;
    ALTER TABLE recent ADD PRIMARY KEY (slot);
    RETURN (SELECT count(*) FROM recent);
END $$;

-- The end of an hour of the day.  Only the rows of the last 6 hours stay.
CREATE TABLE hour (n integer PRIMARY KEY, ended timestamptz DEFAULT clock_timestamp(), bound text);
CREATE PROCEDURE delete_hour(this integer) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO hour (n) VALUES (this);
    DELETE FROM item WHERE created < (SELECT ended FROM hour WHERE n = this - 6);
END $$;

CREATE TABLE day ();
CREATE PROCEDURE make_day() LANGUAGE plpgsql AS $$
BEGIN
    DROP TABLE day;
    CREATE TABLE day (LIKE item INCLUDING ALL) PARTITION BY RANGE (id);
END $$;
CREATE PROCEDURE detach_hour(this integer, of_key text) LANGUAGE plpgsql AS $$
DECLARE
    low text := (SELECT quote_literal(bound) FROM hour WHERE n = this - 1);
    high text;
BEGIN
    EXECUTE format('SELECT %s', (SELECT bound FROM key WHERE name = of_key)) INTO high;
    INSERT INTO hour (n, bound) VALUES (this, high);
    EXECUTE format('ALTER TABLE item RENAME TO hour_%s', this);
    EXECUTE format('ALTER TABLE day ATTACH PARTITION hour_%s FOR VALUES FROM (%s) TO (%L)',
        this, coalesce(low, 'MINVALUE'), high);
    CREATE TABLE item (LIKE day INCLUDING ALL);
    IF this > 6 THEN
        EXECUTE format('ALTER TABLE day DETACH PARTITION hour_%s', this - 6);
        EXECUTE format('DROP TABLE hour_%s', this - 6);
    END IF;
END $$;

-- The measurements
CREATE TABLE size (key text, round integer, part text, rows bigint, bytes bigint);
CREATE PROCEDURE note_size(key text, round integer) LANGUAGE sql AS $$
    INSERT INTO size
    SELECT key, round, relname, count, pg_relation_size(oid)
    FROM pg_class, (SELECT count(*) FROM item) AS s
    WHERE oid = 'item'::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'item'::regclass)
$$;

-- Noted before and after
CREATE TABLE counter (key text, round integer, part text, wal float8, images bigint, blocks bigint);
CREATE PROCEDURE note_counters(key text, round integer, part text) LANGUAGE sql AS $$
    INSERT INTO counter
    SELECT key, round, part, pg_current_wal_insert_lsn() - '0/0', wal_fpi, blks_read
    FROM pg_stat_wal, pg_stat_database WHERE datname = current_database()
$$;

CREATE TABLE latency (key text, round integer, script integer, us bigint);

CREATE UNLOGGED TABLE lag (key text, round integer, ms float8, bytes float8);
CREATE PROCEDURE note_lag(key text, round integer, seconds integer) LANGUAGE plpgsql AS $$
BEGIN
    FOR sample IN 1 .. seconds * 5 LOOP
        PERFORM pg_sleep(0.2);
        INSERT INTO lag
        SELECT key, round, coalesce(extract(epoch FROM replay_lag) * 1000, 0), pg_current_wal_lsn() - replay_lsn
        FROM pg_stat_replication;
        COMMIT;
    END LOOP;
END $$;

CREATE TABLE day_end (key text, round integer, part text, rows bigint, bytes bigint, ms float8);
CREATE PROCEDURE note_day(key text, round integer, part text, rows bigint, ms float8) LANGUAGE sql AS $$
    INSERT INTO day_end
    SELECT key, round, part, rows, sum(pg_total_relation_size(oid)), ms
    FROM pg_class
    WHERE CASE part WHEN 'DELETE' THEN oid = 'item'::regclass
        ELSE oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'day'::regclass) END
$$;
