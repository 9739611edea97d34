/*
 * asker.c
 *		The grants of a registry to a database, and the requests for them.
 */
#include "core/asker.h"

/*
 * Prepare a request.  `holder` and `next` are random and not 0; each is used if the asker
 * has none.  Returns true if the asker changed; the asker must then be on disk before the
 * request is sent.
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
 * Take the answer to the request, with the blocks that it grants.  The asker must be on disk
 * before its grants come into force.
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

/* Do the blocks have numbers up to `last`, units of the epoch, and no overlaps? */
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
