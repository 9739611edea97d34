/*
 * activity.c
 *		The activity of the server's generators, for functions that show it.
 *
 * Besides the spaces (space.c), shared memory contains a journal, which records events of the
 * whole server, and a slot for each process that the server can have.  A slot records the
 * generator that the session of the process waited for last.  A session writes only its own slot.
 * The notifier (monitor/overflow.c) clears the flag `waited` of each slot.  The journal's lock
 * protects the journal, and the generator in each slot.  The other fields of a slot are read
 * without a lock.  A session takes the lock only in rare cases: when it takes its slot, when it
 * begins to wait for another generator than before, and when it records an event in the journal.
 *
 * A session doesn't count each id that it issues, because the state word of a generator counts
 * the ids of its unit.  The counter `base` is changed when the first id of another unit is
 * issued, so that the number of ids issued so far is always `base` plus the state word's next
 * sequence.  If `base` changes while a reader loads these two numbers, the reader's sum is wrong
 * by the ids of one unit.
 *
 * All sessions that use a generator share its counters, and change them by atomic additions.  A
 * reset stores the present values of the counters in `reset`, under the journal's lock, and
 * readers subtract the stored values.  Only the longest wait is set to 0 by a reset.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "shared/activity.h"

#define JOURNAL_SIZE	TYPEALIGN(PG_CACHE_LINE_SIZE, sizeof(SnoJournal))

/* The least time between two log messages about one condition */
#define LOG_AGAIN_USEC	(60 * USECS_PER_SEC)

SnoJournal *sno_journal;

/* The slot of this process */
SnoActivity *sno_my_activity;

static SnoActivity *slots;

/* Our wait events, which sno_activity_attach() registers */
uint32		sno_wait_event[SNO_WAIT_EVENTS];

static const char *const wait_names[SNO_WAIT_EVENTS] = {
	[SNO_WAITS_FOR_PARTITION] = "SnoPartition",
	[SNO_WAITS_FOR_GENERATOR] = "SnoGenerator",
	[SNO_WAITS_FOR_FEED] = "SnoFeed",
	[SNO_WAITS_AS_NOTIFIER] = "SnoNotifier",
	[SNO_WAITS_AS_CLIENT] = "SnoRegistry"
};

/* Allocate the journal and the slots in a new area, and return their address. */
dsa_pointer
sno_activity_create(dsa_area *area, int tranche)
{
	dsa_pointer place = dsa_allocate0(area, add_size(JOURNAL_SIZE,
													 mul_size(ProcGlobal->allProcCount,
															  sizeof(SnoActivity))));
	SnoJournal *journal;

	journal = dsa_get_address(area, place);
	LWLockInitialize(&journal->lock, tranche);
	journal->registry.range_last = -1;
	return place;
}

void
sno_activity_attach(void *address)
{
	sno_journal = address;
	slots = (SnoActivity *) ((char *) address + JOURNAL_SIZE);
	sno_my_activity = &slots[MyProcNumber];
	for (int i = 0; i < SNO_WAIT_EVENTS; i++)
		sno_wait_event[i] = sno_new_wait_event(wait_names[i]);
}

/* Return the slots of all processes, and their number in *count.  A slot whose pid is 0 is free. */
SnoActivity *
sno_activity_slots(int *count)
{
	*count = ProcGlobal->allProcCount;
	return slots;
}

/* Take the slot of this process for this session, unless the session has taken it already. */
void
sno_activity_begin(void)
{
	SnoActivity *a = sno_my_activity;

	if (a->pid == MyProcPid)
		return;
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	/* Keep has_feed, which parallel workers may read at any time. */
	memset(&a->pid, 0, sizeof(SnoActivity) - offsetof(SnoActivity, pid));
	a->database = MyDatabaseId;
	a->wait_partition = -1;
	a->pid = MyProcPid;
	LWLockRelease(&sno_journal->lock);
}

void
sno_activity_end(void)
{
	sno_my_activity->pid = 0;
}

/*
 * Record that this session waits for a named generator, or, if `generator` is NULL, for any
 * partition that can issue.  `partition` is the partition of the named generator.  It is -1 if
 * the generator has no partition, or if its partition isn't known.
 */
void
sno_activity_wait(const char *generator, int partition)
{
	SnoActivity *a = sno_my_activity;

	if (generator == NULL)
		generator = "";
	if (strcmp(a->generator, generator) != 0 || a->wait_partition != partition)
	{
		LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
		strlcpy(a->generator, generator, NAMEDATALEN);
		a->wait_partition = partition;
		LWLockRelease(&sno_journal->lock);
	}
	pg_atomic_write_u32(&a->waited, 1);
}

/*
 * Did the session of a slot have to wait since the last call for this slot?  Sets *database,
 * *generator and *partition from the slot.  *generator is "" if the session waited for any
 * partition that can issue.
 */
bool
sno_activity_take_wait(SnoActivity *a, Oid *database, char *generator, int *partition)
{
	bool		waited;

	/* While the lock is held, no other session takes the slot. */
	LWLockAcquire(&sno_journal->lock, LW_SHARED);
	waited = pg_atomic_exchange_u32(&a->waited, 0) != 0;
	*database = a->database;
	strlcpy(generator, a->generator, NAMEDATALEN);
	*partition = a->wait_partition;
	LWLockRelease(&sno_journal->lock);
	return waited;
}

