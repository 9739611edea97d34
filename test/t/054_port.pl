
# The recipe of doc/port.md, word for word, on tables that have rows.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $recipe = slurp_file("$FindBin::RealBin/../../doc/port.md");
my ($create, $move, $look) = $recipe =~ /^```sql\n(.*?)^```$/msg;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "log_statement = none\n");
$node->start;

# The rows are not in the order of their times, and some have the same time.
$node->safe_psql('postgres', "CREATE EXTENSION sno; $create");
$node->safe_psql(
	'postgres', q{
INSERT INTO person (name, created_at)
SELECT 'person ' || n, timestamptz '2023-01-01 00:00+00' + n * 7919 % 1009 * interval '1 day 12.345678 s'
FROM generate_series(1, 1000) AS n;
INSERT INTO message (person_id, body, created_at)
SELECT n * 7 % 1000 + 1, 'message ' || n, timestamptz '2024-01-01 00:00+00' + n * 7919::bigint % 20011 / 2 * interval '37.77777 s'
FROM generate_series(1, 20000) AS n;
CREATE TABLE before AS
SELECT p.id AS person_id, m.id AS message_id, p.name, m.body, m.created_at FROM person AS p JOIN message AS m ON m.person_id = p.id}
);

my $notes   = NotedIds->new;
my $clients = $notes->start_clients($node, 'postgres', clients => 2);
$notes->wait_for_notes($clients);
$node->safe_psql('postgres', $move);
$notes->stop_clients($node, $clients);
$notes->add('moved',
	$node->safe_psql('postgres', "SELECT id FROM $_ ORDER BY id"))
  foreach 'person', 'message';
$notes->check('ids of the present and those of the recipe');

is( $node->safe_psql('postgres', $look),
	"20000|20000\n"
	  . $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM before WHERE created_at >= '2024-01-01 00:00+00' AND created_at < '2024-02-01 00:00+00'"
	  ),
	'the last query of the recipe finds all rows');
is( $node->safe_psql(
		'postgres', q{
SELECT count(*), count(*) FILTER (WHERE (p.old_id, p.name, m.body) = (b.person_id, b.name, b.body))
FROM before AS b JOIN message AS m ON m.old_id = b.message_id JOIN person AS p ON p.id = m.person_id}
	),
	'20000|20000',
	'each message still has its person');
is( $node->safe_psql(
		'postgres', q{
SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY created_at, old_id) AS previous FROM message) AS s
WHERE id <= previous}),
	0,
	'the new keys have the order of the times');
is( $node->safe_psql(
		'postgres',
		'SELECT count(DISTINCT sno_partition(id)) FROM (SELECT id FROM person UNION ALL SELECT id FROM message) AS s'
	),
	1,
	'all new keys are of one partition');
is( $node->safe_psql(
		'postgres', q{
INSERT INTO person (name) VALUES ('new') RETURNING id \gset
INSERT INTO message (person_id, body) VALUES (:'id', 'new'), (:'id', 'newer');
SELECT sno_meta(p.id), min(sno_meta(m.id)), count(*), min(m.id) > (SELECT max(id) FROM message WHERE old_id IS NOT NULL) AS later
FROM message AS m JOIN person AS p ON p.id = m.person_id WHERE m.old_id IS NULL GROUP BY p.id;
DELETE FROM person WHERE id = :'id';
SELECT count(*) FROM message WHERE old_id IS NULL}),
	"1|2|2|t\n0",
	'new rows have keys of the present, and are deleted with their person');
isnt(
	$node->psql(
		'postgres',
		"INSERT INTO message (person_id, body) VALUES (sno_zero(), 'nobody''s')"
	),
	0,
	'a message needs a person');

$node->stop;
done_testing();
