/*
 * backfill.c
 *		The core of sno_generate_at(); src/README.md states its invariants.
 */
#include "core/backfill.h"

/*
 * Begin in a partition that was never used, with all sequences up to
 * `sequence_max`.  Of 16 random bits, the lowest one is the side and the others
 * are the start of the sequences.
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

/* Would a step issue an id of this unit, if a lease covered it? */
bool
sno_backfill_ready(const SnoGenerator *g, const SnoBackfill *b, uint64_t unit)
{
	uint64_t	word = sno_generator_word(g);

	if (unit == SNO_WORD_UNIT(word))
		return SNO_WORD_SEQUENCE(word) <= g->sequence_max;
	return unit > SNO_WORD_UNIT(word) || b->spare <= g->sequence_max;
}

/* Issue the next id of a unit, as sno_generator_step() does: a later one (B1), or a spare (B2). */
SnoStep
sno_backfill_step(SnoGenerator *g, SnoBackfill *b, uint64_t unit, uint64_t *issued)
{
	uint64_t	word = sno_generator_word(g);
	uint32_t	count = 0;

	if (unit > g->ceiling)
		return SNO_LEASE_OVER;
	if (!sno_backfill_ready(g, b, unit))
		return SNO_EXHAUSTED;

	if (unit < SNO_WORD_UNIT(word))
		count = b->spare++;
	else
	{
		if (unit == SNO_WORD_UNIT(word))
			count = SNO_WORD_SEQUENCE(word);
		sno_generator_set_word(g, SNO_WORD(unit, g->drifts & 1, count + 1));
		if (b->spare <= count)
			b->spare = count + 1;
	}
	*issued = SNO_WORD(unit, g->drifts & 1,
					   (count + b->start) % ((uint32_t) g->sequence_max + 1));
	return SNO_ISSUED;
}
