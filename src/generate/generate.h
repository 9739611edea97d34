/*
 * generate.h
 *		What functions that make ids have in common.
 */
#ifndef SNO_GENERATE_H
#define SNO_GENERATE_H

#include "postgres.h"

#include "nodes/nodes.h"

#include "generate/session.h"
#include "shared/clock.h"
#include "shared/feed.h"

/*
 * The state word of the session generator's next id.  The common case, one more id
 * in the unit of the last one, reads the clock and steps the session's partition: no
 * lock, no system call.  The word is loaded before the clock is read, so the reading
 * is never older than the state that it is compared with.  The first id of a
 * transaction, and one of a unit that it may not use, are not the common case.
 */
static inline uint64
sno_generate_next(void)
{
	SnoPartition *p = sno_owned[SNO_FOR_CLOCK];

	if (likely(p != NULL && sno_partition_owned(p)))
	{
		uint64		unit = SNO_WORD_UNIT(sno_generator_word(&p->generator));
		uint64		issued;

		if (likely(sno_clock_unit() == unit && unit >= sno_feed_bound) &&
			sno_generator_step(&p->generator, unit, &issued) == SNO_ISSUED)
			return issued;
	}
	return sno_session_next(SNO_FOR_CLOCK, 0);
}

extern uint64 sno_many_count(int64 count);

#endif							/* SNO_GENERATE_H */
