
# Readers of feeds of bigints while 16 writers insert, the clock steps and the server crashes:
# ids of a layout with units of 1 ms, of another one, and of a counter.  Each reader notes
# what it was given, in the transaction that moves its cursor.  Those that stop at
# sno_flake_watermark() have been given each row once, also those on a standby, which read
# the watermark from a table.  The control reads a bigserial, and has missed many.
#
# Writers and readers are clients of pgbench.  With TORTURE_MINUTES, rounds go on for that
# time, in an order that TORTURE_SEED gives (script/torture).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FeedStress;
use TestHelpers;
use Torture;

my $torture = Torture->new;
my $node    = new_node('main', allows_streaming => 1, conf => q{
max_connections = 80
max_prepared_transactions = 200
sno.max_wait = '1min'
});
$torture->start_server($node);

# The control has no watermark: what there is, is taken.
my %id = (
	tweet   => q{sno_flake_generate('tweet')},
	post    => q{sno_flake_generate('post')},
	invoice => q{sno_flake_generate('invoice')},
	serial  => q{nextval('serial_id')});
my @feeds = grep { $_ ne 'serial' } sort keys %id;
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION sno_flakes CASCADE;
SELECT sno_flake_create_generator('tweet', 'snowflake'), sno_flake_create_generator('post', 'instagram'),
	sno_flake_create_generator('invoice', 'counter');
CREATE SEQUENCE serial_id;
CREATE TABLE cursor (reader text PRIMARY KEY, last bigint NOT NULL);
CREATE TABLE seen (n bigserial, reader text NOT NULL, id bigint NOT NULL);
CREATE TABLE told (name text PRIMARY KEY, w bigint NOT NULL)}
	  . join('', map { "; CREATE TABLE $_ (id bigint PRIMARY KEY DEFAULT $id{$_})" } sort keys %id)
	  . join('', map { "; INSERT INTO told VALUES ('$_', 0)" } @feeds));
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'hot_standby_feedback = on');
$torture->start_server($standby);

my $all = join "\n", map { "INSERT INTO $_ DEFAULT VALUES;" } sort keys %id;
my $each = sub { my ($sql) = @_; return map { $sql =~ s/TABLE/$_/gr } sort keys %id };

# A transaction that may pause before its end, too
sub slow
{
	my ($text) = @_;
	return transaction("$text\n\\sleep :pause us");
}

my @writers = (
	(map { $_ => 10 } $each->("INSERT INTO TABLE DEFAULT VALUES;\n")),
	slow($all) => 20,
	slow("$all\n\\sleep :pause us\n$all") => 10,
	slow("SAVEPOINT a;\n$all\nROLLBACK TO a;\n\\sleep :pause us\n$all") => 10,
	(map { slow($_) => 5 } $each->('INSERT INTO TABLE SELECT FROM generate_series(1, 20);')),
	(   map {
			slow(
				"SELECT $id{$_} AS first, $id{$_} AS second \\gset\n\\sleep :pause us\n"
				  . "INSERT INTO $_ VALUES (:second), (:first);") => 5
		} sort keys %id));

my $last = "(SELECT last FROM cursor WHERE reader = 'NAME')";
my %readers;

foreach my $feed (@feeds)
{
	my $rows = "SELECT id FROM $feed WHERE id >";
	my $below = "AND id < (SELECT sno_flake_watermark('$feed'))";
	$readers{"$feed, statement"} = [ 'simple', '', noting("$rows $last $below ORDER BY id LIMIT 500") ];
	$readers{"$feed, for each row"} = [
		'simple',
		'-c enable_indexscan=off -c enable_indexonlyscan=off -c enable_bitmapscan=off',
		noting("$rows $last AND id < sno_flake_watermark('$feed') ORDER BY id") . "\\sleep 50 ms\n"
	];
	$readers{"$feed, repeatable read"} = [
		'simple', '',
		"\\set pause random(0, 100)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT last FROM cursor WHERE reader = 'NAME' \\gset\n"
		  . "\\sleep :pause ms\n" . noting("$rows :last $below ORDER BY id LIMIT 400") . "COMMIT;\n"
	];
}
$readers{serial} = [ 'simple', '', noting("SELECT id FROM serial WHERE id > $last ORDER BY id") ];
$node->safe_psql('postgres', "INSERT INTO cursor VALUES ('$_', 0)") foreach keys %readers;

# What the standby shows below the watermark that it shows
my %on_standby = map { $_ => { last => 0, ids => [] } } @feeds;

sub read_standby
{
	foreach my $feed (@feeds)
	{
		my $reader = $on_standby{$feed};
		my @ids = split /\n/,
		  $standby->safe_psql('postgres',
			"SELECT id FROM $feed WHERE id > $reader->{last} AND id < (SELECT w FROM told WHERE name = '$feed') ORDER BY id");
		next if !@ids;
		push @{ $reader->{ids} }, @ids;
		$reader->{last} = $ids[-1];
	}
	return;
}

# One more client writes the watermarks down.
my $stress = FeedStress->new(
	torture => $torture,
	node    => $node,
	writers => \@writers,
	readers => {
		%readers,
		told => [
			'simple', '',
			join '', map { "UPDATE told SET w = sno_flake_watermark('$_') WHERE name = '$_';\n" } @feeds
		]
	},
	meanwhile => \&read_standby);
$stress->run;
$stress->wait_for_reader($_, /^(\w+)/) foreach sort keys %readers;
foreach my $feed (@feeds)
{
	my $max = $node->safe_psql('postgres', "SELECT max(id) FROM $feed");
	wait_until("$feed: the standby arrives", sub { read_standby(); $on_standby{$feed}{last} == $max });
}
$stress->stop_readers;

foreach my $name (sort keys %readers)
{
	my $missed = $stress->check_reader($name, $name =~ /^(\w+)/);

	if   ($name eq 'serial') { cmp_ok($missed, '>', 100, "the control missed $missed rows"); }
	else                     { is($missed, 0, "$name: missed no row"); }
}
foreach my $feed (@feeds)
{
	my @rows = split /\n/, $node->safe_psql('postgres', "SELECT id FROM $feed ORDER BY id");
	note(@rows . " rows of $feed in $stress->{round} rounds");
	is("@{ $on_standby{$feed}{ids} }", "@rows", "$feed: the standby was shown each row once, in order");
}
$standby->stop;
check_log($node);
$node->stop;
done_testing();
