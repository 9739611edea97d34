
# The rights of roles on feeds.  And a hostile role can't let its code run with the privileges of
# a role that creates, reads or watches feeds.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $node = start_node('main', sql => q{
CREATE ROLE owner LOGIN;
CREATE ROLE member LOGIN IN ROLE owner;
CREATE ROLE mail LOGIN;
CREATE ROLE clerk LOGIN;
CREATE ROLE watcher LOGIN IN ROLE pg_monitor;
CREATE ROLE backup LOGIN IN ROLE pg_read_all_data;
CREATE ROLE mallory LOGIN;
CREATE EXTENSION sno_feeds;
CREATE EXTENSION citext;
GRANT ALL ON SCHEMA public TO owner, mallory;
GRANT CREATE ON DATABASE postgres TO mallory});
my $log_read = 0;

# The output of a query of a role, and its errors
sub as
{
	my ($user, $sql) = @_;
	my (undef, $out, $err) = $node->psql('postgres', $sql, connstr => $node->connstr('postgres') . " user=$user");
	return $out . ($err =~ s/^psql:<stdin>:\d+: //gmr =~ s/^(?!ERROR).*\n?//gmr);
}

# As whom hostile code ran since the last call, except mallory
sub what_ran
{
	my $log = slurp_file($node->logfile, $log_read);
	$log_read += length $log;
	my %roles = map { $_ => 1 } $log =~ /hostile code runs as (\w+)/g;
	delete $roles{mallory};
	return join ' ', sort keys %roles;
}
as('mallory', q{
CREATE SCHEMA hostile;
GRANT USAGE ON SCHEMA hostile TO PUBLIC;
CREATE FUNCTION hostile.check() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
	RAISE LOG 'hostile code runs as %', current_user;
	PERFORM set_config('search_path', 'hostile', false);
	RETURN true;
END $$;
CREATE FUNCTION hostile.fire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	PERFORM hostile.check();
	RETURN NEW;
END $$});
as('mail', 'SELECT hostile.check()');
is(what_ran(), 'mail', 'the test sees hostile code');

#
# Roles
#
is(as('owner', q{
CREATE TABLE event (id sno PRIMARY KEY DEFAULT sno_generate(), n integer);
SELECT sno_feed_create('event');
SELECT sno_feed_create_reader('event', 'mail', role => 'mail'), sno_feed_create_reader('event', 'other');
CREATE TABLE person (id integer PRIMARY KEY, name text);
CALL sno_feed_create_changes('person');
SELECT sno_feed_create_reader('person', 'mail', role => 'mail');
GRANT INSERT, UPDATE, DELETE, SELECT ON event, person TO clerk}) =~ s/^\|?\n?//gmr, '', 'the owner creates feeds and readers');
is(as('clerk', q{INSERT INTO event (n) VALUES (1); INSERT INTO person VALUES (1, 'one'); UPDATE person SET id = 2}), '',
	'a writer needs no privilege on the tables of a feed');
wait_until('rows are below the watermark', sub { as('owner', 'SELECT max(id) < sno_watermark() FROM event') eq 't' });
like(as('clerk', 'UPDATE person_changes SET deleted = false'), qr/permission denied for table person_changes/, 'it may not change them');
like(as('clerk', q{SELECT * FROM sno_feed_next(NULL::event, 'mail')}), qr/permission denied for table event_readers/, 'reading needs a privilege');
is(as('mail', q{BEGIN; SELECT n FROM sno_feed_next(NULL::event, 'mail'); ROLLBACK}), '1', 'the role of a reader reads');
is(as('mail', q{SELECT sno_feed_fail('event', 'mail', part, fence, id, 'broken') FROM sno_feed_take(NULL::event, 'mail');
CALL sno_feed_wait('event', 'mail', '0'); SELECT sno_feed_pause('event', 'mail')}) =~ s/\n//gr, '', 'it fails, waits and pauses');
is(as('mail', q{SELECT (item).id, deleted FROM sno_feed_take(NULL::person, 'mail')}), "1|t\n2|f", 'and reads changes');
as('owner', 'ALTER TABLE person ENABLE ROW LEVEL SECURITY; CREATE POLICY one ON person USING (id = 1)');
like(as('mail', q{SELECT deleted FROM sno_feed_take(NULL::person, 'mail')}), qr/^ERROR:  role mail cannot read the changes of table public.person/,
	'no row looks deleted that a policy hides');
like(as('mail', q{SELECT count(*) FROM sno_feed_next(NULL::event, 'other')}), qr/^ERROR:  permission denied for reader "other"/, 'it gets no rows of another reader');
as('mail', q{SELECT sno_feed_pause('event', 'other')});
as('mail', q{UPDATE event_readers SET position = '9xxxxxxxxxxxxxxx' WHERE reader <> 'mail'});
as('mail', q{INSERT INTO event_aside (reader, id, part, tries) SELECT 'other', id, 0, 1 FROM event});
is(as('owner', q{SELECT paused, position FROM event_readers WHERE reader = 'other' AND part = 0; SELECT count(*) FROM event_aside}),
	"f|2222222222222222\n0", 'it cannot move another reader');
like(as('mail', $_), qr/^ERROR:  (?:must be owner|permission denied)/, "the role of a reader may not: $_") foreach (
	q{SELECT sno_feed_create_reader('event', 'mine')},
	q{SELECT sno_feed_drop_reader('event', 'other')},
	q{SELECT sno_feed_rewind('event', 'other', 'now')},
	q{SELECT sno_feed_drop('event')},
	q{CALL sno_feed_remove('event', '0')},
	q{CALL sno_feed_create_changes('event')},
	q{UPDATE event_readers SET part = 77},
	q{UPDATE event_readers SET reader = 'other'});
is(as('member', q{SELECT sno_feed_pause('event', 'mail', false), sno_feed_rewind('event', 'mail', 'now'); CALL sno_feed_remove('event', '0')}), '|',
	'a member of the role of the owner may');
like(as('watcher', q{SELECT reader FROM sno_feeds() WHERE feed = 'event'::regclass ORDER BY 1}), qr/^mail\nother$/, 'a role of monitoring sees the readers');
is(as('clerk', q{SELECT count(*) FROM sno_feeds() WHERE feed = 'person_changes'::regclass}), 0, 'others see none');
is(as('backup', q{SET row_security = off; SELECT count(*) FROM event_readers}), 5, 'a dump by another role sees all readers')
  if as('owner', q{SELECT sno_feed_drop_reader('event', 'mail'); SELECT relrowsecurity FROM pg_class WHERE relname = 'event_readers'}) =~ /f$/;
my $superuser = getpwuid $<;
like(as($superuser, $_), qr/^ERROR:  a superuser must not use table .* of another role as a feed/, "a superuser may not: $_") foreach (
	q{SELECT * FROM sno_feed_next(NULL::event, 'other')},
	q{SELECT * FROM sno_feed_take(NULL::person, 'mail')},
	q{CALL sno_feed_wait('event', 'other', '0')},
	q{CALL sno_feed_remove('event', '0')},
	q{SELECT sno_feed_create('event')},
	q{CALL sno_feed_create_changes('person')});

#
# Hostile tables and functions
#
as('mallory', q{
CREATE TABLE planted_readers (reader text, part integer, parts integer, part_by name, hash integer, max_tries integer, paused boolean,
	position sno, fence bigint, upto sno, singly sno, busy_at timestamptz, free_at timestamptz, holder text, tries integer, error text,
	PRIMARY KEY (reader, part));
CREATE TABLE planted_aside (reader text, id sno, part integer, tries integer, error text, since timestamptz, again boolean);
CREATE TRIGGER fire BEFORE INSERT OR UPDATE ON planted_readers FOR EACH ROW EXECUTE FUNCTION hostile.fire();
GRANT ALL ON planted_readers, planted_aside TO PUBLIC});
is(as('mallory', q{SELECT count(*) FROM pg_trigger WHERE tgrelid = 'planted_readers'::regclass AND tgname = 'fire'}), 1, 'a hostile role creates the tables of a feed');
like(as('owner', q{CREATE TABLE planted (id sno PRIMARY KEY DEFAULT sno_generate()); SELECT sno_feed_create('planted')}),
	qr/^ERROR:  .*planted_readers/, 'the owner of the feed does not take them');
is(what_ran(), '', 'no trigger of theirs runs');

as('mallory', q{
CREATE FUNCTION event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM hostile.check(); RETURN NULL; END $$;
CREATE TABLE bait (id integer PRIMARY KEY);
CREATE TRIGGER zz_sno_feed_change AFTER INSERT OR UPDATE OR DELETE ON bait FOR EACH ROW EXECUTE FUNCTION event()});
as('clerk', 'INSERT INTO event (n) VALUES (2)');
wait_until('rows are below the watermark', sub { as('owner', 'SELECT max(id) < sno_watermark() FROM event') eq 't' });
is(as('owner', q{SELECT (item).n, deleted FROM sno_feed_take(NULL::event, 'other')}), "1|f\n2|f", 'a planted function makes no feed one of changes');
is(as('owner', q{CALL sno_feed_remove('event', '0'); SELECT count(*) FROM event}), 2, 'nor when rows are removed');

# A feed of the hostile role, whose policies, views and casts run its code
as('mallory', q{
CREATE TABLE trap (id sno PRIMARY KEY DEFAULT sno_generate(), n integer);
SELECT sno_feed_create('trap'), sno_feed_create_reader('trap', 'r');
INSERT INTO trap (n) VALUES (1);
DROP POLICY sno_feed ON trap_readers;
ALTER TABLE trap_readers ENABLE ROW LEVEL SECURITY;
ALTER TABLE trap_readers FORCE ROW LEVEL SECURITY;
CREATE POLICY trap ON trap_readers USING (hostile.check());
ALTER TABLE trap ENABLE ROW LEVEL SECURITY;
ALTER TABLE trap FORCE ROW LEVEL SECURITY;
CREATE POLICY trap ON trap USING (hostile.check());
GRANT ALL ON trap, trap_readers, trap_aside TO PUBLIC;
CREATE TABLE cast_trap (id sno PRIMARY KEY DEFAULT sno_generate(), n integer);
SELECT sno_feed_create('cast_trap'), sno_feed_create_reader('cast_trap', 'r');
CREATE TYPE hostile.place AS (id sno);
CREATE FUNCTION hostile.place(hostile.place) RETURNS sno LANGUAGE plpgsql AS $$ BEGIN PERFORM hostile.check(); RETURN $1.id; END $$;
CREATE CAST (hostile.place AS sno) WITH FUNCTION hostile.place(hostile.place) AS IMPLICIT;
ALTER TABLE cast_trap_readers ALTER position TYPE hostile.place USING ROW(position);
GRANT ALL ON cast_trap, cast_trap_readers, cast_trap_aside TO PUBLIC});
is(as('mallory', q{SELECT pg_typeof(position) FROM cast_trap_readers LIMIT 1}), 'hostile.place', 'a position has a hostile type');
foreach my $user ('watcher', 'clerk', $superuser)
{
	is(as($user, 'SELECT count(*) > 0 FROM sno_feeds(); SHOW search_path') =~ s/^t\n//r, '"$user", public', "$user: sno_feeds() leaves the settings of the session");
}
is(what_ran(), '', 'sno_feeds() runs no code of others with the privileges of the caller');

# Names
my $name = 'a"$$; SELECT hostile.check(); SELECT $$';
(my $quoted = $name) =~ s/"/""/g;
as('owner', qq{CREATE TABLE "$quoted" ("$quoted" integer, "b'\\c" text, PRIMARY KEY ("$quoted", "b'\\c"))});
is(as('member', qq{CALL sno_feed_create_changes('"${\($quoted)}"'); INSERT INTO "$quoted" VALUES (1, 'x'); UPDATE "$quoted" SET "$quoted" = 2;
SELECT deleted FROM "${quoted}_changes" ORDER BY 1}), "f\nt", 'names are quoted');
is(what_ran(), '', 'names run no code');

# Operators of a type that the search path does not find
is(as('owner', q{CREATE TABLE found (found citext PRIMARY KEY); INSERT INTO found SELECT unnest('{a, B, c, D}'::text[]);
CALL sno_feed_create_changes('found', batch => 1); SELECT string_agg(found::text, ' ' ORDER BY found) FROM found_changes;
INSERT INTO found VALUES ('e'); UPDATE found SET found = 'A' WHERE found = 'a'; DELETE FROM found WHERE found = 'b'; SELECT found, deleted FROM found_changes ORDER BY found}),
	"a B c D\na|f\nB|t\nc|f\nD|f\ne|f", 'keys are compared by their own operators');

is(as('owner', q{SELECT sno_feed_drop(f) FROM unnest('{event, person, found}'::regclass[]) AS f; SELECT count(*) FROM pg_class
WHERE relname ~ '^(event|person|found)_' AND relkind = 'r'}) =~ s/^\n*//r, 0, 'the owner drops the feeds');
check_log($node);
$node->stop;
done_testing();
