
# A partition belongs to one session as long as that lives, whatever its lease;
# then it is handed on exactly as it is, however the session ended.  Who finds
# none waits for a bounded time, and goes on as soon as there is one.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;
use Torture;

my $torture = Torture->new;
my $node    = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
restart_after_crash = on
log_statement = none
max_connections = 60
sno.lease_duration = 1s
sno.partitions = 7
});
$torture->start_server($node);
$node->safe_psql('postgres', 'CREATE EXTENSION sno');

my $notes = NotedIds->new;
$notes->next_phase;

# Have a session make ids, which are noted; returns the last one's fields.
sub generate
{
	my ($session, $count) = @_;
	my $ids = $session->query_safe(ids_of($count // 100));
	my %id;
	$notes->add($session, $ids);
	@id{qw(unit tick_tock meta partition sequence)} =
	  decode_id($ids =~ s/.*\n//sr);
	return \%id;
}

# All leases are over.
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
# No lapsed lease makes the partition of a live session free.
#
my $owner    = open_session($node, 'postgres');
my $neighbor = open_session($node, 'postgres', "sno.max_wait = '10ms'");
generate($owner);
wait_for_leases();
like(error_of($neighbor, 'SELECT sno_generate()'),
	$refused, 'an idle session keeps its partition, its lease being over');
is(generate($owner)->{partition}, 7, 'and goes on there');

#
# Whatever a session meets, or how it ends: the next one goes on in its lease.
#
configure($node, 'sno.lease_duration', '1h', $owner, $neighbor);
generate($owner);
my %ends = (
	'an error in mid-call' => sub {
		like(
			error_of(
				$owner,
				'SELECT sno_generate(n % 257) FROM generate_series(1, 1000) AS n'
			),
			qr/^ERROR:  22003: /m,
			'an error');
	},
	'a query that is cancelled' => sub {
		send_query($owner,
			'SELECT count(sno_generate()) FROM generate_series(1, 100000000)'
		);
		$node->poll_query_until('postgres',
			q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%100000000%' AND state = 'active' AND pid <> pg_backend_pid()}
		);
		like((receive($owner))[1], qr/^ERROR:  57014: /m, 'cancelled');
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
		wait_until('the partition is handed on',
			sub { error_of($owner, 'SELECT sno_generate()') eq '' });
	}
	my $after = generate($owner);
	is($after->{partition}, $before->{partition}, "$what: same partition");
	is($after->{tick_tock}, $before->{tick_tock}, 'same timeline');
}
is( $node->safe_psql(
		'postgres', 'SELECT count(*) FROM sno_catalog.sno_lease'),
	1,
	'all of that took one lease');
close_session($_) foreach ($owner, $neighbor);
$notes->check('one partition');

#
# Sessions that begin at once reserve partitions before any of them has a row.
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
my %taken;

foreach my $session (@many)
{
	my ($ids) = receive($session);
	$ids =~ s/^\n//;
	$notes->add($session, $ids);
	$taken{ (decode_id($_))[3] }{$session} = 1 foreach split /\n/, $ids;
}
is(scalar(grep { keys %$_ > 1 } values %taken),
	0, 'sessions that begin at once share no partition');
close_session($_) foreach (@many, $gate);
$notes->check('twenty at once');

#
# A pool of 4, and 40 sessions
#
configure($node, 'sno.partitions', '100-103');
my @sessions =
  map { open_session($node, 'postgres', "sno.max_wait = '10ms'") } 1 .. 40;
my @owners = grep { error_of($_, 'SELECT sno_generate()') eq '' } @sessions;
is(scalar @owners, 4, 'four of forty sessions have a partition');
my %is_owner = map  { $_ => 1 } @owners;
my @waiting  = grep { !$is_owner{$_} } @sessions;
my $errors   = join "\n",
  map { error_of($_, 'SELECT sno_generate()') } @waiting;
is(scalar(() = $errors =~ /$refused/g), 36, 'the others are refused');
is( scalar(
		() =
		  $errors =~
		  /^HINT:  Widen "sno\.partitions", or end sessions that don't generate any more\.$/mg
	),
	36,
	'with a hint');
generate($_) foreach @owners;

# They take turns as sessions end.
$_->query_safe("SET sno.max_wait = '1d'") foreach @waiting;
send_query($_, ids_of(10)) foreach @waiting;
while (@waiting)
{
	close_session(shift @owners);
	my $served;
	wait_until(
		'one of those that wait is served',
		sub {
			($served) = grep { has_answered($_) } @waiting;
			defined $served;
		});
	my ($ids, $err) = receive($served);
	is($err, '', 'one that waits is served when another one ends');
	$notes->add($served, $ids);
	@waiting = grep { $_ != $served } @waiting;
	push @owners, $served;
}
close_session($_) foreach @owners;
$notes->check('a pool of four');

#
# Crashes within one lease use up a pool: then there is a wait, which is over
# with the leases, and never a guess.
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
	$refused, 'a pool that crashes used up: refused');
$session->query_safe("SET sno.max_wait = '1d'");
send_query($session, ids_of(10));
$torture->set_clock(3600);
my ($ids, $err) = receive($session);
is($err, '', 'and served when a lease is over');
$notes->add($session, $ids);
is( $node->safe_psql(
		'postgres',
		'SELECT count(*) FROM sno_catalog.sno_lease WHERE partition BETWEEN 200 AND 203'
	),
	4,
	'in its partition');
close_session($session);
$notes->check('a pool used up by crashes');

$node->stop;
done_testing();
