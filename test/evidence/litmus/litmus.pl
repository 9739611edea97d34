#!/usr/bin/perl
#
# litmus.pl [small | judge | show TEST | table]
#
# Makes litmus tests from tests.txt and from the sources, asks herd7 for its verdicts, and
# compares them with those that tests.txt has.  The first lines of tests.txt tell its format.
# judged.txt has digests of the tests of which herd7 said what is wanted.

use strict;
use warnings;

use Digest::SHA qw(sha1_hex);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);

my $here = dirname(__FILE__);
my $src  = "$here/../../../src";

# What PostgreSQL and plain C promise of a statement in which no order is written
my @orders = (
	[ qr/^LWLockAcquire/                       => 'ACQUIRE' ],
	[ qr/^LWLockRelease/                       => 'RELEASE' ],
	[ qr/^pg_read_barrier/                     => 'ACQUIRE' ],
	[ qr/^pg_write_barrier/                    => 'RELEASE' ],
	[ qr/^pg_memory_barrier/                   => 'SEQ_CST' ],
	[ qr/(?:pg|dsa_pointer)_atomic_(?:fetch|exchange|compare)/ => 'SEQ_CST' ],
	[ qr/./                                    => 'RELAXED' ]);

my @models = (
	{ name => 'C11',      cat => 'rc11.cat',    make => \&c11 },
	{ name => 'ARMv8.0',  cat => 'aarch64.cat', make => sub { aarch64(0, @_) } },
	{ name => 'ARMv8.3',  cat => 'aarch64.cat', make => sub { aarch64(1, @_) } });

#
# What tests.txt says, and what the sources do
#

my (%bodies, %found);

# The body of a function, with one blank where it has blanks
sub body
{
	my ($file, $function) = @_;
	return $bodies{"$file $function"} //= do
	{
		open my $in, '<', "$src/$file" or die "$src/$file: $!\n";
		my $text = do { local $/; <$in> };
		my ($body) = $text =~ /^\Q$function\E\((.*?)^\}/ms
		  or die "$file has no function $function\n";
		$body =~ s/\s+/ /gr;
	};
}

# Where the source has the text, at or after a place, and the order that it has for ORDER
sub find
{
	my ($at, $text) = @_;
	my $pattern = join '__ATOMIC_(\w+)', map { quotemeta } split /\bORDER\b/, $text, -1;

	pos($at->{body}) = $at->{pos};
	$at->{body} =~ /$pattern/g
	  or die "$at->{function} in $at->{file} no longer has \"$text\", or not where tests.txt has it\n";
	$at->{pos} = pos($at->{body});
	$found{"$at->{file} $at->{function} $-[0]"} = 1;
	return $1 // (grep { $text =~ $_->[0] } @orders)[0][1];
}

sub place
{
	my ($file, $function) = @_;
	return { file => $file, function => $function, pos => 0, body => body($file, $function) };
}

