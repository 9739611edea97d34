
# Sessions that generate, under load, while one fault after the other strikes.
# Clients note each id outside of the server as soon as they receive it.  No id
# is issued twice, no committed row is lost, no id lies beyond a lease on disk,
# no client hangs, and nothing crashes that was not killed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;
use Time::HiRes qw(time usleep);
use Torture;

my $torture = Torture->new(max_wait => '500ms');

my $lease  = 1;
my $server = $torture->make_server("min_wal_size = 512MB\nmax_wal_size = 2GB");
$server->safe_psql('postgres',
	'CREATE EXTENSION sno; CREATE TABLE t (id sno NOT NULL); CREATE TABLE kept (LIKE sno_catalog.sno_lease)'
);

# Change the table of leases by hand.  Its rows are noted and kept before.
sub tamper
{
	my ($query)  = @_;
	my $life     = $torture->life($server);
	my $tamperer = open_session($server, 'postgres');
	$tamperer->query_safe('BEGIN; LOCK TABLE sno_catalog.sno_lease');
	$torture->note_leases($life,
		$tamperer->query_safe($torture->leases_query));
	$tamperer->query_safe(
		'INSERT INTO kept SELECT * FROM sno_catalog.sno_lease');
	$tamperer->query_safe("$query; COMMIT");
	close_session($tamperer);
	return;
}

# A fault of the clock.  Before it, the rows that were removed by hand are put
# back.  Without them nobody knows what was issued under them, and a clock that
# is set back could make it come again.
sub with_all_rows
{
	my ($fault) = @_;
	return sub {
		$torture->sql(
			q{WITH back AS (DELETE FROM kept RETURNING *)
			INSERT INTO sno_catalog.sno_lease
			SELECT DISTINCT ON (holder, partition) * FROM back
			WHERE (holder, partition) NOT IN (SELECT holder, partition FROM sno_catalog.sno_lease)
			ORDER BY holder, partition, tick_until DESC});
		$fault->(@_);
	};
}

