/*
 * definition.c
 *		The definitions of named generators: tables sno_generator and sno_flake_generator.
 *
 * A definition is an ordinary row: other transactions see it when the inserting transaction has
 * committed, and dumps contain it.  An exclusion constraint prevents two definitions whose
 * generators could issue the same ids.  The state of a generator is kept elsewhere
 * (named/group.c), and isn't lost when the definition is changed or dropped.  This file describes
 * the table of extension sno; flake/nodes.c describes the table of extension sno_flakes.
 *
 * Definitions are read like catalogs: with a new snapshot each time, and without a check of
 * privileges on the table.  Instead, users need EXECUTE on the functions that use generators and,
 * if a generator is restricted to a role, membership in the role (named/right.c).  The functions
 * below that read definitions don't wait for a lock on the table.  If the table is locked, their
 * callers try again later.
 *
 * The trigger of the table (sno_table_changed()) discards changes by logical replication.
 * Otherwise a subscriber would have a definition without the state of its generator, and would
 * issue the publisher's ids again.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "catalog/definition.h"
#include "catalog/home.h"
#include "catalog/layout.h"
#include "catalog/table.h"
#include "type/fields.h"

/* The columns that only sno_generator has, counted from 0 */
enum
{
	PARTITION, SEQUENCE_MIN, SEQUENCE_MAX, META
};

static const Oid column_types[] = {
	TEXTOID, TEXTOID, INT8OID, INT4OID, OIDOID, INT8OID, INT4OID, INT4OID, INT4OID, INT4OID, OIDOID
};

static SnoDefinitionLook
read_own(SnoDefinition *d, const char *name, const Datum *values, const bool *null)
{
	d->subject = (SnoSubject) {
		.kind = SNO_OF_GENERATOR,
		.partition = DatumGetInt32(values[PARTITION]),
		.shard = {DatumGetInt32(values[SEQUENCE_MIN]), DatumGetInt32(values[SEQUENCE_MAX])}
	};
	d->meta = null[META] ? -1 : DatumGetInt32(values[META]);
	return SNO_DEFINITION_FOUND;
}

static void
write_own(const SnoDefinition *d, Datum *values, char *nulls)
{
	values[PARTITION] = Int32GetDatum(d->subject.partition);
	values[SEQUENCE_MIN] = Int32GetDatum((int32) d->subject.shard.min);
	values[SEQUENCE_MAX] = Int32GetDatum((int32) d->subject.shard.max);
	values[META] = Int32GetDatum(d->meta);
	nulls[META] = d->meta < 0 ? 'n' : ' ';
}

SnoDefinitions sno_definitions = {
	.table = {.extension = "sno",.name = "sno_generator",.types = column_types,.columns = lengthof(column_types),.version = 1},
	.kind = SNO_OF_GENERATOR,
	.create = "sno_create_generator()",
	.restrict_to = "sno_restrict_generator()",
	.read = read_own,
	.write = write_own,
	.insert = "INSERT INTO sno_catalog.sno_generator "
	"(name, role, system_identifier, timeline, database, home, partition, sequence_min, sequence_max, meta) "
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
};

/* Read the definition with this name from its row. */
static SnoDefinitionLook
read_definition(const SnoDefinitions *in, const char *name, Relation rel, HeapTuple tuple,
				SnoDefinition *d)
{
	Datum		values[SNO_DEFINITION_COLUMNS_MAX + 1];
	bool		null[SNO_DEFINITION_COLUMNS_MAX + 1];

	for (int i = SNO_DEFINITION_NAME; i <= in->table.columns; i++)
		values[i] = heap_getattr(tuple, i, RelationGetDescr(rel), &null[i]);
	*d = (SnoDefinition) {.meta = -1};
	d->made_here = !RecoveryInProgress() &&
		sno_home_is_ours(sno_table_int64(values[SNO_DEFINITION_SYSTEM_IDENTIFIER],
										 null[SNO_DEFINITION_SYSTEM_IDENTIFIER]),
						 DatumGetInt32(values[SNO_DEFINITION_TIMELINE]),
						 DatumGetObjectId(values[SNO_DEFINITION_DATABASE]),
						 sno_table_int64(values[SNO_DEFINITION_HOME], null[SNO_DEFINITION_HOME]));
	if (!null[SNO_DEFINITION_ROLE])
		strlcpy(d->role, TextDatumGetCString(values[SNO_DEFINITION_ROLE]), NAMEDATALEN);
	if (!null[in->table.columns])
		d->role_oid = DatumGetObjectId(values[in->table.columns]);
	return in->read(d, name, &values[SNO_DEFINITION_OWN], &null[SNO_DEFINITION_OWN]);
}

/*
 * Find a definition by name, among committed definitions and those of this transaction.  Waits
 * for no lock.
 */
