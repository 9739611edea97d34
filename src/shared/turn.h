/*
 * turn.h
 *		Turns: the right of one session at a time to write data that sessions have in common.
 */
#ifndef SNO_TURN_H
#define SNO_TURN_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/condition_variable.h"

typedef struct SnoTurn
{
	pg_atomic_uint32 owner;		/* pid of the session that has the turn, or 0 */
	pg_atomic_uint32 sleepers;	/* number of sessions that sleep until the turn is released */
	ConditionVariable waiters;
} SnoTurn;

extern void sno_turn_init(void);
extern void sno_turn_create(SnoTurn *turn);
extern bool sno_turn_try(SnoTurn *turn);
extern void sno_turn_sleep(long msec, uint32 event);
extern void sno_turn_take(SnoTurn *turn, uint32 event);
extern void sno_turn_release(SnoTurn *turn);
extern void sno_turn_end(void);

#endif							/* SNO_TURN_H */
