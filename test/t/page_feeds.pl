
# The page doc/feeds.md, word for word.  A reader that does without a watermark loses a row,
# the page's readers lose none: when they are restarted, when they share the work, when the
# work is outside of the database, after a dump, on a standby and a logical replica, and
# after a clock that was wrong.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use IPC::Run ();
use TestHelpers;

# The blocks of the page, by kind
my $page = slurp_file("$FindBin::RealBin/../../doc/feeds.md");
my %block;
push @{ $block{$1} }, $2 while $page =~ /^```(\w[^\n]*)\n(.*?)\n```$/msg;
my @definitions = @{ $block{sql} };
is_deeply(
	[ map { "$_: " . @{ $block{$_} } } sort keys %block ],
	[
		'psql: 1', 'sql: 6',
		(map { "sql $_: 1" } 'again', 'aside', 'bigint', 'blockers', 'changes', 'changes next', 'done', 'fail',
			'mail', 'monitor', 'next', 'remove', 'standby', 'take', 'trusted', 'wait'),
		'text: 1'
	],
	'all blocks are run');

# A block, with other words in it, each of which must be there.
sub block
{
	my ($kind, @replacements) = @_;
	my $text = $block{$kind}[0];
	while (my ($from, $to) = splice @replacements, 0, 2)
	{
		$text =~ s/\Q$from\E/$to/ or die "block $kind has no $from";
	}
	return $text;
}
my ($mail, $take, $who) = map { block("sql $_") } 'mail', 'take', 'blockers';

my $clock = FakeClock->new;
my $node  = new_node('main', allows_streaming => 'logical', conf => q{
autovacuum = off
max_prepared_transactions = 10
});

sub start { $clock->start_server($node); return; }
start();
$node->safe_psql('postgres', $_) foreach @definitions;

my ($writer, $other, $reader) =
  map { open_session($node, 'postgres') } 1 .. 3;

# Insert a row, in a later unit than all that was done before; returns its id.
sub insert
{
	my ($session, $customer) = @_;
	$session->query_safe('SELECT pg_sleep(0.005)');
	return $session->query_safe(
		"INSERT INTO outbox (customer, message) VALUES ($customer, 'to $customer') RETURNING id"
	);
}

# The ids that a table or view has after one
sub ids_after
{
	my ($relation, $last) = @_;
	return join ' ', split /\n/, $node->safe_psql('postgres', "SELECT id FROM $relation WHERE id > '$last' ORDER BY id");
}

# Run a statement in a session when the watermark is above all that was committed; returns the
# last column of each row.
sub column_from
{
	my ($session, $statement) = @_;
	$session->query_safe('SELECT pg_sleep(0.005)');
	return join ' ', map { /([^|]*)\z/ } split /\n/, $session->query_safe($statement);
}

sub mails
{
	return join ' ', split /\n/,
	  $node->safe_psql('postgres', 'SELECT event FROM mail ORDER BY event');
}

# The rows of the first lines
is('message ' . column_from($reader, block('sql next')), join(' ', $block{text}[0] =~ /(\w+)/g), 'the first lines make a feed with two rows, and read them');
is(column_from($reader, block('sql next')), '', '... once');
$node->safe_psql('postgres', 'TRUNCATE outbox');

my $next = q{SELECT id FROM sno_feed_next(NULL::outbox, 'other')};
$node->safe_psql('postgres', q{SELECT sno_feed_create_reader('outbox', 'other')});

#
# A commit that comes late: the control, and the page's readers
#
$writer->query_safe('BEGIN');
my $early = insert($writer, 1);
my $late  = insert($other,  2);
my $last  = ids_after('outbox', '2' x 16);
is($last, $late, 'id > last returns the row that was committed');
is(ids_after('outbox_settled', '2' x 16), '', 'below the watermark there is no row yet');
column_from($reader, $mail);
is(mails(), '', 'the reader has none');

