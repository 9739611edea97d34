/*
 * feed.c
 *		What the transactions of a database issue, for readers of feeds.
 *
 * Each space has a feed: a promise and the issuers of all processes (core/issuer.h), and
 * the transactions that are prepared.  The feed is made when the first id of a database
 * is issued, or the first watermark is asked for.  A process keeps its issuer when the
 * session ends, because a reader may have an older snapshot.
 *
 * A parallel worker issues for its leader's transaction, so it uses the leader's issuer.
 * The leader ends the issuer with the transaction, even if the leader issued nothing
 * itself.  At the end of a failed transaction the leader can't attach any more, because
 * that may raise an error.  So a worker issues nothing unless its leader has attached
 * before.  The leader attaches when it plans a query that calls a function that issues
 * (sno_feed_attach()).
 *
 * A prepared transaction issues no more, but snapshots don't show its rows yet.  It enters
 * the list before it leaves its issuer, and stays there until all snapshots show it
 * (prepared.c).
 *
 * A row of the table of leases names a unit, and no watermark is above that unit.  The
 * first id or watermark since the server started reads the row, and promises its unit
 * again.  So a promise outlives the server.  The row is written a second ahead of the
 * clock.
 *
 * Locking: issuers and promise are atomic.  The feed's lock protects the list.  Readers
 * hold the lock, shared, while they look at issuers and list.  So they see a transaction
 * that moves from its issuer to the list, and no promise is forgotten meanwhile.  Whoever
 * writes the row holds another lock, because the writing takes some time.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/feed.h"
#include "shared/prepared.h"
#include "shared/shmem.h"

typedef struct SnoFeed
{
	SnoPromise	promise;
	pg_atomic_uint64 moved_at;	/* monotonic µs, see sno_feed_move_on() */
	char		pad[PG_CACHE_LINE_SIZE - sizeof(SnoPromise) - sizeof(pg_atomic_uint64)];

	LWLock		lock;			/* protects what follows */
	SnoPreparedList prepared;

	LWLock		writing;		/* held by who writes the row */
	pg_atomic_uint64 covered;	/* no watermark is above this unit, which is on disk */
	RelFileNumber file;			/* of the table that the row was written to */
	pg_atomic_uint32 past_known;	/* see sno_feed_recall() */

	/* Of the space, when a session attached last. */
	uint32		former;
	uint32		life;

	SnoIssuer	issuer[FLEXIBLE_ARRAY_MEMBER];	/* by the number of the process */
} SnoFeed;

/* How far ahead of the clock the row is written: for a second. */
#ifndef SNO_COVER_AHEAD			/* a model has fewer */
#define SNO_COVER_AHEAD	SNO_UNITS_PER_SEC
#endif

uint64		sno_feed_bound = SNO_NO_UNIT;

static SnoFeed *feed;
static SnoIssuer *issuer;

/* The unit from which the transaction issues, as this process told its issuer. */
static uint64 told = SNO_NO_UNIT;

/* Forget all of a database that is gone. */
static void
clear_feed(SnoFeed *f)
{
	sno_prepared_clear(&f->prepared);
	sno_promise_forget(&f->promise);
	memset(f->issuer, 0, ProcGlobal->allProcCount * sizeof(SnoIssuer));
}

/*
 * The space may have gone to another database, or to one whose table hasn't the row that was
 * written, though what was promised stays so.  Then no session has attached since.  The
 * space's lock is held.
 */
static void
follow_space(SnoFeed *f)
{
	if (f->former != sno_space->former)
		clear_feed(f);
	if (f->former != sno_space->former || f->life != sno_space->life)
	{
		pg_atomic_write_u64(&f->covered, 0);
		pg_atomic_write_u32(&f->past_known, 0);
	}
	f->former = sno_space->former;
	f->life = sno_space->life;
}

/* The feed of the space that this session has entered, made if there is none. */
static SnoFeed *
have_feed(void)
{
	SnoFeed    *f;

	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	if (!DsaPointerIsValid(sno_space->feed))
	{
		dsa_pointer place = dsa_allocate0(sno_area, offsetof(SnoFeed, issuer) +
										  ProcGlobal->allProcCount * sizeof(SnoIssuer));

		f = dsa_get_address(sno_area, place);
		sno_shmem_init_lock(&f->lock);
		sno_shmem_init_lock(&f->writing);
		sno_space->feed = place;
	}
	f = dsa_get_address(sno_area, sno_space->feed);
	follow_space(f);
	LWLockRelease(&sno_space->lock);
	return f;
}

/* In a parallel worker: will its leader end what the worker tells? */
static bool
leader_is_attached(const PGPROC *leader)
{
	int			count;
	SnoActivity *slots;

	sno_shmem_attach();
	slots = sno_activity_slots(&count);
	return pg_atomic_read_u32(&slots[GetNumberFromPGProc(leader)].has_feed) == leader->pid;
}

