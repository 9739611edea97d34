/*
 * generate.h
 *		Definitions shared by the functions that make ids.
 */
#ifndef SNO_GENERATE_H
#define SNO_GENERATE_H

#include "postgres.h"

#include "nodes/nodes.h"

#include "generate/session.h"
#include "shared/clock.h"
#include "shared/feed.h"

/*
 * Issue one more id by the clock in partition p, where this session issues in this unit.  False if
 * more than an addition is needed, as for a transaction's first id, or in a unit that the
 * transaction may not use.  The word is loaded before the clock is read, so the reading is never
 * older than the state that it is compared with.  If the id is of an earlier unit, because another
 * session has changed the side, the id is left out (W1).
 */
static inline bool
sno_generate_quickly(SnoPartition *p, uint64 *issued)
{
	uint64		unit = sno_session_place.unit;
	uint64		word;

	if (unlikely(p == NULL))
		return false;
	word = sno_generator_load(&p->generator);
	return likely(SNO_WORD_UNIT(word) == unit && sno_clock_unit() == unit && unit >= sno_feed_bound) &&
		sno_generator_share(&p->generator, word, unit, 0, issued) == SNO_ISSUED &&
		likely(*issued >= word);
}

/* The state word of the next id by the clock, which partition *p issues. */
static inline uint64
sno_generate_next(SnoPartition **p)
{
	uint64		issued;

	*p = sno_session_place.p;
	if (likely(sno_generate_quickly(*p, &issued)))
		return issued;
	return sno_session_next(SNO_FOR_CLOCK, 0, p);
}

extern uint64 sno_many_count(int64 count);

#endif							/* SNO_GENERATE_H */
