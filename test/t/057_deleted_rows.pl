
# A row that was deleted by hand bounds what is issued for as long as it is on its
# page: while its deletion is in progress, and when that is rolled back or committed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;
use Torture;

my $torture = Torture->new;
my $node    = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q{
autovacuum = off
log_statement = none
sno.lease_duration = 1h
sno.partitions = 7
});
$torture->start_server($node);
$node->safe_psql('postgres',
	q{CREATE EXTENSION sno; SELECT sno_create_generator('g', 1)});

my $notes = NotedIds->new;
my $session;

# Make ids; returns the last one's fields.
sub generate
{
	my ($generator) = @_;
	my $ids = $session->query_safe(ids_of(100, $generator));
	$notes->add($session, $ids);
	return decode_id($ids =~ s/.*\n//sr);
}

sub is_refused
{
	my ($what) = @_;
	like(error_of($session, 'SELECT sno_generate()'),
		qr/^ERROR:  53400: no partition /m, $what);
	return;
}

# A session of a server that knows of former ids by rows alone, and may not wait.
sub begin
{
	$node->stop('immediate');
	drop_session($session) if defined $session;
	$torture->start_server($node);
	$notes->next_phase;
	$session = open_session($node, 'postgres', 'sno.max_wait = 0');
	return;
}

#
# While the lease lasts
#
begin();
generate();
begin();
my $deleter = open_session($node, 'postgres');
$deleter->query_safe('BEGIN; DELETE FROM sno_catalog.sno_lease');
is_refused('a row that is being deleted counts');
$deleter->query_safe('ROLLBACK');
is_refused('so it does when that is rolled back');
$deleter->query_safe('DELETE FROM sno_catalog.sno_lease');
is_refused('or committed');
$deleter->query_safe('VACUUM sno_catalog.sno_lease');
close_session($deleter);
is((generate())[3], 7, 'the partition is free when the row is gone');

#
# When the lease is over
#
begin();
$torture->set_clock(2 * 3600);
$node->safe_psql('postgres', 'DELETE FROM sno_catalog.sno_lease');
is((generate())[3], 7, 'the partition of a lease that is over is free');
$torture->set_clock(0);
is_refused('but not where the clock is set back into it');
$notes->check('deleted rows');

#
# A named generator, which goes on in the other timeline
#
$notes = NotedIds->new;
is((generate('g'))[1], 0, 'a named generator in one timeline');
begin();
$node->safe_psql('postgres', 'DELETE FROM sno_catalog.sno_lease');
is((generate('g'))[1], 1, 'goes on in the other one');
$notes->check_unique('a named generator');

$node->stop;
done_testing();
