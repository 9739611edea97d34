
# Watermarks of flakes and of counters while transactions are open in other sessions: late
# commits, prepared transactions, older snapshots, parallel workers, a clock that is set
# back, crashes, standbys, and generators whose ids are sealed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use TestHelpers;

my $clock = FakeClock->new;
my $hour = 3600;
my $node = new_node('main', allows_streaming => 1, conf => q{
max_prepared_transactions = 10
max_worker_processes = 8
restart_after_crash = on
});
$clock->start_server($node);

my %layout =
  (tweet => 'snowflake', post => 'instagram', entry => 'json4', invoice => 'counter', ticket => 'tickets');
my @names = sort keys %layout;
$node->safe_psql('postgres', 'CREATE EXTENSION sno_flakes CASCADE');
$node->safe_psql(
	'postgres', qq{
SELECT sno_flake_create_generator('$_', '$layout{$_}');
CREATE TABLE $_ (id bigint PRIMARY KEY DEFAULT sno_flake_generate('$_'));
}) foreach @names;

my $reader = open_session($node, 'postgres');
my $older  = open_session($node, 'postgres');
my $writer = open_session($node, 'postgres');

# An id of a generator, inserted in a transaction that the session begins
sub begin_insert
{
	my ($session, $name) = @_;
	$session->query_safe('BEGIN');
	return $session->query_safe("INSERT INTO $name DEFAULT VALUES RETURNING id");
}

sub is_held
{
	my ($session, $name, $id, $what) = @_;
	is($session->query_safe("SELECT sno_flake_watermark('$name') <= $id"),
		't', "$name: $what: held back");
	return;
}

# A watermark passes an id within a unit of its layout.
sub is_free
{
	my ($session, $name, $id, $what) = @_;
	wait_until("$name: $what: the watermark rises",
		sub { $session->query_safe("SELECT sno_flake_watermark('$name') > $id") eq 't' });
	pass("$name: $what: free");
	return;
}

sub take_snapshot
{
	$older->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	return;
}

sub blockers
{
	return $reader->query_safe('SELECT count(*) FROM sno_watermark_blockers()');
}

foreach my $name (@names)
{
	# Another transaction has a higher id and commits first.
	my $id = begin_insert($writer, $name);
	my $later = $reader->query_safe("INSERT INTO $name DEFAULT VALUES RETURNING id");
	is_held($reader, $name, $id, 'a transaction is open');
	is( $reader->query_safe('SELECT pid FROM sno_watermark_blockers()'),
		$writer->{pid}, "$name: its session is named");
	take_snapshot();
	$writer->query_safe('COMMIT');
	is_held($older, $name, $id, 'an older snapshot');
	is_free($reader, $name, $later, 'a new snapshot');
	$older->query_safe('COMMIT');
	is(blockers(), 0, "$name: nobody holds it back");

	# What was rolled back leaves nothing.
	$id = begin_insert($writer, $name);
	is_held($reader, $name, $id, 'a transaction that will abort');
	$writer->query_safe('ROLLBACK');
	is_free($reader, $name, $id, 'it has aborted');
	$writer->query_safe('BEGIN; SAVEPOINT a');
	$id = $writer->query_safe("INSERT INTO $name DEFAULT VALUES RETURNING id");
	$writer->query_safe('ROLLBACK TO a');
	is_held($reader, $name, $id, 'a subtransaction was rolled back');
	my $next = $writer->query_safe("INSERT INTO $name DEFAULT VALUES RETURNING id");
	$writer->query_safe('COMMIT');
	is_free($reader, $name, $next, 'after it');

	# A prepared transaction, and its end
	$id = begin_insert($writer, $name);
	$writer->query_safe("PREPARE TRANSACTION '$name'");
	$later = $reader->query_safe("INSERT INTO $name DEFAULT VALUES RETURNING id");
	is_held($reader, $name, $id, 'a transaction is prepared');
	is($reader->query_safe('SELECT count(*), count(pid), min(transaction::text::bigint) > 0 FROM sno_watermark_blockers()'),
		'1|0|t', "$name: it is named");
	take_snapshot();
	$reader->query_safe("COMMIT PREPARED '$name'");
	is_held($older, $name, $id, 'it is committed, an older snapshot');
	is_free($reader, $name, $later, 'it is committed');
	$older->query_safe('COMMIT');
}

# One transaction, with ids of all kinds, is one blocker.
$writer->query_safe('BEGIN');
$writer->query_safe("INSERT INTO $_ DEFAULT VALUES") foreach @names;
is(blockers(), 1, 'a transaction with ids of all kinds is named once');
$writer->query_safe("PREPARE TRANSACTION 'all'");
is(blockers(), 1, 'so it is when it is prepared');
$reader->query_safe("ROLLBACK PREPARED 'all'");

# Numbers that workers draw are those of their leader's transaction.
$writer->query_safe('CREATE TABLE ten AS SELECT generate_series(1, 10) AS n');
$writer->query_safe(
	q{ALTER TABLE ten SET (parallel_workers = 2); SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off});
foreach my $name (@names)
{
	$writer->query_safe('BEGIN');
	my $by_workers = "SELECT min(id) FROM (SELECT sno_flake_generate('$name') AS id FROM ten WHERE n > 0 OFFSET 0) AS s";
	like($writer->query_safe("EXPLAIN (COSTS off) $by_workers"), qr/Parallel/, "$name: workers generate");
	my $id = $writer->query_safe($by_workers);
	is_held($reader, $name, $id, 'ids of workers');
	is( $reader->query_safe('SELECT pid FROM sno_watermark_blockers()'),
		$writer->{pid}, "$name: the leader is named");
	$writer->query_safe('COMMIT');
	is_free($reader, $name, $id, 'the leader has committed');
}

