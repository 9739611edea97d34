/*
 * open.c
 *		Opening and closing the states of named generators, and renewing their leases.
 *
 * The rules N1 to N5 of src/README.md determine when a state may be open, how its row limits the
 * ids at any time, and how the state changes sides.
 *
 * Locking: a session opens the table sno_lease first, then locks the group (group.c), and then may
 * take LWLocks for a moment.  src/README.md has the order of all locks.  If an error or an
 * interrupt ends the work of the session, the lock on the group is released.  If the word of the
 * state is closed at that time, the next session that needs the state opens the state again.
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

/* Half of the length of a counter's lease, in units */
#define SNO_COUNTER_HALF	1

/* Return half of the length of a state's lease, in units. */
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
 * Write the row of an open state, with a lease that begins now.  The lease reaches to `ceiling` or
 * further (N2), but not beyond the `limit` of the state (G3).  Returns false, and writes nothing, if
 * another holder leases the ids of the state, too.  The caller must then recall the rows before the
 * next attempt (sno_record_recall()).
 */
static bool
write_open(Relation rel, SnoNamedState *s, SnoGenerator g, uint64 now, uint64 ceiling)
{
	uint64		unit = SNO_WORD_UNIT(g.word);

	ceiling = Min(Max(ceiling, Max(unit, sno_lease_end(now, half_of(s)))), s->limit);
	/* A row whose ceiling is the word's unit looks exact, so mark the whole unit as used. */
	if (ceiling == unit)
		g.word = SNO_WORD(unit, g.drifts & 1, SNO_SEQUENCE_NONE);
	return sno_lease_write(&s->lease, rel, &s->subject, g, ceiling);
}

/* Write the exact row of a closed state.  Returns false in the same case as write_open(). */
static bool
write_closed(Relation rel, const SnoNamedState *s, SnoGenerator g, XLogRecPtr *lsn)
{
	g.ceiling = SNO_WORD_UNIT(g.word);
	return sno_record_write(rel, &s->subject, &g, lsn);
}

/*
 * Close a state, because another holder leases its ids, too.  The rows are recalled before the state
 * is opened again.  If its nodes were chosen, sessions leave the state, and choose other nodes.
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
 * Is the partition of a subject free for named generators?  It isn't while a session has the
 * partition's turn.  If the partition is free, this function closes it to all other ids, for good.
 * *was becomes a copy of the partition, or zeros for a layout, which has no partition.
 */
static bool
is_free(const SnoSubject *subject, SnoPartition *was)
{
	*was = (SnoPartition) {0};
	if (sno_subject_has_partition(subject))
		*was = sno_partition_copy(subject->partition);
	return !sno_partition_is_held(was);
}

/*
 * Prepare a closed state for opening: close each open state that overlaps it (N1), and mark as
 * used all ids that may have been issued.
 */
static SnoGenerator
prepare_to_open(Relation rel, SnoGroup *group, SnoNamedState *s, SnoPartition was, uint64 now)
{
	SnoGenerator g;

	for (SnoNamedState *o = sno_state_at(group->states); o != NULL; o = sno_state_at(o->next))
		if (o != s && o->open && sno_shards_overlap(o->subject.shard, s->subject.shard))
		{
			sno_state_close(o);
			/* If the nodes of *o were chosen, they belong to another generator now. */
			o->passed = o->floats;
		}
	g = sno_past_all(rel, group, s, was, now);
	sno_state_set(s, &g);
	s->known = true;
	return g;
}

/*
 * Return the obstacle if the clock is behind the ids of a subject on both sides.  `g` has the issued
 * ids of the subject, and `now` is the clock's unit.
 */
SnoObstacle
sno_open_check_clock(const SnoSubject *subject, const SnoGenerator *g, uint64 now)
{
	if (now >= SNO_WORD_UNIT(g->word) || now > g->wall_safe)
		return SNO_NO_OBSTACLE;
	return g->wall_safe == SNO_UNIT_MAX && sno_subject_has_partition(subject) ?
		SNO_BACKFILLED : SNO_CLOCK_BEHIND;
}

