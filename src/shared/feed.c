/*
 * feed.c
 *		The protocol between transactions that issue ids and readers of feeds.
 *
 * Each transaction reports the unit from which it issues, before its first id, by its issuer
 * (core/issuer.h).  For the numbers of counters it reports a tick of a logical clock
 * (core/numbers.h).  Readers promise a unit, and look at the issuers of all processes.
 *
 * A parallel worker issues for its leader's transaction, so it uses the leader's issuers.  The
 * leader ends them with the transaction, even if the leader issued nothing itself.
 *
 * A prepared transaction issues no more, but snapshots don't show its rows yet.  It enters the
 * list before it leaves its issuers, and stays there until all snapshots show it (prepared.c).
 *
 * A row of the table of leases has a unit that no watermark exceeds.  The first id or watermark
 * since the server started reads the row, and promises its unit again.  So a promise outlives the
 * server.  The row is written a second ahead of the clock.
 *
 * Locking: issuers, promise and ticks are atomic.  The lock of the feed protects the list, the
 * notes of counters, and whether the past is known.  A transaction that reports a tick doesn't
 * wait for the lock.  Readers hold it while they look at issuers and list, in shared mode unless
 * they make a note.  So they see a transaction that moves from its issuers to the list, and no
 * promise is forgotten meanwhile.  Nothing under the lock takes long: PostgreSQL reads files
 * before the lock is taken, or after it is released.  The row is written by the session that has
 * the turn (turn.c).
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/feed.h"
#include "shared/feed_memory.h"
#include "type/fields.h"

/* How far ahead of the clock the row covers units: a second */
#ifndef SNO_COVER_AHEAD			/* a model has fewer */
#define SNO_COVER_AHEAD	SNO_UNITS_PER_SEC
#endif

uint64		sno_feed_bound = SNO_NO_UNIT;
uint64		sno_feed_transaction = 1;

/* The unit from which the transaction issues, as this process reported it */
static uint64 told = SNO_NO_UNIT;

/* The transaction in which this process last reported a tick */
static uint64 ticked_in;

/*
 * The unit in which to issue now: the clock's, or a later one that is promised.
 * Must be called before each id whose unit is below sno_feed_bound.
 */
uint64
sno_feed_unit(void)
{
	uint64		now = sno_clock_unit();

	sno_feed_attach();
	if (now < told)
	{
		/* If this raises an error, nothing is reported yet, and the next call tries again. */
		uint64		unit = sno_issuer_begin(&sno_feed_issuers->told[SNO_TOLD_UNIT], &sno_feed->promise, now,
											   sno_clock_unit);

		told = now;
		sno_feed_bound = Min(sno_feed_bound, unit);
		return unit;
	}
	now = sno_promise_now(&sno_feed->promise, now, sno_clock_unit);
	return Max(now, sno_feed_bound);
}

/* The unit in which this statement began.  Counters go on even if the clock is outside of the epoch. */
static uint64
statement_unit(void)
{
	uint64		unit;

	(void) sno_timestamptz_to_unit(GetCurrentStatementStartTimestamp(), &unit);
	return unit;
}

/*
 * Note the next number of a counter, before the transaction reports a tick.  So that number is the
 * watermark if this transaction stays open.  Once per unit is enough, so a session that
 * finds the lock taken goes on without a note.
 */
static void
note_number(const SnoSubject *counter, uint64 next)
{
	SnoFeedCounter *c = sno_feed_find_counter(counter);
	uint64		now;

	if (c == NULL)
		return;
	now = (uint64) sno_clock_monotonic();
	if (now - pg_atomic_read_u64(&c->noted_at) < SNO_UNIT_MSEC * 1000 ||
		!LWLockConditionalAcquire(&sno_feed->lock, LW_EXCLUSIVE))
		return;
	pg_atomic_write_u64(&c->noted_at, now);
	sno_numbers_note(&c->numbers, &sno_feed->ticks, next);
	LWLockRelease(&sno_feed->lock);
}

/*
 * Report a tick, before the transaction draws numbers of counters: first of this one, whose
 * next number is `next`; NULL if its next number isn't known.
 */
