/*
 * simulation.c
 *		The generators themselves, run for long in a world that is made up:
 *		clock, disk, crashes and the order of everything come from a seed.
 *
 *		simulation SEED IDS
 *
 * All of src/core, src/shared, src/generate and src/catalog runs as it is, but for the
 * definitions of named generators.  What they need of PostgreSQL is here, as little
 * of it as will do: pages in memory, WAL that is lost beyond what was flushed, a
 * lock on each table of leases, clocks that step.
 *
 * Each session is a process, as in a server, and all memory that servers have
 * in common is shared by all processes.  But only one runs at a time: it has the
 * baton, and hands it back where its slice ends, or anywhere that it reads the
 * clock, asks for a lock or for the disk.  There it may be continued, broken off,
 * ended or killed.  So a seed always gives the same run.
 *
 * The oracle keeps the last id, as unit and sequence, of each partition and
 * timeline, and demands that the next one be after it.  It follows from the
 * invariants I1 to I3 of generator.h: an id of the same timeline is of a later
 * unit, or the next sequence of the same one; a timeline is entered again only
 * after wall_safe, or above a floor.  So the oracle finds each id issued twice,
 * and also each timeline entered twice that happens to bring none.
 *
 * Several oracles look at each id: that of the line of descent (a database's
 * past: after a promotion, that which the standby had), and one for two servers
 * with disjoint partitions.  Besides, each id must be within a lease that is on
 * disk.  An id of a given time must be in a partition that no live id is in, and
 * where none of a given time was issued before the server started.  No call that
 * begins after sno_reseed() may issue in a partition that was used before, and
 * none of these may have a row of our own again, as long as others are free.
 *
 * What a standby never received isn't in its past.  It may issue such ids again
 * when its clock is behind.  The run tells how many it may have.
 */
#define _GNU_SOURCE

#include "../../src/catalog/row.c"
#include "../../src/catalog/home.c"
#include "../../src/catalog/record.c"
#include "../../src/catalog/table.c"
#include "../../src/catalog/leases.c"

#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/pg_prng.h"
#include "access/transam.h"
#include "access/xact.h"
#include "fmgr.h"
#include "storage/ipc.h"
#include "storage/lock.h"
#include "storage/latch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "generate/session.h"
#include "generate/wait.h"
#include "catalog/definition.h"
#include "catalog/publish.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/feed.h"
#include "shared/grant.h"

#undef printf
#undef snprintf

#include "home.h"

#define SERVERS			2
#define DATABASES		2
#define SESSIONS		8		/* of a server */
#define ACTIVITY_SIZE	(TYPEALIGN(PG_CACHE_LINE_SIZE, sizeof(SnoJournal)) + \
						 SESSIONS * sizeof(SnoActivity))
#define BLOCKS			256		/* of a database's table */
#define RECORDS			64		/* of WAL that isn't flushed yet */
#define PASTS			(SNO_PARTITIONS * 2)
#define FEW				16		/* partitions that sessions may be about to lease */
#define AREA_SIZE		(ACTIVITY_SIZE + SNO_PARTITIONS / 8 + \
						 DATABASES * (sizeof(SnoSpace) + SNO_PARTITIONS * SNO_PARTITION_SIZE))
#define NSEC			INT64CONST(1000000000)
#define UNIT_NSEC		(SNO_UNIT_MSEC * INT64CONST(1000000))
#define HOUR_NSEC		(3600 * NSEC)
#define START_UNIX		INT64CONST(1790000000)
#define CLOCK_RANGE		(20 * 365 * 24 * HOUR_NSEC)	/* how far it may be off */

/* Unit and sequence of the last id of each partition and timeline, plus one. */
typedef uint64_t Past[PASTS];

/* What is on a disk, and the ids that go with it. */
typedef struct Disk
{
	BlockNumber blocks[DATABASES];
	PGAlignedBlock page[DATABASES][BLOCKS];
	Past		past[DATABASES];
	uint32_t	given[DATABASES][SNO_PARTITIONS];	/* the server's life in which */
													/* ids of given times came */
} Disk;

typedef struct Record
{
	int			database;
	BlockNumber block;
	PGAlignedBlock page;
} Record;

typedef enum SessionState
{
	NONE,
	IDLE,
	PAUSED
} SessionState;

typedef struct SimSession
{
	sem_t		baton;
	pid_t		pid;
	SessionState state;
	int			database;
	int64_t		ids;			/* to be issued yet, in this slice */
	int			work;			/* what to do in this slice */
	LOCKMODE	lock;			/* that it has on its table of leases */
	bool		cancel;
	bool		end;
} SimSession;

typedef struct Server
{
	bool		live;
	int			timeline;
	int			first,			/* sno.partitions */
				last;
	int64_t		monotonic;		/* ns */
	int64_t		offset;			/* of the wall clock from it */
	int64_t		tick;			/* ns that a reading of the clock takes */
	RelFileNumber file;			/* of the tables */
	SimSession	session[SESSIONS];
	uint64_t	flushed,		/* numbers of WAL records */
				written;
	Record		record[RECORDS];
	PGAlignedBlock page[DATABASES][BLOCKS];	/* as of `written` */
	Disk		disk;			/* as of `flushed` */
	uint64_t	ceiling[DATABASES][SNO_PARTITIONS];	/* on disk, of own rows */
	uint32_t	life;			/* unlike that of any server before */
	TransactionId incarnation[DATABASES];
	bool		disowned[DATABASES][SNO_PARTITIONS];	/* by sno_reseed() */
	int			reseeds[DATABASES];
	Past		lost[DATABASES];	/* what was issued in WAL that it lacks */
	char		header[2048];	/* of the area */
	size_t		allocated;		/* bytes of the area */
	int			blocks;			/* of partitions in it, and where they are */
	size_t		block[DATABASES * SNO_BLOCKS];
	char		area[AREA_SIZE];
} Server;

