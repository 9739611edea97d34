-- The ways of bench/feeds in which a reader follows an outbox, and the figures.

CREATE EXTENSION sno_feeds;
CREATE EXTENSION pgstattuple;

CREATE TABLE way (
    place   integer GENERATED ALWAYS AS IDENTITY,
    name    text PRIMARY KEY,
    label   text NOT NULL,
    why     text NOT NULL DEFAULT '',
    id      text NOT NULL DEFAULT 'bigserial',
    made    text,               -- statements after the creation of the outbox
    lock    text,               -- of a transaction, before its first row
    notify  text,               -- of a transaction, before its commit
    settle  text,               -- statements of the reader before `next`
    next    text,               -- id, time, position, and the rest of the next rows, after position $1
    note    text,               -- records the reader's position
    start   text DEFAULT '0',   -- its first position
    wait    text,               -- waits for rows
    channel text,               -- of notifications
    poll    integer NOT NULL DEFAULT 10,        -- ms without a notification, or between two polls
    batch   integer NOT NULL DEFAULT 1000,      -- rows of a full result, after which the reader doesn't wait
    program text                -- prints the rows
);
INSERT INTO way (name, label, why, next, note) VALUES
('none', 'no reader', 'A table with a `bigserial`', NULL, NULL),
('last', '`id > last`', 'The reader asks for the rows above its last id, every 10 ms',
    'SELECT id, sent, id, customer, payload FROM outbox WHERE id > $1::bigint ORDER BY id LIMIT 1000',
    'UPDATE place SET position = $1');
INSERT INTO way (name, label, why, made, next, note, start) VALUES
('xmin', '`pg_snapshot_xmin()`',
    'Rows have the transaction, of type `xid8`. The reader asks for those before the oldest one that runs, every 10 ms',
    'ALTER TABLE outbox ADD tx xid8 NOT NULL DEFAULT pg_current_xact_id(); CREATE INDEX ON outbox (tx, id)',
    'SELECT id, sent, tx || '' '' || id, customer, payload FROM outbox
     WHERE (tx, id) > (split_part($1, '' '', 1)::xid8, split_part($1, '' '', 2)::bigint)
        AND tx < pg_snapshot_xmin(pg_current_snapshot())
     ORDER BY tx, id LIMIT 1000',
    'UPDATE place SET position = $1', '0 0');
INSERT INTO way (name, label, why, lock, settle, next, note) VALUES
('serial', 'exclusive lock of writers',
    'Writers hold an exclusive advisory lock until they commit. The reader asks for `id > last`, every 10 ms',
    'SELECT pg_advisory_xact_lock(1)', NULL,
    'SELECT id, sent, id, customer, payload FROM outbox WHERE id > $1::bigint ORDER BY id LIMIT 1000',
    'UPDATE place SET position = $1'),
-- Once the reader has the lock, all ids up to the last one are committed or rolled back.
('barrier', 'exclusive lock of the reader',
    'Writers share an advisory lock. The reader takes it for a moment to wait for the end of writers, every 10 ms',
    'SELECT pg_advisory_xact_lock_shared(1)',
    'SELECT pg_advisory_lock(1);
     SELECT set_config(''race.last'', last_value::text, false) FROM outbox_id_seq;
     SELECT pg_advisory_unlock(1)',
    'SELECT id, sent, id, customer, payload FROM outbox
     WHERE id > $1::bigint AND id <= current_setting(''race.last'')::bigint ORDER BY id LIMIT 1000',
    'UPDATE place SET position = $1');
