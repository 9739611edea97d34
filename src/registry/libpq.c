/*
 * libpq.c
 *		The connection to the registry.
 *
 * A child process has the connection.  Only the child runs libpq and resolves host names.
 * Calls of libpq and of the resolver may block without reacting to signals, and the data that
 * they receive determines how much time and memory they take: a registry can choose a number of
 * SCRAM iterations that takes minutes.  If the worker itself ran libpq, it could block
 * DROP DATABASE and its own end for that time.  So parent and child follow these rules:
 *
 *	- The parent, which is the registry client, forks the child.  The child unmaps the main
 *	  segment of shared memory, and never uses shared memory, or PostgreSQL's functions for
 *	  errors, memory and exit.  It calls only libpq and the kernel.  It ends by _exit(), and
 *	  its only signal handlers are those that end it.
 *	- The child limits its processor time and, where the system shows it, its memory before it
 *	  connects.  It ends if it receives more data than valid answers can have.
 *	- The child sends only packets of at most PACKET bytes.  Texts from the registry are
 *	  shortened and converted to printable ASCII, so that they can't forge lines of the log.
 *	  Notices of the registry are dropped.
 *	- The parent waits for the child only for a limited time, and handles interrupts
 *	  meanwhile.
 *	- When the connection ends, and whenever the parent exits, the parent kills the child
 *	  and waits for its end.  Otherwise, if the postmaster is process 1 of a container, it
 *	  would inherit the child, and take the child's end for the crash of a backend.
 *	- If the parent is killed, the child exits with status 0: at once if it waits for a request,
 *	  and otherwise when its timer ends it.
 *
 * This is a separate library, so that no session loads libpq.
 */
#include "postgres.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fmgr.h"
#include "libpq-fe.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/pg_shmem.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "registry/libpq.h"

PG_MODULE_MAGIC;

/* The timeout of a connection attempt, and of a statement, in ms */
#define PATIENCE_MSEC		20000

/*
 * If a host of the connection string doesn't acknowledge packets for this time, in
 * milliseconds, libpq tries the next host.
 */
#define HOST_PATIENCE_MSEC	"3000"

/* The interval at which the caller's function is called during a wait, in ms */
#define MEANWHILE_MSEC		100

/*
 * Limits of the child: bytes of memory in addition to the parent's, seconds of processor time, and
 * seconds for the connection attempt or one request.  The parent waits for half of the latter time.
 */
#define CHILD_MEMORY		(64 * 1024 * 1024)
#define CHILD_CPU_SEC		5
#define CHILD_SEC			(2 * PATIENCE_MSEC / 1000)

/*
 * Limit of the bytes that the child receives.  Bytes that libpq hasn't read yet may be counted
 * more than once.  The limit is enough for several hundred databases, with answers of 10 kB each.
 */
#define MOST_RECEIVED		(16 * 1024 * 1024)

/* The maximum size of a packet.  The longest answer has 64 blocks, and takes about 6 kB. */
#define PACKET				32768

/* The highest number of a signal that PostgreSQL uses */
#define LAST_SIGNAL			31

/* The maximum size of a value or an error; longer texts are truncated. */
#define TEXT_SIZE			400

/*
 * A packet consists of a byte for its kind and zero-terminated texts.  In a packet of kind
 * ROWS, the first two texts are the number of rows and the number of columns.  The other texts
 * are the values.  Before each value, there is a byte IS_NULL or IS_VALUE.
 */
enum
{
	REQUEST = 'q', CONNECTED = 'c', ROWS = 'r', FAILED = 'f'
};

enum
{
	IS_NULL = 'n', IS_VALUE = 'v'
};

typedef struct Packet
{
	int			size;			/* of the data; it is sent before the data */
	char		data[PACKET];
} Packet;

struct SnoConnection
{
	pid_t		pid;			/* pid of the child, or 0 if there is none */
	int			socket;
};

/* The only connection of the process */
static SnoConnection connection;
static Packet packet;

static void (*do_meanwhile) (void);

extern PGDLLEXPORT const SnoLibpq *sno_libpq_functions(void);

/* Packets */

static void
begin_packet(char kind)
{
	packet.data[0] = kind;
	packet.size = 1;
}

/* Append bytes to the packet.  Returns false if there is no room. */
static bool
put(const char *bytes, int size)
{
	if (size > PACKET - packet.size)
		return false;
	memcpy(packet.data + packet.size, bytes, size);
	packet.size += size;
	return true;
}

