
# What the owner of one database does stops nobody in another one: each database
# has partitions, named generators and leases of its own.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf',
	"sno.partitions = '0-99'\nsno.lease_duration = 1h\n");
$node->start;
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(mallory alice);
$node->safe_psql($_, 'CREATE EXTENSION sno')       foreach qw(mallory alice);

my $notes = NotedIds->new;

# New sessions of a database make ids, by their own generators, of given times, and
# by a named one; returns the errors that they meet.
sub try_all
{
	my ($dbname) = @_;
	my $errors = '';

	foreach my $query (
		ids_of(10),
		"SELECT sno_generate_at('2020-01-01')",
		ids_of(10, 'orders'))
	{
		my $session = open_session($node, $dbname);
		$errors .= error_of($session, $query);
		close_session($session);
	}
	return $errors;
}

$node->safe_psql($_, "SELECT sno_create_generator('orders', 70)")
  foreach qw(mallory alice);
is(try_all('alice'), '', 'before');

#
# All partitions get a definition, of which snapshots are taken
#
my $mallory = open_session($node, 'mallory');
$mallory->query_safe('BEGIN');
$mallory->query_safe(
	"SELECT count(sno_create_generator('g' || i, i)) FROM generate_series(0, 99) AS i WHERE i <> 70"
);
$mallory->query_safe(
	"SELECT count(sno_take_snapshot('g' || i)) FROM generate_series(0, 99) AS i WHERE i <> 70"
);
$mallory->query_safe('ROLLBACK');
is(try_all('alice'),   '', 'definitions that are rolled back');
is(try_all('mallory'), '', 'a snapshot leaves no trace');

#
# All partitions have a named generator that is in use
#
$mallory->query_safe(
	"SELECT count(sno_create_generator('g' || i, i)) FROM generate_series(0, 99) AS i WHERE i <> 70"
);
$mallory->query_safe(
	q{
DO $$
BEGIN
	FOR i IN 0 .. 99 LOOP
		CONTINUE WHEN i = 70;
		BEGIN
			PERFORM sno_generate(0, 'g' || i);
		EXCEPTION WHEN object_not_in_prerequisite_state THEN
			-- That partition went to given times.
		END;
	END LOOP;
END $$});
like(
	error_of($mallory, 'SET sno.max_wait = 0; SELECT sno_generate()'),
	qr/^ERROR:  53400: no partition was free/m,
	'who gives all partitions away has none');
is(try_all('alice'), '', 'but others have theirs');

#
# A snapshot of the far future is restored on another database's partition
#
my $until = $node->safe_psql('alice',
	'SELECT ' . unit_of("clock_timestamp() + interval '10 years'"));
$mallory->query_safe("SELECT sno_drop_generator('orders')");
$mallory->query_safe(
	qq{SELECT sno_restore_generator('x', '{"partition": [0, 70], "sequenceMax": 65535,
		"wallHi": $until, "wallSafe": $until, "now": $until}')}
);
like(
	error_of($mallory, "SET sno.max_wait = 0; SELECT sno_generate(0, 'x')"),
	qr/^ERROR:  53400: generator "x" could not issue/m,
	'its own generator is behind now');
is(try_all('alice'), '', 'others are not');
is( $node->safe_psql(
		'alice',
		q{SELECT count(*) FROM sno_catalog.sno_lease WHERE partition = 70
			AND greatest(tick_until, tock_until) > clock_timestamp() + interval '1 day'}
	),
	0,
	'nor are their rows');

#
# Given times and sno_reseed() use partitions up
#
$node->safe_psql('postgres', 'CREATE DATABASE eve');
$node->safe_psql('eve',      'CREATE EXTENSION sno');
my $eve   = open_session($node, 'eve');
my $error = '';
for (1 .. 200)
{
	$error =
	  error_of($eve, "SELECT sno_generate_at('2020-01-01'), sno_reseed()");
	last if $error ne '';
}
like(
	$error,
	qr/^ERROR:  53400: no partition is left for a sno of a given time/m,
	'one database has used its partitions up');
is(try_all('alice'), '', 'others have not');

#
# Databases avoid each other's partitions while they can
#
$node->append_conf('postgresql.conf', "sno.partitions = '1000-1039'");
$node->restart;
my (%partitions, @sessions);
foreach my $n (1 .. 40)
{
	my $session = open_session($node, $n % 2 ? 'alice' : 'eve');
	push @sessions, $session;
	$partitions{ (decode_id($session->query_safe('SELECT sno_generate()')))[3]
	}++;
}
is(scalar keys %partitions,
	40, 'forty sessions of two databases have a partition each');
my $more = open_session($node, 'alice');
is(error_of($more, 'SELECT sno_generate()'),
	'', 'when all are used, databases use the same');
close_session($_) foreach $more, @sessions;

#
# A database is dropped, and made again with the same OID and the same files
#
$node->safe_psql('postgres', 'CREATE DATABASE model');
$node->safe_psql('model',    'CREATE EXTENSION sno');
$node->safe_psql('model',
	"SELECT sno_create_generator('first', 5), sno_create_generator('second', 6)"
);
$node->safe_psql('postgres', 'CREATE DATABASE again TEMPLATE model');
my $oid = $node->safe_psql('postgres',
	"SELECT oid FROM pg_database WHERE datname = 'again'");

sub make_ids
{
	my ($generator) = @_;
	my $session     = open_session($node, 'again');
	my $ids         = join "\n", map { $session->query_safe($_) } ids_of(100),
	  ids_of(100, $generator);
	my %partitions = map { (decode_id($_))[3] => 1 } split /\n/, $ids;
	close_session($session);
	return join ', ', sort keys %partitions;
}
make_ids('first');
$node->safe_psql('postgres', 'DROP DATABASE again');
$node->safe_psql('postgres',
	"CREATE DATABASE again TEMPLATE model OID = $oid");
my $used = make_ids('second');
is( $node->safe_psql(
		'again',
		qq{SELECT count(DISTINCT partition) FROM sno_catalog.sno_lease
			WHERE partition IN ($used) AND database = $oid}
	),
	2,
	'what it issues is within leases of its own');

# The same database remains the same, whatever is altered.
my $session = open_session($node, 'again');
my $before  = (decode_id($session->query_safe('SELECT sno_generate()')))[3];
$node->safe_psql('postgres', 'ALTER DATABASE again CONNECTION LIMIT 50');
my $other = open_session($node, 'again');
isnt((decode_id($other->query_safe('SELECT sno_generate()')))[3],
	$before, 'a partition that a session owns is nobody else\'s');
close_session($_) foreach $session, $other;
$node->safe_psql('postgres', 'ALTER DATABASE again CONNECTION LIMIT 51');
$used = make_ids('second');
is( $node->safe_psql(
		'again',
		qq{SELECT count(DISTINCT partition) FROM sno_catalog.sno_lease
			WHERE partition IN ($used) AND database = $oid}
	),
	2,
	'and leases stay');

close_session($_) foreach $mallory, $eve;
check_log($node);
$node->stop;
done_testing();
