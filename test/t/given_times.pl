
# Ids of given times: no other session, database, restarted server, promoted
# standby or restored dump makes one of them again.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

my $node = start_node('main', allows_streaming => 1);

my $notes = NotedIds->new;

# Make ids of given times in a session, and note them; returns their partitions.
# The times are the same in each call, ascending or in another order.
sub generate_at
{
	my ($session, $count, $order) = @_;
	my $ids = $session->query_safe(
			"SELECT sno_generate_at(timestamptz '2020-01-01' + " . '('
		  . ($order // 'n')
		  . ")::float8 * interval '4 ms', (n % 256)::int) FROM generate_series(1::bigint, $count) AS n"
	);
	$notes->add($session, $ids);
	return partitions_of($ids);
}

# The same in a new session.
sub in_session
{
	my ($server, $dbname, @arguments) = @_;
	my $session    = open_session($server, $dbname);
	my @partitions = generate_at($session, @arguments);
	close_session($session);
	return @partitions;
}

#
# Sessions, and databases
#
my %used;
my @sessions = map { open_session($node, 'postgres') } 1 .. 3;
for (1 .. 3)
{
	$used{"@{[generate_at($_, 1000)]}"} = 1 foreach @sessions;
}
is(scalar keys %used, 1, 'three sessions have a partition in common');
close_session($_) foreach @sessions;
wait_until(
	'a new session has it, too',
	sub {
		my ($partition) = in_session($node, 'postgres', 10);
		return exists $used{$partition};
	});
pass('a new session goes on where others did that ended');

$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other',    'CREATE EXTENSION sno');
my ($other) = in_session($node, 'other', 1000);
ok(!exists $used{$other}, 'another database takes another partition');
cmp_ok(scalar(in_session($node, 'postgres', 100_000, 'n * 7919 % 100003')),
	'>', 1, 'for 100,000 times in any order, one partition is not enough');
$notes->check('one server');

# While other sessions make ids of the present
my $clients = $notes->start_clients($node, 'postgres', clients => 2);
$notes->wait_for_notes($clients);
in_session($node, 'postgres', 10_000);
$notes->stop_clients($node, $clients);
$notes->check('beside live generators');

#
# A successor of the database takes other partitions
#
# The partitions that have a row.
sub partitions_known
{
	my ($server, $dbname) = @_;
	return map { $_ => 1 } split /\n/,
	  $server->safe_psql($dbname,
		'SELECT partition FROM sno_catalog.sno_lease');
}

# Check that a successor takes none of the partitions that were known before.
sub others_are_taken
{
	my ($what, $server, $dbname, %known) = @_;
	%known = partitions_known($server, $dbname) unless %known;
	$notes->next_phase;
	my @partitions = in_session($server, $dbname, 1000);
	is(scalar(grep { exists $known{$_} } @partitions),
		0, "$what takes other partitions");
	$notes->add($what, $server->safe_psql($dbname, ids_of(1000)));
	return;
}

foreach my $mode ('fast', 'immediate')
{
	$node->stop($mode);
	start_again($node);
	others_are_taken("a server after a stop (mode $mode)", $node, 'postgres');
}

my $standby = start_standby($node, 'standby');
in_session($node, 'postgres', 1000);
my %known = partitions_known($node, 'postgres');
$node->wait_for_catchup($standby);
my $session = open_session($standby, 'postgres');
like(
	error_of($session, "SELECT sno_generate_at('2020-01-01')"),
	qr/^ERROR:  25006: cannot execute sno_generate_at\(\) during recovery$/m,
	'a standby makes no ids of given times');
close_session($session);
$node->stop('immediate');
$standby->promote;
others_are_taken('a promoted standby', $standby, 'postgres', %known);

my $file = PostgreSQL::Test::Utils::tempdir('dump') . '/dump';
$standby->command_ok(
	[ 'pg_dump', '-Fc', '-f', $file, '-d', $standby->connstr('postgres') ],
	'a database is dumped');
$standby->safe_psql('postgres', 'CREATE DATABASE restored');
$standby->command_ok(
	[ 'pg_restore', '-e', '-d', $standby->connstr('restored'), $file ],
	'the dump is restored');
others_are_taken('a restored database', $standby, 'restored');
$notes->check('successors');

#
# Half of the range is for ids of given times
#
$standby->append_conf('postgresql.conf', "sno.partitions = '60000-60007'");
$standby->reload;
$session = open_session($standby, 'postgres');
is($session->query_safe('SHOW sno.partitions'),
	'60000-60007', 'a session has a small range');
my @half = generate_at($session, 200_000, '-n');
is(scalar @half, 4, 'half of a small range is for ids of given times');
my $error = error_of($session,
	"SELECT count(sno_generate_at('2019-01-01')) FROM generate_series(1, 100000)"
);
like(
	$error,
	qr/^ERROR:  53400: no partition is left for a sno of a given time$/m,
	'no more partitions are for ids of given times');
like($error, qr/^HINT:  Widen "sno\.partitions"/m, 'the error has a hint');
is($session->query_safe('SELECT count(sno_generate())'),
	1, 'the other half of a small range is for ids of the present');

#
# Partitions that were used since the start of the server, and have no row
#
configure($standby, 'sno.partitions', '60100-60101', $session);
my $at   = "SELECT sno_generate_at('2020-01-01')";
my %both = map { decode_id($session->query_safe($_))->{partition} => 1 }
  ($at, 'SELECT sno_generate()');
is(join(' ', sort keys %both),
	'60100 60101', 'both partitions of a range are in use');
$session->query_safe('SELECT sno_reseed()');
close_session($session);
$standby->safe_psql('postgres', 'DROP EXTENSION sno; CREATE EXTENSION sno');
$session = open_session($standby, 'postgres');
like(
	error_of($session, $at),
	qr/^ERROR:  53400: no partition is left/m,
	'without rows, no used partition is free for ids of given times');
close_session($session);
$notes->check('all');

check_log($standby);
$standby->stop;
done_testing();
