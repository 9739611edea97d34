/*
 * faults.c
 *		A library to be preloaded into a server.  It changes the wall clock, and
 *		stalls flushes, as told by the file that the variable FAULTS names.  The
 *		file is mapped, so what is written to it takes effect at once in all
 *		processes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "notes.h"

static const volatile Faults none;
static const volatile Faults *faults = &none;
static int	(*real_clock_gettime) (clockid_t, struct timespec *);
static int	(*real_fdatasync) (int);

__attribute__((constructor))
static void
begin(void)
{
	const char *path = getenv("FAULTS");
	int			file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);

	real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
	if (file >= 0)
	{
		void	   *map = mmap(NULL, sizeof(Faults), PROT_READ, MAP_SHARED, file, 0);

		if (map != MAP_FAILED)
			faults = map;
		close(file);
	}
}

int
clock_gettime(clockid_t clock, struct timespec *t)
{
	int64_t		offset = faults->offset;
	int64_t		period = faults->period;
	int64_t		at = faults->at;
	int64_t		grain = faults->grain;
	int64_t		ns;

	if (real_clock_gettime(clock, t) != 0)
		return -1;
	if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
		return 0;
	ns = (int64_t) t->tv_sec * 1000000000 + t->tv_nsec;
	if (period > 0 && ns / period % 2 != 0)
		offset += faults->strobe;
	ns = at != 0 ? at : ns + offset;
	if (grain > 0)
		ns -= ns % grain;
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return 0;
}

int
gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec t;

	(void) zone;
	clock_gettime(CLOCK_REALTIME, &t);
	tv->tv_sec = t.tv_sec;
	tv->tv_usec = t.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *result)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (result != NULL)
		*result = t.tv_sec;
	return t.tv_sec;
}

int
fdatasync(int file)
{
	while (faults->stall)
		usleep(1000);
	return real_fdatasync(file);
}
