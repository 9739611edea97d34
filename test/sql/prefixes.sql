--
-- Prefixes of metabytes
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
\set VERBOSITY terse

-- brpk4q725cf2m63l has the metabyte 26
SELECT sno_meta('brpk4q725cf2m63l'), sno_prefix('brpk4q725cf2m63l');
SELECT sno_prefixed('brpk4q725cf2m63l');
INSERT INTO sno_catalog.sno_prefix VALUES (26, 'user'), (1, 'order'), (0, 'a'), (255, 'a_1_b');
SELECT p.*, sno_prefix(id), sno_prefixed(id), sno_from_prefixed(sno_prefixed(id)) = id AS back
FROM sno_catalog.sno_prefix AS p, LATERAL sno_with_meta('brpk4q725cf2m63l', meta) AS id ORDER BY meta;
SELECT sno_prefix(NULL), sno_prefixed(NULL), sno_from_prefixed(NULL);

-- All 256 metabytes
BEGIN;
DELETE FROM sno_catalog.sno_prefix;
INSERT INTO sno_catalog.sno_prefix SELECT meta, 'kind' || meta FROM generate_series(0, 255) AS meta;
SELECT count(*), bool_and(sno_prefixed(id) = 'kind' || meta || '_' || id AND sno_from_prefixed('kind' || meta || '_' || id) = id) AS sound
FROM generate_series(0, 255) AS meta, LATERAL sno_with_meta('brpk4q725cf2m63l', meta) AS id;
ROLLBACK;
SELECT sno_prefix('brpk4q725cf2m63l'), sno_prefix(sno_with_meta('brpk4q725cf2m63l', 2));

-- Refused
CREATE FUNCTION pg_temp.attempt(input text, OUT code text, OUT message text, OUT detail text) LANGUAGE plpgsql AS $$
BEGIN
    message := sno_from_prefixed(input);
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
END $$;
SELECT a.*
FROM unnest('{user_brpk4q725cf2m63l, order_brpk4q725cf2m63l, user, user_, _brpk4q725cf2m63l, brpk4q725cf2m63l, "",
    user_brpk4q725cf2m63, user_brpk4q725cf2m63ll, user_brpk4q725cf2m63y, USER_brpk4q725cf2m63l, "user _brpk4q725cf2m63l",
    use_brpk4q725cf2m63l, users_brpk4q725cf2m63l, user__brpk4q725cf2m63l, user-brpk4q725cf2m63l, "user_brpk4q725cf2m63l ",
    user_2222222222222222, a_2222222222222222, user_xxxxxxxxxxxxxxxx, a_1_b_xxxxxxxxxxxxxxxx, "a_1_x_xxxxxxxxxxxxxxxx", user_222222222l222222}'::text[]) AS input,
    pg_temp.attempt(input) AS a;

