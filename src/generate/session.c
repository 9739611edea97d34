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
 * Ids by the clock may come from a partition that sessions share (sharing.c).  A session
 * looks whether it does when it enters a unit, so within a unit it stays where it is.  If
 * anything is in its way in a shared partition, it moves on to one of its own, as above.
 * So nobody waits for another session there.  Who finds that half of the lease is over
 * renews it, and waits for the flush, while the others go on.
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
#include "generate/sharing.h"
#include "generate/wait.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/feed.h"
#include "shared/primary.h"
#include "shared/reserve.h"

/*
 * New leases that a session may take at once, and how soon it may take one more:
 * many more than a steady clock asks for, but few enough that a session waits while
 * its clock steps wildly, instead of using up all partitions.
 */
#define LEASE_BURST			16
#define LEASE_REGAIN_USEC	100000

/* Where a unit was exhausted last, and which unit and side: it is counted once. */
static const SnoPartition *exhausted;
static uint64 exhausted_time;

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
		sno_grant_renew(&sno_space->granted, 1);
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
bool
sno_session_write_whole(Relation rel, SnoPartition *p, uint64 ceiling)
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
write_session_lease(Relation rel, SnoPurpose purpose, uint64 unit)
{
	SnoPartition *p = sno_owned[purpose];
	uint64		ceiling;
	SnoStay		stay = next_ceiling(p, unit, &ceiling);

	if (stay == SNO_STAY && ceiling < unit)
	{
		sno_grant_ask(&sno_space->granted, 1);
		return SNO_NO_GRANT;
	}
	if (stay == SNO_STAY && (!sno_partition_is_ours(p) || !sno_session_write_whole(rel, p, ceiling)))
		stay = SNO_ABANDON;
	/* If it were parked that nobody may use, we would take it again. */
	if (stay != SNO_STAY)
		sno_owned_leave(purpose, stay);
	else if (!sno_purpose_rules[purpose].by_clock)
		/* A row to the end of the epoch must not stay without its ceiling. */
		sno_lease_publish(&p->lease, &p->generator, sno_lease_half());
	return stay == SNO_STAY ? SNO_NO_OBSTACLE : SNO_CLASH;
}

/* The same, if the table isn't locked. */
static SnoObstacle
lease_partition(SnoPurpose purpose, uint64 unit)
{
	Relation	rel = sno_leases_open();
	SnoObstacle obstacle;

	if (rel == NULL)
		return SNO_TABLE_LOCKED;
	obstacle = write_session_lease(rel, purpose, unit);
	sno_leases_close(rel);
	return obstacle;
}

/* Write the row of the next lease while this one lasts.  False if that can't be done now. */
static bool
write_next_lease(Relation rel, const SnoPartition *p, uint64 now)
{
	uint64		ceiling;

	/* As long as the grant isn't renewed, the lease can't be either. */
	return next_ceiling(p, now, &ceiling) == SNO_STAY && ceiling > p->generator.ceiling &&
		write_session_lease(rel, SNO_FOR_CLOCK, now) == SNO_NO_OBSTACLE;
}

/* Write the next lease, without waiting for its flush. */
static void
renew_session_early(void *arg)
{
	SnoPartition *p = sno_owned[SNO_FOR_CLOCK];
	Relation	rel = sno_leases_open();

	if (rel == NULL)
		return;
	if (write_next_lease(rel, p, *(uint64 *) arg))
		sno_lease_flush_later(&p->lease, &p->generator);
	sno_leases_close(rel);
}

/*
 * Write and publish the next lease of a partition that sessions share.  Only the one that
 * does waits for the flush.
 */
