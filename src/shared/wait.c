/*
 * wait.c
 *		Waiting for an id: interruptibly, visibly, and not for ever.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"

#include "compat.h"
#include "monitor/overflow.h"
#include "shared/clock.h"
#include "shared/wait.h"

int			sno_max_wait;

/*
 * Wait at most so many milliseconds for what may change: a unit passes, a session
 * gives something back, a lock is released.  *since is the monotonic µs when this
 * call of SQL began to wait, 0 if it didn't yet; false if that is sno.max_wait
 * ago.  What is waited for is as sno_activity_wait() has it; its counters, NULL
 * if it has none yet, count the wait.
 */
bool
sno_wait(int64 *since, SnoCounters *counters, const char *generator, int partition,
		 int msec)
{
	int64		now = sno_clock_monotonic();
	int64		left;
	uint32		event;

	if (*since == 0)
	{
		*since = now;
		if (counters != NULL)
			sno_counters_wait(counters);
	}
	sno_activity_wait(generator, partition);
	sno_overflow_report();
	left = sno_max_wait - (now - *since) / 1000;
	if (left <= 0)
		return false;

	event = generator == NULL ? sno_wait_event("SnoPartition") : sno_wait_event("SnoGenerator");
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 Min(msec, left), event);
	ResetLatch(MyLatch);
	if (counters != NULL)
		sno_counters_waited(counters, sno_clock_monotonic() - *since);
	CHECK_FOR_INTERRUPTS();
	return true;
}
