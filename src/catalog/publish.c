/*
 * publish.c
 *		A lease that is held: written, flushed and published.
 *
 * This is common to sessions, named generators and backfill.  src/README.md has a
 * picture.  The guarantee depends on the order of four events:
 *
 *		write the row < flush its WAL < publish the ceiling < issue under it
 *
 * Because of the order of WAL, every standby, backup and copy has the row before any
 * transaction that uses ids issued under it.  synchronous_commit doesn't matter: this flush
 * is local, and waits for no standby.
 *
 * A renewal begins at half of the lease's life, by writing a row without waiting for its
 * flush.  When the clock reaches the ceiling, the row is flushed, unless it already is, and
 * its ceiling is published.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"

#include "catalog/publish.h"
#include "shared/activity.h"
#include "shared/attempt.h"

int			sno_lease_duration;

/* Note for sno_check() that a row could not be written.  The caller raises the error again. */
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
 * Write the row of a lease up to `ceiling`, with the state of the generator.  Returns
 * false if another holder has a lease of this subject.
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

/* Request the flush of the written row, but don't wait for it. */
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
 * Renew a lease that still covers the clock's unit.  A failure must not disturb the caller, so
 * it is logged.  The lease belongs to the generator, or to the partition if `generator` is
 * NULL.
 */
void
sno_lease_quietly(void (*renew) (void *), void *arg, const char *generator, int partition)
{
	ErrorData  *error;
	char	   *of;

	/* Parallel operations can't have subtransactions: renew at the ceiling. */
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
