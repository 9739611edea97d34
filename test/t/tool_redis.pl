
# The program of doc/redis.md, which forwards the feed of doc/feeds.md to Redis, word for word.  The
# program, Redis and the server are killed again and again.  In the end each committed row is in the
# stream of its part once, in order.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use TestHelpers;
use Time::HiRes qw(usleep);

my $python = '/usr/bin/python3';
foreach my $command ('redis-server --version', 'redis-cli --version', "$python -c 'import psycopg2, redis'")
{
	plan skip_all => "here is no \"$command\""
	  if system("$command >/dev/null 2>&1") != 0;
}

my ($table, $index) = slurp_file("$FindBin::RealBin/../../doc/feeds.md") =~ /^(CREATE (?:TABLE|INDEX ON) outbox \(.*;)$/mg;
my $page = slurp_file("$FindBin::RealBin/../../doc/redis.md");
my ($reader)  = $page =~ /^```sql\n(.*?)\n```$/ms;
my ($program) = $page =~ /^```python\n(.*?)\n```$/ms;

my $dir    = PostgreSQL::Test::Utils::tempdir_short();
my $log    = $PostgreSQL::Test::Utils::log_path;
my $socket = "$dir/redis";
$program =~ s/redis\.Redis\(\)/redis.Redis(unix_socket_path="$socket")/ or die 'no broker';
append_to_file("$dir/forward.py", "$program\n");

my $node = start_node('main', conf => 'fsync = on', sql => qq{
CREATE EXTENSION sno_feeds;
$table
$index
SELECT sno_feed_create('outbox');
$reader
});

#
# What can be killed
#
my ($broker, @forwarders, $writers);

sub redis
{
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'redis-cli', '-s', $socket, @_ ], '<', '/dev/null', '>', \$out, '2>', \$err);
	return $out;
}

sub start_broker
{
	$broker = IPC::Run::start(
		[   'redis-server', '--port', 0, '--unixsocket', $socket, '--dir', $dir, '--save', '',
			'--appendonly', 'yes', '--appendfsync', 'always' ],
		'<', '/dev/null', '>>', "$log/tool_redis_broker.log", '2>&1');
	wait_until('Redis answers', sub { redis('PING') eq "PONG\n" });
	return;
}

# As a service manager does it
sub keep_forwarding
{
	foreach my $n (0 .. 1)
	{
		next if defined $forwarders[$n] && $forwarders[$n]->pumpable;
		$forwarders[$n]->finish if defined $forwarders[$n];
		local $ENV{PYTHONPATH} = "$FindBin::RealBin/../../clients/python";
		local @ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'postgres');
		local $ENV{PYTHONDONTWRITEBYTECODE} = 1;
		$forwarders[$n] =
		  IPC::Run::start([ $python, "$dir/forward.py" ], '<', '/dev/null', '>>', "$log/tool_redis_forward.log", '2>&1');
	}
	return;
}

# Transactions that overlap, and do not commit in the order of their ids
append_to_file(
	"$dir/write.sql", q{
\set pause random(0, 50)
BEGIN;
INSERT INTO outbox (customer, message) VALUES (random() * 40, 'first');
\sleep :pause ms
INSERT INTO outbox (customer, message) SELECT random() * 40, 'next' FROM generate_series(1, 3);
COMMIT;
\sleep :pause ms
});

sub start_writers
{
	$writers = IPC::Run::start(
		[ 'pgbench', '-n', '-c', 3, '-t', 9999999, '-f', "$dir/write.sql", $node->connstr('postgres') ],
		'<', '/dev/null', '>>', "$log/tool_redis_writers.log", '2>&1');
	return;
}

# The entries of a part's stream
sub entries
{
	my ($part) = @_;
	return redis('XRANGE', "outbox:$part", '-', '+') =~ /^(\d+-\d+)$/mg;
}

# The entry of an id
sub entry_of
{
	my ($id) = @_;
	my $f = decode_id($id);
	return ($f->{unit} << 1 | $f->{tick_tock}) . '-' . ($f->{meta} << 32 | $f->{partition} << 16 | $f->{sequence});
}

sub forwarded
{
	my $entries = 0;
	$entries += redis('XLEN', "outbox:$_") || 0 foreach 0 .. 3;
	return $entries;
}

# Wait until 50 more rows have been forwarded.
sub go_on
{
	my $until = forwarded() + 50;
	wait_until('rows are forwarded', sub { keep_forwarding(); usleep(50_000); forwarded() >= $until });
	return;
}

start_broker();
start_writers();
go_on();
foreach my $round (1 .. 3)
{
	$forwarders[ $round % 2 ]->signal('KILL');
	go_on();
	$broker->kill_kill(grace => 0);
	start_broker();
	go_on();
	$broker->signal('KILL');
	$broker->finish;
	$node->stop('immediate');
	start_broker();
	$node->start;
	$writers->finish;
	start_writers();
	go_on();
}

#
# All programs are killed after they have added rows, and before they acknowledge them.
#
my $session = open_session($node, 'postgres');
$broker->signal('STOP');
# Of a part that is locked, a lease can neither begin nor end.  Programs that were killed have leases, too.
my $leased = q{SELECT count(*) FROM outbox_readers AS r JOIN pg_stat_activity AS a ON r.holder = a.usename || ' ' || a.pid
	WHERE r.reader = 'redis' AND r.upto IS NOT NULL};
wait_until(
	'rows are taken',
	sub {
		keep_forwarding();
		$session->query_safe("BEGIN; SELECT FROM outbox_readers WHERE reader = 'redis' FOR UPDATE");
		return 1 if $session->query_safe($leased) > 0;
		$session->query_safe('COMMIT');
		return 0;
	});
$broker->signal('CONT');
my $done = q{FROM pg_stat_activity WHERE query LIKE 'SELECT sno_feed_done%' AND wait_event_type = 'Lock'};
wait_until('rows are added', sub { $node->safe_psql('postgres', "SELECT count(*) $done") > 0 });
my $refused = sub { return redis('INFO', 'errorstats') =~ /errorstat_ERR:count=(\d+)/ ? $1 : 0 };
my $before  = $refused->();
$_->kill_kill(grace => 0) foreach @forwarders;
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid, 60000) $done");
$session->query_safe('COMMIT');
close_session($session);

# The leases end now, instead of in a minute.
$node->safe_psql('postgres', "UPDATE outbox_readers SET free_at = clock_timestamp() WHERE reader = 'redis'");
wait_until('Redis refuses rows that are sent again',
	sub { keep_forwarding(); usleep(50_000); return $refused->() > $before });

$writers->kill_kill(grace => 0);
wait_until(
	'all rows are forwarded',
	sub {
		keep_forwarding();
		usleep(100_000);
		return $node->safe_psql('postgres',
			q{SELECT (SELECT count(*) FROM sno_feeds() WHERE reader = 'redis' AND state <> 'idle')
			+ (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench')}) == 0;
	});
foreach my $part (0 .. 3)
{
	my @rows = map { entry_of($_) } split /\n/,
	  $node->safe_psql('postgres', "SELECT id FROM outbox WHERE sno_feed_part(customer, 4) = $part ORDER BY id");
	my @entries = entries($part);
	cmp_ok(scalar(@rows), '>', 0, "part $part has " . scalar(@rows) . ' rows');
	is("@entries", "@rows", '... each is in the stream once, in order');
}

check_log($node);
$node->stop;
done_testing();

END
{
	local $?;
	$_->kill_kill(grace => 0) foreach grep { defined } $broker, $writers, @forwarders;
}
