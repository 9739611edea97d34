/*
 * row.c
 *		Visits the rows of table sno_lease on their pages, and changes them in place.
 *
 * A session writes a row as PostgreSQL's sequence.c writes the row of a sequence: it
 * holds the buffer's exclusive lock, overwrites the row on the page, and logs the change
 * as generic WAL.  The row belongs to no transaction.  So a lease can be taken in a
 * read-only transaction, in a parallel worker, and in the transaction that created the
 * extension.  ROLLBACK doesn't undo the change, and logical decoding doesn't see it.
 *
 * A new row is inserted in the same way, as a frozen tuple.  Such a tuple is visible to
 * all transactions at once, so the page may be marked as all-visible or all-frozen.  The
 * tuple has no xid on which a rollback, VACUUM or a crash could act.
 *
 * leases.c checks the table's definition, so a row can be accessed as a C struct.  A row
 * that SQL has changed isn't overwritten, because its header has the xid of a
 * transaction.
 *
 * Locking: rows are read under the share lock of their buffer, and written under its
 * exclusive lock.  COPY, pg_dump and other readers don't hold a lock on the page while they
 * read the columns, so they may see a row in which some fields are old and others are
 * new.  That is harmless: each field is aligned, and thus either old or new, and
 * tick_until and tock_until are valid limits whatever the other fields are.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/rmgr.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"

#include "catalog/leases.h"
#include "catalog/row.h"

/* The sizes of a tuple that sno_row_insert() makes, whose header has no bitmap of nulls */
#define HEADER_SIZE		MAXALIGN(SizeofHeapTupleHeader)
#define TUPLE_SIZE		(HEADER_SIZE + SNO_ROW_SIZE)

/* Return the row in a tuple for which holds_row() is true. */
static SnoRow *
row_of(HeapTupleHeader tuple)
{
	return (SnoRow *) ((char *) tuple + tuple->t_hoff);
}

static bool
holds_row(HeapTupleHeader tuple, Size length)
{
	return length >= SizeofHeapTupleHeader &&
		HeapTupleHeaderGetNatts(tuple) >= SNO_LEASES_COLUMNS &&
		tuple->t_hoff >= SizeofHeapTupleHeader &&
		tuple->t_hoff == MAXALIGN(tuple->t_hoff) &&
		length >= tuple->t_hoff + SNO_ROW_SIZE;
}

/*
 * Does the row contain a null?  This file doesn't write nulls, but SQL may have written one
 * while a NOT NULL constraint was dropped.
 */
static bool
has_null(HeapTupleHeader tuple)
{
	for (int i = 0; i < SNO_LEASES_COLUMNS && tuple->t_infomask & HEAP_HASNULL; i++)
		if (att_isnull(i, tuple->t_bits))
			return true;
	return false;
}

/*
 * Return the tuple at `offset` of a page, even if it isn't visible.  Returns NULL if there is
 * no tuple, or if the tuple contains a null.  Raises an error if the tuple is damaged.
 */
static HeapTupleHeader
tuple_at(Page page, OffsetNumber offset)
{
	ItemId		item;
	HeapTupleHeader tuple;

	if (offset > PageGetMaxOffsetNumber(page))
		return NULL;
	item = PageGetItemId(page, offset);
	if (!ItemIdIsNormal(item))
		return NULL;
	tuple = (HeapTupleHeader) PageGetItem(page, item);
	if (!holds_row(tuple, ItemIdGetLength(item)))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("a row of table \"%s\" of extension \"sno\" is damaged",
						SNO_LEASES_TABLE),
				 errhint("Find it with verify_heapam() of extension amcheck, delete it and VACUUM the table. See doc/operations.md#trouble.")));
	return has_null(tuple) ? NULL : tuple;
}

/*
 * Was the tuple inserted by a transaction?  If so, it keeps the xid of the transaction, even
 * after VACUUM has frozen the tuple, or the table was rewritten.
 */
static bool
is_by_sql(HeapTupleHeader tuple)
{
	return HeapTupleHeaderGetRawXmin(tuple) != FrozenTransactionId;
}

/* May the tuple be overwritten?  Yes, if no transaction has inserted, changed or deleted it. */
static bool
is_clean(HeapTupleHeader tuple)
{
	return !is_by_sql(tuple) &&
		(tuple->t_infomask & HEAP_XMAX_INVALID ||
		 HEAP_XMAX_IS_LOCKED_ONLY(tuple->t_infomask));
}

static bool
has_room(Page page)
{
	return PageIsNew(page) || PageGetHeapFreeSpace(page) >= MAXALIGN(TUPLE_SIZE);
}

