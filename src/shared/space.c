/*
 * space.c
 *		The space of each database in shared memory.
 *
 * A space contains everything that the sessions of a database share.  A session finds the space
 * by the OID of its database.  After a database is dropped, another one may get the same OID.  So
 * a space also records the incarnation of its database: the xid of the transaction that wrote the
 * database's row in pg_database.  ALTER DATABASE changes the incarnation, too, although the
 * database remains the same.  But a database can't be dropped while a session is connected to it.
 * So:
 *
 *	- While a space has users, that is, sessions that have entered the space, it belongs to their
 *	  database, even if the incarnation changes.
 *	- A session that enters a space without users, and finds another incarnation, begins a new
 *	  life of the space.  In the new life, no session relies on leases of a former life:
 *	  partitions are leased again before they are used, and named generators read the rows
 *	  again.  But the space still records which ids were issued.
 *
 * When a session enters a space without users, the stored home of the database (catalog/home.c)
 * is cleared, and computed again when it is needed.
 *
 * A session that finds no space for its database clears the spaces of databases that don't exist
 * any more.  This frees their blocks of partitions, and their groups and states of named
 * generators.  A cleared space stays in the list, and keeps its feed.  When another database takes
 * the space over, the space begins a new life, without any record of issued ids.  The feed is
 * adapted when a session attaches to it (feed_memory.c).
 *
 * Locking: the header's lock protects the list of spaces, and the database, the incarnation and
 * the number of users of each space.  The life of a space is constant while the space has users.
 * All other fields of a space are atomic, or protected by the lock of its grants.  No space is
 * ever removed from the list, so the list may be read without a lock.
 *
 * Memory that other sessions can find is freed only while the space has no users, under the
 * header's lock in exclusive mode.  A session is a user of its own space while it uses anything
 * there.  A session that looks at other spaces (monitor/generators.c) holds the header's lock in
 * shared mode, and copies data from them: see sno_spaces_hold().
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/syscache.h"

#include "shared/grant.h"
#include "shared/space.h"

SnoSpace   *sno_space;

/* Return the incarnation of a database, or InvalidTransactionId if the database doesn't exist. */
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
	dsa_pointer place = dsa_pointer_atomic_read(&sno_header->spaces);

	pg_read_barrier();
	return space_at(place);
}

/*
 * Return the space after this one in the list, or the first one if `space` is NULL.  Returns NULL
 * at the end.  Takes no lock.
 */
SnoSpace *
sno_space_next(const SnoSpace *space)
{
	return space == NULL ? first_space() : space_at(space->next);
}

/* Return the space of a database, or NULL if the database has none.  Takes no lock. */
const SnoSpace *
sno_space_of(Oid database)
{
	SnoSpace   *space = first_space();

	while (space != NULL && space->database != database)
		space = space_at(space->next);
	return space;
}

/* Clear the list of open partitions. */
static void
clear_open(SnoSpace *space)
{
	for (int i = 0; i < SNO_PLACES; i++)
		pg_atomic_write_u32(&space->partitions.open[i], 0);
	pg_atomic_write_u32(&space->partitions.places, 0);
	pg_atomic_write_u32(&space->partitions.lent, 0);
}

/*
 * Free all elements of a list.  The pointer to the next element is at offset `link` of each
 * element.  An element is removed from the list before it is freed, so that an error leaves no
 * freed element in the list.
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
 * Clear a space whose database doesn't exist any more, and free its memory.  The caller holds the
 * lock.
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
 * Clear all spaces whose databases don't exist any more.  Catalogs are read before the lock is
 * taken, so each space is checked again under the lock.
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
		LWLockAcquire(&sno_header->lock, LW_EXCLUSIVE);
		if (space->users == 0 && space->database == database && space->incarnation == incarnation)
			clear_space(space);
		LWLockRelease(&sno_header->lock);
	}
}

/* Make a space, and add it to the list.  The caller holds the lock. */
static SnoSpace *
make_space(void)
{
	dsa_pointer place = dsa_allocate0(sno_area, sizeof(SnoSpace));
	SnoSpace   *space = space_at(place);

	LWLockInitialize(&space->grants.lock, sno_header->tranche);
	pg_atomic_init_u64(&space->partitions.leasing, 0);
	pg_atomic_init_u64(&space->home, 0);
	pg_atomic_init_u64(&space->revocations, 0);
	pg_atomic_init_u64(&space->allocated, 0);
	sno_granted_init(&space->grants.partitions);
	clear_open(space);
	space->next = dsa_pointer_atomic_read(&sno_header->spaces);
	pg_write_barrier();
	dsa_pointer_atomic_write(&sno_header->spaces, place);
	return space;
}

static void
begin_life(SnoSpace *space)
{
	if (++sno_header->lives == 0)
		sno_header->lives = 1;
	space->life = sno_header->lives;
}

static void
leave_space(int code, Datum arg)
{
	if (sno_space == NULL)
		return;
	sno_turn_end();
	LWLockAcquire(&sno_header->lock, LW_EXCLUSIVE);
	sno_space->users--;
	LWLockRelease(&sno_header->lock);
	sno_space = NULL;
	pg_atomic_write_u32(&sno_my_activity->has_feed, 0);
}

/*
 * Enter the space of this session's database, and stay its user until the session ends.
 * Callbacks that use the space at the end of the session must be registered after this call, so
 * that they run before the session leaves the space.
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

	LWLockAcquire(&sno_header->lock, LW_EXCLUSIVE);
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
	LWLockRelease(&sno_header->lock);
	sno_space = space;
}

/*
 * Hold all spaces until sno_spaces_release() is called.  Meanwhile, no space gets another
 * database, and no memory of a space is freed.
 */
void
sno_spaces_hold(void)
{
	LWLockAcquire(&sno_header->lock, LW_SHARED);
}

void
sno_spaces_release(void)
{
	LWLockRelease(&sno_header->lock);
}

/* Does the space still belong to the database?  If so, all spaces are held on return. */
bool
sno_space_hold(const SnoSpace *space, Oid database)
{
	sno_spaces_hold();
	if (space->database == database)
		return true;
	sno_spaces_release();
	return false;
}

/* May this session's database take `size` more bytes of memory? */
bool
sno_space_has_room(size_t size)
{
	return pg_atomic_read_u64(&sno_space->allocated) + size <= SNO_SPACE_MEMORY;
}

/* Raise an error if this session's database may not take `size` more bytes of memory. */
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
 * Allocate memory for this session's space, and clear it.  Raises an error if there is no memory,
 * or if the database would exceed its limit.  Sessions that allocate at the same time may exceed
 * the limit, each of them by the size that it allocates.
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

/* Free memory of this session's space. */
void
sno_space_free(dsa_pointer place, size_t size)
{
	dsa_free(sno_area, place);
	pg_atomic_fetch_sub_u64(&sno_space->allocated, size);
}
