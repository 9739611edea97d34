
# Partitions by time: several calls at once against inserts, an owner who isn't a
# superuser, names, tablespaces, dump and restore, databases without PL/pgSQL.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $node = new_node('main', conf => 'allow_in_place_tablespaces = on');
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN');

# Run queries as the owner of the databases.
sub as_owner
{
	my ($dbname, $query) = @_;
	return $node->safe_psql($dbname, $query,
		connstr => $node->connstr($dbname) . ' user=owner');
}

# The partitions of a table, with their bounds and owners.
sub partitions
{
	my ($dbname, $parent) = @_;
	return $node->safe_psql(
		$dbname, qq{
SELECT oid::regclass, relowner::regrole, reltablespace, pg_get_expr(relpartbound, oid)
FROM pg_class JOIN pg_inherits ON inhrelid = oid WHERE inhparent = '$parent'::regclass ORDER BY 4}
	);
}

# The encoding matters for names.
sub create_database
{
	my ($dbname) = @_;
	$node->safe_psql('postgres',
		"CREATE DATABASE $dbname OWNER owner ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0"
	);
	return;
}

#
# The extension needs PL/pgSQL.
#
create_database('bare');
$node->safe_psql('bare', 'DROP EXTENSION plpgsql');
my (undef, undef, $error) = $node->psql('bare', 'CREATE EXTENSION sno');
like(
	$error,
	qr/required extension "plpgsql" is not installed/,
	'without PL/pgSQL the extension is refused');
as_owner('bare', 'CREATE EXTENSION sno CASCADE');
(undef, undef, $error) = $node->psql('bare', 'DROP EXTENSION plpgsql');
like($error, qr/extension sno depends on/, 'the extension keeps PL/pgSQL');

#
# An owner who isn't a superuser
#
create_database('app');
as_owner(
	'app', q{
CREATE EXTENSION sno;
CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_generate(), n integer) PARTITION BY RANGE (id);
CALL sno_maintain_time_partitions('event', '1 month', '2 months', at => '2026-11-22 00:00+00')}
);
is( partitions('app', 'event'),
	q{event_2026_11|owner|0|FOR VALUES FROM ('9pdbrg2222222222') TO ('9qjvq92222222222')
event_2026_12|owner|0|FOR VALUES FROM ('9qjvq92222222222') TO ('9rrsvdi222222222')
event_2027_01|owner|0|FOR VALUES FROM ('9rrsvdi222222222') TO ('9t3q4i2222222222')},
	'an owner makes partitions');

# By a member of the owner, who doesn't become the owner, and by a superuser, who may not
my $october = "CALL sno_maintain_time_partitions('event', '1 month', '0', at => '2026-10-01 00:00+00')";
$node->safe_psql('postgres', 'CREATE ROLE member IN ROLE owner');
(undef, undef, $error) = $node->psql('app', $october);
like($error, qr/a superuser must not maintain table public\.event/, 'a superuser is refused');
$node->safe_psql('app', "SET ROLE member; $october");
like(partitions('app', 'event'),
	qr/^event_2026_10\|owner\|/,
	'partitions that a member makes belong to the owner');

# Long names of several bytes a character are cut between characters.
as_owner(
	'app', q{
CREATE TABLE "ééééééééééééééééééééééééééééééé" (id sno) PARTITION BY RANGE (id);
CALL sno_maintain_time_partitions('"ééééééééééééééééééééééééééééééé"', '1 month', '0', at => '2026-11-22 00:00+00');
CALL sno_maintain_time_partitions('"ééééééééééééééééééééééééééééééé"', '1 day', '0', at => '2026-10-31 00:00+00')}
);
is( $node->safe_psql(
		'app',
		q{SELECT relname = repeat('é', (63 - length(suffix)) / 2) || suffix
FROM pg_class, LATERAL substring(relname FROM '_.*') AS suffix WHERE relispartition AND relname LIKE 'é%' ORDER BY 1}
	),
	"t\nt",
	'long names are cut between characters');

#
# The tablespace of the table, and its access method since 17
#
$node->safe_psql('postgres', q{CREATE TABLESPACE apart LOCATION ''});
$node->safe_psql(
	'app', q{
CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE elsewhere (id sno PRIMARY KEY) PARTITION BY RANGE (id) TABLESPACE apart}
);
my $method = 'heap';
if ($node->pg_version >= 17)
{
	$node->safe_psql('app', 'ALTER TABLE elsewhere SET ACCESS METHOD heap2');
	$method = 'heap2';
}
is( $node->safe_psql(
		'app', q{
CALL sno_maintain_time_partitions('elsewhere', '1 day', '0', at => '2026-11-22 00:00+00');
SELECT spcname, amname FROM pg_class AS c JOIN pg_tablespace AS t ON t.oid = reltablespace JOIN pg_am AS a ON a.oid = relam
WHERE relname = 'elsewhere_2026_11_22'}),
	"apart|$method",
	'a partition has the tablespace and the access method of the table');
