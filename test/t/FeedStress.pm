
# Writers of feeds, and readers that note each row that they are given, while the clock
# steps and the server crashes.  They are clients of pgbench.
#
# The test has the tables "cursor" (reader, last) and "seen" (n, reader, id), with a cursor
# for each reader.

package FeedStress;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run ();
use TestHelpers;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(transaction noting);

# How far the clock steps, in seconds
my $minute = 60;

# A transaction that may pause.  12 % are aborted and 18 % are prepared.  Some of these are
# left to the script of the coordinator, or to the one of a later round.
sub transaction
{
	my ($text) = @_;
	return "\\set pause random(0, 1) * random(0, 60000)\nBEGIN;\n$text\n" . q{
\set fate random(1, 100)
\set gid random(1, 1000000000000)
\if :fate <= 12
ROLLBACK;
\elif :fate <= 14
PREPARE TRANSACTION ':round left :gid';
\elif :fate <= 26
PREPARE TRANSACTION ':round :gid';
\sleep :pause us
COMMIT PREPARED ':round :gid';
\elif :fate <= 30
PREPARE TRANSACTION ':round :gid';
\sleep :pause us
ROLLBACK PREPARED ':round :gid';
\else
COMMIT;
\endif
};
}

# Commits what is left prepared, one after the other, and what a crash left
my $coordinator = q{
SELECT coalesce(min(gid), '') AS gid, count(*) AS count FROM (
	SELECT gid FROM pg_prepared_xacts
	WHERE gid LIKE '% left %' AND prepared < now() - interval '50 ms' OR gid NOT LIKE ':round %'
	ORDER BY random() LIMIT 1) AS s \gset
\sleep 30 ms
\if :count > 0
COMMIT PREPARED ':gid';
\endif
};

# A statement that notes the rows of a query for the reader NAME
sub noting
{
	my ($query) = @_;
	return
	  "WITH fed AS (INSERT INTO seen (reader, id) SELECT 'NAME', id FROM ($query) AS s RETURNING id)\n"
	  . "UPDATE cursor SET last = (SELECT max(id) FROM fed) WHERE reader = 'NAME' AND EXISTS (SELECT FROM fed);\n";
}

