
# Many clients that share few connections by way of a pooler, which gives each
# connection to another client after each transaction.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

# PgBouncer refuses options of a connection.

my ($pgbouncer) =
  grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'pgbouncer is not installed' unless defined $pgbouncer;
my ($minor) = qx($pgbouncer --version) =~ /^PgBouncer 1\.(\d+)/;

my $pool_size = 3;
my $node      = start_node('main', conf => 'sno.lease_duration = 2s', sql => q{
CREATE TABLE t (id sno PRIMARY KEY);
CREATE TABLE bench (id sno PRIMARY KEY DEFAULT sno_generate(5), client integer)});

my $dir    = PostgreSQL::Test::Utils::tempdir_short();
my $port   = PostgreSQL::Test::Cluster::get_free_port();
my $user   = getpwuid($<);
my $server = $node->connstr('postgres') . " user=$user";
append_to_file(
	"$dir/pgbouncer.ini", qq{
[databases]
postgres = $server

[pgbouncer]
unix_socket_dir = $dir
listen_addr =
listen_port = $port
auth_type = any
admin_users = $user
pool_mode = transaction
default_pool_size = $pool_size
max_client_conn = 100
pidfile = $dir/pid
logfile = $dir/log
});

# Since 1.21, PgBouncer knows prepared statements of the protocol.
append_to_file("$dir/pgbouncer.ini", "max_prepared_statements = 100\n")
  if $minor >= 21;

my $pooler = IPC::Run::start([ $pgbouncer, '-q', "$dir/pgbouncer.ini" ],
	'<', '/dev/null', '&>', "$dir/output");
my $connection = "host=$dir port=$port user=$user";

# The output of a query by way of the pooler, errors included.
sub ask_pooler
{
	my ($query, $dbname) = @_;
	my $output = '';
	IPC::Run::run(
		[   'psql', '-XqAt', '-c', $query,
			"$connection dbname=" . ($dbname // 'postgres') ],
		'<',
		'/dev/null',
		'>&',
		\$output);
	return $output;
}
wait_until('the pooler answers', sub { ask_pooler('SELECT 1') eq "1\n" });

#
# More clients than connections
#
my $notes   = NotedIds->new;
my $clients = $notes->start_clients(
	$node, 'postgres',
	clients => 24,
	rounds  => 600,
	connstr => "$connection dbname=postgres",
	table   => 't');
my $connections =
  "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'client'";
wait_until('all connections are open',
	sub { $node->safe_psql('postgres', $connections) >= $pool_size });
is($node->safe_psql('postgres', $connections),
	$pool_size, "24 clients share $pool_size connections");
cmp_ok(
	$node->safe_psql(
		'postgres', 'SELECT count(*) FROM sno_catalog.sno_lease'),
	'<=',
	$pool_size + 1,
	'24 clients lease not many more partitions than connections');

# The pooler opens new connections meanwhile.
ask_pooler('RECONNECT', 'pgbouncer');
my $prepared = 0;
foreach my $n (1 .. 20)
{
	my $ids = ask_pooler(
		'BEGIN; PREPARE p AS SELECT sno_generate($1); EXECUTE p(1); EXECUTE p(2); DEALLOCATE p; COMMIT'
	);
	$prepared += $notes->add("prepared $n", $ids);
}
is($prepared, 40,
	'statements that are prepared within a transaction make ids');
my ($noted, $errors) = $notes->collect($clients);
is($noted,  24 * 600 * 5, 'all clients received all their ids');
is($errors, '',           'no client met an error');

$notes->check('pooler');
$notes->check_rows($node, 'postgres', 't');

#
# The extended protocol
#
my @protocols = ('extended');
push @protocols, 'prepared' if $minor >= 21;
append_to_file("$dir/bench.sql",
	'INSERT INTO bench (client) VALUES (:client_id);');
foreach my $protocol (@protocols)
{
	command_ok(
		[   'pgbench', '-n', '-M', $protocol, '-c', 16, '-t', 200, '-f',
			"$dir/bench.sql", "$connection dbname=postgres" ],
		"pgbench runs with protocol $protocol");
}
is( $node->safe_psql(
		'postgres', 'SELECT count(*), count(DISTINCT client) FROM bench'),
	@protocols * 16 * 200 . '|16',
	'each client of pgbench received all its ids');
is( $node->safe_psql(
		'postgres', 'SELECT count(*) FROM bench JOIN t USING (id)'),
	0,
	'no id of pgbench is one of the other clients');

#
# A feed
#
# Each statement of a reader may have another connection of the server.
$node->safe_psql('postgres', q{
CREATE EXTENSION sno_feeds;
CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_generate(), n integer);
CREATE TABLE handled (id sno PRIMARY KEY);
SELECT sno_feed_create('event');
SELECT sno_feed_create_reader('event', r) FROM unnest('{mail, leased}'::text[]) AS r});
append_to_file("$dir/write.sql", "INSERT INTO event (n) VALUES (:client_id);\n");
append_to_file("$dir/read.sql",
	"CALL sno_feed_wait('event', 'mail', '50 milliseconds');\nINSERT INTO handled SELECT id FROM sno_feed_next(NULL::event, 'mail', 20);\n");
foreach my $protocol (@protocols)
{
	command_ok(
		[   'pgbench', '-n', '-M', $protocol, '-c', 12, '-t', 100, '-f', "$dir/write.sql\@3", '-f',
			"$dir/read.sql", "$connection dbname=postgres" ],
		"writers and readers of a feed run with protocol $protocol");
}
wait_until(
	'all rows are handled',
	sub {
		ask_pooler("CALL sno_feed_wait('event', 'mail', '1 second')");
		ask_pooler("INSERT INTO handled SELECT id FROM sno_feed_next(NULL::event, 'mail')") eq ''
		  && $node->safe_psql('postgres', 'SELECT count(*) FROM event AS e LEFT JOIN handled AS h USING (id) WHERE h.id IS NULL') == 0;
	});
pass 'a reader handles each row once';
my ($part, $fence, $id) =
  split /\|/, ask_pooler(q{SELECT part, fence, id FROM sno_feed_take(NULL::event, 'leased', 1, lease => '1 hour')});
is(ask_pooler(q{SELECT count(*) FROM sno_feed_take(NULL::event, 'leased', 1)}), "0\n", 'another connection does not get a leased part');
ask_pooler('RECONNECT', 'pgbouncer');
is(ask_pooler("SELECT sno_feed_done('event', 'leased', $part, $fence)"), "\n", 'another connection acknowledges the rows');
is(ask_pooler(q{SELECT count(*) FROM sno_feed_take(NULL::event, 'leased', 1)}), "1\n", 'the reader goes on');
like(ask_pooler("BEGIN; CALL sno_feed_wait('event', 'mail')"), qr/cannot be called in a transaction block/, 'no call within a transaction');

$pooler->signal('TERM');
$pooler->finish;
$node->stop;
done_testing();
