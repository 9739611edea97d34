/*
 * definition.c
 *		The definitions of named generators: the table sno_generator.
 *
 * A definition is an ordinary row: transactional, dumped, and visible only to its
 * creator until that commits.  An exclusion constraint keeps the ids of any two apart.
 * What a generator issued is kept elsewhere (named/group.c), so nothing here endangers
 * it.
 *
 * Definitions are read as catalogs are, with a new snapshot each time and without a
 * check of privileges: EXECUTE on a function is the privilege, and for who uses the
 * generator the role that it may be restricted to (named/use.c).  The table's lock is not
 * waited for: callers try again.  They are written by SQL, which needs rights that callers
 * don't have.  It runs as the table's owner, as maintenance commands do: security-restricted,
 * with nothing but pg_catalog in its search path and all names qualified.  So nothing planted
 * is run, and a superuser's trigger on the table leaves nothing behind that runs later.
 *
 * Sessions remember the definitions that they use.  What logical replication brings is
 * dropped (sno_table_changed()): a definition without its state would let two servers issue
 * the same ids.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "catalog/definition.h"
#include "catalog/layout.h"
#include "catalog/leases.h"
#include "catalog/record.h"
#include "catalog/table.h"
#include "shared/clock.h"
#include "shared/reserve.h"
#include "type/fields.h"

enum
{
	NAME = 1, PARTITION, SEQUENCE_MIN, SEQUENCE_MAX, META,
	SYSTEM_IDENTIFIER, TIMELINE, KEY, DATABASE, HOME, ROLE,
	COLUMNS = ROLE
};

static const Oid column_types[COLUMNS] = {
	TEXTOID, INT4OID, INT8OID, INT8OID, INT4OID, INT8OID, INT4OID, TEXTOID,
	OIDOID, INT8OID, TEXTOID
};

SnoTable	sno_definitions = {
	.name = SNO_DEFINITION_TABLE,.types = column_types,.columns = COLUMNS,.version = 1
};

/* What a row says, but for the nodes of a layout. */
static SnoDefinition
definition_of(Relation rel, HeapTuple tuple)
{
	Datum		values[COLUMNS + 1];
	bool		null[COLUMNS + 1];
	SnoDefinition d = {0};

	for (int i = NAME; i <= COLUMNS; i++)
		values[i] = heap_getattr(tuple, i, RelationGetDescr(rel), &null[i]);
	d.partition = DatumGetInt32(values[PARTITION]);
	d.shard.min = DatumGetInt64(values[SEQUENCE_MIN]);
	d.shard.max = DatumGetInt64(values[SEQUENCE_MAX]);
	d.meta = null[META] ? -1 : DatumGetInt32(values[META]);
	d.made_here = !RecoveryInProgress() &&
		sno_record_is_ours(null[SYSTEM_IDENTIFIER] ? 0 : DatumGetInt64(values[SYSTEM_IDENTIFIER]),
						   null[TIMELINE] ? 0 : DatumGetInt32(values[TIMELINE]),
						   null[DATABASE] ? InvalidOid : DatumGetObjectId(values[DATABASE]),
						   null[HOME] ? 0 : DatumGetInt64(values[HOME]));
	if (!null[KEY])
		strlcpy(d.key, TextDatumGetCString(values[KEY]), NAMEDATALEN);
	if (!null[ROLE])
		strlcpy(d.role, TextDatumGetCString(values[ROLE]), NAMEDATALEN);
	return d;
}

/* Look the layout of a definition up.  False if there is none, or it has no such nodes. */
static bool
know_nodes(SnoDefinition *d)
{
	const SnoNamedLayout *l;

	if (!sno_is_flake(d))
		return true;
	l = sno_layout_by_id(d->partition - SNO_PARTITION_MAX);
	/* The shard of one that counts has more bits than the node. */
	if (l == NULL ||
		(l->layout.unit > 0 && (uint64) d->shard.max > sno_bits_max(l->layout.node_bits)))
		return false;
	d->nodes = sno_nodes(&l->layout, d->shard, d->key[0] != '\0');
	d->layout_is_new = l->is_new;
	return d->nodes.size > 0;
}

