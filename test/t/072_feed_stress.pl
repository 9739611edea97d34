
# Readers of a feed while 16 writers insert, the clock steps and the server crashes.  Each
# reader notes what it was given, in the transaction that moves its cursor.  In the
# end, the readers that stop at sno_watermark() have been given each row once.  The
# control, which doesn't stop there, has missed many.
#
# Writers and readers are clients of pgbench.  With TORTURE_MINUTES, rounds go on for
# that time, in an order that TORTURE_SEED gives (script/torture).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;
use Time::HiRes qw(time usleep);
use Torture;

my $minute  = 60;
my $torture = Torture->new;
my $dir     = PostgreSQL::Test::Utils::tempdir('feed');
my $node    = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
log_statement = none
max_connections = 60
max_prepared_transactions = 200
max_worker_processes = 16
sno.max_wait = 0
});
$torture->start_server($node);
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION sno;
CREATE TABLE feed (id sno PRIMARY KEY DEFAULT sno_generate(), writer text NOT NULL);
CREATE TABLE cursor (reader text PRIMARY KEY, last sno NOT NULL);
CREATE TABLE seen (n bigserial, reader text NOT NULL, id sno NOT NULL);

SELECT sno_create_generator('orders', 700), sno_create_generator('few', 701, 0, 9);
-- If the named generator has to wait after steps of the clock, take another one.
CREATE FUNCTION add_named(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO feed VALUES (sno_generate(0, name), name);
EXCEPTION WHEN configuration_limit_exceeded THEN
	INSERT INTO feed (writer) VALUES ('instead of ' || name);
END $$;

CREATE TABLE source (n integer);
CREATE FUNCTION add_by_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO feed (writer) VALUES ('trigger');
	RETURN NULL;
END $$;
CREATE TRIGGER add_by_trigger AFTER INSERT ON source FOR EACH ROW EXECUTE FUNCTION add_by_trigger();

CREATE TABLE ten AS SELECT generate_series(1, 10) AS n;
ALTER TABLE ten SET (parallel_workers = 2);

-- Somebody else asks for a watermark while a statement runs, and as of another time.
CREATE FUNCTION ask() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM sno_watermark() WHERE random() < 0.02;
	RETURN true;
END $$;

-- Note rows of the portal "feed".
CREATE FUNCTION note_fetched(rows integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	feed refcursor := 'feed';
	one sno;
BEGIN
	FOR n IN 1..rows LOOP
		FETCH feed INTO one;
		EXIT WHEN NOT FOUND;
		INSERT INTO seen (reader, id) VALUES ('cursor', one);
		UPDATE cursor SET last = one WHERE reader = 'cursor';
	END LOOP;
END $$;

-- The watermark first, then the rows: a later snapshot shows more.
CREATE FUNCTION read_feed() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	until sno := sno_watermark();
	one sno := last FROM cursor WHERE reader = 'plpgsql';
BEGIN
	FOR one IN SELECT id FROM feed WHERE id > one AND id < until ORDER BY id LIMIT 300 LOOP
		INSERT INTO seen (reader, id) VALUES ('plpgsql', one);
		UPDATE cursor SET last = one WHERE reader = 'plpgsql';
	END LOOP;
END $$;
});

# The name of a script of pgbench with this text
my $scripts = 0;

sub script
{
	my ($text) = @_;
	my $file = "$dir/" . $scripts++;
	append_to_file($file, $text);
	return $file;
}

# Start clients with these settings.
my $clients = 0;

sub pgbench
{
	my ($name, $settings, @arguments) = @_;
	local $ENV{PGAPPNAME} = $name;
	local $ENV{PGOPTIONS} = $settings;
	my $log = "$dir/log." . $clients++;
	return {
		log => $log,
		run => IPC::Run::start(
			[   'pgbench', '--no-vacuum', '--random-seed=rand', @arguments, $node->connstr('postgres') ],
			'<', '/dev/null', '>', '/dev/null', '2>', $log) };
}

#
# Writers
#

# Of the transactions 12 % are aborted and 18 % are prepared.  Some of these are left
# to the script of the coordinator, or to the one of a later round.
my $end = q{
\set fate random(1, 100)
\set gid random(1, 1000000000000)
\if :fate <= 12
ROLLBACK;
\elif :fate <= 14
PREPARE TRANSACTION ':round left :gid';
\elif :fate <= 26
PREPARE TRANSACTION ':round :gid';
\sleep :pause us
COMMIT PREPARED ':round :gid';
\elif :fate <= 30
PREPARE TRANSACTION ':round :gid';
\sleep :pause us
ROLLBACK PREPARED ':round :gid';
\else
COMMIT;
\endif
};

# A transaction, which may pause
sub transaction
{
	my ($text) = @_;
	return
	  "\\set pause random(0, 1) * random(0, 60000)\nBEGIN;\n$text\n$end";
}