SnoDefinitionLook
sno_definition_find(SnoDefinitions *in, const char *name, SnoDefinition *definition)
{
	Relation	rel = sno_table_try_open(&in->table, AccessShareLock);
	Oid			index;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	SnoDefinitionLook look = SNO_DEFINITION_NONE;

	if (rel == NULL)
		return SNO_DEFINITION_LOCKED;
	ScanKeyInit(&key, SNO_DEFINITION_NAME, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(name));
	index = RelationGetPrimaryKeyIndex(rel, false);
	scan = systable_beginscan(rel, index, OidIsValid(index), NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		look = read_definition(in, name, rel, tuple, definition);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	/* Raise an error if the table of layouts couldn't be read because it is missing or altered. */
	if (look == SNO_DEFINITION_LAYOUT_LOCKED)
		(void) sno_table_read(&sno_layouts, false);
	return look;
}

/*
 * Visit all definitions that are visible to `snapshot`, or to a new snapshot if `snapshot` is
 * NULL.  Visits no definition if the table is missing, altered or locked.
 */
void
sno_definition_visit(SnoDefinitions *in, Snapshot snapshot, SnoDefinitionVisit visit, void *arg)
{
	Relation	rel = sno_table_look(&in->table);
	SysScanDesc scan;
	HeapTuple	tuple;

	if (rel == NULL)
		return;
	scan = systable_beginscan(rel, InvalidOid, false, snapshot, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		SnoDefinition d;
		bool		null;
		Datum		value = heap_getattr(tuple, SNO_DEFINITION_NAME, RelationGetDescr(rel), &null);
		char	   *name = null ? "" : TextDatumGetCString(value);

		(void) read_definition(in, name, rel, tuple, &d);
		if (!null && d.subject.partition >= 0 && d.subject.partition <= SNO_PARTITION_MAX)
			visit(name, &d, arg);
	}
	systable_endscan(scan);
	relation_close(rel, AccessShareLock);
}

static void
add_partition(const char *name, const SnoDefinition *d, void *arg)
{
	Bitmapset **partitions = arg;

	*partitions = bms_add_member(*partitions, d->subject.partition);
}

/*
 * Return the partitions of all definitions, including uncommitted definitions.  The set is
 * allocated in the current memory context.  Sessions that look for a partition avoid these
 * partitions.  If a session leases such a partition nevertheless, the named generator takes it
 * over later.
 * So the set needn't be complete: this function waits for no lock, and returns an empty set if
 * the table is locked.
 */
Bitmapset *
sno_definition_partitions(void)
{
	Bitmapset  *partitions = NULL;
	SnapshotData dirty;

	InitDirtySnapshot(dirty);
	sno_definition_visit(&sno_definitions, &dirty, add_partition, &partitions);
	return partitions;
}

/* The argument and the result of find_overlap() */
typedef struct Overlap
{
	const SnoSubject *wanted;	/* subject of the new definition */
	char		name[NAMEDATALEN];	/* of the definition found; empty if there is none */
	SnoShard	shard;
} Overlap;

/* If this is the first definition that overlaps the new one, copy its name and shard to *arg. */
static void
find_overlap(const char *name, const SnoDefinition *d, void *arg)
{
	Overlap    *o = arg;

	if (o->name[0] != '\0' || sno_subject_floats(&d->subject) ||
		!sno_subjects_overlap(&d->subject, o->wanted))
		return;
	strlcpy(o->name, name, NAMEDATALEN);
	o->shard = d->subject.shard;
}

/*
 * Lock the table, so that no other transaction chooses a partition or nodes for a definition
 * until this transaction ends.  The second lock lets this transaction read definitions without
 * queueing behind sessions that wait for the table's lock.
 */
void
sno_definition_choose_alone(SnoDefinitions *in)
{
	Oid			relid = sno_table_have(&in->table);

	LockRelationOid(relid, ShareUpdateExclusiveLock);
	LockRelationOid(relid, AccessShareLock);
}

void
sno_definition_missing(const SnoDefinitions *in, const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("generator \"%s\" does not exist", name),
			 errhint("Create it with %s. See doc/operations.md#a-schema-without-rows.", in->create)));
}

void
sno_definition_without_layout(const char *name, const SnoDefinition *d)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("generator \"%s\" has no valid layout", name),
			 errdetail("Layout \"%s\" does not exist, or does not have the nodes of the generator.",
					   d->layout),
			 errhint("Create the layout again, or drop the generator. See doc/operations.md#trouble.")));
}

void
sno_definition_check_name(const char *name)
{
	Size		length = strlen(name);

	if (length == 0 || length >= NAMEDATALEN || !sno_text_is_printable(name))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid name of a generator: \"%s\"", name),
				 errdetail("It must have from 1 to %d bytes, and no control characters.", NAMEDATALEN - 1)));
}

/*
 * Raise an error if another definition has the same name as the new definition, or overlaps the
 * new definition.  Returns if no such definition exists any more.
 */
