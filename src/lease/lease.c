/*
 * lease.c
 *		Leases of partitions: rows of sno_snapshot, read and written in place.
 *
 * A lease is the right to issue in one partition in units (lease_floor,
 * ceiling].  Its durable form is a row of sno_snapshot, which has a bound for
 * each timeline: tick_until for the tick-tock bit 0, tock_until for 1.  Nothing
 * was issued after its bound in either timeline.  A session's generator, which
 * changes timelines without telling, has the ceiling as both.  After whatever end
 * of the server, nothing that is at or below the highest bound of a partition's
 * rows is issued in it again: a new lease has that as its floor.  So the
 * guarantee rests on one order of events:
 *
 *		write the row < flush its WAL < publish the ceiling < issue under it
 *
 * WAL order carries the row to every standby, backup and copy ahead of any
 * transaction that uses ids issued under it.  synchronous_commit doesn't
 * matter: the flush is ours, local, and waits for no standby.
 *
 * The row is written by the session itself, as sequence.c writes a sequence:
 * overwritten on its page under the buffer's exclusive lock, logged by generic
 * WAL, belonging to no transaction.  So a lease can be taken in a read-only
 * transaction, in a parallel worker, and in the transaction that created the
 * extension; ROLLBACK doesn't undo it, and logical decoding doesn't see it.  A
 * new row is put on a page the same way, as a frozen tuple: visible to all at
 * once, which is what a page that is marked all-visible or all-frozen needs,
 * and without any trace that a rollback, VACUUM or a crash could act on.
 *
 * A reader that has no content lock, as COPY and pg_dump, may see a row half old,
 * half new.  That is harmless: fields are aligned, and each bound is true by
 * itself of its timeline, whatever the other fields say.
 *
 * Locking: rows are read under their buffer's share lock and written under its
 * exclusive lock.  A session writes a partition's row only while it owns the
 * partition (partition.c), a named generator's only while it holds the lock of
 * its group (pool.c), so no two write one row.  Both hold for as long as the
 * table is open: sno_reseed() waits for that before it revokes anything.
 *
 * The table is as table.c demands, so a row is a C struct.  One that was changed
 * by SQL isn't overwritten (it has a transaction's marks): a new one is written
 * from memory, and the other one still counts as a bound, even deleted, until it
 * is pruned.
 *
 * Whose row is it?  The holder, a random number, is kept beside the system
 * identifier, timeline and database that it was drawn under.  Rows where these
 * three aren't the server's own are another holder's: they come from a backup,
 * from the primary that this server was a standby of, from a template database
 * or by logical replication.  Their partitions are the last to be chosen, and
 * one that another holder leases as well is given up.  Sessions that find no
 * row of their own at the same time may each draw a holder; all of these are
 * the server's own, and the first row's is used from then on.  A server that
 * was copied has these three, too: sno_reseed() makes it another holder, by
 * setting the system identifier of its rows to 0, which no server has.
 *
 * The row of a named generator, which can't move to another partition, says where
 * it can go on: in the timeline that the lowest bit of drifts names, or in the
 * other one, each after its bound.  If the bound of the former is wall_hi, the
 * generator was closed, and sequence is the next one of that unit; else all of
 * the bound's unit counts.
 *
 * That is true of rows of our own.  Another server may have opened the generator,
 * or renewed its lease, in WAL that never came here.  So its row is never exact,
 * and the first time that we open the generator we take it to be open there, with
 * a lease from now on: we enter the other timeline (sno_lease_recall()).  That is
 * right unless the WAL that is lost has another change of timeline.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/rmgr.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/timestamp.h"

#include "lease/lease.h"
#include "lease/table.h"
#include "type/fields.h"

/* A row of the table; sql/sno--1.0.sql describes the columns. */
typedef struct LeaseRow
{
	int64		holder;
	int64		system_identifier;
	int32		timeline;
	Oid			database;
	int32		partition;
	int32		sequence_min;
	int32		sequence_max;
	int32		sequence;
	TimestampTz wall_hi;
	int64		drifts;
	TimestampTz until[2];		/* by tick-tock: tick_until, tock_until */
	TimestampTz taken_at;
	bool		named;
} LeaseRow;

