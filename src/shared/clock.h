/*
 * clock.h
 *		Reading the wall clock, in units or milliseconds, and detecting its steps.
 */
#ifndef SNO_CLOCK_H
#define SNO_CLOCK_H

#include "postgres.h"

#include <time.h>

#include "id.h"

extern void sno_clock_out_of_epoch(void);
extern void sno_clock_watch(void);
extern int64 sno_clock_monotonic(void);

/*
 * Return the current unit.  The clock is read in the vDSO, without a system call.  Raises 22008
 * if the clock is outside the time range of ids.
 */
static inline uint64_t
sno_clock_unit(void)
{
	struct timespec t;
	uint64		unit;

	/* A time before 2010 wraps to a number above SNO_UNIT_MAX. */
	clock_gettime(CLOCK_REALTIME, &t);
	unit = ((uint64) t.tv_sec - SNO_EPOCH_UNIX) * SNO_UNITS_PER_SEC +
		(uint32) t.tv_nsec / (SNO_UNIT_MSEC * 1000000);
	if (unlikely(unit > SNO_UNIT_MAX))
		sno_clock_out_of_epoch();
	return unit;
}

/* Return the milliseconds since 2010.  Raises 22008 if the clock is outside the time range of ids. */
static inline int64
sno_clock_msec(void)
{
	struct timespec t;
	uint64		msec;

	clock_gettime(CLOCK_REALTIME, &t);
	msec = ((uint64) t.tv_sec - SNO_EPOCH_UNIX) * 1000 + (uint32) t.tv_nsec / 1000000;
	if (unlikely(msec / SNO_UNIT_MSEC > SNO_UNIT_MAX))
		sno_clock_out_of_epoch();
	return (int64) msec;
}

/*
 * Return a number that changes only every few milliseconds, at each tick of the kernel, or when
 * somebody sets the wall clock.  Reading it costs less than reading the current unit.  On systems
 * without a coarse clock, the number is different at each call.
 */
static inline int64
sno_clock_tick(void)
{
	struct timespec t;

#ifdef CLOCK_REALTIME_COARSE
	clock_gettime(CLOCK_REALTIME_COARSE, &t);
#else
	clock_gettime(CLOCK_REALTIME, &t);
#endif
	return (int64) t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif							/* SNO_CLOCK_H */
