/*
 * feed.c
 *		Watermarks on models small enough to be explored whole: every order of the
 *		steps of transactions and readers, and of clock readings.  Prints TAP.
 *
 * core/issuer.c, core/numbers.c and shared/feed.c run as they are.  Each atomic access is a
 * step, and so is each lock, each look at what PostgreSQL knows of transactions, and each
 * thing that PostgreSQL does to them.  What is needed of PostgreSQL is below.
 *
 * A world has writers, a reader, and transactions, each of which one writer runs.
 * A writer begins a transaction, makes ids, and commits, aborts or prepares it.  It makes
 * an id as generators do: at sno_feed_unit(), or at any reading of the clock that isn't
 * before sno_feed_bound.  In one scope the second writer is a parallel worker of the
 * first one.  A reader takes a snapshot and asks for watermarks, once or twice.  A
 * server may crash once; only there the row on disk matters.  Clocks may read any unit
 * at any time.
 *
 * In other scopes, ids are numbers of a counter, which is one more word in memory.  There
 * a transaction may also insert a number that it didn't draw, as far as the guard lets it.
 *
 * What must hold: if a snapshot got a watermark and doesn't show a transaction, then
 * that has no id below, and never makes one.  For each transaction it is enough
 * to remember the highest such watermark and the lowest id.  After a clock that was
 * too far ahead, it is enough that later watermarks are refused.  And a counter's watermark
 * is its next number, once all is quiet.
 *
 * Memory is sequentially consistent here.  So what weaker orders do isn't modelled.
 */
#include "calls.h"

#include "postgres.h"

/* Each atomic access is a step of its own. */
static void at_access(const volatile void *address);
static uint64 mutate_load(const volatile void *address, uint64 value);

#define __atomic_load_n(p, order) \
	(at_access(p), mutate_load(p, __atomic_load_n(p, order)))
#define __atomic_store_n(p, value, order) \
	(at_access(p), __atomic_store_n(p, value, order))
#define __atomic_add_fetch(p, value, order) \
	(at_access(p), __atomic_add_fetch(p, value, order))
#define __atomic_compare_exchange_n(p, expected, value, weak, order, other) \
	(at_access(p), __atomic_compare_exchange_n(p, expected, value, weak, order, other))

#define SNO_ISSUER_MEMORY	2
#define SNO_NUMBERS_NOTES	2
#define SNO_PROMISE_AHEAD	ahead()
#define SNO_COVER_AHEAD		0

static unsigned ahead(void);

#include "access/parallel.h"
#include "access/transam.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "core/numbers.h"
#include "shared/clock.h"

#include "../../src/core/issuer.c"
#include "../../src/core/numbers.c"

/* What may have a mutant is interposed: the function below calls the real one. */
static uint64 begin_issuer(SnoIssuer *issuer, SnoPromise *promise, uint64 now, SnoClock clock);
static void end_issuer(SnoIssuer *issuer, uint64 xid);
static uint64 lowest_of(const SnoIssuer *issuer, bool (*shows) (uint64_t, void *), void *arg);
static uint64 make_promise(SnoPromise *promise, uint64 now, SnoClock clock);
static bool is_broken(const SnoPromise *promise);
static void begin_numbers(SnoIssuer *issuer, const uint64 *ticks);
static void note_next(SnoNumbers *numbers, uint64 *ticks, uint64 next);
static uint64 lowest_number(SnoNumbers *numbers, uint64 since);
static uint64 read_clock(void);
static int64 time_passed(void);

#define sno_issuer_begin begin_issuer
#define sno_issuer_end end_issuer
#define sno_issuer_lowest lowest_of
#define sno_promise_make make_promise
#define sno_promise_is_broken is_broken
#define sno_numbers_begin begin_numbers
#define sno_numbers_note note_next
#define sno_numbers_lowest lowest_number
#define sno_clock_unit read_clock
#define sno_clock_monotonic() time_passed()
/* Not a function in all versions. */
#define TransactionIdPrecedes(a, b) ((a) < (b))
#define TransactionIdFollowsOrEquals(a, b) ((a) >= (b))
#include "../../src/shared/prepared.c"
#include "../../src/shared/feed_memory.c"
#include "../../src/shared/feed.c"
#undef sno_issuer_begin
#undef sno_issuer_end
#undef sno_issuer_lowest
#undef sno_promise_make
#undef sno_promise_is_broken
#undef sno_numbers_begin
#undef sno_numbers_note
#undef sno_numbers_lowest

/* The libc's, not the server's. */
#undef printf
#undef snprintf

#include "explore.h"

#define WRITERS			2
#define READER			WRITERS /* the number of its process */
#define PROCESSES		(WRITERS + 1)
#define TRANSACTIONS	4		/* the most there can be */
#define FIRST_XID		3

/* Where a call may be. */
typedef enum Place
{
	AT_ACCESS = NOWHERE + 1,
	AT_CHOICE,
	AT_LOCK,
	AT_LOOK,
	AT_EVENT,
	BROKEN						/* by an error: the end of the call */
} Place;

typedef struct Scope
{
	const char *name;
	unsigned	units,			/* that a clock may read, from 1 on */
				writers,
				transactions,	/* of each writer */
				ids,			/* of each transaction, at most */
				answers;		/* of the reader, to one snapshot */
	bool		worker,			/* is the second writer a worker of the first one? */
				prepares,		/* are transactions prepared, too? */
				crashes,
				moves,			/* does a promise move on that is ahead of the clock?  Does a
								 * writer make notes? */
				far,			/* is no unit held ahead of the clock? */
				steady,			/* does no clock go back?  Then no promise is broken */
				numbers,		/* are ids those of a counter? */
				guards,			/* are other numbers inserted, too? */
				large;			/* does it take half a minute or more? */
} Scope;

