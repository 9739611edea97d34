
# Memory that sessions share: one database can't take it all, and what a database had is
# given back when it is gone.
#
# /dev/shm is small, as Docker makes it: a file system in memory that only this test sees.
# It runs in namespaces of its own, as the same user as outside of them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

BEGIN
{
	my @enter   = qw(unshare --user --map-root-user --mount);
	my ($group) = split ' ', $(;

	if ($ENV{SNO_SMALL_MEMORY})
	{
		# This is the process in the namespaces.
	}
	elsif (system("@enter true 2>/dev/null") != 0)
	{
		print "1..0 # SKIP namespaces are not permitted here\n";
		exit;
	}
	else
	{
		$ENV{SNO_SMALL_MEMORY} = 1;
		exec @enter, 'sh', '-ec', q{
mount -t tmpfs -o size=64m,mode=1777 shm /dev/shm
user=$1 group=$2
shift 2
exec unshare --user --map-user="$user" --map-group="$group" "$@"},
		  'sh', $<, $group, $^X, (map { "-I$_" } @INC), $0;
	}
}

use TestHelpers;

my $node = new_node('main', conf => q{
autovacuum = off
dynamic_shared_memory_type = posix
});
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE model');
$node->safe_psql('model',    'CREATE EXTENSION sno');

sub create_databases
{
	my (@names) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE model")
	  foreach @names;
	return;
}

# The errors of a first id and of a named generator in a database.
sub try_all
{
	my ($dbname) = @_;
	return join '',
	  map { ($node->psql($dbname, $_))[2] } 'SELECT sno_generate()',
	  "SELECT sno_create_generator('orders', 70)",
	  "SELECT sno_generate(1, 'orders')";
}

#
# Named generators in partitions that are far apart need little memory
#
my @apart = map { "apart$_" } 1 .. 10;
create_databases(@apart);
foreach my $dbname (@apart)
{
	is( ($node->psql(
				$dbname, q{
SELECT sno_create_generator('g' || i, i * 1024) FROM generate_series(0, 63) AS i;
SELECT sno_generate(0, 'g' || i) FROM generate_series(0, 63) AS i})
		)[2],
		'',
		"$dbname: generators in 64 partitions");
}
create_databases('alice');
is(try_all('alice'), '', 'the first ids of another database');

#
# A database that uses as much as it can: partitions that are far apart.  Each lease of
# one for given times uses another block.
#
my $waste = q{
DO $$
BEGIN
	FOR i IN 0 .. 1023 LOOP
		PERFORM set_config('sno.partitions', (64 * i + 10) || '-' || (64 * i + 11), false);
		PERFORM sno_generate_at('2020-01-01');
	END LOOP;
END $$};

sub waste
{
	my ($dbname) = @_;
	my $session  = open_session($node, $dbname);
	my $error    = error_of($session, $waste);
	like(
		$error,
		qr/^ERROR:  53400: generators of this database have used too much shared memory$/m,
		"$dbname has all that a database can have");
	like(
		$error,
		qr/^DETAIL:  A database can have 4 MB for partitions and named generators/m,
		"$dbname: the error tells how much that is");

	is( $session->query_safe(
			q{SELECT ok FROM sno_check() WHERE item = 'memory'}),
		'f',
		"$dbname: sno_check() tells of it");

	# What it has is enough for what it did before.
	$session->query_safe(q{SET sno.partitions = '0-63'});
	is(error_of($session, 'SELECT sno_generate()'),
		'', "$dbname: ids in partitions that were used before");
	is( error_of(
			$session, "SELECT sno_generate_at('2021-01-01') IS NOT NULL"),
		'',
		"$dbname: ids of given times, too");
	like(
		error_of(
			$session,
			q{SET sno.partitions = '65000-65001'; SELECT sno_generate()}),
		qr/^ERROR:  53400: generators of this database/m,
		"$dbname: none in others");
	like(
		error_of(
			$session,
			q{SELECT sno_create_generator('g' || n, 65002, 8 * n, 8 * n + 7) FROM generate_series(1, 100) AS n;
SELECT sno_generate(1, 'g' || n) FROM generate_series(1, 100) AS n}),
		qr/^ERROR:  53400: generators of this database/m,
		"$dbname: no further named generators");
	close_session($session);
	return;
}

# Use it up several times, as databases that are dropped and made again.  Segments of an area
# double, so ten of them is what fits into the 64 MB on each version.
foreach my $round (1, 2)
{
	my @full = map { "full$_" } 1 .. 10;
	create_databases(@full);
	waste($_) foreach @full;
	create_databases("bob$round");
	is(try_all("bob$round"),
		'', "round $round: the first ids of another database");
	is( $node->psql('alice', "SELECT sno_generate(1, 'orders')"),
		0, "round $round: a database that has some goes on");
	$node->safe_psql('postgres', "DROP DATABASE $_") foreach @full;
}

#
# What watermarks of counters need is counted, too.
#
create_databases('counts');
{
	my $session = open_session($node, 'counts');
	$session->query_safe(
		q{CREATE EXTENSION sno_flakes; SELECT sno_flake_create_generator('first', 'counter'), sno_flake_watermark('first')}
	);
	like(
		error_of(
			$session, q{
SELECT count(sno_flake_create_generator('counter ' || n, 'counter')) FROM generate_series(1, 8000) AS n;
SELECT count(sno_flake_watermark('counter ' || n)) FROM generate_series(1, 8000) AS n}),
		qr/^ERROR:  53400: generators of this database have used too much shared memory$/m,
		'a database has watermarks of so many counters');
	is( error_of($session, q{SELECT sno_flake_watermark('first')}),
		'', 'those that it had go on');
	close_session($session);
	is($node->psql('alice', "SELECT sno_generate(1, 'orders')"),
		0, 'so does another database');
}

#
# Those who look at all databases, while these come and go
#
my ($in, $out, $err) = ('SELECT count(*) FROM sno_generators() \watch 0.001', '', '');
my $looks = IPC::Run::start([ 'psql', '-XqAt', $node->connstr('alice') ],
	'<', \$in, '>', \$out, '2>', \$err);
foreach my $round (1 .. 5)
{
	my @brief = map { "brief$_" } 1 .. 3;
	create_databases(@brief);
	foreach my $dbname (@brief)
	{
		$node->safe_psql($dbname,
			"SELECT sno_create_generator('g' || i, i) FROM generate_series(0, 99) AS i; SELECT sno_generate(0, 'g' || i) FROM generate_series(0, 99) AS i"
		);
	}
	$node->safe_psql('postgres', "DROP DATABASE $_") foreach @brief;
}
$looks->pump_nb;
$looks->kill_kill;
is($err, '', 'nothing is in the way of sno_generators()');
is(try_all('bob1') =~ s/.*already exists\n?//r,
	'', 'databases go on after that');

check_log($node);
$node->stop;
done_testing();
