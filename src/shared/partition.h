/*
 * partition.h
 *		The partitions of a database, in shared memory, and who owns which.
 */
#ifndef SNO_PARTITION_H
#define SNO_PARTITION_H

#include "postgres.h"

#include "common/relpath.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"

#include "compat.h"
#include "core/generator.h"
#include "shared/shmem.h"

/* One cache line a partition.  partition.c says what protects each field. */
typedef struct SnoPartition
{
	SnoGenerator generator;
	uint32		life;			/* of the space, in which it was used last; 0 if
								 * it never was */
	RelFileNumber file;			/* the sno_snapshot file that has the lease */
	int32		owner;			/* pid of the session that owns it, 0, or -1 if
								 * it was revoked and isn't given back yet */
	int32		next;			/* link of the parked ones, and more */
} SnoPartition;

/*
 * What the rows of sno_snapshot say of each partition: 0 if there is none,
 * else SNO_BOUND of the highest ceiling and whether a row is our own.  Few
 * partitions have rows, so there is a block only where one of its has.
 */
#define SNO_BOUND(ceiling, own)		(((uint64) (ceiling) + 1) << 1 | (own))
#define SNO_BOUND_CEILING(bound)	(((bound) >> 1) - 1)
#define SNO_BOUND_OWN(bound)		((bool) ((bound) & 1))
#define SNO_BOUNDS_BLOCK			256

typedef struct SnoBounds
{
	uint64	   *block[SNO_PARTITIONS / SNO_BOUNDS_BLOCK];
	Bitmapset  *defined;		/* partitions of named generators */
} SnoBounds;

static inline uint64
sno_bound(const SnoBounds *bounds, int partition)
{
	const uint64 *block = bounds->block[partition / SNO_BOUNDS_BLOCK];

	return block == NULL ? 0 : block[partition % SNO_BOUNDS_BLOCK];
}

/* How many partitions of this session's range are in which state. */
typedef struct SnoPartitionTally
{
	int			owned;
	int			parked;			/* those for given times included */
	int			parked_live;	/* of these, for live ids */
	int			resting;		/* until the clock has passed what they issued */
	int			free;
} SnoPartitionTally;

/* The range of partitions that this session may use, sno.partitions. */
typedef struct SnoPartitionRange
{
	int			first;
	int			last;
} SnoPartitionRange;

extern SnoPartitionRange sno_partition_range;

/* A value of sno.partitions that can't be applied, while there is no other. */
extern const char *sno_partition_refused;

/* May this session, which has not given p back, issue in it? */
static inline bool
sno_partition_owned(const SnoPartition *p)
{
	return __atomic_load_n(&p->owner, __ATOMIC_RELAXED) == MyProcPid;
}

extern const SnoPartition *sno_partition_at(int number);
extern const SnoPartition *sno_partition_in(const SnoSpace *space, int number);
extern SnoPartitionTally sno_partition_tally(uint64 now, const SnoBounds *bounds);
extern int	sno_partition_number(const SnoPartition *p);
extern bool sno_partition_usable(const SnoPartition *p);
extern SnoPartition *sno_partition_exchange(SnoPartition *old, uint64 unit, bool given);
extern SnoPartition *sno_partition_reserve(SnoPartition *old, uint64 now,
										   const SnoBounds *bounds, uint64 holder,
										   bool given);
extern void sno_partition_park(SnoPartition *p);
extern void sno_partition_abandon(SnoPartition *p);
extern void sno_partition_revoke(void);
extern void sno_partition_set_named(int number);
extern bool sno_partition_claim(int number, SnoPartition *was, int *owner);

#endif							/* SNO_PARTITION_H */
