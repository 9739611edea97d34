/*
 * space.h
 *		The space of each database in shared memory.
 */
#ifndef SNO_SPACE_H
#define SNO_SPACE_H

#include "postgres.h"

#include "core/asker.h"
#include "core/flake.h"
#include "shared/activity.h"
#include "shared/shmem.h"
#include "shared/turn.h"

#define SNO_PARTITION_SIZE	128 /* bytes: two cache lines */

/* Partitions of a block, which has 8 KB: the sessions of a small database share one. */
#define SNO_BLOCK			64
#define SNO_BLOCKS			(SNO_PARTITIONS / SNO_BLOCK)

/* Number of lists of groups of named generators; the partition's number selects one. */
#define SNO_GROUP_LISTS		64

/*
 * The memory that a database may have for partitions and generators, in bytes.  It
 * is enough for 10,000 generators, or the partitions of 32,000 sessions.  And a dozen
 * databases that use all of theirs leave room for others where /dev/shm has 64 MB, as
 * Docker gives it.  Watermarks of counters take from it, too.  The other memory of a
 * feed comes on top: it depends on max_connections alone.
 */
#define SNO_SPACE_MEMORY	(4 * 1024 * 1024)

/* Offset, in the state of a named generator, of the pointer to the next state of its space. */
#define SNO_STATE_LINK		PG_CACHE_LINE_SIZE

/* The purposes of partitions; partition.c has the rules of each. */
typedef enum SnoPurpose
{
	SNO_FOR_CLOCK,				/* ids of the present time */
	SNO_FOR_BACKFILL,			/* ids of given times */
	SNO_FOR_LOANS,				/* ids that applications generate */
	SNO_PURPOSES
} SnoPurpose;

/*
 * Partitions that are open at the same time, at most.  One is enough, unless sessions have
 * different ranges, or the clock steps back twice.
 */
#ifndef SNO_PLACES				/* a model has fewer */
#define SNO_PLACES			128
#endif

/* The nodes of a layout that the registry grants, to any server */
typedef struct SnoNodeRange
{
	bool		known;
	int64		first;
	int64		last;			/* -1 if it grants none */
} SnoNodeRange;

/*
 * The grants of the registry to a database, of partitions or of nodes of a layout.  grant.c
 * describes its locking.
 */
typedef struct SnoGranted
{
	dsa_pointer next;			/* the one of the next layout */
	dsa_pointer place;			/* of this, if it is a layout's */
	SnoLayout	layout;			/* of zeros: partitions */
	pg_atomic_uint64 holder;	/* in force, or 0 */
	pg_atomic_uint32 asked;		/* do sessions want the registry to be asked? */
	int32		blocks_wanted;
	int64		renew_at;		/* monotonic µs */
	uint64		answered;		/* unit in which the registry last answered for it, or 0 */
	SnoNodeRange range;			/* of a layout */
	SnoGrants	grants;
} SnoGranted;

/* The partitions of a database, and those in use: see partition.c. */
typedef struct SnoPartitions
{
	dsa_pointer_atomic blocks[SNO_BLOCKS];	/* once there are any */
	pg_atomic_uint32 named[SNO_PARTITIONS / 32];	/* a bit for each partition of named generators */
	pg_atomic_uint64 leasing;	/* since when a session leases one, monotonic µs, or 0 */
	pg_atomic_uint32 places;	/* number of places of `open` that were used */
	pg_atomic_uint32 open[SNO_PLACES];	/* number + 1 of each open one; 0: empty */
	SnoCounters counters[SNO_PLACES];	/* of the open ones */
	pg_atomic_uint32 lent;		/* number + 1 of the one that is lent in slices, or 0 */
} SnoPartitions;

/* The named generators of a database: see named/group.c. */
typedef struct SnoNamedLists
{
	dsa_pointer_atomic groups[SNO_GROUP_LISTS];
	dsa_pointer_atomic states;	/* of all groups */
} SnoNamedLists;

/* The grants of a database: see grant.c. */
typedef struct SnoDatabaseGrants
{
	LWLock		lock;
	SnoGranted	partitions;
	dsa_pointer_atomic layouts; /* the first one whose nodes were asked for */
} SnoDatabaseGrants;

/* The memory that the sessions of a database share; space.c describes its locking. */
typedef struct SnoSpace
{
	dsa_pointer next;			/* in the list of all */
	Oid			database;		/* InvalidOid if it is gone */
	TransactionId incarnation;
	int			users;			/* sessions that have entered */
	uint32		life;			/* never 0 */
	uint32		former;			/* databases that had it before */
	pg_atomic_uint64 home;		/* see catalog/home.c; 0 if it isn't known yet */
	pg_atomic_uint64 revocations;	/* calls of sno_reseed() */
	pg_atomic_uint64 allocated; /* bytes, by sno_space_allocate() */
	SnoPartitions partitions;
	SnoNamedLists named;
	SnoDatabaseGrants grants;
	dsa_pointer_atomic feed;	/* see feed.c; invalid until there is one */
} SnoSpace;

/* The space of this session's database, once the session has entered it. */
extern SnoSpace *sno_space;

extern void sno_space_enter(void);
extern const SnoSpace *sno_space_of(Oid database);
extern SnoSpace *sno_space_next(const SnoSpace *space);
extern void sno_spaces_hold(void);
extern bool sno_space_hold(const SnoSpace *space, Oid database);
extern void sno_spaces_release(void);
extern bool sno_space_has_room(size_t size);
extern void sno_space_require_room(size_t size);
extern dsa_pointer sno_space_allocate(size_t size);
extern void sno_space_free(dsa_pointer place, size_t size);

#endif							/* SNO_SPACE_H */
