/*
 * publish.c
 *		A lease that is held: written, flushed and published.
 *
 * Sessions, named generators and backfill all lease this way.  src/README.md has
 * the picture.  The guarantee rests on one order of events:
 *
 *		write the row < flush its WAL < publish the ceiling < issue under it
 *
 * The order of WAL carries the row to every standby, backup and copy ahead of any
 * transaction that uses ids issued under it.  synchronous_commit doesn't matter: the
 * flush is ours and local, and waits for no standby.
 *
 * A renewal begins at half of the lease's life, by a row that is written but not
 * waited for.  It is flushed by the time the clock reaches the ceiling, and only
 * then published.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"

#include "catalog/publish.h"
#include "shared/activity.h"
#include "shared/attempt.h"

int			sno_lease_duration;

/* Note for sno_check() that a row could not be written.  The error is raised again. */
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
 * Write the row of a lease up to `ceiling`, with the state of the generator.  False
 * if another holder leases the same.
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

/* Ask for the flush of the row that is written, but don't wait for it. */
void
sno_lease_flush_later(SnoLease *lease, const SnoGenerator *g)
{
	XLogSetAsyncXactLSN(lease->pending_lsn);
	sno_lease_rest(lease, g);
}

/* Flush the row that is written, and publish its ceiling.  `half` is that of the lease. */
void
sno_lease_publish(SnoLease *lease, SnoGenerator *g, uint64 half)
{
	XLogFlush(lease->pending_lsn);
	sno_lease_note_flushed(lease, g, half);
}

/*
 * Renew a lease that still covers what is issued.  A failure must not disturb the
 * caller: it is logged.  The lease is that of a generator, or if it has no name, of a
 * session's partition.
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
