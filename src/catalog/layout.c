/*
 * layout.c
 *		The layouts of ids of other systems: the table sno_layout.
 *
 * Rows are never changed or deleted: functions that read an id by its layout are
 * immutable.  A session reads the whole table at once, and again when a row was added.
 * One that was added by a transaction that rolled back is forgotten that way, too.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "commands/trigger.h"
#include "replication/logicalworker.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/layout.h"
#include "catalog/table.h"

enum
{
	ID = 1, NAME, EPOCH, UNIT, TIME_BITS, NODE_BITS, SEQUENCE_BITS, NODE_LAST, DIGITS,
	COLUMNS = DIGITS
};

static const Oid column_types[COLUMNS] = {
	INT2OID, TEXTOID, TIMESTAMPTZOID, INT4OID, INT4OID, INT4OID, INT4OID, BOOLOID, TEXTOID
};

/* Changes whenever there may be other layouts. */
uint64		sno_layouts_version = 1;

static Oid	table;
static uint64 version_read;
static MemoryContext context;	/* where they are */
static SnoNamedLayout *layouts;
static int	count;

/*
 * Plans may have constants that were computed from a layout.  If the transaction that
 * added it rolls back, they are made again.
 */
static void
layouts_changed(void)
{
	sno_layouts_version++;
	ResetPlanCache();
}

static SnoFlakeType
type_of(const SnoLayout *layout)
{
	unsigned	bits = sno_layout_bits(layout);

	return bits <= 64 ? SNO_FLAKE_BIGINT : bits == 128 ? SNO_FLAKE_UUID : SNO_FLAKE_BYTEA;
}

/* Unix time in ms */
static int64
msec_of(TimestampTz at)
{
	return at / 1000 + (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * INT64CONST(86400000);
}

static SnoNamedLayout
layout_of(Relation rel, HeapTuple tuple)
{
	Datum		values[COLUMNS + 1];
	bool		null[COLUMNS + 1];
	SnoNamedLayout l = {0};

	for (int i = ID; i <= COLUMNS; i++)
		values[i] = heap_getattr(tuple, i, RelationGetDescr(rel), &null[i]);
	l.id = DatumGetInt16(values[ID]);
	l.layout = (SnoLayout) {
		.epoch = null[EPOCH] ? 0 : msec_of(DatumGetTimestampTz(values[EPOCH])),
		.unit = DatumGetInt32(values[UNIT]),
		.time_bits = DatumGetInt32(values[TIME_BITS]),
		.node_bits = DatumGetInt32(values[NODE_BITS]),
		.sequence_bits = DatumGetInt32(values[SEQUENCE_BITS]),
		.node_last = DatumGetBool(values[NODE_LAST])
	};
	l.type = type_of(&l.layout);
	l.is_new = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
	l.digits = null[DIGITS] ? NULL : TextDatumGetCString(values[DIGITS]);
	strlcpy(l.name, TextDatumGetCString(values[NAME]), NAMEDATALEN);
	return l;
}

/*
 * Read the table, unless that was done since it changed last.  False if another session's
 * lock is in the way, and we don't wait.
 */
static bool
read_layouts(bool wait)
{
	uint64		seen = sno_layouts_version;
	MemoryContext fresh,
				caller;
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	SnoNamedLayout *read;
	int			size = 32,
				n = 0;

	if (version_read == seen)
		return true;
	sno_table_watch(&table, layouts_changed);
	table = sno_table_require(SNO_LAYOUT_TABLE);
	rel = wait ? table_open(table, AccessShareLock) : sno_table_try_open(table, AccessShareLock);
	if (rel == NULL)
		return false;
	fresh = AllocSetContextCreate(CurrentMemoryContext, "sno layouts", ALLOCSET_SMALL_SIZES);
	caller = MemoryContextSwitchTo(fresh);
	read = palloc(size * sizeof(SnoNamedLayout));
	sno_table_check(rel, SNO_LAYOUT_TABLE, column_types, COLUMNS);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (n == size)
			read = repalloc(read, (size *= 2) * sizeof(SnoNamedLayout));
		read[n++] = layout_of(rel, tuple);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	MemoryContextSwitchTo(caller);

	if (context != NULL)
		MemoryContextDelete(context);
	MemoryContextSetParent(fresh, CacheMemoryContext);
	context = fresh;
	layouts = read;
	count = n;
	version_read = seen;
	return true;
}

/*
 * Has this layout the number, as they were read?  False, too, if there may be others since
 * then.
 */
bool
sno_layout_is_present(int id, const SnoLayout *layout)
{
	if (version_read != sno_layouts_version)
		return false;
	for (int i = 0; i < count; i++)
		if (layouts[i].id == id)
			return sno_layouts_equal(&layouts[i].layout, layout);
	return false;
}

/* Have the layouts without waiting for a lock.  False if one is in the way. */
bool
sno_layouts_try_read(void)
{
	return read_layouts(false);
}

/*
 * The layout by that name, or an error.  It is good as long as sno_layouts_version
 * stays the same.
 */
const SnoNamedLayout *
sno_layout_by_name(const text *name)
{
	(void) read_layouts(true);
	for (int i = 0; i < count; i++)
		if (sno_layout_is_named(&layouts[i], name))
			return &layouts[i];
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("layout \"%s\" does not exist", text_to_cstring(name)),
			 errhint("The layouts are in table \"sno_catalog.sno_layout\".")));
}

