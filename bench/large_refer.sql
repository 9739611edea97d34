\set owner random(0, :recent - 1)
\set slot random(0, :recent - 1)
WITH made AS (INSERT INTO item (owner_id) SELECT id FROM recent WHERE slot = :owner RETURNING id)
UPDATE recent SET id = made.id FROM made WHERE slot = :slot;
