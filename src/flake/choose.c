/*
 * choose.c
 *		Choosing nodes for generators whose definitions name no nodes.
 *
 * If a definition has only the number of nodes, the generator floats.  The first session that
 * issues from the generator chooses nodes, and all sessions issue in these nodes until the
 * nodes may not be used any more (named/chosen.c).  The next session that issues then chooses
 * again.  The choice is kept only in shared memory.  So a copy of the server, or a promoted
 * standby, makes a choice of its own, and prefers nodes that no other server leased.
 *
 * With a registry, a session chooses among the granted nodes (shared/grant.c).  Leases of the
 * chosen nodes end with the grant, and no id is issued in units up to the grant's floor (G1,
 * G3).  Without a registry, a session chooses in this server's share of the nodes, which
 * sno.partitions determines, and sno_reseed() revokes the chosen nodes.
 *
 * A state and its row belong to the nodes, not to the generator.  So no id is issued twice even
 * if two generators have the same nodes one after the other (N1).
 *
 * As with partitions (shared/reserve.c), a session takes the best nodes that it finds.  The order
 * from the best to the worst is: nodes that this database used, if the clock has passed their
 * ids; nodes that nobody used; nodes that another database of this server used; nodes that this
 * database used or leased up to a later unit than now; nodes that another holder leased.  If the
 * clock is behind the ids of the chosen nodes on both sides, sessions leave the nodes, as they
 * leave a partition in this case.
 *
 * Locking: a session chooses nodes in the turn of the group.
 */
#include "postgres.h"

#include "utils/snapmgr.h"

#include "catalog/record.h"
#include "flake/choose.h"
#include "shared/partition.h"
#include "shared/reserve.h"

/* The rank of nodes that were used, leased or defined, from the best choice to the worst */
typedef enum Rank
{
	OWN,						/* this database used them, and the clock has passed their ids */
	USED_ELSEWHERE,				/* another database of this server used them */
	RESTING,					/* this database used or leased them up to a later unit than now */
	FOREIGN,					/* another holder leased them */
	TAKEN						/* another generator has them, or no id can be issued now */
} Rank;

typedef struct Known
{
	SnoShard	shard;
	Rank		rank;
} Known;

typedef struct Choice
{
	SnoGroup   *group;
	SnoSubject	subject;		/* its shard is the nodes that are considered now */
	int64		count;			/* number of nodes to choose */
	uint64		now;
	SnoGrants	usable;
	uint64		holder;			/* of our own rows; it determines where the search begins */
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
 * Return the nodes that definitions of the layout name, including uncommitted definitions.  The
 * list is allocated in the current memory context.  Sessions don't choose the listed nodes.  If a
 * session nevertheless chooses nodes that a definition names, the generator with this definition
 * takes the nodes over later.  So the list needn't be complete, and this function waits for no
 * lock.
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

/*
 * Does shared memory have a valid state of exactly these nodes?  Such a state bounds the ids of the
 * nodes more closely than a row does, so the row isn't needed.
 */
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

/* Return the rank of nodes that were chosen before and that no session uses. */
static Rank
rank_of(const SnoNamedState *s, uint64 now)
{
	SnoGenerator g = sno_state_copy(s);

	if (SNO_WORD_UNIT(g.word) <= now)
		return OWN;
	return g.wall_safe < now ? RESTING : TAKEN;
}

/*
 * Do sessions use these nodes?  Sessions of the generator for which we choose don't count if the
 * nodes may not be used any more: at the next call, such a session leaves the nodes, or finds
 * that they were chosen again.
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

/* Add the nodes for which other databases of this server have states in shared memory. */
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

/*
 * Return known nodes of a worse rank than `most` that overlap the considered nodes, or NULL if
 * there are none.
 */
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

/*
 * Find the first nodes from `first` to `last` that overlap no nodes of a worse rank than `most`, and
 * make them the considered nodes.  Returns false if there are none.
 */
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

/* Does a grant have enough nodes, and may ids of the present unit be issued under it? */
static bool
suffices(const Choice *c, const SnoGrant *g)
{
	return g->last - g->first + 1 >= c->count && (c->usable.holder == 0 || sno_grant_covers(g, c->now));
}

/*
 * Find known nodes of rank OWN, exactly as many as we choose, that overlap no nodes of a worse rank.
 * Returns the grant of these nodes, or NULL if there are none.
 */
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

/*
 * Find nodes that overlap no nodes of a worse rank than `most`.  Returns the grant of these nodes, or
 * NULL if there are none.  The holder determines where the search in a grant begins.
 */
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

/*
 * Return the state of the nodes that were chosen for this generator and may still be used, or
 * NULL if there is none.
 */
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
 * Return the obstacle that keeps us from choosing granted nodes.  If `want` is set, ask the registry:
 * for a block if no grant covers the present unit, or for one more block if the granted blocks are
 * large enough, but all their nodes are taken.  If the granted blocks are too small, don't ask,
 * because another block would be too small, too.
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
		/* The sessions that issue ids ask the registry. */
	}
	else if (wide)
		sno_grant_ask_more(granted, c->now);
	else if (!any)
		sno_grant_ask(granted, 1);
	return any || (range.known && range.last < range.first + c->count - 1) ? SNO_NO_NODES : SNO_NO_GRANT;
}

/* Return the nodes that this session may use. */
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
 * Set *state to the state that sessions use for a generator that floats.  If there is none, choose
 * nodes and make their state.  Returns SNO_NO_OBSTACLE, or the obstacle to the choice.  The caller
 * has the turn of the group.  `known` is the result of sno_choose_find_defined().
 *
 * If `state` is NULL, only find the obstacle, and don't ask the registry; the group may then be NULL.
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
	/* The bound that sno_flake_advance() set holds for all nodes. */
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
