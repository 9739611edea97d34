/*
 * named.c
 *		Named generators: the state that all sessions share.
 *
 * A definition (definition.c) gives a name to a pool: a partition, and bounds of
 * the sequence.  What was issued in a pool is known by the pool, not by the name:
 * here, from its first use until the server stops, and in its row of
 * sno_snapshot.  So neither a drop nor a rollback forgets anything, and a pool
 * that is defined again goes on where it was.
 *
 * The pools of a partition are a group: a list in an area of dynamic shared
 * memory that its number leads to, never removed nor moved.  A group keeps
 * anonymous generators out of its partition (partition.c).  Pools of one
 * database overlap if a definition was dropped and another one made; those of
 * several databases of the server may overlap anyway.
 *
 *	N1	At most one of several pools that overlap is open, and none while a
 *		session owns the partition.  Only an open pool's word is shared
 *		(generator.h); the others' is SNO_WORD_CLOSED, and `word` is the exact
 *		one.  A pool is opened above all that is known of the others, of
 *		anonymous generators in its partition, and of all rows that meet it, in
 *		the timeline where each of them was.
 *	N2	At any time the row on disk bounds both timelines: what the word's one
 *		issued is at or below lease_until, what the other issued at or below
 *		wall_safe.  It is therefore written and flushed before a pool is opened,
 *		before a ceiling is raised, and before a change of timeline.
 *	N3	A step back of the clock exchanges the word for SNO_WORD_CLOSED, writes the
 *		row of the other timeline, with the ceiling as wall_safe, and then opens
 *		that one.  If the row is lost, or flushed and the error comes after, no
 *		harm is done: until then nobody issues, and after it either timeline is
 *		below what the row says.
 *	N4	After a crash the timeline of the row is used up to its lease_until, which
 *		is later than now: so this is a step back too, and goes on at once in the
 *		other one, which alone may be below a row's lease_until.  A second crash
 *		within a lease finds both used, and has to wait for the earlier bound.
 *	N5	The last session of a database that lets a pool go closes it and writes the
 *		exact word, so that a clean restart goes on with the next sequence.  It
 *		waits for no lock; a row that it can't write is as after a crash.
 *
 * Locking: users, tickets and left are counted atomically.  All else of a group
 * and its pools changes under the group's lock only, but for the word of an open
 * pool.  The lock is never waited for, but tried again each millisecond: whoever
 * holds it may be writing to disk, and a caller can be cancelled.  A session
 * opens sno_snapshot first, then locks the group, then (for a moment) what
 * partition.c has.  Errors release the lock; there is no moment at which a pool
 * would be left without a word: closed, it is opened anew by who finds it so.
 *
 * Memory ordering: the ceiling, and the fields that a change of timeline
 * changes, are stored before the word is (release), and loaded after it
 * (acquire).  A ceiling is stored after the flush that it needs.  Since nobody
 * uses a value that another session computes from an id that isn't issued yet,
 * the additions need no order of their own.
 *
 * Those who wait for a unit stand in line: each draws a ticket, and may issue as
 * soon as fewer of them are before it than ids are left.  `left` counts who has
 * left the line, served or not, so that it empties whatever becomes of them.
 * While it isn't empty, newcomers draw tickets, too.  So all get their share,
 * and without a wait there is no line, but two loads from the word's cache line.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "activity.h"
#include "clock.h"
#include "fields.h"
#include "generate.h"
#include "lease.h"
#include "miscadmin.h"
#include "named.h"
#include "nodes/primnodes.h"
#include "partition.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "table.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "wait.h"

typedef struct Pool
{
	/* The cache line that all callers use. */
	SnoGenerator shared;		/* its word is shared while the pool is open */
	pg_atomic_uint32 tickets;	/* drawn by those who wait */
	pg_atomic_uint32 left;		/* tickets whose owners don't wait any more */
	char		pad[PG_CACHE_LINE_SIZE / 2 - sizeof(SnoGenerator) - 8];

	uint64		word;			/* the exact one, while it isn't shared */
	dsa_pointer next;			/* in the group */
	Oid			database;
	pg_atomic_uint32 users;		/* sessions that may issue */
	bool		known;			/* have rows been recalled? */
	bool		open;			/* see N1; a change of timeline may close the word */
	RelFileNumber file;			/* of sno_snapshot that has the row */
	RelFileNumber pending_file; /* of a renewal that is written but not published, */
	uint64		pending_ceiling;	/* 0 if none is */
	XLogRecPtr	pending_lsn;
	uint64		attention;		/* the unit in which to renew the lease */

	/* What it does, for sno_generators; see activity.c. */
	dsa_pointer listed;			/* the next in the journal's list of all */
	int32		partition;
	char		name[NAMEDATALEN];	/* by which it was opened last */
	SnoCounters counters;
	SnoCounters reset;
} Pool;

