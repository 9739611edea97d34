
# Keys that stay bigint: the blocks of doc/coming-from.md, and the one for counters of
# doc/flakes.md, word for word.  The tables are in use meanwhile.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use TestHelpers;

# The blocks of a kind under a heading of a page
sub blocks
{
	my ($page, $heading, $kind) = @_;
	my ($part) =
	  slurp_file("$FindBin::RealBin/../../doc/$page.md") =~ /^#+ \Q$heading\E\n(.*?)(?=^#+ |\z)/ms;
	return $part =~ /^```\Q$kind\E\n(.*?)^```$/msg;
}

# A block's transactions, and what is before them
sub transactions { return split /^(?=BEGIN;)/m, $_[0] }

# Each table and its column of text, and the one that refers to it
my %pair = (
	customer => [ 'name', 'purchase', 'customer_id', 'what' ],
	post     => [ 'body', 'reply',    'post_id',     'body' ],
	account  => [ 'name', 'payment',  'account_id',  'what' ]);

my $node = new_node('main', conf => q{
autovacuum = off
jit = off
});
$node->start;
my $begin = $node->safe_psql('postgres', 'SELECT now()');

# Make a database.  The journal has what users inserted and committed, and when that began.
sub make_database
{
	my ($db, $tables) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, "CREATE EXTENSION sno_flakes CASCADE; $tables;
		CREATE TABLE journal (tab text, id bigint, reference bigint, at timestamptz DEFAULT now())");
	return;
}

# "Kept" rows stay, "gone" ones are deleted, and the test has "held" ones locked.
my ($example) = blocks('coming-from', 'Keys that stay bigint', 'sql bigint');
foreach my $one (sort keys %pair)
{
	my ($name, $many, $column, $what) = @{ $pair{$one} };
	my ($id, $made) = $one eq 'post'
	  ? ('id, ', "sno_flake_make('$begin'::timestamptz - n * interval '1 s', n % 2 + 1, 0, 'snowflake'), ")
	  : ('', '');
	$example .= ";
		INSERT INTO $one ($id$name) SELECT ${made}CASE n WHEN 101 THEN 'held' ELSE 'kept ' || n END FROM generate_series(1, 101) AS n;
		INSERT INTO $many ($column, $what) SELECT o.id, 'stays' FROM $one AS o, generate_series(1, 20) AS n;
		INSERT INTO $many ($column, $what) SELECT id, 'moves' FROM $one;
		CREATE TABLE old_$one AS SELECT id, $name AS name FROM $one";
}
make_database('page', $example);

# Which numbers the page says are below the ids of today
is( $node->safe_psql(
		'page', q{
SELECT sno_flake_min(now(), 'snowflake') > 1::bigint << 60,
	(SELECT bool_and(sno_flake_min(now(), 'json' || n) BETWEEN 1::bigint << 51 AND (1::bigint << 53) - 1) FROM generate_series(1, 8) AS n)}
	),
	't|t',
	'ids of today are above old numbers');

#
# Users: clients of pgbench.  They would fail if they waited for long.
#

# An insertion, with a note in the journal
sub insertion
{
	my ($table, $id, $reference, $columns, $values) = @_;
	return "WITH r AS (INSERT INTO $table ($columns) $values RETURNING *)
INSERT INTO journal SELECT '$table', $id, $reference FROM r;\n" =~ s/\n(?=.)/ /r;
}

# Rows come, change and go, and so do references.  The columns and values of a key are empty
# unless users make the keys.
sub changes
{
	my ($one, $key, @values) = @_;
	my ($name, $many, $column, $what) = @{ $pair{$one} };
	return "\\set n random(1, 100)\n\\set seq (:seq + 2) % 4096\n"
	  . insertion($one, 'id', 'NULL::bigint', "$key$name", "VALUES ($values[0]'during')")
	  . insertion($many, $many eq 'purchase' ? 'id' : 'NULL::bigint', $column,
		"$column, $what", "SELECT id, 'during' FROM $one WHERE $name = 'kept ' || :n")
	  . "UPDATE $one SET $name = $name WHERE $name = 'kept ' || :n;
UPDATE $many SET $column = o.id FROM $one AS o WHERE o.$name = 'kept ' || :n AND ctid = (SELECT ctid FROM $many WHERE $what = 'moves' LIMIT 1);
INSERT INTO $one ($key$name) VALUES ($values[1]'gone ' || :n);
DELETE FROM $one WHERE $name = 'gone ' || :n;\n" =~ s/AND ctid/AND $many.ctid/r;
}

