/*
 * session.h
 *		How a session issues, in partitions that all sessions have in common.
 */
#ifndef SNO_SESSION_H
#define SNO_SESSION_H

#include "postgres.h"

#include "utils/relcache.h"

#include "shared/partition.h"

/*
 * Where this session issued by the clock last, and in which unit.  In that unit it goes on there
 * without asking whether it may.  NULL if it has to ask.
 */
typedef struct SnoSessionPlace
{
	SnoPartition *p;
	uint64		unit;
} SnoSessionPlace;

extern SnoSessionPlace sno_session_place;

extern void sno_session_begin(void);
extern void sno_session_begin_own(void);
extern Relation sno_session_open_table(void);
extern void sno_session_know_past(void);
extern uint64 sno_session_next(SnoPurpose purpose, uint64 unit, SnoPartition **p);

#endif							/* SNO_SESSION_H */
