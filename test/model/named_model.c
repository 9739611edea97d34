/*
 * named_model.c
 *		Named generators on models small enough to be explored whole: every order of
 *		their steps in every session, of clock readings, errors and crashes, and of
 *		what else befalls rows and definitions.  Prints TAP.
 *
 * generator.c, partition.c, lease.c, pool.c and named.c run as they are, with rows
 * on a page; what they need of PostgreSQL is here.  A session is in a call of
 * sno_generate(), of let_go(), which ends it, or of sno_pool_restore(); or it
 * issues in the partition as an anonymous generator does, whose use of generate.c
 * is transcribed.  Calls run on a stack of their own, which is a part of the world:
 * it is put away wherever something else may come in between, and brought back to
 * go on in any order.
 *
 * That is before each addition to a word, swap and exchange, and where a lock is
 * asked for that makes a difference.  Whoever holds a group's lock is alone with
 * the rows, and what others do meanwhile to a word that isn't closed touches
 * neither rows nor anything that the holder relies on; so a change under the lock
 * is one step here, but for exchanges, and for errors: before a row is written,
 * before it is flushed, after it is.  One scope is explored without such a
 * thought, with pauses also at the lock, before and after each load, store, write
 * and flush.  A call begins anew where it would look at the word again.
 *
 * Clocks aren't part of the world: each reading may be any unit.  So clocks run,
 * stand, and step either way.  Nor are tickets, which no rule depends on.  A world
 * remembers at most one of its ids, as in lease_model.c; and it is checked
 * whether rows on disk bound that one (N2 of pool.c), and who has the word (N1).
 *
 * A crash may happen at any time, and rows get to disk in any order, as long as
 * they do when they are flushed.  A clean stop is that all sessions end, rows get to
 * disk, and then a crash.  An error stands for the kill of a session, too, where it
 * is followed by the end.  What was issued before the table was truncated may come
 * again if a crash follows before its row is written anew.
 *
 * A standby may be promoted without the rows that were written last.  What was
 * issued under them comes again only if both timelines were used in the WAL that
 * is lost, or the successor steps back itself, below what it took to be leased.
 *
 * Not modelled: partitions for given times, tables that are locked, rows that are
 * forged or restored from other databases, and an XLogFlush() of later records
 * only: a row that is flushed is, whatever becomes of the others.
 *
 * Each rule has its mutant, a decision made wrong.  All are to be caught, and
 * nothing is to be found without one.
 */
/* Calls change stacks by longjmp(), which its checked variant would refuse. */
#undef _FORTIFY_SOURCE

#include "postgres.h"

#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

/* Where a call may be. */
typedef enum Place
{
	NOWHERE,
	AT_LOAD,
	AT_CEILING,
	AT_STORE,
	AT_EXCHANGE,
	AT_ADD,
	AT_SWAP,
	AT_LOCK,
	AT_WRITE,
	AT_FLUSH,
	FLUSHED,
	AT_CLOCK,
	WAITING,					/* or beginning anew; that is the end of the call */
	BROKEN						/* by an error, likewise */
} Place;

/* Each atomic access to a word or a ceiling is a step of its own. */
static void at_word(Place place, const volatile void *address);
static uint64 slack(const volatile void *address);
static uint64 judge(const volatile void *address, uint64 word);

#define __atomic_load_n(p, order) \
	(at_word(AT_LOAD, p), __atomic_load_n(p, order) + slack(p))
#define __atomic_store_n(p, value, order) \
	(at_word(AT_STORE, p), __atomic_store_n(p, value, order))
#define __atomic_exchange_n(p, value, order) \
	(at_word(AT_EXCHANGE, p), __atomic_exchange_n(p, value, order))
#define __atomic_fetch_add(p, value, order) \
	(at_word(AT_ADD, p), judge(p, __atomic_fetch_add(p, value, order)))
#define __atomic_compare_exchange_n(p, expected, value, weak, order, other) \
	(at_word(AT_SWAP, p), __atomic_compare_exchange_n(p, expected, value, weak, order, other))

#include "core/generator.h"

/* What may have mutants is interposed: `core_` is the real one. */
extern SnoStep core_share_turn(SnoGenerator *g, uint64_t word, uint64_t now, uint64_t *issued);

#define sno_generator_share_turn core_share_turn
#include "../../src/core/generator.c"
#undef sno_generator_share_turn

#include "../../src/shared/partition.c"

#include "lease/lease.h"

#define sno_lease_half half

static uint64 half(void);
static void merge_row(SnoGenerator *g, const SnoGenerator *other);
static void merge_memory(SnoGenerator *g, const SnoGenerator *other);
static void drift(SnoGenerator *g, uint64 now);
static uint64 close_word(SnoGenerator *g);
static bool claim_partition(int number, SnoPartition *was, int *owner);
static bool write_lease(Relation rel, const SnoLease *lease, XLogRecPtr *lsn);
static void switch_timeline(SnoGenerator *g, uint64 until);
static uint64 read_clock(void);

#define sno_generator_merge merge_row
#define sno_generator_switch switch_timeline
#include "../../src/lease/lease.c"
#undef sno_generator_merge
#undef sno_generator_switch

#include "shared/clock.h"

#define sno_clock_unit read_clock
#define sno_generator_merge merge_memory
#define sno_generator_drift drift
#define sno_generator_close close_word
#define sno_partition_claim claim_partition
#define sno_lease_write write_lease
#define Group PoolGroup			/* the server has another one */
#include "../../src/named/state.c"
#undef Group
#define visit visit_use
#include "../../src/named/named.c"
#undef visit
#undef sno_generator_merge
#undef sno_generator_drift
#undef sno_generator_close
#undef sno_partition_claim
#undef sno_lease_write

/* The libc's, not the server's. */
#undef printf
#undef snprintf
#undef qsort

#include "explore.h"

#define SESSIONS	3			/* the most there can be of each */
#define POOLS		2
#define ROWS		4
#define ROWS_AT		64			/* on their page, and how far apart they are */
#define ROW_STRIDE	128
#define FUNCTION	1
#define FILE_NOW	2			/* the file of a table, and what it was before */
#define FILE_BEFORE 1
#define ANONYMOUS_LAST 1		/* sequence of an anonymous generator */

