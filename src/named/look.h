/*
 * look.h
 *		Looking at a named generator without issuing: its ids, its next number, its obstacle.
 */
#ifndef SNO_LOOK_H
#define SNO_LOOK_H

#include "named/state.h"

extern SnoGenerator sno_look_read(const SnoDefinitions *in, const char *name, const SnoDefinition *d);
extern uint64 sno_look_number(const SnoDefinitions *in, const char *name, const SnoDefinition *d);
extern bool sno_look_try(SnoDefinitions *in, const char *name, SnoDefinition *d);

#endif							/* SNO_LOOK_H */
