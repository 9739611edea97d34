/*
 * partition.h
 *		The partitions of a database, in shared memory, and who owns which.
 */
#ifndef SNO_PARTITION_H
#define SNO_PARTITION_H

#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"

#include "compat.h"
#include "core/backfill.h"
#include "core/lease.h"
#include "shared/grant.h"
#include "shared/shmem.h"

/* The owner of a partition that was revoked from who had it; of one that sessions share. */
#define SNO_OWNER_REVOKED	(-1)
#define SNO_OWNER_SHARED	(-2)

/*
 * What issuing an id needs is in the first cache line.  Owner and users change atomically.
 * `next` changes under the space's lock.  All else belongs to the owner.  While sessions
 * share the partition, they only add to the state word, and swap it; who changes the rest
 * of the generator, or the lease, has the space's turn for renewals.
 */
typedef struct SnoPartition
{
	SnoGenerator generator;
	pg_atomic_uint32 owner;		/* pid of the session that owns it, 0,
								 * SNO_OWNER_SHARED, or SNO_OWNER_REVOKED until who
								 * had it gave it back */
	bool		named;			/* it is for named generators */
	uint8		purpose;		/* a SnoPurpose */
	uint16		number;			/* never changes */
	uint64		holder;			/* under whose grant it was reserved; 0 if under none */
	SnoLease	lease;
	SnoBackfill backfill;
	int32		next;			/* parked: number + 1 of the next one, or the end; else 0 */
	uint32		life;			/* of the space, in which it was used last; 0 if
								 * it never was */
	pg_atomic_uint32 users;		/* sessions that share it, or did when it was revoked */
	char		pad[12];		/* to a whole cache line */
} SnoPartition;

StaticAssertDecl(sizeof(SnoPartition) == SNO_PARTITION_SIZE, "a partition is not two cache lines");
StaticAssertDecl(offsetof(SnoPartition, lease) == SNO_PARTITION_SIZE / 2, "what issuing an id needs is not one cache line");

/* What a purpose decides of its partitions. */
typedef struct SnoPurposeRules
{
	const char *function;		/* of SQL, that wants them */
	bool		by_clock;		/* its units are those of the clock, and its leases end */
	int			share;			/* at most one in so many partitions is for it; 1: all */
	bool		(*is_ready) (const SnoPartition *p, uint64 unit);	/* does a step issue? */
	void		(*start) (SnoPartition *p, uint64 floor);
	SnoStep		(*step) (SnoPartition *p, uint64 unit, uint64 *issued);
} SnoPurposeRules;

extern const SnoPurposeRules sno_purpose_rules[SNO_PURPOSES];

static inline const SnoPurposeRules *
sno_partition_rules(const SnoPartition *p)
{
	return &sno_purpose_rules[p->purpose];
}

typedef enum SnoPartitionState
{
	SNO_UNTOUCHED,				/* at rest, and never used since the server started */
	SNO_AT_REST,				/* may be leased anew once the clock has passed what it
								 * issued */
	SNO_PARKED,					/* given back with its state, in a list of the space */
	SNO_OWNED,					/* by a session, or by several that share it */
	SNO_REVOKED,				/* from sessions that have not given it back yet */
	SNO_NAMED					/* no session owns it, and only named generators may */
} SnoPartitionState;

static inline int32
sno_partition_owner(const SnoPartition *p)
{
	return (int32) pg_atomic_read_u32(unconstify(pg_atomic_uint32 *, &p->owner));
}

/* How many sessions share it, or did when it was revoked; 0 if one owns it. */
static inline uint32
sno_partition_users(const SnoPartition *p)
{
	return pg_atomic_read_u32(unconstify(pg_atomic_uint32 *, &p->users));
}

/* A session may own a named partition for a while, until it notices. */
static inline SnoPartitionState
sno_partition_state(const SnoPartition *p)
{
	int32		owner = sno_partition_owner(p);

	if (owner != 0)
		return owner == SNO_OWNER_REVOKED ? SNO_REVOKED : SNO_OWNED;
	if (p->named)
		return SNO_NAMED;
	if (p->next != 0)
		return SNO_PARKED;
	return p->life == 0 ? SNO_UNTOUCHED : SNO_AT_REST;
}

/* What a session is to do with a partition that it has. */
typedef enum SnoStay
{
	SNO_STAY,					/* issue there, if its lease lets it */
	SNO_PARK,					/* give it back with its state: others may issue there */
	SNO_ABANDON					/* put it at rest: nobody may, before it is reserved anew */
} SnoStay;

/* No unit is asked for. */
#define SNO_ANY_UNIT		UINT64_MAX

/* The range of partitions that this session may use, sno.partitions. */
typedef struct SnoPartitionRange
{
	int			first;
	int			last;
} SnoPartitionRange;

extern SnoPartitionRange sno_partition_range;

/* The value that was given but isn't in force, and nothing else is; else NULL. */
extern const char *sno_partition_refused;

/* Does this session own p alone? */
static inline bool
sno_partition_owned(const SnoPartition *p)
{
	return sno_partition_owner(p) == MyProcPid;
}

/* Do sessions share p?  If this one has not given p back, it is one of them. */
static inline bool
sno_partition_is_shared(const SnoPartition *p)
{
	return sno_partition_owner(p) == SNO_OWNER_SHARED;
}

/* May this session, which has not given p back, issue in it? */
static inline bool
sno_partition_is_ours(const SnoPartition *p)
{
	return sno_partition_owned(p) || sno_partition_is_shared(p);
}

/* Is p the partition that sessions begin to share now? */
static inline bool
sno_partition_is_current(const SnoPartition *p)
{
	return pg_atomic_read_u32(&sno_space->shared) == p->number + 1;
}

/* The number of a partition that sno_partition_at() gave, and that was used. */
static inline int
sno_partition_number(const SnoPartition *p)
{
	return p->number;
}

extern void sno_partition_check_setting(void);
extern const SnoPartition *sno_partition_at(int number);
extern const SnoPartition *sno_partition_in(const SnoSpace *space, int number);
extern bool sno_partition_is_usable(const SnoPartition *p);
extern SnoStay sno_partition_may_stay(const SnoPartition *p, uint64 unit, SnoGrant *limits);
extern bool sno_partition_is_parked(uint64 unit, SnoPurpose purpose);
extern SnoPartition *sno_partition_exchange(SnoPartition *old, uint64 unit, SnoPurpose purpose);
extern SnoPartition *sno_partition_claim(int number);
extern void sno_partition_disclaim(SnoPartition *p);
extern void sno_partition_take(SnoPartition *p, SnoPartition *old);
extern SnoPartition *sno_partition_join(SnoPartition *old, uint64 unit, uint32 file);
extern bool sno_partition_share(SnoPartition *p, uint64 unit, uint32 file);
extern bool sno_partition_own_again(SnoPartition *p);
extern void sno_partition_park(SnoPartition *p);
extern void sno_partition_abandon(SnoPartition *p);
extern void sno_partition_revoke_all(void);
extern void sno_partition_set_named(int number);
extern SnoPartition sno_partition_copy(int number);

#endif							/* SNO_PARTITION_H */
