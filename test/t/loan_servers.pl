
# Loans to applications outlive the server: after crashes and restarts, and on a
# promoted standby, nobody issues in a partition that was lent before the loan is
# over.  The commit of sno_borrow_partition() waits for synchronous standbys.  Slices of
# one partition are lent by one server, without a restart.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use NotedIds;
use TestHelpers;

# Of ten partitions, seven are lent.
my $primary = start_node('primary', allows_streaming => 1, conf => q{
autovacuum = off
session_preload_libraries = 'sno'
sno.lease_duration = 1s
sno.partitions = '100-109'
});

my $standby = start_standby($primary, 'standby');

# Borrow partitions; returns their numbers.
sub borrow
{
	my ($node, $count) = @_;
	return split /\n/,
	  $node->safe_psql(
		'postgres',
		"SELECT (snapshot->'partition'->>0)::int * 256 + (snapshot->'partition'->>1)::int
		 FROM generate_series(1, $count) AS n, sno_borrow_partition(n * interval '1 hour')");
}

my %lent;

# Make ids in many sessions, and check that none is of a partition that is lent.
sub check_ids
{
	my ($node, $what) = @_;
	my $notes   = NotedIds->new;
	my $clients = $notes->start_clients(
		$node, 'postgres',
		clients  => 3,
		batch    => 1000,
		rounds   => 20,
		max_wait => 60_000);
	my ($noted, $errors) = $notes->collect($clients);
	my @used = partitions_of(join "\n", map { $_->[0] } @{ $notes->{notes} });

	is($noted, 3 * 20 * 1000, "$what: ids are made");
	is($errors, '', "$what: without errors");
	is(scalar(grep { $lent{$_} } @used), 0, "$what: none where it is lent");
	return;
}

# Check that of the partitions that are left, some are lent, and then no more.
sub check_lending
{
	my ($node, $what) = @_;
	my $session = open_session($node, 'postgres', 'sno.max_wait = 60000');
	my $partition = $session->query_safe(
		"SELECT (snapshot->'partition'->>1)::int FROM sno_borrow_partition()");

	ok(!$lent{$partition}++, "$what: another partition is lent");
	close_session($session);
	return;
}

# Borrow a slice, of partitions that are not the others'; returns its first sequence.
sub slice
{
	my ($node, $dbname, $partitions) = @_;
	return $node->safe_psql(
		$dbname // 'postgres',
		"SET sno.partitions = '" . ($partitions // '200-209') . "';
		 SELECT snapshot->'sequenceMin' FROM sno_borrow_partition('1 hour', 64)");
}

my ($first) = borrow($primary, 1);
$lent{$first}++;
kill_postmaster($primary);
start_again($primary);
check_ids($primary, 'killed at once');
check_lending($primary, 'killed at once');

$lent{$_}++ foreach borrow($primary, 2);
$primary->stop('immediate');
$primary->start;
check_ids($primary, 'stopped immediately');
check_lending($primary, 'stopped immediately');

$primary->restart;
check_ids($primary, 'restarted');

# A standby lends nothing.
my $reader = open_session($standby, 'postgres');
like(
	error_of($reader, 'SELECT sno_borrow_partition()'),
	qr/^ERROR:  25006: cannot execute sno_borrow_partition\(\) during recovery$/m,
	'a standby lends nothing');
close_session($reader);

# The loan isn't there for the caller before a synchronous standby has it.
configure($primary, 'synchronous_standby_names', 'standby');
my $waiter = open_session($primary, 'postgres');
$standby->stop;
send_query($waiter, 'SELECT until > now() AS lent FROM sno_borrow_partition()');
ok( $primary->poll_query_until(
		'postgres',
		"SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = $waiter->{pid}"
	),
	'the commit waits for a synchronous standby');
$standby->start;
my ($result) = receive($waiter);
like($result, qr/^t$/m, 'it goes on when the standby has the loan');

# Nor is a slice, if another session wrote the row of its partition.
is(slice($primary), 0, 'the first slice of a partition');
$standby->stop;
send_query($waiter, "SET sno.partitions = '200-209'");
receive($waiter);
send_query($waiter, "SELECT until > now() AS lent FROM sno_borrow_partition('1 hour', 64)");
ok( $primary->poll_query_until(
		'postgres',
		"SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = $waiter->{pid}"
	),
	'the commit of a slice waits for a synchronous standby');
$standby->start;
($result) = receive($waiter);
like($result, qr/^t$/m, 'it goes on when the standby is there');
close_session($waiter);
configure($primary, 'synchronous_standby_names', '');

# Slices go on where they were, but not after a restart.
is(slice($primary), 128, 'the third slice of it');
$primary->restart;
is(slice($primary), 0, 'after a restart: the first one of another partition');
is($primary->safe_psql('postgres',
		"SELECT count(*) FROM sno_catalog.sno_lease WHERE partition >= 200"),
	2, 'two partitions were lent in slices');
$lent{$_}++ foreach split /\n/, $primary->safe_psql('postgres',
	"SELECT partition FROM sno_catalog.sno_lease
	 WHERE tick_until > now() + interval '10 min' AND partition < 200");
is(scalar keys %lent, 6, 'the partitions that are lent');

# A successor takes the loans over.
$primary->wait_for_catchup($standby);
$primary->stop;
$standby->promote;
check_ids($standby, 'promoted');
is(slice($standby), 0, 'promoted: the first slice of another partition');
is($standby->safe_psql('postgres',
		"SELECT count(*) FROM sno_catalog.sno_lease WHERE partition >= 200"),
	3, 'promoted: a third partition is lent in slices');
check_lending($standby, 'promoted');
$standby->restart;
check_ids($standby, 'promoted and restarted');

# Each copy of a database has slices of its own, though their tables have the same file.
$standby->safe_psql('postgres', 'CREATE DATABASE original');
$standby->safe_psql('original', 'CREATE EXTENSION sno');
foreach my $copy ('a copy', 'another one in its place')
{
	$standby->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE original');
	is(slice($standby, 'copy', '0-65535'), 0, "$copy: its first slice");
	$standby->safe_psql('postgres', 'DROP DATABASE copy');
}

# A slice whose floor is ahead of the clock would be of no use.
{
	my $clock = FakeClock->new;
	$standby->stop;
	$clock->start_server($standby);
	my $session = open_session($standby, 'postgres', "sno.partitions = '300-300'");
	my $slice =
	  "SELECT snapshot->'sequenceMin' FROM sno_borrow_partition('1 hour', 64)";
	$session->query_safe("SELECT sno_borrow_partition('4 ms')");
	$session->query_safe($slice);
	is($session->query_safe($slice), 64, 'the second slice, after a loan');
	$clock->set_offset(-60);
	$session->query_safe("SET sno.partitions = '300-301'");
	is($session->query_safe($slice),
		0, 'the clock is set back: a slice of another partition');
	close_session($session);
}

check_log($_) foreach $primary, $standby;
$standby->stop;
done_testing();
