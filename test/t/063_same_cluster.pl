
# A database is replaced within its cluster: by a dump, by a copy that was made earlier, with
# the OID of before too.  The clock is then behind what the original issued after it was
# copied, and the server may have started again.  No named generator, layout or counter
# issues an id of the original again, and no feed loses a row.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestHelpers;

my $clock = FakeClock->new;
plan skip_all => 'libfaketime is not installed' if !defined $clock;

my $ahead = 1800;                    # a feed holds ids up to an hour ahead of the clock
my $dir   = PostgreSQL::Test::Utils::tempdir('dumps');
my $node  = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "log_statement = none\nsno.partitions = '100-65535'");
$clock->start_server($node);

my %call = (
	named   => q{sno_generate(1, 'named')},
	flake   => q{sno_flake('flake')},
	counter => q{sno_flake('counter')},
	session => 'sno_generate(1)');

# Issue many ids of each kind, in sessions of their own.
sub issue
{
	my ($dbname) = @_;
	return map {
		$_ => [
			split /\n/,
			$node->safe_psql(
				$dbname,
				"SELECT $call{$_} FROM generate_series(1, 20000)") ]
	} keys %call;
}

# Replace the database by the one that the sub makes; the OID of the former one is given.
sub replace
{
	my ($what, $make, $restart) = @_;
	$clock->set_offset(0);
	$node->safe_psql('postgres', 'CREATE DATABASE app');
	$node->safe_psql(
		'app', q{
CREATE EXTENSION sno;
SELECT sno_create_generator('named', 1), sno_create_flake('flake', 'snowflake', 1),
	sno_create_flake('counter', 'counter');
CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), message text);
INSERT INTO outbox (message) VALUES ('first')});
	issue('app');
	my $save = $make->('app');

	$clock->set_offset($ahead);
	my %original = issue('app');
	my $oid      = $node->safe_psql('postgres',
		q{SELECT oid FROM pg_database WHERE datname = 'app'});
	$node->safe_psql('postgres', 'DROP DATABASE app');
	$node->stop('immediate') if $restart;
	$clock->set_offset(0);
	$clock->start_server($node) if $restart;
	$save->($oid);

	my %replaced = issue('app');
	foreach my $kind (sort keys %call)
	{
		my %seen = map { $_ => 1 } @{ $original{$kind} };
		is(scalar(grep { $seen{$_} } @{ $replaced{$kind} }),
			0, "$what: no id of the original again: $kind");
	}
	$node->safe_psql('postgres', 'DROP DATABASE app');
	return;
}

# What makes a copy of the database returns what puts it in place.
my %copy = (
	dump => sub {
		my ($dbname) = @_;
		my $file = "$dir/$dbname.sql";
		$node->command_ok([ 'pg_dump', '-f', $file, $node->connstr($dbname) ], 'a dump');
		return sub {
			my ($oid) = @_;
			$node->safe_psql('postgres', 'CREATE DATABASE app');
			$node->command_ok(
				[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr('app') ],
				'it is restored');
		};
	},
	'dump, OID of before' => sub {
		my ($dbname) = @_;
		my $file = "$dir/$dbname.sql";
		$node->command_ok([ 'pg_dump', '-f', $file, $node->connstr($dbname) ], 'a dump');
		return sub {
			my ($oid) = @_;
			$node->safe_psql('postgres', "CREATE DATABASE app OID = $oid");
			$node->command_ok(
				[ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $file, $node->connstr('app') ],
				'it is restored');
		};
	},
	template => sub {
		$node->safe_psql('postgres', 'CREATE DATABASE kept TEMPLATE app');
		return sub {
			$node->safe_psql('postgres', 'ALTER DATABASE kept RENAME TO app');
		};
	},
	'template, OID of before' => sub {
		$node->safe_psql('postgres', 'CREATE DATABASE kept TEMPLATE app');
		return sub {
			my ($oid) = @_;
			$node->safe_psql('postgres', "CREATE DATABASE app OID = $oid TEMPLATE kept");
			$node->safe_psql('postgres', 'DROP DATABASE kept');
		};
	});
foreach my $how (sort keys %copy)
{
	foreach my $restart (0, 1)
	{
		replace($how . ($restart ? ', a crash' : ''), $copy{$how}, $restart);
	}
}

# A feed: readers have read up to a watermark of the original.  They go on in a copy.
{
	my $other = PostgreSQL::Test::Cluster->new('other');
	$other->init;
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
$node->stop;
check_log($node);
done_testing();
