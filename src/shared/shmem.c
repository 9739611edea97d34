/*
 * shmem.c
 *		The extension's shared memory, and the space of each database in it.
 *
 * A small header holds the handle of a pinned area of dynamic shared memory.  All else
 * is there: what activity.c notes, and a space for each database whose sessions
 * generate.  So the extension needs no preload, and any process of the server
 * reaches all of it the same way, parallel workers included.  A restart of the
 * server makes it anew.
 *
 * If the library is preloaded, the header has memory that is reserved in the main shared
 * memory segment.  Otherwise the first session that needs it makes a named segment of
 * dynamic shared memory.  Before PostgreSQL 17 there is none, and the header takes what
 * the main segment has left.  Others do so, too, and never give it back: the lock table,
 * above all.  If they took all of it, there is an error until the server is restarted.
 *
 * No space sees what is done in another one, so no owner of a database can stop or slow
 * others.  There is one exception: a map of the partitions that any database used since
 * the server started.  Other databases avoid these partitions while they can.
 *
 * Spaces are found by the OID of the database.  But if a database is dropped and made
 * again with the same OID, it is another database.  So a space also remembers the
 * incarnation of its database: the transaction that wrote the database's row of
 * pg_database.  ALTER DATABASE changes that, too.  But a database that has a session
 * can't be dropped.  So:
 *
 *	- While a space has users, it belongs to their database, whatever the incarnation
 *	  says.
 *	- If a session enters a space without users, and finds another incarnation, it
 *	  begins a new life of the space.  Then nobody relies on leases that memory knows
 *	  from a former life: partitions are leased anew before they are used, and named
 *	  generators read the rows again.  What was issued stays known.
 *
 * The home of a database (catalog/home.c) is looked up anew when a space without users is
 * entered.
 *
 * A session may find no space of its database.  Then it takes the spaces of databases that
 * are gone, and frees what they have: blocks of partitions, groups and states of named
 * generators.  Such a space stays in the list, with its feed.  It is used again for another
 * database, in a new life in which nothing is known.  The feed follows when a session
 * attaches to it (feed.c).
 *
 * Locking: the header's lock protects the header's fields, the list of spaces, and each
 * space's database, incarnation and users.  A space's life is constant while it has
 * users.  All else of a space is atomic, or protected by the lock of its grants.  Spaces
 * are only ever added to the list, so it can be read without a lock.  The map can, too,
 * because it is changed atomically.
 *
 * What a space has is freed only under the header's lock, in exclusive mode, and only
 * while the space has no users.  A session is a user of its own space as long as it
 * uses anything there.  To look at what other spaces have (monitor/generators.c), a
 * session holds the header's lock, shared, and copies what it needs (sno_spaces_hold()).
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "compat.h"
#include "shared/activity.h"
#include "shared/shmem.h"

#define SNO_MAGIC			UINT64CONST(0x736E6F2070617274) /* "sno part" */
/*
 * Raise this when a struct in shared memory changes: SnoHeader, SnoSpace, SnoPartition,
 * SnoActivity, SnoJournal, SnoGroup, SnoNamedState, SnoFeed, or one that they contain.
 */
#define SNO_SHMEM_VERSION	17

/* Partitions that some database used, 32 to a word. */
#define MAP_WORDS			(SNO_PARTITIONS / 32)

typedef struct SnoHeader
{
	uint64		magic;			/* set last, when all is in place */
	uint32		layout;
	int			tranche;
	dsa_handle	area;
	dsa_pointer activity;
	dsa_pointer map;			/* MAP_WORDS atomic words */
	dsa_pointer_atomic spaces;
	uint32		lives;			/* of all spaces, so far */
	int64		clock_offset;	/* µs, see clock.c */
	bool		clock_known;
	LWLock		lock;
} SnoHeader;

/*
 * The header's size stays the same in all versions, because PostgreSQL raises an internal
 * error if it doesn't.  We compare the layout ourselves.  It is the least that PostgreSQL
 * allocates, so it finds room where anything does.
 */
#define SNO_HEADER_SIZE		PG_CACHE_LINE_SIZE

StaticAssertDecl(sizeof(SnoHeader) <= SNO_HEADER_SIZE, "sno header too large");

SnoSpace   *sno_space;
dsa_area   *sno_area;

static SnoHeader *header;		/* once this process is attached */
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

/* When the library is loaded. */
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
	header = h;
	sno_area = area;
}

