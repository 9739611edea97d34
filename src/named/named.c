/*
 * named.c
 *		Named generators: a session's uses of them, and sno_generate(meta, name).
 *
 * A session remembers each generator that it used, by name, and looks its
 * definition up again when that may have changed.  Issuing takes a pool
 * (pool.c) that all sessions share: one more id of the word's unit is an
 * addition to it.  What is rarer happens in next_slowly(): the next unit, the
 * pool's lease, and waiting.
 *
 * Those who wait for a unit stand in line: each draws a ticket, and may issue as
 * soon as fewer of them are before it than ids are left.  `left` counts who has
 * left the line, served or not, so that it empties whatever becomes of them.
 * While it isn't empty, newcomers draw tickets, too.  So all get their share,
 * and without a wait there is no line, but two loads from the word's cache line.
 */
#include "postgres.h"

#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"

#include "generate/generate.h"
#include "lease/definition.h"
#include "lease/table.h"
#include "named/named.h"
#include "named/state.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/partition.h"
#include "shared/wait.h"
#include "type/fields.h"

/* A generator that this session uses, by name. */
typedef struct Use
{
	char		name[NAMEDATALEN];
	int			length;
	uint64		version;		/* of definitions, when it was looked up */
	SnoDefinition definition;
	SnoPool	   *pool;
} Use;

static HTAB *uses;

/* Changes whenever a definition may have. */
static uint64 version = 1;

/* The line that this session stands in. */
static SnoPool *line;
static uint32 ticket;

typedef struct Renewal
{
	Oid			function;
	SnoPool	   *pool;
	uint64		now;
} Renewal;

static void
renew_early(void *arg)
{
	Renewal    *r = arg;

	sno_pool_renew_early(r->function, r->pool, r->now);
}

static void
leave_line(void)
{
	if (line != NULL)
		pg_atomic_fetch_add_u32(&line->left, 1);
	line = NULL;
}

static bool
is_line(SnoPool *pool)
{
	return pg_atomic_read_u32(&pool->tickets) != pg_atomic_read_u32(&pool->left);
}

/* How many ids must others get before it is our turn? Not positive if it is. */
static int32
before_us(SnoPool *pool, uint64 word, uint64 now)
{
	int32		spare = pool->shared.sequence_max - pool->shared.sequence_min + 1;

	if (line == NULL && is_line(pool))
	{
		line = pool;
		ticket = pg_atomic_fetch_add_u32(&pool->tickets, 1);
	}
	if (line == NULL)
		return 0;
	if (now == SNO_WORD_UNIT(word))
		spare = Max(pool->shared.sequence_max - (int32) SNO_WORD_SEQUENCE(word) + 1, 0);
	return (int32) (ticket - pg_atomic_read_u32(&pool->left)) - spare + 1;
}

/* No id was to be had for sno.max_wait: say why. */
static void
give_up(const Use *use)
{
	if (sno_pool_obstacle == SNO_POOL_TABLE_LOCKED)
		sno_table_give_up(SNO_TABLE_NAME, "ROW SHARE");
	if (sno_pool_obstacle == SNO_POOL_DEFINITIONS_LOCKED)
		sno_table_give_up(SNO_DEFINITION_TABLE, "ACCESS SHARE");
	if (sno_pool_obstacle == SNO_POOL_HELD)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("partition %d of generator \"%s\" was in use for %d ms",
						use->definition.partition, use->name, sno_max_wait),
				 sno_pool_held_by > 0 ?
				 errdetail("The session with process id %d generates in it; it moves on as soon as it generates again.",
						   sno_pool_held_by) :
				 errdetail("A session generated in it until sno_reseed() was called; it moves on as soon as it generates again."),
				 errhint("End that session, or use another partition.")));
	if (sno_pool_obstacle == SNO_POOL_BEHIND)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("generator \"%s\" could not issue a sno within %d ms",
						use->name, sno_max_wait),
				 errdetail("The clock is behind what the generator issued, or may have issued before the server crashed."),
				 errhint("Set the system clock right, wait, or drop the generator and create it with another partition.")));
	if (sno_pool_obstacle == SNO_POOL_GIVEN)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition %d of generator \"%s\" is used up",
						use->definition.partition, use->name),
				 errdetail("It went to ids of given times, those of sno_generate_at()."),
				 errhint("Drop the generator, and create it with another partition.")));
	if (sno_pool_obstacle == SNO_POOL_BUSY)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("generator \"%s\" could not issue a sno within %d ms",
						use->name, sno_max_wait),
				 errdetail("Another session is writing its state to disk."),
				 errhint("Raise \"sno.max_wait\".")));
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("generator \"%s\" could not issue a sno within %d ms",
					use->name, sno_max_wait),
			 errdetail("It issues at most %d ids per %d ms, to all sessions together.",
					   use->definition.sequence_max - use->definition.sequence_min + 1,
					   SNO_UNIT_MSEC),
			 errhint("Raise \"sno.max_wait\", or widen the bounds of the generator.")));
}