typedef struct Scope
{
	const char *name;
	unsigned	units,			/* that the clock may read, from 1 on */
				half,			/* of a lease */
				sessions;
	int			last[POOLS];	/* bounds of the sequence: the first, or the last */
								/* of the one before, to this; 0 if there is no other */
	int			first;
	bool		fine,			/* pauses wherever there could be one */
				anonymous,		/* the last session issues as one, too */
				promotions,		/* the server becomes another holder, once */
				lags,			/* and lacks the end of the WAL */
				restores,		/* snapshots of other generators */
				rewrites,		/* the table is given a new file, or truncated */
				plain;			/* no errors; closed rows get lost in a crash */
} Scope;

static const Scope scopes[] = {
	{"one session", 3, 0, 1, {1}},
	{"one session, longer leases", 4, 1, 1, {0}},
	{"two sessions", 2, 1, 2, {1}},
	{"one session, each step", 2, 0, 1, {0}, .fine = true},
	{"two sessions, each step", 1, 0, 2, {1}, .fine = true},
	{"pools that overlap", 2, 0, 1, {0, 1}, .plain = true},
	{"pools that overlap, two sessions", 1, 0, 2, {0, 1}, .plain = true},
	{"a promotion without the end of the WAL", 3, 0, 1, {0}, .promotions = true, .lags = true, .plain = true},
	{"an anonymous generator", 2, 0, 1, {0}, .anonymous = true},
	{"a promotion", 3, 0, 1, {0}, .promotions = true},
	{"snapshots restored", 2, 0, 1, {0}, .restores = true},
	{"snapshots restored, two sessions", 2, 0, 2, {0}, .restores = true, .plain = true},
	{"a table rewritten", 2, 0, 2, {0}, .rewrites = true},
	{"the last sequence", 4, 0, 2, {65535}, .first = 65535, .plain = true}
};

/*
 * What is to be caught, in which scope.  What a step back writes as wall_safe, the
 * ceiling, isn't here: the unit left would do, as its word was taken before.
 */
typedef enum Mutant
{
	NONE,
	OPENED_BEFORE_FLUSHED,
	PUBLISHED_BEFORE_FLUSHED,
	PENDING_BEFORE_WRITTEN,
	DRIFT_NOT_WRITTEN,
	DRIFT_WITHOUT_CLOSING,
	DRIFT_STAYS_IN_TIMELINE,
	OPEN_LOOKS_EXACT,
	CRASH_STAYS_IN_TIMELINE,
	WALL_SAFE_FORGOTTEN,
	CEILING_OFF_BY_ONE,
	LATE_ADDITION_COUNTS,
	SWAP_GOES_BACK,
	LOCK_IGNORED,
	OVERLAP_NOT_CLOSED,
	POOLS_IGNORED,
	ANONYMOUS_IGNORED,
	OWNER_IGNORED,
	RESTORED_AS_IS,
	CEILING_FALLS,
	FILE_IGNORED,
	OTHERS_ROW_TRUSTED,
	OTHERS_DEFINITION_TRUSTED,
	DRIFT_AS_EXHAUSTED,
	MUTANTS
} Mutant;

static const struct
{
	const char *name;
	int			scope;
}			mutants[] = {
	[OPENED_BEFORE_FLUSHED] = {"a pool is opened before its row is flushed", 0},
	[PUBLISHED_BEFORE_FLUSHED] = {"a ceiling is published before it is flushed", 0},
	[PENDING_BEFORE_WRITTEN] = {"a renewal that fails counts as written", 0},
	[DRIFT_NOT_WRITTEN] = {"a step back's row says nothing of the timeline that is left", 0},
	[DRIFT_WITHOUT_CLOSING] = {"a step back doesn't take the word", 2},
	[DRIFT_STAYS_IN_TIMELINE] = {"a step back stays in the timeline", 0},
	[OPEN_LOOKS_EXACT] = {"an open pool's row says that it is exact", 0},
	[CRASH_STAYS_IN_TIMELINE] = {"after a crash it goes on in the same timeline", 0},
	[WALL_SAFE_FORGOTTEN] = {"a second crash forgets the other timeline", 0},
	[CEILING_OFF_BY_ONE] = {"the ceiling's next unit counts as leased", 0},
	[LATE_ADDITION_COUNTS] = {"what is added to a closed word is issued", 2},
	[SWAP_GOES_BACK] = {"a step back swaps the word", 0},
	[LOCK_IGNORED] = {"two sessions change a group at a time", 4},
	[OVERLAP_NOT_CLOSED] = {"a pool that overlaps isn't closed", 5},
	[POOLS_IGNORED] = {"what overlapping pools issued is ignored", 5},
	[ANONYMOUS_IGNORED] = {"what anonymous generators issued is ignored", 8},
	[OWNER_IGNORED] = {"a pool is opened while a session owns the partition", 8},
	[RESTORED_AS_IS] = {"a snapshot is restored whatever is known", 10},
	[CEILING_FALLS] = {"a word comes back with a lower ceiling", 11},
	[FILE_IGNORED] = {"a table's new file isn't noticed", 12},
	[OTHERS_ROW_TRUSTED] = {"another holder's row is trusted as one's own", 7},
	[OTHERS_DEFINITION_TRUSTED] = {"without a row, another holder issued nothing", 7},
	[DRIFT_AS_EXHAUSTED] = {"a step back makes the word of an exhausted unit", 13}
};

/* All rows of a database are on one page, of which no more than this is used. */
typedef struct RowPage
{
	char		bytes[ROWS_AT + ROWS * ROW_STRIDE];
} RowPage;

typedef struct Rows
{
	RowPage		written,
				durable;
} Rows;

typedef struct Session
{
	uint32		at;				/* where its call is: a part, or 0 if in none */
	uint8		place,
				call,
				definition;		/* what its generator's name means */
	bool		locked,			/* does it hold the group's lock, */
				reading,		/* and the table? */
				owns,			/* is the partition its own? */
				late;			/* did the table change since its call began? */
	Use			use;
} Session;

/* The id that is remembered. */
typedef struct Id
{
	bool		is_set,
				excused,		/* the row that bounded it is gone */
				lost;			/* the row that bounded it was in WAL that is lost */
	uint32		drifts;			/* if so, what the row that there was said */
	uint64		word;
} Id;

