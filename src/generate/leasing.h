/*
 * leasing.h
 *		Leasing partitions, and opening them to all sessions.
 */
#ifndef SNO_LEASING_H
#define SNO_LEASING_H

#include "postgres.h"

#include "utils/relcache.h"

#include "catalog/record.h"
#include "generate/wait.h"
#include "shared/partition.h"

extern void sno_leasing_init(void);
extern bool sno_leasing_write(Relation rel, SnoPartition *p, uint64 ceiling);
extern void sno_leasing_renew_early(SnoPartition *p, uint64 now);
extern SnoObstacle sno_leasing_obstacle(SnoPurpose purpose, uint64 unit, const SnoSurvey *survey);
extern SnoObstacle sno_leasing_reserve(Relation rel, SnoPurpose purpose, uint64 unit, SnoPartition **p);
extern SnoPartition *sno_leasing_next_open(SnoPurpose purpose, const SnoPartition *p);
extern bool sno_leasing_begin(uint64 *begun);
extern void sno_leasing_end(uint64 begun);
extern SnoObstacle sno_leasing_lease_one(SnoPurpose purpose, uint64 unit);

#endif							/* SNO_LEASING_H */