StaticAssertDecl(offsetof(Pool, listed) == PG_CACHE_LINE_SIZE, "what issuing needs of a pool is not two cache lines");

typedef struct Group
{
	LWLock		lock;
	int			partition;
	dsa_pointer next;			/* in the list of partition.c */
	dsa_pointer pools;
} Group;

/* A generator that this session uses, by name. */
typedef struct Use
{
	char		name[NAMEDATALEN];
	int			length;
	uint64		version;		/* of definitions, when it was looked up */
	SnoDefinition definition;
	Group	   *group;
	Pool	   *pool;
} Use;

static HTAB *uses;

/* Changes whenever a definition may have. */
static uint64 version = 1;

/* The line that this session stands in. */
static Pool *line;
static uint32 ticket;

/* What keeps this session from issuing. */
static enum
{
	USED_UP,
	BEHIND,
	BUSY,						/* somebody else is writing the row */
	TABLE_LOCKED,
	HELD						/* by a session's anonymous generator */
}			obstacle;
static int	held_by;			/* its pid */

static Pool *
pool_at(dsa_pointer place)
{
	return DsaPointerIsValid(place) ? dsa_get_address(sno_partition_area(), place) : NULL;
}

static Pool *
next_pool(const Pool *pool)
{
	return pool_at(pool->next);
}

/* The group of a partition, made when it is needed. */
static Group *
group_of(int partition)
{
	dsa_area   *area = sno_partition_area();
	dsa_pointer made = InvalidDsaPointer;
	Group	   *group;

	for (;;)
	{
		dsa_pointer first = sno_partition_groups(partition);

		for (dsa_pointer place = first; DsaPointerIsValid(place); place = group->next)
		{
			group = dsa_get_address(area, place);
			if (group->partition == partition)
			{
				if (DsaPointerIsValid(made))
					dsa_free(area, made);
				return group;
			}
		}
		if (!DsaPointerIsValid(made))
			made = dsa_allocate0(area, sizeof(Group));
		group = dsa_get_address(area, made);
		group->partition = partition;
		group->next = first;
		group->pools = InvalidDsaPointer;
		sno_partition_init_lock(&group->lock);
		if (sno_partition_add_group(partition, made, first))
			return group;
	}
}

/* A pool of this database in a group that is locked; NULL if there is none yet. */
static Pool *
find_pool(Group *group, const SnoDefinition *d)
{
	for (Pool *pool = pool_at(group->pools); pool != NULL; pool = next_pool(pool))
		if (pool->database == MyDatabaseId &&
			pool->shared.sequence_min == d->sequence_min &&
			pool->shared.sequence_max == d->sequence_max)
			return pool;
	return NULL;
}

/* The next sequence of a word, for counters: additions go beyond the bounds. */
static uint32
sequence_of(const Pool *pool, uint64 word)
{
	return Min(SNO_WORD_SEQUENCE(word), (uint32) pool->shared.sequence_max + 1);
}

/* A new pool is put into the list of all, where it stays. */
static void
list_pool(Pool *pool, dsa_pointer place)
{
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	pool->listed = sno_journal->pools;
	pg_write_barrier();
	sno_journal->pools = place;
	LWLockRelease(&sno_journal->lock);
}

