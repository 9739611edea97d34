/*
 * check.h
 *		The items of sno_check().
 */
#ifndef SNO_CHECK_H
#define SNO_CHECK_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "catalog/record.h"
#include "shared/activity.h"

/* The state of the database and the server, on which the items report */
typedef struct SnoCheck
{
	ReturnSetInfo *result;
	uint64		now;			/* the present unit; the first or the last unit if `in_epoch` is false */
	bool		in_epoch;		/* does a unit contain the clock's time? */
	bool		standby;
	ErrorData  *error;			/* raised when the table of leases was read, or NULL */
	bool		locked;			/* is the table of leases locked? */
	MemoryContext context;		/* memory context of the survey */
	SnoSurvey	survey;			/* of the table of leases; empty if it couldn't be read */
	uint64		promised;		/* the unit in the feed's row */
	SnoJournal	journal;		/* a copy of the journal in shared memory */
} SnoCheck;

extern void sno_check_report(const SnoCheck *c, const char *item, bool ok, const char *detail, const char *hint);
extern void sno_check_report_trial(const SnoCheck *c, const char *item, const char *good, const char *bad,
								   const ErrorData *error);
extern void sno_trials_ids(SnoCheck *c);
extern void sno_trials_watermarks(SnoCheck *c);
extern void sno_trials_generators(const SnoCheck *c);
extern void sno_trials_partitions(const SnoCheck *c);

#endif							/* SNO_CHECK_H */
