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

/* The use of a named generator by this session */
typedef struct SnoUse
{
	char		name[NAMEDATALEN];
	char		kind;			/* the kind of its subject, a SnoKind */
	int			length;			/* length of the name */
	SnoDefinitions *in;			/* the table with its definition */
	uint64		version;		/* version of that table when the definition was looked up */
	SnoDefinition definition;
	SnoNamedState *state;		/* NULL if the session hasn't joined it yet */
	pg_atomic_uint64 *authority;	/* sno_chosen_authority() of its nodes */
	uint64		granted;		/* the nodes may be used while *authority is this number */
	Oid			user;			/* user who was found to have the right; InvalidOid if all users have it */

	/* For a counter: */
	uint64		transaction;	/* value of sno_feed_transaction when `first` was set; 0 if it wasn't */
	uint64		first;			/* the lowest number that this transaction draws */
} SnoUse;

extern void sno_use_begin(void);
extern SnoObstacle sno_use_look(SnoDefinitions *in, const char *name, SnoDefinition *d, bool *found);
extern bool sno_use_find(SnoDefinitions *in, const char *name, SnoDefinition *d);
extern void sno_use_look_up(SnoDefinitions *in, const char *name, SnoDefinition *d);
extern SnoUse *sno_use_of(SnoDefinitions *in, const text *name);
extern SnoObstacle sno_use_refresh(SnoUse *use);

/* Is the definition of a use still valid, and was the right of the current user checked? */
static inline bool
sno_use_is_known(const SnoUse *use)
{
	return use->version == use->in->table.version &&
		(likely(!OidIsValid(use->user)) || use->user == GetUserId());
}

#endif							/* SNO_USE_H */
