/*
 * state.c
 *		The pools of named generators: the state that all sessions share.
 *
 * A definition (definition.c) gives a name to a pool: a partition, and bounds of
 * the sequence.  What was issued in a pool is known by the pool, not by the name:
 * here, from its first use until the server stops, and in its row of
 * sno_snapshot.  So neither a drop nor a rollback forgets anything, and a pool
 * that is defined again goes on where it was.
 *
 * The pools of a partition are a group: a list in the database's space that its
 * number leads to, never removed nor moved.  A group keeps anonymous generators
 * out of its partition (partition.c).  Pools overlap if a definition was dropped
 * and another one made.
 *
 *	N1	At most one of several pools that overlap is open, and none while a
 *		session owns the partition.  Only an open pool's word is shared
 *		(generator.h); the others' is SNO_WORD_CLOSED, and `word` is the exact
 *		one.  A pool is opened above all that is known of the others, of
 *		anonymous generators in its partition, and of all rows that meet it, in
 *		the timeline where each of them was.
 *	N2	At any time the row on disk bounds both timelines: what each issued is at
 *		or below its bound.  It is therefore written and flushed before a pool is
 *		opened, before a ceiling is raised, and before a change of timeline.
 *	N3	A step back of the clock exchanges the word for SNO_WORD_CLOSED, writes the
 *		row of the other timeline, with the ceiling as the bound of the one that
 *		is left, and then opens that one.  If the row is lost, or flushed and the
 *		error comes after, no harm is done: until then nobody issues, and after it
 *		either timeline is below what the row says.
 *	N4	After a crash the timeline of the row is used up to its bound, which is
 *		later than now: so this is a step back too, and goes on at once in the
 *		other one, which alone may be below the higher bound of a row.  A second
 *		crash within a lease finds both used, and has to wait for the earlier
 *		bound.  The first opening by a successor, which may lack the end of the
 *		WAL, is as after a crash: sno_lease_recall() sees to that.
 *	N5	The last session of a database that lets a pool go closes it and writes the
 *		exact word, so that a clean restart goes on with the next sequence.  It
 *		waits for no lock; a row that it can't write is as after a crash.
 *
 * Locking: users, and tickets and left (see named.c), are counted atomically.
 * The lists of groups change under the space's lock.  All else of a group and its
 * pools changes under the group's lock only, but for the word of an open pool.
 * That lock is never waited for, but tried again each millisecond: whoever holds
 * it may be writing to disk, and a caller can be cancelled.  sno_snapshot is opened first, then the group is locked, then (for a
 * moment) what partition.c has.  Errors release the lock; there is no moment at
 * which a pool would be left without a word: closed, it is opened anew by who
 * finds it so.
 *
 * Memory ordering: the ceiling, and the fields that a change of timeline
 * changes, are stored before the word is (release), and loaded after it
 * (acquire).  A ceiling is stored after the flush that it needs.  Since nobody
 * uses a value that another session computes from an id that isn't issued yet,
 * the additions need no order of their own.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"

#include "generate/generate.h"
#include "lease/lease.h"
#include "lease/table.h"
#include "named/state.h"
#include "shared/clock.h"
#include "shared/partition.h"

typedef struct Group
{
	dsa_pointer next;			/* in a list of the space; comes first */
	dsa_pointer place;			/* its own */
	dsa_pointer pools;
	int			partition;
	LWLock		lock;
	SnoGenerator rest;			/* what pools issued that aren't kept any more, */
								/* somewhere within its bounds */
} Group;

StaticAssertDecl(offsetof(Group, next) == 0, "shmem.c can't follow a list of groups");

/* Of the closed pools of a group that no session uses, this many are kept. */
#define POOLS_KEPT	8

SnoPoolObstacle sno_pool_obstacle;
int			sno_pool_held_by;

static SnoPool *
pool_at(dsa_pointer place)
{
	return DsaPointerIsValid(place) ? dsa_get_address(sno_area, place) : NULL;
}

static Group *
group_in(dsa_pointer place)
{
	return DsaPointerIsValid(place) ? dsa_get_address(sno_area, place) : NULL;
}

static dsa_pointer *
list_of(int partition)
{
	return &sno_space->groups[partition % SNO_GROUP_LISTS];
}

/* Nothing is known of pools that aren't kept, in no bounds. */
static void
forget_rest(Group *group)
{
	group->rest = (SnoGenerator) {.sequence_min = SNO_SEQUENCE_MAX,.sequence_max = 0};
}

