/*
 * lease.h
 *		Leases of partitions: rows of sno_snapshot, read and written in place.
 */
#ifndef SNO_LEASE_H
#define SNO_LEASE_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "utils/rel.h"

#include "shared/partition.h"

/* What a row says: of a partition, or of a named generator's part of it. */
typedef struct SnoLease
{
	int			partition;
	bool		named;
	SnoGenerator generator;		/* its ceiling is that of the row */
} SnoLease;

/* Does the caller know better than a row of ours what was issued under it? */
typedef bool (*SnoLeaseKnown) (const void *arg, bool named, int sequence_min,
							   int sequence_max);

extern int	sno_lease_duration; /* s */

/* In units; a lease lasts for two halves, and is renewed after one. */
static inline uint64
sno_lease_half(void)
{
	return (uint64) sno_lease_duration * SNO_UNITS_PER_SEC / 2;
}

extern void sno_lease_disown(Oid function);
extern void sno_lease_survey(Relation rel, SnoBounds *bounds, uint64 *holder,
							 MemoryContext context);
extern bool sno_lease_is_ours(int64 system_identifier, int32 timeline);
extern void sno_lease_recall(Relation rel, SnoLease *lease, uint64 now, bool made_here,
							 SnoLeaseKnown known, const void *arg);
extern int	sno_lease_count_others(Relation rel, uint64 now, uint64 *until);
extern bool sno_lease_write(Relation rel, const SnoLease *lease, XLogRecPtr *lsn);

#endif							/* SNO_LEASE_H */
