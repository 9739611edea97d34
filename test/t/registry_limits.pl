
# What is granted has limits: times, partitions, and the time that it takes to be
# told of them.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use IO::Socket::INET;
use Registry;
use TestHelpers;

my $clock = FakeClock->new;

my $registry_clock = FakeClock->new;
my $registry =
  Registry->new('registry', '1024, 1407, 16', $registry_clock);

my $node = start_node('node', clock => $clock, conf => $registry->settings);

# The value of an expression, of an id made first if there is one
sub value { return $node->safe_psql('postgres', "SELECT $_[0]"); }

sub error
{
	my ($query, $dbname) = @_;
	my ($code, $out, $err) = $node->psql(
		$dbname // 'postgres',
		"SET sno.max_wait = '200ms'; $query",
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return $err;
}

# How many registry clients a server has
sub clients_of
{
	my ($server) = @_;
	return $server->safe_psql('postgres',
		q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'sno registry client'}
	);
}

#
# The clock
#

my $first = decode_id(value('sno_generate()'));
my $until = value('until FROM sno_grants()');

my $session = open_session($node, 'postgres');
$session->query_safe("LOAD 'sno'");
configure($node, 'sno.lease_duration', '1d', $session);
$clock->set_offset(20 * 3600);
is(decode_id(value('sno_generate()'))->{partition} >> 4,
	$first->{partition} >> 4, 'ids go on until the end of the grant');
is(value('max(tick_until) <= (SELECT max(until) FROM sno_grants()) FROM sno_catalog.sno_lease'),
	't', 'no lease goes beyond the grant');
configure($node, 'sno.lease_duration', '1min', $session);
close_session($session);

# Nobody makes ids for longer than the grant.
$clock->set_offset(30 * 3600);
wait_until(
	'sno_check() finds no fault with grants that nobody wants to renew',
	sub {
		value("NOT bool_or(until >= now()) FROM sno_grants()") eq 't'
		  && value("ok FROM sno_check() WHERE item = 'registry'") eq 't';
	});
pass('grants that are over are no fault if nobody makes ids');
$clock->set_offset(0);

# Background workers of PostgreSQL 15 have the real clock under libfaketime, so here it is
# the registry whose clock is behind.  It caps what a server asks for.
$registry_clock->set_offset(-26 * 3600);
$node->safe_psql('postgres', 'CREATE DATABASE ahead TEMPLATE postgres');
like(
	error('SELECT sno_generate()', 'ahead'),
	qr/ERROR:  53400: the registry granted no partition for a sno within 200 ms\nDETAIL:  Its grants to this database have ended, begin after this server's clock, or are outside of "sno.partitions"/,
	'no id after that, if the clock is a day ahead of the registry');
wait_until(
	'sno_check() tells how far',
	sub {
		error('SELECT sno_generate()', 'ahead');
		$node->safe_psql('ahead', q{SELECT detail FROM sno_check() WHERE item = 'registry' AND NOT ok}) =~
		  /Its clock was ahead by -9[34]\d\d\d\.\d\d\d s/;
	});
pass('sno_check() tells how far');
$registry_clock->set_offset(0);
wait_until('the clocks are right',
	sub { ($node->psql('ahead', 'SELECT sno_generate()'))[0] == 0 });
pass('ids are made when the clocks are right');

# A block whose floor is ahead of the clock is of no use.
{
	my $b = start_node('b', conf => $registry->settings);
	$registry->query(
		"UPDATE sno_registry.block SET ceiling = sno_registry.unit_of(now() + '1 hour'), holder = 1 WHERE holder IS NULL"
	);
	my $session = open_session($b, 'postgres', q{sno.max_wait = '200ms'});
	my $error;
	wait_until(
		'the registry has answered',
		sub {
			$error = error_of($session, 'SELECT sno_generate()');
			$error =~ /DETAIL:  The last request to the registry failed: It has no more partitions to grant, or this database has its share\./;
		});
	like($error, qr/ERROR:  53400: the registry granted no partition /, 'the registry has none left');
	$registry->query(
		'UPDATE sno_registry.block SET ceiling = 0, holder = NULL WHERE holder = 1');
	wait_until(
		'there are partitions',
		sub {
			($b->psql('postgres', 'SELECT sno_generate()'))[0] == 0;
		});
	pass('they are granted when there are some');
	$b->stop;
}

#
# Given times
#

my $past = value("sno_generate_at('2011-12-13 14:15:16+00')");
is(decode_id($past)->{partition} >> 4,
	$first->{partition} >> 4, 'an id of a past time, in a block that is new');
like(
	error("SELECT sno_generate_at(now() + interval '2 days')"),
	qr/ERROR:  53400: no partition is left for a sno of a given time\nDETAIL:  Half of the partitions that the registry granted for that time/,
	'no id of a time that is not granted');
ok(value("sno_generate_at(now() + interval '1 hour')"),
	'an id of a time to come');

