/*
 * named_wait.h
 *		Waiting for a named generator, and the errors of waits that took too long.
 */
#ifndef SNO_NAMED_WAIT_H
#define SNO_NAMED_WAIT_H

#include "generate/wait.h"

extern SnoWait sno_named_wait(const SnoDefinitions *in, const char *name, const SnoDefinition *d);

#endif							/* SNO_NAMED_WAIT_H */
