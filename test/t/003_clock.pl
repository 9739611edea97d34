
# A clock that is stepped, either way, while the server runs and while it is
# down: ids go on at once, none comes twice, and each step is logged once.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;
use Time::HiRes qw(time usleep);
use Torture;

my $torture = Torture->new;

# Set the server's clock to so many seconds after the real one.
sub set_clock { $torture->set_clock(@_); return; }

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
log_statement = none
autovacuum = off
sno.lease_duration = 10min
});

sub start { $torture->start_server($node); return; }

set_clock(0);
start();
$node->safe_psql('postgres', 'CREATE EXTENSION sno');

my $notes = NotedIds->new;

sub restart
{
	my ($mode, $offset) = @_;
	$node->stop($mode);
	set_clock($offset);
	start();
	$notes->next_phase;
	return;
}

# Sessions that may not wait at all.
sub session
{
	return open_session($node, 'postgres', 'sno.max_wait = 0');
}

# Have a session make an id, among others; all are noted.
sub generate
{
	my ($session) = @_;
	my $ids       = $session->query_safe(ids_of(100));
	my ($last)    = $ids =~ /(\w+)$/;
	my %id;

	$notes->add($session, $ids);
	@id{qw(unit tick_tock meta partition sequence)} = decode_id($last);
	return \%id;
}

# The steps that were logged since it was asked last, forward ones positive.
my $log_position = -s $node->logfile;

sub steps_logged
{
	my $log = slurp_file($node->logfile, $log_position);
	$log_position = -s $node->logfile;
	return
	  map { /back by (\S+)/ ? -$1 : /forward by (\S+)/ ? $1 : () }
	  $log =~ /the system clock was stepped (\w+ by [\d.]+) s/g;
}

