/*
 * loan.c
 *		sno_borrow_partition(), which lends a partition, or a slice of its sequences, to an
 *		application that generates ids itself.
 *
 * A loan is a lease with a row in sno_lease, like the lease of an open partition.  But a loan lasts
 * longer, and no session issues in the partition.  The application gets the loan as a snapshot of
 * a generator.  This generator has used up all units up to the lease's floor, which is the last unit
 * that may have been used before.  So the first id of the application is of a later unit.  The
 * snapshot contains no ceiling.  So the application itself must take the next loan before it
 * generates an id after the end of this loan.
 *
 * In the WAL, the row of a session's lease precedes the rows with ids that were issued under the
 * lease.  This isn't so for a loan: the application might insert its ids on a successor that never
 * received the row of the loan.  To prevent this, the transaction that takes the loan waits for
 * synchronous standbys when it commits.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "catalog/leases.h"
#include "catalog/publish.h"
#include "catalog/table.h"
#include "generate/leasing.h"
#include "generate/refuse.h"
#include "generate/session.h"
#include "generate/snapshot.h"
#include "shared/clock.h"
#include "shared/primary.h"
#include "type/fields.h"

/* Convert a duration from now on to units.  Raises 22023 if it is shorter than a unit. */
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

/* Return the number of sequences of a loan.  Raises an error unless it is from 1 to 65536. */
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
 * The state word of a partition that is lent in slices counts the lent sequences from this number
 * on.  The number is above the bounds of sequences.  So a late addition to the word, by a session
 * that issued in the partition before the loan, issues nothing.
 */
#define SLICES_BEGIN	SNO_SEQUENCE_NONE

/* A partition, or a slice of its sequences, that is lent up to the ceiling of the generator */
typedef struct Loan
{
	int			partition;
	SnoGenerator generator;		/* all units up to its floor are used up */
} Loan;

/*
 * Find the last unit of a loan that is to last for a number of units from now on.  Returns false if
 * the partition can't be lent.  A loan ends before the last unit that an id can have, because a row
 * with that unit marks a partition for given times.
 */
static bool
find_end(const SnoPartition *p, uint64 now, uint64 units, uint64 *until)
{
	SnoGrant	limits;

	if (!sno_partition_is_usable(p) || !sno_partition_find_limits(p, &limits))
		return false;
	*until = Min(Min(now + units, SNO_UNIT_MAX - 1), limits.ceiling);
	return true;
}

/*
 * Lend a partition, as a whole or in slices.  The borrowers may issue on both sides, so both sides
 * count as used up to the end of the loan.  The state word is closed if the partition is lent as a
 * whole.  Otherwise, the word counts the sequences that were lent in slices.
 */
static SnoObstacle
lend_partition(Relation rel, uint64 now, uint64 units, bool in_slices, Loan *loan)
{
	SnoPartition *p;
	SnoObstacle obstacle = sno_leasing_reserve(rel, SNO_FOR_LOANS, now, &p);
	uint64		until;

	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	if (find_end(p, now, units, &until) && sno_leasing_write(rel, p, until))
	{
		sno_lease_publish(&p->lease, &p->generator, sno_lease_half());
		*loan = (Loan) {sno_partition_number(p), p->generator};
		p->generator.wall_safe = until;
		sno_generator_open(&p->generator, SNO_WORD(until, false, in_slices ? SLICES_BEGIN : SNO_WORD_CLOSED));
		if (in_slices)
			pg_atomic_write_u32(&sno_space->partitions.lent, sno_partition_number(p) + 1);
	}
	else
		obstacle = SNO_CLASH;
	sno_turn_release(&p->turn);
	return obstacle;
}

/*
 * Take a slice of the partition that was last lent in slices.  The state word of that partition
 * has the unit in which the loan ends, and the first sequence that isn't in a slice yet.  While the
 * word is open, it ascends.  So if the swap succeeds, no other slice has these sequences, and all
 * fields that were read belong to this loan.  If another session reserves the partition meanwhile,
 * the swap fails: the new lease begins after the end of this loan, so the loaded word doesn't recur.
 */
static bool
take_slice(uint64 now, uint64 units, uint32 sequences, Loan *slice)
{
	SnoPartition *p = sno_partition_lent();
	uint64_t	word;
	uint64		until;
	uint32		first;

	if (p == NULL)
		return false;
	do
	{
		word = sno_generator_load(&p->generator);
		first = SNO_WORD_SEQUENCE(word) - SLICES_BEGIN;
		/* The word is closed, or doesn't count slices, or too few sequences are left. */
		if (first > SNO_SEQUENCE_MAX || sequences > SNO_SEQUENCE_MAX + 1 - first)
			return false;
		if (p->purpose != SNO_FOR_LOANS || p->life != sno_space->life || p->lease.file != sno_leases_file() ||
			now <= p->generator.lease_floor || !find_end(p, now, units, &until) || until > SNO_WORD_UNIT(word))
			return false;
		slice->partition = sno_partition_number(p);
		sno_generator_start(&slice->generator, p->generator.lease_floor, first, first + sequences - 1);
		slice->generator.ceiling = until;
	} while (!__atomic_compare_exchange_n(&p->generator.word, &word, word + sequences, false,
										  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return true;
}

/*
 * Lend a slice.  If no lent partition has room for the slice, lend another partition in slices, for
 * twice the time of the slice.  Only one session at a time lends a partition in slices.
 */
static SnoObstacle
lend_slice(Relation rel, uint64 now, uint64 units, uint32 sequences, Loan *slice)
{
	SnoObstacle obstacle = SNO_NO_OBSTACLE;
	uint64		begun;

	if (take_slice(now, units, sequences, slice))
		return SNO_NO_OBSTACLE;
	if (!sno_leasing_begin(&begun))
		return SNO_LEASING;
	/* Another session may have lent a partition by now. */
	if (!take_slice(now, units, sequences, slice))
	{
		obstacle = lend_partition(rel, now, 2 * units, true, slice);
		if (obstacle == SNO_NO_OBSTACLE && !take_slice(now, units, sequences, slice))
			obstacle = SNO_CLASH;
	}
	sno_leasing_end(begun);
	return obstacle;
}

/*
 * Lend a partition to an application, or a slice if not all sequences are wanted, for a number of
 * units from now on.  In the row, the partition counts as used until the loan is over.  So nobody
 * else uses the partition until then, in this server or in a server that goes on with its rows.
 * Waits sno.max_wait at most.
 */
static Loan
lend(uint64 units, uint32 sequences)
{
	SnoWait		wait = {.refuse = sno_refuse_partition};
	Loan		loan;
	SnoObstacle obstacle;

	sno_session_begin_own();
	do
	{
		uint64		now = sno_clock_unit();
		Relation	rel = sno_leases_open();

		if (rel == NULL)
			obstacle = SNO_TABLE_LOCKED;
		else if (sequences > SNO_SEQUENCE_MAX)
			obstacle = lend_partition(rel, now, units, false, &loan);
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
 * Let the commit wait for synchronous standbys.  A commit doesn't wait if the transaction has no
 * transaction id or has written no WAL.  If another session wrote the row of the partition, this
 * transaction has written no WAL.  So assign a transaction id, and set XactLastRecEnd.  Any valid
 * position will do, because the commit waits for its own commit record, which comes after the row.
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
	Loan		loan;
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
