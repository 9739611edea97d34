/*
 * turn.c
 *		Turns: the right of one session at a time to write data that sessions have in common.
 *
 * A session that writes a row reads pages, may wait until another session has extended the table,
 * and flushes WAL.  This takes a long time on a slow disk.  An LWLock isn't suitable for such
 * work, because neither the session that has an LWLock nor a session that waits for it can be
 * interrupted.  So the session does the work in a turn.  Other sessions sleep until the turn is
 * released.  All these sessions can be interrupted.
 *
 * A session has at most one turn at a time, and releases it before it returns to the executor.
 * After an error, the turn is released at the end of the transaction or subtransaction.  If a
 * session ends during a turn, the turn is released when the session leaves its space (space.c).
 * The release can't fail.  If a session crashes, the server restarts with new shared memory, in
 * which no turn is taken.
 *
 * While a leader has parallel workers, it isn't interrupted during its turn.  An interrupt would
 * make the leader pass on messages of its workers, and this may last until the client reads them.
 *
 * Memory ordering: each change of the owner is a full barrier.  sno_turn_try() needs an
 * additional barrier for this, because a compare-and-swap alone doesn't order later loads on some
 * machines.  A session enters the list of waiters before it looks at the owner again, and a
 * release clears the owner before it looks at that list.  So no session sleeps while the turn is
 * free.
 *
 * A session may take the same turn many times in a row: when a session ends, for example, it
 * takes the turn of a group once for each of the group's generators that it used.  Before a
 * sleeping session has woken up after a release, the first session would usually have taken the
 * turn again.  So if other sessions sleep, a session pauses for a moment before it takes the same
 * turn again.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/latch.h"

#include "shared/turn.h"

/*
 * The turn that this session has, or NULL; and a flag: are interrupts held off until the turn is
 * released?
 */
static SnoTurn *held;
static bool quiet;

/* The turn that this session had last, and the turn that it last found taken */
static SnoTurn *had;
static SnoTurn *awaited;

/* How long a session pauses for other sessions, in µs */
#define MOMENT_USEC	1000

/* Make a turn that nobody has. */
void
sno_turn_create(SnoTurn *turn)
{
	pg_atomic_init_u32(&turn->owner, 0);
	pg_atomic_init_u32(&turn->sleepers, 0);
	ConditionVariableInit(&turn->waiters);
}

/* Take a turn.  Returns false if another session has it. */
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
 * Sleep until the turn that sno_turn_try() last found taken is released, or until the latch is
 * set.  Sleep for at most `msec` milliseconds, or without a limit if `msec` is negative.
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

/* Take a turn, and wait for it without a limit. */
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
	/*
	 * Wake all waiters: if only one were woken, it might be interrupted, and the others would go
	 * on sleeping.
	 */
	ConditionVariableBroadcast(&turn->waiters);
	if (quiet)
		RESUME_INTERRUPTS();
	quiet = false;
}

/* Release the turn that this session still has after an error, or when the session ends. */
void
sno_turn_end(void)
{
	/* The error has already ended the hold-off of interrupts. */
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

/* This is called when the library is loaded. */
void
sno_turn_init(void)
{
	RegisterXactCallback(at_transaction_event, NULL);
	RegisterSubXactCallback(at_subtransaction_event, NULL);
}
