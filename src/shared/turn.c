/*
 * turn.c
 *		Turns: the right of one session to write data that sessions have in common.
 *
 * A session that writes a row reads pages, may wait until another one has extended the table, and
 * flushes WAL.  On a slow disk all that takes long.  The work isn't done under an LWLock, because
 * neither the owner of an LWLock nor a session that waits for one can be interrupted.  It is done
 * in a turn.  Other sessions sleep until the turn is released, and can be interrupted.
 *
 * A session has at most one turn, and no function returns to the executor with it.  After an
 * error, the end of the transaction or subtransaction releases the turn; at the end of a session,
 * leaving the space does (space.c).  The release can't fail.  If a session is killed, the server
 * starts again, with new memory.
 *
 * A leader of parallel workers isn't interrupted while it has a turn.  An interrupt would
 * make it pass on messages of its workers, which lasts until the client reads them.
 *
 * Memory ordering: both changes of the owner are full barriers.  On some machines, a
 * compare-and-swap alone doesn't order later loads.  A session enters the list of waiters before it
 * looks at the owner again, and a release clears the owner before it looks at that list.  So nobody
 * sleeps while the turn is free.
 *
 * A session may take the same turn again and again: at its end, say, for each generator that it
 * used.  A session that is woken would always come too late.  So a session that had a turn last gives
 * way for a moment, if others sleep.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/latch.h"

#include "shared/turn.h"

/* The turn that this session has, and whether interrupts wait for its end. */
static SnoTurn *held;
static bool quiet;

/* The turn that this session had last, and the one that it last found taken */
static SnoTurn *had;
static SnoTurn *awaited;

/* How long it gives way. */
#define MOMENT_USEC	1000

/* Make a turn that nobody has. */
void
sno_turn_create(SnoTurn *turn)
{
	pg_atomic_init_u32(&turn->owner, 0);
	pg_atomic_init_u32(&turn->sleepers, 0);
	ConditionVariableInit(&turn->waiters);
}

/* Take a turn; false if another session has it. */
bool
sno_turn_try(SnoTurn *turn)
{
	uint32		nobody = 0;

	Assert(held == NULL);
	if (turn == had && pg_atomic_read_u32(&turn->sleepers) != 0)
		pg_usleep(MOMENT_USEC);
	if (!pg_atomic_compare_exchange_u32(&turn->owner, &nobody, (uint32) MyProcPid))
	{
		awaited = turn;
		return false;
	}
	pg_memory_barrier();
	held = had = turn;
	quiet = ParallelContextActive();
	if (quiet)
		HOLD_INTERRUPTS();
	return true;
}

/*
 * Sleep until the turn that sno_turn_try() found taken last is released, or until the latch is
 * set; at most `msec`, unless that is negative.
 */
void
sno_turn_sleep(long msec, uint32 event)
{
	ConditionVariablePrepareToSleep(&awaited->waiters);
	pg_atomic_fetch_add_u32(&awaited->sleepers, 1);
	if (pg_atomic_read_u32(&awaited->owner) != 0)
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | (msec < 0 ? 0 : WL_TIMEOUT), msec, event);
	pg_atomic_fetch_sub_u32(&awaited->sleepers, 1);
	ConditionVariableCancelSleep();
}

/* Take a turn, and wait for it as long as that takes. */
void
sno_turn_take(SnoTurn *turn, uint32 event)
{
	while (!sno_turn_try(turn))
	{
		sno_turn_sleep(-1, event);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

void
sno_turn_release(SnoTurn *turn)
{
	held = NULL;
	(void) pg_atomic_exchange_u32(&turn->owner, 0);
	/* Wake all waiters, because a single one might be interrupted. */
	ConditionVariableBroadcast(&turn->waiters);
	if (quiet)
		RESUME_INTERRUPTS();
	quiet = false;
}

/* Release the turn that an error or the end of the session left. */
void
sno_turn_end(void)
{
	/* An error has already let interrupts in again. */
	quiet = false;
	if (held != NULL)
		sno_turn_release(held);
}

static void
at_transaction_event(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT)
		sno_turn_end();
}

static void
at_subtransaction_event(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		sno_turn_end();
}

/* Called when the library is loaded. */
void
sno_turn_init(void)
{
	RegisterXactCallback(at_transaction_event, NULL);
	RegisterSubXactCallback(at_subtransaction_event, NULL);
}
