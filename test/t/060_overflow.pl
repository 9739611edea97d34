
# Notifications that callers have to wait: who listens hears of it while they
# wait inside their transactions, at most once a second, and when it is over.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->append_conf(
	'postgresql.conf', q{
log_statement = none
autovacuum = off
max_connections = 50
restart_after_crash = on
sno.lease_duration = 1s
sno.partitions = '100-103'
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION sno');

# A session that listens, and the payloads that it has heard.
sub listener
{
	my ($dbname) = @_;
	my $session = open_session($node, $dbname);
	$session->query_safe('LISTEN sno_overflow');
	$session->{heard} = [];
	return $session;
}

my $listener;

# Wait until a notification is heard of which the condition, a sub, is true;
# returns its payload.
sub wait_for_notification
{
	my ($what, $condition, $who) = @_;
	my $found;
	$who //= $listener;
	wait_until(
		$what,
		sub {
			my $out = $who->query_safe('SELECT 1');
			while ($out =~
				/notification "sno_overflow" with payload "(\{.*\})"/g)
			{
				push @{ $who->{heard} }, $1;
				$found //= $1 if $condition->(count_of($1));
			}
			return defined $found;
		});
	return $found;
}

sub count_of
{
	my ($payload) = @_;
	my ($count)   = $payload =~ /"count": (\d+)/;
	die "no count in $payload" unless defined $count;
	return $count;
}

sub over
{
	my ($who) = @_;
	return wait_for_notification('it is over', sub { $_[0] == 0 }, $who);
}

# A session that has the setting, and one that has a partition.
sub session
{
	my ($dbname, @settings) = @_;
	return open_session($node, $dbname, @settings);
}

sub owner
{
	my $session = session($_[0] // 'postgres', "sno.max_wait = '1d'");
	$session->query_safe('SELECT sno_generate()');
	return $session;
}

# Sessions that wait for an id, inside a transaction.
sub start_waiters
{
	my ($count) = @_;
	my @waiters =
	  map { session('postgres', "sno.max_wait = '1d'") } 1 .. $count;
	$_->query_safe('BEGIN') foreach @waiters;
	send_query($_, 'SELECT sno_generate()') foreach @waiters;
	return @waiters;
}

sub notifiers
{
	return $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'sno overflow notifier'"
	);
}

sub wait_until_gone
{
	wait_until('the notifier is gone', sub { notifiers() eq '' });
	return;
}

#
# Eight sessions wait for a pool of four partitions
#
$listener = listener('postgres');
my @owners = map { owner() } 1 .. 4;
is(notifiers(), '', 'nothing runs while nobody waits');
my @waiters = start_waiters(8);
wait_for_notification('all of them are counted', sub { $_[0] == 8 });
my ($notifier) = notifiers();
wait_until(
	'one worker notifies, and holds nothing back while it sleeps',
	sub {
		$node->safe_psql(
			'postgres',
			"SELECT datname, wait_event_type, backend_xmin, (SELECT count(*) FROM pg_locks WHERE pid = $notifier)
			FROM pg_stat_activity WHERE pid = $notifier"
		) eq '|Extension||0';
	});
close_session($_) foreach @owners;
wait_for_notification('four of them go on', sub { $_[0] == 4 });

# Those who go on have the partitions now: they leave one after the other.
my %gone;
wait_until(
	'all sessions have an id',
	sub {
		foreach my $n (0 .. $#waiters)
		{
			my $session = $waiters[$n];
			next if $gone{$n} || !has_answered($session);
			my ($out, $err) = receive($session);
			like($out, qr/^[2-9a-x]{16}$/, "session $n has an id");
			close_session($session);
			$gone{$n} = 1;
		}
		return keys %gone == @waiters;
	});
over();

my @heard  = @{ $listener->{heard} };
my @counts = map { count_of($_) } @heard;
is(scalar(grep { $_ == 0 } @counts), 1, 'the end is notified once');
is($counts[-1],                      0, 'and last');
my $heard = join(',', map { "'$_'" } @heard);
is( $node->safe_psql(
		'postgres', qq{
SELECT count(*), bool_and(payload ?& '{generator, partition, time, count, ticks}'),
    count(payload->>'generator'), count(payload->>'partition'),
    bool_and(since >= 0.999), bool_and(ticks_since >= 999)
FROM (
    SELECT payload,
        extract(epoch FROM (payload->>'time')::timestamptz - lag((payload->>'time')::timestamptz) OVER w) AS since,
        (payload->>'ticks')::bigint - lag((payload->>'ticks')::bigint) OVER w AS ticks_since
    FROM unnest(ARRAY[$heard]::jsonb[]) WITH ORDINALITY AS n (payload, n)
    WINDOW w AS (ORDER BY n)) AS n}),
	@heard . '|t|0|0|t|t',
	'each payload is JSON, and a second lies between any two');
like($heard[0], qr/"ticks": 1\}/, 'ticks begin at one');
wait_until_gone();

#
# Again, with a notifier that is terminated, and one that is killed
#
@owners  = map { owner() } 1 .. 4;
@waiters = start_waiters(2);
wait_for_notification('it begins again', sub { $_[0] == 2 });
$notifier = notifiers();
$node->safe_psql('postgres', "SELECT pg_terminate_backend($notifier)");
wait_until('another one takes its place',
	sub { notifiers() !~ /^($notifier)?$/ });
$listener->{heard} = [];
wait_for_notification('and notifies', sub { $_[0] == 2 });

$notifier = notifiers();
is(kill(9, $notifier), 1, 'a notifier is killed');
wait_until('the server has noticed', sub { !kill 0, $listener->{pid} });
wait_until('the server is up again',
	sub { defined query_if_up($node, 'SELECT') });
drop_session($_) foreach (@owners, @waiters, $listener);
$listener = listener('postgres');
@owners   = map { owner() } 1 .. 4;
@waiters  = start_waiters(1);
wait_for_notification('a restarted server notifies', sub { $_[0] == 1 });

#
# No synchronous standby is waited for
#
configure($node, 'synchronous_standby_names', 'nobody', $listener);
$listener->{heard} = [];
wait_for_notification('no standby is waited for', sub { $_[0] == 1 });
configure($node, 'synchronous_standby_names', '', $listener);
close_session($_) foreach @owners, @waiters;

#
# Switched off, and on again
#
over();
wait_until_gone();
@owners  = map { owner() } 1 .. 4;
@waiters = start_waiters(1);
wait_for_notification('it is switched on', sub { $_[0] == 1 });
my $offset = -s $node->logfile;
$node->append_conf('postgresql.conf',
	"sno.notify_overflow = off\nlog_min_messages = debug1");
$node->reload;
wait_until_gone();
$listener->query_safe('SELECT 1');
my $late = session('postgres', "sno.max_wait = '300ms'");
like(
	error_of($late, 'SELECT sno_generate()'),
	qr/^ERROR:  53400: /m,
	'another session waits in vain');
is($listener->query_safe('SELECT 1'),
	'1', 'nothing is notified when it is switched off');
my @started = slurp_file($node->logfile, $offset) =~
  /(starting background worker process "sno overflow notifier")/g;
cmp_ok(scalar @started,
	'<=', 1,
	'nor does a session that waits since before ask for it again and again');
$node->append_conf('postgresql.conf',
	"sno.notify_overflow = on\nlog_min_messages = warning");
$node->reload;
wait_until('the setting is known',
	sub { $late->query_safe('SHOW sno.notify_overflow') eq 'on' });
$late->query_safe("SET sno.max_wait = '1d'");
send_query($late, 'SELECT sno_generate()');
wait_for_notification('it is switched on again', sub { $_[0] >= 1 });

#
# A database can be dropped, or copied, right after sessions had to wait there
#
close_session($_) foreach @owners, @waiters, $late;
over();
wait_until_gone();
$node->append_conf('postgresql.conf', "sno.partitions = '200'");
$node->restart;
foreach my $statement (
	'CREATE DATABASE copy TEMPLATE brief',
	'DROP DATABASE brief',
	'DROP EXTENSION sno')
{
	my $dbname = $statement =~ /brief/ ? 'brief' : 'postgres';
	$node->safe_psql('postgres', 'CREATE DATABASE brief')
	  if $statement =~ /^CREATE/;
	$node->safe_psql('brief', 'CREATE EXTENSION sno')
	  if $statement =~ /^CREATE/;
	my $owner  = owner($dbname);
	my $waiter = session($dbname, "sno.max_wait = '1d'");
	send_query($waiter, 'SELECT sno_generate()');
	wait_until('it is being notified', sub { notifiers() ne '' });
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($waiter->{pid})");
	like(
		(receive($waiter))[1],
		qr/^ERROR:  57014: /m,
		"$dbname: a session waits in vain");
	close_session($_) foreach $waiter, $owner;
	$node->safe_psql('postgres', $statement);
	pass($statement);
	wait_until_gone();
}

#
# Several databases at once, with one slot for a worker.  The name is in the
# encoding of its database.
#
$node->append_conf('postgresql.conf', 'max_worker_processes = 2');
$node->restart;
my %encoding  = (latin => 'LATIN1', unicode => 'UTF8', dropped => 'UTF8');
my %partition = (latin => 7,        unicode => 8,      dropped => 9);
my (%waiter, %there);
foreach my $dbname (keys %encoding)
{
	$node->safe_psql('postgres',
		"CREATE DATABASE $dbname TEMPLATE template0 LOCALE 'C' ENCODING $encoding{$dbname}"
	);
	$node->safe_psql($dbname,
		"CREATE EXTENSION sno; SELECT sno_create_generator(U&'gr\\00F6\\00DFe', $partition{$dbname}, 10, 13)"
	);
	$there{$dbname} = listener($dbname);
	$there{$dbname}->query_safe(q{SET client_encoding = 'UTF8'});
	$waiter{$dbname} = session($dbname, "sno.max_wait = '1d'");
	send_query($waiter{$dbname},
		q{SELECT count(sno_generate(0, U&'gr\00F6\00DFe')) FROM generate_series(1, 1000000)}
	);
}

sub end_wait
{
	my ($dbname) = @_;
	$node->safe_psql('postgres',
		"SELECT pg_cancel_backend($waiter{$dbname}{pid})");
	receive($waiter{$dbname});
	close_session($waiter{$dbname});
	return;
}

wait_for_notification("$_ hears of it", sub { $_[0] == 1 }, $there{$_})
  foreach keys %there;
$notifier = notifiers();
like($notifier, qr/^\d+$/, 'one worker notifies several databases');
is( $node->safe_psql(
		'unicode', q{SELECT ok FROM sno_check() WHERE item = 'notifications'}
	),
	't',
	'no other one was asked for');

end_wait('dropped');
close_session($there{dropped});
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM pg_stat_activity WHERE datname = 'dropped'}),
	0,
	'it is connected to none of them');
