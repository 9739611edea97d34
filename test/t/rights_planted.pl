
# What the owner of a database put into a schema, before the extensions are
# installed, is never run, and nothing of the extensions depends on it.
#
# planted.sql plants operators and functions for all types, and types and views,
# by all names that the scripts use.  Each of them warns if it is run.  So what
# is wrong in a script shows in the log, or in pg_depend.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use SnoInstall;
use TestHelpers;

skip_without_seal();

my ($installation, undef, $scripts) = copy_installation();
my $dir = PostgreSQL::Test::Utils::tempdir('planted');
my $log_read = 0;
my $node = new_node('main', install_path => $installation, conf => 'autovacuum = off');
$node->start;

# The search path is one of: what is planted is found first, or it is not found.
sub run_sql
{
	my ($user, $path, $dbname, $sql, @options) = @_;
	local $ENV{PGOPTIONS} = "-c search_path=$path";
	return $node->safe_psql($dbname, $sql,
		connstr => $node->connstr($dbname) . ($user ? " user=$user" : ''),
		@options);
}

sub as_owner     { return run_sql('mallory', 'pg_catalog',         @_); }
sub as_superuser { return run_sql('',        'pg_catalog',         @_); }
sub in_a_trap    { return run_sql('',        'planted,pg_catalog', @_); }

# A database with all that is planted
sub plant
{
	my ($dbname) = @_;
	as_superuser('postgres',
		"CREATE DATABASE $dbname TEMPLATE hostile OWNER mallory");
	return;
}

# As whom planted code ran since the last call
sub what_ran
{
	my $log = slurp_file($node->logfile, $log_read);
	$log_read += length $log;
	my %lines = map { $_ => 1 } $log =~ /(planted code runs as \w+)/g;
	return join "\n", sort keys %lines;
}

# Which objects of the superuser use what is planted.  Each object belongs to one,
# or to the owner of the database.
sub what_uses_it
{
	my ($dbname) = @_;
	return as_superuser(
		$dbname, q{
		WITH RECURSIVE part AS (
			SELECT classid, objid FROM (
				SELECT 'pg_proc'::regclass::oid, oid, proowner FROM pg_proc
				UNION ALL SELECT 'pg_class'::regclass, oid, relowner FROM pg_class
				UNION ALL SELECT 'pg_type'::regclass, oid, typowner FROM pg_type
				UNION ALL SELECT 'pg_operator'::regclass, oid, oprowner FROM pg_operator
				UNION ALL SELECT 'pg_opclass'::regclass, oid, opcowner FROM pg_opclass
				UNION ALL SELECT 'pg_opfamily'::regclass, oid, opfowner FROM pg_opfamily
				UNION ALL SELECT 'pg_cast'::regclass, oid, 10 FROM pg_cast) AS o (classid, objid, owner)
			WHERE owner = 10 AND objid >= 16384
			UNION
			SELECT d.classid, d.objid FROM pg_depend AS d JOIN part AS p ON (d.refclassid, d.refobjid) = (p.classid, p.objid)
			WHERE d.deptype IN ('a', 'i'))
		SELECT DISTINCT pg_describe_object(d.classid, d.objid, 0) || ' uses ' || pg_describe_object(d.refclassid, d.refobjid, 0)
		FROM pg_depend AS d JOIN part USING (classid, objid)
		WHERE (d.refclassid, d.refobjid) NOT IN (SELECT * FROM part)
			AND (pg_identify_object(d.refclassid, d.refobjid, 0)).schema = 'planted'
		ORDER BY 1});
}

# The functions of the superuser whose bodies are parsed when they run, with any search path.
# PostgreSQL notes no dependencies of these.
sub bodies_without_path
{
	my ($dbname) = @_;
	return as_superuser(
		$dbname, q{
		SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_language AS l ON l.oid = prolang
		WHERE proowner = 10 AND p.oid >= 16384
			AND (lanname = 'sql' AND prosqlbody IS NULL OR lanname NOT IN ('c', 'internal', 'sql') OR prosecdef)
			AND 'search_path=pg_catalog, pg_temp' <> ALL (coalesce(proconfig, '{}'))});
}

# Run a script by psql, with a search path.
sub run_script
{
	my ($dbname, $script, $path) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	local $ENV{PGOPTIONS} = "-c search_path=$path";
	$node->command_ok([ 'psql', '-Xq1', '-v', 'ON_ERROR_STOP=1', '-f', $script, $node->connstr($dbname) ],
		"psql -f of a script, in $dbname");
	return;
}