/* The definition by that name, as this transaction sees it.  Waits for no lock. */
SnoDefinitionLook
sno_definition_find(const char *name, SnoDefinition *definition)
{
	Relation	rel = sno_table_try_open(&sno_definitions, AccessShareLock);
	Oid			index;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found;

	if (rel == NULL)
		return SNO_DEFINITION_LOCKED;
	ScanKeyInit(&key, NAME, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(name));
	index = RelationGetPrimaryKeyIndex(rel, false);
	scan = systable_beginscan(rel, index, OidIsValid(index), NULL, 1, &key);
	tuple = systable_getnext(scan);
	found = HeapTupleIsValid(tuple);
	if (found)
		*definition = definition_of(rel, tuple);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	if (found && sno_is_flake(definition) && !sno_table_read(&sno_layouts, false))
		return SNO_DEFINITION_LAYOUT_LOCKED;
	if (found && !know_nodes(definition))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("generator \"%s\" has no valid layout", name),
				 errdetail("Layout %d is not in table \"%s\", or does not have the nodes of the generator.",
						   definition->partition - SNO_PARTITION_MAX, SNO_LAYOUT_TABLE),
				 errhint("Add the row of the layout again, or drop the generator.")));
	return found ? SNO_DEFINITION_FOUND : SNO_DEFINITION_NONE;
}

/*
 * Visit all definitions that a snapshot shows; NULL stands for one taken now.  Visits
 * none if the table is missing, altered or locked.
 */
void
sno_definition_visit(Snapshot snapshot, SnoDefinitionVisit visit, void *arg)
{
	Relation	rel = sno_table_look(&sno_definitions);
	SysScanDesc scan;
	HeapTuple	tuple;

	if (rel == NULL)
		return;
	scan = systable_beginscan(rel, InvalidOid, false, snapshot, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		SnoDefinition d = definition_of(rel, tuple);
		bool		null;
		Datum		name = heap_getattr(tuple, NAME, RelationGetDescr(rel), &null);

		if (!null && d.partition >= 0 && d.partition <= SNO_LAYOUT_PARTITION(SNO_LAYOUT_ID_MAX))
			visit(TextDatumGetCString(name), &d, arg);
	}
	systable_endscan(scan);
	relation_close(rel, AccessShareLock);
}

/* The name of a generator that uses a key, NULL if there is none.  Waits for the lock. */
char *
sno_definition_using_key(const char *key)
{
	Relation	rel = sno_table_open(&sno_definitions, AccessShareLock);
	ScanKeyData equal;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		null;
	char	   *name = NULL;

	ScanKeyInit(&equal, KEY, BTEqualStrategyNumber, F_TEXTEQ, CStringGetTextDatum(key));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &equal);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		name = TextDatumGetCString(heap_getattr(tuple, NAME, RelationGetDescr(rel), &null));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return name;
}

static void
add_partition(const char *name, const SnoDefinition *d, void *arg)
{
	Bitmapset **partitions = arg;

	if (!sno_is_flake(d))
		*partitions = bms_add_member(*partitions, d->partition);
}

/*
 * The partitions of all definitions, those of transactions in progress included; in
 * the current memory context.  Session generators avoid them.  That is a courtesy, so
 * it waits for no lock.
 */
Bitmapset *
sno_definition_partitions(void)
{
	Bitmapset  *partitions = NULL;
	SnapshotData dirty;

	InitDirtySnapshot(dirty);
	sno_definition_visit(&dirty, add_partition, &partitions);
	return partitions;
}

/* What find_overlap() looks for and finds */
typedef struct Overlap
{
	const SnoDefinition *wanted;
	char		name[NAMEDATALEN];	/* empty if there is none */
	SnoShard	shard;
} Overlap;

/* Note the first definition that overlaps the one wanted. */
static void
find_overlap(const char *name, const SnoDefinition *d, void *arg)
{
	Overlap    *o = arg;

	if (o->name[0] != '\0' || d->partition != o->wanted->partition ||
		!sno_shards_overlap(d->shard, o->wanted->shard))
		return;
	strlcpy(o->name, name, NAMEDATALEN);
	o->shard = d->shard;
}

/*
 * Until this transaction ends, no other one chooses what is free for a definition, and
 * no lock keeps this one from reading definitions.
 */
static void
choose_alone(void)
{
	LockRelationOid(sno_table_have(&sno_layouts), ShareUpdateExclusiveLock);
	LockRelationOid(sno_table_have(&sno_definitions), AccessShareLock);
}

/*
 * Move the shard of a definition up to the first one, at most up to `last`, that no other
 * definition has, those of transactions in progress included.  False if there is none.
 */
bool
sno_definition_next_free(SnoDefinition *d, int64 last)
{
	choose_alone();
	while (d->shard.max <= last)
	{
		Overlap		o = {.wanted = d};
		SnapshotData dirty;

		InitDirtySnapshot(dirty);
		sno_definition_visit(&dirty, find_overlap, &o);
		if (o.name[0] == '\0')
			return true;
		d->shard.max += o.shard.max + 1 - d->shard.min;
		d->shard.min = o.shard.max + 1;
	}
	return false;
}

