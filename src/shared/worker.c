/*
 * worker.c
 *		Starting the extension's background workers.
 *
 * There is at most one worker of each kind, and it runs only while it has work.  The journal
 * (activity.h) shows whether a worker runs.  A session that starts a worker records in the
 * journal, under the journal's lock, until when the worker is expected.  Until then, no other
 * session starts a worker of this kind.  If the worker could not be started, or died before it
 * was ready, the next session that asks for the worker after that time starts it.
 *
 * Any user can occupy all background workers of the server by parallel queries.  So when the
 * server starts, it may reserve a process for a kind of worker.  The reserved process doesn't end,
 * and sessions wake it instead of starting a worker.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "shared/clock.h"
#include "shared/worker.h"

/* How long sessions expect a worker to begin before one of them starts it again, in µs */
#define PATIENCE	(2 * USECS_PER_SEC)

bool		sno_notify_overflow;

static const struct
{
	const char *name;
	const char *function;
	const char *refusal;		/* message if the worker can't be started */
	const char *hint;
}			workers[] = {
	[SNO_NOTIFIER] = {
		"sno overflow notifier", "sno_overflow_main",
		"could not start a background worker to notify of sno overflows",
		"You may need to increase \"max_worker_processes\"."
	},
	[SNO_REGISTRY_CLIENT] = {
		"sno registry client", "sno_registry_main",
		"could not start a background worker to ask the registry",
		"Add \"sno\" to \"shared_preload_libraries\" if it is missing there, and restart the server. See doc/servers.md#set-up."
	}
};

/*
 * Is the worker running, or expected to run soon?  Without the lock, the answer may be out of
 * date.
 */
static bool
is_expected(const SnoWorker *w, int64 now)
{
	return w->pid != 0 || now < w->expected_until;
}

/* Is this session to start the worker?  If so, no other session starts it for a while. */
static bool
may_ask(SnoWorker *w, int64 now)
{
	bool		may;

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	may = !is_expected(w, now);
	if (may)
		w->expected_until = now + PATIENCE;
	LWLockRelease(&sno_journal->lock);
	return may;
}

/* Note that a worker could not be started.  Returns true if this failure is to be logged. */
static bool
note_refusal(SnoWorkerKind kind)
{
	SnoWorker  *w = &sno_journal->workers[kind];
	bool		due;

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	w->refusals++;
	w->refused_at = GetCurrentTimestamp();
	due = sno_journal_is_due(&w->logged_at);
	LWLockRelease(&sno_journal->lock);
	/* Sessions that wait for the registry show the recorded failure in their errors. */
	if (kind == SNO_REGISTRY_CLIENT)
		due = sno_journal_registry_failure(workers[kind].refusal);
	return due;
}

/* Return the registration of a worker of this kind. */
static BackgroundWorker
describe(SnoWorkerKind kind)
{
	BackgroundWorker worker = {
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "sno"
	};

	strlcpy(worker.bgw_name, workers[kind].name, BGW_MAXLEN);
	strlcpy(worker.bgw_type, workers[kind].name, BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, workers[kind].function, BGW_MAXLEN);
	return worker;
}

/*
 * Reserve a process for a kind of worker, while the server starts.  The main function of the
 * worker gets true as its argument, and calls sno_worker_stay().  The process is started again
 * whenever it ends.
 */
void
sno_worker_reserve(SnoWorkerKind kind)
{
	BackgroundWorker worker = describe(kind);

	worker.bgw_restart_time = 1;
	worker.bgw_main_arg = BoolGetDatum(true);
	RegisterBackgroundWorker(&worker);
}

/*
 * Start the worker, or wake its reserved process, unless the worker is running or expected.
 * Raises no error, and takes little time while the worker is running.
 */
void
sno_worker_ask(SnoWorkerKind kind)
{
	SnoWorker  *w = &sno_journal->workers[kind];
	int64		now = sno_clock_monotonic();
	BackgroundWorker worker;
	int32		resident;

	if (is_expected(w, now) || !may_ask(w, now))
		return;
	resident = w->resident;
	if (resident != 0)
	{
		SetLatch(&GetPGProcByNumber(resident - 1)->procLatch);
		return;
	}
	worker = describe(kind);
	if (!RegisterDynamicBackgroundWorker(&worker, NULL) && note_refusal(kind))
		ereport(LOG,
				(errmsg_internal("%s", workers[kind].refusal),
				 errhint("%s", workers[kind].hint)));
}

static void
end_stay(int code, Datum kind)
{
	SnoWorker  *w = &sno_journal->workers[DatumGetInt32(kind)];

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	w->resident = 0;
	LWLockRelease(&sno_journal->lock);
}

/* Did a session ask for the worker, which isn't running yet? */
static bool
is_wanted(const SnoWorker *w)
{
	bool		wanted;

	LWLockAcquire(&sno_journal->lock, LW_SHARED);
	wanted = w->pid == 0 && sno_clock_monotonic() < w->expected_until;
	LWLockRelease(&sno_journal->lock);
	return wanted;
}

/*
 * Stay in this reserved process, and call `work` whenever a session asks for the worker.  Workers
 * that aren't reserved don't call this function: they call `work` once.
 */
void
sno_worker_stay(SnoWorkerKind kind, void (*work) (void))
{
	SnoWorker  *w = &sno_journal->workers[kind];

	before_shmem_exit(end_stay, Int32GetDatum(kind));
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	w->resident = MyProcNumber + 1;
	LWLockRelease(&sno_journal->lock);
	for (;;)
	{
		if (is_wanted(w))
			work();
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, 0,
						 sno_wait_event[SNO_WAITS_AS_CLIENT]);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
	}
}

/* Become the running worker of a kind.  Returns false if another one is running. */
bool
sno_worker_begin(SnoWorkerKind kind)
{
	SnoWorker  *w = &sno_journal->workers[kind];
	bool		alone;

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	alone = w->pid == 0;
	if (alone)
		w->pid = MyProcPid;
	LWLockRelease(&sno_journal->lock);
	return alone;
}

/*
 * Note that this worker has ended, if it had begun.  No session starts another worker of this
 * kind before `pause`, in µs, is over.
 */
void
sno_worker_end(SnoWorkerKind kind, int64 pause)
{
	SnoWorker  *w = &sno_journal->workers[kind];

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	if (w->pid == MyProcPid)
	{
		w->pid = 0;
		w->expected_until = pause == 0 ? 0 : sno_clock_monotonic() + pause;
	}
	LWLockRelease(&sno_journal->lock);
}
