/*
 * overflow.c
 *		Notifications that callers have to wait for ids.
 *
 * A session that waits can't notify anybody before its transaction commits.  So it marks
 * its slot (shared/activity.c) and asks for a background worker, the notifier
 * (shared/worker.c).  The notifier notifies when it starts, then once a second while
 * sessions had to wait in the second before.  After the first second in which no session
 * had to wait, it notifies a last time, with a count of zero.  When it has done so for all
 * generators of all databases, it ends.  If the notifier is switched off, it sets the time
 * until which it is expected, and ends.  Otherwise a session that doesn't know the new
 * setting yet would ask for it again at once.
 *
 * There is one notifier for the server.  It is connected to no database, so it is
 * never in the way of DROP DATABASE, nor of CREATE DATABASE with a template.  A
 * notification belongs to the database that MyDatabaseId names when the transaction
 * commits.  So the notifier makes one transaction for each database, and sets
 * MyDatabaseId for the commit alone.  In async.c of PostgreSQL 15 to 19, two functions
 * use MyDatabaseId: PreCommit_Notify(), for the entries of the queue, and
 * AtCommit_Notify(), to find the listeners.  Nothing more in that commit needs the
 * database or a connection to it:
 *
 *	- The lock on the queue is on "database 0", the transaction's id has none.
 *	- The commit record names the database to logical decoding, which finds no change
 *	  there.
 *	- The caches have shared catalogs only, so invalidations of the database find
 *	  nothing.
 *	- Statistics are reported when the process ends.  MyDatabaseId isn't set then, not
 *	  even after an error.
 *	- Other sessions see the database of our PGPROC, which has none.
 *
 * Names of generators are bytes in their database's encoding, and pass through
 * unchanged.  If the database was dropped meanwhile, nobody listens there.
 *
 * The payload is JSON:
 *
 *	generator	name of the named generator; null for session generators, which share
 *				all partitions and wait for any
 *	partition	its partition; null for session generators and generators of layouts, and
 *				while a locked table of definitions keeps it unknown
 *	time		of the notification, ISO 8601, UTC
 *	count		sessions that had to wait since the notification before
 *	ticks		milliseconds since the notifier saw the overflow first, from 1 on
 *
 * The last two are named as in the Go package, which notifies in each unit and counts
 * ticks of a timer of about a millisecond.
 *
 * The notifier runs no SQL and opens no table.  So nobody waits for one of its locks, and
 * nothing in a database can make it run anything.  It doesn't wait until its commits are
 * on disk or on standbys: if a crash loses a notification, its listener is gone, too.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "commands/async.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/datetime.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/shmem.h"
#include "shared/worker.h"

#define CHANNEL				"sno_overflow"
#define INTERVAL_USEC		USECS_PER_SEC

/* How soon sessions ask again for a notifier that found itself switched off. */
#define SWITCHED_OFF_USEC	(2 * USECS_PER_SEC)

/* A generator that sessions have had to wait for. */
typedef struct Overflow
{
	Oid			database;
	char		generator[NAMEDATALEN]; /* empty for session generators */
	int			partition;		/* -1 if there is none, or it isn't known */
	int			count;
	int64		since;			/* monotonic µs */
} Overflow;

PGDLLEXPORT void sno_overflow_main(Datum arg);

/* End the notifier.  It may end in a commit. */
static void
end_notifier(int code, Datum arg)
{
	MyDatabaseId = InvalidOid;
	sno_worker_end(SNO_NOTIFIER, sno_notify_overflow ? 0 : SWITCHED_OFF_USEC);
}

/* The entry of a generator in the list, which is made if there is none. */
static Overflow *
find_overflow(List **overflows, Oid database, const char *generator, int partition, int64 now)
{
	ListCell   *cell;
	Overflow   *o;

	foreach(cell, *overflows)
	{
		o = lfirst(cell);
		if (o->database == database && o->partition == partition &&
			strcmp(o->generator, generator) == 0)
			return o;
	}
	o = palloc0(sizeof(Overflow));
	o->database = database;
	strlcpy(o->generator, generator, NAMEDATALEN);
	o->partition = partition;
	o->since = now;
	*overflows = lappend(*overflows, o);
	return o;
}

