
# Two clusters whose databases differ only by the system identifier.  Rows of
# the one that are restored in the other have another holder there.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;
use Torture;

my $torture = Torture->new;
my $notes   = NotedIds->new;

sub cluster
{
	my ($name) = @_;
	my $node = new_node($name, conf => 'sno.lease_duration = 1h');
	$torture->start_server($node);
	return $node;
}

# Make ids, and note them; returns the partition of the first one.
sub generate
{
	my ($node) = @_;
	my $ids = $node->safe_psql('postgres', ids_of(100));
	$notes->next_phase;
	$notes->add($node->name, $ids);
	return decode_id($ids =~ s/\n.*//sr)->{partition};
}

sub item_holders
{
	my ($node) = @_;
	return $node->safe_psql('postgres',
		q{SELECT ok, detail FROM sno_check() WHERE item = 'holders'});
}

my $one = cluster('one');
my $two = cluster('two');
$one->safe_psql('postgres', 'CREATE EXTENSION sno');
my $partition = generate($one);
like(item_holders($one), qr/^t\|/, 'a cluster has only leases of its own');

my $dump = PostgreSQL::Test::Utils::tempdir('dump') . '/dump.sql';
$one->command_ok([ 'pg_dump', '-f', $dump, $one->connstr('postgres') ],
	'a cluster is dumped');
restore_dump($two, $dump, 'the dump is restored in another cluster');

like(
	item_holders($two),
	qr/^t\|Active leases of other holders: 1\./,
	'sno_check() in the other cluster tells of the other holder');
$torture->set_clock(2 * 3600);
isnt(generate($two), $partition,
	'the other cluster uses another partition, though the lease is over');
is( $two->safe_psql(
		'postgres', q{
SELECT count(DISTINCT holder), count(DISTINCT system_identifier),
	count(DISTINCT (timeline, database)) FROM sno_catalog.sno_lease}),
	'2|2|1',
	'only the system identifier differs between the holders');
$notes->check('two clusters');

$_->stop foreach ($one, $two);
done_testing();
