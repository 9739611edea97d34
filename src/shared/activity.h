/*
 * activity.h
 *		The activity of the server's generators, for functions that show it.
 */
#ifndef SNO_ACTIVITY_H
#define SNO_ACTIVITY_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "utils/dsa.h"

/* Counts of a generator since its counters were reset */
typedef struct SnoCounts
{
	int64		issued;			/* ids */
	int64		exhausted;		/* units whose sequence was exhausted */
	int64		waits;			/* calls that had to wait */
	int64		longest_wait;	/* µs */
} SnoCounts;

/* Its counters; see activity.c. */
typedef struct SnoCounters
{
	pg_atomic_uint64 base;		/* ids issued, less the sequence of the state word */
	pg_atomic_uint64 exhausted;
	pg_atomic_uint64 waits;
	pg_atomic_uint64 longest_wait;
	SnoCounts	reset;			/* the counts when they were reset */
} SnoCounters;

/* The activity of a session.  Only the session writes this, except for fields that say otherwise. */
typedef struct SnoActivity
{
	pg_atomic_uint32 has_feed;	/* the pid of a process that has attached to its
								 * database's feed, see feed_memory.c */

	int32		pid;			/* 0 if nobody generates here */
	Oid			database;

	/* The generator that the session waited for last; the journal's lock protects all but `waited`. */
	pg_atomic_uint32 waited;	/* set; cleared by monitor/overflow.c */
	int32		wait_partition; /* of a named generator, or -1 */
	char		generator[NAMEDATALEN]; /* its name, or empty */
} SnoActivity;

/* The extension's background workers. */
typedef enum SnoWorkerKind
{
	SNO_NOTIFIER,				/* monitor/overflow.c */
	SNO_REGISTRY_CLIENT			/* registry/client.c */
} SnoWorkerKind;

/* Wait events of our processes, as pg_stat_activity shows them */
typedef enum SnoWaitEvent
{
	SNO_WAITS_FOR_PARTITION,
	SNO_WAITS_FOR_GENERATOR,
	SNO_WAITS_FOR_FEED,
	SNO_WAITS_AS_NOTIFIER,
	SNO_WAITS_AS_CLIENT,		/* of the registry */
	SNO_WAIT_EVENTS
} SnoWaitEvent;

typedef struct SnoWorker
{
	int32		pid;			/* 0 unless it runs */
	int64		expected_until; /* no session asks for the worker before; monotonic µs */
	int32		resident;		/* number of the process reserved for it, plus 1; 0 if none */
	int64		refusals;		/* to start it */
	TimestampTz refused_at;
	TimestampTz logged_at;		/* when a refusal was logged last */
} SnoWorker;

/* The results of the registry client */
typedef struct SnoRegistryNews
{
	TimestampTz answered_at;	/* 0 if never */
	TimestampTz failed_at;		/* 0 if never since it answered */
	TimestampTz logged_at;		/* when a failure was logged last */
	bool		kept;			/* is all that is in force in the file? */
	int64		clock_offset;	/* µs: the registry's clock less ours */
	int32		range_first;	/* partitions that it grants */
	int32		range_last;		/* -1 if they aren't known */
	char		failure[256];	/* the message, in ASCII */
} SnoRegistryNews;

/* Events of all generators of the server */
typedef struct SnoJournal
{
	LWLock		lock;			/* protects the rest */

	int64		clock_steps;
	int64		clock_step_usec;	/* the last one */
	TimestampTz clock_stepped_at;	/* by the clock as it then was */

	int64		failures;		/* to renew a lease early */
	TimestampTz failed_at;
	Oid			failure_database;
	char		failure[256];	/* the subject of the lease, and the error, in ASCII */

	SnoWorker	workers[2];		/* by kind */
	SnoRegistryNews registry;
} SnoJournal;

extern SnoJournal *sno_journal;
extern SnoActivity *sno_my_activity;
extern uint32 sno_wait_event[SNO_WAIT_EVENTS];

extern dsa_pointer sno_activity_create(dsa_area *area, int tranche);
extern void sno_activity_attach(void *address);
extern SnoActivity *sno_activity_slots(int *count);
extern void sno_activity_begin(void);
extern void sno_activity_end(void);
extern void sno_activity_wait(const char *generator, int partition);
extern bool sno_activity_take_wait(SnoActivity *a, Oid *database, char *generator,
								   int *partition);

extern void sno_counters_init(SnoCounters *c, uint32 sequence);
extern void sno_counters_go_on(SnoCounters *c, uint32 from, uint32 to);
extern void sno_counters_exhausted(SnoCounters *c);
extern void sno_counters_wait(SnoCounters *c);
extern void sno_counters_waited(SnoCounters *c, int64 usec);
extern SnoCounts sno_counters_read(const SnoCounters *c, uint32 sequence);
extern void sno_counters_reset(SnoCounters *c, uint32 sequence);

extern bool sno_journal_is_due(TimestampTz *logged_at);
extern void sno_journal_clock_step(int64 usec);
extern void sno_journal_failure(const char *of, const char *message);
extern bool sno_journal_registry_failure(const char *message);

#endif							/* SNO_ACTIVITY_H */
