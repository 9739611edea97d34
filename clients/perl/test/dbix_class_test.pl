# DBIx::Class: the examples of clients/perl/README.md.

use strict;
use warnings;

use Test::More;

foreach my $module (qw(DBD::Pg DBIx::Class::Schema))
{
	plan skip_all => "no $module" unless eval "require $module";
}

sub example
{
	my ($name) = @_;
	open(my $file, '<', "$ENV{CLIENTS}/perl/README.md") or die $!;
	local $/;
	return <$file> =~ /^```perl \Q$name\E\n(.*?)^```$/ms ? $1 : die "no block $name";
}

my @warnings;
local $SIG{__WARN__} = sub { push @warnings, @_ };
my @settings = ('dbi:Pg:', '', '', { RaiseError => 1, PrintError => 0 });
eval example('dbix') . '; 1' or die $@;
my $schema = Shop->connect(@settings);
my $dbh    = $schema->storage->dbh;

SKIP:
{
	skip('no SQL::Translator', 1) unless eval { require SQL::Translator };
	my $columns = sub {
		return $dbh->selectall_arrayref(
			q{SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod), pg_get_expr(adbin, adrelid), attnotnull
			FROM pg_attribute LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
			WHERE attrelid IN ('customers'::regclass, 'orders'::regclass) AND attnum > 0 ORDER BY 1, 2});
	};
	my $wanted = $columns->();
	$dbh->do('DROP TABLE customers, orders');
	local $dbh->{PrintWarn} = 0;
	$schema->deploy;
	is_deeply($columns->(), $wanted, 'deploy() makes the tables');
}

our ($customers, $ada, $order, $found, @some, @recent);
eval(example('dbix-use') =~ s/^my /our /gmr . '; 1') or die $@;
like($ada->id, qr/\A[2-9a-x]{16}\z/, 'a key of the database');
is($dbh->selectrow_array('SELECT sno_meta(?)', undef, $order->id), 2, 'another one');
is($order->discard_changes->related, '{' . $ada->id . ',NULL}', 'an array');
is_deeply([ $found->name, map { $_->name } @some, @recent ], [qw(Ada Ada Ada)], 'find, a list, a range of time');
is_deeply([ $order->customer->name, $ada->orders->count, $customers->search({ 'orders.id' => $order->id }, { join => 'orders' })->count ],
	[ 'Ada', 1, 1 ], 'relations');
$ada->update({ name => 'Ada Lovelace' });
is($customers->find($ada->id)->name, 'Ada Lovelace', 'a row that is changed');
my @made = $customers->populate([ map { { name => $_ } } qw(Bob Cy) ]);
is(scalar(grep { $_->id } @made), 2, 'many rows');
ok(!eval { $customers->find('not an id') } && $schema->storage->dbh->state eq '22P02', 'a wrong id');
$order->delete;
is($schema->resultset('Order')->count, 0, 'a row that is deleted');

SKIP:
{
	skip('no DBIx::Class::Schema::Loader', 2) unless eval { require DBIx::Class::Schema::Loader };
	DBIx::Class::Schema::Loader::make_schema_at('Loaded', { naming => 'current', quiet => 1 }, \@settings);
	is_deeply(
		[   map {
				my $info = Loaded->source('Order')->column_info($_);
				[ $_, $info->{data_type}, ref $info->{default_value} && ${ $info->{default_value} }, $info->{retrieve_on_insert} ]
			} qw(id customer_id related)
		],
		[   [ 'id', 'sno', 'sno_generate(2)', 1 ],
			[ 'customer_id', 'sno',   '', undef ],
			[ 'related',     'sno[]', '', undef ] ],
		'introspection');
	is_deeply([ sort(Loaded->sources) ], [qw(Customer Order)], "the extension's own tables aren't seen");
}
is_deeply(\@warnings, [], 'no warnings');
done_testing();
