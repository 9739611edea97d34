
# Tables that are rewritten while clients generate: a table with ids as its key
# by pg_repack, the table of leases by VACUUM FULL and CLUSTER.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

# Leases are so short that each of them is renewed while the table is rewritten.
my $node = start_node('main', conf => 'sno.lease_duration = 1s', sql => q{
CREATE EXTENSION amcheck;
CREATE TABLE t (id sno PRIMARY KEY);
CREATE INDEX t_hash ON t USING hash (id)});

my $notes   = NotedIds->new;
my $clients = $notes->start_clients(
	$node, 'postgres',
	table    => 't',
	max_wait => 100_000);
$notes->wait_for_notes($clients);

#
# The table of leases
#
my $cluster =
  'BEGIN; CREATE INDEX i ON sno_catalog.sno_lease (tick_until); CLUSTER sno_catalog.sno_lease USING i; DROP INDEX sno_catalog.i; COMMIT';
my %files;
foreach my $n (1 .. 6)
{
	foreach my $command ('VACUUM FULL sno_catalog.sno_lease', $cluster)
	{
		$node->safe_psql('postgres', $command);
		$files{
			$node->safe_psql('postgres',
				"SELECT pg_relation_filenode('sno_catalog.sno_lease')") } = 1;
		$notes->wait_for_notes($clients) if $n % 3 == 0;
	}
}
is(scalar keys %files, 12, 'the table of leases is rewritten 12 times');
cmp_ok(
	$node->safe_psql(
		'postgres', 'SELECT count(*) FROM sno_catalog.sno_lease'),
	'<=', 8,
	'four sessions use few partitions, though the table is rewritten');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM verify_heapam('sno_catalog.sno_lease')"),
	0,
	'nothing is wrong with the rewritten table of leases');

#
# A table with ids as its key
#
SKIP:
{
	my $available = $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_repack'"
	);
	skip 'pg_repack is not installed', 6 if !$available;

	$node->safe_psql('postgres', 'CREATE EXTENSION pg_repack');
	my $file =
	  $node->safe_psql('postgres', "SELECT pg_relation_filenode('t')");
	$node->command_ok(
		[ 'pg_repack', '-d', 'postgres', '-t', 't' ],
		'pg_repack runs while clients insert');
	isnt($node->safe_psql('postgres', "SELECT pg_relation_filenode('t')"),
		$file, 'pg_repack has rewritten the table');
	$notes->wait_for_notes($clients);
	$node->command_ok(
		[ 'pg_repack', '-d', 'postgres', '-t', 't', '-x' ],
		'pg_repack rewrites indexes while clients insert');
	$node->safe_psql('postgres', "SELECT bt_index_check('t_pkey', true)");
	$node->command_checks_all(
		[ 'pg_repack', '-d', 'postgres', '-t', 'sno_catalog.sno_lease' ],
		0,
		[qr/^$/],
		[qr/"sno_catalog\.sno_lease" must have a primary key/],
		'pg_repack refuses the table of leases');
}

my (undef, $errors) = $notes->stop_clients($node, $clients);
unlike($errors, qr/ERROR/,
	'no client met an error while tables were rewritten');
$notes->check('rewritten');
$notes->check_rows($node, 'postgres', 't');

#
# After a crash
#
$clients =
  $notes->start_clients($node, 'postgres', table => 't', max_wait => 100_000);
$notes->wait_for_notes($clients);
$node->safe_psql('postgres', $_)
  foreach ('VACUUM FULL sno_catalog.sno_lease', $cluster);
$notes->wait_for_notes($clients);
kill_postmaster($node);
$notes->collect($clients);
start_again($node);
$notes->check_leases($node, 'postgres', 'a crash after rewriting');
$notes->next_phase;
$notes->add('after the crash', $node->safe_psql('postgres', ids_of(1000)));
$notes->check('all');

#
# A session whose query is cancelled while it looks the table up again
#
configure($node, 'sno.lease_duration', '1h');
my $session = open_session($node, 'postgres');
my $blocker = open_session($node, 'postgres');
my ($partition) =
  partitions_of($session->query_safe('SELECT sno_generate()'));
$blocker->query_safe('TRUNCATE sno_catalog.sno_lease');
$blocker->query_safe(
	'GRANT USAGE ON SCHEMA sno_catalog TO pg_database_owner');
$blocker->query_safe('BEGIN; LOCK TABLE pg_namespace');
send_query($session, 'SELECT sno_generate()');
wait_until(
	'the session waits for the catalog of schemas',
	sub {
		$blocker->query_safe(
			"SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $session->{pid} AND relation = 'pg_namespace'::regclass"
		) eq '1';
	});
$blocker->query_safe("SELECT pg_cancel_backend($session->{pid})");
like((receive($session))[1],
	qr/^ERROR:  57014: /m, 'the look-up of the table is cancelled');
$blocker->query_safe('COMMIT');
is_deeply(
	[ partitions_of($session->query_safe('SELECT sno_generate()')) ],
	[$partition],
	'the session goes on in its partition');
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM sno_catalog.sno_lease WHERE partition = $partition"
	),
	1,
	'but not without a row in the new file of the table');
close_session($_) foreach ($session, $blocker);

#
# A table of leases that one transaction creates, while another session issues from the
# same generator.  The numbers of a counter come in blocks, which no clock bounds.
#
my $create = q{
CREATE EXTENSION sno_flakes;
SELECT sno_flake_create_generator('c', 'counter')};
my $numbers =
  q{SELECT max(sno_flake_generate('c')) FROM generate_series(1, 300000)};
$node->safe_psql('postgres', $create);
$session = open_session($node, 'postgres');
$session->query_safe($numbers);
my (undef, undef, $refused) = $node->psql('postgres', qq{
BEGIN;
DROP EXTENSION sno_flakes;
DROP EXTENSION sno CASCADE;
CREATE EXTENSION sno;
$create;
$numbers});
like(
	$refused,
	qr/ERROR:  table "sno_lease" of extension "sno" was created by this transaction, but other sessions use the generator/,
	'a generator that others use needs a table of leases that is committed');
my $last = $session->query_safe(q{SELECT sno_flake_generate('c')});
kill_postmaster($node);
close_session($session);
start_again($node);
cmp_ok($node->safe_psql('postgres', q{SELECT sno_flake_generate('c')}),
	'>', $last, 'no number comes again after a crash');
like(
	$node->safe_psql(
		'postgres', qq{
BEGIN;
DROP EXTENSION sno_flakes;
DROP EXTENSION sno CASCADE;
CREATE EXTENSION sno;
$create;
$numbers;
COMMIT}),
	qr/^\d+$/m,
	'a generator that nobody else uses does not');

$node->stop;
done_testing();