static Pool *
make_pool(Group *group, const SnoDefinition *d)
{
	dsa_pointer place = dsa_allocate0(sno_partition_area(), sizeof(Pool));
	Pool	   *pool = pool_at(place);

	sno_generator_start(&pool->shared, 0, d->sequence_min, d->sequence_max);
	pool->word = sno_generator_close(&pool->shared);
	pg_atomic_init_u32(&pool->tickets, 0);
	pg_atomic_init_u32(&pool->left, 0);
	pg_atomic_init_u32(&pool->users, 0);
	pool->database = MyDatabaseId;
	pool->partition = d->partition;
	pool->counters.base = -(int64) sequence_of(pool, pool->word);
	pool->next = group->pools;
	group->pools = place;
	list_pool(pool, place);
	return pool;
}

static bool
overlap(const Pool *a, const Pool *b)
{
	return a->shared.sequence_min <= b->shared.sequence_max &&
		a->shared.sequence_max >= b->shared.sequence_min;
}

/* Take the word away; what was added too late is no id. */
static void
take_word(Pool *pool)
{
	uint64		word = sno_generator_close(&pool->shared);

	if (!sno_word_is_closed(word))
		pool->word = word;
}

static void
close_pool(Pool *pool)
{
	take_word(pool);
	pool->open = false;
	pool->pending_ceiling = 0;
}

/* The state of a pool, exact if nobody issues, as a generator of one's own. */
static SnoGenerator
state_of(const Pool *pool)
{
	SnoGenerator g = pool->shared;

	g.word = sno_generator_load(&pool->shared);
	if (sno_word_is_closed(g.word))
		g.word = pool->word;
	return g;
}

static void
set_state(Pool *pool, const SnoGenerator *g)
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

/* What memory knows of a partition, beside the rows. */
typedef struct Memory
{
	Group	   *group;
	bool		anonymous;		/* all that anonymous leases of ours were used for */
} Memory;

static bool
in_memory(const void *arg, bool named, int sequence_min, int sequence_max)
{
	const Memory *memory = arg;
	SnoDefinition d = {.sequence_min = sequence_min, .sequence_max = sequence_max};
	Pool	   *pool = named ? find_pool(memory->group, &d) : NULL;

	return named ? pool != NULL && pool->known : memory->anonymous;
}

/*
 * All that is known of what was issued in a pool that isn't open, or (pool NULL)
 * that memory doesn't know: in rows, and in other pools.  A row of our own is a
 * worse bound than what memory knows, if it does.
 */
static SnoGenerator
gather(Relation rel, Group *group, const Pool *pool, const SnoDefinition *d,
	   bool anonymous)
{
	SnoLease	lease = {.partition = d->partition, .named = true};
	SnoGenerator *g = &lease.generator;
	Memory		memory = {group, anonymous};
	Pool		searched;

	if (pool != NULL)
		*g = state_of(pool);
	else
	{
		sno_generator_start(g, 0, d->sequence_min, d->sequence_max);
		searched.shared = *g;
		pool = &searched;
	}
	if (pool == &searched || !pool->known)
		sno_lease_recall(rel, &lease, in_memory, &memory);

	for (Pool *p = pool_at(group->pools); p != NULL; p = next_pool(p))
		if (p != pool && p->known && overlap(p, pool))
			merge_other(g, state_of(p));
	return lease.generator;
}

/*
 * Write a pool's row, with the state given, from which the ceiling is missing:
 * an open pool's is a lease from now on, at least up to `ceiling`; a closed one's
 * is exact.  False if another holder's row has to be recalled first.
 */
static bool
write_row(Relation rel, const Use *use, SnoGenerator g, uint64 now, uint64 ceiling,
		  uint64 *written, XLogRecPtr *lsn)
{
	SnoLease	lease = {.partition = use->definition.partition, .named = true};
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
	*written = g.ceiling;
	return sno_lease_write(rel, &lease, lsn);
}

/* A lease that is flushed: make it known. */
static void
publish(Pool *pool, uint64 ceiling, RelFileNumber file)
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
	if (sno_partition_claim(partition, was, &held_by))
		return true;
	if (held_by == MyProcPid)
	{
		sno_generate_vacate();
		return sno_partition_claim(partition, was, &held_by);
	}
	return false;
}

