
# Readers of two feeds, an outbox and the changes of a table, while one fault after the other
# strikes: clients and sessions are killed, the server crashes, a standby is promoted, the clock
# steps, and tables are rewritten.  Half of the clients use PgBouncer, if it is installed.
#
# Clients (test/torture/readers.py) note the rows that they get, and the rows that they
# acknowledge, outside of the server.  The table "written" has the committed rows of the outbox, also those that
# were removed.  In the end each reader has been given each row, in order within a part,
# has acknowledged it once, and no client acknowledged for its successor.  A reader by id > last
# misses rows.  If done() doesn't check its fence, the same check finds it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;
use Time::HiRes qw(usleep);
use Torture;
use TortureReaders;

#
# The verdict on notes that are made here, about rows a to d of part 0
#
sub verdict
{
	my @notes  = @_;
	my $oracle = TortureReaders->new;
	append_to_file("$oracle->{dir}/notes", join '', map { "$_\n" } @notes);
	return join ', ', sort keys %{ $oracle->check_reader('r', { 0 => [qw(a b c d)] }) };
}

# Lease `fence` of these rows, from second `from` on for 5 seconds
sub lease
{
	my ($fence, $from, @ids) = @_;
	return "take r 0 $fence $from $from 5 @ids";
}
sub done { return "done? r 0 $_[0]", "done r 0 $_[0]"; }

foreach (
	[ 'each row once', '', lease(1, 0, qw(a b)), done(1), lease(2, 1, qw(c d)), done(2) ],
	[ 'a lease that ended', '', lease(1, 0, qw(a b)), lease(2, 6, 'a'), done(2), lease(3, 7, qw(b c d)), done(3) ],
	[
		'a row that is set aside and handled later', '',
		lease(1, 0, qw(a b c d)), 'fail? r 0 1 b e', 'fail r 0 1 b e', lease(2, 1, qw(c d)), done(2),
		'take r -1 1 1 1 5 b', 'done? r -1 1', 'done r -1 1'
	],
	[
		'an acknowledgement that did not reach the server', '',
		lease(1, 0, qw(a b c d)), 'done? r 0 1', lease(2, 6, 'a'), done(2), lease(3, 7, qw(b c d)), done(3)
	],
	[
		'a row that is missed between two batches',
		'a row was missed, rows were passed over between two batches',
		lease(1, 0, qw(a b)), done(1), lease(2, 1, 'd'), done(2)
	],
	[
		'a row that is missed within a batch',
		'a row was missed, rows were passed over within a batch',
		lease(1, 0, qw(a b d)), done(1)
	],
	[ 'another order', 'rows are out of order', lease(1, 0, qw(a c b d)), done(1) ],
	[ 'rows that nobody acknowledges', 'a row was forgotten', lease(1, 0, qw(a b c d)) ],
	[
		'a lease that is cut short',
		'a row was handed out before the lease ended',
		lease(1, 0, qw(a b)), lease(2, 1, qw(a b c d)), done(2)
	],
	[
		'a lease that is cut short by the clock', '',
		'clock steps 0.5', lease(1, 0, qw(a b)), 'clock steady 0.6', lease(2, 1, qw(a b c d)), done(2)
	],
	[
		'a former holder that acknowledges',
		'a row was acknowledged twice, a row was handed out again that was acknowledged, '
		  . 'a session acknowledged for its successor',
		lease(1, 0, qw(a b)), lease(2, 6, qw(a b c d)), done(1), done(2)
	],
	[
		'a row that comes again',
		'a row was acknowledged twice, a row was handed out again that was acknowledged',
		lease(1, 0, qw(a b)), done(1), lease(2, 1, qw(b c d)), done(2)
	],
	[
		'a row of another part',
		'a row was forgotten, a row was handed out that is not in the part',
		lease(1, 0, qw(a b c d x)), done(1)
	],
	[
		'a fence that is used twice', 'two leases have the same fence',
		lease(1, 0, qw(a b)), lease(1, 0, qw(a b c d)), done(1)
	])
{
	my ($name, $found, @notes) = @$_;
	is(verdict(@notes), $found, "verdict: $name");
}

