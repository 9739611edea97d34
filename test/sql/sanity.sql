--
-- The system catalogs, before and after CREATE EXTENSION
--
-- What PostgreSQL's own tests demand of its catalogs (those that it calls
-- opr_sanity and type_sanity), demanded of the extension's entries: each check
-- lists what is wrong, or worth a look, in the whole database, and the
-- extension must add nothing but what is said at the end.  Where PostgreSQL
-- looks at built-in objects only, all objects are looked at here.
--
SET client_min_messages = warning;
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
\set VERBOSITY terse

BEGIN;
DROP EXTENSION IF EXISTS sno CASCADE;

-- May a value of the first type be passed as one of the second?
CREATE FUNCTION pg_temp.fits(source oid, target oid) RETURNS boolean STABLE LANGUAGE sql
RETURN source = target
    OR target IN ('"any"'::regtype, 'anyelement'::regtype, 'anycompatible'::regtype)
    OR target = 'record'::regtype AND EXISTS (SELECT FROM pg_type WHERE oid = source AND typtype = 'c')
    OR target IN ('anyarray'::regtype, 'anycompatiblearray'::regtype) AND EXISTS (SELECT FROM pg_type WHERE typarray = source)
    OR (target, 'e') IN (SELECT 'anyenum'::regtype, typtype FROM pg_type WHERE oid = source)
    OR (target, 'r') IN (SELECT p, typtype FROM pg_type, unnest('{anyrange,anycompatiblerange}'::regtype[]) AS p WHERE oid = source)
    OR (target, 'm') IN (SELECT p, typtype FROM pg_type, unnest('{anymultirange,anycompatiblemultirange}'::regtype[]) AS p WHERE oid = source)
    OR EXISTS (SELECT FROM pg_cast WHERE castsource = source AND casttarget = target AND castmethod = 'b' AND castcontext = 'i');

CREATE TEMP TABLE demand (name text PRIMARY KEY, query text NOT NULL);
CREATE TEMP TABLE finding (phase text, name text, what text);

-- What the checks share: entries by name, joined with what they refer to
CREATE TEMP VIEW func AS
SELECT oid::regprocedure::text AS what, ARRAY(SELECT unnest(proargtypes)) AS args, * FROM pg_proc;
CREATE TEMP VIEW op AS
SELECT o.oid::regoperator::text AS what, o.*, p.provolatile, p.proleakproof, p.prorettype, p.args
FROM pg_operator o LEFT JOIN func p ON p.oid = o.oprcode;
CREATE TEMP VIEW agg AS
SELECT a.aggfnoid::regprocedure::text AS what, a.*, p.prokind, p.proretset, p.prorettype, p.args, p.provariadic, p.pronargdefaults
FROM pg_aggregate a LEFT JOIN func p ON p.oid = a.aggfnoid;
CREATE TEMP VIEW member_op AS
SELECT format('%s of %s', o.what, f.opfname) AS what, m.amname, a.*, o.oprname, o.oprrest, o.oprjoin, o.oprcanmerge, o.oprcanhash, o.provolatile, o.proleakproof, o.oprcode, f.opfmethod
FROM pg_amop a JOIN pg_opfamily f ON f.oid = a.amopfamily JOIN pg_am m ON m.oid = a.amopmethod LEFT JOIN op o ON o.oid = a.amopopr;
CREATE TEMP VIEW member_proc AS
SELECT format('%s of %s', p.what, f.opfname) AS what, m.amname, a.*, p.provolatile, p.proleakproof
FROM pg_amproc a JOIN pg_opfamily f ON f.oid = a.amprocfamily JOIN pg_am m ON m.oid = f.opfmethod LEFT JOIN func p ON p.oid = a.amproc;
-- Each function that a type names, with the role it plays there
CREATE TEMP VIEW type_func AS
SELECT t.oid::regtype::text AS what, t.oid AS type, t.typtype, t.typelem, t.typlen, t.typbasetype, r.role, p.oid AS func, p.pronargs, p.args, p.prorettype, p.proretset, p.provolatile
FROM pg_type t, LATERAL (VALUES ('in', t.typinput), ('out', t.typoutput), ('receive', t.typreceive), ('send', t.typsend),
    ('modin', t.typmodin), ('modout', t.typmodout), ('analyze', t.typanalyze)) AS r (role, func)