typedef struct Rest
{
	SnoSpace	space;
	SnoPartition partition;
	PoolGroup	group;
	int			pools;
	TimeLineID	timeline;
	Id			id;
	RowPage		standby;		/* the rows that it has received */
} Rest;

typedef struct World
{
	Rest		rest;
	SnoPool		pool[POOLS];
	Rows		rows;
	Session		session[SESSIONS];
} World;

/* What may happen to a world: to a session, or to all. */
typedef enum Event
{
	GENERATE,
	GENERATE_SLOWLY,
	ANONYMOUS,
	RESTORE,
	END,						/* the last one that is a call */
	GO_ON,
	BREAK_OFF,
	REDEFINE,					/* the last one that is a session's */
	SETTLE,
	CRASH,
	RECEIVE,
	PROMOTE,
	REWRITE,
	TRUNCATE,
	EVENTS
} Event;

static const char *const events[] = {
	"generate", "generate, slowly", "generate anonymously", "restore", "end", "go on",
	"error", "another definition", "a row gets to disk", "crash",
	"the standby receives the rows", "promotion",
	"table rewritten", "table truncated"
};

static const Scope *scope;
static Mutant mutant;
static World w;
static Session *session;		/* whose turn it is, and its use of a pool */
static Use	use;

/* Of the call that runs. */
static Event call;
static unsigned clock_readings[2];
static int	read_count;
static int	error_in;			/* an error in the next but so many places of one */
static bool looked;				/* has it loaded the word? */
static bool beginning;
static bool renewing_early;

/* The id that the last event issued, if it did; or somebody else, as a snapshot says. */
static bool issued;
static bool was_late;			/* the call that just ended */
static bool issued_elsewhere;
static uint64 issued_word;
static uint64 issue_count;

/*
 * Parts of worlds, each kept once: what is known by its number.
 */
typedef struct Part
{
	size_t		size;
	char	   *bytes;
} Part;

static Part *part;
static uint32 *part_slot;		/* number, by a hash of the bytes */
static uint32 part_count,
			part_size;

static uint32 *
find_part(const void *bytes, size_t size)
{
	uint64		h = size;
	uint64		x;
	uint32		i;

	for (size_t at = 0; at + sizeof(x) <= size; at += sizeof(x))
	{
		memcpy(&x, (const char *) bytes + at, sizeof(x));
		h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
		h ^= h >> 29;
	}
	for (i = (uint32) (h >> 32); part_slot[i &= 2 * part_size - 1] != 0; i++)
	{
		const Part *p = &part[part_slot[i] - 1];

		if (p->size == size && memcmp(p->bytes, bytes, size) == 0)
			break;
	}
	return &part_slot[i];
}

/* The number of a part, which is made if there is none yet; sizes are multiples of 8. */
static uint32
number_of(const void *bytes, size_t size)
{
	uint32	   *found;

	if (part_count == part_size)
	{
		part_size = part_size == 0 ? 1024 : 2 * part_size;
		free(part_slot);
		part = realloc(part, part_size * sizeof(Part));
		part_slot = calloc(2 * (size_t) part_size, sizeof(uint32));
		if (part == NULL || part_slot == NULL)
			bail_out("out of memory");
		for (uint32 i = 0; i < part_count; i++)
			*find_part(part[i].bytes, part[i].size) = i + 1;
	}
	found = find_part(bytes, size);
	if (*found == 0)
	{
		Part	   *p = &part[part_count++];

		p->size = size;
		p->bytes = malloc(size);
		if (p->bytes == NULL)
			bail_out("out of memory");
		memcpy(p->bytes, bytes, size);
		*found = part_count;
	}
	return *found;
}

static void
forget_parts(void)
{
	while (part_count > 0)
		free(part[--part_count].bytes);
	part_size = 0;
}

/* Calls, and the stack that they run on. */

#define STACK_SIZE	8192
#define FRAME		256			/* of stop(), at most */

typedef struct Continuation
{
	jmp_buf		here;
	char		stack[STACK_SIZE];	/* its upper end */
} Continuation;

static char stack[STACK_SIZE] __attribute__((aligned(64)));
static size_t depth;
static jmp_buf inside,
			outside;
static Place stopped_at;
static Continuation idle;		/* where a call begins */
static size_t idle_depth;

/* The call that runs stops here. */
static __attribute__((noinline)) void
stop(Place place)
{
	stopped_at = place;
	depth = TYPEALIGN(8, (size_t) (stack + STACK_SIZE - (char *) __builtin_frame_address(0) + FRAME));
	if (depth > STACK_SIZE || *(const uint64 *) stack != 0)
		bail_out("a call is too deep");
	if (_setjmp(inside) == 0)
		_longjmp(outside, 1);
}

static void
put_away(Continuation *c)
{
	memcpy(c->here, inside, sizeof(inside));
	memcpy(c->stack, stack + STACK_SIZE - depth, depth);
}

/* Let a call go on until it stops. */
static void
bring_back(const Continuation *c, size_t size)
{
	memset(stack, 0, STACK_SIZE - size);
	memcpy(inside, c->here, sizeof(inside));
	memcpy(stack + STACK_SIZE - size, c->stack, size);
	if (_setjmp(outside) == 0)
		_longjmp(inside, 1);
}

/* A place where a call may stop, unless it was just begun. */
static void
pause_at(Place place)
{
	if (!beginning)
		stop(place);
	beginning = false;
}

/* A place where there may be an error. */
static void
risk(Place place)
{
	if (scope->fine)
		pause_at(place);
	else if (error_in-- == 0)
		stop(BROKEN);
}

static void
at_word(Place place, const volatile void *address)
{
	SnoPool    *pool = NULL;

	for (int i = 0; i < w.rest.pools; i++)
		if (address == &w.pool[i].shared.word || address == &w.pool[i].shared.ceiling)
			pool = &w.pool[i];
	/* One that is being made isn't known to anybody. */
	if (pool == NULL || pool->group == 0)
		return;
	if (place == AT_LOAD && address == &pool->shared.ceiling)
		place = AT_CEILING;
	if (place == AT_LOAD && !session->locked)
	{
		if (looked)
			stop(WAITING);
		looked = true;
	}
	if (scope->fine || place == AT_ADD || place == AT_SWAP || place == AT_EXCHANGE)
		pause_at(place);
	beginning = false;
}

