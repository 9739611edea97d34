
# Named generators and a clock that is stepped, either way, while the server runs
# and while it is down, and that of another server, to which a dump is taken: the
# other timeline goes on at once, a third visit to a stretch of time waits, and no
# id comes twice.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use NotedIds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;
use Time::HiRes qw(time usleep);

my $clock = FakeClock->new;
plan skip_all => 'libfaketime is not installed' unless defined $clock;

sub server
{
	my ($name) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name);
	$server->init;
	$server->append_conf(
		'postgresql.conf', q{
log_statement = none
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

# Have a generator that may not wait for long make ids, which are noted; what is
# returned is of the last one.
sub generate
{
	my ($name, $session) = @_;
	my $ids = $session->query_safe(ids_of(100, $name));
	my ($last) = $ids =~ /(\w+)$/;
	my %id;

	$notes->add($session, $ids);
	@id{qw(unit tick_tock meta partition sequence)} = decode_id($last);
	return \%id;
}

sub session
{
	my ($server) = @_;
	return open_session($server // $node, 'postgres', 'sno.max_wait = 500');
}

sub complaint
{
	my ($name, $session) = @_;
	return error_of($session, "SELECT sno_generate(1, '$name')");
}

my $behind = qr/53400.*behind what the generator issued/s;

sub drifts
{
	my ($name) = @_;
	return $node->safe_psql('postgres',
		"SELECT sno_take_snapshot('$name')->'drifts'");
}

#
# Stepped while the server runs
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
		'011', "$name: the other timeline, for both sessions");
	cmp_ok(
		$back->{unit}, '<',
		$before->{unit} - 250 * $size + 250 * 30,
		'at the time that the clock shows');
	is(drifts($name), 1, 'it is one drift');

	$clock->set_offset(-2 * $size);
	like(complaint($name, $one), $behind, 'once more: it waits');

	$clock->set_offset(30);
	my $forward = generate($name, $two);
	cmp_ok($forward->{unit}, '>', $before->{unit}, 'forward: it goes on');
	is(drifts($name), 1, 'without a drift');

	$clock->set_offset(0);
	generate($name, $one);
	is(drifts($name), 2, 'back once it is made up: it is a drift again');

	# What the steps left behind is no obstacle to a clean restart.
	close_session($_) foreach ($one, $two);
	$clock->set_offset(60);
	$node->stop;
	$clock->start_server($node);
	$one = session();
	generate($name, $one);
	is(drifts($name), 2, 'a clean restart is no drift');
	close_session($one);
}
$notes->check_unique('steps');

#
# Stepped while the server is down
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
	is($back->{tick_tock}, 1, "$name: the other timeline");
	cmp_ok(
		$back->{unit}, '<',
		$before->{unit} - 250 * 3000,
		'at the time that the clock shows');
	close_session($session);

	$node->stop;
	$clock->set_offset(-7200);
	$clock->start_server($node);
	$session = session();
	like(complaint($name, $session), $behind, 'once more: it waits');
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
# A year ahead for a moment: afterwards there is one timeline to go on in.  Where
# that isn't enough, another partition helps, and the old one isn't forgotten.
#
{
	my $elsewhere = $partition + 100;
	my $session   = session();

	$clock->set_offset(0);
	create('ahead', $partition);
	generate('ahead', $session);
	$clock->set_offset(365 * 86400);
	is(generate('ahead', $session)->{tick_tock},
		0, 'a year ahead: it goes on');
	$clock->set_offset(0);
	is(generate('ahead', $session)->{tick_tock},
		1, 'and back: it goes on in the other timeline');
	$clock->set_offset(-3600);
	like(complaint('ahead', $session), $behind, 'further back: it waits');

	foreach my $try ('dropped and created again', 'with other bounds')
	{
		$session->query_safe("SELECT sno_drop_generator('ahead')");
		create('ahead', $partition, $try =~ /bounds/ ? 5000 : 9999);
		like(complaint('ahead', $session), $behind, "$try: it waits still");
	}
	$session->query_safe("SELECT sno_drop_generator('ahead')");
	create('ahead', $elsewhere);
	is(generate('ahead', $session)->{partition},
		$elsewhere, 'in another partition: it goes on');

	$session->query_safe("SELECT sno_drop_generator('ahead')");
	create('ahead', $partition++);
	$clock->set_offset(1);
	is(generate('ahead', $session)->{tick_tock},
		1, 'when the step is made up: it goes on where it was');
	close_session($session);
}
$notes->check_unique('a year ahead');

#
# Dumped while it generates, and restored where the clock is behind
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
	max_wait  => 10_000);
$notes->wait_for_notes($clients);
my $dump = PostgreSQL::Test::Utils::tempdir('dump') . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ],
	'dumped');
$notes->stop_clients($node, $clients);

$clock->set_offset(-300);
my $restored = server('restored');
$clock->start_server($restored);
$restored->command_ok(
	[   'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump,
		$restored->connstr('postgres') ],
	'restored');
$session = session($restored);
is(generate('dumped', $session)->{tick_tock},
	1, 'what was generating goes on in the other timeline');
is(generate('idle', $session)->{tick_tock},
	1, 'so does what was not, where the clock is behind it');
$clock->set_offset(-600);
like(complaint('dumped', $session), $behind, 'further back: it waits');
close_session($session);
$notes->check_unique('a dump');
$restored->stop;

#
# A reader without a lock, as COPY and pg_dump are, sees a row half as it was
# before a step back and half as it is after it: still a bound of what was issued
# by the time that it began to read.
#

$clock->set_offset(0);
create('torn', $partition);
$session = session();

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
		"a row with $columns columns from before bounds what was left");
}
close_session($session);
$partition++;

#
# A clock that is stepped all the time
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
	'strobing: nothing worse than a wait comes of it');
$notes->check_unique('strobing');

$node->stop;
done_testing();
