
# The page doc/former.md, word for word: test/former.sql, a dump of a build before 1.0, is
# loaded by the owner of a database, who is not a superuser.  The clock stands where it
# stood in the dump.  Rows, definitions and layouts say what they said, and no id comes
# twice.  What was loaded can be dumped and restored as usual.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;

my $clock = FakeClock->new;
plan skip_all => 'libfaketime is not installed' unless defined $clock;

my $noon = '2026-11-01 12:00:00';
my $dump = slurp_file("$FindBin::RealBin/../former.sql");
my $page = slurp_file("$FindBin::RealBin/../../doc/former.md");
my %block = $page =~ /^```(sed|sql|sh)\n(.*?)^```$/msg;
my $dir   = PostgreSQL::Test::Utils::tempdir('former');

chomp(my $folder = qx(pg_config --sharedir));
my $seals = -e "$folder/extension/sno_seal.control";
$block{sed} =~ s/^.*_seal\\2.*\n//m unless $seals;

append_to_file("$dir/former.sed", $block{sed});
append_to_file("$dir/former.sql", $block{sql});
append_to_file("$dir/app.sql",    $dump);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf',
	"log_statement = none\nTimeZone = 'UTC'\nsno.lease_duration = 1h\nsno.partitions = '100-163'\n"
);
$clock->stop_at($noon);
$clock->start_server($node);
$node->safe_psql(
	'postgres', q{
CREATE ROLE regress_owner LOGIN;
CREATE ROLE regress_app LOGIN;
CREATE DATABASE app OWNER regress_owner;
CREATE DATABASE again OWNER regress_owner});

sub connection
{
	my ($dbname, $user) = @_;
	return $node->connstr($dbname) . ' user=' . ($user // 'regress_owner');
}

sub query
{
	my ($dbname, $query, $user) = @_;
	return $node->safe_psql($dbname, "SET search_path = public, ids; $query",
		connstr => connection($dbname, $user));
}

{
	local @ENV{qw(PGHOST PGPORT PGUSER DIR)} =
	  ($node->host, $node->port, 'regress_owner', $dir);
	$node->command_ok(
		[ 'bash', '-euc', "set -o pipefail\ncd \"\$DIR\"\n$block{sh}" ],
		'the dump is loaded by the owner of the database');
}

#
# What the dump has, and what it has become
#

# The rows of a table in the dump, by column.  A null is undef.
sub dumped
{
	my ($table) = @_;
	my ($columns, $rows) =
	  $dump =~ /^COPY \Q$table\E \(([^)]*)\) FROM stdin;\n(.*?)^\\\.$/ms
	  or die "no rows of $table";
	my @columns = split /, /, $columns;
	my @rows;
	foreach my $line (split /\n/, $rows)
	{
		my %row;
		@row{@columns} = map { $_ eq '\N' ? undef : s/\\\\/\\/gr } split /\t/, $line, -1;
		push @rows, \%row;
	}
	return @rows;
}

