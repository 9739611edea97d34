--
-- The registry (sno_registry): each rule of its protocol
--
SET TimeZone = 'UTC';
SET DateStyle = 'ISO, YMD';
SET IntervalStyle = postgres;
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION sno_registry;

-- Without a registry
SELECT * FROM sno_registry_renew(1, 0, 2, 'a', 1, 1, 1);
SELECT sno_registry_vouch();
SELECT sno_registry_report_loss();
SELECT sno_registry_move();
SELECT sno_registry_add_layout('1288834974657/1/41/10/12', 0, 1023);

-- Settings
SELECT sno_registry_create(NULL, 1);
SELECT sno_registry_create(-1, 100);
SELECT sno_registry_create(0, 65536);
SELECT sno_registry_create(9, 8);
SELECT sno_registry_create(0, 100, 0);
SELECT sno_registry_create(0, 100, 65537);
SELECT sno_registry_create(0, 100, 8, '999 ms');
SELECT sno_registry_create(0, 100, 8, '2 years');
SELECT sno_registry_create(0, 2, 1);
SELECT sno_registry_create(0, 191);
SELECT sno_registry_create(0, 2, 1, lossless => true);
TRUNCATE sno_registry.settings, sno_registry.space, sno_registry.block;
SELECT sno_registry_create(0, 255, after => '2009-12-31');
SELECT sno_registry_create(0, 255, after => 'infinity');
SELECT sno_registry_create(0, 255, share => 0);
SELECT sno_registry_create(0, 255, share => 65);
SELECT sno_registry_create(0, 255, after => '2020-02-02 02:02:02+00');
SELECT DISTINCT sno_registry.time_of(ceiling) FROM sno_registry.block;
TRUNCATE sno_registry.settings, sno_registry.space, sno_registry.block;

-- The defaults, and a last block that is smaller than the others
SELECT sno_registry_create(1024, 65535);
SELECT longest, lossless, share, era, part, closed FROM sno_registry.settings;
SELECT * FROM sno_registry.space;
SELECT part, count(*), min(first), max(last), min(last - first + 1) FROM sno_registry.block GROUP BY part ORDER BY part;
TRUNCATE sno_registry.settings, sno_registry.space, sno_registry.block;
SELECT sno_registry_create(10, 21, 5, lossless => true);
SELECT first, last, part FROM sno_registry.block ORDER BY first;

--
-- Requests at given times.  The longest grant is 250 units.  All that is granted is
-- noted.
--
CREATE TEMP TABLE noted (test text, layout text, holder bigint, first bigint, last bigint, floor bigint, ceiling bigint);
CREATE FUNCTION pg_temp.begin_test(name text, lossless boolean DEFAULT false) RETURNS void LANGUAGE sql AS $$
    TRUNCATE sno_registry.settings, sno_registry.space, sno_registry.holder, sno_registry.block;
    SELECT sno_registry_create(100, 115, 2, '1 second', begin_test.lossless);
    SELECT set_config('registry.test', begin_test.name, false);
$$;
-- later: timelines since the test began.
CREATE FUNCTION pg_temp.ask(holder bigint, token bigint, next bigint, at bigint, want int DEFAULT 1,
    until bigint DEFAULT NULL, clock bigint DEFAULT NULL, later int DEFAULT 0, layout text DEFAULT '') RETURNS text LANGUAGE sql AS $$
    WITH answer AS (
        SELECT * FROM sno_registry.answer(ask.holder, token, next, 'server ' || ask.holder, at, coalesce(until, at + 1000), want,
            ask.layout, coalesce(clock, at), sno_registry.timeline() + later, sno_registry.home())
    ), note AS (
        INSERT INTO noted SELECT current_setting('registry.test'), ask.layout, ask.holder, first, last, floor, ceiling
        FROM answer WHERE first IS NOT NULL
    )
    SELECT concat_ws(' ', min(status), string_agg(format('%s-%s:(%s,%s]', first, last, floor, ceiling), ' ' ORDER BY first)
        FILTER (WHERE first IS NOT NULL))
    FROM answer
