/*
 * issue.c
 *		Generators of ids of other systems: sno_flake_create_generator(), sno_flake_generate(),
 *		sno_flake_generate_uuid(), sno_flake_generate_bytea(), sno_flake_advance().
 *
 * Such a generator is a named one.  Its partition is the number of a layout, its shard
 * is some nodes of that.  core/flake.h tells how a state word becomes an id.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "core/sparx.h"
#include "flake/id.h"
#include "named/call.h"
#include "seal/key.h"
#include "shared/partition.h"

/* The tables have bounds of shards of this many bits. */
#define SHARD_BITS		48

/* An older generator's clock may have been that far ahead of ours. */
#define AHEAD_MAX_MSEC	INT64CONST(3600000)

/* What a call remembers. */
typedef struct FlakeCall
{
	SnoCall		call;
	uint64		version;		/* of the definition, when the rest was looked up */
	SnoNamedLayout layout;
	bool		sealed;
	SnoSparx	seal;
	MemoryContextCallback wipe;
} FlakeCall;

static void
wipe_call(void *arg)
{
	explicit_bzero(arg, sizeof(FlakeCall));
}

/* The layout of a generator, which is gone only if the extension was dropped meanwhile. */
static const SnoNamedLayout *
layout_of(const char *name, const SnoDefinition *d)
{
	const SnoNamedLayout *layout = sno_layout_by_id(d->partition - SNO_PARTITION_MAX);

	if (layout == NULL)
		sno_definition_missing(name);
	return layout;
}

/* Look up what the definition says now. */
static void
refresh_call(FlakeCall *call, SnoFlakeType type, MemoryContext context)
{
	SnoUse	   *use = call->call.use;

	call->call.use = NULL;		/* in case of an error */
	call->layout = *layout_of(use->name, &use->definition);
	sno_flake_check_type(&call->layout, type, "sno_flake_generate");
	call->sealed = use->definition.key[0] != '\0';
	if (call->sealed)
	{
		sno_key_schedule(use->definition.key, &call->seal);
		if (call->wipe.func == NULL)
		{
			call->wipe = (MemoryContextCallback) {.func = wipe_call,.arg = call};
			MemoryContextRegisterResetCallback(context, &call->wipe);
		}
	}
	call->version = use->version;
	call->call.use = use;
}

/* The next id of the generator that the first argument names. */
static Datum
next_flake(FunctionCallInfo fcinfo, SnoFlakeType type)
{
	FlakeCall  *call = fcinfo->flinfo->fn_extra;
	const SnoNodes *nodes;
	SnoFlakeParts parts;
	SnoFlake	id;
	uint64		word;

	if (unlikely(call == NULL || !sno_call_knows(&call->call, fcinfo, 0)))
	{
		PreventCommandDuringRecovery("sno_flake_generate()");
		call = (FlakeCall *) sno_call_remember(fcinfo, 0, sizeof(FlakeCall), true);
		refresh_call(call, type, fcinfo->flinfo->fn_mcxt);
	}
	word = sno_use_next_flake(call->call.use);
	if (unlikely(call->version != call->call.use->version))
		refresh_call(call, type, fcinfo->flinfo->fn_mcxt);
	nodes = &call->call.use->definition.nodes;
	parts = sno_flake_parts(nodes, word);
	if (unlikely(parts.time > nodes->last))
		sno_flake_out_of_time(nodes);
	id = sno_flake_pack(&nodes->layout, parts);
	if (call->sealed)
		id.low = sno_sparx_encrypt(&call->seal, id.low);
	return sno_flake_datum(&call->layout, id);
}

SNO_FLAKE_MAKERS(sno_flake_generate, next_flake)

/* The first of those nodes that are this server's share, as of partitions. */
static int64
share_of(int first_partition, unsigned node_bits)
{
	if (node_bits >= 16)
		return (int64) first_partition << (node_bits - 16);
	return (((int64) first_partition << node_bits) + SNO_PARTITION_MAX) >> 16;
}

/* Choose nodes in this server's share: free ones, but for generators that count. */
static void
choose_nodes(SnoDefinition *d, const SnoNamedLayout *layout, int64 nodes)
{
	unsigned	bits = layout->layout.node_bits;
	bool		counts = layout->layout.unit == 0;
	int64		first = share_of(sno_partition_range.first, bits);
	int64		last = share_of(sno_partition_range.last + 1, bits) - 1;

	d->shard = (SnoShard) {0, nodes - 1};
	if (counts && bits == 0)
		return;					/* there is no other */
	sno_partition_check_setting();
	if (sno_is_registered())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no node of layout \"%s\" can be chosen", layout->name),
				 errdetail("Parameter \"sno.registry\" is set, and the registry grants no nodes."),
				 errhint("Pass a node that no other server has.")));
	d->shard = (SnoShard) {first, first + nodes - 1};
	if (counts ? first > last : !sno_definition_next_free(d, last))
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no node of layout \"%s\" is free", layout->name),
				 first > last ?
				 errdetail("Partitions from %d to %d are too small a share to have a node.",
						   sno_partition_range.first, sno_partition_range.last) :
				 errdetail("This server may choose nodes from %lld to %lld, by its share of the partitions.",
						   (long long) first, (long long) last),
				 errhint("Pass a node that no other server has, or widen \"sno.partitions\".")));
}

/*
 * Generators that count do so each by itself: two of them issue the same numbers.  So the
 * shard of one has its name, too, in the bits above the node: as FNV-1a, which is the same
 * on all machines, because dumps have the shard.  If the generator is dropped and created
 * again, it goes on where it was.
 */
