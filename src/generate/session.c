/*
 * session.c
 *		The partitions of a session, from its first id to its end.
 *
 * A session owns at most one partition for each purpose: one for the clock and one
 * for backfill.  Each has a lease.  What sno_session_next() does next depends on the
 * lease, the clock and the table's file alone, see sno_lease_task(): write a row,
 * publish its ceiling, or issue an id.  If the partition can't issue one, the
 * session moves on to another: one that is parked, or one that it leases anew.
 *
 * A partition that the session reserved and then failed to lease remains its own,
 * with a ceiling that lets it issue nothing.  The next call goes on there.
 *
 * What the session can't use any more it gives up before it waits, because others
 * may be waiting for it: those that use a named generator, say.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

#include "generate/session.h"
#include "generate/wait.h"
#include "catalog/definition.h"
#include "catalog/publish.h"
#include "catalog/record.h"
#include "catalog/table.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/feed.h"

/*
 * New leases that a session may take at once, and how soon it may take one more:
 * many more than a steady clock asks for, but few enough that a session waits while
 * its clock steps wildly, instead of using up all partitions.
 */
#define LEASE_BURST			16
#define LEASE_REGAIN_USEC	100000

SnoPartition *sno_session_partition[2];

/* The session generator's state word when its unit was exhausted; counted once. */
static uint64 exhausted_word;

/* New leases that this session may take now, as counted at a monotonic µs. */
static int	leases_left = LEASE_BURST;
static int64 leases_counted_at;

static void
end_session(int code, Datum arg)
{
	for (int purpose = 0; purpose < 2; purpose++)
	{
		if (sno_session_partition[purpose] != NULL)
			sno_partition_park(sno_session_partition[purpose]);
		sno_session_partition[purpose] = NULL;
	}
	sno_activity_end();
}

/* Open the table of leases.  Waits sno.max_wait at most, then raises 55P03. */
Relation
sno_session_open_table(void)
{
	SnoWait		wait = {.partition = -1};
	Relation	rel;

	sno_session_begin();
	while ((rel = sno_table_open()) == NULL)
		sno_wait(&wait, SNO_TABLE_LOCKED, 1);
	return rel;
}

static uint64
promised_before(void *arg)
{
	return sno_record_promised((Relation) arg);
}

/*
 * Before the first id or the first watermark since the server started, whichever comes
 * first: see sno_feed_recall().  A standby issues nothing.
 */
void
sno_session_know_past(void)
{
	Relation	rel;

	if (sno_feed_knows_past() || RecoveryInProgress())
		return;
	rel = sno_session_open_table();
	sno_feed_recall(promised_before, rel);
	sno_table_close(rel);
}

/* At the first id of a session, at least, of whatever generator. */
void
sno_session_begin(void)
{
	static bool begun = false;

	if (begun)
		return;
	sno_space_enter();
	sno_activity_begin();
	before_shmem_exit(end_session, (Datum) 0);
	begun = true;
}

/*
 * The same, for a session that wants partitions of its own.  Raises an error if it
 * isn't known which ones it may use.
 */
void
sno_session_begin_own(void)
{
	sno_partition_check_setting();
	sno_grant_check_setting();
	sno_session_begin();
	if (sno_my_activity->partition == SNO_NAMED_ONLY)
		sno_my_activity->partition = -1;
}

/* The next sequence of the session generator, 0 if it has no partition. */
static uint32
clock_sequence(void)
{
	const SnoPartition *p = sno_session_partition[SNO_FOR_CLOCK];

	return p == NULL ? 0 : SNO_WORD_SEQUENCE(sno_generator_word(&p->generator));
}

/*
 * Go on in another partition, or in none (NULL).  `left` is the clock_sequence() of
 * before: it counts the ids issued there.
 */
static void
enter_partition(SnoPurpose purpose, SnoPartition *p, uint32 left)
{
	sno_session_partition[purpose] = p;
	if (purpose == SNO_FOR_BACKFILL)
		return;
	exhausted_word = 0;
	sno_my_activity->partition = p == NULL ? -1 : sno_partition_number(p);
	sno_counters_go_on(&sno_my_activity->own, left, clock_sequence());
}

