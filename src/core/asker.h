/*
 * asker.h
 *		What a registry grants to a database, and how the database asks for it.
 *
 * Servers that share a registry (sno_registry) never issue the same id, because each
 * database issues only what was granted to it: some blocks of partitions, or of nodes of
 * a layout, and in each an interval of the ids' time.  A grant belongs to a place, the
 * folder in which one server runs, and not to data.  So a copy of the data has no grants.
 *
 * The asker is what a database at a place keeps of this, in a file: one for partitions,
 * one for each layout.  This is its pure part: it decides what a request says and what an
 * answer means.
 *
 * The registry knows the asker by a holder and a token, both random.  Each request
 * names the token of the last answer and the next one.  The registry exchanges them,
 * if it has the first one:
 *
 *	- Of two that go on from the same state, one at most gets an answer.  The other
 *	  one is told that it was superseded, and keeps nothing.
 *	- The next token is on disk before it is sent, and is sent until it is answered.  So
 *	  a request that is repeated, because the answer was lost, gets the same answer.
 *	- A registry that forgot the holder, or that can't know whether it lost something of
 *	  it, says so.  The asker then asks as another holder.  Until that gets its
 *	  blocks, the old ones last: the registry closes what it may have granted.
 *	- A request may just want to know what the registry may grant.  Then nothing changes,
 *	  here or there.
 */
#ifndef SNO_ASKER_H
#define SNO_ASKER_H

#include <stddef.h>

#include "id.h"

/* Blocks of one asker, at most.  Models have fewer. */
#ifndef SNO_GRANTS
#define SNO_GRANTS			64
#endif

/* In these partitions or nodes, ids may be issued of units after the floor, up to the ceiling. */
typedef struct SnoGrant
{
	uint64_t	floor;			/* unit */
	uint64_t	ceiling;		/* unit */
	int64_t		first;			/* partition or node */
	int64_t		last;
} SnoGrant;

static inline bool
sno_grant_has(const SnoGrant *g, int64_t number)
{
	return number >= g->first && number <= g->last;
}

/* May an id of this unit be issued under the grant? */
static inline bool
sno_grant_covers(const SnoGrant *g, uint64_t unit)
{
	return unit > g->floor && unit <= g->ceiling;
}

/* What is in force in a database, of partitions or of one layout. */
typedef struct SnoGrants
{
	uint64_t	holder;			/* 0 if there is none; it changes when all is revoked */
	int32_t		count;
	SnoGrant	grant[SNO_GRANTS];
} SnoGrants;

typedef struct SnoAsker
{
	uint64_t	holder;			/* 0 before the first request */
	uint64_t	token;			/* of the last answer, 0 if there was none */
	uint64_t	next;			/* of the request that isn't answered, else 0 */
	SnoGrants	granted;		/* to this holder, or to the one before */
} SnoAsker;

typedef enum SnoAnswer
{
	SNO_ANSWER_GRANTED,
	SNO_ANSWER_FULL,			/* fewer blocks than wanted, maybe none */
	SNO_ANSWER_FORGOTTEN,
	SNO_ANSWER_SUPERSEDED,
	SNO_ANSWER_RANGE			/* what the registry may grant, and no more */
} SnoAnswer;

/* The grant that a partition or node is in, NULL if there is none. */
static inline const SnoGrant *
sno_grants_find(const SnoGrants *grants, int64_t number)
{
	for (int i = 0; i < grants->count; i++)
		if (sno_grant_has(&grants->grant[i], number))
			return &grants->grant[i];
	return NULL;
}

extern bool sno_asker_prepare(SnoAsker *a, uint64_t holder, uint64_t next);
extern void sno_asker_take(SnoAsker *a, SnoAnswer answer, const SnoGrants *blocks);
extern bool sno_grants_are_valid(const SnoGrants *blocks, int64_t last);

#endif							/* SNO_ASKER_H */
