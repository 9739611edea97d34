/*
 * partition.h
 *		The partitions of a database, in shared memory, and which are open.
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
 * The fields that are needed to issue an id are in the first cache line.  Any session steps the
 * generator while its word is open.  The session that has the turn changes the other fields (P1),
 * except for `named`.
 */
typedef struct SnoPartition
{
	SnoGenerator generator;
	uint64		holder;			/* under whose grant it was reserved; 0 if under none */
	uint32		life;			/* of the space, in which it was used last; 0 if
								 * it never was */
	uint16		number;			/* never changes */
	uint8		purpose;		/* a SnoPurpose */
	bool		named;			/* it is for named generators */
	SnoLease	lease;
	SnoBackfill backfill;
	SnoTurn		turn;			/* to reserve it, write its row, or change its side */
	char		pad[SNO_PARTITION_SIZE / 2 - sizeof(SnoLease) - sizeof(SnoBackfill) - sizeof(SnoTurn)];
} SnoPartition;

StaticAssertDecl(sizeof(SnoPartition) == SNO_PARTITION_SIZE, "a partition is not two cache lines");
StaticAssertDecl(offsetof(SnoPartition, lease) == SNO_PARTITION_SIZE / 2, "the fields that issuing an id needs are not one cache line");

/* The properties of a purpose */
typedef struct SnoPurposeRules
{
	const char *function;		/* SQL function that uses them */
	bool		by_clock;		/* it issues in the clock's unit, and its leases end */
	int			share;			/* at most one in so many partitions has this purpose; 1: all */
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
	SNO_AT_REST,				/* may be leased anew once the clock has passed
								 * its ids */
	SNO_HELD,					/* a session reserves it */
	SNO_OPEN,					/* sessions may issue there */
	SNO_NAMED					/* only named generators may */
} SnoPartitionState;

/* Does a session have its turn? */
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
	/* The word of a partition that is lent in slices is open to loans only. */
	if (sno_partition_is_open(p) && p->purpose != SNO_FOR_LOANS)
		return SNO_OPEN;
	if (sno_partition_is_held(p))
		return SNO_HELD;
	return p->life == 0 ? SNO_UNTOUCHED : SNO_AT_REST;
}

/* The range of partitions that this session may use, sno.partitions. */
typedef struct SnoPartitionRange
{
	int			first;
	int			last;
} SnoPartitionRange;

extern SnoPartitionRange sno_partition_range;

/* The refused value, while no other one is in force; otherwise NULL */
extern const char *sno_partition_refused;

/* The number of a used partition that sno_partition_at() returned. */
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
