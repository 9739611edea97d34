
# sno_feed_wait() returns when a commit gives the reader rows, and holds nothing meanwhile.
#
# A session that is asleep looks for rows once a second even if no commit wakes it.  So a commit
# woke it if it returns less than a second after its last look, whose time is the start of its
# transaction.  If the machine was too slow to see that, the test tries again.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Gdb;
use TestHelpers;
use Time::HiRes qw(time);

my $node = start_node('main', allows_streaming => 1, conf => q{
max_prepared_transactions = 2
autovacuum = off}, sql => q{
CREATE EXTENSION sno_feeds;
CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_generate(), n integer);
SELECT sno_feed_create('event');
CREATE TABLE parted (id sno PRIMARY KEY DEFAULT sno_generate(), n integer) PARTITION BY RANGE (id);
CREATE TABLE parted_rest PARTITION OF parted DEFAULT PARTITION BY HASH (id);
CREATE TABLE parted_leaf PARTITION OF parted_rest FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT sno_feed_create('parted');
CREATE TABLE person (id integer PRIMARY KEY, n integer);
CALL sno_feed_create_changes('person');
CREATE TABLE dead AS SELECT generate_series(1, 1000) AS n;
SELECT sno_feed_create_reader(f, 'r') FROM unnest('{event, parted, person}'::regclass[]) AS f;
CREATE SEQUENCE n;
CREATE SEQUENCE stop});
my $reader = open_session($node, 'postgres');
my $writer = open_session($node, 'postgres');

sub ask { return $node->safe_psql('postgres', @_) }

# Let the reader wait for rows of a feed, for an hour, and then return the time.
sub begin_wait
{
	my ($feed) = @_;
	send_query($reader, "CALL sno_feed_wait('$feed', 'r', '1 hour');\nSELECT clock_timestamp()");
	return;
}

# The time of the last look of the reader, empty if it is not asleep
sub last_look
{
	return ask("SELECT xact_start FROM pg_stat_activity WHERE pid = $reader->{pid} "
		. "AND wait_event IN ('Extension', 'SnoFeed') AND backend_xmin IS NULL");
}

sub wait_until_asleep
{
	wait_until('the reader is asleep', sub { last_look() ne '' });
	return;
}

# Handle the rows of a feed.
sub handle_rows
{
	my ($feed) = @_;
	return $reader->query_safe("SELECT count(*) FROM sno_feed_next(NULL::$feed, 'r')");
}

# Check that a statement of the writer wakes the reader of a feed, and gives it a row of `rows`.
sub check_woken
{
	my ($name, $feed, $statement, $rows) = @_;
	my $is_woken = 'f';
	for (1 .. 20)
	{
		begin_wait($feed);
		wait_until_asleep();
		my $look = last_look();
		$writer->query_safe($statement);
		my ($time) = receive($reader);
		die "$name: the call returned without a row" if handle_rows($rows) != 1;
		$is_woken = ask("SELECT timestamptz '$time' < timestamptz '$look' + interval '1 second'") if $look ne '';
		last if $is_woken eq 't';
	}
	is($is_woken, 't', $name);
	return;
}

#
# Returns
#
check_woken('a commit wakes the reader', 'event', 'INSERT INTO event DEFAULT VALUES', 'event');
check_woken('an insert into a partition wakes the readers of the table', 'parted', 'INSERT INTO parted_leaf (id) VALUES (sno_generate())', 'parted');
check_woken('a change wakes the reader', 'person_changes', q{INSERT INTO person VALUES (nextval('n'))}, 'person_changes');
check_woken('a feed of changes is also named by its table', 'person', q{INSERT INTO person VALUES (nextval('n'))}, 'person_changes');
check_woken('a commit within a procedure wakes the reader', 'event', 'DO $$ BEGIN INSERT INTO event DEFAULT VALUES; COMMIT; PERFORM pg_sleep(1.1); END $$', 'event');

