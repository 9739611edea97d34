
# Servers that share a registry: each database issues only in partitions and times
# that were granted to it, in its place.  Copies get others.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use File::Copy qw(copy);
use PostgreSQL::Test::RecursiveCopy;
use Registry;
use TestHelpers;

my $registry = Registry->new('registry', '1024, 2047, 16');
my %holder;    # of each block that a database was seen to have
my $blocks = 0;

# Make ids; check that they are in partitions that this database alone has.
sub generates
{
	my ($what, $node, $dbname) = @_;
	$dbname //= 'postgres';
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @partitions = partitions_of($node->safe_psql($dbname, ids_of(10)));
	my $block      = int($partitions[0] / 16);
	my $who        = $node->name . " $dbname";
	is_deeply(
		[ map { $holder{$_} // $who }
			  grep { $_ >= 1024 && $_ <= 2047 && int($_ / 16) == $block }
			  @partitions ],
		[$who],
		$what);
	$holder{$_} = $who foreach @partitions;
	$holder{"block $block"} //= $who;
	is($holder{"block $block"}, $who, "$what: in a block of its own");
	return $block;
}

# The error of a call that makes an id, with a short wait.
sub refusal
{
	my ($node, $dbname, @params) = @_;
	my ($code, $out, $err) = $node->psql($dbname // 'postgres',
		"SET sno.max_wait = '100ms'; SELECT sno_generate();", @params);
	return $err;
}

# Check that it comes.  At first, the attempt to ask the registry may not have ended.
sub refuses
{
	my ($what, $expected, @call) = @_;
	wait_until($what, sub { refusal(@call) =~ $expected });
	pass($what);
	return;
}

sub new_server
{
	my ($name, @settings) = @_;
	my $node = start_node($name,
		allows_streaming => 1,
		conf => $registry->settings("cluster_name = '$name'", 'max_connections = 40', @settings));
	return $node;
}

my $a = new_server('a');
my $b = new_server('b');

#
# What is granted
#

is($a->safe_psql('postgres', q{SELECT string_agg(item, ' ') FROM sno_check() WHERE NOT ok}),
	'workers', 'sno_check() finds no fault before anything is granted, but that no process is reserved');
my $block_a = generates('a first server',  $a);
my $block_b = generates('a second server', $b);
$a->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE postgres');
generates('a copied database', $a, 'copied');
is( $a->safe_psql(
		'postgres', q{
SELECT layout IS NULL, last - first + 1, after IS NULL,
	until - now() BETWEEN interval '1 day - 1 min' AND interval '1 day'
FROM sno_grants()}),
	't|16|t|t',
	'sno_grants() shows it');
is( $registry->query(
		'SELECT string_agg(DISTINCT server, $$,$$ ORDER BY server) FROM sno_registry.blocks'
	),
	'a,b',
	'the registry knows the servers by name');
like(
	$a->safe_psql(
		'postgres',
		q{SELECT ok, detail FROM sno_check() WHERE item = 'registry'}),
	qr/^t\|The registry answered last at .* It granted this database 16 partitions until /,
	'so does sno_check()');
is( $a->safe_psql(
		'postgres',
		q{SELECT sno_generate(); SELECT max(lease_until) <= (SELECT until FROM sno_grants()) FROM sno_generators()}
	) =~ s/^.*\n//r,
	't',
	'leases end with the grant, or before');

# More loans than a block has partitions
{
	$b->safe_psql('postgres', 'SELECT sno_borrow_partition()') foreach 1 .. 20;
	my %blocks =
	  map { $_ => 1 } split /\n/, $b->safe_psql('postgres', 'SELECT DISTINCT partition / 16 FROM sno_catalog.sno_lease');
	is(scalar keys %blocks, 2, 'more loans get another block');
	ok(!defined $holder{"block $_"} || $holder{"block $_"} eq 'b postgres',
		"block $_ is of no other server")
	  foreach keys %blocks;
	$holder{"block $_"} = 'b postgres' foreach keys %blocks;
}

# Blocks that are granted to others while a session is idle
{
	my $c = new_server('c', "sno.lease_duration = '1s'");
	my $idle = open_session($c, 'postgres');
	my $partition_of =
	  sub { decode_id($idle->query_safe('SELECT sno_generate()'))->{partition} };

	# Leases use up blocks, so the registry is asked for one more.
	my $use_up = sub {
		$c->safe_psql('postgres', 'SELECT sno_borrow_partition() FROM generate_series(1, 16)')
		  foreach 1 .. $_[0];
	};

	my $first = $partition_of->();
	$registry->query("UPDATE sno_registry.block SET holder = 1 WHERE $first BETWEEN first AND last");
	$use_up->(1);
	wait_until('a session leaves a block that is lost',
		sub { $partition_of->() != $first });

	# It got two blocks instead.  One is granted to it again, from now on.
	my $second = $partition_of->();
	my $floor = $registry->query(
		"UPDATE sno_registry.block SET floor = sno_registry.unit_of(now()) WHERE $second BETWEEN first AND last RETURNING floor"
	) =~ s/\n.*//sr;
	$use_up->(2);
	wait_until(
		'a session knows the floor, or has another partition',
		sub {
			return 1 if $partition_of->() != $second;
			return $idle->query_safe("SELECT (sno_snapshot_generator()->>'wallSafe')::bigint >= $floor") eq 't';
		});
	pass('a session keeps to what is granted after it was idle');
	close_session($idle);
	$c->stop;
}

#
# The registry is down
#

$registry->node->stop('immediate');
is(generates('without the registry', $a), $block_a, 'it goes on');
$a->stop('immediate');
$a->start;
is(generates('after a crash', $a), $block_a, 'it goes on from the file');
kill_postmaster($a);
start_again($a);
is(generates('after a crash of the postmaster', $a),
	$block_a, 'it goes on from the file');

$a->safe_psql('postgres', 'CREATE DATABASE late TEMPLATE postgres');
refuses(
	'a new database has to wait for the registry',
	qr/ERROR:  the registry granted no partition for a sno within 100 ms\nDETAIL:  The last request to the registry failed: could not connect to the registry: .*\nHINT:  See item "registry" of sno_check/s,
	$a, 'late');
is($a->safe_psql('late', q{SELECT string_agg(item, ' ' ORDER BY item) FROM sno_check() WHERE NOT ok}),
	'ids registry workers', 'sno_check() finds that it has no partition');
like(
	$a->safe_psql(
		'postgres',
		q{SELECT ok, detail FROM sno_check() WHERE item = 'registry'}),
	qr/^f\|.*The last attempt, at .*, failed: could not connect/,
	'sno_check() tells');
$a->safe_psql('postgres', 'CREATE ROLE nobody LOGIN');
refuses(
	'not everybody sees the reason',
	qr/DETAIL:  The last request to the registry failed. The server log has the reason./,
	$a, 'late', extra_params => [ '-U', 'nobody' ]);

# Copies, while the registry is down: a base backup, and the folder copied
sub copy_of
{
	my ($name, $node, $how) = @_;
	my $copy = PostgreSQL::Test::Cluster->new($name);
	if ($how eq 'backup')
	{
		$node->backup($name);
		$copy->init_from_backup($node, $name);
	}
	else
	{
		$node->stop('immediate');
		my $folder = $copy->data_dir;
		mkdir $copy->basedir if !-d $copy->basedir;
		system_or_bail('cp', '-a', $node->data_dir, $folder);
		unlink "$folder/postmaster.pid";
		$copy->append_conf('postgresql.conf', 'port = ' . $copy->port);
		$node->start;
	}
	$copy->append_conf('postgresql.conf', "cluster_name = '$name'");
	return $copy;
}

my $clone = copy_of('clone', $a, 'backup');
my $moved = copy_of('moved', $a, 'folder');
$_->start foreach $clone, $moved;
like(refusal($_), qr/the registry granted no partition/,
	$_->name . ': a copy has no grants')
  foreach $clone, $moved;
is(generates('the original', $a), $block_a, 'it goes on');

$registry->node->start;
isnt(generates('a base backup', $clone), $block_a, 'it has another block');
isnt(generates('a copied folder', $moved), $block_a, 'it has another block');
generates('the new database', $a, 'late');
generates('the original',     $a);
unlike($a->safe_psql('postgres', q{SELECT detail FROM sno_check() WHERE item = 'registry'}),
	qr/failed/, 'sno_check() is content again');

# A standby that is promoted, while the old primary goes on
{
	my $standby = copy_of('standby', $b, 'backup');
	$standby->enable_streaming($b);
	$standby->start;
	$b->wait_for_catchup($standby, 'replay', $b->lsn('insert'));
	$standby->promote;
	isnt(generates('a promoted standby', $standby),
		$block_b, 'it has another block');
	generates('the old primary', $b);
	$standby->stop;
}

# A server that is promoted in place: it may have lost WAL, with rows that tell what it issued
# under its grants
{
	$registry->node->stop;
	$b->stop;
	append_to_file($b->data_dir . '/standby.signal', '');
	$b->start;
	$b->promote;
	like(refusal($b), qr/the registry granted no partition/, 'a server that is promoted in place has no grants');
	$registry->node->start;
	isnt(generates('a server that was promoted in place', $b), $block_b, 'it has another block');
}

#
# The file
#

my $file = $a->data_dir . '/sno.grants';

# A running machine that is copied with its memory can't be told from the copy, until
# one of both renews.  Here the file is taken back to an earlier state.
{
	$a->stop;
	copy($file, "$file.old") or die;
	$a->start;
	$a->safe_psql('postgres', 'SELECT sno_generate()');
	my $answer = sub {
		$a->safe_psql('postgres', 'SELECT sno_generate()');
		return $a->safe_psql('postgres',
			q{SELECT detail ~ 'answered last' FROM sno_check() WHERE item = 'registry'}
		) eq 't';
	};
	wait_until('it has renewed', $answer);
	$a->stop;
	rename "$file.old", $file or die;
	my $offset = -s $a->logfile;
	$a->start;
	wait_until('the registry has answered', $answer);
	like(slurp_file($a->logfile, $offset),
		qr/another server took over the grants of the database with OID/,
		'a state that others went on from is superseded');
	$holder{"block $block_a"} = 'nobody';
	my $new = generates('after that', $a);
	isnt($new, $block_a, 'it has another block');
	$block_a = $new;
}

# Forgotten: the blocks last until others come
{
	$registry->query('SELECT sno_registry_report_loss()');
	$a->stop;
	$a->start;
	wait_until(
		'it was granted others',
		sub {
			my $id = $a->safe_psql('postgres', 'SELECT sno_generate()');
			return int(decode_id($id)->{partition} / 16) != $block_a;
		});
	$block_a = generates('a server that was forgotten', $a);
	cmp_ok($block_a, '>=', (1024 + 256) / 16, 'in another part');
}

# A damaged file
{
	$a->stop;
	my $content = slurp_file($file);
	substr($content, 200, 1) ^= "\1";
	unlink $file;
	append_to_file($file, $content);
	$a->start;
	my $offset = -s $a->logfile;
	isnt(generates('a server whose file is damaged', $a),
		$block_a, 'it has another block');
	like(
		slurp_file($a->logfile, $offset),
		qr/LOG:  file "sno.grants" is damaged/,
		'and tells');
}

# Another database that gets the same OID
{
	my $create = 'CREATE DATABASE again TEMPLATE postgres OID = 50000';
	$a->safe_psql('postgres', $create);
	my $block = generates('a database', $a, 'again');
	$a->safe_psql('postgres', 'DROP DATABASE again');
	$a->safe_psql('postgres', $create);
	$a->restart;
	isnt(generates('another one with the same OID', $a, 'again'),
		$block, 'it has another block');
}

# A file that can't be written
{
	my $new = $a->data_dir . '/sno.grants.new';
	mkdir $new or die;
	$a->safe_psql('postgres', 'CREATE DATABASE unwritten TEMPLATE postgres');
	refuses(
		'nothing is asked that is not on disk',
		qr/DETAIL:  The last request to the registry failed: could not create file "sno.grants.new": Is a directory/,
		$a, 'unwritten');
	rmdir $new or die;
	wait_until(
		'the file can be written',
		sub {
			($a->psql('unwritten', 'SELECT sno_generate()'))[0] == 0;
		});
	generates('a database after that', $a, 'unwritten');
}

# Whatever happens while a request is on its way, it is repeated as it was.
{
	my $lock    = open_session($registry->node, 'postgres');
	my $holders = sub { $registry->query('SELECT count(*) FROM sno_registry.holder') };
	my $new     = $a->data_dir . '/sno.grants.new';

	# Ask for a new database, and let the registry keep the request.
	my $ask = sub {
		my ($dbname) = @_;
		$a->safe_psql('postgres', "CREATE DATABASE $dbname TEMPLATE postgres");
		$lock->query_safe('BEGIN; SELECT FROM sno_registry.settings FOR UPDATE');
		wait_until(
			'a request is sent',
			sub {
				refusal($a, $dbname);
				$registry->query(
					q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'asker' AND wait_event_type = 'Lock'}
				) == 1;
			});
	};

	my $before = $holders->();
	$ask->('unwritten_answer');
	mkdir $new or die;
	$lock->query_safe('COMMIT');
	wait_until(
		'the answer came',
		sub {
			$a->safe_psql('postgres',
				q{SELECT detail ~ 'could not create file' FROM sno_check() WHERE item = 'registry'}
			) eq 't';
		});
	is($a->safe_psql('unwritten_answer', 'SELECT count(*) FROM sno_grants()'),
		0, 'what is granted is not in force before it is on disk');
	rmdir $new or die;
	generates('a database whose answer is written later', $a, 'unwritten_answer');
	is($holders->(), $before + 1, 'the registry knows one holder');

	$ask->('lost_answer');
	$a->stop('immediate');
	$lock->query_safe('COMMIT');
	wait_until('the registry has granted', sub { $holders->() == $before + 2 });
	$a->start;
	generates('a database whose answer was lost', $a, 'lost_answer');
	is($holders->(), $before + 2, 'the registry knows one holder');
	close_session($lock);
}

