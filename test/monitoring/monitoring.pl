
# The files of monitoring/, with the programs they are for: prometheus and promtool,
# prometheus-postgres-exporter and prometheus-sql-exporter.  No alert fires for servers
# that are well, and each does for servers in trouble.  Both exporters yield the same
# metrics, and the dashboard shows no others.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";

use FakeClock;
use HTTP::Tiny;
use IPC::Run;
use JSON::PP;
use POSIX qw(strftime);
use Registry;
use TestHelpers;
use Time::HiRes qw(usleep);

foreach my $tool (
	qw(prometheus promtool prometheus-postgres-exporter prometheus-sql-exporter))
{
	plan skip_all => "$tool is not installed"
	  if !grep { -x "$_/$tool" } split /:/, $ENV{PATH};
}

my $files = "$FindBin::RealBin/../../monitoring";
my $dir   = PostgreSQL::Test::Utils::tempdir('monitoring');

command_ok([ 'promtool', 'test', 'rules', "$FindBin::RealBin/alerts_test.yml" ],
	'promtool: alerts fire when they should, as long as they should');
command_ok([ 'promtool', 'check', 'config', "$files/prometheus.yml" ],
	'promtool: the example of a configuration');

#
# Servers: one that is well, one in trouble, and one that loses its registry
#
my $registry = Registry->new('registry', '0, 1023, 64');
$registry->query($_) foreach (
	q{SELECT sno_registry_add_layout('1288834974657/1/41/10/12', 0, 1023, 4)},
	'CREATE ROLE lonely LOGIN; GRANT EXECUTE ON FUNCTION sno_registry_renew TO lonely');

# A feed with a reader, and a row for it
my @feed = (
	'CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate())',
	q{SELECT sno_feed_create('outbox'), sno_feed_create_reader('outbox', 'mail', max_tries => 1)});
my @row = ('INSERT INTO outbox DEFAULT VALUES', q{CALL sno_feed_wait('outbox', 'mail')});

# The row is set aside.
my $fail = q{SELECT sno_feed_fail('outbox', 'mail', part, fence, id, 'mailbox full') FROM sno_feed_take(NULL::outbox, 'mail')};

