/*
 * wait.c
 *		Waiting for an id, and the error when it takes too long.
 *
 * A wait can be interrupted, others see it, and sno.max_wait ends it.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"

#include "catalog/layout.h"
#include "catalog/leases.h"
#include "compat.h"
#include "generate/wait.h"
#include "shared/clock.h"
#include "shared/partition.h"
#include "shared/turn.h"
#include "shared/worker.h"

/* A call waits for two units of a layout at most this many ms, unless sno.max_wait is more. */
#define UNITS_WAIT_MAX	2000

/*
 * Rounds without a wait that a call may make, however long they take: to lease, to publish
 * and to issue needs a few, and the disk may be slow.
 */
#define ROUNDS_MAX		100

int			sno_max_wait;

/* Is a generator of a layout waited for? */
static bool
is_of_flake(const SnoWait *wait)
{
	return wait->definition != NULL && sno_is_flake(wait->definition);
}

/* How long a call waits, in ms.  Units of a layout may be longer than sno.max_wait. */
static int
max_wait_of(const SnoWait *wait)
{
	return is_of_flake(wait) ? Max(sno_max_wait, Min(2 * wait->unit_msec, UNITS_WAIT_MAX)) : sno_max_wait;
}

/* Raise the error that a table couldn't be locked in this mode. */
pg_noreturn static void
refuse_lock(const SnoWait *wait, const char *extension, const char *table, const char *mode)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not lock table \"%s\" of extension \"%s\" within %d ms",
					table, extension, max_wait_of(wait)),
			 errdetail("Another session holds, or waits for, a lock on it that conflicts with %s.",
					   mode),
			 errhint("Look for that session in pg_locks, and end its transaction. See doc/operations.md#trouble.")));
}

/* Raise the error that a named generator couldn't issue an id. */
pg_noreturn static void
refuse_named(const SnoWait *wait, char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("generator \"%s\" could not issue an id within %d ms",
					wait->generator, max_wait_of(wait)),
			 errdetail_internal("%s", detail),
			 errhint("%s", hint)));
}

/*
 * Raise the error that the registry granted nothing for now.  What the registry client
 * noted may name hosts and users, so not everybody sees it.
 */
pg_noreturn static void
refuse_grant(const SnoWait *wait)
{
	SnoRegistryNews news;
	bool		failed;

	LWLockAcquire(&sno_journal->lock, LW_SHARED);
	news = sno_journal->registry;
	LWLockRelease(&sno_journal->lock);
	failed = news.failed_at != 0;
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 is_of_flake(wait) ?
			 errmsg("the registry granted no node for generator \"%s\" within %d ms",
					wait->generator, max_wait_of(wait)) :
			 errmsg("the registry granted no partition for a sno within %d ms", sno_max_wait),
			 failed && sno_registry_may_see() ?
			 errdetail("The last attempt to ask it failed: %s", news.failure) :
			 failed ? errdetail("The last attempt to ask it failed. The server log has the reason.") :
			 news.answered_at != 0 ?
			 errdetail("What it granted this database is over, begins later than the clock of this server says, or is outside of \"sno.partitions\".") :
			 errdetail("It has not answered yet."),
			 errhint("See item \"registry\" of sno_check(), and doc/servers.md#what-happens-when.")));
}

/* Raise the error that no nodes are free for a generator of a layout. */
pg_noreturn static void
refuse_nodes(const SnoWait *wait)
{
	const SnoDefinition *d = wait->definition;
	char		definition[SNO_LAYOUT_TEXT_SIZE];

	sno_layout_print(&d->subject.layout, definition);
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("no node of layout \"%s\" was free for generator \"%s\" within %d ms",
					d->layout, wait->generator, max_wait_of(wait)),
			 sno_is_registered() ?
			 errdetail("The registry grants no nodes of this layout, or too few in a block. Or other generators have all that it granted, or the clock is behind what was issued there.") :
			 errdetail("This server's share, partitions from %d to %d, has less than %lld. Or other generators have them, or the clock is behind what was issued there.",
					   sno_partition_range.first, sno_partition_range.last, (long long) -d->subject.shard.min),
			 sno_is_registered() ?
			 errhint("In the database of the registry, call sno_registry_add_layout('%s', ...), or let a holder have a larger share. See doc/servers.md#nodes-of-other-systems-ids.",
					 definition) :
			 errhint("Widen \"sno.partitions\", or drop generators of this layout. See doc/operations.md#trouble.")));
}

