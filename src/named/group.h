/*
 * group.h
 *		Groups: the named generators of one partition or one layout.
 */
#ifndef SNO_GROUP_H
#define SNO_GROUP_H

#include "named/state.h"
#include "shared/space.h"
#include "shared/turn.h"

/*
 * A group keeps this many closed states that no session uses.  This is the number of nodes of
 * layout "snowflake".  The states take a tenth of the memory that a database may use.
 */
#define SNO_STATES_KEPT	1024

typedef struct SnoGroup
{
	dsa_pointer next;			/* the next group in the list; must be the first field */
	dsa_pointer place;			/* the address of this group */
	dsa_pointer states;			/* the first state of the list */
	SnoSubject	subject;		/* the subject of the group's states, which differ in their shards */
	SnoTurn		turn;			/* the right to change states and the fields below, or to write rows */
	SnoGenerator forgotten;		/* the issued ids of states that are no longer kept */
	SnoShard	forgotten_shard;	/* a shard that contains the shards of the forgotten states */
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
