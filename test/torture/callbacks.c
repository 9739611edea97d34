/*
 * callbacks.c
 *		A library of another extension, which takes slots for callbacks of the relation
 *		cache.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/inval.h"

PG_MODULE_MAGIC;

static void
ignore(Datum arg, Oid relid)
{
	(void) arg;
	(void) relid;
}

PG_FUNCTION_INFO_V1(take_callbacks);
Datum
take_callbacks(PG_FUNCTION_ARGS)
{
	for (int i = PG_GETARG_INT32(0); i > 0; i--)
		CacheRegisterRelcacheCallback(ignore, (Datum) 0);
	PG_RETURN_VOID();
}
