/*
 * reserve.c
 *		Choosing and reserving a partition for a new lease.
 *
 * A session may use the partitions in the range sno.partitions.  With a registry, it may use only
 * those partitions of the range that are granted.  Shared memory, the rows of all leases and the
 * definitions of named generators show which of these partitions are free, and which one is the
 * best choice.  A session chooses a partition without a lock, takes the partition's turn, and then
 * checks that the choice still holds.  So a session that is stopped at any of these steps doesn't
 * keep others from reserving partitions: it has the turn of one partition at most.
 */
#include "postgres.h"

#include "common/pg_prng.h"

#include "shared/reserve.h"

/*
 * Return the ranges of partitions that this session may use, and the units in which it may use
 * them.  Without a registry, the only range is sno.partitions.  With a registry, each range is
 * the part of a grant that is in sno.partitions.
 */
static SnoGrants
usable_ranges(const SnoGrants *granted)
{
	SnoGrants	usable = {
		.count = 1,
		.grant[0] = {0, SNO_UNIT_MAX, sno_partition_range.first, sno_partition_range.last}
	};

	if (!sno_is_registered())
		return usable;
	usable.holder = granted->holder;
	usable.count = 0;
	for (int i = 0; i < granted->count; i++)
	{
		SnoGrant	grant = granted->grant[i];

		grant.first = Max(grant.first, sno_partition_range.first);
		grant.last = Min(grant.last, sno_partition_range.last);
		if (grant.first <= grant.last)
			usable.grant[usable.count++] = grant;
	}
	return usable;
}

SnoGrants
sno_partition_ranges(void)
{
	SnoGrants	granted = {0};

	if (sno_is_registered())
		granted = sno_grants_copy(&sno_space->grants.partitions);
	return usable_ranges(&granted);
}

static int
count_of(const SnoGrant *range)
{
	return (int) (range->last - range->first + 1);
}

static bool
is_at_rest(const SnoPartition *p)
{
	SnoPartitionState state = sno_partition_state(p);

	return state == SNO_AT_REST || state == SNO_UNTOUCHED;
}

/* Does the partition belong to named generators, according to shared memory or the definitions? */
static bool
is_for_named(const SnoPartition *p, int number, const SnoBounds *bounds)
{
	return p->named || bms_is_member(number, bounds->defined);
}

/*
 * Return the highest unit that may have been used in a partition, according to shared memory and
 * all rows.
 */
static uint64
known_floor(int number, const SnoBounds *bounds)
{
	uint64		ceiling = sno_partition_at(number)->generator.ceiling;
	uint64		bound = sno_bound(bounds, number);

	return bound == 0 ? ceiling : Max(ceiling, SNO_BOUND_CEILING(bound));
}

/*
 * Was the partition given to a purpose for good?  Ids of given times are such a purpose: the
 * ceiling of their partitions' leases is SNO_UNIT_MAX.  Until `bounds` includes the
 * partition's row, only shared memory shows this.
 */
static bool
is_gone(int number, SnoPurpose purpose, const SnoBounds *bounds)
{
	const SnoPartition *p = sno_partition_at(number);

	return known_floor(number, bounds) == SNO_UNIT_MAX ||
		(p->purpose == purpose && sno_partition_state(p) != SNO_UNTOUCHED);
}

static void
tally_partition(SnoPartitionTally *tally, int number, const SnoGrant *range, uint64 now,
				const SnoBounds *bounds)
{
	const SnoPartition *p = sno_partition_at(number);

	if (is_for_named(p, number, bounds))
		return;
	tally->given_times += is_gone(number, SNO_FOR_BACKFILL, bounds);
	switch (sno_partition_state(p))
	{
		case SNO_HELD:
		case SNO_OPEN:
			tally->open++;
			break;
		default:
			if (known_floor(number, bounds) < now && sno_grant_covers(range, now))
				tally->free++;
			else
				tally->resting++;
			break;
	}
}

/*
 * Count the partitions in each state.  No lock is held, so the numbers may be of different
 * moments.
 */
