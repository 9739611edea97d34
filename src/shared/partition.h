/*
 * partition.h
 *		The partitions of a database in shared memory, and the list of the open ones.
 */
#ifndef SNO_PARTITION_H
#define SNO_PARTITION_H

#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"

#include "compat.h"
#include "core/backfill.h"
#include "core/lease.h"
#include "shared/activity.h"
#include "shared/grant.h"
#include "shared/space.h"

/*
 * The first cache line contains the fields that are needed to issue an id.  Any session may step
 * the generator while its state word is open.  Only the session that has the turn changes other
 * fields (P1).  The exception is `named`.
 */
typedef struct SnoPartition
{
	SnoGenerator generator;
	uint64		holder;			/* holder when the partition was reserved; 0 without a registry */
	uint32		life;			/* life of the space in which the partition was last used; 0 if
								 * it was never used */
	uint16		number;			/* never changes */
	uint8		purpose;		/* a SnoPurpose */
	bool		named;			/* does it belong to named generators? */
	SnoLease	lease;
	SnoBackfill backfill;
	SnoTurn		turn;			/* held to reserve the partition, write its row, or change its side */
	char		pad[SNO_PARTITION_SIZE / 2 - sizeof(SnoLease) - sizeof(SnoBackfill) - sizeof(SnoTurn)];
} SnoPartition;

StaticAssertDecl(sizeof(SnoPartition) == SNO_PARTITION_SIZE, "a partition is not two cache lines");
StaticAssertDecl(offsetof(SnoPartition, lease) == SNO_PARTITION_SIZE / 2, "the fields that issuing an id needs are not one cache line");

/* The properties of a purpose */
typedef struct SnoPurposeRules
{
	const char *function;		/* SQL function that uses the partitions */
	bool		by_clock;		/* ids are of the clock's unit, and leases end */
	int			share;			/* at most one in `share` partitions may have this purpose */
} SnoPurposeRules;

extern const SnoPurposeRules sno_purpose_rules[SNO_PURPOSES];

static inline const SnoPurposeRules *
sno_partition_rules(const SnoPartition *p)
{
	return &sno_purpose_rules[p->purpose];
}

typedef enum SnoPartitionState
{
	SNO_UNTOUCHED,				/* not used since the server started */
	SNO_AT_REST,				/* was used; may be leased again once the clock has passed the
								 * partition's ids */
	SNO_HELD,					/* a session has its turn, and it isn't open */
	SNO_OPEN,					/* sessions may issue there */
	SNO_NAMED					/* only named generators may issue there */
} SnoPartitionState;

/* Does a session have the turn of the partition? */
static inline bool
sno_partition_is_held(const SnoPartition *p)
{
	return pg_atomic_read_u32(unconstify(pg_atomic_uint32 *, &p->turn.owner)) != 0;
}

static inline bool
sno_partition_is_open(const SnoPartition *p)
{
	return !sno_word_is_closed(sno_generator_load(&p->generator));
}

static inline SnoPartitionState
sno_partition_state(const SnoPartition *p)
{
	if (p->named)
		return SNO_NAMED;
	/* While a partition is lent in slices, its word is open, but only loans use it. */
	if (sno_partition_is_open(p) && p->purpose != SNO_FOR_LOANS)
		return SNO_OPEN;
	if (sno_partition_is_held(p))
		return SNO_HELD;
	return p->life == 0 ? SNO_UNTOUCHED : SNO_AT_REST;
}

/* The range of partitions that a session may use, as sno.partitions sets it */
typedef struct SnoPartitionRange
{
	int			first;
	int			last;
} SnoPartitionRange;

extern SnoPartitionRange sno_partition_range;

/* The value of sno.partitions that was refused, if the default is in force instead; otherwise NULL */
extern const char *sno_partition_refused;

/* Return the number of a partition, or 0 if the partition's block isn't made. */
static inline int
sno_partition_number(const SnoPartition *p)
{
	return p->number;
}

extern void sno_partition_check_setting(void);
extern const SnoPartition *sno_partition_at(int number);
extern const SnoPartition *sno_partition_in(const SnoSpace *space, int number);
extern bool sno_partition_is_usable(const SnoPartition *p);
extern bool sno_partition_is_void(const SnoPartition *p);
extern bool sno_partition_is_granted(const SnoPartition *p, uint64 unit);
extern bool sno_partition_find_limits(const SnoPartition *p, SnoGrant *limits);
extern SnoPartition *sno_partition_claim(int number);
extern void sno_partition_note_use(SnoPartition *p);
extern void sno_partition_open(SnoPartition *p, uint64 now, bool listed);
extern SnoPartition *sno_partition_next_open(SnoPurpose purpose, const SnoPartition *p);
extern SnoPartition *sno_partition_lent(void);
extern SnoCounters *sno_partition_counters(const SnoPartition *p);
extern void sno_partition_close_all(void);
extern void sno_partition_set_named(int number);
extern SnoPartition sno_partition_copy(int number);

#endif							/* SNO_PARTITION_H */
