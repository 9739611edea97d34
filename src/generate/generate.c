/*
 * generate.c
 *		The SQL-callable generators, and the partitions that a session owns.
 *
 * The common case, one more id in the unit of the last one, reads the clock
 * and steps the session's own partition: no lock, no system call.  What is
 * rarer happens at most once a unit, in next_slowly(): taking a partition,
 * renewing its lease, moving on from one that can't issue now.
 *
 * A renewal is begun at half of the lease's life, by a row that is written but
 * not waited for: it is flushed by the time the ceiling is reached, and only
 * then published.  It must not disturb the caller, whose lease is still good,
 * so it runs in a subtransaction whose failure is logged and tried again.  At
 * the ceiling the renewal is done at once, and its errors are the caller's.
 *
 * A partition that this session reserved and then failed to lease remains its
 * own, with a ceiling that lets it issue nothing; the next call goes on there.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "generate/generate.h"
#include "lease/definition.h"
#include "lease/lease.h"
#include "lease/table.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/partition.h"
#include "shared/wait.h"
#include "type/fields.h"

/*
 * New leases that a session may take at once, and how soon it may take one
 * more: many more than a steady clock asks for, few enough that a clock which
 * steps wildly waits instead of eating the pool.
 */
#define LEASE_BURST			16
#define LEASE_REGAIN_USEC	100000

/* The partition that this session owns, or NULL; another one is at.c's. */
static SnoPartition *mine;
SnoPartition *sno_given;

/* The word in which its sequence was seen to be exhausted, counted once. */
static uint64 exhausted;

/* The unit from which on next_slowly() must look at the lease. */
static uint64 attention;

/* What kept this session from issuing since it did so last. */
static enum
{
	NOTHING,					/* it has just to see the unit pass */
	TABLE_LOCKED,
	POOL_USED_UP,
	TOO_FAST					/* for more new leases */
}			obstacle;

/* A renewal that is written but not published; its ceiling is 0 if none is. */
static uint64 pending_ceiling;
static XLogRecPtr pending_lsn;
static RelFileNumber pending_file;

/* New leases that this session may take now, as counted at a monotonic µs. */
static int	leases_left = LEASE_BURST;
static int64 leases_counted_at;

static void
session_end(int code, Datum arg)
{
	if (mine != NULL)
		sno_partition_park(mine);
	if (sno_given != NULL)
		sno_partition_park(sno_given);
	mine = sno_given = NULL;
	sno_activity_end();
}

/*
 * At the first id of a session, at least.  Raises an error if the setting of
 * the partitions that it may use could not be applied.
 */
void
sno_generate_begin(void)
{
	static bool begun = false;

	if (sno_partition_refused != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parameter \"%s\" cannot be set to \"%s\"",
						"sno.partitions", sno_partition_refused),
				 errdetail("No id is made while it is unknown which partitions this server may use."),
				 errhint("Set a valid range in the configuration file, for all roles and databases, and reload it.")));
	if (begun)
		return;
	sno_space_enter();
	sno_activity_begin();
	sno_my_activity->partition = -1;
	before_shmem_exit(session_end, (Datum) 0);
	begun = true;
}

/* The lease of this session's partition is good up to its ceiling. */
static void
lease_stands(void)
{
	uint64		ceiling = mine->generator.ceiling;

	attention = ceiling - Min(ceiling, sno_lease_half());
	pending_ceiling = 0;
}

/* The next sequence of this session's partition, 0 if it has none. */
static uint32
sequence(void)
{
	return mine == NULL ? 0 : SNO_WORD_SEQUENCE(sno_generator_word(&mine->generator));
}

/*
 * Begin to issue in a partition that this session has come to own, or in none
 * (NULL), having left another one at sequence `left`.
 */
static void
own(SnoPartition *p, uint32 left)
{
	mine = p;
	exhausted = 0;
	sno_my_activity->partition = p == NULL ? -1 : sno_partition_number(p);
	sno_counters_go_on(&sno_my_activity->own, left, sequence());
	if (p != NULL)
		lease_stands();
}

/* Open the table as sno_table_open() does, and remember what is in the way. */
Relation
sno_generate_open_table(Oid function)
{
	Relation	rel = sno_table_open(function);

	if (rel == NULL)
		obstacle = TABLE_LOCKED;
	else if (obstacle == TABLE_LOCKED)
		obstacle = NOTHING;
	return rel;
}

/* Give up the partition of this session, which then owns none. */
static void
give_up_mine(void (*give_back) (SnoPartition *))
{
	uint32		left = sequence();

	give_back(mine);
	own(NULL, left);
}

/*
 * Write a lease of this session's partition, from now on, and for as long as
 * the one that memory knows of, whose row may be lost.  False if the table is
 * locked.  If another holder leases the partition too, or sno_reseed() revoked
 * it before the table was open, the session gives it up.
 */