JOIN func p ON p.oid = r.func;

-- pg_proc
INSERT INTO demand VALUES
('function: sane fields', $$SELECT what FROM func
    WHERE 0 IN (prolang, prorettype) OR 0 = ANY (args) OR pronargs <> cardinality(args) OR pronargdefaults NOT BETWEEN 0 AND pronargs
    OR procost <= 0 OR (prorows > 0) <> proretset OR strpos('fapw', prokind) = 0 OR strpos('isv', provolatile) = 0 OR strpos('sru', proparallel) = 0$$),
('function: has a body', $$SELECT what FROM func WHERE prosrc IS NULL OR prosqlbody IS NULL AND prosrc IN ('', '-')$$),
('function: only plain ones return sets', $$SELECT what FROM func WHERE proretset AND prokind <> 'f'$$),
('function: none runs as its owner', $$SELECT what FROM func WHERE prosecdef$$),
('function: defaults are counted', $$SELECT what FROM func WHERE (pronargdefaults > 0) = (proargdefaults IS NULL)$$),
('function: C ones name a library, others do not', $$SELECT what FROM func JOIN pg_language l ON l.oid = prolang
    WHERE (lanname = 'c') <> (coalesce(probin, '-') NOT IN ('', '-'))$$),
('function: one of a name and arguments', $$SELECT min(what) FROM func GROUP BY proname, args HAVING count(DISTINCT pronamespace) > 1$$),
('function: one symbol, one behaviour', $$SELECT min(what) || prosrc FROM func
    WHERE prokind <> 'a' AND prosqlbody IS NULL AND prolang IN (SELECT oid FROM pg_language WHERE lanname IN ('internal', 'c'))
    GROUP BY prosrc, probin HAVING count(DISTINCT (prokind, prosecdef, proleakproof, proisstrict, proretset, provolatile, pronargs)) > 1$$),
('function: one symbol, one set of types', $$SELECT string_agg(what, ' ' ORDER BY what) FROM func
    WHERE prokind <> 'a' AND prolang IN (SELECT oid FROM pg_language WHERE lanname IN ('internal', 'c'))
    GROUP BY prosrc, probin HAVING count(DISTINCT (prorettype, args)) > 1$$),
('function: internal only from internal', $$SELECT what FROM func WHERE prorettype = 'internal'::regtype AND prorettype <> ALL (args)$$),
('function: polymorphic only from polymorphic', $$SELECT what FROM func JOIN pg_type t ON t.oid = prorettype
    WHERE typname ~ '^any.' AND NOT EXISTS (
        SELECT FROM pg_type a WHERE a.oid = ANY (args) AND a.typname ~ '^any.' AND (a.typname ~ '^anycompatible') = (t.typname ~ '^anycompatible')
        AND (t.typname !~ 'range' OR a.typname ~ 'range'))$$),
('function: cstring is for input and output', $$SELECT what FROM func
    WHERE ('cstring'::regtype = prorettype OR 'cstring'::regtype = ANY (args)) AND oid NOT IN (SELECT func FROM type_func) AND oid NOT IN (SELECT conproc FROM pg_conversion)$$),
('function: lists of arguments agree', $$SELECT what FROM func
    WHERE cardinality(proallargtypes) < cardinality(args) OR cardinality(proargmodes) < cardinality(args) OR cardinality(proargnames) < cardinality(args)
    OR cardinality(proallargtypes) <> cardinality(proargmodes) OR cardinality(proallargtypes) <> cardinality(proargnames) OR cardinality(proargmodes) <> cardinality(proargnames)
    OR proallargtypes IS NOT NULL AND args <> ARRAY(SELECT t FROM unnest(proallargtypes, proargmodes) WITH ORDINALITY AS a (t, m, n) WHERE m IS NULL OR m IN ('i', 'b', 'v') ORDER BY n)$$),
('function: variadic ones say so', $$SELECT what FROM func
    WHERE coalesce('v' = ANY (proargmodes), false) <> (provariadic <> 0) OR provariadic <> 0 AND provariadic IS DISTINCT FROM (
        SELECT CASE typname WHEN 'any' THEN t.oid WHEN 'anyarray' THEN 'anyelement'::regtype WHEN 'anycompatiblearray' THEN 'anycompatible'::regtype
            ELSE typelem END FROM pg_type t WHERE t.oid = args[array_upper(args, 1)])$$),
