
# Programs that poll a table by "id > last", with the statements that they send.  Over the
# table, each of them misses rows.  Over the view of doc/feeds.md, none of them misses a row.
#
# Of these programs, Debian has only mimeo, which runs if it is installed.  The statements of the
# others, the types of their parameters and how they remember the last id are facts from their
# sources, in the versions that are named below.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run ();
use TestHelpers;

my ($view) = slurp_file("$FindBin::RealBin/../../doc/feeds.md") =~ /^(CREATE VIEW outbox_settled .*);$/m
  or die 'no view';
my %watermark = (
	event   => q{sno_flake_watermark('event')},
	invoice => q{sno_flake_watermark('invoice')},
	outbox  => 'sno_watermark()');
my @tables = sort keys %watermark;

my $node = new_node('main', allows_streaming => 1, conf => q{
autovacuum = off
max_connections = 30
});
$node->start;
$node->safe_psql('postgres', $_) foreach split /;\n/, q{
CREATE EXTENSION sno_feeds CASCADE;
CREATE EXTENSION sno_flakes;
SELECT sno_flake_create_generator('event', 'snowflake'), sno_flake_create_generator('invoice', 'counter');
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT sno_flake_generate('event'), message text NOT NULL);
CREATE TABLE invoice (id bigint PRIMARY KEY DEFAULT sno_flake_generate('invoice'), message text NOT NULL);
CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), message text NOT NULL);
SELECT sno_feed_create('event'), sno_feed_create('invoice'), sno_feed_create('outbox');
SELECT sno_feed_create_reader('outbox', 'telegraf');
CREATE TABLE person (id integer PRIMARY KEY, name text NOT NULL, updated_at timestamptz NOT NULL DEFAULT now());
CALL sno_feed_create_changes('person');
CREATE VIEW person_settled AS
	SELECT c.changed, sno_timestamp(c.changed) AS changed_at, c.deleted, c.id, p.name
	FROM person_changes AS c LEFT JOIN person AS p ON p.id = c.id WHERE c.changed < (SELECT sno_watermark());
};
$node->safe_psql('postgres', $view =~ s/outbox/$_/gr =~ s/sno_watermark\(\)/$watermark{$_}/r) foreach @tables;

my ($reader, $first, $second) = map { open_session($node, 'postgres') } 1 .. 3;

#
# Statements
#

# What happens between two statements of a poll, how many rows a page has, and the plans of
# statements while they are recorded
my $between   = sub { };
my $page_size = 1000;
my $plans;

sub fields_of { return map { [ split /\|/ ] } split /\n/, $_[0]; }

# The first column of the result of a statement.  With types of parameters, the statement is
# prepared once in the session, as drivers do.
sub ask
{
	my ($session, $statement, $types, @values) = @_;
	my $text = $statement;
	if (defined $types)
	{
		my $name = $session->{prepared}{$statement};
		if (!defined $name)
		{
			$name = 'p' . keys %{ $session->{prepared} };
			$session->query_safe("PREPARE $name" . ($types && " ($types)") . " AS $statement");
			$session->{prepared}{$statement} = $name;
		}
		$statement = "EXECUTE $name" . ($types && ' (' . join(', ', map { "'$_'" } @values) . ')');
	}
	if (defined $plans)
	{
		foreach my $mode ('force_custom_plan', 'force_generic_plan')
		{
			$session->query_safe("SET plan_cache_mode = $mode");
			push @$plans, [ $text, $session->query_safe("EXPLAIN (COSTS off) $statement") ];
		}
		$session->query_safe('RESET plan_cache_mode');
	}
	return map { $_->[0] } fields_of($session->query_safe($statement));
}

#
# Pollers: "of" is the table whose type of ids the program knows.  "poll" gets a session, the
# name of the table or view, and the value that the program remembers, and returns the ids of the rows
# that it was given.  A poll may have "several" statements that read rows, may read the last row
# "again", may return rows in "no_order", may stay "behind" by one row, and may need a server that
# "writes".
#
my %poller;

