/*
 * watermark.c
 *		sno_watermark(), which returns the id below which a feed is complete, and related functions.
 *
 * shared/feed.c computes a watermark, as a unit, or as a number of a counter.  This file keeps the
 * watermark as the answer for a statement.  It also contains the common part of the guard triggers
 * for all kinds of ids.
 *
 * All calls in a statement return the same answer.  If the watermark could rise while the statement
 * reads rows, the statement might skip a row and return a later row.  Another statement with an
 * equal snapshot may get a higher answer.  So the answer is kept in the statement's own copy of the
 * snapshot.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xlog.h"
#include "catalog/partition.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "catalog/leases.h"
#include "catalog/record.h"
#include "catalog/table.h"
#include "generate/refuse.h"
#include "generate/session.h"
#include "generate/wait.h"
#include "generate/watermark.h"
#include "shared/feed.h"
#include "shared/primary.h"
#include "shared/wake.h"
#include "type/fields.h"

extern Datum sno_in(PG_FUNCTION_ARGS);

/* A watermark of a counter that was returned in this transaction */
typedef struct Answer
{
	SnoSubject	counter;
	uint64		number;
	uint32		before;			/* number of the previous answer for the same snapshot, or 0 */
} Answer;

/* The answers of the transaction `answers_of`, in its memory context; their numbers begin with 1 */
static Answer *answers;
static uint32 answer_count,
			answer_size;
static uint64 answers_of;

/*
 * An active snapshot keeps its answers in the field snapXactCompletionCount.  The lowest UNIT_BITS
 * bits have the unit of the watermark plus 1, or 0 if the unit wasn't computed yet.  The other bits
 * have the number of the last answer for a counter, or 0.  PostgreSQL uses this field only in the
 * static snapshots that GetSnapshotData() fills again and again.  An active snapshot is a copy of
 * such a snapshot, and in each new copy the field is 0.
 */
#define UNIT_BITS	40
#define UNIT_MASK	((UINT64CONST(1) << UNIT_BITS) - 1)

static uint64 *
answer_of(Snapshot snapshot)
{
	if (!snapshot->copied)
		elog(ERROR, "active snapshot is not a copy");
	return &snapshot->snapXactCompletionCount;
}

static void
write_row(uint64 until, void *arg)
{
	sno_record_promise((Relation) arg, until);
}

static void
forget_row(void *arg)
{
	sno_record_forget_promise((Relation) arg);
}

/*
 * Make the row of the feed cover the next watermark: see shared/feed.c.  The row needn't cover
 * higher watermarks that become possible while it is written.
 */
static void
cover_watermark(void)
{
	uint64		unit = sno_feed_highest();
	SnoWait		wait = {.refuse = sno_refuse_partition};

	while (!sno_feed_is_covered(unit, sno_leases_file()))
	{
		Relation	rel = sno_session_open_table();

		sno_feed_cover(unit, rel->rd_rel->relfilenode, write_row, rel);
		sno_leases_close(rel);
		sno_wait(&wait, SNO_NO_OBSTACLE, 0);
	}
}

/* Return the snapshot of the statement. */
static Snapshot
statement_snapshot(void)
{
	if (!ActiveSnapshotSet())
		elog(ERROR, "no active snapshot set");
	return GetActiveSnapshot();
}

/* Prepare for a watermark.  Raises an error on a standby and in a parallel worker. */
static void
check_place(const char *function)
{
	sno_require_primary(function);
	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot execute %s in a parallel worker", function)));
	sno_session_know_past();
}

/* Return the unit of the statement's watermark.  The statement sees all rows with ids before this unit. */
uint64
sno_watermark_unit(const char *function)
{
	Snapshot	snapshot = statement_snapshot();
	uint64	   *answer = answer_of(snapshot);

	if ((*answer & UNIT_MASK) == 0)
	{
		check_place(function);
		cover_watermark();
		*answer |= sno_feed_lowest(snapshot) + 1;
	}
	return (*answer & UNIT_MASK) - 1;
}

