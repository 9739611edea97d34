
# The SQL of the registry, and its model in C, test/model/registry.h, give the same
# answers: to long random traces of requests, for partitions and for nodes of layouts, late
# and repeated ones too, while clocks step, timelines change, and operators say what they know.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $steps = 1000;    # for each registry of a trace
my $top   = "$FindBin::RealBin/../..";
my $model = PostgreSQL::Test::Utils::tempdir . '/grant';

system_or_bail('cc', '-std=gnu11', '-fno-strict-aliasing', '-DBLOCKS=96',
	'-DHOLDERS=400', "-I$top/src", '-o', $model, "$top/test/model/grant.c");

my $node = new_node('registry');
$node->start;

# What a trace calls.  An error is an answer, too.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION sno_registry;
CREATE SCHEMA trace;
CREATE FUNCTION trace.create(first int, last int, size int, lossless boolean, share int) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE sno_registry.settings, sno_registry.space, sno_registry.holder, sno_registry.block;
    PERFORM sno_registry_create(first, last, size, '10 minutes', lossless, share => $5);
    RETURN 'created';
END $$;
CREATE FUNCTION trace.add(layout text, first bigint, last bigint, size bigint, registry_now bigint, timeline int)
RETURNS text LANGUAGE sql AS $$
    SELECT sno_registry.follow(timeline, registry_now);
    SELECT sno_registry.add(layout, first, last, size, '2010-01-01 00:00:00+00');
    SELECT 'added'
$$;
CREATE FUNCTION trace.answer(holder bigint, token bigint, next bigint, now bigint, until bigint,
    want int, layout text, registry_now bigint, timeline int) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT concat_ws(' ', status, range_first, range_last, a.now,
            string_agg(format('%s-%s:%s-%s', first, last, floor, ceiling), ' ' ORDER BY first)
                FILTER (WHERE first IS NOT NULL))
        FROM sno_registry.answer(holder, token, next, 'server', answer.now, until, want,
            layout, registry_now, timeline, sno_registry.home()) AS a
        GROUP BY status, range_first, range_last, a.now);
EXCEPTION WHEN OTHERS THEN
    RETURN 'error ' || SQLSTATE;
END $$;
CREATE FUNCTION trace.lose(timelines int, registry_now bigint) RETURNS text
LANGUAGE sql AS $$ SELECT sno_registry.lose($1, $2); SELECT 'done' $$;
CREATE FUNCTION trace.trust(timeline int, registry_now bigint) RETURNS text
LANGUAGE sql AS $$ SELECT sno_registry.trust($1, $2); SELECT 'done' $$;
SQL

# The calls and answers of a trace, as two lists.
sub trace
{
	my @arguments = @_;
	my ($out, $err) = run_command([ $model, 'traces', @arguments ]);
	my @rows = map { [ split /\t/ ] } split /\n/, $out;
	return ([ map { $_->[0] } @rows ], [ map { $_->[1] } @rows ]);
}

# The answers of the SQL to calls.
sub replay
{
	my ($calls) = @_;
	my $script = join '', "SET synchronous_commit = off;\n",
	  map { "SELECT trace.$_;\n" } @$calls;
	return [ split /\n/, $node->safe_psql('postgres', $script) ];
}

# The number of the first call that is answered otherwise, undef if there is none.
sub first_difference
{
	my ($real, $expected) = @_;
	return (grep { ($real->[$_] // '') ne $expected->[$_] } 0 .. $#$expected)[0];
}

foreach my $seed (1, 2)
{
	my ($calls, $expected) = trace($seed, $steps);
	my $real = replay($calls);
	my %count;

	$count{ (split ' ')[0] }++ foreach @$expected;
	cmp_ok($count{$_} // 0, '>', 10, "trace $seed: $_")
	  foreach qw(granted full forgotten superseded range error);
	my $n = first_difference($real, $expected);
	ok(!defined $n, "trace $seed: all " . @$expected . ' answers are the same');
	diag("call $n: $calls->[$n]\nanswer: $real->[$n]\nmodel:  $expected->[$n]")
	  if defined $n;
}

# The control: a registry with other rules is seen.
foreach my $mutant ('OLD_FLOOR', 'PRUNED_REMEMBERED', 'CLOSED_SHORT', 'NAMED_LAYOUTS', 'ADDED_LOW')
{
	my ($calls, $expected) = trace(1, $steps, $mutant);
	ok(defined first_difference(replay($calls), $expected), "mutant $mutant is seen");
}

$node->stop;
done_testing;