static uint64
read_clock(void)
{
	if (read_count == lengthof(clock_readings))
		stop(AT_CLOCK);
	return clock_readings[read_count++];
}

static uint64
half(void)
{
	return scope->half;
}

/* What PostgreSQL is here. */

int			MyProcPid;
Oid			MyDatabaseId;
SnoSpace   *sno_space;
dsa_area   *sno_area;
pg_prng_state pg_global_prng_state;
volatile sig_atomic_t InterruptPending;
sigjmp_buf *PG_exception_stack;
ErrorContextCallback *error_context_stack;
MemoryContext CurrentMemoryContext;
MemoryContext TopMemoryContext;
LWLockPadded *MainLWLockArray;
char	   *BufferBlocks;
Block	   *LocalBufferBlockPointers;
int			sno_max_wait;

static FormData_pg_class table_form = {.relfilenode = FILE_NOW};
static RelationData table = {.rd_rel = &table_form};

bool
LWLockConditionalAcquire(LWLock *lock, LWLockMode mode)
{
	if (scope->fine || renewing_early || call == END)
		pause_at(AT_LOCK);
	for (int i = 0; i < SESSIONS; i++)
		if (w.session[i].locked && mutant != LOCK_IGNORED)
			return false;
	return session->locked = true;
}

/* Nothing stops a call that holds another lock. */
bool		LWLockAcquire(LWLock *lock, LWLockMode mode) { return true; }

void
LWLockRelease(LWLock *lock)
{
	if (lock == &w.rest.group.lock)
		session->locked = false;
}

void		LWLockInitialize(LWLock *lock, int tranche) {}
void		sno_shmem_init_lock(LWLock *lock) {}
void		sno_shmem_note_use(int number) {}
bool		sno_shmem_is_used(int number) { return false; }
void		sno_space_enter(void) {}
uint32		pg_prng_uint32(pg_prng_state *state) { return 0; }

dsa_pointer
dsa_allocate_extended(dsa_area *a, size_t size, int flags)
{
	if (size == sizeof(PoolGroup))
		return offsetof(World, rest.group);
	if (w.rest.pools == POOLS)
		bail_out("too many pools");
	return offsetof(World, pool) + w.rest.pools++ * sizeof(SnoPool);
}

void	   *dsa_get_address(dsa_area *a, dsa_pointer place) { return (char *) &w + place; }
void		dsa_free(dsa_area *a, dsa_pointer place) {}
size_t		strlcpy(char *to, const char *from, size_t size) { return 0; }
bool		bms_is_member(int x, const Bitmapset *a) { return false; }

Relation
sno_table_open(Oid function)
{
	session->reading = true;
	return &table;
}

void		sno_table_close(Relation rel) { session->reading = false; }
Relation	sno_table_open_at_exit(void) { return sno_table_open(FUNCTION); }
void		sno_table_close_at_exit(Relation rel) { sno_table_close(rel); }

bool
sno_table_holds(Oid function, RelFileNumber written)
{
	return written == FILE_NOW || mutant == FILE_IGNORED;
}

/* A name means either definition. */
SnoDefinitionLook
sno_definition_find(Oid function, const char *name, SnoDefinition *d)
{
	int			number = session->definition;

	*d = (SnoDefinition) {.sequence_min = number == 0 ? scope->first : scope->last[0],
		.sequence_max = scope->last[number], .meta = -1,
		.made_here = w.rest.timeline == 1};
	return SNO_DEFINITION_FOUND;
}

bool
sno_wait(int64 *since, SnoCounters *counters, const char *generator, int partition, int msec)
{
	stop(WAITING);
	return true;
}

void
sno_generate_quietly(void (*renew) (void *), void *arg, int partition)
{
	renewing_early = true;
	renew(arg);
}

void
sno_generate_release_unusable(void)
{
	if (session->owns && !sno_partition_usable(blocks[0]))
	{
		sno_partition_park(blocks[0]);
		session->owns = false;
	}
}

void		sno_clock_watch(void) {}
void		hash_seq_init(HASH_SEQ_STATUS *status, HTAB *uses) { status->curBucket = 0; }
void	   *hash_seq_search(HASH_SEQ_STATUS *status) { return status->curBucket++ == 0 ? &use : NULL; }

/* Errors come from nowhere else than risk(). */
bool		errstart_cold(int elevel, const char *domain) { bail_out("an error is raised"); return false; }
int			errcode(int code) { return 0; }
int			errmsg(const char *format,...) { return 0; }
int			errmsg_internal(const char *format,...) { return 0; }
int			errhint(const char *format,...) { return 0; }
void		errfinish(const char *file, int number, const char *function) { abort(); }
void		pg_re_throw(void) { abort(); }
void		sno_table_give_up(const char *name, const char *mode) { abort(); }
void		sno_definition_missing(const char *name) { abort(); }
void		ProcessInterrupts(void) {}

void *
palloc0(Size size)
{
	static uint64 room[SNO_BOUNDS_BLOCK];

	if (size > sizeof(room))
		bail_out("too much memory is asked for");
	return memset(room, 0, sizeof(room));
}

BlockNumber RelationGetNumberOfBlocksInFork(Relation rel, ForkNumber fork) { return 1; }
BlockNumber BufferGetBlockNumber(Buffer buffer) { return 0; }
void		LockBuffer(Buffer buffer, int mode) {}
void		UnlockReleaseBuffer(Buffer buffer) {}
void		LockRelationForExtension(Relation rel, LOCKMODE mode) {}
void		UnlockRelationForExtension(Relation rel, LOCKMODE mode) {}
Size		PageGetHeapFreeSpace(Page page) { return ROW_STRIDE; }
void		PageInit(Page page, Size size, Size special) {}
GenericXLogState *GenericXLogStart(Relation rel) { return NULL; }
Page		GenericXLogRegisterBuffer(GenericXLogState *s, Buffer b, int flags) { return BufferBlocks; }
bool	   *wal_consistency_checking = (bool[RM_MAX_ID + 1]) {0};
void		MarkBufferDirty(Buffer buffer) {}
XLogRecPtr	GenericXLogFinish(GenericXLogState *state) { return 0; }
void		GenericXLogAbort(GenericXLogState *state) {}
uint64		GetSystemIdentifier(void) { return 1; }
TimeLineID	GetWALInsertionTimeLine(void) { return w.rest.timeline; }
TimestampTz GetCurrentTimestamp(void) { return 0; }
bool		pg_strong_random(void *buffer, size_t size) { memset(buffer, 1, size); return true; }
void		XLogSetAsyncXactLSN(XLogRecPtr lsn) {}

