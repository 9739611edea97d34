
# A session is between two steps.  gdb holds it there, and another session comes in between, or
# waits for it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use FakeClock;
use Gdb;
use TestHelpers;

my $clock = FakeClock->new;
plan skip_all => 'libfaketime is not installed' if !defined $clock;
plan skip_all => 'gdb is not installed' if !grep { -x "$_/gdb" } split /:/, $ENV{PATH};
my $scope = '/proc/sys/kernel/yama/ptrace_scope';
plan skip_all => 'the kernel lets gdb lead only its own children' if -e $scope && slurp_file($scope) > 0;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$clock->start_server($node);
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION sno_flakes CASCADE;
SELECT sno_flake_create_layout('mine', '2020-01-01Z', 1, 48, 32, 16);
SELECT sno_flake_create_generator('own', 'mine', 1);
SELECT sno_watermark()});
$node->stop;
$clock->set_offset(-86400);
$clock->start_server($node);
my ($session, $other) = map { open_session($node, 'postgres') } 1 .. 2;

# Lead the session, which runs a query, and return when it is held.
sub hold
{
	my ($way, $query) = @_;
	my $gdb = Gdb->lead($session->{pid}, $way);
	send_query($session, $query);
	wait_until('the session is held, or ready', sub { $gdb->holds || !$gdb->runs || has_answered($session) });
	die slurp_file($gdb->{log}) if !$gdb->holds;
	return $gdb;
}

# The session knows up to where watermarks were before the start, but hasn't promised that yet.
# Another one resets them.
my $gdb = hold("break *sno_record_promised\ngo\nback", 'SELECT sno_generate()');
send_query($other, 'SELECT sno_reset_watermark()');
wait_until(
	'the other session waits, or is ready',
	sub {
		has_answered($other)
		  || $node->safe_psql('postgres',
			"SELECT wait_event_type FROM pg_stat_activity WHERE pid = $other->{pid}") eq 'LWLock';
	});
$gdb->release;
is((receive($_))[1], '', 'a watermark is reset while a session finds what was promised') foreach $session, $other;
is($node->safe_psql('postgres', 'SELECT sno_timestamp(sno_watermark()) <= clock_timestamp()'),
	't', 'the reset stays');

# The session knows its generator, and renews the lease of that early.  Its layout goes
# meanwhile, and another one gets the name.
my $long = q{SELECT length(sno_flake_generate_bytea('own'))};
is($session->query_safe($long), 12, 'an id of 12 bytes');
$other->query_safe(q{SELECT sno_flake_create_generator('second', 'mine', 2)});
$clock->set_offset(-86400 + 40);
$gdb = hold("break *sno_named_renew_early\ngo", $long);
$other->query_safe(
	q{
DROP EXTENSION sno_flakes;
CREATE EXTENSION sno_flakes;
SELECT sno_flake_create_layout('mine', '2020-01-01Z', 1, 48, 16, 16)});
$gdb->release;
is((receive($session))[0], 12, 'an id has all bytes of the layout that it was drawn for');

$node->stop;
check_log($node);
done_testing();
