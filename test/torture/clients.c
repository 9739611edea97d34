/*
 * clients.c
 *		Clients that generate, and note each id as soon as they receive it.
 *
 * clients CONTROL NOTES CONNECTION KIND ...
 *
 * There is one client, a process of its own, for each KIND.  It repeats the same
 * work until the file CONTROL tells it to stop.  The file CONNECTION has the
 * connection string, or CONNECTION.SEAT if the KIND ends in :SEAT.  It is read again
 * after each loss of the connection, which is not a failure.  While there is no such
 * file, the client is idle.  A client notes runs of ids in NOTES.N, and its errors
 * in NOTES.N.errors, each with the fault under which it occurred.
 *
 *	bulk		copies out many ids at a time
 *	flood		copies out as many ids as it can, each time an array
 *	flood_named	does so with the named generator "full"
 *	commit		inserts a few ids, and commits
 *	rollback	inserts a few ids, and rolls back
 *	brief		generates a few ids in each session, and every other time ends
 *				before it has received all of them
 *	named		inserts ids of the named generator "full", and commits
 *	small		copies out a few ids at a time, of the named generator "small",
 *				which has few sequences
 *	sequence	takes values of the sequence s in transactions
 *	snowflake	copies out a few ids at a time, of the generator "snowflake" of another
 *				system's layout, and typed does of the generator "typed"
 *	flakes		copies out many ids of other systems at a time, made by one after the
 *				other of the SQL expressions in the variable FLAKES, one a line.  It
 *				notes those of expression M in NOTES.N.M, with the clock as changed
 *				by the file that the variable FAULTS names.  It also makes ids by
 *				itself as a generator does that remembers nothing, in NOTES.N.naive
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "notes.h"

#define COPY(query)		"COPY (" query ") TO STDOUT (FORMAT binary)"
#define GENERATE(count) \
	"SELECT sno_generate(n % 256) FROM generate_series(1, " #count ") AS n"
#define FLOOD(generator) \
	COPY("SELECT array_agg(id) FROM sno_generate_many(50000, 1" generator ") AS id")
#define INSERT			"INSERT INTO t (id) " GENERATE(5) " RETURNING id"
#define INSERT_NAMED \
	"INSERT INTO t (id) SELECT sno_generate(1, 'full') FROM generate_series(1, 100) RETURNING id"

/* A life of a database begins when the server starts, or all its processes do again. */
#define LIFE \
	"SELECT hashtextextended(concat_ws(' ', current_setting('port'), " \
	"current_database(), pid, " \
	"extract(epoch FROM backend_start)), 0) FROM pg_stat_activity " \
	"WHERE backend_type = 'checkpointer'"

typedef struct Kind
{
	const char *name;
	const char *begin;
	const char *copy;			/* NULL if it makes flakes */
	const char *end;
	Fate		fate;
	bool		brief;
	bool		named;
} Kind;

static const Kind kinds[] = {
	{"bulk", NULL, COPY(GENERATE(20000)), NULL, UNKNOWN, false, false},
	{"flood", NULL, FLOOD(""), NULL, UNKNOWN, false, false},
	{"flood_named", NULL, FLOOD(", 'full'"), NULL, UNKNOWN, false, true},
	{"commit", "BEGIN", COPY(INSERT), "COMMIT", COMMITTED, false, false},
	{"rollback", "BEGIN", COPY(INSERT), "ROLLBACK", ROLLED_BACK, false, false},
	{"brief", NULL, COPY(GENERATE(1000)), NULL, UNKNOWN, true, false},
	{"named", "BEGIN", COPY(INSERT_NAMED), "COMMIT", COMMITTED, false, true},
	{"small", NULL, COPY("SELECT sno_generate(1, 'small') FROM generate_series(1, 10)"),
	NULL, UNKNOWN, false, true},
	{"sequence", "BEGIN", COPY("SELECT nextval('s') FROM generate_series(1, 100000)"),
	"ROLLBACK", UNKNOWN, false, false},
	{"snowflake", NULL, COPY("SELECT sno_flake_generate('snowflake') FROM generate_series(1, 20)"),
	NULL, UNKNOWN, false, false},
	{"typed", NULL, COPY("SELECT sno_flake_generate('typed') FROM generate_series(1, 20)"),
	NULL, UNKNOWN, false, false},
	{"flakes", NULL, NULL, NULL, UNKNOWN, false, false},
};