typedef struct World
{
	sem_t		scheduler;
	uint64_t	random;
	int64_t		pause_in;		/* readings of the clock, other occasions, and */
	int64_t		halt_in;		/* steps of the clock: 0 for each is now */
	int64_t		step_in;
	int			timelines;
	int			pids;
	Server		server[SERVERS];
	Disk		standby;
	bool		has_standby;
	bool		apart;			/* two servers are live, with disjoint partitions */
	Past		both[DATABASES];
	char		wrong[200];
	int64_t		ids,
				sessions,
				crashes,
				promotions,
				copies,
				steps,
				halts,
				cancels,
				errors,
				records,
				given,
				reseeds,
				met;
	uint32_t	lives;
} World;

/* What a session does in a slice. */
enum
{
	GENERATE, GENERATE_AT, RESEED
};

extern Datum sno_generate(PG_FUNCTION_ARGS);
extern Datum sno_generate_at(PG_FUNCTION_ARGS);
extern Datum sno_reseed(PG_FUNCTION_ARGS);

static World *world;

/* Of this process, if it is a session. */
static Server *server;
static SimSession *session;
static int	locks;
static pg_on_exit_callback at_exit[4];
static int	at_exits;
static int	reseeds;			/* of the database, when the call began */
static RelcacheCallbackFunction at_change;
static FormData_pg_class table_form;

static void
bail_out(const char *why)
{
	printf("Bail out! %s\n", why);
	fflush(stdout);
	_exit(1);
}

static uint64_t
draw(void)
{
	world->random ^= world->random << 13;
	world->random ^= world->random >> 7;
	world->random ^= world->random << 17;
	return world->random * UINT64_C(0x2545F4914F6CDD1D) >> 11;
}

/* 1 .. highest, each order of magnitude as likely as the others. */
static int64_t
draw_size(int64_t highest)
{
	int64_t		scale = 1;

	while (scale < highest && draw() % 4 != 0)
		scale *= 4;
	return 1 + (int64_t) (draw() % (uint64_t) Min(scale, highest));
}

static bool
one_in(unsigned n)
{
	return draw() % n == 0;
}

static void
wrong(const char *what, SnoFields f)
{
	if (world->wrong[0] == '\0')
		snprintf(world->wrong, sizeof(world->wrong),
				 "%s: unit %llu, timeline %d, partition %u, sequence %u, after %lld ids",
				 what, (unsigned long long) f.unit, f.tick_tock, f.partition,
				 f.sequence, (long long) world->ids);
}

/* Sessions */

static void
hand_back(SessionState state)
{
	session->state = state;
	sem_post(&world->scheduler);
	while (sem_wait(&session->baton) != 0)
		;
	InterruptPending = session->cancel || session->end;
}

/* A place where others may come in between. */
static void
occasion(void)
{
	if (session != NULL && locks == 0 && --world->halt_in <= 0)
	{
		world->halts++;
		world->halt_in = INT64_MAX;
		hand_back(PAUSED);
	}
}

static void
leave(void)
{
	while (at_exits > 0)
		at_exit[--at_exits](0, (Datum) 0);
	session->lock = NoLock;
	session->state = NONE;
	sem_post(&world->scheduler);
	_exit(0);
}

/* How many partitions of the range have rows, which are marked. */
static int
mark_rows(Server *s, int database, bool *marks)
{
	int			count = 0;

	for (BlockNumber b = 0; b < s->disk.blocks[database]; b++)
	{
		Page		page = s->page[database][b].data;

		for (OffsetNumber o = FirstOffsetNumber;
			 !PageIsNew(page) && o <= PageGetMaxOffsetNumber(page); o++)
		{
			int			number = row_of((HeapTupleHeader) PageGetItem(page, PageGetItemId(page, o)))->partition;

			if (number >= s->first && number <= s->last)
				count += !marks[number];
			marks[number] = true;
		}
	}
	return count;
}

/* A partition is used: is that right, if it was before sno_reseed(), too? */
static void
check_reseed(Server *s, int database, int number)
{
	static bool marks[SNO_PARTITIONS];
	bool	   *disowned = &s->disowned[database][number];

	if (!*disowned)
		return;
	memset(marks, 0, sizeof(marks));
	if (s->last - s->first + 1 - mark_rows(s, database, marks) > FEW)
		wrong("used before sno_reseed(), and again",
			  (SnoFields) {.partition = (uint16_t) number});
	*disowned = false;
}

static void
reseed(FunctionCallInfo fcinfo)
{
	static bool marks[SNO_PARTITIONS];
	int			database = session->database;

	memset(marks, 0, sizeof(marks));
	(void) mark_rows(server, database, marks);
	for (int i = server->first; i <= server->last && sno_space != NULL; i++)
		marks[i] |= sno_partition_at(i)->life != 0;
	sno_reseed(fcinfo);
	for (int i = 0; i < SNO_PARTITIONS; i++)
		server->disowned[database][i] |= marks[i];
	server->reseeds[database]++;
	world->reseeds++;
}

