
# A lease is on disk before an id is issued under it: with wal_level = minimal,
# at each renewal, within commands of all kinds, and while the table is
# vacuumed.  A renewal that fails raises no error until the lease is over.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

my $node = new_node('main', conf => q{
wal_level = minimal
max_wal_senders = 0
wal_writer_delay = 10s
max_prepared_transactions = 1
});
$node->start;

my $notes = NotedIds->new;

# Crash the server, and check that what was noted lies within leases on disk.
sub crash
{
	my ($what) = @_;
	$node->stop('immediate');
	$node->start;
	$notes->check_leases($node, 'postgres', $what);
	$notes->next_phase;
	return;
}

#
# Created and used in one transaction, which writes no WAL for its tables
#
$notes->next_phase;
my $session = open_session($node, 'postgres');
$session->query_safe(
	'BEGIN; CREATE EXTENSION sno; CREATE TABLE t (id sno NOT NULL)');
$notes->add(
	$session,
	$session->query_safe(
		'INSERT INTO t (id) ' . ids_of(1000) . ' RETURNING id'),
	'committed');
$session->query_safe('COMMIT');
crash('an extension created and used in one transaction');
$notes->check_rows($node, 'postgres', 't');
$notes->add('after the crash', $node->safe_psql('postgres', ids_of(1000)));
crash('the life after a crash');

# Commits don't wait until they are flushed, leases do.
$session = open_session($node, 'postgres', 'synchronous_commit = off');
$notes->add($session, $session->query_safe(ids_of(1)));
crash('commits that are not flushed');

# A transaction that is prepared, and committed after a crash
$session = open_session($node, 'postgres');
$session->query_safe('BEGIN');
$notes->add(
	$session,
	$session->query_safe(
		'INSERT INTO t (id) ' . ids_of(1000) . ' RETURNING id'),
	'committed');
$session->query_safe(q{PREPARE TRANSACTION 'later'});
$notes->add($session, $session->query_safe(ids_of(1000)));
crash('a prepared transaction');
$notes->add('after the crash', $node->safe_psql('postgres', ids_of(1000)));
$node->safe_psql('postgres', q{COMMIT PREPARED 'later'});
crash('a prepared transaction that was committed');
$notes->check_rows($node, 'postgres', 't');
$notes->check('transactions of all kinds');

#
# Renewals
#
configure($node, 'sno.lease_duration', '1s');
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION amcheck;
CREATE EXTENSION pg_visibility;
CREATE VIEW wrong AS
SELECT 'heap: ' || msg AS what FROM verify_heapam('sno_catalog.sno_lease')
UNION ALL SELECT 'frozen: ' || t_ctid FROM pg_check_frozen('sno_catalog.sno_lease')
UNION ALL SELECT 'visible: ' || t_ctid FROM pg_check_visible('sno_catalog.sno_lease')}
);
my $clients = $notes->start_clients(
	$node, 'postgres',
	clients  => 3,
	max_wait => 100_000,
	table    => 't');
$notes->wait_for_notes($clients);
$session = open_session($node, 'postgres');

# The leases of each partition, one after the other: [taken_at, tick_until].
my %leases;

sub watch_leases
{
	foreach my $row (
		split /\n/,
		$session->query_safe(
			'SELECT partition, extract(epoch FROM taken_at), extract(epoch FROM tick_until) FROM sno_catalog.sno_lease WHERE tick_until > now()'
		))
	{
		my ($partition, @lease) = split /\|/, $row;
		my $known = $leases{$partition} //= [];
		push @$known, \@lease if !@$known || $known->[-1][0] ne $lease[0];
	}
	return;
}

sub wait_for_renewals
{
	my ($count) = @_;
	%leases = ();
	wait_until(
		'leases are renewed',
		sub {
			watch_leases();
			grep { @$_ > $count } values %leases;
		});
	return;
}

