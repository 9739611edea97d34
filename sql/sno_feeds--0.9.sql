-- sno_feeds 0.9: readers of feeds, and feeds of the changes of any table.

-- Complain if the script is sourced in psql rather than by CREATE EXTENSION.
\echo Use "CREATE EXTENSION sno_feeds" to load this file. \quit

-- A feed is a table that readers follow in the order of its key.  The guard of the feed, which is
-- the enabled trigger zz_sno_feed, names the key.  No catalog lists the feeds.  A feed NAME has two
-- more tables: NAME_readers has the positions of the readers, and NAME_aside has the ids of rows
-- that readers could not handle.  They belong to the owner of the feed, so that GRANT, pg_dump and
-- pg_upgrade treat them like all tables of the owner.
--
-- A reader has a row of NAME_readers for each part of the feed.  All rows of the part below the
-- position in this row have been handled, or are set aside.  No row will appear there, because a
-- position is never above the watermark of the statement that returned the rows.  That watermark
-- and the returned rows must belong to one snapshot, so the functions that return rows are STABLE
-- (R1).  But these functions must lock and change the latest version of the row of the part.  They
-- do so by sno_feeds.execute_now(), which is VOLATILE, and so has a snapshot of its own.
--
-- sno_feed_next() keeps the row of the part locked until its transaction ends.  sno_feed_take()
-- leases the part instead, for work outside of the transaction.  Each lease has a fence: a number
-- above all earlier fences of the part, including fences that were lost in a failover, or that
-- belonged to a reader that was dropped.  Only the last fence acknowledges rows (R2).  A part is
-- busy while the clock is between busy_at and free_at, so a clock that was set back to a time
-- before busy_at keeps no part busy.
--
-- Each reader also has part -1, which contains no range of the feed.  It returns the rows that were
-- set aside and that sno_feed_retry() has marked, one at a time.
--
-- Functions for users are in pg_catalog.  The functions that they call are in schema sno_feeds.
-- All of them run with the privileges of the calling role, except sno_feeds.status_as_owner().

CREATE SCHEMA sno_feeds;
COMMENT ON SCHEMA sno_feeds IS
    'functions that other functions of extension sno_feeds call';

--
-- feeds
--

-- Raise an error if the current role must not use a table as a feed, or if `owner` is true and the
-- role doesn't own the table.  A superuser must not use tables of ordinary roles, because a
-- trigger, a cast or an index of the table may call functions of its owner.
CREATE FUNCTION sno_feeds.check_role(feed regclass, owner boolean) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    owned_by oid := (SELECT c.relowner FROM pg_class AS c WHERE c.oid = feed);
BEGIN
    IF feed IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'table must not be null';
    ELSIF owned_by IS NULL THEN
        RAISE undefined_table USING MESSAGE = format('relation with OID %s does not exist', feed::oid);
    ELSIF (SELECT r.rolsuper FROM pg_roles AS r WHERE r.rolname = current_user)
        AND NOT (SELECT r.rolsuper FROM pg_roles AS r WHERE r.oid = owned_by)
    THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('a superuser must not use table %s of another role as a feed', feed),
            DETAIL = 'Functions of that role, such as triggers, would run with the privileges of a superuser.',
            HINT = 'Connect as the owner of the table, or as the role of a reader.';
    ELSIF owner AND NOT pg_has_role(owned_by, 'USAGE') THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', feed);
    END IF;
END
$$;
COMMENT ON FUNCTION sno_feeds.check_role(regclass, boolean) IS
    'raise an error if the current role must not use a table as a feed, or must own it and does not';

CREATE FUNCTION sno_feeds.name_of(class pg_class, suffix text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pg_catalog.format('%s.%I', class.relnamespace::pg_catalog.regnamespace,
        class.relname OPERATOR(pg_catalog.||) suffix)
$$;
COMMENT ON FUNCTION sno_feeds.name_of(pg_class, text) IS
    'quoted name of a table that belongs to a feed';

-- Return a feed and the state of its guard: the table itself if it has a guard, otherwise the feed
-- of its changes.  Raise an error if there is neither.  The feed of the changes must have the same
-- owner as the table, because any role with the privilege TRIGGER on the table could create a
-- trigger that leads to another feed.
CREATE FUNCTION sno_feeds.guard_of(
    named          regclass,
    OUT feed       regclass,
    OUT arguments  bytea,
    OUT is_enabled boolean,
    OUT of_flakes  boolean)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    SELECT c.oid, t.tgargs, t.tgenabled IN ('O', 'A'), t.tgfoid = to_regproc('sno_flake_watermark_guard')
    INTO feed, arguments, is_enabled, of_flakes
    FROM pg_class AS c JOIN pg_trigger AS t ON t.tgrelid = c.oid
    WHERE t.tgname = 'zz_sno_feed'
        AND t.tgfoid IN (to_regproc('sno_watermark_guard'), to_regproc('sno_flake_watermark_guard'))
        AND c.oid IN (named, (SELECT to_regclass(format('%s.%I', p.pronamespace::regnamespace, p.proname))
                              FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid
                              WHERE t.tgrelid = named AND t.tgname = 'zz_sno_feed_change'))
        AND c.relowner = (SELECT n.relowner FROM pg_class AS n WHERE n.oid = named)
    ORDER BY c.oid = named DESC LIMIT 1;
    IF feed IS NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('table %s is not a feed', named),
            HINT = format('SELECT sno_feed_create(%1$L); or CALL sno_feed_create_changes(%1$L);', named);
    END IF;
END
$$;
COMMENT ON FUNCTION sno_feeds.guard_of(regclass) IS
    'feed of a table, and its guard';

-- A feed, and the parts of statements that read it.  All texts are quoted names or expressions.
CREATE TYPE sno_feeds.feed AS (
    feed      regclass,
    key       text,
    type      text,             -- type of the key, or base type of its domain
    lowest    text,             -- key that is not above any other
    watermark text,             -- subquery of the watermark
    readers   text,             -- table NAME_readers
    aside     text,             -- table NAME_aside
    part_of   text,             -- part of row t, or null if the reader has one part
    in_order  text              -- ORDER BY clause of rows t
);
COMMENT ON TYPE sno_feeds.feed IS
    'feed, and parts of the statements that read it';

-- Return the feed of a table, for a reader with one part.  Raise an error if the current role must
-- not use the feed, or if readers could miss rows of it, or if one of its tables is missing.
CREATE FUNCTION sno_feeds.feed_of(named regclass) RETURNS sno_feeds.feed
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    f     sno_feeds.feed;
    class pg_class;
    guard record;
    ends  integer;
    name  text;
    types oid;
BEGIN
    PERFORM sno_feeds.check_role(named, false);
    SELECT * INTO guard FROM sno_feeds.guard_of(named);
    f.feed := guard.feed;
    IF NOT guard.is_enabled THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('trigger "zz_sno_feed" of feed %s is disabled', f.feed),
            DETAIL = 'Readers may miss rows that were inserted meanwhile.',
            HINT = format('ALTER TABLE %s ENABLE TRIGGER zz_sno_feed; then rewind the readers.', f.feed);
    END IF;
    SELECT c.* INTO class FROM pg_class AS c WHERE c.oid = f.feed;
    IF class.relispartition THEN
        RAISE wrong_object_type USING
            MESSAGE = format('feed %s has become a partition', f.feed),
            HINT = 'Create a feed of the partitioned table.';
    ELSIF class.relkind = 'r' AND class.relhassubclass
        AND EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhparent = f.feed)
    THEN
        RAISE wrong_object_type USING
            MESSAGE = format('feed %s has child tables', f.feed),
            DETAIL = 'The trigger of the feed does not fire for their rows.';
    END IF;

    -- Each argument of a trigger ends with a zero byte.
    ends := position('\x00'::bytea IN guard.arguments);
    name := convert_from(substring(guard.arguments FOR ends - 1), getdatabaseencoding());
    f.key := quote_ident(name);
    SELECT a.atttypid INTO types
    FROM pg_attribute AS a WHERE a.attrelid = f.feed AND a.attname = name AND NOT a.attisdropped;
    IF NOT FOUND THEN
        RAISE undefined_column USING
            MESSAGE = format('column "%s" of feed %s does not exist', name, f.feed),
            DETAIL = 'The key of the feed was renamed or dropped.',
            HINT = format('SELECT sno_feed_create(%L);', f.feed);
    END IF;
    WHILE types <> 0 LOOP
        SELECT format_type(t.oid, NULL), t.typbasetype INTO f.type, types FROM pg_type AS t WHERE t.oid = types;
    END LOOP;
    f.lowest := quote_literal(CASE f.type WHEN 'sno' THEN '2222222222222222' WHEN 'bigint' THEN '0'
        WHEN 'uuid' THEN '00000000-0000-0000-0000-000000000000' ELSE '' END);
    f.watermark := CASE WHEN guard.of_flakes THEN
        format('(SELECT sno_flake_watermark%s(%L))', CASE f.type WHEN 'bigint' THEN '' ELSE '_' || f.type END,
            convert_from(substring(guard.arguments FROM ends + 1 FOR length(guard.arguments) - ends - 1),
                getdatabaseencoding()))
        ELSE '(SELECT sno_watermark())' END;
    f.readers := sno_feeds.name_of(class, '_readers');
    f.aside := sno_feeds.name_of(class, '_aside');
    IF 2 <> (SELECT count(*) FROM pg_class AS c
             WHERE c.oid IN (to_regclass(f.readers), to_regclass(f.aside)) AND c.relkind = 'r'
                 AND c.relowner = class.relowner)
    THEN
        RAISE undefined_table USING
            MESSAGE = format('feed %s has no tables %s and %s', f.feed, f.readers, f.aside),
            DETAIL = 'They are named after the feed, and have the same owner.',
            HINT = format('After the feed was renamed, rename them, too. Otherwise, SELECT sno_feed_drop(%L);', f.feed);
    END IF;
    f.in_order := ' ORDER BY t.' || f.key;
    RETURN f;
END
$function$;
COMMENT ON FUNCTION sno_feeds.feed_of(regclass) IS
    'feed of a table, or of its changes';

