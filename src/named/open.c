/*
 * open.c
 *		How the state of a named generator is opened, renewed and closed.
 *
 * src/README.md has the rules N1 to N5: when a state may be open, what its row says
 * at any time, and how it changes sides.
 *
 * Locking: the table sno_lease is opened first, then the group is locked (group.c), then, for a
 * moment, what partition.c locks.  Errors and interrupts release the group.  At each moment a state has a
 * word: if it is closed, the next session that needs it opens it.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "catalog/leases.h"
#include "catalog/publish.h"
#include "catalog/record.h"
#include "catalog/table.h"
#include "generate/session.h"
#include "named/choose.h"
#include "named/group.h"
#include "named/open.h"
#include "shared/clock.h"
#include "shared/partition.h"

/* Of a generator that counts: half of the units of a lease. */
#define SNO_COUNTER_HALF	1

/* Half of the units of its leases. */
static uint64
half_of(const SnoNamedState *s)
{
	return sno_is_count(s) ? SNO_COUNTER_HALF : sno_lease_half();
}

static uint64
unit_now(const SnoNamedState *s, uint64 word)
{
	return sno_named_now(&s->nodes, word).unit;
}

/* What memory knows of a partition, beside the rows. */
typedef struct Memory
{
	SnoGroup   *group;			/* NULL if there is none */
	bool		knows_sessions; /* all that session generators issued there? */
} Memory;

static bool
in_memory(const void *arg, const SnoSubject *subject)
{
	const Memory *memory = arg;
	SnoNamedState *s;

	if (!sno_subject_is_named(subject))
		return memory->knows_sessions;
	s = sno_group_find_state(memory->group, subject->shard);
	return s != NULL && s->known;
}

/*
 * All that rows and other states say was issued in a state that isn't open.  A row of
 * our own is a worse bound than what memory knows, if it does.  After a crash it is all that
 * is known, and so is another holder's row for a successor (N4).
 */