/* Count the sessions that had to wait since the last time. */
static void
count_waits(List **overflows, int64 now)
{
	int			slots;
	SnoActivity *slot = sno_activity_slots(&slots);
	ListCell   *cell;

	foreach(cell, *overflows)
		((Overflow *) lfirst(cell))->count = 0;
	for (int i = 0; i < slots; i++)
	{
		Oid			database;
		char		generator[NAMEDATALEN];
		int			partition;

		if (sno_activity_take_wait(&slot[i], &database, generator, &partition))
			find_overflow(overflows, database, generator, partition, now)->count++;
	}
}

static void
notify_overflow(const Overflow *o, int64 now)
{
	StringInfoData payload;
	char		time[MAXDATELEN + 1];
	int			utc = 0;

	JsonEncodeDateTime(time, TimestampTzGetDatum(GetCurrentTimestamp()),
					   TIMESTAMPTZOID, &utc);
	initStringInfo(&payload);
	appendStringInfoString(&payload, "{\"generator\": ");
	if (o->generator[0] == '\0')
		appendStringInfoString(&payload, "null");
	else
		escape_json(&payload, o->generator);
	if (o->partition < 0)
		appendStringInfoString(&payload, ", \"partition\": null");
	else
		appendStringInfo(&payload, ", \"partition\": %d", o->partition);
	appendStringInfo(&payload, ", \"time\": \"%s\", \"count\": %d, \"ticks\": %lld}",
					 time, o->count, (long long) (now - o->since) / 1000 + 1);
	Async_Notify(CHANNEL, payload.data);
	pfree(payload.data);
}

/* In one transaction, notify of a database's overflows. */
static void
notify_database(const List *overflows, Oid database, int64 now)
{
	ListCell   *cell;

	StartTransactionCommand();
	foreach(cell, overflows)
		if (((Overflow *) lfirst(cell))->database == database)
			notify_overflow(lfirst(cell), now);
	MyDatabaseId = database;
	CommitTransactionCommand();
	MyDatabaseId = InvalidOid;
	MemoryContextSwitchTo(TopMemoryContext);
}

/*
 * Notify of all overflows, and forget those that are over.  False if none is left.
 */
static bool
notify_all(List **overflows)
{
	int64		now = sno_clock_monotonic();
	List	   *databases = NIL;
	ListCell   *cell;

	count_waits(overflows, now);
	foreach(cell, *overflows)
		databases = list_append_unique_oid(databases, ((Overflow *) lfirst(cell))->database);
	foreach(cell, databases)
		notify_database(*overflows, lfirst_oid(cell), now);
	list_free(databases);

	foreach(cell, *overflows)
		if (((Overflow *) lfirst(cell))->count == 0)
		{
			pfree(lfirst(cell));
			*overflows = foreach_delete_current(*overflows, cell);
		}
	return *overflows != NIL;
}

/* Sleep until a monotonic instant, even if something wakes us before. */
static void
sleep_until(int64 end)
{
	int64		left;

	while ((left = end - sno_clock_monotonic()) > 0)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 left / 1000 + 1, sno_wait_event[SNO_WAITS_AS_NOTIFIER]);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
	}
}

/* The notifier. */
void
sno_overflow_main(Datum arg)
{
	List	   *overflows = NIL;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	SetConfigOption("synchronous_commit", "off", PGC_SUSET, PGC_S_OVERRIDE);

	MemoryContextSwitchTo(TopMemoryContext);
	sno_shmem_attach();
	if (!sno_worker_begin(SNO_NOTIFIER))
		return;
	before_shmem_exit(end_notifier, (Datum) 0);
	while (sno_notify_overflow && notify_all(&overflows))
		sleep_until(sno_clock_monotonic() + INTERVAL_USEC);
}
