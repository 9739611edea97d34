
# sno_portable under load, while one fault after the other strikes.  Clients note each id
# outside of the server as soon as they receive it, and no id is issued twice.  Clients that
# take values of a sequence find that those come again.
#
# By default, what they note has no time and no metabyte: no value of the counter may come
# twice, before it went around.  With TORTURE_MINUTES it does that, and ids are noted.
#
# After a restore or a promotion, the counter goes on anywhere.  These faults are the first,
# while few values are in use.  All sessions seed random() alike.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;
use Time::HiRes qw(time);
use Torture;

my $torture = Torture->new(lull => 20_000);
my $server  = new_node('main', allows_streaming => 1, conf => q{
fsync = on
restart_after_crash = on
log_replication_commands = off
max_connections = 60
min_wal_size = 512MB
max_wal_size = 2GB
});
$torture->start_server($server);

# Its owner has no other right than to create schemas.  The clients make ids as 10 bytes.
my $head = $ENV{TORTURE_MINUTES} ? 'substr(id, 1, 6)' : "'\\x000000000000'::bytea";
$server->safe_psql('postgres',
	'REVOKE ALL ON SCHEMA public FROM PUBLIC; CREATE ROLE owner LOGIN; GRANT CREATE ON DATABASE postgres TO owner');
$server->command_ok(
	[   'psql', '-Xq1', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-f',
		"$FindBin::RealBin/../../portable/sno_portable--0.9.sql",
		$server->connstr('postgres') . ' user=owner' ],
	'sno_portable is installed');
$server->safe_psql(
	'postgres', qq{
	CREATE FUNCTION sno_generate(meta integer) RETURNS bytea LANGUAGE plpgsql AS \$\$
	DECLARE
		id CONSTANT bytea := uuid_send(sno.sno_generate_uuidv8(meta));
	BEGIN
		PERFORM setseed(0.5);
		RETURN $head || substr(int8send(((get_byte(id, 6) & 15)::bigint << 28) | (get_byte(id, 7) << 20)
			| ((get_byte(id, 8) & 63) << 14) | (get_byte(id, 9) << 6) | (get_byte(id, 10) >> 2)), 5);
	END \$\$;
	CREATE TABLE t (id bytea NOT NULL);
	CREATE SEQUENCE s});

# End a life of the server, and begin another one.
sub relive
{
	my ($end) = @_;
	return sub {
		$torture->lead_clients;
		$end->($server);
		$torture->start_server($server);
		$torture->lead_clients($server);
	};
}

# Restore what was dumped, without the rows of the clients, into the same database, and set the
# clock back to before that.  Sessions go on meanwhile, or there are none.
sub restore
{
	my ($without, @options) = @_;
	return sub {
		my $file = "$torture->{dir}/archive";
		system_or_bail('pg_dump', '-Fc', '-T', 't', '-T', 's', '-f', $file, $server->connstr('postgres'));
		my $from = time;
		$torture->wait_for_ids(1000);
		if ($without)
		{
			$torture->lead_clients;
			$server->safe_psql('postgres', q{SELECT pg_terminate_backend(pid, 180000) FROM pg_stat_activity WHERE application_name = 'client'});
		}
		note((run_command([ 'pg_restore', @options, '-d', $server->connstr('postgres'), $file ]))[1]);
		$torture->set_clock($from - time);
		$torture->lead_clients($server);
		$torture->get_on;
		$torture->set_clock(0);
	};
}

# Set the counter back while sessions go on.
sub set_back
{
	my ($torture) = @_;
	my $value = $server->safe_psql('postgres', 'SELECT last_value FROM sno.counter');
	$torture->wait_for_ids(1000);
	$server->safe_psql('postgres', "SELECT setval('sno.counter', $value)");
	return;
}

# Set the clock back while the first id of a life waits for the disk.
sub wait_in_the_past
{
	my ($torture) = @_;
	$torture->lead_clients;
	$server->stop;
	$torture->start_server($server);
	my $observer = open_session($server, 'postgres');
	my $waiting  = q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'client' AND wait_event ~* '^WAL(Sync|Write)$'};
	$observer->query_safe($waiting);    # It writes no WAL after that.
	$torture->stall_flushes(1);
	$torture->lead_clients($server);
	wait_until('a session waits', sub { $observer->query_safe($waiting) > 0 });
	$torture->set_clock(-3600);
	$torture->stall_flushes(0);
	close_session($observer);
	$torture->get_on;
	$torture->set_clock(0);
	return;
}

