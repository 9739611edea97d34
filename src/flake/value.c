/*
 * value.c
 *		Ids of other systems as SQL values: bigint, uuid and bytea.
 *
 * The bits of a bigint are read as an unsigned number, so an id of 64 bits may be a negative
 * bigint.
 */
#include "postgres.h"

#include "port/pg_bswap.h"
#include "utils/uuid.h"

#include "compat.h"
#include "flake/value.h"

static const char *const type_names[] = {
	[SNO_FLAKE_BIGINT] = "bigint",
	[SNO_FLAKE_UUID] = "uuid",
	[SNO_FLAKE_BYTEA] = "bytea"
};

/* The cache of an expression that names a layout */
typedef struct Call
{
	uint64		version;		/* of the table of layouts, read before `layout` */
	const SnoNamedLayout *layout;
} Call;

static const SnoNamedLayout *
find_layout(FmgrInfo *flinfo, const text *name)
{
	Call	   *call = flinfo->fn_extra;
	uint64		version = sno_layouts.version;
	const SnoNamedLayout *layout;

	if (call != NULL && call->version == version && sno_layout_is_named(call->layout, name))
		return call->layout;
	layout = sno_layout_by_name(name);
	if (call == NULL)
		call = flinfo->fn_extra = MemoryContextAlloc(flinfo->fn_mcxt, sizeof(Call));
	*call = (Call) {version, layout};
	return layout;
}

/*
 * Raise an error unless ids of the layout are of this type.  If the calling SQL function returns an
 * id, `function` is the name of its variant for bigint.  If the SQL function takes an id, `function`
 * is NULL.
 */
void
sno_value_check_type(const SnoNamedLayout *layout, SnoFlakeType type, const char *function)
{
	if (likely(layout->type == type))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("ids of layout \"%s\" are of type %s, not %s",
					layout->name, type_names[layout->type], type_names[type]),
			 function == NULL ?
			 errhint("Pass a %s.", type_names[layout->type]) :
			 errhint("Use function %s%s%s().", function,
					 layout->type == SNO_FLAKE_BIGINT ? "" : "_",
					 layout->type == SNO_FLAKE_BIGINT ? "" : type_names[layout->type])));
}

/*
 * Return the layout that an argument names.  Raises an error unless the layout's ids are of this
 * type.
 */
const SnoNamedLayout *
sno_value_layout(FunctionCallInfo fcinfo, int argument, SnoFlakeType type, const char *function)
{
	const SnoNamedLayout *layout = find_layout(fcinfo->flinfo, PG_GETARG_TEXT_PP(argument));

	sno_value_check_type(layout, type, function);
	return layout;
}

/* Does an id fit into the bits of the layout? */
bool
sno_value_fits(const SnoNamedLayout *layout, SnoFlake id)
{
	unsigned	bits = sno_layout_bits(&layout->layout);

	if (bits > 64)
		return id.high <= sno_bits_max(bits - 64);
	return id.high == 0 && id.low <= sno_bits_max(bits);
}

static SnoFlake
of_bigint(const SnoNamedLayout *layout, int64 value)
{
	SnoFlake	id = {0, (uint64) value};

	if (!sno_value_fits(layout, id))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("bigint %lld is out of range for layout \"%s\"",
						(long long) value, layout->name),
				 errdetail("Its ids are from 0 to %llu.",
						   (unsigned long long) sno_bits_max(sno_layout_bits(&layout->layout)))));
	return id;
}

/* Convert `size` bytes to an id, the highest byte first; to_bytes() converts back. */
static SnoFlake
of_bytes(const void *bytes, int size)
{
	uint64		halves[2] = {0, 0};

	memcpy((char *) halves + sizeof(halves) - size, bytes, size);
	return (SnoFlake) {pg_ntoh64(halves[0]), pg_ntoh64(halves[1])};
}

static void *
to_bytes(SnoFlake id, void *bytes, int size)
{
	uint64		halves[2] = {pg_hton64(id.high), pg_hton64(id.low)};

	return memcpy(bytes, (char *) halves + sizeof(halves) - size, size);
}

static SnoFlake
of_bytea(const SnoNamedLayout *layout, const bytea *bytes)
{
	int			size = sno_layout_bits(&layout->layout) / 8;

	if (VARSIZE_ANY_EXHDR(bytes) != size)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bytea of length %d is not an id of layout \"%s\"",
						(int) VARSIZE_ANY_EXHDR(bytes), layout->name),
				 errdetail("Its ids have %d bytes.", size)));
	return of_bytes(VARDATA_ANY(bytes), size);
}

/* Return the id in a value of the layout's type. */
SnoFlake
sno_value_from_datum(const SnoNamedLayout *layout, Datum datum)
{
	switch (layout->type)
	{
		case SNO_FLAKE_BIGINT:
			return of_bigint(layout, DatumGetInt64(datum));
		case SNO_FLAKE_UUID:
			return of_bytes(DatumGetUUIDP(datum)->data, UUID_LEN);
		default:
			return of_bytea(layout, DatumGetByteaPP(datum));
	}
}

/* Return an id as a value of the layout's type. */
Datum
sno_value_datum(const SnoNamedLayout *layout, SnoFlake id)
{
	int			size;
	bytea	   *bytes;

	switch (layout->type)
	{
		case SNO_FLAKE_BIGINT:
			return Int64GetDatum((int64) id.low);
		case SNO_FLAKE_UUID:
			return UUIDPGetDatum(to_bytes(id, palloc(UUID_LEN), UUID_LEN));
		default:
			size = sno_layout_bits(&layout->layout) / 8;
			bytes = palloc(VARHDRSZ + size);
			SET_VARSIZE(bytes, VARHDRSZ + size);
			to_bytes(id, VARDATA(bytes), size);
			return PointerGetDatum(bytes);
	}
}
