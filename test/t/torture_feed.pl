
# Readers of a feed while 16 writers insert, the clock steps and the server crashes.  Each
# reader notes what it was given, in the transaction that moves its cursor.  In the
# end, the readers that stop at sno_watermark() have been given each row once.  The
# control, which doesn't stop there, has missed many.
#
# Writers and readers are clients of pgbench.  With TORTURE_MINUTES, rounds go on for
# that time, in an order that TORTURE_SEED gives (script/torture).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FeedStress;
use TestHelpers;
use Torture;

my $torture = Torture->new;
my $node    = start_node('main', conf => q{
max_connections = 60
max_prepared_transactions = 200
max_worker_processes = 16
sno.max_wait = 0
}, clock => $torture, sql => q{
CREATE TABLE feed (id sno PRIMARY KEY DEFAULT sno_generate(), writer text NOT NULL);
CREATE TABLE cursor (reader text PRIMARY KEY, last sno NOT NULL);
CREATE TABLE seen (n bigserial, reader text NOT NULL, id sno NOT NULL);

SELECT sno_create_generator('orders', 700), sno_create_generator('few', 701, 0, 9);
-- If the named generator has to wait after steps of the clock, take another one.
CREATE FUNCTION add_named(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO feed VALUES (sno_generate(0, name), name);
EXCEPTION WHEN configuration_limit_exceeded THEN
	INSERT INTO feed (writer) VALUES ('instead of ' || name);
END $$;

CREATE TABLE source (n integer);
CREATE FUNCTION add_by_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO feed (writer) VALUES ('trigger');
	RETURN NULL;
END $$;
CREATE TRIGGER add_by_trigger AFTER INSERT ON source FOR EACH ROW EXECUTE FUNCTION add_by_trigger();

CREATE TABLE ten AS SELECT generate_series(1, 10) AS n;
ALTER TABLE ten SET (parallel_workers = 2);

-- Somebody else asks for a watermark while a statement runs, and as of another time.
CREATE FUNCTION ask() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	PERFORM sno_watermark() WHERE random() < 0.02;
	RETURN true;
END $$;

-- Note rows of the portal "feed".
CREATE FUNCTION note_fetched(rows integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	feed refcursor := 'feed';
	one sno;
BEGIN
	FOR n IN 1..rows LOOP
		FETCH feed INTO one;
		EXIT WHEN NOT FOUND;
		INSERT INTO seen (reader, id) VALUES ('cursor', one);
		UPDATE cursor SET last = one WHERE reader = 'cursor';
	END LOOP;
END $$;

-- The watermark first, then the rows: a later snapshot shows more.
CREATE FUNCTION read_feed() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	until sno := sno_watermark();
	one sno := last FROM cursor WHERE reader = 'plpgsql';
BEGIN
	FOR one IN SELECT id FROM feed WHERE id > one AND id < until ORDER BY id LIMIT 300 LOOP
		INSERT INTO seen (reader, id) VALUES ('plpgsql', one);
		UPDATE cursor SET last = one WHERE reader = 'plpgsql';
	END LOOP;
END $$;
});

#
# Writers
#
my $add     = sub { "INSERT INTO feed (writer) VALUES ('$_[0]');" };
my @writers = (
	$add->('autocommit') => 30,
	transaction($add->('plain')) => 10,
	transaction(
		$add->('stall') . "\n\\sleep :pause us\n" . $add->('stall')) => 10,
	transaction(
		q{SELECT sno_generate() AS first, sno_generate(3) AS second \gset
\sleep :pause us
INSERT INTO feed VALUES (':second', 'made first'), (':first', 'made first');}
	  ) => 10,
	transaction(
		join "\n",
		$add->('savepoint'),
		'SAVEPOINT a;',
		$add->('rolled back'),
		'\sleep :pause us',
		'ROLLBACK TO a;',
		$add->('savepoint')) => 6,
	transaction(
		"SAVEPOINT a;\nSELECT sno_generate();\nROLLBACK TO a;\n\\sleep :pause us\n"
		  . $add->('after a savepoint')) => 4,
	transaction(
		"SELECT add_named('orders');\n\\sleep :pause us\nSELECT add_named('few');"
	  ) => 10,
	"SELECT add_named('orders');\n" => 8,
	transaction(
		"INSERT INTO feed SELECT sno_generate_many(40), 'many';\n\\sleep :pause us"
	  ) => 4,
	transaction(
		q{SELECT array_agg(id) AS ids FROM sno_generate_many(20, 9) AS id \gset
\sleep :pause us
INSERT INTO feed SELECT unnest(':ids'::sno[]), 'many made first';}
	  ) => 2,
	transaction('INSERT INTO source VALUES (1), (2);') => 8,
	transaction(
		q{SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL parallel_leader_participation = off;
SELECT array_agg(id) AS ids FROM (SELECT sno_generate(n) AS id FROM ten) AS s \gset
\sleep :pause us
INSERT INTO feed SELECT unnest(':ids'::sno[]), 'parallel';}
	  ) => 6);

#
# Readers
#
my $rows  = 'SELECT id FROM feed WHERE id >';
my $last  = "(SELECT last FROM cursor WHERE reader = 'NAME')";
my $below = 'AND id < (SELECT sno_watermark())';
my $scan =
  '-c enable_indexscan=off -c enable_indexonlyscan=off -c enable_bitmapscan=off';

my $get_last = "SELECT last FROM cursor WHERE reader = 'NAME' \\gset\n";

# Each one's mode, settings and script
my %readers = (
	statement =>
	  [ 'simple', '', noting("$rows $last $below ORDER BY id LIMIT 500") ],
	prepared => [
		'prepared', '-c plan_cache_mode=force_generic_plan',
		$get_last . noting("$rows :last::sno $below ORDER BY id")
	],
	direct => [
		'simple', $scan,
		noting("$rows $last AND id < sno_watermark() ORDER BY id")
		  . "\\sleep 50 ms\n"
	],
	'several calls' => [
		'simple', $scan,
		noting(
			"$rows $last AND ask() AND id < sno_watermark() $below AND ask() ORDER BY id"
		  )
		  . "\\sleep 50 ms\n"
	],
	'repeatable read' => [
		'simple', '',
		"\\set pause random(0, 200)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\n$get_last"
		  . "\\sleep :pause ms\n"
		  . noting("$rows ':last' $below ORDER BY id LIMIT 400")
		  . "COMMIT;\n"
	],
	cursor => [
		'simple', '',
		"\\set pause random(0, 50)\nBEGIN;\n$get_last"
		  . "DECLARE feed CURSOR FOR $rows ':last' $below ORDER BY id LIMIT 200;\n"
		  . "\\sleep :pause ms\nSELECT note_fetched(5);\n\\sleep :pause ms\nSELECT note_fetched(1000);\nCOMMIT;\n"
	],
	plpgsql => [ 'simple', '', "SELECT read_feed();\n" ],
	control => [ 'simple', '', noting("$rows $last ORDER BY id") ]);

$node->safe_psql('postgres',
	"INSERT INTO cursor VALUES ('$_', sno_zero())")
  foreach keys %readers;

my $stress = FeedStress->new(
	torture   => $torture,
	node      => $node,
	writers   => \@writers,
	readers   => \%readers,
	meanwhile => sub { });
$stress->run;
$stress->wait_for_reader($_, 'feed') foreach sort keys %readers;
$stress->stop_readers;

my $rows_there = $node->safe_psql('postgres', 'SELECT count(*) FROM feed');
note("$rows_there rows in $stress->{round} rounds");
note(
	$node->safe_psql(
		'postgres',
		q{SELECT string_agg(format('%s: %s', writer, count), ', ' ORDER BY writer)
		FROM (SELECT writer, count(*) FROM feed GROUP BY writer) AS s}));
foreach my $name (sort keys %readers)
{
	my $missed = $stress->check_reader($name, 'feed');

	if ($name eq 'control')
	{
		cmp_ok($missed, '>', $rows_there / 10, "the control missed $missed rows");
	}
	else
	{
		is($missed, 0, "$name: missed no row");
		diag(
			$node->safe_psql(
				'postgres', qq{
SELECT writer, id, sno_timestamp(id), sno_partition(id), xmin,
	(SELECT (n, id, sno_timestamp(id), xmin) FROM seen WHERE reader = '$name' AND id > feed.id ORDER BY id LIMIT 1)
FROM feed WHERE NOT EXISTS (SELECT FROM seen WHERE reader = '$name' AND seen.id = feed.id) ORDER BY id LIMIT 20})
		) if $missed > 0;
	}
}
check_log($node);
$node->stop;
done_testing();
