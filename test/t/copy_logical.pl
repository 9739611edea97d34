
# Logical replication of all tables, also those of the extension.  The leases
# that the publisher has when the subscription begins are those of another
# holder at the subscriber, and bound what it issues.  Later leases are never
# sent.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

# Leases are longer than the test.
my %node;
foreach my $name (qw(publisher subscriber))
{
	my $node = start_node($name, allows_streaming => 'logical', conf => q{
autovacuum = off
sno.lease_duration = 1h
});
	$node{$name} = $node;
}
my ($publisher, $subscriber) = @node{qw(publisher subscriber)};
my $version = $publisher->pg_version;
my $notes   = NotedIds->new;

my $own =
  'system_identifier = (SELECT system_identifier FROM pg_control_system())';

# A hash of those columns of a table that both servers have.
sub digest
{
	my ($node, $table) = @_;
	my $n = $table eq 't' ? 'n' : '0';
	return $node->safe_psql('postgres',
		"SELECT count(*), md5(string_agg(id || ' ' || $n, ',' ORDER BY id)) FROM $table"
	);
}

# The leases that meet a condition.
sub leases
{
	my ($node, $condition, $columns) = @_;
	$columns //= '*';
	return $node->safe_psql('postgres',
		"SELECT $columns FROM sno_catalog.sno_lease WHERE $condition ORDER BY partition, taken_at"
	);
}

# Partitions that both servers have leased, by their own tables.
sub shared
{
	my %leased = map { $_ => 1 } split /\n/,
	  leases($publisher, $own, 'partition');
	return join ',', grep { $leased{$_} } split /\n/,
	  leases($subscriber, $own, 'partition');
}

#
# The publisher generates before the subscription begins
#
my $publisher_phase = $notes->{phase};
my $clients = $notes->start_clients($publisher, 'postgres', clients => 8);
$notes->wait_for_notes($clients);
$notes->stop_clients($publisher, $clients);
$publisher->safe_psql('postgres',
	"SELECT pg_create_logical_replication_slot('decoder', 'test_decoding')");
$publisher->safe_psql('postgres',
	'CREATE PUBLICATION everything FOR ALL TABLES');
is( $publisher->safe_psql(
		'postgres',
		"SELECT count(*) FROM pg_publication_tables WHERE tablename = 'sno_lease'"
	),
	1,
	'FOR ALL TABLES publishes the leases');

$notes->next_phase;
my $subscriber_phase = $notes->{phase};
my $connection       = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION sub CONNECTION '$connection' PUBLICATION everything"
);
$subscriber->wait_for_subscription_sync($publisher, 'sub');

my $received = leases($subscriber, "NOT $own");
is( $received,
	leases($publisher, 'true'),
	'the leases of the publisher are copied, and have another holder');

# The subscriber makes an id for each row that it receives, and has a table of
# its own.
$subscriber->safe_psql(
	'postgres', q{
CREATE TABLE t (id sno PRIMARY KEY, n integer NOT NULL DEFAULT 0, received sno UNIQUE DEFAULT sno_generate(2));
CREATE TABLE own (id sno PRIMARY KEY)});
$publisher->safe_psql(
	'postgres', q{
CREATE TABLE t (id sno PRIMARY KEY, n integer NOT NULL DEFAULT 0);
INSERT INTO t SELECT sno_generate(n % 256), n FROM generate_series(1, 1000) AS n}
);
$subscriber->safe_psql('postgres',
	'ALTER SUBSCRIPTION sub REFRESH PUBLICATION');
$subscriber->wait_for_subscription_sync($publisher, 'sub');
is($subscriber->safe_psql('postgres', 'SELECT count(received) FROM t'),
	1000, 'the worker that copies a table makes ids');