-- Record that rows below the key `removed` were removed, and a problem that all readers have.  A
-- null key leaves the recorded key as it is, and a null problem ends the problem.  Both are columns
-- of the row of the feed, which is the row of NAME_readers whose reader has the name ''.  Its
-- position never falls.  Rows are removed, and readers start, under a lock of this row, so that no
-- reader starts below rows that are removed meanwhile (R4).
CREATE FUNCTION sno_feeds.note(feed regclass, removed text, problem text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f sno_feeds.feed := sno_feeds.feed_of(feed);
BEGIN
    EXECUTE format('INSERT INTO %1$s AS r (reader, part, parts, hash, max_tries, position, error) '
        'VALUES ('''', 0, 1, 0, 1, coalesce($1::%2$s, %3$s), $2) ON CONFLICT (reader, part) '
        'DO UPDATE SET position = GREATEST(r.position, EXCLUDED.position), error = EXCLUDED.error',
        f.readers, f.type, f.lowest)
    USING removed, problem;
END
$$;
COMMENT ON FUNCTION sno_feeds.note(regclass, text, text) IS
    'record the key below which rows of a feed were removed, and a problem of the feed';

-- Create the guard and the tables of a feed.  If the tables exist, only the guard is replaced,
-- which makes the feed usable again after its key was renamed.  Raise an error if the table can't
-- be a feed, or if no key or several keys can be followed.
CREATE FUNCTION sno_feed_create(feed regclass, key name DEFAULT NULL, generator text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    class     pg_class;
    chosen    record;
    arguments bytea;
    guard     pg_trigger;
    readers   text;
    aside     text;
BEGIN
    PERFORM sno_feeds.check_role(feed, true);
    SELECT c.* INTO class FROM pg_class AS c WHERE c.oid = feed;
    IF class.relkind NOT IN ('r', 'p') OR class.relpersistence <> 'p' OR class.relispartition
        OR class.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhparent = feed)
    THEN
        RAISE wrong_object_type USING
            MESSAGE = format('%s cannot be a feed', feed),
            DETAIL = 'A feed is a permanent table without child tables. It may be partitioned, but not be a partition.';
    ELSIF octet_length(class.relname || '_readers') > current_setting('max_identifier_length')::integer THEN
        RAISE name_too_long USING
            MESSAGE = format('the name of table %s is too long for a feed', feed),
            DETAIL = 'The name of the table of its readers ends with "_readers".';
    END IF;

    IF NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = feed AND a.attname = coalesce(key, a.attname)) THEN
        RAISE undefined_column USING MESSAGE = format('column "%s" of table %s does not exist', key, feed);
    END IF;

    -- A column can be the key if it is NOT NULL, and the first column of a valid btree index that
    -- isn't partial.  Its type, or the base type of its domain, is sno, or its ids have a generator.
    WITH RECURSIVE columns AS (
        SELECT a.attnum, a.attname, a.atttypid AS type FROM pg_attribute AS a
        WHERE a.attrelid = feed AND a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull
            AND a.attname = coalesce(sno_feed_create.key, a.attname)
            AND EXISTS (SELECT FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
                        WHERE i.indrelid = feed AND i.indkey[0] = a.attnum AND i.indisvalid AND i.indpred IS NULL
                            AND c.relam = (SELECT m.oid FROM pg_am AS m WHERE m.amname = 'btree'))
        UNION ALL
        SELECT c.attnum, c.attname, t.typbasetype FROM columns AS c JOIN pg_type AS t ON t.oid = c.type
        WHERE t.typbasetype <> 0
    ), keys AS (
        SELECT c.attname, c.type, CASE WHEN c.type <> 'sno'::regtype THEN coalesce(sno_feed_create.generator,
            replace((regexp_match(pg_get_expr(d.adbin, d.adrelid),
                '^sno_flake_generate(?:_uuid|_bytea)?[(]''((?:[^'']|'''')*)''::text[)]$'))[1], '''''', '''')) END
            AS generator
        FROM columns AS c LEFT JOIN pg_attrdef AS d ON d.adrelid = feed AND d.adnum = c.attnum
        WHERE c.type IN ('sno'::regtype, 'bigint'::regtype, 'uuid'::regtype, 'bytea'::regtype)
    )
    SELECT count(*) AS keys, min(k.attname::text) AS key, min(format_type(k.type, NULL)) AS type,
        min(k.generator) AS generator
    INTO chosen FROM keys AS k WHERE k.type = 'sno'::regtype OR k.generator IS NOT NULL;
    IF chosen.keys = 0 THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = CASE WHEN key IS NULL THEN format('table %s has no key that readers can follow', feed)
                ELSE format('readers cannot follow column "%s" of table %s', key, feed) END,
            DETAIL = 'Readers follow a column that is NOT NULL, is the first column of a btree index, '
                'and has ids of type sno or of a generator of sno_flakes.',
            HINT = format('For a table with another key, CALL sno_feed_create_changes(%L).', feed);
    ELSIF chosen.keys > 1 THEN
        RAISE ambiguous_column USING
            MESSAGE = format('table %s has several keys that readers can follow', feed),
            HINT = format('Name one: sno_feed_create(%L, ''column'').', feed);
    ELSIF generator IS NOT NULL AND chosen.type = 'sno' THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('column "%s" of table %s is of type sno', chosen.key, feed),
            DETAIL = 'Only ids of sno_flakes have a generator.';
    END IF;

    arguments := convert_to(chosen.key, getdatabaseencoding()) || '\x00'
        || coalesce(convert_to(chosen.generator, getdatabaseencoding()) || '\x00', '');
    SELECT t.* INTO guard FROM pg_trigger AS t
    WHERE t.tgrelid = feed AND t.tgname = 'zz_sno_feed'
        AND t.tgfoid IN (to_regproc('sno_watermark_guard'), to_regproc('sno_flake_watermark_guard'));
    readers := sno_feeds.name_of(class, '_readers');
    aside := sno_feeds.name_of(class, '_aside');
    -- The tables may belong to a table that this table replaced.  The guard of another key is replaced
    -- only if the column no longer exists, because the key was renamed.
    IF EXISTS (SELECT FROM pg_class AS c WHERE c.oid IN (to_regclass(readers), to_regclass(aside))
               AND (c.relkind <> 'r' OR c.relowner <> class.relowner
                    OR NOT EXISTS (SELECT FROM pg_attribute AS a
                                   WHERE a.attrelid = c.oid AND a.attname IN ('position', 'id')
                                   AND format_type(a.atttypid, NULL) = chosen.type)))
    THEN
        RAISE duplicate_table USING
            MESSAGE = format('%s or %s is another relation', readers, aside),
            DETAIL = 'Tables of these names belong to the owner of the feed, and have keys of its type.';
    ELSIF guard.tgargs <> arguments
        AND EXISTS (SELECT FROM pg_attribute AS a
                    WHERE a.attrelid = feed AND convert_to(a.attname, getdatabaseencoding())
                        = substring(guard.tgargs FOR position('\x00'::bytea IN guard.tgargs) - 1))
    THEN
        RAISE duplicate_object USING
            MESSAGE = format('table %s is a feed with another key', feed),
            HINT = format('SELECT sno_feed_drop(%L);', feed);
    END IF;

    -- A new guard would not be ENABLE ALWAYS.
    IF guard.tgargs IS DISTINCT FROM arguments OR guard.tgenabled NOT IN ('O', 'A') THEN
        EXECUTE format('CREATE OR REPLACE TRIGGER zz_sno_feed BEFORE INSERT OR UPDATE ON %s '
            'FOR EACH ROW EXECUTE FUNCTION %s(%L%s)', feed,
            CASE WHEN chosen.generator IS NULL THEN 'sno_watermark_guard' ELSE 'sno_flake_watermark_guard' END,
            chosen.key, ', ' || quote_literal(chosen.generator));
    END IF;

    -- These columns of NAME_readers are for leases and failures:
    --   upto    position after the present lease is acknowledged, or for part -1 the key of the leased
    --           row; null without a lease that can be acknowledged
    --   singly  position below which rows are returned one by one, because one of them failed
    --   tries   number of tries that failed for the row at the position
    IF to_regclass(readers) IS NULL THEN
        EXECUTE format($$
            CREATE TABLE %1$s (
                reader    text COLLATE "C",
                part      integer,
                parts     integer NOT NULL,
                part_by   name,
                hash      integer NOT NULL,
                max_tries integer NOT NULL,
                paused    boolean NOT NULL DEFAULT false,
                position  %2$s    NOT NULL,
                fence     bigint  NOT NULL DEFAULT 0,
                upto      %2$s,
                singly    %2$s,
                busy_at   timestamptz,
                free_at   timestamptz,
                holder    text,
                tries     integer NOT NULL DEFAULT 0,
                error     text,
                PRIMARY KEY (reader, part)
            ) WITH (fillfactor = 50)$$, readers, chosen.type);
        EXECUTE format('COMMENT ON TABLE %s IS %L', readers, format('positions of the readers of feed %s', feed));
        EXECUTE format($$
            CREATE TABLE %1$s (
                reader text COLLATE "C",
                id     %2$s,
                part   integer NOT NULL,
                tries  integer NOT NULL,
                error  text,
                since  timestamptz NOT NULL DEFAULT clock_timestamp(),
                again  boolean NOT NULL DEFAULT false,
                PRIMARY KEY (reader, id),
                FOREIGN KEY (reader, part) REFERENCES %3$s ON DELETE CASCADE
            )$$, aside, chosen.type, readers);
        -- Each call looks for marked rows.
        EXECUTE format('CREATE INDEX ON %s (reader, id) WHERE again', aside);
        EXECUTE format('COMMENT ON TABLE %s IS %L', aside,
            format('rows of feed %s that readers could not handle', feed));

        -- sno_feed_create_reader() enables row security for the first reader with a role.
        EXECUTE format('CREATE POLICY sno_feed ON %s FOR SELECT USING (true)', readers);
        EXECUTE format('CREATE POLICY sno_feed ON %s FOR SELECT USING (true)', aside);
        EXECUTE format('ALTER TABLE %s OWNER TO %s', readers, class.relowner::regrole);
        EXECUTE format('ALTER TABLE %s OWNER TO %s', aside, class.relowner::regrole);
        PERFORM sno_feeds.note(feed, NULL, NULL);
    END IF;
    -- Reading the watermark raises an error if the feed has none, for example because its generator
    -- doesn't exist.
    EXECUTE 'SELECT ' || (sno_feeds.feed_of(feed)).watermark;
END
$function$;
COMMENT ON FUNCTION sno_feed_create(regclass, name, text) IS
    'let readers follow the rows of a table by its key, without missing one';

-- Return the function that records changes in this feed, or null if this isn't a feed of changes.
-- The function has the name and the owner of the feed.
CREATE FUNCTION sno_feeds.recorder_of(feed regclass) RETURNS regprocedure
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT p.oid
            FROM pg_class AS c
            JOIN pg_proc AS p ON (p.proname, p.pronamespace, p.pronargs, p.proowner)
                = (c.relname, c.relnamespace, 0, c.relowner)
            WHERE c.oid = feed AND p.prorettype = 'trigger'::regtype AND p.prosecdef
                AND ARRAY['changed', 'deleted'] = ARRAY(
                    SELECT a.attname::text FROM pg_attribute AS a
                    WHERE a.attrelid = feed AND a.attnum IN (1, 2) ORDER BY a.attnum));
END
$$;
COMMENT ON FUNCTION sno_feeds.recorder_of(regclass) IS
    'function that records the changes of a table in a feed';

-- Drop the guard of a feed and the tables of its readers.  If it is a feed of changes, also drop
-- the triggers that record changes, their function and the feed itself.  The state of the feed
-- isn't checked, so that a damaged feed can be dropped.
CREATE FUNCTION sno_feed_drop(feed regclass) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    class    pg_class;
    recorder regprocedure;
    beside   text;
BEGIN
    PERFORM sno_feeds.check_role(feed, true);
    feed := (sno_feeds.guard_of(feed)).feed;
    recorder := sno_feeds.recorder_of(feed);
    SELECT c.* INTO class FROM pg_class AS c WHERE c.oid = feed;
    -- Writers of a table lock it before the feed of its changes, so this function does the same.
    EXECUTE (SELECT string_agg(format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass), '; '
                 ORDER BY t.tgrelid = feed)
             FROM pg_trigger AS t
             WHERE t.tgfoid = recorder AND t.tgparentid = 0
                 OR t.tgrelid = feed AND t.tgname ~ '^zz_sno_feed($|_part_)');
    FOREACH beside IN ARRAY ARRAY[sno_feeds.name_of(class, '_aside'), sno_feeds.name_of(class, '_readers')] LOOP
        -- After the feed was renamed, another table may have the name.
        IF EXISTS (SELECT FROM pg_attribute AS a
                   WHERE a.attrelid = to_regclass(beside) AND a.attnum = 1 AND a.attname = 'reader')
        THEN
            EXECUTE format('DROP TABLE %s', beside);
        END IF;
    END LOOP;
    IF recorder IS NOT NULL THEN
        EXECUTE format('DROP FUNCTION %s', recorder);
        EXECUTE format('DROP TABLE %s', feed);
    END IF;
END
$function$;
COMMENT ON FUNCTION sno_feed_drop(regclass) IS
    'drop the readers of a feed, and the table of its changes if it has one';

--
-- feeds of the changes of a table
--

-- NAME_changes has a row for each key of the table NAME.  This row has an id, which is replaced at
-- each change of the key's row, and a mark if the key's row was deleted.  A reader that starts with
-- the oldest row copies the table, and then follows its changes.
--
-- Writers of the table need no privilege on NAME_changes, because the function of the triggers runs
-- with the privileges of the table's owner.  The triggers are ENABLE ALWAYS, so that they also
-- record changes that a subscription applies.  They exist before the present keys are copied, and a
-- copied key never replaces a change.  So no id is older than the last change of its row.

-- Return an operator of an operator class, with its schema, because the search path contains only
-- pg_catalog.
CREATE FUNCTION sno_feeds.operator_of(class oid, strategy integer) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('OPERATOR(%s.%s)', o.oprnamespace::regnamespace, o.oprname)
    FROM pg_opclass AS c
    JOIN pg_amop AS m ON (m.amopfamily, m.amoplefttype, m.amoprighttype) = (c.opcfamily, c.opcintype, c.opcintype)
    JOIN pg_operator AS o ON o.oid = m.amopopr
    WHERE c.oid = class AND m.amopstrategy = strategy
$$;
COMMENT ON FUNCTION sno_feeds.operator_of(oid, integer) IS
    'operator of an operator class';

-- Return the condition that row `s` of a table has the primary key of row `other`.
CREATE FUNCTION sno_feeds.same_key(source regclass, other text) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT string_agg(format('s.%1$I %2$s %3$s.%1$I', a.attname,
                sno_feeds.operator_of(i.indclass[k.nth - 1], 3), other), ' AND ')
            FROM pg_index AS i, unnest(i.indkey) WITH ORDINALITY AS k (attnum, nth), pg_attribute AS a
            WHERE i.indrelid = source AND i.indisprimary AND k.nth <= i.indnkeyatts
                AND a.attrelid = source AND a.attnum = k.attnum);
END
$$;
COMMENT ON FUNCTION sno_feeds.same_key(regclass, text) IS
    'condition that row s of a table has the primary key of another row';

-- Create the feed of the changes of a table, without the present keys, and return it.  If the table
-- has such a feed, only return it.  CREATE TRIGGER waits for the writers of the table, and blocks
-- further writers until the transaction ends, so no later change is missing.  Raise an error if the
-- current role isn't the owner of the table, or if the changes of the table can't be a feed.
CREATE FUNCTION sno_feeds.record_changes(source regclass, generator text, batch integer) RETURNS regclass
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    class    pg_class;
    feed     text;
    columns  text;
    types    text;
    old      text;
    new      text;
    generate text := CASE WHEN generator IS NULL THEN 'sno_generate()'
        ELSE format('sno_flake_generate(%L)', generator) END;
BEGIN
    PERFORM sno_feeds.check_role(source, true);
    IF batch IS NULL OR batch < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'batch must be at least 1';
    END IF;
    SELECT c.* INTO class FROM pg_class AS c WHERE c.oid = source;
    SELECT format('%s.%I', p.pronamespace::regnamespace, p.proname) INTO feed
    FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid
    WHERE t.tgrelid = source AND t.tgname = 'zz_sno_feed_change' AND p.proowner = class.relowner;
    IF feed IS NOT NULL THEN
        PERFORM sno_feed_create(feed, 'changed', generator);
        RETURN feed;
    END IF;
    SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY k.nth),
        string_agg(format('%I %s%s NOT NULL', a.attname, format_type(a.atttypid, a.atttypmod),
            (SELECT format(' COLLATE %s.%I', c.collnamespace::regnamespace, c.collname)
             FROM pg_collation AS c WHERE c.oid = a.attcollation AND c.collname <> 'default')), ', ' ORDER BY k.nth),
        string_agg(format('OLD.%I', a.attname), ', ' ORDER BY k.nth),
        string_agg(format('NEW.%I', a.attname), ', ' ORDER BY k.nth)
    INTO columns, types, old, new
    FROM pg_index AS i, unnest(i.indkey) WITH ORDINALITY AS k (attnum, nth), pg_attribute AS a
    WHERE i.indrelid = source AND i.indisprimary AND k.nth <= i.indnkeyatts
        AND a.attrelid = source AND a.attnum = k.attnum;
    IF columns IS NULL OR class.relkind NOT IN ('r', 'p') OR class.relpersistence <> 'p' OR class.relispartition
        OR class.relforcerowsecurity
        OR class.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhparent = source)
    THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the changes of %s cannot be a feed', source),
            DETAIL = 'Only a permanent table with a primary key, without child tables '
                'and without FORCE ROW LEVEL SECURITY '
                'has a feed of changes. It may be partitioned, but not be a partition.';
    ELSIF octet_length(class.relname || '_changes_readers') > current_setting('max_identifier_length')::integer THEN
        RAISE name_too_long USING
            MESSAGE = format('the name of table %s is too long for a feed of its changes', source),
            DETAIL = 'The name of the table of its readers ends with "_changes_readers".';
    ELSIF regexp_split_to_array(columns, ', ') && ARRAY['changed', 'deleted'] THEN
        RAISE duplicate_column USING
            MESSAGE = format('the changes of %s cannot be a feed', source),
            DETAIL = 'No column of the primary key may have the name "changed" or "deleted".';
    END IF;
    feed := sno_feeds.name_of(class, '_changes');

    EXECUTE format('CREATE TABLE %s (changed %s PRIMARY KEY DEFAULT %s, deleted boolean NOT NULL DEFAULT false, '
            '%s, UNIQUE (%s))',
        feed, CASE WHEN generator IS NULL THEN 'sno' ELSE 'bigint' END, generate, types, columns);
    EXECUTE format('CREATE INDEX ON %s (changed) WHERE deleted', feed);
    EXECUTE format('COMMENT ON TABLE %s IS %L', feed, format('the last change of each row of %s', source));
    EXECUTE format('ALTER TABLE %s OWNER TO %s', feed, class.relowner::regrole);
    -- Mark a key as deleted only if no row of the table has it, because another trigger, or another
    -- part of the command, may have inserted a row with the key again.
    EXECUTE format('CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER '
        'SET search_path = pg_catalog, pg_temp SET row_security = off AS %L', feed, format($body$
#variable_conflict use_column
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        UPDATE %1$s SET changed = %2$s, deleted = true WHERE NOT deleted;
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND ROW(%4$s)::record *<> ROW(%5$s)::record THEN
        INSERT INTO %1$s (deleted, %3$s) VALUES (NOT EXISTS (SELECT FROM %6$s AS s WHERE %7$s), %4$s)
        ON CONFLICT (%3$s) DO UPDATE SET changed = EXCLUDED.changed, deleted = EXCLUDED.deleted;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO %1$s (deleted, %3$s) VALUES (NOT EXISTS (SELECT FROM %6$s AS s WHERE %8$s), %5$s)
        ON CONFLICT (%3$s) DO UPDATE SET changed = EXCLUDED.changed, deleted = EXCLUDED.deleted;
    END IF;
    RETURN NULL;
END
$body$, feed, generate, columns, old, new, source,
        sno_feeds.same_key(source, 'OLD'), sno_feeds.same_key(source, 'NEW')));
    EXECUTE format('COMMENT ON FUNCTION %s() IS %L', feed, format('record a change of %s', source));
    EXECUTE format('ALTER FUNCTION %s() OWNER TO %s', feed, class.relowner::regrole);
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s() FROM PUBLIC', feed);
    PERFORM sno_feed_create(feed, 'changed', generator);
    EXECUTE format('CREATE TRIGGER zz_sno_feed_change AFTER INSERT OR UPDATE OR DELETE ON %s '
            'FOR EACH ROW EXECUTE FUNCTION %s()',
        source, feed);
    EXECUTE format('CREATE TRIGGER zz_sno_feed_truncate AFTER TRUNCATE ON %s '
            'FOR EACH STATEMENT EXECUTE FUNCTION %s()',
        source, feed);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER zz_sno_feed_change, '
        'ENABLE ALWAYS TRIGGER zz_sno_feed_truncate', source);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER zz_sno_feed', feed);
    PERFORM sno_feeds.note(feed, NULL,
        'The keys of the table are not copied yet. CALL sno_feed_create_changes() again.');
    RETURN feed;
END
$function$;
COMMENT ON FUNCTION sno_feeds.record_changes(regclass, text, integer) IS
    'create a feed of the changes of a table from now on';

-- Copy the next keys of a table to the feed of its changes, at most `batch`.  Return the last key
-- as a row of the feed, to be passed as `last` to the next call.  At the end, record that the feed
-- is complete, and return null.  The text of `last` has all digits of floating-point columns.  Raise
-- an error after waiting 10 ms for a lock, because a writer that waits for keys copied in this
-- transaction could otherwise be the victim of a deadlock.
CREATE FUNCTION sno_feeds.copy_keys(source regclass, feed regclass, batch integer, last text) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET lock_timeout = '10ms' SET extra_float_digits = 1
AS $function$
DECLARE
    columns text;
    bounds  text;
    bound   text;
BEGIN
    SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum),
        string_agg(format('($1::%s).%I', feed, a.attname), ', ' ORDER BY a.attnum)
    INTO columns, bounds
    FROM pg_attribute AS a WHERE a.attrelid = feed AND a.attnum > 2;
    -- Comparisons of records use no index, so the first column is compared, too.
    SELECT format('%1$I %2$s ($1::%3$s).%1$I', a.attname, sno_feeds.operator_of(i.indclass[0], 4), feed) INTO bound
    FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = feed AND a.attnum = 3
    WHERE i.indrelid = source AND i.indisprimary;
    EXECUTE format('WITH rows AS (SELECT %1$s FROM %2$s %3$s ORDER BY %1$s LIMIT %4$s), '
        'copy AS (INSERT INTO %5$s (%1$s) SELECT %1$s FROM rows ON CONFLICT DO NOTHING) '
        'SELECT ROW(NULL, NULL, %1$s)::%5$s::text FROM rows ORDER BY ROW(%1$s) DESC LIMIT 1', columns, source,
        CASE WHEN last IS NOT NULL THEN
            format('WHERE %s AND ROW(%s)::record > ROW(%s)::record', bound, columns, bounds) END,
        batch, feed)
    INTO last USING last;
    IF last IS NULL THEN
        PERFORM sno_feeds.note(feed, NULL, NULL);
    END IF;
    RETURN last;
END
$function$;
COMMENT ON FUNCTION sno_feeds.copy_keys(regclass, regclass, integer, text) IS
    'copy the next keys of a table to the feed of its changes';

-- If the procedure is interrupted, the next call goes on: keys that are copied already are skipped.
CREATE PROCEDURE sno_feed_create_changes(source regclass, generator text DEFAULT NULL, batch integer DEFAULT 10000)
LANGUAGE plpgsql
AS $procedure$
DECLARE
    feed pg_catalog.regclass := sno_feeds.record_changes(source, generator, batch);
    size pg_catalog.int4 := batch;
    last pg_catalog.text;
BEGIN
    COMMIT;
    LOOP
        BEGIN
            last := sno_feeds.copy_keys(source, feed, size, last);
            size := batch;
            EXIT WHEN last IS NULL;
        EXCEPTION WHEN lock_not_available THEN
            -- A writer has locked one of the keys.
            size := GREATEST(size OPERATOR(pg_catalog./) 2, 1);
            PERFORM pg_catalog.pg_sleep(0.1);
        END;
        COMMIT;
    END LOOP;
END
$procedure$;
COMMENT ON PROCEDURE sno_feed_create_changes(regclass, text, integer) IS
    'create the feed NAME_changes of inserts, updates and deletes of a table';

--
-- readers
--

CREATE FUNCTION sno_feed_part(anyelement, parts integer) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT pg_catalog.mod(
        pg_catalog.hash_record_extended(ROW($1), 0) OPERATOR(pg_catalog.&) 9223372036854775807,
        $2::bigint)::integer
$$;
COMMENT ON FUNCTION sno_feed_part(anyelement, integer) IS
    'part of a feed to which rows with this value belong, from 0';

-- Raise an error if a reader doesn't exist, or if the current role may not read as this reader.
-- With row security, each role sees the rows of all readers, but changes only those for which it
-- has a policy.
CREATE FUNCTION sno_feeds.check_reader(f sno_feeds.feed, reader text) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    found boolean;
BEGIN
    IF reader IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'reader must not be null';
    END IF;
    EXECUTE 'SELECT true FROM ' || f.readers || ' AS r WHERE r.reader = $1 AND r.part = 0'
        INTO found USING nullif(reader, '');
    IF found IS NULL THEN
        RAISE undefined_object USING MESSAGE = format('reader "%s" of feed %s does not exist', reader, f.feed);
    ELSIF row_security_active(f.readers) AND NOT EXISTS (
        SELECT FROM pg_policy AS p WHERE p.polrelid = f.readers::regclass AND p.polname = 'reader ' || md5(reader)
            AND (SELECT bool_or(pg_has_role(r, 'USAGE')) FROM unnest(p.polroles) AS r))
    THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('permission denied for reader "%s" of feed %s', reader, f.feed);
    END IF;
END
$$;
COMMENT ON FUNCTION sno_feeds.check_reader(sno_feeds.feed, text) IS
    'raise an error if the current role may not read as this reader';

-- Return the feed of a table, divided into the parts of a reader.  Raise an error if the current
-- role may not read as this reader, or if rows would belong to other parts than before.
CREATE FUNCTION sno_feeds.reader_of(named regclass, reader text) RETURNS sno_feeds.feed
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f       sno_feeds.feed := sno_feeds.feed_of(named);
    parts   integer;
    part_by name;
    hash    integer;
BEGIN
    SELECT p[1], p[2], p[3] INTO parts, part_by, hash
    FROM sno_feeds.execute('SELECT ARRAY[r.parts::text, r.part_by, r.hash::text] FROM ' || f.readers
        || ' AS r WHERE r.reader = nullif($1, '''') AND r.part = 0', reader) AS p;
    IF parts IS NULL OR row_security_active(f.readers) THEN
        PERFORM sno_feeds.check_reader(f, reader);
    END IF;
    IF parts > 1 AND hash <> sno_feed_part('sno'::text, 2147483647) THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('reader "%s" of feed %s was created on a machine with another byte order', reader, f.feed),
            DETAIL = 'Rows belong to other parts on this machine.',
            HINT = 'Drop the reader, and create it again with the lowest position of its parts as start.';
    ELSIF part_by IS NOT NULL AND NOT EXISTS (SELECT FROM pg_attribute AS a
                                              WHERE a.attrelid = f.feed AND a.attname = part_by)
    THEN
        RAISE undefined_column USING
            MESSAGE = format('column "%s" of feed %s does not exist', part_by, f.feed),
            DETAIL = format('It divides the rows into parts for reader "%s".', reader);
    END IF;
    IF parts > 1 THEN
        f.part_of := format('sno_feed_part(t.%I, %s)', part_by, parts);
        f.in_order := ' ORDER BY ' || f.part_of || ', t.' || f.key;
    END IF;
    RETURN f;
