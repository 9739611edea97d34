/*
 * named.h
 *		Named generators: their definitions, waited for, and what they issued, read
 *		and set.
 */
#ifndef SNO_NAMED_H
#define SNO_NAMED_H

#include "core/generator.h"
#include "lease/definition.h"

extern bool sno_named_find(Oid function, const char *name, SnoDefinition *d);
extern void sno_named_state(Oid function, const char *name,
							const SnoDefinition *d, SnoGenerator *g);
extern void sno_named_restore(Oid function, const char *name,
							  const SnoDefinition *d, const SnoGenerator *issued);

#endif							/* SNO_NAMED_H */
