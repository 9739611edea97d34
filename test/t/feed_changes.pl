
# A feed of the changes of a table: copies that readers keep are equal to the table in the end,
# whatever writers did meanwhile, and no writer fails because of the feed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $node = start_node('main', conf => 'deadlock_timeout = 100ms', sql => q{
CREATE EXTENSION sno_feeds;

-- Item 0 of parent 0 shows when the procedures shall end.
CREATE TABLE parent (id integer PRIMARY KEY);
CREATE TABLE item (
	parent integer REFERENCES parent ON UPDATE CASCADE ON DELETE CASCADE,
	id integer,
	n integer NOT NULL,
	PRIMARY KEY (parent, id));
CREATE SEQUENCE stop;

-- Parent 0 has items that all writers change, one at a time.  The parents 10 w and 10 w + 1 have those of
-- writer w.  So without the feed, no writer waits for a row of another one while it has one for
-- which the other one waits.
CREATE PROCEDURE write(w integer) LANGUAGE plpgsql AS $$
DECLARE
	own integer := 10 * w;
	k   integer;
BEGIN
	FOR i IN 1 .. 1000000 LOOP
		EXIT WHEN i > 200 AND (SELECT is_called FROM stop);
		k := 1 + floor(random() * 20);
		CASE (i + floor(random() * 3)::integer) % 12
		WHEN 0, 1 THEN
			INSERT INTO item VALUES (0, k, i) ON CONFLICT (parent, id) DO UPDATE SET n = EXCLUDED.n;
		WHEN 2 THEN
			UPDATE item SET n = i WHERE parent = 0 AND id = k;
		WHEN 3 THEN
			DELETE FROM item WHERE parent = 0 AND id = k;
		WHEN 4 THEN
			MERGE INTO item AS t USING generate_series(k, k + 3) AS s ON t.parent = own AND t.id = s
			WHEN MATCHED AND s % 2 = 0 THEN DELETE
			WHEN MATCHED THEN UPDATE SET n = i
			WHEN NOT MATCHED THEN INSERT VALUES (own, s, i);
		WHEN 5 THEN
			UPDATE item AS t SET id = -id WHERE t.parent = own
				AND NOT EXISTS (SELECT FROM item AS s WHERE s.parent = own AND s.id = -t.id);
		WHEN 6, 7 THEN
			INSERT INTO item VALUES (own, k, i) ON CONFLICT (parent, id) DO UPDATE SET n = EXCLUDED.n;
			INSERT INTO item VALUES (0, k, i) ON CONFLICT (parent, id) DO UPDATE SET n = EXCLUDED.n;
			INSERT INTO item VALUES (own, 21 - k, i) ON CONFLICT (parent, id) DO UPDATE SET n = EXCLUDED.n;
			DELETE FROM item WHERE parent = own AND id = k;
		WHEN 8 THEN
			INSERT INTO parent SELECT own + 1 WHERE NOT EXISTS (SELECT FROM parent AS p WHERE abs(p.id) = own + 1);
			INSERT INTO item SELECT p.id, k, i FROM parent AS p WHERE abs(p.id) = own + 1
			ON CONFLICT (parent, id) DO UPDATE SET n = EXCLUDED.n;
			UPDATE parent SET id = -id WHERE abs(id) = own + 1;
		WHEN 9 THEN
			DELETE FROM parent WHERE abs(id) = own + 1;
		WHEN 10 THEN
			DELETE FROM item WHERE parent = own;
			IF k > 5 THEN
				ROLLBACK;
			END IF;
		ELSE
			IF k = 1 THEN
				TRUNCATE item;
			END IF;
		END CASE;
		COMMIT;
	END LOOP;
END $$;

-- The items 1000001 to 1000010 are inserted in the end.
CREATE TABLE trouble (what text);
CREATE TABLE copy (reader text, parent integer, id integer, n integer NOT NULL, PRIMARY KEY (reader, parent, id));
CREATE FUNCTION has_all(reader text) RETURNS boolean LANGUAGE sql AS
	'SELECT count(*) = 10 FROM copy AS c WHERE c.reader = $1 AND c.id > 1000000';