void
sno_shmem_init_lock(LWLock *lock)
{
	LWLockInitialize(lock, header->tranche);
}

/* The incarnation of a database, InvalidTransactionId if there is none. */
static TransactionId
incarnation_of(Oid database)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	TransactionId xid;

	if (!HeapTupleIsValid(tuple))
		return InvalidTransactionId;
	xid = HeapTupleHeaderGetRawXmin(tuple->t_data);
	ReleaseSysCache(tuple);
	return xid;
}

static SnoSpace *
space_at(dsa_pointer place)
{
	return DsaPointerIsValid(place) ? dsa_get_address(sno_area, place) : NULL;
}

static SnoSpace *
first_space(void)
{
	dsa_pointer place = dsa_pointer_atomic_read(&header->spaces);

	pg_read_barrier();
	return space_at(place);
}

/* The space after this one, or the first one (NULL); NULL if there is none.  No lock. */
SnoSpace *
sno_space_next(const SnoSpace *space)
{
	return space == NULL ? first_space() : space_at(space->next);
}

/* The space of a database, NULL if it has none.  Takes no lock. */
const SnoSpace *
sno_space_of(Oid database)
{
	SnoSpace   *space = first_space();

	while (space != NULL && space->database != database)
		space = space_at(space->next);
	return space;
}

/* Nothing is granted, nor asked for yet. */
void
sno_granted_init(SnoGranted *granted)
{
	memset(granted, 0, sizeof(SnoGranted));
	pg_atomic_init_u64(&granted->holder, 0);
	pg_atomic_init_u32(&granted->asked, 0);
}

/* No partition is open. */
static void
clear_open(SnoSpace *space)
{
	for (int i = 0; i < SNO_PLACES; i++)
		pg_atomic_write_u32(&space->partitions.open[i], 0);
	pg_atomic_write_u32(&space->partitions.places, 0);
	pg_atomic_write_u32(&space->partitions.lent, 0);
}

/*
 * Free all of a list whose elements have the pointer to the next one at an offset.  Each
 * is taken out of the list first, so an error leaves nothing behind that was freed.
 */
static void
free_list(dsa_pointer_atomic *first, size_t link)
{
	dsa_pointer place;

	while (DsaPointerIsValid(place = dsa_pointer_atomic_read(first)))
	{
		dsa_pointer_atomic_write(first, *(dsa_pointer *) ((char *) dsa_get_address(sno_area, place) + link));
		dsa_free(sno_area, place);
	}
}

/*
 * Forget all of the database of a space, which is gone, and give its memory back.  The
 * lock is held.
 */
static void
clear_space(SnoSpace *space)
{
	clear_open(space);
	for (int i = 0; i < SNO_BLOCKS; i++)
	{
		dsa_pointer block = dsa_pointer_atomic_read(&space->partitions.blocks[i]);

		dsa_pointer_atomic_write(&space->partitions.blocks[i], InvalidDsaPointer);
		if (DsaPointerIsValid(block))
			dsa_free(sno_area, block);
	}
	for (int i = 0; i < (int) lengthof(space->partitions.named); i++)
		pg_atomic_write_u32(&space->partitions.named[i], 0);
	for (int i = 0; i < SNO_GROUP_LISTS; i++)
		free_list(&space->named.groups[i], 0);
	free_list(&space->named.states, SNO_STATE_LINK);
	free_list(&space->grants.layouts, offsetof(SnoGranted, next));
	pg_atomic_write_u64(&space->allocated, 0);
	sno_granted_init(&space->grants.partitions);
	space->database = InvalidOid;
	space->former++;
}

/*
 * Clear all spaces whose database is gone.  Catalogs are looked at without the lock, so
 * each space is looked at again under it.
 */
static void
clear_orphans(void)
{
	for (SnoSpace *space = first_space(); space != NULL; space = space_at(space->next))
	{
		Oid			database = space->database;
		TransactionId incarnation = space->incarnation;

		if (!OidIsValid(database) || space->users > 0 ||
			incarnation_of(database) != InvalidTransactionId)
			continue;
		LWLockAcquire(&header->lock, LW_EXCLUSIVE);
		if (space->users == 0 && space->database == database && space->incarnation == incarnation)
			clear_space(space);
		LWLockRelease(&header->lock);
	}
}

