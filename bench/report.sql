-- What bench/run found: medians, the least and the most, and ratios within a round.

-- The call alone, without the scan that makes the calls
UPDATE result SET value = result.value - scan.value
FROM result AS scan
WHERE result.section = 'call' AND scan.section = 'call' AND scan.round = result.round
    AND scan.key = 'nothing' AND result.key <> 'nothing';
DELETE FROM result WHERE section = 'call' AND key = 'nothing';

CREATE TEMP TABLE of_load AS
SELECT section, measure, unit, key, round, sessions, rows, CASE WHEN seconds IS NOT NULL THEN value END AS value
FROM load, LATERAL (SELECT
        to_char(rows, 'FM999,999,999') || ' rows' AS of_rows,
        sessions || CASE sessions WHEN 1 THEN ' session' ELSE ' sessions' END AS of_sessions) AS names,
    LATERAL (VALUES
        ('load', of_rows || ', ' || of_sessions, 's', seconds, rows >= :rows AND sessions IN (1, 8)),
        ('bytes_' || sessions, 'heap', 'bytes a row', heap / rows, rows = :rows AND sessions IN (1, 8)),
        ('bytes_' || sessions, 'index', 'bytes a row', index / rows, rows = :rows AND sessions IN (1, 8)),
        ('bytes_' || sessions, 'index after REINDEX', 'bytes a row', reindexed / rows, rows = :rows AND sessions IN (1, 8)),
        ('bytes_' || sessions, 'WAL', 'bytes a row', wal / rows, rows = :rows AND sessions IN (1, 8)),
        ('sessions_speed', of_sessions, 'rows/s', rows / seconds, rows = :rows),
        ('sessions_index', of_sessions, 'bytes a row', index / rows, rows = :rows),
        ('sessions_heap', of_sessions, 'bytes a row', heap / rows, rows = :rows),
        ('sessions_full', of_sessions, '%', full_to, rows = :rows),
        ('rows_speed', of_rows, 'rows/s', rows / seconds, sessions = 1),
        ('rows_index', of_rows, 'bytes a row', index / rows, sessions = 1)
    ) AS v (section, measure, unit, value, wanted)
WHERE wanted AND CASE
    WHEN section LIKE 'sessions%' THEN key IN ('sno', 'apart', 'mixed', 'bigint', 'uuid_v7')
    WHEN key = 'apart' THEN sessions > 1
    ELSE key <> 'mixed' END;
INSERT INTO measure (section, name, unit)
SELECT section, measure, unit FROM of_load GROUP BY section, measure, unit
ORDER BY section, min(rows), min(sessions), array_position('{heap,index,index after REINDEX,WAL}', measure);
INSERT INTO result SELECT section, measure, key, round, value FROM of_load;

\ir markdown.sql

-- For the charts
\pset fieldsep '\t'
\o call.tsv
SELECT key, label, value FROM summary WHERE section = 'call' ORDER BY key_place;
\o load.tsv
SELECT key, label, s.ratio, heap.value, index.value
FROM summary AS s
    JOIN summary AS heap USING (key, label)
    JOIN summary AS index USING (key, label)
WHERE s.section = 'load' AND s.measure = (SELECT measure FROM of_load WHERE section = 'load' AND rows = :rows AND sessions = 1 LIMIT 1)
    AND heap.section = 'bytes_1' AND heap.measure = 'heap' AND index.section = 'bytes_1' AND index.measure = 'index'
ORDER BY s.key_place;
\o sessions.tsv
SELECT key, speed.label, split_part(measure, ' ', 1), speed.value, index.value
FROM summary AS speed JOIN summary AS index USING (key, measure)
WHERE speed.section = 'sessions_speed' AND index.section = 'sessions_index'
ORDER BY speed.key_place, speed.measure_place;
\o rows.tsv
SELECT key, speed.label, replace(split_part(measure, ' ', 1), ',', ''), speed.value, index.value
FROM summary AS speed JOIN summary AS index USING (key, measure)
WHERE speed.section = 'rows_speed' AND index.section = 'rows_index'
ORDER BY speed.key_place, speed.measure_place;
\o ratios.tsv
SELECT key, label, dense_rank() OVER (ORDER BY w.place), w.name, CASE unit WHEN 'rows/s' THEN 1 / ratio ELSE ratio END
FROM summary AS s JOIN (VALUES
    (1, 'call', NULL, 'a call'),
    (2, 'connect', NULL, 'connection and first id'),
    (3, 'load', to_char(:rows, 'FM999,999,999') || ' rows, 1 session', 'load, 1 session'),
    (4, 'load', to_char(:rows, 'FM999,999,999') || ' rows, 8 sessions', 'load, 8 sessions'),
    (5, 'oltp', 'speed', 'single-row inserts, 8 sessions'),
    (6, 'copy', 'out, text', 'COPY out, text'),
    (7, 'copy', 'out, binary', 'COPY out, binary'),
    (8, 'copy', 'in, text', 'COPY in, text'),
    (9, 'copy', 'in, binary', 'COPY in, binary'),
    (10, 'sort', 'CREATE INDEX, keys of one load', 'CREATE INDEX'),
    (11, 'sort', 'sort, keys of one load', 'sort'),
    (12, 'join', 'hash join', 'hash join'),
    (13, 'join', 'GROUP BY', 'GROUP BY'),
    (14, 'find', 'a point lookup', 'point lookup'),
    (15, 'find', 'a row that refers to another', 'foreign key'),
    (16, 'bytes_1', 'heap', 'heap bytes'),
    (17, 'bytes_1', 'index', 'index bytes, loaded'),
    (18, 'bytes_8', 'index', 'index bytes, 8 sessions'),
    (19, 'bytes_1', 'index after REINDEX', 'index bytes after REINDEX'),
    (20, 'bytes_1', 'WAL', 'WAL bytes')
) AS w (place, section, measure, name) ON w.section = s.section AND coalesce(w.measure, s.measure) = s.measure
WHERE key IN ('sno', 'uuid_v4', 'uuid_v7')
ORDER BY key_place, w.place;
\o