static bool
put_text(const char *text)
{
	return put(text, (int) strlen(text) + 1);
}

/* Append a text that may come from the registry, as short, printable ASCII. */
static bool
put_clean(const char *text)
{
	char		clean[TEXT_SIZE];
	int			length = 0;

	/* Leave out the newline with which libpq ends its messages. */
	for (; *text != '\0' && strcmp(text, "\n") != 0 && length < TEXT_SIZE - 1; text++)
		clean[length++] = *text == '\n' || *text == '\t' ? ' ' :
			*text < ' ' || *text > '~' ? '?' : *text;
	clean[length] = '\0';
	return put_text(clean);
}

/* Return the text at *at, and move *at to the next text.  Returns NULL at the packet's end. */
static char *
next_text(int *at)
{
	char	   *text = packet.data + *at;
	char	   *end = *at < packet.size ? memchr(text, '\0', packet.size - *at) : NULL;

	if (end == NULL)
		return NULL;
	*at += (int) (end - text) + 1;
	return text;
}

/* The child */

static void
end_quietly(int signal_number)
{
	_exit(0);
}

/* Is a packet being sent to the parent? */
static volatile sig_atomic_t sending = 0;

/* Send the packet to the parent.  Ends the child if the parent is gone. */
static void
send_up(void)
{
	const char *bytes = (const char *) &packet;
	size_t		left = sizeof(packet.size) + packet.size;

	sending = 1;
	while (left > 0)
	{
		ssize_t		sent = send(connection.socket, bytes, left, 0);

		if (sent < 0)
			_exit(0);
		bytes += sent;
		left -= sent;
	}
	sending = 0;
}

/* Receive a packet from the parent.  Returns false if the parent has closed the connection. */
static bool
receive_down(void)
{
	return recv(connection.socket, &packet.size, sizeof(packet.size), MSG_WAITALL) == sizeof(packet.size) &&
		recv(connection.socket, packet.data, packet.size, MSG_WAITALL) == packet.size;
}

static void
put_failure(const char *message)
{
	begin_packet(FAILED);
	(void) put_clean(message);
}

/* The processor time is used up: report this to the parent, unless a packet is incomplete, and end. */
static void
end_exhausted(int signal_number)
{
	if (!sending)
	{
		put_failure("its answer takes too much time");
		send_up();
	}
	_exit(0);
}

static void
drop_notice(void *arg, const PGresult *result)
{
}

static void
limit(int resource, rlim_t most)
{
	struct rlimit l;

	if (getrlimit(resource, &l) != 0)
		return;
	l.rlim_cur = Min(most, l.rlim_cur);
	(void) setrlimit(resource, &l);
}

/*
 * Limit the growth of the data segment, whose size is the sixth number in /proc/self/statm on
 * Linux.  On other systems, only the amount of received data limits the memory.
 */
static void
limit_memory(void)
{
	char		text[256] = "";
	int			fd = open("/proc/self/statm", O_RDONLY);
	unsigned long pages;

	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text) - 1) > 0 &&
		sscanf(text, "%*u %*u %*u %*u %*u %lu", &pages) == 1)
		limit(RLIMIT_DATA, (rlim_t) pages * sysconf(_SC_PAGESIZE) + CHILD_MEMORY);
	close(fd);
}

/* Prepare the child: reset the signal handlers, and set the limits. */
static void
be_child(void)
{
	sigset_t	none;

	for (int i = 1; i <= LAST_SIGNAL; i++)
		(void) signal(i, SIG_DFL);
	(void) signal(SIGTERM, end_quietly);
	(void) signal(SIGALRM, end_quietly);
	(void) signal(SIGXCPU, end_exhausted);
	(void) signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	(void) sigprocmask(SIG_SETMASK, &none, NULL);
	(void) alarm(CHILD_SEC);
	PGSharedMemoryDetach();
	limit_memory();
	limit(RLIMIT_CPU, CHILD_CPU_SEC);
}

/* Wait until the connection's socket is ready.  Ends the child if it has received too much data. */
static void
await(PGconn *conn, short events)
{
	static int64 received = 0;
	struct pollfd p = {PQsocket(conn), events, 0};
	int			present = 0;

	(void) poll(&p, 1, -1);
	if (ioctl(p.fd, FIONREAD, &present) == 0)
		received += present;
	if (received <= MOST_RECEIVED)
		return;
	put_failure("it sends too much data");
	send_up();
	_exit(0);
}

