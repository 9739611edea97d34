/*
 * shmem.c
 *		The extension's shared memory, its header, and the parts that all databases share.
 *
 * A small header holds the handle of a pinned area of dynamic shared memory.  All other memory is
 * in that area: the slots of activity.c, and a space for each database whose sessions generate
 * (space.c).  So the extension needs no preload, and any process of the server, parallel workers
 * included, reaches all of it in the same way.  A restart of the server makes all memory anew.
 *
 * If the library is preloaded, the header is reserved in the main shared memory segment.
 * Otherwise the first session that needs it makes a named segment of dynamic shared memory.
 * Before PostgreSQL 17 there are no such segments, and the header takes memory that the main
 * segment has left.  Others, above all the lock table, take from that memory, too, and never
 * give any back.  If none is left, there is an error until the server is restarted.
 *
 * Databases share nothing more, so no owner of a database can stop or slow others.
 * There is one exception: a map of the partitions that any database used since the server
 * started.  Other databases avoid these partitions while they can.
 *
 * Locking: the header's lock protects the fields of the header.  The map is changed atomically, so
 * it is read without a lock.
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
 * SnoActivity, SnoJournal, SnoGroup, SnoNamedState, SnoFeed, or one that they contain.
 */
#define SNO_SHMEM_VERSION	17

/* Partitions that some database used, 32 to a word */
#define MAP_WORDS			(SNO_PARTITIONS / 32)

/*
 * The header's size stays the same in all versions, because PostgreSQL raises an internal
 * error if it differs.  We compare the layout ourselves.  This size is the least that
 * PostgreSQL allocates, so it fits where anything does.
 */
#define SNO_HEADER_SIZE		PG_CACHE_LINE_SIZE

StaticAssertDecl(sizeof(SnoHeader) <= SNO_HEADER_SIZE, "sno header too large");

SnoHeader  *sno_header;
dsa_area   *sno_area;

static SnoHeader *reserved;		/* if the library is preloaded */
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

/* Called when the library is loaded. */
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

/* The header, found or made. */
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

/* Make the area.  The caller holds AddinShmemInitLock, and pins the mapping. */
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
 * Make shared memory accessible to this process, for as long as it lives.  Raises an
 * error if there is not enough memory, or if another version of this library laid it
 * out.
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
		/* Each of these may fail, and then be tried again. */
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

	/* From here on nothing fails. */
	dsa_pin_mapping(area);
	sno_header = h;
	sno_area = area;
}

void
sno_shmem_init_lock(LWLock *lock)
{
	LWLockInitialize(lock, sno_header->tranche);
}

/* Note that a database uses a partition. */
void
sno_shmem_note_use(int partition)
{
	pg_atomic_fetch_or_u32(&map[partition / 32], UINT32_C(1) << partition % 32);
}

/* Did any database use a partition since the server started? */
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
 * Remember the wall clock's offset from the monotonic one.  True, for one session only, if
 * it differs from the former offset, *before, by more than `tolerance`; all in
 * microseconds.
 */
bool
sno_shmem_note_clock(int64 offset, int64 tolerance, int64 *before)
{
	bool		stepped;

	/* Mostly there is nothing to note.  Otherwise, compare again under the lock. */
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
