/*
 * partition.c
 *		The partitions of a database in shared memory, and the list of the open ones.
 *
 * The space of a database (space.c) has all partitions of the database, in blocks.  A block is
 * made when a session first changes one of its partitions.  The space also has a bit for each
 * partition, even if the partition's block isn't made.  The bit shows whether the partition belongs
 * to named generators.  src/README.md lists the states of a partition, and the steps between them.
 *
 * A partition is open if its state word is open.  Then any session may issue there, by the atomic
 * steps of core/generator.h and core/backfill.h.  The space has a list of the open partitions.
 * No session owns an open partition, so a session has nothing to give back when it ends.  Rules
 * P1, P2 and P3 of src/README.md make that safe.
 *
 * Locking: a session tries to take the turn of a partition (turn.c), but never waits for it.  A
 * session that has the turn opens the partition, and adds the partition to the list.  If all
 * places of the list are used, the session closes another partition, and replaces that partition
 * in the list.  Any session may close a state word without the turn.  A session that finds a
 * closed partition in the list removes it, if no other session has the turn.  All changes of the
 * list are atomic.
 *
 * A session that gives a partition to named generators first marks the partition, then checks
 * that no session has the turn, and then closes the partition.  A session that opens a partition,
 * or changes its side, first takes the turn, and then checks the mark.  So if one session
 * gives a partition away while another session opens it, at least one of them notices the other.
 */
#include "postgres.h"

#include "access/parallel.h"

#include "shared/partition.h"

SnoPartitionRange sno_partition_range = {0, SNO_PARTITION_MAX};
const char *sno_partition_refused;

/* The blocks of this session's space, as far as this process has looked them up */
static SnoPartition *blocks[SNO_BLOCKS];

/*
 * Raise an error if the given value of sno.partitions was refused, because then this session's
 * range isn't known.
 */
void
sno_partition_check_setting(void)
{
	if (sno_partition_refused != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 IsParallelWorker() ?
				 errmsg("parameter \"%s\" cannot be set to its value in the session",
						"sno.partitions") :
				 errmsg("parameter \"%s\" cannot be set to \"%s\"",
						"sno.partitions", sno_partition_refused),
				 errdetail("No id is generated while it is unknown which partitions this server may use."),
				 errhint("Connect without that option. If you did not give it, set a valid range in the configuration file, for all roles and databases, and reload it. See doc/operations.md#trouble.")));
}

/* Return the block of a partition in a space, or NULL if the block isn't made. */
static SnoPartition *
block_of(const SnoSpace *space, int number)
{
	dsa_pointer place = dsa_pointer_atomic_read(unconstify(dsa_pointer_atomic *,
														   &space->partitions.blocks[number / SNO_BLOCK]));

	/* Read the block after its pointer, which was set when the block was complete. */
	pg_read_barrier();
	return DsaPointerIsValid(place) ? dsa_get_address(sno_area, place) : NULL;
}

/* Does the partition belong to named generators? */
static bool
is_named(const SnoSpace *space, int number)
{
	pg_atomic_uint32 *bits = unconstify(pg_atomic_uint32 *, &space->partitions.named[number / 32]);

	return pg_atomic_read_u32(bits) >> number % 32 & 1;
}

/* Return a constant that stands for a partition whose block isn't made. */
static const SnoPartition *
without_block(const SnoSpace *space, int number)
{
	static const SnoPartition untouched = {.generator.word = SNO_WORD_CLOSED},
				for_named = {.generator.word = SNO_WORD_CLOSED,.named = true};

	return is_named(space, number) ? &for_named : &untouched;
}

/* Return the block of a partition of this session's space, or NULL if the block isn't made. */
static inline SnoPartition *
my_block(int number)
{
	SnoPartition **block = &blocks[number / SNO_BLOCK];

	if (unlikely(*block == NULL))
		*block = block_of(sno_space, number);
	return *block;
}

