
# A failover by Patroni, while both servers make ids: the old primary lives on, because
# its Patroni has stopped.  Then it is rewound, and is the primary once more.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use NotedIds;
use Registry;
use SnoInstall;
use TestHelpers;
use Time::HiRes qw(time);

# Patroni needs a module for etcd, which Debian has as python3-etcd.
foreach my $command (
	'patroni --help',
	'patronictl --help',
	'etcd --help',
	'python3 -c "import etcd"')
{
	plan skip_all => "here is no \"$command\""
	  if system("$command >/dev/null 2>&1") != 0;
}

my $dir      = PostgreSQL::Test::Utils::tempdir_short();
my $log      = $PostgreSQL::Test::Utils::log_path;
my $registry = Registry->new('registry', '1024, 2047, 16');
my $notes    = NotedIds->new;
my %running;    # programs that run, by name

sub start
{
	my ($name, @command) = @_;
	$running{$name} =
	  IPC::Run::start(\@command, '<', '/dev/null', '>>',
		"$log/tool_patroni_$name.log", '2>&1');
	return;
}

sub free_port { return PostgreSQL::Test::Cluster::get_free_port(); }

my $etcd      = '127.0.0.1:' . free_port();
my $etcd_peer = 'http://127.0.0.1:' . free_port();
start(
	'etcd',                          'etcd',
	'--data-dir',                    "$dir/etcd",
	'--listen-client-urls',          "http://$etcd",
	'--advertise-client-urls',       "http://$etcd",
	'--listen-peer-urls',            $etcd_peer,
	'--initial-advertise-peer-urls', $etcd_peer,
	'--initial-cluster',             "default=$etcd_peer");

# A server that Patroni makes and starts, with the folders and the port of a node of
# the test.
sub start_patroni
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my ($host, $port, $data) = ($node->host, $node->port, $node->data_dir);
	my $api        = '127.0.0.1:' . free_port();
	my $bin        = pg_config('bindir');
	my $user       = getpwuid($<);
	my ($conninfo) = $registry->settings =~ /sno.registry = '(.*)'/;
	append_to_file(
		"$dir/$name.yml", qq{
scope: sno
name: $name
etcd3:
  host: $etcd
restapi:
  listen: $api
  connect_address: $api
bootstrap:
  dcs:
    ttl: 10
    loop_wait: 1
    retry_timeout: 3
    postgresql:
      use_pg_rewind: true
      parameters:
        sno.registry: '$conninfo'
  initdb:
  - data-checksums
  - no-sync
  - auth-local: trust
  - auth-host: trust
  pg_hba:
  - local all all trust
  - host all all 127.0.0.1/32 trust
  - host replication all 127.0.0.1/32 trust
postgresql:
  listen: 127.0.0.1:$port
  connect_address: 127.0.0.1:$port
  data_dir: $data
  bin_dir: $bin
  pgpass: $dir/$name.pgpass
  basebackup:
  - checkpoint: fast
  authentication:
    superuser:
      username: $user
    replication:
      username: replicator
  parameters:
    unix_socket_directories: $host
    fsync: 'off'
    sno.server: $name
});
	start($name, 'patroni', "$dir/$name.yml");
	return $node;
}

# Is the server up, as a primary ('f') or as a standby ('t')?
sub is_up
{
	my ($node, $in_recovery) = @_;
	my $patroni = $running{ $node->name };
	die 'Patroni has ended' if defined $patroni && !$patroni->pumpable;
	return (query_if_up($node, 'SELECT pg_is_in_recovery()') // '') eq
	  "$in_recovery\n";
}

my $a = start_patroni('a');
wait_until(
	'a is the primary',
	sub {
		is_up($a, 'f')
		  && query_if_up($a,
			q{SELECT 1 FROM pg_roles WHERE rolname = 'replicator'}) eq "1\n";
	});
$a->safe_psql('postgres',
	'CREATE EXTENSION sno; CREATE TABLE t (id sno PRIMARY KEY)');
my $b = start_patroni('b');
wait_until('b is a standby', sub { is_up($b, 't') });
$a->wait_for_catchup('b');

# A first id waits for the registry.
my @load    = (clients => 2, batch => 1, table => 't', max_wait => 5000);
my @clients = ($notes->start_clients($a, 'postgres', @load));
$notes->wait_for_notes(@clients);

# Without Patroni, nobody stops the old primary when its leadership is over.
my $begin = time;
$running{a}->signal('KILL');
(delete $running{a})->finish;
wait_until('b is promoted', sub { is_up($b, 'f') });
my $promoted = time;
$notes->next_phase;
push @{ $notes->{notes} },
  [ $b->safe_psql('postgres', 'SELECT sno_generate()'), 'first', 1, '' ];
my $end = time;
note sprintf(
	'the failover took %.1f s, the first id after it %.3f s',
	$promoted - $begin,
	$end - $promoted);

push @clients, $notes->start_clients($b, 'postgres', @load);
$notes->wait_for_notes($_) foreach @clients;
ok(is_up($a, 'f') && is_up($b, 'f'), 'both are primaries, and make ids');
foreach my $node ($a, $b)
{
	my ($noted, $errors) = $notes->stop_clients($node, shift @clients);
	unlike($errors, qr/ERROR/,
		$node->name . " made $noted ids without an error");
}

# Patroni comes back.  It makes the old primary a standby by pg_rewind.
start('a', 'patroni', "$dir/a.yml");
wait_until('a is a standby', sub { is_up($a, 't') });
$b->wait_for_catchup('a');
is( slurp_file($a->data_dir . '/sno.grants'),
	slurp_file($b->data_dir . '/sno.grants'),
	'pg_rewind brings a the grants file of b');
wait_until(
	'a is the primary again',
	sub {
		system_log(
			'patronictl', '-c',          "$dir/a.yml", 'switchover',
			'sno',        '--candidate', 'a',          '--force');
		return is_up($a, 'f');
	});
$notes->next_phase;
push @clients, $notes->start_clients($a, 'postgres', @load);
$notes->wait_for_notes(@clients);
my (undef, $errors) = $notes->stop_clients($a, @clients);
unlike($errors, qr/ERROR/, 'a makes ids again without an error');
$notes->check('Patroni');

my %blocks;
$blocks{ $_->[2] }{ int(decode_id($_->[0])->{partition} / 16) } = 1
  foreach @{ $notes->{notes} };
is_deeply(
	[ map { scalar keys %$_ } @blocks{ 0, 1, 2 } ],
	[ 1, 1, 1 ],
	'each time one block is used');
my %all = map { %$_ } values %blocks;
is(scalar keys %all, 3, '... and each time another one');

# Patroni gives all its servers one cluster_name.
is( $registry->query(
		q{SELECT string_agg(DISTINCT server, ',') FROM sno_registry.blocks}),
	'a,b',
	'the registry knows them by sno.server');

check_log($_) foreach $a, $b;
done_testing();

# What Patroni started ends with it, or may live on.
END
{
	local $?;
	$_->kill_kill foreach grep { defined } @running{ 'a', 'b' };
	system_log('pg_ctl', '-D', $_->data_dir, '-m', 'immediate', '-w', 'stop')
	  foreach grep { defined } $a, $b;
	$running{etcd}->kill_kill if defined $running{etcd};
}
