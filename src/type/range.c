/*
 * range.c
 *		Ids and time: the lowest and the highest id of an instant or a range,
 *		and tests for an id in a range of time.
 *
 * An id's time is the start of its unit.  So a range of time contains the units from some
 * unit `first` up to, but not including, some unit `end`.  The ids of these units are all
 * ids between two bounds.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rangetypes.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "type/fields.h"
#include "type/range.h"

/* ---------------- time bounds ---------------- */

#define ANY_META	(-1)

/* Return the lowest or the highest id of a unit, optionally with a given metabyte. */
static Sno *
unit_edge(uint64 unit, bool highest, int meta)
{
	SnoFields	fields = {.unit = unit};
	Sno		   *id = (Sno *) palloc(sizeof(Sno));

	if (highest)
	{
		fields.tick_tock = true;
		fields.meta = SNO_META_MAX;
		fields.partition = SNO_PARTITION_MAX;
		fields.sequence = SNO_SEQUENCE_MAX;
	}
	if (meta != ANY_META)
		fields.meta = (uint8) meta;
	sno_pack(id, fields);
	return id;
}

/*
 * Return unit_edge() of the unit that contains an instant.  For an instant before the
 * first unit, both edges are the lowest id; for an instant after the last unit, both
 * edges are the highest id.
 */
static Sno *
instant_edge(TimestampTz at, bool highest, int meta)
{
	uint64		unit;

	if (!sno_timestamptz_to_unit(at, &unit))
		highest = (unit == SNO_UNIT_MAX);
	return unit_edge(unit, highest, meta);
}

/* Define an SQL function that returns instant_edge(). */
#define INSTANT_EDGE(function, highest, meta) \
PG_FUNCTION_INFO_V1(function); \
Datum \
function(PG_FUNCTION_ARGS) \
{ \
	PG_RETURN_SNO_P(instant_edge(PG_GETARG_TIMESTAMPTZ(0), highest, meta)); \
}

#define META	sno_fields_check("metabyte", PG_GETARG_INT32(1), SNO_META_MAX)

INSTANT_EDGE(sno_min, false, ANY_META)
INSTANT_EDGE(sno_max, true, ANY_META)

/*
 * In an id, the tick-tock bit comes before the metabyte.  So even within a unit, there are
 * ids of other metabytes between the lowest and the highest id of one metabyte.
 */
INSTANT_EDGE(sno_min_meta, false, META)
INSTANT_EDGE(sno_max_meta, true, META)

/* ---------------- time ranges ---------------- */

/*
 * Return the number of units that start before an instant.  If `or_at` is set, a unit that starts at
 * the instant counts, too.
 */
static uint64
units_before(TimestampTz at, bool or_at)
{
	uint64		last;			/* the last unit that counts */

	if (at < SNO_EPOCH_TIMESTAMPTZ || (at == SNO_EPOCH_TIMESTAMPTZ && !or_at))
		return 0;
	(void) sno_timestamptz_to_unit(or_at ? at : at - 1, &last);
	return last + 1;
}

/* Return the lowest id of a unit, or the highest id of all if the unit is above SNO_UNIT_MAX. */
static Sno *
lower_bound(uint64 unit)
{
	return unit <= SNO_UNIT_MAX ? unit_edge(unit, false, ANY_META) :
		unit_edge(SNO_UNIT_MAX, true, ANY_META);
}

/*
 * sno_min_from() returns the lowest id whose time is at or after an instant; sno_min_after()
 * returns the lowest id whose time is after the instant.  The operators that compare an id
 * with a time compare the id with one of these results.  For an instant after the start of
 * the last unit, both results are the highest id, so this id counts as later than the instant.
 */
PG_FUNCTION_INFO_V1(sno_min_from);
Datum
sno_min_from(PG_FUNCTION_ARGS)
{
	PG_RETURN_SNO_P(lower_bound(units_before(PG_GETARG_TIMESTAMPTZ(0), false)));
}

