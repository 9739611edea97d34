/*
 * selectivity.c
 *		Selectivity estimators of <, <=, > and >= for ids.
 *
 * PostgreSQL's estimators for these operators place a value within a bucket of the histogram
 * only if they can convert the value to a number, and they can't convert a sno.  So during an
 * estimate, an id is relabelled as a macaddr, whose six bytes PostgreSQL converts.  The first
 * six bytes of an id are its time, tick-tock bit and metabyte.  PostgreSQL's estimators do all
 * the rest: they use common values, nulls and the ends of an index, and check privileges.
 *
 * The lower and the upper bound of a range depend on each other.  The planner considers this
 * only for operators with PostgreSQL's own estimators, and multiplies the selectivities of
 * other clauses.  So for a lower bound, our estimator returns the selectivity of this bound
 * alone.  For an upper bound, it returns a factor, so that the product of both results is the
 * selectivity of the range.  If there are several bounds on one side, only the tightest bound
 * counts, and the estimator returns 1 for the others.  The selectivity of a range is computed
 * as in the planner's clauselist_selectivity().
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "type/fields.h"

/* ---------------- one comparison ---------------- */

/*
 * Return the btree strategy of an operator <, <=, > or >= for ids.  Returns InvalidStrategy for any
 * other operator, because users may define operators that have our estimators.
 */
static StrategyNumber
order_strategy(Oid operator)
{
	Oid			left;
	Oid			right;
	TypeCacheEntry *type;
	StrategyNumber strategy;

	op_input_types(operator, &left, &right);
	if (left != right)
		return InvalidStrategy;
	type = lookup_type_cache(left, TYPECACHE_BTREE_OPFAMILY);
	if (type->typlen != SNO_SIZE)
		return InvalidStrategy;
	strategy = get_op_opfamily_strategy(operator, type->btree_opf);
	return strategy == BTEqualStrategyNumber ? InvalidStrategy : strategy;
}

static Node *
label(Node *operand)
{
	while (IsA(operand, RelabelType))
		operand = (Node *) ((RelabelType *) operand)->arg;
	return (Node *) makeRelabelType((Expr *) operand, MACADDROID, -1, InvalidOid,
									COERCE_IMPLICIT_CAST);
}

/* Estimate a comparison without regard to other conditions. */
static Selectivity
estimate_alone(PlannerInfo *root, Oid operator, List *args, int var_relid)
{
	List	   *labelled = list_make2(label(linitial(args)), label(lsecond(args)));
	PGFunction	estimator;

	switch (order_strategy(operator))
	{
		case BTLessStrategyNumber:
			estimator = scalarltsel;
			break;
		case BTLessEqualStrategyNumber:
			estimator = scalarlesel;
			break;
		case BTGreaterEqualStrategyNumber:
			estimator = scalargesel;
			break;
		default:
			estimator = scalargtsel;
	}
	return DatumGetFloat8(DirectFunctionCall4(estimator,
											  PointerGetDatum(root),
											  ObjectIdGetDatum(operator),
											  PointerGetDatum(labelled),
											  Int32GetDatum(var_relid)));
}

/* ---------------- the place of a comparison ---------------- */

typedef struct
{
	List	   *args;			/* the operands of the comparison to find */
	List	   *clauses;		/* the list of ANDed clauses that contains the comparison, or NIL */
	Node	   *element;		/* the list element that is the comparison */
} Place;

/*
 * The planner estimates clauses in their order.  So at each depth of nested clauses, a search
 * begins at the element where the last search ended, and wraps around.  A hint is the number of
 * this element, not a pointer to it, so a hint from another list does no harm.
 */
#define HINT_DEPTH 8
static int	hint[HINT_DEPTH];

static Node *
bare(Node *element)
{
	return IsA(element, RestrictInfo) ?
		(Node *) ((RestrictInfo *) element)->clause : element;
}

/*
 * Does the clause have these operands?  The planner may commute a clause, but the operands stay
 * the same nodes.  For a comparison of rows, the planner passes the first operands of both rows
 * to the estimator.
 */
static bool
has_operands(Node *clause, List *args)
{
	Node	   *left;
	Node	   *right;

	if (is_opclause(clause) && list_length(((OpExpr *) clause)->args) == 2)
	{
		left = linitial(((OpExpr *) clause)->args);
		right = lsecond(((OpExpr *) clause)->args);
	}
	else if (IsA(clause, RowCompareExpr))
	{
		left = linitial(((RowCompareExpr *) clause)->largs);
		right = linitial(((RowCompareExpr *) clause)->rargs);
	}
	else
		return false;

	return (left == linitial(args) && right == lsecond(args)) ||
		(left == lsecond(args) && right == linitial(args));
}

