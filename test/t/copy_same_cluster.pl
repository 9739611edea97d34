
# A database is replaced within its cluster: by a dump, by a copy that was made earlier, with
# the OID of before too, or in place.  The clock then shows again what it showed when the
# original issued after it was copied, and the server may have started again.  No session,
# named generator, layout or counter issues an id of the original again, and no feed loses a
# row.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use File::Path qw(rmtree);
use POSIX qw(strftime);
use TestHelpers;

my $clock = FakeClock->new;

my $ahead = 1800;                    # a feed holds ids up to an hour ahead of the clock
my $dir   = PostgreSQL::Test::Utils::tempdir('dumps');
my $node  = new_node('main', allows_streaming => 1, conf => "sno.partitions = '100-65535'");
$clock->start_server($node);

my %call = (
	named   => q{sno_generate(1, 'named')},
	flake   => q{sno_flake_generate('flake')},
	counter => q{sno_flake_generate('counter')},
	session => 'sno_generate(1)');

# The moment of ids that the original issues after it was copied.  The clock stands still.
my $moment = strftime('%Y-%m-%d %H:%M:%S', gmtime(time + $ahead));

# Issue many ids of each kind, in sessions of their own.
sub issue
{
	my ($dbname) = @_;
	return map {
		$_ => [
			split /\n/,
			$node->safe_psql(
				$dbname,
				"SELECT $call{$_} FROM generate_series(1, 1000)") ]
	} keys %call;
}

# The same of a generator that is defined after the copy was made, on either.
sub issue_late
{
	my ($dbname) = @_;
	return split /\n/,
	  $node->safe_psql(
		$dbname, q{
SELECT FROM sno_create_generator('late', 2);
SELECT sno_generate(1, 'late') FROM generate_series(1, 1000)});
}

# Replace the database by the one that the sub makes of what another one has copied.
sub replace
{
	my ($what, $make, $restart) = @_;
	$clock->set_offset(0);
	$node->safe_psql('postgres', 'CREATE DATABASE app');
	$node->safe_psql(
		'app', q{
CREATE EXTENSION sno;
CREATE EXTENSION sno_flakes;
SELECT sno_create_generator('named', 1), sno_flake_create_generator('flake', 'snowflake', 1),
	sno_flake_create_generator('counter', 'counter');
CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), message text);
INSERT INTO outbox (message) VALUES ('first')});
	issue('app');
	my $save = $make->();

	$clock->stop_at($moment);
	my %original = (issue('app'), late => [ issue_late('app') ]);
	my $replace  = $save->();
	if ($restart)
	{
		$node->stop('immediate');
		$clock->start_server($node);
	}
	$replace->();

	my %replaced = (issue('app'), late => [ issue_late('app') ]);
	foreach my $kind (sort keys %replaced)
	{
		my %seen = map { $_ => 1 } @{ $original{$kind} };
		is(scalar(grep { $seen{$_} } @{ $replaced{$kind} }),
			0, "$what: no id of the original again: $kind");
	}
	$node->safe_psql('postgres', 'DROP DATABASE app');
	return;
}

# Drop the database; its OID.
sub drop
{
	my $oid = $node->safe_psql('postgres',
		q{SELECT oid FROM pg_database WHERE datname = 'app'});
	$node->safe_psql('postgres', 'DROP DATABASE app');
	return $oid;
}

sub dump_to
{
	my ($file) = @_;
	$node->command_ok([ 'pg_dump', '-f', $file, $node->connstr('app') ], 'a dump');
	return;
}

sub restore_from
{
	my ($file) = @_;
	$node->command_ok(
		[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr('app') ],
		'it is restored');
	return;
}

# What makes a copy of the database returns what removes the original, and that returns what
# puts the copy in place.
my %copy = (
	dump => sub {
		dump_to("$dir/app.sql");
		return sub {
			drop();
			return sub {
				$node->safe_psql('postgres', 'CREATE DATABASE app');
				restore_from("$dir/app.sql");
			};
		};
	},
	'dump, OID of before' => sub {
		dump_to("$dir/app.sql");
		return sub {
			my $oid = drop();
			return sub {
				$node->safe_psql('postgres', "CREATE DATABASE app OID = $oid");
				restore_from("$dir/app.sql");
			};
		};
	},
	'dump, into the same database' => sub {
		dump_to("$dir/app.sql");
		return sub {
			$node->safe_psql('app', 'DROP TABLE outbox; DROP EXTENSION sno_flakes; DROP EXTENSION sno');
			return sub {
				restore_from("$dir/app.sql");
				$node->safe_psql('app', 'VACUUM FREEZE sno_catalog.sno_lease');
			};
		};
	},
	'its folder, then sno_reseed()' => sub {
		$node->stop;
		system_or_bail('cp', '-a', $node->data_dir, "$dir/folder");
		$clock->start_server($node);
		return sub {
			return sub {
				$node->stop;
				rmtree($node->data_dir);
				rename "$dir/folder", $node->data_dir or die;
				$clock->start_server($node);
				$node->safe_psql('app', 'SELECT sno_reseed()');
			};
		};
	},
	template => sub {
		$node->safe_psql('postgres', 'CREATE DATABASE kept TEMPLATE app');
		return sub {
			drop();
			return sub {
				$node->safe_psql('postgres', 'ALTER DATABASE kept RENAME TO app');
			};
		};
	},
	'template, OID of before' => sub {
		$node->safe_psql('postgres', 'CREATE DATABASE kept TEMPLATE app');
		return sub {
			my $oid = drop();
			return sub {
				$node->safe_psql('postgres', "CREATE DATABASE app OID = $oid TEMPLATE kept");
				$node->safe_psql('postgres', 'DROP DATABASE kept');
			};
		};
	});
