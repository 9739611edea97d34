
# The feed of doc/feeds.md, word for word.  A reader that does without a watermark loses
# a row, the page's readers lose none: when they are restarted, when they share the
# work, on a standby and a logical replica, and after a clock that was wrong.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use FakeClock;
use IPC::Run ();
use TestHelpers;

# The blocks of the page, by kind.  The first two of kind "sql" are a query as such
# and the table that it reads.
my $page = slurp_file("$FindBin::RealBin/../../doc/feeds.md");
my %block;
push @{ $block{$1} }, $2 while $page =~ /^```(\w[^\n]*)\n(.*?)\n```$/msg;
my ($query, @definitions) = @{ $block{sql} };
my ($who) = grep { /sno_watermark_blockers/ } @definitions;
my ($mail, $script, $on_standby, $again) =
  map { $block{$_}[0] } 'sql mail', 'psql', 'sql standby', 'sql again';
is_deeply(
	[ map { "$_: " . @{ $block{$_} } } sort keys %block ],
	[
		'psql: 1', 'sql: 8', 'sql again: 1', 'sql bigint: 1', 'sql bigint read: 1', 'sql bigserial read: 1',
		'sql mail: 1', 'sql standby: 1', 'sql trusted: 1'
	],
	'all blocks are run');

my $clock = FakeClock->new;
my $node  = new_node('main', allows_streaming => 'logical', conf => q{
autovacuum = off
max_prepared_transactions = 10
});

sub start { $clock->start_server($node); return; }
start();
$node->safe_psql('postgres', $_)
  foreach ('CREATE EXTENSION sno', @definitions);

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

# The ids that a query of the page returns after one.
sub ids_after
{
	my ($server, $query, $last) = @_;
	$query =~ s/'9d6gji6222222222'/'$last'/;
	return join ' ',
	  map { /^(\w+)/ } split /\n/, $server->safe_psql('postgres', $query);
}

# The ids of the rows that a statement returns in a session.
sub ids_from
{
	my ($session, $statement) = @_;
	$session->query_safe('SELECT pg_sleep(0.005)');
	return join ' ',
	  map { /^(\w+)/ } split /\n/, $session->query_safe($statement);
}

# Let the reader of the page do its work.
sub read_mail
{
	my ($session) = @_;
	$session->query_safe('SELECT pg_sleep(0.005)');
	$session->query_safe($mail);
	return;
}

sub mails
{
	return join ' ', split /\n/,
	  $node->safe_psql('postgres', 'SELECT event FROM mail ORDER BY event');
}

my $next = q{SELECT * FROM outbox_next('statistics', 100)};

#
# A commit that comes late: the control, and the page's readers
#
$writer->query_safe('BEGIN');
my $early = insert($writer, 1);
my $late  = insert($other,  2);
(my $control = $query) =~ s/ AND id < \(SELECT sno_watermark\(\)\)//
  or die 'no watermark';
my $last = ids_after($node, $control, '2' x 16);
is($last, $late, 'id > last returns the row that was committed');
is(ids_after($node, $query, '2' x 16),
	'', 'below the watermark there is no row yet');
read_mail($reader);
is(mails(), '', 'the reader has none');

# Who holds it back?
my @who = split /\|/, $node->safe_psql('postgres', $who);
is($who[1], $writer->{pid}, 'it is known who holds it back');
is($who[3], 'idle in transaction', '... and what that does');
$writer->query_safe("PREPARE TRANSACTION 'late'");
like($node->safe_psql('postgres', $who),
	qr/\|late$/, 'a prepared transaction is named');
read_mail($reader);
is(mails(), '', '... and holds it back');

$node->safe_psql('postgres', "COMMIT PREPARED 'late'");
is(ids_after($node, $control, $last), '', 'id > last has lost a row');
$node->safe_psql('postgres', 'SELECT pg_sleep(0.005)');
is( ids_after($node, $query, '2' x 16),
	"$early $late", 'below the watermark are both rows');
is(ids_after($node, $query, $early),
	$late, '... and after the first one the second one');
read_mail($reader);
is(mails(), "$early $late", 'the reader has both');
is(ids_from($reader, $next), "$early $late", 'so has the other reader');
is(ids_from($reader, $next), '',             '... once');

# The same with a bigint, beside a bigserial
my ($by_id, $by_serial) = map { $block{$_}[0] } 'sql bigint read', 'sql bigserial read';
my $add = q{INSERT INTO event (message) VALUES ('happened') RETURNING id};

# The numbers that a query of the page returns after one
sub numbers_after
{
	my ($query, $last) = @_;
	return ids_after($node, $query =~ s/> 0/> $last/r, '');
}
$node->safe_psql('postgres', $block{'sql bigint'}[0]);
$writer->query_safe('BEGIN');
is($writer->query_safe($add), 1, 'an event is inserted');
is($other->query_safe($add),  2, 'another one is committed');
is(numbers_after($by_serial, 0), '2', 'bigserial: the second one is read');
is(numbers_after($by_id,     0), '',  'bigint: below the watermark there is none yet');
$writer->query_safe('COMMIT');
is(numbers_after($by_serial, 2), '',    'bigserial: the first one was missed');
is(numbers_after($by_id,     0), '1 2', 'bigint: both are read');
is(numbers_after($by_id,     2), '',    '... once');
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