INSERT INTO way (name, label, why, next) VALUES
('skip', '`DELETE`, `SKIP LOCKED`',
    'A queue: the reader deletes the rows, every 10 ms. They have no order, and other readers don''t get them',
    'DELETE FROM outbox
     WHERE id = ANY (ARRAY(SELECT id FROM outbox ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED))
     RETURNING id, sent, id, customer, payload');
INSERT INTO way (name, label, why, made, notify, next, note, start, channel, poll)
SELECT 'notify', '`NOTIFY`, `pg_snapshot_xmin()`', 'The same query, after each notification. Each writer sends one',
    made, 'NOTIFY outbox', next, note, start, 'outbox', 1000
FROM way WHERE name = 'xmin';
INSERT INTO way (name, label, why, program) VALUES
('logical', 'logical decoding',
    '`pg_recvlogical` with `test_decoding`, which prints changes of all tables. Only here, `wal_level` is `logical`',
    'exec pg_recvlogical -U postgres -d postgres -S race --start -F 1 -s 1 -f - -o include-xids=0 '
    '-o skip-empty-xacts=1');
INSERT INTO way (name, label, why, id, made, next, wait) VALUES
('sno', '**sno**', '`sno_feed_next()`, and `sno_feed_wait()` after each result of less than 1,000 rows',
    'sno DEFAULT sno_generate()',
    'SELECT sno_feed_create(''outbox''); SELECT sno_feed_create_reader(''outbox'', ''mail'')',
    'SELECT id, sent, id, customer, payload FROM sno_feed_next(NULL::outbox, ''mail'')',
    'CALL sno_feed_wait(''outbox'', ''mail'', ''1 second'')');
INSERT INTO way (name, label, next, batch, poll) VALUES
('backlog', 'backlog', 'SELECT * FROM sno_feed_next(NULL::outbox, ''mail'', 10000)', 10000, 1);

-- The tables of one measurement are in the schema race.
ALTER ROLE postgres SET search_path = race, public;
CREATE PROCEDURE make_table(id text) LANGUAGE plpgsql AS $$
BEGIN
    DROP SCHEMA IF EXISTS race CASCADE;
    CREATE SCHEMA race;
    EXECUTE format('CREATE TABLE outbox '
        '(id %s PRIMARY KEY, customer integer NOT NULL, sent timestamptz, payload jsonb NOT NULL)', id);
END $$;
CREATE PROCEDURE make_outbox(way text) LANGUAGE plpgsql AS $$
DECLARE
    w way;
BEGIN
    SELECT * INTO STRICT w FROM way WHERE name = make_outbox.way;
    CALL make_table(w.id);
    -- What the transactions do besides, with the number of their rows of the outbox
    CREATE TABLE orders
        (writer integer NOT NULL, rows integer NOT NULL, made timestamptz NOT NULL DEFAULT clock_timestamp());
    CREATE TABLE elsewhere (made timestamptz NOT NULL);
    CREATE TABLE place (position text NOT NULL);
    INSERT INTO place VALUES (w.start);
    CREATE TABLE open (kind text, start timestamptz, finish timestamptz);
    CREATE UNLOGGED TABLE received (id text, sent bigint, at bigint);
    IF w.made IS NOT NULL THEN
        EXECUTE w.made;
    END IF;
END $$;

CREATE FUNCTION payload() RETURNS text LANGUAGE sql RETURN format('''%s''',
    json_build_object('type', 'order placed', 'currency', 'EUR', 'amount', 1234.5, 'items', 3,
        'text', repeat('lorem ipsum ', 9)));

-- The transaction of a writer, for pgbench.  Its last rows have the time at which they are inserted.
-- They and the commit are sent together, so there is no round trip between them.
CREATE FUNCTION writer(way text, phase text) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(E'\n',
        '\set rows random(1, 4)', '\set customer random(1, 1000)',
        CASE phase WHEN 'quiet' THEN '\set wait random(0, 50000)' ELSE '\set wait random(0, 10000)' END,
        CASE phase WHEN 'quiet' THEN '\set rows 0' END,
        '\set fate random(1, 100)',
        CASE phase WHEN 'quiet' THEN '\sleep :wait us' END,
        CASE phase WHEN 'quiet' THEN '\startpipeline' END,
        'BEGIN;',
        lock || ';',
        'INSERT INTO orders (writer, rows) VALUES (:client_id, :rows + 1);',
        CASE phase WHEN 'quiet' THEN
            'INSERT INTO outbox (customer, sent, payload) VALUES (:customer, clock_timestamp(), ' || payload() || ');'
        ELSE concat_ws(E'\n',
            'INSERT INTO outbox (customer, payload) VALUES (:customer, ' || payload() || ');',
            '\sleep :wait us',
            '\if :fate <= 5', 'ROLLBACK;', '\else', '\startpipeline',
            'INSERT INTO outbox (customer, sent, payload) SELECT :customer, clock_timestamp(), ' || payload() ||
            ' FROM generate_series(1, :rows);') END,
        notify || ';',
        'COMMIT;', '\endpipeline',
        CASE WHEN phase <> 'quiet' THEN '\endif' END)
    FROM way WHERE name = writer.way
$$;

-- A transaction that stays open, for psql.
CREATE FUNCTION open_transaction(way text, kind text, seconds integer) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(E'\n',
        'BEGIN ISOLATION LEVEL REPEATABLE READ;',
        CASE kind
            WHEN 'reads' THEN 'SELECT count(*) FROM elsewhere \g /dev/null'
            WHEN 'elsewhere' THEN 'INSERT INTO elsewhere VALUES (now());'
            ELSE concat_ws(E'\n', lock || ' \g /dev/null', 'INSERT INTO orders (writer, rows) VALUES (-1, 1);',
                'INSERT INTO outbox (customer, payload) VALUES (0, ' || payload() || ');') END,
        'SELECT clock_timestamp() AS start \gset',
        '\! sleep ' || seconds,
        'SELECT clock_timestamp() AS finish \gset',
        CASE kind WHEN 'outbox' THEN notify || ';' END,
        'COMMIT;',
        format('INSERT INTO open VALUES (%L, :''start'', :''finish'');', kind))
    FROM way WHERE name = open_transaction.way
$$;

-- The rows of all tables of figures.  A section is a table; a phase has one or more.
CREATE TABLE key (place integer GENERATED ALWAYS AS IDENTITY, name text PRIMARY KEY, label text NOT NULL);
INSERT INTO key (name, label) SELECT name, label FROM way WHERE name <> 'backlog' ORDER BY place;
INSERT INTO key (name, label) VALUES
('bare', 'no feed'), ('feed', 'a feed'), ('other', '100 readers wait for another feed'),
('parts', '100 readers wait for a part without rows'),
('copy_wide', '`COPY`, 200 bytes of jsonb'), ('wide', '`sno_feed_next()`'), ('wide_parts', '4 parts, 4 readers'),
('copy_narrow', '`COPY`, an id and an integer'), ('narrow', '`sno_feed_next()`'),
('narrow_parts', '4 parts, 4 readers'),
('one', '`SELECT 1`'), ('poll_1_1', '1 reader, 1 part'), ('poll_1_64', '1 reader, 64 parts'),
('poll_1000_64', '1,000 readers, 64 parts each');
CREATE TABLE measure (
    place   integer GENERATED ALWAYS AS IDENTITY,
    phase   text NOT NULL,
    section text,
    name    text,
    unit    text NOT NULL,
    peer    text,               -- of ratios
    PRIMARY KEY (section, name)
);
INSERT INTO measure (phase, section, name, unit, peer) VALUES
('race', 'race', 'missed', 'rows', NULL), ('race', 'race', 'given twice', 'rows', NULL),
('race', 'race', 'commits', 'a second', 'none'),
('race', 'race', 'p50', 'ms', NULL), ('race', 'race', 'p99', 'ms', NULL),
('race', 'cost', 'CPU of the server', 'µs a row', 'none'), ('race', 'cost', 'CPU of the reader', 'µs a row', NULL),
('race', 'cost', 'WAL', 'bytes a row', 'none'), ('race', 'cost', 'dead rows', 'for 1,000 rows', NULL),
('open', 'open_missed', 'missed', 'rows', NULL), ('open', 'open_missed', 'given twice', 'rows', NULL),
('open', 'open_reads', 'commits', 'a second', 'none'),
('open', 'open_reads', 'p50', 'ms', NULL), ('open', 'open_reads', 'p99', 'ms', NULL),
('open', 'open_elsewhere', 'commits', 'a second', 'none'),
('open', 'open_elsewhere', 'p50', 'ms', NULL), ('open', 'open_elsewhere', 'p99', 'ms', NULL),
('open', 'open_outbox', 'commits', 'a second', 'none'),
('open', 'open_outbox', 'p50', 'ms', NULL), ('open', 'open_outbox', 'p99', 'ms', NULL),
('quiet', 'quiet', 'missed', 'rows', NULL), ('quiet', 'quiet', 'given twice', 'rows', NULL),
('quiet', 'quiet', 'p50', 'ms', NULL), ('quiet', 'quiet', 'p99', 'ms', NULL),
('quiet', 'quiet', 'CPU', '% of a core', 'none'),
('waiting', 'waiting', 'commits', 'for one with `bigint`', 'bare'),
('waiting', 'waiting', 'CPU of the readers', '% of the machine', NULL),
('backlog', 'backlog_wide', 'time', 's', 'copy_wide'), ('backlog', 'backlog_wide', 'speed', 'rows/s', NULL),
('backlog', 'backlog_wide', 'server, private', 'MB', NULL),
('backlog', 'backlog_wide', 'server, with shared buffers', 'MB', NULL),
('backlog', 'backlog_wide', 'client', 'MB', NULL),
('backlog', 'backlog_wide', 'places', 'KB', NULL), ('backlog', 'backlog_wide', 'dead places', 'rows', NULL),
('backlog', 'backlog_narrow', 'time', 's', 'copy_narrow'), ('backlog', 'backlog_narrow', 'speed', 'rows/s', NULL),
('backlog', 'backlog_narrow', 'server, private', 'MB', NULL),
('backlog', 'backlog_narrow', 'server, with shared buffers', 'MB', NULL),
('backlog', 'backlog_narrow', 'client', 'MB', NULL),
('backlog', 'backlog_narrow', 'places', 'KB', NULL), ('backlog', 'backlog_narrow', 'dead places', 'rows', NULL),
('polls', 'polls', 'sno_feed_next()', 'µs', NULL), ('polls', 'polls', 'sno_feed_wait()', 'µs', NULL);
CREATE TABLE result (
    section text,
    measure text,
    key     text REFERENCES key,
    round   integer,
    value   float8,
    PRIMARY KEY (section, measure, key, round),
    FOREIGN KEY (section, measure) REFERENCES measure
);

-- The figures of a measurement of the phases race, open and quiet.  Latencies are those of the rows
-- that have a time.  The first second is left out, because sessions and plans are new then.
CREATE PROCEDURE note_way(phase text, way text, round integer, seconds float8, server float8, reader float8, wal float8)
LANGUAGE plpgsql AS $$
DECLARE
    committed float8;
BEGIN
    ANALYZE outbox, orders, received;
    SELECT sum(rows) INTO committed FROM orders;
    IF way <> 'skip' AND (committed <> (SELECT count(*) FROM outbox)
        OR (SELECT count(*) FROM received AS r LEFT JOIN outbox AS o ON o.id::text = r.id WHERE o.id IS NULL) > 0)
    THEN
        RAISE 'way "%": the rows committed, in the outbox and received do not agree', way;
    END IF;
    CREATE TEMP TABLE figure (section text, measure text, value float8) ON COMMIT DROP;
    IF way <> 'none' THEN
        INSERT INTO figure
        SELECT CASE phase WHEN 'open' THEN 'open_missed' ELSE phase END, f.measure, f.value
        FROM (SELECT committed - count(DISTINCT id) AS missed, count(*) - count(DISTINCT id) AS twice
              FROM received) AS r,
            LATERAL (VALUES ('missed', r.missed), ('given twice', r.twice)) AS f (measure, value);
    END IF;
    IF phase = 'open' THEN
        INSERT INTO figure
        SELECT 'open_' || kind, f.measure, f.value
        FROM open,
            LATERAL (SELECT count(*) FROM orders WHERE made BETWEEN start AND finish) AS o (commits),
            LATERAL (SELECT percentile_cont('{0.5,0.99}'::float8[]) WITHIN GROUP (ORDER BY at - sent)
                     FROM received
                     WHERE sent BETWEEN extract(epoch FROM start) * 1e6 AND extract(epoch FROM finish) * 1e6) AS r (us),
            LATERAL (VALUES ('commits', o.commits / extract(epoch FROM finish - start)::float8),
                ('p50', r.us[1] / 1000), ('p99', r.us[2] / 1000)) AS f (measure, value);
    ELSE
        INSERT INTO figure
        SELECT phase, f.measure, f.value
        FROM (SELECT percentile_cont('{0.5,0.99}'::float8[]) WITHIN GROUP (ORDER BY at - sent) FROM received
              WHERE sent > (SELECT min(r.sent) FROM received AS r) + 1000000) AS r (us),
            LATERAL (VALUES ('p50', r.us[1] / 1000), ('p99', r.us[2] / 1000)) AS f (measure, value);
    END IF;
    IF phase = 'race' THEN
        INSERT INTO figure
        SELECT f.section, f.measure, f.value
        FROM (VALUES ('race', 'commits', (SELECT count(*) FROM orders) / seconds),
            ('cost', 'CPU of the server', server / committed), ('cost', 'WAL', wal / committed),
            ('cost', 'CPU of the reader', CASE WHEN way <> 'none' THEN reader / committed END),
            ('cost', 'dead rows', 1000 / committed * (
                SELECT sum((pgstattuple(c.oid)).dead_tuple_count) FROM pg_class AS c
                WHERE c.relnamespace = 'race'::regnamespace AND c.relkind = 'r'
                    AND c.relname NOT IN ('orders', 'received')))
            ) AS f (section, measure, value);
    ELSIF phase = 'quiet' THEN
        INSERT INTO figure VALUES ('quiet', 'CPU', (server + reader) / seconds / 1e4);
    END IF;
    INSERT INTO result SELECT section, measure, way, round, value FROM figure WHERE value IS NOT NULL;
END $$;

--
-- Phases with sno alone
--

CREATE PROCEDURE make_waiting(key text) LANGUAGE plpgsql AS $$
BEGIN
    CALL make_table('sno DEFAULT sno_generate()');
    CREATE TABLE peer (LIKE outbox);
    ALTER TABLE peer
        ALTER id TYPE bigint USING NULL, ALTER id ADD GENERATED ALWAYS AS IDENTITY, ADD PRIMARY KEY (id);
    CREATE INDEX ON outbox (sno_feed_part(customer, 2), id);
    CREATE INDEX ON peer (sno_feed_part(customer, 2), id);
    INSERT INTO outbox (customer, payload) VALUES (1, '{}');
    IF key <> 'bare' THEN
        PERFORM sno_feed_create('outbox');
    END IF;
    IF key = 'other' THEN
        CREATE TABLE another (LIKE outbox INCLUDING ALL);
        PERFORM sno_feed_create('another');
        PERFORM sno_feed_create_reader('another', 'mail');
    ELSIF key = 'parts' THEN
        PERFORM sno_feed_create_reader('outbox', 'mail', parts => 2, part_by => 'customer');
    END IF;
END $$;

CREATE PROCEDURE make_backlog(kind text, rows integer) LANGUAGE plpgsql AS $$
BEGIN
    CALL make_table('sno DEFAULT sno_generate()');
    IF kind = 'narrow' THEN
        ALTER TABLE outbox DROP sent, DROP payload;
        INSERT INTO outbox (customer) SELECT n FROM generate_series(1, rows) AS n;
    ELSE
        EXECUTE format('INSERT INTO outbox (customer, sent, payload) '
            'SELECT n, now(), %s FROM generate_series(1, %s) AS n', payload(), rows);
    END IF;
    CREATE INDEX ON outbox (sno_feed_part(customer, 4), id);
    PERFORM sno_feed_create('outbox');
END $$;
CREATE PROCEDURE make_backlog_reader(parts integer) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sno_feed_drop('outbox');
    PERFORM sno_feed_create('outbox');
    PERFORM sno_feed_create_reader('outbox', 'mail', parts, CASE WHEN parts > 1 THEN 'customer' END);
END $$;
-- Each row of d is a reader.
CREATE PROCEDURE note_drain(kind text, key text, round integer, rows integer) LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT sum(d.rows) FROM d) <> rows THEN
        RAISE 'the readers got % of % rows', (SELECT sum(d.rows) FROM d), rows;
    END IF;
    INSERT INTO result SELECT 'backlog_' || kind, f.measure, key, round, f.value
    FROM (SELECT max(seconds) AS seconds, max(client) AS client, max(server) AS server, max(private) AS private
          FROM d) AS d,
        pgstattuple('outbox_readers') AS p,
        LATERAL (VALUES ('time', d.seconds), ('speed', rows / d.seconds), ('server, private', d.private / 1024.0),
            ('server, with shared buffers', d.server / 1024.0), ('client', d.client / 1024.0),
            ('places', pg_total_relation_size('outbox_readers') / 1024.0),
            ('dead places', p.dead_tuple_count)) AS f (measure, value);
END $$;

-- Readers who have read all
CREATE PROCEDURE make_polls(readers integer, parts integer) LANGUAGE plpgsql AS $$
BEGIN
    CALL make_table('sno DEFAULT sno_generate()');
    EXECUTE format('CREATE INDEX ON outbox (sno_feed_part(customer, %s), id)', parts);
    PERFORM sno_feed_create('outbox');
    EXECUTE format('INSERT INTO outbox (customer, payload) '
        'SELECT n, %s FROM generate_series(1, 10000) AS n', payload());
    COMMIT;
    WHILE (SELECT max(id) FROM outbox) >= sno_watermark() LOOP
        COMMIT;
        PERFORM pg_sleep(0.001);
    END LOOP;
    FOR r IN 1 .. readers LOOP
        PERFORM sno_feed_create_reader('outbox', 'r' || r, parts, CASE WHEN parts > 1 THEN 'customer' END, 'now');
    END LOOP;
END $$;
