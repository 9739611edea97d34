
# Named generators, which can't move to another partition: whatever ends the
# server, and wherever their rows get to, they go on at once where that is safe,
# wait where it isn't, and no id comes twice.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;

# Leases outlive the whole test.
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->append_conf(
	'postgresql.conf', q{
restart_after_crash = on
log_statement = none
sno.lease_duration = 1h
});
$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION sno; CREATE TABLE t (id sno NOT NULL)');

my $notes = NotedIds->new;

sub create
{
	my ($name, $partition, @bounds) = @_;
	$node->safe_psql('postgres',
			"SELECT sno_create_generator('$name', "
		  . join(', ', $partition, @bounds)
		  . ')');
	return;
}

# What a generator's snapshot says, of a server that needn't be ours.
sub snapshot
{
	my ($name, $server) = @_;
	my $keys = join ', ',
	  map { "s->'$_'" } qw(drifts wallHi wallSafe sequence);
	my %snapshot;
	@snapshot{qw(drifts wall_hi wall_safe sequence)} = split /\|/,
	  ($server // $node)
	  ->safe_psql('postgres',
		"SELECT $keys FROM sno_take_snapshot('$name') AS s");
	return \%snapshot;
}

# Ids from a generator that may not wait for long; all are noted.
sub generate
{
	my ($name, $server) = @_;
	my $ids =
	  ($server // $node)
	  ->safe_psql('postgres',
		'SET sno.max_wait = 500; ' . ids_of(1000, $name));
	$notes->add($name, $ids);
	return split /\n/, $ids;
}

# The same where that can't be: what it complains of.
sub complaint
{
	my ($name, $server) = @_;
	my ($status, $out, $err) =
	  ($server // $node)
	  ->psql('postgres',
		"SET sno.max_wait = 0; SELECT sno_generate(1, '$name')");
	return $err;
}

# Clients on one generator, until the server is brought down under them.
sub load
{
	my ($name, $down) = @_;
	my $clients = $notes->start_clients(
		$node, 'postgres',
		generator => $name,
		table     => 't',
		max_wait  => 10_000);
	$notes->wait_for_notes($clients);
	$down->();
	my ($noted, $errors) = $notes->collect($clients);
	unlike($errors, qr/ERROR/, "$name: no client met an error before");
	return;
}

# A clean restart, with nobody left and under load: the same timeline, with the
# next sequence where its unit isn't over.
create('restart', 1000);
for my $round (1 .. 2)
{
	if ($round == 1)
	{
		generate('restart');
	}
	else
	{
		load('restart', sub { $node->stop('fast') });
		$node->start;
	}
	my $before = snapshot('restart');
	ok( $node->poll_query_until(
			'postgres',
			"SELECT wall_hi = (ARRAY[tick_until, tock_until])[drifts % 2 + 1] FROM sno_catalog.sno_lease WHERE partition = 1000"
		),
		'the last session leaves the exact state behind');
	$node->restart if $round == 1;
	is(snapshot('restart')->{wall_hi},
		$before->{wall_hi}, 'a clean restart knows it');
	generate('restart');
	is(snapshot('restart')->{drifts},
		0, 'after a clean restart, it is the same timeline');
}

# Crashes: the first one within a lease changes the timeline, at once; after the
# second one both are used up.  Sessions that see that their postmaster is gone
# may leave the exact state behind when they end: that is no crash.
my $partition = 1001;
foreach my $crash (crashes($node))
{
	my ($what, $make, $mend) = @$crash;
	my $crashed = 0;

	create($what, $partition);
	for my $round (1 .. 50)
	{
		load($what, $make);
		$mend->();
		next
		  if $node->safe_psql('postgres',
			"SELECT wall_hi = (ARRAY[tick_until, tock_until])[drifts % 2 + 1] FROM sno_catalog.sno_lease WHERE partition = $partition"
		  ) eq 't';
		last if ++$crashed == 2;

		my ($first) = generate($what);
		my ($unit, $tick_tock) = decode_id($first);
		is($tick_tock, 1, "$what: it goes on at once in the other timeline");
	}
	like(
		complaint($what),
		qr/could not issue a sno within 0 ms.*behind what the generator issued/s,
		"$what: a second one within the lease makes it wait");
	create("$what again", $partition++ + 100);
	generate("$what again");
}
$notes->check_unique('crashes');

# Crashes within the lease that a clean restart began
create('both', 1300, 10, 13);
generate('both');
$node->restart;
load('both', sub { $node->stop('immediate') });
$node->start;
is((decode_id((generate('both'))[0]))[1],
	1, 'a crash after a clean restart changes the timeline');

# Dropped, and created again under another name and with other bounds: what was
# issued is remembered, here and after a crash.
$node->safe_psql('postgres', "SELECT sno_drop_generator('both')");
create('narrow', 1300, 12, 20);
load('narrow', sub { $node->stop('immediate') });
$node->start;
like(
	complaint('narrow'),
	qr/behind what the generator issued/,
	'a pool that overlaps one that was dropped waits for both leases');
create('beside', 1300, 21, 24);
generate('beside');
$notes->check_unique('pools that overlap');

# An anonymous generator and a definition in its partition: it moves away.
my $session = open_session($node, 'postgres');
$partition = $session->query_safe('SELECT sno_partition(sno_generate())');
create('taken', $partition);
like(
	complaint('taken'),
	qr/partition $partition of generator "taken" was in use for 0 ms/,
	'a generator waits for the session that has its partition');
$notes->add('anonymous', $session->query_safe(ids_of(100_000)));
isnt($session->query_safe('SELECT sno_partition(sno_generate())'),
	$partition, 'which moves away');
generate('taken');
my ($mine) = $session->query_safe('SELECT sno_partition(sno_generate())');
$session->query_safe("SELECT sno_create_generator('own', $mine)");
$notes->add('anonymous', $session->query_safe(ids_of(1000, 'own')));
$notes->add('anonymous', $session->query_safe(ids_of(1000)));
close_session($session);
generate('own');
$notes->check_unique('definitions in partitions in use');

# A standby that is promoted is another holder, and as after a crash.
create('moved',  1500);
create('closed', 1501);
generate('closed');
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
my ($status, $out, $err) =
  $standby->psql('postgres', "SELECT sno_generate(1, 'moved')");
like(
	$err,
	qr/cannot execute sno_generate\(\) during recovery/,
	'a standby generates nothing');
load(
	'moved',
	sub {
		$node->wait_for_catchup($standby);
		$node->stop('immediate');
	});
$standby->promote;
is((decode_id((generate('moved', $standby))[0]))[1],
	1, 'a promoted standby goes on at once in the other timeline');
is((decode_id((generate('closed', $standby))[0]))[1],
	1, 'also where the generator was closed, as far as it knows');
$notes->check_unique('a promoted standby');
$standby->stop;

done_testing();
