
# A session is between two steps.  gdb holds it there, and another session comes in between, or
# waits for it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;


use FakeClock;
use Gdb;
use TestHelpers;

my $clock = FakeClock->new;
plan skip_all => 'gdb is not installed' if !grep { -x "$_/gdb" } split /:/, $ENV{PATH};
my $scope = '/proc/sys/kernel/yama/ptrace_scope';
plan skip_all => 'the kernel lets gdb lead only its own children' if -e $scope && slurp_file($scope) > 0;

my $node = start_node('main', conf => 'sno.lease_duration = 1d', clock => $clock, sql => q{
CREATE EXTENSION sno_flakes;
SELECT sno_flake_create_layout('mine', '2020-01-01Z', 1, 48, 32, 16);
SELECT sno_flake_create_generator('own', 'mine', 1);
SELECT sno_watermark()});
$node->stop;
$clock->set_offset(-86400);
$clock->start_server($node);
my ($session, $other) = map { open_session($node, 'postgres') } 1 .. 2;

# Lead a session, which runs a query, and return when it is held.
sub hold
{
	my ($way, $query, $session) = (@_, $session);
	my $gdb = Gdb->lead($session->{pid}, "set breakpoint pending on\n$way");
	send_query($session, $query);
	wait_until('the session is held, or ready', sub { $gdb->holds || !$gdb->runs || has_answered($session) });
	die slurp_file($gdb->{log}) . join(' ', receive($session)) if !$gdb->holds;
	return $gdb;
}

# Send a query to a session, and return when it waits, or is ready.  For whatever it waits, it
# can be interrupted.
sub send_and_wait
{
	my ($other, $query) = @_;
	send_query($other, $query);
	wait_until(
		'the other session waits, or is ready',
		sub {
			has_answered($other)
			  || $node->safe_psql('postgres',
				"SELECT wait_event_type IN ('Extension', 'Lock', 'LWLock') FROM pg_stat_activity WHERE pid = $other->{pid}")
			  eq 't';
		});
	return;
}

# While the session is held on a way, where its disk might be slow, others that wait for it can be
# cancelled, time out and end.  When it goes on, so do those that are left.
sub interrupt_others
{
	my ($what, $way, $query, @others) = @_;
	my $gdb = hold($way, $query);
	my @left;
	foreach my $other (@others)
	{
		my ($late, $cancelled, $ended, $left) =
		  map { open_session($node, 'postgres', q{sno.max_wait = '1d'}) } 1 .. 4;

		like(error_of($late, "SET statement_timeout = '100ms'; $other"),
			qr/57014: .* statement timeout/, "$what: $other times out");
		send_and_wait($cancelled, $other);
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($cancelled->{pid})");
		like((receive($cancelled))[1], qr/57014: .* user request/, "$what: $other is cancelled");
		send_and_wait($ended, $other);
		$node->safe_psql('postgres', "SELECT pg_terminate_backend($ended->{pid})");
		wait_until("$what: $other ends", sub { !kill 0, $ended->{pid} });
		drop_session($ended);
		send_and_wait($left, $other);
		push @left, [ $left, $other ];
		close_session($_) foreach $late, $cancelled;
	}
	$gdb->release;
	is((receive($session))[1], '', "$what: the session goes on");
	foreach (@left)
	{
		my ($left, $other) = @$_;
		is((receive($left))[1], '', "$what: $other goes on");
		close_session($left);
	}
	return;
}

# The session knows up to where watermarks were before the start, but hasn't promised that yet.
# Another one resets them.
my $gdb = hold("break *sno_record_promised\ngo\nback", 'SELECT sno_generate()');
send_and_wait($other, 'SELECT sno_reset_watermark()');
$gdb->release;
is((receive($_))[1], '', 'a watermark is reset while a session finds what was promised') foreach $session, $other;
is($node->safe_psql('postgres', 'SELECT sno_timestamp(sno_watermark()) <= clock_timestamp()'),
	't', 'the reset stays');

# The session knows its generator, and renews the lease of that early: half of a day is over.  Its layout goes
# meanwhile, and another one gets the name.
my $long = q{SELECT length(sno_flake_generate_bytea('own'))};
is($session->query_safe($long), 12, 'an id of 12 bytes');
$other->query_safe(q{SELECT sno_flake_create_generator('second', 'mine', 2)});
$clock->set_offset(-86400 + 14 * 3600);
$gdb = hold("break *sno_open_renew_early\ngo", $long);
$other->query_safe(
	q{
DROP EXTENSION sno_flakes;
CREATE EXTENSION sno_flakes;
SELECT sno_flake_create_layout('mine', '2020-01-01Z', 1, 48, 16, 16)});
$gdb->release;
is((receive($session))[0], 12, 'an id has all bytes of the layout that it was drawn for');
close_session($session);

