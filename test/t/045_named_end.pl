
# What a session with named generators leaves behind when it ends: nothing of the
# transaction that it was in, and the exact state of what nobody else uses.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql(
	'postgres',
	q{CREATE EXTENSION sno; CREATE TABLE t (n integer);
	  SELECT sno_create_generator('g', 1)});

# The statement is a transaction of its own, which ends with it.
my $insert = q{WITH i AS (INSERT INTO t VALUES (1) RETURNING n)
	SELECT pg_sleep(3600) FROM i};

# The session has issued, or has only got to know the generator.
foreach ([ 0, qr/^$/ ], [ 256, qr/22003/ ])
{
	my ($meta, $error) = @$_;
	my $session = open_session($node, 'postgres');
	like(error_of($session, "SELECT sno_generate($meta, 'g')"),
		$error, "metabyte $meta");

	my $pid = $session->{pid};
	send_query($session, $insert);
	$node->poll_query_until('postgres',
		"SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $pid"
	);
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	$node->poll_query_until('postgres',
		"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)");
	drop_session($session);
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'),
		0, 'a session that is ended commits nothing');
}

# Generate, and end the session after something was done.
sub end_after
{
	my ($what) = @_;
	my $session = open_session($node, 'postgres');
	$session->query_safe("SELECT sno_generate(0, 'g')");
	$what->();
	close_session($session);
	return;
}

# The same, and is the row exact then?
sub exact_after_session
{
	my ($what) = @_;
	end_after($what // sub { });
	return $node->safe_psql('postgres',
		'SELECT wall_hi = (ARRAY[tick_until, tock_until])[drifts % 2 + 1] FROM sno_catalog.sno_lease WHERE named'
	);
}
is(exact_after_session(), 't', 'the last one to use it leaves an exact row');
my $log = -s $node->logfile;
is( exact_after_session(
		sub {
			$node->safe_psql('postgres',
				'ALTER TABLE sno_catalog.sno_lease ADD x integer');
		}),
	'f',
	'but not into a table that was altered');
like(
	slurp_file($node->logfile, $log),
	qr/FATAL:  table "sno_lease".* was altered/,
	'which is logged');
$node->safe_psql('postgres', 'ALTER TABLE sno_catalog.sno_lease DROP x');
is(exact_after_session(), 't', 'that session is not counted any more');

# What the end must not wait for
my $locker = open_session($node, 'postgres');
end_after(
	sub {
		$node->safe_psql('postgres',
			'ALTER TABLE sno_catalog.sno_lease SET (fillfactor = 90)');
		$locker->query_safe(
			'BEGIN; LOCK pg_constraint IN ACCESS EXCLUSIVE MODE');
	});
pass('a session ends whatever is locked');
$locker->query_safe('ROLLBACK');

# Snapshots wait for the table, but not for ever.
$locker->query_safe('BEGIN; LOCK sno_catalog.sno_lease IN EXCLUSIVE MODE');
foreach my $call (q{sno_take_snapshot('g')},
	q{sno_restore_generator('g', '{"partition": [0, 1], "sequenceMax": 65535}')}
  )
{
	my $session = open_session($node, 'postgres');
	like(error_of($session, "SET sno.max_wait = 10; SELECT $call"),
		qr/55P03/, "table locked: $call");
	close_session($session);
}
close_session($locker);

$node->stop;
done_testing();
