--
-- One watermark for each statement, whoever asks, and nothing that stays of it
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS sno;
RESET client_min_messages;

-- A portal that asks, and is closed before the statement asks again.
CREATE FUNCTION by_cursor() RETURNS sno STABLE LANGUAGE plpgsql AS $$
DECLARE
    c CURSOR FOR SELECT sno_watermark();
    w sno;
BEGIN
    OPEN c;
    FETCH c INTO w;
    CLOSE c;
    PERFORM pg_sleep(0.01);
    RETURN w;
END
$$;

CREATE FUNCTION by_loop() RETURNS sno STABLE LANGUAGE plpgsql AS $$
DECLARE
    w sno;
BEGIN
    FOR w IN SELECT sno_watermark() LOOP
    END LOOP;
    PERFORM pg_sleep(0.01);
    RETURN w;
END
$$;

SELECT by_cursor() = sno_watermark() AS cursor, by_loop() = by_loop() AS loop;

-- A rolled back block that asks first.
CREATE FUNCTION by_block() RETURNS sno STABLE LANGUAGE plpgsql AS $$
DECLARE
    w sno;
BEGIN
    BEGIN
        w := by_cursor();
        RAISE division_by_zero;
    EXCEPTION
        WHEN division_by_zero THEN
            RETURN w;
    END;
END
$$;
SELECT by_block() = sno_watermark() AS block;

-- A volatile function has a snapshot for each statement, so it sees time go on.
CREATE FUNCTION by_statement(OUT a sno, OUT b sno) LANGUAGE plpgsql AS $$
BEGIN
    a := sno_watermark();
    PERFORM pg_sleep(0.01);
    b := sno_watermark();
END
$$;
SELECT a < b AS goes_on FROM by_statement();

-- A procedure that asks often keeps no memory.
CREATE PROCEDURE ask(times integer, commits boolean) LANGUAGE plpgsql AS $$
DECLARE
    w      sno;
    before bigint;
BEGIN
    before := sum(total_bytes) FROM pg_backend_memory_contexts WHERE name ~ '^(Portal|TopTransaction)Context$';
    FOR i IN 1..times LOOP
        w := sno_watermark();
        IF commits THEN
            COMMIT;
        END IF;
    END LOOP;
    IF (SELECT sum(total_bytes) FROM pg_backend_memory_contexts
        WHERE name ~ '^(Portal|TopTransaction)Context$') - before > 100000
    THEN
        RAISE 'the memory of answers stays';
    END IF;
END
$$;
CALL ask(5000, false);
CALL ask(5000, true);

DROP FUNCTION by_cursor, by_loop, by_block, by_statement;
DROP PROCEDURE ask;