#
# Restarts of a reader: each row is done once
#
my @ids = ($early, $late);
push @ids, insert($writer, $_) foreach 3 .. 5;
$reader->query_safe('BEGIN');
read_mail($reader);
is($reader->query_safe('SELECT count(*) FROM mail'), 5, 'a reader has rows');

# Two sessions of one reader
send_query($other, $mail);
wait_until(
	'a session waits',
	sub {
		$writer->query_safe(
			"SELECT wait_event_type FROM pg_stat_activity WHERE pid = $other->{pid}"
		) eq 'Lock';
	});
push @ids, insert($writer, 6);
$writer->query_safe('SELECT pg_sleep(0.005)');
$reader->query_safe('COMMIT');
my (undef, $errors) = receive($other);
is($errors, '', 'another session of the reader has waited');
is(mails(), "@ids[0 .. 5]", '... and goes on after it');

push @ids, insert($writer, $_) foreach 7 .. 9;
$reader->query_safe('BEGIN');
read_mail($reader);
$writer->query_safe("SELECT pg_terminate_backend($reader->{pid}, 60000)");
drop_session($reader);
is(mails(), "@ids[0 .. 5]", 'a reader ends before its commit');
$reader = open_session($node, 'postgres');
read_mail($reader);
is(mails(), "@ids", 'the next one does the same rows');

push @ids, insert($writer, $_) foreach 10 .. 12;
$reader->query_safe('BEGIN');
read_mail($reader);
$node->stop('immediate');
drop_session($_) foreach ($writer, $other, $reader);
start();
($writer, $other, $reader) = map { open_session($node, 'postgres') } 1 .. 3;
push @ids, insert($writer, 13);
read_mail($reader);
is(mails(), "@ids", 'after a crash of the server the reader goes on');
is(ids_from($reader, $next), "@ids[2 .. $#ids]", 'so does the other one');

#
# Workers that share the parts
#
my %part_of;
foreach my $n (0 .. $#ids) { $part_of{ $ids[$n] } = ($n + 1) % 4; }
my $share = 'SELECT * FROM outbox_next_of_part(2)';
my %done;

sub share
{
	my ($session) = @_;
	my @got = split / /, ids_from($session, $share);
	push @{ $done{ $part_of{$_} } }, $_ foreach @got;
	my %parts = map { $part_of{$_} => 1 } @got;
	return join ' ', keys %parts;
}
my @workers = ($reader, $other, $writer, open_session($node, 'postgres'));
$_->query_safe('BEGIN') foreach @workers;
is(join('', sort map { share($_) } @workers),
	'0123', 'four workers have one part each');
is($node->safe_psql('postgres', $share), '', 'a fifth worker has none');
$_->query_safe('COMMIT') foreach @workers;
close_session(pop @workers);
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
# The standby and the logical replica
#
my $standby = start_standby($node, 'standby');

# The replica is another database of the standby's primary.
my ($table) = grep { /CREATE TABLE outbox \(/ } @definitions;
my ($bound) = grep { /CREATE TABLE outbox_watermark/ } @definitions;
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

my (undef, undef, $error) =
  $standby->psql('postgres', "\\set VERBOSITY verbose\n$query");
like($error, qr/ERROR:  25006/, 'a standby has no watermark of its own');

my $dir = PostgreSQL::Test::Utils::tempdir('feed');
append_to_file("$dir/watermark.psql", "$script\n");
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
push @ids, insert($writer, 14);
push @ids, insert($other,  15);
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
read_mail($reader);
is(mails(), "@ids", 'the reader has all rows');

#
# A clock that was two hours ahead
#
{
	$clock->set_offset(7200);
	push @ids, insert($writer, 16);
	read_mail($reader);
	is(mails(), "@ids", 'a clock is ahead: the reader goes on');
	$clock->set_offset(0);
	insert($writer, 17);
	like(error_of($reader, $mail),
		qr/ERROR:  55000/, 'a clock was ahead: the reader is stopped');
	$node->safe_psql('postgres', $again);
	(my $once_more = $mail) =~ s/;$/ ON CONFLICT DO NOTHING;/;
	$reader->query_safe('SELECT pg_sleep(0.005)');
	$reader->query_safe($once_more);
	is( $node->safe_psql(
			'postgres',
			"SELECT string_agg(text, ',' ORDER BY text) FROM mail WHERE event > '$ids[-2]'"
		),
		'to 16,to 16,to 17',
		'... until it looks again');
}

# Only some roles make ids, and can hold feeds back.
$node->safe_psql('postgres', $_) foreach (
	'CREATE ROLE stranger; CREATE ROLE writer; GRANT INSERT ON outbox, event TO stranger, writer',
	'GRANT USAGE ON SEQUENCE event_serial_seq TO stranger, writer',
	$block{'sql trusted'}[0],
	'GRANT EXECUTE ON FUNCTION sno_generate(integer), sno_flake_generate(text) TO writer');
foreach my $insert (
	"INSERT INTO outbox (customer, message) VALUES (1, 'x')",
	"INSERT INTO event (message) VALUES ('x')")
{
	$node->safe_psql('postgres', "SET ROLE writer; $insert");
	my ($status, $out, $err) = $node->psql('postgres', "SET ROLE stranger; $insert");
	like($err, qr/permission denied for function sno/, "who makes no ids may not: $insert");
}

close_session($_) foreach ($writer, $other, $reader);
$node->stop;
done_testing();