static SnoGenerator
merge_known_state(Relation rel, SnoGroup *group, const SnoNamedState *s,
				  bool knows_sessions, uint64 now)
{
	SnoGenerator g = sno_state_copy(s);
	Memory		memory = {group, knows_sessions};
	SnoUnseen	unseen = {.until = sno_lease_end(now, sno_lease_half())};

	/* A count has no clock that bounds what another server issued. */
	if (sno_is_count(s))
		unseen.more = sno_count_unseen(&s->nodes.layout);
	if (!s->known)
		sno_record_recall(rel, &s->subject, &g, unseen, s->made_here, in_memory, &memory);
	if (group != NULL)
	{
		for (SnoNamedState *o = sno_state_at(group->states); o != NULL; o = sno_state_at(o->next))
			if (o != s && sno_shards_overlap(o->subject.shard, s->subject.shard))
				sno_state_merge_other(&g, sno_state_copy(o));
		if (sno_shards_overlap(group->forgotten_shard, s->subject.shard))
			sno_state_merge_other(&g, group->forgotten);
	}
	if (sno_is_count(s))
		sno_generator_join_sides(&g);
	return g;
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

/* Write the row of a closed state, which is exact.  False as above. */
static bool
write_closed(Relation rel, const SnoNamedState *s, SnoGenerator g, XLogRecPtr *lsn)
{

	g.ceiling = SNO_WORD_UNIT(g.word);
	return sno_record_write(rel, &s->subject, &g, lsn);
}

/*
 * Another holder leases the same: recall the rows before the state is opened again.  Nodes
 * that were chosen are left.
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
 * Is nobody about to write a row of the partition?  Then it is closed to sessions for good, and *was
 * gets what it was used for.  A layout has no partition.
 */
static bool
is_free(const SnoSubject *subject, SnoPartition *was)
{
	*was = (SnoPartition) {0};
	if (sno_subject_has_partition(subject))
		*was = sno_partition_copy(subject->partition);
	return !sno_partition_is_held(was);
}

/* A generator that issued all up to a unit, on both sides */
static SnoGenerator
all_up_to(uint64 unit)
{
	return (SnoGenerator) {.word = SNO_WORD(unit, false, 0),.wall_safe = unit};
}

/*
 * All that rows, other states, sessions, and other holders of a grant may have issued in a state
 * that isn't open.  The partition is closed; `was` is what it was used for before.
 */
static SnoGenerator
merge_all(Relation rel, SnoGroup *group, const SnoNamedState *s, SnoPartition was, uint64 now)
{
	SnoGenerator g = merge_known_state(rel, group, s, was.life == sno_space->life, now);

	if (s->floats)
		sno_state_merge_other(&g, all_up_to(s->floor));
	/* Ids of given times may be in any unit of the epoch. */
	if (was.generator.ceiling == SNO_UNIT_MAX)
		sno_generator_start(&was.generator, SNO_UNIT_MAX, 0, SNO_SEQUENCE_MAX);
	if (was.life != 0)
		sno_state_merge_other(&g, was.generator);
	return g;
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
	g = merge_all(rel, group, s, was, now);
	sno_state_set(s, &g);
	s->known = true;
	return g;
}

/* Is the clock behind both sides of a state that issued this? */
static SnoObstacle
check_clock(const SnoSubject *subject, const SnoGenerator *g, uint64 now)
{
	if (now >= SNO_WORD_UNIT(g->word) || now > g->wall_safe)
		return SNO_NO_OBSTACLE;
	return g->wall_safe == SNO_UNIT_MAX && sno_subject_has_partition(subject) ?
		SNO_BACKFILLED : SNO_CLOCK_BEHIND;
}

/*
 * Open a state, or open it again if its word is taken; on the other side if the clock
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

	/* What is known by now may be later than the clock was: see S4. */
	now = unit_now(s, g.word);
	obstacle = check_clock(&s->subject, &g, now);
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
	 * A session that loaded this word and the old ceiling may still swap the word
	 * after we open it again.  So, unless the word changed, the ceiling never falls.
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

/* Write the next lease of an open state, unless a row is written that covers `now`. */
static SnoObstacle
write_renewal(Relation rel, SnoNamedState *s, uint64 now)
{
	if (sno_lease_is_pending(&s->lease, now, rel->rd_rel->relfilenode) ||
		write_open(rel, s, sno_state_copy(s), now, s->shared.ceiling))
		return SNO_NO_OBSTACLE;
	return close_for_recall(s);
}

/* May the registry grant these nodes to anybody?  It is asked, if `ask`. */
static SnoObstacle
check_nodes(const SnoSubject *subject, bool ask)
{
	SnoGranted *granted = sno_granted_of(&subject->layout);
	SnoNodeRange range = sno_granted_range(granted);

	/* It may know the layout later. */
	if (ask)
		sno_grant_renew(granted, 0);
	if (!range.known)
		return SNO_NO_GRANT;
	return subject->shard.min <= range.last && subject->shard.max >= range.first ?
		SNO_REGISTERED : SNO_NO_OBSTACLE;
}

/*
 * Nobody may choose a partition or nodes that the registry grants.  It grants none of layouts
 * that count.
 */
static SnoObstacle
check_registry(const SnoNamedState *s, bool ask)
{
	sno_grant_check_setting();
	if (!sno_is_registered() || s->floats || sno_is_count(s))
		return SNO_NO_OBSTACLE;
	if (!sno_subject_has_partition(&s->subject))
		return check_nodes(&s->subject, ask);
	if (!sno_grants_know_range())
	{
		if (ask)
			sno_grant_ask(&sno_space->granted, 1);
		return SNO_NO_GRANT;
	}
	return sno_grant_is_for_anybody(s->subject.partition) ? SNO_REGISTERED : SNO_NO_OBSTACLE;
}

/* Open the table of leases and lock the group, if there is one. */
static SnoObstacle
begin_change(SnoGroup *group, Relation *rel)
{
	*rel = sno_leases_open();
	if (*rel == NULL)
		return SNO_TABLE_LOCKED;
	if (group == NULL || sno_group_lock(group))
		return SNO_NO_OBSTACLE;
	sno_leases_close(*rel);
	return SNO_BUSY;
}

static void
end_change(SnoGroup *group, Relation rel)
{
	if (group != NULL)
		sno_turn_release(&group->turn);
	sno_leases_close(rel);
}

/*
 * Do what a state needs to issue again, unless another session has done so meanwhile:
 * open it, change its side, or renew its lease.  `name` is the generator's.
 */
SnoObstacle
sno_named_reopen_or_renew(SnoNamedState *s, const char *name)
{
	SnoGroup   *group = sno_group_at(s->group);
	Relation	rel;
	SnoObstacle obstacle = check_registry(s, true);
	uint64		word,
				now;

	if (obstacle == SNO_NO_OBSTACLE)
		obstacle = begin_change(group, &rel);
	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;

	if (pg_atomic_read_u32(&s->users) > 1)
		sno_leases_check_shared(rel);
	word = sno_generator_load(&s->shared);
	now = unit_now(s, word);
	obstacle = sno_nodes_find_limits(s, now);
	if (obstacle != SNO_NO_OBSTACLE)
	{
		/* It isn't used, or its lease is over. */
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
	/* Other nodes may do. */
	if (obstacle == SNO_CLOCK_BEHIND)
		s->passed = s->floats;
	end_change(group, rel);
	return obstacle;
}

/* Renew the lease when it is time, without waiting for the flush. */
void
sno_named_renew_early(SnoNamedState *s, uint64 now)
{
	SnoGroup   *group = sno_group_at(s->group);
	Relation	rel;

	if (begin_change(group, &rel) != SNO_NO_OBSTACLE)
		return;
	if (now >= s->lease.attention && s->open &&
		!sno_word_is_closed(sno_generator_load(&s->shared)) &&
		sno_nodes_find_limits(s, now) == SNO_NO_OBSTACLE)
	{
		sno_lease_postpone(&s->lease, &s->shared, now);
		if (write_renewal(rel, s, now) == SNO_NO_OBSTACLE)
			sno_lease_flush_later(&s->lease, &s->shared);
	}
	end_change(group, rel);
}

/* Become a user of the nodes that are chosen for a generator. */
static SnoObstacle
join_chosen(SnoDefinitions *in, const char *name, const SnoDefinition *d, SnoNamedState **state)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "sno nodes", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	List	   *defined = sno_nodes_defined(in, d);
	SnoGroup   *group = sno_group_have(d);
	SnoNamedState *s = NULL;
	Relation	rel;
	SnoObstacle obstacle;

	sno_grant_check_setting();
	obstacle = begin_change(group, &rel);
	if (obstacle == SNO_NO_OBSTACLE)
	{
		obstacle = sno_nodes_choose(rel, group, name, d, defined, &s);
		if (s != NULL)
			pg_atomic_fetch_add_u32(&s->users, 1);
		end_change(group, rel);
	}
	*state = s;
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return obstacle;
}

/* Become a user of the state that a definition means, by the name of a generator. */
SnoObstacle
sno_named_join(SnoDefinitions *in, const char *name, const SnoDefinition *d, SnoNamedState **state)
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
sno_named_close_unused(Relation rel, SnoNamedState *s)
{
	SnoGroup   *group = sno_group_at(s->group);
	XLogRecPtr	lsn;

	if (!sno_turn_try(&group->turn))
		return;
	if (pg_atomic_read_u32(&s->users) == 0 && s->open)
	{
		sno_state_close(s);
		/* A row of our own would have us choose nodes again that sno_reseed() revoked. */
		if ((!s->floats || sno_nodes_are_in_force(s)) && write_closed(rel, s, sno_state_copy(s), &lsn))
			XLogSetAsyncXactLSN(lsn);
	}
	sno_turn_release(&group->turn);
}

/* When a generator would issue next, if this is its state word.  Nobody is told that it does. */
static uint64
unit_next(const SnoNodes *nodes, uint64 word)
{
	if (nodes->size == 0)
		return sno_clock_unit();
	if (nodes->layout.unit != 0)
		return sno_flake_in(nodes, sno_clock_msec()).unit;
	if (sno_count_next(nodes, word) > nodes->last)
		sno_flake_out_of_time(nodes);
	return sno_count_now(nodes, word).unit;
}

/* The same as sno_named_obstacle(), of a generator whose nodes are chosen. */
static SnoObstacle
obstacle_to_choice(Relation rel, SnoDefinitions *in, const char *name, const SnoDefinition *d,
				   SnoGroup *group)
{
	SnoObstacle obstacle = sno_nodes_choose(rel, group, name, d, sno_nodes_defined(in, d), NULL);

	if (obstacle == SNO_NO_OBSTACLE)
		(void) unit_next(&d->nodes, 0);
	return obstacle == SNO_NO_GRANT && !sno_grants_are_in_vain(sno_granted_of(&d->subject.layout)) ?
		SNO_NO_OBSTACLE : obstacle;
}

/* The same, of one whose partition or nodes are fixed. */
static SnoObstacle
obstacle_to_fixed(Relation rel, const SnoDefinition *d, SnoGroup *group)
{
	SnoNamedState *s = sno_group_find_state(group, d->subject.shard);
	SnoNamedState unknown = {.made_here = d->made_here};
	SnoPartition was = {0};
	SnoObstacle obstacle;
	SnoGenerator g;

	if (s == NULL)
		sno_state_init(s = &unknown, d);
	obstacle = check_registry(s, false);
	if (obstacle == SNO_NO_GRANT &&
		!sno_grants_are_in_vain(sno_subject_has_partition(&d->subject) ? &sno_space->granted :
								sno_granted_of(&d->subject.layout)))
		obstacle = SNO_NO_OBSTACLE;
	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	if (sno_subject_has_partition(&d->subject))
		was = sno_partition_copy(d->subject.partition);
	g = s->open ? sno_state_copy(s) : merge_all(rel, group, s, was, sno_named_unit(&d->nodes));
	return check_clock(&d->subject, &g, unit_next(&d->nodes, g.word));
}

/*
 * What would keep a generator from issuing an id now?  Nothing is changed, and nobody asked.  A
 * session that writes the state meanwhile is no obstacle.
 */
SnoObstacle
sno_named_obstacle(SnoDefinitions *in, const char *name, const SnoDefinition *d)
{
	SnoGroup   *group = sno_group_find(d);
	Relation	rel;
	SnoObstacle obstacle;

	sno_grant_check_setting();
	obstacle = begin_change(group, &rel);
	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle == SNO_BUSY ? SNO_NO_OBSTACLE : obstacle;
	obstacle = sno_subject_floats(&d->subject) ? obstacle_to_choice(rel, in, name, d, group) :
		obstacle_to_fixed(rel, d, group);
	end_change(group, rel);
	return obstacle;
}

/*
 * What was issued in the state that a definition means, as memory and the rows know.
 * Nothing is made for it.
 */
SnoObstacle
sno_named_read(const SnoDefinition *d, SnoGenerator *g)
{
	SnoGroup   *group = sno_group_find(d);
	Relation	rel;
	SnoObstacle obstacle = begin_change(group, &rel);
	SnoNamedState unknown = {.made_here = d->made_here};
	SnoNamedState *s;

	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	s = sno_group_find_state(group, d->subject.shard);
	if (s == NULL)
	{
		s = &unknown;
		sno_state_init(s, d);
	}
	*g = s->known ? sno_state_copy(s) : merge_known_state(rel, group, s, false, sno_clock_unit());
	end_change(group, rel);
	return SNO_NO_OBSTACLE;
}

/*
 * The state word that a counter has, or goes on from if it isn't open.  Nobody opens it
 * meanwhile: of one that is open, a row tells more than is issued.
 */
SnoObstacle
sno_named_look(const SnoDefinition *d, uint64 *word)
{
	SnoGroup   *group = sno_group_have(d);
	Relation	rel;
	SnoObstacle obstacle = begin_change(group, &rel);
	SnoNamedState *s;

	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	s = sno_group_have_state(group, d);
	if (!s->known)
	{
		/* For a count, no clock matters. */
		SnoGenerator g = merge_known_state(rel, group, s, false, 0);

		sno_state_set(s, &g);
		s->known = true;
	}
	*word = sno_state_copy(s).word;
	end_change(group, rel);
	return SNO_NO_OBSTACLE;
}

/* Set a state on disk and in memory, so that it issues only ids after `issued`. */
SnoObstacle
sno_named_restore(const SnoDefinition *d, const SnoGenerator *issued)
{
	SnoGroup   *group = sno_group_have(d);
	Relation	rel;
	SnoObstacle obstacle = begin_change(group, &rel);
	SnoNamedState *s;
	SnoGenerator g;
	XLogRecPtr	lsn;
	uint64		now = sno_clock_unit();
	bool		written = false;

	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	s = sno_group_have_state(group, d);
	sno_state_close(s);
	/* The second time, the rows are recalled. */
	for (int i = 0; i < 2 && !written; i++)
	{
		g = merge_known_state(rel, group, s, false, now);
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
	end_change(group, rel);
	return written ? SNO_NO_OBSTACLE : SNO_CLASH;
}
