
# Faults that strike while a session is at one step of a lease: gdb holds it there.  Clients
# generate meanwhile, as in torture_sessions.pl, and note each id.  The seed decides whether sessions
# issue by the clock, or use a named generator.
#
# gdb needs a while to find its way, so this runs only in script/torture.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;
use Time::HiRes qw(usleep);
use Torture;

my @steps   = qw(reserve write flush publish issue);
my $torture = Torture->new(max_wait => '1min');
plan skip_all => 'takes minutes: see script/torture' if !$torture->{minutes};

my $kind   = qw(clock named) [ $torture->{seed} % 2 ];
my $server = $torture->make_server('');
$server->safe_psql('postgres',
	q{CREATE EXTENSION sno; CREATE TABLE t (id sno NOT NULL); SELECT sno_create_generator('full', 1000)});

# A fault: something happens to the session that is held, before it goes on.
sub happens
{
	my ($step, $what) = @_;
	return sub {
		my $pid = $torture->hold($step);
		$what->($pid);
		$torture->release;
	};
}

# A fault: the postmaster and the session are killed, and the clock steps before the restart.
sub crash
{
	my ($step, $offset) = @_;
	return sub {
		my $pid = $torture->hold($step);
		$torture->relive(
			sub {
				kill_postmaster($server);
				$torture->kill_held($pid);
				$torture->set_clock($offset);
			});
		$torture->get_on;
		$torture->set_clock(0);
	};
}

# A fault: the clock steps, and steps back when all clients have met it.
sub clock_steps
{
	my ($step, $offset) = @_;
	my $set = happens($step, sub { $torture->set_clock($offset); });
	return sub {
		$set->();
		$torture->get_on;
		$torture->set_clock(0);
	};
}

sub plan_at
{
	my ($step) = @_;
	my @plan = (
		'kill -9 of the session'    => sub {
			my $pid = $torture->hold($step);
			crash_and_recover($server, sub { $torture->kill_held($pid) });
		},
		'kill -9 of the postmaster' => crash($step, 0),
		'kill -9 of the postmaster, clock back by 1 s' => crash($step, -1),
		'terminated' => happens($step, sub { $torture->sql("SELECT pg_terminate_backend($_[0])"); }),
		'cancelled'  => happens($step, sub { $torture->sql("SELECT pg_cancel_backend($_[0])"); }),
		'stopped past its lease'       => happens($step, sub { usleep(2.5e6); }),
		'clock back by 1 s'            => clock_steps($step, -1),
		'clock forward by 1 s'         => clock_steps($step, 1),
		'a standby promoted that lags' => sub {
			$torture->promote(0, $step);
			$server = $torture->{node};
		});
	# A named generator would wait until its clock is there.
	push @plan, ('clock back by an hour' => clock_steps($step, -3600)) if $kind ne 'named';
	return map { $_ % 2 ? $plan[$_] : "$step: $plan[$_]" } 0 .. $#plan;
}

$torture->lead_clients($server);
$torture->under('none');
$torture->start_clients($kind eq 'named' ? ('named') x 4 : ('bulk', 'bulk', 'commit', 'commit', 'brief'));
$torture->get_on;
$torture->carry_out(map { plan_at($_) } @steps);

$torture->stop_clients;
$torture->note_rows($server);
$torture->check(share => $kind eq 'named');
$torture->check_errors(map { ("$_: cancelled" => qr/^57014$/) } @steps);
$torture->check_logs;
$server->stop;
done_testing();
