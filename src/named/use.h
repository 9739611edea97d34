/*
 * use.h
 *		The named generators that a session uses, and how it issues from them.
 */
#ifndef SNO_USE_H
#define SNO_USE_H

#include "postgres.h"

#include "miscadmin.h"

#include "catalog/definition.h"
#include "named/state.h"
#include "shared/clock.h"
#include "shared/feed.h"

/* A generator that this session uses, by name. */
typedef struct SnoUse
{
	char		name[NAMEDATALEN];
	char		kind;			/* that of the definitions */
	int			length;
	SnoDefinitions *in;			/* where it is defined */
	uint64		version;		/* of the definitions, when it was looked up */
	SnoDefinition definition;
	SnoNamedState *state;		/* NULL if it isn't joined yet */
	pg_atomic_uint64 *authority;	/* of its nodes: while that is this number, they */
	uint64		granted;		/* may be used */
	Oid			user;			/* who is known to have the right, InvalidOid if everybody has */

	/* Of a counter: a transaction, and a number.  What it draws is not below that. */
	uint64		transaction;
	uint64		first;
} SnoUse;

extern bool sno_use_find(SnoDefinitions *in, const char *name, SnoDefinition *d);
extern void sno_use_check(SnoDefinitions *in, const char *name, const SnoDefinition *d);
extern void sno_use_look_up(SnoDefinitions *in, const char *name, SnoDefinition *d);
extern SnoUse *sno_use_of(SnoDefinitions *in, const text *name);
extern uint64 sno_use_next_slowly(SnoUse *use);
extern uint64 sno_use_first_number(SnoUse *use);
extern uint64 sno_use_next_number(const char *name, const SnoDefinition *d);
extern void sno_use_read(const char *name, const SnoDefinition *d, SnoGenerator *g);
extern bool sno_use_try(SnoDefinitions *in, const char *name, SnoDefinition *d);
extern void sno_use_restore(const char *name, const SnoDefinition *d,
							const SnoGenerator *issued);

/* Is its definition known, with the right of the current user to use it? */
static inline bool
sno_use_is_known(const SnoUse *use)
{
	return use->version == use->in->table.version &&
		(likely(!OidIsValid(use->user)) || use->user == GetUserId());
}

/*
 * The state word of the next id, if its unit is that of the clock, this transaction may
 * use it, and nobody waits; else slowly.
 */
static inline uint64
sno_use_next(SnoUse *use)
{
	if (likely(sno_use_is_known(use)))
	{
		SnoNamedState *s = use->state;
		uint64		word = sno_generator_load(&s->shared);
		uint64		issued;

		if (likely(sno_clock_unit() == SNO_WORD_UNIT(word) &&
				   SNO_WORD_UNIT(word) >= sno_feed_bound && !sno_state_is_queued(s)) &&
			sno_generator_share(&s->shared, word, SNO_WORD_UNIT(word), 0, &issued) == SNO_ISSUED &&
			likely(SNO_WORD_UNIT(issued) >= sno_feed_bound))
			return issued;
	}
	return sno_use_next_slowly(use);
}

/*
 * When a generator of a layout issues next, if this is its state word.  False if readers of
 * feeds have to be told first.
 */
static inline bool
sno_use_now(const SnoUse *use, uint64 word, SnoFlakeTime *now)
{
	const SnoNodes *nodes = &use->definition.nodes;

	if (nodes->layout.unit == 0)
	{
		*now = sno_count_now(nodes, word);
		return use->transaction == sno_feed_transaction;
	}
	*now = sno_flake_in(nodes, sno_clock_msec());
	return now->clock >= sno_feed_bound;
}

/* The same for a generator of a layout. */
static inline uint64
sno_use_next_flake(SnoUse *use)
{
	if (likely(sno_use_is_known(use) && pg_atomic_read_u64(use->authority) == use->granted))
	{
		SnoNamedState *s = use->state;
		uint64		word = sno_generator_load(&s->shared);
		SnoFlakeTime now;
		uint64		issued;

		if (likely(sno_use_now(use, word, &now) && now.unit == SNO_WORD_UNIT(word) &&
				   now.least <= SNO_WORD_SEQUENCE(word) && !sno_state_is_queued(s)) &&
			sno_generator_share(&s->shared, word, now.unit, now.least, &issued) == SNO_ISSUED &&
			likely(issued >= word))
			return issued;
	}
	return sno_use_next_slowly(use);
}

#endif							/* SNO_USE_H */
