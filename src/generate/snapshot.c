/*
 * snapshot.c
 *		Snapshots of generators, and sno_snapshot_generator() for the partition where this session issued last.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/fmgrprotos.h"

#include "generate/session.h"
#include "generate/snapshot.h"
#include "shared/clock.h"

/* Return a snapshot of a generator in a partition, with this sequence, as if taken in unit `now`. */
Datum
sno_snapshot(const SnoGenerator *g, int partition, uint32 sequence, uint64 now)
{
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(psprintf(
		"{\"partition\": [%d, %d], \"sequenceMin\": %u, \"sequenceMax\": %u, "
		"\"sequence\": %u, \"now\": " UINT64_FORMAT ", \"wallHi\": " UINT64_FORMAT ", "
		"\"wallSafe\": " UINT64_FORMAT ", \"drifts\": %u}",
		partition >> 8, partition & 0xFF, g->sequence_min, g->sequence_max,
		sequence, now, (uint64) SNO_WORD_UNIT(sno_generator_word(g)), (uint64) g->wall_safe, g->drifts)));
}

/* Take a snapshot of a generator now. */
Datum
sno_snapshot_now(const SnoGenerator *g, int partition)
{
	uint64		word = sno_generator_word(g);
	uint64		now = sno_clock_unit();
	uint32		sequence = g->sequence_min;

	/* A snapshot has the last sequence, and the word has the next one. */
	if (now == SNO_WORD_UNIT(word) && SNO_WORD_SEQUENCE(word) > sequence)
		sequence = Min(SNO_WORD_SEQUENCE(word) - 1, g->sequence_max);
	return sno_snapshot(g, partition, sequence, now);
}

PG_FUNCTION_INFO_V1(sno_snapshot_generator);
Datum
sno_snapshot_generator(PG_FUNCTION_ARGS)
{
	const SnoPartition *mine = sno_session_place.p;

	if (mine == NULL)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(sno_snapshot_now(&mine->generator, sno_partition_number(mine)));
}