# Check that nothing planted is used.
sub check_clean
{
	my ($dbname, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(what_ran(), '', "$what: nothing planted ran");
	is(what_uses_it($dbname), '', "$what: nothing depends on what is planted");
	return;
}

#
# What to plant: the names in the scripts, and functions by these names.  Those of
# the extensions are known where nothing is planted.
#

sub write_lines
{
	my ($name, @lines) = @_;
	append_to_file("$dir/$name", join '', map { "$_\n" } @lines);
	return;
}

my $portable = "$FindBin::RealBin/../../portable/sno_portable--0.9.sql";
my $text     = join "\n", map { slurp_file($_) =~ s/^\s*--.*$//gmr }
  $portable, sort map { glob("$scripts/$_--*.sql") } 'sno', 'sno_flakes', 'sno_feeds', 'sno_seal', 'sno_registry';
my %words   = map { $_ => 1 } $text =~ /\b([a-z_]\w*)\b/g;
my %symbols = map { $_ => 1 } $text =~ /([-+*\/<>=~!@#%^&|`?]+)/g, '~~', '/';
write_lines('words',     sort keys %words);
write_lines('operators', map { s/\\/\\\\/gr } sort keys %symbols);

$node->safe_psql('postgres',
	'CREATE EXTENSION sno; CREATE EXTENSION sno_flakes; CREATE EXTENSION sno_feeds; CREATE EXTENSION sno_seal; CREATE EXTENSION sno_registry'
);
run_script('postgres', $portable, 'public');
$node->safe_psql(
	'postgres', qq{
	CREATE TEMP TABLE word (word name);
	COPY word FROM '$dir/words';
	SET search_path = public, sno;
	COPY (SELECT proname, ARRAY(SELECT format_type(a, NULL) FROM unnest(proargtypes) AS a), proretset,
			replace(format_type(prorettype, NULL), 'sno.', ''),
			pronamespace = 'sno'::regnamespace
			OR EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
		FROM pg_proc AS p JOIN word ON word = proname
		WHERE pronargs <= 6 AND pronamespace IN ('pg_catalog'::regnamespace, 'public'::regnamespace, 'sno'::regnamespace))
	TO '$dir/functions'});
as_superuser('postgres', 'CREATE ROLE mallory LOGIN');
as_superuser('postgres', 'CREATE DATABASE hostile OWNER mallory');
my ($operators, $overloads) = split /\|/,
  as_owner('hostile', slurp_file("$FindBin::RealBin/planted.sql"),
	extra_params =>
	  [ map { ('-v', "$_=$dir/$_") } 'words', 'operators', 'functions' ]);
cmp_ok($operators, '>', 10_000, 'more than 10,000 operators are planted');
cmp_ok($overloads, '>', 10_000, 'and more than 10,000 functions');

#
# All extensions, installed and used
#

plant('installed');
run_sql('mallory', 'planted,pg_catalog', 'installed', "CREATE EXTENSION $_") foreach 'sno', 'sno_flakes', 'sno_feeds', 'sno_seal';
in_a_trap('installed',
	'CREATE EXTENSION sno_registry SCHEMA planted');
check_clean('installed', 'CREATE EXTENSION');

my $use_sno = q{
	SELECT pg_catalog.sno_create_generator('shared'::pg_catalog.text, 1), pg_catalog.sno_create_generator('other'::pg_catalog.text, 2);
	SELECT pg_catalog.sno_seal_create_key('key'::pg_catalog.text, NULL::pg_catalog.bytea);
	SELECT pg_catalog.sno_flake_create_layout('own'::pg_catalog.text, TIMESTAMP WITH TIME ZONE '2020-01-01 00:00:00Z', 1, 40, 11, 12, false, '0123456789'::pg_catalog.text);
	SELECT pg_catalog.sno_flake_create_generator('flakes'::pg_catalog.text, 'own'::pg_catalog.text, NULL::bigint, 1, 'key'::pg_catalog.text);
	SELECT pg_catalog.sno_restrict_generator('other'::pg_catalog.text, 'mallory'::pg_catalog.name);
	SELECT pg_catalog.sno_drop_generator('other'::pg_catalog.text);
	SELECT pg_catalog.sno_flake_create_generator('others'::pg_catalog.text, 'snowflake'::pg_catalog.text, 5);
	SELECT pg_catalog.sno_flake_restrict_generator('others'::pg_catalog.text, 'mallory'::pg_catalog.name);
	SELECT pg_catalog.sno_flake_drop_generator('others'::pg_catalog.text);
	SELECT pg_catalog.sno_flake_generate('flakes'::pg_catalog.text), pg_catalog.sno_generate(1, 'shared'::pg_catalog.text);
	INSERT INTO sno_catalog.sno_prefix VALUES (1, 'user');
	CREATE TABLE public.item (id pg_catalog.sno DEFAULT pg_catalog.sno_generate(1), n integer) PARTITION BY RANGE (id);
	CALL pg_catalog.sno_maintain_time_partitions('public.item'::pg_catalog.regclass, interval '1 day', interval '3 days', interval '1 day');
	INSERT INTO public.item (n) VALUES (1), (2);
	SELECT pg_catalog.min(id), pg_catalog.max(id), pg_catalog.count(DISTINCT id) FROM public.item;
	SELECT pg_catalog.sno_prefixed(id), pg_catalog.sno_date_bin(interval '1 day', id, TIMESTAMP WITH TIME ZONE '2000-01-01 00:00:00Z') FROM public.item;
	CREATE TABLE public.by_uuid (id pg_catalog.uuid DEFAULT pg_catalog.sno_generate_uuidv8(1)) PARTITION BY RANGE (id);
	CALL pg_catalog.sno_maintain_time_partitions('public.by_uuid'::pg_catalog.regclass, interval '1 month');
	INSERT INTO public.by_uuid DEFAULT VALUES;
	SELECT * FROM pg_catalog.sno_generators();
	SELECT * FROM pg_catalog.sno_check();
	VACUUM ANALYZE sno_catalog.sno_generator, sno_catalog.sno_lease, sno_catalog.sno_flake_layout,
		sno_catalog.sno_flake_generator, sno_catalog.sno_prefix, sno_catalog.sno_seal_key;
	REINDEX TABLE sno_catalog.sno_generator;
	COPY sno_catalog.sno_generator TO 'FILE';
	DELETE FROM sno_catalog.sno_generator;
	COPY sno_catalog.sno_generator FROM 'FILE';
	REINDEX TABLE sno_catalog.sno_flake_generator;
	COPY sno_catalog.sno_flake_generator TO 'FILE.flakes';
	DELETE FROM sno_catalog.sno_flake_generator;
	COPY sno_catalog.sno_flake_generator FROM 'FILE.flakes'} =~ s/FILE/$dir\/generators/gr;
my $use_registry = q{
	SELECT planted.sno_registry_create(1024, 65535, 64, interval '25 hours', false, TIMESTAMP WITH TIME ZONE '2010-01-01 00:00:00Z');
	SELECT planted.sno_registry_add_layout('1288834974657/1/41/10/12'::pg_catalog.text, 0::bigint, 1023::bigint, 8::bigint,
		TIMESTAMP WITH TIME ZONE '2010-01-01 00:00:00Z');
	SELECT sno_registry.unit_of(pg_catalog.now()) AS now \gset
	SELECT planted.sno_registry_renew(11::bigint, 0::bigint, 12::bigint, 'server'::pg_catalog.text, :now::bigint, :now::bigint, 1,
		'1288834974657/1/41/10/12'::pg_catalog.text);
	SELECT planted.sno_registry_vouch(), planted.sno_registry_report_loss();
	SELECT * FROM sno_registry.blocks;
	DO 'BEGIN PERFORM planted.sno_registry_move(); EXCEPTION WHEN object_not_in_prerequisite_state THEN NULL; END';
	VACUUM ANALYZE sno_registry.settings, sno_registry.space, sno_registry.holder, sno_registry.block};
in_a_trap('installed', $use_sno);
in_a_trap('installed', $use_registry);
check_clean('installed', 'use');

# A procedure that commits can't set it, and neither can a function that is to be inlined.  feeds.sql
# calls these with planted objects in the search path.
is( bodies_without_path('installed'),
	"sno_feed_create_changes(regclass,text,integer)\nsno_feed_part(anyelement,integer)\nsno_feed_remove(regclass,interval,integer)",
	'the other functions whose bodies are parsed when they run set search_path');

#
# The registry without the extension's control file, by whoever has any search path
#

plant('by_psql');
run_script('by_psql', "$scripts/sno_registry--0.9.sql", 'planted,pg_catalog');
in_a_trap('by_psql', $use_registry);
check_clean('by_psql', 'psql -f');

# So is sno_portable, and its functions are used.
# There, functions without arguments don't collide with those of the extension.
plant('portable');
as_owner('portable', join '', map { qq{
	DROP FUNCTION IF EXISTS planted.$_();
	CREATE FUNCTION planted.$_() RETURNS text LANGUAGE plpgsql AS
		'BEGIN RAISE WARNING ''planted code runs as %'', current_user; RETURN NULL; END';}
  } sort keys %{ { map { $_ => 1 } slurp_file($portable) =~ /CREATE FUNCTION \S*?(sno_[a-z]\w*)\(/g } });
run_script('portable', $portable, 'planted,pg_catalog');
in_a_trap(
	'portable', q{
	CREATE TABLE public.by_uuid (id pg_catalog.uuid DEFAULT sno.sno_generate_uuidv8(1)) PARTITION BY RANGE (id);
	CALL sno.sno_maintain_time_partitions('public.by_uuid'::pg_catalog.regclass, interval '1 month');
	INSERT INTO public.by_uuid DEFAULT VALUES;
	SELECT sno.sno_timestamp(sno.sno_from_uuidv8(id)), sno.sno_meta(sno.sno_from_uuidv8(id)), sno.sno_is_uuidv8(id),
		sno.sno_during(id, pg_catalog.tstzrange(NULL::timestamp with time zone, NULL::timestamp with time zone)),
		sno.sno_date_bin(interval '1 day', sno.sno_from_uuidv8(id), TIMESTAMP WITH TIME ZONE '2000-01-01 00:00:00Z') FROM public.by_uuid;
	SELECT sno.sno_to_uuidv8(sno.sno_min(pg_catalog.now())), sno.sno_max(pg_catalog.now(), 1), sno.sno_generate_many(2::bigint);
	SELECT sno.sno_reseed(NULL::integer, NULL::integer)});
check_clean('portable', 'sno_portable');
is(bodies_without_path('portable'), '', 'and what is parsed when it runs sets search_path');

# A move from the extension, where another role has the schema sno
plant('moved');
as_superuser('moved', 'CREATE EXTENSION sno; CREATE TABLE public.item (id uuid DEFAULT sno_generate_uuidv8())');
as_owner('moved', 'ALTER SCHEMA planted RENAME TO sno');
my (undef, $error) = run_command(
	[   'psql', '-Xq1', '-v', 'ON_ERROR_STOP=1', '-f', "$FindBin::RealBin/../../portable/move.sql", $node->connstr('moved') ]);
like($error, qr/schema "sno" already exists/, 'a database that has a schema sno does not move');
is(what_ran(), '', 'move.sql: nothing planted ran');

#
# Updates: each version that was released, and one that shows that this test sees what
# is wrong
#

my $default = as_superuser('postgres',
	"SELECT default_version FROM pg_available_extensions WHERE name = 'sno_registry'");
foreach my $extension ('sno', 'sno_flakes', 'sno_feeds', 'sno_seal', 'sno_registry')
{
	foreach my $old (
		split /\n/,
		as_superuser(
			'postgres', qq{
		SELECT source FROM pg_extension_update_paths('$extension')
		JOIN pg_available_extensions ON name = '$extension' AND default_version = target
		WHERE path IS NOT NULL}))
	{
		my $dbname = "from_${extension}_$old" =~ tr/./_/r;
		plant($dbname);
		my $schema = $extension eq 'sno_registry' ? 'SCHEMA planted' : '';
		as_superuser($dbname, "CREATE EXTENSION $extension $schema VERSION '$old' CASCADE");
		as_superuser($dbname, "ALTER EXTENSION $extension UPDATE");
		check_clean($dbname, "$extension, an update from $old");
	}
}

append_to_file("$scripts/sno_registry--$default--wrong.sql",
	q{CREATE TABLE sno_registry.more (n bigint CHECK (n * 1.5 > 0.5));
DO 'BEGIN PERFORM FROM pg_class WHERE oid = ''pg_class''::regclass; END';
});
as_superuser('installed', q{ALTER EXTENSION sno_registry UPDATE TO 'wrong'});
isnt(what_ran(), '', 'it shows if a script runs what is planted');
like(
	what_uses_it('installed'),
	qr/^constraint more_n_check .* uses operator .*\*/m,
	'it shows if a constraint uses that');

$node->stop;
done_testing();
