
# Notifications of overflows: sessions wait for an id.  A session that listens
# is notified while they wait within their transactions, at most once a second,
# and when the wait is over.
# Sessions wait while the table of leases is locked.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $node = start_node('main', allows_streaming => 1, conf => q{
autovacuum = off
max_connections = 50
restart_after_crash = on
sno.lease_duration = 1s
});

# A session that listens; {heard} has the payloads that it received.
sub listener
{
	my ($dbname) = @_;
	my $session = open_session($node, $dbname);
	$session->query_safe('LISTEN sno_overflow');
	$session->{heard} = [];
	return $session;
}

my $listener;

# Wait for a notification whose count meets a condition, a sub; returns its
# payload.
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

# The count in a payload: how many sessions wait.
sub count_of
{
	my ($payload) = @_;
	my ($count)   = $payload =~ /"count": (\d+)/;
	die "no count in $payload" unless defined $count;
	return $count;
}

# Wait for the notification that nobody waits any more.
sub over
{
	my ($who) = @_;
	return wait_for_notification('it is over', sub { $_[0] == 0 }, $who);
}

sub session
{
	my ($dbname, @settings) = @_;
	return open_session($node, $dbname, @settings);
}

# A session that locks the table of leases, until it ends.
sub locker
{
	my $session = session($_[0] // 'postgres');
	$session->query_safe('BEGIN; LOCK TABLE sno_catalog.sno_lease IN EXCLUSIVE MODE');
	return $session;
}

# The setting of a partition that was never leased.
my $partition = 100;
sub fresh { return "sno.partitions = '" . $partition++ . "'"; }

# Start sessions that wait for an id within a transaction.
sub start_waiters
{
	my ($count) = @_;
	my @waiters =
	  map { session('postgres', "sno.max_wait = '1d'", fresh()) } 1 .. $count;
	$_->query_safe('BEGIN') foreach @waiters;
	send_query($_, 'SELECT sno_generate()') foreach @waiters;
	return @waiters;
}

# The background workers that notify.
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
# Eight sessions wait for one of four partitions
#
$listener = listener('postgres');
my $locker = locker();
is(notifiers(), '', 'no notifier runs while no session waits');
my @waiters = start_waiters(8);
wait_for_notification('all eight sessions are counted', sub { $_[0] == 8 });
my ($notifier) = notifiers();
wait_until(
	'one notifier sleeps, without a snapshot or a lock',
	sub {
		$node->safe_psql(
			'postgres',
			"SELECT datname, wait_event_type, backend_xmin, (SELECT count(*) FROM pg_locks WHERE pid = $notifier)
			FROM pg_stat_activity WHERE pid = $notifier"
		) eq '|Extension||0';
	});
close_session($_) foreach $locker;
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
is(scalar(grep { $_ == 0 } @counts),
	1, 'the end of the wait is notified once');
is($counts[-1], 0, 'the end of the wait is the last notification');
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
	'each payload is JSON, and a second lies between two notifications');
like($heard[0], qr/"ticks": 1\}/,
	'the ticks of the first notification are 1');
wait_until_gone();

#
# A notifier that is terminated, and one that is killed
#
$locker  = locker();
@waiters = start_waiters(2);
wait_for_notification('a second wait is notified', sub { $_[0] == 2 });
$notifier = notifiers();
$node->safe_psql('postgres', "SELECT pg_terminate_backend($notifier)");
wait_until('another notifier takes the place of the terminated one',
	sub { notifiers() !~ /^($notifier)?$/ });
$listener->{heard} = [];
wait_for_notification('the new notifier notifies', sub { $_[0] == 2 });

$notifier = notifiers();
is(kill(9, $notifier), 1, 'a notifier is killed with -9');
wait_until('the server has ended all sessions',
	sub { !kill 0, $listener->{pid} });
wait_until('the server is up again',
	sub { defined query_if_up($node, 'SELECT') });
drop_session($_) foreach ($locker, @waiters, $listener);
$listener = listener('postgres');
$locker   = locker();
@waiters  = start_waiters(1);
wait_for_notification('a restarted server notifies', sub { $_[0] == 1 });

#
# A notifier does not wait for a synchronous standby
#
configure($node, 'synchronous_standby_names', 'nobody', $listener);
$listener->{heard} = [];
wait_for_notification('a notification comes without a synchronous standby',
	sub { $_[0] == 1 });
configure($node, 'synchronous_standby_names', '', $listener);
close_session($_) foreach $locker, @waiters;

#
# Notifications switched off, and on again
#
over();
wait_until_gone();
$locker  = locker();
@waiters = start_waiters(1);
wait_for_notification('a wait is notified while notifications are on',
	sub { $_[0] == 1 });
