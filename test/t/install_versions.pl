# Features that only some versions of PostgreSQL have: soft errors of input
# since 16, COPY ... ON_ERROR and infinite intervals since 17, skip scans and
# keys WITHOUT OVERLAPS and extensions in folders of their own since 18.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use File::Path qw(make_path);
use Registry;
use SnoInstall;
use TestHelpers;

my $node = start_node('main', sql => q{
	CREATE FUNCTION id(n int) RETURNS sno IMMUTABLE LANGUAGE sql
		AS $$ SELECT sno_make(timestamptz '2026-01-01 00:00+00', 1, n / 65536, n % 65536) $$;
});

my $version = $node->pg_version;

# The result of the last one of some queries.
sub answer
{
	my ($queries) = @_;

	return $node->safe_psql('postgres', "SET TimeZone = 'UTC'; $queries");
}

# The SQLSTATE of the error that a query raises.
sub sqlstate
{
	my ($query) = @_;
	my ($status, $out, $err) =
	  $node->psql('postgres', "\\set VERBOSITY sqlstate\n$query");

	return $err =~ /ERROR:\s+(\w{5})/ ? $1 : "none: $out";
}

# One script serves all versions: the operator families have the functions that
# the server can use.
is( answer(
		q{SELECT string_agg(format('%s %s %s', amname, amprocnum, amproc), ', ' ORDER BY amname)
		FROM pg_amproc JOIN pg_opfamily f ON f.oid = amprocfamily JOIN pg_am m ON m.oid = opfmethod
		WHERE opfname = 'sno_ops' AND (amname, amprocnum) IN (('btree', 6), ('gist', 12))}
	),
	$version >= 18
	? 'btree 6 sno_catalog.sno_skip_support, gist 12 gist_translate_cmptype_common'
	: '',
	'the operator families have the support functions of this version');
is( answer(
		q{SELECT count(*) FROM pg_opclass WHERE opcname ~ '^sno' AND amvalidate(oid)}
	),
	6,
	'the operator classes are valid');
is( answer(
		q{SELECT count(*) FROM pg_proc WHERE proname = 'sno_extend_families'}
	),
	0,
	'the script has dropped its helper function');

if ($version >= 16)
{
	is(answer(q{SELECT pg_input_is_valid('brpk4q72xwf2m63l', 'sno')}),
		't', 'valid input is valid');
	is( answer(
			q{SELECT count(*) FROM unnest('{"",brpk4q72xwf2m63,brpk4q72xwf2m63ll,brpk4q72xwf2m63L,brpk4q72xwf2m6-l}'::text[]) AS t
			WHERE NOT pg_input_is_valid(t, 'sno')}
		),
		5,
		'invalid input is no error of pg_input_is_valid()');
	is( answer(
			q{SELECT * FROM pg_input_error_info('brpk4q72xwf2m63!', 'sno')}),
		'invalid input syntax for type sno: "brpk4q72xwf2m63!"'
		  . '|Character 16 is "!", not one of 2-9 and a-x.||22P02',
		'pg_input_error_info() tells what is wrong with the input');
	is( answer(q{SELECT pg_input_is_valid('{brpk4q72xwf2m63l,x}', 'sno[]')}),
		'f', 'invalid input within an array is invalid');
	is( answer(
			q{CREATE DOMAIN order_id AS sno CHECK (sno_meta(VALUE) = 1);
			SELECT pg_input_is_valid(id(1)::text, 'order_id'), pg_input_is_valid('brpk4q72xwf2m63l', 'order_id'), pg_input_is_valid('x', 'order_id')}
		),
		't|f|f',
		'a domain over ids has its check as well');
}

