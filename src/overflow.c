/*
 * overflow.c
 *		Notifications that callers have to wait for ids.
 *
 * A session that waits can't notify anybody before its transaction commits.  So
 * it marks its slot (activity.c) and sees to it that a background worker, the
 * notifier of its database, does: when it starts, then once a second as long as
 * sessions had to wait in the second before, and a last time, with a count of
 * zero, after the first second in which none had to.  Then it is gone: within
 * two seconds of the last wait, so that it is no obstacle to DROP DATABASE, nor
 * to CREATE DATABASE with this one as template, which wait for five.
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
 * Its entry in the journal is taken, under the journal's lock, by the session
 * that asks for it, and by nobody else as long as its process lives.  An entry
 * whose notifier doesn't come, for it could not be started or died before it was
 * ready, is taken anew after a while.  So is that of a notifier that finds itself
 * switched off: a session that waits knows only later, and would ask at once.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "activity.h"
#include "catalog/pg_type.h"
#include "clock.h"
#include "commands/async.h"
#include "compat.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "overflow.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "shmem.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/datetime.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#define CHANNEL				"sno_overflow"
#define INTERVAL_USEC		USECS_PER_SEC

/* How long a session waits for a notifier to come before it asks again. */
#define PATIENCE_USEC		(2 * USECS_PER_SEC)

/* A generator that sessions of this database have had to wait for. */
typedef struct Overflow
{
	char		generator[NAMEDATALEN]; /* empty for the sessions' own */
	int			partition;		/* -1 for null */
	int			count;
	int64		since;			/* monotonic µs */
} Overflow;

bool		sno_notify_overflow;

PGDLLEXPORT void sno_overflow_main(Datum database);

/* Is it, or will it soon be, a notifier of this database? */
static bool
in_service(const SnoNotifier *n, int64 now)
{
	return n->database == MyDatabaseId &&
		(n->pid != 0 || now - n->asked_at < PATIENCE_USEC);
}

static bool
is_free(const SnoNotifier *n, int64 now)
{
	return n->database == InvalidOid ||
		(n->pid == 0 && now - n->asked_at >= PATIENCE_USEC);
}

/* Is one in service? A look without the lock may be mistaken. */
static bool
any_in_service(int64 now)
{
	for (int i = 0; i < SNO_NOTIFIERS; i++)
		if (in_service(&sno_journal->notifier[i], now))
			return true;
	return false;
}

/* Take an entry for a notifier; false if there is one, or no room for one. */
static bool
take_entry(int64 now)
{
	SnoNotifier *n = NULL;

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	if (!any_in_service(now))
		for (int i = 0; n == NULL && i < SNO_NOTIFIERS; i++)
			if (is_free(&sno_journal->notifier[i], now))
				n = &sno_journal->notifier[i];
	if (n != NULL)
		*n = (SnoNotifier) {.database = MyDatabaseId, .asked_at = now};
	LWLockRelease(&sno_journal->lock);
	return n != NULL;
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
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION |
		BGWORKER_INTERRUPTIBLE,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "sno",
		.bgw_function_name = "sno_overflow_main",
		.bgw_main_arg = ObjectIdGetDatum(MyDatabaseId)
	};

	if (!sno_notify_overflow)
		return;
	now = sno_clock_monotonic();
	if (any_in_service(now) || !take_entry(now))
		return;
	if (!RegisterDynamicBackgroundWorker(&worker, NULL) && sno_journal_refusal())
		ereport(LOG,
				(errmsg("could not start a background worker to notify of sno overflows"),
				 errhint("You may need to increase max_worker_processes.")));
}

/* The notifier's own entry; NULL if it isn't wanted. */
static SnoNotifier *
enter(void)
{
	SnoNotifier *mine = NULL;

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	for (int i = 0; i < SNO_NOTIFIERS && mine == NULL; i++)
	{
		SnoNotifier *n = &sno_journal->notifier[i];

		if (n->database == MyDatabaseId && n->pid == 0)
			mine = n;
	}
	if (mine != NULL)
		mine->pid = MyProcPid;
	LWLockRelease(&sno_journal->lock);
	return mine;
}

static void
leave(int code, Datum entry)
{
	SnoNotifier *mine = (SnoNotifier *) DatumGetPointer(entry);

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	mine->pid = 0;
	mine->asked_at = sno_clock_monotonic();
	if (sno_notify_overflow)
		mine->database = InvalidOid;
	LWLockRelease(&sno_journal->lock);
}

/* The entry of a generator in the list, which is new if it isn't there. */
static Overflow *
find(List **overflows, const char *generator, int partition, int64 now)
{
	ListCell   *cell;
	Overflow   *o;

	foreach(cell, *overflows)
	{
		o = lfirst(cell);
		if (o->partition == partition && strcmp(o->generator, generator) == 0)
			return o;
	}
	o = palloc0(sizeof(Overflow));
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
		char		generator[NAMEDATALEN];
		int			partition;

		if (sno_activity_take_wait(&slot[i], generator, &partition))
			find(overflows, generator, partition, now)->count++;
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

/*
 * Notify of all overflows, and forget those that are over.  False if that was
 * all of them.
 */
static bool
notify_all(List **overflows)
{
	int64		now = sno_clock_monotonic();
	ListCell   *cell;

	count(overflows, now);
	StartTransactionCommand();
	foreach(cell, *overflows)
		notify(lfirst(cell), now);
	CommitTransactionCommand();
	MemoryContextSwitchTo(TopMemoryContext);

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

/* The notifier of a database. */
void
sno_overflow_main(Datum database)
{
	List	   *overflows = NIL;
	SnoNotifier *entry;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(database), InvalidOid,
											  BGWORKER_BYPASS_ALLOWCONN);
	SetConfigOption("synchronous_commit", "off", PGC_SUSET, PGC_S_OVERRIDE);

	MemoryContextSwitchTo(TopMemoryContext);
	sno_shmem_attach();
	entry = enter();
	if (entry == NULL)
		return;
	before_shmem_exit(leave, PointerGetDatum(entry));
	while (sno_notify_overflow && notify_all(&overflows))
		sleep_until(sno_clock_monotonic() + INTERVAL_USEC);
}
