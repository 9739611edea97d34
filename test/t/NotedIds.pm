
# Ids that clients noted outside of the server as soon as they received them,
# and the checks of all these notes.
#
# A note has the id, the session that received it, and the phase: one life of
# one server.  Over all notes of all phases, whether their transactions were
# committed or not, check() demands:
#
# - No id was issued twice, not even with another metabyte.
# - No two phases used a partition at overlapping times, on whatever side.
# - The sequences of a session ascend on each side of a unit in a partition.

package NotedIds;

use strict;
use warnings;

use IPC::Run ();
use TestHelpers;

sub new
{
	my ($class) = @_;
	my $self = {
		dir      => PostgreSQL::Test::Utils::tempdir('notes'),
		notes    => [],    # [id, session, phase, fate]
		phase    => 0,
		sessions => 0 };
	return bless $self, $class;
}

# Begin a new phase: a server begins a new life.
sub next_phase
{
	my ($self) = @_;
	$self->{phase}++;
	return;
}

# Note the ids that a session received, one a line; returns their number.  $fate
# tells what became of the rows with these ids: "committed", "rolled back", or
# anything else if that is unknown.
sub add
{
	my ($self, $session, $ids, $fate) = @_;
	my @ids = split /\n/, $ids;
	push @{ $self->{notes} },
	  map { [ $_, "$session", $self->{phase}, $fate // '' ] } @ids;
	return scalar @ids;
}

# Start client processes.  Each of them repeats one transaction: it receives
# some ids, and inserts them into a table if one is given.  Every other client
# commits, the others roll back.  A client ends when it loses its connection,
# after its last round, or at an error, unless it has to bear errors.
# Parameters:
#
#	clients		number of clients, 4
#	connstr		where they connect to
#	batch		number of ids in a transaction, 5
#	generator	name of a named generator
#	table		table that the ids are inserted into
#	max_wait	sno.max_wait, 0
#	rounds		number of transactions, without an end
#	bear_errors	go on after errors
sub start_clients
{
	my ($self, $node, $dbname, %params) = @_;
	my $clients  = { phase => $self->{phase}, files => [], runs => [] };
	my $connstr  = $params{connstr}  // $node->connstr($dbname);
	my $batch    = $params{batch}    // 5;
	my $max_wait = $params{max_wait} // 0;
	my $source   = ids_of($batch, $params{generator});
	my $statement =
	  defined $params{table}
	  ? "INSERT INTO $params{table} (id) $source RETURNING id"
	  : $source;

	for my $n (1 .. $params{clients} // 4)
	{
		my $file = "$self->{dir}/client" . $self->{sessions}++;
		my $end  = $n % 2 ? 'COMMIT'    : 'ROLLBACK';
		my $fate = $n % 2 ? 'committed' : 'rolled back';
		$fate = 'done' unless defined $params{table};

		my $round =
		  "SET sno.max_wait = $max_wait; BEGIN; COPY ($statement) TO STDOUT; $end; \\echo $fate";
		my @rounds =
		  defined $params{rounds}
		  ? ('|', [ 'head', '-n', $params{rounds} ])
		  : ();
		push @{ $clients->{files} }, $file;
		push @{ $clients->{runs} },
		  IPC::Run::start(
			[ 'yes', $round ],
			'2>',
			'/dev/null',
			@rounds, '|',
			[   'psql', '-XqAt', '-v',
				'ON_ERROR_STOP=' . ($params{bear_errors} ? 0 : 1),
				"$connstr application_name=client" ],
			'>',
			"$file.out",
			'2>',
			"$file.err");
	}
	return $clients;
}

# Wait until each client has noted more ids.
sub wait_for_notes
{
	my ($self, $clients) = @_;
	my %size = map { $_ => -s "$_.out" // 0 } @{ $clients->{files} };
	wait_until(
		'all clients have noted ids',
		sub {
			!grep { (-s "$_.out" // 0) < $size{$_} + 20_000 }
			  @{ $clients->{files} };
		});
	return;
}

# Wait until the clients have ended, and collect their notes.  Returns the
# number of notes, and the errors of the clients.
sub collect
{
	my ($self,  $clients) = @_;
	my ($noted, $errors)  = (0, '');

	# The clients received their ids in the phase in which they were started.
	local $self->{phase} = $clients->{phase};

	$_->finish foreach @{ $clients->{runs} };
	foreach my $file (@{ $clients->{files} })
	{
		my $ids = '';

		foreach my $line (split /^/, slurp_file("$file.out"))
		{
			if ($line =~ /^(committed|rolled back|done)$/)
			{
				$noted += $self->add($file, $ids, $1);
				$ids = '';
			}

			# A line without an end was cut off by a crash.
			elsif ($line =~ /\n$/)
			{
				$ids .= $line;
			}
		}
		$noted += $self->add($file, $ids);
		$errors .= slurp_file("$file.err");
	}
	return ($noted, $errors);
}

# End the clients by terminating their sessions, and collect their notes.
sub stop_clients
{
	my ($self, $node, $clients) = @_;
	$node->safe_psql('postgres',
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'client'"
	);
	return $self->collect($clients);
}

# Check ids of named generators: phases and sessions share their partition, so
# no id twice is all that holds.
sub check_unique
{
	my ($self, $what) = @_;
	my (%seen, $twice);

	foreach my $note (@{ $self->{notes} })
	{
		my ($unit, $tick_tock, $partition, $sequence) =
		  @{ decode_id($note->[0]) }{qw(unit tick_tock partition sequence)};
		$twice++ if $seen{"$partition/$unit/$tick_tock/$sequence"}++;
	}
	my $noted = @{ $self->{notes} };
	cmp_ok($noted, '>', 0, "$what: $noted ids were noted");
	is($twice // 0, 0, "$what: no id was issued twice");
	return;
}

# Check all notes, as told above.
sub check
{
	my ($self,  $what,     %params) = @_;
	my (%seen,  %span,     %last);
	my ($twice, $overlaps, $descents) = (0, 0, 0);

	foreach my $note (@{ $self->{notes} })
	{
		my ($id, $session, $phase) = @$note;
		my ($unit, $tick_tock, $partition, $sequence) =
		  @{ decode_id($id) }{qw(unit tick_tock partition sequence)};
		my $side = "$partition/$unit/$tick_tock";

		if ($seen{"$side/$sequence"}++)
		{
			diag("$id ($side/$sequence) was issued twice") if !$twice++;
		}

		my $span = $span{$partition}{$phase} //= [ $unit, $unit ];
		$span->[0] = $unit if $unit < $span->[0];
		$span->[1] = $unit if $unit > $span->[1];

		$descents++ if $sequence < ($last{"$side/$session"} // 0);
		$last{"$side/$session"} = $sequence;
	}

	foreach my $partition (keys %span)
	{
		next if !overlapping(values %{ $span{$partition} });
		diag("phases share partition $partition") if !$overlaps++;
	}
	my $noted = @{ $self->{notes} };
	cmp_ok($noted, '>', 0, "$what: $noted ids were noted");
	is($twice,    0, "$what: no id was issued twice");
	is($overlaps, 0, "$what: no two phases share a partition's time");
	is($descents, 0, "$what: each session's sequences ascend");
	return;
}

# Do any two of these [first, last] ranges overlap?
sub overlapping
{
	my @ranges = sort { $a->[0] <=> $b->[0] } @_;
	return
	  scalar grep { $ranges[ $_ - 1 ][1] >= $ranges[$_][0] } 1 .. $#ranges;
}

# Check that the table has each row whose commit a client saw, and no row that
# was rolled back.
sub check_rows
{
	my ($self, $node, $dbname, $table) = @_;
	my $copy = join('',
		map    { "$_->[0]\t$_->[3]\n" }
		  grep { $_->[3] =~ /^(committed|rolled back)$/ }
		  @{ $self->{notes} });
	is( $node->safe_psql(
			$dbname, qq{
CREATE TEMP TABLE noted (id sno, fate text);
COPY noted FROM STDIN;
$copy\\.
SELECT sum((fate = 'committed' AND t.id IS NULL)::int) AS lost,
	sum((fate = 'rolled back' AND t.id IS NOT NULL)::int) AS risen
FROM noted LEFT JOIN $table AS t USING (id);}),
		'0|0',
		'each committed row is there, and none that was rolled back');
	is( $node->safe_psql(
			$dbname, "SELECT count(*) - count(DISTINCT id) FROM $table"),
		0,
		'no two rows have the same id');
	return;
}

# Check that all ids of this phase lie within leases on disk.  This is called
# after a crash and a restart, before anything is generated.
sub check_leases
{
	my ($self, $node, $dbname, $what) = @_;
	my %until = map { split /\|/ } split /\n/,
	  $node->safe_psql($dbname,
			'SELECT partition, max('
		  . unit_of('greatest(tick_until, tock_until)')
		  . ') FROM sno_catalog.sno_lease WHERE kind IN (\'s\', \'g\') GROUP BY partition');
	my ($noted, $outside) = (0, 0);

	foreach my $note (@{ $self->{notes} })
	{
		next if $note->[2] != $self->{phase};
		my $id = decode_id($note->[0]);
		$noted++;
		$outside++ if $id->{unit} > ($until{ $id->{partition} } // -1);
	}
	cmp_ok($noted, '>', 0, "$what: ids were noted");
	is($outside, 0, "$what: all of them lie within leases on disk");
	return;
}

1;
