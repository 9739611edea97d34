-- The figures of the feed: the rows that each reader received.

CREATE TABLE feed_result AS
SELECT place, name, replace(condition, '%L', 'last') AS condition, count(*) AS rows, count(seen) AS seen,
       count(*) - count(seen) AS missed,
       round(percentile_cont(0.5) WITHIN GROUP (
           ORDER BY extract(epoch FROM seen.at - pg_xact_commit_timestamp(feed.xmin)) * 1000)::numeric, 1) AS late
FROM reader CROSS JOIN feed LEFT JOIN seen ON (seen.reader, seen.number) = (reader.name, feed.number)
GROUP BY place, name, condition;

\o feeds.html
SELECT format('<tr><th scope="row"><code>%s</code></th><td>%s</td><td>%s</td><td>%s %%</td><td>%s</td></tr>',
              replace(replace(condition, '>', '&gt;'), '<', '&lt;'), to_char(seen, 'FM99,999'),
              to_char(missed, 'FM99,999'), round(missed * 100.0 / rows), late)
FROM feed_result ORDER BY place;

-- The transactions of a moment in the middle: writer, from, to, and whether the reader by
-- id missed its row.
\o feeds.tsv
SELECT writer + 1, began, committed, missed
FROM (
    SELECT writer, extract(epoch FROM feed.at - middle) * 1000 AS began,
           extract(epoch FROM pg_xact_commit_timestamp(feed.xmin) - middle) * 1000 AS committed,
           (seen.number IS NULL)::integer AS missed
    FROM feed CROSS JOIN (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY at) FROM feed) AS half (middle)
    LEFT JOIN seen ON (seen.reader, seen.number) = ('id', feed.number)
) AS moment
WHERE committed > 0 AND began < :moment;
\o

SELECT 'feed_rows', to_char(count(*), 'FM99,999') FROM feed;
SELECT 'missed_by_' || name, missed FROM feed_result;
SELECT 'missed_told_' || name, to_char(missed, 'FM99,999') FROM feed_result;
SELECT 'moment', :moment;