void
sno_feed_tell_tick(const SnoSubject *counter, uint64 next)
{
	SnoIssuer  *issuer;

	sno_feed_attach();
	if (ticked_in == sno_feed_transaction)
		return;
	if (counter != NULL)
		note_number(counter, next);
	issuer = &sno_feed_issuers->told[SNO_TOLD_TICK];
	if (sno_issuer_since(issuer) == SNO_NO_UNIT)
		__atomic_store_n(&sno_feed_issuers->tick_unit, statement_unit(), __ATOMIC_RELAXED);
	sno_numbers_begin(issuer, &sno_feed->ticks);
	ticked_in = sno_feed_transaction;
}

/*
 * Move the promise on, because a generator exhausted the unit that sno_feed_unit()
 * returned, or a reader wants to read the ids of that unit.  True if the unit is ahead of
 * the clock, and ids go on in the next one.  This happens once in the time of a unit, so
 * that ids don't get further ahead of the clock.
 */
bool
sno_feed_move_on(uint64 exhausted)
{
	uint64		now = (uint64) sno_clock_monotonic();
	uint64		moved_at = pg_atomic_read_u64(&sno_feed->moved_at);

	if (now - moved_at < SNO_UNIT_MSEC * 1000 || exhausted <= sno_clock_unit())
		return false;
	if (pg_atomic_compare_exchange_u64(&sno_feed->moved_at, &moved_at, now))
		sno_promise_move_on(&sno_feed->promise, exhausted);
	return true;
}

/* Was sno_feed_recall() called since the server started? */
bool
sno_feed_knows_past(void)
{
	bool		known;

	sno_feed_attach();
	known = pg_atomic_read_u32(&sno_feed->past_known) != 0;
	/* The caller reads the promise after this. */
	pg_read_barrier();
	return known;
}

/*
 * Promise the unit that `read` finds in the row on disk.  Before the server started, no watermark was
 * above it.  If the clock was set back since, ids go on in that unit.  Any number of sessions may read
 * the row.  A unit that was read before a reset is not promised after the reset, because the past is
 * known then.
 */
void
sno_feed_recall(uint64 (*read) (void *arg), void *arg)
{
	uint64		unit = read(arg);

	LWLockAcquire(&sno_feed->lock, LW_EXCLUSIVE);
	if (!sno_feed_knows_past())
	{
		(void) sno_promise_make(&sno_feed->promise, unit, sno_clock_unit);
		pg_write_barrier();
		pg_atomic_write_u32(&sno_feed->past_known, 1);
	}
	LWLockRelease(&sno_feed->lock);
}

/* The unit of the highest watermark now. */
uint64
sno_feed_highest(void)
{
	sno_feed_attach();
	return sno_promise_now(&sno_feed->promise, sno_clock_unit(), sno_clock_unit);
}

/* Does a row on disk, in this file, cover watermarks up to the unit? */
bool
sno_feed_is_covered(uint64 unit, RelFileNumber file)
{
	if (sno_feed->file != file)
		return false;
	pg_read_barrier();
	return pg_atomic_read_u64(&sno_feed->covered) >= unit;
}

/*
 * Let `write` write and flush a row that covers the unit, unless another session has done
 * so meanwhile.  The row covers the next second, so this is rare.
 */
void
sno_feed_cover(uint64 unit, RelFileNumber file, void (*write) (uint64 until, void *arg), void *arg)
{
	uint64		until;

	sno_turn_take(&sno_feed->writing, sno_wait_event[SNO_WAITS_FOR_FEED]);
	if (!sno_feed_is_covered(unit, file))
	{
		until = sno_feed_highest();
		until = Max(until, unit) + SNO_COVER_AHEAD;
		until = Min(until, SNO_UNIT_MAX);
		write(until, arg);
		pg_atomic_write_u64(&sno_feed->covered, until);
		pg_write_barrier();
		sno_feed->file = file;
	}
	sno_turn_release(&sno_feed->writing);
}

/* The unit of the clock when a process reported `since` */
static uint64
unit_of(const SnoFeedIssuers *i, SnoTold what, uint64 since)
{
	return what == SNO_TOLD_UNIT ? since : __atomic_load_n(&i->tick_unit, __ATOMIC_RELAXED);
}