PG_FUNCTION_INFO_V1(sno_min_after);
Datum
sno_min_after(PG_FUNCTION_ARGS)
{
	PG_RETURN_SNO_P(lower_bound(units_before(PG_GETARG_TIMESTAMPTZ(0), true)));
}

/* Do the id and the time differ?  The function negates both comparisons of sno_eq_timestamptz(). */
PG_FUNCTION_INFO_V1(sno_ne_timestamptz);
Datum
sno_ne_timestamptz(PG_FUNCTION_ARGS)
{
	const Sno  *id = PG_GETARG_SNO_P(0);
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(1);

	PG_RETURN_BOOL(sno_compare(id, lower_bound(units_before(at, false))) < 0 ||
				   sno_compare(id, lower_bound(units_before(at, true))) >= 0);
}

/*
 * Get the units that start within a range: from *first up to, but not including,
 * *end.  If there are none, *first >= *end.
 */
static void
range_units(FunctionCallInfo fcinfo, RangeType *range,
			uint64 *first, uint64 *end)
{
	TypeCacheEntry *type = range_get_typcache(fcinfo, RangeTypeGetOid(range));
	RangeBound	lower;
	RangeBound	upper;
	bool		empty;

	range_deserialize(type, range, &lower, &upper, &empty);

	*first = 0;
	*end = empty ? 0 : SNO_UNIT_MAX + 1;
	if (!empty && !lower.infinite)
		*first = units_before(DatumGetTimestampTz(lower.val),
							  !lower.inclusive);
	if (!empty && !upper.infinite)
		*end = units_before(DatumGetTimestampTz(upper.val), upper.inclusive);
}

/*
 * sno_range_min() and sno_range_max() return the lowest and the highest id whose time is
 * in a range.  If there are no such ids, sno_range_min() returns the highest id of all, and
 * sno_range_max() the lowest one, so no id is between the two bounds.
 */
PG_FUNCTION_INFO_V1(sno_range_min);
Datum
sno_range_min(PG_FUNCTION_ARGS)
{
	uint64		first;
	uint64		end;

	range_units(fcinfo, PG_GETARG_RANGE_P(0), &first, &end);
	PG_RETURN_SNO_P(lower_bound(first < end ? first : SNO_UNIT_MAX + 1));
}

PG_FUNCTION_INFO_V1(sno_range_max);
Datum
sno_range_max(PG_FUNCTION_ARGS)
{
	uint64		first;
	uint64		end;

	range_units(fcinfo, PG_GETARG_RANGE_P(0), &first, &end);
	PG_RETURN_SNO_P(first < end ? unit_edge(end - 1, true, ANY_META) :
					unit_edge(0, false, ANY_META));
}

/*
 * Is the type a range of ids, or of a domain over ids?  Raises error 42804 if the type is
 * neither such a range nor a tstzrange.
 *
 * The containment operators are declared for anyrange, and check the type of the range here.
 * If they were declared for tstzrange, PostgreSQL would prefer them to its own range operators
 * whenever the other operand is a literal or a parameter without a type.  Then queries that
 * don't use ids would break.
 *
 * If the range is a range of ids, PostgreSQL also prefers our operators to its own operators
 * for a range and an element.  So our functions then call PostgreSQL's functions.
 */
static bool
is_range_of_ids(Oid range_type, Oid id_type)
{
	if (range_type == TSTZRANGEOID)
		return false;
	if (getBaseType(get_range_subtype(range_type)) != id_type)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a value of type %s cannot contain a sno",
						format_type_be(range_type)),
				 errdetail("Only values of type tstzrange and ranges of ids can contain a sno.")));
	return true;
}

/* Is the time of an id in a tstzrange? */
bool
sno_range_has(FunctionCallInfo fcinfo, RangeType *range, const Sno *id)
{
	uint64		unit = sno_unpack(id).unit;
	uint64		first;
	uint64		end;

	range_units(fcinfo, range, &first, &end);
	return first <= unit && unit < end;
}

