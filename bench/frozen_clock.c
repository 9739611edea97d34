/*
 * frozen_clock.c
 *		A clock that stands still, for bench/instructions: so no session enters another
 *		unit, renews a lease or waits.
 */
#include <sys/time.h>
#include <time.h>

#define NOW		1893456000		/* 2030-01-01, the start of a unit */

int
clock_gettime(clockid_t clock, struct timespec *t)
{
	(void) clock;
	t->tv_sec = NOW;
	t->tv_nsec = 0;
	return 0;
}

int
gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	(void) zone;
	t->tv_sec = NOW;
	t->tv_usec = 0;
	return 0;
}