static void
add_name(SnoDefinition *d, const SnoNamedLayout *layout, const char *name)
{
	unsigned	bits = layout->layout.node_bits;
	uint64		hash = UINT64CONST(0xCBF29CE484222325);

	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char) *name) * UINT64CONST(0x100000001B3);
	d->shard.min |= (int64) ((hash & sno_bits_max(SHARD_BITS - bits)) << bits);
	d->shard.max = d->shard.min;
}

static void
check_nodes(const SnoNamedLayout *layout, int64 node, int64 nodes)
{
	int64		last = (int64) sno_bits_max(layout->layout.node_bits);
	int64		most = SNO_FLAKE_SEQUENCES / sno_layout_slots(&layout->layout) /
		sno_flake_size(&layout->layout, 1);

	if (node < 0 || node > last)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("node %lld is out of range", (long long) node),
				 errdetail("A node of layout \"%s\" is from 0 to %lld.",
						   layout->name, (long long) last)));
	if (nodes < 1 || nodes > last + 1 - node || sno_flake_size(&layout->layout, nodes) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a generator cannot have %lld nodes of layout \"%s\" from %lld on",
						(long long) nodes, layout->name, (long long) node),
				 layout->layout.unit == 0 ?
				 errdetail("One that counts has a single node.") :
				 errdetail("It can have at most %lld, and the last node is %lld.",
						   (long long) Min(most, last + 1), (long long) last)));
}

/* Let a key seal the ids. */
static void
use_key(SnoDefinition *d, const SnoNamedLayout *layout, const char *key)
{
	if (layout->type != SNO_FLAKE_BIGINT)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("ids of layout \"%s\" cannot be sealed", layout->name),
				 errdetail("Only ids of type bigint can be.")));
	sno_key_hold(key);
	strlcpy(d->key, key, NAMEDATALEN);
}

PG_FUNCTION_INFO_V1(sno_flake_create_generator);
Datum
sno_flake_create_generator(PG_FUNCTION_ARGS)
{
	SnoDefinition d = {.meta = -1};
	SnoNamedLayout layout;
	bool		chosen = PG_ARGISNULL(2);
	char	   *name;
	int64		nodes,
				node;

	PreventCommandDuringRecovery("sno_flake_create_generator()");
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name, layout and number of nodes of a generator cannot be null")));
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	layout = *sno_layout_by_name(PG_GETARG_TEXT_PP(1));
	nodes = PG_GETARG_INT32(3);
	if (!PG_ARGISNULL(4))
		use_key(&d, &layout, text_to_cstring(PG_GETARG_TEXT_PP(4)));
	check_nodes(&layout, chosen ? 0 : PG_GETARG_INT64(2), nodes);
	d.partition = SNO_LAYOUT_PARTITION(layout.id);
	if (chosen)
		choose_nodes(&d, &layout, nodes);
	else
		d.shard = (SnoShard) {PG_GETARG_INT64(2), PG_GETARG_INT64(2) + nodes - 1};
	node = d.shard.min;
	d.nodes = sno_nodes(&layout.layout, d.shard, d.key[0] != '\0');
	if (layout.layout.unit == 0)
		add_name(&d, &layout, name);
	else if (d.nodes.end < sno_clock_msec())
		sno_flake_out_of_time(&d.nodes);
	sno_definition_insert(name, &d);
	PG_RETURN_INT64(node);
}

/* The state word of the generator if it goes on after this id. */
static uint64
word_after(const SnoNodes *nodes, SnoFlake after)
{
	uint64		word;
	bool		found = sno_flake_after(nodes, after, &word);

	if (nodes->layout.unit == 0)
	{
		if (!found)
			sno_flake_out_of_time(nodes);
	}
	else if (!found || SNO_WORD_UNIT(word) > (uint64) (sno_clock_msec() + AHEAD_MAX_MSEC) / SNO_UNIT_MSEC)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the id is of a time more than an hour ahead"),
				 errdetail("The generator would issue nothing until then.")));
	return word;
}

PG_FUNCTION_INFO_V1(sno_flake_advance);
Datum
sno_flake_advance(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	SnoNamedLayout layout;
	SnoDefinition d;
	SnoFlake	after = {.low = (uint64) PG_GETARG_INT64(1)};
	SnoGenerator issued = {0};

	PreventCommandDuringRecovery("sno_flake_advance()");
	if (!sno_use_find(name, &d))
		sno_definition_missing(name);
	sno_use_check(name, &d, true);
	layout = *layout_of(name, &d);
	sno_flake_check_type(&layout, SNO_FLAKE_BIGINT, NULL);
	if (d.key[0] != '\0')
	{
		SnoSparx	seal;

		sno_key_schedule(d.key, &seal);
		after.low = sno_sparx_decrypt(&seal, after.low);
		explicit_bzero(&seal, sizeof(seal));
	}
	/* Not the id that was sealed is told, but what was passed. */
	if (!sno_flake_fits(&layout, after))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("bigint %lld is no id of generator \"%s\"",
						(long long) PG_GETARG_INT64(1), name)));
	issued.word = word_after(&d.nodes, after);
	/* A time is used up on both sides. */
	issued.wall_safe = layout.layout.unit == 0 ? 0 : SNO_WORD_UNIT(issued.word);
	sno_use_restore(name, &d, &issued);
	PG_RETURN_VOID();
}
