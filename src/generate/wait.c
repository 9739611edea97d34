/*
 * wait.c
 *		Waiting for an id.
 *
 * A wait can be interrupted, is visible to other sessions, and lasts sno.max_wait at most.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"

#include "generate/wait.h"
#include "shared/clock.h"
#include "shared/turn.h"
#include "shared/worker.h"

/*
 * A call may make this many attempts (rounds) without a wait, even if they take longer than
 * sno.max_wait.  An id may take a few rounds, for example one to lease and one to issue, and the
 * disk may be slow.
 */
#define ROUNDS_MAX		100

int			sno_max_wait;

/* Raise the error that reports why a wait failed (`wait->obstacle`). */
void
sno_wait_give_up(const SnoWait *wait)
{
	wait->refuse(wait);
	pg_unreachable();
}

/*
 * Count one more round without a wait.  Raises an error after too many rounds, if sno.max_wait has
 * passed since the first round.
 */
static void
count_round(SnoWait *wait, int64 now)
{
	CHECK_FOR_INTERRUPTS();
	if (wait->begun == 0)
		wait->begun = now;
	if (++wait->rounds > ROUNDS_MAX && now - wait->begun > (int64) sno_wait_msec(wait) * 1000)
	{
		wait->obstacle = SNO_NO_OBSTACLE;
		sno_wait_give_up(wait);
	}
}

/*
 * Wait for an obstacle to go away, for `msec` at most.  Callers try to issue in a loop, and call this
 * function between two rounds.  Without an obstacle, or after SNO_CLASH, there is no wait.  If the obstacle
 * is SNO_BUSY, the session sleeps until the other session releases the turn, even if that takes longer than
 * `msec`.  Raises an error if sno.max_wait has passed since the first wait, or at once if waiting can't help.
 */
void
sno_wait(SnoWait *wait, SnoObstacle obstacle, int msec)
{
	const SnoDefinition *d = wait->definition;
	int64		now = sno_clock_monotonic();
	int64		left;
	uint32		event;

	if (obstacle == SNO_NO_OBSTACLE || obstacle == SNO_CLASH || obstacle == SNO_LEASING)
	{
		count_round(wait, now);
		if (obstacle == SNO_LEASING)
			pg_usleep(msec * 1000L);
		return;
	}
	/* If there was a lack of partitions, report the lack, because SNO_TOO_FAST is only its effect. */
	if (obstacle != SNO_TOO_FAST || (wait->obstacle != SNO_NO_PARTITION && wait->obstacle != SNO_NO_GRANT))
		wait->obstacle = obstacle;
	if (obstacle == SNO_NO_BACKFILL || obstacle == SNO_BACKFILLED || obstacle == SNO_REGISTERED)
		sno_wait_give_up(wait);

	if (wait->since == 0)
	{
		wait->since = now;
		if (wait->counters != NULL)
			sno_counters_wait(wait->counters);
	}
	sno_activity_wait(wait->generator, d == NULL || sno_is_flake(d) ? -1 : d->subject.partition);
	if (sno_notify_overflow)
		sno_worker_ask(SNO_NOTIFIER);
	left = sno_wait_msec(wait) - (now - wait->since) / 1000;
	if (left <= 0)
		sno_wait_give_up(wait);

	event = sno_wait_event[wait->generator == NULL ? SNO_WAITS_FOR_PARTITION : SNO_WAITS_FOR_GENERATOR];
	if (obstacle == SNO_BUSY)
		sno_turn_sleep(left, event);
	else
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, Min(msec, left), event);
	ResetLatch(MyLatch);
	if (wait->counters != NULL)
		sno_counters_waited(wait->counters, sno_clock_monotonic() - wait->since);
	CHECK_FOR_INTERRUPTS();
}