# torture and node: where it is.  writers: scripts, each followed by its weight.  readers: by
# name, the protocol of pgbench, settings of the session, and the script, where NAME stands for
# the name.  meanwhile: called again and again while writers write.
sub new
{
	my ($class, %params) = @_;
	my $self = bless {
		%params,
		dir     => PostgreSQL::Test::Utils::tempdir('feed'),
		files   => 0,
		round   => 0,
		reading => {},
	}, $class;
	my @writers = @{ $params{writers} };
	$self->{writing} = [ map { '--file=' . $self->script($writers[ 2 * $_ ]) . "\@$writers[2 * $_ + 1]" }
		  0 .. $#writers / 2 ];
	$self->{coordinator} = '--file=' . $self->script($coordinator);
	foreach my $name (keys %{ $params{readers} })
	{
		my ($protocol, $settings, $text) = @{ $params{readers}{$name} };
		my $file = $self->script($text =~ s/NAME/$name/gr . "\\sleep 10 ms\n");
		$self->{reader}{$name} = [ $settings, "--protocol=$protocol", "--file=$file" ];
	}
	return $self;
}

# A file's name that is new
sub file
{
	my ($self) = @_;
	return "$self->{dir}/" . $self->{files}++;
}

# The name of a script of pgbench with this text
sub script
{
	my ($self, $text) = @_;
	my $file = $self->file;
	append_to_file($file, $text);
	return $file;
}

# Start clients with these settings.
sub pgbench
{
	my ($self, $name, $settings, @arguments) = @_;
	local $ENV{PGAPPNAME} = $name;
	local $ENV{PGOPTIONS} = $settings;
	my $log = $self->file;
	return {
		log => $log,
		run => IPC::Run::start(
			[
				'pgbench', '--no-vacuum', '--random-seed=rand', '--transactions=9999999',
				@arguments, $self->{node}->connstr('postgres')
			],
			'<', '/dev/null', '>', '/dev/null', '2>', $log) };
}

# Stop clients.  They must have met no error.
sub stop
{
	my ($self, $what, @clients) = @_;
	$_->{run}->kill_kill foreach @clients;
	is(join('', map { slurp_file($_->{log}) =~ /^.*ERROR: .*\n/mg } @clients), '', "$what met no error");
	return;
}

sub start_readers
{
	my ($self) = @_;
	$self->{reading}{$_} = $self->pgbench('reader', @{ $self->{reader}{$_} })
	  foreach sort keys %{ $self->{reader} };
	return;
}

sub stop_readers
{
	my ($self) = @_;
	$self->stop('readers', values %{ $self->{reading} });
	return;
}

# How many transactions have written
sub transactions
{
	my ($self) = @_;
	return $self->{node}->safe_psql('postgres', 'SELECT pg_snapshot_xmax(pg_current_snapshot())');
}

sub step_clock
{
	my ($self) = @_;
	my $torture = $self->{torture};
	$torture->set_clock($torture->random($minute * 1000) / 1000);
	return;
}

# Let 16 writers write, 4 of which connect anew for each transaction.  Meanwhile the clock
# may step, and the server may crash.
sub strike
{
	my ($self, $steps, $crash) = @_;
	my $until   = $self->transactions + 2000 + $self->{torture}->random(1000);
	my $round   = '--define=round=' . ++$self->{round};
	my @writing = (
		$self->pgbench('writer', '', $round, '--client=12', '--jobs=2', @{ $self->{writing} }),
		$self->pgbench('writer', '', $round, '--client=4', '--connect', @{ $self->{writing} }),
		$self->pgbench('writer', '', $round, $self->{coordinator}));

	wait_until(
		'writers have written',
		sub {
			$self->step_clock if $steps;
			$self->{meanwhile}->();
			usleep(20_000);
			$self->transactions > $until;
		});
	if ($crash)
	{
		$self->{node}->stop('immediate');
		$self->step_clock if $steps;
		$self->stop_readers;
		$self->{torture}->start_server($self->{node});
		$self->start_readers;
	}
	$self->stop("writers of round $self->{round}", @writing);
	return;
}

# Let readers read while rounds of writers write.  After that nothing is open any more, and
# the clock isn't behind the last id.  Readers go on, so that each arrives there.
sub run
{
	my ($self) = @_;
	my $node   = $self->{node};
	my $ends   = time + 60 * $self->{torture}{minutes};

	note("seed $self->{torture}{seed}");
	$self->start_readers;
	do
	{
		$self->strike(@$_) foreach $self->{torture}->shuffled([ 0, 0 ], [ 1, 0 ], [ 0, 1 ], [ 1, 1 ]);
	} while (time < $ends);

	$node->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'writer'")
	  or die 'writers go on';
	$node->safe_psql('postgres', "COMMIT PREPARED '$_'")
	  foreach split /\n/, $node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
	is($node->safe_psql('postgres', 'SELECT * FROM sno_watermark_blockers()'), '', 'nobody holds a watermark back')
	  or die 'readers would wait forever';
	$self->{torture}->set_clock($minute + 1);
	return;
}

# Wait until a reader arrives at the last row of its table.
sub wait_for_reader
{
	my ($self, $name, $table) = @_;
	$self->{node}->poll_query_until('postgres',
		"SELECT last >= (SELECT max(id) FROM $table) FROM cursor WHERE reader = '$name'")
	  or die "$name: does not arrive at the last row";
	return;
}

# Check what a reader was given; returns how many rows of its table it missed.
sub check_reader
{
	my ($self, $name, $table) = @_;
	my ($missed, $twice, $descents, $strange) = split /\|/,
	  $self->{node}->safe_psql(
		'postgres', qq{
SELECT (SELECT count(*) FROM (SELECT id FROM $table EXCEPT SELECT id FROM seen WHERE reader = '$name') AS e),
	count(*) - count(DISTINCT id),
	count(*) FILTER (WHERE id < before),
	(SELECT count(*) FROM (SELECT id FROM seen WHERE reader = '$name' EXCEPT SELECT id FROM $table) AS e)
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM seen WHERE reader = '$name') AS s});
	is($twice,    0, "$name: was given no row twice");
	is($descents, 0, "$name: was given rows in the order of ids");
	is($strange,  0, "$name: was given only committed rows");
	return $missed;
}

1;
