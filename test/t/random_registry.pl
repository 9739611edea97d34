
# A simulation of servers that share a registry, driven by random numbers.  The
# registry is real: its function that answers at a given time, in a server.  The
# servers are simulated, and do what src/core/asker.c does:
#
# - Their clocks are skewed, and step by up to ten times the longest grant.
# - They crash, and go on from their files; a file is also set back to an old state.
# - They are copied, to other places with their files, and in place with their memory.
# - They are cut off.  Requests are lost or late, replies are lost.
# - The registry is restored from backups and promoted with loss, as a new timeline,
#   while the old primary lives on and serves.  It is restored to an old state on the
#   same timeline, and it is switched over without loss.  In the last two cases an
#   operator calls its functions.
#
# A server may issue in all units that it was ever granted.  No two servers may ever
# have a unit of a partition, or of a node, in common.
#
# A copy with memory is an exception.  It and its original may both issue what the
# original had been granted.  What either is granted later is its own, if no request
# was on its way when the copy was made, and if the original's file isn't set back to
# a state from before.  The simulation avoids these two.
#
# SIMULATION_SEED gives another seed, SIMULATION_STEPS another length.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use List::Util qw(min max first);
use TestHelpers;

my ($default_seed, $default_steps) = (1, 20000);
my $seed  = $ENV{SIMULATION_SEED}  // $default_seed;
my $steps = $ENV{SIMULATION_STEPS} // $default_steps;

# In units: the longest grant is an hour.
my $longest = 900_000;
my $epoch   = 100_000_000_000;

# The registry has 8 blocks of partitions in each of its parts, and 4 of nodes of a layout, whose
# numbers are others.
my $layout = '1288834974657/1/41/10/12';
my $create = qq{SELECT sno_registry_create(0, 63, 2, '1 hour'); SELECT sno_registry_add_layout('$layout', 100, 131, 2)};
my $save   = q{SELECT json_build_object(
	'settings', (SELECT json_agg(s) FROM sno_registry.settings AS s),
	'space', (SELECT json_agg(e) FROM sno_registry.space AS e),
	'holder', (SELECT coalesce(json_agg(h), '[]') FROM sno_registry.holder AS h),
	'block', (SELECT json_agg(b) FROM sno_registry.block AS b))};

#
# Each registry that is alive has a database.
#
my $node = new_node('registry');
$node->start;
my @sessions;
foreach my $n (0 .. 3)
{
	$node->safe_psql('postgres',   "CREATE DATABASE registry$n");
	$node->safe_psql("registry$n", 'CREATE EXTENSION sno_registry');
	push @sessions, open_session($node, "registry$n");
}

# All that a run of the simulation has
my ($run, $now, %count);

sub choose { return $_[ rand @_ ]; }
sub chance { return rand() < $_[0]; }

# Between minus and plus the given number
sub about { return int((rand(2) - 1) * $_[0]); }

sub random_number
{
	my $number = 1 + int(rand(2**31)) * 2**31 + int(rand(2**31));
	return chance(0.5) ? $number : -$number;
}

#
# Registries
#
sub query
{
	my ($registry, $query) = @_;
	return $sessions[ $registry->{slot} ]->query_safe($query);
}

sub registry_clock
{
	my ($registry) = @_;
	return $now + $registry->{skew};
}

sub back_up
{
	my ($registry) = @_;
	return {
		text      => query($registry, $save),
		at        => $now,
		timeline  => $registry->{timeline},
		timelines => $run->{timelines},
		calls     => $run->{calls} };
}

