/*
 * choose.c
 *		Choosing nodes for a generator of a layout that was created without any.
 *
 * Such a generator floats: its definition has only the number of its nodes.  The first session
 * that issues chooses nodes for it, and all sessions issue there, until the nodes may not be
 * used any more (named/chosen.c).  Then they choose again.  So a copy of the server, or a
 * promoted standby, gets other nodes by itself.
 *
 * With a registry, nodes are chosen among those that are granted (shared/grant.c).  Leases
 * end with the grant, and nothing is issued in units up to its floor (G1, G3).  Without a
 * registry, nodes are chosen in this server's share, as sno.partitions says.  sno_reseed()
 * revokes them.
 *
 * State and row belong to the nodes, not to the generator.  So it doesn't matter for the
 * guarantee which generator has which nodes, or if two had them one after the other (N1).
 *
 * Nodes are chosen like partitions (shared/reserve.c), in this order: nodes where we issued, if
 * the clock has passed their ids; unused ones; nodes that another database of this server used;
 * nodes whose lease isn't over; nodes that another server leased.  Nodes are also left if the
 * clock is behind both of their sides, as a session leaves a partition.
 *
 * Locking: all that is chosen changes in the turn of the group.
 */
#include "postgres.h"

#include "utils/snapmgr.h"

#include "catalog/record.h"
#include "flake/choose.h"
#include "shared/partition.h"
#include "shared/reserve.h"

/* How bad a choice nodes are that were leased or defined, from good to bad. */
typedef enum Rank
{
	OWN,						/* this database issued there, up to a past unit */
	USED_ELSEWHERE,				/* another database of this server did */
	RESTING,					/* this database issued there, up to a later unit than now */
	FOREIGN,					/* another holder did */
	TAKEN						/* another generator has them, or nothing can be issued now */
} Rank;

typedef struct Known
{
	SnoShard	shard;
	Rank		rank;
} Known;

typedef struct Choice
{
	SnoGroup   *group;
	SnoSubject	subject;		/* with the shard that is considered */
	int64		count;			/* of nodes */
	uint64		now;
	SnoGrants	usable;
	uint64		holder;			/* of the rows, from which the search begins */
	List	   *known;
} Choice;

static List *
add_known(List *list, SnoShard shard, Rank rank)
{
	Known	   *known = palloc(sizeof(Known));

	*known = (Known) {shard, rank};
	return lappend(list, known);
}

typedef struct Defined
{
	const SnoDefinition *wanted;
	List	   *list;
} Defined;

static void
add_defined(const char *name, const SnoDefinition *d, void *arg)
{
	Defined    *defined = arg;

	if (sno_subjects_meet(&d->subject, &defined->wanted->subject) && !sno_subject_floats(&d->subject))
		defined->list = add_known(defined->list, d->subject.shard, TAKEN);
}

/*
 * The nodes that definitions of a layout name, also in transactions in progress; in the current
 * memory context.  Avoiding these nodes is a courtesy, so the search waits for no lock.
 */
List *
sno_choose_find_defined(SnoDefinitions *in, const SnoDefinition *d)
{
	Defined		defined = {.wanted = d};
	SnapshotData dirty;

	InitDirtySnapshot(dirty);
	sno_definition_visit(in, &dirty, add_defined, &defined);
	return defined.list;
}

/* Does memory have a better bound than a row for the ids of these nodes? */
static bool
is_remembered(const Choice *c, SnoShard shard)
{
	const SnoNamedState *s = sno_group_find_state(c->group, shard);

	return s != NULL && s->known && sno_chosen_are_in_force(s);
}

static void
add_row(const SnoSubject *subject, uint64 ceiling, bool own, void *arg)
{
	Choice	   *c = arg;

	if (sno_subjects_meet(subject, &c->subject) && !(own && is_remembered(c, subject->shard)))
		c->known = add_known(c->known, subject->shard, !own ? FOREIGN : ceiling >= c->now ? RESTING : OWN);
}

/* How good a choice are nodes that were chosen before, and that nobody uses? */
static Rank
rank_of(const SnoNamedState *s, uint64 now)
{
	SnoGenerator g = sno_state_copy(s);

	if (SNO_WORD_UNIT(g.word) <= now)
		return OWN;
	return g.wall_safe < now ? RESTING : TAKEN;
}

