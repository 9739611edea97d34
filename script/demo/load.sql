-- The figures of the load: the medians, and bytes a row before and after REINDEX.

CREATE TEMP TABLE size AS
SELECT key, pg_table_size('file_' || key) AS heap, pg_indexes_size('file_' || key) AS loaded
FROM load GROUP BY key;
REINDEX TABLE file_sno;
REINDEX TABLE file_bigint;
REINDEX TABLE file_uuid_v4;
REINDEX TABLE file_uuid_v7;

CREATE TABLE load_result AS
SELECT place, size.key, name, round(:rows / median.seconds) AS rate, round(ratio::numeric, 2) AS ratio,
       to_char(lowest, 'FM990.00') || ' to ' || to_char(highest, 'FM990.00') AS range,
       round(heap::numeric / :rows, 1) AS heap, round(loaded::numeric / :rows, 1) AS loaded,
       round(pg_indexes_size('file_' || size.key)::numeric / :rows, 1) AS reindexed
FROM size
JOIN (VALUES
    (1, 'sno', 'sno'), (2, 'bigint', 'bigint'), (3, 'uuid_v4', 'uuid v4'),
    (4, 'uuid_v7', CASE WHEN current_setting('server_version_num')::integer < 180000
                        THEN 'uuid v7 (PL/pgSQL)' ELSE 'uuid v7 (uuidv7)' END)
) AS peer (place, key, name) USING (key)
JOIN (
    SELECT key, percentile_cont(0.5) WITHIN GROUP (ORDER BY load.seconds) AS seconds,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY bigint.seconds / load.seconds) AS ratio,
           min(bigint.seconds / load.seconds) AS lowest, max(bigint.seconds / load.seconds) AS highest
    FROM load
    JOIN (SELECT round, seconds FROM load WHERE key = 'bigint') AS bigint USING (round)
    GROUP BY key
) AS median USING (key);

\o load.tsv
SELECT key, replace(key, '_', ' '), rate, heap, loaded, reindexed, substring(name FROM '\(.*\)')
FROM load_result ORDER BY place;
\o load.html
SELECT format('<tr><th scope="row">%s</th><td>%s</td><td>%s<br><small>%s</small></td><td>%s</td><td>%s</td><td>%s</td></tr>',
              name, to_char(rate, 'FM9,999,999'), to_char(ratio, 'FM990.00'), range, heap, loaded, reindexed)
FROM load_result ORDER BY place;
\o
SELECT 'lines', to_char(:lines, 'FM99,999,999');
SELECT 'packages', to_char(:packages, 'FM99,999');
SELECT 'rows', to_char(:rows, 'FM99,999,999');
SELECT 'load_ratio', to_char(ratio, 'FM990.00') FROM load_result WHERE key = 'sno';
SELECT 'load_ratio_v4', to_char(sno.ratio / v4.ratio, 'FM990.0')
FROM load_result AS sno, load_result AS v4 WHERE sno.key = 'sno' AND v4.key = 'uuid_v4';
SELECT 'load_range', range FROM load_result WHERE key = 'sno';
SELECT 'v7_told', CASE WHEN name LIKE '%PL/pgSQL%'
    THEN 'a function in PL/pgSQL (bench/peers.sql), because PostgreSQL has its own, uuidv7(), only since 18. Its rows a '
         'second were measured with that function: README has figures with PostgreSQL''s own.'
    ELSE 'PostgreSQL''s own uuidv7().' END
FROM load_result WHERE key = 'uuid_v7';
