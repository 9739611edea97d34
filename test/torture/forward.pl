# forward.pl PORT SOCKET [MS]
#
# Forwards each connection to the TCP port of this machine to a Unix socket, and delays
# what is sent by some milliseconds in each direction.  To cut the way off, kill this
# process: then connections are refused.  Or stop it: then nothing is answered.

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Time::HiRes qw(time);

my ($port, $path, $delay) = @ARGV;
$delay = ($delay // 0) / 1000;
$SIG{PIPE} = 'IGNORE';

my $listener = IO::Socket::INET->new(
	LocalAddr => '127.0.0.1',
	LocalPort => $port,
	Listen    => 64,
	ReuseAddr => 1) or die "port $port: $!\n";
my $select = IO::Select->new($listener);
my %peer;     # by socket
my @waiting;  # [time, socket, what is to be sent there], undef for the end

sub connected
{
	my $socket = $listener->accept or return;
	my $server = IO::Socket::UNIX->new($path) or return;
	$socket->setsockopt(IPPROTO_TCP, TCP_NODELAY, 1);
	@peer{ $socket, $server } = ($server, $socket);
	$select->add($socket, $server);
	return;
}

while (1)
{
	my $left = @waiting ? $waiting[0][0] - time : undef;
	foreach my $socket ($select->can_read(defined $left && $left < 0 ? 0 : $left))
	{
		if ($socket == $listener)
		{
			connected();
			next;
		}
		my $got = sysread $socket, my $bytes, 65536;
		$select->remove($socket) if !$got;
		push @waiting, [ time + $delay, $peer{$socket}, $got ? $bytes : undef ];
	}
	while (@waiting && $waiting[0][0] <= time)
	{
		my (undef, $to, $bytes) = @{ shift @waiting };
		if (defined $bytes)
		{
			syswrite $to, $bytes;
			next;
		}
		# The end: of both directions, when it has arrived.
		my $from = delete $peer{$to} or next;
		delete $peer{$from};
		$select->remove($to, $from);
		$_->close foreach $to, $from;
	}
}
