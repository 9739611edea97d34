/*
 * layout.c
 *		The layouts of flakes: the table sno_flake_layout.
 *
 * Rows of the table are never changed or deleted, because the functions that read an id by its
 * layout are immutable.  A unique constraint prevents two rows with the same epoch, unit and
 * bits.  So these values identify a layout in the rows of leases, which don't contain the name of
 * the layout.
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
#include "shared/primary.h"

enum
{
	NAME, EPOCH, UNIT, TIME_BITS, NODE_BITS, SEQUENCE_BITS, NODE_LAST, DIGITS, COLUMNS
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

/* Convert a timestamp to Unix time, in ms. */
static int64
msec_of(TimestampTz at)
{
	return at / 1000 + (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * INT64CONST(86400000);
}

/*
 * Check the unit and the bits of a layout: a generator must be able to issue ids of the layout, and
 * an SQL type must have room for the ids.  Returns the problem, or NULL if there is none.
 */
static const char *
bits_wrong(const SnoLayout *layout)
{
	unsigned	bits = sno_layout_bits(layout);

	if (layout->unit == 2 || layout->unit == 3)
		return "A unit is 0, 1, or at least 4 ms.";
	if (layout->unit == 0 && layout->sequence_bits > 0)
		return "A layout that counts has no sequence.";
	if (layout->unit == 0 && (layout->time_bits < 31 || layout->node_bits > 16))
		return "A layout that counts has at least 31 bits for the number, and at most 16 for the node.";
	if (layout->unit > 0 && layout->sequence_bits == 0)
		return "A layout with a time has at least one bit of the sequence.";
	if (bits > 128 || (bits > 64 && bits % 8 != 0))
		return "It must have up to 64 bits, or whole bytes up to 128 bits.";
	return NULL;
}

static const char *
digits_wrong(const char *digits)
{
	size_t		length = strlen(digits);

	if (length < 2 || length > 64)
		return "There must be from 2 to 64 digits.";
	for (const char *c = digits; *c != '\0'; c++)
		if (*c < '!' || *c > '~' || strchr(c + 1, *c) != NULL)
			return "The digits must be distinct visible ASCII characters.";
	return NULL;
}

/*
 * The latest epoch of a layout, in Unix ms: the start of the last day on which ids of type sno can
 * be issued
 */
#define LAST_EPOCH \
	((SNO_EPOCH_MSEC + (int64) SNO_UNIT_MAX * SNO_UNIT_MSEC) / 86400000 * 86400000)

static bool
epoch_is_valid(TimestampTz epoch)
{
	return !TIMESTAMP_NOT_FINITE(epoch) && msec_of(epoch) >= 0 && msec_of(epoch) <= LAST_EPOCH &&
		epoch % 1000 == 0;
}

/*
 * Read a layout from the columns of the table.  Returns the problem with them, or NULL if there
 * is none.  All values are checked, because a superuser may have dropped the constraints of the
 * table.
 */
static const char *
read_layout(const Datum *values, const bool *null, SnoNamedLayout *l)
{
	static const struct
	{
		int			column;
		const char *name;
		int32		min,
					max;
	}			numbers[] = {
		{UNIT, "The unit", 0, 3600000},
		{TIME_BITS, "Bits of the time", 1, 64},
		{NODE_BITS, "Bits of the node", 0, SNO_NODE_BITS_MAX},
		{SEQUENCE_BITS, "Bits of the sequence", 0, 32}
	};
	const char *wrong;
	char	   *name;

	for (int i = 0; i < COLUMNS; i++)
		if (null[i] && i != EPOCH && i != DIGITS)
			return "Only the epoch and the digits can be null.";
	name = TextDatumGetCString(values[NAME]);
	if (name[0] == '\0' || strlen(name) >= NAMEDATALEN)
		return psprintf("The name must have from 1 to %d bytes.", NAMEDATALEN - 1);
	for (int i = 0; i < lengthof(numbers); i++)
	{
		int32		value = DatumGetInt32(values[numbers[i].column]);

		if (value < numbers[i].min || value > numbers[i].max)
			return psprintf("%s must be from %d to %d, not %d.", numbers[i].name,
							numbers[i].min, numbers[i].max, value);
	}
	if (null[EPOCH] != (DatumGetInt32(values[UNIT]) == 0))
		return "The epoch must be null if the unit is 0, and must not be null otherwise.";
	if (!null[EPOCH] && !epoch_is_valid(DatumGetTimestampTz(values[EPOCH])))
		return "The epoch must be a whole millisecond from 1970-01-01 to 2079-09-07 UTC.";

	*l = (SnoNamedLayout) {
		.layout = {
			.epoch = null[EPOCH] ? 0 : msec_of(DatumGetTimestampTz(values[EPOCH])),
			.unit = DatumGetInt32(values[UNIT]),
			.time_bits = DatumGetInt32(values[TIME_BITS]),
			.node_bits = DatumGetInt32(values[NODE_BITS]),
			.sequence_bits = DatumGetInt32(values[SEQUENCE_BITS]),
			.node_last = DatumGetBool(values[NODE_LAST])
		},
		.digits = null[DIGITS] ? NULL : TextDatumGetCString(values[DIGITS])
	};
	strlcpy(l->name, name, NAMEDATALEN);
	wrong = bits_wrong(&l->layout);
	if (wrong != NULL)
		return wrong;
	l->type = sno_layout_type(&l->layout);
	return l->digits == NULL ? NULL : digits_wrong(l->digits);
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
	TupleDesc	desc = RelationGetDescr(rel);
	Datum		values[COLUMNS];
	bool		null[COLUMNS];
	SnoNamedLayout layout;

	for (int i = 0; i < COLUMNS; i++)
		values[i] = heap_getattr(tuple, i + 1, desc, &null[i]);
	if (read_layout(values, null, &layout) != NULL)
		return;
	if (all->count == all->size)
		all->layout = repalloc(all->layout, (all->size *= 2) * sizeof(SnoNamedLayout));
	all->layout[all->count++] = layout;
}

/*
 * Plans may contain constants that were computed from a layout.  When the transaction that
 * added the layout is rolled back, these plans are wrong.  So all plans are discarded whenever
 * the table may have changed.
 */
SnoTable	sno_layouts = {
	.extension = "sno_flakes",.name = SNO_LAYOUT_TABLE,.types = column_types,.columns = COLUMNS,
	.begin = no_layouts,.add = add_layout,.changed = ResetPlanCache,.version = 1
};

/* Read the layouts into memory.  Returns false if the table is missing, altered or locked. */
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

/* Return the layout with this name, as it was read last, or NULL if there is none. */
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
 * Return the layout with this name, or raise an error if there is none.  The result is valid
 * until sno_layouts.version changes.
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
 * Return the name of a layout.  Returns NULL if the layout isn't in the table, or if the table is
 * missing, altered or locked.
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

PG_FUNCTION_INFO_V1(sno_flake_layout_definition);
Datum
sno_flake_layout_definition(PG_FUNCTION_ARGS)
{
	const SnoNamedLayout *layout = sno_layout_by_name(PG_GETARG_TEXT_PP(0));
	char		text[SNO_LAYOUT_TEXT_SIZE];

	sno_layout_print(&layout->layout, text);
	PG_RETURN_TEXT_P(cstring_to_text(text));
}

/*
 * Raise an error if another layout has the same name or the same ids as the new layout.  Returns
 * if no such layout exists any more.
 */
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
				 errhint("Use that layout. sno_flake_text() and sno_flake_from_text() accept other digits.")));
}

