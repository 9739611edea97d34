-- The clients' notes during the crash and the step of the clock.

ANALYZE note;

-- Each note with the lap in which it came: 0 before the crash, 1 after it, 2 after the
-- clock was set back.  A client notes ids in the order in which they were made.
CREATE TEMP TABLE lap AS
SELECT client, life + (sum(step) OVER (PARTITION BY client, life ORDER BY line))::integer AS lap,
       id, number, extract(epoch FROM sno_timestamp(id)) * 1000 AS ms
FROM (
    SELECT *, (sno_timestamp(id) < lag(sno_timestamp(id), 1, '-infinity')
               OVER (PARTITION BY client, life ORDER BY line) - interval '100 ms')::integer AS step
    FROM note
) AS note;

-- The kill, and the first id after it, in milliseconds.  Times on charts are relative to these.
SELECT max(ms) FILTER (WHERE lap = 0) AS killed, min(ms) FILTER (WHERE lap = 1) AS resumed,
       max(ms) FILTER (WHERE lap = 1) AS stepped, min(ms) FILTER (WHERE lap = 2) AS back
FROM lap \gset

-- Ids in each unit: lap, the unit's time, and the count, which goes down where the clock
-- was set back.
\o survivors.tsv
SELECT lap, ms - CASE lap WHEN 1 THEN :resumed ELSE :killed END, CASE lap WHEN 2 THEN -count(*) ELSE count(*) END
FROM lap
WHERE lap = 1 OR ms - :killed BETWEEN :window AND 40
GROUP BY lap, ms ORDER BY lap, ms;

-- The partitions of the ids.
\o partitions.tsv
SELECT lap, string_agg(DISTINCT sno_partition(id) || CASE WHEN sno_tick_tock(id) THEN ' (tick-tock 1)' ELSE '' END, ', ')
FROM lap GROUP BY lap ORDER BY lap;

-- The numbers of the sequence: part, time, number, and whether it was noted twice.
CREATE TEMP TABLE again AS
SELECT number FROM note GROUP BY number HAVING count(*) > 1;
\o numbers.tsv
SELECT (lap = 1)::integer AS part,
       ms - CASE lap WHEN 1 THEN :resumed ELSE :killed END, number, (again.number IS NOT NULL)::integer
FROM lap LEFT JOIN again USING (number)
WHERE (lap = 1 OR lap = 0 AND ms - :killed >= :window) AND number % 200 = 0
ORDER BY again.number IS NOT NULL;
\o

SELECT 'noted', to_char(count(*), 'FM99,999,999') FROM note;
SELECT 'down', to_char((:resumed - :killed) / 1000, 'FM990.0');
SELECT 'step', to_char((:stepped - :back) / 1000, 'FM990.0');
SELECT 'window', :window;
SELECT 'repeats_shown', to_char(count(*), 'FM99,999,999') FROM again;
SELECT 'last_number', max(number) FROM lap WHERE lap = 0;
SELECT 'shared_units', to_char(count(*), 'FM99,999') FROM (
    SELECT ms FROM lap WHERE lap = 0 INTERSECT SELECT ms FROM lap WHERE lap = 2) AS both_times;
