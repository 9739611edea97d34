
# The end of a session that used named generators.  Its transaction is not
# committed.  It writes the exact state of each generator that no other session
# uses.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $node = start_node('main', sql => q{CREATE TABLE t (n integer);
	  SELECT sno_create_generator('g', 1)});

# A statement that is a transaction of its own
my $insert = q{WITH i AS (INSERT INTO t VALUES (1) RETURNING n)
	SELECT pg_sleep(3600) FROM i};

# The session has used the generator, or has only looked it up.
foreach ([ 0, qr/^$/ ], [ 256, qr/22003/ ])
{
	my ($meta, $error) = @$_;
	my $session = open_session($node, 'postgres');
	like(error_of($session, "SELECT sno_generate($meta, 'g')"),
		$error, "metabyte $meta: an id, or an error");

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
		0, "metabyte $meta: a session that is terminated commits nothing");
}

# Make an id, do something, and end the session.
sub end_after
{
	my ($what) = @_;
	my $session = open_session($node, 'postgres');
	$session->query_safe("SELECT sno_generate(0, 'g')");
	$what->();
	close_session($session);
	return;
}

# The same; returns whether the row has the exact state then.
sub exact_after_session
{
	my ($what) = @_;
	end_after($what // sub { });
	return $node->safe_psql('postgres',
		'SELECT wall_hi = (ARRAY[tick_until, tock_until])[drifts % 2 + 1] FROM sno_catalog.sno_lease WHERE kind = \'g\''
	);
}
is(exact_after_session(), 't', 'the last session writes the exact state');
my $log = -s $node->logfile;
is( exact_after_session(
		sub {
			$node->safe_psql('postgres',
				'ALTER TABLE sno_catalog.sno_lease ADD x integer');
		}),
	'f',
	'the last session writes nothing to a table that was altered');
like(
	slurp_file($node->logfile, $log),
	qr/FATAL:  table "sno_lease".* was altered/,
	'a table that was altered is logged at the end of the session');
$node->safe_psql('postgres', 'ALTER TABLE sno_catalog.sno_lease DROP x');
is(exact_after_session(), 't',
	'the session that failed is not counted any more');

# The end of a session does not wait for locks.
my $locker = open_session($node, 'postgres');
end_after(
	sub {
		$node->safe_psql('postgres',
			'ALTER TABLE sno_catalog.sno_lease SET (fillfactor = 90)');
		$locker->query_safe(
			'BEGIN; LOCK pg_constraint IN ACCESS EXCLUSIVE MODE');
	});
pass('a session ends though pg_constraint is locked');
$locker->query_safe('ROLLBACK');

# Snapshots wait for a lock on the table for a limited time.
$locker->query_safe('BEGIN; LOCK sno_catalog.sno_lease IN EXCLUSIVE MODE');
foreach my $call (q{sno_snapshot_generator('g')},
	q{sno_restore_generator('g', '{"partition": [0, 1], "sequenceMax": 65535}')}
  )
{
	my $session = open_session($node, 'postgres');
	like(error_of($session, "SET sno.max_wait = 10; SELECT $call"),
		qr/55P03/, "with a locked table, $call is refused");
	close_session($session);
}
close_session($locker);

$node->stop;
done_testing();