/* At the first need of a process, at least. */
void
sno_feed_attach(void)
{
	PGPROC	   *leader = IsParallelWorker() ? MyProc->lockGroupLeader : NULL;

	if (issuer != NULL)
		return;
	if (leader != NULL && !leader_is_attached(leader))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a parallel worker cannot issue a sno for a session that has not issued any"),
				 errdetail("The session must be prepared to tell when the ids of its workers are committed."),
				 errhint("Call sno_generate() in the session before, or declare the function that issues ids in a worker PARALLEL RESTRICTED.")));
	sno_space_enter();
	feed = have_feed();
	issuer = &feed->issuer[GetNumberFromPGProc(leader == NULL ? MyProc : leader)];
	if (leader == NULL)
		pg_atomic_write_u32(&sno_my_activity->has_feed, MyProcPid);
}

/*
 * The unit in which to issue now: that of the clock, or a later one that is promised.
 * Each id of a transaction that isn't of a unit from sno_feed_bound on needs a call of
 * this before.
 */
uint64
sno_feed_unit(void)
{
	uint64		now = sno_clock_unit();

	sno_feed_attach();
	if (now < told)
	{
		/* If this raises an error, nothing is told yet: the next call does all again. */
		uint64		unit = sno_issuer_begin(issuer, &feed->promise, now, sno_clock_unit);

		told = now;
		sno_feed_bound = Min(sno_feed_bound, unit);
		return unit;
	}
	now = sno_promise_now(&feed->promise, now, sno_clock_unit);
	return Max(now, sno_feed_bound);
}

/*
 * A generator exhausted the unit that sno_feed_unit() returned, or a reader wants to read
 * what is in it.  True if that is ahead of the clock, and ids go on in the next one.  This
 * happens once in the time of a unit, so that ids don't get further ahead of the clock.
 */
bool
sno_feed_move_on(uint64 exhausted)
{
	uint64		now = (uint64) sno_clock_monotonic();
	uint64		moved_at = pg_atomic_read_u64(&feed->moved_at);

	if (now - moved_at < SNO_UNIT_MSEC * 1000 || exhausted <= sno_clock_unit())
		return false;
	if (pg_atomic_compare_exchange_u64(&feed->moved_at, &moved_at, now))
		sno_promise_move_on(&feed->promise, exhausted);
	return true;
}

/* Was sno_feed_recall() called since the server started? */
bool
sno_feed_knows_past(void)
{
	bool		known;

	sno_feed_attach();
	known = pg_atomic_read_u32(&feed->past_known) != 0;
	/* What is promised is read after this. */
	pg_read_barrier();
	return known;
}

/*
 * Before the server started, no watermark was above the unit that `read` finds in the row
 * on disk.  So ids go on there, if the clock was set back since.
 */
void
sno_feed_recall(uint64 (*read) (void *arg), void *arg)
{
	LWLockAcquire(&feed->writing, LW_EXCLUSIVE);
	if (!sno_feed_knows_past())
	{
		(void) sno_promise_make(&feed->promise, read(arg), sno_clock_unit);
		pg_write_barrier();
		pg_atomic_write_u32(&feed->past_known, 1);
	}
	LWLockRelease(&feed->writing);
}

/* The unit of the highest watermark now. */
uint64
sno_feed_highest(void)
{
	sno_feed_attach();
	return sno_promise_now(&feed->promise, sno_clock_unit(), sno_clock_unit);
}

/* Is a row on disk, in this file, that covers watermarks up to the unit? */
bool
sno_feed_is_covered(uint64 unit, RelFileNumber file)
{
	if (feed->file != file)
		return false;
	pg_read_barrier();
	return pg_atomic_read_u64(&feed->covered) >= unit;
}

/*
 * Let `write` write such a row and flush it, unless another session has done so
 * meanwhile.  It covers the next second, so that this is rare.
 */
void
sno_feed_cover(uint64 unit, RelFileNumber file, void (*write) (uint64 until, void *arg), void *arg)
{
	uint64		until;

	LWLockAcquire(&feed->writing, LW_EXCLUSIVE);
	if (!sno_feed_is_covered(unit, file))
	{
		until = sno_feed_highest();
		until = Max(until, unit) + SNO_COVER_AHEAD;
		until = Min(until, SNO_UNIT_MAX);
		write(until, arg);
		pg_atomic_write_u64(&feed->covered, until);
		pg_write_barrier();
		feed->file = file;
	}
	LWLockRelease(&feed->writing);
}

/* This transaction is about to be prepared. */
static void
note_prepared(void)
{
	uint64		xid = U64FromFullTransactionId(GetTopFullTransactionId());
	uint64		since = sno_issuer_since(issuer);

	if (since == SNO_NO_UNIT)
		return;
	sno_prepared_lock(xid, since);
	LWLockAcquire(&feed->lock, LW_EXCLUSIVE);
	sno_prepared_add(&feed->prepared, xid, since);
	LWLockRelease(&feed->lock);
}

