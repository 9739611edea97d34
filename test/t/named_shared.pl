
# Named generators that many sessions share.  Sessions that share a small range
# of sequences get equal shares of it.  With a steady clock there is no drift.
# Sessions, databases and servers don't disturb each other.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use List::Util qw(max min sum);
use NotedIds;
use TestHelpers;

sub server
{
	my ($name) = @_;
	my $server = new_node($name, allows_streaming => 'logical', conf => q{
sno.lease_duration = 2s
max_connections = 40
});
	$server->start;
	return $server;
}

my $node = server('main');
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION sno;
SELECT sno_create_generator('small', 3000, 3, 0);
SELECT sno_create_generator('large', 3001);
SELECT sno_create_generator('p' || n, 3002, 4 * n, 4 * n + 3) FROM generate_series(0, 199) AS n;
});

# Let eight sessions generate for some seconds; returns how many ids each of
# them made.
my $notes = NotedIds->new;

sub share
{
	my ($name, $seconds) = @_;
	my @sessions =
	  map { open_session($node, 'postgres', "sno.max_wait = '1h'") } 1 .. 8;
	my @counts;

	$_->query_safe('CREATE TEMP TABLE made (id sno)') foreach @sessions;
	send_query(
		$_, qq{
DO \$\$
DECLARE
    until timestamptz := clock_timestamp() + interval '$seconds s';
BEGIN
    WHILE clock_timestamp() < until LOOP
        INSERT INTO made SELECT sno_generate(1, '$name');
    END LOOP;
END \$\$}) foreach @sessions;
	foreach my $session (@sessions)
	{
		my ($out, $err) = receive($session);
		is($err, '', "$name: a session meets no error");
		my $ids = $session->query_safe('TABLE made');
		$notes->add($session, $ids);
		push @counts, scalar split /\n/, $ids;
		close_session($session);
	}
	is( $node->safe_psql(
			'postgres', "SELECT sno_snapshot_generator('$name')->'drifts'"),
		0,
		"$name: with a steady clock there is no drift");
	return @counts;
}

# Leases of 2 s are renewed meanwhile.
share('large', 3);
$notes->check_unique('sharing a large range');
$notes = NotedIds->new;
my @counts = share('small', 5);
cmp_ok(
	min(@counts), '>',
	sum(@counts) / @counts / 2,
	"small: each session made more than half of the mean (@counts)");
$notes->check_unique('sharing a small range');

# Many generators of one partition, in one statement
my $session = open_session($node, 'postgres', "sno.max_wait = '1h'");
$notes->add(
	$session,
	$session->query_safe(
		q{SELECT sno_generate(1, 'p' || n % 200) FROM generate_series(0, 3999) AS n}
	));
is( $session->query_safe(
		'SELECT count(*) FROM sno_catalog.sno_lease WHERE kind = \'g\''),
	202,
	'each named generator has its own row');
close_session($session);
$notes->check_unique('many generators of one partition');

# In a query with parallel workers
is( $node->safe_psql(
		'postgres', q{
CREATE TABLE numbers AS SELECT n FROM generate_series(1, 20000) AS n;
ALTER TABLE numbers SET (parallel_workers = 4);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TABLE workers AS
SELECT sno_generate(1, 'large') AS id, n FROM numbers;
SELECT count(DISTINCT id) FROM workers}),
	20000,
	'parallel workers share a named generator');

# Generators that are created and dropped, with bounds that overlap.  Few of
# them are kept in memory, but what they issued stays known.
my $churn = open_session($node, 'postgres', "sno.max_wait = '1h'");
foreach my $round (0 .. 2)
{
	foreach my $n (0 .. 29)
	{
		my ($first, $last) = (4 * $n, 4 * $n + 3 + 2 * $round);
		$churn->query_safe(
			"SELECT sno_create_generator('brief', 3500, $first, $last)");
		$notes->add($churn, $churn->query_safe(ids_of(10, 'brief')));
		$churn->query_safe("SELECT sno_drop_generator('brief')");
	}
}
close_session($churn);
$notes->check_unique('generators that are created and dropped');

# Another database with a generator in the same partition
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other',
	"CREATE EXTENSION sno; SELECT sno_create_generator('mine', 3001, 5, 100)"
);
my $here      = open_session($node, 'postgres', "sno.max_wait = '1h'");
my $there     = open_session($node, 'other',    "sno.max_wait = '1h'");
my $elsewhere = NotedIds->new;
for (1 .. 20)
{
	send_query($here,  ids_of(500, 'large'));
	send_query($there, ids_of(500, 'mine'));
	$notes->add($here, (receive($here))[0]);
	$elsewhere->add($there, (receive($there))[0]);
}
close_session($_)                 foreach ($here,  $there);
$_->check_unique('two databases') foreach ($notes, $elsewhere);

# Definitions belong to a server, and prefixes do, too: logical replication neither changes
# those of the subscriber nor stops because of them.
my $subscriber = server('subscriber');
$subscriber->safe_psql(
	'postgres', q{
CREATE EXTENSION sno;
CREATE TABLE item (id sno PRIMARY KEY);
SELECT sno_create_generator('small', 4000);
INSERT INTO sno_catalog.sno_prefix VALUES (7, 'ours');
});
$node->safe_psql(
	'postgres', q{
DROP TABLE numbers, workers;
CREATE TABLE item (id sno PRIMARY KEY);
INSERT INTO item VALUES (sno_generate(1, 'small'));
INSERT INTO sno_catalog.sno_prefix VALUES (7, 'copied'), (8, 'eight');
CREATE PUBLICATION everything FOR ALL TABLES;
});
my $connection = $node->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION everything CONNECTION '$connection' PUBLICATION everything"
);
$subscriber->poll_query_until('postgres',
	"SELECT bool_and(srsubstate IN ('r', 's')) FROM pg_subscription_rel")
  or die 'the tables were not copied';
$node->safe_psql(
	'postgres', q{
SELECT sno_create_generator('late', 3003);
INSERT INTO item VALUES (sno_generate(1, 'late'));
UPDATE sno_catalog.sno_generator SET meta = 7 WHERE name = 'late';
SELECT sno_drop_generator('small');
UPDATE sno_catalog.sno_prefix SET prefix = 'theirs' WHERE meta = 7;
INSERT INTO sno_catalog.sno_prefix VALUES (9, 'nine');
DELETE FROM sno_catalog.sno_prefix WHERE meta = 8;
INSERT INTO item VALUES (sno_generate(7, 'late'));
});
$node->wait_for_catchup('everything');
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM item'),
	3, 'rows with ids of named generators are replicated');
is( $subscriber->safe_psql(
		'postgres', 'SELECT name, partition FROM sno_catalog.sno_generator'),
	'small|4000',
	'definitions are not replicated');
is( $subscriber->safe_psql('postgres', 'TABLE sno_catalog.sno_prefix'),
	'7|ours', 'prefixes are not replicated');
$notes->add('subscriber',
	$subscriber->safe_psql('postgres', ids_of(100, 'small')));
$notes->check_unique('two servers');
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION everything');
$subscriber->stop;

$node->stop;
done_testing();
