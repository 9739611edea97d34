
# Generators of all layouts of other systems under load, while one fault after the
# other strikes: as torture_named.pl.  Each client notes each id outside of the
# server as soon as it receives it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;
use Torture;

# Of each layout, in the run of all tests
my $enough = 100_000;

# After two crashes within a lease, clients wait until it is over.
my $torture = Torture->new(max_wait => '1min', lull => 400_000);
my $server  = $torture->make_server('');

# A generator of each layout.  Where one node issues fewer than 100,000 ids a second, it
# has more of them.  They are chosen if there are many.
$server->safe_psql(
	'postgres', q{
CREATE EXTENSION sno;
CREATE EXTENSION sno_flakes;
CREATE TABLE t (id sno NOT NULL);
SELECT sno_flake_create_layout('pgedge', '2023-01-01Z', 1, 41, 10, 12, true);
SELECT sno_flake_create_generator(name, name, CASE WHEN node_bits < 10 THEN 0 END, CASE WHEN unit = 0 THEN 1
	ELSE ceil(100000 / (2 ^ (sequence_bits - 1) * 1000 / unit)) END::integer) FROM sno_catalog.sno_flake_layout;
});
my @generators = map { [ split /\|/ ] } split /\n/, $server->safe_psql(
	'postgres',
	q{SELECT g.name, CASE WHEN bits <= 64 THEN 'sno_flake_generate' WHEN bits = 128 THEN 'sno_flake_generate_uuid' ELSE 'sno_flake_generate_bytea' END,
		floor(extract(epoch FROM coalesce(epoch, 'epoch')) * 1000), unit,
		time_bits, node_bits, sequence_bits, l.node_last::integer,
		coalesce(node_first, 0), coalesce(g.node_last, (1::bigint << node_bits) - 1),
		coalesce(node_first::text, 'NULL'), coalesce(nodes, g.node_last - node_first + 1)
	FROM sno_catalog.sno_flake_generator AS g JOIN sno_catalog.sno_flake_layout AS l ON l.name = g.layout,
		LATERAL (SELECT time_bits + node_bits + sequence_bits AS bits) AS b
	ORDER BY g.name});

my @plan = (
	ends(),
	shared_faults(),
	'clock back by 1 ms'                   => clock_at(-0.001),
	'clock back by 5 ms'                   => clock_at(-0.005),
	'clock back by 0.3 s'                  => clock_at(-0.3),
	'clock back by 1 s'                    => clock_at(-1),
	'clock back twice by 1 s'              => clock_at(-1, -2),
	'clock forward by 5 ms'                => clock_at(0.005),
	'clock forward by 1 s'                 => clock_at(1),
	'immediate shutdown after a step back' => sub {
		$torture->set_clock(-1);
		$torture->get_on;
		$torture->relive(sub { $server->stop('immediate') });
		$torture->get_on;
		$torture->set_clock(0);
		$torture->get_on;
	},
	'tables rewritten' => sub {
		for (1 .. 5)
		{
			$torture->sql("VACUUM FULL sno_catalog.$_")
			  foreach qw(sno_lease sno_flake_generator sno_flake_layout);
		}
	},
	'generators dropped and created anew' => sub {
		foreach (@generators)
		{
			my ($name, $first, $nodes) = @$_[ 0, 10, 11 ];
			$torture->sql(
				"SELECT sno_flake_drop_generator('$name'), sno_flake_create_generator('$name', '$name', $first, $nodes)"
			);
		}
	},
	'generators advanced' => sub {
		$torture->sql("SELECT sno_flake_advance('$_', sno_flake_generate('$_'))")
		  foreach map { $_->[0] }
		  grep { $_->[1] eq 'sno_flake_generate' } @generators;
	},
	'promoted without the end of the WAL' => sub {
		$torture->promote;
		$server = $torture->{node};
	});

# The notes of all clients on a generator, by its number.
sub notes_of
{
	my ($number) = @_;
	return map { "$torture->{dir}/notes.$_.$number" } 0 .. 7;
}

# The oracle's verdict on a generator.
sub judge
{
	my ($number, $generator) = @_;
	my (undef,   undef, @arguments) = @$generator[ 0 .. 9 ];
	my ($out,    $err) =
	  run_command(
		[ Torture::build('flakes'), @arguments, notes_of($number) ]);
	die "flakes: $err" if $err ne '' || $out !~ /^ids /;
	return { map { split / / } split /\n/, $out };
}

$torture->lead_clients($server);
$torture->under('none');
{
	local $ENV{FLAKES} = join "\n", map { "$_->[1]('$_->[0]')" } @generators;
	$torture->start_clients(('flakes') x 8);
}
$torture->wait_for_ids(1000);
$torture->carry_out(@plan);
wait_until(
	'there are enough ids of each layout',
	sub {
		!grep {
			my $size = 0;
			$size += -s $_ foreach notes_of($_);
			$size < 16 * $enough
		} 0 .. $#generators;
	});
$torture->stop_clients;

note("$_: struck $torture->{struck}{$_}")
  foreach sort keys %{ $torture->{struck} };
note(
	sprintf '%-14s %-6s %10s %5s %5s %5s %7s %10s',
	qw(layout nodes ids twice early late outside upper));
my $upper = 0;
foreach my $number (0 .. $#generators)
{
	my $generator = $generators[$number];
	my ($name, $unit, $nodes) = @$generator[ 0, 3, 11 ];
	my $verdict = judge($number, $generator);

	note(
		sprintf '%-14s %-6d %10d %5d %5d %5d %7d %10d',
		$name,
		$nodes,
		@$verdict{qw(ids twice early late outside upper)});
	cmp_ok($verdict->{ids}, '>=', $enough, "$name: $verdict->{ids} ids");
	is($verdict->{twice},    0, "$name: no id was issued twice");
	is($verdict->{early},    0, "$name: no time is before the call");
	is($verdict->{late},     0, "$name: no time is after the answer");
	is($verdict->{outside},  0, "$name: all nodes may be the generator's");
	is($verdict->{descents}, 0, "$name: the numbers of a query ascend")
	  if $unit == 0;
	$upper += $verdict->{upper};
}
cmp_ok($upper, '>', 0, 'both sides were used');

# A generator that remembers nothing, in layout json4
my $naive =
  judge('naive', [ 'naive', '', 946656000000, 1000, 31, 5, 17, 0, 0, 31 ]);
cmp_ok($naive->{twice}, '>', 0,
	"the oracle finds $naive->{twice} of $naive->{ids} ids twice of a generator that remembers nothing"
);

$torture->check_errors('queries cancelled' => qr/^57014$/);
$torture->check_logs;
$server->stop;
done_testing();