$$;

-- A backup, and what restores it
CREATE TEMP TABLE old_settings (LIKE sno_registry.settings);
CREATE TEMP TABLE old_space (LIKE sno_registry.space);
CREATE TEMP TABLE old_holder (LIKE sno_registry.holder);
CREATE TEMP TABLE old_block (LIKE sno_registry.block);
CREATE FUNCTION pg_temp.back_up() RETURNS void LANGUAGE sql AS $$
    TRUNCATE old_settings, old_space, old_holder, old_block;
    INSERT INTO old_settings SELECT * FROM sno_registry.settings;
    INSERT INTO old_space SELECT * FROM sno_registry.space;
    INSERT INTO old_holder SELECT * FROM sno_registry.holder;
    INSERT INTO old_block SELECT * FROM sno_registry.block;
$$;
CREATE FUNCTION pg_temp.restore() RETURNS void LANGUAGE sql AS $$
    TRUNCATE sno_registry.settings, sno_registry.space, sno_registry.holder, sno_registry.block;
    INSERT INTO sno_registry.settings SELECT * FROM old_settings;
    INSERT INTO sno_registry.space SELECT * FROM old_space;
    INSERT INTO sno_registry.holder SELECT * FROM old_holder;
    INSERT INTO sno_registry.block SELECT * FROM old_block;
$$;

-- Grants, renewals, a repeated request, a copy
SELECT pg_temp.begin_test('grants');
SELECT pg_temp.ask(1, 0, 11, 1000);
SELECT * FROM sno_registry.answer(1, 11, 12, 'n', 1100, 1200, 1, '', 1100, sno_registry.timeline(), sno_registry.home());
SELECT pg_temp.ask(1, 12, 13, 1150, until => 1180) AS "the ceiling never falls";
SELECT pg_temp.ask(1, 12, 13, 1150, until => 1180) AS repeated;
SELECT pg_temp.ask(1, 12, 14, 1150) AS "a copy of the asker";
SELECT pg_temp.ask(1, 0, 15, 1150) AS "a copy from before the first answer";
SELECT pg_temp.ask(1, 13, 16, 1160) AS "the other one goes on";
SELECT pg_temp.ask(2, 5, 21, 1160) AS unknown;
SELECT pg_temp.ask(2, 0, 21, 1160) AS "new";
SELECT pg_temp.ask(3, 0, 31, 1170) AS "all are held";
SELECT pg_temp.ask(2, 21, 22, 1170, 2) AS "has one of two";
SELECT * FROM sno_registry.answer(3, 31, 32, 'n', 1170, 1200, 1, '', 1170, sno_registry.timeline(), sno_registry.home());
SELECT * FROM sno_registry.answer(3, 0, 32, 'n', 1170, 1200, 1, '', 1170, sno_registry.timeline(), sno_registry.home());
SELECT holder, token, server, seen, era FROM sno_registry.holder ORDER BY holder;

-- What is over is granted again above its ceiling, if it is over by both clocks.
SELECT pg_temp.ask(3, 0, 33, 1500, clock => 1410) AS "not over for the registry";
SELECT pg_temp.ask(3, 0, 34, 1410, clock => 1500) AS "not over for the asker";
SELECT pg_temp.ask(3, 0, 35, 1411, clock => 1411) AS "the one whose ceiling is lowest";
SELECT pg_temp.ask(1, 16, 17, 1411) AS "lost its block";
SELECT pg_temp.ask(2, 22, 23, 1500) AS "late, but nobody else has it";
SELECT pg_temp.ask(3, 35, 36, 1300) AS "a clock behind the floor has no use of its block";

