/*
 * use.c
 *		The named generators that a session uses, and how it issues from them.
 *
 * A session remembers each generator that it used, by name, and looks its definition
 * up again when that may have changed.  All sessions share the generator's state
 * (state.c): one more id of the state word's unit is an addition to it (use.h).  What
 * is rarer happens in sno_use_next_slowly(): the next unit, the lease, and waiting.
 *
 * A generator may be restricted to the members of a role.  A use remembers the user that was
 * found to have that right, and is found wanting if the current user is another one, as in
 * a function with SECURITY DEFINER.  What changes the rights of any role counts as a change of
 * definitions, so all is looked up again.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "catalog/leases.h"
#include "catalog/publish.h"
#include "catalog/table.h"
#include "generate/session.h"
#include "generate/wait.h"
#include "named/choose.h"
#include "named/open.h"
#include "named/queue.h"
#include "named/use.h"
#include "shared/primary.h"

/* What the session's uses are found by: the beginning of each. */
typedef struct UseKey
{
	char		name[NAMEDATALEN];
	char		kind;
} UseKey;

StaticAssertDecl(offsetof(SnoUse, kind) == offsetof(UseKey, kind), "a use does not begin with its key");

static HTAB *uses;

/* At the end of a session: see N5. */
static void
end_uses(int code, Datum arg)
{
	HASH_SEQ_STATUS status;
	SnoUse	   *use;
	Relation	rel;

	sno_queue_leave();

	/* This first: an error in what follows ends it. */
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
			sno_named_close_unused(rel, use->state);
	sno_leases_close_at_exit(rel);
}

/* At the first use of a session. */
static void
begin_uses(void)
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

/* What keeps a session from looking a definition up. */
static SnoObstacle
obstacle_to(SnoDefinitionLook look)
{
	return look == SNO_DEFINITION_LOCKED ? SNO_DEFINITIONS_LOCKED :
		look == SNO_DEFINITION_LAYOUT_LOCKED ? SNO_LAYOUTS_LOCKED : SNO_NO_OBSTACLE;
}

/*
 * The definition by that name; false if there is none.  Waits sno.max_wait for its
 * table, and that of layouts, at most.
 */
bool
sno_use_find(SnoDefinitions *in, const char *name, SnoDefinition *d)
{
	SnoWait		wait = {.generator = name,.partition = -1,.definitions = in};
	SnoDefinitionLook look;
	SnoObstacle obstacle;

	if (strlen(name) >= NAMEDATALEN)
		return false;			/* no generator has such a name */
	begin_uses();
	while ((obstacle = obstacle_to(look = sno_definition_find(in, name, d))) != SNO_NO_OBSTACLE)
		sno_wait(&wait, obstacle, 1);
	if (look == SNO_DEFINITION_WITHOUT_LAYOUT)
		sno_definition_without_layout(name, d);
	return look == SNO_DEFINITION_FOUND;
}

/* Tables of which this session used a restricted generator */
static SnoDefinitions *restricted;

static void
rights_changed(Datum arg, SysCacheIdentifier cache, uint32 hash)
{
	for (SnoDefinitions *in = restricted; in != NULL; in = in->next)
		in->table.version++;
}

/* At the first use of a restricted generator: notice what changes the rights of roles. */
static void
watch_rights(SnoDefinitions *in)
{
	if (in->restricted)
		return;
	if (restricted == NULL)
	{
		CacheRegisterSyscacheCallback(AUTHOID, rights_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, rights_changed, (Datum) 0);
		CacheRegisterSyscacheCallback(DATABASEOID, rights_changed, (Datum) 0);
	}
	in->restricted = true;
	in->next = restricted;
	restricted = in;
}

/*
 * Raise an error unless the current user may use the generator.  A role that is gone has
 * no members, so only the database's owner and superusers may then.  So it is if the role
 * of that name isn't the one that was named.
 */
void
sno_use_check(SnoDefinitions *in, const char *name, const SnoDefinition *d)
{
	Oid			role;
	bool		same;

	if (d->role[0] == '\0')
		return;
	watch_rights(in);
	role = get_role_oid(d->role, true);
	same = !OidIsValid(d->role_oid) || role == d->role_oid;
	if ((OidIsValid(role) && same && has_privs_of_role(GetUserId(), role)) ||
		has_privs_of_role(GetUserId(), ROLE_PG_DATABASE_OWNER))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for generator \"%s\"", name),
			 !OidIsValid(role) ?
			 errdetail("It is restricted to members of role \"%s\", which does not exist.", d->role) :
			 same ?
			 errdetail("Only members of role \"%s\" may use it.", d->role) :
			 errdetail("It is restricted to members of a role that was named \"%s\". Another role has that name now.", d->role),
			 errhint("The owner of the database can change that with %s.",
					 in->restrict_to)));
}

