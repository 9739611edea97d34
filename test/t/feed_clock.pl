
# The clock changes between two readings of one call.
#
# It is behind a promise by hours, and leaves the epoch.  The call raises an error.  Afterwards
# the transaction goes on: no call waits for a unit that never comes.
#
# It is set back.  The id isn't below what a reader was told before.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;
use Torture;

my $hour    = 3600;
my $before  = -30 * 365 * 24 * $hour;    # the epoch
my $dir     = PostgreSQL::Test::Utils::tempdir('readings');
my $offsets = "$dir/offsets";
my $node    = new_node('main');
$ENV{READINGS} = $offsets;
{
	local $ENV{LD_PRELOAD} = Torture::build('readings.so');
	$node->start;
}
$node->safe_psql('postgres',
	q{
CREATE EXTENSION sno_flakes CASCADE;
SELECT sno_create_generator('named', 1);
SELECT sno_watermark()}
);

sub read_clock_with
{
	unlink $offsets;
	return if !@_;
	append_to_file("$offsets.new", "@_\n");
	rename "$offsets.new", $offsets or die "$offsets: $!";
	return;
}

my $raised = 0;
foreach my $call ('sno_generate()', q{sno_generate(1, 'named')})
{
	foreach my $readings (0 .. 8)
	{
		my $session = open_session($node, 'postgres');
		$session->query_safe('BEGIN; SAVEPOINT s');
		read_clock_with((-2 * $hour) x $readings, $before);
		$raised++
		  if error_of($session, "SELECT $call") =~
		  /ERROR:  22008: the system clock is outside the range of a sno/;
		read_clock_with();
		$session->query_safe('ROLLBACK TO s');
		like($session->query_safe("SELECT $call"),
			qr/^\w{16}$/, "$call goes on after $readings readings");
		$session->query_safe('ROLLBACK');
		close_session($session);
	}
}
cmp_ok($raised, '>', 4, 'calls met a clock outside of the epoch');

# The call renews a lease first, which takes about 10 readings.
foreach my $readings (1 .. 40)
{
	my $call = "sno_flake_generate('flake $readings')";
	$node->safe_psql('postgres',
		"SELECT sno_reset_watermark(), sno_flake_create_generator('flake $readings', 'snowflake', $readings)");
	read_clock_with(-1000);
	$node->safe_psql('postgres', "SELECT $call");
	read_clock_with();
	my $session = open_session($node, 'postgres');
	my $told = $node->safe_psql('postgres', "SELECT sno_flake_watermark('flake $readings')");
	read_clock_with((0) x $readings, -500);
	my $id = $session->query_safe("SELECT $call");
	read_clock_with();
	cmp_ok($id, '>=', $told, "an id isn't below a watermark, if the clock is set back after $readings readings");
	close_session($session);
}
$node->stop;
check_log($node);
done_testing();
