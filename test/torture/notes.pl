# The text of notes (doc/evidence/notes.md) from the files of clients, and these files from
# the text, for the oracle.
#
#	notes.pl text HEARD NOTES ... <LINES	prints LINES before what is in the files
#	notes.pl binary HEARD NOTES <TEXT		makes the files

use strict;
use warnings;
no warnings 'portable';    # hexadecimal numbers have more than 32 bits

my ($to, $heard, @notes) = @ARGV;

# Run and Bound in notes.h
my ($run, $bound) = ('QqLSCCSCCL', 'qQQQ');
my @fates        = qw(unknown committed rolled-back);
my @kinds        = qw(session named);
my $no_partition = ~0;

# Call $what with each record of a file.
sub each_of
{
	my ($path, $format, $what) = @_;
	open my $file, '<:raw', $path or die "$path: $!";
	local $/ = \length pack $format, (0) x 10;
	while (<$file>) { $what->(unpack $format, $_); }
	close $file;
	return;
}

# Lives are numbered in the order in which they are met.
my %lives;

sub number_of
{
	my ($life) = @_;
	$lives{$life} = 1 + keys %lives if !exists $lives{$life};
	return $lives{$life};
}

sub print_text
{
	my %succeeded;
	print while <STDIN>;
	each_of(
		$heard, $bound,
		sub {
			my ($life, $partition) = @_;
			print join("\t", 'succeeded', number_of($life)), "\n"
			  if $partition == $no_partition && !$succeeded{$life}++;
		});
	each_of(
		$heard, $bound,
		sub {
			my ($life, @lease) = @_;
			print join("\t", 'heard', number_of($life), @lease), "\n"
			  if $succeeded{$life} && $lease[0] != $no_partition;
		});
	foreach (@notes)
	{
		each_of(
			$_, $run,
			sub {
				my ($time, $life, $session, $partition, $fault, $fate, $first, $promotions,
					$named, $count) = @_;
				print join("\t", 'ids',
					($session >> 24) . '.' . ($session & 0xffffff), number_of($life),
					$promotions, $kinds[$named], $fault, $fates[$fate],
					sprintf('%010x%04x%04x', $time, $partition, $first), $count), "\n";
			});
	}
	return;
}

sub make_files
{
	my %fate  = map { $fates[$_] => $_ } 0 .. $#fates;
	my %kind  = map { $kinds[$_] => $_ } 0 .. $#kinds;
	open my $heard_file, '>:raw', $heard    or die "$heard: $!";
	open my $notes_file, '>:raw', $notes[0] or die "$notes[0]: $!";
	while (<STDIN>)
	{
		chomp;
		my ($word, @fields) = split /\t/;
		print $heard_file pack $bound, @fields if $word eq 'heard';
		print $heard_file pack $bound, @fields, $no_partition, 0, 0 if $word eq 'succeeded';
		next                                                        if $word ne 'ids';
		my ($session, $life, $promotions, $kind, $fault, $fate, $first, $count) = @fields;
		my ($client, $connection) = split /\./, $session;
		my ($time, $partition, $sequence) = map { hex } $first =~ /^(.*)(....)(....)$/;
		print $notes_file pack $run, $time, $life, $client << 24 | $connection, $partition,
		  $fault, $fate{$fate}, $sequence, $promotions, $kind{$kind}, $count;
	}
	close $heard_file or die "$heard: $!";
	close $notes_file or die "$notes[0]: $!";
	return;
}

if   ($to eq 'text') { print_text(); }
else                 { make_files(); }
