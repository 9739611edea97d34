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

/*
 * The number of partitions in a block.  A block takes 8 KB.  The sessions of a small database
 * need only one block.
 */
#define SNO_BLOCK			64
#define SNO_BLOCKS			(SNO_PARTITIONS / SNO_BLOCK)

/*
 * The number of lists of groups of named generators.  The partition's number, or a hash of the
 * layout, selects the list of a group.
 */
#define SNO_GROUP_LISTS		64

/*
 * The memory that a database may take for partitions, named generators, and watermarks of
 * counters, in bytes.  It is enough for 10,000 named generators, or for 32,000 partitions.  In a
 * Docker container, /dev/shm has 64 MB by default.  Even if a dozen databases take 4 MB each,
 * enough of it is left for other uses.  The feed of a database takes additional memory, but its
 * size depends only on the number of processes that the server can have.
 */
#define SNO_SPACE_MEMORY	(4 * 1024 * 1024)

/* In the state of a named generator, the offset of the pointer to the next state of the same space */
#define SNO_STATE_LINK		PG_CACHE_LINE_SIZE

/* The purposes of partitions.  partition.c has the rules for each purpose. */
typedef enum SnoPurpose
{
	SNO_FOR_CLOCK,				/* ids of the present time */
	SNO_FOR_BACKFILL,			/* ids of given times */
	SNO_FOR_LOANS,				/* ids that applications generate */
	SNO_PURPOSES
} SnoPurpose;

/*
 * The most partitions that are open at the same time.  One is usually enough.  More are opened
 * if, for example, sessions have different values of sno.partitions, or the clock steps back
 * twice.
 */
#ifndef SNO_PLACES				/* a model has fewer */
#define SNO_PLACES			128
#endif

/* The range of nodes of a layout from which the registry grants */
typedef struct SnoNodeRange
{
	bool		known;
	int64		first;
	int64		last;			/* -1 if the registry grants none */
} SnoNodeRange;

/*
 * The registry's grants to a database, of partitions or of nodes of one layout.  grant.c
 * describes the locking.
 */
typedef struct SnoGranted
{
	dsa_pointer next;			/* the SnoGranted of the next layout */
	dsa_pointer place;			/* address of this struct; invalid for partitions */
	SnoLayout	layout;			/* all zeros for partitions */
	pg_atomic_uint64 holder;	/* holder whose grants are in force, or 0 */
	pg_atomic_uint32 asked;		/* have sessions asked for a request to the registry? */
	int32		blocks_wanted;
	int64		renew_at;		/* monotonic µs */
	uint64		answered;		/* unit in which the registry last answered for these grants, or 0 */
	SnoNodeRange range;			/* range of nodes; unused for partitions */
	SnoGrants	grants;
} SnoGranted;

/* The partitions of a database, and the list of the open ones; see partition.c */
typedef struct SnoPartitions
{
	dsa_pointer_atomic blocks[SNO_BLOCKS];	/* invalid if the block isn't made */
	pg_atomic_uint32 named[SNO_PARTITIONS / 32];	/* a bit for each partition: does the
													 * partition belong to named generators? */
	pg_atomic_uint64 leasing;	/* when a session began to lease a partition, monotonic µs; 0 if
								 * none is leasing */
	pg_atomic_uint32 places;	/* number of places of `open` that were ever used */
	pg_atomic_uint32 open[SNO_PLACES];	/* number plus 1 of the partition in each place; 0 if
										 * the place is empty */
	SnoCounters counters[SNO_PLACES];	/* counters of the partition in each place */
	pg_atomic_uint32 lent;		/* number plus 1 of the partition that was last lent in slices,
								 * or 0 */
} SnoPartitions;

/* The named generators of a database; see named/group.c */
typedef struct SnoNamedLists
{
	dsa_pointer_atomic groups[SNO_GROUP_LISTS];
	dsa_pointer_atomic states;	/* list of the states of all groups */
} SnoNamedLists;

/* The grants of a database; see grant.c */
typedef struct SnoDatabaseGrants
{
	LWLock		lock;
	SnoGranted	partitions;
	dsa_pointer_atomic layouts; /* list with an SnoGranted for each layout whose nodes were
								 * asked for */
} SnoDatabaseGrants;

/* The space of a database: the memory that its sessions share.  space.c describes the locking. */
typedef struct SnoSpace
{
	dsa_pointer next;			/* next space in the list of all spaces */
	Oid			database;		/* InvalidOid if the space was cleared */
	TransactionId incarnation;
	int			users;			/* number of sessions that have entered the space */
	uint32		life;			/* number of the present life, never 0 */
	uint32		former;			/* number of databases that had the space before */
	pg_atomic_uint64 home;		/* see catalog/home.c; 0 if it isn't known yet */
	pg_atomic_uint64 revocations;	/* number of calls of sno_reseed() */
	pg_atomic_uint64 allocated; /* bytes that sno_space_allocate() returned */
	SnoPartitions partitions;
	SnoNamedLists named;
	SnoDatabaseGrants grants;
	dsa_pointer_atomic feed;	/* the SnoFeed; invalid until it is made */
} SnoSpace;

/* The space of this session's database, or NULL before the session has entered it */
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
