/*
 * prepared.c
 *		Prepared transactions that issued ids, for readers of feeds.
 *
 * A transaction enters a list before it is prepared, and stays there until all snapshots show
 * it.  After a crash or a promotion, a lock shows the transaction.  PREPARE writes that lock
 * to disk with the transaction, and COMMIT PREPARED releases it.  Nobody waits for the lock.
 * It is an advisory lock of the database, whose tag has the xid and the unit.  The last field
 * of the tag marks it as ours: the functions for advisory locks set that field to 1 or 2.  A
 * transaction that reported a tick (core/numbers.h) has another entry and another lock for the
 * tick.  Ticks don't outlive the server, so the tag has the clock's unit, which is for people.
 *
 * Locking: the caller holds the feed's lock, in exclusive mode to change the list.  Nothing
 * under the lock reads pg_xact or pg_subtrans, which may be on disk.
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "core/issuer.h"
#include "shared/prepared.h"
#include "shared/shmem.h"

/* The mark of a lock's tag, in a field that also has the SnoTold and the 7 highest bits of a unit */
#define TAG_MARK	0xA700
#define TAG_TOLD	7			/* the lowest bit of the SnoTold */

static void
set_tag(LOCKTAG *tag, TransactionId xid, SnoTold what, uint64 unit)
{
	SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId, xid, (uint32) unit,
						 (uint16) (TAG_MARK | what << TAG_TOLD | unit >> 32));
}

/* Read the tag of a lock; false if it isn't one of ours, of this database. */
static bool
read_tag(const LOCKTAG *tag, TransactionId *xid, SnoTold *what, uint64 *unit)
{
	LOCKTAG		same;

	*xid = tag->locktag_field2;
	*what = tag->locktag_field4 >> TAG_TOLD & 1;
	*unit = (uint64) (tag->locktag_field4 & 0x7F) << 32 | tag->locktag_field3;
	set_tag(&same, *xid, *what, *unit);
	return memcmp(&same, tag, sizeof(LOCKTAG)) == 0;
}

/* Take the lock that shows this transaction, which is about to be prepared. */
void
sno_prepared_lock(uint64 xid, SnoTold what, uint64 unit)
{
	LOCKTAG		tag;

	set_tag(&tag, (TransactionId) xid, what, unit);
	(void) LockAcquire(&tag, ShareLock, false, false);
}

/* An element of a list, NULL at its end. */
SnoPrepared *
sno_prepared_at(dsa_pointer place)
{
	return DsaPointerIsValid(place) ? dsa_get_address(sno_area, place) : NULL;
}

static bool
is_listed(const SnoPreparedList *list, TransactionId xid, SnoTold what)
{
	for (SnoPrepared *p = sno_prepared_at(list->first); p != NULL; p = sno_prepared_at(p->next))
		if ((TransactionId) p->xid == xid && p->what == what)
			return true;
	return false;
}

static void
add(SnoPreparedList *list, SnoPrepared prepared)
{
	dsa_pointer place;

	/* A transaction that was prepared since the server started is listed before its lock is found. */
	if (is_listed(list, (TransactionId) prepared.xid, prepared.what))
		return;
	place = dsa_allocate(sno_area, sizeof(SnoPrepared));
	prepared.next = list->first;
	*sno_prepared_at(place) = prepared;
	list->first = place;
}

static void
remove_at(dsa_pointer *place)
{
	dsa_pointer this = *place;

	*place = sno_prepared_at(this)->next;
	dsa_free(sno_area, this);
}

/*
 * Remove transactions from the list that all snapshots show.  Slots for logical replication don't
 * matter for that: they only hold back VACUUM of catalogs.
 */
static void
forget_shown(SnoPreparedList *list)
{
	TransactionId oldest,
				catalog;
	dsa_pointer *place = &list->first;
	SnoPrepared *p;

	GetReplicationHorizons(&oldest, &catalog);
	while ((p = sno_prepared_at(*place)) != NULL)
	{
		if (TransactionIdPrecedes((TransactionId) p->xid, oldest))
			remove_at(place);
		else
			place = &p->next;
	}
}

/* List a transaction that is about to be prepared. */
void
sno_prepared_add(SnoPreparedList *list, SnoPrepared prepared)
{
	forget_shown(list);
	add(list, prepared);
}

