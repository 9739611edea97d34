/*
 * partition.c
 *		The partitions of a database, in shared memory, and who owns which.
 *
 * Each database has a space (shmem.c).  It has the partitions, in blocks that are
 * made when a session first uses one of theirs.  Which ones are those of named
 * generators is known without a block, too.  src/README.md draws the states of a
 * partition, and what leads from one to another.
 *
 * Parked partitions are in two lists, for the clock and for backfill.  The
 * partition that was parked last comes first, so that few partitions serve many
 * short sessions.  A partition for backfill has the end of the epoch as its
 * ceiling, so the clock is never past it.
 *
 * What was parked in a former life of the space is taken with its state.  But its
 * lease may not be on disk any more: it is cleared.
 *
 * Locking: the space's lock protects the lists, and the owner, next, life and named
 * of each partition.  Without the lock, a session may look whether a partition that
 * it owns was revoked or became one of named generators.  Generator, backfill and
 * lease belong to the owner, who changes them without any lock.  Meanwhile nobody else
 * relies on them: others load the state word atomically, and sno_generators() shows
 * the rest as it finds it.  A partition changes hands only under the
 * lock, in exclusive mode, whose release and acquisition order the stores of one
 * owner before the loads of the next.  While the lock is held, only a lack of
 * memory raises an error, for a block or for this process's view of it.  That is
 * found out before the change that needs it is begun.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "common/pg_prng.h"

#include "shared/partition.h"

SnoPartitionRange sno_partition_range = {0, SNO_PARTITION_MAX};
const char *sno_partition_refused;

/* The blocks of this session's space that this process has looked at. */
static SnoPartition *blocks[SNO_BLOCKS];

/* Raise an error if it isn't known which partitions this session may use. */
void
sno_partition_check_setting(void)
{
	if (sno_partition_refused != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 IsParallelWorker() ?
				 errmsg("parameter \"%s\" cannot be set to what the session was given",
						"sno.partitions") :
				 errmsg("parameter \"%s\" cannot be set to \"%s\"",
						"sno.partitions", sno_partition_refused),
				 errdetail("No id is made while it is unknown which partitions this server may use."),
				 errhint("Connect without that option. If you did not give it, set a valid range in the configuration file, for all roles and databases, and reload it.")));
}

/* A block of a space, NULL if none of its partitions was ever used. */
static SnoPartition *
block_of(const SnoSpace *space, int number)
{
	dsa_pointer place = dsa_pointer_atomic_read(unconstify(dsa_pointer_atomic *,
														   &space->blocks[number / SNO_BLOCK]));

	/* Whoever made the block cleared it before. */
	pg_read_barrier();
	return DsaPointerIsValid(place) ? dsa_get_address(sno_area, place) : NULL;
}

/* A partition whose block isn't made. */
static const SnoPartition *
without_block(const SnoSpace *space, int number)
{
	static const SnoPartition untouched,
				for_named = {.named = true};
	pg_atomic_uint32 *bits = unconstify(pg_atomic_uint32 *, &space->named[number / 32]);

	return pg_atomic_read_u32(bits) >> number % 32 & 1 ? &for_named : &untouched;
}

/* The block of a partition of this session's space, NULL if there is none. */
static inline SnoPartition *
my_block(int number)
{
	SnoPartition **block = &blocks[number / SNO_BLOCK];

	if (unlikely(*block == NULL))
		*block = block_of(sno_space, number);
	return *block;
}

/* A partition of this session's space, to be looked at. */
const SnoPartition *
sno_partition_at(int number)
{
	SnoPartition *block = my_block(number);

	return unlikely(block == NULL) ? without_block(sno_space, number) : &block[number % SNO_BLOCK];
}

/* The same of any space, while spaces are held. */
const SnoPartition *
sno_partition_in(const SnoSpace *space, int number)
{
	const SnoPartition *block = block_of(space, number);

	return block == NULL ? without_block(space, number) : &block[number % SNO_BLOCK];
}

