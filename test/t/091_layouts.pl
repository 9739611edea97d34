
# Layouts that users add: when other sessions see them, layouts under the number of
# former ones, dump and restore by the owner of a database, who is not a superuser, and
# logical replication.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;

skip_without_seal();

my $dir = PostgreSQL::Test::Utils::tempdir('layouts');
my %node;
foreach my $name (qw(source target))
{
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 'logical');
	$node->start;
	$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN');
	$node{$name} = $node;
}
my ($source, $target) = @node{qw(source target)};

sub connection
{
	my ($node, $dbname) = @_;
	return $node->connstr($dbname) . ' user=owner';
}

# The extension is in a schema of its own.  The owner adds a layout.
$source->safe_psql('postgres', 'CREATE DATABASE app OWNER owner');
$source->safe_psql(
	'app', q{
CREATE SCHEMA ids;
CREATE EXTENSION sno SCHEMA ids;
INSERT INTO sno_catalog.sno_layout VALUES (100, 'mine', '2025-01-01Z', 1, 41, 10, 12);
CREATE TABLE t (id bigint PRIMARY KEY, n integer);
INSERT INTO t SELECT ids.sno_flake_make('2026-01-01Z'::timestamptz + n * interval '1 ms', n % 1024, n % 4096, 'mine'), n
FROM generate_series(1, 1000) AS n;
CREATE INDEX t_time ON t (ids.sno_flake_timestamp(id, 'mine'));
CREATE INDEX t_late ON t (n) WHERE id >= ids.sno_flake_min('2026-01-01 00:00:00.5Z', 'mine')},
	connstr => connection($source, 'app'));

#
# Sessions see a layout when it is committed, and never if it isn't.
#
my $time     = q{SELECT ids.sno_flake_timestamp(1::bigint << 22, 'later')};
my @sessions = map { open_session($source, 'app') } 1 .. 2;
$_->query_safe(q{SET TimeZone = 'UTC'}) foreach @sessions;
$sessions[0]->query_safe("PREPARE read AS $time");

sub adds
{
	my ($end, $unit) = @_;
	$sessions[1]->query_safe(
		"BEGIN; INSERT INTO sno_catalog.sno_layout VALUES (101, 'later', '2025-01-01Z', $unit, 41, 10, 12)"
	);
	is( $sessions[1]->query_safe($time),
		sprintf('2025-01-01 00:00:%02d+00', $unit / 1000),
		'who added a layout sees it');
	like(
		error_of($sessions[0], 'EXECUTE read'),
		qr/ERROR:  42704: layout "later" does not exist/,
		'others do not, before the commit');
	$sessions[1]->query_safe($end);
	return;
}
adds('ROLLBACK', 1000);
like(
	error_of($_, $time),
	qr/ERROR:  42704: /,
	'nobody sees it after a rollback') foreach @sessions;
adds('COMMIT', 2000);
is( $_->query_safe($time),
	'2025-01-01 00:00:02+00',
	'all see it when it is committed') foreach @sessions;
is( $sessions[0]->query_safe('EXECUTE read'),
	'2025-01-01 00:00:02+00',
	'a prepared statement sees it, too');
close_session($_) foreach @sessions;

#
# The extension is dropped, and its layout made again with other bits, under the same
# number.  The same session goes on.
#
$source->safe_psql('postgres', 'CREATE DATABASE anew');
my $session = open_session($source, 'anew');
my $other   = open_session($source, 'anew');

# Have the extension with a layout of this number of bits for nodes and sequences, and
# return how many of 100,000 ids in a transaction come twice, in either session.
sub remake
{
	my ($node_bits, $sequence_bits) = @_;
	$session->query_safe(
		qq{
SET client_min_messages = warning;
DROP EXTENSION IF EXISTS sno CASCADE;
CREATE EXTENSION sno;
INSERT INTO sno_catalog.sno_layout VALUES (100, 'mine', '2020-01-01Z', 1, 41, $node_bits, $sequence_bits);
SELECT sno_flake_create_generator('g', 'mine', 5)});
	return join ',', map {
		$_->query_safe(
			'SELECT count(*) - count(DISTINCT id) FROM (SELECT sno_flake_generate(\'g\') AS id FROM generate_series(1, 100000)) AS i'
		)
	} $session, $other;
}

# The generator is open, so its row must have a lease.
my $open =
  'SELECT count(*) FROM sno_catalog.sno_lease WHERE greatest(tick_until, tock_until) > clock_timestamp()';
