/*
 * opclass.c
 *		Support functions of the btree and BRIN operator classes, except
 *		comparison.
 *
 * For btree, this file has sort support, skip support, and in_range for window frames with
 * an interval.  For BRIN, it has functions for columns of a domain type, and the distance
 * between two ids, by which minmax-multi indexes choose the ranges that they merge.
 */
#include "postgres.h"

#include "access/brin_internal.h"
#include "access/brin_tuple.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "type/abbrev.h"
#include "type/fields.h"

/* ---------------- sorting ---------------- */

typedef struct
{
	bool		placed;			/* was `near` set from the first id? */
	SnoAbbrev	near;
} AbbrevState;

static int
compare_full(Datum a, Datum b, SortSupport ssup)
{
	return sno_compare(DatumGetSnoP(a), DatumGetSnoP(b));
}

static Datum
abbreviate(Datum original, SortSupport ssup)
{
	AbbrevState *state = (AbbrevState *) ssup->ssup_extra;
	const Sno  *id = DatumGetSnoP(original);

	if (!state->placed)
	{
		state->near = sno_abbrev_around(id);
		state->placed = true;
	}
	return (Datum) sno_abbrev_key(&state->near, id);
}

/*
 * Never give up abbreviation: making a key costs a few instructions, and if two keys
 * are equal, the sort only made one additional comparison of integers.
 */
static bool
abort_abbreviation(int count, SortSupport ssup)
{
	return false;
}

PG_FUNCTION_INFO_V1(sno_sort_support);
Datum
sno_sort_support(PG_FUNCTION_ARGS)
{
	SortSupport ssup = (SortSupport) PG_GETARG_POINTER(0);

	ssup->comparator = compare_full;
	if (ssup->abbreviate && sizeof(Datum) >= sizeof(uint64))
	{
		ssup->ssup_extra = MemoryContextAllocZero(ssup->ssup_cxt,
												  sizeof(AbbrevState));
		ssup->comparator = ssup_datum_unsigned_cmp;
		ssup->abbrev_converter = abbreviate;
		ssup->abbrev_abort = abort_abbreviation;
		ssup->abbrev_full_comparator = compare_full;
	}
	PG_RETURN_VOID();
}

/* ---------------- skip scans ---------------- */

static Sno *
end_of_order(bool highest)
{
	Sno		   *id = (Sno *) palloc(sizeof(Sno));

	memset(id->byte, highest ? 0xff : 0, SNO_SIZE);
	return id;
}

/* Return the next higher or the next lower id, as a new value.  Sets *overflow if there is none. */
static Datum
neighbour(Datum existing, bool above, bool *overflow)
{
	Sno			id = *DatumGetSnoP(existing);
	bool		carry = true;
	Sno		   *result;

	for (int place = SNO_SIZE - 1; carry && place >= 0; place--)
		carry = above ? ++id.byte[place] == 0 : id.byte[place]-- == 0;

	*overflow = carry;
	if (carry)
		return (Datum) 0;

	result = (Sno *) palloc(sizeof(Sno));
	*result = id;
	return SnoPGetDatum(result);
}

static Datum
increment(Relation rel, Datum existing, bool *overflow)
{
	return neighbour(existing, true, overflow);
}

static Datum
decrement(Relation rel, Datum existing, bool *overflow)
{
	return neighbour(existing, false, overflow);
}

PG_FUNCTION_INFO_V1(sno_skip_support);
Datum
sno_skip_support(PG_FUNCTION_ARGS)
{
	SkipSupport support = (SkipSupport) PG_GETARG_POINTER(0);

	support->low_elem = SnoPGetDatum(end_of_order(false));
	support->high_elem = SnoPGetDatum(end_of_order(true));
	support->decrement = decrement;
	support->increment = increment;
	PG_RETURN_VOID();
}

/* ---------------- window frames ---------------- */

/*
 * Is the time of every id, plus or minus the interval, outside the period in which ids have times?
 * This period, from 2010 to 2079, is shorter than a century.  So the answer is yes if no part of
 * the interval is negative, and one part is longer than a century, as in the infinite interval of
 * PostgreSQL 17.  With any other interval, the sum or difference can overflow only if the interval
 * has parts of both signs.
 */
