
# A registry for the servers of a test.

package Registry;

use strict;
use warnings;

use TestHelpers;

# A server with a registry, and a role that may ask it.  The arguments are those of
# sno_registry_create().  It may have a clock of its own, a FakeClock.
sub new
{
	my ($class, $name, $arguments, $clock) = @_;
	my $node = new_node($name, has_archiving => 1, allows_streaming => 1);
	defined $clock ? $clock->start_server($node) : $node->start;
	$node->safe_psql(
		'postgres', qq{
CREATE EXTENSION sno_registry;
SELECT sno_registry_create($arguments);
CREATE ROLE asker LOGIN;
GRANT EXECUTE ON FUNCTION sno_registry_renew TO asker;
});
	return bless { node => $node }, $class;
}

sub node { return $_[0]{node}; }

# The settings of a server that asks the registry.  It waits for as long as a busy machine
# may take.
sub settings
{
	my ($self, @more) = @_;
	my $conninfo = $self->{node}->connstr('postgres') . ' user=asker';
	$conninfo =~ s/'/''/g;
	return join "\n", "sno.registry = '$conninfo'", 'sno.max_wait = 3min', @more, '';
}

# Run a query in the registry.
sub query
{
	my ($self, $query) = @_;
	return $self->{node}->safe_psql('postgres', $query);
}

1;
