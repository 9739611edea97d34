/*
 * look.h
 *		Functions that look at a named generator and don't issue an id.
 */
#ifndef SNO_LOOK_H
#define SNO_LOOK_H

#include "named/state.h"

extern SnoGenerator sno_look_read(const SnoDefinitions *in, const char *name, const SnoDefinition *d);
extern uint64 sno_look_number(const SnoDefinitions *in, const char *name, const SnoDefinition *d);
extern bool sno_look_try(SnoDefinitions *in, const char *name, SnoDefinition *d);

#endif							/* SNO_LOOK_H */
