-- The results of bench/run: medians, minima and maxima, and ratios within a round.

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
    WHEN section LIKE 'sessions%' THEN key IN ('sno', 'mixed', 'bigint', 'uuid_v7')
    ELSE key <> 'mixed' END;
INSERT INTO measure (section, name, unit)
SELECT section, measure, unit FROM of_load GROUP BY section, measure, unit
ORDER BY section, min(rows), min(sessions), array_position('{heap,index,index after REINDEX,WAL}', measure);
INSERT INTO result SELECT section, measure, key, round, value FROM of_load;

\ir markdown.sql
