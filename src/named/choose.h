/*
 * choose.h
 *		Which nodes of its layout a generator has that was created without any.
 */
#ifndef SNO_CHOOSE_H
#define SNO_CHOOSE_H

#include "postgres.h"

#include "utils/rel.h"

#include "generate/wait.h"
#include "named/group.h"
#include "shared/grant.h"

extern SnoShard sno_nodes_share(const SnoLayout *layout);
extern bool sno_nodes_are_in_force(const SnoNamedState *s);
extern bool sno_nodes_may_stay(const SnoNamedState *s, const SnoDefinition *d);
extern SnoObstacle sno_nodes_find_limits(SnoNamedState *s, uint64 now);
extern List *sno_nodes_defined(SnoDefinitions *in, const SnoDefinition *d);
extern SnoObstacle sno_nodes_choose(Relation rel, SnoGroup *group, const char *name,
									const SnoDefinition *d, List *known, SnoNamedState **state);

/* What counts how often the nodes of a generator were revoked, or tells for whom they are. */
static inline pg_atomic_uint64 *
sno_nodes_authority(const SnoNamedState *s)
{
	return DsaPointerIsValid(s->granted) ?
		&((SnoGranted *) dsa_get_address(sno_area, s->granted))->holder : &sno_space->revocations;
}

#endif							/* SNO_CHOOSE_H */
