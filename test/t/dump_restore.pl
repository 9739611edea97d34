
# Dump and restore in every format, by the owner of a database, who is not a
# superuser, into a server whose clock is behind.  The restored leases are those
# of another holder.  No id that the first server issued is issued again, not
# even by a named generator.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use NotedIds;
use TestHelpers;

my $clock = FakeClock->new;

my $notes = NotedIds->new;
my $named = NotedIds->new;
my $dir   = PostgreSQL::Test::Utils::tempdir('dump');

sub new_server
{
	my ($name, $partitions) = @_;
	my $node = new_node($name, conf => qq{
sno.lease_duration = 1h
sno.partitions = '$partitions'
});
	return $node;
}

sub connection
{
	my ($node, $dbname, $user) = @_;
	return $node->connstr($dbname) . ' user=' . ($user // 'owner');
}

# The first server, which leases all its partitions.
my $source = new_server('source', '100-107');
$source->start;
$source->safe_psql('postgres',
	'CREATE ROLE owner LOGIN; CREATE ROLE only_here; CREATE DATABASE app OWNER owner');

# A dump must bring all this back in the right order, with an empty search path.
# Objects of all kinds refer to the extension.
$source->safe_psql(
	'app', q{
CREATE EXTENSION sno;
CREATE TABLE t (
	id sno PRIMARY KEY DEFAULT sno_generate(1) CHECK (id <@ tstzrange('2020-01-01', NULL)),
	made_at timestamptz GENERATED ALWAYS AS (sno_timestamp(id)) STORED,
	parent sno REFERENCES t,
	n integer);
CREATE INDEX t_hash ON t USING hash (id);
CREATE INDEX t_gist ON t USING gist (id);
CREATE INDEX t_multi ON t USING brin (id sno_minmax_multi_ops);
CREATE INDEX t_late ON t (sno_meta(id)) WHERE id > sno_min('2026-01-01');
CREATE TABLE log (id sno PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE log_old PARTITION OF log FOR VALUES FROM (MINVALUE) TO (sno_min('2026-01-01'));
CREATE TABLE log_new PARTITION OF log FOR VALUES FROM (sno_min('2026-01-01')) TO (MAXVALUE) PARTITION BY HASH (id);
CREATE TABLE log_new_0 PARTITION OF log_new FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE log_new_1 PARTITION OF log_new FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE MATERIALIZED VIEW recent AS SELECT min(id), max(id) FROM t WHERE id <@ tstzrange('2026-01-01', NULL);
CREATE FUNCTION make() RETURNS sno LANGUAGE sql BEGIN ATOMIC SELECT sno_generate(7); END;
CREATE DOMAIN person_id AS sno CHECK (sno_meta(VALUE) < 8);
INSERT INTO sno_catalog.sno_prefix VALUES (7, 'seven');
SELECT sno_create_generator('named', 50, 10, 5000), sno_create_generator('closed', 51);
SELECT sno_restrict_generator('closed', 'only_here')},
	connstr => connection($source, 'app'));
# The extension sno_seal may be left out of the build.
my $seals = $source->psql(
	'app', q{
CREATE EXTENSION sno_seal;
SELECT sno_seal_create_key('key', '\x000102030405060708090a0b0c0d0e0f'), sno_flake_create_generator('sealed', 'randflake', 1, key => 'key');
SELECT sno_flake_generate('sealed');
CREATE VIEW sealed AS SELECT sno_seal(id, 'key') AS id FROM t},
	connstr => connection($source, 'app')) == 0;
my @sessions =
  map { open_session($source, 'app', "sno.partitions = '$_'") } 100 .. 107;
foreach my $session (@sessions)
{
	$notes->add(
		$session,
		$session->query_safe(
			'INSERT INTO t (n) SELECT generate_series(1, 100) RETURNING id'));
}
$named->add('source', $sessions[0]->query_safe(ids_of(1000, 'named')));
$sessions[0]->query_safe('INSERT INTO log SELECT id FROM t');
$sessions[0]->query_safe('UPDATE t SET parent = (SELECT min(id) FROM t)');
close_session($_) foreach @sessions;

# A hash of all rows; then the leases of other holders
my $content =
  q{SELECT (SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM t),
	(SELECT md5(string_agg(tableoid::regclass || ' ' || id, ',' ORDER BY id)) FROM log),
	(SELECT count(*) FROM log),
	sno_prefixed(sno_with_meta(sno_zero(), 7)),
	(SELECT string_agg(concat(name, ' for ', role), ',' ORDER BY name) FROM sno_catalog.sno_generator)};
my $foreign = q{SELECT * FROM sno_catalog.sno_lease
	WHERE system_identifier <> (SELECT system_identifier FROM pg_control_system()) ORDER BY partition};
my $expected = $source->safe_psql('app',
	"$content; SELECT * FROM sno_catalog.sno_lease ORDER BY partition");
my %leased = map { $_ => 1 } split /\n/,
  $source->safe_psql('app',
	'SELECT partition FROM sno_catalog.sno_lease WHERE kind = \'s\'');
is(scalar keys %leased, 8, 'eight partitions are leased');

#
# Restored in a server whose clock is half an hour behind
#
my $target = new_server('target', '100-163');
$clock->set_offset(-1800);
$clock->start_server($target);
$target->safe_psql('postgres', 'CREATE ROLE owner LOGIN');

# Dump the database of the first server into a file.
sub dump_as
{
	my ($file, $user, @options) = @_;
	$source->command_ok(
		[   'pg_dump', '-f', "$dir/$file", @options,
			'-d',      connection($source, 'app', $user) ],
		"pg_dump @options by $user");
	return;
}

sub restore
{
	my ($node, $dbname, $file, $user, @options) = @_;
	my @command =
	  $file =~ /\.sql$/
	  ? ('psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/$file")
	  : ('pg_restore', '-e', @options, "$dir/$file");
	$node->command_ok([ @command, '-d', connection($node, $dbname, $user) ],
		"$file is restored by $user @options");
	return;
}

# Check that the extension of keys is there, without the keys.  A generator waits for its
# key.
sub check_seal
{
	my ($dbname) = @_;
	my $session  = open_session($target, $dbname);
	my $generate = q{SELECT sno_flake_generate('sealed') IS NOT NULL};
	$session->query_safe('BEGIN; SAVEPOINT s');
	is($session->query_safe('SELECT count(*) FROM sno_catalog.sno_seal_key'),
		0, "$dbname: keys are not in a dump");
	like(
		error_of($session, $generate),
		qr/42704: key "key" does not exist/,
		"$dbname: a generator without its key is an error");
	$session->query_safe('ROLLBACK TO s');
	is( $session->query_safe(
			qq{SELECT FROM sno_seal_create_key('key', '\\x000102030405060708090a0b0c0d0e0f');
$generate, count(DISTINCT id) = (SELECT count(*) FROM t) FROM sealed}
		),
		't|t',
		"$dbname: with the same secret again, ids are sealed");
	$session->query_safe('ROLLBACK');
	close_session($session);
	return;
}

# Check that all rows are there, and that new ids are in other partitions.
sub check_restored
{
	my ($dbname) = @_;
	is( $target->safe_psql($dbname, "$content; $foreign"),
		$expected,
		"$dbname: rows are as they were, and leases are those of another holder"
	);
	check_seal($dbname) if $seals;
	my $ids = $target->safe_psql(
		$dbname,
		'INSERT INTO t (n) SELECT generate_series(1, 100) RETURNING id',
		connstr => connection($target, $dbname));
	$notes->add($dbname, $ids);
	is( scalar(
			grep { $leased{ decode_id($_)->{partition} } } split /\n/, $ids),
		0,
		"$dbname: new ids are in other partitions");

	# The clock is behind the ids that the first server issued.
	$ids = $target->safe_psql(
		$dbname,
		ids_of(100, 'named'),
		connstr => connection($target, $dbname));
	$named->add($dbname, $ids);
	is(scalar(grep { decode_id($_)->{tick_tock} != 1 } split /\n/, $ids),
		0, "$dbname: the named generator continues on the other side");
	return;
}

# Make an id; returns its status, the id and the error.
sub generate
{
	my ($dbname) = @_;
	return $target->psql($dbname,
		"\\set VERBOSITY verbose\nSET sno.max_wait = 0; SELECT sno_generate()"
	);
}

$notes->next_phase;
my %formats = (
	plain     => ['plain.sql'],
	inserts   => [ 'inserts.sql', '--inserts' ],
	custom    => [ 'custom',      '-Fc' ],
	directory => [ 'directory',   '-Fd', '-j2' ],
	tar       => [ 'tar',         '-Ft' ]);
my %restore_options = (directory => ['-j2']);
foreach my $format (sort keys %formats)
{
	my ($file, @options) = @{ $formats{$format} };
	$target->safe_psql('postgres', "CREATE DATABASE $format OWNER owner");
	dump_as($file, 'owner', @options);
	restore($target, $format, $file, 'owner',
		@{ $restore_options{$format} // [] });
	check_restored($format);
}

# Over a database that has all of this already, without the partitioned table:
# pg_restore tries to drop the keys of its partitions, which PostgreSQL refuses.
$target->safe_psql('custom', 'DROP TABLE log');
restore($target, 'custom', 'custom', 'owner', '--clean', '--if-exists');
check_restored('custom');

# By a superuser, for the owner
$target->safe_psql('postgres', 'CREATE DATABASE super');
dump_as('super', scalar getpwuid($>), '-Fc');
restore($target, 'super', 'super', scalar getpwuid($>));
check_restored('super');

# The role that a generator is restricted to isn't here, and this is not the database's
# owner.
my (undef, undef, $error) = $target->psql(
	'super',
	ids_of(1, 'closed'),
	connstr => connection($target, 'super'));
like(
	$error,
	qr/permission denied for generator "closed"/,
	'super: a restricted generator is still restricted');

# Section by section
$target->safe_psql('postgres', 'CREATE DATABASE sections OWNER owner');
restore($target, 'sections', 'custom', 'owner', "--section=$_")
  foreach qw(pre-data data post-data);
check_restored('sections');

# Chosen schemas: the extension is in such a dump if it is named, and then the
# rows of its tables are there, too.
sub create_without_public
{
	my ($dbname) = @_;
	$target->safe_psql('postgres', "CREATE DATABASE $dbname OWNER owner");
	$target->safe_psql($dbname,    'DROP SCHEMA public');
	return;
}
create_without_public('chosen');
dump_as('chosen.sql', 'owner', '-n', 'public', '-e', 'sno*');
restore($target, 'chosen', 'chosen.sql', 'owner');
check_restored('chosen');

# If the schema of the tables is named, but not the extension, neither their
# rows nor the extension are in the dump.  The rows can be dumped by themselves.
create_without_public('without');
dump_as('without.sql', 'owner', '-n', 'public', '-n', 'sno_catalog');
dump_as('rows.sql', 'owner', '-t', 'sno_catalog.*');
unlike(slurp_file("$dir/without.sql"),
	qr/EXTENSION|sno_catalog/,
	'a dump with -n and without -e has nothing of the extension');
$target->safe_psql(
	'without',
	'CREATE EXTENSION sno;'
	  . ($seals ? 'CREATE EXTENSION sno_seal' : ''),
	connstr => connection($target, 'without'));
restore($target, 'without', 'without.sql', 'owner');
is( $target->safe_psql(
		'without',
		'SELECT count(*) FROM sno_catalog.sno_lease; SELECT count(*) FROM sno_catalog.sno_generator'
	),
	"0\n0",
	'without the rows, no lease and no named generator is known');
restore($target, 'without', 'rows.sql', 'owner');
check_restored('without');

# The definitions first, then the data.  The data bring leases of partitions
# that may be in use by then.  A session gives such a partition up when it has
# to write the lease again.
$target->safe_psql('postgres', 'CREATE DATABASE halves OWNER owner');
dump_as('schema.sql', 'owner', '--schema-only');
dump_as('data.sql',   'owner', '--data-only');
restore($target, 'halves', 'schema.sql', 'owner');
my $session = open_session($target, 'halves');
$notes->add(
	$session,
	$session->query_safe(
		'SELECT sno_generate() FROM generate_series(1, 100)'));
restore($target, 'halves', 'data.sql', 'owner');
$target->safe_psql('halves', 'VACUUM FULL sno_catalog.sno_lease');
close_session($session);
check_restored('halves');
$notes->check('restored');

# While others generate: each id in the dump lies within a lease in the dump.
my $clients;
{
	local $notes->{phase} = 0;
	$clients = $notes->start_clients($source, 'app', table => 't');
}
$notes->wait_for_notes($clients);
$target->safe_psql('postgres', 'CREATE DATABASE busy OWNER owner');
dump_as('busy', 'owner', '-Fd', '-j2');
$notes->wait_for_notes($clients);
$notes->stop_clients($source, $clients);
restore($target, 'busy', 'busy', 'owner', '-j2');
is( $target->safe_psql(
		'busy', q{
SELECT count(*) > 800, count(*) FILTER (WHERE NOT EXISTS (
	SELECT FROM sno_catalog.sno_lease
	WHERE partition = sno_partition(id) AND tick_until >= sno_timestamp(id)))
FROM t}),
	't|0',
	'leases in a dump bound all ids in the dump');

#
# If there are only the partitions of the first server, ids are made when its
# leases are over.
#
my @restored =
  (sort keys %formats, qw(super sections chosen without halves busy));
$target->append_conf('postgresql.conf', "sno.partitions = '100-107'");
$target->reload;
foreach my $dbname (@restored)
{
	wait_until(
		'the setting is known',
		sub {
			$target->safe_psql($dbname, 'LOAD \'sno\'; SHOW sno.partitions')
			  eq '100-107';
		});
	my (undef, undef, $error) = generate($dbname);
	like(
		$error,
		qr/ERROR:  53400: no partition was free/,
		"$dbname: no partition is free while the leases of the first server last"
	);
}
$target->stop;
$clock->set_offset(7200);
$clock->start_server($target);
$notes->next_phase;
foreach my $dbname (@restored)
{
	my (undef, $id) = generate($dbname);
	ok( $leased{ decode_id($id)->{partition} },
		"$dbname: partitions are free when the leases of the first server are over"
	);
	$notes->add($dbname, $id);
}
$target->stop;

#
# Restored in the database of the first server itself, over rows that were made
# since.  The restored leases are another holder's, and bound it as elsewhere.
#
$source->safe_psql('app', 'DROP TABLE log');
restore($source, 'app', 'custom', 'owner', '--clean', '--if-exists');
foreach my $when ('after a restore', 'after a crash')
{
	my (undef, undef, $refused) = $source->psql('app',
		"\\set VERBOSITY verbose\nSET sno.max_wait = 0; SELECT sno_generate()"
	);
	like(
		$refused,
		qr/ERROR:  53400: no partition was free/,
		"$when the restored leases keep their partitions");
	kill_postmaster($source);
	start_again($source) if $when eq 'after a restore';
}
$clock->set_offset(14400);
$clock->start_server($source);
$notes->next_phase;
$notes->add(
	'restored over',
	$source->safe_psql(
		'app',
		'INSERT INTO t (n) SELECT generate_series(1, 100) RETURNING id'));
$source->stop;

$notes->check('all');
$named->check_unique('the named generator of all databases');
done_testing();
