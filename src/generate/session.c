/*
 * session.c
 *		How a session issues, in partitions that all sessions have in common.
 *
 * A few partitions are open (shared/partition.c), mostly one.  Whoever wants an id tries the
 * open ones in the order of their numbers, and issues in the first one that can, by an atomic
 * step.  So ids of sessions that issue at the same time are dense.  Until the unit is over, a
 * session stays where it is.  What else is to be done in a partition depends only on its lease,
 * its word, the clock and the table's file:
 *
 *	- If half of its lease is over, who finds that out renews it, and waits for the flush, while
 *	  the others go on.
 *	- After a step back of the clock, who finds that out changes its side.
 *	- If no partition can issue, a session renews a lease that is over, or reserves and opens one
 *	  more partition.
 *
 * Each of these is done in the turn of the partition, which is never waited for.  Who needs a
 * lease waits while another session writes one, but PATIENCE at most: then it does that itself,
 * for another partition if that one's turn is taken.  So a session that stands still anywhere
 * here stops none (P3).
 *
 * If an error comes while a partition is leased, its turn is released, and it is as it was: closed,
 * or with the ceiling that it had.  A row that was written is a bound too high.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

#include "catalog/definition.h"
#include "catalog/leases.h"
#include "catalog/publish.h"
#include "catalog/record.h"
#include "generate/refuse.h"
#include "generate/session.h"
#include "generate/wait.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/feed.h"
#include "shared/primary.h"
#include "shared/reserve.h"

/* How long a session waits for another one that leases a partition, in µs. */
#define PATIENCE		20000

/*
 * Partitions that a session may open at once, and how soon it may open one more:
 * many more than a steady clock asks for, but few enough that a session waits while
 * its clock steps wildly, instead of using up all partitions.
 */
#define LEASE_BURST			16
#define LEASE_REGAIN_USEC	100000

SnoSessionPlace sno_session_place;

/*
 * By purpose, a partition that this transaction opened, because it created the table of leases.  If it is
 * rolled back, the row is gone.  So no other session may issue there.
 */
static SnoPartition *unlisted[SNO_PURPOSES];

/* Where a unit was exhausted last, and which unit and side: it is counted once. */
static const SnoPartition *exhausted;
static uint64 exhausted_time;

/* New leases that this session may take now, as counted at a monotonic µs. */
static int	leases_left = LEASE_BURST;
static int64 leases_counted_at;

static void
end_session(int code, Datum arg)
{
	sno_activity_end();
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
 * The same, for a session that wants partitions.  Raises an error if it
 * isn't known which ones it may use.
 */
void
sno_session_begin_own(void)
{
	sno_partition_check_setting();
	sno_grant_check_setting();
	sno_session_begin();
}

/* Nobody issues any more where this transaction did alone. */
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

/* When the library is loaded. */
void
sno_session_init(void)
{
	RegisterXactCallback(at_transaction_event, NULL);
}

/* Open the table of leases.  Waits sno.max_wait at most, then raises 55P03. */
Relation
sno_session_open_table(void)
{
	SnoWait		wait = {.refuse = sno_refuse_partition};
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
 * May a partition be leased in this unit, and may it go on?  If so, *ceiling is up to
 * where: for the clock from now on, and at least as long as memory knows of, because that
 * row may be lost, but no longer than granted; for given times, to the end of the epoch.
 */
static bool
next_ceiling(const SnoPartition *p, uint64 unit, uint64 *ceiling)
{
	SnoGrant	limits;

	if (sno_is_registered())
		sno_grant_renew(&sno_space->grants.partitions, 1);
	else
		/* It may have been set, and this session not have seen it. */
		sno_grant_check_setting_again();
	if (!sno_partition_is_usable(p) || !sno_partition_find_limits(p, &limits))
		return false;
	*ceiling = !sno_partition_rules(p)->by_clock ? SNO_UNIT_MAX :
		Min(Max(sno_lease_end(unit, sno_lease_half()), p->generator.ceiling), limits.ceiling);
	return true;
}

/* Write the row of a lease of a whole partition.  False if another holder leases it, too. */
bool
sno_session_write_whole(Relation rel, SnoPartition *p, uint64 ceiling)
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
 * Write, flush and publish the next lease of a partition, whose turn this session has.  It is
 * closed if another holder leases it, too, or if it isn't granted any more.
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
	if (!sno_session_write_whole(rel, p, ceiling))
	{
		sno_generator_end(&p->generator);
		return SNO_CLASH;
	}
	sno_lease_publish(&p->lease, &p->generator, sno_lease_half());
	return SNO_NO_OBSTACLE;
}

/*
 * May this session write the row of an open partition?  If its transaction created the table,
 * that may be rolled back.
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

/* Lease a partition anew while its lease lasts, unless another session does. */
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
		/* Another session may have renewed it by now. */
		if (r->now >= p->lease.attention && sno_partition_is_open(p))
		{
			sno_lease_postpone(&p->lease, &p->generator, r->now);
			/* As long as the grant isn't renewed, the lease can't be either. */
			if (next_ceiling(p, r->now, &ceiling) && ceiling > p->generator.ceiling)
				(void) lease(rel, p, r->now);
		}
		sno_turn_release(&p->turn);
	}
	sno_leases_close(rel);
}

