
# sno_watermark() on a disk so slow that the row is behind the clock whenever it is
# written.  The clock goes a million times as fast as the real time, so the
# second that the row is ahead of it is over after a microsecond.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use TestHelpers;

my $clock = FakeClock->new;

my $node = start_node('main', clock => $clock);

my $session = open_session($node, 'postgres');
my $before  = $session->query_safe('SELECT sno_generate()');
$clock->speed_up(1_000_000);
cmp_ok($session->query_safe('SELECT sno_watermark()'),
	'gt', $before, 'there is a watermark');
$clock->set_offset(0);
close_session($session);

done_testing();
