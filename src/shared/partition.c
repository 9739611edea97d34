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
 * sessions leave when they enter another unit.  What they do in between is in
 * core/generator.h, S1 to S4.  It rests on this rule of src/README.md:
 *
 *	- S5: only the last session that leaves a shared partition parks it, puts it at rest,
 *	  or owns it again.  So no addition or swap comes late.
 *
 * So users are counted atomically, and nobody joins a partition that has none.
 *
 * If a partition was parked in a former life of the space, it is taken with its state.
 * But its lease may not be on disk any more, so the lease is cleared.
 *
 * Locking: a partition changes hands by its owner, which is exchanged atomically, with full
 * barriers.  So the stores of one owner come before the loads of the next.  Whoever claims
 * a partition looks at it again then, because it may have had another owner since it was
 * chosen.  Who claims it, and who makes it one of named generators, first does so and then
 * looks whether the other one did: so one of them sees the other.  Generator, backfill and
 * lease belong to the owner, who changes them without any lock.  Meanwhile nobody else
 * relies on them: others load the state word atomically, and sno_generators() shows the
 * rest as it finds it.  Those who share a partition rely on its lease and ceiling, which one
 * of them changes in the turn for renewals.
 *
 * The space's lock protects the lists of parked partitions.  A session that stands still
 * while it has that must not keep others from issuing.  So who doesn't get it soon does
 * without it: it parks nothing, and takes nothing that is parked.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "common/pg_prng.h"

#include "shared/partition.h"

/* How long to wait for the space's lock. */
#define LOCK_MSEC			20

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

/* Does a partition belong to named generators? */
static bool
is_named(const SnoSpace *space, int number)
{
	pg_atomic_uint32 *bits = unconstify(pg_atomic_uint32 *, &space->named[number / 32]);

	return pg_atomic_read_u32(bits) >> number % 32 & 1;
}