static bool
write_lease(Oid function, uint64 now)
{
	Relation	rel = sno_generate_open_table(function);
	SnoLease	lease = {.partition = sno_partition_number(mine),
		.generator = mine->generator
	};
	uint64		ceiling = Min(now + 2 * sno_lease_half(), SNO_UNIT_MAX);

	if (rel == NULL)
		return false;
	lease.generator.ceiling = Max(ceiling, mine->generator.ceiling);
	if (!sno_partition_owned(mine))
		give_up_mine(sno_partition_park);
	else if (sno_lease_write(rel, &lease, &pending_lsn))
	{
		pending_ceiling = lease.generator.ceiling;
		pending_file = rel->rd_rel->relfilenode;
	}
	else
		give_up_mine(sno_partition_abandon);
	sno_table_close(rel);
	return true;
}

/* Make use of the renewal that is written. */
static void
publish(void)
{
	XLogFlush(pending_lsn);
	mine->generator.ceiling = pending_ceiling;
	mine->file = pending_file;
	lease_stands();
}

/* Renew the lease now, flushed and published; results are write_lease()'s. */
static bool
renew(Oid function, uint64 now)
{
	if (pending_ceiling < now || pending_file != sno_table_file(function))
	{
		if (!write_lease(function, now))
			return false;
		if (mine == NULL)
			return true;
	}
	publish();
	return true;
}

/*
 * Renew a lease that covers what is issued now, so that a failure is no error
 * yet: it is logged, and what it began is rolled back.
 */
void
sno_generate_quietly(void (*renew) (void *), void *arg, int partition)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	/* Parallel operations can't have subtransactions: renew at the ceiling. */
	if (IsInParallelMode())
		return;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		renew(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
			ReThrowError(error);
		sno_journal_failure(partition, error->message);
		ereport(LOG,
				(errmsg("could not renew the lease of partition %d yet: %s",
						partition, error->message),
				 error->detail ? errdetail_internal("%s", error->detail) : 0,
				 error->hint ? errhint("%s", error->hint) : 0));
		FreeErrorData(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
}

typedef struct Renewal
{
	Oid			function;
	uint64		now;
} Renewal;

/* Write the next lease, without waiting for its flush. */
static void
renew_early(void *arg)
{
	Renewal    *r = arg;
	uint64		ceiling = mine->generator.ceiling;

	if (write_lease(r->function, r->now) && mine != NULL)
	{
		XLogSetAsyncXactLSN(pending_lsn);
		attention = ceiling + 1;
	}
}

/* May this session take one more new lease? Counts it. */
static bool
may_lease(void)
{
	int64		now = sno_clock_monotonic();
	int64		regained = (now - leases_counted_at) / LEASE_REGAIN_USEC;

	if (regained > 0)
	{
		leases_left = (int) Min(leases_left + regained, LEASE_BURST);
		leases_counted_at = now;
	}
	if (leases_left == 0)
		return false;
	leases_left--;
	return true;
}

/* Reserve a partition for a new lease, as sno_partition_reserve() does. */
SnoPartition *
sno_generate_reserve(Oid function, Relation rel, SnoPartition *old, uint64 now,
					 bool given)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "sno bounds",
												  ALLOCSET_DEFAULT_SIZES);
	SnoBounds	bounds = {0};
	uint64		holder;
	SnoPartition *p;
	MemoryContext caller;

	sno_lease_survey(rel, &bounds, &holder, context);
	caller = MemoryContextSwitchTo(context);
	bounds.defined = sno_definition_partitions(function);
	MemoryContextSwitchTo(caller);
	p = sno_partition_reserve(old, now, &bounds, holder, given);
	MemoryContextDelete(context);
	return p;
}

/*
 * Move to another partition, one that can issue now or one that is reserved
 * for a new lease, and park the one we have.  False, and no change, if there is
 * none to be had.
 */
static bool
move(Oid function, uint64 now)
{
	SnoPartition *p;
	Relation	rel;
	uint32		left = sequence();

	PreventCommandDuringRecovery("sno_generate()");

	/* What we leave behind is to come back with the lease that is written. */
	if (mine != NULL && pending_ceiling != 0 && pending_file == mine->file)
		publish();

	p = sno_partition_exchange(mine, now, false);
	if (p != NULL)
	{
		own(p, left);
		return true;
	}
	rel = sno_generate_open_table(function);
	if (rel == NULL)
		return false;
	if (!may_lease())
	{
		/* What was in the way before is more to the point. */
		if (obstacle == NOTHING)
			obstacle = TOO_FAST;
		sno_table_close(rel);
		return false;
	}

	p = sno_generate_reserve(function, rel, mine, now, false);
	if (p != NULL)
		own(p, left);
	else
		obstacle = POOL_USED_UP;
	sno_table_close(rel);
	return p != NULL;
}

