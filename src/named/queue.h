/*
 * queue.h
 *		The queue of sessions that wait for a named generator.
 */
#ifndef SNO_QUEUE_H
#define SNO_QUEUE_H

#include "postgres.h"

#include "named/state.h"

extern void sno_queue_join(SnoNamedState *s);
extern void sno_queue_leave(void);
extern int32 sno_queue_before_us(SnoNamedState *s, uint64 word, SnoFlakeTime now);

#endif							/* SNO_QUEUE_H */
