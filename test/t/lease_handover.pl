
# Partitions that a session leaves to the next one, and parallel workers that
# lease partitions.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $node = new_node('main', conf => q{
wal_level = minimal
max_wal_senders = 0
sno.lease_duration = 1h
});
$node->start;

# A query whose ids are all made by workers.
my $in_worker = q{
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL parallel_leader_participation = off;
SELECT sno_generate() FROM source};

$node->safe_psql(
	'postgres', q{
CREATE TABLE source AS SELECT n FROM generate_series(1, 1000) AS n;
ALTER TABLE source SET (parallel_workers = 2)});

my @ids = split /\n/,
  $node->safe_psql('postgres',
	"BEGIN; CREATE EXTENSION sno; $in_worker; COMMIT");
is(scalar @ids, 1000,
	'workers generate in the transaction that creates the extension');
(my $explain = $in_worker) =~ s/SELECT/EXPLAIN (ANALYZE) SELECT/;
like(
	$node->safe_psql('postgres', "BEGIN; $explain; COMMIT"),
	qr/Workers Launched: 2/,
	'the query runs in workers');

#
# If a worker wrote to a file that the transaction of its leader has not
# committed, the lease would be lost with that transaction.
#
$node->append_conf('postgresql.conf', 'wal_level = replica');
$node->restart;
my ($status, $out, $err) = $node->psql('postgres',
	"BEGIN; TRUNCATE sno_catalog.sno_lease; $in_worker; COMMIT");
like(
	$err,
	qr/ERROR:  table "sno_lease" of extension "sno" was rewritten or truncated by this transaction/,
	'a worker refuses a table that its leader truncated');
is($out, '', 'the worker generates nothing');

#
# A session that takes a partition takes its lease, too, and need not write it.
# A row that was written only once shows a generator that has not issued
# anything.
#
for (1 .. 20)
{
	push @ids, $node->safe_psql('postgres', 'SELECT sno_generate()');
}
is( $node->safe_psql(
		'postgres', q{
SELECT count(*) FILTER (WHERE sequence <= shard_max) FROM sno_catalog.sno_lease}
	),
	0,
	'no lease is written again before half of it is over');

my %seen;
$seen{$_}++ foreach @ids;
is(scalar(grep { $seen{$_} > 1 } keys %seen), 0, 'no id was issued twice');

$node->stop;
done_testing();