SnoPartitionTally
sno_partition_tally(uint64 now, const SnoBounds *bounds)
{
	SnoGrants	usable = sno_partition_ranges();
	SnoPartitionTally tally = {0};

	for (int i = 0; i < usable.count; i++)
		for (int n = (int) usable.grant[i].first; n <= usable.grant[i].last; n++)
			tally_partition(&tally, n, &usable.grant[i], now, bounds);
	return tally;
}

/* The ranks of partitions as choices for a new lease, from the best to the worst */
enum
{
	OWN,						/* a row is ours, and all leases have lapsed */
	NEVER_LEASED,				/* the partition has no row, and wasn't used since the server
								 * started */
	OWN_USED_ELSEWHERE,			/* like OWN, but another database of this server also uses it */
	NEVER_LEASED_USED_ELSEWHERE,
	LAPSED,						/* no row is ours, and all leases have lapsed */
	NO_CHOICE
};

static int
rank_of(const SnoPartition *p, int number, uint64 now, const SnoBounds *bounds, SnoPurpose purpose)
{
	uint64		bound = sno_bound(bounds, number);
	bool		elsewhere = p->life == 0 && sno_shmem_is_used(number);

	if (is_for_named(p, number, bounds))
		return NO_CHOICE;
	if (bound == 0 && sno_partition_state(p) == SNO_UNTOUCHED)
		return elsewhere ? NEVER_LEASED_USED_ELSEWHERE : NEVER_LEASED;
	if (!sno_purpose_rules[purpose].by_clock || !is_at_rest(p) || known_floor(number, bounds) >= now)
		return NO_CHOICE;
	if (!SNO_BOUND_OWN(bound))
		return LAPSED;
	return elsewhere ? OWN_USED_ELSEWHERE : OWN;
}

/* The best choice so far */
typedef struct Choice
{
	int			rank;
	int			number;
	uint64		floor;			/* floor of the grant */
} Choice;

static void
choose_in(const SnoGrant *range, uint64 unit, const SnoBounds *bounds, uint64 holder,
		  SnoPurpose purpose, Choice *best)
{
	int			count = count_of(range);
	int			start = (int) (holder % count);

	for (int i = 0; i < count && best->rank > OWN; i++)
	{
		int			number = (int) range->first + (start + i) % count;
		int			rank;

		/* Skip a partition that can't be better, to save time: most partitions have no row. */
		if (best->rank == NEVER_LEASED && sno_bound(bounds, number) == 0)
			continue;
		rank = rank_of(sno_partition_at(number), number, unit, bounds, purpose);
		if (rank < best->rank ||
			(rank == best->rank && rank == LAPSED &&
			 known_floor(number, bounds) < known_floor(best->number, bounds)))
			*best = (Choice) {rank, number, range->floor};
	}
}

/*
 * Choose the partition of the best rank for a new lease.  Among partitions of the same rank,
 * choose the first one at or after a number that depends on the holder.  But if the rank is
 * LAPSED, choose the partition that lapsed first.
 */
static Choice
choose(const SnoGrants *usable, uint64 unit, const SnoBounds *bounds, uint64 holder,
	   SnoPurpose purpose)
{
	Choice		best = {NO_CHOICE, -1, 0};

	for (int i = 0; i < usable->count; i++)
		if (usable->holder == 0 || sno_grant_covers(&usable->grant[i], unit))
			choose_in(&usable->grant[i], unit, bounds, holder, purpose, &best);
	return best;
}

/*
 * May `more` additional partitions be given to the purpose?  The remaining partitions are kept for
 * ids by the clock.
 */
static bool
has_share(SnoPurpose purpose, int more, const SnoGrants *usable, const SnoBounds *bounds)
{
	int			share = sno_purpose_rules[purpose].share;
	int			gone = more;
	int			count = 0;

	for (int i = 0; i < usable->count && share > 1; i++)
	{
		count += count_of(&usable->grant[i]);
		for (int n = (int) usable->grant[i].first; n <= usable->grant[i].last; n++)
			gone += is_gone(n, purpose, bounds);
	}
	return share == 1 || gone <= count / share;
}