/*
 * The definition by that name; an error if there is none, or if the current user may not
 * use it.  Waits as above.
 */
void
sno_use_look_up(SnoDefinitions *in, const char *name, SnoDefinition *d)
{
	if (!sno_use_find(in, name, d))
		sno_definition_missing(in, name);
	sno_use_check(in, name, d);
}

/*
 * Leave a state that isn't the definition's any more, and close it if nobody else
 * uses it.
 */
static void
leave_state(SnoUse *use)
{
	SnoNamedState *s = use->state;
	Relation	rel;

	sno_queue_leave();
	rel = sno_leases_open();

	/* An error before this changes nothing, and one after it leaves a closed state. */
	use->state = NULL;
	use->version = 0;
	sno_state_leave(s);
	if (rel == NULL)
		return;
	sno_named_close_unused(rel, s);
	sno_leases_close(rel);
}

/* Leave the states of all generators of a table that were dropped, or defined anew. */
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

/* Note what the definition says now.  Numbers of another counter tell nothing of this one's. */
static void
define(SnoUse *use, const SnoDefinition *d)
{
	if (!sno_subjects_equal(&use->definition.subject, &d->subject))
		use->transaction = 0;
	use->definition = *d;
}

/* The current user was found to have the right that the definition demands. */
static void
note_right(SnoUse *use)
{
	use->user = use->definition.role[0] == '\0' ? InvalidOid : GetUserId();
}

/* May the session go on in the state that it uses, by what the definition says now? */
static bool
may_stay(const SnoUse *use, const SnoDefinition *d)
{
	return sno_subjects_equal(&d->subject, &use->definition.subject) &&
		(!sno_subject_floats(&d->subject) || sno_nodes_may_stay(use->state, d));
}

/* Its ids are of the nodes that were chosen, as long as these may be used. */
static void
note_nodes(SnoUse *use)
{
	static pg_atomic_uint64 nobody; /* 0, of fixed nodes */
	bool		floats = sno_subject_floats(&use->definition.subject);

	use->authority = floats ? sno_nodes_authority(use->state) : &nobody;
	use->granted = floats ? use->state->authority : 0;
	if (floats)
		use->definition.nodes.first = use->state->subject.shard.min;
}

/*
 * Look the definition up, if it may have changed, see that the current user may use the
 * generator, and join its state.
 */
static SnoObstacle
refresh_use(SnoUse *use)
{
	uint64		seen = use->in->table.version;
	SnoDefinitionLook look;
	SnoObstacle obstacle;
	SnoDefinition d;

	if (use->version == seen && use->state != NULL && may_stay(use, &use->definition))
	{
		sno_use_check(use->in, use->name, &use->definition);
		note_right(use);
		/* The same ones may have been chosen again. */
		note_nodes(use);
		return SNO_NO_OBSTACLE;
	}
	sno_queue_leave();
	look = sno_definition_find(use->in, use->name, &d);
	obstacle = obstacle_to(look);
	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	if (look == SNO_DEFINITION_NONE)
		sno_definition_missing(use->in, use->name);
	if (look == SNO_DEFINITION_WITHOUT_LAYOUT)
		sno_definition_without_layout(use->name, &d);
	sno_use_check(use->in, use->name, &d);
	if (use->state != NULL && !may_stay(use, &d))
		leave_state(use);
	define(use, &d);
	note_right(use);
	if (use->state == NULL)
	{
		leave_stale_states(use->in);
		obstacle = sno_named_join(use->in, use->name, &d, &use->state);
		if (obstacle != SNO_NO_OBSTACLE)
			return obstacle;
	}
	note_nodes(use);
	use->version = seen;
	return SNO_NO_OBSTACLE;
}

typedef struct Renewal
{
	SnoNamedState *state;
	uint64		now;
} Renewal;

static void
renew_named_early(void *arg)
{
	Renewal    *renewal = arg;

	sno_named_renew_early(renewal->state, renewal->now);
}

/* Units that may pass between one that issued and the next one, while the clock is even. */
static uint64
stride_of(const SnoDefinition *d)
{
	return sno_is_flake(d) ? 1 + d->nodes.layout.unit / SNO_UNIT_MSEC : 1;
}

/* How long the ids of a unit last: until the clock is in the next one. */
static int
unit_msec(const SnoDefinition *d)
{
	return Max(SNO_UNIT_MSEC, (int) d->nodes.layout.unit);
}

/*
 * ms until the clock is in the next unit of a layout with long ones, else 0.  If ids are
 * ahead of the clock, callers move the promise on meanwhile, by a unit of ours at a time.
 */