my @made = map { "sno_flake_make(clock_timestamp(), :client_id + 1, :seq + $_, 'snowflake'), " } 0, 1;
my %changes = (
	(map { $_ => changes($_, '', '', '') } keys %pair),
	'post by programs' => changes('post', 'id, ', @made),
	invoice            => insertion('invoice', 'id', 'NULL::bigint', 'total', 'VALUES (1)'));
my $runs = 0;
my %output;    # of those who run, by the file's name

sub start_users
{
	my ($db, $what) = @_;
	my $file = $node->basedir . '/users' . $runs++;
	append_to_file("$file.sql", $changes{$what});
	$output{"$file.out"} = 1;
	local $ENV{PGOPTIONS} = "-c lock_timeout=${PostgreSQL::Test::Utils::timeout_default}s";
	return [
		IPC::Run::start(
			[ 'pgbench', '-n', '-c', 2, '-T', 3600, '-D', 'seq=0', '-f', "$file.sql", $node->connstr($db) ],
			'>&', "$file.out"),
		"$file.out", $what ];
}

sub stop_users
{
	my ($users) = @_;
	$users->[0]->signal('TERM');    # INT may be ignored
	$users->[0]->finish;
	delete $output{ $users->[1] };
	unlike(slurp_file($users->[1]), qr/ERROR|aborted/, "$users->[2]: no user met an error");
	return;
}

# Wait until users insert into each table, in transactions that begin now.
sub wait_for_users
{
	my ($db, @tables) = @_;
	my $now = $node->safe_psql($db, 'SELECT clock_timestamp()');
	foreach my $table (@tables)
	{
		wait_until(
			"rows come into $table",
			sub {
				foreach (map { slurp_file($_) } keys %output)
				{
					die $_ if /aborted/;
				}
				return $node->safe_psql($db, "SELECT count(*) > 10 FROM journal WHERE tab = '$table' AND at > '$now'") eq 't';
			});
	}
	return;
}

# Run a block, again as long as it doesn't get its locks, and see that users go on.  If a
# transaction has a lock that the block needs, the block gives up while that stays.
sub run_block
{
	my ($db, $what, $block, @tables) = @_;
	my ($result, $out, $err);
	if (my ($locked) = $block =~ /lock_timeout.*?TABLE (\w+)/s)
	{
		my $holder = open_session($node, $db);
		$holder->query_safe("BEGIN; LOCK TABLE $locked IN ROW EXCLUSIVE MODE");
		($result, $out, $err) = $node->psql($db, $block,
			on_error_stop => 1, timeout => $PostgreSQL::Test::Utils::timeout_default);
		like($err, qr/canceling statement due to lock timeout/, "$what: waits for nobody who stays");
		wait_for_users($db, @tables);
		$holder->query_safe('COMMIT');
		close_session($holder);
	}
	wait_until(
		$what,
		sub {
			($result, $out, $err) = $node->psql($db, $block, on_error_stop => 1);
			$result == 0 || $err !~ /lock timeout/;
		});
	is($result, 0, $what) or die $err;
	wait_for_users($db, @tables);
	return ($out, $err);
}

# Check keys and references after a move.
sub check_keys
{
	my ($one) = @_;
	my ($name, $many, $column) = @{ $pair{$one} };
	is( $node->safe_psql(
			'page', qq{
SELECT count(*) FROM old_$one AS o LEFT JOIN $one AS t ON t.id = o.id WHERE o.name IS DISTINCT FROM t.$name;
SELECT count(*) FROM journal AS j LEFT JOIN $one AS t ON t.id = j.id WHERE j.tab = '$one' AND t.$name IS DISTINCT FROM 'during';
SELECT count(*) - count(DISTINCT id) FROM journal WHERE tab = '$one'}
		),
		"0\n0\n0",
		"$one: the old keys are unchanged, each row of users is there, and no key came twice");
	is( $node->safe_psql(
			'page', qq{
SELECT count(*) FROM $many AS m LEFT JOIN $one AS t ON t.id = m.$column WHERE t.id IS NULL;
SELECT count(*) FROM (SELECT reference, count(*) FROM journal WHERE tab = '$many' GROUP BY 1
	EXCEPT SELECT $column, count(*) FROM $many WHERE $pair{$one}[3] = 'during' GROUP BY 1) AS s;
SELECT count(*) FROM old_$one AS o WHERE (SELECT count(*) FROM $many WHERE $column = o.id AND $pair{$one}[3] = 'stays') <> 20}
		),
		"0\n0\n0",
		"$many: its references are intact");
	like(($node->psql('page', "UPDATE $many SET $column = -1"))[2], qr/violates foreign key/, "$many: refuses wrong references");
	return;
}

