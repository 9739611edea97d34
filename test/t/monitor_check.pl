
# Each lasting state in which a generator or a reader raises an error: sno_check() is red
# meanwhile, in the words of that error, and the hint names the page that helps.  Afterwards
# it is green again.  And each error of the sources is in one of the lists below.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use File::Find qw(find);
use TestHelpers;

skip_without_seal();
my $clock = FakeClock->new;

my $node = new_node('main', conf => q{
autovacuum = off
sno.max_wait = 50ms
});
$clock->start_server($node);
my $file = $node->data_dir . '/sno.grants';
sub sql { return $node->safe_psql('postgres', $_[0]); }
sql(q{
CREATE EXTENSION sno; CREATE EXTENSION sno_flakes; CREATE EXTENSION sno_seal;
SELECT sno_create_generator('orders', 900), sno_flake_create_generator('post', 'snowflake', 5)});

# What a query raises, its message and its hint
sub raised
{
	my ($query) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $query);
	my ($message) = $err =~ /^(?:psql:<stdin>:\d+: )?ERROR:  (.*)$/m;
	my ($hint)    = $err =~ /^HINT:  (.*)$/m;
	return ($message // '', $hint // '');
}

# A setting of all sessions from now on
sub set
{
	my ($name, $value) = @_;
	$node->append_conf('postgresql.conf', "$name = '$value'");
	$node->reload;
	wait_until("sessions have $name", sub { sql("SELECT current_setting('$name', true)") eq $value });
	return;
}

# Lock a table while something is done
my $locker;
sub lock_table { $locker = open_session($node, 'postgres'); $locker->query_safe("BEGIN; LOCK TABLE sno_catalog.$_[0]"); return; }
sub unlock     { close_session($locker); return; }

