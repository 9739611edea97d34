
# Servers that share a registry, under load, while one fault after the other strikes
# them, the registry and the way between: clones are started beside the originals,
# clocks step by a day, the registry forgets what it granted.  No id is issued twice, in
# all databases together.  So it is with flakes, whose nodes are granted, too.  The control is
# the same without the registry: there, clones issue the ids of their originals.
#
# To wait for grants to end, the clocks of all servers are moved on by three days.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IO::Socket::INET;
use IPC::Run ();
use TestHelpers;
use Torture;

my $dir  = PostgreSQL::Test::Utils::tempdir('servers');
my $hour = 3600;

# Where clients generate: places a to c are servers, a has two databases, and a clone has
# the last place.  By seat of the clients, which is the place or "other".
my @places = qw(a b c);
my %server;
my $clone;
my $clones  = 0;
my $torture = Torture->new;

#
# Clocks
#

my $days = 0;      # seconds by which all clocks were moved on
my %ahead;         # seconds by which each is ahead of that, by place
my $losses = 0;    # of grants by the registry, since the clocks were moved on

sub set_clocks
{
	my (%change) = @_;
	%ahead = (%ahead, %change);
	Torture::set_own_clock("$dir/$_", $days + $ahead{$_}) foreach keys %ahead;
	return;
}

# All grants are over, and the parts of the registry that were closed are open again.
sub three_days_pass
{
	$days += 76 * $hour;
	set_clocks();
	$losses = 0;
	return;
}

sub start
{
	my ($place, $node) = @_;
	$torture->start_server($node, "$dir/$place");
	return;
}

#
# The registry, and the ways to it
#

# Two servers, of which one is a standby.  "way 0" leads each server to the first one, by
# a forwarder of its own, "way 1" to the second one.
my @registry;
my $restored = 0;
my %port;
my %forwarder;

# Forward what a server sends there.
sub pave
{
	my ($place, $way) = @_;
	my $port = $port{"$place $way"};
	return if $forwarder{"$place $way"};
	my $run = IPC::Run::start(
		[   $^X,   "$FindBin::RealBin/../torture/forward.pl",
			$port, "$dir/way$way" ]);
	wait_until(
		'a forwarder listens',
		sub {
			IO::Socket::INET->new(
				PeerAddr => '127.0.0.1',
				PeerPort => $port);
		});
	$forwarder{"$place $way"} = $run;
	return;
}

# Refuse connections there.
sub block
{
	my ($place, $way) = @_;
	my $run = delete $forwarder{"$place $way"} or return;
	$run->kill_kill;
	return;
}

sub pave_all
{
	my ($way, @there) = @_;
	pave($_, $way) foreach @there ? @there : (@places, 'clone');
	return;
}

sub block_all
{
	my ($way, @there) = @_;
	block($_, $way) foreach @there ? @there : (@places, 'clone');
	return;
}

# Let a way lead to a server.
sub lead
{
	my ($way, $node) = @_;
	unlink "$dir/way$way";
	symlink $node->host . '/.s.PGSQL.' . $node->port, "$dir/way$way" or die $!;
	return;
}

sub settings_of
{
	my ($place) = @_;
	my @ports = map { $port{"$place $_"} } 0, 1;
	return join "\n",
	  'sno.registry = ' . "'host=127.0.0.1,127.0.0.1 port=$ports[0],$ports[1]"
	  . " dbname=postgres user=asker target_session_attrs=read-write'",
	  "cluster_name = '$place'", '';
}

# The primary is $registry[$primary], its standby the other one.
my $primary = 0;

sub start_registry_standby
{
	my $way  = 1 - $primary;
	my $name = 'registry' . ++$restored;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$registry[$primary]->backup($name);
	$node->init_from_backup($registry[$primary], $name, has_streaming => 1);
	$node->append_conf('postgresql.conf',
		"recovery_target = ''\nrestore_command = ''");
	start('registry', $node);
	$registry[$way] = $node;
	lead($way, $node);
	pave_all($way);
	return;
}

