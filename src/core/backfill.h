/*
 * backfill.h
 *		The core of sno_generate_at(): ids of given times, in any order.
 *
 * This is a second pure state machine, for a partition that was never used.  Its units
 * come in any order, and all its ids are on one tick-tock side, given by the generator's
 * drifts.  src/README.md has its invariants, B1 and B2.
 *
 * The machine counts sequences.  The sequence of an id is the count plus a start, modulo the
 * number of sequences, so distinct counts give distinct sequences.  Side and start are drawn
 * at random: a server that doesn't know of this partition may use it again for the same
 * times, and is then unlikely to issue the same ids.  The start is in the lower half of the
 * sequences, so the first 32,768 ids of a unit ascend.
 *
 * Any number of callers may step the machine without a lock.  A later unit, and the next
 * count of the state word's unit, are taken by compare-and-swap of the word.  An id of an
 * earlier unit takes the spare count by an atomic addition.
 */
#ifndef SNO_BACKFILL_H
#define SNO_BACKFILL_H

#include "core/generator.h"

/* State beside the generator, whose state word has the next count of its unit. */
typedef struct SnoBackfill
{
	uint32_t	spare;			/* count, see B2; changed atomically */
	uint32_t	start;			/* sequence of the count 0 */
} SnoBackfill;

extern void sno_backfill_start(SnoGenerator *g, SnoBackfill *b, uint16_t sequence_max,
							   uint32_t random);
extern bool sno_backfill_ready(const SnoGenerator *g, const SnoBackfill *b, uint64_t unit);
extern SnoStep sno_backfill_step(SnoGenerator *g, SnoBackfill *b, uint64_t unit,
								 uint64_t *issued);

#endif							/* SNO_BACKFILL_H */
