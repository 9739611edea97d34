/*
 * loan.c
 *		sno_borrow_partition(): a partition, or a slice of one, for an application that makes
 *		ids by itself.
 *
 * A loan is a row of sno_lease, as the lease of a session is, but it lasts longer, and no
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
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "generate/session.h"
#include "generate/snapshot.h"
#include "shared/clock.h"
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

	PreventCommandDuringRecovery("sno_borrow_partition()");
	if (get_call_result_type(fcinfo, NULL, &columns) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	loan = sno_session_lend(units_of(PG_GETARG_DATUM(0)), sequences_of(PG_GETARG_INT32(1)));
	wait_at_commit();
	values[0] = sno_snapshot(&loan.generator, loan.partition,
							 loan.generator.sequence_max, sno_clock_unit());
	values[1] = TimestampTzGetDatum(sno_unit_to_timestamptz(loan.generator.ceiling));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(columns, values, nulls)));
}
