
# The rights of the owner of a database, whoever that is at the time.  If the
# role that created the extension is gone, dumps can still be made and restored.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $dir  = PostgreSQL::Test::Utils::tempdir('owner');
my $node = new_node('main');

# In a restored database, a named generator waits for the end of a lease after sno_reseed().
$node->append_conf('postgresql.conf',
	"sno.lease_duration = 1s\nsno.max_wait = 1min");
$node->start;

# What everybody may call, and what only the owner may.
my @of_everybody = (
	'sno_generate()',       q{sno_generate(0, 'shared')},
	'sno_generate_many(1)', q{sno_generate_many(1, 0, 'shared')},
	'sno_snapshot_generator()',
	q{sno_flake_generate('shared')},
	q{sno_flake_timestamp(1, 'snowflake')});
my @of_owner = (
	'sno_generate_at(now())',
	'sno_reseed()',
	q{sno_create_generator('more', 1)},
	q{sno_snapshot_generator('more')},
	q{sno_restore_generator('more', '{"partition": [0, 1]}')},
	q{sno_restrict_generator('more')},
	q{sno_drop_generator('more')},
	q{sno_flake_create_generator('more', 'snowflake', 1)},
	q{sno_flake_restrict_generator('more')},
	q{sno_flake_advance('more', 1)},
	q{sno_flake_drop_generator('more')},
	'count(*) FROM sno_generators()',
	'count(*) FROM sno_check()',
	'count(*) FROM sno_catalog.sno_lease',
	'count(*) FROM sno_catalog.sno_generator',
	'count(*) FROM sno_catalog.sno_flake_layout',
	'count(*) FROM sno_catalog.sno_flake_generator');

sub connection
{
	my ($dbname, $user) = @_;
	return $node->connstr($dbname) . " user=$user";
}

sub sql_as
{
	my ($user, $dbname, $query) = @_;
	return $node->safe_psql($dbname, $query,
		connstr => connection($dbname, $user));
}

# The SQLSTATEs of the errors that these calls raise, each call in a transaction
# of its own
sub errors_of
{
	my ($user,   $dbname, @calls) = @_;
	my ($status, $out,    $err)   = $node->psql(
		$dbname,
		join('', "\\set VERBOSITY sqlstate\n", map { "SELECT $_;\n" } @calls),
		on_error_stop => 0,
		connstr       => connection($dbname, $user));
	return [ $err =~ /ERROR:  (\w+)/g ];
}

# Each check has a named generator in another partition, and another layout.  In the
# same partition, it would have to wait after sno_reseed() was called twice.
my $partition = 800;

sub check_rights
{
	my ($dbname, $owner, $other) = @_;
	my @calls_of_owner = (@of_owner,
		"sno_flake_create_layout('more $partition', '2020-01-01Z', $partition, 30, 10, 12)"
	);
	sql_as($owner, $dbname,
		"SELECT sno_create_generator('shared', $partition), sno_flake_create_generator('shared', 'snowflake', $partition)"
	);
	$partition++;
	is_deeply(errors_of($owner, $dbname, @of_everybody, @calls_of_owner),
		[], "$dbname: $owner, the owner, may call everything");
	is_deeply(errors_of($other, $dbname, @of_everybody),
		[], "$dbname: $other may generate");
	is_deeply(
		errors_of($other, $dbname, @calls_of_owner),
		[ ('42501') x @calls_of_owner ],
		"$dbname: $other may call nothing that is for the owner");
	sql_as($owner, $dbname,
		q{SELECT sno_drop_generator('shared'), sno_flake_drop_generator('shared')}
	);
	return;
}

#
# The first owner creates the extension.  Then the database gets another owner,
# and the first one is dropped.
#
$node->safe_psql(
	'postgres', q{
CREATE ROLE old_owner LOGIN;
CREATE ROLE new_owner LOGIN;
CREATE ROLE guest LOGIN;
CREATE DATABASE app OWNER old_owner});
sql_as(
	'old_owner', 'app', q{
CREATE EXTENSION sno;
CREATE EXTENSION sno_flakes;
SELECT sno_create_generator('orders', 700), sno_flake_create_layout('ours', '2020-01-01Z', 700, 30, 10, 12);
SELECT sno_flake_create_generator('photos', 'ours', 7), sno_flake_generate('photos');
CREATE TABLE t AS SELECT sno_generate(n, 'orders') AS id FROM generate_series(0, 99) AS n;
CREATE FUNCTION made_at(timestamptz) RETURNS sno LANGUAGE sql SECURITY DEFINER RETURN sno_generate_at($1)}
);
check_rights('app', 'old_owner', 'guest');