begin_wait('event');
wait_until_asleep();
$writer->query_safe(q{BEGIN; INSERT INTO event DEFAULT VALUES; PREPARE TRANSACTION 'p'});
is(ask("SELECT count(*) FROM pg_prepared_xacts"), 1, 'a row is prepared');
wait_until_asleep();
$writer->query_safe(q{COMMIT PREPARED 'p'});
receive($reader);
is(handle_rows('event'), 1, 'the call finds the row of a prepared transaction');

$reader->query_safe("CALL sno_feed_wait('event', 'r', '10 milliseconds')");
is(handle_rows('event'), 0, 'the call returns at the timeout');
$reader->query_safe("CALL sno_feed_wait('event', 'r', '-1 second')");
like(error_of($reader, "BEGIN;\nCALL sno_feed_wait('event', 'r')"), qr/^ERROR:  2D000/m, 'not in a transaction block');
$reader->query_safe('ROLLBACK');
is( $reader->query_safe(
		q{DO $$ BEGIN INSERT INTO event DEFAULT VALUES; CALL sno_feed_wait('event', 'r', '1 hour'); END $$;
SELECT count(*) FROM sno_feed_next(NULL::event, 'r')}),
	1, 'the call commits rows of its caller, and returns for them');

#
# Holds nothing
#
begin_wait('event');
wait_until_asleep();
ask('DELETE FROM dead');
wait_until(
	'VACUUM removes rows that were deleted meanwhile',
	sub { ask('VACUUM dead'); ask("SELECT pg_relation_size('dead')") == 0 });
wait_until(
	'the reader holds nothing',
	sub {
		ask("SELECT (SELECT count(*) FROM pg_locks WHERE pid = $reader->{pid} AND locktype <> 'virtualxid') = 0 "
			  . "AND backend_xmin IS NULL AND backend_xid IS NULL FROM pg_stat_activity WHERE pid = $reader->{pid}") eq 't';
	});
ok(!has_answered($reader), 'the call still waits');
pass 'it holds no snapshot, no transaction id and no lock';

#
# Ends
#
ask("SELECT pg_cancel_backend($reader->{pid})");
like((receive($reader))[1], qr/^ERROR:  57014/m, 'the call is canceled');
check_woken('a commit wakes the session after a cancel', 'event', 'INSERT INTO event DEFAULT VALUES', 'event');

#
# Doesn't spin
#

# How many times did the reader look during a call that `end` ends, while the writer commits rows
# for a second?  Statistics of the session are written when the call has ended.
my $scans = q{SELECT seq_scan + idx_scan FROM pg_stat_user_tables WHERE relname = 'event_readers'};

