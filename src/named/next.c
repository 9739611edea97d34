/*
 * next.c
 *		Issuing the next id of a named generator, if an addition to its state word isn't enough.
 *
 * All sessions share the state of the generator (state.c).  To issue one more id of the state
 * word's unit, a session adds one to the word (next.h).  sno_next_slowly() takes the rarer steps:
 * it enters the next unit, opens the state or renews its lease, and waits.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "catalog/leases.h"
#include "catalog/publish.h"
#include "named/look.h"
#include "named/named_wait.h"
#include "named/next.h"
#include "named/open.h"
#include "named/queue.h"

typedef struct Renewal
{
	SnoNamedState *state;
	uint64		now;
} Renewal;

static void
renew_named_early(void *arg)
{
	Renewal    *renewal = arg;

	sno_open_renew_early(renewal->state, renewal->now);
}

/*
 * Return by how many units of 4 ms the state word's unit may rise at once while the clock is
 * steady.  The number is more than 1 for a layout whose units have 4 ms or more.
 */
static uint64
stride_of(const SnoDefinition *d)
{
	return sno_is_flake(d) ? 1 + d->nodes.layout.unit / SNO_UNIT_MSEC : 1;
}

/*
 * Return the ms until the clock enters the next unit of a layout whose units are longer than 4 ms.
 * Returns 0 for other layouts and for partitions.  Also returns 0 if ids are issued in a promised
 * unit ahead of the clock, because the caller then moves the promise on, by 4 ms at a time.
 */
static int
msec_left(const SnoDefinition *d, SnoFlakeTime now)
{
	const SnoLayout *layout = &d->nodes.layout;

	if (layout->unit <= SNO_UNIT_MSEC || now.clock > sno_clock_unit())
		return 0;
	return (int) (layout->unit - (sno_clock_msec() + SNO_EPOCH_MSEC - layout->epoch) % layout->unit);
}

/*
 * Issue an id, unless the sessions before us in the queue need all ids that are left in the unit.
 * If the result is SNO_EXHAUSTED, *msec is set to the time to wait.
 */
static SnoStep
issue_if_our_turn(SnoUse *use, uint64_t *issued, int *msec)
{
	SnoNamedState *s = use->state;
	const SnoNodes *nodes = &use->definition.nodes;
	RelFileNumber file = sno_leases_file();
	uint64		word = sno_generator_load(&s->shared);
	SnoFlakeTime now = sno_state_now(nodes, word);
	int32		before;
	SnoStep		step;

	if (sno_word_is_closed(word))
		return SNO_CLOSED;

	/* Units were skipped, or the clock went back, in which case the difference wraps around. */
	if (now.unit - SNO_WORD_UNIT(word) > stride_of(&use->definition))
		sno_clock_watch();

	switch (sno_lease_task(&s->lease, &s->shared, now.unit, file))
	{
		case SNO_LEASE_WRITE:
		case SNO_LEASE_PUBLISH:
			return SNO_LEASE_OVER;
		case SNO_LEASE_RENEW_EARLY:
			{
				Renewal		renewal = {s, now.unit};

				sno_queue_leave();
				sno_lease_quietly(renew_named_early, &renewal, use->name, 0);
				word = sno_generator_load(&s->shared);
				now = sno_state_now(nodes, word);
			}
			break;
		case SNO_LEASE_ISSUE:
			break;
	}

	before = sno_queue_before_us(s, word, now);
	step = before > 0 ? SNO_EXHAUSTED : sno_state_issue(s, word, now, issued);
	if (step == SNO_EXHAUSTED)
		*msec = Max(1, (before - 1) / sno_state_unit_size(&s->shared) * sno_state_unit_msec(&use->definition.nodes) +
					msec_left(&use->definition, now));
	if (step == SNO_ISSUED && SNO_WORD_UNIT(*issued) < Min(now.unit, sno_feed_bound))
		return SNO_RACED;
	if (step == SNO_EXHAUSTED && now.unit == SNO_WORD_UNIT(word) &&
		SNO_WORD_SEQUENCE(word) > s->shared.sequence_max && sno_feed_move_on(now.clock))
		return SNO_RACED;
	return step;
}

/*
 * Issue an id, or take one step that must come first: refresh the use, open the state, renew the
 * state's lease, or join the queue.  *issued is valid if *step becomes SNO_ISSUED.
 */
static SnoObstacle
issue_named_or_prepare(SnoUse *use, uint64_t *issued, SnoStep *step, int *msec)
{
	SnoObstacle obstacle = sno_use_refresh(use);

	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	*step = issue_if_our_turn(use, issued, msec);
	switch (*step)
	{
		case SNO_ISSUED:
		case SNO_RACED:
			return SNO_NO_OBSTACLE;
		case SNO_EXHAUSTED:
			obstacle = SNO_UNIT_EXHAUSTED;
			break;
		default:
			obstacle = sno_open_or_renew(use->state, use->name);
			if (obstacle == SNO_NO_OBSTACLE || obstacle == SNO_CLASH)
				return obstacle;
	}
	sno_queue_join(use->state);
	return obstacle;
}

/* Record `number` if it is the first number that this transaction draws from a counter. */
static void
note_number(SnoUse *use, uint64 number)
{
	if (use->transaction == sno_feed_transaction)
		return;
	use->transaction = sno_feed_transaction;
	use->first = number;
}

/*
 * Issue an id, and wait for it if necessary.  This function isn't inlined, because compilers would
 * warn about PG_TRY in the caller.
 */
pg_noinline static uint64
next_patiently(SnoUse *use)
{
	SnoWait		wait = sno_named_wait(use->in, use->name, &use->definition);

	for (;;)
	{
		uint64_t	issued = 0;
		SnoStep		step = SNO_RACED;
		int			msec = 1;
		SnoObstacle obstacle = issue_named_or_prepare(use, &issued, &step, &msec);

		if (step == SNO_ISSUED)
		{
			if (sno_state_is_counter(use->state))
				note_number(use, sno_flake_parts(&use->definition.nodes, issued).time);
			return issued;
		}
		wait.counters = use->state == NULL ? NULL : &use->state->counters;
		HOLD_INTERRUPTS();
		sno_wait(&wait, obstacle, msec);
		RESUME_INTERRUPTS();
		if (InterruptPending)
			sno_queue_leave();
		CHECK_FOR_INTERRUPTS();
	}
}

uint64
sno_next_slowly(SnoUse *use)
{
	volatile uint64 word = 0;

	PG_TRY();
	{
		word = next_patiently(use);
	}
	PG_CATCH();
	{
		sno_queue_leave();
		PG_RE_THROW();
	}
	PG_END_TRY();
	sno_queue_leave();
	return word;
}

/*
 * Return the first number that this transaction has drawn from a counter or, if it has drawn none,
 * the lowest number that it may still draw.  From now on, if a snapshot doesn't show the
 * transaction, the snapshot's watermark isn't above the returned number.
 */
uint64
sno_next_first_number(SnoUse *use)
{
	if (use->transaction != sno_feed_transaction)
	{
		sno_feed_tell_tick(NULL, 0);
		note_number(use, sno_look_number(use->in, use->name, &use->definition));
	}
	return use->first;
}
