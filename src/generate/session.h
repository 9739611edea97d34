/*
 * session.h
 *		Issuing ids in partitions that all sessions share.
 */
#ifndef SNO_SESSION_H
#define SNO_SESSION_H

#include "postgres.h"

#include "utils/relcache.h"

#include "shared/partition.h"

/*
 * The partition where this session last issued an id by the clock, and the unit of that id.  Until
 * the unit is over, the session goes on in the partition without checking its lease again.  If p is
 * NULL, the session must look for a partition.
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