Buffer
ReadBuffer(Relation rel, BlockNumber block)
{
	BufferBlocks = w.rows.written.bytes;
	return 1;
}

OffsetNumber
PageAddItemExtended(Page page, Item item, Size size, OffsetNumber offset, int flags)
{
	for (offset = 1; ItemIdIsNormal(PageGetItemId(page, offset)); offset++)
		if (offset == ROWS)
			bail_out("the table is full");
	ItemIdSetNormal(PageGetItemId(page, offset), ROWS_AT + (offset - 1) * ROW_STRIDE, TUPLE_SIZE);
	memcpy(PageGetItem(page, PageGetItemId(page, offset)), item, size);
	return offset;
}

static LeaseRow *
row_at(RowPage *page, int number)
{
	HeapTupleHeader tuple = tuple_at(page->bytes, (OffsetNumber) (number + 1));

	return tuple == NULL ? NULL : row_of(tuple);
}

/* A row gets to disk. */
static bool
settle(int number)
{
	Rows	   *rows = &w.rows;
	size_t		at = ROWS_AT + (size_t) number * ROW_STRIDE;
	ItemId		item = PageGetItemId(rows->durable.bytes, number + 1);

	if (row_at(&rows->written, number) == NULL ||
		(ItemIdIsNormal(item) &&
		 memcmp(rows->written.bytes + at, rows->durable.bytes + at, ROW_STRIDE) == 0))
		return false;
	*item = *PageGetItemId(rows->written.bytes, number + 1);
	memcpy(rows->durable.bytes + at, rows->written.bytes + at, ROW_STRIDE);
	return true;
}

/* What is interposed, and its mutants. */

static SnoPool *
pool_of(const SnoGenerator *g)
{
	for (int i = 0; i < w.rest.pools; i++)
		if (g == &w.pool[i].shared)
			return &w.pool[i];
	return NULL;
}

void
XLogFlush(XLogRecPtr lsn)
{
	risk(AT_FLUSH);
	if (!(mutant == OPENED_BEFORE_FLUSHED && sno_word_is_closed(use.pool->shared.word)) &&
		!(mutant == PUBLISHED_BEFORE_FLUSHED && !sno_word_is_closed(use.pool->shared.word)))
		settle((int) lsn - 1);
	risk(FLUSHED);
}

/* The place of its row is what tells a record of WAL from others. */
static bool
write_lease(Relation rel, const SnoLease *lease, XLogRecPtr *lsn)
{
	SnoLease	l = *lease;
	SnoGenerator *g = &l.generator;

	if (mutant == PENDING_BEFORE_WRITTEN && use.pool->open)
		use.pool->pending_ceiling = g->ceiling;
	risk(AT_WRITE);
	if (mutant == DRIFT_NOT_WRITTEN && g->drifts != use.pool->shared.drifts)
		g->wall_safe = use.pool->shared.wall_safe;
	if (mutant == OPEN_LOOKS_EXACT)
		g->ceiling = SNO_WORD_UNIT(g->word);
	if (!sno_lease_write(rel, &l, lsn))
		return false;
	for (int i = 0; i < ROWS; i++)
	{
		HeapTupleHeader tuple = tuple_at(BufferBlocks, (OffsetNumber) (i + 1));

		if (tuple != NULL && is_row_of(tuple, lease))
			*lsn = (XLogRecPtr) i + 1;
	}
	return true;
}

static void
merge_row(SnoGenerator *g, const SnoGenerator *other)
{
	SnoGenerator o = *other;

	if (mutant == CRASH_STAYS_IN_TIMELINE && SNO_WORD_SEQUENCE(o.word) == SNO_SEQUENCE_NONE)
		o.word = SNO_WORD(0, o.drifts & 1, SNO_SEQUENCE_NONE);
	if (mutant == WALL_SAFE_FORGOTTEN)
		o.wall_safe = 0;
	sno_generator_merge(g, &o);
}

/* A successor has another holder's row, or just the definition. */
static void
switch_timeline(SnoGenerator *g, uint64 until)
{
	if (mutant == OTHERS_ROW_TRUSTED && g->lease_floor > 0)
		return;
	if (mutant == OTHERS_DEFINITION_TRUSTED && g->lease_floor == 0)
		return;
	sno_generator_switch(g, until);
}

static void
merge_memory(SnoGenerator *g, const SnoGenerator *other)
{
	bool		anonymous = other->sequence_max == ANONYMOUS_LAST;

	if ((mutant == POOLS_IGNORED && !anonymous && call != RESTORE) ||
		(mutant == ANONYMOUS_IGNORED && anonymous))
		return;
	if (mutant == RESTORED_AS_IS && call == RESTORE)
		*g = *other;
	sno_generator_merge(g, other);
}

static void
drift(SnoGenerator *g, uint64 now)
{
	sno_generator_drift(g, now);
	if (mutant == DRIFT_AS_EXHAUSTED)
		g->word = SNO_WORD(now - 1, g->drifts & 1, SNO_SEQUENCE_NONE);
	if (mutant == DRIFT_STAYS_IN_TIMELINE)
		g->word = SNO_WORD(now - 1, --g->drifts & 1, SNO_SEQUENCE_NONE);
}

static uint64
close_word(SnoGenerator *g)
{
	if ((mutant == OVERLAP_NOT_CLOSED && pool_of(g) != use.pool) ||
		(mutant == DRIFT_WITHOUT_CLOSING && pool_of(g) == use.pool && use.pool->open))
		return g->word;
	if (mutant == CEILING_FALLS && call == RESTORE)
		g->ceiling = 0;
	return sno_generator_close(g);
}

static bool
claim_partition(int number, SnoPartition *was, int *owner)
{
	return sno_partition_claim(number, was, owner) || mutant == OWNER_IGNORED;
}