typedef enum ScopeNumber
{
	ONE, MOVES, TWO, LONGER, MEMORY, WORKER, PREPARED, CRASH, FAR, STEADY,
	NUMBERS, NUMBERS_MOVES, NUMBERS_TWO, NUMBERS_NOTES, NUMBERS_WORKER, NUMBERS_GUARD, NUMBERS_PREPARED, NUMBERS_CRASH
} ScopeNumber;

static const Scope scopes[] = {
	[ONE] = {"one writer", 3, 1, 2, 2, 2,.large = true},
	[MOVES] = {"a promise that moves on", 2, 1, 2, 2, 2,.moves = true},
	[TWO] = {"two writers", 2, 2, 1, 2, 1,.large = true},
	[LONGER] = {"one writer, more ids", 3, 1, 1, 3, 2},
	[MEMORY] = {"more transactions than are remembered", 2, 1, 4, 1, 1,.large = true},
	[WORKER] = {"a parallel worker", 2, 2, 2, 1, 1,.worker = true},
	[PREPARED] = {"prepared transactions", 2, 1, 2, 1, 2,.prepares = true},
	[CRASH] = {"prepared transactions and a crash", 2, 1, 2, 1, 1,.prepares = true,.crashes = true,.large = true},
	[FAR] = {"a clock too far ahead", 3, 1, 2, 2, 1,.far = true},
	[STEADY] = {"a clock that never goes back", 2, 1, 1, 1, 1,.crashes = true,.far = true,
	.steady = true},
	[NUMBERS] = {"a counter", 2, 1, 2, 2, 2,.numbers = true},
	[NUMBERS_MOVES] = {"a counter, and notes of its writers", 1, 1, 2, 1, 2,.moves = true,.numbers = true},
	[NUMBERS_TWO] = {"a counter with two writers", 1, 2, 1, 1, 2,.numbers = true},
	[NUMBERS_NOTES] = {"a counter, and more notes than are kept", 1, 1, 3, 1, 3,.numbers = true},
	[NUMBERS_WORKER] = {"a counter and a parallel worker", 1, 2, 1, 1, 2,.worker = true,.numbers = true},
	[NUMBERS_GUARD] = {"a counter, and numbers that were drawn before", 1, 2, 1, 1, 1,.numbers = true,
	.guards = true},
	[NUMBERS_PREPARED] = {"a counter and prepared transactions", 1, 1, 2, 1, 2,.prepares = true,
	.numbers = true},
	[NUMBERS_CRASH] = {"a counter, prepared transactions and a crash", 1, 1, 2, 1, 2,.prepares = true,
	.crashes = true,.numbers = true}
};

#define MUTANTS(M) \
	M(NO_MEMORY, "transactions that ended aren't remembered", ONE) \
	M(GONE_BEFORE_REMEMBERED, "a transaction is gone before it is remembered", ONE) \
	M(JOINED_BY_FIRST_XID, "transactions of one unit are remembered by the first xid", ONE) \
	M(MEMORY_SEEN_FIRST, "memory is looked at before the transaction that runs", ONE) \
	M(OVERWRITTEN_TRUSTED, "memory that may be overwritten is trusted", MEMORY) \
	M(FORGOTTEN_TRUSTED, "what is forgotten counts as shown", MEMORY) \
	M(PROMISE_IGNORED, "writers ignore the promise", ONE) \
	M(PROMISE_SEEN_FIRST, "writers look at the promise before they tell", ONE) \
	M(PROMISE_MADE_LAST, "readers look at the issuers before they promise", ONE) \
	M(NOT_TOLD_AGAIN, "a clock that falls behind isn't told", ONE) \
	M(BOUND_KEPT, "the next transaction tells nothing", ONE) \
	M(WORKER_ALONE, "a worker tells an issuer of its own", WORKER) \
	M(WORKER_TRUSTS, "a worker trusts what another process told", WORKER) \
	M(WORKER_RAISES, "a worker raises what another process told", WORKER) \
	M(NOT_LISTED, "a prepared transaction isn't listed", PREPARED) \
	M(LISTED_LATE, "a prepared transaction is listed after it stopped telling", PREPARED) \
	M(FORGOTTEN_EARLY, "a prepared transaction that ended is forgotten at once", PREPARED) \
	M(NOT_RECALLED, "a crash loses the list of prepared transactions", CRASH) \
	M(ENDED_UNKNOWN, "a transaction that ended before the list was made isn't missed", CRASH) \
	M(PAST_UNKNOWN, "after a crash the row isn't read", CRASH) \
	M(COVERED_UNWRITTEN, "a watermark is told before its row is written", CRASH) \
	M(BREAK_UNSEEN, "nobody asks whether the promise is broken", FAR) \
	M(CLOCK_READ_ONCE, "the clock isn't read again before a promise is broken", STEADY) \
	M(TICKED_BY_CLOCK, "the clock is used instead of the ticks", NUMBERS) \
	M(READ_AFTER_TICK, "a counter's next number is read after the tick", NUMBERS) \
	M(DRAWN_FIRST, "a transaction draws before it tells", NUMBERS) \
	M(TICK_TOLD_LATE, "a transaction tells the tick after the next one", NUMBERS) \
	M(NEVER_TOLD_AGAIN, "the next transaction tells no tick", NUMBERS) \
	M(NUMBERS_NO_MEMORY, "transactions that drew and ended aren't remembered", NUMBERS) \
	M(NUMBERS_GONE_FIRST, "a transaction that drew is gone before it is remembered", NUMBERS) \
	M(NUMBERS_BY_FIRST_XID, "transactions of one tick are remembered by the first xid", NUMBERS) \
	M(ALL_NOTES_TRUSTED, "a watermark is the latest note", NUMBERS_TWO) \
	M(LOST_NOTE_TRUSTED, "what is older than the notes counts as the first of them", NUMBERS_NOTES) \
	M(NUMBERS_ALONE, "a worker that draws tells an issuer of its own", NUMBERS_WORKER) \
	M(NUMBERS_RAISED, "a worker raises the tick that another process told", NUMBERS_WORKER) \
	M(GUARD_BY_PAST, "the guard reads the next number before it tells", NUMBERS_GUARD) \
	M(NUMBERS_NOT_LISTED, "a prepared transaction that drew isn't listed", NUMBERS_PREPARED) \
	M(NUMBERS_LISTED_LATE, "a transaction that drew is listed after it stopped telling", NUMBERS_PREPARED) \
	M(NUMBERS_FORGOTTEN_EARLY, "a prepared transaction that drew and ended is forgotten at once", NUMBERS_PREPARED) \
	M(NUMBERS_NOT_RECALLED, "a crash loses a prepared transaction that drew", NUMBERS_CRASH) \
	M(OLD_TICK_TRUSTED, "a tick is trusted that was told before the crash", NUMBERS_CRASH) \
	M(NUMBERS_ENDED_UNKNOWN, "a transaction that drew, and ended before the list was made, isn't missed", NUMBERS_CRASH)