/*
 * Go to the other side after a step back.  False if another session has the turn.  The side stays if
 * the partition is one of named generators by now: another session may be about to copy it.
 */
static bool
change_side(SnoPartition *p, uint64 word, uint64 now)
{
	if (!sno_turn_try(&p->turn))
		return false;
	if (sno_partition_is_usable(p))
		(void) sno_generator_turn(&p->generator, word, now);
	sno_turn_release(&p->turn);
	return true;
}

/* May this session open one more partition?  Counts it. */
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
 * that it granted any.
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

/* Would a step issue in an open partition, if its lease covered the unit? */
static bool
would_issue(const SnoPartition *p, uint64 unit)
{
	if (sno_partition_rules(p)->by_clock)
		return sno_generator_ready(&p->generator, unit);
	return sno_backfill_ready(&p->generator, &p->backfill, unit) && sno_partition_is_granted(p, unit);
}

/*
 * What would keep a session from issuing an id of the unit?  Nothing is changed, and nobody is
 * asked.
 */
SnoObstacle
sno_session_obstacle(SnoPurpose purpose, uint64 unit, const SnoSurvey *survey)
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

/* Reserve a partition for a new lease.  This session has its turn then. */
SnoObstacle
sno_session_reserve(Relation rel, SnoPurpose purpose, uint64 unit, SnoPartition **p)
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

	obstacle = sno_session_reserve(rel, purpose, unit, &p);
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

/* The open partition that this session tries after p, or first (NULL). */
static SnoPartition *
next_to_try(SnoPurpose purpose, const SnoPartition *p)
{
	SnoPartition *alone = unlisted[purpose];

	if (alone == NULL)
		return sno_partition_next_open(purpose, p);
	return p == NULL && sno_partition_is_usable(alone) && sno_partition_is_open(alone) ? alone : NULL;
}

/* Does an open partition need a row, to issue in this unit? */
static bool
needs_row(const SnoPartition *p, uint64 unit)
{
	SnoLeaseTask task = sno_lease_task(&p->lease, &p->generator, unit, sno_leases_file());

	return (task == SNO_LEASE_WRITE || task == SNO_LEASE_PUBLISH) && would_issue(p, unit);
}

/*
 * Lease the first open partition that needs no more than that, unless another session does.  False
 * if there is none.
 */
