/*
 * use.h
 *		The named generators that a session uses.
 */
#ifndef SNO_USE_H
#define SNO_USE_H

#include "postgres.h"

#include "miscadmin.h"

#include "generate/wait.h"
#include "named/state.h"

/* A generator that this session uses, by name. */
typedef struct SnoUse
{
	char		name[NAMEDATALEN];
	char		kind;			/* of its definition */
	int			length;
	SnoDefinitions *in;			/* where it is defined */
	uint64		version;		/* of the definitions, when it was looked up */
	SnoDefinition definition;
	SnoNamedState *state;		/* NULL if it isn't joined yet */
	pg_atomic_uint64 *authority;	/* of its nodes, which may be used */
	uint64		granted;		/* while the authority is this number */
	Oid			user;			/* known to have the right; InvalidOid if everybody has it */

	/* Of a counter: a transaction, and the lowest number that it may draw. */
	uint64		transaction;
	uint64		first;
} SnoUse;

extern void sno_use_begin(void);
extern SnoObstacle sno_use_look(SnoDefinitions *in, const char *name, SnoDefinition *d, bool *found);
extern bool sno_use_find(SnoDefinitions *in, const char *name, SnoDefinition *d);
extern void sno_use_look_up(SnoDefinitions *in, const char *name, SnoDefinition *d);
extern SnoUse *sno_use_of(SnoDefinitions *in, const text *name);
extern SnoObstacle sno_use_refresh(SnoUse *use);

/* Is its definition known, and the current user's right to use it? */
static inline bool
sno_use_is_known(const SnoUse *use)
{
	return use->version == use->in->table.version &&
		(likely(!OidIsValid(use->user)) || use->user == GetUserId());
}

#endif							/* SNO_USE_H */
