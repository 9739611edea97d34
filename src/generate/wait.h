/*
 * wait.h
 *		Waiting for an id, and the error when it takes too long.
 */
#ifndef SNO_WAIT_H
#define SNO_WAIT_H

#include "postgres.h"

#include "catalog/definition.h"
#include "shared/activity.h"

/* What keeps a generator from issuing an id now. */
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
	SNO_CLOCK_BEHIND,			/* what it issued */
	SNO_BACKFILLED,				/* its partition went to ids of given times */
	SNO_REGISTERED,				/* the registry grants its partition or nodes to anybody */
	SNO_BUSY,					/* another session has the turn to change it */
	SNO_LOANS_LOCKED			/* another session lends a partition in slices */
} SnoObstacle;

/* Who waits, and for what. */
typedef struct SnoWait
{
	const char *generator;		/* NULL for ids by the clock, or of given times */
	const SnoDefinitions *definitions;	/* where it is defined, while it is looked up; */
	const SnoDefinition *definition;	/* then what it is */
	int			partition;		/* of a named generator, or -1, as of one of a layout */
	int			unit_size;		/* ids that a named generator issues in a unit */
	int			unit_msec;		/* which takes so long */
	SnoCounters *counters;		/* count the wait, unless NULL */
	int64		since;			/* monotonic µs, 0 before the first wait */
	int64		begun;			/* the same, 0 before the first round */
	int			rounds;			/* without a wait */
	SnoObstacle obstacle;		/* what the error is about */
} SnoWait;

extern int	sno_max_wait;		/* ms */

pg_noreturn extern void sno_refuse_registered(const char *generator, const SnoDefinition *d);
pg_noreturn extern void sno_wait_give_up(const SnoWait *wait);
extern void sno_wait(SnoWait *wait, SnoObstacle obstacle, int msec);

#endif							/* SNO_WAIT_H */
