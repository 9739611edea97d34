/*
 * state.h
 *		The pools of named generators: the state that all sessions share.
 */
#ifndef SNO_POOL_H
#define SNO_POOL_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "common/relpath.h"
#include "port/atomics.h"
#include "utils/dsa.h"
#include "utils/rel.h"

#include "compat.h"
#include "core/generator.h"
#include "lease/definition.h"
#include "shared/activity.h"

/* pool.c says what protects each field. */
typedef struct SnoPool
{
	/* The cache line that all callers use. */
	SnoGenerator shared;		/* its word is shared while the pool is open */
	pg_atomic_uint32 tickets;	/* drawn by those who wait */
	pg_atomic_uint32 left;		/* tickets whose owners don't wait any more */
	char		pad[PG_CACHE_LINE_SIZE / 2 - sizeof(SnoGenerator) - 8];

	uint64		word;			/* the exact one, while it isn't shared */
	dsa_pointer next;			/* in the group */
	uint32		life;			/* of the space, in which the rest holds; or 0 */
	pg_atomic_uint32 users;		/* sessions that may issue */
	bool		made_here;		/* as its definition says */
	bool		known;			/* have rows been recalled? */
	bool		open;			/* see N1; a change of timeline may close the word */
	RelFileNumber file;			/* of sno_snapshot that has the row */
	RelFileNumber pending_file; /* of a renewal that is written but not published, */
	uint64		pending_ceiling;	/* 0 if none is */
	XLogRecPtr	pending_lsn;
	uint64		attention;		/* the unit in which to renew the lease */

	/* What it does, for sno_generators; see activity.c. */
	dsa_pointer listed;			/* the next in the journal's list of all */
	Oid			database;
	int32		partition;
	dsa_pointer group;
	char		name[NAMEDATALEN];	/* by which it was opened last, */
	uint64		opened;			/* and with which word */
	SnoCounters counters;
	SnoCounters reset;
} SnoPool;

StaticAssertDecl(offsetof(SnoPool, listed) == PG_CACHE_LINE_SIZE, "what issuing needs of a pool is not two cache lines");

/* What others may know of a pool that is open. */
typedef struct SnoPoolStatus
{
	char		name[NAMEDATALEN];
	Oid			database;
	int			partition;
	SnoGenerator generator;		/* a copy */
	SnoCounters counters;		/* with the ids issued in base */
} SnoPoolStatus;

/* What kept this session from issuing, or from a look. */
typedef enum SnoPoolObstacle
{
	SNO_POOL_USED_UP,
	SNO_POOL_BEHIND,
	SNO_POOL_GIVEN,				/* its partition went to ids of given times */
	SNO_POOL_BUSY,				/* somebody else is writing the row */
	SNO_POOL_TABLE_LOCKED,
	SNO_POOL_DEFINITIONS_LOCKED,
	SNO_POOL_HELD				/* by a session's anonymous generator */
} SnoPoolObstacle;

extern SnoPoolObstacle sno_pool_obstacle;
extern int	sno_pool_held_by;	/* its pid */

extern SnoPool *sno_pool_join(const SnoDefinition *d);
extern void sno_pool_leave(SnoPool *pool);
extern void sno_pool_close_unused(Relation rel, SnoPool *pool);
extern SnoStep sno_pool_issue(SnoPool *pool, uint64 word, uint64 now, uint64 *issued);
extern bool sno_pool_mend(Oid function, SnoPool *pool, const char *name);
extern void sno_pool_renew_early(Oid function, SnoPool *pool, uint64 now);
extern bool sno_pool_state(Oid function, const SnoDefinition *d, SnoGenerator *g);
extern bool sno_pool_restore(Oid function, const SnoDefinition *d,
							 const SnoGenerator *issued);
extern bool sno_pool_look(dsa_pointer *place, SnoPoolStatus *status);
extern void sno_pool_reset(void);

#endif							/* SNO_POOL_H */