/* The oracle. */
static void
note(const Sno *id)
{
	SnoFields	f = sno_unpack(id);
	size_t		timeline = (size_t) f.partition * 2 + f.tick_tock;
	uint64_t	now = (f.unit << 16 | f.sequence) + 1;
	uint64_t   *past = &server->disk.past[session->database][timeline];
	uint64_t   *both = &world->both[session->database][timeline];

	if (now <= *past)
		wrong("not after the last one of its line", f);
	if (now <= server->lost[session->database][timeline])
		world->met++;
	if (server->disk.given[session->database][f.partition] != 0)
		wrong("in a partition for given times", f);
	if (reseeds == server->reseeds[session->database])
		check_reseed(server, session->database, f.partition);
	if (world->apart && now <= *both)
		wrong("not after the last one of both servers", f);
	if (f.unit > server->ceiling[session->database][f.partition])
		wrong("beyond the lease on disk", f);
	if (f.partition < server->first || f.partition > server->last)
		wrong("out of sno.partitions", f);
	*past = *both = now;
	world->ids++;
}

/* The oracle of ids of given times. */
static void
note_given(const Sno *id)
{
	SnoFields	f = sno_unpack(id);
	uint32_t   *life = &server->disk.given[session->database][f.partition];
	const uint64_t *past = &server->disk.past[session->database][f.partition * 2];

	if (past[0] != 0 || past[1] != 0)
		wrong("of a given time, in a partition of live ids", f);
	if (*life != 0 && *life != server->life)
		wrong("of a given time, in a partition that had some before a restart", f);
	if (server->ceiling[session->database][f.partition] != SNO_UNIT_MAX)
		wrong("of a given time, without a lease on disk", f);
	if (reseeds == server->reseeds[session->database])
		check_reseed(server, session->database, f.partition);
	if (f.partition < server->first || f.partition > server->last)
		wrong("out of sno.partitions", f);
	*life = server->life;
	world->given++;
}

/* The session hears of what became of the table. */
static void
accept_changes(void)
{
	if (table_form.relfilenode != server->file && at_change != NULL)
		at_change((Datum) 0, table_form.oid);
	table_form.relfilenode = server->file;
}

static void
forget_nothing(void *arg)
{
}

/* Ask for a watermark, so that ids may run ahead of the clock. */
static void
read_feed(void)
{
	SnapshotData snapshot = {0};

	if (one_in(10))
		sno_feed_reset(forget_nothing, NULL);
	(void) sno_feed_lowest(&snapshot);
}

static XactCallback at_end_of_transaction;
static char arena[1 << 21];
static size_t arena_used;

static void
run_slice(void)
{
	sigjmp_buf	here;
	FmgrInfo	flinfo = {.fn_oid = 1};
	LOCAL_FCINFO(fcinfo, 2);

	InitFunctionCallInfoData(*fcinfo, &flinfo, 2, InvalidOid, NULL, NULL);
	fcinfo->args[0] = fcinfo->args[1] = (NullableDatum) {.value = Int32GetDatum(0)};
	if (sigsetjmp(here, 0) == 0)
	{
		PG_exception_stack = &here;
		accept_changes();
		for (; session->ids > 0 && world->wrong[0] == '\0'; session->ids--)
		{
			arena_used = 0;
			reseeds = server->reseeds[session->database];
			if (one_in(1000))
				read_feed();
			if (session->work == GENERATE)
				note((const Sno *) DatumGetPointer(sno_generate(fcinfo)));
			else if (session->work == GENERATE_AT)
			{
				fcinfo->args[0].value = TimestampTzGetDatum(sno_unit_to_timestamptz(draw() % 1000));
				note_given((const Sno *) DatumGetPointer(sno_generate_at(fcinfo)));
			}
			else
				reseed(fcinfo);
		}
	}
	else
	{
		world->errors++;
		sno_turn_end();
	}
	PG_exception_stack = NULL;
	session->lock = NoLock;
	at_end_of_transaction(XACT_EVENT_COMMIT, NULL);
}

static void
run_session(Server *s, SimSession *me)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	server = s;
	session = me;
	MyProcPid = ++world->pids;
	MyProc->pgprocno = (int) (me - s->session);
	MyDatabaseId = 1 + me->database;
	BufferBlocks = (char *) s->page;
	sno_partition_range = (SnoPartitionRange) {s->first, s->last};
	sno_lease_duration = 60;
	sno_max_wait = 1000;
	sno_feed_init();
	for (;;)
	{
		hand_back(IDLE);
		if (me->end)
			leave();
		run_slice();
	}
}

/* Clocks */

static void
set_clock(Server *s, int64_t offset)
{
	world->steps++;
	s->offset = Max(Min(offset, CLOCK_RANGE), -CLOCK_RANGE / 2);
}

/* By some units up to an hour, or at times up to a year, either way. */
static void
step_clock(Server *s)
{
	int64_t		by = one_in(100) ? draw_size(365 * 24 * HOUR_NSEC) :
		draw_size(HOUR_NSEC / UNIT_NSEC) * UNIT_NSEC;

	set_clock(s, one_in(2) ? s->offset + by : s->offset - by);
}

/*
 * The generator of a partition that has that number in its block; which of the
 * blocks that are in memory is left to chance.
 */
static const SnoGenerator *
generator_at(const Server *s, uint64_t number, uint64_t chance)
{
	const SnoPartition *p;

	if (s->blocks == 0)
		return NULL;
	p = (const SnoPartition *) (s->area + s->block[chance % (uint64_t) s->blocks]);
	return &p[number % SNO_BLOCK].generator;
}

