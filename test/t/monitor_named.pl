
# Named generators in sno_generators() and in notifications: sessions that share
# one with a small range of sequences.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use TestHelpers;

my $node = new_node('main', conf => 'autovacuum = off');
$node->start;

my $name = 'small "\\ one';
my $call = "sno_generate(0, '$name')";
$node->safe_psql(
	'postgres', qq{
CREATE EXTENSION sno;
SELECT sno_create_generator('$name', 7, 10, 13), sno_create_generator('idle', 8)}
);

# Columns of sno_generators(), of the generators in use
sub show
{
	my ($columns) = @_;
	return $node->safe_psql('postgres',
		"SELECT $columns FROM sno_generators() WHERE issued IS NOT NULL");
}

# The names of the generators that are defined, but not in use
sub unused
{
	return $node->safe_psql('postgres',
		q{SELECT string_agg(name, ', ' ORDER BY name) FROM sno_generators() WHERE issued IS NULL}
	);
}

is(show('count(*)'), 0,     'no generator is in use');
is(unused(), "idle, $name", 'generators that were never used are listed');

my $listener = open_session($node, 'postgres');
$listener->query_safe('LISTEN sno_overflow');

my @sessions =
  map { open_session($node, 'postgres', "sno.max_wait = '1d'") } 1 .. 8;
my $notes = NotedIds->new;
send_query($_, "SELECT $call FROM generate_series(1, 100)") foreach @sessions;
my $received = 0;
foreach my $session (@sessions)
{
	my ($out) = receive($session);
	$received += $notes->add('all', join("\n", sort split /\n/, $out));
}
is($received, 800, 'all sessions have received their ids');
my %seen;
$seen{$_}++ foreach map { $_->[0] } @{ $notes->{notes} };
is(scalar keys %seen, 800, 'no id was issued twice');

is( show(
		q{database, name, partition, sequence_min, sequence_max, unit_issued + unit_spare, issued}
	),
	"postgres|$name|7|10|13|4|800",
	'a shared generator is shown once, with the ids of all sessions');
is(unused(), 'idle', 'a generator in use is not listed as unused');
cmp_ok(show('exhausted'), '>', 0,
	'exhausted units of the shared generator are counted');
cmp_ok(show('exhausted'), '<=', 200,
	'no more exhausted units are counted than the ids can fill');
cmp_ok(show('waits'), '>', 0, 'waits for the shared generator are counted');

my $heard = '';
wait_until('it is over',
	sub { ($heard .= $listener->query_safe('SELECT 1')) =~ /"count": 0/ });
my @payloads = $heard =~ /with payload "(\{.*\})"/g;
my $list     = join(',', map { "'$_'" } @payloads);
is( $node->safe_psql(
		'postgres',
		"SELECT DISTINCT p->>'generator', p->>'partition' FROM unnest(ARRAY[$list]::jsonb[]) AS p"
	),
	"$name|7",
	'notifications have the name and the partition of the generator');

$node->safe_psql('postgres', 'SELECT sno_reset_statistics()');
is(show('issued, exhausted, waits, longest_wait'),
	'0|0|0|00:00:00', 'a reset clears the counters of the generator');
$sessions[0]->query_safe("SELECT $call FROM generate_series(1, 5)");
is(show('issued'), 5, 'after a reset, the generator counts from zero');

# A generator of a layout has no partition.
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION sno_flakes;
SELECT sno_flake_create_layout('slow', '2020-01-01', 100, 40, sequence_bits => 3);
SELECT sno_flake_create_generator('slow', 'slow')});
my $slow = open_session($node, 'postgres');
$slow->query_safe("SELECT sno_flake_generate('slow') FROM generate_series(1, 12)");
$heard = '';
wait_until('its waits are over',
	sub { ($heard .= $listener->query_safe('SELECT 1')) =~ /"slow", .*"count": 0/ });
like(
	$heard,
	qr/\{"generator": "slow", "partition": null, /,
	'notifications of a generator of a layout have its name and no partition');
is( $node->safe_psql(
		'postgres',
		"SELECT partition, layout, unit_issued + unit_spare, issued, waits > 0 FROM sno_generators() WHERE name = 'slow'"
	),
	'|slow|4|12|t',
	'its waits are counted');
$slow->query_safe("SELECT sno_flake_drop_generator('slow')");
close_session($slow);
wait_until('it is not in use any more', sub { show('count(*)') == 1 });

# An open partition has a row of its own.
$sessions[0]->query_safe('SELECT sno_generate()');
is( show(
		"string_agg(coalesce(name, '(partition)') || ' ' || issued, ', ' ORDER BY name NULLS FIRST)"
	),
	"(partition) 1, $name 5",
	'an open partition is shown apart from the named generator');
$node->safe_psql('postgres',
	'CREATE ROLE owner LOGIN; CREATE DATABASE other OWNER owner');
$node->safe_psql('other', 'CREATE EXTENSION sno');
is( $node->safe_psql(
		'other',
		'SELECT database, count(name), count(*) FROM sno_generators() GROUP BY database'
	),
	'postgres|0|2',
	'another database sees the generators without their names');
my $owner = open_session($node, 'other');
$owner->query_safe('SET SESSION AUTHORIZATION owner; SELECT sno_generate()');
my $seen =
  'SELECT database, count(*) FROM sno_generators() GROUP BY database ORDER BY database';
is($owner->query_safe($seen),
	'other|1', 'the owner of a database sees only that database');
$node->safe_psql('postgres', 'GRANT pg_monitor TO owner');
is($owner->query_safe($seen),
	"other|1\npostgres|2", 'a member of pg_monitor sees all databases');
close_session($owner);
close_session($_) foreach @sessions, $listener;
wait_until('the generator is not in use any more',
	sub { show('count(name)') == 0 });
is(unused(), "idle, $name",
	'a generator that is no longer in use is listed as unused');

$node->stop;
done_testing();
