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

/* A counter of which a watermark was asked for.  It stays in the list. */
typedef struct SnoFeedCounter
{
	dsa_pointer next;
	SnoSubject	subject;
	pg_atomic_uint64 noted_at;	/* monotonic µs of the last note of a transaction */
	SnoNumbers	numbers;
} SnoFeedCounter;

/* The issuers of a process */
typedef struct SnoFeedIssuers
{
	SnoIssuer	told[SNO_TOLDS];
	SnoAtomic	tick_unit;		/* of the clock at the time of its tick */
} SnoFeedIssuers;

typedef struct SnoFeed
{
	SnoPromise	promise;
	SnoAtomic	ticks;			/* of the logical clock, see core/numbers.h */
	pg_atomic_uint64 moved_at;	/* monotonic µs, see sno_feed_move_on() */
	char		pad[PG_CACHE_LINE_SIZE - sizeof(SnoPromise) - sizeof(uint64) - sizeof(pg_atomic_uint64)];

	LWLock		lock;			/* protects the next two */
	SnoPreparedList prepared;
	dsa_pointer counters;

	SnoTurn		writing;		/* to read or write the row; protects file */
	pg_atomic_uint64 covered;	/* no watermark is above this unit, which is on disk */
	RelFileNumber file;			/* of the table that the row was written to */
	pg_atomic_uint32 past_known;	/* see sno_feed_recall() */

	/* Of the space, when a session attached last; the life is set last. */
	uint32		former;
	pg_atomic_uint32 life;

	SnoFeedIssuers issuers[FLEXIBLE_ARRAY_MEMBER];	/* by the number of the process */
} SnoFeed;

/* The feed of this session's database, and the issuers of this process or its leader */
extern SnoFeed *sno_feed;
extern SnoFeedIssuers *sno_feed_issuers;

extern SnoFeedCounter *sno_feed_find_counter(const SnoSubject *counter);
extern SnoFeedCounter *sno_feed_have_counter(const SnoSubject *counter);

#endif							/* SNO_FEED_MEMORY_H */