void
sno_definition_missing(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("generator \"%s\" does not exist", name),
			 errhint("Create it with sno_create_generator() or sno_flake_create_generator().")));
}

/*
 * Choose a partition of this server's share that no row and no definition of this database
 * has; if there is one, one that no other database of this server uses.  Waits for the
 * tables.
 */
static int
choose_partition(void)
{
	Relation	rel;
	SnoSurvey	survey;
	int			partition;

	sno_partition_check_setting();
	if (sno_is_registered())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no partition can be chosen"),
				 errdetail("Parameter \"sno.registry\" is set, and the registry does not know named generators."),
				 errhint("Pass a partition that the registry leaves out, and that no other server has.")));
	choose_alone();
	sno_space_enter();
	rel = sno_leases_open_patiently(RowShareLock);
	sno_record_survey(rel, sno_clock_unit(), &survey);
	sno_leases_close(rel);
	survey.bounds.defined = sno_definition_partitions();
	partition = sno_partition_choose_unused(&survey.bounds, survey.holder);
	if (partition < 0)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no unused partition is left"),
				 errdetail("This server may choose partitions from %d to %d. Each of them was leased, or is that of a named generator.",
						   sno_partition_range.first, sno_partition_range.last),
				 errhint("Pass a partition that no other server has, or widen \"sno.partitions\".")));
	return partition;
}

static void
check_name(const char *name)
{
	Size		length = strlen(name);

	if (length == 0 || length >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid name of a generator: \"%s\"", name),
				 errdetail("It must have from 1 to %d bytes.", NAMEDATALEN - 1)));
}

/* Put the bounds in order, and check them. */
static void
check_bounds(SnoDefinition *d)
{
	int32		size;

	sno_fields_check("sequence", d->shard.min, SNO_SEQUENCE_MAX);
	sno_fields_check("sequence", d->shard.max, SNO_SEQUENCE_MAX);
	if (d->shard.min > d->shard.max)
		d->shard = (SnoShard) {d->shard.max, d->shard.min};
	size = d->shard.max - d->shard.min + 1;
	if (size < SNO_UNIT_SIZE_MIN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sequence bounds %d and %d are too close",
						(int) d->shard.min, (int) d->shard.max),
				 errdetail("They leave %d ids per %d ms; a generator needs at least %d.",
						   size, SNO_UNIT_MSEC, SNO_UNIT_SIZE_MIN)));
}

/*
 * Raise an error unless the definition is valid, as far as it is known what the registry
 * grants; put its bounds in order.
 */
void
sno_definition_check(SnoDefinition *d)
{
	sno_fields_check("partition", d->partition, SNO_PARTITION_MAX);
	check_bounds(d);
	if (sno_grant_is_for_anybody(d->partition))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition %d is one that the registry grants", d->partition),
				 errdetail("Any server may get it."),
				 errhint("Choose a partition that the registry leaves out.")));
}

/*
 * Run a statement on the table, as its owner.  Returns how many rows it changed.
 */
static uint64
change_definitions(const char *statement, int count, Oid *types, Datum *values, const char *nulls)
{
	Relation	rel = table_open(sno_table_have(&sno_definitions), RowExclusiveLock);
	Oid			user;
	int			context;
	int			level;
	uint64		rows;

	/* With this lock, too, this transaction can read without queueing behind others. */
	LockRelationOid(RelationGetRelid(rel), AccessShareLock);
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(rel->rd_rel->relowner,
						   context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION | SECURITY_NOFORCE_RLS);
	level = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute_with_args(statement, count, types, values, nulls, false, 0) < 0)
		elog(ERROR, "could not execute a statement on table \"%s\"", SNO_DEFINITION_TABLE);
	rows = SPI_processed;
	SPI_finish();
	AtEOXact_GUC(true, level);
	SetUserIdAndSecContext(user, context);
	table_close(rel, NoLock);
	return rows;
}

/* Raise the error that tells which definition conflicts with the one wanted. */
static void
refuse_conflict(const char *name, const SnoDefinition *d)
{
	Overlap		o = {.wanted = d};
	SnoDefinition same;

	if (sno_definition_find(name, &same) == SNO_DEFINITION_FOUND)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("generator \"%s\" already exists", name)));
	sno_definition_visit(NULL, find_overlap, &o);
	if (o.name[0] == '\0')
		return;
	ereport(ERROR,
			(errcode(ERRCODE_EXCLUSION_VIOLATION),
			 errmsg("generator \"%s\" would issue the same ids as generator \"%s\"", name, o.name),
			 sno_is_flake(d) ?
			 errdetail("Generator \"%s\" has nodes from %lld to %lld of that layout.",
					   o.name, (long long) o.shard.min, (long long) o.shard.max) :
			 errdetail("Generator \"%s\" has partition %d and sequences from %lld to %lld.",
					   o.name, d->partition, (long long) o.shard.min, (long long) o.shard.max),
			 sno_is_flake(d) ? errhint("Choose another node.") :
			 errhint("Choose another partition, or bounds that do not overlap.")));
}