-- A clock that is ahead reaches no further than the registry's clock allows.
SELECT pg_temp.begin_test('clocks');
SELECT pg_temp.ask(1, 0, 11, 100000, clock => 1000);
SELECT pg_temp.ask(1, 11, 12, 100000, clock => 1100);
SELECT pg_temp.ask(2, 0, 21, 549755813887, until => 549755813887, clock => 1100);
SELECT pg_temp.ask(3, 0, 31, 549755813880, until => 549755813887, clock => 549755813887) AS "at the end of time";

-- The share counts also those that a clock behind can't use.
SELECT pg_temp.begin_test('limit');
TRUNCATE sno_registry.settings, sno_registry.space, sno_registry.block;
SELECT sno_registry_create(0, 149, 1, '1 second', true, share => 64);
SELECT status, count(*) FROM sno_registry.answer(1, 0, 11, 'n', 1000, 2000, 64, '', 1000, sno_registry.timeline(), sno_registry.home()) GROUP BY 1;
UPDATE sno_registry.block SET floor = 500 WHERE first < 10;
SELECT status, count(*) FROM sno_registry.answer(1, 11, 12, 'n', 400, 2000, 64, '', 1000, sno_registry.timeline(), sno_registry.home()) GROUP BY 1;

-- No holder has more than the share, but others have theirs.
SELECT pg_temp.begin_test('share');
TRUNCATE sno_registry.settings, sno_registry.space, sno_registry.block;
SELECT sno_registry_create(0, 149, 1, '1 second', true, share => 2);
SELECT pg_temp.ask(1, 0, 11, 1000, 3), pg_temp.ask(1, 11, 12, 1000, 2), pg_temp.ask(2, 0, 21, 1000, 64);

-- Holders that have no block are forgotten at once, so there are no more than blocks.
SELECT pg_temp.begin_test('bound');
SELECT count(pg_temp.ask(n, 0, 11, 1000)) FROM generate_series(1, 100) AS n;
SELECT count(*) FROM sno_registry.holder;
SELECT pg_temp.ask(100, 11, 12, 1000) AS "asks as another one";

-- Others are forgotten after twice the longest grant, if it is over.
SELECT pg_temp.begin_test('prune');
SELECT pg_temp.ask(1, 0, 11, 1000);
SELECT pg_temp.ask(2, 0, 21, 1000, until => 1000);
SELECT pg_temp.ask(3, 0, 31, 1250), array_agg(holder ORDER BY holder) FROM sno_registry.holder;
SELECT pg_temp.ask(3, 31, 32, 1500);
SELECT array_agg(holder ORDER BY holder) FROM sno_registry.holder;
SELECT pg_temp.ask(3, 32, 33, 1501);
SELECT array_agg(holder ORDER BY holder) FROM sno_registry.holder;
SELECT pg_temp.ask(1, 11, 12, 1501) AS "forgotten, its block remains";
SELECT first, holder, floor, ceiling FROM sno_registry.block WHERE part = 0 ORDER BY first;
-- Its first request, repeated: what it had is not prolonged.
SELECT pg_temp.ask(1, 0, 11, 1502) AS "as any other";
UPDATE sno_registry.block SET ceiling = 9000 WHERE holder = 3;
SELECT pg_temp.ask(4, 0, 41, 3000);
SELECT array_agg(holder ORDER BY holder) AS "3 has a grant" FROM sno_registry.holder;

-- A new timeline uses the next part, and forgets holders.  The old primary lives on.
SELECT pg_temp.begin_test('loss');
SELECT pg_temp.ask(1, 0, 11, 1000);
SELECT pg_temp.back_up();
SELECT pg_temp.ask(1, 11, 12, 1100, 2) AS "lost", pg_temp.ask(2, 0, 21, 1100) AS full;
SELECT pg_temp.restore();
SELECT pg_temp.ask(1, 12, 13, 1200, later => 1) AS "a token that was lost";
SELECT pg_temp.ask(1, 11, 12, 1200, later => 1) AS "the token that is known";
SELECT pg_temp.ask(3, 0, 31, 1200, 2, later => 1) AS "another part";
SELECT era, part, closed FROM sno_registry.settings;
SELECT layout, first, last, server, holder, since, until, state FROM sno_registry.blocks ORDER BY first;