static int
msec_left(const SnoDefinition *d, SnoFlakeTime now)
{
	const SnoLayout *layout = &d->nodes.layout;

	if (layout->unit <= SNO_UNIT_MSEC || now.clock > sno_clock_unit())
		return 0;
	return (int) (layout->unit - (sno_clock_msec() + SNO_EPOCH_MSEC - layout->epoch) % layout->unit);
}

/* Issue, if it is our turn; if it isn't, *msec is how long to wait. */
static SnoStep
issue_if_our_turn(SnoUse *use, uint64 *issued, int *msec)
{
	SnoNamedState *s = use->state;
	const SnoNodes *nodes = &use->definition.nodes;
	RelFileNumber file = sno_leases_file();
	uint64		word = sno_generator_load(&s->shared);
	SnoFlakeTime now = sno_named_now(nodes, word);
	int32		before;
	SnoStep		step;

	if (sno_word_is_closed(word))
		return SNO_CLOSED;

	/* Units were left out, or the clock went back. */
	if (now.unit - SNO_WORD_UNIT(word) > stride_of(&use->definition))
		sno_clock_watch();

	switch (sno_lease_task(&s->lease, &s->shared, now.unit, file))
	{
		case SNO_LEASE_WRITE:
		case SNO_LEASE_PUBLISH:
			return SNO_LEASE_OVER;
		case SNO_LEASE_RENEW_EARLY:
			{
				Renewal		renewal = {s, now.unit};

				sno_queue_leave();
				sno_lease_quietly(renew_named_early, &renewal, use->name, 0);
				word = sno_generator_load(&s->shared);
				now = sno_named_now(nodes, word);
			}
			break;
		case SNO_LEASE_ISSUE:
			break;
	}

	before = sno_queue_before_us(s, word, now);
	step = before > 0 ? SNO_EXHAUSTED : sno_state_issue(s, word, now, issued);
	if (step == SNO_EXHAUSTED)
		*msec = Max(1, (before - 1) / sno_unit_size(&s->shared) * unit_msec(&use->definition) +
					msec_left(&use->definition, now));
	if (step == SNO_ISSUED && SNO_WORD_UNIT(*issued) < Min(now.unit, sno_feed_bound))
		return SNO_RACED;
	if (step == SNO_EXHAUSTED && now.unit == SNO_WORD_UNIT(word) &&
		SNO_WORD_SEQUENCE(word) > s->shared.sequence_max && sno_feed_move_on(now.clock))
		return SNO_RACED;
	return step;
}

/* Issue, or do one thing that is needed for it; *issued is set if *step tells so. */
static SnoObstacle
issue_named_or_prepare(SnoUse *use, uint64 *issued, SnoStep *step, int *msec)
{
	SnoObstacle obstacle = refresh_use(use);

	if (obstacle != SNO_NO_OBSTACLE)
		return obstacle;
	*step = issue_if_our_turn(use, issued, msec);
	switch (*step)
	{
		case SNO_ISSUED:
		case SNO_RACED:
			return SNO_NO_OBSTACLE;
		case SNO_EXHAUSTED:
			obstacle = SNO_UNIT_EXHAUSTED;
			break;
		default:
			obstacle = sno_named_reopen_or_renew(use->state, use->name);
			if (obstacle == SNO_NO_OBSTACLE || obstacle == SNO_CLASH)
				return obstacle;
	}
	sno_queue_join(use->state);
	return obstacle;
}

/* Tell what a wait for a generator is about. */
static void
describe_wait(SnoWait *wait, const char *name, const SnoDefinition *d)
{
	wait->generator = name;
	wait->definition = d;
	wait->partition = sno_is_flake(d) ? -1 : d->subject.partition;
	wait->unit_size = sno_is_flake(d) ? sno_nodes_sequence_max(&d->nodes) + 1 :
		d->subject.shard.max - d->subject.shard.min + 1;
	wait->unit_msec = unit_msec(d);
}

/* The transaction draws numbers of a counter, beginning with this one. */
static void
note_number(SnoUse *use, uint64 number)
{
	if (use->transaction == sno_feed_transaction)
		return;
	use->transaction = sno_feed_transaction;
	use->first = number;
}

/* Issue, however long it takes.  It isn't inline: the caller's PG_TRY would warn of that. */
pg_noinline static uint64
next_patiently(SnoUse *use)
{
	SnoWait		wait = {0};

	for (;;)
	{
		uint64		issued = 0;
		SnoStep		step = SNO_RACED;
		int			msec = 1;
		SnoObstacle obstacle = issue_named_or_prepare(use, &issued, &step, &msec);

		if (step == SNO_ISSUED)
		{
			if (sno_is_count(use->state))
				note_number(use, sno_flake_parts(&use->definition.nodes, issued).time);
			return issued;
		}
		describe_wait(&wait, use->name, &use->definition);
		wait.counters = use->state == NULL ? NULL : &use->state->counters;
		HOLD_INTERRUPTS();
		sno_wait(&wait, obstacle, msec);
		RESUME_INTERRUPTS();
		if (InterruptPending)
			sno_queue_leave();
		CHECK_FOR_INTERRUPTS();
	}
}

