/*
 * generator.c
 *		The generator core; generator.h states its invariants.
 */
#include "core/generator.h"

/*
 * Begin anew above `floor`, the highest unit that earlier leases of the
 * partition may have used, without a lease of one's own: the ceiling is the
 * floor until one is written.  I1 and I2 hold as the floor's unit counts as
 * used up in both timelines.
 */
void
sno_generator_start(SnoGenerator *g, uint64_t floor,
					uint16_t sequence_min, uint16_t sequence_max)
{
	__atomic_store_n(&g->word, SNO_WORD(floor, false, sequence_max + 1),
					 __ATOMIC_RELAXED);
	g->wall_safe = floor;
	g->lease_floor = floor;
	g->ceiling = floor;
	g->drifts = 0;
	g->sequence_min = sequence_min;
	g->sequence_max = sequence_max;
	g->given = false;
}

/* Would a step at `now` issue, given a lease that covers it? */
bool
sno_generator_ready(const SnoGenerator *g, uint64_t now)
{
	uint64_t	word = sno_generator_word(g);

	if (now == SNO_WORD_UNIT(word))
		return SNO_WORD_SEQUENCE(word) <= g->sequence_max;
	return now > SNO_WORD_UNIT(word) || now > g->wall_safe;
}

/* A step whose unit isn't the word's, or is exhausted. */
SnoStep
sno_generator_turn(SnoGenerator *g, uint64_t now, uint64_t *issued)
{
	uint64_t	unit = SNO_WORD_UNIT(sno_generator_word(g));

	if (now == unit)
		return SNO_EXHAUSTED;

	if (now > unit)
	{
		/* Progress. */
		if (now > g->ceiling)
			return SNO_LEASE_OVER;
	}
	else
	{
		/* Regression: into the other timeline, where that is unused. */
		if (now <= g->wall_safe)
			return SNO_BEHIND;
		g->wall_safe = unit;
		g->drifts++;
	}

	*issued = SNO_WORD(now, g->drifts & 1, g->sequence_min);
	__atomic_store_n(&g->word, *issued + 1, __ATOMIC_RELAXED);
	return SNO_ISSUED;
}

/*
 * Begin a generator for given times, in a partition that was never used, with
 * all sequences up to `sequence_max`.  Of 16 random bits the lowest one is the
 * timeline, the others are where sequences start.
 */
void
sno_generator_start_given(SnoGenerator *g, uint16_t sequence_max, uint32_t random)
{
	sno_generator_start(g, 0, 0, sequence_max);
	g->drifts = random & 0xFFFF;
	__atomic_store_n(&g->word, SNO_WORD(0, random & 1, 0), __ATOMIC_RELAXED);
	g->spare = 0;
	g->given = true;
}

/* The word to issue in a unit for a count of sequences. */
static uint64_t
given_word(const SnoGenerator *g, uint64_t unit, uint32_t count)
{
	uint32_t	sequence = (count + (g->drifts >> 1)) % ((uint32_t) g->sequence_max + 1);

	return SNO_WORD(unit, g->drifts & 1, sequence);
}

/* Would a step issue in this unit, given a lease? */
bool
sno_generator_ready_given(const SnoGenerator *g, uint64_t unit)
{
	uint64_t	word = sno_generator_word(g);

	if (unit == SNO_WORD_UNIT(word))
		return SNO_WORD_SEQUENCE(word) <= g->sequence_max;
	return unit > SNO_WORD_UNIT(word) || g->spare <= g->sequence_max;
}

