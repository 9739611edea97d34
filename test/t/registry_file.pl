
# The file of grants can't be written, or has what nobody wrote.  Who can't write it can't
# ask the registry, so is not told that a copy goes on with its grants, and issues nothing.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Registry;
use TestHelpers;

my $registry = Registry->new('registry', '1024, 2047, 16');
my $node     = start_node('node', conf => $registry->settings);
$node->safe_psql('postgres', 'CREATE DATABASE other TEMPLATE postgres');

my $file     = $node->data_dir . '/sno.grants';
my $obstacle = "$file.new";

# The block of a new id
sub block_of
{
	my ($dbname) = @_;
	return int(decode_id($node->safe_psql($dbname, 'SELECT sno_generate()'))->{partition} / 16);
}

# The error of a call that makes an id, with a short wait
my $short = "sno.max_wait = '100ms'";
sub refusal
{
	my ($dbname, @params) = @_;
	return ($node->psql($dbname, "\\set VERBOSITY verbose\nSET $short; SELECT sno_generate()", @params))[2];
}

# Check that it comes.  At first, the attempt to ask the registry may not have ended.
sub refuses
{
	my ($what, $expected, @call) = @_;
	wait_until($what, sub { refusal(@call) =~ $expected });
	pass($what);
	return;
}

# A copy of the machine goes on with all grants that holders have.
my $token = 4711;
sub twin_renews
{
	$token++;
	like(
		$registry->query(
			qq{SELECT string_agg(DISTINCT status, ',') FROM sno_registry.holder AS h, LATERAL sno_registry_renew(h.holder, h.token, $token, 'twin',
sno_registry.unit_of(clock_timestamp()), sno_registry.unit_of(clock_timestamp() + '1 day'), 1)}
		),
		qr/^granted$/,
		'a copy goes on');
	return;
}

# Leases use up a block, so the registry is asked for one more.
sub use_up
{
	$node->psql('postgres', "SET $short; SELECT sno_borrow_partition() FROM generate_series(1, 17)");
	return;
}

# A server that can't ask
my $session = open_session($node, 'postgres', $short);
my $block   = block_of('postgres');
my $other   = block_of('other');
isnt($block, $other, 'each database has a block');
is(error_of($session, 'SELECT sno_generate()'), '', 'a session issues');
mkdir $obstacle or die;
twin_renews();
wait_until(
	'what was granted ends',
	sub {
		use_up();
		return error_of($session, 'SELECT sno_generate()') ne '';
	});
refuses(
	'a server that cannot write the file ends what was granted',
	qr/ERROR:  53400: the registry granted no partition for a sno within 100 ms.*DETAIL:  The last request to the registry failed: could not create file "sno.grants.new": Is a directory/s,
	'postgres');
refuses('in all databases', qr/could not create file/, 'other');
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN');
refuses(
	'not everybody sees the reason',
	qr/DETAIL:  The last request to the registry failed. The server log has the reason./,
	'postgres', extra_params => [ '-U', 'nobody' ]);
close_session($session);
$node->stop('immediate');
$node->start;
refuses("$_: nor does it go on after a restart", qr/could not create file/, $_)
  foreach 'postgres', 'other';

rmdir $obstacle or die;
foreach my $dbname ('postgres', 'other')
{
	wait_until('it goes on', sub { refusal($dbname) eq '' });
}
wait_until('it is told of the copy', sub { block_of('postgres') != $block });
pass('it goes on as another holder');

# It is told, but can't write that.
$block = block_of('postgres');
twin_renews();
{
	my $lock = open_session($registry->node, 'postgres');
	$lock->query_safe('BEGIN; SELECT FROM sno_registry.settings FOR UPDATE');
	wait_until(
		'a request is sent',
		sub {
			use_up();
			return $registry->query(
				q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'asker' AND wait_event_type = 'Lock'}
			) > 0;
		});
	mkdir $obstacle or die;
	$lock->query_safe('COMMIT');
	close_session($lock);
}
wait_until('the file is removed', sub { !-e $file });
pass('a file that has what was given up is removed');
is($node->safe_psql('postgres', 'SELECT count(*) FROM sno_grants()'), 0, 'nothing is in force');
like(slurp_file($node->logfile), qr/another server took over the grants of the database with OID/,
	'the log tells');
$registry->node->stop;
$node->stop('immediate');
rmdir $obstacle or die;
$node->start;
refuses('a restart does not bring it back', qr/could not connect to the registry/, 'postgres');
$registry->node->start;
wait_until('it goes on', sub { refusal('postgres') eq '' });
isnt(block_of('postgres'), $block, 'it goes on as another holder');

#
# A file that nobody wrote, though its checksum is right
#

# CRC-32C
sub checksum
{
	my ($bytes) = @_;
	my $crc = 0xffffffff;
	foreach my $byte (unpack 'C*', $bytes)
	{
		$crc ^= $byte;
		$crc = $crc >> 1 ^ ($crc & 1 ? 0x82f63b78 : 0) for 1 .. 8;
	}
	return $crc ^ 0xffffffff;
}

# Header: the number of entries is in its last bytes.  The first entry: the OID of the
# database, its identity, a layout, the range of nodes, the asker; what that was granted
# begins with the holder and the number of blocks, then floor, ceiling, first and last
# partition of each.
my $header = 168;
my $layout = $header + 40;
my $blocks = $header + 112;
my %damage = (
	'more databases than it has' => [ $header - 4, pack('l', 500_000) ],
	'more blocks than there are' => [ $blocks, pack('l', 1_000_000) ],
	'a negative number of blocks' => [ $blocks, pack('l', -1) ],
	'a block of no partition'     => [ $blocks + 24, pack('q2', 70_000, 70_015) ],
	'a range of no partition'     => [ $header - 8, pack('l', 70_000) ],
	'a node of too many bits'     => [ $layout + 13, pack('C', 49) ]);
foreach my $what ('nothing', sort keys %damage)
{
	$block = block_of('postgres');
	$node->stop;
	my $content = slurp_file($file);
	is(length($content) % (120 + 64 * 32), $header, "$what: the file is as this test knows it");
	substr($content, $damage{$what}[0], length $damage{$what}[1], $damage{$what}[1])
	  if defined $damage{$what};
	substr($content, 12, 4, pack('L', checksum(substr($content, 16))));
	unlink $file;
	append_to_file($file, $content);
	$node->start;
	my $offset = -s $node->logfile;
	wait_until("$what: ids are made", sub { refusal('postgres') eq '' });
	if (defined $damage{$what})
	{
		like(slurp_file($node->logfile, $offset), qr/LOG:  file "sno.grants" is damaged/, "a file that says $what");
	}
	else
	{
		is(block_of('postgres'), $block, 'the checksum is right');
	}
}

check_log($node);
$node->stop;
$registry->node->stop;
done_testing();
