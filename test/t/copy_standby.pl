
# Standbys: they generate no ids, and all else works there.  A standby that is
# promoted is another holder.  It uses no partition of which it knows that the
# primary leased it.  This also holds for a standby behind its primary, and for
# two standbys of one primary.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

# Leases are longer than the test.
my $primary = start_node('primary', allows_streaming => 1, conf => q{
sno.lease_duration = 1h
max_connections = 20
}, sql => q{
CREATE TABLE t (id sno NOT NULL);
CREATE INDEX ON t (id)});

$primary->backup('backup');
my %standby;
foreach my $name ('behind', 'first', 'second')
{
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($primary, 'backup', has_streaming => 1);
	$node->start;
	$standby{$name} = $node;
}

my $notes = NotedIds->new;

# The partitions of the leases that meet a condition.
sub rows
{
	my ($node, $condition) = @_;
	return $node->safe_psql('postgres',
		"SELECT partition FROM sno_catalog.sno_lease WHERE $condition ORDER BY 1"
	);
}

# The partitions that both the primary and a promoted standby have leased.
sub shared_partitions
{
	my ($node) = @_;
	return rows($node,
		"partition IN (SELECT partition FROM sno_catalog.sno_lease WHERE timeline = 1) AND timeline = 2"
	);
}

# Generate with one session first, then with clients.  If two sessions found no
# row of the server at the same time, each of them would make a holder.
sub generate
{
	my ($node, %params) = @_;

	$notes->add($node->name, $node->safe_psql('postgres', ids_of(10)));
	my $clients =
	  $notes->start_clients($node, 'postgres', table => 't', %params);
	$notes->wait_for_notes($clients);
	$notes->stop_clients($node, $clients);
	return;
}

# Of the leases on a WAL timeline: are there any, how many holders have them,
# and are all of this database?
sub summary
{
	my ($node, $timeline) = @_;
	return $node->safe_psql(
		'postgres', qq{
SELECT count(DISTINCT partition) > 0, count(DISTINCT holder),
	bool_and(database = (SELECT oid FROM pg_database WHERE datname = 'postgres'))
FROM sno_catalog.sno_lease WHERE timeline = $timeline});
}

$notes->next_phase;
generate($primary);
$primary->wait_for_catchup($_) foreach values %standby;

#
# A standby
#
my $session = open_session($standby{first}, 'postgres', 'sno.max_wait = 0');
my $errors  = 0;
for (1 .. 50)
{
	$errors++
	  if error_of($session, 'SELECT sno_generate()') =~
	  /^ERROR:  25006: cannot execute sno_generate\(\) during recovery\nHINT:  This server is a standby\. Connect to the primary\./m;
}
is($errors, 50, 'sno_generate() on a standby is a clear error, each time');
like(
	error_of($session, "SELECT sno_create_generator('g')"),
	qr/^ERROR:  25006: cannot execute sno_create_generator\(\) during recovery$/m,
	'so is sno_create_generator()');
my $row_count = $session->query_safe('SELECT count(*) FROM t');
cmp_ok($row_count, '>', 0, 'a standby reads rows with ids');
is( $session->query_safe(
		'SELECT count(*) FROM t WHERE id BETWEEN sno_min(now() - interval \'1 day\') AND sno_max(now())'
	),
	$row_count,
	'time bounds work on a standby');
is( $session->query_safe(
		'SELECT count(*) FROM t WHERE id <@ tstzrange(now() - interval \'1 day\', now())'
	),
	$row_count,
	'ranges of time work on a standby');
is( $session->query_safe(
		'SELECT (min(id)::text::sno = min(id)) || \',\' || (max(id)::uuid::sno = max(id)) FROM t'
	),
	'true,true',
	'text, casts, operators and aggregates work on a standby');
is( $session->query_safe(
		'SELECT * FROM sno_catalog.sno_lease ORDER BY partition'),
	$primary->safe_psql(
		'postgres', 'SELECT * FROM sno_catalog.sno_lease ORDER BY partition'),
	'the leases are replicated to a standby');
close_session($session);

#
# Standbys that compare their pages with those of the primary.  SQL changes
# pages of the table, which are then read, and leases are written to them again.
# The table is new each time, and its first page is full: so it is pruned when
# read.
#
my $options = $ENV{PGOPTIONS};
$ENV{PGOPTIONS} = "$options -c wal_consistency_checking=all";
$primary->safe_psql('postgres', $_)
  foreach (
	q{SELECT sno_create_generator('g' || n, n) FROM generate_series(1, 60) AS n},
	q{SELECT sno_generate(0, 'g' || n) FROM generate_series(1, 60) AS n});
