/*
 * queue.c
 *		The queue of sessions that wait for a named generator.
 *
 * Sessions that wait for a unit stand in a queue.  Each draws a ticket, and may issue as soon as
 * fewer tickets are before its own than ids are left.  `tickets_done` counts the sessions that
 * have left the queue, with an id or without, so the queue always empties.  Until then, new
 * sessions draw tickets, too.  So all get their share.  A session leaves the queue before it does
 * something that may send a message to the client, as interrupts do: sending lasts until the
 * client reads the message.  Without a wait there is no queue, only two loads from the state
 * word's cache line.
 */
#include "postgres.h"

#include "named/queue.h"

/* The state in whose queue this session stands, and its ticket. */
static SnoNamedState *queue;
static uint32 ticket;

/* Draw a ticket, unless this session stands in a queue. */
void
sno_queue_join(SnoNamedState *s)
{
	if (queue != NULL)
		return;
	queue = s;
	ticket = pg_atomic_fetch_add_u32(&s->tickets, 1);
}

/* Leave the queue, if the session stands in one.  This can't fail. */
void
sno_queue_leave(void)
{
	if (queue != NULL)
		pg_atomic_fetch_add_u32(&queue->tickets_done, 1);
	queue = NULL;
}

/* How many ids must others get before it is our turn?  Zero or less if it is our turn now. */
int32
sno_queue_before_us(SnoNamedState *s, uint64 word, SnoFlakeTime now)
{
	int32		spare = sno_state_unit_size(&s->shared) - now.least;

	if (sno_state_is_queued(s))
		sno_queue_join(s);
	if (queue == NULL)
		return 0;
	if (now.unit == SNO_WORD_UNIT(word))
		spare = Max((int32) s->shared.sequence_max - (int32) Max(SNO_WORD_SEQUENCE(word), now.least) + 1, 0);
	return (int32) (ticket - pg_atomic_read_u32(&s->tickets_done)) - spare + 1;
}
