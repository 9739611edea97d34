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

extern Oid	sno_lease_table(Oid function, RelFileNumber *file);
extern Relation sno_lease_open(Oid function);
extern void sno_lease_close(Relation rel);
extern void sno_lease_disown(Oid function);
extern void sno_lease_survey(Relation rel, SnoBounds *bounds, uint64 *holder,
							 MemoryContext context);
extern bool sno_lease_write(Relation rel, const SnoPartition *p, uint64 ceiling,
							XLogRecPtr *lsn);

#endif							/* SNO_LEASE_H */
