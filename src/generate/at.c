/*
 * at.c
 *		sno_generate_at(): ids of given times, in any order.
 *
 * The ids come from partitions that are leased for this purpose, and never again for any
 * purpose.  So such a partition contains no ids by the clock, and no ids of given times
 * from another lease.  Within a lease, core/backfill.c issues no id twice.  As long as the
 * given times ascend, one partition is enough.  If a time is earlier than the latest time
 * so far, the id takes a spare sequence, and a partition has at most 65,536 of these.
 *
 * The row of such a partition makes sure that the partition is leased only once: both limits
 * of the row are the last unit that an id can have, which no clock passes.
 *
 *	- A session leases only a partition that was never leased before: no row of any holder
 *	  names it, and no session of this database has leased it since the server started.
 *	- The row is flushed before the first id is issued, as with any lease.
 *	- From then on, a session that wants to lease the partition finds the row, or the
 *	  lease in memory.  Either shows a floor that the clock never passes.  This is true in
 *	  this server, also after a crash or a restart, on a promoted standby, and in a copy or
 *	  a dump of the database, where the row belongs to another holder.
 *	- The state of the generator is in shared memory only.  All sessions use it.  A restart
 *	  loses the state, but nobody needs it then, because the partition isn't used again.
 *
 * A successor that never received the row doesn't know of the lease.  It may use the
 * partition again for the same times.  But it is unlikely to issue the same ids, because
 * the side and the first sequence of each lease are chosen at random.
 *
 * DROP EXTENSION drops the rows, but memory keeps the leases until the server stops.  A
 * database can't read the rows of other databases.  While the server runs, a database
 * prefers partitions that no other database has used.  After a restart, the server doesn't
 * know which partitions were used.  Then it is only likely that databases use different
 * partitions, because each database begins its search at a random partition.
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