static void
give_up_partition(SnoPurpose purpose, void (*give_back) (SnoPartition *))
{
	uint32		left = clock_sequence();

	give_back(sno_session_partition[purpose]);
	enter_partition(purpose, NULL, left);
}

/* May the session go on issuing in its partition? */
static bool
may_issue_in(const SnoPartition *p)
{
	return sno_partition_owned(p) && sno_partition_usable(p);
}

/* Give up the partitions of this session that it can't use any more. */
void
sno_session_release_unusable(void)
{
	for (int purpose = 0; purpose < 2; purpose++)
		if (sno_session_partition[purpose] != NULL &&
			!may_issue_in(sno_session_partition[purpose]))
			give_up_partition(purpose, sno_partition_park);
}

/*
 * Up to where to lease a partition in this unit: for the clock from now on, and at least
 * as long as memory knows of, because that row may be lost, but no longer than granted;
 * for backfill, to the end of the epoch.  0 if nothing was granted there.
 */
static uint64
next_ceiling(const SnoPartition *p, uint64 unit)
{
	SnoGrant	limits;

	if (sno_is_registered())
		sno_grant_renew();
	else
		/* It may have been set, and this session not have seen it. */
		sno_grant_check_setting_again();
	if (!sno_partition_limits(p, &limits))
		return 0;
	return p->is_backfill ? SNO_UNIT_MAX :
		Min(Max(sno_lease_end(unit, sno_lease_half()), p->generator.ceiling), limits.ceiling);
}

/* Write the row of a lease of a whole partition.  False if another holder leases it, too. */
static bool
write_whole(Relation rel, SnoPartition *p, uint64 ceiling)
{
	SnoSubject	subject = {
		sno_partition_number(p), false, {p->generator.sequence_min, p->generator.sequence_max}
	};

	return sno_lease_write(&p->lease, rel, &subject, p->generator, ceiling);
}

/*
 * Write the row of a lease for the session's partition.  If another holder leases the
 * partition too, if it isn't granted any more, or if sno_reseed() revoked it before the
 * table was open, the session gives it up.
 */
static SnoObstacle
write_session_lease(SnoPurpose purpose, uint64 unit)
{
	SnoPartition *p = sno_session_partition[purpose];
	uint64		ceiling = next_ceiling(p, unit);
	SnoObstacle obstacle = SNO_NO_OBSTACLE;
	Relation	rel;

	if (ceiling != 0 && ceiling < unit)
	{
		sno_grant_ask();
		return SNO_NO_GRANT;
	}
	rel = sno_table_open();
	if (rel == NULL)
		return SNO_TABLE_LOCKED;
	if (ceiling == 0 || !sno_partition_owned(p))
	{
		/* If it were parked, we would take it again. */
		give_up_partition(purpose, sno_partition_abandon);
		obstacle = SNO_CLASH;
	}
	else if (!write_whole(rel, p, ceiling))
	{
		give_up_partition(purpose, sno_partition_abandon);
		obstacle = SNO_CLASH;
	}
	else if (purpose == SNO_FOR_BACKFILL)
		/* A row to the end of the epoch must not stay without its ceiling. */
		sno_lease_publish(&p->lease, &p->generator, sno_lease_half());
	sno_table_close(rel);
	return obstacle;
}

/* Write the next lease, without waiting for its flush. */
static void
renew_session_early(void *arg)
{
	uint64		now = *(uint64 *) arg;
	SnoPartition *p = sno_session_partition[SNO_FOR_CLOCK];

	/* As long as the grant isn't renewed, the lease can't be either. */
	if (next_ceiling(p, now) <= p->generator.ceiling)
		return;
	if (write_session_lease(SNO_FOR_CLOCK, now) == SNO_NO_OBSTACLE)
		sno_lease_flush_later(&p->lease, &p->generator);
}

/* May this session take one more new lease?  Counts it. */
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
 * Has the registry granted partitions for ids of this unit?  For given times it is enough
 * that it granted any.  If not, it is asked.
 */
