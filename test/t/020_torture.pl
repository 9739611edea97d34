
# Generators under load, each id noted outside of the server the moment it is
# received, while one fault after the other strikes: no id twice, no timeline
# entered twice, no acknowledged row lost, nothing beyond a lease that was on
# disk, no hang, no crash.
#
# By default each fault strikes once.  TORTURE_MINUTES makes it go on, in an
# order that TORTURE_SEED gives, for that long (script/torture).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SnoTest;
use Test::More;
use Time::HiRes qw(time usleep);
use Torture;

my $minutes = $ENV{TORTURE_MINUTES} || 0;
my $seed    = $ENV{TORTURE_SEED}    || 1;
my $torture = Torture->new(seed => $seed);
note("seed $seed");

# Leases are short, so that renewals are all the time in progress; flushes are
# for real, as they are what counts.
my $lease   = 1;
my $servers = 0;
my @logs;
my $server = PostgreSQL::Test::Cluster->new('server0');
$server->init(allows_streaming => 1);
$server->append_conf(
	'postgresql.conf', qq{
fsync = on
restart_after_crash = on
log_statement = none
log_replication_commands = off
wal_sender_timeout = 0
wal_receiver_timeout = 0
max_connections = 60
min_wal_size = 512MB
max_wal_size = 2GB
sno.lease_duration = ${lease}s
});
$torture->start_server($server);
$server->safe_psql('postgres',
	'CREATE EXTENSION sno; CREATE TABLE t (id sno NOT NULL)');

sub lead_to_server
{
	$torture->lead_clients($server->connstr('postgres')
		  . " application_name=client options='-c sno.max_wait=500ms'");
	return;
}

sub sql
{
	my ($query) = @_;
	return $server->safe_psql('postgres', $query);
}

# The pid of some client's session.
sub victim
{
	my @pids;
	wait_until(
		'there is a session',
		sub {
			my ($status, $out) = $server->psql('postgres',
				q{SELECT pid FROM pg_stat_activity WHERE application_name = 'client' ORDER BY backend_start}
			);
			@pids = split /\n/, $out // '';
			scalar @pids;
		});
	return $torture->one_of(@pids);
}

# End a life of the server, and begin another one.  What it had leased is noted
# while no client can generate yet.
sub relive
{
	my ($end, $meanwhile) = @_;
	my $life = $torture->life($server);

	$torture->lead_clients;
	$end->();
	$meanwhile->() if $meanwhile;
	$torture->start_server($server);
	$torture->note_all_leases($life, $server);
	lead_to_server();
	return;
}

# Change the table by hand.  Its rows are noted before.
sub tamper
{
	my ($query)  = @_;
	my $life     = $torture->life($server);
	my $tamperer = open_session($server, 'postgres');
	ask($tamperer, 'BEGIN; LOCK TABLE sno_snapshot');
	$torture->note_leases($life, ask($tamperer, $torture->leases_query));
	ask($tamperer, "$query; COMMIT");
	close_session($tamperer);
	return;
}

# The processes of the server, the first one first.
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

# A fault that lasts for some leases.
sub for_leases
{
	my ($count) = @_;
	usleep($count * $lease * 1e6);
	return;
}

# Wait until the server is up, and clients generate.
sub get_on
{
	$torture->wait_for_ids(20);
	return;
}

# Have the clock show so many seconds after the real time, one after the other.
sub clock_at
{
	my @offsets = @_;
	return sub {
		foreach my $offset (@offsets)
		{
			$torture->set_clock($offset);
			get_on();
		}
		$torture->set_clock(0);
	};
}

# A standby is promoted that hasn't heard of the latest leases and rows.
sub promote
{
	my $primary = $server;
	my $standby = PostgreSQL::Test::Cluster->new('server' . ++$servers);
	my $life    = $torture->life($primary);

	$primary->backup($standby->name);
	$standby->init_from_backup($primary, $standby->name, has_streaming => 1);
	$torture->start_server($standby);
	$primary->wait_for_catchup($standby);
	$standby->stop;
	get_on();

	$torture->lead_clients;
	$primary->stop('immediate');
	$torture->start_server($primary);
	$torture->note_all_leases($life, $primary);
	$torture->note_rows($primary);
	$primary->stop;

	$torture->start_server($standby);
	$standby->promote;
	$server = $standby;
	lead_to_server();
	get_on();
	push @logs, $primary->logfile;
	$primary->clean_node;
	return;
}

my $unit  = 0.004;
my $hour  = 3600;
my $year  = 365 * 86400;
my $epoch = 1262304000;
my $end   = $epoch + 2**39 / 250;

