
# A resource runs out, or a request to stop comes, at one place after the other of what the
# extension does.  Each time there is an error, at most: the server goes on, no lock is held
# any more, the same session makes ids at the next call, and none of them twice.
#
# It takes samples of the places.  With EXHAUST_ALL, it takes all of them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;
use Torture ();

# The library replaces a method whose parameters are others from version 17 on.
chomp(my $version = `pg_config --version`);
plan skip_all => "not for $version" if $version =~ /(\d+)/ && $1 > 16;

# As in exhaust.c
my %resources = (
	'memory contexts' => 1,
	'heap'            => 2,
	'descriptors'     => 4,
	'mappings'        => 8,
	'disk'            => 16,
	'cancellation'    => 64);
my $any_resource = 1 | 2 | 4 | 8 | 16 | 32;
my $any_worker   = -1;

my $told = PostgreSQL::Test::Utils::tempdir('exhaust') . '/told';
append_to_file($told, "\0" x 24);
my $node = new_node('main', conf => q{
autovacuum = off
max_prepared_transactions = 2
sno.lease_duration = 1s
});

sub start
{
	local $ENV{LD_PRELOAD} = Torture::build('exhaust.so');
	local $ENV{EXHAUST}    = $told;
	$node->start;
	return;
}

start();
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION sno;
CREATE EXTENSION sno_flakes;
SELECT sno_create_generator('named', 1), sno_create_generator('other', 2),
	sno_flake_create_generator('flake', 'snowflake', 1), sno_flake_create_generator('count', 'counter');
CREATE TABLE feed (id sno DEFAULT sno_generate());
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON feed
	FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id');
CREATE TABLE numbers AS SELECT generate_series(1, 100) AS n;
ALTER TABLE numbers SET (parallel_workers = 2);
CREATE FUNCTION make_id(integer) RETURNS sno VOLATILE PARALLEL SAFE LANGUAGE plpgsql AS
	'BEGIN RETURN sno_generate(); END'});

sub arm
{
	my ($pid, $what, $at, $lasting) = @_;
	Torture::poke($told, 0, pack('lL5', $pid, $what, $at, $lasting ? 1 : 0, 0, 0));
	return;
}

# How often was it asked for, and how often refused?
sub disarm
{
	my (undef, undef, undef, undef, @counts) =
	  unpack('lL5', slurp_file($told));
	Torture::poke($told, 0, "\0" x 24);
	return @counts;
}

sub next_place
{
	my ($at) = @_;
	return $at < 4 || $ENV{EXHAUST_ALL} ? $at + 1 : int($at * 1.7);
}

my $all_kinds = q{SELECT sno_generate();
SELECT sno_generate(1, 'named');
SELECT 'flake ' || sno_flake_generate('flake');
SELECT 'count ' || sno_flake_generate('count');
};
my $sane = q{SELECT 'insane' WHERE (SELECT count(*) FROM sno_generators() WHERE name IS NULL) = 0;
SELECT count(*) FROM sno_check();
SELECT 'insane: held' FROM sno_watermark_blockers();
};
my %ids;
my $bystander;

# What a query returned: what is wrong there.  Ids are noted.
sub trouble_in
{
	my ($out) = @_;
	my @trouble;
	foreach my $line (split /\n/, $out)
	{
		push @trouble, "$line came twice"
		  if $line =~ /^([2-9a-x]{16}|(flake|count) \d+)$/ && $ids{$line}++;
		push @trouble, $line if $line =~ /insane/;
	}
	return @trouble;
}

sub trouble_with
{
	my ($session, $query) = @_;
	my @trouble = trouble_in($session->query($query));
	return grep { $_ ne '' } @trouble, take_errors($session);
}

