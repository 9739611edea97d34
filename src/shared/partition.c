/*
 * partition.c
 *		The partitions of a database, in shared memory, and who owns which.
 *
 * Each database has a space (shmem.c), which has the partitions, one cache line
 * each, in blocks that are made when one of theirs is first used.
 *
 * A partition is in one of these states:
 *
 *	owned		by a live session (owner is its pid), never taken from it
 *	revoked		as owned, but the session isn't to issue in it any more, and lays
 *				it to rest when it would give it back
 *	parked		given back with its state, in a list that begins in the space,
 *				most recently parked first, so that few partitions serve many
 *				short sessions; another session goes on with the exact state
 *	at rest		neither; it may be leased anew once the clock is past all that
 *				memory and any row of sno_snapshot know of it
 *	untouched	at rest, and never used since the server started
 *
 * One that has named generators (pool.c) is theirs for as long as the server
 * runs: a session that owns it moves on as soon as it notices, and no other gets
 * it.
 *
 * What was parked in a former life of the space is taken with its state, but the
 * lease that it was parked with may not be on disk any more: it is written anew.
 *
 * Partitions for given times (at.c) have a list of their own.  As their ceiling is
 * the end of the epoch, the clock is never past it.
 *
 * Databases keep apart while they can: of the untouched partitions those come
 * first that no other database of the server uses.
 *
 * Locking: the space's lock protects the lists, and each partition's owner, next
 * and life; without it a session may see if a partition that it didn't give back
 * was revoked.  The generator in a partition, and file, belong to the owner, who
 * steps and changes them without any lock; while there is one, nobody else relies
 * on them, but for the atomic loads of the word.  A partition changes hands only
 * under the lock, in exclusive mode, whose release and acquisition order the
 * stores of one owner before the loads of the next.  While the lock is held
 * nothing raises an error but a lack of memory, for a block or for this process's
 * view of it, which is found out before the change that needs it is begun.
 */
#include "postgres.h"

#include "common/pg_prng.h"

#include "shared/partition.h"

/* The owner of a partition that was revoked. */
#define REVOKED				(-1)

/* In place of a link: in no list; for named generators. */
#define NOT_PARKED			0
#define NAMED				(-2)

StaticAssertDecl(sizeof(SnoPartition) == SNO_PARTITION_SIZE, "a partition is not a cache line");

SnoPartitionRange sno_partition_range = {0, SNO_PARTITION_MAX};
const char *sno_partition_refused;

/* The blocks of this session's space that this process has looked at. */
static SnoPartition *blocks[SNO_BLOCKS];

/* A block of a space, NULL if none of its partitions was ever used. */
static SnoPartition *
block_of(const SnoSpace *space, int number)
{
	dsa_pointer place = __atomic_load_n(&space->blocks[number / SNO_BLOCK],
										__ATOMIC_ACQUIRE);

	return DsaPointerIsValid(place) ? dsa_get_address(sno_area, place) : NULL;
}

static const SnoPartition untouched;

/*
 * A partition of this session's space, to be looked at; without the lock by
 * activity.c's rules.
 */
const SnoPartition *
sno_partition_at(int number)
{
	SnoPartition **block = &blocks[number / SNO_BLOCK];

	if (unlikely(*block == NULL))
	{
		*block = block_of(sno_space, number);
		if (*block == NULL)
			return &untouched;
	}
	return &(*block)[number % SNO_BLOCK];
}

/* The same of any space, or of none: NULL. */
const SnoPartition *
sno_partition_in(const SnoSpace *space, int number)
{
	const SnoPartition *block = space == NULL ? NULL : block_of(space, number);

	return block == NULL ? &untouched : &block[number % SNO_BLOCK];
}

/* A partition, to be changed.  The lock is held; see the banner for errors. */
static SnoPartition *
partition(int number)
{
	dsa_pointer *place = &sno_space->blocks[number / SNO_BLOCK];

	if (blocks[number / SNO_BLOCK] == NULL && !DsaPointerIsValid(*place))
		__atomic_store_n(place, dsa_allocate0(sno_area, SNO_BLOCK * sizeof(SnoPartition)),
						 __ATOMIC_RELEASE);
	return unconstify(SnoPartition *, sno_partition_at(number));
}

/* Of a partition that sno_partition_at() gave. */
int
sno_partition_number(const SnoPartition *p)
{
	static int	last;			/* block, which mostly is this one's, too */

	while (blocks[last] == NULL || p < blocks[last] || p >= blocks[last] + SNO_BLOCK)
		last = (last + 1) % SNO_BLOCKS;
	return last * SNO_BLOCK + (int) (p - blocks[last]);
}

/* Is it in the range that this session may use, and no named generator's? */
bool
sno_partition_usable(const SnoPartition *p)
{
	int			number = sno_partition_number(p);

	return number >= sno_partition_range.first &&
		number <= sno_partition_range.last &&
		__atomic_load_n(&p->next, __ATOMIC_RELAXED) != NAMED;
}

