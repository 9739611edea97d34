/*
 * gist.c
 *		GiST support for ids, for exclusion constraints and keys WITHOUT OVERLAPS
 *		that also contain ranges.
 *
 * An index key is a bytea.  It has 10 bytes for one id, or 20 bytes for the lowest and
 * the highest of several ids.  One id is treated as the range from that id to itself,
 * so the same code handles leaf pages and inner pages.  Searches are exact: no row that
 * the index returns is checked again.
 */
#include "postgres.h"

#include "access/gist.h"
#include "access/stratnum.h"
#include "utils/sortsupport.h"

#include "compat.h"
#include "type/fields.h"

/* ---------------- keys ---------------- */

typedef struct
{
	Sno			lower;
	Sno			upper;
} Span;

static Span
span_of(Datum key)
{
	bytea	   *bytes = DatumGetByteaPP(key);
	const char *data = VARDATA_ANY(bytes);
	Span		span;

	memcpy(&span.lower, data, SNO_SIZE);
	memcpy(&span.upper, data + VARSIZE_ANY_EXHDR(bytes) - SNO_SIZE, SNO_SIZE);
	return span;
}

static bytea *
key_of(const Span *span)
{
	bool		one = (sno_compare(&span->lower, &span->upper) == 0);
	int			size = VARHDRSZ + (one ? SNO_SIZE : 2 * SNO_SIZE);
	bytea	   *bytes = (bytea *) palloc(size);

	SET_VARSIZE(bytes, size);
	memcpy(VARDATA(bytes), &span->lower, SNO_SIZE);
	if (!one)
		memcpy(VARDATA(bytes) + SNO_SIZE, &span->upper, SNO_SIZE);
	return bytes;
}

static void
extend(Span *span, const Span *other)
{
	if (sno_compare(&other->lower, &span->lower) < 0)
		span->lower = other->lower;
	if (sno_compare(&other->upper, &span->upper) > 0)
		span->upper = other->upper;
}

static GISTENTRY *
entry_with(const GISTENTRY *entry, Datum key)
{
	GISTENTRY  *result = (GISTENTRY *) palloc(sizeof(GISTENTRY));

	gistentryinit(*result, key, entry->rel, entry->page, entry->offset, false);
	return result;
}

PG_FUNCTION_INFO_V1(sno_gist_compress);
Datum
sno_gist_compress(PG_FUNCTION_ARGS)
{
	GISTENTRY  *entry = (GISTENTRY *) PG_GETARG_POINTER(0);
	Span		span;

	if (!entry->leafkey)
		PG_RETURN_POINTER(entry);

	span.lower = span.upper = *DatumGetSnoP(entry->key);
	PG_RETURN_POINTER(entry_with(entry, PointerGetDatum(key_of(&span))));
}

/* Return the id in a leaf key, for index-only scans. */
PG_FUNCTION_INFO_V1(sno_gist_fetch);
Datum
sno_gist_fetch(PG_FUNCTION_ARGS)
{
	GISTENTRY  *entry = (GISTENTRY *) PG_GETARG_POINTER(0);
	Sno		   *id = (Sno *) palloc(sizeof(Sno));

	*id = span_of(entry->key).lower;
	PG_RETURN_POINTER(entry_with(entry, SnoPGetDatum(id)));
}

PG_FUNCTION_INFO_V1(sno_gist_same);
Datum
sno_gist_same(PG_FUNCTION_ARGS)
{
	Span		a = span_of(PG_GETARG_DATUM(0));
	Span		b = span_of(PG_GETARG_DATUM(1));
	bool	   *same = (bool *) PG_GETARG_POINTER(2);

	*same = (memcmp(&a, &b, sizeof(Span)) == 0);
	PG_RETURN_POINTER(same);
}

/* ---------------- search ---------------- */

PG_FUNCTION_INFO_V1(sno_gist_consistent);
Datum
sno_gist_consistent(PG_FUNCTION_ARGS)
{
	GISTENTRY  *entry = (GISTENTRY *) PG_GETARG_POINTER(0);
	Sno		   *id = PG_GETARG_SNO_P(1);
	StrategyNumber strategy = (StrategyNumber) PG_GETARG_UINT16(2);
	bool	   *recheck = (bool *) PG_GETARG_POINTER(4);
	Span		span = span_of(entry->key);
	int			lower = sno_compare(&span.lower, id);
	int			upper = sno_compare(&span.upper, id);

	*recheck = false;
	switch (strategy)
	{
		case RTEqualStrategyNumber:
			PG_RETURN_BOOL(lower <= 0 && upper >= 0);
		case RTNotEqualStrategyNumber:
			PG_RETURN_BOOL(lower != 0 || upper != 0);
		case RTLessStrategyNumber:
			PG_RETURN_BOOL(lower < 0);
		case RTLessEqualStrategyNumber:
			PG_RETURN_BOOL(lower <= 0);
		case RTGreaterStrategyNumber:
			PG_RETURN_BOOL(upper > 0);
		case RTGreaterEqualStrategyNumber:
			PG_RETURN_BOOL(upper >= 0);
		default:
			elog(ERROR, "unrecognized strategy number: %d", strategy);
	}
}

