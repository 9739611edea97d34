
# A clock for servers, which the tests set: by libfaketime, which is Debian's
# package faketime.

package FakeClock;

use strict;
use warnings;

use TestHelpers;

# A clock that shows the real time
sub new
{
	my ($class)   = @_;
	my ($library) = glob('/usr/lib/*/faketime/libfaketime.so.1');
	die 'libfaketime is not installed' if !defined $library;

	my $dir  = PostgreSQL::Test::Utils::tempdir('clock');
	my $self = bless { library => $library, file => "$dir/clock" }, $class;
	$self->set_offset(0);
	return $self;
}

# Set the clock to a number of seconds after the real time.
sub set_offset
{
	my ($self, $seconds) = @_;
	return $self->_write(sprintf '%+.6f', $seconds);
}

# Stop the clock at a time, in UTC.
sub stop_at
{
	my ($self, $time) = @_;
	return $self->_write($time);
}

# Let the clock go so many times as fast as the real time, from when a process
# begins to use it.
sub speed_up
{
	my ($self, $factor) = @_;
	return $self->_write("+0 x$factor");
}

sub _write
{
	my ($self, $clock) = @_;
	my $file = $self->{file};
	append_to_file("$file.new", "$clock\n");
	rename "$file.new", $file or die "could not set the clock: $!";
	return;
}

# Start a server that has this clock.  Its processes look for the offset each time, or, if it
# is cached, once a second.  The library allocates memory to look, also in a signal handler.
# That breaks a process which the signal interrupted while it allocated memory by itself, as
# XML does all the time.  If the offset is cached, the handler doesn't look.  The monotonic clock
# is the real one, unless it is to be set as well.
sub start_server
{
	my ($self, $node, $cached, $monotonic) = @_;
	local $ENV{LD_PRELOAD}                   = $self->{library};
	local $ENV{FAKETIME_TIMESTAMP_FILE}      = $self->{file};
	local $ENV{FAKETIME_NO_CACHE}            = $cached ? 0 : 1;
	local $ENV{FAKETIME_CACHE_DURATION}      = 1;
	local $ENV{FAKETIME_DONT_FAKE_MONOTONIC} = $monotonic ? 0 : 1;
	start_again($node);
	return;
}

1;
