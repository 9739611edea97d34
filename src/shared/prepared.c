/*
 * prepared.c
 *		Prepared transactions that issued ids, for readers of feeds.
 *
 * A transaction that issued ids is added to a list before it is prepared, and stays in the list
 * until all snapshots show it.  After a crash or a promotion, the list is made again from
 * heavyweight locks: before a transaction is prepared, it takes a lock, which PREPARE TRANSACTION
 * writes to disk with the transaction, and which COMMIT PREPARED releases.  No session waits for
 * this lock.  It is an advisory lock, and its tag contains the OID of the database, the xid, and
 * the unit that the transaction announced.  The last field of the tag marks the lock as ours: it
 * has other values than 1 and 2, which the SQL functions for advisory locks use.
 *
 * A tick that a transaction announced (core/numbers.h) has an entry of its own in the list, and a
 * lock of its own.  Ticks don't outlive the server, so the tag of this lock doesn't contain the
 * tick.  It contains the clock's unit at the announcement, which sno_watermark_blockers() shows.
 *
 * Locking: the caller of a function that uses the list holds the feed's lock, in exclusive mode
 * if the function changes the list.  No function that is called under the lock reads pg_xact or
 * pg_subtrans, which may be on disk.
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

/*
 * The mark in the last field of a tag.  The field also contains the SnoTold, and the 7 highest
 * bits of the unit.
 */
#define TAG_MARK	0xA700
#define TAG_TOLD	7			/* number of the bit that contains the SnoTold */

static void
set_tag(LOCKTAG *tag, TransactionId xid, SnoTold what, uint64 unit)
{
	SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId, xid, (uint32) unit,
						 (uint16) (TAG_MARK | what << TAG_TOLD | unit >> 32));
}

/* Read the tag of a lock.  Returns false if the lock isn't one of ours in this database. */
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

/* Take the lock for this transaction, which is about to be prepared. */
void
sno_prepared_lock(uint64 xid, SnoTold what, uint64 unit)
{
	LOCKTAG		tag;

	set_tag(&tag, (TransactionId) xid, what, unit);
	(void) LockAcquire(&tag, ShareLock, false, false);
}

/* Return an element of a list, or NULL at the end of the list. */
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

	/*
	 * A transaction that was prepared since the server started is in the list already, when its
	 * lock is found.
	 */
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
 * Remove from the list the transactions that all snapshots show.  The horizon of catalogs doesn't
 * matter: slots for logical replication hold it back, but only for VACUUM of catalogs.
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

/* Add a transaction to the list, before it is prepared. */
void
sno_prepared_add(SnoPreparedList *list, SnoPrepared prepared)
{
	forget_shown(list);
	add(list, prepared);
}

/* Forget all prepared transactions of a database that doesn't exist any more. */
void
sno_prepared_clear(SnoPreparedList *list)
{
	while (DsaPointerIsValid(list->first))
		remove_at(&list->first);
	list->known = 0;
}

/* Return the 64-bit xid of a prepared transaction. */
static uint64
full_xid(TransactionId xid)
{
	uint64		next = U64FromFullTransactionId(ReadNextFullTransactionId());

	return next - (uint32) ((uint32) next - xid);
}

/*
 * Add to the list the transactions that were prepared before the server started, unless this was
 * done before.  If one of them has ended since then, it has no lock any more, so it isn't found.
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

/* May the snapshot have been taken before the list was complete?  Then all xids that it shows are lower. */
static bool
is_earlier(Snapshot snapshot, const SnoPreparedList *list)
{
	return list->known != 0 && !TransactionIdPrecedes((TransactionId) list->known, snapshot->xmax);
}

/*
 * Return information about the transactions that a snapshot shows, in the current memory context.
 * The list must be complete.  The caller holds no lock, because this may read pg_subtrans.
 *
 * The information includes the transactions that ran when the snapshot was taken, and have ended
 * since then.  A transaction that still runs isn't included: if it was prepared before the server
 * started, its lock was found, and it is in the list.
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

/*
 * Does the snapshot hide a transaction?  This is like XidInMVCCSnapshot(), but doesn't search for
 * parents of subtransactions, because all xids of issuers and of the list are xids of top-level
 * transactions.
 */
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

/* Does the snapshot of a view show a transaction? */
bool
sno_view_shows(uint64_t xid, void *view)
{
	const SnoView *v = view;

	/* An xid that is too old to be compared by its 32 bits is visible to every snapshot. */
	if (xid + PG_INT32_MAX < v->next)
		return true;
	return !is_hidden((TransactionId) xid, v->snapshot);
}

/*
 * May the list lack a transaction that the snapshot doesn't show?  Such a transaction was
 * prepared before the server started, and ended after the snapshot was taken, but before the list
 * was complete.
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
 * Return the lowest unit or tick of the prepared transactions that the snapshot doesn't show.
 * Returns 0 if the lowest one isn't known.
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
