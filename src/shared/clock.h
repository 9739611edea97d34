/*
 * clock.h
 *		The wall clock in units of an id, and its steps.
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
 * The current unit.  It comes from the vDSO, without a system call.  Raises
 * 22008 if the clock is outside of the epoch.
 */
static inline uint64
sno_clock_unit(void)
{
	struct timespec t;
	uint64		unit;

	/* Before the epoch this wraps to more than any unit. */
	clock_gettime(CLOCK_REALTIME, &t);
	unit = ((uint64) t.tv_sec - SNO_EPOCH_UNIX) * SNO_UNITS_PER_SEC +
		(uint32) t.tv_nsec / (SNO_UNIT_MSEC * 1000000);
	if (unlikely(unit > SNO_UNIT_MAX))
		sno_clock_out_of_epoch();
	return unit;
}

/* The current ms since 2010.  Raises 22008 if the clock is outside of the epoch. */
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
 * A number that changes when the wall clock does, but only every few milliseconds: at each
 * tick of the kernel, or when somebody sets the clock.  It costs less than the current
 * unit.  Where there is no such clock, the number is never the same twice.
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
