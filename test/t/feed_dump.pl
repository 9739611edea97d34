
# A dump brings feeds with the positions of their readers, the rows that were set aside, and the feeds
# of changes.  Readers of the restored database go on at the positions of the original's readers.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $node = start_node('main', sql => q{
CREATE ROLE owner LOGIN;
CREATE ROLE mail LOGIN;
CREATE DATABASE app OWNER owner;
CREATE DATABASE copy OWNER owner});
my $dump = PostgreSQL::Test::Utils::tempdir('dump') . '/app';

sub ask
{
	my ($dbname, $sql, $user) = @_;
	return $node->safe_psql($dbname, $sql, connstr => $node->connstr($dbname) . ' user=' . ($user // 'owner'));
}

# Let a reader get all rows below the watermark: wait for it to be above those of a table.
sub wait_for_watermark
{
	my ($dbname, $table, $key) = @_;
	wait_until('the watermark is above all rows', sub { ask($dbname, "SELECT max($key) < sno_watermark() FROM $table") eq 't' });
	return;
}

# Rows 1 to 9 in two parts; mail has handled 1 and set 2 aside, and has a lease of 3 and 4; search
# has handled part 0 of 2.
ask('app', q{
CREATE SCHEMA app;
CREATE EXTENSION sno;
CREATE EXTENSION sno_feeds;
CREATE TABLE app.event (id sno PRIMARY KEY DEFAULT sno_generate(), n integer);
SELECT sno_feed_create('app.event');
CREATE INDEX ON app.event (sno_feed_part(n, 2), id);
SELECT sno_feed_create_reader('app.event', 'mail', role => 'mail', max_tries => 1),
	sno_feed_create_reader('app.event', 'search', parts => 2, part_by => 'n'),
	sno_feed_create_reader('app.event', 'paused'), sno_feed_pause('app.event', 'paused');
GRANT USAGE ON SCHEMA app TO mail;
INSERT INTO app.event (n) SELECT generate_series(1, 9);
CREATE TABLE app.person (id integer PRIMARY KEY, name text);
INSERT INTO app.person VALUES (1, 'one'), (2, 'two'), (3, 'three');
CALL sno_feed_create_changes('app.person');
SELECT sno_feed_create_reader('app.person', 'copy');
DELETE FROM app.person WHERE id = 2});
wait_for_watermark('app', 'app.event', 'id');
wait_for_watermark('app', 'app.person_changes', 'changed');
is(ask('app', q{
SELECT string_agg((item).n::text, ' ') FROM sno_feed_take(NULL::app.event, 'mail', 2);
SELECT sno_feed_fail('app.event', 'mail', 0, fence, id::text, 'no mailbox')
FROM (SELECT max(fence) AS fence FROM app.event_readers WHERE reader = 'mail' AND part = 0) AS f, app.event WHERE n = 2;
SELECT string_agg((item).n::text, ' ') FROM sno_feed_take(NULL::app.event, 'mail', 2, lease => '1 hour');
SELECT (item).id FROM sno_feed_take(NULL::app.person, 'copy', 1)}), "1 2\n\n3 4\n1", 'rows are taken, and one is set aside');
my $part = ask('app', q{SELECT string_agg(n::text, ' ') FROM sno_feed_next(NULL::app.event, 'search') AS e});
my $rest = ask('app', q{SELECT string_agg(n::text, ' ' ORDER BY id) FROM app.event WHERE n <> ALL (string_to_array('} . $part . q{', ' ')::integer[])});
isnt($rest, '', 'the other part has rows');
ask('app', q{SELECT sno_feed_done('app.person', 'copy', 0, fence) FROM app.person_changes_readers WHERE reader = 'copy' AND part = 0});

my $readers = q{SELECT r::text FROM app.event_readers AS r UNION ALL SELECT r::text FROM app.person_changes_readers AS r
UNION ALL SELECT a::text FROM app.event_aside AS a UNION ALL SELECT c::text FROM app.person_changes AS c ORDER BY 1};
my $state = ask('app', $readers);
command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('app') . ' user=owner' ], 'the owner dumps the database');
command_ok([ 'pg_restore', '-e', '-d', $node->connstr('copy') . ' user=owner', $dump ], 'and restores it');
is(ask('copy', $readers), $state, 'readers are where they were');
is(definitions_of($node->connstr('copy'), '-n', 'app'), definitions_of($node->connstr('app'), '-n', 'app'), 'definitions are as they were');
is(ask('copy', 'SELECT count(*) FROM sno_feeds() WHERE problem IS NOT NULL'), 0, 'feeds have no problem');

# The original goes on, and doesn't affect the copy.
ask('app', 'INSERT INTO app.event (n) VALUES (99)');

ask('copy', q{INSERT INTO app.event (n) VALUES (10); UPDATE app.person SET name = 'new' WHERE id = 3});
wait_for_watermark('copy', 'app.event', 'id');
wait_for_watermark('copy', 'app.person_changes', 'changed');
is(ask('copy', q{SELECT count(*) FROM sno_feed_next(NULL::app.event, 'mail')}), 0, 'the lease is restored');
ask('copy', q{SELECT sno_feed_done('app.event', 'mail', 0, fence) FROM app.event_readers WHERE reader = 'mail' AND part = 0});
is( ask('copy', q{SELECT string_agg(n::text, ' ' ORDER BY id) FROM sno_feed_next(NULL::app.event, 'mail') AS e}, 'mail'),
	'5 6 7 8 9 10', 'the role of a reader goes on after the lease');
is(ask('copy', q{SELECT (item).n, error FROM sno_feed_aside(NULL::app.event, 'mail')}), '2|no mailbox', 'a row is set aside');
is( ask('copy', q{SELECT sno_feed_retry('app.event', 'mail'); SELECT n FROM sno_feed_next(NULL::app.event, 'mail') AS e}),
	"1\n2", 'it is handled again');
my $got = join "\n", sort map { ask('copy', q{SELECT n FROM sno_feed_next(NULL::app.event, 'search') AS e}) } 1 .. 2;
is(join(' ', sort { $a <=> $b } split ' ', $got), "$rest 10", 'a reader with parts gets the rest, and new rows');
is(ask('copy', q{SELECT count(*) FROM sno_feed_next(NULL::app.event, 'paused')}), 0, 'a reader is paused');
is( ask('copy', q{SELECT (item).id, (item).name, deleted FROM sno_feed_take(NULL::app.person, 'copy')}),
	"2||t\n3|new|f", 'changes are recorded, and read from the position on');
like(
	($node->psql('copy', q{CREATE TEMPORARY TABLE bait (id integer);
CREATE TRIGGER bait AFTER INSERT ON bait EXECUTE FUNCTION app.person_changes()},
		connstr => $node->connstr('copy') . ' user=mail'))[2],
	qr/permission denied for function app\.person_changes/, 'no other role may call the function that records changes');
$node->stop;
done_testing();
