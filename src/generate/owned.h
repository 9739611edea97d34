/*
 * owned.h
 *		The partitions that a session has: at most one for each purpose.
 */
#ifndef SNO_OWNED_H
#define SNO_OWNED_H

#include "postgres.h"

#include "shared/partition.h"

/* By purpose; NULL if it has none. */
extern SnoPartition *sno_owned[SNO_PURPOSES];

/* Has this session not left p, a partition that it had for ids by the clock? */
static inline bool
sno_owned_has(const SnoPartition *p)
{
	return p == sno_owned[SNO_FOR_CLOCK];
}

extern void sno_session_begin(void);
extern void sno_session_begin_own(void);
extern uint32 sno_owned_sequence(void);
extern void sno_owned_enter(SnoPurpose purpose, SnoPartition *p, uint32 left);
extern void sno_owned_leave(SnoPurpose purpose, SnoStay stay);
extern void sno_owned_leave_unusable(void);

#endif							/* SNO_OWNED_H */
