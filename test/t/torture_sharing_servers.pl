
# torture_servers.pl with sessions that share a partition.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;    # to be loaded before any program runs

plan skip_all => 'takes minutes: see script/torture' if !$ENV{TORTURE_MINUTES};

our $sharing = 'auto';
require "$FindBin::RealBin/torture_servers.pl";
