/*
 * worker.h
 *		Starting the extension's background workers.
 */
#ifndef SNO_WORKER_H
#define SNO_WORKER_H

#include "postgres.h"

#include "shared/activity.h"

extern bool sno_notify_overflow;

extern void sno_worker_reserve(SnoWorkerKind kind);
extern void sno_worker_ask(SnoWorkerKind kind);
pg_noreturn extern void sno_worker_stay(SnoWorkerKind kind, void (*work) (void));
extern bool sno_worker_begin(SnoWorkerKind kind);
extern void sno_worker_end(SnoWorkerKind kind, int64 pause);

#endif							/* SNO_WORKER_H */
