
# Functions that tests of installing and upgrading share: a copy of an
# installation of PostgreSQL, in which files of the extension can be replaced; a
# build of the library from changed sources; pg_upgrade; and all entries of the
# extension in the catalogs of a database.

package SnoInstall;

use strict;
use warnings;

use Cwd ();
use Exporter 'import';
use File::Basename qw(dirname);
use File::Path     qw(make_path);
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(pg_config copy_installation build_library other_layout
  upgrade_cluster catalog_of differences);

# A folder, or a setting, of the installation whose pg_config is first in the
# path.
sub pg_config
{
	my ($name) = @_;
	chomp(my $value = qx(pg_config --$name));
	die "pg_config --$name failed" if $?;
	return $value;
}

# Link or copy the files of a folder into one of ours; @how is the command.
sub take_files
{
	my ($from, $to, @how) = @_;
	my @files = glob("$from/*");
	make_path($to);
	system_or_bail(@how, @files, $to) if @files;
	return;
}

# Make another installation of that server.  Its programs are copied, because
# they find all other files relative to their own place.  The other files are
# linked, in folders of ours, so each of them can be replaced.  Returns the
# install_path for a node, the folder of the libraries, and the folder of the
# extensions.
sub copy_installation
{
	my $root   = PostgreSQL::Test::Utils::tempdir('installation');
	my $bin    = pg_config('bindir');
	my $common = dirname($bin);
	my %to;

	$common = dirname($common)
	  while index(pg_config('sharedir'), "$common/") != 0;
	foreach my $folder (qw(bindir pkglibdir sharedir))
	{
		$to{$folder} = pg_config($folder);
		$to{$folder} =~ s/^\Q$common\E/$root/;
	}
	take_files($bin,                   $to{bindir},    'cp');
	take_files(pg_config('pkglibdir'), $to{pkglibdir}, 'ln', '-s');
	take_files(pg_config('sharedir'),  $to{sharedir},  'ln', '-s');
	unlink "$to{sharedir}/extension";
	take_files(pg_config('sharedir') . '/extension',
		"$to{sharedir}/extension", 'ln', '-s');
	return (dirname($to{bindir}), $to{pkglibdir}, "$to{sharedir}/extension");
}

# Build the library with one of its source files changed, by a sub that takes
# the old text and returns the new one; returns the path of the library.
sub build_library
{
	my ($file, $change) = @_;
	my $top = "$FindBin::RealBin/../..";
	my $dir = PostgreSQL::Test::Utils::tempdir('library');

	# Objects that are there already, and not older than their sources, are
	# used.
	system_or_bail('cp', '-pR',
		(map { "$top/$_" } 'Makefile', 'sno.control', 'sql', 'src'), $dir);
	my $text = slurp_file("$dir/$file");
	unlink "$dir/$file";
	append_to_file("$dir/$file", $change->($text));
	system_or_bail('make', '-s', '-C', $dir, 'with_llvm=no', 'sno.so');
	return "$dir/sno.so";
}

