
# Programs in all languages that make ids, beside sessions, while one fault after the other
# strikes them: programs and the server are killed, programs are stopped and go on, clocks
# step, and all partitions are given up.  Programs have loans of 100 ms, and blocks.  Two of
# them fork.  Afterwards no id was made twice, each is within a loan of the program that made
# it, and nobody else made ids there.
#
# script/test clients runs this.  With TORTURE_MINUTES, faults strike for that time, in an
# order that TORTURE_SEED gives.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../test/t";

use IPC::Run ();
use POSIX ();
use TestHelpers;
use Time::HiRes qw(time);
use Torture;

my $clients = $FindBin::RealBin;
my $dir     = PostgreSQL::Test::Utils::tempdir('applications');
my $torture = Torture->new;

my $node = start_node('main', clock => $torture, conf => q{
listen_addresses = '127.0.0.1'
max_connections = 200
sno.lease_duration = 1s
});

# What runs make_ids in each language.  In Go and Java this builds it first; afterwards, what
# was built there is run again.
my %command = (
	python     => [ '/usr/bin/python3', '-B',                        "$clients/python/test/make_ids.py" ],
	javascript => [ 'node',             "$clients/javascript/test/make_ids.js" ],
	ruby       => [ '/usr/bin/ruby',    "$clients/ruby/test/make_ids.rb" ],
	go   => [ "$clients/go/test/run_go",     "$clients/go/test/make_ids.go" ],
	java => [ "$clients/java/test/run_java", "$clients/java/test/make_ids.java" ]);
# Packages of npm need a network.
delete $command{javascript} if system(q{node -e "require('pg')" 2>/dev/null});
my @languages = sort keys %command;
my %again     = (go => ['./test'], java => [ 'java', '-cp', 'classes:/usr/share/java/postgresql.jar', 'Main' ]);

#
# Programs and sessions
#

$ENV{CLIENTS}    = $clients;
$ENV{GOCACHE} //= "$dir/cache";
$ENV{PYTHONPATH} = "$clients/python";
$ENV{PGDATABASE} = 'postgres';
$ENV{PGSSLMODE}  = 'disable';
$ENV{PGUSER}     = $node->safe_psql('postgres', 'SELECT current_user');
$ENV{PGHOST}     = '127.0.0.1';
$ENV{PGPORT}     = $node->port;
Torture::set_own_clock("$dir/$_.clock", 0) foreach @languages;
my %program;    # by language: pid, and file with what it made
my @files;      # of all programs, also of those that were killed
my $starts = 0;

sub start_program
{
	my ($language) = @_;
	my $folder  = "$dir/$language";
	my $file    = "$folder/made" . $starts++;
	my @command = @{ $command{$language} };

	@command = @{ $again{$language} } if !mkdir($folder) && $again{$language};
	append_to_file($file, '');
	push @files, $file;
	defined(my $pid = fork) or die "fork: $!";
	if ($pid == 0)
	{
		# A group of its own, which a kill reaches with all that the program forked
		POSIX::setpgid(0, 0);
		chdir $folder or POSIX::_exit(1);
		open STDIN,  '<', '/dev/null';
		open STDOUT, '>>', "$folder.out";
		open STDERR, '>&', \*STDOUT;
		# Go reads the clock without libc.
		$ENV{ $language eq 'go' ? 'MAKE_IDS_CLOCK' : 'FAULTS' } = "$dir/$language.clock";
		$ENV{LD_PRELOAD} = Torture::build('faults.so') if $language ne 'go';
		$ENV{MAKE_IDS_SEQUENCES} = 65536 if $starts % 3 == 0;
		exec(@command, $file, 1_000_000) or POSIX::_exit(1);
	}
	$program{$language} = { pid => $pid, file => $file };
	return;
}

sub kill_program
{
	my ($language) = @_;
	my $pid = $program{$language}{pid};
	kill 'KILL', -$pid;
	waitpid $pid, 0;
	return;
}

# None may outlive the test.
my $test = $$;
END
{
	kill 'KILL', map { -$_->{pid} } values %program if $$ == $test;
}

# Sessions that note the ids that they get.  They end with the server.
my @sessions;

