
# The recipes of doc/time.md, word for word: each statement is run, and what the page
# shows after it is compared.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $page = slurp_file("$FindBin::RealBin/../../doc/time.md");

# Blocks of the page, as [what it shows, text]
my @blocks;
push @blocks, [ $1, $2 ] while $page =~ /^```(\w[^\n]*)\n(.*?)\n```$/msg;
my $create = (shift @blocks)->[1];

my $node = new_node('main', conf => q{
TimeZone = 'UTC'
jit = off
autovacuum = off
});
$node->start;

# This server is the archive, too.  There, half of the rows are of the future, one for
# each second.
$node->safe_psql('postgres', 'CREATE DATABASE archive');
$node->safe_psql($_, "CREATE EXTENSION sno; $create") foreach 'postgres', 'archive';
$node->safe_psql(
	'postgres', q{
INSERT INTO reading
SELECT sno_make(timestamptz '2026-01-01 00:00+00' + n * interval '1 s', n % 5, 0), n % 999, n % 97
FROM generate_series(0, 99999) AS n;
VACUUM ANALYZE reading});
$node->safe_psql(
	'archive', q{
INSERT INTO reading
SELECT sno_make(now() + n * interval '1 s', 0, 0), 1, n
FROM generate_series(-50000, 49999) AS n;
VACUUM ANALYZE reading});
my $host = $node->host;
my $port = $node->port;
$node->safe_psql(
	'postgres', qq{
CREATE EXTENSION postgres_fdw;
CREATE SERVER archive FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'archive');
CREATE USER MAPPING FOR CURRENT_USER SERVER archive;
CREATE SCHEMA archive;
IMPORT FOREIGN SCHEMA public FROM SERVER archive INTO archive;
CREATE TABLE reading_by_year (id sno, sensor integer, value real) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE reading_old PARTITION OF reading_by_year FOR VALUES FROM (MINVALUE) TO (sno_min('2020-01-01'))
    SERVER archive OPTIONS (table_name 'reading');
CREATE FOREIGN TABLE reading_new PARTITION OF reading_by_year FOR VALUES FROM (sno_min('2020-01-01')) TO (MAXVALUE)
    SERVER archive OPTIONS (table_name 'reading');
});

# The plan of a query, without what only some versions say.
sub plan_of
{
	my ($options, $query) = @_;
	return $node->safe_psql('postgres', "EXPLAIN ($options) $query") =~
	  s/^ *(Window|Disabled): .*\n//mgr;
}

