
# Many ids from one call, when a unit has too few of them in one partition.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SnoTest;
use Test::More;
use Time::HiRes qw(time);

my ($faketime) = glob('/usr/lib/*/faketime/libfaketime.so.1');
plan skip_all => 'libfaketime is not installed' unless defined $faketime;

my $clock_file = PostgreSQL::Test::Utils::tempdir('clock') . '/clock';

# The server's clock: stopped at a time, or an offset to the real one.
sub set_clock
{
	my ($clock) = @_;
	unlink "$clock_file.new";
	append_to_file("$clock_file.new", "$clock\n");
	rename "$clock_file.new", $clock_file
	  or die "could not set the clock: $!";
	return;
}

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
set_clock('+0');
{
	local $ENV{LD_PRELOAD}                   = $faketime;
	local $ENV{FAKETIME_TIMESTAMP_FILE}      = $clock_file;
	local $ENV{FAKETIME_NO_CACHE}            = 1;
	local $ENV{FAKETIME_DONT_FAKE_MONOTONIC} = 1;
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION sno');

my $session = open_session($node, 'postgres', 'sno.max_wait = 0');
my $summary = q{
SELECT count(*), count(DISTINCT id), count(DISTINCT sno_timestamp(id)), count(DISTINCT sno_partition(id))
FROM (SELECT sno_generate_many(%d) AS id) AS s};

#
# A unit that never ends: a partition has 65,536 ids in it
#
set_clock('2030-01-01 00:00:00');
is(ask($session, sprintf($summary, 140_000)),
	'140000|140000|1|3', 'further partitions are taken within a unit');
is( ask($session, q{
SELECT count(*) FROM (SELECT id, lag(id) OVER () AS previous FROM sno_generate_many(10000) AS id) AS s
WHERE id <= previous AND sno_partition(id) = sno_partition(previous)}),
	0,
	'ids ascend within each of them');

#
# The next unit: all of them can issue again
#
my $leased =
  $node->safe_psql('postgres', 'SELECT count(*) FROM sno_catalog.sno_lease');
set_clock('2030-01-01 00:00:01');
is(ask($session, sprintf($summary, 190_000)),
	'190000|190000|1|3', 'in the next unit they take their turn again');
is($node->safe_psql('postgres', 'SELECT count(*) FROM sno_catalog.sno_lease'),
	$leased, 'without new leases');

#
# A clock that runs.  Each partition renews its lease once in a half-life,
# however often the session comes back to it.
#
close_session($session);
$node->stop;
$node->append_conf('postgresql.conf', "sno.lease_duration = 1s\n");
$node->start;
$session = open_session($node, 'postgres');
is(ask($session, 'SELECT count(sno_generate())'), 1, 'a lease is taken');
ask($session, "SELECT pg_stat_reset_shared('wal')");
my $start = time;
ask($session, q{
DO $$
DECLARE
	until timestamptz := clock_timestamp() + interval '4 s';
BEGIN
	WHILE clock_timestamp() < until LOOP
		PERFORM count(*) FROM (SELECT sno_generate_many(1000000)) AS s;
	END LOOP;
END $$});
cmp_ok(
	ask($session,
		'SELECT issued FROM sno_generators() WHERE pid = pg_backend_pid()'),
	'>', 1_000_000, 'millions are made');
ask($session, 'SELECT pg_stat_force_next_flush()');
cmp_ok(
	ask($session, 'SELECT wal_records FROM pg_stat_wal') / (time - $start),
	'<', 30, 'and next to nothing is written');

close_session($session);
check_log($node);
$node->stop;
done_testing();