# A block that was another holder's before begins at its ceiling.
{
	$registry->query(q{
UPDATE sno_registry.block SET ceiling = sno_registry.unit_of(now() - interval '1 hour'), holder = 1
WHERE holder IS NULL});
	$node->safe_psql('postgres', 'CREATE DATABASE other TEMPLATE postgres');
	my $id = decode_id(
		$node->safe_psql('other', 'SELECT sno_generate()'));
	isnt($id->{partition} >> 4, $first->{partition} >> 4, 'another block');
	my ($code, $out, $err) = $node->psql('other',
		"SELECT sno_generate_at(now() - interval '2 hours')");
	like($err, qr/no partition is left for a sno of a given time/,
		'no id of a time before it was granted');
	ok( $node->safe_psql(
			'other', "SELECT sno_generate_at(now() - interval '30 min')"),
		'but of one after that');
	is( $node->safe_psql(
			'other',
			"SELECT now() - after BETWEEN interval '1 hour' AND interval '1 hour 1 min' FROM sno_grants()"
		),
		't',
		'sno_grants() tells');
}

#
# Leases for applications, and named generators
#

is( $node->safe_psql(
		'postgres',
		q{SELECT until = (SELECT until FROM sno_grants()) AND (snapshot->'partition'->>0)::int * 256 + (snapshot->'partition'->>1)::int BETWEEN g.first AND g.last
FROM sno_borrow_partition('3 days') AS l, LATERAL (SELECT first, last FROM sno_grants()) AS g}
	),
	't',
	'a lease for an application ends with the grant');

is(value("sno_create_generator('outside', 1023)"),
	1023, 'a named generator outside of the range of the registry');
ok(value("sno_generate(1, 'outside')"), 'it issues ids');
like(
	error("SELECT sno_create_generator('inside', 1279)"),
	qr/ERROR:  55000: partition 1279 is one that the registry grants/,
	'none within it');
like(
	error("SELECT sno_create_generator('any')"),
	qr/ERROR:  55000: no partition can be chosen/,
	'it has to be told which');
$node->append_conf('postgresql.conf', "sno.registry = ''");
$node->reload;
my $file = $node->data_dir . '/sno.grants';
rename $file, "$file.kept";
wait_until('there is no registry',
	sub { ($node->psql('postgres', "SELECT sno_create_generator('inside', 1279)"))[0] == 0 });
ok(value("sno_generate(1, 'inside')"), 'a named generator without a registry');
rename "$file.kept", $file;
$node->append_conf('postgresql.conf', $registry->settings);
$node->reload;
wait_until('there is a registry', sub { value("current_setting('sno.registry')") ne '' });
like(
	error("SELECT sno_generate(1, 'inside')"),
	qr/ERROR:  55000: partition 1279 of generator "inside" is one that the registry grants/,
	'it stops when there is a registry');
like(value(q{detail || hint FROM sno_check() WHERE item = 'generators' AND NOT ok}),
	qr/partition 1279 of generator "inside" is one that the registry grants.* See doc\/servers\.md/,
	'sno_check() tells that');

# Grants are renewed when half of them is over, while ids are made.
{
	my $b_clock = FakeClock->new;
	my $b       = new_node('renewing',
		conf => $registry->settings('sno.grant_duration = 2h', 'sno.lease_duration = 1s'));
	$b_clock->start_server($b, 0, 1);
	$b->safe_psql('postgres', 'CREATE EXTENSION sno');
	my $session = open_session($b, 'postgres');
	my $until   = sub { $session->query_safe('SELECT until FROM sno_grants()') };
	$session->query_safe('SELECT sno_generate()');
	my $first = $until->();
	$b_clock->set_offset(65 * 60);
	wait_until(
		'the grant is renewed',
		sub {
			$session->query_safe('SELECT sno_generate()');
			return $until->() ne $first;
		});
	is($session->query_safe("SELECT clock_timestamp() < '$first'"),
		't', 'a grant is renewed before it is over');
	close_session($session);
	$b->stop;
}

#
# A registry that doesn't answer
#

{
	my $silent = IO::Socket::INET->new(
		LocalAddr => '127.0.0.1',
		Listen    => 5) or die $!;
	my $port = $silent->sockport;
	my $b    = start_node('silent',
		conf => "sno.registry = 'host=127.0.0.1 port=$port user=asker dbname=postgres'");
	$b->safe_psql('postgres', 'CREATE DATABASE other TEMPLATE postgres');
	my $session = open_session($b, 'other', q{sno.max_wait = '100ms'});
	like(
		error_of($session, 'SELECT sno_generate()'),
		qr/ERROR:  53400: the registry granted no partition for a sno within 100 ms.*DETAIL:  The registry has not answered yet/s,
		'a session waits no longer than it may');
	close_session($session);
	wait_until('the registry client waits', sub { clients_of($b) == 1 });
	$b->safe_psql('postgres', 'DROP DATABASE other');
	pass('a database can be dropped meanwhile');
	is( $b->safe_psql(
			'postgres',
			q{SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'sno registry client'}
		),
		1,
		'it is terminated');
	wait_until('the registry client has ended', sub { clients_of($b) == 0 });
	$b->psql('postgres', "SET sno.max_wait = '100ms'; SELECT sno_generate()");
	$b->stop;
	pass('the server stops while the registry client waits');

	# A server that starts again goes on from the file, in all its databases.
	$node->append_conf('postgresql.conf',
		"sno.registry = 'host=127.0.0.1 port=$port user=asker dbname=postgres'");
	$node->stop('immediate');
	$clock->start_server($node);
	$node->safe_psql('postgres', "SET sno.max_wait = '3min'; SELECT sno_generate()");
	wait_until('the registry client waits', sub { clients_of($node) == 1 });
	ok( $node->safe_psql('ahead', "SET sno.max_wait = '3min'; SELECT sno_generate()"),
		'a database goes on while the registry client waits for another one');
}