#define NAME_OF(name, ...)	name,
#define ROW_OF(name, text, scope)	{text, scope},

typedef enum Mutant
{
	MUTANTS(NAME_OF)
	NONE
} Mutant;

static const struct
{
	const char *name;
	ScopeNumber scope;
}			mutants[] = {
	MUTANTS(ROW_OF)
};

typedef enum State
{
	UNBORN,
	RUNNING,
	AWAITING,					/* prepared */
	COMMITTED,
	ABORTED
} State;

typedef struct Transaction
{
	uint8		state;
	uint8		lowest;			/* id, as a unit or a number; 0 if it has none */
	uint8		limit;			/* the highest watermark of a snapshot that doesn't
								 * show it */
	uint8		since;			/* as its lock tells, if it is prepared, plus 1 */
	uint32		xid;
} Transaction;

/* A process, and what is its own in shared/feed.c. */
typedef struct Process
{
	uint32		at;				/* where its call is: a part, or 0 if in none */
	uint8		place,
				locked,			/* does it hold the feed's lock, 2 if alone? */
				writing,		/* is it its turn to write the row? */
				calls,			/* that it has made */
				transaction,	/* that it runs, + 1 */
				ticked,			/* has that told a tick? */
				unused;
	uint64		told,
				bound;
	uint32		xmin;			/* of the reader's snapshot, 0 if it has none */
	uint32		pad;
	TransactionId ended[TRANSACTIONS];	/* that the reader found, see sno_view_of() */
} Process;

/* Memory for the list of prepared transactions: more than can be in it. */
#define ENTRIES			(2 * TRANSACTIONS)

typedef struct Shared
{
	SnoPromise	promise;
	SnoFeedIssuers issuers[WRITERS + 1];	/* one more for a mutant */
	uint64		ticks;
	uint64		next;			/* number of the counter */
	dsa_pointer counters;
	SnoFeedCounter counter;
	dsa_pointer prepared;
	uint64		prepared_known;
	SnoPrepared	entry[ENTRIES];
	uint8		used[ENTRIES];
	uint32		next_xid;
	uint8		crashed;
	uint8		worker_runs;
	uint8		past_known;
	uint8		covered;
	uint8		clock;			/* the last reading, if the clock is steady */
	uint64		row;			/* on disk: the unit that it covers */
} Shared;

typedef struct World
{
	Shared		shared;
	Transaction transaction[TRANSACTIONS];
	Process		process[PROCESSES];
} World;

typedef enum Event
{
	GO_ON,
	COMMIT_PREPARED,
	ROLLBACK_PREPARED,
	CRASHED,
	EVENTS
} Event;

static const Scope *scope;
static Mutant mutant;
static World w;
static Process *process;

/* The feed while a process runs, moved in and out of the world. */
static union
{
	SnoFeed		feed;
	char		bytes[offsetof(SnoFeed, issuers) + (WRITERS + 1) * sizeof(SnoFeedIssuers)];
}			memory;

static unsigned choice;			/* what the call chooses, if it does */
static unsigned choices;
static uint64 answered;			/* the unit that a mutant promises too late */
static uint64 id_count;

/* Where the call stops, and what it chooses then. */

/* What no other process needs is no step: what a scope doesn't tell, and what is for people. */
static bool
is_needless(const volatile void *address)
{
	for (int i = 0; i <= WRITERS; i++)
	{
		const SnoFeedIssuers *its = &memory.feed.issuers[i];
		const SnoIssuer *other = &its->told[scope->numbers ? SNO_TOLD_UNIT : SNO_TOLD_TICK];

		if (address == &its->tick_unit || address == &other->since || address == &other->ended)
			return true;
	}
	return false;
}

static void
at_access(const volatile void *address)
{
	if (!is_needless(address))
		stop(AT_ACCESS);
}

static unsigned
choose(unsigned count)
{
	if (count == 1)
		return 0;
	stop(AT_CHOICE);
	choices = count;
	return choice;
}