/*
 * Open a pool, or open it anew if its word is taken; in the other timeline if the
 * clock is back.  The group is locked.  False if there is an obstacle.
 */
static bool
open_pool(Relation rel, Use *use)
{
	Pool	   *pool = use->pool;
	SnoGenerator g;
	SnoPartition was;
	uint64		now,
				used = 0,
				ceiling;
	bool		drifted;
	SnoGenerator row;
	XLogRecPtr	lsn;

	if (!claim(use->definition.partition, &was))
	{
		obstacle = HELD;
		return false;
	}
	if (!pool->open)
	{
		for (Pool *p = pool_at(use->group->pools); p != NULL; p = next_pool(p))
			if (p != pool && p->open && overlap(p, pool))
				close_pool(p);
		g = gather(rel, use->group, pool, &use->definition,
				   was.database == MyDatabaseId);
		/* Ids for given times may be anywhere below the end of all time. */
		if (was.generator.ceiling == SNO_UNIT_MAX)
			sno_generator_start(&was.generator, SNO_UNIT_MAX, 0, SNO_SEQUENCE_MAX);
		if (was.database != InvalidOid)
			merge_other(&g, was.generator);
		set_state(pool, &g);
		pool->known = true;
	}
	else
	{
		g = state_of(pool);
		used = pool->shared.ceiling;
	}

	now = sno_clock_unit();
	drifted = now < SNO_WORD_UNIT(g.word);
	if (drifted)
	{
		if (now <= g.wall_safe)
		{
			obstacle = BEHIND;
			return false;
		}
		sno_generator_drift(&g, now);
	}

	/* On disk, the timeline that is left is used up to its ceiling. */
	row = g;
	if (drifted)
		row.wall_safe = Max(row.wall_safe, used);
	if (!write_row(rel, use, row, now, 0, &ceiling, &lsn))
	{
		close_pool(pool);
		pool->known = false;
		return true;
	}
	XLogFlush(lsn);

	set_state(pool, &g);
	memcpy(pool->name, use->name, NAMEDATALEN);
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
renew(Relation rel, Use *use, uint64 now, bool early)
{
	Pool	   *pool = use->pool;
	RelFileNumber file = rel->rd_rel->relfilenode;

	if (pool->pending_ceiling < now || pool->pending_file != file)
	{
		SnoGenerator g = pool->shared;

		g.word = sno_generator_load(&pool->shared);
		if (!write_row(rel, use, g, now, pool->shared.ceiling,
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

/* Open the table of leases and lock the group; NULL if there is an obstacle. */
static Relation
begin_change(Oid function, Group *group)
{
	Relation	rel = sno_table_open(function);

	if (rel == NULL)
		obstacle = TABLE_LOCKED;
	else if (!LWLockConditionalAcquire(&group->lock, LW_EXCLUSIVE))
	{
		sno_table_close(rel);
		rel = NULL;
		obstacle = BUSY;
	}
	return rel;
}

static void
end_change(Relation rel, Group *group)
{
	LWLockRelease(&group->lock);
	sno_table_close(rel);
}

/*
 * Do what the pool needs to issue again, unless another session has done so
 * meanwhile.  False if there is an obstacle.
 */
static bool
mend(Oid function, Use *use)
{
	Pool	   *pool = use->pool;
	Relation	rel = begin_change(function, use->group);
	bool		done = true;
	uint64		word,
				now;

	if (rel == NULL)
		return false;

	word = sno_generator_load(&pool->shared);
	now = sno_clock_unit();
	if (sno_word_is_closed(word))
		done = open_pool(rel, use);
	else if (now < SNO_WORD_UNIT(word))
	{
		if (now > pool->shared.wall_safe)
		{
			take_word(pool);
			done = open_pool(rel, use);
		}
		else
		{
			obstacle = BEHIND;
			done = false;
		}
	}
	else if (now > pool->shared.ceiling || pool->file != rel->rd_rel->relfilenode)
		renew(rel, use, now, false);
	end_change(rel, use->group);
	return done;
}

typedef struct Renewal
{
	Oid			function;
	Use		   *use;
	uint64		now;
} Renewal;

static void
renew_early(void *arg)
{
	Renewal    *r = arg;
	Pool	   *pool = r->use->pool;
	Relation	rel = begin_change(r->function, r->use->group);

	if (rel == NULL)
		return;
	if (r->now >= pool->attention && pool->open &&
		!sno_word_is_closed(sno_generator_load(&pool->shared)))
	{
		/* If this fails, it is tried again when half of what is left is over. */
		pool->attention = r->now + (pool->shared.ceiling - Min(pool->shared.ceiling, r->now)) / 2 + 1;
		renew(rel, r->use, r->now, true);
	}
	end_change(rel, r->use->group);
}

static void
leave_line(void)
{
	if (line != NULL)
		pg_atomic_fetch_add_u32(&line->left, 1);
	line = NULL;
}

static bool
is_line(Pool *pool)
{
	return pg_atomic_read_u32(&pool->tickets) != pg_atomic_read_u32(&pool->left);
}

/* How many ids must others get before it is our turn? Not positive if it is. */
static int32
before_us(Pool *pool, uint64 word, uint64 now)
{
	int32		spare = pool->shared.sequence_max - pool->shared.sequence_min + 1;

	if (line == NULL && is_line(pool))
	{
		line = pool;
		ticket = pg_atomic_fetch_add_u32(&pool->tickets, 1);
	}
	if (line == NULL)
		return 0;
	if (now == SNO_WORD_UNIT(word))
		spare = Max(pool->shared.sequence_max - (int32) SNO_WORD_SEQUENCE(word) + 1, 0);
	return (int32) (ticket - pg_atomic_read_u32(&pool->left)) - spare + 1;
}

/* No id was to be had for sno.max_wait: say why. */
static void
give_up(const Use *use)
{
	if (obstacle == TABLE_LOCKED)
		sno_table_give_up();
	if (obstacle == HELD)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("partition %d of generator \"%s\" was in use for %d ms",
						use->definition.partition, use->name, sno_max_wait),
				 errdetail("The session with process id %d generates in it; it moves on as soon as it generates again.",
						   held_by),
				 errhint("End that session, or use another partition.")));
	if (obstacle == BEHIND)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("generator \"%s\" could not issue a sno within %d ms",
						use->name, sno_max_wait),
				 errdetail("The clock is behind what the generator issued, or may have issued before the server crashed."),
				 errhint("Set the system clock right, wait, or drop the generator and create it with another partition.")));
	if (obstacle == BUSY)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("generator \"%s\" could not issue a sno within %d ms",
						use->name, sno_max_wait),
				 errdetail("Another session is writing its state to disk."),
				 errhint("Raise \"sno.max_wait\".")));
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("generator \"%s\" could not issue a sno within %d ms",
					use->name, sno_max_wait),
			 errdetail("It issues at most %d ids per %d ms, to all sessions together.",
					   use->definition.sequence_max - use->definition.sequence_min + 1,
					   SNO_UNIT_MSEC),
			 errhint("Raise \"sno.max_wait\", or widen the bounds of the generator.")));
}

