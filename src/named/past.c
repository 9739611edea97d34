/*
 * past.c
 *		The ids that were issued in the state of a named generator, as far as is known.
 */
#include "postgres.h"

#include "catalog/publish.h"
#include "catalog/record.h"
#include "named/past.h"

/* The knowledge of memory about a partition, beside the rows */
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
 * The ids that rows and other states say were issued in a state that isn't open.  A row of our
 * own is a worse bound than memory, and isn't used if memory has one.  After a crash there are
 * only rows; a successor has only another holder's (N4).
 */
SnoGenerator
sno_past_known(Relation rel, SnoGroup *group, const SnoNamedState *s, bool knows_sessions, uint64 now)
{
	SnoGenerator g = sno_state_copy(s);
	Memory		memory = {group, knows_sessions};
	SnoUnseen	unseen = {.until = sno_lease_end(now, sno_lease_half())};

	/* No clock bounds the numbers that another server issued from a counter. */
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

/* A generator that issued all ids up to a unit, on both sides */
static SnoGenerator
all_up_to(uint64 unit)
{
	return (SnoGenerator) {.word = SNO_WORD(unit, false, 0),.wall_safe = unit};
}

/*
 * The ids that rows, other states, sessions and other holders of a grant may have issued in a
 * state that isn't open.  The partition is closed; `was` has its use before that.
 */
SnoGenerator
sno_past_all(Relation rel, SnoGroup *group, const SnoNamedState *s, SnoPartition was, uint64 now)
{
	SnoGenerator g = sno_past_known(rel, group, s, was.life == sno_space->life, now);

	if (s->floats)
		sno_state_merge_other(&g, all_up_to(s->floor));
	/* Ids of given times may be in any unit of the epoch. */
	if (was.generator.ceiling == SNO_UNIT_MAX)
		sno_generator_start(&was.generator, SNO_UNIT_MAX, 0, SNO_SEQUENCE_MAX);
	if (was.life != 0)
		sno_state_merge_other(&g, was.generator);
	return g;
}
