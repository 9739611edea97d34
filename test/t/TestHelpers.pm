
# What the TAP tests share: servers, ids, and psql sessions.

package TestHelpers;

use strict;
use warnings;

use Exporter 'import';
use Fcntl qw(LOCK_EX);
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# pg_ctl, too, waits as long as a busy machine may take.
$ENV{PGCTLTIMEOUT} //= $PostgreSQL::Test::Utils::timeout_default;

# Tests get the functions of these modules of PostgreSQL and Perl, too.
our @EXPORT = (@PostgreSQL::Test::Utils::EXPORT, @Test::More::EXPORT);
push @EXPORT, qw(new_node start_node start_standby decode_id partitions_of unit_of ids_of
  wait_until kill_postmaster start_again query_if_up crash_and_recover crashes check_log configure
  restore_dump open_session close_session drop_session send_query has_answered
  receive error_of take_errors skip_without_seal constructs_with definitions_of);

# Skip the test if the extension sno_seal was left out of the build.
sub skip_without_seal
{
	chomp(my $folder = qx(pg_config --sharedir));
	plan skip_all => 'extension sno_seal is not installed'
	  unless -e "$folder/extension/sno_seal.control";
	return;
}

#
# Servers
#

# A data folder as initdb makes it: a copy of one that initdb made once for all tests, with a
# system identifier of its own.  pg_resetwal brings the checksum and the WAL into line with it.
sub _copy_template
{
	my ($folder, @initdb) = @_;
	my $template = "$PostgreSQL::Test::Utils::tmp_check/template";
	open my $lock, '>', "$template.lock" or die "$template.lock: $!";
	flock $lock, LOCK_EX or die "$template.lock: $!";
	if (!-e $template)
	{
		system_or_bail(map { $_ eq $folder ? "$template.new" : $_ } @initdb);
		unlink glob "$template.new/pg_wal/0*";
		rename "$template.new", $template or die "$template: $!";
	}
	close $lock;
	system_or_bail('cp', '-a', $template, $folder);

	# initdb, too, makes it of the time and the number of a process.
	open my $control, '+<', "$folder/global/pg_control" or die "$folder: $!";
	my $now = time;
	print $control pack 'Q', int($now) << 32 | int($now * 1e6) % 1e6 << 12 | $$ & 0xfff;
	close $control;
	system_or_bail('pg_resetwal', '-f', $folder);
	return;
}

# A new server, which isn't started.  "conf" has its settings, beside which statements aren't
# logged.  The other parameters are those of new() and init() of PostgreSQL::Test::Cluster.
sub new_node
{
	my ($name, %params) = @_;
	my $conf  = delete $params{conf} // '';
	my %apart = map { $_ => delete $params{$_} }
	  grep { exists $params{$_} } qw(install_path own_host port);
	my $node  = PostgreSQL::Test::Cluster->new($name, %apart);
	my $run   = \&PostgreSQL::Test::Utils::system_or_bail;

	no warnings 'redefine';
	local *PostgreSQL::Test::Utils::system_or_bail =
	  $apart{install_path} || $params{extra} ? $run : sub {
		$_[0] eq 'initdb' ? _copy_template($node->data_dir, @_) : $run->(@_);
	  };
	$node->init(%params);
	$node->append_conf('postgresql.conf', "log_statement = none\n$conf");
	return $node;
}

# A new server that is started, by "clock" if that is given, with the extension sno in the
# database postgres, and what the commands of "sql" make there.
sub start_node
{
	my ($name, %params) = @_;
	my ($clock, $sql) = delete @params{qw(clock sql)};
	my $node = new_node($name, %params);
	defined $clock ? $clock->start_server($node) : $node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION sno;' . ($sql // ''));
	return $node;
}

