
# Named generators while a session waits for a lock on the table of definitions.
# Calls that look up a definition wait for sno.max_wait at most, and can be
# cancelled.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $node = start_node('main', sql => q{SELECT sno_create_generator('g', 1)});

# If a call ignored sno.max_wait, it would meet the statement_timeout.
my @hasty   = ('sno.max_wait = 100', "statement_timeout = '10min'");
my @patient = ("sno.max_wait = '1d'");

my $holder = open_session($node, 'postgres');
my $locker = open_session($node, 'postgres');

# Wait for a lock behind the transaction of another session.
sub queue_lock
{
	$locker->query_safe('BEGIN');
	send_query($locker,
		'LOCK TABLE sno_catalog.sno_generator IN ACCESS EXCLUSIVE MODE');
	$node->poll_query_until('postgres',
		"SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $locker->{pid} AND NOT granted)"
	);
	return;
}

# End that transaction, and then the one of the locker.
sub end_locks
{
	my ($session) = @_;
	$session->query_safe('COMMIT');
	receive($locker);
	$locker->query_safe('COMMIT');
	return;
}

# Wait until a session waits for a definition or an id.
sub wait_until_waiting
{
	my ($session) = @_;
	$node->poll_query_until('postgres',
		"SELECT wait_event IN ('Extension', 'SnoGenerator') FROM pg_stat_activity WHERE pid = $session->{pid}"
	);
	return;
}

#
# The wait is limited
#
$holder->query_safe('BEGIN; SELECT count(*) FROM sno_catalog.sno_generator');
queue_lock();
foreach my $call (
	q{sno_generate(0, 'g')},
	q{sno_generate_many(1, 0, 'g')},
	q{sno_snapshot_generator('g')},
	q{sno_restore_generator('g', '{"partition": [0, 1]}')})
{
	my $session = open_session($node, 'postgres', @hasty);
	like(
		error_of($session, "SELECT $call"),
		qr/^ERROR:  55P03: could not lock table "sno_generator" of extension "sno" within 100 ms
DETAIL:  Another session holds, or waits for, a lock on it that conflicts with ACCESS SHARE\./,
		"$call waits for sno.max_wait, and is refused");
	close_session($session);
}

is( $node->safe_psql(
		'postgres',
		q{SET statement_timeout = '10min'; SELECT count(*) FROM sno_generators()}
	),
	0,
	'sno_generators() does not wait, and shows no definitions');

#
# The wait is notified, can be cancelled, and ends with the lock
#
my $listener = open_session($node, 'postgres');
$listener->query_safe('LISTEN sno_overflow');
my $waiting = open_session($node, 'postgres', @patient);
send_query($waiting, q{SELECT sno_partition(sno_generate(0, 'g'))});
wait_until_waiting($waiting);
my $heard = '';
wait_until(
	'the wait is notified',
	sub {
		($heard .= $listener->query_safe('SELECT 1')) =~
		  /\{"generator": "g", "partition": null,/;
	});
$node->safe_psql('postgres', "SELECT pg_cancel_backend($waiting->{pid})");
like(
	(receive($waiting))[1],
	qr/^ERROR:  57014/,
	'a wait for a definition can be cancelled');
send_query($waiting, q{SELECT sno_partition(sno_generate(0, 'g'))});
wait_until_waiting($waiting);
end_locks($holder);
is((receive($waiting))[0], 1, 'a wait for a definition ends with the lock');

#
# A definition that was made in the same transaction
#
my $user = open_session($node, 'postgres', @hasty);
$user->query_safe(q{BEGIN; SELECT sno_create_generator('mine', 2)});
queue_lock();
is($user->query_safe(q{SELECT sno_partition(sno_generate(0, 'mine'))}),
	2, 'a transaction uses its own definition while a lock is waited for');
$user->query_safe(q{SELECT sno_create_generator('more', 3)});
is($user->query_safe(q{SELECT sno_partition(sno_generate(0, 'more'))}),
	3, 'a transaction makes and uses another definition');
end_locks($user);

#
# A definition that changes while a session waits for something else: the
# session uses the new one as soon as there is no lock
#
my $other = open_session($node, 'postgres');
$other->query_safe(
	'BEGIN; LOCK TABLE sno_catalog.sno_lease IN EXCLUSIVE MODE');
$node->safe_psql('postgres', q{SELECT sno_create_generator('next', 4)});
send_query($waiting, q{SELECT sno_partition(sno_generate(0, 'next'))});
wait_until_waiting($waiting);
$holder->query_safe(
	q{BEGIN; SELECT sno_drop_generator('next'), sno_create_generator('next', 5)}
);
queue_lock();
$holder->query_safe('COMMIT');
receive($locker);
$other->query_safe('COMMIT');
$locker->query_safe('COMMIT');
is((receive($waiting))[0], 5,
	'a session that waited uses the new definition');

$node->stop;
done_testing();
