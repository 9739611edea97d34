
# A snapshot is taken on a standby that is promoted before it asks for a watermark.  It
# knows nothing of what the former primary's transactions issued, so it is told the lowest
# watermark, whether or not transactions can be prepared.  What was told before the promotion
# holds after it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use TestHelpers;

my $clock = FakeClock->new;

foreach my $prepared (0, 5)
{
	my $what    = "max_prepared_transactions = $prepared";
	$clock->set_offset(1000);
	my $primary = start_node("primary$prepared", allows_streaming => 1, conf => $what, clock => $clock, sql => q{
CREATE TABLE feed (id sno PRIMARY KEY DEFAULT sno_generate());
INSERT INTO feed DEFAULT VALUES});
	$primary->backup('backup');
	my $standby = PostgreSQL::Test::Cluster->new("standby$prepared");
	$standby->init_from_backup($primary, 'backup', has_streaming => 1);
	$clock->start_server($standby);

	# One row before the snapshot, and one after it
	my $told = $primary->safe_psql('postgres', 'SELECT sno_watermark()');
	$primary->safe_psql('postgres', 'INSERT INTO feed DEFAULT VALUES');
	$primary->wait_for_catchup($standby);
	my $reader = open_session($standby, 'postgres');
	$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
	is($reader->query_safe('SELECT count(*) FROM feed'),
		2, "$what: the snapshot is taken in recovery");
	my $during = $primary->safe_psql('postgres',
		'INSERT INTO feed DEFAULT VALUES RETURNING id');
	$primary->wait_for_catchup($standby);
	$primary->stop;
	# Back by less than the lease of watermarks, which is an hour
	$clock->set_offset(0);
	$standby->promote;
	is($reader->query_safe("SELECT sno_watermark() <= '$during'"),
		't', "$what: its watermark is not above what it doesn't show");
	$reader->query_safe('COMMIT');
	cmp_ok($reader->query_safe('SELECT sno_watermark()'),
		'ge', $told, "$what: a new snapshot's is not below an earlier one");
	cmp_ok(
		$standby->safe_psql(
			'postgres', 'INSERT INTO feed DEFAULT VALUES RETURNING id'),
		'ge', $told,
		"$what: no id is below what the former primary told");
	close_session($reader);
	$standby->stop;
}
done_testing();
