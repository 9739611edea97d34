
# sno_watermark_blockers() names each prepared transaction once, also one that was
# prepared before the first watermark since the server started.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $node = start_node('main', conf => 'max_prepared_transactions = 2', sql => q{
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