('function: planner support has its signature', $$SELECT what FROM func
    WHERE oid IN (SELECT prosupport FROM pg_proc) AND (prorettype, args, proretset) IS DISTINCT FROM ('internal'::regtype::oid, ARRAY['internal'::regtype]::oid[], false)$$),
('function: has a comment', $$SELECT what FROM func WHERE obj_description(oid, 'pg_proc') IS NULL AND pronamespace::regnamespace::text <> 'information_schema'$$),
('function: volatile sets are made once', $$SELECT what FROM func WHERE provolatile = 'v' AND proretset AND proparallel = 's'$$),
('function: immutable ones are safe in parallel', $$SELECT what FROM func WHERE provolatile = 'i' AND proparallel <> 's' AND prokind <> 'a'$$),
('function: leakproof ones', $$SELECT what FROM func WHERE proleakproof$$),
-- pg_cast, pg_conversion
('cast: sane fields', $$SELECT format('%s to %s', castsource::regtype, casttarget::regtype) FROM pg_cast
    WHERE 0 IN (castsource, casttarget) OR strpos('eai', castcontext) = 0 OR strpos('fbi', castmethod) = 0 OR (castmethod = 'f') <> (castfunc <> 0)$$),
('cast: leads to another type, or has a length', $$SELECT castsource::regtype::text FROM pg_cast LEFT JOIN pg_proc p ON p.oid = castfunc
    WHERE castsource = casttarget AND coalesce(pronargs, 1) < 2$$),
('cast: its function fits', $$SELECT format('%s to %s', castsource::regtype, casttarget::regtype) FROM pg_cast JOIN func p ON p.oid = castfunc
    WHERE cardinality(args) NOT BETWEEN 1 AND 3 OR NOT pg_temp.fits(prorettype, casttarget) OR coalesce(args[2], 23) <> 23 OR coalesce(args[3], 16) <> 16
    OR NOT (pg_temp.fits(castsource, args[1]) OR castsource = 'bpchar'::regtype AND args[1] = 'text'::regtype)$$),
('cast: binary both ways', $$SELECT format('%s to %s', castsource::regtype, casttarget::regtype) FROM pg_cast c
    WHERE castmethod = 'b' AND NOT EXISTS (SELECT FROM pg_cast b WHERE (b.castsource, b.casttarget, b.castmethod) = (c.casttarget, c.castsource, 'b'))$$),
('cast: not implicit between categories', $$SELECT format('%s to %s', castsource::regtype, casttarget::regtype) FROM pg_cast
    JOIN pg_type s ON s.oid = castsource JOIN pg_type t ON t.oid = casttarget WHERE castcontext <> 'e' AND s.typcategory <> t.typcategory$$),
('conversion: the same', $$SELECT conname FROM pg_conversion$$),
-- pg_operator
('operator: sane fields', $$SELECT what FROM op
    WHERE oprcode = 0 OR oprresult = 0 OR oprright = 0 OR strpos('bl', oprkind) = 0 OR (oprkind = 'l') <> (oprleft = 0)$$),
('operator: one of a name and operands', $$SELECT min(what) FROM op GROUP BY oprname, oprleft, oprright HAVING count(*) > 1$$),
('operator: commutes with its commutator', $$SELECT o.what FROM op o JOIN op c ON c.oid = o.oprcom
    WHERE (c.oprcom, c.oprleft, c.oprright, c.oprresult, c.provolatile, c.proleakproof, c.oprcanmerge, c.oprcanhash)
    <> (o.oid, o.oprright, o.oprleft, o.oprresult, o.provolatile, o.proleakproof, o.oprcanmerge, o.oprcanhash)$$),
('operator: negates its negator', $$SELECT o.what FROM op o JOIN op n ON n.oid = o.oprnegate
    WHERE n.oid = o.oid OR (n.oprnegate, n.oprleft, n.oprright, n.oprresult, n.provolatile, n.proleakproof)
    <> (o.oid, o.oprleft, o.oprright, 'boolean'::regtype, o.provolatile, o.proleakproof)$$),
