
# A server that is struck by faults, the clients that generate there meanwhile,
# and the oracle, which checks all their notes.  The programs are in
# test/torture: they are built in a temporary folder.
#
# All random numbers come from one seed.  By default each fault of a plan
# strikes once.  With TORTURE_MINUTES, faults strike for that time, in an order
# that TORTURE_SEED gives (script/torture).
#
# With TORTURE_FLOOD, a client that takes as many ids as it can is beside each client of
# kind "bulk" or "named".

package Torture;

use strict;
use warnings;

use Exporter 'import';
use File::Basename qw(dirname);
use Gdb;
use IPC::Run ();
use TestHelpers;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(ends shared_faults clock_at strobe);

# As in notes.h
my $max_faults    = 64;
my $max_sessions  = 64;
my $progress_size = 2 * 8 * $max_faults;
my $progress_from = 3 * 8;
my $no_partition  = ~0;

# Build a program, or a library if the name ends in .so; returns its path.
my %built;
my @all;

sub build
{
	my ($name) = @_;
	return $built{$name} if defined $built{$name};
	my $source = dirname(__FILE__) . '/../torture/' . $name =~ s/\.so$//r . '.c';
	my $path   = PostgreSQL::Test::Utils::tempdir('torture') . "/$name";
	chomp(my $includes = `pg_config --includedir`);
	chomp(my $server = `pg_config --includedir-server`);
	system_or_bail(
		split(' ', $ENV{CC} // 'cc'),                   '-O2',
		'-Wall',                                        '-Wextra',
		'-Werror',                                      "-I$includes", "-isystem", $server,
		($name =~ /\.so$/ ? ('-shared', '-fPIC') : ()), '-o',
		$path,                                          $source,
		($name eq 'clients' ? '-lpq' : ()));
	return $built{$name} = $path;
}

# max_wait is sno.max_wait of the clients.  With TORTURE_MINUTES, each of them gets less
# than `lull` ids between two faults.
sub new
{
	my ($class, %params) = @_;
	my $dir  = PostgreSQL::Test::Utils::tempdir('torture');
	my $self = bless {
		dir      => $dir,
		max_wait => $params{max_wait} // '1s',
		lull     => $params{lull}     // 2000,
		minutes  => $ENV{TORTURE_MINUTES} || 0,
		seed     => $ENV{TORTURE_SEED}    || 1,
		faults   => [],
		struck   => {},
		promoted => 0,
		rows     => [],
		logs     => {} }, $class;

	append_to_file("$dir/faults", pack('q4', 0, 0, 0, 0));
	append_to_file("$dir/control",
		"\0" x ($progress_from + $max_sessions * $progress_size));
	append_to_file("$dir/$_", '') foreach ('bounds', 'heard');
	push @all, $self;
	return $self;
}

# However a test ends, its clients end, too.
END
{
	local $?;
	poke("$_->{dir}/control", 0, pack('Q', 1)) foreach @all;
}

# A random number below $n.
sub random
{
	my ($self, $n) = @_;
	$self->{seed} = ($self->{seed} * 1103515245 + 12345) & 0x7fffffff;
	return ($self->{seed} >> 8) % $n;
}

sub one_of
{
	my ($self, @choice) = @_;
	return $choice[ $self->random(scalar @choice) ];
}

sub shuffled
{
	my ($self, @list) = @_;
	return map { splice @list, $self->random(scalar @list), 1 } 0 .. $#list;
}

# Change bytes of a file that other processes have mapped.
sub poke
{
	my ($file, $offset, $bytes) = @_;
	open my $handle, '+<', $file or die "$file: $!";
	sysseek $handle, $offset, 0;
	syswrite $handle, $bytes;
	close $handle;
	return;
}

#
# The server
#

# Start it with a clock that can be set and a disk that can stall: by a file that
# all servers share, or by another one.
sub start_server
{
	my ($self, $node, $faults) = @_;
	local $ENV{LD_PRELOAD} = build('faults.so');
	local $ENV{FAULTS}     = $faults // "$self->{dir}/faults";
	start_again($node);
	$self->{logs}{ $node->logfile } = 1;
	return;
}

# Make and start the server that is struck.  fsync is on, because torture is about what is on
# disk.  Leases are short, so renewals are always in progress.
sub make_server
{
	my ($self, $conf) = @_;
	my $node = new_node('main', allows_streaming => 1, conf => qq{
fsync = on
restart_after_crash = on
log_replication_commands = off
wal_sender_timeout = 0
wal_receiver_timeout = 0
max_connections = 60
sno.lease_duration = 1s
$conf
});
	$self->start_server($node);
	return $node;
}

# Make such a file for servers that have a clock of their own, or set that clock.
sub set_own_clock
{
	my ($faults, $offset) = @_;
	append_to_file($faults, pack('q4', 0, 0, 0, 0)) if !-e $faults;
	poke($faults, 0, pack('q', $offset * 1e9));
	return;
}

# Set the clock to $offset seconds after the real time.  In every other period
# of $period seconds, $strobe seconds are added.
sub set_clock
{
	my ($self, $offset, $strobe, $period) = @_;
	poke("$self->{dir}/faults", 0,
		pack('q3', map { $_ * 1e9 } $offset, $strobe // 0, $period // 0));
	return;
}

# Make flushes of WAL wait, or let them go on.
sub stall_flushes
{
	my ($self, $stall) = @_;
	poke("$self->{dir}/faults", 24, pack('q', $stall));
	return;
}

# Set the server that clients connect to and faults strike; without one, clients
# connect to no server.
sub lead_clients
{
	my ($self, $node) = @_;
	$self->_write_connection('', $node, 'postgres');
	$self->{node} = $node;
	return;
}

# Set the database of the clients that have a seat.  Before, they are idle.
sub seat_clients
{
	my ($self, $seat, $node, $dbname) = @_;
	$self->_write_connection(".$seat", $node, $dbname);
	return;
}

# Let the clients of a seat be idle, as soon as they lose their connection.
sub unseat_clients
{
	my ($self, $seat) = @_;
	unlink "$self->{dir}/connection.$seat";
	return;
}

# The clients that are not idle, or those of some seats.
sub seated
{
	my ($self, @seats) = @_;
	return grep {
		my ($seat) = $self->{kinds}[$_] =~ /:(.*)/;
		!defined $seat
		  || (@seats
			? grep { $_ eq $seat } @seats
			: -e "$self->{dir}/connection.$seat");
	} 0 .. $#{ $self->{kinds} };
}

sub _write_connection
{
	my ($self, $suffix, $node, $dbname) = @_;
	my $file = "$self->{dir}/connection$suffix";
	unlink "$file.new";
	append_to_file("$file.new",
		defined $node
		? $node->connstr($dbname)
		  . " application_name=client options='-c sno.max_wait=$self->{max_wait}'"
		: '');
	rename "$file.new", $file or die "$file: $!";
	return;
}

# Execute SQL on that server.
sub sql
{
	my ($self, $query) = @_;
	return $self->{node}->safe_psql('postgres', $query);
}

# A number for the present life of a server, by the same query as in clients.c.
sub life
{
	my ($self, $node) = @_;
	return $node->safe_psql(
		'postgres',
		q{SELECT hashtextextended(concat_ws(' ', current_setting('port'), current_database(), pid,
			extract(epoch FROM backend_start)), 0)
		FROM pg_stat_activity WHERE backend_type = 'checkpointer'});
}

# SQL for the last leased unit of each partition, on either side.
sub leases_query
{
	my @until = map { 'max(' . unit_of($_) . ')' } qw(tick_until tock_until);
	return
		'SELECT '
	  . join(', ', 'partition', @until)
	  . ' FROM sno_catalog.sno_lease WHERE kind IN (\'s\', \'g\') GROUP BY partition';
}

# Note the leases of a life, as that query returns them: in the file "bounds"
# those that the life had, in "heard" those of which its successor knows.
sub note_leases
{
	my ($self, $life, $leases, $file) = @_;
	$file //= 'bounds';
	append_to_file("$self->{dir}/$file", pack('qQQQ', $life, split /\|/))
	  foreach split /\n/, $leases;
	return;
}

# Note all leases of a life that is over, before another life generates.  From
# then on, the oracle knows that the life had no others.
sub note_all_leases
{
	my ($self, $life, $node, $file) = @_;
	$file //= 'bounds';
	$self->note_leases($life, $node->safe_psql('postgres', leases_query()),
		$file);
	append_to_file("$self->{dir}/$file",
		pack('qQQQ', $life, $no_partition, 0, 0));
	return;
}

# Note the rows of the table into which clients insert.
sub note_rows
{
	my ($self, $node) = @_;
	my $file = "$self->{dir}/rows" . @{ $self->{rows} };
	$node->safe_psql('postgres', "COPY t TO '$file' (FORMAT binary)");
	push @{ $self->{rows} }, $file;
	return;
}

#
# The clients
#
sub start_clients
{
	my ($self, @kinds) = @_;
	push @kinds, map { s/^named/flood_named/r } map { s/^bulk/flood/r } grep { /^(?:bulk|named)\b/ } @kinds
	  if $ENV{TORTURE_FLOOD};
	local $ENV{FAULTS} = "$self->{dir}/faults";
	$self->{kinds}   = \@kinds;
	$self->{clients} = IPC::Run::start(
		[   build('clients'),     "$self->{dir}/control",
			"$self->{dir}/notes", "$self->{dir}/connection",
			@kinds ]);
	return;
}

sub stop_clients
{
	my ($self) = @_;
	poke("$self->{dir}/control", 0, pack('Q', 1));
	ok($self->{clients}->finish, 'all clients end without a failure');
	return;
}

# For each client, the number of ids received under each fault, and the longest
# time between two ids, in ns.
sub progress
{
	my ($self) = @_;
	my $control = slurp_file("$self->{dir}/control");
	return map {
		my @numbers = unpack 'Q' . 2 * $max_faults,
		  substr $control, $progress_from + $_ * $progress_size,
		  $progress_size;
		{   ids   => [ @numbers[ 0 .. $max_faults - 1 ] ],
			stall => [ @numbers[ $max_faults .. $#numbers ] ] };
	} 0 .. $#{ $self->{kinds} };
}

# The number of ids that each client has received under the present fault.
sub ids_now
{
	my ($self) = @_;
	return map { $_->{ids}[ $self->{fault} ] } $self->progress;
}

# Wait until each client that is not idle, or that has one of some seats, has
# received $count more ids.
sub wait_for_ids
{
	my ($self, $count, @seats) = @_;
	my @clients = $self->seated(@seats);
	my @from    = $self->ids_now;
	wait_until(
		'all clients have received ids',
		sub {
			my @now = $self->ids_now;
			!grep { $now[$_] < $from[$_] + $count } @clients;
		});
	return;
}

# Wait until each client of these seats has received 20 more ids, or an error.
sub wait_for_answers
{
	my ($self, @seats) = @_;
	my @clients = $self->seated(@seats);
	my @from    = $self->ids_now;
	my $errors  = sub { return map { -s "$self->{dir}/notes.$_.errors" } @clients; };
	my @before  = $errors->();
	wait_until(
		'all clients have received ids or errors',
		sub {
			my @now   = $self->ids_now;
			my @after = $errors->();
			!grep {
				$now[ $clients[$_] ] < $from[ $clients[$_] ] + 20
				  && $after[$_] == $before[$_]
			} 0 .. $#clients;
		});
	return;
}

# Begin a fault: ids are received under it from now on.
sub under
{
	my ($self, $name) = @_;
	my ($fault) =
	  grep { $self->{faults}[$_] eq $name } 0 .. $#{ $self->{faults} };
	if (!defined $fault)
	{
		$fault = push(@{ $self->{faults} }, $name) - 1;
		$self->{struck}{$name} = 0;
		die 'too many faults' if $fault >= $max_faults;
	}
	$self->{fault} = $fault;
	poke("$self->{dir}/control", 8, pack('Q', $fault));
	return;
}

# Wait until the server is up, and clients generate.
sub get_on
{
	my ($self) = @_;
	$self->wait_for_ids(20);
	return;
}

# Let a fault strike; all clients must generate again after it.
sub strike
{
	my ($self, $name, $fault) = @_;
	$self->under($name);
	$fault->($self);
	$self->get_on;
	$self->{struck}{$name}++;
	return;
}

# Carry out a plan: pairs of the name of a fault and its sub.
sub carry_out
{
	my ($self, @plan) = @_;
	my %faults = @plan;
	my @names  = @plan[ map { 2 * $_ } 0 .. $#plan / 2 ];
	my $until  = time + 60 * $self->{minutes};

	note("seed $self->{seed}");
	do
	{
		foreach my $name ($self->{minutes} ? $self->shuffled(@names) : @names)
		{
			last if $self->{minutes} && time > $until;
			$self->strike($name, $faults{$name});
			$self->under('none');
			$self->wait_for_ids($self->random($self->{lull})) if $self->{minutes};
		}
	} while (time < $until);
	return;
}

# The errors that clients met, as [fault, SQLSTATE, message], without 57P01 to
# 57P03: these tell that the session or the server ends.
sub errors
{
	my ($self) = @_;
	return map {
		map {
			/^(\d+) (?!57P0[123])(\w+) (.*)$/
			  ? [ $self->{faults}[$1], $2, $3 ]
			  : ()
		  }
		  split /\n/,
		  slurp_file("$self->{dir}/notes.$_.errors")
	} 0 .. $#{ $self->{kinds} };
}

#
# Faults of several plans
#

# The sessions of the clients, and a random one of them.
sub sessions
{
	my ($self) = @_;
	my @pids;
	wait_until(
		'there are sessions',
		sub {
			my $out = query_if_up($self->{node},
				q{SELECT pid FROM pg_stat_activity WHERE application_name = 'client' ORDER BY backend_start}
			);
			@pids = split /\n/, $out // '';
			scalar @pids;
		});
	return @pids;
}

sub victim
{
	my ($self) = @_;
	return $self->one_of($self->sessions);
}

sub kill_session
{
	my ($self) = @_;
	my $pid = $self->victim;
	crash_and_recover($self->{node}, sub { kill 'KILL', $pid });
	return;
}

# The way to each step of a lease, just after it is done.  The last step is to issue: there, an
# id is on its way.
my %way_to = (
	reserve => "break *sno_lease_write\ngo\n",
	write   => "break *sno_lease_write\ngo\nback\n",
	flush   => "break *sno_lease_publish\ngo\ntbreak *XLogFlush\ngo\nback\n",
	publish => "break *sno_lease_publish\ngo\nback\n",
	issue   => "break *sno_generator_share_unit\ngo\n");

# Hold the session of a client at a step, and return its process.  A session may end, or
# not come there for some time: then another one is tried, for longer.
sub hold
{
	my ($self, $step) = @_;

	foreach my $try (1 .. 50)
	{
		my $pid   = $self->victim;
		my $gdb   = $self->{gdb} = Gdb->lead($pid, $way_to{$step});
		my $until = time + 3 * $try;
		usleep(10_000) while !$gdb->holds && $gdb->runs && time < $until;
		return $pid if $gdb->holds;
		$gdb->give_up;
	}
	die "no session came to step $step: " . slurp_file($self->{gdb}{log});
}

sub kill_held
{
	my ($self, $pid) = @_;
	kill 'KILL', $pid;
	$self->release;
	return;
}

sub release
{
	my ($self) = @_;
	$self->{gdb}->release;
	return;
}

# Stop one of these sessions, and let it go on, $times times.
sub stop_sessions
{
	my ($self, $times, @pids) = @_;
	for (1 .. $times)
	{
		my $pid = $self->one_of(@pids);
		kill 'STOP', $pid;
		usleep($self->random(10_000));
		kill 'CONT', $pid;
	}
	return;
}

# End a life of the server, and begin another one.  The leases of the old life
# are noted before a client can generate.  $end gets the server.
sub relive
{
	my ($self, $end) = @_;
	my $node = $self->{node};
	my $life = $self->life($node);

	$self->lead_clients;
	$end->($node);
	$self->start_server($node);
	$self->note_all_leases($life, $node);
	$self->lead_clients($node);
	return;
}

# Promote a standby that has not received the latest leases and rows.  With
# $behind, its clock is behind: the primary goes on after all leases are over
# that the standby knows, and the standby begins at that time.  With $step, the standby
# stops while a session is at that step of a lease.  The other sessions go on for a while,
# and the session is killed there.
sub promote
{
	my ($self, $behind, $step) = @_;
	my $primary = $self->{node};
	my $name    = 'successor' . ++$self->{promoted};
	my $standby = PostgreSQL::Test::Cluster->new($name);
	my $life    = $self->life($primary);
	my $from;

	$primary->backup($name);
	$standby->init_from_backup($primary, $name, has_streaming => 1);
	$self->start_server($standby);
	$primary->wait_for_catchup($standby);
	my $pid = $step && $self->hold($step);
	$standby->stop;
	usleep(2.5e6) if $step;
	if ($behind)
	{
		$from = $self->sql(
			q{SELECT extract(epoch FROM max(until))
			FROM (SELECT greatest(tick_until, tock_until) AS until FROM sno_catalog.sno_lease) AS s
			WHERE until < clock_timestamp() + interval '1 minute'});
		wait_until('all leases that the standby knows are over',
			sub { time > $from });
		$self->wait_for_ids(1000);
	}
	$self->get_on if !$step;

	$self->lead_clients;
	kill_postmaster($primary);
	$self->kill_held($pid) if $step;
	my $end = time;
	$self->start_server($primary);
	$self->note_all_leases($life, $primary);
	$self->note_rows($primary);
	$primary->stop;

	$self->start_server($standby);
	$standby->promote;
	$self->note_all_leases($life, $standby, 'heard');

	# These rows are noted already.
	$standby->safe_psql('postgres', 'TRUNCATE t');
	poke("$self->{dir}/control", 16, pack('Q', $self->{promoted}));
	my $offset = $behind ? $from - time : 0;
	$self->set_clock($offset);
	$self->lead_clients($standby);
	if ($behind)
	{
		# Other faults step back by 2 s, and must not reach this time again.
		wait_until('the time of the primary is over',
			sub { time + $offset > $end && time > $end + 3 });
		$self->{behind} = 1;
	}
	$self->get_on;
	$self->set_clock(0);
	$primary->clean_node;
	return;
}

# Stall flushes for some seconds, and do something before they go on.
sub stall_for
{
	my ($self, $seconds, $meanwhile) = @_;
	$self->stall_flushes(1);
	usleep($seconds * 1e6);
	$meanwhile->() if $meanwhile;
	$self->stall_flushes(0);
	return;
}

# Faults by name: sessions and servers end.
sub ends
{
	return (
		'kill -9 of a session' => sub { $_[0]->kill_session; },
		'kill -9 of two sessions within a lease' => sub {
			my ($self) = @_;
			$self->kill_session for 1 .. 2;
		},
		'kill -9 of the postmaster' => sub { $_[0]->relive(\&kill_postmaster); },
		'immediate shutdown' => sub {
			$_[0]->relive(sub { $_[0]->stop('immediate') });
		},
		'fast restart' => sub {
			$_[0]->relive(sub { $_[0]->stop('fast') });
		});
}

# Faults by name: what strikes all sessions that share a generator.
sub shared_faults
{
	return (
		'sessions terminated' => sub {
			my ($self) = @_;
			$self->sql("SELECT pg_terminate_backend($_)")
			  foreach $self->sessions;
		},
		'queries cancelled' => sub {
			my ($self) = @_;
			$self->sql("SELECT pg_cancel_backend($_)") foreach $self->sessions;
		},
		'sessions stopped at any step' => sub {
			my ($self) = @_;
			$self->stop_sessions(100, $self->sessions);
		},
		'kill -9 while flushes are stalled' => sub {
			my ($self) = @_;
			$self->relive(
				sub {
					my ($node) = @_;
					$self->stall_for(0.7, sub { kill_postmaster($node) });
				});
		});
}

# A fault: the clock is set to several offsets from the real time, one after the
# other.
sub clock_at
{
	my @offsets = @_;
	return sub {
		my ($self) = @_;
		foreach my $offset (@offsets)
		{
			$self->set_clock($offset);
			$self->get_on;
		}
		$self->set_clock(0);
	};
}

# A fault: the clock steps forth and back each millisecond, by several steps one
# after the other.
sub strobe
{
	my @steps = @_;
	return sub {
		my ($self) = @_;
		foreach my $step (@steps)
		{
			$self->set_clock(0, $step, 0.001);
			$self->get_on;
		}
		$self->set_clock(0);
	};
}

#
# The oracle
#

# Run the oracle over the notes of some or all clients.  Returns its counts; "faults"
# has those of each fault.
sub judge
{
	my ($self, %params) = @_;
	my @clients = @{ $params{clients} // [ 0 .. $#{ $self->{kinds} } ] };
	my %verdict;

	my @command = (
		build('oracle'),
		'-b',
		"$self->{dir}/bounds",
		'-h',
		"$self->{dir}/heard",
		(map { ('-r', $_) } @{ $self->{rows} }),
		map { "$self->{dir}/notes.$_" } @clients);
	my ($out, $err) = run_command(\@command);
	die "oracle: $err" if $err ne '' || $out !~ /^ids /m;

	my @progress = ($self->progress)[@clients];
	foreach (split /\n/, $out)
	{
		if (/^fault (\d+) (\d+) (\d+)$/)
		{
			my $fault = $1;
			my ($stall) =
			  sort { $b <=> $a } map { $_->{stall}[$fault] } @progress;
			$verdict{faults}{ $self->{faults}[$fault] } =
			  { ids => $2, twice => $3, stall => $stall / 1e9 };
		}
		elsif (/^(\w+) ([\d.]+)$/)
		{
			$verdict{$1} = $2;
		}
		else
		{
			diag($_);
		}
	}
	return \%verdict;
}

# Show what each fault did.
sub show
{
	my ($self, $verdict) = @_;
	note(
		sprintf '%-50s %6s %12s %6s %9s',
		'fault', 'struck', 'ids meanwhile',
		'twice', 'stall, s');
	foreach my $name (@{ $self->{faults} })
	{
		my $fault = $verdict->{faults}{$name} // next;
		note(
			sprintf '%-50s %6d %12d %6d %9.3f',
			$name, $self->{struck}{$name},
			$fault->{ids}, $fault->{twice}, $fault->{stall});
	}
	note(sprintf '%-50s %6s %12d %6d', 'all', '', @{$verdict}{qw(ids twice)});
	return;
}

# Check, when all clients have stopped, that the oracle finds nothing wrong.
# With share => 1, sessions and lives share a partition: that of a named
# generator.
sub check
{
	my ($self, %params) = @_;
	my $verdict = $self->judge(%params);
	$self->show($verdict);

	cmp_ok($verdict->{ids},  '>', 0, "$verdict->{ids} ids were noted");
	cmp_ok($verdict->{rows}, '>', 0, "$verdict->{rows} rows are there");
	is($verdict->{twice}, 0, 'no id was issued twice');
	if (!$params{share})
	{
		is($verdict->{overlaps}, 0, 'no two lives share a partition\'s time');
		is($verdict->{descents}, 0, 'each session\'s sequences ascend');
	}
	is($verdict->{beyond}, 0, 'no id is beyond a lease on disk');
	is($verdict->{again_named},
		0, 'a successor issued no id of a named generator again');
	if ($self->{behind})
	{
		note(
			"a successor issued $verdict->{again_session} ids of sessions again, "
			  . "$verdict->{by_chance} are expected by chance");
		cmp_ok($verdict->{behind}, '>', 0,
			"a successor issued in the time of $verdict->{unheard} ids that it does not know"
		);
	}
	is($verdict->{lost},    0, 'each committed row is there');
	is($verdict->{risen},   0, 'no row is there that was rolled back');
	is($verdict->{doubled}, 0, 'no two rows have the same id');
	return;
}

# Check that clients met only the errors that a fault allows: pairs of the name
# of a fault and a pattern of SQLSTATEs.
sub check_errors
{
	my ($self, %due) = @_;
	my @unexpected =
	  map  { "$_->[0]: $_->[1] $_->[2]" }
	  grep { !defined $due{ $_->[0] } || $_->[1] !~ $due{ $_->[0] } }
	  $self->errors;
	is(join("\n", @unexpected),
		'', 'clients met only errors that a fault allows');
	return;
}

sub check_logs
{
	my ($self) = @_;
	my @crashes =
	  map { slurp_file($_) =~ /^.*(?:PANIC|TRAP|by signal (?!9\b)).*$/mg }
	  sort keys %{ $self->{logs} };
	is(join("\n", @crashes), '', 'no process crashed that was not killed');
	return;
}

1;