/* Is it in a list?  (A partition with an owner isn't.) */
static bool
is_parked(const SnoPartition *p)
{
	return p->owner == 0 && p->next != NOT_PARKED && p->next != NAMED;
}

static bool
is_at_rest(const SnoPartition *p)
{
	return p->owner == 0 && p->next != NAMED && !is_parked(p);
}

/* These four are called with the lock held. */

static void
give_back(SnoPartition *p)
{
	int32	   *first = &sno_space->parked[p->generator.given];

	if (p->owner != REVOKED && p->next != NAMED)
	{
		p->next = *first;
		*first = sno_partition_number(p) + 1;
	}
	p->owner = 0;
}

/* Unlink the partition that `link` leads to. */
static SnoPartition *
pop_parked(int32 *link)
{
	SnoPartition *p = partition(*link - 1);

	*link = p->next;
	p->next = NOT_PARKED;
	return p;
}

/* Lay a partition to rest that nobody owns. */
static void
unpark(int number)
{
	const SnoPartition *p = sno_partition_at(number);
	int32	   *link = &sno_space->parked[p->generator.given];

	if (!is_parked(p))
		return;
	while (*link != number + 1)
		link = &partition(*link - 1)->next;
	pop_parked(link);
}

/*
 * A lease of a former life of the space may not be on disk: without a file, it is
 * written before anything is issued.
 */
static SnoPartition *
hand_over(SnoPartition *p, SnoPartition *old)
{
	if (p->life != sno_space->life)
		p->file = InvalidOid;
	p->life = sno_space->life;
	p->owner = MyProcPid;
	if (old != NULL)
		give_back(old);
	return p;
}

/*
 * Take a parked partition, for given times or not, where a step would issue in
 * `unit`, the one parked last if there are several, and park `old` (NULL for none)
 * in its stead.  NULL, and no change, if there is none.
 */
SnoPartition *
sno_partition_exchange(SnoPartition *old, uint64 unit, bool given)
{
	SnoPartition *p = NULL;
	int32	   *link;

	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	for (link = &sno_space->parked[given]; *link != SNO_LAST_PARKED;
		 link = &partition(*link - 1)->next)
	{
		p = partition(*link - 1);
		if (sno_partition_usable(p) &&
			(given ? sno_generator_ready_given(&p->generator, unit) :
			 sno_generator_ready(&p->generator, unit)))
			break;
	}
	p = *link == SNO_LAST_PARKED ? NULL : hand_over(pop_parked(link), old);
	LWLockRelease(&sno_space->lock);
	return p;
}

static int
range_count(void)
{
	return sno_partition_range.last - sno_partition_range.first + 1;
}

/* Is the partition, as far as memory and definitions know, a named generator's? */
static bool
named(int number, const SnoBounds *bounds)
{
	return sno_partition_at(number)->next == NAMED || bms_is_member(number, bounds->defined);
}

/* The highest unit that memory or any row knows to be used in a partition. */
static uint64
known_floor(int number, uint64 bound)
{
	uint64		ceiling = sno_partition_at(number)->generator.ceiling;

	return bound == 0 ? ceiling : Max(ceiling, SNO_BOUND_CEILING(bound));
}

/*
 * Of the partitions at rest, the one whose use ended longest ago; -1 if none is
 * free.
 */
static int
find_lapsed(uint64 now, const SnoBounds *bounds)
{
	uint64		lowest = now;
	int			found = -1;

	for (int i = sno_partition_range.first; i <= sno_partition_range.last; i++)
	{
		uint64		floor;

		if (!is_at_rest(sno_partition_at(i)) || named(i, bounds))
			continue;
		floor = known_floor(i, sno_bound(bounds, i));
		if (floor < lowest)
		{
			lowest = floor;
			found = i;
		}
	}
	return found;
}

/* Count without the lock, as of no particular moment. */
SnoPartitionTally
sno_partition_tally(uint64 now, const SnoBounds *bounds)
{
	SnoPartitionTally tally = {0};

	for (int i = sno_partition_range.first; i <= sno_partition_range.last; i++)
	{
		const SnoPartition *p = sno_partition_at(i);

		if (p->next == NAMED)
			continue;
		if (p->owner != 0)
			tally.owned++;
		else if (is_parked(p))
		{
			tally.parked++;
			tally.parked_live += !p->generator.given;
		}
		else if (known_floor(i, sno_bound(bounds, i)) >= now)
			tally.resting++;
		else
			tally.free++;
	}
	return tally;
}

/*
 * Does another database use a partition that this one hasn't used since the server
 * started?
 */
static bool
used_elsewhere(int number)
{
	return sno_partition_at(number)->life == 0 && sno_shmem_is_used(number);
}

/*
 * A partition that was never leased, as far as memory and rows know, the first
 * one from a start that the holder gives; -1 if there is none.  To `avoid` is what
 * other databases use.
 */
