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
	SNO_CLASH,					/* an attempt to lease failed; try again at once */
	SNO_LEASING,				/* another session is leasing a partition; try again soon */
	SNO_TABLE_LOCKED,			/* table sno_lease is locked */
	SNO_DEFINITIONS_LOCKED,		/* table sno_generator or sno_flake_generator is locked */
	SNO_LAYOUTS_LOCKED,			/* table sno_flake_layout is locked */
	SNO_NO_GRANT,				/* the registry has granted nothing that can be used now */
	SNO_NO_PARTITION,			/* no partition is free for ids by the clock */
	SNO_NO_NODES,				/* no nodes are free for a generator of a layout */
	SNO_TOO_FAST,				/* the session opened too many partitions */
	SNO_NO_BACKFILL,			/* no partition is left for ids of given times */
	SNO_UNIT_EXHAUSTED,			/* a named generator has no sequence left in the unit */
	SNO_CLOCK_BEHIND,			/* the clock is behind a named generator, on both of its sides */
	SNO_BACKFILLED,				/* a named generator's partition was used for ids of given times */
	SNO_REGISTERED,				/* the registry may grant a named generator's partition or nodes to anybody */
	SNO_BUSY					/* another session has the turn of a named generator's group */
} SnoObstacle;

/* A wait for an id, or for a lock that issuing an id needs */
typedef struct SnoWait
{
	void		(*refuse) (const struct SnoWait *wait);	/* raises the error that reports `obstacle` */
	const char *generator;		/* name of the named generator, or NULL */
	const SnoDefinitions *in;	/* the table with the generator's definition */
	const SnoDefinition *definition;	/* the definition; NULL while it is looked up */
	int			least_msec;		/* the wait may take this long, even if sno.max_wait is less */
	SnoCounters *counters;		/* statistics in which the wait is counted, or NULL */
	int64		since;			/* when the first wait began, in monotonic µs, or 0 */
	int64		begun;			/* when the first round without a wait ended, in monotonic µs, or 0 */
	int			rounds;			/* number of rounds without a wait */
	SnoObstacle obstacle;		/* the obstacle that the error reports */
} SnoWait;

extern int	sno_max_wait;		/* ms */

/* Return how long a wait may take, in ms. */
static inline int
sno_wait_msec(const SnoWait *wait)
{
	return Max(sno_max_wait, wait->least_msec);
}

pg_noreturn extern void sno_wait_give_up(const SnoWait *wait);
extern void sno_wait(SnoWait *wait, SnoObstacle obstacle, int msec);

#endif							/* SNO_WAIT_H */
