
# A clock that steps back and forward, while the server runs and while it is
# down.  Ids are issued at once after a step, no id is issued twice, and each
# step is logged once.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;
use Time::HiRes qw(time usleep);
use Torture;

my $torture = Torture->new;

# Set the clock of the server, in seconds after the real one.
sub set_clock { $torture->set_clock(@_); return; }

my $node = new_node('main', conf => q{
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

# Make ids in a session, and note them; returns the fields of the last one.
sub generate
{
	my ($session) = @_;
	my $ids = $session->query_safe(ids_of(100));
	$notes->add($session, $ids);
	return decode_id($ids =~ s/.*\n//sr);
}

# The steps that were logged since the last call, in seconds; those back are
# negative.
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
	cmp_ok(abs(($steps[0] // 0) - $step),
		'<', 0.1, "$what is logged with its size");
	return;
}

# The seconds between two ids.
sub seconds
{
	my ($from, $to) = @_;
	return ($to->{unit} - $from->{unit}) / 250;
}

#
# Steps while the server runs
#

# Each time, the partitions were never used.
my $first = 0;
foreach my $size (60, 3600, 365 * 86400)
{
	$first += 100;
	$node->append_conf('postgresql.conf', "sno.partitions = '$first-" . ($first + 99) . "'");
	restart('fast', 0);
	my $session = session();
	my $witness = session();
	generate($witness);

	my $before = generate($session);
	my $at     = 0;
	steps_logged();

	# Step to an offset from the real time, and make ids in both sessions.  The
	# time of the first one is checked with a tolerance for slow machines.
	my $step_to = sub {
		my ($offset, $what) = @_;
		set_clock($offset);
		my $id = generate($session);
		generate($witness);
		cmp_ok(abs(seconds($before, $id) - $offset),
			'<', 30, "$what: the id has the time of the clock");
		logged_once($what, $offset - $at);
		$at = $offset;
		return $id;
	};

	my $what = "back by $size s";
	my $back = $step_to->(-$size, $what);
	is($back->{partition}, $before->{partition},
		"$what: the partition is the same");
	isnt($back->{tick_tock}, $before->{tick_tock},
		"$what: the side is the other one");

	$what = "back by $size s again";
	my $again = $step_to->(-2 * $size, $what);
	isnt($again->{partition}, $before->{partition},
		"$what: the partition is another one");
	my $other = session();
	isnt(generate($other)->{partition},
		$before->{partition},
		"$what: a new session does not take the partition that was left");
	close_session($other);

	$step_to->(0,     'forward by ' . 2 * $size . ' s');
	$step_to->($size, "forward by $size s");
	$step_to->(0,     "back to the real time by $size s");
	close_session($session);
	close_session($witness);
}
$node->append_conf('postgresql.conf', "sno.partitions = '0-65535'");
$node->reload;
$notes->check('steps while the server runs');

#
# Times outside the epoch
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
		"at Unix time $outside a session generates nothing");
	is( $session->query_safe(
			"SELECT sno_min(now()) IN (sno_min('-infinity'), sno_max('infinity'))"
		),
		't',
		"at Unix time $outside other functions work");
	like(
		error_of(session(), 'SELECT sno_generate()'),
		qr/^ERROR:  22008: the system clock is outside the range of a sno$/m,
		"at Unix time $outside a new session generates nothing");
}
set_clock($epoch + 60 - time);
my $early = generate($session);
cmp_ok($early->{unit}, '<', 120 * 250,
	'ids have times within the first minutes of the epoch');
set_clock($end - 60 - time);
my $late = generate($session);
cmp_ok(
	$late->{unit}, '>',
	2**39 - 60 * 250 - 1,
	'ids have times within the last minute of the epoch');
set_clock(0);
generate($session);
$notes->check('ends of the epoch');
close_session($session);

#
# Steps while the server is down
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
# Strobing: a clock that steps each millisecond
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
unlike($errors, qr/ERROR/,
	'strobing: clients meet no error but that of a wait');

# A session may take 16 new leases at once, and 10 more each second.
cmp_ok(
	$new_rows, '<=',
	4 * (16 + 10 * (1 + $seconds)),
	'strobing: the number of new leases is limited');
$notes->check('strobing');

$node->stop;
done_testing();
