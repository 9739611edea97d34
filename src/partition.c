/*
 * partition.c
 *		The partitions of the server, in shared memory, and who owns which.
 *
 * A small header in the main shared memory segment, allocated by the first
 * session that generates, holds the handle of a pinned area of dynamic shared
 * memory.  There are the partitions, one cache line each, in blocks that are made
 * when one of theirs is first used; what activity.c notes; and the named
 * generators (pool.c).  So the extension needs no preload, and any process of the
 * server reaches all of it the same way, parallel workers included.  A restart of
 * the server, the one after a crash included, makes it anew: what must survive is
 * in the leases (lease.c).
 *
 * A partition is in one of these states:
 *
 *	owned		by a live session (owner is its pid), never taken from it
 *	revoked		as owned, but the session isn't to issue in it any more, and lays
 *				it to rest when it would give it back
 *	parked		given back with its state, in a list that begins in the header,
 *				most recently parked first, so that few partitions serve many
 *				short sessions; a session of the same database goes on with the
 *				exact state
 *	at rest		neither; it may be leased anew once the clock is past all that
 *				memory and any row of sno_snapshot know of it
 *	untouched	at rest, and never used since the server started
 *
 * One that has named generators (pool.c) is theirs for as long as the server
 * runs: a session that owns it moves on as soon as it notices, and no other gets
 * it.
 *
 * Partitions for given times (at.c) have a list of their own.  As their ceiling is
 * the end of the epoch, the clock is never past it.
 *
 * Locking: the header's lock protects the lists, the header's other fields, and
 * each partition's owner, next and database; without it a session may see if a
 * partition that it didn't give back was revoked.  The generator in a partition,
 * and file, belong to the owner, who steps and changes them without any lock;
 * while there is one, nobody else relies on them, but for the atomic loads of the
 * word.  A partition changes hands only under the lock, in exclusive mode, whose
 * release and acquisition order the stores of one owner before the loads of the
 * next.  While the lock is held nothing raises an error but a lack of memory, for
 * a block or for this process's view of it, which is found out before the change
 * that needs it is begun.
 */
#include "postgres.h"

#include "activity.h"
#include "partition.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#define SNO_MAGIC			UINT64CONST(0x736E6F2070617274) /* "sno part" */
#define SNO_LAYOUT_VERSION	3

/* The owner of a partition that was revoked. */
#define REVOKED				(-1)

/* Ends of the list of parked partitions, and a partition that isn't in it. */
#define NOT_PARKED			0
#define LAST_PARKED			(-1)

/* In place of a link: the partition is for named generators. */
#define NAMED				(-2)

/* Their groups are in as many lists, by the partition's number. */
#define GROUP_LISTS			64

/* Partitions of a block. */
#define BLOCK				1024
#define BLOCKS				(SNO_PARTITIONS / BLOCK)

typedef struct SnoHeader
{
	uint64		magic;			/* set last, when all is in place */
	uint32		layout;
	int			tranche;
	dsa_handle	area;
	dsa_pointer activity;
	dsa_pointer blocks[BLOCKS]; /* of partitions, once there are any */
	int32		parked[2];		/* number + 1 of the first one, or LAST_PARKED,
								 * of those for the clock and for given times */
	dsa_pointer groups[GROUP_LISTS];	/* of named generators, for pool.c */
	int64		clock_offset;	/* µs, see clock.c */
	bool		clock_known;
	LWLock		lock;
} SnoHeader;

/*
 * The header's size stays the same in all versions, for ShmemInitStruct()
 * raises an internal error where it doesn't; the layout is for us to compare.
 */
#define SNO_HEADER_SIZE		2048

StaticAssertDecl(sizeof(SnoHeader) <= SNO_HEADER_SIZE, "sno header too large");
StaticAssertDecl(sizeof(SnoPartition) == 64, "a partition is not a cache line");

SnoPartitionRange sno_partition_range = {0, SNO_PARTITION_MAX};
const char *sno_partition_refused;

static SnoHeader *header;
static dsa_area *area;

/* The blocks that this process has looked at. */
static SnoPartition *blocks[BLOCKS];

/* Create the area; the caller holds AddinShmemInitLock and pins the mapping. */
static dsa_area *
create_area(SnoHeader *h)
{
	dsa_area   *a = dsa_create(h->tranche);

	h->activity = sno_activity_create(a, h->tranche);
	dsa_pin(a);
	h->area = dsa_get_handle(a);
	return a;
}