# The state, what brings it about, a query, its error, the red items, of which the first has the
# words of the error, and what ends the state
my $id        = 'SELECT sno_generate()';
my $named     = q{SELECT sno_generate(1, 'orders')};
my $flake     = q{SELECT sno_flake_generate('post')};
my $watermark = 'SELECT sno_watermark()';
my @states = (
	[   'sno.partitions is invalid', sub { set('sno.partitions', '9-3') }, $id,
		qr/^parameter "sno.partitions" cannot be set to "9-3"/, 'ids', sub { set('sno.partitions', '0-65535') } ],
	[   'sno.registry was lost', sub { append_to_file($file, '') }, $id,
		qr/^parameter "sno.registry" is empty, but this server has grants/, 'ids generators', sub { unlink $file } ],
	[   'the same, of a named generator', sub { append_to_file($file, '') }, $named,
		qr/^parameter "sno.registry" is empty/, 'generators ids', sub { unlink $file } ],
	[   'the leases are locked', sub { lock_table('sno_lease') }, $id,
		qr/^could not lock table "sno_lease"/, 'ids generators holders leases watermarks', \&unlock ],
	[   'the same, for a reader', sub { lock_table('sno_lease') }, $watermark,
		qr/^could not lock table "sno_lease"/, 'watermarks generators holders ids leases', \&unlock ],
	[   'the same, of a named generator', sub { lock_table('sno_lease') }, $named,
		qr/^could not lock table "sno_lease"/, 'generators holders ids leases watermarks', \&unlock ],
	[   'the table of leases was altered', sub { sql('ALTER TABLE sno_catalog.sno_lease ADD n int') }, $id,
		qr/^table "sno_lease" of extension "sno" was altered/, 'ids generators holders leases watermarks',
		sub { sql('ALTER TABLE sno_catalog.sno_lease DROP n') } ],
	[   'it is missing', sub { sql('ALTER TABLE sno_catalog.sno_lease RENAME TO away') }, $id,
		qr/^table "sno_lease" of extension "sno" does not exist/, 'ids generators holders leases watermarks',
		sub { sql('ALTER TABLE sno_catalog.away RENAME TO sno_lease') } ],
	[   'the definitions are locked', sub { lock_table('sno_generator') }, $named,
		qr/^could not lock table "sno_generator"/, 'generators', \&unlock ],
	[   'they are missing', sub { sql('ALTER TABLE sno_catalog.sno_generator RENAME TO away') }, $named,
		qr/^table "sno_generator" of extension "sno" does not exist/, 'generators',
		sub { sql('ALTER TABLE sno_catalog.away RENAME TO sno_generator') } ],
	[   'they were altered', sub { sql('ALTER TABLE sno_catalog.sno_generator ALTER meta TYPE bigint') }, $named,
		qr/^table "sno_generator" of extension "sno" was altered/, 'generators',
		sub { sql('ALTER TABLE sno_catalog.sno_generator ALTER meta TYPE integer') } ],
	[   'the layouts are locked', sub { lock_table('sno_flake_layout') }, $flake,
		qr/^could not lock table "sno_flake_layout"/, 'generators layouts', \&unlock ],
	[   'a layout is gone',
		sub { sql(q{SELECT sno_flake_create_layout('mine', '2024-01-01Z', unit => 1, time_bits => 41, node_bits => 10, sequence_bits => 12),
sno_flake_create_generator('lost', 'mine', 1); BEGIN; ALTER TABLE sno_catalog.sno_flake_layout DISABLE TRIGGER ALL;
DELETE FROM sno_catalog.sno_flake_layout WHERE name = 'mine'; ALTER TABLE sno_catalog.sno_flake_layout ENABLE TRIGGER ALL; COMMIT}) },
		q{SELECT sno_flake_generate('lost')},
		qr/^generator "lost" has no valid layout/, 'generators layouts',
		sub { sql(q{SELECT sno_flake_drop_generator('lost')}) } ],
	[   'a key is gone',
		sub { sql(q{SELECT sno_seal_create_key('k'), sno_flake_create_generator('sealed', 'snowflake', 6, key => 'k');
DROP EXTENSION sno_seal}) }, q{SELECT sno_flake_generate('sealed')},
		qr/^key "k" cannot be used without extension "sno_seal"/, 'generators',
		sub { sql(q{SELECT sno_flake_drop_generator('sealed'); CREATE EXTENSION sno_seal}) } ],
	[   'a key is not in the dump',
		sub { sql(q{SELECT sno_seal_create_key('k'), sno_flake_create_generator('sealed', 'snowflake', 6, key => 'k');
DROP EXTENSION sno_seal; CREATE EXTENSION sno_seal}) }, q{SELECT sno_flake_generate('sealed')},
		qr/^key "k" does not exist/, 'generators', sub { sql(q{SELECT sno_flake_drop_generator('sealed')}) } ],
	[   'the time of a layout is over',
		sub {
			$clock->set_offset(1704412800 - time);
			sql(q{SELECT sno_flake_create_layout('short', '2024-01-01Z', unit => 1, time_bits => 30, node_bits => 4, sequence_bits => 4),
sno_flake_create_generator('late', 'short', 1)});
			$clock->set_offset(0);
		}, q{SELECT sno_flake_generate('late')},
		qr/^the system clock is outside the range of the layout/, 'generators layouts',
		sub { sql(q{SELECT sno_flake_drop_generator('late')}) } ],
	[   'a counter has counted all',
		sub { sql(q{SELECT sno_flake_create_layout('few', NULL, unit => 0, time_bits => 31, node_bits => 4, sequence_bits => 0),
sno_flake_create_generator('full', 'few', 1); SELECT sno_flake_advance('full', (2147483646::bigint << 4) + 1);
SELECT sno_flake_generate('full')}) },
		q{SELECT sno_flake_generate('full')},
		qr/^the generator has counted all numbers of its layout/, 'generators',
		sub { sql(q{SELECT sno_flake_drop_generator('full')}) } ],
	[   'no partition is free',
		sub {
			set('sno.partitions', '100');
			sql('SELECT * FROM sno_borrow_partition()');
		}, $id, qr/^no partition was free for a sno/, 'ids partitions',
		sub { set('sno.partitions', '0-65535') } ],
	[   'this server has no share of the nodes',
		sub { sql(q{SELECT sno_flake_create_generator('float', 'snowflake')}); set('sno.partitions', '200') },
		q{SELECT sno_flake_generate('float')}, qr/^no node of layout "snowflake" was free for generator "float"/, 'generators',
		sub { sql(q{SELECT sno_flake_drop_generator('float')}); set('sno.partitions', '0-65535') } ],
	[   'given times used up their half',
		sub {
			set('sno.partitions', '300-301');
			sql('SELECT sno_generate_at(now())');
			$node->stop;
			$clock->start_server($node);
		}, 'SELECT sno_generate_at(now())', qr/^no partition is left for a sno of a given time/, 'partitions',
		sub { set('sno.partitions', '0-65535') } ],
	[   'given times have the partition of a generator',
		sub {
			my $partition = decode_id(sql('SELECT sno_generate_at(now())'))->{partition};
			sql("SELECT sno_create_generator('taken', $partition)");
		}, q{SELECT sno_generate(1, 'taken')}, qr/^partition \d+ of generator "taken" is used for ids of given times/, 'generators',
		sub { sql(q{SELECT sno_drop_generator('taken')}) } ],
	[   'the registry is away', sub { set('sno.registry', 'host=/nowhere'); raised($id) }, $id,
		qr/^the registry granted no partition for a sno/, 'ids generators registry workers',
		sub { set('sno.registry', ''); unlink $file } ],
	[   'the clock is behind a generator',
		sub {
			foreach my $offset (7200, 0, 3600, 0) { $clock->set_offset($offset); raised($named); }
		}, $named, qr/^generator "orders" could not issue an id/, 'generators clock',
		sub { sql(q{SELECT sno_drop_generator('orders'), sno_create_generator('orders', 901), sno_reset_statistics()}) } ],
	[   'a watermark did not hold',
		sub { $clock->set_offset(2 * 86400); sql($watermark); $clock->set_offset(0) }, $watermark,
		qr/^ids were issued below an earlier watermark/, 'watermarks', sub { sql('SELECT sno_reset_watermark()') } ],
	[   'the clock is out of the epoch', sub { $clock->set_offset(60 * 365 * 86400) }, $id,
		qr/^the system clock is outside the range of a sno/, 'ids epoch generators layouts watermarks',
		sub { $clock->set_offset(0) } ]);