# Stop the standby, and remove it.
sub remove_standby
{
	my $way  = 1 - $primary;
	block_all($way);
	$registry[$way]->stop('immediate');
	$registry[$way]->clean_node;
	return;
}

sub stop_registry
{
	block_all($primary);
	$registry[$primary]->stop('immediate');
	return;
}

sub start_registry
{
	start('registry', $registry[$primary]);
	pave_all($primary);
	return;
}

# Before the registry loses grants: of its four parts, one must be open afterwards.  A
# loss closes the parts of all holders that the registry remembers.  It forgets those of
# before, even if its clock was ahead by a day, at the next request.
sub before_loss
{
	if ($losses == 2)
	{
		three_days_pass();
		renew($torture->one_of(@places));
	}
	$losses++;
	return;
}

# Have blocks granted that others never had, and issue ids there: a server loses its
# file, so it is a new holder.
sub have_granted
{
	my ($place) = @_;
	my $node = $server{$place};
	$node->stop('immediate');
	unlink $node->data_dir . '/sno.grants';
	start($place, $node);
	$torture->wait_for_ids(20, seats_of($place));
	return;
}

# A server asks the registry at its first id after a start.
sub renew
{
	my (@there) = @_;
	foreach my $place (@there)
	{
		$server{$place}->stop('immediate');
		start($place, $server{$place});
	}
	$torture->wait_for_ids(20, map { seats_of($_) } @there);
	return;
}

#
# Servers
#

sub seats_of { return $_[0] eq 'a' ? ('a', 'other') : $_[0]; }

