
# sno_reseed() while another session is about to lease a partition, and is
# stopped at three points: when it has opened the table, when it has reserved a
# partition, and while it flushes its row.  The new holder does not lease that
# partition.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;
use Torture;

my $torture = Torture->new;
my $node    = start_node('main', clock => $torture, conf => q{
autovacuum = off
fsync = on
});

# The session that leases, one that calls sno_reseed(), one whose lock stops the
# first one, and one that watches.
my ($session, $reseeder, $locker, $watcher);

# The table whose lock a session waits for, or its wait event.
sub wait_of
{
	my ($who) = @_;
	return $watcher->query_safe(
		qq{
SELECT coalesce((SELECT relname FROM pg_locks JOIN pg_class ON pg_class.oid = relation
	WHERE pid = $who->{pid} AND NOT granted), wait_event)
FROM pg_stat_activity WHERE pid = $who->{pid}});
}

# Send a query to a session, and wait until it is stopped at the expected point.
sub begin
{
	my ($who, $query, $wait) = @_;
	send_query($who, $query);
	wait_until("$query is stopped", sub { wait_of($who) =~ $wait });
	return;
}

# Stop the session when it has opened the table, whose definition it must read
# again.  Meanwhile another session begins to wait for the table, and has it as
# soon as the session closes it.
sub come_between
{
	my ($query, $wait_for_table) = @_;
	$locker->query_safe(
		'ALTER TABLE sno_catalog.sno_lease SET (autovacuum_enabled = off)');
	$locker->query_safe('BEGIN; LOCK TABLE pg_attribute');
	begin($session,  $query,          qr/^pg_attribute$/);
	begin($reseeder, $wait_for_table, qr/^sno_lease$/);
	$locker->query_safe('COMMIT');
	return;
}

my $flush  = qr/^WAL(Sync|Write)$/i;
my %points = (
	'it has opened the table' => sub {
		my ($query) = @_;
		come_between($query, 'SELECT sno_reseed()');
	},
	'it flushes its row' => sub {
		my ($query) = @_;
		$torture->stall_flushes(1);
		begin($session,  $query,                $flush);
		begin($reseeder, 'SELECT sno_reseed()', qr/$flush|^sno_lease$/);
		$torture->stall_flushes(0);
	});

# Restart the server with a range of two partitions.  The lease of the first one
# is over: it is taken next for ids of the present.  The second one was never
# leased: it is taken for ids of given times.
sub restart_with_range
{
	my ($first) = @_;
	$node->stop;
	$node->append_conf('postgresql.conf',
		"sno.partitions = '$first-@{[$first + 1]}'");
	$torture->start_server($node);
	my ($leased) =
	  partitions_of($node->safe_psql('postgres', 'SELECT sno_generate()'));
	$node->stop;
	$torture->set_clock(3600 * $first);
	$torture->start_server($node);
	return ($leased, 2 * $first + 1 - $leased);
}

my $first = 0;
foreach my $point (sort keys %points)
{
	foreach my $n (0, 1)
	{
		my $query =
		  ('SELECT sno_generate()', q{SELECT sno_generate_at('2020-01-01')})
		  [$n];
		my $partition = (restart_with_range($first += 2))[$n];

		# Read all other catalogs before one is locked.
		($session, $reseeder, $locker, $watcher) =
		  map { open_session($node, 'postgres') } 1 .. 4;
		$_->query_safe('SELECT * FROM sno_check()')
		  foreach ($session, $reseeder);
		wait_of($watcher);

		$points{$point}->($query);
		is((receive($reseeder))[1],
			'', "$query: $point: sno_reseed() meets no error");
		receive($session);
		is( $watcher->query_safe(
				"SELECT count(*) FROM sno_catalog.sno_lease WHERE partition = $partition AND system_identifier <> 0"
			),
			0,
			"$query: $point: no row of the new holder has its partition");
		send_query($session, $query);
		my ($id) = receive($session);
		ok( $id eq '' || decode_id($id)->{partition} != $partition,
			"$query: $point: its next id is of another partition");
		close_session($_) foreach ($session, $reseeder, $locker, $watcher);
	}
}

$node->stop;
done_testing();