#
# The server and its clients
#
my $torture = TortureReaders->new;
my $node    = $torture->make_server(q{
max_connections = 100
max_prepared_transactions = 100
deadlock_timeout = 200ms
});
$node->safe_psql('postgres', q{
CREATE EXTENSION sno;
CREATE EXTENSION sno_feeds;

CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_generate(), customer integer NOT NULL, text text NOT NULL);
CREATE INDEX ON event (sno_feed_part(customer, 4), id);
SELECT sno_feed_create('event');
SELECT sno_feed_create_reader('event', 'take', 4, 'customer', max_tries => 2);
SELECT sno_feed_create_reader('event', 'next', 4, 'customer');
CREATE TABLE seen (n bigserial, id sno NOT NULL);

-- The committed rows of the feed
CREATE TABLE written (id sno PRIMARY KEY, part integer NOT NULL);
CREATE FUNCTION write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO written VALUES (NEW.id, sno_feed_part(NEW.customer, 4));
	RETURN NULL;
END $$;
CREATE TRIGGER write AFTER INSERT ON event FOR EACH ROW EXECUTE FUNCTION write();

CREATE TABLE person (id integer PRIMARY KEY, n serial);
CREATE TABLE person_copy (id integer PRIMARY KEY, n integer NOT NULL);
INSERT INTO person SELECT generate_series(1, 200, 2);
});
$node->safe_psql('postgres', $_) foreach (
	q{CALL sno_feed_create_changes('person', batch => 10)},
	q{CREATE INDEX ON person_changes (sno_feed_part(id, 2), changed)},
	q{SELECT sno_feed_create_reader('person', 'copy', 2, 'id'), sno_feed_create_reader('person', 'outside', 2, 'id')});

sub sql { return $torture->sql($_[0]); }

# Execute a statement, again if it is the victim of a deadlock.
sub insist
{
	my ($statement) = @_;
	wait_until($statement, sub { ($torture->{node}->psql('postgres', $statement))[0] == 0 });
	return;
}

# A synchronous standby is promoted, so that nothing is lost which was committed.
my $standbys = 0;

sub fail_over
{
	my $primary = $torture->{node};
	my $name    = 'standby' . ++$standbys;
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$primary->backup($name);
	$standby->init_from_backup($primary, $name, has_streaming => 1);
	$torture->start_server($standby);
	sql('ALTER SYSTEM SET synchronous_standby_names = \'*\'');
	sql('SELECT pg_reload_conf()');
	$primary->poll_query_until('postgres', q{SELECT sync_state = 'sync' FROM pg_stat_replication}, 't')
	  or die 'the standby is not synchronous';
	$torture->get_on;
	$torture->lead_clients;
	kill_postmaster($primary);
	$standby->promote;
	$torture->lead_clients($standby);
	$primary->clean_node;
	return;
}

my @rewrites = (
	(map { "VACUUM FULL $_" } qw(event event_readers event_aside person person_changes person_changes_readers)),
	(map { "REINDEX TABLE $_" } qw(event event_readers person_changes)),
	(map { "REINDEX TABLE CONCURRENTLY $_" } qw(event event_readers person_changes_readers)),
	(map { "CLUSTER $_ USING ${_}_pkey" } qw(event event_readers person_changes person_changes_readers)),
	'VACUUM (FREEZE) event_readers, event_aside, event, person_changes');

# How far the clock is ahead of the real time, in seconds
my $clock = 0;

my @plan = (
	ends(),
	shared_faults(),
	'readers killed' => sub { kill 'KILL', $torture->client('Taker|Copier|Next|Copy') for 1 .. 5 },
	'writers killed' => sub { kill 'KILL', $torture->client('Writer') for 1 .. 3 },
	'clients stopped' => sub {
		$torture->stop_sessions(1, map { $torture->client('Taker|Copier|Next|Copy|Writer') } 1 .. 3) for 1 .. 20;
	},
	($torture->has_pooler ? ('pooler killed' => sub { $torture->stop_pooler; $torture->start_pooler }) : ()),
	'standby promoted' => \&fail_over,
	'clock forward by a minute' => sub { $torture->set_clock($clock += 60) },
	'clock back by 0.1 s, 30 s' => sub {
		$torture->set_clock($clock - 0.1);
		$torture->get_on;
		$torture->set_clock($clock -= 30);
	},
	'clock strobing' => sub {
		foreach my $step (0.004, 0.1, 5)
		{
			$torture->set_clock($clock, $step, 0.001);
			$torture->get_on;
		}
		$torture->set_clock($clock);
	},
	'server down, clock back' => sub {
		$torture->relive(sub { $_[0]->stop('immediate'); $torture->set_clock($clock -= 30) });
	},
	'tables rewritten' => sub { insist($_) foreach ($torture->shuffled(@rewrites))[ 0 .. 4 ] });

$torture->{readers} = [qw(take next copy outside)];
$torture->lead_clients($node);
$torture->under('none');
$torture->start_clients(('Writer') x 5, 'Coordinator', ('Taker=take') x 4, ('Next=next') x 3,
	('Copier=outside') x 3, ('Copy=copy') x 3, 'Keeper', 'Control');
$torture->get_on;
$torture->carry_out(@plan);

# Let readers arrive at the end.  The clock isn't behind the last id.
append_to_file("$torture->{dir}/drain", '');
$torture->set_clock($clock + 61);
wait_until(
	'writers have ended',
	sub {
		slurp_file("$torture->{dir}/clients") !~ /Writer/
		  && sql('SELECT (SELECT count(*) FROM pg_prepared_xacts) + (SELECT count(*) FROM sno_watermark_blockers())') == 0;
	});
