
# sno.partitions, changed by a reload while sessions generate.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

my $node = start_node('main', conf => q{
sno.lease_duration = 1h
sno.partitions = '100-107'
});

my $notes = NotedIds->new;

# Make ids in a session, and note them; returns their partitions.
sub generate
{
	my ($session, $query) = @_;
	my $ids = $session->query_safe($query // ids_of(100));
	$notes->add($session, $ids);
	return join ',', partitions_of($ids);
}

sub leases
{
	return $node->safe_psql('postgres',
		'SELECT partition, taken_at FROM sno_catalog.sno_lease ORDER BY 1');
}

my $at       = "SELECT sno_generate_at('2020-01-01')";
my $session  = open_session($node, 'postgres');
my $at_first = generate($session, $at);
my $first    = generate($session);
like(
	"$first $at_first",
	qr/^10[0-7] 10[0-7]$/,
	'a session uses its range, also for ids of given times');

#
# A narrower range, without the partitions of the session: it moves with its
# next id
#

# The partitions that are not in a range.
sub outside
{
	my ($range, @partitions) = @_;
	my ($first, $last) = split /-/, $range;
	return grep { $_ < $first || $_ > $last } @partitions;
}

my ($narrow) =
  grep { outside($_, $first, $at_first) == 2 }
  ('100-101', '102-103', '104-105', '106-107');
configure($node, 'sno.partitions', $narrow, $session);
is(scalar(outside($narrow, generate($session))),
	0, 'a session moves into a narrower range with its next id');
is( scalar(outside($narrow, generate($session, $at))),
	0,
	'a session moves into a narrower range with its next id of a given time');

# The partitions that it left are open to others, with their leases.
configure($node, 'sno.partitions', '100-107', $session);
my $leases = leases();
my $other  = open_session($node, 'postgres');
like(generate($other) . ' ' . generate($other, $at), qr/^10[0-7] 10[0-7]$/,
	'a wider range: another session uses it');
is(leases(), $leases, 'a wider range: no lease is written for that');

# A range apart from the one before, while clients generate
my $clients = $notes->start_clients($node, 'postgres', max_wait => 1000);
$notes->wait_for_notes($clients);
configure($node, 'sno.partitions', '200-207', $session, $other);
like(generate($_), qr/^20[0-7]$/, 'a range apart: a session moves')
  foreach $session, $other;
like(generate($session, $at),
	qr/^20[0-7]$/, 'a range apart: a session moves for ids of given times');
$notes->wait_for_notes($clients);
$notes->stop_clients($node, $clients);
my (%moved, %back);

foreach my $note (@{ $notes->{notes} })
{
	my ($id, $client) = @$note;
	next if $client !~ /client/;
	if    (decode_id($id)->{partition} >= 200) { $moved{$client} = 1; }
	elsif ($moved{$client})                    { $back{$client}  = 1; }
}
is(scalar keys %moved, 4, 'a range apart: all clients have moved');
is(scalar keys %back,  0, 'a range apart: no client has moved back');

#
# An invalid range: a session with a valid one goes on, no session uses all
# partitions
#
$node->append_conf('postgresql.conf', "sno.partitions = '7-3'");
configure($node, 'work_mem', '1234kB', $session);
is( $session->query_safe(
		"SELECT applied, error FROM pg_file_settings WHERE name = 'sno.partitions' AND setting = '7-3'"
	),
	'f|setting could not be applied',
	'an invalid range is refused');
like(generate($session), qr/^20[0-7]$/,
	'an invalid range: a session goes on in its former range');
my $late = open_session($node, 'postgres');
foreach my $query ('SELECT sno_generate()', $at, 'SELECT sno_reseed()')
{
	like(
		error_of($late, $query),
		qr/^ERROR:  22023: parameter "sno.partitions" cannot be set to "7-3"$/m,
		"an invalid range: a new session is refused: $query");
}
configure($node, 'sno.partitions', '300-303', $session, $late);
like(generate($_), qr/^30[0-3]$/, 'a valid range again: a session generates')
  foreach $session, $late;

# A superuser may give a database or a role a range of its own.  No other user
# may.
$node->safe_psql('postgres', 'CREATE DATABASE apart');
$node->safe_psql(
	'postgres', q{
CREATE ROLE r LOGIN;
ALTER DATABASE apart OWNER TO r;
ALTER DATABASE apart SET sno.partitions = '5-6'});
$node->safe_psql('apart', 'CREATE EXTENSION sno');

sub as_owner
{
	my ($queries) = @_;
	my ($code, $out, $error) = $node->psql('apart', $queries,
		connstr => $node->connstr('apart') . ' user=r');
	return "$out\n$error";
}
like(as_owner('SELECT sno_partition(sno_generate())'),
	qr/^[56]$/, 'a database uses the range of its own');
like(
	as_owner("SELECT sno_generate(); SET sno.partitions = '7-8'"),
	qr/ERROR:  permission denied to set parameter "sno.partitions"/,
	'the owner of the database cannot change its range');
like(
	as_owner("SET sno.partitions = '7-8'; SELECT sno_partition(sno_generate())"),
	qr/^[56]\n.*WARNING:  permission denied to set parameter "sno.partitions"$/m,
	'the owner cannot change it before the library is loaded');

# Ids that workers make.  The function hides them from the planner.
$node->safe_psql(
	'apart', q{
CREATE TABLE numbers AS SELECT generate_series(1, 1000) AS n;
ALTER TABLE numbers SET (parallel_workers = 2);
GRANT SELECT ON numbers TO r;
CREATE FUNCTION make_id(integer) RETURNS integer VOLATILE PARALLEL SAFE LANGUAGE plpgsql AS
	'BEGIN RETURN sno_partition(sno_generate()); END';
CREATE FUNCTION as_superuser(query text) RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER
	SET sno.partitions = '9-9' AS 'BEGIN RETURN QUERY EXECUTE query; END'});
my $by_workers = q{
SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
SET parallel_leader_participation = off;
SELECT bool_and(make_id(n) IN (5, 6)) FROM numbers;};
like(as_owner("SELECT sno_generate(); $by_workers"),
	qr/^t$/m, 'workers use the range of the database');

# The default, which is all partitions, is no other value than those.  Whatever the session
# does, neither it nor its workers issue by the default.
foreach my $given ('0-65535', '7-8', 'nonsense')
{
	local $ENV{PGOPTIONS} = "-c sno.partitions=$given";
	my $refused = qr/ERROR:  parameter "sno.partitions" cannot be set to "$given"$/m;
	like(as_owner('SELECT sno_generate()'),
		$refused, "nor by an option of the connection, $given");
	foreach my $reset ('RESET ALL', 'DISCARD ALL', "SET LOCAL sno.partitions = '7-8'",
		'RESET sno.partitions', 'SET sno.partitions TO DEFAULT')
	{
		my $out = as_owner("SELECT sno_zero(); $reset; SELECT sno_generate()");
		like($out, qr/$refused|permission denied to set parameter/, "nor after $reset, $given");
		unlike($out, qr/^\w{16}\n.*^\w{16}$/ms, "nothing is issued after $reset, $given");
	}
	# Outside of the database's range; the session can't issue, so its feed is attached by
	# something else.
	like(
		as_owner("SELECT count(*) FROM sno_watermark_blockers(); $by_workers"),
		qr/ERROR:  parameter "sno.partitions" cannot be set to its value in the session$/m,
		"nor do workers issue, $given");
	like(
		as_owner(
			"SELECT as_superuser('SELECT sno_partition(sno_generate())::text'); SELECT pg_sleep(0.02); SELECT sno_generate()"
		),
		qr/^9\n.*$refused/ms,
		"what a function sets ends with it, $given");
}

# The same if the configuration file writes the name in other letters.
{
	my $other = start_node('other', conf => "SNO.Partitions = '5-6'", sql => 'CREATE ROLE r LOGIN');
	foreach my $given ('7-8', 'nonsense')
	{
		local $ENV{PGOPTIONS} = "-c sno.partitions=$given";
		my ($code, $out, $err) =
		  $other->psql('postgres', 'SELECT sno_generate()', extra_params => [ '-U', 'r' ]);
		like($err, qr/ERROR:  parameter "sno.partitions" cannot be set to "$given"$/m,
			"nor if the file has SNO.Partitions, $given");
	}
	is( $other->safe_psql(
			'postgres', 'SELECT sno_partition(sno_generate()) IN (5, 6)',
			extra_params => [ '-U', 'r' ]),
		't',
		'without the option, ids are of the range of the file');
	$other->stop;
}

# A server that is started with an invalid range.
$node->append_conf('postgresql.conf', "sno.partitions = '70000'");
$node->restart;
$notes->next_phase;
$late = open_session($node, 'postgres');
like(
	error_of($late, 'SELECT sno_generate_many(1)'),
	qr/^ERROR:  22023: parameter "sno.partitions" cannot be set to "70000"$/m,
	'a server that was started with an invalid range makes no ids');
configure($node, 'sno.partitions', '0-65535', $late);
wait_until('ids are made',
	sub { error_of($late, 'SELECT sno_generate_many(1)') eq '' });
pass('with a valid range, the server makes ids');

close_session($late);
$notes->check('sno.partitions changed');
$node->stop;
done_testing();