# Who holds it back?
my @who = split /\|/, $node->safe_psql('postgres', $who);
is($who[1], $writer->{pid}, 'it is known who holds it back');
is($who[3], 'idle in transaction', '... and what that does');
my $state = q{SELECT state, lag > '0', lag_rows > 0, blocker, problem FROM (} . block('sql monitor', ';' => '') . q{) AS f WHERE reader = 'mail'};
is($node->safe_psql('postgres', $state), "ready|t|t|$writer->{pid}|", 'sno_feeds() shows it');
$writer->query_safe("PREPARE TRANSACTION 'late'");
like($node->safe_psql('postgres', $who),
	qr/\|late$/, 'a prepared transaction is named');
column_from($reader, $mail);
is(mails(), '', '... and holds it back');

$node->safe_psql('postgres', "COMMIT PREPARED 'late'");
is(ids_after('outbox', $last), '', 'id > last has lost a row');
$node->safe_psql('postgres', 'SELECT pg_sleep(0.005)');
is( ids_after('outbox_settled', '2' x 16),
	"$early $late", 'below the watermark are both rows');
is(ids_after('outbox_settled', $early),
	$late, '... and after the first one the second one');
column_from($reader, $mail);
is(mails(), "$early $late", 'the reader has both');
is($node->safe_psql('postgres', $state), 'idle|f|f||', 'sno_feeds() shows that');
is(column_from($reader, $next), "$early $late", 'the other reader has both');
is(column_from($reader, $next), '',             '... once');

# The same with a bigint
my $add = q{INSERT INTO event (message) VALUES ('happened') RETURNING id};
my $read_event = q{SELECT id FROM sno_feed_next(NULL::event, 'statistics')};
$node->safe_psql('postgres', block('sql bigint') . q{SELECT sno_feed_create_reader('event', 'statistics')});
$writer->query_safe('BEGIN');
is($writer->query_safe($add), 1, 'an event is inserted');
is($other->query_safe($add),  2, 'another one is committed');
is($reader->query_safe($read_event), '', 'bigint: below the watermark there is none yet');
$writer->query_safe('COMMIT');
is($reader->query_safe($read_event), "1\n2", 'bigint: both are read');
is($reader->query_safe($read_event), '',     '... once');
like(error_of($other, q{INSERT INTO event (id, message) VALUES (1, 'old')}), qr/ERROR:  23514/, '... and no old one comes');

# What isn't fed is refused.
my $past = q{now() - interval '1 s'};
my $made = $writer->query_safe('SELECT sno_generate()');
$writer->query_safe('SELECT pg_sleep(0.005)');
foreach my $id ("'$made'", "sno_make($past, 0, 0)", "sno_generate_at($past)")
{
	like(
		error_of($writer, "INSERT INTO outbox VALUES ($id, 1, 'old')"),
		qr/ERROR:  23514/,
		'refused: ' . ($id =~ /(sno\w+)/ ? $1 : 'of another transaction'));
}
$writer->query_safe('CREATE TABLE parted (id sno DEFAULT sno_generate(), n integer, PRIMARY KEY (id, n)) PARTITION BY LIST (n)');
$writer->query_safe("CREATE TABLE parted_$_ PARTITION OF parted FOR VALUES IN ($_)") foreach 1, 2;
$writer->query_safe(q{SELECT sno_feed_create('parted')});
$writer->query_safe('INSERT INTO parted (n) VALUES (1)');
$writer->query_safe('SELECT pg_sleep(0.005)');
like(error_of($writer, 'UPDATE parted SET n = 2'), qr/ERROR:  23514/, 'refused: an old row that moves to another partition');
$writer->query_safe('CREATE TABLE computed (made sno NOT NULL, id sno GENERATED ALWAYS AS (made) STORED PRIMARY KEY)');
$writer->query_safe(q{SELECT sno_feed_create('computed', 'id')});
like(error_of($writer, 'INSERT INTO computed VALUES (sno_generate())'), qr/ERROR:  42611/, 'refused: an id in a generated column');
$writer->query_safe(q{SELECT sno_feed_drop('computed')});

