
# Users who mean harm, or are careless.  A user who may generate can neither see
# nor change the leases.  No function that such a user made is ever run.  A
# library that was replaced while the server runs raises an error that says so.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use SnoInstall;
use TestHelpers;

my $node = new_node('main');
$node->start;

my $notes = NotedIds->new;
$notes->next_phase;

sub sql { return $node->safe_psql('postgres', $_[0]); }

# Open a session of a user.
sub connect_as
{
	my ($user, @settings) = @_;
	local $ENV{PGUSER} = $user;
	return open_session($node, 'postgres', @settings);
}

# Check that queries of a user are refused: pairs of a query and the SQLSTATE.
sub is_refused
{
	my ($who, $session, @refused) = @_;
	while (my ($query, $state) = splice @refused, 0, 2)
	{
		like(
			error_of($session, $query),
			qr/^ERROR:  $state: /m,
			"$who: $query");
	}
	return;
}

#
# Traps that another user has set, in a schema that the search path names before pg_catalog
#
sql(q{
CREATE ROLE mallory LOGIN;
CREATE ROLE alice LOGIN;
CREATE SCHEMA ids AUTHORIZATION mallory;
GRANT USAGE ON SCHEMA ids TO PUBLIC});

my $mallory = connect_as('mallory', 'search_path = ids');

# The numbers of objects in the catalogs
my $objects = join ' UNION ALL ',
  map { "SELECT count(*) FROM $_" }
  qw(pg_namespace pg_class pg_type pg_proc pg_operator pg_extension pg_depend pg_description pg_init_privs);
sql('CREATE SCHEMA sno_catalog AUTHORIZATION mallory');
$mallory->query_safe('CREATE TABLE sno_catalog.sno_lease (trap integer)');
my $before = sql($objects);
my ($status, $out, $err) = $node->psql('postgres',
	"\\set VERBOSITY verbose\nCREATE EXTENSION sno");
like(
	$err,
	qr/^.*ERROR:  2BP01: cannot drop schema sno_catalog because other objects depend on it$/m,
	'a schema and a table of another user are not taken for ours');
is(sql($objects), $before, 'a failed CREATE EXTENSION leaves nothing behind');
$mallory->query_safe('DROP TABLE sno_catalog.sno_lease');

# The traps: if the script ran one of these, it would run as a superuser.
my $trap = q{LANGUAGE plpgsql AS $$BEGIN RAISE 'trapped'; END$$};
$mallory->query_safe(
	qq{
CREATE FUNCTION trap() RETURNS trigger $trap;
CREATE FUNCTION trap(a anyelement, b anyelement) RETURNS boolean $trap;
CREATE FUNCTION format(text, VARIADIC text[]) RETURNS text $trap;
CREATE FUNCTION pg_extension_config_dump(regclass, text) RETURNS void $trap;
CREATE FUNCTION current_setting(text) RETURNS text $trap;
CREATE OPERATOR = (FUNCTION = trap, LEFTARG = anyelement, RIGHTARG = anyelement);
CREATE OPERATOR >= (FUNCTION = trap, LEFTARG = anyelement, RIGHTARG = anyelement);
CREATE OPERATOR <= (FUNCTION = trap, LEFTARG = anyelement, RIGHTARG = anyelement)}
);
sql('SET search_path = ids, pg_catalog; CREATE EXTENSION sno');
pass('the script of the extension runs none of the traps');
is(sql(q{SELECT nspowner::regrole = current_user::regrole FROM pg_namespace WHERE nspname = 'sno_catalog'}),
	't', 'an empty schema of another user is replaced');

is_refused(
	'who set traps', $mallory,
	'SELECT * FROM sno_catalog.sno_lease'                     => '42501',
	'INSERT INTO sno_catalog.sno_lease DEFAULT VALUES'        => '42501',
	'DELETE FROM sno_catalog.sno_lease'                       => '42501',
	'TRUNCATE sno_catalog.sno_lease'                          => '42501',
	'BEGIN; LOCK TABLE sno_catalog.sno_lease IN SHARE MODE'   => '42501',
	'ROLLBACK; ALTER TABLE sno_catalog.sno_lease RENAME TO x' => '42501',
	'ALTER TABLE sno_catalog.sno_lease ADD COLUMN x integer'  => '42501',
	'CREATE INDEX ON sno_catalog.sno_lease (partition)'       => '42501',
	'CREATE TRIGGER t BEFORE UPDATE ON sno_catalog.sno_lease FOR EACH ROW EXECUTE FUNCTION ids.trap()'
	  => '42501',
	'CREATE RULE r AS ON INSERT TO sno_catalog.sno_lease DO INSTEAD NOTHING'
	  => '42501',
	'CREATE POLICY p ON sno_catalog.sno_lease'        => '42501',
	'GRANT SELECT ON sno_catalog.sno_lease TO alice'  => '42501',
	'DROP TABLE sno_catalog.sno_lease'                => '42501',
	'DROP FUNCTION sno_generate(integer)'             => '42501',
	'ALTER FUNCTION sno_generate(integer) STABLE'     => '42501',
	'CREATE OR REPLACE FUNCTION pg_catalog.sno_generate(meta integer DEFAULT 0) RETURNS sno LANGUAGE sql AS $$SELECT NULL::sno$$'
	  => '42501',
	q{CREATE FUNCTION mine() RETURNS sno LANGUAGE c AS 'sno', 'sno_generate'}
	  => '42501');
