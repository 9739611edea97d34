/*
 * layout.c
 *		The layouts of ids of other systems: the table sno_layout.
 *
 * Rows are never changed or deleted: functions that read an id by its layout are
 * immutable.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
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

typedef struct Layouts
{
	int			size;
	int			count;
	SnoNamedLayout *layout;
} Layouts;

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

static void *
no_layouts(void)
{
	Layouts    *all = palloc(sizeof(Layouts));

	*all = (Layouts) {.size = 32,.layout = palloc(32 * sizeof(SnoNamedLayout))};
	return all;
}

static void
add_layout(void *arg, Relation rel, HeapTuple tuple)
{
	Layouts    *all = arg;

	if (all->count == all->size)
		all->layout = repalloc(all->layout, (all->size *= 2) * sizeof(SnoNamedLayout));
	all->layout[all->count++] = layout_of(rel, tuple);
}

/*
 * Plans may have constants that were computed from a layout.  If the transaction that
 * added it rolls back, they are made again.
 */
SnoTable	sno_layouts = {
	.name = SNO_LAYOUT_TABLE,.types = column_types,.columns = COLUMNS,
	.begin = no_layouts,.add = add_layout,.changed = ResetPlanCache,.version = 1
};

/* The layout with that number as they were read last, NULL if there is none. */
static const SnoNamedLayout *
find_layout(int id)
{
	const Layouts *all = sno_layouts.all;

	for (int i = 0; all != NULL && i < all->count; i++)
		if (all->layout[i].id == id)
			return &all->layout[i];
	return NULL;
}

/*
 * Has this layout the number, as they were read?  False, too, if there may be others since
 * then.
 */
bool
sno_layout_is_present(int id, const SnoLayout *layout)
{
	const SnoNamedLayout *present = find_layout(id);

	return sno_layouts.version_read == sno_layouts.version && present != NULL &&
		sno_layouts_equal(&present->layout, layout);
}

/*
 * The layout by that name, or an error.  It is good as long as sno_layouts.version
 * stays the same.
 */
const SnoNamedLayout *
sno_layout_by_name(const text *name)
{
	const Layouts *all;

	(void) sno_table_read(&sno_layouts, true);
	all = sno_layouts.all;
	for (int i = 0; i < all->count; i++)
		if (sno_layout_is_named(&all->layout[i], name))
			return &all->layout[i];
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("layout \"%s\" does not exist", text_to_cstring(name)),
			 errhint("The layouts are in table \"sno_catalog.sno_layout\".")));
}

/* The layout with that number, NULL if there is none. */
const SnoNamedLayout *
sno_layout_by_id(int id)
{
	(void) sno_table_read(&sno_layouts, true);
	return find_layout(id);
}

/*
 * The same without waiting for a lock.  NULL, too, if the table is missing, altered or
 * locked.
 */
const SnoNamedLayout *
sno_layout_look(int id)
{
	Relation	rel = sno_table_look(&sno_layouts);
	const SnoNamedLayout *layout;

	if (rel == NULL)
		return NULL;
	layout = sno_layout_by_id(id);
	relation_close(rel, AccessShareLock);
	return layout;
}