/* Make a space, and put it into the list.  The lock is held. */
static SnoSpace *
make_space(void)
{
	dsa_pointer place = dsa_allocate0(sno_area, sizeof(SnoSpace));
	SnoSpace   *space = space_at(place);

	LWLockInitialize(&space->grants.lock, header->tranche);
	pg_atomic_init_u64(&space->partitions.leasing, 0);
	pg_atomic_init_u64(&space->home, 0);
	pg_atomic_init_u64(&space->revocations, 0);
	pg_atomic_init_u64(&space->allocated, 0);
	sno_granted_init(&space->grants.partitions);
	clear_open(space);
	space->next = dsa_pointer_atomic_read(&header->spaces);
	pg_write_barrier();
	dsa_pointer_atomic_write(&header->spaces, place);
	return space;
}

static void
begin_life(SnoSpace *space)
{
	if (++header->lives == 0)
		header->lives = 1;
	space->life = header->lives;
}

static void
leave_space(int code, Datum arg)
{
	if (sno_space == NULL)
		return;
	sno_turn_end();
	LWLockAcquire(&header->lock, LW_EXCLUSIVE);
	sno_space->users--;
	LWLockRelease(&header->lock);
	sno_space = NULL;
	pg_atomic_write_u32(&sno_my_activity->has_feed, 0);
}

/*
 * Enter the space of this session's database, until the session ends.  Callbacks
 * that use it at the end of the session are to be registered after this.
 */
void
sno_space_enter(void)
{
	static bool registered = false;
	TransactionId incarnation;
	SnoSpace   *space;

	if (sno_space != NULL)
		return;
	sno_shmem_attach();
	if (!registered)
		before_shmem_exit(leave_space, (Datum) 0);
	registered = true;
	incarnation = incarnation_of(MyDatabaseId);
	if (sno_space_of(MyDatabaseId) == NULL)
		clear_orphans();

	LWLockAcquire(&header->lock, LW_EXCLUSIVE);
	space = unconstify(SnoSpace *, sno_space_of(MyDatabaseId));
	if (space == NULL)
	{
		space = unconstify(SnoSpace *, sno_space_of(InvalidOid));
		if (space == NULL)
			space = make_space();
		space->database = MyDatabaseId;
		space->incarnation = InvalidTransactionId;
	}
	if (space->users == 0 && space->incarnation != incarnation)
		begin_life(space);
	if (space->users == 0)
		pg_atomic_write_u64(&space->home, 0);
	space->incarnation = incarnation;
	space->users++;
	LWLockRelease(&header->lock);
	sno_space = space;
}

/* Until sno_spaces_release(), no space changes hands, and nothing of one is freed. */
void
sno_spaces_hold(void)
{
	LWLockAcquire(&header->lock, LW_SHARED);
}

void
sno_spaces_release(void)
{
	LWLockRelease(&header->lock);
}

/* Does the space still belong to the database?  If so, all spaces are held. */
bool
sno_space_hold(const SnoSpace *space, Oid database)
{
	sno_spaces_hold();
	if (space->database == database)
		return true;
	sno_spaces_release();
	return false;
}

/* May this session's database have so much more memory? */
bool
sno_space_has_room(size_t size)
{
	return pg_atomic_read_u64(&sno_space->allocated) + size <= SNO_SPACE_MEMORY;
}

/* Raise an error if it may not. */
void
sno_space_require_room(size_t size)
{
	if (!sno_space_has_room(size))
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("generators of this database have used too much shared memory"),
				 errdetail("A database can have %d MB for partitions and named generators that were used since the server started.",
						   SNO_SPACE_MEMORY / 1024 / 1024),
				 errhint("Use fewer named generators and partitions. A restart of the server frees the memory. See doc/operations.md#trouble.")));
}

/*
 * Memory for this session's space, cleared.  Raises an error if there is none, or if the
 * database has too much.  Sessions that ask at the same time may get more together, by
 * what each of them asks for.
 */
dsa_pointer
sno_space_allocate(size_t size)
{
	dsa_pointer place;

	sno_space_require_room(size);
	place = dsa_allocate0(sno_area, size);
	pg_atomic_fetch_add_u64(&sno_space->allocated, size);
	return place;
}

/* Give memory of this session's space back. */
void
sno_space_free(dsa_pointer place, size_t size)
{
	dsa_free(sno_area, place);
	pg_atomic_fetch_sub_u64(&sno_space->allocated, size);
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
 * Remember the wall clock's offset from the monotonic one.  True, for one
 * session only, if it differs from the one known *before by more than
 * `tolerance`; all in microseconds.
 */
bool
sno_shmem_note_clock(int64 offset, int64 tolerance, int64 *before)
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
