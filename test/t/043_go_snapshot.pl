
# Generators of the Go package muyo/sno that go on here: whatever the server's
# clock says when their snapshots are restored, the ids that come are none of
# those that the Go generators issued before or may have issued until then.
#
# test/vectors/go_snapshots.tsv is what three of them did, in turn: a line has the
# first and the last one of ids that differ in their sequences alone, or it is a
# snapshot, taken in mid-unit, in a unit that is used up, and 36 ms after the
# clock was stepped back by 120 ms.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use List::Util qw(max);
use NotedIds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;
use Time::HiRes qw(time);
use Torture;

# The time at which a unit begins
sub time_of { return 1262304000 + $_[0] / 250; }

# What each of them did, by partition
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
	my ($first, $last) = map { [ decode_id($_) ] } split /\t/;
	my $generator = $go{ $first->[3] } //= {};
	push @{ $generator->{runs} }, [ @$first[ 0, 1, 4 ], $last->[4] ];
	$generator->{end} = $first->[0];
}

my $torture = Torture->new;

# Restore the snapshot of a generator at a unit of the server's clock, and go on,
# with an id that may be waited for so many ms.  Returns that one.
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

	# What Go issued before the snapshot and until it was restored
	my $until = max($restored, $generator->{taken});
	my %issued;
	foreach my $run (@{ $generator->{runs} })
	{
		my ($at, $tick_tock, $first, $last) = @$run;
		next if $at > $until;
		$issued{"$at/$tick_tock/$_"} = 1 foreach $first .. $last;
	}
	cmp_ok(scalar keys %issued, '>', 2000, 'Go had issued ids by then');
	my ($again, $elsewhere) = (0, 0);
	foreach my $note (@{ $notes->{notes} })
	{
		my ($at, $tick_tock, undef, $in, $sequence) = decode_id($note->[0]);
		$again++ if $issued{"$at/$tick_tock/$sequence"};
		$elsewhere++
		  if $in != $partition
		  || $sequence < $generator->{min}
		  || $sequence > $generator->{max};
	}
	is($again,     0, 'none of them comes again');
	is($elsewhere, 0, 'all are within its partition and bounds');
	$notes->check_unique("generator of partition $partition");
	return decode_id($notes->{notes}[0][0]);
}

# The clock is 100 ms behind the snapshot, at it, where Go went on, where it ended.
my @clocks = (
	sub { $_[0]{taken} - 25 },
	sub { $_[0]{taken} },
	sub { ($_[0]{taken} + $_[0]{end}) >> 1 },
	sub { $_[0]{end} - 1 });
for my $n (0 .. $#clocks)
{
	my $node = PostgreSQL::Test::Cluster->new("server$n");
	$node->init;
	$node->append_conf('postgresql.conf',
		"log_statement = none\nautovacuum = off\n");
	$torture->set_clock(0);
	$torture->start_server($node);
	$node->safe_psql('postgres', 'CREATE EXTENSION sno');

	foreach my $partition (sort { $a <=> $b } keys %go)
	{
		my $generator = $go{$partition};

		# Amid its ids there is only the other timeline, if that is unused: it
		# doesn't wait for them to be over.
		my $at_once = $n == 0 && !$generator->{drifted};
		my ($unit, $tick_tock) = go_on(
			$node, $partition,
			$clocks[$n]->($generator),
			$at_once ? 50 : 10000);
		cmp_ok($unit, '>', $generator->{taken},
			'it goes on after the snapshot')
		  if !$at_once;
		is( $tick_tock,
			$generator->{drifted} || $unit <= $generator->{taken} ? 1 : 0,
			'it goes on in the timeline that is free');
	}
	$node->stop;
}

done_testing();