# These columns of these rows, sorted
sub lines_of
{
	my ($columns, @rows) = @_;
	return join "\n", sort map { my $row = $_; join '|', map { $row->{$_} // '' } @$columns } @rows;
}

# Compare columns of a table with rows.
sub compare
{
	my ($table, $columns, $what, @rows) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $found = query('app', 'SELECT ' . join(', ', @$columns) . " FROM $table");
	is(join("\n", sort split /\n/, $found), lines_of($columns, @rows), $what);
	return;
}

# The layouts by their former numbers: name, Unix ms of the epoch, unit, bits, order.
my %layout = (
	1   => [ 'snowflake', 1288834974657, 1,    41, 10, 12, 0 ],
	12  => [ 'randflake', 1730000000000, 1000, 30, 17, 17, 0 ],
	15  => [ 'boundary',  0,             1,    64, 48, 16, 0 ],
	16  => [ 'objectid',  0,             1000, 32, 40, 24, 0 ],
	17  => [ 'tickets',   0,             0,    62, 1,  0,  1 ],
	18  => [ 'counter',   0,             0,    63, 0,  0,  0 ],
	100 => [ 'ours',        1577836800000, 1000, 31, 8,  16, 0 ],
	101 => [ 'our numbers', 0,             0,    40, 12, 0,  0 ]);

sub uuid_of
{
	return join '-', unpack('a8a4a4a4a12', unpack('H*', pack('q>NC4', @_)));
}

my @same = qw(system_identifier timeline database home);
my (@leases, @generators, @flakes);
foreach my $row (dumped('sno_catalog.sno_lease'))
{
	my $p = $row->{partition};
	my $l = $layout{ $p - 65535 };
	push @leases,
	  { %$row,
		kind => $p == -1 ? 'f' : $p > 65535 ? 'n' : $row->{named} eq 't' ? 'g' : 's',
		partition => $p >= 0 && $p <= 65535 ? $p : 0,
		layout    => uuid_of($p > 65535 ? @$l[ 1 .. 6 ] : (0) x 6),
		shard_min => $row->{sequence_min},
		shard_max => $row->{sequence_max} };
}
foreach my $row (dumped('sno_catalog.sno_generator'))
{
	my $l = $layout{ $row->{partition} - 65535 };
	if (!defined $l)
	{
		push @generators, $row;
		next;
	}
	my $mask = (1 << $l->[4]) - 1;
	push @flakes,
	  { %$row,
		layout     => $l->[0],
		node_first => $row->{sequence_min} & $mask,
		node_last  => $row->{sequence_max} & $mask,
		counts     => $l->[2] == 0 ? 't' : 'f' };
}

my %kinds;
$kinds{ $_->{kind} }++ foreach @leases;
is(join(' ', map { "$_$kinds{$_}" } sort keys %kinds),
	'f1 g3 n10 s5', 'the dump has leases of all kinds');
compare('sno_catalog.sno_lease',
	[   @same, qw(holder kind partition layout shard_min shard_max sequence wall_hi drifts
		  tick_until tock_until taken_at) ],
	'leases', @leases);
compare('sno_catalog.sno_generator',
	[ @same, qw(name role partition sequence_min sequence_max meta) ],
	'named generators', @generators);
compare('sno_catalog.sno_flake_generator',
	[ @same, qw(name role layout node_first node_last counts key) ],
	'generators of layouts', @flakes);
compare('(SELECT * FROM sno_catalog.sno_flake_layout WHERE NOT built_in) AS own',
	[qw(name epoch unit time_bits node_bits sequence_bits node_last digits)],
	'layouts', dumped('sno_catalog.sno_layout'));
compare('sno_catalog.sno_prefix', [qw(meta prefix)], 'prefixes', dumped('sno_catalog.sno_prefix'));
compare("public.$_->[0]", [ @$_[ 1 .. $#$_ ] ], "table $_->[0]: rows are as they were",
	dumped("public.$_->[0]"))
  foreach ([qw(person id name)], [qw(message id body)], [qw(visit id n)], [qw(event id short)],
	[qw(issued generator id)]);

# The nodes are those that the generators were created with.
is( query('app',
		q{SELECT string_agg(concat_ws(' ', name, node_first, node_last), ', ' ORDER BY name) FROM sno_catalog.sno_flake_generator}
	),
	'boundary 281474976710000 281474976710000, count 0 0, object 9 9, odd 1 1, other count 0 0, own 3 3, own count 300 300, sealed 1 1, snow 5 5, two 8 9',
	'nodes of generators');

my $names = query(
	'app', q{
SELECT string_agg(definition, ' ') FROM (
	SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
	UNION ALL SELECT pg_get_viewdef('state'::regclass)
	UNION ALL SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid::regclass::text ~ '^(person|message|visit|event)$'
	UNION ALL SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'message'::regclass) AS d (definition)});
unlike($names,
	qr/\bsno_(take_snapshot|partition_by_time|create_flake|flake|flake_uuid|flake_bytea) *\(/,
	'calls have no old name');
like($names, qr/\b$_\(/, "$_ is called")
  foreach qw(sno_snapshot_generator sno_maintain_time_partitions sno_borrow_partition
  sno_flake_create_generator sno_flake_generate sno_flake_generate_uuid
  sno_flake_generate_bytea);

# All names, in calls of all forms; but columns and aliases stay
my %renamed = qw(
  sno_take_snapshot sno_snapshot_generator
  sno_partition_by_time sno_maintain_time_partitions
  sno_lease sno_borrow_partition
  sno_generators_reset sno_reset_statistics
  sno_watermark_reset sno_reset_watermark
  sno_registry_lost sno_registry_report_loss
  sno_create_flake sno_flake_create_generator
  sno_flake sno_flake_generate
  sno_flake_uuid sno_flake_generate_uuid
  sno_flake_bytea sno_flake_generate_bytea
  sno_create_key sno_seal_create_key
  sno_drop_key sno_seal_drop_key
  sno_generate sno_generate
  sno_flake_parts sno_flake_parts);
my $calls = " NAME(1)\nNAME(NAME(2)) + ids.NAME (3); my_NAME(4)\n";
my $other = "SELECT ALIAS.a, ALIAS FROM ids.NAME('x') ALIAS(a)\n";
append_to_file("$dir/calls.sql",
	join '', map { my $name = $_; "$calls$other" =~ s/NAME|ALIAS/$name/gr } sort keys %renamed);
is( (run_command([ 'sed', '-E', '-f', "$dir/former.sed", "$dir/calls.sql" ]))[0] . "\n",
	join('', map {
		my $name = $_;
		"$calls$other" =~ s/my_NAME|ALIAS/$& eq 'ALIAS' ? $name : "my_$name"/ger =~ s/NAME/$renamed{$name}/gr
	} sort keys %renamed),
	'all calls get their new names');

#
# The registry's tables, as pg_dump writes them
#
append_to_file("$dir/registry.sql", <<"SQL");
CREATE EXTENSION IF NOT EXISTS sno_registry WITH SCHEMA public;
COPY sno_registry.block (first, last, part, holder, floor, ceiling) FROM stdin;
1024\t1039\t0\t-7\t100\t900
1040\t1050\t1\t\\N\t0\t0
\\.
COPY sno_registry.holder (holder, token, node, seen, era) FROM stdin;
-7\t12\ta node, (first, last, of ours\t2026-10-31 00:00:00+00\t3
\\.
COPY sno_registry.settings (first, last, longest, lossless, share, home, timeline, era, part, closed) FROM stdin;
1024\t1050\t25:00:00\tf\t16\t1/2/3\t1\t3\t1\t{5,0,0,0}
\\.
SQL
append_to_file("$dir/registry.new", (run_command([ 'sed', '-E', '-f', "$dir/former.sed", "$dir/registry.sql" ]))[0]);
$node->safe_psql('postgres', 'CREATE DATABASE registry OWNER regress_owner');
$node->command_ok(
	[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/registry.new", connection('registry') ],
	'the dump of a registry is loaded by the owner of its database');
foreach (
	[ settings => '25:00:00|f|16|1/2/3|1|3|1|{5,0,0,0}' ],
	[ space    => '|1024|1050' ],
	[ holder   => '|-7|12|a node, (first, last, of ours|2026-10-31 00:00:00+00|3' ],
	[ block    => "|1024|1039|0|-7|100|900\n|1040|1050|1||0|0" ])
{
	my ($table, $rows) = @$_;
	is($node->safe_psql('registry', "TABLE sno_registry.$table"), $rows, "its table $table");
}

#
# New ids, in the same moment
#
my $unit_of_feed = decode_id((grep { $_->{generator} eq 'feed' } dumped('public.issued'))[0]{id})->{unit};
my $watermark    = query('app', 'SELECT sno_watermark()');
cmp_ok(decode_id($watermark)->{unit}, '>=', $unit_of_feed, 'the watermark does not fall');

my %leased = map { $_->{partition} => 1 } grep { $_->{kind} eq 's' } @leases;
my @persons = split /\n/,
  query('app',
	q{INSERT INTO person (name) SELECT 'new' FROM generate_series(1, 100) RETURNING id});
is(scalar(grep { $leased{ decode_id($_)->{partition} } } @persons),
	0, 'new ids are in other partitions');
is(scalar(grep { $_ lt $watermark } @persons), 0, 'and not below the watermark');

my $key = q{SELECT sno_seal_create_key('key', '\x000102030405060708090a0b0c0d0e0f')};
my %layout_of = map { $_->{name} => $_->{layout} } @flakes;
my @flake_names = grep { $seals || $_ ne 'sealed' } sort keys %layout_of;
my @numbers = grep { $_ !~ /boundary|object/ } @flake_names;

# SQL that makes ids of all generators, and notes them
sub issue
{
	my ($count) = @_;
	my %function = map { $_ => "sno_flake_generate('$_')" } @numbers;
	$function{$_} = "sno_generate(1, '$_')" foreach qw(orders closed unused);
	$function{bounded}  = q{sno_generate(7, 'bounded')};
	$function{boundary} = q{sno_flake_generate_uuid('boundary')};
	$function{object}   = q{sno_flake_generate_bytea('object')};
	return join '; ',
	  map { "INSERT INTO issued SELECT '$_', $function{$_} FROM generate_series(1, $count)" }
	  sort keys %function;
}

# No id of a generator was noted twice.  Those of "snow" are in two tables.
sub check_unique
{
	my ($dbname) = @_;
	is( query($dbname, q{
SELECT generator, id FROM (
	SELECT generator, id FROM issued UNION ALL
	SELECT 'snow', id::text FROM message UNION ALL
	SELECT 'own', id::text FROM visit UNION ALL
	SELECT 'boundary', id::text FROM event UNION ALL
	SELECT 'object', short::text FROM event UNION ALL
	SELECT 'session', id::text FROM person) AS i
GROUP BY 1, 2 HAVING count(*) > 1}),
		'',
		"$dbname: no id was issued twice");
	return;
}

query('app', $key) if $seals;
query('app', 'ALTER TABLE issued ADD after boolean NOT NULL DEFAULT false; ALTER TABLE issued ALTER after SET DEFAULT true');
query('app', issue(100));
query('app', q{
INSERT INTO message (body) SELECT 'new' FROM generate_series(1, 100);
INSERT INTO visit (n) SELECT generate_series(1, 100);
INSERT INTO event SELECT FROM generate_series(1, 100)});
check_unique('app');

# One that was used changes sides, and one that wasn't begins on the first.
is( query('app', q{
SELECT string_agg(DISTINCT concat_ws(' ', generator, after, sno_tick_tock(id::sno)), ', ')
FROM issued WHERE generator IN ('orders', 'bounded', 'closed')}),
	'bounded f f, bounded t t, closed f f, closed t t, orders f f, orders t t',
	'named generators go on on the other side');
is( query('app', q{
SELECT count(*) FROM issued WHERE generator = 'bounded' AND NOT
	(sno_partition(id::sno) = 60001 AND sno_meta(id::sno) = 7 AND sno_sequence(id::sno) BETWEEN 100 AND 999)}),
	0, 'within their bounds');
is( query('app', q{
SELECT string_agg(DISTINCT concat_ws(' ', generator, after, sequence >> bits - 1), ', ')
FROM (VALUES ('snow', 'snowflake', 12), ('two', 'snowflake', 12), ('own', 'ours', 16)) AS l (generator, layout, bits)
JOIN issued USING (generator), sno_flake_parts(id::bigint, layout)}),
	'own f 0, own t 1, snow f 0, snow t 1, two f 0, two t 1',
	'so do generators of layouts');

# By how many numbers a counter goes on after those in the dump
foreach (
	[ 'count',       1,    2**32 ],
	[ 'other count', 1,    2**32 ],
	[ 'odd',         2,    2**32 ],
	[ 'own count',   4096, 2**32 ])
{
	my ($name, $step, $unseen) = @$_;
	my $gap = query('app',
		"SELECT (min(id::bigint) FILTER (WHERE after) - max(id::bigint) FILTER (WHERE NOT after)) / $step FROM issued WHERE generator = '$name'"
	);
	cmp_ok(abs($gap - $unseen), '<=', 400_000, "counter \"$name\" goes on after its numbers: $gap");
}

# What was loaded and what is written now name the same subjects.
my $ours     = 'system_identifier = (SELECT system_identifier FROM pg_control_system())';
my $subjects = q{SELECT kind, partition, layout, shard_min, shard_max FROM sno_catalog.sno_lease WHERE kind IN ('g', 'n')};
my $sealed   = uuid_of(@{ $layout{12} }[ 1 .. 6 ]);
is( query('app',
		"$subjects AND NOT $ours EXCEPT $subjects AND $ours"
		  . ($seals ? '' : " EXCEPT $subjects AND layout = '$sealed'")),
	'',
	'each generator has a row beside that of the dump');

# Rights, and functions of users
is(query('app', q{SELECT sno_generate(1, 'closed') IS NOT NULL, sno_flake_generate('two') > 0}), 't|t',
	'the owner uses restricted generators');
$node->safe_psql('app', 'CREATE ROLE regress_other LOGIN; GRANT USAGE ON SCHEMA ids TO regress_app, regress_other');
foreach (q{sno_generate(1, 'closed')}, q{sno_flake_generate('two')})
{
	is(query('app', "SELECT $_ IS NOT NULL", 'regress_app'), 't', "a member of the role calls $_");
	my (undef, undef, $error) = $node->psql('app', "SET search_path = ids; SELECT $_",
		connstr => connection('app', 'regress_other'));
	like($error, qr/permission denied for generator/, "another role can't call $_");
}
is( query('app',
		q{SELECT orders->>'partition' IS NOT NULL, lend() IS NOT NULL, create_counter('third') > 0 FROM state}
	),
	't|t|t',
	'views and functions work');
is(query('app', 'SET enable_seqscan = off; SELECT count(*) FROM visit WHERE sno_flake_timestamp(id, \'ours\') > \'2026-01-01Z\''),
	105, 'so does the index by a layout');
is(query('app', q{SELECT sno_prefixed(id) ~ '^person_' FROM person LIMIT 1}), 't', 'and the prefix');

# A clock that stands seems to step, and stays behind the bounds of generators in the dump.
my $faults = q{SELECT item, detail FROM sno_check() WHERE NOT ok AND item NOT IN ('clock', 'generators')};
is(query('app', $faults), '', 'sno_check() finds no fault');

#
# Dumped and restored as usual
#
$node->command_ok([ 'pg_dump', '-f', "$dir/again.sql", '-d', connection('app') ],
	'the new database is dumped');
unlike(slurp_file("$dir/again.sql"), qr/pg_temp/, 'nothing of the recipe is left');
$node->command_ok(
	[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/again.sql", '-d', connection('again') ],
	'its dump is restored without the recipe');
foreach my $table (qw(sno_lease sno_generator sno_flake_generator sno_flake_layout sno_prefix))
{
	my $content =
	  "SELECT md5(string_agg(t::text, ',' ORDER BY t::text COLLATE \"C\")) FROM sno_catalog.$table AS t";
	is(query('again', $content), query('app', $content), "$table is the same again");
}
$node->stop;
$clock->stop_at('2026-11-01 16:00:00');
$clock->start_server($node);
query('again', $key) if $seals;
query('again', issue(100));
query('again', q{INSERT INTO person (name) SELECT 'again' FROM generate_series(1, 100)});
check_unique('again');
is(query('again', $faults), '', 'again: sno_check() finds no fault');
$node->stop;
check_log($node);
done_testing();
