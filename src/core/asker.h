/*
 * asker.h
 *		The grants of a registry to a database, and the requests for them.
 *
 * Servers that share a registry (sno_registry) never issue the same id, because each
 * database issues ids only under its grants.  A grant is a block of partitions, or of nodes
 * of a layout, with an interval of units.  It doesn't belong to the data, but to a place, which
 * is the folder in which a server runs.  So a copy of the data has no grants.
 *
 * An asker is the state of a database's grants and requests.  A database at a place has one
 * asker for partitions, and one for each layout, and keeps them in a file.  The functions
 * here only decide the content of a request and the meaning of an answer.
 *
 * The registry identifies the asker by a holder and a token, which are random numbers.  Each
 * request has the token of the last answer and the next token.  If the registry has stored the
 * token of the last answer, it stores the next token instead.
 *
 *	- If two askers go on from copies of the same state, at most one of them gets grants.  The
 *	  other asker gets the answer that it was superseded, and drops its grants.
 *	- The asker writes the next token to disk before it sends the token, and sends the same
 *	  token again until it gets an answer.  So if an answer is lost, the repeated request
 *	  gets the same answer.
 *	- If the registry has forgotten the holder, or may have lost some of the holder's records,
 *	  the registry says so in its answer.  The asker then sends a request as a new holder.  Until
 *	  the new holder gets blocks, the asker keeps the old blocks.  Nobody else can have them,
 *	  because the registry doesn't grant them to another holder for the same units.
 *	- A request can also ask only for the range of partitions or nodes from which the registry
 *	  grants blocks.  Such a request changes neither the asker nor the registry.
 */
#ifndef SNO_ASKER_H
#define SNO_ASKER_H

#include <stddef.h>

#include "id.h"

/* The maximum number of blocks of an asker.  The models of test/model define a lower one. */
#ifndef SNO_GRANTS
#define SNO_GRANTS			64
#endif

/*
 * The right to issue ids in the partitions or nodes from `first` to `last`, and in the units
 * above the floor, up to the ceiling
 */
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

/* Can an id of this unit be issued under the grant? */
static inline bool
sno_grant_covers(const SnoGrant *g, uint64_t unit)
{
	return unit > g->floor && unit <= g->ceiling;
}

/* The grants in force in a database, for partitions or for one layout */
typedef struct SnoGrants
{
	uint64_t	holder;			/* 0 if there is none; changes when all grants are revoked */
	int32_t		count;
	SnoGrant	grant[SNO_GRANTS];
} SnoGrants;

typedef struct SnoAsker
{
	uint64_t	holder;			/* 0 before the first request */
	uint64_t	token;			/* of the last answer, 0 if there was none */
	uint64_t	next;			/* of a request without an answer yet, or 0 */
	SnoGrants	granted;		/* to this holder, or to the former one */
} SnoAsker;

typedef enum SnoAnswer
{
	SNO_ANSWER_GRANTED,
	SNO_ANSWER_FULL,			/* fewer blocks than wanted, maybe none */
	SNO_ANSWER_FORGOTTEN,
	SNO_ANSWER_SUPERSEDED,
	SNO_ANSWER_RANGE			/* only the range from which the registry grants */
} SnoAnswer;

/* Return the grant that contains a partition or node, or NULL if there is none. */
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