/* The system identifier of rows that sno_reseed() disowned: no server has it. */
#define DISOWNED		0

/* A tuple as insert() makes it: its header has no bitmap of nulls. */
#define HEADER_SIZE		MAXALIGN(SizeofHeapTupleHeader)
#define ROW_SIZE		(offsetof(LeaseRow, named) + sizeof(bool))
#define TUPLE_SIZE		(HEADER_SIZE + ROW_SIZE)

/* One pass over all rows, and what it is to find. */
typedef struct Pass
{
	SnoBounds  *bounds;			/* of each partition, or NULL */
	const SnoLease *lease;		/* whose row is wanted, or NULL */
	SnoLease   *recall;			/* what is to know all that rows say, or NULL; */
	SnoLeaseKnown known;		/* but for rows of our own that this tells, */
	const void *arg;			/* given this */
	SnoGenerator foreign;		/* what rows of other holders say of that */
	bool		own_part;		/* is there a row of our own of just that part? */
	bool		other_server;	/* is there any row of another server? */
	bool		own_found;		/* is there any row of our own? */
	uint64		holder;			/* if so, the first one's holder */
	ItemPointerData tid;		/* the lease's row, fit to be overwritten */
	bool		clash;			/* does another holder lease the same? */
	BlockNumber room;			/* first page that has room for a row */
	uint64		now;			/* other holders' leases that last are counted */
	int			others;
	uint64		others_until;	/* the highest ceiling of these */
} Pass;

int			sno_lease_duration;

/* The holder drawn when no row of our own was found, until a row has it. */
static uint64 drawn_holder;

/* The row in a tuple that holds_row(). */
static LeaseRow *
row_of(HeapTupleHeader tuple)
{
	return (LeaseRow *) ((char *) tuple + tuple->t_hoff);
}

static bool
holds_row(HeapTupleHeader tuple, Size length)
{
	if (length < SizeofHeapTupleHeader ||
		HeapTupleHeaderGetNatts(tuple) < SNO_TABLE_COLUMNS ||
		tuple->t_hoff < SizeofHeapTupleHeader ||
		tuple->t_hoff != MAXALIGN(tuple->t_hoff) ||
		length < tuple->t_hoff + ROW_SIZE)
		return false;
	return true;
}

/* A row with a null can't be in force: NOT NULL was dropped, and set again. */
static bool
has_null(HeapTupleHeader tuple)
{
	for (int i = 0; i < SNO_TABLE_COLUMNS && tuple->t_infomask & HEAP_HASNULL; i++)
		if (att_isnull(i, tuple->t_bits))
			return true;
	return false;
}

/*
 * The tuple at `offset` of a page, whatever transaction made or deleted it;
 * NULL if there is none.  Raises an error if it can't be one of ours.
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
						SNO_TABLE_NAME),
				 errhint("Find it with verify_heapam() of extension amcheck, delete it and VACUUM the table.")));
	return has_null(tuple) ? NULL : tuple;
}

/* Is what has these two of this server, as it is now? */
bool
sno_lease_is_ours(int64 system_identifier, int32 timeline)
{
	return system_identifier == (int64) GetSystemIdentifier() &&
		timeline == (int32) GetWALInsertionTimeLine();
}

static bool
is_own(const LeaseRow *row)
{
	return sno_lease_is_ours(row->system_identifier, row->timeline) &&
		row->database == MyDatabaseId;
}

/* Is it of the same generator, or the same part of a partition? */
static bool
is_same(const LeaseRow *row, const SnoLease *lease)
{
	return row->partition == lease->partition &&
		row->named == lease->named &&
		row->sequence_min == lease->generator.sequence_min &&
		row->sequence_max == lease->generator.sequence_max;
}