static OffsetNumber
last_offset(Page page)
{
	return PageIsNew(page) ? InvalidOffsetNumber : PageGetMaxOffsetNumber(page);
}

/*
 * Visit every row, including deleted and uncommitted rows.  At worst, such a row keeps a
 * partition from being used.  Returns the first page with room for another row, or the number
 * of pages if no page has room.
 */
BlockNumber
sno_row_visit(Relation rel, SnoRowVisitor visitor, void *arg)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	BlockNumber room = blocks;

	for (BlockNumber block = 0; block < blocks; block++)
	{
		Buffer		buffer = ReadBuffer(rel, block);
		Page		page = BufferGetPage(buffer);

		CHECK_FOR_INTERRUPTS();
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		for (OffsetNumber o = FirstOffsetNumber; o <= last_offset(page); o++)
		{
			HeapTupleHeader tuple = tuple_at(page, o);
			SnoRowPlace place;

			if (tuple == NULL)
				continue;
			ItemPointerSet(&place.tid, block, o);
			place.is_clean = is_clean(tuple);
			place.by_sql = is_by_sql(tuple);
			visitor(row_of(tuple), &place, arg);
		}
		if (room == blocks && has_room(page))
			room = block;
		UnlockReleaseBuffer(buffer);
	}
	return room;
}

/*
 * Is the page as this file writes it, without traces of SQL (see register_page())?  VACUUM removes
 * most traces, but leaves a trace itself: it sets PD_ALL_VISIBLE.
 */
static bool
has_no_trace(Page page)
{
	PageHeader	header = (PageHeader) page;

	if (header->pd_flags != 0 || TransactionIdIsValid(header->pd_prune_xid))
		return false;
	for (OffsetNumber o = FirstOffsetNumber; o <= PageGetMaxOffsetNumber(page); o++)
	{
		ItemId		item = PageGetItemId(page, o);
		HeapTupleHeader tuple;

		if (!ItemIdIsNormal(item) || ItemIdGetLength(item) != TUPLE_SIZE)
			return false;
		tuple = (HeapTupleHeader) PageGetItem(page, item);
		if (!HeapTupleHeaderXminFrozen(tuple) ||
			TransactionIdIsValid(HeapTupleHeaderGetRawXmax(tuple)))
			return false;
	}
	return true;
}

/*
 * Register a locked page for a generic WAL record.  Returns a copy of the page, which the
 * caller changes.
 *
 * SQL leaves traces on a page that aren't in WAL, or aren't replayed: hint bits and
 * command ids of tuples, pd_prune_xid, and flags of the page.  So the page of a standby may
 * differ from the primary's page in these traces.  That does no harm, unless
 * wal_consistency_checking is on.  This setting adds an image of the page to each record,
 * and compares the standby's page with the image after replay.  For heap records it
 * ignores the traces, but for a generic record, a difference stops the standby.  So if the
 * page has traces, we add an image that replay restores, which makes both pages equal again.
 */
static Page
register_page(GenericXLogState *state, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);
	bool		whole = PageIsNew(page) ||
		(wal_consistency_checking[RM_GENERIC_ID] && !has_no_trace(page));

	return GenericXLogRegisterBuffer(state, buffer,
									 whole ? GENERIC_XLOG_FULL_IMAGE : 0);
}

/*
 * Apply the change in `state` to the page, log the change, and release the buffer.
 *
 * We mark the buffer dirty first.  GenericXLogFinish() marks the buffer, too, but in versions
 * 15.0 to 15.4 and 16.0 only after it has inserted the WAL record.  If a checkpoint began between
 * these two steps, recovery would begin after the record, but the checkpoint wouldn't write the
 * page, which isn't dirty yet.  After a crash, recovery wouldn't read the record, and the page on
 * disk would have the old row.  So a published lease would be lost, and its ids issued again.
 *
 * The buffer stays dirty while we hold its exclusive lock, because a page is written out under a
 * lock on its content.  So if recovery is to begin after the record, the checkpoint finds the
 * buffer dirty, waits for the lock, and writes the new row.
 */
static XLogRecPtr
finish_page(GenericXLogState *state, Buffer buffer)
{
	XLogRecPtr	lsn;

	MarkBufferDirty(buffer);
	lsn = GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
	return lsn;
}

/*
 * Call `change` for the row at `tid`.  Returns false if the row is gone, if SQL has changed it,
 * or if `change` returns false.  Otherwise *lsn becomes the end of the WAL record.
 */
