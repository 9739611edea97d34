/*
 * record.h
 *		Reads leases from the rows of sno_lease, and writes the row of a lease.
 */
#ifndef SNO_RECORD_H
#define SNO_RECORD_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "utils/rel.h"

#include "core/subject.h"
#include "shared/reserve.h"

/* A summary of the rows of all leases */
typedef struct SnoSurvey
{
	SnoBounds	bounds;			/* of all partitions, from the rows; the caller sets `bounds.defined` */
	uint64		holder;			/* the holder in our own rows, or a new one if there are none */
	int			others;			/* number of active leases of other holders */
	uint64		others_until;	/* the highest ceiling of these leases */
} SnoSurvey;

/* How far another server may have issued ids without a row in this table */
typedef struct SnoUnseen
{
	uint64		until;			/* if `more` is 0: up to this unit */
	uint64		more;			/* otherwise: up to this many units after the ceilings of that server's rows */
} SnoUnseen;

/*
 * A function that is called for each row, with the subject and the ceiling of the row's lease.
 * `own` is true if the row is our own.
 */
typedef void (*SnoRecordVisitor) (const SnoSubject *subject, uint64 ceiling, bool own, void *arg);

/*
 * A function that returns true if the state of this subject is in shared memory, so that our own
 * row isn't needed
 */
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
