-- The keys that bench/run compares, and the workloads that run within the server.

CREATE EXTENSION pgstattuple;
CREATE SEQUENCE bench;
SELECT sno_create_generator('bench') \g /dev/null

CREATE TABLE key (
    place integer GENERATED ALWAYS AS IDENTITY,
    name text PRIMARY KEY,
    label text NOT NULL,
    columns text,                   -- of a table with this key
    options text,                   -- of sessions that load it
    made text,                      -- a new key
    slow boolean DEFAULT false,     -- to make
    spread text,                    -- key n, which is of time "at"
    minute text                     -- bounds of a time
);
INSERT INTO key (name, label, columns, made, slow, spread, minute) VALUES
('sno', 'sno',
 'id sno DEFAULT sno_generate(1) PRIMARY KEY',
 'sno_generate(1) AS id', false,
 'sno_make(at, 1, n % 8) AS id',
 'id <@ tstzrange(%1$L, %2$L)');
-- For loads by several sessions only
INSERT INTO key (name, label, columns, options) VALUES
('mixed', 'sno, 8 metabytes', 'id sno DEFAULT sno_generate((random() * 7)::integer) PRIMARY KEY', NULL);
INSERT INTO key (name, label, columns, made, slow, spread, minute) VALUES
('named', 'sno, named generator',
 'id sno DEFAULT sno_generate(1, ''bench'') PRIMARY KEY',
 'sno_generate(1, ''bench'') AS id', false,
 'sno_make(at, 1, 1) AS id',
 'id <@ tstzrange(%1$L, %2$L)'),
('bigint', 'bigint',
 'id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
 'nextval(''bench'') AS id', false,
 '100000000000000000 + n AS id',
 NULL),
('uuid_v4', 'uuid v4',
 'id uuid DEFAULT gen_random_uuid() PRIMARY KEY',
 'gen_random_uuid() AS id', false,
 'gen_random_uuid() AS id',
 NULL),
('uuid_v7', 'uuid v7',
 format('id uuid DEFAULT %s PRIMARY KEY', :'uuid_v7'),
 format('%s AS id', :'uuid_v7'), :'uuid_v7' = 'uuid_v7()',
 'overlay(gen_random_uuid()::text PLACING left(uuid_v7_min(at)::text, 15) FROM 1)::uuid AS id',
 'id >= uuid_v7_min(%1$L) AND id < uuid_v7_min(%2$L)'),
('ulid', 'text ULID',
 'id text COLLATE "C" DEFAULT ulid() PRIMARY KEY',
 'ulid() COLLATE "C" AS id', true,
 'ulid_min(at) || upper(left(md5(random()::text), 16)) AS id',
 'id >= ulid_min(%1$L) AND id < ulid_min(%2$L)'),
('snowflake', 'snowflake',
 'id bigint DEFAULT snowflake() PRIMARY KEY',
 'snowflake() AS id', true,
 'snowflake_min(at) + 5 * 1024 + n % 1024 AS id',
 'id >= snowflake_min(%1$L) AND id < snowflake_min(%2$L)'),
('timestamp', 'timestamptz + bigint',
 'id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT clock_timestamp()',
 'nextval(''bench'') AS id, clock_timestamp() AS created_at', false,
 '100000000000000000 + n AS id, at AS created_at',
 'created_at >= %1$L AND created_at < %2$L');
-- Not keys, but measured beside them.
INSERT INTO key (name, label, made) VALUES
('nothing', 'nothing', '1 AS id'), ('watermark', '`sno_watermark()`', NULL), ('xmin', '`pg_snapshot_xmin()`', NULL),
('no_id', 'no id', NULL), ('one_id', 'one id', NULL), ('two_ids', 'two ids', NULL);

-- The columns of the tables in the report, and the statements of workloads that consist of
-- a statement.  %1$s is the key's name.
CREATE TABLE measure (
    place integer GENERATED ALWAYS AS IDENTITY,
    section text,
    name text,
    unit text NOT NULL,
    peer text NOT NULL DEFAULT 'bigint',    -- of ratios
    scale float8,                           -- from seconds to the unit
    before text,
    command text,
    after text,
    PRIMARY KEY (section, name)
);
-- A null value means that a key was repeated.
CREATE TABLE result (
    section text,
    measure text,
    key text REFERENCES key,
    round integer,
    value float8,
    PRIMARY KEY (section, measure, key, round),
    FOREIGN KEY (section, measure) REFERENCES measure
);

INSERT INTO measure (section, name, unit, scale, command) VALUES
('call', 'a call', 'ns', 1e9 / :rows,
 'SELECT count(*) FROM (SELECT %2$s FROM generate_series(1, %3$s) AS g OFFSET 0) AS s');

