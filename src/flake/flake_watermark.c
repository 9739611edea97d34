/*
 * flake_watermark.c
 *		Feeds of ids of other systems: sno_flake_watermark(), sno_flake_watermark_uuid(),
 *		sno_flake_watermark_bytea(), sno_flake_watermark_guard().
 *
 * For a layout with a time, the watermark is a unit of 4 ms, as for sno_watermark().  The result
 * is the lowest id with the layout's time at the beginning of this unit.  A counter has a watermark
 * of its own (core/numbers.h), which is a number.  This number shows how many ids the counter has
 * issued, so callers need the right to use the generator.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "flake/value.h"
#include "flake/nodes.h"
#include "generate/watermark.h"
#include "named/look.h"
#include "named/next.h"
#include "named/right.h"
#include "shared/primary.h"

/* A generator that a call or a trigger names. */
typedef struct Named
{
	char		name[NAMEDATALEN];
	uint64		version;		/* of the definitions, read before the fields below */
	SnoDefinition definition;
	SnoNamedLayout layout;
} Named;

/* Look up the named generator.  Raises an error if its ids are sealed, and so have no order. */
static void
look_up(Named *named)
{
	SnoDefinition *d = &named->definition;
	uint64		version = sno_flake_definitions.table.version;

	named->version = 0;			/* in case of an error */
	if (!sno_use_find(&sno_flake_definitions, named->name, d))
		sno_definition_missing(&sno_flake_definitions, named->name);
	if (d->key[0] != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("generator \"%s\" has no watermark", named->name),
				 errdetail("Its ids are sealed, and sealed ids have no order."),
				 errhint("Use a generator without a key, and seal its ids where they are given out. See doc/flakes.md#sealed-ids.")));
	named->layout = sno_nodes_layout(d);
	named->version = version;
}

static uint64
next_number(const void *arg)
{
	const Named *named = arg;

	return sno_look_number(&sno_flake_definitions, named->name, &named->definition);
}

/*
 * Return the layout's time at the beginning of a unit.  Returns 0 for a unit before the layout's
 * epoch, and nodes->last + 1 for a unit after the last time.
 */
static uint64
time_of(const SnoNodes *nodes, uint64 unit)
{
	int64		msec = (int64) (unit * SNO_UNIT_MSEC);

	if (msec < sno_layout_msec(&nodes->layout, 0))
		return 0;
	return Min(sno_layout_time(&nodes->layout, msec), nodes->last + 1);
}

/*
 * Return the generator that the first argument names.  Raises an error if the current user may not
 * use the generator.
 */
static const Named *
named_by_call(FunctionCallInfo fcinfo, SnoFlakeType type)
{
	Named	   *named = fcinfo->flinfo->fn_extra;
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));

	if (named == NULL)
		named = fcinfo->flinfo->fn_extra = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(Named));
	if (named->version != sno_flake_definitions.table.version || strcmp(named->name, name) != 0)
	{
		sno_require_primary("sno_flake_watermark()");
		if (strlen(name) >= NAMEDATALEN)
			sno_definition_missing(&sno_flake_definitions, name);
		strlcpy(named->name, name, NAMEDATALEN);
		look_up(named);
		sno_value_check_type(&named->layout, type, "sno_flake_watermark");
	}
	pfree(name);
	/* The current user may have changed since the last call. */
	sno_right_check(&sno_flake_definitions, named->name, &named->definition);
	return named;
}

static Datum
flake_watermark(FunctionCallInfo fcinfo, SnoFlakeType type)
{
	const Named *named = named_by_call(fcinfo, type);
	const SnoNodes *nodes = &named->definition.nodes;
	SnoFlakeParts parts = {0};

	if (nodes->layout.unit != 0)
		parts.time = time_of(nodes, sno_watermark_unit("sno_flake_watermark()"));
	else
	{
		parts.time = sno_watermark_number("sno_flake_watermark()", &named->definition.subject,
										  next_number, named);
		parts.node = nodes->first;
	}
	/* No id has a time or number after the last one, so return the last id. */
	if (parts.time > nodes->last)
		parts = (SnoFlakeParts) {nodes->last, PG_UINT64_MAX, PG_UINT64_MAX};
	return sno_value_datum(&named->layout, sno_flake_pack(&nodes->layout, parts));
}

SNO_FLAKE_MAKERS(sno_flake_watermark, flake_watermark)

static const void *
look_flake(const TriggerData *trigger, int column, MemoryContext context)
{
	static const Oid types[] = {
		[SNO_FLAKE_BIGINT] = INT8OID,
		[SNO_FLAKE_UUID] = UUIDOID,
		[SNO_FLAKE_BYTEA] = BYTEAOID
	};
	Named	   *named = MemoryContextAllocZero(context, sizeof(Named));
	const char *name = trigger->tg_trigger->tgargs[1];

	if (strlen(name) >= NAMEDATALEN)
		sno_definition_missing(&sno_flake_definitions, name);
	strlcpy(named->name, name, NAMEDATALEN);
	look_up(named);
	if (getBaseType(SPI_gettypeid(RelationGetDescr(trigger->tg_relation), column)) != types[named->layout.type])
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of relation \"%s\" is not of type %s",
						trigger->tg_trigger->tgargs[0], RelationGetRelationName(trigger->tg_relation),
						format_type_be(types[named->layout.type])),
				 errdetail("This is the type of the ids of generator \"%s\".", name)));
	return named;
}

static bool
flakes_equal(Datum one, Datum other, const void *known)
{
	const Named *named = known;
	SnoFlake	a = sno_value_from_datum(&named->layout, one);
	SnoFlake	b = sno_value_from_datum(&named->layout, other);

	return a.high == b.high && a.low == b.low;
}

/*
 * May readers have passed the id when this transaction ends?  See sno_is_passed() and
 * sno_next_first_number().
 */
static bool
flake_is_passed(Datum id, const void *known)
{
	const Named *named = known;
	const SnoNodes *nodes = &named->definition.nodes;
	SnoFlake	flake = sno_value_from_datum(&named->layout, id);
	SnoFlakeParts parts = {.node = nodes->first};
	SnoFlake	bound;

	if (nodes->layout.unit != 0)
		return sno_flake_unpack(&nodes->layout, flake).time < time_of(nodes, sno_guard_unit());
	parts.time = sno_next_first_number(sno_use_of(&sno_flake_definitions, cstring_to_text(named->name)));
	bound = sno_flake_pack(&nodes->layout, parts);
	return flake.low < bound.low;
}

PG_FUNCTION_INFO_V1(sno_flake_watermark_guard);
Datum
sno_flake_watermark_guard(PG_FUNCTION_ARGS)
{
	static const SnoGuard guard = {
		.function = "sno_flake_watermark_guard",
		.call = "sno_flake_watermark_guard('id', 'generator')",
		.arguments = "needs the names of one column and of its generator",
		.count = 2,
		.generate = "sno_flake_generate()",
		.watermark = "sno_flake_watermark()",
		.look = look_flake,
		.equal = flakes_equal,
		.passed = flake_is_passed
	};

	return sno_guard_row(fcinfo, &guard);
}
