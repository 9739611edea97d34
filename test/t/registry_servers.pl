
# The registry on real servers: it is installed by the owner of a database who is no
# superuser, it crashes, a standby is promoted that lacks the last grants while the
# old primary goes on, it is restored to an earlier point, and it is dumped.  No two
# holders are ever granted the same.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

# All that was granted: [holder, first, last, floor, ceiling]
my @granted;

my $unit = unit_of('clock_timestamp()');

# The SQL of a request.
sub request
{
	my ($holder, $token, $next, $want) = @_;
	return
	  "SELECT status, first, last, floor, ceiling FROM sno_registry_renew($holder, $token, $next, 'n', $unit, $unit + 20000000, $want)";
}

# Ask a registry, as a role that may do nothing else; returns the status and the
# first partitions of all blocks.
sub ask
{
	my ($node, $dbname, @request) = @_;
	my ($status, @first);
	foreach my $row (
		split /\n/,
		$node->safe_psql(
			$dbname, request(@request),
			connstr => $node->connstr($dbname) . ' user=asker'))
	{
		my @row = split /\|/, $row, -1;
		$status = shift @row;
		next if $row[0] eq '';
		push @granted, [ $request[0], @row ];
		push @first,   $row[0];
	}
	return join ' ', $status, @first;
}

# The same for a node of a layout
my $layout = '1288834974657/1/41/10/12';
sub ask_for_node
{
	my ($node, $dbname, $holder, $token, $next) = @_;
	return $node->safe_psql(
		$dbname,
		"SELECT concat_ws(' ', status, first) FROM sno_registry_renew($holder, $token, $next, 's', $unit, $unit + 20000000, 1, '$layout')",
		connstr => $node->connstr($dbname) . ' user=asker');
}

# The SQLSTATE of an error
sub error
{
	my ($node, $dbname, $query) = @_;
	my ($status, $out, $err) =
	  $node->psql($dbname, "\\set VERBOSITY verbose\n$query");
	return $err =~ /ERROR:\s+(.*)/ ? $1 : "none: $out";
}

# Check that no two holders were granted the same unit of the same partition.
sub check_granted
{
	my ($name) = @_;
	my @twice;
	foreach my $m (@granted)
	{
		foreach my $n (@granted)
		{
			push @twice, "@$m; @$n"
			  if $m->[0] < $n->[0]
			  && $m->[1] <= $n->[2]
			  && $n->[1] <= $m->[2]
			  && $m->[3] < $n->[4]
			  && $n->[3] < $m->[4];
		}
	}
	is_deeply(\@twice, [],
		"$name: nothing of " . scalar(@granted) . ' grants twice');
	return;
}

my $primary = new_node('primary', allows_streaming => 1, has_archiving => 1, conf => q{
wal_writer_delay = 10s
autovacuum = off
});
$primary->start;
$primary->safe_psql('postgres',
	'CREATE ROLE owner LOGIN; CREATE ROLE asker LOGIN; CREATE DATABASE app OWNER owner'
);

#
# By psql, as on a managed service
#
my $script   = PostgreSQL::Test::Utils::tempdir('script') . '/registry.sql';
my $sharedir = $primary->config_data('--sharedir');
append_to_file($script,
	slurp_file("$sharedir/extension/sno_registry--0.9.sql"));
my $owner = $primary->connstr('app') . ' user=owner';
$primary->command_ok(
	[   'psql', '-X', '-q', '-1', '-v', 'ON_ERROR_STOP=1', '-f', $script,
		$owner ],
	'the owner of a database installs the registry by psql');
my $create = qq{SELECT sno_registry_create(1024, 1087, 4);
	SELECT sno_registry_add_layout('$layout', 0, 7, 1);
	GRANT EXECUTE ON FUNCTION sno_registry_renew TO asker};
