
# Servers that share a registry, and merge their rows: by logical replication, both
# ways since PostgreSQL 16, and as shards behind postgres_fdw.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use Registry;
use TestHelpers;

my $registry = Registry->new('registry', '1024, 2047, 16');
my $dir      = PostgreSQL::Test::Utils::tempdir('scripts');

sub new_server
{
	my ($name) = @_;
	my $node = start_node($name, allows_streaming => 'logical', conf => $registry->settings);
	return $node;
}

my ($a, $b, $c) = map { new_server($_) } qw(a b c);

# Run statements on several servers at once, each of them 500 times in each of two
# clients.
sub insert_at_once
{
	my (%statement) = @_;
	my @runs;
	foreach my $name (sort keys %statement)
	{
		append_to_file("$dir/$name.sql", $statement{$name});
		my ($node) = grep { $_->name eq $name } $a, $b, $c;
		push @runs,
		  IPC::Run::start(
			[
				'pgbench', '-n', '-c', 2, '-t', 500, '-f', "$dir/$name.sql",
				$node->connstr('postgres')
			],
			'>',
			'/dev/null',
			'2>&1');
	}
	ok(!(grep { !$_->finish } @runs),
		'all of ' . join(', ', sort keys %statement) . ' insert at once');
	unlink glob("$dir/*.sql");
	return;
}

# The blocks of the registry in which a server made ids.
sub blocks_of
{
	my ($node) = @_;
	my %blocks = map { int($_ / 16) => 1 }
	  split /\n/, $node->safe_psql(
		'postgres', q{
SELECT DISTINCT partition FROM sno_catalog.sno_lease
WHERE partition >= 0 AND system_identifier = (SELECT system_identifier FROM pg_control_system())}
	  );
	return sort keys %blocks;
}

#
# Logical replication
#

my $both_ways = $a->pg_version >= 16;
$_->safe_psql('postgres',
	'CREATE TABLE doc (id sno PRIMARY KEY DEFAULT sno_generate(1), origin text NOT NULL)'
) foreach $a, $b;
$a->safe_psql('postgres',
	"INSERT INTO doc (origin) SELECT 'a' FROM generate_series(1, 100)");

# A server joins with the rows of the other one.  It gets its leases too, which are of
# partitions that it is never granted.
$a->safe_psql('postgres', 'CREATE PUBLICATION everything FOR ALL TABLES');
my $options = $both_ways ? 'WITH (origin = none)' : '';
$b->safe_psql('postgres',
		"CREATE SUBSCRIPTION sub CONNECTION '"
	  . $a->connstr
	  . " dbname=postgres' PUBLICATION everything $options");
$b->wait_for_subscription_sync($a, 'sub');
is($b->safe_psql('postgres', 'SELECT count(*) FROM doc'),
	100, 'a server joins');
cmp_ok(
	$b->safe_psql(
		'postgres', q{
SELECT count(*) FROM sno_catalog.sno_lease
WHERE system_identifier <> (SELECT system_identifier FROM pg_control_system())}
	),
	'>',
	0,
	'FOR ALL TABLES brings the leases, too');

if ($both_ways)
{
	$b->safe_psql('postgres',
		'CREATE PUBLICATION ours FOR TABLES IN SCHEMA public');
	is( $b->safe_psql(
			'postgres',
			q{SELECT string_agg(tablename, ',') FROM pg_publication_tables WHERE pubname = 'ours'}
		),
		'doc',
		'a publication of a schema has no table of the extension');
	$a->safe_psql('postgres',
			"CREATE SUBSCRIPTION sub_of_b CONNECTION '"
		  . $b->connstr
		  . " dbname=postgres' PUBLICATION ours WITH (origin = none, copy_data = false)"
	);
	$a->wait_for_subscription_sync($b, 'sub_of_b');
}

insert_at_once(
	map { $_ => "INSERT INTO doc (origin) VALUES ('$_');" } 'a', 'b');
$a->wait_for_catchup('sub');
$b->wait_for_catchup('sub_of_b') if $both_ways;
is( $b->safe_psql(
		'postgres',
		'SELECT origin, count(*) FROM doc GROUP BY origin ORDER BY origin'),
	"a|1100\nb|1000",
	'the one has the rows of both');
my $rows = q{SELECT md5(string_agg(id || origin, ',' ORDER BY id)) FROM doc};
is( $a->safe_psql('postgres', $rows),
	$b->safe_psql(
		'postgres', $both_ways ? $rows : "$rows WHERE origin = 'a'"),
	$both_ways ? 'so has the other' : 'the other has its own');
foreach my $node ($a, $b)
{
	is( $node->safe_psql(
			'postgres', q{
SELECT sum(value::bigint) FROM pg_stat_subscription_stats AS s, jsonb_each_text(to_jsonb(s))
WHERE key ~ '^confl_|_error_count$'})
		  || 0,
		0,
		$node->name . ' met no conflict');
}

#
# Shards: partitions of a table that are foreign tables
#

my %region = (a => 'eu', b => 'us');
my $columns =
  'id sno NOT NULL DEFAULT sno_generate(2), region text NOT NULL, made_by text NOT NULL';