-- Four parts in turn; each opens again when all that was lost is over.
SELECT pg_temp.ask(4, 0, 41, 1300, 2, later => 2) AS third;
SELECT pg_temp.ask(5, 0, 51, 1400, 2, later => 3) AS fourth;
SELECT pg_temp.ask(6, 0, 61, 1500, 2, later => 4) AS "the first is closed";
SELECT era, part, closed FROM sno_registry.settings;
SELECT pg_temp.ask(6, 0, 62, 2000, 2, later => 4) AS "until here";
SELECT pg_temp.ask(6, 0, 63, 2001, 2, later => 4) AS "open";
SELECT pg_temp.ask(6, 63, 64, 2001, 2, later => 4) AS "no further loss";

-- Restored to a point of the first timeline: the timelines passed had the parts between.
SELECT pg_temp.restore();
BEGIN;
SELECT pg_temp.ask(7, 0, 71, 1350, 2, later => 3) AS "after two others";
SELECT era, part, closed FROM sno_registry.settings;
ROLLBACK;
SELECT pg_temp.ask(7, 0, 71, 1750, 2, later => 5) AS "after four others";
SELECT era, part, closed FROM sno_registry.settings;
SELECT pg_temp.ask(7, 0, 72, 2251, 2, later => 5) AS "later";

-- A timeline that goes back can't be: then nothing is known.
SELECT pg_temp.ask(8, 0, 81, 2300, 2, later => 1) AS "all parts are closed";
SELECT era, part, closed FROM sno_registry.settings;

-- Lossless: one part, and a new timeline is no loss.
SELECT pg_temp.begin_test('lossless', true);
SELECT pg_temp.ask(1, 0, 11, 1000, 8);
SELECT pg_temp.ask(1, 11, 12, 1001, 8, later => 3);
SELECT era, part, closed FROM sno_registry.settings;
BEGIN;
SELECT sno_registry_report_loss();
SELECT pg_temp.ask(1, 12, 13, 1002, 8, later => 3) AS "a loss all the same";
SELECT pg_temp.ask(2, 0, 21, 1003, 8, later => 3) AS "all is closed";
SELECT sno_registry.trust(sno_registry.timeline(), 1003);
SELECT pg_temp.ask(1, 12, 13, 1002, 8) AS "known again";
ROLLBACK;

-- Vouched for before a request on the new timeline: holders are known, all parts are open.
SELECT pg_temp.begin_test('vouch');
SELECT pg_temp.ask(1, 0, 11, 1000);
UPDATE sno_registry.settings SET timeline = timeline - 1;
SELECT sno_registry.trust(sno_registry.timeline(), 1000);
SELECT pg_temp.ask(1, 11, 12, 1001);
SELECT era, part, closed FROM sno_registry.settings;

-- Vouched for afterwards: known again, and all parts are open.  A loss then closes
-- all parts in which a known holder has a block.
SELECT pg_temp.ask(2, 0, 21, 1002, 2, later => 1);
UPDATE sno_registry.settings SET timeline = timeline - 1;
SELECT pg_temp.ask(1, 12, 13, 1003) AS "forgotten";
SELECT sno_registry.trust(sno_registry.timeline(), 1004);
SELECT pg_temp.ask(1, 12, 13, 1005), pg_temp.ask(2, 21, 22, 1005, 2);
SELECT era, part, closed FROM sno_registry.settings;
SELECT pg_temp.ask(1, 13, 14, 1006, later => 1) AS "forgotten again";
SELECT era, part, closed FROM sno_registry.settings;