/* A partition whose block isn't made. */
static const SnoPartition *
without_block(const SnoSpace *space, int number)
{
	static const SnoPartition untouched,
				for_named = {.named = true};

	return is_named(space, number) ? &for_named : &untouched;
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

/* Make a block, unless another session is first. */
static void
make_block(int index)
{
	dsa_pointer none = InvalidDsaPointer;
	dsa_pointer place = sno_space_allocate(SNO_BLOCK * sizeof(SnoPartition));
	SnoPartition *block = dsa_get_address(sno_area, place);

	for (int i = 0; i < SNO_BLOCK; i++)
		block[i].number = index * SNO_BLOCK + i;
	if (!dsa_pointer_atomic_compare_exchange(&sno_space->blocks[index], &none, place))
	{
		sno_space_free(place, SNO_BLOCK * sizeof(SnoPartition));
		return;
	}
	/* One that becomes named meanwhile is marked here, or by who makes it so, or claims it. */
	for (int i = 0; i < SNO_BLOCK; i++)
		if (is_named(sno_space, block[i].number))
			block[i].named = true;
}

/* A partition, to be changed.  Raises an error if its block can't be made, or can't be seen. */
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

/*
 * Take the space's lock.  False if another session has it, and keeps it: it may stand still.
 */
static bool
lock_lists(void)
{
	for (int i = 0; !LWLockConditionalAcquire(&sno_space->lock, LW_EXCLUSIVE); i++)
	{
		if (i == LOCK_MSEC)
			return false;
		pg_usleep(1000);
	}
	return true;
}

/* Nobody owns the partition any more. */
static void
release(SnoPartition *p)
{
	(void) pg_atomic_exchange_u32(&p->owner, 0);
}

/* Own a partition that nobody owns, and that isn't of named generators.  False if it isn't so. */
static bool
claim(SnoPartition *p)
{
	uint32		nobody = 0;

	if (!pg_atomic_compare_exchange_u32(&p->owner, &nobody, MyProcPid))
		return false;
	pg_memory_barrier();
	if (!is_named(sno_space, sno_partition_number(p)))
		return true;
	p->named = true;
	release(p);
	return false;
}

/* No session begins to share a partition any more. */
static void
end_joining(const SnoPartition *p)
{
	uint32		current = p->number + 1;

	(void) pg_atomic_compare_exchange_u32(&sno_space->shared, &current, 0);
}

/* This session leaves a partition.  False if others still share it (S5). */
static bool
leave_shared(SnoPartition *p)
{
	if (sno_partition_users(p) > 0 && pg_atomic_fetch_sub_u32(&p->users, 1) > 1)
		return false;
	end_joining(p);
	return true;
}

/* Give a partition back, with its state.  It is at rest if it can't be parked now. */
void
sno_partition_park(SnoPartition *p)
{
	int32	   *first = &sno_space->parked[p->purpose];

	if (!leave_shared(p))
		return;
	if (!lock_lists())
	{
		release(p);
		return;
	}
	if (sno_partition_owner(p) != SNO_OWNER_REVOKED && !p->named)
	{
		p->next = *first;
		*first = sno_partition_number(p) + 1;
	}
	release(p);
	LWLockRelease(&sno_space->lock);
}

/* Unlink the partition that `link` leads to.  The lock is held. */
static SnoPartition *
pop_parked(int32 *link)
{
	SnoPartition *p = partition_to_change(*link - 1);

	*link = p->next;
	p->next = 0;
	return p;
}

/*
 * Own a partition that isn't parked; NULL if that can't be.  Whoever claims it then finds out
 * whether it still is as it was when it was chosen.
 */
SnoPartition *
sno_partition_claim(int number)
{
	SnoPartition *p = partition_to_change(number);

	return claim(p) ? p : NULL;
}

/* It isn't: it is as if it had not been claimed. */
void
sno_partition_disclaim(SnoPartition *p)
{
	release(p);
}

/* Go on in a partition that this session has claimed, in exchange for `old`, if it has one. */
void
sno_partition_take(SnoPartition *p, SnoPartition *old)
{
	if (p->life != sno_space->life)
		sno_lease_clear(&p->lease);
	p->life = sno_space->life;
	if (old != NULL)
		sno_partition_park(old);
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

	if (!lock_lists())
		return false;
	place = sno_space->parked[purpose];
	while (place != SNO_LAST_PARKED && !is_parked_for(sno_partition_at(place - 1), unit))
		place = sno_partition_at(place - 1)->next;
	LWLockRelease(&sno_space->lock);
	return place != SNO_LAST_PARKED;
}

/*
 * Take a parked partition where a step would issue in `unit`, the one parked last if
 * there are several, and park `old` (NULL for none) in exchange.  NULL if there is
 * none.  Those that are revoked, or named now, are put at rest.
 */
SnoPartition *
sno_partition_exchange(SnoPartition *old, uint64 unit, SnoPurpose purpose)
{
	SnoPartition *taken = NULL;
	int32	   *link = &sno_space->parked[purpose];

	if (!lock_lists())
		return NULL;
	while (taken == NULL && *link != SNO_LAST_PARKED)
	{
		SnoPartition *p = partition_to_change(*link - 1);

		if (p->named || !sno_grant_is_in_force(p->holder))
			pop_parked(link);
		else if (is_parked_for(p, unit) && claim(p))
			taken = pop_parked(link);
		/* It is parked or owned all the time.  Who chose it before it was parked may have it for a moment. */
		else
			link = &p->next;
	}
	LWLockRelease(&sno_space->lock);
	if (taken != NULL)
		sno_partition_take(taken, old);
	return taken;
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

	return sno_partition_is_ours(p) && sno_partition_is_usable(p) &&
		(SNO_WORD_UNIT(word) < unit ||
		 (SNO_WORD_UNIT(word) == unit && SNO_WORD_SEQUENCE(word) <= p->generator.sequence_max)) &&
		(task == SNO_LEASE_ISSUE || task == SNO_LEASE_RENEW_EARLY);
}

/* Become one more of those who share a partition.  False if there are none (S5). */
static bool
join_users(SnoPartition *p)
{
	uint32		users = sno_partition_users(p);

	while (users > 0)
		if (pg_atomic_compare_exchange_u32(&p->users, &users, users + 1))
			return true;
	return false;
}

/*
 * Share the current partition from now on, in exchange for `old` (NULL for none).  NULL, and
 * no change, if there is none in which a session could issue in `unit`.
 */
SnoPartition *
sno_partition_join(SnoPartition *old, uint64 unit, uint32 file)
{
	int			current = (int) pg_atomic_read_u32(&sno_space->shared);
	SnoPartition *p;

	if (current == 0)
		return NULL;
	p = partition_to_change(current - 1);
	if (p == old || !is_shareable(p, unit, file) || !join_users(p))
		return NULL;
	/* It may have changed until it was joined. */
	if (!sno_partition_is_shared(p) || !is_shareable(p, unit, file))
	{
		sno_partition_park(p);
		return NULL;
	}
	if (old != NULL)
		sno_partition_park(old);
	return p;
}

/*
 * Let others share a partition of this session, which becomes the current one.  False, and
 * no change, if they couldn't issue in `unit` there.
 */
bool
sno_partition_share(SnoPartition *p, uint64 unit, uint32 file)
{
	uint32		mine = MyProcPid;

	if (!sno_partition_owned(p) || !is_shareable(p, unit, file))
		return false;
	/* A row that is written is published by a renewal at once. */
	if (p->lease.pending_ceiling != 0)
		p->lease.attention = unit;
	if (!pg_atomic_compare_exchange_u32(&p->owner, &mine, SNO_OWNER_SHARED))
		return false;			/* it was revoked */
	/* From now on others may join. */
	pg_write_barrier();
	pg_atomic_write_u32(&p->users, 1);
	pg_atomic_write_u32(&sno_space->shared, p->number + 1);
	return true;
}

/* Own a partition again that this session shares.  False if others share it, too. */
bool
sno_partition_own_again(SnoPartition *p)
{
	uint32		users = 1,
				owner = SNO_OWNER_SHARED;

	if (!pg_atomic_compare_exchange_u32(&p->users, &users, 0))
		return false;
	end_joining(p);
	if (pg_atomic_compare_exchange_u32(&p->owner, &owner, MyProcPid))
		return true;
	/* It was revoked. */
	pg_atomic_write_u32(&p->users, 1);
	return false;
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
	if (unit != SNO_ANY_UNIT && p->holder != 0 && !sno_partition_rules(p)->by_clock)
	{
		LWLockAcquire(&sno_space->lock, LW_SHARED);
		granted = is_granted(p, unit);
		LWLockRelease(&sno_space->lock);
	}
	if (!granted)
		return SNO_PARK;
	return limits == NULL || find_limits(p, limits) ? SNO_STAY : SNO_ABANDON;
}

/*
 * Put a partition at rest that another holder leases or was granted, or that is lent.  If
 * others share it, it is revoked from them.
 */
void
sno_partition_abandon(SnoPartition *p)
{
	uint32		owner = SNO_OWNER_SHARED;

	(void) pg_atomic_compare_exchange_u32(&p->owner, &owner, SNO_OWNER_REVOKED);
	if (leave_shared(p))
		release(p);
}

/* Revoke a partition, if anybody owns it. */
static void
revoke_partition(int number)
{
	uint32		owner = (uint32) sno_partition_owner(sno_partition_at(number));

	while (owner != 0 &&
		   !pg_atomic_compare_exchange_u32(&partition_to_change(number)->owner, &owner, SNO_OWNER_REVOKED))
		 /* owner is what it is now */ ;
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
		revoke_partition(i);
	LWLockRelease(&sno_space->lock);
}

/* Make a partition one of named generators.  Whoever claims it from now on finds that out. */
void
sno_partition_set_named(int number)
{
	SnoPartition *block;

	pg_atomic_fetch_or_u32(&sno_space->named[number / 32], UINT32_C(1) << number % 32);
	pg_memory_barrier();
	block = my_block(number);
	if (block != NULL)
		block[number % SNO_BLOCK].named = true;
	sno_shmem_note_use(number);
}

/* A copy of a partition, which is exact if it is one of named generators, and no session owns it. */
SnoPartition
sno_partition_copy(int number)
{
	const SnoPartition *p = sno_partition_at(number);
	int32		owner = sno_partition_owner(p);
	SnoPartition copy;

	/* What its last owner stored comes before that. */
	pg_memory_barrier();
	copy = *p;
	copy.named = is_named(sno_space, number);
	pg_atomic_init_u32(&copy.owner, (uint32) owner);
	return copy;
}