('operator: names of commutators', $$SELECT DISTINCT format('%s %s', o.oprname, c.oprname) FROM op o JOIN op c ON c.oid = o.oprcom$$),
('operator: names of negators', $$SELECT DISTINCT format('%s %s', o.oprname, n.oprname) FROM op o JOIN op n ON n.oid = o.oprnegate$$),
('operator: what merges or hashes compares', $$SELECT what FROM op
    WHERE (oprcanmerge OR oprcanhash) AND (oprkind <> 'b' OR oprresult <> 'boolean'::regtype OR oprcom = 0 OR provolatile = 'v')$$),
('operator: merges if it is equality of a btree', $$SELECT what FROM op
    WHERE oprcanmerge <> EXISTS (SELECT FROM member_op WHERE amopopr = op.oid AND amname = 'btree' AND amopstrategy = 3)$$),
('operator: hashes if it is equality of a hash', $$SELECT what FROM op
    WHERE oprcanhash <> EXISTS (SELECT FROM member_op WHERE amopopr = op.oid AND amname = 'hash' AND amopstrategy = 1)$$),
('operator: its function fits', $$SELECT what FROM op
    WHERE cardinality(args) <> (CASE oprkind WHEN 'b' THEN 2 ELSE 1 END) OR NOT pg_temp.fits(prorettype, oprresult)
    OR NOT pg_temp.fits(oprright, args[cardinality(args)]) OR oprkind = 'b' AND NOT pg_temp.fits(oprleft, args[1])$$),
('operator: estimators have their signatures', $$SELECT o.what FROM op o LEFT JOIN func r ON r.oid = oprrest LEFT JOIN func j ON j.oid = oprjoin
    WHERE (oprrest <> 0 OR oprjoin <> 0) AND oprresult <> 'boolean'::regtype
    OR r.args <> '{internal,oid,internal,integer}'::regtype[]::oid[] OR j.args <> '{internal,oid,internal,smallint,internal}'::regtype[]::oid[]
    OR r.prorettype <> 'float8'::regtype OR j.prorettype <> 'float8'::regtype OR r.proretset OR j.proretset$$),
('operator: has a comment', $$SELECT what FROM op WHERE obj_description(oid, 'pg_operator') IS NULL$$),
('operator: the comment of its function points to it', $$SELECT what FROM op
    WHERE obj_description(oprcode, 'pg_proc') NOT IN ('implementation of ' || oprname || ' operator', obj_description(oid, 'pg_operator'))
    AND obj_description(oid, 'pg_operator') !~ '^deprecated'$$),
('operator: as volatile and leakproof as its btree says', $$SELECT p.what || o.what FROM member_op o JOIN member_proc p
    ON (amopfamily, amoplefttype, amoprighttype) = (amprocfamily, amproclefttype, amprocrighttype)
    WHERE o.amname = 'btree' AND amprocnum = 1 AND (o.provolatile, o.proleakproof) <> (p.provolatile, p.proleakproof)$$),
-- pg_aggregate
('aggregate: sane fields', $$SELECT what FROM agg
    WHERE aggtransfn = 0 OR aggtranstype = 0 OR strpos('noh', aggkind) = 0 OR aggkind = 'n' AND aggnumdirectargs <> 0 OR strpos('rsw', aggfinalmodify) = 0
    OR strpos('rsw', aggmfinalmodify) = 0 OR aggtransspace < 0 OR aggmtransspace < 0 OR prokind IS DISTINCT FROM 'a' OR proretset OR cardinality(args) < aggnumdirectargs$$),
('aggregate: has an entry', $$SELECT what FROM func WHERE prokind = 'a' AND oid NOT IN (SELECT aggfnoid FROM pg_aggregate)$$),
('aggregate: results in its state, or finishes it', $$SELECT what FROM agg
    WHERE aggfinalfn = 0 AND prorettype <> aggtranstype OR aggmtransfn <> 0 AND aggmfinalfn = 0 AND prorettype <> aggmtranstype$$),