# A configuration without the registry
{
	my $without = open_session($b, 'postgres');
	configure($b, 'sno.registry', '', $without);
	configure($b, 'sno.lease_duration', '1s', $without);
	like(
		error_of($without, 'SELECT sno_generate()'),
		qr/ERROR:  55000: parameter "sno.registry" is empty, but this server has grants of a registry.*HINT:  .*remove the file "sno.grants"/s,
		'no id without the registry');
	$without->query_safe("SELECT sno_create_generator('named', 1030)");
	like(
		error_of($without, "SELECT sno_generate(1, 'named')"),
		qr/ERROR:  55000: parameter "sno.registry" is empty/,
		'none of a named generator either');
	unlink $b->data_dir . '/sno.grants';
	like($without->query_safe('SELECT sno_generate()'),
		qr/^\w{16}$/, 'but if the file is gone');
	append_to_file($b->data_dir . '/sno.grants', '');
	wait_until(
		'the session finds the file again',
		sub {
			error_of($without, 'SELECT sno_generate()') =~
			  /parameter "sno.registry" is empty/;
		});
	unlink $b->data_dir . '/sno.grants';
	$b->append_conf('postgresql.conf', $registry->settings);
	$b->reload;
	wait_until('the registry is set',
		sub { $without->query_safe('SHOW sno.registry') ne '' });
	my $partition = decode_id($without->query_safe('SELECT sno_generate()'))->{partition};
	cmp_ok($partition, '>=', 1024, 'a session gives up what was not granted');
	close_session($without);
}