#
# Both servers generate
#
my %running;
foreach my $name ('publisher', 'subscriber')
{
	local $notes->{phase} =
	  $name eq 'publisher' ? $publisher_phase : $subscriber_phase;
	$running{$name} = $notes->start_clients($node{$name}, 'postgres',
		table => $name eq 'publisher' ? 't' : 'own');
}
$notes->wait_for_notes($running{$_}) foreach keys %running;
foreach my $name (keys %running)
{
	my (undef, $errors) = $notes->stop_clients($node{$name}, $running{$name});
	unlike($errors, qr/ERROR/, "$name generates without an error");
}
$publisher->wait_for_catchup('sub');
is(shared(), '', 'no partition is leased by both servers');
is( leases(
		$subscriber,
		"$own AND partition IN (SELECT partition FROM sno_catalog.sno_lease WHERE NOT $own)"
	),
	'',
	'the subscriber leases no partition of which it has a row of the publisher'
);
is( digest($subscriber, 't'),
	digest($publisher,  't'),
	'all rows of the publisher are at the subscriber');
$notes->add(
	'workers',
	$subscriber->safe_psql(
		'postgres', 'SELECT received FROM t ORDER BY received'));
$notes->check('publisher and subscriber');

# Changes, for which rows are found by their ids
my @steps = (
	[ 'an update', 'UPDATE t SET n = sno_sequence(id)' ],
	[   'a changed metabyte',
		'UPDATE t SET id = sno_with_meta(id, 255) WHERE sno_sequence(id) % 3 = 0'
	],
	[ 'a deletion', 'DELETE FROM t WHERE sno_sequence(id) % 5 = 0' ]);
foreach my $step (@steps)
{
	my ($what, $command) = @$step;
	$publisher->safe_psql('postgres', $command);
	$publisher->wait_for_catchup('sub');
	is( digest($subscriber, 't'),
		digest($publisher,  't'),
		"$what arrives at the subscriber");
}

#
# What happens to the table of leases
#

# Neither a lease that is written nor what VACUUM FULL does is ever decoded.
my $before = leases($publisher, 'true', 'taken_at');
$publisher->safe_psql('postgres', 'VACUUM FULL sno_catalog.sno_lease');
$notes->{phase} = $publisher_phase;
$notes->add('after VACUUM FULL',
	$publisher->safe_psql('postgres', ids_of(100)));
isnt(leases($publisher, 'true', 'taken_at'),
	$before, 'a lease was written after VACUUM FULL');
is( $publisher->safe_psql(
		'postgres',
		"SELECT count(*) FILTER (WHERE data ~ 'table public.t:') > 1000, count(*) FILTER (WHERE data ~ 'sno_lease') FROM pg_logical_slot_get_changes('decoder', NULL, NULL)"
	),
	't|0',
	'the rows of a user\'s table are decoded, but no lease');
$publisher->wait_for_catchup('sub');
is(leases($subscriber, "NOT $own"),
	$received, 'no later lease arrives at the subscriber');

# Without a replica identity, a deletion is refused, and generators are not
# disturbed.
my $delete = "DELETE FROM sno_catalog.sno_lease WHERE NOT $own";
my ($status, undef, $error) =
  $publisher->psql('postgres', "\\set VERBOSITY verbose\n$delete");
like(
	$error,
	qr/ERROR:  55000: cannot delete from table "sno_lease" because it does not have a replica identity/,
	'a deletion of leases needs a replica identity');
$publisher->safe_psql('postgres',
	"ALTER TABLE sno_catalog.sno_lease REPLICA IDENTITY FULL; $delete");
$publisher->safe_psql('postgres', 'VACUUM FULL sno_catalog.sno_lease');
is( $notes->add(
		'with a replica identity',
		$publisher->safe_psql('postgres', ids_of(100))),
	100,
	'sessions generate while the table has a replica identity');
$publisher->safe_psql('postgres',
	'ALTER TABLE sno_catalog.sno_lease REPLICA IDENTITY DEFAULT');