$primary->safe_psql('app', $create, connstr => $owner);
is( ask($primary, 'app', 1, 0, 11, 2),
	'granted 1024 1028',
	'it grants blocks to a role that has nothing else');
@granted = ();

# By CREATE EXTENSION.  It needs no superuser either.
$primary->safe_psql('postgres', 'CREATE DATABASE registry OWNER owner');
$primary->safe_psql(
	'registry',
	"CREATE EXTENSION sno_registry; $create",
	connstr => $primary->connstr('registry') . ' user=owner');
is(ask($primary, 'registry', 1, 0, 11, 1),
	'granted 1024', 'so does the extension');

#
# A reply is durable, though transactions need not be
#
$primary->safe_psql('postgres',
	'ALTER DATABASE registry SET synchronous_commit = off');
is(ask($primary, 'registry', 2, 0, 21, 1),
	'granted 1028', 'a block is granted with synchronous_commit = off');
kill_postmaster($primary);
start_again($primary);
is( $primary->safe_psql(
		'registry',
		'SELECT first, token FROM sno_registry.block JOIN sno_registry.holder USING (holder) ORDER BY 1'
	),
	"1024|11\n1028|21",
	'after kill -9 right after the reply, the registry knows of it');
is(ask($primary, 'registry', 2, 21, 22, 1),
	'granted 1028', 'and its holder goes on');
is(ask($primary, 'registry', 3, 0, 31, 1),
	'granted 1032', 'another one gets another block');

#
# A standby without the last grants is promoted; the old primary goes on
#
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby);
like(
	error($standby, 'registry', request(2, 22, 23, 1)),
	qr/^25006: .* in a read-only transaction/,
	'a standby grants nothing');

is(ask_for_node($primary, 'registry', 2, 0, 21), 'granted 0', 'a node is granted, too');
$primary->wait_for_catchup($standby);
$standby->stop;
$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
is(ask($primary, 'registry', 2, 22, 23, 1),
	'granted 1028', 'the standby lacks a renewal');
is(ask($primary, 'registry', 4, 0, 41, 1),
	'granted 1036', 'the standby lacks a grant');
my $segment = $primary->safe_psql('registry',
	q{SELECT pg_walfile_name(pg_create_restore_point('point')); SELECT FROM pg_switch_wal()}
);
$standby->start;
$standby->promote;

is(ask($standby, 'registry', 2, 23, 24, 1),
	'forgotten', 'the new primary does not know the last token');
is(ask($standby, 'registry', 1, 11, 12, 1),
	'forgotten', 'it forgets those whose token it knows');
is( ask($standby, 'registry', 12, 0, 121, 2),
	'granted 1040 1044',
	'it grants another part of the blocks');
is(ask($primary, 'registry', 2, 23, 24, 2),
	'full 1028', 'the old primary renews in the first part');
is(ask($primary, 'registry', 5, 0, 51, 1), 'full', 'and has no more there');
is( ask($standby, 'registry', 13, 0, 131, 3),
	'full 1048 1052',
	'nor has the new one in the second part');
is(ask_for_node($standby, 'registry', 2, 21, 22), 'forgotten', 'the new primary forgets who has nodes');
is(ask_for_node($standby, 'registry', 12, 0, 121), 'granted 2', 'and grants those of another part');
is(ask_for_node($primary, 'registry', 2, 21, 22), 'granted 0', 'the old primary renews nodes of the first part');
check_granted('promotion with loss');

#
# Restored to the point before the promotion, while both are alive
#
$primary->poll_query_until('postgres',
	"SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver")
  or die 'the restore point is not archived';
$standby->poll_query_until('postgres',
	'SELECT archived_count > 0 FROM pg_stat_archiver')
  or die 'the history of the new timeline is not archived';
my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init_from_backup($primary, 'backup', has_restoring => 1);
$restored->append_conf('postgresql.conf',
	"recovery_target_name = 'point'\nrecovery_target_timeline = current\nrecovery_target_action = promote\narchive_mode = off"
);
$restored->start;
$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
is($restored->safe_psql('registry', 'SELECT sno_registry.timeline()'),
	3, 'the restored registry is on a third timeline');