# Note the rows of the table of the clients, and remove them: in a transaction that no
# client can commit a row beside.  Returns its session.
sub take_rows
{
	my ($node, $dbname) = @_;
	my $file    = "$dir/rows" . @{ $torture->{rows} };
	my $session = open_session($node, $dbname // 'postgres');
	$session->query_safe(
		"BEGIN; LOCK TABLE t; COPY t TO '$file' (FORMAT binary); TRUNCATE t");
	push @{ $torture->{rows} }, $file;
	return $session;
}

sub collect_rows
{
	my $session = take_rows(@_);
	$session->query_safe('COMMIT');
	close_session($session);
	return;
}

sub kill_server
{
	my ($place) = @_;
	kill_postmaster($server{$place});
	start($place, $server{$place});
	return;
}

# The clone that generates is removed; its rows are noted.
sub remove_clone
{
	return if !defined $clone;
	$torture->unseat_clients('clone');
	my $session = take_rows($clone);
	$clone->stop('immediate');
	drop_session($session);
	$clone->clean_node;
	undef $clone;
	return;
}

# Start what was copied from a server beside it.  It generates until the next clone is
# made.
sub start_clone
{
	my ($node, $promote) = @_;
	$node->append_conf('postgresql.conf', settings_of('clone')) if @registry;
	set_clocks(clone => 0);
	start('clone', $node);
	$node->promote if $promote;
	# Its rows are those of the original.
	$node->safe_psql('postgres', 'TRUNCATE t');
	$clone = $node;
	$torture->seat_clients('clone', $node, 'postgres');
	$torture->get_on;
	return;
}

# By pg_basebackup; it may be a standby that is promoted.
sub clone_by_backup
{
	my ($standby) = @_;
	my $original = $server{ $torture->one_of(@places) };
	my $name     = 'clone' . ++$clones;
	my $node     = PostgreSQL::Test::Cluster->new($name);

	remove_clone();
	collect_rows($original);
	$original->backup($name);
	$node->init_from_backup($original, $name, has_streaming => $standby);
	system_or_bail('rm', '-rf', $original->backup_dir . "/$name");
	start_clone($node, $standby);
	return;
}

# By copying the folder of a server that was stopped, or that crashed.
sub clone_by_copy
{
	my ($mode)   = @_;
	my $place    = $torture->one_of(@places);
	my $original = $server{$place};
	my $node     = PostgreSQL::Test::Cluster->new('clone' . ++$clones);

	remove_clone();
	collect_rows($original);
	$mode eq 'kill' ? kill_postmaster($original) : $original->stop($mode);
	mkdir $node->basedir;
	system_or_bail('cp', '-a', $original->data_dir, $node->data_dir);
	unlink $node->data_dir . '/postmaster.pid';
	$node->append_conf('postgresql.conf', 'port = ' . $node->port);
	# Without a registry, both go on in the partitions whose leases are over.
	three_days_pass() if !@registry;
	start($place, $original);
	start_clone($node);
	return;
}

# The clock of a server, or of the registry, steps.  Ids may be refused until it is right
# again.
sub step
{
	my ($place, @offsets) = @_;
	foreach my $offset (@offsets)
	{
		set_clocks($place => $offset);
		$place eq 'registry'
		  ? renew($torture->one_of(@places))
		  : $torture->wait_for_answers(seats_of($place));
	}
	set_clocks($place => 0);
	return;
}

my @node_faults = (
	'server: kill -9'        => sub { kill_server($torture->one_of(@places)); },
	'server: immediate stop' => sub { renew($torture->one_of(@places)); },
	'clone by pg_basebackup' => sub { clone_by_backup(0); },
	'clone by cp of a stopped server' => sub { clone_by_copy('fast'); },
	'clone by cp of a crashed server' =>
	  sub { clone_by_copy($torture->one_of('immediate', 'kill')); },
	'standby promoted, primary alive' => sub { clone_by_backup(1); },
	'clock forward by up to a day' => sub {
		step($torture->one_of(@places), map { $_ * $hour } 1, 20, 24);
	},
	'clock back by up to a day' => sub {
		step($torture->one_of(@places), map { $_ * $hour } -1, -20, -24);
	});

my @registry_faults = (
	'cut off: refused' => sub {
		my $place = $torture->one_of(@places);
		block($place, $_) foreach 0, 1;
		kill_server($place);
		$torture->get_on;
		pave($place, $_) foreach 0, 1;
	},
	'cut off: silent' => sub {
		my $place = $torture->one_of(@places);
		my @runs  = map { $forwarder{"$place $_"} } 0, 1;
		$_->signal('STOP') foreach @runs;
		kill_server($place);
		$torture->get_on;
		$_->signal('CONT') foreach @runs;
	},
	'cut off until its grant is over' => sub {
		my $place = $torture->one_of(@places);
		block($place, $_) foreach 0, 1;
		three_days_pass();
		$torture->wait_for_answers(seats_of($place));
		have_granted((grep { $_ ne $place } @places)[0]);
		pave($place, $_) foreach 0, 1;
	},
	'three days pass' => sub { three_days_pass(); },
	'registry: clock steps by a day' => sub {
		step('registry', map { $_ * $hour } $torture->shuffled(-24, 24));
	},
	'registry: killed' => sub {
		block_all($primary);
		kill_postmaster($registry[$primary]);
		kill_server($torture->one_of(@places));
		$torture->get_on;
		start_registry();
	},
	'registry: promoted with loss' => sub {
		before_loss();
		my $successor = $registry[ 1 - $primary ];
		my ($old, $new) = $torture->shuffled(@places);
		$registry[$primary]->wait_for_catchup($successor);
		block_all(1 - $primary);
		$successor->stop('immediate');
		have_granted($old);
		stop_registry();
		start('registry', $successor);
		$successor->promote;
		$primary = 1 - $primary;
		pave_all($primary);
		have_granted($new);
		$registry[ 1 - $primary ]->clean_node;
		start_registry_standby();
	},
	'registry: promoted, and the old one alive' => sub {
		before_loss();
		my $successor = $registry[ 1 - $primary ];
		my ($cut, @others) = $torture->shuffled(@places);
		$registry[$primary]->wait_for_catchup($successor);
		$successor->promote;
		# One server still reaches the old one, the others reach the new one.
		block($cut, 1 - $primary);
		block_all($primary, @others, 'clone');
		have_granted($_) foreach $cut, @others;
		block($cut, $primary);
		$registry[$primary]->stop('immediate');
		$registry[$primary]->clean_node;
		$primary = 1 - $primary;
		pave($cut, $primary);
		start_registry_standby();
	},
	'registry: restored to an earlier point' => sub {
		before_loss();
		my $node = PostgreSQL::Test::Cluster->new('registry' . ++$restored);
		my ($old, $new) = $torture->shuffled(@places);
		$registry[$primary]->backup($node->name);
		have_granted($old);
		stop_registry();
		$node->init_from_backup($registry[$primary], $node->name);
		unlink $node->data_dir . '/standby.signal';
		$node->append_conf(
			'postgresql.conf', qq{
restore_command = 'cp $dir/archive/%f %p'
recovery_target = immediate
recovery_target_action = promote
});
		$node->append_conf('recovery.signal', '');
		start('registry', $node);
		$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
		  or die 'no end of recovery';
		remove_standby();
		$registry[$primary]->clean_node;
		$registry[$primary] = $node;
		lead($primary, $node);
		pave_all($primary);
		have_granted($new);
		start_registry_standby();
	},
	'registry: disk restored, sno_registry_report_loss()' => sub {
		before_loss();
		my $node = $registry[$primary];
		my $data = $node->data_dir;
		my ($old, $new) = $torture->shuffled(@places);
		stop_registry();
		system_or_bail('cp', '-a', $data, "$dir/snapshot");
		start_registry();
		have_granted($old);
		stop_registry();
		system_or_bail('rm', '-rf', $data);
		system_or_bail('mv', "$dir/snapshot", $data);
		unlink "$data/postmaster.pid";
		start('registry', $node);
		$node->safe_psql('postgres', 'SELECT sno_registry_report_loss()');
		pave_all($primary);
		have_granted($new);
		remove_standby();
		start_registry_standby();
	});

# The registry client waits for 20 s.  The clock must not make it wait for longer.
push @registry_faults, (
	'cut off: silent, and the clock back' => sub {
		my $place  = $torture->one_of(@places);
		my @runs   = map { $forwarder{"$place $_"} } 0, 1;
		my $client = sub {
			return $server{$place}->safe_psql('postgres',
				q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'sno registry client'}
			);
		};
		my $pid;
		$_->signal('STOP') foreach @runs;
		kill_server($place);
		wait_until('the registry client asks', sub { $pid = $client->() });
		set_clocks($place => -24 * $hour);
		wait_until('the registry client gives up', sub { $client->() ne $pid });
		set_clocks($place => 0);
		$_->signal('CONT') foreach @runs;
	}) if $torture->{minutes};

