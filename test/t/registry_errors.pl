
# A registry that fails for one database of a server serves the others.  And functions that
# somebody planted in the search path are not called.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use Registry;
use TestHelpers;

my $registry = Registry->new('registry', '1024, 2047, 16');

# A schema that is found first has functions for all forms of the call.
$registry->query(q{
CREATE SCHEMA planted;
GRANT USAGE ON SCHEMA planted TO PUBLIC;
ALTER ROLE asker SET search_path = planted, public, pg_catalog;
CREATE TABLE planted.call (n int);
GRANT INSERT ON planted.call TO PUBLIC;
CREATE FUNCTION planted.sno_registry_renew(bigint, bigint, bigint, text, bigint, bigint, integer, text)
RETURNS TABLE (status text, range_first bigint, range_last bigint, now bigint, first bigint, last bigint, floor bigint, ceiling bigint)
LANGUAGE sql AS 'INSERT INTO planted.call VALUES (1); SELECT $$granted$$, 1024, 2047, $5, 1024, 2047, 0::bigint, $6';
CREATE FUNCTION public.sno_registry_renew(text, text, text, text, text, text, text, text)
RETURNS TABLE (status text, range_first bigint, range_last bigint, now bigint, first bigint, last bigint, floor bigint, ceiling bigint)
LANGUAGE sql AS 'INSERT INTO planted.call VALUES (2); SELECT $$granted$$, 1024, 2047, $5::bigint, 1024, 2047, 0::bigint, $6::bigint';
CREATE FUNCTION planted.eq(name, name) RETURNS boolean LANGUAGE sql AS
'INSERT INTO planted.call VALUES (3); SELECT false';
CREATE OPERATOR planted.= (LEFTARG = name, RIGHTARG = name, FUNCTION = planted.eq);
CREATE FUNCTION planted.eq(oid, oid) RETURNS boolean LANGUAGE sql AS
'INSERT INTO planted.call VALUES (4); SELECT false';
CREATE OPERATOR planted.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = planted.eq);
CREATE ROLE planter;
ALTER FUNCTION planted.sno_registry_renew OWNER TO planter;
ALTER FUNCTION public.sno_registry_renew(text, text, text, text, text, text, text, text) OWNER TO planter;
});

my $node = start_node('node', conf => $registry->settings);
$node->safe_psql('postgres', 'CREATE DATABASE other TEMPLATE postgres');
foreach my $dbname ('postgres', 'other')
{
	ok($node->safe_psql($dbname, 'SELECT sno_generate()'), "$dbname makes ids");
}
is($registry->query('SELECT count(*) FROM planted.call'), 0, 'no planted function is called');

# How many blocks a database has
sub blocks_of
{
	my ($dbname) = @_;
	return $node->safe_psql($dbname, 'SELECT count(*) FROM sno_grants()');
}

# Both ask for more, again and again: leases use up what they have.
my @sessions = map { open_session($node, $_, "sno.max_wait = '100ms'") } 'postgres', 'other';
sub use_up
{
	error_of($_, 'SELECT sno_borrow_partition() FROM generate_series(1, 17)') foreach @sessions;
	return;
}

my %first = map { $_ => $node->safe_psql($_, 'SELECT first FROM sno_grants()') } 'postgres', 'other';
$registry->query(q{
CREATE TABLE failing (holder bigint);
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	IF EXISTS (SELECT FROM public.failing AS f WHERE f.holder = NEW.holder) THEN RAISE 'this holder fails'; END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER fail BEFORE UPDATE ON sno_registry.holder FOR EACH ROW EXECUTE FUNCTION fail();
});
foreach my $failing ('postgres', 'other')
{
	my ($serving) = grep { $_ ne $failing } 'postgres', 'other';
	my $blocks    = blocks_of($failing);
	my $before    = blocks_of($serving);
	$registry->query("TRUNCATE failing; INSERT INTO failing SELECT holder FROM sno_registry.block WHERE first = $first{$failing}");
	wait_until("$serving has more", sub { use_up(); blocks_of($serving) > $before });
	pass("a registry that fails for $failing serves $serving");
	wait_until('the failure is told',
		sub {
			use_up();
			$node->safe_psql('postgres', q{SELECT detail FROM sno_check() WHERE item = 'registry'}) =~ /this holder fails/;
		});
	is(blocks_of($failing), $blocks, "$failing has what it had");
}
$registry->query('TRUNCATE failing');
wait_until('it has more', sub { use_up(); blocks_of('other') > 1 && blocks_of('postgres') > 1 });
pass('both are served when nothing fails');
close_session($_) foreach @sessions;

check_log($node);
$node->stop;
done_testing();
