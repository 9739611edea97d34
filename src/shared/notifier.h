/*
 * notifier.h
 *		Asking for the background worker that notifies of overflows.
 */
#ifndef SNO_NOTIFIER_H
#define SNO_NOTIFIER_H

#include "postgres.h"

#include "datatype/timestamp.h"

/* How long a session waits for the notifier to come before it asks again. */
#define SNO_NOTIFIER_PATIENCE	(2 * USECS_PER_SEC)

extern bool sno_notify_overflow;

extern void sno_notifier_ask(void);

#endif							/* SNO_NOTIFIER_H */
