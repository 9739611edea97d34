
# Layouts that users add: when other sessions see them, layouts by the name of former
# ones, dump and restore by the owner of a database, who is not a superuser, and logical
# replication.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

skip_without_seal();

my $dir = PostgreSQL::Test::Utils::tempdir('layouts');
my %node;
foreach my $name (qw(source target))
{
	my $node = new_node($name, allows_streaming => 'logical');
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

# The owner adds a layout.
$source->safe_psql('postgres', 'CREATE DATABASE app OWNER owner');
$source->safe_psql(
	'app', q{
CREATE EXTENSION sno_flakes CASCADE;
SELECT sno_flake_create_layout('mine', '2025-01-01Z', 1, 41, 10, 12);
SELECT sno_flake_create_generator('own', 'mine', 5), sno_flake_generate('own');
CREATE TABLE t (id bigint PRIMARY KEY, n integer);
INSERT INTO t SELECT sno_flake_make('2026-01-01Z'::timestamptz + n * interval '1 ms', n % 1024, n % 4096, 'mine'), n
FROM generate_series(1, 1000) AS n;
CREATE INDEX t_time ON t (sno_flake_timestamp(id, 'mine'));
CREATE INDEX t_late ON t (n) WHERE id >= sno_flake_min('2026-01-01 00:00:00.5Z', 'mine')},
	connstr => connection($source, 'app'));

#
# Sessions see a layout when it is committed, and never if it isn't.
#
my $time     = q{SELECT sno_flake_timestamp(1::bigint << 22, 'later')};
my @sessions = map { open_session($source, 'app') } 1 .. 2;
$_->query_safe(q{SET TimeZone = 'UTC'}) foreach @sessions;
$sessions[0]->query_safe("PREPARE read AS $time");

sub adds
{
	my ($end, $unit) = @_;
	$sessions[1]->query_safe(
		"BEGIN; SELECT sno_flake_create_layout('later', '2025-01-01Z', $unit, 41, 10, 12)"
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
# The extension of flakes is dropped, and its layout made again by the same name, with other
# bits or with those of before.  The same sessions go on.  What was issued is in the rows of
# extension sno, by what defines a layout.
#
$source->safe_psql('postgres', 'CREATE DATABASE anew');
$source->safe_psql('anew',
	'CREATE EXTENSION sno; CREATE TABLE issued (layout text, id bigint)');
my $session = open_session($source, 'anew');
my $other   = open_session($source, 'anew');

# Have the extension of flakes, with this layout and others that it brings, and a generator.
sub remake
{
	my ($layout, @more) = @_;
	$session->query_safe(
		join '; ',
		'SET client_min_messages = warning',
		'DROP EXTENSION IF EXISTS sno_flakes',
		'CREATE EXTENSION sno_flakes',
		"SELECT sno_flake_create_layout('mine', $layout)",
		q{SELECT sno_flake_create_generator('g', 'mine', 5)},
		@more);
	return;
}

# Make and note ids of generator "g" in a session.  Returns how many of a layout came twice
# until now.
sub note_ids
{
	my ($user, $layout, $count) = @_;
	$user->query_safe(
		"INSERT INTO issued SELECT '$layout', sno_flake_generate('g') FROM generate_series(1, $count)"
	);
	return $user->query_safe(
		"SELECT count(*) - count(DISTINCT id) FROM issued WHERE layout = '$layout'"
	);
}

# The generator is open, so its row must have a lease.
my $open =
  'SELECT count(*) FROM sno_catalog.sno_lease WHERE greatest(tick_until, tock_until) > clock_timestamp()';
my %had;
foreach my $bits ([ 10, 12 ], [ 14, 8 ], [ 10, 12 ], [ 12, 10 ])
{
	my $layout = "2020-01-01Z, 41, @$bits";
	remake("'2020-01-01Z', 1, 41, $bits->[0], $bits->[1]");
	is( join(',', map { note_ids($_, $layout, 100_000) } $session, $other),
		'0,0', "a layout made again with @$bits bits: no id comes twice");
	is($session->query_safe($open),
		1, 'who left the state of the former layout has closed its row');
	$had{$layout} = 1;
	is( $session->query_safe(
			q{SELECT count(DISTINCT layout), count(*) FROM sno_catalog.sno_lease WHERE kind = 'n'}
		),
		join('|', (scalar keys %had) x 2),
		'each layout that there was has a row');
	is( $session->query_safe(
			'SELECT name, layout, node_first, unit_issued + unit_spare FROM sno_generators() WHERE name IS NOT NULL AND layout IS NOT NULL'
		),
		'g|mine|5|' . 4 * 2**($bits->[1] - 1),
		"sno_generators() has that one, once");
}

# A state of the old layout is open yet: who uses it hasn't looked.
$session->query_safe('DROP EXTENSION sno_flakes');
my $shown =
  'SELECT name, layout, node_first, sequence_max FROM sno_generators() ORDER BY sequence_max NULLS FIRST';
is($session->query_safe($shown), 'g||5|2047',
	'sno_generators() shows a generator that is in use, though there are no layouts'
);
is( $session->query_safe(
		'SELECT count(*) FILTER (WHERE NOT ok) FROM sno_check()'),
	0,
	'sno_check() finds no fault without them');
remake("'2020-01-01Z', 1, 41, 11, 11");
is($session->query_safe($shown), "g|mine|5|\ng||5|2047",
	'sno_generators() tells a generator of a former layout from that of the present one'
);

$session->query_safe(q{SELECT sno_flake_generate('g')});
close_session($other);
$other = open_session($source, 'anew');
is($session->query_safe($open),
	1, 'a session that ended with that state closed its row');

# A layout is what defines it, not its name.  All happens within a unit of an hour, so
# nothing but rows keeps ids apart.
my @hours = (q{'2020-01-01Z', 3600000, 30, 10, 20},
	q{'2020-01-02Z', 3600000, 30, 10, 20});
foreach my $turn (1 .. 3)
{
	foreach my $hours (@hours)
	{
		remake($hours);
		is( join(',',
				map { note_ids($_, $hours =~ tr/'//dr, 100) } $session,
				$other),
			'0,0',
			"units of an hour, turn $turn, $hours: no id comes twice");
	}
}
$session->query_safe(
	qq{DROP EXTENSION sno_flakes; CREATE EXTENSION sno_flakes;
SELECT sno_flake_create_layout('another name', $hours[0]), sno_flake_create_generator('g', 'another name', 5)}
);
is(note_ids($session, $hours[0] =~ tr/'//dr, 100),
	0, 'a layout made again by another name: no id comes twice');
like(
	error_of($session, "SELECT sno_flake_create_layout('mine', $hours[0])"),
	qr/^ERROR:  42710: layout "another name" has the same ids/,
	'no layout has two names');
$source->stop('immediate');
drop_session($_) foreach $session, $other;
start_again($source);
($session, $other) = map { open_session($source, 'anew') } 1 .. 2;
remake($hours[0]);
is( join(',', map { note_ids($_, $hours[0] =~ tr/'//dr, 100) } $session, $other),
	'0,0', 'after a crash, too');
is( $session->query_safe(
		'SELECT layout, count(*) FROM issued GROUP BY layout HAVING count(*) <> count(DISTINCT id)'
	),
	'',
	'no id of any layout came twice');

# Those that count show where they go on.
sub numbers
{
	my ($user) = @_;
	return $user->query_safe(
		q{SELECT string_agg((sno_flake_generate('g') >> 3)::text, ' ') FROM generate_series(1, 3)}
	);
}
my @counts = ('NULL, 0, 40, 3', 'NULL, 0, 41, 3');
my $next_h = q{SELECT sno_flake_generate('h') >> 3};
remake($counts[0]);
is(numbers($session), '1 2 3', 'a layout that counts begins with 1');
is(numbers($other),   '4 5 6', 'all sessions share the numbers');
remake($counts[1]);
is(numbers($session), '1 2 3', 'another layout of that name begins on its own');
remake($counts[0]);
is(numbers($other), '7 8 9', 'the former layout goes on where it was');
close_session($_) foreach $session, $other;
$source->restart;
($session, $other) = map { open_session($source, 'anew') } 1 .. 2;
remake($counts[1]);
is(numbers($session), '4 5 6',
	'a layout that was in use when the server stopped goes on, too');
$session->query_safe(
	q{SELECT sno_flake_drop_generator('g'), sno_flake_create_generator('h', 'mine', 5)}
);
is($session->query_safe($next_h),
	1, 'a generator by another name counts by itself');

# What is rolled back was issued, too.
sub rolls_back
{
	my ($begin, $end) = @_;
	$session->query_safe(
		"$begin; DROP EXTENSION sno_flakes; CREATE EXTENSION sno_flakes");
	$session->query_safe(
		"SELECT sno_flake_create_layout('mine', $counts[0]), sno_flake_create_generator('g', 'mine', 5)"
	);
	my $numbers = numbers($session);
	$session->query_safe($end);
	return $numbers;
}
is(rolls_back('BEGIN', 'ROLLBACK'),
	'10 11 12', 'a layout is used by the transaction that adds it');
is($session->query_safe($next_h),
	2, 'after a rollback the former one goes on');
$session->query_safe('BEGIN');
is(rolls_back('SAVEPOINT s', 'ROLLBACK TO s'),
	'13 14 15', 'no number that was rolled back comes again');
is($session->query_safe($next_h),
	3, 'nor after a subtransaction');
$session->query_safe('COMMIT');
is(rolls_back('BEGIN', 'COMMIT'), '16 17 18', 'nor after a commit');
is(numbers($other),               '19 20 21', 'nor in another session');

# A plan of a generator whose layout changes under it
$session->query_safe(
	q{PREPARE next AS SELECT sno_flake_generate('g') >> 3; EXECUTE next});
remake($counts[1]);
is($session->query_safe('EXECUTE next'),
	7, 'a prepared statement uses the layout as it is');

# When a session ends, it knows the layouts that were added meanwhile.
$other->query_safe(
	q{SELECT sno_flake_create_generator('n', 'counter'), sno_flake_generate('n')});
$session->query_safe(
	q{SELECT sno_flake_create_layout('further', '2020-01-01Z', 1, 41, 10, 12)}
);
close_session($other);
$other = open_session($source, 'anew');
is( $session->query_safe(
		q{SELECT wall_hi = tick_until, sequence FROM sno_catalog.sno_lease
		WHERE kind = 'n' AND layout = '00000000-0000-0000-0000-00003f000000'}
	),
	't|1',
	'a layout was added: a session that ends writes an exact row');

# A session that ends when there are no layouts at all
$other->query_safe(q{SELECT sno_flake_generate('n')});
$session->query_safe('DROP EXTENSION sno_flakes');
close_session($other);
$other = open_session($source, 'anew');
is( $session->query_safe(
		q{SELECT wall_hi = tick_until, sequence FROM sno_catalog.sno_lease
		WHERE kind = 'n' AND layout = '00000000-0000-0000-0000-00003f000000'}
	),
	't|2',
	'the extension was dropped: a session that ends writes an exact row');
remake($counts[0]);
is( $other->query_safe(
		q{SELECT sno_flake_create_generator('n', 'counter'), sno_flake_generate('n')}
	),
	'0|3',
	'and the generator goes on there');

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
SELECT sno_flake_drop_generator('r')});
}
is($session->query_safe('SELECT count(*), count(DISTINCT id) FROM sealed'),
	'4000|4000',
	'with a key and without it, a generator goes on where it was');

#
# A definition without its layout, as a dump of its table alone brings it
#
$session->query_safe(
	q{INSERT INTO sno_catalog.sno_flake_generator
SELECT 'lost', role, system_identifier, timeline, database, home, 'lost', node_first, node_last, false, key
FROM sno_catalog.sno_flake_generator WHERE name = 'g'});
my $lost    = q{SELECT sno_flake_generate('lost')};
my $no_layout = qr/^ERROR:  42704: generator "lost" has no valid layout
DETAIL:  Layout "lost" does not exist, or does not have the nodes of the generator\./;
like(error_of($_, $lost), $no_layout, 'a generator without its layout')
  foreach $session, $other;
like(
	$session->query_safe(q{SELECT ok, detail FROM sno_check() WHERE item = 'layouts'}),
	qr/^f\|The layout of generator "lost" cannot be looked up\.$/,
	'sno_check() names it');

# The layout is tried, and then made otherwise.
sub parts_of_lost
{
	return $session->query_safe(
		q{SELECT node, sequence, timestamp BETWEEN clock_timestamp() - interval '2 h' AND clock_timestamp() + interval '1 h'
FROM (SELECT sno_flake_generate('lost') AS id) AS i, sno_flake_parts(id, 'lost')}
	);
}
$session->query_safe(
	q{BEGIN; SELECT sno_flake_create_layout('lost', '2020-01-01Z', 3600000, 32, 10, 22)}
);
is(parts_of_lost(), '5|0|t', 'with a layout, it generates');
$session->query_safe('ROLLBACK');
like(error_of($session, $lost),
	$no_layout, 'after a rollback it has no layout again');
$session->query_safe(
	q{SELECT sno_flake_create_generator('another', 'snowflake', 9)});
is(error_of($session, q{SELECT sno_flake_generate('another')}),
	'', 'other generators of the session go on');
$session->query_safe(
	q{SELECT sno_flake_create_layout('lost', '2020-01-01Z', 3600000, 32, 8, 16)}
);
is(parts_of_lost(), '5|0|t', 'it has the ids of the layout that it has now');
is($other->query_safe($lost) & 2**24 - 1,
	(5 << 16) + 1, 'in another session, too');

#
# A plan has a constant that was computed from a layout.  Whoever added the layout rolls
# back, or drops the extension, and another layout has its name.
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
		"$begin; SELECT sno_flake_create_layout('tried', '2025-01-01Z', $unit, 41, 10, 12)"
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
try_layout(4000,
	'BEGIN; DROP EXTENSION sno_flakes; CREATE EXTENSION sno_flakes',
	'COMMIT');
close_session($_) foreach $session, $other;

#
# Dump and restore
#
my $content = q{
SELECT md5(string_agg(l::text, ',' ORDER BY name)), count(*), string_agg(name, ',' ORDER BY name) FILTER (WHERE NOT built_in)
FROM sno_catalog.sno_flake_layout AS l;
TABLE sno_catalog.sno_flake_generator;
SELECT md5(string_agg(t::text, ',' ORDER BY id)), count(*) FROM t;
SELECT indexdef FROM pg_indexes WHERE tablename = 't' ORDER BY 1;
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE sno_flake_timestamp(id, 'mine') BETWEEN '2026-01-01 00:00:00.1Z' AND '2026-01-01 00:00:00.199Z';
SELECT count(*) FROM t WHERE id >= sno_flake_min('2026-01-01 00:00:00.5Z', 'mine') AND n > 0};
my $expected = $source->safe_psql('app', $content);
like($expected, qr/\|20\|later,mine\nown\|.*\n100\n501$/s,
	'layouts, rows and indexes are as they were made');

my $issued =
  $source->safe_psql('app', q{SELECT sno_flake_generate('own')});

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
	cmp_ok(
		$target->safe_psql(
			$dbname,
			q{SELECT sno_flake_generate('own')},
			connstr => connection($target, $dbname)),
		'>', $issued,
		"$dbname: the generator goes on");
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
ALTER TABLE t ADD at timestamptz GENERATED ALWAYS AS (sno_flake_timestamp(id, 'mine')) STORED;
ALTER TABLE t ADD CHECK (sno_flake_timestamp(id, 'mine') >= '2026-01-01Z')}
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
	(grep { /TABLE DATA sno_catalog sno_flake_layout/ } @list),
	grep { !/TABLE DATA sno_catalog sno_flake_layout|EXTENSION|SCHEMA/ } @list);
$target->safe_psql('postgres', 'CREATE DATABASE computed OWNER owner');
$target->safe_psql(
	'computed',
	'CREATE EXTENSION sno; CREATE EXTENSION sno_flakes',
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
CREATE EXTENSION sno;
CREATE EXTENSION sno_flakes;
SELECT sno_flake_create_layout('theirs', '2024-01-01Z', 1, 41, 10, 12);
SELECT sno_flake_create_generator('own', 'theirs', 6);
CREATE TABLE t (id bigint PRIMARY KEY, n integer, at timestamptz)});
my $tables =
  'TABLE sno_catalog.sno_flake_layout; TABLE sno_catalog.sno_flake_generator';
my $layouts = $target->safe_psql('app', $tables);
$source->safe_psql('app', 'CREATE PUBLICATION everything FOR ALL TABLES');
$target->safe_psql('app',
		q{CREATE SUBSCRIPTION sub CONNECTION '}
	  . $source->connstr
	  . q{ dbname=app' PUBLICATION everything});
$target->wait_for_subscription_sync($source, 'sub', 'app');
$source->safe_psql(
	'app', q{
SELECT sno_flake_create_layout('last', '2023-01-01Z', 1, 41, 10, 12);
SELECT sno_flake_create_generator('more', 'last', 7);
SELECT sno_flake_drop_generator('own');
INSERT INTO t VALUES (sno_flake_make('2026-02-01Z', 0, 0, 'mine'))});
$source->wait_for_catchup('sub');
is($target->safe_psql('app', 'SELECT count(*) FROM t'),
	1001, 'the rows of other tables arrive');
is($target->safe_psql('app', $tables),
	$layouts, 'the layouts and generators of the subscriber are as they were');

foreach my $node ($source, $target)
{
	check_log($node);
	$node->stop;
}
done_testing();
