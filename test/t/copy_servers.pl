
# Copies of a server that generate: a base backup beside the original, an old
# backup and a point in time that are recovered, a dump that is restored where
# the clock is behind, an upgraded cluster, a server whose synchronous standby
# is down, and logical replicas.  No copy issues an id that was issued before it
# was made.  Copies that generate at the same time have different ranges of
# partitions.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use SnoInstall;
use TestHelpers;
use Torture;

my $torture = Torture->new;
my $notes   = NotedIds->new;

# Leases are longer than the test.
my $settings = q{
max_connections = 30
wal_level = logical
sno.lease_duration = 1h
};

sub set_partitions
{
	my ($node, $range) = @_;
	$node->append_conf('postgresql.conf', "sno.partitions = '$range'");
	return;
}

# Make ids in a session that may not wait, and insert half of them.
sub generate
{
	my ($node, $dbname) = @_;
	$dbname //= 'postgres';
	my $session = open_session($node, $dbname, 'sno.max_wait = 0');
	$notes->add($node->name, $session->query_safe(ids_of(500)));
	$notes->add(
		$node->name,
		$session->query_safe(
			'INSERT INTO t (id) ' . ids_of(500) . ' RETURNING id'),
		'inserted');
	close_session($session);
	return;
}

# The partitions that this holder has leased, and those of other holders.
sub partitions
{
	my ($node, $dbname) = @_;
	my %partitions = (own => {}, others => {});
	foreach my $row (
		split /\n/,
		$node->safe_psql(
			$dbname // 'postgres', q{
SELECT partition, system_identifier = (SELECT system_identifier FROM pg_control_system())
	AND timeline = ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
FROM sno_catalog.sno_lease}))
	{
		my ($partition, $own) = split /\|/, $row;
		$partitions{ $own eq 't' ? 'own' : 'others' }{$partition} = 1;
	}
	return \%partitions;
}

# Check that a copy generates in partitions that no other holder has leased.
sub keeps_away
{
	my ($what, $node, $dbname) = @_;
	$notes->next_phase;
	generate($node, $dbname);
	my $partitions = partitions($node, $dbname);
	cmp_ok(scalar keys %{ $partitions->{others} },
		'>', 0, "$what: the copied leases are those of another holder");
	is( scalar(
			grep { $partitions->{others}{$_} } keys %{ $partitions->{own} }),
		0,
		"$what: the copy uses no partition of another holder");
	return;
}

my $original = new_node('original', allows_streaming => 1, has_archiving => 1, conf => $settings);
set_partitions($original, '0-9999');
$torture->start_server($original);
$original->safe_psql('postgres',
	'CREATE EXTENSION sno; CREATE TABLE t (id sno PRIMARY KEY)');
$notes->next_phase;
generate($original);

#
# A base backup beside the original
#
$original->backup('first');
generate($original);
my $beside = PostgreSQL::Test::Cluster->new('beside');
$beside->init_from_backup($original, 'first');
set_partitions($beside, '10000-19999');
$torture->start_server($beside);
$notes->next_phase;
my %running =
  map { $_->name => $notes->start_clients($_, 'postgres', clients => 2) }
  ($original, $beside);
$notes->wait_for_notes($_)                     foreach values %running;
$notes->stop_clients($_, $running{ $_->name }) foreach ($original, $beside);
generate($_)                                   foreach ($original, $beside);
is( scalar(
		grep { $_ > 9999 } map { keys %$_ } values %{ partitions($original) }
	),
	0,
	'beside a copy, the original uses its own range');
is( scalar(
		grep { $_ < 10000 } map { decode_id($_)->{partition} }
		  split /\n/,
		$beside->safe_psql('postgres', ids_of(1000))),
	0,
	'beside the original, the copy uses its own range');
$beside->stop;
$notes->check('a backup beside the original');

#
# An old backup and a point in time, recovered
#
$original->safe_psql('postgres', q{SELECT pg_create_restore_point('later')});
generate($original);
my $wal = $original->safe_psql('postgres',
	'SELECT pg_walfile_name(pg_current_wal_lsn())');
$original->safe_psql('postgres', 'SELECT pg_switch_wal()');
$original->poll_query_until('postgres',
	"SELECT last_archived_wal >= '$wal' FROM pg_stat_archiver");
foreach my $target ('name', 'immediate')
{
	my $restored = PostgreSQL::Test::Cluster->new("restored_$target");
	$restored->init_from_backup(
		$original, 'first',
		has_restoring => 1,
		standby       => 0);
	$restored->append_conf('postgresql.conf',
		$target eq 'name'
		? q{recovery_target_name = 'later'}
		: q{recovery_target = 'immediate'});
	$restored->append_conf('postgresql.conf',
		"recovery_target_action = promote\nrecovery_target_timeline = current\narchive_mode = off"
	);
	$torture->start_server($restored);
	$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	keeps_away("recovered until $target", $restored);

	# The same holds when the copied leases are over.
	$restored->stop('immediate');
	$torture->set_clock(2 * 3600);
	$torture->start_server($restored);
	keeps_away("recovered until $target, two hours later", $restored);
	$restored->stop;
	$torture->set_clock(0);
}
$notes->check('recovered');

#
# A dump, restored where the clock is ten minutes behind, by the owner of a
# database
#
$original->safe_psql('postgres',
	'CREATE ROLE owner LOGIN; CREATE DATABASE dumped OWNER owner');