$node->safe_psql(
	'app', q{
ALTER DATABASE app OWNER TO new_owner;
REASSIGN OWNED BY old_owner TO new_owner;
DROP OWNED BY old_owner;
DROP ROLE old_owner});
check_rights('app', 'new_owner', 'guest');
is_deeply(errors_of('guest', 'app', 'made_at(now())'),
	[],
	'a SECURITY DEFINER function of the owner has the rights of the owner');

#
# Dumps by the new owner and by a superuser
#
my $content = q{SELECT md5(string_agg(id::text, ',' ORDER BY id)) FROM t;
SELECT * FROM sno_catalog.sno_generator;
SELECT * FROM sno_catalog.sno_flake_generator; SELECT * FROM sno_catalog.sno_flake_layout WHERE NOT built_in;
SELECT count(*) FROM sno_catalog.sno_lease WHERE kind IN ('g', 'n')};

sub check_dump
{
	my ($from, @users) = @_;
	my $expected = $node->safe_psql($from, $content);
	foreach my $user (@users)
	{
		my $dbname = "${from}_by_$user";
		$node->safe_psql('postgres',
			"CREATE DATABASE $dbname OWNER new_owner");
		$node->command_ok(
			[   'pg_dump', '-Fc',
				'-f',      "$dir/$dbname",
				'-d',      connection($from, $user) ],
			"$from: $user dumps it");
		$node->command_ok(
			[   'pg_restore', '--exit-on-error',
				'-d',         connection($dbname, $user),
				"$dir/$dbname" ],
			"$dbname: $user restores it");
		is($node->safe_psql($dbname, $content),
			$expected, "$dbname: rows, definitions and leases are there");
		check_rights($dbname, 'new_owner', 'guest');
	}
	return;
}
check_dump('app', 'new_owner', scalar getpwuid($>));

#
# A role that may create the extension, but does not own the database
#
$node->safe_psql(
	'postgres', q{
CREATE ROLE installer LOGIN;
CREATE DATABASE installed OWNER new_owner;
GRANT CREATE ON DATABASE installed TO installer});
sql_as('installer', 'installed',
	'CREATE EXTENSION sno; CREATE EXTENSION sno_flakes');
check_rights('installed', 'new_owner', 'installer');

# Only a superuser can make a table that would be taken for one of the
# extension.
foreach my $user ('new_owner', 'installer')
{
	my (undef, undef, $err) = $node->psql(
		'installed',
		q{\set VERBOSITY sqlstate
CREATE TABLE sno_catalog.more (n integer);
ALTER SCHEMA sno_catalog RENAME TO more;
DROP SCHEMA sno_catalog CASCADE},
		on_error_stop => 0,
		connstr       => connection('installed', $user));
	is_deeply(
		[ $err =~ /ERROR:  (\w+)/g ],
		[ ('42501') x 3 ],
		"$user can't change the schema of the tables");
}
sql_as('installer', 'installed',
	'ALTER EXTENSION sno UPDATE; ALTER EXTENSION sno_flakes UPDATE; DROP EXTENSION sno_flakes; DROP EXTENSION sno'
);

# All that the role owns is given to another one, and the role is dropped.
sql_as('installer', 'installed',
	'CREATE EXTENSION sno; CREATE EXTENSION sno_flakes');
sql_as(
	'new_owner', 'installed', q{
SELECT sno_create_generator('orders', 700), sno_flake_create_layout('ours', '2020-01-01Z', 700, 30, 10, 12);
SELECT sno_flake_create_generator('photos', 'ours', 7), sno_flake_generate('photos');
CREATE TABLE t AS SELECT sno_generate(n, 'orders') AS id FROM generate_series(0, 99) AS n}
);
$node->safe_psql(
	'installed', q{
REASSIGN OWNED BY installer TO new_owner;
DROP OWNED BY installer;
DROP ROLE installer});
check_rights('installed', 'new_owner', 'guest');
check_dump('installed', 'new_owner', scalar getpwuid($>));

# All that the role owns is dropped: the extension with the schema of its
# tables.
$node->safe_psql(
	'postgres', q{
CREATE ROLE installer LOGIN;
CREATE DATABASE dropped OWNER new_owner;
GRANT CREATE ON DATABASE dropped TO installer});
sql_as('installer', 'dropped',
	'CREATE EXTENSION sno; CREATE EXTENSION sno_flakes; SELECT sno_generate()');
is( $node->safe_psql(
		'dropped', q{
DROP OWNED BY installer;
SELECT count(*) FROM pg_namespace WHERE nspname = 'sno_catalog'}),
	0,
	'the schema of the tables is dropped with the extension');
sql_as('new_owner', 'dropped',
	'CREATE EXTENSION sno; CREATE EXTENSION sno_flakes');
check_rights('dropped', 'new_owner', 'guest');

$node->stop;
done_testing();