static bool
find_among(List *clauses, bool conjunction, int depth, Place *place)
{
	int			count = list_length(clauses);
	int			first = depth < HINT_DEPTH ? hint[depth] : 0;

	check_stack_depth();

	for (int i = 0; i < count; i++)
	{
		int			n = (first + i) % count;
		Node	   *element = list_nth(clauses, n);
		Node	   *clause = bare(element);
		bool		found;

		/* The planner estimates the variant of an OR whose elements are RestrictInfos. */
		if (clause != element && ((RestrictInfo *) element)->orclause)
			clause = (Node *) ((RestrictInfo *) element)->orclause;
		while (IsA(clause, BooleanTest))
			clause = (Node *) ((BooleanTest *) clause)->arg;

		if (IsA(clause, BoolExpr))
			found = find_among(((BoolExpr *) clause)->args, is_andclause(clause),
							   depth + 1, place);
		else if ((found = has_operands(clause, place->args)))
		{
			place->clauses = conjunction && is_opclause(bare(element)) ? clauses : NIL;
			place->element = element;
		}
		if (found)
		{
			if (depth < HINT_DEPTH)
				hint[depth] = n;
			return true;
		}
	}
	return false;
}

static bool
is_key_of(IndexOptInfo *index, Node *operand)
{
	for (int column = 0; column < index->nkeycolumns; column++)
	{
		if (match_index_to_operand(operand, column, index))
			return true;
	}
	return false;
}

/*
 * Find a comparison in the predicate of a partial index.  The planner adds the predicate to the
 * conditions of an index scan if these conditions don't imply the predicate, for example because
 * the planner dropped a condition that the predicate implies.  If an operand of the comparison is
 * a key of the index, the comparison is then estimated together with the relation's restrictions.
 */
static bool
find_in_predicate(RelOptInfo *rel, Place *place)
{
	ListCell   *cell;

	foreach(cell, rel->indexlist)
	{
		IndexOptInfo *index = (IndexOptInfo *) lfirst(cell);

		if (!find_among(index->indpred, true, 0, place))
			continue;
		if (place->clauses == index->indpred &&
			(is_key_of(index, linitial(place->args)) ||
			 is_key_of(index, lsecond(place->args))))
			place->clauses = list_concat_copy(index->indpred, rel->baserestrictinfo);
		return true;
	}
	return false;
}

/*
 * Find a comparison among the clauses of its relations, in predicates of indexes, or in HAVING.
 * The planner estimates a relation's restrictions with var_relid 0, before it considers indexes,
 * and keeps the results.  With another var_relid, the planner estimates other clauses: join
 * clauses, predicates, and conditions that were made for an index.
 */
static bool
find(PlannerInfo *root, int var_relid, Place *place)
{
	Relids		relids = pull_varnos(root, (Node *) place->args);

	for (int i = -1; (i = bms_next_member(relids, i)) >= 0;)
	{
		RelOptInfo *rel = i < root->simple_rel_array_size ?
			root->simple_rel_array[i] : NULL;

		if (rel != NULL &&
			((var_relid == 0 && find_among(rel->baserestrictinfo, true, 0, place)) ||
			 find_among(rel->joininfo, true, 0, place) ||
			 find_in_predicate(rel, place)))
			return true;
	}
	return find_among((List *) root->parse->havingQual, true, 0, place);
}

/* ---------------- ranges ---------------- */

typedef struct
{
	Node	   *element;		/* NULL if there is no bound */
	Selectivity selectivity;
} Bound;

/*
 * Does the element bound the operand from above or from below, by a value that is computed from
 * exactly the relations `others`?
 */
static bool
read_bound(PlannerInfo *root, Node *element, Node *operand, Relids others,
		   OpExpr **comparison, bool *is_upper)
{
	OpExpr	   *op = (OpExpr *) bare(element);
	bool		on_left;
	Node	   *other;
	StrategyNumber strategy;

	if (!is_opclause(op) || list_length(op->args) != 2)
		return false;
	on_left = equal(linitial(op->args), operand);
	if (!on_left && !equal(lsecond(op->args), operand))
		return false;
	strategy = order_strategy(op->opno);
	other = on_left ? lsecond(op->args) : linitial(op->args);
	if (strategy == InvalidStrategy ||
		!bms_equal(pull_varnos(root, other), others) ||
		contain_volatile_functions(other))
		return false;

	*comparison = op;
	*is_upper = (strategy < BTEqualStrategyNumber) == on_left;
	return true;
}

/* Return the selectivity of a range, computed as in clauselist_selectivity(). */
static Selectivity
range_selectivity(PlannerInfo *root, Node *operand, Selectivity lower,
				  Selectivity upper, int var_relid)
{
	Selectivity range;

	if (lower == DEFAULT_INEQ_SEL || upper == DEFAULT_INEQ_SEL)
		return DEFAULT_RANGE_INEQ_SEL;
	range = lower + upper - 1.0 +
		nulltestsel(root, IS_NULL, operand, var_relid, JOIN_INNER, NULL);
	if (range > 0.0)
		return range;
	return range < -0.01 ? DEFAULT_RANGE_INEQ_SEL : 1.0e-10;
}

