
# pg_upgrade from an older PostgreSQL.  The environment names its installation
# as for PostgreSQL's own tests, for example oldinstall=/usr/lib/postgresql/15.
# Both installations must have the extension.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use SnoInstall;
use TestHelpers;

plan skip_all => 'oldinstall names no installation to upgrade from'
  unless $ENV{oldinstall};

my $notes = NotedIds->new;

sub new_server
{
	my ($name, $partitions, @options) = @_;
	my $node = new_node($name, @options, extra => [ '--data-checksums', '--locale=C' ], conf => qq{
sno.lease_duration = 1h
sno.partitions = '$partitions'
});
	return $node;
}

# Create the extensions as the owner of the database, who is not a superuser.  Sealing may
# be left out of the build.
my $seals;

sub create_extension
{
	my ($node, $dbname) = @_;
	my @as_owner = (connstr => $node->connstr($dbname) . ' user=owner');
	$node->safe_psql($dbname, 'CREATE EXTENSION sno', @as_owner);
	$seals =
	  $node->psql($dbname, 'CREATE EXTENSION sno_seal', @as_owner) == 0;
	return;
}

# Set the range of partitions, and wait until new sessions have it.
sub set_partitions
{
	my ($node, $dbname, $range) = @_;
	$node->append_conf('postgresql.conf', "sno.partitions = '$range'");
	$node->reload;
	wait_until(
		'the range is set',
		sub {
			$node->safe_psql($dbname, q{LOAD 'sno'; SHOW sno.partitions}) eq
			  $range;
		});
	return;
}

# Make an id; returns its status, the id and the error.
sub generate
{
	my ($node, $dbname) = @_;
	return $node->psql($dbname,
		"\\set VERBOSITY verbose\nSET sno.max_wait = 0; SELECT sno_generate()"
	);
}

#
# The old server: two databases with objects of all kinds that can be built on
# ids.  Each database has partitions of its own, and has leased all of them.
#
my %partitions = (app => '100-103', postgres => '104-107');
my @databases  = sort keys %partitions;
my $old        = new_server('old', '0', install_path => $ENV{oldinstall});
$old->start;
$old->safe_psql('postgres',
	'CREATE ROLE owner LOGIN; ALTER DATABASE postgres OWNER TO owner');
foreach my $dbname (@databases)
{
	$old->safe_psql('postgres', "CREATE DATABASE $dbname OWNER owner")
	  if $dbname ne 'postgres';
	create_extension($old, $dbname);
	$old->safe_psql(
		$dbname, qq{
CREATE TABLE t (id sno PRIMARY KEY DEFAULT sno_generate(1), made_at timestamptz GENERATED ALWAYS AS (sno_timestamp(id)) STORED);
CREATE INDEX t_hash ON t USING hash (id);
CREATE INDEX t_gist ON t USING gist (id);
CREATE INDEX t_minmax ON t USING brin (id) WITH (pages_per_range = 1);
CREATE INDEX t_multi ON t USING brin (id sno_minmax_multi_ops) WITH (pages_per_range = 1);
CREATE INDEX t_bloom ON t USING brin (id sno_bloom_ops) WITH (pages_per_range = 1);
CREATE TABLE log (id sno PRIMARY KEY) PARTITION BY HASH (id);
CREATE TABLE log_0 PARTITION OF log FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE log_1 PARTITION OF log FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE VIEW recent AS SELECT id FROM t WHERE id <@ tstzrange('2026-01-01', NULL)}
	);
	$old->safe_psql($dbname, q{SELECT sno_seal_create_key('key')}) if $seals;
	set_partitions($old, $dbname, $partitions{$dbname});
	my @sessions = map { open_session($old, $dbname) } 1 .. 4;
	foreach my $session (@sessions)
	{
		$notes->add(
			$session,
			$session->query_safe(
				'INSERT INTO t SELECT sno_generate(n % 256) FROM generate_series(1, 5000) AS n RETURNING id'
			));
	}
	close_session($_) foreach @sessions;
	$old->safe_psql($dbname,
		'INSERT INTO log SELECT id FROM t; VACUUM ANALYZE');
}