/* To a unit that matters to some partition, or a neighbour of it. */
static void
step_clock_to_bound(Server *s)
{
	uint64_t	number = s->first + draw() % (s->last - s->first + 1);
	const SnoGenerator *g = generator_at(s, number, draw());
	uint64_t	unit = 0;

	if (g != NULL)
		unit = ((uint64_t[]) {g->ceiling, g->wall_safe, g->lease_floor,
							  SNO_WORD_UNIT(g->word)})[draw() % 4];
	if (unit != 0)
		set_clock(s, (int64_t) (unit + draw() % 3 - 1) * UNIT_NSEC -
				  (START_UNIX - SNO_EPOCH_UNIX) * NSEC - s->monotonic);
}

int
clock_gettime(clockid_t clock, struct timespec *t)
{
	int64_t		ns;

	server->monotonic += server->tick;
	ns = server->monotonic;
	if (clock == CLOCK_REALTIME)
	{
		if (--world->step_in <= 0)
		{
			if (one_in(2))
				step_clock_to_bound(server);
			else
				step_clock(server);
			world->step_in = draw_size(INT64CONST(1) << draw() % 24);
		}
		ns += server->offset + START_UNIX * NSEC;
	}
	t->tv_sec = ns / NSEC;
	t->tv_nsec = ns % NSEC;
	if (--world->pause_in <= 0)
	{
		world->pause_in = INT64_MAX;
		world->halt_in = 0;
		occasion();
	}
	return 0;
}

TimestampTz
GetCurrentTimestamp(void)
{
	return (server->monotonic + server->offset + START_UNIX * NSEC) / 1000 -
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
}

int
WaitLatch(Latch *latch, int events, long timeout, uint32 wait_event)
{
	/* Without a time-out, another session ends the wait. */
	if (timeout < 0)
		hand_back(PAUSED);
	else
	{
		server->monotonic += timeout * 1000000;
		occasion();
	}
	return 0;
}

void
ResetLatch(Latch *latch)
{
}

/* Who sleeps is continued at times, and looks again. */
void ConditionVariableInit(ConditionVariable *cv) {}
void ConditionVariablePrepareToSleep(ConditionVariable *cv) {}
void ConditionVariableCancelSleep(void) {}
void ConditionVariableBroadcast(ConditionVariable *cv) {}
void pg_usleep(long usec) { occasion(); }
bool ParallelContextActive(void) { return false; }

/* Errors, interrupts, memory, transactions */

int			MyProcPid;
Oid			MyDatabaseId;
static PGPROC process;
PGPROC	   *MyProc = &process;
static PROC_HDR processes = {.allProcCount = SESSIONS};
PROC_HDR   *ProcGlobal = &processes;
struct Latch *MyLatch;
int			ParallelWorkerNumber = -1;
int			min_dynamic_shared_memory;
volatile sig_atomic_t InterruptPending;
volatile uint32 InterruptHoldoffCount;
sigjmp_buf *PG_exception_stack;
ErrorContextCallback *error_context_stack;
MemoryContext CurrentMemoryContext;
MemoryContext TopMemoryContext;
ResourceOwner CurrentResourceOwner;

static ErrorData error;


bool
errstart(int elevel, const char *domain)
{
	error = (ErrorData) {.elevel = elevel};
	return elevel >= ERROR;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

int
errcode(int sqlerrcode)
{
	error.sqlerrcode = sqlerrcode;
	return 0;
}

static int
note_message(const char *format)
{
	error.message = (char *) format;
	return 0;
}

int errmsg(const char *format,...) { return note_message(format); }
int errmsg_internal(const char *format,...) { return note_message(format); }
int errdetail(const char *format,...) { return 0; }
int errdetail_internal(const char *format,...) { return 0; }
int errhint(const char *format,...) { return 0; }
char *psprintf(const char *format,...) { return "text"; }

/* Nothing is raised by mistake. */
void
errfinish(const char *file, int number, const char *function)
{
	if (error.sqlerrcode == 0)
		bail_out(error.message);
	siglongjmp(*PG_exception_stack, 1);
}

ErrorData *
CopyErrorData(void)
{
	return &error;
}

void
ReThrowError(ErrorData *e)
{
	siglongjmp(*PG_exception_stack, 1);
}

void FlushErrorState(void) {}
void FreeErrorData(ErrorData *e) {}
void BeginInternalSubTransaction(const char *name) {}
void ReleaseCurrentSubTransaction(void) {}
void RollbackAndReleaseCurrentSubTransaction(void) { sno_turn_end(); }
void pg_re_throw(void) { siglongjmp(*PG_exception_stack, 1); }
bool XactReadOnly;
void PreventCommandIfParallelMode(const char *command) {}
int geterrcode(void) { return 0; }
bool IsInParallelMode(void) { return one_in(4); }
void RegisterXactCallback(XactCallback callback, void *arg) { at_end_of_transaction = callback; }

/* No transaction inserts anything, and none is prepared. */
int			max_prepared_xacts;
FullTransactionId ReadNextFullTransactionId(void) { return FirstNormalFullTransactionId; }
FullTransactionId GetTopFullTransactionIdIfAny(void) { return InvalidFullTransactionId; }
FullTransactionId GetTopFullTransactionId(void) { return InvalidFullTransactionId; }
void GetReplicationHorizons(TransactionId *xmin, TransactionId *catalog_xmin) {}
bool RecoveryInProgress(void) { return false; }
bool TransactionIdPrecedes(TransactionId a, TransactionId b) { return a < b; }
bool TransactionIdFollowsOrEquals(TransactionId a, TransactionId b) { return a >= b; }
bool TransactionIdIsInProgress(TransactionId xid) { return false; }
LockAcquireResult LockAcquire(const LOCKTAG *tag, LOCKMODE mode, bool alone, bool dont) { return LOCKACQUIRE_OK; }
LockData *GetLockStatusData(void) { static LockData none; return &none; }
void dsa_free(dsa_area *a, dsa_pointer place) {}

void
ProcessInterrupts(void)
{
	if (locks > 0)
		return;
	InterruptPending = false;
	if (session->end)
		leave();
	session->cancel = false;
	ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED), errmsg("canceled")));
}