/* A group that a former database of the space had, or a new one. */
static Group *
new_group(void)
{
	dsa_pointer place = sno_space->spare_groups;
	Group	   *group = group_in(place);

	if (group != NULL)
	{
		sno_space->spare_groups = group->next;
		for (SnoPool *pool = pool_at(group->pools); pool != NULL; pool = pool_at(pool->next))
		{
			pool->life = 0;
			pool->open = false;
		}
		forget_rest(group);
		return group;
	}
	place = dsa_allocate0(sno_area, sizeof(Group));
	group = group_in(place);
	group->place = place;
	sno_shmem_init_lock(&group->lock);
	forget_rest(group);
	return group;
}

/* The group of a partition; if there is none, NULL, or else it is made. */
static Group *
group_of(int partition, bool make)
{
	Group	   *group;

	LWLockAcquire(&sno_space->lock, make ? LW_EXCLUSIVE : LW_SHARED);
	group = group_in(*list_of(partition));
	while (group != NULL && group->partition != partition)
		group = group_in(group->next);
	if (group == NULL && make)
	{
		group = new_group();
		group->partition = partition;
		sno_partition_set_named(partition);
		group->next = *list_of(partition);
		*list_of(partition) = group->place;
	}
	LWLockRelease(&sno_space->lock);
	return group;
}

static Group *
group_at(const SnoPool *pool)
{
	return group_in(pool->group);
}

/* A pool in a group that is locked, or NULL; NULL if there is none yet. */
static SnoPool *
find_pool(Group *group, const SnoDefinition *d)
{
	SnoPool    *pool = group == NULL ? NULL : pool_at(group->pools);

	while (pool != NULL &&
		   (pool->life == 0 ||
			pool->shared.sequence_min != d->sequence_min ||
			pool->shared.sequence_max != d->sequence_max))
		pool = pool_at(pool->next);
	return pool;
}

/* The next sequence of a word, for counters: additions go beyond the bounds. */
static uint32
sequence_of(const SnoPool *pool, uint64 word)
{
	return Min(SNO_WORD_SEQUENCE(word), (uint32) pool->shared.sequence_max + 1);
}

/* A new pool is put into the list of all, where it stays. */
static void
list_pool(SnoPool *pool, dsa_pointer place)
{
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	pool->listed = sno_journal->pools;
	pg_write_barrier();
	sno_journal->pools = place;
	LWLockRelease(&sno_journal->lock);
}

/* Make a pool one of which nothing is known. */
static void
init_pool(SnoPool *pool, const SnoDefinition *d)
{
	sno_generator_start(&pool->shared, 0, d->sequence_min, d->sequence_max);
	pool->word = sno_generator_close(&pool->shared);
	pg_atomic_init_u32(&pool->tickets, 0);
	pg_atomic_init_u32(&pool->left, 0);
	pg_atomic_init_u32(&pool->users, 0);
	pool->life = sno_space->life;
	pool->known = pool->open = false;
	pool->file = InvalidOid;
	pool->pending_ceiling = 0;
	pool->database = MyDatabaseId;
	pool->partition = d->partition;
	memset(&pool->counters, 0, sizeof(SnoCounters));
	memset(&pool->reset, 0, sizeof(SnoCounters));
	pool->counters.base = -(int64) sequence_of(pool, pool->word);
}

static bool
overlap(const SnoPool *a, const SnoPool *b)
{
	return a->shared.sequence_min <= b->shared.sequence_max &&
		a->shared.sequence_max >= b->shared.sequence_min;
}

/* Take the word away; what was added too late is no id. */
static void
take_word(SnoPool *pool)
{
	uint64		word = sno_generator_close(&pool->shared);

	if (!sno_word_is_closed(word))
		pool->word = word;
}

static void
close_pool(SnoPool *pool)
{
	take_word(pool);
	pool->open = false;
	pool->pending_ceiling = 0;
}

/* The state of a pool, exact if nobody issues, as a generator of one's own. */
static SnoGenerator
state_of(const SnoPool *pool)
{
	SnoGenerator g = pool->shared;

	g.word = sno_generator_load(&pool->shared);
	if (sno_word_is_closed(g.word))
		g.word = pool->word;
	return g;
}

static void
set_state(SnoPool *pool, const SnoGenerator *g)
{
	sno_counters_go_on(&pool->counters, sequence_of(pool, pool->word),
					   sequence_of(pool, g->word));
	pool->word = g->word;
	pool->shared.wall_safe = g->wall_safe;
	pool->shared.drifts = g->drifts;
	pool->shared.lease_floor = g->lease_floor;
}