/*
 * Wait at most so many milliseconds.  *since is 0 at first.  Raises an error after
 * sno.max_wait.
 */
static void
wait_a_little(const Use *use, int64 *since, int msec)
{
	SnoCounters *counters = use->pool == NULL ? NULL : &use->pool->counters;

	if (!sno_wait(since, counters, use->name, use->definition.partition, msec))
		give_up(use);
}

/* At the end of a session: see N5. */
static void
let_go(int code, Datum arg)
{
	HASH_SEQ_STATUS status;
	Use		   *use;
	Relation	rel;

	leave_line();
	sno_activity_end();
	rel = sno_table_open_at_exit();
	hash_seq_init(&status, uses);
	while ((use = hash_seq_search(&status)) != NULL)
	{
		Pool	   *pool = use->pool;

		if (pool == NULL)
			continue;
		use->pool = NULL;
		if (rel == NULL ||
			!LWLockConditionalAcquire(&use->group->lock, LW_EXCLUSIVE))
		{
			pg_atomic_fetch_sub_u32(&pool->users, 1);
			continue;
		}
		if (pg_atomic_fetch_sub_u32(&pool->users, 1) == 1 && pool->open)
		{
			uint64		ceiling;
			XLogRecPtr	lsn;

			close_pool(pool);
			if (write_row(rel, use, state_of(pool), 0, 0, &ceiling, &lsn))
				XLogSetAsyncXactLSN(lsn);
		}
		LWLockRelease(&use->group->lock);
	}
	if (rel != NULL)
		sno_table_close_at_exit(rel);
}