/*
 * Make the partitions accessible to this process, for as long as it lives.
 * Raises an error if shared memory can't be had, or was laid out by another
 * version of this library.
 */
void
sno_partition_attach(void)
{
	SnoHeader  *h;
	MemoryContext context;
	dsa_area   *a = NULL;
	bool		found;

	if (area != NULL)
		return;

	context = MemoryContextSwitchTo(TopMemoryContext);
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	h = ShmemInitStruct("sno", SNO_HEADER_SIZE, &found);
	if (!found)
		memset(h, 0, SNO_HEADER_SIZE);
	if (h->magic == 0)
	{
		/* Each of these may fail, and then be tried again. */
		if (h->tranche == 0)
			h->tranche = sno_new_tranche("sno");
		a = create_area(h);
		h->layout = SNO_LAYOUT_VERSION;
		h->parked[false] = h->parked[true] = LAST_PARKED;
		LWLockInitialize(&h->lock, h->tranche);
		h->magic = SNO_MAGIC;
	}
	LWLockRelease(AddinShmemInitLock);

	if (h->magic != SNO_MAGIC || h->layout != SNO_LAYOUT_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shared memory of extension \"sno\" belongs to another version of its library"),
				 errhint("The library was replaced while the server was running: restart the server.")));

	sno_register_tranche(h->tranche, "sno");
	if (a == NULL)
		a = dsa_attach(h->area);
	sno_activity_attach(dsa_get_address(a, h->activity));
	MemoryContextSwitchTo(context);

	/* From here on nothing fails. */
	dsa_pin_mapping(a);
	header = h;
	area = a;
}

/* The area that the header leads to. */
dsa_area *
sno_partition_area(void)
{
	return area;
}

/*
 * A partition, to be looked at; without the lock by activity.c's rules.  One
 * whose block isn't there was never used.
 */
const SnoPartition *
sno_partition_at(int number)
{
	static const SnoPartition untouched;
	SnoPartition **block = &blocks[number / BLOCK];

	if (unlikely(*block == NULL))
	{
		dsa_pointer place = __atomic_load_n(&header->blocks[number / BLOCK],
											__ATOMIC_ACQUIRE);

		if (!DsaPointerIsValid(place))
			return &untouched;
		*block = dsa_get_address(area, place);
	}
	return &(*block)[number % BLOCK];
}

/* A partition, to be changed.  The lock is held; see the banner for errors. */
static SnoPartition *
partition(int number)
{
	dsa_pointer *place = &header->blocks[number / BLOCK];

	if (blocks[number / BLOCK] == NULL && !DsaPointerIsValid(*place))
		__atomic_store_n(place, dsa_allocate0(area, BLOCK * sizeof(SnoPartition)),
						 __ATOMIC_RELEASE);
	return unconstify(SnoPartition *, sno_partition_at(number));
}

/* Of a partition that sno_partition_at() gave. */
int
sno_partition_number(const SnoPartition *p)
{
	static int	last;			/* block, which mostly is this one's, too */

	while (blocks[last] == NULL || p < blocks[last] || p >= blocks[last] + BLOCK)
		last = (last + 1) % BLOCKS;
	return last * BLOCK + (int) (p - blocks[last]);
}

/* Is it in the range that this server may use, and no named generator's? */
bool
sno_partition_usable(const SnoPartition *p)
{
	int			number = sno_partition_number(p);

	return number >= sno_partition_range.first &&
		number <= sno_partition_range.last &&
		__atomic_load_n(&p->next, __ATOMIC_RELAXED) != NAMED;
}

/* These four are called with the lock held. */

static void
give_back(SnoPartition *p)
{
	int32	   *first = &header->parked[p->generator.given];

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
	int32	   *link = &header->parked[p->generator.given];

	if (p->owner != 0 || p->next == NOT_PARKED || p->next == NAMED)
		return;
	while (*link != number + 1)
		link = &partition(*link - 1)->next;
	pop_parked(link);
}

static SnoPartition *
hand_over(SnoPartition *p, SnoPartition *old)
{
	p->owner = MyProcPid;
	if (old != NULL)
		give_back(old);
	return p;
}

