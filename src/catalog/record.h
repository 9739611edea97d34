/*
 * record.h
 *		The content of the rows of sno_lease, and the row of one lease.
 */
#ifndef SNO_RECORD_H
#define SNO_RECORD_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "utils/rel.h"

#include "core/subject.h"
#include "shared/reserve.h"

/* A summary of all rows */
typedef struct SnoSurvey
{
	SnoBounds	bounds;			/* of all partitions, without regard to definitions */
	uint64		holder;			/* of our own rows, or a new one */
	int			others;			/* number of leases of other holders that will end */
	uint64		others_until;	/* the last unit of these leases */
} SnoSurvey;

/* Units that another server may have used without a row here: up to a unit, or a number of units */
typedef struct SnoUnseen
{
	uint64		until;			/* up to this unit, if `more` is 0 */
	uint64		more;			/* this many units above all ceilings of its rows */
} SnoUnseen;

/* Visits a row: the subject and ceiling of its lease, and whether it is our own. */
typedef void (*SnoRecordVisitor) (const SnoSubject *subject, uint64 ceiling, bool own, void *arg);

/* Does the caller have the state of this subject, so that our own row of it is not needed? */
typedef bool (*SnoRecordKnown) (const void *arg, const SnoSubject *subject);

extern uint64 sno_record_visit(Relation rel, SnoRecordVisitor visitor, void *arg);
extern void sno_record_survey(Relation rel, uint64 now, SnoSurvey *survey);
extern void sno_record_recall(Relation rel, const SnoSubject *subject, SnoGenerator *g,
							  SnoUnseen unseen, bool made_here, SnoRecordKnown known,
							  const void *arg);
extern bool sno_record_write(Relation rel, const SnoSubject *subject, const SnoGenerator *g,
							 XLogRecPtr *lsn);
extern void sno_record_disown(Relation rel);
extern uint64 sno_record_promised(Relation rel);
extern void sno_record_promise(Relation rel, uint64 until);
extern void sno_record_forget_promise(Relation rel);

#endif							/* SNO_RECORD_H */
