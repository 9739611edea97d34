/*
 * session.c
 *		How a session leases partitions, and issues from them.
 *
 * A session owns at most one partition for each purpose (owned.c).  Each has a lease.  What
 * sno_session_next() does next depends only on the lease, the clock and the table's file,
 * see sno_lease_task().  It writes a row, publishes the row's ceiling, or issues an id.  If
 * the partition can't issue an id, the session moves on to another: one that is parked, or
 * one that it leases anew.
 *
 * If a session reserved a partition and then failed to lease it, the session still owns
 * it.  Its ceiling lets it issue nothing.  The next call goes on there.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "catalog/definition.h"
#include "catalog/leases.h"
#include "catalog/publish.h"
#include "catalog/record.h"
#include "generate/session.h"
#include "generate/wait.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/feed.h"
#include "shared/reserve.h"

/*
 * New leases that a session may take at once, and how soon it may take one more:
 * many more than a steady clock asks for, but few enough that a session waits while
 * its clock steps wildly, instead of using up all partitions.
 */
#define LEASE_BURST			16
#define LEASE_REGAIN_USEC	100000

/* Where a unit was exhausted last, and the state word then: it is counted once. */
static const SnoPartition *exhausted;
static uint64 exhausted_word;

/* New leases that this session may take now, as counted at a monotonic µs. */
static int	leases_left = LEASE_BURST;
static int64 leases_counted_at;

/* Open the table of leases.  Waits sno.max_wait at most, then raises 55P03. */
Relation
sno_session_open_table(void)
{
	SnoWait		wait = {.partition = -1};
	Relation	rel;

	sno_session_begin();
	while ((rel = sno_leases_open()) == NULL)
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
	sno_leases_close(rel);
}

/*
 * May the session stay in its partition to lease it in this unit?  If so, *ceiling is up to
 * where: for the clock from now on, and at least as long as memory knows of, because that
 * row may be lost, but no longer than granted; for given times, to the end of the epoch.
 */
static SnoStay
next_ceiling(const SnoPartition *p, uint64 unit, uint64 *ceiling)
{
	SnoGrant	limits;
	SnoStay		stay;

	if (sno_is_registered())
		sno_grant_renew();
	else
		/* It may have been set, and this session not have seen it. */
		sno_grant_check_setting_again();
	stay = sno_partition_may_stay(p, unit, &limits);
	if (stay == SNO_STAY)
		*ceiling = !sno_partition_rules(p)->by_clock ? SNO_UNIT_MAX :
			Min(Max(sno_lease_end(unit, sno_lease_half()), p->generator.ceiling), limits.ceiling);
	return stay;
}

/* Write the row of a lease of a whole partition.  False if another holder leases it, too. */
static bool
write_whole(Relation rel, SnoPartition *p, uint64 ceiling)
{
	SnoSubject	subject = {
		.kind = SNO_OF_SESSION,
		.partition = sno_partition_number(p),
		.shard = {p->generator.sequence_min, p->generator.sequence_max}
	};

	return sno_lease_write(&p->lease, rel, &subject, p->generator, ceiling);
}

/*
 * Write the row of a lease for the session's partition.  The session leaves it if another
 * holder leases it, too, if it isn't granted any more, or if sno_reseed() revoked it before
 * the table was open.
 */
static SnoObstacle
write_session_lease(SnoPurpose purpose, uint64 unit)
{
	SnoPartition *p = sno_owned[purpose];
	uint64		ceiling;
	SnoStay		stay = next_ceiling(p, unit, &ceiling);
	Relation	rel;

	if (stay == SNO_STAY && ceiling < unit)
	{
		sno_grant_ask();
		return SNO_NO_GRANT;
	}
	rel = sno_leases_open();
	if (rel == NULL)
		return SNO_TABLE_LOCKED;
	if (stay == SNO_STAY && (!sno_partition_owned(p) || !write_whole(rel, p, ceiling)))
		stay = SNO_ABANDON;
	/* If it were parked that nobody may use, we would take it again. */
	if (stay != SNO_STAY)
		sno_owned_leave(purpose, stay);
	else if (!sno_purpose_rules[purpose].by_clock)
		/* A row to the end of the epoch must not stay without its ceiling. */
		sno_lease_publish(&p->lease, &p->generator, sno_lease_half());
	sno_leases_close(rel);
	return stay == SNO_STAY ? SNO_NO_OBSTACLE : SNO_CLASH;
}