#
# Restarts of a reader: each row is done once
#
my @ids = ($early, $late);
push @ids, insert($writer, $_) foreach 3 .. 5;
$reader->query_safe('BEGIN');
column_from($reader, $mail);
is($reader->query_safe('SELECT count(*) FROM mail'), 5, 'a reader has rows');

# Two sessions of one reader
push @ids, insert($writer, 6);
column_from($other, $mail);
$reader->query_safe('COMMIT');
is(mails(), "@ids[0 .. 4]", 'another session of the reader has got no rows');
column_from($other, $mail);
is(mails(), "@ids[0 .. 5]", '... until the commit of the first one');

push @ids, insert($writer, $_) foreach 7 .. 9;
$reader->query_safe('BEGIN');
column_from($reader, $mail);
$writer->query_safe("SELECT pg_terminate_backend($reader->{pid}, 60000)");
drop_session($reader);
is(mails(), "@ids[0 .. 5]", 'a reader ends before its commit');
$reader = open_session($node, 'postgres');
column_from($reader, $mail);
is(mails(), "@ids", 'the next one does the same rows');

push @ids, insert($writer, $_) foreach 10 .. 12;
$reader->query_safe('BEGIN');
column_from($reader, $mail);
$node->stop('immediate');
drop_session($_) foreach ($writer, $other, $reader);
start();
($writer, $other, $reader) = map { open_session($node, 'postgres') } 1 .. 3;
push @ids, insert($writer, 13);
column_from($reader, $mail);
is(mails(), "@ids", 'after a crash of the server the reader goes on');
is(column_from($reader, $next), "@ids[2 .. $#ids]", 'so does the other one');

#
# Workers that share the parts
#
my %part_of = map { split /\|/ } split /\n/, $node->safe_psql('postgres', 'SELECT id, sno_feed_part(customer, 4) FROM outbox');
my %done;

sub share
{
	my ($session) = @_;
	my @got = split / /, column_from($session, q{SELECT id FROM sno_feed_next(NULL::outbox, 'search', 2)});
	push @{ $done{ $part_of{$_} } }, $_ foreach @got;
	my %parts = map { $part_of{$_} => 1 } @got;
	return join ' ', keys %parts;
}
my @workers = ($reader, $other, $writer, open_session($node, 'postgres'));
$_->query_safe('BEGIN') foreach @workers;
is(join('', sort map { share($_) } @workers),
	'0123', 'four workers have one part each');
my $fifth = open_session($node, 'postgres');
is(share($fifth), '', 'a fifth worker has none');
$_->query_safe('COMMIT') foreach @workers;
close_session($_) foreach pop @workers, $fifth;

# Another reader goes on where the slowest part is.
my ($lowest) = $page =~ /`start => (sno_feed_needed\('outbox'\))`/;
$node->safe_psql('postgres', "SELECT sno_feed_create_reader('outbox', 'successor', start => $lowest)");
my %once = map { $_ => 1 } map({ @$_ } values %done), split / /, column_from($reader, q{SELECT id FROM sno_feed_next(NULL::outbox, 'successor')});
is_deeply([ sort keys %once ], \@ids, 'its successor misses no row');
cmp_ok($node->safe_psql('postgres', "SELECT $lowest"), 'gt', $early, '... and does not begin with the oldest one');

wait_until(
	'all is done',
	sub {
		share($_) foreach @workers;
		return map({ @$_ } values %done) >= @ids;
	});
is_deeply([ sort map { @$_ } values %done ],
	\@ids, 'together they have each row once');
is_deeply([ map { join ' ', sort @$_ } values %done ],
	[ map { "@$_" } values %done ], '... of each part in order');

#
# Work outside of the database.  The mails of rows that the reader took aren't in the table.
#
my %sent;