foreach my $how (sort keys %copy)
{
	foreach my $restart (0, 1)
	{
		replace($how . ($restart ? ', a crash' : ''), $copy{$how}, $restart);
	}
}

# Sessions of one database began when it had another row of pg_database, and another file.
# They don't take each other for other holders: nobody leaves a side or numbers out.
{
	$node->safe_psql('postgres', 'CREATE DATABASE app');
	$node->safe_psql(
		'app', q{
CREATE EXTENSION sno;
CREATE EXTENSION sno_flakes;
SELECT sno_create_generator('named', 1), sno_flake_create_generator('counter', 'counter')});
	my $file = $node->data_dir . '/base/'
	  . $node->safe_psql('app',
		'SELECT oid FROM pg_database WHERE datname = current_database()')
	  . '/PG_VERSION';
	my $both =
	  q{SELECT sno_tick_tock(sno_generate(1, 'named')) || ' ' || sno_flake_generate('counter')};
	my @session = (open_session($node, 'app'));
	is($session[0]->query_safe($both), 'false 1', 'the first session');
	chmod 0640, $file;
	chmod 0600, $file;
	push @session, open_session($node, 'app');
	is($session[1]->query_safe($both), 'false 2', 'one that began after the file changed');
	$node->safe_psql('postgres', 'ALTER DATABASE app CONNECTION LIMIT 20');
	push @session, open_session($node, 'app');
	is($session[2]->query_safe($both), 'false 3', 'one that began after ALTER DATABASE');
	foreach my $i (0 .. 5)
	{
		# The row is to be written again.
		$node->safe_psql('app', 'VACUUM FULL sno_catalog.sno_lease');
		is($session[ $i % 3 ]->query_safe($both), 'false ' . ($i + 4), "turn $i");
	}
	close_session($_) foreach @session;
	is($node->safe_psql('app', 'SELECT count(*) FROM sno_catalog.sno_lease WHERE kind = \'g\' AND partition = 1'),
		1, 'one row is written of a generator');
	$node->safe_psql('postgres', 'DROP DATABASE app');
}

# A feed: readers have read up to a watermark of the original.  They go on in a copy.
{
	my $other = new_node('other');
	$clock->set_offset($ahead);
	$node->stop;
	$clock->start_server($node);
	$node->safe_psql('postgres', 'CREATE DATABASE app');
	$node->safe_psql(
		'app', q{
CREATE EXTENSION sno;
CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), message text);
INSERT INTO outbox (message) VALUES ('first')});
	my $told = $node->safe_psql('app', 'SELECT sno_watermark()');
	$node->command_ok([ 'pg_dump', '-f', "$dir/feed.sql", $node->connstr('app') ], 'a dump');
	$clock->set_offset(0);
	$clock->start_server($other);
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	$node->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE app');
	$node->command_ok(
		[ 'psql', '-Xq', '-f', "$dir/feed.sql", $node->connstr('restored') ], 'restored here');
	$other->command_ok(
		[ 'psql', '-Xq', '-f', "$dir/feed.sql", $other->connstr('postgres') ],
		'restored elsewhere');
	foreach ([ $node, 'app' ], [ $node, 'restored' ], [ $node, 'copied' ], [ $other, 'postgres' ])
	{
		my ($server, $dbname) = @$_;
		my $id = $server->safe_psql($dbname,
			q{INSERT INTO outbox (message) VALUES ('next') RETURNING id});
		cmp_ok($id, 'ge', $told, $server->name . ", $dbname: a row isn't below what was read");
		cmp_ok($server->safe_psql($dbname, 'SELECT sno_watermark()'),
			'ge', $told, $server->name . ", $dbname: nor is a watermark");
	}
	$other->stop;
}

# A server is promoted in place.  A row that its owner inserts doesn't hide that.
$node->safe_psql('app', q{SELECT sno_create_generator('named', 1)});
is( decode_id($node->safe_psql('app', "SELECT $call{named}"))->{tick_tock},
	0, 'a generator begins on one side');
$node->stop;
append_to_file($node->data_dir . '/standby.signal', '');
$clock->set_offset(2 * 86400);
$clock->start_server($node);
$node->promote;
$node->safe_psql(
	'app', q{
INSERT INTO sno_catalog.sno_lease
SELECT holder, system_identifier, timeline + 1, database, kind, partition, layout, shard_min, shard_max,
	sequence, wall_hi, drifts, tick_until, tock_until, taken_at, home
FROM sno_catalog.sno_lease WHERE kind = 'g'});
is( decode_id($node->safe_psql('app', "SELECT $call{named}"))->{tick_tock},
	1, 'a successor enters the other side, whatever rows were inserted');
$node->stop;
check_log($node);
done_testing();