-- Vouched for long after a loss, and before a request: what was lost stays below what
-- is granted next, and holders of that time are forgotten.
SELECT pg_temp.begin_test('vouched late');
SELECT pg_temp.ask(1, 0, 11, 1000);
SELECT pg_temp.back_up();
SELECT pg_temp.ask(1, 11, 12, 1100, 2) AS "lost";
SELECT pg_temp.restore();
SELECT sno_registry.trust(sno_registry.timeline() + 4, 1900);
SELECT pg_temp.ask(1, 11, 12, 1901, later => 4) AS "forgotten";
SELECT pg_temp.ask(2, 0, 21, 1901, 4, later => 4) AS "above what was lost";
SELECT era, part, closed FROM sno_registry.settings;

-- Lost, though the timeline is the same: by the clock of this server
SELECT pg_temp.begin_test('lost');
UPDATE sno_registry.settings SET longest = '1 hour';
SELECT sno_registry.unit_of(clock_timestamp()) AS present \gset
SELECT status, first, last FROM sno_registry_renew(1, 0, 11, 'n', :present, :present + 1000000, 2);
SELECT sno_registry_report_loss();
SELECT era, part, closed[1] >= :present + 1800000, closed[2:4] FROM sno_registry.settings;
SELECT status, first, last FROM sno_registry_renew(1, 11, 12, 'n', :present, :present + 1000000, 2);
SELECT status, first, last FROM sno_registry_renew(2, 0, 21, 'n', :present, :present + 1000000, 2);
SELECT first, holder, state FROM sno_registry.blocks ORDER BY first;

-- A registry that was copied grants nothing, until an operator says that it moved.
SELECT sno_registry_move();
UPDATE sno_registry.settings SET home = '1/2/3';
\set VERBOSITY sqlstate
SELECT * FROM sno_registry_renew(2, 21, 22, 'n', :present, :present + 1000000, 2);
SELECT sno_registry_vouch();
SELECT sno_registry_report_loss();
SELECT sno_registry_add_layout('1288834974657/1/41/10/12', 0, 1023);
\set VERBOSITY default
SELECT * FROM sno_registry.answer(2, 21, 22, 'n', 1, 1, 1, '', 1, 1, '4/5/6');
SELECT sno_registry_move();
SELECT era, part, closed[2] >= :present + 1800000, closed[3:4] FROM sno_registry.settings;
SELECT status, first, last FROM sno_registry_renew(2, 21, 22, 'n', :present, :present + 1000000, 2);
SELECT status, first, last FROM sno_registry_renew(3, 0, 31, 'n', :present, :present + 1000000, 2);
SELECT sno_registry_vouch();
SELECT status, first, last FROM sno_registry_renew(2, 21, 22, 'n', :present, :present + 1000000, 2);