('aggregate: transitions fit', $$SELECT a.what FROM agg a, LATERAL (VALUES (aggtransfn, aggtranstype, agginitval), (aggmtransfn, aggmtranstype, aggminitval), (aggminvtransfn, aggmtranstype, '')) AS t (f, state, init)
    JOIN func p ON p.oid = t.f
    WHERE p.proretset OR cardinality(p.args) <> 1 + CASE aggkind WHEN 'n' THEN cardinality(a.args) ELSE greatest(cardinality(a.args) - aggnumdirectargs, 1) END
    OR NOT pg_temp.fits(p.prorettype, state) OR NOT pg_temp.fits(state, p.args[1]) OR NOT coalesce(pg_temp.fits(a.args[1], p.args[2]), true)
    OR NOT coalesce(pg_temp.fits(a.args[2], p.args[3]), true) OR NOT coalesce(pg_temp.fits(a.args[3], p.args[4]), true)
    OR p.proisstrict AND init IS NULL AND NOT pg_temp.fits(a.args[1], state)$$),
('aggregate: final functions fit', $$SELECT a.what FROM agg a, LATERAL (VALUES (aggfinalfn, aggtranstype, aggfinalextra), (aggmfinalfn, aggmtranstype, aggmfinalextra)) AS t (f, state, extra)
    JOIN func p ON p.oid = t.f
    WHERE p.proretset OR NOT pg_temp.fits(p.prorettype, a.prorettype) OR NOT pg_temp.fits(state, p.args[1])
    OR cardinality(p.args) <> 1 + CASE WHEN extra THEN cardinality(a.args) ELSE aggnumdirectargs END$$),
('aggregate: moving state is whole or missing', $$SELECT what FROM agg
    WHERE num_nonnulls(nullif(aggmtranstype, 0), nullif(aggmtransfn::oid, 0), nullif(aggminvtransfn::oid, 0)) NOT IN (0, 3)
    OR aggmtranstype = 0 AND (aggmfinalfn <> 0 OR aggmtransspace <> 0 OR aggminitval IS NOT NULL)
    OR (SELECT proisstrict FROM pg_proc WHERE oid = aggmtransfn) <> (SELECT proisstrict FROM pg_proc WHERE oid = aggminvtransfn)$$),
('aggregate: combines two states', $$SELECT a.what FROM agg a JOIN func p ON p.oid = aggcombinefn
    WHERE p.args <> ARRAY[p.prorettype, p.prorettype] OR NOT pg_temp.fits(aggtranstype, p.prorettype) OR aggtranstype = 'internal'::regtype AND p.proisstrict$$),
('aggregate: internal states are sent', $$SELECT a.what FROM agg a LEFT JOIN func s ON s.oid = aggserialfn LEFT JOIN func d ON d.oid = aggdeserialfn
    WHERE (s.oid IS NULL) <> (d.oid IS NULL) OR s.oid IS NOT NULL AND (aggtranstype <> 'internal'::regtype OR aggcombinefn = 0)
    OR (s.prorettype, s.args, s.proisstrict) <> ('bytea'::regtype::oid, '{internal}'::regtype[]::oid[], true)
    OR (d.prorettype, d.args, d.proisstrict) <> ('internal'::regtype::oid, '{bytea,internal}'::regtype[]::oid[], true)$$),
('aggregate: one transition, one way to combine', $$SELECT min(what) FROM agg GROUP BY aggtransfn HAVING count(DISTINCT (aggcombinefn, aggserialfn, aggdeserialfn)) > 1$$),
('aggregate: names with operators', $$SELECT DISTINCT format('%s %s %s', p.proname, oprname, amopstrategy) FROM pg_aggregate JOIN pg_proc p ON p.oid = aggfnoid JOIN member_op ON amopopr = aggsortop WHERE amname = 'btree'$$),
('aggregate: sorts by an operator of a btree', $$SELECT a.what FROM agg a JOIN op o ON o.oid = aggsortop
    WHERE (oprleft, oprright, oprresult) <> (a.args[1], a.args[1], 'boolean'::regtype)
    OR NOT EXISTS (SELECT FROM member_op m WHERE amopopr = o.oid AND amname = 'btree' AND (amoplefttype, amoprighttype) = (oprleft, oprright))$$),
('aggregate: arguments cannot be mistaken for its order', $$SELECT proname FROM func WHERE prokind = 'a' GROUP BY proname HAVING count(DISTINCT cardinality(args)) > 1
    UNION ALL SELECT what FROM agg WHERE pronargdefaults > 0 OR provariadic <> 0 AND aggkind = 'n'$$),
-- pg_opfamily, pg_opclass, pg_am
('family: sane, and of use', $$SELECT opfname FROM pg_opfamily f
    WHERE 0 IN (opfmethod, opfnamespace) OR NOT EXISTS (SELECT FROM pg_opclass WHERE opcfamily = f.oid)$$),
