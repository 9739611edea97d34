
# The page doc/coming-from.md, word for word, on tables that have rows, for each
# kind of old keys.  While the longer recipe runs, the tables are in use.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use NotedIds;
use TestHelpers;

# The SQL blocks by their heading, each as [block, ...]
my $page = slurp_file("$FindBin::RealBin/../../doc/coming-from.md");
my %blocks;
foreach my $part (split /^(?=#+ )/m, $page)
{
	my ($heading) = $part =~ /^#+ ([^\n]*)/;
	$blocks{$heading} = [ $part =~ /^```sql\n(.*?)^```$/msg ];
}
my ($by_column, $by_text, $by_layout, $by_bytes) =
  @{ $blocks{'The time of a row'} };
my ($layout) = $by_layout =~ /\A(.*?)^CREATE FUNCTION/ms;

# The kinds of keys: the columns, what tells the time, and how rows get keys of
# their times, if they have them
my %origins = (
	serial   => [ 'bigserial', 'bigint', $by_column ],
	identity => [ undef,       undef,    $by_column ],
	uuid => [ 'uuid DEFAULT gen_random_uuid()', 'uuid', $by_column ],
	ulid => [ 'text COLLATE "C" DEFAULT ulid()', 'text COLLATE "C"', $by_text, 'ulid(at)' ],
	'uuid v7' => [ 'uuid DEFAULT uuid7()', 'uuid', $by_layout, 'uuid7(at)' ],
	'ulid as uuid' => [ 'uuid DEFAULT uuid7()', 'uuid', $by_layout =~ s/uuidv7_time\(\$1\.id\)/sno_flake_timestamp(\$1.id, 'uuidv7')/gr, 'uuid7(at)' ],
	'ulid as bytea' => [
		'bytea DEFAULT uuid_send(uuid7())', 'bytea',
		$layout . $by_bytes,                'uuid_send(uuid7(at))' ]);

my $node = new_node('main', allows_streaming => 'logical', conf => q{
wal_retrieve_retry_interval = 200ms
restart_after_crash = on
autovacuum = off
jit = off
});
$node->start;

# Make a database with the tables and rows of the example.  The rows are not in
# the order of their times, and some have the same time.  "Kept" rows are not
# deleted, and each message names its person.
sub make_database
{
	my ($origin) = @_;
	my ($key, $reference, $made_at, $id) = @{ $origins{$origin} };
	my $example = $blocks{'The example'}[0];
	if (defined $key)
	{
		$example =~ s/bigint GENERATED ALWAYS AS IDENTITY/$key/g;
		$example =~ s/ bigint/ $reference/g;
	}
	my ($id_column, $id_value) = defined $id ? ('id, ', "$id, ") : ('', '');

	(my $db = $origin) =~ s/ /_/g;
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql(
		$db, qq{
CREATE EXTENSION sno;
CREATE FUNCTION uuid7(at timestamptz DEFAULT clock_timestamp()) RETURNS uuid LANGUAGE sql VOLATILE
RETURN overlay(encode(substring(int8send(floor(extract(epoch FROM at) * 1000)::bigint) FROM 3)
	|| substring(uuid_send(gen_random_uuid()) FROM 7), 'hex') PLACING '7' FROM 13)::uuid;
CREATE FUNCTION ulid(at timestamptz DEFAULT clock_timestamp()) RETURNS text LANGUAGE sql VOLATILE
RETURN (SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (floor(extract(epoch FROM at) * 1000)::bigint >> shift & 31)::integer + 1, 1), '')
	FROM generate_series(45, 0, -5) AS shift)
	|| upper(substr(translate(replace(gen_random_uuid()::text, '-', ''), 'abcdef', 'vwxyzt'), 1, 16));
$example
$made_at
INSERT INTO person (${id_column}name, created_at)
SELECT ${id_value}CASE WHEN n % 10 = 0 THEN 'gone ' ELSE 'kept ' END || n, at
FROM (SELECT n, timestamptz '2023-01-01 00:00+00' + n * 7919 % 1009 * interval '1 day 12.345678 s' AS at
	FROM generate_series(1, 300) AS n) AS s;
UPDATE person SET invited_by = i.id FROM person AS i
WHERE split_part(i.name, ' ', 2)::integer = split_part(person.name, ' ', 2)::integer * 7 % 299 + 1
	AND person.name NOT LIKE '%3';
INSERT INTO message (${id_column}person_id, body, created_at)
SELECT ${id_value}p.id, left(name, 4) || ' ' || n || ' to ' || p.name, at
FROM (SELECT n, timestamptz '2024-01-01 00:00+00' + n * 7919::bigint % 20011 / 2 * interval '37.77777 s' AS at
	FROM generate_series(1, 20000) AS n) AS s
	JOIN person AS p ON split_part(p.name, ' ', 2)::bigint = n * 7 % 300 + 1;
INSERT INTO member SELECT 'team of ' || name, id FROM person;
CREATE TABLE before_person AS
SELECT p.id, made_at(p) AS at, p.name, i.name AS inviter FROM person AS p LEFT JOIN person AS i ON i.id = p.invited_by;
CREATE TABLE before_message AS SELECT id, made_at(m) AS at, body FROM message AS m;
VACUUM (ANALYZE)});
	return $db;
}

