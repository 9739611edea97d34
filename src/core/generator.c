/*
 * generator.c
 *		The generator core; src/README.md states its invariants.
 */
#include "core/generator.h"

/*
 * Initialize a generator that issues only above `floor`, which is the highest unit that may
 * have been used under earlier leases of the partition.  The ceiling equals the floor until
 * a lease is published.  I1 and I2 hold, because the floor's unit is marked as used up on both
 * sides.
 */
void
sno_generator_start(SnoGenerator *g, uint64_t floor,
					uint32_t sequence_min, uint32_t sequence_max)
{
	sno_generator_set_word(g, SNO_WORD(floor, false, sequence_max + 1));
	g->wall_safe = floor;
	g->lease_floor = floor;
	g->ceiling = floor;
	g->drifts = 0;
	g->sequence_min = sequence_min;
	g->sequence_max = sequence_max;
}

/* Would a step at `now` issue an id, if a lease covered the unit `now`? */
bool
sno_generator_ready(const SnoGenerator *g, uint64_t now)
{
	uint64_t	word = sno_generator_word(g);

	if (now == SNO_WORD_UNIT(word))
		return SNO_WORD_SEQUENCE(word) <= g->sequence_max;
	return now > SNO_WORD_UNIT(word) || now > __atomic_load_n(&g->wall_safe, __ATOMIC_RELAXED);
}

/*
 * Perform the part of sno_generator_step() that isn't inline: a step when the clock's unit is
 * not the state word's unit, or is exhausted.
 */
SnoStep
sno_generator_enter_unit(SnoGenerator *g, uint64_t now, uint64_t *issued)
{
	uint64_t	unit = SNO_WORD_UNIT(sno_generator_word(g));

	if (now == unit)
		return SNO_EXHAUSTED;

	if (now > unit)
	{
		/* The clock has advanced: stay on the same side. */
		if (now > g->ceiling)
			return SNO_LEASE_OVER;
	}
	else
	{
		/* After a step back, change to the other side, if the unit is unused on that side. */
		if (now <= g->wall_safe)
			return SNO_BEHIND;
		g->wall_safe = unit;
		g->drifts++;
	}

	*issued = SNO_WORD(now, g->drifts & 1, g->sequence_min);
	sno_generator_set_word(g, *issued + 1);
	return SNO_ISSUED;
}

/*
 * Change to the other side after a step back to `now`, which is before the state
 * word's unit and after wall_safe (I2).  This issues nothing.  The new state word
 * is of the unit before `now`, so the next step enters `now` as a later unit.
 */
void
sno_generator_drift(SnoGenerator *g, uint64_t now)
{
	g->wall_safe = SNO_WORD_UNIT(sno_generator_word(g));
	g->drifts++;
	sno_generator_set_word(g, SNO_WORD(now - 1, g->drifts & 1, SNO_SEQUENCE_DRIFT(g->drifts)));
}

/*
 * Change to the other side of a shared generator after a step back to `now`, which was read
 * after `word` was loaded (S4).  Only one session at a time may call this function.  It issues
 * nothing.  It sets wall_safe, and then swaps the word, but never closes the word.  So wherever
 * the caller is stopped, other sessions can go on, or find that both sides are used.  Returns
 * false if there is no step back, if the unit is used on the other side, or if another session
 * has changed the word.
 */
bool
sno_generator_turn(SnoGenerator *g, uint64_t word, uint64_t now)
{
	uint64_t	used = g->wall_safe;

	if (sno_word_is_closed(word) || now >= SNO_WORD_UNIT(word) || now <= used)
		return false;
	__atomic_store_n(&g->wall_safe, SNO_WORD_UNIT(word), __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(&g->word, &word,
									SNO_WORD(now - 1, !SNO_WORD_TICK_TOCK(word), SNO_SEQUENCE_DRIFT(g->drifts + 1)),
									false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
	{
		g->drifts++;
		return true;
	}
	__atomic_store_n(&g->wall_safe, used, __ATOMIC_RELAXED);
	return false;
}

/*
 * Change to the other side without a step back.  The former side is marked as used at
 * least up to the unit `until`.
 */
void
sno_generator_switch(SnoGenerator *g, uint64_t until)
{
	uint64_t	unit = SNO_WORD_UNIT(sno_generator_word(g));
	uint64_t	used = g->wall_safe;

	g->wall_safe = unit > until ? unit : until;
	g->drifts++;
	sno_generator_set_word(g, SNO_WORD(used, g->drifts & 1, SNO_SEQUENCE_NONE));
}

/* Return the unit and the next sequence up to which a side is used, placed as in a state word. */
static uint64_t
used_up_to(const SnoGenerator *g, bool tick_tock)
{
	uint64_t	word = sno_generator_word(g);

	if (tick_tock == (g->drifts & 1))
		return SNO_WORD(SNO_WORD_UNIT(word), false, SNO_WORD_SEQUENCE(word));
	return SNO_WORD(g->wall_safe, false, SNO_SEQUENCE_NONE);
}

/*
 * Merge `other` into a generator of the same partition: mark all ids that either of the two
 * generators may have issued as used.  Neither generator may be shared at the moment.  On each
 * side, the higher one of the two positions is kept, so I1 and I2 hold for the ids of both
 * generators.
 */
void
sno_generator_merge(SnoGenerator *g, const SnoGenerator *other)
{
	uint64_t	furthest[2];

	for (int side = 0; side < 2; side++)
	{
		uint64_t	one = used_up_to(g, side);
		uint64_t	two = used_up_to(other, side);

		furthest[side] = one > two ? one : two;
	}
	if (other->drifts > g->drifts)
		g->drifts = other->drifts;
	g->wall_safe = SNO_WORD_UNIT(furthest[!(g->drifts & 1)]);
	sno_generator_set_word(g, furthest[g->drifts & 1] | SNO_WORD(0, g->drifts & 1, 0));
}

/*
 * Join the sides: mark all ids up to the higher one of the two sides' positions as used, and
 * go on with side 0.  This is for generators whose ids don't contain the side.
 */
void
sno_generator_join_sides(SnoGenerator *g)
{
	uint64_t	one = used_up_to(g, false);
	uint64_t	two = used_up_to(g, true);

	g->drifts += g->drifts & 1;
	g->wall_safe = 0;
	sno_generator_set_word(g, one > two ? one : two);
}

/*
 * Perform the part of sno_generator_share() that isn't inline: enter a later unit, or raise
 * the sequence (S2).  If neither is possible, returns the reason.
 */
SnoStep
sno_generator_share_unit(SnoGenerator *g, uint64_t word, uint64_t now, uint32_t least,
						 uint64_t *issued)
{
	uint64_t	first = SNO_WORD(now, SNO_WORD_TICK_TOCK(word),
								 least > g->sequence_min ? least : g->sequence_min);

	if (sno_word_is_closed(word))
		return SNO_CLOSED;
	if (now == SNO_WORD_UNIT(word) && SNO_WORD_SEQUENCE(word) >= least)
		return SNO_EXHAUSTED;
	if (now < SNO_WORD_UNIT(word))
		return SNO_BEHIND;
	/* The row of the lease was flushed before this ceiling was published. */
	if (now > __atomic_load_n(&g->ceiling, __ATOMIC_ACQUIRE))
		return SNO_LEASE_OVER;
	if (!__atomic_compare_exchange_n(&g->word, &word, first + 1, false,
									 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return SNO_RACED;
	*issued = first;
	return SNO_ENTERED;
}