static uint64
read_clock(void)
{
	uint64		unit = 1 + choose(scope->units);

	if (scope->steady)
		w.shared.clock = unit = Max(unit, w.shared.clock);
	return unit;
}

/* Does a promise move on that is ahead of the clock? */
static int64
time_passed(void)
{
	return scope->moves ? 1000000 : 0;
}

static unsigned
ahead(void)
{
	return scope->far ? 0 : 100;
}

static int
process_number(void)
{
	return (int) (process - w.process);
}

static bool
is_reader(void)
{
	return process_number() == READER;
}

/* Mutants */

static uint64
mutate_load(const volatile void *address, uint64 value)
{
	static uint64 first;		/* number of ended transactions that a reader saw */

	if (mutant == PROMISE_IGNORED && address == &memory.feed.promise.unit && !is_reader())
		return 0;
	if (mutant == OVERWRITTEN_TRUSTED && is_reader() && address == &memory.feed.issuers[0].told[SNO_TOLD_UNIT].ended)
		return first = Min(value, SNO_ISSUER_MEMORY - 1);
	return value;
}

/* A clock that isn't read again. */
static uint64
stopped_clock(void)
{
	return 0;
}

static uint64
begin_issuer(SnoIssuer *i, SnoPromise *promise, uint64 now, SnoClock clock)
{
	uint64		unit;

	if (mutant == PROMISE_SEEN_FIRST)
	{
		unit = sno_promise_now(promise, now, clock);
		(void) sno_issuer_begin(i, promise, now, clock);
		return unit;
	}
	if (mutant == NOT_TOLD_AGAIN && i->since != 0 && i->since > now)
		return sno_promise_now(promise, now, clock);
	if (mutant == WORKER_TRUSTS && i->since != 0)
		return now;
	if (mutant == WORKER_RAISES && i->since != 0 && i->since < now)
		i->since = now;
	return sno_issuer_begin(i, promise, now, mutant == CLOCK_READ_ONCE ? stopped_clock : clock);
}

static void
end_issuer(SnoIssuer *i, uint64 xid)
{
	SnoEnded   *last = &i->memory[(i->ended - 1) % SNO_ISSUER_MEMORY];
	uint64		since = i->since;

	if (mutant == NO_MEMORY || mutant == NUMBERS_NO_MEMORY)
		xid = 0;
	if ((mutant == JOINED_BY_FIRST_XID || mutant == NUMBERS_BY_FIRST_XID) && i->ended > 0 && last->since == since)
		xid = 0;
	if ((mutant == GONE_BEFORE_REMEMBERED || mutant == NUMBERS_GONE_FIRST) && since != 0 && xid != 0)
	{
		i->since = 0;
		stop(AT_ACCESS);
		i->memory[i->ended % SNO_ISSUER_MEMORY] = (SnoEnded) {xid, since};
		i->ended++;
		return;
	}
	sno_issuer_end(i, xid);
}

static uint64
lowest_of(const SnoIssuer *i, bool (*shows_it) (uint64_t, void *), void *arg)
{
	SnoIssuer	copy;
	uint64		lowest,
				since;

	if (mutant == MEMORY_SEEN_FIRST)
	{
		copy = *i;
		copy.since = 0;
		lowest = sno_issuer_lowest(&copy, shows_it, arg);
		since = sno_issuer_since(i);
		return Min(lowest, since);
	}
	lowest = sno_issuer_lowest(i, shows_it, arg);
	return mutant == FORGOTTEN_TRUSTED && lowest == 0 ? SNO_NO_UNIT : lowest;
}

static uint64
make_promise(SnoPromise *promise, uint64 now, SnoClock clock)
{
	answered = now;
	return mutant == PROMISE_MADE_LAST ? now : sno_promise_make(promise, now, clock);
}

static bool
is_broken(const SnoPromise *promise)
{
	if (mutant == PROMISE_MADE_LAST)
		(void) sno_promise_make(unconstify(SnoPromise *, promise), answered, read_clock);
	return mutant != BREAK_UNSEEN && sno_promise_is_broken(promise);
}

/* A clock in place of the ticks. */
static void
begin_numbers(SnoIssuer *i, const uint64 *ticks)
{
	uint64		other = *ticks;

	if (mutant == TICKED_BY_CLOCK)
		other = read_clock();
	if (mutant == TICK_TOLD_LATE)
		other++;
	if (mutant == NUMBERS_RAISED)
		i->since = 0;
	sno_numbers_begin(i, mutant == TICKED_BY_CLOCK || mutant == TICK_TOLD_LATE ? &other : ticks);
}

static void
note_next(SnoNumbers *numbers, uint64 *ticks, uint64 next)
{
	uint64		before;

	if (mutant == TICKED_BY_CLOCK)
	{
		before = read_clock() - 1;
		sno_numbers_note(numbers, &before, next);
	}
	else if (mutant == READ_AFTER_TICK)
	{
		before = (*ticks)++;
		stop(AT_ACCESS);
		sno_numbers_note(numbers, &before, w.shared.next);
	}
	else
		sno_numbers_note(numbers, ticks, next);
}

static uint64
lowest_number(SnoNumbers *numbers, uint64 since)
{
	uint64		number;

	if (mutant == ALL_NOTES_TRUSTED)
		since = SNO_NO_UNIT;
	number = sno_numbers_lowest(numbers, since);
	return mutant == LOST_NOTE_TRUSTED && number == 0 ? numbers->note[0].next : number;
}

/* What PostgreSQL is here. */

int			MyProcPid;
Oid			MyDatabaseId = 5;
int			max_prepared_xacts;
int			ParallelWorkerNumber = -1;
LWLockPadded *MainLWLockArray;
MemoryContext CurrentMemoryContext;

