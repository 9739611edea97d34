/*
 * state.c
 *		The state of a named generator, which all sessions share.
 *
 * Locking: sessions change `users`, `tickets` and `tickets_done` (queue.c) atomically.  While the
 * state word is open, any session may change it atomically.  The other fields of a state change
 * only in the turn of the state's group.  Sessions read the fields of chosen nodes without the
 * turn, to check whether the nodes may be used.
 *
 * Memory ordering: a session stores the ceiling, and the fields that change with the side,
 * before it stores the state word (release).  A session loads these fields after the state word
 * (acquire).  A ceiling is stored after its row was flushed.  A session that only adds to the
 * word changes no other field on which issuing depends, so additions need no memory barrier.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "named/state.h"
#include "shared/clock.h"
#include "shared/feed.h"
#include "type/fields.h"

/*
 * Return the next sequence of a state word, for the statistics in SnoCounters.  Additions may leave
 * the word far above the bounds, so the result is at most the first sequence above them.
 */
static uint32
sequence_of(const SnoNamedState *s, uint64 word)
{
	return Min(SNO_WORD_SEQUENCE(word), (uint32) s->shared.sequence_max + 1);
}

/* Return the next number of a counter with this state word, which must not be closed. */
uint64
sno_state_count_next(const SnoNodes *nodes, uint64 word)
{
	SnoFlakeTime next = sno_flake_count(word);
	uint32		sequence = next.unit == SNO_WORD_UNIT(word) ? SNO_WORD_SEQUENCE(word) : 0;

	return sno_flake_parts(nodes, SNO_WORD(next.unit, false, sequence)).time;
}

/*
 * Return the unit in which a generator with this state word issues next, and the lowest sequence
 * that the generator may issue in this unit.  Announces the transaction's unit or tick, unless that
 * was done before (W1, W6).  The size of `nodes` is 0 for a generator in a partition.
 */
SnoFlakeTime
sno_state_now(const SnoNodes *nodes, uint64 word)
{
	uint64		unit;
	int64		msec;

	if (nodes->size != 0 && nodes->layout.unit == 0)
	{
		SnoSubject	counter = {
			.kind = SNO_OF_NODES,.layout = nodes->layout,.shard = {(int64) nodes->first, (int64) nodes->first}
		};

		sno_feed_tell_tick(sno_word_is_closed(word) ? NULL : &counter, sno_state_count_next(nodes, word));
		return sno_state_count_now(nodes, word);
	}
	unit = sno_feed_unit();
	if (nodes->size == 0)
		return (SnoFlakeTime) {.unit = unit,.clock = unit};
	/* Max() would read the clock twice, and the clock may be set back in between. */
	msec = sno_clock_msec();
	return sno_state_time_in(nodes, Max(msec, (int64) unit * SNO_UNIT_MSEC));
}

/*
 * Return the present unit for these nodes.  If the clock is outside of the times of their layout,
 * return the nearest unit of the layout.
 */
uint64
sno_state_unit(const SnoNodes *nodes)
{
	int64		msec;

	if (nodes->size == 0)
		return sno_clock_unit();
	msec = sno_clock_msec();
	return sno_flake_at(nodes, Min(Max(msec, nodes->begin), nodes->end)).unit;
}

/* Raise an error, because the layout has no number left, or doesn't have the present time. */
void
sno_state_out_of_time(const SnoNodes *nodes)
{
	if (nodes->layout.unit == 0)
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("the generator has counted all numbers of its layout"),
				 errhint("Move its table to another layout. See doc/operations.md#trouble.")));
	ereport(ERROR,
			(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
			 errmsg("the system clock is outside the range of the layout"),
			 errdetail("The generator issues ids of times from %s to %s.",
					   pstrdup(timestamptz_to_str(SNO_EPOCH_TIMESTAMPTZ + nodes->begin * 1000)),
					   pstrdup(timestamptz_to_str(SNO_EPOCH_TIMESTAMPTZ + nodes->end * 1000))),
			 errhint("Set the system clock right, or move to another layout. See doc/operations.md#trouble.")));
}

