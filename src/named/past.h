/*
 * past.h
 *		The ids that may have been issued in the state of a named generator.
 */
#ifndef SNO_PAST_H
#define SNO_PAST_H

#include "utils/rel.h"

#include "named/group.h"
#include "shared/partition.h"

extern SnoGenerator sno_past_known(Relation rel, SnoGroup *group, const SnoNamedState *s,
								   bool knows_sessions, uint64 now);
extern SnoGenerator sno_past_all(Relation rel, SnoGroup *group, const SnoNamedState *s,
								 SnoPartition was, uint64 now);

#endif							/* SNO_PAST_H */