foreach my $change (
	['DELETE FROM sno_catalog.sno_lease WHERE partition = 1'],
	['DELETE FROM sno_catalog.sno_lease WHERE partition < 9'],
	[   'BEGIN; DELETE FROM sno_catalog.sno_lease WHERE partition = 10; ROLLBACK'
	],
	[   'INSERT INTO sno_catalog.sno_lease SELECT * FROM sno_catalog.sno_lease WHERE partition = 12'
	],
	['UPDATE sno_catalog.sno_lease SET drifts = drifts WHERE partition = 13'],
	[   'DELETE FROM sno_catalog.sno_lease WHERE ctid = (SELECT max(ctid) FROM sno_catalog.sno_lease)',
		'VACUUM sno_catalog.sno_lease' ],
	# Generators of the rows before have entered their other side already.
	[   'UPDATE sno_catalog.sno_lease SET drifts = drifts WHERE partition > 13',
		'VACUUM FREEZE sno_catalog.sno_lease' ])
{
	$primary->safe_psql('postgres', $_)
	  foreach ('VACUUM FULL sno_catalog.sno_lease',
		@$change, 'SELECT count(*) FROM sno_catalog.sno_lease');
	$primary->safe_psql('postgres',
		q{SELECT sno_generate(0, 'g' || n) FROM generate_series(1, 60) AS n});
	$primary->wait_for_catchup($_) foreach values %standby;
	pass("standbys have the same pages after: @$change");
}
$ENV{PGOPTIONS} = $options;

#
# A standby that has not received the latest leases of the primary
#
$standby{behind}->stop;
generate($primary, clients => 8);
$primary->wait_for_catchup($standby{$_}) foreach ('first', 'second');
my $latest = rows($standby{first}, 'true');
$primary->stop('immediate');

$standby{behind}->start;
my $known = rows($standby{behind}, 'true');
cmp_ok(
	scalar(split /\n/, $known),
	'<',
	scalar(split /\n/, $latest),
	'one standby lacks leases of the primary');
$standby{behind}->promote;
$notes->next_phase;
generate($standby{behind});
is( rows($standby{behind}, 'timeline = 1'),
	$known,
	'after its promotion, the standby leaves the rows of the primary as they are'
);
is(summary($standby{behind}, 2),
	't|1|t', 'the promoted standby has rows of its own, as one holder');
is(shared_partitions($standby{behind}),
	'', 'the promoted standby uses other partitions than the primary');
$notes->check('a standby that was behind');

#
# Two standbys promoted from one primary
#
my %holder;
foreach my $name ('first', 'second')
{
	my $node = $standby{$name};

	$node->promote;
	$notes->next_phase;
	generate($node);
	is(summary($node, 2), 't|1|t', "promoted standby $name is one holder");
	is(shared_partitions($node),
		'', "promoted standby $name uses other partitions than the primary");
	$holder{$name} = $node->safe_psql('postgres',
		'SELECT DISTINCT holder FROM sno_catalog.sno_lease WHERE timeline = 2'
	);
}
$holder{primary} = $standby{first}->safe_psql('postgres',
	'SELECT DISTINCT holder FROM sno_catalog.sno_lease WHERE timeline = 1');
my %distinct = map { $_ => 1 } values %holder;
is(scalar keys %distinct,
	3, 'two promoted standbys and the primary are three holders');
$notes->check('two standbys promoted');

#
# All servers at the same time: sno.partitions keeps them apart
#
start_again($primary);
my %servers = (%standby, primary => $primary);
my %first_partition =
  (primary => 0, behind => 20000, first => 40000, second => 60000);
my %running;
foreach my $name (sort keys %servers)
{
	my $first = $first_partition{$name};
	my $last  = $first + 4999;

	$servers{$name}
	  ->append_conf('postgresql.conf', "sno.partitions = '$first-$last'");
	$servers{$name}->restart;
}
foreach my $name (sort keys %servers)
{
	$notes->next_phase;
	$running{$name} = $notes->start_clients(
		$servers{$name}, 'postgres',
		clients => 2,
		table   => 't');
}
$notes->wait_for_notes($running{$_}) foreach keys %running;
foreach my $name (keys %running)
{
	my (undef, $errors) =
	  $notes->stop_clients($servers{$name}, $running{$name});
	unlike($errors, qr/ERROR/, "$name generates without an error");
}
$notes->check('four servers at the same time');

done_testing();