('class: sane, of its family''s method', $$SELECT opcname FROM pg_opclass LEFT JOIN pg_opfamily f ON f.oid = opcfamily
    WHERE 0 IN (opcmethod, opcnamespace, opcintype) OR opcmethod IS DISTINCT FROM opfmethod$$),
('class: one default', $$SELECT min(opcname) FROM pg_opclass WHERE opcdefault GROUP BY opcmethod, opcintype HAVING count(*) > 1$$),
('class: valid', $$SELECT opcname FROM pg_opclass WHERE NOT amvalidate(oid)$$),
('access method: the same', $$SELECT amname || amhandler FROM pg_am$$),
-- pg_amop, pg_amproc
('member operator: sane fields', $$SELECT what FROM member_op
    WHERE 0 IN (amopfamily, amoplefttype, amoprighttype, amopopr) OR amopstrategy < 1 OR amopmethod <> opfmethod OR amoppurpose <> CASE amopsortfamily WHEN 0 THEN 's' ELSE 'o' END$$),
('member operator: names by strategy', $$SELECT DISTINCT format('%s %s %s', amname, amopstrategy, oprname) FROM member_op$$),
('member operator: has estimators', $$SELECT what FROM member_op WHERE amoppurpose = 's' AND (oprrest = 0 OR oprjoin = 0)$$),
('member operator: has a class, and the class operators', $$SELECT what FROM member_op
    WHERE NOT EXISTS (SELECT FROM pg_opclass WHERE opcfamily = amopfamily AND pg_temp.fits(opcintype, amoplefttype))
    UNION ALL SELECT opcname FROM pg_opclass WHERE NOT EXISTS (SELECT FROM pg_amop WHERE amopfamily = opcfamily AND pg_temp.fits(opcintype, amoplefttype))$$),
('member operator: immutable, or stable between types', $$SELECT what FROM member_op WHERE provolatile = 'v' OR provolatile = 's' AND amoplefttype = amoprighttype$$),
('member function: sane fields', $$SELECT what FROM member_proc WHERE 0 IN (amprocfamily, amproclefttype, amprocrighttype, amproc) OR amprocnum < 1$$),
('member function: immutable, or stable between types', $$SELECT what FROM member_proc WHERE provolatile = 'v' OR provolatile = 's' AND amproclefttype = amprocrighttype$$),
('class: deduplicates', $$SELECT opcname FROM pg_opclass c JOIN pg_am m ON m.oid = opcmethod AND amname = 'btree'
    WHERE NOT EXISTS (SELECT FROM pg_amproc WHERE (amprocfamily, amproclefttype, amprocnum, amproc) = (opcfamily, opcintype, 4, 'btequalimage(oid)'::regprocedure))$$),
-- pg_type
('type: sane fields', $$SELECT oid::regtype::text FROM pg_type
    WHERE typnamespace = 0 OR typlen = 0 OR typlen < -2 OR strpos('bcdemrp', typtype) = 0 OR NOT typisdefined OR strpos('csid', typalign) = 0 OR strpos('pxem', typstorage) = 0
    OR typbyval AND (typlen, typalign) NOT IN ((1, 'c'), (2, 's'), (4, 'i'), (8, 'd')) OR typstorage <> 'p' AND typlen <> -1
    OR (typtype = 'c') <> (typrelid <> 0) OR typelem <> 0 AND typsubscript = 0 OR 0 IN (typinput, typoutput)$$),
('type: has an array, unless it is one', $$SELECT t.oid::regtype::text FROM pg_type t LEFT JOIN pg_type a ON a.oid = t.typarray
    WHERE t.typtype <> 'p' AND NOT EXISTS (SELECT FROM pg_type e WHERE e.typarray = t.oid)
    AND (a.oid IS NULL OR a.typelem <> t.oid OR a.typname <> '_' || t.typname OR a.typsubscript <> 'array_subscript_handler'::regproc
        OR a.typdelim <> t.typdelim OR a.typmodin <> t.typmodin OR a.typmodout <> t.typmodout OR a.typalign <> CASE t.typalign WHEN 'd' THEN 'd' ELSE 'i' END)$$),