/* Issue the next id of a given unit, as sno_generator_step() does of the clock's. */
SnoStep
sno_generator_step_given(SnoGenerator *g, uint64_t unit, uint64_t *issued)
{
	uint64_t	word = sno_generator_word(g);
	uint32_t	count = 0;

	if (unit > g->ceiling)
		return SNO_LEASE_OVER;
	if (!sno_generator_ready_given(g, unit))
		return SNO_EXHAUSTED;

	if (unit < SNO_WORD_UNIT(word))
		count = g->spare++;
	else
	{
		if (unit == SNO_WORD_UNIT(word))
			count = SNO_WORD_SEQUENCE(word);
		__atomic_store_n(&g->word, SNO_WORD(unit, g->drifts & 1, count + 1),
						 __ATOMIC_RELAXED);
		if (g->spare <= count)
			g->spare = count + 1;
	}
	*issued = given_word(g, unit, count);
	return SNO_ISSUED;
}

/*
 * Prepare for a step back to `now`, which is before the word's unit and after
 * wall_safe, without issuing anything: the step that follows is progress.
 */
void
sno_generator_drift(SnoGenerator *g, uint64_t now)
{
	g->wall_safe = SNO_WORD_UNIT(sno_generator_word(g));
	g->drifts++;
	__atomic_store_n(&g->word,
					 SNO_WORD(now - 1, g->drifts & 1, SNO_SEQUENCE_DRIFT(g->drifts)),
					 __ATOMIC_RELAXED);
}

/*
 * Go on in the other timeline, without a step back, and count the one that is left
 * as used up to the unit `until`, at least.
 */
void
sno_generator_switch(SnoGenerator *g, uint64_t until)
{
	uint64_t	unit = SNO_WORD_UNIT(sno_generator_word(g));
	uint64_t	used = g->wall_safe;

	g->wall_safe = unit > until ? unit : until;
	g->drifts++;
	__atomic_store_n(&g->word, SNO_WORD(used, g->drifts & 1, SNO_SEQUENCE_NONE),
					 __ATOMIC_RELAXED);
}

/* How far a timeline is used: unit and next sequence, in the places of a word. */
static uint64_t
used(const SnoGenerator *g, bool tick_tock)
{
	uint64_t	word = sno_generator_word(g);

	if (tick_tock == (g->drifts & 1))
		return SNO_WORD(SNO_WORD_UNIT(word), false, SNO_WORD_SEQUENCE(word));
	return SNO_WORD(g->wall_safe, false, SNO_SEQUENCE_NONE);
}

/*
 * Count as used what either of two generators of a partition, none of which is
 * shared now, may have issued.  Each timeline is used as far as the further one
 * says, so I1 and I2 hold for both; drifts are those of who drifted more.
 */
void
sno_generator_merge(SnoGenerator *g, const SnoGenerator *other)
{
	uint64_t	furthest[2];

	for (int t = 0; t < 2; t++)
	{
		uint64_t	one = used(g, t);
		uint64_t	two = used(other, t);

		furthest[t] = one > two ? one : two;
	}
	if (other->drifts > g->drifts)
		g->drifts = other->drifts;
	g->wall_safe = SNO_WORD_UNIT(furthest[!(g->drifts & 1)]);
	__atomic_store_n(&g->word,
					 furthest[g->drifts & 1] | SNO_WORD(0, g->drifts & 1, 0),
					 __ATOMIC_RELAXED);
}

/* A shared step whose unit isn't the word's, or is exhausted, or is closed. */
SnoStep
sno_generator_share_turn(SnoGenerator *g, uint64_t word, uint64_t now, uint64_t *issued)
{
	uint64_t	first = SNO_WORD(now, SNO_WORD_TICK_TOCK(word), g->sequence_min);

	if (sno_word_is_closed(word))
		return SNO_CLOSED;
	if (now == SNO_WORD_UNIT(word))
		return SNO_EXHAUSTED;
	if (now < SNO_WORD_UNIT(word))
		return SNO_BEHIND;
	if (now > __atomic_load_n(&g->ceiling, __ATOMIC_RELAXED))
		return SNO_LEASE_OVER;
	if (!__atomic_compare_exchange_n(&g->word, &word, first + 1, false,
									 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return SNO_RACED;
	*issued = first;
	return SNO_ISSUED;
}
