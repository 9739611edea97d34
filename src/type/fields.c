/*
 * fields.c
 *		The fields of an id as SQL values, ids made from fields, and the casts.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "compat.h"
#include "simd/codec.h"
#include "type/fields.h"

StaticAssertDecl(SNO_TEXT_SIZE == UUID_LEN, "the text of a sno fills a uuid");

/* ---------------- accessors ---------------- */

PG_FUNCTION_INFO_V1(sno_timestamp);
Datum
sno_timestamp(PG_FUNCTION_ARGS)
{
	SnoFields	fields = sno_unpack(PG_GETARG_SNO_P(0));

	PG_RETURN_TIMESTAMPTZ(sno_unit_to_timestamptz(fields.unit));
}

/* Define a function that returns a field of an id unchanged. */
#define FIELD(function, field, PG_RETURN) \
PG_FUNCTION_INFO_V1(function); \
Datum \
function(PG_FUNCTION_ARGS) \
{ \
	PG_RETURN(sno_unpack(PG_GETARG_SNO_P(0)).field); \
}

FIELD(sno_tick_tock, tick_tock, PG_RETURN_BOOL)
FIELD(sno_meta, meta, PG_RETURN_INT32)
FIELD(sno_partition, partition, PG_RETURN_INT32)
FIELD(sno_sequence, sequence, PG_RETURN_INT32)

/* Return all five fields of an id as a row. */
PG_FUNCTION_INFO_V1(sno_parts);
Datum
sno_parts(PG_FUNCTION_ARGS)
{
	SnoFields	fields = sno_unpack(PG_GETARG_SNO_P(0));
	Datum		values[5];
	bool		nulls[5] = {false};
	TupleDesc	row;

	if (get_call_result_type(fcinfo, NULL, &row) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "sno_parts must return a row");

	values[0] = TimestampTzGetDatum(sno_unit_to_timestamptz(fields.unit));
	values[1] = BoolGetDatum(fields.tick_tock);
	values[2] = Int32GetDatum(fields.meta);
	values[3] = Int32GetDatum(fields.partition);
	values[4] = Int32GetDatum(fields.sequence);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(row, values, nulls)));
}

/* ---------------- constructors ---------------- */

/* Return a field's value.  Raises 22003 unless the value is from 0 to max. */
int
sno_fields_check(const char *name, int32 value, int max)
{
	if (value < 0 || value > max)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s %d is out of range", name, value),
				 errdetail("A %s is from 0 to %d.", name, max)));
	return value;
}

#define CHECK_META(value)		sno_fields_check("metabyte", value, SNO_META_MAX)
#define CHECK_PARTITION(value)	sno_fields_check("partition", value, SNO_PARTITION_MAX)
#define CHECK_SEQUENCE(value)	sno_fields_check("sequence", value, SNO_SEQUENCE_MAX)

/* Return the unit that contains an instant.  Raises 22008 if no unit does. */
uint64
sno_fields_unit(TimestampTz at)
{
	uint64		unit;

	if (!sno_timestamptz_to_unit(at, &unit))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp \"%s\" is out of range for type %s",
						timestamptz_to_str(at), "sno"),
				 errdetail("A sno has a time from 2010-01-01 00:00:00 to 2079-09-07 15:47:35.548 UTC.")));
	return unit;
}

static Datum
pack(SnoFields fields)
{
	Sno		   *id = (Sno *) palloc(sizeof(Sno));

	sno_pack(id, fields);
	PG_RETURN_SNO_P(id);
}

PG_FUNCTION_INFO_V1(sno_make);
Datum
sno_make(PG_FUNCTION_ARGS)
{
	SnoFields	fields;

	fields.unit = sno_fields_unit(PG_GETARG_TIMESTAMPTZ(0));
	fields.meta = CHECK_META(PG_GETARG_INT32(1));
	fields.partition = CHECK_PARTITION(PG_GETARG_INT32(2));
	fields.sequence = CHECK_SEQUENCE(PG_GETARG_INT32(3));
	fields.tick_tock = PG_GETARG_BOOL(4);
	return pack(fields);
}

