/*
 * issuer.c
 *		The protocol of watermarks; src/README.md states its rules W1 to W5.
 */
#include "core/issuer.h"

/* Raise *unit to at least `to`, and return its new value. */
static uint64_t
lift(SnoAtomic *unit, uint64_t to)
{
	uint64_t	was = __atomic_load_n(unit, __ATOMIC_SEQ_CST);

	while (was < to)
		if (__atomic_compare_exchange_n(unit, &was, to, false,
										__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return to;
	return was;
}

/*
 * Return the unit in which to issue ids at `now`: `now` itself, or the promised unit if that
 * is later.  If the promised unit is more than SNO_PROMISE_AHEAD units later, this function
 * breaks the promise, and returns `now`.  Without this limit, after one wrong reading of the
 * clock, the times of all later ids could be far in the future.  The promise is marked as broken
 * before an id of an earlier unit is issued.
 *
 * The caller may have been stopped since it read `now`, even for an hour.  So the clock is
 * read again before a promise is broken.
 */
uint64_t
sno_promise_now(SnoPromise *promise, uint64_t now, SnoClock clock)
{
	uint64_t	promised = __atomic_load_n(&promise->unit, __ATOMIC_SEQ_CST);

	if (promised > now && promised - now > SNO_PROMISE_AHEAD)
		now = clock();
	if (promised <= now)
		return now;
	if (promised - now <= SNO_PROMISE_AHEAD)
		return promised;
	__atomic_store_n(&promise->broken, 1, __ATOMIC_SEQ_CST);
	return now;
}

/*
 * Announce the unit `now`.  Call this when the issuer's transaction begins to issue, and again
 * when the clock has fallen behind the announced unit (W1).  Returns the first unit whose ids the
 * transaction may issue.  The store of the announced unit and the load of the promise are
 * sequentially consistent, like the accesses in sno_promise_make() (W2).  Parallel workers share
 * their leader's issuer, so several processes may announce a unit at the same time.
 */
uint64_t
sno_issuer_begin(SnoIssuer *issuer, SnoPromise *promise, uint64_t now, SnoClock clock)
{
	uint64_t	since = __atomic_load_n(&issuer->since, __ATOMIC_SEQ_CST);

	SNO_DELAY();
	/* 0 means that the transaction doesn't issue, so announce unit 1 instead of unit 0. */
	now = now == 0 ? 1 : now;
	while (since == 0 || since > now)
		if (__atomic_compare_exchange_n(&issuer->since, &since, now, false,
										__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			break;
	SNO_DELAY();
	return sno_promise_now(promise, now, clock);
}

/*
 * End the announcement of the issuer's transaction.  If `xid` isn't 0, remember it with the
 * announced unit.  `xid` is 0 if the transaction wrote nothing, was aborted, or is listed as a
 * prepared transaction.  Only the issuer's owner calls this, and only while the owner has no
 * parallel workers.
 */
void
sno_issuer_end(SnoIssuer *issuer, uint64_t xid)
{
	uint64_t	since = __atomic_load_n(&issuer->since, __ATOMIC_RELAXED);
	uint64_t	ended = __atomic_load_n(&issuer->ended, __ATOMIC_RELAXED);
	SnoEnded   *last = &issuer->memory[(ended - 1) % SNO_ISSUER_MEMORY];

	if (since == 0)
		return;
	if (xid != 0 && ended > 0 && __atomic_load_n(&last->since, __ATOMIC_RELAXED) == since)
		__atomic_store_n(&last->xid, xid, __ATOMIC_RELEASE);
	else if (xid != 0)
	{
		SnoEnded   *next = &issuer->memory[ended % SNO_ISSUER_MEMORY];

		__atomic_store_n(&next->xid, xid, __ATOMIC_RELEASE);
		__atomic_store_n(&next->since, since, __ATOMIC_RELEASE);
		__atomic_store_n(&issuer->ended, ended + 1, __ATOMIC_RELEASE);
	}
	SNO_DELAY();
	__atomic_store_n(&issuer->since, 0, __ATOMIC_RELEASE);
}

/* Return the unit from which the issuer's transaction issues, or SNO_NO_UNIT if it doesn't issue. */
uint64_t
sno_issuer_since(const SnoIssuer *issuer)
{
	uint64_t	since = __atomic_load_n(&issuer->since, __ATOMIC_SEQ_CST);

	return since == 0 ? SNO_NO_UNIT : since;
}

/*
 * Return the lowest unit that the issuer announced for transactions that a snapshot doesn't
 * show.  Returns SNO_NO_UNIT if the snapshot shows all transactions, and 0 if the issuer has
 * forgotten the unit (W5).  `shows` returns true if the snapshot shows a transaction; the
 * snapshot then also shows all earlier transactions of this issuer.  Call this function after
 * sno_promise_make().
 *
 * The announcement is read first, because at the end of a transaction, the owner adds the
 * transaction to the memory before it clears the announcement (W3).  While the memory is read,
 * the owner may overwrite the oldest entry, so this entry isn't used.
 */
uint64_t
sno_issuer_lowest(const SnoIssuer *issuer, bool (*shows) (uint64_t xid, void *arg),
				  void *arg)
{
	uint64_t	lowest = sno_issuer_since(issuer);
	uint64_t	ended;

	SNO_DELAY();
	ended = __atomic_load_n(&issuer->ended, __ATOMIC_ACQUIRE);
	for (uint64_t i = ended; i > 0; i--)
	{
		const SnoEnded *one = &issuer->memory[(i - 1) % SNO_ISSUER_MEMORY];
		uint64_t	xid = __atomic_load_n(&one->xid, __ATOMIC_ACQUIRE);
		uint64_t	since = __atomic_load_n(&one->since, __ATOMIC_ACQUIRE);

		if (__atomic_load_n(&issuer->ended, __ATOMIC_RELAXED) - (i - 1) >= SNO_ISSUER_MEMORY)
			return 0;
		if (shows(xid, arg))
			break;
		lowest = since < lowest ? since : lowest;
	}
	return lowest;
}

/*
 * Promise that no transaction begins to issue before `now`.  Returns the promised unit, which
 * is `now` or a later unit.  Call this before you read the issuers.
 */
uint64_t
sno_promise_make(SnoPromise *promise, uint64_t now, SnoClock clock)
{
	uint64_t	promised = lift(&promise->unit, now);

	if (promised > now)
		(void) sno_promise_now(promise, now, clock);
	SNO_DELAY();
	return promised;
}

/*
 * Promise the unit after `exhausted`.  Call this when a generator has exhausted a promised
 * unit that is ahead of the clock, because waiting for the clock would take a long time.
 */
void
sno_promise_move_on(SnoPromise *promise, uint64_t exhausted)
{
	if (exhausted < SNO_UNIT_MAX)
		(void) lift(&promise->unit, exhausted + 1);
}

/* Was the promise broken?  Call this after you read the issuers. */
bool
sno_promise_is_broken(const SnoPromise *promise)
{
	return __atomic_load_n(&promise->broken, __ATOMIC_SEQ_CST) != 0;
}

/* Forget the promise to all readers.  No reader may compute a watermark at this time. */
void
sno_promise_forget(SnoPromise *promise)
{
	__atomic_store_n(&promise->unit, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&promise->broken, 0, __ATOMIC_SEQ_CST);
}
