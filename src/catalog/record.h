/*
 * record.h
 *		What the rows of sno_lease say, and the row of one lease.
 */
#ifndef SNO_RECORD_H
#define SNO_RECORD_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "utils/rel.h"

#include "core/subject.h"
#include "shared/reserve.h"

/* What all rows say. */
typedef struct SnoSurvey
{
	SnoBounds	bounds;			/* of each partition, but not which are defined */
	uint64		holder;			/* who we are: that of our own rows, or a new one */
	int			others;			/* leases of other holders that will end */
	uint64		others_until;	/* the last unit of these */
} SnoSurvey;

/* What another server may have used that its rows don't tell. */
typedef struct SnoUnseen
{
	uint64		until;			/* up to this unit; or */
	uint64		more;			/* this many units beyond all ceilings that they tell */
} SnoUnseen;

/* Looks at what a row says: its lease, up to which unit that may reach, and if it is our own. */
typedef void (*SnoRecordVisitor) (const SnoSubject *subject, uint64 ceiling, bool own, void *arg);

/* Does the caller know better than a row of ours what was issued under it? */
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
