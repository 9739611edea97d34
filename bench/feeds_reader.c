/*
 * feeds_reader.c
 *		The reader of bench/feeds, which reads an outbox in one of the ways of the table `way`.
 *
 *		feeds_reader CONNINFO WAY FILE
 *		feeds_reader CONNINFO WAY
 *
 * With a file, it writes a line for each row to it: the id, the time at which the writer inserted
 * the row, if the row has it, and the time at which the row arrived here, in µs.  All rows of a
 * result arrive at the same time, when the whole result is here.  After SIGTERM, the reader ends
 * once no row has come for 2 seconds.  Without a file, it only counts the rows of a backlog, and
 * ends when no row has come for 0.1 seconds.
 *
 * Then it prints: rows, seconds until the last row, µs of CPU of itself and of the program that it
 * runs, and KB of memory: most of this process, most of the server's process, most of the server's
 * process without files and shared memory.
 */
#define _GNU_SOURCE

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>

#define USEC			INT64_C(1000000)
#define QUIET			(2 * USEC)
#define QUIET_BACKLOG	(USEC / 10)
#define LATE			(60 * USEC)
#define LATE_BACKLOG	(900 * USEC)

typedef struct Way
{
	const char *settle;			/* statements before each next */
	const char *next;			/* returns id, time, position, and the rest of the next rows */
	const char *note;			/* records the position, $1 */
	const char *wait;			/* waits for rows */
	const char *channel;		/* of notifications */
	int			poll;			/* ms without a notification, or between two polls */
	int			batch;			/* rows of a full result, after which there may be more */
	const char *program;		/* prints rows as test_decoding does */
} Way;

static PGconn *conn;
static FILE *output;
static volatile sig_atomic_t is_stopped;
static int64_t started,
			stopped,
			last_row;
static long rows,
			server_peak,
			server_private;

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * USEC + t.tv_nsec / 1000;
}

static void __attribute__((noreturn))
fail(const char *why)
{
	fprintf(stderr, "feeds_reader: %s\n", why);
	exit(1);
}

static void
stop(int signal)
{
	(void) signal;
	is_stopped = 1;
}

static PGresult *
checked(PGresult *result)
{
	if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
		fail(PQerrorMessage(conn));
	return result;
}

/* A time such as 2026-11-28 13:20:25.123456+00, of a server whose time zone is UTC */
static int64_t
time_of(const char *text)
{
	struct tm	t = {0};
	const char *rest = strptime(text, "%Y-%m-%d %H:%M:%S", &t);

	if (rest == NULL)
		fail("a time has another form than expected");
	return timegm(&t) * USEC + (*rest == '.' ? (int64_t) (strtod(rest, NULL) * USEC + 0.5) : 0);
}

static void
record(const char *id, size_t length, const char *sent, int64_t at)
{
	fprintf(output, "%.*s\t", (int) length, id);
	if (sent != NULL)
		fprintf(output, "%lld\t%lld\n", (long long) time_of(sent), (long long) at);
	else
		fprintf(output, "\\N\t%lld\n", (long long) at);
}

/* Has no row come for long enough? */
static int
is_over(void)
{
	int64_t		t = now();

	if (output == NULL)
	{
		if (t - started > LATE_BACKLOG)
			fail("the backlog was not read in 15 minutes");
		return t - last_row > QUIET_BACKLOG;
	}
	if (!is_stopped)
		return 0;
	if (stopped == 0)
		stopped = t;
	if (t - stopped > LATE)
		fail("rows still come a minute after the last commit");
	return t - stopped > QUIET && t - last_row > QUIET;
}

