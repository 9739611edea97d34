/*
 * generate.h
 *		Definitions shared by the functions that issue ids.
 */
#ifndef SNO_GENERATE_H
#define SNO_GENERATE_H

#include "postgres.h"

#include "nodes/nodes.h"

#include "generate/session.h"
#include "shared/clock.h"
#include "shared/feed.h"

/*
 * Issue one more id by the clock in partition p, if this session issued its last id there, and the
 * clock is still in that id's unit.  Returns false if an addition isn't enough: for example, for
 * the first id of a transaction, or if the transaction may not use the unit.  The word is loaded
 * before the clock is read, so the word is never compared with an older clock reading.  If another
 * session changes the side meanwhile, the addition may issue an id of an earlier unit.  This id is
 * not used (W1).
 */
static inline bool
sno_generate_quickly(SnoPartition *p, uint64_t *issued)
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

/* Issue the next id by the clock.  Returns its state word, and sets *p to its partition. */
static inline uint64
sno_generate_next(SnoPartition **p)
{
	uint64_t	issued;

	*p = sno_session_place.p;
	if (likely(sno_generate_quickly(*p, &issued)))
		return issued;
	return sno_session_next(SNO_FOR_CLOCK, 0, p);
}

extern uint64 sno_many_count(int64 count);

#endif							/* SNO_GENERATE_H */
