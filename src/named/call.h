/*
 * call.h
 *		Caches the named generator that an expression uses.
 */
#ifndef SNO_CALL_H
#define SNO_CALL_H

#include "postgres.h"

#include "fmgr.h"

#include "named/next.h"

typedef struct SnoCall
{
	SnoUse	   *use;
	bool		constant;		/* is the argument that names the generator a constant? */
} SnoCall;

extern SnoCall *sno_call_remember(FunctionCallInfo fcinfo, int argument, Size size, SnoDefinitions *in);

/*
 * Does the cache have the generator that an argument names?  Returns false if a definition may have
 * changed since the generator was looked up.
 */
static inline bool
sno_call_knows(const SnoCall *call, FunctionCallInfo fcinfo, int argument)
{
	const SnoUse *use;
	const text *name;

	if (call == NULL || call->use == NULL)
		return false;
	use = call->use;
	if (use->version != use->in->table.version)
		return false;
	if (call->constant)
		return true;
	name = PG_GETARG_TEXT_PP(argument);
	return use->length == VARSIZE_ANY_EXHDR(name) && memcmp(use->name, VARDATA_ANY(name), use->length) == 0;
}

#endif							/* SNO_CALL_H */