CREATE PROCEDURE take() LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMPORARY TABLE batch (part integer, fence bigint, id text, deleted boolean, item item);
	WHILE NOT has_all('take') LOOP
		INSERT INTO batch SELECT * FROM sno_feed_take(NULL::item, 'take', 50, lease => '1 hour');
		COMMIT;
		INSERT INTO trouble SELECT b::text FROM batch AS b WHERE b.deleted <> ((b.item).n IS NULL) OR (b.item).id IS NULL;
		DELETE FROM copy AS c USING batch AS b
		WHERE b.deleted AND (c.reader, c.parent, c.id) = ('take', (b.item).parent, (b.item).id);
		INSERT INTO copy SELECT 'take', (b.item).* FROM batch AS b WHERE NOT b.deleted
		ON CONFLICT (reader, parent, id) DO UPDATE SET n = EXCLUDED.n;
		PERFORM sno_feed_done('item', 'take', b.part, b.fence) FROM (SELECT DISTINCT b.part, b.fence FROM batch AS b) AS b;
		IF NOT FOUND THEN
			CALL sno_feed_wait('item', 'take', '1 hour');
		END IF;
		DELETE FROM batch;
		COMMIT;
	END LOOP;
END $$;
CREATE PROCEDURE next(reader text) LANGUAGE plpgsql AS $$
DECLARE
	rows integer;
BEGIN
	WHILE NOT has_all(reader) LOOP
		WITH batch AS MATERIALIZED (
			SELECT c.parent, c.id, c.deleted, i.n
			FROM sno_feed_next(NULL::item_changes, reader, 50) AS c LEFT JOIN item AS i USING (parent, id)
		), trouble AS (
			-- A row that TRUNCATE has removed is not found, whatever the snapshot is.
			INSERT INTO trouble SELECT b::text FROM batch AS b WHERE b.deleted AND b.n IS NOT NULL
		), gone AS (
			DELETE FROM copy AS c USING batch AS b WHERE b.n IS NULL AND (c.reader, c.parent, c.id) = (next.reader, b.parent, b.id)
		), here AS (
			INSERT INTO copy SELECT next.reader, b.parent, b.id, b.n FROM batch AS b WHERE b.n IS NOT NULL
			ON CONFLICT ON CONSTRAINT copy_pkey DO UPDATE SET n = EXCLUDED.n
		)
		SELECT count(*) INTO rows FROM batch;
		COMMIT;
		IF rows = 0 THEN
			CALL sno_feed_wait('item', reader, '1 second');
		END IF;
	END LOOP;
END $$;
CREATE PROCEDURE remove() LANGUAGE plpgsql AS $$
BEGIN
	WHILE NOT (SELECT is_called FROM stop) LOOP
		CALL sno_feed_remove('item', '0', 10);
		COMMIT;
	END LOOP;
END $$;

CREATE TABLE slow (id integer PRIMARY KEY, n integer);
INSERT INTO slow SELECT generate_series(1, 9)});

sub ask { return $node->safe_psql('postgres', @_) }

#
# A call that is interrupted
#

# The creator waits for the writer, and the holder for the creator, who then waits for the holder.
my ($creator, $writer, $holder) = map { open_session($node, 'postgres') } 1 .. 3;
my $create = "CALL sno_feed_create_changes('slow')";

sub waits_for
{
	my ($session, $other) = @_;
	return ask("SELECT $other->{pid} = ANY (pg_blocking_pids($session->{pid}))") eq 't';
}
$writer->query_safe("BEGIN;\nLOCK TABLE slow IN ROW EXCLUSIVE MODE");
send_query($creator, $create);
wait_until('the creator waits', sub { waits_for($creator, $writer) });
$holder->query_safe('BEGIN');
send_query($holder, 'LOCK TABLE slow IN ACCESS EXCLUSIVE MODE');
wait_until('the holder waits', sub { waits_for($holder, $creator) });
$writer->query_safe('COMMIT');
receive($holder);
wait_until('the creator waits again', sub { waits_for($creator, $holder) });
ask("SELECT pg_cancel_backend($creator->{pid})");
like((receive($creator))[1], qr/^ERROR:  57014/m, 'the call is interrupted');
$holder->query_safe("DELETE FROM slow WHERE id = 1;\nUPDATE slow SET id = 20 WHERE id = 2;\nCOMMIT");
my $changes = q{SELECT string_agg(concat(id, CASE WHEN deleted THEN ' deleted' END), ', ' ORDER BY id) FROM slow_changes};
is(ask($changes), '1 deleted, 2 deleted, 20', 'changes are recorded');
like(ask(q{SELECT problem FROM sno_feeds() WHERE feed = 'slow_changes'::regclass}), qr/not copied yet/, 'the keys are not copied');
like(($node->psql('postgres', "CALL sno_feed_remove('slow', '0')"))[2], qr/feed .* is incomplete/, 'nothing is removed');

