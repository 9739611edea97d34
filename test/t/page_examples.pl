
# Every example of the pages is run, and every link is followed.
#
# The blocks of SQL of a page are run in order by psql, in a database of their own, `app`.
# Those of sh and cron are run by bash, with that database as the default.  If a block of
# text is next, it is what the block shows, errors included.  Else there must be no error.
# After "text varies", ids, times and uuids may differ.  A comment hides blocks that only
# prepare something from readers.
#
# Other blocks are run by the test that a comment of the page names by their language, or
# by all that stands after ```, for example <!-- sql: test/t/page_time.pl -->.  That test
# names the page.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Find qw(find);
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run ();
use TestHelpers;

skip_without_seal();

my $root = abs_path("$FindBin::RealBin/../..");

# The pages, by path
my %page;
find(
	{   no_chdir => 1,
		wanted   => sub {
			my $path = s{^\Q$root\E/?}{}r;
			$File::Find::prune = 1
			  if -d && $path =~ m{^(\.|debian$|tmp_check)|/node_modules$};
			$page{$path} = slurp_file($_) if /\.md$/;
		} },
	$root);

# Nobody runs blocks of these kinds.
my %is_data = map { $_ => 1 } qw(text ini);

my $node = new_node('main', allows_streaming => 'logical', conf => q{
TimeZone = 'UTC'
jit = off
autovacuum = off
});
$node->start;

# What runs blocks of these languages.  A line for cron begins with five fields that
# tell when.
my @bash = ('bash', '-eu', '-o', 'pipefail');
my %program = (
	sql  => [ 'psql', '-Xq', '-P', 'footer=off' ],
	sh   => \@bash,
	cron => [ @bash, '-c', q{sed -E 's/^([^ ]+ +){5}//' | bash} ]);

# What a block shows.  psql prints its errors, and ends with 0.
sub output_of
{
	my ($language, $block) = @_;
	my $shown;
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'app',
		SNO_SOURCE => $root);
	IPC::Run::run(
		$program{$language}, '<', \$block, '>&', \$shown,
		init => sub { chdir $node->basedir },
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default))
	  or $shown .= "\nERROR: the command fails\n";
	return $shown;
}

# A text without what doesn't matter: blanks at the ends of lines and empty lines at
# the end.  If it varies, ids, times and uuids, and with them the widths of columns.
sub normal
{
	my ($text, $varies) = @_;
	if ($varies)
	{
		$text =~ s/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/uuid/g;
		$text =~ s/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00\b/time/g;
		$text =~ s/\b[2-9a-x]{16}\b/id/g;
		$text =~ s/^ +//mg;
		$text =~ s/( |-)+/$1/g;
	}
	$text =~ s/[ \t]+$//mg;
	$text =~ s/\n*\z/\n/;
	return $text;
}