/* Is this the lease's row, and without marks of any transaction? */
static bool
is_row_of(HeapTupleHeader tuple, const SnoLease *lease)
{
	LeaseRow   *row = row_of(tuple);

	return is_same(row, lease) &&
		is_own(row) &&
		HeapTupleHeaderXminFrozen(tuple) &&
		(tuple->t_infomask & HEAP_XMAX_INVALID ||
		 HEAP_XMAX_IS_LOCKED_ONLY(tuple->t_infomask));
}

/* Do they share ids? */
static bool
overlaps(const LeaseRow *row, const SnoLease *lease)
{
	return row->partition == lease->partition &&
		row->sequence_min <= lease->generator.sequence_max &&
		row->sequence_max >= lease->generator.sequence_min;
}

/* Times outside the epoch, which only a forged row has, count as its ends. */
static uint64
unit_of(TimestampTz at)
{
	uint64		unit;

	(void) sno_timestamptz_to_unit(at, &unit);
	return unit;
}

/* Nothing was issued after this under the row's lease, in either timeline. */
static uint64
ceiling_of(const LeaseRow *row)
{
	return unit_of(Max(row->until[0], row->until[1]));
}

/* Count as used what a row that overlaps a named generator may have issued. */
static void
recall(const Pass *pass, const LeaseRow *row, SnoGenerator *used)
{
	bool		tick_tock = row->drifts & 1;
	bool		exact = is_own(row) && is_same(row, pass->recall) &&
		row->until[tick_tock] == row->wall_hi && row->sequence >= row->sequence_min;
	SnoGenerator issued = {
		.drifts = (uint32) row->drifts,
		.wall_safe = unit_of(row->until[!tick_tock]),
		.word = SNO_WORD(unit_of(row->until[tick_tock]), tick_tock,
						 exact ? row->sequence : SNO_SEQUENCE_NONE)
	};

	sno_generator_merge(used, &issued);
	if (used == &pass->foreign)
		used->lease_floor = Max(used->lease_floor, ceiling_of(row));
}

static void
note_bound(SnoBounds *bounds, int partition, uint64 ceiling, bool own)
{
	uint64	  **block = &bounds->block[partition / SNO_BOUNDS_BLOCK];
	uint64	   *bound;

	if (*block == NULL)
		*block = palloc0(SNO_BOUNDS_BLOCK * sizeof(uint64));
	bound = &(*block)[partition % SNO_BOUNDS_BLOCK];
	if (*bound != 0)
	{
		ceiling = Max(ceiling, SNO_BOUND_CEILING(*bound));
		own = own || SNO_BOUND_OWN(*bound);
	}
	*bound = SNO_BOUND(ceiling, own);
}

static void
note_row(Pass *pass, HeapTupleHeader tuple, BlockNumber block, OffsetNumber offset)
{
	const LeaseRow *row = row_of(tuple);
	bool		own = is_own(row);
	uint64		ceiling = ceiling_of(row);

	if (own && !pass->own_found)
	{
		pass->own_found = true;
		pass->holder = (uint64) row->holder;
	}
	if (!own && ceiling >= pass->now)
	{
		pass->others++;
		pass->others_until = Max(pass->others_until, ceiling);
	}
	if (pass->bounds != NULL && row->partition >= 0 &&
		row->partition <= SNO_PARTITION_MAX)
	{
		note_bound(pass->bounds, row->partition, ceiling, own);
	}
	if (row->system_identifier != DISOWNED &&
		!sno_lease_is_ours(row->system_identifier, row->timeline))
		pass->other_server = true;
	if (pass->recall != NULL && overlaps(row, pass->recall))
	{
		if (!own)
			recall(pass, row, &pass->foreign);
		else if (!pass->known(pass->arg, row->named, row->sequence_min, row->sequence_max))
			recall(pass, row, &pass->recall->generator);
		pass->own_part = pass->own_part || (own && is_same(row, pass->recall));
	}
	if (pass->lease != NULL && overlaps(row, pass->lease))
	{
		if (!own && ceiling > pass->lease->generator.lease_floor)
			pass->clash = true;
		if (!ItemPointerIsValid(&pass->tid) && is_row_of(tuple, pass->lease))
			ItemPointerSet(&pass->tid, block, offset);
	}
}

