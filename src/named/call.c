/*
 * call.c
 *		Caches the named generator that an expression uses.
 */
#include "postgres.h"

#include "nodes/primnodes.h"

#include "named/call.h"

/*
 * Look up the generator that an argument names, and cache it in fn_extra, in a struct of `size`
 * bytes that begins with a SnoCall.
 */
SnoCall *
sno_call_remember(FunctionCallInfo fcinfo, int argument, Size size, SnoDefinitions *in)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;
	Node	   *expression = flinfo->fn_expr;
	SnoCall    *call = flinfo->fn_extra;

	if (call == NULL)
	{
		call = MemoryContextAllocZero(flinfo->fn_mcxt, size);
		call->constant = expression != NULL && IsA(expression, FuncExpr) &&
			IsA(list_nth(((FuncExpr *) expression)->args, argument), Const);
		flinfo->fn_extra = call;
	}
	call->use = NULL;			/* stays NULL if the look-up raises an error */
	call->use = sno_use_of(in, PG_GETARG_TEXT_PP(argument));
	return call;
}
