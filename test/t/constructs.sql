--
-- An application's schema with all constructs in which PostgreSQL writes an operator without its
-- schema, or looks for one while a dump is restored.  dump_constructs.pl puts a type for ID, and
-- two values of that type for ID_0 and ID_1, of which ID_0 is the lower one.
--
CREATE SCHEMA app;
SET search_path = app;
CREATE TABLE pair (a ID, b ID, n integer);
CREATE TABLE other (a ID, n integer);
CREATE TABLE keyed (a ID PRIMARY KEY, n integer);
CREATE TABLE rewritten (a ID);
CREATE UNIQUE INDEX keyed_late ON keyed (a) WHERE a > ID_1;
INSERT INTO pair VALUES (ID_0, ID_1, 1), (ID_1, ID_1, 2), (NULL, ID_0, 3);
INSERT INTO other VALUES (ID_1, 1), (ID_0, 2);
INSERT INTO keyed VALUES (ID_0, 1), (ID_1, 2);

-- Operators without their schema
CREATE VIEW distinct_from AS SELECT a IS DISTINCT FROM b AS x FROM pair;
CREATE TABLE checked (a ID, b ID, CHECK (a IS NOT DISTINCT FROM b));
CREATE VIEW null_if AS SELECT nullif(a, b) AS x FROM pair;
CREATE VIEW simple_case AS SELECT CASE a WHEN b THEN 1 WHEN ID_1 THEN 2 END AS x FROM pair;
CREATE VIEW using_a AS SELECT pair.b, other.n FROM pair JOIN other USING (a);
CREATE VIEW natural_left AS SELECT * FROM pair NATURAL LEFT JOIN other;
CREATE VIEW full_using AS SELECT j.a FROM pair FULL JOIN other USING (a) AS j;
CREATE VIEW row_less AS SELECT (a, n) < (b, n) AS x FROM pair;
CREATE VIEW row_least AS SELECT (n, a) >= (n, b) AS x FROM pair;
CREATE VIEW row_in AS SELECT * FROM pair WHERE (n, a) IN (SELECT n, a FROM other);
CREATE VIEW row_not_in AS SELECT * FROM pair WHERE (a, n) NOT IN (SELECT a, n FROM other);
CREATE VIEW row_all AS SELECT * FROM pair WHERE (n, a) > ALL (SELECT n, a FROM other);
CREATE VIEW row_subquery AS SELECT * FROM pair WHERE (n, a) = (SELECT n, a FROM other LIMIT 1);
CREATE VIEW row_distinct AS SELECT (a, n) IS DISTINCT FROM (b, n) AS x FROM pair;
CREATE TRIGGER changed BEFORE UPDATE ON pair FOR EACH ROW WHEN (OLD.a IS DISTINCT FROM NEW.a)
    EXECUTE FUNCTION suppress_redundant_updates_trigger();
CREATE POLICY differ ON pair USING (a IS DISTINCT FROM b) WITH CHECK (nullif(a, b) IS NOT NULL);
CREATE RULE kept AS ON DELETE TO pair WHERE OLD.a IS NOT DISTINCT FROM OLD.b DO INSTEAD NOTHING;
CREATE TABLE generated (a ID, b ID, x ID GENERATED ALWAYS AS (nullif(a, b)) STORED);
CREATE TABLE defaulted (a ID DEFAULT nullif(ID_0, ID_1));
CREATE DOMAIN other_than AS ID CHECK (VALUE IS DISTINCT FROM ID_1);
CREATE INDEX expression ON pair (nullif(a, b));
CREATE INDEX partial ON pair (n) WHERE a IS DISTINCT FROM ID_1;
CREATE TABLE excluded (a ID, EXCLUDE USING btree (a WITH =) WHERE (a IS DISTINCT FROM ID_1));
CREATE TABLE partitioned (a ID, b ID) PARTITION BY RANGE (nullif(a, b));
CREATE STATISTICS counted ON (nullif(a, b)), n FROM pair;
CREATE MATERIALIZED VIEW grouped AS SELECT CASE a WHEN b THEN 1 END AS x, count(*) FROM pair GROUP BY 1;
CREATE FUNCTION differs(x ID, y ID) RETURNS boolean LANGUAGE sql BEGIN ATOMIC SELECT x IS DISTINCT FROM y; END;
CREATE FUNCTION joined() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM pair JOIN other USING (a); END;
CREATE FUNCTION argument(x ID DEFAULT nullif(ID_0, ID_1)) RETURNS ID LANGUAGE sql RETURN x;
CREATE FUNCTION upsert() RETURNS void LANGUAGE sql BEGIN ATOMIC
    INSERT INTO keyed AS k (a) VALUES (ID_1) ON CONFLICT (a) DO UPDATE SET n = 1 WHERE k.a IS DISTINCT FROM excluded.a;