/* Count as used what a generator with other bounds of the sequence issued. */
static void
merge_other(SnoGenerator *g, SnoGenerator other)
{
	other.word = SNO_WORD(SNO_WORD_UNIT(other.word), other.drifts & 1,
						  SNO_SEQUENCE_NONE);
	sno_generator_merge(g, &other);
}

/*
 * Take a pool out of the group's list, to be used for another definition: one that
 * is closed and has no user, the one made first.  What it issued is added to the
 * rest.  InvalidDsaPointer if all are to be kept.
 */
static dsa_pointer
recycle_pool(Group *group)
{
	dsa_pointer *link = NULL;
	dsa_pointer place;
	SnoGenerator issued;
	SnoPool    *pool;
	int			unused = 0;

	for (dsa_pointer *l = &group->pools; DsaPointerIsValid(*l); l = &pool_at(*l)->next)
	{
		pool = pool_at(*l);
		if (pool->life != 0 && (pool->open || pg_atomic_read_u32(&pool->users) > 0))
			continue;
		link = l;
		unused += pool->life == 0 ? POOLS_KEPT + 1 : 1;
	}
	if (unused <= POOLS_KEPT)
		return InvalidDsaPointer;

	place = *link;
	pool = pool_at(place);
	*link = pool->next;
	if (pool->life != 0)
	{
		issued = state_of(pool);
		group->rest.sequence_min = Min(group->rest.sequence_min, issued.sequence_min);
		group->rest.sequence_max = Max(group->rest.sequence_max, issued.sequence_max);
		merge_other(&group->rest, issued);
	}
	return place;
}

static SnoPool *
make_pool(Group *group, const SnoDefinition *d)
{
	dsa_pointer place = recycle_pool(group);
	bool		made = !DsaPointerIsValid(place);
	SnoPool	   *pool;

	if (made)
		place = dsa_allocate0(sno_area, sizeof(SnoPool));
	pool = pool_at(place);
	init_pool(pool, d);
	pool->group = group->place;
	pool->next = group->pools;
	group->pools = place;
	if (made)
		list_pool(pool, place);
	return pool;
}

/* The pool that a definition means, in a group that is locked. */
static SnoPool *
have_pool(Group *group, const SnoDefinition *d)
{
	SnoPool	   *pool = find_pool(group, d);

	if (pool == NULL)
		pool = make_pool(group, d);
	pool->made_here = d->made_here;
	return pool;
}

/* What memory knows of a partition, beside the rows. */
typedef struct Memory
{
	Group	   *group;			/* NULL if there is none */
	bool		anonymous;		/* all that anonymous leases of ours were used for */
} Memory;

static bool
in_memory(const void *arg, bool named, int sequence_min, int sequence_max)
{
	const Memory *memory = arg;
	SnoDefinition d = {.sequence_min = sequence_min, .sequence_max = sequence_max};
	SnoPool	   *pool = named ? find_pool(memory->group, &d) : NULL;

	return named ? pool != NULL && pool->known : memory->anonymous;
}

/*
 * All that is known of what was issued in a pool that isn't open: in rows, and in
 * other pools.  A row of our own is a worse bound than what memory knows, if it
 * does.
 */
static SnoGenerator
gather(Relation rel, Group *group, const SnoPool *pool, bool anonymous, uint64 now)
{
	SnoLease	lease = {
		.partition = pool->partition,
		.named = true,
		.generator = state_of(pool)
	};
	Memory		memory = {group, anonymous};

	if (!pool->known)
		sno_lease_recall(rel, &lease, now, pool->made_here, in_memory, &memory);
	if (group == NULL)
		return lease.generator;
	for (SnoPool *p = pool_at(group->pools); p != NULL; p = pool_at(p->next))
		if (p != pool && p->life != 0 && overlap(p, pool))
			merge_other(&lease.generator, state_of(p));
	if (group->rest.sequence_min <= pool->shared.sequence_max &&
		group->rest.sequence_max >= pool->shared.sequence_min)
		merge_other(&lease.generator, group->rest);
	return lease.generator;
}

/*
 * Write a pool's row, with the state given, from which the ceiling is missing:
 * an open pool's is a lease from now on, at least up to `ceiling`; a closed one's
 * is exact.  False if another holder's row has to be recalled first.
 */
