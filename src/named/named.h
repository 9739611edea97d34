/*
 * named.h
 *		Named generators, waited for: their definitions, and what they issued.
 */
#ifndef SNO_NAMED_H
#define SNO_NAMED_H

#include "core/generator.h"
#include "lease/definition.h"

extern bool sno_named_find(const char *name, SnoDefinition *d);
extern void sno_named_read(const char *name, const SnoDefinition *d, SnoGenerator *g);
extern void sno_named_restore(const char *name, const SnoDefinition *d,
							  const SnoGenerator *issued);

#endif							/* SNO_NAMED_H */