my @faults = (
	'kill -9 of a session' => sub {
		kill 'KILL', victim();
		get_on();
	},
	'two of them within a lease' => sub {
		kill 'KILL', victim();
		wait_until('the server is back',
			sub { $server->psql('postgres', 'SELECT 1') == 0 });
		kill 'KILL', victim();
		get_on();
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
		sql('SELECT pg_terminate_backend(' . victim() . ')') for 1 .. 5;
	},
	'queries cancelled' => sub {
		sql('SELECT pg_cancel_backend(' . victim() . ')') for 1 .. 5;
	},
	'a session stopped past its lease' => sub {
		my $pid = victim();
		kill 'STOP', $pid;
		for_leases(2);
		kill 'CONT', $pid;
	},
	'sessions stopped at any step' => sub {
		my @pids = map { victim() } 1 .. 4;
		for (1 .. 50)
		{
			my $pid = $torture->one_of(@pids);
			kill 'STOP', $pid;
			usleep($torture->random(10_000));
			kill 'CONT', $pid;
		}
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
	'clock strobed each ms'       => sub {
		foreach my $strobe ($unit, -$unit, 1, -$hour)
		{
			$torture->set_clock(0, $strobe, 0.001);
			get_on();
		}
		$torture->set_clock(0);
	},
	'clock set back while down' => sub {
		my $offset = $torture->one_of(-$unit, -1, -$hour, -$year);
		relive(
			sub { $server->stop('immediate') },
			sub { $torture->set_clock($offset) });
		get_on();
		$torture->set_clock(0);
	},
	'clock set forward while down' => sub {
		my $offset = $torture->one_of($unit, 1, $hour, $year);
		relive(
			sub { $server->stop('immediate') },
			sub { $torture->set_clock($offset) });
		get_on();
		relive(
			sub { $server->stop('immediate') },
			sub { $torture->set_clock(0) });
	},
	'clock outside of the epoch' => sub {
		foreach my $at ($epoch - 60, $end + 60)
		{
			my $before = $torture->errors;
			$torture->set_clock($at - time);
			wait_until('clients are refused',
				sub { $torture->errors > $before + 10 });
			$torture->set_clock(0);
			get_on();
		}
	},
	'table locked past all leases' => sub {
		my $locker = open_session($server, 'postgres');
		ask($locker, 'BEGIN; LOCK TABLE sno_snapshot');
		wait_until(
			'all leases are over',
			sub {
				ask($locker,
					'SELECT max(lease_until) < clock_timestamp() FROM sno_snapshot WHERE lease_until < clock_timestamp() + interval \'1 minute\''
				) eq 't';
			});
		ask($locker, 'ROLLBACK');
		close_session($locker);
	},
	'table rewritten' => sub {
		sql('VACUUM FULL sno_snapshot') for 1 .. 5;
	},
	'table truncated'          => sub { tamper('TRUNCATE sno_snapshot'); },
	'rows forged, and deleted' => sub {
		tamper("UPDATE sno_snapshot SET lease_until = '2010-01-01'");
		get_on();
		tamper("DELETE FROM sno_snapshot");
		sql('VACUUM sno_snapshot');
	},
	'a pool of four partitions' => sub {
		my $first  = 60000 + $torture->random(5000);
		my $before = $torture->errors;
		$server->append_conf('postgresql.conf',
			"sno.partitions = '$first-" . ($first + 3) . "'");
		$server->reload;
		wait_until('clients are refused',
			sub { $torture->errors > $before + 10 });
		$server->append_conf('postgresql.conf', "sno.partitions = '0-65535'");
		$server->reload;
	},
	'flushes stalled past all leases' => sub {
		$torture->stall_flushes(1);
		for_leases(2);
		$torture->stall_flushes(0);
	},
	'kill -9 while flushes are stalled' => sub {
		relive(
			sub {
				$torture->stall_flushes(1);
				for_leases(0.7);
				kill_postmaster($server);
				$torture->stall_flushes(0);
			});
	},
	'a standby promoted that lags' => \&promote);
my %faults = @faults;
my @names  = map { $faults[ 2 * $_ ] } 0 .. $#faults / 2;

# What clients may be told besides that their session or server ends.
my %may_fail = (
	'queries cancelled'            => qr/^57014$/,
	'clock strobed each ms'        => qr/^53400$/,
	'clock outside of the epoch'   => qr/^22008$/,
	'table locked past all leases' => qr/^55P03$/,
	'a pool of four partitions'    => qr/^53400$/);
my @strobing = grep { /^clock/ } @names;

lead_to_server();
$torture->under('none');
$torture->start_clients(
	('bulk') x 2,
	('commit') x 2,
	'rollback',
	('brief') x 3);
get_on();

my $until = time + 60 * $minutes;
do
{
	foreach my $name ($minutes ? $torture->shuffled(@names) : @names)
	{
		last if $minutes && time > $until;
		$torture->strike($name, $faults{$name});
		$torture->under('none');
		$torture->wait_for_ids($torture->random(2000)) if $minutes;
	}
} while (time < $until);

$torture->stop_clients;
$torture->note_rows($server);
my $verdict = $torture->judge(strobing => \@strobing);
$torture->show($verdict);

cmp_ok($verdict->{ids},  '>', 0, "$verdict->{ids} ids were noted");
cmp_ok($verdict->{rows}, '>', 0, "$verdict->{rows} rows are there");
is($verdict->{twice},    0, 'no id was issued twice');
is($verdict->{overlaps}, 0, 'no two lives share a partition\'s time');
is($verdict->{turns},    0, 'no two sessions share a unit\'s timeline');
is($verdict->{descents}, 0, 'each session\'s sequences ascend');
is($verdict->{beyond},   0, 'none is beyond the lease that was on disk');
is($verdict->{lost},     0, 'each acknowledged row is there');
is($verdict->{risen},    0, 'and none that was rolled back');
is($verdict->{doubled},  0, 'no two rows have the same id');

my (%failed, @unexpected);
foreach my $error ($torture->errors)
{
	my ($fault, $state, $message) = @$error;
	my $may_fail = $may_fail{$fault};

	# 57P01 to 57P03: the server, or the session, ends.
	next if $state =~ /^57P0[123]$/;
	$failed{$fault}++;
	push @unexpected, "$fault: $state $message"
	  if !defined $may_fail || $state !~ $may_fail;
}
is(join("\n", @unexpected), '', 'no error but where one is due');
cmp_ok($failed{$_} // 0, '>', 0, "$_: clients were told")
  foreach grep { $torture->{struck}{$_} }
  ('clock outside of the epoch', 'a pool of four partitions');

push @logs, $server->logfile;
my @crashes =
  map { slurp_file($_) =~ /^.*(?:PANIC|TRAP|signal (?!9\b)).*$/mg } @logs;
is(join("\n", @crashes), '', 'nothing crashed but what was killed');
$server->stop;
done_testing();
