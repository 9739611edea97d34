/*
 * reserve.h
 *		Choosing and reserving a partition for a new lease.
 */
#ifndef SNO_RESERVE_H
#define SNO_RESERVE_H

#include "postgres.h"

#include "nodes/bitmapset.h"

#include "shared/partition.h"

/*
 * The bounds of partitions, from the rows of sno_lease.  The bound of a partition is 0 if the
 * partition has no row.  Otherwise it is SNO_BOUND(ceiling, own), where `ceiling` is the highest
 * ceiling of the partition's rows, and `own` is 1 if one of these rows is our own, and otherwise
 * 0.  Few partitions have rows, so a block of bounds exists only if one of its partitions has a
 * row.
 */
#define SNO_BOUND(ceiling, own)		(((uint64) (ceiling) + 1) << 1 | (own))
#define SNO_BOUND_CEILING(bound)	(((bound) >> 1) - 1)
#define SNO_BOUND_OWN(bound)		((bool) ((bound) & 1))
#define SNO_BOUNDS_BLOCK			256

typedef struct SnoBounds
{
	uint64	   *block[SNO_PARTITIONS / SNO_BOUNDS_BLOCK];
	Bitmapset  *defined;		/* partitions that definitions name */
} SnoBounds;

static inline uint64
sno_bound(const SnoBounds *bounds, int partition)
{
	const uint64 *block = bounds->block[partition / SNO_BOUNDS_BLOCK];

	return block == NULL ? 0 : block[partition % SNO_BOUNDS_BLOCK];
}

/* The number of partitions in each state, among the partitions that this session may use */
typedef struct SnoPartitionTally
{
	int			open;			/* open or held, including partitions for given times */
	int			resting;		/* can't be used until the clock has passed their ids */
	int			free;
	int			given_times;	/* for ids of given times, in any state */
} SnoPartitionTally;

extern SnoGrants sno_partition_ranges(void);
extern SnoPartitionTally sno_partition_tally(uint64 now, const SnoBounds *bounds);
extern SnoPartition *sno_partition_reserve(uint64 unit, const SnoBounds *bounds, uint64 holder,
										   SnoPurpose purpose);
extern bool sno_partition_may_reserve(uint64 unit, const SnoBounds *bounds, uint64 holder,
									  SnoPurpose purpose);
extern int	sno_partition_choose_unused(const SnoBounds *bounds, uint64 holder);

#endif							/* SNO_RESERVE_H */
