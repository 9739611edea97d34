-- One id of the load, as a ruler of its bits: two rows of 40.

SELECT id, path FROM file_sno ORDER BY path = '/usr/bin/env' DESC, id LIMIT 1 \gset

CREATE TEMP TABLE bit AS
SELECT i, substr(('x' || encode(:'id'::sno::bytea, 'hex'))::bit(80)::text, i + 1, 1) AS bit,
       CASE WHEN i < 39 THEN 'timestamp' WHEN i < 40 THEN 'ticktock' WHEN i < 48 THEN 'meta'
            WHEN i < 64 THEN 'partition' ELSE 'sequence' END AS field
FROM generate_series(0, 79) AS i;

CREATE FUNCTION pg_temp.row(what text, cells text) RETURNS text LANGUAGE sql
RETURN format('<tr class="%s">%s</tr>', what, cells);

\o ruler.html
SELECT '<table class="ruler">' ||
    pg_temp.row('size', (
        SELECT string_agg(format('<td class="%s" colspan="%s">%2$s</td>', field, size), '' ORDER BY first)
        FROM (SELECT field, count(*) AS size, min(i) AS first FROM bit WHERE i / 40 = half GROUP BY field) AS f)) ||
    pg_temp.row('bit', (
        SELECT string_agg(format('<td class="%s">%s</td>', field, bit), '' ORDER BY i)
        FROM bit WHERE i / 40 = half)) ||
    pg_temp.row('text', (
        SELECT string_agg(format('<td colspan="5">%s</td>', substr(:'id', i, 1)), '' ORDER BY i)
        FROM generate_series(half * 8 + 1, half * 8 + 8) AS i)) ||
    pg_temp.row('uuid', (
        SELECT string_agg(format('<td colspan="5">%s</td>', encode(substr(:'id', i, 1)::bytea, 'hex')), '' ORDER BY i)
        FROM generate_series(half * 8 + 1, half * 8 + 8) AS i)) ||
    '</table>'
FROM generate_series(0, 1) AS half ORDER BY half;
\o

SELECT 'id', :'id';
SELECT 'id_uuid', :'id'::sno::uuid;
SELECT 'id_path', :'path';
SELECT 'id_' || field, value FROM sno_parts(:'id') AS p, LATERAL (VALUES
    ('timestamp', to_char("timestamp", 'YYYY-MM-DD HH24:MI:SS.MS') || ' UTC'), ('ticktock', tick_tock::integer::text),
    ('meta', meta::text), ('partition', partition::text), ('sequence', to_char(sequence, 'FM99,999'))
) AS part (field, value);
