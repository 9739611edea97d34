
# Generators of ids of other systems, of each layout.  They go on at once and on the
# same node after a crash, a clean restart, a step back of the clock and a promotion.
# No id is issued twice, and times are those of the clock.
#
# The clock stands still most of the time.  So all that happens does so within a unit of
# each layout, and nothing but the generators keeps ids apart.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use List::Util qw(uniq);
use POSIX      qw(strftime);
use TestHelpers;

my $clock = FakeClock->new;

# Ids of each layout that are issued at a time.  Sonyflake has 128 in a unit.
my $count = 40;

# What may be left out by a generator that counts: after a crash, and by another server.
my $lost   = 3 * 2**17;
my $unseen = 2**32;

# 2026-11-21 10:22:18.284 UTC, in ms.  A unit of 4 ms begins.
my $noon = 1795256538284;

# Leases are longer than the test.
my $node = new_node('main', allows_streaming => 1, conf => q{
restart_after_crash = on
autovacuum = off
max_connections = 30
sno.lease_duration = 1h
});
set_clock($noon);
$clock->start_server($node);

# Make a database with a generator of each layout, all of node 0.  A copy made with TEMPLATE would have
# generators of another database, which begin as after a crash.
sub make_database
{
	my ($dbname) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $dbname");
	$node->safe_psql(
		$dbname, q{
CREATE EXTENSION sno;
CREATE EXTENSION sno_flakes;
SELECT sno_flake_create_layout('pgedge', '2023-01-01Z', 1, 41, 10, 12, true),
	sno_flake_create_layout('odd', '2020-01-01 00:00:00.001Z', 5, 40, 10, 12);
SELECT sno_flake_create_generator(name, name, 0) FROM sno_catalog.sno_flake_layout});
	return;
}
make_database('flakes');

my %layouts = map {
	my ($name, %layout) = split /\|/;
	($name => \%layout)
} split /\n/, $node->safe_psql(
	'flakes', q{
SELECT name, 'epoch', floor(extract(epoch FROM coalesce(epoch, 'epoch')) * 1000), 'unit', unit, 'time_bits', time_bits,
	'node_bits', node_bits, 'sequence_bits', sequence_bits, 'node_last', node_last::integer, 'bits', bits,
	'function', CASE WHEN bits <= 64 THEN 'sno_flake_generate' WHEN bits = 128 THEN 'sno_flake_generate_uuid' ELSE 'sno_flake_generate_bytea' END
FROM sno_catalog.sno_flake_layout, LATERAL (SELECT time_bits + node_bits + sequence_bits AS bits) AS b}
);
my @all      = sort keys %layouts;
my @counters = grep { !$layouts{$_}{unit} } @all;
my @timed    = grep { $layouts{$_}{unit} } @all;
my @seconds  = grep { $layouts{$_}{unit} == 1000 } @all;
my @shorter  = grep { $layouts{$_}{unit} < 1000 } @timed;
my @few      = qw(snowflake sonyflake json4 boundary);
is(scalar @all, 20, 'there are 20 layouts');

# Stop the clock at a time, in ms since 1970, and half a ms.
sub set_clock
{
	my ($msec) = @_;
	$clock->stop_at(strftime('%Y-%m-%d %H:%M:%S', gmtime($msec / 1000))
		  . sprintf('.%03d5', $msec % 1000));
	return;
}