# What is wrong with the examples of a page.
sub wrong_examples
{
	my ($path, $text) = @_;
	my @wrong;

	my %runner = $text =~ /^<!-- (\w[^:\n]*): (\S+) -->$/mg;
	foreach my $test (sort values %runner)
	{
		push @wrong, "$test does not name the page"
		  unless -e "$root/$test" && index(slurp_file("$root/$test"), $path) >= 0;
	}
	push @wrong, 'a block that is indented'
	  if $text =~ /^[ \t]+```/m
	  || $text =~ s/^```.*?^```$//msgr =~ /^\s*\n {4}/m;

	$node->safe_psql('postgres', 'CREATE DATABASE app');
	$node->safe_psql('app', 'CREATE EXTENSION sno')
	  unless $text =~ /^CREATE EXTENSION sno;/m;

	# What was run last, and what it shows, until the next block is looked at
	my ($code, $shown);
	my $expect_nothing = sub {
		push @wrong, "error of:\n$code$shown"
		  if defined $shown && $shown =~ /^ERROR: /m;
		undef $shown;
	};
	while ($text =~ /^```([^\n]*)\n(.*?)^```$/msg)
	{
		my ($kind, $block) = ($1, $2);
		my ($language) = split ' ', $kind;
		if (!defined $language)
		{
			push @wrong, "a block without a language:\n$block";
		}
		elsif ($language eq 'text' && defined $shown)
		{
			my $varies = $kind eq 'text varies';
			push @wrong, "instead of this output:\n$block$code" . "shows:\n$shown"
			  if normal($shown, $varies) ne normal($block, $varies);
			undef $shown;
			next;
		}
		$expect_nothing->();
		next
		  if !defined $language
		  || $is_data{$language}
		  || defined($runner{$kind} // $runner{$language});
		if (exists $program{$kind})
		{
			($code, $shown) = ($block, output_of($kind, $block));
		}
		else
		{
			push @wrong, "nobody runs a block of \"$kind\"";
		}
	}
	$expect_nothing->();

	$node->safe_psql('postgres', 'DROP DATABASE app');
	$node->safe_psql(
		'postgres', q{
SELECT format('DROP ROLE %I', rolname) FROM pg_roles WHERE oid <> 10 AND rolname !~ '^pg_' \gexec
ALTER SYSTEM RESET ALL});
	return @wrong;
}

# The anchors of a page's headings, as GitHub makes them
sub anchors_of
{
	my ($text) = @_;
	$text =~ s/^```.*?^```$//msg;
	my (%anchors, %count);
	while ($text =~ /^#+ +(.*)$/mg)
	{
		(my $anchor = lc $1) =~ s/\]\([^)]*\)//g;
		$anchor =~ s/[^\w\- ]//g;
		$anchor =~ tr/ /-/;
		$anchors{$anchor . ($count{$anchor} ? "-$count{$anchor}" : '')} = 1;
		$count{$anchor}++;
	}
	return \%anchors;
}

# The links of a page that lead nowhere, and pages that it names in passing but that
# don't exist.  A link to a folder leads nowhere on the site.
sub wrong_links
{
	my ($path, $text) = @_;
	my @wrong;
	my $anchors = anchors_of($text);
	$text =~ s/^```.*?^```$//msg;
	push @wrong, grep { !exists $page{$_} } $text =~ m{`((?:doc|src|clients)/[\w./-]+\.md)`}g;
	$text =~ s/`[^`\n]*`/code/g;
	while ($text =~ /\]\(([^)\s]+)\)/g)
	{
		my $link = $1;
		next if $link =~ /^(https?|mailto):/;
		my ($file, $anchor) = $link =~ /^([^#]*)#?(.*)$/;
		my $target = abs_path(dirname("$root/$path") . "/$file");
		push @wrong, $link and next
		  unless defined $target && $target =~ /^\Q$root\E(\/|\z)/ && ($file eq '' || -f $target);
		my $there = $file eq '' ? $anchors : anchors_of($page{ substr($target, length "$root/") } // '');
		push @wrong, $link
		  if $anchor ne '' && !$there->{$anchor};
	}
	return @wrong;
}

#
# Pages that are wrong
#

my $one = "```sql\nSELECT 1 AS n;\n```\n";
is_deeply([ wrong_examples('page.md', "$one```text\n n\n---\n 1\n```\n") ],
	[], 'a page that is right');
foreach my $case (
	[ 'another output',   "$one```text\n n\n---\n 2\n```\n", qr/^instead of this output:\n n\n---\n 2\n/ ],
	[ 'an error',         "```sql\nSELECT 1 / 0;\n```\n$one", qr/^error of:\nSELECT 1 \/ 0;\n/ ],
	[ 'an error at last', "$one```sql\nSELECT 1 / 0;\n```\n", qr/^error of:\nSELECT 1 \/ 0;\n/ ],
	[ 'an error of sh',   "```sh\nprintf 1; false\n```\n$one", qr/^error of:\nprintf 1; false\n/ ],
	[ 'an error of cron', "```cron\n17 * * * *  psql -c 'SELECT 1 / 0'\n```\n", qr/^error of:\n17/ ],
	[ 'an error that is missing', "$one```text\nERROR:  division by zero\n```\n", qr/^instead of/ ],
	[ 'a block that nobody runs', "```python\npass\n```\n",         qr/^nobody runs a block of "python"/ ],
	[ 'SQL of another kind',      "```sql other\nSELECT;\n```\n",   qr/^nobody runs a block of "sql other"/ ],
	[ 'a block without a language', "```\npass\n```\n",             qr/^a block without a language/ ],
	[ 'a block that is indented',   "- a\n  ```sql\n  SELECT;\n  ```\n", qr/^a block that is indented/ ],
	[ 'indented lines',          "Run\n\n    SELECT;\n", qr/^a block that is indented/ ],
	[ 'a test that does not exist', "<!-- python: test/t/none.pl -->\n", qr{^test/t/none.pl does not name} ],
	[ 'a test of other pages', "<!-- python: test/t/crash_load.pl -->\n", qr{^test/t/crash_load.pl does not name} ])
{
	my ($name, $text, $wanted) = @$case;
	my @wrong = wrong_examples('page.md', $text);
	ok(@wrong == 1 && $wrong[0] =~ $wanted, "found: $name")
	  or diag(join "\n", @wrong);
}
is_deeply(
	[   wrong_links(
			'doc/page.md',
			"# Here `it` is\n[right](#here-it-is) [1](#there) [2](none.md) [3](../README.md#nowhere) [4](../src) `doc/page.md` `src/README.md` `doc/none.md` `[code](none.md)`\n"
		) ],
	[ 'doc/page.md', 'doc/none.md', '#there', 'none.md', '../README.md#nowhere', '../src' ],
	'found: links that lead nowhere');

#
# Pages that messages name
#

find(
	sub {
		return if !/\.[ch]$/;
		my ($name, $text) = ($File::Find::name =~ s{^\Q$root\E/}{}r, slurp_file($_));
		my @wrong;
		while ($text =~ m{\b((?:doc|clients)/[\w./-]+\.md)#([\w-]+)}g)
		{
			push @wrong, "$1#$2" if !defined $page{$1} || !anchors_of($page{$1})->{$2};
		}
		is("@wrong", '', "pages that messages of $name name") if $text =~ /\.md#/;
	},
	"$root/src");

#
# The pages
#

foreach my $path (sort keys %page)
{
	is(join("\n", wrong_links($path, $page{$path})), '', "links of $path");
	next unless $path =~ m{^(README\.md|doc/.*|clients/.*)$};
	my @wrong = wrong_examples($path, $page{$path});
	is(scalar @wrong, 0, "examples of $path") or diag(join "\n", @wrong);
}

$node->stop;
done_testing();
