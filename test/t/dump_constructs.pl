
# An application's schema comes back from a dump as one whose keys are uuids does: each kind of
# dump, restored by psql or pg_restore, by a superuser or by the owner.  psql goes on after an
# error, and its exit status is 0.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $node = new_node('main');
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN');
my $dir       = PostgreSQL::Test::Utils::tempdir('constructs');
my $superuser = getpwuid $>;

my %values = (
	sno  => [ "'2222222222222222'::sno", "'9q7lkdko263dq225'::sno" ],
	uuid => [ "'00000000-0000-0000-0000-000000000000'::uuid", "'3ddb2424-0000-8000-8000-000000000000'::uuid" ]);

sub connection { return $node->connstr($_[0]) . " user=$_[1]"; }

# A new database of the owner; with nothing in it if the dump creates what is there.
sub create
{
	my ($name) = @_;
	$node->safe_psql('postgres', "DROP DATABASE IF EXISTS $name");
	$node->safe_psql('postgres', "CREATE DATABASE $name OWNER owner TEMPLATE template0");
	return;
}

sub rows
{
	my ($name) = @_;
	return $node->safe_psql($name, 'SELECT * FROM app.pair ORDER BY n; TABLE app.checked_late; TABLE app.grouped; TABLE app.computed');
}

my (%definitions, %rows);
foreach my $type (sort keys %values)
{
	my $script = constructs_with($type, @{ $values{$type} });
	$script = 'CREATE EXTENSION sno; ' . $script if $type eq 'sno';
	# There is no min(uuid) before PostgreSQL 18.
	$script =~ s/min\(a\), max\(a\)/1 AS min, 2 AS max/ if $type eq 'uuid';
	create($type);
	$node->safe_psql($type, $script, connstr => connection($type, 'owner'));
	$definitions{$type} = definitions_of(connection($type, 'owner'), '-n', 'app');
	$rows{$type} = rows($type);
}

# Definitions with sno as they are with uuid.
sub as_uuid
{
	my ($text) = @_;
	$text =~ s/\Q$values{sno}[$_]\E/$values{uuid}[$_]/g foreach 0, 1;
	$text =~ s/'9q7lkdko263dq225'/'3ddb2424-0000-8000-8000-000000000000'/g;
	$text =~ s/\bmin\((?:pair\.)?a\) AS min/1 AS min/;
	$text =~ s/\bmax\((?:pair\.)?a\) AS max/2 AS max/;
	return $text =~ s/\bsno(?=\b|_ops)/uuid/gr;
}
is(as_uuid($definitions{sno}), $definitions{uuid}, 'definitions with sno are those with uuid');
cmp_ok(scalar(() = $definitions{sno} =~ /^CREATE /gm), '>', 60, 'there are more than 60 of them');

my %dumps = (
	plain     => [],
	inserts   => ['--inserts'],
	custom    => ['-Fc'],
	directory => [ '-Fd', '-j2' ],
	schema    => ['--schema-only'],
	chosen    => [ '-n', 'app' ],
	tables    => [ map { ('-t', "app.$_") } qw(pair other keyed checked generated excluded distinct_from row_less natural_left grouped) ]);
my %tables;
foreach my $type (sort keys %values)
{
	foreach my $dump (sort keys %dumps)
	{
		foreach my $user ($superuser, 'owner')
		{
			my @options = @{ $dumps{$dump} };
			my $what    = "$type, $dump, restored by " . ($user eq 'owner' ? $user : 'a superuser');
			my $file    = "$dir/$type.$dump.$user";
			$node->command_ok([ 'pg_dump', '-f', $file, @options, '-d', connection($type, $user) ], "$what: pg_dump");
			create('restored');
			$node->safe_psql('restored', 'CREATE EXTENSION sno') if $dump =~ /chosen|tables/;
			$node->safe_psql('restored', 'CREATE SCHEMA app AUTHORIZATION owner') if $dump eq 'tables';
			my (undef, $err) = run_command(
				$dump =~ /custom|directory/
				? [ 'pg_restore', '-d', connection('restored', $user), $file ]
				: [ 'psql', '-Xq', '-f', $file, connection('restored', $user) ]);
			is($err, '', "$what: no error");
			my $restored = definitions_of(connection('restored', 'owner'), '-n', 'app');
			if ($dump eq 'tables')
			{
				# Without statistics and schema, and so also for uuid.
				push @{ $tables{$user} }, $type eq 'sno' ? as_uuid($restored) : $restored;
				next;
			}
			is($restored, $definitions{$type}, "$what: the same definitions");
			is(rows('restored'), $rows{$type}, "$what: the same rows") if $dump ne 'schema';
			is(($node->psql('restored', 'REFRESH MATERIALIZED VIEW app.computed; REFRESH MATERIALIZED VIEW app.grouped'))[2],
				'', "$what: a superuser refreshes materialized views");
		}
	}
}

is($tables{$_}[0], $tables{$_}[1], 'single tables come back with all that comes back with uuid') foreach sort keys %tables;

$node->stop;
done_testing();
