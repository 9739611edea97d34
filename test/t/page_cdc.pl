
# The page doc/cdc.md, word for word: the output of plug-ins for ids, and the rows of subscribers.  Of
# the facts about Debezium, only the bytes in JSON are tested.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use TestHelpers;

my $page = slurp_file("$FindBin::RealBin/../../doc/cdc.md");

my %node;
foreach my $name ('publisher', 'subscriber')
{
	$node{$name} = new_node($name, allows_streaming => 'logical', conf => q{
autovacuum = off
log_error_verbosity = verbose
max_replication_slots = 20
max_wal_senders = 20
max_worker_processes = 20
max_logical_replication_workers = 12
wal_retrieve_retry_interval = 200ms
});
	$node{$name}->start;
}
my ($publisher, $subscriber) = @node{qw(publisher subscriber)};

sub publish { return $publisher->safe_psql('app', $_[0]); }

sub create_slot
{
	my ($slot, $plugin) = @_;
	return publish("SELECT pg_create_logical_replication_slot('$slot', '$plugin')");
}

# The changes since the last call, as test_decoding writes them
sub changes_of
{
	my ($slot) = @_;
	return publish(
		"SELECT data FROM pg_logical_slot_get_changes('$slot', NULL, NULL, 'include-xids', '0') WHERE data !~ '^(BEGIN|COMMIT)'");
}

#
# The examples
#

# wal2json is not installed everywhere, and not each version has the setting that the page names.
chomp(my $libraries = qx(pg_config --pkglibdir));
my $has_wal2json = -e "$libraries/wal2json.so";
note 'wal2json is not installed' if !$has_wal2json;
my $setting = 'output_plugin_libraries';
if ($has_wal2json && $publisher->safe_psql('postgres', "SELECT count(*) FROM pg_settings WHERE name = '$setting'"))
{
	my (undef, undef, $error) = $publisher->psql('postgres', q{SELECT pg_create_logical_replication_slot('json', 'wal2json')});
	like($error, qr/$setting/, 'a plug-in that is not listed is refused');
	configure($publisher, $setting, 'pgoutput, test_decoding, wal2json');
	wait_until("$setting is set", sub { $publisher->safe_psql('postgres', "SHOW $setting") =~ /wal2json/ });
}

$publisher->safe_psql('postgres', 'CREATE DATABASE app');
publish('CREATE EXTENSION sno');
my $shown;
foreach my $block ($page =~ /^```(?!ini\n)(\w.*?)\n```$/msg)
{
	my ($kind, $text) = split /\n/, $block, 2;
	if ($kind eq 'text')
	{
		is($shown, $text, 'the output of wal2json') if defined $shown;
	}
	elsif ($kind eq 'sql wal2json')
	{
		$shown = $has_wal2json ? publish($text) =~ s/\A\n//r : undef;
		publish(q{SELECT pg_drop_replication_slot('json')}) if $has_wal2json;
	}
	else
	{
		is($kind, 'sql', 'a block of SQL');
		publish($text);
	}
}

#
# The plug-ins
#

my $type = publish(q{SELECT 'sno'::regtype::oid});
my @ids  = map { "9q7lkdko28bag22$_" } 2, 3;
my @bytes = map { pack 'H*', publish("SELECT encode('$_'::sno::bytea, 'hex')") } @ids;
my @steps = (
	"INSERT INTO person VALUES ('$ids[0]', 'Ada')",
	q{UPDATE person SET name = 'Ada L.'},
	"UPDATE person SET id = '$ids[1]'",
	'DELETE FROM person',
	'TRUNCATE person');