PG_FUNCTION_INFO_V1(sno_contained_by);
Datum
sno_contained_by(PG_FUNCTION_ARGS)
{
	RangeType  *range = PG_GETARG_RANGE_P(1);

	if (is_range_of_ids(RangeTypeGetOid(range), get_fn_expr_argtype(fcinfo->flinfo, 0)))
		return elem_contained_by_range(fcinfo);
	PG_RETURN_BOOL(sno_range_has(fcinfo, range, PG_GETARG_SNO_P(0)));
}

PG_FUNCTION_INFO_V1(sno_range_contains);
Datum
sno_range_contains(PG_FUNCTION_ARGS)
{
	RangeType  *range = PG_GETARG_RANGE_P(0);

	if (is_range_of_ids(RangeTypeGetOid(range), get_fn_expr_argtype(fcinfo->flinfo, 1)))
		return range_contains_elem(fcinfo);
	PG_RETURN_BOOL(sno_range_has(fcinfo, range, PG_GETARG_SNO_P(1)));
}

/* ---------------- planning ---------------- */

/*
 * Is the node a subquery `(SELECT expression)` that reads no table, and has the same value for
 * all rows of the outer query?
 */
static bool
is_constant_subquery(Node *node)
{
	Query	   *query;

	if (!IsA(node, SubLink) || ((SubLink *) node)->subLinkType != EXPR_SUBLINK)
		return false;
	query = castNode(Query, ((SubLink *) node)->subselect);
	return query->rtable == NIL && !query->hasSubLinks &&
		list_length(query->targetList) == 1 &&
		linitial_node(TargetEntry, query->targetList)->ressortgroupref == 0 &&
		!contain_vars_of_level((Node *) query, 1);
}

/* Find a function of this extension in schema pg_catalog. */
static Oid
own_function(const char *name, Oid argument)
{
	Oid			function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
										   CStringGetDatum(name),
										   PointerGetDatum(buildoidvector(&argument, 1)),
										   ObjectIdGetDatum(PG_CATALOG_NAMESPACE));

	if (!OidIsValid(function))
		elog(ERROR, "cache lookup failed for function %s", name);
	return function;
}