foreach my $bits ([ 10, 12 ], [ 14, 8 ], [ 10, 12 ], [ 12, 10 ])
{
	is(remake(@$bits), '0,0',
		"a layout made again with @$bits bits: no id comes twice");
	is($session->query_safe($open),
		1, 'who left the state of the former layout wrote no row of it');
	is( $session->query_safe(
			'SELECT name, layout, node_first, unit_issued + unit_spare FROM sno_generators() WHERE name IS NOT NULL AND layout IS NOT NULL'
		),
		'g|mine|5|' . 4 * 2**($bits->[1] - 1),
		"sno_generators() has that one, once");
}

# A state of the old layout is open yet: who uses it hasn't looked.
$session->query_safe(
	q{DROP EXTENSION sno CASCADE; CREATE EXTENSION sno;
INSERT INTO sno_catalog.sno_layout VALUES (100, 'mine', '2020-01-01Z', 1, 41, 11, 11);
SELECT sno_flake_create_generator('g', 'mine', 5)});
is( $session->query_safe(
		'SELECT name, layout, node_first, sequence_max FROM sno_generators() ORDER BY sequence_max NULLS FIRST'
	),
	"g|mine|5|\ng||5|2047",
	'sno_generators() tells a generator of a former layout from that of the present one'
);

$session->query_safe(q{SELECT sno_flake_generate('g')});
close_session($other);
$other = open_session($source, 'anew');
is($session->query_safe($open),
	1, 'a session that ended with that state wrote no row of it');

# When a session ends, it knows the layouts that were added meanwhile.
$other->query_safe(
	q{SELECT sno_flake_create_generator('n', 'counter'), sno_flake_generate('n')});
$session->query_safe(
	q{INSERT INTO sno_catalog.sno_layout VALUES (110, 'further', '2020-01-01Z', 1, 41, 10, 12)}
);
close_session($other);
$other = open_session($source, 'anew');
is( $session->query_safe(
		'SELECT wall_hi = tick_until, sequence FROM sno_catalog.sno_lease WHERE partition = 65535 + 18'
	),
	't|1',
	'a layout was added: a session that ends writes an exact row');

# A key changes ids, but not what a state word stands for.
$session->query_safe(
	q{CREATE EXTENSION sno_seal;
SELECT sno_seal_create_key('k', '\x2b7e151628aed2a6abf7158809cf4f3c');
CREATE TABLE sealed (id bigint)});
foreach my $key ('NULL', q{'k'}, 'NULL', q{'k'})
{
	my $id = $key eq 'NULL' ? 'id' : "sno_unseal(id, $key)";
	$session->query_safe(
		qq{SELECT sno_flake_create_generator('r', 'randflake', 7, key => $key);
INSERT INTO sealed SELECT $id FROM (SELECT sno_flake_generate('r') AS id FROM generate_series(1, 1000)) AS i;
SELECT sno_drop_generator('r')});
}
is($session->query_safe('SELECT count(*), count(DISTINCT id) FROM sealed'),
	'4000|4000',
	'with a key and without it, a generator goes on where it was');

#
# A plan has a constant that was computed from a layout.  Whoever added the layout rolls
# back, and its number is used again.
#
my $minimum =
  q{sno_flake_timestamp(1::bigint << 22, 'tried') AT TIME ZONE 'UTC'};
$session->query_safe("PREPARE tried AS SELECT $minimum");
$session->query_safe(
	qq{CREATE FUNCTION tried() RETURNS timestamp LANGUAGE plpgsql AS \$\$ BEGIN RETURN $minimum; END \$\$}
);

sub try_layout
{
	my ($unit, $begin, $end) = @_;
	$session->query_safe(
		"$begin; INSERT INTO sno_catalog.sno_layout VALUES (101, 'tried', '2025-01-01Z', $unit, 41, 10, 12)"
	);
	is( $session->query_safe('EXECUTE tried') . ' '
		  . $session->query_safe('SELECT tried()'),
		join(' ', (sprintf '2025-01-01 00:00:%02d', $unit / 1000) x 2),
		"$begin, $end: plans have the layout as it is");
	$session->query_safe($end);
	return;
}
try_layout(1000, 'BEGIN', 'ROLLBACK');
$session->query_safe('BEGIN');
try_layout(2000, 'SAVEPOINT s', 'ROLLBACK TO s');
$session->query_safe('COMMIT');
try_layout(3000, 'BEGIN', 'COMMIT');
close_session($_) foreach $session, $other;

#
# Dump and restore
#
my $content = q{
SELECT md5(string_agg(l::text, ',' ORDER BY id)), count(*), max(id) FROM sno_catalog.sno_layout AS l;
SELECT md5(string_agg(t::text, ',' ORDER BY id)), count(*) FROM t;
SELECT indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY 1;
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE ids.sno_flake_timestamp(id, 'mine') BETWEEN '2026-01-01 00:00:00.1Z' AND '2026-01-01 00:00:00.199Z';
SELECT count(*) FROM t WHERE id >= ids.sno_flake_min('2026-01-01 00:00:00.5Z', 'mine') AND n > 0};
my $expected = $source->safe_psql('app', $content);
like($expected, qr/\|20\|101\n.*\n100\n501$/s,
	'layouts, rows and indexes are as they were made');

