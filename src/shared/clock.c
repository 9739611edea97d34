/*
 * clock.c
 *		Detecting and logging steps of the wall clock.
 *
 * The difference between the wall clock and the monotonic clock changes only when somebody sets
 * the wall clock.  Slewing adjusts both clocks, so it doesn't change the difference.  The last
 * difference is stored in shared memory, so that only one session logs a step.
 */
#include "postgres.h"

#include <math.h>

#include "datatype/timestamp.h"

#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/shmem.h"

/* The duration of a unit.  A step of half a unit or less is ignored. */
#define STEP_USEC	(SNO_UNIT_MSEC * 1000)

void
sno_clock_out_of_epoch(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
			 errmsg("the system clock is outside the range of a sno"),
			 errdetail("A sno has a time from 2010-01-01 00:00:00 to 2079-09-07 15:47:35.548 UTC."),
			 errhint("Set the system clock right. See doc/operations.md#trouble.")));
}

static int64
read_usec(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64) t.tv_sec * USECS_PER_SEC + t.tv_nsec / 1000;
}

/* Return the time of the monotonic clock, which is never set, in microseconds. */
int64
sno_clock_monotonic(void)
{
	return read_usec(CLOCK_MONOTONIC);
}

/*
 * Log a step of the wall clock, if there was one since any session last called this function.  If
 * too much time passed between the readings of the two clocks, both are read again, because the
 * delay would look like a step.
 */
void
sno_clock_watch(void)
{
	int64		start,
				wall,
				before;
	int			tries = 10;

	do
	{
		start = sno_clock_monotonic();
		wall = read_usec(CLOCK_REALTIME);
	} while (sno_clock_monotonic() - start > STEP_USEC / 4 && --tries > 0);

	if (tries > 0 &&
		sno_shmem_note_clock(wall - start, STEP_USEC / 2, &before))
	{
		int64		step = wall - start - before;

		sno_journal_clock_step(step);
		ereport(LOG,
				(errmsg("the system clock was stepped %s by %.3f s",
						step < 0 ? "back" : "forward",
						fabs((double) step) / USECS_PER_SEC)));
	}
}
