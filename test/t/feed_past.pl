
# Watermarks outlive the server.  The clock is set back while it is down, or before: whoever
# makes the first id then makes none below a watermark that was told.

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

# Whoever makes the first id: a session, a named generator, or the guard of a table.
my %first = (
	session => 'INSERT INTO event DEFAULT VALUES RETURNING id',
	named   => q{INSERT INTO event SELECT sno_generate(1, 'orders') RETURNING id},
	guard   => q{INSERT INTO guarded SELECT sno_max(clock_timestamp() + '1 min')});
my %told;
foreach my $who (sort keys %first)
{
	$node->safe_psql('postgres', "CREATE DATABASE $who");
	$node->safe_psql(
		$who, q{
CREATE EXTENSION sno;
SELECT sno_create_generator('orders', 100);
CREATE TABLE event (id sno DEFAULT sno_generate());
CREATE TABLE guarded (id sno);
CREATE TRIGGER guard BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id');
INSERT INTO event DEFAULT VALUES});
	$told{$who} = $node->safe_psql($who, 'SELECT sno_watermark()');
}

# What the first one does, and what a reader is told later.
sub go_on
{
	my ($when) = @_;
	foreach my $who (sort keys %first)
	{
		my (undef, $id, $error) = $node->psql($who, $first{$who});
		if ($who eq 'guard')
		{
			like $error, qr/is older than the transaction/,
			  "$when: the guard refuses an id";
		}
		else
		{
			cmp_ok $id, 'ge', $told{$who},
			  "$when: an id of a $who is not below the watermark";
		}
		my $now = $node->safe_psql($who, 'SELECT sno_watermark()');
		cmp_ok $now, 'ge', $told{$who}, "$when: nor is a watermark, $who";
		$told{$who} = $now;
	}
	return;
}

$node->stop;
$clock->set_offset(-1000);
$clock->start_server($node);
go_on('back while the server was down');
$node->stop('immediate');
$clock->start_server($node);
go_on('a crash while ids are ahead of the clock');
$clock->set_offset(-2000);
$node->stop('immediate');
$clock->start_server($node);
go_on('back just before a crash');

# A table that is truncated or rewritten has the row again with the next watermark.
$node->safe_psql($_, 'TRUNCATE sno_catalog.sno_lease; SELECT sno_watermark()')
  foreach sort keys %first;
$node->stop('immediate');
$clock->set_offset(-3000);
$clock->start_server($node);
go_on('after TRUNCATE');
is $node->safe_psql('session',
	'SELECT count(*) FROM sno_catalog.sno_lease WHERE kind = \'f\''),
  '1', 'there is one row';

# A database is made again, with the same OID and the same files.  The row that was written
# for the former one isn't there.  The clock stands still, so that row would last.
$clock->stop_at('2026-11-21 10:22:30');
$node->restart;
$node->safe_psql('postgres', 'CREATE DATABASE model');
$node->safe_psql('model',    'CREATE EXTENSION sno');
$node->safe_psql('postgres', 'CREATE DATABASE again TEMPLATE model');
my $oid = $node->safe_psql('postgres',
	"SELECT oid FROM pg_database WHERE datname = 'again'");
foreach my $times ('once', 'twice')
{
	my $watermark = $node->safe_psql('again', 'SELECT sno_watermark()');
	is $node->safe_psql('again',
		"SELECT count(*) FROM sno_catalog.sno_lease WHERE kind = 'f' AND database = $oid AND sno_min(tick_until) >= '$watermark'"
	  ),
	  '1', "a database that is made $times: its row covers the watermark";
	$node->safe_psql('postgres', 'DROP DATABASE again');
	$node->safe_psql('postgres',
		"CREATE DATABASE again TEMPLATE model OID = $oid");
}

$node->stop;
done_testing;
