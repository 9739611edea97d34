/*
 * past.c
 *		The ids that may have been issued in the state of a named generator.
 *
 * These ids are returned as a SnoGenerator in which they are marked as used.
 */
#include "postgres.h"

#include "catalog/publish.h"
#include "catalog/record.h"
#include "named/past.h"

/* The argument of in_memory() */
typedef struct Memory
{
	SnoGroup   *group;			/* the group of the state, or NULL */
	bool		knows_sessions; /* does memory have all ids under leases of the whole partition? */
} Memory;

/* Does memory record the ids that our own row of the subject bounds?  Then the row isn't needed. */
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
 * Return the ids that may have been issued in a state that isn't open, according to the state
 * itself, to other states of the group and to the rows.  If memory records the ids that one of our
 * own rows bounds, the row isn't used, because it is less exact.  After a crash, only rows are left,
 * and a successor has only the rows of another holder (N4).
 */
SnoGenerator
sno_past_known(Relation rel, SnoGroup *group, const SnoNamedState *s, bool knows_sessions, uint64 now)
{
	SnoGenerator g = sno_state_copy(s);
	Memory		memory = {group, knows_sessions};
	SnoUnseen	unseen = {.until = sno_lease_end(now, sno_lease_half())};

	/* The clock is no bound for the numbers that another server issued from the counter. */
	if (sno_state_is_counter(s))
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
	if (sno_state_is_counter(s))
		sno_generator_join_sides(&g);
	return g;
}

/* Return a generator in which all ids up to this unit are marked as used, on both sides. */
static SnoGenerator
all_up_to(uint64 unit)
{
	return (SnoGenerator) {.word = SNO_WORD(unit, false, 0),.wall_safe = unit};
}

/*
 * Return all ids that may have been issued in a state that isn't open: the ids that sno_past_known()
 * returns, ids that sessions issued under leases of the whole partition, and ids of servers to which
 * the nodes were granted before.  `was` is a copy of the partition.
 */
SnoGenerator
sno_past_all(Relation rel, SnoGroup *group, const SnoNamedState *s, SnoPartition was, uint64 now)
{
	SnoGenerator g = sno_past_known(rel, group, s, was.life == sno_space->life, now);

	if (s->floats)
		sno_state_merge_other(&g, all_up_to(s->floor));
	/* In a partition for ids of given times, an id may be of any unit. */
	if (was.generator.ceiling == SNO_UNIT_MAX)
		sno_generator_start(&was.generator, SNO_UNIT_MAX, 0, SNO_SEQUENCE_MAX);
	if (was.life != 0)
		sno_state_merge_other(&g, was.generator);
	return g;
}
