/*
 * group.c
 *		The named generators of a partition or a layout, found and locked together.
 *
 * The named generators that a partition or a layout has, or had, are a group.  It is in a
 * list of the database's space, found by the partition's number or the layout's bits.  It
 * stays in the list until the space goes to another database.  A group keeps session
 * generators out of its partition.
 *
 * A definition (catalog/definition.c) gives a name to a state: to a shard of the partition
 * or layout.  Ids are recorded by state, not by name: here, from the state's first use
 * until the server stops, and in the state's row of sno_lease.  So neither a drop nor a
 * rollback forgets anything, and a generator that is defined again goes on where it was.
 *
 * Whether ids are sealed doesn't matter: a key changes an id, not the state word.
 *
 * Locking: the lists of groups, and the list of all states, only grow, by compare-and-swap of
 * their first element.  The rest of a group is changed by the session that has its turn
 * (shared/turn.c), because the session may write to disk meanwhile.  To lock a group is to
 * take its turn.
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

/* Nothing is forgotten yet: no shard. */
static void
clear_forgotten(SnoGroup *group)
{
	group->forgotten = (SnoGenerator) {0};
	group->forgotten_shard = (SnoShard) {PG_INT64_MAX, -1};
}

/* A group without a state would keep session generators out of its partition for nothing. */
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

/* The group of the state that a definition means, in a list; NULL if there is none. */
static SnoGroup *
find_in_list(dsa_pointer first, const SnoDefinition *d)
{
	SnoGroup   *group = sno_group_at(first);

	while (group != NULL && !sno_subjects_meet(&group->subject, &d->subject))
		group = sno_group_at(group->next);
	return group;
}

/* The group of the state that a definition means, in the space; NULL if there is none. */
SnoGroup *
sno_group_find(const SnoDefinition *d)
{
	dsa_pointer first = dsa_pointer_atomic_read(list_of(&d->subject));

	pg_read_barrier();
	return find_in_list(first, d);
}

/* The group of the state that a definition means, made if there is none. */
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
	/* Another session was first. */
	sno_space_free(made->place, sizeof(SnoGroup));
	return group;
}

/*
 * Lock a group; false if another session has it.  States of a former life of the
 * space have no lease any more.  Their ids are a bound among others.
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

/* The state of this shard in a group that is locked, or NULL; NULL if there is none. */
SnoNamedState *
sno_group_find_state(SnoGroup *group, SnoShard shard)
{
	SnoNamedState *s = group == NULL ? NULL : sno_state_at(group->states);

	while (s != NULL && !sno_shards_equal(s->subject.shard, shard))
		s = sno_state_at(s->next);
	return s;
}

/* Put a new state into the list of all states of the space, where it stays. */
static void
list_state(SnoNamedState *s, dsa_pointer place)
{
	s->listed = dsa_pointer_atomic_read(&sno_space->named.states);
	while (!dsa_pointer_atomic_compare_exchange(&sno_space->named.states, &s->listed, place))
		 /* s->listed is the present one */ ;
}

/* Add the ids of a state to the forgotten ones of its group. */
static void
forget_state(SnoGroup *group, const SnoNamedState *s)
{
	SnoGenerator issued = sno_state_copy(s);
	SnoShard   *all = &group->forgotten_shard;

	*all = (SnoShard) {Min(all->min, s->subject.shard.min), Max(all->max, s->subject.shard.max)};
	sno_state_merge_other(&group->forgotten, issued);
}

/* The highest unit of either side. */
static uint64
highest_unit(const SnoNamedState *s)
{
	SnoGenerator issued = sno_state_copy(s);

	return Max(SNO_WORD_UNIT(issued.word), issued.wall_safe);
}

/*
 * Is a state closed, without a user, and may it be forgotten?  A counter may not: one bound
 * holds for all forgotten shards together, and a counter would go on after the numbers of
 * another one.
 */
static bool
is_spare(const SnoNamedState *s)
{
	return !s->open && !sno_state_is_counter(s) && pg_atomic_read_u32(unconstify(pg_atomic_uint32 *, &s->users)) == 0;
}

/* The link to the spare state with the lowest units, if these are before the unit `now`. */
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
 * Take a state out of the group's list, to be used for another definition, if more than `kept` are spare.
 * The state's ids are before the present unit.  So, as long as the clock is steady, generators that must
 * stay clear of all forgotten ids don't have to wait.  InvalidDsaPointer if there is none.
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

/* The state that a definition means, in a group that is locked; made if there is none. */
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