# What each move must have kept.  The message 18 may change its old key on the way.
sub check_move
{
	my ($db, $origin) = @_;
	is( $node->safe_psql(
			$db, q{
SELECT count(*) FROM before_person AS b LEFT JOIN person AS p ON p.old_id = b.id LEFT JOIN person AS i ON i.id = p.invited_by
WHERE b.name LIKE 'kept%' AND (p.id IS NULL OR p.name <> b.name
	OR i.name IS DISTINCT FROM b.inviter AND EXISTS (SELECT FROM person WHERE name = b.inviter))}
		),
		0,
		"$origin: each person is there, and has the same inviter");
	is( $node->safe_psql(
			$db, q{
SELECT count(*) FROM before_message AS b LEFT JOIN message AS m ON m.old_id = b.id
WHERE b.body LIKE 'kept%' AND (m.id IS NULL OR split_part(m.body, ' to ', 1) <> split_part(b.body, ' to ', 1));
SELECT count(*) FROM message AS m LEFT JOIN person AS p ON p.id = m.person_id
WHERE split_part(m.body, ' to ', 2) IS DISTINCT FROM p.name;
SELECT count(*) FROM inbox AS i FULL JOIN message AS m ON m.id = i.id WHERE i.id IS NULL OR m.id IS NULL}
		),
		"0\n0\n0",
		"$origin: each message is there, and has its person");
	is( $node->safe_psql(
			$db, q{
SELECT count(*) FROM member AS m FULL JOIN person AS p ON p.id = m.person_id
WHERE m.team <> 'team of ' || p.name OR p.id IS NULL OR p.name LIKE 'kept%' AND m.team IS NULL}
		),
		0,
		"$origin: each person is a member of the same team");
	is( $node->safe_psql(
			$db, q{
SELECT count(*) FROM (
	SELECT m.id, lag(m.id) OVER (ORDER BY b.at, old_id) AS previous FROM message AS m JOIN before_message AS b ON b.id = m.old_id
	WHERE b.body NOT LIKE 'kept 18 to %') AS s
-- The sequences of late ids go on from 65535 with 0, within a unit.
WHERE id <= previous AND (sno_timestamp(id) <> sno_timestamp(previous) OR sno_sequence(previous) <> 65535);
SELECT count(*) FROM message AS m JOIN before_message AS b ON b.id = m.old_id
WHERE sno_timestamp(m.id) > b.at OR b.at >= sno_timestamp(m.id) + interval '4 ms';
SELECT count(DISTINCT sno_partition(id)) FROM (
	SELECT p.id FROM person AS p JOIN before_person AS b ON b.id = p.old_id
	UNION ALL SELECT m.id FROM message AS m JOIN before_message AS b ON b.id = m.old_id) AS s}
		),
		"0\n0\n1",
		"$origin: the new keys have the order of the times, the times, and one partition");
	is( $node->safe_psql(
			$db, q{
INSERT INTO person (name) VALUES ('new') RETURNING id \gset
INSERT INTO message (person_id, body) VALUES (:'id', 'new'), (:'id', 'newer');
INSERT INTO member (team, person_id) VALUES ('new', :'id');
INSERT INTO person (name, invited_by) VALUES ('newer', :'id');
SELECT sno_meta(p.id), min(sno_meta(m.id)), count(*), min(m.id) > (SELECT max(m.id) FROM message AS m JOIN before_message AS b ON b.id = m.old_id)
FROM message AS m JOIN person AS p ON p.id = m.person_id WHERE p.name = 'new' GROUP BY p.id;
DELETE FROM person WHERE id = :'id';
SELECT (SELECT count(*) FROM message WHERE body LIKE 'new%'), (SELECT count(*) FROM member WHERE team = 'new'),
	(SELECT count(*) FROM person WHERE name = 'newer' AND invited_by IS NULL)}
		),
		"1|2|2|t\n0|0|1",
		"$origin: new rows have keys of the present, and foreign keys do what they did"
	);
	foreach my $wrong (
		"INSERT INTO message (person_id, body) VALUES (sno_zero(), 'nobody''s')",
		"INSERT INTO message (person_id, body) VALUES (NULL, 'nobody''s')",
		"INSERT INTO message (person_id, body) SELECT person_id, body FROM message LIMIT 1",
		"INSERT INTO member (team, person_id) SELECT team, person_id FROM member LIMIT 1",
		"INSERT INTO person (id, name) SELECT id, name FROM person LIMIT 1",
		"INSERT INTO person (id, name) VALUES (NULL, 'without a key')",
		"INSERT INTO person (name, invited_by) VALUES ('wrong', sno_zero())")
	{
		isnt($node->psql($db, $wrong), 0, "$origin: refused: $wrong");
	}
	return;
}