static bool
exceeds_epoch(const Interval *offset)
{
	const int	months = 100 * MONTHS_PER_YEAR;
	const int	days = 100 * 366;

	return offset->month >= 0 && offset->day >= 0 && offset->time >= 0 &&
		(offset->month > months || offset->day > days ||
		 offset->time > days * USECS_PER_DAY);
}

/*
 * Compare sno_timestamp(value) with sno_timestamp(base) + offset, by <= if `less`,
 * otherwise by >=.  If `sub`, the offset is subtracted.
 *
 * If the interval is too long, PostgreSQL's in_range functions for times raise an error.
 * This function compares with infinity instead.
 */
PG_FUNCTION_INFO_V1(sno_in_range);
Datum
sno_in_range(PG_FUNCTION_ARGS)
{
	SnoFields	value = sno_unpack(PG_GETARG_SNO_P(0));
	SnoFields	base = sno_unpack(PG_GETARG_SNO_P(1));
	Interval   *offset = PG_GETARG_INTERVAL_P(2);
	bool		sub = PG_GETARG_BOOL(3);
	bool		less = PG_GETARG_BOOL(4);
	Interval	zero = {0};
	TimestampTz at = sno_unit_to_timestamptz(value.unit);
	TimestampTz bound;

	if (DatumGetBool(DirectFunctionCall2(interval_lt, IntervalPGetDatum(offset),
										 IntervalPGetDatum(&zero))))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PRECEDING_OR_FOLLOWING_SIZE),
				 errmsg("invalid preceding or following size in window function")));

	if (exceeds_epoch(offset))
		bound = sub ? DT_NOBEGIN : DT_NOEND;
	else
		bound = DatumGetTimestampTz(
			DirectFunctionCall2(sub ? timestamptz_mi_interval : timestamptz_pl_interval,
								TimestampTzGetDatum(sno_unit_to_timestamptz(base.unit)),
								IntervalPGetDatum(offset)));
	PG_RETURN_BOOL(less ? at <= bound : at >= bound);
}

/* ---------------- BRIN ---------------- */

/* Return the distance from the first id to the second, which is not below the first. */
PG_FUNCTION_INFO_V1(sno_brin_distance);
Datum
sno_brin_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(sno_distance(PG_GETARG_SNO_P(0), PG_GETARG_SNO_P(1)));
}

/*
 * Call one of PostgreSQL's minmax functions for a column whose type may be a domain.
 *
 * The minmax functions search the operator family for operators of the column's type, and
 * find none for a domain.  PostgreSQL's built-in classes avoid this with a storage type, which
 * replaces the column's type.  Our classes can't have a storage type, because CREATE OPERATOR
 * CLASS ignores one that equals the input type.  So this function passes an index description
 * in which the column has the input type of the class.
 */
static Datum
for_base_type(FunctionCallInfo fcinfo, PGFunction function)
{
	BrinDesc   *index = (BrinDesc *) PG_GETARG_POINTER(0);
	int			column = ((BrinValues *) PG_GETARG_POINTER(1))->bv_attno - 1;
	Oid			type = index->bd_index->rd_opcintype[column];

	if (TupleDescAttr(index->bd_tupdesc, column)->atttypid != type)
	{
		MemoryContext caller = MemoryContextSwitchTo(index->bd_context);

		index->bd_tupdesc = CreateTupleDescCopy(index->bd_tupdesc);
		index->bd_tupdesc->tdrefcount = 1;	/* brin_free_desc() asserts this count */
		TupleDescAttr(index->bd_tupdesc, column)->atttypid = type;
		MemoryContextSwitchTo(caller);
	}
	return function(fcinfo);
}

#define FOR_BASE_TYPE(function) \
PG_FUNCTION_INFO_V1(sno_##function); \
Datum \
sno_##function(PG_FUNCTION_ARGS) \
{ \
	return for_base_type(fcinfo, function); \
}

FOR_BASE_TYPE(brin_minmax_add_value)
FOR_BASE_TYPE(brin_minmax_consistent)
FOR_BASE_TYPE(brin_minmax_union)
FOR_BASE_TYPE(brin_minmax_multi_add_value)
FOR_BASE_TYPE(brin_minmax_multi_consistent)
FOR_BASE_TYPE(brin_minmax_multi_union)