/* List this transaction, which is about to be prepared. */
static void
note_prepared(SnoTold what)
{
	uint64		xid = U64FromFullTransactionId(GetTopFullTransactionId());
	uint64		since = sno_issuer_since(&sno_feed_issuers->told[what]);
	uint64		unit = unit_of(sno_feed_issuers, what, since);

	if (since == SNO_NO_UNIT)
		return;
	LWLockAcquire(&sno_feed->lock, LW_EXCLUSIVE);
	sno_prepared_add(&sno_feed->prepared, (SnoPrepared) {.xid = xid,.what = what,.since = since,.unit = unit});
	LWLockRelease(&sno_feed->lock);
	/* A reader that finds the lock must find the transaction in the list. */
	sno_prepared_lock(xid, what, unit);
}

/* Attach, and list the transactions that were prepared before the server started. */
static void
attach_to_read(void)
{
	sno_feed_attach();
	if (sno_feed->prepared.known != 0)
		return;
	LWLockAcquire(&sno_feed->lock, LW_EXCLUSIVE);
	sno_prepared_recall(&sno_feed->prepared);
	LWLockRelease(&sno_feed->lock);
}

pg_noreturn static void
refuse_broken(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("ids were issued below an earlier watermark"),
			 errdetail("The clock was more than an hour behind a watermark."),
			 errhint("Set the system clock right first. Then let the readers of feeds look for rows that they missed, and call sno_reset_watermark(). See doc/feeds.md#clocks.")));
}

/*
 * Raise the error that a watermark would raise now, because an earlier watermark didn't
 * hold, or won't hold as soon as an id is issued.  The row on disk has the unit `promised`.
 */
void
sno_feed_check(uint64 promised)
{
	SnoPromise	promise;

	if (sno_feed_knows_past())
		promised = 0;
	/* Use a copy, so that the promise itself doesn't change. */
	promise = sno_feed->promise;
	promise.unit = Max(promise.unit, promised);
	(void) sno_promise_now(&promise, sno_clock_unit(), sno_clock_unit);
	if (sno_promise_is_broken(&promise))
		refuse_broken();
}

/* The lowest unit or tick of the transactions that the snapshot doesn't show.  The lock is held. */
static uint64
lowest_told(SnoTold what, SnoView *view)
{
	uint64		lowest = SNO_NO_UNIT;
	const SnoFeedIssuers *all = sno_feed->issuers;
	int			count = ProcGlobal->allProcCount;
	uint64		one;

	for (int i = 0; i < count; i++)
	{
		one = sno_issuer_lowest(&all[i].told[what], sno_view_shows, view);
		lowest = Min(lowest, one);
	}
	one = sno_prepared_lowest(&sno_feed->prepared, what, view);
	return Min(lowest, one);
}

/*
 * The watermark for a snapshot: no row that the snapshot doesn't show will appear with
 * an id of an earlier unit, if the transaction that inserts it made the id.  Raises 55000
 * if an earlier watermark didn't hold.
 *
 * The caller has seen that the row covers the present unit (W4).  If TRUNCATE or a rewrite has
 * replaced the file since then, it might as well have come after the watermark: the row is gone
 * in any case, and until the server stops, the promise in memory holds without the row.
 */
uint64
sno_feed_lowest(Snapshot snapshot)
{
	SnoView		view;
	uint64		now = sno_clock_unit();
	uint64		lowest,
				unit;
	bool		broken;

	attach_to_read();
	(void) sno_feed_move_on(sno_promise_now(&sno_feed->promise, now, sno_clock_unit));
	view = sno_view_of(snapshot, &sno_feed->prepared);

	LWLockAcquire(&sno_feed->lock, LW_SHARED);
	lowest = sno_promise_make(&sno_feed->promise, now, sno_clock_unit);
	unit = pg_atomic_read_u64(&sno_feed->covered);
	lowest = Min(lowest, unit);
	unit = lowest_told(SNO_TOLD_UNIT, &view);
	lowest = Min(lowest, unit);
	broken = sno_promise_is_broken(&sno_feed->promise);
	LWLockRelease(&sno_feed->lock);
	if (broken)
		refuse_broken();
	return lowest;
}

/*
 * The watermark of a counter, whose next number is `next` or a higher one by now: no row that
 * the snapshot doesn't show will appear with a lower number, if the transaction that inserts
 * the row drew the number.  0 if nothing is known.
 */