/*
 * Wait at most so many milliseconds.  *since is 0 at first.  Raises an error after
 * sno.max_wait, or at once if no wait helps.
 */
static void
wait_a_little(const Use *use, int64 *since, int msec)
{
	SnoCounters *counters = use->pool == NULL ? NULL : &use->pool->counters;

	sno_generate_release_unusable();
	if (sno_pool_obstacle == SNO_POOL_GIVEN ||
		!sno_wait(since, counters, use->name, use->definition.partition, msec))
		give_up(use);
}

/* At the end of a session: see N5 of pool.c. */
static void
let_go(int code, Datum arg)
{
	HASH_SEQ_STATUS status;
	Use		   *use;
	Relation	rel;

	leave_line();
	sno_activity_end();

	/* This first: an error in what follows ends it. */
	hash_seq_init(&status, uses);
	while ((use = hash_seq_search(&status)) != NULL)
		if (use->pool != NULL)
			sno_pool_leave(use->pool);

	rel = sno_table_open_at_exit();
	if (rel == NULL)
		return;
	hash_seq_init(&status, uses);
	while ((use = hash_seq_search(&status)) != NULL)
		if (use->pool != NULL)
			sno_pool_close_unused(rel, use->pool);
	sno_table_close_at_exit(rel);
}

static void
definitions_changed(Datum arg, Oid relid)
{
	if (relid == InvalidOid || relid == sno_definition_table())
		version++;
}

/* At the first use of a session. */
static void
session_begin(void)
{
	HASHCTL		ctl = {.keysize = NAMEDATALEN, .entrysize = sizeof(Use)};

	if (uses != NULL)
		return;
	PreventCommandDuringRecovery("sno_generate()");
	sno_space_enter();
	sno_activity_begin();
	CacheRegisterRelcacheCallback(definitions_changed, (Datum) 0);
	uses = hash_create("sno generators", 16, &ctl, HASH_ELEM | HASH_STRINGS);
	before_shmem_exit(let_go, (Datum) 0);
}

/*
 * The definition by that name; false if there is none.  Waits sno.max_wait for its
 * table at most.
 */
bool
sno_named_find(Oid function, const char *name, SnoDefinition *d)
{
	int64		since = 0;
	SnoDefinitionLook look;

	if (strlen(name) >= NAMEDATALEN)
		return false;			/* no generator has such a name */
	session_begin();
	while ((look = sno_definition_find(function, name, d)) == SNO_DEFINITION_LOCKED)
		if (!sno_wait(&since, NULL, name, -1, 1))
			sno_table_give_up(SNO_DEFINITION_TABLE, "ACCESS SHARE");
	return look == SNO_DEFINITION_FOUND;
}

static bool
is_same_generator(const SnoDefinition *a, const SnoDefinition *b)
{
	return a->partition == b->partition && a->sequence_min == b->sequence_min &&
		a->sequence_max == b->sequence_max;
}