is(ask($restored, 'registry', 4, 41, 42, 1),
	'forgotten', 'it forgets holders');
is( ask($restored, 'registry', 22, 0, 221, 2),
	'granted 1056 1060',
	'it grants neither what the first timeline nor what the second one did');
check_granted('restored to an earlier point');

# The same timeline as if no request had come on it yet, of which an operator says that
# nothing was lost
$standby->stop;
$primary->stop;
$restored->safe_psql('registry',
	'UPDATE sno_registry.settings SET timeline = 2, part = 1');
$restored->safe_psql('registry', 'SELECT sno_registry_vouch()');
is( ask($restored, 'registry', 22, 221, 222, 2),
	'granted 1056 1060',
	'a holder is known after sno_registry_vouch()');

#
# A dump
#
my $dir    = PostgreSQL::Test::Utils::tempdir('dump');
my $target = new_node('target');
$target->start;
$target->safe_psql('postgres',
	'CREATE ROLE owner LOGIN; CREATE ROLE asker LOGIN');
foreach my $dbname ('registry', 'app')
{
	$restored->command_ok(
		[   'pg_dump',          '-f',
			"$dir/$dbname.sql", $restored->connstr($dbname) . ' user=owner' ],
		"$dbname is dumped by its owner");
	foreach my $node ($target, $restored)
	{
		my $copy = "copy_of_$dbname";
		my $name = $node->name . ", $copy";
		$node->safe_psql('postgres', "CREATE DATABASE $copy OWNER owner");
		$node->command_ok(
			[   'psql',             '-Xq', '-v', 'ON_ERROR_STOP=1', '-f',
				"$dir/$dbname.sql", $node->connstr($copy) . ' user=owner' ],
			"$name: restored by the owner");
		foreach my $query (
			request(22, 222, 223, 2),
			'SELECT sno_registry_vouch()',
			'SELECT sno_registry_report_loss()')
		{
			like(
				error($node, $copy, $query),
				qr/^55000: this registry is a copy$/,
				"$name: refused");
		}
	}
}
is( $target->safe_psql(
		'copy_of_registry',
		"SELECT count(*) FROM pg_extension WHERE extname = 'sno_registry'"),
	1,
	'the extension is restored');
$restored->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE registry');
like(
	error($restored, 'copy', request(22, 222, 223, 2)),
	qr/^55000: this registry is a copy$/,
	'a database made from the registry\'s is a copy, too');

# The original went on after the dump, and stops.
is( ask($restored, 'registry', 22, 222, 223, 4),
	'granted 1056 1060 1064 1068',
	'the original goes on after the dump');
$restored->stop;
$target->safe_psql('copy_of_registry', 'SELECT sno_registry_move()');
is(ask($target, 'copy_of_registry', 22, 222, 223, 2),
	'forgotten', 'after sno_registry_move() the holders are forgotten');
is( ask($target, 'copy_of_registry', 32, 0, 321, 4),
	'granted 1072 1076 1080 1084',
	'and the fourth part of the blocks is granted');
is(ask_for_node($target, 'copy_of_registry', 32, 0, 321), 'granted 6', 'likewise of the nodes, which the dump has');
check_granted('moved');
is( error($target, 'copy_of_registry', 'SELECT sno_registry_move()'),
	'55000: the registry has not moved',
	'it moved once');

$target->safe_psql('copy_of_app',
	'SELECT sno_registry_move(); SELECT sno_registry_vouch()');
is( ask($target, 'copy_of_app', 1, 11, 12, 2),
	'granted 1024 1028',
	'if an operator says that nothing was lost, holders go on');

check_log($_) foreach ($primary, $standby, $restored, $target);
$target->stop;
done_testing();
