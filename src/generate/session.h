/*
 * session.h
 *		How a session leases partitions, and issues from them.
 */
#ifndef SNO_SESSION_H
#define SNO_SESSION_H

#include "postgres.h"

#include "utils/relcache.h"

#include "catalog/record.h"
#include "generate/owned.h"
#include "generate/wait.h"

extern Relation sno_session_open_table(void);
extern void sno_session_know_past(void);
extern uint64 sno_session_next(SnoPurpose purpose, uint64 unit);
extern bool sno_session_write_whole(Relation rel, SnoPartition *p, uint64 ceiling);
extern SnoObstacle sno_session_obstacle(SnoPurpose purpose, uint64 unit, const SnoSurvey *survey);
extern SnoObstacle sno_session_reserve(Relation rel, SnoPurpose purpose, uint64 unit);

#endif							/* SNO_SESSION_H */
