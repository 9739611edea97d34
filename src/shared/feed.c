/*
 * feed.c
 *		The protocol between transactions that issue ids and readers of feeds.
 *
 * A feed is the state of a database's watermarks in shared memory.  A reader is a session that
 * computes a watermark.  A reader must know the lowest unit in which a running transaction issues
 * ids.  So before its first id, each transaction announces the unit from which it issues, in the
 * issuer of its process (core/issuer.h).  A reader first promises a unit, before which no
 * transaction begins to issue, and then looks at the issuers of all processes.
 *
 * The numbers of counters have no unit.  So before a transaction draws numbers, it announces a
 * tick of a logical clock, in a second issuer.  Readers, and sometimes transactions, make notes
 * of the next number of a counter (core/numbers.h).
 *
 * A parallel worker issues ids for its leader's transaction, so the worker uses the issuers of
 * the leader.  When the transaction ends, the leader ends the announcements, even if only workers
 * issued ids.
 *
 * A prepared transaction issues no more ids, but snapshots don't show its rows before it is
 * committed.  So PREPARE TRANSACTION adds the transaction to the feed's list of prepared
 * transactions before the announcements end.  The transaction stays in the list until all
 * snapshots show it (prepared.c).
 *
 * The feed has a row in sno_lease, with a unit that no watermark exceeds.  The first session that
 * issues an id or computes a watermark after a start of the server reads this row, and promises
 * its unit again.  So a promise outlives the server.  A session that writes the row stores a unit
 * that is a second ahead of the highest possible watermark.  So the row covers all watermarks of
 * the next second.
 *
 * Locking: the issuers, the promise and the ticks are atomic.  The lock of the feed protects the
 * list of prepared transactions and the notes of counters.  It is also held to set `past_known`, a
 * flag that shows that the row was read since the server started.  A transaction that announces a
 * tick doesn't wait for the lock.  A reader holds the lock while it looks at the issuers and at
 * the list, in exclusive mode if it makes a note, and otherwise in shared mode.  So the reader
 * finds a transaction that moves from its issuers to the list, and no promise is forgotten
 * meanwhile.  No work under the lock takes a long time: functions of PostgreSQL that may read
 * files are called before the lock is taken, or after it is released.  The row is written by the
 * session that has the turn `writing` (turn.c).
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

/* How far the row's unit is ahead of the highest possible watermark: a second */
#ifndef SNO_COVER_AHEAD			/* a model uses 0 */
#define SNO_COVER_AHEAD	SNO_UNITS_PER_SEC
#endif

uint64		sno_feed_bound = SNO_NO_UNIT;
uint64		sno_feed_transaction = 1;

/* The unit that this process announced for its transaction, or SNO_NO_UNIT */
static uint64 told = SNO_NO_UNIT;

/* The number (sno_feed_transaction) of the transaction in which this process last announced a tick */
static uint64 ticked_in;

/*
 * Return the unit in which to issue now: the clock's unit, or the promised unit if that is later.
 * The first call of a transaction announces this unit, and so does a call that finds an earlier
 * unit than the announced one (W1).  Call this before you issue an id of a unit below sno_feed_bound.
 */
uint64
sno_feed_unit(void)
{
	uint64		now;

	sno_feed_attach();
	now = sno_promise_now(&sno_feed->promise, sno_clock_unit(), sno_clock_unit);
	if (now < told)
	{
		/* If this raises an error, `told` is unchanged, so the next call announces the unit again. */
		uint64		unit = sno_issuer_begin(&sno_feed_issuers->told[SNO_TOLD_UNIT], &sno_feed->promise, now,
											   sno_clock_unit);

		told = now;
		sno_feed_bound = Min(sno_feed_bound, unit);
		return unit;
	}
	return Max(now, sno_feed_bound);
}

/*
 * Return the unit in which this statement began.  If the clock is outside the time range of ids,
 * return the nearest unit: counters issue numbers in this case, too.
 */
static uint64
statement_unit(void)
{
	uint64		unit;

	(void) sno_timestamptz_to_unit(GetCurrentStatementStartTimestamp(), &unit);
	return unit;
}

/*
 * Make a note of a counter's next number, before the transaction announces a tick.  If the
 * transaction stays open for a long time, it then holds the counter's watermark at this number,
 * and not at an earlier one.  Makes no note if a transaction last made a note less than a unit
 * (4 ms) ago, or if another session holds the lock.
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
 * Announce a tick, unless this process has announced one in this transaction.  Call this before
 * the transaction draws numbers of counters.  `counter` is the first counter from which it draws,
 * and `next` is the next number of this counter.  `counter` is NULL if that number isn't known.
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
 * Promise the unit after `exhausted`.  This is called when a generator has exhausted the unit
 * `exhausted`, and when a reader is about to read the ids of `exhausted`.  Returns false, and
 * promises nothing, if `exhausted` isn't ahead of the clock, or if the promise was moved less than
 * a unit (4 ms) ago.  Because of the second condition, the promise isn't faster than the clock.
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

/*
 * Promise the unit after the clock's unit, for a reader that waits for rows of the clock's unit.
 * Until the clock enters the promised unit, at most 4 ms later, ids are ahead of the clock.  Returns
 * false if the promise is ahead of the clock already.
 */
