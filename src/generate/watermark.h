/*
 * watermark.h
 *		The part of watermarks that is common to all kinds of ids.
 */
#ifndef SNO_WATERMARK_H
#define SNO_WATERMARK_H

#include "postgres.h"

#include "commands/trigger.h"
#include "fmgr.h"

#include "core/subject.h"

/* A trigger function that guards a table which is read as a feed */
typedef struct SnoGuard
{
	const char *function;		/* the name of the trigger function */
	const char *call;			/* its call in CREATE TRIGGER, for a hint */
	const char *arguments;		/* the arguments that it needs, for an error message */
	int			count;			/* the number of these arguments */
	const char *generate;		/* the function that generates an id, for a hint */
	const char *watermark;		/* the function that returns a watermark, for a message */

	/* Raises an error unless the column has the type of the ids.  Returns `known` for the functions below. */
	const void *(*look) (const TriggerData *trigger, int column, MemoryContext context);
	bool		(*equal) (Datum one, Datum other, const void *known);

	/* May readers have read past the id before this transaction ends? */
	bool		(*passed) (Datum id, const void *known);
} SnoGuard;

extern uint64 sno_watermark_unit(const char *function);
extern uint64 sno_watermark_number(const char *function, const SnoSubject *counter,
								   uint64 (*next) (const void *arg), const void *arg);
extern uint64 sno_guard_unit(void);
extern Datum sno_guard_row(FunctionCallInfo fcinfo, const SnoGuard *guard);

#endif							/* SNO_WATERMARK_H */
