
# A server that is started beside another one, from a copy of its files.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

my $original = start_node('original', allows_streaming => 1, sql => q{CREATE TABLE t (id sno PRIMARY KEY)});

my $notes   = NotedIds->new;
my $clients = $notes->start_clients(
	$original, 'postgres',
	clients => 4,
	table   => 't');
$notes->wait_for_notes($clients);
$notes->stop_clients($original, $clients);
my $at = "SELECT sno_generate_at(timestamptz '2020-01-01') AS id";
$notes->add('at', $original->safe_psql('postgres', $at));

my $file = $original->safe_psql('postgres',
	"SELECT pg_relation_filepath('sno_catalog.sno_lease')");
$original->stop;
$original->backup_fs_cold('copy');
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($original, 'copy');

# A crash may leave a page that was added to the table and is not in use yet.
$file = $clone->data_dir . "/$file";
append_to_file($file, "\0" x 8192);
my $size = -s $file;
$original->start;
$clone->start;

# The partitions of the rows that meet a condition.
sub in_partitions
{
	my ($server, $condition) = @_;
	return map { $_ => 1 } split /\n/,
	  $server->safe_psql('postgres',
		"SELECT partition FROM sno_catalog.sno_lease WHERE $condition");
}

#
# What sno_reseed() is for.  These two ids are not noted
#
is( decode_id($clone->safe_psql('postgres', $at))->{partition},
	decode_id($original->safe_psql('postgres', $at))->{partition},
	'without sno_reseed(), a copy uses the partition of the original');

#
# sno_reseed() while sessions generate, or could generate at any moment
#
my $idle    = open_session($clone, 'postgres');
my $at_idle = open_session($clone, 'postgres');
my $fetches = open_session($clone, 'postgres');
$idle->query_safe('SELECT sno_generate()');
$at_idle->query_safe($at);
$fetches->query_safe(
	'BEGIN; DECLARE c CURSOR FOR SELECT sno_generate_many(1000000) AS id; FETCH 10 FROM c'
);

# These may find the table locked for a moment.
my $busy =
  $notes->start_clients($clone, 'postgres', table => 't', max_wait => 60_000);
$notes->wait_for_notes($busy);

my %before = in_partitions($clone, 'true');
$clone->safe_psql('postgres', 'SELECT sno_reseed()');
my $reseeded =
  $clone->safe_psql('postgres', 'SELECT ' . unit_of('clock_timestamp()'));
$notes->next_phase;

my @ids = (
	$idle->query_safe(ids_of(1000)),
	$at_idle->query_safe($at),
	$fetches->query_safe('FETCH 100000 FROM c'));
$notes->add('idle sessions', join("\n", @ids));
my %after = map { $_ => 1 } partitions_of(join "\n", @ids);
is(join(',', grep { exists $before{$_} } keys %after),
	'', 'no idle session goes on in a partition that had a row');

# The busy sessions: their ids of units after sno_reseed() returned
$notes->wait_for_notes($busy);
$notes->stop_clients($clone, $busy);
my ($late, $known) = (0, 0);
foreach my $note (@{ $notes->{notes} })
{
	my $id = decode_id($note->[0]);
	next if $note->[1] !~ /client/ || $id->{unit} <= $reseeded;
	$late++;
	$known++ if exists $before{ $id->{partition} };
}
cmp_ok($late, '>', 0, 'busy sessions generate after sno_reseed()');
is($known, 0, 'no busy session goes on in a partition that had a row');
my %own = in_partitions($clone, 'system_identifier <> 0');
is(join(',', grep { !exists $own{$_} } keys %after),
	'', 'idle sessions go on in partitions that have rows of the new holder');
close_session($_) foreach ($idle, $at_idle, $fetches);

#
# The original and the copy at the same time, also after a crash of the copy
#

# Forget the ids of the clone from before sno_reseed(): the original may issue
# them.
$notes = NotedIds->new;
my %phase = (original => 1, clone => 2);

sub both_generate
{
	my %running;
	foreach my $server ($original, $clone)
	{
		$notes->{phase} = $phase{ $server->name };
		$notes->add($server->name . ' at',
			$server->safe_psql('postgres', $at));
		$running{ $server->name } = $notes->start_clients(
			$server, 'postgres',
			clients => 2,
			table   => 't');
	}
	$notes->wait_for_notes($_) foreach values %running;
	foreach my $server ($original, $clone)
	{
		$notes->{phase} = $phase{ $server->name };
		my (undef, $errors) =
		  $notes->stop_clients($server, $running{ $server->name });
		unlike($errors, qr/ERROR/,
			$server->name . ' generates without an error');
	}
	return;
}

both_generate();
$clone->stop('immediate');
start_again($clone);
$phase{clone} = 3;
both_generate();
is(-s $file, $size, 'the page that was never used is still there');
$notes->check('the original and a copy beside it');
is( $clone->safe_psql(
		'postgres',
		'SELECT count(DISTINCT holder) FROM sno_catalog.sno_lease WHERE system_identifier <> 0'
	),
	1,
	'the copy is one new holder');

# A standby cannot become another holder before it is promoted.
my $standby = start_standby($clone, 'standby');
my $session = open_session($standby, 'postgres');
like(
	error_of($session, 'SELECT sno_reseed()'),
	qr/^ERROR:  25006: cannot execute sno_reseed\(\) /m,
	'sno_reseed() is refused on a standby');
close_session($session);

foreach my $server ($original, $clone)
{
	check_log($server);
	$server->stop;
}
done_testing();