/* Return the next result of a statement, or NULL after the last one. */
static PGresult *
next_result(PGconn *conn)
{
	while (PQisBusy(conn))
	{
		await(conn, POLLIN);
		if (!PQconsumeInput(conn))
			break;
	}
	return PQgetResult(conn);
}

/* Put the rows into the packet.  Returns false if they don't fit. */
static bool
put_rows(const PGresult *result)
{
	char		number[32];
	int			rows = PQntuples(result),
				columns = PQnfields(result);

	begin_packet(ROWS);
	snprintf(number, sizeof(number), "%d", rows);
	(void) put_text(number);
	snprintf(number, sizeof(number), "%d", columns);
	(void) put_text(number);
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++)
		{
			char		kind = PQgetisnull(result, i, j) ? IS_NULL : IS_VALUE;

			if (!put(&kind, 1) || !put_clean(PQgetvalue(result, i, j)))
				return false;
		}
	return true;
}

/* Run the statement in the packet, and put the answer into the packet. */
static void
answer(PGconn *conn)
{
	const char *parameter[SNO_LIBPQ_PARAMETERS];
	int			at = 1,
				count = 0;
	const char *statement = next_text(&at);
	PGresult   *result = NULL;

	while (count < SNO_LIBPQ_PARAMETERS && (parameter[count] = next_text(&at)) != NULL)
		count++;
	if (PQsendQueryParams(conn, statement, count, NULL, parameter, NULL, NULL, 0))
		result = next_result(conn);
	/* The registry commits after it has sent the rows.  If the commit fails, there is another result. */
	if (PQresultStatus(result) != PGRES_TUPLES_OK || next_result(conn) != NULL)
		put_failure(PQerrorMessage(conn)[0] != '\0' ? PQerrorMessage(conn) :
					 "it did not return rows");
	else if (!put_rows(result))
		put_failure("its answer is too long");
	PQclear(result);
}

/* The main function of the child: connect, and answer requests.  Raises no errors. */
pg_noreturn static void
run_child(const char *conninfo, const char *name)
{
	/* The connection string comes last, so that it can override the other values. */
	const char *keyword[] = {"tcp_user_timeout", "fallback_application_name", "dbname", NULL};
	const char *value[] = {HOST_PATIENCE_MSEC, name, conninfo, NULL};
	PGconn	   *conn = PQconnectStartParams(keyword, value, true);
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	if (conn == NULL)
		_exit(1);
	(void) PQsetNoticeReceiver(conn, drop_notice, NULL);
	while (PQstatus(conn) != CONNECTION_BAD && status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED)
	{
		await(conn, status == PGRES_POLLING_READING ? POLLIN : POLLOUT);
		status = PQconnectPoll(conn);
	}
	if (PQstatus(conn) == CONNECTION_OK)
		begin_packet(CONNECTED);
	else
		put_failure(PQerrorMessage(conn));
	for (;;)
	{
		send_up();
		(void) alarm(0);
		if (!receive_down())
			_exit(0);
		(void) alarm(CHILD_SEC);
		answer(conn);
	}
}

/* The parent */

/* Return the time of a monotonic clock, in ms. */
static int64
clock_msec(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return (int64) INSTR_TIME_GET_MILLISEC(now);
}

/* End the child, if there is one, and return its wait status. */
static int
end_child(void)
{
	int			status = 0;

	if (connection.pid == 0)
		return 0;
	(void) kill(connection.pid, SIGKILL);
	while (waitpid(connection.pid, &status, 0) < 0 && errno == EINTR)
		 /* again */ ;
	connection.pid = 0;
	close(connection.socket);
	return status;
}

static void
end_child_at_exit(int code, Datum arg)
{
	(void) end_child();
}

/* End the connection, and raise an error. */
pg_noreturn static void
fail(const char *what, const char *message)
{
	(void) end_child();
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("could not %s the registry: %s", what, message)));
}

static uint32 wait_event;

/*
 * Wait for an event of the socket, for MEANWHILE_MSEC at most.  Raises an error if the time `end`
 * has passed.
 */
static void
wait_for_child(int socket_event, int64 end, const char *what)
{
	long		left = end - clock_msec();
	int			event;

	if (left <= 0)
	{
		(void) end_child();
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not %s the registry within %d ms", what, PATIENCE_MSEC)));
	}
	event = WaitLatchOrSocket(MyLatch, socket_event | WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							  connection.socket, Min(left, MEANWHILE_MSEC),
							  wait_event);
	if (event & WL_LATCH_SET)
		ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	do_meanwhile();
}