# The session waits for its disk.  First the table of leases has no page.
$node->safe_psql(
	'postgres', q{
DROP EXTENSION sno CASCADE;
CREATE EXTENSION sno_flakes CASCADE;
SELECT sno_create_generator('one', 1), sno_create_generator('two', 2);
SELECT sno_flake_create_generator('count', 'serial') FROM sno_flake_create_layout('serial', NULL, 0, 63, 1, 0)});
$session = open_session($node, 'postgres');
interrupt_others(
	'a watermark extends the table',
	"break smgrextend\nbreak smgrzeroextend\ngo",
	'SELECT sno_watermark()',
	'SELECT sno_watermark()',
	'SELECT sno_reset_watermark()',
	'SELECT sno_generate()',
	q{SELECT sno_generate(0, 'two')});
$clock->set_offset(-86400 + 14 * 3600 + 80);
interrupt_others(
	'a watermark is flushed',
	"break sno_record_promise\ngo\nbreak XLogFlush\ngo",
	'SELECT sno_watermark()',
	'SELECT sno_watermark()',
	'SELECT sno_reset_watermark()');
interrupt_others(
	'watermarks are reset',
	"break sno_record_forget_promise\ngo\nbreak XLogFlush\ngo",
	'SELECT sno_reset_watermark()',
	'SELECT sno_watermark()');
interrupt_others(
	'a generator is opened',
	"break sno_lease_publish\ngo\nbreak XLogFlush\ngo",
	q{SELECT sno_generate(0, 'one')},
	q{SELECT sno_generate(0, 'one')},
	q{SELECT sno_snapshot_generator('one')},
	q{SELECT sno_restore_generator('one', '{"partition": [0, 1], "sequenceMax": 65535}')});
interrupt_others(
	'a counter is looked at',
	"break sno_record_recall\ngo\nbreak ReadBuffer\ngo",
	q{SELECT sno_flake_watermark('count')},
	q{SELECT sno_flake_watermark('count')},
	q{SELECT sno_flake_generate('count')});

# A session stands still anywhere on its way to an id: while it makes or finds the feed, reads what
# was promised, opens a partition, renews a lease that is over, or changes the side.  All others
# issue meanwhile, new ones too, and end.
close_session($session);
my $offset = 0;
my %before = (
	start => sub { close_session($other); $node->stop; $clock->start_server($node); $other = open_session($node, 'postgres'); },
	open  => sub { $node->safe_psql('postgres', 'SELECT sno_reseed()'); },
	over  => sub { $clock->set_offset($offset += 3 * 86400); },
	back  => sub { $clock->set_offset($offset -= 3600); });
foreach (
	[ start => qw(*sno_record_promised *sno_shmem_init_lock) ],
	[ open  => qw(*sno_feed_attach *sno_partition_reserve *sno_partition_claim
		*sno_lease_write *sno_lease_publish *sno_partition_open) ],
	[ over => qw(*sno_lease_write *sno_lease_publish) ],
	[ back => qw(*sno_generator_turn) ])
{
	my ($state, @functions) = @$_;
	foreach my $function (@functions)
	{
		my ($what, $still, $new) = ("$state, $function");
		$node->safe_psql('postgres', 'SELECT sno_generate()') if $state eq 'over' || $state eq 'back';
		$before{$state}->();
		($still, $new) = map { open_session($node, 'postgres') } 1 .. 2;
		my @ids;
		$gdb = hold("break $function\ngo", 'SELECT sno_generate()', $still);
		foreach my $one ($other, $new)
		{
			send_query($one, 'SELECT sno_generate()');
			wait_until("$what: another session has an id", sub { has_answered($one) });
			push @ids, (receive($one))[0];
		}
		close_session($new);
		push @ids, $node->safe_psql('postgres', 'SELECT sno_generate()');
		$gdb->release;
		push @ids, (receive($still))[0];
		is(scalar(grep { /^[2-9a-x]{16}$/ } @ids), 4, "$what: all have ids, while one is held");
		close_session($still);
	}
}

$node->stop;
check_log($node);
done_testing();