static bool
renew_one(Relation rel, SnoPurpose purpose, uint64 unit, SnoObstacle *obstacle)
{
	SnoPartition *p = NULL;

	while ((p = next_to_try(purpose, p)) != NULL)
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
 * Begin to lease a partition that other sessions will use, too.  Returns since when; 0 if another
 * session leases one, unless it has done so for longer than PATIENCE.  After an error, patience
 * ends by itself.
 */
uint64
sno_session_begin_leasing(void)
{
	uint64		now = (uint64) sno_clock_monotonic();
	uint64		since = pg_atomic_read_u64(&sno_space->partitions.leasing);

	if ((since != 0 && (int64) (now - since) < Min(PATIENCE, (int64) sno_max_wait * 500)) ||
		!pg_atomic_compare_exchange_u64(&sno_space->partitions.leasing, &since, now))
		return 0;
	return now;
}

void
sno_session_end_leasing(uint64 since)
{
	(void) pg_atomic_compare_exchange_u64(&sno_space->partitions.leasing, &since, 0);
}

/* Lease a partition, unless another session does: no open one could issue. */
static SnoObstacle
lease_one(SnoPurpose purpose, uint64 unit)
{
	uint64		since;
	Relation	rel;
	SnoObstacle obstacle;

	sno_require_primary(sno_purpose_rules[purpose].function);
	since = sno_session_begin_leasing();
	if (since == 0)
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
	sno_session_end_leasing(since);
	return obstacle;
}

/* A unit is exhausted in a partition: count that, once. */
static void
count_exhausted(const SnoPartition *p, uint64 word)
{
	SnoCounters *counters = sno_partition_counters(p);

	if (counters == NULL || (p == exhausted && SNO_WORD_TIME(word) == exhausted_time))
		return;
	sno_counters_exhausted(counters);
	exhausted = p;
	exhausted_time = SNO_WORD_TIME(word);
}

/* An id was issued that began another unit: count what the word has counted. */
static void
count_issued(const SnoPartition *p, uint64 word, uint64 issued)
{
	SnoCounters *counters = sno_partition_counters(p);

	if (counters != NULL)
		sno_counters_go_on(counters, Min(SNO_WORD_SEQUENCE(word), SNO_SEQUENCE_MAX + 1), SNO_WORD_SEQUENCE(issued));
}

/* What came of a try. */
typedef enum Outcome
{
	ISSUED,
	CHANGED,					/* the partition: try again */
	UNABLE						/* to issue there now */
} Outcome;

/* Try to issue by the clock in an open partition. */
static Outcome
try_clock(SnoPartition *p, uint64 *issued)
{
	uint64		word = sno_generator_load(&p->generator);
	uint64		unit = sno_feed_unit();	/* after the word (S4) */
	SnoStep		step;

	/* Units were left out, or the clock went back. */
	if (unit - SNO_WORD_UNIT(word) > 1)
		sno_clock_watch();
	switch (sno_lease_task(&p->lease, &p->generator, unit, sno_leases_file()))
	{
		case SNO_LEASE_WRITE:
		case SNO_LEASE_PUBLISH:
			return UNABLE;
		case SNO_LEASE_RENEW_EARLY:
			{
				EarlyLease	early = {p, unit};

				sno_lease_quietly(renew_early, &early, NULL, sno_partition_number(p));
			}
			break;
		case SNO_LEASE_ISSUE:
			break;
	}
	step = sno_generator_share(&p->generator, word, unit, 0, issued);
	switch (step)
	{
		case SNO_ENTERED:
			count_issued(p, word, *issued);
			/* FALLTHROUGH */
		case SNO_ISSUED:
			/* Another session may have changed the side, and entered an earlier unit there (W1). */
			if (SNO_WORD_UNIT(*issued) < sno_feed_bound)
				return CHANGED;
			sno_session_place = (SnoSessionPlace) {p, SNO_WORD_UNIT(*issued)};
			return ISSUED;
		case SNO_RACED:
			return CHANGED;
		case SNO_EXHAUSTED:
			count_exhausted(p, word);
			return sno_feed_move_on(unit) ? CHANGED : UNABLE;
		case SNO_BEHIND:
			if (!sno_generator_ready(&p->generator, unit))
				return UNABLE;
			return change_side(p, word, unit) ? CHANGED : UNABLE;
		default:
			return UNABLE;
	}
}

/* Try to issue an id of a given time in an open partition. */
static Outcome
try_backfill(SnoPartition *p, uint64 unit, uint64 *issued)
{
	SnoLeaseTask task = sno_lease_task(&p->lease, &p->generator, unit, sno_leases_file());

	if (task == SNO_LEASE_WRITE || task == SNO_LEASE_PUBLISH || !sno_partition_is_granted(p, unit))
		return UNABLE;
	switch (sno_backfill_step(&p->generator, &p->backfill, unit, issued))
	{
		case SNO_ISSUED:
			return ISSUED;
		case SNO_RACED:
			return CHANGED;
		default:
			return UNABLE;
	}
}

/* Issue an id in the first open partition that can, or that changes meanwhile. */
static Outcome
issue(SnoPurpose purpose, uint64 unit, uint64 *issued, SnoPartition **p)
{
	Outcome		outcome = UNABLE;

	*p = NULL;
	while (outcome == UNABLE && (*p = next_to_try(purpose, *p)) != NULL)
		outcome = sno_purpose_rules[purpose].by_clock ? try_clock(*p, issued) : try_backfill(*p, unit, issued);
	return outcome;
}

/*
 * The state word of the next id for the purpose, which partition *p issued.
 * `unit` is the one that is wanted, if it isn't that of the clock.
 * Waits sno.max_wait at most.
 */
uint64
sno_session_next(SnoPurpose purpose, uint64 unit, SnoPartition **p)
{
	SnoWait		wait = {.refuse = sno_refuse_partition};
	bool		by_clock = sno_purpose_rules[purpose].by_clock;
	uint64		issued = 0;

	sno_session_begin_own();
	if (by_clock)
		sno_session_know_past();
	for (;;)
	{
		Outcome		outcome = issue(purpose, unit, &issued, p);
		SnoObstacle obstacle = SNO_NO_OBSTACLE;

		if (outcome == ISSUED)
			return issued;
		if (outcome == UNABLE)
			obstacle = lease_one(purpose, by_clock ? sno_feed_unit() : unit);
		if (sno_session_place.p != NULL)
			wait.counters = sno_partition_counters(sno_session_place.p);
		sno_wait(&wait, obstacle, 1);
	}
}