# Keys are numbers of a sequence, or snowflakes that were made during this test.
sub check_kinds
{
	my ($table) = @_;
	is( $node->safe_psql(
			'page', qq{
SELECT count(*) FILTER (WHERE id < 1::bigint << 60) > 10, count(*) FILTER (WHERE id > 1::bigint << 60) > 10,
	bool_and(id < 10000000 OR sno_flake_timestamp(id, 'snowflake') BETWEEN '$begin' AND clock_timestamp() + interval '3 ms')
FROM $table}
		),
		't|t|t',
		"$table: keys are numbers of before, or snowflakes of the time");
	return;
}

# Now all new keys must be above those that are there.
sub check_above
{
	my ($one) = @_;
	my $max = $node->safe_psql('page', "SELECT max(id) FROM $one");
	my $now = $node->safe_psql('page', 'SELECT clock_timestamp()');
	wait_for_users('page', $one);
	is($node->safe_psql('page', "SELECT min(id) > $max FROM journal WHERE tab = '$one' AND at > '$now'"),
		't', "$one: new keys are above the old ones");
	return;
}

#
# Identity and bigserial, and back
#
{
	my ($generators, @defaults) = transactions(blocks('coming-from', 'Identity and bigserial', 'sql bigint'));
	my ($back) = blocks('coming-from', 'Back to an identity', 'sql bigint');
	my @tables = ('customer', 'purchase');
	my $users = start_users('page', 'customer');
	wait_for_users('page', @tables);
	is((run_block('page', 'generators', $generators, @tables))[0], '|', 'nodes are chosen when they issue');
	run_block('page', "the default of $tables[$_]", $defaults[$_], @tables) foreach 0, 1;
	check_above('customer');

	my ($identity, $drop) = $back =~ /\A(.*^COMMIT;\n)(.*)\z/ms;
	run_block('page', 'the identity again', $identity, @tables);
	run_block('page', 'its generator',      $drop,     @tables);
	check_above('customer');
	stop_users($users);
	check_keys('customer');
	check_kinds('purchase');
	is( $node->safe_psql(
			'page', q{
SELECT max(id) <= (SELECT last_value FROM customer_id_seq) FROM customer}
		),
		't',
		'the sequence goes on after snowflakes');
}

#
# Snowflakes of programs
#
{
	my ($see, $default, $advance) = blocks('coming-from', 'Snowflakes of programs', 'sql bigint');
	my @tables = ('post', 'reply');
	my $programs = start_users('page', 'post by programs');
	wait_for_users('page', @tables);
	like($node->safe_psql('page', $see), qr/\A1\|\d+\|[^\n]*\n2\|\d+\|[^\n]*\z/, 'nodes of programs are shown');
	my ($generator, $alter) = transactions($default);
	is((run_block('page', 'the generator of posts', $generator, @tables))[0], 3, 'it has a node of its own');
	run_block('page', 'the default of post', $alter, @tables);

	# Programs of before and changed ones, then only changed ones
	my $users = start_users('page', 'post');
	wait_until('changed programs insert',
		sub { $node->safe_psql('page', "SELECT count(*) > 10 FROM post WHERE (sno_flake_parts(id, 'snowflake')).node = 3") eq 't' });
	wait_for_users('page', @tables);
	stop_users($programs);
	run_block('page', 'advance', $advance, @tables);
	check_above('post');
	stop_users($users);
	check_keys('post');
}