# The parts of an id, and its time in ms since 1970.
sub decode
{
	my ($name, $id) = @_;
	my $layout = $layouts{$name};
	my $digits =
	  $id =~ /^-?\d+$/ && $layout->{bits} <= 64
	  ? sprintf('%064b', $id)
	  : unpack('B*', pack('H*', $id =~ s/^\\x|-//gr));
	my ($time_bits, $node_bits, $sequence_bits) =
	  @{$layout}{qw(time_bits node_bits sequence_bits)};
	my @bits =
	  $layout->{node_last}
	  ? ($time_bits, $sequence_bits, $node_bits)
	  : ($time_bits, $node_bits, $sequence_bits);
	my ($time, $middle, $end) =
	  map { $_ eq '' ? 0 : oct "0b$_" } unpack join('', map { "a$_" } @bits),
	  substr($digits, -$layout->{bits});
	my ($node_part, $sequence) =
	  $layout->{node_last} ? ($end, $middle) : ($middle, $end);
	return {
		time     => $time,
		msec     => $layout->{epoch} + $time * $layout->{unit},
		node     => $node_part,
		sequence => $sequence,
		side     => $sequence_bits ? $sequence >> ($sequence_bits - 1) : 0
	};
}

# The ids of the present scenario, and those of them that came twice.
my ($scenario, %seen, @twice);

# Begin a scenario, in a database of its own.  Returns its name.
sub begin
{
	($scenario) = @_;
	%seen  = ();
	@twice = ();
	(my $dbname = $scenario) =~ tr/a-z0-9/_/c;
	make_database($dbname);
	return $dbname;
}

sub end
{
	is("@twice", '', "$scenario: no id was issued twice");
	return;
}

# A session that doesn't wait, but for two units.
sub session
{
	my ($dbname, $server) = @_;
	return open_session($server // $node, $dbname, 'sno.max_wait = 0');
}

# Issue and note ids of some layouts; returns them by layout.
sub generate
{
	my ($session, $n, @names) = @_;
	my %ids;
	foreach (
		split /\n/,
		$session->query_safe(
			join ';',
			map {
				"SELECT '$_', $layouts{$_}{function}('$_') FROM generate_series(1, $n)"
			} @names))
	{
		my ($name, $id) = split /\|/;
		push @{ $ids{$name} }, $id;
		push @twice,           "$name: $id" if $seen{$name}{$id}++;
	}
	is( join(' ', map { scalar @{ $ids{$_} } } sort keys %ids),
		join(' ', ($n) x @names),
		"$scenario: ids of all layouts");
	return \%ids;
}

# The layouts of whose ids one is not on this side, and not of this time, but for a
# burst.
sub strays
{
	my ($ids, $side, $msec) = @_;
	return join ' ', grep {
		my ($name, $unit) = ($_, $layouts{$_}{unit});
		my $ahead = $unit < 4 ? 3 : 0;
		$unit && grep {
			my $id = decode($name, $_);
				 $id->{side} != $side
			  || $id->{msec} > $msec + $ahead
			  || $id->{msec} + $unit <= $msec
			  || $id->{node}
		} @{ $ids->{$name} };
	} sort keys %$ids;
}

# How many numbers were left out between the last one of some ids and the first one of
# others.
sub gap
{
	my ($name, $before, $after) = @_;
	my $step = 1 << $layouts{$name}{node_bits};
	return ($after->{$name}[0] - $before->{$name}[-1]) / $step - 1;
}

# A successor goes on at once on the other side, and leaves out enough numbers of counters.
sub goes_on_as_successor
{
	my ($before, $after) = @_;
	is(strays($after, 1, $noon),
		'', "$scenario: at once, on the other side, times of the clock");
	foreach (@counters)
	{
		my $gap = gap($_, $before, $after);
		cmp_ok(abs($gap - $unseen),
			'<=', 2 * $lost, "$scenario: $_ leaves out $gap numbers");
	}
	return;
}

# The layouts that refuse to issue an id because the clock is behind.
sub refusing
{
	my ($session, @names) = @_;
	return join ' ', grep {
		error_of($session, "SELECT $layouts{$_}{function}('$_')") =~
		  /^ERROR:  53400: .*behind the ids that the generator issued/s
	} @names;
}

# End a server under a session, and bring it up again.
sub crash_and_return
{
	my ($crash, $session) = @_;
	if ($crash =~ /session/)
	{
		crash_and_recover($node, sub { kill 'KILL', $session->{pid} });
	}
	elsif ($crash =~ /postmaster/)
	{
		kill_postmaster($node);
		$clock->start_server($node);
	}
	else
	{
		$node->stop('immediate');
		$clock->start_server($node);
	}
	drop_session($session);
	return;
}

# Each theme has a database of its own, and all but the tickets have this server.  The
# last crash leaves it with wal_level replica, because the promotion needs that.  Up to
# the exhausted units, each theme begins and ends with the clock at noon.

foreach (
	[ minimal => 'kill -9 of a session' ],
	[ logical => 'immediate shutdown' ],
	[ replica => 'kill -9 of the postmaster' ])
{
	my ($level, $crash) = @$_;

	subtest "$crash, wal_level $level" => sub {
		my $sure = $crash !~ /postmaster/;

		$node->append_conf('postgresql.conf',
			"wal_level = $level\nmax_wal_senders = "
			  . ($level eq 'minimal' ? 0 : 5));
		$node->stop;
		$clock->start_server($node);
		my $dbname = begin("$crash, wal_level $level");
		my ($session, $before, $after);

		for my $round (0, 1)
		{
			$session = session($dbname);
			$after   = generate($session, $count, @all);

			# A session that notices the end of the postmaster may write the exact
			# state.
			is(strays($after, $round, $noon),
				'',
				"$scenario $round: at once, on one side, times of the clock")
			  if $sure;
			foreach ($round ? @counters : ())
			{
				my $gap = gap($_, $before, $after);
				ok($gap >= 0 && $gap <= $lost,
					"$scenario: $_ leaves out $gap numbers");
			}
			$before = $after;
			crash_and_return($crash, $session);
		}

		# The third life within a lease
		$session = session($dbname);
		if ($sure)
		{
			is( refusing($session, @few),
				"@few",
				"$scenario: after a second crash within a lease, generators wait"
			);
			generate($session, $count, @counters);
		}
		close_session($session);
		end();
	};
}

subtest 'clean restarts' => sub {
	my $dbname  = begin('clean restart');
	my $session = session($dbname);
	my $before  = generate($session, $count, @all);

	close_session($session);
	$node->stop;
	$clock->start_server($node);
	$session = session($dbname);
	my $after = generate($session, 10, @all);
	is(strays($after, 0, $noon),
		'', "$scenario: at once, on the same side, times of the clock");
	foreach my $step (1 .. 4)
	{
		set_clock($noon + $step);
		is(strays(generate($session, 10, @timed), 0, $noon + $step),
			'', "$scenario, $step ms later: times of the clock");
	}
	set_clock($noon);
	is(gap($_, $before, $after), 0, "$scenario: $_ leaves out no number")
	  foreach (@counters);
	close_session($session);
	end();
};

# Back within a ms; by half a second, within a second; forward by two seconds; back by one
subtest 'steps of the clock' => sub {
	my $dbname  = begin('steps of the clock');
	my $session = session($dbname);

	set_clock($noon + 500);
	my $before = generate($session, $count, @all);
	is(strays($before, 0, $noon + 500), '', "$scenario: times of the clock");
	foreach (
		[ -100 => 1, 0 ],
		[ 1500 => 1, 0 ],
		[ 600  => 0, 1 ],
		[ 2500 => 0, 1 ])
	{
		my ($step, $short_side, $long_side) = @$_;

		set_clock($noon + $step);
		my $after = generate($session, $count, @all);
		my %short = map { $_ => $after->{$_} } @shorter;
		my %long  = map { $_ => $after->{$_} } @seconds;
		is( strays(\%short, $short_side, $noon + $step),
			'',
			"$scenario, at $step ms: side $short_side of short units, times of the clock"
		);
		is( strays(\%long, $long_side, $noon + $step),
			'',
			"$scenario, at $step ms: side $long_side of seconds, times of the clock"
		);
		is(gap($_, $before, $after),
			0, "$scenario, at $step ms: $_ leaves out no number")
		  foreach (@counters);
		$before = $after;
	}
	set_clock($noon + 200);
	is(refusing($session, @few),
		"@few", "$scenario: back again, generators wait");
	generate($session, $count, @counters);
	close_session($session);
	end();
	set_clock($noon);
};

subtest 'a standby is promoted, and its primary goes on' => sub {
	my $dbname  = begin('promotion');
	my $session = session($dbname);
	my $before  = generate($session, $count, @all);

	$node->backup('backup');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'backup', has_streaming => 1);
	$clock->start_server($standby);
	my $reader = session($dbname, $standby);
	foreach (
		"sno_flake_generate('snowflake')",
		"sno_flake_generate('counter')",
		"sno_flake_generate_uuid('boundary')",
		"sno_flake_generate_bytea('objectid')",
		"sno_flake_advance('counter', 5)",
		"sno_flake_create_generator('x', 'snowflake')")
	{
		like(
			error_of($reader, "SELECT $_"),
			qr/^ERROR:  25006:/,
			"$scenario: a standby refuses $_");
	}
	close_session($reader);

	# The standby doesn't see the next ids.  It gets only what was flushed.  While the clock
	# stands still, the WAL writer doesn't flush the commits of notifications.
	$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
	$standby->stop;
	$before = generate($session, $count, @all);
	$clock->start_server($standby);
	$standby->promote;
	$reader = session($dbname, $standby);
	my $after = generate($reader, $count, @all);
	goes_on_as_successor($before, $after);
	my $more = generate($session, $count, @all);
	is(strays($more, 0, $noon),
		'', "$scenario: the primary goes on, on the same side");
	is(gap($_, $before, $more),
		0, "$scenario: on the primary, $_ leaves out no number")
	  foreach (@counters);
	close_session($_) foreach ($session, $reader);
	$standby->stop;
	end();
};

# It is restored as another database.
subtest 'a dump is restored, and the original goes on' => sub {
	my $dbname   = begin('dump');
	my $session  = session($dbname);
	my $dump     = PostgreSQL::Test::Utils::tempdir('dump') . '/dump.sql';
	my $before   = generate($session, $count, @all);
	my $restored = "${dbname}_restored";

	$node->command_ok(
		[ 'pg_dump', '--create', '-f', $dump, $node->connstr($dbname) ],
		'a database is dumped that is in use');
	my $text = slurp_file($dump) =~ s/\b$dbname\b/$restored/gr;
	unlink $dump;
	append_to_file($dump, $text);
	$before = generate($session, $count, @all);
	restore_dump($node, $dump, 'the dump is restored');
	my $copy  = session($restored);
	my $after = generate($copy, $count, @all);
	goes_on_as_successor($before, $after);
	$after = generate($session, $count / 2, @all);
	is(strays($after, 0, $noon), '', "$scenario: the original goes on");
	close_session($_) foreach ($session, $copy);
	end();
};

# With the same node, and with more
subtest 'dropped, and created anew' => sub {
	my $dbname  = begin('drop');
	my $session = session($dbname);
	my $before  = generate($session, $count, @all);

	$session->query_safe(
		"SELECT sno_flake_drop_generator('$_'), sno_flake_create_generator('$_', '$_', 0)")
	  foreach (@all);
	my $after = generate($session, $count, @all);
	is(strays($after, 0, $noon), '', "$scenario: on the same side");
	is(gap($_, $before, $after), 0,  "$scenario: $_ leaves out no number")
	  foreach (@counters);

	# A generator with other nodes begins with the next unit.
	$session->query_safe(
		"SELECT sno_flake_drop_generator('snowflake'), sno_flake_create_generator('snowflake', 'snowflake', 0, 2)"
	);
	like(
		error_of($session, q{SELECT sno_flake_generate('snowflake')}),
		qr/^ERROR:  53400: .*It issues at most 16384 ids per 4 ms/s,
		"$scenario: with more nodes, the unit is exhausted");
	set_clock($noon + 4);
	generate($session, $count, 'snowflake');
	close_session($session);
	end();
	set_clock($noon);
};

# If others are free, nodes are chosen in which no lease lasts.
subtest 'nodes that are chosen' => sub {
	my $dbname = begin('chosen');
	my @chosen = qw(snowflake sonyflake boundary);

	# The nodes of all layouts, each of them the same in all ids of a layout
	my $nodes_of = sub {
		my ($session, @names) = @_;
		my $ids = generate($session, $count, @names);
		my %nodes;
		$nodes{"$_ " . decode($_, $ids->{$_}[0])->{node}} = 1 foreach @names;
		is(scalar(
				grep {
					my $name = $_;
					grep { !$nodes{"$name " . decode($name, $_)->{node}} }
					  @{ $ids->{$name} }
				} @names),
			0,
			"$scenario: a node of each layout");
		return join ', ', sort keys %nodes;
	};
	my $have_in_common = sub {
		my ($a, $b) = @_;
		my %in_a = map { $_ => 1 } split /, /, $a;
		return join ', ', grep { $in_a{$_} } split /, /, $b;
	};

	my $session = session($dbname);
	$session->query_safe(
		"SELECT sno_flake_drop_generator('$_'), sno_flake_create_generator('$_', '$_')")
	  foreach (@chosen, 'simpleflake');
	my $first = $nodes_of->($session, @chosen);
	my $other = session($dbname);
	is($nodes_of->($other, @chosen), $first, "$scenario: all sessions have them");
	close_session($other);

	close_session($session);
	$node->stop;
	$clock->start_server($node);
	set_clock($noon + 1000);
	$session = session($dbname);
	is($nodes_of->($session, @chosen), $first, "$scenario: the same after a clean restart");

	# A lease isn't over.
	generate($session, 1, 'simpleflake');
	crash_and_return('immediate shutdown', $session);
	$session = session($dbname);
	my $second = $nodes_of->($session, @chosen);
	is($have_in_common->($first, $second), '', "$scenario: others after a crash");
	my $single = generate($session, 1, 'simpleflake')->{simpleflake}[0];
	is(decode('simpleflake', $single)->{side}, 1, "$scenario: the only one, on the other side");

	# Another server
	$node->backup('chosen');
	my $standby = PostgreSQL::Test::Cluster->new('choosing');
	$standby->init_from_backup($node, 'chosen', has_streaming => 1);
	$clock->start_server($standby);
	$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
	$standby->promote;
	$other = session($dbname, $standby);
	my $third = $nodes_of->($other, @chosen);
	is($have_in_common->("$first, $second", $third), '', "$scenario: others after a promotion");
	is($nodes_of->($session, @chosen), $second, "$scenario: the primary goes on");
	close_session($other);

	# A copy that doesn't know that it is one, and then does
	$standby->stop;
	my $copy = PostgreSQL::Test::Cluster->new('copy');
	$copy->init_from_backup($node, 'chosen');
	$clock->start_server($copy);
	$other = session($dbname, $copy);
	$other->query_safe('SELECT sno_reseed()');
	my $fourth = $nodes_of->($other, @chosen);
	is($have_in_common->("$first, $second", $fourth), '', "$scenario: others after sno_reseed()");
	close_session($_) foreach ($session, $other);
	$copy->stop;
	end();
	set_clock($noon);
};

# From here on the clock goes on, for the next two themes, too.
subtest 'units are exhausted' => sub {
	my $dbname  = begin('burst');
	my $session = session($dbname);

	# The original wraps after 1,024 ids of a ms.
	my $ids = generate($session, 2000, 'instagram');
	is( join(
			' ',
			uniq(
				map { decode('instagram', $_)->{msec} - $noon }
				  @{ $ids->{instagram} })),
		'0 1 2 3',
		"$scenario: 2000 ids of a ms have times up to 3 ms ahead");
	$session->query_safe(
		q{SELECT sno_flake_generate('instagram') FROM generate_series(1, 48)});
	like(
		error_of($session, q{SELECT sno_flake_generate('instagram')}),
		qr/^ERROR:  53400: generator "instagram" could not issue an id within 8 ms
DETAIL:  It issues at most 2048 ids per 4 ms, to all sessions together\.
HINT:  Raise "sno\.max_wait", or create a generator with more nodes\./,
		"$scenario: then they are exhausted");
	is( error_of(
			$session,
			q{SELECT count(sno_flake_generate('json8')) FROM generate_series(1, 16384)}
		),
		'',
		"$scenario: 16384 ids of a second");
	like(
		error_of($session, q{SELECT sno_flake_generate('json8')}),
		qr/^ERROR:  53400: generator "json8" could not issue an id within 2000 ms
DETAIL:  It issues at most 16384 ids per 1000 ms/,
		"$scenario: without sno.max_wait, a generator waits for two units");

	# The clock goes on.  Three units of json8 are needed.
	$clock->set_offset(0);
	is( $session->query_safe(
			q{SELECT count(DISTINCT id) FROM (SELECT sno_flake_generate('json8') AS id FROM generate_series(1, 40000)) AS s}
		),
		40_000,
		"$scenario: 40000 ids without sno.max_wait");
	$session->query_safe(
		q{RESET sno.max_wait; CREATE TABLE t (id bigint PRIMARY KEY DEFAULT sno_flake_generate('snowflake'), n integer)}
	);
	$session->query_safe(
		q{INSERT INTO t (n) SELECT generate_series(1, 1000000)});
	is( $session->query_safe(
			q{SELECT count(*), max(per_ms) <= 2048, bool_and(ascend) FROM
			(SELECT id, count(*) OVER (PARTITION BY id >> 22) AS per_ms, n > coalesce(lag(n) OVER (ORDER BY id), 0) AS ascend FROM t) AS s}
		),
		'1000000|t|t',
		"$scenario: 10^6 rows of one INSERT ascend, at most 2048 of a ms");
	close_session($session);
	end();
};

subtest 'numbers as defaults of keys, beside identity' => sub {
	my $dbname  = begin('numbers');
	my $session = session($dbname);

	$session->query_safe(
		q{CREATE TABLE t (a bigint GENERATED ALWAYS AS IDENTITY, b bigint PRIMARY KEY DEFAULT sno_flake_generate('counter'), n integer)}
	);
	$session->query_safe(
		q{INSERT INTO t (n) SELECT generate_series(1, 300000)});
	is( $session->query_safe(
			'SELECT count(*), min(b), max(b), bool_and(a = b) FROM t'),
		'300000|1|300000|t',
		"$scenario: a bulk load has the numbers that identity has");
	close_session($session);
	$node->stop;
	$clock->start_server($node);
	$session = session($dbname);
	$session->query_safe(q{INSERT INTO t (n) VALUES (1), (2)});
	is($session->query_safe('SELECT max(b) FROM t'),
		300_002, "$scenario: a clean restart leaves none out");
	close_session($session);
};

subtest 'locks on the tables' => sub {
	my $dbname  = begin('locks');
	my $session = session($dbname);
	my $locker  = session($dbname);

	generate($session, $count, @all);
	my $other = session($dbname);

	# A statement that is under way knows its generator.
	$session->query_safe(
		q{BEGIN; DECLARE c CURSOR FOR SELECT sno_flake_generate('pgedge') FROM generate_series(1, 100); FETCH 1 FROM c}
	);
	$locker->query_safe(
		'BEGIN; LOCK sno_catalog.sno_lease, sno_catalog.sno_flake_layout');
	generate($session, $count, @all);
	like(
		error_of(
			$other,
			q{SET sno.max_wait = 50; SELECT sno_flake_generate('snowflake'); SET sno.max_wait = 0}
		),
		qr/^ERROR:  55P03: could not lock table "sno_flake_layout" of extension "sno_flakes" within 50 ms/,
		"$scenario: a session that knows no layouts is refused");
	$locker->query_safe('LOCK sno_catalog.sno_flake_generator IN EXCLUSIVE MODE');
	generate($session, $count, @all);
	$locker->query_safe('ROLLBACK; BEGIN; LOCK sno_catalog.sno_flake_generator');
	is(error_of($session, 'FETCH 10 FROM c; COMMIT'),
		'', "$scenario: a statement goes on");
	is(error_of($session, "SELECT sno_flake_generate('snowflake')"),
		'', "$scenario: a session that knows the generator goes on, too");
	like(
		error_of($other, "SELECT sno_flake_generate('snowflake')"),
		qr/^ERROR:  55P03: could not lock table "sno_flake_generator"/,
		"$scenario: another one is refused");
	$locker->query_safe(
		'ROLLBACK; BEGIN; LOCK sno_catalog.sno_lease IN EXCLUSIVE MODE');
	$session->query_safe(
		q{SELECT sno_flake_create_generator('new', 'snowflake'), sno_flake_create_generator('number', 'pgedge', 700)}
	);

	foreach ("sno_flake_generate('new')", "sno_flake_advance('number', 5)")
	{
		like(
			error_of($session, "SELECT $_"),
			qr/^ERROR:  55P03: could not lock table "sno_lease"/,
			"$scenario: $_ needs a lease");
	}
	$locker->query_safe('ROLLBACK');
	is(error_of($session, "SELECT sno_flake_generate('new')"),
		'', "$scenario: without the lock, it is issued");
	close_session($_) foreach ($session, $locker, $other);
	end();
};

subtest 'the end of each layout' => sub {
	my $dbname    = begin('end of layouts');
	my $epoch_end = (1262304000 * 250 + 2**39) * 4;

	foreach my $name (@timed)
	{
		my $layout    = $layouts{$name};
		my $time_bits = $layout->{time_bits} - ($layout->{bits} == 64);
		my $end       = $layout->{epoch} + 2**$time_bits * $layout->{unit};
		$end = $epoch_end if $end > $epoch_end;

		set_clock($end - 1);
		my $session = session($dbname);
		my $ids     = generate($session, 1, $name);
		is(strays($ids, 0, $end - 1), '', "$scenario: $name in its last ms");

		# What is left of the 4 ms is no time of the layout.
		if ($name eq 'instagram')
		{
			my ($out) = $session->query(
				q{SELECT min(sno_flake_generate('instagram')) FROM generate_series(1, 511)}
			);
			cmp_ok($out, '>', 0, "$scenario: the last ids of $name");
			like(
				error_of($session, q{SELECT sno_flake_generate('instagram')}),
				qr/^ERROR:  22008: the system clock is outside the range of the layout/,
				"$scenario: $name has no more");
		}
		set_clock($end);
		like(
			error_of($session, "SELECT $layout->{function}('$name')"),
			qr/^ERROR:  22008: the system clock is outside the range of (?:the layout|a sno)/,
			"$scenario: $name refuses later times");
		close_session($session);
	}

	# Before the epoch
	my $session = session($dbname);
	set_clock($layouts{pgedge}{epoch} - 1);
	like(
		error_of($session, q{SELECT sno_flake_generate('pgedge')}),
		qr/^ERROR:  22008: the system clock is outside the range of the layout
DETAIL:  The generator issues ids of times from 2023-01-01 00:00:00\+00 to /,
		"$scenario: nothing before the epoch");
	set_clock($layouts{randflake}{epoch} - 1);
	like(
		error_of($session, q{SELECT sno_flake_generate('randflake')}),
		qr/^ERROR:  22008:/,
		"$scenario: nothing before the epoch of seconds");
	close_session($session);
	end();
	set_clock($noon);
};

unlike(
	slurp_file($node->logfile),
	qr/PANIC|TRAP|by signal (?!9\b)/,
	'nothing crashed that was not killed');
$node->stop;

# One has odd numbers, the other one has even ones.
subtest 'tickets of two servers' => sub {
	my @servers = map { start_node($_) } qw(even odd);
	my @numbers;

	foreach my $n (0, 1)
	{
		$servers[$n]->safe_psql('postgres',
			"CREATE EXTENSION sno_flakes; SELECT sno_flake_create_generator('t', 'tickets', $n), sno_flake_advance('t', 72157623227190423)"
		);
	}
	my $take = sub {
		my ($n) = @_;
		push @numbers, split /\n/,
		  $servers[$n]->safe_psql('postgres',
			q{SELECT sno_flake_generate('t') FROM generate_series(1, 100)});
	};
	foreach (1 .. 3)
	{
		$take->(0);
		$take->(1);
	}
	is( "@numbers[0, 1, 100, 101]",
		'72157623227190424 72157623227190426 72157623227190425 72157623227190427',
		'tickets: both servers go on after the older ones');
	my $session = open_session($servers[1], 'postgres');
	push @numbers, $session->query_safe(q{SELECT sno_flake_generate('t')});
	kill_postmaster($servers[1]);
	drop_session($session);
	$take->(0);
	start_again($servers[1]);
	$take->(1);
	$take->(0);
	is(scalar(uniq @numbers),            901, 'tickets: none twice');
	is(scalar(grep { $_ % 2 } @numbers), 401, 'tickets: odd and even ones');
	$_->stop foreach @servers;
};

done_testing();
