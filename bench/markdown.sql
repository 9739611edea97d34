-- Figures as tables: medians over the rounds, and ratios within a round.  The measurements
-- are in the tables key, measure and result.

CREATE VIEW ratio AS
SELECT r.*, r.value / nullif(peer.value, 0) AS ratio, m.unit, m.peer, m.place AS measure_place, k.label, k.place AS key_place
FROM result AS r
    JOIN measure AS m ON m.section = r.section AND m.name = r.measure
    JOIN key AS k ON k.name = r.key
    LEFT JOIN result AS peer ON peer.section = r.section AND peer.measure = r.measure
        AND peer.round = r.round AND peer.key = m.peer;
CREATE VIEW summary AS
SELECT section, measure, key, unit, peer, label, measure_place, key_place, count(*) AS rounds,
    CASE WHEN bool_and(value IS NOT NULL) THEN percentile_cont(0.5) WITHIN GROUP (ORDER BY value) END AS value,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY ratio) AS ratio,
    min(ratio) AS least, max(ratio) AS most
FROM ratio GROUP BY 1, 2, 3, 4, 5, 6, 7, 8;

-- Three significant digits
CREATE FUNCTION digits(v float8) RETURNS text LANGUAGE sql
RETURN rtrim(to_char(CASE WHEN v = 0 THEN 0 ELSE round(v::numeric, 2 - floor(log(abs(v::numeric)))::integer) END,
    'FM999,999,999,990.999'), '.');

-- A section as a table
CREATE FUNCTION markdown(this text) RETURNS SETOF text LANGUAGE sql AS $$
    WITH m AS (
        SELECT * FROM measure WHERE section = this
    ), s AS (
        SELECT * FROM summary WHERE section = this
    ), most AS (
        SELECT max(rounds) AS rounds FROM s
    ), cell AS (
        SELECT k.label, k.place AS key_place, m.place AS measure_place,
            CASE
                WHEN s.key IS NULL THEN '—'
                WHEN s.value IS NULL THEN 'duplicate key'
                WHEN s.ratio IS NULL THEN digits(s.value)
                WHEN s.key = s.peer THEN digits(s.value) || ' · **1**'
                ELSE format('%s · **%s**', digits(s.value), to_char(s.ratio, 'FM990.00')) || CASE
                    WHEN most.rounds = 1 THEN ''
                    WHEN s.rounds = 1 THEN ' (one round)'
                    WHEN to_char(s.least, 'FM990.00') = to_char(s.most, 'FM990.00') THEN ''
                    ELSE format(' (%s–%s)', to_char(s.least, 'FM990.00'), to_char(s.most, 'FM990.00'))
                END
            END AS text
        FROM m CROSS JOIN most
            JOIN key AS k ON k.name IN (SELECT key FROM s)
            LEFT JOIN s ON s.measure = m.name AND s.key = k.name
    )
    SELECT '| |' || string_agg(format(' %s, %s |', name, unit), '' ORDER BY place) FROM m
    UNION ALL
    SELECT '|---|' || string_agg('--:|', '') FROM m
    UNION ALL
    SELECT * FROM (
        SELECT format('| %s |', label) || string_agg(format(' %s |', text), '' ORDER BY measure_place)
        FROM cell GROUP BY label, key_place ORDER BY key_place) AS line
    UNION ALL
    SELECT '' UNION ALL
    SELECT CASE rounds WHEN 1 THEN 'Of one round.' ELSE format('Medians of %s rounds.', rounds) END FROM most
$$;