/*
 * Do sessions use these nodes?  Sessions of the generator itself don't, if the nodes may not be
 * used any more: at their next call they leave them, or find them chosen again.
 */
static bool
is_taken(const SnoNamedState *s, const char *name)
{
	if (pg_atomic_read_u32(unconstify(pg_atomic_uint32 *, &s->users)) == 0)
		return false;
	return !s->floats || strcmp(s->name, name) != 0 || (!s->passed && sno_chosen_are_in_force(s));
}

static void
add_states(Choice *c, const char *name)
{
	const SnoNamedState *s = c->group == NULL ? NULL : sno_state_at(c->group->states);

	for (; s != NULL; s = sno_state_at(s->next))
	{
		if (is_taken(s, name))
			c->known = add_known(c->known, s->subject.shard, TAKEN);
		else if (sno_chosen_are_in_force(s))
			c->known = add_known(c->known, s->subject.shard, rank_of(s, c->now));
	}
}

/* Add the nodes that other databases of this server used, as far as memory knows. */
static void
add_elsewhere(Choice *c)
{
	SnoSpace   *space = NULL;

	sno_spaces_hold();
	while ((space = sno_space_next(space)) != NULL)
		for (const SnoNamedState *s = sno_state_at(dsa_pointer_atomic_read(&space->named.states));
			 space != sno_space && s != NULL; s = sno_state_at(s->listed))
			if (sno_subjects_meet(&s->subject, &c->subject))
				c->known = add_known(c->known, s->subject.shard, USED_ELSEWHERE);
	sno_spaces_release();
}

/* Known nodes that overlap the considered ones, of a rank above `most`; NULL if there are none. */
static const Known *
find_above(const Choice *c, int most)
{
	ListCell   *cell;

	foreach(cell, c->known)
	{
		const Known *known = lfirst(cell);

		if ((int) known->rank > most && sno_shards_overlap(known->shard, c->subject.shard))
			return known;
	}
	return NULL;
}

/* Move the shard up to the first place without nodes of a rank above `most`, with its end at most at `last`. */
static bool
search_from(Choice *c, int64 first, int64 last, int most)
{
	SnoShard   *shard = &c->subject.shard;

	*shard = (SnoShard) {first, first + c->count - 1};
	while (shard->max <= last)
	{
		const Known *known = find_above(c, most);

		if (known == NULL)
			return true;
		*shard = (SnoShard) {known->shard.max + 1, known->shard.max + c->count};
	}
	return false;
}

/* Is a grant large enough, and may the generator issue in it now? */
static bool
suffices(const Choice *c, const SnoGrant *g)
{
	return g->last - g->first + 1 >= c->count && (c->usable.holder == 0 || sno_grant_covers(g, c->now));
}

/* Exactly as many nodes of this database's own, which no other generator or server has or had. */
static const SnoGrant *
find_own(Choice *c)
{
	ListCell   *cell;

	foreach(cell, c->known)
	{
		const Known *known = lfirst(cell);

		if (known->rank != OWN || known->shard.max - known->shard.min + 1 != c->count)
			continue;
		c->subject.shard = known->shard;
		if (find_above(c, OWN) != NULL)
			continue;
		for (int i = 0; i < c->usable.count; i++)
		{
			const SnoGrant *g = &c->usable.grant[i];

			if (suffices(c, g) && sno_grant_has(g, known->shard.min) && sno_grant_has(g, known->shard.max))
				return g;
		}
	}
	return NULL;
}

/* Nodes of no rank above `most`.  The holder determines where the search begins. */
static const SnoGrant *
find_in_grants(Choice *c, int most)
{
	for (int i = 0; i < c->usable.count; i++)
	{
		const SnoGrant *g = &c->usable.grant[i];
		int64		start;

		if (!suffices(c, g))
			continue;
		start = g->first + (int64) (c->holder % (uint64) (g->last - g->first - c->count + 2));
		if (search_from(c, start, g->last, most) || search_from(c, g->first, start + c->count - 2, most))
			return g;
	}
	return NULL;
}

static const SnoGrant *
find_nodes(Choice *c)
{
	const SnoGrant *g = find_own(c);

	for (int most = -1; g == NULL && most < TAKEN; most++)
		g = find_in_grants(c, most);
	return g;
}

