
# Sessions that stay keep no other ones from their partition, and a lease is used further, however
# a session ends.  After crashes, a session that finds no free partition waits for a limited time,
# and goes on as soon as there is one.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;
use Torture;

my $torture = Torture->new;
my $node    = start_node('main', clock => $torture, conf => q{
restart_after_crash = on
max_connections = 60
sno.lease_duration = 1s
sno.partitions = 7
});

my $notes = NotedIds->new;
$notes->next_phase;

# Make ids in a session, and note them; returns the fields of the last one.
sub generate
{
	my ($session, $count) = @_;
	my $ids = $session->query_safe(ids_of($count // 100));
	$notes->add($session, $ids);
	return decode_id($ids =~ s/.*\n//sr);
}

# Wait until all leases are over.
sub wait_for_leases
{
	$node->poll_query_until('postgres',
		'SELECT coalesce(max(tick_until) < clock_timestamp(), true) FROM sno_catalog.sno_lease'
	);
	return;
}

my $refused =
  qr/^ERROR:  53400: no partition was free for a sno within 10 ms$/m;

#
# A session goes on in its partition when the lease is over, and so do others
#
my $owner    = open_session($node, 'postgres');
my $neighbor = open_session($node, 'postgres', "sno.max_wait = '10ms'");
generate($owner);
wait_for_leases();
is(generate($neighbor)->{partition},
	7, 'another session issues in the partition of an idle one when its lease is over');
is(generate($owner)->{partition},
	7, 'the idle session goes on in its partition');

#
# After an error, and after any end of a session, the lease is used further
#
configure($node, 'sno.lease_duration', '1h', $owner, $neighbor);
generate($owner);
my %ends = (
	'an error within a query' => sub {
		like(
			error_of(
				$owner,
				'SELECT sno_generate(n % 257) FROM generate_series(1, 1000) AS n'
			),
			qr/^ERROR:  22003: /m,
			'an error within a query: it is raised');
	},
	'a query that is cancelled' => sub {
		send_query($owner,
			'SELECT count(sno_generate()) FROM generate_series(1, 100000000)'
		);
		$node->poll_query_until('postgres',
			q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%100000000%' AND state = 'active' AND pid <> pg_backend_pid()}
		);
		like(
			(receive($owner))[1],
			qr/^ERROR:  57014: /m,
			'a query that is cancelled: it raises an error');
	},
	'a session that is terminated' => sub {
		send_query($owner,
			'SELECT count(sno_generate()) FROM generate_series(1, 100000000)'
		);
		$node->poll_query_until('postgres',
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $owner->{pid} AND state = 'active'"
		);
		drop_session($owner);
	},
	'a client that is killed' => sub {
		drop_session($owner);
	});
foreach my $what (sort keys %ends)
{
	my $before = generate($owner);
	$ends{$what}->();
	if ($what =~ /session|client/)
	{
		$owner = open_session($node, 'postgres');
		wait_until('the next session has an id',
			sub { error_of($owner, 'SELECT sno_generate()') eq '' });
	}
	my $after = generate($owner);
	is($after->{partition}, $before->{partition},
		"$what: the partition is the same");
	is($after->{tick_tock}, $before->{tick_tock},
		"$what: the side is the same");
}
is( $node->safe_psql(
		'postgres', 'SELECT count(*) FROM sno_catalog.sno_lease'),
	1,
	'all of these sessions used one lease');
close_session($_) foreach ($owner, $neighbor);
$notes->check('one partition');

#
# Sessions that begin at the same time, before any of them has a row
#
configure($node, 'sno.partitions', '10000-19999');
my @many = map { open_session($node, 'postgres') } 1 .. 20;
my $gate = open_session($node, 'postgres');
$gate->query_safe('SELECT pg_advisory_lock(1)');
send_query($_, 'SELECT pg_advisory_lock_shared(1); ' . ids_of(2000))
  foreach @many;
$node->poll_query_until('postgres',
	q{SELECT count(*) = 20 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}
);
$gate->query_safe('SELECT pg_advisory_unlock(1)');
foreach my $session (@many)
{
	my ($ids) = receive($session);
	$ids =~ s/^\n//;
	$notes->add($session, $ids);
}
close_session($_) foreach (@many, $gate);
$notes->check('twenty at once');

#
# A range of 4 partitions, and 40 sessions
#
configure($node, 'sno.partitions', '100-103');
my @sessions =
  map { open_session($node, 'postgres', "sno.max_wait = '10ms'") } 1 .. 40;
is(scalar(grep { error_of($_, 'SELECT sno_generate()') eq '' } @sessions),
	40, 'forty sessions that stay have ids in a range of four partitions');
generate($_, 10) foreach @sessions;
close_session($_) foreach @sessions;
$notes->check('a range of four partitions');

#
# After crashes within one lease, all partitions of a small range are leased.
# Then a session waits until the leases are over.
#
configure($node, 'sno.partitions', '200-203');
for my $n (1 .. 4)
{
	my $session = open_session($node, 'postgres', 'sno.max_wait = 0');
	generate($session);
	$node->stop('immediate');
	drop_session($session);
	$torture->start_server($node);
	$notes->check_leases($node, 'postgres', "crash $n");
	$notes->next_phase;
}
my $session = open_session($node, 'postgres', "sno.max_wait = '10ms'");
like(error_of($session, 'SELECT sno_generate()'),
	$refused, 'after crashes no partition is free, and a session is refused');
$session->query_safe("SET sno.max_wait = '1d'");
send_query($session, ids_of(10));
$torture->set_clock(3600);
my ($ids, $err) = receive($session);
is($err, '', 'after crashes a waiting session goes on when a lease is over');
$notes->add($session, $ids);
is( $node->safe_psql(
		'postgres',
		'SELECT count(*) FROM sno_catalog.sno_lease WHERE partition BETWEEN 200 AND 203'
	),
	4,
	'after crashes the session takes a partition whose lease is over');
close_session($session);
$notes->check('no partition free after crashes');

$node->stop;
done_testing();
