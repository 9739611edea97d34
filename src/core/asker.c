/*
 * asker.c
 *		The grants of a registry to a database, and the requests for them.
 */
#include "core/asker.h"

/*
 * Prepare a request.  `holder` and `next` are random numbers other than 0.  The asker takes
 * `holder` if it has no holder, and `next` if it has no next token.  Returns true if the asker
 * changed.  If so, the caller must write the asker to disk before it sends the request.
 */
bool
sno_asker_prepare(SnoAsker *a, uint64_t holder, uint64_t next)
{
	if (a->next != 0)
		return false;
	if (a->holder == 0)
		a->holder = holder;
	a->next = next;
	return true;
}

/*
 * Update the asker with the answer to its request, which grants `blocks`.  The caller must
 * write the asker to disk before the grants come into force.
 */
void
sno_asker_take(SnoAsker *a, SnoAnswer answer, const SnoGrants *blocks)
{
	switch (answer)
	{
		case SNO_ANSWER_GRANTED:
		case SNO_ANSWER_FULL:
			a->token = a->next;
			a->next = 0;
			/* A new holder that gets no blocks keeps the former holder's blocks. */
			if (blocks->count > 0)
			{
				a->granted = *blocks;
				a->granted.holder = a->holder;
			}
			break;
		case SNO_ANSWER_FORGOTTEN:
			a->holder = a->token = a->next = 0;
			break;
		case SNO_ANSWER_SUPERSEDED:
			*a = (SnoAsker) {0};
			break;
		case SNO_ANSWER_RANGE:
			break;
	}
}

/*
 * Are the blocks valid?  Their numbers must be from 0 to `last`, and their units at most
 * SNO_UNIT_MAX.  No two blocks may overlap.
 */
bool
sno_grants_are_valid(const SnoGrants *blocks, int64_t last)
{
	for (int i = 0; i < blocks->count; i++)
	{
		const SnoGrant *g = &blocks->grant[i];

		if (g->first < 0 || g->first > g->last || g->last > last ||
			g->floor > SNO_UNIT_MAX || g->ceiling > SNO_UNIT_MAX)
			return false;
		for (int j = 0; j < i; j++)
			if (g->first <= blocks->grant[j].last && blocks->grant[j].first <= g->last)
				return false;
	}
	return true;
}
