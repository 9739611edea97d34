/*
 * range.h
 *		Ids in a range of time.
 */
#ifndef SNO_RANGE_H
#define SNO_RANGE_H

#include "fmgr.h"
#include "utils/rangetypes.h"

#include "id.h"

extern bool sno_range_has(FunctionCallInfo fcinfo, RangeType *range, const Sno *id);

#endif							/* SNO_RANGE_H */
