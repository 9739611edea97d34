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

/* state.c describes the protection of each field. */
typedef struct SnoNamedState
{
	/* The cache line that all callers use.  Machines of 32 bits have the same layout. */
	SnoGenerator shared;		/* its state word is shared while the state is open */
	pg_atomic_uint32 tickets;	/* drawn by those who wait */
	pg_atomic_uint32 tickets_done;	/* whose owners don't wait any more */
	char		pad[PG_CACHE_LINE_SIZE / 2 - sizeof(SnoGenerator) - 8];

	uint64		word;			/* the exact state word, while it isn't shared */
	dsa_pointer next;			/* in the group */
	uint32		life pg_attribute_aligned(8);	/* of the space, in which the rest is valid */
	pg_atomic_uint32 users;		/* sessions that may issue */
	bool		made_here;		/* as its definition says */
	bool		known;			/* have the rows been merged? */
	bool		open;			/* see N1; its word may be closed for a moment */
	SnoLease	lease pg_attribute_aligned(8);

	/* Its activity, for sno_generators(); see activity.c. */
	dsa_pointer listed;			/* the next in the space's list of all */
	Oid			database;
	SnoSubject	subject;
	SnoNodes	nodes;			/* of a layout; otherwise of size 0 */
	dsa_pointer group;
	char		name[NAMEDATALEN];	/* by which it was opened last, */
	uint64		opened;			/* and with which state word */
	SnoCounters counters;

	/* Nodes that were chosen; see chosen.c. */
	bool		floats;			/* were they? */
	bool		passed;			/* must the nodes not be used any more? */
	dsa_pointer granted;		/* the SnoGranted of the nodes, invalid without a registry */
	uint64		authority;		/* the value of sno_chosen_authority() then */
	uint64		floor;			/* unit: of the grant, or given to sno_flake_advance() */
	uint64		limit;			/* the last unit of any lease */
} SnoNamedState;

StaticAssertDecl(offsetof(SnoNamedState, listed) == SNO_STATE_LINK, "the fields for issuing from a named generator are not two cache lines, or space.c cannot follow a list of states");

static inline SnoNamedState *
sno_state_at(dsa_pointer place)
{
	return DsaPointerIsValid(place) ? dsa_get_address(sno_area, place) : NULL;
}

/* Ids that a generator can issue in a unit. */
static inline int
sno_state_unit_size(const SnoGenerator *g)
{
	return g->sequence_max - g->sequence_min + 1;
}

/* Do sessions wait for a unit of the generator? */
static inline bool
sno_state_is_queued(SnoNamedState *s)
{
	return pg_atomic_read_u32(&s->tickets) != pg_atomic_read_u32(&s->tickets_done);
}

/* Does a generator count, instead of using the time? */
static inline bool
sno_state_is_counter(const SnoNamedState *s)
{
	return s->nodes.size != 0 && s->nodes.layout.unit == 0;
}

/* How long the ids of a unit last, at least: until the clock is in the next one. */
static inline int
sno_state_unit_msec(const SnoNodes *nodes)
{
	return Max(SNO_UNIT_MSEC, (int) nodes->layout.unit);
}

pg_noreturn extern void sno_state_out_of_time(const SnoNodes *nodes);

/* When a counter issues next, if this is its state word. */
static inline SnoFlakeTime
sno_state_count_now(const SnoNodes *nodes, uint64 word)
{
	SnoFlakeTime now = sno_flake_count(word);

	if (unlikely(now.unit > SNO_UNIT_MAX))
		sno_state_out_of_time(nodes);
	return now;
}

/* When a generator of a layout with a time issues, in this ms. */
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
extern SnoStep sno_state_issue(SnoNamedState *s, uint64 word, SnoFlakeTime now, uint64 *issued);
extern const SnoNamedState *sno_state_next_open(const SnoSpace *space, const SnoNamedState *s);
extern SnoCounts sno_state_counts(const SnoNamedState *s);
extern void sno_state_reset_counters(void);

#endif							/* SNO_STATE_H */