/* Make room for a new answer, and return the number of that answer. */
static uint32
new_answer(void)
{
	if (answers_of != sno_feed_transaction)
	{
		answers = NULL;
		answer_count = answer_size = 0;
		answers_of = sno_feed_transaction;
	}
	if (answer_count == UINT64_MAX >> UNIT_BITS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many watermarks of counters in one transaction")));
	if (answer_count == answer_size)
	{
		uint32		size = Max(2 * answer_size, 8);

		answers = answers == NULL ? MemoryContextAlloc(TopTransactionContext, size * sizeof(Answer)) :
			repalloc_huge(answers, size * sizeof(Answer));
		answer_size = size;
	}
	return ++answer_count;
}

/*
 * Return the statement's watermark for a counter.  The statement sees all rows with numbers below the
 * watermark.  Returns 0 if no watermark is known.  `next` reads the counter's next number.
 */
uint64
sno_watermark_number(const char *function, const SnoSubject *counter,
					 uint64 (*next) (const void *arg), const void *arg)
{
	Snapshot	snapshot = statement_snapshot();
	uint64	   *answer = answer_of(snapshot);
	uint32		number;
	Answer		new;

	for (number = *answer >> UNIT_BITS; number != 0; number = answers[number - 1].before)
		if (sno_subjects_equal(&answers[number - 1].counter, counter))
			return answers[number - 1].number;

	check_place(function);
	new = (Answer) {
		.counter = *counter,
		.number = sno_feed_lowest_number(snapshot, counter, next(arg)),
		.before = *answer >> UNIT_BITS
	};
	number = new_answer();
	answers[number - 1] = new;
	*answer = (*answer & UNIT_MASK) | (uint64) number << UNIT_BITS;
	return new.number;
}

PG_FUNCTION_INFO_V1(sno_watermark);
Datum
sno_watermark(PG_FUNCTION_ARGS)
{
	Sno		   *id = palloc(SNO_SIZE);

	sno_assemble(id, sno_watermark_unit("sno_watermark()") << 1, 0, 0, 0);
	PG_RETURN_SNO_P(id);
}

PG_FUNCTION_INFO_V1(sno_reset_watermark);
Datum
sno_reset_watermark(PG_FUNCTION_ARGS)
{
	Relation	rel;

	sno_owner_check(fcinfo);
	sno_require_primary("sno_reset_watermark()");
	rel = sno_session_open_table();
	sno_feed_reset(forget_row, rel);
	sno_leases_close(rel);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(sno_watermark_blockers);
Datum
sno_watermark_blockers(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	SnoBlocker *blockers;
	int			count;

	sno_require_primary("sno_watermark_blockers()");
	InitMaterializedSRF(fcinfo, 0);
	blockers = sno_feed_blockers(&count);
	for (int i = 0; i < count; i++)
	{
		const SnoBlocker *b = &blockers[i];
		Datum		values[3] = {
			Int32GetDatum(b->pid),
			TransactionIdGetDatum(b->xid),
			TimestampTzGetDatum(sno_unit_to_timestamptz(b->since))
		};
		bool		nulls[3] = {b->pid == 0, !TransactionIdIsValid(b->xid), false};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

pg_noreturn static void
refuse_trigger(const SnoGuard *guard, const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
			 errmsg("function \"%s\" %s", guard->function, why),
			 errhint("Create a trigger BEFORE INSERT OR UPDATE ... FOR EACH ROW EXECUTE FUNCTION %s.",
					 guard->call)));
}

/*
 * Return the number of the column that a trigger guards.  Raises an error unless the trigger is
 * defined correctly.
 */
static int
guarded_column(const SnoGuard *guard, const TriggerData *trigger)
{
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	const char *name;
	int			column;

	if (!TRIGGER_FIRED_BEFORE(trigger->tg_event) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		refuse_trigger(guard, "must be fired for each row, before INSERT or UPDATE");
	/* Another trigger may change the id in an UPDATE that doesn't set the column. */
	if (trigger->tg_trigger->tgnattr != 0)
		refuse_trigger(guard, "must not be limited to updates of some columns");
	if (trigger->tg_trigger->tgnargs != guard->count)
		refuse_trigger(guard, guard->arguments);
	name = trigger->tg_trigger->tgargs[0];
	column = SPI_fnumber(desc, name);
	if (column <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						name, RelationGetRelationName(trigger->tg_relation))));

	/* PostgreSQL computes the value of a generated column after the BEFORE triggers have run. */
	if (TupleDescAttr(desc, column - 1)->attgenerated != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_DEFINITION),
				 errmsg("column \"%s\" of relation \"%s\" is a generated column",
						name, RelationGetRelationName(trigger->tg_relation)),
				 errdetail("Its value is not known yet when function \"%s\" runs.", guard->function),
				 errhint("Make the id with %s in the same transaction.", guard->generate)));
	return column;
}