/* Flakes of a query, and of the naive generator in each turn */
#define FLAKES_MAX		5000
#define NAIVE_MAX		5

/* The layout of naive ids: seconds since 1999-12-31 16:00 UTC, node, sequence */
#define NAIVE_EPOCH		946656000
#define NAIVE_NODE_BITS	5
#define NAIVE_BITS		17

static volatile Control *control;
static volatile Progress *progress;
static FILE *notes;
static FILE *errors;
static uint32_t client;
static const Kind *kind;

/* The connection, and the life of its server. */
static PGconn *conn;
static uint64_t life;
static uint8_t promotions;
static uint32_t connections;

/* Runs of the present transaction; the last one may still grow. */
static Run	pending[32768];
static int	pending_count;

/* When this client received its last id, ns. */
static uint64_t last;

/* The generators of flakes: the queries, and the notes; the present one. */
static char *flake_queries[MAX_SESSIONS];
static FILE *flake_notes[MAX_SESSIONS];
static FILE *naive_notes;
static int	flake_generators;
static int	flake_generator;

/* The flakes of the present query, and what was read of the server's clock meanwhile */
static Flake flakes[FLAKES_MAX];
static FlakeBatch batch;
static const volatile Faults *faults;
static int64_t least_offset,
			most_offset;

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t
monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
pause_a_little(void)
{
	usleep(2000);
}

static void
count_progress(uint64_t fault, uint64_t ids)
{
	uint64_t	now = monotonic();

	progress->ids[fault] += ids;
	if (now - last > progress->stall[fault])
		progress->stall[fault] = now - last;
	last = now;
}

/* The real time, ms since 1970 */
static int64_t
real_msec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Tests wait for an id of each client between two steps of the clock, so this meets all. */
static void
watch_clock(void)
{
	int64_t		offset = faults->offset / 1000000;

	if (offset < least_offset)
		least_offset = offset;
	if (offset > most_offset)
		most_offset = offset;
}

static void
begin_flakes(void)
{
	least_offset = INT64_MAX;
	most_offset = INT64_MIN;
	watch_clock();
	batch = (FlakeBatch) {.from = real_msec()};
}

/* Note the flakes that were received since then. */
static void
end_flakes(FILE *file)
{
	watch_clock();
	batch.from += least_offset;
	batch.until = real_msec() + most_offset;
	if (fwrite(&batch, sizeof(batch), 1, file) != 1 ||
		fwrite(flakes, sizeof(Flake), batch.count, file) != batch.count ||
		fflush(file) != 0)
		die("flakes");
}

/* An id in a row is of 8, 12 or 16 bytes, which are big-endian. */
static void
note_flake(const unsigned char *id, int size)
{
	Flake	   *flake = &flakes[batch.count];

	if (size < 8 || size > 16 || batch.count == FLAKES_MAX)
		return;
	*flake = (Flake) {0, 0};
	for (int i = 0; i < size; i++)
	{
		flake->high = flake->high << 8 | flake->low >> 56;
		flake->low = flake->low << 8 | id[i];
	}
	batch.count++;
	watch_clock();
	count_progress(control->fault, 1);
}

/*
 * A control of the tests: a generator that knows only what it issued in the present
 * second, and forgets that when its client loses the connection.
 */
static void
make_naive_flakes(void)
{
	static uint64_t time;
	static uint64_t sequence;
	static uint32_t life_of_naive;

	begin_flakes();
	for (int i = 0; i < NAIVE_MAX; i++)
	{
		uint64_t	now = (uint64_t) (real_msec() + faults->offset / 1000000) / 1000 - NAIVE_EPOCH;

		if (now != time || life_of_naive != connections)
			sequence = 0;
		time = now;
		life_of_naive = connections;
		flakes[batch.count++] = (Flake) {
			0, (time << NAIVE_NODE_BITS | client) << NAIVE_BITS | sequence++
		};
	}
	end_flakes(naive_notes);
}

/* Write the pending runs to the file, now that their fate is known. */
static void
settle(Fate fate)
{
	for (int i = 0; i < pending_count; i++)
		pending[i].fate = fate;
	if (fwrite(pending, sizeof(Run), pending_count, notes) != (size_t) pending_count)
		die("notes");
	pending_count = 0;
}