/*
 * Look at every row, deleted and uncommitted ones too: one that counts too much
 * costs nothing but a partition.
 */
static void
pass_over(Relation rel, Pass *pass)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);

	ItemPointerSetInvalid(&pass->tid);
	pass->room = blocks;
	for (BlockNumber block = 0; block < blocks; block++)
	{
		Buffer		buffer = ReadBuffer(rel, block);
		Page		page = BufferGetPage(buffer);

		CHECK_FOR_INTERRUPTS();
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		for (OffsetNumber o = FirstOffsetNumber;
			 !PageIsNew(page) && o <= PageGetMaxOffsetNumber(page); o++)
		{
			HeapTupleHeader tuple = tuple_at(page, o);

			if (tuple != NULL)
				note_row(pass, tuple, block, o);
		}
		if (pass->room == blocks &&
			(PageIsNew(page) || PageGetHeapFreeSpace(page) >= MAXALIGN(TUPLE_SIZE)))
			pass->room = block;
		UnlockReleaseBuffer(buffer);
	}
}

/* The holder of our own rows, or a new one. */
static uint64
holder_of(const Pass *pass)
{
	if (pass->own_found)
		return pass->holder;
	if (drawn_holder == 0 &&
		!pg_strong_random(&drawn_holder, sizeof(drawn_holder)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	return drawn_holder;
}

/*
 * What the rows say of each partition, added to *bounds, which is empty, in the
 * memory context given; and who we are: the holder of our own rows, or a new
 * one.
 */
void
sno_lease_survey(Relation rel, SnoBounds *bounds, uint64 *holder,
				 MemoryContext context)
{
	Pass		pass = {.bounds = bounds};
	MemoryContext old = MemoryContextSwitchTo(context);

	pass_over(rel, &pass);
	MemoryContextSwitchTo(old);
	*holder = holder_of(&pass);
}

/* How many leases of other holders last now, and until when. */
int
sno_lease_count_others(Relation rel, uint64 now, uint64 *until)
{
	Pass		pass = {.now = now};

	pass_over(rel, &pass);
	*until = pass.others_until;
	return pass.others;
}

/*
 * Merge into a named generator's lease all that the rows say was issued in its
 * part of the partition, but for those rows of our own that are known.  Its floor
 * becomes the highest bound of another holder's rows.
 *
 * Another server may have issued more than its rows say, or have rows that never
 * came here.  So what its rows say is taken to be left by it for the other
 * timeline, and used for as long as a lease that begins now.  That isn't so once
 * there is a row of our own, and if this server has no past in another one: it has
 * no row of such, and defined the generator itself (`made_here`).
 */
void
sno_lease_recall(Relation rel, SnoLease *lease, uint64 now, bool made_here,
				 SnoLeaseKnown known, const void *arg)
{
	Pass		pass = {.recall = lease, .known = known, .arg = arg};

	pass_over(rel, &pass);
	if (!pass.own_part && (pass.other_server || !made_here))
		sno_generator_switch(&pass.foreign, Min(now + 2 * sno_lease_half(), SNO_UNIT_MAX));
	sno_generator_merge(&lease->generator, &pass.foreign);
	lease->generator.lease_floor = Max(lease->generator.lease_floor,
									   pass.foreign.lease_floor);
}

/*
 * Is the page as we write it, without a trace of SQL? VACUUM removes the other
 * traces, and leaves PD_ALL_VISIBLE.
 */
static bool
is_ours_alone(Page page)
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
 * The copy of a locked page, to be changed.
 *
 * SQL leaves traces on a page that aren't in WAL, or aren't replayed: hint bits
 * and command ids of tuples, pd_prune_xid and flags of the page.  So a standby's
 * page may differ in them, which does no harm.  But wal_consistency_checking,
 * which ignores them in a record of the heap, doesn't in a generic one: it stops
 * the standby.  While it is on, each record has an image of the page.  If the page
 * has such traces, replay must take the image, not only compare the page with it.
 * That makes both pages the same again.
 */
static Page
register_page(GenericXLogState *state, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);
	bool		whole = PageIsNew(page) ||
		(wal_consistency_checking[RM_GENERIC_ID] && !is_ours_alone(page));

	return GenericXLogRegisterBuffer(state, buffer,
									 whole ? GENERIC_XLOG_FULL_IMAGE : 0);
}

/*
 * Make and log the change of the page that `state` has, and release its buffer.
 *
 * The buffer is marked dirty first.  GenericXLogFinish() marks it as well, but
 * that of 15.0 to 15.4 and 16.0 only after it inserted the WAL record.  A
 * checkpoint may come between the two.  Recovery will then begin after the record,
 * but the page isn't written, for it isn't dirty yet.  We flush the record and
 * publish the ceiling.  After a crash, recovery doesn't read the record, and the
 * page on disk has the old row: the lease is lost, and its ids are issued again.
 *
 * A buffer that is dirty before the record exists is safe.  It stays dirty while
 * we hold its exclusive lock, because a page is written out under a lock on its
 * content.  So a checkpoint from which recovery begins after the record finds the
 * buffer dirty, waits for our lock, and writes the new row.
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
 * Overwrite the row at `tid`.  The ceiling on disk never goes down, but a named
 * generator's.  False if the row isn't there any more.
 */
static bool
overwrite(Relation rel, const SnoLease *lease, ItemPointer tid, LeaseRow *row,
		  XLogRecPtr *lsn)
{
	Buffer		buffer = ReadBuffer(rel, ItemPointerGetBlockNumber(tid));
	OffsetNumber offset = ItemPointerGetOffsetNumber(tid);
	GenericXLogState *state;
	HeapTupleHeader tuple;
	Page		page;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(rel);
	page = register_page(state, buffer);
	tuple = tuple_at(page, offset);
	if (tuple == NULL || !is_row_of(tuple, lease))
	{
		GenericXLogAbort(state);
		UnlockReleaseBuffer(buffer);
		return false;
	}
	for (int t = 0; t < 2 && !row->named; t++)
		row->until[t] = Max(row->until[t], row_of(tuple)->until[t]);
	memcpy(row_of(tuple), row, ROW_SIZE);
	*lsn = finish_page(state, buffer);
	return true;
}

/* A page with room for a row, at `block` or later, pinned and locked. */
static Buffer
page_with_room(Relation rel, BlockNumber block)
{
	for (;; block++)
	{
		Buffer		buffer;
		Page		page;

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
		page = BufferGetPage(buffer);
		if (PageIsNew(page) || PageGetHeapFreeSpace(page) >= MAXALIGN(TUPLE_SIZE))
			return buffer;
		UnlockReleaseBuffer(buffer);
	}
}

/* Put a new row on a page, as a frozen tuple. */
static XLogRecPtr
insert(Relation rel, BlockNumber room, const LeaseRow *row)
{
	HeapTupleHeader tuple = palloc0(TUPLE_SIZE);
	Buffer		buffer = page_with_room(rel, room);
	GenericXLogState *state = GenericXLogStart(rel);
	Page		page;
	OffsetNumber offset;

	HeapTupleHeaderSetNatts(tuple, SNO_TABLE_COLUMNS);
	tuple->t_hoff = HEADER_SIZE;
	HeapTupleHeaderSetXmin(tuple, FrozenTransactionId);
	HeapTupleHeaderSetXminFrozen(tuple);
	HeapTupleHeaderSetCmin(tuple, FirstCommandId);
	HeapTupleHeaderSetXmax(tuple, InvalidTransactionId);
	tuple->t_infomask |= HEAP_XMAX_INVALID;
	memcpy(row_of(tuple), row, ROW_SIZE);

	page = register_page(state, buffer);
	if (PageIsNew(page))
		PageInit(page, BufferGetPageSize(buffer), 0);
	offset = PageAddItem(page, (char *) tuple, TUPLE_SIZE, InvalidOffsetNumber,
						 false, true);
	if (offset == InvalidOffsetNumber)
		elog(ERROR, "could not add a row to table \"%s\"", SNO_TABLE_NAME);
	tuple = (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, offset));
	ItemPointerSet(&tuple->t_ctid, BufferGetBlockNumber(buffer), offset);
	return finish_page(state, buffer);
}