static Expr *
call_of(Oid function, Expr *argument)
{
	return (Expr *) makeFuncExpr(function, get_func_rettype(function),
								 list_make1(argument),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/*
 * Make the expression `bound(range)`, to compare it with a value of `type`.  If the range is a
 * constant subquery, the expression is `(SELECT bound(expression))`, which is computed once per
 * query.  If `type` is uuid, the bound is converted to a uuid.
 */
static Expr *
bound_value(const char *bound, Oid type, Node *range)
{
	Expr	   *value;

	if (is_constant_subquery(range))
	{
		SubLink    *link = copyObject((SubLink *) range);
		Query	   *query = castNode(Query, link->subselect);
		TargetEntry *target = linitial_node(TargetEntry, query->targetList);

		target->expr = bound_value(bound, type, (Node *) target->expr);
		return (Expr *) link;
	}
	value = call_of(own_function(bound, TSTZRANGEOID), copyObject((Expr *) range));
	if (type == UUIDOID)
		value = call_of(own_function("sno_to_uuidv8", exprType((Node *) value)), value);
	return value;
}

/* Make the clause `id operator bound(range)`, with the btree operator of this strategy. */
static Expr *
bound_clause(Node *id, StrategyNumber strategy, const char *bound, Node *range)
{
	Oid			type = exprType(id);
	TypeCacheEntry *cache = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
	Oid			operator = get_opfamily_member(cache->btree_opf, type, type,
											   strategy);

	return make_opclause(operator, BOOLOID, false, (Expr *) copyObject(id),
						 bound_value(bound, type, range),
						 InvalidOid, InvalidOid);
}

/*
 * Convert the arguments of `id <@ range`, `range @> id` or `sno_during(id, range)` to two clauses
 * that indexes on the id support: id >= sno_range_min(range) and id <= sno_range_max(range).
 * Returns NIL if the range is a range of ids.
 */
static List *
bound_clauses(List *args)
{
	Node	   *id = (Node *) linitial(args);
	Node	   *range = (Node *) lsecond(args);

	if (type_is_range(exprType(id)))
	{
		id = (Node *) lsecond(args);
		range = (Node *) linitial(args);
	}
	if (is_range_of_ids(exprType(range), exprType(id)))
		return NIL;

	return list_make2(bound_clause(id, BTGreaterEqualStrategyNumber, "sno_range_min", range),
					  bound_clause(id, BTLessEqualStrategyNumber, "sno_range_max", range));
}

/*
 * Replace a containment test by comparisons, so that indexes, partition pruning and
 * estimates work.  Not all uuids between the bounds are ids, so for uuids, a call of
 * sno_is_uuidv8() is added.  The comparisons evaluate the operands more than once.  So a call
 * isn't replaced if an operand is volatile, or has a subquery that isn't constant.  A call for
 * a range of ids is replaced by PostgreSQL's own operator, which has index support and estimates.
 */
static Node *
simplify(SupportRequestSimplify *request)
{
	FuncExpr   *call = request->fcall;
	List	   *clauses = bound_clauses(call->args);
	ListCell   *cell;

	if (clauses == NIL)
	{
		Oid			operator = type_is_range(exprType(linitial(call->args))) ?
			OID_RANGE_CONTAINS_ELEM_OP : OID_RANGE_ELEM_CONTAINED_OP;

		return eval_const_expressions(request->root,
									  (Node *) make_opclause(operator, BOOLOID, false,
															 linitial(call->args), lsecond(call->args),
															 InvalidOid, InvalidOid));
	}
	foreach(cell, call->args)
	{
		Node	   *operand = (Node *) lfirst(cell);

		if (contain_volatile_functions(operand) ||
			(contain_subplans(operand) && !is_constant_subquery(operand)))
			return NULL;
	}

	if (exprType(linitial(call->args)) == UUIDOID)
		clauses = lappend(clauses, call_of(own_function("sno_is_uuidv8", UUIDOID),
										   copyObject((Expr *) linitial(call->args))));
	return eval_const_expressions(request->root,
								  (Node *) make_andclause(clauses));
}

/*
 * Make index conditions from a call that simplify() did not replace, for example because a
 * subquery returns the range.  The planner has replaced such a subquery by a parameter by now.
 */
static Node *
index_condition(SupportRequestIndexCondition *request)
{
	List	   *args;
	Node	   *range;
	List	   *clauses;
	ListCell   *cell;

	if (is_opclause(request->node))
		args = ((OpExpr *) request->node)->args;
	else if (is_funcclause(request->node))
		args = ((FuncExpr *) request->node)->args;
	else
		return NULL;
	range = (Node *) list_nth(args, 1 - request->indexarg);
	if (!is_pseudo_constant_for_index(request->root, range, request->index))
		return NULL;

	clauses = bound_clauses(args);
	foreach(cell, clauses)
	{
		if (!op_in_opfamily(((OpExpr *) lfirst(cell))->opno, request->opfamily))
			return NULL;
	}
	request->lossy = exprType(linitial(args)) == UUIDOID;
	return (Node *) clauses;
}

/* The planner support function of both containment operators, and of sno_during(). */
PG_FUNCTION_INFO_V1(sno_range_support);
Datum
sno_range_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	Node	   *answer = NULL;

	if (IsA(request, SupportRequestSimplify))
		answer = simplify((SupportRequestSimplify *) request);
	else if (IsA(request, SupportRequestIndexCondition))
		answer = index_condition((SupportRequestIndexCondition *) request);

	PG_RETURN_POINTER(answer);
}
