
# A server dies, and the end of its WAL is lost.  Its successor is a promoted
# standby or a restored dump.  It issues none of the ids whose leases were lost
# with that WAL, even if its clock is behind.
#
# For ids of given times that rests on chance.  If the successor has only the
# partition that was used, it begins with the same sequence on the same side in
# one of 131,072 cases.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;
use Time::HiRes qw(time);
use Torture;

my $epoch = 1262304000;

# Each server has a clock of its own.
my %torture;

sub start
{
	my ($node) = @_;
	($torture{ $node->name } //= Torture->new)->start_server($node);
	return;
}

# One of the two partitions may be used for ids of given times.
my $settings = q{
autovacuum = off
sno.lease_duration = 1h
sno.partitions = '100-101'
};

# Ids of given times, which are the same in each call
my $at =
  q{SELECT sno_generate_at(timestamptz '2020-01-01' + n * interval '4 ms') FROM generate_series(1, 5000) AS n};

# SQL that makes one id of a generator each millisecond
sub slowly
{
	my ($generator, $count) = @_;
	return
	  "SELECT sno_generate(1, '$generator') FROM generate_series(1, $count) AS n, LATERAL (SELECT pg_sleep(0.001 + n * 0)) AS s";
}

# The units of ids.
sub units
{
	my ($ids) = @_;
	return map { decode_id($_)->{unit} } split /\n/, $ids;
}

#
# What the successors know: a lease of a session generator, a named generator
# whose row is exact, and generators that were not used yet
#
my $primary = new_node('primary', allows_streaming => 1, conf => $settings);
start($primary);
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
start($standby);

$primary->safe_psql(
	'postgres',
	q{CREATE EXTENSION sno;
	SELECT sno_create_generator('closed', 1), sno_create_generator('unused', 2),
		sno_create_generator('restored', 3), sno_create_generator('remade', 4)}
);
my $session = open_session($primary, 'postgres');
$session->query_safe(q{SELECT sno_generate(), sno_generate(1, 'closed')});
close_session($session);

my $rows =
  'SELECT kind, partition, wall_hi = (ARRAY[tick_until, tock_until])[drifts % 2 + 1] FROM sno_catalog.sno_lease ORDER BY kind DESC';
wait_until('the row of the generator is exact',
	sub { $primary->safe_psql('postgres', $rows) =~ /^g\|1\|t$/m });
$primary->safe_psql('postgres', 'CHECKPOINT');
$primary->wait_for_catchup($standby);
like($standby->safe_psql('postgres', $rows),
	qr/^s\|10[01]\|f\ng\|1\|t$/,
	'the standby has the rows of both generators');
$standby->stop;
my $dump = PostgreSQL::Test::Utils::tempdir('dump') . '/dump.sql';
$primary->command_ok(
	[ 'pg_dump', '-f', $dump, $primary->connstr('postgres') ],
	'a dump is made, with the rows of both generators');

#
# What the successors do not know
#
my %lost;
$session = open_session($primary, 'postgres');
$lost{at} = $session->query_safe($at);
my @generators = ('closed', 'unused', 'restored', 'remade');
$lost{$_} = $session->query_safe(slowly($_, 1000)) foreach @generators;
kill_postmaster($primary);
drop_session($session);

#
# Successors issue, from just before the time of the lost ids until it is over
#

sub check_successor
{
	my ($successor) = @_;
	my $name        = $successor->name;
	my $session     = open_session($successor, 'postgres');
	my $notes       = NotedIds->new;

	$notes->add('primary', $lost{at});
	$notes->add($name,     $session->query_safe($at));
	$notes->check_unique("$name: given times");

	# After these calls it is still known that another server may have used the
	# partition.
	my %before = (
		restored => [
			q{SELECT sno_restore_generator('restored', '{"partition": [0, 3], "sequenceMax": 65535}')}
		],
		remade => [
			q{SELECT sno_drop_generator('remade')},
			q{SELECT sno_create_generator('remade', 4)} ]);
	foreach my $generator (@generators)
	{
		my @units = units($lost{$generator});

		$notes = NotedIds->new;
		$notes->add('primary', $lost{$generator});
		$torture{$name}->set_clock($epoch + $units[0] / 250 - 0.01 - time);
		$session->query_safe($_) foreach @{ $before{$generator} // [] };
		wait_until(
			'the time of the lost ids is over',
			sub {
				my $ids = $session->query_safe(slowly($generator, 100));
				$notes->add($name, $ids);
				return (units($ids))[-1] > $units[-1];
			});
		$notes->check_unique("$name: generator \"$generator\"");
	}
	close_session($session);
	return;
}

start($standby);
$standby->promote;
check_successor($standby);

my $restored = new_node('restored', conf => $settings);
start($restored);
restore_dump($restored, $dump, 'the dump is restored');
check_successor($restored);

$_->stop foreach ($standby, $restored);
done_testing();
