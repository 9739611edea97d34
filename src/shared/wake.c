/*
 * wake.c
 *		Wakes the readers of feeds when a transaction commits rows.
 *
 * A table has a condition variable, whose list contains the sessions that wait for rows of the
 * table.  The guard of a feed notes the table, and a commit wakes the sessions in the list.  If
 * the list is empty, the commit only reads that it is.
 *
 * A reader first enters the list, and then takes the snapshot in which it looks for rows.  A
 * writer first makes its rows visible, and then reads the list.  Both execute a full memory
 * barrier between their two steps (R3).  So either the reader sees the rows, or the writer wakes
 * the reader.  PostgreSQL removes the reader from the list when a transaction fails, when the
 * process ends, and when the process waits for another condition variable.  After such a wait,
 * the next sleep returns at once.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "port/pg_bitutils.h"
#include "storage/proclist.h"

#include "shared/activity.h"
#include "shared/feed.h"
#include "shared/feed_memory.h"
#include "shared/wake.h"

/* The channels of the tables into which this transaction inserted rows */
static uint64 noted;

StaticAssertDecl(SNO_WAKE_CHANNELS == 64, "a channel is a bit of a word");

static int
channel_of(Oid table)
{
	return murmurhash32(table) % SNO_WAKE_CHANNELS;
}

void
sno_wake_init(ConditionVariable *channels)
{
	for (int i = 0; i < SNO_WAKE_CHANNELS; i++)
		ConditionVariableInit(&channels[i]);
}

/* Note that this transaction inserts rows into a feed.  The session has attached to the feed. */
void
sno_wake_note(Oid table)
{
	noted |= UINT64CONST(1) << channel_of(table);
}

/* Wake the sessions that wait for the rows of a transaction.  Its rows are visible by now. */
void
sno_wake_readers(bool committed)
{
	if (noted == 0)
		return;
	pg_memory_barrier();
	for (; committed && noted != 0; noted &= noted - 1)
	{
		ConditionVariable *channel = &sno_feed->channels[pg_rightmost_one_pos64(noted)];

		if (!proclist_is_empty(&channel->wakeup))
			ConditionVariableBroadcast(channel);
	}
	noted = 0;
}

/* Enter the list of a table, before this session looks for rows. */
void
sno_wake_prepare(Oid table)
{
	sno_feed_attach();
	ConditionVariablePrepareToSleep(&sno_feed->channels[channel_of(table)]);
	pg_memory_barrier();
}

/* Wait for a commit, at most `msec`.  Returns false if that time has passed. */
bool
sno_wake_sleep(Oid table, long msec)
{
	return !ConditionVariableTimedSleep(&sno_feed->channels[channel_of(table)], msec,
										sno_wait_event[SNO_WAITS_FOR_FEED]);
}
