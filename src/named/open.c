/*
 * open.c
 *		How the state of a named generator is opened, renewed and closed.
 *
 * src/README.md has the rules N1 to N5: when a state may be open, the meaning of its
 * row at any time, and how it changes sides.
 *
 * Locking: the table sno_lease is opened first, then the group is locked (group.c), then, for
 * a moment, the locks of partition.c.  Errors and interrupts release the group.  At each
 * moment a state has a word: if the word is closed, the next session that needs the state
 * opens it.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "catalog/leases.h"
#include "catalog/publish.h"
#include "catalog/record.h"
#include "named/chosen.h"
#include "named/named_wait.h"
#include "named/open.h"
#include "named/past.h"
#include "named/use.h"
#include "shared/clock.h"
#include "shared/partition.h"

/* Half of the units of a counter's leases. */
#define SNO_COUNTER_HALF	1

/* Half of the units of a state's leases. */
static uint64
half_of(const SnoNamedState *s)
{
	return sno_state_is_counter(s) ? SNO_COUNTER_HALF : sno_lease_half();
}

static uint64
unit_now(const SnoNamedState *s, uint64 word)
{
	return sno_state_now(&s->nodes, word).unit;
}

/*
 * Write the row of an open state: a lease from now on, and at least up to `ceiling` (N2), but
 * no longer than its limit (G3).  False if another holder's row has to be recalled first.
 */
static bool
write_open(Relation rel, SnoNamedState *s, SnoGenerator g, uint64 now, uint64 ceiling)
{
	uint64		unit = SNO_WORD_UNIT(g.word);

	ceiling = Min(Max(ceiling, Max(unit, sno_lease_end(now, half_of(s)))), s->limit);
	/* In the last unit of the epoch, an open state must not look exact. */
	if (ceiling == unit)
		g.word = SNO_WORD(unit, g.drifts & 1, SNO_SEQUENCE_NONE);
	return sno_lease_write(&s->lease, rel, &s->subject, g, ceiling);
}

/* Write the row of a closed state, which is exact.  False if another holder's row has to be recalled first. */
static bool
write_closed(Relation rel, const SnoNamedState *s, SnoGenerator g, XLogRecPtr *lsn)
{
	g.ceiling = SNO_WORD_UNIT(g.word);
	return sno_record_write(rel, &s->subject, &g, lsn);
}

/*
 * Close a state that another holder leases, too: the rows are recalled before it is opened
 * again.  Sessions leave chosen nodes.
 */
static SnoObstacle
close_for_recall(SnoNamedState *s)
{
	sno_state_close(s);
	s->known = false;
	s->passed = s->floats;
	return SNO_CLASH;
}

/*
 * Is no session about to write a row of the partition?  If so, close the partition to sessions for
 * good, and set *was to its use until now.  A layout has no partition.
 */
static bool
is_free(const SnoSubject *subject, SnoPartition *was)
{
	*was = (SnoPartition) {0};
	if (sno_subject_has_partition(subject))
		*was = sno_partition_copy(subject->partition);
	return !sno_partition_is_held(was);
}

/* Prepare a closed state for opening: close each open state that it overlaps (N1). */
static SnoGenerator
prepare_to_open(Relation rel, SnoGroup *group, SnoNamedState *s, SnoPartition was, uint64 now)
{
	SnoGenerator g;

	for (SnoNamedState *o = sno_state_at(group->states); o != NULL; o = sno_state_at(o->next))
		if (o != s && o->open && sno_shards_overlap(o->subject.shard, s->subject.shard))
		{
			sno_state_close(o);
			/* Nodes that were chosen belong to another generator now. */
			o->passed = o->floats;
		}
	g = sno_past_all(rel, group, s, was, now);
	sno_state_set(s, &g);
	s->known = true;
	return g;
}

/* Is the clock behind both sides of a state that issued the ids of g? */
SnoObstacle
sno_open_check_clock(const SnoSubject *subject, const SnoGenerator *g, uint64 now)
{
	if (now >= SNO_WORD_UNIT(g->word) || now > g->wall_safe)
		return SNO_NO_OBSTACLE;
	return g->wall_safe == SNO_UNIT_MAX && sno_subject_has_partition(subject) ?
		SNO_BACKFILLED : SNO_CLOCK_BEHIND;
}

/*
 * Open a state, or reopen one whose word was taken away; on the other side if the clock
 * went back.  The group is locked.
 */
