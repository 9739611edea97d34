/*
 * session.h
 *		How a session issues, in partitions that all sessions have in common.
 */
#ifndef SNO_SESSION_H
#define SNO_SESSION_H

#include "postgres.h"

#include "utils/relcache.h"

#include "catalog/record.h"
#include "generate/wait.h"
#include "shared/partition.h"

/*
 * Where this session issued by the clock last, and in which unit.  In that unit it goes on there
 * without asking whether it may.  NULL if it has to.
 */
typedef struct SnoSessionPlace
{
	SnoPartition *p;
	uint64		unit;
} SnoSessionPlace;

extern SnoSessionPlace sno_session_place;

extern void sno_session_init(void);
extern void sno_session_begin(void);
extern void sno_session_begin_own(void);
extern Relation sno_session_open_table(void);
extern void sno_session_know_past(void);
extern uint64 sno_session_next(SnoPurpose purpose, uint64 unit, SnoPartition **p);
extern uint64 sno_session_begin_leasing(void);
extern void sno_session_end_leasing(uint64 since);
extern bool sno_session_write_whole(Relation rel, SnoPartition *p, uint64 ceiling);
extern SnoObstacle sno_session_obstacle(SnoPurpose purpose, uint64 unit, const SnoSurvey *survey);
extern SnoObstacle sno_session_reserve(Relation rel, SnoPurpose purpose, uint64 unit, SnoPartition **p);

#endif							/* SNO_SESSION_H */
