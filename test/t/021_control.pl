
# The control: the same clients, fault and oracle find that PostgreSQL's own
# sequences issue values again which clients saw before a crash, in transactions
# whose WAL was not flushed yet.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Torture;

my $torture = Torture->new;
my $server  = PostgreSQL::Test::Cluster->new('main');
$server->init;
$server->append_conf(
	'postgresql.conf', q{
restart_after_crash = on
log_statement = none
wal_writer_delay = 10s
});
$server->start;
$server->safe_psql('postgres',
	'CREATE EXTENSION sno; CREATE SEQUENCE s; CREATE TABLE t (id sno)');

$torture->lead_clients($server);
$torture->under('none');
$torture->start_clients(('sequence') x 2, ('bulk') x 2);
$torture->wait_for_ids(1000);
for (1 .. 3)
{
	$torture->strike(
		'kill -9 of a session',
		sub {
			$torture->kill_session;
			$torture->wait_for_ids(1000);
		});
}
$torture->stop_clients;

my $sequences = $torture->judge(clients => [ 0, 1 ]);
$torture->show($sequences);
cmp_ok($sequences->{twice}, '>', 0,
	"$sequences->{twice} of $sequences->{ids} values of a sequence were issued twice"
);
my $ids = $torture->judge(clients => [ 2, 3 ]);
$torture->show($ids);
is($ids->{twice}, 0, "none of $ids->{ids} ids was");
$server->stop;
done_testing();
