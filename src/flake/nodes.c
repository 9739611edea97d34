/*
 * nodes.c
 *		Generators of flakes: the table sno_flake_generator, and the functions that
 *		change it.
 *
 * A generator of flakes is a named generator whose shard is one or more nodes of a layout.  If its
 * definition has only the number of nodes, choose.c chooses the nodes.
 *
 * Each counter counts by itself: two counters with the same node issue the same numbers.  The shard
 * of a counter also contains a hash of the counter's name, in the bits above the node, so each counter
 * has a state and a row of its own.  If a counter is dropped and created again with the same name, it
 * goes on after the numbers that it issued before.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/layout.h"
#include "compat.h"
#include "flake/choose.h"
#include "flake/nodes.h"
#include "generate/refuse.h"
#include "named/define.h"
#include "named/state.h"
#include "shared/partition.h"
#include "shared/primary.h"
#include "type/fields.h"

/* The number of bits of a shard's bounds in sno_lease */
#define SHARD_BITS		48

/* The columns that only sno_flake_generator has, in their order */
enum
{
	LAYOUT, NODE_FIRST, NODE_LAST, COUNTS, KEY, NODES, AFTER
};

static const Oid column_types[] = {
	TEXTOID, TEXTOID, INT8OID, INT4OID, OIDOID, INT8OID, TEXTOID, INT8OID, INT8OID, BOOLOID, TEXTOID, INT4OID, TIMESTAMPTZOID, OIDOID
};

/*
 * Return the shard of a counter: its node, with a hash of its name in the bits above.  The hash is
 * FNV-1a, which is the same on all machines.
 */
static SnoShard
counter_shard(const SnoLayout *layout, int64 node, const char *name)
{
	unsigned	bits = layout->node_bits;
	uint64		hash = UINT64CONST(0xCBF29CE484222325);

	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char) *name) * UINT64CONST(0x100000001B3);
	node |= (int64) ((hash & sno_bits_max(SHARD_BITS - bits)) << bits);
	return (SnoShard) {node, node};
}

/* Return the shard that stands for this number of nodes, which are not chosen yet. */
static SnoShard
unchosen(int64 nodes)
{
	return (SnoShard) {-nodes, -1};
}

/*
 * Set the subject and the nodes of a definition from its name, layout and nodes.  `nodes` may come
 * from unchosen().  Returns false if the layout doesn't have these nodes, or if a generator can't
 * have so many of them.
 */
static bool
complete(SnoDefinition *d, const char *name, const SnoLayout *layout, SnoShard nodes)
{
	int64		last = (int64) sno_bits_max(layout->node_bits);

	if (nodes.min < 0 ? layout->unit == 0 || nodes.max != -1 || -nodes.min > last + 1 : nodes.max > last)
		return false;
	d->subject = (SnoSubject) {
		.kind = SNO_OF_NODES,
		.layout = *layout,
		.shard = layout->unit == 0 ? counter_shard(layout, nodes.min, name) : nodes
	};
	d->nodes = sno_nodes(layout, d->subject.shard, d->key[0] != '\0');
	return d->nodes.size > 0;
}

static SnoDefinitionLook
read_own(SnoDefinition *d, const char *name, const Datum *values, const bool *null)
{
	SnoShard	nodes = null[NODES] ?
		(SnoShard) {
			sno_table_int64(values[NODE_FIRST], null[NODE_FIRST]),
			sno_table_int64(values[NODE_LAST], null[NODE_LAST])
		} :
		unchosen(DatumGetInt32(values[NODES]));
	const SnoNamedLayout *layout;

	/* If the constraints of the table were dropped, a row may have no layout. */
	if (!null[LAYOUT])
		strlcpy(d->layout, TextDatumGetCString(values[LAYOUT]), NAMEDATALEN);
	if (!null[KEY])
		strlcpy(d->key, TextDatumGetCString(values[KEY]), NAMEDATALEN);
	if (!null[AFTER])
		(void) sno_timestamptz_to_unit(DatumGetTimestampTz(values[AFTER]), &d->after);
	d->subject.kind = SNO_OF_NODES;
	d->subject.shard = nodes;
	if (!sno_layout_look())
		return SNO_DEFINITION_LAYOUT_LOCKED;
	layout = sno_layout_known(d->layout);
	return layout != NULL && complete(d, name, &layout->layout, nodes) ?
		SNO_DEFINITION_FOUND : SNO_DEFINITION_WITHOUT_LAYOUT;
}