static SnoObstacle
open_state(Relation rel, SnoGroup *group, SnoNamedState *s, const char *name, uint64 now)
{
	SnoGenerator g,
				row;
	SnoPartition was;
	SnoObstacle obstacle;
	uint64		used;
	bool		drifted;

	if (!is_free(&s->subject, &was))
		return SNO_LEASING;
	used = s->open ? s->shared.ceiling : 0;
	g = s->open ? sno_state_copy(s) : prepare_to_open(rel, group, s, was, now);

	/* The ids known by now may be later than `now`, so read the clock again: see S4. */
	now = unit_now(s, g.word);
	obstacle = sno_open_check_clock(&s->subject, &g, now);
	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	drifted = now < SNO_WORD_UNIT(g.word);
	if (drifted)
		sno_generator_drift(&g, now);

	/* On disk, the side that is left is used up to its ceiling (N3). */
	row = g;
	if (drifted)
		row.wall_safe = Max(row.wall_safe, used);
	/*
	 * A session with this word and the old ceiling may still swap the word after we reopen
	 * the state.  So, unless the word changed, the ceiling never falls.
	 */
	if (!write_open(rel, s, row, now, drifted ? 0 : s->shared.ceiling))
		return close_for_recall(s);
	sno_lease_publish(&s->lease, &s->shared, half_of(s));

	sno_state_set(s, &g);
	strlcpy(s->name, name, NAMEDATALEN);
	s->opened = s->word;
	s->open = true;
	sno_generator_open(&s->shared, s->word);
	return SNO_NO_OBSTACLE;
}

/* Write the next lease of an open state, unless an unpublished row covers `now`. */
static SnoObstacle
write_renewal(Relation rel, SnoNamedState *s, uint64 now)
{
	if (sno_lease_is_pending(&s->lease, now, rel->rd_rel->relfilenode) ||
		write_open(rel, s, sno_state_copy(s), now, s->shared.ceiling))
		return SNO_NO_OBSTACLE;
	return close_for_recall(s);
}

/* May the registry grant these nodes to anybody?  If `ask`, the registry is asked. */
static SnoObstacle
check_nodes(const SnoSubject *subject, bool ask)
{
	SnoGranted *granted = sno_granted_of(&subject->layout);
	SnoNodeRange range = sno_granted_range(granted);

	/* The registry may know the layout later. */
	if (ask)
		sno_grant_renew(granted, 0);
	if (!range.known)
		return SNO_NO_GRANT;
	return subject->shard.min <= range.last && subject->shard.max >= range.first ?
		SNO_REGISTERED : SNO_NO_OBSTACLE;
}

/* Nobody may choose a partition or nodes that the registry grants.  It grants no nodes of counters. */
SnoObstacle
sno_open_check_registry(const SnoNamedState *s, bool ask)
{
	sno_grant_check_setting();
	if (!sno_is_registered() || s->floats || sno_state_is_counter(s))
		return SNO_NO_OBSTACLE;
	if (!sno_subject_has_partition(&s->subject))
		return check_nodes(&s->subject, ask);
	if (!sno_grants_know_range())
	{
		if (ask)
			sno_grant_ask(&sno_space->grants.partitions, 1);
		return SNO_NO_GRANT;
	}
	return sno_grant_is_for_anybody(s->subject.partition) ? SNO_REGISTERED : SNO_NO_OBSTACLE;
}

/* Open the table of leases and lock the group, if there is one. */
SnoObstacle
sno_open_begin_change(SnoGroup *group, Relation *rel)
{
	*rel = sno_leases_open();
	if (*rel == NULL)
		return SNO_TABLE_LOCKED;
	if (group == NULL || sno_group_lock(group))
		return SNO_NO_OBSTACLE;
	sno_leases_close(*rel);
	return SNO_BUSY;
}

void
sno_open_end_change(SnoGroup *group, Relation rel)
{
	if (group != NULL)
		sno_turn_release(&group->turn);
	sno_leases_close(rel);
}

/*
 * Let a state issue again, unless another session has done so meanwhile:
 * open it, change its side, or renew its lease.  `name` is the generator's.
 */
SnoObstacle
sno_open_or_renew(SnoNamedState *s, const char *name)
{
	SnoGroup   *group = sno_group_at(s->group);
	Relation	rel;
	SnoObstacle obstacle = sno_open_check_registry(s, true);
	uint64		word,
				now;

	if (obstacle == SNO_NO_OBSTACLE)
		obstacle = sno_open_begin_change(group, &rel);
	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;

	if (pg_atomic_read_u32(&s->users) > 1)
		sno_leases_check_shared(rel);
	word = sno_generator_load(&s->shared);
	now = unit_now(s, word);
	obstacle = sno_chosen_find_limit(s, now);
	if (obstacle != SNO_NO_OBSTACLE)
	{
		/* The state isn't used, or its lease is over. */
	}
	else if (sno_word_is_closed(word))
		obstacle = open_state(rel, group, s, name, now);
	else if (now < SNO_WORD_UNIT(word))
	{
		if (now > s->shared.wall_safe)
		{
			sno_state_take_word(s);
			obstacle = open_state(rel, group, s, name, now);
		}
		else
			obstacle = SNO_CLOCK_BEHIND;
	}
	else if (now > s->shared.ceiling || s->lease.file != rel->rd_rel->relfilenode)
	{
		obstacle = write_renewal(rel, s, now);
		if (obstacle == SNO_NO_OBSTACLE)
			sno_lease_publish(&s->lease, &s->shared, half_of(s));
	}
	/* Other nodes may be able to issue. */
	if (obstacle == SNO_CLOCK_BEHIND)
		s->passed = s->floats;
	sno_open_end_change(group, rel);
	return obstacle;
}