static PROC_HDR proc_header = {.allProcCount = WRITERS};
static PGPROC proc;
PROC_HDR   *ProcGlobal = &proc_header;
PGPROC	   *MyProc = &proc;

SnoSpace   *sno_space;
dsa_area   *sno_area;

void		sno_space_enter(void) {}
void		sno_shmem_attach(void) {}
void		sno_shmem_init_lock(LWLock *lock) {}
SnoActivity *sno_my_activity;
SnoActivity *sno_activity_slots(int *count) { return NULL; }
void		RegisterXactCallback(XactCallback callback, void *arg) {}

/* An error ends the call: the only one is that a promise was broken. */
bool
errstart(int elevel, const char *domain)
{
	stop(BROKEN);
	return false;
}

bool		errstart_cold(int elevel, const char *domain) { return errstart(elevel, domain); }
int			errcode(int code) { return 0; }
int			errmsg(const char *format,...) { return 0; }
int			errdetail(const char *format,...) { return 0; }
int			errhint(const char *format,...) { return 0; }
void		errfinish(const char *file, int number, const char *function) { abort(); }

static bool
is_locked(LWLockMode mode)
{
	for (int i = 0; i < PROCESSES; i++)
		if (&w.process[i] != process && w.process[i].locked > (mode == LW_EXCLUSIVE ? 0 : 1))
			return true;
	return false;
}

bool
LWLockAcquire(LWLock *lock, LWLockMode mode)
{
	do
		stop(AT_LOCK);
	while (is_locked(mode));
	process->locked = mode == LW_EXCLUSIVE ? 2 : 1;
	return true;
}

bool
LWLockConditionalAcquire(LWLock *lock, LWLockMode mode)
{
	stop(AT_LOCK);
	if (is_locked(mode))
		return false;
	process->locked = mode == LW_EXCLUSIVE ? 2 : 1;
	return true;
}

void		LWLockRelease(LWLock *lock) { process->locked = 0; }

static bool
is_written(void)
{
	for (int i = 0; i < PROCESSES; i++)
		if (&w.process[i] != process && w.process[i].writing)
			return true;
	return false;
}

uint32		sno_wait_event[SNO_WAIT_EVENTS];
void		sno_turn_create(SnoTurn *turn) {}

void
sno_turn_take(SnoTurn *turn, uint32 event)
{
	do
		stop(AT_LOCK);
	while (is_written());
	process->writing = true;
}

void		sno_turn_release(SnoTurn *turn) { process->writing = false; }

/* Whom a commit wakes isn't part of the world. */
void		sno_wake_init(ConditionVariable *channels) {}
void		sno_wake_readers(bool committed) {}

/* Where the counter is. */
#define COUNTER_PLACE	(ENTRIES + 1)

/* Not inlined, because the feed, which is elsewhere, has no place. */
pg_noinline void *
dsa_get_address(dsa_area *a, dsa_pointer place)
{
	return place == COUNTER_PLACE ? (void *) &w.shared.counter : &w.shared.entry[place - 1];
}

dsa_pointer
dsa_allocate_extended(dsa_area *a, size_t size, int flags)
{
	for (int i = 0; i < ENTRIES; i++)
		if (!w.shared.used[i])
		{
			w.shared.used[i] = true;
			return i + 1;
		}
	bail_out("too many prepared transactions");
	return 0;
}

/* Only what is known of a counter is part of what a database may have. */
dsa_pointer
sno_space_allocate(size_t size)
{
	return COUNTER_PLACE;
}

void
dsa_free(dsa_area *a, dsa_pointer place)
{
	w.shared.used[place - 1] = false;
	memset(&w.shared.entry[place - 1], 0, sizeof(SnoPrepared));
}

void	   *palloc(Size size) { return size > sizeof(process->ended) ? NULL : process->ended; }

static Transaction *
of_xid(TransactionId xid)
{
	for (int i = 0; i < TRANSACTIONS; i++)
		if (w.transaction[i].xid == xid)
			return &w.transaction[i];
	bail_out("an xid is unknown");
	return NULL;
}

static bool
is_running(const Transaction *t)
{
	return t->state == RUNNING || t->state == AWAITING;
}

static Transaction *
own_transaction(void)
{
	return &w.transaction[process->transaction - 1];
}

TimestampTz GetCurrentStatementStartTimestamp(void) { return 0; }
FullTransactionId GetTopFullTransactionId(void) { return FullTransactionIdFromU64(own_transaction()->xid); }
FullTransactionId GetTopFullTransactionIdIfAny(void) { return GetTopFullTransactionId(); }
FullTransactionId ReadNextFullTransactionId(void) { return FullTransactionIdFromU64(w.shared.next_xid); }

bool
TransactionIdIsInProgress(TransactionId xid)
{
	stop(AT_LOOK);
	return mutant == ENDED_UNKNOWN || mutant == NUMBERS_ENDED_UNKNOWN || is_running(of_xid(xid));
}

bool
XidInMVCCSnapshot(TransactionId xid, Snapshot s)
{
	if (xid < s->xmin)
		return false;
	for (uint32 i = 0; i < s->xcnt; i++)
		if (s->xip[i] == xid)
			return true;
	return xid >= s->xmax;
}

void
GetReplicationHorizons(TransactionId *xmin, TransactionId *catalog_xmin)
{
	TransactionId oldest = w.shared.next_xid;

	stop(AT_LOOK);
	*xmin = oldest;
	if (mutant == FORGOTTEN_EARLY || mutant == NUMBERS_FORGOTTEN_EARLY)
		return;
	for (int i = 0; i < TRANSACTIONS; i++)
		if (is_running(&w.transaction[i]))
			oldest = Min(oldest, w.transaction[i].xid);
	if (w.process[READER].xmin != 0)
		oldest = Min(oldest, w.process[READER].xmin);
	*xmin = oldest;
}