/* Write the next lease, without waiting for its flush. */
static void
renew_session_early(void *arg)
{
	uint64		now = *(uint64 *) arg;
	SnoPartition *p = sno_owned[SNO_FOR_CLOCK];
	uint64		ceiling;

	/* As long as the grant isn't renewed, the lease can't be either. */
	if (next_ceiling(p, now, &ceiling) != SNO_STAY || ceiling <= p->generator.ceiling)
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
	granted = !sno_purpose_rules[purpose].by_clock && usable.holder != 0;
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
	uint32		left = sno_owned_sequence();
	MemoryContext context,
				caller;
	SnoSurvey	survey;
	SnoPartition *p;

	if (!has_grants(purpose, unit))
		return SNO_NO_GRANT;
	if (sno_purpose_rules[purpose].by_clock && !may_lease())
		return SNO_TOO_FAST;
	context = AllocSetContextCreate(CurrentMemoryContext, "sno bounds", ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(context);
	sno_record_survey(rel, unit, &survey);
	survey.bounds.defined = sno_definition_partitions();
	p = sno_partition_reserve(sno_owned[purpose], unit, &survey.bounds,
							  survey.holder, purpose);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	if (p == NULL)
	{
		if (!sno_purpose_rules[purpose].by_clock)
			return SNO_NO_BACKFILL;
		if (sno_is_registered())
			sno_grant_ask_more(unit);
		return SNO_NO_PARTITION;
	}
	sno_owned_enter(purpose, p, left);
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
	uint32		left = sno_owned_sequence();
	SnoObstacle obstacle;
	SnoPartition *p;
	Relation	rel;

	PreventCommandDuringRecovery(sno_purpose_rules[purpose].function);
	p = sno_partition_exchange(sno_owned[purpose], unit, purpose);
	if (p != NULL)
	{
		sno_owned_enter(purpose, p, left);
		return SNO_NO_OBSTACLE;
	}
	rel = sno_leases_open();
	if (rel == NULL)
		return SNO_TABLE_LOCKED;
	obstacle = reserve_partition(rel, purpose, unit);
	sno_leases_close(rel);
	return obstacle;
}

/* Lend the partition that the session has just reserved, up to `until`, and put it at rest. */
static SnoObstacle
lend_reserved(Relation rel, uint64 until, SnoLoan *loan)
{
	SnoPartition *p = sno_owned[SNO_FOR_CLOCK];
	SnoGrant	limits;
	bool		written;

	if (sno_partition_may_stay(p, SNO_ANY_UNIT, &limits) != SNO_STAY)
	{
		sno_owned_leave(SNO_FOR_CLOCK, SNO_ABANDON);
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
	sno_owned_leave(SNO_FOR_CLOCK, SNO_ABANDON);
	return written ? SNO_NO_OBSTACLE : SNO_CLASH;
}

/*
 * Lend a partition to an application, for a number of units from now on.  Afterwards the
 * partition rests, as after the end of a session.  So nobody else has it before the loan
 * is over, in this server or in one that goes on with its rows.  If there is an error
 * before the partition rests, the session still owns it.  Waits sno.max_wait at most.
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
		Relation	rel = sno_leases_open();

		obstacle = rel == NULL ? SNO_TABLE_LOCKED : reserve_partition(rel, SNO_FOR_CLOCK, now);
		if (obstacle == SNO_NO_OBSTACLE)
			/* The last unit of the epoch marks partitions for given times. */
			obstacle = lend_reserved(rel, Min(now + units, SNO_UNIT_MAX - 1), &loan);
		if (rel != NULL)
			sno_leases_close(rel);
		if (obstacle != SNO_NO_OBSTACLE)
			sno_wait(&wait, obstacle, 1);
	} while (obstacle != SNO_NO_OBSTACLE);
	return loan;
}

/* Count a step of the session generator, from this state word. */
static void
count_step(const SnoPartition *p, uint64 before, SnoStep step, uint64 issued)
{
	if (step == SNO_ISSUED)
		sno_counters_go_on(&sno_my_activity->own, SNO_WORD_SEQUENCE(before),
						   SNO_WORD_SEQUENCE(issued));
	else if (step == SNO_EXHAUSTED && (p != exhausted || before != exhausted_word))
	{
		sno_counters_exhausted(&sno_my_activity->own);
		exhausted = p;
		exhausted_word = before;
	}
}

/*
 * Issue an id of the unit, if the session's partition can.  If not, take one step towards
 * it: lease the partition, or move on to another one.
 */
static SnoObstacle
issue_own_or_prepare(SnoPurpose purpose, uint64 unit, uint64 *issued, SnoStep *step)
{
	const SnoPurposeRules *rules = &sno_purpose_rules[purpose];
	SnoPartition *p = sno_owned[purpose];
	uint64		before;

	if (p == NULL || sno_partition_may_stay(p, unit, NULL) != SNO_STAY)
		return move_on(purpose, unit);

	/* Units were left out, or the clock went back. */
	before = sno_generator_word(&p->generator);
	if (rules->by_clock && unit - SNO_WORD_UNIT(before) > 1)
		sno_clock_watch();

	switch (sno_lease_task(&p->lease, &p->generator, unit, sno_leases_file()))
	{
		case SNO_LEASE_WRITE:
			return write_session_lease(purpose, unit);
		case SNO_LEASE_PUBLISH:
			sno_lease_publish(&p->lease, &p->generator, sno_lease_half());
			return SNO_NO_OBSTACLE;
		case SNO_LEASE_RENEW_EARLY:
			sno_lease_postpone(&p->lease, &p->generator, unit);
			sno_lease_quietly(renew_session_early, &unit, NULL, sno_partition_number(p));
			if (sno_owned[purpose] == NULL)
				return SNO_NO_OBSTACLE;
			break;
		case SNO_LEASE_ISSUE:
			break;
	}
	*step = rules->step(p, unit, issued);
	if (rules->by_clock)
		count_step(p, before, *step, *issued);
	if (*step == SNO_ISSUED ||
		(*step == SNO_EXHAUSTED && rules->by_clock && sno_feed_move_on(unit)))
		return SNO_NO_OBSTACLE;
	return move_on(purpose, unit);
}

/*
 * The state word of the session's next id, which its partition for the purpose issued.
 * `unit` is the unit that is wanted.  By the clock, it is asked for again after each step.
 * Waits sno.max_wait at most.
 */
uint64
sno_session_next(SnoPurpose purpose, uint64 unit)
{
	SnoWait		wait = {.partition = -1};
	bool		by_clock = sno_purpose_rules[purpose].by_clock;

	sno_session_begin_own();
	if (by_clock)
		sno_session_know_past();
	wait.counters = &sno_my_activity->own;
	for (;;)
	{
		SnoStep		step = SNO_EXHAUSTED;
		uint64		issued = 0;
		SnoObstacle obstacle;

		if (by_clock)
			unit = sno_feed_unit();
		obstacle = issue_own_or_prepare(purpose, unit, &issued, &step);
		if (step == SNO_ISSUED)
			return issued;
		sno_wait(&wait, obstacle, 1);
	}
}