# Nobody does without the registry by an option of the connection.
foreach my $value ('', 'another')
{
	local $ENV{PGOPTIONS} = "-c sno.registry=$value";
	like(
		refusal($b),
		qr/ERROR:  parameter "sno.registry" cannot be set for a session/,
		"no id with the registry set to '$value' by a client");
}

# A database that is dropped while the registry is asked for it: its grants don't
# come into force in another one, which has its space in shared memory now.
{
	my $holders = 'SELECT count(DISTINCT holder) FROM sno_registry.blocks';
	my $before = $registry->query($holders);
	my $busy = open_session($registry->node, 'postgres');
	$busy->query_safe('BEGIN; SELECT FROM sno_registry.lock()');
	$a->safe_psql('postgres', 'CREATE DATABASE former TEMPLATE postgres');
	wait_until(
		'the registry is asked',
		sub {
			refusal($a, 'former');
			$registry->query(
				q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sno' AND wait_event_type = 'Lock'}
			) == 1;
		});
	$a->safe_psql('postgres', 'DROP DATABASE former');
	$a->safe_psql('postgres', 'CREATE DATABASE next TEMPLATE postgres');
	my $next = open_session($a, 'next', q{sno.max_wait = '10ms'});
	error_of($next, 'SELECT sno_generate()');
	$busy->query_safe('COMMIT');
	close_session($busy);
	wait_until('the next database has a grant',
		sub { error_of($next, 'SELECT sno_generate()') eq '' });
	is($registry->query($holders), $before + 2,
		'a database has none of the grants of a dropped one');
	close_session($next);
}

# A database that is dropped
generates('another database', $a, 'late');
$a->safe_psql('postgres', 'DROP DATABASE late');
my $size = -s $file;
$a->stop;
$a->start;
wait_until(
	'the file is written',
	sub {
		$a->safe_psql('postgres', 'SELECT sno_generate()');
		return -s $file < $size;
	});
pass('a dropped database is removed from the file');

check_log($_) foreach $a, $b, $clone, $moved;
done_testing();