# The messages that pgoutput sends to pg_recvlogical, without those of transactions.  Each is
# followed by a line feed.
sub messages_of
{
	my ($slot, @options) = @_;
	my $end = publish('SELECT pg_current_wal_flush_lsn()');
	my $stream;
	IPC::Run::run(
		[   'pg_recvlogical', '-d', $publisher->connstr('app'), '-S', $slot, '--start', '--no-loop', '-E', $end,
			'-f', '-', map { ('-o', $_) } 'proto_version=1', @options ],
		'>', \$stream, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default)) or die "pg_recvlogical: $?";
	my $take = sub {
		my ($format) = @_;
		my @values = unpack "$format a*", $stream;
		$stream = pop @values;
		return @values;
	};
	my $tuple = sub {
		return map { my ($form) = $take->('a'); $form . ($form =~ /[tb]/ ? ($take->('N/a'))[0] : '') } 1 .. ($take->('n'))[0];
	};
	my (@messages, %name);
	while (length $stream)
	{
		my ($kind) = $take->('a');
		my @message;
		if    ($kind eq 'B') { $take->('x20'); }
		elsif ($kind eq 'C') { $take->('x25'); }
		elsif ($kind eq 'Y') { @message = $take->('N Z* Z*'); }
		elsif ($kind eq 'R')
		{
			my ($relation, undef, $name, $identity, $columns) = $take->('N Z* Z* a n');
			$name{$relation} = $name;
			@message = ($name, $identity, map { join ' ', $take->('C Z* N x4') } 1 .. $columns);
		}
		elsif ($kind eq 'T') { @message = map { $name{$_} } $take->('x5 N'); }
		else
		{
			my ($relation, $which) = $take->('N a');
			@message = ($name{$relation}, $which, $tuple->());
			push @message, $take->('a'), $tuple->() if $kind eq 'U' && $which ne 'N';
		}
		($take->('a'))[0] eq "\n" or die "message of kind $kind";
		push @messages, [ $kind, @message ] if $kind !~ /[BC]/;
	}
	return \@messages;
}

# The kinds of the changes of a publication, and their tables
sub changed
{
	my ($slot, $publication) = @_;
	return join ', ', map { "$_->[0] $_->[1]" } grep { $_->[0] =~ /[IUDT]/ } @{ messages_of($slot, "publication_names=$publication") };
}

create_slot('text',   'pgoutput');
create_slot('binary', 'pgoutput');
create_slot('test',   'test_decoding');
publish($_) foreach @steps;
foreach my $binary (0, 1)
{
	my $form = $binary ? 'b' : 't';
	my ($first, $second) = map { $form . ($binary ? $bytes[$_] : $ids[$_]) } 0, 1;
	my @relation = ([ 'Y', $type, '', 'sno' ], [ 'R', 'person', 'd', "1 id $type", '0 name 25' ]);
	is_deeply(
		messages_of($binary ? 'binary' : 'text', 'publication_names=cdc', $binary ? 'binary=true' : ()),
		[   @relation,
			[ 'I', 'person', 'N', $first, "${form}Ada" ],
			[ 'U', 'person', 'N', $first, "${form}Ada L." ],
			[ 'U', 'person', 'K', $first, 'n', 'N', $second, "${form}Ada L." ],
			[ 'D', 'person', 'K', $second, 'n' ],
			@relation,
			[ 'T', 'person' ] ],
		'the output of pgoutput' . ($binary ? ' with the option binary' : ''));
}
is( changes_of('test'),
	join("\n", map { "table public.person: $_" }
		"INSERT: id[sno]:'$ids[0]' name[text]:'Ada'",
		"UPDATE: id[sno]:'$ids[0]' name[text]:'Ada L.'",
		"UPDATE: old-key: id[sno]:'$ids[0]' new-tuple: id[sno]:'$ids[1]' name[text]:'Ada L.'",
		"DELETE: id[sno]:'$ids[1]'",
		'TRUNCATE: (no-flags)'),
	'the output of test_decoding');
$publisher->safe_psql('postgres', 'CREATE DATABASE other');
$publisher->safe_psql('other',    'CREATE EXTENSION sno');
isnt($publisher->safe_psql('other', q{SELECT 'sno'::regtype::oid}), $type, 'another database has another OID');