/* A state where sessions issue for this generator; NULL if there is none. */
static SnoNamedState *
find_present(SnoGroup *group, const char *name, const SnoDefinition *d)
{
	SnoNamedState *s = group == NULL ? NULL : sno_state_at(group->states);

	for (; s != NULL; s = sno_state_at(s->next))
		if (s->floats && strcmp(s->name, name) == 0 &&
			s->subject.shard.max - s->subject.shard.min + 1 == -d->subject.shard.min &&
			sno_chosen_may_stay(s, d))
			return s;
	return NULL;
}

/*
 * The obstacle if the registry granted no nodes that are usable now.  If `want`, ask it for a
 * block, or for one more if all nodes of usable blocks are taken.  More blocks that are too
 * small are of no use.
 */
static SnoObstacle
ask_registry(const Choice *c, SnoGranted *granted, bool want)
{
	SnoNodeRange range = sno_granted_range(granted);
	bool		any = false,
				wide = false;

	for (int i = 0; i < c->usable.count; i++)
	{
		any = any || sno_grant_covers(&c->usable.grant[i], c->now);
		wide = wide || suffices(c, &c->usable.grant[i]);
	}
	if (!want)
	{
		/* Other sessions ask, or will. */
	}
	else if (wide)
		sno_grant_ask_more(granted, c->now);
	else if (!any)
		sno_grant_ask(granted, 1);
	return any || (range.known && range.last < range.first + c->count - 1) ? SNO_NO_NODES : SNO_NO_GRANT;
}

/* The nodes that this session may use. */
static SnoGrants
usable_nodes(const SnoLayout *layout, const SnoGranted *granted)
{
	SnoShard	share;

	if (granted != NULL)
		return sno_grants_copy(granted);
	sno_partition_check_setting();
	share = sno_chosen_share(layout);
	return (SnoGrants) {.count = 1,.grant[0] = {0, SNO_UNIT_MAX, share.min, share.max}};
}

/*
 * Find the state that sessions use for a generator that floats, in a group that is locked.  If there is none,
 * choose nodes, and make a state.  `known` comes from sno_choose_find_defined().  If `state` is NULL, this
 * only finds the obstacle; there may be no group yet, and the registry isn't asked.
 */
SnoObstacle
sno_choose_nodes(Relation rel, SnoGroup *group, const char *name, const SnoDefinition *d,
				 List *known, SnoNamedState **state)
{
	SnoGranted *granted = sno_is_registered() ? sno_granted_of(&d->subject.layout) : NULL;
	uint64		revocations = pg_atomic_read_u64(&sno_space->revocations);
	SnoDefinition chosen = *d;
	SnoNamedState *present;
	const SnoGrant *g;
	Choice		c = {
		.group = group,
		.subject = d->subject,
		.count = -d->subject.shard.min,
		.now = sno_state_unit(&d->nodes),
		.usable = usable_nodes(&d->subject.layout, granted),
		.known = known
	};

	present = find_present(group, name, d);
	if (state != NULL)
		*state = present;
	if (present != NULL)
		return SNO_NO_OBSTACLE;
	/* This is the same for all nodes. */
	if (c.now <= d->after)
		return SNO_CLOCK_BEHIND;
	c.holder = sno_record_visit(rel, add_row, &c);
	add_states(&c, name);
	add_elsewhere(&c);
	g = find_nodes(&c);
	if (g == NULL)
		return granted == NULL ? SNO_NO_NODES : ask_registry(&c, granted, state != NULL);
	if (state == NULL)
		return SNO_NO_OBSTACLE;

	chosen.subject = c.subject;
	chosen.nodes.first = c.subject.shard.min;
	*state = sno_group_have_state(group, &chosen);
	sno_state_close(*state);
	(*state)->floats = true;
	(*state)->passed = false;
	(*state)->granted = granted == NULL ? InvalidDsaPointer : granted->place;
	(*state)->authority = granted == NULL ? revocations : c.usable.holder;
	(*state)->floor = Max(g->floor, d->after);
	strlcpy((*state)->name, name, NAMEDATALEN);
	return SNO_NO_OBSTACLE;
}