bool
sno_feed_hasten(void)
{
	uint64		now = sno_clock_unit();

	if (sno_promise_now(&sno_feed->promise, now, sno_clock_unit) > now)
		return false;
	/* Keep sno_feed_move_on() from moving the promise before the clock has reached it. */
	pg_atomic_write_u64(&sno_feed->moved_at, (uint64) sno_clock_monotonic());
	sno_promise_move_on(&sno_feed->promise, now);
	return true;
}

/* Since the server started, was the unit of the feed's row promised, or were watermarks reset? */
bool
sno_feed_knows_past(void)
{
	bool		known;

	sno_feed_attach();
	known = pg_atomic_read_u32(&sno_feed->past_known) != 0;
	/* Read the flag before the caller reads the promise. */
	pg_read_barrier();
	return known;
}

/*
 * Promise the unit that `read` reads from the feed's row on disk, if no session has done so since
 * the server started.  No watermark that was returned before the start is above this unit.  If
 * the clock was set back since then, ids are issued in this unit.  Several sessions may read the
 * row at the same time, and the first one of them makes the promise.  If a session resets
 * watermarks after the row was read, the unit of the row isn't promised, because the reset sets
 * `past_known`.
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

/* Return the unit of the highest watermark that is possible now. */
uint64
sno_feed_highest(void)
{
	sno_feed_attach();
	return sno_promise_now(&sno_feed->promise, sno_clock_unit(), sno_clock_unit);
}

/* Does the feed's row, in this file of sno_lease, cover watermarks up to the unit? */
bool
sno_feed_is_covered(uint64 unit, RelFileNumber file)
{
	if (sno_feed->file != file)
		return false;
	pg_read_barrier();
	return pg_atomic_read_u64(&sno_feed->covered) >= unit;
}

/*
 * Call `write` to write and flush a row that covers the unit, unless another session has written
 * such a row meanwhile.
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

/* Return the clock's unit at the time when a process announced `since`, which is a unit or a tick. */
static uint64
unit_of(const SnoFeedIssuers *i, SnoTold what, uint64 since)
{
	return what == SNO_TOLD_UNIT ? since : __atomic_load_n(&i->tick_unit, __ATOMIC_RELAXED);
}

/*
 * Add this transaction, which is about to be prepared, to the feed's list of prepared
 * transactions, if it announced a unit or a tick.
 */
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
	/*
	 * Take the transaction's lock (prepared.c) after the transaction was listed: a session that
	 * finds this lock must also find the list entry.
	 */
	sno_prepared_lock(xid, what, unit);
}

/* Attach to the feed, and list the transactions that were prepared before the server started. */
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
 * Raise the error that a reader would get now, if an id was issued below an earlier watermark, or
 * if the next id will be below such a watermark.  `promised` is the unit of the feed's row on
 * disk.  It matters only if no session has promised this unit since the server started.
 */
void
sno_feed_check(uint64 promised)
{
	SnoPromise	promise;

	if (sno_feed_knows_past())
		promised = 0;
	/* Check a copy of the promise, because sno_promise_now() may mark the promise as broken. */
	promise = sno_feed->promise;
	promise.unit = Max(promise.unit, promised);
	(void) sno_promise_now(&promise, sno_clock_unit(), sno_clock_unit);
	if (sno_promise_is_broken(&promise))
		refuse_broken();
}

/*
 * Return the lowest unit or tick that was announced by a transaction that the snapshot doesn't
 * show.  The caller holds the lock.
 */
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
 * Return the watermark for a snapshot, as a unit.  A row that the snapshot doesn't show has no id
 * of a unit before the watermark, provided that the transaction that inserts the row issues the
 * id.  Raises 55000 if ids were issued below an earlier watermark.
 *
 * The caller has checked that the feed's row covers the present unit (W4).  Since that check,
 * TRUNCATE or a rewrite may have replaced the file of sno_lease, and removed the row.  This does
 * no harm: until the server stops, the promise in memory holds without the row.  A check here
 * wouldn't help, because the row can also be removed after the watermark is returned.
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
 * Return the watermark of a counter for a snapshot, as a number.  A row that the snapshot doesn't
 * show has no number below the watermark, provided that the transaction that inserts the row draws
 * the number.  `next` is the counter's next number as the caller has read it; by now, the next
 * number may be higher.  Returns 0 if no watermark is known.
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

/*
 * Add a transaction to an array of blockers.  If it is in the array already, because it announced
 * both a unit and a tick, keep the lower one of the two values of `since`.
 */
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

/* Remove the prepared transactions that have ended from an array of blockers. */
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

/* Return an array of the sessions and prepared transactions that keep watermarks from rising. */
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
 * Let watermarks begin again at the clock's unit.  Readers can't rely on earlier watermarks any
 * more.  `forget` resets all rows of the feed, including other holders' rows.
 */
void
sno_feed_reset(void (*forget) (void *arg), void *arg)
{
	sno_feed_attach();
	sno_turn_take(&sno_feed->writing, sno_wait_event[SNO_WAITS_FOR_FEED]);
	/*
	 * Clear `covered` first, because `forget` may be interrupted when it has changed only some
	 * rows.
	 */
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
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			return;
		case XACT_EVENT_COMMIT:
			end_transaction(U64FromFullTransactionId(GetTopFullTransactionIdIfAny()));
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			end_transaction(0);
			break;
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			break;
	}
	told = sno_feed_bound = SNO_NO_UNIT;
	sno_feed_transaction++;
	sno_wake_readers(event == XACT_EVENT_COMMIT);
}

/* This is called when the library is loaded. */
void
sno_feed_init(void)
{
	RegisterXactCallback(at_transaction_event, NULL);
}
