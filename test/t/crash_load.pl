
# Crashes of every kind under load.  No id that a client saw before a crash is
# issued again, whether or not its transaction was committed.  The first ids
# after the crash don't wait for the leases of the sessions that are gone.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

# Leases are longer than the test, and clients may not wait at all.
my $node = start_node('main', conf => q{
restart_after_crash = on
sno.lease_duration = 1h
}, sql => 'CREATE TABLE t (id sno NOT NULL)');

my $notes = NotedIds->new;

for my $round (1 .. 2)
{
	foreach my $crash (crashes($node))
	{
		my ($what, $crash_server, $bring_up) = @$crash;

		$what .= ", round $round";
		$notes->next_phase;

		my $clients = $notes->start_clients($node, 'postgres', table => 't');
		my $others  = $notes->start_clients($node, 'postgres', clients => 1);
		$notes->wait_for_notes($clients);
		$notes->wait_for_notes($others);
		$crash_server->();
		my ($noted, $errors)      = $notes->collect($clients);
		my (undef,  $more_errors) = $notes->collect($others);
		$bring_up->();

		unlike($errors . $more_errors,
			qr/ERROR/,
			"$what: no client waited or met an error before the crash");
		$notes->check_leases($node, 'postgres', $what);
	}
}

# None of all these leases is over yet.
$notes->next_phase;
my $session = open_session($node, 'postgres', 'sno.max_wait = 0');
$notes->add('session after the crashes', $session->query_safe(ids_of(1000)));
close_session($session);
is( $node->safe_psql(
		'postgres',
		"SELECT count(DISTINCT partition) >= $notes->{phase} FROM sno_catalog.sno_lease WHERE tick_until > now()"
	),
	't',
	'leases from before each crash are there, and nobody waits for them'
);

$notes->check('crashes');
$notes->check_rows($node, 'postgres', 't');

# After a clean restart the same holds.
$node->restart;
$notes->next_phase;
$notes->add('after a clean restart',
	$node->safe_psql('postgres', 'SET sno.max_wait = 0; ' . ids_of(1000)));
$notes->check('crashes and a clean restart');
$node->stop;

done_testing();
