/*
 * readings.c
 *		A library to be preloaded into a server.  The variable READINGS names a file
 *		of offsets in seconds.  While there is one, the n-th reading of the wall clock by a
 *		process has the n-th of them, and all further readings have the last one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int
clock_gettime(clockid_t clock, struct timespec *t)
{
	static int	(*real) (clockid_t, struct timespec *);
	static int	readings;
	const char *path = getenv("READINGS");
	FILE	   *file;
	long		offset = 0;

	if (real == NULL)
		real = dlsym(RTLD_NEXT, "clock_gettime");
	if (real(clock, t) != 0)
		return -1;
	if (clock != CLOCK_REALTIME || path == NULL || (file = fopen(path, "r")) == NULL)
	{
		if (clock == CLOCK_REALTIME)
			readings = 0;
		return 0;
	}
	readings++;
	for (int n = 0; n < readings && fscanf(file, "%ld", &offset) == 1; n++)
		;
	fclose(file);
	t->tv_sec += offset;
	return 0;
}