static void
make_block(int index)
{
	dsa_pointer place = sno_space_allocate(SNO_BLOCK * sizeof(SnoPartition));
	SnoPartition *block = dsa_get_address(sno_area, place);

	for (int i = 0; i < SNO_BLOCK; i++)
	{
		block[i].number = index * SNO_BLOCK + i;
		block[i].named = without_block(sno_space, block[i].number)->named;
	}
	pg_write_barrier();
	dsa_pointer_atomic_write(&sno_space->blocks[index], place);
}

/* A partition, to be changed.  The lock is held; see the banner for errors. */
static SnoPartition *
partition_to_change(int number)
{
	if (my_block(number) == NULL)
		make_block(number / SNO_BLOCK);
	return &my_block(number)[number % SNO_BLOCK];
}

/* The purposes. */

static bool
clock_is_ready(const SnoPartition *p, uint64 unit)
{
	return sno_generator_ready(&p->generator, unit);
}

static void
start_clock(SnoPartition *p, uint64 floor)
{
	sno_generator_start(&p->generator, floor, 0, SNO_SEQUENCE_MAX);
}

static SnoStep
step_clock(SnoPartition *p, uint64 unit, uint64 *issued)
{
	return sno_generator_step(&p->generator, unit, issued);
}

static bool
backfill_is_ready(const SnoPartition *p, uint64 unit)
{
	return sno_backfill_ready(&p->generator, &p->backfill, unit);
}

/* It was never used, so it has no floor. */
static void
start_backfill(SnoPartition *p, uint64 floor)
{
	sno_backfill_start(&p->generator, &p->backfill, SNO_SEQUENCE_MAX,
					   pg_prng_uint32(&pg_global_prng_state));
}

static SnoStep
step_backfill(SnoPartition *p, uint64 unit, uint64 *issued)
{
	return sno_backfill_step(&p->generator, &p->backfill, unit, issued);
}

const SnoPurposeRules sno_purpose_rules[SNO_PURPOSES] = {
	[SNO_FOR_CLOCK] = {"sno_generate()", true, 1, clock_is_ready, start_clock, step_clock},
	[SNO_FOR_BACKFILL] = {"sno_generate_at()", false, 2, backfill_is_ready, start_backfill, step_backfill}
};

/* Is it among those that this session may use, and not of named generators? */
static bool
is_usable(const SnoPartition *p)
{
	int			number = sno_partition_number(p);

	return number >= sno_partition_range.first &&
		number <= sno_partition_range.last &&
		!p->named && sno_grant_is_in_force(p->holder);
}

static bool
is_at_rest(const SnoPartition *p)
{
	SnoPartitionState state = sno_partition_state(p);

	return state == SNO_AT_REST || state == SNO_UNTOUCHED;
}

/* These four are called with the lock held. */

static void
give_back(SnoPartition *p)
{
	int32	   *first = &sno_space->parked[p->purpose];

	if (sno_partition_owner(p) != SNO_OWNER_REVOKED && !p->named)
	{
		p->next = *first;
		*first = sno_partition_number(p) + 1;
	}
	pg_atomic_write_u32(&p->owner, 0);
}

/* Unlink the partition that `link` leads to. */
static SnoPartition *
pop_parked(int32 *link)
{
	SnoPartition *p = partition_to_change(*link - 1);

	*link = p->next;
	p->next = 0;
	return p;
}

/* Put a partition that may be parked at rest. */
static void
unpark(int number)
{
	const SnoPartition *p = sno_partition_at(number);
	int32	   *link = &sno_space->parked[p->purpose];

	if (sno_partition_state(p) != SNO_PARKED)
		return;
	while (*link != number + 1)
		link = &partition_to_change(*link - 1)->next;
	pop_parked(link);
}

/* Make this session the owner of a partition, in exchange for `old`, if it has one. */
static SnoPartition *
hand_over(SnoPartition *p, SnoPartition *old)
{
	if (p->life != sno_space->life)
		sno_lease_clear(&p->lease);
	p->life = sno_space->life;
	pg_atomic_write_u32(&p->owner, MyProcPid);
	if (old != NULL)
		give_back(old);
	return p;
}