# Take rows; returns the part, the fence and the ids, or nothing.
sub lease_of
{
	my ($session, $statement) = @_;
	$session->query_safe('SELECT pg_sleep(0.005)');
	my @rows = map { [ split /\|/ ] } split /\n/, $session->query_safe($statement);
	$sent{ $_->[2] }++ foreach @rows;
	return @rows ? (@{ $rows[0] }[0, 1], map { $_->[2] } @rows) : ();
}

sub handled
{
	my ($part, $fence) = @_;
	return block('sql done', 'part => 0' => "part => $part", 1795883224805421 => $fence);
}

sub failed
{
	my ($fence, $id) = @_;
	return block('sql fail', 1795883224805421 => $fence, '9d6gji6222222222' => $id, '10 seconds' => '0');
}
my $aside = block('sql aside') =~ s/SELECT sno_feed_retry.*//sr;
my $retry = block('sql aside') =~ s/.*(?=SELECT sno_feed_retry)//sr;

my @taken = map { insert($writer, $_) } 14 .. 17;
my ($part, $fence, @got) = lease_of($reader, $take);
is("@got", "@taken", 'a session takes rows');
is_deeply([ lease_of($other, $take) ], [], '... and no other one meanwhile');
my ($extend) = $page =~ /call `(sno_feed_extend\([^`]*\))`/;
$extend =~ s/\b1795883224805421\b/$fence/ or die 'no fence';
$reader->query_safe("SELECT $extend");

# Another session takes them when the lease ends.  The first one is late.
$writer->query_safe(q{UPDATE outbox_readers SET free_at = busy_at WHERE reader = 'mail' AND part = 0});
my ($next_part, $next_fence, @again) = lease_of($other, $take);
is("@again", $taken[0], 'after the end of the lease, rows come again one by one');
cmp_ok($next_fence, '>', $fence, '... with a higher fence');
like(error_of($reader, handled($part, $fence)), qr/ERROR:  55P03/, 'a late session acknowledges nothing');
$other->query_safe(handled($next_part, $next_fence));

# A row that fails again and again is set aside, the others aren't.
foreach my $try (1 .. 5)
{
	my (undef, $fence, @got) = lease_of($other, $take);
	is($got[0], $taken[1], "try $try of a row");
	$other->query_safe(failed($fence, $taken[1]));
}
is($node->safe_psql('postgres', q{SELECT set_aside FROM sno_feeds() WHERE reader = 'mail'}), 1, 'sno_feeds() shows that it was set aside');
my @failed = split /\|/, $node->safe_psql('postgres', $aside);
is("@failed[0 .. 2] $failed[-1]", "$taken[1] 5 mailbox full to 15", 'the row that fails is set aside, with its error');
my ($rest_part, $rest_fence, @rest) = lease_of($other, $take);
is($rest[0], $taken[2], 'the next rows follow');
$node->safe_psql('postgres', $retry);
my ($retry_part, $retry_fence, @retried) = lease_of($reader, $take);
is("$retry_part @retried", "-1 $taken[1]", 'a session has the retried row beside the part');
$reader->query_safe(handled(-1, $retry_fence));
is($node->safe_psql('postgres', $aside), '', '... and handles it');
my @left = ($rest_part, $rest_fence);
while (@left)
{
	$other->query_safe(handled(@left));
	@left = (lease_of($other, $take))[0, 1];
}
is_deeply([ sort keys %sent ], \@taken, 'all rows were sent');

# Nobody is to blame: no try counts.  To give a row up, delete it.
my $bad = insert($writer, 18);
foreach my $try (1 .. 7)
{
	(undef, $fence) = lease_of($other, $take);
	$other->query_safe(failed($fence, $bad) =~ s/, error => 'mailbox full'//r);
}
is($node->safe_psql('postgres', $aside), '', 'an error of which no row is to blame sets none aside');
foreach my $try (1 .. 5)
{
	(undef, $fence) = lease_of($other, $take);
	$other->query_safe(failed($fence, $bad));
}
$node->safe_psql('postgres', 'DELETE FROM outbox_aside');
is($node->safe_psql('postgres', "$retry $aside"), 0, 'a row was given up');
push @ids, @taken, $bad;

# A commit wakes a session that waits.
send_query($reader, block('sql wait'));
wait_until('a session waits',
	sub { $other->query_safe("SELECT wait_event_type FROM pg_stat_activity WHERE pid = $reader->{pid}") eq 'Extension' });
is($other->query_safe("SELECT backend_xmin FROM pg_stat_activity WHERE pid = $reader->{pid} AND backend_xid IS NULL"), '', 'it holds no snapshot');
push @ids, insert($writer, 19);
my (undef, $errors) = receive($reader);
is($errors, '', 'a waiting reader gets rows');
is($reader->query_safe($mail), '', '... at once');
my $mails = $node->safe_psql('postgres', q{SELECT text FROM mail WHERE text = 'to 19'});
is($mails, 'to 19', '... the row that was committed');
like(error_of($reader, 'BEGIN;' . block('sql wait') . 'ROLLBACK;'), qr/ERROR:  2D000/, 'not in a transaction block');

#
# Changes of a table
#
$writer->query_safe(q{INSERT INTO person VALUES (1, 'Ada'), (2, 'Bob')});
my $changes = block('sql changes') =~ s/\(item\)\.\*/(item).id, (item).name/r;
sub changes
{
	$reader->query_safe('SELECT pg_sleep(0.005)');
	my @rows = map { [ split /\|/, $_, -1 ] } split /\n/, $reader->query_safe($changes);
	$reader->query_safe("SELECT sno_feed_done('person', 'copy', $rows[0][0], $rows[0][1])") if @rows;
	return join ', ', map { "@$_[3, 4, 5]" } @rows;
}
is(changes(), 'f 1 Ada, f 2 Bob', 'inserts are changes');
$writer->query_safe($_) foreach (
	q{UPDATE person SET name = 'Eve' WHERE id = 1}, q{UPDATE person SET name = 'Mia' WHERE id = 1},
	'DELETE FROM person WHERE id = 2', 'UPDATE person SET id = 3 WHERE id = 1');
is(changes(), 't 2 , t 1 , f 3 Mia', 'so are updates and deletes, the last one of each row');
is(changes(), '',                    '... once');
$writer->query_safe('TRUNCATE person');
$writer->query_safe(q{INSERT INTO person VALUES (4, 'Zoe')});
is(join(' ', sort split / /, column_from($reader, 'SELECT string_agg(deleted || name, $$ $$) FROM (' . block('sql changes next', ';' => '', 'p.name' => 'coalesce(p.name, $$$$) AS name') . ') AS c')),
	'falseZoe true', 'a person is found exactly if it is not deleted');

#
# A dump: the readers go on in the copy.
#
push @ids, insert($writer, 20);
my $dir = PostgreSQL::Test::Utils::tempdir('feed');
$node->command_ok([ 'pg_dump', '--create', '-f', "$dir/dump.sql", $node->connstr('postgres') ], 'a dump');
my $dump = slurp_file("$dir/dump.sql");
$dump =~ s/^(CREATE DATABASE|ALTER DATABASE|\\connect) postgres\b/$1 copy/mg;
append_to_file("$dir/copy.sql", $dump);
restore_dump($node, "$dir/copy.sql", '... is restored');
my $copy = open_session($node, 'copy');
is(column_from($copy, $next =~ s/'other'/'mail'/r), $ids[-1], 'a reader goes on in the copy');
is(changes_in($copy), 4, '... with the changes, too');
close_session($copy);

sub changes_in
{
	my ($session) = @_;
	$session->query_safe(q{UPDATE person SET name = 'Ann'});
	return column_from($session, q{SELECT id FROM sno_feed_next(NULL::person_changes, 'copy')});
}

#
# The standby and the logical replica
#
my $standby = start_standby($node, 'standby');

# The replica is another database of the standby's primary.
my ($table) = $page =~ /^(CREATE TABLE outbox \(.*;)$/m;
my ($bound) = grep { /CREATE TABLE outbox_watermark/ } @definitions;
my $on_standby = block('sql standby');
my $host = $node->host;
my $port = $node->port;
$node->safe_psql('postgres', 'CREATE DATABASE replica');
$node->safe_psql('replica',
	"CREATE EXTENSION sno; $table $bound TRUNCATE outbox_watermark");
$node->safe_psql('postgres', $_)
  foreach (
	'CREATE PUBLICATION feed FOR TABLE outbox, outbox_watermark',
	q{SELECT pg_create_logical_replication_slot('feed', 'pgoutput')});
$node->safe_psql('replica',
	"CREATE SUBSCRIPTION feed CONNECTION 'host=$host port=$port dbname=postgres' PUBLICATION feed WITH (create_slot = false)"
);
wait_until(
	'the tables are copied',
	sub {
		$node->safe_psql('replica',
			"SELECT count(*) FROM pg_subscription_rel WHERE srsubstate = 'r'")
		  == 2;
	});

foreach my $query ('SELECT * FROM outbox_settled', $next, $take, block('sql wait'))
{
	my (undef, undef, $error) =
	  $standby->psql('postgres', "\\set VERBOSITY verbose\n$query");
	like($error, qr/ERROR:  25006/, "refused on a standby: $query");
}

append_to_file("$dir/watermark.psql", block('psql') . "\n");
my $output  = '';
my $updater = IPC::Run::start(
	[   'psql', '-Xq', '-f', "$dir/watermark.psql", $node->connstr('postgres')
	],
	'<', '/dev/null', '>', \$output, '2>&1');

# Wait until standby and replica have a watermark that is not below the present one, and
# return what each of them reads after an id.
sub read_copies
{
	my ($last) = @_;
	$other->query_safe('SELECT pg_sleep(0.005)');
	my $now   = $other->query_safe('SELECT sno_watermark()');
	my $there = "SELECT count(*) FROM outbox_watermark WHERE w >= '$now'";
	my $copied = $on_standby =~ s/'9d6gji6222222222'/'$last'/r;
	wait_until('the standby has a watermark',
		sub { $standby->safe_psql('postgres', $there) });
	wait_until('the replica has a watermark',
		sub { $node->safe_psql('replica', $there) });
	return
	  map { join ' ', map { /^(\w+)/ } split /\n/, $_ }
	  ($standby->safe_psql('postgres', $copied),
		$node->safe_psql('replica', $copied));
}
is_deeply([ read_copies('2' x 16) ],
	[ "@ids", "@ids" ], 'standby and replica read all rows');
$writer->query_safe('BEGIN');
push @ids, insert($writer, 21);
push @ids, insert($other,  22);
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is( $standby->safe_psql(
		'postgres', "SELECT id FROM outbox WHERE id > '$ids[-3]'"),
	$ids[-1],
	'the standby sees a row that was committed');
is_deeply([ read_copies($ids[-3]) ],
	[ '', '' ], '... which standby and replica do not read yet');
$writer->query_safe('COMMIT');
is_deeply(
	[ read_copies($ids[-3]) ],
	[ "@ids[-2, -1]", "@ids[-2, -1]" ],
	'both rows come in order');
$updater->kill_kill;
$node->safe_psql('replica',
	'ALTER SUBSCRIPTION feed DISABLE; ALTER SUBSCRIPTION feed SET (slot_name = NONE); DROP SUBSCRIPTION feed'
);
$standby->stop;

#
# A clock that was two hours ahead
#
column_from($reader, $mail);
$clock->set_offset(7200);
push @ids, insert($writer, 23);
column_from($reader, $mail);
is($node->safe_psql('postgres', 'SELECT max(event) FROM mail'), $ids[-1], 'a clock is ahead: the reader goes on');
$clock->set_offset(0);
insert($writer, 24);
like(error_of($reader, $mail),
	qr/ERROR:  55000/, 'a clock was ahead: the reader is stopped');
$node->safe_psql('postgres', block('sql again'));
is($node->safe_psql('postgres', q{SELECT bool_and(position > sno_min(now() - interval '4 hours')) FROM outbox_readers WHERE reader = 'mail' AND part >= 0}),
	't', '... which is set back by some hours');
(my $once_more = $mail) =~ s/;$/ ON CONFLICT DO NOTHING;/;
column_from($reader, $once_more);
is( $node->safe_psql(
		'postgres',
		"SELECT string_agg(text, ',' ORDER BY text) FROM mail WHERE event > '$ids[-2]'"
	),
	'to 23,to 23,to 24',
	'... until it looks again');

# Only some roles make ids, and can hold feeds back.  A trigger that is there makes ids for all.
$node->safe_psql('postgres', $_) foreach (
	'CREATE ROLE stranger; CREATE ROLE writer; GRANT INSERT ON outbox, event, person TO stranger, writer',
	block('sql trusted'),
	'GRANT EXECUTE ON FUNCTION sno_generate(integer), sno_flake_generate(text) TO writer');
foreach my $insert (
	"INSERT INTO outbox (customer, message) VALUES (1, 'x')",
	"INSERT INTO event (message) VALUES ('x')")
{
	$node->safe_psql('postgres', "SET ROLE writer; $insert");
	my ($status, $out, $err) = $node->psql('postgres', "SET ROLE stranger; $insert");
	like($err, qr/permission denied for function sno/, "who makes no ids may not: $insert");
}
$writer->query_safe(q{BEGIN; SET LOCAL ROLE stranger; INSERT INTO person VALUES (5, 'x')});
like($node->safe_psql('postgres', $who), qr/\|$writer->{pid}\|/, 'a change of a table with a feed holds readers back');
$writer->query_safe('ROLLBACK');

#
# Removal, a month later: rows that a reader needs, or that are set aside, stay.
#
$node->safe_psql('postgres', $_) foreach (
	q{SELECT sno_feed_drop_reader('outbox', r) FROM unnest('{search, successor}'::text[]) AS r},
	q{SELECT sno_feed_rewind('outbox', 'other', 'oldest')});
my @all = split / /, ids_after('outbox_settled', '2' x 16);
is(column_from($reader, $next =~ s/'other'/'other', 3/r), "@all[0 .. 2]", 'a reader has handled three rows');
$node->safe_psql('postgres', "INSERT INTO outbox_aside (reader, id, part, tries) VALUES ('other', '$all[1]', 0, 1)");
$node->safe_psql('postgres', block('sql remove'));
is(ids_after('outbox', '2' x 16), "@all", 'nothing is removed that is younger');
$clock->set_offset(30 * 86400);
$node->safe_psql('postgres', block('sql remove'));
is(ids_after('outbox', '2' x 16), "@all[1, 3 .. $#all]", 'a month later, rows are removed that nobody needs');
is($node->safe_psql('postgres', q{SELECT sno_feed_needed('outbox')}), $all[3], 'the lowest id that a reader needs');
like(error_of($other, "SELECT sno_feed_create_reader('outbox', 'late', start => '$all[0]')"), qr/ERROR:  22023/, 'no reader starts below');
$other->query_safe(q{SELECT sno_feed_create_reader('outbox', 'late')});
is(column_from($other, q{SELECT id FROM sno_feed_next(NULL::outbox, 'late')}), "@all[1, 3 .. $#all]", 'the oldest start is the first row left');

close_session($_) foreach ($writer, $other, $reader);
$node->stop;
done_testing();
