/*
 * overflow.c
 *		The notifier: a background worker that notifies listeners when sessions wait for ids.
 *
 * A session can't send a notification before its transaction commits.  So a session that
 * has to wait marks its slot in shared memory (shared/activity.c), and starts the notifier
 * (shared/worker.c).  For each generator for which sessions have to wait, the notifier
 * sends a notification at once, and then one after each second in which sessions had to
 * wait.  After the first second without a wait, it sends a last notification, with the
 * count 0.  When it has done so for all generators of all databases, it ends.
 *
 * The notifier also ends if sno.notify_overflow is switched off.  A session that hasn't
 * read the new setting yet would start the notifier again at once.  To prevent that, the
 * notifier records a time before which no session starts it.
 *
 * There is one notifier for the whole server.  It is connected to no database, so it
 * never blocks DROP DATABASE, or CREATE DATABASE from a template.  A notification is sent
 * to the database that MyDatabaseId names when the transaction commits.  So the notifier
 * runs one transaction for each database, and sets MyDatabaseId only during the commit.
 * In async.c of PostgreSQL 15 to 19, two functions use MyDatabaseId: PreCommit_Notify()
 * for the entries of the queue, and AtCommit_Notify() to find the listeners.  Nothing
 * else in the commit needs the database, or a connection to it:
 *
 *	- The lock on the queue is a lock on "database 0".  The lock on the transaction's id
 *	  belongs to no database.
 *	- The commit record names the database, for logical decoding, which finds no changes
 *	  in the transaction.
 *	- The caches of the notifier have only shared catalogs, so invalidations for the
 *	  database have no effect there.
 *	- Statistics are reported when the process ends.  MyDatabaseId isn't set then, even
 *	  if the process ends by an error.
 *	- Other sessions read the notifier's database from its PGPROC, where no database is set.
 *
 * The name of a generator is in the encoding of its database, and is sent unchanged.  If
 * the database was dropped meanwhile, it has no listeners.
 *
 * The payload is JSON:
 *
 *	generator	name of the named generator; null if the sessions waited for an id of any
 *				partition
 *	partition	partition of the named generator; null if there is none, or if it is
 *				unknown because the table of definitions is locked
 *	time		time of the notification, in ISO 8601 and UTC
 *	count		number of sessions that had to wait since the previous notification
 *	ticks		milliseconds since the notifier first saw these waits, plus 1
 *
 * The names `count` and `ticks` come from the Go package, which notifies in each unit, and
 * counts the ticks of a timer that fires about once a millisecond.
 *
 * The notifier runs no SQL and opens no table.  So no session waits for a lock of the
 * notifier, and no object in a database can make the notifier run code.  Its commits are
 * asynchronous, because a crash that loses a notification also ends the connection of the
 * listener.
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

/* The time during which no session starts the notifier again, after it was switched off */
#define SWITCHED_OFF_USEC	(2 * USECS_PER_SEC)

/* A generator for which sessions have had to wait */
typedef struct Overflow
{
	Oid			database;
	char		generator[NAMEDATALEN]; /* empty if sessions waited for any partition */
	int			partition;		/* -1 if there is none, or if it isn't known */
	int			count;
	int64		since;			/* monotonic µs */
} Overflow;

PGDLLEXPORT void sno_overflow_main(Datum arg);

/* Clean up at the end of the notifier, which may end during a commit. */
static void
end_notifier(int code, Datum arg)
{
	MyDatabaseId = InvalidOid;
	sno_worker_end(SNO_NOTIFIER, sno_notify_overflow ? 0 : SWITCHED_OFF_USEC);
}

/* Return the entry of a generator in the list.  Adds an entry if there is none. */
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

/* Count the sessions that had to wait since the last call. */
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

/* Notify the listeners of one database, in one transaction. */
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
 * Send notifications of all overflows, and forget those that are over.  Returns false if no
 * overflow is left.
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

/* Sleep until the monotonic clock has reached `end`, even if the latch is set before. */
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

/* The main function of the notifier */
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