/* Return a partition of this session's space, for reading. */
const SnoPartition *
sno_partition_at(int number)
{
	SnoPartition *block = my_block(number);

	return unlikely(block == NULL) ? without_block(sno_space, number) : &block[number % SNO_BLOCK];
}

/* Return a partition of any space, for reading.  The caller has called sno_spaces_hold(). */
const SnoPartition *
sno_partition_in(const SnoSpace *space, int number)
{
	const SnoPartition *block = block_of(space, number);

	return block == NULL ? without_block(space, number) : &block[number % SNO_BLOCK];
}

/* Make a block, unless another session makes it first. */
static void
make_block(int index)
{
	dsa_pointer none = InvalidDsaPointer;
	dsa_pointer place = sno_space_allocate(SNO_BLOCK * sizeof(SnoPartition));
	SnoPartition *block = dsa_get_address(sno_area, place);

	for (int i = 0; i < SNO_BLOCK; i++)
	{
		block[i].number = index * SNO_BLOCK + i;
		sno_generator_end(&block[i].generator);
		sno_turn_create(&block[i].turn);
	}
	if (!dsa_pointer_atomic_compare_exchange(&sno_space->partitions.blocks[index], &none, place))
	{
		sno_space_free(place, SNO_BLOCK * sizeof(SnoPartition));
		return;
	}
	/*
	 * A session may give a partition to named generators at the same time.  Then `named` is set
	 * here, by that session, or by the next session that claims the partition.
	 */
	for (int i = 0; i < SNO_BLOCK; i++)
		if (is_named(sno_space, block[i].number))
			block[i].named = true;
}

/* Return a partition, for changes.  Raises an error if its block can't be made or mapped. */
static SnoPartition *
partition_to_change(int number)
{
	if (my_block(number) == NULL)
		make_block(number / SNO_BLOCK);
	return &my_block(number)[number % SNO_BLOCK];
}

const SnoPurposeRules sno_purpose_rules[SNO_PURPOSES] = {
	[SNO_FOR_CLOCK] = {"sno_generate()", true, 1},
	[SNO_FOR_BACKFILL] = {"sno_generate_at()", false, 2},
	[SNO_FOR_LOANS] = {"sno_borrow_partition()", true, 1}
};

/* May this session use the partition?  No session may use a partition of named generators. */
bool
sno_partition_is_usable(const SnoPartition *p)
{
	int			number = sno_partition_number(p);

	return number >= sno_partition_range.first &&
		number <= sno_partition_range.last &&
		!p->named && sno_grant_is_in_force(p->holder);
}

/* Must the partition be closed, because no session may issue there any more? */
bool
sno_partition_is_void(const SnoPartition *p)
{
	return p->named || p->life != sno_space->life || !sno_grant_is_in_force(p->holder);
}

/*
 * Take the turn of a partition in order to reserve it, and return the partition.  Returns NULL if
 * another session has the turn, or if the partition belongs to named generators.  The caller must
 * check the partition again, because it may have changed since it was chosen.
 */
SnoPartition *
sno_partition_claim(int number)
{
	SnoPartition *p = partition_to_change(number);

	if (!sno_turn_try(&p->turn))
		return NULL;
	if (!is_named(sno_space, number))
		return p;
	p->named = true;
	sno_turn_release(&p->turn);
	return NULL;
}

/* Note that this session, which has the turn of a partition, has written the partition's row. */
void
sno_partition_note_use(SnoPartition *p)
{
	p->life = sno_space->life;
	sno_shmem_note_use(p->number);
}

/*
 * Return the number of places of the list that were ever used.  If sessions use new places at the
 * same time, the number may be too low until the next place is used.
 */
static int
places(void)
{
	return (int) pg_atomic_read_u32(&sno_space->partitions.places);
}

/* Return the partition whose number plus 1 is stored in *place, or NULL if 0 is stored there. */
static SnoPartition *
stored_in(pg_atomic_uint32 *place)
{
	uint32		number = pg_atomic_read_u32(place);

	return number == 0 ? NULL : partition_to_change((int) number - 1);
}