static void
write_own(const SnoDefinition *d, Datum *values, char *nulls)
{
	bool		counts = d->subject.layout.unit == 0;
	bool		floats = sno_subject_floats(&d->subject);
	uint64		nodes = sno_bits_max(d->subject.layout.node_bits);

	values[LAYOUT] = CStringGetTextDatum(d->layout);
	values[NODE_FIRST] = Int64GetDatum((int64) (d->subject.shard.min & nodes));
	values[NODE_LAST] = Int64GetDatum((int64) (d->subject.shard.max & nodes));
	values[COUNTS] = BoolGetDatum(counts);
	values[KEY] = CStringGetTextDatum(d->key);
	values[NODES] = Int32GetDatum((int32) -d->subject.shard.min);
	nulls[NODE_FIRST] = nulls[NODE_LAST] = floats ? 'n' : ' ';
	nulls[KEY] = d->key[0] == '\0' ? 'n' : ' ';
	nulls[NODES] = floats ? ' ' : 'n';
	nulls[AFTER] = 'n';
}

/*
 * Return the layout of a definition, as it was when the definition was read.  Another layout may
 * have the same name now.
 */
SnoNamedLayout
sno_nodes_layout(const SnoDefinition *d)
{
	SnoNamedLayout layout = {
		.type = sno_layout_type(&d->subject.layout),.layout = d->subject.layout
	};

	strlcpy(layout.name, d->layout, NAMEDATALEN);
	return layout;
}

/* Raise an error, because no nodes were free for a generator. */
pg_noreturn static void
refuse_nodes(const SnoWait *wait)
{
	const SnoDefinition *d = wait->definition;
	char		definition[SNO_LAYOUT_TEXT_SIZE];

	sno_layout_print(&d->subject.layout, definition);
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("no node of layout \"%s\" was free for generator \"%s\" within %d ms",
					d->layout, wait->generator, sno_wait_msec(wait)),
			 sno_is_registered() ?
			 errdetail("The registry grants no nodes of this layout or too few in a block, other generators use all granted nodes, or the clock is behind the ids of these nodes.") :
			 errdetail("This server's share, partitions from %d to %d, has fewer nodes than %lld, other generators use them, or the clock is behind the ids of these nodes.",
					   sno_partition_range.first, sno_partition_range.last, (long long) -d->subject.shard.min),
			 sno_is_registered() ?
			 errhint("In the database of the registry, call sno_registry_add_layout('%s', ...), or let a holder have a larger share. See doc/servers.md#nodes-of-other-systems-ids.",
					 definition) :
			 errhint("Widen \"sno.partitions\", or drop generators of this layout. See doc/operations.md#trouble.")));
}

/* Raise an error, because a generator has nodes that the registry grants. */
pg_noreturn static void
refuse_registered(const char *generator, const SnoDefinition *d)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("nodes from %lld to %lld of generator \"%s\" are among those that the registry grants",
					(long long) d->subject.shard.min, (long long) d->subject.shard.max, generator),
			 errdetail("The registry may grant them to any server."),
			 errhint("Create the generator without a node, or with one that the registry leaves out. See doc/servers.md#nodes-of-other-systems-ids.")));
}