/*
 * Was the unit of a given time granted in a partition?  Of the clock, its lease tells.  The
 * lock is held.
 */
static bool
is_granted(const SnoPartition *p, uint64 unit)
{
	const SnoGrant *grant;

	if (sno_partition_rules(p)->by_clock || p->holder == 0)
		return true;
	if (p->holder != sno_space->grants.holder)
		return false;
	grant = sno_grants_find(&sno_space->grants, sno_partition_number(p));
	return grant != NULL && sno_grant_covers(grant, unit);
}

/*
 * Take a parked partition where a step would issue in `unit`, the one parked last if
 * there are several, and park `old` (NULL for none) in exchange.  NULL if there is
 * none.  Those that are revoked are put at rest.
 */
SnoPartition *
sno_partition_exchange(SnoPartition *old, uint64 unit, SnoPurpose purpose)
{
	SnoPartition *p = NULL;
	int32	   *link = &sno_space->parked[purpose];

	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	while (*link != SNO_LAST_PARKED)
	{
		p = partition_to_change(*link - 1);
		if (!sno_grant_is_in_force(p->holder))
			pop_parked(link);
		else if (is_usable(p) && sno_partition_rules(p)->is_ready(p, unit) && is_granted(p, unit))
			break;
		else
			link = &p->next;
	}
	p = *link == SNO_LAST_PARKED ? NULL : hand_over(pop_parked(link), old);
	LWLockRelease(&sno_space->lock);
	return p;
}

/*
 * The ranges of partitions that this session may use, and for which units: what of
 * sno.partitions was granted, or all of it.
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
	SnoGrants	granted = sno_grants_copy();

	return usable_ranges(&granted);
}

static int
count_of(const SnoGrant *range)
{
	return range->last - range->first + 1;
}

/*
 * Between which units this session may issue in a partition (G3).  False if nothing is
 * granted there to the holder under which it was reserved, or if it was granted anew
 * since then: another holder had the units before that, and the generator doesn't
 * know it.
 */
static bool
find_limits(const SnoPartition *p, SnoGrant *limits)
{
	if (sno_is_registered())
		return sno_grant_find(sno_partition_number(p), p->holder, limits) &&
			(!sno_partition_rules(p)->by_clock || limits->floor <= p->generator.lease_floor);
	*limits = (SnoGrant) {0, SNO_UNIT_MAX, sno_partition_range.first, sno_partition_range.last};
	return true;
}

/*
 * May this session issue ids of a unit in a partition that it has?  If it may, and if
 * `limits` isn't NULL, that gets the units within which it may lease.
 */
SnoStay
sno_partition_may_stay(const SnoPartition *p, uint64 unit, SnoGrant *limits)
{
	bool		granted = true;

	if (!sno_partition_owned(p))
		return SNO_ABANDON;
	if (!is_usable(p))
		return SNO_PARK;
	if (unit != SNO_ANY_UNIT && !sno_partition_rules(p)->by_clock)
	{
		LWLockAcquire(&sno_space->lock, LW_SHARED);
		granted = is_granted(p, unit);
		LWLockRelease(&sno_space->lock);
	}
	if (!granted)
		return SNO_PARK;
	return limits == NULL || find_limits(p, limits) ? SNO_STAY : SNO_ABANDON;
}

/* Is the partition, as far as memory and definitions know, of named generators? */
static bool
is_for_named(int number, const SnoBounds *bounds)
{
	return sno_partition_at(number)->named || bms_is_member(number, bounds->defined);
}

/* The highest unit that memory or any row knows to be used in a partition. */
static uint64
known_floor(int number, const SnoBounds *bounds)
{
	uint64		ceiling = sno_partition_at(number)->generator.ceiling;
	uint64		bound = sno_bound(bounds, number);

	return bound == 0 ? ceiling : Max(ceiling, SNO_BOUND_CEILING(bound));
}

