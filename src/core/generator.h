/*
 * generator.h
 *		The generator core: a pure state machine that issues (unit, tick-tock,
 *		sequence) triples of one partition, none of them twice.
 *
 * The core reads no clock, never waits and doesn't depend on PostgreSQL.  A step takes
 * the state and a clock reading, and returns an id or the reason why there is none.
 *
 * The algorithm comes from the Go package muyo/sno.  Here, in addition, a lease bounds
 * the ids, and all state that changes with each id is in one 64-bit word:
 *
 *		state word = unit << 25 | tick-tock << 24 | next sequence
 *
 * src/README.md has the invariants I1 to I4 of generators, and the rules S1 to S4 of
 * shared generators.
 *
 * Only one owner at a time may step or change a generator.  Other processes may read
 * the state word meanwhile, so it is loaded and stored atomically.  However, any
 * number of processes may call sno_generator_share() for a shared generator, without
 * a lock.  They change only the state word.  Of the other fields, they may assume
 * only that the ceiling is not older than the state word that they loaded.
 */
#ifndef SNO_GENERATOR_H
#define SNO_GENERATOR_H

#include "id.h"

#define SNO_WORD(unit, tick_tock, sequence) \
	((uint64_t) (unit) << 25 | (uint64_t) (tick_tock) << 24 | (uint64_t) (sequence))
#define SNO_WORD_UNIT(word)			((word) >> 25)
#define SNO_WORD_TIME(word)			((word) >> 24)	/* unit and tick-tock */
#define SNO_WORD_TICK_TOCK(word)	((bool) ((word) >> 24 & 1))
/*
 * The next sequence has 24 bits in a state word, because it may be above the highest
 * sequence of an id.  The highest sequence has 16 bits in a sno, and up to 22 bits in
 * a state word that stands for a flake (flake.h).
 */
#define SNO_WORD_SEQUENCE(word)		((uint32_t) ((word) & 0xFFFFFF))

/*
 * Sequences above those of all ids: the first one marks an exhausted unit, and the second one
 * marks a closed generator.
 */
#define SNO_SEQUENCE_NONE	(UINT32_C(1) << 22)
#define SNO_WORD_CLOSED		(UINT64_C(1) << 23)

/*
 * The sequence that a step back stores in the state word.  It is at least 5 * 2^20, and differs
 * for 2048 successive values of `drifts`.  These sequences are at least 1024 apart.  So even if
 * 1023 callers that loaded an earlier word still add one, the sum is none of the other sequences.
 */
#define SNO_SEQUENCE_DRIFT(drifts)	((UINT32_C(5) << 20) + (((drifts) & 0x7FF) << 10))

typedef struct SnoGenerator
{
	SnoAtomic	word;			/* the state word */
	uint64_t	wall_safe;		/* unit up to which the other side was used, see I2 */
	uint64_t	lease_floor;	/* unit, constant during a lease, see I3 */
	SnoAtomic	ceiling;		/* last unit of the lease, see I4 */
	uint32_t	drifts;			/* number of changes of the side; its lowest bit is the
								 * tick-tock bit */
	uint32_t	sequence_min;	/* bounds of the sequence, both inclusive */
	uint32_t	sequence_max;
} SnoGenerator;

/*
 * The range of a named generator, both bounds inclusive: sequences of a partition, or nodes
 * of a layout (flake.h).
 */
typedef struct SnoShard
{
	int64_t		min;
	int64_t		max;
} SnoShard;

static inline bool
sno_shards_overlap(SnoShard a, SnoShard b)
{
	return a.min <= b.max && a.max >= b.min;
}

static inline bool
sno_shards_equal(SnoShard a, SnoShard b)
{
	return a.min == b.min && a.max == b.max;
}

typedef enum SnoStep
{
	SNO_ISSUED,
	SNO_ENTERED,				/* shared: issued in a later unit or slot */
	SNO_EXHAUSTED,				/* no sequence is left in this unit */
	SNO_BEHIND,					/* the clock is behind the state word's unit; if not
								 * shared, both sides were used in the clock's unit */
	SNO_LEASE_OVER,				/* the clock is after the ceiling */
	SNO_CLOSED,					/* shared: another session has closed it */
	SNO_RACED					/* shared: another session has changed the word, so
								 * load it and read the clock again */
} SnoStep;