/*
 * Write a lease of what the caller owns, whose generator isn't shared here: the
 * state that it is to have on disk, and its ceiling.  The caller flushes *lsn
 * before it publishes the ceiling.  False, and nothing is written, if another
 * holder's row shows a lease of the same that reaches beyond our floor.
 */
bool
sno_lease_write(Relation rel, const SnoLease *lease, XLogRecPtr *lsn)
{
	const SnoGenerator *g = &lease->generator;
	LeaseRow	row = {
		.system_identifier = (int64) GetSystemIdentifier(),
		.timeline = (int32) GetWALInsertionTimeLine(),
		.database = MyDatabaseId,
		.partition = lease->partition,
		.sequence_min = g->sequence_min,
		.sequence_max = g->sequence_max,
		.sequence = (int32) Min(SNO_WORD_SEQUENCE(g->word), SNO_SEQUENCE_NONE),
		.wall_hi = sno_unit_to_timestamptz(SNO_WORD_UNIT(g->word)),
		.drifts = g->drifts,
		.taken_at = GetCurrentTimestamp(),
		.named = lease->named
	};

	row.until[g->drifts & 1] = sno_unit_to_timestamptz(g->ceiling);
	row.until[!(g->drifts & 1)] =
		sno_unit_to_timestamptz(lease->named ? g->wall_safe : g->ceiling);
	for (;;)
	{
		Pass		pass = {.lease = lease};

		pass_over(rel, &pass);
		if (pass.clash)
			return false;
		row.holder = (int64) holder_of(&pass);
		if (!ItemPointerIsValid(&pass.tid))
			*lsn = insert(rel, pass.room, &row);
		else if (!overwrite(rel, lease, &pass.tid, &row, lsn))
			continue;
		drawn_holder = 0;
		return true;
	}
}

