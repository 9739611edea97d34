/*
 * notifier.c
 *		Asking for the background worker that notifies of overflows.
 *
 * The journal tells whether the notifier runs (monitor/overflow.c).  The session
 * that asks for it notes there, under the journal's lock, until when it is expected.
 * Until then nobody else asks.  If it doesn't come, because it could not be started
 * or died before it was ready, it is asked for again.
 */
#include "postgres.h"

#include "postmaster/bgworker.h"

#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/notifier.h"

bool		sno_notify_overflow;

/* Does the notifier run, or will it soon?  A look without the lock may be mistaken. */
static bool
is_expected(int64 now)
{
	const SnoNotifier *n = &sno_journal->notifier;

	return n->pid != 0 || now < n->expected_until;
}

/* Shall this session ask for the notifier?  If so, no other one does for a while. */
static bool
may_ask(int64 now)
{
	bool		may;

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	may = !is_expected(now);
	if (may)
		sno_journal->notifier.expected_until = now + SNO_NOTIFIER_PATIENCE;
	LWLockRelease(&sno_journal->lock);
	return may;
}

/*
 * This session has to wait; its slot tells for what.  Raises no error, and costs
 * little while the notifier runs.
 */
void
sno_notifier_ask(void)
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
	if (is_expected(now) || !may_ask(now))
		return;
	if (!RegisterDynamicBackgroundWorker(&worker, NULL) && sno_journal_refusal())
		ereport(LOG,
				(errmsg("could not start a background worker to notify of sno overflows"),
				 errhint("You may need to increase max_worker_processes.")));
}
