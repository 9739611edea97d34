
# The page doc/operations.md, word for word: its commands are run on real servers, each on
# the machine that its first line names, and what the page shows after them is compared.
# No id comes twice meanwhile, and sno_check() never finds a fault.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Cwd ();
use NotedIds;
use SnoInstall;
use TestHelpers;

skip_without_seal();

foreach my $tool ('make', (split ' ', pg_config('cc'))[0])
{
	plan
	  skip_all => "$tool is not installed"
	  if !grep { -x "$_/$tool" } '',
	  split /:/, $ENV{PATH};
}

my $top  = "$FindBin::RealBin/../..";
my $page = slurp_file("$top/doc/operations.md");

# A new version of the library, to be installed where the page says so
my ($installation, $libraries, $scripts) = copy_installation();
my ($version) = slurp_file("$top/sno.control") =~ /default_version = '(\d+\.\d+)'/;
my $next         = "$version.1";
my $next_library = build_library('sno.control',
	sub { $_[0] =~ s/(default_version = )'[^']*'/$1'$next'/r });
$ENV{PATH} = "$installation/bin:$ENV{PATH}";

sub install_next_version
{
	unlink "$libraries/sno.so", "$scripts/sno.control";
	system_or_bail('cp', $next_library, "$libraries/sno.so");
	append_to_file("$scripts/sno.control",
		slurp_file("$top/sno.control") =~
		  s/(default_version = )'[^']*'/$1'$next'/r);
	append_to_file("$scripts/sno--$version--$next.sql",
		'CREATE FUNCTION sno_next() RETURNS integer LANGUAGE sql RETURN 1;');
	foreach my $other (grep { -e "$scripts/$_.control" }
		qw(sno_flakes sno_feeds sno_seal))
	{
		unlink "$scripts/$other.control";
		append_to_file("$scripts/$other.control",
			slurp_file("$top/$other.control") =~
			  s/(default_version = )'[^']*'/$1'$next'/r);
		append_to_file("$scripts/$other--$version--$next.sql",
			"CREATE FUNCTION ${other}_next() RETURNS integer LANGUAGE sql RETURN 1;"
		);
	}
	return;
}

# Blocks that are not run as they are, by what they contain, with what is done instead:
# one that takes the rights of root, and one that older servers refuse
my %replaced = ('sudo make install' => \&install_next_version);
my ($major) = qx(pg_config --version) =~ /(\d+)/;
$replaced{'ALTER OPERATOR FAMILY'} = sub { }
  if $major < 18;

#
# The machines
#
my $backup   = PostgreSQL::Test::Utils::tempdir('backup');
my %machines = map { $_ => PostgreSQL::Test::Cluster->new($_ =~ s/ /_/gr) }
  ('server', 'copy', 'restored server', 'standby', 'new server',
	'upgraded server', 'next server');

END
{
	my $status = $?;
	foreach my $node (values %machines)
	{
		system_log('pg_ctl', '-D', $node->data_dir, '-m', 'immediate', 'stop')
		  if -e $node->data_dir . '/postmaster.pid';
	}
	$? = $status;
}

# When the standby was promoted
my $promoted;

# Make the data folder of a machine.  A copy of it listens on the port of its own machine,
# which the environment tells.
sub init_machine
{
	my ($name) = @_;
	my $node = $machines{$name};
	$node->init(
		allows_streaming => 'logical',
		has_archiving    => $name eq 'server');
	my $file = $node->data_dir . '/postgresql.conf';
	my $conf = slurp_file($file) =~ s/^port = .*$//mr;
	unlink $file;
	append_to_file($file, "${conf}log_statement = none\n");
	return;
}

sub environment
{
	my ($name) = @_;
	my $node   = $machines{$name};
	my $server = $machines{server};
	return (
		PGDATA     => $node->data_dir,
		PGHOST     => $node->host,
		PGPORT     => $node->port,
		PGDATABASE => 'app',
		PRIMARY    => 'host=' . $server->host . ' port=' . $server->port,
		BACKUP     => $backup,
		ARCHIVE    => $server->archive_dir,
		PROMOTED   => $promoted // '',
		OLD_PGDATA => $server->data_dir,
		OLD_BIN    => "$installation/bin",
		PGPORTOLD  => PostgreSQL::Test::Cluster::get_free_port(),
		PGPORTNEW  => $node->port);
}

# Run a program on a machine; returns its output.  It must succeed.
sub run_on
{
	my ($name, $what, @command) = @_;
	my %environment = environment($name);
	local @ENV{ keys %environment } = values %environment;
	my $folder = Cwd::getcwd();
	chdir $machines{$name}->host or die "could not change the folder: $!";
	my ($out, $err) = ('', '');
	my $result =
	  IPC::Run::run(\@command, '<', '/dev/null', '>', \$out, '2>', \$err);
	chdir $folder or die "$folder: $!";
	ok($result, "run on the $name: $what") or diag("$out$err");
	return $out;
}

sub query_on
{
	my ($name, $query, $database) = @_;
	return run_on($name, $query, 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1',
		'-c', $query, defined $database ? ('-d', $database) : ()) =~ s/\n\z//r;
}

sub control { return run_on($_[0], "pg_ctl $_[1]", 'pg_ctl', '-l', 'server.log', '-m', 'fast', $_[1]); }

init_machine('server');
control('server', 'start');

#
# What is done before and after a block that contains a text; each sub gets the machine
#
my ($loaded, $order);
my $rows_in_order =
  q{SELECT md5(string_agg(concat(name, ' ', body), ',' ORDER BY p.id, m.id)) FROM person AS p JOIN message AS m ON m.person_id = p.id};

my %before = (
	'pg_reload_conf' => sub {
		$loaded = query_on($_[0], 'SELECT pg_conf_load_time()');
	},

	# The owner of another database plants what takes the rights of whoever looks there.
	'everywhere() {' => sub {
		query_on('server', 'CREATE ROLE mallory', 'postgres');
		query_on('server', 'CREATE DATABASE hostile OWNER mallory', 'postgres');
		query_on('server', $_, 'hostile') foreach (
			q{SET ROLE mallory;
			CREATE SCHEMA planted;
			CREATE FUNCTION planted.run() RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE WARNING 'planted code runs'; RETURN true; END$$;
			CREATE VIEW planted.pg_extension AS SELECT 'sno'::name AS extname WHERE planted.run();
			CREATE FUNCTION planted.sno_check() RETURNS boolean LANGUAGE sql RETURN planted.run();
			CREATE FUNCTION planted.sno_reseed() RETURNS boolean LANGUAGE sql RETURN planted.run();
			CREATE FUNCTION planted.set_config(text, text, boolean) RETURNS text LANGUAGE plpgsql AS $$BEGIN PERFORM planted.run(); RETURN pg_catalog.set_config($1, $2, $3); END$$;
			CREATE FUNCTION planted.current_database() RETURNS name LANGUAGE plpgsql AS $$BEGIN PERFORM planted.run(); RETURN pg_catalog.current_database(); END$$},
			'ALTER DATABASE hostile SET search_path = planted, pg_catalog');
	},

	# What a reader of the page may have
	'CREATE ROLE watcher' => sub {
		query_on('server', $_) foreach (
			q{SELECT sno_create_generator('orders', 60000), sno_flake_create_generator('flake', 'snowflake', 1)},
			q{SELECT sno_generate(1, 'orders'), sno_flake_generate('flake'), sno_generate_at('2020-01-01')},
			q{CREATE EXTENSION sno_seal},
			q{SELECT sno_seal_create_key('url')},
			q{SELECT sno_flake_create_layout('ours', '2020-01-01', 1000, 30, 6, 8)},
			q{SELECT sno_flake_create_generator('own', 'ours'), sno_flake_generate('own')});
	},
	'pg_restore --create' => sub { start_new($_[0]) },
	'pg_ctl promote' => sub { $promoted = query_on($_[0], 'SELECT now()') },

	# The old primary has one row whose id came twice, and one whose id didn't.
	'CREATE SCHEMA old' => sub {
		my $id = query_on('server',
			q{WITH p AS (INSERT INTO person (name) VALUES ('old, once'), ('old, twice') RETURNING *),
			m AS (INSERT INTO message (person_id, body) SELECT id, name FROM p)
			SELECT id FROM p WHERE name = 'old, twice'});
		query_on($_[0], "INSERT INTO person VALUES ('$id', 'new')");
	},
	'CREATE SUBSCRIPTION' => sub { start_new($_[0]) },
	'DROP SUBSCRIPTION'   => sub {
		query_on('server', q{INSERT INTO person (name) VALUES ('at the end')});
	},
	'pg_upgrade -d' => sub {
		init_machine($_[0]);
		control('server', 'stop');
	},

	# As after an upgrade to 16, and from 17
	'ADD TYPE' => sub {
		query_on('server', 'ALTER EXTENSION sno DROP TYPE sno[]', $_)
		  foreach 'app', 'app_test';
	},
	'ALTER OPERATOR FAMILY' => sub {
		foreach my $database ('app', 'app_test')
		{
			query_on('server',
				'ALTER OPERATOR FAMILY sno_ops USING btree DROP FUNCTION 6 (sno, sno);
				ALTER OPERATOR FAMILY sno_ops USING gist DROP FUNCTION 12 ("any", "any")',
				$database);
		}
	},
	'DROP EXTENSION sno;' => sub {
		query_on('server',
			'INSERT INTO person (name) SELECT n FROM generate_series(1, 1000) AS n;
			INSERT INTO message (person_id, body) SELECT id, n FROM person, generate_series(1, 2) AS n');
		$order = query_on('server', $rows_in_order);
	},
);

my $notes = NotedIds->new;
my %after = (
	'pg_reload_conf' => sub {
		my ($name) = @_;
		wait_until('the settings are loaded',
			sub { query_on($name, 'SELECT pg_conf_load_time()') ne $loaded });
	},
	'pg_switch_wal' => sub {
		wait_until(
			'the WAL is in the archive',
			sub {
				query_on('server',
					'SELECT last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 1) FROM pg_stat_archiver'
				) eq 't';
			});
	},
	'INSERT INTO person' => sub { check_ids($_[0]) },
	'DROP SUBSCRIPTION' => sub {
		is( query_on($_[0],
				q{SELECT (SELECT count(*) FROM person WHERE name = 'at the end'), (SELECT string_agg(name, ',' ORDER BY name) FROM (SELECT name FROM sno_catalog.sno_generator UNION ALL SELECT name FROM sno_catalog.sno_flake_generator) AS g), (SELECT count(*) FROM sno_catalog.sno_flake_layout WHERE NOT built_in)}
			),
			'1|flake,orders,own|1',
			'all rows, generators and layouts have moved');
		check_flakes($_[0]);
	},
	'psql -q -f "$BACKUP/keys.sql"' => sub {
		my $seal = q{SELECT sno_seal(bigint '1', 'url')};
		is(query_on($_[0], $seal), query_on('server', $seal), 'the key is restored');
		check_flakes($_[0]);
	},
	'createdb chosen' => sub {
		is(query_on($_[0], 'SELECT name FROM sno_catalog.sno_flake_layout WHERE NOT built_in', 'chosen'),
			'ours', 'layouts are in a dump of chosen schemas');
	},

	# Here the old primary lives on.  Other parts of the page are about it alone.
	'sno.partitions = \'32768' => sub { control('server', 'start') },
	'old.message ON CONFLICT' => sub {
		is( query_on($_[0],
				q{SELECT string_agg(name || ': ' || coalesce(body, 'none'), '; ' ORDER BY name) FROM person AS p LEFT JOIN message ON person_id = p.id WHERE name ~ 'old|^new'}
			),
			'new: none; old, once: old, once; old, twice: old, twice',
			'no row of the old primary is lost');
		control($_[0], 'stop');
	},
	'pg_upgrade -d' => sub {
		check_ids($_[0]);
		check_flakes($_[0]);
		control($_[0], 'stop');
		control('server', 'start');
	},
	'DROP EXTENSION sno;' => sub {
		is(query_on('server', $rows_in_order), $order, 'uuids have the order of the ids');
		is(query_on('server', 'SELECT count(*) FROM pg_namespace WHERE nspname = $$sno_catalog$$'),
			0, 'the extension is gone');
	},
	'TYPE sno USING' => sub {
		is(query_on('server', $rows_in_order), $order, 'the ids are back');
		check_ids('server');
	});

sub start_new
{
	my ($name) = @_;
	init_machine($name);
	control($name, 'start');
	return;
}

# A machine makes ids, and finds no fault.
sub check_ids
{
	my ($name) = @_;
	$notes->add($name,
		query_on($name,
			'SELECT sno_generate(3) FROM generate_series(1, 100)'));
	$notes->add("$name, named",
		query_on($name,
			q{SELECT sno_generate(3, name) FROM sno_catalog.sno_generator, generate_series(1, 100) WHERE name = 'orders'}
		));
	is(query_on($name, 'SELECT item, detail FROM sno_check() WHERE NOT ok'),
		'', "$name: sno_check() finds no fault");
	return;
}

# The generators of flakes, and the layout, are there and go on.
sub check_flakes
{
	my ($name) = @_;
	is( query_on($name,
			q{SELECT string_agg(name, ',' ORDER BY name) FROM sno_catalog.sno_flake_generator WHERE sno_flake_generate(name) > 0}
		),
		'flake,own',
		"$name: generators of flakes go on");
	return;
}

#
# The blocks
#
my $functions = '';
my $output;
while ($page =~ /^```(\w[^\n]*)\n(.*?)^```$/msg)
{
	my ($kind, $text) = ($1, $2);
	my ($name) = $text =~ /\A(?:#|--) On the (.*)\n/;
	my ($line) = grep { !/^(#|--) On the/ } split /\n/, $text;
	$name //= 'server';
	if ($kind eq 'text result')
	{
		my $expected = join '.*?', map { quotemeta } split /\.\.\./, $text;
		$expected = '\A' if $text eq '';
		like($output, qr/$expected\n?\z/, 'its result');
		next;
	}
	# The tests that the page names try what is for files of settings, and for a build.
	next if $kind eq 'ini' || $kind eq 'text';
	my ($replaced) = grep { $text =~ /\Q$_/ } keys %replaced;
	if (defined $replaced)
	{
		$replaced{$replaced}->();
		next;
	}
	$_->($name) foreach map { $before{$_} } grep { $text =~ /\Q$_/ } sort keys %before;
	if ($kind eq 'sql')
	{
		$output = run_on($name, $line, 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-c', '\set QUIET', '-f', text_file($text));
	}
	elsif ($kind eq 'sh')
	{
		$output = run_on($name, $line, 'bash', '-euc', "set -o pipefail\n$functions$text");
		($functions) = $text =~ /^(\w+\(\) \{.*?^\}\n)/ms if $functions eq '';
		$functions //= '';
	}
	else
	{
		fail("a block of kind $kind");
	}
	$_->($name) foreach map { $after{$_} } grep { $text =~ /\Q$_/ } sort keys %after;
}
$notes->check_unique('all machines');
foreach my $name (sort keys %machines)
{
	my $log = $machines{$name}->host . '/server.log';
	unlike(slurp_file($log), qr/planted code runs/, "$name: nothing planted ran")
	  if -e $log;
}

# A file with this text
sub text_file
{
	my ($text) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir('block') . '/block.sql';
	append_to_file($file, $text);
	return $file;
}

#
# The table of errors has each error of the sources that may be met in operation
#
my @known =
  map { join '".*"', map { join '.*', map { quotemeta } split /\.\.\./ } split /"[^"]*"/ }
  map { split /; / } $page =~ /^\| \w{5} \| ([^|]+) \|/mg;
foreach my $file (split /\n/, qx(find '$top/src' -name '*.c'))
{
	my $source = slurp_file($file);
	while ($source =~
		/errcode\(ERRCODE_(CONFIGURATION_LIMIT_EXCEEDED|OBJECT_NOT_IN_PREREQUISITE_STATE|LOCK_NOT_AVAILABLE|OBJECT_IN_USE|UNDEFINED_TABLE|DEPENDENT_OBJECTS_STILL_EXIST|DATETIME_FIELD_OVERFLOW|SEQUENCE_GENERATOR_LIMIT_EXCEEDED)\),\s*errmsg\("((?:[^"\\]|\\.)*)"/g)
	{
		my $message = $2 =~ s/\\"/"/gr;
		ok((grep { $message =~ /^$_/ } @known), "the page knows: $message");
	}
}

foreach my $name (sort keys %machines)
{
	control($name, 'stop') if -e $machines{$name}->data_dir . '/postmaster.pid';
}
done_testing();