/*
 * Return the selectivity of the comparison at `place`, which is one of the bounds.  The tightest
 * lower and upper bound have the selectivities in `best`; all other bounds have 1.  If var_relid is
 * 0, the planner keeps the selectivity of a clause in its RestrictInfo.  In this case, the function
 * stores the selectivities of all bounds there, so that they aren't computed again for each bound.
 */
static Selectivity
share_out(List *bounds, const Bound *best, const Place *place, int var_relid)
{
	Selectivity result = 1.0;
	ListCell   *cell;

	foreach(cell, bounds)
	{
		Node	   *element = (Node *) lfirst(cell);
		RestrictInfo *info = (RestrictInfo *) element;
		Selectivity share = 1.0;

		for (int i = 0; i < 2; i++)
		{
			if (element == best[i].element)
				share = best[i].selectivity;
		}
		if (element == place->element)
			result = share;
		if (var_relid == 0 && IsA(info, RestrictInfo) && info->norm_selec < 0)
			info->norm_selec = info->outer_selec = share;
	}
	return result;
}

/*
 * Estimate the comparison at `place` together with all other bounds of the operand in
 * place->clauses.  Returns false if the comparison is a join clause and there is no bound on the
 * other side: the caller then estimates the comparison alone.
 */
static bool
estimate_bounds(PlannerInfo *root, const Place *place, Node *operand, Relids others,
				int var_relid, Selectivity *result)
{
	Bound		best[2] = {0};	/* lower and upper */
	List	   *bounds = NIL;
	ListCell   *cell;

	foreach(cell, place->clauses)
	{
		Node	   *element = (Node *) lfirst(cell);
		OpExpr	   *comparison;
		bool		is_upper;
		Selectivity alone;

		if (IsA(element, RestrictInfo) && IsA(place->element, RestrictInfo) &&
			!bms_equal(((RestrictInfo *) element)->required_relids,
					   ((RestrictInfo *) place->element)->required_relids))
			continue;
		if (!read_bound(root, element, operand, others, &comparison, &is_upper))
			continue;
		alone = estimate_alone(root, comparison->opno, comparison->args, var_relid);
		if (best[is_upper].element == NULL || alone < best[is_upper].selectivity)
			best[is_upper] = (Bound) {element, alone};
		bounds = lappend(bounds, element);
	}

	if (best[false].element != NULL && best[true].element != NULL)
	{
		Selectivity range = range_selectivity(root, operand, best[false].selectivity,
											  best[true].selectivity, var_relid);

		best[false].selectivity = Max(best[false].selectivity, range);
		best[true].selectivity = range / best[false].selectivity;
	}
	else if (!bms_is_empty(others))
		return false;

	*result = share_out(bounds, best, place, var_relid);
	return true;
}

/* ---------------- the estimators ---------------- */

/*
 * Is the comparison the upper bound of a range that range.c made into an index condition?  Such a
 * bound is in no list of clauses.
 */
static bool
is_range_max(Oid operator, List *args)
{
	Node	   *value = (Node *) lsecond(args);

	return order_strategy(operator) == BTLessEqualStrategyNumber &&
		IsA(value, FuncExpr) &&
		list_length(((FuncExpr *) value)->args) == 1 &&
		exprType(linitial(((FuncExpr *) value)->args)) == TSTZRANGEOID;
}

static Selectivity
estimate(PlannerInfo *root, Oid operator, List *args, int var_relid)
{
	Place		place = {.args = args};
	Selectivity result;

	if (order_strategy(operator) == InvalidStrategy || list_length(args) != 2)
		return DEFAULT_INEQ_SEL;

	if (find(root, var_relid, &place))
	{
		for (int i = 0; i < 2; i++)
		{
			Node	   *operand = list_nth(args, i);
			Node	   *other = list_nth(args, 1 - i);
			Relids		relids = pull_varnos(root, operand);
			Relids		others = pull_varnos(root, other);

			if (place.clauses != NIL && !bms_is_empty(relids) &&
				!bms_overlap(relids, others) && !contain_volatile_functions(other) &&
				estimate_bounds(root, &place, operand, others, var_relid, &result))
				return result;
		}
		return estimate_alone(root, operator, args, var_relid);
	}

	result = estimate_alone(root, operator, args, var_relid);
	if (result == DEFAULT_INEQ_SEL && is_range_max(operator, args))
		result = DEFAULT_RANGE_INEQ_SEL / DEFAULT_INEQ_SEL;
	return result;
}

PG_FUNCTION_INFO_V1(sno_bound_sel);
Datum
sno_bound_sel(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(estimate((PlannerInfo *) PG_GETARG_POINTER(0),
							  PG_GETARG_OID(1),
							  (List *) PG_GETARG_POINTER(2),
							  PG_GETARG_INT32(3)));
}

PG_FUNCTION_INFO_V1(sno_bound_joinsel);
Datum
sno_bound_joinsel(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(estimate((PlannerInfo *) PG_GETARG_POINTER(0),
							  PG_GETARG_OID(1),
							  (List *) PG_GETARG_POINTER(2),
							  0));
}
