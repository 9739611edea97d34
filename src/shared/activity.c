/*
 * activity.c
 *		What the server's generators are doing, for those who look.
 *
 * Beside the partitions, in the same area of shared memory, are the journal and
 * a slot for each process that the server can have, indexed by the number of its
 * PGPROC.  What a session notes in its slot, it alone writes, by atomic
 * stores; those who look read without any lock, or hold the journal's, which a
 * session takes only when it begins.  So neither waits for the other.
 *
 * Ids aren't counted one by one.  The word of a generator counts them within a
 * unit; `base` is changed, at the first id of the next unit, so that the ids
 * issued so far always are base + the word's next sequence.  Who reads the word
 * before that change and base after it, or the other way round, is wrong by the
 * ids of a unit, and right again when he looks the next time.
 *
 * Counters may as well be shared by sessions, as those of a named generator are,
 * which pool.c keeps and lists: they are changed by atomic additions.
 *
 * They are reset by noting what they are: whoever resets writes that beside
 * them, under the journal's lock, and readers subtract it.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/proc.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "shared/activity.h"

#define JOURNAL_SIZE	TYPEALIGN(PG_CACHE_LINE_SIZE, sizeof(SnoJournal))

SnoJournal *sno_journal;

/* The slot of this process. */
SnoActivity *sno_my_activity;

static SnoActivity *slots;

/* Make journal and slots, in an area that is new. */
dsa_pointer
sno_activity_create(dsa_area *area, int tranche)
{
	dsa_pointer place = dsa_allocate0(area, add_size(JOURNAL_SIZE,
													 mul_size(ProcGlobal->allProcCount,
															  sizeof(SnoActivity))));

	LWLockInitialize(&((SnoJournal *) dsa_get_address(area, place))->lock, tranche);
	return place;
}

void
sno_activity_attach(void *address)
{
	sno_journal = address;
	slots = (SnoActivity *) ((char *) address + JOURNAL_SIZE);
	sno_my_activity = &slots[MyProcNumber];
}

/* The slots of all processes; those without a pid are free. */
SnoActivity *
sno_activity_slots(int *count)
{
	*count = ProcGlobal->allProcCount;
	return slots;
}

/* This session begins to generate, if it hasn't yet. */
void
sno_activity_begin(void)
{
	SnoActivity *a = sno_my_activity;

	if (a->pid == MyProcPid)
		return;
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	memset(a, 0, sizeof(SnoActivity));
	a->database = MyDatabaseId;
	a->partition = SNO_NAMED_ONLY;
	a->wait_partition = -1;
	pg_write_barrier();
	a->pid = MyProcPid;
	LWLockRelease(&sno_journal->lock);
}

void
sno_activity_end(void)
{
	sno_my_activity->pid = 0;
}

/*
 * This session waits for a named generator, whose partition is -1 if it isn't
 * known yet, or its own one: NULL, and -1.
 */
void
sno_activity_wait(const char *generator, int partition)
{
	SnoActivity *a = sno_my_activity;

	if (generator == NULL)
		generator = "";
	if (strcmp(a->generator, generator) != 0 || a->wait_partition != partition)
	{
		a->version++;
		pg_write_barrier();
		strlcpy(a->generator, generator, NAMEDATALEN);
		a->wait_partition = partition;
		pg_write_barrier();
		a->version++;
	}
	__atomic_store_n(&a->waited, 1, __ATOMIC_RELEASE);
}

/*
 * Has a session had to wait since this was asked last? If so, of which database,
 * and for which generator, as above but with "" for its own.  One that is
 * beginning to wait for another one hasn't.
 */