/* ---------------- building ---------------- */

PG_FUNCTION_INFO_V1(sno_gist_union);
Datum
sno_gist_union(PG_FUNCTION_ARGS)
{
	GistEntryVector *entries = (GistEntryVector *) PG_GETARG_POINTER(0);
	int		   *size = (int *) PG_GETARG_POINTER(1);
	Span		all = span_of(entries->vector[0].key);
	bytea	   *key;

	for (int i = 1; i < entries->n; i++)
	{
		Span		span = span_of(entries->vector[i].key);

		extend(&all, &span);
	}
	key = key_of(&all);
	*size = VARSIZE(key);
	PG_RETURN_POINTER(key);
}

/* Return how much the first key grows if it has to include the second key. */
PG_FUNCTION_INFO_V1(sno_gist_penalty);
Datum
sno_gist_penalty(PG_FUNCTION_ARGS)
{
	GISTENTRY  *original = (GISTENTRY *) PG_GETARG_POINTER(0);
	GISTENTRY  *added = (GISTENTRY *) PG_GETARG_POINTER(1);
	float	   *penalty = (float *) PG_GETARG_POINTER(2);
	Span		before = span_of(original->key);
	Span		other = span_of(added->key);
	Span		after = before;

	extend(&after, &other);
	*penalty = (float) (sno_distance(&after.lower, &before.lower) +
						sno_distance(&before.upper, &after.upper));
	PG_RETURN_POINTER(penalty);
}

typedef struct
{
	Span		span;
	OffsetNumber offset;
} SplitItem;

static int
compare_items(const void *a, const void *b)
{
	const Span *x = &((const SplitItem *) a)->span;
	const Span *y = &((const SplitItem *) b)->span;
	int			order = sno_compare(&x->lower, &y->lower);

	return order != 0 ? order : sno_compare(&x->upper, &y->upper);
}

/* Put some items on one side of a split, and return the union of the items' keys. */
static Datum
fill_side(const SplitItem *items, int count, OffsetNumber *side)
{
	Span		all = items[0].span;

	for (int i = 0; i < count; i++)
	{
		side[i] = items[i].offset;
		extend(&all, &items[i].span);
	}
	return PointerGetDatum(key_of(&all));
}

/* Split a page: one half gets the lower keys, the other half gets the higher keys. */
PG_FUNCTION_INFO_V1(sno_gist_picksplit);
Datum
sno_gist_picksplit(PG_FUNCTION_ARGS)
{
	GistEntryVector *entries = (GistEntryVector *) PG_GETARG_POINTER(0);
	GIST_SPLITVEC *split = (GIST_SPLITVEC *) PG_GETARG_POINTER(1);
	int			count = entries->n - FirstOffsetNumber;
	SplitItem  *items = (SplitItem *) palloc(count * sizeof(SplitItem));

	for (int i = 0; i < count; i++)
	{
		items[i].offset = FirstOffsetNumber + i;
		items[i].span = span_of(entries->vector[items[i].offset].key);
	}
	qsort(items, count, sizeof(SplitItem), compare_items);

	split->spl_nleft = count / 2;
	split->spl_nright = count - count / 2;
	split->spl_left = (OffsetNumber *) palloc(split->spl_nleft * sizeof(OffsetNumber));
	split->spl_right = (OffsetNumber *) palloc(split->spl_nright * sizeof(OffsetNumber));
	split->spl_ldatum = fill_side(items, split->spl_nleft, split->spl_left);
	split->spl_rdatum = fill_side(items + split->spl_nleft, split->spl_nright,
								  split->spl_right);
	PG_RETURN_POINTER(split);
}

static int
compare_leaves(Datum a, Datum b, SortSupport ssup)
{
	Span		x = span_of(a);
	Span		y = span_of(b);

	return sno_compare(&x.lower, &y.lower);
}

/* Provide the order of leaf keys for a sorted build of an index. */
PG_FUNCTION_INFO_V1(sno_gist_sort_support);
Datum
sno_gist_sort_support(PG_FUNCTION_ARGS)
{
	SortSupport ssup = (SortSupport) PG_GETARG_POINTER(0);

	ssup->comparator = compare_leaves;
	PG_RETURN_VOID();
}
