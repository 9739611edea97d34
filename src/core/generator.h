/*
 * generator.h
 *		The generator core: a pure state machine that issues (unit, tick-tock,
 *		sequence) triples of one partition, none of them twice.
 *
 * It never reads a clock, never waits and knows nothing of PostgreSQL: a step
 * takes the state and a clock reading and answers with an id, or why not.
 *
 * The algorithm is that of the reference, muyo/sno, with its state in one
 * 64-bit word (spec.md tells which race that removes) and bounded by a lease:
 *
 *		word = unit << 25 | tick-tock << 24 | next sequence
 *
 * Invariants, for every partition:
 *
 *	I1	In the timeline that tick-tock names, nothing was issued in units after
 *		the word's, nor in the word's unit at or above its next sequence.
 *	I2	In the other timeline nothing was issued in units after wall_safe.
 *	I3	lease_floor <= wall_safe, and lease_floor <= the word's unit: nothing is
 *		ever issued at or below the floor, which bounds all that earlier leases
 *		of the partition may have issued, in either timeline.
 *	I4	The word's unit <= ceiling: what is issued lies within the lease.
 *
 * A step to a later unit keeps I1 as it stays in the timeline.  A step back to
 * a unit after wall_safe changes to the other timeline, of which I2 says that
 * it is unused there; the one that is left was used up to the word's unit,
 * which becomes wall_safe.  Any other step back issues nothing.
 *
 * A generator for given times is another machine, for a partition that was never
 * used.  Its units are given in any order, all in one timeline:
 *
 *	G1	Nothing was issued in units after the word's, nor in the word's unit at
 *		or above its next sequence.
 *	G2	In no unit was anything issued at or above the spare sequence.
 *
 * A later unit than the word's begins with a sequence of its own, as G1 allows;
 * an earlier one takes the spare sequence, as G2 allows.  So ascending units use
 * no sequences up but their own, and in whatever order units are given, no
 * sequence is issued twice in any.
 *
 * The sequences above are counts.  What is issued is the count plus a start,
 * modulo the number of sequences, in one timeline; start and timeline are drawn
 * at random when the generator begins.  Distinct counts stay distinct.  And a
 * server that lost the knowledge of this partition, and uses it again for the
 * same times, is unlikely to issue the same ids.  The start is in the lower half
 * of the sequences, so that the first 32,768 ids of a unit ascend.
 *
 * One owner at a time may step or change a generator.  Others may look at the
 * word meanwhile, which is therefore loaded and stored atomically.
 *
 * Or it is shared: any number of callers sno_generator_share() it, without a
 * lock.  They touch nothing but the word, and may assume of the other fields
 * only that the ceiling they see is not older than the word they loaded.
 *
 *	S1	Within a unit an addition to the word issues what it returns, if that is
 *		within bounds: no two additions return the same.  It is made only after
 *		a sequence within bounds was loaded, so at most one a caller goes past
 *		them, and the sequence never reaches SNO_WORD_CLOSED.
 *	S2	A later unit, at most the ceiling, is entered by compare-and-swap, which
 *		issues the lowest sequence.  The ceiling and the bounds are those of the
 *		word that it replaces, because no word comes back with a lower ceiling:
 *		within a timeline words ascend, and a step back makes a word whose
 *		sequence no addition reaches and no other recent step back made.
 *	S3	All else takes the word away first: once it is exchanged for
 *		SNO_WORD_CLOSED, whose sequence is beyond all bounds, no addition or swap
 *		issues anything, and who exchanged it, if a lock lets one at a time do
 *		so, owns the generator.  Storing a word shares it again.
 *	S4	Nobody who finds a unit later than now has proof of a step back, unless
 *		the clock was read after the word, both after any race that was lost.
 */
#ifndef SNO_GENERATOR_H
#define SNO_GENERATOR_H

#include "sno.h"

#define SNO_WORD(unit, tick_tock, sequence) \
	((uint64_t) (unit) << 25 | (uint64_t) (tick_tock) << 24 | (uint64_t) (sequence))
#define SNO_WORD_UNIT(word)			((word) >> 25)
#define SNO_WORD_TIME(word)			((word) >> 24)	/* unit and tick-tock */
#define SNO_WORD_TICK_TOCK(word)	((bool) ((word) >> 24 & 1))
/* 24 bits: the next sequence may lie beyond the last one of 16 bits. */
#define SNO_WORD_SEQUENCE(word)		((uint32_t) ((word) & 0xFFFFFF))

/* A sequence that is beyond all: of a unit that is used up; of no word at all. */
#define SNO_SEQUENCE_NONE	(SNO_SEQUENCE_MAX + 1)
#define SNO_WORD_CLOSED		(UINT64_C(1) << 23)

