/*
 * wait.h
 *		Waiting for an id.
 */
#ifndef SNO_WAIT_H
#define SNO_WAIT_H

#include "shared/activity.h"

extern int	sno_max_wait;		/* ms */

extern bool sno_wait(int64 *since, SnoCounters *counters, const char *generator,
					 int partition, int msec);

#endif							/* SNO_WAIT_H */
