
# Many named generators of one partition or layout, which short sessions use.  What a
# session leaves behind is kept, and forgotten only when it doesn't matter any more.  So
# no generator keeps another one waiting, whatever its clock was.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use List::Util qw(uniq);
use POSIX      qw(strftime);
use TestHelpers;

my $clock = FakeClock->new;

# 2026-11-21 10:22:30 UTC, in the middle of a minute
my $noon = 1795256550;
my $year = 365 * 86400;

sub set_clock
{
	$clock->stop_at(strftime('%Y-%m-%d %H:%M:%S', gmtime($noon + $_[0])));
	return;
}

set_clock(0);
my $node = start_node('main', conf => 'autovacuum = off', clock => $clock, sql => q{
CREATE EXTENSION sno_flakes;
SELECT sno_flake_create_layout('minutes', '2020-01-01Z', 60000, 30, 10, 20);
SELECT sno_flake_create_generator('m' || n, 'minutes', n) FROM generate_series(0, 13) AS n;
CREATE TABLE flake (id bigint, at serial);
CREATE TABLE id (id sno, at serial)});

# An id of each of these generators of the layout, in sessions of their own.
sub flakes
{
	my ($what, @names) = @_;
	my @errors = map {
		($node->psql(
				'postgres', "INSERT INTO flake SELECT sno_flake_generate('$_')"))[2]
	} @names;
	is(join("\n", grep { $_ ne '' } @errors), '', $what);
	return;
}
my @all    = map { "m$_" } 0 .. 13;
my @others = @all[ 1 .. 13 ];

flakes("14 generators with units of a minute, round $_", @all) for 1 .. 3;
set_clock(-60);
flakes('the clock went back by a unit', @all);
set_clock(0);
flakes('it is right again', @all) for 1, 2;

# One of them was used while its clock was a year ahead.
set_clock($year);
flakes('the clock is a year ahead', 'm0');
set_clock(0);
flakes('one generator was a year ahead: the others go on', @others) for 1, 2;
set_clock(600);
flakes('they do ten minutes later', @others);
set_clock(540);
flakes('they do if the clock goes back', @others);
set_clock(660);
flakes('they do after that', @others);

# Two that are told to go on in half an hour, with others between them
set_clock(0);
$node->safe_psql(
	'postgres', qq{
SELECT sno_flake_create_generator('s' || n, 'snowflake', n) FROM generate_series(1, 30) AS n;
SELECT sno_flake_generate('s1'), sno_flake_generate('s30');
SELECT sno_flake_advance(name, sno_flake_make(to_timestamp($noon + 1800), 1, 0, 'snowflake'))
FROM (VALUES ('s1'), ('s30')) AS v (name)});
flakes('generators that are far ahead are not in the way of others',
	map { "s$_" } 2 .. 29)
  for 1, 2;

#
# More generators than are kept, of one partition
#
sub create
{
	my ($from, $to) = @_;
	$node->safe_psql('postgres',
		"SELECT sno_create_generator('p' || n, 1, 4 * n, 4 * n + 3) FROM generate_series($from, $to) AS n"
	);
	return;
}

sub ids
{
	my ($what, $from, $to) = @_;
	my (undef, undef, $error) = $node->psql('postgres',
		"INSERT INTO id SELECT sno_generate(0, 'p' || n) FROM generate_series($from, $to) AS n"
	);
	is($error, '', $what);
	return;
}
create(0, 3599);
ids('1,200 generators in a session', 0, 1199);
ids('1,200 others in the next one, while the clock stands still', 1200, 2399);
ids('the former ones again', 0, 1199);
set_clock(3600);
ids('1,200 others, when those are in the past', 2400, 3599);
ids('all of them',                              0,    3599);
set_clock($year);
ids('some of them, a year ahead', 100, 199);
set_clock(3601);
ids('the others, when the clock is right again', 200, 3599);
ids('the others, when the clock is right again', 0,   99);
set_clock(3600 + 120);
ids('two minutes later', 200, 3599);
$node->safe_psql('postgres',
	"SELECT sno_drop_generator('p' || n) FROM generate_series(2000, 2999) AS n"
);
create(2000, 2999);
ids('those that were dropped and created again', 2000, 2999);

is( $node->safe_psql(
		'postgres',
		'SELECT count(*) - count(DISTINCT id) FROM flake UNION ALL SELECT count(*) - count(DISTINCT id) FROM id'
	),
	"0\n0",
	'no id comes twice');
check_log($node);
$node->stop;
done_testing();
