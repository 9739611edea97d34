/*
 * publish.c
 *		Writes, flushes and publishes leases.
 *
 * The leases of partitions and of named generators are written in the same way.  src/README.md
 * has a picture of the life of a lease.  No id is issued twice if four events have this order:
 *
 *		write the row < flush its WAL < publish the ceiling < issue under it
 *
 * In WAL, the row comes before the commit of any transaction that uses ids issued under the
 * row.  So every standby, backup and copy that has such a transaction has the row, too.  This
 * doesn't depend on synchronous_commit, which XLogFlush() ignores.
 *
 * A lease is renewed early, when half of its length is over.  The new row of a partition is
 * flushed at once, and its ceiling is published.  A named generator doesn't wait for the flush of
 * its new row.  When the clock reaches the present ceiling, the new row is flushed, unless it was
 * flushed before, and the row's ceiling is published.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"

#include "catalog/publish.h"
#include "shared/activity.h"
#include "shared/attempt.h"

int			sno_lease_duration;

/*
 * Record in the journal, which sno_check() reads, that a row could not be written.  The caller
 * re-throws the error.
 */
static void
note_failure(const SnoSubject *subject, MemoryContext context)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	if (error->sqlerrcode != ERRCODE_QUERY_CANCELED)
		sno_journal_failure(sno_subject_has_partition(subject) ? psprintf("partition %d", subject->partition) :
							"nodes", error->message);
	FreeErrorData(error);
}

/*
 * Write the row of a lease that ends at `ceiling`, with the state of the generator.  Returns
 * false if another holder's lease overlaps this one, see sno_record_write().
 */
bool
sno_lease_write(SnoLease *lease, Relation rel, const SnoSubject *subject, SnoGenerator g,
				uint64 ceiling)
{
	MemoryContext context = CurrentMemoryContext;
	XLogRecPtr	lsn;
	volatile bool written = false;

	g.ceiling = ceiling;
	PG_TRY();
	{
		written = sno_record_write(rel, subject, &g, &lsn);
	}
	PG_CATCH();
	{
		note_failure(subject, context);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (written)
		sno_lease_note_written(lease, ceiling, lsn, rel->rd_rel->relfilenode);
	return written;
}

/* Let the WAL writer flush the written row, without waiting for the flush. */
void
sno_lease_flush_later(SnoLease *lease, const SnoGenerator *g)
{
	XLogSetAsyncXactLSN(lease->pending_lsn);
	sno_lease_rest(lease, g);
}

/* Flush the written row, and publish its ceiling.  `half` is half of the lease's length. */
void
sno_lease_publish(SnoLease *lease, SnoGenerator *g, uint64 half)
{
	XLogFlush(lease->pending_lsn);
	sno_lease_note_flushed(lease, g, half);
}

/*
 * Call `renew` to renew a lease that still covers the clock's unit.  The caller can go on
 * without the renewal, so an error is only logged.  The message names the generator, or the
 * partition if `generator` is NULL.
 */
void
sno_lease_quietly(void (*renew) (void *), void *arg, const char *generator, int partition)
{
	ErrorData  *error;
	char	   *of;

	/*
	 * sno_attempt() needs a subtransaction.  A parallel operation can't start one, so it renews a
	 * lease only when the clock has reached the ceiling.
	 */
	if (IsInParallelMode())
		return;
	error = sno_attempt(renew, arg);
	if (error == NULL)
		return;
	of = generator != NULL ? psprintf("generator \"%s\"", generator) :
		psprintf("partition %d", partition);
	sno_journal_failure(of, error->message);
	ereport(LOG,
			(errmsg("could not renew the lease of %s yet: %s",
					of, error->message),
			 error->detail ? errdetail_internal("%s", error->detail) : 0,
			 error->hint ? errhint("%s", error->hint) : 0));
	FreeErrorData(error);
}