/* A lock of a prepared transaction is there until that ends, whatever crashes. */
LockAcquireResult
LockAcquire(const LOCKTAG *tag, LOCKMODE mode, bool session, bool do_not_wait)
{
	own_transaction()->since = (uint8) tag->locktag_field3 + 1;
	return LOCKACQUIRE_OK;
}

LockData *
GetLockStatusData(void)
{
	static LockInstanceData lock[TRANSACTIONS];
	static LockData locks = {.locks = lock};

	stop(AT_LOOK);
	locks.nelements = 0;
	for (int i = 0; i < TRANSACTIONS && mutant != NOT_RECALLED && mutant != NUMBERS_NOT_RECALLED; i++)
		if (w.transaction[i].state == AWAITING && w.transaction[i].since != 0)
			set_tag(&lock[locks.nelements++].locktag, w.transaction[i].xid,
					scope->numbers && mutant != OLD_TICK_TRUSTED ? SNO_TOLD_TICK : SNO_TOLD_UNIT,
					w.transaction[i].since - 1);
	return &locks;
}

/* What processes do. */

/* The transaction of the process has an id of this unit, or this number. */
static void
note_id(uint64 unit)
{
	Transaction *t = own_transaction();

	id_count++;
	if (t->lowest == 0 || unit < t->lowest)
		t->lowest = (uint8) unit;
	if (unit < t->limit && memory.feed.promise.broken == 0)
		wrong("an id is below a watermark");
}

static uint64
read_row(void *arg)
{
	return w.shared.row;
}

/* As sno_session_know_past() does. */
static void
know_past(void)
{
	if (!sno_feed_knows_past() && mutant != PAST_UNKNOWN)
		sno_feed_recall(read_row, NULL);
}

/* Write the row of the feed, as cover_watermark() lets it be written. */
static void
write_row(uint64 until, void *arg)
{
	if (mutant == COVERED_UNWRITTEN)
		return;
	w.shared.row = Max(w.shared.row, until);
	stop(AT_LOOK);
}

static void
cover(void)
{
	uint64		unit = sno_feed_highest();

	while (!sno_feed_is_covered(unit, 0))
		sno_feed_cover(unit, 0, write_row, NULL);
}

static const SnoSubject counter = {.kind = SNO_OF_NODES};

static uint64
read_next(void)
{
	stop(AT_ACCESS);
	return w.shared.next;
}

static uint64
draw(void)
{
	stop(AT_ACCESS);
	return w.shared.next++;
}

/* As sno_use_next_flake() and sno_use_first_number() do. */
static void
make_numbers(void)
{
	for (unsigned i = 0; i < scope->ids; i++)
	{
		bool		guard = scope->guards && choose(2) == 1;
		uint64		early = 0;

		if (mutant == DRAWN_FIRST)
			early = draw();
		else if (mutant == GUARD_BY_PAST && guard)
			early = read_next();
		if (guard || mutant == DRAWN_FIRST)
			sno_feed_tell_tick(NULL, 0);
		else
			sno_feed_tell_tick(&counter, scope->moves ? read_next() : 1);
		note_id(early != 0 ? early : guard ? read_next() : draw());
		if (i + 1 < scope->ids && choose(2) == 0)
			break;
	}
}

static void
make_ids(void)
{
	if (scope->numbers)
	{
		make_numbers();
		return;
	}
	know_past();
	for (unsigned i = 0; i < scope->ids; i++)
	{
		uint64		unit = read_clock();

		note_id(unit < sno_feed_bound ? sno_feed_unit() : unit);
		if (i + 1 < scope->ids && choose(2) == 0)
			break;
	}
}

static void
begin_transaction(void)
{
	uint8		number = 0;

	while (w.transaction[number].state != UNBORN)
		number++;
	w.transaction[number].state = RUNNING;
	w.transaction[number].xid = w.shared.next_xid++;
	process->transaction = number + 1;
}

static void
become(State state)
{
	stop(AT_EVENT);
	own_transaction()->state = (uint8) state;
	stop(AT_EVENT);
}

static void
run_transaction(void)
{
	uint64		kept_told = told,
				kept_bound = sno_feed_bound;
	SnoTold		what = scope->numbers ? SNO_TOLD_TICK : SNO_TOLD_UNIT;
	SnoIssuer	kept_issuer;
	bool		late = mutant == LISTED_LATE || mutant == NUMBERS_LISTED_LATE;

	begin_transaction();
	w.shared.worker_runs = scope->worker;
	if (!scope->worker || choose(2) == 0)
		make_ids();
	while (w.shared.worker_runs)
		stop(AT_EVENT);
	kept_told = told;
	kept_bound = sno_feed_bound;
	switch (choose(scope->prepares ? 3 : 2))
	{
		case 0:
			become(COMMITTED);
			at_transaction_event(XACT_EVENT_COMMIT, NULL);
			break;
		case 1:
			become(ABORTED);
			at_transaction_event(XACT_EVENT_ABORT, NULL);
			break;
		case 2:
			kept_issuer = sno_feed_issuers->told[what];
			if (mutant != NOT_LISTED && mutant != NUMBERS_NOT_LISTED && !late)
				at_transaction_event(XACT_EVENT_PRE_PREPARE, NULL);
			become(AWAITING);
			at_transaction_event(XACT_EVENT_PREPARE, NULL);
			if (late)
			{
				stop(AT_EVENT);
				sno_feed_issuers->told[what] = kept_issuer;
				note_prepared(what);
				sno_feed_issuers->told[what].since = 0;
			}
			break;
	}
	process->transaction = 0;
	if (mutant == BOUND_KEPT)
	{
		told = kept_told;
		sno_feed_bound = kept_bound;
	}
	if (mutant == NEVER_TOLD_AGAIN)
		ticked_in = sno_feed_transaction;
}

