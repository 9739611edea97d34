/*
 * overflow.c
 *		Notifications that callers have to wait for ids.
 *
 * A session that waits can't notify anybody before its transaction commits.  So
 * it marks its slot (activity.c) and sees to it that a background worker, the
 * notifier, does: when it starts, then once a second as long as sessions had to
 * wait in the second before, and a last time, with a count of zero, after the
 * first second in which none had to.  When that holds for all generators of all
 * databases, it is gone.
 *
 * There is one for the server, which is connected to no database: it is never in
 * the way of DROP DATABASE, nor of CREATE DATABASE with a template.  What it
 * notifies of belongs to the database that MyDatabaseId names when a transaction
 * commits.  So it makes one transaction for each database, and sets MyDatabaseId
 * for its commit alone.  In async.c of PostgreSQL 15 to 19, only PreCommit_Notify()
 * uses it, for the entries of the queue, and AtCommit_Notify(), to find those who
 * listen.  Nothing else in that commit needs the database or a connection to it:
 *
 *	- The lock on the queue is on "database 0", the transaction's id has none.
 *	- The commit record names the database to logical decoding, which finds no
 *	  change there.
 *	- The caches have shared catalogs only.  Where messages of the database arrive
 *	  that would invalidate others, there is nothing to invalidate.
 *	- Statistics are reported when the process ends.  MyDatabaseId isn't set then,
 *	  even after an error, so no database gets any.
 *	- Others see the database of our PGPROC, which has none.
 *
 * Names of generators are bytes in their database's encoding, and pass through
 * unchanged.  If the database was dropped meanwhile, nobody listens there, and the
 * entries are skipped like those of any other database.
 *
 * It needs a slot of max_worker_processes while it runs.  If there is none,
 * nothing is notified; that is logged once, and counted for sno_check().  It
 * needs no preload, and no listener: nobody can know whether there is one.
 *
 * The payload is JSON:
 *
 *	generator	name of the generator waited for; null for the sessions' own
 *				ones, which share all partitions and wait for any
 *	partition	its partition; null for the sessions' own, and where a locked
 *				table of definitions keeps it unknown
 *	time		of the notification, ISO 8601, UTC
 *	count		sessions that had to wait since the notification before
 *	ticks		how long it has been going on by now: milliseconds since the
 *				notifier saw it first, from 1 on
 *
 * The last two are named as in the reference, which notifies of each unit and
 * counts ticks of a timer that it starts with the overflow: one in a millisecond,
 * more or less.  Like the first notification, the last one may be the only news
 * that a listener gets of a wait that was over at once.
 *
 * The notifier runs no SQL and opens no table, so it holds no lock that anybody
 * would wait for, and nothing in the database can make it run anything.  Its
 * commits aren't waited for, on disk or on standbys: a notification that a crash
 * takes with it has no listener either.
 *
 * The journal tells whether it runs.  The session that asks for it notes there,
 * under the journal's lock, until when it is expected, and until then nobody else
 * asks.  If it doesn't come, for it could not be started or died before it was
 * ready, it is asked for again.  One that finds itself switched off leaves that
 * time behind, too: a session that waits knows only later, and would ask at once.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
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

#include "catalog/pg_type.h"
#include "compat.h"
#include "monitor/overflow.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/shmem.h"

#define CHANNEL				"sno_overflow"
#define INTERVAL_USEC		USECS_PER_SEC

/* How long a session waits for a notifier to come before it asks again. */
#define PATIENCE_USEC		(2 * USECS_PER_SEC)

/* A generator that sessions have had to wait for. */
typedef struct Overflow
{
	Oid			database;
	char		generator[NAMEDATALEN]; /* empty for the sessions' own */
	int			partition;		/* -1 for null */
	int			count;
	int64		since;			/* monotonic µs */
} Overflow;

bool		sno_notify_overflow;

PGDLLEXPORT void sno_overflow_main(Datum arg);

/* Does the notifier run, or will it soon? A look without the lock may be mistaken. */
static bool
in_service(int64 now)
{
	const SnoNotifier *n = &sno_journal->notifier;

	return n->pid != 0 || now < n->expected_until;
}

/* Shall this session ask for the notifier? If so, no other one does for a while. */
static bool
may_ask(int64 now)
{
	bool		may;

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	may = !in_service(now);
	if (may)
		sno_journal->notifier.expected_until = now + PATIENCE_USEC;
	LWLockRelease(&sno_journal->lock);
	return may;
}

/*
 * This session, whose slot tells what for, has to wait.  Raises no error, and
 * is cheap enough to be called all the time.
 */
void
sno_overflow_report(void)
{
	int64		now;
	BackgroundWorker worker = {
		.bgw_name = "sno overflow notifier",
		.bgw_type = "sno overflow notifier",
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "sno",
		.bgw_function_name = "sno_overflow_main"
	};

	if (!sno_notify_overflow)
		return;
	now = sno_clock_monotonic();
	if (in_service(now) || !may_ask(now))
		return;
	if (!RegisterDynamicBackgroundWorker(&worker, NULL) && sno_journal_refusal())
		ereport(LOG,
				(errmsg("could not start a background worker to notify of sno overflows"),
				 errhint("You may need to increase max_worker_processes.")));
}

/* Become the notifier; false if there is one already. */
static bool
enter(void)
{
	bool		alone;

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	alone = sno_journal->notifier.pid == 0;
	if (alone)
		sno_journal->notifier.pid = MyProcPid;
	LWLockRelease(&sno_journal->lock);
	return alone;
}

/* It may have ended in a commit. */
static void
leave(int code, Datum arg)
{
	MyDatabaseId = InvalidOid;
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	sno_journal->notifier = (SnoNotifier) {
		.expected_until = sno_notify_overflow ? 0 : sno_clock_monotonic() + PATIENCE_USEC
	};
	LWLockRelease(&sno_journal->lock);
}

/* The entry of a generator in the list, which is new if it isn't there. */
static Overflow *
find(List **overflows, Oid database, const char *generator, int partition, int64 now)
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
count(List **overflows, int64 now)
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
			find(overflows, database, generator, partition, now)->count++;
	}
}

static void
notify(const Overflow *o, int64 now)
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
			notify(lfirst(cell), now);
	MyDatabaseId = database;
	CommitTransactionCommand();
	MyDatabaseId = InvalidOid;
	MemoryContextSwitchTo(TopMemoryContext);
}

/*
 * Notify of all overflows, and forget those that are over.  False if that was
 * all of them.
 */
static bool
notify_all(List **overflows)
{
	int64		now = sno_clock_monotonic();
	List	   *databases = NIL;
	ListCell   *cell;

	count(overflows, now);
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

/* Sleep until a monotonic instant, whatever wakes us before. */
static void
sleep_until(int64 end)
{
	int64		left;

	while ((left = end - sno_clock_monotonic()) > 0)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 left / 1000 + 1, sno_wait_event("SnoNotifier"));
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
	if (!enter())
		return;
	before_shmem_exit(leave, (Datum) 0);
	while (sno_notify_overflow && notify_all(&overflows))
		sleep_until(sno_clock_monotonic() + INTERVAL_USEC);
}