# A dump that is restored at the publisher brings leases of a third holder.
# They arrive at the subscriber, which gives up a partition that they name.
$notes->{phase} = $subscriber_phase;
my $session   = open_session($subscriber, 'postgres');
my $id        = $session->query_safe('SELECT sno_generate()');
my $partition = decode_id($id)->{partition};
$publisher->safe_psql('postgres',
	"INSERT INTO sno_catalog.sno_lease VALUES (1, 1, 1, 1, 's', $partition, '00000000-0000-0000-0000-000000000000', 0, 65535, 0, now(), 0, '2079-01-01', '2079-01-01', now(), 0)"
);
$publisher->wait_for_catchup('sub');
is(leases($subscriber, 'holder = 1', 'partition'),
	$partition, 'a lease that SQL inserts at the publisher arrives');
$subscriber->safe_psql('postgres', 'VACUUM FULL sno_catalog.sno_lease');
wait_until(
	'the unit of the last id has passed',
	sub {
		$session->query_safe(
			"SELECT clock_timestamp() > sno_timestamp('$id') + interval '4 ms'"
		) eq 't';
	});
$notes->add($session,
	join("\n", $id, my $next = $session->query_safe('SELECT sno_generate()'))
);
isnt(decode_id($next)->{partition},
	$partition, 'a session gives up the partition that the lease names');
close_session($session);

#
# Both ways, with ranges of partitions that are apart.  Since 16 all tables can
# be replicated both ways, because a server can send only its own rows.  Before,
# each table is replicated one way.
#
my %range   = (publisher => '0-29999', subscriber => '30000-59999');
my $options = 'copy_data = false';
if ($version >= 16)
{
	$options .= ', origin = none';
	$publisher->safe_psql('postgres',
		'ALTER TABLE t ADD COLUMN received sno');
	$subscriber->safe_psql('postgres',
		'CREATE PUBLICATION everything FOR ALL TABLES');
	$subscriber->safe_psql('postgres',
		'ALTER SUBSCRIPTION sub SET (origin = none)');
}
else
{
	$subscriber->safe_psql('postgres',
		'CREATE PUBLICATION everything FOR TABLE own');
	$publisher->safe_psql('postgres',
		'DROP PUBLICATION everything; CREATE PUBLICATION everything FOR TABLE t'
	);
	$subscriber->safe_psql('postgres',
		'ALTER SUBSCRIPTION sub REFRESH PUBLICATION');
}
$publisher->safe_psql('postgres', 'CREATE TABLE own (id sno PRIMARY KEY)');
$subscriber->safe_psql('postgres', 'TRUNCATE own');
$connection = $subscriber->connstr . ' dbname=postgres';
$publisher->safe_psql('postgres',
	"CREATE SUBSCRIPTION bus CONNECTION '$connection' PUBLICATION everything WITH ($options, binary = true)"
);
foreach my $name ('publisher', 'subscriber')
{
	$node{$name}
	  ->append_conf('postgresql.conf', "sno.partitions = '$range{$name}'");
	$node{$name}->restart;
}
foreach my $name ('publisher', 'subscriber')
{
	$notes->next_phase;
	$running{$name} = $notes->start_clients($node{$name}, 'postgres',
		table => $version >= 16 || $name eq 'publisher' ? 't' : 'own');
}
$notes->wait_for_notes($running{$_}) foreach keys %running;
foreach my $name (keys %running)
{
	my (undef, $errors) = $notes->stop_clients($node{$name}, $running{$name});
	unlike($errors, qr/ERROR/, "$name generates without an error");
}
$publisher->wait_for_catchup('sub');
$subscriber->wait_for_catchup('bus');
is( digest($publisher,  $_),
	digest($subscriber, $_),
	"both ways: table $_ is the same") foreach ('t', 'own');
is(shared(), '', 'both ways: no partition is leased by both servers');
is(leases($subscriber, "NOT $own AND holder <> 1"),
	$received, 'both ways: no lease was sent to the subscriber');
is(leases($publisher, "NOT $own AND holder <> 1"),
	'', 'both ways: no lease was sent to the publisher');
$notes->check('both ways');

foreach my $node (values %node)
{
	check_log($node);
	$node->stop;
}
done_testing();