if ($version >= 17)
{
	$node->safe_psql('postgres', 'CREATE TABLE target (n int, id sno)');
	$node->safe_psql(
		'postgres', qq{
SET client_min_messages = error;
COPY target FROM STDIN (ON_ERROR ignore);
1	2222222222222222
2	nonsense
3	222222222222222!
4	xxxxxxxxxxxxxxxx
\\.
});
	is(answer(q{SELECT string_agg(n::text, ' ' ORDER BY n) FROM target}),
		'1 4', 'COPY (ON_ERROR ignore) leaves out rows with invalid ids');

	$node->safe_psql(
		'postgres', q{
		CREATE TABLE event AS SELECT sno_make(timestamptz '2026-01-01' + n * interval '1 day', 1, 0) AS id FROM generate_series(1, 3) AS n
		UNION SELECT sno_zero() UNION SELECT sno_max('infinity')});
	is( answer(
			q{SELECT array_agg(DISTINCT c) FROM (
			SELECT count(*) OVER (ORDER BY id RANGE BETWEEN 'infinity' PRECEDING AND 'infinity' FOLLOWING) FROM event) AS s (c)}
		),
		'{5}',
		'a frame of infinite intervals holds all rows');
	is( answer(
			q{SELECT array_agg(DISTINCT c) FROM (
			SELECT count(*) OVER (ORDER BY id RANGE BETWEEN 'infinity' FOLLOWING AND UNBOUNDED FOLLOWING) FROM event) AS s (c)}
		),
		'{0}',
		'nothing is an infinite interval away');
	is( sqlstate(
			q{SELECT count(*) OVER (ORDER BY id RANGE '-infinity' PRECEDING) FROM event}
		),
		'22013',
		'an interval of minus infinity is negative');
}

if ($version >= 18)
{
	# Ids next to each other across a carry, both ends of the order, and nulls
	$node->safe_psql(
		'postgres', q{
		CREATE TABLE skipped (id sno, n int);
		INSERT INTO skipped SELECT i, n FROM generate_series(1, 1000) AS n, (
			SELECT id(k) FROM generate_series(65530, 65541) AS k
			UNION ALL SELECT sno_zero() UNION ALL SELECT '2222222222222223' UNION ALL SELECT NULL
			UNION ALL SELECT sno_max('infinity') UNION ALL SELECT 'xxxxxxxxxxxxxxxw') AS s (i);
		CREATE INDEX skipped_id_n ON skipped (id, n);
		CREATE INDEX skipped_desc ON skipped (id DESC, n);
		CREATE INDEX skipped_nulls_first ON skipped (id NULLS FIRST, n);
		VACUUM ANALYZE skipped});

	my $found = sub {
		my ($settings, $where, $order) = @_;
		return answer(
			"SET enable_bitmapscan = off; $settings; SELECT string_agg(coalesce(id::text, '-'), ' ') "
			  . "FROM (SELECT id FROM skipped WHERE $where ORDER BY id $order) AS s"
		);
	};
	foreach my $where (
		'n = 500',
		'n IN (7, 8)',
		'n = 500 AND id > id(65533)',
		q{n = 500 AND id BETWEEN '2222222222222223' AND id(65537)},
		'n = 1001',
		'n = 500 AND id IS NOT NULL')
	{
		foreach
		  my $order ('ASC', 'DESC NULLS LAST', 'DESC', 'ASC NULLS FIRST')
		{
			is( $found->(
					'SET enable_seqscan = off; SET enable_sort = off',
					$where, $order),
				$found->(
					'SET enable_indexscan = off; SET enable_indexonlyscan = off',
					$where,
					$order),
				"skip scan finds what a table scan finds: $where, $order");
		}
	}

	my $searches = sub {
		my $plan = answer(
			q{SET enable_seqscan = off; SET enable_bitmapscan = off;
			EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY OFF)
			SELECT n FROM skipped WHERE n = 500 AND id BETWEEN id(65530) AND id(65541)}
		);
		return $plan =~ /Index Searches: (\d+)/ ? $1 : $plan;
	};
	is($searches->(), 12,
		'a skip scan searches the index once for each of twelve ids');
	$node->safe_psql('postgres',
		'ALTER OPERATOR FAMILY sno_ops USING btree DROP FUNCTION 6 (sno, sno)'
	);
	cmp_ok($searches->(), '>', 12,
		'without skip support there are more searches');

	# A key of an id and its period of validity
	$node->safe_psql(
		'postgres', q{
		CREATE TABLE price (id sno, valid tstzrange, amount int, PRIMARY KEY (id, valid WITHOUT OVERLAPS));
		CREATE TABLE sale (id sno, at tstzrange, UNIQUE (id, at WITHOUT OVERLAPS),
			FOREIGN KEY (id, PERIOD at) REFERENCES price (id, PERIOD valid));
		INSERT INTO price VALUES (id(1), '[2026-01-01,2026-02-01)', 10), (id(1), '[2026-02-01,2026-03-01)', 11),
			(id(2), '[2026-01-15,2026-02-15)', 20);
		INSERT INTO sale VALUES (id(1), '[2026-01-20,2026-02-10)')});
	is( sqlstate(
			q{INSERT INTO price VALUES (id(1), '[2026-02-15,2026-04-01)', 12)}
		),
		'23P01',
		'periods of one id may not overlap');
	is( sqlstate(
			q{INSERT INTO sale VALUES (id(2), '[2026-02-10,2026-02-20)')}),
		'23503',
		'periods of the id must cover the foreign key');
	is(sqlstate(q{DELETE FROM price WHERE id = id(1) AND amount = 11}),
		'23503', 'a period that a foreign key needs cannot be deleted');
	is( answer(
			q{SET enable_seqscan = off;
			SELECT amount FROM price WHERE id = id(1) AND valid @> timestamptz '2026-02-02'}
		),
		11,
		'a row is found by id and time');
}