/*
 * Open a closed state, or reopen an open state whose word sno_state_take_word() has closed.  If the
 * clock went back, the state is opened on the other side.  The caller has locked the group.
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

	/* Ids of g may have been issued after `now` was read, so read the clock again (S4). */
	now = unit_now(s, g.word);
	obstacle = sno_open_check_clock(&s->subject, &g, now);
	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	drifted = now < SNO_WORD_UNIT(g.word);
	if (drifted)
		sno_generator_drift(&g, now);

	/* In the row, the side that the state leaves counts as used up to the ceiling (N3). */
	row = g;
	if (drifted)
		row.wall_safe = Max(row.wall_safe, used);
	/*
	 * A session that loaded this word and the old ceiling may still swap the word after the
	 * state is reopened.  So, if the side stays, the ceiling must not fall.
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

/* Write the row of the next lease of an open state, unless an unpublished row already covers `now`. */
static SnoObstacle
write_renewal(Relation rel, SnoNamedState *s, uint64 now)
{
	if (sno_lease_is_pending(&s->lease, now, rel->rd_rel->relfilenode) ||
		write_open(rel, s, sno_state_copy(s), now, s->shared.ceiling))
		return SNO_NO_OBSTACLE;
	return close_for_recall(s);
}

/*
 * Return the obstacle if the registry may grant these fixed nodes to any server, or if it isn't
 * known which nodes the registry grants.  If `ask` is set, this also asks the registry again, if it
 * is time to do so.
 */
static SnoObstacle
check_nodes(const SnoSubject *subject, bool ask)
{
	SnoGranted *granted = sno_granted_of(&subject->layout);
	SnoNodeRange range = sno_granted_range(granted);

	/* Ask even if the range is known: the layout may be added to the registry at any time. */
	if (ask)
		sno_grant_renew(granted, 0);
	if (!range.known)
		return SNO_NO_GRANT;
	return subject->shard.min <= range.last && subject->shard.max >= range.first ?
		SNO_REGISTERED : SNO_NO_OBSTACLE;
}

/*
 * Return the obstacle if the registry may grant the partition or the fixed nodes of a state to any
 * server, or if it isn't known which partitions or nodes the registry grants.  The registry grants
 * no nodes of counters.  If `ask` is set, this also requests a grant, because the answer has the range.
 */
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

/*
 * Open the table of leases, and lock the group unless it is NULL.  If another session has locked
 * the table or the group, return the obstacle, and leave the table closed.
 */
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
 * Let a state issue again: open it, change its side, or renew its lease, unless another session
 * has done so meanwhile.  `name` is the name of the generator.
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
		/* The chosen nodes may not be used any more, or their grant is over. */
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
	/* Let sessions choose other nodes, in which they may be able to issue. */
	if (obstacle == SNO_CLOCK_BEHIND)
		s->passed = s->floats;
	sno_open_end_change(group, rel);
	return obstacle;
}

/*
 * If it is time to renew the lease of a state, write the next row, but don't wait for its flush.
 * Do nothing if the table or the group is locked.
 */
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

/* Make this session a user of the state of a generator's chosen nodes.  Chooses nodes if necessary. */
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

/*
 * Make this session a user of the state of the generator with this name and definition, and store
 * the state in *state.  If the generator has no fixed nodes, this may choose nodes first.
 */
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

/* If no session uses a state any more, close it and write its exact row (N5). */
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
		/* Write no row for revoked nodes: at the next choice, we would prefer nodes with such a row. */
		if ((!s->floats || sno_chosen_are_in_force(s)) && write_closed(rel, s, sno_state_copy(s), &lsn))
			XLogSetAsyncXactLSN(lsn);
	}
	sno_turn_release(&group->turn);
}

/* Change a state, on disk and in memory, so that it issues only ids after the ones in `issued`. */
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
	/* If another holder leases the ids of the state, too, the second attempt recalls the rows first. */
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

/*
 * Change a generator, on disk and in memory, so that it issues only ids after the ones in `issued`.
 * Waits sno.max_wait at most.
 */
void
sno_open_restore(const SnoDefinitions *in, const char *name, const SnoDefinition *d, const SnoGenerator *issued)
{
	SnoWait		wait = sno_named_wait(in, name, d);
	SnoObstacle obstacle;

	sno_use_begin();
	while ((obstacle = set_after(d, issued)) != SNO_NO_OBSTACLE)
		sno_wait(&wait, obstacle, 1);
}
