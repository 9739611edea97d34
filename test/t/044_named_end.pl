
# What a session with named generators leaves behind when it is ended: nothing
# of the transaction that it was in.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SnoTest;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres',
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
	like(ask_error($session, "SELECT sno_generate($meta, 'g')"),
		$error, "metabyte $meta");

	my $pid = ask($session, 'SELECT pg_backend_pid()');
	send_query($session, $insert);
	$node->poll_query_until('postgres',
		"SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $pid");
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	$node->poll_query_until('postgres',
		"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)");
	$session->{run}->finish;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'),
		0, 'a session that is ended commits nothing');
}

$node->stop;
done_testing();
