
# A row that was deleted by hand bounds what is issued as long as it is on its
# page: while the deletion is in progress, and after it is rolled back or
# committed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;
use Torture;

my $torture = Torture->new;
my $node    = start_node('main', clock => $torture, conf => q{
autovacuum = off
sno.lease_duration = 1h
sno.partitions = 7
}, sql => q{SELECT sno_create_generator('g', 1)});

my $notes = NotedIds->new;
my $session;

# Make ids, and note them; returns the fields of the last one.
sub generate
{
	my ($generator) = @_;
	my $ids = $session->query_safe(ids_of(100, $generator));
	$notes->add($session, $ids);
	return decode_id($ids =~ s/.*\n//sr);
}

# Check that no partition is free.
sub is_refused
{
	my ($what) = @_;
	like(error_of($session, 'SELECT sno_generate()'),
		qr/^ERROR:  53400: no partition /m, $what);
	return;
}

# Crash the server, so that it knows former ids only by the rows, and open a
# session that may not wait.
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
# While the lease is active
#
begin();
generate();
begin();
my $deleter = open_session($node, 'postgres');
$deleter->query_safe('BEGIN; DELETE FROM sno_catalog.sno_lease');
is_refused('a row bounds ids while its deletion is in progress');
$deleter->query_safe('ROLLBACK');
is_refused('a row bounds ids after its deletion is rolled back');
$deleter->query_safe('DELETE FROM sno_catalog.sno_lease');
is_refused('a row bounds ids after its deletion is committed');
$deleter->query_safe('VACUUM sno_catalog.sno_lease');
close_session($deleter);
is(generate()->{partition},
	7, 'a partition is free when VACUUM has removed the row');

#
# When the lease is over
#
begin();
$torture->set_clock(2 * 3600);
$node->safe_psql('postgres', 'DELETE FROM sno_catalog.sno_lease');
is(generate()->{partition},
	7, 'the partition of a lease that is over is free');
$torture->set_clock(0);
is_refused('no partition is free when the clock is set back into the lease');
$notes->check('deleted rows');

#
# A named generator
#
$notes = NotedIds->new;
is(generate('g')->{tick_tock}, 0, 'a named generator begins on one side');
begin();
$node->safe_psql('postgres', 'DELETE FROM sno_catalog.sno_lease');
is(generate('g')->{tick_tock},
	1, 'a named generator whose row was deleted continues on the other side');
$notes->check_unique('a named generator');

$node->stop;
done_testing();
