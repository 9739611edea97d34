/*
 * libpq.c
 *		The connection to the registry.
 *
 * This is a library of its own, so that no session loads libpq.  Nothing here blocks, but
 * for the resolver of host names: the process can be ended while it waits.
 */
#include "postgres.h"

#include "fmgr.h"
#include "libpq-fe.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "registry/libpq.h"

PG_MODULE_MAGIC;

/* How long a connection or a statement may take. */
#define PATIENCE_MSEC		20000

/*
 * How long a host may leave packets unanswered, in milliseconds, before the next one
 * of the connection string is tried.
 */
#define HOST_PATIENCE_MSEC	"3000"

/* How often the caller does something else while we wait. */
#define MEANWHILE_MSEC		100

static void (*do_meanwhile) (void);

extern PGDLLEXPORT const SnoLibpq *sno_libpq_functions(void);

/* Raise the error that the connection reports. */
pg_noreturn static void
fail(PGconn *conn, const char *what)
{
	char	   *message = pchomp(PQerrorMessage(conn));

	PQfinish(conn);
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("could not %s the registry: %s", what, message)));
}

/* Of a clock that never steps. */
static int64
clock_msec(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return (int64) INSTR_TIME_GET_MILLISEC(now);
}

/* Wait a little for one of the events, but not beyond `end`.  True if the socket is ready. */
static bool
wait_for(PGconn *conn, int events, int64 end, const char *what)
{
	long		left = end - clock_msec();
	int			event;

	if (left <= 0)
	{
		PQfinish(conn);
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not %s the registry within %d ms", what, PATIENCE_MSEC)));
	}
	event = WaitLatchOrSocket(MyLatch, events | WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							  PQsocket(conn), Min(left, MEANWHILE_MSEC),
							  sno_wait_event("SnoRegistry"));
	do_meanwhile();
	if (event & WL_LATCH_SET)
	{
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return (event & events) != 0;
}

static SnoConnection *
connect_to(const char *conninfo, const char *name, void (*meanwhile) (void))
{
	/* What follows the connection string overrides it, what comes before doesn't. */
	const char *keyword[] = {"tcp_user_timeout", "fallback_application_name", "dbname", NULL};
	const char *value[] = {HOST_PATIENCE_MSEC, name, conninfo, NULL};
	int64		end = clock_msec() + PATIENCE_MSEC;
	PGconn	   *conn = PQconnectStartParams(keyword, value, true);
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	do_meanwhile = meanwhile;
	if (conn == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	if (PQstatus(conn) == CONNECTION_BAD)
		fail(conn, "connect to");
	while (status != PGRES_POLLING_OK)
	{
		if (!wait_for(conn, status == PGRES_POLLING_READING ? WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE,
					  end, "connect to"))
			continue;
		status = PQconnectPoll(conn);
		if (status == PGRES_POLLING_FAILED)
			fail(conn, "connect to");
	}
	return (SnoConnection *) conn;
}

static SnoRows
rows_of(const PGresult *result)
{
	SnoRows		rows = {PQntuples(result), PQnfields(result)};

	rows.value = palloc0(sizeof(char *) * rows.count * rows.columns);
	for (int i = 0; i < rows.count; i++)
		for (int j = 0; j < rows.columns; j++)
			if (!PQgetisnull(result, i, j))
				rows.value[i * rows.columns + j] = pstrdup(PQgetvalue(result, i, j));
	return rows;
}

/* The next result of a statement, NULL after the last one. */
static PGresult *
next_result(PGconn *conn, int64 end)
{
	while (PQisBusy(conn))
	{
		(void) wait_for(conn, WL_SOCKET_READABLE, end, "ask");
		if (!PQconsumeInput(conn))
			fail(conn, "ask");
	}
	return PQgetResult(conn);
}

static SnoRows
query(SnoConnection *c, const char *statement, int count, const char *const *parameter)
{
	PGconn	   *conn = (PGconn *) c;
	int64		end = clock_msec() + PATIENCE_MSEC;
	PGresult   *result,
			   *last;
	SnoRows		rows;

	if (!PQsendQueryParams(conn, statement, count, NULL, parameter, NULL, NULL, 0))
		fail(conn, "ask");
	result = next_result(conn, end);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail(conn, "ask");
	rows = rows_of(result);
	PQclear(result);
	/* The registry commits after the rows. */
	while ((last = next_result(conn, end)) != NULL)
	{
		bool		failed = PQresultStatus(last) == PGRES_FATAL_ERROR;

		PQclear(last);
		if (failed)
			fail(conn, "ask");
	}
	return rows;
}

static void
close_connection(SnoConnection *c)
{
	PQfinish((PGconn *) c);
}

const SnoLibpq *
sno_libpq_functions(void)
{
	static const SnoLibpq functions = {connect_to, query, close_connection};

	return &functions;
}
