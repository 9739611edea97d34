
# An application on sno_portable, as on a managed service: its owner is no superuser, its ORMs
# are SQLAlchemy and Django, it reaches the server and a read replica through a pooler, and the
# replica is promoted without the end of the WAL.  The model of SQLAlchemy comes from doc/managed.md.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;
use Torture;

my $python = '/usr/bin/python3';
my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'pgbouncer is not installed' unless defined $pgbouncer;
plan skip_all => 'SQLAlchemy, Django or psycopg 2 is not installed'
  if system("$python -c 'import sqlalchemy, django, psycopg2' 2>/dev/null") != 0;

my $root = "$FindBin::RealBin/../..";
my $dir  = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();

# Two servers whose clock can be set
my $torture = Torture->new;
my $primary = new_node('primary', allows_streaming => 1, conf => "fsync = on\nautovacuum = off");
$torture->start_server($primary);
$primary->safe_psql('postgres', 'CREATE ROLE owner LOGIN CREATEDB CREATEROLE');
my %as_owner = (extra_params => [ '-U', 'owner' ]);
$primary->safe_psql('postgres', $_, %as_owner) foreach 'CREATE DATABASE shop', 'CREATE ROLE app LOGIN';
$primary->safe_psql('shop', 'ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT ON TABLES TO app', %as_owner);
$primary->backup('standby');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'standby', has_streaming => 1);
$torture->start_server($standby);

