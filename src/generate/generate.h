/*
 * generate.h
 *		What the generators of a session share.
 */
#ifndef SNO_GENERATE_H
#define SNO_GENERATE_H

#include "utils/rel.h"

#include "shared/partition.h"

/* The partition for given times that this session owns, or NULL. */
extern SnoPartition *sno_given;

extern void sno_generate_begin(void);
extern Relation sno_generate_open_table(Oid function);
extern SnoPartition *sno_generate_reserve(Oid function, Relation rel,
										  SnoPartition *old, uint64 now, bool given);
extern void sno_generate_wait(int64 *since);
extern SnoPartition *sno_generate_next(Oid function, uint64 *issued);
extern void sno_generate_quietly(void (*renew) (void *), void *arg, int partition);
extern const SnoPartition *sno_generate_mine(void);
extern void sno_generate_release_unusable(void);

/* For all functions that make many. */
extern uint64 sno_many_count(int64 count);

#endif							/* SNO_GENERATE_H */
