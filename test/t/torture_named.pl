
# Named generators under load, shared by all clients, while one fault after the
# other strikes: as torture_sessions.pl for session generators.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;
use Torture;

# After two crashes within a lease, clients wait until it is over.
my $torture = Torture->new(max_wait => '1min');
my $server  = $torture->make_server('');
$server->safe_psql(
	'postgres', q{
CREATE EXTENSION sno;
CREATE TABLE t (id sno NOT NULL);
SELECT sno_create_generator('full', 1000), sno_create_generator('small', 2000, 5, 36)}
);

my $unit = 0.004;
my @plan = (
	ends(),
	shared_faults(),
	'clock back by a unit'                 => clock_at(-$unit),
	'clock back by 1 s'                    => clock_at(-1),
	'clock back twice by a unit'           => clock_at(-$unit, -2 * $unit),
	'clock back twice by 1 s'              => clock_at(-1,     -2),
	'immediate shutdown after a step back' => sub {
		$torture->set_clock(-1);
		$torture->get_on;
		$torture->relive(sub { $server->stop('immediate') });
		$torture->set_clock(0);
	},
	'clock forward by a unit' => clock_at($unit),
	'clock forward by 1 s'    => clock_at(1),
	'clock strobed each ms'   => strobe($unit, -$unit, 1),
	'table rewritten'         => sub {
		$torture->sql('VACUUM FULL sno_catalog.sno_lease') for 1 .. 5;
	},
	'flushes stalled' => sub { $torture->stall_for(1.5); },
	'promoted without the end of the WAL, clock behind' => sub {
		$torture->promote('behind');
		$server = $torture->{node};
	});

$torture->lead_clients($server);
$torture->under('none');
$torture->start_clients(('named') x 4, ('small') x 4);
$torture->wait_for_ids(1000);
$torture->carry_out(@plan);

$torture->stop_clients;
$torture->note_rows($server);
$torture->check(share => 1);
$torture->check_errors('queries cancelled' => qr/^57014$/);
$torture->check_logs;
$server->stop;
done_testing();