# Start a registry from a backup, or a new one.
sub start_registry
{
	my ($timeline, $backup) = @_;
	my %taken    = map { $_->{slot} => 1 } @{ $run->{registries} };
	my $registry = {
		slot     => (first { !$taken{$_} } 0 .. $#sessions),
		timeline => $timeline,
		until    => 9e15,
		vouch_at => 9e15,
		skew     => about($longest / 100) };
	query($registry,
		'TRUNCATE sno_registry.settings, sno_registry.space, sno_registry.holder, sno_registry.block'
	);
	if ($backup)
	{
		query(
			$registry,
			join "\n",
			map {
				"INSERT INTO sno_registry.$_ SELECT * FROM json_populate_recordset(NULL::sno_registry.$_, '$backup->{text}'::json->'$_');"
			} 'settings', 'space',
			'holder',
			'block');
	}
	else
	{
		query($registry,
			"$create; UPDATE sno_registry.settings SET home = 'home', timeline = $timeline"
		);
	}
	push @{ $run->{registries} }, $registry;
	return $registry;
}

sub lose
{
	my ($registry, $times) = @_;
	query($registry,
		'SELECT sno_registry.lose(1, ' . registry_clock($registry) . ')')
	  for 1 .. $times;
	return;
}

# The newest registry is the last one.  The others are old primaries.
sub newest { return $run->{registries}[-1]; }

# The primary fails, or may live on for a while.
sub leave_primary
{
	my ($may_live) = @_;
	my $old = newest();
	$old->{vouch_at} = 9e15;
	my $lives =
	  $may_live && @{ $run->{registries} } < @sessions && chance(0.7);
	$old->{until} = $lives ? $now + rand($longest / 2) : 0;
	bury();
	$run->{lost_at} = $now;
	return;
}

# Old primaries end, and their databases become free.
sub bury
{
	$run->{registries} =
	  [ grep { $_->{until} > $now } @{ $run->{registries} } ];
	return;
}

# A standby is promoted that lacks the last grants, or a backup is restored to an
# earlier point.
sub fork_registry
{
	my ($backup) = @_;
	leave_primary(1);
	my $registry = start_registry(++$run->{timelines}, $backup);
	if ($run->{mutant} eq 'loss ignored')
	{
		query($registry,
			"UPDATE sno_registry.settings SET timeline = $registry->{timeline}"
		);
	}
	elsif ($run->{mutant} eq 'timelines passed ignored')
	{
		query($registry,
			"UPDATE sno_registry.settings SET timeline = $registry->{timeline} - 1"
		);
	}
	# What operators did since then is forgotten, too.
	lose($registry, $run->{calls} - $backup->{calls});
	return;
}

# A snapshot of the disk is restored.  The timeline doesn't tell that.
sub restore_snapshot
{
	my ($backup) = @_;
	leave_primary(0);
	my $registry = start_registry($backup->{timeline}, $backup);
	lose($registry,
		1 + $run->{calls} -
		  $backup->{calls} +
		  $run->{timelines} -
		  $backup->{timelines});
	$run->{calls}++;
	return;
}

# A new timeline, without loss.  The operator vouches for it at once or later, if no
# old primary is alive, and all that was lost earlier is over.
sub switch_over
{
	return 0
	  if @{ $run->{registries} } > 1
	  || $now - $run->{lost_at} < 2.5 * $longest;
	my $backup = back_up(newest());
	$run->{registries} = [];
	my $registry = start_registry(++$run->{timelines}, $backup);
	$registry->{vouch_at} = $now + choose(0, rand($longest));
	return 1;
}

sub vouch
{
	my ($registry) = @_;
	query($registry,
			"SELECT sno_registry.trust($registry->{timeline}, "
		  . registry_clock($registry)
		  . ')');
	$registry->{vouch_at} = 9e15;
	$run->{calls}++;
	$count{vouch}++;
	return;
}

# The answer to a request: its status and blocks, each [first, floor, ceiling]
sub answer
{
	my ($registry, $request) = @_;
	my ($status, @blocks);
	foreach my $row (
		split /\n/,
		query(
			$registry,
			sprintf(
				q{SELECT status, first, floor, ceiling FROM sno_registry.answer(%d, %d, %d, 'n', %d, %d, %d, '%s', %d, %d, 'home')},
				@$request, registry_clock($registry),
				$registry->{timeline})))
	{
		my @row = split /\|/, $row, -1;
		$status = shift @row;
		push @blocks, \@row if $row[0] ne '';
	}
	$count{$status}++;
	return ($status, \@blocks);
}

#
# Servers
#
sub new_server
{
	my (%file) = @_;
	my $server = {
		id       => ++$run->{ids},
		place    => ++$run->{places},
		skew     => about($longest / 20),
		want     => choose(1, 1, 2),
		layout   => $run->{ids} % 3 ? '' : $layout,
		cut      => 0,
		due      => 0,
		versions => [],
		file     => \%file };
	push @{ $run->{servers} }, $server;
	start_server($server);
	return $server;
}

# The file is durable at once.
sub write_file
{
	my ($server, %asker) = @_;
	push @{ $server->{versions} }, $server->{file};
	shift @{ $server->{versions} } if @{ $server->{versions} } > 20;
	$server->{file} = { %asker, place => $server->{place} };
	return;
}

# A server goes on from its file, unless that is of another place.
sub start_server
{
	my ($server) = @_;
	my $file = $server->{file};
	write_file($server, holder => 0, token => 0, next => 0, granted => [])
	  if ($file->{place} // 0) != $server->{place};
	publish($server);
	return;
}

# What was granted comes into force.  Check that no other server was granted it.
sub publish
{
	my ($server) = @_;
	$server->{memory} = $server->{file}{granted};
	foreach my $grant (@{ $server->{memory} })
	{
		my ($first, $floor, $ceiling) = @$grant;
		$floor = 0 if $run->{mutant} eq 'floor ignored';
		my $noted = $run->{noted}{$first} //= [];
		my $own;
		foreach my $note (@$noted)
		{
			if ($note->{id} == $server->{id})
			{
				$own = $note if $note->{floor} == $floor;
				next;
			}
			my $from = max($floor, $note->{floor});
			my $to   = min($ceiling, $note->{ceiling});
			next if $from >= $to;
			next
			  if
			  grep { $_->[0] == $first && $_->[1] <= $from && $to <= $_->[2] }
			  @{ $run->{common}{ pair($server->{id}, $note->{id}) } // [] };
			push @{ $run->{twice} },
			  "partition or node $first, units $from to $to: servers $note->{id} and $server->{id}";
		}
		if ($own)
		{
			$own->{ceiling} = max($own->{ceiling}, $ceiling);
		}
		else
		{
			push @$noted,
			  { id => $server->{id}, floor => $floor, ceiling => $ceiling };
		}
	}
	return;
}

sub pair
{
	return join ' ', sort { $a <=> $b } @_;
}

sub renew
{
	my ($server) = @_;
	$server->{due} = $now + $longest / 20 + rand($longest / 10);
	if ($server->{cut} > $now)
	{
		$count{'cut off'}++;
		return;
	}

	# As a holder that was forgotten or superseded, it asks again at once.
	for (1 .. 3)
	{
		# sno_asker_prepare()
		my %asker = %{ $server->{file} };
		if (!$asker{next})
		{
			$asker{holder} ||= random_number();
			$asker{next} = random_number();
			write_file($server, %asker);
		}

		my $clock   = max(0, $now + $server->{skew});
		my @request = (
			@asker{ 'holder', 'token', 'next' }, $clock,
			$clock + int(0.96 * $longest),       @$server{ 'want', 'layout' });
		my $registry = choose(@{ $run->{registries} });
		my $luck     = rand();
		if ($luck < 0.05)
		{
			$count{'request lost'}++;
			return;
		}
		if ($luck < 0.1)
		{
			$count{'request late'}++;
			push @{ $run->{late} }, \@request;
			return;
		}
		my ($status, $blocks) = answer($registry, \@request);
		if ($luck < 0.2)
		{
			$count{'reply lost'}++;
			return;
		}

		# sno_asker_take()
		if ($status eq 'granted' || $status eq 'full')
		{
			$asker{token}   = $asker{next};
			$asker{next}    = 0;
			$asker{granted} = $blocks if @$blocks;
		}
		else
		{
			@asker{ 'holder', 'token', 'next' } = (0, 0, 0);
			$asker{granted} = [] if $status eq 'superseded';
		}
		write_file($server, %asker);
		if (chance(0.02))
		{
			$count{'crash before publication'}++;
			start_server($server);
			return;
		}
		publish($server);
		return if $status eq 'granted' || $status eq 'full';
	}
	return;
}

# A copy of a server beside its original, in the same place: only a machine copied
# with its memory has that.
sub copy_with_memory
{
	my ($server) = @_;
	return 0 if $server->{file}{next};
	my $copy = { %$server, id => ++$run->{ids}, versions => [] };
	$server->{versions} = [];

	# What the original has in common with others, the copy has, too.
	foreach my $other (1 .. $run->{ids} - 1)
	{
		my $common = $run->{common}{ pair($server->{id}, $other) };
		$run->{common}{ pair($copy->{id}, $other) } = [@$common]
		  if $common && $other != $server->{id};
	}
	$run->{common}{ pair($copy->{id}, $server->{id}) } =
	  [ @{ $server->{memory} }, @{ $server->{file}{granted} } ];
	push @{ $run->{servers} }, $copy;
	publish($copy);
	return 1;
}

#
# Events, each a sub that returns whether it happened, with its weight
#
sub some_server { return choose(@{ $run->{servers} }); }

sub some_backup
{
	my ($age) = @_;
	return choose(grep { $_->{at} >= $now - $age } @{ $run->{backups} });
}

my @events = (
	[ 'restart', 30, sub { start_server(some_server()); return 1; } ],
	[   'new server',
		20,
		sub {
			return 0 if @{ $run->{servers} } > 7;
			new_server();
			return 1;
		}
	],
	[   'server ends',
		15,
		sub {
			return 0 if @{ $run->{servers} } < 4;
			splice @{ $run->{servers} }, rand @{ $run->{servers} }, 1;
			return 1;
		}
	],
	[   'copy with its file',
		15,
		sub {
			return 0 if @{ $run->{servers} } > 7;
			new_server(%{ some_server()->{file} });
			return 1;
		}
	],
	[   'copy with its memory',
		10,
		sub {
			return @{ $run->{servers} } <= 7
			  && copy_with_memory(some_server());
		}
	],
	[   'file set back',
		10,
		sub {
			my $server = some_server();
			return 0 unless @{ $server->{versions} };
			$server->{file} = choose(@{ $server->{versions} });
			start_server($server);
			return 1;
		}
	],
	[   'cut', 15,
		sub {
			some_server()->{cut} = $now + rand(2 * $longest);
			return 1;
		}
	],
	[   'clock steps',
		15,
		sub {
			some_server()->{skew} =
			  about(choose($longest / 20, $longest, 10 * $longest));
			return 1;
		}
	],
	[   'registry\'s clock steps',
		5, sub { newest()->{skew} = about($longest / 100); return 1; } ],
	[   'promotion with loss',
		1.5,
		sub {
			my $backup = some_backup($longest / 10) or return 0;
			fork_registry($backup);
			return 1;
		}
	],
	[   'earlier point',
		0.7,
		sub {
			my $backup = some_backup(3 * $longest) or return 0;
			fork_registry($backup);
			return 1;
		}
	],
	[   'snapshot',
		0.5,
		sub {
			my $backup = some_backup($longest) or return 0;
			restore_snapshot($backup);
			return 1;
		}
	],
	[ 'switchover', 3, \&switch_over ]);
my $weights = 0;
$weights += $_->[1] foreach @events;

# Run it; returns what was granted twice.
sub simulate
{
	my ($seed, $steps, $mutant) = @_;
	srand($seed);
	%count = ();
	$now   = $epoch;
	$run   = {
		mutant     => $mutant,
		timelines  => 1,
		calls      => 0,
		lost_at    => 0,
		registries => [],
		servers    => [],
		backups    => [],
		late       => [],
		twice      => [] };
	start_registry(1);
	new_server() for 1 .. 4;

	for (1 .. $steps)
	{
		$now += int(rand($longest / 100));
		bury();
		vouch(newest()) if newest()->{vouch_at} <= $now;

		# Most of the steps are renewals.
		my @due = grep { $_->{due} <= $now } @{ $run->{servers} };
		renew($_) foreach @due;

		if (@{ $run->{late} } && chance(0.1))
		{
			answer(choose(@{ $run->{registries} }), shift @{ $run->{late} });
		}
		if (chance(0.2))
		{
			push @{ $run->{backups} }, back_up(newest());
			shift @{ $run->{backups} } if @{ $run->{backups} } > 150;
		}
		if (chance(0.15))
		{
			my $n     = rand($weights);
			my $event = first { ($n -= $_->[1]) < 0 } @events;
			$count{ $event->[0] }++ if $event->[2]->();
		}
		last if $mutant && @{ $run->{twice} };
	}
	return @{ $run->{twice} };
}

note("seed $seed");
my @twice = simulate($seed, $steps, '');
note(sprintf '%s: %d', $_, $count{$_}) foreach sort keys %count;
note(sprintf '%.1f times the longest grant', ($now - $epoch) / $longest);
is_deeply(\@twice, [], "seed $seed: no two servers may ever issue the same");
foreach my $event (
	(map { $_->[0] } @events),
	'vouch',
	'granted',
	'full',
	'forgotten',
	'superseded',
	'cut off',
	'request lost',
	'request late',
	'reply lost',
	'crash before publication')
{
	cmp_ok($count{$event} // 0, '>', 0, "it happened: $event");
}

# The check sees it if the protocol is wrong.
foreach
  my $mutant ('floor ignored', 'loss ignored', 'timelines passed ignored')
{
	@twice = simulate($default_seed, $default_steps, $mutant);
	isnt(scalar @twice, 0, "$mutant: two servers may issue the same");
	note($_) foreach @twice;
}

close_session($_) foreach @sessions;
$node->stop;
done_testing();
