/*
 * backfill.h
 *		The core of sno_generate_at(): ids of given times, in any order.
 *
 * It is another pure machine, for a partition that was never used.  Its units are
 * given in any order, and all its ids are on one tick-tock side, that of the
 * generator's drifts.  src/README.md has its invariants, B1 and B2.
 *
 * It counts sequences.  The sequence that is issued is the count plus a start,
 * modulo the number of sequences.  So distinct counts stay distinct.  Side and
 * start are drawn at random.  A server that doesn't know of this partition may use
 * it again for the same times: it is then unlikely to issue the same ids.  The
 * start is in the lower half of the sequences, so the first 32,768 ids of a unit
 * ascend.
 *
 * Any number of callers may step it without a lock.  A later unit, and the next count of the
 * state word's unit, are taken by compare-and-swap of the word.  An earlier unit takes the
 * spare count by an addition.
 */
#ifndef SNO_BACKFILL_H
#define SNO_BACKFILL_H

#include "core/generator.h"

/* What a generator has in addition.  The counts of its state word are of its unit. */
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