void *
palloc(Size size)
{
	void	   *memory = arena + arena_used;

	arena_used += MAXALIGN(size);
	if (arena_used > sizeof(arena))
		elog(ERROR, "out of memory");
	return memory;
}

void *
palloc0(Size size)
{
	return memset(palloc(size), 0, size);
}

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name, Size min,
							  Size initial, Size max)
{
	return parent;
}

void MemoryContextDelete(MemoryContext context) {}

bool
pg_strong_random(void *buffer, size_t length)
{
	uint64_t	random = draw() << 32 ^ draw();

	memcpy(buffer, &random, length);
	return true;
}

/* Shared memory */

LWLockPadded *MainLWLockArray;

bool
LWLockAcquire(LWLock *lock, LWLockMode mode)
{
	occasion();
	locks++;
	return true;
}

/* Nobody hands the baton back while he has it, so it is free. */
bool		LWLockConditionalAcquire(LWLock *lock, LWLockMode mode) { return LWLockAcquire(lock, mode); }

void
LWLockRelease(LWLock *lock)
{
	locks--;
	occasion();
}

int LWLockNewTrancheId(void) { return 1; }
void LWLockRegisterTranche(int tranche, const char *name) {}
void LWLockInitialize(LWLock *lock, int tranche) {}
void before_shmem_exit(pg_on_exit_callback function, Datum arg) { at_exit[at_exits++] = function; }

void *
ShmemInitStruct(const char *name, Size size, bool *found)
{
	*found = server->header[0] != 0;
	return server->header;
}

pg_prng_state pg_global_prng_state;

uint32 pg_prng_uint32(pg_prng_state *state) { return (uint32) draw(); }

struct dsa_area
{
	int			dummy;
};

static dsa_area whole_area;

dsa_area *dsa_create(int tranche) { return &whole_area; }
dsa_area *dsa_attach(dsa_handle handle) { return &whole_area; }
dsa_handle dsa_get_handle(dsa_area *area) { return 1; }
void dsa_pin(dsa_area *area) {}
void dsa_pin_mapping(dsa_area *area) {}

dsa_pointer
dsa_allocate_extended(dsa_area *area, size_t size, int flags)
{
	dsa_pointer place = server->allocated;

	if (place + size > sizeof(server->area))
		bail_out("no room in the area");
	server->allocated += MAXALIGN(size);
	if (size == SNO_BLOCK * SNO_PARTITION_SIZE)
		server->block[server->blocks++] = place;
	return place + 1;
}

void *dsa_get_address(dsa_area *area, dsa_pointer place) { return server->area + place - 1; }
Size mul_size(Size a, Size b) { return a * b; }
Size add_size(Size a, Size b) { return a + b; }
size_t strlcpy(char *to, const char *from, size_t size) { return snprintf(to, size, "%s", from); }

/* All metabytes and times are right. */
int32 sno_fields_check(const char *name, int32 value, int max) { return value; }

uint64
sno_fields_unit(TimestampTz at)
{
	uint64		unit;

	(void) sno_timestamptz_to_unit(at, &unit);
	return unit;
}

/* Nobody listens, and there is no registry. */
bool		sno_notify_overflow;
void sno_worker_ask(SnoWorkerKind kind) {}
bool has_privs_of_role(Oid member, Oid role) { return true; }
Oid GetUserId(void) { return 1; }

/* The catalogue: there is one table in a database, which is vacuumed at times. */

#define TABLE_OID		1000

static FormData_pg_class table_form = {
	.oid = TABLE_OID,
	.relam = HEAP_TABLE_AM_OID,
	.relkind = RELKIND_RELATION,
	.relpersistence = RELPERSISTENCE_PERMANENT
};
static RelationData table_data = {.rd_rel = &table_form, .rd_id = TABLE_OID};

void CacheRegisterRelcacheCallback(RelcacheCallbackFunction function, Datum arg) { at_change = function; }
Oid get_namespace_oid(const char *name, bool missing_ok) { return 1; }
Oid get_relname_relid(const char *name, Oid namespace) { return TABLE_OID; }
void UnlockRelationOid(Oid relid, LOCKMODE mode) { session->lock = NoLock; }
void LockRelationForExtension(Relation rel, LOCKMODE mode) {}
void UnlockRelationForExtension(Relation rel, LOCKMODE mode) {}
void relation_close(Relation rel, LOCKMODE mode) { session->lock = NoLock; }
List *RelationGetIndexList(Relation rel) { return NIL; }
bool TransactionIdIsCurrentTransactionId(TransactionId xid) { return false; }
void ReleaseSysCache(HeapTuple tuple) {}