extern void sno_generator_start(SnoGenerator *g, uint64_t floor,
								uint32_t sequence_min, uint32_t sequence_max);
extern bool sno_generator_ready(const SnoGenerator *g, uint64_t now);
extern SnoStep sno_generator_enter_unit(SnoGenerator *g, uint64_t now, uint64_t *issued);
extern void sno_generator_drift(SnoGenerator *g, uint64_t now);
extern bool sno_generator_turn(SnoGenerator *g, uint64_t word, uint64_t now);
extern void sno_generator_switch(SnoGenerator *g, uint64_t until);
extern void sno_generator_merge(SnoGenerator *g, const SnoGenerator *other);
extern void sno_generator_join_sides(SnoGenerator *g);
extern SnoStep sno_generator_share_unit(SnoGenerator *g, uint64_t word, uint64_t now,
										uint32_t least, uint64_t *issued);

static inline uint64_t
sno_generator_word(const SnoGenerator *g)
{
	return __atomic_load_n(&g->word, __ATOMIC_RELAXED);
}

static inline void
sno_generator_set_word(SnoGenerator *g, uint64_t word)
{
	__atomic_store_n(&g->word, word, __ATOMIC_RELAXED);
}

/*
 * Issue the next id of unit `now`.  If an id is issued, *issued is set to its state
 * word; otherwise *issued is unchanged.  The common case, one more id of the state
 * word's unit, is inline.
 */
static inline SnoStep
sno_generator_step(SnoGenerator *g, uint64_t now, uint64_t *issued)
{
	uint64_t	word = sno_generator_word(g);

	if (now == SNO_WORD_UNIT(word) && SNO_WORD_SEQUENCE(word) <= g->sequence_max)
	{
		sno_generator_set_word(g, word + 1);
		*issued = word;
		return SNO_ISSUED;
	}
	return sno_generator_enter_unit(g, now, issued);
}

/* Load the state word of a shared generator.  Call this before you read the clock (S4). */
static inline uint64_t
sno_generator_load(const SnoGenerator *g)
{
	return __atomic_load_n(&g->word, __ATOMIC_ACQUIRE);
}

/*
 * Issue an id of a shared generator (S1).  `word` must be loaded before `now` is read from
 * the clock (S4).  The id may be of a later unit than `now`, if another session has entered
 * that unit.  An id of unit `now` has at least the sequence `least`.
 */
static inline SnoStep
sno_generator_share(SnoGenerator *g, uint64_t word, uint64_t now, uint32_t least,
					uint64_t *issued)
{
	uint64_t	got;

	if (now != SNO_WORD_UNIT(word) || SNO_WORD_SEQUENCE(word) > g->sequence_max ||
		SNO_WORD_SEQUENCE(word) < least)
		return sno_generator_share_unit(g, word, now, least, issued);

	got = __atomic_fetch_add(&g->word, 1, __ATOMIC_ACQ_REL);
	if (SNO_WORD_SEQUENCE(got) > g->sequence_max)
		return SNO_RACED;
	*issued = got;
	return SNO_ISSUED;
}

/* Close a shared generator, and return its former state word (S3). */
static inline uint64_t
sno_generator_close(SnoGenerator *g)
{
	return __atomic_exchange_n(&g->word, SNO_WORD_CLOSED, __ATOMIC_ACQ_REL);
}

/*
 * Close a shared generator, but keep the unit and the side of its last ids in the state word
 * (P2).  Late additions change neither the unit nor the side.
 */
static inline void
sno_generator_end(SnoGenerator *g)
{
	(void) __atomic_fetch_or(&g->word, SNO_WORD_CLOSED, __ATOMIC_ACQ_REL);
}

/* Open a generator to callers that share it, beginning with this state word. */
static inline void
sno_generator_open(SnoGenerator *g, uint64_t word)
{
	__atomic_store_n(&g->word, word, __ATOMIC_RELEASE);
}

static inline bool
sno_word_is_closed(uint64_t word)
{
	return SNO_WORD_SEQUENCE(word) >= SNO_WORD_CLOSED;
}

#endif							/* SNO_GENERATOR_H */