static void
renew_shared_early(void *arg)
{
	uint64		now = *(uint64 *) arg;
	SnoPartition *p = sno_owned[SNO_FOR_CLOCK];
	Relation	rel = sno_leases_open();

	if (rel == NULL)
		return;
	if (sno_turn_try(&sno_space->renewal))
	{
		/* Another session may have renewed it by now. */
		if (now >= p->lease.attention)
		{
			sno_lease_postpone(&p->lease, &p->generator, now);
			if (write_next_lease(rel, p, now))
				sno_lease_publish(&p->lease, &p->generator, sno_lease_half());
		}
		sno_turn_release(&sno_space->renewal);
	}
	sno_leases_close(rel);
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

/*
 * What would keep a session that has no partition from issuing an id of the unit?  Nothing is
 * changed, and nobody is asked.
 */
SnoObstacle
sno_session_obstacle(SnoPurpose purpose, uint64 unit, const SnoSurvey *survey)
{
	if (sno_partition_is_parked(unit, purpose))
		return SNO_NO_OBSTACLE;
	if (!has_grants(purpose, unit))
		return sno_grants_are_in_vain(&sno_space->granted) ? SNO_NO_GRANT : SNO_NO_OBSTACLE;
	if (sno_partition_may_reserve(unit, &survey->bounds, survey->holder, purpose))
		return SNO_NO_OBSTACLE;
	return sno_purpose_rules[purpose].by_clock ? SNO_NO_PARTITION : SNO_NO_BACKFILL;
}

/* Reserve a partition for a new lease, and park the one that the session has. */
SnoObstacle
sno_session_reserve(Relation rel, SnoPurpose purpose, uint64 unit)
{
	uint32		left = sno_owned_sequence();
	MemoryContext context,
				caller;
	SnoSurvey	survey;
	SnoPartition *p;

	if (!has_grants(purpose, unit))
	{
		sno_grant_ask(&sno_space->granted, 1);
		return SNO_NO_GRANT;
	}
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
			sno_grant_ask_more(&sno_space->granted, unit);
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

	sno_require_primary(sno_purpose_rules[purpose].function);
	p = sno_partition_exchange(sno_owned[purpose], unit, purpose);
	if (p != NULL)
	{
		sno_owned_enter(purpose, p, left);
		return SNO_NO_OBSTACLE;
	}
	rel = sno_leases_open();
	if (rel == NULL)
		return SNO_TABLE_LOCKED;
	obstacle = sno_session_reserve(rel, purpose, unit);
	sno_leases_close(rel);
	return obstacle;
}

/* A unit is exhausted in a partition: count that, once. */
static void
count_exhausted(const SnoPartition *p, uint64 word)
{
	if (p == exhausted && SNO_WORD_TIME(word) == exhausted_time)
		return;
	sno_counters_exhausted(&sno_my_activity->own);
	exhausted = p;
	exhausted_time = SNO_WORD_TIME(word);
}

/* Own a shared partition again, if nobody else shares it. */
static bool
own_again(SnoPartition *p)
{
	if (!sno_partition_own_again(p))
		return false;
	sno_owned_enter(SNO_FOR_CLOCK, p, 0);
	return true;
}

/* Has this session issued an id of the unit in its partition? */
static bool
has_entered(const SnoPartition *p, uint64 unit)
{
	return p != NULL && unit == sno_sharing_unit &&
		(sno_partition_is_shared(p) || unit == SNO_WORD_UNIT(sno_generator_word(&p->generator)));
}

/*
 * Before the first id of a unit: begin to share a partition, or stop to, as is wanted now.
 * True if anything changed.  If others share the session's partition, it stays there, unless
 * it must not share.
 */
static bool
share_or_part(SnoPartition *p, uint64 unit)
{
	bool		wanted = sno_sharing_is_wanted(unit);
	bool		sharing = p != NULL && sno_partition_is_shared(p);
	uint32		left = sno_owned_sequence();
	RelFileNumber file = sno_leases_file();
	SnoPartition *current;

	if (sharing && !wanted)
		return own_again(p) || (sno_sharing == SNO_SHARING_NEVER &&
								move_on(SNO_FOR_CLOCK, unit) == SNO_NO_OBSTACLE);
	if (!wanted || (sharing && sno_partition_is_current(p)))
		return false;
	current = sno_partition_join(p, unit, file);
	if (current == NULL && p != NULL && sno_partition_share(p, unit, file))
		current = p;
	if (current != NULL)
		sno_owned_enter(SNO_FOR_CLOCK, current, left);
	return current != NULL;
}

/* An id of a shared partition was issued: it may be of a later unit than the clock said. */
static void
note_shared(uint64 issued)
{
	sno_counters_add_one(&sno_my_activity->own);
	sno_sharing_unit = SNO_WORD_UNIT(issued);
}

/*
 * One more id of a unit that this session has entered in a shared partition, if that needs
 * no more than an addition.
 */
static bool
share_in_unit(uint64 *issued)
{
	SnoPartition *p = sno_owned[SNO_FOR_CLOCK];
	uint64		unit = sno_sharing_unit;
	uint64		word;

	if (p == NULL || !sno_partition_is_shared(p))
		return false;
	word = sno_generator_load(&p->generator);
	if (SNO_WORD_UNIT(word) != unit || unit < sno_feed_bound || sno_clock_unit() != unit ||
		sno_generator_share(&p->generator, word, unit, 0, issued) != SNO_ISSUED)
		return false;
	note_shared(*issued);
	return true;
}

/* The same as below, in a partition that sessions share. */
static SnoObstacle
issue_shared_or_prepare(SnoPartition *p, uint64 word, uint64 unit, uint64 *issued, SnoStep *step)
{
	switch (sno_lease_task(&p->lease, &p->generator, unit, sno_leases_file()))
	{
		case SNO_LEASE_WRITE:
		case SNO_LEASE_PUBLISH:
			return own_again(p) ? SNO_NO_OBSTACLE : move_on(SNO_FOR_CLOCK, unit);
		case SNO_LEASE_RENEW_EARLY:
			sno_lease_quietly(renew_shared_early, &unit, NULL, sno_partition_number(p));
			if (sno_owned[SNO_FOR_CLOCK] != p)
				return SNO_NO_OBSTACLE;
			break;
		case SNO_LEASE_ISSUE:
			break;
	}
	*step = sno_generator_share(&p->generator, word, unit, 0, issued);
	switch (*step)
	{
		case SNO_ISSUED:
		case SNO_ENTERED:
			*step = SNO_ISSUED;
			note_shared(*issued);
			return SNO_NO_OBSTACLE;
		case SNO_RACED:
			return SNO_NO_OBSTACLE;
		case SNO_EXHAUSTED:
			count_exhausted(p, word);
			if (sno_feed_move_on(unit))
				return SNO_NO_OBSTACLE;
			break;
		default:
			break;
	}
	return move_on(SNO_FOR_CLOCK, unit);
}

/*
 * Issue an id of the unit, if the session's partition can.  If not, take one step towards
 * it: lease the partition, or move on to another one.  `word` is the state word of that
 * partition, which was loaded before the clock said that it is `unit` (S4).
 */
static SnoObstacle
issue_own_or_prepare(SnoPurpose purpose, uint64 word, uint64 unit, uint64 *issued, SnoStep *step)
{
	const SnoPurposeRules *rules = &sno_purpose_rules[purpose];
	SnoPartition *p = sno_owned[purpose];

	if (rules->by_clock && !has_entered(p, unit) && share_or_part(p, unit))
		return SNO_NO_OBSTACLE;
	if (p == NULL || sno_partition_may_stay(p, unit, NULL) != SNO_STAY)
		return move_on(purpose, unit);

	/* Units were left out, or the clock went back. */
	if (rules->by_clock && unit - SNO_WORD_UNIT(word) > 1)
		sno_clock_watch();
	if (sno_partition_is_shared(p))
		return issue_shared_or_prepare(p, word, unit, issued, step);

	switch (sno_lease_task(&p->lease, &p->generator, unit, sno_leases_file()))
	{
		case SNO_LEASE_WRITE:
			return lease_partition(purpose, unit);
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
	if (*step == SNO_ISSUED && rules->by_clock)
		sno_counters_go_on(&sno_my_activity->own, SNO_WORD_SEQUENCE(word),
						   SNO_WORD_SEQUENCE(*issued));
	if (*step == SNO_EXHAUSTED && rules->by_clock)
		count_exhausted(p, word);
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
	uint64		issued = 0;

	if (by_clock && share_in_unit(&issued))
		return issued;
	sno_session_begin_own();
	if (by_clock)
		sno_session_know_past();
	wait.counters = &sno_my_activity->own;
	for (;;)
	{
		const SnoPartition *p = sno_owned[purpose];
		uint64		word = p == NULL ? 0 : sno_generator_load(&p->generator);
		SnoStep		step = SNO_EXHAUSTED;
		SnoObstacle obstacle;

		if (by_clock)
			unit = sno_feed_unit();
		obstacle = issue_own_or_prepare(purpose, word, unit, &issued, &step);
		if (step == SNO_ISSUED)
			return issued;
		sno_wait(&wait, obstacle, 1);
	}
}
