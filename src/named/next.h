/*
 * next.h
 *		Issuing the next id of a named generator.
 */
#ifndef SNO_NEXT_H
#define SNO_NEXT_H

#include "named/use.h"
#include "shared/clock.h"
#include "shared/feed.h"

extern uint64 sno_next_slowly(SnoUse *use);
extern uint64 sno_next_first_number(SnoUse *use);

/*
 * Issue the next id of a generator in a partition, and return the id's state word.  This is quick
 * if the clock is still in the unit of the last id, the transaction may use that unit, and no
 * session waits for the generator.
 */
static inline uint64
sno_next(SnoUse *use)
{
	if (likely(sno_use_is_known(use)))
	{
		SnoNamedState *s = use->state;
		uint64		word = sno_generator_load(&s->shared);
		uint64_t	issued;

		if (likely(sno_clock_unit() == SNO_WORD_UNIT(word) &&
				   SNO_WORD_UNIT(word) >= sno_feed_bound && !sno_state_is_queued(s)) &&
			sno_generator_share(&s->shared, word, SNO_WORD_UNIT(word), 0, &issued) == SNO_ISSUED &&
			likely(SNO_WORD_UNIT(issued) >= sno_feed_bound))
			return issued;
	}
	return sno_next_slowly(use);
}

/*
 * Set *now to the time at which a generator of a layout with this state word issues next.  Returns
 * false if the caller needs sno_state_now() instead, because the transaction hasn't announced its
 * tick or unit yet, or may not use the clock's unit.
 */
static inline bool
sno_next_time(const SnoUse *use, uint64 word, SnoFlakeTime *now)
{
	const SnoNodes *nodes = &use->definition.nodes;

	if (nodes->layout.unit == 0)
	{
		*now = sno_state_count_now(nodes, word);
		return use->transaction == sno_feed_transaction;
	}
	*now = sno_state_time_in(nodes, sno_clock_msec());
	return now->clock >= sno_feed_bound;
}

/* Issue the next id of a generator of a layout, and return the id's state word. */
static inline uint64
sno_next_flake(SnoUse *use)
{
	if (likely(sno_use_is_known(use) && pg_atomic_read_u64(use->authority) == use->granted))
	{
		SnoNamedState *s = use->state;
		uint64		word = sno_generator_load(&s->shared);
		SnoFlakeTime now;
		uint64_t	issued;

		if (likely(sno_next_time(use, word, &now) && now.unit == SNO_WORD_UNIT(word) &&
				   now.least <= SNO_WORD_SEQUENCE(word) && !sno_state_is_queued(s)) &&
			sno_generator_share(&s->shared, word, now.unit, now.least, &issued) == SNO_ISSUED &&
			likely(issued >= word))
			return issued;
	}
	return sno_next_slowly(use);
}

#endif							/* SNO_NEXT_H */
