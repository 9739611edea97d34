
# The control: the same clients, fault and oracle find that PostgreSQL's own
# sequences issue values again which clients saw before a crash, in transactions
# whose WAL was not flushed yet.  And notes made by hand show that the oracle counts
# apart what a successor can't know.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Torture;

my $torture = Torture->new;
my $server  = PostgreSQL::Test::Cluster->new('main');
$server->init;
$server->append_conf(
	'postgresql.conf', q{
restart_after_crash = on
log_statement = none
wal_writer_delay = 10s
});
$server->start;
$server->safe_psql('postgres',
	'CREATE EXTENSION sno; CREATE SEQUENCE s; CREATE TABLE t (id sno)');

$torture->lead_clients($server);
$torture->under('none');
$torture->start_clients(('sequence') x 2, ('bulk') x 2);
$torture->wait_for_ids(1000);
for (1 .. 3)
{
	$torture->strike(
		'kill -9 of a session',
		sub {
			$torture->kill_session;
			$torture->wait_for_ids(1000);
		});
}
$torture->stop_clients;

my $sequences = $torture->judge(clients => [ 0, 1 ]);
$torture->show($sequences);
cmp_ok($sequences->{twice}, '>', 0,
	"$sequences->{twice} of $sequences->{ids} values of a sequence were issued twice"
);
my $ids = $torture->judge(clients => [ 2, 3 ]);
$torture->show($ids);
is($ids->{twice}, 0, "none of $ids->{ids} ids was");
$server->stop;

# Notes of our own: unit, tick-tock, life, promotions before it, of partition 7,
# which life 1 is known to have leased until unit 10.
sub verdict
{
	my ($named, @ids) = @_;
	my $oracle = Torture->new;

	$oracle->{kinds} = ['noted'];
	$oracle->under('none');
	$oracle->note_leases(1, "7|10|10\n" . ~0 . '|0|0', 'heard');
	foreach (@ids)
	{
		my ($unit, $tick_tock, $life, $promotions) = @$_;
		append_to_file(
			"$oracle->{dir}/notes.0",
			pack('QqLSCCSCCL',
				$unit << 1 | $tick_tock,
				$life, $life, 7, 0, 0, 5, $promotions, $named, 1));
	}
	my $verdict = $oracle->judge;
	return join ' ', @{$verdict}{qw(twice again_session again_named)};
}

my @heard   = ([ 10, 0, 1, 0 ], [ 10, 0, 2, 1 ]);
my @unheard = ([ 11, 0, 1, 0 ], [ 11, 0, 2, 1 ]);
is(verdict(1, @heard),   '1 0 0', 'a successor issues what it knows of');
is(verdict(0, @unheard), '0 1 0', 'a session issues what it doesn\'t');
is(verdict(1, @unheard), '0 0 1', 'so does a named generator');
is(verdict(1, @unheard, [ 11, 1, 1, 0 ]),
	'0 0 0', 'which can\'t know it if both timelines were used');
is(verdict(0, @unheard, [ 11, 0, 3, 1 ]),
	'1 1 0', 'the next life knows what the successor issued');
is(verdict(0, [ 11, 0, 1, 0 ], [ 11, 0, 2, 0 ]),
	'1 0 0', 'a life without a promotion knows all');
done_testing();