bool
sno_activity_take_wait(SnoActivity *a, Oid *database, char *generator, int *partition)
{
	uint32		version;
	bool		waited;

	/* Until this is released, no other session takes the slot. */
	LWLockAcquire(&sno_journal->lock, LW_SHARED);
	waited = __atomic_exchange_n(&a->waited, 0, __ATOMIC_ACQUIRE) != 0;
	version = __atomic_load_n(&a->version, __ATOMIC_ACQUIRE);
	*database = a->database;
	strlcpy(generator, a->generator, NAMEDATALEN);
	*partition = a->wait_partition;
	pg_read_barrier();
	waited = waited && version % 2 == 0 &&
		version == __atomic_load_n(&a->version, __ATOMIC_RELAXED);
	LWLockRelease(&sno_journal->lock);
	return waited;
}

/*
 * The next sequence of the word that counts ids goes on at `to`, after `from`,
 * without that ids were issued: in another unit, or another partition.
 */
void
sno_counters_go_on(SnoCounters *c, uint32 from, uint32 to)
{
	__atomic_fetch_add(&c->base, (int64) from - to, __ATOMIC_RELAXED);
}

void
sno_counters_exhausted(SnoCounters *c)
{
	__atomic_fetch_add(&c->exhausted, 1, __ATOMIC_RELAXED);
}

/* A call begins to wait. */
void
sno_counters_wait(SnoCounters *c)
{
	__atomic_fetch_add(&c->waits, 1, __ATOMIC_RELAXED);
}

/* A call has waited so long by now. */
void
sno_counters_waited(SnoCounters *c, int64 usec)
{
	int64		longest = __atomic_load_n(&c->longest_wait, __ATOMIC_RELAXED);

	while (usec > longest &&
		   !__atomic_compare_exchange_n(&c->longest_wait, &longest, usec, true,
										__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		 /* longest is what it is now */ ;
}

/*
 * The counters since they were reset, with the ids issued in base; `sequence`
 * is the word's.  `reset` is NULL to have them since ever.
 */
SnoCounters
sno_counters_read(const SnoCounters *c, uint32 sequence, const SnoCounters *reset)
{
	static const SnoCounters never = {0};
	SnoCounters now;

	if (reset == NULL)
		reset = &never;
	now.base = __atomic_load_n(&c->base, __ATOMIC_RELAXED) + sequence - reset->base;
	now.exhausted = __atomic_load_n(&c->exhausted, __ATOMIC_RELAXED) - reset->exhausted;
	now.waits = __atomic_load_n(&c->waits, __ATOMIC_RELAXED) - reset->waits;
	now.longest_wait = __atomic_load_n(&c->longest_wait, __ATOMIC_RELAXED);
	now.base = Max(now.base, 0);
	return now;
}

/* Begin to count anew; the journal's lock is held. */
void
sno_counters_reset(SnoCounters *c, uint32 sequence, SnoCounters *reset)
{
	*reset = sno_counters_read(c, sequence, NULL);
	__atomic_store_n(&c->longest_wait, 0, __ATOMIC_RELAXED);
}

/* The wall clock was stepped by so many microseconds. */
void
sno_journal_clock_step(int64 usec)
{
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	sno_journal->clock_steps++;
	sno_journal->clock_step_usec = usec;
	sno_journal->clock_stepped_at = GetCurrentTimestamp();
	LWLockRelease(&sno_journal->lock);
}

/* A partition's lease could not be renewed early. */
void
sno_journal_failure(int partition, const char *message)
{
	int			length = pg_mbcliplen(message, strlen(message),
									  sizeof(sno_journal->failure) - 1);

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	sno_journal->failures++;
	sno_journal->failed_at = GetCurrentTimestamp();
	sno_journal->failure_database = MyDatabaseId;
	sno_journal->failure_partition = partition;
	memcpy(sno_journal->failure, message, length);
	sno_journal->failure[length] = '\0';
	LWLockRelease(&sno_journal->lock);
}

/* A notifier could not be started; true for the first time. */
bool
sno_journal_refusal(void)
{
	bool		first;

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	first = sno_journal->refusals++ == 0;
	sno_journal->refused_at = GetCurrentTimestamp();
	LWLockRelease(&sno_journal->lock);
	return first;
}
