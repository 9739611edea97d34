
# Updates of the extension: after ALTER EXTENSION UPDATE, the catalogs must be
# the same as after CREATE EXTENSION with the new version.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use SnoInstall;
use TestHelpers;

my ($installation, undef, $scripts) = copy_installation();
my $node = new_node('main', install_path => $installation);
$node->start;
my $databases = 0;

# The entries of an extension in a new database, after some commands.
sub catalog_of_after
{
	my ($extension, @commands) = @_;
	my $dbname = 'db' . $databases++;
	$node->safe_psql('postgres', "CREATE DATABASE $dbname");
	$node->safe_psql($dbname,    $_) foreach @commands;
	return catalog_of($node, $dbname, $extension);
}

sub catalog_after { return catalog_of_after('sno', @_); }

#
# Each version that was released
#
my $default = $node->safe_psql('postgres',
	"SELECT default_version FROM pg_available_extensions WHERE name = 'sno'");
my @released =
  map { /sno--([^-]+)\.sql$/ ? $1 : () } glob("$scripts/sno--*.sql");
my $fresh = catalog_after('CREATE EXTENSION sno');

ok((grep { $_ eq $default } @released),
	"the default, $default, has a script");
cmp_ok(scalar(split /\n/, $fresh),
	'>', 500, 'the extension has more than 500 entries');
is( differences(
		$fresh,
		catalog_after(
			'CREATE TABLE other (n integer)',
			'CREATE EXTENSION sno')),
	'',
	'the entries are the same in each database');
foreach my $version (grep { $_ ne $default } @released)
{
	is( differences(
			$fresh,
			catalog_after(
				"CREATE EXTENSION sno VERSION '$version'",
				'ALTER EXTENSION sno UPDATE')),
		'',
		"an update from $version leaves what $default creates");
}

#
# A next version, made up for this test.  If its update forgets one statement,
# the comparison must show it.
#
my @statements = (
	'CREATE FUNCTION sno_next(sno, n integer DEFAULT 1) RETURNS sno LANGUAGE sql IMMUTABLE RETURN sno_with_sequence($1, sno_sequence($1) + n)',
	'ALTER FUNCTION sno_meta(sno) COST 2',
	q{COMMENT ON FUNCTION sno_zero() IS 'another comment'},
	q{COMMENT ON COLUMN sno_catalog.sno_lease.holder IS 'another comment'},
	'REVOKE EXECUTE ON FUNCTION sno_partition(sno) FROM PUBLIC',
	'GRANT SELECT (holder) ON sno_catalog.sno_lease TO PUBLIC',
	'CREATE OPERATOR <<< (FUNCTION = sno_catalog.sno_lt, LEFTARG = sno, RIGHTARG = sno)',
	'ALTER OPERATOR <= (sno, sno) SET (JOIN = neqjoinsel)',
	'ALTER OPERATOR FAMILY sno_ops USING hash ADD FUNCTION 1 (text, text) pg_catalog.hashtext(text)',
	'CREATE CAST (sno AS text) WITH INOUT',
	'ALTER TYPE sno SET (ANALYZE = pg_catalog.array_typanalyze)',
	'CREATE OR REPLACE AGGREGATE min(sno) (SFUNC = sno_catalog.sno_smaller, STYPE = sno, SORTOP = <, PARALLEL = SAFE)',
	'CREATE TABLE sno_catalog.sno_more (id sno PRIMARY KEY, n integer DEFAULT 7)',
	q{SELECT pg_catalog.pg_extension_config_dump('sno_catalog.sno_lease', 'WHERE partition > 0')},
	'ALTER TABLE sno_catalog.sno_lease ADD CHECK (timeline > 0)',
	'ALTER TABLE sno_catalog.sno_lease ALTER COLUMN drifts SET DEFAULT 0',
	'ALTER TABLE sno_catalog.sno_lease ADD COLUMN more integer',
	'ALTER TABLE sno_catalog.sno_lease SET (fillfactor = 50)');

sub write_script
{
	my ($name, @lines) = @_;
	append_to_file("$scripts/$name.sql", join '',
		map { "$_;\n" } @lines);
	return;
}

append_to_file("$scripts/sno--next.sql",
	slurp_file("$scripts/sno--$default.sql"));
write_script('sno--next',           @statements);
write_script("sno--$default--next", @statements);
my $next = catalog_after(q{CREATE EXTENSION sno VERSION 'next'});
isnt(differences($fresh, $next), '',
	'the entries of the next version differ');
is( differences(
		$next,
		catalog_after(
			'CREATE EXTENSION sno',
			q{ALTER EXTENSION sno UPDATE TO 'next'})),
	'',
	'an update to the next version leaves what it creates');

foreach my $n (0 .. $#statements)
{
	write_script("sno--$default--without$n",
		@statements[ grep { $_ != $n } 0 .. $#statements ]);
	my $forgetful = catalog_after('CREATE EXTENSION sno',
		"ALTER EXTENSION sno UPDATE TO 'without$n'");
	isnt(differences($next, $forgetful),
		'', "the comparison shows if this is forgotten: $statements[$n]");
}
my $lost = catalog_after(
	'CREATE EXTENSION sno',
	q{ALTER EXTENSION sno UPDATE TO 'next'},
	'ALTER EXTENSION sno DROP FUNCTION sno_is_zero(sno)');
like(
	differences($next, $lost),
	qr/^- function pg_catalog\.sno_is_zero/m,
	'the comparison shows if a function is no longer a member');

#
# The extension sno_seal
#
SKIP:
{
	my $version = $node->safe_psql('postgres',
		"SELECT default_version FROM pg_available_extensions WHERE name = 'sno_seal'");
	skip 'extension sno_seal is not installed', 1 if $version eq '';

	my @create = ('CREATE EXTENSION sno', 'CREATE EXTENSION sno_seal');
	my $seal = catalog_of_after('sno_seal', @create);
	like($seal, qr/^function pg_catalog\.sno_seal\(pg_catalog\.sno,pg_catalog\.text\)/m,
		'sno_seal seals the type of sno');
	foreach my $old (
		map { /sno_seal--([^-]+)\.sql$/ ? $1 : () } glob("$scripts/sno_seal--*.sql"))
	{
		is( differences(
				$seal,
				catalog_of_after(
					'sno_seal', $create[0],
					"CREATE EXTENSION sno_seal VERSION '$old'",
					"ALTER EXTENSION sno_seal UPDATE TO '$version'")),
			'',
			"sno_seal: an update from $old leaves what $version creates");
	}

	my @more = (
		q{COMMENT ON FUNCTION sno_seal(bigint, text) IS 'another comment'},
		'ALTER TABLE sno_catalog.sno_seal_key ADD COLUMN more integer');
	append_to_file("$scripts/sno_seal--next.sql",
		slurp_file("$scripts/sno_seal--$version.sql"));
	write_script('sno_seal--next',           @more);
	write_script("sno_seal--$version--next", @more);
	my $after = catalog_of_after('sno_seal', $create[0],
		q{CREATE EXTENSION sno_seal VERSION 'next'});
	isnt(differences($seal, $after), '', 'the entries of its next version differ');
	is( differences(
			$after,
			catalog_of_after(
				'sno_seal', @create,
				q{ALTER EXTENSION sno_seal UPDATE TO 'next'})),
		'',
		'an update of sno_seal leaves what its next version creates');
}

$node->stop;
done_testing();