# Start a server with a clock of its own, and settings.  In its database "app", an owner runs
# queries.  What the owner of another one planted must not run with the rights of who watches.
# That database also has a feed of another role, with a policy that calls a function of this role,
# on one server even when the role itself reads.  A name there can't be in XML.
sub start_server
{
	my ($name, $settings, @queries) = @_;
	my $node = new_node($name, conf => $settings);
	$node->{clock} = FakeClock->new;
	$node->{clock}->start_server($node, 1);

	$node->safe_psql('postgres', $_) foreach (
		'CREATE ROLE prometheus LOGIN IN ROLE pg_monitor',
		'ALTER ROLE prometheus SET search_path = pg_catalog',
		'CREATE DATABASE app', 'CREATE DATABASE hostile');
	$node->safe_psql('hostile', $_) foreach (
		'CREATE SCHEMA planted; GRANT USAGE ON SCHEMA planted TO PUBLIC',
		q{CREATE FUNCTION planted.current_database() RETURNS name LANGUAGE plpgsql AS $$BEGIN RAISE WARNING 'planted code runs'; RETURN 'app'; END$$},
		'CREATE EXTENSION sno', 'SELECT sno_generate()', 'CREATE EXTENSION sno_feeds',
		'CREATE ROLE mallory; CREATE ROLE guest; CREATE SCHEMA mallory AUTHORIZATION mallory; GRANT USAGE ON SCHEMA mallory TO PUBLIC',
		q{SET ROLE mallory; CREATE FUNCTION mallory.seen() RETURNS boolean LANGUAGE plpgsql AS $$BEGIN
			IF current_user = 'guest' THEN RAISE WARNING 'the policy is in force'; ELSE RAISE WARNING 'planted code runs'; END IF; RETURN true; END$$},
		q{SET ROLE mallory; CREATE TABLE mallory.box (id sno PRIMARY KEY DEFAULT sno_generate()); SELECT sno_feed_create('mallory.box');
		SELECT sno_feed_create_reader('mallory.box', 'mail' || chr(1)); GRANT SELECT ON ALL TABLES IN SCHEMA mallory TO PUBLIC},
		map({ "SET ROLE mallory; ALTER TABLE mallory.$_ ENABLE ROW LEVEL SECURITY;
		CREATE POLICY planted ON mallory.$_ AS RESTRICTIVE USING (mallory.seen())" } qw(box_readers box_aside)),
		$name eq 'trouble' ? 'SET ROLE mallory; ALTER TABLE mallory.box_readers FORCE ROW LEVEL SECURITY' : (),
		'SET ROLE guest; SELECT count(*) FROM mallory.box_readers',
		'ALTER DATABASE hostile SET search_path = planted, pg_catalog');
	$node->safe_psql('app', $_) foreach (
		'CREATE EXTENSION sno; CREATE EXTENSION sno_flakes; CREATE EXTENSION sno_feeds', @queries);
	return $node;
}

my $well = start_server(
	'well',
	$registry->settings("shared_preload_libraries = 'sno'"),
	q{SELECT sno_create_generator('orders', 60000), sno_flake_create_generator('post', 'snowflake')},
	q{SELECT sno_generate(1, 'orders'), sno_flake_generate('post')},
	@feed, @row, 'SELECT count(*) FROM sno_feed_next(NULL::outbox, $$mail$$)',
	q{CREATE TABLE event (id bigint PRIMARY KEY DEFAULT sno_flake_generate('post'))},
	q{SELECT sno_feed_create('event'), sno_feed_create_reader('event', 'mail')},
	'INSERT INTO event DEFAULT VALUES');
my $lonely = start_server('lonely', $registry->settings("shared_preload_libraries = 'sno'") =~ s/user=asker/user=lonely/r,
	@feed, q{SELECT sno_feed_create_reader('outbox', 'paused'), sno_feed_pause('outbox', 'paused')});
my $trouble = start_server(
	'trouble', "sno.partitions = '100-102'\nmax_worker_processes = 1\n",
	q{SELECT sno_flake_create_layout('short', date_trunc('day', now()), 1000, 24, sequence_bits => 8)},
	q{SELECT sno_flake_create_generator('short', 'short', 0)},
	@feed, @row, $fail, 'CREATE TABLE event (id sno PRIMARY KEY)', q{SELECT sno_feed_create('event')},
	'ALTER TABLE event DISABLE TRIGGER zz_sno_feed');
my @nodes = ($well, $lonely, $trouble);

my %sessions = (
	well    => [ map { open_session($well,    'app') } 1 .. 2 ],
	lonely  => [ map { open_session($lonely,  'app') } 1 .. 2 ],
	trouble => [ map { open_session($trouble, 'app') } 1 .. 3 ]);

#
# Exporters of all of them, and Prometheus, which looks each second
#
my @running;

END
{
	my $status = $?;
	$_->{run}->kill_kill foreach @running;
	$? = $status;
}

sub start_program
{
	my (@command) = @_;
	my $log = "$dir/$command[0]." . @running . '.log';
	push @running,
	  { start => sub { IPC::Run::start(\@command, '<', '/dev/null', '>>', $log, '2>&1') } };
	$running[-1]{run} = $running[-1]{start}->();
	return;
}

# Start what has ended, as a service manager does.  prometheus-sql-exporter ends if it is asked at the
# very moment at which it stores the result of a query.
sub keep_running
{
	foreach my $program (@running)
	{
		$program->{run} = $program->{start}->() if !$program->{run}->pumpable;
	}
	return;
}

sub free_address { return '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port(); }

# A file of monitoring/ with other words in it, each of which must be there.
sub edit_file
{
	my ($name, $as, @replacements) = @_;
	my $text = slurp_file("$files/$name");
	while (my ($from, $to) = splice @replacements, 0, 2)
	{
		$text =~ s/\Q$from\E/$to/g or die "$name has no $from";
	}
	append_to_file("$dir/$as", $text);
	return "$dir/$as";
}

foreach my $node (@nodes)
{
	my ($host, $port) = ($node->host, $node->port);
	$node->{exporters} = { sno => free_address(), sno_sql => free_address() };

	local $ENV{DATA_SOURCE_NAME} = "host=$host port=$port user=prometheus dbname=postgres sslmode=disable";
	start_program(
		'prometheus-postgres-exporter', '--auto-discover-databases',
		'--disable-default-metrics',    '--disable-settings-metrics',
		"--extend.query-path=$files/postgres_exporter.yml",
		"--web.listen-address=$node->{exporters}{sno}");

	my $url = "postgres://prometheus@/app?host=$host&port=$port";
	my $config = edit_file(
		'sql_exporter.yml', $node->name . '.yml',
		'interval: 1m'                                         => 'interval: 1s',
		'- postgres://prometheus@/app?host=/var/run/postgresql' => "- $url\n      - " . $url =~ s/app/hostile/r);
	start_program('prometheus-sql-exporter', "-config.file=$config",
		"-web.listen-address=$node->{exporters}{sno_sql}");
}

sub targets
{
	my ($job) = @_;
	return join ', ', map { "'$_->{exporters}{$job}'" } @nodes;
}

# The alerts that wait for some minutes don't wait here: promtool has tested that.
append_to_file("$dir/alerts.yml", slurp_file("$files/alerts.yml") =~ s/^ +for: .*\n//gmr);
my $config = edit_file(
	'prometheus.yml', 'prometheus.yml',
	"\nscrape_configs:"   => "\nglobal: {evaluation_interval: 1s}\nscrape_configs:",
	'scrape_interval: 1m' => 'scrape_interval: 1s',
	'"localhost:9187"'    => targets('sno'),
	'"localhost:9237"'    => targets('sno_sql'));
my $prometheus = free_address();
start_program('prometheus', "--config.file=$config", "--storage.tsdb.path=$dir/tsdb",
	"--web.listen-address=$prometheus");

# What Prometheus answers; undef if it isn't ready yet, or calls the question invalid.
sub ask
{
	my ($path, %parameters) = @_;
	my $http = HTTP::Tiny->new;
	usleep(50_000);
	keep_running();
	my $answer = $http->get("http://$prometheus/api/v1/$path?" . $http->www_form_urlencode(\%parameters));
	return $answer->{success} ? decode_json($answer->{content})->{data} : undef;
}

# The labels of what a query finds.
sub series
{
	my ($query) = @_;
	my $data = ask('query', query => $query) // { result => [] };
	return map { $_->{metric} } @{ $data->{result} };
}

# The alerts of a server, through one of the exporters.
sub alerts_of
{
	my ($node, $job) = @_;
	my %fire;
	foreach my $alert (@{ ask('alerts')->{alerts} })
	{
		my $l = $alert->{labels};
		next if $l->{instance} ne $node->{exporters}{$job};
		$fire{"$l->{alertname}" . (defined $l->{item} ? " $l->{item}" : '')} = 1;
	}
	return join ', ', sort keys %fire;
}

# Wait until a server has exactly these alerts, whichever exporter it has.
sub wait_for_alerts
{
	my ($node, $expected, $meanwhile) = @_;
	my $seen = '';
	eval {
		wait_until(
			'alerts fire',
			sub {
				$meanwhile->() if defined $meanwhile;
				return 2 == grep { ($seen = alerts_of($node, $_)) eq $expected } qw(sno sno_sql);
			});
	};
	is($@ eq '' ? $expected : $seen, $expected, $node->name . ": these alerts fire: $expected");
	return;
}

#
# All is well
#
sub make_ids
{
	foreach my $node (@_)
	{
		$_->query_safe('SELECT sno_generate()') foreach @{ $sessions{ $node->name } };
	}
	return;
}

# Each server has two databases with sno.
wait_until(
	'Prometheus has the metrics of all',
	sub {
		make_ids($well, $lonely);
		return (() = series('sno_check_fault{item="clock"}')) == 4 * @nodes
		  && (() = series('changes(sno_generators_issued{name=""}[5m]) > 0')) == 4
		  && (() = series('sno_grants_left_seconds{datname="app", layout=""}')) == 4;
	});
my $all_there = time;
wait_until(
	'the alerts are evaluated',
	sub {
		return ask('query', query => "min(timestamp(sno_check_fault) > $all_there + 1)")->{result}[0]
		  && ask('rules')->{groups}[0]{lastEvaluation} gt strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $all_there + 2);
	});
wait_for_alerts($_, '') foreach $well, $lonely;
wait_for_alerts($trouble, 'SnoFault layouts, SnoFeedProblem, SnoFeedRowsAside, SnoPartitionsLow');

is(scalar(() = series(qq(sno_feeds_problems{datname="hostile", instance="$trouble->{exporters}{sno}"} == 1))),
	1, 'a policy that would be executed is a problem');

# What both exporters yield is the same.
sub names_of
{
	my ($job) = @_;
	return [
		sort map {
			my $l = $_;
			join ' ', map { "$_=$l->{$_}" } grep { !/^(job|instance|server)$/ } sort keys %$l
		} series(qq({__name__=~"sno_.*", job="$job", instance="$well->{exporters}{$job}"}))
	];
}
is_deeply(names_of('sno_sql'), names_of('sno'), 'both exporters yield the same metrics');
my %yielded = map { $_->{__name__} => 1 } series('{__name__=~"sno_.*"}');
is(keys %yielded, 18, 'all metrics are yielded');

#
# The dashboard: panels that fit, and queries that find something
#
my $dashboard = decode_json(slurp_file("$files/grafana.json"));
my (%ids, %cells, $queries);
foreach my $panel (@{ $dashboard->{panels} })
{
	my ($title, $at) = @$panel{qw(title gridPos)};
	ok(!$ids{ $panel->{id} }++, "panel $title: its number is its own");
	ok($at->{x} >= 0 && $at->{x} + $at->{w} <= 24, "panel $title: it is within the columns");
	my @cells = map {
		my $x = $_;
		map { "$x $_" } $at->{y} .. $at->{y} + $at->{h} - 1
	} $at->{x} .. $at->{x} + $at->{w} - 1;
	ok(!(grep { $cells{$_}++ } @cells), "panel $title: it covers no other one");
	foreach my $target (@{ $panel->{targets} })
	{
		is($target->{datasource}{uid}, '${datasource}', "panel $title: it asks the data source that is chosen");
		my $query = $target->{expr} =~ s/\$(datname|instance)\b/.*/gr;
		ok(scalar(series($query)), "panel $title finds something: $query");
	}
}
my $alerts = slurp_file("$files/alerts.yml");
my %named  = map { $_ => 1 } "$alerts@{[ JSON::PP->new->encode($dashboard) ]}" =~ /\b(sno_(?:check|partitions|generators|watermark|feeds|grants)_\w+)/g;
is_deeply([ sort keys %named ], [ sort keys %yielded ],
	'the dashboard and the alerts name what is yielded, and nothing else');

#
# Trouble: the clock of one server is set back twice, by more than watermarks allow.  Its only open
# partition then has no side left, and the others are lent, so a session waits.  Its leases are
# locked, and its library is of another version than the extension.  No worker can notify listeners of the waits.
#
my @more = map { open_session($trouble, 'app') } 1 .. 2;
$more[0]->query_safe('SELECT sno_generate()');
$trouble->safe_psql('app', q{SELECT sno_borrow_partition('1 day') FROM generate_series(1, 2)});
$trouble->{clock}->set_offset(-2 * 3600);
wait_until('the clock is seen to have stepped',
	sub {
		make_ids($trouble);
		return $trouble->safe_psql('app', q{SELECT ok FROM sno_check() WHERE item = 'clock'}) eq 'f';
	});
wait_until(
	'Prometheus knows that no session waited',
	sub {
		return 2 == grep {
			series(qq(sno_generators_waits{name="", instance="$trouble->{exporters}{$_}"} == 0))
		} qw(sno sno_sql);
	});
$trouble->{clock}->set_offset(-4 * 3600);
wait_until('the session sees the clock',
	sub { $more[0]->query_safe('SELECT extract(epoch FROM clock_timestamp())') < time - 3 * 3600 });
send_query($more[0], "SET sno.max_wait = '1d'; SELECT sno_generate()");
wait_until('a session waits',
	sub { $trouble->safe_psql('app', 'SELECT sum(waits) FROM sno_generators()') > 0 });
$more[1]->query_safe('BEGIN; LOCK TABLE sno_catalog.sno_lease');
$trouble->safe_psql('app', "UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'sno'");
wait_for_alerts($trouble,
	join(', ', map { "SnoFault $_" } qw(clock generators holders ids layouts leases partitions version watermarks workers))
	  . ', SnoFeedProblem, SnoFeedRowsAside, SnoPartitionsLow, SnoWaits');

# The registry of a server turns it away, when most of the time is over for which it granted
# something, and when the server may use none of the partitions that it granted.  Meanwhile a
# transaction stays open, and a reader doesn't read.
$lonely->safe_psql('app', $_) foreach @row;
$sessions{lonely}[1]->query_safe('BEGIN; SELECT sno_generate()');
$registry->query('ALTER ROLE lonely NOLOGIN');
$registry->query(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'lonely'});
$lonely->{clock}->set_offset(15 * 3600);
# Processes see the new clock one after another, so meanwhile some are behind a watermark.
wait_until('the session sees the clock',
	sub { $sessions{lonely}[0]->query_safe('SELECT extract(epoch FROM clock_timestamp())') > time + 14 * 3600 });
$sessions{lonely}[0]->query_safe('SELECT sno_generate()');
configure($lonely, 'sno.partitions', '2000-2001', $sessions{lonely}[0]);
like(error_of($sessions{lonely}[0], q{SET sno.max_wait = '1ms'; SELECT sno_generate()}), qr/ERROR:  53400/, 'the registry turns the server away');
wait_for_alerts(
	$lonely,
	'SnoFault clock, SnoFault ids, SnoFault registry, SnoFeedHeldBack, SnoFeedLags, SnoGrantsLow, SnoPartitionsLow',
	sub { $lonely->safe_psql($_, 'SELECT sno_reset_watermark()') foreach 'app', 'hostile' });
is(scalar(() = series('ALERTS{alertname="SnoFeedLags", reader="paused"}')), 0, 'lonely: no alert of a reader that is paused');

# A role that lost its right to look, while nothing else is wrong
wait_for_alerts($well, '');
$well->safe_psql('app', 'REVOKE EXECUTE ON FUNCTION sno_check() FROM pg_monitor');
wait_for_alerts($well, 'SnoUnwatched');
$well->safe_psql('app', 'GRANT EXECUTE ON FUNCTION sno_check() TO pg_monitor');
wait_for_alerts($well, '');
close_session($_) foreach @{ $sessions{well} };
$well->stop;
wait_for_alerts($well, 'SnoUnwatched');

foreach my $node (@nodes)
{
	unlike(slurp_file($node->logfile), qr/planted code/, $node->name . ': nothing planted ran');
	like(slurp_file($node->logfile), qr/the policy is in force/, $node->name . ': the policy is in force');
}
drop_session($_) foreach @more, @{ $sessions{trouble} }, @{ $sessions{lonely} };
$_->{run}->kill_kill foreach splice @running;
$_->stop('immediate') foreach $lonely, $trouble, $registry->node;

done_testing();