$c->safe_psql(
	'postgres', qq{
CREATE EXTENSION postgres_fdw;
CREATE TABLE event ($columns) PARTITION BY LIST (region)});
foreach my $node ($a, $b)
{
	my ($name, $host, $port) = ($node->name, $node->host, $node->port);
	$node->safe_psql(
		'postgres', qq{
CREATE SCHEMA shard;
CREATE TABLE shard.event ($columns, PRIMARY KEY (id), CHECK (region = '$region{$name}'))}
	);
	$c->safe_psql(
		'postgres', qq{
CREATE SERVER $name FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'sno');
CREATE USER MAPPING FOR CURRENT_USER SERVER $name;
CREATE FOREIGN TABLE event_$region{$name} PARTITION OF event FOR VALUES IN ('$region{$name}')
	SERVER $name OPTIONS (schema_name 'shard', table_name 'event')});
}
insert_at_once(
	a => "INSERT INTO shard.event (region, made_by) VALUES ('eu', 'a');",
	b => "INSERT INTO shard.event (region, made_by) VALUES ('us', 'b');",
	c =>
	  "INSERT INTO event (region, made_by) VALUES ('eu', 'c'), ('us', 'c');");
is( $c->safe_psql(
		'postgres', q{
SELECT region, made_by, count(*), count(DISTINCT id) FROM event GROUP BY 1, 2 ORDER BY 1, 2}
	),
	"eu|a|1000|1000\neu|c|1000|1000\nus|b|1000|1000\nus|c|1000|1000",
	'ids are made on the shards, and where the parent is');
is($c->safe_psql('postgres', 'SELECT count(DISTINCT id) FROM event'),
	4000, 'no id comes twice');

# Conditions are sent to both shards, or to the one that has the region.
sub sent
{
	my ($condition) = @_;
	my $plan = $c->safe_psql('postgres',
		"EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM event WHERE $condition");
	return join '; ', $plan =~ /^ *(Filter.*)$/mg,
	  $plan =~
	  /Foreign Scan on public\.(event_\w+)[^\n]*\n[^\n]*\n +Remote SQL: [^\n]*id >= [^\n]*id <= /g;
}
my $year = "id <@ tstzrange('2026-01-01', '2027-01-01')";
is(sent($year), 'event_eu; event_us',
	'a range of time is sent to all shards');
is( sent("id <@ (SELECT tstzrange(now() - interval '1 hour', now()))"),
	'event_eu; event_us',
	'so is one that a subquery computes');
is(sent("region = 'eu' AND $year"),
	'event_eu', 'with a region it is sent to one');

#
# Both as doc/servers.md shows them, in databases of their own
#

my $page = slurp_file("$FindBin::RealBin/../../doc/servers.md");
foreach my $node ($a, $b, $c)
{
	$node->safe_psql('postgres', 'CREATE DATABASE page');
	$node->safe_psql('page',     'CREATE EXTENSION sno');
}

# What a block of the page does on one server after the other.  Its comments tell where.
sub steps_of
{
	my ($kind) = @_;
	my ($block) = $page =~ /^```sql $kind\n(.*?)^```$/ms or die "no block $kind";
	my (undef, @steps) = split /^-- .*\n/m, $block;
	return @steps;
}

if ($both_ways)
{
	$_->safe_psql('page',
		'CREATE TABLE doc (id sno PRIMARY KEY DEFAULT sno_generate(1), origin text NOT NULL)'
	) foreach $a, $b;
	$a->safe_psql('page', "INSERT INTO doc (origin) VALUES ('before')");
	my @steps = steps_of('replication');
	is(scalar @steps, 3, 'both ways: three steps');
	$a->safe_psql('page', $steps[0]);
	foreach (
		[ $b, $a, 'from_first',  $steps[1] ],
		[ $a, $b, 'from_second', $steps[2] ])
	{
		my ($to, $from, $subscription, $step) = @$_;
		(my $connection = $from->connstr('page')) =~ s/'/''/g;
		$to->safe_psql('page', $step =~ s/'\.\.\.'/'$connection'/r);
		$to->wait_for_subscription_sync($from, $subscription, 'page');
	}
	$_->safe_psql('page', "INSERT INTO doc (origin) VALUES ('after')") foreach $a, $b;
	$a->wait_for_catchup('from_first');
	$b->wait_for_catchup('from_second');
	is($_->safe_psql('page', 'SELECT count(*), count(DISTINCT id) FROM doc'),
		'3|3', 'both ways: ' . $_->name . ' has all rows') foreach $a, $b;
}

my @steps = steps_of('shards');
is(scalar @steps, 2, 'shards: two steps');
$a->safe_psql('page', $steps[0]);
my ($host, $port) = ($a->host, $a->port);
$c->safe_psql('page', 'CREATE EXTENSION postgres_fdw; '
	  . $steps[1] =~ s/host '\.\.\.', dbname '\.\.\.'/host '$host', port '$port', dbname 'page'/r);
$_->safe_psql('page', "INSERT INTO event (region) VALUES ('eu')") foreach $a, $c;
is($c->safe_psql('page', 'SELECT count(*), count(DISTINCT id) FROM event'),
	'2|2', 'shards: ids of both servers');

#
# What was granted
#

my %server_of;
foreach my $node ($a, $b, $c)
{
	push @{ $server_of{$_} }, $node->name foreach blocks_of($node);
}
is(scalar(grep { @$_ > 1 } values %server_of),
	0, 'no two servers had one block');
is_deeply([ grep { $_ < 1024 / 16 || $_ > 2047 / 16 } keys %server_of ],
	[], 'all were granted');

check_log($_) foreach $a, $b, $c;
done_testing();
