
# Generators of the Go package muyo/sno that go on in PostgreSQL.  Their
# snapshots are restored at several times of the server's clock.  No id is
# issued again that a Go generator issued before, or may have issued until then.
#
# test/vectors/go_snapshots.tsv has what three Go generators did.  A line has
# the first and the last one of ids that differ only in their sequences, or it
# is a snapshot.  The three snapshots were taken within a unit, in an exhausted
# unit, and 36 ms after the clock stepped back by 120 ms.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use List::Util qw(max);
use NotedIds;
use TestHelpers;
use Time::HiRes qw(time);
use Torture;

# The time at which a unit begins
sub time_of { return 1262304000 + $_[0] / 250; }

# What each Go generator did, by partition
my %go;
foreach (split /\n/,
	slurp_file("$FindBin::RealBin/../vectors/go_snapshots.tsv"))
{
	if (my ($high, $low) = /"partition":\[(\d+),(\d+)\]/)
	{
		my $generator = $go{ $high << 8 | $low };
		$generator->{snapshot} = $_;
		@$generator{qw(min max)} = /"sequenceM..":(\d+)/g;
		($generator->{taken})   = /"now":(\d+)/;
		($generator->{drifted}) = /"drifts":(\d+)/;
		next;
	}
	my ($first, $last) = map { decode_id($_) } split /\t/;
	my $generator = $go{ $first->{partition} } //= {};
	push @{ $generator->{runs} },
	  [ @{$first}{qw(unit tick_tock sequence)}, $last->{sequence} ];
	$generator->{end} = $first->{unit};
}

my $torture = Torture->new;

# Restore the snapshot of a generator when the server's clock is at a unit, and
# make ids.  The first one may wait for $max_wait ms; returns its fields.
sub go_on
{
	my ($node, $partition, $unit, $max_wait) = @_;
	my $generator = $go{$partition};
	my $notes     = NotedIds->new;
	my $session   = open_session($node, 'postgres', 'sno.max_wait = 10000');

	$torture->set_clock(time_of($unit) - time);
	my $restored =
	  $session->query_safe('SELECT ' . unit_of('clock_timestamp()'));
	$session->query_safe(
		"SELECT sno_restore_generator('p$partition', '$generator->{snapshot}')"
	);
	$session->query_safe("SET sno.max_wait = $max_wait");
	$notes->add($session, $session->query_safe(ids_of(1, "p$partition")));
	$session->query_safe('SET sno.max_wait = 10000');
	my $count =
	  $generator->{max} - $generator->{min} < 100 ? 20_000 : 100_000;
	$notes->add($session,
		$session->query_safe(ids_of($count, "p$partition")));
	close_session($session);

	# The ids that Go issued until the snapshot was restored
	my $until = max($restored, $generator->{taken});
	my %issued;
	foreach my $run (@{ $generator->{runs} })
	{
		my ($at, $tick_tock, $first, $last) = @$run;
		next if $at > $until;
		$issued{"$at/$tick_tock/$_"} = 1 foreach $first .. $last;
	}
	cmp_ok(scalar keys %issued,
		'>', 2000, "generator of partition $partition: Go issued ids before");
	my ($again, $elsewhere) = (0, 0);
	foreach my $note (@{ $notes->{notes} })
	{
		my ($at, $tick_tock, $in, $sequence) =
		  @{ decode_id($note->[0]) }{qw(unit tick_tock partition sequence)};
		$again++ if $issued{"$at/$tick_tock/$sequence"};
		$elsewhere++
		  if $in != $partition
		  || $sequence < $generator->{min}
		  || $sequence > $generator->{max};
	}
	is($again, 0,
		"generator of partition $partition: no id of Go is issued again");
	is($elsewhere, 0,
		"generator of partition $partition: all ids are within its bounds");
	$notes->check_unique("generator of partition $partition");
	return decode_id($notes->{notes}[0][0]);
}

# The clock is 100 ms before the snapshot, at the snapshot, between it and the
# last unit of Go, and just before that unit.
my @clocks = (
	sub { $_[0]{taken} - 25 },
	sub { $_[0]{taken} },
	sub { ($_[0]{taken} + $_[0]{end}) >> 1 },
	sub { $_[0]{end} - 1 });
for my $n (0 .. $#clocks)
{
	my $node = new_node("server$n", conf => 'autovacuum = off');
	$torture->set_clock(0);
	$torture->start_server($node);
	$node->safe_psql('postgres', 'CREATE EXTENSION sno');

	foreach my $partition (sort { $a <=> $b } keys %go)
	{
		my $generator = $go{$partition};

		# Before the snapshot, an unused other side can issue at once.
		my $at_once = $n == 0 && !$generator->{drifted};
		my $id      = go_on(
			$node, $partition,
			$clocks[$n]->($generator),
			$at_once ? 50 : 10000);
		cmp_ok($id->{unit}, '>', $generator->{taken},
			"generator of partition $partition: it goes on after the snapshot"
		) if !$at_once;
		is( $id->{tick_tock},
			$generator->{drifted}
			  || $id->{unit} <= $generator->{taken} ? 1 : 0,
			"generator of partition $partition: it continues on the unused side"
		);
	}
	$node->stop;
}

done_testing();