('type: arrays are arrays', $$SELECT oid::regtype::text FROM pg_type
    WHERE typsubscript = 'array_subscript_handler'::regproc AND (typelem = 0 OR typlen <> -1 OR typbyval OR typanalyze <> 'array_typanalyze'::regproc OR typinput <> 'array_in'::regproc OR typreceive <> 'array_recv'::regproc)
    OR typsubscript = 'raw_array_subscript_handler'::regproc AND (typelem = 0 OR typlen <= 0 OR typbyval) OR typelem <> 0 AND typlen = -1 AND typinput <> 'array_in'::regproc$$),
('type: functions have their signatures', $$SELECT what || role FROM type_func
    WHERE proretset OR (args, prorettype::regtype::text) NOT IN (
        SELECT s.args::regtype[]::oid[], CASE s.result WHEN 'SELF' THEN what ELSE s.result END
        FROM (VALUES ('in', '{cstring}', 'SELF'), ('in', '{cstring,oid,integer}', 'SELF'), ('out', ARRAY[type]::regtype[]::text, 'cstring'),
            ('receive', '{internal}', 'SELF'), ('receive', '{internal,oid,integer}', 'SELF'), ('send', ARRAY[type]::regtype[]::text, 'bytea'),
            ('modin', '{cstring[]}', 'integer'), ('modout', '{integer}', 'cstring'), ('analyze', '{internal}', 'boolean')) AS s (role, args, result)
        WHERE s.role = type_func.role) AND typtype IN ('b', 'p') AND NOT (typelem <> 0 AND typlen = -1)$$),
('type: functions are not volatile', $$SELECT what || role FROM type_func WHERE provolatile = 'v' AND role <> 'analyze'$$),
('type: receives what it takes', $$SELECT i.what FROM type_func i JOIN type_func r USING (type) WHERE i.role = 'in' AND r.role = 'receive' AND i.pronargs <> r.pronargs$$),
('type: kinds share their functions', $$SELECT DISTINCT typtype::text || role || func::regproc FROM type_func WHERE typtype NOT IN ('b', 'p', 'd') OR typtype = 'd' AND role IN ('in', 'receive')$$),
('type: domains follow their base', $$SELECT d.oid::regtype::text FROM pg_type d JOIN pg_type b ON b.oid = d.typbasetype WHERE (d.typoutput, d.typsend, d.typanalyze) <> (b.typoutput, b.typsend, b.typanalyze)$$),
-- pg_range
('range: sane, of one subtype', $$SELECT t.oid::regtype::text FROM pg_type t FULL JOIN pg_range r ON rngtypid = t.oid LEFT JOIN pg_type s ON s.oid = rngsubtype LEFT JOIN pg_opclass c ON c.oid = rngsubopc
    LEFT JOIN func canonical ON canonical.oid = rngcanonical LEFT JOIN func diff ON diff.oid = rngsubdiff
    WHERE (coalesce(t.typtype, '-') = 'r') <> (rngtypid IS NOT NULL) OR rngtypid IS NOT NULL AND (
        t.typanalyze <> 'range_typanalyze'::regproc OR t.typalign <> CASE s.typalign WHEN 'd' THEN 'd' ELSE 'i' END OR (rngcollation = 0) <> (s.typcollation = 0) OR rngmultitypid = 0
        OR c.opcmethod <> (SELECT oid FROM pg_am WHERE amname = 'btree') OR NOT pg_temp.fits(rngsubtype, opcintype) OR canonical.args <> ARRAY[rngtypid] OR canonical.prorettype <> rngtypid
        OR diff.args <> ARRAY[rngsubtype, rngsubtype] OR diff.prorettype <> 'float8'::regtype)$$),
-- pg_class, pg_attribute, pg_index
('relation: sane, stored by the right method', $$SELECT c.oid::regclass::text FROM pg_class c LEFT JOIN pg_am m ON m.oid = relam
    WHERE strpos('riStvmcfpI', relkind) = 0 OR strpos('put', relpersistence) = 0 OR strpos('dnfi', relreplident) = 0
    OR coalesce(amtype, '-') <> CASE WHEN relkind IN ('i', 'I') THEN 'i' WHEN relkind IN ('r', 't', 'm') THEN 't' ELSE '-' END
    OR relnatts <> (SELECT count(*) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0)$$),