/* The table that readers read: the root, if a trigger guards a partition. */
static Oid
guarded_table(Relation rel)
{
	return rel->rd_rel->relispartition ? llast_oid(get_partition_ancestors(RelationGetRelid(rel))) :
		RelationGetRelid(rel);
}

/* The state that a guard trigger keeps between its calls */
typedef struct Guarded
{
	Oid			table;			/* that readers read: the root of a partition */
	int			column;
	const void *known;
} Guarded;

/* Check the id of a row that is inserted or updated, in a guard trigger.  Returns the row. */
Datum
sno_guard_row(FunctionCallInfo fcinfo, const SnoGuard *guard)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Guarded    *guarded = fcinfo->flinfo->fn_extra;
	HeapTuple	row;
	TupleDesc	desc;
	Datum		id,
				was;
	bool		isnull;

	if (!CALLED_AS_TRIGGER(fcinfo))
		refuse_trigger(guard, "was not called as a trigger");
	if (guarded == NULL)
	{
		guarded = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(Guarded));
		guarded->table = guarded_table(trigger->tg_relation);
		guarded->column = guarded_column(guard, trigger);
		guarded->known = guard->look(trigger, guarded->column, fcinfo->flinfo->fn_mcxt);
		fcinfo->flinfo->fn_extra = guarded;
	}
	desc = RelationGetDescr(trigger->tg_relation);
	row = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple :
		trigger->tg_trigtuple;
	id = heap_getattr(row, guarded->column, desc, &isnull);
	if (isnull)
		PG_RETURN_POINTER(row);
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
	{
		was = heap_getattr(trigger->tg_trigtuple, guarded->column, desc, &isnull);
		if (!isnull && guard->equal(id, was, guarded->known))
			PG_RETURN_POINTER(row);
	}
	if (guard->passed(id, guarded->known))
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("id of relation \"%s\" is older than the transaction that inserts it",
						RelationGetRelationName(trigger->tg_relation)),
				 errdetail("Readers may have read past it already, up to the result of %s.", guard->watermark),
				 errhint("Make the id with %s in the same transaction.", guard->generate),
				 errtablecol(trigger->tg_relation, guarded->column)));
	sno_wake_note(guarded->table);
	PG_RETURN_POINTER(row);
}

/* Return the lowest unit whose ids this transaction may insert.  Readers may have passed all earlier units. */
uint64
sno_guard_unit(void)
{
	if (sno_feed_bound == SNO_NO_UNIT)
	{
		sno_session_know_past();
		(void) sno_feed_unit();
	}
	return sno_feed_bound;
}

static const void *
look_sno(const TriggerData *trigger, int column, MemoryContext context)
{
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	Oid			input,
				parameter;
	FmgrInfo	function;

	getTypeInputInfo(getBaseType(SPI_gettypeid(desc, column)), &input, &parameter);
	fmgr_info(input, &function);
	if (function.fn_addr != sno_in)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of relation \"%s\" is not of type sno",
						trigger->tg_trigger->tgargs[0], RelationGetRelationName(trigger->tg_relation))));
	return NULL;
}

static bool
snos_equal(Datum one, Datum other, const void *known)
{
	return sno_compare(DatumGetSnoP(one), DatumGetSnoP(other)) == 0;
}

/*
 * Is the unit of an id before sno_feed_bound?  If it isn't, no watermark is above the id as long as
 * the watermark's snapshot doesn't show the row.  This is true however the id was made.
 */
static bool
sno_is_passed(Datum id, const void *known)
{
	return sno_unpack(DatumGetSnoP(id)).unit < sno_guard_unit();
}

PG_FUNCTION_INFO_V1(sno_watermark_guard);
Datum
sno_watermark_guard(PG_FUNCTION_ARGS)
{
	static const SnoGuard guard = {
		.function = "sno_watermark_guard",
		.call = "sno_watermark_guard('id')",
		.arguments = "needs the name of one column",
		.count = 1,
		.generate = "sno_generate()",
		.watermark = "sno_watermark()",
		.look = look_sno,
		.equal = snos_equal,
		.passed = sno_is_passed
	};

	return sno_guard_row(fcinfo, &guard);
}