--
-- Nodes of layouts
--
SELECT pg_temp.begin_test('layouts');
\set snowflake 1288834974657/1/41/10/12
\set sonyflake 1409529600000/10/39/16/8/last
SELECT sno_registry_add_layout(NULL, 0, 1023);
SELECT sno_registry_add_layout(:'snowflake', 0, 1023, after => NULL);
SELECT sno_registry_add_layout('', 0, 1023);
SELECT sno_registry_add_layout('snowflake', 0, 1023);
SELECT sno_registry_add_layout('1288834974657/1/41/10', 0, 1023);
SELECT sno_registry_add_layout('1288834974657/1/41/10/12/', 0, 1023);
SELECT sno_registry_add_layout(:'snowflake' || E'\n', 0, 1023);
SELECT sno_registry_add_layout('1288834974657/1/41/010/12', 0, 1023) AS "a second text of the same layout";
SELECT sno_registry_add_layout('0/0/63/4/0', 0, 15);
SELECT sno_registry_add_layout('3461270400001/1/41/10/12', 0, 1);
\set VERBOSITY sqlstate
SELECT sno_registry_add_layout('0/2/41/10/12', 0, 1);
SELECT sno_registry_add_layout('0/3600001/41/10/12', 0, 1);
SELECT sno_registry_add_layout('0/1/0/10/12', 0, 1);
SELECT sno_registry_add_layout('0/1/65/10/13', 0, 1);
SELECT sno_registry_add_layout('0/1/41/49/38', 0, 1);
SELECT sno_registry_add_layout('0/1/41/10/0', 0, 1);
SELECT sno_registry_add_layout('0/1/41/10/33', 0, 1);
SELECT sno_registry_add_layout('0/1/41/12/12', 0, 1);
SELECT sno_registry_add_layout('0/1/64/48/24', 0, 1);
\set VERBOSITY default
SELECT sno_registry_add_layout(:'snowflake', -1, 1023);
SELECT sno_registry_add_layout(:'snowflake', 9, 8);
SELECT sno_registry_add_layout(:'snowflake', 0, 1024);
SELECT sno_registry_add_layout(:'snowflake', 0, 1023, 0);
SELECT sno_registry_add_layout('0/1/64/48/16', 0, 281474976710655, 281474976710657);
SELECT sno_registry_add_layout('0/1/64/48/16', 0, 281474976710655);
SELECT sno_registry_add_layout('946656000000/1/41/3/9', 0, 7) AS "8 nodes, in one block";
SELECT sno_registry_add_layout(:'snowflake', 0, 1023, after => '2009-12-31');
SELECT sno_registry_add_layout(:'snowflake', 0, 1023, after => 'infinity');
SELECT layout FROM sno_registry.space;

-- The defaults, the largest blocks, and a last block that is smaller than the others
SELECT sno_registry_add_layout(:'snowflake', 0, 1023);
SELECT sno_registry_add_layout(:'snowflake', 0, 1023);
SELECT sno_registry_add_layout('0/1/64/48/16', 0, 281474976710655, 70368744177664, '2020-02-02 02:02:02+00');
SELECT sno_registry_add_layout(:'sonyflake', 10, 16, 2);
TABLE sno_registry.space ORDER BY layout;
SELECT layout, part, count(*), min(first), max(last), sno_registry.time_of(max(ceiling)) FROM sno_registry.block
WHERE layout <> '' GROUP BY layout, part ORDER BY layout, part;

-- What the registry may grant: a request for nothing changes nothing.
SELECT * FROM sno_registry.answer(1, 0, 11, 's', 1000, 2000, 0, '', 1000, 9, sno_registry.home());
SELECT * FROM sno_registry.answer(1, 0, 11, 's', 1000, 2000, 0, :'snowflake', 1000, 9, sno_registry.home());
SELECT * FROM sno_registry.answer(1, 0, 11, 's', 1000, 2000, 1, '0/1/41/10/12', 1000, 9, sno_registry.home());
SELECT pg_temp.ask(1, 7, 8, 1000, 0) AS "nor does it need a token", pg_temp.ask(1, 0, 11, 1000, layout => 'unknown');
SELECT count(*) FROM sno_registry.holder;
SELECT era, part FROM sno_registry.settings;

-- Each layout is granted by itself.  A holder of one is unknown in another one.
SELECT pg_temp.ask(1, 0, 11, 1000, layout => :'snowflake'), pg_temp.ask(1, 0, 12, 1000, 2, layout => :'sonyflake'), pg_temp.ask(1, 0, 13, 1000, 2);
SELECT pg_temp.ask(2, 0, 21, 1000, layout => :'snowflake') AS another, pg_temp.ask(1, 11, 14, 1000) AS "a token of another layout";
SELECT pg_temp.ask(2, 21, 22, 1000, layout => :'sonyflake') AS "unknown there", pg_temp.ask(2, 0, 22, 1000, layout => :'sonyflake') AS "all are held";
SELECT pg_temp.ask(1, 11, 15, 1100, layout => :'snowflake') AS renewed, pg_temp.ask(1, 13, 14, 1000, 0) AS "keeps its token";
SELECT pg_temp.ask(1, 11, 15, 1100, layout => :'snowflake') AS repeated, pg_temp.ask(1, 11, 16, 1100, layout => :'snowflake') AS "a copy";
SELECT layout, first, last, holder, server, floor, ceiling FROM sno_registry.block JOIN sno_registry.holder USING (layout, holder) ORDER BY layout, first;
SELECT pg_temp.ask(2, 0, 23, 1251, layout => :'sonyflake') AS "the next holder", pg_temp.ask(1, 12, 17, 1251, layout => :'sonyflake') AS "lost it";
SELECT pg_temp.ask(1, 13, 14, 1251) AS "has its partitions";

