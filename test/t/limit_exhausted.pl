
# Shared memory, memory or file descriptors are exhausted when a transaction fails or
# ends.  Whatever can't be had raises an error, at most.  No server ends by that, not even
# one where nobody but a reader is to blame.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $primary = start_node('primary', allows_streaming => 1, conf => q{
max_connections = 20
max_locks_per_transaction = 10
}, sql => q{
CREATE ROLE reader LOGIN;
CREATE TABLE numbers AS SELECT n, sno_generate() AS id FROM generate_series(1, 1000) AS n;
ALTER TABLE numbers SET (parallel_workers = 2);
GRANT SELECT ON numbers TO reader;
CREATE FUNCTION make_id(integer) RETURNS text VOLATILE PARALLEL SAFE LANGUAGE plpgsql AS
	'BEGIN RETURN sno_generate(); END'});
my $standby = start_standby($primary, 'standby');
my $by_workers = q{
SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
SET parallel_leader_participation = off;};
my $read = 'SELECT count(DISTINCT id) FROM numbers WHERE id > sno_zero()';

# Whoever takes all shared memory there is keeps it, for locks.
sub fill_shared_memory
{
	my ($node) = @_;
	my (undef, undef, $error) =
	  $node->psql('postgres',
		'SELECT count(pg_advisory_lock(n)) FROM generate_series(1, 1000000) AS n',
		extra_params => [ '-U', 'reader' ]);
	like($error, qr/out of shared memory/,
		$node->name . ': shared memory is full');
	# Its locks are released after the client has ended.
	$node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory'")
	  or die 'locks stay';
	return;
}

# The server starts again, so nothing of sno is in shared memory.
foreach my $node ($primary, $standby)
{
	$node->restart;
	fill_shared_memory($node);
	is( $node->safe_psql(
			'postgres', "$by_workers $read",
			extra_params => [ '-U', 'reader' ]),
		'1000',
		$node->name . ': ids are read by workers');
	is($node->safe_psql('postgres', $read), '1000', $node->name . ' is up');
}

#
# Locks take what the main shared memory segment has left, and never give it back.  Then
# come the first ids.
#
chomp(my $version = `pg_config --version`);
my $has_named_segments = $version =~ /(\d+)/ && $1 >= 17;

sub memory_left
{
	return $primary->safe_psql('postgres',
		'SELECT allocated_size FROM pg_shmem_allocations WHERE name IS NULL');
}

# Restart the server, and let locks take all but less than 128 bytes, which nobody can
# allocate.  They take pieces of 4 kB, so what they leave depends on what else is there.
# Each process has a buffer of a size that can be set.  The number of processes is odd, so
# there is a size with which they leave nothing.
sub leave_no_memory
{
	my $size = 1024;
	for (1 .. 10)
	{
		$primary->append_conf('postgresql.conf', "track_activity_query_size = $size");
		$primary->restart;
		fill_shared_memory($primary);
		my $left = memory_left();
		return if $left < 128 || $has_named_segments;
		my $processes = $primary->safe_psql('postgres',
			"SELECT size / $size FROM pg_shmem_allocations WHERE name = 'Backend Activity Buffer'");
		$size += 128;
		$size += 128 while ($left -= 128 * $processes) % 4096 != 0;
	}
	die 'memory is left';
}

foreach my $connections (21, 47)
{
	foreach my $libraries ('', 'sno')
	{
		my $name = "$connections connections, preloaded: \"$libraries\"";
		$primary->append_conf('postgresql.conf',
			"max_connections = $connections\nshared_preload_libraries = '$libraries'");
		leave_no_memory();
		foreach my $call ('sno_generate()', 'sno_watermark()')
		{
			my (undef, undef, $error) =
			  $primary->psql('postgres', "\\set VERBOSITY verbose\nSELECT $call");
			like(
				$error,
				$libraries eq 'sno' || $has_named_segments
				? qr/^$/
				: qr/ERROR:  53200: not enough shared memory.*^HINT:  Put "sno" into "shared_preload_libraries", and restart/ms,
				"$name: $call");
		}
		like(
			$primary->safe_psql('postgres',
				q{SELECT ok, hint FROM sno_check() WHERE item = 'ids'}),
			$libraries eq 'sno' || $has_named_segments
			? qr/^t\|$/
			: qr/^f\|Put "sno" into "shared_preload_libraries"/,
			"$name: sno_check()");
	}
}
$primary->append_conf('postgresql.conf',
	"max_connections = 20\nshared_preload_libraries = ''\ntrack_activity_query_size = 1024");
$primary->restart;

# A session that has no more of a resource than it uses now
sub limit
{
	my ($session, $resource, $soft) = @_;
	system_or_bail('prlimit', '--pid', $session->{pid}, "--$resource=$soft:");
	return;
}

my %enough = (nofile => 1024, as => 'unlimited');
foreach my $resource (sort keys %enough)
{
	foreach my $what ('reads', 'has issued', 'workers issue')
	{
		my $session = open_session($primary, 'postgres');
		error_of($session, $by_workers);
		$session->query_safe('SELECT sno_generate()') if $what ne 'reads';
		$session->query_safe('BEGIN');
		my $ids = $session->query_safe(
			$what eq 'workers issue'
			? 'SELECT count(DISTINCT make_id(n)) FROM numbers'
			: $read);
		is($ids, '1000', "$resource: a session $what");
		limit($session, $resource, 3);
		like(error_of($session, 'SELECT 1/0'),
			qr/ERROR/, "$resource: its transaction fails");
		error_of($session, 'ROLLBACK');
		limit($session, $resource, $enough{$resource});
		is($session->query_safe("SELECT 'up'"), 'up', "$resource: it goes on");
		close_session($session);
	}
}
is($primary->safe_psql('postgres', 'SELECT count(*) FROM sno_watermark_blockers()'),
	'0', 'nobody holds watermarks back');

$_->stop foreach $standby, $primary;
check_log($_) foreach $primary, $standby;
done_testing();
