
# Databases and extensions that are created and dropped while others generate,
# small ranges of partitions, dump and restore.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

# Leases are longer than the test.  Other ranges are set later, where nobody has
# used a partition yet.
my $node = start_node('main', conf => q{
sno.lease_duration = 1h
sno.partitions = '10000-19999'
});

my $notes = NotedIds->new;

# Make ids in a session, and note them; returns their partitions.
sub generate
{
	my ($session, $count) = @_;
	my $ids = $session->query_safe(ids_of($count // 100));
	$notes->add($session, $ids);
	return join ',', partitions_of($ids);
}

# The partitions of the leases that meet a condition.
sub leased_partitions
{
	my ($dbname, $condition) = @_;
	return $node->safe_psql($dbname,
		"SELECT DISTINCT partition FROM sno_catalog.sno_lease WHERE $condition ORDER BY 1"
	);
}

my $own =
  'database = (SELECT oid FROM pg_database WHERE datname = current_database())';

# Wait until the backend of a session waits for an id.
sub wait_until_waiting
{
	my ($pid) = @_;
	wait_until(
		"session $pid waits",
		sub {
			$node->safe_psql('postgres',
				"SELECT wait_event_type FROM pg_stat_activity WHERE pid = $pid"
			) eq 'Extension';
		});
	return;
}

#
# A session that ends gives its partition to the next one
#
my $session   = open_session($node, 'postgres');
my $partition = generate($session);
close_session($session);
wait_until(
	'a new session has the partition',
	sub {
		my $next = open_session($node, 'postgres');
		my $got  = generate($next);
		close_session($next);
		$got eq $partition;
	});
for (1 .. 10)
{
	$notes->add("short session $_", $node->safe_psql('postgres', ids_of(10)));
}
cmp_ok(
	$node->safe_psql(
		'postgres', 'SELECT count(*) FROM sno_catalog.sno_lease'),
	'<', 10,
	'short sessions, one after the other, lease few partitions');

#
# Databases that are dropped and copied
#
foreach my $force ('', ' WITH (FORCE)')
{
	for my $n (1 .. 3)
	{
		$node->safe_psql('postgres', 'CREATE DATABASE brief');
		$node->safe_psql('brief',    'CREATE EXTENSION sno');
		my $clients;
		if ($force)
		{
			$clients =
			  $notes->start_clients($node, 'brief', max_wait => 1000);
			$notes->wait_for_notes($clients);
		}
		$notes->add("brief$n$force", $node->safe_psql('brief', ids_of(100)));
		$node->safe_psql('postgres', "DROP DATABASE brief$force");
		$notes->collect($clients) if $force;
	}
}
pass('databases are dropped right after sessions generated, and while they do'
);

$node->safe_psql('postgres', 'CREATE DATABASE original');
$node->safe_psql('original', 'CREATE EXTENSION sno');
foreach my $strategy ('wal_log', 'file_copy')
{
	my $copy = "copy_by_$strategy";

	$notes->add("original before $copy",
		$node->safe_psql('original', ids_of(1000)));
	$node->safe_psql('postgres',
		"CREATE DATABASE $copy TEMPLATE original STRATEGY $strategy");
	my $template_rows = leased_partitions('original', 'true');
	$notes->add($copy, $node->safe_psql($copy, ids_of(1000)));
	is(leased_partitions($copy, "NOT $own"),
		$template_rows, "$copy: it has the rows of the original");
	is( $node->safe_psql(
			$copy, "SELECT count(*) FROM sno_catalog.sno_lease WHERE $own"),
		1,
		"$copy: it has one row of its own");
	is( $node->safe_psql(
			$copy,
			"SELECT count(*) FROM sno_catalog.sno_lease AS o, sno_catalog.sno_lease AS f
			WHERE o.$own AND NOT f.$own AND (o.holder = f.holder OR o.partition = f.partition)"
		),
		0,
		"$copy: its row has another holder and another partition");

	# Both of them at the same time, and a third database.
	my %clients = map {
		$_ => $notes->start_clients($node, $_, clients => 2, max_wait => 1000)
	} ('original', $copy, 'postgres');
	$notes->wait_for_notes($_) foreach values %clients;
	$notes->stop_clients($node, $_) foreach values %clients;
	is( $node->safe_psql(
			$copy,
			"SELECT count(*) FROM sno_catalog.sno_lease AS o, sno_catalog.sno_lease AS f
			WHERE o.$own AND NOT f.$own AND o.partition = f.partition"),
		0,
		"$copy: no partition is leased by both while both generate");
}
$notes->check('databases');

#
# The extension is dropped and created again while clients generate
#
my $clients = $notes->start_clients(
	$node, 'postgres',
	max_wait    => 1000,
	bear_errors => 1);
my $other = open_session($node, 'postgres');
for (1 .. 5)
{
	$notes->wait_for_notes($clients);
	$other->query_safe('DROP EXTENSION sno CASCADE');
	$other->query_safe('CREATE EXTENSION sno');
	generate($other);
}
$notes->wait_for_notes($clients);
$notes->stop_clients($node, $clients);
$notes->check('an extension dropped and created');

#
# A session that waits for a lock goes on when the lock is released
#
my $locker = open_session($node, 'postgres');
$locker->query_safe(
	'BEGIN; LOCK TABLE sno_catalog.sno_lease IN EXCLUSIVE MODE');
my @waiting =
  map { open_session($node, 'postgres', "sno.max_wait = '1d'") } 1 .. 3;
my @pids = map { $_->{pid} } @waiting;

# No partition of this range was used yet, so the sessions need new leases.
configure($node, 'sno.partitions', '1000-1999', @waiting);
send_query($_, ids_of(100)) foreach @waiting;
wait_until_waiting($_) foreach @pids;
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pids[0])");
my ($out, $err) = receive($waiting[0]);
like($err, qr/ERROR:  57014: /, 'a wait for a lock can be cancelled');
send_query($waiting[0], ids_of(100));
wait_until_waiting($pids[0]);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pids[1])");
$locker->query_safe('COMMIT');

foreach my $n (0, 2)
{
	($out, $err) = receive($waiting[$n]);
	is($err, '', 'a wait for a lock ends when the lock is released');
	$notes->add($waiting[$n], $out);
}
drop_session($waiting[1]);
close_session($_) foreach ($locker, @waiting[ 0, 2 ]);

#
# A small range: sessions that stay keep no other one from it, nor a named generator
#
configure($node, 'sno.partitions', '100-103');
my @sessions =
  map { open_session($node, 'postgres', "sno.max_wait = '100ms'") } 1 .. 8;
my @partitions = map { generate($_) } @sessions;
is(scalar(grep { /^10[0-3]$/ } @partitions),
	8, 'eight sessions that stay have ids in a range of four partitions');
is( error_of(
		$sessions[0],
		"SELECT sno_create_generator('there', $partitions[1]); SELECT sno_generate(0, 'there')"
	),
	'',
	'a named generator issues in a partition where a session did that is idle');
isnt(generate($sessions[1]), $partitions[1], 'that session goes on in another one');

# Another database has free partitions.
my $stranger = open_session($node, 'original', "sno.max_wait = '10ms'");
is(error_of($stranger, 'SELECT sno_generate()'),
	'', 'a session of another database does not have to wait');

# Sessions that run move when the range changes.
configure($node, 'sno.partitions', '200-203', @sessions);
foreach my $session (@sessions)
{
	wait_until('a session has moved',
		sub { generate($session) =~ /^20[0-3]$/ });
}
configure($node, 'sno.partitions', '0-65535', $stranger);
isnt(generate($stranger), '',
	'a session of another database generates in a wide range');
close_session($_) foreach ($other, $stranger, @sessions);
$notes->check('small ranges');

#
# Dump and restore by the owner of a database, who is not a superuser
#
$node->safe_psql(
	'postgres', q{
CREATE ROLE owner LOGIN;
CREATE DATABASE dumped OWNER owner;
CREATE DATABASE restored OWNER owner});
sub as_owner { return $node->connstr($_[0]) . ' user=owner'; }
$node->safe_psql(
	'dumped', q{
CREATE EXTENSION sno;
CREATE TABLE t (id sno PRIMARY KEY DEFAULT sno_generate(1), n integer);
INSERT INTO t (n) SELECT generate_series(1, 1000)},
	connstr => as_owner('dumped'));
$notes->add('dumped', $node->safe_psql('dumped', 'SELECT id FROM t'));
my $file = PostgreSQL::Test::Utils::tempdir('dump') . '/dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $file, '-d', as_owner('dumped') ],
	'the owner of a database dumps it');
$node->command_ok([ 'pg_restore', '-e', '-d', as_owner('restored'), $file ],
	'the owner restores the dump');
$notes->add(
	'restored',
	$node->safe_psql(
		'restored',
		'INSERT INTO t (n) SELECT generate_series(1, 1000) RETURNING id',
		connstr => as_owner('restored')));
is($node->safe_psql('restored', 'SELECT count(*) FROM t'),
	2000, 'restored: all rows are there');
is( $node->safe_psql(
		'restored', "SELECT * FROM sno_catalog.sno_lease WHERE NOT $own"),
	$node->safe_psql('dumped', 'SELECT * FROM sno_catalog.sno_lease'),
	'restored: the leases are those of another holder');
isnt(
	leased_partitions('restored', $own),
	leased_partitions('restored', "NOT $own"),
	'restored: new ids are in partitions of no other holder');
$notes->check('all');

check_log($node);
$node->stop;
done_testing();