/* Raise the error that reports `wait->obstacle`, if the obstacle concerns nodes.  Otherwise returns. */
static void
refuse(const SnoWait *wait)
{
	switch (wait->obstacle)
	{
		case SNO_NO_GRANT:
			sno_refuse_grant(wait, wait->generator);
		case SNO_NO_NODES:
			refuse_nodes(wait);
		case SNO_REGISTERED:
			refuse_registered(wait->generator, wait->definition);
		default:
			break;
	}
}

static const SnoChooser chooser = {
	.find_defined = sno_choose_find_defined,
	.choose = sno_choose_nodes,
	.refuse = refuse
};

SnoDefinitions sno_flake_definitions = {
	.table = {.extension = "sno_flakes",.name = "sno_flake_generator",.types = column_types,.columns = lengthof(column_types),
	.source = &sno_layouts,.version = 1},
	.kind = SNO_OF_NODES,
	.create = "sno_flake_create_generator()",
	.restrict_to = "sno_flake_restrict_generator()",
	.read = read_own,
	.write = write_own,
	.insert = "INSERT INTO sno_catalog.sno_flake_generator "
	"(name, role, system_identifier, timeline, database, home, layout, node_first, node_last, counts, key, nodes, after) "
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
	.chooser = &chooser
};

/*
 * Return the name of a generator that uses a key, or NULL if no generator does, or if there is no
 * table of generators.  Waits for the lock of the table.
 */
char *
sno_nodes_using_key(const char *key)
{
	Relation	rel;
	ScanKeyData equal;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		null;
	char	   *name = NULL;

	if (!OidIsValid(sno_table_find(sno_flake_definitions.table.name)))
		return NULL;
	rel = sno_table_open(&sno_flake_definitions.table, AccessShareLock);
	ScanKeyInit(&equal, SNO_DEFINITION_OWN + KEY, BTEqualStrategyNumber, F_TEXTEQ, CStringGetTextDatum(key));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &equal);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		name = TextDatumGetCString(heap_getattr(tuple, SNO_DEFINITION_NAME, RelationGetDescr(rel), &null));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return name;
}

/*
 * Return the functions of library sno_seal that make ciphers.  Raises an error if extension sno_seal,
 * which has the keys, isn't installed: a generator may outlive the extension.
 */
const SnoCiphers *
sno_nodes_ciphers(const char *key)
{
	static const SnoCiphers *ciphers;

	if (!OidIsValid(get_extension_oid(SNO_SEAL_EXTENSION, true)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("key \"%s\" cannot be used without extension \"%s\"",
						key, SNO_SEAL_EXTENSION),
				 errhint("Install it with CREATE EXTENSION %s. See doc/operations.md#trouble.", SNO_SEAL_EXTENSION)));
	if (ciphers == NULL)
		ciphers = ((SnoCiphersFunction)
				   load_external_function(SNO_SEAL_LIBRARY, SNO_CIPHERS_FUNCTION, true, NULL)) ();
	return ciphers;
}

/* Raise an error, because this server's share of a layout's nodes is too small. */
pg_noreturn static void
refuse_share(const SnoNamedLayout *layout, SnoShard share)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("no node of layout \"%s\" is free", layout->name),
			 share.max < share.min ?
			 errdetail("This server's share, partitions from %d to %d, is too small for a node.",
					   sno_partition_range.first, sno_partition_range.last) :
			 errdetail("This server may choose nodes from %lld to %lld, by its share of the partitions.",
					   (long long) share.min, (long long) share.max),
			 errhint("Pass a node that no other server has, or widen \"sno.partitions\". See doc/operations.md#trouble.")));
}

/*
 * Choose the node of a counter for which no node was passed: the first node of this server's share.
 * Other counters may have the same node.
 */
static int64
choose_node(const SnoNamedLayout *layout)
{
	SnoShard	share;

	if (layout->layout.node_bits == 0)
		return 0;				/* the only node */
	sno_partition_check_setting();
	if (sno_is_registered())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no node of layout \"%s\" can be chosen", layout->name),
				 errdetail("Parameter \"sno.registry\" is set, and the registry grants no nodes of layouts that count."),
				 errhint("Pass a node that no other server has. See doc/servers.md#nodes-of-other-systems-ids.")));
	share = sno_chosen_share(&layout->layout);
	if (share.max < share.min)
		refuse_share(layout, share);
	return share.min;
}

