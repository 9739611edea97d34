/*
 * state.h
 *		The state of a named generator, which all sessions share.
 */
#ifndef SNO_STATE_H
#define SNO_STATE_H

#include "postgres.h"

#include "port/atomics.h"
#include "utils/dsa.h"

#include "catalog/definition.h"
#include "compat.h"
#include "core/lease.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/space.h"

/* The state of a named generator.  state.c describes how its fields are protected. */
typedef struct SnoNamedState
{
	/* All sessions that issue use the first cache line.  Its fields are the same on 32-bit machines. */
	SnoGenerator shared;		/* sessions add to its state word while the state is open */
	pg_atomic_uint32 tickets;	/* number of tickets drawn by waiting sessions */
	pg_atomic_uint32 tickets_done;	/* number of tickets whose sessions no longer wait */
	char		pad[PG_CACHE_LINE_SIZE / 2 - sizeof(SnoGenerator) - 8];

	uint64		word;			/* the exact state word, while the shared word is closed */
	dsa_pointer next;			/* the next state of the group */
	uint32		life pg_attribute_aligned(8);	/* life of the space in which the lease is valid */
	pg_atomic_uint32 users;		/* number of sessions that have joined the state */
	bool		made_here;		/* copied from its definition */
	bool		known;			/* are the ids of all rows merged into the state? */
	bool		open;			/* see N1; the shared word may still be closed for a moment */
	SnoLease	lease pg_attribute_aligned(8);

	/* The identity and the activity of the state, which sno_generators() shows; see activity.c. */
	dsa_pointer listed;			/* the next state in the list of all states of the space */
	Oid			database;
	SnoSubject	subject;
	SnoNodes	nodes;			/* the nodes in a layout; the size is 0 in a partition */
	dsa_pointer group;
	char		name[NAMEDATALEN];	/* name of the generator for which it was last opened or chosen */
	uint64		opened;			/* state word with which it was opened last */
	SnoCounters counters;

	/* The fields for nodes that were chosen; see chosen.c. */
	bool		floats;			/* were the nodes chosen, and not fixed by a definition? */
	bool		passed;			/* must sessions choose other nodes? */
	dsa_pointer granted;		/* the SnoGranted of the nodes, invalid without a registry */
	uint64		authority;		/* sno_chosen_authority() when the nodes were chosen */
	uint64		floor;			/* ids are of later units; set from the grant and sno_flake_advance() */
	uint64		limit;			/* last unit for which the nodes may be leased */
} SnoNamedState;

StaticAssertDecl(offsetof(SnoNamedState, listed) == SNO_STATE_LINK, "the fields for issuing from a named generator are not two cache lines, or space.c cannot follow a list of states");

static inline SnoNamedState *
sno_state_at(dsa_pointer place)
{
	return DsaPointerIsValid(place) ? dsa_get_address(sno_area, place) : NULL;
}

/* Return how many ids a generator can issue in a unit. */
static inline int
sno_state_unit_size(const SnoGenerator *g)
{
	return g->sequence_max - g->sequence_min + 1;
}

/* Does any session stand in the queue of the generator? */
static inline bool
sno_state_is_queued(SnoNamedState *s)
{
	return pg_atomic_read_u32(&s->tickets) != pg_atomic_read_u32(&s->tickets_done);
}

/* Is a generator a counter, whose ids have a number and no time? */
static inline bool
sno_state_is_counter(const SnoNamedState *s)
{
	return s->nodes.size != 0 && s->nodes.layout.unit == 0;
}

/*
 * Return the length in ms of the units in which a generator issues: units of 4 ms, or the longer
 * units of its layout.
 */
static inline int
sno_state_unit_msec(const SnoNodes *nodes)
{
	return Max(SNO_UNIT_MSEC, (int) nodes->layout.unit);
}

pg_noreturn extern void sno_state_out_of_time(const SnoNodes *nodes);

/* Return the unit in which a counter with this state word issues its next number. */
static inline SnoFlakeTime
sno_state_count_now(const SnoNodes *nodes, uint64 word)
{
	SnoFlakeTime now = sno_flake_count(word);

	if (unlikely(now.unit > SNO_UNIT_MAX))
		sno_state_out_of_time(nodes);
	return now;
}

/*
 * Return the unit of an id of a layout with a time, and the lowest sequence that the id may have in
 * this unit.  The time of the id is `msec`, in ms since 2010.
 */
static inline SnoFlakeTime
sno_state_time_in(const SnoNodes *nodes, int64 msec)
{
	if (unlikely(msec < nodes->begin || msec > nodes->end))
		sno_state_out_of_time(nodes);
	return sno_flake_at(nodes, msec);
}

extern uint64 sno_state_count_next(const SnoNodes *nodes, uint64 word);
extern SnoFlakeTime sno_state_now(const SnoNodes *nodes, uint64 word);
extern uint64 sno_state_unit(const SnoNodes *nodes);
extern void sno_state_init(SnoNamedState *s, const SnoDefinition *d);
extern void sno_state_take_word(SnoNamedState *s);
extern void sno_state_close(SnoNamedState *s);
extern SnoGenerator sno_state_copy(const SnoNamedState *s);
extern void sno_state_set(SnoNamedState *s, const SnoGenerator *g);
extern void sno_state_merge_other(SnoGenerator *g, SnoGenerator other);
extern void sno_state_leave(SnoNamedState *s);
extern SnoStep sno_state_issue(SnoNamedState *s, uint64 word, SnoFlakeTime now, uint64_t *issued);
extern const SnoNamedState *sno_state_next_open(const SnoSpace *space, const SnoNamedState *s);
extern SnoCounts sno_state_counts(const SnoNamedState *s);
extern void sno_state_reset_counters(void);

#endif							/* SNO_STATE_H */
