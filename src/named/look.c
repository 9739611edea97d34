/*
 * look.c
 *		Functions that look at a named generator and don't issue an id.
 */
#include "postgres.h"

#include "catalog/leases.h"
#include "named/chosen.h"
#include "named/look.h"
#include "named/named_wait.h"
#include "named/open.h"
#include "named/past.h"
#include "named/use.h"
#include "shared/clock.h"
#include "shared/partition.h"

/* Open the table of leases, and lock the group unless it is NULL.  Waits sno.max_wait at most. */
static Relation
begin_patiently(SnoGroup *group, const SnoDefinitions *in, const char *name, const SnoDefinition *d)
{
	SnoWait		wait = sno_named_wait(in, name, d);
	SnoObstacle obstacle;
	Relation	rel;

	while ((obstacle = sno_open_begin_change(group, &rel)) != SNO_NO_OBSTACLE)
		sno_wait(&wait, obstacle, 1);
	return rel;
}

/*
 * Return the state of a definition's shard.  If there is no such state, initialize *unknown, and
 * return `unknown`.  `group` is a locked group, or NULL.
 */
static SnoNamedState *
find_state(SnoGroup *group, const SnoDefinition *d, SnoNamedState *unknown)
{
	SnoNamedState *s = sno_group_find_state(group, d->subject.shard);

	if (s != NULL)
		return s;
	unknown->made_here = d->made_here;
	sno_state_init(unknown, d);
	return unknown;
}

/*
 * Return the ids that a named generator may have issued, according to memory and the rows.  Makes
 * no state for the generator.
 */
SnoGenerator
sno_look_read(const SnoDefinitions *in, const char *name, const SnoDefinition *d)
{
	SnoNamedState unknown = {0};
	SnoGroup   *group;
	Relation	rel;
	SnoNamedState *s;
	SnoGenerator g;

	sno_use_begin();
	group = sno_group_find(d);
	rel = begin_patiently(group, in, name, d);
	s = find_state(group, d, &unknown);
	g = s->known ? sno_state_copy(s) : sno_past_known(rel, group, s, false, sno_clock_unit());
	sno_open_end_change(group, rel);
	return g;
}

/*
 * Return the next number of a counter.  From now on, no transaction draws a lower number from the
 * counter.  The number comes from the counter's state, because the row of an open state is ahead
 * of the numbers that were drawn.  If the counter has no state yet, this function makes one.
 */
uint64
sno_look_number(const SnoDefinitions *in, const char *name, const SnoDefinition *d)
{
	SnoGroup   *group;
	Relation	rel;
	SnoNamedState *s;
	uint64		word;

	sno_use_begin();
	group = sno_group_have(d);
	rel = begin_patiently(group, in, name, d);
	s = sno_group_have_state(group, d);
	if (!s->known)
	{
		/* A counter doesn't depend on the clock, so pass 0 as the present unit. */
		SnoGenerator g = sno_past_known(rel, group, s, false, 0);

		sno_state_set(s, &g);
		s->known = true;
	}
	word = sno_state_copy(s).word;
	sno_open_end_change(group, rel);
	return sno_state_count_next(&d->nodes, word);
}

/*
 * Return the unit in which a generator with this state word would issue next.  Unlike
 * sno_state_now(), this function announces nothing to readers of watermarks.
 */
static uint64
unit_next(const SnoNodes *nodes, uint64 word)
{
	if (nodes->size == 0)
		return sno_clock_unit();
	if (nodes->layout.unit != 0)
		return sno_state_time_in(nodes, sno_clock_msec()).unit;
	if (sno_state_count_next(nodes, word) > nodes->last)
		sno_state_out_of_time(nodes);
	return sno_state_count_now(nodes, word).unit;
}

/* Return the obstacle that keeps a generator without fixed nodes from issuing. */
static SnoObstacle
obstacle_to_choice(Relation rel, SnoGroup *group, SnoDefinitions *in, const char *name, const SnoDefinition *d,
				   List *defined)
{
	SnoObstacle obstacle = in->chooser->choose(rel, group, name, d, defined, NULL);

	if (obstacle == SNO_NO_OBSTACLE)
		(void) unit_next(&d->nodes, 0);
	return obstacle == SNO_NO_GRANT && !sno_grants_are_in_vain(sno_granted_of(&d->subject.layout)) ?
		SNO_NO_OBSTACLE : obstacle;
}

/* Return the obstacle that keeps a generator with a partition, or with fixed nodes, from issuing. */
static SnoObstacle
obstacle_to_fixed(Relation rel, SnoGroup *group, const SnoDefinition *d)
{
	SnoNamedState unknown = {0};
	SnoNamedState *s = find_state(group, d, &unknown);
	SnoObstacle obstacle = sno_open_check_registry(s, false);
	SnoPartition was = {0};
	SnoGenerator g;

	if (obstacle == SNO_NO_GRANT &&
		!sno_grants_are_in_vain(sno_subject_has_partition(&d->subject) ? &sno_space->grants.partitions :
								sno_granted_of(&d->subject.layout)))
		obstacle = SNO_NO_OBSTACLE;
	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	if (sno_subject_has_partition(&d->subject))
		was = sno_partition_copy(d->subject.partition);
	g = s->open ? sno_state_copy(s) : sno_past_all(rel, group, s, was, sno_state_unit(&d->nodes));
	return sno_open_check_clock(&d->subject, &g, unit_next(&d->nodes, g.word));
}

/*
 * Return the obstacle that would keep a generator from issuing an id now.  Changes nothing, and
 * doesn't ask the registry.  A lock of another session on the group doesn't count as an obstacle.
 */
static SnoObstacle
find_obstacle(SnoDefinitions *in, const char *name, const SnoDefinition *d)
{
	bool		floats = sno_subject_floats(&d->subject);
	SnoGroup   *group = sno_group_find(d);
	List	   *defined = floats ? in->chooser->find_defined(in, d) : NIL;
	Relation	rel;
	SnoObstacle obstacle;

	sno_grant_check_setting();
	obstacle = sno_open_begin_change(group, &rel);
	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle == SNO_BUSY ? SNO_NO_OBSTACLE : obstacle;
	obstacle = floats ? obstacle_to_choice(rel, group, in, name, d, defined) : obstacle_to_fixed(rel, group, d);
	sno_open_end_change(group, rel);
	return obstacle;
}

/*
 * If a call for an id of the generator would fail now, raise the error that the call would raise.
 * Changes nothing, and doesn't check whether the current user may use the generator.  Stores the
 * definition in *d.  Returns false if there is no definition.
 */
bool
sno_look_try(SnoDefinitions *in, const char *name, SnoDefinition *d)
{
	SnoWait		wait = sno_named_wait(in, name, NULL);
	bool		found;

	wait.obstacle = sno_use_look(in, name, d, &found);
	if (found)
	{
		wait = sno_named_wait(in, name, d);
		wait.obstacle = find_obstacle(in, name, d);
	}
	if (wait.obstacle != SNO_NO_OBSTACLE)
		sno_wait_give_up(&wait);
	return found;
}