/*
 * Raise an error if there is no registry, and this server's share has too few nodes for a generator
 * that floats.
 */
static void
check_share(const SnoNamedLayout *layout, int64 nodes)
{
	SnoShard	share;

	sno_partition_check_setting();
	share = sno_chosen_share(&layout->layout);
	if (!sno_is_registered() && share.max - share.min + 1 < nodes)
		refuse_share(layout, share);
}

/* Raise an error if a generator's nodes are known to be among those that the registry grants. */
static void
check_registry(const char *name, const SnoDefinition *d)
{
	SnoNodeRange range;

	if (!sno_is_registered() || d->subject.layout.unit == 0 || sno_subject_floats(&d->subject))
		return;
	sno_space_enter();
	range = sno_granted_range(sno_granted_of(&d->subject.layout));
	if (range.known && d->subject.shard.min <= range.last && d->subject.shard.max >= range.first)
		refuse_registered(name, d);
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
				 errdetail("A generator that counts has a single node.") :
				 errdetail("It can have at most %lld, and the last node is %lld.",
						   (long long) Min(most, last + 1), (long long) last)));
}

/*
 * Record in a definition that a key seals the ids.  Other sessions can't drop the key until this
 * transaction ends.
 */
static void
use_key(SnoDefinition *d, const SnoNamedLayout *layout, const char *key)
{
	if (layout->type != SNO_FLAKE_BIGINT)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("ids of layout \"%s\" cannot be sealed", layout->name),
				 errdetail("Only ids of type bigint can be.")));
	sno_nodes_ciphers(key)->hold(key);
	strlcpy(d->key, key, NAMEDATALEN);
}

PG_FUNCTION_INFO_V1(sno_flake_create_generator);
Datum
sno_flake_create_generator(PG_FUNCTION_ARGS)
{
	SnoDefinition d = {.meta = -1};
	SnoNamedLayout layout;
	bool		floats;
	char	   *name;
	int64		nodes,
				node;

	sno_owner_check(fcinfo);
	sno_require_primary("sno_flake_create_generator()");
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name, layout and number of nodes of a generator cannot be null")));
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	layout = *sno_layout_by_name(PG_GETARG_TEXT_PP(1));
	nodes = PG_GETARG_INT32(3);
	if (!PG_ARGISNULL(4))
		use_key(&d, &layout, text_to_cstring(PG_GETARG_TEXT_PP(4)));
	floats = PG_ARGISNULL(2) && layout.layout.unit != 0;
	node = floats ? 0 : PG_ARGISNULL(2) ? choose_node(&layout) : PG_GETARG_INT64(2);
	check_nodes(&layout, node, nodes);
	if (floats)
		check_share(&layout, nodes);
	strlcpy(d.layout, layout.name, NAMEDATALEN);
	(void) complete(&d, name, &layout.layout, floats ? unchosen(nodes) : (SnoShard) {node, node + nodes - 1});
	check_registry(name, &d);
	if (layout.layout.unit != 0 && d.nodes.end < sno_clock_msec())
		sno_state_out_of_time(&d.nodes);
	sno_definition_insert(&sno_flake_definitions, name, &d);
	if (floats)
		PG_RETURN_NULL();
	PG_RETURN_INT64(node);
}

PG_FUNCTION_INFO_V1(sno_flake_drop_generator);
Datum
sno_flake_drop_generator(PG_FUNCTION_ARGS)
{
	sno_owner_check(fcinfo);
	sno_definition_drop(&sno_flake_definitions, text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(sno_flake_restrict_generator);
Datum
sno_flake_restrict_generator(PG_FUNCTION_ARGS)
{
	return sno_define_restrict(fcinfo, &sno_flake_definitions);
}
