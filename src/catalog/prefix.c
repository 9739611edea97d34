/*
 * prefix.c
 *		The prefixes of metabytes: the table sno_prefix, and the text of an id with its prefix.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "catalog/table.h"
#include "simd/codec.h"
#include "type/fields.h"

#define TABLE	"sno_prefix"

enum
{
	META = 1, PREFIX,
	COLUMNS = PREFIX
};

static const Oid column_types[COLUMNS] = {INT4OID, TEXTOID};

/* Create an array of prefixes, indexed by metabyte.  NULL stands for a metabyte without a prefix. */
static void *
no_prefixes(void)
{
	return palloc0((SNO_META_MAX + 1) * sizeof(char *));
}

static void
add_prefix(void *all, Relation rel, HeapTuple tuple)
{
	char	  **prefixes = all;
	bool		no_meta,
				no_prefix;
	Datum		meta = heap_getattr(tuple, META, RelationGetDescr(rel), &no_meta);
	Datum		prefix = heap_getattr(tuple, PREFIX, RelationGetDescr(rel), &no_prefix);

	if (!no_meta && !no_prefix && (uint32) DatumGetInt32(meta) <= SNO_META_MAX)
		prefixes[DatumGetInt32(meta)] = TextDatumGetCString(prefix);
}

static SnoTable table = {
	.extension = "sno",.name = TABLE,.types = column_types,.columns = COLUMNS,
	.begin = no_prefixes,.add = add_prefix,.version = 1
};

/* Return the prefix of an id's metabyte, or NULL if it has none. */
static const char *
prefix_of(const Sno *id)
{
	(void) sno_table_read(&table, true);
	return ((char **) table.all)[sno_unpack(id).meta];
}

PG_FUNCTION_INFO_V1(sno_prefix);
Datum
sno_prefix(PG_FUNCTION_ARGS)
{
	const char *prefix = prefix_of(PG_GETARG_SNO_P(0));

	if (prefix == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(prefix));
}

PG_FUNCTION_INFO_V1(sno_prefixed);
Datum
sno_prefixed(PG_FUNCTION_ARGS)
{
	Sno		   *id = PG_GETARG_SNO_P(0);
	const char *prefix = prefix_of(id);
	size_t		length;
	text	   *result;

	if (prefix == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("metabyte %d has no prefix", sno_unpack(id).meta),
				 errhint("Insert one into table \"%s.%s\".", SNO_CATALOG_SCHEMA, TABLE)));

	length = strlen(prefix);
	result = (text *) palloc(VARHDRSZ + length + 1 + SNO_TEXT_SIZE);
	SET_VARSIZE(result, VARHDRSZ + length + 1 + SNO_TEXT_SIZE);
	memcpy(VARDATA(result), prefix, length);
	VARDATA(result)[length] = '_';
	sno_encode(id, VARDATA(result) + length + 1);
	PG_RETURN_TEXT_P(result);
}

/*
 * Read a text that consists of a prefix, an underscore and an id.  The last 16 characters are
 * always the id, so the prefix may contain underscores, too.
 */
PG_FUNCTION_INFO_V1(sno_from_prefixed);
Datum
sno_from_prefixed(PG_FUNCTION_ARGS)
{
	text	   *input = PG_GETARG_TEXT_PP(0);
	const char *start = VARDATA_ANY(input);
	int			length = (int) VARSIZE_ANY_EXHDR(input) - SNO_TEXT_SIZE - 1;	/* length of the prefix */
	Sno		   *id = (Sno *) palloc(sizeof(Sno));
	const char *prefix;

	if (length < 0 || start[length] != '_' ||
		sno_decode(start + length + 1, id) != SNO_TEXT_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid input syntax for an id with a prefix: \"%s\"", text_to_cstring(input)),
				 errdetail("It has a prefix, an underscore, and the %d characters of an id, each one of 2-9 and a-x.",
						   SNO_TEXT_SIZE)));

	prefix = prefix_of(id);
	if (prefix == NULL || strlen(prefix) != (size_t) length || memcmp(prefix, start, length) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("wrong prefix of an id: \"%s\"", text_to_cstring(input)),
				 prefix == NULL ?
				 errdetail("Its metabyte is %d, which has no prefix.", sno_unpack(id).meta) :
				 errdetail("Its metabyte is %d, whose prefix is \"%s\".", sno_unpack(id).meta, prefix)));
	PG_RETURN_SNO_P(id);
}