static void
definitions_changed(Datum arg, Oid relid)
{
	if (relid == InvalidOid || relid == sno_definition_table())
		version++;
}

/* At the first use of a session. */
static void
session_begin(void)
{
	HASHCTL		ctl = {.keysize = NAMEDATALEN, .entrysize = sizeof(Use)};

	if (uses != NULL)
		return;
	PreventCommandDuringRecovery("sno_generate()");
	sno_partition_attach();
	sno_activity_begin();
	CacheRegisterRelcacheCallback(definitions_changed, (Datum) 0);
	uses = hash_create("sno generators", 16, &ctl, HASH_ELEM | HASH_STRINGS);
	before_shmem_exit(let_go, (Datum) 0);
}

/*
 * Have a pool for a use whose definition is looked up.  False if the group is
 * locked.
 */
static bool
attach(Use *use)
{
	Group	   *group = group_of(use->definition.partition);
	Pool	   *pool;

	if (!LWLockConditionalAcquire(&group->lock, LW_EXCLUSIVE))
	{
		obstacle = BUSY;
		return false;
	}
	pool = find_pool(group, &use->definition);
	if (pool == NULL)
		pool = make_pool(group, &use->definition);
	pg_atomic_fetch_add_u32(&pool->users, 1);
	LWLockRelease(&group->lock);
	use->group = group;
	use->pool = pool;
	return true;
}

/* Look the definition up, if it may have changed.  False as in attach(). */
static bool
refresh(Oid function, Use *use)
{
	uint64		seen = version;
	SnoDefinition d;

	if (use->version == seen && use->pool != NULL)
		return true;
	if (!sno_definition_find(function, use->name, &d))
		sno_definition_missing(use->name);
	if (use->pool != NULL &&
		(d.partition != use->definition.partition ||
		 d.sequence_min != use->definition.sequence_min ||
		 d.sequence_max != use->definition.sequence_max))
	{
		leave_line();
		pg_atomic_fetch_sub_u32(&use->pool->users, 1);
		use->pool = NULL;
	}
	use->definition = d;
	if (use->pool == NULL && !attach(use))
		return false;
	use->version = seen;
	return true;
}

/* Issue, and count what the word has counted if that begins another unit. */
static SnoStep
share(Pool *pool, uint64 word, uint64 now, uint64 *issued)
{
	SnoStep		result = sno_generator_share(&pool->shared, word, now, issued);

	/* Additions never return the lowest sequence: see S2. */
	if (result == SNO_ISSUED &&
		SNO_WORD_SEQUENCE(*issued) == pool->shared.sequence_min)
	{
		sno_counters_go_on(&pool->counters, sequence_of(pool, word),
						   SNO_WORD_SEQUENCE(*issued));
		if (SNO_WORD_SEQUENCE(word) > pool->shared.sequence_max)
			sno_counters_exhausted(&pool->counters);
	}
	return result;
}

/* Issue, if it is our turn; *msec is how long to wait if that fails. */
static SnoStep
step(Oid function, Use *use, uint64 *issued, int *msec)
{
	Pool	   *pool = use->pool;
	bool		in_place = sno_table_holds(function, pool->file);
	uint64		word = sno_generator_load(&pool->shared);
	uint64		now = sno_clock_unit();
	int32		before;

	*msec = 1;
	if (sno_word_is_closed(word))
		return SNO_CLOSED;
	if (!in_place)
		return SNO_LEASE_OVER;

	/* Units were left out, or the clock went back. */
	if (now - SNO_WORD_UNIT(word) > 1)
		sno_clock_watch();

	if (now >= pool->attention && now <= pool->shared.ceiling)
	{
		Renewal		renewal = {function, use, now};

		sno_generate_quietly(renew_early, &renewal, use->definition.partition);
		word = sno_generator_load(&pool->shared);
		now = sno_clock_unit();
	}

	before = before_us(pool, word, now);
	if (before > 0)
	{
		int32		pool_size = pool->shared.sequence_max - pool->shared.sequence_min + 1;

		*msec = Max(1, (before - 1) / pool_size * SNO_UNIT_MSEC);
		return SNO_EXHAUSTED;
	}
	return share(pool, word, now, issued);
}