static bool
write_row(Relation rel, const SnoPool *pool, SnoGenerator g, uint64 now, uint64 ceiling,
		  uint64 *written, XLogRecPtr *lsn)
{
	SnoLease	lease = {.partition = pool->partition, .named = true};
	uint64		unit = SNO_WORD_UNIT(g.word);

	g.ceiling = unit;
	if (now > 0)
	{
		g.ceiling = Max(Min(now + 2 * sno_lease_half(), SNO_UNIT_MAX), Max(ceiling, unit));
		/* At the end of all time, what is open must not look exact. */
		if (g.ceiling == unit)
			g.word = SNO_WORD(unit, g.drifts & 1, SNO_SEQUENCE_NONE);
	}
	lease.generator = g;
	if (!sno_lease_write(rel, &lease, lsn))
		return false;
	*written = g.ceiling;
	return true;
}

/* A lease that is flushed: make it known. */
static void
publish(SnoPool *pool, uint64 ceiling, RelFileNumber file)
{
	__atomic_store_n(&pool->shared.ceiling, ceiling, __ATOMIC_RELEASE);
	pool->file = file;
	pool->pending_ceiling = 0;
	pool->attention = ceiling - Min(ceiling, sno_lease_half());
}

/* Has the partition no owner? If we are, we give it up. */
static bool
claim(int partition, SnoPartition *was)
{
	if (sno_partition_claim(partition, was, &sno_pool_held_by))
		return true;
	if (sno_pool_held_by == MyProcPid)
	{
		sno_generate_release_unusable();
		return sno_partition_claim(partition, was, &sno_pool_held_by);
	}
	return false;
}

/*
 * Have a pool that isn't open know all that was issued, and the only one open of
 * those that it overlaps.  Its partition has no owner, and was used so before.
 */
static SnoGenerator
prepare(Relation rel, Group *group, SnoPool *pool, SnoPartition was, uint64 now)
{
	SnoGenerator g;

	for (SnoPool *p = pool_at(group->pools); p != NULL; p = pool_at(p->next))
		if (p != pool && p->open && overlap(p, pool))
			close_pool(p);
	g = gather(rel, group, pool, was.life == sno_space->life, now);
	/* Ids for given times may be anywhere below the end of all time. */
	if (was.generator.ceiling == SNO_UNIT_MAX)
		sno_generator_start(&was.generator, SNO_UNIT_MAX, 0, SNO_SEQUENCE_MAX);
	if (was.life != 0)
		merge_other(&g, was.generator);
	set_state(pool, &g);
	pool->known = true;
	return g;
}

/*
 * Open a pool, or open it anew if its word is taken; in the other timeline if the
 * clock is back.  The group is locked.  False if there is an obstacle.
 */
static bool
open_pool(Relation rel, Group *group, SnoPool *pool, const char *name, uint64 now)
{
	SnoGenerator g,
				row;
	SnoPartition was;
	uint64		used,
				ceiling;
	bool		drifted;
	XLogRecPtr	lsn;

	if (!claim(pool->partition, &was))
	{
		sno_pool_obstacle = SNO_POOL_HELD;
		return false;
	}
	used = pool->open ? pool->shared.ceiling : 0;
	g = pool->open ? state_of(pool) : prepare(rel, group, pool, was, now);

	/* What is known by now may be later than the clock was: see S4. */
	now = sno_clock_unit();
	drifted = now < SNO_WORD_UNIT(g.word);
	if (drifted)
	{
		if (now <= g.wall_safe)
		{
			sno_pool_obstacle = g.wall_safe == SNO_UNIT_MAX ? SNO_POOL_GIVEN : SNO_POOL_BEHIND;
			return false;
		}
		sno_generator_drift(&g, now);
	}

	/* On disk, the timeline that is left is used up to its ceiling. */
	row = g;
	if (drifted)
		row.wall_safe = Max(row.wall_safe, used);
	/* A word that comes back as it was comes with no lower ceiling: see S2. */
	if (!write_row(rel, pool, row, now, drifted ? 0 : pool->shared.ceiling,
				   &ceiling, &lsn))
	{
		close_pool(pool);
		pool->known = false;
		return true;
	}
	XLogFlush(lsn);

	set_state(pool, &g);
	strlcpy(pool->name, name, NAMEDATALEN);
	pool->opened = pool->word;
	pool->open = true;
	publish(pool, ceiling, rel->rd_rel->relfilenode);
	sno_generator_open(&pool->shared, pool->word);
	return true;
}

