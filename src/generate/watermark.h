/*
 * watermark.h
 *		The common part of the watermarks of all kinds of ids.
 */
#ifndef SNO_WATERMARK_H
#define SNO_WATERMARK_H

#include "postgres.h"

#include "commands/trigger.h"
#include "fmgr.h"

#include "core/subject.h"

/* A trigger of a table that is read as a feed. */
typedef struct SnoGuard
{
	const char *function;		/* its name, */
	const char *call;			/* and how it is called, in SQL */
	const char *arguments;		/* that it takes */
	int			count;			/* of its arguments */
	const char *generate;		/* the functions that make an id, */
	const char *watermark;		/* and return a watermark */

	/* Raise an error unless the column has ids.  Returns the argument `known` of the others. */
	const void *(*look) (const TriggerData *trigger, int column, MemoryContext context);
	bool		(*equal) (Datum one, Datum other, const void *known);

	/* May readers have passed the id, when this transaction ends? */
	bool		(*passed) (Datum id, const void *known);
} SnoGuard;

extern uint64 sno_watermark_unit(const char *function);
extern uint64 sno_watermark_number(const char *function, const SnoSubject *counter,
								   uint64 (*next) (const void *arg), const void *arg);
extern uint64 sno_guard_unit(void);
extern Datum sno_guard_row(FunctionCallInfo fcinfo, const SnoGuard *guard);

#endif							/* SNO_WATERMARK_H */
