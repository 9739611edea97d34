
# The page doc/flakes.md, word for word: each block is run, and what the page shows after
# it is compared.  The tables that it moves are in use meanwhile.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use TestHelpers;

skip_without_seal();

my $page = slurp_file("$FindBin::RealBin/../../doc/flakes.md");

my $node = new_node('main', conf => q{
TimeZone = 'UTC'
jit = off
autovacuum = off
});
$node->start;
$node->safe_psql($_->[0], $_->[1])
  foreach [ 'postgres', 'CREATE DATABASE limits' ],
  [ 'limits', 'CREATE EXTENSION sno_flakes CASCADE; CREATE EXTENSION sno_seal' ];

#
# The table of layouts: bits, ids a node, and when a generator ends
#
my $rows = 0;
my $limits = open_session($node, 'limits');
$limits->query_safe("SELECT sno_seal_create_key('key')");
while ($page =~
	/^\| [^|]*\| `(\w+)` \| (\S+?)(, node last)? \| (\S+)(?: (?:a|in) (\S+)(?: ms)?)? ?[^|]* \| (\S+) /mg)
{
	my ($layout, $bits, $last, $ids, $unit, $until) = ($1, $2, $3, $4, $5, $6);
	my ($key, $suffix) = ('NULL', '');
	$key    = "'key'" if $layout eq 'randflake';
	$suffix = { boundary => '_uuid', objectid => '_bytea' }->{$layout} // '';
	$limits->query_safe(
		"SELECT sno_flake_create_generator('$layout', '$layout', 0, 1, $key), sno_flake_generate$suffix('$layout')"
	);
	is( $limits->query_safe(
			"SELECT concat_ws('/', time_bits, node_bits, sequence_bits), node_last FROM sno_catalog.sno_flake_layout WHERE name = '$layout'"
		),
		"$bits|" . ($last ? 't' : 'f'),
		"$layout: bits");
	my $shown = $limits->query_safe(
		"SELECT (unit_issued + unit_spare) / CASE WHEN l.unit < 4 THEN 4 / l.unit ELSE 1 END, l.unit
		FROM sno_generators() AS g JOIN sno_catalog.sno_flake_layout AS l ON l.name = g.layout WHERE g.name = '$layout' AND l.unit > 0");
	my %msec = (ms => 1, s => 1000, 10 => 10);
	is($shown, $ids eq 'no' ? '' : "$ids|$msec{$unit}", "$layout: ids a node")
	  if $layout ne 'counter' && $layout ne 'tickets';
	my ($end) = $limits->query_safe(
		"SELECT detail FROM sno_check() WHERE item = 'layouts'") =~
	  /at (\d{4}-\d\d-\d\d)/;
	is($end // '2^56', $until, "$layout: its end");
	$limits->query_safe("SELECT sno_flake_drop_generator('$layout')");
	$rows++;
}
is($rows, $limits->query_safe('SELECT count(*) FROM sno_catalog.sno_flake_layout'),
	'the table has all layouts');
close_session($limits);

#
# The blocks
#
my $statement = '';
my ($users, $output) = (undef, $node->basedir . '/users.out');
while ($page =~ /^```(\w[^\n]*)\n(.*?)\n```$/msg)
{
	my ($kind, $text) = ($1, $2);
	if ($kind eq 'sql')
	{
		if ($text =~ /^-- 1\. New rows/)
		{
			$node->safe_psql('postgres',
				'CREATE TABLE before AS SELECT c.id AS comment_id, p.id AS photo_id, p.title FROM photo AS p LEFT JOIN comment AS c ON c.photo_id = p.id'
			);
			my $script = $node->basedir . '/users.sql';
			append_to_file($script, <<'SQL');
\set n random(1, 100)
INSERT INTO photo (title) VALUES ('during');
INSERT INTO comment (photo_id, body) SELECT id, 'during' FROM photo ORDER BY id LIMIT 1 OFFSET :n;
SQL
			$users = IPC::Run::start(
				[ 'pgbench', '-n', '-c', 2, '-T', 600, '-f', $script, $node->connstr('postgres') ],
				'>&', $output);
			wait_until(
				'the tables are in use',
				sub { $node->safe_psql('postgres', "SELECT count(*) > 100 FROM comment WHERE body = 'during'") eq 't' });
		}
		if ($text =~ /^-- 2\. Old rows/)
		{
			# The loop over comments must end, though there are always new ones: it
			# leaves those that have the new key.
			my ($photos, $comments) = $text =~ /^DO .*?^END \$\$;$/msg;
			$node->safe_psql('postgres', $photos);
			my $new = $node->safe_psql('postgres',
				"INSERT INTO comment (photo_id, body) SELECT min(id), 'new' FROM photo RETURNING xmin");
			$node->safe_psql('postgres', $comments,
				timeout => $PostgreSQL::Test::Utils::timeout_default);
			is($node->safe_psql('postgres', "SELECT xmin FROM comment WHERE body = 'new'"),
				$new, 'a comment that has the new key is not updated');
			next;
		}

		# What doesn't get its locks is run again.
		my ($result, $err);
		wait_until(
			'run to its end: ' . line_of($text),
			sub {
				($result, undef, $err) = $node->psql('postgres', $text, on_error_stop => 1);
				$result == 0 || $err !~ /lock timeout/;
			});
		is($result, 0, 'run: ' . line_of($text)) or diag($err);
		($statement) = $text =~ /([^;]*);\z/;
		$statement =~ s/^(\s*--.*\n)*\s*//;

		if ($text =~ /^-- 4\. The swap/)
		{
			my $now = "SELECT count(*) FROM comment WHERE body = 'during'";
			my $moved = $node->safe_psql('postgres', $now);
			wait_until('the tables are still in use',
				sub { $node->safe_psql('postgres', $now) > $moved + 100 });
			$users->signal('TERM');	# INT may be ignored
			$users->finish;
			unlike(slurp_file($output), qr/ERROR|aborted/,
				'nobody who used the tables met an error');
			check_move();
		}
	}
	elsif ($kind eq 'text result')
	{
		my ($result) = run_command(
			[ 'psql', '-Xq', '-c', $statement, $node->connstr('postgres') ]);
		is($result, "$text\n", 'result: ' . line_of($statement));
	}
	elsif ($kind eq 'text plan')
	{
		is($node->safe_psql('postgres', "VACUUM photo; EXPLAIN (COSTS OFF) $statement"),
			$text, 'plan: ' . line_of($statement));
	}
	elsif ($kind ne 'text')
	{
		fail("a block of kind $kind");
	}
}

# What was issued is known after the extension is made anew.
my $tickets = $node->safe_psql('postgres', q{SELECT sno_flake_generate('ticket')});
my $photo = $node->safe_psql('postgres',
	q{SELECT max(sno_flake_generate('photo')) FROM generate_series(1, 10000)});
$node->safe_psql('postgres', $_) foreach
  'DROP EXTENSION sno_flakes CASCADE',
  'CREATE EXTENSION sno_flakes',
  q{SELECT sno_flake_create_generator('ticket', 'tickets', 1), sno_flake_create_generator('another', 'instagram', 5)};
is($node->safe_psql('postgres', q{SELECT sno_flake_generate('ticket')}),
	$tickets + 2, 'a counter goes on');
is($node->safe_psql('postgres', qq{SELECT sno_flake_generate('another') > $photo}),
	't', 'a generator of another name goes on with its nodes');

# The first line of a text
sub line_of
{
	return (split /\n/, $_[0])[0];
}

# What the recipe must have kept
sub check_move
{
	is( $node->safe_psql(
			'postgres', q{
SELECT count(*), count(*) FILTER (WHERE p.title = b.title AND (b.comment_id IS NULL OR c.photo_id = p.id))
FROM before AS b JOIN photo AS p ON p.old_id = b.photo_id LEFT JOIN comment AS c ON c.id = b.comment_id}
		),
		'100000|100000',
		'each photo and each comment is still there');
	is( $node->safe_psql(
			'postgres', q{
SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY old_id) AS previous FROM photo WHERE old_id IN (SELECT photo_id FROM before)) AS s
WHERE id <= previous}
		),
		0,
		'the new keys have the order of the old ones');
	is( $node->safe_psql(
			'postgres', q{
SELECT count(*) FROM photo
WHERE old_id IN (SELECT photo_id FROM before) AND sno_flake_timestamp(old_id, 'instagram') NOT BETWEEN sno_timestamp(id) AND sno_timestamp(id) + interval '3 ms'}
		),
		0,
		'and their times');
	is( $node->safe_psql(
			'postgres', q{
SELECT count(DISTINCT sno_partition(id)) FROM photo WHERE old_id IN (SELECT photo_id FROM before)}
		),
		1,
		'they are of one partition');
	return;
}

$node->stop;
done_testing();
