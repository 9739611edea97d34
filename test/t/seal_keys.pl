
# Keys: nobody learns their secrets, and they are there after crashes and
# promotions, and in parallel workers.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

skip_without_seal();

# All that could write a secret into the log does its best.
my $logging = q{
log_statement = all
log_min_duration_statement = 0
log_parameter_max_length = -1
log_parameter_max_length_on_error = -1
log_error_verbosity = verbose
debug_print_parse = on
debug_print_plan = on
session_preload_libraries = 'auto_explain'
auto_explain.log_min_duration = 0
auto_explain.log_nested_statements = on
auto_explain.log_analyze = on
auto_explain.log_verbose = on
};
my %node;

foreach my $name ('publisher', 'subscriber')
{
	my $node = new_node($name, allows_streaming => 'logical', conf => $logging);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION sno_seal CASCADE');
	$node{$name} = $node;
}
my ($publisher, $subscriber) = @node{qw(publisher subscriber)};

my @secrets;

# Remember the secret of a key that the server made.
sub note_secret
{
	my ($node, $name) = @_;
	push @secrets,
	  $node->safe_psql('postgres',
		"SELECT encode(secret, 'hex') FROM sno_catalog.sno_seal_key WHERE name = '$name'"
	  );
	return;
}

# Check that a text has no secret, in bytes or in hexadecimal.
sub hides_secrets
{
	my ($text, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @found = grep { $text =~ /$_/i || index($text, pack('H*', $_)) >= 0 }
	  @secrets;
	is("@found", '', "$what: no secret");
	return;
}

# What sealing a few ids with a key gives.
sub sealed
{
	my ($node, $name) = @_;
	return $node->safe_psql('postgres',
		"SELECT sno_seal('9q7lkdko28bag222'::sno, '$name'), sno_seal(42, '$name')"
	);
}

#
# The server makes a key, by a statement and within a function
#
$publisher->safe_psql('postgres',
	"SELECT pg_create_logical_replication_slot('decoder', 'test_decoding')");
$publisher->safe_psql(
	'postgres', q{
CREATE TABLE t (id sno PRIMARY KEY, n integer);
CREATE FUNCTION make_key(text) RETURNS void LANGUAGE plpgsql AS 'BEGIN PERFORM sno_seal_create_key($1); END';
SELECT sno_seal_create_key('stated');
SELECT make_key('nested');
PREPARE make AS SELECT sno_seal_create_key($1), sno_seal_create_key('prepared');
EXECUTE make('dropped');
SELECT sno_seal_drop_key('dropped') FROM (SELECT 1) AS one});
note_secret($publisher, $_) foreach ('stated', 'nested', 'prepared');
is(scalar(grep { /^[0-9a-f]{32}$/ } @secrets), 3, 'keys have secrets');
isnt($secrets[0], $secrets[1], 'they are random');

my ($status, undef, $error) = $publisher->psql('postgres',
	"\\set VERBOSITY verbose\nSELECT make_key('stated')");
like($error, qr/ERROR:  42710:/, 'a key is not made twice');
hides_secrets($error, 'error');

my $plan = $publisher->safe_psql(
	'postgres', q{
INSERT INTO t SELECT sno_make('2026-01-01', 0, partition => n), n FROM generate_series(1, 20000) AS n;
ANALYZE t;
ANALYZE sno_catalog.sno_seal_key;
EXPLAIN (ANALYZE, VERBOSE, SETTINGS) SELECT sno_seal(id, 'stated') FROM t WHERE id = sno_unseal('2222222222222222', 'nested')}
);
like($plan, qr/sno_unseal/, 'a plan has the name of the function');
hides_secrets($plan, 'plan');
hides_secrets(
	$publisher->safe_psql('postgres', 'SELECT * FROM pg_statistic'),
	'statistics');

#
# Who reads all data, and dumps
#
$publisher->safe_psql('postgres',
	'CREATE ROLE reader LOGIN IN ROLE pg_read_all_data');
is( $publisher->safe_psql(
		'postgres', 'SELECT * FROM sno_catalog.sno_seal_key',
		extra_params => [ '-U', 'reader' ]),
	'',
	'a member of pg_read_all_data sees no key');
my $superuser = $publisher->safe_psql('postgres', 'SELECT current_user');
foreach my $dump (
	[ 'dump',          'pg_dump',    '-U', $superuser, 'postgres' ],
	[ 'plain inserts', 'pg_dump',    '-U', $superuser, '--inserts', 'postgres' ],
	[ 'dump of the table', 'pg_dump', '-U', $superuser, '-t', 'sno_catalog.*', 'postgres' ],
	[ 'dump of all',   'pg_dumpall', '-U', $superuser ],
	[ 'dump by a reader', 'pg_dump', '-U', 'reader', 'postgres' ])
{
	my ($what, @command) = @$dump;
	my $file = $publisher->basedir . '/dump';
	$publisher->command_ok([ @command, '-f', $file ], $what);
	hides_secrets(slurp_file($file), $what);
}

#
# Logical replication.  The subscriber has a key of the same name.
#
$subscriber->safe_psql(
	'postgres', q{
CREATE TABLE t (id sno PRIMARY KEY, n integer);
SELECT sno_seal_create_key('stated')});
my $own = sealed($subscriber, 'stated');
isnt($own, sealed($publisher, 'stated'), 'both servers have a key');
$publisher->safe_psql('postgres',
	'CREATE PUBLICATION everything FOR ALL TABLES');
my $connection = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION sub CONNECTION '$connection' PUBLICATION everything"
);
$subscriber->wait_for_subscription_sync($publisher, 'sub');
$publisher->safe_psql(
	'postgres', q{
SELECT sno_seal_create_key('late');
SELECT sno_seal_drop_key('stated');
INSERT INTO t VALUES (sno_zero(), -1)});
note_secret($publisher, 'late');
$publisher->wait_for_catchup('sub');
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM t'),
	20001, 'the rows of a user\'s table arrive at the subscriber');
