/*
 * space.c
 *		The space of each database in shared memory.
 *
 * A space has all that the sessions of a database share.  It is found by the OID of the database.
 * But if a database is dropped and made again with the same OID, it is another database.  So a
 * space also remembers the incarnation of its database: the transaction that wrote the row of
 * pg_database.  ALTER DATABASE changes the incarnation, too.  But a database that has a session
 * can't be dropped.  So:
 *
 *	- While a space has users, it belongs to their database, even if the incarnation changes.
 *	- A session that enters a space without users, and finds another incarnation, begins a new
 *	  life of the space.  Then nobody relies on leases of a former life: partitions are leased anew
 *	  before they are used, and named generators read the rows again.  Ids that were issued stay
 *	  known.
 *
 * The home of a database (catalog/home.c) is looked up anew when a space without users is
 * entered.
 *
 * A session that finds no space of its database clears the spaces of databases that are gone:
 * blocks of partitions, groups and states of named generators are freed.  Such a space stays in
 * the list, with its feed, and is used again for another database, in a new life in which nothing
 * is known.  The feed follows when a session attaches to it (feed_memory.c).
 *
 * Locking: the header's lock protects the list of spaces, and each space's database, incarnation
 * and users.  A space's life is constant while it has users.  All other fields of a space are
 * atomic, or protected by the lock of its grants.  Spaces are only ever added to the list, so it
 * can be read without a lock.
 *
 * Memory of a space is freed only under the header's lock, in exclusive mode, and only while the
 * space has no users.  A session is a user of its own space as long as it uses anything there.
 * To look at other spaces (monitor/generators.c), a session holds the header's lock, shared, and
 * copies from them (sno_spaces_hold()).
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
	dsa_pointer place = dsa_pointer_atomic_read(&sno_header->spaces);

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
 * Free all elements of a list, which have the pointer to the next one at an offset.  Each
 * is taken out of the list first, so an error leaves no freed element in the list.
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
 * Clear a space whose database is gone, and free its memory.  The lock is held.
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
		LWLockAcquire(&sno_header->lock, LW_EXCLUSIVE);
		if (space->users == 0 && space->database == database && space->incarnation == incarnation)
			clear_space(space);
		LWLockRelease(&sno_header->lock);
	}
}

/* Make a space, and put it into the list.  The lock is held. */
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
 * Enter the space of this session's database, until the session ends.  Callbacks that use
 * the space at the end of the session must be registered after this call.
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

/* Until sno_spaces_release(), no space changes hands, and no memory of a space is freed. */
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

/* Raise an error if this session's database may not have so much more memory. */
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
 * database has too much.  Concurrent sessions may exceed the limit together, each by the
 * size of its request.
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