/* Define a function that returns a copy of an id, with another value in one field. */
#define WITH_FIELD(function, field, value) \
PG_FUNCTION_INFO_V1(function); \
Datum \
function(PG_FUNCTION_ARGS) \
{ \
	SnoFields	fields = sno_unpack(PG_GETARG_SNO_P(0)); \
\
	fields.field = (value); \
	return pack(fields); \
}

WITH_FIELD(sno_with_timestamp, unit, sno_fields_unit(PG_GETARG_TIMESTAMPTZ(1)))
WITH_FIELD(sno_with_meta, meta, CHECK_META(PG_GETARG_INT32(1)))
WITH_FIELD(sno_with_partition, partition, CHECK_PARTITION(PG_GETARG_INT32(1)))
WITH_FIELD(sno_with_sequence, sequence, CHECK_SEQUENCE(PG_GETARG_INT32(1)))

PG_FUNCTION_INFO_V1(sno_zero);
Datum
sno_zero(PG_FUNCTION_ARGS)
{
	PG_RETURN_SNO_P(palloc0(sizeof(Sno)));
}

PG_FUNCTION_INFO_V1(sno_is_zero);
Datum
sno_is_zero(PG_FUNCTION_ARGS)
{
	const Sno	zero = {{0}};

	PG_RETURN_BOOL(sno_compare(PG_GETARG_SNO_P(0), &zero) == 0);
}

/* ---------------- casts ---------------- */

/* Convert an id to a uuid whose bytes are the sixteen characters of the id's text. */
PG_FUNCTION_INFO_V1(sno_to_uuid);
Datum
sno_to_uuid(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = (pg_uuid_t *) palloc(sizeof(pg_uuid_t));

	sno_encode(PG_GETARG_SNO_P(0), (char *) uuid->data);
	PG_RETURN_UUID_P(uuid);
}

PG_FUNCTION_INFO_V1(sno_from_uuid);
Datum
sno_from_uuid(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = PG_GETARG_UUID_P(0);
	Sno		   *id = (Sno *) palloc(sizeof(Sno));
	int			bad = sno_decode((char *) uuid->data, id);

	if (bad != SNO_TEXT_SIZE)
	{
		Datum		text = DirectFunctionCall1(uuid_out, UUIDPGetDatum(uuid));

		ereturn(fcinfo->context, (Datum) 0,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("uuid \"%s\" is not the text form of a sno",
						DatumGetCString(text)),
				 errdetail("Byte %d is 0x%02x, not one of 2-9 and a-x.",
						   bad + 1, uuid->data[bad]),
				 sno_decode_uuidv8(uuid, id) == NULL ?
				 errhint("Use sno_from_uuidv8() to convert the version 8 form.") : 0));
	}

	PG_RETURN_SNO_P(id);
}

PG_FUNCTION_INFO_V1(sno_to_bytea);
Datum
sno_to_bytea(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = (bytea *) palloc(VARHDRSZ + SNO_SIZE);

	SET_VARSIZE(bytes, VARHDRSZ + SNO_SIZE);
	memcpy(VARDATA(bytes), PG_GETARG_SNO_P(0)->byte, SNO_SIZE);
	PG_RETURN_BYTEA_P(bytes);
}

PG_FUNCTION_INFO_V1(sno_from_bytea);
Datum
sno_from_bytea(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	int			length = VARSIZE_ANY_EXHDR(bytes);
	Sno		   *id = (Sno *) palloc(sizeof(Sno));

	if (length != SNO_SIZE)
		ereturn(fcinfo->context, (Datum) 0,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("cannot cast bytea of length %d to type %s", length, "sno"),
				 errdetail("A sno has %d bytes.", SNO_SIZE)));

	memcpy(id->byte, VARDATA_ANY(bytes), SNO_SIZE);
	PG_RETURN_SNO_P(id);
}
