
# Named generators, which cannot move to another partition.  After any end of
# the server, and on copies of it, they go on at once where that is safe, and
# wait where it is not.  No id is issued twice.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

# Leases are longer than the test.
my $node = start_node('main', allows_streaming => 1, conf => q{
restart_after_crash = on
sno.lease_duration = 1h
}, sql => 'CREATE TABLE t (id sno NOT NULL)');

my $notes = NotedIds->new;

# Create a named generator.
sub create
{
	my ($name, $partition, @bounds) = @_;
	$node->safe_psql('postgres',
			"SELECT sno_create_generator('$name', "
		  . join(', ', $partition, @bounds)
		  . ')');
	return;
}

# Some keys of the snapshot of a generator; the server may be another one.
sub snapshot
{
	my ($name, $server) = @_;
	my $keys = join ', ',
	  map { "s->'$_'" } qw(drifts wallHi wallSafe sequence);
	my %snapshot;
	@snapshot{qw(drifts wall_hi wall_safe sequence)} = split /\|/,
	  ($server // $node)
	  ->safe_psql('postgres',
		"SELECT $keys FROM sno_snapshot_generator('$name') AS s");
	return \%snapshot;
}

# Make ids that may wait for half a second, and note them; returns them.
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

# The error of a generator that may not wait.
sub refusal
{
	my ($name, $server) = @_;
	my ($status, $out, $err) =
	  ($server // $node)
	  ->psql('postgres',
		"SET sno.max_wait = 0; SELECT sno_generate(1, '$name')");
	return $err;
}

# Let clients use a generator until a sub brings the server down.
sub load
{
	my ($name, $down) = @_;
	my $clients = $notes->start_clients(
		$node, 'postgres',
		generator => $name,
		table     => 't',
		max_wait  => 3_600_000);
	$notes->wait_for_notes($clients);
	$down->();
	my ($noted, $errors) = $notes->collect($clients);
	unlike($errors, qr/ERROR/,
		"$name: no client met an error before the end of the server");
	return;
}

# A clean restart, without sessions and under load.  The generator continues on
# the same side, with the next sequence if the unit is not over.
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
		'the last session writes the exact state to the row');
	$node->restart if $round == 1;
	is(snapshot('restart')->{wall_hi},
		$before->{wall_hi}, 'the exact state is known after a clean restart');
	generate('restart');
	is(snapshot('restart')->{drifts},
		0, 'after a clean restart, the side is the same');
}

# Crashes.  After the first one within a lease, the generator goes on at once on
# the other side.  After the second one, it must wait for both sides.  A session
# that notices the end of the postmaster may write the exact state when it ends:
# then it is not a crash for the generator.
my $partition = 1001;
foreach my $crash (crashes($node))
{
	my ($what, $crash_server, $bring_up) = @$crash;
	my $crashed = 0;

	create($what, $partition);
	for my $round (1 .. 50)
	{
		load($what, $crash_server);
		$bring_up->();
		next
		  if $node->safe_psql('postgres',
			"SELECT wall_hi = (ARRAY[tick_until, tock_until])[drifts % 2 + 1] FROM sno_catalog.sno_lease WHERE partition = $partition"
		  ) eq 't';
		last if ++$crashed == 2;

		my ($first) = generate($what);
		is(decode_id($first)->{tick_tock},
			1, "$what: the generator goes on at once on the other side");
	}
	like(
		refusal($what),
		qr/could not issue an id within 0 ms.*behind the ids that the generator issued/s,
		"$what: after a second crash within the lease the generator waits");
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
is(decode_id((generate('both'))[0])->{tick_tock},
	1,
	'after a crash that follows a clean restart, the side is the other one');

# Dropped, and created again with another name and other bounds.  What was
# issued is known, also after a crash.
$node->safe_psql('postgres', "SELECT sno_drop_generator('both')");
create('narrow', 1300, 12, 20);
load('narrow', sub { $node->stop('immediate') });
$node->start;
like(
	refusal('narrow'),
	qr/behind the ids that the generator issued/,
	'a generator whose range overlaps a dropped one waits for both leases');
create('beside', 1300, 21, 24);
generate('beside');
$notes->check_unique('ranges of sequences that overlap');

# A generator is defined in the partition of an idle session, which goes on in another one.
my $session = open_session($node, 'postgres');
$partition = $session->query_safe('SELECT sno_partition(sno_generate())');
create('taken', $partition);
generate('taken');
$notes->add('session', $session->query_safe(ids_of(100_000)));
isnt($session->query_safe('SELECT sno_partition(sno_generate())'),
	$partition, 'the session moves to another partition');
generate('taken');
my ($other) = $session->query_safe('SELECT sno_partition(sno_generate())');
$session->query_safe("SELECT sno_create_generator('own', $other)");
$notes->add('session', $session->query_safe(ids_of(1000, 'own')));
$notes->add('session', $session->query_safe(ids_of(1000)));
close_session($session);
generate('own');
$notes->check_unique('definitions in partitions in use');

# A promoted standby is another holder.  For it, it is as after a crash.
create('moved',  1500);
create('closed', 1501);
generate('closed');
my $standby = start_standby($node, 'standby');
my ($status, $out, $err) =
  $standby->psql('postgres', "SELECT sno_generate(1, 'moved')");
like(
	$err,
	qr/cannot execute sno_generate\(\) during recovery/,
	'a named generator issues nothing on a standby');
load(
	'moved',
	sub {
		$node->wait_for_catchup($standby);
		$node->stop('immediate');
	});
$standby->promote;
is(decode_id((generate('moved', $standby))[0])->{tick_tock},
	1,
	'on a promoted standby, a generator in use continues on the other side');
is(decode_id((generate('closed', $standby))[0])->{tick_tock},
	1, 'on a promoted standby, so does a generator whose row is exact');
$notes->check_unique('a promoted standby');
$standby->stop;

done_testing();