#define INSERT_DEFINITION \
	"INSERT INTO sno_catalog.sno_generator " \
	"(name, partition, sequence_min, sequence_max, meta, system_identifier, timeline, key, database, home, role) " \
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"

void
sno_definition_insert(const char *name, const SnoDefinition *d)
{
	Oid			types[COLUMNS];
	Datum		values[COLUMNS] = {
		CStringGetTextDatum(name), Int32GetDatum(d->partition),
		Int64GetDatum(d->shard.min), Int64GetDatum(d->shard.max),
		Int32GetDatum(d->meta), Int64GetDatum((int64) GetSystemIdentifier()),
		Int32GetDatum((int32) GetWALInsertionTimeLine()), CStringGetTextDatum(d->key),
		ObjectIdGetDatum(MyDatabaseId), Int64GetDatum(sno_record_home()),
		CStringGetTextDatum(d->role)
	};
	const char	nulls[COLUMNS + 1] = {
		' ', ' ', ' ', ' ', d->meta < 0 ? 'n' : ' ', ' ', ' ', d->key[0] == '\0' ? 'n' : ' ', ' ', ' ',
		d->role[0] == '\0' ? 'n' : ' '
	};

	check_name(name);
	memcpy(types, column_types, sizeof(types));
	if (change_definitions(INSERT_DEFINITION " ON CONFLICT DO NOTHING",
				COLUMNS, types, values, nulls) > 0)
		return;
	refuse_conflict(name, d);
	/* The conflict is gone.  If not, PostgreSQL says what it is. */
	change_definitions(INSERT_DEFINITION, COLUMNS, types, values, nulls);
}

PG_FUNCTION_INFO_V1(sno_create_generator);
Datum
sno_create_generator(PG_FUNCTION_ARGS)
{
	SnoDefinition d = {.meta = -1};
	char	   *name;

	PreventCommandDuringRecovery("sno_create_generator()");
	if (PG_ARGISNULL(0) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name and bounds of a generator cannot be null")));
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	check_name(name);
	d.shard = (SnoShard) {PG_GETARG_INT32(2), PG_GETARG_INT32(3)};
	check_bounds(&d);
	if (!PG_ARGISNULL(4))
		d.meta = sno_fields_check("metabyte", PG_GETARG_INT32(4), SNO_META_MAX);
	d.partition = PG_ARGISNULL(1) ? choose_partition() : PG_GETARG_INT32(1);
	sno_definition_check(&d);
	sno_definition_insert(name, &d);
	PG_RETURN_INT32(d.partition);
}

PG_FUNCTION_INFO_V1(sno_drop_generator);
Datum
sno_drop_generator(PG_FUNCTION_ARGS)
{
	Oid			type = TEXTOID;
	Datum		name = PG_GETARG_DATUM(0);

	if (change_definitions("DELETE FROM sno_catalog.sno_generator WHERE name OPERATOR(pg_catalog.=) $1",
				1, &type, &name, NULL) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("generator \"%s\" does not exist", TextDatumGetCString(name))));
	PG_RETURN_VOID();
}

/* Let only members of a role use a generator; NULL lets everybody. */
PG_FUNCTION_INFO_V1(sno_restrict_generator);
Datum
sno_restrict_generator(PG_FUNCTION_ARGS)
{
	Oid			types[2] = {TEXTOID, TEXTOID};
	Datum		values[2] = {0};
	char		nulls[] = "  ";

	PreventCommandDuringRecovery("sno_restrict_generator()");
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name of a generator cannot be null")));
	values[0] = PG_GETARG_DATUM(0);
	if (PG_ARGISNULL(1))
		nulls[1] = 'n';
	else
	{
		const char *role = NameStr(*PG_GETARG_NAME(1));

		(void) get_role_oid(role, false);
		values[1] = CStringGetTextDatum(role);
	}
	if (change_definitions("UPDATE sno_catalog.sno_generator SET role = $2 WHERE name OPERATOR(pg_catalog.=) $1",
						   2, types, values, nulls) == 0)
		sno_definition_missing(TextDatumGetCString(values[0]));
	PG_RETURN_VOID();
}