# A new standby of a server, with the settings of "conf", which is started.
sub start_standby
{
	my ($primary, $name, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$primary->backup($name);
	$node->init_from_backup($primary, $name, has_streaming => 1);
	$node->append_conf('postgresql.conf', $params{conf} // '');
	$node->start;
	return $node;
}

# The fields of an id, by name.
sub decode_id
{
	my ($text) = @_;
	die "not an id: \"$text\"" unless $text =~ /^[2-9a-x]{16}$/;

	# Eight characters of five bits are one half of the id.
	(my $digits = $text) =~ tr/2-9a-x/\x00-\x1f/;
	my ($time, $rest) = (0, 0);
	$time = $time << 5 | $_ foreach unpack('C8',   $digits);
	$rest = $rest << 5 | $_ foreach unpack('x8C8', $digits);
	return {
		unit      => $time >> 1,
		tick_tock => $time & 1,
		meta      => $rest >> 32,
		partition => $rest >> 16 & 0xffff,
		sequence  => $rest & 0xffff };
}

# The partitions of ids, one id a line, in ascending order.
sub partitions_of
{
	my ($ids)      = @_;
	my %partitions = map { decode_id($_)->{partition} => 1 } split /\n/, $ids;
	return sort { $a <=> $b } keys %partitions;
}

# SQL for the unit of a timestamptz.
sub unit_of
{
	my ($expression) = @_;
	return
	  "floor((extract(epoch FROM $expression) - 1262304000) * 250)::bigint";
}

# SQL that makes new ids, by a named generator if a name is given.
sub ids_of
{
	my ($count, $generator) = @_;
	my $arguments = 'n % 256' . (defined $generator ? ", '$generator'" : '');
	return
	  "SELECT sno_generate($arguments) FROM generate_series(1, $count) AS n";
}

# Wait until a condition, a sub, is true.
sub wait_until
{
	my ($what, $condition) = @_;
	# The condition is often a query by a new psql, which needs more CPU time than the awaited event.
	for my $round (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if $condition->();
		usleep(10_000 * ($round < 10 ? $round : 10));
	}
	die "timed out waiting until $what";
}

# Kill the postmaster.
sub kill_postmaster
{
	my ($node) = @_;
	my ($pid)  = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	$node->kill9;
	wait_until("postmaster $pid is gone", sub { !kill 0, $pid });
	return;
}

# Start a node whose postmaster was killed.  The first attempts may fail: the
# children of the postmaster use its shared memory until they have ended.
sub start_again
{
	my ($node) = @_;
	wait_until($node->name . ' starts again',
		sub { $node->start(fail_ok => 1) });
	return;
}

# The result of a query, or undef if the server doesn't answer.  The query is an
# argument of psql: a psql that has lost its server would read no input.
sub query_if_up
{
	my ($node, $query) = @_;
	my ($out, $err);
	return IPC::Run::run(
		[ 'psql', '-XqAt', '-c', $query, $node->connstr('postgres') ],
		'<', '/dev/null', '>', \$out, '2>', \$err) ? $out : undef;
}

# Let a sub kill sessions of a server, which must crash, and wait until it is up again.  Before
# the postmaster knows of the crash, the server still answers: so wait for another life.
sub crash_and_recover
{
	my ($node, $kill) = @_;
	my $life = q{SELECT pid, backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'};
	my $former = $node->safe_psql('postgres', $life);
	$kill->();
	wait_until(
		$node->name . ' is back',
		sub {
			my $now = query_if_up($node, $life) // '';
			return $now =~ /\|/ && $now ne $former;
		});
	return;
}

# The ways in which a server crashes under clients, each as [name, sub that
# makes it crash, sub that brings it up again].
sub crashes
{
	my ($node) = @_;
	return (
		[   'kill -9 of a backend',
			sub {
				my $pid = $node->safe_psql('postgres',
					"SELECT pid FROM pg_stat_activity WHERE application_name = 'client' LIMIT 1");
				crash_and_recover($node, sub { kill 'KILL', $pid });
			},
			sub { }
		],
		[   'immediate shutdown',
			sub { $node->stop('immediate') },
			sub { $node->start } ],
		[   'kill -9 of the postmaster',
			sub { kill_postmaster($node) },
			sub { start_again($node) } ]);
}

# Check that psql restores a dump.
sub restore_dump
{
	my ($node, $file, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->command_ok(
		[   'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $file,
			$node->connstr('postgres') ],
		$name);
	return;
}

# Check that the log of a server tells of no crash.
sub check_log
{
	my ($node) = @_;
	unlike(
		slurp_file($node->logfile),
		qr/PANIC|TRAP|was terminated by signal/,
		$node->name . ': nothing crashed');
	return;
}

# Change a setting of a server, and wait until these sessions have the new
# value.
sub configure
{
	my ($node, $name, $value, @sessions) = @_;
	$node->append_conf('postgresql.conf', "$name = '$value'");
	$node->reload;
	foreach my $session (@sessions)
	{
		wait_until("$name is set",
			sub { $session->query_safe("SHOW $name") eq $value });
	}
	return;
}

#
# Sessions: psql in the background, by PostgreSQL::Test::BackgroundPsql
#

# That module prints each query and all that it returns as notes of the test.  A
# million ids would hide the test's own lines, so the beginnings go to its log.
{
	no warnings 'redefine';
	*PostgreSQL::Test::BackgroundPsql::note =
	  sub { print substr(join('', '# ', @_), 0, 500), "\n"; };
}

# Open a session that survives errors, and shows their SQLSTATEs.  The library
# is loaded first, if the user may load it, so that its settings are known.  It
# may warn of an invalid one.
sub open_session
{
	my ($node, $dbname, @settings) = @_;
	my $session = $node->background_psql(
		$dbname,
		on_error_stop => 0,
		extra_params  => [ '-v', 'VERBOSITY=verbose' ]);
	$session->set_query_timer_restart;
	$session->{pid} = $session->query_safe('SELECT pg_backend_pid()');
	error_of($session, "LOAD 'sno'") if !defined $ENV{PGUSER};
	$session->query_safe("SET $_") foreach @settings;
	return $session;
}

# Close a session, and wait until its backend has ended: that is a moment later
# than the end of psql.
sub close_session
{
	my ($session) = @_;
	$session->{timeout}->start;
	$session->quit;
	wait_until('a session ends', sub { !kill 0, $session->{pid} });
	return;
}

# End the psql of a session that has lost its server or its backend.
sub drop_session
{
	my ($session) = @_;
	$session->{run}->kill_kill;
	return;
}

# Send a query to a session, without waiting for the answer.
sub send_query
{
	my ($session, $query) = @_;
	$session->{timeout}->start;
	$session->{stdin} .= "$query\n;\n";
	wait_until(
		'psql takes a query',
		sub {
			$session->{run}->pump_nb;
			$session->{stdin} eq '';
		});
	return;
}

# Has the query that was sent returned a row or an error?  psql writes the line of an error
# in parts.
sub has_answered
{
	my ($session) = @_;
	$session->{run}->pump_nb;
	return "$session->{stdout}$session->{stderr}" =~ /\n/;
}

# Wait for the end of the query that was sent; returns its output and its
# errors.
sub receive
{
	my ($session) = @_;
	my $out = $session->query('');
	return ($out, take_errors($session));
}

# The error that a query raises in a session, empty if there is none.
sub error_of
{
	my ($session, $query) = @_;
	$session->query($query);
	return take_errors($session);
}

# The errors of a session since the last call, without the place that psql
# names.
sub take_errors
{
	my ($session) = @_;
	my $errors = $session->{stderr};
	$session->{stderr} = '';
	return $errors =~ s/^psql:<stdin>:\d+: //gmr;
}

# The script constructs.sql with a type and two of its values.
sub constructs_with
{
	my ($type, @values) = @_;
	my %word = (ID => $type, ID_ops => "${type}_ops", ID_0 => $values[0], ID_1 => $values[1]);
	return slurp_file("$FindBin::RealBin/constructs.sql") =~ s/\b(ID(?:_ops|_\d)?)\b/$word{$1}/gr;
}

# What pg_dump writes about the definitions in a database, without what differs between dumps.
sub definitions_of
{
	my ($connection, @options) = @_;
	my ($out) = run_command([ 'pg_dump', '--schema-only', @options, '-d', $connection ]);
	return $out =~ s/^(?:--|\\(?:un)?restrict).*\n//gmr;
}

1;