my $red = sub { sql('SELECT item FROM sno_check() WHERE NOT ok ORDER BY item') =~ tr/\n/ /r };
is($red->(), '', 'at first, all is well');
foreach my $state (@states)
{
	my ($name, $begin, $query, $error, $items, $end) = @$state;
	my ($item) = split ' ', $items;
	$begin->();
	my ($message, $hint) = raised($query);
	like($message, $error, "$name: the error");
	like($hint, qr{doc/\w+\.md#[\w-]+}, "$name: its hint names a page");
	is($red->(), join(' ', sort split ' ', $items), "$name: sno_check() is red");
	is( sql("SELECT position(\$x\$$message\$x\$ IN detail) > 0 FROM sno_check() WHERE item = '$item'"),
		't', "$name: it has the words of the error")
	  or diag(sql('SELECT * FROM sno_check() WHERE NOT ok'));
	is(sql("SELECT hint FROM sno_check() WHERE item = '$item'"), $hint, "$name: it has the hint of the error");
	$end->();
	sql('SELECT sno_reset_statistics()');
	wait_until("$name: it is over", sub { $red->() eq '' });
}

#
# The list: each error that the sources of generators and readers raise
#

# What lasts, and is provoked above or by the test that is named
my %lasts = (
	'parameter \"%s\" cannot be set to \"%s\"' => 1,
	'parameter \"%s\" is empty, but this server has grants of a registry' => 1,
	'could not lock table \"%s\" of extension \"%s\" within %d ms' => 1,
	'table \"%s\" of extension \"sno\" was altered' => 1,
	'table \"%s\" of extension \"%s\" was altered' => 1,
	'table \"%s\" of extension \"%s\" does not exist' => 1,
	'generator \"%s\" has no valid layout' => 1,
	'key \"%s\" cannot be used without extension \"%s\"' => 1,
	'key \"%s\" does not exist' => 1,
	'the system clock is outside the range of the layout' => 1,
	'the generator has counted all numbers of its layout' => 1,
	'no partition was free for a sno within %d ms' => 1,
	'no node of layout \"%s\" was free for generator \"%s\" within %d ms' => 1,
	'no partition is left for a sno of a given time' => 1,
	'partition %d of generator \"%s\" is used for ids of given times' => 1,
	'the registry granted no partition for a sno within %d ms' => 1,
	'the registry granted no node for generator \"%s\" within %d ms' => 'flake_nodes.pl',
	'generator \"%s\" could not issue an id within %d ms' => 1,
	'ids were issued below an earlier watermark' => 1,
	'the system clock is outside the range of a sno' => 1,
	'partition %d of generator \"%s\" is one that the registry grants' => 'registry_limits.pl',
	'nodes from %lld to %lld of generator \"%s\" are among those that the registry grants' => 'flake_nodes.pl',
	'generators of this database have used too much shared memory' => 'limit_memory.pl',
	'generators of this database use too many layouts' => 'flake_nodes.pl',
	'a row of table \"%s\" of extension \"sno\" is damaged' => 'limit_disk.pl',
	'shared memory of extension \"sno\" belongs to another version of its library' => 'install_library.pl');

# What is the call's, its user's, its session's or its transaction's, or of a moment: not for
# sno_check()
my %passes = map { $_ => 1 } (
	'parameter \"%s\" cannot be set for a session',
	'parameter \"%s\" cannot be set to its value in the session',
	'no partition could issue a sno within %d ms',
	'table \"%s\" of extension \"sno\" was rewritten or truncated by this transaction',
	'table \"%s\" of extension \"sno\" was created by this transaction, but other sessions use the generator',
	'a parallel worker cannot issue an id for a session that has not issued any',
	'cannot execute %s in a parallel worker',
	'cannot execute %s during recovery',
	'cannot execute %s in a read-only transaction',
	'too many watermarks of counters in one transaction',
	'sno_feed_wait() cannot be called in a transaction block',
	'feed, reader and timeout must not be null',
	'first column of the result must be of type text[]',
	'could not generate random values',
	'could not stat file \"%s\": %m',
	'permission denied for generator \"%s\"',
	'permission denied for function %s',
	'metabyte %d does not belong to generator \"%s\"',
	'generator \"%s\" does not exist',
	'generator \"%s\" has no watermark',
	'generator \"%s\" cannot be advanced',
	'no number of the layout is left after the id',
	'layout \"%s\" does not exist',
	'ids of layout \"%s\" are of type %s, not %s',
	'function \"%s\" %s',
	'column \"%s\" of relation \"%s\" does not exist',
	'column \"%s\" of relation \"%s\" is a generated column',
	'column \"%s\" of relation \"%s\" is not of type sno',
	'column \"%s\" of relation \"%s\" is not of type %s',
	'id of relation \"%s\" is older than the transaction that inserts it',
	'number of ids must not be negative: %lld',
	'duration of a loan must be at least %d ms',
	'a loan must have 1 to %d sequences, not %d',
	'sno_table_changed() is the trigger of tables of extension \"sno\"',
	'table \"%s\" cannot be changed by SQL',
	'rows of table \"%s\" cannot be changed or deleted',
	'column \"%s\" of table \"%s\" cannot have control characters');

# Files whose functions define, restore, read or convert, and issue nothing
my $others = qr{/(define|restore|nodes|layout|prefix|parts|text|value)\.c$|/registry/|/type/|/simd/};
my %found;
my $top = "$FindBin::RealBin/../..";
find(
	{	no_chdir => 1,
		wanted   => sub {
			return if !m{/src/(generate|named|shared|catalog|flake)/.*\.[ch]$|/src/seal/(key|cipher)\.[ch]$};
			my $path = $_;
			my $text = slurp_file($path);
			while ($text =~ /ereport\(ERROR,(.*?);\n/gs)
			{
				my $raise = $1;
				$found{$1} = $path while $raise =~ /errmsg\("((?:[^"\\]|\\.)*)"/g;
			}
		} },
	"$top/src");
foreach my $message (sort keys %found)
{
	next if $found{$message} =~ $others && !$lasts{$message} || $found{$message} =~ m{/src/seal/} && !$lasts{$message};
	next if $found{$message} =~ m{/(definition|issue)\.c$} && !$lasts{$message} && !$passes{$message}
	  && $message =~ /^(invalid name of a generator|generator \\"%s\\" (already exists|would issue)|the time of the id is|bigint %lld is not an id)/;
	ok($lasts{$message} || $passes{$message}, "in a list: $message");
}
is(join("\n", grep { !$found{$_} } sort(keys %lasts, keys %passes)), '', 'the lists have no more than that');

check_log($node);
$node->stop;
done_testing();