# Kafka Connect, kafka-connect-jdbc 10.9 (TimestampIncrementingCriteria, JdbcSourceTask), with
# pgjdbc 42.7.12, which names the database in a table's name.  The offset is a Java Long, at
# first -1.  Columns of other than number types are no incrementing columns.  Each query is a
# transaction.
$poller{'Kafka Connect'} = {
	of   => 'event',
	poll => sub {
		my ($session, $source, $state) = @_;
		my $table = qq{"postgres"."public"."$source"};
		$session->query_safe('BEGIN');
		my @ids = ask($session, qq{SELECT * FROM $table WHERE $table."id" > \$1 ORDER BY $table."id" ASC},
			'bigint', $state->{incrementing} // -1);
		$session->query_safe('COMMIT');
		$state->{incrementing} = $ids[-1] if @ids;
		return @ids;
	} };

# Logstash, logstash-integration-jdbc 5.6.3 (value_tracking.rb, statement_handler.rb) with Sequel,
# which writes numbers into the statement.  The last value is the id of the last row.  It is 0 at
# first, and only numbers and times are stored.
sub logstash_statement
{
	my ($source, $state) = @_;
	return "SELECT * FROM $source WHERE id > " . ($state->{sql_last_value} // 0) . ' ORDER BY id';
}
$poller{'Logstash'} = {
	of   => 'event',
	poll => sub {
		my ($session, $source, $state) = @_;
		my @ids = ask($session, logstash_statement($source, $state));
		$state->{sql_last_value} = $ids[-1] if @ids;
		return @ids;
	} };

# The same with jdbc_paging_enabled.  A query counts the rows first.  Over the table, rows that are
# committed between two pages move others to the next page.
$poller{'Logstash, paged'} = {
	of      => 'event',
	several => 1,
	moves   => 1,
	poll    => sub {
		my ($session, $source, $state) = @_;
		my $rows = '(' . logstash_statement($source, $state) . ') AS "t1"';
		my ($count) = ask($session, qq{SELECT count(*) AS "count" FROM $rows LIMIT 1});
		my @ids;
		for (my $offset = 0; $offset < $count; $offset += $page_size)
		{
			$between->() if $offset > 0;
			push @ids, ask($session, "SELECT * FROM $rows LIMIT $page_size OFFSET $offset");
		}
		$state->{sql_last_value} = $ids[-1] if @ids;
		return @ids;
	} };

# Airbyte, source-postgres 3.8 (PostgresSourceJdbcPartition, PostgresSourceSelectQueryGenerator).
# Each sync first reads the highest value of the cursor, and then the rows from the last one to
# this one.  The first sync reads all rows in any order.  Later syncs read a view in order.
sub airbyte
{
	my ($type, $session, $source, $state) = @_;
	my ($from, $order) = (qq{FROM "public"."$source"}, $source =~ /_/ ? ' ORDER BY "id"' : '');
	my ($highest) = ask($session, qq{SELECT "id" $from ORDER BY "id" DESC NULLS LAST LIMIT 1});
	return () if !defined $highest || ($state->{cursor} // '') eq $highest;
	$between->();
	my @ids = defined $state->{cursor}
	  ? ask($session, qq{SELECT "id", "message" $from WHERE ("id" >= \$1) AND ("id" <= \$2)$order},
		"$type, $type", $state->{cursor}, $highest)
	  : sort { $a cmp $b } ask($session, qq{SELECT "id", "message" $from});
	$state->{cursor} = $highest;
	return @ids;
}
$poller{'Airbyte'} = { of => 'event', several => 1, again => 1, poll => sub { return airbyte('bigint', @_) } };

# The type of a sno is a string to Airbyte, and the driver sends strings as varchar, unless
# stringtype=unspecified is among the parameters of the JDBC URL.
$poller{'Airbyte, stringtype=unspecified'} =
  { of => 'outbox', several => 1, again => 1, poll => sub { return airbyte('unknown', @_) } };

# Singer, pipelinewise-tap-postgres 2.1.0 (sync_strategies/incremental.py), which has a cursor of
# the server, and reads the last row again.
$poller{'Singer, PipelineWise'} = {
	of    => 'event',
	again => 1,
	poll  => sub {
		my ($session, $source, $state) = @_;
		my $last = $state->{replication_key_value};
		my $where = $last ? qq{WHERE  "id"  >= '$last'::bigint} : '';
		$session->query_safe('BEGIN');
		ask($session, 'DECLARE "pipelinewise" CURSOR WITHOUT HOLD FOR SELECT "id" , "message" '
			  . qq{ FROM ( SELECT * FROM "public"."$source" $where ORDER BY  "id"  ASC ) pg_speedup_trick});
		my @ids = map { $_->[0] } fields_of($session->query_safe('FETCH FORWARD 20000 FROM "pipelinewise"'));
		$session->query_safe('CLOSE "pipelinewise"; COMMIT');
		$state->{replication_key_value} = $ids[-1] if @ids;
		return @ids;
	} };

# Singer, MeltanoLabs tap-postgres 0.10.0 with Singer SDK 0.55 (sql/stream.py) and SQLAlchemy
$poller{'Singer, Meltano'} = {
	of    => 'event',
	again => 1,
	poll  => sub {
		my ($session, $source, $state) = @_;
		my $table = "public.$source";
		my $last = $state->{replication_key_value};
		my @ids = ask($session, "SELECT $table.id, $table.message FROM $table"
			  . (defined $last ? " WHERE $table.id >= $last" : '') . " ORDER BY $table.id ASC NULLS FIRST");
		$state->{replication_key_value} = $ids[-1] if @ids;
		return @ids;
	} };

# Metricbeat 9.4 (module sql, cursor/types.go): the query is the user's.  The cursor is an integer
# of 64 bits, or a decimal, a float or a time.
$poller{'Metricbeat'} = {
	of   => 'event',
	poll => sub {
		my ($session, $source, $state) = @_;
		my @ids = ask($session, "SELECT id, message FROM $source WHERE id > \$1 ORDER BY id ASC LIMIT 500",
			'unknown', $state->{cursor} // 0);
		$state->{cursor} = (sort { $a <=> $b } @ids)[-1] if @ids;
		return @ids;
	} };

# n8n, n8n-nodes-base 2.37.0 (Postgres node, operation "Execute Query"): the query is the user's,
# and so is where the last id is kept.  pg-promise writes values into the statement, and large
# numbers are texts by default.
foreach my $table (@tables)
{
	$poller{"n8n, $table"} = {
		of   => $table,
		poll => sub {
			my ($session, $source, $state) = @_;
			my $last = $state->{last} // ($table eq 'outbox' ? '2' x 16 : 0);
			my @ids = ask($session, "SELECT * FROM $source WHERE id > '$last' ORDER BY id LIMIT 1000");
			$state->{last} = $ids[-1] if @ids;
			return @ids;
		} };
}

# dbt, dbt-postgres 1.11 and dbt-adapters 1.24 (incremental.sql, merge.sql): the rows that the
# model selects go into a temporary table, and from there into the table of the model, which also
# has the last id.
my %strategy = (
	append => q{insert into THIS ("id", "message") ( select "id", "message" from TEMP )},
	'delete+insert' => q{delete from THIS as DBT_INTERNAL_DEST where (id) in (
select distinct id from TEMP as DBT_INTERNAL_SOURCE );
insert into THIS ("id", "message") ( select "id", "message" from TEMP )},
	merge => q{merge into THIS as DBT_INTERNAL_DEST using TEMP as DBT_INTERNAL_SOURCE
on (DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id)
when matched then update set "id" = DBT_INTERNAL_SOURCE."id","message" = DBT_INTERNAL_SOURCE."message"
when not matched then insert ("id", "message") values ("id", "message")});
foreach my $kind (map { my $name = $_; ([ $name, 'outbox', 'sno_zero()' ], [ $name, 'event', 0 ]) } keys %strategy)
{
	my ($name, $table, $lowest) = @$kind;
	$poller{"dbt, $name, $table"} = {
		of       => $table,
		writes   => 1,
		no_order => 1,
		poll     => sub {
			my ($session, $source, $state) = @_;
			my $model = "dbt_${name}_$source";
			my ($this, $temp) = (qq{"postgres"."public"."$model"}, qq{"${model}__dbt_tmp"});
			if (!$state->{exists}++)
			{
				$session->query_safe("create table $this as ( SELECT * FROM $source )");
				return map { $_->[0] } fields_of($session->query_safe("SELECT id FROM $this"));
			}
			$session->query_safe('BEGIN');
			ask($session, "create temporary table $temp as ( SELECT * FROM $source"
				  . " WHERE id > (SELECT coalesce(max(id), $lowest) FROM $this) )");
			$session->query_safe($strategy{$name} =~ s/THIS/$this/gr =~ s/TEMP/$temp/gr);
			my @ids = map { $_->[0] } fields_of($session->query_safe("SELECT id FROM $temp"));
			$session->query_safe("drop table $temp; COMMIT");
			return @ids;
		} };
}

# Telegraf 1.40 (inputs/sql): the query is prepared once, has no parameters, and remembers nothing.
# So it calls a reader.
$poller{'Telegraf'} = {
	of      => 'outbox',
	writes  => 1,
	sources => ["sno_feed_next(NULL::outbox, 'telegraf')"],
	poll    => sub {
		my ($session, $source) = @_;
		return ask($session, "SELECT * FROM $source", '');
	} };

# mimeo (refresh_inserter_serial) is the program itself.  It reads by dblink the rows between the
# last one and the highest one, which it leaves for the next time.  The highest id must be an
# integer of 32 bits.
if ($node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'mimeo'}))
{
	my $server = $node->connstr('postgres');
	$node->safe_psql('postgres', qq{
CREATE EXTENSION dblink;
CREATE SCHEMA mimeo;
CREATE EXTENSION mimeo SCHEMA mimeo;
CREATE SCHEMA copy;
INSERT INTO mimeo.dblink_mapping_mimeo (data_source, username) VALUES (\$\$$server\$\$, current_user);
});
	$poller{'mimeo'} = {
		of     => 'invoice',
		writes => 1,
		behind => 1,
		poll   => sub {
			my ($session, $source, $state) = @_;
			if (defined $plans)
			{
				ask($session, $_) foreach (
					"SELECT max(id) - 0 AS boundary FROM public.$source",
					"SELECT id,message FROM public.$source WHERE id > '2000' AND id < '2010' ORDER BY id ASC LIMIT ALL");
			}
			my $copy = "copy.$source";
			$session->query_safe('SET client_min_messages = warning; '
				  . ($state->{exists}++
					? "SELECT mimeo.refresh_inserter('$copy')"
					: "SELECT mimeo.inserter_maker('public.$source', 'serial', 'id', 1, p_boundary := '0', p_dest_table := '$copy')"));
			my @ids = map { $_->[0] }
			  fields_of($session->query_safe('SELECT id FROM ' . $copy . ' OFFSET ' . ($state->{count} // 0)));
			$state->{count} += @ids;
			return @ids;
		} };
}
else
{
	note 'mimeo is not installed';
}

#
# What the pollers were given
#

# By the names of the poller and of the table or view
my (%state, %got);

# The table or views that a poller reads on a server
sub sources_of
{
	my ($name, $view) = @_;
	my $table = $poller{$name}{of};
	return @{ $poller{$name}{sources} // [ $table, "${table}_$view" ] };
}

# Let a poller poll once; returns how many rows it was given, beside the last one.
sub poll
{
	my ($name, $source, $session) = @_;
	my $got = $got{$name}{ $session->{pid} }{$source} //= { ids => [], times => {} };
	my @ids = $poller{$name}{poll}->($session, $source, $state{$name}{ $session->{pid} }{$source} //= {});
	@ids = sort @ids if $poller{$name}{no_order};
	shift @ids if $poller{$name}{again} && @ids && @{ $got->{ids} } && $ids[0] eq $got->{ids}[-1];
	$got->{times}{$_}++ foreach @ids;
	push @{ $got->{ids} }, @ids;
	return scalar @ids;
}

# Let pollers poll the tables and their views once; returns how many rows they were given.
sub poll_all
{
	my ($session, $view, @names) = @_;
	my $count = 0;
	foreach my $name (@names)
	{
		$count += poll($name, $_, $session) foreach sources_of($name, $view);
	}
	return $count;
}

# Check what pollers were given.
sub check
{
	my ($session, $view, @names) = @_;
	foreach my $name (@names)
	{
		my ($table, $behind) = @{ $poller{$name} }{ 'of', 'behind' };
		my @all = map { $_->[0] } fields_of($reader->query_safe("SELECT id FROM $table ORDER BY id"));
		pop @all if $behind;
		foreach my $source (sources_of($name, $view))
		{
			my $got    = $got{$name}{ $session->{pid} }{$source};
			my $missed = grep { !$got->{times}{$_} } @all;
			my $twice  = grep { $_ > 1 } values %{ $got->{times} };
			note "$name, $source: missed $missed of " . @all . " rows, was given $twice twice";
			if ($source eq $table)
			{
				cmp_ok($missed, '>', 0, "$name misses rows of $source");
				cmp_ok($twice, '>', 0, '... and is given rows twice') if $poller{$name}{moves} && $view eq 'settled';
			}
			else
			{
				is("$missed missed, $twice twice", '0 missed, 0 twice', "$name is given each row of $source once");
				ok("@{ $got->{ids} }" eq "@all", "... in order");
			}
		}
	}
	return;
}

# Insert rows into each table.
sub insert
{
	my ($session, $count) = @_;
	foreach my $table (@tables)
	{
		$session->query_safe("INSERT INTO $table (message) SELECT 'message' FROM generate_series(1, $count)");
	}
	return;
}

# Wait until the watermarks are above all rows.
sub settle
{
	foreach my $table (@tables)
	{
		wait_until(
			"$table is settled",
			sub { $second->query_safe("SELECT max(id) < $watermark{$table} FROM $table") eq 't' });
	}
	return;
}

my @names = sort keys %poller;
my @here = ($reader, 'settled', @names);
insert($first, 100);
settle();
1 while poll_all(@here);
$page_size = 2;

# A row with a higher id is committed first, and polled.
foreach my $end ('COMMIT', 'ROLLBACK', 'COMMIT')
{
	$first->query_safe('BEGIN');
	insert($first,  2);
	insert($second, 3);
	poll_all(@here);
	$first->query_safe($end);
	settle();
	poll_all(@here);
}

# The same, but the other transaction is committed between two statements of a poll.
foreach my $name (grep { $poller{$_}{several} } @names)
{
	foreach my $source (sources_of($name, 'settled'))
	{
		1 while poll($name, $source, $reader);
		$first->query_safe('BEGIN');
		insert($first,  2);
		insert($second, 3);
		$between = sub { $first->query_safe('COMMIT'); $between = sub { }; };
		poll($name, $source, $reader);
		$between->();
		settle();
		poll($name, $source, $reader);
	}
}

# Writers with transactions of some milliseconds, a fifth of which are aborted
$page_size = 100;
my $script = PostgreSQL::Test::Utils::tempdir('pollers') . '/writer';
append_to_file($script,
	"\\set pause random(0, 20000)\n\\set fate random(1, 5)\nBEGIN;\n"
	  . join("\\sleep :pause us\n", map {
		my $count = $_;
		join '', map { "INSERT INTO $_ (message) SELECT 'message' FROM generate_series(1, $count);\n" } @tables;
	  } 1 .. 2)
	  . "\\if :fate = 1\nROLLBACK;\n\\else\nCOMMIT;\n\\endif\n");
my $output;
my $writers = IPC::Run::start(
	[ 'pgbench', '-n', '--random-seed=1', '-c', 16, '-j', 2, '-t', 60, '-f', $script, $node->connstr('postgres') ],
	'<', '/dev/null', '>&', \$output);
my $rounds = 0;
do
{
	poll_all(@here);
	$rounds++;
	$writers->pump_nb;
} while ($writers->pumpable);
ok($writers->finish, 'writers met no error') or diag $output;
note "the programs polled $rounds times meanwhile";
settle();
1 while poll_all(@here);
check(@here);

#
# Plans
#

# Each statement that reads rows scans the index of the ids once, between both bounds.  A program
# that puts nulls elsewhere than the index does sorts the rows.
sub like_plan
{
	my ($what, $table, $plan, $sorts, @bounds) = @_;
	my @scans = $plan =~ /^.* on $table$/mg;
	my ($condition) = $plan =~ /^ *Index Cond: (.*)$/m;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(@scans == 1
		  && $scans[0] =~ /Index (?:Only )?Scan(?: Backward)? using ${table}_pkey/
		  && @bounds == grep({ $condition =~ /\(id $_ / } @bounds)
		  && ($sorts || $plan !~ /Sort Key/)
		  && $plan !~ /Filter/,
		"$what: one index scan") or diag $plan;
	return;
}
insert($first, 10);
settle();
$page_size = 1000;

# Among few rows, the planner may prefer another scan, depending on statistics.
$reader->query_safe("SET enable_$_ = off") foreach 'seqscan', 'bitmapscan';
$reader->query_safe('DISCARD PLANS');
foreach my $name (@names)
{
	my $table = $poller{$name}{of};
	next if $poller{$name}{sources};
	$plans = [];
	poll($name, "${table}_settled", $reader);
	cmp_ok(@$plans, '>', 0, "$name: plans");
	foreach (@$plans)
	{
		my ($statement, $plan) = @$_;
		my $sorts = $statement =~ /NULLS/ ? 1 : 0;
		like_plan("$name: $statement", $table, $plan, $sorts, '<', $statement =~ /WHERE/ ? '>=?' : ());
	}
	$plans = undef;
}

# Airbyte sorts all ids to find the highest one, unless another index has its order.
$reader->query_safe('CREATE INDEX event_for_airbyte ON event (id DESC NULLS LAST)');
like(
	$reader->query_safe(
		'EXPLAIN (COSTS off) SELECT "id" FROM "public"."event_settled" ORDER BY "id" DESC NULLS LAST LIMIT 1'),
	qr/^Limit\n(?!.*Sort).*Index Only Scan using event_for_airbyte on event\n *Index Cond: \(id < /s,
	'Airbyte finds the highest id by an index of its own');

#
# Types and settings
#

# Kafka Connect refuses an incrementing column that may be null, unless validate.non.null is false.
# Airbyte reads what has no file in order, and sends strings as varchar.
is( $reader->query_safe(
		q{SELECT attnotnull FROM pg_attribute WHERE attrelid = 'event_settled'::regclass AND attname = 'id'}),
	'f', 'the id of a view may be null');
is($reader->query_safe(q{SELECT pg_relation_filenode('"public"."event_settled"')}), '', 'a view has no file');
like(error_of($reader, 'PREPARE strings (varchar) AS SELECT "id" FROM "public"."outbox_settled" WHERE ("id" >= $1)'),
	qr/ERROR:  42883: operator does not exist: sno >= character varying/, 'a sno is not compared with a varchar');
like(
	error_of($reader,
		q{SELECT mimeo.inserter_maker('public.event_settled', 'serial', 'id', 1, p_dest_table := 'copy.event')}),
	qr/integer out of range/, 'mimeo takes no id of more than 32 bits')
  if $poller{'mimeo'};

#
# Polls by time
#

# Kafka Connect with mode=timestamp: returns the ids of the rows, and remembers the last time.
sub poll_by_time
{
	my ($source, $column, $state) = @_;
	my $time = qq{"postgres"."public"."$source"."$column"};
	my ($last, @ids);
	foreach (fields_of($reader->query_safe(
		qq{SELECT id, "$column" FROM "postgres"."public"."$source" WHERE $time > '$state->{timestamp}'}
		  . qq{ AND $time < clock_timestamp() ORDER BY $time ASC})))
	{
		push @ids, $_->[0];
		$state->{timestamp} = $_->[1];
	}
	return @ids;
}

$reader->query_safe('CREATE INDEX person_changed_at ON person_changes (sno_timestamp(changed))');
like(
	$reader->query_safe(
		'EXPLAIN (COSTS off) SELECT * FROM person_settled WHERE changed_at > now() ORDER BY changed_at'),
	qr/Index Scan using person_changed_at on person_changes/, 'changed_at: an index scan');

# By times of updates, it misses rows as by ids.  By times of changes below a watermark, it
# doesn't, because a watermark divides no rows of one time.
my ($by_update, $by_change) = map { { timestamp => '1970-01-01 00:00+00' } } 1 .. 2;
sub until_changed
{
	my (@expected) = @_;
	my @ids;
	wait_until('changes are polled',
		sub { push @ids, poll_by_time('person_settled', 'changed_at', $by_change); @ids >= @expected });
	return join ' ', sort @ids;
}
$first->query_safe(q{INSERT INTO person (id, name) SELECT n, 'person ' || n FROM generate_series(1, 6) AS n});
is(join(' ', poll_by_time('person', 'updated_at', $by_update)), '1 2 3 4 5 6', 'updated_at: all persons');
is(until_changed(1 .. 6), '1 2 3 4 5 6', 'changed_at: all persons');
$first->query_safe('BEGIN');
$first->query_safe('UPDATE person SET updated_at = now() WHERE id = 1');
$second->query_safe('UPDATE person SET updated_at = now() WHERE id = 2');
is(join(' ', poll_by_time('person', 'updated_at', $by_update)), '2', 'updated_at: the later update');
is(join(' ', poll_by_time('person_settled', 'changed_at', $by_change)), '', 'changed_at: none of both yet');
$first->query_safe('COMMIT');
is(until_changed(1, 2), '1 2', 'changed_at: both updates');
is(join(' ', poll_by_time('person', 'updated_at', $by_update)), '', 'updated_at: the earlier update is missed');

# A changed row moves to the end.  So a page by OFFSET skips a row.
my $pages = 'SELECT id FROM person_settled ORDER BY changed LIMIT 3 OFFSET';
my @paged = ask($reader, "$pages 0");
$first->query_safe("UPDATE person SET name = 'changed' WHERE id = $paged[0]");
wait_until('the change is settled', sub { $reader->query_safe('SELECT count(*) FROM person_settled') == 6 });
push @paged, ask($reader, "$pages 3"), ask($reader, "$pages 6");
is(join(' ', sort @paged), '1 2 3 3 4 5', 'a poll in pages skips a row, and returns another one twice');

#
# A standby
#

# The primary writes watermarks into tables, which the views of the standby use.
$reader->query_safe($_) foreach map { (
	"CREATE TABLE ${_}_watermark (one boolean PRIMARY KEY DEFAULT true CHECK (one), w "
	  . ($_ eq 'outbox' ? 'sno' : 'bigint') . ' NOT NULL)',
	"INSERT INTO ${_}_watermark (w) VALUES ($watermark{$_})",
	"CREATE VIEW ${_}_copied AS SELECT * FROM $_ WHERE id < (SELECT w FROM ${_}_watermark)") } @tables;
my $standby = start_standby($node, 'standby');
my $copy    = open_session($standby, 'postgres');
@names = grep { !$poller{$_}{writes} } @names;
my @there = ($copy, 'copied', @names);

sub replicate
{
	$reader->query_safe("UPDATE ${_}_watermark SET w = $watermark{$_}") foreach @tables;
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	return;
}
like(error_of($copy, "SELECT * FROM ${_}_settled"), qr/ERROR:  25006: /, "a standby can't read ${_}_settled")
  foreach @tables;
settle();
replicate();
1 while poll_all(@there);
$first->query_safe('BEGIN');
insert($first,  2);
insert($second, 3);
replicate();
poll_all(@there);
$first->query_safe('COMMIT');
settle();
replicate();
1 while poll_all(@there);
check(@there);

close_session($_) foreach ($copy, $reader, $first, $second);
$standby->stop;
$node->stop;
done_testing();