/* The layout with that number, NULL if there is none. */
const SnoNamedLayout *
sno_layout_by_id(int id)
{
	(void) read_layouts(true);
	for (int i = 0; i < count; i++)
		if (layouts[i].id == id)
			return &layouts[i];
	return NULL;
}

/*
 * The same without waiting for a lock.  NULL, too, if the table is missing, altered or
 * locked.
 */
const SnoNamedLayout *
sno_layout_look(int id)
{
	Oid			relid = sno_table_find(SNO_LAYOUT_TABLE);
	Relation	rel = OidIsValid(relid) ? sno_table_try_open(relid, AccessShareLock) : NULL;
	const SnoNamedLayout *layout = NULL;

	if (rel == NULL)
		return NULL;
	if (sno_table_is_as_created(rel, column_types, COLUMNS))
		layout = sno_layout_by_id(id);
	relation_close(rel, AccessShareLock);
	return layout;
}

/*
 * Sessions are told of a new layout.  What logical replication brings is dropped: each
 * server has layouts of its own.
 */
PG_FUNCTION_INFO_V1(sno_layout_changed);
Datum
sno_layout_changed(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	bool		null;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		RelationGetRelid(trigger->tg_relation) != sno_table_find(SNO_LAYOUT_TABLE) ||
		(TRIGGER_FIRED_BY_INSERT(trigger->tg_event) && !TRIGGER_FIRED_FOR_ROW(trigger->tg_event)))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("sno_layout_changed() is the trigger of table \"%s\"", SNO_LAYOUT_TABLE)));
	if (!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a layout cannot be changed or deleted"),
				 errdetail("Indexes may depend on what functions made of it."),
				 errhint("Add another layout.")));
	if (IsLogicalWorker())
		PG_RETURN_POINTER(NULL);
	if (!creating_extension &&
		DatumGetInt16(heap_getattr(trigger->tg_trigtuple, ID,
								   RelationGetDescr(trigger->tg_relation), &null)) < SNO_LAYOUT_OWN)
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("layouts up to %d are those of the extension", SNO_LAYOUT_OWN - 1),
				 errhint("Choose a number from %d on.", SNO_LAYOUT_OWN)));
	CacheInvalidateRelcache(trigger->tg_relation);
	PG_RETURN_POINTER(trigger->tg_trigtuple);
}