# The processes of the server, the postmaster first.
sub processes
{
	my ($postmaster) =
	  slurp_file($server->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	my @pids = ($postmaster);
	foreach my $file (glob '/proc/[0-9]*/stat')
	{
		# Processes come and go.
		open my $stat, '<', $file or next;
		push @pids, $1
		  if (<$stat> // '') =~ /^(\d+) \(.*\) \S $postmaster /;
		close $stat;
	}
	return @pids;
}

# Wait for a number of leases.
sub for_leases
{
	my ($count) = @_;
	usleep($count * $lease * 1e6);
	return;
}

# Begin another life of the server, with its clock set in seconds after the real
# time.
sub relive_at
{
	my ($offset) = @_;
	$torture->relive(
		sub {
			$server->stop('immediate');
			$torture->set_clock($offset);
		});
	return;
}

# A standby takes the place of the server.
sub promote
{
	$torture->promote(@_);
	$server = $torture->{node};
	return;
}

my $unit  = 0.004;
my $hour  = 3600;
my $year  = 365 * 86400;
my $epoch = 1262304000;
my $end   = $epoch + 2**39 / 250;

my @plan = (
	ends(),
	'sessions terminated' => sub {
		$torture->sql('SELECT pg_terminate_backend(' . $torture->victim . ')')
		  for 1 .. 5;
	},
	'queries cancelled' => sub {
		$torture->sql('SELECT pg_cancel_backend(' . $torture->victim . ')')
		  for 1 .. 5;
	},
	'a session stopped past its lease' => sub {
		my $pid = $torture->victim;
		kill 'STOP', $pid;
		for_leases(2);
		kill 'CONT', $pid;
	},
	'sessions stopped at any step' => sub {
		$torture->stop_sessions(50, map { $torture->victim } 1 .. 4);
	},
	'all processes stopped past their leases' => sub {
		my @pids = processes();
		kill 'STOP', @pids;
		for_leases(1.5);
		kill 'CONT', reverse @pids;
	},
	'clock back by a unit'        => clock_at(-$unit),
	'clock back by 1 s'           => clock_at(-1),
	'clock back by an hour'       => clock_at(-$hour),
	'clock back by a year'        => clock_at(-$year),
	'clock forward by a unit'     => clock_at($unit),
	'clock forward by 1 s'        => clock_at(1),
	'clock forward by an hour'    => clock_at($hour),
	'clock forward by a year'     => clock_at($year),
	'clock back twice by a unit'  => clock_at(-$unit, -2 * $unit),
	'clock back twice by 1 s'     => clock_at(-1,     -2),
	'clock back twice by an hour' => clock_at(-$hour, -2 * $hour),
	'clock back twice by a year'  => clock_at(-$year, -2 * $year),
	'clock strobed each ms'       => strobe($unit, -$unit, 1, -$hour),
	'clock set back while down'   => sub {
		my $offset = $torture->one_of(-$unit, -1, -$hour, -$year);
		relive_at($offset);
		$torture->get_on;
		$torture->set_clock(0);
	},
	'clock set forward while down' => sub {
		my $offset = $torture->one_of($unit, 1, $hour, $year);
		relive_at($offset);
		$torture->get_on;
		relive_at(0);
	},
	'clock outside of the epoch' => sub {
		foreach my $at ($epoch - 60, $end + 60)
		{
			my $before = $torture->errors;
			$torture->set_clock($at - time);
			wait_until('clients are refused',
				sub { $torture->errors > $before + 10 });
			$torture->set_clock(0);
			$torture->get_on;
		}
	},
	'table locked past all leases' => sub {
		my $locker = open_session($server, 'postgres');
		$locker->query_safe('BEGIN; LOCK TABLE sno_catalog.sno_lease');
		wait_until(
			'all leases are over',
			sub {
				$locker->query_safe(
					'SELECT max(tick_until) < clock_timestamp() FROM sno_catalog.sno_lease WHERE tick_until < clock_timestamp() + interval \'1 minute\''
				) eq 't';
			});
		$locker->query_safe('ROLLBACK');
		close_session($locker);
	},
	'table rewritten' => sub {
		$torture->sql('VACUUM FULL sno_catalog.sno_lease') for 1 .. 5;
	},
	'table truncated' => sub { tamper('TRUNCATE sno_catalog.sno_lease'); },
	'rows forged, and deleted' => sub {
		tamper(
			"UPDATE sno_catalog.sno_lease SET tick_until = '2010-01-01', tock_until = '2010-01-01'"
		);
		$torture->get_on;
		tamper("DELETE FROM sno_catalog.sno_lease");
		$torture->sql('VACUUM sno_catalog.sno_lease');
	},
	'a range of four partitions' => sub {
		my $first = 60000 + $torture->random(5000);
		$server->append_conf('postgresql.conf',
			"sno.partitions = '$first-" . ($first + 3) . "'");
		$server->reload;

		$torture->get_on;
		$server->append_conf('postgresql.conf', "sno.partitions = '0-65535'");
		$server->reload;
	},
	'flushes stalled past all leases' => sub {
		$torture->stall_for(2 * $lease);
	},
	'kill -9 while flushes are stalled' => sub {
		$torture->relive(
			sub {
				$torture->stall_for(0.7 * $lease,
					sub { kill_postmaster($server) });
			});
	},
	'a standby promoted that lags'                      => sub { promote(); },
	'promoted without the end of the WAL, clock behind' => with_all_rows(
		sub {
			# No session may go on in a partition that it leased far ahead.
			relive_at(0);
			promote('behind');
		}));

foreach my $n (grep { $plan[ $_ - 1 ] =~ /^clock/ } 1 .. $#plan)
{
	$plan[$n] = with_all_rows($plan[$n]) if ref $plan[$n];
}

$torture->lead_clients($server);
$torture->under('none');
$torture->start_clients(
	('bulk') x 2,
	('commit') x 2,
	'rollback',
	('brief') x 3);
$torture->get_on;
$torture->carry_out(@plan);

$torture->stop_clients;
$torture->note_rows($server);
$torture->check;
$torture->check_errors(
	'queries cancelled'            => qr/^57014$/,
	'clock strobed each ms'        => qr/^53400$/,
	'clock outside of the epoch'   => qr/^22008$/,
	'table locked past all leases' => qr/^55P03$/,
	'table rewritten'              => qr/^55P03$/,
	'table truncated'              => qr/^55P03$/,
	'rows forged, and deleted'     => qr/^55P03$/);
$torture->check_logs;
$server->stop;
done_testing();
