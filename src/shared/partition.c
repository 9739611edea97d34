/*
 * partition.c
 *		The partitions of a database, in shared memory, and who owns which.
 *
 * Each database has a space (shmem.c), which has the partitions.  They are in blocks.  A
 * block is made when a session first uses one of its partitions.  Even without the block,
 * it is known which partitions belong to named generators.  src/README.md draws the states
 * of a partition, and what leads from one to another.
 *
 * Parked partitions are in two lists, for the clock and for backfill.  The
 * partition that was parked last comes first, so that few partitions serve many
 * short sessions.  A partition for backfill has the end of the epoch as its
 * ceiling, so the clock is never past it.
 *
 * Sessions that issue in the same units share one partition, the current one, so that
 * their ids are dense (generate/sharing.c).  There may be other shared ones, which their
 * sessions leave when they enter another unit.  Sessions come and go under the lock.  What
 * they do in between is in core/generator.h, S1 to S4.  It rests on this rule of
 * src/README.md:
 *
 *	- S5: only the last session that leaves a shared partition parks it, puts it at rest,
 *	  or owns it again.  So no addition or swap comes late.
 *
 * If a partition was parked in a former life of the space, it is taken with its state.
 * But its lease may not be on disk any more, so the lease is cleared.
 *
 * Locking: the space's lock protects the lists, which partition is current, and the owner,
 * users, next, life and named of each partition.  Without the lock, a session may look
 * whether a partition that it has was revoked, or now belongs to named generators.
 * Generator, backfill and lease belong to the owner, who changes them without any lock.
 * Meanwhile nobody else relies on them: others load the state word atomically, and
 * sno_generators() shows the rest as it finds it.  Those who share a partition rely on its
 * lease and ceiling, which one of them changes in the turn for renewals.  A partition
 * changes hands only under the space's lock, in exclusive mode.  So the stores of one owner
 * come before the loads of the next.  While that lock is held, only a lack of memory raises
 * an error: for a block, or for this process's view of it.  If a change needs memory, it
 * gets the memory before it begins.
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
				 errhint("Connect without that option. If you did not give it, set a valid range in the configuration file, for all roles and databases, and reload it. See doc/operations.md#trouble.")));
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
bool
sno_partition_is_usable(const SnoPartition *p)
{
	int			number = sno_partition_number(p);

	return number >= sno_partition_range.first &&
		number <= sno_partition_range.last &&
		!p->named && sno_grant_is_in_force(p->holder);
}

/* These are called with the lock held. */

/* No session begins to share a partition any more. */
static void
end_joining(const SnoPartition *p)
{
	if (sno_partition_is_current(p))
		pg_atomic_write_u32(&sno_space->shared, 0);
}

/* This session leaves a partition.  False if others still share it (S5). */
static bool
leave_shared(SnoPartition *p)
{
	if (p->users > 0 && --p->users > 0)
		return false;
	end_joining(p);
	return true;
}

static void
give_back(SnoPartition *p)
{
	int32	   *first = &sno_space->parked[p->purpose];

	if (!leave_shared(p))
		return;
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
	if (p->holder != sno_space->granted.grants.holder)
		return false;
	grant = sno_grants_find(&sno_space->granted.grants, sno_partition_number(p));
	return grant != NULL && sno_grant_covers(grant, unit);
}

/* Would a step issue in `unit` in a parked partition?  The lock is held. */
static bool
is_parked_for(const SnoPartition *p, uint64 unit)
{
	return sno_partition_is_usable(p) && sno_partition_rules(p)->is_ready(p, unit) && is_granted(p, unit);
}

/* Is there such a partition? */
bool
sno_partition_is_parked(uint64 unit, SnoPurpose purpose)
{
	int32		place;

	LWLockAcquire(&sno_space->lock, LW_SHARED);
	place = sno_space->parked[purpose];
	while (place != SNO_LAST_PARKED && !is_parked_for(sno_partition_at(place - 1), unit))
		place = sno_partition_at(place - 1)->next;
	LWLockRelease(&sno_space->lock);
	return place != SNO_LAST_PARKED;
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
		else if (is_parked_for(p, unit))
			break;
		else
			link = &p->next;
	}
	p = *link == SNO_LAST_PARKED ? NULL : hand_over(pop_parked(link), old);
	LWLockRelease(&sno_space->lock);
	return p;
}

