/*
 * shmem.c
 *		The extension's shared memory: its header, and the parts that all databases share.
 *
 * A small header contains the handle of an area of dynamic shared memory, which is pinned.  All
 * other memory is in this area: the journal and slots (activity.c), and a space for each database
 * whose sessions issue ids (space.c).  Every process of the server, including parallel workers,
 * finds the area by the header.  So the library need not be preloaded.  When the server restarts,
 * all shared memory is made anew.
 *
 * If the library is preloaded, the header is reserved in the main shared memory segment.
 * Otherwise, the first session that needs the header makes it, in a named segment of dynamic
 * shared memory.  PostgreSQL before 17 has no named segments, so the header takes unused memory
 * of the main segment.  Other parts of the server, above all the lock table, take memory from the
 * main segment, too, and never give it back.  If no memory is left there, sessions raise an error
 * until the server is restarted.
 *
 * Databases share only the header, the journal, the slots, and a map of the partitions that any
 * database used since the server started.  So the owner of a database can't stop or slow down the
 * sessions of another one.  By this map, a session finds partitions that no other database has
 * used, and prefers them.
 *
 * Locking: the header's lock protects the fields of the header.  The map is changed by atomic
 * operations, and read without a lock.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#include "compat.h"
#include "shared/activity.h"
#include "shared/shmem.h"

#define SNO_MAGIC			UINT64CONST(0x736E6F2070617274) /* "sno part" */
/*
 * Increase this when a struct in shared memory changes: SnoHeader, SnoSpace, SnoPartition,
 * SnoActivity, SnoJournal, SnoGroup, SnoNamedState, SnoFeed, or a struct that one of these
 * contains.
 */
#define SNO_SHMEM_VERSION	17

/* Number of words in the map, which has a bit for each partition */
#define MAP_WORDS			(SNO_PARTITIONS / 32)

/*
 * The size of the header is the same in all versions of the library, because PostgreSQL raises an
 * internal error if a session asks for another size.  So every version gets as far as
 * sno_shmem_attach(), which compares the versions.  A smaller header would take just as much
 * memory, because PostgreSQL allocates whole cache lines.
 */
#define SNO_HEADER_SIZE		PG_CACHE_LINE_SIZE

StaticAssertDecl(sizeof(SnoHeader) <= SNO_HEADER_SIZE, "sno header too large");

SnoHeader  *sno_header;
dsa_area   *sno_area;

static SnoHeader *reserved;		/* the header if the library is preloaded, otherwise NULL */
static pg_atomic_uint32 *map;

static shmem_request_hook_type next_request_hook;
static shmem_startup_hook_type next_startup_hook;

static void
request_header(void)
{
	if (next_request_hook)
		next_request_hook();
	RequestAddinShmemSpace(SNO_HEADER_SIZE);
}

static void
reserve_header(void)
{
	bool		found;

	if (next_startup_hook)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	reserved = ShmemInitStruct("sno", SNO_HEADER_SIZE, &found);
	if (!found)
		memset(reserved, 0, SNO_HEADER_SIZE);
	LWLockRelease(AddinShmemInitLock);
}

/* This is called when the library is loaded. */
void
sno_shmem_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_header;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = reserve_header;
}

static void
SNO_INITIALIZE_SEGMENT(clear_header, h)
{
	memset(h, 0, SNO_HEADER_SIZE);
}

static void
hint_at_preload(void *arg)
{
	if (geterrcode() == ERRCODE_OUT_OF_MEMORY)
		errhint("Put \"sno\" into \"shared_preload_libraries\", and restart the server.");
}

/* Return the header, and make it if there is none. */
static SnoHeader *
have_header(void)
{
	ErrorContextCallback context = {.previous = error_context_stack,.callback = hint_at_preload};
	SnoHeader  *h;
	bool		found;

	if (reserved != NULL)
		return reserved;
	error_context_stack = &context;
	h = GetNamedDSMSegment("sno", SNO_HEADER_SIZE, clear_header, &found);
	error_context_stack = context.previous;
	return h;
}

/* Make the area.  The caller holds AddinShmemInitLock, and pins the mapping later. */
static dsa_area *
create_area(SnoHeader *h)
{
	dsa_area   *area = dsa_create(h->tranche);

	h->activity = sno_activity_create(area, h->tranche);
	h->map = dsa_allocate0(area, MAP_WORDS * sizeof(pg_atomic_uint32));
	dsa_pin(area);
	h->area = dsa_get_handle(area);
	return area;
}

/*
 * Attach this process to the extension's shared memory until the process ends.  Raises an error
 * if there is not enough memory, or if another version of the library made the shared memory.
 */
void
sno_shmem_attach(void)
{
	SnoHeader  *h;
	MemoryContext context;
	dsa_area   *area = NULL;

	if (sno_area != NULL)
		return;

	context = MemoryContextSwitchTo(TopMemoryContext);
	h = have_header();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	if (h->magic == 0)
	{
		/* If one of these calls raises an error, the next session tries again. */
		if (h->tranche == 0)
			h->tranche = sno_new_tranche("sno");
		area = create_area(h);
		h->layout = SNO_SHMEM_VERSION;
		LWLockInitialize(&h->lock, h->tranche);
		h->magic = SNO_MAGIC;
	}
	LWLockRelease(AddinShmemInitLock);

	if (h->magic != SNO_MAGIC || h->layout != SNO_SHMEM_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("shared memory of extension \"sno\" belongs to another version of its library"),
				 errhint("The library was replaced while the server was running: restart the server. See doc/operations.md#a-new-version-of-the-library.")));

	sno_register_tranche(h->tranche, "sno");
	if (area == NULL)
		area = dsa_attach(h->area);
	sno_activity_attach(dsa_get_address(area, h->activity));
	map = dsa_get_address(area, h->map);
	MemoryContextSwitchTo(context);

	/* Nothing below raises an error. */
	dsa_pin_mapping(area);
	sno_header = h;
	sno_area = area;
}

void
sno_shmem_init_lock(LWLock *lock)
{
	LWLockInitialize(lock, sno_header->tranche);
}

/* Note in the map that a database uses this partition. */
void
sno_shmem_note_use(int partition)
{
	pg_atomic_fetch_or_u32(&map[partition / 32], UINT32_C(1) << partition % 32);
}

/* Did any database use this partition since the server started? */
bool
sno_shmem_is_used(int partition)
{
	return pg_atomic_read_u32(&map[partition / 32]) >> partition % 32 & 1;
}

static bool
differs(int64 a, int64 b, int64 tolerance)
{
	return a > b + tolerance || a < b - tolerance;
}

/*
 * Store the wall clock's offset from the monotonic clock, if no offset is stored yet, or if the
 * new offset differs from the stored one by more than `tolerance`.  In the second case, set
 * *before to the former offset.  Returns true in this case, but only to one of the sessions that
 * notice the difference.  All times are in microseconds.
 */
bool
sno_shmem_note_clock(int64 offset, int64 tolerance, int64 *before)
{
	bool		stepped;

	/* Usually the offset hasn't changed.  Otherwise, compare it again under the lock. */
	if (sno_header->clock_known && !differs(offset, sno_header->clock_offset, tolerance))
		return false;

	LWLockAcquire(&sno_header->lock, LW_EXCLUSIVE);
	*before = sno_header->clock_offset;
	stepped = sno_header->clock_known && differs(offset, *before, tolerance);
	if (stepped || !sno_header->clock_known)
		sno_header->clock_offset = offset;
	sno_header->clock_known = true;
	LWLockRelease(&sno_header->lock);
	return stepped;
}
