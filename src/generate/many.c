/*
 * many.c
 *		sno_generate_many(): any number of new ids from one call.
 *
 * The ids are the same, and in the same order, as if sno_generate() were called `count` times.
 * Between two rows, the session may also issue ids by other functions.  sno_generate_many() is
 * faster than sno_generate() because it reads the clock less often, and writes each id into the
 * memory of the previous id.  So a caller that wants to keep an id must copy the id before
 * it requests the next row.
 */
#include "postgres.h"

#include "funcapi.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"

#include "core/generator.h"
#include "generate/generate.h"
#include "shared/clock.h"
#include "type/fields.h"

/* A value that sno_clock_tick() never returns */
#define NO_TICK		PG_INT64_MIN

/* A run of ids that differ in their sequences only, and the latest id of the run */
typedef struct Run
{
	SnoPartition *p;
	uint64		time;			/* unit and tick-tock */
	int64		tick;			/* sno_clock_tick() at the first id of the run; NO_TICK if there
								 * is no id yet */
	Sno			id;
} Run;

/* Return the number of ids that a caller wants.  Raises 22023 if it is negative. */
uint64
sno_many_count(int64 count)
{
	if (count < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of ids must not be negative: %lld",
						(long long) count)));
	return count;
}

static pg_noinline FuncCallContext *
begin_call(FunctionCallInfo fcinfo)
{
	uint64		count = sno_many_count(PG_GETARG_INT64(0));
	FuncCallContext *call;
	Run		   *run;

	(void) sno_fields_check("metabyte", PG_GETARG_INT32(1), SNO_META_MAX);

	call = SRF_FIRSTCALL_INIT();
	call->max_calls = count;
	run = MemoryContextAllocZero(call->multi_call_memory_ctx, sizeof(Run));
	run->tick = NO_TICK;
	call->user_fctx = run;
	return call;
}

/* Issue the next id by the clock, and begin a run with it. */
static pg_noinline void
begin_run(Run *run, int64 tick, int meta)
{
	uint64		word = sno_generate_next(&run->p);

	run->time = SNO_WORD_TIME(word);
	run->tick = tick;
	sno_assemble(&run->id, run->time, meta, sno_partition_number(run->p),
				 SNO_WORD_SEQUENCE(word));
}

/*
 * Issue one more id of the run.  Returns false if the clock may have moved on, if the session has
 * gone on to another unit or partition, or if the sequence is exhausted.  If another session enters
 * another unit meanwhile, the addition may issue an id of that unit.  This id is not used.
 */
static inline bool
go_on_run(Run *run, int64 tick)
{
	uint64_t	word;

	if (tick != run->tick || run->p != sno_session_place.p)
		return false;
	word = sno_generator_load(&run->p->generator);
	if (SNO_WORD_TIME(word) != run->time ||
		sno_generator_share(&run->p->generator, word, SNO_WORD_UNIT(word), 0, &word) != SNO_ISSUED ||
		SNO_WORD_TIME(word) != run->time)
		return false;
	sno_set_sequence(&run->id, SNO_WORD_SEQUENCE(word));
	return true;
}

PG_FUNCTION_INFO_V1(sno_generate_many);
Datum
sno_generate_many(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	Run		   *run;
	int64		tick;

	call = SRF_IS_FIRSTCALL() ? begin_call(fcinfo) : SRF_PERCALL_SETUP();
	if (call->call_cntr == call->max_calls)
		SRF_RETURN_DONE(call);

	run = call->user_fctx;
	tick = sno_clock_tick();
	if (!likely(go_on_run(run, tick)))
		begin_run(run, tick, PG_GETARG_INT32(1));
	SRF_RETURN_NEXT(call, SnoPGetDatum(&run->id));
}

/* Tell the planner the number of rows of a call, if it is known when the call is planned. */
PG_FUNCTION_INFO_V1(sno_many_support);
Datum
sno_many_support(PG_FUNCTION_ARGS)
{
	SupportRequestRows *request = (SupportRequestRows *) PG_GETARG_POINTER(0);
	List	   *args;
	Node	   *count;

	if (!IsA(request, SupportRequestRows) || !is_funcclause(request->node))
		PG_RETURN_POINTER(NULL);
	args = ((FuncExpr *) request->node)->args;
	count = estimate_expression_value(request->root, linitial(args));
	if (!IsA(count, Const))
		PG_RETURN_POINTER(NULL);
	request->rows = castNode(Const, count)->constisnull ? 0 :
		Max(DatumGetInt64(castNode(Const, count)->constvalue), 0);
	PG_RETURN_POINTER(request);
}