static void
tally_partition(SnoPartitionTally *tally, int number, const SnoGrant *range, uint64 now,
				const SnoBounds *bounds)
{
	const SnoPartition *p = sno_partition_at(number);

	if (p->named)
		return;
	switch (sno_partition_state(p))
	{
		case SNO_OWNED:
		case SNO_REVOKED:
			tally->owned++;
			break;
		case SNO_PARKED:
			tally->parked++;
			tally->parked_for_clock += p->purpose == SNO_FOR_CLOCK;
			break;
		default:
			if (known_floor(number, bounds) < now && sno_grant_covers(range, now))
				tally->free++;
			else
				tally->resting++;
			break;
	}
}

/* Count without the lock, so the figures are not of one moment. */
SnoPartitionTally
sno_partition_tally(uint64 now, const SnoBounds *bounds)
{
	SnoGrants	usable = sno_partition_ranges();
	SnoPartitionTally tally = {0};

	for (int i = 0; i < usable.count; i++)
		for (int n = usable.grant[i].first; n <= usable.grant[i].last; n++)
			tally_partition(&tally, n, &usable.grant[i], now, bounds);
	return tally;
}

/* How good a choice for a new lease a partition is: the lowest rank is the best. */
enum
{
	OWN,						/* its rows are ours, and have lapsed */
	NEVER_LEASED,				/* as far as memory and rows know */
	OWN_USED_ELSEWHERE,			/* the same, but another database uses it */
	NEVER_LEASED_USED_ELSEWHERE,
	LAPSED,						/* another holder leased it */
	NO_CHOICE
};

static int
rank_of(int number, uint64 now, const SnoBounds *bounds, SnoPurpose purpose)
{
	const SnoPartition *p = sno_partition_at(number);
	uint64		bound = sno_bound(bounds, number);
	bool		elsewhere = p->life == 0 && sno_shmem_is_used(number);

	if (is_for_named(number, bounds))
		return NO_CHOICE;
	if (bound == 0 && p->life == 0)
		return elsewhere ? NEVER_LEASED_USED_ELSEWHERE : NEVER_LEASED;
	if (!sno_purpose_rules[purpose].by_clock || !is_at_rest(p) || known_floor(number, bounds) >= now)
		return NO_CHOICE;
	if (!SNO_BOUND_OWN(bound))
		return LAPSED;
	return elsewhere ? OWN_USED_ELSEWHERE : OWN;
}

/* The best choice so far. */
typedef struct Choice
{
	int			rank;
	int			number;
	uint64		floor;			/* of the range */
} Choice;

static void
choose_in(const SnoGrant *range, uint64 unit, const SnoBounds *bounds, uint64 holder,
		  SnoPurpose purpose, Choice *best)
{
	int			count = count_of(range);
	int			start = (int) (holder % count);

	for (int i = 0; i < count && best->rank > OWN; i++)
	{
		int			number = range->first + (start + i) % count;
		int			rank;

		/* This is for speed: most partitions have no row. */
		if (best->rank == NEVER_LEASED && sno_bound(bounds, number) == 0)
			continue;
		rank = rank_of(number, unit, bounds, purpose);
		if (rank < best->rank ||
			(rank == best->rank && rank == LAPSED &&
			 known_floor(number, bounds) < known_floor(best->number, bounds)))
			*best = (Choice) {rank, number, range->floor};
	}
}

/*
 * Choose a partition to lease anew, in the order of the ranks.  Of several of a rank it
 * is the first one from a start that the holder gives; of those that lapsed, the one
 * that lapsed first.
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
 * May one more partition go to a purpose that it never comes back from?  The others are
 * for the clock.
 */
