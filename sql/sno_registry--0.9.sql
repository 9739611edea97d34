/* sno_registry--0.9.sql: the registry, which grants partitions and nodes to servers */

-- The registry grants each server partitions and nodes of its own.  It is in one database that all
-- servers can reach.  If the extension's files can't be installed, the owner of that database runs
--     psql -1 -v ON_ERROR_STOP=1 -f sno_registry--0.9.sql
--
-- Then the owner sets the registry up, for example by
--     SELECT sno_registry_create(1024, 65535);
--     SELECT sno_registry_add_layout('1288834974657/1/41/10/12', 0, 1023);
--     CREATE ROLE sno_asker LOGIN;
--     GRANT EXECUTE ON FUNCTION sno_registry_renew TO sno_asker;
-- The servers connect as role sno_asker, which needs no other privilege.
--
-- A space is a range of numbers, each of which only one server may have at a time: the partitions
-- of sno, or the nodes of a layout of other systems' ids.  A layout is identified by its definition:
-- the epoch in ms since 1970, the unit in ms, the number of bits of the time, of the node and of the
-- sequence, and whether the node is last.  The name of a layout may differ between servers.
--
-- The registry divides a space into blocks.  A grant gives a block to a holder, which is one
-- database of one server, for the ids of an interval of time.  The interval consists of the units
-- of 4 ms, counted from 2010-01-01 UTC, that are after the floor of the grant and not after its
-- ceiling.  If a block gets a new holder, the floor is the highest ceiling that was ever granted
-- for the block.  So no two holders ever have a number and a unit in common, even if clocks are
-- wrong.
--
-- This is true only if the registry loses no grant.  It loses the latest grants if a standby that
-- lacks them is promoted, or if the database is restored to an earlier point.  The WAL timeline
-- then changes, and the old primary may still be running.  So the blocks of each space are divided
-- into four parts, and the registry grants blocks of one part.  When the timeline changes, the
-- registry closes that part, and grants blocks of the next one.
--
-- Each call first locks the only row of table settings, so the registry handles one call at a time.

-- The search path of the role that installs the extension may contain schemas of other roles.  So
-- all names that PostgreSQL looks up while it runs this script are qualified, except keywords.  The
-- functions set their own search path.

CREATE SCHEMA sno_registry;
COMMENT ON SCHEMA sno_registry IS
    'tables and internal functions of the registry';

--
-- tables
--

CREATE TABLE sno_registry.settings (
    longest  interval NOT NULL,
    lossless boolean  NOT NULL,
    share    integer  NOT NULL,
    home     pg_catalog.text NOT NULL,
    timeline integer  NOT NULL,
    era      integer  NOT NULL DEFAULT 0,
    part     integer  NOT NULL DEFAULT 0,
    closed   bigint[] NOT NULL DEFAULT '{0,0,0,0}'
);
COMMENT ON TABLE sno_registry.settings IS
    'settings of the registry, one row, which sno_registry_create() inserts';
COMMENT ON COLUMN sno_registry.settings.longest IS
    'maximum interval from the present time of the registry to the end of a grant';
COMMENT ON COLUMN sno_registry.settings.lossless IS
    'whether the registry keeps all grants when its WAL timeline changes';
COMMENT ON COLUMN sno_registry.settings.share IS
    'maximum number of blocks of one holder in a space, 1 to 64';
COMMENT ON COLUMN sno_registry.settings.home IS
    'identity of the registry, the result of sno_registry.home()';
COMMENT ON COLUMN sno_registry.settings.timeline IS
    'WAL timeline of the last call';
COMMENT ON COLUMN sno_registry.settings.era IS
    'how many times grants may have been lost';
COMMENT ON COLUMN sno_registry.settings.part IS
    'part whose blocks the registry grants now, 0 to 3';
COMMENT ON COLUMN sno_registry.settings.closed IS
    'for each of the 4 parts, the unit of 4 ms up to which lost grants may '
    'reach';

CREATE UNIQUE INDEX settings_one_row ON sno_registry.settings ((true));
COMMENT ON INDEX sno_registry.settings_one_row IS
    'there is one registry in a database';

