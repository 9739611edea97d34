/*
 * right.h
 *		The right to use a named generator that is restricted to the members of a role.
 */
#ifndef SNO_RIGHT_H
#define SNO_RIGHT_H

#include "catalog/definition.h"

extern void sno_right_check(SnoDefinitions *in, const char *name, const SnoDefinition *d);

#endif							/* SNO_RIGHT_H */
