/*
 * group.c
 *		Groups: the named generators of one partition or one layout.
 *
 * A group consists of the named generators that a partition or a layout has or had.  The
 * database's space has several lists of groups.  The number of the partition, or a hash of the
 * layout, selects the list.  A group stays in its list until the space is given to another
 * database.  Once a partition has a group, no ids by the clock are issued in the partition.
 *
 * A definition (catalog/definition.c) gives a name to a shard of the partition or layout.  Each
 * shard has a state of its own, in memory and in a row of sno_lease.  Issued ids are recorded in
 * the state, not under the name.  So the record survives if the definition is dropped or rolled
 * back, and a generator that is defined again goes on after its former ids.
 *
 * Generators of sealed ids need no special treatment, because a key changes only the id, not the
 * state word.
 *
 * Locking: sessions add elements to the lists of groups, and to the list of all states, by
 * compare-and-swap of the first element.  No session removes an element.  All other changes of a
 * group are made by the session that has the turn of the group (shared/turn.c).  The turn isn't
 * an LWLock, so that a session that writes to disk in its turn can be interrupted.  To lock a
 * group means to take its turn.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"

#include "named/group.h"
#include "shared/partition.h"

StaticAssertDecl(offsetof(SnoGroup, next) == 0, "space.c cannot follow a list of groups");

static dsa_pointer_atomic *
list_of(const SnoSubject *subject)
{
	uint32		number = sno_subject_has_partition(subject) ? (uint32) subject->partition :
		hash_bytes((const unsigned char *) &subject->layout, sizeof(SnoLayout));

	return &sno_space->named.groups[number % SNO_GROUP_LISTS];
}

/* Record, by an empty shard, that the group has forgotten no state yet. */
static void
clear_forgotten(SnoGroup *group)
{
	group->forgotten = (SnoGenerator) {0};
	group->forgotten_shard = (SnoShard) {PG_INT64_MAX, -1};
}

/*
 * Make a group.  Raises an error unless there is also room for its first state, because a group
 * without a state would close its partition to other ids for nothing.
 */
static SnoGroup *
make_group(const SnoDefinition *d)
{
	dsa_pointer place;
	SnoGroup   *group;

	sno_space_require_room(sizeof(SnoGroup) + sizeof(SnoNamedState));
	place = sno_space_allocate(sizeof(SnoGroup));
	group = sno_group_at(place);
	group->place = place;
	group->subject = d->subject;
	sno_turn_create(&group->turn);
	clear_forgotten(group);
	return group;
}

/* Find the group of a definition's partition or layout in a list.  Returns NULL if there is none. */
static SnoGroup *
find_in_list(dsa_pointer first, const SnoDefinition *d)
{
	SnoGroup   *group = sno_group_at(first);

	while (group != NULL && !sno_subjects_meet(&group->subject, &d->subject))
		group = sno_group_at(group->next);
	return group;
}

/* Find the group of a definition's partition or layout.  Returns NULL if there is none. */
SnoGroup *
sno_group_find(const SnoDefinition *d)
{
	dsa_pointer first = dsa_pointer_atomic_read(list_of(&d->subject));

	pg_read_barrier();
	return find_in_list(first, d);
}

/* Find the group of a definition's partition or layout, or make it if there is none. */
SnoGroup *
sno_group_have(const SnoDefinition *d)
{
	SnoGroup   *group = sno_group_find(d);
	SnoGroup   *made;

	if (group != NULL)
		return group;
	made = make_group(d);
	if (sno_subject_has_partition(&d->subject))
		sno_partition_set_named(d->subject.partition);
	made->next = dsa_pointer_atomic_read(list_of(&d->subject));
	do
		group = find_in_list(made->next, d);
	while (group == NULL && !dsa_pointer_atomic_compare_exchange(list_of(&d->subject), &made->next, made->place));
	if (group == NULL)
		return made;
	/* Another session has added the group first. */
	sno_space_free(made->place, sizeof(SnoGroup));
	return group;
}

/*
 * Lock a group.  Returns false if another session has locked it.  If a state was last used in a
 * former life of the space (space.c), this function closes the state and clears its lease.  The
 * state still records the ids that were issued, but the rows are read again before it is opened.
 */
bool
sno_group_lock(SnoGroup *group)
{
	if (!sno_turn_try(&group->turn))
		return false;
	for (SnoNamedState *s = sno_state_at(group->states); s != NULL; s = sno_state_at(s->next))
		if (s->life != sno_space->life)
		{
			sno_state_close(s);
			sno_lease_clear(&s->lease);
			s->known = false;
			s->life = sno_space->life;
		}
	return true;
}

