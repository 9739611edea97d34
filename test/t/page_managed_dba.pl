
# sno_portable as a DBA looks at it: the objects that its script makes, and their rights; other roles,
# functions planted in the search path, row security, dumps, upgrades, logical replication, and
# how it is removed.  doc/managed.md describes the results.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use SnoInstall;
use TestHelpers;

my $script = "$FindBin::RealBin/../../portable/sno_portable--0.9.sql";
my $node   = new_node('main', allows_streaming => 'logical', conf => "max_prepared_transactions = 2\nautovacuum = off");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN CREATEDB CREATEROLE');

# The output of a query, and the SQLSTATE of each error.
sub ask
{
	my ($user, $query, $dbname) = @_;
	my ($out, $err);
	IPC::Run::run([ 'psql', '-XqAt', '-v', 'VERBOSITY=sqlstate', '-f', '-', $node->connstr($dbname // 'app') . " user=$user" ],
		'<', \$query, '>', \$out, '2>', \$err);
	chomp $out;
	return join "\n", grep { $_ ne '' } $out, $err =~ /ERROR:  (\w+)$/mg;
}

sub run_script
{
	my ($user, $dbname, @options) = @_;
	my (undef, $err) = run_command([ 'psql', '-Xq', @options, '-o', '/dev/null', '-f', $script, $node->connstr($dbname) . " user=$user" ]);
	return $err;
}
my @once = ('-1', '-v', 'ON_ERROR_STOP=1');

is(ask('owner', $_, 'postgres'), '', $_)
  foreach 'CREATE DATABASE app', 'CREATE DATABASE other', 'CREATE ROLE clerk LOGIN', 'CREATE ROLE mallory LOGIN';
$node->safe_psql('postgres', 'CREATE ROLE backup LOGIN IN ROLE pg_read_all_data; CREATE ROLE successor LOGIN');

# Settings that change the meaning of SQL or PL/pgSQL
$node->safe_psql('postgres', "ALTER DATABASE app SET $_")
  foreach "plpgsql.extra_errors = 'all'", "plpgsql.variable_conflict = 'use_column'", 'standard_conforming_strings = off',
  "DateStyle = 'SQL, DMY'", "IntervalStyle = 'sql_standard'", "bytea_output = 'escape'", "TimeZone = 'Australia/Lord_Howe'",
  'transform_null_equals = on', "default_transaction_isolation = 'serializable'";

#
# The objects that the script makes
#

# All objects of a database, and its settings
my $objects = q{
	SELECT pg_describe_object(classid, objid, 0) FROM (
		SELECT 'pg_namespace'::regclass, oid FROM pg_namespace UNION ALL SELECT 'pg_class'::regclass, oid FROM pg_class
		UNION ALL SELECT 'pg_proc'::regclass, oid FROM pg_proc UNION ALL SELECT 'pg_type'::regclass, oid FROM pg_type
		UNION ALL SELECT 'pg_operator'::regclass, oid FROM pg_operator UNION ALL SELECT 'pg_cast'::regclass, oid FROM pg_cast
		UNION ALL SELECT 'pg_trigger'::regclass, oid FROM pg_trigger UNION ALL SELECT 'pg_event_trigger'::regclass, oid FROM pg_event_trigger
		UNION ALL SELECT 'pg_extension'::regclass, oid FROM pg_extension UNION ALL SELECT 'pg_default_acl'::regclass, oid FROM pg_default_acl) AS o (classid, objid)
	WHERE objid >= 16384
	UNION ALL SELECT s::text FROM pg_db_role_setting AS s ORDER BY 1};
my $before = ask('owner', $objects);
like(run_script('clerk', 'app', @once), qr/permission denied for database app/, 'the role needs CREATE on the database');
is(ask('owner', $objects), $before, 'nothing is made');

# The locks that the script takes on objects of others
my ($locks) = run_command([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-c', 'BEGIN', '-c', 'CREATE TABLE pg_temp.before (n integer)', '-f', $script, '-c',
		q{SELECT DISTINCT relation::regclass, mode FROM pg_locks JOIN pg_class AS c ON c.oid = relation
		WHERE pid = pg_backend_pid() AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'sno'::regnamespace, pg_my_temp_schema(), 'pg_toast'::regnamespace)},
		'-c', q{SELECT DISTINCT mode FROM pg_locks JOIN pg_class AS c ON c.oid = relation
		WHERE pid = pg_backend_pid() AND relnamespace = 'pg_catalog'::regnamespace AND mode NOT IN ('AccessShareLock', 'RowExclusiveLock', 'RowShareLock')},
		$node->connstr('app') . ' user=owner' ]);
is($locks =~ s/^\s*\n//gmr, '', 'it locks no relation of others, and catalogs as any DDL does');
is(ask('owner', $objects), $before, 'without a commit, nothing is made');
is(run_script('owner', 'app', @once), '', 'the owner of the database installs it');
my ($version) = $script =~ /--(.+)\.sql$/;
like(ask('owner', q{SELECT obj_description('sno'::regnamespace, 'pg_namespace')}), qr/^sno_portable \Q$version\E: /, 'the comment of the schema has the version');
my %made = map { $_ => 1 } split /\n/, ask('owner', $objects);
delete @made{ split /\n/, $before };
is(join("\n", grep { !/^(?:schema sno$|.* sno\.)/ } sort keys %made), '', 'all objects are in the schema sno');
my %kind;
$kind{$_}++ foreach map { /^(?:composite )?(\w+)/ } keys %made;
is(join(', ', map { "$kind{$_} $_" } grep { $_ ne 'type' } sort keys %kind), '31 function, 1 schema, 3 sequence, 1 view', 'these');
is(ask('owner', q{SELECT string_agg(oid::regprocedure::text, ' ') FROM pg_proc WHERE pronamespace = 'sno'::regnamespace AND prosecdef}),
	'sno.first()', 'one function has the rights of its owner');
is(ask('clerk', q{SELECT string_agg(oid::regprocedure::text, ' ' ORDER BY proname) FROM pg_proc
		WHERE pronamespace = 'sno'::regnamespace AND NOT has_function_privilege(oid, 'EXECUTE')}),
	'sno.leap(boolean) sno.sno_reseed(integer,integer)', 'others may call all but these');

# Again
my $dump = "$PostgreSQL::Test::Utils::tmp_check/managed.dump";
sub dumped
{
	my ($out) = run_command([ 'pg_dump', '-s', $node->connstr('app') . ' user=owner' ]);
	return $out =~ s/^\\(?:un)?restrict .*//mgr;
}
is(ask('owner', 'REVOKE USAGE ON SCHEMA sno FROM PUBLIC'), '', 'a change after the installation');
my $schema = dumped();
like(run_script('owner', 'app', @once), qr/schema "sno" already exists/, 'a second time');
like(run_script('owner', 'app'), qr/sno_portable needs a transaction/, 'also without a transaction');
is(dumped(), $schema, 'nothing is changed');
is(ask('owner', 'GRANT USAGE ON SCHEMA sno TO PUBLIC'), '', 'back');

#
# Other roles
#

is(ask('owner', q{
	CREATE TABLE document (id uuid PRIMARY KEY DEFAULT sno.sno_generate_uuidv8(1), author name DEFAULT current_user);
	GRANT SELECT, INSERT ON document TO clerk; GRANT CREATE ON SCHEMA public TO mallory}), '', 'a table');
my $insert = q{INSERT INTO public.document DEFAULT VALUES RETURNING now() - sno.sno_timestamp(sno.sno_from_uuidv8(id)) < '1 min'};
is(ask('mallory', q{
	CREATE FUNCTION public.sno_generate_uuidv8(meta integer DEFAULT 0) RETURNS uuid LANGUAGE plpgsql AS 'BEGIN RAISE raise_exception; END';
	CREATE FUNCTION public.nextval(regclass) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE raise_exception; END';
	CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS 'BEGIN RAISE raise_exception; END';
	CREATE FUNCTION public.sno_from_uuidv8(uuid) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE raise_exception; END';
	CREATE FUNCTION public.head(uuid) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE raise_exception; END'}), '', 'a role plants functions');
foreach my $path ("''", 'public', 'public, pg_catalog, sno', 'nonexistent')
{
	is(ask('clerk', "SET search_path = $path; $insert"), 't', "with search_path = $path, the names of sno are found");
}
is(ask('mallory', $_), '42501', $_)
  foreach 'CREATE FUNCTION sno.sno_min(text) RETURNS text RETURN NULL', 'DROP FUNCTION sno.sno_generate_uuidv8(integer)',
  'ALTER FUNCTION sno.first() RESET search_path', "SELECT setval('sno.counter', 1)", "SELECT setval('sno.seen', 1)", 'SELECT sno.leap(true)',
  'BEGIN; LOCK TABLE sno.lock', 'SELECT sno.sno_reseed()', 'SELECT last_value FROM sno.life', 'INSERT INTO public.document DEFAULT VALUES';
is(ask('clerk', "SET default_transaction_read_only = on; $insert"), '25006', 'read-only sessions can not insert');
is(ask('clerk', 'SET default_transaction_read_only = on; SELECT sno.sno_generate_uuidv8()'), '25006', 'nor generate ids');

# Without the privilege on the schema, defaults work on.
is(ask('owner', 'REVOKE USAGE ON SCHEMA sno FROM PUBLIC'), '', 'no longer for everybody');
is(ask('clerk', 'INSERT INTO document DEFAULT VALUES RETURNING 1'), '1', 'defaults work');
is(ask('clerk', 'SELECT sno.sno_generate_uuidv8()'), '42501', 'calls do not');
is(ask('owner', 'GRANT USAGE ON SCHEMA sno TO clerk'), '', 'for one role');
is(ask('clerk', $insert), 't', 'they do');
is(ask('owner', 'GRANT USAGE ON SCHEMA sno TO PUBLIC'), '', 'for everybody');

# Row security: the bounds of a search by time don't leak, so they use the key.
is(ask('owner', q{
	ALTER TABLE document ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON document USING (author = current_user AND sno.sno_meta(sno.sno_from_uuidv8(id)) = 1);
	INSERT INTO document (author) SELECT 'mallory' FROM generate_series(1, 1000); ANALYZE document}), '', 'rows of others');
my $search = q{FROM document WHERE sno.sno_during(id, tstzrange(now() - interval '1 hour', NULL))};
is(ask('clerk', "SELECT count(*) = (SELECT count(*) FROM document), min(author), max(author) $search"), 't|clerk|clerk', 'a role sees its own rows');
like(ask('clerk', "SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT $search"), qr/Index Cond: \(\(?id >= /, 'by the key');
is(ask('clerk', $insert), 't', 'and inserts');

# Values that are stored or indexed, and must be restored
is(ask('owner', q{
	CREATE TABLE derived (id uuid PRIMARY KEY DEFAULT sno.sno_generate_uuidv8(2) CHECK (sno.sno_is_uuidv8(id)),
		at timestamptz GENERATED ALWAYS AS (sno.sno_timestamp(sno.sno_from_uuidv8(id))) STORED);
	CREATE INDEX ON derived (sno.sno_timestamp(sno.sno_from_uuidv8(id)));
	CREATE VIEW recent AS SELECT * FROM derived WHERE sno.sno_during(id, tstzrange(now() - interval '1 day', NULL));
	INSERT INTO derived SELECT FROM generate_series(1, 100); SELECT count(*) FROM recent WHERE at <= now()}), '100', 'a generated column, an index, a view');
is(ask('owner', q{
	CREATE TABLE event (id uuid PRIMARY KEY DEFAULT sno.sno_generate_uuidv8()) PARTITION BY RANGE (id);
	CALL sno.sno_maintain_time_partitions('event', '1 month', at => now());
	INSERT INTO event DEFAULT VALUES; SELECT count(*) FROM event}), '1', 'time partitions');

# Ids of prepared transactions
is(ask('owner', q{BEGIN; INSERT INTO document DEFAULT VALUES; PREPARE TRANSACTION 'p'}), '', 'a transaction is prepared');
is(ask('owner', "COMMIT PREPARED 'p'; SELECT count(*) = count(DISTINCT id) FROM document"), 't', 'no id came twice');

#
# Copies
#

# The value of the counter in the id of a new row
my $counter = q{((('x' || substr(translate(id::text, '-', ''), 14, 3))::bit(12)::bigint << 20)
	| (('x' || substr(translate(id::text, '-', ''), 17, 6))::bit(24)::bigint >> 2 & 1048575))};

sub value_of
{
	my ($user, $dbname) = @_;
	return ask($user, "INSERT INTO document DEFAULT VALUES RETURNING $counter", $dbname);
}
my $last;

sub leaps
{
	my ($what, $value) = @_;
	like($value, qr/^\d+$/, $what) or return;
	my $leap = ($value - $last) % 2**32;
	ok($leap > 2**23 && $leap < 2**32 - 100_000, 'the counter leaps') or diag("from $last to $value");
	return;
}

# By roles without other rights, into a database of another owner, who leaves out the privileges
foreach my $user ('backup', 'owner')
{
	$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '--enable-row-security', $node->connstr('app') . " user=$user" ], "$user dumps the database");
}
$last = value_of('owner');
$node->safe_psql('postgres', 'ALTER DATABASE other OWNER TO successor');
my (undef, $err) = run_command([ 'pg_restore', '--no-owner', '--no-acl', '-d', $node->connstr('other') . ' user=successor', $dump ]);
is($err, '', 'another role restores it');
leaps('the copy goes on', value_of('successor', 'other'));
is(ask('successor', 'SELECT count(*) FROM recent', 'other'), '100', 'views, indexes and generated columns are restored');
ask('successor', 'ALTER TABLE document DISABLE ROW LEVEL SECURITY; GRANT INSERT, SELECT ON document TO clerk', 'other');
is(value_of('clerk', 'other'), '42501', 'without the privileges of the dump, other roles can not insert');
is(ask('successor', 'GRANT USAGE ON SCHEMA sno TO PUBLIC; GRANT USAGE ON SEQUENCE sno.counter TO PUBLIC', 'other'), '', 'these are missing');
is(ask('clerk', $insert, 'other'), 't', 'with them, they can');

# Another owner of all
$node->safe_psql('app', 'GRANT CREATE ON SCHEMA public TO successor; GRANT CREATE ON DATABASE app TO successor; REASSIGN OWNED BY owner TO successor');
is(ask('clerk', $insert), 't', 'after REASSIGN OWNED, roles insert');
is(ask('successor', 'SELECT sno.sno_reseed()'), '', 'and the new owner may do more');
$last = value_of('successor');

# Logical replication into a database that was made from the schema; both generate ids.
is(ask('successor', 'SELECT sno.sno_reseed(0, 32767)'), '', 'partitions of the publisher');
value_of('successor');
my $copy = new_node('copy');
$copy->start;
$copy->safe_psql('postgres', 'CREATE ROLE successor LOGIN; CREATE ROLE clerk LOGIN; CREATE ROLE mallory LOGIN; CREATE DATABASE app OWNER successor');
system_or_bail('pg_dump', '-s', '-f', $dump, $node->connstr('app'));
$copy->command_ok([ 'psql', '-Xq', '-o', '/dev/null', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $copy->connstr('app') ], 'the schema is restored');
$copy->safe_psql('app', 'SELECT sno.sno_reseed(32768, 65535)', extra_params => [ '-U', 'successor' ]);
$node->safe_psql('app', 'CREATE PUBLICATION p FOR TABLE document');
$copy->safe_psql('app', "CREATE SUBSCRIPTION s CONNECTION '" . $node->connstr . " dbname=app' PUBLICATION p");
$copy->wait_for_subscription_sync($node, 's', 'app');
my @inserts = ("INSERT INTO document SELECT FROM generate_series(1, 1000)", extra_params => [ '-U', 'successor' ]);
$_->safe_psql('app', @inserts) foreach $node, $copy, $node;
$node->wait_for_catchup('s');
my $halves = "SELECT $counter >> 31, count(*) FROM (SELECT id FROM document ORDER BY id DESC LIMIT %s) AS d GROUP BY 1 ORDER BY 1";
is($copy->safe_psql('app', sprintf $halves, 3000), "0|2000\n1|1000", 'ids of both servers are in the copy, from their own partitions');
$copy->safe_psql('app', 'DROP SUBSCRIPTION s');
$copy->stop;
$node->safe_psql('app', 'DROP PUBLICATION p');

# pg_upgrade
is(ask('successor', 'SELECT sno.sno_reseed(0, 65535)'), '', 'all partitions again');
$last = value_of('successor') foreach 1 .. 3;
$node->safe_psql('postgres', 'DROP DATABASE other');
$node->stop;
my $new = new_node('new', conf => 'max_prepared_transactions = 2');
upgrade_cluster($node, pg_config('bindir'), $new, 'pg_upgrade');
$node = $new;
$node->start;
leaps('the upgraded server goes on', value_of('successor'));
is(ask('postgres', 'SELECT count(*) = count(DISTINCT id) FROM document'), 't', 'no id came twice');

#
# Removal
#

my $rows = ask('successor', 'SELECT count(*) FROM document');
is(ask('successor', 'DROP SCHEMA sno'), '2BP01', 'DROP SCHEMA without CASCADE');
is(ask('successor', q{
	CREATE TABLE wrong (n integer, id sno.sno);
	DROP SCHEMA sno CASCADE;
	SELECT count(*) FROM document}), $rows, 'DROP SCHEMA ... CASCADE keeps rows');
is(ask('successor', q{SELECT attname FROM pg_attribute WHERE attrelid = 'wrong'::regclass AND attnum > 0 AND NOT attisdropped}), 'n', 'but no column of the domain');
is(ask('successor', 'INSERT INTO document DEFAULT VALUES'), '23502', 'and no default');
is(ask('successor', $objects) =~ s/^(?!.*\bsno\b).*\n?//gmr, '', 'nothing is left');
{
	local $ENV{PGOPTIONS} = '-c search_path=';
	is(run_script('successor', 'app', @once), '', 'it can be installed again');
}

# Before PostgreSQL 17, the first call after a start creates a sequence, which others may refuse.
is(ask('successor', 'ALTER TABLE document ALTER id SET DEFAULT sno.sno_generate_uuidv8()'), '', 'a default');
$node->safe_psql('app', q{
	CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN RAISE insufficient_privilege; END';
	CREATE EVENT TRIGGER refuse ON ddl_command_start EXECUTE FUNCTION refuse()});
my $number  = qr/^\d+$/;
my $refused = $node->pg_version < 17 ? qr/^42501$/ : $number;
like(value_of('successor'), $refused, 'an event trigger that refuses DDL');
$node->safe_psql('app', 'DROP EVENT TRIGGER refuse');
like(value_of('successor'), $number, 'without it, ids are generated');
$node->safe_psql('app', 'ALTER SCHEMA sno OWNER TO postgres');
$node->restart;
like(value_of('successor'), $refused, 'the schema has another owner than its functions');
$node->safe_psql('app', 'ALTER SCHEMA sno OWNER TO successor');
like(value_of('successor'), $number, 'it has the same owner again');

$node->stop;
done_testing();
