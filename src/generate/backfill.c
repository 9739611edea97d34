/*
 * backfill.c
 *		sno_generate_at(): ids for given times, in any order.
 *
 * They come from partitions that are leased for this purpose, by the session
 * that first needs them, and never again for anything else: neither live ids
 * nor ids for given times of another lease are in such a partition, whatever
 * their times.  Within it the generator core sees to it that none is issued
 * twice.  While times ascend one partition is enough; when they don't, each
 * partition has 65,536 ids for those that come too late.
 *
 * That a partition is used for this purpose once rests on what its row says:
 * both bounds are the last unit of the epoch, which no clock passes.
 *
 *	- It was never leased before: no row names it, of whatever holder, and no
 *	  session of this database had it since the server started.
 *	- The row is flushed before the first id is issued, as with any lease.
 *	- From then on each way to a new lease finds the row or its trace in memory,
 *	  and a floor that the clock is never past: in this server while it runs,
 *	  after a crash or a restart, on a promoted standby, and in a copy or a dump
 *	  of the database, where it is another holder's row.
 *	- The generator's state is in memory only.  Sessions hand it on; what a
 *	  restart loses of it isn't needed, as nobody goes on there.
 *
 * A successor that never received the row can't know, and may use the partition
 * again for the same times.  It is then unlikely to issue the same ids, for it
 * draws timeline and first sequence at random (generator.h).
 *
 * DROP EXTENSION drops the rows, and memory remembers until the server ends.  The
 * rows of other databases aren't looked at: they are kept apart while partitions
 * are left that none of them uses, and after a restart as far as their holders
 * start in different places.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "utils/timestamp.h"

#include "generate/generate.h"
#include "lease/lease.h"
#include "lease/table.h"
#include "type/fields.h"

PG_FUNCTION_INFO_V1(sno_generate_at);

/*
 * Take another partition, a parked one that can issue in the unit or one that
 * was never leased.  False if the table is locked.
 */
static bool
take(Oid function, uint64 unit)
{
	SnoPartition *p = sno_partition_exchange(sno_given, unit, true);

	if (p == NULL)
	{
		Relation	rel = sno_generate_open_table(function);

		if (rel == NULL)
			return false;
		p = sno_generate_reserve(function, rel, sno_given, unit, true);
		sno_table_close(rel);
	}
	if (p == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no partition is left for a sno of a given time"),
				 errdetail("Of the partitions from %d to %d, half may be used for given times, once each, and only if they were never leased.",
						   sno_partition_range.first, sno_partition_range.last),
				 errhint("Widen \"sno.partitions\", and give times in ascending order.")));
	sno_given = p;
	return true;
}

/*
 * Lease this session's partition for good, flushed.  False if the table is
 * locked.  If another holder leases it too, or sno_reseed() revoked it before the
 * table was open, the session gives it up.
 */
static bool
lease(Oid function)
{
	Relation	rel = sno_generate_open_table(function);
	SnoLease	row = {.partition = sno_partition_number(sno_given),
		.generator = sno_given->generator
	};
	XLogRecPtr	lsn;

	if (rel == NULL)
		return false;
	row.generator.ceiling = SNO_UNIT_MAX;
	if (sno_partition_owned(sno_given) && sno_lease_write(rel, &row, &lsn))
	{
		XLogFlush(lsn);
		sno_given->generator.ceiling = SNO_UNIT_MAX;
		sno_given->file = rel->rd_rel->relfilenode;
	}
	else
	{
		sno_partition_abandon(sno_given);
		sno_given = NULL;
	}
	sno_table_close(rel);
	return true;
}

static bool
is_leased(Oid function)
{
	return sno_given->generator.ceiling == SNO_UNIT_MAX &&
		sno_table_holds(function, sno_given->file);
}

/* The word of the next id of a unit, in this session's partition. */
static uint64
next_at(Oid function, uint64 unit)
{
	int64		waiting_since = 0;
	uint64		issued;

	for (;;)
	{
		bool		done;

		if (sno_given == NULL || !sno_partition_owned(sno_given) ||
			!sno_partition_usable(sno_given))
		{
			PreventCommandDuringRecovery("sno_generate_at()");
			sno_generate_begin();
			done = take(function, unit);
		}
		else if (!is_leased(function))
			done = lease(function);
		else if (sno_generator_step_given(&sno_given->generator, unit, &issued) == SNO_ISSUED)
			return issued;
		else
			done = take(function, unit);
		if (!done)
			sno_generate_wait(&waiting_since);
	}
}

Datum
sno_generate_at(PG_FUNCTION_ARGS)
{
	uint64		unit = sno_fields_unit(PG_GETARG_TIMESTAMPTZ(0));
	int			meta = sno_fields_check("metabyte", PG_GETARG_INT32(1),
										SNO_META_MAX);
	uint64		word = next_at(fcinfo->flinfo->fn_oid, unit);
	Sno		   *id = palloc(SNO_SIZE);

	sno_assemble(id, SNO_WORD_TIME(word), meta, sno_partition_number(sno_given),
				 SNO_WORD_SEQUENCE(word));
	PG_RETURN_SNO_P(id);
}