-- There are three tables of each key: spread_KEY has 100 rows a second, in order, and a
-- primary key.  shuffled_KEY has the same keys without an index.  burst_KEY has keys of
-- one load, shuffled.
INSERT INTO measure (section, name, unit, scale, before, command, after) VALUES
('copy', 'out, text', 'ns a row', 1e9 / :rows, NULL,
 'COPY shuffled_%1$s TO ''/dev/null''', NULL),
('copy', 'out, binary', 'ns a row', 1e9 / :rows, NULL,
 'COPY shuffled_%1$s TO ''/dev/null'' (FORMAT binary)', NULL),
('copy', 'in, text', 'ns a row', 1e9 / :rows,
 'CREATE UNLOGGED TABLE copied (LIKE shuffled_%1$s)',
 format('COPY copied FROM %L', :'folder' || '/%1$s.text'),
 'DROP TABLE copied'),
('copy', 'in, binary', 'ns a row', 1e9 / :rows,
 'CREATE UNLOGGED TABLE copied (LIKE shuffled_%1$s)',
 format('COPY copied FROM %L (FORMAT binary)', :'folder' || '/%1$s.binary'),
 'DROP TABLE copied'),
('sort', 'CREATE INDEX, keys of hours', 'ns a row', 1e9 / :rows, NULL,
 'CREATE INDEX shuffled_index ON shuffled_%1$s (id)',
 'DROP INDEX shuffled_index'),
('sort', 'CREATE INDEX, keys of one load', 'ns a row', 1e9 / :rows, NULL,
 'CREATE INDEX burst_index ON burst_%1$s (id)',
 'DROP INDEX burst_index'),
('sort', 'sort, keys of hours', 'ns a row', 1e9 / :rows, NULL,
 'SELECT FROM (SELECT id FROM shuffled_%1$s ORDER BY id OFFSET 0) AS s OFFSET ' || :rows, NULL),
('sort', 'sort, keys of one load', 'ns a row', 1e9 / :rows, NULL,
 'SELECT FROM (SELECT id FROM burst_%1$s ORDER BY id OFFSET 0) AS s OFFSET ' || :rows, NULL),
('sort', 'sort, keys and another column', 'ns a row', 1e9 / :rows, NULL,
 'SELECT FROM (SELECT id, ctid FROM burst_%1$s ORDER BY id OFFSET 0) AS s OFFSET ' || :rows, NULL),
('join', 'hash join', 'ns a row', 1e9 / :rows,
 'SET enable_mergejoin = off',
 'SELECT count(*) FROM shuffled_%1$s JOIN spread_%1$s USING (id)',
 'RESET enable_mergejoin'),
('join', 'GROUP BY', 'ns a row', 1e9 / :rows,
 'SET enable_sort = off',
 'SELECT count(*) FROM (SELECT id FROM shuffled_%1$s GROUP BY id OFFSET 0) AS s',
 'RESET enable_sort'),
('find', 'a point lookup', 'ns', 1e9 / :lookups,
 'SET enable_hashjoin = off; SET enable_mergejoin = off',
 'SELECT count(n) FROM (SELECT id FROM shuffled_%1$s LIMIT ' || :lookups || ') AS s JOIN spread_%1$s USING (id)',
 'RESET enable_hashjoin; RESET enable_mergejoin'),
('find', 'a row that refers to another', 'ns', 1e9 / :lookups,
 'CREATE TABLE child AS SELECT id FROM spread_%1$s WITH NO DATA; ALTER TABLE child ADD FOREIGN KEY (id) REFERENCES spread_%1$s',
 'INSERT INTO child SELECT id FROM shuffled_%1$s LIMIT ' || :lookups,
 'DROP TABLE child');
INSERT INTO measure (section, name, unit) VALUES
('oltp', 'speed', 'rows/s'), ('oltp', 'index', 'bytes a row'),
('connect', 'connection and first id', 'ms');
INSERT INTO measure (section, name, unit, peer) VALUES
('watermark', '10 sessions', 'µs', 'xmin'), ('watermark', '100 sessions', 'µs', 'xmin'),
('watermark', '1000 sessions', 'µs', 'xmin'), ('transaction', 'a transaction', 'µs', 'no_id');
INSERT INTO measure (section, name, unit, peer, scale, command) VALUES
('minute', format('a minute of %s', justify_hours(:rows * interval '10 ms')), 'ms', 'timestamp', 1e3 / 20,
 'SELECT count_minutes(%1$L, 20)');

