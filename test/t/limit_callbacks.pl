
# Other extensions take callbacks, of which PostgreSQL has few.  All that watches a table
# works beside them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;
use Torture;

my $slots = 10;                             # MAX_RELCACHE_CALLBACKS
my $other = Torture::build('callbacks.so');
my $node  = start_node('main', sql => qq{
CREATE EXTENSION sno_flakes;
CREATE FUNCTION take_callbacks(integer) RETURNS void LANGUAGE c AS '$other';
SELECT sno_create_generator('named', 1), sno_flake_create_generator('flake', 'snowflake', 1);
INSERT INTO sno_catalog.sno_prefix VALUES (7, 'user')});
# The extension sno_seal may be left out of the build.
my $keys = $node->psql('postgres',
	q{CREATE EXTENSION sno_seal; SELECT sno_seal_create_key('key')}) == 0;

# PostgreSQL itself takes some, the first when it is asked for this.
my $own = 'SELECT pg_filenode_relation(0, 1259)';
my $all = q{SELECT sno_generate() IS NOT NULL, sno_generate(7, 'named') IS NOT NULL,
	sno_flake_generate('flake') IS NOT NULL, sno_prefixed(sno_generate(7)) IS NOT NULL}
  . ($keys ? q{, sno_seal(sno_generate(), 'key') IS NOT NULL} : '');

# How many can others take before a session that does all this ends?
my $most = -1;
foreach my $count (0 .. $slots)
{
	my ($code, $out, $error) =
	  $node->psql('postgres', "$own; SELECT take_callbacks($count); $all");
	last if $code != 0;
	$most = $count;
}
my ($free) = grep {
	$node->psql('postgres',
		"$own; SELECT take_callbacks($_); SELECT take_callbacks(1)") != 0
} 0 .. $slots;
my $taken = $keys ? 2 : 1;
is($most, $free - $taken, "of $free callbacks that are left, each library takes one");

$node->stop;
check_log($node);
done_testing();