my $content = q{
SELECT (SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM t),
	(SELECT md5(string_agg(tableoid::regclass || ' ' || id, ',' ORDER BY id)) FROM log),
	(SELECT count(*) FROM recent);
SELECT * FROM sno_catalog.sno_lease
WHERE system_identifier = (SELECT min(system_identifier) FROM sno_catalog.sno_lease WHERE partition BETWEEN 100 AND 107)
ORDER BY partition;
SELECT nspacl, (pg_identify_object(refclassid, refobjid, 0)).identity, privtype, initprivs
FROM pg_namespace AS n
LEFT JOIN pg_depend AS d ON d.classid = 'pg_namespace'::regclass AND d.objid = n.oid AND d.deptype = 'e'
LEFT JOIN pg_init_privs AS p ON p.classoid = 'pg_namespace'::regclass AND p.objoid = n.oid
WHERE nspname = 'sno_catalog'};
$content .= q{; SELECT sno_seal(42, 'key')} if $seals;
my %expected = map { $_ => $old->safe_psql($_, $content) } @databases;
my $leases   = 0;
$leases += $old->safe_psql($_, 'SELECT count(*) FROM sno_catalog.sno_lease')
  foreach @databases;
is($leases, 8, 'the old server has leased all its partitions');
$old->safe_psql('postgres', 'CREATE DATABASE constructs OWNER owner');
create_extension($old, 'constructs');
my $constructs = constructs_with('sno', "'2222222222222222'::sno", "'9q7lkdko263dq225'::sno");
$old->safe_psql('constructs', $constructs);

# A database with feeds, a reader that has handled one of three rows, and a feed of changes
my $next = q{SELECT string_agg(n::text, ' ' ORDER BY id) FROM sno_feed_next(NULL::event, 'mail', 1)};
$old->safe_psql('postgres', 'CREATE DATABASE feeds OWNER owner');
create_extension($old, 'feeds');
my @as_owner = (connstr => $old->connstr('feeds') . ' user=owner');
$old->safe_psql('feeds', 'GRANT ALL ON SCHEMA public TO owner');
$old->safe_psql(
	'feeds', q{
CREATE EXTENSION sno_feeds;
CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_generate(), n integer);
SELECT sno_feed_create('event'), sno_feed_create_reader('event', 'mail');
INSERT INTO event (n) VALUES (1), (2), (3);
CREATE TABLE person (id integer PRIMARY KEY);
CALL sno_feed_create_changes('person');
SELECT sno_feed_create_reader('person', 'copy')}, @as_owner);
wait_until('a reader has a row', sub { $old->safe_psql('feeds', $next, @as_owner) eq '1' });
$old->stop;

#
# The upgrade
#
my $new = new_server('new', '100-163');
upgrade_cluster($old, "$ENV{oldinstall}/bin", $new, 'pg_upgrade');
$new->start;
$notes->next_phase;

foreach my $dbname (@databases)
{
	is( $new->safe_psql($dbname, $content),
		$expected{$dbname},
		"$dbname: rows, leases, keys and the schema of the tables are as they were"
	);
	is( $new->safe_psql(
			$dbname, q{SELECT count(*) FROM sno_catalog.sno_lease
		WHERE system_identifier = (SELECT system_identifier FROM pg_control_system())}
		),
		0,
		"$dbname: the leases are those of another holder");

	# The new server reads what the old one wrote to disk.
	$new->safe_psql($dbname, 'CREATE EXTENSION amcheck');
	is( $new->safe_psql(
			$dbname,
			q{SELECT string_agg(bt_index_check(c.oid, true)::text, '')
		FROM pg_class AS c JOIN pg_am AS a ON a.oid = relam JOIN pg_index ON indexrelid = c.oid
		WHERE amname = 'btree' AND relkind = 'i' AND relname ~ '^(t|log_.)_pkey'}),
		'',
		"$dbname: B-trees are right");
	my @indexes = qw(t_pkey t_hash t_gist t_minmax t_multi t_bloom);
	foreach my $index (@indexes)
	{
		my $others = join '; ', map {
			$_ eq 't_pkey'
			  ? 'ALTER TABLE t DROP CONSTRAINT t_pkey'
			  : "DROP INDEX $_"
		} grep { $_ ne $index } @indexes;
		my $lookups =
		  'SELECT count(*) FROM (SELECT id FROM log LIMIT 300) AS s, LATERAL (SELECT FROM t WHERE t.id = s.id) AS l';
		like(
			$new->safe_psql(
				$dbname, qq{
BEGIN;
$others;
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
EXPLAIN $lookups;
$lookups;
ROLLBACK}),
			qr/Scan (using|on) $index.*^300$/ms,
			"$dbname: ids are found by index $index");
	}

	my ($status, $id) = generate($new, $dbname);
	my $partition = decode_id($id)->{partition};
	my ($first, $last) = split /-/, $partitions{$dbname};
	ok( $partition < $first || $partition > $last,
		"$dbname: a new id is in another partition");
	$notes->add($dbname, $id);
}
$notes->check('upgraded');

