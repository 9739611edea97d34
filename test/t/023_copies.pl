
# Copies of a server, each of which goes on: a base backup beside the original,
# an old backup and a point in time recovered, a dump restored where the clock
# is behind, an upgraded cluster, standbys in sync or out of it, and replicas
# by logical replication.  Nothing of the past that they were copied with comes
# again, and those that generate at the same time keep apart by their ranges.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SnoInstall;
use Test::More;
use TestHelpers;
use Torture;

my $torture = Torture->new;
my $notes   = NotedIds->new;

# Leases outlive the whole test.
my $settings = q{
log_statement = none
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

# Generate, in a session that may not wait; some of it is inserted.
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

# Which partitions were leased by this holder, and which by others?
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

# A copy goes on in partitions that it doesn't know to be used.
sub keeps_away
{
	my ($what, $node, $dbname) = @_;
	$notes->next_phase;
	generate($node, $dbname);
	my $partitions = partitions($node, $dbname);
	cmp_ok(scalar keys %{ $partitions->{others} },
		'>', 0, "$what: the leases came along as another holder's");
	is( scalar(
			grep { $partitions->{others}{$_} } keys %{ $partitions->{own} }),
		0,
		'whose partitions are left alone');
	return;
}

my $original = PostgreSQL::Test::Cluster->new('original');
$original->init(allows_streaming => 1, has_archiving => 1);
$original->append_conf('postgresql.conf', $settings);
set_partitions($original, '0-9999');
$torture->start_server($original);
$original->safe_psql('postgres',
	'CREATE EXTENSION sno; CREATE TABLE t (id sno PRIMARY KEY)');
$notes->next_phase;
generate($original);

#
# A base backup, beside the original
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
	'the original keeps to its range');
is( scalar(
		grep { $_ < 10000 } map { (decode_id($_))[3] }
		  split /\n/,
		$beside->safe_psql('postgres', ids_of(1000))),
	0,
	'the copy beside it, too');
$beside->stop;
$notes->check('a backup beside the original');

#
# An old backup, and a point in time, recovered; then the original is gone
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

	# The leases that came along being over makes no difference.
	$restored->stop('immediate');
	$torture->set_clock(2 * 3600);
	$torture->start_server($restored);
	keeps_away("recovered until $target, two hours later", $restored);
	$restored->stop;
	$torture->set_clock(0);
}
$notes->check('recovered');

#
# A dump, restored where the clock is ten minutes behind, by one who owns his
# database and no more
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
	'an owner dumps his database');
my $behind = PostgreSQL::Test::Cluster->new('behind');
$behind->init;
$behind->append_conf('postgresql.conf', $settings);
$original->stop;
$torture->set_clock(-600);
$torture->start_server($behind);
$behind->safe_psql('postgres',
	'CREATE ROLE owner LOGIN; CREATE DATABASE restored OWNER owner');
$behind->command_ok(
	[   'pg_restore', '-e', '-d',
		$behind->connstr('restored') . ' user=owner', $dump ],
	'and restores it');
keeps_away('restored where the clock is behind', $behind, 'restored');
$notes->check('a dump');

#
# An upgraded cluster, its clock behind as well
#
$behind->stop;
my $upgraded = PostgreSQL::Test::Cluster->new('upgraded');
$upgraded->init;
$upgraded->append_conf('postgresql.conf', $settings);
upgrade_cluster($behind, pg_config('bindir'), $upgraded,
	'a cluster is upgraded');
$torture->start_server($upgraded);
keeps_away('upgraded', $upgraded, 'restored');
$notes->check('an upgrade');
$upgraded->stop;

#
# Standbys: a synchronous one that is down keeps commits waiting, not leases.
#
$torture->set_clock(0);
$torture->start_server($original);
$notes->next_phase;
my $session = open_session($original, 'postgres', 'sno.max_wait = 0');
configure($original, 'synchronous_standby_names', 'nobody',    $session);
configure($original, 'sno.partitions',            '5000-9999', $session);
$notes->add('original', $session->query_safe(ids_of(500)));
is( $session->query_safe(
		'SELECT count(*) > 0 FROM sno_catalog.sno_lease WHERE partition >= 5000'
	),
	't',
	'a lease waits for no standby');

# A commit that waits for one is no special case.
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
# Logical replication of everything, either way, between two servers that both
# have the extension and generate; an apply worker generates, too.
#
my $one = PostgreSQL::Test::Cluster->new('one');
my $two = PostgreSQL::Test::Cluster->new('two');
foreach my $node ($one, $two)
{
	$node->init(allows_streaming => 'logical');
	$node->append_conf('postgresql.conf', $settings);
	$node->start;
	$node->safe_psql(
		'postgres', q{
CREATE EXTENSION sno;
CREATE TABLE t (id sno PRIMARY KEY);
CREATE TABLE applied (id sno PRIMARY KEY, copy_of sno);
CREATE FUNCTION apply() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN INSERT INTO public.applied SELECT public.sno_generate(2), NEW.id; RETURN NULL; END';
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

# Before 16, what came from the other side would go back there.
my $both_ways = $one->pg_version >= 16;
my $origin    = $both_ways ? 'origin = none, ' : '';
subscribe($one, $two, "${origin}copy_data = false") if $both_ways;
subscribe($two, $one, "${origin}copy_data = false");
$notes->next_phase;
generate($one);
generate($two);
$one->wait_for_catchup('from_one');
is($two->safe_psql('postgres', 'SELECT count(*) FROM t'),
	1000, 'what one generated is replicated');
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
	'leases are not replicated');

# What a synchronisation copies is another holder's.
$one->safe_psql('postgres', 'DROP SUBSCRIPTION from_two') if $both_ways;
$two->safe_psql('postgres', 'DROP SUBSCRIPTION from_one');
$two->safe_psql('postgres', 'TRUNCATE t, applied');
subscribe($two, $one, 'copy_data = true');
$two->wait_for_subscription_sync($one, 'from_one');
keeps_away('synchronised', $two);
$notes->check('logical replication');

foreach my $node ($original, $one, $two)
{
	$node->stop;
	check_log($node);
}
done_testing();
