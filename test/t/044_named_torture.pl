
# Named generators under load, shared by all clients, while one fault after the
# other strikes: no id twice, no acknowledged row lost, nothing beyond what was on
# disk, no hang, no crash.  As 020_torture.pl does for sessions' own generators.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SnoTest;
use Test::More;
use Time::HiRes qw(usleep);
use Torture;

my $torture = Torture->new;
my $server  = PostgreSQL::Test::Cluster->new('main');
$server->init;
$server->append_conf(
	'postgresql.conf', q{
fsync = on
restart_after_crash = on
log_statement = none
sno.lease_duration = 1s
});
$torture->start_server($server);
$server->safe_psql(
	'postgres', q{
CREATE EXTENSION sno;
CREATE TABLE t (id sno NOT NULL);
SELECT sno_create_generator('full', 1000), sno_create_generator('small', 2000, 5, 36)});

# After two crashes within a lease callers wait until it is over.
sub lead_to_server
{
	$torture->lead_clients($server->connstr('postgres')
		  . " application_name=client options='-c sno.max_wait=10s'");
	return;
}

sub sql
{
	my ($query) = @_;
	return $server->safe_psql('postgres', $query);
}

# The pids of the clients' sessions, shuffled.
sub victims
{
	my @pids;
	wait_until(
		'there are sessions',
		sub {
			my ($status, $out) = $server->psql('postgres',
				q{SELECT pid FROM pg_stat_activity WHERE application_name = 'client' ORDER BY backend_start}
			);
			@pids = split /\n/, $out // '';
			scalar @pids;
		});
	return $torture->shuffled(@pids);
}

# End the server's life, and note what bounded its ids on disk.
sub relive
{
	my ($end) = @_;
	my $life = $torture->life($server);

	$torture->lead_clients;
	$end->();
	$torture->start_server($server);
	$torture->note_all_leases($life, $server);
	lead_to_server();
	return;
}

sub clock_at
{
	my @offsets = @_;
	return sub {
		foreach my $offset (@offsets)
		{
			$torture->set_clock($offset);
			$torture->wait_for_ids(20);
		}
		$torture->set_clock(0);
	};
}

my $unit   = 0.004;
my @faults = (
	'kill -9 of a session' => sub { kill 'KILL', (victims())[0]; },
	'two of them within a lease' => sub {
		kill 'KILL', (victims())[0];
		wait_until('the server is back',
			sub { $server->psql('postgres', 'SELECT 1') == 0 });
		kill 'KILL', (victims())[0];
	},
	'kill -9 of the postmaster' => sub {
		relive(sub { kill_postmaster($server) });
	},
	'immediate shutdown' => sub {
		relive(sub { $server->stop('immediate') });
	},
	'fast restart' => sub {
		relive(sub { $server->stop('fast') });
	},
	'sessions terminated' => sub {
		sql("SELECT pg_terminate_backend($_)") foreach victims();
	},
	'queries cancelled' => sub {
		sql("SELECT pg_cancel_backend($_)") foreach victims();
	},
	'sessions stopped at any step' => sub {
		my @pids = victims();
		for (1 .. 100)
		{
			my $pid = $torture->one_of(@pids);
			kill 'STOP', $pid;
			usleep($torture->random(10_000));
			kill 'CONT', $pid;
		}
	},
	'clock back by a unit'       => clock_at(-$unit),
	'clock back by 1 s'          => clock_at(-1),
	'clock back twice by a unit' => clock_at(-$unit, -2 * $unit),
	'clock back twice by 1 s'    => clock_at(-1, -2),
	'immediate shutdown after a step back' => sub {
		$torture->set_clock(-1);
		$torture->wait_for_ids(20);
		relive(sub { $server->stop('immediate') });
		$torture->set_clock(0);
	},
	'clock forward by a unit'    => clock_at($unit),
	'clock forward by 1 s'       => clock_at(1),
	'clock strobed each ms'      => sub {
		foreach my $strobe ($unit, -$unit, 1)
		{
			$torture->set_clock(0, $strobe, 0.001);
			$torture->wait_for_ids(20);
		}
		$torture->set_clock(0);
	},
	'table rewritten' => sub {
		sql('VACUUM FULL sno_snapshot') for 1 .. 5;
	},
	'flushes stalled' => sub {
		$torture->stall_flushes(1);
		usleep(1_500_000);
		$torture->stall_flushes(0);
	},
	'kill -9 while flushes are stalled' => sub {
		relive(
			sub {
				$torture->stall_flushes(1);
				usleep(700_000);
				kill_postmaster($server);
				$torture->stall_flushes(0);
			});
	});
my %faults = @faults;

lead_to_server();
$torture->under('none');
$torture->start_clients(('named') x 4, ('small') x 4);
$torture->wait_for_ids(1000);
foreach my $name (map { $faults[ 2 * $_ ] } 0 .. $#faults / 2)
{
	$torture->strike($name, $faults{$name});
	$torture->under('none');
}
$torture->stop_clients;
$torture->note_rows($server);
my $verdict = $torture->judge;
$torture->show($verdict);

cmp_ok($verdict->{ids},  '>', 0, "$verdict->{ids} ids were noted");
cmp_ok($verdict->{rows}, '>', 0, "$verdict->{rows} rows are there");
is($verdict->{twice},   0, 'no id was issued twice');
is($verdict->{beyond},  0, 'none is beyond what was on disk');
is($verdict->{lost},    0, 'each acknowledged row is there');
is($verdict->{doubled}, 0, 'no two rows have the same id');

# 57P01 to 57P03: the server, or the session, ends.
my @unexpected =
  grep { !/: 57P0[123]/ && !/^queries cancelled: 57014/ }
  map { "$_->[0]: $_->[1] $_->[2]" } $torture->errors;
is(join("\n", @unexpected), '', 'no error but where one is due');
unlike(slurp_file($server->logfile),
	qr/PANIC|TRAP|signal (?!9\b)/,
	'nothing crashed but what was killed');
$server->stop;
done_testing();
