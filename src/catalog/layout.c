/*
 * layout.c
 *		The layouts of ids of other systems: the table sno_flake_layout.
 *
 * Rows are never changed or deleted: functions that read an id by its layout are
 * immutable.  No two rows have the same ids.  So what a generator issued is known by the
 * layout itself, by its epoch, unit and bits, and its name only leads there.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/layout.h"
#include "catalog/table.h"

enum
{
	NAME = 1, EPOCH, UNIT, TIME_BITS, NODE_BITS, SEQUENCE_BITS, NODE_LAST, DIGITS,
	COLUMNS = DIGITS
};

static const Oid column_types[COLUMNS] = {
	TEXTOID, TIMESTAMPTZOID, INT4OID, INT4OID, INT4OID, INT4OID, BOOLOID, TEXTOID
};

typedef struct Layouts
{
	int			size;
	int			count;
	SnoNamedLayout *layout;
} Layouts;

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

	for (int i = NAME; i <= COLUMNS; i++)
		values[i] = heap_getattr(tuple, i, RelationGetDescr(rel), &null[i]);
	l.layout = (SnoLayout) {
		.epoch = null[EPOCH] ? 0 : msec_of(DatumGetTimestampTz(values[EPOCH])),
		.unit = DatumGetInt32(values[UNIT]),
		.time_bits = DatumGetInt32(values[TIME_BITS]),
		.node_bits = DatumGetInt32(values[NODE_BITS]),
		.sequence_bits = DatumGetInt32(values[SEQUENCE_BITS]),
		.node_last = DatumGetBool(values[NODE_LAST])
	};
	l.type = sno_layout_type(&l.layout);
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

	/* Without the constraints of the table, a row may have no name. */
	if (heap_attisnull(tuple, NAME, RelationGetDescr(rel)))
		return;
	if (all->count == all->size)
		all->layout = repalloc(all->layout, (all->size *= 2) * sizeof(SnoNamedLayout));
	all->layout[all->count++] = layout_of(rel, tuple);
}

/*
 * Plans may have constants that were computed from a layout.  If the transaction that
 * added it rolls back, they are made again.
 */
SnoTable	sno_layouts = {
	.extension = "sno_flakes",.name = SNO_LAYOUT_TABLE,.types = column_types,.columns = COLUMNS,
	.begin = no_layouts,.add = add_layout,.changed = ResetPlanCache,.version = 1
};

/* Read the layouts.  False if the table is missing, altered or locked. */
bool
sno_layout_look(void)
{
	Relation	rel = sno_table_look(&sno_layouts);

	if (rel == NULL)
		return false;
	(void) sno_table_read(&sno_layouts, true);
	relation_close(rel, AccessShareLock);
	return true;
}

/* The layout by that name, as they were read last; NULL if there was none. */
const SnoNamedLayout *
sno_layout_known(const char *name)
{
	const Layouts *all = sno_layouts.all;

	for (int i = 0; all != NULL && i < all->count; i++)
		if (strcmp(all->layout[i].name, name) == 0)
			return &all->layout[i];
	return NULL;
}

/*
 * The layout by that name, or an error.  It is good as long as sno_layouts.version
 * stays the same.
 */
const SnoNamedLayout *
sno_layout_by_name(const text *name)
{
	char	   *wanted = text_to_cstring(name);
	const SnoNamedLayout *layout;

	(void) sno_table_read(&sno_layouts, true);
	layout = sno_layout_known(wanted);
	if (layout == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("layout \"%s\" does not exist", wanted),
				 errhint("The layouts are in table \"sno_catalog.%s\". Add one with sno_flake_create_layout().",
						 SNO_LAYOUT_TABLE)));
	pfree(wanted);
	return layout;
}

/*
 * The name of a layout.  NULL if it has none here, or if the table is missing, altered or
 * locked.
 */
const char *
sno_layout_look_name(const SnoLayout *layout)
{
	const Layouts *all;

	if (!sno_layout_look())
		return NULL;
	all = sno_layouts.all;
	for (int i = 0; i < all->count; i++)
		if (sno_layouts_equal(&all->layout[i].layout, layout))
			return all->layout[i].name;
	return NULL;
}

/* Raise an error if a number is outside its bounds. */
static int32
check_number(const char *what, int32 value, int32 min, int32 max)
{
	if (value < min || value > max)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s of a layout must be from %d to %d, not %d", what, min, max, value)));
	return value;
}

static void
refuse(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid layout"),
			 errdetail("%s", detail)));
}