# No atomic builtin and no barrier is forgotten.
sub check_all_found
{
	foreach my $file (map { s|^\Q$src\E/||r } glob "$src/*/*.[ch]")
	{
		open my $in, '<', "$src/$file" or die "$src/$file: $!\n";
		foreach my $function (do { local $/; <$in> } =~ /^(\w+)\((?=[^;]*?\)\n\{)/mg)
		{
			my $body = body($file, $function);
			while ($body =~ /__atomic_\w+\([^,;]*|pg_\w*barrier\(\)/g)
			{
				die "no line of tests.txt has \"$&\" of $function in $file\n"
				  unless $found{"$file $function $-[0]"};
			}
		}
	}
}

# One line of a thread: [LABEL:] [REGISTER =] OPERATION [LOCATION] [NUMBER ...] @ SOURCE
sub statement
{
	my ($at, $line) = @_;
	my ($what, $where) = split / +@ +/, $line, 2;
	my %s = (order => 'RELAXED');

	$s{label}    = $1 if $what =~ s/^(\w+): +//;
	$s{register} = $1 if $what =~ s/^(\w+) = //;
	$s{via}      = $1 if $what =~ s/ via (\w+)$//;
	@s{ 'op', 'location', 'one', 'two' } = split / +/, $what;
	if (defined $where && $where ne '-')
	{
		%$at = %{ place($1, $2) } if $where =~ s/^(\S+\.[ch]) (\w+): //;
		$s{order} = find($at, $where);
	}
	return \%s;
}

sub read_tests
{
	my (@tests, $test, $at);

	open my $in, '<', "$here/tests.txt" or die "tests.txt: $!\n";
	while (my $line = <$in>)
	{
		next if $line =~ /^#|^\s*$/;
		chomp $line;
		if ($line =~ /^test (\w+) +(.+)/)
		{
			push @tests, $test = { name => $1, rule => $2, threads => [], mutants => [] };
		}
		elsif ($line =~ /^says (.+)/)    { $test->{says} = $1; }
		elsif ($line =~ /^begins (.+)/)  { $test->{begins} = { map { split /=/ } split ' ', $1 }; }
		elsif ($line =~ /^never (.+)/)   { $test->{never} = $1; }
		elsif ($line =~ /^only AArch64/) { $test->{only} = 1; }
		elsif ($line =~ /^order (\S+) (\w+): (.+)/)
		{
			my $order = place($1, $2);
			find($order, $_) foreach split / \.\.\. /, $3;
		}
		elsif ($line =~ /^untested (\S+) (\w+): (.+)/) { find(place($1, $2), $3); }
		elsif ($line =~ /^thread/) { push @{ $test->{threads} }, []; $at = {}; }
		elsif ($line =~ /^mutant (.+?)  +(\S.*)/)
		{
			push @{ $test->{mutants} },
			  { name => $1, change => { map { split /=/ } split ' ', $1 }, verdicts => [ split ' ', $2 ] };
		}
		elsif ($line =~ /^\t(.+)/) { push @{ $test->{threads}[-1] }, statement($at, $1); }
		else                       { die "tests.txt, line $.: $line\n"; }
	}
	return @tests;
}

# The threads of a test, with other orders where the mutant says so
sub threads
{
	my ($test, $change) = @_;
	my %unused = %$change;
	my @threads;

	foreach my $thread (@{ $test->{threads} })
	{
		push @threads, [ map {
			my $order = defined $_->{label} ? $change->{ $_->{label} } : undef;
			delete $unused{ $_->{label} } if defined $order;
			+{ %$_, order => $order // $_->{order} }
		} @$thread ];
	}
	die "$test->{name} has no label ", join(' ', keys %unused), "\n" if %unused;
	return @threads;
}

#
# C11
#

my %builtin = (add => 'fetch_add', or => 'fetch_or', swap => 'exchange');

sub c11_statement
{
	my ($s, $expected) = @_;
	my ($r, $x, $one) = @$s{ 'register', 'location', 'one' };
	my $order = 'memory_order_' . lc $s->{order};
	my $failed = $s->{order} eq 'SEQ_CST' ? $order : 'memory_order_relaxed';

	return () if $s->{order} eq 'NONE';
	return "if ($x == $one) {" if $s->{op} eq 'when';
	return "atomic_thread_fence($order);" if $s->{op} eq 'fence';
	return "int $r = atomic_load_explicit($x, $order);" if $s->{op} eq 'load';
	return "atomic_store_explicit($x, $one, $order);" if $s->{op} eq 'store';
	if ($s->{order} eq 'SPLIT')
	{
		my $new = { add => "$r + $one", or => "$r | $one", swap => $one, cas => $s->{two} }->{ $s->{op} };
		my $store = "atomic_store_explicit($x, $new, memory_order_relaxed);";

		$store = "if ($r == $one) { $store }" if $s->{op} eq 'cas';
		return ("int $r = atomic_load_explicit($x, memory_order_relaxed);", $store);
	}
	return "int $r = atomic_$builtin{$s->{op}}_explicit($x, $one, $order);" if $s->{op} ne 'cas';
	return (
		"int ${r}_ok = atomic_compare_exchange_strong_explicit($x, $expected, $s->{two}, $order, $failed);",
		"int $r = *$expected;");
}

sub c11
{
	my ($test, @threads) = @_;
	my %begins = %{ $test->{begins} // {} };
	my $text = '';

	for my $i (0 .. $#threads)
	{
		my (@lines, @parameters, %seen);
		my $open = 0;

		foreach my $s (@{ $threads[$i] })
		{
			my $expected = 'e' . $i . ($s->{register} // '');

			push @lines, c11_statement($s, $expected);
			$open++ if $s->{op} eq 'when';
			if (defined $s->{location} && $s->{op} ne 'when')
			{
				$begins{ $s->{location} } //= 0;
				push @parameters, "atomic_int* $s->{location}" unless $seen{ $s->{location} }++;
			}
			if ($s->{op} eq 'cas')
			{
				push @parameters, "int* $expected";
				$begins{$expected} = $s->{one};
			}
		}
		$text .= "P$i(" . join(', ', @parameters) . ") {\n" .
		  join('', map { "  $_\n" } @lines, ('}') x $open) . "}\n";
	}
	return "C $test->{name}\n{ " . join(' ', map { "[$_] = $begins{$_};" } sort keys %begins) . " }\n" .
	  "${text}exists ($test->{never})\n";
}

#
# AArch64.  The instructions are those to which gcc 12 and clang 14 compile each builtin on
# 8 bytes, with each order, by -O2 -S and -march=armv8-a -mno-outline-atomics, or
# -march=armv8.3-a.  Without -mno-outline-atomics, functions of libgcc have them.  A step with
# SEQ_CST has those of ACQ_REL.  In ARMv8.3, a load with ACQUIRE is LDAPR here: both compilers
# have LDAR, which is stronger, but ARMv8.3 has both.
#
# A loop of exclusives is one round, which succeeds: a round that fails begins anew.
#

my %acquire = map { $_ => 1 } qw(ACQUIRE ACQ_REL SEQ_CST);
my %release = map { $_ => 1 } qw(RELEASE ACQ_REL SEQ_CST);
my %single  = (add => 'LDADD', or => 'LDSET', swap => 'SWP', cas => 'CAS');

sub aarch64_statement
{
	my ($new, $s, $r, $x, $n) = @_;
	my ($op, $order, $one) = @$s{ 'op', 'order', 'one' };
	my $load  = $new && $order eq 'ACQUIRE' ? 'LDAPR' : $acquire{$order} ? 'LDAR' : 'LDR';
	my $suffix = ($acquire{$order} ? 'A' : '') . ($release{$order} ? 'L' : '');

	return () if $order eq 'NONE';
	return ("CMP $r,#$one", 'B.NE L0') if $op eq 'when';
	return $order eq 'ACQUIRE' ? 'DMB ISHLD' : 'DMB ISH' if $op eq 'fence';
	return ("EOR W9,$s->{via},$s->{via}", "LDR $r,[$x,W9,SXTW]") if $s->{via} && $order ne 'FREE';
	return "$load $r,[$x]" if $op eq 'load';
	return ("MOV W9,#$one", ($release{$order} ? 'STLR' : 'STR') . " W9,[$x]") if $op eq 'store';

	return ("MOV $r,#$one", "MOV W9,#$s->{two}", "CAS$suffix $r,W9,[$x]")
	  if $new && $op eq 'cas' && $order ne 'SPLIT';
	return ("MOV W9,#$one", "$single{$op}$suffix W9,$r,[$x]") if $new && $order ne 'SPLIT';

	my @change = $op eq 'add' ? "ADD W9,$r,#$one" : $op eq 'or' ? "ORR W9,$r,#$one" :
	  $op eq 'swap' ? "MOV W9,#$one" : ("CMP $r,#$one", "B.NE L$n", "MOV W9,#$s->{two}");
	my @next = $op eq 'cas' ? "L$n:" : ();

	return ("LDR $r,[$x]", @change, "STR W9,[$x]", @next) if $order eq 'SPLIT';
	return (($acquire{$order} ? 'LDAXR' : 'LDXR') . " $r,[$x]", @change,
		($release{$order} ? 'STLXR' : 'STXR') . " W$n,W9,[$x]", @next);
}

sub aarch64
{
	my ($new, $test, @threads) = @_;
	my %begins = %{ $test->{begins} // {} };
	my $never = $test->{never};
	my (@columns, @init);

	for my $i (0 .. $#threads)
	{
		my (%registers, %addresses, @lines);
		my $status = 20;

		foreach my $s (@{ $threads[$i] })
		{
			my $when = $s->{op} eq 'when';
			my $r = $when ? $s->{location} : $s->{register};
			my ($x, $via);

			$r = 'W' . ($registers{$r} //= scalar keys %registers) if defined $r;
			if (defined $s->{location} && !$when)
			{
				$begins{ $s->{location} } //= 0;
				$x = 'X' . ($addresses{ $s->{location} } //= 10 + scalar keys %addresses);
			}
			$via = 'W' . $registers{ $s->{via} } if defined $s->{via};
			push @lines, aarch64_statement($new, { %$s, via => $via }, $r, $x, $status);
			if (grep { /ST.?XR W$status,/ } @lines)
			{
				$never .= " /\\ $i:X$status=0";
				$status++;
			}
		}
		push @lines, 'L0:' if grep { /L0$/ } @lines;
		s/\bL(?=\d+:?$)/L$i/ foreach @lines;
		$never =~ s/\b$i:\Q$_\E\b/$i:X$registers{$_}/g foreach sort keys %registers;
		push @init, map { "$i:X$addresses{$_}=$_;" } sort keys %addresses;
		push @columns, \@lines;
	}
	my ($longest) = sort { $b <=> $a } map { scalar @$_ } @columns;
	my @rows = [ map { "P$_" } 0 .. $#columns ];
	for my $i (0 .. $longest - 1)
	{
		push @rows, [ map { $_->[$i] // '' } @columns ];
	}
	unshift @init, map { "$_=$begins{$_};" } sort keys %begins;
	return "AArch64 $test->{name}\n{ @init }\n" .
	  join('', map { ' ' . join(' | ', map { sprintf '%-20s', $_ } @$_) . " ;\n" } @rows) .
	  "exists ($never)\n";
}

#
# Verdicts
#

my ($what, $name) = (@ARGV, '', '');
my @tests = read_tests();
check_all_found();

if ($what eq 'show')
{
	my ($test) = grep { $_->{name} eq $name } @tests or die "no test \"$name\"\n";
	foreach my $model (@models)
	{
		print "# $model->{name}\n", $model->{make}->($test, threads($test, {})), "\n"
		  unless $test->{only} && $model->{name} eq 'C11';
	}
	exit;
}
if ($what eq 'table')
{
	print "| test | rule | what it says | mutants |\n|---|---|---|---|\n";
	foreach my $t (@tests)
	{
		my @mutants = map {
			"`$_->{name}` " . join('', map { substr($_, 0, 1) } @{ $_->{verdicts} })
		} @{ $t->{mutants} };

		print "| $t->{name} | ", $t->{rule} =~ s/^-$//r, " | $t->{says} | ", join(', ', @mutants), " |\n";
	}
	exit;
}
die "unknown argument \"$what\"\n" if $what !~ /^(?:small|judge)?$/;

# A digest of all that herd7 is asked about a test, with the verdicts that are wanted
sub digest
{
	my ($test) = @_;
	my @asked = ({ change => {}, verdicts => [] }, @{ $test->{mutants} });
	return sha1_hex(join "\n", map {
		my $asked = $_;
		(map { $_->{make}->($test, threads($test, $asked->{change})) }
			  grep { !$test->{only} || $_->{name} ne 'C11' } @models), "@{$asked->{verdicts}}"
	} @asked);
}

my $judged  = "$here/judged.txt";
my $digests = join '', map { "$_->{name}\t" . digest($_) . "\n" } @tests;

# The digests that were written when herd7 judged
sub judged
{
	open my $in, '<', $judged or die "$judged: $!\n";
	local $/;
	return <$in>;
}

if ($what eq 'small')
{
	my %known = map { /(.*)\t(.*)/ } split /\n/, judged();
	my $wrong = 0;

	print '1..', scalar(@tests), "\n";
	foreach my $i (0 .. $#tests)
	{
		my $test = $tests[$i];
		my $ok   = ($known{ $test->{name} } // '') eq digest($test);

		$wrong++ unless $ok;
		print $ok ? 'ok' : 'not ok', ' ', $i + 1, " - $test->{name}: the sources are as herd7 judged them\n";
	}
	print "# If herd7 finds nothing wrong, \"script/evidence litmus judge\" makes judged.txt again.\n" if $wrong;
	exit($wrong > 0);
}

# What herd7 is asked for: each test, and each of its mutants
my @asked;

foreach my $test (@tests)
{
	my @never = map { $test->{only} && $_->{name} eq 'C11' ? '-' : 'Never' } @models;

	die "$test->{name} has no mutant that breaks it\n"
	  unless grep { "@{$_->{verdicts}}" =~ /Sometimes/ } @{ $test->{mutants} };
	push @asked, { test => $test, name => $test->{name}, change => {}, verdicts => \@never,
		says => ($test->{rule} eq '-' ? '' : "$test->{rule}: ") . $test->{says} };
	foreach my $mutant (@{ $test->{mutants} })
	{
		push @asked, { %$mutant, test => $test, name => "$test->{name}, $mutant->{name}" };
	}
}

my $folder = tempdir(CLEANUP => 1);

foreach my $m (0 .. $#models)
{
	my @files;

	foreach my $i (0 .. $#asked)
	{
		my ($test, $change, $verdicts) = @{ $asked[$i] }{ 'test', 'change', 'verdicts' };

		$asked[$i]{got}[$m] = '-';
		next if $verdicts->[$m] eq '-';
		$asked[$i]{got}[$m] = 'no verdict';
		push @files, "$folder/$m.$i.litmus";
		open my $out, '>', $files[-1] or die "$files[-1]: $!\n";
		print $out $models[$m]{make}->({ %$test, name => "t$i" }, threads($test, $change));
		close $out or die "$files[-1]: $!\n";
	}
	open my $herd, '-|', 'herd7', '-model', $models[$m]{cat}, @files or die "herd7: $!\n";
	my $undefined = 0;
	while (<$herd>)
	{
		$undefined = 1 if /^Flag \*undef\*/;
		next unless /^Observation t(\d+) (\w+)/;
		$asked[$1]{got}[$m] = $undefined ? 'undefined' : $2;
		$undefined = 0;
	}
	close $herd or warn "herd7 failed\n";
}

my $wrong = 0;

print '1..', scalar(@asked), "\n# verdicts: ", join(', ', map { $_->{name} } @models), "\n";
foreach my $i (0 .. $#asked)
{
	my $a = $asked[$i];
	my @wanted = @{ $a->{verdicts} }[ 0 .. $#models ];
	my $ok = "@wanted" eq "@{$a->{got}}";

	$wrong++ unless $ok;
	print "# $a->{says}\n" if $a->{says};
	print $ok ? 'ok' : 'not ok', ' ', $i + 1, " - $a->{name}: @{$a->{got}}\n";
	print "#   wanted: @wanted\n" unless $ok;
}
if ($what eq 'judge' && !$wrong)
{
	open my $out, '>', $judged or die "$judged: $!\n";
	print $out $digests;
	close $out or die "$judged: $!\n";
}
elsif (judged() ne $digests)
{
	$wrong++;
	print "# judged.txt is of other tests: see \"judge\"\n";
}
printf "# %d tests, %d mutants, %d wrong\n", scalar(@tests), @asked - @tests, $wrong;
exit($wrong > 0);
