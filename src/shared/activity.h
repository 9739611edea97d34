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

/* The counts of a generator since its counters were last reset */
typedef struct SnoCounts
{
	int64		issued;			/* ids */
	int64		exhausted;		/* units whose sequence was exhausted */
	int64		waits;			/* calls that had to wait */
	int64		longest_wait;	/* µs */
} SnoCounts;

/* The counters of a generator; activity.c describes them */
typedef struct SnoCounters
{
	pg_atomic_uint64 base;		/* number of issued ids, minus the next sequence of the state word */
	pg_atomic_uint64 exhausted;
	pg_atomic_uint64 waits;
	pg_atomic_uint64 longest_wait;
	SnoCounts	reset;			/* values at the last reset, which readers subtract */
} SnoCounters;

/* The slot in which the session of a process records its activity; see activity.c */
typedef struct SnoActivity
{
	pg_atomic_uint32 has_feed;	/* pid of the process, if it has attached to its database's
								 * feed; see feed_memory.c */

	int32		pid;			/* pid of the session that has taken the slot, or 0 */
	Oid			database;

	/*
	 * The generator that the session waited for last.  The journal's lock protects
	 * `wait_partition` and `generator`.
	 */
	pg_atomic_uint32 waited;	/* 1 if the session waited; monitor/overflow.c clears it */
	int32		wait_partition; /* partition of the named generator, or -1 */
	char		generator[NAMEDATALEN]; /* name of the named generator, or empty */
} SnoActivity;

/* The kinds of background workers of the extension */
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
	SNO_WAITS_AS_CLIENT,		/* the registry client */
	SNO_WAIT_EVENTS
} SnoWaitEvent;

typedef struct SnoWorker
{
	int32		pid;			/* 0 if the worker isn't running */
	int64		expected_until; /* no session starts the worker before this; monotonic µs */
	int32		resident;		/* number of the process that is reserved for the worker, plus
								 * 1; 0 if there is none */
	int64		refusals;		/* number of failures to start the worker */
	TimestampTz refused_at;
	TimestampTz logged_at;		/* when such a failure was last logged */
} SnoWorker;

/* The last results of the registry client */
typedef struct SnoRegistryNews
{
	TimestampTz answered_at;	/* 0 if the registry never answered */
	TimestampTz failed_at;		/* 0 if no request failed since the last answer */
	TimestampTz logged_at;		/* when a failure was last logged */
	bool		kept;			/* does the file on disk have all grants in force? */
	int64		clock_offset;	/* the registry's clock minus ours, in µs */
	int32		range_first;	/* first partition that the registry may grant */
	int32		range_last;		/* last partition that it may grant; -1 if the range isn't known */
	char		failure[256];	/* message of the last failure, in ASCII */
} SnoRegistryNews;

/* The journal: events of the whole server */
typedef struct SnoJournal
{
	LWLock		lock;			/* protects all other fields */

	int64		clock_steps;
	int64		clock_step_usec;	/* size of the last step */
	TimestampTz clock_stepped_at;	/* time of the last step, by the clock after the step */

	int64		failures;		/* number of failures to renew a lease early */
	TimestampTz failed_at;
	Oid			failure_database;
	char		failure[256];	/* the last failure: partition or generator, and error, in ASCII */

	SnoWorker	workers[2];		/* indexed by SnoWorkerKind */
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
