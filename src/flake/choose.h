/*
 * choose.h
 *		Choosing nodes for generators whose definitions name no nodes.
 */
#ifndef SNO_CHOOSE_H
#define SNO_CHOOSE_H

#include "named/chosen.h"

extern List *sno_choose_find_defined(SnoDefinitions *in, const SnoDefinition *d);
extern SnoObstacle sno_choose_nodes(Relation rel, SnoGroup *group, const char *name, const SnoDefinition *d,
									List *known, SnoNamedState **state);

#endif							/* SNO_CHOOSE_H */