/* Renew the lease when it is time, without waiting for the flush. */
void
sno_open_renew_early(SnoNamedState *s, uint64 now)
{
	SnoGroup   *group = sno_group_at(s->group);
	Relation	rel;

	if (sno_open_begin_change(group, &rel) != SNO_NO_OBSTACLE)
		return;
	if (now >= s->lease.attention && s->open &&
		!sno_word_is_closed(sno_generator_load(&s->shared)) &&
		sno_chosen_find_limit(s, now) == SNO_NO_OBSTACLE)
	{
		sno_lease_postpone(&s->lease, &s->shared, now);
		if (write_renewal(rel, s, now) == SNO_NO_OBSTACLE)
			sno_lease_flush_later(&s->lease, &s->shared);
	}
	sno_open_end_change(group, rel);
}

/* Become a user of the nodes that are chosen for a generator. */
static SnoObstacle
join_chosen(SnoDefinitions *in, const char *name, const SnoDefinition *d, SnoNamedState **state)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "sno nodes", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	List	   *defined = in->chooser->find_defined(in, d);
	SnoGroup   *group = sno_group_have(d);
	SnoNamedState *s = NULL;
	Relation	rel;
	SnoObstacle obstacle;

	sno_grant_check_setting();
	obstacle = sno_open_begin_change(group, &rel);
	if (obstacle == SNO_NO_OBSTACLE)
	{
		obstacle = in->chooser->choose(rel, group, name, d, defined, &s);
		if (s != NULL)
			pg_atomic_fetch_add_u32(&s->users, 1);
		sno_open_end_change(group, rel);
	}
	*state = s;
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return obstacle;
}

/* Become a user of the state that a definition means, by the name of a generator. */
SnoObstacle
sno_open_join(SnoDefinitions *in, const char *name, const SnoDefinition *d, SnoNamedState **state)
{
	SnoGroup   *group;

	if (sno_subject_floats(&d->subject))
		return join_chosen(in, name, d, state);
	group = sno_group_have(d);
	if (!sno_group_lock(group))
		return SNO_BUSY;
	*state = sno_group_have_state(group, d);
	(*state)->floats = false;
	pg_atomic_fetch_add_u32(&(*state)->users, 1);
	sno_turn_release(&group->turn);
	return SNO_NO_OBSTACLE;
}

/* Close a state that its last user has left: see N5. */
void
sno_open_close_unused(Relation rel, SnoNamedState *s)
{
	SnoGroup   *group = sno_group_at(s->group);
	XLogRecPtr	lsn;

	if (!sno_turn_try(&group->turn))
		return;
	if (pg_atomic_read_u32(&s->users) == 0 && s->open)
	{
		sno_state_close(s);
		/* After a row of our own, we would again choose nodes that sno_reseed() revoked. */
		if ((!s->floats || sno_chosen_are_in_force(s)) && write_closed(rel, s, sno_state_copy(s), &lsn))
			XLogSetAsyncXactLSN(lsn);
	}
	sno_turn_release(&group->turn);
}

/* Set a state on disk and in memory, so that it issues only ids after `issued`. */
static SnoObstacle
set_after(const SnoDefinition *d, const SnoGenerator *issued)
{
	SnoGroup   *group = sno_group_have(d);
	Relation	rel;
	SnoObstacle obstacle = sno_open_begin_change(group, &rel);
	SnoNamedState *s;
	SnoGenerator g;
	XLogRecPtr	lsn;
	uint64		now = sno_clock_unit();
	bool		written = false;

	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	s = sno_group_have_state(group, d);
	sno_state_close(s);
	/* At the second try, the rows are recalled. */
	for (int i = 0; i < 2 && !written; i++)
	{
		g = sno_past_known(rel, group, s, false, now);
		sno_generator_merge(&g, issued);
		written = write_closed(rel, s, g, &lsn);
		if (!written)
			s->known = false;
	}
	if (written)
	{
		XLogFlush(lsn);
		sno_state_set(s, &g);
		s->known = true;
	}
	sno_open_end_change(group, rel);
	return written ? SNO_NO_OBSTACLE : SNO_CLASH;
}

/* Set a generator on disk and in memory, so that it issues only ids after `issued`.  Waits sno.max_wait at most. */
void
sno_open_restore(const SnoDefinitions *in, const char *name, const SnoDefinition *d, const SnoGenerator *issued)
{
	SnoWait		wait = sno_named_wait(in, name, d);
	SnoObstacle obstacle;

	sno_use_begin();
	while ((obstacle = set_after(d, issued)) != SNO_NO_OBSTACLE)
		sno_wait(&wait, obstacle, 1);
}