#
# The run
#

# Let faults strike, while clients generate.
sub run_torture
{
	my (@plan) = @_;
	$torture->under('none');
	$torture->seat_clients($_, $server{$_}, 'postgres') foreach @places;
	$torture->seat_clients('other', $server{a}, 'other');
	$torture->start_clients(
		(map { "commit:$_" } @places, 'other', 'clone'),
		'bulk:b', 'bulk:clone', 'brief:c', 'brief:other',
		(map { "snowflake:$_" } @places, 'other', 'clone'),
		@registry ? () : map { "typed:$_" } @places, 'clone');
	$torture->get_on;
	$torture->carry_out(@plan);
	$torture->stop_clients;
	remove_clone();
	collect_rows($server{$_}) foreach @places;
	collect_rows($server{a}, 'other');
	return;
}

# The clients of some kinds, by their numbers
sub clients_of
{
	my ($kinds) = @_;
	return [ grep { $torture->{kinds}[$_] =~ $kinds } 0 .. $#{ $torture->{kinds} } ];
}

# How many of the flakes that clients of a kind noted were issued twice
sub flakes_twice
{
	my ($kind) = @_;
	my $verdict = $torture->judge(clients => clients_of(qr/^$kind:/));
	note("$kind: $verdict->{ids} ids, $verdict->{twice} twice");
	cmp_ok($verdict->{ids}, '>', 0, "$verdict->{ids} ids of clients of kind $kind");
	return $verdict->{twice};
}

# All rows of all databases, in one table.  Returns the error, if there is one.
sub merge
{
	my $node = $server{b};
	$node->safe_psql(
		'postgres',
		join ';',
		'CREATE TABLE merged (id sno)',
		map { "COPY merged FROM '$_' (FORMAT binary)" } @{ $torture->{rows} });
	my ($code, $out, $err) =
	  $node->psql('postgres', 'ALTER TABLE merged ADD PRIMARY KEY (id)');
	return $code == 0 ? '' : $err;
}

set_clocks(map { $_ => 0 } @places, 'clone', 'registry');
foreach my $place (@places)
{
	my $node = $server{$place} = new_node($place, allows_streaming => 1, conf => qq{
log_replication_commands = off
max_connections = 60
sno.lease_duration = 1s
});
	start($place, $node);
	$node->safe_psql('postgres',
		q{CREATE EXTENSION sno_flakes CASCADE; CREATE TABLE t (id sno NOT NULL);
SELECT sno_flake_create_generator('snowflake', 'snowflake'), sno_flake_create_generator('typed', 'discord', }
		  . (1 + keys(%server)) . ')');
}
$server{a}->safe_psql('postgres', 'CREATE DATABASE other TEMPLATE postgres');

# The control: without the registry
$torture->{minutes} /= 5;
run_torture($torture->{minutes} ? @node_faults : @node_faults[ 6 .. 9 ]);
note('The control, without a registry:');
my $ids     = qr/^(?!snowflake|typed)/;
my $control = $torture->judge(clients => clients_of($ids));
$torture->show($control);
cmp_ok($control->{twice}, '>', 0,
	"without the registry, $control->{twice} ids are issued twice");
cmp_ok(flakes_twice('typed'), '>', 0, 'and so are flakes of nodes that were typed in');

# With the registry
$torture = Torture->new;
$torture->{minutes} *= 4 / 5;
foreach my $place (@places, 'clone')
{
	$port{"$place $_"} = PostgreSQL::Test::Cluster::get_free_port() foreach 0, 1;
}
{
	mkdir "$dir/archive";
	my $node = $registry[0] = new_node('registry', allows_streaming => 1, conf => qq{
archive_mode = on
archive_command = 'cp %p $dir/archive/%f'
wal_sender_timeout = 0
wal_receiver_timeout = 0
});
	start('registry', $node);
	$node->safe_psql(
		'postgres', q{
CREATE EXTENSION sno_registry;
SELECT sno_registry_create(1024, 4095, 4);
SELECT sno_registry_add_layout('1288834974657/1/41/10/12', 0, 1023, 2);
CREATE ROLE asker LOGIN;
GRANT EXECUTE ON FUNCTION sno_registry_renew TO asker;
});
	lead(0, $node);
	pave_all(0);
	start_registry_standby();
}
foreach my $place (@places)
{
	my $node = $server{$place};
	$node->append_conf('postgresql.conf', settings_of($place));
	$node->stop;
	start($place, $node);
}
run_torture(@node_faults, @registry_faults);
is(flakes_twice('snowflake'), 0, 'no flake was issued twice');
$torture->check(clients => clients_of($ids));
is(merge(), '', 'all rows of all databases go into one table with a key');
$torture->check_errors(map { $_ => qr/^53400$/ } @{ $torture->{faults} });
$torture->check_logs;

$_->stop foreach values %server, @registry;
done_testing();

# However the test ends
END
{
	local $?;
	block_all($_) foreach 0, 1;
}