/* Leave a pool that isn't the definition's any more, closed if nobody else uses it. */
static void
leave_pool(Oid function, Use *use)
{
	SnoPool    *pool = use->pool;
	Relation	rel;

	leave_line();
	use->pool = NULL;
	sno_pool_leave(pool);
	rel = sno_table_open(function);
	if (rel == NULL)
		return;
	sno_pool_close_unused(rel, pool);
	sno_table_close(rel);
}

/* Leave the pools of all generators that were dropped, or defined anew. */
static void
leave_stale_pools(Oid function)
{
	static uint64 looked = 0;	/* version, when this was done last */
	HASH_SEQ_STATUS status;
	Use		   *use;

	if (looked == version)
		return;
	looked = version;
	hash_seq_init(&status, uses);
	while ((use = hash_seq_search(&status)) != NULL)
	{
		SnoDefinition d;

		if (use->pool == NULL || use->version == looked)
			continue;
		switch (sno_definition_find(function, use->name, &d))
		{
			case SNO_DEFINITION_FOUND:
				if (is_same_generator(&d, &use->definition))
					break;
				/* FALLTHROUGH */
			case SNO_DEFINITION_NONE:
				leave_pool(function, use);
				break;
			case SNO_DEFINITION_LOCKED:
				break;
		}
	}
}

/*
 * Look the definition up, if it may have changed, and have its pool.  False if
 * there is an obstacle.
 */
static bool
refresh(Oid function, Use *use)
{
	uint64		seen = version;
	SnoDefinition d;

	if (use->version == seen && use->pool != NULL)
		return true;
	switch (sno_definition_find(function, use->name, &d))
	{
		case SNO_DEFINITION_FOUND:
			break;
		case SNO_DEFINITION_NONE:
			sno_definition_missing(use->name);
		case SNO_DEFINITION_LOCKED:
			leave_line();
			sno_pool_obstacle = SNO_POOL_DEFINITIONS_LOCKED;
			return false;
	}
	if (use->pool != NULL && !is_same_generator(&d, &use->definition))
		leave_pool(function, use);
	use->definition = d;
	if (use->pool == NULL)
	{
		leave_stale_pools(function);
		use->pool = sno_pool_join(&d);
	}
	if (use->pool == NULL)
		return false;
	use->version = seen;
	return true;
}

/* Issue, if it is our turn; *msec is how long to wait if that fails. */
static SnoStep
step(Oid function, Use *use, uint64 *issued, int *msec)
{
	SnoPool	   *pool = use->pool;
	bool		in_place = sno_table_holds(function, pool->file);
	uint64		word = sno_generator_load(&pool->shared);
	uint64		now = sno_clock_unit();
	int32		before;

	*msec = 1;
	if (sno_word_is_closed(word))
		return SNO_CLOSED;
	if (!in_place)
		return SNO_LEASE_OVER;

	/* Units were left out, or the clock went back. */
	if (now - SNO_WORD_UNIT(word) > 1)
		sno_clock_watch();

	if (now >= pool->attention && now <= pool->shared.ceiling)
	{
		Renewal		renewal = {function, pool, now};

		sno_generate_quietly(renew_early, &renewal, use->definition.partition);
		word = sno_generator_load(&pool->shared);
		now = sno_clock_unit();
	}

	before = before_us(pool, word, now);
	if (before > 0)
	{
		int32		pool_size = pool->shared.sequence_max - pool->shared.sequence_min + 1;

		*msec = Max(1, (before - 1) / pool_size * SNO_UNIT_MSEC);
		return SNO_EXHAUSTED;
	}
	return sno_pool_issue(pool, word, now, issued);
}

