
# Named generators and a clock that steps back and forward: while the server
# runs, while it is down, and from a server to another one where a dump is
# restored.  After a step back, the other side goes on at once.  After a second
# step back into the same time, generators wait.  No id is issued twice.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use NotedIds;
use TestHelpers;
use Time::HiRes qw(time usleep);

my $clock = FakeClock->new;

sub server
{
	my ($name) = @_;
	my $server = new_node($name, conf => q{
autovacuum = off
sno.lease_duration = 10min
});
	return $server;
}

my $node = server('main');
$clock->start_server($node);
$node->safe_psql('postgres', 'CREATE EXTENSION sno');

my $notes = NotedIds->new;

sub create
{
	my ($name, $partition, $sequence_max) = @_;
	$sequence_max //= 9999;
	$node->safe_psql('postgres',
		"SELECT sno_create_generator('$name', $partition, 0, $sequence_max)");
	return;
}

# Make ids, and note them; returns the fields of the last one.
sub generate
{
	my ($name, $session) = @_;
	my $ids = $session->query_safe(ids_of(100, $name));
	$notes->add($session, $ids);
	return decode_id($ids =~ s/.*\n//sr);
}

# A session that may wait for half a second.
sub session
{
	my ($server) = @_;
	return open_session($server // $node, 'postgres', 'sno.max_wait = 500');
}

# The error of a generator that may not wait for long.
sub refusal
{
	my ($name, $session) = @_;
	return error_of($session, "SELECT sno_generate(1, '$name')");
}

my $behind = qr/53400.*behind the ids that the generator issued/s;

sub drifts
{
	my ($name) = @_;
	return $node->safe_psql('postgres',
		"SELECT sno_snapshot_generator('$name')->'drifts'");
}

#
# Steps while the server runs
#

my $partition = 2000;
foreach my $size (60, 3600, 365 * 86400)
{
	my $name = "back by $size s";
	$clock->set_offset(0);
	create($name, $partition++);
	my ($one, $two) = (session(), session());

	my $before = generate($name, $one);
	generate($name, $two);
	$clock->set_offset(-$size);
	my $back  = generate($name, $one);
	my $other = generate($name, $two);
	is($before->{tick_tock} . $back->{tick_tock} . $other->{tick_tock},
		'011', "$name: both sessions are on the other side");
	cmp_ok(
		$back->{unit}, '<',
		$before->{unit} - 250 * $size + 250 * 30,
		"$name: ids have the time of the clock");
	is(drifts($name), 1, "$name: that is one drift");

	$clock->set_offset(-2 * $size);
	like(refusal($name, $one), $behind, "$name again: the generator waits");

	$clock->set_offset(30);
	my $forward = generate($name, $two);
	cmp_ok($forward->{unit}, '>', $before->{unit},
		"$name, then forward: the generator goes on");
	is(drifts($name), 1, "$name, then forward: that is no drift");

	$clock->set_offset(0);
	generate($name, $one);
	is(drifts($name), 2,
		"$name, forward, and back again: that is a second drift");

	# After steps, a clean restart is no drift.
	close_session($_) foreach ($one, $two);
	$clock->set_offset(60);
	$node->stop;
	$clock->start_server($node);
	$one = session();
	generate($name, $one);
	is(drifts($name), 2, "$name: a clean restart is no drift");
	close_session($one);
}
$notes->check_unique('steps');

#
# Steps while the server is down
#

foreach my $mode ('fast', 'immediate')
{
	my $name = "$mode restart";

	$clock->set_offset(0);
	create($name, $partition++);
	my $session = session();
	my $before  = generate($name, $session);
	close_session($session) if $mode eq 'fast';
	$node->stop($mode);
	$clock->set_offset(-3600);
	$clock->start_server($node);
	$session = session();
	my $back = generate($name, $session);
	is($back->{tick_tock}, 1, "$name: the side is the other one");
	cmp_ok(
		$back->{unit}, '<',
		$before->{unit} - 250 * 3000,
		"$name: ids have the time of the clock");
	close_session($session);

	$node->stop;
	$clock->set_offset(-7200);
	$clock->start_server($node);
	$session = session();
	like(refusal($name, $session),
		$behind, "$name again: the generator waits");
	close_session($session);
	$node->stop;
	$clock->set_offset(3600);
	$clock->start_server($node);
	$session = session();
	generate($name, $session);
	close_session($session);
}
$notes->check_unique('steps while it is down');

#
# A clock that is a year ahead for a moment.  Then the generator has one side
# left.  Where that is not enough, another partition helps.  What was issued in
# the old partition stays known.
#
{
	my $elsewhere = $partition + 100;
	my $session   = session();

	$clock->set_offset(0);
	create('ahead', $partition);
	generate('ahead', $session);
	$clock->set_offset(365 * 86400);
	is(generate('ahead', $session)->{tick_tock},
		0, 'a year ahead: the generator goes on');
	$clock->set_offset(0);
	is(generate('ahead', $session)->{tick_tock},
		1,
		'back from a year ahead: the generator continues on the other side');
	$clock->set_offset(-3600);
	like(refusal('ahead', $session),
		$behind, 'further back: the generator waits');

	foreach my $try ('dropped and created again', 'with other bounds')
	{
		$session->query_safe("SELECT sno_drop_generator('ahead')");
		create('ahead', $partition, $try =~ /bounds/ ? 5000 : 9999);
		like(refusal('ahead', $session),
			$behind, "$try: the generator waits as before");
	}
	$session->query_safe("SELECT sno_drop_generator('ahead')");
	create('ahead', $elsewhere);
	is(generate('ahead', $session)->{partition},
		$elsewhere, 'in another partition: the generator goes on');

	$session->query_safe("SELECT sno_drop_generator('ahead')");
	create('ahead', $partition++);
	$clock->set_offset(1);
	is(generate('ahead', $session)->{tick_tock},
		1, 'back in the old partition, when the clock is right: it goes on');
	close_session($session);
}
$notes->check_unique('a year ahead');

#
# Dumped while clients generate, and restored where the clock is behind
#

$clock->set_offset(0);
create('dumped', $partition++);
create('idle',   $partition++);
my $session = session();
generate('idle', $session);
close_session($session);
my $clients = $notes->start_clients(
	$node, 'postgres',
	generator => 'dumped',
	max_wait  => 3_600_000);
$notes->wait_for_notes($clients);
my $dump = PostgreSQL::Test::Utils::tempdir('dump') . '/dump.sql';
$node->command_ok(
	[ 'pg_dump', '-f', $dump, $node->connstr('postgres') ],
	'a database is dumped while clients generate');
$notes->stop_clients($node, $clients);

$clock->set_offset(-300);
my $restored = server('restored');
$clock->start_server($restored);
restore_dump($restored, $dump,
	'the dump is restored where the clock is behind');
$session = session($restored);
is(generate('dumped', $session)->{tick_tock},
	1, 'restored: a generator that was in use continues on the other side');
is(generate('idle', $session)->{tick_tock},
	1, 'restored: so does a generator that was not in use');
$clock->set_offset(-600);
like(refusal('dumped', $session),
	$behind, 'restored, further back: the generator waits');
close_session($session);
$notes->check_unique('a dump');
$restored->stop;

#
# COPY and pg_dump read rows without a lock.  They may see the first columns of
# a row as before a step back and the others as after it.  Such a row still
# bounds the ids that were issued before the read began.
#

$clock->set_offset(0);
create('torn', $partition);
$session = session();

# The columns of the row of that generator.
sub row
{
	my ($text) = $node->safe_psql('postgres',
		"SELECT r FROM sno_catalog.sno_lease AS r WHERE partition = $partition"
	) =~ /^\((.*)\)$/;
	return split /,/, $text;
}
my $left = generate('torn', $session);
my @old  = row();
$clock->set_offset(-60);
generate('torn', $session);
my @new = row();
isnt("@new", "@old", 'a step back changes the row');
foreach my $columns (0 .. @old)
{
	my $torn = join ',', @old[ 0 .. $columns - 1 ], @new[ $columns .. $#new ];
	is( $node->safe_psql(
			'postgres',
			'SELECT '
			  . unit_of('(r).tick_until')
			  . " >= $left->{unit} FROM (SELECT '($torn)'::sno_catalog.sno_lease AS r) AS s"
		),
		't',
		"a row with $columns columns from before the step bounds the ids before it"
	);
}
close_session($session);
$partition++;

#
# A clock that steps all the time
#

$clock->set_offset(0);
create('strobed', $partition++);
$clients = $notes->start_clients(
	$node, 'postgres',
	generator   => 'strobed',
	max_wait    => 20,
	bear_errors => 1);
my $end = time + 5;
while (time < $end)
{
	$clock->set_offset(rand() * 2 - 1);
	usleep(5000);
}
$clock->set_offset(2);
$notes->wait_for_notes($clients);
my (undef, $errors) = $notes->stop_clients($node, $clients);
unlike(
	join('',
		grep { !/terminat|connection|behind|within 20 ms/ }
		  $errors =~ /ERROR.*/g),
	qr/ERROR/,
	'strobing: clients meet no error but that of a wait');
$notes->check_unique('strobing');

$node->stop;
done_testing();
