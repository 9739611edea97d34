
# Many ids of one call, when one partition has too few of them in a unit.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use TestHelpers;
use Time::HiRes qw(time);

my $clock = FakeClock->new;

my $node = start_node('main', clock => $clock);

my $session = open_session($node, 'postgres', 'sno.max_wait = 0');
my $summary = q{
SELECT count(*), count(DISTINCT id), count(DISTINCT sno_timestamp(id)), count(DISTINCT sno_partition(id))
FROM (SELECT sno_generate_many(%d) AS id) AS s};

#
# A clock that stands still: a partition has 65,536 ids in the unit
#
$clock->stop_at('2030-01-01 00:00:00');
is($session->query_safe(sprintf($summary, 140_000)),
	'140000|140000|1|3', '140,000 ids within a unit are of three partitions');
is( $session->query_safe(
		q{
SELECT count(*) FROM (SELECT id, lag(id) OVER () AS previous FROM sno_generate_many(10000) AS id) AS s
WHERE id <= previous AND sno_partition(id) = sno_partition(previous)}),
	0,
	'ids ascend within each partition');

#
# A later unit: all these partitions can issue again
#
my $leased =
  $node->safe_psql('postgres', 'SELECT count(*) FROM sno_catalog.sno_lease');
$clock->stop_at('2030-01-01 00:00:01');
is($session->query_safe(sprintf($summary, 190_000)),
	'190000|190000|1|3',
	'in a later unit the same number of partitions is used');
is( $node->safe_psql(
		'postgres', 'SELECT count(*) FROM sno_catalog.sno_lease'),
	$leased,
	'in a later unit there are no new leases');

#
# A clock that runs.  The lease of each partition is renewed when half of it is
# over, however often the session comes back to the partition.
#
close_session($session);
$node->stop;
$node->append_conf('postgresql.conf', "sno.lease_duration = 1s\n");
$node->start;
$session = open_session($node, 'postgres');
is($session->query_safe('SELECT count(sno_generate())'),
	1, 'a session has a lease');
$session->query_safe("SELECT pg_stat_reset_shared('wal')");
my $start = time;
$session->query_safe(
	q{
DO $$
DECLARE
	until timestamptz := clock_timestamp() + interval '4 s';
BEGIN
	WHILE clock_timestamp() < until LOOP
		PERFORM count(*) FROM (SELECT sno_generate_many(1000000)) AS s;
	END LOOP;
END $$});
cmp_ok(
	$session->query_safe(
		'SELECT issued FROM sno_generators() WHERE name IS NULL'),
	'>',
	1_000_000,
	'millions of ids are made in 4 s');
$session->query_safe('SELECT pg_stat_force_next_flush()');
cmp_ok(
	$session->query_safe('SELECT wal_records FROM pg_stat_wal') /
	  (time - $start),
	'<', 30, 'less than 30 WAL records a second are written meanwhile');

close_session($session);
check_log($node);
$node->stop;
done_testing();
