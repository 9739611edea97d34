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

-- What the clients noted of these rows, outside of the server.
CREATE TABLE note (client integer, life integer, line bigserial, id sno, number bigint);

CREATE TABLE event (id sno PRIMARY KEY, package text, path text) PARTITION BY RANGE (id);