-- Rows that are refused
CREATE FUNCTION pg_temp.code_of(meta integer, prefix text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO sno_catalog.sno_prefix VALUES (meta, prefix);
    RETURN 'inserted';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
SELECT v.*, pg_temp.code_of(meta, prefix) FROM (VALUES
    (2, 'User'), (2, '1user'), (2, 'user_'), (2, '_user'), (2, 'us er'), (2, ''), (2, NULL), (NULL, 'other'), (-1, 'other'), (256, 'other'),
    (26, 'other'), (2, 'user'), (2, E'user\n'), (2, repeat('a', 64)), (2, repeat('a', 63))) AS v (meta, prefix);
SELECT length(sno_prefixed(sno_with_meta('2222222222222222', 2)));

-- A change counts at once, and is forgotten if it is rolled back.
UPDATE sno_catalog.sno_prefix SET prefix = 'person' WHERE meta = 26;
SELECT sno_prefixed('brpk4q725cf2m63l');
BEGIN;
DELETE FROM sno_catalog.sno_prefix WHERE meta = 26;
SELECT sno_prefix('brpk4q725cf2m63l');
SAVEPOINT s;
INSERT INTO sno_catalog.sno_prefix VALUES (26, 'again');
SELECT sno_prefix('brpk4q725cf2m63l');
ROLLBACK TO s;
SELECT sno_prefix('brpk4q725cf2m63l');
COMMIT;
SELECT sno_prefix('brpk4q725cf2m63l');
TRUNCATE sno_catalog.sno_prefix;
SELECT sno_prefix('2222222222222222');

-- An index serves a search by the text.
INSERT INTO sno_catalog.sno_prefix VALUES (1, 'user'), (2, 'order');
CREATE TABLE person (id sno PRIMARY KEY DEFAULT sno_generate(1));
INSERT INTO person VALUES (sno_make('2026-01-01 00:00+00', 1, 1)), (sno_make('2026-01-01 00:00+00', 1, 2));
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM person WHERE id = sno_from_prefixed('user_9d5ve82226224222');
SELECT sno_prefixed(id) FROM person WHERE id = sno_from_prefixed(sno_prefixed(id));

-- A domain keeps kinds apart, and indexes serve it as they serve sno.
CREATE DOMAIN user_id AS sno CHECK (sno_meta(VALUE) = 1);
CREATE DOMAIN order_id AS sno CHECK (sno_meta(VALUE) = 2);
CREATE TABLE customer (id user_id PRIMARY KEY DEFAULT sno_generate(1), friends user_id[]);
CREATE TABLE purchase (id order_id PRIMARY KEY DEFAULT sno_generate(2), customer_id user_id NOT NULL REFERENCES customer);
INSERT INTO customer VALUES (sno_make('2026-01-01 00:00+00', 1, 1)), (sno_make('2026-01-01 00:00+00', 1, 2));
INSERT INTO purchase (customer_id) SELECT id FROM customer;
INSERT INTO purchase (customer_id) SELECT id FROM purchase LIMIT 1;
INSERT INTO customer (id) VALUES (sno_generate(2));
INSERT INTO customer (friends) SELECT array_agg(id) FROM customer;
INSERT INTO customer (friends) SELECT array_agg(id) FROM purchase;
EXPLAIN (COSTS OFF) SELECT id FROM customer WHERE id <@ '[2026-01-01 00:00+00, 2026-01-02 00:00+00)'::tstzrange;
SELECT count(*) FROM customer WHERE id <@ '[2026-01-01 00:00+00, 2026-01-02 00:00+00)'::tstzrange;
EXPLAIN (COSTS OFF) SELECT id FROM customer WHERE id = sno_from_prefixed('user_9d5ve82226224222');
CREATE FUNCTION pg_temp.customer(id user_id) RETURNS text LANGUAGE sql RETURN 'customer ' || sno_partition(id);
SELECT pg_temp.customer(sno_make('2026-01-01 00:00+00', 1, 3));
SELECT pg_temp.customer(sno_make('2026-01-01 00:00+00', 2, 3));
SELECT pg_temp.customer(id) FROM purchase;
SELECT id::order_id FROM customer;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE person, customer, purchase;

-- Who may do what
SET ROLE pg_database_owner;
INSERT INTO sno_catalog.sno_prefix VALUES (4, 'owned');
UPDATE sno_catalog.sno_prefix SET prefix = 'ours' WHERE meta = 4;
SELECT sno_prefix(sno_with_meta('brpk4q725cf2m63l', 4));
DELETE FROM sno_catalog.sno_prefix WHERE meta = 4;
RESET ROLE;
CREATE ROLE sno_reader;
GRANT CREATE ON SCHEMA public TO sno_reader;
SET ROLE sno_reader;
SELECT sno_prefixed(sno_with_meta('brpk4q725cf2m63l', 1));
SELECT * FROM sno_catalog.sno_prefix;
INSERT INTO sno_catalog.sno_prefix VALUES (3, 'other');
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM sno_reader;
DROP ROLE sno_reader;

-- What somebody altered
ALTER TABLE sno_catalog.sno_prefix ALTER prefix DROP NOT NULL;
INSERT INTO sno_catalog.sno_prefix VALUES (3, NULL);
SELECT sno_prefix(sno_with_meta('brpk4q725cf2m63l', 3));
DELETE FROM sno_catalog.sno_prefix;
ALTER TABLE sno_catalog.sno_prefix ALTER prefix SET NOT NULL, DROP CONSTRAINT sno_prefix_meta_check;
INSERT INTO sno_catalog.sno_prefix VALUES (26 + 256, 'high'), (-1, 'low'), (26, 'user');
ALTER TABLE sno_catalog.sno_prefix ADD note text DEFAULT 'note', ADD more bigint DEFAULT -1;
SELECT sno_prefix('brpk4q725cf2m63l'), sno_prefix('xxxxxxxxxxxxxxxx');
ALTER TABLE sno_catalog.sno_prefix DROP note, DROP more;
SELECT sno_prefix('brpk4q725cf2m63l');
ALTER TABLE sno_catalog.sno_prefix ALTER meta TYPE bigint;
SELECT sno_prefix('brpk4q725cf2m63l');
DELETE FROM sno_catalog.sno_prefix;
ALTER TABLE sno_catalog.sno_prefix ALTER meta TYPE integer, ADD CHECK (meta BETWEEN 0 AND 255);
ALTER TABLE sno_catalog.sno_prefix RENAME TO elsewhere;
SELECT sno_prefix('brpk4q725cf2m63l');
ALTER TABLE sno_catalog.elsewhere RENAME TO sno_prefix;
SELECT sno_prefix('brpk4q725cf2m63l');
