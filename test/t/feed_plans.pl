
# Readers of feeds: the costs of a reader's query don't depend on the number of rows that were
# read before, with or without statistics of the planner.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use JSON::PP;
use TestHelpers;

my $rows   = 20_000;
my $unread = 100;
my $max_rows = 10;
my $node   = start_node(
	'main',
	conf => q{
autovacuum = off
session_preload_libraries = 'auto_explain'
auto_explain.log_nested_statements = on
auto_explain.log_analyze = on
auto_explain.log_buffers = on
auto_explain.log_timing = off
auto_explain.log_format = json
},
	sql => q{CREATE EXTENSION sno_feeds});

# The plans of the statements that "sql" runs, also within functions, with row counts and buffers.
sub plans_of
{
	my ($sql) = @_;
	my $offset = -s $node->logfile;
	$node->safe_psql('postgres', "SET auto_explain.log_min_duration = 0; $sql");
	my $log = slurp_file($node->logfile, $offset);
	return grep { $_->{'Query Text'} !~ /^EXPLAIN/ } map { decode_json(s/^\t//gmr) } $log =~ /  plan:\n((?:\t.*\n)+)/g;
}

# All nodes of a plan.
sub nodes_of
{
	my ($plan) = @_;
	return ($plan, map { nodes_of($_) } @{ $plan->{Plans} // [] });
}

# Scans of tables whose names begin with "table".
sub scans_of
{
	my ($table, @plans) = @_;
	return grep { $_->{'Node Type'} ne 'ModifyTable' && ($_->{'Relation Name'} // '') =~ /^${table}(_p\d)?$/ }
	  map { nodes_of($_->{Plan}) } @plans;
}

# What is wrong with a scan: it isn't by an index between bounds, or visits rows that the call
# doesn't return, but for the next one.  A scan that computes the watermark for its bound may
# also write a row, for which up to 40 pages are allowed.  The whole table has far more.
sub faults_of
{
	my ($scan) = @_;
	my $loops = $scan->{'Actual Loops'};
	my $found = $loops * $scan->{'Actual Rows'};
	my $cond  = $scan->{'Index Cond'} // $scan->{'Recheck Cond'} // '';
	my $pages = $scan->{'Shared Hit Blocks'} + $scan->{'Shared Read Blocks'};
	return if $pages == 0;
	return grep { defined } (
		$scan->{'Node Type'} =~ /^(Index|Index Only|Bitmap Heap) Scan$/ ? undef : $scan->{'Node Type'},
		$cond =~ / = / || ($cond =~ /\) >= |\(\w+ >= / && ($cond =~ / < / || $found <= $loops)) ? undef : "condition $cond",
		($scan->{'Rows Removed by Filter'} // 0) > 1 ? "$scan->{'Rows Removed by Filter'} rows removed" : undef,
		$found <= $loops * ($max_rows + 1) ? undef : "$found rows in $loops loops",
		$pages <= 40 + $found + 8 * $loops ? undef : "$pages pages in $loops loops for $found rows");
}

# Check the statements that a call runs.
sub check
{
	my ($name, $table, $sql, $least) = @_;
	my @plans = plans_of($sql);
	my @scans = scans_of($table, @plans);
	my @faults;
	foreach my $plan (@plans)
	{
		foreach my $scan (scans_of($table, $plan))
		{
			push @faults, map { "$_: $plan->{'Query Text'}" } faults_of($scan);
		}
	}
	cmp_ok(scalar @scans, '>=', $least, "$name: the scans of table $table are known");
	is(join("\n", @faults), '', "$name: only rows that weren't read are visited");
	return;
}

# The calls of a reader, whose unread rows are the last ones.
sub check_reader
{
	my ($name, $table, $reader, $type) = @_;
	my $take = "sno_feed_take(NULL::$type, '$reader', $max_rows)";
	check("$name: next", $table, "BEGIN; SELECT FROM sno_feed_next(NULL::$table, '$reader', $max_rows); ROLLBACK", 4);
	check("$name: take", $table, "BEGIN; SELECT FROM $take; ROLLBACK", 4);
	check("$name: fail", $table,
		"BEGIN; SELECT sno_feed_fail('$type', '$reader', part, fence, id, 'bad') FROM $take LIMIT 1; ROLLBACK", 5);
	check("$name: look", $table, "CALL sno_feed_wait('$type', '$reader', '0')", 1);
	check("$name: needed", $table, "SELECT sno_feed_needed('$type')", 1);
	check("$name: status", $table, 'SELECT FROM sno_feeds()', 1);
	return;
}

# Create a feed with rows, all of which but the last ones were read by readers with one part and
# with several.
sub create_feed
{
	my ($name, $columns, $more) = @_;
	$node->safe_psql(
		'postgres', qq{
CREATE TABLE $name (id sno DEFAULT sno_generate() PRIMARY KEY, n integer, text text) $columns;
$more;
CREATE INDEX ON $name (sno_feed_part(n, 4), id);
SELECT sno_feed_create('$name');
INSERT INTO $name (n, text) SELECT n, repeat('x', 30) FROM generate_series(1, $rows - $unread) AS n;
});
	$node->safe_psql('postgres', 'SELECT pg_sleep(0.02)');
	$node->safe_psql(
		'postgres', qq{
SELECT sno_feed_create_reader('$name', 'one', start => 'now', max_tries => 1);
SELECT sno_feed_create_reader('$name', 'four', 4, 'n', start => 'now', max_tries => 1);
INSERT INTO $name (n, text) SELECT n, repeat('x', 30) FROM generate_series(1, $unread) AS n;
});
	return;
}

create_feed('feed', '', '');
create_feed('parted', 'PARTITION BY RANGE (id)', q{
CREATE TABLE parted_p1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO ('8222222222222222');
CREATE TABLE parted_p2 PARTITION OF parted FOR VALUES FROM ('8222222222222222') TO (MAXVALUE)});
$node->safe_psql(
	'postgres', qq{
CREATE TABLE source (k integer PRIMARY KEY, text text);
INSERT INTO source SELECT n, 'x' FROM generate_series(1, $rows) AS n;
CALL sno_feed_create_changes('source');
});
$node->safe_psql('postgres', 'SELECT pg_sleep(0.02)');
$node->safe_psql(
	'postgres', qq{
SELECT sno_feed_create_reader('source', 'one', start => 'now', max_tries => 1);
UPDATE source SET text = 'y' WHERE k > $rows - $unread;
});
$node->safe_psql('postgres', 'SELECT pg_sleep(0.02)');
foreach my $when ('without statistics', 'with statistics')
{
	check_reader("$when, one part", 'feed', 'one', 'feed');
	check_reader("$when, several parts", 'feed', 'four', 'feed');
	check_reader("$when, partitioned", 'parted', 'one', 'parted');
	check_reader("$when, partitioned, several parts", 'parted', 'four', 'parted');
	check_reader("$when, changes", 'source_changes', 'one', 'source_changes');
	check_reader("$when, changes of the source", 'source_changes', 'one', 'source');
	check("$when, rows of the source", 'source', "BEGIN; SELECT FROM sno_feed_take(NULL::source, 'one', $max_rows); ROLLBACK", 1);
	$node->safe_psql('postgres', 'ANALYZE');
}

# Rows that were set aside and marked: the first ones of a reader, and late ones of the other
$node->safe_psql(
	'postgres', qq{
INSERT INTO feed_aside (reader, id, part, tries, again)
SELECT 'four', id, 0, 1, true FROM (SELECT id FROM feed ORDER BY id LIMIT 1000) AS s;
INSERT INTO feed_aside (reader, id, part, tries, again)
SELECT 'one', id, 0, 1, true FROM (SELECT id FROM feed ORDER BY id DESC OFFSET $unread LIMIT 1000) AS s;
ANALYZE feed_aside;
});
check_reader('rows set aside', 'feed', 'one', 'feed');

# Rows that were set aside, and aren't marked
$node->safe_psql('postgres', 'UPDATE feed_aside SET again = false; VACUUM ANALYZE feed_aside');
foreach my $call (
	"BEGIN; SELECT FROM sno_feed_next(NULL::feed, 'one'); ROLLBACK",
	"CALL sno_feed_wait('feed', 'one', '0')")
{
	my @scans = scans_of('feed_aside', plans_of($call));
	cmp_ok(scalar @scans, '>=', 1, "rows aside: the scans are known: $call");
	is(scalar(grep { ($_->{'Rows Removed by Filter'} // 0) > 0 } @scans), 0, "rows aside: none is visited: $call");
}

# A session looks for rows by a plan that was made before most rows were inserted, and without JIT.
# The last query of a call returns the rows to the caller, and isn't kept.
$node->safe_psql(
	'postgres', q{
CREATE TABLE small (id sno DEFAULT sno_generate() PRIMARY KEY);
SELECT sno_feed_create('small');
SELECT sno_feed_create_reader('small', 'one');
INSERT INTO small SELECT FROM generate_series(1, 3);
VACUUM ANALYZE small, small_readers;
});
my @plans = plans_of(
	q{SET jit_above_cost = 0; CALL sno_feed_wait('small', 'one', '0');}
	  . q{BEGIN; SELECT FROM sno_feed_next(NULL::small, 'one'); ROLLBACK;});
my @kept = grep { $_->{'Query Text'} !~ /^SELECT t\.\*/ } grep { scans_of('small', $_) } @plans;
cmp_ok(scalar @kept, '>=', 2, 'kept plans: they are known');
is(join("\n", map { $_->{'Query Text'} } grep { exists $_->{JIT} } @kept), '', 'kept plans: none uses JIT');
is(scalar(grep { $_->{'Node Type'} !~ /^Index/ } scans_of('small', @kept)), 0, 'kept plans: they use indexes');

# A session that reads as five readers in turn keeps the plans of all of them.
$node->safe_psql('postgres', q{SELECT sno_feed_create_reader('small', 'r' || n) FROM generate_series(0, 4) AS n});
is( $node->safe_psql(
		'postgres', q{
DO $$BEGIN PERFORM sno_feed_next(NULL::small, 'r' || n % 5) FROM generate_series(1, 15) AS n; END$$;
SELECT count(*) FROM pg_backend_memory_contexts
WHERE name = 'CachedPlanSource' AND ident LIKE 'SELECT%public.small_readers AS r, LATERAL%';
}),
	5,
	'kept plans: a reader keeps its plan');

check_log($node);
$node->stop;
done_testing();