/* Initialize the counters of a generator.  `sequence` is the next sequence of its state word. */
void
sno_counters_init(SnoCounters *c, uint32 sequence)
{
	memset(c, 0, sizeof(SnoCounters));
	pg_atomic_init_u64(&c->base, (uint64) -(int64) sequence);
}

/*
 * Keep the number of issued ids unchanged when the next sequence of the state word changes from
 * `from` to `to`, because the state word enters another unit or is replaced.
 */
void
sno_counters_go_on(SnoCounters *c, uint32 from, uint32 to)
{
	pg_atomic_fetch_add_u64(&c->base, (int64) from - to);
}

void
sno_counters_exhausted(SnoCounters *c)
{
	pg_atomic_fetch_add_u64(&c->exhausted, 1);
}

/* Count a call that begins to wait. */
void
sno_counters_wait(SnoCounters *c)
{
	pg_atomic_fetch_add_u64(&c->waits, 1);
}

/* Record that a call has waited for `usec` so far. */
void
sno_counters_waited(SnoCounters *c, int64 usec)
{
	uint64		longest = pg_atomic_read_u64(&c->longest_wait);

	while ((uint64) usec > longest &&
		   !pg_atomic_compare_exchange_u64(&c->longest_wait, &longest, usec))
		 /* The failed exchange has updated `longest`. */ ;
}

/* Return the counts since the last reset.  `sequence` is the next sequence of the state word. */
SnoCounts
sno_counters_read(const SnoCounters *counters, uint32 sequence)
{
	SnoCounters *c = unconstify(SnoCounters *, counters);
	int64		issued = pg_atomic_read_u64(&c->base) + sequence - c->reset.issued;

	return (SnoCounts) {
		.issued = Max(issued, 0),
		.exhausted = pg_atomic_read_u64(&c->exhausted) - c->reset.exhausted,
		.waits = pg_atomic_read_u64(&c->waits) - c->reset.waits,
		.longest_wait = pg_atomic_read_u64(&c->longest_wait)
	};
}

/* Reset the counters.  The caller holds the journal's lock. */
void
sno_counters_reset(SnoCounters *c, uint32 sequence)
{
	SnoCounts	counts = sno_counters_read(c, sequence);

	c->reset.issued += counts.issued;
	c->reset.exhausted += counts.exhausted;
	c->reset.waits += counts.waits;
	pg_atomic_write_u64(&c->longest_wait, 0);
}

/*
 * Is it time to log a condition that was last logged at *logged_at?  If so, *logged_at is set to
 * the present time.  If *logged_at is in the future, the clock was set back, and the condition is
 * logged.  The caller holds the journal's lock.
 */
bool
sno_journal_is_due(TimestampTz *logged_at)
{
	TimestampTz now = GetCurrentTimestamp();

	if (now >= *logged_at && now - *logged_at < LOG_AGAIN_USEC)
		return false;
	*logged_at = now;
	return true;
}

/* Record a step of the wall clock by `usec`. */
void
sno_journal_clock_step(int64 usec)
{
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	sno_journal->clock_steps++;
	sno_journal->clock_step_usec = usec;
	sno_journal->clock_stepped_at = GetCurrentTimestamp();
	LWLockRelease(&sno_journal->lock);
}

/*
 * Copy an error message, as far as there is room.  Databases of any encoding show the message, so
 * all bytes that aren't printable ASCII are replaced.
 */
static void
note_message(char *place, size_t size, const char *message)
{
	size_t		length = 0;

	for (; *message != '\0' && length < size - 1; message++)
		place[length++] = *message == '\n' || *message == '\t' ? ' ' :
			*message < ' ' || *message > '~' ? '?' : *message;
	place[length] = '\0';
}

/*
 * Record a failure to renew a lease before it is over.  `of` names the partition or generator of
 * the lease.
 */
void
sno_journal_failure(const char *of, const char *message)
{
	char	   *failure = psprintf("%s: %s", of, message);

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	sno_journal->failures++;
	sno_journal->failed_at = GetCurrentTimestamp();
	sno_journal->failure_database = MyDatabaseId;
	note_message(sno_journal->failure, sizeof(sno_journal->failure), failure);
	LWLockRelease(&sno_journal->lock);
}

/*
 * Record a failure to get grants from the registry.  Returns true if the failure is to be logged:
 * when it differs from the last one, and then once a minute while it lasts.
 */
bool
sno_journal_registry_failure(const char *message)
{
	SnoRegistryNews *news = &sno_journal->registry;
	char		noted[sizeof(news->failure)];
	bool		due;

	note_message(noted, sizeof(noted), message);
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	if (strcmp(news->failure, noted) != 0)
		news->logged_at = 0;
	due = sno_journal_is_due(&news->logged_at);
	news->failed_at = GetCurrentTimestamp();
	strlcpy(news->failure, noted, sizeof(news->failure));
	LWLockRelease(&sno_journal->lock);
	return due;
}
