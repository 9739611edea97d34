
# The clock is set back behind a watermark.  Ids go on ahead of the clock, but they don't
# get further ahead, however many are made.  Another database has ids at the clock.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use TestHelpers;

my $clock = FakeClock->new;

my $node = new_node('main');
$clock->set_offset(0);
$clock->start_server($node);

# Four ids in 4 ms: these take two seconds.
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION sno;
SELECT sno_create_generator('narrow', 100, 0, 3);
SELECT sno_generate(1, 'narrow'), sno_watermark()});
$clock->set_offset(-0.5);
is $node->safe_psql(
	'postgres', q{
SELECT max(sno_timestamp(sno_generate(1, 'narrow')) - clock_timestamp()) < '0.6 s'
FROM generate_series(1, 2000)}), 't', 'ids of a narrow generator';

# What a database promised doesn't bind another one that gets its memory.
sub ahead
{
	my ($dbname) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $dbname");
	return $node->safe_psql(
		$dbname, q{
CREATE EXTENSION sno;
SELECT sno_watermark() > sno_min(clock_timestamp() + '1 min') OR
       sno_timestamp(sno_generate()) > clock_timestamp() + '1 min'});
}
$clock->set_offset(600);
is(ahead('former'), 'f', 'a database whose clock is right');
$clock->set_offset(-0.5);
$node->safe_psql('postgres', 'DROP DATABASE former');
is(ahead('latter'), 'f', 'a database after that one');

$node->stop;
done_testing;
