/*
 * use.c
 *		The named generators that a session uses.
 *
 * A session remembers each named generator that it has used.  It looks up the definition of the
 * generator again when the definition may have changed.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"

#include "catalog/leases.h"
#include "generate/session.h"
#include "named/chosen.h"
#include "named/named_wait.h"
#include "named/open.h"
#include "named/queue.h"
#include "named/right.h"
#include "named/use.h"
#include "shared/primary.h"

/* The key of the hash table of uses.  Each SnoUse begins with the same fields. */
typedef struct UseKey
{
	char		name[NAMEDATALEN];
	char		kind;
} UseKey;

StaticAssertDecl(offsetof(SnoUse, kind) == offsetof(UseKey, kind), "a use does not begin with its key");

static HTAB *uses;

/* Leave all states at the end of a session, and close those that no session uses any more (N5). */
static void
end_uses(int code, Datum arg)
{
	HASH_SEQ_STATUS status;
	SnoUse	   *use;
	Relation	rel;

	sno_queue_leave();

	/* Leave all states first, because the code below may raise an error. */
	hash_seq_init(&status, uses);
	while ((use = hash_seq_search(&status)) != NULL)
		if (use->state != NULL)
			sno_state_leave(use->state);

	rel = sno_leases_open_at_exit();
	if (rel == NULL)
		return;
	hash_seq_init(&status, uses);
	while ((use = hash_seq_search(&status)) != NULL)
		if (use->state != NULL)
			sno_open_close_unused(rel, use->state);
	sno_leases_close_at_exit(rel);
}

/* Prepare this session for its first use of a named generator. */
void
sno_use_begin(void)
{
	HASHCTL		ctl = {.keysize = sizeof(UseKey),.entrysize = sizeof(SnoUse)};

	if (uses != NULL)
		return;
	sno_require_primary("sno_generate()");
	sno_session_begin();
	sno_session_know_past();
	uses = hash_create("sno generators", 16, &ctl, HASH_ELEM | HASH_BLOBS);
	before_shmem_exit(end_uses, (Datum) 0);
}

/*
 * Look for the definition with this name, and set *found.  Returns the obstacle if another session
 * has locked the table of definitions or the table of layouts.  Raises an error if the layout of the
 * definition is gone.
 */
SnoObstacle
sno_use_look(SnoDefinitions *in, const char *name, SnoDefinition *d, bool *found)
{
	SnoDefinitionLook look = sno_definition_find(in, name, d);

	if (look == SNO_DEFINITION_WITHOUT_LAYOUT)
		sno_definition_without_layout(name, d);
	*found = look == SNO_DEFINITION_FOUND;
	return look == SNO_DEFINITION_LOCKED ? SNO_DEFINITIONS_LOCKED :
		look == SNO_DEFINITION_LAYOUT_LOCKED ? SNO_LAYOUTS_LOCKED : SNO_NO_OBSTACLE;
}

/*
 * Find the definition with this name.  Returns false if there is none.  If the table of
 * definitions or the table of layouts is locked, waits sno.max_wait at most.
 */
bool
sno_use_find(SnoDefinitions *in, const char *name, SnoDefinition *d)
{
	SnoWait		wait = sno_named_wait(in, name, NULL);
	SnoObstacle obstacle;
	bool		found;

	if (strlen(name) >= NAMEDATALEN)
		return false;			/* no generator has such a name */
	sno_use_begin();
	while ((obstacle = sno_use_look(in, name, d, &found)) != SNO_NO_OBSTACLE)
		sno_wait(&wait, obstacle, 1);
	return found;
}

/*
 * Find the definition with this name, as sno_use_find() does.  Raises an error if there is none, or
 * if the current user may not use the generator.
 */
void
sno_use_look_up(SnoDefinitions *in, const char *name, SnoDefinition *d)
{
	if (!sno_use_find(in, name, d))
		sno_definition_missing(in, name);
	sno_right_check(in, name, d);
}

/* Leave the state of a use.  If no other session uses the state, close it. */
static void
leave_state(SnoUse *use)
{
	SnoNamedState *s = use->state;
	Relation	rel;

	sno_queue_leave();
	rel = sno_leases_open();

	/* An error before this point changes nothing.  A later error leaves the state closed. */
	use->state = NULL;
	use->version = 0;
	sno_state_leave(s);
	if (rel == NULL)
		return;
	sno_open_close_unused(rel, s);
	sno_leases_close(rel);
}

/*
 * If a generator of this table of definitions was dropped, or was defined anew with another subject,
 * leave its state.
 */
