/*
 * queue.c
 *		The queue of sessions that wait for a named generator.
 *
 * A session that has to wait for an id joins the queue, and draws a ticket.  It may issue as soon
 * as the number of sessions before it is less than the number of ids that are left in the unit.
 * `tickets_done` counts all sessions that have left the queue, with or without an id, so nobody
 * waits for a session that has gone.  While the queue isn't empty, each other session that wants an
 * id also draws a ticket, so that it doesn't overtake the sessions that wait.
 *
 * A session leaves the queue before it does anything that may send a message to the client, for
 * example before it processes interrupts.  Otherwise it would hold up the queue until the client
 * reads the message.
 *
 * If no session waits, the queue costs a session only two loads from the cache line of the state
 * word.
 */
#include "postgres.h"

#include "named/queue.h"

/* The state in whose queue this session stands, or NULL; and the ticket of this session. */
static SnoNamedState *queue;
static uint32 ticket;

/* Join the queue of a state, unless this session already stands in a queue. */
void
sno_queue_join(SnoNamedState *s)
{
	if (queue != NULL)
		return;
	queue = s;
	ticket = pg_atomic_fetch_add_u32(&s->tickets, 1);
}

/* Leave the queue, if this session stands in a queue.  This can't fail. */
void
sno_queue_leave(void)
{
	if (queue != NULL)
		pg_atomic_fetch_add_u32(&queue->tickets_done, 1);
	queue = NULL;
}

/*
 * Return how many ids the unit lacks for the sessions before us in the queue and for our own id.
 * If the result is zero or less, we may issue now.  Joins the queue if other sessions wait.
 */
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