/* Issue, however long it takes. */
static uint64
next_patiently(Oid function, Use *use)
{
	int64		since = 0;

	for (;;)
	{
		uint64		issued = 0;
		int			msec = 1;

		if (refresh(function, use))
		{
			switch (step(function, use, &issued, &msec))
			{
				case SNO_ISSUED:
					/* Who gave up what we waited for may wait for ours. */
					sno_generate_release_unusable();
					return issued;
				case SNO_RACED:
					continue;
				case SNO_EXHAUSTED:
					sno_pool_obstacle = SNO_POOL_USED_UP;
					break;
				default:
					if (sno_pool_mend(function, use->pool, use->name))
						continue;
			}
			if (line == NULL)
			{
				line = use->pool;
				ticket = pg_atomic_fetch_add_u32(&use->pool->tickets, 1);
			}
		}
		wait_a_little(use, &since, msec);
	}
}

static uint64
next_slowly(Oid function, Use *use)
{
	volatile uint64 word = 0;

	PG_TRY();
	{
		word = next_patiently(function, use);
	}
	PG_FINALLY();
	{
		leave_line();
	}
	PG_END_TRY();
	return word;
}

/* The next id's word, where the unit is the word's and nobody waits; else slowly. */
static inline uint64
next(Oid function, Use *use)
{
	if (likely(use->version == version))
	{
		SnoPool	   *pool = use->pool;
		uint64		word = sno_generator_load(&pool->shared);
		uint64		issued;

		if (likely(sno_clock_unit() == SNO_WORD_UNIT(word) && !is_line(pool)) &&
			sno_generator_share(&pool->shared, word, SNO_WORD_UNIT(word), &issued) == SNO_ISSUED)
			return issued;
	}
	return next_slowly(function, use);
}

/*
 * This session's use of a generator, made if there is a definition; with what
 * that says now, though perhaps without a pool yet.
 */
static Use *
use_of(Oid function, const text *name)
{
	char		key[NAMEDATALEN] = {0};
	int			length = VARSIZE_ANY_EXHDR(name);
	SnoDefinition d;
	bool		found;
	Use		   *use;

	/* A name that is too long is one that isn't there. */
	memcpy(key, VARDATA_ANY(name),
		   pg_mbcliplen(VARDATA_ANY(name), length, NAMEDATALEN - 1));
	if (length >= NAMEDATALEN || !sno_named_find(function, key, &d))
		sno_definition_missing(key);
	use = hash_search(uses, key, HASH_ENTER, &found);
	if (!found)
	{
		use->length = length;
		use->version = 0;
		use->pool = NULL;
		use->definition = d;
	}
	use->definition.meta = d.meta;
	return use;
}

/* What an expression that calls sno_generate() remembers. */
typedef struct Call
{
	Use		   *use;
	bool		constant;		/* does it always name the same generator? */
} Call;

static Call *
remember(FmgrInfo *flinfo, const text *name)
{
	Node	   *expression = flinfo->fn_expr;
	Call	   *call = flinfo->fn_extra;

	if (call == NULL)
	{
		call = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(Call));
		call->constant = expression != NULL && IsA(expression, FuncExpr) &&
			IsA(lsecond(((FuncExpr *) expression)->args), Const);
		flinfo->fn_extra = call;
	}
	call->use = NULL;			/* in case of an error */
	call->use = use_of(flinfo->fn_oid, name);
	return call;
}

/* Does it know the generator, and have its definitions not changed since? */
static inline bool
knows(const Call *call, FunctionCallInfo fcinfo)
{
	const Use  *use;
	const text *name;

	if (call == NULL || call->use == NULL)
		return false;
	use = call->use;
	if (use->version != version)
		return false;
	if (call->constant)
		return true;
	name = PG_GETARG_TEXT_PP(1);
	return use->length == VARSIZE_ANY_EXHDR(name) &&
		memcmp(use->name, VARDATA_ANY(name), use->length) == 0;
}

