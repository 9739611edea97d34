/*
 * activity.c
 *		The activity of the server's generators, for functions that show it.
 *
 * The journal, and a slot for each process that the server can have, are in shared memory beside the
 * spaces.  Only its session writes a slot.  The session holds the journal's lock while it writes the
 * generator that it waits for.  Others read slots without any lock, or hold the journal's lock.  A
 * session takes that lock only when something rare happens: when it begins, when it begins to wait for
 * another generator, or when it notes something in the journal.
 *
 * Ids aren't counted one by one.  The state word of a generator counts them within a unit.
 * `base` is changed at the first id of the next unit, so that the ids issued so far are
 * always base + the word's next sequence.  A reader of one of the two before that change,
 * and of the other one after it, gets a sum that is wrong by the ids of a unit.  The next
 * sum is right again.
 *
 * Sessions share the counters of a generator, so they change them by atomic
 * additions.  A reset writes the present values beside the counters, under the journal's
 * lock.  Readers subtract these values.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "shared/activity.h"

#define JOURNAL_SIZE	TYPEALIGN(PG_CACHE_LINE_SIZE, sizeof(SnoJournal))

/* How often a condition that lasts is logged */
#define LOG_AGAIN_USEC	(60 * USECS_PER_SEC)

SnoJournal *sno_journal;

/* The slot of this process. */
SnoActivity *sno_my_activity;

static SnoActivity *slots;

/* Set before the first wait, because an error must not end a wait. */
uint32		sno_wait_event[SNO_WAIT_EVENTS];

static const char *const wait_names[SNO_WAIT_EVENTS] = {
	[SNO_WAITS_FOR_PARTITION] = "SnoPartition",
	[SNO_WAITS_FOR_GENERATOR] = "SnoGenerator",
	[SNO_WAITS_FOR_FEED] = "SnoFeed",
	[SNO_WAITS_AS_NOTIFIER] = "SnoNotifier",
	[SNO_WAITS_AS_CLIENT] = "SnoRegistry"
};

/* Make journal and slots, in an area that is new. */
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

/* The slots of all processes; those without a pid are free. */
SnoActivity *
sno_activity_slots(int *count)
{
	*count = ProcGlobal->allProcCount;
	return slots;
}

/* Note that this session generates, unless that was noted before. */
void
sno_activity_begin(void)
{
	SnoActivity *a = sno_my_activity;

	if (a->pid == MyProcPid)
		return;
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	/* Workers may look at the fields before this. */
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
 * Note that this session waits for a named generator, or for its own partitions (NULL, -1).
 * `partition` is -1 also if the partition is unknown, or if the generator has none.
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
 * Has a session had to wait since the last call?  If so, return its database, and the generator
 * that it waited for: "" for partitions of the session.
 */
bool
sno_activity_take_wait(SnoActivity *a, Oid *database, char *generator, int *partition)
{
	bool		waited;

	/* Until the lock is released, no other session takes the slot. */
	LWLockAcquire(&sno_journal->lock, LW_SHARED);
	waited = pg_atomic_exchange_u32(&a->waited, 0) != 0;
	*database = a->database;
	strlcpy(generator, a->generator, NAMEDATALEN);
	*partition = a->wait_partition;
	LWLockRelease(&sno_journal->lock);
	return waited;
}

/* Initialize counters, for a state word that has this next sequence. */
void
sno_counters_init(SnoCounters *c, uint32 sequence)
{
	memset(c, 0, sizeof(SnoCounters));
	pg_atomic_init_u64(&c->base, (uint64) -(int64) sequence);
}

/*
 * Keep the sum when the next sequence of the state word changes from `from` to `to`, in
 * another unit or partition.
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

/* A call begins to wait. */
void
sno_counters_wait(SnoCounters *c)
{
	pg_atomic_fetch_add_u64(&c->waits, 1);
}

/* Note that a call has waited `usec` by now. */
void
sno_counters_waited(SnoCounters *c, int64 usec)
{
	uint64		longest = pg_atomic_read_u64(&c->longest_wait);

	while ((uint64) usec > longest &&
		   !pg_atomic_compare_exchange_u64(&c->longest_wait, &longest, usec))
		 /* longest is the present value */ ;
}

/* The counts since the reset.  `sequence` is the state word's next one. */
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

/* Reset counters; the journal's lock is held. */
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
 * Is it time to log a condition again that was logged at *logged_at?  If so, set *logged_at to now.
 * It is also time if the clock was set back.  The journal's lock is held.
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

/* Note that the wall clock was stepped by `usec`. */
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
 * Note as much of an error's message as there is room for.  The message is shown in
 * databases of any encoding, so it becomes printable ASCII.
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

/* Note that a lease could not be renewed early; `of` is its subject. */
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
 * Note a failure of a request to the registry, or of the registry.  Returns whether to log
 * the failure: when it is new, and then once in a while as long as it lasts.
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
	strlcpy(news->failure, noted, sizeof(noted));
	LWLockRelease(&sno_journal->lock);
	return due;
}