my $add     = sub { "INSERT INTO feed (writer) VALUES ('$_[0]');" };
my @writers = (
	$add->('autocommit') => 30,
	transaction($add->('plain')) => 10,
	transaction(
		$add->('stall') . "\n\\sleep :pause us\n" . $add->('stall')) => 10,
	transaction(
		q{SELECT sno_generate() AS first, sno_generate(3) AS second \gset
\sleep :pause us
INSERT INTO feed VALUES (':second', 'made first'), (':first', 'made first');}
	  ) => 10,
	transaction(
		join "\n",
		$add->('savepoint'),
		'SAVEPOINT a;',
		$add->('rolled back'),
		'\sleep :pause us',
		'ROLLBACK TO a;',
		$add->('savepoint')) => 6,
	transaction(
		"SAVEPOINT a;\nSELECT sno_generate();\nROLLBACK TO a;\n\\sleep :pause us\n"
		  . $add->('after a savepoint')) => 4,
	transaction(
		"SELECT add_named('orders');\n\\sleep :pause us\nSELECT add_named('few');"
	  ) => 10,
	"SELECT add_named('orders');\n" => 8,
	transaction(
		"INSERT INTO feed SELECT sno_generate_many(40), 'many';\n\\sleep :pause us"
	  ) => 4,
	transaction(
		q{SELECT array_agg(id) AS ids FROM sno_generate_many(20, 9) AS id \gset
\sleep :pause us
INSERT INTO feed SELECT unnest(':ids'::sno[]), 'many made first';}
	  ) => 2,
	transaction('INSERT INTO source VALUES (1), (2);') => 8,
	transaction(
		q{SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL parallel_leader_participation = off;
SELECT array_agg(id) AS ids FROM (SELECT sno_generate(n) AS id FROM ten) AS s \gset
\sleep :pause us
INSERT INTO feed SELECT unnest(':ids'::sno[]), 'parallel';}
	  ) => 6);
my @files = map { '--file=' . script($writers[ 2 * $_ ]) . "\@$writers[2 * $_ + 1]" }
  0 .. $#writers / 2;

# Commits what is left prepared, one after the other, and what a crash left
my $coordinator = script(
	q{SELECT coalesce(min(gid), '') AS gid, count(*) AS count FROM (
	SELECT gid FROM pg_prepared_xacts
	WHERE gid LIKE '% left %' AND prepared < now() - interval '50 ms' OR gid NOT LIKE ':round %'
	ORDER BY random() LIMIT 1) AS s \gset
\sleep 30 ms
\if :count > 0
COMMIT PREPARED ':gid';
\endif
});

#
# Readers
#
my $rows  = 'SELECT id FROM feed WHERE id >';
my $last  = "(SELECT last FROM cursor WHERE reader = 'NAME')";
my $below = 'AND id < (SELECT sno_watermark())';
my $scan =
  '-c enable_indexscan=off -c enable_indexonlyscan=off -c enable_bitmapscan=off';

# A statement that notes the rows of a query
sub noting
{
	my ($query) = @_;
	return
	  "WITH fed AS (INSERT INTO seen (reader, id) SELECT 'NAME', id FROM ($query) AS s RETURNING id)\n"
	  . "UPDATE cursor SET last = (SELECT max(id) FROM fed) WHERE reader = 'NAME' AND EXISTS (SELECT FROM fed);\n";
}
my $get_last = "SELECT last FROM cursor WHERE reader = 'NAME' \\gset\n";

# Each one's mode, settings and script
my %readers = (
	statement =>
	  [ 'simple', '', noting("$rows $last $below ORDER BY id LIMIT 500") ],
	prepared => [
		'prepared', '-c plan_cache_mode=force_generic_plan',
		$get_last . noting("$rows :last::sno $below ORDER BY id")
	],
	direct => [
		'simple', $scan,
		noting("$rows $last AND id < sno_watermark() ORDER BY id")
		  . "\\sleep 50 ms\n"
	],
	'several calls' => [
		'simple', $scan,
		noting(
			"$rows $last AND ask() AND id < sno_watermark() $below AND ask() ORDER BY id"
		  )
		  . "\\sleep 50 ms\n"
	],
	'repeatable read' => [
		'simple', '',
		"\\set pause random(0, 200)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\n$get_last"
		  . "\\sleep :pause ms\n"
		  . noting("$rows ':last' $below ORDER BY id LIMIT 400")
		  . "COMMIT;\n"
	],
	cursor => [
		'simple', '',
		"\\set pause random(0, 50)\nBEGIN;\n$get_last"
		  . "DECLARE feed CURSOR FOR $rows ':last' $below ORDER BY id LIMIT 200;\n"
		  . "\\sleep :pause ms\nSELECT note_fetched(5);\n\\sleep :pause ms\nSELECT note_fetched(1000);\nCOMMIT;\n"
	],
	plpgsql => [ 'simple', '', "SELECT read_feed();\n" ],
	control => [ 'simple', '', noting("$rows $last ORDER BY id") ]);

