/*
 * group.h
 *		The named generators of a partition or a layout, found and locked together.
 */
#ifndef SNO_GROUP_H
#define SNO_GROUP_H

#include "named/state.h"
#include "shared/space.h"
#include "shared/turn.h"

/*
 * Of the closed states of a group that no session uses, this many are kept: as many as
 * Snowflake has nodes.  They take a tenth of the memory that a database may use.
 */
#define SNO_STATES_KEPT	1024

typedef struct SnoGroup
{
	dsa_pointer next;			/* in a list of the space; comes first */
	dsa_pointer place;			/* its own */
	dsa_pointer states;
	SnoSubject	subject;		/* of its states, but for the shard */
	SnoTurn		turn;			/* to change the fields below, or to write a row */
	SnoGenerator forgotten;		/* the ids of states that aren't kept any more, */
	SnoShard	forgotten_shard;	/* somewhere in this */
} SnoGroup;

static inline SnoGroup *
sno_group_at(dsa_pointer place)
{
	return DsaPointerIsValid(place) ? dsa_get_address(sno_area, place) : NULL;
}

extern SnoGroup *sno_group_find(const SnoDefinition *d);
extern SnoGroup *sno_group_have(const SnoDefinition *d);
extern bool sno_group_lock(SnoGroup *group);
extern SnoNamedState *sno_group_find_state(SnoGroup *group, SnoShard shard);
extern SnoNamedState *sno_group_have_state(SnoGroup *group, const SnoDefinition *d);

#endif							/* SNO_GROUP_H */