/* Return the partition in a place of the list, or NULL if the place is empty. */
static SnoPartition *
in_place(int place)
{
	return stored_in(&sno_space->partitions.open[place]);
}

/*
 * Remove a closed partition from its place in the list, unless another session has the
 * partition's turn.
 */
static void
remove_closed(int place, SnoPartition *p)
{
	uint32		listed = p->number + 1;

	if (!sno_turn_try(&p->turn))
		return;
	/* Another session may have put another partition into this place. */
	if (!sno_partition_is_open(p))
		pg_atomic_compare_exchange_u32(&sno_space->partitions.open[place], &listed, 0);
	sno_turn_release(&p->turn);
}

/*
 * Choose the place of the list to clear when all places are used.  If the lease of a listed
 * partition is over, choose the place of this partition.  Otherwise, choose the place of the
 * partition that is furthest ahead of the clock.
 */
static int
choose_place(uint64 now)
{
	uint64		furthest = 0;
	int			place = 0;

	for (int i = 0; i < SNO_PLACES; i++)
	{
		const SnoPartition *p = in_place(i);
		uint64		unit = p == NULL || p->generator.ceiling < now ? UINT64_MAX :
			SNO_WORD_UNIT(sno_generator_load(&p->generator));

		if (unit > furthest)
		{
			furthest = unit;
			place = i;
		}
	}
	return place;
}

/*
 * Put a partition into a place of the list that contains `old`, or that is empty if `old` is
 * NULL.  Close `old`.  Returns false if the place has changed.
 */
static bool
put_in(int place, const SnoPartition *p, SnoPartition *old)
{
	uint32		before = old == NULL ? 0 : old->number + 1;

	if (old != NULL)
		sno_generator_end(&old->generator);
	if (!pg_atomic_compare_exchange_u32(&sno_space->partitions.open[place], &before, p->number + 1))
		return false;
	/*
	 * Close the old partition again: a session may have reopened it before it was removed from
	 * the list.
	 */
	if (old != NULL)
		sno_generator_end(&old->generator);
	sno_counters_init(&sno_space->partitions.counters[place], SNO_SEQUENCE_MAX + 1);
	if (place >= places())
		pg_atomic_write_u32(&sno_space->partitions.places, place + 1);
	return true;
}

/*
 * Add a partition, whose turn this session has, to the list.  The partition is in the list
 * already if it was open before, and has not been removed.
 */
static void
list_open(const SnoPartition *p, uint64 now)
{
	int			place;

	if (sno_partition_counters(p) != NULL)
		return;
	for (int i = 0; i < SNO_PLACES; i++)
		if (in_place(i) == NULL && put_in(i, p, NULL))
			return;
	do
		place = choose_place(now);
	while (!put_in(place, p, in_place(place)));
}

/*
 * Open a partition, whose turn this session has, after its lease was published.  If `listed`, add
 * the partition to the list, so that all sessions find it.
 */
void
sno_partition_open(SnoPartition *p, uint64 now, bool listed)
{
	sno_generator_open(&p->generator, sno_generator_word(&p->generator) & ~SNO_WORD_CLOSED);
	if (listed)
		list_open(p, now);
}

/*
 * Return the open partition of this purpose with the next number after p, or with the lowest
 * number if p is NULL.  Returns NULL if there is none.  Partitions that this session may not use
 * are left out.
 */
SnoPartition *
sno_partition_next_open(SnoPurpose purpose, const SnoPartition *p)
{
	SnoPartition *next = NULL;

	for (int i = 0; i < places(); i++)
	{
		SnoPartition *it = in_place(i);

		if (it == NULL)
			continue;
		if (sno_partition_is_void(it))
			sno_generator_end(&it->generator);
		if (!sno_partition_is_open(it))
			remove_closed(i, it);
		else if (it->purpose == purpose && sno_partition_is_usable(it) && (p == NULL || it->number > p->number) &&
				 (next == NULL || it->number < next->number))
			next = it;
	}
	return next;
}

