/*
 * backfill.c
 *		The core of sno_generate_at(); src/README.md states its invariants.
 */
#include "core/backfill.h"

/*
 * Initialize the state for a partition that was never used, and for all
 * sequences up to `sequence_max`.  Of the lower 16 bits of `random`, the lowest
 * bit becomes the side, and the other bits become the sequence of the count 0.
 */
void
sno_backfill_start(SnoGenerator *g, SnoBackfill *b, uint16_t sequence_max, uint32_t random)
{
	sno_generator_start(g, 0, 0, sequence_max);
	g->drifts = random & 1;
	sno_generator_set_word(g, SNO_WORD(0, g->drifts, 0));
	b->spare = 0;
	b->start = (random & 0xFFFF) >> 1;
}

/* Would a step from this state word issue an id of this unit, if a lease covered the unit? */
static bool
is_ready(const SnoGenerator *g, const SnoBackfill *b, uint64_t word, uint64_t unit)
{
	if (unit == SNO_WORD_UNIT(word))
		return SNO_WORD_SEQUENCE(word) <= g->sequence_max;
	return unit > SNO_WORD_UNIT(word) || __atomic_load_n(&b->spare, __ATOMIC_RELAXED) <= g->sequence_max;
}

bool
sno_backfill_ready(const SnoGenerator *g, const SnoBackfill *b, uint64_t unit)
{
	return is_ready(g, b, sno_generator_load(g), unit);
}

/* Raise the spare count to `least`, unless it is higher (B2). */
static void
raise_spare(SnoBackfill *b, uint32_t least)
{
	uint32_t	spare = __atomic_load_n(&b->spare, __ATOMIC_RELAXED);

	while (spare < least &&
		   !__atomic_compare_exchange_n(&b->spare, &spare, least, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		 /* the failed exchange loaded the present value into spare */ ;
}

/*
 * Issue the next id of a unit.  In the state word's unit, the id takes the word's count.  In a
 * later unit, it takes the count 0 (B1).  In an earlier unit, it takes the spare count (B2).
 * Before a count is issued, the spare count is raised above it.  So the spare count was not
 * issued yet in any unit.
 */
SnoStep
sno_backfill_step(SnoGenerator *g, SnoBackfill *b, uint64_t unit, uint64_t *issued)
{
	uint64_t	word = sno_generator_load(g);
	uint32_t	count = 0;

	if (sno_word_is_closed(word))
		return SNO_CLOSED;
	if (unit > __atomic_load_n(&g->ceiling, __ATOMIC_ACQUIRE))
		return SNO_LEASE_OVER;
	if (!is_ready(g, b, word, unit))
		return SNO_EXHAUSTED;

	if (unit < SNO_WORD_UNIT(word))
	{
		count = __atomic_fetch_add(&b->spare, 1, __ATOMIC_ACQ_REL);
		if (count > g->sequence_max)
			return SNO_EXHAUSTED;
	}
	else
	{
		if (unit == SNO_WORD_UNIT(word))
			count = SNO_WORD_SEQUENCE(word);
		raise_spare(b, count + 1);
		if (!__atomic_compare_exchange_n(&g->word, &word, SNO_WORD(unit, SNO_WORD_TICK_TOCK(word), count + 1),
										 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return SNO_RACED;
	}
	*issued = SNO_WORD(unit, SNO_WORD_TICK_TOCK(word),
					   (count + b->start) % ((uint32_t) g->sequence_max + 1));
	return SNO_ISSUED;
}