#define INSERT_LAYOUT \
	"INSERT INTO sno_catalog.sno_flake_layout " \
	"(name, epoch, unit, time_bits, node_bits, sequence_bits, node_last, digits) " \
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"

/* The arguments are the columns of the table, except built_in. */
PG_FUNCTION_INFO_V1(sno_flake_create_layout);
Datum
sno_flake_create_layout(PG_FUNCTION_ARGS)
{
	Datum		values[COLUMNS];
	bool		null[COLUMNS];
	char		nulls[COLUMNS + 1] = "        ";
	SnoNamedLayout layout;
	const char *wrong;

	sno_owner_check(fcinfo);
	sno_require_primary("sno_flake_create_layout()");
	for (int i = 0; i < COLUMNS; i++)
	{
		values[i] = PG_GETARG_DATUM(i);
		null[i] = PG_ARGISNULL(i);
		nulls[i] = null[i] ? 'n' : ' ';
	}
	wrong = read_layout(values, null, &layout);
	if (wrong == NULL && !sno_text_is_printable(layout.name))
		wrong = "The name must not have control characters.";
	if (wrong != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid layout"),
				 errdetail("%s", wrong)));
	if (sno_table_change(&sno_layouts, INSERT_LAYOUT " ON CONFLICT DO NOTHING", COLUMNS, column_types,
						 values, nulls) == 0)
	{
		refuse_same(layout.name, &layout.layout);
		/* The conflict may be gone by now.  If it isn't, PostgreSQL raises its own error. */
		sno_table_change(&sno_layouts, INSERT_LAYOUT, COLUMNS, column_types, values, nulls);
	}
	PG_RETURN_VOID();
}