/* Raise the error that nodes of a generator are among those that the registry grants. */
void
sno_refuse_registered(const char *generator, const SnoDefinition *d)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("nodes from %lld to %lld of generator \"%s\" are among those that the registry grants",
					(long long) d->subject.shard.min, (long long) d->subject.shard.max, generator),
			 errdetail("Any server may get them."),
			 errhint("Create the generator without a node, or with one that the registry leaves out. See doc/servers.md#nodes-of-other-systems-ids.")));
}

/* Raise the error that no obstacle was found, and yet no id. */
pg_noreturn static void
refuse_rounds(const SnoWait *wait)
{
	if (wait->generator != NULL)
		refuse_named(wait, "Its state changed each time before an id was issued.",
					 "Raise \"sno.max_wait\". See doc/operations.md#trouble.");
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("no partition could issue a sno within %d ms", max_wait_of(wait)),
			 errdetail("Partitions changed each time before an id was issued."),
			 errhint("Raise \"sno.max_wait\". See doc/operations.md#trouble.")));
}

/* Raise the error for what is in the way. */
void
sno_wait_give_up(const SnoWait *wait)
{
	switch (wait->obstacle)
	{
		case SNO_TABLE_LOCKED:
			refuse_lock(wait, "sno", SNO_LEASES_TABLE, "ROW SHARE");
		case SNO_DEFINITIONS_LOCKED:
			refuse_lock(wait, wait->definitions->table.extension, wait->definitions->table.name, "ACCESS SHARE");
		case SNO_LAYOUTS_LOCKED:
			refuse_lock(wait, "sno_flakes", SNO_LAYOUT_TABLE, "ACCESS SHARE");
		case SNO_NO_GRANT:
			refuse_grant(wait);
		case SNO_NO_PARTITION:
			ereport(ERROR,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("no partition was free for a sno within %d ms", sno_max_wait),
					 sno_is_registered() ?
					 errdetail("All partitions that the registry granted are exhausted, belong to named generators, or rest until the clock has passed what they issued.") :
					 errdetail("All partitions from %d to %d are exhausted, belong to named generators, or rest until the clock has passed what they issued.",
							   sno_partition_range.first, sno_partition_range.last),
					 sno_is_registered() ?
					 errhint("Let the registry grant more. See doc/servers.md#regions-capacity.") :
					 errhint("Widen \"sno.partitions\", or set the system clock right. See doc/operations.md#trouble.")));
			break;
		case SNO_NO_NODES:
			refuse_nodes(wait);
		case SNO_REGISTERED:
			if (is_of_flake(wait))
				sno_refuse_registered(wait->generator, wait->definition);
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("partition %d of generator \"%s\" is one that the registry grants",
							wait->partition, wait->generator),
					 errdetail("Any server may get it."),
					 errhint("Drop the generator, and create it with a partition that the registry leaves out. See doc/servers.md#set-up.")));
			break;
		case SNO_NO_BACKFILL:
			ereport(ERROR,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("no partition is left for a sno of a given time"),
					 sno_is_registered() ?
					 errdetail("Of the partitions that the registry granted for that time, half may be used for given times, once each, and only if they were never leased.") :
					 errdetail("Of the partitions from %d to %d, half may be used for given times, once each, and only if they were never leased.",
							   sno_partition_range.first, sno_partition_range.last),
					 errhint("Widen \"sno.partitions\", and give times in ascending order. See doc/operations.md#trouble.")));
			break;
		case SNO_BACKFILLED:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("partition %d of generator \"%s\" belongs to ids of given times",
							wait->partition, wait->generator),
					 errdetail("sno_generate_at() issued ids in it, of any time."),
					 errhint("Drop the generator, and create it with another partition. See doc/operations.md#trouble.")));
			break;
		case SNO_CLOCK_BEHIND:
			refuse_named(wait, "The clock is behind what the generator issued, or may have issued before the server crashed.",
						 is_of_flake(wait) ?
						 "Set the system clock right, wait, or drop the generator and create it with another node. See doc/operations.md#trouble." :
						 "Set the system clock right, wait, or drop the generator and create it with another partition. See doc/operations.md#trouble.");
		case SNO_LOANS_LOCKED:
			refuse_lock(wait, "sno", SNO_LEASES_TABLE, "SHARE UPDATE EXCLUSIVE");
		case SNO_BUSY:
			refuse_named(wait, "Another session is writing its state to disk.",
						 "Raise \"sno.max_wait\". See doc/operations.md#trouble.");
		case SNO_UNIT_EXHAUSTED:
			refuse_named(wait,
						 psprintf("It issues at most %d ids per %d ms, to all sessions together.",
								  wait->unit_size, wait->unit_msec),
						 is_of_flake(wait) ?
						 "Raise \"sno.max_wait\", or create a generator with more nodes. See doc/operations.md#trouble." :
						 "Raise \"sno.max_wait\", or widen the bounds of the generator. See doc/operations.md#trouble.");
		case SNO_CLASH:
		case SNO_LEASING:
		case SNO_NO_OBSTACLE:
			refuse_rounds(wait);
		case SNO_TOO_FAST:
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("no partition could issue a sno within %d ms", sno_max_wait),
			 errdetail("This session takes new partitions at a limited rate. Those it had are exhausted, or the clock is behind what they issued."),
			 errhint("Raise \"sno.max_wait\", or set the system clock right. See doc/operations.md#trouble.")));
}

