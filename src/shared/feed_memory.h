/*
 * feed_memory.h
 *		The feed of a database in shared memory.  Only feed.c and feed_memory.c use this.
 */
#ifndef SNO_FEED_MEMORY_H
#define SNO_FEED_MEMORY_H

#include "postgres.h"

#include "compat.h"
#include "core/issuer.h"
#include "core/numbers.h"
#include "shared/prepared.h"
#include "shared/turn.h"
#include "shared/wake.h"

/*
 * The feed's data about a counter of which a watermark was computed.  The feed keeps the data
 * until the space begins another life.
 */
typedef struct SnoFeedCounter
{
	dsa_pointer next;
	SnoSubject	subject;
	pg_atomic_uint64 noted_at;	/* when a transaction last made a note, monotonic µs */
	SnoNumbers	numbers;
} SnoFeedCounter;

/* The issuers of a process, and of its parallel workers */
typedef struct SnoFeedIssuers
{
	SnoIssuer	told[SNO_TOLDS];
	SnoAtomic	tick_unit;		/* the clock's unit when the process announced its tick */
} SnoFeedIssuers;

typedef struct SnoFeed
{
	SnoPromise	promise;
	SnoAtomic	ticks;			/* the last tick of the logical clock, see core/numbers.h */
	pg_atomic_uint64 moved_at;	/* when the promise was last moved on, monotonic µs; see
								 * sno_feed_move_on() */
	char		pad[PG_CACHE_LINE_SIZE - sizeof(SnoPromise) - sizeof(uint64) - sizeof(pg_atomic_uint64)];

	LWLock		lock;			/* protects the next two fields; held to set past_known */
	SnoPreparedList prepared;
	dsa_pointer counters;

	SnoTurn		writing;		/* held to write or reset the row; protects `file` */
	pg_atomic_uint64 covered;	/* unit of the row on disk; no watermark is above it */
	RelFileNumber file;			/* file of sno_lease to which the row was written */
	pg_atomic_uint32 past_known;	/* 1 after the unit of the row was promised; see
									 * sno_feed_recall() */

	ConditionVariable channels[SNO_WAKE_CHANNELS];	/* see wake.c */

	/*
	 * Copies of the space's fields of the same names, made when the feed was last adapted to the
	 * space.  `life` is set last.
	 */
	uint32		former;
	pg_atomic_uint32 life;

	SnoFeedIssuers issuers[FLEXIBLE_ARRAY_MEMBER];	/* indexed by the number of the process */
} SnoFeed;

/* The feed of this session's database, and the issuers of this process or its leader */
extern SnoFeed *sno_feed;
extern SnoFeedIssuers *sno_feed_issuers;

extern SnoFeedCounter *sno_feed_find_counter(const SnoSubject *counter);
extern SnoFeedCounter *sno_feed_have_counter(const SnoSubject *counter);

#endif							/* SNO_FEED_MEMORY_H */