CREATE TABLE sno_registry.space (
    layout pg_catalog.text COLLATE pg_catalog."C" PRIMARY KEY,
    first  bigint NOT NULL,
    last   bigint NOT NULL
);
COMMENT ON TABLE sno_registry.space IS
    'spaces that the registry grants: the partitions of sno, and nodes of layouts';
COMMENT ON COLUMN sno_registry.space.layout IS
    'definition of the layout, or empty for the partitions of sno';
COMMENT ON COLUMN sno_registry.space.first IS
    'first partition or node of the registry';
COMMENT ON COLUMN sno_registry.space.last IS
    'last partition or node of the registry';

CREATE TABLE sno_registry.holder (
    layout pg_catalog.text COLLATE pg_catalog."C",
    holder bigint,
    token  bigint  NOT NULL,
    server pg_catalog.text        NOT NULL,
    seen   pg_catalog.timestamptz NOT NULL,
    era    integer NOT NULL,
    PRIMARY KEY (layout, holder)
);
COMMENT ON TABLE sno_registry.holder IS
    'holders of blocks of a space; a holder is one database of one server in one '
    'place';
COMMENT ON COLUMN sno_registry.holder.layout IS
    'definition of the layout, or empty for the partitions of sno';
COMMENT ON COLUMN sno_registry.holder.holder IS
    'random number that the holder chose';
COMMENT ON COLUMN sno_registry.holder.token IS
    'token of the last request';
COMMENT ON COLUMN sno_registry.holder.server IS
    'label of the server, for people to read, in printable ASCII';
COMMENT ON COLUMN sno_registry.holder.seen IS
    'time of the last request';
COMMENT ON COLUMN sno_registry.holder.era IS
    'value of settings.era for which the holder is known; if the era is another one '
    'now, the registry has forgotten the holder';

CREATE TABLE sno_registry.block (
    layout  pg_catalog.text COLLATE pg_catalog."C",
    first   bigint,
    last    bigint  NOT NULL,
    part    integer NOT NULL,
    holder  bigint,
    floor   bigint  NOT NULL DEFAULT 0,
    ceiling bigint  NOT NULL DEFAULT 0,
    PRIMARY KEY (layout, first)
);
COMMENT ON TABLE sno_registry.block IS
    'blocks of partitions or nodes, with the last grant of each';
COMMENT ON COLUMN sno_registry.block.layout IS
    'definition of the layout, or empty for the partitions of sno';
COMMENT ON COLUMN sno_registry.block.first IS
    'first partition or node of the block';
COMMENT ON COLUMN sno_registry.block.last IS
    'last partition or node of the block';
COMMENT ON COLUMN sno_registry.block.part IS
    'part to which the block belongs, 0 to 3';
COMMENT ON COLUMN sno_registry.block.holder IS
    'last holder, or null if there was none, or if that holder was forgotten and has '
    'registered again';
COMMENT ON COLUMN sno_registry.block.floor IS
    'unit of 4 ms after which the holder may issue ids';
COMMENT ON COLUMN sno_registry.block.ceiling IS
    'last unit of 4 ms in which the holder may issue ids';

CREATE INDEX block_holder ON sno_registry.block (layout, holder);
COMMENT ON INDEX sno_registry.block_holder IS
    'blocks by holder';

-- pg_dump dumps rows of an extension's tables only if the extension marks the tables.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_depend
               WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid
               AND objid OPERATOR(pg_catalog.=) 'sno_registry.settings'::pg_catalog.regclass::pg_catalog.oid
               AND deptype OPERATOR(pg_catalog.=) 'e')
    THEN
        PERFORM pg_catalog.pg_extension_config_dump('sno_registry.settings', '');
        PERFORM pg_catalog.pg_extension_config_dump('sno_registry.space', '');
        PERFORM pg_catalog.pg_extension_config_dump('sno_registry.holder', '');
        PERFORM pg_catalog.pg_extension_config_dump('sno_registry.block', '');
    END IF;
END
$$;

--
-- time and place
--

CREATE FUNCTION sno_registry.unit_of(pg_catalog.timestamptz) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN pg_catalog.floor(
    (EXTRACT(epoch FROM $1) OPERATOR(pg_catalog.-) 1262304000::numeric) OPERATOR(pg_catalog.*) 250::numeric);
COMMENT ON FUNCTION sno_registry.unit_of(pg_catalog.timestamptz) IS
    'unit of 4 ms that holds the time, counted from 2010-01-01 UTC';