/* Choose a partition by choose(), if one more partition may be given to the purpose. */
static Choice
choose_for(SnoPurpose purpose, const SnoGrants *usable, uint64 unit, const SnoBounds *bounds,
		   uint64 holder)
{
	if (has_share(purpose, 1, usable, bounds))
		return choose(usable, unit, bounds, holder, purpose);
	return (Choice) {NO_CHOICE, -1, 0};
}

/*
 * Does a partition, whose turn this session has taken, still have the rank with which it was
 * chosen?  Another session may have used it meanwhile.  Two sessions may claim different
 * partitions at the same time, although only one more partition may be given to the purpose.  If
 * each of these sessions sees the other's partition, neither of them gets a partition.
 */
static bool
is_still_free(SnoPartition *p, int rank, uint64 unit, const SnoGrants *usable, const SnoBounds *bounds,
			  SnoPurpose purpose)
{
	SnoPartition claimed = sno_partition_copy(sno_partition_number(p));

	pg_atomic_init_u32(&claimed.turn.owner, 0);
	if (rank_of(&claimed, claimed.number, unit, bounds, purpose) != rank)
		return false;
	p->purpose = purpose;
	pg_memory_barrier();
	return has_share(purpose, 0, usable, bounds);
}

/*
 * Initialize the generator of a partition for its purpose.  The state word stays closed, but late
 * additions, by sessions that saw an open word, may change it at any time.  A partition for given
 * times has no floor, because it was never used.
 */
static void
start(SnoPartition *p, uint64 floor)
{
	SnoGenerator g;

	if (sno_partition_rules(p)->by_clock)
		sno_generator_start(&g, floor, 0, SNO_SEQUENCE_MAX);
	else
		sno_backfill_start(&g, &p->backfill, SNO_SEQUENCE_MAX, pg_prng_uint32(&pg_global_prng_state));
	sno_generator_end(&g);
	sno_generator_open(&p->generator, sno_generator_word(&g));
	p->generator.wall_safe = g.wall_safe;
	p->generator.lease_floor = g.lease_floor;
	p->generator.ceiling = g.ceiling;
	p->generator.drifts = g.drifts;
	p->generator.sequence_min = g.sequence_min;
	p->generator.sequence_max = g.sequence_max;
}

/*
 * Reserve a partition for a new lease, in order to issue ids of `unit`.  On return, the session
 * has the partition's turn.  It must write a lease before it issues an id.  `bounds` comes from
 * the rows of all partitions.  Returns NULL, and changes nothing, if no partition is free.
 */
SnoPartition *
sno_partition_reserve(uint64 unit, const SnoBounds *bounds, uint64 holder, SnoPurpose purpose)
{
	SnoGrants	usable = sno_partition_ranges();
	SnoPartition *p = NULL;
	Choice		choice;

	while (p == NULL)
	{
		choice = choose_for(purpose, &usable, unit, bounds, holder);
		if (choice.number < 0)
			return NULL;
		p = sno_partition_claim(choice.number);
		if (p != NULL && !is_still_free(p, choice.rank, unit, &usable, bounds, purpose))
		{
			sno_turn_release(&p->turn);
			p = NULL;
		}
	}
	sno_lease_clear(&p->lease);
	p->holder = usable.holder;
	start(p, Max(known_floor(choice.number, bounds), choice.floor));
	return p;
}

/* Would sno_partition_reserve() return a partition?  This reserves nothing. */
bool
sno_partition_may_reserve(uint64 unit, const SnoBounds *bounds, uint64 holder, SnoPurpose purpose)
{
	SnoGrants	usable = sno_partition_ranges();

	return choose_for(purpose, &usable, unit, bounds, holder).number >= 0;
}

/*
 * Return the number of the best partition that was never leased; choose() defines the order.
 * Returns -1 if there is none.  This doesn't reserve the partition.
 */
int
sno_partition_choose_unused(const SnoBounds *bounds, uint64 holder)
{
	SnoGrants	usable = sno_partition_ranges();

	return choose(&usable, 0, bounds, holder, SNO_FOR_BACKFILL).number;
}
