/*
 * choose.h
 *		Choosing nodes for a generator of a layout that was created without any.
 */
#ifndef SNO_CHOOSE_H
#define SNO_CHOOSE_H

#include "named/chosen.h"

extern List *sno_choose_find_defined(SnoDefinitions *in, const SnoDefinition *d);
extern SnoObstacle sno_choose_nodes(Relation rel, SnoGroup *group, const char *name, const SnoDefinition *d,
									List *known, SnoNamedState **state);

#endif							/* SNO_CHOOSE_H */
