
# doc/reference.md and the extensions agree: each function, operator, cast, operator class,
# setting, table, column and item is on the page as it is in the database, and the page has
# no other.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

skip_without_seal();

my $page = slurp_file("$FindBin::RealBin/../../doc/reference.md");

my $node = start_node('main', conf => "TimeZone = 'UTC'", sql => 'CREATE EXTENSION sno_flakes; CREATE EXTENSION sno_feeds; CREATE EXTENSION sno_seal; CREATE EXTENSION sno_registry');

# The rows of a query.  In it, "member" are the objects of all extensions.
sub rows_of
{
	my ($query) = @_;
	return sort split /\n/, $node->safe_psql(
		'postgres', qq{
LOAD 'sno';
WITH member AS (
	SELECT d.classid, d.objid, e.extname FROM pg_depend AS d JOIN pg_extension AS e ON (d.refclassid, d.refobjid) = (e.tableoid, e.oid)
	WHERE d.deptype = 'e' AND e.extname LIKE 'sno%')
$query});
}

# The section of a heading
sub section_of
{
	my ($heading) = @_;
	my ($section) = $page =~ /^#+ \Q$heading\E\n(.*?)(?=^#|\z)/ms or die "no section $heading";
	return $section;
}

# The first cells of the rows of tables, without the marks of code
sub cells_of
{
	my ($text, $count) = @_;
	my @rows;
	while ($text =~ /^\| (`.*\|)$/mg)
	{
		my @cells = split / *\| */, $1, -1;
		push @rows, join ' | ', map { s/`//gr } @cells[ 0 .. $count - 1 ];
	}
	return sort @rows;
}

# The columns in the entry of a table or function, each with its type
sub columns_of
{
	my ($name) = @_;
	my ($table) = section_of($name) =~ /(^\| column .*?)^$/ms;
	return map { "$name | $_" } cells_of($table // '', 2);
}

sub agree
{
	my ($wanted, $described, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(join("\n", @$described), join("\n", @$wanted), $what);
}

#
# Functions
#

# A signature has the arguments that a caller gives.  What PostgreSQL adds to defaults is
# left out, and its long name of timestamptz.
my @signatures = sort map {
	s/timestamp with time zone/timestamptz/gr
	  =~ s/DEFAULT (NULL|'[^']*')::\w+/DEFAULT $1/gr =~ s/,? ?\bOUT .*\)/)/r
	  =~ s/\bIN //gr =~ s/TABLE\(.*/SETOF record/r
} rows_of(q{
SELECT CASE p.prokind WHEN 'p' THEN 'CALL ' ELSE '' END
	|| format('%s(%s)', p.proname, pg_get_function_arguments(p.oid)) || coalesce(' → ' || pg_get_function_result(p.oid), '')
FROM member JOIN pg_proc AS p ON (classid, objid) = (p.tableoid, p.oid)
WHERE p.pronamespace NOT IN ('sno_catalog'::regnamespace, 'sno_feeds'::regnamespace, 'sno_registry'::regnamespace)});
agree(\@signatures, [ sort $page =~ /^- `((?:CALL )?\w+\(.*)`$/mg ],
	'functions that users call');

# Each has an entry with an example, and is in the index.  Those that differ only in
# their types share an entry.
my ($index) = $page =~ /\A(.*?)^## /ms;
my %names = map { /(\w+)\(/ => 1 }
  map { /^sno_flake/ ? s/_(uuid|bytea)\(/(/r : $_ } @signatures;
foreach my $name (sort keys %names)
{
	like(section_of($name), qr/^- `(CALL )?$name\(.*^```sql\n/ms, "$name has an example");
	like($index, qr/\[$name\]\(#$name\)/, "$name is in the index");
}

# The extension that an entry names, or else its part of the page
sub extension_of
{
	my ($heading) = @_;
	my ($part, $entry) = $page =~ /^(.*)^### \Q$heading\E\n(.*?)(?=^#|\z)/ms
	  or die "no entry $heading";
	$part =~ s/.*^(?=## )//ms;
	$part =~ s/^###.*//ms;
	my ($extension) = "$entry$part" =~ /^\*Extension `(\w+)`\*$/m;
	return $extension // 'none';
}
agree(
	[   rows_of(q{
SELECT DISTINCT format('%s | %s', CASE WHEN extname = 'sno_flakes' THEN regexp_replace(proname, '_(uuid|bytea)$', '') ELSE proname END, extname)
FROM member JOIN pg_proc AS p ON (classid, objid) = (p.tableoid, p.oid)
WHERE proname IN (} . join(', ', map { "'$_', '${_}_uuid', '${_}_bytea'" } sort keys %names) . q{)}) ],
	[ sort map { "$_ | " . extension_of($_) } keys %names ],
	'extensions of functions');

# Columns of what they return
agree(
	[   rows_of(q{
SELECT DISTINCT format('%s | %s | %s', p.proname, a.name, CASE a.type WHEN 'timestamptz'::regtype THEN 'timestamptz' ELSE a.type::regtype::text END)
FROM member JOIN pg_proc AS p ON (classid, objid) = (p.tableoid, p.oid),
	unnest(p.proargnames, p.proargmodes, p.proallargtypes) AS a (name, mode, type)
WHERE a.mode IN ('o', 't') AND p.pronamespace NOT IN ('sno_catalog'::regnamespace, 'sno_feeds'::regnamespace, 'sno_registry'::regnamespace)}) ],
	[ sort map { columns_of($_) } keys %names ],
	'columns of results');

#
# Operators, casts, operator classes
#

agree(
	[   rows_of(q{
SELECT format('%s %s %s | %s', oprleft::regtype, oprname, oprright::regtype, oprresult::regtype)
FROM member JOIN pg_operator AS o ON (classid, objid) = (o.tableoid, o.oid)}) ],
	[ cells_of(section_of('Operators'), 2) ],
	'operators');
agree(
	[   map { s/timestamp with time zone/timestamptz/r } rows_of(q{
SELECT format('%s AS %s', castsource::regtype, casttarget::regtype)
FROM member JOIN pg_cast AS c ON (classid, objid) = (c.tableoid, c.oid)}) ],
	[ cells_of(section_of('Casts'), 1) ],
	'casts');
agree(
	[   rows_of(q{
SELECT format('%s | %s | %s', amname, opcname, CASE WHEN opcdefault THEN 'default' END)
FROM member JOIN pg_opclass AS o ON (classid, objid) = (o.tableoid, o.oid) JOIN pg_am AS a ON a.oid = opcmethod}) ],
	[ sort map { s/ \| default.*/ | default/r =~ s/(\| \w+ \| )(?!default).*/$1/r } cells_of(section_of('Indexes'), 3) ],
	'operator classes');

#
# Settings
#

agree(
	[   rows_of(q{
SELECT format('%s | %s | %s | %s | %s | %s', name, vartype, unit, boot_val, min_val || ' to ' || max_val, context)
FROM pg_settings WHERE name LIKE 'sno.%'}) ],
	[ cells_of(section_of('Settings'), 6) ],
	'settings');
like(section_of($_), qr/^```sql\n.*\Q$_\E /ms, "$_ has an example")
  foreach rows_of(q{SELECT name FROM pg_settings WHERE name LIKE 'sno.%'});

#
# Tables and items
#

agree(
	[   map { s/timestamp with time zone/timestamptz/r } rows_of(q{
SELECT format('%s | %s | %s', c.oid::regclass, attname, format_type(atttypid, atttypmod))
FROM member JOIN pg_class AS c ON (classid, objid) = (c.tableoid, c.oid) JOIN pg_attribute ON attrelid = c.oid
WHERE relkind IN ('r', 'v') AND attnum > 0 AND NOT attisdropped}) ],
	[ sort map { columns_of($_) } $page =~ /^### (sno_(?:catalog|registry)\.\w+)$/mg ],
	'columns of tables');
agree(
	[   rows_of(q{
SELECT format('%s | %s', c.oid::regclass, extname)
FROM member JOIN pg_class AS c ON (classid, objid) = (c.tableoid, c.oid) WHERE relkind IN ('r', 'v')}) ],
	[ sort map { "$_ | " . extension_of($_) } $page =~ /^### (sno_(?:catalog|registry)\.\w+)$/mg ],
	'extensions of tables');
agree(
	[ rows_of('SELECT item FROM sno_check()') ],
	[ cells_of(section_of('sno_check') =~ /(^\| item \| not.*?)^$/ms, 1) ],
	'items of sno_check()');

#
# SQLSTATEs
#

my %has_row  = map { $_ => 1 } cells_of(section_of('Errors'), 1);
my $comments = join "\n", rows_of(q{
SELECT replace(d.description, E'\n', ' ') FROM member JOIN pg_description AS d ON (classid, objid) = (d.classoid, d.objoid)});
my %named = map { $_ => 1 } "$comments$page" =~ /\b((?:0A|22|23|25|2B|39|42|53|55|XX)[0-9A-Z]{3})\b/g;
agree([], [ grep { !$has_row{$_} } sort keys %named ],
	'the table has each SQLSTATE that the page or a comment names');

$node->stop;
done_testing();
