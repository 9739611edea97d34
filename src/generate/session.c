/*
 * session.c
 *		Issuing ids in partitions that all sessions share.
 *
 * Usually one partition is open (shared/partition.c), sometimes a few.  A session that wants an id
 * tries the open partitions in the order of their numbers.  In the first partition that can issue,
 * it issues the id by an atomic step.  So sessions that issue at the same time mostly use the same
 * partition, and their ids are dense.  Until the unit is over, a session stays in its partition.
 * Whether more than an atomic step is needed depends only on the lease and the state word of the
 * partition, on the clock, and on the file of table sno_lease:
 *
 *	- If half of the lease is over, the session renews the lease, and waits for the flush of the
 *	  row.  Meanwhile, other sessions issue under the present lease.
 *	- If the clock went back, the session changes the side.
 *	- If no open partition can issue, the session leases a partition (leasing.c).
 *
 * A session takes each of these steps in the turn of the partition.  It never waits for a turn.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/ipc.h"

#include "catalog/leases.h"
#include "catalog/record.h"
#include "generate/leasing.h"
#include "generate/refuse.h"
#include "generate/session.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/feed.h"

SnoSessionPlace sno_session_place;

/* The partition, and its unit and side, that this session last counted as exhausted */
static const SnoPartition *exhausted;
static uint64 exhausted_time;

static void
end_session(int code, Datum arg)
{
	sno_activity_end();
}

/* Register this session in shared memory, unless it is registered already. */
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
 * Register this session, which is going to use partitions.  Raises an error if it isn't known which
 * partitions the session may use.
 */
void
sno_session_begin_own(void)
{
	sno_partition_check_setting();
	sno_grant_check_setting();
	sno_session_begin();
}

/* Open the table of leases.  If it is locked, waits sno.max_wait at most, and then raises 55P03. */
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
 * Before the first id or watermark since the server started, recall the earlier promise from the
 * feed's row on disk: see sno_feed_recall().  On a standby, which issues no ids, do nothing.
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
 * Change to the other side of a partition after a step back.  Returns false if another session has
 * the turn.  If this session may not use the partition any more, the side stays, because named
 * generators may use the partition now, and another session may be copying the partition's state.
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

/* Count that a unit is exhausted in a partition, unless this session has just counted it. */
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

/* Add the ids of the unit of `word` to the statistics, after the first id of another unit was issued. */
static void
count_issued(const SnoPartition *p, uint64 word, uint64 issued)
{
	SnoCounters *counters = sno_partition_counters(p);

	if (counters != NULL)
		sno_counters_go_on(counters, Min(SNO_WORD_SEQUENCE(word), SNO_SEQUENCE_MAX + 1), SNO_WORD_SEQUENCE(issued));
}

/* The outcome of an attempt to issue an id in a partition */
typedef enum Outcome
{
	ISSUED,
	CHANGED,					/* the partition has changed: try again */
	UNABLE						/* no id can be issued there now */
} Outcome;

/* Try to issue an id by the clock in an open partition. */
static Outcome
try_clock(SnoPartition *p, uint64_t *issued)
{
	uint64		word = sno_generator_load(&p->generator);
	uint64		unit = sno_feed_unit();	/* read after the word (S4) */
	SnoStep		step;

	/* Units were skipped, or the clock went back, in which case the difference wraps around. */
	if (unit - SNO_WORD_UNIT(word) > 1)
		sno_clock_watch();
	switch (sno_lease_task(&p->lease, &p->generator, unit, sno_leases_file()))
	{
		case SNO_LEASE_WRITE:
		case SNO_LEASE_PUBLISH:
			return UNABLE;
		case SNO_LEASE_RENEW_EARLY:
			sno_leasing_renew_early(p, unit);
			break;
		case SNO_LEASE_ISSUE:
			break;
	}
	step = sno_generator_share(&p->generator, word, unit, 0, issued);
	switch (step)
	{
		case SNO_ENTERED:
		case SNO_ISSUED:
			if (step == SNO_ENTERED)
				count_issued(p, word, *issued);
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
try_backfill(SnoPartition *p, uint64 unit, uint64_t *issued)
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

/*
 * Try to issue an id in each open partition of the purpose, until a partition issues, or has changed
 * meanwhile.  *p becomes that partition, or NULL if there is none.
 */
static Outcome
issue(SnoPurpose purpose, uint64 unit, uint64_t *issued, SnoPartition **p)
{
	Outcome		outcome = UNABLE;

	*p = NULL;
	while (outcome == UNABLE && (*p = sno_leasing_next_open(purpose, *p)) != NULL)
		outcome = sno_purpose_rules[purpose].by_clock ? try_clock(*p, issued) : try_backfill(*p, unit, issued);
	return outcome;
}

/*
 * Issue the next id for a purpose.  Returns its state word, and sets *p to its partition.  `unit`
 * is the unit of the id, and is used only if ids of the purpose aren't by the clock.  Waits
 * sno.max_wait at most.
 */
uint64
sno_session_next(SnoPurpose purpose, uint64 unit, SnoPartition **p)
{
	SnoWait		wait = {.refuse = sno_refuse_partition};
	bool		by_clock = sno_purpose_rules[purpose].by_clock;
	uint64_t	issued = 0;

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
			obstacle = sno_leasing_lease_one(purpose, by_clock ? sno_feed_unit() : unit);
		if (sno_session_place.p != NULL)
			wait.counters = sno_partition_counters(sno_session_place.p);
		sno_wait(&wait, obstacle, 1);
	}
}
