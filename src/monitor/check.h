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

/* The state that the items are about */
typedef struct SnoCheck
{
	ReturnSetInfo *result;
	uint64		now;			/* unit, or the nearest end of the epoch */
	bool		in_epoch;
	bool		standby;
	ErrorData  *error;			/* of the attempt to read the table of leases, or NULL */
	bool		locked;			/* is that table locked? */
	MemoryContext context;		/* of the survey */
	SnoSurvey	survey;			/* of its rows, unless there is an error or a lock */
	uint64		promised;		/* the unit of the feed's row */
	SnoJournal	journal;		/* a copy */
} SnoCheck;

extern void sno_check_report(const SnoCheck *c, const char *item, bool ok, const char *detail, const char *hint);
extern void sno_check_report_trial(const SnoCheck *c, const char *item, const char *good, const char *bad,
								   const ErrorData *error);
extern void sno_trials_ids(SnoCheck *c);
extern void sno_trials_watermarks(SnoCheck *c);
extern void sno_trials_generators(const SnoCheck *c);
extern void sno_trials_partitions(const SnoCheck *c);

#endif							/* SNO_CHECK_H */