static bool
has_share(SnoPurpose purpose, const SnoGrants *usable, const SnoBounds *bounds)
{
	int			share = sno_purpose_rules[purpose].share;
	int			gone = 1;
	int			count = 0;

	for (int i = 0; i < usable->count && share > 1; i++)
	{
		count += count_of(&usable->grant[i]);
		for (int n = usable->grant[i].first; n <= usable->grant[i].last; n++)
			if (sno_bound(bounds, n) != 0 &&
				SNO_BOUND_CEILING(sno_bound(bounds, n)) == SNO_UNIT_MAX)
				gone++;
	}
	return share == 1 || gone <= count / share;
}

/*
 * Reserve a partition for a new lease, to issue ids of `unit`, and park `old` (NULL for
 * none) in exchange.  `bounds` is what the rows say of all partitions.  The caller writes a lease before
 * it issues anything.  NULL, and no change, if none is free.
 */
SnoPartition *
sno_partition_reserve(SnoPartition *old, uint64 unit, const SnoBounds *bounds,
					  uint64 holder, SnoPurpose purpose)
{
	SnoPartition *p = NULL;
	SnoGrants	usable;
	Choice		choice = {NO_CHOICE, -1, 0};

	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	usable = usable_ranges(&sno_space->grants);
	if (has_share(purpose, &usable, bounds))
		choice = choose(&usable, unit, bounds, holder, purpose);
	if (choice.number >= 0)
	{
		p = partition_to_change(choice.number);
		hand_over(p, old);
		sno_lease_clear(&p->lease);
		p->holder = usable.holder;
		p->purpose = purpose;
		sno_partition_rules(p)->start(p, Max(known_floor(choice.number, bounds), choice.floor));
		sno_shmem_note_use(choice.number);
	}
	LWLockRelease(&sno_space->lock);
	return p;
}

/*
 * The partition that a session would take first of those never leased, as it does for
 * backfill; -1 if there is none.  It stays free.
 */
int
sno_partition_choose_unused(const SnoBounds *bounds, uint64 holder)
{
	SnoGrants	usable = sno_partition_ranges();
	Choice		choice;

	LWLockAcquire(&sno_space->lock, LW_SHARED);
	choice = choose(&usable, 0, bounds, holder, SNO_FOR_BACKFILL);
	LWLockRelease(&sno_space->lock);
	return choice.number;
}

/* Give a partition back, with its state. */
void
sno_partition_park(SnoPartition *p)
{
	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	give_back(p);
	LWLockRelease(&sno_space->lock);
}

/* Put a partition at rest that another holder leases or was granted, or that is lent. */
void
sno_partition_abandon(SnoPartition *p)
{
	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	pg_atomic_write_u32(&p->owner, 0);
	LWLockRelease(&sno_space->lock);
}

/*
 * Revoke all partitions of this database.  Those that are parked are at rest at
 * once.  The others are when their sessions see it, which is before they begin to
 * make another id.
 */
void
sno_partition_revoke_all(void)
{
	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	for (int i = 0; i < (int) lengthof(sno_space->parked); i++)
		while (sno_space->parked[i] != SNO_LAST_PARKED)
			pop_parked(&sno_space->parked[i]);
	for (int i = 0; i < SNO_PARTITIONS; i++)
		if (sno_partition_owner(sno_partition_at(i)) != 0)
			pg_atomic_write_u32(&partition_to_change(i)->owner, SNO_OWNER_REVOKED);
	LWLockRelease(&sno_space->lock);
}

/* Make a partition one of named generators.  The space's lock is held. */
void
sno_partition_set_named(int number)
{
	SnoPartition *block = my_block(number);

	unpark(number);
	if (block != NULL)
		block[number % SNO_BLOCK].named = true;
	pg_atomic_fetch_or_u32(&sno_space->named[number / 32], UINT32_C(1) << number % 32);
	sno_shmem_note_use(number);
}

/* A copy of a partition, which is exact if no session owns it. */
SnoPartition
sno_partition_copy(int number)
{
	SnoPartition copy;

	LWLockAcquire(&sno_space->lock, LW_SHARED);
	copy = *sno_partition_at(number);
	LWLockRelease(&sno_space->lock);
	return copy;
}