#
# Integer keys
#
{
	my ($functions, $columns, $fill, $indexes, $constraints, $validate, $swap, $back) =
	  blocks('coming-from', 'Integer keys', 'sql bigint');
	my ($procedure) = blocks('coming-from', '3. Fill', 'sql');
	my @tables = ('account', 'payment');
	my $of = "IN ('account'::regclass, 'payment'::regclass)";
	my $schema = "SELECT attrelid::regclass, attname, atttypid::regtype, attnotnull FROM pg_attribute
		WHERE attrelid $of AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2;
		SELECT conrelid::regclass, conname, contype, convalidated FROM pg_constraint WHERE conrelid $of ORDER BY 1, 2;
		SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid $of ORDER BY 1;
		SELECT count(*) FROM pg_trigger WHERE tgrelid $of AND NOT tgisinternal";
	my $before = $node->safe_psql('page', $schema);
	my $users = start_users('page', 'account');
	wait_for_users('page', @tables);
	run_block('page', 'functions', $functions, @tables);
	run_block('page', 'columns',   $columns,   @tables);
	run_block('page', 'back',      $back,      @tables);
	is($node->safe_psql('page', $schema), $before, 'going back removes all');
	run_block('page', 'functions again', $functions, @tables);
	run_block('page', 'columns again',   $columns,   @tables);

	# A row that somebody has locked is left for the next time.
	$node->safe_psql('page', $procedure);
	my $holder = open_session($node, 'page');
	$holder->query_safe("BEGIN; SELECT FROM account WHERE name = 'held' FOR UPDATE");
	like((run_block('page', 'fill', $fill, @tables))[1], qr/account: \d+ rows filled, 1 left/, 'fill waits for nobody');
	$holder->query_safe('COMMIT');
	like((run_block('page', 'fill again', $fill, @tables))[1],
		qr/account: \d+ rows filled, 0 left.*payment: \d+ rows filled, 0 left/s, 'all is filled');

	# An index waits for transactions that were there before, and users go on.
	$holder->query_safe("BEGIN; UPDATE account SET name = name WHERE name = 'held'");
	my $file = $node->basedir . '/indexes.sql';
	append_to_file($file, $indexes);
	my $psql = IPC::Run::start([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr('page') ]);
	wait_until('an index waits',
		sub { $node->safe_psql('page', 'SELECT phase FROM pg_stat_progress_create_index') =~ /waiting/ });
	wait_for_users('page', @tables);
	$holder->query_safe('COMMIT');
	close_session($holder);
	ok($psql->finish, 'indexes');

	run_block('page', 'constraints', $constraints, @tables);
	run_block('page', 'validation',  $validate,    @tables);
	run_block('page', 'the swap',    $swap,        @tables);
	check_above('account');
	stop_users($users);
	check_keys('account');
	check_kinds('account');
	is($node->safe_psql('page', $schema), $before =~ s/\|integer\|/|bigint|/gr,
		'columns, constraints and indexes are as before, and wide');
}

#
# Counters
#
{
	my ($block) = grep { /CREATE TABLE invoice/ } blocks('flakes', 'After an older generator', 'sql');
	my ($table, $move, $insert) =
	  $block =~ /\A(.*?)(^SELECT sno_flake_create_generator.*?^COMMIT;\n)\s*(INSERT.*?;)/ms;
	make_database('counted', $table);
	my $users = start_users('counted', 'invoice');
	wait_for_users('counted', 'invoice');
	my ($counter, $lock) = transactions($move);
	run_block('counted', 'the counter', $counter, 'invoice');
	run_block('counted', 'the default of invoice', $lock, 'invoice');
	my $max = $node->safe_psql('counted', 'SELECT max(id) FROM invoice');
	cmp_ok($node->safe_psql('counted', $insert), '>', $max, 'a new number is above the old ones');
	stop_users($users);
	is( $node->safe_psql(
			'counted', q{
SELECT count(*) - count(DISTINCT id), count(*) FILTER (WHERE id <= 4711) FROM invoice;
SELECT count(*) FROM journal AS j LEFT JOIN invoice AS i ON i.id = j.id WHERE i.id IS NULL}
		),
		"0|4711\n0",
		'no number came twice');

	# Numbers that somebody saw, though they were rolled back
	make_database('rolled_back', $table);
	$node->safe_psql('rolled_back', 'BEGIN; INSERT INTO invoice (total) SELECT 1 FROM generate_series(1, 100); ROLLBACK');
	is($node->safe_psql('rolled_back', $move . $insert) =~ s/.*\n//sr, 4812, 'not even one that was rolled back');
}

$node->stop;
done_testing();
