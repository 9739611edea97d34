
# Readers of feeds of bigints while 16 writers insert, the clock steps and the server crashes:
# ids of a layout with units of 1 ms, of another one, and of a counter.  Each reader notes
# what it was given, in the transaction that moves its cursor.  Those that stop at
# sno_flake_watermark() have been given each row once, also those on a standby, which read
# the watermark from a table.  The control reads a bigserial, and has missed many.
#
# Writers and readers are clients of pgbench.  With TORTURE_MINUTES, rounds go on for that
# time, in an order that TORTURE_SEED gives (script/torture).

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
$node->init(allows_streaming => 1);
$node->append_conf(
	'postgresql.conf', q{
log_statement = none
max_connections = 80
max_prepared_transactions = 200
sno.max_wait = '1min'
});
$torture->start_server($node);

# The control has no watermark: what there is, is taken.
my %id = (
	tweet   => q{sno_flake_generate('tweet')},
	post    => q{sno_flake_generate('post')},
	invoice => q{sno_flake_generate('invoice')},
	serial  => q{nextval('serial_id')});
my @feeds = grep { $_ ne 'serial' } sort keys %id;
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION sno_flakes CASCADE;
SELECT sno_flake_create_generator('tweet', 'snowflake'), sno_flake_create_generator('post', 'instagram'),
	sno_flake_create_generator('invoice', 'counter');
CREATE SEQUENCE serial_id;
CREATE TABLE cursor (reader text PRIMARY KEY, last bigint NOT NULL);
CREATE TABLE seen (n bigserial, reader text NOT NULL, id bigint NOT NULL);
CREATE TABLE told (name text PRIMARY KEY, w bigint NOT NULL)}
	  . join('', map { "; CREATE TABLE $_ (id bigint PRIMARY KEY DEFAULT $id{$_})" } sort keys %id)
	  . join('', map { "; INSERT INTO told VALUES ('$_', 0)" } @feeds));
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = on');
$torture->start_server($standby);

# The name of a script of pgbench with this text
my $scripts = 0;

sub script
{
	my ($text) = @_;
	my $file = "$dir/" . $scripts++;
	append_to_file($file, $text);
	return $file;
}

# Start clients.
my $clients = 0;

sub pgbench
{
	my ($name, @arguments) = @_;
	local $ENV{PGAPPNAME} = $name;
	my $log = "$dir/log." . $clients++;
	return {
		log => $log,
		run => IPC::Run::start(
			[ 'pgbench', '--no-vacuum', '--random-seed=rand', @arguments, $node->connstr('postgres') ],
			'<', '/dev/null', '>', '/dev/null', '2>', $log) };
}

# A transaction that may pause, and may be rolled back or prepared
sub transaction
{
	my ($text) = @_;
	return "\\set pause random(0, 1) * random(0, 60000)\n\\set fate random(1, 100)\n"
	  . "\\set gid random(1, 1000000000000)\nBEGIN;\n$text\n\\sleep :pause us\n" . q{
\if :fate <= 12
ROLLBACK;
\elif :fate <= 24
PREPARE TRANSACTION ':round :gid';
\sleep :pause us
COMMIT PREPARED ':round :gid';
\else
COMMIT;
\endif
};
}

my $all = join "\n", map { "INSERT INTO $_ DEFAULT VALUES;" } sort keys %id;
my $each = sub { my ($sql) = @_; return map { $sql =~ s/TABLE/$_/gr } sort keys %id };
my @writers = (
	(map { $_ => 10 } $each->("INSERT INTO TABLE DEFAULT VALUES;\n")),
	transaction($all) => 20,
	transaction("$all\n\\sleep :pause us\n$all") => 10,
	transaction("SAVEPOINT a;\n$all\nROLLBACK TO a;\n\\sleep :pause us\n$all") => 10,
	(map { transaction($_) => 5 } $each->('INSERT INTO TABLE SELECT FROM generate_series(1, 20);')),
	(   map {
			transaction(
				"SELECT $id{$_} AS first, $id{$_} AS second \\gset\n\\sleep :pause us\n"
				  . "INSERT INTO $_ VALUES (:second), (:first);") => 5
		} sort keys %id));
my @files = map { '--file=' . script($writers[ 2 * $_ ]) . "\@$writers[2 * $_ + 1]" }
  0 .. $#writers / 2;

# Commits what a crash left prepared
my $coordinator = script(
	q{SELECT coalesce(min(gid), '') AS gid, count(*) AS count FROM (
	SELECT gid FROM pg_prepared_xacts WHERE gid NOT LIKE ':round %' LIMIT 1) AS s \gset
\sleep 30 ms
\if :count > 0
COMMIT PREPARED ':gid';
\endif
});

# A statement that notes the rows of a query
sub noting
{
	my ($query) = @_;
	return
	  "WITH fed AS (INSERT INTO seen (reader, id) SELECT 'NAME', id FROM ($query) AS s RETURNING id)\n"
	  . "UPDATE cursor SET last = (SELECT max(id) FROM fed) WHERE reader = 'NAME' AND EXISTS (SELECT FROM fed);\n";
}

my $last = "(SELECT last FROM cursor WHERE reader = 'NAME')";
my %readers;