-- A loss closes a part of all layouts, and forgets all their holders.
SELECT pg_temp.ask(1, 15, 16, 1300, layout => :'snowflake', later => 1) AS forgotten, pg_temp.ask(1, 14, 15, 1300, later => 1) AS "likewise";
SELECT pg_temp.ask(3, 0, 31, 1300, layout => :'snowflake', later => 1) AS snowflake, pg_temp.ask(3, 0, 31, 1300, 9, layout => :'sonyflake', later => 1) AS sonyflake,
    pg_temp.ask(3, 0, 31, 1300, later => 1) AS partitions;
SELECT era, part, closed FROM sno_registry.settings;
-- An operator may have vouched for a holder of another layout, in another part.
SELECT sno_registry.trust(sno_registry.timeline() + 1, 1301);
SELECT pg_temp.ask(4, 0, 41, 1302, layout => '0/1/64/48/16', later => 2);
SELECT era, part, closed FROM sno_registry.settings;

-- What is added later begins above all that may be lost.  This follows the timeline, too.
SELECT sno_registry_add_layout('0/1/41/10/12', 0, 3, 1);
SELECT part AS "four timelines later" FROM sno_registry.settings;
SELECT bool_and(b.ceiling = greatest(s.closed[1], s.closed[2], s.closed[3], s.closed[4])) AS above
FROM sno_registry.settings AS s, sno_registry.block AS b WHERE layout = '0/1/41/10/12';

-- A layout of few nodes needs a registry that is lossless.
SELECT pg_temp.begin_test('few nodes', true);
SELECT sno_registry_add_layout('946656000000/1/41/3/9', 0, 7);
SELECT pg_temp.ask(1, 0, 11, 1000, 2, layout => '946656000000/1/41/3/9');

-- The share is one of each layout.
UPDATE sno_registry.settings SET share = 1;
SELECT sno_registry_add_layout(:'snowflake', 0, 31, 8);
SELECT pg_temp.ask(2, 0, 11, 1000, 2, layout => :'snowflake'), pg_temp.ask(2, 0, 21, 1000, 2);
SELECT layout, first, server, state FROM sno_registry.blocks ORDER BY layout, first;

-- Of all that was granted, no two holders ever had a partition and a unit in common.
-- The test of a loss has the grants of the old primary, too.
SELECT test, count(*) > 1 AS noted FROM noted GROUP BY test ORDER BY test;
SELECT a.*, b.* FROM noted AS a, noted AS b
WHERE a.test = b.test AND a.layout = b.layout AND a.holder < b.holder
    AND int8range(a.first, a.last, '[]') && int8range(b.first, b.last, '[]')
    AND int8range(a.floor, a.ceiling, '(]') && int8range(b.floor, b.ceiling, '(]');

