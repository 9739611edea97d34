# The tables of doc/evidence/report.md, from the ledger of a campaign

use strict;
use warnings;

use List::Util qw(sum);

my @steps = qw(reserve write flush publish issue);
my $steps = join '|', @steps;

# By name: of tests, and of faults, which may have struck at a step of a lease.  Names are in
# the order in which they came first.
my (%tests, %faults, %held, %versions, $test, @all);

sub named
{
	my ($of, $name) = @_;
	return $of->{$name} //= { name => $name, order => scalar keys %$of };
}

sub in_order { my ($of) = @_; return sort { $a->{order} <=> $b->{order} } values %$of; }

sub add
{
	my ($to, @counts) = @_;
	$to->[$_] += $counts[$_] foreach 0 .. $#counts;
	return;
}

# 1234567 as 1,234,567
sub grouped { my ($n) = @_; return scalar reverse join ',', unpack '(A3)*', reverse $n; }

sub row { my (@cells) = @_; print '| ', join(' | ', map { /^\d+$/ ? grouped($_) : $_ } @cells), " |\n"; return; }

sub heading { my (@cells) = @_; print "\n"; row(@cells); print '|---' x @cells, "|\n"; return; }

while (<<>>)
{
	chomp;
	my ($word, $name, @fields) = split /\t/;
	if ($word eq 'failed')
	{
		print "failed: $name, seed $fields[0], commit $fields[1]\n";
		next;
	}
	$name = 'between faults' if $name eq 'none';
	if ($word eq 'run')
	{
		my ($seed, $commit, $postgresql, @counts) = @fields;
		$test = named(\%tests, $name);
		push @{ $test->{seeds} }, $seed;
		add($test->{counts} //= [], @counts);
		add(\@all, @counts);
		$versions{"$postgresql, commit $commit"}++;
	}
	elsif ($name =~ s/^($steps): //)
	{
		my $fault = named(\%held, $name);
		$fault->{at}{$1} += $fields[0];
		add($fault->{counts} //= [], @fields);
	}
	else
	{
		add(named(\%faults, $name)->{counts} //= [], @fields);
	}
}

print "$_: $versions{$_} runs\n" foreach sort keys %versions;
heading('test', 'seeds', 'ids', 'repeats', 'not known to the successor', 'exceptions: sessions', 'named generators');
row("`$_->{name}`", join(', ', @{ $_->{seeds} }), @{ $_->{counts} }) foreach in_order(\%tests);
row('all', '', @all);

heading('fault', 'struck', 'ids meanwhile', 'repeats');
row($_->{name}, @{ $_->{counts} }) foreach in_order(\%faults);

heading('fault at a step', @steps, 'ids meanwhile', 'repeats');
foreach my $fault (in_order(\%held))
{
	row($fault->{name}, (map { $fault->{at}{$_} // 0 } @steps), @{ $fault->{counts} }[ 1, 2 ]);
}

my $strikes = sum(map { $_->{counts}[0] } values %faults, values %held);
print "\n", grouped($strikes), " strikes\n";
