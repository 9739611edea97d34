
# A registry that is hostile or broken: whatever it sends, or doesn't, the client refuses
# it soon, takes little memory, and is never in the way of those who end it or drop a
# database.  The same holds for a resolver that doesn't answer.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IO::Socket::INET;
use POSIX ();
use TestHelpers;
use Time::HiRes qw(sleep);

my $dir     = PostgreSQL::Test::Utils::tempdir('registry');
my $library = "$dir/resolver.so";
system_or_bail('cc', '-shared', '-fPIC', '-o', $library,
	"$FindBin::RealBin/../torture/resolver.c", '-ldl');

#
# The registry: it speaks just enough of the protocol.
#

sub message { return $_[0] . pack('N', length($_[1] // '') + 4) . ($_[1] // ''); }

sub columns
{
	my ($count) = @_;
	return message('T',
		pack('n', $count) . join '', map { "c$_\0" . pack('NnNnNn', 0, 0, 25, 65535, 0xffffffff, 0) } 1 .. $count);
}

sub row
{
	my @values = @_;
	return message('D',
		pack('n', scalar @values) . join '', map { defined $_ ? pack('N/a*', $_) : pack('N', 0xffffffff) } @values);
}
sub notice { return message('N', "SNOTICE\0VNOTICE\0C00000\0M$_[0]\0\0"); }
sub failure { return message('E', "SERROR\0VERROR\0CXX000\0M$_[0]\0\0"); }

my $ready = message('Z', 'I');
my $parsed = message('1') . message('2');
my $done  = message('C', "SELECT 1\0");
my $form  = columns(8);
my $forged = "x\n2026-11-23 10:00:00.000 UTC [1] LOG:  forged";

# A row that makes sense
sub good
{
	my $now = int((time - 1262304000) * 250);
	return ('granted', 0, 65535, $now, 1024, 1087, 0, $now + 900000);
}

# What it sends to a request: [first, what follows again and again, pause], by mode
my %sends = (
	good     => sub { $parsed . $form . row(good()) . $done . $ready },
	copy_out => sub { $parsed . $form . row(good()) . $done . message('H', pack('Cn', 0, 0)) . $ready },
	copy_in  => sub { $parsed . $form . row(good()) . $done . message('G', pack('Cn', 0, 0)) . $ready },
	copy     => sub { $parsed . message('H', pack('Cn', 0, 0)) . $ready },
	empty    => sub { $parsed . message('I') . $ready },
	columns  => sub { $parsed . columns(3) . row(1, 2, 3) . $done . $ready },
	no_rows  => sub { $parsed . $form . message('C', "SELECT 0\0") . $ready },
	garbage  => sub { 'garbage' x 1000 },
	close    => sub { '' },
	status   => sub { $parsed . $form . row($forged, (good())[ 1 .. 7 ]) . $done . $ready },
	range    => sub { $parsed . $form . row('range', 0, 65535, (good())[3], (undef) x 4) . $done . $ready },
	bytes    => sub { failure("bad \xff\xfe\xc3(") . $ready },
	forged   => sub { notice($forged) . failure($forged) . $ready },
	error    => sub { failure('e' x 1_000_000) . $ready },
	big_rows => sub { ($parsed . $form, row('x' x 1_000_000, (undef) x 7)) },
	rows     => sub { ($parsed . $form, row(good()) x 1000) },
	length   => sub { ($parsed . 'D' . pack('N', 0x7fffffff), 'x' x 1_000_000) },
	notices  => sub { ('', notice('x' x 1_000_000)) },
	notifies => sub { ('', message('A', pack('N', 1) . "c\0" . 'p' x 7000 . "\0") x 100) },
	results  => sub { ($parsed, ($form . row(good()) . $done) x 1000) },
	drip     => sub { ($parsed . $form, row(good()), 0.05) });

# Nothing of the test's end is run in other processes.
sub finish { POSIX::_exit(0); }

sub receive_bytes
{
	my ($client, $count) = @_;
	my $bytes = '';
	while (length $bytes < $count)
	{
		sysread($client, $bytes, $count - length $bytes, length $bytes) or finish();
	}
	return $bytes;
}
sub send_bytes { syswrite($_[0], $_[1]) // finish(); return; }

sub mode { return -e "$dir/mode" ? slurp_file("$dir/mode") : 'good'; }

# Serve a client: it asks for a schema, and then for grants.
sub serve
{
	my ($client) = @_;
	my $first = receive_bytes($client, unpack('N', receive_bytes($client, 4)) - 4);
	if ($first =~ /^\x04\xd2\x16/)
	{
		send_bytes($client, 'N');
		receive_bytes($client, unpack('N', receive_bytes($client, 4)) - 4);
	}
	if (mode() eq 'hash')
	{
		send_bytes($client, message('R', pack('N', 10) . "SCRAM-SHA-256\0\0"));
		my $answer = receive_bytes($client, 5);
		$answer = receive_bytes($client, unpack('xN', $answer) - 4);
		my ($nonce) = $answer =~ /r=(.*)/s;
		send_bytes($client, message('R', pack('N', 11) . "r=${nonce}x,s=c2FsdA==,i=2147483647"));
		receive_bytes($client, 1);
		finish();
	}
	send_bytes($client,
		message('R', pack('N', 0)) . message('S', "client_encoding\0SQL_ASCII\0") . $ready);
	my $statement = '';
	for (;;)
	{
		my ($kind, $length) = unpack 'aN', receive_bytes($client, 5);
		my $body = receive_bytes($client, $length - 4);
		$statement = $body if $kind eq 'P';
		finish() if $kind eq 'X';
		next if $kind ne 'S';
		if ($statement =~ /quote_ident/)
		{
			send_bytes($client, $parsed . columns(1) . row('public') . $done . $ready);
			next;
		}
		my $mode = mode();
		append_to_file("$dir/served", "$mode\n");
		my ($begin, $again, $pause) = $sends{$mode}->();
		send_bytes($client, $begin) if $begin ne '';
		finish() if $mode eq 'close';
		while (defined $again)
		{
			send_bytes($client, $again);
			sleep $pause if $pause;
		}
	}
}

my $listener = IO::Socket::INET->new(
	LocalAddr => '127.0.0.1',
	Listen    => 50) or die $!;
my $port = $listener->sockport;
my $pid  = fork() // die $!;
if ($pid == 0)
{
	local $SIG{CHLD} = 'IGNORE';
	local $SIG{PIPE} = 'DEFAULT';
	local $SIG{TERM} = 'DEFAULT';
	while (my $client = $listener->accept)
	{
		my $child = fork() // next;
		if ($child == 0)
		{
			eval { serve($client) };
			finish();
		}
		close $client;
	}
	finish();
}
END { kill 'TERM', $pid if $pid; }

my $node = new_node('node');
my $to_fake = "host=127.0.0.1 port=$port user=asker password=secret dbname=postgres sslmode=disable gssencmode=disable";
$node->append_conf('postgresql.conf', "restart_after_crash = on\nsno.registry = '$to_fake'\n");
{
	local $ENV{LD_PRELOAD} = $library;
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION sno');

sub set_mode
{
	my ($mode) = @_;
	append_to_file("$dir/mode.new", $mode);
	rename "$dir/mode.new", "$dir/mode" or die;
	return;
}

# Make somebody ask.
sub ask { return ($node->psql($_[0] // 'postgres', "SET sno.max_wait = '10ms'; SELECT sno_generate()"))[0] == 0; }

my $clients = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'sno registry client'};

# What the last attempt since a time failed of, if there was one
sub failure_since
{
	my ($since) = @_;
	return $node->safe_psql('postgres',
		qq{SELECT m[2] FROM sno_check(), regexp_match(detail, 'The last attempt, at ([^,]*), failed: (.*)') AS m
WHERE item = 'registry' AND m[1]::timestamptz > '$since'});
}

sub now { return $node->safe_psql('postgres', 'SELECT clock_timestamp()'); }

# The pids of the client and of its child process, in the middle of an attempt for a database.  An
# attempt ends by itself after a while: then somebody asks again.
sub client_and_child
{
	my ($what, $dbname) = @_;
	my ($client, $child);
	wait_until(
		"$what: the client has a process that talks to it",
		sub {
			ask($dbname);
			$client = $node->safe_psql('postgres', $clients);
			($child) = map { (split ' ')[0] } grep { /^\d+\s+$client$/ } split /\n/, qx(ps -e -o pid=,ppid= | sed 's/^ *//');
			return defined $child;
		});
	return ($client, $child);
}

# The database drops, and the client ends, in whatever it is.
sub does_not_hang
{
	my ($what) = @_;
	$node->safe_psql('postgres', 'CREATE DATABASE dropped TEMPLATE postgres');
	client_and_child($what, 'dropped');
	$node->safe_psql('postgres', 'DROP DATABASE dropped');
	pass("$what: a database is dropped meanwhile");
	my ($client, $child) = client_and_child($what, 'postgres');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($client)");
	wait_until("$what: the client ends", sub { $node->safe_psql('postgres', $clients) ne $client });
	wait_until("$what: its process ends", sub { !kill 0, $child });
	pass("$what: the client can be ended");
	return;
}

# Ended in one of the ways that tells why.  On a busy machine, an attempt may last as long as it
# may before it takes too much of anything else.
my $nonsense = qr/^could not ask the registry: it did not return rows$/;
my $too_much = qr/^could not ask the registry: .*(memory|it sends too much|takes too much time)|^could not ask the registry within \d+ ms$/;
my %failure = (
	copy_out => qr/^could not ask the registry: /,
	copy_in  => qr/^could not ask the registry: /,
	copy     => qr/^could not ask the registry: /,
	empty    => $nonsense,
	columns  => qr/^invalid answer from the registry: unexpected number of rows or columns$/,
	no_rows  => qr/^invalid answer from the registry: unexpected number of rows or columns$/,
	garbage  => qr/^could not ask the registry: /,
	close    => qr/^could not ask the registry: server closed the connection unexpectedly/,
	status   => qr/^invalid answer from the registry: x 2026-11-23 .*forged$/,
	range    => qr/^invalid answer from the registry: range$/,
	bytes    => qr/^could not ask the registry: ERROR:  bad \?\?\?\($/,
	forged   => qr/^could not ask the registry: ERROR:  x 2026-11-23 .*forged$/,
	error    => qr/^could not ask the registry: ERROR:  e{150,300}$/,
	big_rows => $too_much,
	rows     => $too_much,
	length   => $too_much,
	notices  => $too_much,
	notifies => $too_much,
	results  => $nonsense,
	hash     => qr/^could not connect to the registry(?:: its answer takes too much time| within \d+ ms)$/);

foreach my $mode (sort keys %failure)
{
	my $since = now();
	my $found = '';
	set_mode($mode);
	wait_until(
		"$mode is refused",
		sub {
			ask();
			$found = failure_since($since);
			return $mode eq 'hash' ? $found =~ /takes|within/ : $found ne '' && -e "$dir/served" && slurp_file("$dir/served") =~ /^$mode$/m;
		});
	like($found, $failure{$mode}, "$mode is refused");
	unlike($found, qr/[^ -~]/, "$mode: the reason is printable");
}

set_mode('drip');
does_not_hang('an answer that never ends');

my $log = slurp_file($node->logfile);
unlike($log, qr/^(?!.*(could not ask|invalid answer from)).*forged/m, 'no line of the log is forged');
cmp_ok(length $log, '<', 1_000_000, 'the log is small');

# A resolver that doesn't answer
set_mode('good');
configure($node, 'sno.registry', 'host=registry.example user=asker');
wait_until('there is another setting', sub { $node->safe_psql('postgres', 'SHOW sno.registry') =~ /example/ });
does_not_hang('a host name that is not resolved');
check_log($node);

# When the client is killed, its process ends by a timer, which the resolver shortens.  The
# postmaster inherits the process, and doesn't take its end for a crash.
configure($node, 'sno.registry', 'host=orphan.example user=asker');
wait_until('there is another setting', sub { $node->safe_psql('postgres', 'SHOW sno.registry') =~ /orphan/ });
my ($client, $child) = client_and_child('killed', 'postgres');
crash_and_recover($node, sub { kill 'KILL', $client });
wait_until('the process of a killed client ends', sub { !kill 0, $child });
is($node->safe_psql('postgres', 'SELECT 1'), 1, 'the process of a killed client ends by its timer');
is(() = slurp_file($node->logfile) =~ /LOG:  terminating any other active server processes/g, 1, 'with status 0');

# The next host is tried, by name.
configure($node, 'sno.registry', $to_fake =~ s/host=127.0.0.1 port=/host=localhost,localhost port=1,/r);
wait_until('it answers', sub { ask() });
pass('names are resolved, and one of several hosts answers');

# A client that was started with the server stays, but its attempt can be canceled.
$node->stop;
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = 'sno'\nsno.registry = 'host=registry.example user=asker'\n");
{
	local $ENV{LD_PRELOAD} = $library;
	$node->start;
}
($client, $child) = client_and_child('canceled', 'postgres');
kill 'INT', $client;
wait_until('the process of a canceled attempt ends', sub { !kill 0, $child });
is($node->safe_psql('postgres', $clients), $client, 'a canceled attempt ends, and the client stays');
$node->stop;
done_testing();