/* No id was to be had for sno.max_wait: say why. */
static void
give_up(void)
{
	if (obstacle == TABLE_LOCKED)
		sno_table_give_up(SNO_TABLE_NAME, "ROW SHARE");
	if (obstacle == POOL_USED_UP)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no partition was free for a sno within %d ms", sno_max_wait),
				 errdetail("All partitions from %d to %d belong to other sessions, or rest until the clock has passed what they issued.",
						   sno_partition_range.first, sno_partition_range.last),
				 errhint("Widen \"sno.partitions\", or end sessions that don't generate any more.")));
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("no partition could issue a sno within %d ms", sno_max_wait),
			 errdetail("This session takes new partitions at a limited rate, and those it had are used up or behind a clock that stepped back."),
			 errhint("Raise \"sno.max_wait\", or set the system clock right.")));
}

/* It may have been revoked since it was taken, or the setting changed. */
static bool
may_issue(const SnoPartition *p)
{
	return sno_partition_owned(p) && sno_partition_usable(p);
}

/*
 * Give up the partitions of this session that it can't use any more, before it
 * waits: others, those of a named generator say, may be waiting for them.
 */
void
sno_generate_release_unusable(void)
{
	if (mine != NULL && !may_issue(mine))
		give_up_mine(sno_partition_park);
	if (sno_given != NULL && !may_issue(sno_given))
	{
		sno_partition_park(sno_given);
		sno_given = NULL;
	}
}

/*
 * Wait a little.  *since is 0 at first.  Raises an error after sno.max_wait.
 */
void
sno_generate_wait(int64 *since)
{
	sno_generate_release_unusable();
	if (!sno_wait(since, &sno_my_activity->own, NULL, -1, 1))
		give_up();
}

/* Step this session's partition, if it has one, under a lease that holds now. */
static SnoStep
step_mine(Oid function, uint64 now, uint64 *issued)
{
	SnoStep		step;
	uint64		before;

	if (mine == NULL || !may_issue(mine))
		return SNO_EXHAUSTED;

	/* Units were left out, or the clock went back. */
	if (now - SNO_WORD_UNIT(sno_generator_word(&mine->generator)) > 1)
		sno_clock_watch();

	if (!sno_table_holds(function, mine->file))
		return SNO_LEASE_OVER;

	if (now >= attention && now <= mine->generator.ceiling)
	{
		Renewal		renewal = {function, now};

		/* If this fails, it is tried again when half of what is left is over. */
		attention = now + (mine->generator.ceiling - now) / 2 + 1;
		sno_generate_quietly(renew_early, &renewal, sno_partition_number(mine));
		if (mine == NULL)
			return SNO_EXHAUSTED;
	}

	before = sno_generator_word(&mine->generator);
	step = sno_generator_step(&mine->generator, now, issued);
	if (step == SNO_ISSUED)
		sno_counters_go_on(&sno_my_activity->own, SNO_WORD_SEQUENCE(before),
						   SNO_WORD_SEQUENCE(*issued));
	else if (step == SNO_EXHAUSTED && before != exhausted)
	{
		sno_counters_exhausted(&sno_my_activity->own);
		exhausted = before;
	}
	return step;
}

/*
 * The next id's word, where it isn't just the next sequence of the same unit.
 * `function` is the SQL function that was called.
 */
static pg_noinline uint64
next_slowly(Oid function)
{
	int64		waiting_since = 0;

	sno_generate_begin();
	for (;;)
	{
		uint64		now = sno_clock_unit();
		uint64		issued = 0;
		SnoStep		step = step_mine(function, now, &issued);

		if (step == SNO_ISSUED)
		{
			obstacle = NOTHING;
			return issued;
		}
		if (step == SNO_LEASE_OVER ? renew(function, now) : move(function, now))
			continue;
		sno_generate_wait(&waiting_since);
	}
}

/*
 * The next id of this session.  The word is loaded before the clock is read, so
 * that the reading is never older than the state that it is compared with.
 */
static inline uint64
next(Oid function)
{
	if (likely(mine != NULL && sno_partition_owned(mine)))
	{
		uint64		unit = SNO_WORD_UNIT(sno_generator_word(&mine->generator));
		uint64		issued;

		if (likely(sno_clock_unit() == unit) &&
			sno_generator_step(&mine->generator, unit, &issued) == SNO_ISSUED)
			return issued;
	}
	return next_slowly(function);
}

/*
 * The next id's word, for other generators of this session, and the partition
 * that issued it.
 */
SnoPartition *
sno_generate_next(Oid function, uint64 *issued)
{
	*issued = next(function);
	return mine;
}

/* The partition that this session owns, or NULL. */
const SnoPartition *
sno_generate_mine(void)
{
	return mine;
}

PG_FUNCTION_INFO_V1(sno_generate);
Datum
sno_generate(PG_FUNCTION_ARGS)
{
	int32		meta = PG_GETARG_INT32(0);
	uint64		word;
	Sno		   *id;

	if (unlikely(meta < 0 || meta > SNO_META_MAX))
		(void) sno_fields_check("metabyte", meta, SNO_META_MAX);

	word = next(fcinfo->flinfo->fn_oid);
	id = palloc(SNO_SIZE);
	sno_assemble(id, SNO_WORD_TIME(word), meta, sno_partition_number(mine),
				 SNO_WORD_SEQUENCE(word));
	PG_RETURN_SNO_P(id);
}