/* A worker makes ids of its leader's transaction while that waits. */
static void
work(void)
{
	process->transaction = w.process[0].transaction;
	make_ids();
	at_transaction_event(XACT_EVENT_PARALLEL_COMMIT, NULL);
	if (mutant == WORKER_ALONE || mutant == NUMBERS_ALONE)
		for (int what = 0; what < SNO_TOLDS; what++)
			memory.feed.issuers[WRITERS - 1].told[what].since = 0;
	process->transaction = 0;
	w.shared.worker_runs = false;
}

static void
take_snapshot(SnapshotData *s, TransactionId *xip)
{
	s->xip = xip;
	s->xcnt = 0;
	s->xmin = s->xmax = w.shared.next_xid;
	s->takenDuringRecovery = false;
	for (int i = 0; i < TRANSACTIONS; i++)
		if (is_running(&w.transaction[i]))
		{
			xip[s->xcnt++] = w.transaction[i].xid;
			s->xmin = Min(s->xmin, w.transaction[i].xid);
		}
	process->xmin = s->xmin;
}

/* A snapshot got this watermark. */
static void
note_watermark(Snapshot s, uint64 unit)
{
	for (int i = 0; i < TRANSACTIONS; i++)
	{
		Transaction *t = &w.transaction[i];

		if (t->state == ABORTED || (t->state != UNBORN && !XidInMVCCSnapshot(t->xid, s)))
			continue;
		if (t->lowest != 0 && t->lowest < unit)
			wrong("a watermark is above an id that its snapshot doesn't show");
		t->limit = Max(t->limit, (uint8) unit);
	}
}

/* Will no transaction run any more, and none end? */
static bool
is_quiet(void)
{
	for (int i = 0; i < (int) scope->writers; i++)
		if (w.process[i].at != 0 || w.process[i].calls < scope->transactions)
			return false;
	for (int i = 0; i < TRANSACTIONS; i++)
		if (w.transaction[i].state == AWAITING)
			return false;
	return true;
}

static void
read_numbers(Snapshot s)
{
	bool		quiet = is_quiet();

	for (unsigned i = 0; i < scope->answers; i++)
	{
		uint64		lowest = sno_feed_lowest_number(s, &counter, read_next());

		note_watermark(s, lowest);
		memset(process->ended, 0, sizeof(process->ended));
		if (quiet && lowest != w.shared.next)
			wrong("a watermark stands still");
	}
	process->xmin = 0;
}

static void
read_feed(void)
{
	SnapshotData s;
	TransactionId xip[TRANSACTIONS];

	take_snapshot(&s, xip);
	if (scope->numbers)
	{
		read_numbers(&s);
		return;
	}
	know_past();
	for (unsigned i = 0; i < scope->answers; i++)
	{
		stop(AT_EVENT);
		if (scope->crashes)
			cover();
		note_watermark(&s, sno_feed_lowest(&s));
		memset(process->ended, 0, sizeof(process->ended));
	}
	process->xmin = 0;
}

static void
serve(void)
{
	for (;;)
	{
		stop(NOWHERE);
		if (is_reader())
			read_feed();
		else if (scope->worker && process_number() == 1)
			work();
		else
			run_transaction();
	}
}

/* What happens to a world. */

/* Move what the process sees as its memory in. */
static void
enter(int number)
{
	process = &w.process[number];
	memory.feed.promise = w.shared.promise;
	memcpy(memory.feed.issuers, w.shared.issuers, sizeof(w.shared.issuers));
	memory.feed.ticks = w.shared.ticks;
	memory.feed.counters = w.shared.counters;
	memory.feed.prepared.first = w.shared.prepared;
	memory.feed.prepared.known = w.shared.prepared_known;
	pg_atomic_write_u32(&memory.feed.past_known, w.shared.past_known);
	pg_atomic_write_u64(&memory.feed.covered, w.shared.covered);
	pg_atomic_write_u64(&memory.feed.moved_at, 0);
	sno_feed = &memory.feed;
	sno_feed_issuers = &memory.feed.issuers[scope->worker && mutant != WORKER_ALONE && mutant != NUMBERS_ALONE ?
								   0 : number];
	sno_feed_transaction = 2;
	ticked_in = process->ticked ? sno_feed_transaction : 1;
	told = process->told;
	sno_feed_bound = process->bound;
}

static void
leave(void)
{
	w.shared.promise = memory.feed.promise;
	memcpy(w.shared.issuers, memory.feed.issuers, sizeof(w.shared.issuers));
	w.shared.ticks = memory.feed.ticks;
	w.shared.counters = memory.feed.counters;
	w.shared.prepared = memory.feed.prepared.first;
	w.shared.prepared_known = memory.feed.prepared.known;
	w.shared.past_known = (uint8) pg_atomic_read_u32(&memory.feed.past_known);
	w.shared.covered = (uint8) pg_atomic_read_u64(&memory.feed.covered);
	process->ticked = ticked_in == sno_feed_transaction;
	process->told = told;
	process->bound = sno_feed_bound;
	if (scope->steady && w.shared.promise.broken != 0)
		wrong("a promise is broken, but no clock went back");
}

