-- The tables of the demonstration.

CREATE EXTENSION sno;
\ir ../../bench/peers.sql

-- The same files under each kind of key.  The sessions of the load share one generator
-- of sno ids, with one metabyte.  So ids ascend across the sessions.
SELECT sno_create_generator('file');
CREATE TABLE file_sno (
    id sno PRIMARY KEY DEFAULT sno_generate(1, 'file'),
    kind smallint, package text, path text);
CREATE TABLE file_bigint (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    kind smallint, package text, path text);
CREATE TABLE file_uuid_v4 (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    kind smallint, package text, path text);
CREATE TABLE file_uuid_v7 (
    id uuid PRIMARY KEY DEFAULT uuid_v7(),
    kind smallint, package text, path text);
CREATE TABLE load (key text, round integer, seconds float8);

-- Each row gets an id and a number of a sequence, through a crash.  Here the sessions
-- choose their generators themselves.
CREATE TABLE survivor (
    id     sno PRIMARY KEY,
    number bigint GENERATED ALWAYS AS IDENTITY,
    kind smallint, package text, path text);

-- The clients' notes of these rows, taken outside of the server.
CREATE TABLE note (client integer, life integer, line bigserial, id sno, number bigint);

CREATE TABLE event (id sno PRIMARY KEY, package text, path text) PARTITION BY RANGE (id);

-- A feed: the order of its ids and numbers isn't that in which its rows are committed.
CREATE TABLE feed (
    id     sno PRIMARY KEY DEFAULT sno_generate(),
    number bigserial UNIQUE,
    writer integer NOT NULL,
    at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    path   text NOT NULL);

-- A writer commits each row a moment after its insert.
CREATE PROCEDURE write_feed(writer integer, rows integer) LANGUAGE plpgsql AS $$
DECLARE
    file record;
BEGIN
    FOR file IN SELECT path FROM listed_0 OFFSET writer * rows LIMIT rows LOOP
        INSERT INTO feed (writer, path) VALUES (writer, file.path);
        PERFORM pg_sleep(random() * 0.01);
        COMMIT;
    END LOOP;
END $$;

-- Each reader asks again and again for the rows after the last one that it got.
CREATE TABLE reader (place integer, name text PRIMARY KEY, key text, last text, condition text);
INSERT INTO reader VALUES
    (1, 'sequence', 'number', '0', 'number > %L'),
    (2, 'id', 'id', sno_zero()::text, 'id > %L'),
    (3, 'watermark', 'id', sno_zero()::text, 'id > %L AND id < (SELECT sno_watermark())');
CREATE TABLE seen (reader text, number bigint, at timestamptz, PRIMARY KEY (reader, number));
CREATE TABLE feed_end (at timestamptz);

CREATE PROCEDURE read_feed(name text) LANGUAGE plpgsql AS $$
DECLARE
    me reader;
    ended boolean;
    event record;
BEGIN
    SELECT * INTO STRICT me FROM reader AS r WHERE r.name = read_feed.name;
    LOOP
        ended := EXISTS (SELECT FROM feed_end) AND sno_watermark() > (SELECT max(id) FROM feed);
        FOR event IN EXECUTE format(
            'SELECT number, %I::text AS place FROM feed WHERE ' || me.condition || ' ORDER BY %1$I LIMIT 100', me.key, me.last)
        LOOP
            INSERT INTO seen VALUES (name, event.number, clock_timestamp());
            me.last := event.place;
        END LOOP;
        EXIT WHEN ended AND NOT FOUND;
        COMMIT;
        PERFORM pg_sleep(0.002);
    END LOOP;
END $$;
