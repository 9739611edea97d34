
# A client that doesn't read what its session sends keeps no other session from
# the ids of a named generator.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use TestHelpers;

my $node = new_node('main', conf => 'log_min_messages = fatal');
$node->start;

# One id in 200 ms: whoever wants many waits almost all the time.
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION sno;
	CREATE EXTENSION sno_flakes;
	SELECT sno_flake_create_layout('slow', '2020-01-01 00:00:00Z', 200, 39, 8, 1);
	CREATE TABLE page AS SELECT generate_series(1, 10000) AS i;
	CREATE FUNCTION loud(leader integer) RETURNS boolean LANGUAGE plpgsql PARALLEL SAFE AS $$
	BEGIN
		LOOP
			IF pg_backend_pid() = leader THEN
				PERFORM sno_flake_generate('slow');
			ELSE
				RAISE NOTICE '%', repeat('x', 7000);
				PERFORM pg_sleep(0.003);
			END IF;
		END LOOP;
	END $$;
});
$node->safe_psql('postgres', q{SELECT sno_flake_create_generator('slow', 'slow', 0)});

# The worker's notices come while the leader waits for an id.
my $loud = q{
	SET sno.max_wait = '1h';
	SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0;
	SET max_parallel_workers_per_gather = 1;
	SELECT sno_flake_generate('slow'), pg_backend_pid() AS pid \gset
	SELECT count(*) FROM page WHERE loud(:pid);
};
pipe(my $unread, my $notices) or die "could not make a pipe: $!";
my $file = $node->basedir . '/loud.sql';
append_to_file($file, $loud);
my $client = fork() // die "could not fork: $!";
if ($client == 0)
{
	open(STDERR, '>&', $notices) or die "could not redirect: $!";
	exec 'psql', '-XqAt', '-f', $file, '-d', $node->connstr('postgres')
	  or die "could not run psql: $!";
}
$node->poll_query_until(
	'postgres', q{
	SELECT count(*) = 1 FROM pg_stat_activity
	WHERE backend_type = 'client backend' AND wait_event = 'ClientWrite'
}) or die 'the session never waited for its client';

# The waits of the loud session don't last as long as this.
my ($result, $stdout, $stderr) = $node->psql('postgres',
	q{SET sno.max_wait = '3min'; SELECT count(sno_flake_generate('slow')) FROM generate_series(1, 5)});
is($stderr, '', 'no error');
is($stdout, '5', 'another session gets ids');
is( $node->safe_psql(
		'postgres', q{
	SELECT count(*) FROM pg_stat_activity
	WHERE backend_type = 'client backend' AND wait_event = 'ClientWrite'
}),
	'1',
	'the session still waits for its client');

kill 'KILL', $client;
waitpid $client, 0;
$node->stop('immediate');
done_testing();