('column: sane, as its type', $$SELECT attrelid::regclass || '.' || attname FROM pg_attribute LEFT JOIN pg_type t ON t.oid = atttypid LEFT JOIN pg_class c ON c.oid = attrelid
    WHERE attnum = 0 OR attnum > relnatts OR attinhcount < 0 OR attinhcount = 0 AND NOT attislocal OR (attlen, attalign, attbyval) IS DISTINCT FROM (typlen, typalign, typbyval)
    OR attstorage NOT IN (typstorage, 'p')$$),
('index: sane, classes and collations as the columns', $$SELECT indexrelid::regclass::text FROM pg_index CROSS JOIN LATERAL unnest(indkey, indclass, indcollation) WITH ORDINALITY AS k (key, class, coll, n)
    LEFT JOIN pg_opclass o ON o.oid = class LEFT JOIN pg_attribute a ON attrelid = indrelid AND attnum = key
    WHERE n > indnatts OR n <= indnkeyatts AND (class = 0 OR key <> 0 AND (NOT pg_temp.fits(atttypid, opcintype) OR coll <> attcollation))$$);

CREATE FUNCTION pg_temp.examine(new_phase text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    d demand;
BEGIN
    FOR d IN SELECT * FROM demand LOOP
        EXECUTE format('INSERT INTO finding SELECT %L, %L, what FROM (%s) AS f (what)', new_phase, d.name, d.query);
    END LOOP;
END $$;

CREATE FUNCTION pg_temp.added(since text, now text) RETURNS TABLE (name text, what text) LANGUAGE sql AS $$
    SELECT name COLLATE "C", what COLLATE "C" FROM (
        SELECT f.name, f.what FROM finding f WHERE phase = now
        EXCEPT ALL SELECT f.name, f.what FROM finding f WHERE phase = since) AS s (name, what)
    ORDER BY 1, 2
$$;
\o /dev/null
SELECT pg_temp.examine('before');
CREATE EXTENSION sno;
SELECT pg_temp.examine('after');
\o
SELECT count(*) AS demands FROM demand;

-- Right to be there: comparisons of ids are leakproof, as those of uuids are,
-- so that row security does not keep them from indexes.  They raise no error
-- and have no side effect.
SELECT * FROM pg_temp.added('before', 'after');
SELECT * FROM pg_temp.added('after', 'before');

-- The checks find what is wrong.
SET LOCAL allow_system_table_mods = on;
UPDATE pg_proc SET provolatile = 's', procost = 0 WHERE proname = 'sno_cmp';
UPDATE pg_proc SET proparallel = 'u', prosecdef = true WHERE proname = 'sno_meta';
UPDATE pg_proc SET pronargdefaults = 0, proargnames = '{at}' WHERE proname = 'sno_make';
UPDATE pg_proc SET prorettype = 'internal'::regtype, proisstrict = false WHERE prosrc = 'sno_min';
UPDATE pg_operator SET oprcom = oid, oprrest = 0 WHERE oid = '<(sno,sno)'::regoperator;
UPDATE pg_operator SET oprnegate = oid, oprcanhash = true WHERE oid = '>(sno,sno)'::regoperator;
UPDATE pg_cast SET castcontext = 'i', castmethod = 'b' WHERE castsource = 'sno'::regtype AND casttarget = 'uuid'::regtype;
UPDATE pg_aggregate SET aggcombinefn = 'uuid_eq'::regproc, aggsortop = '=(sno,sno)'::regoperator WHERE aggfnoid = 'max(sno)'::regprocedure;
UPDATE pg_type SET typstorage = 'x', typlen = 12, typreceive = 0 WHERE oid = 'sno'::regtype;
UPDATE pg_type SET typalign = 'c' WHERE oid = 'sno[]'::regtype;
UPDATE pg_opclass SET opcdefault = true WHERE opcname = 'sno_bloom_ops';
DELETE FROM pg_amproc WHERE amprocnum = 4 AND amproclefttype = 'sno'::regtype AND amproc = 'btequalimage'::regproc;
DELETE FROM pg_description WHERE objoid = 'sno_catalog.sno_eq'::regproc OR objoid = '=(sno,sno)'::regoperator;
\o /dev/null
SELECT pg_temp.examine('spoilt');
\o
SELECT * FROM pg_temp.added('after', 'spoilt');

ROLLBACK;