static void
note(uint64_t fault, uint64_t time, uint16_t partition, uint32_t sequence)
{
	Run		   *run = &pending[pending_count - 1];

	if (pending_count > 0 && run->time == time && run->partition == partition &&
		run->fault == fault && run->first + run->count == sequence)
		run->count++;
	else
	{
		if (pending_count == sizeof(pending) / sizeof(Run))
			settle(UNKNOWN);
		pending[pending_count++] = (Run) {
			.time = time, .life = life, .session = client << 24 | connections,
			.partition = partition, .fault = fault, .first = sequence, .count = 1,
			.promotions = promotions, .named = kind->named
		};
	}
}

static void
note_id(uint64_t fault, const unsigned char *id)
{
	note(fault, id_time(id), id_partition(id), id_sequence(id));
}

/* Note the ids of an array, whose header has 20 bytes; each id comes after its size. */
static void
note_ids(uint64_t fault, const unsigned char *array, int size)
{
	int			count = 0;

	for (int at = 20; at + 4 + ID_SIZE <= size; at += 4 + ID_SIZE, count++)
		note_id(fault, array + at + 4);
	count_progress(fault, count);
}

/* Note the ids, or the number of 64 bits, in a row of COPY's binary format. */
static void
note_row(const unsigned char *row, int size)
{
	uint64_t	fault = control->fault;

	/* The first row comes with the header, of 19 bytes. */
	if (size > 19 && memcmp(row, "PGCOPY\n", 7) == 0)
	{
		row += 19;
		size -= 19;
	}
	if (kind->copy == NULL)
		note_flake(row + 6, size - 6);
	else if (size == 6 + ID_SIZE)
	{
		note_id(fault, row + 6);
		count_progress(fault, 1);
	}
	else if (size == 6 + 8)
	{
		uint64_t	value = 0;

		for (int i = 6; i < size; i++)
			value = value << 8 | row[i];
		note(fault, value >> 16, 0, value & 0xffff);
		count_progress(fault, 1);
	}
	else if (size > 6 + 20)
		note_ids(fault, row + 6, size - 6);
}

/* Note an error that the server sent.  The end of a connection is not an error. */
static void
complain(const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	if (state != NULL)
		fprintf(errors, "%d %s %s\n", (int) control->fault, state,
				PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
}

static bool
execute(const char *command)
{
	PGresult   *result;
	bool		done;

	if (command == NULL)
		return true;
	result = PQexec(conn, command);
	done = PQresultStatus(result) == PGRES_COMMAND_OK ||
		PQresultStatus(result) == PGRES_COPY_OUT;
	if (!done)
		complain(result);
	PQclear(result);
	return done;
}

/* Receive all rows, or up to a limit. */
static bool
receive(int limit)
{
	PGresult   *result;
	char	   *row;
	int			size;
	bool		done;

	for (; limit > 0 && (size = PQgetCopyData(conn, &row, 0)) > 0; limit--)
	{
		note_row((unsigned char *) row, size);
		PQfreemem(row);
	}
	if (limit == 0)
		return false;
	result = PQgetResult(conn);
	done = PQresultStatus(result) == PGRES_COMMAND_OK;
	if (!done)
		complain(result);
	PQclear(result);
	while ((result = PQgetResult(conn)) != NULL)
		PQclear(result);
	return done;
}

static void
disconnect(void)
{
	settle(UNKNOWN);
	PQfinish(conn);
	conn = NULL;
}

static void
try_to_connect(const char *file)
{
	char		where[4096] = "";
	FILE	   *f = fopen(file, "r");
	PGresult   *result;

	if (f != NULL)
	{
		where[fread(where, 1, sizeof(where) - 1, f)] = '\0';
		fclose(f);
	}
	else
		last = monotonic();		/* idle is not stalled */
	if (where[0] == '\0')
		return;
	conn = PQconnectdb(where);
	connections++;
	promotions = control->promotions;
	result = PQstatus(conn) == CONNECTION_OK ? PQexec(conn, LIFE) : NULL;
	if (PQntuples(result) == 1)
		life = (uint64_t) strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	else
		disconnect();
	PQclear(result);
}

/* Generate and note the ids of one query, and of the naive generator. */
static bool
turn_of_flakes(void)
{
	bool		done;

	flake_generator = (flake_generator + 1) % flake_generators;
	begin_flakes();
	done = execute(flake_queries[flake_generator]) && receive(INT32_MAX);
	end_flakes(flake_notes[flake_generator]);
	make_naive_flakes();
	return done;
}

static void
run_client(const char *connection)
{
	last = monotonic();
	while (!control->stop)
	{
		bool		cut = kind->brief && connections % 2;
		bool		done;

		if (conn == NULL)
		{
			try_to_connect(connection);
			if (conn == NULL)
				pause_a_little();
			continue;
		}
		done = kind->copy == NULL ? turn_of_flakes() :
			execute(kind->begin) && execute(kind->copy) &&
			receive(cut ? 500 : INT32_MAX) && execute(kind->end);
		settle(done ? kind->fate : UNKNOWN);
		if (PQstatus(conn) == CONNECTION_BAD || kind->brief)
			disconnect();
		else if (!done)
		{
			execute("ROLLBACK");
			pause_a_little();
		}
	}
	if (conn != NULL)
		disconnect();
	if (fclose(notes) != 0 || fclose(errors) != 0)
		die("notes");
}

static const Kind *
kind_named(const char *name)
{
	size_t		length = strcspn(name, ":");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(Kind); i++)
		if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, name, length) == 0)
			return &kinds[i];
	fprintf(stderr, "no kind \"%s\"\n", name);
	exit(1);
}