/* Forget all of a database that is gone. */
void
sno_prepared_clear(SnoPreparedList *list)
{
	while (DsaPointerIsValid(list->first))
		remove_at(&list->first);
	list->known = 0;
}

/* The xid of a prepared transaction, in 64 bits. */
static uint64
full_xid(TransactionId xid)
{
	uint64		next = U64FromFullTransactionId(ReadNextFullTransactionId());

	return next - (uint32) ((uint32) next - xid);
}

/*
 * List the transactions that were prepared before the server started, unless they are
 * listed.  Transactions that have ended are unknown.
 */
void
sno_prepared_recall(SnoPreparedList *list)
{
	LockData   *locks;

	if (list->known != 0)
		return;
	locks = GetLockStatusData();
	for (int i = 0; i < locks->nelements; i++)
	{
		TransactionId xid;
		SnoTold		what;
		uint64		unit;

		if (read_tag(&locks->locks[i].locktag, &xid, &what, &unit))
			add(list, (SnoPrepared) {
				.xid = full_xid(xid),.what = what,.since = what == SNO_TOLD_UNIT ? unit : 0,.unit = unit
			});
	}
	list->known = U64FromFullTransactionId(ReadNextFullTransactionId());
}

/* Was the snapshot taken before all of the list was known? */
static bool
is_earlier(Snapshot snapshot, const SnoPreparedList *list)
{
	return list->known != 0 && !TransactionIdFollowsOrEquals(snapshot->xmin, (TransactionId) list->known);
}

/*
 * How a snapshot shows transactions, once the list is known; in the current memory context.
 * No lock is held.  A transaction that runs now, and isn't in the known list, wasn't prepared
 * before the server started.
 */
SnoView
sno_view_of(Snapshot snapshot, const SnoPreparedList *list)
{
	SnoView		view = {.snapshot = snapshot,.next = U64FromFullTransactionId(ReadNextFullTransactionId())};

	if (!is_earlier(snapshot, list))
		return view;
	view.ended = palloc(snapshot->xcnt * sizeof(TransactionId));
	for (uint32 i = 0; i < snapshot->xcnt; i++)
	{
		TransactionId xid = snapshot->xip[i];

		if (TransactionIdPrecedes(xid, (TransactionId) list->known) && !TransactionIdIsInProgress(xid))
			view.ended[view.ended_count++] = xid;
	}
	return view;
}

/* Like XidInMVCCSnapshot(), but doesn't look for parents: our xids have none. */
static bool
is_hidden(TransactionId xid, Snapshot snapshot)
{
	bool		in_recovery = snapshot->takenDuringRecovery;
	const TransactionId *running = in_recovery ? snapshot->subxip : snapshot->xip;
	int			count = in_recovery ? snapshot->subxcnt : (int) snapshot->xcnt;

	if (TransactionIdPrecedes(xid, snapshot->xmin))
		return false;
	if (TransactionIdFollowsOrEquals(xid, snapshot->xmax))
		return true;
	for (int i = 0; i < count; i++)
		if (running[i] == xid)
			return true;
	return false;
}

/* Does the snapshot show a transaction? */
bool
sno_view_shows(uint64 xid, void *view)
{
	const SnoView *v = view;

	/* The xid is too old to be compared. */
	if (xid + PG_INT32_MAX < v->next)
		return true;
	return !is_hidden((TransactionId) xid, v->snapshot);
}

/*
 * May a transaction that was running when the snapshot was taken have been prepared before
 * the server started, and have ended before the list was made?
 */
static bool
may_miss(const SnoPreparedList *list, SnoTold what, const SnoView *view)
{
	if (!is_earlier(view->snapshot, list))
		return false;
	if (view->snapshot->takenDuringRecovery)
		return true;
	for (int i = 0; i < view->ended_count; i++)
		if (!is_listed(list, view->ended[i], what))
			return true;
	return false;
}

/*
 * The lowest unit or tick of the prepared transactions that the snapshot doesn't show, 0 if that
 * isn't known.
 */
uint64
sno_prepared_lowest(const SnoPreparedList *list, SnoTold what, SnoView *view)
{
	uint64		lowest = SNO_NO_UNIT;

	if (may_miss(list, what, view))
		return 0;
	for (SnoPrepared *p = sno_prepared_at(list->first); p != NULL; p = sno_prepared_at(p->next))
		if (p->what == what && !sno_view_shows(p->xid, view))
			lowest = Min(lowest, p->since);
	return lowest;
}
