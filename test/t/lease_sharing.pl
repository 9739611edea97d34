
# Sessions that share a partition: when they begin to and when they stop, and what may come
# in between.  The clock stands, so that sessions are in the same unit if the test says so.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use TestHelpers;

my $clock = FakeClock->new;
my $second = 0;
my %seen;
my $twice = 0;

sub set_clock
{
	($second) = @_;
	$clock->stop_at(sprintf '2026-12-01 %02d:%02d:%02d',
		10 + int($second / 3600), int($second / 60) % 60, $second % 60);
	return;
}

# More than a second later, no session wants to share because of earlier units.
sub later { set_clock($second + ($_[0] // 2)); return; }

set_clock(0);
my $node = start_node('main', clock => $clock, conf => q{
autovacuum = off
sno.lease_duration = 10min
});

# No session may wait for an id, so the others never keep one from it.
sub session { return open_session($node, 'postgres', 'sno.max_wait = 0', @_); }

# Make ids in a session, and see that none came before.  Returns the fields of the last one.
sub generate
{
	my ($session, $query) = @_;
	my @ids = split /\n/, $session->query_safe($query // ids_of(100));
	$session->{made} += @ids;
	foreach my $id (map { decode_id($_) } @ids)
	{
		$twice++
		  if $seen{"@{$id}{qw(unit tick_tock partition sequence)}"}++;
	}
	return decode_id($ids[-1]);
}

# Does sno_generators() count just the ids that these sessions made?
sub counted
{
	is( $node->safe_psql(
			'postgres', "SELECT issued FROM sno_generators() WHERE pid = $_->{pid}"
		),
		$_->{made},
		'each session counts its own ids') foreach @_;
	return;
}

sub partition { return generate(@_)->{partition}; }

# Let two sessions share a partition from the present unit on.
sub share
{
	my ($one, $two) = @_;

	# Each finds the note of the other, and may change in the next unit.
	foreach my $pair ([ $one, $two ], [ $two, $one ])
	{
		generate($_) foreach @$pair;
		later(1);
	}
	generate($_) foreach $one, $two;
	is(partition($one), partition($two), 'two sessions share a partition');
	return partition($one);
}

# Who generates in a partition?  A named generator that needs it is told.  From then on
# sessions leave the partition.
sub who
{
	my ($partition) = @_;
	my $error = error_of(my $session = session(),
		"BEGIN; SELECT sno_create_generator('who', $partition); SELECT sno_generate(1, 'who')"
	);
	$session->query_safe('ROLLBACK');
	close_session($session);
	return
	    $error =~ /Sessions that share it generate in it/ ? 'shared'
	  : $error =~ /The session with process id (\d+)/     ? $1
	  :                                                     $error;
}

subtest 'within a unit, each stays where it is' => sub {
	my ($one, $two, $three) = (session(), session(), session("sno.sharing = 'never'"));
	later();
	my $shared = share($one, $two);
	my $own    = partition($three);
	$three->query_safe("SET sno.sharing = 'always'");
	is(partition($three), $own, 'one that wants to share now does so later');
	later(1);
	is(partition($three), $shared, 'in the next unit');
	$three->query_safe("SET sno.sharing = 'never'");
	is(partition($three), $shared, 'one that must not share any more leaves it later');
	later(1);
	isnt(partition($three), $shared, 'in the next unit');
	close_session($_) foreach $one, $two, $three;
};

subtest 'they meet, and part' => sub {
	my ($one, $two) = (session(), session());
	my $own = partition($one);
	later();
	isnt(partition($two), $own, 'sessions that never met have partitions of their own');
	my $shared = share($one, $two);
	my $first  = generate($one);
	my $second = generate($two);
	is( $second->{sequence},
		$first->{sequence} + 100,
		'the ids of one follow those of the other');

	my $third = session();
	is(partition($third), $shared, 'a new session shares it at once');
	is( $node->safe_psql(
			'postgres',
			"SELECT count(*), count(DISTINCT partition) FROM sno_generators() WHERE partition = $shared"
		),
		'3|1',
		'sno_generators() shows it for each');
	counted($one, $two, $third);
	close_session($_) foreach $two, $third;
	later(1);
	generate($one);
	later();
	is(partition($one), $shared, 'who is left alone stays');
	is(
		error_of(
			$one, 'SELECT count(DISTINCT sno_generate()) FROM generate_series(1, 70000)'),
		'',
		'and goes on elsewhere if the unit is exhausted');
	close_session($one);
};

subtest 'the setting' => sub {
	my ($one, $never) = (session(), session('sno.sharing = never'));
	later();
	foreach (1, 2)
	{
		generate($_) foreach $one, $never, $one;
		later(1);
	}
	isnt(partition($one), partition($never), 'never');
	close_session($never);
	later();
	my $always = session('sno.sharing = always');
	partition($always);
	later();
	my $shared = partition($always);
	is(partition(my $new = session()), $shared, 'always, also alone');
	$always->query_safe('SET sno.sharing = never');
	later();
	isnt(partition($always), $shared, 'who must not share leaves');
	like(
		error_of($one, 'SET sno.sharing = 1'),
		qr/^ERROR:  22023: .*\nHINT:  Available values: auto, always, never\./m,
		'no other value');
	close_session($_) foreach $one, $always, $new;
};

subtest 'who has it' => sub {
	my ($one, $two) = (session(), session());
	later();
	my $shared = share($one, $two);
	close_session($two);
	later(5);
	generate($one);
	counted($one);
	is(who($shared), $one->{pid}, 'who is left alone owns it');
	later();
	generate($two = session());
	later();
	is(who(share($one, $two)), 'shared', 'two share it');
	close_session($_) foreach $one, $two;
};

subtest 'the clock steps back' => sub {
	my ($one, $two) = (session(), session());
	later(10);
	my $shared = share($one, $two);
	set_clock($second - 5);
	isnt(partition($_), $shared, 'each leaves the partition') foreach $one, $two;
	later(1);
	isnt(share($one, $two), $shared, 'and another one is shared then');
	close_session($_) foreach $one, $two;
	later(20);
};

subtest 'all leave it' => sub {
	my @sessions = (session(), session());
	my $shared = share(@sessions);
	$node->safe_psql('postgres', 'SELECT sno_reseed()');
	isnt(partition($_), $shared, 'after sno_reseed()') foreach @sessions;
	counted(@sessions);

	later();
	$shared = share(@sessions);
	my $range = $shared == 0 ? 1 : 0;
	configure($node, 'sno.partitions', "$range-" . ($range + 5), @sessions);
	later();
	my @now = map { partition($_) } @sessions;
	cmp_ok($_, '<', 10, 'when it is out of the range') foreach @now;
	configure($node, 'sno.partitions', '0-65535', @sessions);

	later();
	$shared = share(@sessions);
	$node->safe_psql('postgres', "SELECT sno_create_generator('taken', $shared)");
	later();
	like(
		error_of($sessions[0], q{SELECT sno_generate(1, 'taken')}),
		qr/^ERROR:  55006: partition $shared of generator "taken" was in use for 0 ms\nDETAIL:  Sessions that share it/m,
		'a named generator waits for them');
	isnt(partition($_), $shared, 'and then for nobody') foreach @sessions;
	generate($sessions[0], q{SELECT sno_generate(1, 'taken')});
	$node->safe_psql('postgres', "SELECT sno_drop_generator('taken')");
	close_session($_) foreach @sessions;
	later();
};

subtest 'the lease' => sub {
	my ($one, $two) = (session(), session());
	my $shared = share($one, $two);
	my $until = sub {
		return $node->safe_psql('postgres',
			"SELECT greatest(tick_until, tock_until) FROM sno_catalog.sno_lease WHERE partition = $shared"
		);
	};
	my $before = $until->();
	later(400);
	is(partition($one), $shared, 'it is renewed at half of its life');
	is(partition($two), $shared, 'by one of them');
	cmp_ok($until->(), 'gt', $before, 'with a row');

	# A table that is locked stops nobody who needs no lease.
	my $locker = session();
	$locker->query_safe('BEGIN; LOCK TABLE sno_catalog.sno_lease');
	generate($_) foreach $one, $two;
	is(partition(my $new = session()), $shared, 'a new session needs none');
	close_session($new);
	later(400);
	is(partition($_), $shared, 'it outlasts a renewal that fails') foreach $one, $two;
	$locker->query_safe('ROLLBACK');
	close_session($locker);

	# Idle sessions don't keep others from leasing anew.
	later(1300);
	isnt(partition($one), $shared, 'who comes after its end leaves it');
	later();
	share($one, $two);
	close_session($_) foreach $one, $two;
	later();
};

subtest 'many at once' => sub {
	my ($one, $two) = (session(), session());
	share($one, $two);
	generate($one, 'SELECT sno_generate_many(1000, 3)');
	generate($two, 'SELECT sno_generate_many(1000, 3)');
	generate($one, 'SELECT sno_generate_many(90000)');
	generate($two, 'SELECT sno_generate_many(90000)');
	later();
	generate($_, 'SELECT sno_generate_many(90000)') foreach $one, $two;
	close_session($_) foreach $one, $two;
};

# What a session remembers of a partition that it has left is not used any more, while another
# one still shares it, also in the same unit.
subtest 'whoever has left it goes on elsewhere' => sub {
	$node->safe_psql('postgres', q{SELECT sno_create_generator('elsewhere')});
	my $named = q{SELECT sno_generate(1, 'elsewhere')};
	my %ways = (
		'a step of the clock' => sub {
			my ($one) = @_;
			my $before = $second;
			later();
			$one->query_safe("SET sno.sharing = 'never'");
			generate($one);
			set_clock($before);
		},
		'out of the range' => sub {
			my ($one) = @_;
			my $unused = $node->safe_psql('postgres', q{
				SELECT min(n) FROM generate_series(0, 65535) AS n
				WHERE n NOT IN (SELECT partition FROM sno_catalog.sno_lease UNION SELECT partition FROM sno_catalog.sno_generator)});
			$one->query_safe("SET sno.partitions = '$unused-$unused'");
			generate($one, $named);
		},
		'a named generator has it' => sub {
			my ($one, $shared) = @_;
			my ($name, $other) = ("taken$shared", session());
			error_of($other, "SELECT sno_create_generator('$name', $shared); SELECT sno_generate(1, '$name')");
			generate($one, $named);
			close_session($other);
		},
		'sno_reseed()' => sub { $node->safe_psql('postgres', 'SELECT sno_reseed()') },
		'a loan'       => sub { $_[0]->query_safe(q{SELECT count(*) FROM sno_borrow_partition('1 hour')}) },
		'the unit is exhausted' =>
		  sub { generate($_[0], 'SELECT sno_generate() FROM generate_series(1, 70000)') });
	foreach my $way (sort keys %ways)
	{
		my ($one, $two) = (session(), session());
		later();
		my $shared = share($one, $two);
		$one->query_safe('BEGIN; DECLARE run CURSOR FOR SELECT sno_generate_many(1000)');
		is(partition($one, 'FETCH 1 FROM run'), $shared, 'a run of ids begins in a shared partition');
		is(partition($one, 'FETCH 1 FROM run'), $shared, 'and goes on there');
		$ways{$way}->($one, $shared);
		foreach my $query ('FETCH 1 FROM run', ids_of(1), 'SELECT sno_generate_many(2)', 'FETCH 2 FROM run')
		{
			my $partition = partition($one, $query);
			is( $one->query_safe('SELECT partition FROM sno_generators() WHERE pid = pg_backend_pid()'),
				$partition, "$way: $query makes ids where the session is");
		}
		$one->query_safe('COMMIT');
		close_session($_) foreach $one, $two;
		later(20);
	}
};

is($twice, 0, keys(%seen) . ' ids, none twice');
$node->stop;
check_log($node);
done_testing();
