
# sno_watermark() and several sessions: no row that a reader's snapshot does not
# show appears later with an id below the watermark that was told for it.
# Nothing holds a watermark back for longer than it must.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use POSIX qw(strftime);
use TestHelpers;

my $lowest = '2222222222222222';
my $clock  = FakeClock->new;

my $node = new_node('main', allows_streaming => 1, conf => q{
autovacuum = off
restart_after_crash = on
max_prepared_transactions = 10
synchronous_commit = local
synchronous_standby_names = nobody
});

sub start { $clock->start_server($node); return; }
start();
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION sno;
CREATE TABLE feed (id sno);
CREATE TABLE empty (id sno);
SELECT sno_create_generator('named', 1000);
CREATE FUNCTION ask_in_loop() RETURNS sno STABLE LANGUAGE plpgsql AS $$
DECLARE
	w sno;
BEGIN
	FOR w IN SELECT sno_watermark() LOOP
	END LOOP;
	RETURN w;
END$$;

-- Workers make the ids of a query on this table.
CREATE TABLE numbers AS SELECT generate_series(1, 1000) AS n;
ALTER TABLE numbers SET (parallel_workers = 2);
CREATE FUNCTION make_id(integer) RETURNS text VOLATILE PARALLEL SAFE LANGUAGE plpgsql AS
	'BEGIN RETURN sno_generate(); END'});
my $by_workers =
  'SET LOCAL min_parallel_table_scan_size = 0; SET LOCAL parallel_setup_cost = 0;'
  . ' SET LOCAL parallel_tuple_cost = 0; SET LOCAL parallel_leader_participation = off;'
  . ' SELECT min(id), max(id) FROM (SELECT make_id(n) AS id FROM numbers) AS s';

# The watermark of a new statement, which is at least a unit later than all that
# was done before.
sub watermark
{
	my ($session) = @_;
	$session->query_safe('SELECT pg_sleep(0.005)');
	return $session->query_safe('SELECT sno_watermark()');
}

# Begin a transaction that inserts an id; returns the id.
sub begin_insert
{
	my ($session) = @_;
	$session->query_safe('BEGIN');
	return $session->query_safe(
		'INSERT INTO feed VALUES (sno_generate()) RETURNING id');
}

# Take a snapshot that a session keeps.
sub take_snapshot
{
	my ($session) = @_;
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$session->query_safe('SELECT count(*) FROM feed');
	return;
}