static int
find_untouched(const SnoBounds *bounds, uint64 holder, bool avoid)
{
	int			count = range_count();
	int			start = (int) (holder % count);

	for (int i = 0; i < count; i++)
	{
		int			number = sno_partition_range.first + (start + i) % count;

		if (sno_bound(bounds, number) == 0 && sno_partition_at(number)->life == 0 &&
			!named(number, bounds) && !(avoid && used_elsewhere(number)))
			return number;
	}
	return -1;
}

/* The same of partitions of our own that have lapsed, the lowest one. */
static int
find_own(uint64 now, const SnoBounds *bounds, bool avoid)
{
	for (int i = sno_partition_range.first; i <= sno_partition_range.last; i++)
		if (SNO_BOUND_OWN(sno_bound(bounds, i)) && is_at_rest(sno_partition_at(i)) &&
			!named(i, bounds) && known_floor(i, sno_bound(bounds, i)) < now &&
			!(avoid && used_elsewhere(i)))
			return i;
	return -1;
}

/*
 * Choose a partition for given times, which is never leased again; -1 if none is
 * left, or if half of the range went that way: the other half is for the clock.
 */
static int
choose_given(const SnoBounds *bounds, uint64 holder)
{
	int			gone = 1;
	int			number;

	for (int i = sno_partition_range.first; i <= sno_partition_range.last; i++)
		if (sno_bound(bounds, i) != 0 &&
			SNO_BOUND_CEILING(sno_bound(bounds, i)) == SNO_UNIT_MAX)
			gone++;
	if (gone > range_count() / 2)
		return -1;
	number = find_untouched(bounds, holder, true);
	return number >= 0 ? number : find_untouched(bounds, holder, false);
}

/*
 * Choose a partition to lease anew; -1 if none is free.  Our own lapsed ones come
 * first; then those never leased, consecutively from a start that the holder
 * gives; of both, those that no other database uses; then what other holders
 * leased.
 */
static int
choose(uint64 now, const SnoBounds *bounds, uint64 holder)
{
	for (int avoid = 1; avoid >= 0; avoid--)
	{
		int			number = find_own(now, bounds, avoid);

		if (number < 0)
			number = find_untouched(bounds, holder, avoid);
		if (number >= 0)
			return number;
	}
	return find_lapsed(now, bounds);
}

/*
 * Reserve a partition for a new lease, for given times or not, and park `old`
 * (NULL for none) in its stead.  `bounds` is what the rows say of all
 * partitions.  It comes without a lease: the caller writes one before it issues
 * anything.  NULL, and no change, if none is free.
 */
SnoPartition *
sno_partition_reserve(SnoPartition *old, uint64 now, const SnoBounds *bounds,
					  uint64 holder, bool given)
{
	SnoPartition *p = NULL;
	int			number;

	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	number = given ? choose_given(bounds, holder) : choose(now, bounds, holder);
	if (number >= 0)
	{
		p = partition(number);
		unpark(number);
		hand_over(p, old);
		p->file = InvalidOid;
		if (given)
			sno_generator_start_given(&p->generator, SNO_SEQUENCE_MAX,
									  pg_prng_uint32(&pg_global_prng_state));
		else
			sno_generator_start(&p->generator,
								known_floor(number, sno_bound(bounds, number)),
								0, SNO_SEQUENCE_MAX);
		sno_shmem_note_use(number);
	}
	LWLockRelease(&sno_space->lock);
	return p;
}

/* Give a partition back, with its state. */
void
sno_partition_park(SnoPartition *p)
{
	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	give_back(p);
	LWLockRelease(&sno_space->lock);
}

/* Lay a partition to rest that another holder's row names too. */
void
sno_partition_abandon(SnoPartition *p)
{
	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	p->owner = 0;
	LWLockRelease(&sno_space->lock);
}

/*
 * Revoke all partitions of this database: those that are parked are at rest at
 * once, the others when their sessions see it, which is before they begin to
 * make another id.
 */
void
sno_partition_revoke(void)
{
	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	for (int i = 0; i < (int) lengthof(sno_space->parked); i++)
		while (sno_space->parked[i] != SNO_LAST_PARKED)
			pop_parked(&sno_space->parked[i]);
	for (int i = 0; i < SNO_PARTITIONS; i++)
		if (sno_partition_at(i)->owner != 0)
			__atomic_store_n(&partition(i)->owner, REVOKED, __ATOMIC_RELAXED);
	LWLockRelease(&sno_space->lock);
}

/* Make a partition one of named generators.  The space's lock is held. */
void
sno_partition_set_named(int number)
{
	SnoPartition *p = partition(number);

	unpark(number);
	__atomic_store_n(&p->next, NAMED, __ATOMIC_RELAXED);
	sno_shmem_note_use(number);
}

/*
 * Has a partition of named generators no owner?  Then *was is what it was used
 * for before; else *owner is the session's pid.
 */
bool
sno_partition_claim(int number, SnoPartition *was, int *owner)
{
	LWLockAcquire(&sno_space->lock, LW_SHARED);
	*was = *sno_partition_at(number);
	*owner = was->owner;
	LWLockRelease(&sno_space->lock);
	return *owner == 0;
}