/* One more round without a wait.  Even if each makes some progress, all of them must end. */
static void
count_round(SnoWait *wait, int64 now)
{
	CHECK_FOR_INTERRUPTS();
	if (wait->begun == 0)
		wait->begun = now;
	if (++wait->rounds > ROUNDS_MAX && now - wait->begun > (int64) max_wait_of(wait) * 1000)
	{
		wait->obstacle = SNO_NO_OBSTACLE;
		sno_wait_give_up(wait);
	}
}

/*
 * Between two rounds of a loop: wait at most `msec` for an obstacle to go away, if there is
 * one that takes time.  Who waits for a turn is woken when it is released, however long that
 * takes.  Raises an error if sno.max_wait has passed since the first wait, or at once if no wait
 * helps.
 */
void
sno_wait(SnoWait *wait, SnoObstacle obstacle, int msec)
{
	int64		now = sno_clock_monotonic();
	int64		left;
	uint32		event;

	if (obstacle == SNO_NO_OBSTACLE || obstacle == SNO_CLASH || obstacle == SNO_LEASING)
	{
		count_round(wait, now);
		if (obstacle == SNO_LEASING)
			pg_usleep(msec * 1000L);
		return;
	}
	/* That there is no partition tells more than that we asked too often. */
	if (obstacle != SNO_TOO_FAST ||
		(wait->obstacle != SNO_NO_PARTITION && wait->obstacle != SNO_NO_GRANT))
		wait->obstacle = obstacle;
	if (obstacle == SNO_NO_BACKFILL || obstacle == SNO_BACKFILLED ||
		obstacle == SNO_REGISTERED)
		sno_wait_give_up(wait);

	if (wait->since == 0)
	{
		wait->since = now;
		if (wait->counters != NULL)
			sno_counters_wait(wait->counters);
	}
	sno_activity_wait(wait->generator, wait->partition);
	if (sno_notify_overflow)
		sno_worker_ask(SNO_NOTIFIER);
	left = max_wait_of(wait) - (now - wait->since) / 1000;
	if (left <= 0)
		sno_wait_give_up(wait);

	event = sno_wait_event[wait->generator == NULL ? SNO_WAITS_FOR_PARTITION : SNO_WAITS_FOR_GENERATOR];
	if (obstacle == SNO_BUSY)
		sno_turn_sleep(left, event);
	else
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, Min(msec, left), event);
	ResetLatch(MyLatch);
	if (wait->counters != NULL)
		sno_counters_waited(wait->counters, sno_clock_monotonic() - wait->since);
	CHECK_FOR_INTERRUPTS();
}
