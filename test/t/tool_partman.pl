
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

my ($recipe) =
  slurp_file("$FindBin::RealBin/../../doc/partitions.md") =~
  /^```sql pg_partman\n(.*?)^```$/ms
  or die 'no recipe';
$recipe =~ s/create_partition/create_parent/ if $version =~ /^5\.[23]\./;
$node->safe_psql('postgres', "CREATE EXTENSION sno; $recipe");

# Whether all bounds are the first ids of months, and partitions cover at least
# these months before and after now, and none of those further back.
sub check_partitions
{
	my ($before, $after, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( $node->safe_psql(
			'postgres', qq{
SELECT bool_and(sno_min(date_trunc('month', begins)) = lower), min(begins) = this - interval '$before months', max(begins) >= this + interval '$after months'
FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid,
	LATERAL CAST(substring(pg_get_expr(relpartbound, c.oid) FROM '[2-9a-x]{16}') AS sno) AS lower, sno_timestamp(lower) AS begins, date_trunc('month', now()) AS this
WHERE inhparent = 'event'::regclass AND lower IS NOT NULL GROUP BY this}
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

# The same table, with the procedure of this extension
$node->safe_psql('postgres',
	"CALL sno_maintain_time_partitions('event', '1 month', '10 months')");
check_partitions(2, 10, 'both can be used for one table');

$node->stop;
check_log($node);
done_testing();