# The clock is set back: no id is below what a reader has passed.
sub watermarks
{
	return map { $_ => $reader->query_safe("SELECT sno_flake_watermark('$_')") } @names;
}
my %passed = watermarks();
$clock->set_offset(-$hour / 2);
foreach my $name (@names)
{
	my $id = begin_insert($writer, $name);
	cmp_ok($id, '>=', $passed{$name}, "$name: the clock was set back");
	is_held($reader, $name, $id, 'the clock was set back');
	$writer->query_safe('COMMIT');
	is_free($reader, $name, $id, 'the clock was set back');
}
# More ids than a unit has, ahead of the clock
is($reader->query_safe("SELECT count(DISTINCT sno_flake_generate('$_')) FROM generate_series(1, 10000)"),
	10000, "$_: units ahead of the clock are exhausted")
  foreach @names;

# A crash, with prepared transactions, while the clock is behind
my %prepared;
foreach my $name (@names)
{
	$prepared{$name} = begin_insert($writer, $name);
	$writer->query_safe("PREPARE TRANSACTION '$name'");
}
%passed = watermarks();
cmp_ok($passed{$_}, '<=', $prepared{$_}, "$_: prepared") foreach @names;
$node->stop('immediate');
drop_session($_) foreach $reader, $older, $writer;
$clock->start_server($node);
($reader, $older, $writer) = map { open_session($node, 'postgres') } 1 .. 3;
is(blockers(), scalar @names, 'after a crash, prepared transactions are named');
foreach my $name (@names)
{
	is_held($reader, $name, $prepared{$name}, 'prepared before a crash');
	my $id = begin_insert($writer, $name);
	# In the same unit, the nodes that are chosen now may be lower.
	cmp_ok($id, '>=', $passed{$name}, "$name: after a crash");
	isnt($id, $prepared{$name}, "$name: another id");
	$writer->query_safe('COMMIT');
}
$reader->query_safe("COMMIT PREPARED '$_'") foreach @names;
is_free($reader, $_, $reader->query_safe("SELECT max(id) FROM $_"), 'after a crash') foreach @names;
%passed = watermarks();
$node->restart;
drop_session($_) foreach $reader, $older, $writer;
($reader, $writer) = map { open_session($node, 'postgres') } 1 .. 2;
cmp_ok($reader->query_safe("SELECT sno_flake_generate('$_')"), '>=', $passed{$_}, "$_: after a restart")
  foreach @names;
$clock->set_offset(0);

# A transaction that told units and ticks before a restart of the session's server is gone.
is(blockers(), 0, 'nobody holds anything back');

# A standby knows nothing of what runs.  It reads what the primary told.
$node->safe_psql('postgres',
	'CREATE TABLE told (name text PRIMARY KEY, w bigint); INSERT INTO told '
	  . join(' UNION ALL ', map { "SELECT '$_', sno_flake_watermark('$_')" } @names));
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$clock->start_server($standby);
my (undef, undef, $error) = $standby->psql('postgres', "SELECT sno_flake_watermark('invoice')");
like($error, qr/ERROR:  cannot execute sno_flake_watermark\(\) during recovery/, 'a standby has no watermark');
foreach my $name (@names)
{
	my $id = begin_insert($writer, $name);
	my $later = $reader->query_safe("INSERT INTO $name DEFAULT VALUES RETURNING id");
	my $tell = "UPDATE told SET w = sno_flake_watermark('$name') WHERE name = '$name'";
	my $read = "SELECT count(*) FROM $name WHERE id >= $id AND id < (SELECT w FROM told WHERE name = '$name')";
	$reader->query_safe($tell);
	$node->wait_for_catchup($standby, 'replay');
	is($standby->safe_psql('postgres', $read), 0, "$name: a standby doesn't show what is late");
	$writer->query_safe('COMMIT');
	wait_until(
		"$name: the standby shows both",
		sub {
			$reader->query_safe($tell);
			$standby->safe_psql('postgres', $read) == 2;
		});
	pass("$name: then a standby shows both rows");
}
$standby->stop;

# Sealed ids have no order.
SKIP:
{
	skip 'extension sno_seal is not installed', 2
	  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'sno_seal'") == 0;
	$node->safe_psql('postgres',
		q{CREATE EXTENSION sno_seal; SELECT sno_seal_create_key('k'), sno_flake_create_generator('sealed', 'randflake', key => 'k');
		CREATE TABLE sealed (id bigint);
		CREATE TRIGGER guard BEFORE INSERT ON sealed FOR EACH ROW EXECUTE FUNCTION sno_flake_watermark_guard('id', 'sealed')});
	foreach my $call (q{SELECT sno_flake_watermark('sealed')}, 'INSERT INTO sealed VALUES (1)')
	{
		like(error_of($reader, $call),
			qr/ERROR:  55000: generator "sealed" has no watermark\nDETAIL:  Its ids are sealed, and sealed ids have no order\.\nHINT:/,
			"a sealed generator: $call");
	}
}

close_session($_) foreach $reader, $writer;
check_log($node);
$node->stop;
done_testing();
