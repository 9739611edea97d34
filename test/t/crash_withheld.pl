
# When a call returns, all that must be on disk is there, even if no other
# process flushes WAL.  The processes that write for others are stopped, and
# then killed, which crashes the server.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

my $node = start_node('main', conf => q{
autovacuum = off
restart_after_crash = on
sno.lease_duration = 1h
}, sql => q{
CREATE TABLE lost (what text);
SELECT sno_create_generator('first', 1), sno_create_generator('renewed', 2),
	sno_create_generator('restored', 3)});

my $notes = NotedIds->new;

# The processes that write for others, if they meet a condition.
sub writers
{
	my ($condition) = @_;
	return split /\n/, $node->safe_psql(
		'postgres',
		q{SELECT pid FROM pg_stat_activity
		WHERE backend_type IN ('walwriter', 'background writer', 'checkpointer') AND }
		  . $condition);
}

# Stop them while they are idle.  Else they might hold a lock that others need.
sub stop_writers
{
	my @writers = writers('true');
	wait_until(
		'the writers are stopped',
		sub {
			kill 'STOP', @writers;
			return 1 if writers(q{wait_event_type = 'Activity'}) == 3;
			kill 'CONT', @writers;
			return 0;
		});
	return @writers;
}

# Let a session do something while no other process flushes WAL, and crash the
# server.  A row that was committed without a flush is lost: so nobody flushed
# WAL.
sub crash_after
{
	my ($what, $do, $session) = @_;
	$session //= open_session($node, 'postgres');
	my @writers = stop_writers();

	$do->($session);
	$session->query_safe('SET synchronous_commit = off');
	$session->query_safe("INSERT INTO lost VALUES (\$\$$what\$\$)");

	kill 'KILL', @writers;
	wait_until('the session is killed', sub { !kill 0, $session->{pid} });
	drop_session($session);
	wait_until('the server is back',
		sub { defined query_if_up($node, 'SELECT') });
	is( $node->safe_psql(
			'postgres',
			"SELECT count(*) FROM lost WHERE what = \$\$$what\$\$"),
		0,
		"$what: a commit that nobody flushed is lost");
	return;
}

# The same where the session makes ids; check that they lie within leases on
# disk.
sub leased_after
{
	my ($what, $generate, $session) = @_;

	$notes->next_phase;
	crash_after(
		$what,
		sub {
			my ($session) = @_;
			$notes->add($session, $generate->($session));
		},
		$session);
	$notes->check_leases($node, 'postgres', $what);
	return;
}

#
# The first lease
#
leased_after('sno_generate()',
	sub { $_[0]->query_safe('SELECT sno_generate()') });
leased_after('sno_generate_at()',
	sub { $_[0]->query_safe("SELECT sno_generate_at('2020-01-01')") });
leased_after('a named generator',
	sub { $_[0]->query_safe("SELECT sno_generate(0, 'first')") });

#
# A renewal: an id of a later unit than those of the first lease
#
foreach
  my $query ('SELECT sno_generate()', "SELECT sno_generate(0, 'renewed')")
{
	my $session = open_session($node, 'postgres');

	configure($node, 'sno.lease_duration', '1s', $session);
	my $partition = decode_id($session->query_safe($query))->{partition};
	my $until     = $node->safe_psql('postgres',
			'SELECT max('
		  . unit_of('greatest(tick_until, tock_until)')
		  . ") FROM sno_catalog.sno_lease WHERE partition = $partition");
	leased_after(
		"renewed: $query",
		sub {
			my $id;
			wait_until(
				'the first lease is over',
				sub {
					$id = $session->query_safe($query);
					decode_id($id)->{unit} > $until;
				});
			return $id;
		},
		$session);
}

#
# A restored generator, which may have issued ids until an hour from now
#
my $until = $node->safe_psql('postgres',
	'SELECT ' . unit_of("clock_timestamp() + interval '1 hour'"));
crash_after(
	'sno_restore_generator()',
	sub {
		$_[0]->query_safe(
			qq{SELECT sno_restore_generator('restored',
				'{"partition": [0, 3], "sequenceMax": 65535, "wallHi": $until}')}
		);
	});
is( $node->safe_psql(
		'postgres',
		'SELECT '
		  . unit_of('greatest(tick_until, tock_until)')
		  . ' FROM sno_catalog.sno_lease WHERE partition = 3'),
	$until,
	'sno_restore_generator(): the state is on disk');

#
# Another holder
#
cmp_ok(
	$node->safe_psql(
		'postgres',
		'SELECT count(*) FROM sno_catalog.sno_lease WHERE system_identifier <> 0'
	),
	'>', 0,
	'before sno_reseed() there are rows of the holder');
crash_after('sno_reseed()', sub { $_[0]->query_safe('SELECT sno_reseed()') });
is( $node->safe_psql(
		'postgres',
		'SELECT count(*) FROM sno_catalog.sno_lease WHERE system_identifier <> 0'
	),
	0,
	'sno_reseed(): no row of the former holder is on disk');

$node->stop;
done_testing();
