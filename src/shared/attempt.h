/*
 * attempt.h
 *		Running a function whose errors don't abort the caller's transaction.
 */
#ifndef SNO_ATTEMPT_H
#define SNO_ATTEMPT_H

#include "postgres.h"

extern ErrorData *sno_attempt(void (*work) (void *), void *arg);

#endif							/* SNO_ATTEMPT_H */
