/*
 * at.c
 *		sno_generate_at(): ids of given times, in any order.
 *
 * These ids come from partitions that are leased for this purpose, and for no other one
 * afterwards.  So such a partition has no live ids, and no ids of given times of another
 * lease.  Within the partition core/backfill.c issues no id twice.  While times ascend, one
 * partition is enough.  When they don't ascend, each partition has 65,536 ids for times
 * that come too late.
 *
 * A partition is used for this purpose only once, because of its row: both bounds are
 * the last unit of the epoch, which no clock passes.
 *
 *	- The partition was never leased before: no row of any holder names it, and no
 *	  session of this database had it since the server started.
 *	- The row is flushed before the first id is issued, as with any lease.
 *	- From then on, a session that wants to lease the partition finds the row or its trace
 *	  in memory, and so a floor that the clock never passes.  This is true in this server
 *	  while it runs, after a crash or a restart, on a promoted standby, and in a copy or
 *	  a dump of the database, where the row belongs to another holder.
 *	- The generator's state is in memory only.  Sessions hand it on.  A restart loses it,
 *	  but nobody needs it then, because nobody goes on in the partition.
 *
 * A successor that never received the row can't know of it, and may use the partition
 * again for the same times.  Then it is unlikely to issue the same ids, because it
 * draws side and first sequence at random.
 *
 * DROP EXTENSION drops the rows, and memory remembers until the server ends.  No database
 * looks at the rows of others.  Databases use different partitions while some are unused.
 * After a restart, they do so as far as their holders start in different places.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "catalog/table.h"
#include "generate/session.h"
#include "type/fields.h"

PG_FUNCTION_INFO_V1(sno_generate_at);
Datum
sno_generate_at(PG_FUNCTION_ARGS)
{
	uint64		unit = sno_fields_unit(PG_GETARG_TIMESTAMPTZ(0));
	int			meta = sno_fields_check("metabyte", PG_GETARG_INT32(1),
										SNO_META_MAX);
	uint64		word;
	SnoPartition *p;
	Sno		   *id = palloc(SNO_SIZE);

	sno_owner_check(fcinfo);
	word = sno_session_next(SNO_FOR_BACKFILL, unit, &p);
	sno_assemble(id, SNO_WORD_TIME(word), meta,
				 sno_partition_number(p),
				 SNO_WORD_SEQUENCE(word));
	PG_RETURN_SNO_P(id);
}
