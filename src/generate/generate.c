/*
 * generate.c
 *		sno_generate(), which issues an id of the present time.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "nodes/supportnodes.h"

#include "generate/generate.h"
#include "type/fields.h"

PG_FUNCTION_INFO_V1(sno_generate);
Datum
sno_generate(PG_FUNCTION_ARGS)
{
	int32		meta = PG_GETARG_INT32(0);
	SnoPartition *p;
	uint64		word;
	Sno		   *id;

	if (unlikely(meta < 0 || meta > SNO_META_MAX))
		(void) sno_fields_check("metabyte", meta, SNO_META_MAX);

	word = sno_generate_next(&p);
	id = palloc(SNO_SIZE);
	sno_assemble(id, SNO_WORD_TIME(word), meta,
				 sno_partition_number(p),
				 SNO_WORD_SEQUENCE(word));
	PG_RETURN_SNO_P(id);
}

/*
 * Attach the session to the feed when a call of a function that issues ids is planned.  Parallel
 * workers may run the call, and they can't issue unless their leader has attached before
 * (shared/feed_memory.c).
 */
PG_FUNCTION_INFO_V1(sno_generate_support);
Datum
sno_generate_support(PG_FUNCTION_ARGS)
{
	if (IsA(PG_GETARG_POINTER(0), SupportRequestSimplify) && !IsParallelWorker())
		sno_feed_attach();
	PG_RETURN_POINTER(NULL);
}
