/*
 * worker.c
 *		Asking for the extension's background workers.
 *
 * There is at most one of each kind, and only while there is something to do for it.
 * The journal tells whether a worker runs.  The session that asks for one notes in the
 * journal, under its lock, until when the worker is expected.  Until then nobody else
 * asks.  If the worker doesn't come, because it could not be started or died before it was
 * ready, the next session asks again.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "utils/timestamp.h"

#include "shared/clock.h"
#include "shared/worker.h"

/* How long a session waits for a worker to come before it asks again. */
#define PATIENCE	(2 * USECS_PER_SEC)

bool		sno_notify_overflow;

static const struct
{
	const char *name;
	const char *function;
	const char *purpose;
}			workers[] = {
	[SNO_NOTIFIER] = {"sno overflow notifier", "sno_overflow_main", "to notify of sno overflows"},
	[SNO_REGISTRY_CLIENT] = {"sno registry client", "sno_registry_main", "to ask the registry for partitions"}
};

/* Does the worker run, or will it soon?  A look without the lock may be mistaken. */
static bool
is_expected(const SnoWorker *w, int64 now)
{
	return w->pid != 0 || now < w->expected_until;
}

/* Shall this session ask for the worker?  If so, no other one does for a while. */
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

/* A worker could not be started; true for the first time. */
static bool
note_refusal(SnoWorker *w)
{
	bool		first;

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	first = w->refusals++ == 0;
	w->refused_at = GetCurrentTimestamp();
	LWLockRelease(&sno_journal->lock);
	return first;
}

/* Start the worker, unless it runs.  Raises no error, and costs little while it runs. */
void
sno_worker_ask(SnoWorkerKind kind)
{
	SnoWorker  *w = &sno_journal->workers[kind];
	int64		now = sno_clock_monotonic();
	BackgroundWorker worker = {
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "sno"
	};

	if (is_expected(w, now) || !may_ask(w, now))
		return;
	strlcpy(worker.bgw_name, workers[kind].name, BGW_MAXLEN);
	strlcpy(worker.bgw_type, workers[kind].name, BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, workers[kind].function, BGW_MAXLEN);
	if (!RegisterDynamicBackgroundWorker(&worker, NULL) && note_refusal(w))
		ereport(LOG,
				(errmsg("could not start a background worker %s", workers[kind].purpose),
				 errhint("You may need to increase max_worker_processes.")));
}

/* Become the worker of a kind; false if there is one already. */
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
 * This worker ends.  Nobody asks for another one of its kind before the pause (µs) is
 * over.
 */
void
sno_worker_end(SnoWorkerKind kind, int64 pause)
{
	SnoWorker  *w = &sno_journal->workers[kind];

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	w->pid = 0;
	w->expected_until = pause == 0 ? 0 : sno_clock_monotonic() + pause;
	LWLockRelease(&sno_journal->lock);
}