sub logged_once
{
	my ($what, $step) = @_;
	my @steps = steps_logged();
	is(scalar @steps, 1, "$what is logged once");
	cmp_ok(abs(($steps[0] // 0) - $step), '<', 0.1, 'with its size');
	return;
}

# Seconds between two ids.
sub seconds
{
	my ($from, $to) = @_;
	return ($to->{unit} - $from->{unit}) / 250;
}

#
# Stepped while the server runs
#

# All times are compared with what the step should make of them, give or take
# what a slow machine may need.  A restarted server begins with partitions that
# were never used.
foreach my $size (60, 3600, 365 * 86400)
{
	my $slack = 30;

	restart('fast', 0);
	my $session = session();
	my $witness = session();
	generate($witness);

	my $before = generate($session);
	steps_logged();

	set_clock(-$size);
	my $back = generate($session);
	generate($witness);
	is($back->{partition}, $before->{partition},
		"back by $size s: same partition");
	isnt($back->{tick_tock}, $before->{tick_tock}, 'other timeline');
	cmp_ok(abs(seconds($before, $back) + $size),
		'<', $slack, 'at the time that the clock shows');
	logged_once("back by $size s", -$size);

	set_clock(-2 * $size);
	my $again = generate($session);
	generate($witness);
	isnt($again->{partition}, $before->{partition},
		'once more: another partition');
	cmp_ok(abs(seconds($before, $again) + 2 * $size),
		'<', $slack, 'at the time that the clock shows');
	logged_once("back by $size s once more", -$size);

	my @others = (session());
	isnt(generate($others[0])->{partition},
		$before->{partition}, 'the one before rests');

	set_clock(0);
	my $forward = generate($session);
	generate($witness);
	is($forward->{partition}, $again->{partition},
		'set right: same partition');
	is($forward->{tick_tock}, $again->{tick_tock}, 'same timeline');
	cmp_ok(seconds($before, $forward),
		'<', $slack, 'at the time that the clock shows');
	logged_once('forward by ' . 2 * $size . ' s', 2 * $size);

	# The witness has left one behind, too.
	push @others, session(), session();
	is( scalar(
			grep { generate($_)->{partition} == $before->{partition} }
			  @others),
		1,
		'the one before is in use again');
	close_session($_) foreach @others;

	set_clock($size);
	my $ahead = generate($session);
	generate($witness);
	is($ahead->{partition}, $forward->{partition},
		"ahead by $size s: same partition");
	is($ahead->{tick_tock}, $forward->{tick_tock}, 'same timeline');
	cmp_ok(abs(seconds($forward, $ahead) - $size),
		'<', $slack, 'at the time that the clock shows');
	logged_once("forward by $size s", $size);

	set_clock(0);
	my $right = generate($session);
	generate($witness);
	is($right->{partition}, $ahead->{partition}, 'set right: same partition');
	isnt($right->{tick_tock}, $ahead->{tick_tock}, 'other timeline');
	cmp_ok(abs(seconds($forward, $right)),
		'<', $slack, 'at the time that the clock shows');
	logged_once("back by $size s", -$size);
	close_session($session);
	close_session($witness);
}
$notes->check('steps while the server runs');

#
# Outside of what an id can tell
#
my $epoch   = 1262304000;
my $end     = $epoch + 2**39 / 250;
my $session = session();
generate($session);
foreach my $outside ($epoch - 86400, $epoch - 60, $end + 5, $end + 86400)
{
	set_clock($outside - time);
	like(
		error_of($session, 'SELECT sno_generate()'),
		qr/^ERROR:  22008: the system clock is outside the range of a sno$/m,
		"at Unix time $outside");
	is( $session->query_safe(
			"SELECT sno_min(now()) IN (sno_min('-infinity'), sno_max('infinity'))"
		),
		't',
		'other functions work');
	like(
		error_of(session(), 'SELECT sno_generate()'),
		qr/^ERROR:  22008: the system clock is outside the range of a sno$/m,
		'in a new session as well');
}
set_clock($epoch + 60 - time);
my $early = generate($session);
cmp_ok($early->{unit}, '<', 120 * 250, 'within the first minutes');
set_clock($end - 60 - time);
my $late = generate($session);
cmp_ok($late->{unit}, '>', 2**39 - 60 * 250 - 1, 'within the last minute');
set_clock(0);
generate($session);
$notes->check('ends of the epoch');
close_session($session);

#
# Stepped while the server is down
#
foreach my $mode ('fast', 'immediate')
{
	foreach
	  my $offset (-2, 0, -3600, 0, 3600, 0, -365 * 86400, 365 * 86400, 0)
	{
		restart($mode, $offset);
		my $started = session();
		generate($started);
		close_session($started);
	}
}
$notes->check('steps while the server is down');

#
# Strobing
#
my $clients = $notes->start_clients(
	$node, 'postgres',
	max_wait    => 2000,
	bear_errors => 1);
$notes->wait_for_notes($clients);
my $rows =
  $node->safe_psql('postgres', 'SELECT count(*) FROM sno_catalog.sno_lease');
my $start = time;
foreach my $strobe (0.004, -0.004, 0.02, -1, 7, -61, 3600, -3600)
{
	# Each millisecond
	set_clock(0, $strobe, 0.001);
	$notes->wait_for_notes($clients);
}
set_clock(0);
$notes->wait_for_notes($clients);
my (undef, $errors) = $notes->stop_clients($node, $clients);
my $seconds = time - $start;
my $new_rows =
	$node->safe_psql('postgres', 'SELECT count(*) FROM sno_catalog.sno_lease')
  - $rows;
$errors =~ s/^.*ERROR:  no partition could issue a sno within .*\n//mg;
unlike($errors, qr/ERROR/, 'strobing: nothing worse than a wait comes of it');

# Each session has 16 new leases at once, and 10 more per second.
cmp_ok(
	$new_rows, '<=',
	4 * (16 + 10 * (1 + $seconds)),
	'strobing: new leases are limited');
$notes->check('strobing', take_turns => 1);

$node->stop;
done_testing();
