/*
 * loan.c
 *		sno_borrow_partition(): a partition, or a slice of one, for an application that makes
 *		ids by itself.
 *
 * A loan is a row of sno_lease, as the lease of an open partition is, but it lasts longer, and no
 * session uses the partition.  The application gets the partition as a snapshot of a
 * generator that exhausted the floor: the last unit that was used there, or may have
 * been.  So the first id is of a later unit.  A snapshot knows no ceiling.  So the
 * application must take the next loan before it makes an id after the end of this one.
 *
 * In the WAL, the lease of a session comes before the rows with its ids.  A loan needn't:
 * the application may insert its ids on a successor that never received the loan.  So the
 * commit waits for synchronous standbys.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "catalog/leases.h"
#include "catalog/publish.h"
#include "catalog/table.h"
#include "generate/refuse.h"
#include "generate/session.h"
#include "generate/snapshot.h"
#include "shared/clock.h"
#include "shared/primary.h"
#include "shared/slices.h"
#include "type/fields.h"

/* A duration from now on in units; an error if it is no time to make ids in. */
static uint64
units_of(Datum duration)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz end = DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval,
															  TimestampTzGetDatum(now), duration));

	if (end < now + SNO_UNIT_MSEC * 1000)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("duration of a loan must be at least %d ms", SNO_UNIT_MSEC)));
	return sno_fields_unit(end) - sno_fields_unit(now);
}

/* A number of sequences; an error if no partition has so many. */
static uint32
sequences_of(int32 given)
{
	if (given < 1 || given > SNO_SEQUENCE_MAX + 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a loan must have 1 to %d sequences, not %d", SNO_SEQUENCE_MAX + 1, given)));
	return (uint32) given;
}

/* Lend a partition that the session has reserved, up to `until`.  It stays closed. */
static SnoObstacle
lend_reserved(Relation rel, SnoPartition *p, uint64 until, SnoLoan *loan)
{
	SnoGrant	limits;

	if (!sno_partition_is_usable(p) || !sno_partition_find_limits(p, &limits))
		return SNO_CLASH;
	until = Min(until, limits.ceiling);
	if (!sno_session_write_whole(rel, p, until))
		return SNO_CLASH;
	sno_lease_publish(&p->lease, &p->generator, sno_lease_half());
	loan->partition = sno_partition_number(p);
	loan->generator = p->generator;
	/* The borrower may issue on both sides, and a named generator looks at this. */
	sno_partition_rules(p)->start(p, until);
	return SNO_NO_OBSTACLE;
}

/* Lend a whole partition. */
static SnoObstacle
lend_whole(Relation rel, uint64 now, uint64 units, SnoLoan *loan)
{
	SnoPartition *p;
	SnoObstacle obstacle = sno_session_reserve(rel, SNO_FOR_CLOCK, now, &p);

	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	/* The last unit of the epoch marks partitions for given times. */
	obstacle = lend_reserved(rel, p, Min(now + units, SNO_UNIT_MAX - 1), loan);
	sno_turn_release(&p->turn);
	return obstacle;
}

/* Lend a slice of a partition.  One session at a time lends a whole one for that. */
static SnoObstacle
lend_slice(Relation rel, uint64 now, uint64 units, uint32 sequences, SnoLoan *loan)
{
	RelFileNumber file = sno_leases_file();
	SnoObstacle obstacle = SNO_NO_OBSTACLE;

	if (sno_slices_take(now, units, sequences, file, loan))
		return SNO_NO_OBSTACLE;
	if (!ConditionalLockRelation(rel, ShareUpdateExclusiveLock))
		return SNO_LOANS_LOCKED;
	/* Another session may have lent one by now. */
	if (!sno_slices_take(now, units, sequences, file, loan))
	{
		SnoLoan		whole;

		obstacle = lend_whole(rel, now, 2 * units, &whole);
		if (obstacle == SNO_NO_OBSTACLE)
		{
			sno_slices_open(&whole, now, units, file);
			if (!sno_slices_take(now, units, sequences, file, loan))
				obstacle = SNO_CLASH;
		}
	}
	UnlockRelation(rel, ShareUpdateExclusiveLock);
	return obstacle;
}

/*
 * Lend a partition to an application, or a slice with fewer sequences, for a number of
 * units from now on.  The partition rests until the loan is over.  So
 * nobody else has it before, in this server or in one that goes on with its rows.
 * Waits sno.max_wait at most.
 */
static SnoLoan
lend(uint64 units, uint32 sequences)
{
	SnoWait		wait = {.refuse = sno_refuse_partition};
	SnoLoan		loan;
	SnoObstacle obstacle;

	sno_session_begin_own();
	do
	{
		uint64		now = sno_clock_unit();
		Relation	rel = sno_leases_open();

		if (rel == NULL)
			obstacle = SNO_TABLE_LOCKED;
		else if (sequences > SNO_SEQUENCE_MAX)
			obstacle = lend_whole(rel, now, units, &loan);
		else
			obstacle = lend_slice(rel, now, units, sequences, &loan);
		if (rel != NULL)
			sno_leases_close(rel);
		if (obstacle != SNO_NO_OBSTACLE)
			sno_wait(&wait, obstacle, 1);
	} while (obstacle != SNO_NO_OBSTACLE);
	return loan;
}

/*
 * Let the commit wait for synchronous standbys.  A transaction that has no id, or wrote
 * nothing, wouldn't.  This one wrote nothing if another session wrote the row of the
 * partition.  The position only tells that something was written.  The commit record, which
 * comes after that row, has a position of its own.
 */
static void
wait_at_commit(void)
{
	(void) GetTopTransactionId();
	if (XLogRecPtrIsInvalid(XactLastRecEnd))
		XactLastRecEnd = GetXLogWriteRecPtr();
}

PG_FUNCTION_INFO_V1(sno_borrow_partition);
Datum
sno_borrow_partition(PG_FUNCTION_ARGS)
{
	TupleDesc	columns;
	SnoLoan		loan;
	Datum		values[2];
	bool		nulls[2] = {false, false};

	sno_owner_check(fcinfo);
	sno_require_primary("sno_borrow_partition()");
	/* A parallel worker cannot have a transaction id: see wait_at_commit(). */
	PreventCommandIfParallelMode("sno_borrow_partition()");
	if (get_call_result_type(fcinfo, NULL, &columns) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	loan = lend(units_of(PG_GETARG_DATUM(0)), sequences_of(PG_GETARG_INT32(1)));
	wait_at_commit();
	values[0] = sno_snapshot(&loan.generator, loan.partition,
							 loan.generator.sequence_max, sno_clock_unit());
	values[1] = TimestampTzGetDatum(sno_unit_to_timestamptz(loan.generator.ceiling));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(columns, values, nulls)));
}