/* Send all bytes to the child, or receive them.  Raises an error if that isn't possible. */
static void
transfer(int socket_event, void *bytes, size_t size, int64 end, const char *what)
{
	size_t		done = 0;

	while (done < size)
	{
		char	   *rest = (char *) bytes + done;
		ssize_t		moved = socket_event == WL_SOCKET_READABLE ?
			recv(connection.socket, rest, size - done, 0) :
			send(connection.socket, rest, size - done, 0);

		if (moved > 0)
			done += moved;
		else if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			wait_for_child(socket_event, end, what);
		else
			fail(what, wait_result_to_str(end_child()));
	}
}

/* Receive a packet of this kind from the child.  Raises an error if that isn't possible. */
static void
receive(char kind, int64 end, const char *what)
{
	transfer(WL_SOCKET_READABLE, &packet.size, sizeof(packet.size), end, what);
	if (packet.size <= 0 || packet.size > PACKET)
		fail(what, "its process failed");
	transfer(WL_SOCKET_READABLE, packet.data, packet.size, end, what);
	if (packet.data[0] == FAILED && packet.data[packet.size - 1] == '\0' && packet.size > 1)
		fail(what, pstrdup(packet.data + 1));
	if (packet.data[0] != kind)
		fail(what, "its process failed");
}

static SnoConnection *
connect_to(const char *conninfo, const char *name, void (*meanwhile) (void))
{
	static bool registered = false;
	int			sockets[2],
				fork_errno;
	sigset_t	all,
				before;

	do_meanwhile = meanwhile;
	if (wait_event == 0)
		wait_event = sno_new_wait_event("SnoRegistry");
	if (!registered)
		before_shmem_exit(end_child_at_exit, (Datum) 0);
	registered = true;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
		ereport(ERROR,
				(errcode_for_socket_access(),
				 errmsg("could not create a socket: %m")));
	(void) fcntl(sockets[0], F_SETFD, FD_CLOEXEC);
	(void) fcntl(sockets[1], F_SETFD, FD_CLOEXEC);
	(void) pg_set_noblock(sockets[0]);

	/* Block all signals, because none of PostgreSQL's signal handlers may run in the child. */
	sigfillset(&all);
	(void) sigprocmask(SIG_SETMASK, &all, &before);
	connection.pid = fork();
	if (connection.pid == 0)
	{
		close(sockets[0]);
		connection.socket = sockets[1];
		be_child();
		run_child(conninfo, name);
	}
	fork_errno = errno;
	(void) sigprocmask(SIG_SETMASK, &before, NULL);
	close(sockets[1]);
	connection.socket = sockets[0];
	if (connection.pid < 0)
	{
		connection.pid = 0;
		close(sockets[0]);
		errno = fork_errno;
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not fork a process to ask the registry: %m")));
	}
	receive(CONNECTED, clock_msec() + PATIENCE_MSEC, "connect to");
	return &connection;
}

/* Return the number of rows or columns that is next in the packet, or 0 if there is none. */
static int
next_number(int *at)
{
	const char *text = next_text(at);

	return text == NULL ? 0 : Min(Max(atoi(text), 0), PACKET);
}

static SnoRows
query(SnoConnection *c, const char *statement, int count, const char *const *parameter)
{
	int64		end = clock_msec() + PATIENCE_MSEC;
	bool		fits;
	int			at = 1;
	SnoRows		rows;

	begin_packet(REQUEST);
	fits = put_text(statement) && count <= SNO_LIBPQ_PARAMETERS;
	for (int i = 0; i < count; i++)
		fits = fits && put_text(parameter[i]);
	if (!fits)
		fail("ask", "the request is too long");
	transfer(WL_SOCKET_WRITEABLE, &packet, sizeof(packet.size) + packet.size, end, "ask");
	receive(ROWS, end, "ask");

	rows.count = next_number(&at);
	rows.columns = next_number(&at);
	rows.value = palloc0(sizeof(char *) * rows.count * rows.columns + 1);
	for (int i = 0; i < rows.count * rows.columns; i++)
	{
		bool		is_null = at < packet.size && packet.data[at++] == IS_NULL;
		const char *text = next_text(&at);

		if (text == NULL)
			fail("ask", "its process failed");
		if (!is_null)
			rows.value[i] = pstrdup(text);
	}
	return rows;
}

static void
end_connection(void)
{
	(void) end_child();
}

const SnoLibpq *
sno_libpq_functions(void)
{
	static const SnoLibpq functions = {connect_to, query, end_connection};

	return &functions;
}