/* No generator is named. */
Bitmapset *sno_definition_partitions(void) { return NULL; }
bool bms_is_member(int x, const Bitmapset *a) { return false; }

/* Does another session have the table in a mode that conflicts with this one? */
static bool
is_locked(LOCKMODE mode)
{
	for (int i = 0; i < SESSIONS; i++)
	{
		const SimSession *other = &server->session[i];

		if (other != session && other->state != NONE && other->database == session->database &&
			(mode >= ExclusiveLock ? other->lock != NoLock : other->lock >= ExclusiveLock))
			return true;
	}
	return false;
}

/* Now and then, somebody else has it locked. */
bool
ConditionalLockRelationOid(Oid relid, LOCKMODE mode)
{
	occasion();
	accept_changes();
	if (one_in(50) || is_locked(mode))
		return false;
	session->lock = mode;
	return true;
}

Relation
try_relation_open(Oid relid, LOCKMODE mode)
{
	if (table_data.rd_att == NULL)
	{
		table_data.rd_att = calloc(1, sizeof(struct TupleDescData) +
								   2 * SNO_LEASES_COLUMNS * sizeof(FormData_pg_attribute));
		table_data.rd_att->natts = SNO_LEASES_COLUMNS;
		for (int i = 0; i < SNO_LEASES_COLUMNS; i++)
		{
			TupleDescAttr(table_data.rd_att, i)->attnotnull = true;
			TupleDescAttr(table_data.rd_att, i)->atttypid = column_types[i];
		}
	}
	return &table_data;
}

/* This one waits. */
Relation
relation_open(Oid relid, LOCKMODE mode)
{
	while (is_locked(mode))
	{
		hand_back(PAUSED);
		CHECK_FOR_INTERRUPTS();
	}
	session->lock = mode;
	accept_changes();
	return try_relation_open(relid, mode);
}

/* The rows of the catalogue: that of the table, whose xmin only a database has. */
HeapTuple
SearchSysCache1(int cache, Datum key)
{
	static union
	{
		HeapTupleHeaderData header;
		char		room[HEADER_SIZE + sizeof(FormData_pg_class)];
	}			data;
	static HeapTupleData tuple = {.t_data = &data.header};

	data.header.t_hoff = HEADER_SIZE;
	data.header.t_choice.t_heap.t_xmin = server->incarnation[session->database];
	memcpy(GETSTRUCT(&tuple), &table_form, sizeof(table_form));
	return &tuple;
}

/* Pages */

char	   *BufferBlocks;
Block	   *LocalBufferBlockPointers;

BlockNumber
RelationGetNumberOfBlocksInFork(Relation rel, ForkNumber fork)
{
	return server->disk.blocks[session->database];
}

Buffer
ReadBuffer(Relation rel, BlockNumber block)
{
	if (block == P_NEW)
		block = server->disk.blocks[session->database]++;
	if (block >= BLOCKS)
		elog(ERROR, "the table is full");
	return 1 + session->database * BLOCKS + (int) block;
}

BlockNumber
BufferGetBlockNumber(Buffer buffer)
{
	return (BlockNumber) (buffer - 1) % BLOCKS;
}

/* The buffer that this session has locked and marked dirty. */
static Buffer dirty;

void
LockBuffer(Buffer buffer, int mode)
{
	occasion();
	locks++;
	dirty = InvalidBuffer;
}

void MarkBufferDirty(Buffer buffer) { dirty = buffer; }

void
UnlockReleaseBuffer(Buffer buffer)
{
	locks--;
	occasion();
}

void
PageInit(Page page, Size size, Size special)
{
	PageHeader	header = (PageHeader) page;

	memset(page, 0, size);
	header->pd_lower = SizeOfPageHeaderData;
	header->pd_upper = header->pd_special = (LocationIndex) size;
	PageSetPageSizeAndVersion(page, size, PG_PAGE_LAYOUT_VERSION);
}

Size
PageGetHeapFreeSpace(Page page)
{
	PageHeader	header = (PageHeader) page;
	Size		room = header->pd_upper - header->pd_lower;

	return room < sizeof(ItemIdData) ? 0 : room - sizeof(ItemIdData);
}

OffsetNumber
PageAddItemExtended(Page page, Item item, Size size, OffsetNumber offset, int flags)
{
	PageHeader	header = (PageHeader) page;

	if (PageGetHeapFreeSpace(page) < MAXALIGN(size))
		return InvalidOffsetNumber;
	offset = PageGetMaxOffsetNumber(page) + 1;
	header->pd_lower += sizeof(ItemIdData);
	header->pd_upper -= MAXALIGN(size);
	ItemIdSetNormal(PageGetItemId(page, offset), header->pd_upper, size);
	memcpy(page + header->pd_upper, item, size);
	return offset;
}

/* WAL */

uint64 GetSystemIdentifier(void) { return 1; }
TimeLineID GetWALInsertionTimeLine(void) { return (TimeLineID) server->timeline; }
void XLogSetAsyncXactLSN(XLogRecPtr lsn) {}
bool	   *wal_consistency_checking = (bool[RM_MAX_ID + 1]) {0};