END
$$;
COMMENT ON FUNCTION sno_feeds.reader_of(regclass, text) IS
    'feed of a table, for a reader';

-- Return the position of a reader that starts with 'oldest', 'now', an id or a time.  Lock the row
-- of the feed until the transaction ends, so that no rows above this position are removed (R4).
-- Raise an error if the position is above the watermark, or if rows above the position were removed.
CREATE FUNCTION sno_feeds.start_of(feed regclass, start text) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    f        sno_feeds.feed;
    removed  text;
    result   text;
    is_ahead boolean;
    is_gone  boolean;
BEGIN
    IF start IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'start must not be null';
    END IF;
    f := sno_feeds.feed_of(feed);
    -- Update the row to lock it.  So a removal in REPEATABLE READ that waits for the lock then fails,
    -- instead of looking for readers with a snapshot that doesn't show the new position.
    EXECUTE 'UPDATE ' || f.readers || ' AS r SET error = r.error WHERE r.reader = '''' RETURNING r.position::text'
        INTO removed;
    IF start = 'oldest' THEN
        EXECUTE 'SELECT ' || f.lowest INTO result;
        RETURN result;
    ELSIF start = 'now' THEN
        EXECUTE 'SELECT ' || f.watermark || '::text' INTO result;
        RETURN result;
    END IF;
    BEGIN
        IF f.type = 'bytea' AND start !~ '^\\x' THEN
            RAISE invalid_text_representation;
        ELSIF f.type = 'sno' AND start !~ '^[2-9a-x]{16}$' THEN
            result := sno_min_from(start::timestamptz)::text;
        ELSE
            EXECUTE format('SELECT %L::%s::text', start, f.type) INTO result;
        END IF;
    EXCEPTION WHEN data_exception THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('invalid start "%s" of a reader', start),
            HINT = CASE f.type WHEN 'sno' THEN 'Write "oldest", "now", an id, or a time.'
                ELSE 'Write "oldest", "now", or an id.' END;
    END;
    -- If the clock was ahead, `removed` may be above the watermark.  New rows then have keys from the
    -- watermark on, so a reader may start there.
    EXECUTE format('SELECT $1::%1$s > %2$s, $1::%1$s < LEAST($2::%1$s, %2$s)', f.type, f.watermark)
        INTO is_ahead, is_gone USING result, removed;
    IF is_ahead THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('start "%s" is ahead of feed %s', start, feed),
            DETAIL = 'The reader would miss rows that appear below this start.';
    ELSIF is_gone THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('rows of feed %s after start "%s" were removed', feed, start),
            DETAIL = format('No row is missing from %s on.', removed),
            HINT = 'Start with "oldest" to read the rows that are left.';
    END IF;
    RETURN result;
END
$function$;
COMMENT ON FUNCTION sno_feeds.start_of(regclass, text) IS
    'position of a reader that starts with the oldest row, now, with an id, or at a time';

-- Return the columns of the index by parts that a reader needs, or null if the index exists, or if
-- the reader has one part.
CREATE FUNCTION sno_feeds.missing_index(f sno_feeds.feed) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    columns text := regexp_replace(f.part_of, '^sno_feed_part[(]t[.]', 'sno_feed_part(') || ', ' || f.key;
BEGIN
    RETURN (SELECT columns WHERE NOT EXISTS (
        SELECT FROM pg_index AS i
        WHERE i.indrelid = f.feed AND i.indisvalid AND i.indpred IS NULL AND i.indnkeyatts >= 2
            AND columns = concat_ws(', ',
                pg_get_indexdef(i.indexrelid, 1, true), pg_get_indexdef(i.indexrelid, 2, true))));
END
$$;
COMMENT ON FUNCTION sno_feeds.missing_index(sno_feeds.feed) IS
    'columns of the index by parts that a reader needs and that does not exist';

-- Raise an error if an UPDATE moves a row to another part without giving it a new key.  The row
-- could be below the position of that part, so the reader would miss it.
CREATE FUNCTION sno_feeds.refuse_move() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE check_violation USING
        MESSAGE = format('row of feed %s cannot be moved to another part with the same id', TG_RELID::regclass),
        DETAIL = format('Column "%s" divides the rows into parts, and readers may have passed the id in the new part.',
            TG_ARGV[0]),
        HINT = 'Give the row a new id in the same UPDATE.';
END
$$;
COMMENT ON FUNCTION sno_feeds.refuse_move() IS
    'refuse an update that moves a row to another part of a feed';

-- The role gets privileges on the tables, and policies that let it change only the rows of this
-- reader.
CREATE FUNCTION sno_feed_create_reader(
    feed      regclass,
    reader    text,
    parts     integer DEFAULT 1,
    part_by   name DEFAULT NULL,
    start     text DEFAULT 'oldest',
    role      name DEFAULT NULL,
    max_tries integer DEFAULT 5)
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    f      sno_feeds.feed := sno_feeds.feed_of(feed);
    policy CONSTANT name := 'reader ' || md5(reader);
    index  text;
    source regclass;
BEGIN
    PERFORM sno_feeds.check_role(f.feed, true);
    IF reader IS NULL OR octet_length(reader) NOT BETWEEN 1 AND 63 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'the name of a reader must have 1 to 63 bytes';
    ELSIF parts IS NULL OR parts NOT BETWEEN 1 AND 1024 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'parts must be between 1 and 1024';
    ELSIF (parts > 1) <> (part_by IS NOT NULL) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'part_by must be given if there are several parts, and only then';
    ELSIF max_tries IS NULL OR max_tries < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'max_tries must be at least 1';
    END IF;
    IF parts > 1 THEN
        IF NOT EXISTS (SELECT FROM pg_attribute AS a
                       WHERE a.attrelid = f.feed AND a.attname = part_by AND a.attnum > 0)
        THEN
            RAISE undefined_column USING MESSAGE = format('column "%s" of feed %s does not exist', part_by, f.feed);
        END IF;
        f.part_of := format('sno_feed_part(t.%I, %s)', part_by, parts);
        index := sno_feeds.missing_index(f);
        IF index IS NOT NULL THEN
            RAISE object_not_in_prerequisite_state USING
                MESSAGE = format('feed %s has no index by parts', f.feed),
                HINT = format('CREATE INDEX CONCURRENTLY ON %s (%s);', f.feed, index);
        END IF;
    END IF;
    BEGIN
        EXECUTE format('INSERT INTO %s (reader, part, parts, part_by, hash, max_tries, position) '
            'SELECT $1, p, $2, $3, sno_feed_part(''sno''::text, 2147483647), $4, $5::%s '
            'FROM generate_series(-1, $2 - 1) AS p',
            f.readers, f.type) USING reader, parts, part_by, max_tries, sno_feeds.start_of(f.feed, start);
    EXCEPTION WHEN unique_violation THEN
        RAISE duplicate_object USING MESSAGE = format('reader "%s" of feed %s already exists', reader, f.feed);
    END;
    IF parts > 1 THEN
        EXECUTE format('CREATE TRIGGER %I AFTER UPDATE ON %s FOR EACH ROW '
            'WHEN (sno_feed_part(OLD.%3$I, %4$s) <> sno_feed_part(NEW.%3$I, %4$s) AND OLD.%5$s = NEW.%5$s) '
            'EXECUTE FUNCTION sno_feeds.refuse_move(%3$L)',
            'zz_sno_feed_part_' || md5(reader), f.feed, part_by, parts, f.key);
    END IF;
    IF role IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', f.readers);
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', f.aside);
        SELECT t.tgrelid INTO source FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
        WHERE t.tgfoid = sno_feeds.recorder_of(f.feed) AND t.tgname = 'zz_sno_feed_change' AND t.tgparentid = 0
            AND pg_has_role(c.relowner, 'USAGE');
        EXECUTE format('GRANT SELECT ON %s TO %I', concat_ws(', ', f.feed, source), role);
        EXECUTE format('GRANT SELECT, UPDATE (paused, position, fence, upto, singly, busy_at, free_at, holder, tries, '
            'error) ON %s TO %I',
            f.readers, role);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', f.aside, role);
        EXECUTE format('CREATE POLICY %I ON %s TO %I USING (reader = %L)', policy, f.readers, role, reader);
        EXECUTE format('CREATE POLICY %I ON %s TO %I USING (reader = %L)', policy, f.aside, role, reader);
    END IF;
END
$function$;
COMMENT ON FUNCTION sno_feed_create_reader(regclass, text, integer, name, text, name, integer) IS
    'create a reader of a feed';

CREATE FUNCTION sno_feed_drop_reader(feed regclass, reader text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f       sno_feeds.feed := sno_feeds.feed_of(feed);
    trigger CONSTANT name := 'zz_sno_feed_part_' || md5(reader);
    policy  CONSTANT name := 'reader ' || md5(reader);
BEGIN
    PERFORM sno_feeds.check_role(f.feed, true);
    PERFORM sno_feeds.check_reader(f, reader);
    EXECUTE format('DELETE FROM %s WHERE reader = $1', f.readers) USING reader;
    IF EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = f.feed AND t.tgname = trigger) THEN
        EXECUTE format('DROP TRIGGER %I ON %s', trigger, f.feed);
    END IF;
    IF EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = f.readers::regclass AND p.polname = policy) THEN
        EXECUTE format('DROP POLICY %I ON %s', policy, f.readers);
        EXECUTE format('DROP POLICY %I ON %s', policy, f.aside);
    END IF;
END
$$;
COMMENT ON FUNCTION sno_feed_drop_reader(regclass, text) IS
    'drop a reader of a feed';

CREATE FUNCTION sno_feed_pause(feed regclass, reader text, paused boolean DEFAULT true) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f sno_feeds.feed := sno_feeds.feed_of(feed);
BEGIN
    PERFORM sno_feeds.check_reader(f, reader);
    IF paused IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'paused must not be null';
    END IF;
    EXECUTE format('UPDATE %s SET paused = $2 WHERE reader = $1', f.readers) USING reader, paused;
END
$$;
COMMENT ON FUNCTION sno_feed_pause(regclass, text, boolean) IS
    'let a reader get no rows, or get rows again';

-- Present leases end: without `upto`, they can't be acknowledged.
CREATE FUNCTION sno_feed_rewind(feed regclass, reader text, start text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f     sno_feeds.feed := sno_feeds.reader_of(feed, reader);
    first text;
BEGIN
    PERFORM sno_feeds.check_role(f.feed, true);
    first := sno_feeds.start_of(f.feed, start);
    EXECUTE format('UPDATE %s SET position = $2::%s, upto = NULL, singly = NULL, busy_at = NULL, free_at = NULL, '
        'holder = NULL, tries = 0, error = NULL WHERE reader = $1', f.readers, f.type) USING reader, first;
    EXECUTE format('DELETE FROM %s WHERE reader = $1 AND id >= $2::%s', f.aside, f.type) USING reader, first;
END
$$;
COMMENT ON FUNCTION sno_feed_rewind(regclass, text, text) IS
    'let a reader go on with the oldest row, now, with an id, or at a time';

--
-- reading
--

-- Execute a statement with parameters of type text, and return the array in the first row of its
-- result, or null if there is no row.  The session keeps the plans of the last statements, so a
-- statement should not contain values that differ in each call.  A plan may have been made when the
-- feed was small, so plans always use indexes.  They don't use JIT, which would compile a plan again in
-- each execution.
CREATE FUNCTION sno_feeds.execute(statement text, VARIADIC "values" text[] DEFAULT '{}') RETURNS text[]
LANGUAGE c STABLE STRICT
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS 'MODULE_PATHNAME', 'sno_feed_execute';
COMMENT ON FUNCTION sno_feeds.execute(text, text[]) IS
    'result of a query, with the snapshot of the calling statement';
CREATE FUNCTION sno_feeds.execute_now(statement text, VARIADIC "values" text[] DEFAULT '{}') RETURNS text[]
LANGUAGE c VOLATILE STRICT
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS 'MODULE_PATHNAME', 'sno_feed_execute';
COMMENT ON FUNCTION sno_feeds.execute_now(text, text[]) IS
    'result of a statement that changes data, with a snapshot of its own';

-- Return the table that has a row type.  Raise an error for other types.
CREATE FUNCTION sno_feeds.table_of(type regtype) RETURNS regclass
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    relation oid := (SELECT nullif(t.typrelid, 0) FROM pg_type AS t WHERE t.oid = type);
BEGIN
    IF relation IS NULL THEN
        RAISE datatype_mismatch USING
            MESSAGE = format('type %s is not the row type of a table', type),
            HINT = 'Name a feed by a null value of its row type, such as NULL::outbox.';
    END IF;
    RETURN relation;
END
$$;
COMMENT ON FUNCTION sno_feeds.table_of(regtype) IS
    'table whose rows have this type';

-- Return the FROM clause and the WHERE clause of rows `t` of a part, from the key `low` on, and
-- below the key `high` if it is given.  The three arguments are expressions.  With several parts,
-- pairs of part and key are compared, because only the index by parts fits such a comparison.
CREATE FUNCTION sno_feeds.rows_of(f sno_feeds.feed, part text, low text, high text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN ' FROM ' || f.feed || ' AS t WHERE ' || CASE
        WHEN f.part_of IS NULL THEN
            't.' || f.key || ' >= ' || low || coalesce(' AND t.' || f.key || ' < ' || high, '')
        ELSE
            '(' || f.part_of || ', t.' || f.key || ') >= (' || part || ', ' || low || ') AND ' || coalesce(
                '(' || f.part_of || ', t.' || f.key || ') < (' || part || ', ' || high || ')',
                f.part_of || ' <= ' || part) END;
END
$$;
COMMENT ON FUNCTION sno_feeds.rows_of(sno_feeds.feed, text, text, text) IS
    'FROM clause and WHERE clause of the rows of a part from a key on, and before a second key';

-- Return a query of the lowest key from the position of part `r` on, and below the key `high` if it
-- is given.  The query has no row for part -1.
CREATE FUNCTION sno_feeds.oldest_of(f sno_feeds.feed, high text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN 'SELECT t.' || f.key || ' AS key' || sno_feeds.rows_of(f, 'r.part', 'r.position', high)
        || ' AND r.part >= 0' || f.in_order || ' LIMIT 1';
END
$$;
COMMENT ON FUNCTION sno_feeds.oldest_of(sno_feeds.feed, text) IS
    'query of the key of the oldest row of a part';

-- Return the FROM clause and the WHERE clause of the parts `r` that have a next row `n`, are not
-- busy and belong to a reader that isn't paused.  The next row is the oldest one below the key
-- `high` if it is given, and for part -1 the oldest marked row of NAME_aside that the feed still
-- contains.  OFFSET 0 keeps the planner from joining the whole feed to find this row.
CREATE FUNCTION sno_feeds.free_parts(f sno_feeds.feed, reader text, high text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN ' FROM ' || f.readers || ' AS r, LATERAL ((' || sno_feeds.oldest_of(f, high) || ') UNION ALL '
            '(SELECT a.id FROM ' || f.aside || ' AS a WHERE r.part = -1 AND a.reader = r.reader AND a.again '
            'AND EXISTS (SELECT FROM ' || f.feed || ' AS t WHERE t.' || f.key || ' = a.id OFFSET 0) '
            'ORDER BY a.id LIMIT 1)) AS n '
        'WHERE r.reader = ' || quote_literal(reader) || ' AND NOT r.paused '
            'AND (r.free_at IS NULL OR clock_timestamp() NOT BETWEEN r.busy_at AND r.free_at)';
END
$$;
COMMENT ON FUNCTION sno_feeds.free_parts(sno_feeds.feed, text, text) IS
    'FROM clause and WHERE clause of the parts of a reader that have rows and are not busy';

-- End the lease of a part, which the caller has locked.  Rows below row `id` are acknowledged, and
-- the others are given back, to be returned again after the time `retry_after`.  An `error` counts
-- as a try of row `id`.  Without `id`, it counts as a try of the row at the position if rows are
-- returned one by one, and otherwise the rows of this batch are returned one by one from now on.  A
-- row without tries left is set aside.  The marked row of part -1 stays set aside, and an error
-- unmarks it.  Raise an error if `id` is not between the keys of the leased rows.
CREATE FUNCTION sno_feeds.give_back(
    feed        regclass,
    reader      text,
    part        integer,
    id          text,
    error       text,
    retry_after interval)
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    f      sno_feeds.feed := sno_feeds.reader_of(feed, reader);
    chosen record;
BEGIN
    EXECUTE format('SELECT r.position::text, r.upto::text, r.singly::text, r.tries, r.max_tries, '
        '(r.tries > 0 OR r.position < r.singly) IS TRUE AS is_single, '
        '$3::%1$s >= r.position AND $3::%1$s < r.upto AS is_taken '
        'FROM %2$s AS r WHERE r.reader = $1 AND r.part = $2', f.type, f.readers)
        INTO chosen USING reader, part, id;
    IF part = -1 THEN
        EXECUTE format('UPDATE %s SET again = $2 IS NULL, tries = tries + ($2 IS NOT NULL)::integer, '
            'error = coalesce($2, error) '
            'WHERE reader = $1 AND id = $3::%s', f.aside, f.type) USING reader, error, chosen.upto;
    ELSIF NOT chosen.is_taken THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('row %s of feed %s is not one of the rows taken', id, f.feed);
    ELSIF error IS NOT NULL AND id IS NULL AND NOT chosen.is_single THEN
        chosen.singly := chosen.upto;
    ELSE
        chosen.position := coalesce(id, chosen.position);
        chosen.tries := chosen.tries + (error IS NOT NULL)::integer;
        IF chosen.tries >= chosen.max_tries THEN
            -- The feed no longer contains the row if it was deleted, or given a new id.
            EXECUTE format('INSERT INTO %s AS a (reader, id, part, tries, error) '
                'SELECT $1, t.%s, $2, $3, $4 FROM %s AS t WHERE t.%2$s = %4$L LIMIT 1 ON CONFLICT (reader, id) '
                'DO UPDATE SET tries = a.tries + $3, error = $4, again = false, since = clock_timestamp()',
                f.aside, f.key, f.feed, chosen.position) USING reader, part, chosen.tries, error;
            EXECUTE 'SELECT coalesce((SELECT t.' || f.key || '::text'
                || sno_feeds.rows_of(f, part::text, quote_literal(chosen.position), quote_literal(chosen.upto))
                || ' AND t.' || f.key || ' <> ' || quote_literal(chosen.position) || f.in_order || ' LIMIT 1), $1)'
                INTO chosen.position USING chosen.upto;
            chosen.tries := 0;
            retry_after := '0';
        END IF;
    END IF;
    EXECUTE format('UPDATE %s SET position = %L, upto = NULL, singly = %L, busy_at = clock_timestamp(), '
        'free_at = clock_timestamp() + coalesce($3, ''0''), holder = NULL, tries = $4, error = $5 '
        'WHERE reader = $1 AND part = $2',
        f.readers, chosen.position, chosen.singly)
        USING reader, part, retry_after, chosen.tries, error;
END
$function$;
COMMENT ON FUNCTION sno_feeds.give_back(regclass, text, integer, text, text, interval) IS
    'end the lease of a part of a reader before its rows are handled';

-- Choose a part of a reader, and lock its row until the transaction ends.  Without a lease, move
-- the position of the part above its next rows, at most `max_rows`, or delete the next row of part
-- -1 from NAME_aside.  With a lease, begin the lease instead.  Return the query of these rows, or
-- null if the reader has no rows that this session can get now.  The query has the columns of
-- sno_feed_next() or of sno_feed_take().  Parts that other sessions have locked are skipped.
CREATE FUNCTION sno_feeds.begin_batch(type regtype, reader text, max_rows integer, lease interval DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    relation CONSTANT regclass := sno_feeds.table_of(type);
    f        sno_feeds.feed;
    chosen   record;
    rows     text;
    is_seen  boolean;
    size     integer;
    upto     text;
    first    text;
    fence    text;
    deleted  text;
    item     text;
    joined   text := '';
BEGIN
    IF max_rows IS NULL OR max_rows < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'max_rows must be at least 1';
    END IF;
    f := sno_feeds.reader_of(relation, reader);
    IF f.feed <> relation AND lease IS NULL THEN
        RAISE datatype_mismatch USING
            MESSAGE = format('%s is not the row type of feed %s', relation, f.feed),
            HINT = format('Write NULL::%s.', f.feed);
    ELSIF f.feed <> relation AND row_security_active(relation) THEN
        RAISE feature_not_supported USING
            MESSAGE = format('role %s cannot read the changes of table %s', current_user::regrole, relation),
            DETAIL = 'Row-level security of the table applies to the role, so hidden rows would look like deleted rows.';
    END IF;

    -- Choose the part with the oldest row.  If its lease is over, end the lease, and choose again.
    -- Without a lease, no tries are counted, so part -1 comes last, because a row of it that always
    -- fails must not keep the session from the other parts.
    LOOP
        SELECT p[1] AS part, p[2] AS position, p[3]::boolean AS is_leased, p[4]::boolean AS is_single INTO chosen
        FROM sno_feeds.execute_now(
            'SELECT ARRAY[r.part, r.position, r.upto IS NOT NULL, r.tries > 0 OR r.position < r.singly]::text[]'
            || sno_feeds.free_parts(f, reader, f.watermark)
            || ' ORDER BY ' || CASE WHEN lease IS NULL THEN 'r.part = -1, ' ELSE '' END
            || 'n.key LIMIT 1 FOR UPDATE OF r SKIP LOCKED') AS p;
        IF chosen.part IS NULL THEN
            RETURN NULL;
        END IF;
        EXIT WHEN NOT chosen.is_leased;
        PERFORM sno_feeds.execute_now('SELECT ARRAY[sno_feeds.give_back($1::regclass, $2, $3::integer, NULL, $4, ''0'')'
            '::text]', f.feed::text, reader, chosen.part, 'lease ended');
    END LOOP;
    size := CASE WHEN chosen.is_single THEN 1 ELSE max_rows END;
    IF chosen.part = '-1' THEN
        upto := (sno_feeds.execute_now('SELECT ARRAY[n.key::text]' || sno_feeds.free_parts(f, reader, f.watermark)
            || ' AND r.part = -1'))[1];
        IF upto IS NULL THEN
            RETURN NULL;
        END IF;
        rows := ' FROM ' || f.feed || ' AS t WHERE t.' || f.key || ' = ' || quote_literal(upto);
        EXECUTE 'SELECT EXISTS (SELECT' || rows || ')' INTO is_seen;
        IF NOT is_seen THEN
            RETURN NULL;
        END IF;
    ELSE
        rows := sno_feeds.rows_of(f, '$2::integer', '$3::' || f.type, f.watermark);
        -- Without a lease, the calling statement itself handles the rows, so its snapshot must show the
        -- last change of the position.  If it doesn't, the next statement gets the rows.
        SELECT p[1], p[2], p[3]::boolean INTO first, upto, is_seen
        FROM sno_feeds.execute('SELECT ARRAY[(SELECT t.' || f.key || rows || f.in_order || ' LIMIT 1)::text, '
                'coalesce((SELECT t.' || f.key || rows || f.in_order || ' OFFSET $4::bigint LIMIT 1), '
                || f.watermark || ')::text, (SELECT r.position = $3::' || f.type || ' FROM ' || f.readers
                || ' AS r WHERE r.reader = $1 AND r.part = $2::integer)::text]',
            reader, chosen.part, chosen.position, size::text) AS p;
        IF first IS NULL OR lease IS NULL AND is_seen IS NOT TRUE THEN
            RETURN NULL;
        END IF;
        -- If the index isn't unique, more than `size` rows may have the same key.  Return all of them.
        IF upto = first THEN
            upto := (sno_feeds.execute('SELECT ARRAY[coalesce((SELECT t.' || f.key || rows
                || ' AND t.' || f.key || ' > $4::' || f.type || f.in_order || ' LIMIT 1), ' || f.watermark || ')::text]',
                reader, chosen.part, chosen.position, first))[1];
            size := NULL;
        END IF;
        -- The limit drops no row, but gives the planner the number of rows.
        rows := sno_feeds.rows_of(f, chosen.part, quote_literal(first), quote_literal(upto)) || f.in_order
            || coalesce(' LIMIT ' || size, '');
    END IF;

    IF lease IS NULL THEN
        PERFORM sno_feeds.execute_now(CASE chosen.part
            WHEN '-1' THEN 'DELETE FROM ' || f.aside || ' WHERE id = $1::' || f.type || ' AND reader = $2'
            ELSE 'UPDATE ' || f.readers || ' SET position = $1::' || f.type || ', tries = 0, error = NULL '
                'WHERE reader = $2 AND part = $3::integer' END,
            upto, reader, chosen.part);
        RETURN 'SELECT t.*' || rows;
    END IF;

    -- The tries belong to the row at the position.  If it was deleted, or given a new id, they don't
    -- count for the row that is now the first row.
    fence := (sno_feeds.execute_now(format('UPDATE %1$s SET position = coalesce($1::%2$s, position), '
            'tries = CASE position WHEN $1::%2$s THEN tries ELSE 0 END, upto = $2::%2$s, '
            'fence = GREATEST(fence + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint), '
            'busy_at = clock_timestamp(), free_at = clock_timestamp() + $3::interval, holder = $4 '
            'WHERE reader = $5 AND part = $6::integer RETURNING ARRAY[fence]::text[]', f.readers, f.type),
        first, upto, lease::text, current_user || ' ' || pg_backend_pid(), reader, chosen.part))[1];

    -- Of a deleted row, only the key is known.  TRUNCATE also removes rows that the snapshot should
    -- contain, so a row that isn't found counts as deleted.
    IF f.feed <> relation THEN
        SELECT format('t.deleted OR s.%I IS NULL', a.attname) INTO deleted
        FROM pg_attribute AS a WHERE a.attrelid = f.feed AND a.attnum = 3;
        SELECT format('ROW(%s)::%s',
            string_agg(format('%s.%I', CASE WHEN k.attnum IS NULL THEN 's' ELSE 't' END, a.attname), ', '
                ORDER BY a.attnum), relation) INTO item
        FROM pg_attribute AS a LEFT JOIN pg_attribute AS k
            ON k.attrelid = f.feed AND k.attnum > 2 AND k.attname = a.attname
        WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped;
        joined := ' LEFT JOIN ' || relation || ' AS s ON ' || sno_feeds.same_key(relation, 't');
    ELSE
        deleted := CASE WHEN sno_feeds.recorder_of(relation) IS NULL THEN 'false' ELSE 't.deleted' END;
        item := '(t.*)::' || relation;
    END IF;
    RETURN format('SELECT %s, %s::bigint, t.%s::text, %s, %s FROM (SELECT t.*%s) AS t%s ORDER BY t.%s',
        chosen.part, fence, f.key, deleted, item, rows, joined, f.key);
END
$function$;
COMMENT ON FUNCTION sno_feeds.begin_batch(regtype, text, integer, interval) IS
    'query of the next rows of a reader';

CREATE FUNCTION sno_feed_next(feed anyelement, reader text, max_rows integer DEFAULT 1000) RETURNS SETOF anyelement
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    statement text := sno_feeds.begin_batch(pg_typeof(feed), reader, max_rows);
BEGIN
    IF statement IS NOT NULL THEN
        RETURN QUERY EXECUTE statement;
    END IF;
END
$$;
COMMENT ON FUNCTION sno_feed_next(anyelement, text, integer) IS
    'next rows of a reader, which are handled when the transaction commits';

-- Return the time of a lease.  Raise an error unless it is positive.
CREATE FUNCTION sno_feeds.check_lease(lease interval) RETURNS interval
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF lease > '0' THEN
        RETURN lease;
    END IF;
    RAISE invalid_parameter_value USING MESSAGE = 'lease must be positive';
END
$$;
COMMENT ON FUNCTION sno_feeds.check_lease(interval) IS
    'time of a lease, if it is positive';

CREATE FUNCTION sno_feed_take(
    feed        anyelement,
    reader      text,
    max_rows    integer DEFAULT 1000,
    lease       interval DEFAULT '1 minute',
    OUT part    integer,
    OUT fence   bigint,
    OUT id      text,
    OUT deleted boolean,
    OUT item    anyelement)
RETURNS SETOF record
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    statement text := sno_feeds.begin_batch(pg_typeof(feed), reader, max_rows, sno_feeds.check_lease(lease));
BEGIN
    IF statement IS NOT NULL THEN
        RETURN QUERY EXECUTE statement;
    END IF;
END
$$;
COMMENT ON FUNCTION sno_feed_take(anyelement, text, integer, interval) IS
    'next rows of a reader, for sno_feed_done() or sno_feed_fail() within the time of the lease';

-- Lock the row of a part until the transaction ends, and return the feed for its reader.  Raise an
-- error if the part isn't leased with this fence, or if this lease was acknowledged or given back.
CREATE FUNCTION sno_feeds.lock_lease(feed regclass, reader text, part integer, fence bigint) RETURNS sno_feeds.feed
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f     sno_feeds.feed := sno_feeds.reader_of(feed, reader);
    found boolean;
BEGIN
    IF part IS NULL OR fence IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'part and fence must not be null';
    END IF;
    EXECUTE 'SELECT true FROM ' || f.readers || ' AS r '
        'WHERE r.reader = $1 AND r.part = $2 AND r.fence = $3 AND r.upto IS NOT NULL FOR UPDATE'
    INTO found USING reader, part, fence;
    IF found IS NULL THEN
        RAISE lock_not_available USING
            MESSAGE = format('part %s of reader "%s" of feed %s is not leased with fence %s',
                part, reader, f.feed, fence),
            DETAIL = 'The rows are acknowledged or given back already, '
                'or they were taken again after the end of the lease, or the reader was rewound.';
    END IF;
    RETURN f;
END
$$;
COMMENT ON FUNCTION sno_feeds.lock_lease(regclass, text, integer, bigint) IS
    'lock a part of a reader, or raise an error if its lease is lost';

CREATE FUNCTION sno_feed_done(feed regclass, reader text, part integer, fence bigint) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f sno_feeds.feed := sno_feeds.lock_lease(feed, reader, part, fence);
BEGIN
    IF part = -1 THEN
        EXECUTE format('DELETE FROM %s AS a USING %s AS r '
                'WHERE a.reader = $1 AND r.reader = $1 AND r.part = -1 AND a.id = r.upto',
            f.aside, f.readers) USING reader;
    END IF;
    EXECUTE format('UPDATE %s SET position = CASE WHEN part >= 0 THEN upto ELSE position END, upto = NULL, '
            'busy_at = NULL, free_at = NULL, holder = NULL, tries = 0, error = NULL WHERE reader = $1 AND part = $2',
        f.readers) USING reader, part;
END
$$;
COMMENT ON FUNCTION sno_feed_done(regclass, text, integer, bigint) IS
    'acknowledge the rows of sno_feed_take()';

CREATE FUNCTION sno_feed_extend(
    feed   regclass,
    reader text,
    part   integer,
    fence  bigint,
    lease  interval DEFAULT '1 minute')
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f sno_feeds.feed := sno_feeds.lock_lease(feed, reader, part, fence);
BEGIN
    EXECUTE format('UPDATE %s SET busy_at = clock_timestamp(), free_at = clock_timestamp() + $3 '
            'WHERE reader = $1 AND part = $2',
        f.readers) USING reader, part, sno_feeds.check_lease(lease);
END
$$;
COMMENT ON FUNCTION sno_feed_extend(regclass, text, integer, bigint, interval) IS
    'let a lease end later: when this time has passed from now on';

CREATE FUNCTION sno_feed_fail(
    feed        regclass,
    reader      text,
    part        integer,
    fence       bigint,
    id          text DEFAULT NULL,
    error       text DEFAULT NULL,
    retry_after interval DEFAULT '1 second')
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM sno_feeds.lock_lease(feed, reader, part, fence);
    PERFORM sno_feeds.give_back(feed, reader, part, id, error, retry_after);
END
$$;
COMMENT ON FUNCTION sno_feed_fail(regclass, text, integer, bigint, text, text, interval) IS
    'give back the rows of sno_feed_take() from the failed row on, and acknowledge the rows before it';

--
-- rows that were set aside
--

-- The item is null for a row that the feed no longer contains.
CREATE FUNCTION sno_feed_aside(
    feed      anyelement,
    reader    text,
    OUT part  integer,
    OUT id    text,
    OUT tries integer,
    OUT error text,
    OUT since timestamptz,
    OUT again boolean,
    OUT item  anyelement)
RETURNS SETOF record
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    relation CONSTANT regclass := sno_feeds.table_of(pg_typeof(feed));
    f        sno_feeds.feed := sno_feeds.reader_of(relation, reader);
BEGIN
    IF f.feed <> relation THEN
        RAISE datatype_mismatch USING
            MESSAGE = format('%s is not the row type of feed %s', relation, f.feed),
            HINT = format('Write NULL::%s.', f.feed);
    END IF;
    RETURN QUERY EXECUTE format('SELECT a.part, a.id::text, a.tries, a.error, a.since, a.again, (t.*)::%2$s '
        'FROM %1$s AS a LEFT JOIN %2$s AS t ON t.%3$s = a.id WHERE a.reader = $1 ORDER BY a.id',
        f.aside, relation, f.key) USING reader;
END
$$;
COMMENT ON FUNCTION sno_feed_aside(anyelement, text) IS
    'rows that a reader could not handle, with the last error of each';

-- Mark rows that were set aside, and return their number.  Rows that the feed no longer contains
-- are deleted from NAME_aside.
CREATE FUNCTION sno_feed_retry(feed regclass, reader text, id text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f       sno_feeds.feed := sno_feeds.reader_of(feed, reader);
    changed bigint;
BEGIN
    EXECUTE format('DELETE FROM %s AS a '
            'WHERE a.reader = $1 AND NOT EXISTS (SELECT FROM %s AS t WHERE t.%s = a.id)', f.aside, f.feed, f.key)
        USING reader;
    EXECUTE format('UPDATE %s SET again = true WHERE reader = $1 AND ($2 IS NULL OR id = $2::%s)', f.aside, f.type)
        USING reader, id;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;
COMMENT ON FUNCTION sno_feed_retry(regclass, text, text) IS
    'let a reader take a row again that was set aside, or all of them';

--
-- waiting
--

-- Return the feed of a table, and a query that looks for rows of a reader in parts that aren't
-- busy.  Its result is null if there are no rows, 0 if all rows are above the watermark, and
-- otherwise a hash of the parts with rows, which changes when one of them has another next row or
-- fence.
CREATE FUNCTION sno_feeds.look(named regclass, reader text, OUT feed regclass, OUT query text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    f sno_feeds.feed := sno_feeds.reader_of(named, reader);
BEGIN
    feed := f.feed;
    query := 'SELECT CASE WHEN bool_or(n.key < ' || f.watermark || ' OR r.part = -1) THEN '
            'hashtextextended(' || quote_literal(f.feed::oid || ' ' || reader) || ' || '
            'string_agg(concat_ws('' '', '''', r.part, n.key, r.fence), '''' ORDER BY r.part), 0) | 1 '
            'WHEN count(*) > 0 THEN 0 END'
        || sno_feeds.free_parts(f, reader);
END
$function$;
COMMENT ON FUNCTION sno_feeds.look(regclass, text) IS
    'feed of a table, and query that looks for rows of a reader';

CREATE PROCEDURE sno_feed_wait(feed regclass, reader text, timeout interval DEFAULT '1 minute')
AS 'MODULE_PATHNAME'
LANGUAGE C;
COMMENT ON PROCEDURE sno_feed_wait(regclass, text, interval) IS
    'wait, without a transaction, until a reader may have rows';

--
-- removal
--

-- If no reader needs a row below the watermark, return the watermark.
CREATE FUNCTION sno_feed_needed(feed regclass) RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    f      sno_feeds.feed := sno_feeds.feed_of(feed);
    reader text;
    lowest text;
BEGIN
    EXECUTE 'SELECT ' || f.watermark || '::text' INTO lowest;
    FOR reader IN EXECUTE 'SELECT DISTINCT r.reader FROM ' || f.readers || ' AS r WHERE r.reader <> ''''' LOOP
        f := sno_feeds.reader_of(feed, reader);
        EXECUTE 'SELECT LEAST($1::' || f.type || ', (SELECT n.key FROM ' || f.readers || ' AS r, '
            'LATERAL (' || sno_feeds.oldest_of(f) || ') AS n '
            'WHERE r.reader = $2 ORDER BY n.key LIMIT 1))::text'
            INTO lowest USING lowest, reader;
    END LOOP;
    RETURN lowest;