static void
leave_stale_states(SnoDefinitions *in)
{
	uint64		seen = in->table.version;
	HASH_SEQ_STATUS status;
	SnoUse	   *use;

	if (in->looked == seen)
		return;
	hash_seq_init(&status, uses);
	while ((use = hash_seq_search(&status)) != NULL)
	{
		SnoDefinition d;
		SnoDefinitionLook look;

		if (use->in != in || use->state == NULL || use->version == seen)
			continue;
		look = sno_definition_find(use->in, use->name, &d);
		if (look == SNO_DEFINITION_NONE || look == SNO_DEFINITION_WITHOUT_LAYOUT ||
			(look == SNO_DEFINITION_FOUND && !sno_subjects_equal(&d.subject, &use->definition.subject)))
			leave_state(use);
	}
	in->looked = seen;
}

/* Store the present definition in a use.  If the subject has changed, `first` isn't valid any more. */
static void
define(SnoUse *use, const SnoDefinition *d)
{
	if (!sno_subjects_equal(&use->definition.subject, &d->subject))
		use->transaction = 0;
	use->definition = *d;
}

/* Record that the current user has the right to use the generator. */
static void
note_right(SnoUse *use)
{
	use->user = use->definition.role[0] == '\0' ? InvalidOid : GetUserId();
}

/* May the session keep the state of a use if the present definition is *d? */
static bool
may_stay(const SnoUse *use, const SnoDefinition *d)
{
	return sno_subjects_equal(&d->subject, &use->definition.subject) &&
		(!sno_subject_floats(&d->subject) || sno_chosen_may_stay(use->state, d));
}

/* Record the chosen nodes of a use's state, and the authority under which they may be used. */
static void
note_nodes(SnoUse *use)
{
	static pg_atomic_uint64 nobody; /* always 0: fixed nodes are never revoked */
	bool		floats = sno_subject_floats(&use->definition.subject);

	use->authority = floats ? sno_chosen_authority(use->state) : &nobody;
	use->granted = floats ? use->state->authority : 0;
	if (floats)
		use->definition.nodes.first = use->state->subject.shard.min;
}

/*
 * Bring a use up to date: look up the definition if it may have changed, check that the current
 * user may use the generator, and join its state.  Returns the obstacle if that isn't possible now.
 */
SnoObstacle
sno_use_refresh(SnoUse *use)
{
	uint64		seen = use->in->table.version;
	SnoObstacle obstacle;
	SnoDefinition d;
	bool		found;

	if (use->version == seen && use->state != NULL && may_stay(use, &use->definition))
	{
		sno_right_check(use->in, use->name, &use->definition);
		note_right(use);
		/* The same nodes may have been chosen again, under another authority. */
		note_nodes(use);
		return SNO_NO_OBSTACLE;
	}
	sno_queue_leave();
	obstacle = sno_use_look(use->in, use->name, &d, &found);
	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	if (!found)
		sno_definition_missing(use->in, use->name);
	sno_right_check(use->in, use->name, &d);
	if (use->state != NULL && !may_stay(use, &d))
		leave_state(use);
	define(use, &d);
	note_right(use);
	if (use->state == NULL)
	{
		leave_stale_states(use->in);
		obstacle = sno_open_join(use->in, use->name, &d, &use->state);
		if (obstacle != SNO_NO_OBSTACLE)
			return obstacle;
	}
	note_nodes(use);
	use->version = seen;
	return SNO_NO_OBSTACLE;
}

/*
 * Return the use with this key.  Returns NULL if this session has none, or if a definition may
 * have changed since the use was refreshed.
 */
static SnoUse *
known_use(const UseKey *key)
{
	SnoUse	   *use = uses == NULL ? NULL : hash_search(uses, key, HASH_FIND, NULL);

	if (use == NULL)
		return NULL;
	AcceptInvalidationMessages();
	return use->version == use->in->table.version ? use : NULL;
}

/*
 * Return this session's use of a generator.  Makes a use if there is none.  The use has the present
 * definition, but it may have no state yet.  Raises an error if there is no definition, or if the
 * current user may not use the generator.
 */
SnoUse *
sno_use_of(SnoDefinitions *in, const text *name)
{
	UseKey		key = {.kind = in->kind};
	int			length = VARSIZE_ANY_EXHDR(name);
	SnoDefinition d;
	bool		found;
	SnoUse	   *use;

	/* Clip a name that is too long for the key.  No generator has such a name. */
	memcpy(key.name, VARDATA_ANY(name), pg_mbcliplen(VARDATA_ANY(name), length, NAMEDATALEN - 1));
	use = length < NAMEDATALEN ? known_use(&key) : NULL;
	if (use != NULL)
	{
		sno_right_check(in, key.name, &use->definition);
		return use;
	}
	if (length >= NAMEDATALEN || !sno_use_find(in, key.name, &d))
		sno_definition_missing(in, key.name);
	sno_right_check(in, key.name, &d);
	use = hash_search(uses, &key, HASH_ENTER, &found);
	if (!found)
	{
		use->length = length;
		use->in = in;
		use->state = NULL;
		use->transaction = 0;
	}
	else if (use->state != NULL && !sno_subjects_equal(&d.subject, &use->definition.subject))
		leave_state(use);
	define(use, &d);
	if (use->state == NULL)
		use->version = 0;
	return use;
}