/*
 * Own a partition that no session owns, and that isn't parked, in exchange for `old` (NULL
 * for none).  The lock is held.
 */
SnoPartition *
sno_partition_take(int number, SnoPartition *old)
{
	return hand_over(partition_to_change(number), old);
}

/*
 * Could a session that shares a partition issue in `unit` now?  `file` is that of the table
 * of leases.
 */
static bool
is_shareable(const SnoPartition *p, uint64 unit, uint32 file)
{
	uint64		word = sno_generator_load(&p->generator);
	SnoLeaseTask task = sno_lease_task(&p->lease, &p->generator, unit, file);

	return sno_partition_is_usable(p) &&
		(SNO_WORD_UNIT(word) < unit ||
		 (SNO_WORD_UNIT(word) == unit && SNO_WORD_SEQUENCE(word) <= p->generator.sequence_max)) &&
		(task == SNO_LEASE_ISSUE || task == SNO_LEASE_RENEW_EARLY);
}

/*
 * Share the current partition from now on, in exchange for `old` (NULL for none).  NULL, and
 * no change, if there is none in which a session could issue in `unit`.
 */
SnoPartition *
sno_partition_join(SnoPartition *old, uint64 unit, uint32 file)
{
	SnoPartition *p = NULL;
	int			current;

	if (pg_atomic_read_u32(&sno_space->shared) == 0)
		return NULL;
	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	current = (int) pg_atomic_read_u32(&sno_space->shared);
	if (current != 0)
		p = partition_to_change(current - 1);
	if (p == old || (p != NULL && !is_shareable(p, unit, file)))
		p = NULL;
	if (p != NULL)
	{
		p->users++;
		if (old != NULL)
			give_back(old);
	}
	LWLockRelease(&sno_space->lock);
	return p;
}

/*
 * Let others share a partition of this session, which becomes the current one.  False, and
 * no change, if they couldn't issue in `unit` there.
 */
bool
sno_partition_share(SnoPartition *p, uint64 unit, uint32 file)
{
	bool		shared;

	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	shared = sno_partition_owned(p) && is_shareable(p, unit, file);
	if (shared)
	{
		/* A row that is written is published by a renewal at once. */
		if (p->lease.pending_ceiling != 0)
			p->lease.attention = unit;
		p->users = 1;
		pg_atomic_write_u32(&p->owner, SNO_OWNER_SHARED);
		pg_atomic_write_u32(&sno_space->shared, p->number + 1);
	}
	LWLockRelease(&sno_space->lock);
	return shared;
}

/* Own a partition again that this session shares.  False if others share it, too. */
bool
sno_partition_own_again(SnoPartition *p)
{
	bool		alone;

	/* Most often others do, and no lock is needed to see that. */
	if (p->users > 1)
		return false;
	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	alone = sno_partition_is_shared(p) && p->users == 1;
	if (alone)
	{
		(void) leave_shared(p);
		pg_atomic_write_u32(&p->owner, MyProcPid);
	}
	LWLockRelease(&sno_space->lock);
	return alone;
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
		return sno_grant_find(&sno_space->granted, sno_partition_number(p), p->holder, limits) &&
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

	if (!sno_partition_is_ours(p))
		return SNO_ABANDON;
	if (!sno_partition_is_usable(p))
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

/* Give a partition back, with its state. */
void
sno_partition_park(SnoPartition *p)
{
	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	give_back(p);
	LWLockRelease(&sno_space->lock);
}

/*
 * Put a partition at rest that another holder leases or was granted, or that is lent.  If
 * others share it, it is revoked from them.
 */
void
sno_partition_abandon(SnoPartition *p)
{
	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	end_joining(p);
	pg_atomic_write_u32(&p->owner, leave_shared(p) ? 0 : SNO_OWNER_REVOKED);
	LWLockRelease(&sno_space->lock);
}

/*
 * Revoke all partitions of this database, and all nodes that were chosen.  Those that are parked are at rest at
 * once.  The others are when their sessions see it, which is before they begin to
 * make another id.
 */
void
sno_partition_revoke_all(void)
{
	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	pg_atomic_fetch_add_u64(&sno_space->revocations, 1);
	for (int i = 0; i < (int) lengthof(sno_space->parked); i++)
		while (sno_space->parked[i] != SNO_LAST_PARKED)
			pop_parked(&sno_space->parked[i]);
	pg_atomic_write_u32(&sno_space->shared, 0);
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
