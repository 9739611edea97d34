
# Generators of flakes without fixed nodes: with a registry, they have nodes that it grants;
# copies of a server get others.  Without one, databases of a server avoid each other's.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use PostgreSQL::Test::RecursiveCopy;
use Registry;
use TestHelpers;

my $registry = Registry->new('registry', '1024, 2047, 16');
$registry->query("SELECT sno_registry_add_layout('1288834974657/1/41/10/12', 0, 511, 8)");

my %owner;    # of each node that somebody was seen to have

# The node of an id of a generator; of one of several nodes, any of them
sub node_of
{
	my ($node, $dbname, $generator) = @_;
	return $node->safe_psql($dbname,
		"SELECT (sno_flake_parts(sno_flake_generate('$generator'), 'snowflake')).node");
}

# A generator issues in nodes that nobody else has.  Returns the node.
sub issues_alone
{
	my ($what, $who, $server, $dbname, $generator) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $node = node_of($server, $dbname // 'postgres', $generator // 'g');
	$owner{$node} //= $who;
	is($owner{$node}, $who, "$what: node $node is of $who");
	return $node;
}

# The error of a call, with a short wait: SQLSTATE, message, detail and hint
sub refusal
{
	my ($server, $query, $dbname) = @_;
	my ($code, $out, $err) = $server->psql($dbname // 'postgres',
		"\\set VERBOSITY verbose\n\\set SHOW_CONTEXT never\nSET sno.max_wait = '100ms'; $query");
	$err =~ s/^psql:<stdin>:\d+: //gm;
	$err =~ s/^LOCATION:.*\n?//gm;
	return $err;
}

sub new_server
{
	my ($name, @settings) = @_;
	my $node = start_node($name,
		allows_streaming => 1,
		conf => join("\n", "cluster_name = '$name'", 'max_connections = 40', @settings) . "\n", sql => "CREATE EXTENSION sno_flakes; SELECT sno_flake_create_generator('g', 'snowflake')");
	return $node;
}

my $a = new_server('a', $registry->settings);
my $b = new_server('b', $registry->settings);

subtest 'granted nodes' => sub {
	my $node = issues_alone('a first server', 'a', $a);
	cmp_ok($node, '<', 512, 'in the range of the registry');
	issues_alone('a second server', 'b', $b);
	is( $a->safe_psql('postgres',
			"SELECT layout, last - first + 1, $node BETWEEN first AND last, after IS NULL FROM sno_grants()"),
		'snowflake|8|t|t',
		'sno_grants() tells it');
	is( $registry->query(
			q{SELECT string_agg(DISTINCT layout, ',') || ' ' || count(*) FROM sno_registry.blocks}),
		'1288834974657/1/41/10/12 2',
		'the registry tells whose they are, by the definition of the layout');
	$a->restart;
	is(issues_alone('after a restart', 'a', $a), $node, 'the same node');
	kill_postmaster($a);
	$a->start;
	issues_alone('after a crash', 'a', $a);
	is( $a->safe_psql('postgres', q{SELECT sno_flake_create_generator('more', 'snowflake', nodes => 3)}),
		'', 'a generator of three nodes');
	is( $a->safe_psql('postgres', q{
DO $$ BEGIN PERFORM sno_flake_generate('g'), sno_flake_generate('more'); END $$;
SELECT count(DISTINCT node) FROM (
	SELECT generate_series(node_first, node_last) AS node FROM sno_generators() WHERE layout = 'snowflake') AS n}),
		4,
		'has none of the other one');
};

subtest 'copies' => sub {
	$a->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE postgres');
	issues_alone('a copied database', 'copied', $a, 'copied');

	$a->backup('clone');
	my $clone = PostgreSQL::Test::Cluster->new('clone');
	$clone->init_from_backup($a, 'clone');
	$clone->start;
	issues_alone('a clone that runs beside its original', 'clone', $clone);
	issues_alone('the original',                          'a',     $a);

	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($a, 'clone', has_streaming => 1);
	$standby->start;
	$a->wait_for_catchup($standby);
	$standby->promote;
	issues_alone('a promoted standby',  'standby', $standby);
	issues_alone('the former primary',  'a',       $a);

	$b->stop;
	my $folder = PostgreSQL::Test::Cluster->new('folder');
	mkdir $folder->basedir;
	PostgreSQL::Test::RecursiveCopy::copypath($b->data_dir, $folder->data_dir);
	chmod 0700, $folder->data_dir;
	$folder->append_conf('postgresql.conf', 'port = ' . $folder->port);
	$folder->start;
	$b->start;
	issues_alone('a copied folder, with the file of grants', 'folder', $folder);
	issues_alone('its original', 'b', $b);

	$a->safe_psql('postgres', 'DROP DATABASE copied');
	$_->stop foreach $clone, $standby, $folder;
};

subtest 'what the registry grants to nobody' => sub {
	my $create = sub { return "SELECT sno_flake_create_generator('$_[0]', '$_[1]'" . ($_[2] // '') . ')' };
	is( refusal($a, $create->('fixed', 'snowflake', ', 7')), q{ERROR:  55000: nodes from 7 to 7 of generator "fixed" are among those that the registry grants
DETAIL:  The registry may grant them to any server.
HINT:  Create the generator without a node, or with one that the registry leaves out. See doc/servers.md#nodes-of-other-systems-ids.
},
		'a fixed node in its range');
	$a->safe_psql('postgres', $create->('fixed', 'snowflake', ', 700'));
	is(node_of($a, 'postgres', 'fixed'), 700, 'a fixed node out of it');

	$a->safe_psql('postgres', $create->('unknown', 'instagram'));
	my $definition = $a->safe_psql('postgres', q{SELECT sno_flake_layout_definition('instagram')});
	like( refusal($a, q{SELECT sno_flake_generate('unknown')}),
		qr/^ERROR:  53400: (?:no node of layout "instagram" was free for|the registry granted no node for) generator "unknown"/,
		'a layout that it does not know');
	wait_until('the registry tells that it grants none',
		sub { refusal($a, q{SELECT sno_flake_generate('unknown')}) =~ /^HINT:.*sno_registry_add_layout\('\Q$definition\E', /m });
	is( $a->safe_psql('postgres',
			q{SELECT ok, detail ~ 'It grants no nodes of a layout that is used' FROM sno_check() WHERE item = 'registry'}),
		'f|t', 'sno_check() tells it');
	$registry->query("SELECT sno_registry_add_layout('$definition', 0, 8191)");
	$a->poll_query_until('postgres', q{SELECT sno_flake_generate('unknown') > 0}) or die;
	pass('it is issued when the registry has learnt the layout');

	# A server that comes later, with a generator from before the registry had its layout
	$b->stop;
	$b->append_conf('postgresql.conf', "sno.registry = ''");
	unlink $b->data_dir . '/sno.grants';
	$b->start;
	$b->safe_psql('postgres', $create->('old', 'snowflake', ', 9'));
	is(node_of($b, 'postgres', 'old'), 9, 'without a registry, any node may be passed');
	$b->stop;
	$b->append_conf('postgresql.conf', $registry->settings);
	$b->start;
	like( refusal($b, q{SET sno.max_wait = '3min'; SELECT sno_flake_generate('old')}),
		qr/^ERROR:  55000: nodes from 9 to 9 of generator "old" are among those that the registry grants/,
		'with it, those of its range may not');
	like($b->safe_psql('postgres', q{SELECT detail FROM sno_check() WHERE item = 'generators' AND NOT ok}),
		qr/nodes from 9 to 9 of generator "old" are among those that the registry grants/, 'sno_check() tells that');
	issues_alone('its other generator', 'b again', $b);
};

subtest 'more generators than nodes of a block' => sub {
	$a->safe_psql('postgres', q{
SELECT sno_flake_create_generator('many' || n, 'snowflake') FROM generate_series(1, 12) AS n;
SELECT sno_flake_generate('many' || n) FROM generate_series(1, 12) AS n;
});
	is( $a->safe_psql('postgres', q{
SELECT count(*) >= 2, count(*) FILTER (WHERE last - first <> 7) FROM sno_grants() WHERE layout = 'snowflake'}),
		't|0', 'more blocks are granted');
	$a->safe_psql('postgres', q{SELECT sno_flake_create_generator('wide', 'snowflake', nodes => 9)});
	like( refusal($a, q{SELECT sno_flake_generate('wide')}),
		qr/^ERROR:  53400: .*^DETAIL:  The registry grants no nodes of this layout or too few in a block/ms,
		'no generator has more nodes than a block');
};

subtest 'the registry is away' => sub {
	issues_alone('while it is there', 'a', $a);
	$registry->node->stop('immediate');
	$a->restart;
	issues_alone('after a restart without it', 'a', $a);
	$a->safe_psql('postgres', 'CREATE DATABASE later');
	$a->safe_psql('later',
		q{CREATE EXTENSION sno_flakes CASCADE; SELECT sno_flake_create_generator('g', 'snowflake')});
	like( refusal($a, q{SELECT sno_flake_generate('g')}, 'later'),
		qr/^ERROR:  53400: the registry granted no node for generator "g" within \d+ ms/,
		'who has no grant issues nothing');
	like($a->safe_psql('later', q{SELECT detail FROM sno_check() WHERE item = 'generators' AND NOT ok}),
		qr/the registry granted no node for generator "g"/, 'sno_check() tells that');
	$registry->node->start;
	issues_alone('when it is back', 'later', $a, 'later');
};

subtest 'grants that are over, or revoked' => sub {
	my $node = issues_alone('before', 'a', $a);
	my $session = open_session($a, 'postgres');
	$session->query_safe(q{SELECT sno_flake_generate('g')});
	# The registry gives the blocks of this server to somebody else.
	$registry->query(q{
UPDATE sno_registry.holder SET era = era - 1;
SELECT sno_registry_report_loss();
});
	# The file is lost, and the server started again: another holder.
	close_session($session);
	$a->stop('immediate');
	unlink $a->data_dir . '/sno.grants';
	$a->start;
	my $other = node_of($a, 'postgres', 'g');
	isnt(int($other / 8), int($node / 8), 'another holder gets nodes of another block');
	cmp_ok($other, '>=', 128, 'of another part of the registry');
};

subtest 'more layouts than the registry is asked for' => sub {
	like( refusal($b, q{
SELECT sno_flake_create_layout(format('t%s s%s', time, sequence), '2020-01-01Z', 1, time, 8, sequence),
	sno_flake_create_generator(format('t%s s%s', time, sequence), format('t%s s%s', time, sequence))
FROM generate_series(41, 46) AS time, generate_series(1, 10) AS sequence;
SET sno.max_wait = 0;
DO $$ DECLARE l text; BEGIN FOR l IN SELECT name FROM sno_catalog.sno_flake_layout WHERE NOT built_in LOOP
	BEGIN PERFORM sno_flake_generate(l);
	EXCEPTION WHEN configuration_limit_exceeded THEN
		IF SQLERRM LIKE '%too many layouts' THEN RAISE; END IF;
	END; END LOOP; END $$;
SELECT sno_flake_create_generator(name || ' more', name) FROM sno_catalog.sno_flake_layout WHERE built_in AND unit > 0;
DO $$ DECLARE g record; BEGIN FOR g IN SELECT * FROM sno_catalog.sno_flake_generator WHERE nodes > 0 LOOP
	BEGIN PERFORM sno_flake_generate(g.name);
	EXCEPTION WHEN configuration_limit_exceeded THEN
		IF SQLERRM LIKE '%too many layouts' THEN RAISE; END IF;
	WHEN wrong_object_type THEN END; END LOOP; END $$;
}),
		qr/^ERROR:  53400: generators of this database use too many layouts/m,
		'an error tells it');
	issues_alone('those that it was asked for', 'b again', $b);
};

$_->stop foreach $a, $b, $registry->node;

subtest 'without a registry' => sub {
	my $server = new_server('alone');
	my %seen;
	$server->safe_psql('postgres', "CREATE DATABASE db$_ TEMPLATE postgres") foreach 1 .. 9;
	foreach my $dbname ('postgres', map { "db$_" } 1 .. 9)
	{
		$seen{ node_of($server, $dbname, 'g') }++;
	}
	is_deeply([ values %seen ], [ (1) x 10 ], 'ten databases have ten nodes');

	$server->safe_psql('postgres', q{SELECT sno_flake_create_generator('three', 'json1', nodes => 3)});
	$server->safe_psql('db1',      q{SELECT sno_flake_create_generator('three', 'json1', nodes => 3)});
	my $shards = sub {
		return join ' ', map {
			$server->safe_psql($_, q{
SELECT sno_flake_generate('three');
SELECT int8range(node_first, node_last, '[]') FROM sno_generators() WHERE name = 'three' AND database = current_database()})
			  =~ /(\[.*)/
		} @_;
	};
	is( $server->safe_psql('postgres',
			"SELECT NOT isempty(r[1]) AND NOT r[1] && r[2] FROM (SELECT string_to_array('"
			  . $shards->('postgres', 'db1') . "', ' ')::int8range[] AS r) AS s"),
		't', 'of eight nodes, two databases have three each');

	# An older generator's clock was ahead.
	my $ahead = $server->safe_psql('postgres',
		q{SELECT sno_flake_make(clock_timestamp() + interval '1.5 s', 1023, 4095, 'snowflake')});
	my $held = open_session($server, 'postgres');
	$held->query_safe(q{SELECT sno_flake_generate('g')});
	$server->safe_psql('postgres', "SELECT sno_flake_advance('g', $ahead)");
	cmp_ok($held->query_safe(q{SET sno.max_wait = '3min'; SELECT sno_flake_generate('g')}),
		'>', $ahead, 'ids are above that of an older generator');
	close_session($held);
	cmp_ok(node_of($server, 'postgres', 'g'), '>=', 0, 'others issue, too');
	is( $server->safe_psql('postgres', q{
BEGIN; SELECT sno_flake_advance('g', sno_flake_make(clock_timestamp() + interval '30 min', 0, 0, 'snowflake')); ROLLBACK;
SELECT sno_flake_generate('g') < sno_flake_min(clock_timestamp() + interval '1 min', 'snowflake')}),
		"\nt", 'a rollback takes it back');

	# A clone has all that tells the server, until it is told.
	my $before = node_of($server, 'postgres', 'g');
	my $session = open_session($server, 'postgres');
	is($session->query_safe(q{SELECT (sno_flake_parts(sno_flake_generate('g'), 'snowflake')).node}),
		$before, 'a session issues there');
	$server->safe_psql('postgres', 'SELECT sno_reseed()');
	my $after = $session->query_safe(q{SELECT (sno_flake_parts(sno_flake_generate('g'), 'snowflake')).node});
	isnt($after, $before, 'after sno_reseed() it issues in another node');
	close_session($session);
	is(node_of($server, 'postgres', 'g'), $after, 'and so do others');
	is( $server->safe_psql('postgres',
			"SELECT count(*) FROM sno_catalog.sno_lease WHERE shard_min = $before AND system_identifier <> 0"),
		0, 'no row is left by which it would be chosen again');
	$server->stop;
};

# A session leaves a partition if the clock is behind both sides.  So are nodes left.
subtest 'a clock that steps back again and again' => sub {
	my $clock = FakeClock->new;
	my $server = start_node('clock', clock => $clock, sql => "CREATE EXTENSION sno_flakes; SELECT sno_flake_create_generator('g', 'snowflake')");
	my $session = open_session($server, 'postgres');
	my $query   = q{SELECT sno_flake_generate('g') AS id \gset
SELECT :id, p.node, abs(extract(epoch FROM p.timestamp - clock_timestamp())) < 60 FROM sno_flake_parts(:id, 'snowflake') AS p};
	my (%ids, %nodes);
	foreach my $hours (0, 24, 0, 23, 0, 22, 1, 20, -1)
	{
		$clock->set_offset(3600 * $hours);
		my ($id, $node, $right) = split /\|/, $session->query_safe($query);
		$ids{$id}++;
		$nodes{$node}++;
		is($right, 't', "the clock is at $hours hours: so is an id of node $node");
	}
	is(scalar keys %ids, 9, 'no id comes twice');
	cmp_ok(scalar keys %nodes, '>', 1, 'of several nodes');
	close_session($session);
	$server->stop;
};

done_testing();
