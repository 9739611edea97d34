/*
 * open.h
 *		Opening and closing the states of named generators, and renewing their leases.
 */
#ifndef SNO_OPEN_H
#define SNO_OPEN_H

#include "postgres.h"

#include "utils/rel.h"

#include "generate/wait.h"
#include "named/group.h"

extern SnoObstacle sno_open_check_clock(const SnoSubject *subject, const SnoGenerator *g, uint64 now);
extern SnoObstacle sno_open_check_registry(const SnoNamedState *s, bool ask);
extern SnoObstacle sno_open_begin_change(SnoGroup *group, Relation *rel);
extern void sno_open_end_change(SnoGroup *group, Relation rel);
extern SnoObstacle sno_open_or_renew(SnoNamedState *s, const char *name);
extern void sno_open_renew_early(SnoNamedState *s, uint64 now);
extern SnoObstacle sno_open_join(SnoDefinitions *in, const char *name, const SnoDefinition *d,
								 SnoNamedState **state);
extern void sno_open_close_unused(Relation rel, SnoNamedState *s);
extern void sno_open_restore(const SnoDefinitions *in, const char *name, const SnoDefinition *d,
							 const SnoGenerator *issued);

#endif							/* SNO_OPEN_H */
