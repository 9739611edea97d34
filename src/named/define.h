/*
 * define.h
 *		Functions that check and change definitions of named generators.
 */
#ifndef SNO_DEFINE_H
#define SNO_DEFINE_H

#include "postgres.h"

#include "fmgr.h"

#include "catalog/definition.h"

/* The bounds of a generator must leave at least this many ids per unit, as in the Go package. */
#define SNO_UNIT_SIZE_MIN		4

extern void sno_define_check(SnoDefinition *d);
extern Datum sno_define_restrict(FunctionCallInfo fcinfo, SnoDefinitions *in);

#endif							/* SNO_DEFINE_H */