CREATE FUNCTION count_minutes(of_key text, minutes integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    condition text := (SELECT minute FROM key WHERE name = of_key);
    seconds integer;
    at timestamptz;
    found bigint;
BEGIN
    EXECUTE format('SELECT count(*) / 100 FROM spread_%s', of_key) INTO seconds;
    FOR minute IN 1..minutes LOOP
        at := timestamptz '2026-01-01' + floor(random() * (seconds - 60)) * interval '1 s';
        EXECUTE format('SELECT count(n) FROM spread_%s WHERE ', of_key) || format(condition, at, at + interval '1 minute')
        INTO found;
        ASSERT found = 6000;
    END LOOP;
END $$;

CREATE PROCEDURE make_tables(rows bigint, folder text) LANGUAGE plpgsql AS $$
DECLARE
    k key;
BEGIN
    FOR k IN SELECT * FROM key WHERE spread IS NOT NULL LOOP
        EXECUTE format('CREATE TABLE spread_%s AS SELECT %s, n::integer FROM generate_series(0, %s - 1) AS n,
            LATERAL (SELECT timestamptz ''2026-01-01'' + n * interval ''10 ms'' AS at) AS s', k.name, k.spread, rows);
        EXECUTE format('ALTER TABLE spread_%s ADD PRIMARY KEY (id)', k.name);
        EXECUTE format('CREATE TABLE shuffled_%1$s AS SELECT %2$s FROM spread_%1$s ORDER BY random()',
            k.name, CASE k.name WHEN 'timestamp' THEN 'id, created_at' ELSE 'id' END);
        EXECUTE format('CREATE TABLE burst_%s AS SELECT * FROM (SELECT %s FROM generate_series(1, %s) OFFSET 0) AS s ORDER BY random()',
            k.name, k.made, rows);
        IF k.name = 'timestamp' THEN
            CREATE INDEX ON spread_timestamp (created_at);
        END IF;
        EXECUTE format('COPY shuffled_%s TO %L', k.name, format('%s/%s.text', folder, k.name));
        EXECUTE format('COPY shuffled_%s TO %L (FORMAT binary)', k.name, format('%s/%s.binary', folder, k.name));
    END LOOP;
END $$;

CREATE PROCEDURE drop_tables() LANGUAGE plpgsql AS $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^(spread|shuffled|burst)_' LOOP
        EXECUTE 'DROP TABLE ' || name;
    END LOOP;
END $$;

-- Run the statements of a section.  In each round each statement takes all keys.
CREATE PROCEDURE run(this text, rounds integer, calls integer) LANGUAGE plpgsql AS $$
DECLARE
    m measure;
    k key;
    n integer;
    start timestamptz;
    seconds float8;
BEGIN
    FOR round IN 0..rounds LOOP         -- round 0 warms up
        FOR m IN SELECT * FROM measure WHERE section = this ORDER BY place LOOP
            FOR k IN
                SELECT * FROM key
                WHERE CASE this WHEN 'minute' THEN minute IS NOT NULL WHEN 'call' THEN made IS NOT NULL ELSE spread IS NOT NULL END
                ORDER BY random()
            LOOP
                EXECUTE coalesce(format(m.before, k.name), '');
                COMMIT;
                n := CASE WHEN this = 'call' AND k.slow THEN calls / 10 ELSE calls END;
                start := clock_timestamp();
                EXECUTE format(m.command, k.name, k.made, n);
                COMMIT;
                seconds := extract(epoch FROM clock_timestamp() - start);
                EXECUTE coalesce(format(m.after, k.name), '');
                INSERT INTO result SELECT this, m.name, k.name, round, seconds * m.scale * calls / n WHERE round > 0;
                COMMIT;
            END LOOP;
        END LOOP;
    END LOOP;
END $$;

-- Loads of a table by sessions of pgbench
CREATE TABLE load (
    key text,
    rows bigint,
    sessions integer,
    round integer,
    seconds float8,
    heap float8,
    index float8,
    wal float8,
    full_to float8,         -- pages of the index, in percent
    reindexed float8
);
CREATE TABLE loaded ();
CREATE PROCEDURE make_loaded(of_key text) LANGUAGE plpgsql AS $$
BEGIN
    DROP TABLE loaded;
    EXECUTE format('CREATE TABLE loaded (%s, n integer)', (SELECT columns FROM key WHERE name = of_key));
    IF of_key = 'timestamp' THEN
        CREATE INDEX ON loaded (created_at);
    END IF;
END $$;
CREATE PROCEDURE note_load(key text, rows bigint, sessions integer, round integer, seconds float8, wal_start pg_lsn, reindex boolean) LANGUAGE plpgsql AS $$
DECLARE
    l load := (key, rows, sessions, round, seconds, pg_relation_size('loaded'), pg_indexes_size('loaded'),
        pg_current_wal_insert_lsn() - wal_start, (SELECT avg_leaf_density FROM pgstatindex('loaded_pkey')), NULL);
BEGIN
    IF reindex THEN
        REINDEX TABLE loaded;
        l.reindexed := pg_indexes_size('loaded');
    END IF;
    INSERT INTO load SELECT l.*;
END $$;
