/*
 * leasing.c
 *		Leasing partitions, and opening them to all sessions.
 *
 * The session that has the turn of a partition writes, flushes and publishes the lease of the
 * partition (P1).  While a session is leasing a partition, another session that needs a lease waits,
 * but for PATIENCE at most.  Then the waiting session leases a partition itself, and leaves out any
 * partition whose turn another session has.  So a session that is stopped at one of these steps
 * stops no other session (P3).
 *
 * An error at one of these steps releases the turn, and leaves the partition as it was: closed, or
 * open with its former ceiling.  If the row was already written, it is only a higher bound than
 * necessary.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "catalog/definition.h"
#include "catalog/leases.h"
#include "catalog/publish.h"
#include "generate/leasing.h"
#include "generate/session.h"
#include "shared/clock.h"
#include "shared/primary.h"
#include "shared/reserve.h"

/* How long a session waits while another session leases a partition, in µs */
#define PATIENCE		20000

/*
 * The number of partitions that a session may open at once, and the time until it may open one
 * more.  While the clock is steady, a session needs far fewer.  If the clock steps wildly, these
 * limits make the session wait, so that it doesn't use up all partitions.
 */
#define LEASE_BURST			16
#define LEASE_REGAIN_USEC	100000

/*
 * For each purpose, the partition that this transaction opened after it created the table of
 * leases, or NULL.  If the transaction rolls back, the row of the partition is gone.  So the
 * partition isn't listed as open, and no other session issues in it.
 */
static SnoPartition *unlisted[SNO_PURPOSES];

/* How many partitions this session may open now, and the monotonic time of that count, in µs */
static int	leases_left = LEASE_BURST;
static int64 leases_counted_at;

/* If only this transaction issues in a partition for the purpose, close that partition. */
static void
close_unlisted(SnoPurpose purpose)
{
	SnoPartition *p = unlisted[purpose];

	if (p == NULL)
		return;
	sno_generator_end(&p->generator);
	unlisted[purpose] = NULL;
	if (sno_session_place.p == p)
		sno_session_place.p = NULL;
}

static void
at_transaction_event(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE || event == XACT_EVENT_PARALLEL_PRE_COMMIT)
		return;
	for (int purpose = 0; purpose < SNO_PURPOSES; purpose++)
		close_unlisted(purpose);
}

/* Register the callback above.  This runs when the library is loaded. */
void
sno_leasing_init(void)
{
	RegisterXactCallback(at_transaction_event, NULL);
}

/*
 * Compute the ceiling of a lease that begins in this unit.  Returns false if this session can't
 * lease the partition.  A lease for given times covers all units that ids can have.  Any other lease
 * has the usual length, but ends with its grant at the latest.  The new ceiling isn't below the
 * present ceiling in memory, because ids may have been issued up to the present ceiling, and the row
 * with that ceiling may be lost.
 */
static bool
next_ceiling(const SnoPartition *p, uint64 unit, uint64 *ceiling)
{
	SnoGrant	limits;

	if (sno_is_registered())
		sno_grant_renew(&sno_space->grants.partitions, 1);
	else
		/* The server may have got grants of a registry since the last check. */
		sno_grant_check_setting_again();
	if (!sno_partition_is_usable(p) || !sno_partition_find_limits(p, &limits))
		return false;
	*ceiling = !sno_partition_rules(p)->by_clock ? SNO_UNIT_MAX :
		Min(Max(sno_lease_end(unit, sno_lease_half()), p->generator.ceiling), limits.ceiling);
	return true;
}

/* Write the row of a lease of a partition.  Returns false if another holder leases the partition, too. */
bool
sno_leasing_write(Relation rel, SnoPartition *p, uint64 ceiling)
{
	SnoSubject	subject = {
		.kind = SNO_OF_SESSION,
		.partition = sno_partition_number(p),
		.shard = {p->generator.sequence_min, p->generator.sequence_max}
	};

	if (!sno_lease_write(&p->lease, rel, &subject, p->generator, ceiling))
		return false;
	sno_partition_note_use(p);
	return true;
}

/*
 * Write, flush and publish the next lease of a partition whose turn this session has.  Closes the
 * partition if this session can't lease it any more, or if another holder leases it, too.
 */
static SnoObstacle
lease(Relation rel, SnoPartition *p, uint64 unit)
{
	uint64		ceiling;

	if (!next_ceiling(p, unit, &ceiling))
	{
		sno_generator_end(&p->generator);
		return SNO_CLASH;
	}
	if (ceiling < unit)
	{
		sno_grant_ask(&sno_space->grants.partitions, 1);
		return SNO_NO_GRANT;
	}
	if (!sno_leasing_write(rel, p, ceiling))
	{
		sno_generator_end(&p->generator);
		return SNO_CLASH;
	}
	sno_lease_publish(&p->lease, &p->generator, sno_lease_half());
	return SNO_NO_OBSTACLE;
}