/* Issue, however long it takes. */
static uint64
next_patiently(Oid function, Use *use)
{
	int64		since = 0;

	for (;;)
	{
		uint64		issued = 0;
		int			msec = 1;

		if (refresh(function, use))
		{
			switch (step(function, use, &issued, &msec))
			{
				case SNO_ISSUED:
					return issued;
				case SNO_RACED:
					continue;
				case SNO_EXHAUSTED:
					obstacle = USED_UP;
					break;
				default:
					if (mend(function, use))
						continue;
			}
			if (line == NULL)
			{
				line = use->pool;
				ticket = pg_atomic_fetch_add_u32(&use->pool->tickets, 1);
			}
		}
		wait_a_little(use, &since, msec);
	}
}

static uint64
next_slowly(Oid function, Use *use)
{
	volatile uint64 word = 0;

	PG_TRY();
	{
		word = next_patiently(function, use);
	}
	PG_FINALLY();
	{
		leave_line();
	}
	PG_END_TRY();
	return word;
}

/* The next id's word, where the unit is the word's and nobody waits; else slowly. */
static inline uint64
next(Oid function, Use *use)
{
	if (likely(use->version == version))
	{
		Pool	   *pool = use->pool;
		uint64		word = sno_generator_load(&pool->shared);
		uint64		issued;

		if (likely(sno_clock_unit() == SNO_WORD_UNIT(word) && !is_line(pool)) &&
			sno_generator_share(&pool->shared, word, SNO_WORD_UNIT(word), &issued) == SNO_ISSUED)
			return issued;
	}
	return next_slowly(function, use);
}

/*
 * This session's use of a generator, made if there is a definition; with what
 * that says now, though perhaps without a pool yet.
 */
static Use *
use_of(Oid function, const text *name)
{
	char		key[NAMEDATALEN] = {0};
	int			length = VARSIZE_ANY_EXHDR(name);
	SnoDefinition d;
	bool		found;
	Use		   *use;

	if (length < NAMEDATALEN)
		memcpy(key, VARDATA_ANY(name), length);
	if (length >= NAMEDATALEN || !sno_definition_find(function, key, &d))
		sno_definition_missing(text_to_cstring(name));
	session_begin();
	use = hash_search(uses, key, HASH_ENTER, &found);
	if (!found)
	{
		use->length = length;
		use->version = 0;
		use->pool = NULL;
		use->definition = d;
	}
	use->definition.meta = d.meta;
	return use;
}

/* What an expression that calls sno_generate() remembers. */
typedef struct Call
{
	Use		   *use;
	bool		constant;		/* does it always name the same generator? */
} Call;

static Call *
remember(FmgrInfo *flinfo, const text *name)
{
	Node	   *expression = flinfo->fn_expr;
	Call	   *call = flinfo->fn_extra;

	if (call == NULL)
	{
		call = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(Call));
		call->constant = expression != NULL && IsA(expression, FuncExpr) &&
			IsA(lsecond(((FuncExpr *) expression)->args), Const);
		flinfo->fn_extra = call;
	}
	call->use = NULL;			/* in case of an error */
	call->use = use_of(flinfo->fn_oid, name);
	return call;
}

/* Does it know the generator, and have its definitions not changed since? */
static inline bool
knows(const Call *call, FunctionCallInfo fcinfo)
{
	const Use  *use;
	const text *name;

	if (call == NULL || call->use == NULL)
		return false;
	use = call->use;
	if (use->version != version)
		return false;
	if (call->constant)
		return true;
	name = PG_GETARG_TEXT_PP(1);
	return use->length == VARSIZE_ANY_EXHDR(name) &&
		memcmp(use->name, VARDATA_ANY(name), use->length) == 0;
}