if ($has_wal2json)
{
	create_slot('json', 'wal2json');
	publish($_) foreach $steps[0], @steps[ 1, 3, 4 ];
	my $json = "SELECT data FROM pg_logical_slot_peek_changes('json', NULL, NULL, 'format-version'";
	my $new = publish("$json, '2', 'include-type-oids', 'on')");
	like($new, qr/"type":"sno","typeoid":$type,"value":"$ids[0]"/, 'wal2json shows the OID');
	like($new, qr/"action":"U".*"Ada L.".*"identity":\[\{"name":"id",.*"value":"$ids[0]"/, '... and the old key of each update');
	my @old = split /\n/, publish("$json, '1')");
	like($old[0], qr/"columntypes":\["sno","text"\],"columnvalues":\["$ids[0]","Ada"\]/, 'format 1 has the same id');
	like($old[3], qr/\A\{"change":\[\]\}\z/, '... and no TRUNCATE');
	publish(q{SELECT pg_drop_replication_slot('json')});
}

publish('ALTER TABLE person REPLICA IDENTITY FULL');
changes_of('test');
publish($_) foreach @steps[ 0, 3 ];
like(changes_of('test'), qr/DELETE: id\[sno\]:'$ids[0]' name\[text\]:'Ada'\z/, 'REPLICA IDENTITY FULL adds the other columns');
publish('ALTER TABLE person REPLICA IDENTITY DEFAULT');

# Commits aren't in the order of ids.
my ($early, $late) = map { open_session($publisher, 'app') } 1, 2;
changes_of('test');
$early->query_safe("BEGIN; INSERT INTO person VALUES ('$ids[0]')");
$late->query_safe("INSERT INTO person VALUES ('$ids[1]')");
$early->query_safe('COMMIT');
is( join(' ', changes_of('test') =~ /INSERT: id\[sno\]:'(\w+)'/g),
	"$ids[1] $ids[0]", 'changes have the order of the commits');
close_session($_) foreach $early, $late;

#
# Subscriptions
#

# A new database of the subscriber, with the extension if it has the type
sub create_database
{
	my ($name, $sql) = @_;
	$subscriber->safe_psql('postgres', "CREATE DATABASE $name");
	$subscriber->safe_psql($name, ($sql =~ /\bsno/ ? 'CREATE EXTENSION sno;' : '') . $sql);
	return;
}

sub subscribe
{
	my ($name, $publication, $options) = @_;
	my $connection = $publisher->connstr . ' dbname=app';
	$subscriber->safe_psql($name, "CREATE SUBSCRIPTION $name CONNECTION '$connection' PUBLICATION $publication WITH ($options)");
	return;
}

publish('TRUNCATE person');
my $copied = publish(q{INSERT INTO person (name) VALUES ('copied') RETURNING id});
my @table = map { "CREATE TABLE person (id $_ PRIMARY KEY, name text)" } 'sno', 'text COLLATE "C"', 'bytea', 'uuid';
my %received = (sno_text => [ $table[0], 'off' ], sno_binary => [ $table[0], 'on' ],
	text_text => [ $table[1], 'off' ], bytea_text => [ $table[2], 'off' ], bytea_binary => [ $table[2], 'on' ]);
foreach my $name (sort keys %received)
{
	create_database($name, $received{$name}[0]);
	subscribe($name, 'cdc', "binary = $received{$name}[1]");
}
$subscriber->wait_for_subscription_sync($publisher, $_, $_) foreach sort keys %received;
publish('INSERT INTO person SELECT sno_generate(n % 256), n FROM generate_series(1, 600) AS n');
publish($_) foreach q{UPDATE person SET name = 'changed' WHERE name = 'copied' OR name LIKE '1%'},
  q{UPDATE person SET id = sno_generate() WHERE name LIKE '2%'}, q{DELETE FROM person WHERE name LIKE '3%'};

foreach my $name (sort keys %received)
{
	my $wanted = { bytea_text => q{convert_to(id::text, 'UTF8')}, bytea_binary => 'id::bytea' }->{$name} // 'id';
	my $condition = 'true';
	if ($name eq 'bytea_binary' && $publisher->pg_version < 16)
	{
		is($subscriber->safe_psql($name, q{SELECT convert_from(id, 'UTF8') FROM person WHERE octet_length(id) = 16}),
			$copied, "$name: the initial copy has the characters");
		$subscriber->safe_psql($name, 'DELETE FROM person WHERE octet_length(id) = 16');
		$condition = "id <> '$copied'";
	}
	$publisher->wait_for_catchup($name);
	is( $subscriber->safe_psql($name, 'SELECT id, name FROM person ORDER BY id'),
		publish("SELECT $wanted, name FROM person WHERE $condition ORDER BY person.id"),
		"$name: all changes arrive, and have the order of the ids");
	$subscriber->safe_psql($name, "DROP SUBSCRIPTION $name");
}

my %refused = (text_binary => [ $table[1], 'on', '22021' ], uuid_text => [ $table[3], 'off', '22P02' ],
	uuid_binary => [ $table[3], 'on', '08P01' ]);
foreach my $name (sort keys %refused)
{
	my ($sql, $binary, $code) = @{ $refused{$name} };
	my $offset = -s $subscriber->logfile;
	create_database($name, $sql);
	subscribe($name, 'cdc', "binary = $binary, copy_data = false, disable_on_error = true");
	publish("DELETE FROM person; INSERT INTO person VALUES ('$ids[0]', 'Ada')");
	wait_until("$name stops",
		sub { $subscriber->safe_psql('postgres', "SELECT subenabled FROM pg_subscription WHERE subname = '$name'") eq 'f' });
	like(slurp_file($subscriber->logfile, $offset), qr/ERROR:  $code: /, "$name stops with $code");
	$subscriber->safe_psql($name, "DROP SUBSCRIPTION $name");
}

#
# Partitioned tables
#

my $event = 'CREATE TABLE event (id sno PRIMARY KEY) PARTITION BY RANGE (id);';
my $maintain = sub { "CALL sno_maintain_time_partitions('event', '1 month', '0 days', at => '2026-$_[0]-15 00:00+00');" };
my $add = sub { publish("INSERT INTO event VALUES (sno_make('2026-$_[0]-15 00:00+00', 0, 0))"); };
my %root = (parts => 'false', whole => 'true');
publish($event . $maintain->('05'));
foreach my $name (sort keys %root)
{
	publish("CREATE PUBLICATION $name FOR TABLE event WITH (publish_via_partition_root = $root{$name})");
	create_database($name, $event . $maintain->('05') . $maintain->('06'));
	subscribe($name, $name, 'copy_data = true');
	create_slot("${name}_seen", 'pgoutput');
}
$subscriber->wait_for_subscription_sync($publisher, $_, $_) foreach sort keys %root;
$add->('05');
publish($maintain->('06'));
$add->('06');
publish('ALTER TABLE event DETACH PARTITION event_2026_05; DROP TABLE event_2026_05');
my $count = 'SELECT count(*) FROM event';
is(publish($count), 1, 'a partition is gone');
foreach my $name (sort keys %root)
{
	is( changed("${name}_seen", $name),
		$name eq 'parts' ? 'I event_2026_05, I event_2026_06' : 'I event, I event',
		"$name: the names of changed tables, and no deletion");
	$publisher->wait_for_catchup($name);
}
is($subscriber->safe_psql('whole', $count), 2, 'whole: all rows arrive, and stay');
is($subscriber->safe_psql('parts', $count), 1, 'parts: nothing of the new partition arrives');
$subscriber->safe_psql('parts', 'ALTER SUBSCRIPTION parts REFRESH PUBLICATION');
$subscriber->wait_for_subscription_sync($publisher, 'parts', 'parts');
is($subscriber->safe_psql('parts', $count), 2, '... until the subscription is refreshed');

#
# All tables
#

my $feed = q{CREATE EXTENSION sno_feeds;
	CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), message text NOT NULL);
	SELECT sno_feed_create('outbox'); SELECT sno_feed_create_reader('outbox', 'mail')};
