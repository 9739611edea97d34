
# What the TAP tests of the generator share: clients that note ids outside of
# the server the moment they receive them, and the oracle over all notes.
#
# A note knows its id, the session that received it, and the phase it was made
# in: a phase is one life of one server.  Over all notes of all phases,
# whether their transactions were committed or not:
#
# - no id was issued twice, not even with another metabyte;
# - no two phases used a partition at overlapping times, whatever the timeline;
# - no two sessions took turns within a unit of a partition's timeline;
# - what a session got in a partition, in a unit's timeline, ascends.

package SnoTest;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(decode_id unit_of wait_until kill_postmaster start_again
  query_if_up crashes check_log configure open_session close_session send_query
  receive ask ask_error ids_of);

# (unit, tick-tock, meta, partition, sequence) of an id.
sub decode_id
{
	my ($text) = @_;
	die "not an id: \"$text\"" unless $text =~ /^[2-9a-x]{16}$/;

	# Eight characters of five bits are one half of the id.
	(my $digits = $text) =~ tr/2-9a-x/\x00-\x1f/;
	my ($time, $rest) = (0, 0);
	$time = $time << 5 | $_ foreach unpack('C8',   $digits);
	$rest = $rest << 5 | $_ foreach unpack('x8C8', $digits);
	return (
		$time >> 1, $time & 1,
		$rest >> 32,
		$rest >> 16 & 0xffff,
		$rest & 0xffff);
}

# SQL for the unit that a timestamptz is in.
sub unit_of
{
	my ($expression) = @_;
	return
	  "floor((extract(epoch FROM $expression) - 1262304000) * 250)::bigint";
}