foreach my $feed (@feeds)
{
	my $rows = "SELECT id FROM $feed WHERE id >";
	my $below = "AND id < (SELECT sno_flake_watermark('$feed'))";
	$readers{"$feed, statement"} = noting("$rows $last $below ORDER BY id LIMIT 500");
	$readers{"$feed, for each row"} =
	  "SET enable_indexscan = off;\nSET enable_indexonlyscan = off;\nSET enable_bitmapscan = off;\n"
	  . noting("$rows $last AND id < sno_flake_watermark('$feed') ORDER BY id") . "\\sleep 50 ms\n";
	$readers{"$feed, repeatable read"} =
	  "\\set pause random(0, 100)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT last FROM cursor WHERE reader = 'NAME' \\gset\n"
	  . "\\sleep :pause ms\n" . noting("$rows :last $below ORDER BY id LIMIT 400") . "COMMIT;\n";
}
$readers{serial} = noting("SELECT id FROM serial WHERE id > $last ORDER BY id");
my $tell = script(join '', map { "UPDATE told SET w = sno_flake_watermark('$_') WHERE name = '$_';\n" } @feeds);
$node->safe_psql('postgres', "INSERT INTO cursor VALUES ('$_', 0)") foreach keys %readers;

my %reading;

sub start_readers
{
	foreach my $name (sort keys %readers)
	{
		my $file = script($readers{$name} =~ s/NAME/$name/gr . "\\sleep 10 ms\n");
		$reading{$name} = pgbench('reader', '--transactions=9999999', "--file=$file");
	}
	$reading{told} = pgbench('reader', '--transactions=9999999', "--file=$tell");
	return;
}

# What the standby shows below the watermark that it shows
my %on_standby = map { $_ => { last => 0, ids => [] } } @feeds;

sub read_standby
{
	foreach my $feed (@feeds)
	{
		my $reader = $on_standby{$feed};
		my @ids = split /\n/,
		  $standby->safe_psql('postgres',
			"SELECT id FROM $feed WHERE id > $reader->{last} AND id < (SELECT w FROM told WHERE name = '$feed') ORDER BY id");
		next if !@ids;
		push @{ $reader->{ids} }, @ids;
		$reader->{last} = $ids[-1];
	}
	return;
}

# How many transactions have written
sub transactions
{
	return $node->safe_psql('postgres', 'SELECT pg_snapshot_xmax(pg_current_snapshot())');
}

# Stop clients.  They must have met no error.
sub stop
{
	my ($what, @clients) = @_;
	$_->{run}->kill_kill foreach @clients;
	is(join('', map { slurp_file($_->{log}) =~ /^.*ERROR: .*\n/mg } @clients), '', "$what met no error");
	return;
}

# Let 16 writers write, 4 of which connect anew for each transaction.  Meanwhile the clock
# may step, and the server may crash.
my $round = 0;

sub strike
{
	my ($steps, $crash) = @_;
	my $until   = transactions() + 2000 + $torture->random(1000);
	my @common  = ('--transactions=9999999', '--define=round=' . ++$round);
	my @writing = (
		pgbench('writer', '--client=12', '--jobs=2', @common, @files),
		pgbench('writer', '--client=4', '--connect', @common, @files),
		pgbench('writer', @common, "--file=$coordinator"));

	wait_until(
		'writers have written',
		sub {
			$torture->set_clock($torture->random($minute * 1000) / 1000) if $steps;
			read_standby();
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
	strike(@$_) foreach $torture->shuffled([ 0, 0 ], [ 1, 0 ], [ 0, 1 ], [ 1, 1 ]);
} while (time < $ends);

# All ends: sessions, then prepared transactions.
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'writer'")
  or die 'writers go on';
$node->safe_psql('postgres', "COMMIT PREPARED '$_'")
  foreach split /\n/, $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
is($node->safe_psql('postgres', 'SELECT * FROM sno_watermark_blockers()'), '', 'nobody holds a watermark back')
  or die 'readers would wait forever';

# The clock isn't behind the last id.  Each reader arrives there.
$torture->set_clock($minute + 1);
foreach my $name (sort keys %readers)
{
	my ($table) = $name =~ /^(\w+)/;
	$node->poll_query_until('postgres',
		"SELECT last >= (SELECT max(id) FROM $table) FROM cursor WHERE reader = '$name'")
	  or die "$name: does not arrive at the last row";
}
foreach my $feed (@feeds)
{
	my $max = $node->safe_psql('postgres', "SELECT max(id) FROM $feed");
	wait_until("$feed: the standby arrives", sub { read_standby(); $on_standby{$feed}{last} == $max });
}
stop('readers', values %reading);

foreach my $name (sort keys %readers)
{
	my ($table) = $name =~ /^(\w+)/;
	my ($missed, $twice, $descents, $strange) = split /\|/,
	  $node->safe_psql(
		'postgres', qq{
SELECT (SELECT count(*) FROM (SELECT id FROM $table EXCEPT SELECT id FROM seen WHERE reader = '$name') AS e),
	count(*) - count(DISTINCT id),
	count(*) FILTER (WHERE id < before),
	(SELECT count(*) FROM (SELECT id FROM seen WHERE reader = '$name' EXCEPT SELECT id FROM $table) AS e)
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM seen WHERE reader = '$name') AS s});
	if   ($name eq 'serial') { cmp_ok($missed, '>', 100, "the control missed $missed rows"); }
	else                     { is($missed, 0, "$name: missed no row"); }
	is($twice,    0, "$name: was given no row twice");
	is($descents, 0, "$name: was given rows in the order of ids");
	is($strange,  0, "$name: was given only committed rows");
}
foreach my $feed (@feeds)
{
	my @rows = split /\n/, $node->safe_psql('postgres', "SELECT id FROM $feed ORDER BY id");
	note(@rows . " rows of $feed in $round rounds");
	is("@{ $on_standby{$feed}{ids} }", "@rows", "$feed: the standby was shown each row once, in order");
}
$standby->stop;
check_log($node);
$node->stop;
done_testing();