CREATE FUNCTION sno_registry.time_of(bigint) RETURNS pg_catalog.timestamptz
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN TIMESTAMP WITH TIME ZONE '2010-01-01 00:00:00+00'
    OPERATOR(pg_catalog.+) ($1::double precision OPERATOR(pg_catalog.*) interval '4 ms');
COMMENT ON FUNCTION sno_registry.time_of(bigint) IS
    'start of the unit of 4 ms, counted from 2010-01-01 UTC';

CREATE FUNCTION sno_registry.timeline() RETURNS integer
LANGUAGE sql VOLATILE
RETURN ('x' OPERATOR(pg_catalog.||)
    pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::integer;
COMMENT ON FUNCTION sno_registry.timeline() IS
    'WAL timeline that this server writes';

-- The result differs in each copy of the registry: in a restored dump, the table has another OID, and
-- a database that CREATE DATABASE copied has another OID itself.
CREATE FUNCTION sno_registry.home() RETURNS pg_catalog.text
LANGUAGE sql STABLE
RETURN (SELECT pg_catalog.format('%s/%s/%s', c.system_identifier, d.oid,
            'sno_registry.settings'::pg_catalog.regclass::pg_catalog.oid)
        FROM pg_catalog.pg_control_system() AS c, pg_catalog.pg_database AS d
        WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database());
COMMENT ON FUNCTION sno_registry.home() IS
    'identity of this registry: system identifier, OID of the database, OID of '
    'the table settings';

CREATE VIEW sno_registry.blocks AS
SELECT b.layout, b.first, b.last, h.server, b.holder,
    sno_registry.time_of(b.floor OPERATOR(pg_catalog.+) 1) AS since,
    sno_registry.time_of(b.ceiling) AS until,
    CASE
        WHEN sno_registry.time_of(b.ceiling OPERATOR(pg_catalog.+) 1)
            OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp() THEN 'over'
        WHEN h.era OPERATOR(pg_catalog.=) s.era THEN 'held'
        ELSE 'forgotten'
    END AS state
FROM sno_registry.settings AS s, sno_registry.block AS b
LEFT JOIN sno_registry.holder AS h
    ON h.layout OPERATOR(pg_catalog.=) b.layout AND h.holder OPERATOR(pg_catalog.=) b.holder
WHERE b.holder IS NOT NULL;
COMMENT ON VIEW sno_registry.blocks IS
    'last grant of each block, for people to read';
COMMENT ON COLUMN sno_registry.blocks.layout IS
    'definition of the layout, or empty for the partitions of sno';
COMMENT ON COLUMN sno_registry.blocks.first IS
    'first partition or node of the block';
COMMENT ON COLUMN sno_registry.blocks.last IS
    'last partition or node of the block';
COMMENT ON COLUMN sno_registry.blocks.server IS
    'label of the server of the present or last holder, if still known';
COMMENT ON COLUMN sno_registry.blocks.holder IS
    'random number of the holder';
COMMENT ON COLUMN sno_registry.blocks.since IS
    'start of the first unit of 4 ms that is granted';
COMMENT ON COLUMN sno_registry.blocks.until IS
    'start of the last unit of 4 ms that is granted';
COMMENT ON COLUMN sno_registry.blocks.state IS
    'whether the grant is held, forgotten or over';

--
-- internal functions
--

CREATE FUNCTION sno_registry.lock() RETURNS sno_registry.settings
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    s sno_registry.settings;
BEGIN
    SELECT * INTO s FROM sno_registry.settings FOR UPDATE;
    IF NOT FOUND THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'there is no registry in this database yet',
            HINT = 'Create it with sno_registry_create().';
    END IF;
    RETURN s;
END
$function$;
COMMENT ON FUNCTION sno_registry.lock() IS
    'lock and return the settings, as the first step of each call';

CREATE FUNCTION sno_registry.refuse_copy(made_in pg_catalog.text, home pg_catalog.text) RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF home <> made_in THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'this registry is a copy',
            DETAIL = format('It was made in %s, but is in %s.', made_in, home),
            HINT = 'If the original has stopped for good, call sno_registry_move() here.';
    END IF;
END
$function$;
COMMENT ON FUNCTION sno_registry.refuse_copy(pg_catalog.text, pg_catalog.text) IS
    'raise an error if the registry is a copy';

-- See G5 in src/README.md.  Either a lost grant is for a block in a part that a lost timeline used, or
-- it prolonged an earlier grant of a known holder.  After sno_registry_vouch(), known holders may have
-- blocks in other parts.  So all parts with blocks of known holders are closed, too.
CREATE FUNCTION sno_registry.lose(timelines integer, registry_now bigint) RETURNS void
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $function$
    UPDATE sno_registry.settings AS s
    SET era = s.era + 1,
        part = CASE WHEN s.lossless THEN 0 ELSE (s.part + timelines) % 4 END,
        closed = ARRAY(
            SELECT CASE
                WHEN (p - s.part + 4) % 4 < timelines OR EXISTS (
                    SELECT FROM sno_registry.block AS b
                    JOIN sno_registry.holder AS h ON h.layout = b.layout AND h.holder = b.holder
                    WHERE b.part = p)
                THEN greatest(s.closed[p + 1], registry_now + (EXTRACT(epoch FROM 2 * s.longest) * 250)::bigint)
                ELSE s.closed[p + 1] END
            FROM generate_series(0, 3) AS p ORDER BY p)
$function$;
COMMENT ON FUNCTION sno_registry.lose(integer, bigint) IS
    'after a possible loss of grants, close parts for twice the longest grant, '
    'grant from the next part, and forget all holders';

-- This function passes to lose() the number of new timelines since the last call, because each of
-- them may have used a part of its own, even if this database received no call on that timeline.
CREATE FUNCTION sno_registry.follow(timeline integer, registry_now bigint) RETURNS void
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT sno_registry.lose(
        CASE WHEN follow.timeline > s.timeline THEN follow.timeline - s.timeline ELSE 4 END, registry_now)
    FROM sno_registry.settings AS s
    WHERE s.timeline <> follow.timeline AND NOT s.lossless;
    UPDATE sno_registry.settings AS s SET timeline = follow.timeline
    WHERE s.timeline <> follow.timeline;
$function$;
COMMENT ON FUNCTION sno_registry.follow(integer, bigint) IS
    'go on with this WAL timeline, and call lose() if grants of earlier timelines '
    'may be lost';

-- The timeline may have changed since the last request, so follow() is called first.  The units in
-- column "closed" are not set to 0, but lowered to the present unit, so that grants that were lost a
-- long time ago stay below the floors of the next grants.
CREATE FUNCTION sno_registry.trust(timeline integer, registry_now bigint) RETURNS void
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT sno_registry.follow(trust.timeline, registry_now);
    UPDATE sno_registry.settings AS s
    SET closed = ARRAY(SELECT least(c, registry_now) FROM unnest(s.closed) WITH ORDINALITY AS u (c, n) ORDER BY n);
    UPDATE sno_registry.holder AS h SET era = s.era FROM sno_registry.settings AS s
    WHERE h.seen >= sno_registry.time_of(registry_now) - 2 * s.longest;
$function$;
COMMENT ON FUNCTION sno_registry.trust(integer, bigint) IS
    'the work of sno_registry_vouch(), on a given WAL timeline at a given unit';

-- This function implements the protocol of requests and answers.  It gets the time as an argument
-- and reads no clock, so tests can choose the time.
CREATE FUNCTION sno_registry.answer(
    holder bigint, token bigint, next bigint, server pg_catalog.text, asker_now bigint, until bigint, want integer,
    layout pg_catalog.text, registry_now bigint, timeline integer, home pg_catalog.text)
RETURNS TABLE (
    status pg_catalog.text, range_first bigint, range_last bigint, now bigint,
    first bigint, last bigint, floor bigint, ceiling bigint)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    s        sno_registry.settings;
    p        sno_registry.space;
    h        sno_registry.holder;
    complaint text;
    -- Grants are made and prolonged up to this unit.
    reach    bigint;
    -- By both clocks, a grant is over if its ceiling is before this unit.
    past     bigint := least(asker_now, registry_now);
    has      integer;
    usable   integer;
BEGIN
    complaint := CASE
        WHEN num_nulls(answer.holder, answer.token, answer.next, asker_now, until, want, answer.layout) > 0
        THEN 'Only the server may be null.'
        WHEN answer.holder = 0 OR answer.next IN (0, answer.token)
        THEN 'The holder must not be 0, and the next token neither 0 nor the last one.'
        WHEN asker_now < 0 OR until < asker_now OR until > 549755813887
        THEN 'The times must be 0 <= now <= until <= 549755813887.'
        WHEN want NOT BETWEEN 0 AND 64
        THEN 'A holder has at most 64 blocks.'
        END;
    IF complaint IS NOT NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = 'invalid request to the registry', DETAIL = complaint,
            HINT = 'Only the worker of the extension sno should call this function.';
    END IF;

    -- The grants must be durable before the answer is sent.
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    s := sno_registry.lock();
    PERFORM sno_registry.refuse_copy(s.home, answer.home);
    SELECT * INTO p FROM sno_registry.space AS e WHERE e.layout = answer.layout;
    IF p.layout IS NULL OR want = 0 THEN
        RETURN QUERY SELECT 'range', p.first, p.last, registry_now,
            NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint;
        RETURN;
    END IF;
    IF answer.timeline <> s.timeline THEN
        PERFORM sno_registry.follow(answer.timeline, registry_now);
        SELECT * INTO s FROM sno_registry.settings;
    END IF;
    reach := least(until, registry_now + (EXTRACT(epoch FROM s.longest) * 250)::bigint);

    SELECT * INTO h FROM sno_registry.holder AS k WHERE k.layout = answer.layout AND k.holder = answer.holder;
    IF h.holder IS NULL AND answer.token <> 0 OR h.era <> s.era THEN
        status := 'forgotten';
    ELSIF answer.token <> h.token AND answer.next <> h.token THEN
        status := 'superseded';
    ELSE
        -- If the registry forgot this holder, release the holder's former blocks, because they may have
        -- had other holders since.
        IF h.holder IS NULL THEN
            UPDATE sno_registry.block AS b SET holder = NULL
            WHERE b.layout = answer.layout AND b.holder = answer.holder;
        END IF;
        -- If the row has the next token already, the request is a repeated one.
        INSERT INTO sno_registry.holder AS k
        VALUES (answer.layout, answer.holder, answer.next,
            left(regexp_replace(coalesce(answer.server, ''), '[^ -~]', '?', 'g'), 64),
            sno_registry.time_of(registry_now), s.era)
        ON CONFLICT ON CONSTRAINT holder_pkey DO
        UPDATE SET token = excluded.token, server = excluded.server, seen = excluded.seen;

        UPDATE sno_registry.block AS b SET ceiling = greatest(b.ceiling, reach)
        WHERE b.layout = answer.layout AND b.holder = answer.holder;
        SELECT count(*), count(*) FILTER (WHERE b.floor < asker_now) INTO has, usable
        FROM sno_registry.block AS b WHERE b.layout = answer.layout AND b.holder = answer.holder;

        -- The floor of a new grant is the highest ceiling of the block so far (G1 in src/README.md).
        -- Blocks that were never granted have the lowest ceilings, so they are granted first.
        UPDATE sno_registry.block AS b
        SET holder = answer.holder, floor = greatest(b.ceiling, s.closed[s.part + 1]), ceiling = reach
        WHERE b.layout = answer.layout AND b.first IN (
            SELECT f.first FROM sno_registry.block AS f
            WHERE f.layout = answer.layout AND f.part = s.part AND f.ceiling < past AND s.closed[s.part + 1] < past
            ORDER BY f.ceiling, f.first
            LIMIT greatest(least(want - usable, s.share - has), 0));
        GET DIAGNOSTICS has = ROW_COUNT;
        status := CASE WHEN usable + has < want THEN 'full' ELSE 'granted' END;
    END IF;

    -- Delete holders that have no block, or that were not seen for a long time and whose grants are
    -- over.  So there are never more holders than blocks.
    DELETE FROM sno_registry.holder AS k
    WHERE NOT EXISTS (
        SELECT FROM sno_registry.block AS b
        WHERE b.layout = k.layout AND b.holder = k.holder
        AND (b.ceiling >= registry_now OR k.seen >= sno_registry.time_of(registry_now) - 2 * s.longest));

    RETURN QUERY SELECT answer.status, p.first, p.last, registry_now, b.first, b.last, b.floor, b.ceiling
    FROM (SELECT) AS one_row
    LEFT JOIN sno_registry.block AS b
    ON b.layout = answer.layout AND b.holder = answer.holder AND answer.status IN ('granted', 'full')
    ORDER BY b.first;
END
$function$;
COMMENT ON FUNCTION sno_registry.answer(bigint, bigint, bigint, pg_catalog.text, bigint, bigint, integer, pg_catalog.text, bigint, integer, pg_catalog.text) IS
    'the work of sno_registry_renew(), at a given unit, WAL timeline and home of the registry';

-- The registry may have had this space before, with other blocks, and may have lost it.  So the
-- ceilings of the new blocks are not below the units up to which lost grants of any part may reach.
CREATE FUNCTION sno_registry.add(
    layout pg_catalog.text, first bigint, last bigint, size bigint, after pg_catalog.timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    s         constant sno_registry.settings := sno_registry.lock();
    blocks    bigint;
    complaint text;
BEGIN
    IF size > 0 THEN
        blocks := (last - first) / size + 1;
    END IF;
    complaint := CASE
        WHEN size NOT BETWEEN 1 AND 281474976710656
        THEN 'A block has 1 to 281474976710656 numbers.'
        WHEN blocks > 65536
        THEN format('There would be %s blocks, more than 65536.', blocks)
        WHEN blocks < 4 AND NOT s.lossless
        THEN format('A registry that is not lossless needs four blocks or more, not %s.', blocks)
        WHEN after NOT BETWEEN '2010-01-01 00:00:00+00' AND clock_timestamp() + interval '1 year'
        THEN 'The time must be from 2010-01-01 UTC to a year from now.'
        END;
    IF complaint IS NOT NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = 'invalid blocks of a registry', DETAIL = complaint;
    END IF;

    INSERT INTO sno_registry.space VALUES (add.layout, add.first, add.last);
    INSERT INTO sno_registry.block (layout, first, last, part, ceiling)
    SELECT add.layout, add.first + n * size, least(add.first + (n + 1) * size - 1, add.last),
        CASE WHEN s.lossless THEN 0 ELSE n * 4 / blocks END,
        greatest(sno_registry.unit_of(after), s.closed[1], s.closed[2], s.closed[3], s.closed[4])
    FROM generate_series(0, blocks - 1) AS n;
END
$function$;
COMMENT ON FUNCTION sno_registry.add(pg_catalog.text, bigint, bigint, bigint, pg_catalog.timestamptz) IS
    'add a space in blocks of the given size';

--
-- functions for askers and operators
--

CREATE FUNCTION sno_registry_renew(
    holder bigint, token bigint, next bigint, server pg_catalog.text, asker_now bigint, until bigint, want integer,
    layout pg_catalog.text DEFAULT '')
RETURNS TABLE (
    status pg_catalog.text, range_first bigint, range_last bigint, now bigint,
    first bigint, last bigint, floor bigint, ceiling bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    -- A session that is idle while it holds the lock blocks all others, so a timeout ends it.  A
    -- request must not go on waiting for the lock when its client no longer waits for the answer.
    PERFORM set_config('idle_in_transaction_session_timeout', '15s', true), set_config('lock_timeout', '15s', true);
    -- The clock is read only while the lock is held.
    PERFORM sno_registry.lock();
    RETURN QUERY SELECT * FROM sno_registry.answer(
        sno_registry_renew.holder, sno_registry_renew.token, sno_registry_renew.next,
        sno_registry_renew.server, asker_now, until, want, sno_registry_renew.layout,
        sno_registry.unit_of(clock_timestamp()), sno_registry.timeline(), sno_registry.home());
END
$function$;
COMMENT ON FUNCTION sno_registry_renew(bigint, bigint, bigint, pg_catalog.text, bigint, bigint, integer, pg_catalog.text) IS
    'extend the grants of a holder until the given unit of 4 ms, and grant more '
    'blocks if the holder wants them';

CREATE FUNCTION sno_registry_create(
    first integer, last integer, size integer DEFAULT 64,
    longest interval DEFAULT '25 hours', lossless boolean DEFAULT false,
    after pg_catalog.timestamptz DEFAULT '2010-01-01 00:00:00+00', share integer DEFAULT 16) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    complaint text := CASE
        WHEN num_nulls(first, last, size, longest, lossless, after, share) > 0
        THEN 'No argument may be null.'
        WHEN first < 0 OR last < first OR last > 65535
        THEN 'The partitions must be 0 <= first <= last <= 65535.'
        WHEN longest NOT BETWEEN '1 second' AND '1 year'
        THEN 'The longest grant must be 1 second to 1 year.'
        WHEN share NOT BETWEEN 1 AND 64
        THEN 'The share of a holder is 1 to 64 blocks.'
        END;
BEGIN
    IF complaint IS NOT NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = 'invalid settings of a registry', DETAIL = complaint;
    END IF;
    IF EXISTS (SELECT FROM sno_registry.settings) THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'this database has a registry already',
            DETAIL = 'Its settings cannot be changed, because servers rely on its grants.';
    END IF;

    INSERT INTO sno_registry.settings (longest, lossless, share, home, timeline)
    VALUES (sno_registry_create.longest, sno_registry_create.lossless, sno_registry_create.share,
        sno_registry.home(), sno_registry.timeline());
    PERFORM sno_registry.add('', first, last, size, after);
END
$function$;
COMMENT ON FUNCTION sno_registry_create(integer, integer, integer, interval, boolean, pg_catalog.timestamptz, integer) IS
    'create the registry of the partitions from first to last, in blocks of the '
    'given size';

-- This function checks the same limits of a layout as src/catalog/layout.c.
CREATE FUNCTION sno_registry_add_layout(
    definition pg_catalog.text, first bigint, last bigint, size bigint DEFAULT 8,
    after pg_catalog.timestamptz DEFAULT '2010-01-01 00:00:00+00') RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    s         sno_registry.settings := sno_registry.lock();
    number    constant text := '(0|[1-9][0-9]{0,12})';
    -- These are the epoch, the unit, and the bits of time, node and sequence.
    d         constant bigint[] := (regexp_match(definition,
        '^' || repeat(number || '/', 4) || number || '(/last)?$'))[1:5]::bigint[];
    complaint text := CASE
        WHEN num_nulls(definition, first, last, size, after) > 0
        THEN 'No argument may be null.'
        WHEN d IS NULL
        THEN 'A definition is epoch/unit/time/node/sequence, with /last after that if the node is last.'
        WHEN d[2] = 0
        THEN 'A layout that counts has no time, so servers cannot have its nodes in turn.'
        WHEN d[1] > 3461270400000 OR d[2] IN (2, 3) OR d[2] > 3600000 OR d[3] NOT BETWEEN 1 AND 64
            OR d[4] > 48 OR d[5] NOT BETWEEN 1 AND 32
            OR d[3] + d[4] + d[5] > 64 AND (d[3] + d[4] + d[5] > 128 OR (d[3] + d[4] + d[5]) % 8 <> 0)
        THEN 'No layout has this epoch, unit or bits.'
        WHEN first < 0 OR last < first OR last >= 1::bigint << d[4]::integer
        THEN format('The nodes must be 0 <= first <= last <= %s.', (1::bigint << d[4]::integer) - 1)
        END;
BEGIN
    IF complaint IS NOT NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = 'invalid layout of a registry', DETAIL = complaint,
            HINT = 'In a database with extension sno_flakes, sno_flake_layout_definition() returns the definition.';
    END IF;
    PERFORM sno_registry.refuse_copy(s.home, sno_registry.home());
    IF EXISTS (SELECT FROM sno_registry.space AS e WHERE e.layout = definition) THEN
        RAISE duplicate_object USING
            MESSAGE = format('the registry has layout "%s" already', definition),
            DETAIL = 'Its nodes cannot be changed, because servers rely on its grants.';
    END IF;

    PERFORM sno_registry.follow(sno_registry.timeline(), sno_registry.unit_of(clock_timestamp()));
    PERFORM sno_registry.add(definition, first, last, size, after);
END
$function$;
COMMENT ON FUNCTION sno_registry_add_layout(pg_catalog.text, bigint, bigint, bigint, pg_catalog.timestamptz) IS
    'let the registry grant nodes of a layout, from first to last, in blocks '
    'of the given size';

CREATE FUNCTION sno_registry_vouch() RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    s sno_registry.settings := sno_registry.lock();
BEGIN
    PERFORM sno_registry.refuse_copy(s.home, sno_registry.home());
    PERFORM sno_registry.trust(sno_registry.timeline(), sno_registry.unit_of(clock_timestamp()));
END
$function$;
COMMENT ON FUNCTION sno_registry_vouch() IS
    'confirm that no grant was lost, and that no former primary of the registry '
    'was running';

CREATE FUNCTION sno_registry_report_loss() RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    s sno_registry.settings := sno_registry.lock();
BEGIN
    PERFORM sno_registry.refuse_copy(s.home, sno_registry.home());
    PERFORM sno_registry.lose(1, sno_registry.unit_of(clock_timestamp()));
END
$function$;
COMMENT ON FUNCTION sno_registry_report_loss() IS
    'report a loss of grants that did not change the WAL timeline';

CREATE FUNCTION sno_registry_move() RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    s sno_registry.settings := sno_registry.lock();
BEGIN
    IF s.home = sno_registry.home() THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the registry has not moved',
            HINT = 'If grants were lost, call sno_registry_report_loss().';
    END IF;
    UPDATE sno_registry.settings SET home = sno_registry.home(), timeline = sno_registry.timeline();
    PERFORM sno_registry.lose(1, sno_registry.unit_of(clock_timestamp()));
END
$function$;
COMMENT ON FUNCTION sno_registry_move() IS
    'make this copy the registry, and confirm that the original has stopped for '
    'good';

--
-- privileges
--

REVOKE ALL ON FUNCTION
    sno_registry.unit_of(pg_catalog.timestamptz), sno_registry.time_of(bigint),
    sno_registry.timeline(), sno_registry.home(), sno_registry.lock(), sno_registry.refuse_copy(pg_catalog.text, pg_catalog.text),
    sno_registry.lose(integer, bigint), sno_registry.follow(integer, bigint), sno_registry.trust(integer, bigint),
    sno_registry.answer(bigint, bigint, bigint, pg_catalog.text, bigint, bigint, integer, pg_catalog.text, bigint, integer, pg_catalog.text),
    sno_registry.add(pg_catalog.text, bigint, bigint, bigint, pg_catalog.timestamptz),
    sno_registry_renew(bigint, bigint, bigint, pg_catalog.text, bigint, bigint, integer, pg_catalog.text),
    sno_registry_create(integer, integer, integer, interval, boolean, pg_catalog.timestamptz, integer),
    sno_registry_add_layout(pg_catalog.text, bigint, bigint, bigint, pg_catalog.timestamptz),
    sno_registry_vouch(), sno_registry_report_loss(), sno_registry_move()
FROM PUBLIC;

-- The default privileges of the role that installs the extension may have granted privileges to other
-- roles.  The statement below leaves privileges only to the owner of the objects.
DO $$
DECLARE
    given record;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    FOR given IN
        SELECT o.kind, (pg_identify_object(o.class, o.oid, 0)).identity AS object, o.owner::regrole AS owner,
            (SELECT string_agg(DISTINCT CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END, ', ')
             FROM aclexplode(o.acl) AS g) AS grantees
        FROM pg_namespace AS r
        JOIN (SELECT 'pg_proc'::regclass, oid, 'ROUTINE', proowner, proacl FROM pg_proc
              WHERE pronamespace = 'sno_registry'::regnamespace OR proname ~ '^sno_registry_'
              UNION ALL SELECT 'pg_class'::regclass, oid, 'TABLE', relowner, relacl FROM pg_class
              WHERE relnamespace = 'sno_registry'::regnamespace
              UNION ALL SELECT 'pg_namespace'::regclass, oid, 'SCHEMA', nspowner, nspacl FROM pg_namespace
              WHERE nspname = 'sno_registry') AS o (class, oid, kind, owner, acl) ON o.owner = r.nspowner
        WHERE r.nspname = 'sno_registry' AND o.acl IS NOT NULL
    LOOP
        IF given.grantees IS NOT NULL THEN
            EXECUTE format('REVOKE ALL ON %s %s FROM %s', given.kind, given.object, given.grantees);
        END IF;
        EXECUTE format('GRANT ALL ON %s %s TO %s', given.kind, given.object, given.owner);
    END LOOP;
END
$$;