# Wait until the condition, a sub, is true.
sub wait_until
{
	my ($what, $condition) = @_;
	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if $condition->();
		usleep(10_000);
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

# Start a node whose postmaster was killed: its children may hold the shared
# memory for a while.
sub start_again
{
	my ($node) = @_;
	wait_until($node->name . ' starts again',
		sub { $node->start(fail_ok => 1) });
	return;
}

# What a query returns, undef if no server answers it.  It isn't written to psql,
# which may have ended by then.
sub query_if_up
{
	my ($node, $query) = @_;
	my ($out, $err);
	return IPC::Run::run(
		[ 'psql', '-XqAt', '-c', $query, $node->connstr('postgres') ],
		'<', '/dev/null', '>', \$out, '2>', \$err) ? $out : undef;
}

# How a server crashes under clients: [what happens, how, how it is up again].
sub crashes
{
	my ($node) = @_;
	return (
		[
			'kill -9 of a backend',
			sub {
				kill 'KILL',
				  $node->safe_psql('postgres',
					"SELECT pid FROM pg_stat_activity WHERE application_name = 'client' LIMIT 1"
				  );
			},
			sub {
				wait_until($node->name . ' is back',
					sub { defined query_if_up($node, 'SELECT') });
			}
		],
		[
			'immediate shutdown',
			sub { $node->stop('immediate') },
			sub { $node->start }
		],
		[
			'kill -9 of the postmaster',
			sub { kill_postmaster($node) },
			sub { start_again($node) }
		]);
}

# Nothing crashed.
sub check_log
{
	my ($node) = @_;
	unlike(
		slurp_file($node->logfile),
		qr/PANIC|TRAP|was terminated by signal/,
		$node->name . ': nothing crashed');
	return;
}

# Change a setting of a server, and wait until these sessions know it.
sub configure
{
	my ($node, $name, $value, @sessions) = @_;
	$node->append_conf('postgresql.conf', "$name = '$value'");
	$node->reload;
	foreach my $session (@sessions)
	{
		wait_until("$name is known",
			sub { ask($session, "SHOW $name") eq $value });
	}
	return;
}

# A psql session in the background, which survives errors and, if it is a
# superuser's, knows the settings of the extension before it generates.
sub open_session
{
	my ($node, $dbname, @settings) = @_;
	my %session = (
		in      => '',
		out     => '',
		err     => '',
		timeout =>
		  IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$session{run} = IPC::Run::start(
		[
			'psql', '-XqAt', '-v', 'VERBOSITY=verbose',
			$node->connstr($dbname)
		],
		'<',
		\$session{in},
		'>',
		\$session{out},
		'2>',
		\$session{err},
		$session{timeout});
	$session{pid} = ask(\%session, 'SELECT pg_backend_pid()');
	ask(\%session, "LOAD 'sno'") if !defined $ENV{PGUSER};
	ask(\%session, "SET $_") foreach @settings;
	return \%session;
}

# End a session, whose backend lives on for a moment when psql is gone.
sub close_session
{
	my ($session) = @_;
	$session->{timeout}->start;
	$session->{in} .= "\\q\n";
	$session->{run}->finish;
	wait_until('a session ends', sub { !kill 0, $session->{pid} });
	return;
}

# Send a query to a session, and receive what it answers: output and errors.
sub send_query
{
	my ($session, $query) = @_;
	$session->{timeout}->start;
	$session->{in} .= "$query\n;\n\\echo -- done\n\\warn -- done\n";
	wait_until(
		'psql takes a query',
		sub {
			$session->{run}->pump_nb;
			$session->{in} eq '';
		});
	return;
}

sub receive
{
	my ($session) = @_;
	my $done = qr/-- done\n/;
	$session->{timeout}->start;
	$session->{run}->pump
	  until $session->{out} =~ $done && $session->{err} =~ $done;
	my ($out, $err) = @{$session}{qw(out err)};
	@{$session}{qw(out err)} = ('', '');
	$out =~ s/\n?$done//;
	$err =~ s/$done//;
	return ($out, $err);
}

# What a session answers to a query; it is fatal if that is an error.
sub ask
{
	my ($session, $query) = @_;
	send_query($session, $query);
	my ($out, $err) = receive($session);
	die "\"$query\" failed: $err" if $err =~ /ERROR|FATAL/;
	return $out;
}

# The error that a query raises in a session, empty if there is none.
sub ask_error
{
	my ($session, $query) = @_;
	send_query($session, $query);
	my (undef, $err) = receive($session);
	return $err;
}

# A query for so many new ids, from a named generator if one is given.
sub ids_of
{
	my ($count, $generator) = @_;
	my $arguments = 'n % 256' . (defined $generator ? ", '$generator'" : '');
	return
	  "SELECT sno_generate($arguments) FROM generate_series(1, $count) AS n";
}

sub new
{
	my ($class) = @_;
	my $self = {
		dir      => PostgreSQL::Test::Utils::tempdir('notes'),
		notes    => [],    # [id, session, phase, fate]
		phase    => 0,
		sessions => 0
	};
	return bless $self, $class;
}

# A server begins a new life.
sub next_phase
{
	my ($self) = @_;
	$self->{phase}++;
	return;
}

# Note the ids that a session got, as text; $fate tells what became of rows
# that have them, "committed", "rolled back", or anything else if it is unknown.
sub add
{
	my ($self, $session, $ids, $fate) = @_;
	my @ids = split /\n/, $ids;
	push @{ $self->{notes} },
	  map { [ $_, "$session", $self->{phase}, $fate // '' ] } @ids;
	return scalar @ids;
}

# Start clients that do the same over and over: get some ids, by a statement
# that also inserts them into a table if one is given, and COMMIT or ROLLBACK,
# every other client the one or the other.  They end when they lose their
# connection, have done it as often as they were told, or meet an error that
# they aren't told to bear.
sub start_clients
{
	my ($self, $node, $dbname, %params) = @_;
	my $clients  = { phase => $self->{phase}, files => [], runs => [] };
	my $connstr  = $params{connstr}  // $node->connstr($dbname);
	my $batch    = $params{batch}    // 5;
	my $max_wait = $params{max_wait} // 0;
	my $source   = ids_of($batch, $params{generator});
	my $statement =
	  defined $params{table}
	  ? "INSERT INTO $params{table} (id) $source RETURNING id"
	  : $source;

	for my $n (1 .. $params{clients} // 4)
	{
		my $file = "$self->{dir}/client" . $self->{sessions}++;
		my $end  = $n % 2 ? 'COMMIT'    : 'ROLLBACK';
		my $fate = $n % 2 ? 'committed' : 'rolled back';
		$fate = 'done' unless defined $params{table};

		my $round =
		  "SET sno.max_wait = $max_wait; BEGIN; COPY ($statement) TO STDOUT; $end; \\echo $fate";
		my @rounds =
		  defined $params{rounds} ? ('|', [ 'head', '-n', $params{rounds} ]) : ();
		push @{ $clients->{files} }, $file;
		push @{ $clients->{runs} },
		  IPC::Run::start(
			[ 'yes', $round ],
			'2>',
			'/dev/null',
			@rounds,
			'|',
			[
				'psql',
				'-XqAt',
				'-v',
				'ON_ERROR_STOP=' . ($params{bear_errors} ? 0 : 1),
				"$connstr application_name=client"
			],
			'>',
			"$file.out",
			'2>',
			"$file.err");
	}
	return $clients;
}

# Wait until each of the clients has noted something more.
sub wait_for_notes
{
	my ($self, $clients) = @_;
	my %size = map { $_ => -s "$_.out" // 0 } @{ $clients->{files} };
	wait_until(
		'all clients have noted ids',
		sub {
			!grep { (-s "$_.out" // 0) < $size{$_} + 20_000 }
			  @{ $clients->{files} };
		});
	return;
}

# Wait until the clients have ended, and take their notes; returns how many
# there are, and what the clients complained of.
sub collect
{
	my ($self,  $clients) = @_;
	my ($noted, $errors)  = (0, '');

	# They got their ids in the phase that they were started in.
	local $self->{phase} = $clients->{phase};

	$_->finish foreach @{ $clients->{runs} };
	foreach my $file (@{ $clients->{files} })
	{
		my $ids = '';

		foreach my $line (split /^/, slurp_file("$file.out"))
		{
			if ($line =~ /^(committed|rolled back|done)$/)
			{
				$noted += $self->add($file, $ids, $1);
				$ids = '';
			}

			# The last line may have been cut short.
			elsif ($line =~ /\n$/)
			{
				$ids .= $line;
			}
		}
		$noted += $self->add($file, $ids);
		$errors .= slurp_file("$file.err");
	}
	return ($noted, $errors);
}

# End the clients by terminating their sessions, and take their notes.
sub stop_clients
{
	my ($self, $node, $clients) = @_;
	$node->safe_psql('postgres',
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'client'"
	);
	return $self->collect($clients);
}

# The oracle of named generators, whose phases and sessions share a partition.
sub check_unique
{
	my ($self, $what) = @_;
	my (%seen, $twice);

	foreach my $note (@{ $self->{notes} })
	{
		my ($unit, $tick_tock, $meta, $partition, $sequence) =
		  decode_id($note->[0]);
		$twice++ if $seen{"$partition/$unit/$tick_tock/$sequence"}++;
	}
	my $noted = @{ $self->{notes} };
	cmp_ok($noted, '>', 0, "$what: $noted ids were noted");
	is($twice // 0, 0, "$what: none was issued twice");
	return;
}

# The oracle.  Sessions may take turns in a unit where a clock that is stepped
# all the time comes back to it: $strobed.
sub check
{
	my ($self,  $what,     $strobed) = @_;
	my (%seen,  %span,     %turns,       %last);
	my ($twice, $overlaps, $interleaved, $descents) = (0, 0, 0, 0);

	foreach my $note (@{ $self->{notes} })
	{
		my ($id, $session, $phase) = @$note;
		my ($unit, $tick_tock, $meta, $partition, $sequence) = decode_id($id);
		my $timeline = "$partition/$unit/$tick_tock";

		if ($seen{"$timeline/$sequence"}++)
		{
			diag("$id ($timeline/$sequence) was issued twice") if !$twice++;
		}

		my $span = $span{$partition}{$phase} //= [ $unit, $unit ];
		$span->[0] = $unit if $unit < $span->[0];
		$span->[1] = $unit if $unit > $span->[1];

		my $range = $turns{$timeline}{$session} //= [ $sequence, $sequence ];
		$descents++ if $sequence < ($last{"$timeline/$session"} // 0);
		$last{"$timeline/$session"} = $sequence;
		$range->[0]                 = $sequence if $sequence < $range->[0];
		$range->[1]                 = $sequence if $sequence > $range->[1];
	}

	foreach my $partition (keys %span)
	{
		next if !overlapping(values %{ $span{$partition} });
		diag("phases share partition $partition") if !$overlaps++;
	}
	foreach my $timeline (keys %turns)
	{
		next if $strobed || !overlapping(values %{ $turns{$timeline} });
		diag("sessions share timeline $timeline") if !$interleaved++;
	}

	my $noted = @{ $self->{notes} };
	cmp_ok($noted, '>', 0, "$what: $noted ids were noted");
	is($twice,       0, "$what: none was issued twice");
	is($overlaps,    0, "$what: no two phases share a partition's time");
	is($interleaved, 0, "$what: no two sessions share a unit's timeline")
	  unless $strobed;
	is($descents, 0, "$what: each session's sequences ascend");
	return;
}

# Do any two of these [first, last] ranges overlap?
sub overlapping
{
	my @ranges = sort { $a->[0] <=> $b->[0] } @_;
	return
	  scalar grep { $ranges[ $_ - 1 ][1] >= $ranges[$_][0] } 1 .. $#ranges;
}

# Each acknowledged row is there, and none that was rolled back.
sub check_rows
{
	my ($self, $node, $dbname, $table) = @_;
	my $copy = join('',
		map    { "$_->[0]\t$_->[3]\n" }
		  grep { $_->[3] =~ /^(committed|rolled back)$/ }
		  @{ $self->{notes} });
	is( $node->safe_psql(
			$dbname, qq{
CREATE TEMP TABLE noted (id sno, fate text);
COPY noted FROM STDIN;
$copy\\.
SELECT sum((fate = 'committed' AND t.id IS NULL)::int) AS lost,
	sum((fate = 'rolled back' AND t.id IS NOT NULL)::int) AS risen
FROM noted LEFT JOIN $table AS t USING (id);}),
		'0|0',
		'each acknowledged row is there, and none that was rolled back');
	is( $node->safe_psql(
			$dbname, "SELECT count(*) - count(DISTINCT id) FROM $table"),
		0,
		'no two rows have the same id');
	return;
}

# All that was noted in this phase lies within leases that are on disk: to be
# called after a crash and a restart, before anything is generated.
sub check_leases
{
	my ($self, $node, $dbname, $what) = @_;
	my %until = map { split /\|/ } split /\n/,
	  $node->safe_psql($dbname,
			'SELECT partition, max('
		  . unit_of('greatest(tick_until, tock_until)')
		  . ') FROM sno_catalog.sno_lease GROUP BY partition');
	my ($noted, $outside) = (0, 0);

	foreach my $note (@{ $self->{notes} })
	{
		next if $note->[2] != $self->{phase};
		my ($unit, undef, undef, $partition) = decode_id($note->[0]);
		$noted++;
		$outside++ if $unit > ($until{$partition} // -1);
	}
	cmp_ok($noted, '>', 0, "$what: ids were noted");
	is($outside, 0, "$what: all of them lie within leases on disk");
	return;
}

1;