static inline int32
check_meta(const Use *use, int32 meta)
{
	if (unlikely(meta < 0 || meta > SNO_META_MAX))
		sno_fields_check("metabyte", meta, SNO_META_MAX);
	if (unlikely(use->definition.meta >= 0 && meta != use->definition.meta))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("metabyte %d is not that of generator \"%s\"", meta, use->name),
				 errdetail("All its ids have metabyte %d.", use->definition.meta),
				 errhint("Pass that, or null.")));
	return meta;
}

PG_FUNCTION_INFO_V1(sno_generate_named);
Datum
sno_generate_named(PG_FUNCTION_ARGS)
{
	Call	   *call = fcinfo->flinfo->fn_extra;
	int32		meta;
	uint64		word;
	Use		   *use;
	Sno		   *id;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	if (unlikely(!knows(call, fcinfo)))
		call = remember(fcinfo->flinfo, PG_GETARG_TEXT_PP(1));
	use = call->use;

	if (likely(!PG_ARGISNULL(0)))
		meta = check_meta(use, PG_GETARG_INT32(0));
	else if (use->definition.meta >= 0)
		meta = use->definition.meta;
	else
		PG_RETURN_NULL();

	word = next(fcinfo->flinfo->fn_oid, use);
	id = palloc(SNO_SIZE);
	sno_assemble(id, SNO_WORD_TIME(word), meta, use->definition.partition,
				 SNO_WORD_SEQUENCE(word));
	PG_RETURN_SNO_P(id);
}

/* Begin a change of what no caller of sno_generate() may be using. */
static Relation
begin_change_patiently(Oid function, Use *use, const char *name,
					   const SnoDefinition *d)
{
	Relation	rel;
	int64		since = 0;

	sno_partition_attach();
	strlcpy(use->name, name, NAMEDATALEN);
	use->definition = *d;
	use->group = group_of(d->partition);
	while ((rel = begin_change(function, use->group)) == NULL)
		wait_a_little(use, &since, 1);
	use->pool = find_pool(use->group, d);
	return rel;
}

/*
 * Look at the pools of all databases, without a lock: *status is the next one
 * that is open, and *place leads on.  False if there is none, *place being
 * InvalidDsaPointer at first.
 */
bool
sno_named_look(dsa_pointer *place, SnoPoolStatus *status)
{
	Pool	   *pool = pool_at(*place);

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
sno_named_reset(void)
{
	for (Pool *pool = pool_at(sno_journal->pools); pool != NULL; pool = pool_at(pool->listed))
		sno_counters_reset(&pool->counters, sequence_of(pool, state_of(pool).word),
						   &pool->reset);
}

/* What a generator issued, as memory and the rows know. */
void
sno_named_state(Oid function, const char *name, const SnoDefinition *d,
				SnoGenerator *g)
{
	Use			use;
	Relation	rel = begin_change_patiently(function, &use, name, d);

	if (use.pool != NULL && use.pool->known)
		*g = state_of(use.pool);
	else
		*g = gather(rel, use.group, use.pool, d, false);
	end_change(rel, use.group);
}

/* Have a generator go on after what is said to be issued, durably. */
void
sno_named_restore(Oid function, const char *name, const SnoDefinition *d,
				  const SnoGenerator *issued)
{
	Use			use;
	Relation	rel = begin_change_patiently(function, &use, name, d);
	SnoGenerator g;
	XLogRecPtr	lsn;
	uint64		ceiling;

	if (use.pool == NULL)
		use.pool = make_pool(use.group, d);
	close_pool(use.pool);
	do
	{
		g = gather(rel, use.group, use.pool, d, false);
		sno_generator_merge(&g, issued);
		use.pool->known = write_row(rel, &use, g, 0, 0, &ceiling, &lsn);
	} while (!use.pool->known);
	XLogFlush(lsn);
	set_state(use.pool, &g);
	end_change(rel, use.group);
}