/* Return the state of a shard, or NULL if there is none.  `group` is a locked group, or NULL. */
SnoNamedState *
sno_group_find_state(SnoGroup *group, SnoShard shard)
{
	SnoNamedState *s = group == NULL ? NULL : sno_state_at(group->states);

	while (s != NULL && !sno_shards_equal(s->subject.shard, shard))
		s = sno_state_at(s->next);
	return s;
}

/* Add a new state to the list of all states of the space, where it stays. */
static void
list_state(SnoNamedState *s, dsa_pointer place)
{
	s->listed = dsa_pointer_atomic_read(&sno_space->named.states);
	while (!dsa_pointer_atomic_compare_exchange(&sno_space->named.states, &s->listed, place))
		 /* s->listed is now the present first element */ ;
}

/* Merge the issued ids of a state into the record of all forgotten states of the group. */
static void
forget_state(SnoGroup *group, const SnoNamedState *s)
{
	SnoGenerator issued = sno_state_copy(s);
	SnoShard   *all = &group->forgotten_shard;

	*all = (SnoShard) {Min(all->min, s->subject.shard.min), Max(all->max, s->subject.shard.max)};
	sno_state_merge_other(&group->forgotten, issued);
}

/* Return the last unit that was used in a state, on either side. */
static uint64
highest_unit(const SnoNamedState *s)
{
	SnoGenerator issued = sno_state_copy(s);

	return Max(SNO_WORD_UNIT(issued.word), issued.wall_safe);
}

/*
 * Is a state spare?  Such a state is closed, no session uses it, and it may be forgotten.  The state
 * of a counter is never spare, because the group has a single bound for all forgotten states, and a
 * counter must not go on after the numbers of another counter.
 */
static bool
is_spare(const SnoNamedState *s)
{
	return !s->open && !sno_state_is_counter(s) && pg_atomic_read_u32(unconstify(pg_atomic_uint32 *, &s->users)) == 0;
}

/*
 * Among the spare states whose last unit is before `now`, find the one whose last unit is lowest.
 * Returns the link to that state, or NULL if there is none.
 */
static dsa_pointer *
find_lowest(SnoGroup *group, uint64 now)
{
	dsa_pointer *lowest = NULL;
	SnoNamedState *s;

	for (dsa_pointer *l = &group->states; (s = sno_state_at(*l)) != NULL; l = &s->next)
		if (is_spare(s) && highest_unit(s) < now)
		{
			lowest = l;
			now = highest_unit(s);
		}
	return lowest;
}

/*
 * If more than `kept` states of the group are spare, forget one, and take it out of the group's list.
 * Returns the address of the forgotten state, so that another definition can use its memory, or
 * InvalidDsaPointer if no state was forgotten.  Only a state whose ids are all before the present unit
 * is forgotten.  So, while the clock is steady, no generator has to wait until the clock has passed the
 * forgotten ids.
 */
static dsa_pointer
recycle_state(SnoGroup *group, const SnoDefinition *d, int kept)
{
	dsa_pointer *link;
	dsa_pointer place;
	int			spare = 0;

	for (SnoNamedState *s = sno_state_at(group->states); s != NULL; s = sno_state_at(s->next))
		spare += is_spare(s);
	link = spare > kept ? find_lowest(group, sno_state_unit(&d->nodes)) : NULL;
	if (link == NULL)
		return InvalidDsaPointer;

	place = *link;
	*link = sno_state_at(place)->next;
	forget_state(group, sno_state_at(place));
	return place;
}

static SnoNamedState *
make_state(SnoGroup *group, const SnoDefinition *d)
{
	dsa_pointer place = recycle_state(group, d, SNO_STATES_KEPT);
	bool		is_new;
	SnoNamedState *s;

	if (!DsaPointerIsValid(place) && !sno_space_has_room(sizeof(SnoNamedState)))
		place = recycle_state(group, d, 0);
	is_new = !DsaPointerIsValid(place);
	if (is_new)
		place = sno_space_allocate(sizeof(SnoNamedState));
	s = sno_state_at(place);
	sno_state_init(s, d);
	s->group = group->place;
	s->next = group->states;
	group->states = place;
	if (is_new)
		list_state(s, place);
	return s;
}

/* Find the state of a definition's shard in a locked group, or make it if there is none. */
SnoNamedState *
sno_group_have_state(SnoGroup *group, const SnoDefinition *d)
{
	SnoNamedState *s = sno_group_find_state(group, d->subject.shard);

	if (s == NULL)
		s = make_state(group, d);
	s->made_here = d->made_here;
	s->nodes = d->nodes;
	return s;
}