publish("$feed; CREATE PUBLICATION everything FOR ALL TABLES");
create_slot('everything', 'pgoutput');
publish(q{INSERT INTO outbox (message) VALUES ('first'); CALL sno_feed_wait('outbox', 'mail')});
is(publish(q{SELECT message FROM sno_feed_next(NULL::outbox, 'mail')}), 'first', 'a reader reads');
is(changed('everything', 'everything'), 'I outbox, U outbox_readers', 'all tables: an acknowledgement is published, and no lease');
like( publish(q{SELECT string_agg(schemaname || '.' || tablename, ' ') FROM pg_publication_tables WHERE pubname = 'everything'}),
	qr/sno_catalog\.sno_lease/, '... whose table belongs to the publication');

create_database('bare', publish(
	q{SELECT string_agg(format('CREATE TABLE %I ()', tablename), ';') FROM pg_publication_tables WHERE pubname = 'everything' AND schemaname = 'public'}));
my $connection = $publisher->connstr . ' dbname=app';
my (undef, undef, $error) = $subscriber->psql('bare',
	"CREATE SUBSCRIPTION bare CONNECTION '$connection' PUBLICATION everything");
like($error, qr/schema "sno_catalog" does not exist/, 'a subscriber without the extension is refused');

# A subscriber that has the same feed
publish('CREATE PUBLICATION feed FOR TABLE outbox, outbox_readers');
create_database('feed', $feed);
my $position = q{SELECT position FROM outbox_readers WHERE reader = 'mail'};
subscribe('feed', 'feed', 'copy_data = false');
$subscriber->wait_for_subscription_sync($publisher, 'feed', 'feed');
publish(q{INSERT INTO outbox (message) VALUES ('second'); CALL sno_feed_wait('outbox', 'mail')});
isnt($subscriber->safe_psql('feed', $position), publish($position), 'readers of one name have two positions');
publish(q{SELECT FROM sno_feed_next(NULL::outbox, 'mail')});
$publisher->wait_for_catchup('feed');
is($subscriber->safe_psql('feed', $position), publish($position), '... until one of them is received');

# Debezium
my ($base64, $id) = $page =~ /`(\w+==)` is `(\w+)`/;
is(publish("SELECT encode('$id', 'base64')"), $base64, 'the characters of an id in Base64');

foreach my $node ($publisher, $subscriber)
{
	check_log($node);
	$node->stop;
}
done_testing();