# Is this id held back, or isn't it any more?
sub is_held
{
	my ($session, $id, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok(watermark($session), 'le', $id,
		"$what: the watermark is held back");
	return;
}

sub is_free
{
	my ($session, $id, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok(watermark($session), 'gt', $id, "$what: the watermark goes on");
	return;
}

sub holders
{
	my ($session) = @_;
	return $session->query_safe(
		'SELECT count(*) FROM sno_watermark_blockers()');
}

# psql ends before its server process does.
sub nobody_holds_it_back
{
	my ($session, $what) = @_;
	wait_until($what, sub { holders($session) == 0 });
	pass($what);
	return;
}

sub wait_for_event
{
	my ($session, $waiter, $event) = @_;
	wait_until(
		"a session waits for $event",
		sub {
			$session->query_safe(
				"SELECT wait_event FROM pg_stat_activity WHERE pid = $waiter->{pid}"
			) eq $event;
		});
	return;
}

# Sessions that all themes use: a reader of new snapshots, one of older snapshots, and a
# writer.  Each theme leaves them without a transaction.
my ($reader, $older, $writer) =
  map { open_session($node, 'postgres') } 1 .. 3;

# Prepare a transaction that inserts an id; returns the id.
sub prepare
{
	my ($name) = @_;
	my $id = begin_insert($writer);
	$writer->query_safe("PREPARE TRANSACTION '$name'");
	return $id;
}

# Open the sessions anew, after the server has crashed or stopped.
sub reconnect
{
	my ($crash) = @_;
	drop_session($_) foreach ($reader, $older, $writer);
	$crash->();
	($reader, $older, $writer) =
	  map { open_session($node, 'postgres') } 1 .. 3;
	return;
}

# Queries that issue ids in all ways.  The generator "small" is created before the
# clock steps.
my %source = (
	'sno_generate()'           => ids_of(100),
	'sno_generate_many()'      => 'SELECT sno_generate_many(100)',
	'a named generator'        => ids_of(100, 'named'),
	'a small named generator'  => ids_of(100, 'small'),
	'many of sno_generate()'   => ids_of(200_000),
	'sno_generate_many() more' => 'SELECT sno_generate_many(200000)');
my $broken = qr/ERROR:  55000: ids were issued below an earlier watermark/;

# The lowest and the highest id of a query, and how many partitions and sides its ids
# have.
sub range_of
{
	my ($query) = @_;
	return split /\|/,
	  $writer->query_safe(
		"SELECT min(id), max(id), count(DISTINCT sno_partition(id)), count(DISTINCT sno_tick_tock(id)) FROM ($query) AS s (id)"
	  );
}

# How far an id is ahead of the clock
sub seconds_ahead
{
	my ($id) = @_;
	return $writer->query_safe(
		"SELECT extract(epoch FROM sno_timestamp('$id') - clock_timestamp())"
	);
}

subtest 'transactions that are not committed yet' => sub {
	my $id = begin_insert($writer);
	is_held($reader, $id, 'a row is not committed');
	is( $reader->query_safe(
			"SELECT pid = $writer->{pid}, transaction IN (SELECT backend_xid FROM pg_stat_activity), since <= sno_timestamp('$id') FROM sno_watermark_blockers()"
		),
		't|t|t',
		'it is shown who holds it back, and since when');
	$writer->query_safe('COMMIT');
	is_free($reader, $id, 'a row is committed');

	foreach my $source (
		'sno_generate()', "sno_generate(0, 'named')",
		'sno_generate_many(1)')
	{
		$writer->query_safe('BEGIN');
		$id = $writer->query_safe("SELECT $source");
		is_held($reader, $id, "an id of $source is not inserted");
		is( $reader->query_safe(
				'SELECT pid, transaction FROM sno_watermark_blockers()'),
			"$writer->{pid}|",
			"an id of $source is not inserted: the transaction has no xid");
		$writer->query_safe("INSERT INTO feed VALUES ('$id')");
		is_held($reader, $id, "an id of $source is inserted");
		$writer->query_safe('COMMIT');
		is_free($reader, $id, "an id of $source is committed");
	}

	# Ids of later units hold back no more than the first one.
	$id = begin_insert($writer);
	$writer->query_safe('SELECT pg_sleep(0.005)');
	my $second = $writer->query_safe('SELECT sno_generate()');
	is_held($reader, $id, 'a transaction makes another id');
	$writer->query_safe('ROLLBACK');
	is_free($reader, $second, 'a transaction is rolled back');

	$id = $writer->query_safe(
		'INSERT INTO feed VALUES (sno_generate()) RETURNING id');
	is_free($reader, $id, 'autocommit');
	is(holders($reader), 0, 'nobody holds it back');
};

# That database is there from here on: a step of the clock needs it, too.
subtest 'another database' => sub {
	$node->safe_psql('postgres', 'CREATE DATABASE other');
	$node->safe_psql('other',    'CREATE EXTENSION sno');
	my $other = open_session($node, 'other');
	$other->query_safe('BEGIN');
	my $id = $other->query_safe('SELECT sno_generate()');
	is_free($reader, $id, 'another database');
	is(holders($reader), 0, 'another database: nobody holds it back');
	close_session($other);
};

subtest 'what an answer keeps' => sub {
	my $xmin =
	  "SELECT backend_xmin IS NULL FROM pg_stat_activity WHERE pid = $reader->{pid}";

	$reader->query_safe('BEGIN');
	foreach my $query (
		'SELECT sno_watermark()',
		'SELECT ask_in_loop(), ask_in_loop() FROM generate_series(1, 3)',
		'SELECT ask_in_loop(), sno_watermark() FROM generate_series(1, 3)',
		'SELECT count(*) FROM feed WHERE id < sno_watermark()',
		'SELECT count(*) FROM empty WHERE id < sno_watermark()',
		'DECLARE c CURSOR FOR SELECT sno_watermark(); FETCH c; CLOSE c')
	{
		$reader->query_safe($query);
		is($writer->query_safe($xmin), 't', "$query holds back no VACUUM");
	}
	$reader->query_safe('SAVEPOINT a');
	like(
		error_of(
			$reader,
			'SELECT ask_in_loop(), 1 / (n - 2) FROM generate_series(1, 3) AS n'
		),
		qr/ERROR:  22012/,
		'an error follows on a watermark');
	$reader->query_safe('ROLLBACK TO a');
	is($writer->query_safe($xmin), 't', 'an error holds back no VACUUM');
	$reader->query_safe('COMMIT');
};

# It waits before it asks.
subtest 'a statement that is older than a commit' => sub {
	my $id = begin_insert($writer);
	$older->query_safe('SELECT pg_advisory_lock(1)');
	send_query(
		$reader,
		"WITH waited AS MATERIALIZED (SELECT pg_advisory_lock(1)::text) SELECT sno_watermark() <= '$id', (SELECT count(*) FROM feed WHERE id = '$id') FROM waited"
	);
	wait_for_event($older, $reader, 'advisory');
	$writer->query_safe('COMMIT');
	$older->query_safe('SELECT pg_sleep(0.005), pg_advisory_unlock(1)');
	my ($answer) = receive($reader);
	is($answer, 't|0', 'a statement is older than a commit');
	$reader->query_safe('SELECT pg_advisory_unlock(1)');
	is_free($reader, $id, 'the next statement');
};

subtest 'a transaction that keeps its snapshot' => sub {
	my $id = begin_insert($writer);
	take_snapshot($older);
	$writer->query_safe('COMMIT');
	is_held($older, $id, 'a snapshot is older than a commit');
	is_free($reader, $id, 'a new snapshot');
	my $insert =
	  'DO $$BEGIN FOR i IN 1 .. 20 LOOP INSERT INTO feed VALUES (sno_generate()); COMMIT; PERFORM pg_sleep(0.005); END LOOP; END$$';
	$writer->query_safe($insert);
	is_held($older, $id, 'a snapshot is older than 21 commits');
	cmp_ok(
		watermark($older), 'gt', $lowest,
		'a snapshot is older than 21 commits: all of them are known');
	$writer->query_safe($insert);
	is( watermark($older), $lowest,
		'a snapshot is older than 41 commits: the watermark is the lowest id'
	);
	is_free($reader, $id, 'a new snapshot');

	# One that shows the last of them
	$older->query_safe('COMMIT');
	take_snapshot($older);
	is_free($older, $id, 'the snapshot is newer than all of them');
	$older->query_safe('COMMIT');
};

# The writer's session ends, and another one has its place.
subtest 'the session of an older commit ends' => sub {
	my $id = begin_insert($writer);
	take_snapshot($older);
	$writer->query_safe('COMMIT');
	close_session($writer);
	is_held($older, $id, 'the session has ended');
	my @sessions = map { open_session($node, 'postgres') } 1 .. 3;
	foreach my $session (@sessions)
	{
		begin_insert($session);
		$session->query_safe('COMMIT');
	}
	is_held($older, $id, 'the session has ended, and others have begun');
	is_free($reader, $id, 'the session has ended, a new snapshot');
	$older->query_safe('COMMIT');
	$writer = shift @sessions;
	close_session($_) foreach @sessions;
};

subtest 'ends of sessions' => sub {
	my $session = open_session($node, 'postgres');
	my $id      = begin_insert($session);
	close_session($session);
	is_free($reader, $id, 'a session ends in a transaction');

	$session = open_session($node, 'postgres');
	$id      = begin_insert($session);
	is_held($reader, $id, 'a session is about to be terminated');
	$reader->query_safe(
		"SELECT pg_terminate_backend($session->{pid}, 60000)");
	is_free($reader, $id, 'a session was terminated');
	drop_session($session);
	is(holders($reader), 0, 'nobody holds it back');
};

# Their ids are those of their leader's transaction.
subtest 'ids of parallel workers' => sub {
	foreach my $end ('COMMIT', 'ROLLBACK', 'the end of the session')
	{
		foreach my $own (0, 1)
		{
			my $what   = $own ? 'the leader and workers' : 'workers';
			my $leader = open_session($node, 'postgres');
			my $id;
			$leader->query_safe('SELECT sno_generate()');
			$leader->query_safe('BEGIN');
			$id = $leader->query_safe('SELECT sno_generate()') if $own;
			my ($first, $last) = split /\|/, $leader->query_safe($by_workers);
			$id = $first if !$own;
			is_held($reader, $id, "ids of $what, before $end");
			is( $reader->query_safe(
					'SELECT pid FROM sno_watermark_blockers()'),
				$leader->{pid},
				"ids of $what, before $end: the leader holds it back");
			$leader->query_safe("INSERT INTO feed VALUES ('$first')");
			take_snapshot($older);
			if   ($end =~ /session/) { close_session($leader); }
			else                     { $leader->query_safe($end); }
			is_held(
				$older, $id,
				"ids of $what, after $end, an older snapshot"
			) if $end eq 'COMMIT';
			is_free($reader, $last, "ids of $what, after $end");
			is( holders($reader), 0,
				"ids of $what, after $end: nobody holds it back");
			$older->query_safe('COMMIT');
			close_session($leader) if $end !~ /session/;
		}
	}
};

# The leader would not know of their ids.
subtest 'workers of a leader that has issued no ids' => sub {
	my $refused =
	  qr/ERROR:  55000: a parallel worker cannot issue an id for a session that has not issued any/;
	foreach my $before ('', q{LOAD 'sno'; })
	{
		my (undef, undef, $error) =
		  $node->psql('postgres',
			"\\set VERBOSITY verbose\n${before}BEGIN; $by_workers");
		like($error, $refused,
			"workers make no ids for a leader that has made none: $before");
	}
	like(
		$node->safe_psql('postgres', "SELECT sno_generate(); BEGIN; $by_workers"),
		qr/^\w{16}\|\w{16}$/m,
		'they do once it has');
	nobody_holds_it_back($reader, 'they have ended: nobody holds it back');

	# A call that the planner sees is enough, in a session that has done nothing else.
	foreach my $call (
		'sno_generate(n % 256)',    q{sno_generate(n % 256, 'named')},
		'sno_generate_uuidv8(n % 256)', q{sno_generate_at('2020-01-01', n % 256)})
	{
		(my $query = $by_workers) =~ s/make_id\(n\)/($call)::text/;
		like($node->safe_psql('postgres', "BEGIN; $query"),
			qr/^\S{16,}\|\S{16,}$/, "workers make ids by $call");
	}
	nobody_holds_it_back($reader, 'those have ended: nobody holds it back');
};

subtest 'commits that wait for a standby' => sub {
	# A commit waits only after the checkpointer has told all processes of the
	# setting.  It does so before its first checkpoint.
	$writer->query_safe('CHECKPOINT');
	$writer->query_safe('SET synchronous_commit = on');
	my $id = begin_insert($writer);
	send_query($writer, 'COMMIT');
	wait_for_event($reader, $writer, 'SyncRep');
	is_held($reader, $id, 'a commit waits for a standby');
	configure($node, 'synchronous_standby_names', '', $reader);
	receive($writer);
	is_free($reader, $id, 'a commit has waited for a standby');
	$writer->query_safe('RESET synchronous_commit');
};

subtest 'prepared transactions' => sub {
	foreach my $end ('COMMIT PREPARED', 'ROLLBACK PREPARED')
	{
		my $id = prepare('one');
		is_held($reader, $id, "before $end");
		is( $reader->query_safe(
				"SELECT h.pid, h.since <= sno_timestamp('$id'), p.gid FROM sno_watermark_blockers() AS h LEFT JOIN pg_prepared_xacts AS p USING (transaction)"
			),
			'|t|one',
			"before $end: it is shown who holds it back");
		begin_insert($writer);
		$writer->query_safe('COMMIT');
		is_held($reader, $id, "before $end, after another transaction");
		take_snapshot($older);
		$reader->query_safe("$end 'one'");
		is_free($reader, $id, "after $end");
		is(holders($reader), 0, "after $end: nobody holds it back");

		# What ended is forgotten at the next PREPARE, but not before all show it.
		my $next = prepare('two');
		is_held($older, $id, "after $end, an older snapshot");
		$older->query_safe('COMMIT');
		is_free($reader, $id, "after $end, and another PREPARE");
		is_held($reader, $next, "after $end, and another PREPARE");
		$reader->query_safe("COMMIT PREPARED 'two'");
		is_free($reader, $next, 'after both');
	}
};

# Transactions that make no ids are none of ours.
subtest 'a prepared transaction that made no id' => sub {
	$writer->query_safe('BEGIN');
	$writer->query_safe('CREATE TABLE t ()');
	$writer->query_safe("PREPARE TRANSACTION 'other'");
	is(holders($reader), 0,
		'one that is prepared and made no id holds nothing back');
	$writer->query_safe("ROLLBACK PREPARED 'other'");
};

subtest 'prepared transactions through crashes and a promotion' => sub {
	# A standby has it, too, from the backup or from the primary.
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	my $first   = prepare('first');
	$node->backup('backup');
	$standby->init_from_backup($node, 'backup', has_streaming => 1);
	$standby->start;
	my $second = prepare('second');

	foreach my $crash ('immediate', 'fast')
	{
		reconnect(sub { $node->stop($crash); start(); });
		is_held($reader, $first, "after a stop (mode $crash)");
		is( $reader->query_safe(
				'SELECT string_agg(gid, \' \' ORDER BY gid) FROM sno_watermark_blockers() JOIN pg_prepared_xacts USING (transaction) WHERE pid IS NULL'
			),
			'first second',
			"after a stop (mode $crash): it is shown who holds it back");
	}

	# A standby tells no watermark, but its successor does.
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	foreach my $function (
		'sno_watermark', 'sno_reset_watermark',
		'sno_watermark_blockers')
	{
		my (undef, undef, $error) = $standby->psql(
			'postgres',
			"\\set VERBOSITY verbose\nSELECT $function()");
		like(
			$error,
			qr/ERROR:  25006: cannot execute $function\(\) during recovery/,
			"a standby refuses $function()");
	}
	$standby->promote;
	my $promoted = open_session($standby, 'postgres');
	is_held($promoted, $first, 'after a promotion');
	$promoted->query_safe("COMMIT PREPARED 'first'");
	is_held($promoted, $second, 'after a promotion, one is committed');
	is_free($promoted, $first, 'after a promotion, one is committed');
	$promoted->query_safe("ROLLBACK PREPARED 'second'");
	is_free($promoted, $second, 'after a promotion, all have ended');
	is(holders($promoted), 0, 'after a promotion: nobody holds it back');
	close_session($promoted);
	$standby->stop;

	# After the crash, in the same way
	take_snapshot($older);
	$reader->query_safe("ROLLBACK PREPARED 'first'");
	is_held($reader, $second, 'after a crash, one is rolled back');
	is_free($reader, $first, 'after a crash, one is rolled back');
	$reader->query_safe("COMMIT PREPARED 'second'");
	is_free($reader, $second, 'after a crash, all have ended');
	is_held($older, $first, 'after a crash, an older snapshot');
	$older->query_safe('COMMIT');
};

# It ends after the crash, before the first watermark.
subtest 'a prepared transaction of which nothing is known' => sub {
	my $unknown = prepare('unknown');
	reconnect(sub { $node->stop('immediate'); start(); });
	take_snapshot($older);
	$writer->query_safe("COMMIT PREPARED 'unknown'");
	is( watermark($older), $lowest,
		'a snapshot is older than a commit of which nothing is known');
	is_free($reader, $unknown, 'a new snapshot');
	$older->query_safe('COMMIT');
};

# It could have been prepared before the start, but the snapshot shows that it was not.
subtest 'a transaction that ran at the first watermark' => sub {
	reconnect(sub { $node->stop('immediate'); start(); });
	$writer->query_safe('BEGIN');
	$writer->query_safe('SELECT pg_current_xact_id()');
	watermark($reader);
	$reader->query_safe('SELECT pg_current_xact_id()');
	take_snapshot($older);
	$writer->query_safe('COMMIT');
	isnt(watermark($older), $lowest, 'a snapshot is older than its end');
	$older->query_safe('COMMIT');
};

# All sessions are killed with it.
subtest 'a session is killed' => sub {
	my $id = begin_insert($writer);
	reconnect(
		sub {
			crash_and_recover($node, sub { kill 'KILL', $writer->{pid} });
		});
	is_free($reader, $id, 'a session was killed');
	is(holders($reader), 0, 'a session was killed: nobody holds it back');
};

# Steps of the clock
{
	# Ten ids in a unit.  All generators are in use.
	$writer->query_safe("SELECT sno_create_generator('small', 1001, 0, 9)");
	range_of($source{$_}) foreach sort keys %source;

	subtest 'the clock steps back' => sub {
		my $drifts = sub {
			return $writer->query_safe(
				"SELECT sno_snapshot_generator('small')->'drifts'");
		};
		my $drifts_before = $drifts->();
		my $partition =
		  decode_id($writer->query_safe('SELECT sno_generate()'))
		  ->{partition};
		my $told = watermark($reader);
		$clock->set_offset(-60);
		foreach my $name (sort keys %source)
		{
			my ($from, $to, $partitions, $sides) = range_of($source{$name});
			cmp_ok(
				$from, 'ge', $told,
				"clock back, $name: no id is below the watermark");
			is( "$partitions|$sides", '1|1',
				"clock back, $name: ids have one partition and one side");
			cmp_ok(
				seconds_ahead($to), '<', 65,
				"clock back, $name: ids do not run away");
		}
		is($drifts->(), $drifts_before, 'clock back: that is no drift');
		is( decode_id($writer->query_safe('SELECT sno_generate()'))
			  ->{partition},
			$partition,
			'clock back: the session has its partition');
		my $later = watermark($reader);
		cmp_ok($later, 'ge', $told, 'clock back: watermarks do not go back');
	};

	# The clock is still a minute behind, because it stepped back in the theme before.
	subtest 'the clock steps back in a transaction' => sub {
		$clock->set_offset(0);
		my $id = begin_insert($writer);
		cmp_ok(
			abs(seconds_ahead($id)),
			'<', 30, 'the clock is right again: ids follow it');
		my $told = watermark($reader);
		$clock->set_offset(-60);
		my ($from) = range_of($source{'sno_generate()'});
		cmp_ok(
			$from, 'ge', $told,
			'clock back in a transaction: no id is below the watermark');
		$writer->query_safe('COMMIT');
		$clock->set_offset(0);
	};

	# Where the clock is later than the last watermark, ids follow it, and hold
	# back the next one.
	subtest 'the clock steps back after the last watermark' => sub {
		$clock->set_offset(-120);
		$node->safe_psql('other', 'DROP EXTENSION sno; CREATE EXTENSION sno');
		my ($other, $asks) = map { open_session($node, 'other') } 1 .. 2;
		is_free($asks, $lowest, 'the first watermark of a database');
		$clock->set_offset(0);
		$other->query_safe('BEGIN');
		$other->query_safe('SELECT sno_generate()');
		$clock->set_offset(-60);
		my $id = $other->query_safe('SELECT sno_generate()');
		cmp_ok(
			abs(seconds_ahead($id)),
			'<', 30, 'clock back after the last watermark: ids follow it');
		is_held($asks, $id, 'clock back after the last watermark');
		$other->query_safe('COMMIT');
		is_free($asks, $id,
			'clock back after the last watermark, at the end');
		close_session($_) foreach ($other, $asks);
	};

	subtest 'the clock was far ahead' => sub {
		foreach my $who ('reader', 'writer')
		{
			my $what = "back from two hours ahead, first a $who";
			$clock->set_offset(7200);
			my $ahead = watermark($reader);
			$clock->set_offset(0);
			if ($who eq 'writer')
			{
				foreach my $name (sort keys %source)
				{
					my (undef, $to) = range_of($source{$name});
					cmp_ok(
						seconds_ahead($to), '<', 65,
						"$what, $name: ids follow the clock");
				}
			}
			like(
				error_of($reader, 'SELECT sno_watermark()'),
				$broken, "$what: there is no watermark");
			like(
				error_of($older, 'SELECT sno_watermark()'),
				$broken, "$what: there is none for another reader");
			$writer->query_safe('SELECT sno_reset_watermark()');
			cmp_ok(
				watermark($reader), 'lt', $ahead,
				"$what: there is one after a reset");
			my $id = $writer->query_safe('SELECT sno_generate()');
			cmp_ok(
				abs(seconds_ahead($id)),
				'<', 30, "$what: ids follow the clock after a reset");
			is_free($reader, $id, "$what, after a reset");
		}
	};

	# All is in one unit.
	subtest 'the clock stands still' => sub {
		my $stop = time + 2;
		$clock->stop_at(strftime('%Y-%m-%d %H:%M:%S', gmtime($stop)));
		my $now = $writer->query_safe('SELECT sno_generate()');
		foreach my $source ('sno_generate()', "sno_generate(0, 'named')",
			'sno_generate_many(1)')
		{
			$writer->query_safe("SELECT $source");
			$writer->query_safe('BEGIN');
			my $id = $writer->query_safe("SELECT $source");
			is(holders($older), 1,
				"a clock that stands still, $source: the session holds it back"
			);
			$writer->query_safe('COMMIT');
			is(decode_id($id)->{unit}, decode_id($now)->{unit},
				"a clock that stands still, $source: the unit is the same");
		}
		$now = begin_insert($writer);
		take_snapshot($older);
		$writer->query_safe('COMMIT');
		$writer->query_safe(
			'DO $$BEGIN FOR i IN 1 .. 100 LOOP INSERT INTO feed VALUES (sno_generate()); COMMIT; END LOOP; END$$'
		);
		$clock->set_offset(5);
		is_held($older, $now, 'a clock that stood still, an older snapshot');
		cmp_ok(watermark($older), 'gt', $lowest,
			'a clock that stood still, an older snapshot: its unit is known');
		is_free($reader, $now, 'a clock that stood still');
		$older->query_safe('COMMIT');
	};

	subtest 'the clock is set back while the server is down' => sub {
		foreach my $mode ('fast', 'immediate')
		{
			my $what = "back while the server is down (mode $mode)";
			my $set_back = sub {
				my ($from) = @_;
				$clock->set_offset($from);
				my $told = watermark($reader);
				reconnect(
					sub {
						$node->stop($mode);
						$clock->set_offset(0);
						start();
					});
				return $told;
			};
			my $told = $set_back->(60);
			cmp_ok($writer->query_safe('SELECT sno_generate()'),
				'ge', $told, "$what: no id is below the watermark");
			cmp_ok(watermark($reader), 'ge', $told,
				"$what: watermarks do not go back");

			$told = $set_back->(7200);
			cmp_ok($writer->query_safe('SELECT sno_generate()'),
				'lt', $told, "$what, for two hours: ids follow the clock");
			like(error_of($_, 'SELECT sno_watermark()'),
				$broken, "$what, for two hours: there is no watermark")
			  foreach ($reader, $older);
			$writer->query_safe('SELECT sno_reset_watermark()');
			reconnect(sub { $node->stop($mode); start(); });
			my $id = $writer->query_safe('SELECT sno_generate()');
			is_free($reader, $id, "$what, after a reset");
		}
	};
}

close_session($_) foreach ($reader, $older, $writer);
$node->stop;
done_testing();