/*
 * Renew the lease of an open pool whose group is locked; `early`, the row isn't
 * flushed yet, nor the ceiling published.
 */
static void
renew(Relation rel, SnoPool *pool, uint64 now, bool early)
{
	RelFileNumber file = rel->rd_rel->relfilenode;

	if (pool->pending_ceiling < now || pool->pending_file != file)
	{
		SnoGenerator g = pool->shared;

		g.word = sno_generator_load(&pool->shared);
		if (!write_row(rel, pool, g, now, pool->shared.ceiling,
					   &pool->pending_ceiling, &pool->pending_lsn))
		{
			close_pool(pool);
			pool->known = false;
			return;
		}
		pool->pending_file = file;
	}
	if (early)
	{
		XLogSetAsyncXactLSN(pool->pending_lsn);
		pool->attention = pool->shared.ceiling + 1;
		return;
	}
	XLogFlush(pool->pending_lsn);
	publish(pool, pool->pending_ceiling, file);
}

/*
 * Lock a group.  Its pools that are of a former life of the space have no lease
 * any more, and what they issued is a bound among others.  False if somebody else
 * has it.
 */
static bool
lock_group(Group *group)
{
	if (!LWLockConditionalAcquire(&group->lock, LW_EXCLUSIVE))
	{
		sno_pool_obstacle = SNO_POOL_BUSY;
		return false;
	}
	for (SnoPool *pool = pool_at(group->pools); pool != NULL; pool = pool_at(pool->next))
		if (pool->life != 0 && pool->life != sno_space->life)
		{
			close_pool(pool);
			pool->known = false;
			pool->file = InvalidOid;
			pool->life = sno_space->life;
		}
	return true;
}

/*
 * Open the table of leases and lock the group, if there is one; NULL if there is
 * an obstacle.
 */
static Relation
begin_change(Oid function, Group *group)
{
	Relation	rel = sno_table_open(function);

	if (rel == NULL)
		sno_pool_obstacle = SNO_POOL_TABLE_LOCKED;
	else if (group != NULL && !lock_group(group))
	{
		sno_table_close(rel);
		rel = NULL;
	}
	return rel;
}

static void
end_change(Relation rel, Group *group)
{
	if (group != NULL)
		LWLockRelease(&group->lock);
	sno_table_close(rel);
}

/*
 * Do what the pool needs to issue again, unless another session has done so
 * meanwhile; `name` is the generator's.  False if there is an obstacle.
 */
bool
sno_pool_mend(Oid function, SnoPool *pool, const char *name)
{
	Group	   *group = group_at(pool);
	Relation	rel = begin_change(function, group);
	bool		done = true;
	uint64		word,
				now;

	if (rel == NULL)
		return false;

	word = sno_generator_load(&pool->shared);
	now = sno_clock_unit();
	if (sno_word_is_closed(word))
		done = open_pool(rel, group, pool, name, now);
	else if (now < SNO_WORD_UNIT(word))
	{
		if (now > pool->shared.wall_safe)
		{
			take_word(pool);
			done = open_pool(rel, group, pool, name, now);
		}
		else
		{
			sno_pool_obstacle = SNO_POOL_BEHIND;
			done = false;
		}
	}
	else if (now > pool->shared.ceiling || pool->file != rel->rd_rel->relfilenode)
		renew(rel, pool, now, false);
	end_change(rel, group);
	return done;
}

/*
 * Renew the lease when it is time, without waiting for the flush, unless there is
 * an obstacle.
 */
void
sno_pool_renew_early(Oid function, SnoPool *pool, uint64 now)
{
	Group	   *group = group_at(pool);
	Relation	rel = begin_change(function, group);

	if (rel == NULL)
		return;
	if (now >= pool->attention && pool->open &&
		!sno_word_is_closed(sno_generator_load(&pool->shared)))
	{
		/* If this fails, it is tried again when half of what is left is over. */
		pool->attention = now + (pool->shared.ceiling - Min(pool->shared.ceiling, now)) / 2 + 1;
		renew(rel, pool, now, true);
	}
	end_change(rel, group);
}

/* Have the pool that a definition means; NULL if somebody is changing its group. */
SnoPool *
sno_pool_join(const SnoDefinition *d)
{
	Group	   *group = group_of(d->partition, true);
	SnoPool	   *pool;

	if (!lock_group(group))
		return NULL;
	pool = have_pool(group, d);
	pg_atomic_fetch_add_u32(&pool->users, 1);
	LWLockRelease(&group->lock);
	return pool;
}

