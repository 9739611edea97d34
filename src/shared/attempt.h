/*
 * attempt.h
 *		Work whose failure is not the caller's.
 */
#ifndef SNO_ATTEMPT_H
#define SNO_ATTEMPT_H

#include "postgres.h"

extern ErrorData *sno_attempt(void (*work) (void *), void *arg);

#endif							/* SNO_ATTEMPT_H */
