
# Citus: tables that are distributed by ids, which all nodes of a cluster make.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Registry;
use SnoInstall;
use TestHelpers;

plan skip_all => 'Citus is not installed'
  unless -e pg_config('pkglibdir') . '/citus.so'
  && -e pg_config('sharedir') . '/extension/citus.control';

my $registry = Registry->new('registry', '1024, 2047, 16');

sub citus_node
{
	my ($name) = @_;
	my $node = new_node($name, allows_streaming => 'logical');
	$node->append_conf(
		'postgresql.conf',
		$registry->settings(
			"cluster_name = '$name'",
			q{shared_preload_libraries = 'citus'},
			"citus.local_hostname = '" . $node->host . "'",
			q{max_prepared_transactions = 20}));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION citus');
	return $node;
}

my ($coordinator, $one, $two) = map { citus_node($_) } qw(coordinator one two);

sub query { return $coordinator->safe_psql('postgres', $_[0]); }

# What Citus knows a node by.
sub address { return "'" . $_[0]->host . "', " . $_[0]->port; }

query('SELECT citus_set_coordinator_host(' . address($coordinator) . ')');
query('SELECT citus_add_node(' . address($_) . ')') foreach $one, $two;
note query('SELECT citus_version()');

query('CREATE EXTENSION sno');
is( $_->safe_psql(
		'postgres',
		q{SELECT count(*) FROM pg_extension WHERE extname = 'sno'}),
	1,
	'CREATE EXTENSION reaches ' . $_->name) foreach $one, $two;

query(
	q{
SET citus.shard_count = 8;
CREATE TABLE kind (id sno PRIMARY KEY DEFAULT sno_generate(1), name text);
SELECT create_reference_table('kind');
CREATE TABLE account (id sno PRIMARY KEY DEFAULT sno_generate(2), kind sno REFERENCES kind, name text);
SELECT create_distributed_table('account', 'id');
CREATE TABLE entry (id sno DEFAULT sno_generate(3), account sno REFERENCES account, n integer, PRIMARY KEY (account, id));
SELECT create_distributed_table('entry', 'account', colocate_with => 'account')}
);

# All nodes write.
foreach my $node ($coordinator, $one, $two)
{
	my $name = $node->name;
	$node->safe_psql(
		'postgres', qq{
INSERT INTO kind (name) VALUES ('$name');
COPY account (name) FROM STDIN;
} . "$name\n" x 500 . qq{\\.
INSERT INTO account (kind, name) SELECT id, name FROM kind, generate_series(1, 100) WHERE name = '$name';
INSERT INTO account (name) VALUES ('$name'), ('$name')});
}
is( query(
		'SELECT name, count(*), count(kind) FROM account GROUP BY name ORDER BY name'
	),
	join("\n", map { "$_|602|100" } qw(coordinator one two)),
	'all nodes write');

# The nodes that made ids, by the blocks that they have.
sub makers
{
	my ($ids) = @_;
	my %node = map { reverse split /\|/ } split /\n/,
	  $registry->query(
		'SELECT server, generate_series(first, last) FROM sno_registry.blocks WHERE server IS NOT NULL'
	  );
	my %makers = map { $node{$_} => 1 } partitions_of($ids);
	return join ' ', sort keys %makers;
}

foreach my $name (qw(coordinator one two))
{
	is(makers(query("SELECT id FROM account WHERE name = '$name'")),
		$name, "$name has made its ids");
}
query('INSERT INTO entry (account, n) SELECT id, 1 FROM account');
is(makers(query('SELECT id FROM entry')),
	'one two', 'in INSERT ... SELECT the workers make ids');

#
# Plans
#

# How many tasks a query has, and the condition of the index in the one that is shown.
sub tasks_of
{
	my $plan = query("SET enable_seqscan = off; EXPLAIN (COSTS OFF) $_[0]");
	my ($count)     = $plan =~ /Task Count: (\d+)/;
	my ($condition) = $plan =~ /Index Cond: (.*)/;
	return $count, $condition;
}
my $id = query('SELECT max(id) FROM account');
is_deeply(
	[ tasks_of("SELECT * FROM account WHERE id = '$id'") ],
	[ 1, "(id = '$id'::sno)" ],
	'one shard is asked for an id');
is( (   tasks_of(
			"SELECT count(*) FROM account JOIN entry ON account.id = account JOIN kind ON kind.id = kind"
		))[0],
	8,
	'joins run on the shards');
is( query('SELECT count(*) FROM account JOIN entry ON account.id = account'),
	1806, '... and find all rows');
foreach
  my $range ("'2026-01-01', '2027-01-01'", "now() - interval '1 hour', now()")
{
	my ($count, $condition) =
	  tasks_of("SELECT count(*) FROM account WHERE id <@ tstzrange($range)");
	is($count, 8, "all shards are asked for a range of time: $range");
	like(
		$condition,
		qr/^\(\(id >= .*\) AND \(id <= .*\)\)$/,
		'... as bounds of the id');
}

#
# Nodes that change
#

my $shard =
  query("SELECT get_shard_id_for_distribution_column('account', '$id')");
my ($source, $target) =
  query("SELECT nodeport FROM citus_shards WHERE shardid = $shard") ==
  $one->port ? ($one, $two) : ($two, $one);
query(  "SELECT citus_move_shard_placement($shard, "
	  . address($source) . ', '
	  . address($target)
	  . ')');
is( query(
		"SELECT count(*) FROM account JOIN entry ON account.id = account WHERE account.id = '$id'"
	),
	1,
	'a shard moves with its rows');

# A clone of a node is promoted, and takes some of its shards.  The node lives on.
SKIP:
{
	skip 'this Citus makes no clones', 1
	  if query(
		q{SELECT count(*) FROM pg_proc WHERE proname = 'citus_add_clone_node'}
	  ) == 0;
	my $clone = PostgreSQL::Test::Cluster->new('clone');
	$one->backup('clone');
	$clone->init_from_backup($one, 'clone', has_streaming => 1);

	# Citus knows its connection by the host.
	$clone->append_conf('postgresql.conf',
			"cluster_name = 'clone'\nprimary_conninfo = '"
		  . $one->connstr
		  . ' application_name='
		  . $clone->host
		  . "'");
	# Citus made a key for TLS.
	chmod 0600, $clone->data_dir . '/server.key';
	$clone->start;
	my $number =
	  query('SELECT citus_add_clone_node('
		  . address($clone) . ', '
		  . address($one)
		  . ')');
	query("SELECT citus_promote_clone_and_rebalance($number)");
	query('INSERT INTO entry (account, n) SELECT id, 2 FROM account');
	is( makers(query('SELECT id FROM entry WHERE n = 2')),
		'clone one two',
		'the clone makes ids, too');
}

is( query(
		q{
SELECT count(*) - count(DISTINCT id)
FROM (SELECT id FROM kind UNION ALL SELECT id FROM account UNION ALL SELECT id FROM entry) AS t}
	),
	0,
	'no id comes twice');
check_log($_) foreach $coordinator, $one, $two;
done_testing();