$node->safe_psql('postgres',
	"INSERT INTO cursor VALUES ('$_', sno_zero())")
  foreach keys %readers;
$readers{$_}[2] = script($readers{$_}[2] =~ s/NAME/$_/gr . "\\sleep 10 ms\n")
  foreach keys %readers;

my %reading;

sub start_readers
{
	foreach my $name (sort keys %readers)
	{
		my ($mode, $settings, $file) = @{ $readers{$name} };
		$reading{$name} = pgbench(
			'reader', $settings, '--transactions=9999999',
			"--protocol=$mode", "--file=$file");
	}
	return;
}

#
# Rounds
#
my $round = 0;

# How many transactions have written
sub transactions
{
	return $node->safe_psql('postgres',
		'SELECT pg_snapshot_xmax(pg_current_snapshot())');
}

# Stop clients.  They must have met no error.
sub stop
{
	my ($what, @clients) = @_;
	$_->{run}->kill_kill foreach @clients;
	is( join('', map { slurp_file($_->{log}) =~ /^.*ERROR: .*\n/mg } @clients),
		'', "$what met no error");
	return;
}

# Let 16 writers write, 4 of which connect anew for each transaction.  Meanwhile the
# clock may step, and the server may crash.
sub strike
{
	my ($steps, $crash) = @_;
	my $until   = transactions() + 2000 + $torture->random(1000);
	my @common  = ('--transactions=9999999', '--define=round=' . ++$round);
	my @writing = (
		pgbench('writer', '', '--client=12', '--jobs=2', @common, @files),
		pgbench('writer', '', '--client=4', '--connect', @common, @files),
		pgbench('writer', '', @common, "--file=$coordinator"));

	wait_until(
		'writers have written',
		sub {
			$torture->set_clock($torture->random($minute * 1000) / 1000)
			  if $steps;
			usleep(20_000);
			transactions() > $until;
		});
	if ($crash)
	{
		$node->stop('immediate');
		$torture->set_clock($torture->random($minute * 1000) / 1000) if $steps;
		stop('readers', values %reading);
		$torture->start_server($node);
		start_readers();
	}
	stop("writers of round $round", @writing);
	return;
}

my $ends = time + 60 * $torture->{minutes};
note("seed $torture->{seed}");
start_readers();
do
{
	strike(@$_)
	  foreach $torture->shuffled([ 0, 0 ], [ 1, 0 ], [ 0, 1 ], [ 1, 1 ]);
} while (time < $ends);

# All ends: sessions, then prepared transactions.
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'writer'")
  or die 'writers go on';
$node->safe_psql('postgres', "COMMIT PREPARED '$_'")
  foreach split /\n/,
  $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
is($node->safe_psql('postgres', 'SELECT * FROM sno_watermark_blockers()'),
	'', 'nobody holds the watermark back')
  or die 'readers would wait forever';

# The clock isn't behind the last id.  Each reader arrives there.
$torture->set_clock($minute + 1);
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM cursor WHERE last < (SELECT max(id) FROM feed)")
  or die 'a reader does not arrive at the last row';
stop('readers', values %reading);

my $rows_there = $node->safe_psql('postgres', 'SELECT count(*) FROM feed');
note("$rows_there rows in $round rounds");
note(
	$node->safe_psql(
		'postgres',
		q{SELECT string_agg(format('%s: %s', writer, count), ', ' ORDER BY writer)
		FROM (SELECT writer, count(*) FROM feed GROUP BY writer) AS s}));
foreach my $name (sort keys %readers)
{
	my ($missed, $twice, $descents, $strange) = split /\|/,
	  $node->safe_psql(
		'postgres', qq{
SELECT (SELECT count(*) FROM (SELECT id FROM feed EXCEPT SELECT id FROM seen WHERE reader = '$name') AS e),
	count(*) - count(DISTINCT id),
	count(*) FILTER (WHERE id < before),
	(SELECT count(*) FROM (SELECT id FROM seen WHERE reader = '$name' EXCEPT SELECT id FROM feed) AS e)
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM seen WHERE reader = '$name') AS s});
	if ($name eq 'control')
	{
		cmp_ok($missed, '>', $rows_there / 10, "the control missed $missed rows");
	}
	else
	{
		is($missed, 0, "$name: missed no row");
		diag(
			$node->safe_psql(
				'postgres', qq{
SELECT writer, id, sno_timestamp(id), sno_partition(id), xmin,
	(SELECT (n, id, sno_timestamp(id), xmin) FROM seen WHERE reader = '$name' AND id > feed.id ORDER BY id LIMIT 1)
FROM feed WHERE NOT EXISTS (SELECT FROM seen WHERE reader = '$name' AND seen.id = feed.id) ORDER BY id LIMIT 20})
		) if $missed > 0;
	}
	is($twice,    0, "$name: was given no row twice");
	is($descents, 0, "$name: was given rows in the order of ids");
	is($strange,  0, "$name: was given only committed rows");
}
check_log($node);
$node->stop;
done_testing();