/*
 * May this session write the row of an open partition?  If this transaction created the table, a
 * rollback would remove the row, so the transaction writes only the row of its own partition.
 */
static bool
may_write(Relation rel, const SnoPartition *p)
{
	return p == unlisted[p->purpose] || !sno_leases_are_new(rel);
}

typedef struct EarlyLease
{
	SnoPartition *p;
	uint64		now;
} EarlyLease;

/* Renew a lease before it is over, unless another session does so. */
static void
renew_early(void *arg)
{
	EarlyLease *r = arg;
	SnoPartition *p = r->p;
	Relation	rel = sno_leases_open();
	uint64		ceiling;

	if (rel == NULL)
		return;
	if (may_write(rel, p) && sno_turn_try(&p->turn))
	{
		/* Another session may have renewed the lease by now. */
		if (r->now >= p->lease.attention && sno_partition_is_open(p))
		{
			sno_lease_postpone(&p->lease, &p->generator, r->now);
			/* The lease can't be extended beyond its grant, which may not have been renewed yet. */
			if (next_ceiling(p, r->now, &ceiling) && ceiling > p->generator.ceiling)
				(void) lease(rel, p, r->now);
		}
		sno_turn_release(&p->turn);
	}
	sno_leases_close(rel);
}

/* Renew the lease of a partition before it is over.  If that fails, the error is only logged. */
void
sno_leasing_renew_early(SnoPartition *p, uint64 now)
{
	EarlyLease	early = {p, now};

	sno_lease_quietly(renew_early, &early, NULL, sno_partition_number(p));
}

/* May this session open one more partition?  If so, count that partition. */
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

/*
 * Has the registry granted partitions for ids of this unit?  For ids of given times, any grant in
 * force is enough.
 */
static bool
has_grants(SnoPurpose purpose, uint64 unit)
{
	SnoGrants	usable;
	bool		granted;

	if (!sno_is_registered())
		return true;
	usable = sno_partition_ranges();
	granted = !sno_purpose_rules[purpose].by_clock && usable.holder != 0;
	for (int i = 0; i < usable.count; i++)
		granted = granted || sno_grant_covers(&usable.grant[i], unit);
	return granted;
}

/* Could an open partition issue an id of the unit, if its lease covered the unit? */
static bool
would_issue(const SnoPartition *p, uint64 unit)
{
	if (sno_partition_rules(p)->by_clock)
		return sno_generator_ready(&p->generator, unit);
	return sno_backfill_ready(&p->generator, &p->backfill, unit) && sno_partition_is_granted(p, unit);
}

/*
 * Return the obstacle that would keep a session from issuing an id of the unit.  This changes
 * nothing, and doesn't ask the registry.
 */
SnoObstacle
sno_leasing_obstacle(SnoPurpose purpose, uint64 unit, const SnoSurvey *survey)
{
	for (SnoPartition *p = sno_partition_next_open(purpose, NULL); p != NULL; p = sno_partition_next_open(purpose, p))
		if (would_issue(p, unit))
			return SNO_NO_OBSTACLE;
	if (!has_grants(purpose, unit))
		return sno_grants_are_in_vain(&sno_space->grants.partitions) ? SNO_NO_GRANT : SNO_NO_OBSTACLE;
	if (sno_partition_may_reserve(unit, &survey->bounds, survey->holder, purpose))
		return SNO_NO_OBSTACLE;
	return sno_purpose_rules[purpose].by_clock ? SNO_NO_PARTITION : SNO_NO_BACKFILL;
}

/*
 * Reserve a partition for a new lease, store it in *p, and take its turn.  If there is an obstacle,
 * return it, and set *p to NULL.
 */