# Let a resource run out at each place of a query, in sessions of their own.
sub try_places
{
	my ($name, $resource, $query, %params) = @_;
	my @trouble;
	my $failures = 0;
	my ($asked, $failed);
	for (my $at = 1;; $at = next_place($at))
	{
		$params{before_session}->() if defined $params{before_session};
		my $session = open_session($node, 'postgres');
		$params{before}->($session) if defined $params{before};
		arm($params{pid} // $session->{pid}, $resources{$resource}, $at, $params{lasting});
		if (defined $query)
		{
			push @trouble, trouble_in($session->query($query));
		}
		else
		{
			close_session($session);
		}
		($asked, $failed) = disarm();
		$session = open_session($node, 'postgres') if !defined $query;
		error_of($session, defined $query && $query =~ /^BEGIN/ ? 'ROLLBACK' : '');
		push @trouble, map { "at $at: $_" }
		  trouble_with($session, $all_kinds . $sane . ($params{check} // '')),
		  trouble_with($bystander, $all_kinds);
		close_session($session);
		$failures += $failed;
		last if $asked < $at;
	}
	is(join("\n", @trouble), '', "$name, $resource: $failures failures");
	return;
}

# Shared memory is made by the first session that needs it.
foreach my $resource ('descriptors', 'mappings', 'disk', 'heap')
{
	try_places(
		'first id of a server',
		$resource,
		'SELECT sno_generate()',
		before_session => sub {
			close_session($bystander) if defined $bystander;
			$node->stop;
			start();
			$bystander = open_session($node, 'postgres');
		});
}

# The library is loaded, or its session has ended.  It never stays half loaded.
foreach my $resource ('memory contexts', 'heap')
{
	my ($asked, $failed, @trouble);
	my ($failures, $ended) = (0, 0);
	for (my $at = 1;; $at = next_place($at))
	{
		my $session = $node->background_psql('postgres', on_error_stop => 0);
		$session->set_query_timer_restart;
		$session->{pid} = $session->query_safe('SELECT pg_backend_pid()');
		arm($session->{pid}, $resources{$resource}, $at);
		send_query($session, 'SELECT sno_zero()');
		wait_until('it is loaded', sub { has_answered($session) });
		($asked, $failed) = disarm();
		$failures += $failed;
		if (eval { receive($session); 1 })
		{
			push @trouble, trouble_with($session, $all_kinds);
			close_session($session);
		}
		else
		{
			my $error = $@;
			# psql may have ended before it took the empty query, and its last message is not read yet.
			$session->{stdin} = '';
			eval { $session->{run}->finish };
			push @trouble, "at $at: $error" if $session->{stderr} !~ /FATAL/;
			drop_session($session);
			$ended++;
		}
		last if $asked < $at;
	}
	is(join("\n", @trouble), '', "load, $resource: $failures failures, $ended sessions end");
}

foreach my $resource (grep { $_ ne 'disk' } sort keys %resources)
{
	try_places('first id', $resource, 'SELECT sno_generate()');
	try_places(
		'named', $resource,
		"SELECT sno_generate(1, 'other')",
		check => "SELECT sno_generate(1, 'other')");
	try_places('loan', $resource, q{SELECT FROM sno_borrow_partition('5 s')});
	try_places('flake', $resource, "SELECT 'flake ' || sno_flake_generate('flake')");
	try_places('guard, and prepared', $resource,
		q{BEGIN; INSERT INTO feed DEFAULT VALUES RETURNING id; PREPARE TRANSACTION 'p'; ROLLBACK PREPARED 'p'});
	try_places(
		'a savepoint', $resource,
		q{BEGIN; SAVEPOINT s; SELECT sno_watermark(), sno_borrow_partition('5 s'); ROLLBACK TO s; SELECT sno_generate(); COMMIT}
	);
	try_places(
		'a generator that was dropped',
		$resource,
		"SELECT sno_generate(1, 'named')",
		before => sub {
			my ($session) = @_;
			error_of($session, $_) foreach "SELECT sno_create_generator('gone', 7)",
			  "SELECT sno_generate(1, 'gone')", "SELECT sno_drop_generator('gone')";
		},
		check =>
		  "SELECT 'insane: ' || name || ' is in use' FROM sno_generators() WHERE name = 'gone'"
	);
}
# No subtransaction is left, whatever fails when it is rolled back.
try_places(
	'subtransactions', 'memory contexts', 'SELECT count(*) FROM sno_check()',
	lasting => 1);

# What ends a transaction, and a session that used no named generator, asks for nothing.
my $everything = q{BEGIN;
SELECT sno_create_generator('new'), sno_flake_create_generator('newer', 'snowflake', 9);
SELECT sno_flake_create_layout('ours', epoch + '1 s', unit, time_bits, node_bits, sequence_bits, node_last)
	FROM sno_catalog.sno_flake_layout WHERE name = 'snowflake';
SELECT sno_generate(1, 'new');
INSERT INTO feed DEFAULT VALUES;
SAVEPOINT s;
SELECT sno_create_generator('rolled back');
INSERT INTO feed DEFAULT VALUES;
};
foreach my $end ('ROLLBACK', 'ROLLBACK TO s', 'SELECT 1/0', 'COMMIT')
{
	my $session = open_session($node, 'postgres');
	is(join("\n", trouble_with($session, $all_kinds . $everything)), '', "before $end");
	arm($session->{pid}, $any_resource, 1);
	error_of($session, $end);
	is((disarm())[0], 0, "$end asks for nothing");
	close_session($session);
}
my $session = open_session($node, 'postgres');
is(error_of($session, 'SELECT sno_generate(), sno_generate_at(now())'), '', 'before an exit');
arm($session->{pid}, $any_resource, 1);
close_session($session);
is((disarm())[0], 0, 'the exit of a session asks for nothing');

foreach my $resource ('memory contexts', 'heap')
{
	try_places('end of a session', $resource, undef,
		before => sub { error_of($_[0], "SELECT sno_generate(1, 'other')"); });
	try_places(
		'parallel workers',
		$resource,
		'SELECT make_id(n) FROM numbers',
		pid    => $any_worker,
		before => sub {
			error_of($_[0],
				'SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET parallel_leader_participation = off');
		});
}

close_session($bystander);
$node->stop;
check_log($node);
done_testing();