/* Raise an error unless a generator can issue ids of the layout, and a type has them. */
static void
check_layout(const SnoLayout *layout)
{
	unsigned	bits = sno_layout_bits(layout);

	if (layout->unit == 2 || layout->unit == 3)
		refuse("A unit is 0, 1, or at least 4 ms.");
	if (layout->unit == 0 && layout->sequence_bits > 0)
		refuse("A layout that counts has no sequence.");
	if (layout->unit == 0 && (layout->time_bits < 31 || layout->node_bits > 16))
		refuse("A layout that counts has at least 31 bits for the number, and at most 16 for the node.");
	if (layout->unit > 0 && layout->sequence_bits == 0)
		refuse("A layout with a time has at least one bit of the sequence.");
	if (bits > 128 || (bits > 64 && bits % 8 != 0))
		refuse("It must have up to 64 bits, or whole bytes up to 128 bits.");
}

static void
check_digits(const char *digits)
{
	size_t		length = strlen(digits);

	if (length < 2 || length > 64)
		refuse("There must be from 2 to 64 digits.");
	for (const char *c = digits; *c != '\0'; c++)
		if (*c < '!' || *c > '~' || strchr(c + 1, *c) != NULL)
			refuse("Each digit must be another visible ASCII character.");
}

/* The last day of which a sno may be, in Unix ms */
#define LAST_EPOCH \
	((SNO_EPOCH_MSEC + (int64) SNO_UNIT_MAX * SNO_UNIT_MSEC) / 86400000 * 86400000)

/* The epoch in Unix ms */
static int64
check_epoch(TimestampTz epoch)
{
	if (TIMESTAMP_NOT_FINITE(epoch) || msec_of(epoch) < 0 || msec_of(epoch) > LAST_EPOCH ||
		epoch % 1000 != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("invalid epoch of a layout"),
				 errdetail("It must be a whole millisecond from 1970-01-01 to 2079-09-07 UTC.")));
	return msec_of(epoch);
}

/* Raise the error that tells which layout is in the way. */
static void
refuse_same(const char *name, const SnoLayout *layout)
{
	const char *same;

	(void) sno_table_read(&sno_layouts, true);
	if (sno_layout_known(name) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("layout \"%s\" already exists", name)));
	same = sno_layout_look_name(layout);
	if (same != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("layout \"%s\" has the same ids", same),
				 errhint("Use that one.")));
}

#define INSERT_LAYOUT \
	"INSERT INTO sno_catalog.sno_flake_layout " \
	"(name, epoch, unit, time_bits, node_bits, sequence_bits, node_last, digits) " \
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"

/* Arguments are as the columns.  The epoch is null if, and only if, the unit is 0. */
PG_FUNCTION_INFO_V1(sno_flake_create_layout);
Datum
sno_flake_create_layout(PG_FUNCTION_ARGS)
{
	Datum		values[COLUMNS];
	char		nulls[COLUMNS + 1] = "        ";
	SnoLayout	layout = {0};
	char	   *name;

	PreventCommandDuringRecovery("sno_flake_create_layout()");
	for (int i = NAME; i <= COLUMNS; i++)
	{
		if (PG_ARGISNULL(i - 1) && i != EPOCH && i != DIGITS)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("only epoch and digits of a layout can be null")));
		values[i - 1] = PG_GETARG_DATUM(i - 1);
		nulls[i - 1] = PG_ARGISNULL(i - 1) ? 'n' : ' ';
	}
	name = text_to_cstring(PG_GETARG_TEXT_PP(NAME - 1));
	if (name[0] == '\0' || strlen(name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid name of a layout: \"%s\"", name),
				 errdetail("It must have from 1 to %d bytes.", NAMEDATALEN - 1)));
	layout.unit = check_number("unit", PG_GETARG_INT32(UNIT - 1), 0, 3600000);
	layout.time_bits = check_number("bits of the time", PG_GETARG_INT32(TIME_BITS - 1), 1, 64);
	layout.node_bits = check_number("bits of the node", PG_GETARG_INT32(NODE_BITS - 1), 0, 48);
	layout.sequence_bits = check_number("bits of the sequence", PG_GETARG_INT32(SEQUENCE_BITS - 1), 0, 32);
	layout.node_last = PG_GETARG_BOOL(NODE_LAST - 1);
	if (PG_ARGISNULL(EPOCH - 1) != (layout.unit == 0))
		refuse("A layout has an epoch unless it counts, which unit 0 says.");
	if (layout.unit > 0)
		layout.epoch = check_epoch(PG_GETARG_TIMESTAMPTZ(EPOCH - 1));
	check_layout(&layout);
	if (!PG_ARGISNULL(DIGITS - 1))
		check_digits(text_to_cstring(PG_GETARG_TEXT_PP(DIGITS - 1)));
	if (sno_table_change(&sno_layouts, INSERT_LAYOUT " ON CONFLICT DO NOTHING", COLUMNS, column_types,
						 values, nulls) == 0)
	{
		refuse_same(name, &layout);
		/* The conflict is gone.  If not, PostgreSQL says what it is. */
		sno_table_change(&sno_layouts, INSERT_LAYOUT, COLUMNS, column_types, values, nulls);
	}
	PG_RETURN_VOID();
}
