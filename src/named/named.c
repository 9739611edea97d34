/*
 * named.c
 *		The functions sno_generate(meta, name) and sno_generate_many(count, meta, name).
 */
#include "postgres.h"

#include "funcapi.h"

#include "generate/generate.h"
#include "named/call.h"
#include "type/fields.h"

static inline int32
check_meta(const SnoUse *use, int32 meta)
{
	if (unlikely(meta < 0 || meta > SNO_META_MAX))
		sno_fields_check("metabyte", meta, SNO_META_MAX);
	if (unlikely(use->definition.meta >= 0 && meta != use->definition.meta))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("metabyte %d does not belong to generator \"%s\"", meta, use->name),
				 errdetail("All its ids have metabyte %d.", use->definition.meta),
				 errhint("Pass that metabyte, or null.")));
	return meta;
}

/*
 * Return the metabyte for the ids of a call: the argument or, if it is null, the metabyte of the
 * definition.  If the definition has no metabyte either, returns -1, and the call issues no id.
 */
static inline int32
meta_of(const SnoUse *use, FunctionCallInfo fcinfo, int argument)
{
	if (unlikely(PG_ARGISNULL(argument)))
		return use->definition.meta;
	return check_meta(use, PG_GETARG_INT32(argument));
}

static inline void
make_named(SnoUse *use, int32 meta, Sno *id)
{
	uint64		word = sno_next(use);

	sno_assemble(id, SNO_WORD_TIME(word), meta, use->definition.subject.partition, SNO_WORD_SEQUENCE(word));
}

PG_FUNCTION_INFO_V1(sno_generate_named);
Datum
sno_generate_named(PG_FUNCTION_ARGS)
{
	SnoCall    *call = fcinfo->flinfo->fn_extra;
	int32		meta;
	Sno		   *id;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	if (unlikely(!sno_call_knows(call, fcinfo, 1)))
		call = sno_call_remember(fcinfo, 1, sizeof(SnoCall), &sno_definitions);
	meta = meta_of(call->use, fcinfo, 0);
	if (unlikely(meta < 0))
		PG_RETURN_NULL();

	id = palloc(SNO_SIZE);
	make_named(call->use, meta, id);
	PG_RETURN_SNO_P(id);
}

/* The state of a call of sno_generate_many() */
typedef struct Many
{
	SnoUse	   *use;
	int32		meta;
	Sno			id;				/* overwritten by the id of the next row, as in many.c */
} Many;

static FuncCallContext *
begin_many_named(FunctionCallInfo fcinfo)
{
	FuncCallContext *call = SRF_FIRSTCALL_INIT();
	Many	   *many = MemoryContextAllocZero(call->multi_call_memory_ctx, sizeof(Many));

	call->user_fctx = many;
	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		return call;			/* no rows */
	many->use = sno_use_of(&sno_definitions, PG_GETARG_TEXT_PP(2));
	many->meta = meta_of(many->use, fcinfo, 1);
	if (many->meta >= 0)
		call->max_calls = sno_many_count(PG_GETARG_INT64(0));
	return call;
}

PG_FUNCTION_INFO_V1(sno_generate_many_named);
Datum
sno_generate_many_named(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	Many	   *many;

	call = SRF_IS_FIRSTCALL() ? begin_many_named(fcinfo) : SRF_PERCALL_SETUP();
	if (call->call_cntr == call->max_calls)
		SRF_RETURN_DONE(call);
	many = call->user_fctx;
	make_named(many->use, many->meta, &many->id);
	SRF_RETURN_NEXT(call, SnoPGetDatum(&many->id));
}