sub restores
{
	my ($dbname, @commands) = @_;
	$target->safe_psql('postgres', "CREATE DATABASE $dbname OWNER owner");
	foreach my $command (@commands)
	{
		$target->command_ok(
			[ @$command, "$dir/$dbname", '-d', connection($target, $dbname) ],
			"$dbname: restored by the owner, @$command");
	}
	is($target->safe_psql($dbname, $content),
		$expected, "$dbname: layouts, rows and indexes are there");
	return;
}
my %formats = (plain => [], custom => ['-Fc'], directory => [ '-Fd', '-j2' ]);
foreach my $format (sort keys %formats)
{
	$source->command_ok(
		[
			'pg_dump',      '-f',
			"$dir/$format", @{ $formats{$format} },
			'-d',           connection($source, 'app')
		],
		"$format: dumped by the owner");
}
restores('plain',  [qw(psql -Xq -v ON_ERROR_STOP=1 -f)]);
restores('custom', [qw(pg_restore -e)]);

# With several jobs, an index is made when the rows of its table are there.  It may need
# the layouts, so all rows come first.
restores('directory',
	map { [ qw(pg_restore -e -j2), "--section=$_" ] }
	  qw(pre-data data post-data));

# A row of another table that is computed from a layout is computed when the row is
# restored.  pg_dump doesn't know that it needs the layout, and puts tables in the
# order of their schemas.  pg_restore takes another order.
$source->safe_psql(
	'app', q{
ALTER TABLE t ADD at timestamptz GENERATED ALWAYS AS (ids.sno_flake_timestamp(id, 'mine')) STORED;
ALTER TABLE t ADD CHECK (ids.sno_flake_timestamp(id, 'mine') >= '2026-01-01Z')}
);
$expected = $source->safe_psql('app', $content);
$source->command_ok(
	[
		'pg_dump', '-Fc',
		'-f',      "$dir/computed",
		'-d',      connection($source, 'app')
	],
	'computed: dumped by the owner');
my @list = split /^/,
  (run_command([ 'pg_restore', '-l', "$dir/computed" ]))[0];
append_to_file(
	"$dir/list",
	join '',
	(grep { /TABLE DATA sno_catalog sno_layout/ } @list),
	grep { !/TABLE DATA sno_catalog sno_layout|EXTENSION|SCHEMA/ } @list);
$target->safe_psql('postgres', 'CREATE DATABASE computed OWNER owner');
$target->safe_psql(
	'computed',
	'CREATE SCHEMA ids; CREATE EXTENSION sno SCHEMA ids',
	connstr => connection($target, 'computed'));
$target->command_ok(
	[
		'pg_restore', '-e', '-L', "$dir/list", '-d',
		connection($target, 'computed'),
		"$dir/computed"
	],
	'computed: restored by the owner, the layouts first');
is($target->safe_psql('computed', $content),
	$expected, 'computed: layouts, rows and indexes are there');

#
# Logical replication brings no layouts: the subscriber has its own.
#
$target->safe_psql('postgres', 'CREATE DATABASE app OWNER owner');
$target->safe_psql(
	'app', q{
CREATE SCHEMA ids;
CREATE EXTENSION sno SCHEMA ids;
INSERT INTO sno_catalog.sno_layout VALUES (100, 'theirs', '2024-01-01Z', 1, 41, 10, 12);
CREATE TABLE t (id bigint PRIMARY KEY, n integer, at timestamptz)});
my $layouts = $target->safe_psql('app', 'TABLE sno_catalog.sno_layout');
$source->safe_psql('app', 'CREATE PUBLICATION everything FOR ALL TABLES');
$target->safe_psql('app',
		q{CREATE SUBSCRIPTION sub CONNECTION '}
	  . $source->connstr
	  . q{ dbname=app' PUBLICATION everything});
$target->wait_for_subscription_sync($source, 'sub', 'app');
$source->safe_psql(
	'app', q{
INSERT INTO sno_catalog.sno_layout VALUES (102, 'last', '2023-01-01Z', 1, 41, 10, 12);
INSERT INTO t VALUES (ids.sno_flake_make('2026-02-01Z', 0, 0, 'mine'))});
$source->wait_for_catchup('sub');
is($target->safe_psql('app', 'SELECT count(*) FROM t'),
	1001, 'the rows of other tables arrive');
is($target->safe_psql('app', 'TABLE sno_catalog.sno_layout'),
	$layouts, 'the layouts of the subscriber are as they were');

foreach my $node ($source, $target)
{
	check_log($node);
	$node->stop;
}
done_testing();