/* Attach, and know the transactions that were prepared before the server started. */
static void
attach_to_read(void)
{
	sno_feed_attach();
	if (feed->prepared.known != 0)
		return;
	LWLockAcquire(&feed->lock, LW_EXCLUSIVE);
	sno_prepared_recall(&feed->prepared);
	LWLockRelease(&feed->lock);
}

pg_noreturn static void
refuse_broken(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("ids were issued below an earlier watermark"),
			 errdetail("The clock was more than an hour behind a watermark."),
			 errhint("Let the readers of feeds look for rows that they missed, and call sno_reset_watermark().")));
}

/*
 * The watermark for a snapshot: no row that the snapshot doesn't show will appear with
 * an id of an earlier unit, if the transaction that inserts it made the id.  Raises 55000
 * if an earlier watermark didn't hold.
 */
uint64
sno_feed_lowest(Snapshot snapshot)
{
	SnoView		view = {.snapshot = snapshot};
	uint64		now = sno_clock_unit();
	uint64		lowest,
				unit;
	bool		broken;

	attach_to_read();
	(void) sno_feed_move_on(sno_promise_now(&feed->promise, now, sno_clock_unit));
	view.next = U64FromFullTransactionId(ReadNextFullTransactionId());

	LWLockAcquire(&feed->lock, LW_SHARED);
	lowest = sno_promise_make(&feed->promise, now, sno_clock_unit);
	unit = pg_atomic_read_u64(&feed->covered);
	lowest = Min(lowest, unit);
	for (int i = 0; i < ProcGlobal->allProcCount; i++)
	{
		unit = sno_issuer_lowest(&feed->issuer[i], sno_view_shows, &view);
		lowest = Min(lowest, unit);
	}
	unit = sno_prepared_lowest(&feed->prepared, &view);
	lowest = Min(lowest, unit);
	broken = sno_promise_is_broken(&feed->promise);
	LWLockRelease(&feed->lock);
	if (broken)
		refuse_broken();
	return lowest;
}

/* The sessions and prepared transactions that keep watermarks from rising. */
SnoBlocker *
sno_feed_blockers(int *count)
{
	SnoBlocker *blockers;
	int			size = ProcGlobal->allProcCount;

	attach_to_read();
	*count = 0;
	LWLockAcquire(&feed->lock, LW_SHARED);
	for (SnoPrepared *p = sno_prepared_at(feed->prepared.first); p != NULL; p = sno_prepared_at(p->next))
		size++;
	blockers = palloc(size * sizeof(SnoBlocker));
	for (int i = 0; i < ProcGlobal->allProcCount; i++)
	{
		const PGPROC *proc = GetPGProcByNumber(i);
		SnoBlocker	blocker = {proc->pid, proc->xid, sno_issuer_since(&feed->issuer[i])};

		if (blocker.since != SNO_NO_UNIT)
			blockers[(*count)++] = blocker;
	}
	for (SnoPrepared *p = sno_prepared_at(feed->prepared.first); p != NULL; p = sno_prepared_at(p->next))
		if (TransactionIdIsInProgress((TransactionId) p->xid))
			blockers[(*count)++] = (SnoBlocker) {0, (TransactionId) p->xid, p->since};
	LWLockRelease(&feed->lock);
	return blockers;
}

/*
 * Watermarks begin anew from the clock.  Earlier ones don't hold any more.  `forget` does
 * to the row what this does to memory.
 */
void
sno_feed_reset(void (*forget) (void *arg), void *arg)
{
	sno_feed_attach();
	LWLockAcquire(&feed->writing, LW_EXCLUSIVE);
	forget(arg);
	LWLockAcquire(&feed->lock, LW_EXCLUSIVE);
	pg_atomic_write_u64(&feed->covered, 0);
	sno_promise_forget(&feed->promise);
	pg_atomic_write_u32(&feed->past_known, 1);
	LWLockRelease(&feed->lock);
	LWLockRelease(&feed->writing);
}

static void
end_transaction(uint64 xid)
{
	if (issuer != NULL)
		sno_issuer_end(issuer, xid);
}

static void
at_transaction_event(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_PREPARE:
		case XACT_EVENT_PRE_COMMIT:
			if (issuer != NULL && event == XACT_EVENT_PRE_PREPARE)
				note_prepared();
			return;
		case XACT_EVENT_COMMIT:
			end_transaction(U64FromFullTransactionId(GetTopFullTransactionIdIfAny()));
			break;
		case XACT_EVENT_ABORT:
			end_transaction(0);
			break;
		case XACT_EVENT_PREPARE:
			end_transaction(0);
			break;
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			return;
	}
	told = sno_feed_bound = SNO_NO_UNIT;
}

/* When the library is loaded. */
void
sno_feed_init(void)
{
	RegisterXactCallback(at_transaction_event, NULL);
}