# Readers go on.
@as_owner = (connstr => $new->connstr('feeds') . ' user=owner');
is($new->safe_psql('feeds', "$next; $next", @as_owner), "2\n3", 'feeds: a reader goes on where it was');
$new->safe_psql('feeds', 'INSERT INTO event (n) VALUES (4); INSERT INTO person VALUES (5)', @as_owner);
wait_until('a reader has a new row', sub { $new->safe_psql('feeds', $next, @as_owner) eq '4' });
pass 'feeds: the reader gets new rows';
is($new->safe_psql('feeds', q{SELECT (item).id FROM sno_feed_take(NULL::person, 'copy')}, @as_owner),
	5, 'feeds: changes are recorded');

# The extension is the same as in a new database, with three exceptions.
# pg_upgrade does not keep its owner.  Before 17 it does not keep the array type as
# a member.  And functions that only the new server can use are missing: a
# superuser adds them.
$new->safe_psql('postgres', 'CREATE DATABASE fresh OWNER owner');
create_extension($new, 'fresh');
$new->safe_psql('app',
	q{UPDATE pg_extension SET extowner = 'owner'::regrole WHERE extname ~ '^sno'}
);
my $fresh = catalog_of($new, 'fresh');
$new->safe_psql('fresh', $constructs);
is( definitions_of($new->connstr('constructs'), '-n', 'app'),
	definitions_of($new->connstr('fresh'),      '-n', 'app'),
	'definitions that were upgraded are as new ones');
if ($old->pg_version < 18 && $new->pg_version >= 18)
{
	my $lacking = differences($fresh, catalog_of($new, 'app'));
	like(
		$lacking,
		qr/^- .*\b$_\b/m,
		"$_ is missing after an upgrade from an older version"
	) foreach ('sno_skip_support', 'gist_translate_cmptype_common');
	$new->safe_psql(
		'app', q{
ALTER OPERATOR FAMILY sno_ops USING btree ADD FUNCTION 6 (sno, sno) sno_catalog.sno_skip_support(internal);
ALTER OPERATOR FAMILY sno_ops USING gist ADD FUNCTION 12 ("any", "any") gist_translate_cmptype_common(integer)}
	);
}
if ($new->pg_version < 17)
{
	like(
		differences($fresh, catalog_of($new, 'app')),
		qr/^- type pg_catalog\.sno\[\]/m,
		'the array type is no longer a member');
	$new->safe_psql('app', 'ALTER EXTENSION sno ADD TYPE sno[]');
}
is(differences($fresh, catalog_of($new, 'app')),
	'', 'the upgraded extension is the same as in a new database');
is( differences(
		catalog_of($new, 'fresh', 'sno_seal'),
		catalog_of($new, 'app',   'sno_seal')),
	'',
	'so is sno_seal') if $seals;

# If there are only the partitions of the old server, ids are made when its
# leases are over.
foreach my $dbname (@databases)
{
	set_partitions($new, $dbname, $partitions{$dbname});
	like(
		(generate($new, $dbname))[2],
		qr/ERROR:  53400: no partition was free/,
		"$dbname: no partition is free while the leases of the old server last"
	);
}
$new->stop;
done_testing();