static bool
has_grants(SnoPurpose purpose, uint64 unit)
{
	SnoGrants	usable;
	bool		granted;

	if (!sno_is_registered())
		return true;
	usable = sno_partition_ranges();
	granted = purpose == SNO_FOR_BACKFILL && usable.holder != 0;
	for (int i = 0; i < usable.count; i++)
		granted = granted || sno_grant_covers(&usable.grant[i], unit);
	if (!granted)
		sno_grant_ask();
	return granted;
}

/* Reserve a partition for a new lease, and park the one that the session has. */
static SnoObstacle
reserve_partition(Relation rel, SnoPurpose purpose, uint64 unit)
{
	uint32		left = clock_sequence();
	MemoryContext context,
				caller;
	SnoSurvey	survey;
	SnoPartition *p;

	if (!has_grants(purpose, unit))
		return SNO_NO_GRANT;
	if (purpose == SNO_FOR_CLOCK && !may_lease())
		return SNO_TOO_FAST;
	context = AllocSetContextCreate(CurrentMemoryContext, "sno bounds", ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(context);
	sno_record_survey(rel, unit, &survey);
	survey.bounds.defined = sno_definition_partitions();
	p = sno_partition_reserve(sno_session_partition[purpose], unit, &survey.bounds,
							  survey.holder, purpose);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	if (p == NULL)
	{
		if (purpose == SNO_FOR_BACKFILL)
			return SNO_NO_BACKFILL;
		if (sno_is_registered())
			sno_grant_ask_more(unit);
		return SNO_NO_PARTITION;
	}
	enter_partition(purpose, p, left);
	return SNO_NO_OBSTACLE;
}

/*
 * Move on to another partition, and park the one that the session has.  It is one
 * that can issue now, or one that is reserved for a new lease.  Nothing changes if
 * there is an obstacle.
 */
static SnoObstacle
move_on(SnoPurpose purpose, uint64 unit)
{
	uint32		left = clock_sequence();
	SnoObstacle obstacle;
	SnoPartition *p;
	Relation	rel;

	PreventCommandDuringRecovery(purpose == SNO_FOR_CLOCK ? "sno_generate()" :
								 "sno_generate_at()");
	p = sno_partition_exchange(sno_session_partition[purpose], unit, purpose);
	if (p != NULL)
	{
		enter_partition(purpose, p, left);
		return SNO_NO_OBSTACLE;
	}
	rel = sno_table_open();
	if (rel == NULL)
		return SNO_TABLE_LOCKED;
	obstacle = reserve_partition(rel, purpose, unit);
	sno_table_close(rel);
	return obstacle;
}

/* Lease the session's partition, just reserved, up to `until`, and put it at rest. */
static SnoObstacle
lend_reserved(Relation rel, uint64 until, SnoLoan *loan)
{
	SnoPartition *p = sno_session_partition[SNO_FOR_CLOCK];
	SnoGrant	limits;
	bool		written;

	if (!sno_partition_limits(p, &limits))
	{
		give_up_partition(SNO_FOR_CLOCK, sno_partition_abandon);
		return SNO_CLASH;
	}
	until = Min(until, limits.ceiling);
	loan->partition = sno_partition_number(p);
	written = write_whole(rel, p, until);
	if (written)
		sno_lease_publish(&p->lease, &p->generator, sno_lease_half());
	loan->generator = p->generator;
	/* The borrower may issue on both sides, and a named generator looks at this. */
	if (written)
		sno_generator_start(&p->generator, until, 0, SNO_SEQUENCE_MAX);
	give_up_partition(SNO_FOR_CLOCK, sno_partition_abandon);
	return written ? SNO_NO_OBSTACLE : SNO_CLASH;
}

/*
 * Lease a partition for somebody else, for a number of units from now on.  It rests
 * afterwards, as a partition does whose session has ended: nobody else has it before
 * the end of the lease, in this server or in one that goes on with its rows.  If an error
 * comes before it rests, it is the session's own.  Waits sno.max_wait at most.
 */
SnoLoan
sno_session_lend(uint64 units)
{
	SnoWait		wait = {.partition = -1};
	SnoLoan		loan;
	SnoObstacle obstacle;

	sno_session_begin_own();
	do
	{
		uint64		now = sno_clock_unit();
		Relation	rel = sno_table_open();

		obstacle = rel == NULL ? SNO_TABLE_LOCKED : reserve_partition(rel, SNO_FOR_CLOCK, now);
		if (obstacle == SNO_NO_OBSTACLE)
			/* The last unit of the epoch marks partitions for given times. */
			obstacle = lend_reserved(rel, Min(now + units, SNO_UNIT_MAX - 1), &loan);
		if (rel != NULL)
			sno_table_close(rel);
		if (obstacle != SNO_NO_OBSTACLE)
			sno_wait(&wait, obstacle, 1);
	} while (obstacle != SNO_NO_OBSTACLE);
	return loan;
}

/* Step the session generator, and count what happens. */
static SnoStep
step_clock(SnoPartition *p, uint64 now, uint64 *issued)
{
	uint64		before = sno_generator_word(&p->generator);
	SnoStep		step = sno_generator_step(&p->generator, now, issued);

	if (step == SNO_ISSUED)
		sno_counters_go_on(&sno_my_activity->own, SNO_WORD_SEQUENCE(before),
						   SNO_WORD_SEQUENCE(*issued));
	else if (step == SNO_EXHAUSTED && before != exhausted_word)
	{
		sno_counters_exhausted(&sno_my_activity->own);
		exhausted_word = before;
	}
	return step;
}

/*
 * Issue an id of the unit, if the session's partition can.  If not, take one step towards
 * it: lease the partition, or move on to another one.
 */
static SnoObstacle
issue_own_or_prepare(SnoPurpose purpose, uint64 unit, uint64 *issued, SnoStep *step)
{
	SnoPartition *p = sno_session_partition[purpose];

	if (p == NULL || !may_issue_in(p) || !sno_partition_is_granted(p, unit))
		return move_on(purpose, unit);

	/* Units were left out, or the clock went back. */
	if (purpose == SNO_FOR_CLOCK &&
		unit - SNO_WORD_UNIT(sno_generator_word(&p->generator)) > 1)
		sno_clock_watch();

	switch (sno_lease_task(&p->lease, &p->generator, unit, sno_table_file()))
	{
		case SNO_LEASE_WRITE:
			return write_session_lease(purpose, unit);
		case SNO_LEASE_PUBLISH:
			sno_lease_publish(&p->lease, &p->generator, sno_lease_half());
			return SNO_NO_OBSTACLE;
		case SNO_LEASE_RENEW_EARLY:
			sno_lease_postpone(&p->lease, &p->generator, unit);
			sno_lease_quietly(renew_session_early, &unit, sno_partition_number(p));
			if (sno_session_partition[purpose] == NULL)
				return SNO_NO_OBSTACLE;
			break;
		case SNO_LEASE_ISSUE:
			break;
	}
	*step = purpose == SNO_FOR_CLOCK ? step_clock(p, unit, issued) :
		sno_backfill_step(&p->generator, &p->backfill, unit, issued);
	if (*step == SNO_ISSUED ||
		(*step == SNO_EXHAUSTED && purpose == SNO_FOR_CLOCK && sno_feed_move_on(unit)))
		return SNO_NO_OBSTACLE;
	return move_on(purpose, unit);
}

/*
 * The state word of the session's next id, which its partition for the purpose issued.
 * `unit` is the unit that a backfill wants.  For the clock, it is asked for again after
 * each step.  Waits sno.max_wait at most.
 */
uint64
sno_session_next(SnoPurpose purpose, uint64 unit)
{
	SnoWait		wait = {.partition = -1};

	sno_session_begin_own();
	if (purpose == SNO_FOR_CLOCK)
		sno_session_know_past();
	wait.counters = &sno_my_activity->own;
	for (;;)
	{
		SnoStep		step = SNO_EXHAUSTED;
		uint64		issued = 0;
		SnoObstacle obstacle;

		if (purpose == SNO_FOR_CLOCK)
			unit = sno_feed_unit();
		obstacle = issue_own_or_prepare(purpose, unit, &issued, &step);
		if (step == SNO_ISSUED)
			return issued;
		sno_wait(&wait, obstacle, 1);
	}
}