/* Initialize a closed state for a definition, with no record of issued ids. */
void
sno_state_init(SnoNamedState *s, const SnoDefinition *d)
{
	if (sno_is_flake(d))
		sno_generator_start(&s->shared, 0, 0, sno_nodes_sequence_max(&d->nodes));
	else
		sno_generator_start(&s->shared, 0, d->subject.shard.min, d->subject.shard.max);
	s->nodes = d->nodes;
	s->word = sno_generator_close(&s->shared);
	pg_atomic_init_u32(&s->tickets, 0);
	pg_atomic_init_u32(&s->tickets_done, 0);
	pg_atomic_init_u32(&s->users, 0);
	s->life = sno_space->life;
	s->known = s->open = s->floats = s->passed = false;
	s->limit = SNO_UNIT_MAX;
	sno_lease_clear(&s->lease);
	s->database = MyDatabaseId;
	s->subject = d->subject;
	sno_counters_init(&s->counters, sequence_of(s, s->word));
}

/* Close the shared state word, and keep its value in `word`.  A later addition issues no id. */
void
sno_state_take_word(SnoNamedState *s)
{
	uint64		word = sno_generator_close(&s->shared);

	if (!sno_word_is_closed(word))
		s->word = word;
}

void
sno_state_close(SnoNamedState *s)
{
	sno_state_take_word(s);
	s->open = false;
	s->lease.pending_ceiling = 0;
}

/* Return a copy of the generator of a state.  The copy is exact if no session issues meanwhile. */
SnoGenerator
sno_state_copy(const SnoNamedState *s)
{
	SnoGenerator g = s->shared;

	g.word = sno_generator_load(&s->shared);
	if (sno_word_is_closed(g.word))
		g.word = s->word;
	return g;
}

void
sno_state_set(SnoNamedState *s, const SnoGenerator *g)
{
	sno_counters_go_on(&s->counters, sequence_of(s, s->word), sequence_of(s, g->word));
	s->word = g->word;
	s->shared.wall_safe = g->wall_safe;
	s->shared.drifts = g->drifts;
	s->shared.lease_floor = g->lease_floor;
}

/*
 * Mark the ids of another generator as used in `g`.  The generators may have different bounds of
 * sequences, so the last unit of the other generator counts as used up.
 */
void
sno_state_merge_other(SnoGenerator *g, SnoGenerator other)
{
	other.word = SNO_WORD(SNO_WORD_UNIT(other.word), other.drifts & 1, SNO_SEQUENCE_NONE);
	sno_generator_merge(g, &other);
}

void
sno_state_leave(SnoNamedState *s)
{
	pg_atomic_fetch_sub_u32(&s->users, 1);
}

/*
 * Issue an id.  If it is the first id of a unit, add the number of ids of the former unit to the
 * statistics.
 */
SnoStep
sno_state_issue(SnoNamedState *s, uint64 word, SnoFlakeTime now, uint64_t *issued)
{
	SnoStep		result = sno_generator_share(&s->shared, word, now.unit, now.least, issued);

	if (result == SNO_ENTERED)
	{
		sno_counters_go_on(&s->counters, sequence_of(s, word), SNO_WORD_SEQUENCE(*issued));
		if (SNO_WORD_SEQUENCE(word) > s->shared.sequence_max && word != s->opened)
			sno_counters_exhausted(&s->counters);
		result = SNO_ISSUED;
	}
	return result;
}

/*
 * Return the open state that follows `s` in the list of a space, or the first one if `s` is NULL.
 * Returns NULL if there is none.  The caller has called sno_spaces_hold().
 */
const SnoNamedState *
sno_state_next_open(const SnoSpace *space, const SnoNamedState *s)
{
	do
		s = sno_state_at(s == NULL ? dsa_pointer_atomic_read(&unconstify(SnoSpace *, space)->named.states) : s->listed);
	while (s != NULL && !s->open);
	return s;
}

SnoCounts
sno_state_counts(const SnoNamedState *s)
{
	return sno_counters_read(&s->counters, sequence_of(s, sno_state_copy(s).word));
}

/*
 * Reset the statistics of all states.  The caller has called sno_spaces_hold(), and holds the
 * lock of the journal.
 */
void
sno_state_reset_counters(void)
{
	SnoSpace   *space = NULL;

	while ((space = sno_space_next(space)) != NULL)
		for (SnoNamedState *s = sno_state_at(dsa_pointer_atomic_read(&space->named.states)); s != NULL;
			 s = sno_state_at(s->listed))
			sno_counters_reset(&s->counters, sequence_of(s, sno_state_copy(s).word));
}