#
# All background workers are taken by parallel queries of a role that may just connect
#

my $large = Registry->new('large', '0, 65535');
foreach my $preloaded (1, 0)
{
	my $of      = $preloaded ? 'a server that preloads the library' : 'a server that does not';
	my $b_clock = FakeClock->new;
	my $b       = start_node($preloaded ? 'preloaded' : 'unreserved',
		clock => $b_clock,
		conf => $large->settings('max_worker_processes = 4', 'sno.notify_overflow = off', $preloaded ? q{shared_preload_libraries = 'sno'} : ()),
		sql => 'SELECT sno_generate(); CREATE ROLE bob LOGIN');
	$b->safe_psql('postgres', 'CREATE DATABASE other TEMPLATE postgres');
	is( $b->safe_psql('postgres', 'SELECT item FROM sno_check() WHERE NOT ok'),
		$preloaded ? '' : 'workers',
		"$of: sno_check() tells whether a process is reserved for the registry client");

	my $taken = sub {
		$b->safe_psql('postgres', q{
SELECT count(*) FROM pg_stat_activity
WHERE backend_type NOT IN ('client backend', 'autovacuum launcher', 'checkpointer', 'background writer',
	'walwriter', 'startup', 'archiver', 'io worker') AND backend_type !~ '^(autovacuum|walsender)'});
	};
	wait_until('the client has ended that asked for the first id', sub { $taken->() == 1 + $preloaded });

	# One worker each, unless a place isn't free yet whose process has ended.
	my $parallel = $b->safe_psql('postgres',
		q{SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')});
	my @bobs;
	wait_until(
		'all background workers are taken',
		sub {
			return 1 if $taken->() == 4;
			push @bobs, do {
				local $ENV{PGUSER} = 'bob';
				open_session($b, 'postgres', "$parallel = on", 'max_parallel_workers = 8');
			};
			send_query($bobs[-1], 'SELECT pg_sleep(86400)');
			wait_until('he sleeps, with or without a worker', sub {
				$b->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'}) == @bobs });
			return 0;
		});

	if ($preloaded)
	{
		ok($b->safe_psql('other', 'SELECT sno_generate()'), "$of: it is granted what it asks for");
		is($b->safe_psql('other', 'SELECT item FROM sno_check() WHERE NOT ok'), '', "$of: nothing is wrong");
	}
	else
	{
		my $refused = sub { $b->psql('other', q{SET sno.max_wait = '100ms'; SELECT sno_generate()}, stderr => \my $err); $err };
		my $logged = sub {
			return () = slurp_file($b->logfile) =~ /LOG:  could not start a background worker to ask the registry/g;
		};
		like(
			$refused->(),
			qr/ERROR:  the registry granted no partition .*\nDETAIL:  The last request to the registry failed: could not start a background worker to ask the registry\n/m,
			"$of: the error names the cause");
		is($b->safe_psql('other', q{SELECT string_agg(item, ' ') FROM sno_check() WHERE NOT ok}),
			'ids workers registry', "$of: so does sno_check()");
		is(scalar($logged->()), 1, "$of: and the log");
		$b_clock->set_offset(61);
		wait_until('the log repeats it', sub { $refused->(); $logged->() == 2 });
		pass("$of: the log repeats it, once a minute");
		$b_clock->set_offset(0);
	}
	drop_session($_) foreach @bobs;
	$b->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'bob'});
	wait_until('ids are made when they are gone', sub { ($b->psql('other', 'SELECT sno_generate()'))[0] == 0 });
	is($b->safe_psql('other', q{SELECT item FROM sno_check() WHERE NOT ok AND item NOT IN ('workers', 'clock')}),
		'', "$of: afterwards all is well");

	# The process that stays goes on whatever happens to it.
	if ($preloaded)
	{
		my $client = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'sno registry client'};
		my $pid = $b->safe_psql('postgres', $client);
		$b->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
		wait_until('it is started again', sub { ($b->safe_psql('postgres', $client) || $pid) ne $pid });
		$b->safe_psql('postgres', 'CREATE DATABASE third TEMPLATE postgres');
		ok($b->safe_psql('third', 'SELECT sno_generate()'), "$of: it is granted more");
	}
	check_log($b);
	$b->stop;
}

check_log($node);
done_testing();
