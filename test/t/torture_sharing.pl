
# torture_sessions.pl with sessions that share a partition.

use strict;
use warnings;

use FindBin;

# These are to be loaded before any program runs.
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our $sharing = 'auto';
require "$FindBin::RealBin/torture_sessions.pl";
