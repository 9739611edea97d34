\set slot random(0, :recent - 1)
SELECT owner_id, kind, created, payload FROM item WHERE id = (SELECT id FROM recent WHERE slot = :slot);
