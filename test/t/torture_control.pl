
# The control of the torture tests.  The same clients, fault and oracle find
# that sequences of PostgreSQL issue values again after a crash: values that
# clients saw in transactions whose WAL was not flushed yet.  Notes made by hand
# show that the oracle counts apart the ids of which a promoted standby, the
# successor, cannot know.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;
use Torture;

my $torture = Torture->new;
my $server  = start_node('main', conf => q{
restart_after_crash = on
wal_writer_delay = 10s
}, sql => 'CREATE SEQUENCE s; CREATE TABLE t (id sno)');

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
	"$sequences->{twice} of $sequences->{ids} values of a sequence are issued twice"
);
my $ids = $torture->judge(clients => [ 2, 3 ]);
$torture->show($ids);
is($ids->{twice}, 0, "none of $ids->{ids} ids is issued twice");
$server->stop;

# The verdict of the oracle on notes that are made here: [unit, tick-tock bit,
# life, promotions before it], all of partition 7.  The successor knows that
# life 1 leased it until unit 10.
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
is(verdict(1, @heard),
	'1 0 0', 'the successor issues an id that it knows of: issued twice');
is(verdict(0, @unheard),
	'0 1 0',
	'the successor issues an unheard id of a session: counted apart');
is( verdict(1, @unheard),
	'0 0 1',
	'the successor issues an unheard id of a named generator: counted apart');
is(verdict(1, @unheard, [ 11, 1, 1, 0 ]),
	'0 0 0', 'unheard ids on both sides of a named generator: left out');
is(verdict(0, @unheard, [ 11, 0, 3, 1 ]),
	'1 1 0', 'the next life knows the ids of the successor: issued twice');
is(verdict(0, [ 11, 0, 1, 0 ], [ 11, 0, 2, 0 ]),
	'1 0 0', 'a life without a promotion knows all ids: issued twice');
done_testing();