END
$function$;
COMMENT ON FUNCTION sno_feed_needed(regclass) IS
    'key below which all readers of a feed have handled all rows, except rows that were set aside';

-- Delete the oldest rows that are older than `keep` and that no reader needs, at most `batch`,
-- record the key below which rows were removed, and return the number of rows.  Of a feed of
-- changes, only delete rows of deleted keys.  Lock the row of the feed until the transaction ends
-- (R4).  Raise an error if the current role doesn't own the feed, or if the feed is incomplete.
CREATE FUNCTION sno_feeds.remove_batch(feed regclass, keep interval, batch integer) RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    f       sno_feeds.feed := sno_feeds.feed_of(feed);
    rows    text;
    below   text;
    problem text;
    removed bigint;
BEGIN
    PERFORM sno_feeds.check_role(f.feed, true);
    IF batch IS NULL OR batch < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'batch must be at least 1';
    ELSIF keep IS NULL OR keep < '0' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'keep must not be null or negative';
    ELSIF keep <> '0' AND f.type <> 'sno' THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('keep must be 0 for feed %s', f.feed),
            DETAIL = 'The key of the feed is not of type sno, so its time is not known.';
    END IF;
    EXECUTE 'SELECT r.error FROM ' || f.readers || ' AS r WHERE r.reader = '''' FOR UPDATE' INTO problem;
    IF problem IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('feed %s is incomplete', f.feed),
            DETAIL = problem;
    END IF;
    below := sno_feed_needed(f.feed);
    IF keep <> '0' THEN
        below := LEAST(below::sno, sno_min_from(clock_timestamp() - keep))::text;
    END IF;
    rows := format('FROM %s AS t WHERE t.%s < $1::%s AND NOT EXISTS (SELECT FROM %s AS a WHERE a.id = t.%2$s)%5$s',
        f.feed, f.key, f.type, f.aside,
        CASE WHEN sno_feeds.recorder_of(f.feed) IS NOT NULL THEN ' AND t.deleted' END);
    EXECUTE format('SELECT coalesce((SELECT t.%1$s::text %2$s ORDER BY t.%1$s OFFSET $2 LIMIT 1), $1)', f.key, rows)
        INTO below USING below, batch;
    -- Skip rows that a writer has locked, because the writer may wait for rows that are deleted here.
    EXECUTE format('DELETE FROM %s AS d WHERE d.%s = ANY (ARRAY(SELECT t.%2$s %3$s FOR UPDATE OF t SKIP LOCKED))',
            f.feed, f.key, rows)
        USING below;
    GET DIAGNOSTICS removed = ROW_COUNT;
    PERFORM sno_feeds.note(f.feed, below, NULL);
    RETURN removed;
END
$function$;
COMMENT ON FUNCTION sno_feeds.remove_batch(regclass, interval, integer) IS
    'delete the oldest rows of a feed that no reader needs';

CREATE PROCEDURE sno_feed_remove(feed regclass, keep interval, batch integer DEFAULT 10000)
LANGUAGE plpgsql
AS $procedure$
BEGIN
    WHILE sno_feeds.remove_batch(feed, keep, batch) OPERATOR(pg_catalog.>) 0 LOOP
        COMMIT;
    END LOOP;
END
$procedure$;
COMMENT ON PROCEDURE sno_feed_remove(regclass, interval, integer) IS
    'delete rows of a feed that all readers have handled and that are older than a time';

--
-- status
--

CREATE TYPE sno_feeds.state AS (
    reader     text,
    part       integer,
    state      text,
    "position" text,
    lag        interval,
    lag_rows   bigint,
    busy_until timestamptz,
    holder     text,
    tries      integer,
    error      text,
    set_aside  bigint,
    is_held    boolean,
    problem    text
);
COMMENT ON TYPE sno_feeds.state IS
    'state of a part of a reader';

-- Return the state of each part of the readers of a feed, or one row with the problem of a feed
-- without readers.  The function executes no policies and waits at most 100 ms for a lock, so that
-- one feed can't keep a monitoring program from the others.  `is_held` is true if the watermark is
-- not above the oldest row of the part, and `is_ahead` if the position is above the watermark, which is
-- the lowest key while it isn't known.
CREATE FUNCTION sno_feeds.status(named regclass) RETURNS SETOF sno_feeds.state
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET row_security = off SET lock_timeout = '100ms'
AS $function$
DECLARE
    f         sno_feeds.feed := sno_feeds.feed_of(named);
    r         record;
    s         sno_feeds.state;
    watermark text := f.watermark;
    known     text;
    plan      json;
BEGIN
    EXECUTE 'SELECT r.error FROM ' || f.readers || ' AS r WHERE r.reader = ''''' INTO known;
    BEGIN
        EXECUTE 'SELECT ' || f.watermark;
    EXCEPTION WHEN object_not_in_prerequisite_state THEN
        known := SQLERRM;
        watermark := 'NULL';
    END;
    IF EXISTS (SELECT FROM pg_partition_tree(f.feed) AS p JOIN pg_trigger AS t ON t.tgrelid = p.relid
               WHERE t.tgname = 'zz_sno_feed' AND t.tgenabled NOT IN ('O', 'A'))
    THEN
        known := 'the trigger of the feed is disabled for a partition';
    ELSIF EXISTS (SELECT FROM pg_subscription_rel AS sr WHERE sr.srrelid = f.feed) THEN
        known := coalesce(known, 'a subscription inserts rows without the trigger of the feed');
    END IF;
    FOR s.reader IN
        EXECUTE 'SELECT DISTINCT r.reader FROM ' || f.readers || ' AS r WHERE r.reader <> '''' ORDER BY 1'
    LOOP
        f := sno_feeds.reader_of(named, s.reader);
        FOR r IN EXECUTE format(
            'SELECT r.part, r.paused, r.position::text, r.upto::text, r.free_at, r.holder, r.tries, r.error, '
            'n.key::text AS oldest, clock_timestamp() BETWEEN r.busy_at AND r.free_at AS is_busy, '
            '(SELECT count(*) FROM %s AS a WHERE a.reader = r.reader AND a.part = r.part) AS set_aside, '
            'r.position > %s AND %2$s > %5$s AS is_ahead, n.key >= %2$s AS is_held '
            'FROM %3$s AS r LEFT JOIN LATERAL (%4$s) AS n ON true WHERE r.reader = $1 AND r.part >= 0 ORDER BY r.part',
            f.aside, watermark, f.readers, sno_feeds.oldest_of(f), f.lowest) USING s.reader
        LOOP
            s.part := r.part;
            s.state := CASE WHEN r.paused THEN 'paused' WHEN r.is_busy AND r.upto IS NOT NULL THEN 'leased'
                WHEN r.is_busy THEN 'delayed' WHEN r.oldest IS NOT NULL THEN 'ready' ELSE 'idle' END;
            s.position := r.position;
            s.lag := '0';
            s.lag_rows := 0;
            IF r.oldest IS NOT NULL THEN
                s.lag := CASE WHEN f.type = 'sno' THEN
                    greatest(clock_timestamp() - sno_timestamp(r.oldest::sno), '0') END;
                EXECUTE 'EXPLAIN (FORMAT JSON) SELECT'
                    || sno_feeds.rows_of(f, s.part::text, quote_literal(r.oldest)) INTO plan;
                s.lag_rows := (plan #>> '{0,Plan,Plan Rows}')::numeric;
            END IF;
            s.busy_until := CASE WHEN r.is_busy THEN r.free_at END;
            s.holder := CASE WHEN r.is_busy THEN r.holder END;
            s.tries := r.tries;
            s.error := r.error;
            s.set_aside := r.set_aside;
            s.is_held := r.is_held;
            s.problem := CASE
                WHEN known IS NOT NULL THEN known
                WHEN r.is_ahead THEN 'the position is above the watermark'
                WHEN sno_feeds.missing_index(f) IS NOT NULL THEN 'the index by parts is missing' END;
            RETURN NEXT s;
        END LOOP;
    END LOOP;
    IF s.reader IS NULL THEN
        s.problem := known;
        RETURN NEXT s;
    END IF;
END
$function$;
COMMENT ON FUNCTION sno_feeds.status(regclass) IS
    'state of the readers of a feed';

-- Return the rows of sno_feeds.status(), which runs with the privileges of the feed's owner, because
-- statements on the feed may call functions of the owner.  Return no rows if the caller has neither
-- the privilege SELECT on the feed, nor the privileges of pg_monitor or of the database's owner.
CREATE FUNCTION sno_feeds.status_as_owner(named regclass) RETURNS SETOF sno_feeds.state
AS 'MODULE_PATHNAME', 'sno_feed_status'
LANGUAGE C STRICT;
COMMENT ON FUNCTION sno_feeds.status_as_owner(regclass) IS
    'state of the readers of a feed, read with the privileges of its owner';

-- An error that concerns one feed is returned as a problem of this feed.
CREATE FUNCTION sno_feeds(
    OUT feed       regclass,
    OUT reader     text,
    OUT part       integer,
    OUT state      text,
    OUT "position" text,
    OUT lag        interval,
    OUT lag_rows   bigint,
    OUT busy_until timestamptz,
    OUT holder     text,
    OUT tries      integer,
    OUT error      text,
    OUT set_aside  bigint,
    OUT blocker    integer,
    OUT problem    text)
RETURNS SETOF record
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    named regclass;
    holds integer;
BEGIN
    IF has_function_privilege('sno_watermark_blockers()', 'EXECUTE') THEN
        SELECT b.pid INTO holds
        FROM sno_watermark_blockers() AS b WHERE b.pid <> pg_backend_pid() ORDER BY b.since LIMIT 1;
    END IF;
    FOR named IN
        SELECT t.tgrelid FROM pg_trigger AS t
        WHERE t.tgname = 'zz_sno_feed' AND t.tgparentid = 0
            AND t.tgfoid IN (to_regproc('sno_watermark_guard'), to_regproc('sno_flake_watermark_guard'))
        ORDER BY t.tgrelid::regclass::text
    LOOP
        BEGIN
            RETURN QUERY SELECT named, s.reader, s.part, s.state, s.position, s.lag, s.lag_rows, s.busy_until, s.holder,
                s.tries, s.error, s.set_aside, CASE WHEN s.is_held THEN holds END, s.problem
            FROM sno_feeds.status_as_owner(named) AS s;
        EXCEPTION WHEN OTHERS THEN
            feed := named;
            problem := SQLERRM;
            RETURN NEXT;
        END;
    END LOOP;
END
$function$;
COMMENT ON FUNCTION sno_feeds() IS
    'readers of all feeds of the database, how far they are behind, and why';

--
-- grants
--

CALL sno_catalog.sno_settle_privileges('sno_feeds');
GRANT USAGE ON SCHEMA sno_feeds TO PUBLIC;