static uint64
slack(const volatile void *address)
{
	return mutant == CEILING_OFF_BY_ONE && use.pool != NULL &&
		address == &use.pool->shared.ceiling;
}

/* What an addition returned. */
static uint64
judge(const volatile void *address, uint64 word)
{
	return mutant == LATE_ADDITION_COUNTS && sno_word_is_closed(word) ? use.pool->word : word;
}

SnoStep
sno_generator_share_turn(SnoGenerator *g, uint64 word, uint64 now, uint64 *got)
{
	uint64		first = SNO_WORD(now, SNO_WORD_TICK_TOCK(word), g->sequence_min);

	if (mutant == SWAP_GOES_BACK && now < SNO_WORD_UNIT(word) && !sno_word_is_closed(word) &&
		__atomic_compare_exchange_n(&g->word, &word, first + 1, false,
									__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
	{
		*got = first;
		return SNO_ISSUED;
	}
	return core_share_turn(g, word, now, got);
}

/* Calls */

/* A snapshot of another generator, which issued one id of a unit. */
static void
restore(void)
{
	SnoDefinition d;
	SnoGenerator g;
	uint64		unit = read_clock();
	bool		tick_tock = read_clock() & 1;

	sno_definition_find(FUNCTION, NULL, &d);
	sno_generator_start(&g, 0, d.sequence_min, d.sequence_max);
	g.drifts = tick_tock;
	g.word = SNO_WORD(unit, tick_tock, d.sequence_min) + 1;
	issued_elsewhere = sno_pool_restore(FUNCTION, &d, &g);
	issued_word = g.word - 1;
}

/* generate.c, next_slowly(), step_mine(), move() and renew(), once. */
static void
generate_anonymously(void)
{
	SnoPartition *p = blocks[0];
	uint64		now = read_clock();

	sno_generate_release_unusable();
	if (!session->owns)
	{
		SnoBounds	bounds = {{0}};
		uint64		holder;

		if (sno_partition_exchange(NULL, now, false) == NULL)
		{
			sno_lease_survey(&table, &bounds, &holder, NULL);
			if (sno_partition_reserve(NULL, now, &bounds, holder, false) == NULL)
				return;
			p->generator.sequence_max = ANONYMOUS_LAST;
		}
		session->owns = true;
	}
	switch (sno_generator_step(&p->generator, now, &issued_word))
	{
		case SNO_ISSUED:
			issued = true;
			break;
		case SNO_LEASE_OVER:
			{
				SnoLease	lease = {.generator = p->generator};
				XLogRecPtr	lsn;

				lease.generator.ceiling = Max(now + 2 * half(), p->generator.ceiling);
				if (write_lease(&table, &lease, &lsn))
				{
					XLogFlush(lsn);
					p->generator.ceiling = lease.generator.ceiling;
				}
				else
				{
					sno_partition_abandon(p);
					session->owns = false;
				}
			}
			break;
		default:
			sno_partition_park(p);
			session->owns = false;
			break;
	}
}

/* What runs on the stack. */
static void
serve(void)
{
	for (;;)
	{
		stop(NOWHERE);
		switch (call)
		{
			case GENERATE:
				issued_word = next(FUNCTION, &use);
				issued = true;
				break;
			case GENERATE_SLOWLY:
				issued_word = next_slowly(FUNCTION, &use);
				issued = true;
				break;
			case ANONYMOUS:
				generate_anonymously();
				break;
			case RESTORE:
				restore();
				break;
			default:
				let_go(0, (Datum) 0);
				break;
		}
	}
}

static void
prepare_stack(void)
{
	static ucontext_t context;

	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	makecontext(&context, serve, 0);
	if (_setjmp(outside) == 0)
		setcontext(&context);
	put_away(&idle);
	idle_depth = depth;
}

static void
end_call(void)
{
	bool		over = session->call == END;

	was_late = session->late;
	session->at = 0;
	session->place = session->call = 0;
	session->locked = session->reading = session->late = false;
	if (over)
		memset(session, 0, sizeof(*session));
}

/* Let the session's call go on, or begin; false if the arguments make no difference. */
static bool
run(unsigned a, unsigned b, unsigned error)
{
	static Continuation c;

	use = session->use;
	clock_readings[0] = a + 1;
	clock_readings[1] = b + 1;
	error_in = (int) error - 1;
	read_count = 0;
	beginning = session->at == 0;
	looked = !beginning;
	renewing_early = false;
	line = NULL;
	PG_exception_stack = NULL;
	if (beginning)
		bring_back(&idle, idle_depth);
	else
	{
		const Part *p = &part[session->at - 1];

		call = session->call;
		memcpy(&c, p->bytes, p->size);
		bring_back(&c, p->size - offsetof(Continuation, stack));
	}
	session->use = use;
	session->call = (uint8) call;
	if (stopped_at == NOWHERE || stopped_at == WAITING || stopped_at == BROKEN)
		end_call();
	else
	{
		put_away(&c);
		session->at = number_of(&c, offsetof(Continuation, stack) + depth);
		session->place = (uint8) stopped_at;
	}
	return (error == 0 || stopped_at == BROKEN) &&
		(read_count > 0 || a == 0) && (read_count > 1 || b == 0);
}

/* Events */

static void
enter(unsigned s)
{
	session = &w.session[s];
	MyProcPid = (int) s + 1;
	MyDatabaseId = 1;
}

/* May the session begin such a call? */
static bool
may_begin(Event event)
{
	if (session->at != 0)
		return false;
	switch (event)
	{
		case GENERATE:
			/* But for the table's file, which it doesn't look up, it is as the slow one. */
			return scope->fine || scope->rewrites;
		case ANONYMOUS:
			return scope->anonymous && session == &w.session[scope->sessions - 1];
		case RESTORE:
			return scope->restores;
		case END:
			return session->use.pool != NULL || session->owns;
		default:
			return true;
	}
}

/* The server's memory is lost, and what isn't on disk. */
static bool
crash(void)
{
	Rest	   *r = &w.rest;

	*r = (Rest) {.timeline = r->timeline, .id = r->id, .standby = r->standby};
	r->space.parked[false] = r->space.parked[true] = SNO_LAST_PARKED;
	r->space.life = 1;
	if (r->id.excused)
		memset(&r->id, 0, sizeof(Id));
	memset(w.pool, 0, sizeof(w.pool));
	memset(w.session, 0, sizeof(w.session));
	w.rows.written = w.rows.durable;
	return true;
}

static void
clear(RowPage *page)
{
	PageHeader	h = (PageHeader) page->bytes;

	memset(page, 0, sizeof(*page));
	h->pd_lower = SizeOfPageHeaderData + ROWS * sizeof(ItemIdData);
	h->pd_upper = ROWS_AT;
}

/* The table gets a new file, on disk, with its rows or without, while nobody uses it. */
static bool
rewrite(bool truncate)
{
	if (!scope->rewrites)
		return false;
	for (int i = 0; i < SESSIONS; i++)
		if (w.session[i].reading)
			return false;
	if (truncate)
	{
		clear(&w.rows.written);
		w.rest.id.excused = w.rest.id.is_set;
		/* What nobody knows any more. */
		if (!w.pool[0].known)
			memset(&w.rest.id, 0, sizeof(Id));
		for (int i = 0; i < SESSIONS; i++)
			w.session[i].late = w.session[i].at != 0;
	}
	w.rows.durable = w.rows.written;
	for (int i = 0; i < w.rest.pools; i++)
	{
		w.pool[i].file = Min(w.pool[i].file, FILE_BEFORE);
		w.pool[i].pending_file = Min(w.pool[i].pending_file, FILE_BEFORE);
	}
	return true;
}

/* Is it as N2 says?  If so, is it in a timeline that was `left`? */
static bool
is_bounded(const Id *id, bool left)
{
	uint64		unit = SNO_WORD_UNIT(id->word);
	int			sequence = (int) SNO_WORD_SEQUENCE(id->word);

	for (int i = 0; i < ROWS; i++)
	{
		const LeaseRow *row = row_at(&w.rows.durable, i);
		bool		tick_tock = SNO_WORD_TICK_TOCK(id->word);
		uint64		until = row == NULL ? 0 : unit_of(row->until[tick_tock]);

		if (row == NULL || sequence < row->sequence_min || sequence > row->sequence_max ||
			(left && tick_tock == (row->drifts & 1)))
			continue;
		if (row->named && tick_tock == (row->drifts & 1) &&
			row->wall_hi == row->until[tick_tock] && sequence >= row->sequence)
			until = Max(until, 1) - 1;
		if (unit <= until)
			return true;
	}
	return false;
}

/* The disk is that of a standby, which may lack the last rows. */
static void
lose_wal(void)
{
	Id		   *id = &w.rest.id;

	w.rows.durable = w.rest.standby;
	clear(&w.rest.standby);
	if (!id->is_set || is_bounded(id, false))
		return;
	id->lost = true;
	id->drifts = 0;
	for (int i = 0; i < ROWS; i++)
	{
		const LeaseRow *row = row_at(&w.rows.durable, i);

		if (row != NULL)
			id->drifts = Max(id->drifts, (uint32) row->drifts);
	}
	/* The timeline that the successor enters was used, too. */
	if (SNO_WORD_TICK_TOCK(id->word) != (id->drifts & 1))
		memset(id, 0, sizeof(*id));
}

static bool
apply(Event event, unsigned a, unsigned b, unsigned error)
{
	switch (event)
	{
		case GO_ON:
			return session->at != 0 && run(a, b, error);
		case BREAK_OFF:
			if (session->at == 0 || scope->plain)
				return false;
			end_call();
			return true;
		case REDEFINE:
			if (scope->last[1] == 0 || session->at != 0 ||
				(session->use.version == 0 && session->use.pool != NULL))
				return false;
			session->definition = !session->definition;
			session->use.version = 0;
			return true;
		case SETTLE:
			return !scope->plain && settle((int) a);
		case CRASH:
			return crash();
		case PROMOTE:
			if (!scope->promotions || w.rest.timeline == 2)
				return false;
			w.rest.timeline = 2;
			if (scope->lags)
				lose_wal();
			return crash();
		case RECEIVE:
			if (!scope->lags || w.rest.timeline == 2 ||
				memcmp(&w.rest.standby, &w.rows.durable, sizeof(RowPage)) == 0)
				return false;
			w.rest.standby = w.rows.durable;
			return true;
		case REWRITE:
		case TRUNCATE:
			return rewrite(event == TRUNCATE);
		default:
			call = event;
			return may_begin(event) && run(a, b, error);
	}
}

static void
check(void)
{
	Id		   *id = &w.rest.id;
	int			shared = 0;

	for (int i = 0; i < w.rest.pools; i++)
		shared += !sno_word_is_closed(w.pool[i].shared.word);
	if (shared > 1)
		wrong("two pools that overlap are open");
	if (shared > 0 && blocks[0]->owner != 0)
		wrong("a pool is open in a partition that a session owns");
	if (id->is_set && is_bounded(id, true))
		id->lost = false;
	if (id->is_set && is_bounded(id, false))
		id->excused = false;
	else if (id->is_set && !id->excused && !id->lost)
		wrong("an id is not bounded by the rows on disk");
}

/* A field of any size, `number` of all; most are as they were in the world before. */
static void
transfer_part(unsigned number, void *bytes, size_t size)
{
	static uint32 before[SESSIONS + POOLS + 2];
	unsigned	parts = scope->sessions + 2 + (scope->last[1] > 0 ? POOLS : 1);
	uint32		n = before[number];

	if (key_wanted &&
		(n == 0 || n > part_count || part[n - 1].size != size ||
		 memcmp(part[n - 1].bytes, bytes, size) != 0))
		n = number_of(bytes, size);
	n = (uint32) field(n, 128 / parts);
	if (!key_wanted)
		memcpy(bytes, part[(before[number] = n) - 1].bytes, size);
}

static int
compare_sessions(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(Session));
}

/* Forget what nobody will look at any more. */
static void
forget(void)
{
	for (int i = 0; i < w.rest.pools; i++)
	{
		SnoPool    *p = &w.pool[i];

		pg_atomic_write_u32(&p->tickets, 0);
		pg_atomic_write_u32(&p->left, 0);
		memset(&p->counters, 0, sizeof(p->counters));
		p->opened = 0;
		if (p->pending_ceiling == 0)
			p->pending_lsn = 0;
		if (!p->open && !scope->fine)
			p->file = p->pending_file = 0;
		if (!sno_word_is_closed(p->shared.word))
			p->word = 0;
		else
		{
			p->shared.word = SNO_WORD_CLOSED;
			p->attention = 0;
		}
	}
	for (int i = 0; i < 2 * ROWS; i++)
	{
		LeaseRow   *row = row_at(i < ROWS ? &w.rows.written : &w.rows.durable, i % ROWS);

		if (row != NULL && row->wall_hi != row->until[row->drifts & 1])
		{
			row->wall_hi = row->until[row->drifts & 1] - 1;
			row->sequence = 0;
		}
	}
	qsort(w.session, scope->sessions - scope->anonymous, sizeof(Session), compare_sessions);
}

/* Sessions of a database are interchangeable, so they are sorted, but for the anonymous one. */
static void
transfer(void)
{
	unsigned	n = 0;

	if (key_wanted)
		forget();
	else
		memset(&w, 0, sizeof(w));
	transfer_part(n++, &w.rest, sizeof(w.rest));
	transfer_part(n++, &w.rows, sizeof(Rows));
	for (int i = 0; i < (scope->last[1] > 0 ? POOLS : 1); i++)
		transfer_part(n++, &w.pool[i], sizeof(SnoPool));
	for (unsigned s = 0; s < scope->sessions; s++)
		transfer_part(n++, &w.session[s], sizeof(Session));
}

static const Model model;

static void
visit_checked(Step step)
{
	check();
	visit(&model, step);
}

/* The world goes on without a memory, and with the one that there may be. */
static void
visit_all(Step step)
{
	Id		   *id = &w.rest.id;

	if (issued)
	{
		issue_count++;
		/* A second step back may lead to what was lost. */
		if (id->is_set && id->word == issued_word &&
			!(id->lost && session->use.pool->shared.drifts > id->drifts))
			wrong("an id is issued twice");
	}
	if ((issued || issued_elsewhere) && !id->is_set)
	{
		World		after = w;
		SnoPool    *pool = session->use.pool;

		*id = (Id) {
			.is_set = true,
			.word = issued_word,
			/* The table's file is looked up before, and not within a unit. */
			.excused = issued && pool != NULL && pool->file != FILE_NOW &&
				(was_late || SNO_WORD_SEQUENCE(issued_word) > pool->shared.sequence_min)
		};
		visit_checked(step);
		w = after;
	}
	visit_checked(step);
}

/* Whatever of an event's arguments makes a difference. */
static void
try_event(const World *before, Event event, unsigned s, Step step)
{
	bool		is_run = event <= END || event == GO_ON;
	unsigned	count_a = is_run ? scope->units : event == SETTLE ? ROWS : 1;
	unsigned	count_b = is_run ? scope->units : 1;
	unsigned	count_error = is_run && !scope->fine && !scope->plain ? 4 : 1;

	for (unsigned a = 0; a < count_a; a++)
		for (unsigned b = 0; b < count_b; b++)
			for (unsigned error = 0; error < count_error; error++)
			{
				w = *before;
				issued = issued_elsewhere = false;
				enter(s);
				step.event = (uint8_t) event;
				step.who = (uint8_t) s;
				step.a = (uint8_t) a;
				step.b = (uint8_t) (b * 4 + error);
				if (apply(event, a, b, error))
					visit_all(step);
				else if (error > 0)
					break;
				else if (b > 0 && is_run)
					b = count_b;
				else if (is_run)
					return;
				if (violation != NULL)
					return;
			}
}

static void
expand(Step step)
{
	World		before = w;

	for (int e = 0; e < EVENTS && violation == NULL; e++)
		for (unsigned s = 0; s < (e <= REDEFINE ? scope->sessions : 1); s++)
			try_event(&before, (Event) e, s, step);
}

static void
describe(Step step)
{
	static const char *const places[] = {
		"", "looks at the word", "looks at the ceiling", "stores", "exchanges the word",
		"adds to the word", "swaps the word", "locks", "writes", "flushes", "has flushed",
		"reads the clock"
	};
	static const char *const errors[] = {
		"", ", error before it writes", ", error before it flushes", ", error after that"
	};

	key = seen[step.from].key;
	key_at = 0;
	key_wanted = false;
	transfer();
	if (step.event <= REDEFINE)
		printf("session %u: ", step.who);
	printf("%s", events[step.event]);
	if (step.event == GO_ON || step.event == BREAK_OFF)
		printf(", where it %s", places[w.session[step.who].place]);
	if (step.event <= END || step.event == GO_ON)
		printf(", at %u and %u%s", step.a + 1, step.b / 4 + 1, errors[step.b % 4]);
}

static const Model model = {transfer, expand, describe};

static bool
explore_scope(int number, Mutant with)
{
	scope = &scopes[number];
	mutant = with;
	issue_count = 0;
	forget_parts();
	memset(&w, 0, sizeof(w));
	clear(&w.rows.durable);
	clear(&w.rest.standby);
	w.rest.timeline = 1;
	crash();
	return explore(&model);
}

static void
explore_all(void)
{
	for (size_t i = 0; i < lengthof(scopes); i++)
	{
		bool		ok = explore_scope((int) i, NONE);

		report_scope(&model, ok, scope->name, issue_count);
	}
}

static void
catch_mutants(void)
{
	for (int m = NONE + 1; m < MUTANTS; m++)
	{
		bool		caught = !explore_scope(mutants[m].scope, m);

		report_mutant(caught, mutants[m].name, scope->name);
	}
}

/* Explores the scopes, or with any argument, their mutants. */
int
main(int argc, char **argv)
{
	static SnoJournal journal;
	static SnoActivity activity;

	sno_journal = &journal;
	sno_my_activity = &activity;
	sno_space = &w.rest.space;
	blocks[0] = &w.rest.partition;
	sno_area = (dsa_area *) &w;
	sno_partition_range.last = 0;
	prepare_stack();
	if (argc == 1)
		explore_all();
	else
		catch_mutants();
	printf("1..%d\n", tests);
	return failures != 0;
}