/* What the server's own rows on a page of the disk allow. */
static void
note_ceilings(Server *s, int database, Page page)
{
	for (OffsetNumber o = FirstOffsetNumber;
		 !PageIsNew(page) && o <= PageGetMaxOffsetNumber(page); o++)
	{
		SnoRow   *row = row_of((HeapTupleHeader) PageGetItem(page, PageGetItemId(page, o)));
		uint64_t   *ceiling = &s->ceiling[database][row->partition];

		if (row->timeline == s->timeline)
			*ceiling = Max(*ceiling, ceiling_of(row));
		if (row->timeline == s->timeline && row->system_identifier != 0)
			check_reseed(s, database, row->partition);
	}
}

static void
flush_to(Server *s, uint64_t lsn)
{
	for (; s->flushed < lsn; s->flushed++)
	{
		Record	   *r = &s->record[(s->flushed + 1) % RECORDS];

		s->disk.page[r->database][r->block] = r->page;
		note_ceilings(s, r->database, r->page.data);
	}
}

void
XLogFlush(XLogRecPtr lsn)
{
	occasion();
	flush_to(server, lsn);
	occasion();
}

static Record draft;

GenericXLogState *
GenericXLogStart(Relation rel)
{
	return (GenericXLogState *) &draft;
}

Page
GenericXLogRegisterBuffer(GenericXLogState *state, Buffer buffer, int flags)
{
	draft.database = session->database;
	draft.block = BufferGetBlockNumber(buffer);
	draft.page = server->page[draft.database][draft.block];
	return draft.page.data;
}

/* A checkpoint after this record would not write a page that isn't dirty yet. */
XLogRecPtr
GenericXLogFinish(GenericXLogState *state)
{
	if (dirty == InvalidBuffer || BufferGetBlockNumber(dirty) != draft.block)
		wrong("a page is logged before it is marked dirty", (SnoFields) {0});
	if (server->written - server->flushed == RECORDS - 1)
		flush_to(server, server->flushed + 1);
	server->written++;
	world->records++;
	server->record[server->written % RECORDS] = draft;
	server->page[draft.database][draft.block] = draft.page;
	return server->written;
}

void GenericXLogAbort(GenericXLogState *state) {}

/* The scheduler */

/* All of a server's sessions are killed, and its memory is gone. */
static void
stop(Server *s)
{
	for (int i = 0; i < SESSIONS; i++)
		if (s->session[i].state != NONE)
		{
			kill(s->session[i].pid, SIGKILL);
			waitpid(s->session[i].pid, NULL, 0);
			s->session[i].state = NONE;
		}
	memset(s->header, 0, sizeof(s->header));
	memset(s->area, 0, s->allocated);
	s->allocated = 0;
	s->blocks = 0;
}

/* Start on what is on the server's disk. */
static void
start(Server *s, int first, int last)
{
	s->first = first;
	s->last = last;
	for (int d = 0; d < DATABASES; d++)
	{
		static bool marks[SNO_PARTITIONS];

		memset(s->ceiling[d], 0, sizeof(s->ceiling[d]));
		memset(marks, 0, sizeof(marks));
		for (BlockNumber b = 0; b < s->disk.blocks[d]; b++)
			s->page[d][b] = s->disk.page[d][b];
		/* What had no row is forgotten. */
		(void) mark_rows(s, d, marks);
		for (int i = 0; i < SNO_PARTITIONS; i++)
			s->disowned[d][i] &= marks[i];
		for (BlockNumber b = 0; b < s->disk.blocks[d]; b++)
			note_ceilings(s, d, s->page[d][b].data);
	}
	s->life = ++world->lives;
	s->written = s->flushed;
	s->live = true;
	s->file++;
}

/* The range of partitions at the next start: mostly many, at times very few. */
static int
draw_last(void)
{
	return (int) draw_size(4096);
}

static void
crash(Server *s)
{
	world->crashes++;
	stop(s);
	/* More may have got to the disk than was asked for. */
	if (s->written > s->flushed)
		flush_to(s, s->flushed + draw() % (s->written - s->flushed + 1));
	if (one_in(4))
		step_clock(s);
	if (world->apart)
		start(s, s->first, s->last);
	else
		start(s, 0, draw_last());
}

static void
copy_disk(Disk *to, const Disk *from)
{
	for (int d = 0; d < DATABASES; d++)
	{
		to->blocks[d] = from->blocks[d];
		memcpy(to->page[d], from->page[d], from->blocks[d] * BLCKSZ);
	}
	memcpy(to->past, from->past, sizeof(to->past));
	memcpy(to->given, from->given, sizeof(to->given));
}

/* A server on the standby's disk, on another machine with another clock. */
static void
promote(Server *s, int first, int last)
{
	for (int d = 0; d < DATABASES; d++)
		for (int i = 0; i < PASTS; i++)
			if (s->disk.past[d][i] > world->standby.past[d][i])
				s->lost[d][i] = Max(s->lost[d][i], s->disk.past[d][i]);
	copy_disk(&s->disk, &world->standby);
	s->timeline = ++world->timelines;
	memset(s->disowned, 0, sizeof(s->disowned));
	s->written = s->flushed = 0;
	s->tick = 100;
	step_clock(s);
	start(s, first, last);
}