/*
 * Disown the rows on a page; returns the end of what was logged, if anything.  A
 * page without our rows stays as it is: a new one would be invalid with an LSN.
 */
static XLogRecPtr
disown_page(Relation rel, BlockNumber block)
{
	Buffer		buffer = ReadBuffer(rel, block);
	GenericXLogState *state;
	Page		page;
	bool		changed = false;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(rel);
	page = register_page(state, buffer);
	for (OffsetNumber o = FirstOffsetNumber;
		 !PageIsNew(page) && o <= PageGetMaxOffsetNumber(page); o++)
	{
		HeapTupleHeader tuple = tuple_at(page, o);

		if (tuple != NULL && is_own(row_of(tuple)))
		{
			row_of(tuple)->system_identifier = DISOWNED;
			changed = true;
		}
	}
	if (changed)
		return finish_page(state, buffer);
	GenericXLogAbort(state);
	UnlockReleaseBuffer(buffer);
	return InvalidXLogRecPtr;
}

/*
 * Become another holder: all rows of our own are nobody's from now on, flushed,
 * and no session issues in their partitions any more.  As rows are written, and
 * partitions reserved after a look at all rows, only by who holds the table open,
 * none comes in between.
 */
void
sno_lease_disown(Oid function)
{
	Relation	rel = sno_table_open_alone(function);
	XLogRecPtr	lsn = InvalidXLogRecPtr;
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);

	sno_partition_revoke();
	for (BlockNumber block = 0; block < blocks; block++)
	{
		XLogRecPtr	end = disown_page(rel, block);

		lsn = Max(lsn, end);
	}
	XLogFlush(lsn);
	relation_close(rel, ExclusiveLock);
}
