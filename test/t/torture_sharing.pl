
# torture_sessions.pl with sessions that share a partition.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;    # to be loaded before any program runs

our $sharing = 'auto';
require "$FindBin::RealBin/torture_sessions.pl";
