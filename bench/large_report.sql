-- The results of bench/large, as figures of each round.

CREATE TABLE measure (
    place integer GENERATED ALWAYS AS IDENTITY,
    section text,
    name text,
    unit text NOT NULL,
    peer text,                  -- of ratios
    PRIMARY KEY (section, name)
);
INSERT INTO measure (section, name, unit, peer) VALUES
('size', 'heap', 'MB', 'bigint'), ('size', 'primary key', 'MB', 'bigint'),
('size', '(owner_id)', 'MB', 'bigint'), ('size', '(kind, id)', 'MB', 'bigint'),
('size', 'a row', 'bytes', 'bigint'), ('size', 'all', 'times the memory', NULL),
('run', 'WAL', 'bytes a new row', 'bigint'), ('run', 'full-page images', 'a new row', 'bigint'),
('run', 'blocks read', 'a transaction', 'bigint'), ('run', 'transactions', 'a second', NULL),
('latency', 'read, p50', 'ms', 'bigint'), ('latency', 'read, p99', 'ms', 'bigint'),
('latency', 'insert, p50', 'ms', 'bigint'), ('latency', 'insert, p99', 'ms', 'bigint'),
('latency', 'refer, p50', 'ms', 'bigint'), ('latency', 'refer, p99', 'ms', 'bigint'),
('lag', 'median', 'ms', NULL), ('lag', 'longest', 'ms', NULL), ('lag', 'most', 'MB of WAL', NULL),
('day_size', 'DELETE', 'MB', 'bigint'), ('day_size', 'partitions', 'MB', 'bigint'),
('day_wal', 'DELETE', 'bytes a row', 'bigint'), ('day_wal', 'partitions', 'bytes a row', 'bigint'),
('day_time', 'DELETE', 's', 'bigint'), ('day_time', 'partitions', 's', 'bigint');

CREATE TABLE result (
    section text,
    measure text,
    key text REFERENCES key,
    round integer,
    value float8,
    PRIMARY KEY (section, measure, key, round),
    FOREIGN KEY (section, measure) REFERENCES measure
);

INSERT INTO result
SELECT 'size', CASE part WHEN 'item' THEN 'heap' WHEN 'item_pkey' THEN 'primary key'
    WHEN 'item_owner_id_idx' THEN '(owner_id)' ELSE '(kind, id)' END, key, round, bytes / 1048576.0
FROM size;
INSERT INTO result
SELECT 'size', measure, key, round, value
FROM (SELECT key, round, sum(bytes) AS bytes, max(rows) AS rows FROM size GROUP BY 1, 2) AS s,
    LATERAL (VALUES ('a row', bytes / rows), ('all', bytes / 1048576 / :memory)) AS v (measure, value);

CREATE VIEW used AS
SELECT key, round, part, max(wal) - min(wal) AS wal, max(images) - min(images) AS images, max(blocks) - min(blocks) AS blocks
FROM counter GROUP BY 1, 2, 3;
INSERT INTO result
SELECT 'run', measure, key, round, value
FROM used JOIN (SELECT key, round, count(*)::float8 AS transactions, count(*) FILTER (WHERE script > 0) AS rows
        FROM latency GROUP BY 1, 2) AS l USING (key, round),
    LATERAL (VALUES ('WAL', wal / rows), ('full-page images', images / rows::float8),
        ('blocks read', blocks / transactions), ('transactions', transactions / :seconds)) AS v (measure, value)
WHERE part = 'run';

INSERT INTO result
SELECT 'latency', format('%s, p%s', ('{read,insert,refer}'::text[])[script + 1], percent), key, round,
    percentile_disc(percent / 100.0) WITHIN GROUP (ORDER BY us) / 1000.0
FROM latency, unnest('{50,99}'::integer[]) AS percent GROUP BY key, round, script, percent;

INSERT INTO result
SELECT 'lag', measure, key, round, value
FROM (SELECT key, round, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS median, max(ms) AS longest, max(bytes) / 1048576 AS most
        FROM lag GROUP BY 1, 2) AS l,
    LATERAL (VALUES ('median', median), ('longest', longest), ('most', most)) AS v (measure, value);

INSERT INTO result
SELECT section, part, key, round, value
FROM day_end JOIN used USING (key, round, part),
    LATERAL (VALUES ('day_size', bytes / 1048576.0), ('day_wal', wal / rows), ('day_time', ms / 1000)) AS v (section, value);

\ir markdown.sql