my $offset = -s $node->logfile;
$node->append_conf('postgresql.conf',
	"sno.notify_overflow = off\nlog_min_messages = debug1");
$node->reload;
wait_until_gone();
$listener->query_safe('SELECT 1');
my $late = session('postgres', "sno.max_wait = '300ms'", fresh());
like(
	error_of($late, 'SELECT sno_generate()'),
	qr/^ERROR:  55P03: /m,
	'with notifications off, another session waits without success');
is($listener->query_safe('SELECT 1'),
	'1', 'with notifications off, nothing is notified');
my @started = slurp_file($node->logfile, $offset) =~
  /(starting background worker process "sno overflow notifier")/g;
cmp_ok(scalar @started, '<=', 1,
	'with notifications off, a waiting session does not start notifiers all the time'
);
$node->append_conf('postgresql.conf',
	"sno.notify_overflow = on\nlog_min_messages = warning");
$node->reload;
wait_until('the setting is on',
	sub { $late->query_safe('SHOW sno.notify_overflow') eq 'on' });
$late->query_safe("SET sno.max_wait = '1d'");
send_query($late, 'SELECT sno_generate()');
wait_for_notification('a wait is notified when notifications are on again',
	sub { $_[0] >= 1 });

#
# A database can be dropped, or copied, right after sessions waited there
#
close_session($_) foreach $locker, @waiters, $late;
over();
wait_until_gone();
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
	my $locker = locker($dbname);
	my $waiter = session($dbname, "sno.max_wait = '1d'", fresh());
	send_query($waiter, 'SELECT sno_generate()');
	wait_until('a notifier runs', sub { notifiers() ne '' });
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($waiter->{pid})");
	like(
		(receive($waiter))[1],
		qr/^ERROR:  57014: /m,
		"$statement: before it, a session waits in $dbname");
	close_session($_) foreach $waiter, $locker;
	$node->safe_psql('postgres', $statement);
	pass("$statement: it succeeds");
	wait_until_gone();
}

#
# Several databases at the same time, with one slot for a worker.  The name of a
# generator is in the encoding of its database.
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

wait_for_notification("$_ is notified", sub { $_[0] == 1 }, $there{$_})
  foreach keys %there;
$notifier = notifiers();
like($notifier, qr/^\d+$/, 'one worker notifies several databases');
is( $node->safe_psql(
		'unicode', q{SELECT ok FROM sno_check() WHERE item = 'workers'}
	),
	't',
	'no other notifier was asked for');

end_wait('dropped');
close_session($there{dropped});
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM pg_stat_activity WHERE datname = 'dropped'}),
	0,
	'the notifier is not connected to a database');
$node->safe_psql('postgres', 'DROP DATABASE dropped');

foreach my $dbname ('latin', 'unicode')
{
	my $who  = $there{$dbname};
	my $soon = @{ $who->{heard} } + 3;
	wait_for_notification("$dbname is notified again",
		sub { @{ $who->{heard} } > $soon }, $who);
}
is(notifiers(), $notifier,
	'the notifier goes on when a database was dropped');
foreach my $dbname ('latin', 'unicode')
{
	end_wait($dbname);
	over($there{$dbname});
	is( scalar(
			grep {
				!/"generator": "gr\xc3\xb6\xc3\x9fe", "partition": $partition{$dbname},/
			} @{ $there{$dbname}{heard} }),
		0,
		"$dbname is notified of its own generator only");
	close_session($there{$dbname});
}
wait_until_gone();

#
# No slot for a worker: sessions wait as usual
#
$node->append_conf('postgresql.conf', 'max_worker_processes = 1');
$node->restart;
$node->safe_psql('postgres', 'CREATE EXTENSION sno');
$offset = -s $node->logfile;
$locker = locker();
$listener = listener('postgres');
for (1 .. 2)
{
	my $waiter = session('postgres', "sno.max_wait = '10ms'", fresh());
	like(
		error_of($waiter, 'SELECT sno_generate()'),
		qr/^ERROR:  55P03: could not lock table/m,
		'without a slot for a worker, a session waits as usual');
	close_session($waiter);
}
is($listener->query_safe('SELECT 1'),
	'1', 'without a slot for a worker, nothing is notified');
my @refusals = slurp_file($node->logfile, $offset) =~
  /(LOG:  could not start a background worker to notify of sno overflows)/g;
is(scalar @refusals, 1, 'a missing slot for a worker is logged once');
is( $node->safe_psql(
		'postgres',
		"SELECT ok, hint FROM sno_check() WHERE item = 'workers'"),
	'f|Increase "max_worker_processes". sno_reset_statistics() forgets the refusals. See doc/operations.md#monitoring.',
	'sno_check() tells of the missing slot for a worker');
close_session($_) foreach $listener, $locker;

$node->stop;
done_testing();
