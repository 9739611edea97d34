
# sno_portable as an extension of pg_tle, installed by the owner of a database, who is no
# superuser: created, moved to sno and back, dumped and dropped.  The commands of
# doc/managed.md are run here.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;
use SnoInstall;

plan skip_all => 'pg_tle is not installed' unless -e pg_config('pkglibdir') . '/pg_tle.so';

my $folder = "$FindBin::RealBin/../../portable";
my $node   = new_node('main', conf => "shared_preload_libraries = 'pg_tle'");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE DATABASE app OWNER owner; CREATE DATABASE copy OWNER owner');
$node->safe_psql($_, 'CREATE EXTENSION pg_tle; GRANT pgtle_admin TO owner') foreach qw(app copy);

# Run a script of the folder, in the folder, as the owner.
sub run_script
{
	my ($script) = @_;
	$node->command_ok([ 'sh', '-c', 'cd "$0" && exec psql -Xq1 -U owner -v ON_ERROR_STOP=1 -f "$1" "$2"',
			$folder, $script, $node->connstr('app') ], $script);
	return;
}

sub ask
{
	my ($query, $dbname) = @_;
	return $node->safe_psql($dbname // 'app', $query, extra_params => [ '-U', 'owner' ]);
}

run_script('pg_tle.sql');
ask('CREATE SCHEMA app; CREATE EXTENSION sno_portable;
	CREATE TABLE app.document (id uuid PRIMARY KEY DEFAULT sno.sno_generate_uuidv8());
	INSERT INTO app.document SELECT FROM generate_series(1, 1000)');
my $extension = q{SELECT extname, extowner::regrole FROM pg_extension WHERE extname LIKE 'sno%'};
is(ask($extension), 'sno_portable|owner', 'the owner of the database creates it');

# A copy, in a database that has pg_tle already, goes on elsewhere.
my $dump = $node->basedir . '/dump';
$node->command_ok([ 'pg_dump', '-U', 'owner', '-f', $dump, $node->connstr('app') ], 'a dump');
my (undef, $err) = run_command([ 'psql', '-XqU', 'owner', '-o', '/dev/null', '-f', $dump, $node->connstr('copy') ]);
is(join("\n", $err =~ /ERROR:  (.*)/g), qq{schema "pgtle" already exists\nmust be owner of extension pg_tle}, 'restored');
my $counter = 'SELECT last_value FROM sno.counter';
ask('INSERT INTO app.document DEFAULT VALUES', 'copy');
cmp_ok(abs(ask($counter, 'copy') - ask($counter)), '>', 10_000, 'its counter begins elsewhere');

run_script('move.sql');
is(ask($extension), 'sno|owner', 'moved to sno');
run_script('move.sql');
is(ask($extension), 'sno_portable|owner', 'moved back');
is(ask('INSERT INTO app.document DEFAULT VALUES; SELECT count(*) FROM app.document'), '1001', 'the default is there');
ask('DROP TABLE app.document; DROP EXTENSION sno_portable; DROP SCHEMA app');

$node->stop;
check_log($node);
done_testing();
