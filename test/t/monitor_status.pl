
# What sno_generators() and sno_check() show: of sessions that generate at the
# same time, when no partition is free, when a lease can't be renewed, on a
# standby, and when the clock steps.  Each session has a partition of its own.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use TestHelpers;

my $node = start_node('main', allows_streaming => 1, conf => q{
autovacuum = off
max_connections = 50
}, sql => 'CREATE EXTENSION sno_flakes');

# Columns of sno_generators(), of the rows that meet a condition.
sub show
{
	my ($columns, $condition) = @_;
	return $node->safe_psql('postgres',
		"SELECT $columns FROM sno_generators() WHERE $condition");
}

# The published queries are bounded, whatever the owner of a database defines, and lose nothing.
$node->safe_psql('postgres', $_) foreach (
	'CREATE DATABASE flooded',
	'CREATE ROLE watcher LOGIN IN ROLE pg_monitor; ALTER ROLE watcher SET search_path = pg_catalog');
$node->safe_psql('flooded', $_) foreach (
	'CREATE EXTENSION sno; CREATE EXTENSION sno_flakes',
	q{SELECT count(sno_flake_create_generator(format('<%s> & "series"', n), 'counter')) FROM generate_series(1, 300) AS n});
my $flood = open_session($node, 'flooded');
$flood->query_safe(
	q{SELECT count(sno_flake_generate(format('<%s> & "series"', n))) FROM generate_series(1, 300) AS n});
my $queries = slurp_file("$FindBin::RealBin/../../monitoring/postgres_exporter.yml");
my @rows;
while ($queries =~ /^(\w+):\n  query: \|\n((?:    .*\n)+)/mg)
{
	my ($name, $query) = ($1, $2);
	my @found = split /\n/, $node->safe_psql('flooded', $query,
		connstr => $node->connstr('flooded') . ' user=watcher');
	cmp_ok(scalar @found, '<=', 102, "rows of $name");
	@rows = @found if $name eq 'sno_generators';
}
my $issued = 0;
$issued += (split /\|/)[3] foreach @rows;
is($issued, 300, 'generators that are not shown are counted');
like("@rows", qr/flooded\|\(others\)\|/, 'as others');
close_session($flood);

# The result of an item of sno_check().
sub check_of
{
	my ($item) = @_;
	return $node->safe_psql('postgres',
		"SELECT ok, detail FROM sno_check() WHERE item = '$item'");
}

#
# Sessions of two databases that generate at the same time
#
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other',    'CREATE EXTENSION sno');
my @sessions = map { open_session($node, $_) } qw(postgres other) x 3;
my @pids     = map { $_->{pid} } @sessions;
my %seen;

