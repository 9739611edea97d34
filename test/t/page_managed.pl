
# sno_portable, the functions of doc/uuid.md without a library: installed by an owner who has
# no right but to create schemas, compared with the extension, moved to it and back, dumped, and
# called through a pooler.  Where the counter may have gone back, it leaps.  The commands of
# doc/managed.md are run here.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use POSIX qw(strftime);
use TestHelpers;
use Torture;

my $folder  = "$FindBin::RealBin/../../portable";
my $torture = Torture->new;
my $node    = new_node('main', allows_streaming => 1, conf => q{
fsync = on
restart_after_crash = on
autovacuum = off
shared_buffers = 128MB
});
$torture->start_server($node);

# Run a script of the folder by psql as a user, with these options, and return its errors.
sub run_script
{
	my ($user, $script, $dbname, @options) = @_;
	@options = ('-1', '-v', 'ON_ERROR_STOP=1') if !@options;
	my (undef, $err) = run_command(
		[   'psql', '-Xq', @options, '-o', '/dev/null', '-f', "$folder/$script",
			$node->connstr($dbname // 'postgres') . " user=$user" ]);
	return $err;
}

# The output of a query, or its error with the SQLSTATE.
sub answer
{
	my ($user, $query, $dbname) = @_;
	my ($out, $err) = run_command(
		[   'psql', '-XqAt', '-v', 'VERBOSITY=verbose', '-c', $query,
			$node->connstr($dbname // 'postgres') . " user=$user options='-csearch_path=app,sno -cTimeZone=UTC -cDateStyle=ISO'" ]);
	return $out . $err =~ s/^(?:LOCATION|CONTEXT|SQL function|PL\/pgSQL function).*\n?//gmr;
}

#
# An owner with a schema, and a clerk who may insert
#

$node->safe_psql('postgres',
	'REVOKE ALL ON SCHEMA public FROM PUBLIC; CREATE ROLE owner LOGIN; CREATE ROLE clerk LOGIN;
	GRANT CREATE ON DATABASE postgres TO owner; CREATE SCHEMA app AUTHORIZATION owner; GRANT USAGE ON SCHEMA app TO clerk;
	SET ROLE owner; ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO clerk; ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO clerk;
	ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO clerk; ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO clerk;
	ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC');
my $routines = q{SELECT string_agg(n.nspname || '.' || p.proname, ' ') FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
	WHERE n.nspname IN ('sno', 'app', 'public')};
foreach my $options ([ '-v', 'ON_ERROR_STOP=0' ], [ '-v', 'ON_ERROR_STOP=1' ])
{
	like(run_script('owner', 'sno_portable--0.9.sql', 'postgres', @$options), qr/needs a transaction/, "not installed by @$options");
	is($node->safe_psql('postgres', $routines), '', 'nothing is created');
}
is(run_script('owner', 'sno_portable--0.9.sql'), '', 'a role with CREATE on the database installs it');
like(run_script('owner', 'sno_portable--0.9.sql'), qr/already exists/, 'once');
$node->safe_psql('postgres',
	'SET ROLE owner; CREATE TABLE app.document (id uuid PRIMARY KEY DEFAULT sno.sno_generate_uuidv8(7), name text);
	GRANT SELECT, INSERT ON app.document TO clerk');

# The value of the counter in an id
my $counter = q{((('x' || substr(translate(id::text, '-', ''), 14, 3))::bit(12)::bigint << 20)
	| (('x' || substr(translate(id::text, '-', ''), 17, 6))::bit(24)::bigint >> 2 & 1048575))};

# The values of the counter in new ids of the clerk, in one session
sub values_of
{
	my ($before, $count, $dbname) = @_;
	return map { [ split /\|/ ] } split /\n/,
	  answer('clerk', "$before INSERT INTO document SELECT FROM generate_series(1, " . ($count // 3) . ") RETURNING $counter", $dbname);
}

my @first = map { @$_ } values_of('');
is("@first", join(' ', $first[0] .. $first[0] + 2), 'the counter counts');
my ($next) = map { @$_ } values_of('', 1);
is($next, $first[2] + 1, 'also in the next session');
foreach my $case (
	[ "SET sno_portable.session = 'nonsense';", 'a setting of nonsense' ],
	[ 'BEGIN; SELECT sno_generate_uuidv8() \g /dev/null' . "\nROLLBACK;", 'after ROLLBACK' ],
	[ 'SELECT sno_generate_uuidv8() \g /dev/null' . "\nDISCARD ALL; SET search_path = app, sno;", 'after DISCARD ALL' ],
	[ 'SELECT sno_generate_uuidv8() \g /dev/null' . "\nRESET ALL; SET search_path = app, sno;", 'after RESET ALL' ],
	[ 'BEGIN; SAVEPOINT s; SELECT sno_generate_uuidv8() \g /dev/null' . "\nROLLBACK TO s; COMMIT;", 'after ROLLBACK TO' ])
{
	my $out = $node->safe_psql('postgres', "SET ROLE clerk; SET search_path = app, sno; $case->[0]
		INSERT INTO document DEFAULT VALUES RETURNING $counter");
	my $step = $out - $next;
	ok($step > 0 && $step < 3, "$case->[1], the counter goes on");
	$next = $out;
}
foreach my $case (
	(map { [ "SELECT setval(c.oid, 1) FROM pg_class AS c WHERE c.relname = '$_'", '42501' ] } 'counter', 'life', 'seen'),
	[ 'SELECT sno.leap(true)',                     '42501' ],
	[ 'BEGIN; LOCK TABLE sno.lock',                '42501' ],
	[ 'SELECT sno_reseed()',                                '42501' ],
	[ 'SELECT sno_generate_uuidv8(256)',                    '22003' ],
	[ 'SELECT sno_generate_uuidv8(-1)',                     '22003' ],
	[ 'SELECT sno_generate_uuidv8(n) FROM generate_series(255, 256) AS n', '22003' ],
	[ 'BEGIN READ ONLY; SELECT sno_generate_uuidv8()',      '25006' ],
	[ "SELECT 'abc'::sno",                                  '22P02' ])
{
	like(answer('clerk', $case->[0]), qr/ERROR:  $case->[1]:/, "refused: $case->[0]");
}
my %advice = (
	time         => qr/call sno_min/,
	uuid         => qr/call sno_from_uuidv8/,
	prefix       => qr/Leave out the prefix/,
	'lower case' => qr/in lower case/,
	number       => qr/not a number/,
	none         => qr/For example/);
foreach my $line (split /\n/, slurp_file("$FindBin::RealBin/../vectors/mistakes.tsv"))
{
	my ($kind, $text) = split /\t/, $line, 2;
	like(answer('clerk', "SELECT '$text'::sno"), qr/ERROR:  22P02: .*^HINT: .*$advice{$kind}/ms, "advice for '$text'");
}
foreach my $case ([ '0, 16382' ], [ '-1, 20000' ], [ '5000, 65536' ], [ '5000, 4000' ])
{
	like(answer('owner', "SELECT sno_reseed($case->[0])"), qr/ERROR:  22023:/, "refused: sno_reseed($case->[0])");
}

# A clock that no id can tell
foreach my $at (1262304000 - 60, 1262304000 + 2**39 / 250 + 60)
{
	$torture->set_clock($at - time);
	like(answer('clerk', 'SELECT sno_generate_uuidv8()'), qr/ERROR:  22008: the system clock is outside the range of a sno/, "at $at s");
}
$torture->set_clock(0);

# An outer call in whose metabyte an inner one makes ids
$node->safe_psql('postgres', q{SET ROLE owner; CREATE FUNCTION app.meta() RETURNS integer LANGUAGE plpgsql AS
	'BEGIN RETURN ascii(sno.sno_generate_uuidv8()::text); END'});
is( answer('owner', "SELECT count(DISTINCT $counter) FROM (SELECT sno_generate_uuidv8(CASE n % 2 WHEN 0 THEN meta() ELSE 1 END) AS id
		FROM generate_series(1, 1000) AS n) AS s"),
	'1000', 'a metabyte may call it, too');

# More clients than connections: each transaction may meet another session
SKIP:
{
	my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
	skip 'pgbouncer is not installed', 2 unless defined $pgbouncer;
	my $dir  = PostgreSQL::Test::Utils::tempdir_short();
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	append_to_file("$dir/pgbouncer.ini", '[databases]
postgres = ' . $node->connstr('postgres') . " user=clerk
[pgbouncer]
unix_socket_dir = $dir
listen_addr =
listen_port = $port
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 100
");
	append_to_file("$dir/insert.sql", "INSERT INTO app.document DEFAULT VALUES;\nBEGIN;\nSELECT sno.sno_generate_uuidv8();\nROLLBACK;\n");
	my $pooler = IPC::Run::start([ $pgbouncer, '-q', "$dir/pgbouncer.ini" ], '<', '/dev/null', '&>', "$dir/output");
	wait_until('the pooler answers', sub { -S "$dir/.s.PGSQL.$port" });
	my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM app.document');
	delete local $ENV{PGOPTIONS};
	$node->command_ok([ 'pgbench', '-n', '-c', 12, '-t', 100, '-f', "$dir/insert.sql", '-h', $dir, '-p', $port, '-U', 'clerk', 'postgres' ],
		'12 clients of a pooler share 3 connections');
	is($node->safe_psql('postgres', 'SELECT count(DISTINCT id) FROM app.document') - $rows, 1200, 'all their ids differ');
	$pooler->signal('TERM');
	$pooler->finish;
}
$next = (values_of('', 1))[0][0];

#
# The same results as the extension
#

$node->safe_psql('postgres', 'CREATE DATABASE native; CREATE DATABASE copied');
$node->safe_psql('native', 'CREATE SCHEMA app AUTHORIZATION owner; CREATE EXTENSION sno');
my $ids = $node->safe_psql('native', q{
	SELECT string_agg(sno_to_uuidv8(decode(lpad(to_hex(b::bit(40)::bigint), 10, '0') || lpad(to_hex((b << 40)::bit(40)::bigint), 10, '0'), 'hex')::sno)::text, ',')
	FROM (
		SELECT set_bit(B'0'::bit(80), n, 1) FROM generate_series(0, 79) AS n
		UNION ALL SELECT ~set_bit(B'0'::bit(80), n, 1) FROM generate_series(0, 79) AS n
		UNION ALL SELECT string_agg((n * 7919 * m % 1048576)::bit(20)::text, '')::bit(80) FROM generate_series(1, 200) AS n, generate_series(11, 14) AS m GROUP BY n) AS s (b)});
my $from = "FROM unnest('{$ids}'::uuid[]) AS id";
my $times = "FROM unnest('{-infinity,infinity,2009-12-31 23:59:59.999999+00,2010-01-01 00:00+00,2010-01-01 00:00:00.003999+00,2010-01-01 00:00:00.004+00,"
  . '2026-11-01 12:34:56.789012+00,2026-11-01 12:34:56.788+00,2079-09-07 15:47:35.547999+00,2079-09-07 15:47:35.548+00,2079-09-07 15:47:35.552+00,'
  . "4713-01-01 00:00+00 BC,294276-12-31 00:00+00}'::timestamptz[])";
my $ranges = "$times AS a, unnest(ARRAY(SELECT t $times AS t)) AS b, unnest('{[],[),(],()}'::text[]) AS c, LATERAL (SELECT CASE WHEN a <= b THEN tstzrange(a, b, c) ELSE 'empty' END) AS r (during)";
my $all = join "\n", map { "SELECT $_;" } (
	"id, sno_from_uuidv8(id), sno_to_uuidv8(sno_from_uuidv8(id)) = id, sno_is_uuidv8(id), sno_timestamp(sno_from_uuidv8(id)), sno_meta(sno_from_uuidv8(id)),
		sno_date_bin('5 min', sno_from_uuidv8(id), '2001-01-01 00:00+00') $from",
	"array_agg(id ORDER BY sno_from_uuidv8(id)) = array_agg(id ORDER BY id), min(sno_from_uuidv8(id)), max(sno_from_uuidv8(id)) $from",
	"id, n, sno_is_uuidv8(u), sno_during(u, '[,]') $from, unnest('{48,51,64,65,86,87,127}'::integer[]) AS n,
		LATERAL (SELECT encode(set_bit(uuid_send(id), n / 8 * 8 + 7 - n % 8, 1 - get_bit(uuid_send(id), n / 8 * 8 + 7 - n % 8)), 'hex')::uuid) AS s (u)",
	"at, sno_min(at), sno_max(at), sno_min(at, 7), sno_max(at, 255) $times AS at",
	"a, b, c, during, sno_range_min(during), sno_range_max(during) $ranges",
	"during, count(*), count(*) FILTER (WHERE sno_during(id, during)) FROM (SELECT id $from ORDER BY id::text LIMIT 40) AS f, LATERAL (SELECT during $ranges) AS s GROUP BY 1 ORDER BY 1",
	"sno_range_min('(,)'), sno_range_max('(,2026-01-01)'), sno_range_min('[2026-01-01,)')",
	"sno_is_uuidv8(NULL), sno_during(NULL, '(,)'), sno_during('00112233-4455-8667-9e22-640000000000', NULL), sno_during('00112233-4455-7667-9e22-640000000000', NULL),
		sno_from_uuidv8(NULL), sno_to_uuidv8(NULL), sno_timestamp(NULL), sno_meta(NULL), sno_min(NULL), sno_max(NULL, 1), sno_min(now(), NULL), sno_range_min(NULL), sno_generate_uuidv8(NULL)",
	"id FROM (SELECT id $from) AS s WHERE id >= sno_to_uuidv8(sno_min('2026-01-01 00:00+00')) AND sno_meta(sno_from_uuidv8(id)) > 0",
	map { "sno_from_uuidv8('$_')" } qw(00000000-0000-0000-0000-000000000000 00112233-4455-7667-9e22-640000000000 00112233-4455-8667-de22-640000000000 00112233-4455-8667-9e22-640000000001));
my ($portable, $native) = map { [ split /\n/, answer('owner', $all, $_) ] } 'postgres', 'native';
cmp_ok(scalar @$native, '>', 4000, 'there is much to compare');
my @differ = grep { $portable->[$_] ne $native->[$_] } 0 .. $#$native;
is(scalar(@differ), 0, 'reads are the same as those of the extension')
  or diag("$portable->[ $differ[0] ]\n$native->[ $differ[0] ]");
foreach my $query ('sno_generate_uuidv8(256)', 'sno_min(now(), 256)', 'sno_max(now(), -1)')
{
	is(answer('owner', "SELECT $query"), answer('owner', "SELECT $query", 'native'), "the same error: $query");
}

# Partitions, and the text of the procedure but for the passage that looks at the key
my $partitions = join "\n", map { qq{
	CREATE TABLE event (id uuid PRIMARY KEY) PARTITION BY RANGE (id);
	CALL sno_maintain_time_partitions('event', $_);
	SELECT relname, pg_get_expr(relpartbound, oid) FROM pg_class JOIN pg_inherits ON inhrelid = oid WHERE inhparent = 'event'::regclass ORDER BY 1;
	DROP TABLE event;} }
  "'1 month', at => '2026-11-22 12:00+00'", "'1 day', '2 days', at => '2028-02-28 23:59+00'", "'15 min', '30 min', at => '2026-11-22 23:50+00'",
  "'1 month', '10 years', at => '2079-07-31 12:00+00'", "'1 month 1 day'", "NULL", "'1 day', '-1 day'", "'1 day', at => '2009-01-01'";
is(answer('owner', $partitions), answer('owner', $partitions, 'native'), 'so are partitions');
my ($ours, $theirs) = map {
	slurp_file($_) =~ /(CREATE PROCEDURE (?:sno\.)?sno_maintain_time_partitions.*?\$procedure\$;)/s;
	$1 =~ s/sno\.(?=sno_maintain)//r =~ s/\n    SELECT o\.opcintype.*?(?=\n    EXECUTE 'SELECT ' \|\| to_bound INTO highest)//sr
} "$folder/sno_portable--0.9.sql", "$folder/../sql/sno--0.9.sql";
cmp_ok(length $theirs, '>', 5000, 'the procedure is found');
is($ours, $theirs, 'it is that of the extension');

# Functions of a table's owner don't run as a superuser.
$node->safe_psql('postgres',
	'GRANT CREATE ON SCHEMA app TO clerk; SET ROLE clerk;
	CREATE TABLE app.theirs (id uuid PRIMARY KEY) PARTITION BY RANGE (id)');
my $call = "CALL sno.sno_maintain_time_partitions('app.theirs', '1 month')";
like(answer('postgres', $call), qr/ERROR:  42501: a superuser must not maintain table app.theirs of another role/,
	'a superuser who is not the owner maintains no partitions');
like(answer('owner', $call), qr/ERROR:  42501: must be owner of table app.theirs/, 'nor does another role');
is(answer('postgres', "SET ROLE clerk; $call"), '', 'a superuser does after SET ROLE');
$node->safe_psql('postgres', 'DROP TABLE app.theirs; REVOKE CREATE ON SCHEMA app FROM clerk');

#
# A start or a crash: the counter leaps by 2^24 to 2^25
#

sub leaps
{
	my ($what) = @_;
	my ($now) = map { @$_ } values_of('', 1);
	my $leap = ($now - $next) % 2**32;
	ok($leap >= 2**24 && $leap <= 2**25 + 100, "$what, it leaps") or diag("from $next to $now");
	$next = $now;
	return;
}

# It may leap to anywhere but to the values in use, and to another place each time.
my @landed;

sub leaps_far
{
	my ($what, $dbname) = @_;
	my $margin = 50_000;
	my ($now) = map { @$_ } values_of('', 1, $dbname);
	my $leap = ($now - $next) % 2**32;
	ok($leap > $margin && $leap < 2**32 - $margin, "$what, it leaps") or diag("from $next to $now");
	my @again = grep { ($now - $_) % 2**32 < 1000 || ($_ - $now) % 2**32 < 1000 } @landed;
	ok(!@again, 'to another place each time') or diag("to $now, near @again");
	push @landed, $now;
	$next = $now if !defined $dbname;
	return;
}

($next) = map { @$_ } values_of('', 1);
$node->stop;
$torture->start_server($node);
leaps('after a restart');
$node->stop('immediate');
$torture->start_server($node);
leaps('after an immediate shutdown');
my $victim = open_session($node, 'postgres');
$victim->query_safe('SELECT sno.sno_generate_uuidv8()');
crash_and_recover($node, sub { kill 'KILL', $victim->{pid} });
drop_session($victim);
leaps('after kill -9 of a session');

# Two starts at the same time
{
	my $clock = FakeClock->new;
	$clock->stop_at(strftime('%Y-%m-%d %H:%M:%S', gmtime));
	foreach (1, 2)
	{
		$node->stop('immediate');
		$clock->start_server($node);
		leaps('after a crash while the clock stands still');
	}
	$node->stop;
	$torture->start_server($node);
}
($next) = map { @$_ } values_of('', 1);

# A leap is on disk before an id follows it, and leaps go one after the other.
sub seen { return $node->safe_psql('postgres', 'SELECT last_value >> 32 FROM sno.seen'); }
my $before = seen();
$node->stop;
$torture->start_server($node);
my ($observer, @sessions) = map { open_session($node, 'postgres') } 1 .. 3;
my $pids     = join ',', map { $_->{pid} } @sessions;
$torture->stall_flushes(1);
send_query($_, 'SELECT sno.sno_generate_uuidv8()') foreach @sessions;
wait_until('one session waits for the disk, the other for that one', sub {
	$observer->query_safe("SELECT string_agg(wait_event, ' ' ORDER BY wait_event = 'relation') FROM pg_stat_activity WHERE pid IN ($pids)")
	  =~ /^(WALSync|WALWrite) relation$/i;
});
is($observer->query_safe('SELECT last_value >> 32 FROM sno.seen'), $before, 'meanwhile, no other session issues');
$torture->set_clock(-86400);    # The first id doesn't wait for the clock.
$torture->stall_flushes(0);
my @made = map { (receive($_))[0] } @sessions;
isnt(seen(), $before, 'then they do');
$torture->set_clock(0);
my @values = sort { $a <=> $b } map { $node->safe_psql('postgres', "SELECT $counter FROM (SELECT '$_'::uuid AS id) AS s") } @made;
is($values[1], $values[0] + 1, 'the counter leapt once');
close_session($_) foreach $observer, @sessions;
$next = $values[1];

#
# The counter goes back: it leaps over all that was in use, in new sessions and old ones
#

# Back up a schema, or the database without one, make more ids, and run a command on the backup.
my $backup = $node->basedir . '/archive';

sub back_up
{
	my (@options) = @_;
	$node->command_ok([ 'pg_dump', '-Fc', @options, '-f', $backup, $node->connstr('postgres') ], "pg_dump @options");
	values_of('', 1) foreach 1 .. 3;
	$next = (values_of('', 20_000))[-1][0];
	return;
}

sub restore
{
	my (@options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my (undef, $err) = run_command([ 'pg_restore', @options, '-d', $node->connstr('postgres'), $backup ]);
	note($err);
	return;
}

sub as_owner_do
{
	my ($command) = @_;
	return $node->safe_psql('postgres', "SET ROLE owner; $command");
}

my $steady = open_session($node, 'postgres', 'search_path = app, sno');
my $steady_makes = "INSERT INTO document DEFAULT VALUES RETURNING $counter";

foreach my $unlogged ([], ['--no-unlogged-table-data'])
{
	foreach (1, 2)
	{
		back_up(@$unlogged) if $_ == 1;
		restore('--clean', '--if-exists');
		leaps_far("after pg_restore --clean @$unlogged, time $_");
	}
}
foreach (1, 2)
{
	back_up('-n', 'sno', '-n', 'app') if $_ == 1;
	restore('--data-only');
	leaps_far("after pg_restore --data-only, time $_");
}
back_up('--no-unlogged-table-data');
restore('--data-only', '-n', 'sno');
leaps_far('after that of the dump of a standby');
back_up('-n', 'app');
$node->safe_psql('postgres', 'DROP SCHEMA app CASCADE');
restore();
is((values_of('', 1))[0][0] - $next, 1, 'the counter goes on if the schema sno is not restored');

# An old session, and a transaction
back_up('-n', 'sno');
$steady->query_safe($steady_makes);
$steady->query_safe('BEGIN');
my $held = $steady->query_safe($steady_makes);
restore('--data-only');
my $after = $steady->query_safe($steady_makes);
cmp_ok(($after - $held) % 2**32, '>', 50_000, 'a transaction leaps while the data is restored');
$steady->query_safe('COMMIT');
back_up('-n', 'sno');
restore('--data-only');
$after = $steady->query_safe($steady_makes);
cmp_ok(($after - $next) % 2**32, '>', 50_000, 'so does an old session');

# By hand
($next) = map { @$_ } values_of('', 1) foreach 1 .. 3;
as_owner_do("SELECT setval('sno.counter', last_value - 2) FROM sno.counter");
leaps_far('after setval()');
$next = (values_of('', 20_000))[-1][0];
as_owner_do("SELECT setval('sno.counter', last_value - 10000) FROM sno.counter");
leaps_far('after setval() to a value of a transaction that made many');
foreach my $move ('ALTER SEQUENCE sno.counter RESTART',
	'ALTER SEQUENCE sno.counter RESTART WITH 1000000',
	'CREATE TABLE sno.own (n bigint); ALTER SEQUENCE sno.counter OWNED BY sno.own.n;
		TRUNCATE sno.own RESTART IDENTITY; ALTER SEQUENCE sno.counter OWNED BY NONE; DROP TABLE sno.own',
	'SELECT sno.sno_reseed()')
{
	foreach (1, 2)
	{
		as_owner_do($move);
		leaps_far("after $move, time $_");
	}
}

# What a role can seed doesn't tell where it leaps to.
my $seeded = as_owner_do('SELECT setseed(0.5); SELECT sno.sno_reseed(); SET search_path = app; ' . $steady_makes);
isnt(as_owner_do('SELECT setseed(0.5); SELECT sno.sno_reseed(); SET search_path = app; ' . $steady_makes), $seeded, 'setseed() has no effect');
close_session($steady);

# Copies of the database
like(run_script('owner', 'sno_portable--0.9.sql'), qr/already exists/, 'a database has one counter');
$node->command_ok([ 'pg_dump', '-f', $node->basedir . '/dump', $node->connstr('postgres') ], 'it is dumped');
$node->command_ok(
	[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-f', $node->basedir . '/dump', $node->connstr('copied') ], 'and restored');
leaps_far('in a restored dump', 'copied');
$node->safe_psql('template1', 'CREATE DATABASE twin TEMPLATE postgres');
leaps_far('in a copy of the database', 'twin');
($next) = map { @$_ } values_of('', 1);

my $standby = PostgreSQL::Test::Cluster->new('standby');
$node->stop;
$node->backup_fs_cold('cold');
$torture->start_server($node);
$standby->init_from_backup($node, 'cold', has_streaming => 1);
$torture->start_server($standby);
leaps('after another restart');
$node->wait_for_catchup($standby);
my (undef, undef, $refusal) = $standby->psql('postgres', 'SELECT sno.sno_generate_uuidv8()');
like($refusal, qr/ERROR:  (cannot execute nextval\(\) in a read-only transaction|cannot access temporary or unlogged relations)/, 'a standby makes no id');
$node->stop;
$standby->promote;
$node = $standby;
leaps_far('after a promotion');

# Partitions of its own
as_owner_do('SELECT sno.sno_reseed(1000, 17383)');
my @own = map { @$_ } values_of('', 10);
is(scalar(grep { $_ >= 1000 << 16 && $_ < 17384 << 16 } @own), 10, 'ids are of the partitions that are set');
my $end = (17384 << 16) - 1;
as_owner_do("SELECT setval('sno.counter', $end), setval('sno.seen', last_value >> 32 << 32 | $end) FROM sno.seen");
@own = map { @$_ } values_of('', 1);
is($own[0] >> 1, 1000 << 15, 'the counter goes around in them');

#
# Moved to the extension and back, nothing but defaults changes
#
sub state
{
	return $node->safe_psql('postgres', q{
		SET search_path = app, sno;
		SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'app.document'::regclass;
		SELECT relfilenode FROM pg_class WHERE relname LIKE 'document%' ORDER BY relname;
		SET enable_seqscan = off;
		EXPLAIN (COSTS OFF) SELECT FROM app.document WHERE sno_during(id, '[2026-05-01 00:00+00, 2026-05-02 00:00+00)')})
	  =~ s/^\s*Filter.*\n//gmr;
}
my $state = state();
like($state, qr/Index Cond: \(\(id >= '3bfcd3a8-0000-8000-8000-000000000000'::uuid\) AND \(id <= '3bff66d5-ffff-8fff-bfff-fc0000000000'::uuid\)\)/, 'the planner sees bounds');
$node->safe_psql('postgres', 'CREATE VIEW app.v AS SELECT sno.sno_timestamp(sno.sno_from_uuidv8(id)) FROM app.document');
like(run_script('postgres', 'move.sql'), qr/view app\.v depends on/, 'a view keeps the database from moving');
$node->safe_psql('postgres', 'DROP VIEW app.v; DROP FUNCTION app.meta()');
is(run_script('postgres', 'move.sql'), '', 'the database moves to the extension');
is(state(), $state, 'the table stays as it is');
is($node->safe_psql('postgres', "SELECT sno_meta(id::text::sno) FROM sno_generate(3) AS id"), 3, 'the extension makes ids');
is(scalar(values_of('')), 3, 'so does the default');
is(run_script('postgres', 'move.sql'), '', 'it moves back');
is(state(), $state, 'the table stays as it is');
is(scalar(values_of('')), 3, 'the default makes ids');
is($node->safe_psql('postgres', 'SELECT count(*) = count(DISTINCT id) FROM app.document'), 't', 'no id came twice');
$state = $node->safe_psql('postgres', $routines);
like(run_script('postgres', 'drop.sql', 'postgres', '-v', 'ON_ERROR_STOP=0'), qr/depend/, 'the default keeps the functions from being dropped');
is($node->safe_psql('postgres', $routines), $state, 'all of them');
$node->safe_psql('postgres', 'DROP TABLE app.document');
is(run_script('postgres', 'drop.sql', 'postgres', '-v', 'ON_ERROR_STOP=1'), '', 'without it they are dropped');
like(run_script('postgres', 'move.sql'), qr/neither extension sno nor one sno_portable/, 'nothing is left to move');
is($node->safe_psql('postgres', "SELECT pg_describe_object(classid, objid, 0) FROM pg_depend WHERE refobjid = 'app'::regnamespace"), '', 'nothing is left');

$node->stop;
done_testing();