$node->safe_psql('postgres', 'DROP DATABASE dropped');

foreach my $dbname ('latin', 'unicode')
{
	my $who  = $there{$dbname};
	my $soon = @{ $who->{heard} } + 3;
	wait_for_notification("$dbname hears more",
		sub { @{ $who->{heard} } > $soon }, $who);
}
is(notifiers(), $notifier, 'it goes on when a database was dropped');
foreach my $dbname ('latin', 'unicode')
{
	end_wait($dbname);
	over($there{$dbname});
	is( scalar(
			grep {
				!/"generator": "gr\xc3\xb6\xc3\x9fe", "partition": $partition{$dbname},/
			} @{ $there{$dbname}{heard} }),
		0,
		"$dbname has heard of its own generator alone");
	close_session($there{$dbname});
}
wait_until_gone();

#
# No slot for a worker: callers don't notice
#
$node->append_conf('postgresql.conf', 'max_worker_processes = 1');
$node->restart;
$node->safe_psql('postgres', 'CREATE EXTENSION sno');
$offset = -s $node->logfile;
my $owner = owner();
$listener = listener('postgres');
for (1 .. 2)
{
	my $waiter = session('postgres', "sno.max_wait = '10ms'");
	like(
		error_of($waiter, 'SELECT sno_generate()'),
		qr/^ERROR:  53400: no partition was free/m,
		'a session waits without a notifier');
	close_session($waiter);
}
is($listener->query_safe('SELECT 1'), '1', 'nothing is notified');
my @complaints = slurp_file($node->logfile, $offset) =~
  /(LOG:  could not start a background worker to notify of sno overflows)/g;
is(scalar @complaints, 1, 'that is logged once');
is( $node->safe_psql(
		'postgres',
		"SELECT ok, hint FROM sno_check() WHERE item = 'notifications'"),
	'f|Increase "max_worker_processes". sno_generators_reset() forgets the refusals.',
	'and told by sno_check()');
close_session($_) foreach $listener, $owner;

$node->stop;
done_testing();