/* Something befalls the servers, of which the other one may not be live. */
static void
befall(Server *s, Server *other)
{
	bool		crowded = s->disk.blocks[0] > BLOCKS / 2 || s->disk.blocks[1] > BLOCKS / 2;

	switch (draw() % 16)
	{
		case 7:
		case 8:
			/* VACUUM FULL flushes what it writes. */
			flush_to(s, s->written);
			s->file++;
			break;
		case 0:
			if (!crowded)
				break;
			/* A new cluster, for the table doesn't get smaller. */
			stop(s);
			stop(other);
			other->live = world->apart = world->has_standby = false;
			memset(s->disk.blocks, 0, sizeof(s->disk.blocks));
			memset(s->disk.past, 0, sizeof(s->disk.past));
			memset(s->disk.given, 0, sizeof(s->disk.given));
			memset(s->lost, 0, sizeof(s->lost));
			memset(s->disowned, 0, sizeof(s->disowned));
			memset(s->page, 0, sizeof(s->page));
			start(s, 0, draw_last());
			break;
		case 1:
		case 2:
		case 3:
			copy_disk(&world->standby, &s->disk);
			world->has_standby = true;
			break;
		case 4:
			if (!world->has_standby || world->apart || crowded)
				break;
			world->promotions++;
			stop(s);
			promote(s, 0, draw_last());
			break;
		case 5:
			if (!world->has_standby || world->apart || crowded)
				break;
			/* Both live: the old one is restarted with partitions of its own. */
			world->copies++;
			memset(world->both, 0, sizeof(world->both));
			crash(s);
			s->last = 511;
			promote(other, 512, 1023);
			world->apart = true;
			break;
		case 6:
			if (!world->apart)
				break;
			stop(other);
			other->live = world->apart = world->has_standby = false;
			crash(s);
			break;
		default:
			crash(s);
	}
}

/* Let a session run, until it hands the baton back. */
static void
run(Server *s)
{
	SimSession *one = &s->session[draw() % SESSIONS];
	pid_t		pid;

	if (one->state == NONE)
	{
		world->sessions++;
		one->database = (int) (draw() % DATABASES);
		one->cancel = one->end = false;
		pid = fork();
		if (pid == 0)
			run_session(s, one);
		if (pid < 0)
			bail_out("no more processes");
		one->pid = pid;
	}
	else
	{
		static const int64_t ticks[] = {10, 61, 61, 100, 1000, 100000};

		s->tick = ticks[draw() % lengthof(ticks)];
		one->end = one_in(50);
		one->cancel = one_in(50);
		world->cancels += one->cancel;
		world->pause_in = one_in(2) ? draw_size(1000000) : INT64_MAX;
		world->halt_in = one_in(2) ? draw_size(64) : INT64_MAX;
		if (one->state == IDLE)
		{
			one->work = one_in(100) ? RESEED : one_in(4) ? GENERATE_AT : GENERATE;
			one->ids = one->work == RESEED ? 1 :
				draw_size(one->work == GENERATE ? 1 << 15 : 1 << 10);
		}
		sem_post(&one->baton);
	}
	while (sem_wait(&world->scheduler) != 0)
		;
	if (one->state == NONE)
		waitpid(one->pid, NULL, 0);
}

static bool
simulate(uint64_t seed, int64_t ids)
{
	memset(world, 0, sizeof(*world));
	world->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
	sem_init(&world->scheduler, 1, 0);
	for (int i = 0; i < SERVERS; i++)
		for (int j = 0; j < SESSIONS; j++)
			sem_init(&world->server[i].session[j].baton, 1, 0);
	world->step_in = 1000;
	world->server[0].timeline = ++world->timelines;
	world->server[0].tick = 100;
	for (int i = 0; i < SERVERS; i++)
		for (int d = 0; d < DATABASES; d++)
			world->server[i].incarnation[d] = FirstNormalTransactionId;
	start(&world->server[0], 0, 4096);

	while (world->ids < ids && world->wrong[0] == '\0')
	{
		int			i = world->apart ? (int) (draw() % SERVERS) : world->server[1].live;
		Server	   *s = &world->server[i];

		if (one_in(100))
			befall(s, &world->server[1 - i]);
		if (one_in(8))
			s->monotonic += draw_size(2 * HOUR_NSEC);
		/* ALTER DATABASE */
		if (one_in(20))
			s->incarnation[draw() % DATABASES]++;
		run(s);
	}
	stop(&world->server[0]);
	stop(&world->server[1]);
	return world->wrong[0] == '\0';
}

int
main(int argc, char **argv)
{
	uint64_t	seed;
	int64_t		ids;
	bool		ok;

	if (argc != 3)
		bail_out("usage: simulation SEED IDS");
	seed = strtoull(argv[1], NULL, 10);
	ids = strtoll(argv[2], NULL, 10);
	sno_registry = "";
	MainLWLockArray = calloc(64, sizeof(LWLockPadded));
	world = mmap(NULL, sizeof(World), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (world == MAP_FAILED)
		bail_out("out of memory");
	ok = simulate(seed, ids);
	printf("%sok 1 - seed %llu: %lld ids, each after the last one of its timeline\n",
		   ok ? "" : "not ", (unsigned long long) seed, (long long) world->ids);
	if (!ok)
		printf("# %s\n", world->wrong);
	printf("# %lld sessions, halted %lld times, canceled %lld, errors %lld, rows written %lld\n",
		   (long long) world->sessions, (long long) world->halts,
		   (long long) world->cancels, (long long) world->errors,
		   (long long) world->records);
	printf("# clock steps %lld, crashes %lld, promotions %lld, second servers %lld\n",
		   (long long) world->steps, (long long) world->crashes,
		   (long long) world->promotions, (long long) world->copies);
	printf("# ids of given times %lld, reseeds %lld; ids that may be of lost WAL %lld\n",
		   (long long) world->given, (long long) world->reseeds, (long long) world->met);
	printf("1..1\n");
	return !ok;
}