static FILE *
open_notes(const char *prefix, const char *suffix)
{
	char		path[4096];
	FILE	   *f;

	snprintf(path, sizeof(path), "%s.%" PRIu32 "%s", prefix, client, suffix);
	f = fopen(path, "w");
	if (f == NULL)
		die(path);
	return f;
}

/* Begin with the generators that FLAKES names; clients take turns. */
static void
open_flakes(const char *prefix)
{
	char		suffix[32];
	char	   *names = getenv("FLAKES");
	int			file = open(getenv("FAULTS"), O_RDONLY);

	faults = mmap(NULL, sizeof(Faults), PROT_READ, MAP_SHARED, file, 0);
	if (file < 0 || faults == MAP_FAILED)
		die("FAULTS");
	for (char *flake = strtok(names, "\n"); flake != NULL; flake = strtok(NULL, "\n"))
	{
		char		query[1000];

		snprintf(query, sizeof(query), COPY("SELECT %s FROM generate_series(1, %d)"),
				 flake, FLAKES_MAX);
		flake_queries[flake_generators] = strdup(query);
		snprintf(suffix, sizeof(suffix), ".%d", flake_generators);
		flake_notes[flake_generators++] = open_notes(prefix, suffix);
	}
	naive_notes = open_notes(prefix, ".naive");
	flake_generator = 2 * client % flake_generators;
}

/* The file that has the connection string of a client. */
static const char *
connection_of(const char *file, const char *name)
{
	static char path[4096];
	const char *seat = strchr(name, ':');

	snprintf(path, sizeof(path), "%s%s%s", file, seat == NULL ? "" : ".",
			 seat == NULL ? "" : seat + 1);
	return path;
}

int
main(int argc, char **argv)
{
	int			file;
	int			status;
	int			failed = 0;

	if (argc < 5 || argc - 4 > MAX_SESSIONS)
	{
		fprintf(stderr, "usage: clients CONTROL NOTES CONNECTION KIND ...\n");
		return 1;
	}
	file = open(argv[1], O_RDWR);
	control = mmap(NULL, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (file < 0 || control == MAP_FAILED)
		die(argv[1]);

	for (client = 0; client < (uint32_t) argc - 4; client++)
	{
		kind = kind_named(argv[4 + client]);
		if (fork() == 0)
		{
			progress = &control->progress[client];
			notes = open_notes(argv[2], "");
			errors = open_notes(argv[2], ".errors");
			setlinebuf(errors);
			if (kind->copy == NULL)
				open_flakes(argv[2]);
			run_client(connection_of(argv[3], argv[4 + client]));
			exit(0);
		}
	}
	while (wait(&status) > 0)
		failed |= status != 0;
	return failed;
}
