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
 * One owner at a time may step or change a generator.  Others may look at the
 * word meanwhile, which is therefore loaded and stored atomically.
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

typedef struct SnoGenerator
{
	uint64_t	word;
	uint64_t	wall_safe;		/* unit, see I2 */
	uint64_t	lease_floor;	/* unit, constant for a lease, see I3 */
	uint64_t	ceiling;		/* last unit of the lease */
	uint32_t	drifts;			/* steps back so far; its LSB is tick-tock */
	uint16_t	sequence_min;	/* bounds of the sequence, both inclusive */
	uint16_t	sequence_max;
	uint32_t	spare;			/* sequence, for given times only, see G2 */
	bool		given;			/* is it for given times? */
} SnoGenerator;

typedef enum SnoStep
{
	SNO_ISSUED,
	SNO_EXHAUSTED,				/* no sequence is left in this unit */
	SNO_BEHIND,					/* now is in a stretch that both timelines used */
	SNO_LEASE_OVER				/* now is after the ceiling */
} SnoStep;

extern void sno_generator_start(SnoGenerator *g, uint64_t floor,
								uint16_t sequence_min, uint16_t sequence_max);
extern bool sno_generator_ready(const SnoGenerator *g, uint64_t now);
extern void sno_generator_start_given(SnoGenerator *g, uint16_t sequence_min,
									  uint16_t sequence_max);
extern bool sno_generator_ready_given(const SnoGenerator *g, uint64_t unit);
extern SnoStep sno_generator_step_given(SnoGenerator *g, uint64_t unit, uint64_t *issued);
extern SnoStep sno_generator_turn(SnoGenerator *g, uint64_t now, uint64_t *issued);

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

#endif							/* SNO_GENERATOR_H */