$original->safe_psql(
	'dumped',
	'CREATE EXTENSION sno; CREATE TABLE t (id sno PRIMARY KEY)',
	connstr => $original->connstr('dumped') . ' user=owner');
generate($original, 'dumped');
my $dump = PostgreSQL::Test::Utils::tempdir('dump') . '/dump';
$original->command_ok(
	[   'pg_dump', '-Fc', '-f', $dump, '-d',
		$original->connstr('dumped') . ' user=owner' ],
	'the owner of a database dumps it');
my $behind = new_node('behind', conf => $settings);
$original->stop;
$torture->set_clock(-600);
$torture->start_server($behind);
$behind->safe_psql('postgres',
	'CREATE ROLE owner LOGIN; CREATE DATABASE restored OWNER owner');
$behind->command_ok(
	[   'pg_restore', '-e', '-d',
		$behind->connstr('restored') . ' user=owner', $dump ],
	'the owner restores the dump');
keeps_away('restored where the clock is behind', $behind, 'restored');
$notes->check('a dump');

#
# An upgraded cluster, whose clock is behind as well
#
$behind->stop;
my $upgraded = new_node('upgraded', conf => $settings);
upgrade_cluster($behind, pg_config('bindir'), $upgraded,
	'a cluster is upgraded');
$torture->start_server($upgraded);
keeps_away('upgraded', $upgraded, 'restored');
$notes->check('an upgrade');
$upgraded->stop;

#
# A synchronous standby that is down: commits wait for it, leases do not
#
$torture->set_clock(0);
$original->append_conf(
	'postgresql.conf', q{
synchronous_standby_names = 'nobody'
sno.partitions = '5000-9999'
});
$torture->start_server($original);
$notes->next_phase;
my $session = open_session($original, 'postgres', 'sno.max_wait = 0');

# Commits wait only after the checkpointer has told all processes of the
# setting.  It does so before its first checkpoint.
$session->query_safe('CHECKPOINT');
$notes->add('original', $session->query_safe(ids_of(500)));
is( $session->query_safe(
		'SELECT count(*) > 0 FROM sno_catalog.sno_lease WHERE partition >= 5000'
	),
	't',
	'a lease waits for no synchronous standby');

# A crash while a commit waits for the standby
send_query($session, 'INSERT INTO t (id) ' . ids_of(500) . ' RETURNING id');
$original->poll_query_until('postgres',
	q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'}
);
$original->stop('immediate');
drop_session($session);
$original->append_conf('postgresql.conf', q{synchronous_standby_names = ''});
$torture->start_server($original);
$notes->check_leases($original, 'postgres', 'a commit that waited');
$notes->next_phase;
generate($original);
$notes->check('a synchronous standby that is down');

#
# Logical replication of all tables, both ways, between two servers that
# generate.  An apply worker generates, too.
#
my ($one, $two) = map { start_node($_, allows_streaming => 'logical', conf => $settings) } qw(one two);
foreach my $node ($one, $two)
{
	$node->safe_psql(
		'postgres', q{
CREATE TABLE t (id sno PRIMARY KEY);
CREATE TABLE applied (id sno PRIMARY KEY, copy_of sno);
CREATE FUNCTION apply() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN INSERT INTO public.applied SELECT pg_catalog.sno_generate(2), NEW.id; RETURN NULL; END';
CREATE TRIGGER apply AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION apply();
ALTER TABLE t ENABLE REPLICA TRIGGER apply;
CREATE PUBLICATION everything FOR ALL TABLES});
}

sub subscribe
{
	my ($node, $to, $options) = @_;
	$node->safe_psql('postgres',
			'CREATE SUBSCRIPTION from_'
		  . $to->name
		  . ' CONNECTION $$'
		  . $to->connstr('postgres')
		  . "\$\$ PUBLICATION everything WITH ($options)");
	return;
}

# Before 16, a server would send back the rows that it received.
my $both_ways = $one->pg_version >= 16;
my $origin    = $both_ways ? 'origin = none, ' : '';
subscribe($one, $two, "${origin}copy_data = false") if $both_ways;
subscribe($two, $one, "${origin}copy_data = false");
$notes->next_phase;
generate($one);
generate($two);
$one->wait_for_catchup('from_one');
is($two->safe_psql('postgres', 'SELECT count(*) FROM t'),
	1000, 'rows with ids are replicated');
$notes->add('apply worker',
	$two->safe_psql('postgres', 'SELECT id FROM applied'));
is($two->safe_psql('postgres', 'SELECT count(DISTINCT id) FROM applied'),
	500, 'an apply worker generates');
is( $one->safe_psql('postgres',
		'SELECT count(DISTINCT system_identifier) FROM sno_catalog.sno_lease')
	  . $two->safe_psql(
		'postgres',
		'SELECT count(DISTINCT system_identifier) FROM sno_catalog.sno_lease'
	  ),
	'11',
	'leases are not replicated to a subscriber');

# The leases that the start of a subscription copies are those of another
# holder.
$one->safe_psql('postgres', 'DROP SUBSCRIPTION from_two') if $both_ways;
$two->safe_psql('postgres', 'DROP SUBSCRIPTION from_one');
$two->safe_psql('postgres', 'TRUNCATE t, applied');
subscribe($two, $one, 'copy_data = true');
$two->wait_for_subscription_sync($one, 'from_one');
keeps_away('subscribed with a copy of the data', $two);
$notes->check('logical replication');

foreach my $node ($original, $one, $two)
{
	$node->stop;
	check_log($node);
}
done_testing();
