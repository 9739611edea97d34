
# sno_watermark_blockers() names each prepared transaction once, also one that was
# prepared before the first watermark since the server started.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 2');
$node->start;
$node->safe_psql(
	'postgres', q{
CREATE EXTENSION sno;
CREATE TABLE event (id sno DEFAULT sno_generate());
BEGIN;
INSERT INTO event DEFAULT VALUES;
PREPARE TRANSACTION 'one'});
my $holders = 'SELECT count(*) FROM sno_watermark_blockers() WHERE pid IS NULL';
is $node->safe_psql('postgres', $holders), '1', 'prepared before the first look';
$node->restart;
is $node->safe_psql('postgres', $holders), '1', 'prepared before the server started';
$node->safe_psql('postgres', q{COMMIT PREPARED 'one'});
is $node->safe_psql('postgres', $holders), '0', 'committed';

$node->stop;
done_testing;