sub start_sessions
{
	foreach my $n (1 .. 3)
	{
		my $file = "$dir/session" . $starts++;
		push @files, $file;
		push @sessions,
		  {
			file => $file,
			run  => IPC::Run::start(
				[ 'yes', q{COPY (SELECT 'session 0 ' || sno_generate(1) FROM generate_series(1, 20)) TO STDOUT; \! sleep 0.02} ],
				'2>', '/dev/null', '|',
				[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', $node->connstr('postgres') ],
				'>', $file, '2>', "$file.err") };
	}
	return;
}

sub end_sessions
{
	$_->{run}->kill_kill foreach @sessions;
	@sessions = ();
	return;
}

# Wait until each program and session has made more ids.
sub get_on
{
	my @growing = map { $_->{file} } values %program, @sessions;
	my %size = map { $_ => -s $_ // 0 } @growing;
	foreach my $file (@growing)
	{
		wait_until("$file grows", sub { (-s $file // 0) >= $size{$file} + 5000 });
	}
	return;
}

#
# Faults
#

sub set_clocks
{
	my ($seconds, @of) = @_;
	Torture::set_own_clock("$dir/$_.clock", $seconds) foreach @of;
	return;
}

# Clocks of programs are set again and again, and then right.
sub step_clocks
{
	my (@steps) = @_;
	foreach my $n (1 .. 10)
	{
		set_clocks($torture->one_of(@steps), $torture->one_of(@languages));
		Time::HiRes::sleep(0.05);
	}
	set_clocks(0, @languages);
	return;
}

sub server_goes
{
	my ($go) = @_;
	$go->();
	end_sessions();
	$torture->start_server($node);
	start_sessions();
	return;
}

my %fault = (
	(   map {
			my $language = $_;
			"$language is killed" => sub { kill_program($language); start_program($language); },
			  "$language is stopped for a while" => sub {
				kill 'STOP', -$program{$language}{pid};
				Time::HiRes::sleep(0.3);
				kill 'CONT', -$program{$language}{pid};
			  }
		} @languages),
	'clocks step by parts of a loan' => sub { step_clocks(-0.06, -0.02, -0.004, 0, 0.004, 0.02, 0.06) },
	'clocks step by an hour'         => sub { step_clocks(-3600, 0, 0, 3600) },
	'the server is killed'    => sub { server_goes(sub { kill_postmaster($node) }) },
	'the server is restarted' => sub { server_goes(sub { $node->stop('fast') }) },
	'the clock of the server steps' => sub {
		$torture->set_clock($torture->one_of(-60, 60));
		Time::HiRes::sleep(0.5);
		$torture->set_clock(0);
	},
	'sno_reseed()' => sub { $node->safe_psql('postgres', 'SELECT sno_reseed()') });

# What is built comes first: the others would take its time.
foreach my $language (sort { ($again{$b} ? 1 : 0) <=> ($again{$a} ? 1 : 0) } @languages)
{
	start_program($language);
	get_on();
}
start_sessions();
get_on();
my $until = time + 60 * $torture->{minutes};
my %struck;
note("seed $torture->{seed}");
do
{
	foreach my $name ($torture->shuffled(sort keys %fault))
	{
		last if $torture->{minutes} && time > $until;
		note($name);
		$fault{$name}->();
		get_on();
		$struck{$name}++;
	}
} while (time < $until);
kill_program($_) foreach @languages;
end_sessions();
note("$_: $struck{$_} times") foreach sort keys %struck;

#
# What they made
#

# Only what a kill cut off isn't a whole line.
my $session = open_session($node, 'postgres');
$session->query_safe(
	q{CREATE TABLE line (kind text, pid int, id sno, language text);
CREATE TABLE loan (pid int, partition int, floor bigint, first int, last int, until bigint)});
foreach my $file (@files)
{
	my ($language) = $file =~ m{([a-z]+)/made\d+$};
	$session->query_safe(
		"ALTER TABLE line ALTER language SET DEFAULT '" . ($language // 'none') . "';
		 COPY line (kind, pid, id) FROM PROGRAM 'grep -Ex ''(id|made|session) [0-9]+ [2-9a-x]{16}'' $file || true' DELIMITER ' ';
		 COPY loan FROM PROGRAM 'sed -nE ''s/^loan (([0-9]+ ){5}[0-9]+)\$/\\1/p'' $file' DELIMITER ' '");
}
$session->query_safe(
	'CREATE TABLE made AS SELECT language, kind, pid, id, sno_partition(id) AS partition, sno_sequence(id) AS sequence, '
	  . unit_of('sno_timestamp(id)')
	  . ' AS unit FROM line; ANALYZE made; ANALYZE loan');

my $repeated = q{SELECT count(*) - count(DISTINCT overlay(id::bytea PLACING '\x00' FROM 6 FOR 1)) FROM made};
my $within   = q{loan.partition = made.partition AND unit > floor AND unit <= until AND sequence BETWEEN first AND last};
my $outside =
  "SELECT count(*) FROM made WHERE kind = 'id' AND NOT EXISTS (SELECT FROM loan WHERE loan.pid = made.pid AND $within)";
my $intruders = "SELECT count(*) FROM made JOIN loan ON $within WHERE kind <> 'id'";
my $overlaps =
  q{SELECT count(*) FROM loan AS a JOIN loan AS b USING (partition)
	WHERE a.ctid < b.ctid AND a.first <= b.last AND b.first <= a.last AND a.floor < b.until AND b.floor < a.until};

is($session->query_safe($repeated),  0, 'no id was made twice');
is($session->query_safe($outside),   0, 'each id is within a loan of its program');
is($session->query_safe($intruders), 0, 'none of a block or a session is in a loan');
is($session->query_safe($overlaps),  0, 'no two loans meet');
foreach my $language (@languages)
{
	my $count = $session->query_safe("SELECT count(*) FROM made WHERE language = '$language'");
	cmp_ok($count, '>', 1000, "$language made $count ids");
}
note($session->query_safe(
		q{SELECT format('%s ids: %s of loans, %s of blocks, %s of sessions; %s loans, of which %s slices', count(*),
	count(*) FILTER (WHERE kind = 'id'), count(*) FILTER (WHERE kind = 'made'), count(*) FILTER (WHERE kind = 'session'),
	(SELECT count(*) FROM loan), (SELECT count(*) FROM loan WHERE last < 65535)) FROM made}));

# The checks find what is planted.
$session->query_safe(
	q{BEGIN; INSERT INTO made SELECT * FROM made WHERE kind = 'session' LIMIT 1;
	INSERT INTO made SELECT language, kind, pid, sno_zero(), partition, sequence, unit + 100000000 FROM made WHERE kind = 'id' LIMIT 1;
	INSERT INTO made SELECT language, 'made', pid, id, partition, sequence, unit FROM made WHERE kind = 'id' LIMIT 1;
	INSERT INTO loan SELECT * FROM loan LIMIT 1});
is($session->query_safe($repeated),  2, 'planted: two ids that were made before');
is($session->query_safe($outside),   1, 'planted: one outside of a loan');
cmp_ok($session->query_safe($intruders), '>', 0, 'planted: one in the loan of another program');
is($session->query_safe($overlaps),  1, 'planted: two loans that meet');
close_session($session);
$node->stop;
done_testing();
