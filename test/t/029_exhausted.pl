
# Shared memory, memory or file descriptors are exhausted when a transaction fails or
# ends.  Whatever can't be had raises an error, at most.  No server ends by that, not even
# one where nobody but a reader is to blame.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf(
	'postgresql.conf', q{
log_statement = none
max_connections = 20
max_locks_per_transaction = 10
});
$primary->start;
$primary->safe_psql(
	'postgres', q{
CREATE EXTENSION sno;
CREATE ROLE reader LOGIN;
CREATE TABLE numbers AS SELECT n, sno_generate() AS id FROM generate_series(1, 1000) AS n;
ALTER TABLE numbers SET (parallel_workers = 2);
GRANT SELECT ON numbers TO reader;
CREATE FUNCTION make_id(integer) RETURNS text VOLATILE PARALLEL SAFE LANGUAGE plpgsql AS
	'BEGIN RETURN sno_generate(); END'});
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
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
my ($code, undef, $error) = $primary->psql('postgres', 'SELECT sno_generate()');
is($code == 0 || $error =~ /shared memory/,
	1, 'ids are made, or shared memory is said to be full');
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