$notes->add($mallory, $mallory->query_safe(ids_of(100)));

#
# A search path that is full of traps
#
sql('CREATE SCHEMA traps; GRANT ALL ON SCHEMA traps TO PUBLIC');
$mallory->query_safe(
	qq{
SET search_path = traps;
CREATE FUNCTION trap() RETURNS trigger $trap;
CREATE TABLE sno_lease (holder bigint, partition integer);
CREATE TRIGGER trap BEFORE INSERT OR UPDATE OR TRUNCATE ON sno_lease EXECUTE FUNCTION trap();
GRANT ALL ON sno_lease TO PUBLIC;
CREATE TYPE sno AS (trap integer);
RESET search_path});
my $alice = connect_as('alice', 'search_path = traps, pg_catalog');
$alice->query_safe(q{CREATE TEMP TABLE sno_lease (trap integer)});
$notes->add(
	$alice,
	$alice->query_safe(
		'SELECT sno_generate(n % 256) FROM generate_series(1, 1000) AS n')
);
is( $alice->query_safe('SELECT count(*) FROM traps.sno_lease')
	  . $alice->query_safe('SELECT count(*) FROM pg_temp.sno_lease'),
	'00',
	'leases go to the table of the extension, whatever the search path');
is(sql('SELECT count(*) FROM sno_catalog.sno_lease'),
	1, 'the lease is in the table of the extension');
is_refused(
	'anybody', $alice,
	'SELECT * FROM sno_catalog.sno_lease'        => '42501',
	'SELECT count(*) FROM sno_catalog.sno_lease' => '42501',
	'COPY sno_catalog.sno_lease TO STDOUT'       => '42501',
	q{UPDATE sno_catalog.sno_lease SET tick_until = '2010-01-01', tock_until = '2010-01-01'}
	  => '42501',
	'TRUNCATE sno_catalog.sno_lease'               => '42501',
	'DROP EXTENSION sno'                           => '42501',
	q{ALTER EXTENSION sno SET SCHEMA public}       => '42501',
	q{SET sno.partitions = '1-2'}                  => '42501',
	q{SET sno.lease_duration = '1d'}               => '55P02',
	q{ALTER ROLE alice SET sno.partitions = '1-2'} => '42501');
is( $alice->query_safe(
		'SELECT pg_stats.tablename FROM pg_stats WHERE tablename = \'sno_lease\''
	),
	'',
	'anybody: no statistics of the table can be seen');
sql('REVOKE EXECUTE ON FUNCTION sno_generate(integer) FROM PUBLIC');
is_refused('a user without EXECUTE',
	$alice, 'SELECT sno_generate()' => '42501');
$notes->check('abuse');

#
# The library is replaced, while the server runs, by one with another layout of
# shared memory
#
my $library = build_library(other_layout());
sql(qq{CREATE FUNCTION another(integer) RETURNS sno LANGUAGE c AS '$library', 'sno_generate'}
);
my $error =
  ($node->psql('postgres', "\\set VERBOSITY verbose\nSELECT another(1)"))[2];
like(
	$error,
	qr/ERROR:  55000: shared memory of extension "sno" belongs to another version of its library/,
	'a library with another layout is refused');
like(
	$error,
	qr/HINT:  The library was replaced while the server was running: restart the server\./,
	'the error has a hint to restart the server');
$notes->add(
	$mallory,
	$node->safe_psql(
		'postgres', 'SELECT sno_generate() FROM generate_series(1, 100)')
);
$notes->check('another library');

close_session($_) foreach ($mallory, $alice);
$node->stop;
check_log($node);
done_testing();