void
sno_pool_leave(SnoPool *pool)
{
	pg_atomic_fetch_sub_u32(&pool->users, 1);
}

/* Close a pool that its last user has left: see N5. */
void
sno_pool_close_unused(Relation rel, SnoPool *pool)
{
	Group	   *group = group_at(pool);

	if (!LWLockConditionalAcquire(&group->lock, LW_EXCLUSIVE))
		return;
	if (pg_atomic_read_u32(&pool->users) == 0 && pool->open)
	{
		uint64		ceiling;
		XLogRecPtr	lsn;

		close_pool(pool);
		if (write_row(rel, pool, state_of(pool), 0, 0, &ceiling, &lsn))
			XLogSetAsyncXactLSN(lsn);
	}
	LWLockRelease(&group->lock);
}

/* Issue, and count what the word has counted if that begins another unit. */
SnoStep
sno_pool_issue(SnoPool *pool, uint64 word, uint64 now, uint64 *issued)
{
	SnoStep		result = sno_generator_share(&pool->shared, word, now, issued);

	/* Additions never return the lowest sequence: see S2. */
	if (result == SNO_ISSUED &&
		SNO_WORD_SEQUENCE(*issued) == pool->shared.sequence_min)
	{
		sno_counters_go_on(&pool->counters, sequence_of(pool, word),
						   SNO_WORD_SEQUENCE(*issued));
		if (SNO_WORD_SEQUENCE(word) > pool->shared.sequence_max && word != pool->opened)
			sno_counters_exhausted(&pool->counters);
	}
	return result;
}

/*
 * Look at the pools of all databases, without a lock: *status is the next one
 * that is open, and *place leads on.  False if there is none, *place being
 * InvalidDsaPointer at first.
 */
bool
sno_pool_look(dsa_pointer *place, SnoPoolStatus *status)
{
	SnoPool	   *pool = pool_at(*place);

	do
	{
		*place = pool == NULL ? sno_journal->pools : pool->listed;
		if (!DsaPointerIsValid(*place))
			return false;
		pool = pool_at(*place);
	} while (!pool->open);

	memcpy(status->name, pool->name, NAMEDATALEN);
	status->database = pool->database;
	status->partition = pool->partition;
	status->generator = state_of(pool);
	status->counters = sno_counters_read(&pool->counters,
										 sequence_of(pool, status->generator.word),
										 &pool->reset);
	return true;
}

/* Reset the counters of all pools; the journal's lock is held. */
void
sno_pool_reset(void)
{
	for (SnoPool *pool = pool_at(sno_journal->pools); pool != NULL; pool = pool_at(pool->listed))
		sno_counters_reset(&pool->counters, sequence_of(pool, state_of(pool).word),
						   &pool->reset);
}

/*
 * What was issued in the pool that a definition means, as memory and the rows
 * know.  False if there is an obstacle.  Nothing is made for it.
 */
bool
sno_pool_state(Oid function, const SnoDefinition *d, SnoGenerator *g)
{
	Group	   *group = group_of(d->partition, false);
	Relation	rel = begin_change(function, group);
	SnoPool		unknown = {.made_here = d->made_here};
	SnoPool	   *pool;

	if (rel == NULL)
		return false;
	pool = find_pool(group, d);
	if (pool == NULL)
	{
		pool = &unknown;
		init_pool(pool, d);
	}
	*g = pool->known ? state_of(pool) : gather(rel, group, pool, false, sno_clock_unit());
	end_change(rel, group);
	return true;
}

/* Have it go on after what is said to be issued, durably.  False as above. */
bool
sno_pool_restore(Oid function, const SnoDefinition *d, const SnoGenerator *issued)
{
	Group	   *group = group_of(d->partition, true);
	Relation	rel = begin_change(function, group);
	SnoPool	   *pool;
	SnoGenerator g;
	XLogRecPtr	lsn;
	uint64		now = sno_clock_unit();
	uint64		ceiling;

	if (rel == NULL)
		return false;
	pool = have_pool(group, d);
	close_pool(pool);
	for (;;)
	{
		g = gather(rel, group, pool, false, now);
		sno_generator_merge(&g, issued);
		if (write_row(rel, pool, g, 0, 0, &ceiling, &lsn))
			break;
		pool->known = false;
	}
	XLogFlush(lsn);
	set_state(pool, &g);
	pool->known = true;
	end_change(rel, group);
	return true;
}
