/*
 * open.h
 *		How the state of a named generator is opened, renewed and closed.
 */
#ifndef SNO_OPEN_H
#define SNO_OPEN_H

#include "postgres.h"

#include "utils/rel.h"

#include "generate/wait.h"
#include "named/state.h"

extern SnoObstacle sno_named_join(SnoDefinitions *in, const char *name, const SnoDefinition *d,
								  SnoNamedState **state);
extern SnoObstacle sno_named_reopen_or_renew(SnoNamedState *s, const char *name);
extern void sno_named_renew_early(SnoNamedState *s, uint64 now);
extern void sno_named_close_unused(Relation rel, SnoNamedState *s);
extern SnoObstacle sno_named_obstacle(SnoDefinitions *in, const char *name, const SnoDefinition *d);
extern SnoObstacle sno_named_look(const SnoDefinition *d, uint64 *word);
extern SnoObstacle sno_named_read(const SnoDefinition *d, SnoGenerator *g);
extern SnoObstacle sno_named_restore(const SnoDefinition *d, const SnoGenerator *issued);

#endif							/* SNO_OPEN_H */
