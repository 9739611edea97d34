
# The owner of one database can stop nobody in another database: each database
# has partitions, named generators and leases of its own.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

my $node = new_node('main', conf => q{
sno.partitions = '0-99'
sno.lease_duration = 1h
});
$node->start;
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(mallory alice);
$node->safe_psql($_, 'CREATE EXTENSION sno')       foreach qw(mallory alice);

my $notes = NotedIds->new;

# Make ids in new sessions of a database: of a session generator, of given
# times, and of a named generator.  Returns the errors.
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
is(try_all('alice'), '', 'alice generates before mallory does anything');

#
# Mallory defines a generator for each partition, and takes snapshots of them
#
my $mallory = open_session($node, 'mallory');
$mallory->query_safe('BEGIN');
$mallory->query_safe(
	"SELECT count(sno_create_generator('g' || i, i)) FROM generate_series(0, 99) AS i WHERE i <> 70"
);
$mallory->query_safe(
	"SELECT count(sno_snapshot_generator('g' || i)) FROM generate_series(0, 99) AS i WHERE i <> 70"
);
$mallory->query_safe('ROLLBACK');
is(try_all('alice'), '', 'definitions that are rolled back: alice generates');
is(try_all('mallory'), '',
	'definitions that are rolled back: mallory generates');

#
# Mallory uses a named generator in each partition
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
			-- This partition is used for ids of given times.
		END;
	END LOOP;
END $$});
like(
	error_of($mallory, 'SET sno.max_wait = 0; SELECT sno_generate()'),
	qr/^ERROR:  53400: no partition was free/m,
	'named generators in all partitions: mallory has no free partition');
is(try_all('alice'), '',
	'named generators in all partitions: alice generates');

#
# Mallory restores a snapshot of the far future, in a partition of alice's
# generator
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
	'a snapshot of the future: the restored generator must wait');
is(try_all('alice'), '', 'a snapshot of the future: alice generates');
is( $node->safe_psql(
		'alice',
		q{SELECT count(*) FROM sno_catalog.sno_lease WHERE partition = 70
			AND greatest(tick_until, tock_until) > clock_timestamp() + interval '1 day'}
	),
	0,
	'a snapshot of the future: no row of alice has a later lease');

#
# Eve has no partition free for ids of given times, after calls of sno_reseed()
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
	'many calls of sno_reseed(): eve has no partition for given times');
is(try_all('alice'), '', 'many calls of sno_reseed(): alice generates');

#
# A partition that no other database uses is preferred
#
$node->append_conf('postgresql.conf', "sno.partitions = '1000-1039'");
$node->restart;
my (%partitions, @sessions);
foreach my $n (1 .. 40)
{
	my $session = open_session($node, $n % 2 ? 'alice' : 'eve');
	push @sessions, $session;
	$partitions{ $session->query_safe(
			q{SELECT (snapshot->'partition'->>0)::int * 256 + (snapshot->'partition'->>1)::int FROM sno_borrow_partition()}
		) }++;
}
is(scalar keys %partitions,
	40, 'forty loans of two databases have forty partitions');
my $more = open_session($node, 'alice');
is(error_of($more, 'SELECT sno_generate()'),
	'', 'when all partitions are in use, two databases use the same one');
close_session($_) foreach $more, @sessions;

#
# A database is dropped, and created again with the same OID and the same files
#
$node->safe_psql('postgres', 'CREATE DATABASE model');
$node->safe_psql('model',    'CREATE EXTENSION sno');
$node->safe_psql('model',
	"SELECT sno_create_generator('first', 5), sno_create_generator('second', 6)"
);
$node->safe_psql('postgres', 'CREATE DATABASE again TEMPLATE model');
my $oid = $node->safe_psql('postgres',
	"SELECT oid FROM pg_database WHERE datname = 'again'");

# Make ids by a session generator and a named one; returns their partitions.
sub make_ids
{
	my ($generator) = @_;
	my $session     = open_session($node, 'again');
	my $ids         = join "\n", map { $session->query_safe($_) } ids_of(100),
	  ids_of(100, $generator);
	close_session($session);
	return join ', ', partitions_of($ids);
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
	'the new database with the old OID issues under leases of its own');

# ALTER DATABASE does not make it a new database.
my $session = open_session($node, 'again');
my $before =
  decode_id($session->query_safe('SELECT sno_generate()'))->{partition};
$node->safe_psql('postgres', 'ALTER DATABASE again CONNECTION LIMIT 50');
my $other = open_session($node, 'again');
is( decode_id($other->query_safe('SELECT sno_generate()'))->{partition},
	$before,
	'after ALTER DATABASE sessions go on in their partition');
close_session($_) foreach $session, $other;
$node->safe_psql('postgres', 'ALTER DATABASE again CONNECTION LIMIT 51');
$used = make_ids('second');
is( $node->safe_psql(
		'again',
		qq{SELECT count(DISTINCT partition) FROM sno_catalog.sno_lease
			WHERE partition IN ($used) AND database = $oid}
	),
	2,
	'after ALTER DATABASE the leases are there');

close_session($_) foreach $mallory, $eve;
check_log($node);
$node->stop;
done_testing();