is( $subscriber->safe_psql(
		'postgres', 'SELECT name FROM sno_catalog.sno_seal_key'),
	'stated',
	'no key arrives there, and none is dropped');
is(sealed($subscriber, 'stated'),
	$own, 'the key of the subscriber is as it was');

my $changes = $publisher->safe_psql('postgres',
	"SELECT data FROM pg_logical_slot_get_changes('decoder', NULL, NULL)");
like($changes, qr/table public\.t: INSERT/, 'rows of a user are decoded');
unlike($changes, qr/sno_seal_key: (INSERT|UPDATE)|stated|late/, 'no key is');
hides_secrets($changes, 'decoded changes');

#
# Parallel workers use a key, even one of the transaction that runs.
#
my $parallel = q{
SET debug_print_parse = off;
SET debug_print_plan = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
};
my $digest =
  q{SELECT md5(string_agg(s, ' ' ORDER BY s)) FROM (SELECT sno_seal(id, 'mine') || sno_seal(n, 'mine') AS s FROM t OFFSET 0) AS sealed};
my @digests = split /\n/,
  $publisher->safe_psql(
	'postgres', qq{
BEGIN;
SELECT FROM sno_seal_create_key('mine');
$digest;
$parallel
$digest;
COMMIT});
is(scalar @digests, 2, 'ids are sealed');
is($digests[0], $digests[1], 'parallel workers seal ids');
like(
	$publisher->safe_psql('postgres', "$parallel EXPLAIN ANALYZE $digest"),
	qr/Workers Launched: [1-9]/,
	'there are parallel workers');

#
# A crash, and a promotion
#
my $before = sealed($publisher, 'nested');
kill_postmaster($publisher);
start_again($publisher);
is(sealed($publisher, 'nested'), $before, 'a key is there after a crash');

my $standby = start_standby($publisher, 'standby');
$publisher->safe_psql('postgres', q{SELECT sno_seal_create_key('new')});
note_secret($publisher, 'new');
my $new = sealed($publisher, 'new');
$publisher->wait_for_catchup($standby);
is(sealed($standby, 'new'), $new, 'a standby has the key');
(undef, undef, $error) = $standby->psql('postgres',
	"\\set VERBOSITY verbose\nSELECT sno_seal_create_key('more')");
like($error, qr/ERROR:  25006:/, 'a standby makes no keys');

# A session that used a key before it was dropped at the primary
my $session = open_session($standby, 'postgres');
$session->query_safe(q{PREPARE seal AS SELECT sno_seal(42, 'prepared')});
$session->query_safe('EXECUTE seal');
$publisher->safe_psql('postgres', q{SELECT sno_seal_drop_key('prepared')});
$publisher->wait_for_catchup($standby);
like(
	error_of($session, 'EXECUTE seal'),
	qr/42704: key "prepared" does not exist/,
	'a session of the standby learns that a key was dropped');
close_session($session);
$publisher->stop;
$standby->promote;
is(sealed($standby, 'new'), $new, 'a promoted standby has the key');
$standby->safe_psql('postgres', q{SELECT sno_seal_create_key('more')});
note_secret($standby, 'more');

foreach my $node ($publisher, $subscriber, $standby)
{
	check_log($node);
	my $log = slurp_file($node->logfile);
	like($log, qr/sno_seal/, $node->name . ': the log has the statements');
	hides_secrets($log, $node->name . ': log');
}
$subscriber->stop;
$standby->stop;
done_testing();