/*
 * Take a parked partition of this database, for given times or not, where a
 * step would issue in `unit`, the one parked last if there are several, and
 * park `old` (NULL for none) in its stead.  NULL, and no change, if there is
 * none.
 */
SnoPartition *
sno_partition_exchange(SnoPartition *old, uint64 unit, bool given)
{
	SnoPartition *p = NULL;
	int32	   *link;

	LWLockAcquire(&header->lock, LW_EXCLUSIVE);
	for (link = &header->parked[given]; *link != LAST_PARKED;
		 link = &partition(*link - 1)->next)
	{
		p = partition(*link - 1);
		if (p->database == MyDatabaseId && sno_partition_usable(p) &&
			(given ? sno_generator_ready_given(&p->generator, unit) :
			 sno_generator_ready(&p->generator, unit)))
			break;
	}
	p = *link == LAST_PARKED ? NULL : hand_over(pop_parked(link), old);
	LWLockRelease(&header->lock);
	return p;
}

static bool
at_rest(int number)
{
	const SnoPartition *p = sno_partition_at(number);

	return p->owner == 0 && p->next == NOT_PARKED;
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
 * Of the partitions that others used, the one whose use ended longest ago; -1
 * if none is free.  "Others" are the holders of rows that aren't our own, and
 * the other databases of this server.
 */
static int
find_foreign(uint64 now, const SnoBounds *bounds)
{
	uint64		lowest = now;
	int			found = -1;

	for (int i = sno_partition_range.first; i <= sno_partition_range.last; i++)
	{
		const SnoPartition *p = sno_partition_at(i);
		uint64		floor;

		if (p->owner != 0 || (!at_rest(i) && p->database == MyDatabaseId) ||
			named(i, bounds))
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
		else if (p->next != NOT_PARKED)
		{
			tally.parked++;
			tally.parked_here += p->database == MyDatabaseId && !p->generator.given;
		}
		else if (known_floor(i, sno_bound(bounds, i)) >= now)
			tally.resting++;
		else
			tally.free++;
	}
	return tally;
}

/*
 * A partition that was never leased, as far as memory and rows know, the first
 * one from a start that the holder gives; -1 if there is none.
 */
static int
find_untouched(const SnoBounds *bounds, uint64 holder)
{
	int			count = range_count();
	int			start = (int) (holder % count);

	for (int i = 0; i < count; i++)
	{
		int			number = sno_partition_range.first + (start + i) % count;

		if (sno_bound(bounds, number) == 0 && at_rest(number) &&
			!named(number, bounds) && sno_partition_at(number)->database == InvalidOid)
			return number;
	}
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

	for (int i = sno_partition_range.first; i <= sno_partition_range.last; i++)
		if (sno_bound(bounds, i) != 0 &&
			SNO_BOUND_CEILING(sno_bound(bounds, i)) == SNO_UNIT_MAX)
			gone++;
	return gone > range_count() / 2 ? -1 : find_untouched(bounds, holder);
}

/*
 * Choose a partition to lease anew; -1 if the pool is used up.  Our own lapsed
 * ones come first; then those never leased, consecutively from a start that
 * the holder gives; then what others leased.
 */
static int
choose(uint64 now, const SnoBounds *bounds, uint64 holder)
{
	int			number;

	for (int i = sno_partition_range.first; i <= sno_partition_range.last; i++)
		if (SNO_BOUND_OWN(sno_bound(bounds, i)) && at_rest(i) && !named(i, bounds) &&
			known_floor(i, sno_bound(bounds, i)) < now)
			return i;

	number = find_untouched(bounds, holder);
	return number >= 0 ? number : find_foreign(now, bounds);
}

/*
 * Reserve a partition for a new lease, for given times or not, and park `old`
 * (NULL for none) in its stead.  `bounds` is what the rows say of all
 * partitions.  It comes without a lease: the caller writes one before it issues
 * anything.  NULL, and no change, if the pool is used up.
 */
SnoPartition *
sno_partition_reserve(SnoPartition *old, uint64 now, const SnoBounds *bounds,
					  uint64 holder, bool given)
{
	SnoPartition *p = NULL;
	int			number;

	LWLockAcquire(&header->lock, LW_EXCLUSIVE);
	number = given ? choose_given(bounds, holder) : choose(now, bounds, holder);
	if (number >= 0)
	{
		p = partition(number);
		unpark(number);
		hand_over(p, old);
		p->database = MyDatabaseId;
		p->file = InvalidOid;
		if (given)
			sno_generator_start_given(&p->generator, 0, SNO_SEQUENCE_MAX);
		else
			sno_generator_start(&p->generator,
								known_floor(number, sno_bound(bounds, number)),
								0, SNO_SEQUENCE_MAX);
	}
	LWLockRelease(&header->lock);
	return p;
}

/* Give a partition back, with its state. */
void
sno_partition_park(SnoPartition *p)
{
	LWLockAcquire(&header->lock, LW_EXCLUSIVE);
	give_back(p);
	LWLockRelease(&header->lock);
}

/* Lay a partition to rest that another holder's row names too. */
void
sno_partition_abandon(SnoPartition *p)
{
	LWLockAcquire(&header->lock, LW_EXCLUSIVE);
	p->owner = 0;
	LWLockRelease(&header->lock);
}

/*
 * Revoke all partitions of this database: those that are parked are at rest at
 * once, the others when their sessions see it, which is before they begin to
 * make another id.
 */
void
sno_partition_revoke(void)
{
	LWLockAcquire(&header->lock, LW_EXCLUSIVE);
	for (int i = 0; i < (int) lengthof(header->parked); i++)
	{
		int32	   *link = &header->parked[i];

		while (*link != LAST_PARKED)
		{
			SnoPartition *p = partition(*link - 1);

			if (p->database == MyDatabaseId)
				pop_parked(link);
			else
				link = &p->next;
		}
	}
	for (int i = 0; i < SNO_PARTITIONS; i++)
	{
		const SnoPartition *p = sno_partition_at(i);

		if (p->owner != 0 && p->database == MyDatabaseId)
			__atomic_store_n(&partition(i)->owner, REVOKED, __ATOMIC_RELAXED);
	}
	LWLockRelease(&header->lock);
}

/* The first of the list in which a partition's group is, if it has one. */
dsa_pointer
sno_partition_groups(int number)
{
	dsa_pointer group;

	LWLockAcquire(&header->lock, LW_SHARED);
	group = header->groups[number % GROUP_LISTS];
	LWLockRelease(&header->lock);
	return group;
}

/*
 * Put a partition's group at the head of its list, if that is `next` still, and
 * make the partition one of named generators.  False, and no change, otherwise.
 */
bool
sno_partition_add_group(int number, dsa_pointer group, dsa_pointer next)
{
	bool		same;

	LWLockAcquire(&header->lock, LW_EXCLUSIVE);
	same = header->groups[number % GROUP_LISTS] == next;
	if (same)
	{
		SnoPartition *p = partition(number);

		unpark(number);
		header->groups[number % GROUP_LISTS] = group;
		__atomic_store_n(&p->next, NAMED, __ATOMIC_RELAXED);
	}
	LWLockRelease(&header->lock);
	return same;
}

/*
 * Has a partition of named generators no owner?  Then *was is what it was used
 * for before; else *owner is the session's pid.
 */
bool
sno_partition_claim(int number, SnoPartition *was, int *owner)
{
	LWLockAcquire(&header->lock, LW_SHARED);
	*was = *sno_partition_at(number);
	*owner = was->owner;
	LWLockRelease(&header->lock);
	return *owner == 0;
}

void
sno_partition_init_lock(LWLock *lock)
{
	LWLockInitialize(lock, header->tranche);
}

static bool
differs(int64 a, int64 b, int64 tolerance)
{
	return a > b + tolerance || a < b - tolerance;
}

/*
 * Remember the wall clock's offset from the monotonic one.  True, for one
 * session only, if it differs from the one known *before by more than
 * `tolerance`; all in microseconds.
 */
bool
sno_partition_note_clock(int64 offset, int64 tolerance, int64 *before)
{
	bool		stepped;

	/* Mostly there is nothing to note; the lock settles what is. */
	if (header->clock_known && !differs(offset, header->clock_offset, tolerance))
		return false;

	LWLockAcquire(&header->lock, LW_EXCLUSIVE);
	*before = header->clock_offset;
	stepped = header->clock_known && differs(offset, *before, tolerance);
	if (stepped || !header->clock_known)
		header->clock_offset = offset;
	header->clock_known = true;
	LWLockRelease(&header->lock);
	return stepped;
}