$node->stop;

# Since 18, an extension may be in a folder of its own.  This one alone is searched, as
# doc/operations.md tells but without the server's own folders: the libraries that other
# libraries and workers load are there, too.
SKIP:
{
	skip 'before 18, extensions are in the folder of the server', 4 if $version < 18;
	my $folder  = PostgreSQL::Test::Utils::tempdir('apart');
	my ($settings) = slurp_file("$FindBin::RealBin/../../doc/operations.md") =~
	  /^```ini\n(extension_control_path = .*?)^```/ms;
	make_path("$folder/share/extension", "$folder/lib");
	system_or_bail('cp', glob(pg_config('sharedir') . '/extension/sno*'), "$folder/share/extension");
	system_or_bail('cp', glob(pg_config('pkglibdir') . '/{sno*,plpgsql}.so'), "$folder/lib");
	$settings =~ s/:\$(system|libdir)//g;
	$settings =~ s|/opt/sno|$folder|g;

	my $registry = Registry->new('registry', '1024, 2047, 16');
	my $apart    = new_node('apart', conf => $settings . $registry->settings);
	$apart->start;
	is( $apart->psql('postgres', 'CREATE EXTENSION pg_trgm'), 3, 'extensions of the server are not found');
	$apart->safe_psql('postgres', 'CREATE EXTENSION sno_flakes CASCADE; CREATE EXTENSION sno_registry');
	is( $apart->safe_psql('postgres', 'SELECT sno_partition(sno_generate()) BETWEEN 1024 AND 2047'),
		't', 'the registry is asked by a library that is found there');
	skip 'extension sno_seal is not installed', 2 if !-e "$folder/lib/sno_seal.so";
	$apart->safe_psql('postgres', q{CREATE EXTENSION sno_seal; SELECT sno_seal_create_key('url')});
	is( $apart->safe_psql('postgres', q{SELECT sno_unseal(sno_seal(i, 'url'), 'url') = i FROM sno_generate() AS i}),
		't', 'ids are sealed by a library that finds the other one there');
	is( $apart->safe_psql('postgres', q{
			SELECT FROM sno_flake_create_generator('sealed', 'randflake', 5, key => 'url');
			SELECT sno_flake_generate('sealed') IS NOT NULL}),
		't', 'flakes are sealed, too');
	$apart->stop;
	$registry->node->stop;
}
done_testing();