send_query($sessions[$_],
	"CREATE TEMP TABLE made AS SELECT sno_generate() AS id FROM generate_series(1, 100000 * (1 + $_)); SELECT sno_generate()"
) foreach 0 .. $#sessions;
foreach my $n (0 .. $#sessions)
{
	my ($id) = receive($sessions[$n]);
	$seen{ decode_id($id)->{partition} }{ $n % 2 } = 1;
	is( show(
			"database, partition = sno_partition('$id'), wall_hi >= sno_timestamp('$id')",
			"partition = sno_partition('$id')"),
		($n % 2 ? 'other' : 'postgres') . '|t|t',
		"session $n: its partition is shown");
}
is(scalar(grep { keys %$_ > 1 } values %seen), 0, 'each database has other partitions');
is(show('sum(issued)', "database = 'postgres'"), 900003, 'the ids of all sessions of a database are counted');
is(show('sum(issued)', "database = 'other'"), 1200003, 'those of another one, too');

# If a unit ends just after its last id was made, nobody saw it exhausted.
$node->safe_psql('postgres', 'SELECT sno_reset_statistics()');
is( $sessions[0]->query_safe(
		q{TRUNCATE made; INSERT INTO made SELECT sno_generate() FROM generate_series(1, 300000);
		SELECT count(*) FILTER (WHERE n = 65536) - max(exhausted) IN (0, 1)
		FROM (SELECT sum(exhausted) AS exhausted FROM sno_generators() WHERE database = 'postgres') AS s,
			(SELECT count(*) AS n FROM made GROUP BY sno_timestamp(id), sno_tick_tock(id), sno_partition(id)) AS unit}),
	't',
	'exhausted units are counted');

$node->safe_psql('postgres', 'SELECT sno_reset_statistics()');
is(show('sum(issued), sum(exhausted), sum(waits)', 'true'),
	'0|0|0', 'a reset clears all counters');
$sessions[1]->query_safe('SELECT sno_generate() FROM generate_series(1, 5)');
is(show('sum(issued)', 'true'), 5, 'after a reset, ids are counted from zero');

close_session($_) foreach @sessions;

#
# Sessions that wait, and no partition free
#
$node->append_conf('postgresql.conf', "sno.partitions = '100-103'\nsno.lease_duration = '1s'");
$node->restart;
@sessions =
  map { open_session($node, 'postgres', "sno.max_wait = '1d'") } 1 .. 3;
$_->query_safe('SELECT sno_generate()') foreach @sessions;
my $locker = open_session($node, 'postgres');
$locker->query_safe('BEGIN; LOCK TABLE sno_catalog.sno_lease IN EXCLUSIVE MODE');
wait_until('their lease is over', sub { show('max(lease_until) < clock_timestamp()', 'true') eq 't' });
@pids = map { $_->{pid} } @sessions;
my $these = 'pid IN (' . join(',', @pids) . ')';
send_query($_, 'SELECT sno_generate()') foreach @sessions;
wait_until('three sessions wait', sub { show('sum(waits)', 'true') == 3 });
my $longest = show('max(longest_wait)', 'true');
wait_until('the wait is shown to last longer',
	sub { show("max(longest_wait) > '$longest'", 'true') eq 't' });
wait_until(
	'all waiting sessions have a wait event',
	sub {
		$node->safe_psql('postgres',
			"SELECT count(*) FROM pg_stat_activity WHERE $these AND wait_event IN ('Extension', 'SnoPartition')"
		) == 3;
	});
close_session($locker);
receive($_) foreach @sessions;
is(show('sum(issued), sum(waits)', 'true'),
	'6|3', 'waiting sessions go on, and each is shown to have waited once');
$sessions[0]->query_safe('SET sno.max_wait = 0; SELECT sno_generate()');
is(show('sum(waits)', 'true'), 3, 'an id that comes at once is no wait');
close_session($_) foreach @sessions;
$node->append_conf('postgresql.conf', "sno.partitions = '200-203'");
$node->reload;
wait_until('all partitions are lent',
	sub { ($node->psql('postgres', 'SET sno.max_wait = 0; SELECT sno_borrow_partition()'))[0] != 0 });
like(
	check_of('partitions'),
	qr/^f\|Of partitions 200 to 203, 0 are open; 4 cannot be used until .* 0 are free/,
	'sno_check() tells that no partition is free');

#
# A lease that can't be renewed early
#
$node->append_conf('postgresql.conf',
	"sno.partitions = '1000-1999'\nsno.lease_duration = '30s'");
$node->restart;
my $session = open_session($node, 'postgres');
$session->query_safe(
	"SELECT sno_generate(), sno_flake_create_generator('flake', 'snowflake', 7), sno_flake_generate('flake')"
);
is( check_of('leases'),
	't|Leases can be written, and no attempt has failed.',
	'sno_check() tells that leases are renewed');
$node->safe_psql('postgres',
	'ALTER TABLE sno_catalog.sno_lease ADD COLUMN n integer');
$node->append_conf('postgresql.conf', "sno.lease_duration = '1h'");
$node->reload;
wait_until(
	'an early renewal of a generator of a layout fails',
	sub {
		$session->query_safe("SELECT sno_flake_generate('flake')");
		slurp_file($node->logfile) =~
		  /LOG:  could not renew the lease of generator "flake" yet/;
	});
like(
	$node->safe_psql('other', "SELECT detail FROM sno_check() WHERE item = 'leases'"),
	qr/^A lease could not be written, last at [^"]* in database "postgres"\.$/,
	'sno_check() of another database does not name the generator');
$node->safe_psql('postgres',
	'ALTER TABLE sno_catalog.sno_lease DROP COLUMN n');
like(
	check_of('leases'),
	qr/^f\|A lease could not be written, last at .* in database "postgres": generator "flake": table "sno_lease" of extension "sno" was altered$/,
	'sno_check() names the generator');
$node->safe_psql('postgres',
	'ALTER TABLE sno_catalog.sno_lease ADD COLUMN n integer');
wait_until(
	'an early renewal fails',
	sub {
		$session->query_safe('SELECT sno_generate()');
		slurp_file($node->logfile) =~
		  /LOG:  could not renew the lease of partition \d+ yet/;
	});
like(
	check_of('leases'),
	qr/^f\|Leases cannot be written: table "sno_lease" of extension "sno" was altered$/,
	'sno_check() tells what is wrong with the table');
$node->safe_psql('postgres',
	'ALTER TABLE sno_catalog.sno_lease DROP COLUMN n');
like(
	check_of('leases'),
	qr/^f\|A lease could not be written, last at .* in database "postgres": partition 1\d\d\d: table "sno_lease" of extension "sno" was altered$/,
	'sno_check() tells what was wrong at the last renewal that failed');
like(
	$node->safe_psql(
		'other', "SELECT ok, detail FROM sno_check() WHERE item = 'leases'"),
	qr/^f\|A lease could not be written, last at [^"]* in database "postgres"\.$/,
	'sno_check() of another database does not tell the cause');
$node->safe_psql('postgres', 'SELECT sno_reset_statistics()');
like(check_of('leases'), qr/^t\|/,
	'after a reset, sno_check() has forgotten the failed renewal');

# Nothing that sno_check() does waits for a lock.
$session->query_safe('BEGIN; LOCK TABLE sno_catalog.sno_lease');
is( check_of('leases'),
	'f|Leases cannot be written: table "sno_lease" is locked.',
	'sno_check() tells that the table is locked');
$session->query_safe('COMMIT');
$session->query_safe(
	"BEGIN; LOCK TABLE sno_catalog.sno_flake_layout"
);
like(
	check_of('layouts'),
	qr/^f\|The layout of generator "flake" cannot be looked up\.$/,
	'sno_check() tells that layouts are locked');
is(show('layout, node_first', "name = 'flake'"),
	'|7', 'sno_generators() does not wait for them');
$session->query_safe("COMMIT; SELECT sno_flake_drop_generator('flake')");

# A lease that the standby will see
wait_until(
	'there is a lease that is longer than the test',
	sub {
		$session->query_safe('SELECT sno_generate()');
		$session->query_safe(
			"SELECT max(tick_until) > now() + interval '30 min' FROM sno_catalog.sno_lease"
		) eq 't';
	});
close_session($session);

#
# On a standby
#
my $standby = start_standby($node, 'standby');
is( $standby->safe_psql(
		'postgres', 'SELECT count(*), bool_and(ok) FROM sno_check()'),
	'13|t',
	'sno_check() finds nothing wrong on a standby');
is( $standby->safe_psql('postgres', 'SELECT count(*) FROM sno_generators()'),
	0,
	'sno_generators() shows nothing on a standby');
$standby->promote;
$standby->safe_psql('postgres', 'SELECT sno_generate()');
like(
	$standby->safe_psql(
		'postgres',
		"SELECT ok, detail FROM sno_check() WHERE item = 'holders'"),
	qr/^t\|Active leases of other holders: [1-9]\d*\. The last one ends at /,
	'on a promoted standby, sno_check() tells of the leases of the primary');
is($standby->safe_psql('postgres', 'SELECT item FROM sno_check() WHERE NOT ok'),
	'', 'they are no fault');
$standby->stop;
$node->stop;

#
# A clock that steps
#
{
	my $clock = FakeClock->new;

	# A partition that was never leased can issue at any time.
	$node->append_conf('postgresql.conf', "sno.partitions = '2000-2999'");
	$clock->start_server($node);
	$session = open_session($node, 'postgres');
	$session->query_safe('SELECT sno_generate()');
	is( check_of('clock'),
		't|No step of the system clock was seen.',
		'sno_check() finds nothing wrong with a steady clock');
	$clock->set_offset(-3600);
	$session->query_safe('SELECT sno_generate()');
	like(
		check_of('clock'),
		qr/^f\|.*stepped 1 times, last by -(3600\.0|3599\.9)\d\d s to /,
		'sno_check() tells of a step back');
	$clock->set_offset(-3000);
	$session->query_safe('SELECT sno_generate()');
	like(
		check_of('clock'),
		qr/^f\|.*stepped 2 times, last by \+(600\.0|599\.9)\d\d s to /,
		'sno_check() tells of a step forward');
	is( $session->query_safe(
			'SELECT drifts % 2 FROM sno_generators() WHERE partition BETWEEN 2000 AND 2999'
		),
		1,
		'sno_generators() shows the drift to the other side');
	$clock->set_offset(60 * 365 * 86400);
	like(
		$node->safe_psql(
			'postgres',
			"SELECT ok, hint FROM sno_check() WHERE item = 'epoch'"),
		qr{^f\|Set the system clock right\. See doc/operations\.md#trouble\.$},
		'sno_check() tells of a clock outside the epoch');
	close_session($session);
	$node->stop;
}

done_testing();
