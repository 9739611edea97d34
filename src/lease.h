/*
 * lease.h
 *		Leases of partitions: the table sno_snapshot, read and written in place.
 */
#ifndef SNO_LEASE_H
#define SNO_LEASE_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "partition.h"
#include "utils/rel.h"

#define SNO_LEASE_TABLE	"sno_snapshot"

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

extern Oid	sno_lease_find_table(Oid function, const char *name);
extern Oid	sno_lease_table(Oid function, RelFileNumber *file);
extern Relation sno_lease_open(Oid function);
extern Relation sno_lease_open_table(Oid relid);
extern void sno_lease_close(Relation rel);
extern void sno_lease_disown(Oid function);
pg_noreturn extern void sno_lease_give_up(void);
extern void sno_lease_survey(Relation rel, SnoBounds *bounds, uint64 *holder,
							 MemoryContext context);
extern void sno_lease_recall(Relation rel, SnoLease *lease, SnoLeaseKnown known,
							 const void *arg);
extern int	sno_lease_count_others(Relation rel, uint64 now, uint64 *until);
extern bool sno_lease_write(Relation rel, const SnoLease *lease, XLogRecPtr *lsn);

#endif							/* SNO_LEASE_H */
