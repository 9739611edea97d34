
# The recipe of doc/partitions.md for pg_partman, as it stands there.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $node = new_node('main', conf => "TimeZone = 'UTC'");
$node->start;
my $version = $node->safe_psql('postgres',
	q{SELECT default_version FROM pg_available_extensions WHERE name = 'pg_partman'}
);
plan skip_all => $version eq ''
  ? 'pg_partman is not installed'
  : "pg_partman $version takes no encoders: 5.2 does"
  unless $version =~ /^5\.([2-9]|\d\d)/;
note "pg_partman $version";

my $page = slurp_file("$FindBin::RealBin/../../doc/partitions.md");
my ($recipe) = $page =~ /^```sql pg_partman\n(.*?)^```$/ms
  or die 'no recipe';
$recipe =~ s/create_partition/create_parent/ if $version =~ /^5\.[23]\./;
$node->safe_psql('postgres', "CREATE EXTENSION sno; $recipe");

# The first ids of the partitions, and their times
my $bounds = q{(SELECT lower, sno_timestamp(lower) AS begins FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid,
	LATERAL CAST(substring(pg_get_expr(relpartbound, c.oid) FROM '[2-9a-x]{16}') AS sno) AS lower
	WHERE inhparent = 'event'::regclass AND lower IS NOT NULL) AS b};

# Whether all bounds are the first ids of months, and partitions cover at least
# these months before and after now, and none of those further back.
sub check_partitions
{
	my ($before, $after, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( $node->safe_psql(
			'postgres', qq{
SELECT bool_and(sno_min(date_trunc('month', begins)) = lower), min(begins) = this - interval '$before months', max(begins) >= this + interval '$after months'
FROM $bounds, date_trunc('month', now()) AS this GROUP BY this}
		),
		't|t|t',
		$name);
	return;
}
check_partitions(4, 4,
	'four partitions before and after the one of this month');

$node->safe_psql('postgres',
	"INSERT INTO event (data) SELECT n FROM generate_series(1, 1000) AS n");
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM event WHERE tableoid = to_char(now(), '"event_p"YYYYMM"01"')::regclass}
	),
	'1000',
	'new ids are in the partition of this month');

# A unit of 4 ms never belongs to two partitions.
is( $node->safe_psql(
		'postgres', q{
WITH month AS (SELECT generate_series(date_trunc('month', now()) - interval '3 months', now() + interval '4 months', '1 month') AS start),
moved AS (INSERT INTO event (id, data) SELECT id, start FROM month,
	LATERAL (VALUES (sno_max(start - interval '1 us')), (sno_min(start))) AS v(id) RETURNING tableoid::regclass::text, id, data::timestamptz AS start)
SELECT bool_and(tableoid = to_char(CASE WHEN id < sno_min(start) THEN start - interval '1 month' ELSE start END, '"event_p"YYYYMM"01"')), count(*) FROM moved}
	),
	't|16',
	'the last id before a bound and the first id from it on are in the two partitions');
$node->safe_psql('postgres', q{DELETE FROM event WHERE data LIKE '%:%'});
is( $node->safe_psql(
		'postgres', q{
SELECT count(*) FROM event WHERE id <@ tstzrange(now() - interval '1 hour', now() + interval '1 hour')}
	),
	'1000',
	'a range of time finds them');
my $range = $node->safe_psql('postgres',
	q{SELECT tstzrange(date_trunc('month', now()), date_trunc('month', now()) + interval '1 day')}
);
unlike(
	$node->safe_psql(
		'postgres',
		"EXPLAIN (COSTS OFF) SELECT * FROM event WHERE id <@ tstzrange '$range'"
	),
	qr/Append/,
	'a range of time reads one partition');

# What is older than the retention is detached, and what is ahead is created.
$node->safe_psql('postgres',
	"UPDATE partman.part_config SET retention = '2 months', premake = 6");
$node->safe_psql('postgres', 'CALL partman.run_maintenance_proc()');
check_partitions(2, 6, 'maintenance adds partitions and detaches others');
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM pg_class WHERE relname LIKE 'event\_p%' AND relkind = 'r' AND NOT relispartition}
	),
	'2',
	'detached partitions stay as tables');

$node->safe_psql('postgres',
	q{UPDATE partman.part_config SET retention = '1 month', retention_keep_table = false});
$node->safe_psql('postgres', 'CALL partman.run_maintenance_proc()');
check_partitions(1, 6, 'maintenance drops partitions');
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM pg_class WHERE relname LIKE 'event\_p%' AND relkind = 'r' AND NOT relispartition}
	),
	'2',
	'dropped partitions are gone');

# Rows of the month after the last partition, which the page's statements move
my ($from, $to) = split /\|/, $node->safe_psql('postgres',
	"SELECT max(begins) + interval '1 month', max(begins) + interval '2 months' FROM $bounds");
$node->safe_psql('postgres',
	"INSERT INTO event SELECT sno_make('$from', 0, n), n FROM generate_series(1, 100) AS n");
my $misplaced = 'SELECT count(*) FROM event_default';
is($node->safe_psql('postgres', $misplaced),
	100, 'rows without a partition are in the default partition');
my ($move) = $page =~ /^```sql\n(BEGIN;\nCREATE TABLE moved .*?)^```$/ms;
$move =~ s/2026-12-01 00:00\+00/$from/g;
$move =~ s/2027-01-01 00:00\+00/$to/g;
$node->safe_psql('postgres', $move);
is($node->safe_psql('postgres', $misplaced), 0, 'they are moved');

# The same table, with the procedure of this extension
$node->safe_psql('postgres',
	"CALL sno_maintain_time_partitions('event', '1 month', '10 months')");
$node->safe_psql('postgres', 'CALL partman.run_maintenance_proc()');
check_partitions(1, 10, 'both can be used for one table');

# Without partitions again
my $count = $node->safe_psql('postgres',
	'CREATE TABLE whole (LIKE event INCLUDING ALL); SELECT count(*) FROM event');
$node->safe_psql('postgres',
	q{CALL partman.undo_partition_proc('public.event', 'public.whole', p_keep_table := false, p_wait := 0)}
);
is( $node->safe_psql(
		'postgres',
		q{SELECT (SELECT count(*) FROM whole), (SELECT count(*) FROM event), (SELECT count(*) FROM pg_inherits WHERE inhparent = 'event'::regclass)}
	),
	"$count|0|0",
	'undo_partition_proc moves all rows to another table');

$node->stop;
check_log($node);
done_testing();
