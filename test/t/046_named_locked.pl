
# Named generators while somebody waits for a lock on their definitions: calls that
# look one up wait as long as sno.max_wait allows, and can be cancelled.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres',
	q{CREATE EXTENSION sno; SELECT sno_create_generator('g', 1)});

# A server that waited for the lock would wait until the statement is cancelled.
my @hasty   = ('sno.max_wait = 100', "statement_timeout = '30s'");
my @patient = ("sno.max_wait = '1d'");

my $holder = open_session($node, 'postgres');
my $locker = open_session($node, 'postgres');

# Queue for a lock behind another session's transaction.
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

# That transaction ends, and then the locker's.
sub end_locks
{
	my ($session) = @_;
	$session->query_safe('COMMIT');
	receive($locker);
	$locker->query_safe('COMMIT');
	return;
}

sub wait_until_waiting
{
	my ($session) = @_;
	$node->poll_query_until('postgres',
		"SELECT wait_event IN ('Extension', 'SnoGenerator') FROM pg_stat_activity WHERE pid = $session->{pid}"
	);
	return;
}

#
# The wait has an end.
#
$holder->query_safe('BEGIN; SELECT count(*) FROM sno_catalog.sno_generator');
queue_lock();
foreach my $call (
	q{sno_generate(0, 'g')},
	q{sno_generate_many(1, 0, 'g')},
	q{sno_take_snapshot('g')},
	q{sno_restore_generator('g', '{"partition": [0, 1]}')})
{
	my $session = open_session($node, 'postgres', @hasty);
	like(
		error_of($session, "SELECT $call"),
		qr/^ERROR:  55P03: could not lock table "sno_generator" of extension "sno" within 100 ms
DETAIL:  Another session holds, or waits for, a lock on it that conflicts with ACCESS SHARE\./,
		$call);
	close_session($session);
}

is( $node->safe_psql(
		'postgres',
		q{SET statement_timeout = '30s'; SELECT count(*) FROM sno_generators()}
	),
	0,
	'who looks at generators does not wait, and sees no definitions');

#
# It is seen, can be cancelled, and is over when the lock is.
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
like((receive($waiting))[1], qr/^ERROR:  57014/, 'a wait is cancelled');
send_query($waiting, q{SELECT sno_partition(sno_generate(0, 'g'))});
wait_until_waiting($waiting);
end_locks($holder);
is((receive($waiting))[0], 1, 'a wait is over');

#
# A definition that the transaction made itself
#
my $user = open_session($node, 'postgres', @hasty);
$user->query_safe(q{BEGIN; SELECT sno_create_generator('mine', 2)});
queue_lock();
is($user->query_safe(q{SELECT sno_partition(sno_generate(0, 'mine'))}),
	2, 'a transaction uses its own definition');
$user->query_safe(q{SELECT sno_create_generator('more', 3)});
is($user->query_safe(q{SELECT sno_partition(sno_generate(0, 'more'))}),
	3, 'and another one');
end_locks($user);

#
# A session that waits for something else when the definition changes: the new
# one is looked up as soon as there is no lock.
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
is((receive($waiting))[0], 5, 'the definition of the moment');

$node->stop;
done_testing();
