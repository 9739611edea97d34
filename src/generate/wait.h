/*
 * wait.h
 *		Waiting for an id.
 */
#ifndef SNO_WAIT_H
#define SNO_WAIT_H

#include "postgres.h"

#include "catalog/definition.h"
#include "shared/activity.h"

/* The obstacles that keep a generator from issuing an id now. */
typedef enum SnoObstacle
{
	SNO_NO_OBSTACLE,
	SNO_CLASH,					/* another holder leases the same; try again at once */
	SNO_LEASING,				/* another session leases a partition: try again soon */
	SNO_TABLE_LOCKED,			/* sno_lease */
	SNO_DEFINITIONS_LOCKED,		/* sno_generator or sno_flake_generator */
	SNO_LAYOUTS_LOCKED,			/* sno_flake_layout */
	SNO_NO_GRANT,				/* of the registry */
	SNO_NO_PARTITION,			/* none is free for the clock */
	SNO_NO_NODES,				/* none are free for a generator of a layout */
	SNO_TOO_FAST,				/* the session opened too many partitions */
	SNO_NO_BACKFILL,			/* no partition is left for given times */
	SNO_UNIT_EXHAUSTED,			/* a named generator has no sequence left */
	SNO_CLOCK_BEHIND,			/* its last unit, on both sides */
	SNO_BACKFILLED,				/* its partition went to ids of given times */
	SNO_REGISTERED,				/* the registry grants its partition or nodes to anybody */
	SNO_BUSY					/* another session has the turn to change it */
} SnoObstacle;

/* A wait for an id.  `refuse` raises the error for its obstacle. */
typedef struct SnoWait
{
	void		(*refuse) (const struct SnoWait *wait);
	const char *generator;		/* NULL for ids by the clock, or of given times */
	const SnoDefinitions *in;	/* the table of its definition, */
	const SnoDefinition *definition;	/* and the definition; NULL while it is looked up */
	int			least_msec;		/* the wait may take this long, even if sno.max_wait is less */
	SnoCounters *counters;		/* count the wait, unless NULL */
	int64		since;			/* monotonic µs of the first wait, or 0 */
	int64		begun;			/* monotonic µs of the first round without a wait, or 0 */
	int			rounds;			/* without a wait */
	SnoObstacle obstacle;		/* that the error reports */
} SnoWait;

extern int	sno_max_wait;		/* ms */

/* How long a wait may take, in ms. */
static inline int
sno_wait_msec(const SnoWait *wait)
{
	return Max(sno_max_wait, wait->least_msec);
}

pg_noreturn extern void sno_wait_give_up(const SnoWait *wait);
extern void sno_wait(SnoWait *wait, SnoObstacle obstacle, int msec);

#endif							/* SNO_WAIT_H */
