
# Disks that stall, are full, or damage their data.  A session waits, or meets
# an error that names the cause.  No id is issued before its lease is on disk.
# When the disk is good again, sessions go on by themselves.
#
# The small disks are file systems in memory that only this test sees: it runs
# in namespaces of its own, as the same user as outside of them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

BEGIN
{
	my @enter   = qw(unshare --user --map-root-user --mount);
	my ($group) = split ' ', $(;

	if ($ENV{SNO_SMALL_DISKS})
	{
		# This is the process in the namespaces.
	}
	elsif (system("@enter true 2>/dev/null") != 0)
	{
		print "1..0 # SKIP namespaces are not permitted here\n";
		exit;
	}
	else
	{
		$ENV{SNO_SMALL_DISKS} = 1;
		exec @enter, 'sh', '-ec', q{
mount -t tmpfs -o size=2m,mode=777 data /mnt
mount -t tmpfs -o size=24m,mode=777 wal /media
user=$1 group=$2
shift 2
exec unshare --user --map-user="$user" --map-group="$group" "$@"},
		  'sh', $<, $group, $^X, (map { "-I$_" } @INC), $0;
	}
}

use NotedIds;
use TestHelpers;
use Torture;

my ($data_disk, $wal_disk) = ('/mnt', '/media');
my $torture = Torture->new;
my $notes   = NotedIds->new;
my $node    = PostgreSQL::Test::Cluster->new('main');
my @options = ('--waldir', "$wal_disk/wal", '--wal-segsize', '1');

# With checksums, all kinds of damage to a page would raise the same error.
push @options, '--no-data-checksums' if $node->pg_version >= 18;
$node->init(extra => \@options);
$node->append_conf(
	'postgresql.conf', q{
fsync = on
log_statement = none
autovacuum = off
min_wal_size = 2MB
max_wal_size = 4MB
sno.lease_duration = 1h
});
$torture->start_server($node);
mkdir "$data_disk/small" or die "$data_disk/small: $!";
$node->safe_psql('postgres', 'CREATE EXTENSION sno');
$node->safe_psql('postgres',
	"CREATE TABLESPACE small LOCATION '$data_disk/small'");
$notes->next_phase;

sub generate
{
	my ($session) = @_;
	return $notes->add($session, $session->query_safe(ids_of(100)));
}

# A new session has to lease a partition, because the sessions before it keep
# theirs.
my @busy;

sub busy_session
{
	my $session = open_session($node, 'postgres', 'sno.max_wait = 0');
	generate($session);
	push @busy, $session;
	return $session;
}

sub sql { return $node->safe_psql('postgres', $_[0]); }

# Crash the server if it still runs, start it, and check that what was noted
# lies within leases on disk.
sub crash
{
	my ($what) = @_;
	$node->stop('immediate') if defined $node->{_pid};
	drop_session($_) foreach @busy;
	@busy = ();
	$torture->start_server($node);
	$notes->check_leases($node, 'postgres', $what);
	$notes->next_phase;
	return;
}

# Wait until this number of sessions wait for a flush.
sub wait_for_flushes
{
	my ($count) = @_;
	$node->poll_query_until('postgres',
		"SELECT count(*) = $count FROM pg_stat_activity WHERE wait_event ~* '^wal(sync|write)\$' AND backend_type = 'client backend'"
	) or die "no $count sessions wait for a flush";
	return;
}

#
# Flushes that stall: a session with a lease goes on, a new lease waits
#
my $leased = busy_session();
my @new    = map { open_session($node, 'postgres', "sno.partitions = '$_'") } 60001 .. 60003;
my @pids   = map { $_->{pid} } @new;
my $leases = sql('SELECT count(*) FROM sno_catalog.sno_lease');
$torture->stall_flushes(1);
send_query($_, ids_of(10)) foreach @new;
wait_for_flushes(3);
generate($leased);
pass('a session with a lease goes on while flushes stall');
sql("SELECT pg_cancel_backend($pids[1]), pg_terminate_backend($pids[2])");
$torture->stall_flushes(0);
my ($ids, $err) = receive($new[0]);
is($err, '', 'a session that waits for a flush goes on after it');
$notes->add($new[0], $ids);
like(
	(receive($new[1]))[1],
	qr/^ERROR:  57014: /m,
	'a session that waits for a flush can be cancelled');
generate($new[1]);
drop_session($new[2]);
my $next = open_session($node, 'postgres');
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pids[2]");
generate($next);
is(sql('SELECT count(*) FROM sno_catalog.sno_lease') - $leases,
	3, 'no partition is lost by a session that was cancelled or terminated');
push @busy, $next, @new[ 0, 1 ];

# A crash while a session waits for the flush of a new lease
my $unlucky = open_session($node, 'postgres', "sno.partitions = '60004'");
push @busy, $unlucky;
$torture->stall_flushes(1);
send_query($unlucky, ids_of(10));
wait_for_flushes(1);
ok(!has_answered($unlucky), 'no id is issued before its lease is flushed');
kill_postmaster($node);
$torture->stall_flushes(0);
crash('a crash while flushes stall');
busy_session();
$notes->check('stalled flushes');

#
# A full disk.  The page of the table is full, too, so a new row needs another
# page.
#
sql('ALTER TABLE sno_catalog.sno_lease SET TABLESPACE small');
sql('CREATE TABLE filler (line text) TABLESPACE small');
$leased = busy_session();
sql(q{
INSERT INTO sno_catalog.sno_lease
SELECT 1, 1, 1, 1, 's', 30000, '00000000-0000-0000-0000-000000000000', 0, 65535, 0, '2020-01-01', 0, '2020-01-01', '2020-01-01', '2020-01-01', 0
FROM generate_series(1, 100)});
sql('DELETE FROM sno_catalog.sno_lease WHERE ctid >= \'(1,1)\'; VACUUM sno_catalog.sno_lease'
);
is(sql(q{SELECT pg_relation_size('sno_catalog.sno_lease')}),
	8192, 'the table of leases has one page');

my ($status, $out, $error) = $node->psql('postgres',
	q{INSERT INTO filler SELECT repeat('x', 1000) FROM generate_series(1, 10000)}
);
like($error, qr/No space left on device/, 'a table fills the disk');
my $hungry = open_session($node, 'postgres', 'sno.max_wait = 0', "sno.partitions = '60005'");
push @busy, $hungry;
foreach (1, 2)
{
	$error = error_of($hungry, 'SELECT sno_generate()');
	like(
		$error,
		qr/^ERROR:  53100: could not extend file .*No space left on device/m,
		'a new lease on a full disk is an error');
	like(
		$error,
		qr/^HINT:  Check free disk space\.$/m,
		'the error has a hint to the disk');
}
generate($leased);
pass('a session with a lease goes on while the disk is full');
my $rows = sql('SELECT count(*) FROM sno_catalog.sno_lease');
sql('DROP TABLE filler');
sql('CHECKPOINT');
generate($hungry);
is(sql('SELECT count(*) FROM sno_catalog.sno_lease') - $rows,
	1, 'when the disk has space again, the session has a lease');
crash('a full disk');
$notes->check('a full disk');

#
# A full disk of WAL
#
busy_session();
sql('CREATE TABLE t (id sno NOT NULL)');
open my $filler, '>', "$wal_disk/filler" or die "$wal_disk/filler: $!";
while (syswrite $filler, 'x' x 8192) { }
close $filler;
my $clients = $notes->start_clients(
	$node, 'postgres',
	clients => 4,
	table   => 't',
	batch   => 1000);
my (undef, $errors) = $notes->collect($clients);
unlike($errors, qr/ERROR/,
	'when WAL cannot be written, clients lose their connection');
like(
	slurp_file($node->logfile),
	qr/PANIC:  could not write to file "pg_wal.*": No space left on device/,
	'when WAL cannot be written, the server ends with a PANIC');
unlink "$wal_disk/filler";
$node->_update_pid(-1);
crash('a full disk of WAL');
$notes->check_rows($node, 'postgres', 't');
busy_session();
$notes->check('a full disk of WAL');

#
# Damaged pages
#

# Stop the server, overwrite bytes of the table, and start the server; returns a
# session.
sub damage
{
	my ($offset, $bytes) = @_;
	my $file = $node->data_dir . '/'
	  . sql(q{SELECT pg_relation_filepath('sno_catalog.sno_lease')});
	close_session($_) foreach @busy;
	@busy = ();
	$node->stop;
	Torture::poke($file, $offset, $bytes);
	$torture->start_server($node);
	$notes->next_phase;
	push @busy, open_session($node, 'postgres', 'sno.max_wait = 0');
	return $busy[0];
}

sql('ALTER TABLE sno_catalog.sno_lease SET TABLESPACE pg_default');
sql(q{DELETE FROM sno_catalog.sno_lease WHERE partition = 30000; VACUUM FULL sno_catalog.sno_lease}
);
sql('CREATE EXTENSION amcheck');
generate($busy[0]);

# The first line pointer, which tells where a row is, gets a length of 30 bytes.
my $session = damage(24 + 2, pack('v', 30 << 1));
$error = error_of($session, 'SELECT sno_generate()');
like(
	$error,
	qr/^ERROR:  XX001: a row of table "sno_lease" of extension "sno" is damaged$/m,
	'a damaged row is an error');
like(
	$error,
	qr/^HINT:  Find it with verify_heapam\(\)/m,
	'the error has a hint to verify_heapam()');
is(sql(q{SELECT string_agg(item, ' ') FROM sno_check() WHERE NOT ok AND detail ~ 'a row of table "sno_lease" of extension "sno" is damaged'}),
	'ids watermarks leases', 'sno_check() tells that');
is( sql(q{SELECT DISTINCT blkno || ',' || offnum FROM verify_heapam('sno_catalog.sno_lease')}
	),
	'0,1',
	'verify_heapam() finds the damaged row');
sql(q{DELETE FROM sno_catalog.sno_lease WHERE ctid = '(0,1)'});
sql('VACUUM sno_catalog.sno_lease');
generate($session);
pass('after that row was deleted, the session generates');

# A damaged page header
$session = damage(12, "\xff\xff");
$error   = error_of($session, 'SELECT sno_generate()');
like(
	$error,
	qr/^ERROR:  XX001: invalid page in block 0 of relation /m,
	'a damaged page is an error');
sql('TRUNCATE sno_catalog.sno_lease');
generate($session);
pass('after TRUNCATE, the session generates');
crash('damaged pages');
$notes->check('damaged pages');

$node->stop;
unlike(
	slurp_file($node->logfile),
	qr/TRAP|was terminated by signal (?!6\b)/,
	'nothing crashed but the server with the full disk of WAL');
done_testing();
