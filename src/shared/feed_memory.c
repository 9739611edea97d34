/*
 * feed_memory.c
 *		The feed of a database in shared memory: how it is made, found and forgotten.
 *
 * The feed of a database is made when a session issues the first id there, or computes the first
 * watermark.  The space of the database (space.c) has an atomic pointer to the feed, which is
 * never freed.  The issuers of a process keep their contents when its session ends, because a
 * reader with an older snapshot needs them.
 *
 * A parallel worker announces its unit in the issuers of its leader.  The leader ends this
 * announcement at the end of its transaction, so the leader must be attached to the feed by then.
 * At the end of a failed transaction, the leader can't attach, because attaching may raise an
 * error.  So the leader attaches when it plans a call of a function that issues ids, and a worker
 * whose leader isn't attached raises an error.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/proc.h"

#include "shared/activity.h"
#include "shared/feed.h"
#include "shared/feed_memory.h"
#include "shared/space.h"

SnoFeed    *sno_feed;
SnoFeedIssuers *sno_feed_issuers;

/* Forget the notes of all counters, and return the number of counters. */
static int
clear_counters(SnoFeed *f)
{
	int			count = 0;

	for (; DsaPointerIsValid(f->counters); count++)
	{
		dsa_pointer this = f->counters;

		f->counters = ((SnoFeedCounter *) dsa_get_address(sno_area, this))->next;
		dsa_free(sno_area, this);
	}
	return count;
}

/* Clear the feed of a space that another database has taken over. */
static void
clear_feed(SnoFeed *f)
{
	sno_prepared_clear(&f->prepared);
	sno_promise_forget(&f->promise);
	memset(f->issuers, 0, ProcGlobal->allProcCount * sizeof(SnoFeedIssuers));
}

/*
 * Adapt a feed to its space, which has begun another life (space.c), or was taken over by another
 * database.  In another life, the database may be a new one with the same OID, in which the
 * feed's row is missing on disk.  So the row must be read and written again.  But the promise
 * remains valid, unless another database took the space over.  The first session that attaches in
 * a life calls this.
 */
static void
follow_space(SnoFeed *f)
{
	bool		gone;

	LWLockAcquire(&f->lock, LW_EXCLUSIVE);
	gone = f->former != sno_space->former;
	if (gone)
		clear_feed(f);
	if (pg_atomic_read_u32(&f->life) != sno_space->life)
	{
		int			counters = clear_counters(f);

		pg_atomic_write_u64(&f->covered, 0);
		pg_atomic_write_u32(&f->past_known, 0);
		/* If another database has taken the space over, clear_space() has set `allocated` to 0. */
		if (!gone)
			pg_atomic_fetch_sub_u64(&sno_space->allocated, counters * sizeof(SnoFeedCounter));
	}
	f->former = sno_space->former;
	pg_write_barrier();
	pg_atomic_write_u32(&f->life, sno_space->life);
	LWLockRelease(&f->lock);
}

/* Make a feed for the space, unless another session makes it first. */
static void
make_feed(void)
{
	dsa_pointer none = InvalidDsaPointer;
	dsa_pointer place = dsa_allocate0(sno_area, offsetof(SnoFeed, issuers) +
									  ProcGlobal->allProcCount * sizeof(SnoFeedIssuers));
	SnoFeed    *f = dsa_get_address(sno_area, place);

	sno_shmem_init_lock(&f->lock);
	sno_turn_create(&f->writing);
	sno_wake_init(f->channels);
	f->former = sno_space->former;
	pg_atomic_init_u32(&f->life, sno_space->life);
	if (!dsa_pointer_atomic_compare_exchange(&sno_space->feed, &none, place))
		dsa_free(sno_area, place);
}

/*
 * Return the feed of the space that this session has entered, and make it if there is none.  This
 * takes no lock, except in the first sessions that attach in a life of the space.  So a session
 * that is stopped here doesn't keep others from attaching.
 */
static SnoFeed *
have_feed(void)
{
	SnoFeed    *f;

	if (!DsaPointerIsValid(dsa_pointer_atomic_read(&sno_space->feed)))
		make_feed();
	f = dsa_get_address(sno_area, dsa_pointer_atomic_read(&sno_space->feed));
	pg_read_barrier();
	if (pg_atomic_read_u32(&f->life) != sno_space->life)
		follow_space(f);
	pg_read_barrier();
	return f;
}

/* Is the leader of this parallel worker attached, so that it will end the worker's announcements? */
static bool
leader_is_attached(const PGPROC *leader)
{
	int			count;
	SnoActivity *slots;

	sno_shmem_attach();
	slots = sno_activity_slots(&count);
	return pg_atomic_read_u32(&slots[GetNumberFromPGProc(leader)].has_feed) == leader->pid;
}

/* Attach this process to the feed of its database, if it hasn't attached yet. */
void
sno_feed_attach(void)
{
	PGPROC	   *leader = IsParallelWorker() ? MyProc->lockGroupLeader : NULL;

	if (sno_feed_issuers != NULL)
		return;
	if (leader != NULL && !leader_is_attached(leader))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a parallel worker cannot issue an id for a session that has not issued any"),
				 errdetail("The session must be prepared to report when the ids of its workers are committed."),
				 errhint("Call sno_generate() in the session first, or declare the function that issues ids in a worker PARALLEL RESTRICTED. See doc/operations.md#trouble.")));
	sno_space_enter();
	sno_feed = have_feed();
	sno_feed_issuers = &sno_feed->issuers[GetNumberFromPGProc(leader == NULL ? MyProc : leader)];
	if (leader == NULL)
		pg_atomic_write_u32(&sno_my_activity->has_feed, MyProcPid);
}

/* Return the feed's data about a counter, or NULL if no watermark of the counter was computed. */
SnoFeedCounter *
sno_feed_find_counter(const SnoSubject *counter)
{
	dsa_pointer place = sno_feed->counters;

	while (DsaPointerIsValid(place))
	{
		SnoFeedCounter *c = dsa_get_address(sno_area, place);

		if (sno_subjects_equal(&c->subject, counter))
			return c;
		place = c->next;
	}
	return NULL;
}

/*
 * Return the feed's data about a counter.  If there is none, make it, or raise an error if the
 * database has used up its memory.  The caller holds the lock.
 */
SnoFeedCounter *
sno_feed_have_counter(const SnoSubject *counter)
{
	SnoFeedCounter *c = sno_feed_find_counter(counter);
	dsa_pointer place;

	if (c != NULL)
		return c;
	place = sno_space_allocate(sizeof(SnoFeedCounter));
	c = dsa_get_address(sno_area, place);
	c->next = sno_feed->counters;
	c->subject = *counter;
	/* Sessions read the list without the lock, too, so the new element must be complete. */
	pg_write_barrier();
	sno_feed->counters = place;
	return c;
}
