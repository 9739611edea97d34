/*
 * at.c
 *		sno_generate_at(): ids of given times, in any order.
 *
 * They come from partitions that are leased for this purpose, and never again for
 * anything else.  So neither live ids nor ids of given times of another lease are in
 * such a partition, whatever their times.  Within it core/backfill.c issues no id
 * twice.  While times ascend, one partition is enough.  When they don't, each
 * partition has 65,536 ids for those that come too late.
 *
 * That a partition is used for this purpose once rests on what its row says: both
 * bounds are the last unit of the epoch, which no clock passes.
 *
 *	- It was never leased before: no row names it, of whatever holder, and no
 *	  session of this database had it since the server started.
 *	- The row is flushed before the first id is issued, as with any lease.
 *	- From then on each way to a new lease finds the row or its trace in memory, and
 *	  a floor that the clock is never past: in this server while it runs, after a
 *	  crash or a restart, on a promoted standby, and in a copy or a dump of the
 *	  database, where it is another holder's row.
 *	- The generator's state is in memory only.  Sessions hand it on.  What a restart
 *	  loses of it isn't needed, because nobody goes on there.
 *
 * A successor that never received the row can't know, and may use the partition
 * again for the same times.  It is then unlikely to issue the same ids, because it
 * draws side and first sequence at random.
 *
 * DROP EXTENSION drops the rows, and memory remembers until the server ends.  The
 * rows of other databases aren't looked at.  Databases are kept apart while
 * partitions are left that none of them uses, and after a restart as far as their
 * holders start in different places.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "generate/session.h"
#include "type/fields.h"

PG_FUNCTION_INFO_V1(sno_generate_at);
Datum
sno_generate_at(PG_FUNCTION_ARGS)
{
	uint64		unit = sno_fields_unit(PG_GETARG_TIMESTAMPTZ(0));
	int			meta = sno_fields_check("metabyte", PG_GETARG_INT32(1),
										SNO_META_MAX);
	uint64		word = sno_session_next(SNO_FOR_BACKFILL, unit);
	Sno		   *id = palloc(SNO_SIZE);

	sno_assemble(id, SNO_WORD_TIME(word), meta,
				 sno_partition_number(sno_owned[SNO_FOR_BACKFILL]),
				 SNO_WORD_SEQUENCE(word));
	PG_RETURN_SNO_P(id);
}