wait_for_renewals(4);
my ($early, $shortened) = (0, 0);
foreach my $known (values %leases)
{
	for my $n (1 .. $#$known)
	{
		$early++     if $known->[$n][0] < $known->[ $n - 1 ][1];
		$shortened++ if $known->[$n][1] < $known->[ $n - 1 ][1];
	}
}
cmp_ok($early, '>', 0, 'leases are renewed before they are over');
is($shortened, 0, 'no lease is shortened by a renewal');

# Renewals on a page that VACUUM has marked as frozen
$session->query_safe(
	'VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) sno_catalog.sno_lease');
is($session->query_safe('SELECT * FROM wrong'),
	'', 'nothing is wrong with the table after VACUUM FREEZE');
wait_for_renewals(1);
is( $session->query_safe(
		'SELECT all_frozen > 0 FROM pg_visibility_map_summary(\'sno_catalog.sno_lease\')'
	),
	't',
	'the table stays frozen when leases are renewed');
is($session->query_safe('SELECT * FROM wrong'),
	'', 'nothing is wrong with the frozen table after renewals');

# Rows that VACUUM FULL moves again and again
for (1 .. 20)
{
	$session->query_safe('VACUUM FULL sno_catalog.sno_lease');
}
wait_for_renewals(1);
is( $session->query_safe(
		'SELECT count(*) - count(DISTINCT partition) FROM sno_catalog.sno_lease'
	),
	0,
	'each partition has one row after VACUUM FULL');
is($session->query_safe('SELECT * FROM wrong'),
	'', 'nothing is wrong with the table after VACUUM FULL');

$notes->wait_for_notes($clients);
$node->stop('immediate');
my (undef, $errors) = $notes->collect($clients);
unlike($errors, qr/ERROR/, 'no client met an error at a renewal');
$node->start;
$notes->check_leases($node, 'postgres', 'renewals');
$notes->next_phase;
$notes->check('renewals');
$notes->check_rows($node, 'postgres', 't');

#
# Renewals within commands of all kinds, each longer than a lease
#
$session = open_session($node, 'postgres');
$session->query_safe(
	q{
CREATE FUNCTION slow(n integer) RETURNS sno LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
BEGIN
	PERFORM pg_sleep(0.01);
	RETURN sno_generate(n % 256);
END $$;
CREATE FUNCTION slow_and_failing(n integer) RETURNS sno LANGUAGE plpgsql AS $$
DECLARE
	id sno;
BEGIN
	BEGIN
		id := slow(n);
		PERFORM 1 / (n % 2);
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
	RETURN id;
END $$;
CREATE TABLE source AS SELECT n FROM generate_series(1, 150) AS n;
CREATE TABLE large_source AS SELECT n FROM generate_series(1, 500) AS n;
ALTER TABLE large_source SET (parallel_workers = 2);
CREATE TABLE copied (id sno DEFAULT slow(1), n integer)});
my $numbers  = join('', map { "$_\n" } 1 .. 150);
my %commands = (
	'SELECT' =>
	  'SELECT sno_generate(n) FROM source, LATERAL (SELECT pg_sleep(0.01 + n * 0)) AS s',
	'a read-only transaction' =>
	  'BEGIN READ ONLY; SELECT slow(n) FROM source; COMMIT',
	'exception blocks' => 'SELECT slow_and_failing(n) FROM source',
	'a cursor'         =>
	  'BEGIN; DECLARE c CURSOR FOR SELECT slow(n) FROM source; FETCH 100 FROM c; FETCH ALL FROM c; COMMIT',
	'a cursor after COMMIT' =>
	  'BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT slow(n) FROM source; COMMIT; FETCH ALL FROM c; CLOSE c',
	'CREATE TABLE AS' =>
	  'CREATE TABLE made AS SELECT slow(n) AS id FROM source; SELECT id FROM made',
	'ALTER TABLE' =>
	  'ALTER TABLE source ADD COLUMN id sno DEFAULT slow(2); SELECT id FROM source; ALTER TABLE source DROP COLUMN id',
	'COPY' =>
	  "COPY copied (n) FROM STDIN;\n$numbers\\.\nSELECT id FROM copied",
	'a sort' =>
	  'SELECT id FROM (SELECT slow(n) AS id FROM source) AS made ORDER BY id DESC',
	'parallel workers' => q{
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT slow(n) FROM large_source;
RESET ALL});
foreach my $what (sort keys %commands)
{
	my $taken =
	  $session->query_safe('SELECT max(taken_at) FROM sno_catalog.sno_lease');
	my @ids = split /\n/, $session->query_safe($commands{$what});

	# Workers issue in one partition, each in its own order.
	$notes->add($what =~ /workers/ ? "$what $_" : $session, $_) foreach @ids;
	cmp_ok(scalar @ids, '>=', 150, "$what: all ids are made");
	isnt(
		$session->query_safe(
			'SELECT max(taken_at) FROM sno_catalog.sno_lease'),
		$taken,
		"$what: a lease is renewed meanwhile");
}
$notes->check('commands');
crash('commands');

#
# A renewal that fails is logged while the lease is good, and is an error when
# the lease is over.  When the cause is gone, the session goes on.
#
$session = open_session($node, 'postgres');

sub renewal_fails
{
	my ($what, $do, $undo, $error, $logged) = @_;
	my ($position, $got) = (-s $node->logfile, '');

	# A session that was too slow to try early is given another chance.
	wait_until(
		"$what is logged, and raises an error",
		sub {
			$notes->add($session, $session->query_safe(ids_of(10)));
			$session->query_safe($do);
			wait_until(
				"$what raises an error",
				sub {
					$got = error_of($session, 'SELECT sno_generate()');
					$got ne '';
				});
			$session->query_safe($undo);
			return slurp_file($node->logfile, $position) =~ $logged;
		});
	like($got, $error, "$what is logged before it raises an error");
	$notes->add($session, $session->query_safe(ids_of(10)));
	return;
}

renewal_fails(
	'an index',
	'CREATE INDEX i ON sno_catalog.sno_lease (partition)',
	'DROP INDEX sno_catalog.i',
	qr/^ERROR:  55000: table "sno_lease" of extension "sno" was altered$/m,
	qr/LOG:  could not renew the lease of partition \d+ yet: table "sno_lease" of extension "sno" was altered/
);
foreach my $names ([ 'TABLE sno_catalog.', 'sno_lease' ],
	[ 'SCHEMA ', 'sno_catalog' ])
{
	my ($what, $name) = @$names;
	renewal_fails(
		"another name of $what$name",
		"ALTER $what$name RENAME TO another",
		"ALTER ${what}another RENAME TO $name",
		qr/^ERROR:  42P01: table "sno_lease" of extension "sno" does not exist$/m,
		qr/LOG:  could not renew the lease of partition \d+ yet: table "sno_lease" of extension "sno" does not exist/
	);
}

# After that, the session again notices what happens to the table.
$session->query_safe('TRUNCATE sno_catalog.sno_lease');
$session->query_safe('SELECT pg_sleep(0.01)');
$notes->add($session, $session->query_safe(ids_of(10)));
is($session->query_safe('SELECT count(*) FROM sno_catalog.sno_lease'),
	1, 'the row of a lease is written again after TRUNCATE');
close_session($session);

#
# A lease that is written again ends no earlier than before
#
$session = open_session($node, 'postgres');
$notes->add($session, $session->query_safe(ids_of(10)));
configure($node, 'sno.lease_duration', '1h', $session);
my $short =
  $session->query_safe('SELECT max(tick_until) FROM sno_catalog.sno_lease');
wait_until(
	'a long lease is in use',
	sub {
		my $id = $session->query_safe('SELECT sno_generate()');
		$notes->add($session, $id);
		$session->query_safe("SELECT sno_timestamp('$id') > '$short'") eq 't';
	});
my $until =
  $session->query_safe('SELECT max(tick_until) FROM sno_catalog.sno_lease');
configure($node, 'sno.lease_duration', '1s', $session);
$session->query_safe('TRUNCATE sno_catalog.sno_lease');
$session->query_safe('SELECT pg_sleep(0.01)');
$notes->add($session, $session->query_safe(ids_of(10)));
is( $session->query_safe(
		"SELECT max(tick_until) >= '$until' FROM sno_catalog.sno_lease"),
	't',
	'a row that is written again after TRUNCATE has the longest lease');
crash('a lost row');
$notes->check('all');

$node->stop;
done_testing();
