/*
 * named_wait.h
 *		Waits for named generators, and the errors that end the waits.
 */
#ifndef SNO_NAMED_WAIT_H
#define SNO_NAMED_WAIT_H

#include "generate/wait.h"

extern SnoWait sno_named_wait(const SnoDefinitions *in, const char *name, const SnoDefinition *d);

#endif							/* SNO_NAMED_WAIT_H */