static void
refuse_conflict(SnoDefinitions *in, const char *name, const SnoDefinition *d)
{
	Overlap		o = {.wanted = &d->subject};
	SnoDefinition same;
	SnoDefinitionLook look;

	look = sno_definition_find(in, name, &same);
	if (look != SNO_DEFINITION_NONE && look != SNO_DEFINITION_LOCKED)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("generator \"%s\" already exists", name)));
	sno_definition_visit(in, NULL, find_overlap, &o);
	if (o.name[0] == '\0')
		return;
	ereport(ERROR,
			(errcode(ERRCODE_EXCLUSION_VIOLATION),
			 errmsg("generator \"%s\" would issue the same ids as generator \"%s\"", name, o.name),
			 sno_is_flake(d) ?
			 errdetail("Generator \"%s\" has nodes from %lld to %lld of the same layout.",
					   o.name, (long long) o.shard.min, (long long) o.shard.max) :
			 errdetail("Generator \"%s\" has partition %d and sequences from %lld to %lld.",
					   o.name, d->subject.partition, (long long) o.shard.min, (long long) o.shard.max),
			 sno_is_flake(d) ? errhint("Choose another node.") :
			 errhint("Choose another partition, or bounds that do not overlap.")));
}

/*
 * Insert a definition.  Raises 42710 if another definition has its name, or 23P01 if another
 * definition overlaps it.
 */
void
sno_definition_insert(SnoDefinitions *in, const char *name, const SnoDefinition *d)
{
	Datum		values[SNO_DEFINITION_COLUMNS_MAX + 1];
	char		nulls[SNO_DEFINITION_COLUMNS_MAX + 1];
	int			count = in->table.columns - 1;	/* the trigger sets the last column */

	sno_definition_check_name(name);
	memset(nulls, ' ', sizeof(nulls));
	values[SNO_DEFINITION_NAME] = CStringGetTextDatum(name);
	values[SNO_DEFINITION_ROLE] = CStringGetTextDatum(d->role);
	nulls[SNO_DEFINITION_ROLE] = d->role[0] == '\0' ? 'n' : ' ';
	values[SNO_DEFINITION_SYSTEM_IDENTIFIER] = Int64GetDatum((int64) GetSystemIdentifier());
	values[SNO_DEFINITION_TIMELINE] = Int32GetDatum((int32) GetWALInsertionTimeLine());
	values[SNO_DEFINITION_DATABASE] = ObjectIdGetDatum(MyDatabaseId);
	values[SNO_DEFINITION_HOME] = Int64GetDatum(sno_home());
	in->write(d, &values[SNO_DEFINITION_OWN], &nulls[SNO_DEFINITION_OWN]);
	if (sno_table_change(&in->table, psprintf("%s ON CONFLICT DO NOTHING", in->insert), count,
					 in->table.types, &values[SNO_DEFINITION_NAME], &nulls[SNO_DEFINITION_NAME]) > 0)
		return;
	refuse_conflict(in, name, d);
	/* The conflict may be gone by now.  If it isn't, PostgreSQL raises its own error. */
	sno_table_change(&in->table, in->insert, count, in->table.types, &values[SNO_DEFINITION_NAME],
				 &nulls[SNO_DEFINITION_NAME]);
}

void
sno_definition_drop(SnoDefinitions *in, const char *name)
{
	const Oid	type = TEXTOID;
	Datum		value = CStringGetTextDatum(name);

	if (sno_table_change(&in->table, psprintf("DELETE FROM sno_catalog.%s WHERE name = $1",
								  in->table.name), 1, &type, &value, NULL) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("generator \"%s\" does not exist", name)));
}

/* Restrict the use of a generator to members of a role, or remove the restriction if `role` is NULL. */
void
sno_definition_restrict(SnoDefinitions *in, const char *name, const char *role)
{
	const Oid	types[2] = {TEXTOID, TEXTOID};
	Datum		values[2] = {
		CStringGetTextDatum(name), role == NULL ? (Datum) 0 : CStringGetTextDatum(role)
	};

	if (sno_table_change(&in->table, psprintf("UPDATE sno_catalog.%s SET role = $2 WHERE name = $1",
								  in->table.name), 2, types, values, role == NULL ? " n" : "  ") == 0)
		sno_definition_missing(in, name);
}

/* From now on, let a generator without fixed nodes issue only in units after `after`. */
void
sno_definition_advance(SnoDefinitions *in, const char *name, uint64 after)
{
	const Oid	types[2] = {TEXTOID, TIMESTAMPTZOID};
	Datum		values[2] = {
		CStringGetTextDatum(name), TimestampTzGetDatum(sno_unit_to_timestamptz(after))
	};

	if (sno_table_change(&in->table, psprintf("UPDATE sno_catalog.%s SET after = greatest(after, $2) WHERE name = $1",
								  in->table.name), 2, types, values, NULL) == 0)
		sno_definition_missing(in, name);
}