uint64
sno_feed_lowest_number(Snapshot snapshot, const SnoSubject *counter, uint64 next)
{
	SnoView		view;
	SnoFeedCounter *c;
	uint64		lowest;

	attach_to_read();
	view = sno_view_of(snapshot, &sno_feed->prepared);
	LWLockAcquire(&sno_feed->lock, LW_EXCLUSIVE);
	c = sno_feed_have_counter(counter);
	sno_numbers_note(&c->numbers, &sno_feed->ticks, next);
	lowest = sno_numbers_lowest(&c->numbers, lowest_told(SNO_TOLD_TICK, &view));
	LWLockRelease(&sno_feed->lock);
	return lowest;
}

/* Add a transaction, or join its unit and tick if it is listed. */
static void
add_blocker(SnoBlocker *blockers, int *count, SnoBlocker b)
{
	for (int i = 0; i < *count; i++)
		if (blockers[i].pid == b.pid && blockers[i].xid == b.xid)
		{
			blockers[i].since = Min(blockers[i].since, b.since);
			return;
		}
	blockers[(*count)++] = b;
}

/* Leave out prepared transactions that have ended. */
static SnoBlocker *
without_ended(SnoBlocker *blockers, int *count)
{
	int			all = *count;

	*count = 0;
	for (int i = 0; i < all; i++)
		if (blockers[i].pid != 0 || TransactionIdIsInProgress(blockers[i].xid))
			blockers[(*count)++] = blockers[i];
	return blockers;
}

/* The sessions and prepared transactions that keep watermarks from rising. */
SnoBlocker *
sno_feed_blockers(int *count)
{
	SnoBlocker *blockers;
	int			size = ProcGlobal->allProcCount;

	attach_to_read();
	*count = 0;
	LWLockAcquire(&sno_feed->lock, LW_SHARED);
	for (SnoPrepared *p = sno_prepared_at(sno_feed->prepared.first); p != NULL; p = sno_prepared_at(p->next))
		size++;
	blockers = palloc(size * sizeof(SnoBlocker));
	for (int i = 0; i < ProcGlobal->allProcCount; i++)
	{
		const PGPROC *proc = GetPGProcByNumber(i);
		const SnoFeedIssuers *its = &sno_feed->issuers[i];

		for (int what = 0; what < SNO_TOLDS; what++)
		{
			uint64		since = sno_issuer_since(&its->told[what]);

			if (since != SNO_NO_UNIT)
				add_blocker(blockers, count,
							(SnoBlocker) {proc->pid, proc->xid, unit_of(its, what, since)});
		}
	}
	for (SnoPrepared *p = sno_prepared_at(sno_feed->prepared.first); p != NULL; p = sno_prepared_at(p->next))
		add_blocker(blockers, count, (SnoBlocker) {0, (TransactionId) p->xid, p->unit});
	LWLockRelease(&sno_feed->lock);
	return without_ended(blockers, count);
}

/*
 * Let watermarks begin anew from the clock.  Earlier ones don't hold any more.  `forget`
 * resets the row.
 */
void
sno_feed_reset(void (*forget) (void *arg), void *arg)
{
	sno_feed_attach();
	sno_turn_take(&sno_feed->writing, sno_wait_event[SNO_WAITS_FOR_FEED]);
	/* Clear this first: `forget` may be interrupted half-way. */
	pg_atomic_write_u64(&sno_feed->covered, 0);
	forget(arg);
	LWLockAcquire(&sno_feed->lock, LW_EXCLUSIVE);
	sno_promise_forget(&sno_feed->promise);
	pg_atomic_write_u32(&sno_feed->past_known, 1);
	LWLockRelease(&sno_feed->lock);
	sno_turn_release(&sno_feed->writing);
}

static void
end_transaction(uint64 xid)
{
	for (int what = 0; sno_feed_issuers != NULL && what < SNO_TOLDS; what++)
		sno_issuer_end(&sno_feed_issuers->told[what], xid);
}

static void
at_transaction_event(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_PREPARE:
			for (int what = 0; sno_feed_issuers != NULL && what < SNO_TOLDS; what++)
				note_prepared(what);
			return;
		case XACT_EVENT_PRE_COMMIT:
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
	sno_feed_transaction++;
}

/* Called when the library is loaded. */
void
sno_feed_init(void)
{
	RegisterXactCallback(at_transaction_event, NULL);
}
