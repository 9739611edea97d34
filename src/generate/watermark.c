/*
 * watermark.c
 *		sno_watermark(): the id below which a feed is complete, and its other functions.
 *
 * shared/feed.c knows the unit.  This file makes the answer for a statement from it.  Each
 * statement gets one answer.  If W rose while the statement reads rows, it could leave out
 * a row and return a later one.  Two statements may have equal snapshots and need different
 * answers, because time goes on.  So the statement's own copy of the snapshot keeps the
 * answer.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xlog.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "catalog/leases.h"
#include "catalog/record.h"
#include "generate/session.h"
#include "generate/wait.h"
#include "shared/feed.h"
#include "type/fields.h"

extern Datum sno_in(PG_FUNCTION_ARGS);

/*
 * Where the active snapshot keeps its answer: the unit plus 1, or 0 if it has none yet.
 * PostgreSQL uses this field only in the snapshot that GetSnapshotData() fills again.  An
 * active snapshot is a copy of that, and all copies begin with 0.
 */
static uint64 *
answer_of(Snapshot snapshot)
{
	Assert(snapshot->copied);
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
 * No watermark is told that the row of the feed doesn't cover, see shared/feed.c.  The
 * row need not cover those that the clock allows by the time it is written.
 */
static void
cover_watermark(void)
{
	uint64		unit = sno_feed_highest();
	SnoWait		wait = {.partition = -1};

	while (!sno_feed_is_covered(unit, sno_leases_file()))
	{
		Relation	rel = sno_session_open_table();

		sno_feed_cover(unit, rel->rd_rel->relfilenode, write_row, rel);
		sno_leases_close(rel);
		sno_wait(&wait, SNO_NO_OBSTACLE, 0);
	}
}

PG_FUNCTION_INFO_V1(sno_watermark);
Datum
sno_watermark(PG_FUNCTION_ARGS)
{
	Sno		   *id = palloc(SNO_SIZE);
	Snapshot	snapshot;
	uint64	   *answer;

	if (!ActiveSnapshotSet())
		elog(ERROR, "no active snapshot set");
	snapshot = GetActiveSnapshot();
	answer = answer_of(snapshot);
	if (*answer == 0)
	{
		PreventCommandDuringRecovery("sno_watermark()");
		if (IsParallelWorker())
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
					 errmsg("cannot execute %s in a parallel worker", "sno_watermark()")));
		sno_session_know_past();
		cover_watermark();
		*answer = sno_feed_lowest(snapshot) + 1;
	}
	sno_assemble(id, (*answer - 1) << 1, 0, 0, 0);
	PG_RETURN_SNO_P(id);
}

PG_FUNCTION_INFO_V1(sno_reset_watermark);
Datum
sno_reset_watermark(PG_FUNCTION_ARGS)
{
	Relation	rel;

	PreventCommandDuringRecovery("sno_reset_watermark()");
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

	PreventCommandDuringRecovery("sno_watermark_blockers()");
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
refuse_trigger(const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
			 errmsg("function \"%s\" %s", "sno_watermark_guard", why),
			 errhint("Create a trigger BEFORE INSERT OR UPDATE ... FOR EACH ROW EXECUTE FUNCTION sno_watermark_guard('id').")));
}

/* The number of the column that a trigger guards. */
static int
guarded_column(const TriggerData *trigger)
{
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	const char *name;
	int			column;
	Oid			input,
				parameter;
	FmgrInfo	function;

	if (!TRIGGER_FIRED_BEFORE(trigger->tg_event) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		refuse_trigger("must be fired for each row, before INSERT or UPDATE");
	/* Another trigger may change the id when no statement names it. */
	if (trigger->tg_trigger->tgnattr != 0)
		refuse_trigger("must not be limited to updates of some columns");
	if (trigger->tg_trigger->tgnargs != 1)
		refuse_trigger("needs the name of one column");
	name = trigger->tg_trigger->tgargs[0];
	column = SPI_fnumber(desc, name);
	if (column <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						name, RelationGetRelationName(trigger->tg_relation))));

	/* PostgreSQL makes the value after the triggers have run. */
	if (TupleDescAttr(desc, column - 1)->attgenerated != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_DEFINITION),
				 errmsg("column \"%s\" of relation \"%s\" is a generated column",
						name, RelationGetRelationName(trigger->tg_relation)),
				 errdetail("Its value is not known yet when function \"%s\" runs.", "sno_watermark_guard"),
				 errhint("Make the id with sno_generate() in the same transaction.")));

	getTypeInputInfo(getBaseType(SPI_gettypeid(desc, column)), &input, &parameter);
	fmgr_info(input, &function);
	if (function.fn_addr != sno_in)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of relation \"%s\" is not of type sno",
						name, RelationGetRelationName(trigger->tg_relation))));
	return column;
}

/*
 * The trigger of a table that is read as a feed.  Whatever made an id: if it isn't of a
 * unit before sno_feed_bound, no watermark above it was told for a snapshot that doesn't
 * show its row, and none will be.
 */
PG_FUNCTION_INFO_V1(sno_watermark_guard);
Datum
sno_watermark_guard(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	int		   *column = fcinfo->flinfo->fn_extra;
	HeapTuple	row;
	TupleDesc	desc;
	Datum		id,
				was;
	bool		isnull;

	if (!CALLED_AS_TRIGGER(fcinfo))
		refuse_trigger("was not called as a trigger");
	if (column == NULL)
	{
		column = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(int));
		*column = guarded_column(trigger);
		fcinfo->flinfo->fn_extra = column;
	}
	desc = RelationGetDescr(trigger->tg_relation);
	row = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple :
		trigger->tg_trigtuple;
	id = heap_getattr(row, *column, desc, &isnull);
	if (isnull)
		PG_RETURN_POINTER(row);
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
	{
		was = heap_getattr(trigger->tg_trigtuple, *column, desc, &isnull);
		if (!isnull && sno_compare(DatumGetSnoP(id), DatumGetSnoP(was)) == 0)
			PG_RETURN_POINTER(row);
	}

	if (sno_feed_bound == SNO_NO_UNIT)
	{
		sno_session_know_past();
		(void) sno_feed_unit();
	}
	if (sno_unpack(DatumGetSnoP(id)).unit < sno_feed_bound)
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("id of relation \"%s\" is older than the transaction that inserts it",
						RelationGetRelationName(trigger->tg_relation)),
				 errdetail("Readers may have read past it already, as they are told by sno_watermark()."),
				 errhint("Make the id with sno_generate() in the same transaction."),
				 errtablecol(trigger->tg_relation, *column)));
	PG_RETURN_POINTER(row);
}
