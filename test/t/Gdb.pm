
# gdb leads a process to a point of the code, and holds it there, also where no lock could.

package Gdb;

use strict;
use warnings;

use IPC::Run ();
use POSIX ();
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

my @all;

# Begin to lead a process.  It is stopped until the first `go`.  The way is a list of commands of
# gdb, and of two more: `go` goes on to a breakpoint, and `back` to the caller.  The process is
# held at the end of the way.
sub lead
{
	my ($class, $pid, $way) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir('gdb');
	my $self = bless { map { $_ => "$dir/$_" } qw(script log stopped held release) }, $class;

	# All signals reach the process, except the one that ends gdb.  The symbols of other libraries
	# would take most of the time.
	append_to_file($self->{script}, <<"END");
sharedlibrary sno
shell touch $self->{stopped}
handle all nostop noprint pass
define check
  if \$_siginfo.si_signo != @{[POSIX::SIGTRAP]}
    detach
    quit
  end
end
define go
  continue
  check
end
define back
  finish
  check
end
$way
shell touch $self->{held}; while [ -d $dir ] && [ ! -e $self->{release} ]; do sleep 0.01; done
END
	$self->{run} =
	  IPC::Run::start(
		[ qw(gdb -nx -batch -iex), 'set auto-solib-add off', '-x', $self->{script}, '-p', $pid ], '&>', $self->{log});
	push @all, $self;
	usleep(10_000) while !-e $self->{stopped} && $self->runs;
	return $self;
}

# Is the process held?
sub holds
{
	my ($self) = @_;
	return -e $self->{held};
}

# Is it led, or held?  It may have ended.
sub runs
{
	my ($self) = @_;
	return $self->{run}->pumpable;
}

# Let it go on, if it still is.
sub release
{
	my ($self) = @_;
	append_to_file($self->{release}, '');
	$self->{run}->finish;
	return;
}

# Let it go on, though it isn't held yet.  It may be at this moment, so it needs both.
sub give_up
{
	my ($self) = @_;
	$self->{run}->signal('INT');
	$self->release;
	return;
}

# However the test ends
END
{
	append_to_file($_->{release}, '') foreach @all;
}

1;