static inline int32
check_meta(const Use *use, int32 meta)
{
	if (unlikely(meta < 0 || meta > SNO_META_MAX))
		sno_fields_check("metabyte", meta, SNO_META_MAX);
	if (unlikely(use->definition.meta >= 0 && meta != use->definition.meta))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("metabyte %d is not that of generator \"%s\"", meta, use->name),
				 errdetail("All its ids have metabyte %d.", use->definition.meta),
				 errhint("Pass that, or null.")));
	return meta;
}

/* The metabyte that an argument asks for, or -1: none at all. */
static inline int32
meta_of(const Use *use, FunctionCallInfo fcinfo, int argument)
{
	if (unlikely(PG_ARGISNULL(argument)))
		return use->definition.meta;
	return check_meta(use, PG_GETARG_INT32(argument));
}

static inline void
make_next(Oid function, Use *use, int32 meta, Sno *id)
{
	uint64		word = next(function, use);

	sno_assemble(id, SNO_WORD_TIME(word), meta, use->definition.partition,
				 SNO_WORD_SEQUENCE(word));
}

PG_FUNCTION_INFO_V1(sno_generate_named);
Datum
sno_generate_named(PG_FUNCTION_ARGS)
{
	Call	   *call = fcinfo->flinfo->fn_extra;
	int32		meta;
	Sno		   *id;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	if (unlikely(!knows(call, fcinfo)))
		call = remember(fcinfo->flinfo, PG_GETARG_TEXT_PP(1));
	meta = meta_of(call->use, fcinfo, 0);
	if (unlikely(meta < 0))
		PG_RETURN_NULL();

	id = palloc(SNO_SIZE);
	make_next(fcinfo->flinfo->fn_oid, call->use, meta, id);
	PG_RETURN_SNO_P(id);
}

/* What a call of sno_generate_many() remembers. */
typedef struct Many
{
	Use		   *use;
	int32		meta;
	Sno			id;				/* for one row at a time, as in many.c */
} Many;

static FuncCallContext *
begin_many(FunctionCallInfo fcinfo)
{
	FuncCallContext *call = SRF_FIRSTCALL_INIT();
	Many	   *many = MemoryContextAllocZero(call->multi_call_memory_ctx, sizeof(Many));

	call->user_fctx = many;
	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		return call;			/* no rows */
	many->use = use_of(fcinfo->flinfo->fn_oid, PG_GETARG_TEXT_PP(2));
	many->meta = meta_of(many->use, fcinfo, 1);
	if (many->meta >= 0)
		call->max_calls = sno_many_count(PG_GETARG_INT64(0));
	return call;
}

PG_FUNCTION_INFO_V1(sno_generate_many_named);
Datum
sno_generate_many_named(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	Many	   *many;

	call = SRF_IS_FIRSTCALL() ? begin_many(fcinfo) : SRF_PERCALL_SETUP();
	if (call->call_cntr == call->max_calls)
		SRF_RETURN_DONE(call);
	many = call->user_fctx;
	make_next(fcinfo->flinfo->fn_oid, many->use, many->meta, &many->id);
	SRF_RETURN_NEXT(call, SnoPGetDatum(&many->id));
}

/* A use without a pool, to wait by for what is done without issuing. */
static Use
visit(const char *name, const SnoDefinition *d)
{
	Use			use = {.definition = *d};

	session_begin();
	strlcpy(use.name, name, NAMEDATALEN);
	return use;
}

/* What a generator issued, as memory and the rows know. */
void
sno_named_state(Oid function, const char *name, const SnoDefinition *d,
				SnoGenerator *g)
{
	Use			use = visit(name, d);
	int64		since = 0;

	while (!sno_pool_state(function, d, g))
		wait_a_little(&use, &since, 1);
}

/* Have a generator go on after what is said to be issued, durably. */
void
sno_named_restore(Oid function, const char *name, const SnoDefinition *d,
				  const SnoGenerator *issued)
{
	Use			use = visit(name, d);
	int64		since = 0;

	while (!sno_pool_restore(function, d, issued))
		wait_a_little(&use, &since, 1);
}