/* May the process go on? */
static bool
can_run(int number)
{
	const Process *p = &w.process[number];

	if (p->at != 0)
		return p->place != AT_EVENT || number != 0 || !w.shared.worker_runs;
	if (number == READER)
		return p->calls == 0;
	if (scope->worker && number == 1)
		return w.shared.worker_runs && p->calls < scope->transactions;
	return number < (int) scope->writers && p->calls < scope->transactions;
}

/* Let the process's call go on, or begin. */
static void
run(int number)
{
	static Continuation c;

	enter(number);
	choices = 1;
	if (process->at == 0)
	{
		process->calls++;
		bring_back(&idle, idle_depth);
	}
	else
	{
		const Part *p = &part[process->at - 1];

		memcpy(&c, p->bytes, p->size);
		bring_back(&c, p->size - offsetof(Continuation, stack));
	}
	process->at = 0;
	process->place = 0;
	if (stopped_at == BROKEN)
		process->xmin = process->locked = process->writing = 0;
	else if (stopped_at != NOWHERE)
	{
		put_away(&c);
		process->at = number_of(&c, offsetof(Continuation, stack) + depth);
		process->place = (uint8) stopped_at;
	}
	leave();
}

static void
set_up(void)
{
	for (int i = 0; i < PROCESSES; i++)
		w.process[i].told = w.process[i].bound = SNO_NO_UNIT;
}

/* All memory is lost, and who runs aborts. */
static void
crash(void)
{
	uint32		next = w.shared.next_xid;
	uint64		row = w.shared.row;
	uint64		number = w.shared.next;
	uint8		clock = w.shared.clock;

	memset(&w.shared, 0, sizeof(w.shared));
	w.shared.next_xid = next;
	w.shared.row = row;
	w.shared.next = number;
	w.shared.clock = clock;
	w.shared.crashed = true;
	for (int i = 0; i < PROCESSES; i++)
	{
		uint8		calls = i == READER ? 0 : w.process[i].calls;

		memset(&w.process[i], 0, sizeof(Process));
		w.process[i].calls = calls;
	}
	set_up();
	for (int i = 0; i < TRANSACTIONS; i++)
		if (w.transaction[i].state == RUNNING)
			w.transaction[i].state = ABORTED;
}

/* False if nothing happens. */
static bool
apply(Event event, int who)
{
	switch (event)
	{
		case GO_ON:
			if (!can_run(who))
				return false;
			run(who);
			return true;
		case COMMIT_PREPARED:
		case ROLLBACK_PREPARED:
			if (w.transaction[who].state != AWAITING)
				return false;
			w.transaction[who].state = event == COMMIT_PREPARED ? COMMITTED : ABORTED;
			return true;
		default:
			if (!scope->crashes || w.shared.crashed)
				return false;
			crash();
			return true;
	}
}

static void
transfer(void)
{
	transfer_part(&w.shared, sizeof(w.shared));
	transfer_part(w.transaction, sizeof(w.transaction));
	for (int i = 0; i < PROCESSES; i++)
		transfer_part(&w.process[i], sizeof(Process));
}

static const Model model;

static void
expand(Step step)
{
	static World before;
	static const int count[EVENTS] = {PROCESSES, TRANSACTIONS, TRANSACTIONS, 1};

	before = w;
	for (int event = 0; event < EVENTS; event++)
		for (int who = 0; who < count[event]; who++)
		{
			choice = 0;
			choices = 1;
			do
			{
				w = before;
				if (!apply((Event) event, who))
					break;
				step.event = (uint8_t) event;
				step.who = (uint8_t) who;
				step.a = (uint8_t) choice;
				visit(&model, step);
				if (violation != NULL)
					return;
			} while (++choice < choices);
		}
}

static void
describe(Step step)
{
	static const char *const events[] = {
		"goes on", "is committed, after it was prepared",
		"is rolled back, after it was prepared", "crash"
	};
	static const char *const places[] = {
		"begins", "accesses memory", "chooses", "locks", "looks at transactions",
		"waits for PostgreSQL"
	};

	if (step.event == GO_ON)
		printf("%s %u, where it %s, choice %u",
			   step.who == READER ? "reader" : "writer", step.who,
			   places[w.process[step.who].place], step.a);
	else
		printf("transaction %u %s", step.who, events[step.event]);
}

static const Model model = {transfer, expand, describe};

static bool
explore_scope(ScopeNumber number, Mutant with)
{
	scope = &scopes[number];
	mutant = with;
	max_prepared_xacts = scope->prepares;
	id_count = 0;
	memset(&w, 0, sizeof(w));
	w.shared.next_xid = FIRST_XID;
	w.shared.next = 1;
	w.shared.covered = scope->crashes ? 0 : UINT8_MAX;
	set_up();
	return explore(&model);
}

/* Explores the scopes, or with any argument, their mutants. */
int
main(int argc, char **argv)
{
	bool		only_large = argc > 1 && strcmp(argv[1], "large") == 0;

	prepare_stack();
	if (argc == 1 || only_large)
		for (size_t i = 0; i < lengthof(scopes); i++)
		{
			bool		ok;

			if (scopes[i].large != only_large)
				continue;
			ok = explore_scope((ScopeNumber) i, NONE);
			report_scope(&model, ok, scope->name, id_count, "ids issued");
		}
	else
		for (size_t i = 0; i < lengthof(mutants); i++)
		{
			bool		caught = !explore_scope(mutants[i].scope, (Mutant) i);

			report_mutant(caught, mutants[i].name, scope->name);
		}
	printf("1..%d\n", tests);
	return failures != 0;
}
