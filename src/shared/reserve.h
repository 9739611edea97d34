/*
 * reserve.h
 *		Which partition a session leases anew, and its reservation.
 */
#ifndef SNO_RESERVE_H
#define SNO_RESERVE_H

#include "postgres.h"

#include "nodes/bitmapset.h"

#include "shared/partition.h"

/*
 * A bound of each partition by the rows of sno_lease: 0 if it has none, otherwise SNO_BOUND of
 * the highest ceiling and whether a row is our own.  Few partitions
 * have rows, so there is a block only where one of its partitions has a row.
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

/* The number of partitions in each state, of those that this session may use */
typedef struct SnoPartitionTally
{
	int			open;			/* including backfill */
	int			resting;		/* until the clock has passed their ids */
	int			free;
	int			given_times;	/* for backfill, in any state */
} SnoPartitionTally;

extern SnoGrants sno_partition_ranges(void);
extern SnoPartitionTally sno_partition_tally(uint64 now, const SnoBounds *bounds);
extern SnoPartition *sno_partition_reserve(uint64 unit, const SnoBounds *bounds, uint64 holder,
										   SnoPurpose purpose);
extern bool sno_partition_may_reserve(uint64 unit, const SnoBounds *bounds, uint64 holder,
									  SnoPurpose purpose);
extern int	sno_partition_choose_unused(const SnoBounds *bounds, uint64 holder);

#endif							/* SNO_RESERVE_H */