END;
CREATE VIEW filtered AS SELECT count(*) FILTER (WHERE a IS DISTINCT FROM b) AS x FROM pair;

-- Operators that are looked for while a dump is restored, with an empty search path
CREATE FUNCTION is_late(x ID) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$BEGIN RETURN x > ID_0 OR x IN (ID_0, x); END$$;
CREATE FUNCTION is_secure(x ID) RETURNS boolean LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = '' AS $$BEGIN RETURN x <> ID_1 OR x = ID_1; END$$;
CREATE TABLE checked_late (a ID CHECK (app.is_late(a)) CHECK (app.is_secure(a)));
CREATE INDEX called ON checked_late (app.is_late(a), app.is_secure(a));
INSERT INTO checked_late VALUES (ID_0);
CREATE MATERIALIZED VIEW computed AS SELECT app.is_late(ID_1), app.is_secure(ID_1), min(a), max(a) FROM pair;

-- Operators with their schema, and operators of classes
CREATE VIEW row_greater AS SELECT (a, b) > (b, a) AS x FROM pair;
CREATE VIEW row_equal AS SELECT (a, n) = (b, n) AS x, (a, n) IN ((b, 1), (ID_1, 2)) AS y FROM pair;
CREATE RULE redirected AS ON INSERT TO rewritten DO INSTEAD INSERT INTO keyed (a) VALUES (NEW.a) ON CONFLICT (a) WHERE a > ID_1 DO NOTHING;
CREATE VIEW ranked AS SELECT rank() OVER (PARTITION BY a ORDER BY b DESC) AS x FROM pair;
CREATE VIEW distinct_on AS SELECT DISTINCT ON (a) a, min(n) AS x FROM pair GROUP BY a ORDER BY a DESC NULLS LAST;
CREATE VIEW ordered AS SELECT a FROM pair ORDER BY a USING >;
CREATE VIEW aggregated AS SELECT array_agg(a ORDER BY b USING <) AS x FROM pair;
CREATE VIEW united AS SELECT a FROM pair UNION SELECT a FROM other EXCEPT SELECT b FROM pair;
CREATE VIEW recursive AS
    WITH RECURSIVE w (a, b) AS (SELECT a, b FROM pair UNION SELECT pair.a, pair.b FROM pair, w WHERE pair.a = w.b)
    CYCLE a SET is_cycle USING path SELECT a, b FROM w;
CREATE VIEW in_list AS SELECT * FROM pair WHERE a IN (ID_1, b) AND b NOT IN (ID_1, a);
CREATE VIEW in_subquery AS SELECT * FROM pair WHERE a IN (SELECT a FROM other) AND b NOT IN (SELECT a FROM other);
CREATE VIEW any_all AS SELECT * FROM pair WHERE a = ANY (ARRAY[b]) AND a < ALL (SELECT a FROM other);
CREATE VIEW between_both AS SELECT a BETWEEN b AND ID_1 AS x, a BETWEEN SYMMETRIC b AND ID_1 AS y FROM pair;
CREATE VIEW extremes AS SELECT greatest(a, b) AS x, least(a, b) AS y FROM pair;
CREATE VIEW arrays AS SELECT ARRAY[a] = ARRAY[b] AS x, ARRAY[a] IS DISTINCT FROM ARRAY[b] AS y FROM pair;
CREATE VIEW casts AS SELECT a::text AS x, n::text::ID AS y FROM pair;
CREATE INDEX hashed ON pair USING hash (a ID_ops);
CREATE TABLE listed (a ID) PARTITION BY LIST (a);
CREATE TABLE listed_1 PARTITION OF listed FOR VALUES IN (ID_1);
CREATE TABLE ranged (a ID) PARTITION BY RANGE (a ID_ops);
CREATE TABLE ranged_1 PARTITION OF ranged FOR VALUES FROM (MINVALUE) TO (ID_1);
CREATE TABLE divided (a ID) PARTITION BY HASH (a);
CREATE TABLE divided_0 PARTITION OF divided FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TABLE referring (a ID REFERENCES keyed (a));
CREATE TABLE compared (a ID CHECK (a > ID_0) CHECK (a = ID_1 OR a <> ID_1));
CREATE TYPE id_range AS RANGE (subtype = ID);
CREATE FUNCTION step(ID, ID) RETURNS ID LANGUAGE sql RETURN greatest($1, $2);
CREATE AGGREGATE greatest_of(ID) (SFUNC = step, STYPE = ID, SORTOP = >);
