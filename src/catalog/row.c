/*
 * row.c
 *		The rows of table sno_lease, read and written in place.
 *
 * A session writes a row as sequence.c writes a sequence: it overwrites the row on
 * its page under the buffer's exclusive lock, and logs that by generic WAL.  The
 * row belongs to no transaction.  So a lease can be taken in a read-only
 * transaction, in a parallel worker, and in the transaction that created the
 * extension.  ROLLBACK doesn't undo it, and logical decoding doesn't see it.
 *
 * A new row is inserted in the same way, as a frozen tuple.  It is visible to all
 * transactions at once, which is required on a page marked as all-visible or
 * all-frozen, and it has no xid that a rollback, VACUUM or a crash could act on.
 *
 * leases.c checks the table's definition, so a row is a C struct.  A row that SQL has
 * changed isn't overwritten, because it has a transaction's marks.
 *
 * Locking: rows are read under their buffer's share lock and written under its
 * exclusive lock.  A reader without a lock on the page, such as COPY or pg_dump, may
 * see a row that is half old and half new.  That is harmless: fields are aligned, and
 * each of tick_until and tock_until is a valid bound independently of the other
 * fields.
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

/* A tuple as sno_row_insert() makes it: its header has no bitmap of nulls. */
#define HEADER_SIZE		MAXALIGN(SizeofHeapTupleHeader)
#define TUPLE_SIZE		(HEADER_SIZE + SNO_ROW_SIZE)

/* The row in a tuple that passed holds_row() */
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

/* Has the row a null?  This file writes none: NOT NULL was dropped, and set again. */
static bool
has_null(HeapTupleHeader tuple)
{
	for (int i = 0; i < SNO_LEASES_COLUMNS && tuple->t_infomask & HEAP_HASNULL; i++)
		if (att_isnull(i, tuple->t_bits))
			return true;
	return false;
}

/*
 * Return the tuple at `offset` of a page, visible or not; NULL if there is none.
 * Raises an error if the tuple is damaged.
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
 * Was the tuple inserted by a transaction?  Freezing by VACUUM keeps the transaction's id, and
 * so do rewrites of the table.
 */
static bool
is_by_sql(HeapTupleHeader tuple)
{
	return HeapTupleHeaderGetRawXmin(tuple) != FrozenTransactionId;
}

/* May the tuple be overwritten, because it has no marks of any transaction? */
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
 * Visit every row, including deleted and uncommitted ones: a dead row only keeps a partition
 * unused.  Returns the first page with room for another row, or the number of pages if there
 * is none.
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
 * Is the page as this file writes it, without traces of SQL?  VACUUM removes most
 * traces, but sets PD_ALL_VISIBLE.
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
 * Return a copy of a locked page, to be changed.
 *
 * SQL leaves traces on a page that are not in WAL, or not replayed: hint bits
 * and command ids of tuples, pd_prune_xid and flags of the page.  So a standby's
 * page may differ in these traces, which does no harm.  But wal_consistency_checking
 * ignores them only in heap records; a difference in a generic record stops the
 * standby.  While this setting is on, each record has an image of the page.  If the
 * page has such traces, replay must restore the image, and not only compare the page
 * with it, so that the pages of both servers are equal again.
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
 * Make and log the change of the page in `state`, and release its buffer.
 *
 * The buffer is marked dirty first.  GenericXLogFinish() marks the buffer, too, but in
 * versions 15.0 to 15.4 and 16.0 only after inserting the WAL record.  If a checkpoint
 * comes between the two, recovery will begin after the record, but the page isn't
 * written, because it isn't dirty yet.  The record is flushed and the ceiling
 * published.  After a crash, recovery doesn't read the record, and the page on disk has
 * the old row: the lease is lost, and its ids are issued again.
 *
 * A buffer that is dirty before the record exists is safe.  It stays dirty while its
 * exclusive lock is held, because a page is written out under a lock on its content.
 * So a checkpoint from which recovery begins after the record finds the buffer dirty,
 * waits for the lock, and writes the new row.
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
 * Change the row at `tid`.  Returns false if the row is gone or SQL has changed it.
 * *lsn is the end of the WAL record.
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
 * Change all rows of a page.  Returns the end of the WAL record, if there is one.  A page
 * without a changed row must get no LSN: a new page with an LSN would be invalid.
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

/* Change all rows, including rows that SQL has changed.  Returns the end of the WAL records. */
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

/* Return a page with room for a row, at `block` or later, pinned and locked. */
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
 * Insert a row as a frozen tuple, on a page at `block` or later.  Returns the end of the
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
