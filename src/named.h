/*
 * named.h
 *		Named generators: the state that all sessions share.
 */
#ifndef SNO_NAMED_H
#define SNO_NAMED_H

#include "activity.h"
#include "definition.h"
#include "generator.h"

/* What others may know of a pool that is open. */
typedef struct SnoPoolStatus
{
	char		name[NAMEDATALEN];
	Oid			database;
	int			partition;
	SnoGenerator generator;		/* a copy */
	SnoCounters counters;		/* with the ids issued in base */
} SnoPoolStatus;

extern bool sno_named_look(dsa_pointer *place, SnoPoolStatus *status);
extern void sno_named_reset(void);
extern void sno_named_state(Oid function, const char *name,
							const SnoDefinition *d, SnoGenerator *g);
extern void sno_named_restore(Oid function, const char *name,
							  const SnoDefinition *d, const SnoGenerator *issued);

#endif							/* SNO_NAMED_H */
