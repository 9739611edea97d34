--
-- The cases made with the reference, in all their columns
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';

CREATE TEMP TABLE vector (
    hex text,
    id sno,
    unix_ms bigint,
    tick_tock int,
    meta int,
    partition int,
    sequence int);
\getenv abs_srcdir PG_ABS_SRCDIR
\set load '\\copy vector FROM ' :abs_srcdir '/vectors/sno.tsv'
:load
SELECT count(*) FROM vector;

-- Each query below shows the cases that fail: none.
SELECT * FROM vector WHERE encode(id::bytea, 'hex') <> hex;
SELECT * FROM vector WHERE encode(sno_catalog.sno_send(id), 'hex') <> hex;
SELECT * FROM vector WHERE decode(hex, 'hex')::sno <> id;
SELECT * FROM vector WHERE id::text::sno <> id OR id::text !~ '^[2-9a-x]{16}$';
SELECT * FROM vector WHERE id::uuid::sno <> id OR convert_from(uuid_send(id::uuid), 'SQL_ASCII') <> id::text;
SELECT * FROM vector WHERE sno_timestamp(id) <> timestamptz 'epoch' + unix_ms * interval '1 ms';
SELECT * FROM vector WHERE sno_tick_tock(id)::int <> tick_tock;
SELECT * FROM vector WHERE sno_meta(id) <> meta;
SELECT * FROM vector WHERE sno_partition(id) <> partition;
SELECT * FROM vector WHERE sno_sequence(id) <> sequence;
SELECT v.* FROM vector v, sno_parts(id) p
WHERE (p."timestamp", p.tick_tock::int, p.meta, p.partition, p.sequence)
    <> (timestamptz 'epoch' + unix_ms * interval '1 ms', v.tick_tock, v.meta, v.partition, v.sequence);
SELECT * FROM vector WHERE NOT id BETWEEN sno_min(sno_timestamp(id)) AND sno_max(sno_timestamp(id));

-- The text is exactly that of the file.
CREATE TEMP TABLE line (hex text, text text, unix_ms text, tick_tock text, meta text, partition text, sequence text);
\set load '\\copy line FROM ' :abs_srcdir '/vectors/sno.tsv'
:load
SELECT hex, text FROM line WHERE decode(hex, 'hex')::sno::text <> text OR text::sno::text <> text;

-- Bytes, text and uuids have the same order
SELECT count(*) AS out_of_order
FROM (
    SELECT row_number() OVER (ORDER BY id) AS by_id,
        row_number() OVER (ORDER BY hex COLLATE "C") AS by_bytes,
        row_number() OVER (ORDER BY id::text COLLATE "C") AS by_text,
        row_number() OVER (ORDER BY id::uuid) AS by_uuid
    FROM (SELECT DISTINCT id, hex FROM vector) AS d) AS s
WHERE NOT (by_id = by_bytes AND by_id = by_text AND by_id = by_uuid);