# How many rows a query on one foreign table fetches, and how many it returns
sub rows_of
{
	my ($query) = @_;
	my $plan =
	  plan_of('ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF', $query);
	my ($returned) = $plan =~ /^Foreign Scan.*\bactual rows=(\d+)/;
	my ($removed)  = $plan =~ /Rows Removed by Filter: (\d+)/;
	return ($returned + ($removed // 0), $returned);
}

my $during = "tstzrange('2026-01-01', '2026-01-02')";
is((rows_of("SELECT * FROM archive.reading WHERE id <@ $during"))[0],
	100000, 'without the option of the server all rows are fetched');

my $statement;
foreach my $block (@blocks)
{
	my ($kind, $text) = @$block;
	if ($kind eq 'sql')
	{
		$node->safe_psql('postgres', $text);
		($statement) = $text =~ /([^;]*);\z/;
		$statement =~ s/^\s+//;
	}
	elsif ($kind eq 'text')
	{
		is(plan_of('COSTS OFF', $statement), $text, "plan: $statement");
	}
	elsif ($kind eq 'text remote')
	{
		my ($sent) =
		  plan_of('VERBOSE, COSTS OFF', $statement) =~ /Remote SQL: (.*)/;
		is($sent, $text, "sent: $statement");
	}
	elsif ($kind eq 'text result')
	{
		my ($result) = run_command(
			[ 'psql', '-Xq', '-c', $statement, $node->connstr('postgres') ]);
		is($result, "$text\n", "result: $statement");
	}
	else
	{
		fail("a block of kind $kind");
	}
}

# What the page says beside
foreach my $query (
	"SELECT sno_date_bin('1 day', id, '2026-01-01') AS day, count(*) FROM archive.reading WHERE id <@ $during GROUP BY day",
	"UPDATE archive.reading SET value = 0 WHERE id <@ $during",
	"DELETE FROM archive.reading WHERE id <@ (SELECT $during)")
{
	my $plan = plan_of('VERBOSE, COSTS OFF', $query);
	like(
		$plan,
		qr/Remote SQL: .* WHERE \(\(id >=/,
		"the condition is sent: $query");
	unlike($plan, qr/Filter|ctid/, '... and the rest, too');
}
like(
	$node->safe_psql(
		'postgres', q{
SET plan_cache_mode = force_generic_plan;
PREPARE during(timestamptz, timestamptz) AS SELECT count(*) FROM archive.reading WHERE id <@ tstzrange($1, $2);
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE during('2026-01-01', '2026-01-02')}
	),
	qr/Remote SQL: SELECT count\(\*\) .* WHERE .*tstzrange\(\$1::/,
	'parameters are sent');

# Lists and arrays of ids, as constants and as parameters.
my $two = join ', ', map { "'$_'" } split /\n/,
  $node->safe_psql('archive', 'SELECT id FROM reading ORDER BY id LIMIT 2');
foreach my $condition ("id IN ($two)", "id NOT IN ($two)",
	"id = ANY (ARRAY[$two]::sno[])", "ARRAY[id] <@ ARRAY[$two]::sno[]", 'id = ANY ($1)', 'id <> ALL ($1)')
{
	my $plan = $node->safe_psql(
		'postgres', qq{
SET plan_cache_mode = force_generic_plan;
PREPARE listed(sno[]) AS SELECT * FROM archive.reading WHERE $condition;
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE listed(ARRAY[$two]::sno[])});
	like($plan, qr/Remote SQL: .* WHERE /, "sent: $condition");
	unlike($plan, qr/Filter/, '... and nothing is left to do here');
}
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM archive.reading WHERE id IN ($two)"),
	'2',
	'they are found');
my ($kinds) = $page =~ /^(SELECT kind, .*?);$/ms;
is( $node->safe_psql('postgres', $kinds),
	$node->safe_psql(
		'postgres',
		'SELECT DISTINCT ON (sno_meta(id)) sno_meta(id), * FROM reading ORDER BY sno_meta(id), id DESC'
	),
	'the latest of each kind');
my ($sensors) = $page =~ /^(WITH RECURSIVE .*?);$/ms;
is( $node->safe_psql('postgres', $sensors),
	$node->safe_psql(
		'postgres',
		'SELECT sensor, max(id) FROM reading GROUP BY sensor ORDER BY sensor DESC'
	),
	'the latest of each sensor');
is( $node->safe_psql(
		'postgres',
		"SELECT pg_relation_size('reading_pkey') > 100 * pg_relation_size('journal_id')"
	),
	't',
	'the BRIN index is a hundred times smaller');

my $last_hour = "tstzrange(now() - interval '1 hour', now())";
my $query     = 'SELECT * FROM archive.reading WHERE id <@';
my ($fetched, $returned) = rows_of("$query $last_hour");
is($fetched, 100000, 'all rows are fetched for now()');
cmp_ok(abs($returned - 3600), '<=', 1, 'although few are of the last hour');
($fetched, $returned) = rows_of("$query (SELECT $last_hour)");
is($fetched, $returned, 'for a subquery only those of the range are fetched');
cmp_ok(abs($returned - 3600), '<=', 1, 'which are those of the last hour');

my $plan = plan_of(
	'ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF',
	"SELECT * FROM reading_by_year WHERE id <@ (SELECT $last_hour)");
like($plan, qr/reading_old \S+ \(never executed\)/,
	'a partition of another time is not asked');
like(
	$plan,
	qr/reading_new \S+ \(actual rows=3(600|599|601)/,
	'and the other one only for the rows of the last hour');

$node->safe_psql('postgres',
	"CREATE TABLE shift AS SELECT $last_hour AS during; ANALYZE shift");
$query =
  'SELECT * FROM shift JOIN archive.reading ON id <@ during';
my $sent = qr/Remote SQL: .* WHERE /;
unlike(plan_of('VERBOSE', $query), $sent, 'a join fetches all rows');
$node->safe_psql('postgres',
	"ALTER FOREIGN TABLE archive.reading OPTIONS (ADD use_remote_estimate 'true')"
);
like(plan_of('VERBOSE', $query),
	$sent, 'with use_remote_estimate it sends the range');

done_testing();
$node->stop;