sub check_looks
{
	my ($name, $call, $meanwhile, $end) = @_;
	my $former = $reader->query_safe("SELECT pg_stat_force_next_flush();\n$scans") =~ s/^\s+//r;
	my $begin = time;
	send_query($reader, $call);
	wait_until_asleep();
	$writer->query_safe($meanwhile);
	ok(!has_answered($reader), "$name: the call waits");
	$end->();
	receive($reader);
	my $looks = ($reader->query_safe("SELECT pg_stat_force_next_flush();\n$scans") =~ s/^\s+//r) - $former;

	# Pauses of 4, 8 .. 256 ms, two looks after each.  A second without a commit begins again.
	my $most = 30 + 20 * (time - $begin);
	cmp_ok($looks, '<=', $most, "$name: it pauses between looks");
	cmp_ok($looks, '>=', 1, "$name: looks are counted");
	return;
}

my $commits = q{DO $$
DECLARE
	since timestamptz := clock_timestamp();
BEGIN
	FOR i IN 1 .. 1000000 LOOP
		INSERT INTO event DEFAULT VALUES;
		COMMIT;
		EXIT WHEN i >= 1000 AND clock_timestamp() >= since + interval '1 second';
	END LOOP;
END $$};
my $wait = "CALL sno_feed_wait('event', 'r', '1 hour')";
my $cancel = sub { ask("SELECT pg_cancel_backend($reader->{pid})") };

$writer->query_safe('INSERT INTO event DEFAULT VALUES');
$reader->query_safe($wait);
my $fence = $reader->query_safe(q{SELECT fence FROM sno_feed_take(NULL::event, 'r', lease => '1 hour')});
check_looks('a leased part', $wait, $commits, $cancel);
$reader->query_safe("SELECT sno_feed_done('event', 'r', 0, $fence)");
$reader->query_safe("SELECT sno_feed_rewind('event', 'r', 'now')");

my $blocker = open_session($node, 'postgres');
$blocker->query_safe("BEGIN;\nSELECT sno_generate()");
check_looks('rows above the watermark', $wait, $commits, sub { $blocker->query_safe('COMMIT') });
is(handle_rows('event'), 1000, 'they come when the transaction that held them back has ended');
$reader->query_safe("SELECT sno_feed_rewind('event', 'r', 'now')");

# Rows that another session has: each call returns, but not at once.
$writer->query_safe('INSERT INTO event DEFAULT VALUES');
$reader->query_safe($wait);
is($blocker->query_safe("BEGIN;\nSELECT count(*) FROM sno_feed_next(NULL::event, 'r')"), 1, 'another session has the rows');
check_looks('rows of another session',
	"DO \$\$ BEGIN LOOP $wait; EXIT WHEN (SELECT is_called FROM stop); COMMIT; END LOOP; END \$\$",
	$commits, sub { $writer->query_safe("SELECT nextval('stop')") });
$blocker->query_safe('COMMIT');
$reader->query_safe("SELECT sno_feed_rewind('event', 'r', 'now')");

#
# Costs a commit nothing if nobody waits
#
SKIP:
{
	my $scope = '/proc/sys/kernel/yama/ptrace_scope';
	skip 'gdb cannot lead a process', 3
	  if !(grep { -x "$_/gdb" } split /:/, $ENV{PATH}) || -e $scope && slurp_file($scope) > 0;
	# The end of the reading of a page wakes others, too.
	my $gdb = Gdb->lead($writer->{pid}, qq{break ConditionVariableBroadcast if \$_caller_is("sno_wake_readers")\ngo});
	$writer->query_safe('INSERT INTO event DEFAULT VALUES');
	ok(!$gdb->holds, 'a commit wakes nobody if nobody waits');
	$reader->query_safe($wait);
	handle_rows('event');
	begin_wait('event');
	wait_until_asleep();
	send_query($writer, 'INSERT INTO event (n) VALUES (77)');
	wait_until('the writer is about to wake the reader', sub { $gdb->holds });
	is(ask('SELECT count(*) FROM event WHERE n = 77'), 1, 'a commit makes its rows visible, and then wakes the reader');
	$gdb->release;
	receive($writer);
	receive($reader);
	is(handle_rows('event'), 1, 'the reader gets the row');
}

#
# Servers
#
my $standby = start_standby($node, 'standby');
$node->wait_for_catchup($standby);
like(
	($standby->psql('postgres', "\\set VERBOSITY verbose\nCALL sno_feed_wait('event', 'r', '0')"))[2],
	qr/ERROR:  25006: cannot execute sno_feed_wait\(\)/,
	'not on a standby');

begin_wait('event');
wait_until_asleep();
ask("SELECT pg_terminate_backend($reader->{pid})");
wait_until('the session ends', sub { !kill 0, $reader->{pid} });
drop_session($reader);
$reader = open_session($node, 'postgres');
check_woken('a commit wakes the next session', 'event', 'INSERT INTO event DEFAULT VALUES', 'event');
begin_wait('event');
wait_until_asleep();
$node->stop('fast');
pass 'a fast shutdown ends the call';
drop_session($_) foreach $reader, $writer, $blocker;

$standby->promote;
$standby->safe_psql('postgres', "INSERT INTO event DEFAULT VALUES;\n$wait");
is($standby->safe_psql('postgres', "SELECT count(*) FROM sno_feed_next(NULL::event, 'r')"), 1, 'it waits on a server that was promoted');
check_log($_) foreach $node, $standby;
$standby->stop;
done_testing();
