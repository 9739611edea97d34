/*
 * look.c
 *		Looking at a named generator without issuing: its ids, its next number, its obstacle.
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

/* Open the table of leases and lock the group, if there is one.  Waits sno.max_wait at most. */
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
 * The state that a definition means, in a group that is locked; if there is none,
 * initialize and return `unknown`.
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

/* The ids that were issued from a generator, as memory and the rows know.  No state is made for it. */
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
 * The next number of a counter.  From now on, no lower one is drawn.  Only the state has
 * that number: while the state is open, the row is ahead of the numbers that were drawn.  So
 * a state is made if there is none.
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
		/* For a count, no clock matters. */
		SnoGenerator g = sno_past_known(rel, group, s, false, 0);

		sno_state_set(s, &g);
		s->known = true;
	}
	word = sno_state_copy(s).word;
	sno_open_end_change(group, rel);
	return sno_state_count_next(&d->nodes, word);
}

/* When a generator would issue next, by its state word.  Doesn't make the transaction an issuer. */
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

/* The obstacle to issuing of a generator that floats */
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

/* The obstacle to issuing of a generator with a partition, or with fixed nodes */
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
 * The obstacle that would keep a generator from issuing an id now.  Nothing is changed, and the
 * registry isn't asked.  A session that writes the state meanwhile is no obstacle.
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
 * Raise the error that a call for an id would raise now, for a user with the right to it.  Nothing
 * is changed.  *d gets the definition; returns false if there is none.
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
