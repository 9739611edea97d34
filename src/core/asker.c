/*
 * asker.c
 *		What a registry grants to a database, and how the database asks for it.
 */
#include "core/asker.h"

/*
 * Before each request.  `holder` and `next` are random and not 0; they are used if the
 * asker has none.  True if the asker changed: it must be on disk before the request is
 * sent.
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
 * The answer to the request.  `blocks` are those that it grants.  The asker must be on
 * disk before what is granted comes into force.
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
			/* If another holder than that of before gets none, the old ones last. */
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

/* Can a registry have granted these: real numbers up to `last`, real units, nothing twice? */
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
