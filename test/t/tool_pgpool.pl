
# pgpool-II in front of a primary and a standby.  It sends queries to the standby, but not those
# that call a volatile function.  Watermarks, and rows of readers, are returned by stable functions
# of the primary.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my ($pgpool) = grep { -x } map { "$_/pgpool" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'pgpool-II is not installed' unless defined $pgpool;

my $primary = start_node('primary', allows_streaming => 1, sql => q{
CREATE EXTENSION sno_flakes;
SELECT sno_flake_create_generator('people', 'snowflake');
CREATE TABLE t (id sno PRIMARY KEY DEFAULT sno_generate(5), flake bigint DEFAULT sno_flake_generate('people'));
CREATE EXTENSION sno_feeds;
SELECT sno_feed_create('t'), sno_feed_create_reader('t', 'r')});
my $standby = start_standby($primary, 'standby');
$primary->wait_for_catchup($standby);

my $dir  = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $user = getpwuid($<);

# Which server answers
my $where = q{SELECT current_setting('port')};

# The line of doc/operations.md
my ($pattern) = slurp_file("$FindBin::RealBin/../../doc/operations.md") =~ /^(primary_routing_query_pattern_list = .*)$/m;

sub start_pgpool
{
	my (@lines) = @_;
	my ($n, @backends) = (0);
	foreach my $node ($primary, $standby)
	{
		# All that may be balanced goes to the standby.
		push @backends,
		  sprintf("backend_hostname%d = '%s'\nbackend_port%d = %d\nbackend_weight%d = %d\nbackend_flag%d = 'DISALLOW_TO_FAILOVER'\n",
			$n, $node->host, $n, $node->port, $n, $n, $n);
		$n++;
	}
	open(my $config, '>', "$dir/pgpool.conf") or die $!;
	print $config join("\n", @backends, @lines, <<"END");

backend_clustering_mode = 'streaming_replication'
listen_addresses = ''
port = $port
socket_dir = '$dir'
unix_socket_directories = '$dir'
pcp_port = ${\PostgreSQL::Test::Cluster::get_free_port()}
pcp_socket_dir = '$dir'
pcp_listen_addresses = ''
pid_file_name = '$dir/pid'
logdir = '$dir'
work_dir = '$dir'
load_balance_mode = on
num_init_children = 4
enable_pool_hba = off
sr_check_period = 1
sr_check_user = '$user'
sr_check_database = 'postgres'
END
	close $config;
	my $pooler = IPC::Run::start(
		[ $pgpool, '-n', '-f', "$dir/pgpool.conf", '-a', '/dev/null', '-F', '/dev/null' ],
		'<', '/dev/null', '&>', "$dir/output");
	wait_until('the pooler knows the primary and the standby', sub { ask($where) eq $standby->port });
	return $pooler;
}

sub stop_pgpool
{
	my ($pooler) = @_;
	$pooler->signal('INT');
	$pooler->finish;
	return;
}

# The output of a query by way of the pooler, errors included.
sub ask
{
	my ($query) = @_;
	my $output = '';
	IPC::Run::run([ 'psql', '-XqAt', '-v', 'VERBOSITY=sqlstate', '-c', $query, "host=$dir port=$port user=$user dbname=postgres" ],
		'<', '/dev/null', '>&', \$output);
	chomp $output;
	return $output;
}

my %made = (
	'SELECT sno_generate(1)'                     => qr/^[2-9a-x]{16}$/,
	'SELECT count(*) FROM sno_generate_many(20)' => qr/^20$/,
	q{SELECT sno_flake_generate('people')}       => qr/^\d+$/,
	'INSERT INTO t DEFAULT VALUES RETURNING id'  => qr/^[2-9a-x]{16}$/);

# Each returns one row.
my @read = map { "SELECT count(*) FROM sno_feed_$_(NULL::t, 'r', 1)" } qw(next take);

my $pooler = start_pgpool();
like(ask($_), $made{$_}, "$_: the primary makes ids") foreach sort keys %made;
like(ask('SELECT sno_watermark()'), qr/25006/, 'a watermark is asked for on the standby');
like(ask(q{SELECT sno_flake_watermark('people')}), qr/25006/, 'and one of flakes');
like(ask($_), qr/25006/, "on the standby: $_") foreach @read;
stop_pgpool($pooler);

$pooler = start_pgpool($pattern);
like(ask($_), $made{$_}, "$_: the primary makes ids") foreach sort keys %made;
is(ask($where), $standby->port, 'other queries still go to the standby');
like(ask('SELECT sno_watermark()'), qr/^[2-9a-x]{16}$/, 'a watermark of the primary');
like(ask(q{SELECT sno_flake_watermark('people')}), qr/^\d+$/, 'and one of flakes');
is(ask('SELECT count(*) FROM t WHERE id < (SELECT sno_watermark())'), 2, 'rows up to the watermark');
is(ask($_), 1, "on the primary: $_") foreach @read;
stop_pgpool($pooler);

$standby->stop;
$primary->stop;
done_testing();
