/*
 * refuse.c
 *		The errors that end waits for ids of partitions.
 */
#include "postgres.h"

#include "catalog/leases.h"
#include "compat.h"
#include "generate/refuse.h"
#include "shared/partition.h"

/* Raise an error, because a table of an extension couldn't be locked in this mode. */
void
sno_refuse_lock(const SnoWait *wait, const char *extension, const char *table, const char *mode)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not lock table \"%s\" of extension \"%s\" within %d ms",
					table, extension, sno_wait_msec(wait)),
			 errdetail("Another session holds, or waits for, a lock on it that conflicts with %s.",
					   mode),
			 errhint("Look for that session in pg_locks, and end its transaction. See doc/operations.md#trouble.")));
}

/*
 * Raise an error, because the registry granted no node for a generator or, if `generator` is NULL, no
 * partition.  The last failure of the registry client may name hosts and users, so only members of
 * pg_read_all_settings see its text.
 */
void
sno_refuse_grant(const SnoWait *wait, const char *generator)
{
	SnoRegistryNews news;
	bool		failed;

	LWLockAcquire(&sno_journal->lock, LW_SHARED);
	news = sno_journal->registry;
	LWLockRelease(&sno_journal->lock);
	failed = news.failed_at != 0;
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 generator != NULL ?
			 errmsg("the registry granted no node for generator \"%s\" within %d ms",
					generator, sno_wait_msec(wait)) :
			 errmsg("the registry granted no partition for a sno within %d ms", sno_wait_msec(wait)),
			 failed && sno_registry_may_see() ?
			 errdetail("The last request to the registry failed: %s", news.failure) :
			 failed ? errdetail("The last request to the registry failed. The server log has the reason.") :
			 news.answered_at != 0 ?
			 errdetail("Its grants to this database have ended, begin after this server's clock, or are outside of \"sno.partitions\".") :
			 errdetail("The registry has not answered yet."),
			 errhint("See item \"registry\" of sno_check(), and doc/servers.md#what-happens-when.")));
}

/* Raise an error, because no partition could issue an id. */
pg_noreturn static void
refuse_issuing(const SnoWait *wait, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("no partition could issue a sno within %d ms", sno_wait_msec(wait)),
			 errdetail_internal("%s", detail),
			 errhint("%s", hint)));
}

/*
 * Raise the error that reports why this session couldn't issue in a partition, lend a partition, or
 * open the table of leases (`wait->obstacle`).
 */
void
sno_refuse_partition(const SnoWait *wait)
{
	switch (wait->obstacle)
	{
		case SNO_TABLE_LOCKED:
			sno_refuse_lock(wait, "sno", SNO_LEASES_TABLE, "ROW SHARE");
		case SNO_NO_GRANT:
			sno_refuse_grant(wait, NULL);
		case SNO_NO_PARTITION:
			ereport(ERROR,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("no partition was free for a sno within %d ms", sno_wait_msec(wait)),
					 sno_is_registered() ?
					 errdetail("All partitions that the registry granted are exhausted, belong to named generators, or cannot be used until the clock has passed their ids.") :
					 errdetail("All partitions from %d to %d are exhausted, belong to named generators, or cannot be used until the clock has passed their ids.",
							   sno_partition_range.first, sno_partition_range.last),
					 sno_is_registered() ?
					 errhint("Let the registry grant more. See doc/servers.md#regions-capacity.") :
					 errhint("Widen \"sno.partitions\", or set the system clock right. See doc/operations.md#trouble.")));
			break;
		case SNO_NO_BACKFILL:
			ereport(ERROR,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("no partition is left for a sno of a given time"),
					 sno_is_registered() ?
					 errdetail("Half of the partitions that the registry granted for that time may be used for given times, each only once, and only if it was never leased.") :
					 errdetail("Half of the partitions from %d to %d may be used for given times, each only once, and only if it was never leased.",
							   sno_partition_range.first, sno_partition_range.last),
					 errhint("Widen \"sno.partitions\", and give times in ascending order. See doc/operations.md#trouble.")));
			break;
		case SNO_TOO_FAST:
			refuse_issuing(wait, "This session takes new partitions at a limited rate. Its former ones are exhausted, or the clock is behind their ids.",
						   "Raise \"sno.max_wait\", or set the system clock right. See doc/operations.md#trouble.");
		default:
			refuse_issuing(wait, "Partitions changed each time before an id was issued.",
						   "Raise \"sno.max_wait\". See doc/operations.md#trouble.");
	}
}