# The file that defines the layout of shared memory, and a sub that changes it
# to another layout: arguments of build_library().
sub other_layout
{
	return (
		'src/shared/shmem.c',
		sub {
			my ($text) = @_;
			$text =~ s/^(#define SNO_SHMEM_VERSION\s+)\d+$/${1}999/m
			  or die 'shmem.c defines no layout version';
			return $text;
		});
}

# Upgrade a cluster that is stopped, whose programs are in $old_bin, to another
# one.
sub upgrade_cluster
{
	my ($old, $old_bin, $new, $name) = @_;

	# pg_upgrade writes its logs where it runs.
	my $folder = Cwd::getcwd();
	chdir PostgreSQL::Test::Utils::tempdir('upgrade')
	  or die "could not change the folder: $!";
	command_ok(
		[   'pg_upgrade', '--no-sync',
			'-d',         $old->data_dir,
			'-D',         $new->data_dir,
			'-b',         $old_bin,
			'-B',         pg_config('bindir'),
			'-s',         $new->host,
			'-p',         $old->port,
			'-P',         $new->port ],
		$name);
	chdir $folder or die "$folder: $!";
	return;
}

my $query = q{
SET search_path = pg_catalog;
-- A row of a system catalog, with names in place of OIDs.  Parsed trees are left
-- out, because further functions show them in words, and so is what changes from
-- database to database.
CREATE FUNCTION pg_temp.name_of(class regclass, id oid) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN id <> 0 THEN type || ' ' || identity END FROM pg_identify_object(class, id, 0)
$$;
CREATE FUNCTION pg_temp.resolved(class regclass, r jsonb) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_object_agg(key, CASE WHEN key = 'attoptions' THEN
			jsonb_path_query_array(value, '$[*] ? (!(@ starts with "pg_attver="))')
		WHEN pktable IS NULL OR value::text !~ '\d' THEN value
		WHEN is_array THEN (SELECT jsonb_agg(pg_temp.name_of(pktable, v::oid)) FROM jsonb_array_elements_text(value) AS v)
		WHEN value::text ~ '^"\d+"$' THEN to_jsonb(pg_temp.name_of(pktable, (r ->> key)::oid))
		ELSE value END)
	FROM jsonb_each(r) LEFT JOIN pg_get_catalog_foreign_keys() ON fktable = class AND fkcols = ARRAY[key]
	WHERE key NOT IN ('oid', 'relfilenode', 'relpages', 'reltuples', 'relallvisible', 'relallfrozen',
		'relfrozenxid', 'relminmxid', 'attcacheoff', 'atthasmissing', 'attmissingval', 'extversion')
	AND key NOT IN (SELECT attname FROM pg_attribute WHERE attrelid = class AND atttypid = 'pg_node_tree'::regtype)
$$;
CREATE FUNCTION pg_temp.row_of(class regclass, id oid, key text DEFAULT 'oid') RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	result jsonb;
BEGIN
	EXECUTE format('SELECT jsonb_agg(pg_temp.resolved(%L, to_jsonb(t)) ORDER BY t.*::text) FROM %s AS t WHERE %I = %s',
		class, class, key, id) INTO result;
	RETURN result;
END $$;
-- The extension, its members, and the objects that belong to these
CREATE TEMP TABLE part AS
WITH RECURSIVE part AS (
	SELECT 'pg_extension'::regclass::oid AS classid, oid AS objid FROM pg_extension WHERE extname = 'EXTENSION'
	UNION
	SELECT d.classid, d.objid FROM pg_depend AS d JOIN part AS p ON (d.refclassid, d.refobjid) = (p.classid, p.objid)
	WHERE d.deptype = ANY (CASE p.classid WHEN 'pg_extension'::regclass THEN '{e}' ELSE '{a,i}' END::"char"[]))
SELECT * FROM part;
SELECT o.type || ' ' || o.identity, w.what, w.value
FROM part, pg_identify_object(classid, objid, 0) AS o, LATERAL (
	SELECT 'is', pg_temp.row_of(classid, objid)::text
	UNION ALL SELECT 'aggregates', pg_temp.row_of('pg_aggregate', objid, 'aggfnoid')::text WHERE classid = 'pg_proc'::regclass
	UNION ALL SELECT 'takes', pg_get_function_arguments(objid) WHERE classid = 'pg_proc'::regclass
	UNION ALL SELECT 'does', pg_get_function_sqlbody(objid) WHERE classid = 'pg_proc'::regclass
	UNION ALL SELECT 'demands', pg_get_constraintdef(objid) WHERE classid = 'pg_constraint'::regclass
	UNION ALL SELECT 'gives', pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE classid = 'pg_attrdef'::regclass AND oid = objid
	UNION ALL SELECT 'indexes', pg_get_indexdef(objid) WHERE classid = 'pg_class'::regclass
	UNION ALL SELECT 'has column ' || attname, pg_temp.resolved('pg_attribute', to_jsonb(a))::text FROM pg_attribute AS a
		WHERE classid = 'pg_class'::regclass AND attrelid = objid AND attnum > 0
	UNION ALL SELECT 'needs', r.type || ' ' || r.identity || ' ' || deptype::text FROM pg_depend AS d, pg_identify_object(refclassid, refobjid, refobjsubid) AS r
		WHERE d.classid = part.classid AND d.objid = part.objid
	UNION ALL SELECT 'comment ' || objsubid, description FROM pg_description AS d WHERE d.classoid = part.classid AND d.objoid = part.objid
	UNION ALL SELECT 'privileges at first ' || objsubid, privtype::text || initprivs::text FROM pg_init_privs AS i WHERE i.classoid = part.classid AND i.objoid = part.objid
	) AS w (what, value)
WHERE w.value IS NOT NULL
ORDER BY 1, 2, 3;
};

# The entries of the extension, sno by default, in the catalogs of a database.  Each line
# has an object, a property and its value.
sub catalog_of
{
	my ($node, $dbname, $extension) = @_;
	$extension //= 'sno';
	my $entries =
	  $node->safe_psql($dbname, $query =~ s/EXTENSION/$extension/r);

	# The name of a toast table has the OID of the table that it belongs to.
	$entries =~ s/\bpg_toast_\d+/pg_toast_n/g;
	return $entries;
}

# The lines that only one of two catalogs has: "-" marks the first, "+" the
# second.
sub differences
{
	my ($before, $after) = @_;
	my %before = map { $_ => 1 } split /\n/, $before;
	my %after  = map { $_ => 1 } split /\n/, $after;
	return join "\n",
	  (map { "- $_" } grep { !$after{$_} } sort keys %before),
	  (map { "+ $_" } grep { !$before{$_} } sort keys %after);
}

1;