wait_until(
	'readers have arrived at the end',
	sub {
		usleep(100_000);
		sql(q{SELECT sno_feed_retry('event', 'take'), sno_feed_retry('person', 'outside')});
		sql(q{SELECT sno_feed_pause('event', 'next', false)});
		return sql(q{SELECT count(*) FROM sno_feeds() WHERE state <> 'idle' OR set_aside > 0}) == 0;
	});
wait_until('the keeper has removed rows',
	sub { sql('SELECT count(*) FROM event') < sql('SELECT count(*) FROM written') });
my $last_row = sql('SELECT max(id) FROM written');
wait_until('the control has read the last row', sub { $torture->notes->{control}{$last_row} });
$torture->stop_clients;
$torture->stop_pooler;

#
# The check
#
my $notes = $torture->notes;
my (%committed, %rows);
foreach (split /\n/, sql('SELECT part, id FROM written ORDER BY id'))
{
	my ($part, $id) = split /\|/;
	push @{ $committed{$part} }, $id;
	$rows{$id} = 1;
}
note(sprintf '%-40s %6s %8s', 'fault', 'struck', 'seconds');
foreach my $name (grep { $_ ne 'none' } @{ $torture->{faults} })
{
	note(sprintf '%-40s %6d %8.1f', $name, $torture->{struck}{$name}, $torture->{seconds}{$name});
}
my $given = $notes->{rows};
note(scalar(keys %rows) . ' rows; given to readers: ' . join ', ', map { "$_ $given->{$_}" } sort keys %$given);

my %errors = map { $_ => 1 } @{ $notes->{errors} };
is(join('', sort keys %errors), '', 'clients met no other error');
is(scalar(grep { !$rows{$_} } keys %{ $notes->{commit} }), 0, 'each row that was committed is there');
cmp_ok(scalar(keys %{ $notes->{commit} }), '>', 0, '... and some were');
TortureReaders::report('reader "take"', $torture->check_reader('take', \%committed));
cmp_ok($torture->{aside}, '>', 0, "$torture->{aside} rows were set aside, and handled in the end");
TortureReaders::report('reader "outside"', $torture->check_reader('outside'));

is(sql('SELECT count(*) FROM (SELECT id FROM written EXCEPT SELECT id FROM seen) AS s'),
	0, 'reader "next": no row was missed');
is(sql('SELECT count(*) - count(DISTINCT id) FROM seen'), 0, '... each was handled once');
is(sql('SELECT count(*) FROM (SELECT id FROM seen EXCEPT SELECT id FROM written) AS s'),
	0, '... and no other one');
is( sql(
		q{SELECT count(*) FROM (
			SELECT id < lag(id) OVER (PARTITION BY part ORDER BY n) AS descends FROM seen JOIN written USING (id)
		) AS s WHERE descends}),
	0,
	'... in order within a part');

my $persons = sql('SELECT id, n FROM person ORDER BY id');
is(sql('SELECT id, n FROM person_copy ORDER BY id'), $persons, 'the copy within the database equals the table');
my $states = $notes->{states}{outside};
my %last = map { my $of = $states->{$_}; $_ => $of->{ (sort keys %$of)[-1] } } keys %$states;
my @there = sort { $a <=> $b } grep { $last{$_} ne 'gone' } keys %last;
is(join("\n", map { "$_|$last{$_}" } @there), $persons, '... and the one outside');

my $missed = grep { !$notes->{control}{$_} } keys %rows;
cmp_ok($missed, '>', 0, "control: a reader by id > last missed $missed rows");

#
# A mutant: done() without its check of the fence
#
sql(q{SELECT sno_feed_create_reader('event', 'mutant', 4, 'customer', start => 'now')});
my $mutant = TortureReaders->new;
my $body = sql(q{SELECT pg_get_functiondef('sno_feeds.lock_lease'::regproc)});
$body =~ s/ AND r\.fence = \$3// or die 'no check of a fence';
sql($body);
$mutant->{readers} = ['mutant'];
$mutant->lead_clients($torture->{node});
$mutant->start_clients(('Writer') x 2, ('LateTaker=mutant') x 4);
wait_until('the mutant is found', sub { usleep(500_000); %{ $mutant->check_reader('mutant') } });
append_to_file("$mutant->{dir}/drain", '');
$mutant->stop_clients;
$mutant->stop_pooler;
my $wrong = $mutant->check_reader('mutant');
note("$_: " . @{ $wrong->{$_} }) foreach sort keys %$wrong;
cmp_ok(scalar(keys %$wrong), '>', 0, 'done() without its check of the fence is found');

$torture->check_logs;
$torture->{node}->stop;
done_testing();

END
{
	local $?;
	$_->stop_pooler foreach grep { defined } $torture, $mutant;
}