#
# At once
#

# What the functions that tell a time refuse: texts and uuids that have none
my %timeless = (
	ulid => [ map { "ulid_time('$_')" } '', 'nonsense', '8ZZZZZZZZZZZZZZZZZZZZZZZZZ', '01ARZ3NDEKTSV4RRFFQ69G5FA',
		'01ARZ3NDEKTSV4RRFFQ69G5FAVV', 'U1ARZ3NDEKTSV4RRFFQ69G5FAV' ],
	'uuid v7' => [ map { "uuidv7_time('$_')" } 'ffffffff-ffff-4fff-bfff-ffffffffffff',
		'017f22e2-79b0-7cc3-08c4-dc0c0c07398f', '00000000-0000-0000-0000-000000000000' ]);

foreach my $origin (sort keys %origins)
{
	my $db      = make_database($origin);
	foreach my $call (@{ $timeless{$origin} // [] })
	{
		my (undef, undef, $err) = $node->psql($db, "\\set VERBOSITY sqlstate\nSELECT $call");
		like($err, qr/22P02/, "$origin: refused: $call");
	}
	my $notes   = NotedIds->new;
	my $clients = $notes->start_clients($node, $db, clients => 2);
	$notes->wait_for_notes($clients);
	$node->safe_psql($db, $blocks{'At once'}[0]);
	$notes->stop_clients($node, $clients);
	$notes->add('moved', $node->safe_psql($db, "SELECT id FROM $_ ORDER BY id"))
	  foreach 'person', 'message';
	$notes->check("$origin: ids of the present and those of the move");
	check_move($db, $origin);
	$node->safe_psql('postgres', "DROP DATABASE $db");
}

#
# In use
#
my %users = (

	# People and messages come.  The journal has what was committed.
	come => <<'SQL',
\set n random(0, 200)
WITH p AS (INSERT INTO person (name, invited_by) SELECT 'during ' || gen_random_uuid(), id FROM person WHERE name LIKE 'kept%' ORDER BY name LIMIT 1 OFFSET :n RETURNING name, invited_by) INSERT INTO journal SELECT p.name, i.name FROM p JOIN person AS i ON i.id = p.invited_by;
WITH m AS (INSERT INTO message (person_id, body) SELECT id, 'during ' || gen_random_uuid() || ' to ' || name FROM person WHERE name LIKE 'kept%' ORDER BY name LIMIT 1 OFFSET :n RETURNING body) INSERT INTO journal SELECT body FROM m;
SELECT count(*) FROM inbox;
SQL

	# They change, also what they refer to.
	change => <<'SQL',
\set n random(1, 300)
\set m random(1, 20000)
UPDATE message SET person_id = p.id, body = split_part(body, ' to ', 1) || ' to ' || p.name FROM person AS p WHERE p.name = 'kept ' || :n AND message.body LIKE 'kept ' || :m || ' to %';
UPDATE message SET body = body WHERE body LIKE 'kept ' || :m || '% to %';
UPDATE person SET name = name WHERE name = 'kept ' || :n;
SELECT count(*) FROM message AS m JOIN person AS p ON p.id = m.person_id WHERE p.name = 'kept ' || :n;
SQL

	# They go.
	go => <<'SQL');
\set n random(1, 300)
\set m random(1, 20000)
DELETE FROM message WHERE body LIKE 'gone ' || :m || '% to %';
DELETE FROM member WHERE team = 'team of gone ' || :n;
INSERT INTO member (team, person_id) SELECT 'team of ' || name, id FROM person WHERE name = 'gone ' || :n ON CONFLICT DO NOTHING;
DELETE FROM person WHERE name = 'gone ' || :n AND :n % 50 = 0;
INSERT INTO member (team, person_id) SELECT 'team of ' || name, id FROM person WHERE name = 'kept ' || :n ON CONFLICT DO NOTHING;
SQL
my @scripts;
foreach my $name (sort keys %users)
{
	my $file = $node->basedir . "/$name.sql";
	append_to_file($file, $users{$name});
	push @scripts, '-f', $file;
}

# They would fail if they waited for long.
my $user_number = 0;

sub start_users
{
	my ($db) = @_;
	my $output = $node->basedir . '/users' . $user_number++;
	local $ENV{PGOPTIONS} = "-c lock_timeout=${PostgreSQL::Test::Utils::timeout_default}s";
	return [
		IPC::Run::start(
			[ 'pgbench', '-n', '-c', 3, '-R', 500, '-T', 3600, @scripts, $node->connstr($db) ],
			'>&', $output),
		$output ];
}

sub wait_for_users
{
	my ($db) = @_;
	my $count = 'SELECT count(*) FROM journal';
	my $before = $node->safe_psql($db, $count);
	wait_until('the tables are in use',
		sub { $node->safe_psql($db, $count) > $before + 10 });
	return;
}

sub stop_users
{
	my ($users, $origin, $may_fail) = @_;
	$users->[0]->signal('TERM');    # INT may be ignored
	$users->[0]->finish;
	unlike(slurp_file($users->[1]), qr/ERROR|aborted/,
		"$origin: nobody who used the tables met an error")
	  unless $may_fail;
	return;
}

# Run a block, again as long as it doesn't get its locks.  Returns its notices.
sub run_block
{
	my ($db, $what, $block) = @_;
	my ($result, $out, $err);
	wait_until(
		$what,
		sub {
			($result, $out, $err) = $node->psql($db, $block, on_error_stop => 1);
			$result == 0 || $err !~ /lock timeout/;
		});
	is($result, 0, "$db: $what") or die $err;
	return $err;
}

# Fill, and stop that in the middle of the messages.
sub stop_fill
{
	my ($db, $calls, $stop) = @_;
	my $gate = open_session($node, $db);
	$gate->query_safe('SELECT pg_advisory_lock(54)');
	$node->safe_psql(
		$db, q{
CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_advisory_xact_lock_shared(54);
	RETURN NEW;
END $$;
CREATE TRIGGER gate BEFORE UPDATE ON move FOR EACH ROW
WHEN (NEW.target = 'message'::regclass AND NEW.block > 150) EXECUTE FUNCTION wait_at_gate()});
	my $file = $node->basedir . "/$db.sql";
	append_to_file($file, $calls);
	my $fill = IPC::Run::start(
		[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr($db) . ' application_name=fill' ],
		'>', '/dev/null', '2>', '/dev/null');
	my $waits = "SELECT pid FROM pg_stat_activity WHERE application_name = 'fill' AND wait_event = 'advisory'";
	wait_until('the procedure is in the middle', sub { $node->safe_psql('postgres', $waits) });
	is( $node->safe_psql($db, 'SELECT count(*) > 1000 FROM message WHERE new_id IS NULL'),
		't', "$db: rows are left");
	$stop->($node->safe_psql('postgres', $waits));
	$fill->finish;
	isnt($fill->result(0), 0, "$db: the procedure was stopped");
	drop_session($gate);
	$node->safe_psql($db, 'DROP FUNCTION wait_at_gate CASCADE');
	is($node->safe_psql($db, "SELECT block FROM move WHERE target = 'message'::regclass"),
		150, "$db: it is known how far it was");
	return;
}

my %stops = (
	serial   => [ 'kill -9', sub { my ($pid) = @_; crash_and_recover($node, sub { kill 'KILL', $pid }) } ],
	identity => [ 'cancel', sub { $node->safe_psql('postgres', "SELECT pg_cancel_backend($_[0])") } ],
	uuid => [ 'termination', sub { $node->safe_psql('postgres', "SELECT pg_terminate_backend($_[0])") } ],
	ulid => [ 'immediate shutdown', sub { $node->stop('immediate'); $node->start } ]);

foreach my $origin (sort keys %stops)
{
	my ($how, $stop) = @{ $stops{$origin} };
	my $crash = $origin eq 'serial' || $origin eq 'ulid';
	my $db    = make_database($origin);
	my ($begin, $columns) = @{ $blocks{'1. Columns and triggers'} };
	my ($keys)            = @{ $blocks{'2. New keys'} };
	my ($procedure, $calls, $watch) = @{ $blocks{'3. Fill'} };
	my ($indexes) = @{ $blocks{'4. Indexes'} };
	my ($add, $validate, $compare) = @{ $blocks{'5. Constraints'} };
	my ($swap, $clean) = @{ $blocks{'6. Swap'} };
	my ($back) = @{ $blocks{'Going back'} };

	$node->safe_psql($db, 'CREATE TABLE journal (name text, person text)');
	my $schema = $node->safe_psql($db, $blocks{'What depends on a key'}[0]);
	my $users  = start_users($db);
	wait_for_users($db);

	# A step that doesn't get its locks changes nothing.
	run_block($db, 'tables and functions', $begin);
	my $holder = open_session($node, $db);
	$holder->query_safe("BEGIN; UPDATE person SET name = name WHERE name = 'kept 1'");
	my (undef, undef, $err) = $node->psql($db, $columns, on_error_stop => 1);
	like($err, qr/lock timeout/, "$origin: the columns wait for nobody who stays");
	wait_for_users($db);
	$holder->query_safe('COMMIT');
	run_block($db, 'columns', $columns);

	if ($origin eq 'identity')
	{
		# There and back
		run_block($db, 'keys', $keys);
		$node->safe_psql($db, $procedure . $calls);
		run_block($db, $_->[0], $_->[1])
		  foreach [ 'indexes', $indexes ], [ 'constraints', $add ], [ 'back', $back ];
		is($node->safe_psql($db, $blocks{'What depends on a key'}[0]),
			$schema, 'going back removes all');
		is( $node->safe_psql(
				$db,
				"SELECT count(*) FROM pg_attribute WHERE attname LIKE 'new%' AND NOT attisdropped AND attrelid IN ('person'::regclass, 'message'::regclass, 'member'::regclass)
				UNION ALL SELECT count(*) FROM pg_trigger WHERE tgname = 'zz_follow'"),
			"0\n0", 'columns and triggers, too');
		run_block($db, 'tables and functions', $begin);
		run_block($db, 'columns',              $columns);
	}

	# The keys are made in two runs.
	run_block($db, 'keys', $keys);
	$node->safe_psql($db, "DELETE FROM message_key WHERE id IN (SELECT id FROM before_message WHERE at > '2024-06-01 00:00+00')")
	  if $origin eq 'uuid';
	my $made = $node->safe_psql($db, 'SELECT sum(hashtext(new_id::text)) FROM message_key');
	run_block($db, 'keys again', $keys);
	is($node->safe_psql($db, 'SELECT sum(hashtext(new_id::text)) FROM message_key'),
		$made, "$origin: keys are made once")
	  if $origin ne 'uuid';

	$node->safe_psql($db, $procedure);
	stop_fill($db, $calls, $stop);
	stop_users($users, $origin, $crash);
	$users = start_users($db);

	# An open transaction has rows locked, and made a row that nobody sees.  It
	# neither keeps the procedure waiting nor others.
	$holder = open_session($node, $db);
	$holder->query_safe(
		"BEGIN; SELECT FROM message WHERE body LIKE 'kept 17 to %' FOR UPDATE;
		UPDATE person SET name = name WHERE name = 'kept 2'");
	$holder->query_safe("INSERT INTO message (person_id, body) SELECT id, 'during the move to ' || name FROM person WHERE name = 'kept 3'");
	$node->safe_psql($db, "UPDATE message SET new_id = NULL WHERE body LIKE 'kept 16 to %'");
	my $shown = run_block($db, 'fill with an open transaction', $calls =~ s/VACUUM.*//r);
	# The users have some rows locked, too: on a busy machine for long.
	like($shown, qr/message: \d+ rows filled, \d left/, "$origin: the procedure goes on and ends");
	like($shown, qr/message: 100 % of this pass/, "$origin: it tells how far it is");
	wait_for_users($db);
	$holder->query_safe('COMMIT');
	close_session($holder);

	# A row whose old key was changed
	if ($origin eq 'uuid')
	{
		$node->safe_psql($db, "UPDATE message SET new_id = NULL, id = gen_random_uuid() WHERE body LIKE 'kept 18 to %'");
		like(run_block($db, 'fill', $calls), qr/message: \d+ rows filled, 1 left/, 'a row that changed its key is left');
		$node->safe_psql($db, "UPDATE before_message SET id = m.id FROM message AS m WHERE m.body LIKE 'kept 18 to %' AND before_message.body LIKE 'kept 18 to %'");
		run_block($db, 'keys', $keys);
	}
	like(run_block($db, 'fill', $calls), qr/person: \d+ rows filled, 0 left.*message: \d+ rows filled, 0 left.*member: \d+ rows filled, 0 left/s,
		"$origin: all is filled");
	is($node->safe_psql($db, "SELECT count(*) FROM message WHERE new_id IS NULL OR new_person_id IS NULL"), 0, "$origin: all messages are filled");
	like($node->safe_psql($db, $watch), qr/^message\|0\|\d+\|/m, "$origin: the progress is shown");

	# References that appear late
	$node->safe_psql($db, "BEGIN;
		ALTER TABLE message DISABLE TRIGGER zz_follow;
		UPDATE message SET new_person_id = NULL WHERE body LIKE 'kept 19 to %';
		ALTER TABLE message ENABLE TRIGGER zz_follow;
		COMMIT");

	run_block($db, 'indexes',     $indexes);
	run_block($db, 'constraints', $add);
	run_block($db, 'fill again',  $calls);
	run_block($db, 'validation',  $validate);
	is($node->safe_psql($db, $compare), 0, "$origin: all references agree");

	# Rows of one statement that refer to each other, the second before the first
	$node->safe_psql($db, "INSERT INTO person (id, name, invited_by) VALUES (gen_random_uuid(), 'during 1', '00000000-0000-0000-0000-000000000054'),
		('00000000-0000-0000-0000-000000000054', 'during 2', '00000000-0000-0000-0000-000000000054')") if $origin eq 'uuid';

	$holder = open_session($node, $db);
	$holder->query_safe("BEGIN; UPDATE person SET name = name WHERE name = 'kept 1'");
	(undef, undef, $err) = $node->psql($db, $swap, on_error_stop => 1);
	like($err, qr/lock timeout/, "$origin: the swap waits for nobody who stays");
	wait_for_users($db);
	$holder->query_safe('COMMIT');
	close_session($holder);
	run_block($db, 'swap', $swap);
	wait_for_users($db);
	stop_users($users, $origin);

	is($node->safe_psql($db, "SELECT p.name, i.name FROM person AS p JOIN person AS i ON i.id = p.invited_by WHERE p.name LIKE 'during _' ORDER BY 1"),
		"during 1|during 2\nduring 2|during 2", 'references within a statement are kept') if $origin eq 'uuid';
	is( $node->safe_psql(
			$db, q{
SELECT count(*) FROM journal AS j LEFT JOIN message AS m ON m.body = j.name WHERE j.person IS NULL AND m.id IS NULL;
SELECT count(*) FROM journal AS j LEFT JOIN (person AS p JOIN person AS i ON i.id = p.invited_by) ON p.name = j.name
WHERE j.person IS NOT NULL AND i.name IS DISTINCT FROM j.person}
		),
		"0\n0",
		"$origin: each row that came during the move is there");
	check_move($db, $origin);
	run_block($db, 'the rest', $clean);
	is( $node->safe_psql($db, "SELECT count(*) FROM pg_constraint WHERE NOT convalidated OR conname LIKE '%new%'"),
		0, "$origin: constraints are valid, and have their names");

	my $notes = NotedIds->new;
	$notes->add('moved', $node->safe_psql($db, "SELECT id FROM person UNION ALL SELECT id FROM message"));
	$notes->add('after', $node->safe_psql($db, 'SELECT sno_generate() FROM generate_series(1, 1000)'));
	$notes->check_unique($origin);
}

#
# Partitioned tables
#
{
	my ($example, $keys, $rest) = @{ $blocks{'Partitioned tables'} };
	my $db = 'partitioned';
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, "CREATE EXTENSION sno; $example $blocks{'3. Fill'}[0]
		INSERT INTO visit (created_at) SELECT timestamptz '2025-06-01 00:00+00' + n * interval '1 hour' FROM generate_series(1, 8000) AS n");
	run_block($db, 'keys', $keys);
	$node->safe_psql($db, "INSERT INTO visit (created_at) VALUES ('2026-12-01 00:00+00')");
	run_block($db, 'the rest', $rest);
	is( $node->safe_psql(
			$db, q{
SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY old_id) AS previous FROM visit WHERE old_id <= 8000) AS s WHERE id > previous OR previous IS NULL;
SELECT count(DISTINCT id) FROM visit;
SELECT pg_get_indexdef(indexrelid), indisvalid, indisprimary FROM pg_index WHERE indrelid = 'visit'::regclass}
		),
		"8000\n8001\nCREATE UNIQUE INDEX visit_pkey ON ONLY public.visit USING btree (id, created_at)|t|t",
		'partitioned tables are moved');
}

#
# Publications
#
{
	my $table = 'CREATE TABLE note (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, body text)';
	my $swap = q{
ALTER TABLE note ALTER COLUMN new_id SET NOT NULL, DROP CONSTRAINT note_pkey, ALTER COLUMN id DROP IDENTITY,
	ALTER COLUMN id DROP NOT NULL;
ALTER TABLE note RENAME COLUMN id TO old_id;
ALTER TABLE note RENAME COLUMN new_id TO id;
ALTER TABLE note ADD CONSTRAINT note_pkey PRIMARY KEY USING INDEX note_new};
	$node->safe_psql('postgres', "CREATE DATABASE $_") foreach 'pub', 'sub';
	$node->safe_psql($_, "CREATE EXTENSION sno; $table") foreach 'pub', 'sub';
	$node->safe_psql('pub', q{
INSERT INTO note (body) SELECT 'old' FROM generate_series(1, 100);
CREATE PUBLICATION p FOR TABLE note});
	$node->safe_psql('pub', "SELECT pg_create_logical_replication_slot('s', 'pgoutput')");
	$node->safe_psql('sub', 'CREATE SUBSCRIPTION s CONNECTION $$' . $node->connstr('pub') . '$$ PUBLICATION p WITH (create_slot = false)');
	my $sees = sub {
		my ($query) = @_;
		my $want = $node->safe_psql('pub', $query);
		wait_until('the subscriber has it', sub { $node->safe_psql('sub', $query) eq $want });
		pass("the subscriber has it: $query");
	};
	$sees->('SELECT count(*) FROM note');
	$node->safe_psql($_, 'ALTER TABLE note ADD COLUMN new_id sno') foreach 'sub', 'pub';
	$node->safe_psql('pub', q{
ALTER TABLE note ALTER COLUMN new_id SET DEFAULT sno_generate(1);
INSERT INTO note (body) VALUES ('during');
UPDATE note SET new_id = sno_generate_at('2020-01-01 00:00+00') WHERE new_id IS NULL});
	$node->safe_psql($_, 'CREATE UNIQUE INDEX note_new ON note (new_id)') foreach 'sub', 'pub';
	$node->safe_psql('pub', "INSERT INTO note (body) VALUES ('before'); $swap; INSERT INTO note (body) VALUES ('after'); UPDATE note SET body = 'changed' WHERE old_id = 7");
	wait_until('the subscriber misses the column',
		sub { slurp_file($node->logfile) =~ /"public.note" is missing replicated column: "old_id"/ });
	is($node->safe_psql('sub', "SELECT count(*) FROM note WHERE body = 'before' AND new_id IS NOT NULL"),
		1, 'the subscriber has what came before the swap');
	$node->safe_psql('sub', $swap);
	$sees->("SELECT count(*), sum(hashtext(id::text || body)) FROM note WHERE body IN ('old', 'during', 'before', 'after', 'changed')");
}

$node->stop;
done_testing();
