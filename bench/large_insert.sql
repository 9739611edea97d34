\set slot random(0, :recent - 1)
WITH made AS (INSERT INTO item DEFAULT VALUES RETURNING id)
UPDATE recent SET id = made.id FROM made WHERE slot = :slot;
