/*
 * backfill.h
 *		The core of sno_generate_at(): ids of given times, in any order.
 *
 * This is a pure state machine, like generator.h, for a partition that was never used.  All
 * ids have the same tick-tock bit, which is the lowest bit of the generator's field `drifts`.
 * src/README.md has the invariants, B1 and B2.
 *
 * Within a unit, each id has a different number, its count.  The sequence of an id is its
 * count plus a start, modulo the number of sequences, so distinct counts give distinct
 * sequences.  The tick-tock bit and the start are drawn at random.  So a server that uses the
 * partition again for the same times, because it doesn't know of the first use, is unlikely to
 * issue the same ids.  The start is in the lower half of the sequences, so the sequences of
 * the first 32,768 counts ascend.
 *
 * Any number of callers may step the machine without a lock.  To enter a later unit, or to
 * take the next count of the state word's unit, a caller replaces the word by a
 * compare-and-swap.  For an id of an earlier unit, the caller takes the spare count by an
 * atomic addition.
 */
#ifndef SNO_BACKFILL_H
#define SNO_BACKFILL_H

#include "core/generator.h"

/*
 * The state that is kept in addition to a generator.  The generator's state word has the next
 * count of its unit in place of the next sequence.
 */
typedef struct SnoBackfill
{
	uint32_t	spare;			/* the spare count, see B2; changed atomically */
	uint32_t	start;			/* sequence of the count 0 */
} SnoBackfill;

extern void sno_backfill_start(SnoGenerator *g, SnoBackfill *b, uint16_t sequence_max,
							   uint32_t random);
extern bool sno_backfill_ready(const SnoGenerator *g, const SnoBackfill *b, uint64_t unit);
extern SnoStep sno_backfill_step(SnoGenerator *g, SnoBackfill *b, uint64_t unit,
								 uint64_t *issued);

#endif							/* SNO_BACKFILL_H */