/* Return the partition that was last lent in slices (generate/loan.c), or NULL if there is none. */
SnoPartition *
sno_partition_lent(void)
{
	return stored_in(&sno_space->partitions.lent);
}

/* Return the counters of a partition, or NULL if the partition isn't listed. */
SnoCounters *
sno_partition_counters(const SnoPartition *p)
{
	for (int i = 0; i < places(); i++)
		if (pg_atomic_read_u32(&sno_space->partitions.open[i]) == p->number + 1U)
			return &sno_space->partitions.counters[i];
	return NULL;
}

/*
 * Does a grant of this partition cover the unit of a given time?  The partition's lease doesn't
 * show this, because the ceiling of that lease is SNO_UNIT_MAX.
 */
bool
sno_partition_is_granted(const SnoPartition *p, uint64 unit)
{
	const SnoGrant *grant;
	bool		granted;

	if (p->holder == 0)
		return true;
	LWLockAcquire(&sno_space->grants.lock, LW_SHARED);
	grant = sno_grants_find(&sno_space->grants.partitions.grants, sno_partition_number(p));
	granted = p->holder == sno_space->grants.partitions.grants.holder && grant != NULL && sno_grant_covers(grant, unit);
	LWLockRelease(&sno_space->grants.lock);
	return granted;
}

/*
 * Find the grant that limits the leases of a partition (G3): a lease begins after the grant's
 * floor, and ends at its ceiling at the latest.  Returns false if the holder under which the
 * partition was reserved has no such grant.  Also returns false if the partition was granted anew
 * since it was reserved.  In this case, another holder may have issued ids in units that the
 * generator counts as unused.
 */
bool
sno_partition_find_limits(const SnoPartition *p, SnoGrant *limits)
{
	if (sno_is_registered())
		return sno_grant_find(&sno_space->grants.partitions, sno_partition_number(p), p->holder, limits) &&
			(!sno_partition_rules(p)->by_clock || limits->floor <= p->generator.lease_floor);
	*limits = (SnoGrant) {0, SNO_UNIT_MAX, sno_partition_range.first, sno_partition_range.last};
	return true;
}

/*
 * Close all partitions of this database, and revoke the nodes that named generators have chosen.
 * The caller makes sure that no session opens a partition meanwhile.  A session that has begun to
 * issue an id may still issue it.
 */
void
sno_partition_close_all(void)
{
	pg_atomic_fetch_add_u64(&sno_space->revocations, 1);
	for (int i = 0; i < SNO_PARTITIONS; i++)
		if (sno_partition_is_open(sno_partition_at(i)))
			sno_generator_end(&partition_to_change(i)->generator);
}

/*
 * Mark a partition as given to named generators.  A session that claims the partition from now on
 * sees the mark.
 */
void
sno_partition_set_named(int number)
{
	SnoPartition *block;

	pg_atomic_fetch_or_u32(&sno_space->partitions.named[number / 32], UINT32_C(1) << number % 32);
	pg_memory_barrier();
	block = my_block(number);
	if (block != NULL)
		block[number % SNO_BLOCK].named = true;
	sno_shmem_note_use(number);
}

/*
 * Return a copy of a partition.  If the partition belongs to named generators, and no session has
 * its turn, the partition is closed for good, and the copy is exact.
 */
SnoPartition
sno_partition_copy(int number)
{
	const SnoPartition *p = sno_partition_at(number);
	bool		named = is_named(sno_space, number);
	bool		held = sno_partition_is_held(p);
	SnoPartition copy;

	/* Read the turn's owner first: a session stores the other fields before it releases the turn. */
	pg_memory_barrier();
	if (named && !held && sno_partition_is_open(p))
		sno_generator_end(&partition_to_change(number)->generator);
	copy = *p;
	copy.named = named;
	pg_atomic_init_u32(&copy.turn.owner, held);
	return copy;
}
