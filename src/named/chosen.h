/*
 * chosen.h
 *		How long a generator may issue with the nodes that were chosen for it.
 */
#ifndef SNO_CHOSEN_H
#define SNO_CHOSEN_H

#include "postgres.h"

#include "utils/rel.h"

#include "generate/wait.h"
#include "named/group.h"
#include "shared/grant.h"

/* The functions that choose nodes for the generators of a table of definitions: see flake/choose.c. */
typedef struct SnoChooser
{
	List	   *(*find_defined) (SnoDefinitions *in, const SnoDefinition *d);
	SnoObstacle (*choose) (Relation rel, SnoGroup *group, const char *name, const SnoDefinition *d,
						   List *known, SnoNamedState **state);
	/* Raises the error that reports `wait->obstacle`, if the obstacle concerns nodes.  Otherwise returns. */
	void		(*refuse) (const SnoWait *wait);
} SnoChooser;

extern SnoShard sno_chosen_share(const SnoLayout *layout);
extern bool sno_chosen_are_in_force(const SnoNamedState *s);
extern bool sno_chosen_may_stay(const SnoNamedState *s, const SnoDefinition *d);
extern SnoObstacle sno_chosen_find_limit(SnoNamedState *s, uint64 now);

/*
 * Return the address of a number that changes when the chosen nodes of a state are revoked.  With
 * a registry, the number is the holder of the grant.  Otherwise it counts the calls of sno_reseed().
 */
static inline pg_atomic_uint64 *
sno_chosen_authority(const SnoNamedState *s)
{
	return DsaPointerIsValid(s->granted) ?
		&((SnoGranted *) dsa_get_address(sno_area, s->granted))->holder : &sno_space->revocations;
}

#endif							/* SNO_CHOSEN_H */