uint64
sno_use_next_slowly(SnoUse *use)
{
	volatile uint64 word = 0;

	PG_TRY();
	{
		word = next_patiently(use);
	}
	PG_CATCH();
	{
		sno_queue_leave();
		PG_RE_THROW();
	}
	PG_END_TRY();
	sno_queue_leave();
	return word;
}

/*
 * The use of that name, if this session has one and no definition may have changed since
 * its own was looked up.
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
 * This session's use of a generator, made if there is a definition;
 * with what that says now, but perhaps without a state yet.
 */
SnoUse *
sno_use_of(SnoDefinitions *in, const text *name)
{
	UseKey		key = {.kind = in->kind};
	int			length = VARSIZE_ANY_EXHDR(name);
	SnoDefinition d;
	bool		found;
	SnoUse	   *use;

	/* A name that is too long is one that isn't there. */
	memcpy(key.name, VARDATA_ANY(name),
		   pg_mbcliplen(VARDATA_ANY(name), length, NAMEDATALEN - 1));
	use = length < NAMEDATALEN ? known_use(&key) : NULL;
	if (use != NULL)
	{
		sno_use_check(in, key.name, &use->definition);
		return use;
	}
	if (length >= NAMEDATALEN || !sno_use_find(in, key.name, &d))
		sno_definition_missing(in, key.name);
	sno_use_check(in, key.name, &d);
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

/* What a generator issued, as memory and the rows know. */
void
sno_use_read(const char *name, const SnoDefinition *d, SnoGenerator *g)
{
	SnoWait		wait = {0};
	SnoObstacle obstacle;

	begin_uses();
	describe_wait(&wait, name, d);
	while ((obstacle = sno_named_read(d, g)) != SNO_NO_OBSTACLE)
		sno_wait(&wait, obstacle, 1);
}

/*
 * Raise the error that a generator would raise if it were asked for an id now, by whoever may use
 * it.  Nothing is changed.  *d gets its definition; false if there is none.
 */
bool
sno_use_try(SnoDefinitions *in, const char *name, SnoDefinition *d)
{
	SnoWait		wait = {.generator = name,.partition = -1,.definitions = in};
	SnoDefinitionLook look = sno_definition_find(in, name, d);

	wait.obstacle = obstacle_to(look);
	if (look == SNO_DEFINITION_NONE)
		return false;
	if (look == SNO_DEFINITION_WITHOUT_LAYOUT)
		sno_definition_without_layout(name, d);
	if (wait.obstacle == SNO_NO_OBSTACLE)
	{
		describe_wait(&wait, name, d);
		wait.obstacle = sno_named_obstacle(in, name, d);
	}
	if (wait.obstacle != SNO_NO_OBSTACLE)
		sno_wait_give_up(&wait);
	return true;
}

/* Set a generator on disk and in memory, so that it issues only ids after `issued`. */
void
sno_use_restore(const char *name, const SnoDefinition *d, const SnoGenerator *issued)
{
	SnoWait		wait = {0};
	SnoObstacle obstacle;

	begin_uses();
	describe_wait(&wait, name, d);
	while ((obstacle = sno_named_restore(d, issued)) != SNO_NO_OBSTACLE)
		sno_wait(&wait, obstacle, 1);
}

/* The next number of a counter.  Nobody draws a lower one from now on. */
uint64
sno_use_next_number(const char *name, const SnoDefinition *d)
{
	SnoWait		wait = {0};
	SnoObstacle obstacle;
	uint64		word;

	begin_uses();
	describe_wait(&wait, name, d);
	while ((obstacle = sno_named_look(d, &word)) != SNO_NO_OBSTACLE)
		sno_wait(&wait, obstacle, 1);
	return sno_count_next(&d->nodes, word);
}

/*
 * The lowest number that this transaction may draw from a counter, or has drawn.  It tells
 * readers of feeds so: no watermark is above it, for a snapshot that doesn't show the
 * transaction.
 */
uint64
sno_use_first_number(SnoUse *use)
{
	if (use->transaction != sno_feed_transaction)
	{
		sno_feed_tell_tick(NULL, 0);
		note_number(use, sno_use_next_number(use->name, &use->definition));
	}
	return use->first;
}