# The pooler gives a connection to another client after each transaction.
sub write_databases
{
	my ($server) = @_;
	unlink "$dir/pgbouncer.ini";
	append_to_file("$dir/pgbouncer.ini", '[databases]
shop = ' . $server->connstr('shop') . '
replica = ' . $standby->connstr('shop') . "
[pgbouncer]
unix_socket_dir = $dir
listen_addr =
listen_port = $port
auth_type = trust
auth_file = $dir/users
admin_users = app
pool_mode = transaction
default_pool_size = 3
max_client_conn = 100
");
	return;
}
append_to_file("$dir/users", qq{"owner" ""\n"app" ""\n});
write_databases($primary);
my $pooler = IPC::Run::start([ $pgbouncer, '-q', "$dir/pgbouncer.ini" ], '<', '/dev/null', '&>', "$dir/output");
wait_until('the pooler answers', sub { -S "$dir/.s.PGSQL.$port" });

# The model of the page, and one of Django
mkdir "$dir/shop";
append_to_file("$dir/shop/__init__.py", '');
append_to_file("$dir/shop_models.py", slurp_file("$root/doc/managed.md") =~ /^```python SQLAlchemy\n(.*?)^```/ms);
append_to_file("$dir/shop/models.py", <<'END');
from django.db import models
from django.db.models import F, Func, Value


class KeyField(models.UUIDField):
    db_returning = True

    def pre_save(self, document, add):
        new = Func(Value(1), function="sno.sno_generate_uuidv8", output_field=models.UUIDField())
        return super().pre_save(document, add) or new


class Document(models.Model):
    id = KeyField(primary_key=True, editable=False)
    name = models.TextField()


def during(id, start, end):
    times = Func(Value(start), Value(end), function="tstzrange")
    return Func(F(id), times, function="sno.sno_during", output_field=models.BooleanField())


def time_of(id):
    id = Func(F(id), function="sno.sno_from_uuidv8")
    return Func(id, function="sno.sno_timestamp", output_field=models.DateTimeField())
END
local $ENV{PYTHONPATH}              = $dir;
local $ENV{PYTHONDONTWRITEBYTECODE} = 1;

# The output of a step of the application, and its errors
sub run_app
{
	my ($orm, $step, $dbname, $user, $input) = @_;
	my $output = '';
	IPC::Run::run(
		[ $python, "$FindBin::RealBin/managed_app.py", $orm, $step, "host=$dir&port=$port&dbname=$dbname&user=$user" ],
		'<', \($input // ''), '>&', \$output);
	chomp $output;
	return $output;
}

# The result of a query by way of the pooler, or the SQLSTATE of its error.
sub ask
{
	my ($dbname, $user, $query) = @_;
	my ($out, $err) =
	  run_command([ 'psql', '-XqAt', '-v', 'VERBOSITY=sqlstate', '-c', $query, "host=$dir port=$port dbname=$dbname user=$user" ]);
	return $err =~ /^ERROR:  (\w+)/m ? $1 : $out;
}

# The value of the counter in an id
sub counter_of
{
	my ($id) = @_;
	my ($middle, $last) = $id =~ /^\S{15}(...)-(\S{4}-\S{2})/ or die "not an id: \"$id\"";
	return hex($middle) << 20 | hex($last =~ s/-//r) >> 2 & 0xfffff;
}

#
# A migration installs the script, and the application writes
#

is(run_app('SQLAlchemy', 'install', 'shop', 'owner', slurp_file("$root/portable/sno_portable--0.9.sql")),
	'', 'a migration installs it, and finds no tables that it might drop');
my %ids;
foreach my $orm ('SQLAlchemy', 'Django')
{
	is(run_app($orm, 'create', 'shop', 'owner'), '', "$orm creates a table");
	my @new = split /\n/, run_app($orm, 'write', 'shop', 'app');
	is(scalar(grep { /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/ } @new), 1500, "$orm inserts rows");
	is(join("\n", sort @new[ 0 .. 99 ]), join("\n", @new[ 0 .. 99 ]), 'rows of one session sort as they were inserted');
	is(run_app($orm, 'get', 'shop', 'app', "$new[7] $new[107]"), "a7\nb7", 'it finds them by key');
	is(run_app($orm, 'read', 'shop', 'app') =~ s/\n\[.*//r, "1500\n0\na0\nTrue", 'and by time');
	$ids{$_}++ foreach @new;
}
is(scalar(keys %ids), 3000, 'no id comes twice');

#
# The read replica
#

$primary->wait_for_catchup($standby);
foreach my $orm ('SQLAlchemy', 'Django')
{
	is(run_app($orm, 'read', 'replica', 'app'), "1501\n0\na0\nTrue\n25006", "$orm reads at the replica, and can't insert");
}
my $rows = q{(SELECT id FROM document ORDER BY id LIMIT 3) AS d};
foreach my $reads (
	"count(sno.sno_timestamp(sno.sno_from_uuidv8(id))) FROM $rows",
	"count(sno.sno_meta(sno.sno_from_uuidv8(id))) FROM $rows",
	"count(sno.sno_to_uuidv8(sno.sno_from_uuidv8(id))) FROM $rows",
	"count(sno.sno_date_bin('1 h', sno.sno_from_uuidv8(id), '2026-01-01')) FROM $rows",
	"count(*) FROM $rows WHERE sno.sno_is_uuidv8(id) AND sno.sno_during(id, '[2020-01-01,)')",
	"count(*) FROM $rows WHERE sno.sno_from_uuidv8(id) BETWEEN sno.sno_min('2020-01-01') AND sno.sno_max(now())",
	"count(*) FROM $rows WHERE sno.sno_from_uuidv8(id) BETWEEN sno.sno_range_min('[2020-01-01,)') AND sno.sno_range_max('[2020-01-01,)')")
{
	is(ask('replica', 'app', "SELECT $reads"), 3, "the replica answers SELECT $reads");
}
like(ask('replica', 'app', q{EXPLAIN (COSTS OFF) SELECT FROM document WHERE sno.sno_during(id, '[2020-01-01,2020-01-02)')}),
	qr/Index Cond: \(\(id >= /, 'a search by time uses the key');
foreach my $writes (
	'SELECT sno.sno_generate_uuidv8()', 'SELECT sno.sno_generate_many(2)',
	'SELECT sno.sno_reseed()',          "CALL sno.sno_maintain_time_partitions('events', '1 month')")
{
	ask('shop', 'owner', 'CREATE TABLE IF NOT EXISTS events (id uuid PRIMARY KEY) PARTITION BY RANGE (id)');
	$primary->wait_for_catchup($standby);
	is(ask('replica', 'owner', $writes), '25006', "the replica refuses $writes");
}

# A feed, read at the replica
ask('shop', 'owner', q{
	CREATE TABLE message (id uuid PRIMARY KEY DEFAULT sno.sno_generate_uuidv8(), xid xid8 NOT NULL DEFAULT pg_current_xact_id(), body text);
	CREATE TABLE reader (xid xid8 NOT NULL DEFAULT '0', id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000');
	INSERT INTO reader DEFAULT VALUES});
my $feed = q{SELECT %s FROM message WHERE (xid, id) > (%s) AND xid < pg_snapshot_xmin(pg_current_snapshot())};
my $news = sprintf $feed, q{string_agg(body, ' ' ORDER BY xid, id)}, 'SELECT xid, id FROM reader';
my $slow = open_session($primary, 'shop', 'search_path = public');
$slow->query_safe(q{BEGIN; INSERT INTO message (body) VALUES ('slow')});
ask('shop', 'owner', q{INSERT INTO message (body) VALUES ('fast')});
$primary->wait_for_catchup($standby);
is(ask('replica', 'owner', 'SELECT count(*) FROM message'), 1, 'a row is there before one with a lower id');
is(ask('replica', 'owner', $news), '', 'a reader at the replica does not get it yet');
$slow->query_safe('COMMIT');
close_session($slow);
$primary->wait_for_catchup($standby);
is(ask('replica', 'owner', $news), 'slow fast', 'then it gets both');

#
# The replica is promoted without the end of the WAL, and its clock is behind
#

$standby->stop;
my $from = time;
my @lost = split /\n/, run_app('SQLAlchemy', 'write', 'shop', 'app');
ask('shop', 'owner', q{INSERT INTO message (body) VALUES ('lost')});
my $position = ask('shop', 'owner', q{SELECT quote_literal(xid) || ', ' || quote_literal(id) FROM message ORDER BY xid DESC LIMIT 1});
ask('shop', 'owner', "UPDATE reader SET (xid, id) = ROW ($position)");
is(ask('shop', 'owner', $news), '', 'a reader has all messages');
kill_postmaster($primary);
$torture->start_server($standby);
$standby->promote;
write_databases($standby);
ask('pgbouncer', 'app', 'RELOAD');
ask('pgbouncer', 'app', 'RECONNECT');
ask('shop', 'owner', q{INSERT INTO message (body) VALUES ('new')});
is(ask('shop', 'owner', $news), 'slow fast new', 'a reader whose position is in the database gets the new message');
is(ask('shop', 'owner', sprintf $feed, 'count(*)', $position), 0, 'not so with a position from the lost time');
$ids{$_}++ foreach @lost;

# Now, because the application then begins to write at the time of the lost ids, or before it
$torture->set_clock($from - time - 1);
foreach my $orm ('SQLAlchemy', 'Django')
{
	my @new = split /\n/, run_app($orm, 'write', 'shop', 'app');
	is(scalar(@new), 1500, "$orm goes on at the promoted server");
	is(scalar(grep { $ids{$_}++ } @new), 0, 'no id comes twice');
	if ($orm eq 'SQLAlchemy')
	{
		cmp_ok((sort @new)[0], 'lt', (sort @lost)[-1], 'in a time of lost ids');
		my %was = map { counter_of($_) => 1 } @lost;
		is(scalar(grep { $was{ counter_of($_) } } @new), 0, 'its counter repeats no lost value');
	}
}
$pooler->signal('TERM');
$pooler->finish;
$standby->stop;
check_log($_) foreach $primary, $standby;
done_testing();