bool
sno_row_change(Relation rel, const ItemPointerData *tid, SnoRowChange change,
			   const void *arg, XLogRecPtr *lsn)
{
	Buffer		buffer = ReadBuffer(rel, ItemPointerGetBlockNumber(tid));
	GenericXLogState *state;
	HeapTupleHeader tuple;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(rel);
	tuple = tuple_at(register_page(state, buffer), ItemPointerGetOffsetNumber(tid));
	if (tuple == NULL || !is_clean(tuple) || !change(row_of(tuple), arg))
	{
		GenericXLogAbort(state);
		UnlockReleaseBuffer(buffer);
		return false;
	}
	*lsn = finish_page(state, buffer);
	return true;
}

/*
 * Call `change` for all rows of a page.  Returns the end of the WAL record.  If no row was
 * changed, there is no record, and InvalidXLogRecPtr is returned.  The page must get no LSN
 * then, because an uninitialized page with an LSN would be invalid.
 */
static XLogRecPtr
change_page(Relation rel, BlockNumber block, SnoRowChange change)
{
	Buffer		buffer = ReadBuffer(rel, block);
	GenericXLogState *state;
	Page		page;
	bool		changed = false;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(rel);
	page = register_page(state, buffer);
	for (OffsetNumber o = FirstOffsetNumber; o <= last_offset(page); o++)
	{
		HeapTupleHeader tuple = tuple_at(page, o);

		if (tuple != NULL && change(row_of(tuple), NULL))
			changed = true;
	}
	if (changed)
		return finish_page(state, buffer);
	GenericXLogAbort(state);
	UnlockReleaseBuffer(buffer);
	return InvalidXLogRecPtr;
}

/*
 * Call `change` for all rows, including rows that SQL has changed.  Returns the end of the last
 * WAL record.
 */
XLogRecPtr
sno_row_change_all(Relation rel, SnoRowChange change)
{
	XLogRecPtr	lsn = InvalidXLogRecPtr;
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);

	for (BlockNumber block = 0; block < blocks; block++)
	{
		XLogRecPtr	end = change_page(rel, block, change);

		lsn = Max(lsn, end);
	}
	return lsn;
}

/*
 * Return the buffer of a page with room for a row, pinned and exclusively locked.  The search
 * begins at `block`, and extends the table if necessary.
 */
static Buffer
page_with_room(Relation rel, BlockNumber block)
{
	for (;; block++)
	{
		Buffer		buffer;

		if (block < RelationGetNumberOfBlocks(rel))
			buffer = ReadBuffer(rel, block);
		else
		{
			LockRelationForExtension(rel, ExclusiveLock);
			buffer = ReadBuffer(rel, P_NEW);
			UnlockRelationForExtension(rel, ExclusiveLock);
			block = BufferGetBlockNumber(buffer);
		}
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		if (has_room(BufferGetPage(buffer)))
			return buffer;
		UnlockReleaseBuffer(buffer);
	}
}

/*
 * Insert a row as a frozen tuple, on page `block` or on a later page.  Returns the end of the
 * WAL record.
 */
XLogRecPtr
sno_row_insert(Relation rel, BlockNumber block, const SnoRow *row)
{
	HeapTupleHeader tuple = palloc0(TUPLE_SIZE);
	Buffer		buffer = page_with_room(rel, block);
	GenericXLogState *state = GenericXLogStart(rel);
	Page		page;
	OffsetNumber offset;

	HeapTupleHeaderSetNatts(tuple, SNO_LEASES_COLUMNS);
	tuple->t_hoff = HEADER_SIZE;
	HeapTupleHeaderSetXmin(tuple, FrozenTransactionId);
	HeapTupleHeaderSetXminFrozen(tuple);
	HeapTupleHeaderSetCmin(tuple, FirstCommandId);
	HeapTupleHeaderSetXmax(tuple, InvalidTransactionId);
	tuple->t_infomask |= HEAP_XMAX_INVALID;
	memcpy(row_of(tuple), row, SNO_ROW_SIZE);

	page = register_page(state, buffer);
	if (PageIsNew(page))
		PageInit(page, BufferGetPageSize(buffer), 0);
	offset = PageAddItem(page, (char *) tuple, TUPLE_SIZE, InvalidOffsetNumber,
						 false, true);
	if (offset == InvalidOffsetNumber)
		elog(ERROR, "could not add a row to table \"%s\"", SNO_LEASES_TABLE);
	tuple = (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, offset));
	ItemPointerSet(&tuple->t_ctid, BufferGetBlockNumber(buffer), offset);
	return finish_page(state, buffer);
}