/*
 * The sequence of the word that a step back makes, by the number of drifts: from
 * 2^22 on, different for 4096 drifts in a row, and so far apart that the late
 * additions of 1023 callers don't lead from one to the next.
 */
#define SNO_SEQUENCE_DRIFT(drifts)	((UINT32_C(1) << 22) + (((drifts) & 0xFFF) << 10))

typedef struct SnoGenerator
{
	uint64_t	word;
	uint64_t	wall_safe;		/* unit, see I2 */
	uint64_t	lease_floor;	/* unit, constant for a lease, see I3 */
	uint64_t	ceiling;		/* last unit of the lease */
	uint32_t	drifts;			/* steps back so far; its LSB is tick-tock; for
								 * given times, the start is in the bits above */
	uint16_t	sequence_min;	/* bounds of the sequence, both inclusive */
	uint16_t	sequence_max;
	uint32_t	spare;			/* count, for given times only, see G2 */
	bool		given;			/* is it for given times? */
} SnoGenerator;

typedef enum SnoStep
{
	SNO_ISSUED,
	SNO_EXHAUSTED,				/* no sequence is left in this unit */
	SNO_BEHIND,					/* now is in a stretch that both timelines used */
	SNO_LEASE_OVER,				/* now is after the ceiling */
	SNO_CLOSED,					/* shared, and taken away by somebody */
	SNO_RACED					/* shared, and changed: read word and clock anew */
} SnoStep;

extern void sno_generator_start(SnoGenerator *g, uint64_t floor,
								uint16_t sequence_min, uint16_t sequence_max);
extern bool sno_generator_ready(const SnoGenerator *g, uint64_t now);
extern void sno_generator_start_given(SnoGenerator *g, uint16_t sequence_max,
									  uint32_t random);
extern bool sno_generator_ready_given(const SnoGenerator *g, uint64_t unit);
extern SnoStep sno_generator_step_given(SnoGenerator *g, uint64_t unit, uint64_t *issued);
extern SnoStep sno_generator_turn(SnoGenerator *g, uint64_t now, uint64_t *issued);
extern void sno_generator_drift(SnoGenerator *g, uint64_t now);
extern void sno_generator_switch(SnoGenerator *g, uint64_t until);
extern void sno_generator_merge(SnoGenerator *g, const SnoGenerator *other);
extern SnoStep sno_generator_share_turn(SnoGenerator *g, uint64_t word,
										uint64_t now, uint64_t *issued);

static inline uint64_t
sno_generator_word(const SnoGenerator *g)
{
	return __atomic_load_n(&g->word, __ATOMIC_RELAXED);
}

/*
 * Issue the next id of unit `now`: its word goes to *issued, which else stays
 * as it was.  The common case, one more of the same unit, is inline.
 */
static inline SnoStep
sno_generator_step(SnoGenerator *g, uint64_t now, uint64_t *issued)
{
	uint64_t	word = sno_generator_word(g);

	if (now == SNO_WORD_UNIT(word) && SNO_WORD_SEQUENCE(word) <= g->sequence_max)
	{
		__atomic_store_n(&g->word, word + 1, __ATOMIC_RELAXED);
		*issued = word;
		return SNO_ISSUED;
	}
	return sno_generator_turn(g, now, issued);
}

/* The word of a shared generator, to be loaded before the clock is read. */
static inline uint64_t
sno_generator_load(const SnoGenerator *g)
{
	return __atomic_load_n(&g->word, __ATOMIC_ACQUIRE);
}

/*
 * Issue an id of a shared generator, whose `word` was loaded before the clock
 * said that it is `now`.  What is issued may be of a later unit than that, if
 * somebody else entered one.
 */
static inline SnoStep
sno_generator_share(SnoGenerator *g, uint64_t word, uint64_t now, uint64_t *issued)
{
	uint64_t	got;

	if (now != SNO_WORD_UNIT(word) || SNO_WORD_SEQUENCE(word) > g->sequence_max)
		return sno_generator_share_turn(g, word, now, issued);

	got = __atomic_fetch_add(&g->word, 1, __ATOMIC_ACQ_REL);
	if (SNO_WORD_SEQUENCE(got) > g->sequence_max)
		return SNO_RACED;
	*issued = got;
	return SNO_ISSUED;
}

/* Take the word of a shared generator away, or share it (again). */
static inline uint64_t
sno_generator_close(SnoGenerator *g)
{
	return __atomic_exchange_n(&g->word, SNO_WORD_CLOSED, __ATOMIC_ACQ_REL);
}

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