$node->safe_psql('app', 'DROP TABLE elsewhere; DROP ACCESS METHOD heap2');

#
# Dump and restore
#
my $dump = PostgreSQL::Test::Utils::tempdir('dump') . '/app.sql';
as_owner('app',
	'INSERT INTO event SELECT sno_min(timestamptz \'2026-10-01 00:00+00\' + n * interval \'1 day\'), n FROM generate_series(0, 91) AS n'
);
$node->command_ok(
	[ 'pg_dump', '-f', $dump, '-d', $node->connstr('app') . ' user=owner' ],
	'pg_dump by the owner');
create_database('restored');
$node->command_ok(
	[
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d',
		$node->connstr('restored') . ' user=owner'
	],
	'the dump is restored by the owner');
my $before = partitions('app', 'event');
is(partitions('restored', 'event'), $before, 'partitions are restored');
as_owner('restored',
	"CALL sno_maintain_time_partitions('event', '1 month', '2 months', at => '2026-11-22 00:00+00')"
);
is(partitions('restored', 'event'),
	$before, 'a call finds the restored partitions');
as_owner('restored',
	"CALL sno_maintain_time_partitions('event', '1 month', '2 months', '1 month', at => '2026-12-22 00:00+00')"
);
is( as_owner(
		'restored',
		'SELECT count(*), count(*) FILTER (WHERE tableoid = \'event_2026_11\'::regclass) FROM event; SELECT count(*) FROM event_2026_10'
	),
	"61|30\n31",
	'a restored partition is detached, with its rows');

#
# Two sessions call it at once, and two insert, while time goes on by a minute at
# each call.  An insert is of the time that the last call had.
#
my $calls = 50;
$node->safe_psql(
	'app', q{
CREATE TABLE busy (id sno NOT NULL, n integer) PARTITION BY RANGE (id);
CREATE INDEX ON busy (id);
CREATE SEQUENCE minute;
SELECT nextval('minute');
CREATE FUNCTION busy_time(minute bigint) RETURNS timestamptz LANGUAGE sql RETURN timestamptz '2026-11-22 00:00+00' + minute * interval '1 minute';
CALL sno_maintain_time_partitions('busy', '1 minute', '10 minutes', at => busy_time(0));
CREATE PROCEDURE call_busy(calls integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. calls LOOP
		CALL sno_maintain_time_partitions('busy', '1 minute', '10 minutes', '5 minutes', busy_time(nextval('minute')));
		COMMIT;
	END LOOP;
END $$;
CREATE PROCEDURE insert_busy(until bigint) LANGUAGE plpgsql AS $$
DECLARE
	minute bigint;
BEGIN
	LOOP
		SELECT last_value INTO minute FROM minute;
		INSERT INTO busy VALUES (sno_with_timestamp(sno_generate(), busy_time(minute)), minute);
		COMMIT;
		EXIT WHEN minute > until;
	END LOOP;
END $$});
my @callers = map { open_session($node, 'app') } 1 .. 2;
my @writers = map { open_session($node, 'app') } 1 .. 2;
send_query($_, 'CALL insert_busy(' . 2 * $calls . ')') foreach @writers;
send_query($_, "CALL call_busy($calls)")               foreach @callers;
foreach my $session (@callers, @writers)
{
	my (undef, $errors) = receive($session);
	unlike($errors, qr/ERROR|WARNING/, 'no call and no insert fails');
	close_session($session);
}
$node->safe_psql('app',
	"CALL sno_maintain_time_partitions('busy', '1 minute', '0', '5 minutes', at => busy_time(1000))"
);
is( $node->safe_psql(
		'app', q{
SELECT count(*) FILTER (WHERE relispartition), count(*) FILTER (WHERE NOT relispartition) FROM pg_class WHERE relname LIKE 'busy\_2%' AND relkind = 'r'}
	),
	'1|' . (2 * $calls + 12),
	'each minute has had one partition, and all but the last are detached');

# Each row is in the table of its minute.
is( $node->safe_psql(
		'app', q{
CREATE FUNCTION astray() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	name text;
	found_here bigint;
	total bigint := 0;
BEGIN
	FOR name IN SELECT relname FROM pg_class WHERE relname LIKE 'busy\_2%' AND relkind = 'r' LOOP
		EXECUTE format('SELECT count(*) FROM %I WHERE to_char(busy_time(n) AT TIME ZONE %L, %L) <> %L', name, 'UTC', '"busy_"YYYY_MM_DD_HH24MI', name) INTO found_here;
		total := total + found_here;
	END LOOP;
	RETURN total;
END $$;
SELECT astray()}),
	'0',
	'each row is in the table of its minute');

$node->stop;
check_log($node);
done_testing();
