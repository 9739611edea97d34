
# The library and the catalog at different versions, and a library that is
# replaced while the server runs: sessions generate as before, or meet a clear
# error.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use NotedIds;
use SnoInstall;
use TestHelpers;

foreach my $tool ('make', (split ' ', pg_config('cc'))[0])
{
	plan
	  skip_all => "$tool is not installed"
	  if !grep { -x "$_/$tool" } '',
	  split /:/, $ENV{PATH};
}

my ($installation, $libraries, $scripts) = copy_installation();

# Replace the library that is installed, as an installation does.  Processes
# that have loaded the old one keep it.
sub replace_library
{
	my ($file) = @_;
	system_or_bail('cp', $file, "$libraries/new");
	rename "$libraries/new", "$libraries/sno.so"
	  or die "could not replace the library: $!";
	return;
}

my $released = pg_config('pkglibdir') . '/sno.so';
my $next     = build_library(
	'src/type/fields.c',
	sub {
		return $_[0] . q{
PG_FUNCTION_INFO_V1(sno_next);
Datum
sno_next(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(2);
}
};
	});
my $other_layout = build_library(other_layout());

my $node = start_node('main', install_path => $installation, conf => 'sno.lease_duration = 1h');
my $version = $node->safe_psql('postgres',
	q{SELECT extversion FROM pg_extension WHERE extname = 'sno'});
append_to_file("$scripts/sno--$version--next.sql",
	q{CREATE FUNCTION sno_next() RETURNS integer AS 'MODULE_PATHNAME' LANGUAGE C;}
);
append_to_file("$scripts/sno--next--later.sql",
	'ALTER TABLE sno_catalog.sno_lease ADD COLUMN more integer NOT NULL DEFAULT 0;'
);

my $notes = NotedIds->new;

# Check that a session generates; its ids are noted.
sub generates
{
	my ($session, $what) = @_;
	my ($noted) = $notes->add($session, $session->query_safe(ids_of(100)));
	is($noted, 100, "$what generates");
	return;
}

my $missing =
  qr/^ERROR:  42883: could not find function "sno_next" in file ".*sno\.so"$/m;
my $foreign_memory =
  qr/^ERROR:  55000: shared memory of extension "sno" belongs to another version of its library$/m;

#
# A catalog that is newer than the library
#
my $old = open_session($node, 'postgres');
generates($old, 'a session');
like(error_of($old, q{ALTER EXTENSION sno UPDATE TO 'next'}),
	$missing, 'an update without its library is an error');
is( $old->query_safe(
		q{SELECT extversion FROM pg_extension WHERE extname = 'sno'}),
	$version,
	'an update without its library changes nothing');

#
# A newer library under a running server, with the same layout of shared memory
#
replace_library($next);
my $new = open_session($node, 'postgres');
generates($new, 'a session with a newer library');
generates($old, 'a session with the older library beside it');
like(error_of($old, q{ALTER EXTENSION sno UPDATE TO 'next'}),
	$missing, 'a session with the older library cannot update the extension');
$new->query_safe(q{ALTER EXTENSION sno UPDATE TO 'next'});
is($new->query_safe('SELECT sno_next()'),
	2, 'a session with the newer library can update the extension');
like(error_of($old, 'SELECT sno_next()'),
	$missing, 'a new function is missing in the older library');
generates($old, 'after the update, a session with the older library');
generates($new, 'after the update, a session with the newer library');
close_session($new);

# Back to the older library
replace_library($released);
$new = open_session($node, 'postgres');
like(error_of($new, 'SELECT sno_next()'),
	$missing, 'back to the older library: the new function is missing');
generates($old, 'back to the older library: a session from before');
generates($new, 'back to the older library: a new session');
close_session($new);

# A table of leases that the library doesn't know
$node->safe_psql('postgres', 'CREATE DATABASE later');
replace_library($next);
$new = open_session($node, 'later');
$new->query_safe('CREATE EXTENSION sno');
generates($new, 'a session of another database');
$new->query_safe(q{ALTER EXTENSION sno UPDATE TO 'later'});
$new->query_safe('VACUUM FULL sno_catalog.sno_lease');
my $error;
wait_until('the session looks at the table',
	sub { $error = error_of($new, 'SELECT sno_generate()') });
like(
	$error,
	qr/^ERROR:  55000: table "sno_lease" of extension "sno" was altered$/m,
	'a table of another version is refused');
like(
	$error,
	qr/^HINT:  If the extension was updated, install its library of the same version, and reconnect\./m,
	'the error has a hint at the versions');
close_session($new);

#
# A library with another layout of shared memory
#
replace_library($other_layout);
$new = open_session($node, 'postgres');
for (1 .. 3)
{
	$error = error_of($new, 'SELECT sno_generate()');
	like($error, $foreign_memory,
		'another layout of shared memory is refused');
	like(
		$error,
		qr/^HINT:  The library was replaced while the server was running: restart the server\. See doc\/operations\.md#a-new-version-of-the-library\.$/m,
		'the error has a hint to restart the server');
}
like(
	$new->query_safe('SELECT item, detail FROM sno_check() WHERE NOT ok'),
	qr/^ids\|No id can be had: shared memory of extension "sno" belongs to another version of its library$/m,
	'sno_check() tells that');
is($new->query_safe(q{SELECT sno_meta('brpk4q72xwf2m63l')}),
	255, 'another layout of shared memory: ids can be read');
generates($old, 'another layout of shared memory: a session from before');
close_session($_) foreach ($old, $new);

$node->restart;
$notes->next_phase;
$new = open_session($node, 'postgres');
generates($new, 'after a restart, a session with the newer layout');
replace_library($released);
$old = open_session($node, 'postgres');
like(error_of($old, 'SELECT sno_generate()'),
	$foreign_memory, 'the older layout of shared memory is refused');
generates($new, 'the older layout of shared memory: a session from before');
close_session($_) foreach ($old, $new);
$node->restart;
$notes->next_phase;
$old = open_session($node, 'postgres');
generates($old, 'after a restart, a session with the older layout');

#
# No library at all
#
unlink "$libraries/sno.so";
like(
	(   $node->psql(
			'postgres', "\\set VERBOSITY verbose\nSELECT sno_generate()"))[2],
	qr/ERROR:  58P01: could not access file "sno": No such file or directory/,
	'a library that is gone is a clear error');
generates($old, 'a session that loaded the library before it was gone');
close_session($old);

$notes->check('all libraries');
check_log($node);
$node->stop;
done_testing();