# A writer that has changed a row, and changes another one, while the keys before the first one are copied
$writer->query_safe("BEGIN;\nUPDATE slow SET n = 1 WHERE id = 5");
send_query($creator, $create);
wait_until('the creator waits', sub { waits_for($creator, $writer) });
$writer->query_safe("UPDATE slow SET n = 1 WHERE id = 4;\nUPDATE slow SET n = 1 WHERE id = 6");
$writer->query_safe('COMMIT');
is((receive($creator))[1], '', 'the second call copies the keys');
is(take_errors($writer),   '', 'no writer waits for the copied keys');
is(ask($changes), '1 deleted, 2 deleted, 3, 4, 5, 6, 7, 8, 9, 20', 'all keys are in the feed');
is(ask(q{SELECT problem IS NULL FROM sno_feeds() WHERE feed = 'slow_changes'::regclass}), 't', 'the feed is complete');
close_session($_) foreach $creator, $writer, $holder;

#
# A removal meets a writer
#
# The writer brings back the rows of two deleted keys.  The removal must not wait for the first one while it has the second one.
ask(q{SELECT sno_feed_create_reader('slow', 'r', start => 'now'); DELETE FROM slow WHERE id = 9; DELETE FROM slow WHERE id = 8});
wait_until('the deletions can be removed', sub { ask(q{SELECT max(changed) < sno_watermark() FROM slow_changes}) eq 't' });
ask(q{SELECT sno_feed_rewind('slow', 'r', 'now')});
my $returner = open_session($node, 'postgres');
$returner->query_safe("BEGIN;\nINSERT INTO slow VALUES (8)");
is(ask(q{SET lock_timeout = '10s'; CALL sno_feed_remove('slow', '0'); SELECT count(*) FROM slow_changes WHERE id IN (1, 2, 9)}), 0, 'a removal waits for no writer');
$returner->query_safe("INSERT INTO slow VALUES (9);\nCOMMIT");
is(ask(q{SELECT bool_or(deleted) FROM slow_changes WHERE id IN (8, 9)}), 'f', 'rows that come back are in the feed');
close_session($returner);

#
# Many writers
#
ask(q{INSERT INTO parent SELECT unnest('{0, 10, 20, 30, 40}'::integer[]);
INSERT INTO item SELECT p.id, k, 0 FROM parent AS p, generate_series(1, 100) AS k});
my %sessions = map { $_ => open_session($node, 'postgres') }
  ('write(1)', 'write(2)', 'write(3)', 'write(4)', 'take()', q{next('next')}, q{next('parts')}, q{next('parts') again}, 'remove()');
my @writers = grep { /write/ } sort keys %sessions;
send_query($sessions{$_}, "CALL $_") foreach @writers;
wait_until('the writers write', sub { ask(q{SELECT count(*) FROM item WHERE n > 20}) > 0 });
$creator = open_session($node, 'postgres');
send_query($creator, "CALL sno_feed_create_changes('item', batch => 20)");
wait_until('the feed exists', sub { ask(q{SELECT to_regclass('item_changes_aside')}) ne '' });
ask(q{CREATE INDEX ON item_changes (sno_feed_part(id, 2), changed);
SELECT sno_feed_create_reader('item', 'take'), sno_feed_create_reader('item', 'next'),
	sno_feed_create_reader('item', 'parts', parts => 2, part_by => 'id')});
send_query($sessions{$_}, 'CALL ' . s/ again//r) foreach grep { /take|next/ } sort keys %sessions;
is((receive($creator))[1], '', 'keys are copied while writers write');
send_query($sessions{'remove()'}, 'CALL remove()');
wait_until(
	'readers follow, and deletions are removed',
	sub {
		ask(q{SELECT count(DISTINCT reader) FROM copy WHERE n > 50}) == 3
		  && ask(q{SELECT position > '2222222222222222' FROM item_changes_readers WHERE reader = ''}) eq 't';
	});
ask(q{SELECT nextval('stop')});
is((receive($sessions{$_}))[1], '', "$_: no error") foreach @writers, 'remove()';
ask('INSERT INTO item SELECT 0, k, 0 FROM generate_series(1000001, 1000010) AS k');
is((receive($sessions{$_}))[1], '', "$_: no error") foreach grep { /take|next/ } sort keys %sessions;
is(ask(qq{(SELECT * FROM item EXCEPT SELECT parent, id, n FROM copy WHERE reader = '$_')
UNION ALL (SELECT parent, id, n FROM copy WHERE reader = '$_' EXCEPT SELECT * FROM item)}), '', "the copy of $_ is equal to the table")
  foreach 'take', 'next', 'parts';
is(ask('SELECT * FROM trouble'), '', 'the rows belong to the snapshot of the changes');
close_session($_) foreach values %sessions, $creator;
check_log($node);
$node->stop;
done_testing();
