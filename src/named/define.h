/*
 * define.h
 *		How definitions of named generators are checked and changed by SQL functions.
 */
#ifndef SNO_DEFINE_H
#define SNO_DEFINE_H

#include "postgres.h"

#include "fmgr.h"

#include "catalog/definition.h"

/* A generator can issue at least this many ids in a unit, as in the Go package. */
#define SNO_UNIT_SIZE_MIN		4

extern void sno_define_check(SnoDefinition *d);
extern Datum sno_define_restrict(FunctionCallInfo fcinfo, SnoDefinitions *in);

#endif							/* SNO_DEFINE_H */