-- Invalid requests
SELECT pg_temp.ask(0, 0, 11, 1000);
SELECT pg_temp.ask(1, 0, 0, 1000);
SELECT pg_temp.ask(1, 7, 7, 1000);
SELECT pg_temp.ask(1, 0, 11, -1, until => 0);
SELECT pg_temp.ask(1, 0, 11, 1000, until => 999);
SELECT pg_temp.ask(1, 0, 11, 1000, until => 549755813888);
SELECT pg_temp.ask(1, 0, 11, 1000, -1);
SELECT pg_temp.ask(1, 0, 11, 1000, 65);
SELECT pg_temp.ask(1, NULL, 11, 1000);
SELECT pg_temp.ask(NULL, 0, 11, 1000);
SELECT pg_temp.ask(1, 0, 11, 1000, NULL);
SELECT pg_temp.ask(1, 0, 11, 1000, layout => NULL);

-- A label may be missing, and may be long.
UPDATE sno_registry.settings SET closed = '{0,0,0,0}';
UPDATE sno_registry.block SET ceiling = 0;
SELECT count(*) FROM sno_registry_renew(-8, 0, -9, NULL, :present, :present, 1);
SELECT count(*) FROM sno_registry_renew(-10, 0, -11, repeat('long', 100), :present, :present, 1);
SELECT holder, length(server) FROM sno_registry.holder WHERE holder < 0 ORDER BY holder DESC;

-- A reply is durable, whatever the caller has set.
CREATE FUNCTION pg_temp.durability(value text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', value, true);
    PERFORM sno_registry_renew(holder, 0, 5, 'n', 1, 1, 1) FROM (SELECT 100 + hashtext(value)) AS r (holder);
    RETURN current_setting('synchronous_commit');
END
$$;
SELECT value, pg_temp.durability(value) FROM unnest('{off,local,remote_write,on,remote_apply}'::text[]) AS value;

-- Others don't wait long for who asked and does nothing.
BEGIN;
SELECT count(*) FROM sno_registry_renew(-8, -9, -10, NULL, :present, :present, 1);
SHOW idle_in_transaction_session_timeout;
SHOW lock_timeout;
COMMIT;
SHOW idle_in_transaction_session_timeout;

-- Who may ask may do nothing else.
CREATE ROLE regress_asker;
SET ROLE regress_asker;
SELECT count(*) FROM sno_registry_renew(6, 0, 61, 'n', :present, :present, 1);
RESET ROLE;
GRANT EXECUTE ON FUNCTION sno_registry_renew TO regress_asker;
SET ROLE regress_asker;
SELECT count(*) FROM sno_registry_renew(6, 0, 61, 'n', :present, :present, 1);
SELECT * FROM sno_registry.settings;
SELECT sno_registry.home();
SELECT sno_registry_create(1, 2);
SELECT sno_registry_add_layout('1288834974657/1/41/10/12', 0, 1023);
SELECT sno_registry_vouch();
SELECT sno_registry_report_loss();
SELECT sno_registry_move();
RESET ROLE;
SELECT oid::regprocedure FROM pg_proc
WHERE (pronamespace = 'sno_registry'::regnamespace OR proname ~ '^sno_registry') AND has_function_privilege('public', oid, 'EXECUTE');
SELECT oid::regclass FROM pg_class
WHERE relnamespace = 'sno_registry'::regnamespace AND relkind IN ('r', 'v') AND relacl IS NOT NULL;
SELECT has_schema_privilege('public', 'sno_registry', 'USAGE');
REVOKE EXECUTE ON FUNCTION sno_registry_renew FROM regress_asker;
DROP ROLE regress_asker;

-- Each object has a comment.
SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sno_registry')
    AND deptype = 'e' AND classid <> 'pg_type'::regclass AND obj_description(objid, classid::regclass::name) IS NULL;
SELECT attrelid::regclass, attname FROM pg_attribute
WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'sno_registry'::regnamespace AND relkind IN ('r', 'v'))
    AND attnum > 0 AND col_description(attrelid, attnum) IS NULL;

-- Dumps have the tables.
SELECT unnest(extconfig)::regclass FROM pg_extension WHERE extname = 'sno_registry';

DROP EXTENSION sno_registry;
SELECT count(*) FROM pg_namespace WHERE nspname = 'sno_registry';