/* A figure of /proc/PID/status */
static long
memory(int pid, const char *name)
{
	char		line[256];
	long		found = 0;
	FILE	   *file;

	snprintf(line, sizeof(line), "/proc/%d/status", pid);
	if ((file = fopen(line, "r")) == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			found = atol(line + strlen(name) + 1);
	fclose(file);
	return found;
}

static int64_t
cpu(int who)
{
	struct rusage used;

	getrusage(who, &used);
	return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * USEC + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

static void
note_memory(void)
{
	long		private = memory(PQbackendPID(conn), "RssAnon");

	server_peak = memory(PQbackendPID(conn), "VmHWM");
	if (private > server_private)
		server_private = private;
}

/* Wait until there may be rows. */
static void
wait_for_rows(const Way *way)
{
	struct pollfd socket = {PQsocket(conn), POLLIN, 0};
	PGnotify   *notification;
	int			notified = 0;

	if (way->wait != NULL)
		PQclear(checked(PQexec(conn, way->wait)));
	else if (way->channel == NULL)
		usleep(way->poll * 1000);
	else
		for (int i = 0; i < 2 && !notified; i++)
		{
			if (i > 0)
				poll(&socket, 1, way->poll);
			if (!PQconsumeInput(conn))
				fail(PQerrorMessage(conn));
			for (; (notification = PQnotifies(conn)) != NULL; notified = 1)
				PQfreemem(notification);
		}
}

static void
read_by_statement(const Way *way)
{
	int			has_position = strstr(way->next, "$1") != NULL;
	char		position[64] = "";
	const char *values[] = {position};

	PQclear(checked(PQprepare(conn, "next", way->next, 0, NULL)));
	if (way->note != NULL)
		PQclear(checked(PQprepare(conn, "note", way->note, 0, NULL)));
	if (has_position)
	{
		PGresult   *result = checked(PQexec(conn, "SELECT position FROM place"));

		snprintf(position, sizeof(position), "%s", PQgetvalue(result, 0, 0));
		PQclear(result);
	}
	while (!is_over())
	{
		PGresult   *result;
		int			count;
		int64_t		at;

		if (way->settle != NULL)
			PQclear(checked(PQexec(conn, way->settle)));
		/* Only the texts of recorded rows are needed. */
		result = checked(PQexecPrepared(conn, "next", has_position, values, NULL, NULL, output == NULL));
		at = now();
		count = PQntuples(result);
		for (int i = 0; i < count && output != NULL; i++)
			record(PQgetvalue(result, i, 0), PQgetlength(result, i, 0),
				   PQgetisnull(result, i, 1) ? NULL : PQgetvalue(result, i, 1), at);
		if (count > 0)
		{
			rows += count;
			last_row = at;
			if (has_position)
				snprintf(position, sizeof(position), "%s", PQgetvalue(result, count - 1, 2));
			if (way->note != NULL)
				PQclear(checked(PQexecPrepared(conn, "note", 1, values, NULL, NULL, 0)));
			if (output == NULL)
				note_memory();
		}
		PQclear(result);
		if (count < way->batch)
			wait_for_rows(way);
	}
}

/* Read lines such as: table race.outbox: INSERT: id[bigint]:1 ... sent[timestamp with time zone]:'...' ... */
static void
read_by_program(const char *program)
{
	static char lines[1 << 20];
	size_t		filled = 0;
	int			ends[2];
	pid_t		child;

	if (pipe(ends) != 0 || (child = fork()) < 0)
		fail("could not run the program");
	if (child == 0)
	{
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		execl("/bin/sh", "sh", "-c", program, NULL);
		_exit(127);
	}
	close(ends[1]);
	while (!is_over())
	{
		struct pollfd input = {ends[0], POLLIN, 0};
		char	   *line = lines,
				   *end;
		ssize_t		length;
		int64_t		at;

		if (poll(&input, 1, 100) <= 0)
			continue;
		length = read(ends[0], lines + filled, sizeof(lines) - 1 - filled);
		if (length <= 0)
			fail("the program ended");
		at = now();
		filled += length;
		lines[filled] = '\0';
		for (; (end = strchr(line, '\n')) != NULL; line = end + 1)
		{
			char	   *id,
					   *sent;

			*end = '\0';
			if (strstr(line, ".outbox: INSERT:") == NULL || (id = strstr(line, " id[bigint]:")) == NULL ||
				(sent = strstr(line, " sent[timestamp with time zone]:")) == NULL)
				continue;
			id = strchr(id, ':') + 1;
			sent = strchr(sent, ':') + 1;
			record(id, strcspn(id, " "), *sent == '\'' ? sent + 1 : NULL, at);
			rows++;
			last_row = at;
		}
		filled -= line - lines;
		memmove(lines, line, filled);
	}
	kill(child, SIGTERM);
	waitpid(child, NULL, 0);
}

static const char *
column(PGresult *result, int number)
{
	return PQgetisnull(result, 0, number) ? NULL : strdup(PQgetvalue(result, 0, number));
}

int
main(int argc, char **argv)
{
	Way			way = {0};
	PGresult   *result;

	if (argc < 3)
		fail("usage: feeds_reader CONNINFO WAY [FILE]");
	signal(SIGTERM, stop);
	conn = PQconnectdb(argv[1]);
	if (PQstatus(conn) != CONNECTION_OK)
		fail(PQerrorMessage(conn));
	result = checked(PQexecParams(conn, "SELECT settle, next, note, wait, channel, poll, batch, program "
								  "FROM way WHERE name = $1", 1, NULL,
								  (const char *const[]) {argv[2]}, NULL, NULL, 0));
	if (PQntuples(result) != 1)
		fail("no such way");
	way.settle = column(result, 0);
	way.next = column(result, 1);
	way.note = column(result, 2);
	way.wait = column(result, 3);
	way.channel = column(result, 4);
	way.poll = atoi(PQgetvalue(result, 0, 5));
	way.batch = atoi(PQgetvalue(result, 0, 6));
	way.program = column(result, 7);
	PQclear(result);
	if (way.channel != NULL)
	{
		char		statement[80];

		snprintf(statement, sizeof(statement), "LISTEN %s", way.channel);
		PQclear(checked(PQexec(conn, statement)));
	}
	if (argc > 3 && (output = fopen(argv[3], "w")) == NULL)
		fail("could not create the file");
	started = last_row = now();
	if (way.program != NULL)
		read_by_program(way.program);
	else
		read_by_statement(&way);
	PQfinish(conn);
	if (output != NULL && fclose(output) != 0)
		fail("could not write the file");

	printf("%ld %.6f %lld %ld %ld %ld\n", rows, (double) (last_row - started) / USEC,
		   (long long) (cpu(RUSAGE_SELF) + cpu(RUSAGE_CHILDREN)), memory(getpid(), "VmHWM"), server_peak, server_private);
	return 0;
}
