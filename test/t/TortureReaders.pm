
# A server that is struck by faults, the clients that write to feeds and read them meanwhile
# (test/torture/readers.py), and the check of their notes.

package TortureReaders;

use strict;
use warnings;

use FindBin;
use IPC::Run ();
use TestHelpers;
use Time::HiRes qw(clock_gettime time usleep CLOCK_MONOTONIC);
use Torture;

our @ISA = ('Torture');

my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';

sub new
{
	my ($class, %params) = @_;
	my $self = Torture::new($class, lull => 500, %params);
	$self->{read} = { at => 0, line => 0 };
	append_to_file("$self->{dir}/notes", '');
	$self->set_clock(0);
	return $self;
}

sub start_clients
{
	my ($self, @kinds) = @_;
	$self->{clients} = IPC::Run::start(
		[ '/usr/bin/python3', "$FindBin::RealBin/../torture/readers.py", $self->{dir}, $self->{seed}, @kinds ]);
	return;
}

# The process of a random client of some kinds
sub client
{
	my ($self, $kinds) = @_;
	return $self->one_of(map { /^(\d+) (?:$kinds)/ ? $1 : () } split /\n/, slurp_file("$self->{dir}/clients"));
}

# Let clients connect to a server, or to none.  Some of them use PgBouncer.
sub lead_clients
{
	my ($self, $node) = @_;
	my ($dir, $port, $user) = ($self->{dir}, $self->{pooler_port}, scalar getpwuid($<));
	$self->SUPER::lead_clients($node);
	return if !defined $pgbouncer;
	if (defined $node && ($self->{pooled} // '') ne $node->name)
	{
		$self->stop_pooler;
		$self->{pooled} = $node->name;
		$port = $self->{pooler_port} = PostgreSQL::Test::Cluster::get_free_port();
		unlink "$dir/pgbouncer.ini";
		append_to_file(
			"$dir/pgbouncer.ini", '
[databases]
postgres = ' . $node->connstr('postgres') . " user=$user

[pgbouncer]
unix_socket_dir = $dir
listen_addr =
listen_port = $port
auth_type = any
pool_mode = transaction
default_pool_size = 30
server_login_retry = 1
logfile = $dir/pgbouncer.log
");
		$self->start_pooler;
	}
	append_to_file("$dir/pooler.new",
		defined $node ? "host=$dir port=$port dbname=postgres user=$user application_name=client" : '');
	rename "$dir/pooler.new", "$dir/connection.pooler" or die "$dir: $!";
	return;
}

sub start_pooler
{
	my ($self) = @_;
	my $dir = $self->{dir};
	$self->{pooler} =
	  IPC::Run::start([ $pgbouncer, '-q', "$dir/pgbouncer.ini" ], '<', '/dev/null', '&>', "$dir/pgbouncer.out");
	return;
}

sub stop_pooler
{
	my ($self) = @_;
	$self->{pooler}->kill_kill(grace => 0) if defined $self->{pooler};
	return;
}

sub has_pooler { return defined $pgbouncer; }

# Note since when the clock has been steady.
sub set_clock
{
	my ($self, $offset, $strobe, $period) = @_;
	$self->note_clock('steps');
	$self->SUPER::set_clock($offset, $strobe, $period);
	$self->note_clock('steady') if !$strobe;
	return;
}

sub note_clock
{
	my ($self, $state) = @_;
	append_to_file("$self->{dir}/notes", "clock $state " . clock_gettime(CLOCK_MONOTONIC) . "\n");
	return;
}

# What the clients have noted, read on from the last call.  By reader: "rows", the number of
# rows, and "leases" by part and fence.
sub notes
{
	my ($self) = @_;
	my $all = $self->{read};
	open my $file, '<', "$self->{dir}/notes" or die $!;
	seek $file, $all->{at}, 0;
	while (<$file>)
	{
		last if !/\n\z/;
		$all->{at} += length;
		$all->{line}++;
		my ($what, @words) = split;
		my ($reader, $part, $fence) = @words;
		if ($what eq 'take')
		{
			my $lease = {};
			@{$lease}{qw(start noted for)} = splice @words, 3, 3;
			$lease->{ids} = [ map { (split m{/})[0] } @words[ 3 .. $#words ] ];
			$lease->{line} = $all->{line};
			$all->{rows}{$reader} += @{ $lease->{ids} };
			push @{ $all->{wrong}{'two leases have the same fence'} }, $_ if defined $all->{leases}{$reader}{$part}{$fence};
			$all->{leases}{$reader}{$part}{$fence} = $lease;
			foreach (@words[ 3 .. $#words ])
			{
				my ($id, $key, $state) = split m{/} or next;
				$all->{states}{$reader}{$key}{"$id " . sprintf '%020d', $fence} = $state if defined $state;
			}
		}
		elsif ($what =~ /^(?:done|fail|extend)[?]?$|^refused$/)
		{
			my $lease = $all->{leases}{$reader}{$part}{$fence};
			$lease->{"$what"} = { line => $all->{line}, words => [ @words[ 3 .. $#words ] ] };
		}
		elsif ($what eq 'next')
		{
			$all->{rows}{ $words[0] } += $words[1];
		}
		elsif ($what eq 'clock')
		{
			push @{ $all->{clock} }, \@words;
		}
		elsif ($what eq 'commit' || $what eq 'control')
		{
			$all->{$what}{$_} = 1 foreach @words;
		}
		else
		{
			push @{ $all->{errors} }, $_;
		}
	}
	return $all;
}

# Let a fault strike, and add up for how long.
sub strike
{
	my ($self, $name, $fault) = @_;
	my $begin = time;
	$self->SUPER::strike($name, $fault);
	$self->{seconds}{$name} += time - $begin;
	return;
}

# Wait until each reader has been given so many more rows.  Between faults, a plan waits for as many
# ids as clients of Torture generate.
sub wait_for_ids
{
	my ($self, $count) = @_;
	$count /= 10;
	my %from = %{ $self->notes->{rows} // {} };
	wait_until(
		'all readers have been given rows',
		sub {
			my $rows = $self->notes->{rows} // {};
			return !grep { ($rows->{$_} // 0) < ($from{$_} // 0) + $count } @{ $self->{readers} };
		});
	return;
}

# Was the clock steady all the time?
sub was_steady
{
	my ($all, $from, $to) = @_;
	my $unsteady;
	foreach (@{ $all->{clock} }, [ 'steady', 9**20 ])
	{
		my ($state, $at) = @$_;
		return if defined $unsteady && $state eq 'steady' && $unsteady < $to && $at > $from;
		$unsteady = $state eq 'steps' ? $unsteady // $at : undef;
	}
	return 1;
}

# Check the rows that a reader of leases got, and acknowledged.  Returns lists of violations by their kind.
# "committed": the ids of all rows of each part, in their order, for a feed whose rows stay.
sub check_reader
{
	my ($self, $reader, $committed) = @_;
	my $all    = $self->notes;
	my $places = $all->{leases}{$reader};
	my %wrong  = (%{ $all->{wrong} // {} });
	my (%given, %handled, %acknowledged);
	my %aside = map { $_ => 1 } map { @{ $_->{ids} } } values %{ $places->{-1} };

	foreach my $part (sort keys %$places)
	{
		my %at;
		@at{ @{ $committed->{$part} } } = 0 .. $#{ $committed->{$part} } if $committed && $part >= 0;
		my $position = '';    # rows below it are acknowledged
		my $most     = 0;     # the highest number of the row at the position
		my $former;
		foreach my $fence (sort { $a <=> $b } keys %{ $places->{$part} })
		{
			my $lease = $places->{$part}{$fence};
			my $name  = "$reader $part $fence";
			my @ids   = @{ $lease->{ids} };
			my ($done, $fail) = @{$lease}{qw(done fail)};
			my $ack    = $done // $fail;
			my $failed = $fail && $fail->{words}[0] ne '-' ? $fail->{words}[0] : undef;
			$given{$_} = 1 foreach @ids;

			# Its end, and the former one
			if (defined $former && !grep { defined $former->{$_} } 'done?', 'fail?')
			{
				my ($asked, $extend) = @{$former}{ 'extend?', 'extend' };
				my $end = $extend ? $extend->{words}[0] + $extend->{words}[1] : $former->{start} + $former->{for};
				push @{ $wrong{'a row was handed out before the lease ended'} },
				  "$name: " . ($end - $lease->{noted}) . ' s too early'
				  if $end > $lease->{noted} && (!$asked || $extend) && was_steady($all, $former->{start}, $lease->{noted});
			}
			if (defined $former)
			{
				foreach my $how ('done', 'fail', 'extend')
				{
					push @{ $wrong{'a session acknowledged for its successor'} }, "$name: former $how"
					  if $former->{$how} && $former->{"$how?"}{line} > $lease->{line};
				}
			}
			$former = $lease;

			if ($part >= 0)
			{
				push @{ $wrong{'rows are out of order'} }, "$name: @ids" if "@ids" ne join ' ', sort @ids;
				push @{ $wrong{'a row was handed out again that was acknowledged'} }, "$name: $ids[0]" if $ids[0] lt $position;
			}
			if (%at)
			{
				my $first = $at{ $ids[0] };
				if (grep { !defined $at{$_} } @ids)
				{
					push @{ $wrong{'a row was handed out that is not in the part'} }, "$name: @ids";
					next;
				}
				push @{ $wrong{'rows were passed over within a batch'} }, "$name: @ids" if $at{ $ids[-1] } - $first != $#ids;
				my @passed = grep { !$aside{$_} } @{ $committed->{$part} }[ $most .. $first - 1 ];
				push @{ $wrong{'rows were passed over between two batches'} }, "$name: @passed" if @passed;
				my $after = defined $failed ? $at{$failed} // $first : $fail ? $first : $first + @ids;
				$most = $ack ? $after : $lease->{'done?'} || $lease->{'fail?'} ? $first + @ids : $first;
			}
			if ($ack)
			{
				my @done = $done ? @ids : defined $failed ? grep { $_ lt $failed } @ids : ();
				foreach (@done)
				{
					push @{ $wrong{'a row was acknowledged twice'} }, "$name: $_" if $acknowledged{$_}++;
				}
				$position = $done[-1] . '+' if @done && $part >= 0;
			}
			if ($done || !$fail && ($lease->{'done?'} || $lease->{'fail?'}))
			{
				$handled{$_} = 1 foreach @ids;
			}
			elsif (defined $failed)
			{
				$handled{$_} = 1 foreach grep { $_ lt $failed } @ids;
			}
		}
	}
	foreach my $id ($committed ? map { @$_ } values %$committed : ())
	{
		push @{ $wrong{'a row was missed'} }, $id if !$given{$id};
		push @{ $wrong{'a row was forgotten'} }, $id if $given{$id} && !$handled{$id};
	}
	$self->{aside} = keys %aside;
	return \%wrong;
}

# Report violations, at most ten of each kind.
sub report
{
	my ($name, $wrong) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(join(', ', map { "$_: " . @{ $wrong->{$_} } } sort keys %$wrong), '', $name);
	foreach my $kind (sort keys %$wrong)
	{
		diag("$kind: $_") foreach grep { defined } @{ $wrong->{$kind} }[ 0 .. 9 ];
	}
	return;
}

1;
