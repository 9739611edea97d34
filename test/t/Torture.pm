
# A server that is tortured, the clients that generate there meanwhile, and the
# oracle over what they noted.  The programs are in test/torture: they are built
# in a temporary folder.
#
# All that is left to chance is drawn from a seed, in one order.

package Torture;

use strict;
use warnings;

use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SnoTest;
use Test::More;

# As in notes.h
my $max_faults    = 64;
my $max_sessions  = 64;
my $progress_size = 2 * 8 * $max_faults;
my $no_partition  = ~0;

# Build a program, or a library if it is named so; returns its path.
my %built;

sub build
{
	my ($name) = @_;
	my $source = "$FindBin::RealBin/../torture/" . $name =~ s/\.so$//r . '.c';
	my $path   = PostgreSQL::Test::Utils::tempdir('torture') . "/$name";

	return $built{$name} if defined $built{$name};
	chomp(my $includes = `pg_config --includedir`);
	system_or_bail(
		split(' ', $ENV{CC} // 'cc'),                   '-O2',
		'-Wall',                                        '-Wextra',
		'-Werror',                                      "-I$includes",
		($name =~ /\.so$/ ? ('-shared', '-fPIC') : ()), '-o',
		$path,                                          $source,
		($name eq 'clients' ? '-lpq' : ()));
	return $built{$name} = $path;
}

sub new
{
	my ($class, %params) = @_;
	my $dir  = PostgreSQL::Test::Utils::tempdir('torture');
	my $self = bless {
		dir    => $dir,
		seed   => $params{seed} // 1,
		faults => [],
		struck => {},
		rows   => []
	}, $class;

	append_to_file("$dir/faults", pack('q4', 0, 0, 0, 0));
	append_to_file("$dir/control",
		"\0" x (16 + $max_sessions * $progress_size));
	append_to_file("$dir/bounds", '');
	return $self;
}

# A number below $n.
sub random
{
	my ($self, $n) = @_;
	$self->{seed} = ($self->{seed} * 1103515245 + 12345) & 0x7fffffff;
	return ($self->{seed} >> 8) % $n;
}

sub one_of
{
	my ($self, @choice) = @_;
	return $choice[ $self->random(scalar @choice) ];
}

sub shuffled
{
	my ($self, @list) = @_;
	return map { splice @list, $self->random(scalar @list), 1 } 0 .. $#list;
}

# Change bytes of a file that others have mapped.
sub poke
{
	my ($file, $offset, $bytes) = @_;
	open my $handle, '+<', $file or die "$file: $!";
	sysseek $handle, $offset, 0;
	syswrite $handle, $bytes;
	close $handle;
	return;
}

#
# The server
#

# Start it with a clock and a disk that can be bent.
sub start_server
{
	my ($self, $node) = @_;
	local $ENV{LD_PRELOAD} = build('faults.so');
	local $ENV{FAULTS}     = "$self->{dir}/faults";
	start_again($node);
	return;
}

# Seconds added to the wall clock, and those added besides in every other
# period of so many.
sub set_clock
{
	my ($self, $offset, $strobe, $period) = @_;
	poke("$self->{dir}/faults", 0,
		pack('q3', map { $_ * 1e9 } $offset, $strobe // 0, $period // 0));
	return;
}

# Do flushes of WAL wait?
sub stall_flushes
{
	my ($self, $stall) = @_;
	poke("$self->{dir}/faults", 24, pack('q', $stall));
	return;
}

# Where clients connect to; nowhere if it isn't said.
sub lead_clients
{
	my ($self, $conninfo) = @_;
	my $file = "$self->{dir}/connection";
	unlink "$file.new";
	append_to_file("$file.new", $conninfo // '');
	rename "$file.new", $file or die "$file: $!";
	return;
}

# Which life of which server is it?  As clients.c asks for it.
sub life
{
	my ($self, $node) = @_;
	return $node->safe_psql(
		'postgres',
		q{SELECT hashtextextended(concat_ws(' ', current_setting('port'), pid,
			extract(epoch FROM backend_start)), 0)
		FROM pg_stat_activity WHERE backend_type = 'checkpointer'});
}

# A query for what is leased; a named generator's row bounds its other timeline,
# too, in which it was before a step back.
sub leases_query
{
	return
		'SELECT partition, max('
	  . unit_of('CASE WHEN named THEN greatest(lease_until, wall_safe) ELSE lease_until END')
	  . ') FROM sno_snapshot GROUP BY partition';
}

# Note what a life has leased, as that query told.
sub note_leases
{
	my ($self, $life, $leases) = @_;
	append_to_file("$self->{dir}/bounds", pack('qQQ', $life, split /\|/))
	  foreach split /\n/, $leases;
	return;
}

# Note what a life that is over had leased, before another one generates: from
# now on, it is known to have leased nothing else.
sub note_all_leases
{
	my ($self, $life, $node) = @_;
	$self->note_leases($life, $node->safe_psql('postgres', leases_query()));
	append_to_file("$self->{dir}/bounds",
		pack('qQQ', $life, $no_partition, 0));
	return;
}

# Note the rows of the table that clients insert into.
sub note_rows
{
	my ($self, $node) = @_;
	my $file = "$self->{dir}/rows" . @{ $self->{rows} };
	$node->safe_psql('postgres', "COPY t TO '$file' (FORMAT binary)");
	push @{ $self->{rows} }, $file;
	return;
}

#
# The clients
#
sub start_clients
{
	my ($self, @kinds) = @_;
	$self->{kinds}   = \@kinds;
	$self->{clients} = IPC::Run::start(
		[
			build('clients'),     "$self->{dir}/control",
			"$self->{dir}/notes", "$self->{dir}/connection",
			@kinds
		]);
	return;
}

sub stop_clients
{
	my ($self) = @_;
	poke("$self->{dir}/control", 0, pack('Q', 1));
	ok($self->{clients}->finish, 'clients end well');
	return;
}

# Per client, the ids received under each fault and the longest stall, in ns.
sub progress
{
	my ($self) = @_;
	my $control = slurp_file("$self->{dir}/control");
	return map {
		my @numbers = unpack 'Q' . 2 * $max_faults,
		  substr $control, 16 + $_ * $progress_size, $progress_size;
		{
			ids   => [ @numbers[ 0 .. $max_faults - 1 ] ],
			stall => [ @numbers[ $max_faults .. $#numbers ] ]
		};
	} 0 .. $#{ $self->{kinds} };
}

# Ids received under the fault that is on, by each client.
sub ids_now
{
	my ($self) = @_;
	return map { $_->{ids}[ $self->{fault} ] } $self->progress;
}

# Wait until each client has received so many more ids.
sub wait_for_ids
{
	my ($self, $count) = @_;
	my @from = $self->ids_now;
	wait_until(
		'all clients have received ids',
		sub {
			my @now = $self->ids_now;
			!grep { $now[$_] < $from[$_] + $count } 0 .. $#now;
		});
	return;
}

# From now on it is this fault that ids are received under.
sub under
{
	my ($self, $name) = @_;
	my ($fault) =
	  grep { $self->{faults}[$_] eq $name } 0 .. $#{ $self->{faults} };
	if (!defined $fault)
	{
		$fault = push(@{ $self->{faults} }, $name) - 1;
		$self->{struck}{$name} = 0;
		die 'too many faults' if $fault >= $max_faults;
	}
	$self->{fault} = $fault;
	poke("$self->{dir}/control", 8, pack('Q', $fault));
	return;
}

# Strike; all clients have to get on after it.
sub strike
{
	my ($self, $name, $fault) = @_;
	$self->under($name);
	$fault->($self);
	$self->wait_for_ids(20);
	$self->{struck}{$name}++;
	return;
}

# The errors that clients met: [fault, SQLSTATE, message].
sub errors
{
	my ($self) = @_;
	return map {
		map { /^(\d+) (\w+) (.*)$/ ? [ $self->{faults}[$1], $2, $3 ] : () }
		  split /\n/,
		  slurp_file("$self->{dir}/notes.$_.errors")
	} 0 .. $#{ $self->{kinds} };
}

#
# The oracle
#

# Have it judge, of some clients or all; sessions may take turns under the
# faults that "strobing" names.  Returns its counts, with those of each fault in
# "faults".
sub judge
{
	my ($self, %params) = @_;
	my @clients  = @{ $params{clients} // [ 0 .. $#{ $self->{kinds} } ] };
	my %strobing = map { $_ => 1 } @{ $params{strobing} // [] };
	my $mask     = 0;
	my %verdict;

	for my $n (0 .. $#{ $self->{faults} })
	{
		$mask |= 1 << $n if $strobing{ $self->{faults}[$n] };
	}
	my @command = (
		build('oracle'),
		'-t',
		$mask,
		'-b',
		"$self->{dir}/bounds",
		(map { ('-r', $_) } @{ $self->{rows} }),
		map { "$self->{dir}/notes.$_" } @clients);
	my ($out, $err) = run_command(\@command);
	die "oracle: $err" if $err ne '' || $out !~ /^ids /m;

	my @progress = ($self->progress)[@clients];
	foreach (split /\n/, $out)
	{
		if (/^fault (\d+) (\d+) (\d+)$/)
		{
			my $fault = $1;
			my ($stall) =
			  sort { $b <=> $a } map { $_->{stall}[$fault] } @progress;
			$verdict{faults}{ $self->{faults}[$fault] } =
			  { ids => $2, twice => $3, stall => $stall / 1e9 };
		}
		elsif (/^(\w+) (\d+)$/)
		{
			$verdict{$1} = $2;
		}
		else
		{
			diag($_);
		}
	}
	return \%verdict;
}

# Show what each fault did.
sub show
{
	my ($self, $verdict) = @_;
	note(
		sprintf '%-40s %6s %12s %6s %9s',
		'fault', 'struck', 'ids meanwhile',
		'twice', 'stall, s');
	foreach my $name (@{ $self->{faults} })
	{
		my $fault = $verdict->{faults}{$name} // next;
		note(
			sprintf '%-40s %6d %12d %6d %9.3f',
			$name, $self->{struck}{$name},
			$fault->{ids}, $fault->{twice}, $fault->{stall});
	}
	note(sprintf '%-40s %6s %12d %6d', 'all', '', @{$verdict}{qw(ids twice)});
	return;
}

1;