SnoObstacle
sno_leasing_reserve(Relation rel, SnoPurpose purpose, uint64 unit, SnoPartition **p)
{
	MemoryContext context,
				caller;
	SnoSurvey	survey;

	*p = NULL;
	if (!has_grants(purpose, unit))
	{
		sno_grant_ask(&sno_space->grants.partitions, 1);
		return SNO_NO_GRANT;
	}
	if (sno_purpose_rules[purpose].by_clock && !may_lease())
		return SNO_TOO_FAST;
	context = AllocSetContextCreate(CurrentMemoryContext, "sno bounds", ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(context);
	sno_record_survey(rel, unit, &survey);
	survey.bounds.defined = sno_definition_partitions();
	*p = sno_partition_reserve(unit, &survey.bounds, survey.holder, purpose);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	if (*p != NULL)
		return SNO_NO_OBSTACLE;
	if (!sno_purpose_rules[purpose].by_clock)
		return SNO_NO_BACKFILL;
	if (sno_is_registered())
		sno_grant_ask_more(&sno_space->grants.partitions, unit);
	return SNO_NO_PARTITION;
}

/* Reserve one more partition, lease it, and open it. */
static SnoObstacle
open_one_more(Relation rel, SnoPurpose purpose, uint64 unit)
{
	SnoPartition *p;
	bool		listed = !sno_leases_are_new(rel);
	SnoObstacle obstacle;

	obstacle = sno_leasing_reserve(rel, purpose, unit, &p);
	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	obstacle = lease(rel, p, unit);
	if (obstacle == SNO_NO_OBSTACLE)
		sno_partition_open(p, unit, listed);
	if (obstacle == SNO_NO_OBSTACLE && !listed)
	{
		close_unlisted(purpose);
		unlisted[purpose] = p;
	}
	sno_turn_release(&p->turn);
	return obstacle;
}

/*
 * Return the open partition that this session tries after p, or the first one if p is NULL.  Returns
 * NULL if there is none.  A transaction that opened a partition for itself tries only this partition.
 */
SnoPartition *
sno_leasing_next_open(SnoPurpose purpose, const SnoPartition *p)
{
	SnoPartition *alone = unlisted[purpose];

	if (alone == NULL)
		return sno_partition_next_open(purpose, p);
	return p == NULL && sno_partition_is_usable(alone) && sno_partition_is_open(alone) ? alone : NULL;
}

/* Could an open partition issue in this unit as soon as a row is written or published? */
static bool
needs_row(const SnoPartition *p, uint64 unit)
{
	SnoLeaseTask task = sno_lease_task(&p->lease, &p->generator, unit, sno_leases_file());

	return (task == SNO_LEASE_WRITE || task == SNO_LEASE_PUBLISH) && would_issue(p, unit);
}

/*
 * Renew the lease of the first open partition that only needs a row, unless another session does
 * so.  Returns false if there is no such partition.
 */
static bool
renew_one(Relation rel, SnoPurpose purpose, uint64 unit, SnoObstacle *obstacle)
{
	SnoPartition *p = NULL;

	while ((p = sno_leasing_next_open(purpose, p)) != NULL)
	{
		if (!needs_row(p, unit) || !may_write(rel, p) || !sno_turn_try(&p->turn))
			continue;
		*obstacle = needs_row(p, unit) && sno_partition_is_open(p) ? lease(rel, p, unit) : SNO_NO_OBSTACLE;
		sno_turn_release(&p->turn);
		return true;
	}
	return false;
}

/*
 * Record that this session begins to lease a partition for all sessions.  Stores the monotonic time
 * in *begun.  Returns false if another session is leasing a partition, and began to do so less than
 * PATIENCE ago, and less than half of sno.max_wait ago.  Because of these limits, other sessions soon
 * go on even if an error keeps a session from calling sno_leasing_end().
 */
bool
sno_leasing_begin(uint64 *begun)
{
	uint64		since = pg_atomic_read_u64(&sno_space->partitions.leasing);

	*begun = (uint64) sno_clock_monotonic();
	if (since != 0 && (int64) (*begun - since) < Min(PATIENCE, (int64) sno_max_wait * 500))
		return false;
	return pg_atomic_compare_exchange_u64(&sno_space->partitions.leasing, &since, *begun);
}

void
sno_leasing_end(uint64 begun)
{
	(void) pg_atomic_compare_exchange_u64(&sno_space->partitions.leasing, &begun, 0);
}

/*
 * Lease a partition, because no open partition could issue.  If an open partition only needs a row,
 * renew its lease.  Otherwise open one more partition.
 */
SnoObstacle
sno_leasing_lease_one(SnoPurpose purpose, uint64 unit)
{
	uint64		begun;
	Relation	rel;
	SnoObstacle obstacle;

	sno_require_primary(sno_purpose_rules[purpose].function);
	if (!sno_leasing_begin(&begun))
		return SNO_LEASING;
	rel = sno_leases_open();
	if (rel == NULL)
		obstacle = SNO_TABLE_LOCKED;
	else
	{
		if (!renew_one(rel, purpose, unit, &obstacle))
			obstacle = open_one_more(rel, purpose, unit);
		sno_leases_close(rel);
	}
	sno_leasing_end(begun);
	return obstacle;
}
