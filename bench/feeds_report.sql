-- The tables and the charts of bench/feeds.

\ir markdown.sql

-- What the charts show: a line for each way with a reader, the last way first.  The columns are the
-- name of the way, its label, the rows missed, the ratio of commits, and p50 and p99 in the race, and
-- while each kind of transaction was open.  Figures that are missing are NaN.
CREATE VIEW chart AS
SELECT w.name, translate(w.label, '`*', '') AS label, (
        SELECT s.value FROM summary AS s WHERE s.section = 'race' AND s.measure = 'missed' AND s.key = w.name
    ) AS missed, f.line
FROM way AS w, LATERAL (
    SELECT string_agg(coalesce(CASE c.measure WHEN 'commits' THEN s.ratio ELSE s.value END, 'NaN')::text, E'\t'
                      ORDER BY c.place) AS line
    FROM (VALUES (1, 'race', 'commits'), (2, 'race', 'p50'), (3, 'race', 'p99'),
            (4, 'open_reads', 'p50'), (5, 'open_reads', 'p99'),
            (6, 'open_elsewhere', 'p50'), (7, 'open_elsewhere', 'p99'),
            (8, 'open_outbox', 'p50'), (9, 'open_outbox', 'p99')) AS c (place, section, measure)
        LEFT JOIN summary AS s ON s.section = c.section AND s.measure = c.measure AND s.key = w.name) AS f
WHERE w.name NOT IN ('none', 'backlog')
ORDER BY w.place DESC;
