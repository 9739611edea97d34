/*
 * parts.c
 *		The parts of ids of other systems as SQL values, ids made from parts,
 *		and the lowest and the highest id of a time.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/timestamp.h"

#include "flake/value.h"

/* ---------------- times ---------------- */

/* Return a layout's time 0 as a timestamptz. */
static TimestampTz
epoch_of(const SnoLayout *layout)
{
	return layout->epoch * 1000 - (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
}

static uint64
unit_of(const SnoLayout *layout)
{
	return layout->unit * UINT64CONST(1000);
}

/* Convert a time of a layout to a timestamptz.  Raises 22008 if the time is too late for that type. */
static TimestampTz
timestamp_of(const SnoNamedLayout *layout, uint64 time)
{
	TimestampTz epoch = epoch_of(&layout->layout);
	uint64		unit = unit_of(&layout->layout);

	if (time > ((uint64) (END_TIMESTAMP - 1) - (uint64) epoch) / unit)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("time %llu of layout \"%s\" is out of range for type %s",
						(unsigned long long) time, layout->name, "timestamptz")));
	return (TimestampTz) ((uint64) epoch + time * unit);
}

/*
 * Return the layout's time that contains an instant.  Raises 22008 unless this time is from 0 to
 * `last`.
 */
static uint64
time_of(const SnoNamedLayout *layout, TimestampTz at, uint64 last)
{
	TimestampTz epoch = epoch_of(&layout->layout);
	uint64		time = ((uint64) at - (uint64) epoch) / unit_of(&layout->layout);

	if (TIMESTAMP_NOT_FINITE(at) || at < epoch || time > last)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp \"%s\" is out of range for layout \"%s\"",
						timestamptz_to_str(at), layout->name),
				 errdetail("Its times are from 0 to %llu, in units of %u ms since its epoch.",
						   (unsigned long long) last, layout->layout.unit)));
	return time;
}

/* ---------------- readers ---------------- */

static Datum
read_timestamp(FunctionCallInfo fcinfo, SnoFlakeType type)
{
	const SnoNamedLayout *layout = sno_value_layout(fcinfo, 1, type, NULL);
	SnoFlakeParts parts = sno_flake_unpack(&layout->layout, sno_value_from_datum(layout, PG_GETARG_DATUM(0)));

	if (layout->layout.unit == 0)
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(timestamp_of(layout, parts.time));
}

SNO_FLAKE_READERS(sno_flake_timestamp, read_timestamp)

static Datum
read_parts(FunctionCallInfo fcinfo, SnoFlakeType type)
{
	const SnoNamedLayout *layout = sno_value_layout(fcinfo, 1, type, NULL);
	SnoFlakeParts parts = sno_flake_unpack(&layout->layout, sno_value_from_datum(layout, PG_GETARG_DATUM(0)));
	bool		counts = layout->layout.unit == 0;
	Datum		values[3];
	bool		nulls[3] = {counts, false, false};
	TupleDesc	row;

	values[0] = counts ? (Datum) 0 : TimestampTzGetDatum(timestamp_of(layout, parts.time));
	values[1] = Int64GetDatum((int64) parts.node);
	values[2] = Int64GetDatum((int64) (counts ? parts.time : parts.sequence));
	if (get_call_result_type(fcinfo, NULL, &row) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "sno_flake_parts must return a row");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(row, values, nulls)));
}

SNO_FLAKE_READERS(sno_flake_parts, read_parts)

/* ---------------- makers ---------------- */

/* Return the layout that an argument names.  Raises an error if the layout has no time. */
static const SnoNamedLayout *
timed_layout(FunctionCallInfo fcinfo, int argument, SnoFlakeType type, const char *function)
{
	const SnoNamedLayout *layout = sno_value_layout(fcinfo, argument, type, function);

	if (layout->layout.unit == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("layout \"%s\" counts and has no time", layout->name)));
	return layout;
}

/*
 * Return a bound of the ids of a time: the id whose node and sequence have the bits of `rest`.  Raises
 * an error if the bound would be a negative bigint, which sorts before ids of earlier times.
 */
static Datum
make_bound(FunctionCallInfo fcinfo, SnoFlakeType type, const char *function, uint64 rest)
{
	const SnoNamedLayout *layout = timed_layout(fcinfo, 1, type, function);
	SnoFlakeParts parts = {
		.time = time_of(layout, PG_GETARG_TIMESTAMPTZ(0),
						sno_flake_last_time(&layout->layout, false)),
		.node = rest,
		.sequence = rest
	};

	return sno_value_datum(layout, sno_flake_pack(&layout->layout, parts));
}

static Datum
make_min(FunctionCallInfo fcinfo, SnoFlakeType type)
{
	return make_bound(fcinfo, type, "sno_flake_min", 0);
}

static Datum
make_max(FunctionCallInfo fcinfo, SnoFlakeType type)
{
	return make_bound(fcinfo, type, "sno_flake_max", UINT64_MAX);
}

SNO_FLAKE_MAKERS(sno_flake_min, make_min)
SNO_FLAKE_MAKERS(sno_flake_max, make_max)

/* Return the value of a part of an id.  Raises 22003 unless the value fits in `bits` bits. */
static uint64
check_part(const SnoNamedLayout *layout, const char *part, int64 value, unsigned bits)
{
	if ((uint64) value > sno_bits_max(bits))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s %lld is out of range for layout \"%s\"",
						part, (long long) value, layout->name),
				 errdetail("A %s is from 0 to %llu.",
						   part, (unsigned long long) sno_bits_max(bits))));
	return (uint64) value;
}

static Datum
make_id(FunctionCallInfo fcinfo, SnoFlakeType type)
{
	const SnoNamedLayout *layout = timed_layout(fcinfo, 3, type, "sno_flake_make");
	SnoFlakeParts parts = {
		.time = time_of(layout, PG_GETARG_TIMESTAMPTZ(0),
						sno_bits_max(layout->layout.time_bits)),
		.node = check_part(layout, "node", PG_GETARG_INT64(1), layout->layout.node_bits),
		.sequence = check_part(layout, "sequence", PG_GETARG_INT64(2), layout->layout.sequence_bits)
	};

	return sno_value_datum(layout, sno_flake_pack(&layout->layout, parts));
}

SNO_FLAKE_MAKERS(sno_flake_make, make_id)