# Promote a standby that lacks the end of the WAL, with a start of the primary or without, and
# set its clock back to before that.
sub promote
{
	my ($torture, $started) = @_;
	my $name    = 'successor' . ++$torture->{promoted};
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$server->backup($name);
	$standby->init_from_backup($server, $name, has_streaming => 1);
	$torture->start_server($standby);
	$server->wait_for_catchup($standby);
	$standby->stop;
	my $from = time;
	relive(sub { $_[0]->stop('fast') })->() if $started;
	$torture->wait_for_ids(1000);

	$torture->lead_clients;
	kill_postmaster($server);
	$torture->start_server($server);
	$torture->note_rows($server);
	$server->stop;

	$torture->start_server($standby);
	$standby->promote;
	$standby->safe_psql('postgres', 'TRUNCATE t');    # these rows are noted
	$torture->set_clock($from - time);
	$torture->lead_clients($standby);
	$torture->get_on;
	$torture->set_clock(0);
	$server->clean_node;
	$server = $standby;
	return;
}

my @crashes = (
	'kill -9 of a session'      => sub { $_[0]->kill_session; },
	'kill -9 of the postmaster' => relive(\&kill_postmaster),
	'immediate shutdown' => relive(sub { $_[0]->stop('immediate') }),
	'fast restart'       => relive(sub { $_[0]->stop('fast') }),
	'killed soon after a restart' => sub {
		relive(\&kill_postmaster)->();
		relive(\&kill_postmaster)->();
	},
	'kill -9 while flushes are stalled' => relive(
		sub {
			my ($node) = @_;
			$torture->lead_clients($node);
			$torture->stall_for(0.5, sub { kill_postmaster($node) });
			$torture->lead_clients;
		}));

# Each crash strikes once more with the clock set back to before it.
my @plan = (
	'restored into the same database'            => restore(1, '--clean', '--if-exists'),
	'the same again'                             => restore(1, '--clean', '--if-exists'),
	'only the data restored'                     => restore(0, '--data-only'),
	'setval() to an earlier value'               => \&set_back,
	'promoted without a start of the primary'    => sub { promote($torture, 1) },
	'clock back while the first id waits'        => \&wait_in_the_past,
	@crashes,
	'sessions stopped at any step' => sub {
		$torture->stop_sessions(100, $torture->sessions);
	},
	'queries cancelled' => sub {
		$torture->sql("SELECT pg_cancel_backend($_)") foreach $torture->sessions;
	},
	'sessions terminated' => sub {
		$torture->sql("SELECT pg_terminate_backend($_)") foreach $torture->sessions;
	},
	'clock back by 1 s'       => clock_at(-1),
	'clock back by an hour'   => clock_at(-3600),
	'clock forward by a year' => clock_at(365 * 86400),
	'clock strobed each ms'   => strobe(0.004, -0.004, 1, -3600),
	'promoted without the end of the WAL, clock behind' => \&promote);
for (my $n = 0; $n < @crashes; $n += 2)
{
	my ($name, $crash) = @crashes[ $n, $n + 1 ];
	push @plan, "$name, clock behind" => sub {
		$torture->set_clock(-0.5);
		$crash->(@_);
		$torture->set_clock(-1);
		$torture->get_on;
		$torture->set_clock(0);
	};
}

$torture->lead_clients($server);
$torture->under('none');
my @kinds = (('bulk') x 2, ('commit') x 2, ('rollback') x 2, ('brief') x 2, ('sequence') x 2);
$torture->start_clients(@kinds);
$torture->get_on;
$torture->carry_out(@plan);
$torture->stop_clients;
$torture->note_rows($server);

my @sequences = grep { $kinds[$_] eq 'sequence' } 0 .. $#kinds;
my @portable  = grep { $kinds[$_] ne 'sequence' } 0 .. $#kinds;
$torture->check(clients => \@portable, share => 1);
my $control = $torture->judge(clients => \@sequences);
cmp_ok($control->{twice}, '>', 0,
	"$control->{twice} of $control->{ids} values of a sequence are issued twice");
$torture->check_errors('queries cancelled' => qr/^57014$/);
$torture->check_logs;
$server->stop;
done_testing();
